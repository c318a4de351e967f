use std::io::Write;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::object::testing::{Temporary, keeps_the_contract, list, read, whole};
use crate::object::{Memory, PrefixedStorage, only_prefix};

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

/// A zip file with these entries, stored, whose numbers are all where those are that the old format has no room for.
fn zip64(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in entries {
        let (header, len, mut crc) = (bytes.len() as u64, data.len() as u64, flate2::Crc::new());
        crc.update(data);
        let crc = crc.sum();
        records::New { name, crc, len, header }.add_local(&mut bytes).unwrap();
        bytes.extend_from_slice(data);
        records::New { name, crc, len: 1 << 32, header: 1 << 32 }.add_record(&mut directory).unwrap();
        let at = directory.len() - 24;
        directory[at..].copy_from_slice(&[len, len, header].map(u64::to_le_bytes).concat());
    }
    let begin = bytes.len() as u64;
    bytes.extend(&directory);
    let (long, _, mut end) = end::write(begin, bytes.len() as u64, entries.len() as u64);
    end[8..20].fill(0xff);
    bytes.extend(long);
    bytes.extend(end);
    bytes
}

/// A storage with a zip file, which counts what is read.
struct Counted {
    bytes: Vec<u8>,
    /// How many reads find all of it; later ones find an empty file.
    whole_reads: usize,
    reads: AtomicUsize,
    bytes_read: AtomicUsize,
    is_concurrent: bool,
}

impl Counted {
    fn new(bytes: &[u8]) -> Self {
        let (reads, bytes_read) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Counted { bytes: bytes.to_vec(), whole_reads: usize::MAX, reads, bytes_read, is_concurrent: false }
    }

    fn reads(&self) -> usize {
        self.reads.swap(0, Ordering::Relaxed)
    }

    fn bytes_read(&self) -> usize {
        self.bytes_read.swap(0, Ordering::Relaxed)
    }
}

impl ObjectStore for Counted {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        assert_eq!(name, "zip");
        let is_whole = self.reads.fetch_add(1, Ordering::Relaxed) < self.whole_reads;
        let bytes = if is_whole { &self.bytes[..] } else { &[] };
        let len = begin.copy(bytes, buffer);
        self.bytes_read.fetch_add(buffer.filled().len(), Ordering::Relaxed);
        Ok(Some(len))
    }

    fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn is_concurrent(&self) -> bool {
        self.is_concurrent
    }

    fn gap(&self) -> usize {
        5000
    }
}

fn open(bytes: &[u8]) -> Result<Zip<Counted>> {
    Zip::within(Counted::new(bytes), "zip")
}

/// A zip file with the first entry's header longer by so many bytes of extra fields.
fn with_extra(mut bytes: Vec<u8>, extra: u16) -> Vec<u8> {
    let u16_at = |bytes: &[u8], at: usize| u16::from_le_bytes([bytes[at], bytes[at + 1]]);
    // Moves the offset that is written there, and returns what it was.
    let add = |bytes: &mut [u8], at: usize| {
        let offset = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        bytes[at..at + 4].copy_from_slice(&(offset + u32::from(extra)).to_le_bytes());
        offset as usize
    };
    let end = bytes.len() - 22;
    let mut record = add(&mut bytes, end + 16);
    for entry in 0..u16_at(&bytes, end + 10) {
        if entry > 0 {
            add(&mut bytes, record + 42);
        }
        record += 46 + [28, 30, 32].map(|at| usize::from(u16_at(&bytes, record + at))).iter().sum::<usize>();
    }
    let begin = LOCAL + usize::from(u16_at(&bytes, 26));
    let len = u16_at(&bytes, 28) + extra;
    bytes[28..30].copy_from_slice(&len.to_le_bytes());
    bytes.splice(begin..begin, vec![0; extra.into()]);
    bytes
}

