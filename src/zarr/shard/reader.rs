//! The chunks within shards: each is a range of an object, which the shard's index tells.
#![allow(unsafe_code)]

use super::flight::{LONG_INDEX, ShardFlight};
use super::indices::{Indices, Opened};
use super::layout::{Layout, corrupt};
use crate::alloc::{Failed, Scratch, try_box};
use crate::buffer::Buffer;
use crate::dims::Dims;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::object::Begin;
use crate::open_file::Opening;
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

    /// The index of a shard, and whether it was kept, so that the shard may be another one now; `None` if there is no
    /// such shard.
    fn open(&self, shard: &Dims<isize>) -> Result<Option<(Shared<Opened>, bool)>> {
        if let Some(opened) = self.indices.get(shard) {
            return Ok(Some((opened, true)));
        }
        let Some(opened) = self.read_index(shard)? else { return Ok(None) };
        let opened = Shared::new(opened)?;
        self.indices.keep(crate::dims::copied(shard.iter().copied())?, &opened)?;
        Ok(Some((opened, false)))
    }

    fn read_index(&self, shard: &[isize]) -> Result<Option<Opened>> {
        let Chunks { place, names } = &self.shards;
        let (name, len) = (names.name(shard)?, self.layout.index_bytes());
        let begin = if self.layout.index_is_at_start() { Begin::At(0) } else { Begin::BeforeEnd(len as u64) };
        if len > LONG_INDEX {
            match place.read(&name, Begin::At(0), &mut Buffer::new(&mut []))? {
                None => return Ok(None),
                Some(shard_len) if shard_len < len as u64 => {
                    return Err(corrupt("the shard is shorter than its index"));
                }
                Some(_) => {}
            }
        }
        let mut bytes: Vec<u8> = Vec::new();
        bytes.try_reserve_exact(len).map_err(|_| Failed)?;
        let mut buffer = Buffer::new(&mut bytes.spare_capacity_mut()[..len]);
        let Some((shard_len, version)) = place.read_version(&name, begin, &mut buffer)? else { return Ok(None) };
        Ok(Some(Opened { index: self.layout.decode(buffer.filled())?, shard_len, version }))
    }

    /// Reads a chunk or a part of it; `None` if the shard is not any more what its index was read from.
    fn read(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Option<Filled>> {
        let (shard, number) = self.layout.locate(request.chunk())?;
        let Some((opened, was_kept)) = self.open(&shard)? else { return Ok(Some(Filled::Absent)) };
        let (name, expected) = (self.shards.names.name(&shard)?, Some((opened.shard_len, opened.version)));
        let place = &self.shards.place;
        let Some((offset, len)) = opened.index.place(&self.layout, number, opened.shard_len)? else {
            if was_kept && place.read_version(&name, Begin::At(0), &mut Buffer::new(&mut []))? != expected {
                self.indices.forget(&shard);
                return Ok(None);
            }
            return Ok(Some(Filled::Absent));
        };
        let (skipped, stored) = part(request, len);
        // What follows belongs to another chunk.
        let mut part = buffer.rest_up_to(stored);
        let found = place.read_version(&name, Begin::At(offset + skipped), &mut part)?;
        let (filled, due) = (part.filled().len(), part.capacity());
        if found != expected || filled != due {
            self.indices.forget(&shard);
            return Ok(None);
        }
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Some(Filled::Stored(stored)))
    }
}

/// What is read if a shard is not any more what its index was read from.
impl ShardedChunks {
    /// Reads a chunk or a part of it, and the shard's index, from the same file, so that it does not matter who
    /// replaces the shard meanwhile. Where there are no files, [`read`](Self::read) tries once more.
    fn read_anew(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (shard, number) = self.layout.locate(request.chunk())?;
        let file = match self.shards.place.open(&self.shards.names.name(&shard)?)? {
            Opening::Absent => return Ok(Filled::Absent),
            Opening::File(file) => file,
            Opening::Nothing => return self.read(request, buffer)?.ok_or_else(changed),
        };
        let (Some((shard_len, version)), index_len) = (file.state, self.layout.index_bytes()) else {
            return Err(ErrorKind::Internal.into());
        };
        let Some(behind_chunks) = shard_len.checked_sub(index_len as u64) else {
            return Err(corrupt("the shard is shorter than its index"));
        };
        let mut bytes = Scratch::EMPTY;
        let mut index = Buffer::new(bytes.room(index_len)?);
        if !file.fill(if self.layout.index_is_at_start() { 0 } else { behind_chunks }, &mut index) {
            return Err(changed());
        }
        let opened = Shared::new(Opened { index: self.layout.decode(index.filled())?, shard_len, version })?;
        self.indices.keep(crate::dims::copied(shard.iter().copied())?, &opened)?;
        let Some((offset, len)) = opened.index.place(&self.layout, number, shard_len)? else {
            return Ok(Filled::Absent);
        };
        let (skipped, stored) = part(request, len);
        let mut part = buffer.rest_up_to(stored);
        if !file.fill(offset + skipped, &mut part) {
            return Err(changed());
        }
        let filled = part.filled().len();
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Filled::Stored(stored))
    }
}

fn changed() -> Error {
    corrupt("the shard changed while it was read")
}

/// How many bytes of a chunk of `len` a request skips, and how many it has from there on.
fn part(request: &Request<'_>, len: u64) -> (u64, usize) {
    let skipped = (request.offset() as u64).min(len);
    (skipped, usize::try_from(len - skipped).unwrap_or(usize::MAX))
}

impl Fill for ShardedChunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        if request.access() == Access::Write {
            return self.shards.fill(request, buffer);
        }
        match self.read(request, buffer)? {
            Some(filled) => Ok(filled),
            None => self.read_anew(request, buffer),
        }
    }

    fn range_gap(&self) -> Option<usize> {
        self.shards.range_gap()
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
        Ok(try_box(ShardFlight::new(of, flight, self.shards.place.gap()))?)
    }
}
