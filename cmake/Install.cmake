# What is installed: the headers, both libraries, the program with its manual pages and completions, a pkg-config file
# for each library, a CMake package, the licence. The tree can be moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/nczchunk)
set(generated_dir ${PROJECT_BINARY_DIR}/package)

install(FILES
    include/nczchunk.h include/nczchunk.hpp include/nczchunk_array.h include/nczchunk_array.hpp
    DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

# libnczchunk.so.X.Y.Z is the file, libnczchunk.so.X (before 1.0 libnczchunk.so.0.Y) what programs load, libnczchunk.so
# what they are linked to. On Windows there is a DLL and its import library.
file(MAKE_DIRECTORY ${generated_dir})
install(FILES ${cargo_libdir}/${nczchunk_static_file} DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(nczchunk_soname)
    install(PROGRAMS ${cargo_libdir}/${nczchunk_shared_file}
        DESTINATION ${CMAKE_INSTALL_LIBDIR} RENAME ${nczchunk_versioned})
    foreach(link ${nczchunk_soname} ${nczchunk_shared_file})
        file(CREATE_LINK ${nczchunk_versioned} ${generated_dir}/${link} SYMBOLIC)
        install(FILES ${generated_dir}/${link} DESTINATION ${CMAKE_INSTALL_LIBDIR})
    endforeach()
else()
    install(PROGRAMS ${cargo_libdir}/${nczchunk_shared_file} DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES ${cargo_libdir}/${nczchunk_import_file} DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()

if(NCZCHUNK_BUILD_CLI)
    install(PROGRAMS ${cargo_libdir}/nczchunk${CMAKE_EXECUTABLE_SUFFIX} DESTINATION ${CMAKE_INSTALL_BINDIR})
    if(nczchunk_generated AND NOT WIN32)
        install(DIRECTORY ${nczchunk_generated}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
        install(FILES ${nczchunk_generated}/nczchunk.bash
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME nczchunk)
        install(FILES ${nczchunk_generated}/_nczchunk DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
        install(FILES ${nczchunk_generated}/nczchunk.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    endif()
endif()

# pkg-config knows where its file lies; everything else is relative to that, however deep the library directory is.
set(prefix ${CMAKE_INSTALL_PREFIX})
set(libdir ${CMAKE_INSTALL_FULL_LIBDIR})
set(includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
cmake_path(RELATIVE_PATH libdir BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE libdir_from_prefix)
cmake_path(RELATIVE_PATH includedir BASE_DIRECTORY ${prefix} OUTPUT_VARIABLE includedir_from_prefix)
cmake_path(RELATIVE_PATH prefix BASE_DIRECTORY ${libdir}/pkgconfig OUTPUT_VARIABLE prefix_from_pc)
list(TRANSFORM nczchunk_system_libs PREPEND -l OUTPUT_VARIABLE system_libs)
list(JOIN system_libs " " system_libs)
foreach(name nczchunk nczchunk-static)
    configure_file(cmake/${name}.pc.in ${generated_dir}/${name}.pc @ONLY)
    install(FILES ${generated_dir}/${name}.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

# Before 1.0 a minor version may change the interface, as in the SONAME.
if(PROJECT_VERSION_MAJOR EQUAL 0)
    set(compatibility SameMinorVersion)
else()
    set(compatibility SameMajorVersion)
endif()
configure_package_config_file(cmake/nczchunk-config.cmake.in ${generated_dir}/nczchunk-config.cmake
    INSTALL_DESTINATION ${package_dir}
    PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${generated_dir}/nczchunk-config-version.cmake COMPATIBILITY ${compatibility})
install(FILES
    ${generated_dir}/nczchunk-config.cmake
    ${generated_dir}/nczchunk-config-version.cmake
    cmake/nczchunk-targets.cmake
    DESTINATION ${package_dir})
