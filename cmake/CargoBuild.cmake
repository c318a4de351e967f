# How the two libraries come from cargo: the targets nczchunk::shared and nczchunk::static of the build tree.

set(NCZCHUNK_CARGO cargo CACHE STRING "The command for cargo, as a list: cargo;+nightly")
set(NCZCHUNK_CARGO_FLAGS "" CACHE STRING "More arguments for cargo, as a list: --offline")
set(NCZCHUNK_CARGO_TARGET "" CACHE STRING "The target triple; empty for the host")
set(NCZCHUNK_RUSTFLAGS "" CACHE STRING "RUSTFLAGS for cargo; empty leaves the environment's")

execute_process(COMMAND ${NCZCHUNK_CARGO} --version RESULT_VARIABLE failed OUTPUT_QUIET ERROR_QUIET)
if(failed)
    list(JOIN NCZCHUNK_CARGO " " command)
    message(FATAL_ERROR "`${command}` does not run; install Rust from https://rustup.rs or set NCZCHUNK_CARGO.")
endif()

# What the libraries have besides the engine: each is a feature of the crate.
set(features arrays cfdb zip blosc crc32c fletcher32 gzip lz4 shuffle zlib zstd)
set(with "")
foreach(feature IN LISTS features)
    string(TOUPPER ${feature} FEATURE)
    option(NCZCHUNK_WITH_${FEATURE} "Build the libraries with ${feature}" ON)
    if(NCZCHUNK_WITH_${FEATURE})
        list(APPEND with ${feature})
    endif()
endforeach()
set(cargo_features "")
if(NOT with STREQUAL features)
    list(JOIN with "," with)
    set(cargo_features --no-default-features "--features=${with}")
endif()

# The program has all of it.
set(cargo_packages -p nczchunk)
if(NCZCHUNK_BUILD_CLI AND with STREQUAL features)
    list(APPEND cargo_packages -p nczchunk-cli)
else()
    set(NCZCHUNK_BUILD_CLI OFF)
endif()

set(cargo_arguments --locked --target-dir ${PROJECT_BINARY_DIR}/cargo ${cargo_features} ${NCZCHUNK_CARGO_FLAGS})
set(cargo_libdir ${PROJECT_BINARY_DIR}/cargo)
if(NCZCHUNK_CARGO_TARGET)
    list(APPEND cargo_arguments --target ${NCZCHUNK_CARGO_TARGET})
    string(APPEND cargo_libdir /${NCZCHUNK_CARGO_TARGET})
endif()
if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    set(cargo_profile dev)
    string(APPEND cargo_libdir /debug)
else()
    set(cargo_profile release)
    string(APPEND cargo_libdir /release)
endif()

# zstd, the C in the library, is compiled like the C of this project: sanitizers see it too.
set(cargo_environment CC=${CMAKE_C_COMPILER} CFLAGS=${CMAKE_C_FLAGS})
if(NCZCHUNK_RUSTFLAGS)
    list(APPEND cargo_environment RUSTFLAGS=${NCZCHUNK_RUSTFLAGS})
endif()
set(cargo_command ${CMAKE_COMMAND} -E env ${cargo_environment} ${NCZCHUNK_CARGO})

# The targets are the installed package's own, pointed at the build tree.
set(nczchunk_libdir ${cargo_libdir})
set(nczchunk_includedir ${PROJECT_SOURCE_DIR}/include)
include(${CMAKE_CURRENT_LIST_DIR}/nczchunk-targets.cmake)
set_target_properties(nczchunk::shared nczchunk::static PROPERTIES IMPORTED_GLOBAL ON)

# Only cargo knows whether anything is to be done, so it is always asked. The link is what programs find at run time.
add_custom_target(nczchunk_cargo ALL
    COMMAND ${cargo_command} build --profile ${cargo_profile} ${cargo_packages} ${cargo_arguments}
    COMMAND ${CMAKE_COMMAND} -E create_symlink libnczchunk.so ${cargo_libdir}/${nczchunk_soname}
    BYPRODUCTS ${cargo_libdir}/libnczchunk.so ${cargo_libdir}/libnczchunk.a
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    COMMENT "Building libnczchunk with cargo"
    USES_TERMINAL VERBATIM)
add_dependencies(nczchunk::shared nczchunk_cargo)
add_dependencies(nczchunk::static nczchunk_cargo)
