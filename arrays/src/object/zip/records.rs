//! What a zip file's directory, and the header before an entry's data, say of the entry.
//!
//! The format is that of APPNOTE 6.3.10: the directory's records in section 4.3.12, the local header in 4.3.7, the
//! extra field of zip64 in 4.5.3.

use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// An error of a zip file that breaks the rules.
pub(super) fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: "zip", reason }.into()
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|chunk| u16::from_le_bytes(*chunk))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|chunk| u32::from_le_bytes(*chunk))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

/// How many bytes a record of the directory has before the name.
const RECORD: usize = 46;
/// How many bytes a local header has before the name.
pub(super) const LOCAL: usize = 30;

const RECORD_SIGNATURE: u32 = 0x0201_4b50;
const LOCAL_SIGNATURE: u32 = 0x0403_4b50;
/// Where a signature of the directory begins, with which nobody signs any more.
const DIGITAL_SIGNATURE: u32 = 0x0505_4b50;

/// A number that stands in the extra field of zip64 instead.
const ELSEWHERE: u32 = u32::MAX;

/// How an entry's data are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    Stored,
    Deflated,
}

/// What the directory says of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Record<'d> {
    pub(super) name: &'d [u8],
    flags: u16,
    method: u16,
    pub(super) crc: u32,
    /// How many bytes the data have in the file.
    pub(super) stored: u64,
    /// How many bytes the object has.
    pub(super) len: u64,
    /// Where the local header is in the archive.
    pub(super) header: u64,
}

impl<'d> Record<'d> {
    /// The record at an offset in the directory, and where the next one is; `None` at the end.
    pub(super) fn read(directory: &'d [u8], at: usize) -> Result<Option<(Self, usize)>> {
        let bytes = directory.get(at..).unwrap_or_default();
        match u32_at(bytes, 0) {
            None if bytes.is_empty() => return Ok(None),
            Some(DIGITAL_SIGNATURE) => return Ok(None),
            Some(RECORD_SIGNATURE) => {}
            _ => return Err(corrupt("its central directory has an invalid entry")),
        }
        let short = || corrupt("its central directory ends within an entry");
        let fixed = bytes.first_chunk::<RECORD>().ok_or_else(short)?;
        let u16_of = |at: usize| u16_at(fixed, at).unwrap_or_default();
        let u32_of = |at: usize| u32_at(fixed, at).unwrap_or_default();
        let extra_begin = RECORD + usize::from(u16_of(28));
        let comment = extra_begin + usize::from(u16_of(30));
        let end = comment + usize::from(u16_of(32));
        if end > bytes.len() {
            return Err(short());
        }
        let (stored, len, header) = (u32_of(20), u32_of(24), u32_of(42));
        let mut record = Record {
            name: &bytes[RECORD..extra_begin],
            flags: u16_of(8),
            method: u16_of(10),
            crc: u32_of(16),
            stored: stored.into(),
            len: len.into(),
            header: header.into(),
        };
        if [stored, len, header].contains(&ELSEWHERE) {
            // Those that are not in the record follow one another.
            if let Some(zip64) = zip64_field(&bytes[extra_begin..comment]) {
                let mut at = 0;
                for (said, number) in
                    [(len, &mut record.len), (stored, &mut record.stored), (header, &mut record.header)]
                {
                    if said == ELSEWHERE {
                        *number = u64_at(zip64, at).ok_or_else(|| corrupt("an entry lacks a number of zip64"))?;
                        at += 8;
                    }
                }
            }
        }
        Ok(Some((record, at + end)))
    }

    /// How the data are stored.
    ///
    /// # Errors
    /// `Unsupported` with the name of another method.
    pub(super) fn method(&self) -> Result<Method> {
        // Encrypted, strongly encrypted, masked.
        if self.flags & 0b0010_0000_0100_0001 != 0 {
            return Err(ErrorKind::Unsupported("encrypted zip entries").into());
        }
        let name = match self.method {
            0 if self.stored != self.len => {
                return Err(corrupt("a stored entry has different compressed and uncompressed sizes"));
            }
            0 => return Ok(Method::Stored),
            8 => return Ok(Method::Deflated),
            9 => "zip entries compressed with deflate64",
            12 => "zip entries compressed with bzip2",
            14 => "zip entries compressed with lzma",
            20 | 93 => "zip entries compressed with zstd",
            95 => "zip entries compressed with xz",
            98 => "zip entries compressed with ppmd",
            _ => "zip entries with an unknown compression method",
        };
        Err(ErrorKind::Unsupported(name).into())
    }
}

/// The extra field of zip64 among an entry's extra fields.
fn zip64_field(mut extra: &[u8]) -> Option<&[u8]> {
    loop {
        let (kind, size) = (u16_at(extra, 0)?, u16_at(extra, 2)?);
        let (field, rest) = extra.get(4..)?.split_at_checked(size.into())?;
        if kind == 1 {
            return Some(field);
        }
        extra = rest;
    }
}

