use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::object::testing::{Temporary, keeps_the_contract, list, read, whole};
use crate::object::{Below, Memory, only_prefix};

/// A zip file with these entries; those whose names begin with `deflated` are, with their lengths behind the data.
fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, data) in entries {
        let method = if name.starts_with("deflated") { 8 } else { 0 };
        let builder = archive.new_file(*name).compression_method(rawzip::CompressionMethod::new(method));
        let (mut entry, config) = builder.start().unwrap();
        let descriptor = if method == 8 {
            let encoder = flate2::write::DeflateEncoder::new(&mut entry, flate2::Compression::default());
            let mut writer = config.wrap(encoder);
            writer.write_all(data).unwrap();
            let (encoder, descriptor) = writer.finish().unwrap();
            encoder.finish().unwrap();
            descriptor
        } else {
            let mut writer = config.wrap(&mut entry);
            writer.write_all(data).unwrap();
            writer.finish().unwrap().1
        };
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// A place with a zip file, which counts what is read.
struct Counted(Memory, AtomicUsize);

impl Counted {
    fn new(bytes: &[u8]) -> Self {
        let memory = Memory::new();
        memory.write("zip", bytes).unwrap();
        Counted(memory, AtomicUsize::new(0))
    }

    fn reads(&self) -> usize {
        self.1.swap(0, Ordering::Relaxed)
    }
}

impl Objects for Counted {
    fn read(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        self.1.fetch_add(1, Ordering::Relaxed);
        self.0.read(name, begin, buffer)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.0.list(prefix, one)
    }
}

fn open(bytes: &[u8]) -> Result<Zip<Counted>> {
    Zip::within(Counted::new(bytes), "zip")
}

fn text(len: usize) -> Vec<u8> {
    (0..len as u64).map(|i| (i * i / 7 % 251) as u8).collect()
}

#[test]
fn entries_are_read_stored_and_deflated_whole_and_in_part() {
    let long = text(300_000);
    for before in [&b""[..], b"what precedes"] {
        let zip = zip(&[("g/stored", &long), ("deflated/a", &long), ("g/empty", b""), ("deflated/none", b"")]);
        let zip = open(&[before, &zip].concat()).unwrap();
        assert_eq!(
            (list(&zip, ""), list(&zip, "g")),
            (vec!["deflated/".into(), "g/".into()], vec!["empty".into(), "stored".into()])
        );
        for name in ["g/stored", "deflated/a"] {
            for (begin, room) in [(0, 10), (0, 300_000), (0, 300_001), (70_000, 5), (299_990, 100), (300_000, 5)] {
                let expected = (long[begin..(begin + room).min(300_000)].to_vec(), 300_000);
                assert_eq!(
                    read(&zip, name, Begin::At(begin as u64), room),
                    Ok(Some(expected)),
                    "{name} {begin} {room}"
                );
            }
            let last = (long[299_999..].to_vec(), 300_000);
            assert_eq!(read(&zip, name, Begin::BeforeEnd(1), 10), Ok(Some(last)));
        }
        assert_eq!((whole(&zip, "g/empty"), whole(&zip, "deflated/none")), (Some(vec![]), Some(vec![])));
        assert_eq!((whole(&zip, "g"), whole(&zip, "g/empt")), (None, None));
        assert!(read(&zip, "../g", Begin::At(0), 1).is_err());
        assert!(!zip.is_writable() && zip.write("x", b"").unwrap_err().kind() == ErrorKind::ReadOnly);
    }
}

#[test]
fn few_reads_are_made() {
    let bytes = zip(&[("small", &text(500)), ("large", &text(100_000)), ("deflated", &text(3000))]);
    let zip = open(&bytes).unwrap();
    assert_eq!(zip.objects.reads(), 1);
    for (name, first) in [("small", 1), ("large", 2), ("deflated", 1)] {
        whole(&zip, name);
        assert_eq!(zip.objects.reads(), first, "{name}");
        whole(&zip, name);
        assert_eq!(zip.objects.reads(), 1, "{name}");
    }
    read(&zip, "small", Begin::At(0), 0).unwrap().unwrap();
    assert_eq!(zip.objects.reads(), 0);
}

#[test]
fn the_last_entry_of_a_name_counts_and_other_names_are_left_out() {
    let entries: [(&str, &[u8]); 6] =
        [("b", b"1"), ("a", b"2"), ("b", b"3"), ("XX/c", b"4"), ("dXe", b"5"), ("b", b"6")];
    let mut bytes = zip(&entries);
    // The judge does not write such names.
    for (name, other) in [(b"XX/c".as_slice(), b"../c".as_slice()), (b"dXe", b"d\\e")] {
        for at in 0..bytes.len() - name.len() {
            if bytes[at..].starts_with(name) {
                bytes[at..][..name.len()].copy_from_slice(other);
            }
        }
    }
    let zip = open(&bytes).unwrap();
    assert_eq!((list(&zip, ""), whole(&zip, "b")), (vec!["a".into(), "b".into()], Some(b"6".to_vec())));
}

#[test]
fn a_directory_beyond_the_tail_is_read() {
    let names: Vec<String> = (0..3000).map(|i| format!("c/{}/{i}", i % 7)).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), name.as_bytes())).collect();
    let zip = open(&zip(&entries)).unwrap();
    assert_eq!(zip.objects.reads(), 2);
    assert_eq!(list(&zip, "c/3").len(), 3000 / 7 + 1);
    assert!(names.iter().all(|name| whole(&zip, name).unwrap() == name.as_bytes()));
}

