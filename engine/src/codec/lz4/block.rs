//! Decodes LZ4 blocks. The source is lz4_Block_format.md of LZ4.
//!
//! A block is a list of sequences: a token, literals to be copied from the block, and a match to be copied from what
//! was decoded before. Most of them are short, so that moves of a fixed length that go beyond their end are quickest:
//! what they write too much is written again by what follows. Near the ends of either buffer every byte is counted.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;

use crate::error::{Error, ErrorKind, Result};

/// The codec's name.
pub(super) const NAME: &str = "lz4";

#[cold]
pub(super) fn corrupt(reason: &'static str) -> Error {
    ErrorKind::Corrupt { codec: NAME, reason }.into()
}

/// The shortest match.
const SHORTEST: usize = 4;

/// What a short sequence reads at most: a token, 16 bytes for up to 14 literals, and a distance within those.
const SHORT_READ: usize = 1 + 16 + 2;

/// What a short sequence writes at most: 14 literals, then 32 bytes for a match of up to 18.
const SHORT_WRITE: usize = 14 + 32;

/// A longer match is copied in steps of 16 bytes, the last of which may go so far beyond its end.
const STEP: usize = 16;

/// A part of a block that is still to be read.
struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    #[inline(always)]
    fn byte(&mut self) -> Result<u8> {
        let (first, rest) = self.0.split_first().ok_or_else(|| corrupt("the data is truncated"))?;
        self.0 = rest;
        Ok(*first)
    }

    #[inline(always)]
    fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    #[inline(always)]
    fn distance(&mut self) -> Result<usize> {
        let bytes = self.take(2).ok_or_else(|| corrupt("the data is truncated"))?;
        Ok(usize::from(u16::from_le_bytes([bytes[0], bytes[1]])))
    }

    /// A length of which half a token says the beginning: 15 is added to by the bytes that follow, up to one that is
    /// not 255.
    #[inline(always)]
    fn length(&mut self, half: usize) -> Result<usize> {
        let mut len = half;
        if half == 15 {
            loop {
                let more = self.byte()?;
                // A block is too short for it to overflow.
                len += usize::from(more);
                if more < 255 {
                    break;
                }
            }
        }
        Ok(len)
    }
}

/// What is decoded: `at` bytes of it have been written, and `at` is never beyond its end.
struct Output<'t> {
    to: &'t mut [MaybeUninit<u8>],
    at: usize,
}

