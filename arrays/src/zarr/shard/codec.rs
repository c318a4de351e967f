//! A whole shard as a codec: decoded, it is one large chunk; encoded, it is the chunks it consists of and their index.
#![allow(unsafe_code)]

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::layout::{Layout, corrupt};
use crate::alloc::{self, Scratch};
use crate::buffer::Buffer;
use crate::codec::{Between, Chain, Codec};
use crate::copy::{Axis, Destination, Source, StridedCopy};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::fetch::{ABSENT, Index};
use crate::limits::Limit;
use crate::pool::{Lease, Pool};
use crate::shared::Shared;
use crate::threads::Threads;
use crate::transfer::Queue;

/// The codec sharding_indexed.
pub(crate) struct ShardCodec {
    layout: Shared<Layout>,
    /// How the chunks are encoded.
    chain: Chain<'static>,
    /// An element that nothing was written to, as it is stored.
    fill_value: Vec<u8>,
    chunk_bytes: usize,
    /// Bytes from chunk to chunk in the decoded shard, along each of the array's dimensions.
    steps: Dims<usize>,
    /// The axes of a chunk, innermost first, from the chunk to the decoded shard.
    axes: Dims<Axis>,
    memory: [Pool<Scratch>; 3],
}

impl ShardCodec {
    /// `counts` and `chunklens` are the shard's chunks and their lengths along each of the array's dimensions; `order`
    /// tells the dimensions as the elements have them, slowest first.
    ///
    /// # Errors
    /// `OutOfMemory`, `Metadata` for shards that do not fit memory.
    pub(crate) fn new(
        layout: Shared<Layout>,
        chain: Chain<'static>,
        fill_value: Vec<u8>,
        counts: &[usize],
        chunklens: &[usize],
        order: &[usize],
    ) -> Result<Self> {
        let too_large = || ErrorKind::Metadata("the shard is larger than memory");
        let (mut in_chunk, mut in_shard) = (fill_value.len(), fill_value.len());
        let (mut steps, mut axes) = (dims::copied(counts.iter().map(|_| 0))?, Dims::new());
        dims::reserve(&mut axes, counts.len())?;
        for &d in order.iter().rev() {
            let (count, len) = (counts[d], chunklens[d]);
            axes.push(Axis { count: len, source: in_chunk as isize, destination: in_shard as isize });
            in_chunk = in_chunk.checked_mul(len).ok_or_else(too_large)?;
            steps[d] = in_shard.checked_mul(len).ok_or_else(too_large)?;
            in_shard = steps[d].checked_mul(count).filter(|&size| size <= isize::MAX as usize).ok_or_else(too_large)?;
        }
        let memory = [Pool::new(), Pool::new(), Pool::new()];
        Ok(ShardCodec { layout, chain, fill_value, chunk_bytes: in_chunk, steps, axes, memory })
    }

    /// Where a chunk begins in the decoded shard.
    fn offset(&self, number: usize) -> Result<usize> {
        Ok(self.layout.position(number)?.iter().zip(&self.steps).map(|(at, step)| at * step).sum())
    }

    fn lease(&self, i: usize) -> Lease<'_, Scratch> {
        match Lease::new(&self.memory[i], || Ok::<_, std::convert::Infallible>(Scratch::EMPTY)) {
            Ok(lease) => lease,
        }
    }

    /// Decodes a chunk, or takes it as it is.
    fn decode_chunk(&self, stored: &[u8], chunk: &mut Buffer<'_>, between: Between<'_>) -> Result<()> {
        if !self.chain.is_empty() {
            if let Some(bytes) = self.chain.decode(stored, 0..self.chunk_bytes, chunk, between, Limit::NONE)? {
                chunk.write(bytes);
            }
            return Ok(());
        }
        if stored.len() != self.chunk_bytes || !chunk.write(stored) {
            return Err(ErrorKind::StoredLength { found: stored.len(), expected: self.chunk_bytes }.into());
        }
        Ok(())
    }

    /// Encodes a chunk of a decoded shard, or takes it as it is; `None` if there is nothing in it.
    fn encode_chunk<'m>(
        &self,
        (shard, number): (&[u8], usize),
        copy: &StridedCopy,
        memory: &'m mut Scratch,
        between: Between<'m>,
    ) -> Result<Option<&'m [u8]>> {
        let room = memory.room(self.chunk_bytes)?;
        copy.run(shard.into(), self.offset(number)?, &mut Destination::from(&mut *room), 0)?;
        // SAFETY: the copy has written every byte of the chunk.
        let chunk = unsafe { memory.filled(self.chunk_bytes) };
        // As zarr-python does, a chunk without anything in it is left out.
        if chunk.chunks_exact(self.fill_value.len()).all(|element| element == self.fill_value) {
            return Ok(None);
        }
        Ok(Some(if self.chain.is_empty() { chunk } else { self.chain.encode(chunk, between, Threads::ONE)? }))
    }

    /// Where the index is in a shard.
    fn index<'s>(&self, shard: &'s [u8]) -> Result<&'s [u8]> {
        let len = self.layout.index_bytes();
        let begin = if self.layout.index_is_at_start() { Some(0) } else { shard.len().checked_sub(len) };
        begin
            .and_then(|begin| shard.get(begin..begin + len))
            .ok_or_else(|| corrupt("the shard is shorter than its index"))
    }
}

