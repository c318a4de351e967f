//! zstd.
//!
//! A frame's header may claim any size. Nothing is allocated by it: a frame is decoded into a buffer of the chunk's
//! size.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_uint};
use std::ops::Range;
use std::ptr::NonNull;

use zstd_sys as sys;

use super::definition::{Definition, Setting, Written, boxed};
use super::steps::Steps;
use super::traits::{Codec, named};
use crate::alloc::{OnePointer, Scratch};
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{Lease, Pool};

const NAME: &str = "zstd";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: NAME,
    settings: &[
        // The source is zstd.h: ZSTD_minCLevel, ZSTD_maxCLevel.
        Setting::integer("level", -131_072, 22, 0),
        // Readers of Zarr v2 refuse a checksum that they do not know.
        Setting::flag("checksum").written(Written::IfSet, Written::Always),
    ],
    is_netcdfs: |_, _| true,
    make: |settings, _, _| boxed(Zstd::new(settings.integer("level") as i32, settings.flag("checksum"))),
    filter: Some((32015, |parameters| match *parameters {
        [level] => boxed(Zstd::new(level as i32, true).of_known_size()).map(Some),
        _ => Ok(None),
    })),
    ..Definition::DEFAULT
}];

/// The parameters that follow from a level and a size: zstd.h, ZSTD_compressionParameters.
#[repr(C)]
#[derive(Clone, Copy)]
struct Parameters {
    window_log: c_uint,
    chain_log: c_uint,
    hash_log: c_uint,
    search_log: c_uint,
    min_match: c_uint,
    target_length: c_uint,
    strategy: c_uint,
}

// zstd.h has them for programs that are linked to a zstd of their own, as this library is.
unsafe extern "C" {
    fn ZSTD_getCParams(level: c_int, size: u64, dictionary_size: usize) -> Parameters;
    fn ZSTD_estimateCCtxSize_usingCParams(parameters: Parameters) -> usize;
}

/// The codec, with the contexts that it keeps between chunks.
pub struct Zstd {
    level: i32,
    checksum: bool,
    knows_size: bool,
    decoders: Pool<Decoder>,
    encoders: Pool<Encoder>,
}

impl Zstd {
    /// A codec that encodes with zstd's level `level`, of which 0 is zstd's default, and may add a checksum. Levels
    /// outside zstd's range are clamped to it.
    pub fn new(level: i32, checksum: bool) -> Self {
        Zstd { level, checksum, knows_size: false, decoders: Pool::new(), encoders: Pool::new() }
    }

    /// The same, of which a chunk is one frame that says how many bytes it holds, as HDF5's filter has it: anything
    /// else is refused.
    pub(crate) fn of_known_size(self) -> Self {
        Zstd { knows_size: true, ..self }
    }

    fn decode_frames(&self, frames: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let decoder = Lease::new(&self.decoders, Decoder::new)?;
        if needed.end <= decoded.capacity() / FEWER * (FEWER - 1) {
            decoder.decode_up_to(needed.end, frames, decoded)
        } else {
            decoder.decode(frames, decoded)
        }
    }
}

/// How many bytes the first frame says that it holds, if it says it.
fn size_of_first(frames: &[u8]) -> Option<u64> {
    /// zstd.h, ZSTD_CONTENTSIZE_ERROR and ZSTD_CONTENTSIZE_UNKNOWN are the two largest numbers.
    const ERROR: u64 = u64::MAX - 1;
    // SAFETY: zstd reads at most `frames.len()` bytes of the frames.
    let size = unsafe { sys::ZSTD_getFrameContentSize(frames.as_ptr().cast(), frames.len()) };
    (size < ERROR).then_some(size)
}

impl Default for Zstd {
    /// zstd's default level, with a checksum.
    fn default() -> Self {
        Zstd::new(0, true)
    }
}

impl Codec for Zstd {
    named!(NAME, in_numcodecs, says_too_little_room);

