//! The zstd decoder.
//!
//! A frame's header may claim any size. Nothing is allocated by it: a frame is decoded into a buffer of the chunk's size
//! and must fill it exactly.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use zstd_sys as sys;

use super::pool::Pool;
use super::{Buffer, Fill, Filled, Lent, Loan, Reader};
use crate::error::{ErrorKind, Result};
use crate::memory::{self, Scratch};

/// A reader of compressed chunks and the decoder for them.
pub(crate) struct Decoding<'r> {
    inner: Reader<'r>,
    workspace: Pool<Workspace>,
}

impl<'r> Decoding<'r> {
    pub(crate) fn new(inner: Reader<'r>) -> Self {
        Decoding { inner, workspace: Pool::new() }
    }
}

impl Fill for Decoding<'_> {
    fn fill(&self, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        let mut workspace = match self.workspace.take() {
            Some(workspace) => workspace,
            None => Workspace { decoder: Decoder::new()?, compressed: Vec::new() },
        };
        let filled = workspace.fetch(&self.inner, chunk, buffer);
        self.workspace.put(workspace);
        filled
    }
}

/// What decoding needs, kept between chunks.
struct Workspace {
    decoder: Decoder,
    compressed: Scratch,
}

impl Workspace {
    fn fetch(&mut self, inner: &Reader<'_>, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        match inner {
            Reader::Lending(lender) => match Loan::take(lender.as_ref(), chunk)?.lent {
                Lent::Chunk(frames) => self.decoder.decode(frames, buffer),
                Lent::Absent | Lent::Fill(_) => Ok(Filled::Absent),
            },
            Reader::Filling(filler) => {
                // Room for any chunk that was compressed in one go. One in many small frames can need more: then the
                // reader says so, and is asked once more.
                let mut room = compress_bound(buffer.len());
                for _ in 0..2 {
                    let mut compressed = Buffer::new(memory::room(&mut self.compressed, room)?);
                    let Filled::Stored(stored) = filler.fill(chunk, &mut compressed)? else {
                        return Ok(Filled::Absent);
                    };
                    let found = compressed.filled().len();
                    if stored == found {
                        return self.decoder.decode(compressed.filled(), buffer);
                    }
                    if stored <= room {
                        return Err(ErrorKind::ChunkLength { found, expected: stored }.into());
                    }
                    room = stored;
                }
                Err(ErrorKind::Decode("its compressed size changed while it was read").into())
            }
        }
    }
}

/// A decompression context.
struct Decoder(NonNull<sys::ZSTD_DCtx>);

// SAFETY: a context belongs to whoever holds it and refers to no thread.
unsafe impl Send for Decoder {}

impl Decoder {
    fn new() -> Result<Self> {
        // SAFETY: the function has no requirements; NULL stands for memory that could not be had.
        let context = unsafe { sys::ZSTD_createDCtx() };
        Ok(Decoder(NonNull::new(context).ok_or(ErrorKind::OutOfMemory)?))
    }

    /// Decodes all frames into the buffer. That they fill it is for the caller of `fill` to check.
    fn decode(&mut self, frames: &[u8], buffer: &mut Buffer<'_>) -> Result<Filled> {
        let capacity = buffer.len();
        // SAFETY: the context is alive; the destination has room for `capacity` bytes and the source holds `frames.len()`.
        // zstd writes only to the destination, whatever the frames claim, and does not read it before it has.
        let decoded = unsafe {
            sys::ZSTD_decompressDCtx(
                self.0.as_ptr(),
                buffer.as_mut_ptr().cast(),
                capacity,
                frames.as_ptr().cast(),
                frames.len(),
            )
        };
        // SAFETY: both functions take any value that a zstd function returned.
        let error = unsafe { (sys::ZSTD_isError(decoded) != 0).then(|| sys::ZSTD_getErrorCode(decoded)) };
        match error {
            None => {
                // SAFETY: on success zstd has written `decoded` bytes, at most `capacity`.
                unsafe { buffer.set_filled(decoded) };
                Ok(Filled::Stored(decoded))
            }
            Some(sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => {
                Err(ErrorKind::DecodedLength { expected: capacity }.into())
            }
            Some(sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation) => Err(ErrorKind::OutOfMemory.into()),
            Some(code) => {
                // SAFETY: the function takes any error code and returns a static text.
                let words = unsafe { std::ffi::CStr::from_ptr(sys::ZSTD_getErrorString(code)) };
                Err(ErrorKind::Decode(words.to_str().unwrap_or("zstd")).into())
            }
        }
    }
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the context is alive and dropped once.
        unsafe { sys::ZSTD_freeDCtx(self.0.as_ptr()) };
    }
}

/// The most bytes that zstd makes of `len` bytes in one go (zstd.h, ZSTD_COMPRESSBOUND).
fn compress_bound(len: usize) -> usize {
    let small = if len < 128 << 10 { ((128 << 10) - len) >> 11 } else { 0 };
    len.saturating_add(len >> 8).saturating_add(small)
}
