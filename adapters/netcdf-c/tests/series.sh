# The adapter as netCDF-C's maintainers can take it: the series of patches that series.py makes is applied, built with
# the option on and off, and its tests are run. Sourced by scripts/test-netcdf, not run.
# shellcheck shell=bash
# What builds.sh sets.
# shellcheck disable=SC2154

# with_tests VERSION NAME: a copy of a version's source that has what the crate leaves out so far that it builds with
# tests: directories of tests without a test. What the series adds to nczarr_test comes behind it, as in netCDF-C.
with_tests() {
    local tree directory
    altered_source "$1" "$2"
    tree=$(source_of "$2")
    for directory in nctest nc_test unit_test nczarr_test; do
        mkdir -p "$tree/$directory"
        : >"$tree/$directory/CMakeLists.txt"
    done
    # A build with tests copies these.
    mkdir -p "$tree/ncdap_test"
    touch "$tree/ncdap_test/findtestserver.c.in" "$tree/ncdap_test/pingurl.c"
    # shellcheck disable=SC2016 # for CMake
    printf '%s\n' 'file(GLOB scripts ${CMAKE_CURRENT_SOURCE_DIR}/*.sh)' \
        'file(COPY ${scripts} DESTINATION ${CMAKE_CURRENT_BINARY_DIR})' >"$tree/nczarr_test/CMakeLists.txt"
    # shellcheck disable=SC2016 # for make
    printf '%s\n' 'include $(top_srcdir)/lib_flags.am' 'AM_LDFLAGS += ${top_builddir}/liblib/libnetcdf.la' \
        'LDADD = ${top_builddir}/liblib/libnetcdf.la' 'check_PROGRAMS =' 'TESTS =' 'EXTRA_DIST =' \
        >"$tree/nczarr_test/Makefile.am"
}

