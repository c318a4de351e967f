//! zstd, both ways.
//!
//! A frame's header may claim any size. Nothing is allocated by it: a frame is decoded into a buffer of the chunk's size
//! and must fill it exactly.
#![allow(unsafe_code)]

use std::ptr::NonNull;

use zstd_sys as sys;

use super::pool::Pool;
use super::{Buffer, Fill, Filled, Lent, Loan, Reader};
use crate::alloc::{self, Scratch};
use crate::error::{ErrorKind, Result};

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// zstd's level; 0 is its default. What zstd does not know is taken for the nearest it does.
    pub level: i32,
    /// Whether a checksum follows the data.
    pub checksum: bool,
}

impl Default for Compression {
    fn default() -> Self {
        Compression { level: 0, checksum: true }
    }
}

/// A reader of compressed chunks, and what turns them into chunks and back.
pub(crate) struct Zstd<'r> {
    inner: Reader<'r>,
    compression: Compression,
    workspace: Pool<Workspace>,
}

impl<'r> Zstd<'r> {
    pub(crate) fn new(inner: Reader<'r>, compression: Compression) -> Self {
        Zstd { inner, compression, workspace: Pool::new() }
    }

    /// Runs `body` with a workspace, which is kept for the next chunk.
    fn with_workspace<T>(&self, body: impl FnOnce(&mut Workspace) -> Result<T>) -> Result<T> {
        let mut workspace = self.workspace.take().unwrap_or_default();
        let result = body(&mut workspace);
        self.workspace.put(workspace);
        result
    }
}

impl Fill for Zstd<'_> {
    fn fill(&self, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        self.with_workspace(|workspace| workspace.fetch(&self.inner, chunk, buffer))
    }

    fn is_concurrent(&self) -> bool {
        self.inner.is_concurrent()
    }

    fn is_writable(&self) -> bool {
        matches!(&self.inner, Reader::Filling(inner) if inner.is_writable())
    }

    fn store(&self, chunk: &[isize], bytes: &[u8]) -> Result<()> {
        let Reader::Filling(inner) = &self.inner else { return Err(ErrorKind::ReadOnly.into()) };
        self.with_workspace(|workspace| {
            let room = alloc::room(&mut workspace.compressed, compress_bound(bytes.len()))?;
            let mut frame = Buffer::new(room);
            lazily(&mut workspace.encoder, Encoder::new)?.encode(bytes, self.compression, &mut frame)?;
            inner.store(chunk, frame.filled())
        })
    }
}

/// What decoding and encoding need, each made when it is first needed and kept between chunks.
#[derive(Default)]
struct Workspace {
    decoder: Option<Decoder>,
    encoder: Option<Encoder>,
    compressed: Scratch,
}

/// What is there, or is made now.
fn lazily<T>(place: &mut Option<T>, make: impl FnOnce() -> Result<T>) -> Result<&mut T> {
    if place.is_none() {
        *place = Some(make()?);
    }
    place.as_mut().ok_or(ErrorKind::Internal.into())
}

