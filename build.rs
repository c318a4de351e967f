//! Tells the tests that compile C what they compile it for.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-env=NCZCHUNK_TARGET={}", std::env::var("TARGET").unwrap_or_default());
}
