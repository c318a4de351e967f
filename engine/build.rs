//! Finds out what the compiler has.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The intrinsics for AVX-512 are stable from Rust 1.89 on.
    println!("cargo::rustc-check-cfg=cfg(nczchunk_avx512)");
    if target("ARCH") == "x86_64" && rustc_minor().is_some_and(|minor| minor >= 89) {
        println!("cargo::rustc-cfg=nczchunk_avx512");
    }
}

/// A property of the target, as Cargo names it.
fn target(property: &str) -> String {
    env::var(format!("CARGO_CFG_TARGET_{property}")).unwrap_or_default()
}

/// The second number of the compiler's version, which is 1.x.
fn rustc_minor() -> Option<u32> {
    let output = Command::new(env::var_os("RUSTC")?).arg("--version").output().ok()?;
    let version = String::from_utf8(output.stdout).ok()?;
    version.split('.').nth(1)?.parse().ok()
}