#[test]
fn what_is_damaged_is_an_error_or_reads_as_it_was() {
    let entries: [(&str, &[u8]); 4] = [("a", b"0123456789"), ("deflated", &[7; 100]), ("a", b"later"), ("none", b"")];
    let good = zip(&entries);
    let check = |bytes: &[u8]| {
        let Ok(zip) = open(bytes) else { return 0 };
        let _ = zip.list("", &mut |_, _| Ok(()));
        let mut read_well = 0;
        for (name, expected) in &entries[1..] {
            for (begin, room) in [(0, 1000), (3, 2), (0, 0)] {
                match read(&zip, name, Begin::At(begin), room) {
                    // Where a name's last entry got another name, the one before it is found.
                    Ok(Some((bytes, _))) if room == 1000 && bytes != *expected => assert_eq!(bytes, entries[0].1),
                    Ok(Some((bytes, _))) => read_well += usize::from(bytes.len() <= room),
                    Ok(None) | Err(_) => {}
                }
            }
        }
        read_well
    };
    assert_eq!(check(&good), 9);
    (0..good.len()).for_each(|end| assert_eq!(check(&good[..end]), 0));
    let mut harmless = 0;
    for at in 0..good.len() {
        for change in 1..=if cfg!(miri) { 1 } else { 255 } {
            let mut bytes = good.clone();
            bytes[at] ^= change;
            harmless += usize::from(check(&bytes) == 9);
        }
    }
    assert!(harmless > 0);
}

#[test]
fn what_claims_to_be_long_is_not_believed() {
    let bytes = zip(&[("deflated", &[0; 1 << 20])]);
    let record = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    let with = |at: usize, value: u32| {
        let mut bytes = bytes.clone();
        bytes[record + at..][..4].copy_from_slice(&value.to_le_bytes());
        let zip = open(&bytes).unwrap();
        [100, 1 << 21].map(|room| read(&zip, "deflated", Begin::At(0), room).map(|found| found.unwrap().1))
    };
    assert_eq!(with(24, 1 << 20), [Ok(1 << 20), Ok(1 << 20)]);
    let [part, all] = with(24, u32::MAX - 1);
    assert!(part.is_ok() && all.unwrap_err().to_string().contains("shorter"));
    let [part, all] = with(24, 200);
    assert!(part.is_ok() && all.unwrap_err().to_string().contains("longer"));
    let [part, all] = with(20, u32::MAX - 1);
    assert!(part.is_ok() && all.is_ok());
    let [part, all] = with(20, 3);
    assert!(part.is_err() && all.unwrap_err().to_string().contains("too early"));
}

#[test]
fn the_judge_finds_the_same_entries() {
    let temporary = Temporary::new("zip-judge");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    for name in ["a/\u{e4}", "b", "a/b", "b"] {
        writer.write(name, &text(1000 + name.len())).unwrap();
    }
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let archive = rawzip::ZipArchive::from_slice(&bytes).unwrap();
    let mut entries = archive.entries();
    let mut found = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let name = String::from_utf8(entry.file_path().as_ref().to_vec()).unwrap();
        let local = archive.get_entry(entry.wayfinder()).unwrap();
        let mut data = Vec::new();
        std::io::Read::read_to_end(&mut local.verifying_reader(local.data()), &mut data).unwrap();
        assert_eq!(data, text(1000 + name.len()));
        found.push(name);
    }
    assert_eq!(found, ["a/b", "a/\u{e4}", "b"]);
}

#[test]
fn a_new_file_keeps_the_contract_and_is_there_when_it_is_finished() {
    let temporary = Temporary::new("zip-writer");
    let path = temporary.0.join("new.zip");
    let mut writer = ZipWriter::create(&path).unwrap();
    writer.set_sync(true);
    keeps_the_contract(&writer);
    assert!(!path.exists());
    writer.finish().unwrap();
    writer.finish().unwrap();
    assert!(!writer.is_writable() && writer.write("x", b"").is_err() && writer.remove("z").is_err());
    assert_eq!(whole(&writer, "z").unwrap(), b"z");
    drop(writer);
    let zip = Zip::open(&path).unwrap();
    assert_eq!(
        (list(&zip, "a"), whole(&zip, "a/b").unwrap()),
        (vec!["b".into(), "b-c".into(), "d/".into()], (0..100).collect())
    );
    drop(ZipWriter::create(&path).unwrap());
    assert_eq!(std::fs::read_dir(&temporary.0).unwrap().count(), 1);
    assert_eq!(Zip::open(temporary.0.join("no.zip")).err().unwrap().status(), libc::ENOENT);
    assert_eq!(Zip::within(Memory::new(), "no.zip").err().unwrap().kind(), ErrorKind::NotFound("zip file"));
}

#[test]
fn a_file_of_more_entries_than_the_old_format_has_is_read() {
    let temporary = Temporary::new("zip64");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    let count = 70_000;
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let writer = &writer;
            scope.spawn(move || {
                (thread..count).step_by(2).for_each(|i| writer.write(&format!("x/{i:05}"), &text(i % 5)).unwrap())
            });
        }
    });
    writer.finish().unwrap();
    for before in [0, 1000] {
        let bytes = [vec![1; before], std::fs::read(&path).unwrap()].concat();
        let zip = open(&bytes).unwrap();
        let below = Below::new(&zip, &only_prefix(&zip).unwrap().unwrap()).unwrap();
        assert_eq!(list(&below, "").len(), count);
        (0..count).step_by(777).for_each(|i| assert_eq!(whole(&below, &format!("{i:05}")), Some(text(i % 5))));
    }
}
