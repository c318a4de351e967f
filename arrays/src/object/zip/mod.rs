//! Zip files: reading the entries of one, stored or deflated.
//!
//! The file's directory is read once, in one request if it is short and else in two. The header before an entry's data
//! is read together with the data, or by itself where these are long; from then on it is known where they begin.
//!
//! Where reads of the storage that the file is in are in flight, so are those of entries: the header with the data,
//! unless these are far behind it, and all of a deflated entry.
//!
//! The records are decoded here and not by a crate, for those box their errors, also those of tries, in ways that end
//! the process where memory is short, and do not find zip64 records behind bytes that precede the archive. In the tests
//! `rawzip` is the judge.
#![allow(unsafe_code)]

mod end;
mod index;
mod records;
mod writer;

use std::path::Path;

use self::index::{EntryPosition, Index};
use self::records::corrupt;
use self::records::{LOCAL, Method, Record};
pub use self::writer::ZipWriter;
use super::byte_range::ByteRange;
use super::file::OneFile;
use super::flight::Limits;
use super::traits::{Entry, Found, ObjectStore, Route, check_name, check_prefix, latency};
use super::whole::filled;
use crate::alloc::{self, Scratch};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{ObjectState, Versions};
use crate::pass_on;
use crate::pool::{Lease, Pool};
use crate::zstream::{Inflater, crc32, crc32_of_more};

/// How many bytes of extra fields a header is read with: more than writers put there.
const EXTRA: usize = 64;
/// An entry's header is read with its data if no more than this lies between them.
const HEADER_GAP: usize = 64 << 10;
/// The most that is read of deflated data at a time.
const PIECE: usize = 1 << 20;
/// The most that is decoded at a time of what comes before the bytes that are asked for.
const SKIPPED: usize = 32 << 10;
/// The most of a deflated entry that is read in flight.
const MOST_DEFLATED: u64 = if cfg!(test) { 4 << 10 } else { 16 << 20 };
/// The version of all entries, for the file does not change.
const VERSION: u128 = 1;
/// What is said of deflated data that no decoder takes.
const NOT_DEFLATED: &str = "the entry's deflated data is corrupt";

/// The entries of a zip file, which is a file or an object of another storage.
///
/// - If several entries have the same name, the last one counts.
/// - An entry that is read as a whole is verified by its checksum. Reading a part of a deflated entry decodes
///   everything before that part, so read such entries as a whole. Their length is taken from the central directory; a
///   wrong length is found only when the whole entry is read.
/// - Entries with names that no object can have, such as those of directories, are left out.
/// - The file must not change while it is open. If another file replaces it, reads fail.
pub struct Zip<O> {
    objects: O,
    name: String,
    /// How many bytes precede the archive.
    base: u64,
    index: Index,
    inflaters: Pool<Box<Inflater>>,
    scratches: Pool<Scratch>,
}

/// What has been read of the file before it is needed, from this position on.
#[derive(Clone, Copy)]
struct Ahead<'a>(u64, &'a [u8]);

/// Nothing.
const NOT_AHEAD: Ahead<'static> = Ahead(0, &[]);

impl Ahead<'_> {
    /// So many bytes at a position, if all of them are there.
    fn get(&self, at: u64, len: usize) -> Option<&[u8]> {
        let begin = usize::try_from(at.checked_sub(self.0)?).ok()?;
        self.1.get(begin..begin.checked_add(len)?)
    }
}

impl Zip<OneFile> {
    /// Opens a zip file, which is kept open.
    ///
    /// # Errors
    /// `UnknownFormat` for a file that is not a zip file, `Corrupt` for a malformed one, `Unsupported` for a multi-part
    /// one; `OutOfMemory`, and those of the system.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let file = OneFile::open(path)?;
        Self::new(file, OneFile::NAME).map_err(|error| error.in_object(path.display()))
    }
}

impl<O: ObjectStore> Zip<O> {
    /// Opens a zip file that is an object of a storage.
    ///
    /// # Errors
    /// Those of [`open`](Zip::open), and `NotFound`.
    pub fn within(objects: O, name: &str) -> Result<Self> {
        Self::new(objects, name).map_err(|error| error.in_object(name))
    }