# apply_series VERSION NAME: the source NAME becomes that of a version with the series, by `git am` as by `patch -p1`.
apply_series() {
    local tree patched=$netcdf/patched patches=$netcdf/series-$1
    with_tests "$1" "$2"
    tree=$(source_of "$2")
    quietly python3 "$adapter/series.py" "$tree" "$patches"
    rm -rf "$patched"
    cp -r "$tree" "$patched"
    for patch in "$patches"/*.patch; do
        quietly patch -d "$patched" -p1 --fuzz=0 -i "$patch"
    done
    in_git() { GIT_CEILING_DIRECTORIES=$netcdf git -C "$tree" -c user.name=t -c user.email=t@example.org "$@"; }
    quietly in_git init
    quietly in_git add --all --force
    quietly in_git commit --message "netCDF-C $1"
    quietly in_git am "$patches"/*.patch
    diff -r --exclude=.git "$tree" "$patched" || die "patch and git am differ"
    rm -rf "$tree/.git" "$patched"
}

# check_series VERSION: with CMake.
check_series() {
    local version=$1 options=(-DNETCDF_ENABLE_TESTS=ON -DNETCDF_ENABLE_UNIT_TESTS=OFF)
    say "netCDF-C $version with the series of patches"
    apply_series "$version" "series-$version"
    build_netcdf series-on "series-$version" all "${options[@]}" -DNETCDF_ENABLE_NCZCHUNK=ON \
        -DCMAKE_PREFIX_PATH="$netcdf/nczchunk"
    nm -D "$(libdir "series-on-series-$version")/libnetcdf.so" | grep ' U nczchunk_read_vars' >/dev/null ||
        die "the series: nczchunk is not used"
    quietly env CTEST_OUTPUT_ON_FAILURE=1 ctest --test-dir "$netcdf/series-on-series-$version" --no-tests=error
    grep -q '100% tests passed, 0 tests failed' "$netcdf/last.log" || die "the series: ctest says something else"
    # The same case is a failure without the option, which is off by default.
    build_netcdf series-off "series-$version" all "${options[@]}"
    ! nm -D "$(libdir "series-off-series-$version")/libnetcdf.so" | grep ' U nczchunk_' >/dev/null ||
        die "the series: nczchunk is used though the option is off"
    find "$netcdf/series-off-series-$version" -name 'zwalk.c.o' | grep . >/dev/null ||
        die "the series: NCZarr's own code is not there"
    quietly ctest --test-dir "$netcdf/series-off-series-$version"
    ! with "series-off-series-$version" env LD_LIBRARY_PATH="$(libdir "series-off-series-$version")" \
        "$netcdf/series-on-series-$version/nczarr_test/test_nczchunk_defects" B2 "$run" >/dev/null 2>&1 ||
        die "the series: B2 is no test"
    # Its users find nczchunk by netCDF's own files.
    quietly cmake --install "$netcdf/series-on-series-$version"
    grep -q -- '-lnczchunk' "$netcdf/installed-series-on-series-$version/lib/pkgconfig/netcdf.pc" ||
        die "the series: netcdf.pc does not name nczchunk"
    quietly cmake -G Ninja -S "$adapter/tests/consumer" -B "$netcdf/consumer-series" \
        -DCMAKE_PREFIX_PATH="$netcdf/installed-series-on-series-$version;$netcdf/nczchunk"
    quietly cmake --build "$netcdf/consumer-series"
    rm -rf "$run" && mkdir -p "$run"
    "$netcdf/consumer-series/consumer" "$run" || die "the series: a program that finds netCDF does not run on nczchunk"
}

# check_autotools: netCDF-C's other build, with nczchunk, whose tests run, and without. Of the crates the last one that
# has configure.ac is taken; files of programs and tests that it leaves out are empty here.
check_autotools() {
    local source file options library kind
    apply_series 4.9.3 autotools
    source=$(source_of autotools)
    for file in $(sed -n '/^AC_CONFIG_FILES(\[Makefile/,$s/^[^a-z]*\([^ ]*\/Makefile\)$/\1/p' "$source"/conf*.ac); do
        mkdir -p "$(dirname "$source/$file")"
        [[ -e $source/$file.am ]] || touch "$source/$file.am"
    done
    if ! (cd "$source" && autoreconf -fi) >"$netcdf/said" 2>&1; then
        for file in $(sed -n "s/.*required file '\(.*\)' not found/\1/p" "$netcdf/said"); do
            touch "$source/$file"
        done
        (cd "$source" && quietly autoreconf -fi)
    fi
    options=(--cache-file="$netcdf/autotools.cache" --disable-hdf5 --disable-dap --disable-byterange --disable-libxml2
        --disable-testsets --disable-utilities --disable-examples --disable-static)
    rm -rf "$netcdf/autotools" "$netcdf/autotools-without" "$netcdf/autotools.cache"
    mkdir -p "$netcdf/autotools" "$netcdf/autotools-without"
    export PKG_CONFIG_PATH=$netcdf/nczchunk/lib/pkgconfig LD_LIBRARY_PATH=$netcdf/nczchunk/lib
    (cd "$netcdf/autotools" && quietly "$source/configure" "${options[@]}" --enable-nczchunk &&
        quietly make -j "$jobs" &&
        HDF5_PLUGIN_PATH=$netcdf/stock-4.9.3/plugins quietly make -C nczarr_test check)
    grep -q '^# PASS: *1$' "$netcdf/last.log" || die "autotools: the tests in nczarr_test did not run"
    library=$(libdir autotools)
    nm -D "$library/libnetcdf.so" | grep ' U nczchunk_read_vars' >/dev/null || die "autotools: nczchunk is not used"
    grep -q '^Libs.private:.*-lnczchunk' "$netcdf/autotools/netcdf.pc" || die "autotools: netcdf.pc has no nczchunk"
    # Without the option the original files are compiled, though nczchunk is there.
    (cd "$netcdf/autotools-without" && quietly "$source/configure" "${options[@]}" &&
        make -n -C libnczarr libnczarr.la >"$netcdf/said")
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
    grep -q 'zwalk' "$netcdf/said" && ! grep -q 'ncz_transfer' "$netcdf/said" ||
        die "autotools: NCZarr's own code is not there"
}

# check_tree TREE: netCDF-C's whole source, of a release or of its main, with the series: built with CMake and with
# autotools, the option on, it passes netCDF-C's own tests of NCZarr and those of the series.
check_tree() {
    local tree=$netcdf/tree version patch
    version=$(sed -n 's/^AC_INIT(\[netCDF\],\[\([^]]*\)\],.*/\1/p' "$1/configure.ac")
    say "netCDF-C $version, the tree in $1, with the series of patches"
    rm -rf "$tree" "$tree-cmake" "$tree-autotools"
    cp -r "$1" "$tree"
    quietly python3 "$adapter/series.py" "$tree" "$netcdf/series-tree"
    for patch in "$netcdf"/series-tree/*.patch; do
        quietly patch -d "$tree" -p1 --fuzz=0 -i "$patch"
    done
    say "CMake"
    quietly cmake -G Ninja -S "$tree" -B "$tree-cmake" -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 \
        -DNETCDF_ENABLE_NCZCHUNK=ON -DCMAKE_PREFIX_PATH="$netcdf/nczchunk" -DNETCDF_ENABLE_DAP=OFF \
        -DNETCDF_ENABLE_BYTERANGE=OFF -DNETCDF_ENABLE_S3=OFF -DNETCDF_ENABLE_LIBXML2=OFF -DNETCDF_ENABLE_EXAMPLES=OFF
    quietly cmake --build "$tree-cmake" --parallel "$jobs" --target {nczarr_test,ncdump,ncgen,plugins}/all
    nm -D "$(libdir tree-cmake)/libnetcdf.so" | grep ' U nczchunk_read_vars' >/dev/null || die "nczchunk is not used"
    quietly env CTEST_OUTPUT_ON_FAILURE=1 ctest --test-dir "$tree-cmake/nczarr_test" --no-tests=error
    sed -n 's/^\(100% tests passed.*\)/\1/p' "$netcdf/last.log"
    say "configure"
    (cd "$tree" && quietly autoreconf -fi)
    mkdir -p "$tree-autotools"
    export PKG_CONFIG_PATH=$netcdf/nczchunk/lib/pkgconfig LD_LIBRARY_PATH=$netcdf/nczchunk/lib
    (cd "$tree-autotools" && quietly env CFLAGS=-O1 CPPFLAGS="$(hdf5_flags --cflags-only-I)" \
        LDFLAGS="$(hdf5_flags --libs-only-L)" "$tree/configure" --enable-nczchunk --disable-dap --disable-byterange \
        --disable-libxml2 --disable-static &&
        quietly make -j "$jobs" && quietly make -C plugins check && quietly make -C nczarr_test check)
    sed -n 's/^# \(TOTAL\|PASS\|SKIP\|XFAIL\|FAIL\|ERROR\): /&/p' "$netcdf/last.log"
    nm -D "$(libdir tree-autotools)/libnetcdf.so" | grep ' U nczchunk_read_vars' >/dev/null ||
        die "autotools: nczchunk is not used"
    unset PKG_CONFIG_PATH LD_LIBRARY_PATH
}

# Where HDF5 is, for configure: Debian has it in a directory of its own.
hdf5_flags() { pkg-config "$1" hdf5 2>/dev/null || true; }
