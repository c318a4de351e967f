//! The header and the libraries as a C or C++ program finds them, without CMake: the header compiles by itself in every
//! standard it is for, and a small program, `c_interface/smoke.c`, runs with the shared and with the static library.

// Miri starts no compilers; what libraries are called and how they are linked is known here for Linux.
#![cfg(all(target_os = "linux", not(miri)))]

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// What Rust's standard library needs, as in cmake/Names.cmake.
const SYSTEM_LIBRARIES: &[&str] = &["-lutil", "-lrt", "-lpthread", "-lm", "-ldl"];

#[test]
fn the_header_is_c99() {
    accept_header("c99", false);
}

#[test]
fn the_header_is_c11() {
    accept_header("c11", false);
}

#[test]
fn the_header_is_c17() {
    accept_header("c17", false);
}

#[test]
fn the_header_is_cxx11() {
    accept_header("c++11", true);
}

#[test]
fn the_header_is_cxx17() {
    accept_header("c++17", true);
}

#[test]
fn an_ignored_status_is_warned_of() {
    // The int of the second call is no status.
    let source = "#include \"nczchunk.h\"\n\
        void f(nczchunk_context **context);\n\
        void f(nczchunk_context **context)\n\
        {\n\
            nczchunk_context_new(context);\n\
            nczchunk_context_status(*context);\n\
        }\n";
    let compile = |flags: &[&str]| {
        let mut command = compiler("c99", false);
        command.args(["-c", "-o", "/dev/null", "-x", "c", "-"]).args(flags);
        run(&mut command, source).unwrap()
    };
    let refused = compile(&[]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && said.contains("nczchunk_context_new"), "{said}");
    assert!(!said.contains("nczchunk_context_status"), "{said}");
    assert!(compile(&["-DNCZCHUNK_MUST_USE="]).status.success());
}

#[test]
fn a_program_runs_with_the_shared_library() {
    let libraries = libraries();
    // Whoever installs the library gives it a SONAME, as cmake/CargoBuild.cmake does. Without, it goes by its file's
    // name.
    let rpath = format!("-Wl,-rpath,{}", libraries.display());
    run_smoke(&empty_directory("shared"), |link| link.arg("-L").arg(libraries).arg("-lnczchunk").arg(rpath));
}

#[test]
fn a_program_runs_with_the_static_library() {
    let directory = empty_directory("static");
    run_smoke(&directory, |link| link.arg(libraries().join("libnczchunk.a")).args(SYSTEM_LIBRARIES));
}

/// The header stands alone, and may come twice.
fn accept_header(standard: &str, cpp: bool) {
    for includes in 1..=2 {
        let mut command = compiler(standard, cpp);
        command.args(["-fsyntax-only", "-x", if cpp { "c++" } else { "c" }, "-"]);
        let source = "#include \"nczchunk.h\"\n".repeat(includes);
        match run(&mut command, &source) {
            Err(error) if cpp && error.kind() == ErrorKind::NotFound => {
                assert!(std::env::var_os("CI").is_none(), "with CI set no test may be skipped; install a C++ compiler");
                // This way the note is seen although the test passes.
                let note = format!("note: {standard} is not tested, there is no C++ compiler\n");
                std::io::stderr().write_all(note.as_bytes()).unwrap();
                return;
            }
            result => expect_success(&command, result),
        }
    }
}

/// Compiles the program, links it as `link` says, and runs it.
fn run_smoke(directory: &Path, link: impl FnOnce(&mut Command) -> &mut Command) {
    let program = directory.join("smoke");
    let mut command = compiler("c99", false);
    command.arg("-o").arg(&program).arg(Path::new(ROOT).join("tests/c_interface/smoke.c"));
    link(&mut command);
    let result = run(&mut command, "");
    expect_success(&command, result);
    let mut command = Command::new(program);
    let result = run(&mut command, "");
    expect_success(&command, result);
}

/// The compiler that cargo's packages are built with, which `CC`, `CXX` and the like choose. A warning is an error.
fn compiler(standard: &str, cpp: bool) -> Command {
    let tool = cc::Build::new()
        .target(env!("NCZCHUNK_TARGET"))
        .host(env!("NCZCHUNK_TARGET"))
        .opt_level(0)
        .out_dir(env!("CARGO_TARGET_TMPDIR"))
        .cargo_output(false)
        .cpp(cpp)
        .std(standard)
        .warnings(true)
        .extra_warnings(true)
        .warnings_into_errors(true)
        .flag("-Wpedantic")
        .include(Path::new(ROOT).join("include"))
        .get_compiler();
    tool.to_command()
}

/// Where the libraries for C are: those that CMake has made, if it runs this, or some that are made like them. The
/// crate itself is for Rust.
fn libraries() -> &'static Path {
    static DIRECTORY: OnceLock<PathBuf> = OnceLock::new();
    DIRECTORY.get_or_init(|| {
        if let Some(made) = std::env::var_os("NCZCHUNK_LIBRARIES") {
            return made.into();
        }
        let target_dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_interface/cargo");
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(["build", "-p", "nczchunk-library", "--locked", "--offline"]);
        command.args(["--target", env!("NCZCHUNK_TARGET"), "--target-dir"]).arg(&target_dir).current_dir(ROOT);
        // CMake's, which tells of a SONAME.
        command.env_remove("NCZCHUNK_LIBRARY_LINK_ARGS");
        let result = run(&mut command, "");
        expect_success(&command, result);
        target_dir.join(env!("NCZCHUNK_TARGET")).join("debug")
    })
}

fn empty_directory(name: &str) -> PathBuf {
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c_interface").join(name);
    let _ = std::fs::remove_dir_all(&directory);
    std::fs::create_dir_all(&directory).unwrap();
    directory
}

fn run(command: &mut Command, input: &str) -> std::io::Result<Output> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    child.stdin.take().unwrap().write_all(input.as_bytes())?;
    child.wait_with_output()
}

fn expect_success(command: &Command, result: std::io::Result<Output>) {
    let output = result.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?}: {}\n{}", output.status, String::from_utf8_lossy(&said));
}