    fn new(objects: O, name: &str) -> Result<Self> {
        let mut scratch = Scratch::EMPTY;
        let mut tail = Buffer::new(scratch.room(end::TAIL)?);
        let len = objects.read(name, ByteRange::BeforeEnd(end::TAIL as u64), &mut tail)?;
        let len = len.ok_or(ErrorKind::NotFound("zip file"))?;
        let tail = tail.filled();
        let said = end::find(tail, len)?;
        let in_tail = said.begin.checked_sub(len - (tail.len() as u64).min(len));
        let directory = match in_tail.and_then(|begin| usize::try_from(begin).ok()) {
            // The directory ends before the end record, which is in the tail.
            Some(begin) => {
                let size = usize::try_from(said.size).unwrap_or(usize::MAX);
                let directory = tail.get(begin..).and_then(|rest| rest.get(..size));
                alloc::copied(directory.ok_or_else(beyond)?)?
            }
            None => read_directory(&objects, name, &said)?,
        };
        let index = Index::new(directory, &said)?;
        let name = alloc::text(name)?;
        let (inflaters, scratches) = (Pool::new(), Pool::new());
        Ok(Zip { objects, name, base: said.base, index, inflaters, scratches })
    }

    /// Reads from the file at an offset into an empty buffer.
    fn fill(&self, at: u64, buffer: &mut Buffer<'_>, ahead: Ahead<'_>) -> Result<()> {
        if let Some(bytes) = ahead.get(at, buffer.capacity()) {
            buffer.write(bytes);
            return Ok(());
        }
        let len = self.objects.read(&self.name, ByteRange::At(at), buffer)?;
        len.map(drop).ok_or_else(|| ErrorKind::NotFound("zip file").into())
    }

    /// Reads from the file at an offset: this many bytes, or fewer at its end.
    fn load<'s>(&self, at: u64, len: usize, scratch: &'s mut Scratch, ahead: Ahead<'s>) -> Result<&'s [u8]> {
        let mut buffer = Buffer::new(scratch.room(len)?);
        self.fill(at, &mut buffer, ahead)?;
        let len = buffer.filled().len();
        // SAFETY: the buffer over this memory says that so many bytes have been written.
        Ok(unsafe { scratch.filled(len) })
    }

    /// Where an entry's header is in the file.
    fn header(&self, record: &Record<'_>) -> Result<u64> {
        self.base.checked_add(record.header).ok_or_else(beyond)
    }

    /// Where an entry's data begin in the file. The header is read unless that is known.
    fn data(&self, entry: &EntryPosition, record: &Record<'_>, scratch: &mut Scratch, ahead: Ahead<'_>) -> Result<u64> {
        let header = self.header(record)?;
        let len = match entry.header_len() {
            Some(len) => len,
            None => {
                let len =
                    records::local_len(self.load(header, LOCAL + record.name.len(), scratch, ahead)?, record.name)?;
                entry.set_header_len(len);
                len
            }
        };
        header.checked_add(len.into()).ok_or_else(beyond)
    }

