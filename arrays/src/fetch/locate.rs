//! Where the chunks of an array are: what a format has to say, without reading anything.

use crate::codec::Chain;
use crate::dims::Dims;
use crate::error::{Error, ErrorKind, Result};
use crate::object::{ByteRange, Name};
use crate::store::Filled;

/// Where the chunks of an array are. Nothing is read here: what has to be read first to find a chunk is asked for step
/// by step, and given to [`learn`](Self::learn).
pub(crate) trait Locate: Send + Sync {
    /// Where a chunk is.
    fn locate(&self, chunk: &[isize]) -> Result<Location>;

    /// The name of an object.
    fn name(&self, object: &[isize]) -> Result<Name>;

    /// Whether all chunks are in one object, whatever the numbers.
    fn is_one_object(&self) -> bool {
        false
    }

    /// What is read first of an index.
    fn first_step(&self, index: &[isize]) -> Result<Step> {
        let _ = index;
        Err(ErrorKind::Internal.into())
    }

    /// What follows from the bytes of a step, which were read from an object of this length.
    ///
    /// # Errors
    /// `Corrupt` for bytes that are none of an index.
    fn learn(&self, index: &[isize], step: &Step, bytes: &[u8], object_len: u64) -> Result<Learned> {
        let _ = (index, step, bytes, object_len);
        Err(ErrorKind::Internal.into())
    }

    /// How many chunks an index has.
    fn index_len(&self) -> usize {
        1
    }

    /// How many chunks an object has at most, of an array with so many along each dimension, if it has nothing but
    /// these and their index, which is read by one step and lies at the object's beginning or end.
    fn most_chunks(&self, object: &[isize], counts: &[usize]) -> Option<usize> {
        let _ = (object, counts);
        None
    }

    /// Where a chunk is by the index of an object, its first byte and its length, where the object has this length;
    /// `None` if it is absent.
    ///
    /// # Errors
    /// `Corrupt` for a span that is not within the object.
    fn span(&self, object: &[isize], index: &Index, number: usize, object_len: u64) -> Result<Option<(u64, u64)>> {
        let _ = (object, index, number, object_len);
        Err(ErrorKind::Internal.into())
    }

    /// Whether there are indices that several chunks share.
    fn has_indices(&self) -> bool {
        self.index_len() > 1
    }

    /// Whether chunks may lie together in an object.
    fn has_neighbours(&self) -> bool {
        true
    }

    /// What a chunk is whose object is not there.
    ///
    /// # Errors
    /// If it has to be there.
    fn missing(&self, object: &[isize]) -> Result<Filled> {
        let _ = object;
        Ok(Filled::Absent)
    }

    /// What is said of an object that ends before what is needed of it.
    fn too_short(&self, object: &[isize]) -> Error {
        let _ = object;
        self.changed()
    }

    /// What is said of an object that is another one each time it is read.
    fn changed(&self) -> Error {
        ErrorKind::Changed.into()
    }

    /// Whether the objects are said not to change while the array is open.
    fn is_constant(&self) -> bool {
        false
    }

    /// Whether a whole object is a chunk, or its index tells how long a chunk is.
    fn tells_len(&self) -> bool {
        true
    }

    /// Whether chunks may be written, each object as a whole.
    fn is_writable(&self) -> bool {
        false
    }

    /// Whether several threads may decode the chunks.
    fn is_concurrent(&self) -> bool {
        true
    }

    /// Whether nothing may be read that is not needed, however small the gap is.
    fn reads_no_gaps(&self) -> bool {
        false
    }

    /// See [`ChunkReader::skipped_codecs`](crate::store::ChunkReader::skipped_codecs).
    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        let _ = chunk;
        Ok(0)
    }

    /// See [`ChunkReader::own_codecs`](crate::store::ChunkReader::own_codecs).
    fn own_codecs(&self, chunk: &[isize]) -> Option<&Chain<'static>> {
        let _ = chunk;
        None
    }

    /// See [`ChunkReader::swapped_part`](crate::store::ChunkReader::swapped_part).
    fn swapped_part(&self) -> Option<usize> {
        None
    }
}

/// Where a chunk is.
pub(crate) struct Location {
    /// The object, by numbers of which [`Locate::name`] makes its name. Those of one object may have several, each with
    /// an index of its own, where [`Locate::is_one_object`].
    pub object: Dims<isize>,
    pub part: Part,
}

/// Which part of an object a chunk is.
#[derive(Clone, Copy)]
pub(crate) enum Part {
    /// All of it, however long it is.
    Whole,
    /// What is there from `begin` on. From `end` on nothing is stored of the chunk: one that is longer ends with zeros.
    Span { begin: u64, end: u64 },
    /// What the index of this object has at this number.
    Indexed { number: usize },
    /// The first byte and the length in bytes; `None` for a chunk that is absent.
    #[cfg_attr(not(feature = "hdf5"), allow(dead_code))]
    Known(Option<(u64, u64)>),
    /// It is not known before a node of an index has been read, which the numbers of the object stand for. The format
    /// keeps what it has [learnt](Locate::learn) of it, and is asked again.
    #[cfg_attr(not(feature = "hdf5"), allow(dead_code))]
    Unknown,
}

/// An index: for each of its chunks the first byte and the length in bytes.
pub(crate) struct Index {
    pub spans: Vec<(u64, u64)>,
}

/// Stands for an absent chunk in an index.
pub(crate) const ABSENT: (u64, u64) = (u64::MAX, u64::MAX);

impl Index {
    /// Whether it has a chunk of this number.
    pub(crate) fn has(&self, number: usize) -> bool {
        self.spans.get(number).is_some_and(|&span| span != ABSENT)
    }
}

/// What is to be read of an index next.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    pub begin: ByteRange,
    /// How many bytes.
    pub len: usize,
    /// What the format remembers from step to step.
    #[cfg_attr(not(feature = "cfdb"), allow(dead_code))]
    pub memory: [u64; 3],
}

/// What follows from a step.
pub(crate) enum Learned {
    Index(Index),
    #[cfg_attr(not(feature = "cfdb"), allow(dead_code))]
    Next(Step),
    /// The format keeps it: see [`Part::Unknown`].
    #[cfg_attr(not(feature = "hdf5"), allow(dead_code))]
    Kept,
}

/// How often an object is read that is replaced each time.
pub(super) const ATTEMPTS: usize = 8;

/// How many nodes of an index are read to find a chunk: more than any index has, and some that are forgotten before
/// they are used, because others are read meanwhile.
pub(super) const NODES: usize = 1024;

/// A longer part of an index is not read before it is known that the object is as long.
pub(super) const LONG_STEP: usize = 1 << 20;
