//! Each function is tested for both ways that there are, on Windows for the one.

#[cfg(unix)]
use std::io::ErrorKind::NotADirectory;
use std::io::ErrorKind::NotFound;
use std::path::Path;

use super::portable;
#[cfg(unix)]
use super::unix;
use crate::object::testing::Temporary;

macro_rules! paths_lead_to_what_is_there {
    ($system:ident) => {{
        let temporary = Temporary::new(concat!("paths-", stringify!($system)));
        let at = |name: &str| temporary.0.join(name);
        let kind = |result: std::io::Result<()>| result.err().map(|error| error.kind());
        // Directories, several at once, and again.
        for _ in 0..2 {
            $system::make_directories(&at("a/b/c/d")).unwrap();
        }
        assert!($system::is_directory(&at("a/b/c/d")).unwrap() && $system::is_there(&at("a/b")).unwrap());
        assert_eq!(kind($system::is_directory(&at("a/x")).map(drop)), Some(NotFound));
        assert!(!$system::is_there(&at("a/x")).unwrap());
        // A path is whole, or leads on from where the process is.
        for path in [&*at("a/b"), Path::new("a/b")] {
            assert_eq!($system::whole(path).unwrap(), std::env::current_dir().unwrap().join(path));
        }
        // Files.
        std::fs::write(at("a/file"), "").unwrap();
        assert!(!$system::is_directory(&at("a/file")).unwrap() && $system::open(&at("a/file")).is_ok());
        assert!($system::make_directories(&at("a/file/x/y")).is_err());
        // Windows knows no more of it than that it is not there.
        #[cfg(unix)]
        assert_eq!(kind($system::make_directories(&at("a/file/x/y"))), Some(NotADirectory));
        #[cfg(unix)]
        assert_eq!(kind($system::is_there(&at("a/file/x")).map(drop)), Some(NotADirectory));
        // A link that leads nowhere is there. On Windows not everybody may make one.
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink("nowhere", at("link")).unwrap();
            assert!($system::is_there(&at("link")).unwrap());
            assert_eq!(kind($system::is_directory(&at("link")).map(drop)), Some(NotFound));
        }
        // What no path can be.
        assert!($system::open(Path::new("a\0b")).is_err() && $system::open(Path::new("")).is_err());
    }};
}

#[test]
#[cfg(unix)]
fn paths_lead_to_what_is_there_by_system_calls() {
    paths_lead_to_what_is_there!(unix);
}

#[test]
fn paths_lead_to_what_is_there_by_the_standard_library() {
    paths_lead_to_what_is_there!(portable);
}

#[test]
#[cfg(unix)]
fn a_relative_path_and_the_root_are_paths() {
    assert!(unix::is_directory(Path::new(".")).unwrap() && unix::is_directory(Path::new("/")).unwrap());
    assert!(unix::make_directories(Path::new("/")).is_ok() && unix::make_directories(Path::new(".")).is_ok());
    assert_eq!(unix::make_directories(Path::new("")).err().map(|error| error.kind()), Some(NotFound));
}

#[test]
#[cfg(unix)]
fn to_open_a_named_pipe_does_not_wait() {
    use crate::object::OneFile;
    let temporary = Temporary::new("paths-pipe");
    let pipe = temporary.0.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if made.is_ok_and(|status| status.success()) {
        let error = OneFile::open(&pipe).err().unwrap();
        assert_eq!(error.kind(), crate::object::file::NO_FILE);
    }
}
