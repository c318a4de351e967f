//! The chunks within shards: each is a range of an object, which the shard's index tells.
#![allow(unsafe_code)]

use super::flight::{LONG_INDEX, ShardFlight};
use super::indices::{Indices, Opened};
use super::layout::{ATTEMPTS, CHANGED, Layout, corrupt};
use crate::alloc::{Failed, try_box};
use crate::buffer::Buffer;
use crate::dims::Dims;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::object::{self, Begin, Name, Place};
use crate::open_object::{ObjectState, OpenObject, Opening, Versions};
use crate::shared::Shared;
use crate::store::{Fill, Filled, Flight, Request};
use crate::zarr::chunks::Chunks;

/// The chunks of an array that is stored in shards. Chunks are read one by one; shards are written as a whole, and read
/// so to be changed.
pub(crate) struct ShardedChunks {
    shards: Chunks,
    layout: Shared<Layout>,
    indices: Indices,
}

impl ShardedChunks {
    pub(crate) fn new(shards: Chunks, layout: Shared<Layout>) -> Self {
        let indices = Indices::new(&layout);
        ShardedChunks { shards, layout, indices }
    }

    /// Reads a chunk or a part of it.
    fn read(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (shard, number) = self.layout.locate(request.chunk())?;
        let (place, name) = (&self.shards.place, self.shards.names.name(&shard)?);
        let wanted = Wanted { number, offset: request.offset() as u64 };
        let by_name = Source::Name(place, &name);
        if let Some(opened) = self.indices.get(&shard) {
            if let Some(filled) = self.read_chunk(&opened, &wanted, buffer, &by_name)? {
                return Ok(filled);
            }
            self.indices.forget(&shard);
        }
        for _ in 0..ATTEMPTS {
            // From one object, if it can be opened: then it does not matter who replaces the shard meanwhile.
            let found = match place.open(&name)? {
                Opening::Absent => return Ok(Filled::Absent),
                Opening::Nothing => self.read_anew(&shard, &wanted, buffer, &by_name)?,
                Opening::Object(object) => self.read_anew(&shard, &wanted, buffer, &Source::Open(&object))?,
            };
            if let Some(filled) = found {
                return Ok(filled);
            }
        }
        Err(corrupt(CHANGED))
    }

