//! Chunks that are objects or parts of objects, read one by one and written.
#![allow(unsafe_code)]

use std::any::Any;

use super::coalesce;
use super::flight::ChunkFlight;
use super::indices::{Indices, Opened};
use super::locate::{ATTEMPTS, Index, LONG_STEP, Learned, Locate, Location, NODES, Part, Step};
use crate::alloc::{self, try_box};
use crate::buffer::Buffer;
use crate::codec::Chain;
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::object::{self, ByteRange, Name, RequestsInFlight, Storage};
use crate::open_object::{ObjectState, OpenObject, Opening, Versions};
use crate::plan::Plan;
use crate::projection::Projection;
use crate::shared::Shared;
use crate::store::{ChunkLocation, ChunkReader, ChunkState, Filled, Flight, InFlight, Request, Sharing};

/// The chunks of an array in a storage, where a format says they are.
pub(crate) struct ObjectChunks<L> {
    storage: Storage,
    locate: L,
    /// The indices that are kept from call to call.
    indices: Indices,
}

impl<L: Locate> ObjectChunks<L> {
    pub(crate) fn new(storage: Storage, locate: L) -> Self {
        let indices = Indices::new(locate.index_len());
        ObjectChunks { storage, locate, indices }
    }

    /// Where a chunk is. The nodes of an index that tell it are read, if the format keeps them.
    fn location(&self, chunk: &[isize]) -> Result<Location> {
        for _ in 0..NODES {
            let location = self.locate.locate(chunk)?;
            let Part::Unknown = location.part else { return Ok(location) };
            let name = self.locate.name(&location.object)?;
            match self.read_index(&location.object, &Source::Name(&self.storage, &name))? {
                Found::Kept => {}
                Found::Missing => {
                    self.locate.missing(&location.object)?;
                    return Ok(Location { object: Dims::new(), part: Part::Known(None) });
                }
                Found::Opened(_) | Found::Changed => break,
            }
        }
        Err(self.locate.changed())
    }

