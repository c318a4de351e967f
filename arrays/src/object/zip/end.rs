//! Where a zip file's directory is, as the records at the file's end say.
//!
//! The format is that of APPNOTE 6.3.10: the end record in section 4.3.16, the zip64 end record in 4.3.14, its locator
//! in 4.3.15.

use super::records::{corrupt, u16_at, u32_at, u64_at};
use crate::error::{ErrorKind, Result};

/// How many bytes the end record has before its comment.
const END: usize = 22;
/// How many bytes the zip64 end record has, without data of others.
const ZIP64_END: usize = 56;
/// How many bytes the locator of the zip64 end record has.
const LOCATOR: usize = 20;

/// So many bytes at the end of a file hold all of the records, also below the longest comment.
pub(super) const TAIL: usize = END + 0xffff + ZIP64_END + LOCATOR;

/// Where the directory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    /// Where in the file it begins.
    pub(super) begin: u64,
    pub(super) size: u64,
    /// How many entries it has; of a file without zip64 records, their number modulo 2^16.
    pub(super) num_entries: u64,
    pub(super) is_zip64: bool,
    /// How many bytes come before the archive: what is to be added to all offsets.
    pub(super) base: u64,
}

/// Finds the directory, given the last bytes of a file of `len` bytes: [`TAIL`] of them, or all.
///
/// What precedes the archive, such as a program that unpacks it, moves all by so many bytes as the directory, which
/// ends where the end record begins, is from where it says that it is.
pub(super) fn find(tail: &[u8], len: u64) -> Result<Directory> {
    let tail_begin = len.saturating_sub(tail.len() as u64);
    let candidates =
        || (0..tail.len().saturating_sub(END - 1)).rev().filter(|&at| u32_at(tail, at) == Some(END_RECORD));
    // A comment may hold what looks like an end record: the one whose comment ends the file comes first.
    let comment_end = |at: usize| at + END + u16_at(tail, at + 20).map_or(0, usize::from);
    let exact = candidates().find(|&at| comment_end(at) == tail.len());
    let at = exact.or_else(|| candidates().find(|&at| comment_end(at) < tail.len()));
    read(tail, at.ok_or(ErrorKind::UnknownFormat)?, tail_begin)
}

const END_RECORD: u32 = 0x0605_4b50;
const ZIP64_END_RECORD: u32 = 0x0606_4b50;
const LOCATOR_RECORD: u32 = 0x0706_4b50;

/// Reads the end record at an offset in the tail.
fn read(tail: &[u8], at: usize, tail_begin: u64) -> Result<Directory> {
    let zip64 = find_zip64(tail, at, tail_begin);
    let field = |from: usize| u32_at(tail, at + from);
    let (disks, num_entries, size, begin) = match zip64 {
        Some(at) => (u64_at(tail, at + 16), u64_at(tail, at + 32), u64_at(tail, at + 40), u64_at(tail, at + 48)),
        None => {
            let num_entries = u16_at(tail, at + 10).map(u64::from);
            (field(4).map(u64::from), num_entries, field(12).map(u64::from), field(16).map(u64::from))
        }
    };
    let (Some(disks), Some(num_entries), Some(size), Some(said)) = (disks, num_entries, size, begin) else {
        return Err(corrupt("its end of central directory record is truncated"));
    };
    if disks != 0 {
        return Err(ErrorKind::Unsupported("multi-part zip files").into());
    }
    let end = tail_begin + zip64.unwrap_or(at) as u64;
    let begin = end.checked_sub(size).ok_or_else(|| corrupt("its central directory is larger than the file"))?;
    let base =
        begin.checked_sub(said).ok_or_else(|| corrupt("its central directory is not where the end record says"))?;
    Ok(Directory { begin, size, num_entries, is_zip64: zip64.is_some(), base })
}