/// Bytes that deflate makes no shorter.
fn noise(len: usize) -> Vec<u8> {
    let mut rng = fastrand::Rng::with_seed(3);
    (0..len).map(|_| rng.u8(..)).collect()
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
        assert_eq!(["", "g"].map(|group| list(&zip, group)), [["deflated/", "g/"], ["empty", "stored"]]);
        for name in ["g/stored", "deflated/a"] {
            for (begin, room) in [(0, 10), (0, 300_000), (0, 300_001), (70_000, 5), (299_990, 100), (300_000, 5)] {
                let expected = (long[begin..(begin + room).min(300_000)].to_vec(), 300_000);
                let found = read(&zip, name, ByteRange::At(begin as u64), room);
                assert_eq!(found, Ok(Some(expected)), "{name} {begin} {room}");
            }
            let last = (long[299_999..].to_vec(), 300_000);
            assert_eq!(read(&zip, name, ByteRange::BeforeEnd(1), 10), Ok(Some(last)));
        }
        assert_eq!((whole(&zip, "g/empty"), whole(&zip, "deflated/none")), (Some(vec![]), Some(vec![])));
        assert_eq!((whole(&zip, "g"), whole(&zip, "g/empt")), (None, None));
        assert!(read(&zip, "../g", ByteRange::At(0), 1).is_err());
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
    let zip = open(&bytes).unwrap();
    zip.objects.reads();
    for name in ["small", "deflated"] {
        read(&zip, name, ByteRange::At(0), 0).unwrap().unwrap();
        assert_eq!(zip.objects.reads(), 0);
    }
    // What decodes is kept.
    assert!(zip.inflaters.take().is_none());
    whole(&zip, "deflated");
    assert!(zip.inflaters.take().is_some() && zip.inflaters.take().is_none());
}

#[test]
fn the_directory_is_read_at_once_if_it_is_short() {
    // All that may be behind it has its greatest length.
    let comment = [b'c'; 0xffff];
    let mut bytes = zip(&[("stored", &noise(100_000))]);
    let end = bytes.len() - 22;
    let begin = u32::from_le_bytes(bytes[end + 16..][..4].try_into().unwrap());
    bytes.truncate(end);
    let (long, _, mut short) = end::write(begin.into(), end as u64, 1);
    short[20..].copy_from_slice(&[0xff; 2]);
    // Numbers that are elsewhere, so that the longer record is needed.
    short[8..20].fill(0xff);
    let bytes = [&bytes[..], &long, &short, &comment].concat();
    let zip = open(&bytes).unwrap();
    assert_eq!((zip.objects.reads(), zip.objects.bytes_read()), (2, 22 + 0xffff + 56 + 20 + end - begin as usize));
    assert_eq!(list(&zip, ""), ["stored"]);
}

#[test]
fn no_more_is_read_than_is_needed() {
    let long = noise(3 << 20);
    let files = ["stored", "deflated"].map(|name| (name, zip(&[(name, &long)])));
    // The entry, where to begin, how much; how many reads, and how many bytes at most besides those that are wanted.
    for (name, begin, wanted, reads, more) in [
        // The header comes with the data, as long as it is not most of what is read, and what is between is little.
        ("stored", 0, 20_000, 1, 100),
        ("stored", 0, 20_001, 2, 100),
        ("stored", 5000, 10, 1, 5100),
        ("stored", 5001, 10, 2, 100),
        // So much is decoded, and what comes before it; of the rest little is read.
        ("deflated", 0, 10, 1, 1300),
        ("deflated", 500_000, 10, 1, 501_800),
        ("deflated", 1 << 20, 10, 2, (2 << 20) + 100),
        ("deflated", 0, 3 << 20, 4, 2000),
    ] {
        let (_, file) = files.iter().find(|(other, _)| *other == name).unwrap();
        let zip = open(file).unwrap();
        zip.objects.reads();
        zip.objects.bytes_read();
        let expected = (long[begin..begin + wanted].to_vec(), 3 << 20);
        assert_eq!(read(&zip, name, ByteRange::At(begin as u64), wanted), Ok(Some(expected)));
        let (found, most) = ((zip.objects.reads(), zip.objects.bytes_read()), wanted + more);
        assert!(found.0 == reads && found.1 <= most, "{name} {begin} {wanted}: {found:?}");
        assert_eq!((zip.gap(), zip.is_concurrent()), (5000, false));
    }
    // With so many extra fields the data are read with the header still.
    let zip = |extra: usize| open(&with_extra(self::zip(&[("stored", b"value")]), extra as u16)).unwrap();
    for (extra, reads, bytes_read) in [(EXTRA, 1, 105), (EXTRA + 1, 2, 106)] {
        let zip = zip(extra);
        zip.objects.reads();
        zip.objects.bytes_read();
        assert_eq!(whole(&zip, "stored").unwrap(), b"value");
        assert_eq!((zip.objects.reads(), zip.objects.bytes_read()), (reads, bytes_read));
    }
    let zip = self::zip(&[("a", b"")]);
    assert!(Zip::within(Counted { is_concurrent: true, ..Counted::new(&zip) }, "zip").unwrap().is_concurrent());
}

