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
#   NCZCHUNK_REQUIRED ON (default): no nczchunk, or a netCDF-C that it does not fit, is an error; OFF: NCZarr then keeps
#                     its own three files
#   NCZCHUNK_PRELOAD  ON leaves libnetcdf as it is and adds the target nczchunk-netcdf-preload instead: a library to be
#                     preloaded into programs that use another libnetcdf of the same version. It contains nczchunk.

if(CMAKE_VERSION VERSION_LESS 3.19)
    message(FATAL_ERROR "nczchunk-netcdf.cmake needs CMake 3.19 or newer.")
endif()

set(NCZCHUNK_LINK shared CACHE STRING "How netCDF is linked to nczchunk: shared or static")
set_property(CACHE NCZCHUNK_LINK PROPERTY STRINGS shared static)
option(NCZCHUNK_REQUIRED "Whether NCZarr must run on nczchunk" ON)
option(NCZCHUNK_PRELOAD "Build a library to be preloaded instead of an adapted libnetcdf" OFF)
set(NCZCHUNK_ADAPTER_DIR ${CMAKE_CURRENT_LIST_DIR})

if(NCZCHUNK_REQUIRED OR NCZCHUNK_PRELOAD)
    find_package(nczchunk 0.3 REQUIRED)
else()
    find_package(nczchunk 0.3 QUIET)
    if(NOT nczchunk_FOUND)
        message(STATUS "NCZarr runs on its own code: there is no nczchunk 0.3")
        return()
    endif()
endif()

