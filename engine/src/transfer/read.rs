//! Reading one piece: fetch the chunk, or the part of it that is needed, and move the box to memory.
#![allow(unsafe_code)]

use std::ops::Range;

use super::piece::{self, Mover, Piece};
use super::queue::Queue;
use super::ranges::Ranges;
use super::single::Single;
use crate::alloc;
use crate::buffer::Buffer;
use crate::cache::{Entry, Found, Loading, Turn};
use crate::copy::{self, Axis, Destination, Fence, Place, StridedCopy};
use crate::dims;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::open_object::{Opening, TELLS_CACHED, Versions};
use crate::store::{
    self, BorrowedChunk, ChunkReader, ChunkStore, Encoded, Fetched, Filled, Request, Take, Workspace, ZeroCopyReader,
};
use crate::threads::Threads;
use crate::variable::Variable;

/// A chunk of up to so many bytes is decoded into room for all of it, whatever part of it is needed.
const TAKEN_WHOLE: usize = 16 << 20;

/// A chunk of up to so many bytes is kept in a cache whatever is stored of it; a larger one if it has at most so many
/// times the bytes that are stored, as far as the reader tells how many these are.
const KEPT_AT_ONCE: usize = 64 << 20;
const MOST_TIMES: usize = 256;

/// Of a chunk that is read in ranges, as many bytes at a time as long as what is needed follows closely.
const READ_AT_ONCE: usize = 1 << 20;

/// To copy so many bytes from the system's page cache takes longer than another call for those behind them.
pub(super) const SKIPPED: usize = 8 << 10;

/// Of parts that are read without waiting, the system is asked at every so many whether they are in the page cache: to
/// be told costs more than to read.
const ASKED: usize = 16;

/// How many bytes of a file there are for each thread at least that reads them: it takes a few times as long as to
/// spawn one.
const BYTES_PER_THREAD: usize = if cfg!(miri) { 64 } else { 2 << 20 };

/// A chunk without codecs that is read in ranges.
struct OpenedChunk<'c> {
    filler: &'c dyn ChunkReader,
    request: Request<'c>,
    chunk_bytes: usize,
    opening: Opening<'c>,
    is_constant: bool,
}

impl<'c> OpenedChunk<'c> {
    /// Opens a chunk, if it is read more than once; `None` if it could be replaced between two reads.
    fn open(
        filler: &'c dyn ChunkReader,
        request: Request<'c>,
        chunk_bytes: usize,
        is_divided: bool,
    ) -> Result<Option<Self>> {
        let opening = if is_divided { filler.open(&request)? } else { Opening::Nothing };
        let is_constant = filler.versions() == Versions::Constant;
        if is_divided && !is_constant && matches!(opening, Opening::Nothing) {
            return Ok(None);
        }
        if let (Opening::Object(object), true) = (&opening, filler.tells_len()) {
            let len = object.len();
            store::check_part(filler, 0..chunk_bytes, chunk_bytes, (len, len.min(chunk_bytes)))?;
        }
        Ok(Some(OpenedChunk { filler, request, chunk_bytes, opening, is_constant }))
    }

    /// Reads the bytes from there on, if they are in memory; `false` if they are not, or if that is not known.
    fn fill_at_once(&self, begin: usize, buffer: &mut Buffer<'_>) -> bool {
        matches!(&self.opening, Opening::Object(object) if object.fill_at_once(begin as u64, buffer))
    }

    /// Reads the bytes from there on; `false` if the chunk is absent.
    fn fill(&self, begin: usize, buffer: &mut Buffer<'_>) -> Result<bool> {
        match &self.opening {
            Opening::Object(object) if object.fill(begin as u64, buffer)? => return Ok(true),
            Opening::Object(object) if !self.is_constant => {
                return Err(ErrorKind::StoredLength { found: object.len(), expected: self.chunk_bytes }.into());
            }
            Opening::Absent => return Ok(false),
            _ => {}
        }
        match self.filler.fill(&self.request.starting_at(begin), buffer)? {
            Filled::Absent => Ok(false),
            Filled::Stored(stored) => {
                let part = begin..begin + buffer.capacity();
                store::check_part(self.filler, part, self.chunk_bytes, (stored, buffer.filled().len()))?;
                Ok(true)
            }
        }
    }
}