    /// The source is zstd.h, ZSTD_COMPRESSBOUND.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        const SMALL: usize = 128 << 10;
        decoded_size.saturating_add(decoded_size >> 8).saturating_add(SMALL.saturating_sub(decoded_size) >> 11)
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        if !self.knows_size {
            return self.decode_frames(encoded, needed, decoded);
        }
        let size = size_of_first(encoded).ok_or_else(|| corrupt("the frame does not record its decoded size"))?;
        let is_all = needed.end >= decoded.capacity();
        self.decode_frames(encoded, needed, decoded)?;
        if is_all && decoded.filled().len() as u64 != size {
            return Err(corrupt("the data has several frames"));
        }
        Ok(())
    }

    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        if !self.knows_size {
            return decode_in_steps(encoded, steps);
        }
        let size = size_of_first(encoded).ok_or_else(|| corrupt("the frame does not record its decoded size"))?;
        if steps.is_to_end() && size < steps.size() as u64 {
            return Err(corrupt("the data has several frames"));
        }
        decode_in_steps(encoded, steps)
    }

    fn working_memory(&self, decoded_size: usize, encodes: bool) -> usize {
        /// What a decoder takes, without a window.
        const DECODER: usize = 256 << 10;
        if !encodes {
            return DECODER;
        }
        // SAFETY: the functions compute with numbers alone.
        let encoder = unsafe {
            let parameters = ZSTD_getCParams(self.level, decoded_size as u64, 0);
            ZSTD_estimateCCtxSize_usingCParams(parameters)
        };
        encoder.saturating_add(encoder / 16)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut copy = Scratch::EMPTY;
        let decoded = before_the_end(decoded, &mut copy)?;
        Lease::new(&self.encoders, Encoder::plain)?.encode(decoded, self.level, self.checksum, encoded)
    }
}

/// Whether an address a step behind so many bytes from there on does not wrap.
fn has_room_behind(begin: usize, len: usize) -> bool {
    const STEP: usize = 1 << 20;
    begin.checked_add(len).and_then(|end| end.checked_add(STEP)).is_some()
}

/// These bytes or, if they are at the end of the address space, a copy of them. zstd compares pointers with the end of
/// what it encodes that lie behind it, up to a step: 131072 bytes at the lowest level. There they would wrap, and zstd
/// read at the beginning of the address space. With 32 bits the stack of a program may be there.
fn before_the_end<'b>(bytes: &'b [u8], copy: &'b mut Scratch) -> Result<&'b [u8]> {
    if has_room_behind(bytes.as_ptr().addr(), bytes.len()) {
        return Ok(bytes);
    }
    for (to, from) in copy.room(bytes.len())?.iter_mut().zip(bytes) {
        to.write(*from);
    }
    // SAFETY: all of them have just been written.
    Ok(unsafe { copy.filled(bytes.len()) })
}

/// What [`Codec::decode_in_steps`] does. The context has a window of its own and is not kept, for the window may be
/// large.
fn decode_in_steps(frames: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
    let (decoder, mut memory) = (Decoder::plain()?, Scratch::EMPTY);
    let mut input = sys::ZSTD_inBuffer { src: frames.as_ptr().cast(), size: frames.len(), pos: 0 };
    let mut wanted = 0;
    while steps.next().is_some() {
        let mut piece = Buffer::new(memory.room(PIECE)?);
        let mut output = sys::ZSTD_outBuffer { dst: piece.as_mut_ptr().cast(), size: PIECE, pos: 0 };
        let before = input.pos;
        // SAFETY: the context is alive and ours; the destination has room for `PIECE` bytes and the source holds
        // `frames.len()`; both positions stay within their buffers.
        let result = unsafe { sys::ZSTD_decompressStream(decoder.0.as_ptr(), &raw mut output, &raw mut input) };
        match check(result) {
            Ok(more) => wanted = more,
            Err(sys::ZSTD_ErrorCode::ZSTD_error_frameParameter_windowTooLarge) if steps.at() == 0 => return Ok(false),
            Err(code) => return Err(failed(code, steps.size())),
        }
        // SAFETY: zstd has written so many bytes, at most `PIECE`.
        unsafe { piece.set_filled(output.pos) };
        steps.give(piece.filled())?;
        if input.pos == frames.len() && (wanted == 0 || (output.pos == 0 && input.pos == before)) {
            break;
        }
    }
    if wanted != 0 && steps.next().is_some() {
        return Err(corrupt(words(sys::ZSTD_ErrorCode::ZSTD_error_srcSize_wrong)));
    }
    Ok(true)
}

/// How many bytes are decoded at a time where they are not decoded to where they stay: a block of zstd's.
const PIECE: usize = 128 << 10;

/// Decoding stops early if at least one part in so many of the chunk is not needed; to decode piece by piece costs a
/// little.
const FEWER: usize = 16;

/// How many encoded bytes are given to the decoder at the beginning of a frame when it is to stop early: those of the
/// shortest header (zstd.h, ZSTD_FRAMEHEADERSIZE_MIN). From there on zstd says how many it needs for the next block,
/// which is the least that it decodes at a time.
const HEADER: usize = 5;

