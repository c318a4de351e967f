//! What reading costs on this machine, measured.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::time::Instant;

use nczchunk::chunkshape::Costs;
use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, Description, ElementType, Hyperslab, Options, Plan};

use crate::failure::Result;

/// An array in memory like most others: smooth values with noise, encoded with the default codec.
pub(super) fn sample() -> Result<Array> {
    const LEN: usize = 4 << 20;
    let description = Description::new(&[LEN], ElementType::Float).with_chunk_shape(&[LEN / 16]);
    let array = Array::create_in(&Storage::new(Memory::new())?, "", &description)?;
    let mut noise = 1u32;
    let values: Vec<f32> = (0..LEN)
        .map(|i| {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            ((i as f32 / 300.0).sin() * 640.0 + (noise >> 28) as f32).round() / 64.0
        })
        .collect();
    array.write(&Hyperslab::all(), &values)?;
    Ok(array)
}

/// What was measured of an array's first chunks.
pub(super) struct Measured {
    /// How many of them are in flight together.
    in_flight: f64,
    /// How long reading the first element of each of those takes, in seconds, for which all is fetched and little is
    /// decoded.
    from_storage: f64,
    /// The same of a copy in memory.
    from_memory: f64,
    /// Those of [`Costs`].
    pub(super) decoding: f64,
    pub(super) copying: f64,
    pub(super) per_chunk: f64,
    pub(super) step_bytes: usize,
    pub(super) stored: f64,
    /// Decoded bytes of a chunk.
    chunk_bytes: f64,
    /// The objects that hold the chunks, with the range of each.
    objects: Vec<(String, u64, u64)>,
}

impl Measured {
    /// Reads the first chunks of an array, and the same chunks from memory.
    pub(super) fn of(array: &Array, in_flight: usize, threads: usize) -> Result<Measured> {
        const BYTES: usize = 32 << 20;
        let variable = array.variable();
        let plan = Plan::new(variable, &Hyperslab::all(), Access::Read)?;
        let chunks = (BYTES / variable.chunk_bytes().max(1)).clamp(1, plan.num_chunks().max(1)).min(plan.num_chunks());
        let dimensions = variable.dimensions();
        // Whole rows of chunks along the first dimension, or the first chunks of a row.
        let mut count: Vec<usize> = dimensions.iter().map(nczchunk::Dimension::len).collect();
        let mut left = chunks;
        for (d, dimension) in dimensions.iter().enumerate().rev() {
            let fit = left.clamp(1, dimension.num_chunks().max(1));
            count[d] = count[d].min(fit.saturating_mul(dimension.chunklen()));
            left /= fit;
        }
        let start = vec![0; count.len()];
        let slab = Hyperslab::new(&start, &count);
        let plan = Plan::new(variable, &slab, Access::Read)?;
        let (mut stored, mut decoded, mut objects) = (0u64, 0u64, Vec::new());
        array.locate(&slab, &mut |chunk| {
            if let nczchunk::ChunkState::Stored { offset, len } = chunk.state {
                (stored, decoded) =
                    (stored + len, decoded + variable.chunk_bytes_of(Access::Read, chunk.indices) as u64);
                objects.push((chunk.object.to_owned(), offset, len));
            }
            Ok(())
        })?;
        let mut memory = vec![0; plan.selected_bytes()];
        let whole = fastest(array, &plan, &mut memory, threads)?;
        let (num_chunks, defaults) = (plan.num_chunks().max(1) as f64, Costs::default());
        let bytes = if decoded > 0 { decoded } else { memory.len() as u64 }.max(1) as f64;
        let mut measured = Measured {
            in_flight: num_chunks,
            from_storage: whole,
            from_memory: whole,
            decoding: bytes / whole,
            copying: defaults.copying,
            per_chunk: 0.0,
            step_bytes: 0,
            stored: if decoded > 0 { stored as f64 / decoded as f64 } else { 1.0 },
            chunk_bytes: bytes / num_chunks,
            objects,
        };
        // Where the codecs cannot be had again, decoding is what reading takes.
        if let Some(copy) = copy_in_memory(array, &count, &memory) {
            measured.of_copy(array, &copy, &memory, in_flight, threads)?;
        }
        Ok(measured)
    }

