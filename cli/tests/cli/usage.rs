//! Help, messages and exit codes, and what becomes of a closed pipe.

use std::io::Read;
use std::process::Stdio;

use nczchunk::{Description, ElementType};

use super::{Ran, Temporary, command, run, run_at, stored};

#[test]
fn help_tells_all_commands() {
    let text = run(&["--help"]).text();
    for name in
        ["list", "info", "plan", "locate", "dump", "map", "copy", "check", "Exit codes:", "--color", "--threads"]
    {
        assert!(text.contains(name), "{name}");
    }
    for name in ["list", "info", "plan", "locate", "dump", "map", "copy", "check"] {
        let text = run(&[name, "--help"]).text();
        assert!(text.contains("Usage: nczchunk ") && text.lines().all(|line| line.chars().count() <= 120), "{text}");
    }
    assert!(run(&["dump", "--help"]).text().contains("10:30      elements 10 to 29"));
    let version = format!("nczchunk {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]).text(), version);
}

#[test]
fn what_cannot_be_asked_for_is_2() {
    const SST: &str = "data/coads_sst.zarr";
    for (arguments, words) in [
        (&["plant", "data"][..], "unrecognized subcommand 'plant'"),
        (&["dump"], "<PATH>"),
        (&["dump", SST, "-s", "0,a"], "expected an index or start:stop:step, found 'a'"),
        (&["dump", SST, "-s", "::-1"], "a step must be at least 1"),
        (&["dump", SST, "-s", "0,0:91"], "nczchunk: --slab: dimension 1 (COADSY, length 90): stop 91"),
        (
            &["dump", SST, "-s", "0,0,0,0"],
            "nczchunk: --slab: the hyperslab has 4 parts, but the array has 3 dimensions",
        ),
        (&["dump", SST, "-f", "xml"], "'xml'"),
        (&["info", "data/coads_sst.nc"], "name the array; the arrays are: TIME, COADSY, COADSX, SST"),
        (&["info", SST, "--threads", "0"], "'--threads <N>': expected a number of threads of at least 1"),
        (&["copy", SST, "x", "--separator", "-"], "'--separator <CHARACTER>': expected . or /"),
        (&["copy", SST, "x", "--codec", "zstd:3.5"], "'--codec <CODEC>': expected an integer or KEY="),
        (&["map", SST, "-r", "3"], "two numbers separated by a colon"),
    ] {
        let message = run(arguments).message(2);
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn completions_and_manual_pages_are_generated() {
    let directory = super::Temporary::new();
    super::run_at(&directory, &["generate", "@"]).text();
    assert_eq!(directory.names(), ["_nczchunk", "man1", "nczchunk.bash", "nczchunk.fish"]);
    for name in ["_nczchunk", "nczchunk.bash", "nczchunk.fish"] {
        let text = std::fs::read_to_string(directory.join(name)).unwrap();
        assert!(text.contains("copy") && text.contains("shallow"), "{name}");
    }
    let mut pages: Vec<String> = std::fs::read_dir(directory.join("man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    pages.sort();
    let of_commands =
        ["advise", "check", "concat", "copy", "dump", "info", "list", "locate", "map", "plan", "rechunk", "references"];
    let expected: Vec<String> = of_commands.iter().map(|name| format!("nczchunk-{name}.1")).collect();
    assert_eq!(pages, [expected, vec!["nczchunk.1".to_owned()]].concat());
    let page = std::fs::read_to_string(directory.join("man1/nczchunk-dump.1")).unwrap();
    for words in ["Writes the elements of a hyperslab", "10:30      elements 10 to 29"] {
        assert!(page.contains(words), "{page}");
    }
}

#[test]
fn what_fails_is_1() {
    for (arguments, words) in [
        (&["list", "no/such"][..], "nczchunk: no/such: no such file or directory\n"),
        (
            &["info", "data"],
            "nczchunk: data: the format is unknown: not Zarr, NCZarr, netCDF, HDF5, cfdb or a zip file of these\n",
        ),
        (
            &["info", "Cargo.toml"],
            "nczchunk: Cargo.toml: the format is unknown: not Zarr, NCZarr, netCDF, HDF5, cfdb or a zip file of \
             these\n",
        ),
        (
            &["info", "data/coads_sst.nc", "sst"],
            "nczchunk: data/coads_sst.nc: sst: no such variable; the arrays are: TIME, COADSY, COADSX, SST\n",
        ),
    ] {
        assert_eq!(run(arguments).message(1), words);
    }
}

#[test]
fn a_closed_pipe_is_no_error() {
    // Each of the references has the URL, so that they have no room in a pipe.
    let url = format!("https://{}", "x".repeat(4000));
    for arguments in [
        &["dump", "data/coads_sst.zarr"][..],
        &["dump", "data/coads_sst.zarr", "-f", "raw"],
        &["references", "data/coads_sst.zarr", "-o", "-", "--url", &url],
    ] {
        let mut child = command().args(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut some = [0; 16];
        // The pipe has no room for all, and is closed when this much has been read.
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), &*String::from_utf8_lossy(&output.stderr)), (Some(0), ""));
    }
}

/// What is written is written also if nobody reads what is said of it; a pipe that is named is no standard output.
#[cfg(unix)]
#[test]
fn nothing_else_that_is_closed_is_taken_for_the_standard_output() {
    let json = r#"{"units":"days since 2000-01-01","calendar":"julian"}"#;
    let array = stored(&Description::new(&[1], ElementType::Short).with_attributes_json(json), &[1i16]);
    let (path, out) = (array.join("a"), array.join("out"));
    let mut reader = std::process::Command::new("true").stdin(Stdio::piped()).spawn().unwrap();
    let writer = reader.stdin.take().unwrap();
    reader.wait().unwrap();
    let status = command().arg("dump").arg(&path).arg("-o").arg(&out).stderr(writer).status().unwrap();
    assert_eq!((status.code(), &*std::fs::read(&out).unwrap()), (Some(0), &b" a =\n  1 ;\n"[..]));
    let pipe = array.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut dump = command();
    dump.args(["dump", "data/coads_sst.zarr", "-f", "raw", "-o"]).arg(&pipe).stderr(Stdio::piped());
    let child = dump.spawn().unwrap();
    drop(std::fs::File::open(&pipe).unwrap());
    let output = child.wait_with_output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.contains("pipe: Broken pipe")), (Some(1), true), "{message}");
}

/// The source is not replaced by what is made of it, a link stays, and so do the permissions of what is replaced.
#[cfg(unix)]
#[test]
fn a_file_is_replaced_as_it_is() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let directory = Temporary::new();
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc"), directory.join("a.nc")).unwrap();
    symlink("a.nc", directory.join("b.nc")).unwrap();
    let source = std::fs::read(directory.join("a.nc")).unwrap();
    for arguments in [
        &["dump", "@/a.nc", "TIME", "-o", "@/a.nc"][..],
        &["dump", "@/a.nc", "TIME", "-o", "@/b.nc"],
        &["map", "@/b.nc", "SST", "--png", "@/a.nc"],
        &["plan", "@/a.nc", "SST", "--svg", "@/a.nc"],
        &["advise", "@/a.nc", "SST", "--pattern", "map", "--svg", "@/b.nc"],
    ] {
        let message = run_at(&directory, arguments).message(1);
        assert!(message.ends_with("this is what is read; choose another name\n"), "{message}");
        assert!(std::fs::read(directory.join("a.nc")).unwrap() == source);
    }
    // Documents lead to the file.
    let documents = [directory.join("joined.json"), directory.join("refs.json")];
    run_at(&directory, &["concat", "TIME", "@/a.nc", "-o", "@/joined.json"]).text();
    run_at(&directory, &["references", "@/a.nc", "-o", "@/refs.json"]).text();
    for name in ["joined", "refs"] {
        let document = format!("@/{name}.json");
        let message = run_at(&directory, &["dump", &document, "TIME", "-o", "@/b.nc"]).message(1);
        assert!(message.contains("this holds arrays, which may be those that are read"), "{message}");
        assert!(std::fs::read(directory.join("a.nc")).unwrap() == source);
    }
    documents.iter().for_each(|path| std::fs::remove_file(path).unwrap());
    std::fs::create_dir(directory.join("below")).unwrap();
    symlink("below/c", directory.join("link")).unwrap();
    let dump = ["dump", "@/a.nc", "COADSY", "-o", "@/link"];
    run_at(&directory, &dump).text();
    let file = directory.join("below/c");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::fs::write(&file, "old").unwrap();
    run_at(&directory, &dump).text();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with(" COADSY ="));
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o640);
    assert!(directory.join("link").is_symlink());
    assert_eq!(directory.names(), ["a.nc", "b.nc", "below", "link"]);
}