    /// An entry's data from `offset` on: `len` bytes of those it has, or fewer. Those before are read as well, and the
    /// header, if it is not known how long that is. If it is longer than was expected there may be no data with it.
    fn data_with_header<'s>(
        &self,
        (entry, record): (&EntryPosition, &Record<'_>),
        offset: u64,
        len: usize,
        scratch: &'s mut Scratch,
        ahead: Ahead<'s>,
    ) -> Result<&'s [u8]> {
        if entry.header_len().is_some() {
            let at = self.data(entry, record, scratch, ahead)?.checked_add(offset).ok_or_else(beyond)?;
            return self.load(at, len, scratch, ahead);
        }
        let offset = usize::try_from(offset).map_err(|_| ErrorKind::OutOfMemory)?;
        let before = LOCAL + record.name.len() + EXTRA + offset;
        let bytes = self.load(self.header(record)?, before.saturating_add(len), scratch, ahead)?;
        let header_len = records::local_len(bytes, record.name)?;
        entry.set_header_len(header_len);
        let data = bytes.get(header_len as usize + offset..).unwrap_or_default();
        Ok(&data[..data.len().min(len)])
    }

    /// Reads `wanted` bytes of a stored entry, more than none.
    fn read_stored(
        &self,
        entry: &EntryPosition,
        record: &Record<'_>,
        offset: u64,
        wanted: usize,
        buffer: &mut Buffer<'_>,
        ahead: Ahead<'_>,
    ) -> Result<()> {
        let mut scratch = Lease::new(&self.scratches, || Ok::<_, Error>(Scratch::EMPTY))?;
        // To copy bytes costs a fraction of what it costs to read them.
        let gap = self.objects.gap().min(HEADER_GAP);
        if entry.header_len().is_none() && offset <= gap as u64 && wanted <= 4 * gap {
            buffer.write(self.data_with_header((entry, record), offset, wanted, &mut scratch, ahead)?);
        }
        let filled = buffer.filled().len();
        if filled < wanted {
            let at = self
                .data(entry, record, &mut scratch, ahead)?
                .checked_add(offset + filled as u64)
                .ok_or_else(beyond)?;
            let mut rest = buffer.rest_up_to(wanted - filled);
            self.fill(at, &mut rest, ahead)?;
            if rest.filled().len() < wanted - filled {
                return Err(beyond());
            }
            // SAFETY: the first `filled` bytes were there, and those behind them are what the rest says it has.
            unsafe { buffer.set_filled(wanted) };
        }
        Ok(())
    }

    /// Reads `wanted` bytes of a deflated entry, more than none; if these reach to its end, also whether there are
    /// more. Returns the checksum of all that was decoded.
    fn read_deflated(
        &self,
        entry: &EntryPosition,
        record: &Record<'_>,
        offset: u64,
        wanted: usize,
        buffer: &mut Buffer<'_>,
        ahead: Ahead<'_>,
    ) -> Result<u32> {
        let mut scratch = Lease::new(&self.scratches, || Ok::<_, Error>(Scratch::EMPTY))?;
        let mut skipped = Lease::new(&self.scratches, || Ok::<_, Error>(Scratch::EMPTY))?;
        let mut inflater = Lease::new(&self.inflaters, Inflater::new)?;
        inflater.begin(false);
        let mut to_skip = offset;
        let (mut taken, mut is_end) = (0u64, false);
        // Deflated data are hardly longer than what they decode to, so that few bytes too many are read.
        let end = offset.saturating_add(wanted as u64);
        let piece = end.saturating_add(end >> 10).saturating_add(1 << 10).min(PIECE as u64);
        let (is_all, mut crc) = (end == record.len, 0);
        while !is_end {
            // At most `PIECE`.
            let len = (record.stored - taken).min(piece) as usize;
            let is_header_known = entry.header_len().is_some();
            let mut input = self.data_with_header((entry, record), taken, len, &mut scratch, ahead)?;
            if input.is_empty() {
                if !is_header_known {
                    continue;
                }
                return Err(if len == 0 { corrupt("the entry's deflated data is truncated") } else { beyond() });
            }
            taken += input.len() as u64;
            while !is_end {
                let filled = buffer.filled().len();
                let is_filled = to_skip == 0 && filled == wanted;
                if is_filled && !is_all {
                    return Ok(crc);
                }
                let step = if to_skip > 0 {
                    let most = to_skip.min(SKIPPED as u64) as usize;
                    let mut passed = Buffer::new(skipped.room(most)?);
                    let step = inflater.step(input, &mut passed, most);
                    crc = crc32_of_more(crc, passed.filled());
                    step
                } else if is_filled {
                    inflater.step(input, &mut Buffer::new(skipped.room(1)?), 1)
                } else {
                    let step = inflater.step(input, buffer, wanted - filled);
                    crc = crc32_of_more(crc, buffer.filled().get(filled..).unwrap_or_default());
                    step
                };
                is_end = step.ended.map_err(|_| corrupt(NOT_DEFLATED))?;
                if is_filled && step.written > 0 {
                    return Err(corrupt("the entry is longer than the central directory says"));
                }
                to_skip = to_skip.saturating_sub(step.written as u64);
                input = input.get(step.taken..).unwrap_or_default();
                if step.taken == 0 && step.written == 0 {
                    break;
                }
            }
            if !is_end && !input.is_empty() {
                return Err(corrupt(NOT_DEFLATED));
            }
        }
        if buffer.filled().len() < wanted {
            return Err(corrupt("the entry is shorter than the central directory says"));
        }
        Ok(crc)
    }

    fn read_entry(
        &self,
        entry: &EntryPosition,
        record: &Record<'_>,
        begin: ByteRange,
        buffer: &mut Buffer<'_>,
        ahead: Ahead<'_>,
    ) -> Result<()> {
        let method = record.method()?;
        let offset = begin.offset(record.len);
        let wanted = usize::try_from(record.len - offset).unwrap_or(usize::MAX).min(buffer.capacity());
        let is_all = wanted as u64 == record.len;
        let crc = match method {
            _ if wanted == 0 => 0,
            Method::Stored => {
                self.read_stored(entry, record, offset, wanted, buffer, ahead)?;
                if is_all { crc32(buffer.filled()) } else { 0 }
            }
            Method::Deflated => self.read_deflated(entry, record, offset, wanted, buffer, ahead)?,
        };
        if is_all { check_crc(entry, record, crc) } else { Ok(()) }
    }

    /// Compares all data of an entry with its checksum, a piece of it at a time.
    fn verify_entry(&self, entry: &EntryPosition, record: &Record<'_>) -> Result<()> {
        let mut memory = Lease::new(&self.scratches, || Ok::<_, Error>(Scratch::EMPTY))?;
        let crc = match record.method()? {
            _ if record.len == 0 => 0,
            Method::Stored => {
                let (mut at, mut crc) = (0, 0);
                while at < record.len {
                    let len = (record.len - at).min(PIECE as u64) as usize;
                    let mut piece = Buffer::new(memory.room(len)?);
                    self.read_stored(entry, record, at, len, &mut piece, NOT_AHEAD)?;
                    crc = crc32_of_more(crc, piece.filled());
                    at += len as u64;
                }
                crc
            }
            // What comes before the last byte is decoded for it.
            Method::Deflated => {
                let mut last = Buffer::new(memory.room(1)?);
                self.read_deflated(entry, record, record.len - 1, 1, &mut last, NOT_AHEAD)?
            }
        };
        check_crc(entry, record, crc)
    }
}

