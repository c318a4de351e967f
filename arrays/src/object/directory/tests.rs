#[cfg(unix)]
use std::os::unix::fs::symlink;

use super::*;
use crate::object::testing::{self, Temporary, keeps_the_contract, list, read, whole};

#[test]
fn a_directory_keeps_the_contract() {
    let temporary = Temporary::new("directory");
    assert_eq!(Directory::open(temporary.0.join("a/b")).err().unwrap().status(), libc::ENOENT);
    let mut directory = Directory::create(temporary.0.join("a/b")).unwrap();
    keeps_the_contract(&directory);
    directory.set_sync(true);
    directory.write("c/d/e/0", b"1").unwrap();
    assert_eq!(std::fs::read(temporary.0.join("a/b/c/d/e/0")).unwrap(), b"1");
    assert_eq!(std::fs::read_dir(temporary.0.join("a/b/c/d/e")).unwrap().count(), 1);
}

#[test]
fn only_what_is_not_there_is_absent() {
    let temporary = Temporary::new("absent");
    let directory = Directory::open(&temporary.0).unwrap();
    directory.write("file", b"1").unwrap();
    directory.write("directory/file", b"1").unwrap();
    let status = |name: &str, room| read(&directory, name, ByteRange::At(0), room).map(|found| found.is_some());
    for room in [0, 10] {
        assert_eq!((status("file/x", room).unwrap_err().status()), libc::ENOTDIR);
        assert_eq!((status("directory", room).unwrap_err().status()), libc::EISDIR);
        assert_eq!((status("no", room), status("no/such", room)), (Ok(false), Ok(false)));
        assert_eq!((status("directory/no", room), status("file", room)), (Ok(false), Ok(true)));
    }
    let opened = |name| directory.open(name).map(|opening| matches!(opening, Opening::Object(_)));
    assert_eq!(opened("file"), Ok(true));
    assert!(matches!(directory.open("no/such").unwrap(), Opening::Absent));
    assert_eq!(opened("directory").unwrap_err().status(), libc::EISDIR);
    assert_eq!((opened("file/x").unwrap_err().about(), opened("../x").is_err()), ("file/x", true));
    assert_eq!(status("file/x", 1).unwrap_err().about(), "file/x");
    assert_eq!(list(&directory, ""), ["directory/", "file"]);
    std::fs::remove_dir_all(&temporary.0).unwrap();
    assert_eq!((status("file", 1).unwrap_err().status()), libc::ENOENT);
    assert_eq!(directory.open("file").err().map(|error| error.status()), Some(libc::ENOENT));
    assert!(directory.list("", &mut |_, _| Ok(())).is_err() && directory.write("file", b"").is_err());
}

#[test]
#[cfg(unix)]
fn a_link_is_what_it_leads_to() {
    let temporary = Temporary::new("links");
    let directory = Directory::open(&temporary.0).unwrap();
    directory.write("file", b"1").unwrap();
    symlink("nowhere", temporary.0.join("dangling")).unwrap();
    symlink("file", temporary.0.join("link")).unwrap();
    symlink("/dev/null", temporary.0.join("device")).unwrap();
    symlink("loop", temporary.0.join("loop")).unwrap();
    let status = |name: &str, room| read(&directory, name, ByteRange::At(0), room).map(|found| found.is_some());
    for room in [0, 10] {
        assert_eq!((status("dangling", room), status("link", room)), (Ok(false), Ok(true)));
        assert_eq!(status(&"x".repeat(300), room).unwrap_err().status(), libc::ENAMETOOLONG);
    }
    assert!(matches!(directory.open("link").unwrap(), Opening::Object(_)));
    assert_eq!(list(&directory, ""), ["file", "link"]);
    let portable = portable::Root::open(&temporary.0).unwrap();
    for name in ["dangling", "link", "loop", "file"] {
        assert_eq!((directory.is_link(name), portable.is_link(name).unwrap()), (Ok(name != "file"), name != "file"));
    }
}

