//! Streams of deflate, whatever is round them.

use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::{Lease, Pool};
use crate::zstream::{Deflater, Inflater};

/// What both codecs have: a level and the states that are kept between chunks.
pub(super) struct Streams {
    name: &'static str,
    /// Whether streams have a zlib header.
    has_header: bool,
    level: u8,
    inflaters: Pool<Box<Inflater>>,
    deflaters: Pool<Box<Deflater>>,
}

/// The most bytes that either codec makes: 9 bits for each byte at level 1 (zlib-rs follows zlib-ng, deflate_quick) and
/// the wrapper. Some room more is for the headers of others, for this is also what a codec before may be given.
pub(super) fn bound(decoded_size: usize) -> usize {
    decoded_size.saturating_add(decoded_size / 8).saturating_add(1024)
}

impl Streams {
    pub(super) fn new(name: &'static str, has_header: bool, level: u32) -> Self {
        // At most 9.
        let level = level.min(9) as u8;
        Streams { name, has_header, level, inflaters: Pool::new(), deflaters: Pool::new() }
    }

    /// Inflates one stream, behind what is in the buffer, until that has `least` bytes; to the end of the stream if
    /// that is all there is room for. Returns how many bytes the stream has, or `None` if it was not read to its end.
    pub(super) fn inflate(&self, stream: &[u8], least: usize, decoded: &mut Buffer<'_>) -> Result<Option<usize>> {
        let mut inflater = Lease::new(&self.inflaters, Inflater::new)?;
        inflater.begin(self.has_header);
        let capacity = decoded.capacity();
        let is_part = least < capacity;
        let mut rest = stream;
        loop {
            let room = if is_part { least } else { capacity }.saturating_sub(decoded.filled().len());
            let step = if room > 0 {
                inflater.step(rest, decoded, room)
            } else if is_part {
                return Ok(None);
            } else {
                // The stream has to end. If it does not, it will write here.
                let mut beyond = [std::mem::MaybeUninit::uninit()];
                let step = inflater.step(rest, &mut Buffer::new(&mut beyond), 1);
                if step.written > 0 {
                    return Err(ErrorKind::DecodedLength { found: None, expected: capacity }.into());
                }
                step
            };
            rest = rest.get(step.taken..).unwrap_or_default();
            match step.ended {
                Ok(true) => return Ok(Some(stream.len() - rest.len())),
                Ok(false) if step.taken == 0 && step.written == 0 => return Err(ends_early(self.name)),
                Ok(false) => {}
                Err(reason) => return Err(corrupt(self.name, reason)),
            }
        }
    }

    /// Inflates one stream in pieces, each of which is given to `give`, as long as that returns `true`. Returns how many
    /// bytes the stream has, or `None` if it was not read to its end.
    pub(super) fn inflate_in_steps(
        &self,
        stream: &[u8],
        mut give: impl FnMut(&[u8]) -> Result<bool>,
    ) -> Result<Option<usize>> {
        /// How many bytes a piece has at most.
        const PIECE: usize = 64 << 10;
        let mut inflater = Lease::new(&self.inflaters, Inflater::new)?;
        inflater.begin(self.has_header);
        let (mut rest, mut memory) = (stream, Scratch::EMPTY);
        loop {
            let mut piece = Buffer::new(memory.room(PIECE)?);
            let step = inflater.step(rest, &mut piece, PIECE);
            rest = rest.get(step.taken..).unwrap_or_default();
            let goes_on = give(piece.filled())?;
            match step.ended {
                Ok(true) => return Ok(Some(stream.len() - rest.len())),
                Ok(false) if !goes_on => return Ok(None),
                Ok(false) if step.taken == 0 && step.written == 0 => return Err(ends_early(self.name)),
                Ok(false) => {}
                Err(reason) => return Err(corrupt(self.name, reason)),
            }
        }
    }

    /// Adds a stream to the buffer.
    pub(super) fn deflate(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let mut deflater = Lease::new(&self.deflaters, || Deflater::new(self.level, self.has_header))?;
        if deflater.deflate(decoded, encoded) {
            Ok(())
        } else {
            Err(ErrorKind::Encode { codec: self.name, reason: "there is no room for it" }.into())
        }
    }
}

pub(super) fn corrupt(codec: &'static str, reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec, reason }.into()
}

pub(super) fn ends_early(codec: &'static str) -> Error {
    corrupt(codec, "the data end early")
}
