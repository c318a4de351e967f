# The libraries as CMake targets: of the build tree and of the installed package, which both set
#   nczchunk_libdir      where libnczchunk.so and libnczchunk.a are
#   nczchunk_includedir  where nczchunk.h is

# The SONAME is the one that build.rs gives the library: before 1.0 it changes with the minor version.
set(nczchunk_soname libnczchunk.so.${nczchunk_VERSION_MAJOR})
if(nczchunk_VERSION_MAJOR EQUAL 0)
    string(APPEND nczchunk_soname .${nczchunk_VERSION_MINOR})
endif()

add_library(nczchunk::shared SHARED IMPORTED)
set_target_properties(nczchunk::shared PROPERTIES
    IMPORTED_LOCATION ${nczchunk_libdir}/libnczchunk.so
    IMPORTED_SONAME ${nczchunk_soname}
    INTERFACE_INCLUDE_DIRECTORIES ${nczchunk_includedir})

# What Rust's standard library needs: cargo rustc --release --crate-type staticlib -- --print native-static-libs
add_library(nczchunk::static STATIC IMPORTED)
set_target_properties(nczchunk::static PROPERTIES
    IMPORTED_LOCATION ${nczchunk_libdir}/libnczchunk.a
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c"
    INTERFACE_INCLUDE_DIRECTORIES ${nczchunk_includedir})
