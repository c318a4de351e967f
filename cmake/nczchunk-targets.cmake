# The libraries as CMake targets: of the build tree and of the installed package, which both set
#   nczchunk_libdir      where libnczchunk.so and libnczchunk.a are
#   nczchunk_includedir  where nczchunk.h is

add_library(nczchunk::shared SHARED IMPORTED)
set_target_properties(nczchunk::shared PROPERTIES
    IMPORTED_LOCATION ${nczchunk_libdir}/libnczchunk.so
    IMPORTED_SONAME libnczchunk.so.${nczchunk_VERSION_MAJOR}
    INTERFACE_INCLUDE_DIRECTORIES ${nczchunk_includedir})

# What Rust's standard library needs: cargo rustc --release --crate-type staticlib -- --print native-static-libs
add_library(nczchunk::static STATIC IMPORTED)
set_target_properties(nczchunk::static PROPERTIES
    IMPORTED_LOCATION ${nczchunk_libdir}/libnczchunk.a
    INTERFACE_LINK_LIBRARIES "gcc_s;util;rt;pthread;m;dl;c"
    INTERFACE_INCLUDE_DIRECTORIES ${nczchunk_includedir})
