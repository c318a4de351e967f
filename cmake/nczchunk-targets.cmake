# The libraries as CMake targets: of the build tree and of the installed package, which both set
#   nczchunk_libdir, nczchunk_bindir   where the libraries are, and the DLL on Windows
#   nczchunk_includedir                where nczchunk.h is
# and what Names.cmake names.

add_library(nczchunk::shared SHARED IMPORTED)
set_target_properties(nczchunk::shared PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${nczchunk_includedir}")
add_library(nczchunk::static STATIC IMPORTED)
set_target_properties(nczchunk::static PROPERTIES
    INTERFACE_LINK_LIBRARIES "${nczchunk_system_libs}"
    INTERFACE_INCLUDE_DIRECTORIES "${nczchunk_includedir}")
if(NOT nczchunk_soname STREQUAL "")
    set(_nczchunk_soname ${nczchunk_soname})
    if(APPLE)
        set(_nczchunk_soname @rpath/${nczchunk_soname})
    endif()
    set_target_properties(nczchunk::shared PROPERTIES IMPORTED_SONAME "${_nczchunk_soname}")
endif()

# nczchunk_locate(LIBDIR BINDIR [SUFFIX]): where the files are; in the build tree for each configuration, as _DEBUG.
function(nczchunk_locate libdir bindir)
    if(nczchunk_import_file STREQUAL "")
        set_target_properties(nczchunk::shared PROPERTIES IMPORTED_LOCATION${ARGN} "${libdir}/${nczchunk_shared_file}")
    else()
        set_target_properties(nczchunk::shared PROPERTIES
            IMPORTED_LOCATION${ARGN} "${bindir}/${nczchunk_shared_file}"
            IMPORTED_IMPLIB${ARGN} "${libdir}/${nczchunk_import_file}")
    endif()
    set_target_properties(nczchunk::static PROPERTIES IMPORTED_LOCATION${ARGN} "${libdir}/${nczchunk_static_file}")
endfunction()
nczchunk_locate("${nczchunk_libdir}" "${nczchunk_bindir}")

# nczchunk::nczchunk is the one that BUILD_SHARED_LIBS asks for: the static one where it is OFF, else the shared one.
# Where find_package is told a single component, it is that.
set(_nczchunk_kind shared)
if(nczchunk_FIND_COMPONENTS STREQUAL "static")
    set(_nczchunk_kind static)
elseif(DEFINED BUILD_SHARED_LIBS AND NOT BUILD_SHARED_LIBS AND NOT nczchunk_FIND_COMPONENTS STREQUAL "shared")
    set(_nczchunk_kind static)
endif()
add_library(nczchunk::nczchunk INTERFACE IMPORTED)
set_target_properties(nczchunk::nczchunk PROPERTIES INTERFACE_LINK_LIBRARIES nczchunk::${_nczchunk_kind})
unset(_nczchunk_kind)
unset(_nczchunk_soname)