    /// What the parts of a read take, by reads of much and of little of the chunks of an array and of its copy.
    fn of_copy(
        &mut self,
        array: &Array,
        copy: &Array,
        elements: &[u8],
        in_flight: usize,
        threads: usize,
    ) -> Result<()> {
        const NONE: f64 = 1e-9;
        let dimensions = copy.variable().dimensions();
        let strides: Vec<isize> = dimensions.iter().map(|dimension| dimension.chunklen() as isize).collect();
        // An element of each chunk that has it, of so many chunks at most: how many they are, and how long they take.
        let of_elements = |array: &Array, is_last: bool, most: usize| -> Result<(f64, f64)> {
            let at = |dimension: &nczchunk::Dimension| dimension.chunklen().min(dimension.len()).saturating_sub(1);
            let start: Vec<usize> =
                dimensions.iter().map(|dimension| if is_last { at(dimension) } else { 0 }).collect();
            let (mut count, mut left) = (vec![0; start.len()], most);
            for (d, dimension) in dimensions.iter().enumerate().rev() {
                count[d] = left.max(1).min((dimension.len() - start[d]).div_ceil(dimension.chunklen()));
                left /= count[d].max(1);
            }
            let slab = Hyperslab::new(&start, &count).with_stride(&strides);
            let plan = Plan::new(array.variable(), &slab, Access::Read)?;
            let taken = fastest(array, &plan, &mut vec![0; plan.selected_bytes()], threads)?;
            Ok((plan.num_chunks().max(1) as f64, taken))
        };
        let of_each = |(num_chunks, taken): (f64, f64)| taken / num_chunks;
        let first = of_each(of_elements(copy, false, usize::MAX)?);
        let last = of_each(of_elements(copy, true, usize::MAX)?);
        (self.in_flight, self.from_memory) = of_elements(copy, false, in_flight)?;
        self.from_storage = of_elements(array, false, in_flight)?.1;
        let plan = Plan::new(copy.variable(), &Hyperslab::all(), Access::Read)?;
        // Into memory that is new, as that of a read mostly is.
        let (mut whole, mut memories) = (f64::INFINITY, Vec::new());
        for _ in 0..3 {
            let mut memory = vec![0; plan.selected_bytes()];
            whole = whole.min(once(copy, &plan, &mut memory, threads)? / plan.num_chunks().max(1) as f64);
            memories.push(memory);
        }
        // What chunks take that have next to no bytes.
        self.per_chunk = match of_tiny_chunks(copy, elements, threads)? {
            Some(seconds) => seconds.min(first),
            None => 0.0,
        };
        self.decoding = self.chunk_bytes / (last - self.per_chunk).max(NONE);
        self.copying = self.chunk_bytes / (whole - last).max(NONE);
        // Where the first element takes about as long as the last one, all is decoded.
        if first * 2.0 < last {
            self.step_bytes = ((first - self.per_chunk) * self.decoding).max(1.0) as usize;
        }
        Ok(())
    }

    /// The latency and the bandwidth of files that have been read before: how long the first byte of a chunk takes, and
    /// how many bytes a second follow. `None` if it cannot be told.
    pub(super) fn of_files(&self, path: &Path) -> Option<(f64, f64)> {
        let read = |most: u64| -> Option<(u64, f64)> {
            let (mut bytes, mut memory, begun) = (0, Vec::new(), Instant::now());
            for (name, offset, len) in &self.objects {
                let mut file = if path.is_dir() { File::open(path.join(name)) } else { File::open(path) }.ok()?;
                file.seek(SeekFrom::Start(*offset)).ok()?;
                memory.clear();
                bytes += file.take((*len).min(most)).read_to_end(&mut memory).ok()? as u64;
            }
            Some((bytes, begun.elapsed().as_secs_f64()))
        };
        let fastest = |most| (0..5).filter_map(|_| read(most)).min_by(|(_, one), (_, other)| one.total_cmp(other));
        let ((few, at_once), (all, taken)) = (fastest(1)?, fastest(u64::MAX)?);
        let bandwidth = (all > few && taken > at_once).then(|| (all - few) as f64 / (taken - at_once))?;
        Some((at_once / self.objects.len() as f64, bandwidth))
    }