    /// Opens a chunk, all of which is then read from one version of its shard.
    fn open_chunk(&self, chunk: &[isize]) -> Result<Opening<'_>> {
        let (shard, number) = self.layout.locate(chunk)?;
        let Opening::Object(object) = self.shards.place.open(&self.shards.names.name(&shard)?)? else {
            return Ok(Opening::Nothing);
        };
        let state = object.state().ok_or(ErrorKind::Internal)?;
        let is_known = |opened: &Shared<Opened>| state.1.is_some() && opened.state == state;
        let opened = match self.indices.get(&shard).filter(is_known) {
            Some(opened) => opened,
            None => {
                let forgotten = self.indices.forgotten();
                let opened = self.read_index(&Source::Open(&object))?.ok_or(ErrorKind::Internal)?;
                let opened = Shared::new(opened)?;
                self.keep(shard, &opened, forgotten)?;
                opened
            }
        };
        Ok(match opened.index.place(&self.layout, number, state.0)? {
            Some((offset, len)) => Opening::Object(object.part(offset, len)),
            None => Opening::Absent,
        })
    }

    /// Reads a shard's index, and then [a chunk](Self::read_chunk).
    fn read_anew(
        &self,
        shard: &Dims<isize>,
        wanted: &Wanted,
        buffer: &mut Buffer<'_>,
        source: &Source<'_>,
    ) -> Result<Option<Filled>> {
        let forgotten = self.indices.forgotten();
        let Some(opened) = self.read_index(source)? else { return Ok(Some(Filled::Absent)) };
        let opened = Shared::new(opened)?;
        self.keep(crate::dims::copied(shard.iter().copied())?, &opened, forgotten)?;
        self.read_chunk(&opened, wanted, buffer, source)
    }

    /// Keeps an index for later calls, if it will be known whether the shard is the same then.
    fn keep(&self, shard: Dims<isize>, opened: &Shared<Opened>, forgotten: u64) -> Result<()> {
        if opened.state.1.is_some() { self.indices.keep(shard, opened, forgotten) } else { Ok(()) }
    }

    fn read_index(&self, source: &Source<'_>) -> Result<Option<Opened>> {
        let len = self.layout.index_bytes();
        if len > LONG_INDEX {
            match source.read(Begin::At(0), &mut Buffer::new(&mut []))? {
                None => return Ok(None),
                Some((shard_len, _)) if shard_len < len as u64 => {
                    return Err(corrupt("the shard is shorter than its index"));
                }
                Some(_) => {}
            }
        }
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Failed)?;
        let mut buffer = Buffer::new(&mut bytes.spare_capacity_mut()[..len]);
        let Some(state) = source.read(self.layout.index_begin(), &mut buffer)? else { return Ok(None) };
        Ok(Some(Opened { index: self.layout.decode(buffer.filled())?, state }))
    }

    /// Reads a chunk or a part of it; `None` if the shard is not any more what its index was read from.
    fn read_chunk(
        &self,
        opened: &Opened,
        wanted: &Wanted,
        buffer: &mut Buffer<'_>,
        source: &Source<'_>,
    ) -> Result<Option<Filled>> {
        let (shard_len, _) = opened.state;
        let Some((offset, len)) = opened.index.place(&self.layout, wanted.number, shard_len)? else {
            let found = source.read(Begin::At(0), &mut Buffer::new(&mut []))?;
            return Ok(self.is_same(opened, wanted.number, found, source)?.then_some(Filled::Absent));
        };
        let skipped = wanted.offset.min(len);
        let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
        // What follows belongs to another chunk.
        let mut part = buffer.rest_up_to(stored);
        let found = source.read(Begin::At(offset + skipped), &mut part)?;
        let (filled, due) = (part.filled().len(), part.capacity());
        if filled != due || !self.is_same(opened, wanted.number, found, source)? {
            return Ok(None);
        }
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Some(Filled::Stored(stored)))
    }

    /// Whether a chunk that was read from a shard in this state is the one that the index told of. Where the shard is
    /// not open and no version is known, the index is read once more, and has to say the same.
    fn is_same(&self, opened: &Opened, number: usize, found: Option<ObjectState>, source: &Source<'_>) -> Result<bool> {
        if found != Some(opened.state) {
            return Ok(false);
        }
        if opened.state.1.is_some() || matches!(source, Source::Open(_)) {
            return Ok(true);
        }
        let now = self.read_index(source)?;
        Ok(now.is_some_and(|now| {
            now.state == opened.state && now.index.places.get(number) == opened.index.places.get(number)
        }))
    }
}

/// What is asked for: a chunk of a shard, from this byte on.
struct Wanted {
    number: usize,
    offset: u64,
}

/// What a shard is read from.
enum Source<'s> {
    /// An open object, which stays what it is whoever replaces the shard.
    Open(&'s OpenObject<'s>),
    /// What has the shard's name when it is read.
    Name(&'s Place, &'s Name),
}

impl Source<'_> {
    /// Reads a part of the shard, and tells the shard's length and its version; `None` if there is no such shard.
    fn read(&self, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        match self {
            Source::Open(object) => object::read_opened(object, begin, buffer).map(Some),
            Source::Name(place, name) => place.read_version(name, begin, buffer),
        }
    }
}

impl Fill for ShardedChunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        if request.access() == Access::Write {
            return self.shards.fill(request, buffer);
        }
        self.read(request, buffer)
    }

    fn range_gap(&self) -> Option<usize> {
        self.shards.range_gap()
    }

    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        self.open_chunk(request.chunk())
    }

    fn versions(&self) -> Versions {
        self.shards.versions()
    }

    fn tells_len(&self) -> bool {
        true
    }

    fn verify(&self, request: &Request<'_>) -> Result<()> {
        match request.access() {
            Access::Read => self.shards.place.verify(&self.shards.names.name(&self.layout.locate(request.chunk())?.0)?),
            Access::Write => self.shards.verify(request),
        }
    }

    fn is_concurrent(&self) -> bool {
        self.shards.is_concurrent()
    }

    fn is_writable(&self) -> bool {
        self.shards.is_writable()
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        let stored = self.shards.store(request, bytes);
        self.indices.forget(request.chunk());
        stored
    }

    fn has_latency(&self) -> bool {
        self.shards.has_latency()
    }

    fn flight(&self) -> Result<Box<dyn Flight + '_>> {
        let flight = self.shards.place.flight().ok_or(ErrorKind::Internal)?;
        let of = (&self.shards.names, &*self.layout, &self.indices);
        let (prefix, gap) = (self.shards.place.flight_prefix(), self.shards.place.gap());
        Ok(try_box(ShardFlight::new(of, (flight, prefix), gap))?)
    }
}
