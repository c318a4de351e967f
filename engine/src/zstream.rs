//! Streams of deflate (RFC 1951), with a zlib header (RFC 1950) or none, and the checksum that gzip and zip have.
//!
//! zlib-rs does the work, but for whole streams, which libdeflate decodes in 0.7 to 0.9 of the time. It can neither
//! stop within a stream nor go on, and of what is wrong it says little, so zlib-rs decodes what libdeflate has not.
//!
//! zlib-rs is called by the functions of zlib in C: those tell by a code that the allocation of a state failed,
//! where its functions for Rust panic, and a panic takes memory itself. A panic of zlib-rs's, which would be a fault of
//! it, ends the process, as C's functions cannot be unwound. A state, about 50 KiB to decode and 300 KiB to encode, is
//! made to be kept and used again. After it is made nothing is allocated.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};

use libz_rs_sys as sys;

use crate::alloc::Slot;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

/// zlib's lengths have 32 bits, so that what is longer is given in pieces. In tests the pieces are small.
const PIECE: usize = if cfg!(test) { 20_000 } else { u32::MAX as usize };

/// The window of every stream has 2^15 bytes. With the sign changed it says that there is no header.
const WINDOW_BITS: c_int = 15;

/// How large zlib's structure is: with the version, this is how zlib finds out whether it and its caller fit.
const STREAM_SIZE: c_int = size_of::<sys::z_stream>() as c_int;

/// The CRC-32 of some bytes.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32_of_more(0, bytes)
}

/// The CRC-32 of bytes whose first ones have this CRC-32, which is 0 for none, and these follow.
pub fn crc32_of_more(crc: u32, bytes: &[u8]) -> u32 {
    // SAFETY: the pointer and the length are those of a slice.
    let crc = unsafe { sys::crc32_z(crc.into(), bytes.as_ptr(), bytes.len()) };
    // A CRC of 32 bits in C's `unsigned long`, which may have 64.
    crc as u32
}

/// What a step of decoding has done.
pub struct Step {
    /// How many bytes it has taken.
    pub taken: usize,
    /// How many bytes it has added.
    pub written: usize,
    /// Whether the stream has ended, or what is wrong with it.
    pub ended: Result<bool, &'static str>,
}

/// zlib's structure. Its state is NULL, or what an init function has made. It stays where it was made, in a box, for
/// zlib may keep a pointer to it.
struct Stream(sys::z_stream);

// SAFETY: the state belongs to the one structure that points to it, and is made by the global allocator, which is for
// all threads. Other pointers in the structure are followed within `Stream::run` alone, which sets them before.
unsafe impl Send for Stream {}

impl Stream {
    fn new() -> Self {
        Stream(sys::z_stream::default())
    }

    /// Lets `inflate` or `deflate` go on with this input, of which it sees one piece at most, and with up to `most`
    /// bytes of the buffer's room. Returns zlib's code, and how many bytes it has taken and added.
    ///
    /// # Safety
    /// The function is the one that the stream was initialised for.
    unsafe fn run(
        &mut self,
        function: unsafe extern "C" fn(*mut sys::z_stream, c_int) -> c_int,
        flush: c_int,
        input: &[u8],
        output: &mut Buffer<'_>,
        most: usize,
    ) -> (c_int, usize, usize) {
        let filled = output.filled().len();
        let room = output.room();
        // Both are at most `PIECE`, which has 32 bits.
        let (given, free) = (input.len().min(PIECE), room.len().min(most).min(PIECE));
        let stream = &mut self.0;
        (stream.next_in, stream.avail_in) = (input.as_ptr(), given as u32);
        (stream.next_out, stream.avail_out) = (room.as_mut_ptr().cast(), free as u32);
        // SAFETY: the stream was initialised for the function, by the caller's promise. It points to the input, of
        // which so many bytes can be read, and to the room, where so many can be written. Both are borrowed until the
        // function returns.
        let code = unsafe { function(stream, flush) };
        let (taken, written) = (given - stream.avail_in as usize, free - stream.avail_out as usize);
        // SAFETY: zlib has written so many bytes to the room, which begins behind those that were filled.
        unsafe { output.set_filled(filled + written) };
        (code, taken, written)
    }