/// A directory is known again, whatever name it is asked for by.
#[test]
#[cfg(unix)]
fn a_directory_that_links_lead_to_has_one_location() {
    let temporary = Temporary::new("location");
    let directory = Directory::open(&temporary.0).unwrap();
    directory.write("a/b/c", b"").unwrap();
    symlink("a", temporary.0.join("link")).unwrap();
    symlink("..", temporary.0.join("a/up")).unwrap();
    let portable = portable::Root::open(&temporary.0).unwrap();
    let system = |name: &str| directory.location(name).unwrap().unwrap();
    let standard = |name: &str| portable.location(name).unwrap();
    for location in [&system as &dyn Fn(&str) -> u128, &standard] {
        let [top, a, b] = ["", "a", "a/b"].map(location);
        assert!(top != a && a != b && top != b);
        assert_eq!(["link", "link/b", "a/up", "a/up/a"].map(location), [a, b, top, a]);
    }
    assert_eq!(directory.location("no").unwrap_err().status(), libc::ENOENT);
    assert!(portable.location("no").is_err() && directory.location("..").is_err());
}

#[test]
#[cfg(unix)]
fn a_named_pipe_is_an_error_and_not_listed() {
    let temporary = Temporary::new("pipe");
    let made = std::process::Command::new("mkfifo").arg(temporary.0.join("pipe")).status();
    if made.is_ok_and(|status| status.success()) {
        std::os::unix::fs::symlink("/dev/null", temporary.0.join("device")).unwrap();
        let directory = Directory::open(&temporary.0).unwrap();
        for (name, room) in [("pipe", 1), ("pipe", 0), ("device", 1), ("device", 0)] {
            let error = read(&directory, name, ByteRange::At(0), room).unwrap_err();
            assert_eq!((error.kind(), error.about()), (crate::object::file::NO_FILE, name));
        }
        assert_eq!(list(&directory, ""), [""; 0]);
    }
}

#[test]
fn files_that_are_being_written_are_not_listed_and_not_left_behind() {
    let temporary = Temporary::new("partial");
    let directory = Directory::open(&temporary.0).unwrap();
    std::fs::write(temporary.0.join(".0.0.17.3.partial"), b"").unwrap();
    std::fs::write(temporary.0.join(format!("0.{}.partial", "0a".repeat(16))), b"").unwrap();
    assert_eq!(list(&directory, ""), [""; 0]);
    directory.write("d/x", b"").unwrap();
    let errors = ["d", "d/x/y"].map(|name| directory.write(name, b"1").unwrap_err().status());
    assert_eq!((std::fs::read_dir(&temporary.0).unwrap().count(), list(&directory, "d")), (3, vec!["x".to_owned()]));
    // Windows says of a directory that access to it is denied.
    assert_eq!(errors, [if cfg!(windows) { libc::EACCES } else { libc::EISDIR }, libc::ENOTDIR]);
    #[cfg(unix)]
    std::fs::write(temporary.0.join("a\\b"), b"").unwrap();
    assert_eq!(list(&directory, ""), ["d/"]);
}

/// A copy to a directory is made under a temporary name, too.
#[cfg(target_os = "linux")]
#[test]
fn directories_that_killed_writers_have_left_are_removed_with_what_is_in_them() {
    let temporary = Temporary::new("left-directories");
    let mut ended = std::process::Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let (left, own) = [ended.id(), std::process::id()].map(|process| format!("g/.x.{process}.0.partial")).into();
    for name in [&left, &own] {
        std::fs::create_dir_all(temporary.0.join(name).join("a/c/0")).unwrap();
        std::fs::write(temporary.0.join(name).join("a/c/0/1"), b"").unwrap();
    }
    std::fs::create_dir(temporary.0.join("elsewhere")).unwrap();
    std::fs::write(temporary.0.join("elsewhere/x"), b"").unwrap();
    std::os::unix::fs::symlink("../../elsewhere", temporary.0.join(&left).join("link")).unwrap();
    let directory = Directory::open(&temporary.0).unwrap();
    directory.remove_unfinished("").unwrap();
    let is_there = |name: &str| temporary.0.join(name).exists();
    assert_eq!([&*left, &*own, "elsewhere/x"].map(is_there), [false, true, true]);
}

/// Whoever writes makes the directories again that another has removed, for they were empty.
#[test]
fn empty_directories_may_be_removed_while_objects_are_written_below() {
    let temporary = Temporary::new("empty-directories");
    let directory = Directory::create(&temporary.0).unwrap();
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Relaxed) {
                ["a/b", "a"].iter().for_each(|name| directory.remove_empty(name).unwrap());
            }
        });
        let written = (0..500).try_for_each(|_| {
            directory.write("a/b/x", b"1")?;
            directory.remove("a/b/x")
        });
        is_over.store(true, Relaxed);
        written.unwrap();
    });
    assert_eq!(directory.lasting_version("../x"), None);
}

