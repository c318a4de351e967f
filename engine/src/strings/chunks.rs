//! A reader that lends chunks of texts, which are stored as bytes.
#![allow(unsafe_code)]

use std::ffi::c_char;

use super::owned::{ELEMENT, OwnedTexts};
use super::vlen;
use crate::error::{ErrorKind, Result};
use crate::plan::Plan;
use crate::store::{
    BorrowedChunk, BorrowedChunkMut, Change, ChunkLocation, ChunkStore, Request, Take, Taken, ZeroCopyReader,
};

/// The chunks of an array of texts.
pub struct TextChunks {
    /// The chunks as bytes of any length.
    bytes: ChunkStore<'static>,
    /// Why chunks cannot be written, if that is so.
    unwritable: Option<&'static str>,
}

/// A chunk that has been read: its bytes, and where the texts are in them.
struct Chunk {
    _bytes: Vec<u8>,
    texts: Vec<*const c_char>,
}

impl TextChunks {
    /// The texts in chunks that are stored as bytes. What is `unwritable` is refused with these words when it is
    /// written to.
    pub fn new(bytes: ChunkStore<'static>, unwritable: Option<&'static str>) -> Self {
        TextChunks { bytes, unwritable }
    }

    /// The chunk; `None` if there is none.
    fn chunk(&self, request: &Request<'_>) -> Result<Option<Chunk>> {
        let count = count(request);
        self.bytes.check_room(vlen::least(count))?;
        let Some(mut bytes) = self.bytes.fetch_any_length(request)? else { return Ok(None) };
        let texts = vlen::decode(&mut bytes, count)?;
        Ok(Some(Chunk { _bytes: bytes, texts }))
    }
}

/// How many texts a chunk has.
fn count(request: &Request<'_>) -> usize {
    request.chunk_bytes() / ELEMENT
}

impl ZeroCopyReader for TextChunks {
    fn lend<'t>(&self, request: &Request<'_>, take: Take<'t>) -> Result<Taken<'t>> {
        let Some(chunk) = self.chunk(request)? else { return take.give(BorrowedChunk::Absent) };
        // SAFETY: pointers have no padding, and nobody changes them.
        let elements =
            unsafe { std::slice::from_raw_parts(chunk.texts.as_ptr().cast(), size_of_val(chunk.texts.as_slice())) };
        take.give(BorrowedChunk::Chunk(elements))
    }

    fn stored_len(&self, request: &Request<'_>) -> Result<Option<usize>> {
        self.bytes.stored_len(request)
    }

    fn locate(&self, plan: &Plan<'_>, one: &mut dyn FnMut(&ChunkLocation<'_>) -> Result<()>) -> Result<()> {
        self.bytes.locate(plan, one)
    }

    fn set_verify(&mut self, verify: bool) {
        self.bytes.set_verify(verify);
    }

    fn is_concurrent(&self) -> bool {
        self.bytes.is_concurrent()
    }

    fn is_writable(&self) -> bool {
        self.bytes.is_writable()
    }

    fn change<'t>(&self, request: &Request<'_>, covered: bool, change: Change<'t>) -> Result<Taken<'t>> {
        if let Some(why) = self.unwritable {
            return Err(ErrorKind::Unsupported(why).into());
        }
        let count = count(request);
        self.bytes.check_room(vlen::least(count))?;
        let mut texts = OwnedTexts::new(count)?;
        let changed = match if covered { None } else { self.chunk(request)? } {
            Some(chunk) => {
                texts.duplicate(&chunk.texts)?;
                change.give(BorrowedChunkMut::Chunk(texts.as_bytes_mut()))?
            }
            None => change.give(BorrowedChunkMut::New(texts.as_bytes_mut()))?,
        };
        self.bytes.put_any_length(request, &vlen::encode(texts.iter())?)?;
        Ok(changed)
    }
}