#[test]
fn headers_of_any_length_are_read() {
    let data = text(2000);
    for name in ["stored", "deflated"] {
        for extra in [0, 1, 63, 64, 65, 1000, 5000] {
            for (begin, room) in [(0, 2000), (0, 2001), (0, 100), (1990, 5), (2000, 1)] {
                let zip = open(&with_extra(zip(&[(name, &data)]), extra)).unwrap();
                for _ in 0..2 {
                    let expected = data[begin..(begin + room).min(2000)].to_vec();
                    let found = read(&zip, name, ByteRange::At(begin as u64), room).unwrap();
                    assert_eq!(found, Some((expected, 2000)), "{name} {extra} {begin} {room}");
                }
            }
        }
    }
}

#[test]
fn deflated_data_may_end_long_after_the_last_byte() {
    let mut deflated = vec![0, 10, 0, 0xf5, 0xff];
    deflated.extend(b"0123456789");
    (0..1000).for_each(|_| deflated.extend([0, 0, 0, 0xff, 0xff]));
    deflated.extend([1, 0, 0, 0xff, 0xff]);
    let mut bytes = zip(&[("a", &deflated)]);
    let record = bytes.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    bytes[record + 10] = 8;
    bytes[record + 16..][..4].copy_from_slice(&crc32(b"0123456789").to_le_bytes());
    bytes[record + 24..][..4].copy_from_slice(&10u32.to_le_bytes());
    let zip = open(&bytes).unwrap();
    assert_eq!(whole(&zip, "a").unwrap(), b"0123456789");
    assert_eq!(read(&zip, "a", ByteRange::At(3), 4), Ok(Some((b"3456".to_vec(), 10))));
}

#[test]
fn a_file_that_becomes_shorter_is_an_error() {
    let read_short = |bytes: &[u8], whole_reads, name| {
        let zip = Zip::within(Counted { whole_reads, ..Counted::new(bytes) }, "zip")?;
        read(&zip, name, ByteRange::At(0), 4 << 20)
    };
    let bytes = zip(&[("stored", &noise(100_000)), ("deflated", &noise(3 << 20))]);
    let names: Vec<String> = (0..3000).map(|i| format!("c/{i}")).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), &b"value"[..])).collect();
    for (bytes, name, num_reads) in [(&bytes, "stored", 3), (&bytes, "deflated", 5), (&zip(&entries), "c/0", 3)] {
        assert!(read_short(bytes, num_reads, name).unwrap().is_some(), "{name}");
        for whole_reads in 1..num_reads {
            let error = read_short(bytes, whole_reads, name).unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Corrupt { codec: "zip", .. }), "{name} {whole_reads}: {error}");
            // The directory, or the data, where these are read by themselves.
            let by_itself = if name == "c/0" { 1 } else { num_reads - 1 };
            let is_named = error.to_string().contains("the file ends before an entry of its central directory");
            assert!(whole_reads != by_itself || is_named);
        }
    }
}