/// Compares the checksum of all data of an entry.
fn check_crc(entry: &EntryPosition, record: &Record<'_>, crc: u32) -> Result<()> {
    if crc != record.crc {
        return Err(corrupt("the entry does not match its checksum"));
    }
    entry.set_verified();
    Ok(())
}

/// Reads a directory that is not at the end of the file.
fn read_directory(objects: &impl ObjectStore, name: &str, said: &end::Directory) -> Result<Vec<u8>> {
    let size = usize::try_from(said.size).map_err(|_| ErrorKind::OutOfMemory)?;
    let (directory, _) = filled(size, |buffer| objects.read(name, ByteRange::At(said.begin), buffer))?;
    if directory.len() < size {
        return Err(beyond());
    }
    Ok(directory)
}

/// The error of a part that lies beyond the file.
fn beyond() -> Error {
    corrupt("the file ends before an entry of its central directory")
}

impl<O: ObjectStore> ObjectStore for Zip<O> {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let mut read = || {
            check_name(name)?;
            let Some((entry, record)) = self.index.find(name)? else { return Ok(None) };
            self.read_entry(entry, &record, begin, buffer, NOT_AHEAD)?;
            Ok(Some(record.len))
        };
        read().map_err(|error: Error| error.in_object(name))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        Ok(self.read(name, begin, buffer)?.map(|len| (len, Some(VERSION))))
    }

    /// That of the file: an entry's holds as long as the file is open.
    fn lasting_version(&self, _: &str) -> Option<u128> {
        self.objects.lasting_version(&self.name)
    }

    fn versions(&self) -> Versions {
        Versions::Constant
    }

    fn verify(&self, name: &str) -> Result<()> {
        let verify = || {
            check_name(name)?;
            match self.index.find(name)? {
                Some((entry, record)) if !entry.is_verified() => self.verify_entry(entry, &record),
                _ => Ok(()),
            }
        };
        verify().map_err(|error: Error| error.in_object(name))
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        self.index.list(prefix, one)
    }

    fn list_all(&self, prefix: &str, one: &mut dyn FnMut(&str, Option<Entry>) -> Result<()>) -> Result<()> {
        self.list(prefix, &mut |last, entry| one(last, Some(entry)))?;
        self.index.list_left_out(prefix, &mut |rest| one(rest, None))
    }

    fn is_archive(&self) -> bool {
        true
    }

    pass_on! { self => self.objects; is_concurrent gap }

    fn routed_limits(&self) -> Option<Limits> {
        // What is read of the file is in memory beside what the caller has for the entry.
        latency(&self.objects).map(|limits| Limits { bytes: limits.bytes.map(|bytes| bytes / 2), ..limits })
    }

    fn route(&self, name: &str, begin: ByteRange, size: usize) -> Result<Route<'_>> {
        let route = || {
            check_name(name)?;
            let Some((entry, record)) = self.index.find(name)?.filter(|_| latency(&self.objects).is_some()) else {
                return Ok(Route::Own);
            };
            let (at, size) = match self.range(entry, &record, begin, size)? {
                Some((_, 0)) => return Ok(Route::Own),
                Some(range) => range,
                None => return Ok(Route::Alone),
            };
            let (store, name, begin) = (&self.objects, alloc::text(&self.name)?, ByteRange::At(at));
            Ok(Route::To { store, name, begin, size, found: Found::Packed })
        };
        route().map_err(|error: Error| error.in_object(name))
    }

    fn unpack(
        &self,
        name: &str,
        begin: ByteRange,
        (at, bytes): (u64, &[u8]),
        buffer: &mut Buffer<'_>,
    ) -> Result<Option<ObjectState>> {
        let (entry, record) = self.index.find(name)?.ok_or(ErrorKind::Internal)?;
        let has_header = at == self.header(&record)?;
        if has_header {
            entry.set_header_len(records::local_len(bytes, record.name)?);
        }
        let ahead = Ahead(at, bytes);
        let range = self.range(entry, &record, begin, buffer.capacity())?.ok_or(ErrorKind::Internal)?;
        if ahead.get(range.0, range.1).is_none() {
            // With the header it was not known where the data are.
            return if has_header { Ok(None) } else { Err(beyond()) };
        }
        self.read_entry(entry, &record, begin, buffer, ahead)?;
        Ok(Some((record.len, Some(VERSION))))
    }
}

