# What the scripts share: where things are, and how a missing tool is fetched. Sourced, not run.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$root" || exit
build=$root/build
tools=$build/tools # programs from PyPI, where the system's packages cannot be had
setup_log=$build/setup/$(basename "$0").log
mkdir -p "$build/setup"
: >"$setup_log"
PATH=$tools/bin:$PATH
CTEST_PARALLEL_LEVEL=${CTEST_PARALLEL_LEVEL:-$(nproc)}
export PATH CTEST_PARALLEL_LEVEL

say() { printf '%s\n' "-- $*"; }

die() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}

have() { command -v "$1" >/dev/null 2>&1; }

# one_at_a_time WHERE COMMAND...: runs a command when no other script runs one there, for several may run side by side:
# "setup" is where packages are installed, "release" is build/release.
one_at_a_time() {
    if have flock; then
        (flock 9 && "${@:2}" 9>&-) 9>"$build/setup/$1.lock"
    else
        "${@:2}"
    fi
}

! have rustup || rustup() { one_at_a_time setup env rustup "$@"; }

# The words that run a command as root: none for root itself. Fails where that takes a password.
as_root() { ((EUID == 0)) || { sudo -n true 2>/dev/null && echo sudo -n; }; }

apt_get() {
    # The answer is a list of words, to be split.
    # shellcheck disable=SC2046
    one_at_a_time setup $(as_root) env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" \
        >>"$setup_log" 2>&1
}

# Installs Debian packages. A fresh machine knows no packages until it is told to update.
apt_install() {
    if ! have apt-get || ! as_root >/dev/null; then
        say "Missing, and apt-get cannot be used here: $*"
        return 1
    fi
    say "Installing with apt-get: $*"
    apt_get install -y --no-install-recommends "$@" && return
    apt_get update && apt_get install -y --no-install-recommends "$@" && return
    say "apt-get could not install them (see ${setup_log#"$root"/})"
    return 1
}

# Installs programs from PyPI below build/, without touching the system's Python.
pip_install() {
    have python3 || return 1
    say "Installing from PyPI into ${tools#"$root"/}: $*"
    if { python3 -m venv "$tools" && "$tools/bin/python" -m pip install "$@"; } >>"$setup_log" 2>&1; then
        hash -r # forget an older program of the same name
        return
    fi
    say "pip could not install them (see ${setup_log#"$root"/})"
    return 1
}

need_cargo() {
    have cargo || die "cargo is missing; install Rust from https://rustup.rs"
    local wanted found
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(cargo --version | cut -d ' ' -f 2)
    [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]] ||
        die "cargo $found is too old, $wanted is needed; run: rustup update stable"
}

# Whether cmake is there and new enough for CMakePresets.json, which the scripts use.
have_cmake() {
    local wanted found
    have cmake || return 1
    wanted=$(sed -n 's/.*"cmakeMinimumRequired": { "major": \(.*\), "minor": \(.*\), .*/\1.\2/p' CMakePresets.json)
    found=$(cmake --version | sed -n 's/^cmake version //p')
    [[ $(printf '%s\n' "$wanted" "$found" | sort -V | head -n 1) == "$wanted" ]]
}

# What every build needs: cargo, a C compiler, cmake, ninja.
need_build_tools() {
    need_cargo
    have cc || apt_install gcc libc6-dev || die "a C compiler is missing; install gcc"
    if ! have_cmake || ! have ninja; then
        apt_install cmake ninja-build || true
    fi
    have_cmake || pip_install cmake || die "cmake is missing or too old; install the package cmake or python3-venv"
    have ninja || pip_install ninja || die "ninja is missing; install the package ninja-build or python3-venv"
}

# build_library LOG, build_program LOG: build the libraries below build/release as they are installed; the program, too.
build_library() { build_target nczchunk_cargo "$1"; }
build_program() { build_target nczchunk_program "$1"; }

build_target() {
    one_at_a_time release build_preset "$@" || {
        cat "$2" >&2
        die "the build failed"
    }
}