    /// Reads `len` bytes of an object, or as many as there is room for, of a chunk of which so many are `stored`.
    /// What follows in the object belongs to another chunk.
    fn read_part(
        &self,
        object: &[isize],
        at: u64,
        len: usize,
        buffer: &mut Buffer<'_>,
        stored: usize,
    ) -> Result<Filled> {
        let mut part = buffer.rest_up_to(len);
        if !self.storage.read_part(&self.locate.name(object)?, at, &mut part)? {
            return self.locate.missing(object);
        }
        let (filled, due) = (part.filled().len(), part.capacity());
        if filled != due {
            return Err(self.locate.too_short(object));
        }
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Filled::Stored(stored))
    }

    /// Reads a chunk that an index has, or a part of it.
    fn read_indexed(&self, location: &Location, offset: usize, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (index, Part::Indexed { number }) = (&location.object, location.part) else {
            return Err(ErrorKind::Internal.into());
        };
        let name = self.locate.name(index)?;
        let (storage, wanted) = (&self.storage, Wanted { index, number, offset: offset as u64 });
        let by_name = Source::Name(storage, &name);
        // That a chunk is there is found to be wrong when it is read, but not that it is absent.
        if let Some(opened) = self.indices.get(index).filter(|opened| opened.index.has(number)) {
            if let Some(filled) = self.read_chunk(&opened, &wanted, buffer, &by_name)? {
                return Ok(filled);
            }
            self.indices.forget(index);
        }
        for _ in 0..ATTEMPTS {
            // From one object, if it can be opened: then it does not matter who replaces it meanwhile.
            let found = match storage.open(&name)? {
                Opening::Absent => return self.locate.missing(index),
                Opening::Nothing => self.read_anew(&wanted, buffer, &by_name)?,
                Opening::Object(object) => self.read_anew(&wanted, buffer, &Source::Open(&object))?,
            };
            if let Some(filled) = found {
                return Ok(filled);
            }
        }
        Err(self.locate.changed())
    }

    /// Opens a chunk that an index has, all of which is then read from one version of its object.
    fn open_indexed(&self, index: &Dims<isize>, number: usize) -> Result<Opening<'_>> {
        let Opening::Object(object) = self.storage.open(&self.locate.name(index)?)? else {
            return Ok(Opening::Nothing);
        };
        let state = object.state().ok_or(ErrorKind::Internal)?;
        let is_known = |opened: &Shared<Opened>| state.1.is_some() && opened.state == state;
        let opened = match self.indices.get(index).filter(is_known) {
            Some(opened) => opened,
            None => match self.read_index(index, &Source::Open(&object))? {
                Found::Opened(opened) => opened,
                Found::Missing | Found::Kept | Found::Changed => return Err(self.locate.changed()),
            },
        };
        Ok(match self.locate.span(index, &opened.index, number, state.0)? {
            Some((offset, len)) => Opening::Object(object.part(offset, len)),
            None => Opening::Absent,
        })
    }

    /// Reads an index, and then [a chunk](Self::read_chunk).
    fn read_anew(&self, wanted: &Wanted<'_>, buffer: &mut Buffer<'_>, source: &Source<'_>) -> Result<Option<Filled>> {
        match self.read_index(wanted.index, source)? {
            Found::Opened(opened) => self.read_chunk(&opened, wanted, buffer, source),
            Found::Missing => self.locate.missing(wanted.index).map(Some),
            Found::Kept | Found::Changed => Ok(None),
        }
    }

    /// Reads an index, and keeps it for later calls if it will be known whether the object is the same then.
    fn read_index(&self, index: &Dims<isize>, source: &Source<'_>) -> Result<Found> {
        let forgotten = self.indices.forgotten();
        let (mut step, mut state) = (self.locate.first_step(index)?, None);
        loop {
            let (bytes, found) = read_step(&step, source)?;
            let Some(now) = found else { return Ok(Found::Missing) };
            if state.is_some_and(|before| before != now) {
                return Ok(Found::Changed);
            }
            state = Some(now);
            match self.locate.learn(index, &step, &bytes, now.0)? {
                Learned::Next(next) => step = next,
                Learned::Kept => return Ok(Found::Kept),
                Learned::Index(found) => {
                    let opened = Shared::new(Opened { index: found, state: now })?;
                    if now.1.is_some() {
                        self.indices.keep(dims::copied(index.iter().copied())?, &opened, forgotten)?;
                    }
                    return Ok(Found::Opened(opened));
                }
            }
        }
    }

    /// Reads a chunk or a part of it; `None` if the object is not any more what its index was read from.
    fn read_chunk(
        &self,
        opened: &Opened,
        wanted: &Wanted<'_>,
        buffer: &mut Buffer<'_>,
        source: &Source<'_>,
    ) -> Result<Option<Filled>> {
        let (object_len, _) = opened.state;
        let Some((offset, len)) = self.locate.span(wanted.index, &opened.index, wanted.number, object_len)? else {
            // The index has just been read: that is what there was then.
            return Ok(Some(Filled::Absent));
        };
        let skipped = wanted.offset.min(len);
        let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
        // What follows belongs to another chunk.
        let mut part = buffer.rest_up_to(stored);
        let found = source.read(ByteRange::At(offset + skipped), &mut part)?;
        let (filled, due) = (part.filled().len(), part.capacity());
        if filled != due || !self.is_same(opened, wanted, found, source)? {
            return Ok(None);
        }
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Some(Filled::Stored(stored)))
    }

    /// Whether a chunk that was read from an object in this state is the one that the index told of. Where the object
    /// is not open and no version is known, the index is read once more, and has to say the same.
    fn is_same(
        &self,
        opened: &Opened,
        wanted: &Wanted<'_>,
        found: Option<ObjectState>,
        source: &Source<'_>,
    ) -> Result<bool> {
        if found != Some(opened.state) {
            return Ok(false);
        }
        if opened.state.1.is_some() || self.locate.is_constant() || matches!(source, Source::Open(_)) {
            return Ok(true);
        }
        let Found::Opened(now) = self.read_index(wanted.index, source)? else { return Ok(false) };
        let span = |opened: &Opened| opened.index.spans.get(wanted.number).copied();
        Ok(now.state == opened.state && span(&now) == span(opened))
    }

    /// The lengths of the objects that some chunks of a plan are, by their number, asked for at the same time; none if
    /// the storage answers at once, and of other chunks.
    fn lens(&self, plan: &Plan<'_>, chunks: std::ops::Range<usize>) -> Result<Vec<ObjectLen>> {
        let Some(flight) = self.storage.flight() else { return Ok(Vec::new()) };
        let mut projections = Dims::new();
        dims::fill(&mut projections, plan.rank(), Projection::default())?;
        let mut lens = alloc::filled(chunks.len(), None)?;
        let mut reads = RequestsInFlight::new(flight, self.storage.flight_prefix());
        for (i, chunk) in chunks.enumerate() {
            plan.chunk(chunk, &mut projections)?;
            let indices = dims::copied(projections.iter().map(|projection| projection.chunk_index))?;
            let location = self.locate.locate(&indices)?;
            if !matches!(location.part, Part::Whole) {
                continue;
            }
            if reads.len() == flight.limits().requests.max(1) {
                land(&mut reads, &mut lens)?;
            }
            let nothing = (std::ptr::NonNull::dangling().as_ptr(), 0);
            // SAFETY: no bytes are read.
            match unsafe { reads.start(i, &self.locate.name(&location.object)?, ByteRange::At(0), nothing) } {
                Ok(None) => {}
                Ok(Some(i)) => lens[i] = Some(Ok(None)),
                Err((i, error)) => lens[i] = Some(Err(error)),
            }
        }
        while reads.len() > 0 {
            land(&mut reads, &mut lens)?;
        }
        Ok(lens)
    }

    /// Whether a chunk is stored, and which bytes of its object of this name it is, if its length is not known already.
    fn state(
        &self,
        Location { object, part }: &Location,
        name: &Name,
        len: ObjectLen,
        known: &mut Known,
    ) -> Result<ChunkState> {
        match part {
            Part::Whole => {
                let len = len.unwrap_or_else(|| self.storage.object_len(name))?;
                Ok(len.map_or(ChunkState::Absent, |len| ChunkState::Stored { offset: 0, len }))
            }
            Part::Span { begin, end } => {
                let file_len = match &known.file {
                    Some((file, len)) if file == object => *len,
                    _ => match self.storage.object_len(name)? {
                        Some(len) => known.file.insert((dims::copied(object.iter().copied())?, len)).1,
                        None => return self.locate.missing(object).map(|_| ChunkState::Absent),
                    },
                };
                let len = (*end).min(file_len).saturating_sub(*begin);
                Ok(ChunkState::Stored { offset: *begin, len })
            }
            Part::Known(span) => {
                Ok(span.map_or(ChunkState::Absent, |(offset, len)| ChunkState::Stored { offset, len }))
            }
            Part::Unknown => Err(ErrorKind::Internal.into()),
            Part::Indexed { number } => {
                let opened = match known.indices.get(object) {
                    Some(opened) => opened,
                    None => self.index_of(object, name, known)?,
                };
                // An index without spans stands for an object that is not there.
                if opened.index.spans.is_empty() {
                    return Ok(ChunkState::Absent);
                }
                let span = self.locate.span(object, &opened.index, *number, opened.state.0)?;
                Ok(span.map_or(ChunkState::Absent, |(offset, len)| ChunkState::Stored { offset, len }))
            }
        }
    }

    /// Reads the index of an object of this name, and knows it from then on if other chunks share it.
    fn index_of(&self, index: &Dims<isize>, name: &Name, known: &Known) -> Result<Shared<Opened>> {
        let mut found = Found::Changed;
        for _ in 0..ATTEMPTS {
            found = match self.storage.open(name)? {
                Opening::Absent => Found::Missing,
                Opening::Nothing => self.read_index(index, &Source::Name(&self.storage, name))?,
                Opening::Object(object) => self.read_index(index, &Source::Open(&object))?,
            };
            if !matches!(found, Found::Changed) {
                break;
            }
        }
        let opened = match found {
            Found::Opened(opened) => opened,
            Found::Missing => {
                self.locate.missing(index)?;
                Shared::new(Opened { index: Index { spans: Vec::new() }, state: (0, None) })?
            }
            Found::Kept | Found::Changed => return Err(self.locate.changed()),
        };
        if self.locate.has_indices() {
            known.indices.keep(dims::copied(index.iter().copied())?, &opened, known.indices.forgotten())?;
        }
        Ok(opened)
    }
}

