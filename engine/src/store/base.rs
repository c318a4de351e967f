//! The store itself: a reader, its codecs, and the memory that is kept between calls.

use super::chunk_reader::{ChunkReader, NOT_COUNTED, NOT_IN_OBJECTS};
use super::flight::InFlight;
use super::located::ChunkLocation;
use super::memory::{Memory, Workspace};
use super::request::{Filled, Request};
use super::zero_copy::ZeroCopyReader;
use crate::alloc::Slot;
use crate::buffer::Buffer;
use crate::cache::{Cache, Part};
use crate::codec::{self, Chain, Codec, InNumcodecs};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::limits::Limit;
use crate::plan::Plan;
use crate::variable::Variable;

/// So much memory is taken for a stored chunk before it is known how long it is.
const TAKEN_AT_ONCE: usize = 64 << 20;

/// The kinds of readers.
pub enum Reader<'r> {
    Lending(Box<dyn ZeroCopyReader + 'r>),
    /// One whose chunks are pointers to texts. They are for variables of texts, and those are for them.
    LendingTexts(Box<dyn ZeroCopyReader + 'r>),
    Filling(Box<dyn ChunkReader + 'r>),
}

/// A store: a reader, its codecs, and the memory that is kept between calls.
///
/// Several threads may use a store at the same time if its reader and codecs [may](Self::is_concurrent).
pub struct ChunkStore<'r> {
    pub(super) reader: Reader<'r>,
    codecs: Chain<'r>,
    /// The codecs of a write grid's chunks, if they are others.
    write_codecs: Chain<'r>,
    pub(super) verify: bool,
    /// How many bytes of memory a chunk may take: as it is stored, between codecs, and of what is decoded of it.
    pub(super) limit: Limit,
    is_read_only: bool,
    cache: Option<Part>,
    /// There is none as long as chunks are lent as they are.
    memory: Option<Box<Memory>>,
}

impl<'r> ChunkStore<'r> {
    /// A store with a zero-copy reader, which lends chunks.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn zero_copy(reader: impl ZeroCopyReader + 'r) -> Result<Self> {
        Ok(ChunkStore::of(Reader::Lending(Slot::new()?.fill(reader)), None))
    }

    /// A store whose chunks are lent and are pointers to texts, which what is written to them replaces.
    ///
    /// # Errors
    /// `OutOfMemory`.
    #[doc(hidden)]
    pub fn lending_texts(reader: impl ZeroCopyReader + 'r) -> Result<Self> {
        Ok(ChunkStore::of(Reader::LendingTexts(Slot::new()?.fill(reader)), None))
    }

    /// A store with a reader that fills chunks into buffers. A closure that takes a request and a
    /// [`Buffer`](crate::Buffer) is such a reader.
    ///
    /// # Errors
    /// `OutOfMemory`.
    pub fn new(reader: impl ChunkReader + 'r) -> Result<Self> {
        let memory = Memory::new()?;
        Ok(ChunkStore::of(Reader::Filling(Slot::new()?.fill(reader)), Some(memory)))
    }

    /// A store; for a reader that fills chunks in there is memory.
    #[doc(hidden)]
    pub fn of(reader: Reader<'r>, memory: Option<Box<Memory>>) -> Self {
        ChunkStore {
            reader,
            codecs: Chain::default(),
            write_codecs: Chain::default(),
            verify: false,
            limit: Limit::NONE,
            is_read_only: false,
            cache: None,
            memory,
        }
    }

    /// Adds a codec to the end of the chain, which is in the order of encoding. The codec encodes the output of the
    /// codecs before it, and is the first to decode a stored chunk.
    ///
    /// # Errors
    /// `OutOfMemory`; then the store is as it was.
    pub fn add_codec(&mut self, codec: impl Codec + 'r) -> Result<()> {
        self.add_boxed_codec(Slot::new()?.fill(codec))
    }

    /// Gives the store the codec that is one of HDF5's filters, by its number, with the parameters that
    /// `nc_def_var_filter` takes. Those that are decoded only make a store that is read only.
    ///
    /// # Errors
    /// `Codec` for a number that is not known, `Argument` for other parameters, and those of `add_codec`.
    pub fn add_filter(&mut self, number: u32, parameters: &[u32]) -> Result<()> {
        self.add_boxed_codec(codec::of_filter(number, parameters)?)
    }

    /// [`add_codec`](Self::add_codec) for a codec that is in a box already.
    #[doc(hidden)]
    pub fn add_boxed_codec(&mut self, codec: Box<dyn Codec + 'r>) -> Result<()> {
        self.reserve_codec()?;
        self.codecs.push(codec);
        Ok(())
    }

    /// What the store was made of: its reader, and the codecs of the chunks by which a variable is read.
    ///
    /// # Errors
    /// `Unsupported` if chunks are lent.
    #[doc(hidden)]
    pub fn into_parts(self) -> Result<(Box<dyn ChunkReader + 'r>, Chain<'r>)> {
        match self.reader {
            Reader::Filling(filler) => Ok((filler, self.codecs)),
            _ => Err(ErrorKind::Unsupported(NOT_IN_OBJECTS).into()),
        }
    }

    /// Sets all codecs of the chunks by which a variable is read.
    #[doc(hidden)]
    pub fn set_codecs(&mut self, codecs: Chain<'r>) {
        self.codecs = codecs;
    }

    /// Adds a codec for the chunks of a variable's [write grid](crate::Variable::set_write_grid), such as shards, if
    /// they are not encoded as the chunks that they consist of.
    ///
    /// # Errors
    /// `OutOfMemory`; then the store is as it was.
    pub fn add_write_codec(&mut self, codec: impl Codec + 'r) -> Result<()> {
        let slot = Slot::new()?;
        self.reserve_memory()?;
        self.write_codecs.reserve()?;
        self.write_codecs.push(slot.fill(codec));
        Ok(())
    }

    /// Sets the cache for decoded chunks; `None` for no cache. The cache is used where it saves decoding, or requests
    /// to a storage with latency. It is not used for other unencoded chunks that can be read in ranges, for chunks that
    /// a request reads as a whole, or for borrowed chunks.
    pub fn set_cache(&mut self, cache: Option<&Cache>) {
        self.cache = cache.map(Cache::part);
    }

    /// The store's part of the cache.
    pub(crate) fn cache(&self) -> Option<&Part> {
        self.cache.as_ref()
    }

    /// The codecs of the chunks by which a variable is read or written.
    pub(super) fn codecs(&self, access: Access) -> &Chain<'r> {
        if access == Access::Write && !self.write_codecs.is_empty() { &self.write_codecs } else { &self.codecs }
    }

    /// Makes room for one more codec.
    #[doc(hidden)]
    pub fn reserve_codec(&mut self) -> Result<()> {
        self.reserve_memory()?;
        self.codecs.reserve()
    }

    /// Chunks that have codecs are not lent as they are.
    fn reserve_memory(&mut self) -> Result<()> {
        if self.memory.is_none() {
            self.memory = Some(Memory::new()?);
        }
        Ok(())
    }

    /// Memory for one thread, in a store whose chunks are not lent as they are. Nothing is allocated before it is used.
    #[doc(hidden)]
    pub fn workspace(&self) -> Result<Workspace<'_>> {
        Ok(self.memory.as_ref().ok_or(ErrorKind::Internal)?.workspace())
    }

    /// The same, kept by the caller, whose first call takes it.
    pub(crate) fn workspace_in<'k, 's>(&'s self, kept: &'k mut Option<Workspace<'s>>) -> Result<&'k mut Workspace<'s>> {
        match kept {
            Some(workspace) => Ok(workspace),
            None => Ok(kept.insert(self.workspace()?)),
        }
    }

    /// [`add_codec`](Self::add_codec) for a codec that is in a box already, and for which there is
    /// [room](Self::reserve_codec).
    #[doc(hidden)]
    pub fn push_codec(&mut self, codec: Box<dyn Codec + 'r>) {
        self.codecs.push(codec);
    }

    /// Sets whether every chunk is decoded completely. If not, decoding stops after the last needed byte if the codec
    /// can do that; then neither the rest of the chunk nor a checksum after it is verified.
    ///
    /// If the chunks are in a storage with checksums of its own, such as a zip file, these are verified, too.
    pub fn set_verify(&mut self, verify: bool) {
        self.verify = verify;
        if let Reader::LendingTexts(lender) = &mut self.reader {
            lender.set_verify(verify);
        }
    }

    /// Sets how many bytes of memory a chunk may take.
    #[doc(hidden)]
    pub fn set_limit(&mut self, limit: Limit) {
        self.limit = limit;
    }

    /// Compares what a chunk is stored in with the checksum that there is of it beside it, if that is to be done.
    pub(crate) fn verify_stored(&self, request: &Request<'_>) -> Result<()> {
        match &self.reader {
            Reader::Filling(filler) if self.verify => filler.verify(request),
            _ => Ok(()),
        }
    }

    /// Refuses a chunk for which so many bytes of memory would be taken.
    pub(crate) fn check_room(&self, bytes: usize) -> Result<()> {
        self.limit.check(bytes)
    }

    /// Makes the store read-only, whatever the reader can do.
    pub fn set_read_only(&mut self) {
        self.is_read_only = true;
    }

    /// Whether several threads may use the store at the same time.
    pub fn is_concurrent(&self) -> bool {
        let reader = match &self.reader {
            Reader::Lending(lender) | Reader::LendingTexts(lender) => lender.is_concurrent(),
            Reader::Filling(filler) => filler.is_concurrent(),
        };
        reader && self.codecs.is_concurrent() && self.write_codecs.is_concurrent()
    }

    /// Refuses to write where that cannot be.
    ///
    /// # Errors
    /// `Codec` if a codec's settings are the reason, and else `ReadOnly`.
    #[doc(hidden)]
    pub fn check_writable(&self) -> Result<()> {
        match self.codecs(Access::Write).why_not_encoded() {
            _ if self.is_writable() => Ok(()),
            Some((name, why)) if !self.is_read_only => Err(Error::from(ErrorKind::Codec(why)).in_object(name)),
            _ => Err(ErrorKind::ReadOnly.into()),
        }
    }

    /// Whether chunks can be written.
    pub fn is_writable(&self) -> bool {
        if self.is_read_only {
            return false;
        }
        match &self.reader {
            // What is lent is changed in place, so there is nothing that could be encoded.
            Reader::Lending(lender) | Reader::LendingTexts(lender) => lender.is_writable() && self.codecs.is_empty(),
            Reader::Filling(filler) => filler.is_writable() && self.codecs(Access::Write).can_encode(),
        }
    }

    /// The reader, if it lends chunks as they are, which are not texts.
    #[inline]
    pub(crate) fn lender(&self) -> Option<&dyn ZeroCopyReader> {
        match &self.reader {
            Reader::Lending(lender) if self.codecs.is_empty() => Some(&**lender),
            _ => None,
        }
    }

    /// The reader, if it lends chunks of such a variable as they are.
    #[inline]
    pub(crate) fn lender_of(&self, variable: &Variable) -> Option<&dyn ZeroCopyReader> {
        match &self.reader {
            Reader::LendingTexts(lender) if variable.has_texts() => Some(&**lender),
            _ if variable.has_texts() => None,
            _ => self.lender(),
        }
    }

    /// Whether chunks are pointers to texts.
    pub(crate) fn has_texts(&self) -> bool {
        matches!(self.reader, Reader::LendingTexts(_))
    }

    /// The reader, if it can be asked for ranges of chunks that are stored as they are, and below what distance two
    /// ranges are better read as one.
    pub(crate) fn ranged(&self) -> Option<(&dyn ChunkReader, usize)> {
        match &self.reader {
            Reader::Filling(filler) if self.codecs.is_empty() => Some((&**filler, filler.range_gap()?)),
            _ => None,
        }
    }

    /// Whether the reader tells how many bytes a chunk has that is stored.
    #[doc(hidden)]
    pub fn tells_len(&self) -> bool {
        !matches!(&self.reader, Reader::Filling(filler) if !filler.tells_len())
    }

    /// The reader, if it fills buffers.
    pub(crate) fn filler(&self) -> Option<&dyn ChunkReader> {
        match &self.reader {
            Reader::Filling(filler) => Some(&**filler),
            Reader::Lending(_) | Reader::LendingTexts(_) => None,
        }
    }

    /// The reader's requests in flight, if it is better asked for many chunks together.
    pub(crate) fn in_flight(&self) -> Option<&dyn InFlight> {
        self.filler()?.in_flight()
    }

    /// The same, if requests take long.
    pub(crate) fn with_latency(&self) -> Option<&dyn InFlight> {
        self.in_flight().filter(|reader| reader.has_latency())
    }

    #[doc(hidden)]
    pub fn has_codecs(&self, access: Access) -> bool {
        !self.codecs(access).is_empty()
    }

    /// The names of the codecs of the chunks by which a variable is read.
    #[doc(hidden)]
    pub fn codec_names(&self) -> impl Iterator<Item = &str> {
        self.codecs.names()
    }

    /// The same, and what numcodecs calls them: see [`Codec::numcodecs`].
    #[doc(hidden)]
    pub fn numcodecs(&self) -> impl Iterator<Item = (&str, Option<InNumcodecs>)> {
        self.codecs.numcodecs()
    }

    /// The same of a chunk, which may have [others](ChunkReader::own_codecs).
    #[doc(hidden)]
    pub fn numcodecs_of(&self, chunk: &[isize]) -> impl Iterator<Item = (&str, Option<InNumcodecs>)> {
        self.filler().and_then(|filler| filler.own_codecs(chunk)).unwrap_or(&self.codecs).numcodecs()
    }

    /// The codecs that a chunk did not go through: see [`ChunkReader::skipped_codecs`].
    #[doc(hidden)]
    pub fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        self.filler().map_or(Ok(0), |filler| filler.skipped_codecs(chunk))
    }

    /// How many bytes a chunk has as it is stored; `None` for an absent one. Only its length is asked for, where the
    /// reader can tell it without the bytes.
    #[doc(hidden)]
    pub fn stored_len(&self, request: &Request<'_>) -> Result<Option<usize>> {
        match &self.reader {
            Reader::Lending(lender) | Reader::LendingTexts(lender) => lender.stored_len(request),
            Reader::Filling(filler) => Ok(match filler.fill(request, &mut Buffer::new(&mut []))? {
                Filled::Stored(len) => Some(len),
                Filled::Absent => None,
            }),
        }
    }

    /// Calls `one` for each chunk of a plan to read, in its order, with the place where it is stored.
    #[doc(hidden)]
    pub fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        match &self.reader {
            Reader::Lending(lender) | Reader::LendingTexts(lender) => lender.locate(plan, one),
            Reader::Filling(filler) => filler.locate(plan, one),
        }
    }

    /// The reader's requests, which can be counted before they are made.
    ///
    /// # Errors
    /// `Unsupported` if they cannot.
    pub(crate) fn counting(&self) -> Result<&dyn InFlight> {
        let counting = self.filler().and_then(|filler| filler.counting());
        Ok(counting.ok_or(ErrorKind::Unsupported(NOT_COUNTED))?)
    }

    /// Whether the reader tells how many bytes of a chunk are stored if none of them are asked for.
    pub(crate) fn is_told_len(&self) -> bool {
        matches!(&self.reader, Reader::Filling(filler) if filler.tells_len())
    }

    /// How many bytes a whole chunk is asked for with first: as many as it is expected to take as it is stored; none if
    /// these are very many, it has codecs and the reader tells how many there are. Then that is what is asked for.
    pub(crate) fn first_size(&self, access: Access, chunk_bytes: usize) -> usize {
        let expected = self.stored_bound(access, chunk_bytes);
        if self.is_told_len() && expected > TAKEN_AT_ONCE && self.has_codecs(access) { 0 } else { expected }
    }

    /// The most bytes that a whole chunk is expected to take as it is stored. It is known how many a chunk without
    /// codecs has: if they are more than the limit, it cannot be asked for.
    pub(crate) fn stored_bound(&self, access: Access, chunk_bytes: usize) -> usize {
        let codecs = self.codecs(access);
        if codecs.is_empty() { chunk_bytes } else { codecs.encoded_bound(chunk_bytes).min(self.limit.bytes) }
    }

    /// The most bytes of memory that one thread takes to read chunks of so many bytes, of which `in_ranges` are asked
    /// for at a time where they are stored as they are.
    #[doc(hidden)]
    pub fn read_memory(&self, chunk_bytes: usize, in_ranges: usize) -> usize {
        /// What small reads of one object are merged to.
        const MERGED: usize = 1 << 20;
        let merged = if self.in_flight().is_some() { MERGED } else { 0 };
        match self.ranged() {
            Some(_) => in_ranges.saturating_add(merged),
            None => {
                let stored = self.stored_bound(Access::Read, chunk_bytes).max(merged);
                let stored = if merged == 0 { stored } else { stored.saturating_mul(2) };
                let codecs = self.codecs(Access::Read).working_memory(chunk_bytes, false, 1);
                chunk_bytes.saturating_add(stored).saturating_add(codecs)
            }
        }
    }

    /// The most bytes of memory that so many threads take to encode and store one chunk of so many bytes, of which a
    /// copy is made first if it does not lie in memory as it is stored.
    #[doc(hidden)]
    pub fn write_memory(&self, chunk_bytes: usize, is_copied: bool, threads: usize) -> usize {
        let copy = if is_copied { chunk_bytes } else { 0 };
        copy.saturating_add(self.codecs(Access::Write).working_memory(chunk_bytes, true, threads))
    }

    /// Frees the memory that is kept between calls.
    #[doc(hidden)]
    pub fn free_memory(&self) {
        if let Some(memory) = &self.memory {
            memory.free();
        }
    }

    /// Below what distance two ranges of a chunk that is stored as it is are read as one; `None` for chunks that are
    /// read as a whole.
    #[doc(hidden)]
    pub fn gap(&self) -> Option<usize> {
        self.ranged().map(|(_, gap)| gap)
    }

    /// Whether requests are in flight, for reading or for writing.
    #[doc(hidden)]
    pub fn is_in_flight(&self, access: Access) -> bool {
        match access {
            Access::Read => self.with_latency().is_some(),
            Access::Write => self.in_flight().is_some_and(|reader| reader.stores()),
        }
    }

    /// Refuses a chunk that is stored with more bytes than it can take, or than may be taken for it.
    pub(crate) fn check_stored(&self, access: Access, chunk_bytes: usize, stored: usize) -> Result<()> {
        /// Where a chunk was encoded in many small pieces, each takes some bytes more; and padding may follow.
        const TIMES: usize = 16;
        const MORE: usize = 1 << 20;
        let expected = self.codecs(access).encoded_bound(chunk_bytes);
        let most = expected.saturating_mul(TIMES).saturating_add(MORE);
        if stored > most {
            return Err(ErrorKind::StoredTooLong { found: stored, most }.into());
        }
        self.limit.check(stored)
    }
}