/// References are UTF-8, and so are the paths in them.
#[cfg(target_os = "linux")]
#[test]
fn no_references_lead_to_a_path_that_is_not_utf_8() {
    use std::os::unix::ffi::OsStrExt;
    let directory = Temporary::new();
    let source = directory.join(std::ffi::OsStr::from_bytes(b"d\xff.nc"));
    std::fs::copy(concat!(env!("CARGO_MANIFEST_DIR"), "/../data/coads_sst.nc"), &source).unwrap();
    let refs = directory.join("refs.json");
    let mut references = command();
    references.arg("references").arg(&source).arg("-o").arg(&refs);
    let message = Ran::of(references.output().unwrap()).message(1);
    assert!(message.contains("this path is not UTF-8") && !refs.exists(), "{message}");
    Ran::of(references.args(["--url", "a.nc"]).output().unwrap()).text();
    assert!(refs.exists());
}

#[test]
fn colours_are_for_terminals() {
    assert!(!run(&["list", "data/coads_sst.nc"]).text().contains('\x1b'));
    assert!(run(&["list", "data/coads_sst.nc", "--color", "always"]).text().contains("\x1b[1;34m/\x1b[0m"));
    let plain = command().args(["list", "data/coads_sst.nc"]).env("NO_COLOR", "1").output().unwrap();
    assert!(!plain.stdout.contains(&0x1b));
}

#[cfg(target_os = "linux")]
#[test]
fn what_cannot_be_written_is_an_error() {
    let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
    let output = command().args(["dump", "data/coads_sst.zarr"]).stdout(full).output().unwrap();
    let message = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), message.contains("No space left")), (Some(1), true), "{message}");
}
