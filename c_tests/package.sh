#!/bin/sh
# package.sh BUILD_DIR: what is installed works for a stranger's program in C99, C++11 and C++17, linked to the shared
# and to the static library, found by pkg-config and by CMake, after the installed tree was moved to another place.
# CMAKE, CC, CXX, PKG_CONFIG and READELF name the commands, CMAKE_GENERATOR what CMake is to write, SONAME what a
# program that is linked to the shared library loads.
set -eu
build=$1
stranger=$(dirname "$0")/stranger
work=$build/package-test

rm -rf "$work"
mkdir -p "$work"
"$CMAKE" --install "$build" --prefix "$work/installed" >"$work/install.log"
mv "$work/installed" "$work/moved"

PKG_CONFIG_PATH=$(dirname "$(find "$work/moved" -name nczchunk.pc)")
export PKG_CONFIG_PATH
libdir=$("$PKG_CONFIG" --variable=libdir nczchunk)
version=$("$PKG_CONFIG" --modversion nczchunk)

# run PROGRAM: it accepts the version and prints what is expected.
run() {
    echo "running $1"
    "$work/$1" "$version" >"$work/$1.out"
    diff -u "$stranger/expected.txt" "$work/$1.out"
}

echo "By pkg-config"
c="$CC -std=c99 $("$PKG_CONFIG" --cflags nczchunk) $stranger/main.c"
cxx="$CXX -std=c++11 $("$PKG_CONFIG" --cflags nczchunk) $stranger/main.cpp"
cxx17="$CXX -std=c++17 $("$PKG_CONFIG" --cflags nczchunk) $stranger/main17.cpp"
shared=$("$PKG_CONFIG" --libs nczchunk)
# The linker prefers the shared library unless the static one is named by its file.
static=$("$PKG_CONFIG" --static --libs nczchunk | sed 's/-lnczchunk/-l:libnczchunk.a/')
# These are lists of words, to be split.
# shellcheck disable=SC2086
{
    $c $shared -o "$work/pc-c-shared"
    $c $static -o "$work/pc-c-static"
    $cxx $shared -o "$work/pc-cxx-shared"
    $cxx $static -o "$work/pc-cxx-static"
    $cxx17 $shared -o "$work/pc-cxx17-shared"
    $cxx17 $static -o "$work/pc-cxx17-static"
}
(
    # As a program of a library outside the system's directories has to.
    LD_LIBRARY_PATH=$libdir
    export LD_LIBRARY_PATH
    run pc-c-shared
    run pc-cxx-shared
    run pc-cxx17-shared
)
run pc-c-static
run pc-cxx-static
run pc-cxx17-static

# Another version's library has another name, so it cannot be loaded by mistake.
loads() { "$READELF" --dynamic "$work/$1" | sed -n 's/.*(NEEDED).*\[\(libnczchunk.*\)\]/\1/p'; }
for program in pc-c-shared pc-cxx-shared pc-cxx17-shared; do
    test "$(loads $program)" = "$SONAME" || { echo "$program loads '$(loads $program)', not $SONAME" && exit 1; }
done
test -z "$(loads pc-c-static)"

echo "By find_package"
"$CMAKE" -S "$stranger" -B "$work" -Dversion="$version" -DCMAKE_PREFIX_PATH="$work/moved" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" >"$work/configure.log"
"$CMAKE" --build "$work" >"$work/build.log"
for program in cmake-c-shared cmake-c-static cmake-cxx-shared cmake-cxx-static cmake-cxx17-shared \
    cmake-cxx17-static; do
    run $program
done
test "$(loads cmake-c-shared)" = "$SONAME"