# Whether the adapter fits this netCDF-C: it is compiled for trial, with a list of all that it relies on, once for each
# form of netCDF-C's internals: whose cache offers functions to such as it, whose cache counts its bytes, or neither
# (src/adapter.h). What differs from the form that is closer is in the compiler's messages. The answer goes
# to NCZCHUNK_DEFINITIONS, which is empty if it does not fit and need not.
function(nczchunk_check_netcdf)
    if(NOT TARGET nczarr OR NOT TARGET netcdf)
        message(FATAL_ERROR "nczchunk takes the place of parts of NCZarr, but this netCDF is configured without it.")
    endif()
    get_target_property(libnczarr nczarr SOURCE_DIR)
    get_target_property(includes nczarr INCLUDE_DIRECTORIES)
    get_target_property(nczchunk_includes nczchunk::shared INTERFACE_INCLUDE_DIRECTORIES)
    file(GLOB sources ${NCZCHUNK_ADAPTER_DIR}/src/*.c)
    set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
    set(fewest -1)
    foreach(form 11 10 00)
        string(REGEX REPLACE "(.)(.)" "NETCDF_CACHE_COUNTS=\\1;NETCDF_CACHE_OFFERS=\\2" definitions ${form})
        list(TRANSFORM definitions PREPEND -D OUTPUT_VARIABLE options)
        try_compile(fits ${CMAKE_BINARY_DIR}/nczchunk-check-${form} SOURCES ${sources}
            CMAKE_FLAGS "-DINCLUDE_DIRECTORIES=${libnczarr};${includes};${nczchunk_includes}"
            COMPILE_DEFINITIONS -DHAVE_CONFIG_H ${options} -Werror=incompatible-pointer-types
                -Werror=implicit-function-declaration -Werror=int-conversion -fno-diagnostics-show-caret
            OUTPUT_VARIABLE output)
        if(fits)
            set(NCZCHUNK_DEFINITIONS ${definitions} PARENT_SCOPE)
            return()
        endif()
        string(REGEX MATCHALL "[^\n]*error: [^\n]*" errors "${output}")
        list(LENGTH errors number)
        if(fewest EQUAL -1 OR number LESS fewest)
            set(fewest ${number})
            set(differences ${errors})
        endif()
    endforeach()
    list(REMOVE_DUPLICATES differences)
    list(TRANSFORM differences REPLACE "^.*error: " "\n  ")
    list(REMOVE_DUPLICATES differences)
    list(JOIN differences "" differences)
    if(NOT NCZCHUNK_REQUIRED AND NOT NCZCHUNK_PRELOAD)
        set(NCZCHUNK_DEFINITIONS "" PARENT_SCOPE)
        message(STATUS "NCZarr runs on its own code: nczchunk's adapter does not fit it. What differs:${differences}")
        return()
    endif()
    message(FATAL_ERROR "nczchunk's adapter does not fit netCDF-C ${PROJECT_VERSION}. What differs:${differences}")
endfunction()

function(nczchunk_adapt_netcdf)
    nczchunk_check_netcdf()
    if(NOT NCZCHUNK_DEFINITIONS)
        return()
    endif()

    # The three files out, the adapter in.
    get_target_property(sources nczarr SOURCES)
    foreach(file zchunking.c zodom.c zwalk.c)
        if(NOT file IN_LIST sources)
            message(FATAL_ERROR "libnczarr has no ${file}: this is not a netCDF-C that nczchunk knows.")
        endif()
        list(REMOVE_ITEM sources ${file})
    endforeach()
    foreach(file ncz_ahead.c ncz_cache.c ncz_decode.c ncz_keep.c ncz_odometer.c ncz_projections.c ncz_shelf.c
            ncz_transfer.c ncz_zxcache.c)
        list(APPEND sources ${NCZCHUNK_ADAPTER_DIR}/src/${file})
    endforeach()
    set_property(TARGET nczarr PROPERTY SOURCES ${sources})
    set_property(TARGET nczarr APPEND PROPERTY COMPILE_DEFINITIONS ${NCZCHUNK_DEFINITIONS})

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
    get_target_property(type netcdf TYPE)
    if(type STREQUAL "STATIC_LIBRARY")
        # An archive is not linked: what it needs is for the program's linker.
        set_property(TARGET netcdf APPEND PROPERTY INTERFACE_LINK_LIBRARIES $<LINK_ONLY:${library}>)
    elseif(NCZCHUNK_LINK STREQUAL "shared")
        # The installed libnetcdf finds libnczchunk.so where it was linked to it.
        set_property(TARGET netcdf PROPERTY INSTALL_RPATH_USE_LINK_PATH TRUE)
    endif()
    nczchunk_name_in_files(${library})
    message(STATUS "NCZarr runs on nczchunk ${nczchunk_VERSION} (${NCZCHUNK_LINK})")
    if(NETCDF_CACHE_OFFERS=1 IN_LIST NCZCHUNK_DEFINITIONS)
        message(STATUS "nczchunk uses the functions that NCZarr's cache offers")
    endif()
endfunction()

# Changes a file that netCDF-C's configuration has just written.
function(nczchunk_edit file pattern replacement)
    file(READ ${netCDF_BINARY_DIR}/${file} text)
    string(REGEX REPLACE "${pattern}" "${replacement}" edited "${text}")
    if(edited STREQUAL text)
        message(FATAL_ERROR "${file} has no ${pattern}: this is not a netCDF-C that nczchunk knows.")
    endif()
    file(WRITE ${netCDF_BINARY_DIR}/${file} "${edited}")
endfunction()

# What tells others how to link netCDF names nczchunk, which a static libnetcdf leaves to them.
function(nczchunk_name_in_files library)
    get_target_property(location ${library} IMPORTED_LOCATION)
    get_filename_component(directory ${location} DIRECTORY)
    if(NCZCHUNK_LINK STREQUAL "static")
        set(words ${location})
        get_target_property(needed ${library} INTERFACE_LINK_LIBRARIES)
        foreach(name IN LISTS needed)
            string(APPEND words " -l${name}")
        endforeach()
    else()
        set(words "-L${directory} -lnczchunk")
    endif()
    set(dependency "include(CMakeFindDependencyMacro)\nfind_dependency(nczchunk ${nczchunk_VERSION}")
    string(APPEND dependency " HINTS \"${nczchunk_DIR}\")")
    nczchunk_edit(netcdf.pc "(\nLibs.private:[^\n]*)" "\\1 ${words}")
    nczchunk_edit(nc-config "(\nlibsprivate=\"[^\"\n]*)" "\\1 ${words}")
    nczchunk_edit(libnetcdf.settings "(\nExtra libraries:[^\n]*)" "\\1 ${words}")
    nczchunk_edit(libnetcdf.settings "(\nNCZarr Support:[^\n]*)"
        "\\1\nNCZarr Chunking:\tnczchunk ${nczchunk_VERSION} (${NCZCHUNK_LINK})")
    nczchunk_edit(netCDFConfig.cmake "(\ninclude\\(\"[^\n]*netCDFTargets.cmake\"\\))"
        "\n${dependency}\\1")
endfunction()

# The library to be preloaded sees the headers as libnczarr's own files do.
function(nczchunk_add_preload)
    nczchunk_check_netcdf()
    set(target nczchunk-netcdf-preload)
    get_target_property(libnczarr nczarr SOURCE_DIR)
    add_library(${target} MODULE EXCLUDE_FROM_ALL
        ${NCZCHUNK_ADAPTER_DIR}/preload/preload.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_ahead.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_cache.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_decode.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_keep.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_shelf.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_transfer.c
        ${NCZCHUNK_ADAPTER_DIR}/src/ncz_zxcache.c)
    target_include_directories(${target} PRIVATE
        ${NCZCHUNK_ADAPTER_DIR}/src ${libnczarr} $<TARGET_PROPERTY:nczarr,INCLUDE_DIRECTORIES>)
    # The adapter's entry has another name here, because the one that is preloaded has netCDF's.
    set_property(SOURCE ${NCZCHUNK_ADAPTER_DIR}/src/ncz_transfer.c
        PROPERTY COMPILE_DEFINITIONS NCZ_transferslice=nczadapter_transferslice)
    target_compile_definitions(${target} PRIVATE ${NCZCHUNK_DEFINITIONS} NCZADAPTER_PRELOADED)
    target_link_libraries(${target} PRIVATE nczchunk::static)
    # NCZ_transferslice is all that is seen from outside, and nothing inside can be replaced.
    target_link_options(${target} PRIVATE
        LINKER:--version-script=${NCZCHUNK_ADAPTER_DIR}/preload/exports LINKER:--no-undefined LINKER:--strip-all)
    set_property(TARGET ${target} PROPERTY LINK_DEPENDS ${NCZCHUNK_ADAPTER_DIR}/preload/exports)
    set_target_properties(${target} PROPERTIES PREFIX "" OUTPUT_NAME libnczchunk-netcdf-${PROJECT_VERSION})
endfunction()

if(NCZCHUNK_PRELOAD)
    cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL nczchunk_add_preload)
else()
    cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL nczchunk_adapt_netcdf)
endif()
