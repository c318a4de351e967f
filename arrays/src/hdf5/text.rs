//! Variable-length strings: a chunk says where each is in a global heap.

use std::mem::MaybeUninit;

use super::attribute::heap_id;
use super::bytes::{Cursor, Sizes, malformed};
use super::file::File;
use super::heap::{self, Collection, Collections, HeapId};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Access;
use crate::limits::Limit;
use crate::lock::Lock;
use crate::object::{ByteRange, Storage, filled};
use crate::plan::Plan;
use crate::shared::Shared;
use crate::store::{ChunkLocation, ChunkReader, ChunkStore, Fetched, Filled, Request};

/// A reader of chunks of texts: it gives them as Zarr's `vlen-utf8` has them.
pub(super) struct HeapTexts {
    /// The chunks as they are stored.
    chunks: ChunkStore<'static>,
    chunk_bytes: usize,
    storage: Storage,
    file: String,
    file_len: u64,
    base: u64,
    sizes: Sizes,
    limit: Limit,
    kept: Lock<Collections>,
}

impl HeapTexts {
    pub(super) fn new(chunks: ChunkStore<'static>, chunk_bytes: usize, file: &File) -> Result<Self> {
        Ok(HeapTexts {
            chunks,
            chunk_bytes,
            storage: file.storage.clone(),
            file: alloc::text(&file.name)?,
            file_len: file.len,
            base: file.base,
            sizes: file.sizes,
            limit: file.storage.memory_limits().string_chunk(),
            kept: Lock::new(Collections::default()),
        })
    }

    /// The bytes of a chunk as they are stored, decoded; `None` for an absent chunk.
    fn stored(&self, request: &Request<'_>) -> Result<Option<Vec<u8>>> {
        self.limit.check(self.chunk_bytes)?;
        let request = Request::new(request.chunk(), Access::Read, self.chunk_bytes);
        let mut memory = alloc::filled(self.chunk_bytes, MaybeUninit::uninit())?;
        let mut buffer = Buffer::new(&mut memory);
        let mut workspace = self.chunks.workspace()?;
        Ok(match self.chunks.fetch(&request, 0..self.chunk_bytes, &mut buffer, &mut workspace.encoded)? {
            Fetched::Absent => None,
            Fetched::Filled => Some(alloc::copied(buffer.filled())?),
            Fetched::Bytes(bytes) => Some(alloc::copied(bytes)?),
        })
    }

    /// A collection. `left` is how many bytes of collections may still be read for a chunk, which are no more than the
    /// file has unless some overlap.
    fn collection(&self, address: u64, left: &mut u64) -> Result<Shared<Collection>> {
        if let Some(found) = self.kept.lock().and_then(|kept| kept.get(address)) {
            return Ok(found);
        }
        let beginning = self.read(address, Collection::beginning(self.sizes) as u64)?;
        let len = Collection::len(&beginning, self.sizes)?;
        *left = left.checked_sub(len).ok_or_else(|| malformed("the collections of a global heap overlap"))?;
        let found = Shared::new(Collection::new(self.read(address, len)?, self.sizes)?)?;
        if let Some(mut kept) = self.kept.lock() {
            kept.keep(address, &found)?;
        }
        Ok(found)
    }

    fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let begin = address.checked_add(self.base).ok_or(ErrorKind::Truncated)?;
        if begin.checked_add(len).is_none_or(|end| end > self.file_len) {
            return Err(ErrorKind::Truncated.into());
        }
        let len = usize::try_from(len).map_err(|_| ErrorKind::OutOfMemory)?;
        self.limit.check(len)?;
        let (bytes, now) = filled(len, |buffer| self.storage.read(&self.file, ByteRange::At(begin), buffer))?;
        if now == Some(self.file_len) && bytes.len() == len { Ok(bytes) } else { Err(ErrorKind::Changed.into()) }
    }

    /// The chunk of texts that stored bytes stand for.
    fn texts(&self, stored: &[u8]) -> Result<Vec<u8>> {
        let size = 8 + self.sizes.address;
        let num_texts = stored.len() / size;
        // Those that have some bytes.
        let mut found = alloc::room(num_texts)?;
        for (i, bytes) in stored.chunks_exact(size).enumerate() {
            if let (len @ 1.., Some(HeapId { address, number })) = heap_id(&mut Cursor::new(bytes, self.sizes))? {
                let i = u32::try_from(i).map_err(|_| too_many())?;
                alloc::push(&mut found, Text { at: address, i, number, len })?;
            }
        }
        // Texts of one collection come together, so that none is read twice.
        found.sort_unstable_by_key(|text| (text.at, text.i));
        let (mut texts, mut left) = (Vec::new(), self.file_len);
        for together in found.chunk_by_mut(|one, other| one.at == other.at) {
            let Some(Text { at: address, .. }) = together.first() else { continue };
            let heap = self.collection(*address, &mut left)?;
            for Text { at, number, len, .. } in together {
                let text = heap.get(*number)?.get(..*len as usize);
                let text = text.ok_or_else(|| malformed("a string is longer than its object"))?;
                // One of C's ends with the first zero.
                let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                self.limit.check(texts.len().saturating_add(text.len()))?;
                (*at, *len) = (texts.len() as u64, text.len() as u32);
                alloc::extend(&mut texts, text)?;
            }
        }
        let len = num_texts.saturating_add(1).saturating_mul(4).saturating_add(texts.len());
        self.limit.check(len)?;
        let mut chunk = alloc::room(len)?;
        alloc::extend(&mut chunk, &count(num_texts)?)?;
        found.sort_unstable_by_key(|text| text.i);
        let mut found = found.iter().peekable();
        for i in 0..num_texts {
            let text = found.next_if(|text| text.i as usize == i).map_or(Some(&[][..]), |text| {
                let begin = usize::try_from(text.at).ok()?;
                texts.get(begin..begin.checked_add(text.len as usize)?)
            });
            let text = text.ok_or(ErrorKind::Internal)?;
            alloc::extend(&mut chunk, &count(text.len())?)?;
            alloc::extend(&mut chunk, text)?;
        }
        Ok(chunk)
    }
}

/// A text of a chunk, of which there may be millions.
struct Text {
    /// Its collection, and once it was found where it begins among the texts.
    at: u64,
    /// Its number in the chunk.
    i: u32,
    /// Its number in the collection.
    number: u32,
    len: u32,
}

#[cold]
fn too_many() -> Error {
    malformed("the chunk has more than 2^32 - 1 strings or bytes")
}

fn count(number: usize) -> Result<[u8; 4]> {
    let number = u32::try_from(number).map_err(|_| too_many())?;
    Ok(number.to_le_bytes())
}

impl ChunkReader for HeapTexts {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let Some(stored) = self.stored(request)? else { return Ok(Filled::Absent) };
        let chunk = self.texts(&stored)?;
        buffer.write(&chunk[..chunk.len().min(buffer.capacity())]);
        Ok(Filled::Stored(chunk.len()))
    }

    fn is_concurrent(&self) -> bool {
        self.chunks.is_concurrent()
    }

    fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        self.chunks.locate(plan, one)
    }
}

/// A fill value of texts, which says where a text is: the text, with a zero behind it. An empty one is nowhere.
pub(super) fn fill_value(file: &super::file::File, value: Option<&[u8]>) -> Result<Option<Vec<u8>>> {
    let Some(value) = value else { return Ok(None) };
    let (len, id) = heap_id(&mut Cursor::new(value, file.sizes))?;
    let mut heap = None;
    let text = match id.filter(|_| len > 0) {
        Some(HeapId { address, number }) => heap.insert(heap::collection(file, address)?).get(number)?,
        None => &[],
    };
    let text = text.get(..len as usize).unwrap_or_default();
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    std::str::from_utf8(text).map_err(|_| Error::from(ErrorKind::Unsupported("a fill value that is not UTF-8")))?;
    let mut text = alloc::copied(text)?;
    alloc::push(&mut text, 0)?;
    Ok(Some(text))
}