    /// What an init function has said.
    fn made(code: c_int) -> Result<()> {
        match code {
            sys::Z_OK => Ok(()),
            sys::Z_MEM_ERROR => Err(ErrorKind::OutOfMemory.into()),
            _ => Err(ErrorKind::Internal.into()),
        }
    }
}

/// A decoder, to be kept between streams.
pub struct Inflater(Stream);

impl Inflater {
    pub fn new() -> Result<Box<Self>> {
        let mut inflater = Slot::new()?.fill(Inflater(Stream::new()));
        let stream = &raw mut inflater.0.0;
        // SAFETY: the structure is zlib-rs's default, and says so that the allocator is the one that zlib-rs makes of
        // Rust's; the version is a text of zlib-rs's.
        Stream::made(unsafe { sys::inflateInit2_(stream, WINDOW_BITS, sys::zlibVersion(), STREAM_SIZE) })?;
        Ok(inflater)
    }

    /// Begins with another stream, which has a zlib header or none.
    pub fn begin(&mut self, has_header: bool) {
        let window_bits = if has_header { WINDOW_BITS } else { -WINDOW_BITS };
        // SAFETY: `new` has initialised the stream. The call would fail for numbers of bits that no window has.
        unsafe { sys::inflateReset2(&mut self.0.0, window_bits) };
    }

    /// Decodes into the buffer, behind what is in it, until that is full, or `most` bytes have been added, or the input
    /// is used up. It may stop earlier, if it has done something.
    pub fn step(&mut self, input: &[u8], output: &mut Buffer<'_>, most: usize) -> Step {
        // SAFETY: `new` has initialised the stream for `inflate`.
        let (code, taken, written) = unsafe { self.0.run(sys::inflate, sys::Z_NO_FLUSH, input, output, most) };
        let ended = match code {
            sys::Z_OK | sys::Z_BUF_ERROR => Ok(false),
            sys::Z_STREAM_END => Ok(true),
            sys::Z_NEED_DICT => Err("the data needs a preset dictionary"),
            _ => Err(self.words()),
        };
        Step { taken, written, ended }
    }

    /// zlib's words for what is wrong with the stream, as far as they are known here.
    fn words(&self) -> &'static str {
        const KNOWN: [&str; 9] = [
            "incorrect data check",
            "incorrect header check",
            "invalid block type",
            "invalid code lengths set",
            "invalid distance code",
            "invalid distance too far back",
            "invalid literal/length code",
            "invalid stored block lengths",
            "unknown compression method",
        ];
        let message = self.0.0.msg;
        // SAFETY: zlib's messages are constant texts that end with a NUL.
        let message = (!message.is_null()).then(|| unsafe { CStr::from_ptr(message) }.to_bytes());
        KNOWN.into_iter().find(|known| Some(known.as_bytes()) == message).unwrap_or("this is not deflated data")
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: the state is what `inflateInit2_` has made, or NULL where it could not, which is passed over.
        unsafe { sys::inflateEnd(&mut self.0.0) };
    }
}

/// A decoder of whole streams, to be kept between them.
#[cfg(any(feature = "gzip", feature = "zlib"))]
pub(crate) struct WholeInflater(std::ptr::NonNull<libdeflate_sys::libdeflate_decompressor>);

// SAFETY: the decoder is memory of malloc's, which is for all threads, and no more is in it between streams.
#[cfg(any(feature = "gzip", feature = "zlib"))]
unsafe impl Send for WholeInflater {}

#[cfg(any(feature = "gzip", feature = "zlib"))]
impl WholeInflater {
    pub(crate) fn new() -> Result<Box<Self>> {
        let room = Slot::new()?;
        // SAFETY: this has no requirements. It returns NULL if there is no memory.
        let decoder = unsafe { libdeflate_sys::libdeflate_alloc_decompressor() };
        Ok(room.fill(WholeInflater(std::ptr::NonNull::new(decoder).ok_or(ErrorKind::OutOfMemory)?)))
    }