/// The length of an object, if it has been asked for, and if there is one.
type ObjectLen = Option<Result<Option<u64>>>;

/// How many chunks are located together.
const LOCATED: usize = 1024;

/// Waits for a length.
fn land(reads: &mut RequestsInFlight<'_, usize>, lens: &mut [ObjectLen]) -> Result<()> {
    let (i, answer) = reads.wait()?;
    lens[i] = Some(answer.map(|answer| answer.map(|answer| answer.object_size)));
    Ok(())
}

/// What is known of objects while chunks are located: an index that several chunks share is read once, and the length
/// of a file that many of them are in is asked for once.
struct Known {
    indices: Indices,
    /// The file that was asked for last, and its length.
    file: Option<(Dims<isize>, u64)>,
}

/// What is asked for: a chunk that an index has, from this byte on.
struct Wanted<'w> {
    index: &'w Dims<isize>,
    number: usize,
    offset: u64,
}

/// What has become of an index.
enum Found {
    Opened(Shared<Opened>),
    /// The format keeps it.
    Kept,
    /// There is no object.
    Missing,
    /// The object was another one at one step than at another.
    Changed,
}

/// Reads what a step asks for, and tells the object's state; `None` if there is no object.
fn read_step(step: &Step, source: &Source<'_>) -> Result<(Vec<u8>, Option<ObjectState>)> {
    if step.len > LONG_STEP {
        // What is shorter than the index is said to be has none.
        match source.read(ByteRange::At(0), &mut Buffer::new(&mut []))? {
            Some((len, _)) if len >= step.len as u64 => {}
            other => return Ok((Vec::new(), other)),
        }
    }
    object::filled(step.len, |buffer| source.read(step.begin, buffer))
}

