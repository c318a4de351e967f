//! The chunks of a dimension that differ in length: runs of chunks that are alike, and where each run begins.
//!
//! What is asked for is found by bisection of the runs. So a list takes memory for its runs, not for its chunks.

use crate::alloc;
use crate::error::{ErrorKind, Result};

/// So many chunks of a dimension, side by side, that are alike. Lengths are in elements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkRun {
    /// How many chunks there are.
    pub num_chunks: usize,
    /// The logical length of each: what it contributes to the dimension.
    pub len: usize,
    /// The encoded length of each: what it is stored with and decodes to. It is no less than `len`; what lies behind
    /// that is never read, and written as fill values.
    pub encoded_len: usize,
}

impl ChunkRun {
    /// So many chunks that contribute all that they decode to.
    pub fn new(num_chunks: usize, len: usize) -> Self {
        ChunkRun { num_chunks, len, encoded_len: len }
    }
}

/// A run, and what is before it.
#[derive(Debug, PartialEq, Eq)]
pub struct Run {
    pub chunks: ChunkRun,
    /// The number of its first chunk.
    pub first_chunk: usize,
    /// The position of its first element.
    pub begin: usize,
}

impl Run {
    /// How many elements its chunks contribute. The list has checked that they are not too many.
    pub(crate) fn len(&self) -> usize {
        self.chunks.num_chunks * self.chunks.len
    }
}

/// The chunks of a dimension, of which there is at least one.
#[derive(Debug, PartialEq, Eq)]
pub struct ChunkList {
    runs: Vec<Run>,
    /// How many elements all chunks contribute.
    len: usize,
    /// The least logical length.
    shortest: usize,
    /// The largest encoded length.
    longest: usize,
}

impl ChunkList {
    /// Longer lists and longer dimensions do not exist.
    const MOST: usize = isize::MAX as usize;

    /// A list of these runs, of which neighbours that are alike become one. Runs of no chunks are left out.
    ///
    /// # Errors
    /// `Argument` for no chunks, for a length of 0, for an encoded length below the logical one, and for more chunks or
    /// elements than an `isize` counts; `OutOfMemory`.
    pub(crate) fn new(runs: impl Iterator<Item = ChunkRun>) -> Result<Self> {
        const TOO_MANY: ErrorKind = ErrorKind::Argument("the chunks of a dimension are more than can be counted");
        let mut list = ChunkList { runs: Vec::new(), len: 0, shortest: usize::MAX, longest: 0 };
        let mut first_chunk = 0usize;
        for chunks in runs.filter(|run| run.num_chunks > 0) {
            if chunks.len == 0 {
                return Err(ErrorKind::Argument("the chunk length is 0").into());
            }
            if chunks.encoded_len < chunks.len {
                return Err(ErrorKind::Argument("a chunk's encoded length is less than its length").into());
            }
            let len = chunks.num_chunks.checked_mul(chunks.len).and_then(|len| list.len.checked_add(len));
            let end = first_chunk.checked_add(chunks.num_chunks).filter(|&end| end <= Self::MOST).ok_or(TOO_MANY)?;
            let is_like =
                |last: &&mut Run| (last.chunks.len, last.chunks.encoded_len) == (chunks.len, chunks.encoded_len);
            match list.runs.last_mut().filter(is_like) {
                Some(last) => last.chunks.num_chunks += chunks.num_chunks,
                None => alloc::push(&mut list.runs, Run { chunks, first_chunk, begin: list.len })?,
            }
            list.len = len.filter(|&len| len <= Self::MOST).ok_or(TOO_MANY)?;
            list.shortest = list.shortest.min(chunks.len);
            list.longest = list.longest.max(chunks.encoded_len);
            first_chunk = end;
        }
        if list.runs.is_empty() {
            return Err(ErrorKind::Argument("a list of chunk lengths is empty").into());
        }
        Ok(list)
    }

    /// How many elements all chunks contribute.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The least logical length.
    pub(crate) fn shortest(&self) -> usize {
        self.shortest
    }

    /// The largest encoded length.
    pub(crate) fn longest(&self) -> usize {
        self.longest
    }

    /// The runs, in order.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// The number of the run that holds a position; the last one for what is beyond the end.
    pub(crate) fn run_at(&self, position: usize) -> usize {
        self.runs.partition_point(|run| run.begin <= position) - 1
    }

    /// The number of the run that holds a chunk; the last one for what is beyond the end.
    pub(crate) fn run_of(&self, chunk: usize) -> usize {
        self.runs.partition_point(|run| run.first_chunk <= chunk) - 1
    }

    /// The chunk that holds a position, and the place in the chunk.
    pub(crate) fn locate(&self, position: usize) -> (usize, usize) {
        let run = &self.runs[self.run_at(position)];
        let (chunk, place) = ((position - run.begin) / run.chunks.len, (position - run.begin) % run.chunks.len);
        (run.first_chunk + chunk, place)
    }

    /// The position at which a chunk begins, and a chunk like it.
    pub(crate) fn chunk(&self, chunk: usize) -> (usize, ChunkRun) {
        let run = &self.runs[self.run_of(chunk)];
        (run.begin + (chunk - run.first_chunk) * run.chunks.len, run.chunks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(lens: &[(usize, usize)]) -> Result<ChunkList> {
        ChunkList::new(lens.iter().map(|&(len, encoded_len)| ChunkRun { num_chunks: 1, len, encoded_len }))
    }

    #[test]
    fn chunks_that_are_alike_are_one_run() {
        let all = list(&[(4, 4), (4, 4), (2, 4), (2, 4), (4, 4), (3, 3)]).unwrap();
        let runs: Vec<_> = all.runs().iter().map(|run| (run.chunks.num_chunks, run.first_chunk, run.begin)).collect();
        assert_eq!(runs, [(2, 0, 0), (2, 2, 8), (1, 4, 12), (1, 5, 16)]);
        assert_eq!((all.len(), all.shortest(), all.longest()), (19, 2, 4));
        let mut begin = 0;
        for (chunk, len) in [4, 4, 2, 2, 4, 3].into_iter().enumerate() {
            assert_eq!((all.chunk(chunk).0, all.chunk(chunk).1.len), (begin, len));
            (0..len).for_each(|place| assert_eq!(all.locate(begin + place), (chunk, place)));
            begin += len;
        }
        assert_eq!(all.locate(begin), (6, 0));
    }

    #[test]
    fn lists_that_no_dimension_can_have_are_refused() {
        let words = |runs: &[ChunkRun]| ChunkList::new(runs.iter().copied()).unwrap_err().to_string();
        let most = isize::MAX as usize;
        assert_eq!(words(&[]), "a list of chunk lengths is empty");
        assert_eq!(words(&[ChunkRun::new(0, 4)]), "a list of chunk lengths is empty");
        assert_eq!(words(&[ChunkRun::new(2, 0)]), "the chunk length is 0");
        let short = ChunkRun { num_chunks: 1, len: 4, encoded_len: 3 };
        assert_eq!(words(&[short]), "a chunk's encoded length is less than its length");
        for runs in [[(most, 1), (1, 1)], [(2, most), (1, 1)], [(usize::MAX, 3), (1, 1)], [(1, most), (1, 1)]] {
            let runs = runs.map(|(num_chunks, len)| ChunkRun::new(num_chunks, len));
            assert_eq!(words(&runs), "the chunks of a dimension are more than can be counted", "{runs:?}");
        }
        assert_eq!(ChunkList::new([ChunkRun::new(most, 1)].into_iter()).unwrap().len(), most);
    }
}
