//! What is asked to be on the disk is there when the call returns, or the call fails: `fsync` is replaced. It fails at
//! each of its calls in turn, and says which files and directories it was called for.

// The function of the C library that is replaced.
#![allow(unsafe_code)]
#![cfg(all(target_os = "linux", feature = "arrays", feature = "zip"))]

use std::cell::{Cell, RefCell};
use std::fs::{self, Metadata};
use std::os::fd::RawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use nczchunk::object::{Directory, ObjectStore, Zip, ZipWriter, read_whole};

thread_local! {
    /// The number of the call that fails, from 1 on, and how.
    static TURN: Cell<(u32, i32)> = const { Cell::new((0, 0)) };
    /// How many calls there have been.
    static CALLS: Cell<u32> = const { Cell::new(0) };
    /// Of what: file systems and inodes.
    static SYNCED: RefCell<Vec<(u64, u64)>> = const { RefCell::new(Vec::new()) };
}

/// In place of the C library's, which the standard library calls.
#[unsafe(no_mangle)]
extern "C" fn fsync(file: RawFd) -> i32 {
    let calls = CALLS.get() + 1;
    CALLS.set(calls);
    if let Ok(metadata) = fs::metadata(format!("/proc/self/fd/{file}")) {
        SYNCED.with_borrow_mut(|synced| synced.push(identity(&metadata)));
    }
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
    SYNCED.take();
    let status = call().map_or_else(|error| error.status(), |()| 0);
    TURN.set((0, 0));
    (status, CALLS.get())
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

/// Whether all of these were synced by the last call with a failure.
fn are_synced<'p>(paths: impl IntoIterator<Item = &'p Path>) -> bool {
    let is_synced = |path| SYNCED.with_borrow(|synced| synced.contains(&identity(&fs::metadata(path).unwrap())));
    paths.into_iter().all(is_synced)
}

/// The directories that a path is in, as far up as they are on its file system.
fn above(path: &Path) -> Vec<&Path> {
    let device = fs::metadata(path).unwrap().dev();
    let is_there = |path: &&Path| fs::metadata(path).unwrap().dev() == device;
    path.ancestors().skip(1).take_while(is_there).collect()
}

/// What an object says, if it is there.
fn text(objects: &dyn ObjectStore, name: &str) -> Option<String> {
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
fn an_object_of_a_directory_is_synced_and_all_directories_that_lead_to_it() {
    let temporary = Temporary::new("sync");
    let above = above(&temporary.0).len() as u32;
    // The file, and then the directories: `b`, `a`, the storage, and those that it is in.
    for turn in 1..=4 + above {
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
        assert_eq!(with_failure(turn, libc::EINTR, || write(&directory)), (0, 5 + above));
        // What the storage is in is synced once, and the old object stays if the new one cannot be synced.
        let replace = || directory.write("a/b/object", b"newer");
        let expected = if turn <= 4 { (libc::EIO, turn) } else { (0, 4) };
        assert_eq!(with_failure(turn, libc::EIO, replace), expected);
        let expected = if turn == 1 { "new" } else { "newer" };
        assert_eq!(text(&directory, "a/b/object").as_deref(), Some(expected));
    }
}

/// A directory is a name in the one above it, whoever has made it.
#[test]
fn directories_that_another_call_has_made_are_synced() {
    let temporary = Temporary::new("sync-others");
    let storage = temporary.0.join("new/storage");
    let mut directory = Directory::create(&storage).unwrap();
    directory.set_sync(true);
    let write = |name: &str| with_failure(0, 0, || directory.write(name, b"1")).0;
    // The name is too long, but the directories that lead to it are there.
    assert_eq!(write(&format!("c/d/{}", "y".repeat(300))), libc::ENAMETOOLONG);
    assert_eq!(write("c/d/0"), 0);
    let own = [storage.join("c/d"), storage.join("c"), storage.clone()];
    assert!(are_synced(own.iter().map(|path| &**path)) && are_synced(above(&storage)));
    // Another process.
    fs::create_dir_all(storage.join("e/f")).unwrap();
    assert_eq!(write("e/f/0"), 0);
    let own = [storage.join("e/f"), storage.join("e"), storage.clone()];
    assert!(are_synced(own.iter().map(|path| &**path)));
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
    let above = above(&temporary.0).len() as u32;
    assert_eq!(with_failure(1, libc::EINTR, || writer.finish()), (0, 3 + above));
    assert!(are_synced([&*temporary.0]));
    assert_eq!(found().as_deref(), Some("new"));
    // The directory comes after the file.
    assert_eq!(with_failure(2, libc::EIO, || make("newer", true).finish()), (libc::EIO, 2));
    assert_eq!(found().as_deref(), Some("newer"));
    assert_eq!(std::fs::read_dir(&temporary.0).unwrap().count(), 1);
}