impl<O: ObjectStore> Zip<O> {
    /// What is read of the file for an entry, from where on and how many bytes: its data, with its header, or the
    /// header alone, as long as it is not known how long that is. `None` for what is better decoded piece by piece.
    fn range(
        &self,
        entry: &EntryPosition,
        record: &Record<'_>,
        begin: ByteRange,
        size: usize,
    ) -> Result<Option<(u64, usize)>> {
        let (header, offset) = (self.header(record)?, begin.offset(record.len));
        let wanted = usize::try_from(record.len - offset).unwrap_or(usize::MAX).min(size);
        let (skipped, len) = match record.method()? {
            _ if wanted == 0 => return Ok(Some((header, 0))),
            Method::Stored => (offset, wanted as u64),
            Method::Deflated if record.stored > MOST_DEFLATED => return Ok(None),
            Method::Deflated => (0, record.stored),
        };
        let before = (LOCAL + record.name.len()) as u64;
        let (skipped, len) = match entry.header_len() {
            Some(before) => (skipped.checked_add(before.into()).ok_or_else(beyond)?, len),
            None if skipped <= self.objects.gap().min(HEADER_GAP) as u64 => (0, before + EXTRA as u64 + skipped + len),
            None => (0, before),
        };
        let at = header.checked_add(skipped).ok_or_else(beyond)?;
        Ok(Some((at, usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?)))
    }
}

#[cfg(all(test, not(miri)))]
mod tests;