/// How many decoded bytes there are for each thread at least that is spawned to encode a shard.
const BYTES_PER_HELPER: usize = if cfg!(miri) { 1 } else { 128 << 10 };

const NO_ROOM: ErrorKind = ErrorKind::Encode { codec: "sharding_indexed", reason: "there is too little room" };

/// The chunks of a shard that is being encoded. They lie one behind the other, in the order of their numbers. One that
/// is there before those before it waits where it would begin if each of them took all the room that it can.
struct Gathering<'e, 'b> {
    encoded: &'e mut Buffer<'b>,
    /// Where the first chunk begins, and the most bytes of each.
    begin: usize,
    most: usize,
    /// How many bytes those have that wait, by their numbers; `None` within for those that are left out.
    waiting: Vec<Option<Option<usize>>>,
    /// What is in its place.
    index: Index,
}

impl<'e, 'b> Gathering<'e, 'b> {
    fn new(codec: &ShardCodec, encoded: &'e mut Buffer<'b>) -> Result<Self> {
        let (num, most) = (codec.layout.num_chunks(), codec.chain.encoded_bound(codec.chunk_bytes));
        let (waiting, spans) = (alloc::filled(num, None)?, alloc::room(num)?);
        Ok(Gathering { begin: encoded.filled().len(), encoded, most, waiting, index: Index { spans } })
    }

    /// Where a chunk waits, behind what is in its place.
    fn place(&self, number: usize) -> usize {
        self.begin.saturating_add(number.saturating_mul(self.most)).saturating_sub(self.encoded.filled().len())
    }

    /// Takes up a chunk, and puts those in their places that have waited for it.
    fn put(&mut self, number: usize, chunk: Option<&[u8]>) -> Result<()> {
        let is_next = number == self.index.spans.len();
        match chunk {
            Some(chunk) if is_next => {
                self.index.spans.push((self.encoded.filled().len() as u64, chunk.len() as u64));
                return if self.encoded.write(chunk) { self.put_waiting() } else { Err(NO_ROOM.into()) };
            }
            Some(chunk) => {
                let place = self.place(number);
                let room = self.encoded.room().get_mut(place..).and_then(|room| room.get_mut(..chunk.len()));
                let room = room.filter(|room| room.len() <= self.most).ok_or(NO_ROOM)?;
                // SAFETY: bytes that are initialised may be read as ones that need not be.
                room.copy_from_slice(unsafe { std::slice::from_raw_parts(chunk.as_ptr().cast(), chunk.len()) });
            }
            None => {}
        }
        self.waiting[number] = Some(chunk.map(<[u8]>::len));
        self.put_waiting()
    }

    fn put_waiting(&mut self) -> Result<()> {
        while let Some(&Some(waiting)) = self.waiting.get(self.index.spans.len()) {
            let (number, begin) = (self.index.spans.len(), self.encoded.filled().len());
            let Some(len) = waiting else {
                self.index.spans.push(ABSENT);
                continue;
            };
            let place = self.place(number);
            self.encoded.room().copy_within(place..place + len, 0);
            // SAFETY: `put` has written so many bytes where the chunk waits.
            unsafe { self.encoded.set_filled(begin + len) };
            self.index.spans.push((begin as u64, len as u64));
        }
        Ok(())
    }
}

