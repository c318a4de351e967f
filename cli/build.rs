//! Gives the linker of the program the flags that CMake has for it.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=NCZCHUNK_PROGRAM_LINK_ARGS");
    let arguments = std::env::var("NCZCHUNK_PROGRAM_LINK_ARGS").unwrap_or_default();
    for argument in arguments.split('|').filter(|argument| !argument.is_empty()) {
        println!("cargo::rustc-link-arg-bins={argument}");
    }
}
