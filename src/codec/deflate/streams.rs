//! Streams of deflate, whatever is round them.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::alloc::Slot;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{Lease, Pool};
use crate::quiet;

/// What both codecs have: a level and the states that are kept between chunks.
pub(super) struct Streams {
    pub(super) name: &'static str,
    pub(super) level: Compression,
    pub(super) decoders: Pool<Box<Decompress>>,
    pub(super) encoders: Pool<Box<Compress>>,
}

/// The most bytes that either codec makes: 9 bits for each byte at level 1 (zlib-rs follows zlib-ng, deflate_quick) and
/// the wrapper. Some room more is for the headers of others, for this is also what a codec before may be given.
pub(super) fn bound(decoded_size: usize) -> usize {
    decoded_size.saturating_add(decoded_size / 8).saturating_add(1024)
}

/// Inflates one stream, behind what is in the buffer, until that has `least` bytes; to the end of the stream if that
/// is all there is room for. Returns how many bytes the stream has, or `None` if it was not read to its end.
pub(super) fn inflate(
    name: &'static str,
    decoder: &mut Decompress,
    stream: &[u8],
    least: usize,
    decoded: &mut Buffer<'_>,
) -> Result<Option<usize>> {
    let capacity = decoded.capacity();
    let is_part = least < capacity;
    let mut rest = stream;
    loop {
        let filled = decoded.filled().len();
        let room = if is_part { least.saturating_sub(filled) } else { capacity - filled };
        if is_part && room == 0 {
            return Ok(None);
        }
        // Where no room is left, the stream has to end. If it does not, it will write here.
        let mut beyond = [MaybeUninit::uninit()];
        let to = if room == 0 { &mut beyond } else { &mut decoded.room()[..room] };
        let (read, written) = (decoder.total_in(), decoder.total_out());
        let status = decoder.decompress_uninit(rest, to, FlushDecompress::None);
        let (read, written) = ((decoder.total_in() - read) as usize, (decoder.total_out() - written) as usize);
        if room == 0 && written > 0 {
            return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
        }
        // SAFETY: the decoder has written so many bytes of the room, at most all of it.
        unsafe { decoded.set_filled(filled + written) };
        rest = rest.get(read..).unwrap_or_default();
        match status {
            Ok(Status::StreamEnd) => return Ok(Some(stream.len() - rest.len())),
            Ok(_) if read == 0 && written == 0 => return Err(ends_early(name)),
            Ok(_) => {}
            Err(error) if error.needs_dictionary().is_some() => return Err(corrupt(name, "it needs a dictionary")),
            Err(error) => return Err(corrupt(name, words(error.message()))),
        }
    }
}

/// zlib's words for what is wrong with a stream, as far as they are known here.
pub(super) fn words(message: Option<&str>) -> &'static str {
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
    KNOWN.into_iter().find(|known| Some(*known) == message).unwrap_or("this is not deflated data")
}

impl Streams {
    pub(super) fn new(name: &'static str, level: u32) -> Self {
        let level = Compression::new(level.min(9));
        Streams { name, level, decoders: Pool::new(), encoders: Pool::new() }
    }

    /// A decoder at the beginning of a stream, which has a zlib header or none.
    pub(super) fn decoder(&self, has_header: bool) -> Result<Lease<'_, Box<Decompress>>> {
        let mut decoder = Lease::new(&self.decoders, || make(|| Decompress::new(has_header)))?;
        decoder.reset(has_header);
        Ok(decoder)
    }

    /// Adds a stream, with a zlib header or without, to the buffer.
    pub(super) fn deflate(&self, has_header: bool, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut encoder = Lease::new(&self.encoders, || make(|| Compress::new(self.level, has_header)))?;
        encoder.reset();
        let mut rest = decoded;
        loop {
            let (read, written) = (encoder.total_in(), encoder.total_out());
            let status = encoder.compress_uninit(rest, encoded.room(), FlushCompress::Finish);
            let (read, written) = ((encoder.total_in() - read) as usize, (encoder.total_out() - written) as usize);
            // SAFETY: the encoder has written so many bytes of the room, at most all of it.
            unsafe { encoded.set_filled(encoded.filled().len() + written) };
            rest = rest.get(read..).unwrap_or_default();
            match status {
                Ok(Status::StreamEnd) => return Ok(()),
                Ok(_) if read > 0 || written > 0 => {}
                _ => return Err(ErrorKind::Encode { codec: self.name, reason: "there is no room for it" }.into()),
            }
        }
    }
}

/// A state on the heap. That the allocation of it failed shows as a panic, see above.
pub(super) fn make<T>(new: impl FnOnce() -> T) -> Result<Box<T>> {
    let slot = Slot::new()?;
    Ok(slot.fill(quiet::catch(new).ok_or(ErrorKind::OutOfMemory)?))
}

pub(super) fn corrupt(codec: &'static str, reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec, reason }.into()
}

pub(super) fn ends_early(codec: &'static str) -> Error {
    corrupt(codec, "the data end early")
}