/// What an object is read from.
enum Source<'s> {
    /// An open object, which stays what it is whoever replaces it in the storage.
    Open(&'s OpenObject<'s>),
    /// What has the object's name when it is read.
    Name(&'s Storage, &'s Name),
}

impl Source<'_> {
    /// Reads a part of the object, and tells the object's length and its version; `None` if there is no such object.
    fn read(&self, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        match self {
            Source::Open(object) => object::read_opened(object, begin, buffer).map(Some),
            Source::Name(storage, name) => storage.read_version(name, begin, buffer),
        }
    }
}

impl<L: Locate + 'static> ChunkReader for ObjectChunks<L> {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let offset = request.offset();
        if request.access() == Access::Write {
            let name = self.locate.name(request.chunk())?;
            return Ok(whole(self.storage.read(&name, ByteRange::At(offset as u64), buffer)?, offset));
        }
        let location = self.location(request.chunk())?;
        match location.part {
            Part::Known(None) => Ok(Filled::Absent),
            Part::Known(Some((begin, len))) => {
                let skipped = len.min(offset as u64);
                let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
                self.read_part(&location.object, begin + skipped, stored, buffer, stored)
            }
            Part::Unknown => Err(ErrorKind::Internal.into()),
            Part::Whole => {
                let name = self.locate.name(&location.object)?;
                Ok(whole(self.storage.read(&name, ByteRange::At(offset as u64), buffer)?, offset))
            }
            Part::Span { begin, end } => {
                let at = begin.checked_add(offset as u64).ok_or(ErrorKind::Internal)?;
                let (there, len) = (usize::try_from(end.saturating_sub(at)).unwrap_or(usize::MAX), buffer.capacity());
                let filled = self.read_part(&location.object, at, there, buffer, len)?;
                if filled != Filled::Absent {
                    buffer.skip(len - buffer.filled().len());
                }
                Ok(filled)
            }
            Part::Indexed { .. } => self.read_indexed(&location, offset, buffer),
        }
    }

    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        let Location { object, part } = self.location(request.chunk())?;
        match part {
            Part::Known(None) => Ok(Opening::Absent),
            Part::Known(Some((begin, len))) => Ok(match self.storage.open(&self.locate.name(&object)?)? {
                Opening::Absent => self.locate.missing(&object).map(|_| Opening::Absent)?,
                Opening::Nothing => Opening::Nothing,
                Opening::Object(object) => Opening::Object(object.part(begin, len)),
            }),
            Part::Unknown => Err(ErrorKind::Internal.into()),
            Part::Whole => self.storage.open(&self.locate.name(&object)?),
            Part::Span { begin, .. } => match self.storage.open(&self.locate.name(&object)?)? {
                Opening::Absent => self.locate.missing(&object).map(|_| Opening::Absent),
                opening => Ok(opening.behind(begin)),
            },
            Part::Indexed { number } => self.open_indexed(&object, number),
        }
    }

    fn verify(&self, request: &Request<'_>) -> Result<()> {
        let object = match request.access() {
            Access::Read => self.locate.locate(request.chunk())?.object,
            Access::Write => dims::copied(request.chunk().iter().copied())?,
        };
        self.storage.verify(&self.locate.name(&object)?)
    }

    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        self.locate.skipped_codecs(chunk)
    }

    fn own_codecs(&self, chunk: &[isize]) -> Option<&Chain<'_>> {
        self.locate.own_codecs(chunk)
    }

    /// A `Box<dyn Locate>`, whatever the format.
    fn into_any(self: Box<Self>) -> Result<Box<dyn Any>>
    where
        Self: 'static,
    {
        let locate: Box<dyn Locate> = try_box(self.locate)?;
        Ok(try_box(locate)?)
    }

    fn range_gap(&self) -> Option<usize> {
        Some(if self.locate.reads_no_gaps() { 0 } else { coalesce::gap_within_chunk(&self.storage) })
    }

    fn swapped_part(&self) -> Option<usize> {
        self.locate.swapped_part()
    }

    fn versions(&self) -> Versions {
        if self.locate.is_constant() { Versions::Constant } else { self.storage.versions() }
    }

    fn tells_len(&self) -> bool {
        self.locate.tells_len()
    }

    fn is_concurrent(&self) -> bool {
        self.storage.is_concurrent() && self.locate.is_concurrent()
    }

    fn is_writable(&self) -> bool {
        self.locate.is_writable() && self.storage.is_writable()
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let stored = self.storage.write(&self.locate.name(request.chunk())?, bytes);
        self.indices.forget(request.chunk());
        stored
    }

    fn in_flight(&self) -> Option<&dyn InFlight> {
        (self.has_latency() || self.locate.has_indices()).then_some(self)
    }

    fn counting(&self) -> Option<&dyn InFlight> {
        Some(self)
    }

    fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        let mut projections = Dims::new();
        dims::fill(&mut projections, plan.rank(), Projection::default())?;
        let mut indices = Dims::new();
        dims::fill(&mut indices, plan.rank(), 0)?;
        let mut known = Known { indices: Indices::new(self.locate.index_len()), file: None };
        let mut lens = Vec::new();
        for i in 0..plan.num_chunks() {
            if i % LOCATED == 0 {
                lens = self.lens(plan, i..plan.num_chunks().min(i.saturating_add(LOCATED)))?;
            }
            plan.chunk(i, &mut projections)?;
            indices.iter_mut().zip(&projections).for_each(|(index, projection)| *index = projection.chunk_index);
            let location = self.location(&indices).map_err(|error| error.in_chunk(&indices))?;
            let name = self.locate.name(&location.object)?;
            let len = lens.get_mut(i % LOCATED).and_then(Option::take);
            let state = self.state(&location, &name, len, &mut known).map_err(|error| error.in_chunk(&indices))?;
            self.storage.tell_name(&name, &mut |object| one(&ChunkLocation::new(&indices, object, state)))?;
        }
        Ok(())
    }
}

impl<L: Locate> InFlight for ObjectChunks<L> {
    fn has_latency(&self) -> bool {
        object::latency(&*self.storage).is_some()
    }

    fn stores(&self) -> bool {
        self.storage.flight().is_some_and(|flight| flight.writes())
    }

    fn begin<'s, 'f: 's>(&'f self, sharing: &'s Sharing<'f>) -> Result<Box<dyn Flight + 's>> {
        Ok(try_box(ChunkFlight::new(&self.locate, &self.indices, &self.storage, sharing)?)?)
    }
}

/// What there is of a chunk that is a whole object, of so many bytes, from an offset on.
fn whole(len: Option<u64>, offset: usize) -> Filled {
    let stored = |len: u64| usize::try_from(len.saturating_sub(offset as u64)).unwrap_or(usize::MAX);
    len.map_or(Filled::Absent, |len| Filled::Stored(stored(len)))
}

#[cfg(all(test, not(miri), feature = "codecs", feature = "zip"))]
mod tests;
