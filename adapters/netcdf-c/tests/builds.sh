# How the adapter's scripts get netCDF-C and build it, stock and adapted. Sourced after scripts/lib.sh, not run.
# shellcheck shell=bash
# What lib.sh sets, and what the scripts use.
# shellcheck disable=SC2154,SC2034

adapter=$root/adapters/netcdf-c
netcdf=$build/netcdf # everything fetched and built, by version
jobs=$(nproc)

# Runs a command that has much to say; shows what it said only if it fails.
quietly() {
    local log=$netcdf/last.log
    "$@" >"$log" 2>&1 || {
        tail -n 60 "$log" >&2
        die "failed: $*"
    }
}

# nczchunk, built and installed as a user would have it.
build_nczchunk() {
    mkdir -p "$netcdf"
    say "Building nczchunk"
    build_program "$netcdf/last.log"
    quietly cmake --install build/release --prefix "$netcdf/nczchunk"
}

# netCDF-C's source is in the crate netcdf-src, whose versions are its own.
crate_version() {
    case $1 in
        4.9.2) echo 0.4.1 ;;
        4.9.3) echo 0.4.3 ;;
        4.10.0) echo 0.5.2 ;;
        4.10.1) echo 0.5.3 ;;
        *) die "no crate is known to have netCDF-C $1" ;;
    esac
}

source_of() { echo "$netcdf/source-$1"; }

