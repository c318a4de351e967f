//! Gives the linker of the shared library what CMake has for it: its soname, and the flags of whoever builds it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=NCZCHUNK_LIBRARY_LINK_ARGS");
    let arguments = std::env::var("NCZCHUNK_LIBRARY_LINK_ARGS").unwrap_or_default();
    for argument in arguments.split('|').filter(|argument| !argument.is_empty()) {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
