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
static=$("$PKG_CONFIG" --libs nczchunk-static)
# These are lists of words, to be split.
# shellcheck disable=SC2086
{
    $c $shared -o "$work/pc-c-shared"
    $c $static -o "$work/pc-c-static"
    $cxx $shared -o "$work/pc-cxx-shared"
    $cxx $static -o "$work/pc-cxx-static"
    $cxx17 $shared -o "$work/pc-cxx17-shared"
    $cxx17 $static -o "$work/pc-cxx17-static"
    # Programs that need no shared library at all.
    $c $static -static -o "$work/pc-c-alone"
    $cxx17 $static -static -o "$work/pc-cxx17-alone"
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
run pc-c-alone
run pc-cxx17-alone

# Another version's library has another name, so it cannot be loaded by mistake.
loads() { "$READELF" --dynamic "$work/$1" | sed -n 's/.*(NEEDED).*\[\(libnczchunk.*\)\]/\1/p'; }
for program in pc-c-shared pc-cxx-shared pc-cxx17-shared; do
    test "$(loads $program)" = "$SONAME" || { echo "$program loads '$(loads $program)', not $SONAME" && exit 1; }
done
test -z "$(loads pc-c-static)"
! "$READELF" --dynamic "$work/pc-c-alone" | grep NEEDED

# configure DIRECTORY OPTION...: the stranger's project, which finds what is installed.
configure() {
    directory=$1
    shift
    "$CMAKE" -S "$stranger" -B "$directory" -G "$CMAKE_GENERATOR" -Dversion="$version" \
        -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" "$@" \
        >"$directory.log" 2>&1
}

echo "By find_package"
mkdir -p "$work/cmake"
configure "$work/cmake" || { cat "$work/cmake.log" && exit 1; }
"$CMAKE" --build "$work/cmake" >"$work/build.log" || { cat "$work/build.log" && exit 1; }
for program in c-shared c-static c-nczchunk cxx-shared cxx-static cxx-nczchunk cxx17-shared cxx17-static \
    cxx17-nczchunk; do
    run cmake/cmake-$program
done
test "$(loads cmake/cmake-c-shared)" = "$SONAME"
test -z "$(loads cmake/cmake-c-static)"

# nczchunk::nczchunk is the shared library unless the project wants static ones, or asks for one component.
for options in "-DBUILD_SHARED_LIBS=ON:$SONAME" "-DBUILD_SHARED_LIBS=OFF:" "-Dcomponents=static:" \
    "-Dcomponents=shared:$SONAME" ":$SONAME"; do
    option=${options%%:*} wanted=${options#*:}
    configure "$work/chosen" ${option:+"$option"} || { cat "$work/chosen.log" && exit 1; }
    "$CMAKE" --build "$work/chosen" --target cmake-c-nczchunk >"$work/build.log"
    found=$(loads chosen/cmake-c-nczchunk)
    test "$found" = "$wanted" || { echo "with '$option' nczchunk::nczchunk is '$found', not '$wanted'" && exit 1; }
    rm -rf "$work/chosen"
done
! configure "$work/chosen" -Dcomponents=fortran || { echo "a component fortran is found" && exit 1; }
grep -q fortran "$work/chosen.log"