impl Codec for ShardCodec {
    fn name(&self) -> &str {
        "sharding_indexed"
    }

    fn encoded_bound(&self, _decoded_size: usize) -> usize {
        let chunks = self.chain.encoded_bound(self.chunk_bytes).saturating_mul(self.layout.num_chunks());
        chunks.saturating_add(self.layout.index_bytes())
    }

    fn decode(&self, encoded: &[u8], _needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let index = self.layout.decode(self.index(encoded)?)?;
        let size = self.fill_value.len();
        let copy = StridedCopy::new(size, None, self.axes.iter().copied())?;
        let fill = StridedCopy::new(size, None, self.axes.iter().map(|&axis| Axis { source: 0, ..axis }))?;
        let (mut memory, mut one, mut other) = (self.lease(0), self.lease(1), self.lease(2));
        let shard_bytes = decoded.capacity();
        let mut shard = Destination::from(&mut *decoded.room());
        for number in 0..self.layout.num_chunks() {
            let offset = self.offset(number)?;
            match self.layout.storage_in(&index, number, encoded.len() as u64)? {
                None => fill.run(self.fill_value.as_slice().into(), 0, &mut shard, offset)?,
                Some((begin, len)) => {
                    // Both lie within the shard, which is in memory.
                    let stored = &encoded[begin as usize..][..len as usize];
                    let mut chunk = Buffer::new(memory.room(self.chunk_bytes)?);
                    self.decode_chunk(stored, &mut chunk, [&mut one, &mut other])?;
                    copy.run(Source::from(chunk.filled()), 0, &mut shard, offset)?;
                }
            }
        }
        // SAFETY: the chunks are all of the shard, and each was written.
        unsafe { decoded.set_filled(shard_bytes) };
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        self.encode_by_threads(decoded, encoded, Threads::ONE)
    }

    fn encode_by_threads(&self, decoded: &[u8], encoded: &mut Buffer<'_>, threads: Threads<'_>) -> Result<()> {
        let (num, at_start) = (self.layout.num_chunks(), self.layout.index_is_at_start());
        let copy = StridedCopy::new(self.fill_value.len(), None, self.axes.iter().map(|axis| axis.reversed()))?;
        if at_start {
            encoded.skip(self.layout.index_bytes());
        }
        let useful = if self.chain.is_concurrent() { 1 + decoded.len() / BYTES_PER_HELPER } else { 1 };
        let workers = threads.most().min(useful).min(num).max(1);
        let (queue, gathering) = (Queue::new(0..num), Mutex::new(Gathering::new(self, encoded)?));
        let work = || {
            let (mut memory, mut one, mut other) = (self.lease(0), self.lease(1), self.lease(2));
            while let Some(number) = queue.take(1).map(|block| block.start) {
                let stored = self.encode_chunk((decoded, number), &copy, &mut memory, [&mut one, &mut other]);
                let mut gathering = gathering.lock().unwrap_or_else(PoisonError::into_inner);
                if let Err(error) = stored.and_then(|stored| gathering.put(number, stored)) {
                    return queue.fail(number, error);
                }
            }
        };
        match workers {
            1 => work(),
            _ => threads.run(workers, &work, work, &|| queue.fail_all(ErrorKind::Internal.into())),
        }
        queue.finish(&mut 0)?;
        let index = gathering.into_inner().unwrap_or_else(PoisonError::into_inner).index;
        let index = self.layout.encode(&index)?;
        let is_written = match at_start {
            true => encoded.filled_mut().get_mut(..index.len()).map(|to| to.copy_from_slice(&index)).is_some(),
            false => encoded.write(&index),
        };
        if is_written { Ok(()) } else { Err(NO_ROOM.into()) }
    }

    fn working_memory(&self, _decoded_size: usize, encodes: bool) -> usize {
        let index = (self.layout.index_bytes()).saturating_mul(4);
        let chunk = self.chain.encoded_bound(self.chunk_bytes).max(self.chunk_bytes);
        chunk.saturating_add(self.chain.working_memory(self.chunk_bytes, encodes, 1)).saturating_add(index)
    }

    fn can_encode(&self) -> bool {
        self.chain.can_encode()
    }

