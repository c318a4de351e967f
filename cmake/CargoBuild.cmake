# How the two libraries come from cargo: the targets nczchunk::shared, nczchunk::static and nczchunk::nczchunk of
# the build tree.

set(NCZCHUNK_CARGO cargo CACHE STRING "The command for cargo, as a list: cargo;+nightly")
set(NCZCHUNK_CARGO_FLAGS "" CACHE STRING "More arguments for cargo, as a list: --offline")
set(NCZCHUNK_CARGO_TARGET "" CACHE STRING "The target triple; empty for the host")
set(NCZCHUNK_RUSTFLAGS "" CACHE STRING "RUSTFLAGS for cargo; empty leaves the environment's")

execute_process(COMMAND ${NCZCHUNK_CARGO} --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
    list(JOIN NCZCHUNK_CARGO " " command)
    message(FATAL_ERROR "`${command}` does not run; install Rust from https://rustup.rs or set NCZCHUNK_CARGO.")
endif()

# What the libraries have besides the engine: each is a feature of a crate, by default. Codecs are the engine's.
set(all "")
set(with "")
foreach(crate nczchunk-c nczchunk-engine)
    set(manifest ${PROJECT_SOURCE_DIR}/Cargo.toml)
    if(crate STREQUAL nczchunk-engine)
        set(manifest ${PROJECT_SOURCE_DIR}/engine/Cargo.toml)
    endif()
    file(STRINGS ${manifest} features REGEX "^default = ")
    string(REGEX MATCHALL "[a-z0-9_]+" features "${features}")
    list(REMOVE_ITEM features default codecs)
    foreach(feature IN LISTS features)
        string(TOUPPER ${feature} FEATURE)
        option(NCZCHUNK_WITH_${FEATURE} "Build the libraries with ${feature}" ON)
        list(APPEND all ${crate}/${feature})
        if(NCZCHUNK_WITH_${FEATURE})
            list(APPEND with ${crate}/${feature})
        endif()
    endforeach()
endforeach()
set(cargo_features "")
set(NCZCHUNK_HAS_ALL ON)
if(NOT with STREQUAL all)
    list(JOIN with "," with)
    set(cargo_features --no-default-features "--features=${with}")
    set(NCZCHUNK_HAS_ALL OFF)
endif()

# What is not there by default: 122 more crates are compiled for it.
option(NCZCHUNK_NETWORK "Build the libraries and the program with arrays at URLs (S3, Google, Azure, HTTP)" OFF)
if(NCZCHUNK_NETWORK)
    list(APPEND cargo_features --features=network)
endif()
option(NCZCHUNK_PARQUET "Build the libraries and the program with references in Parquet files" OFF)
if(NCZCHUNK_PARQUET)
    list(APPEND cargo_features --features=parquet)
endif()

# Whoever distributes libraries wants one zstd in the system, and not one more in each library.
option(NCZCHUNK_SYSTEM_ZSTD "Link the libzstd that pkg-config finds instead of compiling one in" OFF)
if(NCZCHUNK_SYSTEM_ZSTD AND NCZCHUNK_WITH_ZSTD)
    list(PREPEND nczchunk_system_libs zstd)
endif()

# The program has all of it.
if(NOT NCZCHUNK_HAS_ALL)
    set(NCZCHUNK_BUILD_CLI OFF)
endif()

# Where a cross compiler says what it compiles for, cargo is told the same.
if(CMAKE_CROSSCOMPILING AND NOT NCZCHUNK_CARGO_TARGET)
    string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" processor)
    string(REGEX REPLACE "^(arm64|aarch64)$" "aarch64" processor "${processor}")
    string(REGEX REPLACE "^amd64$" "x86_64" processor "${processor}")
    string(REGEX REPLACE "^riscv64$" "riscv64gc" processor "${processor}")
    string(REGEX REPLACE "^ppc64le$" "powerpc64le" processor "${processor}")
    if(processor MATCHES "^(x86_64|i686|aarch64|riscv64gc|powerpc64le|s390x)$")
        if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
            set(NCZCHUNK_CARGO_TARGET ${processor}-unknown-linux-gnu)
        elseif(APPLE)
            set(NCZCHUNK_CARGO_TARGET ${processor}-apple-darwin)
        elseif(MINGW)
            set(NCZCHUNK_CARGO_TARGET ${processor}-pc-windows-gnu)
        elseif(WIN32)
            set(NCZCHUNK_CARGO_TARGET ${processor}-pc-windows-msvc)
        endif()
    endif()
    if(NOT NCZCHUNK_CARGO_TARGET)
        message(FATAL_ERROR "Set NCZCHUNK_CARGO_TARGET to Rust's name of the target: rustc --print target-list")
    endif()
endif()

# Each configuration is a profile of cargo's, with a directory of its own.
set(named_profile "$<IF:$<CONFIG:RelWithDebInfo,MinSizeRel,Checked>,$<LOWER_CASE:$<CONFIG>>,release>")
set(cargo_profile "$<IF:$<CONFIG:Debug>,dev,${named_profile}>")
set(cargo_arguments --locked --target-dir ${PROJECT_BINARY_DIR}/cargo ${cargo_features} ${NCZCHUNK_CARGO_FLAGS})
set(cargo_target_dir ${PROJECT_BINARY_DIR}/cargo)
if(NCZCHUNK_CARGO_TARGET)
    list(APPEND cargo_arguments --target ${NCZCHUNK_CARGO_TARGET})
    string(APPEND cargo_target_dir /${NCZCHUNK_CARGO_TARGET})
    set(triple ${NCZCHUNK_CARGO_TARGET})
else()
    execute_process(COMMAND ${NCZCHUNK_CARGO} -vV OUTPUT_VARIABLE triple)
    string(REGEX REPLACE ".*host: ([^\n]+).*" "\\1" triple "${triple}")
endif()
string(REPLACE "-" "_" triple "${triple}")
string(TOUPPER "${triple}" TRIPLE)
set(cargo_libdir "${cargo_target_dir}/$<IF:$<CONFIG:Debug>,debug,${cargo_profile}>")

# zstd, the C in the library, is compiled like the C of this project: sanitizers see it too. That is said of the target
# alone, for what cargo runs while it builds is for this machine.
set(cargo_environment "CC_${triple}=${CMAKE_C_COMPILER}" "CFLAGS_${triple}=${CMAKE_C_FLAGS}")
set(link_flags "")
set(shared_flags ${soname_flag})
set(program_flags "")
if(NOT MSVC)
    list(APPEND cargo_environment "CARGO_TARGET_${TRIPLE}_LINKER=${CMAKE_C_COMPILER}")
    separate_arguments(shared_linker_flags NATIVE_COMMAND "${CMAKE_SHARED_LINKER_FLAGS}")
    separate_arguments(program_flags NATIVE_COMMAND "${CMAKE_EXE_LINKER_FLAGS}")
    list(APPEND shared_flags ${shared_linker_flags})
    if(CMAKE_C_COMPILER_TARGET AND CMAKE_C_COMPILER_ID MATCHES "Clang")
        list(APPEND link_flags --target=${CMAKE_C_COMPILER_TARGET})
    endif()
    if(CMAKE_SYSROOT)
        list(APPEND link_flags --sysroot=${CMAKE_SYSROOT})
    endif()
endif()
if(CMAKE_CROSSCOMPILING AND CMAKE_AR)
    list(APPEND cargo_environment "AR_${triple}=${CMAKE_AR}")
endif()
if(NCZCHUNK_SYSTEM_ZSTD)
    list(APPEND cargo_environment ZSTD_SYS_USE_PKG_CONFIG=1)
endif()
if(NCZCHUNK_RUSTFLAGS)
    list(APPEND cargo_environment RUSTFLAGS=${NCZCHUNK_RUSTFLAGS})
endif()
list(APPEND shared_flags ${link_flags})
list(APPEND program_flags ${link_flags})
list(JOIN shared_flags "|" shared_flags)
list(JOIN program_flags "|" program_flags)
list(APPEND cargo_environment
    "NCZCHUNK_LIBRARY_LINK_ARGS=${shared_flags}" "NCZCHUNK_PROGRAM_LINK_ARGS=${program_flags}")
set(cargo_command ${CMAKE_COMMAND} -E env ${cargo_environment} ${NCZCHUNK_CARGO})

# What several packages need is compiled once if cargo is told of all of them each time, for then it has the features
# that any of them wants. The tests in Rust want others still, so that cargo builds them together with the library.
set(program_package "")
if(NCZCHUNK_BUILD_CLI)
    set(program_package -p nczchunk-cli)
endif()
set(cargo_packages -p nczchunk-library ${program_package})
set(rust_test_packages -p nczchunk-c -p nczchunk -p nczchunk-engine ${program_package})
set(cargo_build ${cargo_command} build --profile ${cargo_profile} ${cargo_arguments})
set(with_rust_tests "-p;nczchunk-library;${rust_test_packages};--lib;--tests;--examples")
set(library_targets "$<IF:$<CONFIG:Checked>,${with_rust_tests},${cargo_packages};--lib>")

# The targets are the installed package's own, pointed at the build tree.
set(nczchunk_includedir ${PROJECT_SOURCE_DIR}/include)
set(nczchunk_libdir ${cargo_target_dir}/release)
set(nczchunk_bindir ${nczchunk_libdir})
include(${CMAKE_CURRENT_LIST_DIR}/nczchunk-targets.cmake)
foreach(config debug relwithdebinfo minsizerel checked)
    string(TOUPPER ${config} CONFIG)
    nczchunk_locate(${cargo_target_dir}/${config} ${cargo_target_dir}/${config} _${CONFIG})
endforeach()
set_target_properties(nczchunk::shared nczchunk::static nczchunk::nczchunk PROPERTIES IMPORTED_GLOBAL ON)

# Only cargo knows whether anything is to be done, so it is always asked. The link is what programs find at run time.
set(link_command "")
if(nczchunk_soname)
    set(link_command
        COMMAND ${CMAKE_COMMAND} -E create_symlink ${nczchunk_shared_file} ${cargo_libdir}/${nczchunk_soname})
endif()
set(cargo_products ${nczchunk_shared_file} ${nczchunk_import_file} ${nczchunk_static_file})
list(TRANSFORM cargo_products PREPEND ${cargo_libdir}/)
add_custom_target(nczchunk_cargo ALL
    COMMAND ${cargo_build} "${library_targets}"
    ${link_command}
    BYPRODUCTS ${cargo_products}
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Building libnczchunk with cargo"
    COMMAND_EXPAND_LISTS USES_TERMINAL VERBATIM)
add_dependencies(nczchunk::shared nczchunk_cargo)
add_dependencies(nczchunk::static nczchunk_cargo)

# The program, which has the library in it, is compiled by itself: no test but that of what is installed needs it.
if(NCZCHUNK_BUILD_CLI)
    # It makes its manual pages and completions itself, so it has to run here.
    set(generate_command "")
    if(NOT CMAKE_CROSSCOMPILING)
        set(nczchunk_generated ${PROJECT_BINARY_DIR}/generated)
        set(generate_command COMMAND ${cargo_libdir}/nczchunk${CMAKE_EXECUTABLE_SUFFIX} generate ${nczchunk_generated})
    endif()
    add_custom_target(nczchunk_program ALL
        COMMAND ${cargo_build} ${cargo_packages} --bin nczchunk
        ${generate_command}
        WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
        COMMENT "Building the program nczchunk with cargo"
        USES_TERMINAL VERBATIM)
    add_dependencies(nczchunk_program nczchunk_cargo)
endif()