/// What is stored of a chunk that is to be decoded.
#[derive(Clone, Copy)]
enum Stored<'b> {
    /// It is to be fetched.
    Unknown,
    /// A request has brought it.
    Brought(&'b [u8]),
    /// The store's cache has it.
    Kept(&'b [u8]),
}

impl<'b> Stored<'b> {
    fn bytes(self) -> Option<&'b [u8]> {
        match self {
            Stored::Unknown => None,
            Stored::Brought(bytes) | Stored::Kept(bytes) => Some(bytes),
        }
    }
}

/// Fetches and decodes a chunk, or decodes it if it is given as it is stored.
fn get<'e>(
    store: &ChunkStore<'_>,
    request: &Request<'_>,
    stored: Option<&'e [u8]>,
    needed: Range<usize>,
    buffer: &mut Buffer<'_>,
    encoded: &'e mut Encoded<'_>,
) -> Result<Fetched<'e>> {
    match stored {
        Some(stored) => store.decode(request, stored, needed, buffer, encoded.between()),
        None => store.fetch(request, needed, buffer, encoded),
    }
}

/// What one thread needs to read pieces of a variable's chunks.
///
/// The fields have this order in memory: with `turn` before the mover's copy, which is not there at first, the compiler
/// makes both elsewhere and copies them.
#[repr(C)]
pub(super) struct Reading<'a> {
    variable: &'a Variable,
    store: &'a ChunkStore<'a>,
    /// The store's reader, if it lends chunks as they are.
    lender: Option<&'a dyn ZeroCopyReader>,
    mover: Mover<'a>,
    workspace: Option<Workspace<'a>>,
    /// The transfer, as far as the store's cache is concerned; `None` for a store without.
    transfer: Option<Turn>,
    /// The same of the request that brought what is read next.
    turn: Option<Turn>,
    /// How many threads may read a piece.
    pub(super) threads: Threads<'a>,
    /// Whether a file was not in the page cache, as far as the system tells, or does not tell.
    waits: bool,
}

impl<'a> Reading<'a> {
    #[inline]
    pub(super) fn new(
        variable: &'a Variable,
        store: &'a ChunkStore<'a>,
        turn: Option<Turn>,
        threads: Threads<'a>,
    ) -> Self {
        Reading {
            variable,
            store,
            lender: store.lender_of(variable),
            mover: Mover::new(variable, Access::Read),
            workspace: None,
            transfer: turn,
            turn,
            threads,
            waits: false,
        }
    }

    /// Reads a piece.
    #[inline]
    pub(super) fn piece(&mut self, piece: &Piece<'_>, out: &mut Destination<'_>) -> Result<()> {
        match self.lender {
            Some(lender) => self.borrow(piece, lender, out),
            None => self.fetch(piece, out),
        }
    }

    /// Reads a request that touches one chunk.
    #[inline]
    pub(super) fn single(&mut self, single: &Single, out: &mut Destination<'_>) -> Result<()> {
        let volume = piece::volume(self.variable, Access::Read, false, single.selected_bytes());
        let (mut copy, _fence) = (StridedCopy::unprepared(volume), Fence::new(volume));
        self.piece(&single.piece(self.variable, Access::Read, &mut copy)?, out)
    }

    #[inline]
    fn borrow(&mut self, piece: &Piece<'_>, lender: &dyn ZeroCopyReader, out: &mut Destination<'_>) -> Result<()> {
        let request = self.mover.request(piece);
        let mut take = |lent: BorrowedChunk<'_>| Reading::lent(&mut self.mover, piece, lender, lent, out);
        lender.lend(&request, Take::new(&mut take)).map(|_| ())
    }

    /// Moves a piece from what is lent.
    #[inline(always)]
    pub(super) fn lent(
        mover: &mut Mover<'_>,
        piece: &Piece<'_>,
        lender: &dyn ZeroCopyReader,
        lent: BorrowedChunk<'_>,
        out: &mut Destination<'_>,
    ) -> Result<()> {
        let due = |bytes| store::due(lender, bytes, piece.chunk_bytes);
        match lent {
            BorrowedChunk::Chunk(bytes) => mover.read_chunk(piece, due(bytes)?, 0, out),
            BorrowedChunk::FillValues(bytes) => mover.read_fill_chunk(piece, due(bytes)?, out),
            BorrowedChunk::Absent => mover.read_fill_value(piece, out),
        }
    }

