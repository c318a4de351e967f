//! bz2 (bzip2): one or more streams in a row, decoded and encoded by libbz2-rs. What follows a stream and is none is
//! passed over, as Python's module and so numcodecs do.
//!
//! libbz2-rs tells by a code that an allocation failed: about 400 KiB to 3.7 MiB to decode, 1.3 to 7.7 MiB to encode.
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::ops::Range;

use libbz2_rs_sys as sys;

use super::definition::{Definition, Setting, boxed};
use super::traits::{self, Codec, named};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};

const NAME: &str = "bz2";

pub(super) const CODECS: &[Definition] = &[Definition {
    v2: NAME,
    v3: "numcodecs.bz2",
    settings: &[Setting::integer("level", 1, 9, 1)],
    is_netcdfs: |_, _| true,
    make: |settings, _, _| boxed(Bz2::new(settings.integer("level") as u32)),
    filter: Some((307, |parameters| match *parameters {
        [level @ 1..=9] => boxed(Bz2::new(level)).map(Some),
        _ => Ok(None),
    })),
    ..Definition::DEFAULT
}];

/// How a stream begins, before the digit that is its level.
const MAGIC: &[u8] = b"BZh";

/// bzip2's lengths have 32 bits, so that what is longer is given in pieces. In tests the pieces are small.
const PIECE: usize = if cfg!(test) { 1000 } else { u32::MAX as usize };

/// The codec bz2.
#[derive(Debug, Clone, Copy)]
pub struct Bz2 {
    level: u32,
}

impl Bz2 {
    /// A codec that encodes with this level, from 1 to 9; others count as the nearest.
    pub fn new(level: u32) -> Self {
        Bz2 { level: level.clamp(1, 9) }
    }
}

impl Default for Bz2 {
    /// Level 1, which is numcodecs' default.
    fn default() -> Self {
        Bz2::new(1)
    }
}

fn corrupt(reason: &'static str) -> ErrorKind {
    ErrorKind::Corrupt { codec: NAME, reason }
}

/// What an init function has said.
fn made(code: c_int) -> Result<()> {
    match code {
        sys::BZ_OK => Ok(()),
        sys::BZ_MEM_ERROR => Err(ErrorKind::OutOfMemory.into()),
        _ => Err(ErrorKind::Internal.into()),
    }
}

/// Lets a function of bzip2's go on with this input, of which it sees one piece at most, and with this room behind what
/// the buffer has. Returns its code, and how many bytes it has taken and added.
///
/// # Safety
/// The stream was initialised for the function.
unsafe fn run(
    stream: &mut sys::bz_stream,
    function: impl FnOnce(*mut sys::bz_stream) -> c_int,
    input: &[u8],
    output: &mut Buffer<'_>,
    most: usize,
) -> (c_int, usize, usize) {
    let filled = output.filled().len();
    let room = output.room();
    let (given, free) = (input.len().min(PIECE), room.len().min(most).min(PIECE));
    // Both are at most `PIECE`, which has 32 bits. bzip2 only reads the input.
    (stream.next_in, stream.avail_in) = (input.as_ptr().cast::<c_char>(), given as u32);
    (stream.next_out, stream.avail_out) = (room.as_mut_ptr().cast::<c_char>(), free as u32);
    let code = function(stream);
    let (taken, written) = (given - stream.avail_in as usize, free - stream.avail_out as usize);
    // SAFETY: bzip2 has written so many bytes to the room, which begins behind those that were filled.
    unsafe { output.set_filled(filled + written) };
    (code, taken, written)
}

/// Decodes a stream into the buffer, behind what is in it, up to `least` bytes in all if that is not all there is room
/// for. Returns how many bytes the stream has, or `None` if it was not read to its end.
fn decode(stored: &[u8], least: usize, decoded: &mut Buffer<'_>) -> Result<Option<usize>> {
    let mut stream = sys::bz_stream::zeroed();
    // SAFETY: the stream is zeroed, so that the allocator is the one that libbz2-rs makes of Rust's. It stays where it
    // is until it is ended.
    made(unsafe { sys::BZ2_bzDecompressInit(&mut stream, 0, 0) })?;
    let result = decode_steps(&mut stream, stored, least, decoded);
    // SAFETY: the stream was initialised, and is ended once.
    unsafe { sys::BZ2_bzDecompressEnd(&mut stream) };
    result
}

