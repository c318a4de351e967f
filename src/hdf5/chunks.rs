//! Where the chunks of an array are: what the nodes of its index say that have been read, of which the last are kept.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use super::index::{Found, Index, Wanted};
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Learned, Locate, Location, Part, Step};
use crate::lock::Lock;
use crate::object::{Begin, Name};
use crate::shared::Shared;
use crate::store::Filled;

/// How many bytes of nodes are kept.
const BYTES: usize = 8 << 20;

/// The chunks of an array that has chunks.
pub(super) struct InChunks {
    /// The name of the file in the storage, and how many bytes it has.
    file: String,
    file_len: u64,
    /// The name of the array in the file.
    name: String,
    index: Index,
    /// The array's shape and that of its chunks, if those at its edges go through no filter.
    plain_edges: Option<(Vec<usize>, Vec<usize>)>,
    nodes: Lock<Nodes>,
    /// The chunks that have not been through all filters, and whether there are any.
    skipped: Lock<HashMap<Dims<isize>, u32>>,
    has_skipped: AtomicBool,
}

/// The nodes that were used last. They are in two halves: when the new one is full it becomes the old one, and what was
/// in that is forgotten.
#[derive(Default)]
struct Nodes {
    new: HashMap<u64, Shared<Vec<u8>>>,
    old: HashMap<u64, Shared<Vec<u8>>>,
    /// How many bytes the new half has.
    bytes: usize,
}

impl Nodes {
    /// A node of at least so many bytes.
    fn get(&mut self, begin: u64, len: usize) -> Option<Shared<Vec<u8>>> {
        if let Some(node) = self.new.get(&begin) {
            return (node.len() >= len).then(|| node.clone());
        }
        let node = self.old.get(&begin).filter(|node| node.len() >= len)?.clone();
        // If there is no memory to keep it, it is forgotten.
        let _ = self.keep(begin, node.clone());
        Some(node)
    }

    fn keep(&mut self, begin: u64, node: Shared<Vec<u8>>) -> Result<()> {
        /// What an entry takes beside its bytes, about.
        const ENTRY: usize = 64;
        if self.bytes > BYTES / 2 {
            self.old = std::mem::take(&mut self.new);
            self.bytes = 0;
        }
        self.new.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.bytes += node.len() + ENTRY;
        self.new.insert(begin, node);
        Ok(())
    }
}

impl InChunks {
    pub(super) fn new(
        (file, file_len): (&str, u64),
        name: &str,
        index: Index,
        plain_edges: Option<(Vec<usize>, Vec<usize>)>,
    ) -> Result<Self> {
        Ok(InChunks {
            file: alloc::text(file)?,
            file_len,
            name: alloc::text(name)?,
            index,
            plain_edges,
            nodes: Lock::new(Nodes::default()),
            skipped: Lock::new(HashMap::new()),
            has_skipped: AtomicBool::new(false),
        })
    }

    /// What is known of a chunk by the nodes that are kept.
    fn find(&self, chunk: &[isize]) -> Result<Found> {
        let mut found = self.index.first(chunk)?;
        while let Found::Node(wanted) = &found {
            let node = self.nodes.lock().and_then(|mut nodes| nodes.get(wanted.begin, wanted.len));
            let Some(node) = node else { break };
            found = self.index.next(chunk, wanted, &node)?;
        }
        Ok(found)
    }

    /// Remembers which filters a chunk has not been through.
    fn note(&self, chunk: &[isize], filters: u32) -> Result<()> {
        let Some(mut skipped) = self.skipped.lock() else { return Ok(()) };
        let chunk = dims::copied(chunk.iter().copied())?;
        skipped.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        skipped.insert(chunk, filters);
        self.has_skipped.store(true, Ordering::Release);
        Ok(())
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
                if record.skipped != 0 {
                    self.note(chunk, record.skipped)?;
                }
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
        Ok(Step { begin: Begin::At(begin), len, memory: [0; 3] })
    }

    fn learn(&self, node: &[isize], _step: &Step, bytes: &[u8], object_len: u64) -> Result<Learned> {
        let wanted = wanted(node)?;
        if object_len != self.file_len || bytes.len() < wanted.len {
            return Err(self.about(ErrorKind::Changed));
        }
        self.index.verify(bytes).map_err(|error| self.about(error))?;
        let node = Shared::new(alloc::copied(bytes)?)?;
        if let Some(mut nodes) = self.nodes.lock() {
            nodes.keep(wanted.begin, node)?;
        }
        Ok(Learned::Kept)
    }

    fn has_indices(&self) -> bool {
        true
    }

    fn missing(&self) -> Result<Filled> {
        Err(ErrorKind::NotFound("file").into())
    }

    fn is_constant(&self) -> bool {
        true
    }

    fn skipped_codecs(&self, chunk: &[isize]) -> u32 {
        let is_beyond = |(shape, chunk_shape): &(Vec<usize>, Vec<usize>)| {
            chunk.iter().zip(shape).zip(chunk_shape).any(|((&index, &len), &chunk_len)| {
                let end = usize::try_from(index).ok().and_then(|index| index.checked_add(1)?.checked_mul(chunk_len));
                end.is_none_or(|end| end > len)
            })
        };
        if self.plain_edges.as_ref().is_some_and(is_beyond) {
            return u32::MAX;
        }
        if !self.has_skipped.load(Ordering::Acquire) {
            return 0;
        }
        self.skipped.lock().and_then(|skipped| skipped.get(chunk).copied()).unwrap_or(0)
    }
}