/// Where the zip64 end record is, if the locator before the end record tells of one: before the locator, where all
/// writers put it.
fn find_zip64(tail: &[u8], end: usize, tail_begin: u64) -> Option<usize> {
    let locator = end.checked_sub(LOCATOR).filter(|&at| u32_at(tail, at) == Some(LOCATOR_RECORD))?;
    let is_record = |at: usize| {
        let record = tail.get(at..locator).unwrap_or_default();
        // The size is that of what follows it.
        record.len() >= ZIP64_END
            && u32_at(record, 0) == Some(ZIP64_END_RECORD)
            && u64_at(record, 4) == Some(record.len() as u64 - 12)
    };
    // The record may hold data of others, and is longer then.
    let said = || usize::try_from(u64_at(tail, locator + 8)?.checked_sub(tail_begin)?).ok();
    let adjacent = locator.checked_sub(ZIP64_END).filter(|&at| is_record(at));
    adjacent.or_else(|| said().filter(|&at| is_record(at)))
}

/// The records at the end of a file whose directory, of so many entries, lies at `begin..end`. The zip64 records are
/// there only where the numbers ask for them, or else the result's first part is empty.
pub(super) fn write(begin: u64, end: u64, num_entries: u64) -> ([u8; ZIP64_END + LOCATOR], bool, [u8; END]) {
    let size = end - begin;
    let is_zip64 = num_entries >= 0xffff || size >= 0xffff_ffff || begin >= 0xffff_ffff;
    let mut zip64 = [0; ZIP64_END + LOCATOR];
    let mut put = |at: usize, bytes: &[u8]| zip64[at..][..bytes.len()].copy_from_slice(bytes);
    put(0, &ZIP64_END_RECORD.to_le_bytes());
    put(4, &(ZIP64_END as u64 - 12).to_le_bytes());
    // Made by, and needed to extract: version 4.5.
    put(12, &[45, 3, 45, 0]);
    put(24, &num_entries.to_le_bytes());
    put(32, &num_entries.to_le_bytes());
    put(40, &size.to_le_bytes());
    put(48, &begin.to_le_bytes());
    put(56, &LOCATOR_RECORD.to_le_bytes());
    put(64, &end.to_le_bytes());
    put(72, &1u32.to_le_bytes());
    let mut record = [0; END];
    let mut put = |at: usize, bytes: &[u8]| record[at..][..bytes.len()].copy_from_slice(bytes);
    let short = u16::try_from(num_entries).unwrap_or(u16::MAX).to_le_bytes();
    put(0, &END_RECORD.to_le_bytes());
    put(8, &short);
    put(10, &short);
    put(12, &u32::try_from(size).unwrap_or(u32::MAX).to_le_bytes());
    put(16, &u32::try_from(begin).unwrap_or(u32::MAX).to_le_bytes());
    (zip64, is_zip64, record)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The end of a file whose directory has 100 bytes and begins, without what is before the archive, at 50.
    fn tail(zip64: bool, comment: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 150];
        let (long, _, mut record) = write(50, 150, 3);
        record[20..].copy_from_slice(&(comment.len() as u16).to_le_bytes());
        if zip64 {
            bytes.extend(long);
        }
        bytes.extend(record);
        bytes.extend(comment);
        bytes
    }

    #[test]
    fn the_directory_is_found_below_comments_and_behind_other_bytes() {
        let false_record = tail(false, b"")[150..].to_vec();
        let comments: [&[u8]; 4] = [b"", b"words", &[b'P'; 0xffff], &[&b"PK"[..], &false_record, b"more"].concat()];
        for comment in comments {
            for (is_zip64, before) in [(false, 0), (false, 7), (true, 0), (true, 7)] {
                let tail = [vec![1; before], tail(is_zip64, comment)].concat();
                let base = before as u64;
                let expected = Directory { begin: 50 + base, size: 100, num_entries: 3, is_zip64, base };
                assert_eq!(find(&tail, tail.len() as u64), Ok(expected));
                let expected = Directory { begin: 1050 + base, base: 1000 + base, ..expected };
                assert_eq!(find(&tail, tail.len() as u64 + 1000), Ok(expected));
            }
        }
        let followed = [tail(false, b""), b"and more".to_vec()].concat();
        assert_eq!(find(&followed, followed.len() as u64).unwrap().begin, 50);
    }

    #[test]
    fn zip64_records_are_written_where_numbers_ask_for_them() {
        for (begin, end, num_entries, is_due) in [
            (0, 0, 0xfffe, false),
            (0, 0, 0xffff, true),
            (1, 0xffff_ffff, 0, false),
            (1, 0x1_0000_0000, 0, true),
            (0xffff_fffe, 0xffff_ffff, 0, false),
            (0xffff_ffff, 0xffff_ffff, 0, true),
        ] {
            let (long, is_zip64, short) = write(begin, end, num_entries);
            assert_eq!(is_zip64, is_due, "{begin} {end} {num_entries}");
            let tail = [if is_zip64 { &long[..] } else { &[] }, &short].concat();
            let expected = Directory { begin, size: end - begin, num_entries, is_zip64, base: 0 };
            assert_eq!(find(&tail, end + tail.len() as u64), Ok(expected));
        }
    }

    #[test]
    fn a_zip64_record_may_be_longer() {
        const MORE: usize = 10;
        let mut bytes = tail(true, b"");
        bytes.splice(150 + ZIP64_END..150 + ZIP64_END, [7; MORE]);
        bytes[150 + 4] += MORE as u8;
        let found = |bytes: &[u8]| find(bytes, bytes.len() as u64).map(|found| (found.is_zip64, found.num_entries));
        assert_eq!(found(&bytes), Ok((true, 3)));
        let mut behind = bytes.clone();
        behind[150 + ZIP64_END + MORE + 8..][..8].copy_from_slice(&1150u64.to_le_bytes());
        let expected = Directory { begin: 1050, size: 100, num_entries: 3, is_zip64: true, base: 1000 };
        assert_eq!(find(&behind, behind.len() as u64 + 1000), Ok(expected));
        // One that does not end at its locator, is too short, or does not begin so, is none.
        for (at, byte) in [(150, b'p'), (150 + 4, 43 + MORE as u8), (150 + 5, 1), (150 + 4, 0)] {
            let mut bad = bytes.clone();
            bad[at] = byte;
            assert!(!matches!(found(&bad), Ok((true, _))), "{at}");
        }
        let mut short = tail(true, b"");
        let locator = 150 + ZIP64_END;
        short[locator - 40..][..12].copy_from_slice(&[b'P', b'K', 6, 6, 28, 0, 0, 0, 0, 0, 0, 0]);
        short[150] = 0;
        // Nor is one that is too short, is not in front of its locator, or lies beyond all memory.
        let places = [locator - 40, locator - 1, locator, locator + 1, short.len(), usize::MAX - 4, usize::MAX];
        for at in places.map(|at| at as u64).into_iter().chain([u64::MAX - 12, u64::MAX]) {
            short[locator + 8..][..8].copy_from_slice(&at.to_le_bytes());
            assert!(!matches!(found(&short), Ok((true, _))), "{at}");
        }
    }

    #[test]
    fn files_in_several_parts_are_refused() {
        for (is_zip64, at) in [(false, 4), (false, 6), (true, 16), (true, 20)] {
            let mut bytes = tail(is_zip64, b"");
            bytes[150 + at] = 1;
            let error = find(&bytes, bytes.len() as u64).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Unsupported("multi-part zip files"));
        }
    }

    #[test]
    fn what_is_no_zip_file_is_known() {
        let unknown = |bytes: &[u8]| find(bytes, bytes.len() as u64).unwrap_err().kind() == ErrorKind::UnknownFormat;
        assert!(unknown(b"") && unknown(b"PK\x05\x06") && unknown(&[0; 100]));
        let mut large = tail(false, b"");
        large[150 + 12] = 151;
        assert!(find(&large, large.len() as u64).is_err());
    }
}
