//! What is stored of an array: its chunks, one after another.

use nczchunk::{Access, Array, ChunkState, Dimension, Hyperslab};

use crate::failure::Result;
use crate::json::Json;

/// What is stored of some chunks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stored {
    /// Chunks that are there.
    pub present: u128,
    /// Chunks that are not, and read as the fill value.
    pub absent: u128,
    /// Bytes that those that are there have as they are stored.
    pub bytes: u64,
}

/// How many chunks an array has.
pub fn num_chunks(array: &Array) -> u128 {
    product(array.variable().dimensions().iter().map(Dimension::num_chunks))
}

fn product(numbers: impl Iterator<Item = usize>) -> u128 {
    let mut product = 1u128;
    let mut is_zero = false;
    for number in numbers {
        is_zero |= number == 0;
        product = product.saturating_mul(number as u128);
    }
    if is_zero { 0 } else { product }
}

/// Chunks of an array that may be stored, each with a number from 0 on.
pub struct Candidates {
    /// How many chunks a stored object has along each dimension: more than one in a shard.
    ratios: Vec<usize>,
    /// The number of chunks along each dimension, and the index of the first one.
    grid: Vec<(usize, isize)>,
    /// The indices of the objects that are stored, one after another; `None` where they cannot be listed.
    objects: Option<Vec<isize>>,
    /// The number behind the last chunk of each object, or, if none are listed, that of all.
    ends: Vec<u128>,
}

impl Candidates {
    /// The chunks of the objects that are stored and, by their indices and their number of chunks, kept. Where objects
    /// cannot be listed it is all chunks.
    pub fn of(array: &Array, mut is_kept: impl FnMut(&[isize], u128) -> Result<bool>) -> Result<Self> {
        let variable = array.variable();
        let len = |access, d: usize| variable.grid(access).dimensions()[d].chunklen();
        let ratios = (0..variable.rank()).map(|d| len(Access::Write, d) / len(Access::Read, d)).collect();
        let first = |dimension: &Dimension| dimension.origin().div_euclid(dimension.chunklen() as isize);
        let grid = variable.dimensions().iter().map(|dimension| (dimension.num_chunks(), first(dimension))).collect();
        let mut candidates = Candidates { ratios, grid, objects: None, ends: Vec::new() };
        let (mut listed, mut num_objects) = (Vec::new(), 0);
        let is_listed = array.each_stored_object(&mut |indices| {
            num_objects += 1;
            listed.extend_from_slice(indices);
            Ok(())
        })?;
        if !is_listed {
            candidates.ends.push(num_chunks(array));
            return Ok(candidates);
        }
        let (rank, mut objects, mut end) = (variable.rank(), Vec::new(), 0u128);
        for i in 0..num_objects {
            let object = &listed[i * rank..][..rank];
            let num_chunks = product(candidates.inside(object).map(|(begin, end)| end - begin));
            if is_kept(object, num_chunks)? {
                objects.extend_from_slice(object);
                end += num_chunks;
                candidates.ends.push(end);
            }
        }
        candidates.objects = Some(objects);
        Ok(candidates)
    }

    /// Whether they are those of the objects that are stored.
    pub fn are_listed(&self) -> bool {
        self.objects.is_some()
    }

    /// How many there are.
    pub fn len(&self) -> u128 {
        self.ends.last().copied().unwrap_or(0)
    }

    /// From the number of a chunk to its indices.
    pub fn chunk(&self, number: u128) -> Vec<isize> {
        let at = self.ends.partition_point(|end| *end <= number);
        let begin = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        let rank = self.grid.len();
        let bounds: Vec<(usize, usize)> = match &self.objects {
            Some(objects) => self.inside(&objects[at * rank..][..rank]).collect(),
            None => self.grid.iter().map(|(num_chunks, _)| (0, *num_chunks)).collect(),
        };
        let mut rest = number - begin;
        let mut indices = vec![0; rank];
        for (d, (begin, end)) in bounds.iter().enumerate().rev() {
            let count = (end - begin).max(1) as u128;
            indices[d] = self.grid[d].1 + (*begin as isize) + (rest % count) as isize;
            rest /= count;
        }
        indices
    }

    /// The chunks of an object along each dimension, counted from the first one of the dimension.
    fn inside(&self, object: &[isize]) -> impl Iterator<Item = (usize, usize)> {
        object.iter().zip(&self.ratios).zip(&self.grid).map(|((&index, &ratio), &(num_chunks, _))| {
            let begin = index.unsigned_abs().saturating_mul(ratio).min(num_chunks);
            (begin, begin.saturating_add(ratio).min(num_chunks))
        })
    }
}

/// What is stored of all chunks of an array. Each that may be there is asked for how long it is.
pub fn stored_of_all(array: &Array) -> Result<Stored> {
    let candidates = Candidates::of(array, |_, _| Ok(true))?;
    let mut stored = Stored::default();
    let mut number = 0;
    while number < candidates.len() {
        stored.add(array.stored_chunk_len(&candidates.chunk(number))?);
        number += 1;
    }
    stored.absent = num_chunks(array).saturating_sub(stored.present);
    Ok(stored)
}

/// What is stored of the chunks that a hyperslab touches. Each is asked for how long it is, where there is latency many
/// at the same time.
pub fn stored(array: &Array, hyperslab: &Hyperslab<'_>) -> Result<Stored> {
    let mut stored = Stored::default();
    array.locate(hyperslab, &mut |chunk| {
        stored.add(match chunk.state {
            ChunkState::Stored { len, .. } => Some(usize::try_from(len).unwrap_or(usize::MAX)),
            ChunkState::Absent => None,
        });
        Ok(())
    })?;
    Ok(stored)
}

impl Stored {
    /// The counts as JSON.
    pub fn document(self) -> Json {
        let Stored { present, absent, bytes } = self;
        Json::Object(vec![
            ("bytes", Json::integer(bytes)),
            ("present", Json::integer(present)),
            ("absent", Json::integer(absent)),
        ])
    }

    /// Adds a chunk that is stored with so many bytes, or absent.
    fn add(&mut self, len: Option<usize>) {
        match len {
            Some(len) => {
                self.present += 1;
                self.bytes += len as u64;
            }
            None => self.absent += 1,
        }
    }
}

/// The codecs of an array in words, such as `shuffle, zstd (level 3)`.
pub fn codecs(array: &Array) -> Result<String> {
    let mut all = Vec::new();
    for (name, configuration) in array.codecs()? {
        let settings: String = configuration.chars().filter(|character| !"{}\"".contains(*character)).collect();
        let settings = settings.replace(':', " ").replace(',', ", ");
        all.push(if settings.is_empty() { name } else { format!("{name} ({settings})") });
    }
    Ok(if all.is_empty() { "none".to_owned() } else { all.join(", ") })
}