#[test]
fn the_last_entry_of_a_name_counts_and_other_names_are_left_out() {
    let entries: [(&str, &[u8]); 8] = [
        ("b", b"1"),
        ("a", b"2"),
        ("b", b"3"),
        ("XX/c", b"4"),
        ("dXe", b"5"),
        ("b", b"6"),
        ("gXX", b""),
        ("f/gX", b"7"),
    ];
    let mut bytes = zip(&entries);
    // The judge does not write such names.
    for (name, other) in
        [(b"XX/c".as_slice(), b"../c".as_slice()), (b"dXe", b"d\\e"), (b"f/gX", b"f/g\xe9"), (b"gXX", b"g\\/")]
    {
        for at in 0..bytes.len() - name.len() {
            if bytes[at..].starts_with(name) {
                bytes[at..][..name.len()].copy_from_slice(other);
            }
        }
    }
    let zip = open(&bytes).unwrap();
    assert_eq!((list(&zip, ""), whole(&zip, "b")), (vec!["a".into(), "b".into()], Some(b"6".to_vec())));
    // Whoever replaces the file is told of all that is in it.
    let left_out = |zip: &dyn ObjectStore, prefix| {
        let mut found = Vec::new();
        let mut one = |name: &str, entry: Option<Entry>| {
            found.extend(entry.is_none().then(|| name.to_owned()));
            Ok(())
        };
        zip.list_all(prefix, &mut one).unwrap();
        found
    };
    assert_eq!(left_out(&zip, ""), ["../c", "d\\e", "f/g\u{fffd}"]);
    assert_eq!(left_out(&PrefixedStorage::new(&zip, "f").unwrap(), ""), ["g\u{fffd}"]);
    // If all objects are in one directory, what stands beside it is in the storage, too.
    let all = PrefixedStorage::new(&zip, "f").unwrap().with_whole_names().unwrap();
    assert_eq!(left_out(&all, ""), ["g\u{fffd}", "../c", "d\\e"]);
    assert_eq!(left_out(&all, "a"), [""; 0]);
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

/// A part of an entry may be another one; verified, the entry is as a whole, and once.
#[test]
fn an_entry_is_verified_once() {
    let (text, noise) = (text(100_000), noise(3 << 20));
    let entries: [(&str, &[u8]); 4] = [("d/deflated", &text), ("deflated", &text), ("stored", &noise), ("empty", b"")];
    let good = zip(&entries);
    let verified = open(&good).unwrap();
    for name in ["deflated", "stored", "d/deflated", "empty"] {
        verified.objects.reads();
        verified.verify(name).unwrap();
        assert_eq!(verified.objects.reads() > 0, name != "empty", "{name}");
        verified.verify(name).unwrap();
        assert_eq!(verified.objects.reads(), 0, "{name}");
    }
    verified.verify("no such").unwrap();
    assert!(verified.verify("../x").is_err());
    PrefixedStorage::new(&verified, "d").unwrap().verify("deflated").unwrap();
    // What was read as a whole has been verified.
    let read_whole = open(&good).unwrap();
    assert_eq!(whole(&read_whole, "deflated").unwrap(), text);
    read_whole.objects.reads();
    read_whole.verify("deflated").unwrap();
    assert_eq!(read_whole.objects.reads(), 0);
    // One bit is another one.
    let mut spoilt = good.clone();
    let at = good.windows(100).position(|bytes| bytes == &noise[1000..1100]).unwrap();
    spoilt[at] ^= 8;
    let zip = open(&spoilt).unwrap();
    assert_eq!(read(&zip, "stored", ByteRange::At(1000), 1).unwrap().unwrap().0, [noise[1000] ^ 8]);
    for _ in 0..2 {
        let error = zip.verify("stored").unwrap_err();
        assert_eq!((error.kind(), error.about()), (corrupt("the entry does not match its checksum").kind(), "stored"));
    }
    zip.verify("deflated").unwrap();
    // The checksum of deflated data is.
    let record = good.windows(12).rposition(|bytes| bytes == b"d/deflated\x50\x4b").unwrap() - 46;
    let mut spoilt = good;
    spoilt[record + 16] ^= 1;
    assert!(open(&spoilt).unwrap().verify("d/deflated").is_err());
}

#[test]
fn what_is_damaged_is_an_error_or_reads_as_it_was() {
    let entries: [(&str, &[u8]); 4] = [("a", b"0123456789"), ("deflated", &[7; 100]), ("a", b"later"), ("none", b"")];
    for good in [zip(&entries), zip64(&entries)] {
        damage(&good, &entries);
    }
}

/// Every truncation of a zip file, and every other value of every byte. What is read by its name is what the entry has.
fn damage(good: &[u8], entries: &[(&str, &[u8])]) {
    let check = |bytes: &[u8]| {
        let Ok(zip) = open(bytes) else { return 0 };
        let _ = zip.list("", &mut |_, _| Ok(()));
        let mut read_well = 0;
        for (name, expected) in &entries[1..] {
            for (begin, room) in [(0, 1000), (3, 2), (0, 0)] {
                match read(&zip, name, ByteRange::At(begin), room) {
                    // Where a name's last entry got another name, the one before it is found.
                    Ok(Some((bytes, _))) if room == 1000 && bytes != *expected => assert_eq!(bytes, entries[0].1),
                    Ok(Some((bytes, _))) => read_well += usize::from(bytes.len() <= room),
                    Ok(None) | Err(_) => {}
                }
            }
        }
        read_well
    };
    assert_eq!(check(good), 9);
    (0..good.len()).for_each(|end| assert_eq!(check(&good[..end]), 0));
    let mut harmless = 0;
    for at in 0..good.len() {
        for change in 1..=if cfg!(miri) { 1 } else { 255 } {
            let mut bytes = good.to_vec();
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
        [100, 1 << 21].map(|room| read(&zip, "deflated", ByteRange::At(0), room).map(|found| found.unwrap().1))
    };
    assert_eq!(with(24, 1 << 20), [Ok(1 << 20), Ok(1 << 20)]);
    let [part, all] = with(24, u32::MAX - 1);
    assert!(part.is_ok() && all.unwrap_err().to_string().contains("shorter"));
    // As many stand for a number elsewhere, which is nowhere.
    let [part, all] = with(24, u32::MAX);
    assert!(part.is_ok() && all.unwrap_err().to_string().contains("shorter"));
    let [part, all] = with(24, 200);
    assert!(part.is_ok() && all.unwrap_err().to_string().contains("longer"));
    let [part, all] = with(20, u32::MAX - 1);
    assert!(part.is_ok() && all.is_ok());
    let [part, all] = with(20, 3);
    assert!(part.is_err() && all.unwrap_err().to_string().contains("truncated"));
    // One that is found to be longer after a piece of it has been decoded.
    let mut bytes = zip(&[("deflated", &noise(3 << 20))]);
    let record = bytes.windows(4).rposition(|bytes| bytes == b"PK\x01\x02").unwrap();
    bytes[record + 24..][..4].copy_from_slice(&(3u32 << 19).to_le_bytes());
    let error = read(&open(&bytes).unwrap(), "deflated", ByteRange::At(0), 4 << 20).unwrap_err();
    assert!(error.to_string().contains("longer"));
    // A stored entry that ends beyond the file.
    let mut bytes = zip(&[("stored", &[0; 100])]);
    let record = bytes.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap();
    for at in [20, 24] {
        bytes[record + at..][..4].copy_from_slice(&(u32::MAX - 1).to_le_bytes());
    }
    let zip = open(&bytes).unwrap();
    assert_eq!(read(&zip, "stored", ByteRange::At(0), 100), Ok(Some((vec![0; 100], u64::from(u32::MAX) - 1))));
    assert!(read(&zip, "stored", ByteRange::At(0), 1 << 21).unwrap_err().to_string().contains("the file ends"));
}

#[test]
fn numbers_near_the_largest_are_errors() {
    const NUMBERS: [u64; 7] = [0, 10, 1 << 32, i64::MAX as u64, u64::MAX - 40, u64::MAX - 1, u64::MAX];
    let numbers = || NUMBERS.into_iter();
    let of = |method: u8, len: u64, stored: u64, header: u64| {
        let (mut bytes, mut record) = (vec![0; 7], Vec::new());
        records::New { name: "a", crc: 0, len: 10, header: 0 }.add_local(&mut bytes).unwrap();
        bytes.extend(b"0123456789");
        records::New { name: "a", crc: 0, len: 1 << 32, header: 1 << 32 }.add_record(&mut record).unwrap();
        record[10] = method;
        let at = record.len() - 24;
        record[at..].copy_from_slice(&[len, stored, header].map(u64::to_le_bytes).concat());
        let begin = bytes.len() as u64 - 7;
        let (_, _, end) = end::write(begin, begin + record.len() as u64, 1);
        [bytes, record, end.to_vec()].concat()
    };
    assert_eq!(read(&open(&of(0, 10, 10, 0)).unwrap(), "a", ByteRange::At(3), 4), Ok(Some((b"3456".to_vec(), 10))));
    for (len, stored) in numbers().flat_map(|len| numbers().map(move |stored| (len, stored))) {
        for (method, header) in [0, 8].into_iter().flat_map(|method| numbers().map(move |header| (method, header))) {
            let file = of(method, len, stored, header);
            let zip = open(&file).unwrap();
            for begin in numbers().flat_map(|at| [ByteRange::At(at), ByteRange::BeforeEnd(at)]) {
                // Of a stored entry there is what the file has, whatever that is; and nothing at the end of any entry.
                let at = begin.offset(len);
                let is_there = method == 0 && header == 0 && len == stored && at <= 40;
                let found = read(&zip, "a", begin, 4);
                let is_right = match &found {
                    Ok(Some((bytes, all))) if at < len && is_there => {
                        let from = 7 + LOCAL + 1 + at as usize;
                        *all == len && bytes[..] == file[from..from + (len - at).min(4) as usize]
                    }
                    Ok(Some((bytes, _))) => at == len && bytes.is_empty(),
                    Ok(None) => false,
                    Err(_) => at == len || !is_there,
                };
                assert!(is_right, "{method} {len} {stored} {header} {at}: {found:?}");
            }
        }
    }
}

#[test]
fn the_judge_finds_the_same_entries() {
    let temporary = Temporary::new("zip-judge");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    for name in ["a/\u{e4}", "b", "a/b", "b"] {
        writer.write(name, &text(1000 + name.len())).unwrap();
    }
    // The file ends with the directory, also if something was left behind it.
    let partial = std::fs::read_dir(&temporary.0).unwrap().next().unwrap().unwrap().path();
    std::fs::OpenOptions::new().write(true).open(partial).unwrap().set_len(1 << 20).unwrap();
    writer.finish().unwrap();
    let bytes = std::fs::read(&path).unwrap();
    assert!(bytes[bytes.len() - 22..].starts_with(b"PK\x05\x06"));
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
    assert_eq!(list(&zip, "a"), ["b", "b-c", "d/"]);
    assert!(whole(&zip, "a/b").unwrap().into_iter().eq(0..100));
    drop(ZipWriter::create(&path).unwrap());
    assert_eq!(std::fs::read_dir(&temporary.0).unwrap().count(), 1);
    assert_eq!(Zip::open(temporary.0.join("no.zip")).err().unwrap().status(), libc::ENOENT);
    assert_eq!(Zip::within(Memory::new(), "no.zip").err().unwrap().kind(), ErrorKind::NotFound("zip file"));
}

#[test]
fn names_have_at_most_65535_bytes() {
    let temporary = Temporary::new("zip-names");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    let name = "n".repeat(65535);
    writer.write(&name, b"value").unwrap();
    let error = writer.write(&format!("{name}n"), b"value").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Argument("a name in a zip file must have at most 65535 bytes"));
    writer.finish().unwrap();
    assert_eq!(whole(&Zip::open(&path).unwrap(), &name).unwrap(), b"value");
}

#[test]
fn a_file_that_cannot_be_finished_can_be_later() {
    let temporary = Temporary::new("zip-finish");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    writer.write("a", b"value").unwrap();
    std::fs::create_dir_all(path.join("directory")).unwrap();
    assert!(writer.finish().is_err() && writer.is_writable());
    std::fs::remove_dir_all(&path).unwrap();
    writer.write("b", b"other").unwrap();
    writer.finish().unwrap();
    let zip = Zip::open(&path).unwrap();
    assert_eq!((whole(&zip, "a").unwrap(), whole(&zip, "b").unwrap()), (b"value".to_vec(), b"other".to_vec()));
}

#[test]
fn a_file_without_a_directory_in_its_path_is_made_and_synced() {
    let name = format!("nczchunk-zip-{}.zip", std::process::id());
    let mut writer = ZipWriter::create(&name).unwrap();
    writer.set_sync(true);
    let finished = writer.finish();
    drop(writer);
    let _ = std::fs::remove_file(&name);
    finished.unwrap();
}

#[test]
fn what_is_cut_off_of_a_file_that_is_made_is_an_error() {
    let temporary = Temporary::new("zip-cut");
    let writer = ZipWriter::create(temporary.0.join("new.zip")).unwrap();
    writer.write("a", &text(1000)).unwrap();
    let partial = std::fs::read_dir(&temporary.0).unwrap().next().unwrap().unwrap().path();
    std::fs::OpenOptions::new().write(true).open(partial).unwrap().set_len(500).unwrap();
    assert_eq!(read(&writer, "a", ByteRange::At(0), 400), Ok(Some((text(400), 1000))));
    let error = read(&writer, "a", ByteRange::At(0), 1000).unwrap_err();
    assert!(error.to_string().contains("made the new file shorter") && error.about() == "a");
}

#[test]
#[cfg(unix)]
fn a_forked_child_leaves_the_file_alone() {
    let temporary = Temporary::new("zip-fork");
    let path = temporary.0.join("new.zip");
    let writer = ZipWriter::create(&path).unwrap();
    writer.write("a", b"value").unwrap();
    // SAFETY: the child uses and drops the writer, which waits for no lock of another thread, and ends.
    match unsafe { libc::fork() } {
        0 => {
            let is_refused = [writer.write("b", b""), writer.remove("a"), writer.finish()].iter().all(Result::is_err);
            let is_refused = is_refused && read(&writer, "a", ByteRange::At(0), 5).is_err() && !writer.is_writable();
            drop(writer);
            // SAFETY: there is nothing to promise.
            unsafe { libc::_exit(if is_refused { 0 } else { 1 }) }
        }
        child => {
            let mut status = -1;
            // SAFETY: there is a place for the status.
            assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
            assert_eq!(status, 0);
        }
    }
    writer.finish().unwrap();
    assert_eq!(whole(&Zip::open(&path).unwrap(), "a").unwrap(), b"value");
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
        let below = PrefixedStorage::new(&zip, &only_prefix(&zip).unwrap().unwrap()).unwrap();
        assert_eq!(list(&below, "").len(), count);
        (0..count).step_by(777).for_each(|i| assert_eq!(whole(&below, &format!("{i:05}")), Some(text(i % 5))));
    }
}

