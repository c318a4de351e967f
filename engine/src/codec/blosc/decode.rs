//! Decodes the blocks of a chunk that hold needed bytes.
//!
//! A block is one stream, or as many as an element has bytes. Each is preceded by its stored length (u32,
//! little-endian) and is raw if that is its decoded length.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

use super::blosclz;
use super::header::{self, Arranged, Header, Inner, corrupt};
use super::state::Blosc;
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::codec::planes::{bits, bytes};
use crate::codec::steps::Steps;
use crate::error::{Error, ErrorKind, Result};
use crate::pool::Lease;

impl Blosc {
    pub(super) fn decode_blocks(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let header = Header::read(encoded, decoded.capacity())?;
        let end = needed.end.min(header.size);
        let Some(inner) = header.inner else {
            let begin = needed.start.min(end);
            decoded.skip(begin);
            decoded.write(encoded.get(header::LEN + begin..header::LEN + end).unwrap_or_default());
            return Ok(());
        };
        if needed.start >= end {
            return Ok(());
        }
        let starts = header.starts(encoded)?;
        let first = needed.start / header.block;
        let mut scratch = Lease::new(&self.scratch, || Ok::<_, Error>(Scratch::EMPTY))?;
        decoded.skip(first * header.block);
        for number in first..header.blocks() {
            let begin = decoded.filled().len();
            if begin >= end {
                break;
            }
            let len = header.block.min(header.size - begin);
            let room = decoded.room().get_mut(..len).ok_or(ErrorKind::Internal)?;
            self.decode_block(&header, inner, header.block_at(encoded, starts, number)?, room, &mut scratch)?;
            // SAFETY: `decode_block` has written all of the `len` bytes of room behind `begin`.
            unsafe { decoded.set_filled(begin + len) };
        }
        Ok(())
    }