/// A context of zstd's, and the functions that create and free it.
macro_rules! context {
    ($(#[$doc:meta])* $name:ident($context:ident, $create:ident, $free:ident)) => {
        $(#[$doc])*
        struct $name(NonNull<sys::$context>);

        // SAFETY: a context belongs to whoever holds it and refers to no thread.
        unsafe impl Send for $name {}

        // SAFETY: the pointer to the context is all there is of it.
        unsafe impl OnePointer for $name {
            fn into_pointer(self) -> Option<NonNull<u8>> {
                Some(std::mem::ManuallyDrop::new(self).0.cast())
            }

            unsafe fn from_pointer(pointer: NonNull<u8>) -> Self {
                $name(pointer.cast())
            }
        }

        impl $name {
            /// One that has zstd's defaults.
            fn plain() -> Result<Self> {
                // SAFETY: the function has no requirements; it returns NULL when an allocation fails.
                Ok($name(NonNull::new(unsafe { sys::$create() }).ok_or(ErrorKind::OutOfMemory)?))
            }
        }

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the context is alive and dropped once.
                unsafe { sys::$free(self.0.as_ptr()) };
            }
        }
    };
}

context! {
    /// A decompression context. A plain one keeps as much of what it has decoded as frames refer to, up to zstd's usual
    /// limit of 128 MiB.
    Decoder(ZSTD_DCtx, ZSTD_createDCtx, ZSTD_freeDCtx)
}

context! {
    /// A compression context.
    Encoder(ZSTD_CCtx, ZSTD_createCCtx, ZSTD_freeCCtx)
}

impl Decoder {
    fn new() -> Result<Self> {
        let decoder = Decoder::plain()?;
        let context = decoder.0;
        // The next two matter for decoding piece by piece. The output buffer stays where it is
        // (ZSTD_d_stableOutBuffer), so zstd needs no buffer of its own, and a large window needs no memory. SAFETY: the
        // context is alive and not decoding.
        unsafe {
            check(sys::ZSTD_DCtx_setParameter(context.as_ptr(), sys::ZSTD_dParameter::ZSTD_d_experimentalParam2, 1))
                .map_err(|code| failed(code, 0))?;
            let largest = sys::ZSTD_dParam_getBounds(sys::ZSTD_dParameter::ZSTD_d_windowLogMax).upperBound;
            check(sys::ZSTD_DCtx_setParameter(context.as_ptr(), sys::ZSTD_dParameter::ZSTD_d_windowLogMax, largest))
                .map_err(|code| failed(code, 0))?;
        }
        Ok(decoder)
    }

    /// Decodes all frames into the buffer.
    fn decode(&self, frames: &[u8], buffer: &mut Buffer<'_>) -> Result<()> {
        let capacity = buffer.capacity();
        // SAFETY: the context is alive and ours; the destination has room for `capacity` bytes and the source holds
        // `frames.len()`. zstd writes only to the destination, whatever the frames claim, and reads no byte of it that
        // it has not written.
        let decoded = unsafe {
            sys::ZSTD_decompressDCtx(
                self.0.as_ptr(),
                buffer.as_mut_ptr().cast(),
                capacity,
                frames.as_ptr().cast(),
                frames.len(),
            )
        };
        let decoded = check(decoded).map_err(|code| failed(code, capacity))?;
        // SAFETY: on success zstd has written `decoded` bytes, at most `capacity`.
        unsafe { buffer.set_filled(decoded) };
        Ok(())
    }

    /// Decodes until the buffer has so many bytes, or until the frames end.
    fn decode_up_to(&self, least: usize, frames: &[u8], buffer: &mut Buffer<'_>) -> Result<()> {
        let capacity = buffer.capacity();
        // SAFETY: the context is alive and ours.
        unsafe {
            check(sys::ZSTD_DCtx_reset(self.0.as_ptr(), sys::ZSTD_ResetDirective::ZSTD_reset_session_only))
                .map_err(|code| failed(code, capacity))?;
        }
        let mut output = sys::ZSTD_outBuffer { dst: buffer.as_mut_ptr().cast(), size: capacity, pos: 0 };
        let mut input = sys::ZSTD_inBuffer { src: frames.as_ptr().cast(), size: 0, pos: 0 };
        let mut wanted = HEADER;
        while output.pos < least && input.pos < frames.len() {
            input.size = input.pos.saturating_add(wanted).min(frames.len());
            let before = (input.pos, output.pos);
            // SAFETY: as in `decode`; both positions stay within their buffers.
            let result = unsafe { sys::ZSTD_decompressStream(self.0.as_ptr(), &raw mut output, &raw mut input) };
            // At the end of a frame zstd wants nothing, and another frame may follow.
            wanted = match check(result).map_err(|code| failed(code, capacity))? {
                0 => HEADER,
                wanted => wanted,
            };
            if before == (input.pos, output.pos) {
                return Err(corrupt("decoding makes no progress"));
            }
        }
        // SAFETY: zstd has written so many bytes, at most `capacity`.
        unsafe { buffer.set_filled(output.pos) };
        Ok(())
    }
}

/// The result or the error that a zstd function returned.
fn check(result: usize) -> Result<usize, sys::ZSTD_ErrorCode> {
    // SAFETY: both functions take any value that a zstd function returned.
    unsafe { if sys::ZSTD_isError(result) == 0 { Ok(result) } else { Err(sys::ZSTD_getErrorCode(result)) } }
}

