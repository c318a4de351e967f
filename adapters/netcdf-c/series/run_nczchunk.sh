#!/bin/sh
# What NCZarr reads and writes on nczchunk: case by case, and at random against a plain array.

if test "x$srcdir" = x ; then srcdir=`pwd`; fi
. ../test_common.sh

set -e
# The filters that netCDF-C has built, with CMake and with autotools.
plugins="${top_builddir}/plugins"
if test -d "$plugins/.libs" ; then plugins="$plugins/.libs" ; fi
HDF5_PLUGIN_PATH="$plugins"
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