    fn why_not_encoded(&self) -> Option<&'static str> {
        self.chain.why_not_encoded().map(|(_, why)| why)
    }

    fn is_concurrent(&self) -> bool {
        self.chain.is_concurrent()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::ALIGNMENT;
    use crate::variable::Endian;
    use crate::zarr::shard::IndexFormat;

    fn codec(order: Option<&[usize]>, at_start: bool) -> ShardCodec {
        let format = IndexFormat { at_start, endian: Endian::Little, has_checksum: false };
        let layout = Layout::new(&[2, 3], order, format).unwrap();
        let chain = Chain::default();
        let (layout, order) = (Shared::new(layout).unwrap(), order.unwrap_or(&[0, 1]));
        ShardCodec::new(layout, chain, vec![7, 9], &[2, 3], &[5, 4], order).unwrap()
    }

    fn run(size: usize, code: impl Fn(&mut Buffer<'_>) -> Result<()>) -> Result<Vec<u8>> {
        let mut scratch = Scratch::EMPTY;
        let mut buffer = Buffer::new(scratch.room(size).unwrap());
        assert_eq!(buffer.as_mut_ptr().addr() % ALIGNMENT, 0);
        code(&mut buffer).map(|()| buffer.filled().to_vec())
    }

    #[test]
    fn a_shard_decodes_to_what_was_encoded() {
        let shard_bytes = 10 * 12 * 2;
        for order in [None, Some(&[1, 0][..])] {
            for at_start in [false, true] {
                let codec = codec(order, at_start);
                let mut shard: Vec<u8> = (0..shard_bytes).map(|i| i as u8).collect();
                // One chunk is left as it was.
                let (row, rows, columns) = if order.is_some() { (20, 4, 10) } else { (24, 5, 8) };
                for r in 0..rows {
                    shard[r * row..][..columns].chunks_exact_mut(2).for_each(|e| e.copy_from_slice(&[7, 9]));
                }
                let encode = |buffer: &mut Buffer<'_>| codec.encode(&shard, buffer);
                let encoded = run(codec.encoded_bound(shard_bytes), encode).unwrap();
                assert_eq!(encoded.len(), 5 * 40 + codec.layout.index_bytes());
                let decoded = run(shard_bytes, |buffer| codec.decode(&encoded, 0..shard_bytes, buffer)).unwrap();
                assert_eq!(decoded, shard);
            }
        }
    }

    #[test]
    fn a_shard_that_is_cut_short_is_refused() {
        let shard: Vec<u8> = (0..10 * 12 * 2).map(|i| i as u8).collect();
        for order in [None, Some(&[1, 0][..])] {
            for at_start in [false, true] {
                let codec = codec(order, at_start);
                let encode = |buffer: &mut Buffer<'_>| codec.encode(&shard, buffer);
                let encoded = run(codec.encoded_bound(shard.len()), encode).unwrap();
                for len in 0..encoded.len() {
                    assert!(run(shard.len(), |b| codec.decode(&encoded[..len], 0..shard.len(), b)).is_err());
                }
            }
        }
    }

    /// Whatever chunk is there first: absent ones and present ones, with and without an encoding that shortens them.
    #[test]
    #[cfg(feature = "codecs")]
    fn a_shard_is_the_same_by_any_number_of_threads() {
        const LEN: usize = if cfg!(miri) { 4 } else { 64 };
        let (counts, chunklens) = (if cfg!(miri) { [2, 6] } else { [4, 16] }, [LEN, LEN]);
        let all_threads: &[usize] = if cfg!(miri) { &[3] } else { &[2, 3, 8] };
        for at_start in [false, true] {
            // Miri does not run zstd, which is C.
            for is_compressed in [false, !cfg!(miri)] {
                let format = IndexFormat { at_start, endian: Endian::Little, has_checksum: true };
                let layout = Shared::new(Layout::new(&counts, None, format).unwrap()).unwrap();
                let mut chain = Chain::default();
                if is_compressed {
                    chain.reserve().unwrap();
                    chain.push(Box::new(crate::Zstd::new(1, false)));
                }
                let codec = ShardCodec::new(layout, chain, vec![0; 8], &counts, &chunklens, &[0, 1]).unwrap();
                let row = counts[1] * LEN * 8;
                let mut shard = vec![0u8; counts[0] * LEN * row];
                for (i, byte) in shard.iter_mut().enumerate() {
                    // Every third column of chunks is left out.
                    let column = i % row / (LEN * 8);
                    *byte = if column % 3 == 1 { 0 } else { (i / 7) as u8 >> (column % 8) };
                }
                let encode = |threads: usize| {
                    let encode =
                        |buffer: &mut Buffer<'_>| codec.encode_by_threads(&shard, buffer, Threads::new(threads, None));
                    run(codec.encoded_bound(shard.len()), encode).unwrap()
                };
                let one = encode(1);
                for &threads in all_threads {
                    for _ in 0..if cfg!(miri) { 1 } else { 4 } {
                        assert!(encode(threads) == one);
                    }
                }
                let decoded = run(shard.len(), |buffer| codec.decode(&one, 0..shard.len(), buffer)).unwrap();
                assert!(decoded == shard);
            }
        }
    }

    /// The first chunk in order that fails is told, and each thread ends.
    #[test]
    fn a_chunk_that_is_not_encoded_ends_all_threads() {
        const LEN: usize = if cfg!(miri) { 16 } else { 1 << 13 };
        let layout =
            Layout::new(&[64], None, IndexFormat { at_start: false, endian: Endian::Little, has_checksum: false });
        let mut chain = Chain::default();
        chain.reserve().unwrap();
        chain.push(Box::new(Own { can_all: true }));
        let codec =
            ShardCodec::new(Shared::new(layout.unwrap()).unwrap(), chain, vec![0], &[64], &[LEN], &[0]).unwrap();
        let shard: Vec<u8> = (0..64u8).flat_map(|chunk| vec![chunk + 1; LEN]).collect();
        for threads in [1, 4] {
            let encode = |buffer: &mut Buffer<'_>| codec.encode_by_threads(&shard, buffer, Threads::new(threads, None));
            let error = run(codec.encoded_bound(shard.len()), encode).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Callback(20));
        }
    }

    /// A codec that does not encode what begins with 20 or more, and that may do what others can or not.
    struct Own {
        can_all: bool,
    }

    impl Codec for Own {
        fn name(&self) -> &str {
            "own"
        }

        fn encoded_bound(&self, decoded_size: usize) -> usize {
            decoded_size
        }

        fn decode(&self, encoded: &[u8], _: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
            decoded.write(encoded);
            Ok(())
        }

        fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
            match decoded[0] {
                status @ 20.. => Err(ErrorKind::Callback(status.into()).into()),
                _ => self.decode(decoded, 0..decoded.len(), encoded),
            }
        }

        fn can_encode(&self) -> bool {
            self.can_all
        }

        fn is_concurrent(&self) -> bool {
            self.can_all
        }
    }

    #[test]
    fn a_shard_can_do_what_its_codecs_can() {
        let mut codec = codec(None, false);
        assert_eq!((codec.name(), codec.can_encode(), codec.is_concurrent()), ("sharding_indexed", true, true));
        codec.chain.reserve().unwrap();
        codec.chain.push(Box::new(Own { can_all: false }));
        assert_eq!((codec.can_encode(), codec.is_concurrent()), (false, false));
    }

    #[test]
    fn a_shard_is_not_encoded_without_room_for_all_of_it() {
        for (at_start, element) in [(false, [1, 2]), (true, [1, 2]), (false, [7, 9]), (true, [7, 9])] {
            let codec = codec(None, at_start);
            let shard = element.repeat(10 * 12);
            let encode = |size: usize| run(size, |buffer| codec.encode(&shard, buffer));
            // A shard of fill values is its index alone.
            let due = codec.layout.index_bytes() + if element == [7, 9] { 0 } else { shard.len() };
            assert_eq!(encode(due).unwrap().len(), due);
            for size in 1..due {
                assert!(matches!(encode(size).unwrap_err().kind(), ErrorKind::Encode { .. }), "{size}");
            }
        }
    }

    #[test]
    fn chunks_without_codecs_have_all_their_bytes() {
        let codec = codec(None, false);
        let shard = [1, 2].repeat(10 * 12);
        let mut encoded = run(codec.encoded_bound(shard.len()), |buffer| codec.encode(&shard, buffer)).unwrap();
        let len = encoded.len() - codec.layout.index_bytes() + 8;
        encoded[len..][..8].copy_from_slice(&39u64.to_le_bytes());
        let error = run(shard.len(), |buffer| codec.decode(&encoded, 0..shard.len(), buffer)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::StoredLength { found: 39, expected: 40 });
    }
}