    /// Adds what a stream decodes to, and returns how many bytes the stream has; the input may go on behind it. `None`
    /// if there is no room for all of it, or if it does not decode.
    pub(crate) fn inflate(&mut self, input: &[u8], has_header: bool, output: &mut Buffer<'_>) -> Option<usize> {
        use libdeflate_sys as sys;
        let inflate = match has_header {
            true => sys::libdeflate_zlib_decompress_ex,
            false => sys::libdeflate_deflate_decompress_ex,
        };
        let (filled, room) = (output.filled().len(), output.room());
        let (to, len, mut taken, mut written) = (room.as_mut_ptr().cast(), room.len(), 0, 0);
        // SAFETY: the decoder is one that `new` has made. Of the input so many bytes can be read, and so many written
        // to the room, both of which are borrowed until this returns.
        let code =
            unsafe { inflate(self.0.as_ptr(), input.as_ptr().cast(), input.len(), to, len, &mut taken, &mut written) };
        if code != sys::libdeflate_result_LIBDEFLATE_SUCCESS {
            return None;
        }
        // SAFETY: so many bytes have been written behind those that were filled.
        unsafe { output.set_filled(filled + written) };
        Some(taken)
    }
}

#[cfg(any(feature = "gzip", feature = "zlib"))]
impl Drop for WholeInflater {
    fn drop(&mut self) {
        // SAFETY: `new` has made it, and nobody uses it any more.
        unsafe { libdeflate_sys::libdeflate_free_decompressor(self.0.as_ptr()) };
    }
}

/// An encoder, to be kept between streams.
#[cfg(any(feature = "gzip", feature = "zlib"))]
pub struct Deflater(Stream);

#[cfg(any(feature = "gzip", feature = "zlib"))]
impl Deflater {
    /// An encoder with this level, from 0 to 9, for streams with a zlib header or without.
    pub(crate) fn new(level: u8, has_header: bool) -> Result<Box<Self>> {
        /// What zlib takes if it is not told: how much memory is used to find matches.
        const MEMORY_LEVEL: c_int = 8;
        let window_bits = if has_header { WINDOW_BITS } else { -WINDOW_BITS };
        let mut deflater = Slot::new()?.fill(Deflater(Stream::new()));
        let stream = &raw mut deflater.0.0;
        // SAFETY: as for an inflater.
        Stream::made(unsafe {
            sys::deflateInit2_(
                stream,
                level.into(),
                sys::Z_DEFLATED,
                window_bits,
                MEMORY_LEVEL,
                sys::Z_DEFAULT_STRATEGY,
                sys::zlibVersion(),
                STREAM_SIZE,
            )
        })?;
        Ok(deflater)
    }

    /// Adds a whole stream to the buffer. Returns `false` if the output buffer is too small.
    pub(crate) fn deflate(&mut self, mut input: &[u8], output: &mut Buffer<'_>) -> bool {
        // SAFETY: `new` has initialised the stream. The call does not fail then.
        unsafe { sys::deflateReset(&mut self.0.0) };
        loop {
            // The piece that is the last one is followed by the end of the stream.
            let flush = if input.len() <= PIECE { sys::Z_FINISH } else { sys::Z_NO_FLUSH };
            // SAFETY: `new` has initialised the stream for `deflate`.
            let (code, taken, _) = unsafe { self.0.run(sys::deflate, flush, input, output, usize::MAX) };
            input = input.get(taken..).unwrap_or_default();
            match code {
                sys::Z_STREAM_END => return true,
                sys::Z_OK => {}
                // `Z_BUF_ERROR`, for nothing could be added.
                _ => return false,
            }
        }
    }
}

#[cfg(any(feature = "gzip", feature = "zlib"))]
impl Drop for Deflater {
    fn drop(&mut self) {
        // SAFETY: as for an inflater.
        unsafe { sys::deflateEnd(&mut self.0.0) };
    }
}