build_preset() {
    { cmake --preset release && cmake --build --preset release --target "$1"; } >"$2" 2>&1
}

# need_nightly COMPONENT...: nightly Rust with these components.
need_nightly() {
    local installed component missing=()
    have rustup || die "rustup is missing, which provides nightly Rust; install it from https://rustup.rs"
    installed=$(rustup component list --toolchain nightly --installed 2>/dev/null || true)
    for component; do
        [[ $installed == *"$component"* ]] || missing+=("$component")
    done
    ((${#missing[@]})) || return 0
    say "Adding to nightly Rust: ${missing[*]}"
    rustup component add "${missing[@]}" --toolchain nightly >>"$setup_log" 2>&1 ||
        rustup toolchain install nightly --profile minimal --component "$(IFS=, && echo "$*")" >>"$setup_log" 2>&1 ||
        die "nightly Rust with $* is missing; run: rustup toolchain install nightly --component $(IFS=, && echo "$*")"
}

# cargo_tsan DIRECTORY ARGUMENT...: cargo test under ThreadSanitizer, built in the directory. Every access must be seen:
# those of the standard library and of zstd too.
cargo_tsan() {
    local host
    host=$(rustc +nightly --print host-tuple)
    # As CMakePresets.json has it, so that one standard library and one zstd are compiled for both.
    env "CC_${host//-/_}=$(command -v cc)" "CFLAGS_${host//-/_}=-fsanitize=thread -fno-omit-frame-pointer -O1" \
        RUSTFLAGS="-Zsanitizer=thread -Copt-level=1" cargo +nightly test --locked -Zbuild-std --target "$host" \
        --target-dir "$1" "${@:2}"
}

# planted_copy DIRECTORY: makes a copy of the tree there with the bugs of tests/planted.py, all of them switched off.
planted_copy() {
    rm -rf "$1" && mkdir -p "$1"
    git ls-files -z --cached --others --exclude-standard | tar -c --null --files-from - | tar -x -C "$1"
    python3 tests/planted.py "$1"
}

# wine_lacks DIRECTORY: puts there the DLL of Windows that Wine has since version 9 only, from which Rust takes random
# numbers, made with MinGW's compiler.
wine_lacks() {
    [[ -z $(find /usr/lib -name bcryptprimitives.dll -path '*wine*') ]] || return 0
    printf '%s\n' '#include <windows.h>' '#include <ntsecapi.h>' '__declspec(dllexport)' \
        'BOOL ProcessPrng(PBYTE data, SIZE_T len) { return RtlGenRandom(data, (ULONG)len); }' |
        x86_64-w64-mingw32-gcc -shared -x c - -x none -ladvapi32 -o "$1/bcryptprimitives.dll"
}

# netcdf_with_s3 [adapted]: builds netCDF-C as it is, or with the adapter, each with netCDF-C's own client for S3 (for
# servers without TLS: s3_source). Prints where it is installed: include, lib and bin. The filters are in
# build/netcdf/stock-s3/plugins; HDF5_PLUGIN_PATH has to name that. It reads
# http://SERVER:PORT/BUCKET/KEY#mode=nczarr,s3, or zarr,s3, with AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and
# AWS_REGION.
netcdf_with_s3() (
    # shellcheck source=adapters/netcdf-c/tests/builds.sh
    source "$root/adapters/netcdf-c/tests/builds.sh"
    kind=${1:-stock}
    {
        need_netcdf_tools
        mkdir -p "$netcdf"
        s3_source
        if [[ $kind == adapted ]]; then
            build_nczchunk
            with_s3+=("${adapted[@]}")
        fi
        build_netcdf "$kind" s3 all "${with_s3[@]}"
        grep -q 'S3 SDK:[[:space:]]*internal' "$netcdf/$kind-s3/libnetcdf.settings" || die "netCDF-C has no S3"
        quietly cmake --install "$netcdf/$kind-s3"
    } >&2
    echo "$netcdf/installed-$kind-s3"
)
