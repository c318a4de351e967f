//! Gives the shared library its SONAME. Before 1.0 the ABI may change with the minor version.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let os = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os == "linux" {
        let major = env!("CARGO_PKG_VERSION_MAJOR");
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnczchunk.so.{major}");
    }
}
