#!/bin/sh
# What NCZarr reads and writes on nczchunk: case by case, and at random against a plain array.

if test "x$srcdir" = x ; then srcdir=`pwd`; fi
filters="$HDF5_PLUGIN_PATH"
. ../test_common.sh

set -e
# The filters that netCDF-C has built, with CMake or with autotools; if it has not, those that the environment names.
for directory in "${top_builddir}/plugins" "${top_builddir}/plugins/.libs" ; do
    if ls "$directory"/*nch5deflate* >/dev/null 2>&1 ; then filters="$directory" ; fi
done
HDF5_PLUGIN_PATH="$filters"
export HDF5_PLUGIN_PATH
work=`pwd`/testdir_nczchunk
for program in test_nczchunk_defects test_nczchunk_hard ; do
    for name in `${execdir}/$program` ; do
        echo "*** $program: $name"
        rm -rf "$work" && mkdir "$work"
        ${execdir}/$program $name "$work"
    done
done
echo "*** test_nczchunk_random"
rm -rf "$work" && mkdir "$work"
${execdir}/test_nczchunk_random "$work" 10000 1 all
rm -rf "$work"
exit 0
