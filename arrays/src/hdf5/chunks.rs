//! Where the chunks of an array are: what the nodes of its index say that have been read, of which the last are kept.
//! Nothing is read here, for the thread may have requests in flight, beside which it may not read by itself.

use std::sync::atomic::{AtomicBool, Ordering};

use super::file::File;
use super::index::{Found, Index, Wanted};
use super::kept::Kept;
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Learned, Locate, Location, Part, Step};
use crate::object::{ByteRange, Name};
use crate::shared::Shared;
use crate::store::Filled;

/// The chunks of an array that has chunks.
pub(super) struct InChunks {
    /// The name of the file in the storage, and how many bytes it has.
    file: String,
    file_len: u64,
    /// The name of the array in the file.
    name: String,
    index: Index,
    edges: Edges,
    /// How many chunks there are along each dimension.
    counts: Vec<usize>,
    kept: Kept,
    /// Whether a chunk was found that has not been through all filters.
    has_skipped: AtomicBool,
}

/// Which codecs are filters, and which chunks go through none.
pub(super) struct Edges {
    /// How many codecs come before the filters.
    pub before_filters: u32,
    /// The array's shape and that of its chunks, if those at its edges go through no filter.
    pub plain: Option<(Vec<usize>, Vec<usize>)>,
}

impl InChunks {
    /// Of an array of this name, which has so many chunks along each dimension.
    pub(super) fn new(file: &File, (name, counts): (&str, Vec<usize>), index: Index, edges: Edges) -> Result<Self> {
        Ok(InChunks {
            file: alloc::text(&file.name)?,
            file_len: file.len,
            name: alloc::text(name)?,
            index,
            edges,
            counts,
            kept: Kept::new(),
            has_skipped: AtomicBool::new(false),
        })
    }

    /// What is known of a chunk by the nodes that are kept.
    fn find(&self, chunk: &[isize]) -> Result<Found> {
        let mut found = self.index.first(chunk)?;
        while let Found::Node(wanted) = &found {
            let Some(node) = self.kept.lock()?.nodes.get(wanted.begin, wanted.len) else { break };
            found = self.index.next(chunk, wanted, &node)?;
        }
        Ok(found)
    }

    /// The number of a chunk, row-major.
    fn number(&self, chunk: &[isize]) -> Result<u64> {
        let number = chunk.iter().zip(&self.counts).try_fold(0u64, |number, (&index, &count)| {
            number.checked_mul(count as u64)?.checked_add(u64::try_from(index).ok()?)
        });
        Ok(number.ok_or(ErrorKind::Internal)?)
    }

    /// Notes which filters a chunk has not been through that was found, unless all chunks were found to have been
    /// through all of them.
    fn note(&self, chunk: &[isize], skipped: u32) -> Result<()> {
        if skipped == 0 && !self.has_skipped.load(Ordering::Acquire) {
            return Ok(());
        }
        self.kept.lock()?.skipped.set(self.number(chunk)?, skipped)?;
        self.has_skipped.store(true, Ordering::Release);
        Ok(())
    }

    /// A node that was read from a file of so many bytes.
    fn checked(&self, wanted: &Wanted, bytes: Vec<u8>, file_len: u64) -> Result<Shared<Vec<u8>>> {
        if file_len != self.file_len || bytes.len() < wanted.len {
            return Err(ErrorKind::Changed.into());
        }
        self.index.verify(&bytes)?;
        Ok(Shared::new(bytes)?)
    }

    fn about(&self, error: impl Into<Error>) -> Error {
        error.into().in_object(&self.name)
    }
}

/// A node by numbers, each of them in two halves, so that machines with 32 bits have them, too.
fn numbers(wanted: &Wanted) -> Result<Dims<isize>> {
    let [one, other] = wanted.memory;
    let halves = [wanted.begin, wanted.len as u64, one, other].map(|number| [number, number >> 32]);
    dims::copied(halves.as_flattened().iter().map(|half| *half as u32 as i32 as isize))
}

fn wanted(numbers: &[isize]) -> Result<Wanted> {
    let number = |i: usize| match numbers.get(2 * i..2 * i + 2) {
        Some(&[low, high]) => Ok(u64::from(low as u32) | u64::from(high as u32) << 32),
        _ => Err(ErrorKind::Internal),
    };
    let len = usize::try_from(number(1)?).map_err(|_| ErrorKind::Internal)?;
    Ok(Wanted { begin: number(0)?, len, memory: [number(2)?, number(3)?] })
}

impl Locate for InChunks {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        Ok(match self.find(chunk).map_err(|error| self.about(error))? {
            Found::Node(node) => Location { object: numbers(&node)?, part: Part::Unknown },
            Found::Chunk(None) => Location { object: Dims::new(), part: Part::Known(None) },
            Found::Chunk(Some(record)) => {
                self.note(chunk, record.skipped)?;
                Location { object: Dims::new(), part: Part::Known(Some((record.begin, record.len))) }
            }
        })
    }

    fn name(&self, _object: &[isize]) -> Result<Name> {
        Name::of(format_args!("{}", self.file))
    }

    fn is_one_object(&self) -> bool {
        true
    }

    fn first_step(&self, node: &[isize]) -> Result<Step> {
        let Wanted { begin, len, .. } = wanted(node)?;
        Ok(Step { begin: ByteRange::At(begin), len, memory: [0; 3] })
    }

    fn learn(&self, node: &[isize], _step: &Step, bytes: &[u8], object_len: u64) -> Result<Learned> {
        let wanted = wanted(node)?;
        let node = self.checked(&wanted, alloc::copied(bytes)?, object_len).map_err(|error| self.about(error))?;
        self.kept.lock()?.nodes.keep(wanted.begin, node)?;
        Ok(Learned::Kept)
    }

    fn has_indices(&self) -> bool {
        true
    }

    fn missing(&self, _object: &[isize]) -> Result<Filled> {
        Err(ErrorKind::NotFound("file").into())
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        let is_beyond = |(shape, chunk_shape): &(Vec<usize>, Vec<usize>)| {
            chunk.iter().zip(shape).zip(chunk_shape).any(|((&index, &len), &chunk_len)| {
                let end = usize::try_from(index).ok().and_then(|index| index.checked_add(1)?.checked_mul(chunk_len));
                end.is_none_or(|end| end > len)
            })
        };
        let of_filters = |mask: u32| mask << self.edges.before_filters;
        if self.edges.plain.as_ref().is_some_and(is_beyond) {
            return Ok(of_filters(u32::MAX));
        }
        if !self.has_skipped.load(Ordering::Acquire) {
            return Ok(0);
        }
        // It was found in this process before it was read, or a cache has it, which keeps what is stored of chunks that
        // have been through all codecs alone.
        Ok(of_filters(self.kept.lock()?.skipped.get(self.number(chunk)?)))
    }
}