    /// How long each request keeps the way busy, so that those that are in flight together take as long as they do.
    pub(super) fn per_request(&self, costs: &Costs) -> f64 {
        let (taken, work) = (self.from_storage - costs.latency, self.from_memory);
        let if_longer = taken - work / self.in_flight;
        let way = if if_longer > work { if_longer } else { ((taken - work) * self.in_flight).min(work) };
        (way / self.in_flight - self.chunk_bytes * self.stored / costs.bandwidth).max(0.0)
    }
}

/// How long a chunk of a few elements takes, in seconds, with the codecs of another array. `None` if there can be none.
fn of_tiny_chunks(array: &Array, elements: &[u8], threads: usize) -> Result<Option<f64>> {
    const LEN: usize = 64;
    let (rank, size) = (array.variable().rank(), array.variable().element_size().max(1));
    let num = (elements.len() / size / LEN).min(256);
    if num == 0 || rank == 0 {
        return Ok(None);
    }
    let (mut shape, mut chunks) = (vec![1; rank], vec![1; rank]);
    (shape[rank - 1], chunks[rank - 1]) = (LEN * num, LEN);
    let Some(tiny) = in_memory(array, &shape, &chunks, &elements[..LEN * num * size]) else { return Ok(None) };
    let all = Plan::new(tiny.variable(), &Hyperslab::all(), Access::Read)?;
    let taken = fastest(&tiny, &all, &mut vec![0; all.selected_bytes()], threads)?;
    Ok(Some(taken / num as f64))
}

/// The least time that a read takes, of five, in seconds.
fn fastest(array: &Array, plan: &Plan<'_>, memory: &mut [u8], threads: usize) -> Result<f64> {
    (0..5).try_fold(f64::INFINITY, |best, _| Ok(once(array, plan, memory, threads)?.min(best)))
}

fn once(array: &Array, plan: &Plan<'_>, memory: &mut [u8], threads: usize) -> Result<f64> {
    let begun = Instant::now();
    let options = Options::default().with_threads(threads).without_cache();
    plan.read_chunks(array.store(), 0..plan.num_chunks(), memory, options)?;
    Ok(begun.elapsed().as_secs_f64().max(1e-9))
}

/// An array in memory with the first elements of another, in the same chunks and with the same codecs. `None` if there
/// can be none, such as for codecs that do not encode.
fn copy_in_memory(array: &Array, shape: &[usize], elements: &[u8]) -> Option<Array> {
    let lens: Vec<usize> = array.variable().dimensions().iter().map(nczchunk::Dimension::chunklen).collect();
    in_memory(array, shape, &lens, elements)
}

/// The same in any chunks.
fn in_memory(array: &Array, shape: &[usize], lens: &[usize], elements: &[u8]) -> Option<Array> {
    let codecs = array.codecs().ok()?;
    let codecs: Vec<(&str, &str)> = codecs.iter().map(|(name, settings)| (&**name, &**settings)).collect();
    let format =
        if array.format() == "Zarr v3" { nczchunk::ArrayFormat::ZarrV3 } else { nczchunk::ArrayFormat::ZarrV2 };
    let description = Description::new(shape, *array.element_type())
        .with_chunk_shape(lens)
        .with_format(format)
        .with_codecs_of_array(&codecs);
    let copy = Array::create_in(&Storage::new(Memory::new()).ok()?, "", &description).ok()?;
    Plan::new(copy.variable(), &Hyperslab::all(), Access::Write).ok()?.write(copy.store(), elements).ok()?;
    Some(copy)
}