    /// Gives the blocks that hold bytes which are needed, one by one.
    pub(super) fn give_blocks(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<()> {
        let header = Header::read(encoded, steps.size())?;
        let Some(inner) = header.inner else { return steps.give(&encoded[header::LEN..header.stored]) };
        let starts = header.starts(encoded)?;
        let (mut scratch, mut memory) = (Scratch::EMPTY, Scratch::EMPTY);
        while let Some(next) = steps.next().filter(|&next| next < header.size) {
            let number = next / header.block;
            let begin = number * header.block;
            let len = header.block.min(header.size - begin);
            let room = memory.room(len)?;
            self.decode_block(&header, inner, header.block_at(encoded, starts, number)?, room, &mut scratch)?;
            steps.skip_to(begin);
            // SAFETY: `decode_block` has written all of the room.
            steps.give(unsafe { memory.filled(len) })?;
        }
        Ok(())
    }

    /// Decodes a block. After a success all of `to` is written.
    fn decode_block(
        &self,
        header: &Header,
        inner: Inner,
        block: &[u8],
        to: &mut [MaybeUninit<u8>],
        scratch: &mut Scratch,
    ) -> Result<()> {
        let (size, len) = (header.type_size, to.len());
        // c-blosc leaves a block alone if it does not hold a multiple of 8 elements. Beyond whole elements it copies.
        let count = len / size;
        let arranged = match header.arranged {
            Arranged::Bits if count % 8 != 0 => Arranged::Not,
            arranged => arranged,
        };
        if arranged == Arranged::Not {
            return self.decode_streams(header, inner, block, to);
        }
        self.decode_streams(header, inner, block, scratch.room(len)?)?;
        // SAFETY: `decode_streams` has just written all of the room.
        let planes = unsafe { scratch.filled(len) };
        let (elements, rest) = to.split_at_mut(count * size);
        let (planes, rest_of_planes) = planes.split_at(elements.len());
        let is_done = match arranged {
            Arranged::Bits => bits::gather(size, planes, elements),
            _ => bytes::gather(size, planes, count, 0..count, elements),
        };
        bytes::copy(rest_of_planes, rest);
        if is_done { Ok(()) } else { Err(ErrorKind::Internal.into()) }
    }

    /// Decodes the streams of a block. After a success all of `to` is written.
    fn decode_streams(&self, header: &Header, inner: Inner, block: &[u8], to: &mut [MaybeUninit<u8>]) -> Result<()> {
        // The length of each stream divides that of the block, which is not 0.
        let len = to.len() / header.splits(to.len())?;
        let mut rest = block;
        for to in to.chunks_exact_mut(len) {
            let end = || corrupt("a block ends early");
            let (stored, after) = rest.split_first_chunk().ok_or_else(end)?;
            let (stream, after) = after.split_at_checked(u32::from_le_bytes(*stored) as usize).ok_or_else(end)?;
            rest = after;
            if stream.len() == len {
                bytes::copy(stream, to);
            } else {
                self.decode_stream(inner, stream, &mut Buffer::new(to))?;
            }
        }
        Ok(())
    }

    /// Decodes a stream to the size of the empty buffer, which after a success is full.
    fn decode_stream(&self, inner: Inner, stream: &[u8], to: &mut Buffer<'_>) -> Result<()> {
        let len = to.capacity();
        let result: Result<()> = match inner {
            Inner::BloscLz => blosclz::decode(stream, to.zeros(len).unwrap_or_default()),
            #[cfg(feature = "lz4")]
            Inner::Lz4 => crate::codec::lz4::block::decode(stream, to.room(), false).map(|()| {
                // SAFETY: after a success the decoder has written all of the empty buffer's room.
                unsafe { to.set_filled(len) };
            }),
            #[cfg(not(feature = "lz4"))]
            Inner::Lz4 => Err(ErrorKind::Codec("blosc: this build does not include its compressor lz4").into()),
            #[cfg(feature = "zlib")]
            Inner::Zlib => crate::codec::traits::Codec::decode(&self.zlib, stream, 0..len, to),
            #[cfg(not(feature = "zlib"))]
            Inner::Zlib => Err(ErrorKind::Codec("blosc: this build does not include its compressor zlib").into()),
            #[cfg(feature = "zstd")]
            Inner::Zstd => crate::codec::traits::Codec::decode(&self.zstd, stream, 0..len, to),
            #[cfg(not(feature = "zstd"))]
            Inner::Zstd => Err(ErrorKind::Codec("blosc: this build does not include its compressor zstd").into()),
        };
        match result {
            // The length is that of a stream, not of the chunk.
            Err(error) if matches!(error.kind(), ErrorKind::DecodedLength { .. }) => {
                Err(corrupt("a block decodes to more bytes than expected"))
            }
            Ok(()) if to.filled().len() != len => Err(corrupt("a block decodes to fewer bytes than expected")),
            result => result,
        }
    }
}

#[cfg(all(test, feature = "zlib"))]
mod tests {
    use super::*;
    use crate::codec::testing::{decoded, encoded};
    use crate::codec::zlib::Zlib;

    #[test]
    fn a_stream_holds_just_its_block() {
        let stream = encoded(&Zlib::default(), &[7; 100]);
        let reason = |size: u8, stream: &[u8]| {
            let (stored, len) = (24 + stream.len() as u8, stream.len() as u8);
            let numbers = [size, size, stored, 20, len].map(u32::from);
            let chunk: Vec<u8> = [header::VERSION, header::INNER_VERSION, 3 << 5 | header::IS_NOT_SPLIT, 1]
                .into_iter()
                .chain(numbers.into_iter().flat_map(u32::to_le_bytes))
                .chain(stream.iter().copied())
                .collect();
            let size = usize::from(size);
            decoded(&Blosc::default(), &chunk, 0..size, size).map(|found| found.len())
        };
        assert_eq!(reason(100, &stream), Ok(100));
        assert_eq!(reason(99, &stream), Err(corrupt("a block decodes to more bytes than expected")));
        assert_eq!(reason(101, &stream), Err(corrupt("a block decodes to fewer bytes than expected")));
        let early = ErrorKind::Corrupt { codec: "zlib", reason: "the data is truncated" };
        assert_eq!(reason(100, &stream[..stream.len() - 1]), Err(early.into()));
    }
}
