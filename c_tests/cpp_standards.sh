#!/bin/sh
# cpp_standards.sh COMPILER LIBRARY DATA STANDARD... -- SOURCE...: compiles the tests and examples in C++ with a
# compiler, in each standard, without a warning, and runs them in the current directory.
set -eu
compiler=$1 library=$2 data=$3
shift 3
here=$(dirname "$0")
libdir=$(dirname "$library")

standards=
while [ "$1" != -- ]; do
    standards="$standards $1"
    shift
done
shift

for standard in $standards; do
    for source in "$@"; do
        program=./$(basename "$source" .cpp).$standard
        echo "$standard: $(basename "$source")"
        "$compiler" "-std=$standard" -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -I"$here/../include" \
            "$source" -o "$program" "$library" -pthread "-Wl,-rpath,$libdir"
        case $source in
        *test_*) "$program" "$data" ;;
        *) "$program" "$data/coads_sst.zarr" >"$program.out" ;;
        esac
    done
done
