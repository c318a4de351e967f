# What is installed: the headers, both libraries, a pkg-config file, a CMake package, the licence. The tree can be
# moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nczchunk)
set(generated_dir ${PROJECT_BINARY_DIR}/package)

install(FILES
    include/nczchunk.h include/nczchunk.hpp include/nczchunk_array.h include/nczchunk_array.hpp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# libnczchunk.so.X.Y.Z is the file, libnczchunk.so.X (before 1.0 libnczchunk.so.0.Y) what programs load, libnczchunk.so
# what they are linked to.
set(so_file libnczchunk.so.${PROJECT_VERSION})
install(PROGRAMS ${cargo_libdir}/libnczchunk.so DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${so_file})
install(FILES ${cargo_libdir}/libnczchunk.a DESTINATION ${CMAKE_INSTALL_LIBDIR})
file(MAKE_DIRECTORY ${generated_dir})
foreach(link ${nczchunk_soname} libnczchunk.so)
    file(CREATE_LINK ${so_file} ${generated_dir}/${link} SYMBOLIC)
    install(FILES ${generated_dir}/${link} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endforeach()

# pkg-config knows where its file lies; everything else is relative to that, however deep the library directory is.
set(prefix ${CMAKE_INSTALL_PREFIX})
set(libdir ${CMAKE_INSTALL_FULL_LIBDIR})
set(includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
cmake_path(RELATIVE_PATH libdir BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE libdir_from_prefix)
cmake_path(RELATIVE_PATH includedir BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE includedir_from_prefix)
cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY ${libdir}/pkgconfig OUTPUT_VARIABLE prefix_from_pc)
get_target_property(system_libs nczchunk::static INTERFACE_LINK_LIBRARIES)
list(TRANSFORM system_libs PREPEND -l)
list(JOIN system_libs " " system_libs)
configure_file(cmake/nczchunk.pc.in ${generated_dir}/nczchunk.pc @ONLY)
install(FILES ${generated_dir}/nczchunk.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# Before 1.0 a minor version may change the interface, as in the SONAME.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatibility SameMinorVersion)
else()
    set(compatibility SameMajorVersion)
endif()
configure_package_config_file(cmake/nczchunk-config.cmake.in ${generated_dir}/nczchunk-config.cmake
    INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${generated_dir}/nczchunk-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES
    ${generated_dir}/nczchunk-config.cmake
    ${generated_dir}/nczchunk-config-version.cmake
    cmake/nczchunk-targets.cmake
    DESTINATION ${package_dir})
