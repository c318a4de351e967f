//! What is asked to be on the disk is there when the call returns, or the call fails: `fsync` is replaced, and fails at
//! each of its calls in turn.

// The function of the C library that is replaced.
#![allow(unsafe_code)]
#![cfg(all(target_os = "linux", feature = "arrays", feature = "zip"))]

use std::cell::Cell;
use std::os::fd::RawFd;

use nczchunk::object::{Directory, Objects, Zip, ZipWriter, read_whole};

thread_local! {
    /// The number of the call that fails, from 1 on, and how.
    static TURN: Cell<(u32, i32)> = const { Cell::new((0, 0)) };
    /// How many calls there have been.
    static CALLS: Cell<u32> = const { Cell::new(0) };
}

/// In place of the C library's, which the standard library calls.
#[unsafe(no_mangle)]
extern "C" fn fsync(file: RawFd) -> i32 {
    let calls = CALLS.get() + 1;
    CALLS.set(calls);
    let (turn, error) = TURN.get();
    if calls == turn {
        // SAFETY: the place is this thread's.
        unsafe { *libc::__errno_location() = error };
        return -1;
    }
    // SAFETY: the function has no requirements.
    unsafe { libc::fdatasync(file) }
}

/// The status of a call of which this `fsync` fails, and how many there were.
fn with_failure(turn: u32, error: i32, call: impl FnOnce() -> nczchunk::Result<()>) -> (i32, u32) {
    TURN.set((turn, error));
    CALLS.set(0);
    let status = call().map_or_else(|error| error.status(), |()| 0);
    TURN.set((0, 0));
    (status, CALLS.get())
}

/// What an object says, if it is there.
fn text(objects: &dyn Objects, name: &str) -> Option<String> {
    read_whole(objects, name, 10).unwrap().map(|bytes| String::from_utf8(bytes).unwrap())
}

/// A directory for a test, removed with it.
struct Temporary(std::path::PathBuf);

impl Temporary {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("nczchunk-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Temporary(path)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn an_object_of_a_directory_is_synced_and_all_directories_that_are_made() {
    // The file, and then the directories: `b`, which is new, `a`, and the one that all is in.
    for turn in 1..=4 {
        let temporary = Temporary::new("sync");
        let mut directory = Directory::open(&temporary.0).unwrap();
        let write = |directory: &Directory| directory.write("a/b/object", b"new");
        assert_eq!(with_failure(turn, libc::EIO, || write(&directory)), (0, 0));
        std::fs::remove_dir_all(temporary.0.join("a")).unwrap();
        directory.set_sync(true);
        assert_eq!(with_failure(turn, libc::EIO, || write(&directory)), (libc::EIO, turn));
        // Before the file is on the disk it does not get its name.
        assert_eq!(text(&directory, "a/b/object").as_deref(), (turn > 1).then_some("new"));
        let files = std::fs::read_dir(temporary.0.join("a/b")).unwrap().count();
        assert_eq!(files, usize::from(turn > 1));
        std::fs::remove_dir_all(temporary.0.join("a")).unwrap();
        assert_eq!(with_failure(turn, libc::EINTR, || write(&directory)), (0, 5));
        // Nothing is made the second time, and the old object stays if the new one cannot be synced.
        let replace = || directory.write("a/b/object", b"newer");
        let expected = if turn < 3 { (libc::EIO, turn) } else { (0, 2) };
        assert_eq!(with_failure(turn, libc::EIO, replace), expected);
        let expected = if turn == 1 { "new" } else { "newer" };
        assert_eq!(text(&directory, "a/b/object").as_deref(), Some(expected));
    }
}

#[test]
fn a_zip_file_is_synced_before_it_has_its_name_and_its_directory_afterwards() {
    let temporary = Temporary::new("sync-zip");
    let path = temporary.0.join("x.zip");
    let make = |text: &str, is_synced| {
        let mut writer = ZipWriter::create(&path).unwrap();
        writer.set_sync(is_synced);
        writer.write("object", text.as_bytes()).unwrap();
        writer
    };
    let found = || text(&Zip::open(&path).unwrap(), "object");
    assert_eq!(with_failure(1, libc::EIO, || make("old", false).finish()), (0, 0));
    assert_eq!(with_failure(1, libc::EIO, || make("new", true).finish()), (libc::EIO, 1));
    assert_eq!(found().as_deref(), Some("old"));
    let writer = make("new", true);
    assert_eq!(with_failure(1, libc::EIO, || writer.finish()), (libc::EIO, 1));
    assert_eq!(with_failure(1, libc::EINTR, || writer.finish()), (0, 3));
    assert_eq!(found().as_deref(), Some("new"));
    // The directory's is the last.
    assert_eq!(with_failure(2, libc::EIO, || make("newer", true).finish()), (libc::EIO, 2));
    assert_eq!(found().as_deref(), Some("newer"));
    assert_eq!(std::fs::read_dir(&temporary.0).unwrap().count(), 1);
}
