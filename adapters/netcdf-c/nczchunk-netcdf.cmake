# Builds netCDF-C with nczchunk in place of libnczarr's zchunking.c, zodom.c and zwalk.c.
#
# Without a change to netCDF-C's tree:
#
#   cmake -S netcdf-c -B build -DCMAKE_PROJECT_netCDF_INCLUDE=.../nczchunk-netcdf.cmake \
#       -DCMAKE_PREFIX_PATH=where-nczchunk-is-installed
#
# Or include this file in netCDF-C's own CMakeLists.txt, after its project(). Either way the rest happens once the
# targets nczarr and netcdf are defined.
#
#   NCZCHUNK_LINK     shared (default): libnetcdf needs libnczchunk.so; static: libnetcdf contains it
#   NCZCHUNK_PRELOAD  ON leaves libnetcdf as it is and adds the target nczchunk-netcdf-preload instead: a library to be
#                     preloaded into programs that use another libnetcdf of the same version. It contains nczchunk.

if(CMAKE_VERSION VERSION_LESS 3.19)
    message(FATAL_ERROR "nczchunk-netcdf.cmake needs CMake 3.19 or newer.")
endif()

set(NCZCHUNK_LINK shared CACHE STRING "How netCDF is linked to nczchunk: shared or static")
set_property(CACHE NCZCHUNK_LINK PROPERTY STRINGS shared static)
option(NCZCHUNK_PRELOAD "Build a library to be preloaded instead of an adapted libnetcdf" OFF)
set(NCZCHUNK_ADAPTER_DIR ${CMAKE_CURRENT_LIST_DIR})

find_package(nczchunk 0.2 REQUIRED)

function(nczchunk_adapt_netcdf)
    if(NOT TARGET nczarr OR NOT TARGET netcdf)
        message(FATAL_ERROR "nczchunk takes the place of parts of NCZarr, but this netCDF is configured without it.")
    endif()

    # The three files out, the adapter in.
    get_target_property(sources nczarr SOURCES)
    foreach(file zchunking.c zodom.c zwalk.c)
        if(NOT file IN_LIST sources)
            message(FATAL_ERROR "libnczarr has no ${file}: this is not a netCDF-C that nczchunk knows.")
        endif()
        list(REMOVE_ITEM sources ${file})
    endforeach()
    foreach(file ncz_cache.c ncz_transfer.c ncz_odometer.c ncz_projections.c)
        list(APPEND sources ${NCZCHUNK_ADAPTER_DIR}/src/${file})
    endforeach()
    set_property(TARGET nczarr PROPERTY SOURCES ${sources})

    # The target's own properties are set, because netCDF-C's versions call target_link_libraries in different styles,
    # which do not mix.
    set(library nczchunk::${NCZCHUNK_LINK})
    get_target_property(libnczarr nczarr SOURCE_DIR)
    set_property(TARGET nczarr APPEND PROPERTY
        INCLUDE_DIRECTORIES ${libnczarr} $<TARGET_PROPERTY:${library},INTERFACE_INCLUDE_DIRECTORIES>)
    set_property(TARGET netcdf APPEND PROPERTY LINK_LIBRARIES ${library})
    if(NCZCHUNK_LINK STREQUAL "static")
        # What libnczchunk.a brings along, zstd for one, stays inside.
        set_property(TARGET netcdf APPEND PROPERTY LINK_OPTIONS LINKER:--exclude-libs,libnczchunk.a)
    endif()
    message(STATUS "NCZarr runs on nczchunk ${nczchunk_VERSION} (${NCZCHUNK_LINK})")
endfunction()

# The library to be preloaded sees the headers as libnczarr's own files do.
function(nczchunk_add_preload)
    set(target nczchunk-netcdf-preload)
    get_target_property(libnczarr nczarr SOURCE_DIR)
    add_library(${target} MODULE EXCLUDE_FROM_ALL
        ${NCZCHUNK_ADAPTER_DIR}/preload/preload.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_cache.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_transfer.c)
    target_include_directories(${target} PRIVATE
        ${NCZCHUNK_ADAPTER_DIR}/src ${libnczarr} $<TARGET_PROPERTY:nczarr,INCLUDE_DIRECTORIES>)
    # The adapter's entry has another name here, because the one that is preloaded has netCDF's.
    set_property(SOURCE ${NCZCHUNK_ADAPTER_DIR}/src/ncz_transfer.c
        PROPERTY COMPILE_DEFINITIONS NCZ_transferslice=nczadapter_transferslice)
    target_link_libraries(${target} PRIVATE nczchunk::static)
    # NCZ_transferslice is all that is seen from outside, and nothing inside can be replaced.
    target_link_options(${target} PRIVATE
        LINKER:--version-script=${NCZCHUNK_ADAPTER_DIR}/preload/exports LINKER:--no-undefined)
    set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${NCZCHUNK_ADAPTER_DIR}/preload/exports)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME libnczchunk-netcdf-${PROJECT_VERSION})
endfunction()

if(NCZCHUNK_PRELOAD)
    cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL nczchunk_add_preload)
else()
    cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL nczchunk_adapt_netcdf)
endif()
