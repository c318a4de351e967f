//! The chunks within shards: each is a range of an object, which the shard's index tells.
#![allow(unsafe_code)]

use super::flight::{LONG_INDEX, ShardFlight};
use super::indices::{Indices, Opened};
use super::layout::{Layout, corrupt};
use crate::alloc::{Failed, try_box};
use crate::buffer::Buffer;
use crate::dims::Dims;
use crate::error::{ErrorKind, Result};
use crate::grid::Access;
use crate::object::{self, Begin};
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

    /// Reads a chunk or a part of it.
    fn read(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let (shard, number) = self.layout.locate(request.chunk())?;
        let (place, name) = (&self.shards.place, self.shards.names.name(&shard)?);
        let wanted = Wanted { number, offset: request.offset() as u64 };
        let read_in_place = |begin: Begin, buffer: &mut Buffer<'_>| place.read_version(&name, begin, buffer);
        if let Some(opened) = self.indices.get(&shard) {
            if let Some(filled) = self.read_chunk(&opened, &wanted, buffer, &read_in_place)? {
                return Ok(filled);
            }
            self.indices.forget(&shard);
        }
        for _ in 0..2 {
            // From one file, if the shard is one: then it does not matter who replaces the shard meanwhile.
            let found = match place.open(&name)? {
                Opening::Absent => return Ok(Filled::Absent),
                Opening::Nothing => self.read_anew(&shard, &wanted, buffer, &read_in_place)?,
                Opening::File(file) => self.read_anew(&shard, &wanted, buffer, &|begin, buffer| {
                    object::read_opened(&file, begin, buffer).map(Some)
                })?,
            };
            if let Some(filled) = found {
                return Ok(filled);
            }
        }
        Err(corrupt("the shard changed while it was read"))
    }

    /// Reads a shard's index, and then [a chunk](Self::read_chunk).
    fn read_anew(
        &self,
        shard: &Dims<isize>,
        wanted: &Wanted,
        buffer: &mut Buffer<'_>,
        read: &Read<'_>,
    ) -> Result<Option<Filled>> {
        let forgotten = self.indices.forgotten();
        let Some(opened) = self.read_index(read)? else { return Ok(Some(Filled::Absent)) };
        let opened = Shared::new(opened)?;
        self.indices.keep(crate::dims::copied(shard.iter().copied())?, &opened, forgotten)?;
        self.read_chunk(&opened, wanted, buffer, read)
    }

    fn read_index(&self, read: &Read<'_>) -> Result<Option<Opened>> {
        let len = self.layout.index_bytes();
        let begin = if self.layout.index_is_at_start() { Begin::At(0) } else { Begin::BeforeEnd(len as u64) };
        if len > LONG_INDEX {
            match read(Begin::At(0), &mut Buffer::new(&mut []))? {
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
        let Some((shard_len, version)) = read(begin, &mut buffer)? else { return Ok(None) };
        Ok(Some(Opened { index: self.layout.decode(buffer.filled())?, shard_len, version }))
    }

    /// Reads a chunk or a part of it; `None` if the shard is not any more what its index was read from.
    fn read_chunk(
        &self,
        opened: &Opened,
        wanted: &Wanted,
        buffer: &mut Buffer<'_>,
        read: &Read<'_>,
    ) -> Result<Option<Filled>> {
        let is_same = |found| found == Some((opened.shard_len, opened.version));
        let Some((offset, len)) = opened.index.place(&self.layout, wanted.number, opened.shard_len)? else {
            return Ok(is_same(read(Begin::At(0), &mut Buffer::new(&mut []))?).then_some(Filled::Absent));
        };
        let skipped = wanted.offset.min(len);
        let stored = usize::try_from(len - skipped).unwrap_or(usize::MAX);
        // What follows belongs to another chunk.
        let mut part = buffer.rest_up_to(stored);
        let found = read(Begin::At(offset + skipped), &mut part)?;
        let (filled, due) = (part.filled().len(), part.capacity());
        if !is_same(found) || filled != due {
            return Ok(None);
        }
        // SAFETY: so many bytes of the buffer's beginning have been filled.
        unsafe { buffer.set_filled(filled) };
        Ok(Some(Filled::Stored(stored)))
    }
}

/// What is asked for: a chunk of a shard, from this byte on.
struct Wanted {
    number: usize,
    offset: u64,
}

/// Reads from a shard, and tells its length and its version; `None` if there is no such shard.
type Read<'r> = dyn Fn(Begin, &mut Buffer<'_>) -> Result<Option<(u64, u128)>> + 'r;

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