fetch_netcdf() {
    local version=$1 package=$netcdf/fetch-$1 found
    [[ ! -e $(source_of "$version")/CMakeLists.txt ]] || return 0
    say "Fetching netCDF-C $version from the registry of Rust"
    mkdir -p "$package/src"
    : >"$package/src/lib.rs"
    cat >"$package/Cargo.toml" <<END
[package]
name = "fetch"
version = "0.0.0"
edition = "2024"

[dependencies]
netcdf-src = "=$(crate_version "$version")"

[workspace]
END
    found=$(cargo metadata --quiet --format-version 1 --manifest-path "$package/Cargo.toml" | python3 -c '
import json, os, sys
packages = json.load(sys.stdin)["packages"]
print(next(os.path.dirname(p["manifest_path"]) for p in packages if p["name"] == "netcdf-src"))') ||
        die "netCDF-C $version cannot be had from the registry of Rust"
    rm -rf "$(source_of "$version").new"
    cp -r "$found/source" "$(source_of "$version").new"
    # 4.9.2's build copies these two of its tests, which the crate leaves out, even if no test is built.
    mkdir -p "$(source_of "$version").new/unit_test"
    touch "$(source_of "$version").new/unit_test/timer_utils."{h,c}
    mv "$(source_of "$version").new" "$(source_of "$version")"
}

# What a build has: NCZarr and its filters, and nothing that needs other libraries. 4.9.2 names options differently.
netcdf_options() {
    local prefix=NETCDF_ option
    [[ $1 != 4.9.2 ]] || prefix=
    for option in ENABLE_HDF5 ENABLE_DAP ENABLE_BYTERANGE ENABLE_S3 ENABLE_NCZARR_ZIP ENABLE_TESTS ENABLE_EXAMPLES \
        ENABLE_LIBXML2 ENABLE_FILTER_TESTING; do
        echo "-D$prefix$option=OFF"
    done
    echo "-D${prefix}ENABLE_NCZARR=ON"
    echo "-D${prefix}BUILD_UTILITIES=OFF"
    [[ $1 != 4.9.2 ]] || echo "-DENABLE_NETCDF_4=ON"
}

# configure_netcdf NAME VERSION [OPTION...]: configures the build $netcdf/NAME-VERSION.
configure_netcdf() {
    local name=$1 version=$2 options
    shift 2
    mapfile -t options < <(netcdf_options "$version")
    cmake -G Ninja -S "$(source_of "$version")" -B "$netcdf/$name-$version" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
        -DCMAKE_INSTALL_PREFIX="$netcdf/installed-$name-$version" "${options[@]}" "$@"
}

# build_netcdf NAME VERSION TARGET [OPTION...]: builds it.
build_netcdf() {
    local name=$1 version=$2 target=$3
    shift 3
    [[ -e $(source_of "$version")/CMakeLists.txt ]] || fetch_netcdf "$version"
    say "Building netCDF-C $version, $name"
    quietly configure_netcdf "$name" "$version" "$@"
    quietly cmake --build "$netcdf/$name-$version" --parallel "$jobs" --target "$target"
}

# altered_source FROM TO: a copy of a version's source, to be changed.
altered_source() {
    fetch_netcdf "$1"
    rm -rf "$(source_of "$2")"
    cp -r "$(source_of "$1")" "$(source_of "$2")"
}

# What makes a build of the version "s3" one with netCDF-C's own client for S3.
with_s3=(-DNETCDF_ENABLE_S3=ON -DNETCDF_ENABLE_S3_INTERNAL=ON -DNETCDF_ENABLE_NCZARR_S3=ON -DNETCDF_ENABLE_LIBXML2=ON)

# The source of the version "s3": netCDF-C 4.10.1, whose client for S3 asks servers with TLS only, and here those
# without. Nothing else is changed, so it makes the same requests.
s3_source() {
    local packages=() client
    client=$(source_of s3)/libdispatch/ncs3sdk_h5.c
    [[ -e /usr/include/x86_64-linux-gnu/curl/curl.h || -e /usr/include/curl/curl.h ]] ||
        packages+=(libcurl4-openssl-dev)
    [[ -e /usr/include/libxml2/libxml/parser.h ]] || packages+=(libxml2-dev)
    ((${#packages[@]} == 0)) || apt_install "${packages[@]}" || die "install: ${packages[*]}"
    [[ -e $client ]] || altered_source 4.10.1 s3
    grep -qF 'ncbytescat(buf,"http://")' "$client" ||
        sed -i 's|ncbytescat(buf,"https://")|ncbytescat(buf,"http://")|' "$client"
    grep -qF 'ncbytescat(buf,"http://")' "$client" || die "netCDF-C's client for S3 is not as it was"
}

# What makes a build an adapted one.
adapted=(-DCMAKE_PROJECT_netCDF_INCLUDE="$adapter/nczchunk-netcdf.cmake" -DCMAKE_PREFIX_PATH="$netcdf/nczchunk")

# Where a build's libnetcdf is.
libdir() { dirname "$(find "$netcdf/$1" -name 'libnetcdf.so' -print -quit)"; }

# The words with which C is compiled against netCDF-C's headers, the internal ones too. Their own warnings are not
# wanted.
c_flags() {
    local include
    printf '%s\n' -std=gnu11 -O2 -g -Wall -Wextra -Werror -DHAVE_CONFIG_H
    for include in "$netcdf/stock-$1" "$netcdf/stock-$1/include" "$(source_of "$1")/include" \
        "$(source_of "$1")/libnczarr"; do
        printf '%s\n' -isystem "$include"
    done
}

# compile PROGRAM VERSION: a test or benchmark, linked to the stock library; which one it runs with is said when it is
# run.
compile() {
    local flags
    mapfile -t flags < <(c_flags "$2")
    # What a test has of its own is found by libraries that are loaded later, too.
    quietly cc "${flags[@]}" -rdynamic -o "$netcdf/$1-$2" "$adapter/tests/$1.c" -L"$(libdir "stock-$2")" -lnetcdf \
        -pthread -lm
}

# with BUILD COMMAND...: runs a command with a build's library and filters, in an empty directory $run.
run=$netcdf/run
with() {
    local which=$1
    shift
    rm -rf "$run"
    mkdir -p "$run"
    env LD_LIBRARY_PATH="$(libdir "$which")" HDF5_PLUGIN_PATH="$netcdf/$which/plugins" "$@"
}

# What netCDF's rc file has to say so that the adapter decodes, with so many threads.
decoding() {
    local rc=$netcdf/decode-$1.ncrc
    printf 'NCZCHUNK.DECODE=1\nNCZCHUNK.THREADS=%s\n' "$1" >"$rc"
    echo "$rc"
}

# The filters that are compared need these; without them netCDF-C builds fewer filters, and the comparison says so.
need_netcdf_tools() {
    need_build_tools
    have python3 || apt_install python3 || die "python3 is missing"
    local packages=()
    [[ -e /usr/include/zlib.h ]] || packages+=(zlib1g-dev)
    [[ -e /usr/include/zstd.h ]] || packages+=(libzstd-dev)
    [[ -e /usr/include/blosc.h ]] || packages+=(libblosc-dev)
    have m4 || packages+=(m4)
    ((${#packages[@]} == 0)) || apt_install "${packages[@]}" || [[ ${CI:-} != true ]] || die "install: ${packages[*]}"
}

# Python with netCDF4, whose libnetcdf is the version that the preload is built for, xarray and Dask.
python=$netcdf/python/bin/python
need_python() {
    "$python" -c 'import dask, netCDF4, xarray' 2>/dev/null && return
    quietly python3 -m venv "$netcdf/python"
    quietly "$netcdf/python/bin/pip" install 'netCDF4==1.7.5.1.post1' xarray dask
}
