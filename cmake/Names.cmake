# What the libraries are called and need, on each system. All of it is told to the installed package, too.
#
#   nczchunk_shared_file   what cargo makes, and programs are linked to unless there is an import library
#   nczchunk_import_file   the import library, on Windows
#   nczchunk_static_file   the static library
#   nczchunk_soname        what programs load; empty on Windows. Before 1.0 it changes with the minor version
#   nczchunk_versioned     the file that is installed where there is a soname
#   nczchunk_system_libs   what Rust's standard library needs besides what the compiler links by itself:
#                          cargo rustc --release --crate-type staticlib -- --print native-static-libs
set(abi ${PROJECT_VERSION_MAJOR})
if(PROJECT_VERSION_MAJOR EQUAL 0)
    string(APPEND abi .${PROJECT_VERSION_MINOR})
endif()
set(nczchunk_import_file "")
set(nczchunk_soname "")
set(nczchunk_versioned "")
if(WIN32)
    set(nczchunk_shared_file nczchunk.dll)
    if(MINGW)
        set(nczchunk_import_file libnczchunk.dll.a)
        set(nczchunk_static_file libnczchunk.a)
    else()
        set(nczchunk_import_file nczchunk.dll.lib)
        set(nczchunk_static_file nczchunk.lib)
    endif()
    set(nczchunk_system_libs kernel32 ntdll userenv ws2_32 dbghelp)
    set(soname_flag "")
elseif(APPLE)
    set(nczchunk_shared_file libnczchunk.dylib)
    set(nczchunk_static_file libnczchunk.a)
    set(nczchunk_soname libnczchunk.${abi}.dylib)
    set(nczchunk_versioned libnczchunk.${PROJECT_VERSION}.dylib)
    set(nczchunk_system_libs iconv m)
    set(soname_flag -Wl,-install_name,@rpath/${nczchunk_soname} -Wl,-current_version,${PROJECT_VERSION}
        -Wl,-compatibility_version,${abi})
else()
    set(nczchunk_shared_file libnczchunk.so)
    set(nczchunk_static_file libnczchunk.a)
    set(nczchunk_soname libnczchunk.so.${abi})
    set(nczchunk_versioned libnczchunk.so.${PROJECT_VERSION})
    # The unwinder is the compiler's to link: libgcc_s or, with -static, libgcc_eh.
    set(nczchunk_system_libs pthread m)
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
        set(nczchunk_system_libs util rt pthread m dl)
    endif()
    set(soname_flag -Wl,-soname,${nczchunk_soname})
endif()