/// What a failure of a decoder means, whose buffer has so many bytes.
fn failed(code: sys::ZSTD_ErrorCode, capacity: usize) -> Error {
    match code {
        sys::ZSTD_ErrorCode::ZSTD_error_dstSize_tooSmall => {
            ErrorKind::DecodedLength { found: None, expected: capacity }.into()
        }
        sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation => ErrorKind::OutOfMemory.into(),
        code => corrupt(words(code)),
    }
}

fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: NAME, reason }.into()
}

/// zstd's words for an error.
fn words(code: sys::ZSTD_ErrorCode) -> &'static str {
    // SAFETY: the function takes any error code and returns a static text with a NUL at its end.
    unsafe { std::ffi::CStr::from_ptr(sys::ZSTD_getErrorString(code)) }.to_str().unwrap_or("unknown")
}

impl Encoder {
    /// Encodes a chunk as one frame into the buffer, which has room for any.
    fn encode(&self, chunk: &[u8], level: i32, checksum: bool, buffer: &mut Buffer<'_>) -> Result<()> {
        use sys::ZSTD_cParameter::{ZSTD_c_checksumFlag, ZSTD_c_compressionLevel};
        let context = self.0.as_ptr();
        let failed = |code| match code {
            sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation => Error::from(ErrorKind::OutOfMemory),
            code => ErrorKind::Encode { codec: NAME, reason: words(code) }.into(),
        };
        // SAFETY: the context is alive, ours and not compressing. The destination has room for `buffer.capacity()`
        // bytes and the source holds `chunk.len()`.
        let encoded = unsafe {
            check(sys::ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, level)).map_err(failed)?;
            check(sys::ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, checksum.into())).map_err(failed)?;
            let (destination, room) = (buffer.as_mut_ptr().cast(), buffer.capacity());
            sys::ZSTD_compress2(context, destination, room, chunk.as_ptr().cast(), chunk.len())
        };
        let encoded = check(encoded).map_err(failed)?;
        // SAFETY: on success zstd has written `encoded` bytes, no more than there is room for.
        unsafe { buffer.set_filled(encoded) };
        Ok(())
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};

    #[test]
    fn what_is_at_the_end_of_the_address_space_is_told() {
        for (begin, len, expected) in [
            (0, usize::MAX >> 1, true),
            (usize::MAX - (1 << 20) - 9, 9, true),
            (usize::MAX - (1 << 20) - 9, 10, false),
            (usize::MAX - 100, 1, false),
        ] {
            assert_eq!(has_room_behind(begin, len), expected, "{begin} {len}");
        }
    }

    #[test]
    fn bounds_are_those_of_zstd() {
        for size in [0, 1, 1000, (128 << 10) - 1, 128 << 10, (128 << 10) + 1, 1 << 30] {
            // SAFETY: the function takes any size.
            assert_eq!(Zstd::default().encoded_bound(size), unsafe { sys::ZSTD_compressBound(size) });
        }
        assert_eq!(Zstd::default().encoded_bound(usize::MAX), usize::MAX);
    }

    #[test]
    fn what_is_wrong_is_said_in_the_words_of_zstd() {
        let kind = decoded(&Zstd::default(), &[0; 100], 0..100, 100).unwrap_err().kind();
        assert_eq!(kind, ErrorKind::Corrupt { codec: "zstd", reason: "Unknown frame descriptor" });
    }

    #[test]
    fn contexts_are_kept() {
        let codec = Zstd::default();
        assert_eq!(decoded(&codec, &encoded(&codec, b"abc"), 0..3, 3).unwrap(), b"abc");
        assert!(codec.encoders.take().is_some() && codec.decoders.take().is_some());
    }

    #[test]
    fn decoding_stops_after_what_is_needed() {
        let chunk: Vec<u8> =
            (0..1u32 << 18).flat_map(|i| (i.wrapping_mul(2_654_435_761) >> 20).to_le_bytes()).collect();
        let codec = Zstd::default();
        let frame = encoded(&codec, &chunk);
        for needed in [0, 1, 4, 1000, 300_000, chunk.len() - 1, chunk.len()] {
            let found = decoded(&codec, &frame, 0..needed, chunk.len()).unwrap();
            assert!(found.len() >= needed && chunk.starts_with(&found));
            assert!(found.len() - needed < 128 << 10, "{needed}: {}", found.len());
            // Those that end where a block does.
            assert_eq!(decoded(&codec, &frame, 0..found.len(), chunk.len()).unwrap().len(), found.len());
        }
        // That the frame ends early is for others to say.
        assert!(decoded(&codec, &frame[..1000], 0..300_000, chunk.len()).unwrap().len() < 300_000);
    }
}