/// How many bytes a local header has, given as many of them as there are or are known. Its extra fields need not be
/// those of the directory.
pub(super) fn local_len(header: &[u8], name: &[u8]) -> Result<u32> {
    if u32_at(header, 0) != Some(LOCAL_SIGNATURE) {
        return Err(corrupt("an entry is not where the central directory says"));
    }
    let lengths = u16_at(header, 26).zip(u16_at(header, 28));
    let (name_len, extra_len) = lengths.ok_or_else(|| corrupt("the file ends within an entry's header"))?;
    if header.get(LOCAL..LOCAL + usize::from(name_len)) != Some(name) {
        return Err(corrupt("an entry has a name other than the central directory says"));
    }
    Ok(LOCAL as u32 + u32::from(name_len) + u32::from(extra_len))
}

/// An entry that is to be written, stored as it is.
pub(super) struct New<'n> {
    pub(super) name: &'n str,
    pub(super) crc: u32,
    pub(super) len: u64,
    pub(super) header: u64,
}

impl New<'_> {
    /// The 26 bytes that the local header and the directory's record have in common, from the version on that it takes
    /// to read the entry. The date is the first that there is, so that the same objects make the same file.
    fn common(&self, extra_len: u16) -> [u8; 26] {
        let mut bytes = [0; 26];
        let mut put = |at: usize, field: &[u8]| bytes[at..][..field.len()].copy_from_slice(field);
        put(0, &if extra_len > 0 { 45u16 } else { 20 }.to_le_bytes());
        // The name is UTF-8.
        put(2, &if self.name.is_ascii() { 0u16 } else { 1 << 11 }.to_le_bytes());
        put(8, &0x21u16.to_le_bytes());
        put(10, &self.crc.to_le_bytes());
        let len = u32::try_from(self.len).unwrap_or(ELSEWHERE).to_le_bytes();
        put(14, &len);
        put(18, &len);
        // The writer has refused longer names.
        put(22, &(self.name.len() as u16).to_le_bytes());
        put(24, &extra_len.to_le_bytes());
        bytes
    }

    /// Whether the length is too large for its place.
    fn is_long(&self) -> bool {
        self.len >= ELSEWHERE.into()
    }

    /// Adds the local header to some bytes.
    pub(super) fn add_local(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let mut put = |field: &[u8]| alloc::extend(bytes, field);
        put(&LOCAL_SIGNATURE.to_le_bytes())?;
        put(&self.common(if self.is_long() { 20 } else { 0 }))?;
        put(self.name.as_bytes())?;
        if self.is_long() {
            put(&[1, 0, 16, 0])?;
            put(&self.len.to_le_bytes())?;
            put(&self.len.to_le_bytes())?;
        }
        Ok(())
    }

    /// Adds the directory's record to some bytes.
    pub(super) fn add_record(&self, bytes: &mut Vec<u8>) -> Result<()> {
        let mut put = |field: &[u8]| alloc::extend(bytes, field);
        let is_far = self.header >= ELSEWHERE.into();
        let numbers = if self.is_long() { 16 } else { 0 } + if is_far { 8 } else { 0 };
        let extra_len = if numbers > 0 { 4 + numbers } else { 0 };
        put(&RECORD_SIGNATURE.to_le_bytes())?;
        // Made on Unix, with what the file's permissions are there.
        put(&[45, 3])?;
        put(&self.common(extra_len))?;
        put(&[0; 6])?;
        put(&(0o100_644u32 << 16).to_le_bytes())?;
        put(&u32::try_from(self.header).unwrap_or(ELSEWHERE).to_le_bytes())?;
        put(self.name.as_bytes())?;
        if numbers > 0 {
            put(&[1, 0, numbers as u8, 0])?;
            if self.is_long() {
                put(&self.len.to_le_bytes())?;
                put(&self.len.to_le_bytes())?;
            }
            if is_far {
                put(&self.header.to_le_bytes())?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_with_numbers_of_any_size() {
        let large = [0, 1, u64::from(ELSEWHERE) - 1, u64::from(ELSEWHERE), 1 << 40];
        for (len, header) in large.iter().flat_map(|&len| large.map(|header| (len, header))) {
            let new = New { name: "a/\u{e4}", crc: 7, len, header };
            let (mut directory, mut local) = (Vec::new(), Vec::new());
            new.add_record(&mut directory).unwrap();
            new.add_local(&mut local).unwrap();
            let (record, next) = Record::read(&directory, 0).unwrap().unwrap();
            assert_eq!((record.crc, record.len, record.stored, record.header), (7, len, len, header));
            assert_eq!((record.name, next), (new.name.as_bytes(), directory.len()));
            assert_eq!(record.method(), Ok(Method::Stored));
            assert_eq!(Record::read(&directory, next), Ok(None));
            assert_eq!(local_len(&local, record.name), Ok(local.len() as u32));
            assert!(local_len(&local, b"other").is_err());
            (1..next).for_each(|end| assert!(Record::read(&directory[..end], 0).is_err()));
            (0..34).for_each(|end| assert!(local_len(&local[..end], record.name).is_err()));
        }
    }

    #[test]
    fn other_methods_are_refused_by_name() {
        let refused = |flags, method| {
            let record = Record { name: b"", flags, method, crc: 0, stored: 0, len: 0, header: 0 };
            record.method().unwrap_err().to_string()
        };
        for (method, name) in [
            (9, "deflate64"),
            (12, "bzip2"),
            (14, "lzma"),
            (20, "zstd"),
            (93, "zstd"),
            (95, "xz"),
            (98, "ppmd"),
            (1, "an unknown compression method"),
        ] {
            assert!(refused(0, method).ends_with(&format!("with {name}")), "{method}");
        }
        for flag in [1, 1 << 6, 1 << 13] {
            assert!(refused(flag, 8).contains("encrypted"), "{flag}");
        }
        // All other flags are of no account.
        let flags = !(1 | 1 << 6 | 1 << 13);
        let record = Record { name: b"", flags, method: 8, crc: 0, stored: 0, len: 1, header: 0 };
        assert_eq!(record.method(), Ok(Method::Deflated));
        let error = Record { method: 0, ..record }.method().unwrap_err();
        assert_eq!(error, corrupt("a stored entry has different compressed and uncompressed sizes"));
    }

    #[test]
    fn records_have_the_bytes_of_the_format() {
        const DATE: [u8; 4] = [0, 0, 0x21, 0];
        let of = |name, len, header| {
            let new = New { name, crc: 0x0403_0201, len, header };
            let (mut record, mut local) = (Vec::new(), Vec::new());
            new.add_record(&mut record).unwrap();
            new.add_local(&mut local).unwrap();
            (record, local)
        };
        let fields = |parts: &[&[u8]]| parts.concat();
        let (record, local) = of("ab", 5, 7);
        let sizes = [1, 2, 3, 4, 5, 0, 0, 0, 5, 0, 0, 0, 2, 0, 0, 0];
        assert_eq!(local, fields(&[b"PK\x03\x04", &[20, 0, 0, 0, 0, 0], &DATE, &sizes, b"ab"]));
        let behind = [0, 0, 0, 0, 0, 0, 0, 0, 0xa4, 0x81, 7, 0, 0, 0];
        assert_eq!(record, fields(&[b"PK\x01\x02", &[45, 3], &[20, 0, 0, 0, 0, 0], &DATE, &sizes, &behind, b"ab"]));
        let (len, header) = (1u64 << 32, 1u64 << 33);
        let (record, local) = of("\u{e4}", len, header);
        let name = "\u{e4}".as_bytes();
        let sizes = [1, 2, 3, 4, 255, 255, 255, 255, 255, 255, 255, 255, 2, 0];
        let numbers = fields(&[&len.to_le_bytes(), &len.to_le_bytes()]);
        let common = fields(&[&[45, 0, 0, 8, 0, 0], &DATE, &sizes]);
        assert_eq!(local, fields(&[b"PK\x03\x04", &common, &[20, 0], name, &[1, 0, 16, 0], &numbers]));
        let behind = [28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xa4, 0x81, 255, 255, 255, 255];
        let extra = fields(&[&[1, 0, 24, 0], &numbers, &header.to_le_bytes()]);
        assert_eq!(record, fields(&[b"PK\x01\x02", &[45, 3], &common, &behind, name, &extra]));
    }

    #[test]
    fn the_numbers_of_zip64_are_found_behind_other_fields() {
        let mut directory = Vec::new();
        New { name: "ab", crc: 0, len: 1 << 32, header: 7 }.add_record(&mut directory).unwrap();
        let other = [9, 0, 3, 0, 1, 0, 1];
        directory.splice(RECORD + 2..RECORD + 2, other);
        directory[30] += other.len() as u8;
        // A comment follows.
        directory.extend(b"words");
        directory[32] = 5;
        let (record, next) = Record::read(&directory, 0).unwrap().unwrap();
        assert_eq!((record.len, record.stored, record.header, next), (1 << 32, 1 << 32, 7, directory.len()));
        directory[RECORD + 2 + 7 + 2] = 15;
        assert!(Record::read(&directory, 0).is_err());
    }

    #[test]
    fn a_signature_ends_the_directory() {
        assert_eq!(Record::read(b"PK\x05\x05\0\0", 0), Ok(None));
        assert!(Record::read(b"PK\x06\x05\0\0", 0).is_err());
    }
}