fn decode_steps(
    stream: &mut sys::bz_stream,
    stored: &[u8],
    least: usize,
    decoded: &mut Buffer<'_>,
) -> Result<Option<usize>> {
    let capacity = decoded.capacity();
    let is_part = least < capacity;
    let mut rest = stored;
    // SAFETY: by the callers of the closure, the stream was initialised to decode.
    let decompress = |stream: *mut sys::bz_stream| unsafe { sys::BZ2_bzDecompress(stream) };
    loop {
        let room = if is_part { least } else { capacity }.saturating_sub(decoded.filled().len());
        let (code, taken, written) = if room > 0 {
            // SAFETY: `decode` has initialised the stream to decode.
            unsafe { run(stream, decompress, rest, decoded, room) }
        } else if is_part {
            return Ok(None);
        } else {
            // The stream has to end. If it does not, it will write here.
            let mut beyond = [std::mem::MaybeUninit::uninit()];
            // SAFETY: as above.
            let step = unsafe { run(stream, decompress, rest, &mut Buffer::new(&mut beyond), 1) };
            if step.2 > 0 {
                return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
            }
            step
        };
        rest = rest.get(taken..).unwrap_or_default();
        match code {
            sys::BZ_STREAM_END => return Ok(Some(stored.len() - rest.len())),
            sys::BZ_OK if taken == 0 && written == 0 => return Err(corrupt("the data is truncated").into()),
            sys::BZ_OK => {}
            sys::BZ_MEM_ERROR => return Err(ErrorKind::OutOfMemory.into()),
            sys::BZ_DATA_ERROR_MAGIC => return Err(corrupt("the data is not bz2").into()),
            _ => return Err(corrupt("the data does not match its checksum").into()),
        }
    }
}

fn encode_steps(stream: &mut sys::bz_stream, mut input: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
    loop {
        // The piece that is the last one is followed by the end of the stream.
        let action = if input.len() <= PIECE { sys::BZ_FINISH } else { sys::BZ_RUN };
        // SAFETY: by `encode`, the stream was initialised to encode.
        let compress = |stream: *mut sys::bz_stream| unsafe { sys::BZ2_bzCompress(stream, action) };
        // SAFETY: as above.
        let (code, taken, written) = unsafe { run(stream, compress, input, encoded, usize::MAX) };
        input = input.get(taken..).unwrap_or_default();
        match code {
            sys::BZ_STREAM_END => return Ok(()),
            sys::BZ_RUN_OK | sys::BZ_FINISH_OK if taken > 0 || written > 0 => {}
            _ => return traits::written(false, NAME),
        }
    }
}

impl Codec for Bz2 {
    named!(NAME, in_numcodecs);

    /// The source is bzlib.h's manual: one percent and 600 bytes. Some room more is for the streams of others, for this
    /// is also what a codec before may be given.
    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size.saturating_add(decoded_size / 50).saturating_add(1024)
    }

    fn working_memory(&self, _decoded_size: usize, _encodes: bool) -> usize {
        8 << 20
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let mut rest = encoded;
        loop {
            let Some(len) = decode(rest, needed.end, decoded)? else { return Ok(()) };
            rest = rest.get(len..).unwrap_or_default();
            if !rest.starts_with(MAGIC) {
                return Ok(());
            }
        }
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut stream = sys::bz_stream::zeroed();
        // SAFETY: as to decode. The level is from 1 to 9; 0 stands for bzip2's work factor, which is 30.
        made(unsafe { sys::BZ2_bzCompressInit(&mut stream, self.level as c_int, 0, 0) })?;
        let result = encode_steps(&mut stream, decoded, encoded);
        // SAFETY: the stream was initialised, and is ended once.
        unsafe { sys::BZ2_bzCompressEnd(&mut stream) };
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};

    #[test]
    fn streams_follow_one_another() {
        let codec = Bz2::default();
        let (one, other) = (encoded(&codec, b"abc"), encoded(&Bz2::new(9), b"defg"));
        let both = [&one[..], &other].concat();
        assert_eq!(decoded(&codec, &both, 0..7, 7).unwrap(), b"abcdefg");
        assert_eq!(decoded(&codec, &both, 0..2, 7).unwrap(), b"ab");
        assert_eq!(decoded(&codec, &[&one[..], b"BZ?"].concat(), 0..3, 3).unwrap(), b"abc");
        let kind = |stored: &[u8], capacity| decoded(&codec, stored, 0..capacity, capacity).unwrap_err().kind();
        assert_eq!(kind(&both, 6), ErrorKind::DecodedLength { found: None, expected: 6 });
        assert_eq!(kind(b"no bz2 data", 3), corrupt("the data is not bz2"));
        assert_eq!(kind(&one[..one.len() - 1], 3), corrupt("the data is truncated"));
        assert_eq!(kind(b"", 3), corrupt("the data is truncated"));
        let mut spoilt = one.clone();
        *spoilt.last_mut().unwrap() ^= 0x80;
        assert!(decoded(&codec, &spoilt, 0..3, 3).is_err());
    }

    #[test]
    fn levels_come_back() {
        let chunk: Vec<u8> = (0..250_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 29) as u8).collect();
        for level in [0, 1, 5, 9, 10] {
            let codec = Bz2::new(level);
            let stored = encoded(&codec, &chunk);
            assert!(stored.len() < chunk.len() / 2 && stored[3] == b'0' + level.clamp(1, 9) as u8);
            assert!(decoded(&codec, &stored, 0..chunk.len(), chunk.len()).unwrap() == chunk);
            // The first block of level 1 ends before 100 000 bytes.
            if level == 1 {
                let part = decoded(&codec, &stored[..stored.len() / 2], 0..90_000, chunk.len()).unwrap();
                assert!(part == chunk[..90_000]);
            }
        }
    }
}