    /// Not part of [`piece`](Self::piece), which small reads from a store that lends go through.
    #[inline(never)]
    fn fetch(&mut self, piece: &Piece<'_>, out: &mut Destination<'_>) -> Result<()> {
        match self.store.ranged() {
            Some((filler, gap)) if self.is_divided(piece, filler) => self.in_ranges(piece, filler, gap, out),
            // What the cache has of it saves a request, though it may have to be decoded.
            _ if self.store.with_latency().is_some() && self.read_cached(piece, out)? => Ok(()),
            _ => self.through_buffer(piece, Stored::Unknown, out).map(|_| ()),
        }
    }

    /// Whether a chunk is better not read as a whole.
    fn is_divided(&self, piece: &Piece<'_>, filler: &dyn ChunkReader) -> bool {
        self.mover.whole_chunk(piece).is_none()
            || self.part(piece, filler).is_some()
            || self.threads.most().min(piece.chunk_bytes / BYTES_PER_THREAD) > 1
    }

    /// Decodes a stored chunk and moves the piece from it. The result is for what is stored, if the store's cache is to
    /// keep it.
    pub(super) fn read_stored(
        &mut self,
        piece: &Piece<'_>,
        stored: &[u8],
        out: &mut Destination<'_>,
    ) -> Result<Option<Loading<'a>>> {
        self.through_buffer(piece, Stored::Brought(stored), out)
    }

    /// Decodes a chunk, which is fetched unless it is given as it is stored, into a buffer of a chunk's size, and moves
    /// the piece from there. The buffer is the destination itself if the whole chunk lands there in one piece, unless
    /// it is quicker to decode it in the processor's cache first. Of a large chunk with codecs the buffer has the size
    /// of the needed bytes alone. A chunk that is stored as it is, with a checksum, takes no buffer. The result is for
    /// what a request has brought, if the store's cache is to keep that.
    fn through_buffer(
        &mut self,
        piece: &Piece<'_>,
        stored: Stored<'_>,
        out: &mut Destination<'_>,
    ) -> Result<Option<Loading<'a>>> {
        let (store, chunk_bytes) = (self.store, piece.chunk_bytes);
        let (mut loading, mut as_stored) = (None, None);
        if let (Some(cache), Some(turn)) = (store.cache(), self.turn) {
            let mut keep = piece.num_elements() * self.variable.element_size() < chunk_bytes;
            if keep && chunk_bytes > KEPT_AT_ONCE {
                let ready = cache.ready(piece.indices, &piece.needed(), chunk_bytes, turn)?;
                if let Some(entry) = ready.filter(|entry| !entry.is_stored()) {
                    return self.mover.read_chunk(piece, entry.bytes(), 0, out).map(|()| None);
                }
                let stored_len = match stored.bytes() {
                    Some(stored) => Some(stored.len()),
                    None if store.is_told_len() => Some(store.stored_len(&self.mover.request(piece))?.unwrap_or(0)),
                    // Who cannot tell it without the bytes is not asked for these twice.
                    None => None,
                };
                keep = stored_len.is_none_or(|len| chunk_bytes <= len.saturating_mul(MOST_TIMES));
            }
            keep &= store.check_room(chunk_bytes).is_ok();
            // A request takes longer than decoding the rest, unless what it brings is kept.
            let keeps_stored = cache.waits() && store.with_latency().is_some() && matches!(stored, Stored::Brought(_));
            let to_end = || {
                let is_soon = !cache.waits() && store.decodes_most(chunk_bytes, &piece.needed())?;
                Ok(is_soon || store.with_latency().is_some() && !keeps_stored)
            };
            match cache.find(piece.indices, &piece.needed(), chunk_bytes, keep, to_end, turn)? {
                Found::Ready(entry) => return self.mover.read_chunk(piece, entry.bytes(), 0, out).map(|()| None),
                Found::Load { loading, all: false } if keeps_stored => as_stored = Some(loading),
                Found::Load { loading, all: false } if cache.waits() => loading.pass()?,
                Found::Load { loading: begun, all } => loading = Some((begun, all)),
                Found::Nothing => {}
            }
        }
        let Workspace { chunk, encoded } = store.workspace_in(&mut self.workspace)?;
        let (request, needed, stored) = (self.mover.request(piece), piece.needed(), stored.bytes());
        if let Some((mut loading, all)) = loading {
            let needed = if all { 0..chunk_bytes } else { needed };
            let mut buffer = Buffer::new(loading.room(chunk_bytes)?);
            let fetched = get(store, &request, stored, needed.clone(), &mut buffer, encoded)?;
            if let (Fetched::Bytes(bytes), false, None) = (&fetched, all, store.with_latency()) {
                self.mover.read_chunk(piece, bytes, 0, out)?;
                return loading.pass().map(|()| None);
            }
            if !fetched.fill(&mut buffer)? {
                return self.mover.read_fill_value(piece, out).map(|()| None);
            }
            // What follows the needed bytes is there, too; what is before them may have been left out.
            let (filled, begin) = (buffer.filled().len(), if buffer.has_gaps() { needed.start } else { 0 });
            // SAFETY: so many bytes of the room have been filled.
            let entry = unsafe { loading.finish(filled, begin..filled) }?;
            return self.mover.read_chunk(piece, entry.bytes(), 0, out).map(|()| None);
        }
        let first_in_cache = store.has_codecs(Access::Read) && piece::decodes_in_cache(piece.copy, chunk_bytes);
        let whole_chunk = self.mover.whole_chunk(piece).filter(|_| !first_in_cache);
        // SAFETY: the whole chunk lands here in one piece, so all of its bytes are selected ones.
        if let Some(room) = whole_chunk.and_then(|offset| unsafe { out.piece(offset, chunk_bytes) }) {
            let mut buffer = Buffer::new(room);
            if get(store, &request, stored, 0..chunk_bytes, &mut buffer, encoded)?.fill(&mut buffer)? {
                if let Some(word) = self.variable.swapped_word() {
                    copy::swap_in_place(buffer.filled_mut(), word);
                }
                return Ok(as_stored);
            }
        } else {
            let is_large = chunk_bytes > TAKEN_WHOLE || store.check_room(chunk_bytes).is_err();
            let is_part = store.has_codecs(Access::Read) && is_large;
            let (begin, size) = if is_part { (needed.start, needed.len()) } else { (0, chunk_bytes) };
            store.check_room(size)?;
            let mut buffer = Buffer::new(chunk.room(size)?);
            match get(store, &request, stored, needed, &mut buffer, encoded)? {
                Fetched::Filled => {
                    return self.mover.read_chunk(piece, buffer.filled(), begin, out).map(|()| as_stored);
                }
                Fetched::Bytes(bytes) => return self.mover.read_chunk(piece, bytes, 0, out).map(|()| as_stored),
                Fetched::Absent => {}
            }
        }
        self.mover.read_fill_value(piece, out).map(|()| None)
    }

    /// How many bytes, of whole elements, are read at a time where they land in one piece; `None` for all of them.
    fn part(&self, piece: &Piece<'_>, filler: &dyn ChunkReader) -> Option<usize> {
        let (part, size) = (filler.swapped_part()?, self.variable.element_size());
        self.variable.swapped_word()?;
        (piece.chunk_bytes > part && part >= size).then_some(part / size * size)
    }

    /// Reads only those ranges of a chunk that hold selected elements, where they are far enough apart.
    fn in_ranges(
        &mut self,
        piece: &Piece<'_>,
        filler: &dyn ChunkReader,
        gap: usize,
        out: &mut Destination<'_>,
    ) -> Result<()> {
        if !piece.lists.is_empty() {
            return self.lists_in_ranges(piece, filler, gap, out);
        }
        self.store.verify_stored(&self.mover.request(piece))?;
        if !self.at_once(piece, filler, gap, out) && !self.shared(piece, filler, gap, out)? {
            self.ranges(piece, filler, gap, false, out)?;
        }
        Ok(())
    }

    /// Reads a piece of an open file by several threads, if it is large and lands in memory as it is in the file;
    /// `false` if not, or if that fails: then one thread finds out why.
    fn shared(
        &mut self,
        piece: &Piece<'_>,
        filler: &dyn ChunkReader,
        gap: usize,
        out: &mut Destination<'_>,
    ) -> Result<bool> {
        let (size, swap) = (self.variable.element_size(), self.variable.swapped_word());
        // What is longer than it should be is an error that reading parts would not find.
        let is_known = filler.tells_len() || filler.versions() == Versions::Constant;
        if self.threads.most().min(piece.chunk_bytes / BYTES_PER_THREAD) < 2 || !is_known {
            return Ok(false);
        }
        let ranges = Ranges::new(piece.axes, size, gap)?;
        let threads = self.threads.most().min(ranges.count() * ranges.len / BYTES_PER_THREAD);
        if threads < 2 || !ranges.land_whole(size) {
            return Ok(false);
        }
        let Some(chunk) = OpenedChunk::open(filler, self.mover.request(piece), piece.chunk_bytes, true)? else {
            return Ok(false);
        };
        let Opening::Object(file) = &chunk.opening else { return Ok(false) };
        let part = self.part(piece, filler).unwrap_or(READ_AT_ONCE.max(size) / size * size).min(ranges.len);
        let parts = ranges.len.div_ceil(part);
        let queue = Queue::new(0..ranges.count().saturating_mul(parts));
        let read = |number: usize| -> Result<()> {
            let (in_chunk, in_memory) = ranges.at(number / parts);
            let at = number % parts * part;
            let begin = piece.chunk_offset.wrapping_add_signed(in_chunk) + at;
            let (offset, len) = (piece.memory_offset.wrapping_add_signed(in_memory) + at, part.min(ranges.len - at));
            // SAFETY: threads have different parts of ranges, and no two elements of the box share memory.
            let mut out = unsafe { out.alias() };
            // SAFETY: what is read lands here in one piece, so all of its bytes are selected ones.
            let mut buffer = Buffer::new(unsafe { out.piece(offset, len) }.ok_or(ErrorKind::Internal)?);
            if !file.fill(begin as u64, &mut buffer)? {
                return Err(ErrorKind::Truncated.into());
            }
            if let Some(word) = swap {
                copy::swap_in_place(buffer.filled_mut(), word);
            }
            Ok(())
        };
        let work = || {
            while let Some(numbers) = queue.take(1) {
                numbers.for_each(|number| read(number).unwrap_or_else(|error| queue.fail(number, error)));
            }
        };
        self.threads.run(threads, &work, work, &|| queue.fail_all(ErrorKind::Internal.into()));
        Ok(queue.finish(&mut 0).is_ok())
    }

    /// Reads a piece from the page cache, element by element if it has to be, where what lies between would be read in
    /// vain; `false` if not all of it is there, or if that fails. Whoever has to wait for a disk had better wait once.
    pub(super) fn at_once(
        &mut self,
        piece: &Piece<'_>,
        filler: &dyn ChunkReader,
        gap: usize,
        out: &mut Destination<'_>,
    ) -> bool {
        if self.waits || !TELLS_CACHED || gap <= SKIPPED || !piece.lists.is_empty() {
            return false;
        }
        let size = self.variable.element_size();
        let count = |gap| Ranges::new(piece.axes, size, gap).map_or(0, |ranges| ranges.count());
        if count(SKIPPED) <= count(gap) {
            return false;
        }
        let is_read = self.ranges(piece, filler, SKIPPED, true, out).unwrap_or(false);
        self.waits = !is_read;
        is_read
    }

    /// Reads a piece range by range; `false` if it is to be read at once and is not there.
    fn ranges(
        &mut self,
        piece: &Piece<'_>,
        filler: &dyn ChunkReader,
        gap: usize,
        at_once: bool,
        out: &mut Destination<'_>,
    ) -> Result<bool> {
        let (chunk_bytes, size) = (piece.chunk_bytes, self.variable.element_size());
        let swap = self.variable.swapped_word();
        let ranges = Ranges::new(piece.axes, size, gap)?;
        let lands_whole = ranges.land_whole(size);
        // All that is needed is one range, which is read at once.
        let part = self.part(piece, filler).filter(|_| lands_whole && gap != usize::MAX);
        let streams = part.is_some() && piece.copy.volume().streams();
        // The copy of a range that does not land whole.
        let copy = if lands_whole { None } else { Some(piece.copy.like(size, swap, ranges.inner())?) };
        let store = self.store;
        let workspace = store.workspace_in(&mut self.workspace)?;
        let mover = &self.mover;
        let is_divided = part.is_some() || ranges.count() > 1;
        let Some(chunk) = OpenedChunk::open(filler, mover.request(piece), chunk_bytes, is_divided)? else {
            return if at_once { Ok(false) } else { self.ranges(piece, filler, usize::MAX, false, out) };
        };
        // Where some parts of a file are in the page cache, those between them are, too, most likely.
        let mut number = 0;
        let mut fill = |begin, buffer: &mut Buffer<'_>| {
            number += 1;
            let is_asked = at_once && (number % ASKED == 1 || number == ranges.count());
            if is_asked { Ok(chunk.fill_at_once(begin, buffer)) } else { chunk.fill(begin, buffer) }
        };
        // A range, or a part of one: so many bytes that begin there in the chunk and in memory.
        let mut read = |begin: usize, offset: usize, len: usize| -> Result<bool> {
            // SAFETY: what is read lands here in one piece, so all of its bytes are selected ones.
            let room = if lands_whole && !streams { unsafe { out.piece(offset, len) } } else { None };
            if let Some(room) = room {
                let mut buffer = Buffer::new(room);
                let is_there = fill(begin, &mut buffer)?;
                if let (true, Some(word)) = (is_there, swap) {
                    copy::swap_in_place(buffer.filled_mut(), word);
                }
                return Ok(is_there);
            }
            store.check_room(len)?;
            let mut buffer = Buffer::new(workspace.chunk.room(len)?);
            let is_there = fill(begin, &mut buffer)?;
            if is_there {
                let bytes = buffer.filled().into();
                match &copy {
                    Some(copy) => mover.run(copy, bytes, 0, out, offset)?,
                    None => {
                        let row = Axis { count: len / size, source: size as isize, destination: size as isize };
                        mover.run(&piece.copy.like(size, swap, std::iter::once(row))?, bytes, 0, out, offset)?;
                    }
                }
            }
            Ok(is_there)
        };
        let ended_early = ranges.for_each(|in_chunk, in_memory| {
            let begin = piece.chunk_offset.wrapping_add_signed(in_chunk);
            let offset = piece.memory_offset.wrapping_add_signed(in_memory);
            let Some(part) = part else { return read(begin, offset, ranges.len) };
            for at in (0..ranges.len).step_by(part) {
                if !read(begin + at, offset + at, part.min(ranges.len - at))? {
                    return Ok(false);
                }
            }
            Ok(true)
        })?;
        let is_absent = ended_early && (!at_once || matches!(chunk.opening, Opening::Absent));
        if is_absent {
            // As a whole, even if it vanished on the way.
            self.mover.read_fill_value(piece, out)?;
        }
        Ok(is_absent || !ended_early)
    }

    /// The same of lists: what they need of a chunk is divided along the list that steps farthest.
    fn lists_in_ranges(
        &mut self,
        piece: &Piece<'_>,
        filler: &dyn ChunkReader,
        gap: usize,
        out: &mut Destination<'_>,
    ) -> Result<()> {
        let farthest =
            (0..piece.lists.len()).max_by_key(|&i| piece.lists[i].chunk_step()).ok_or(ErrorKind::Internal)?;
        let (list, needed) = (piece.lists[farthest], piece.needed());
        let ((least, most), step) = (list.reach(), list.chunk_step());
        let mut places = alloc::copied(list.places())?;
        places.sort_unstable_by_key(|place| place.in_chunk);
        // What is needed at one place of the list, and what is read at once.
        let len = needed.len() - (most - least);
        let mut begin = places.first().map_or(0, |place| place.in_chunk);
        let follows = |one: &Place, next: &Place| {
            let is_near = (next.in_chunk - one.in_chunk) * step < len.saturating_add(gap);
            let follows = is_near && (gap == usize::MAX || (next.in_chunk - begin) * step < READ_AT_ONCE);
            begin = if follows { begin } else { next.in_chunk };
            follows
        };
        let mut lists = dims::copied(piece.lists.iter().copied())?;
        let store = self.store;
        let workspace = store.workspace_in(&mut self.workspace)?;
        let request = self.mover.request(piece);
        store.verify_stored(&request)?;
        let runs = alloc::collected(places.chunk_by(follows))?;
        let Some(chunk) = OpenedChunk::open(filler, request, piece.chunk_bytes, runs.len() > 1)? else {
            return self.lists_in_ranges(piece, filler, usize::MAX, out);
        };
        for run in runs {
            lists[farthest] = list.with_places(run);
            let part = Piece { lists: &lists, ..*piece };
            let needed = part.needed();
            store.check_room(needed.len())?;
            let mut buffer = Buffer::new(workspace.chunk.room(needed.len())?);
            if !chunk.fill(needed.start, &mut buffer)? {
                return self.mover.read_fill_value(piece, out);
            }
            self.mover.read_chunk(&part, buffer.filled(), needed.start, out)?;
        }
        Ok(())
    }

    /// A request that is started now, as far as the store's cache is concerned.
    pub(super) fn request(&self) -> Option<Turn> {
        self.store.cache().zip(self.transfer).map(|(cache, turn)| cache.request(turn))
    }

    /// What is read next was brought by this request.
    pub(super) fn brought_by(&mut self, request: Option<Turn>) {
        self.turn = request;
    }

    /// Compares what a piece's chunk is stored in with the checksum beside it, if that is to be done.
    pub(super) fn verify_stored(&self, piece: &Piece<'_>) -> Result<()> {
        self.store.verify_stored(&self.mover.request(piece))
    }

    /// Moves a piece from the store's cache; `false` if it is not there.
    pub(super) fn read_cached(&mut self, piece: &Piece<'_>, out: &mut Destination<'_>) -> Result<bool> {
        let store = self.store;
        let (Some(cache), Some(turn)) = (store.cache(), self.transfer) else { return Ok(false) };
        let ready = |turn| cache.ready(piece.indices, &piece.needed(), piece.chunk_bytes, turn);
        let mut found = ready(turn)?;
        if found.as_ref().is_some_and(Entry::is_stored) {
            // From now on a write is noticed that makes it old while it is decoded.
            let turn = cache.request(turn);
            (found, self.turn) = (ready(turn)?, Some(turn));
        }
        match found {
            Some(entry) if entry.is_stored() => drop(self.through_buffer(piece, Stored::Kept(entry.bytes()), out)?),
            Some(entry) => self.mover.read_chunk(piece, entry.bytes(), 0, out)?,
            None => return Ok(false),
        }
        Ok(true)
    }

    /// Moves a piece from a chunk that is there and has no codecs: its bytes from `begin` on, as far as the piece needs
    /// them. The result is for the chunk, if it is there as a whole and the store's cache is to keep it.
    pub(super) fn read_bytes(
        &mut self,
        piece: &Piece<'_>,
        bytes: &[u8],
        begin: usize,
        out: &mut Destination<'_>,
    ) -> Result<Option<Loading<'a>>> {
        self.mover.read_chunk(piece, bytes, begin, out)?;
        let chunk_bytes = piece.chunk_bytes;
        let is_part = piece.num_elements() * self.variable.element_size() < chunk_bytes;
        match (self.store.cache(), self.turn) {
            (Some(cache), Some(turn)) if is_part && begin == 0 && bytes.len() >= chunk_bytes => {
                cache.keep(piece.indices, chunk_bytes, turn)
            }
            _ => Ok(None),
        }
    }

    /// Moves one of several ranges of a piece, which begins there in memory.
    pub(super) fn read_range(
        &self,
        (piece, ranges): (&Piece<'_>, &Ranges),
        bytes: &[u8],
        out: &mut Destination<'_>,
        memory_offset: usize,
    ) -> Result<()> {
        let (size, swap) = (self.variable.element_size(), self.variable.swapped_word());
        let copy = piece.copy.like(size, swap, ranges.inner())?;
        self.mover.run(&copy, bytes.into(), 0, out, memory_offset)
    }

    /// Fills a piece with the fill value.
    pub(super) fn read_fill_value(&mut self, piece: &Piece<'_>, out: &mut Destination<'_>) -> Result<()> {
        self.mover.read_fill_value(piece, out)
    }
}