/// Entries with their headers or behind them, deflated or not, and what is too long to be in flight: none is waited for
/// from within another, and none is left behind.
#[cfg(feature = "codecs")]
#[test]
fn entries_are_in_flight_however_they_are_stored() {
    use crate::object::{Storage, read_whole, testing::DelayedStorage};
    use crate::{Access, Array, ArrayFormat, Description, ElementType, Hyperslab};
    use std::sync::Arc;

    let mut values = text(40_000);
    // This part is longer deflated than what is in flight; the one before is absent.
    values[25_000..30_000].copy_from_slice(&noise(5_000));
    values[20_000..25_000].fill(0);
    let plain = Description::new(&[40_000], ElementType::UByte).with_codecs(&[]);
    let chunks = plain.with_format(ArrayFormat::ZarrV2).with_chunk_shape(&[5_000]);
    let shards = plain.with_chunk_shape(&[1_000]).with_shard_shape(&[10_000]);
    let mut entries = Vec::new();
    for (name, description) in [("deflated", &chunks), ("stored", &chunks), ("sharded", &shards)] {
        let memory = Arc::new(Memory::new());
        let array = Array::create_in(&Storage::new(memory.clone()).unwrap(), name, description).unwrap();
        array.write(&Hyperslab::all(), &values).unwrap();
        let objects = match name {
            "sharded" => [0, 1, 2, 3].map(|i| format!("sharded/c/{i}")).to_vec(),
            _ => [0, 1, 2, 3, 5, 6, 7].map(|i| format!("{name}/{i}")).to_vec(),
        };
        let metadata = format!("{name}/{}", if name == "sharded" { "zarr.json" } else { ".zarray" });
        for name in objects.into_iter().chain([metadata]) {
            let bytes = read_whole(&*memory, &name, 1 << 20).unwrap().unwrap();
            entries.push((name, bytes));
        }
    }
    let entries: Vec<_> = entries.iter().map(|(name, bytes)| (&**name, &**bytes)).collect();
    let bytes = with_extra(zip(&entries), 300);
    let opened = |later: &Arc<DelayedStorage>, name: &str| {
        let storage = Storage::new(Zip::within(later.clone(), "zip").unwrap()).unwrap();
        later.reset();
        Array::open_in(&storage, name, Access::Read).unwrap()
    };
    for (name, most) in [("deflated", 6), ("stored", 7), ("sharded", 4)] {
        let later = Arc::new(DelayedStorage::new());
        later.put("zip", &bytes);
        let array = opened(&later, name);
        assert!(array.read::<u8>(&Hyperslab::all()).unwrap() == values, "{name}");
        assert_eq!((later.most().0, later.requests_in_flight()), (most, 0), "{name}");
        // Once more, where it is known how long the headers are; and parts.
        assert!(array.read::<u8>(&Hyperslab::all()).unwrap() == values, "{name}");
        for (start, count) in [(4_000, 2_000), (24_500, 1_000), (39_999, 1)] {
            for array in [&array, &opened(&later, name)] {
                let found = array.read::<u8>(&Hyperslab::new(&[start], &[count])).unwrap();
                assert!(found == values[start..][..count], "{name} {start}");
            }
        }
        let array = opened(&later, name);
        later.fail("zip", 5);
        let error = array.read::<u8>(&Hyperslab::all()).unwrap_err();
        assert_eq!((error.status(), later.requests_in_flight()), (5, 0), "{name}");
        assert!(error.about().starts_with(name) && error.about().ends_with(": zip"), "{error}");
        later.heal();
        later.put("zip", &bytes[..bytes.len() / 50]);
        let error = array.read::<u8>(&Hyperslab::all()).map(drop).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Corrupt { .. } | ErrorKind::Truncated), "{name}: {error}");
        later.take("zip");
        let error = array.read::<u8>(&Hyperslab::all()).unwrap_err();
        assert_eq!((error.kind(), later.requests_in_flight()), (ErrorKind::NotFound("archive"), 0), "{name}");
        later.put("zip", &bytes);
        later.reset();
        later.break_after(2);
        let error = array.read::<u8>(&Hyperslab::all()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Callback(-299), "{name}");
        assert_eq!(later.requests_in_flight(), 0, "{name}");
    }
}