#[test]
fn of_several_who_write_what_is_new_one_does() {
    let temporary = Temporary::new("new");
    let directory = Directory::open(&temporary.0).unwrap();
    for round in 0..50 {
        let name = format!("a/{round}");
        let wrote = |who: u8| directory.write_new(&name, &[who; 100]).is_ok();
        let writers = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4u8).map(|who| scope.spawn(move || wrote(who).then_some(who))).collect();
            all.into_iter().filter_map(|writer| writer.join().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(writers.len(), 1);
        assert_eq!(whole(&directory, &name).unwrap(), [writers[0]; 100]);
    }
    // Nothing is left of the others.
    let num_files = std::fs::read_dir(temporary.0.join("a")).unwrap().count();
    assert_eq!(num_files, 50);
    #[cfg(unix)]
    {
        symlink("nowhere", temporary.0.join("link")).unwrap();
        assert_eq!(directory.write_new("link", b"").unwrap_err().kind(), ErrorKind::Conflict);
        assert!(temporary.0.join("link").is_symlink());
    }
}

/// Objects are also removed meanwhile.
#[test]
fn what_is_new_takes_the_place_of_nothing() {
    let temporary = Temporary::new("in-place");
    let directory = Directory::open(&temporary.0).unwrap();
    let write = |who: u8| {
        for _ in 0..3000 {
            if directory.write_new("x", &[who]).is_ok() {
                assert_eq!(whole(&directory, "x"), Some(vec![who]));
                directory.remove("x").unwrap();
            }
        }
    };
    std::thread::scope(|scope| {
        let write = &write;
        (0..4).for_each(|who| drop(scope.spawn(move || write(who))));
    });
}

/// As a client of a file server does that has lost the answer.
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
#[test]
fn an_object_that_is_linked_once_more_is_new() {
    let temporary = Temporary::new("linked-twice");
    let directory = Directory::open(&temporary.0).unwrap();
    let (_, partial) = directory.create_temporary("x").unwrap();
    for _ in 0..2 {
        assert_eq!(directory.link(&partial.name, "x"), Ok(true));
    }
    directory.write("y", b"").unwrap();
    assert_eq!(directory.link(&partial.name, "y").unwrap_err().kind(), ErrorKind::Conflict);
    drop(partial);
    assert_eq!(list(&directory, ""), ["x", "y"]);
}

#[test]
fn a_reader_finds_the_old_bytes_or_the_new_ones() {
    let temporary = Temporary::new("atomic");
    let directory = Directory::open(&temporary.0).unwrap();
    directory.write("x", &[0; 5000]).unwrap();
    let write = |byte| match directory.write("x", &[byte; 5000]) {
        // Windows may refuse to replace a file that another one has open.
        Err(error) if cfg!(windows) => assert_eq!(error.status(), libc::EACCES),
        written => written.unwrap(),
    };
    std::thread::scope(|scope| {
        for thread in 0..2u8 {
            let write = &write;
            scope.spawn(move || (0..100).for_each(|i| write(2 * i + thread)));
        }
        for _ in 0..300 {
            let bytes = whole(&directory, "x").unwrap();
            assert!(bytes.len() == 5000 && bytes.iter().all(|byte| *byte == bytes[0]));
        }
    });
    assert_eq!(std::fs::read_dir(&temporary.0).unwrap().count(), 1);
}

/// Where Windows would take a name for another file's, or for a part of one.
#[test]
#[cfg(windows)]
fn names_that_windows_takes_for_others_are_errors() {
    let temporary = Temporary::new("names");
    let directory = Directory::open(&temporary.0).unwrap();
    directory.write("a/b", b"1").unwrap();
    for name in ["a/b.", "a/b ", "a./b", "a /b", "a/b:c", "c:x", "c:/x"] {
        assert_eq!(directory.write(name, b"2").unwrap_err().status(), libc::EINVAL, "{name}");
        assert_eq!(read(&directory, name, ByteRange::At(0), 1).unwrap_err().status(), libc::EINVAL, "{name}");
    }
    assert_eq!(
        (whole(&directory, "a/b").unwrap(), list(&directory, ""), list(&directory, "a")),
        (b"1".to_vec(), vec!["a/".to_owned()], vec!["b".to_owned()])
    );
}

/// The portable half in the place of this system's.
struct Portable(portable::Root);