impl Output<'_> {
    #[inline(always)]
    fn left(&self) -> usize {
        self.to.len() - self.at
    }

    /// Adds literals, for which there is room.
    #[inline(always)]
    fn literals(&mut self, bytes: &[u8]) {
        for (to, from) in self.to[self.at..].iter_mut().zip(bytes) {
            to.write(*from);
        }
        self.at += bytes.len();
    }

    /// Adds `len` bytes, for which there is room, from `distance` bytes before; bytes that are added may be copied
    /// again. Returns `false` if that is before the first one.
    #[inline(always)]
    fn matched(&mut self, distance: usize, len: usize) -> bool {
        if distance.wrapping_sub(1) >= self.at {
            return false;
        }
        let (begin, left) = (self.to.as_mut_ptr(), self.left());
        // SAFETY: `at` and what is before it has been written, and `distance` is from 1 to `at`. Every move ends within
        // the buffer: `len` is not more than what is left, and where a step may go beyond that, so much more is left.
        // What a step reads was written before: it ends where it begins to write, or before.
        unsafe {
            let to = begin.add(self.at);
            if distance >= STEP && left - len >= STEP {
                let mut done = 0;
                while done < len {
                    let from = to.add(done).sub(distance);
                    to.add(done).copy_from_nonoverlapping(from, STEP);
                    done += STEP;
                }
            } else if distance == 1 {
                let byte = to.sub(1).read();
                std::slice::from_raw_parts_mut(to, len).fill(byte);
            } else {
                // What was copied lengthens what can be copied at once.
                let mut done = 0;
                while done < len {
                    let part = (distance + done).min(len - done);
                    to.add(done).copy_from_nonoverlapping(to.sub(distance), part);
                    done += part;
                }
            }
        }
        self.at += len;
        true
    }

    /// Adds short sequences, as long as there are and both buffers are long enough to go beyond their ends. Returns
    /// `false` for a match that begins before the first byte.
    #[inline(always)]
    fn short_sequences(&mut self, input: &mut Input<'_>) -> bool {
        while input.0.len() >= SHORT_READ && self.left() >= SHORT_WRITE {
            let token = usize::from(input.0[0]);
            let (num_literals, matched) = (token >> 4, (token & 15) + SHORTEST);
            if num_literals == 15 || matched == 15 + SHORTEST {
                return true;
            }
            let block = input.0.as_ptr();
            // SAFETY: 16 bytes behind the token are in the block, and so is the distance, which begins within these or
            // just behind them; 16 bytes have room at `at`, whatever they were before.
            let distance = unsafe {
                let to = self.to.as_mut_ptr().add(self.at).cast::<u8>();
                to.copy_from_nonoverlapping(block.add(1), 16);
                u16::from_le(block.add(1 + num_literals).cast::<u16>().read_unaligned())
            };
            let (distance, at) = (usize::from(distance), self.at + num_literals);
            if distance.wrapping_sub(1) >= at {
                return false;
            }
            // SAFETY: the bytes before `at` have been written, and `distance` is from 1 to `at`. At `at` there is room
            // for 32 bytes, of which none that is read is written in the same move.
            unsafe {
                let to = self.to.as_mut_ptr().add(at);
                let from = to.sub(distance);
                if distance >= 16 {
                    to.copy_from_nonoverlapping(from, 16);
                    to.add(16).copy_from_nonoverlapping(from.add(16), 16);
                } else if distance >= 8 {
                    to.copy_from_nonoverlapping(from, 8);
                    to.add(8).copy_from_nonoverlapping(from.add(8), 8);
                    to.add(16).copy_from_nonoverlapping(from.add(16), 8);
                } else {
                    // 8 bytes one by one; then from a multiple of the distance before, which is at least 8.
                    for i in 0..8 {
                        to.add(i).write(from.add(i).read());
                    }
                    let back = FROM_8[distance];
                    to.add(8).copy_from_nonoverlapping(to.add(8).sub(back), 8);
                    to.add(16).copy_from_nonoverlapping(to.add(16).sub(back), 8);
                }
            }
            self.at = at + matched;
            input.0 = &input.0[3 + num_literals..];
        }
        true
    }
}

/// The least multiple of a distance from 1 to 7 that is not less than 8.
const FROM_8: [usize; 8] = [0, 8, 8, 9, 8, 10, 12, 14];

/// Decodes a block that has to decode to just the length of `to`, or to more if that `is_part` of it. After a success
/// all of `to` is written.
pub(in crate::codec) fn decode(block: &[u8], to: &mut [MaybeUninit<u8>], is_part: bool) -> Result<()> {
    let len = to.len();
    // SAFETY: nothing precedes what the block decodes to.
    let end = unsafe { decode_behind(block, to, 0, is_part) }?;
    if end == len { Ok(()) } else { Err(corrupt("it decodes to fewer bytes than its header says")) }
}

/// Decodes a block behind the first `at` bytes of `to`, at most its length, from which matches may copy. Returns where
/// what has been written ends: that is where the block ends, which must not be beyond `to`, or if that `is_part` of it
/// the end of `to`.
///
/// # Safety
/// The first `at` bytes have been written.
pub(super) unsafe fn decode_behind(
    block: &[u8],
    to: &mut [MaybeUninit<u8>],
    at: usize,
    is_part: bool,
) -> Result<usize> {
    let (mut input, mut output) = (Input(block), Output { to, at });
    let too_far = || corrupt("a match begins before the data");
    let too_many = || corrupt("it decodes to more bytes than its header says");
    loop {
        if !output.short_sequences(&mut input) {
            return Err(too_far());
        }
        let token = usize::from(input.byte()?);
        let len = input.length(token >> 4)?;
        if len > output.left() && !is_part {
            return Err(too_many());
        }
        let part = len.min(output.left());
        output.literals(input.take(part).ok_or_else(|| corrupt("the data is truncated"))?);
        if input.0.is_empty() || (is_part && output.left() == 0) {
            return Ok(output.at);
        }
        let distance = input.distance()?;
        let len = input.length(token & 15)? + SHORTEST;
        if len > output.left() && !is_part {
            return Err(too_many());
        }
        if !output.matched(distance, len.min(output.left())) {
            return Err(too_far());
        }
        if is_part && output.left() == 0 {
            return Ok(output.at);
        }
    }
}