impl Workspace {
    fn fetch(&mut self, inner: &Reader<'_>, chunk: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
        let decoder = lazily(&mut self.decoder, Decoder::new)?;
        match inner {
            Reader::Lending(lender) => match Loan::take(lender.as_ref(), chunk)?.lent {
                Lent::Chunk(frames) => decoder.decode(frames, buffer),
                Lent::Absent | Lent::FillValues(_) => Ok(Filled::Absent),
            },
            Reader::Filling(filler) => {
                // Room for any chunk that was compressed in one go. One in many small frames can need more: then the
                // reader says so, and is asked once more.
                let mut room = compress_bound(buffer.capacity());
                for _ in 0..2 {
                    let mut compressed = Buffer::new(alloc::room(&mut self.compressed, room)?);
                    let Filled::Stored(stored) = filler.fill(chunk, &mut compressed)? else {
                        return Ok(Filled::Absent);
                    };
                    let found = compressed.filled().len();
                    if stored == found {
                        return decoder.decode(compressed.filled(), buffer);
                    }
                    if stored <= room {
                        return Err(ErrorKind::ChunkLength { found, expected: stored }.into());
                    }
                    room = stored;
                }
                Err(ErrorKind::Zstd("the compressed chunk changed its size while it was read").into())
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
        let capacity = buffer.capacity();
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
        match check(decoded) {
            Ok(decoded) => {
                // SAFETY: on success zstd has written `decoded` bytes, at most `capacity`.
                unsafe { buffer.set_filled(decoded) };
                Ok(Filled::Stored(decoded))
            }
            Err(sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall) => {
                Err(ErrorKind::DecodedLength { expected: capacity }.into())
            }
            Err(code) => Err(error(code)),
        }
    }
}

/// What a zstd function returned: a result or an error.
fn check(result: usize) -> Result<usize, sys::ZSTD_ErrorCode> {
    // SAFETY: both functions take any value that a zstd function returned.
    unsafe { if sys::ZSTD_isError(result) == 0 { Ok(result) } else { Err(sys::ZSTD_getErrorCode(result)) } }
}

fn error(code: sys::ZSTD_ErrorCode) -> crate::error::Error {
    if code == sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation {
        return ErrorKind::OutOfMemory.into();
    }
    // SAFETY: the function takes any error code and returns a static text.
    let words = unsafe { std::ffi::CStr::from_ptr(sys::ZSTD_getErrorString(code)) };
    ErrorKind::Zstd(words.to_str().unwrap_or("unknown")).into()
}

impl Drop for Decoder {
    fn drop(&mut self) {
        // SAFETY: the context is alive and dropped once.
        unsafe { sys::ZSTD_freeDCtx(self.0.as_ptr()) };
    }
}

/// A compression context.
struct Encoder(NonNull<sys::ZSTD_CCtx>);

// SAFETY: as for `Decoder`.
unsafe impl Send for Encoder {}

impl Encoder {
    fn new() -> Result<Self> {
        // SAFETY: the function has no requirements; NULL stands for memory that could not be had.
        let context = unsafe { sys::ZSTD_createCCtx() };
        Ok(Encoder(NonNull::new(context).ok_or(ErrorKind::OutOfMemory)?))
    }

    /// Encodes a chunk as one frame into the buffer, which has room for any.
    fn encode(&mut self, chunk: &[u8], compression: Compression, buffer: &mut Buffer<'_>) -> Result<()> {
        use sys::ZSTD_cParameter::{ZSTD_c_checksumFlag, ZSTD_c_compressionLevel};
        let context = self.0.as_ptr();
        // SAFETY: the context is alive and not compressing.
        unsafe {
            check(sys::ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, compression.level)).map_err(error)?;
            check(sys::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, compression.checksum.into()))
                .map_err(error)?;
        }
        // SAFETY: the destination has room for `buffer.capacity()` bytes and the source holds `chunk.len()`.
        let encoded = unsafe {
            let (destination, room) = (buffer.as_mut_ptr().cast(), buffer.capacity());
            sys::ZSTD_compress2(context, destination, room, chunk.as_ptr().cast(), chunk.len())
        };
        let encoded = check(encoded).map_err(error)?;
        // SAFETY: on success zstd has written `encoded` bytes, no more than there is room for.
        unsafe { buffer.set_filled(encoded) };
        Ok(())
    }
}

impl Drop for Encoder {
    fn drop(&mut self) {
        // SAFETY: the context is alive and dropped once.
        unsafe { sys::ZSTD_freeCCtx(self.0.as_ptr()) };
    }
}

/// The most bytes that zstd makes of `len` bytes in one go (zstd.h, ZSTD_COMPRESSBOUND).
fn compress_bound(len: usize) -> usize {
    let small = if len < 128 << 10 { ((128 << 10) - len) >> 11 } else { 0 };
    len.saturating_add(len >> 8).saturating_add(small)
}