impl ObjectStore for Portable {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        check_name(name)?;
        Ok(self.0.read(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(self.0.list(prefix, &mut |name, entry| entry.is_none_or(|entry| one(name, entry).is_ok()))?)
    }
}

#[test]
fn the_portable_half_does_the_same() {
    let temporary = Temporary::new("portable");
    let portable = Portable(portable::Root::open(&temporary.0).unwrap());
    portable.0.make_directory("a").unwrap();
    let new: portable::Named = portable::named("a/.b").unwrap();
    std::io::Write::write_all(&mut portable.0.create_new(&new).unwrap(), b"0123456789").unwrap();
    assert_eq!(portable.0.create_new(&new).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    portable.0.link(&new, "a/link").unwrap();
    assert!(portable.0.link(&new, "a/link").is_err() && portable.0.is_taken("a/link") && !portable.0.is_taken("a/b"));
    portable.0.remove("a/link").unwrap();
    portable.0.rename(&new, "a/b").unwrap();
    let (inner, root) = (portable::Root::open(&temporary.0.join("a")).unwrap(), portable.0.location("").unwrap());
    assert!(inner.is_below(root).unwrap() && !portable.0.is_below(root).unwrap());
    assert!(!inner.is_below(inner.location("").unwrap()).unwrap());
    portable.0.sync_directory("a").unwrap();
    portable.0.sync_above().unwrap();
    let version = || portable::version_of(&std::fs::File::open(temporary.0.join("a/b")).unwrap());
    let before = version();
    assert!(before.is_some() && before == version());
    std::fs::OpenOptions::new().append(true).open(temporary.0.join("a/b")).unwrap().set_len(11).unwrap();
    assert_ne!(before, version());
    std::fs::OpenOptions::new().append(true).open(temporary.0.join("a/b")).unwrap().set_len(10).unwrap();
    let unread = portable::Root::open_unread(&temporary.0.join("a")).unwrap();
    drop(unread.create_new("d").unwrap());
    unread.remove("d").unwrap();
    assert!(portable::Root::open_unread(&temporary.0.join("x")).is_err());
    drop(portable.0.create_new("c").unwrap());
    assert_eq!((list(&portable, ""), list(&portable, "a")), (vec!["a/".into(), "c".into()], vec!["b".into()]));
    assert_eq!((list(&portable, "x"), list(&portable, "c")), (vec![], vec![]));
    assert_eq!(read(&portable, "a/b", ByteRange::BeforeEnd(3), 2).unwrap(), Some((b"78".to_vec(), 10)));
    assert_eq!(read(&portable, "a/b", ByteRange::At(3), 0).unwrap(), Some((vec![], 10)));
    assert_eq!((whole(&portable, "c"), whole(&portable, "x")), (Some(vec![]), None));
    assert!(testing::read(&portable, "a", ByteRange::At(0), 1).is_err());
    assert!(testing::read(&portable, "c/d", ByteRange::At(0), 1).is_err());
    // Links that lead nowhere, and those to what is no file, are not listed.
    #[cfg(unix)]
    {
        symlink("nowhere", temporary.0.join("dangling")).unwrap();
        symlink("/dev/null", temporary.0.join("device")).unwrap();
        assert_eq!(list(&portable, ""), ["a/", "c"]);
        let mut num_others = 0;
        let one = &mut |_: &str, entry: Option<Entry>| {
            num_others += usize::from(entry.is_none());
            true
        };
        portable.0.list("", one).unwrap();
        assert_eq!(num_others, 2);
        symlink("loop", temporary.0.join("loop")).unwrap();
        assert!(portable.0.list("", &mut |_, _| true).is_err());
        ["dangling", "device", "loop"].iter().for_each(|name| portable.0.remove(name).unwrap());
    }
    // A listing may end early.
    let mut num_listed = 0;
    let one = &mut |_: &str, _| {
        num_listed += 1;
        false
    };
    portable.0.list("", one).unwrap();
    assert_eq!(num_listed, 1);
    assert_eq!(portable.0.make_directory("c").unwrap_err().kind(), io::ErrorKind::NotADirectory);
    portable.0.remove("c").unwrap();
    assert!(portable.0.remove_directory("a").is_err());
    portable.0.remove("a/b").unwrap();
    portable.0.remove_directory("a").unwrap();
    assert_eq!(list(&portable, ""), [""; 0]);
    std::fs::remove_dir_all(&temporary.0).unwrap();
    assert!(testing::read(&portable, "c", ByteRange::At(0), 1).is_err());
    assert!(portable.0.list("", &mut |_, _| true).is_err());
}
