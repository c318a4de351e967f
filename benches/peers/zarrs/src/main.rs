//! What zarrs takes: Zarr v3 in its memory store, one thread, into the caller's memory.
//!
//! It obeys the commands that README.md in the directory above has. zarrs reads and writes boxes: of a hyperslab with
//! strides it reads the box around it, from which the elements are gathered here; of what is to be transposed, too.
//! Where the strides skip whole chunks it reads element by element.

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use unsafe_cell_slice::UnsafeCellSlice;
use zarrs::array::{
    Array, ArrayBytes, ArrayBytesDecodeIntoTarget, ArrayBytesFixedDisjointView, ArraySubset, CodecOptions,
};
use zarrs::storage::store::MemoryStore;
use zarrs::storage::{StoreKey, WritableStorageTraits};

type Outcome<T> = Result<T, Box<dyn Error>>;

fn main() {
    // Memory that zarrs takes for each call is kept between calls, so that its pages are not new each time.
    // SAFETY: no other thread runs yet.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
    }
    let mut server = Server::default();
    for line in stdin().lock().lines() {
        let Ok(line) = line else { break };
        let answer = server.obey(&line.split_whitespace().collect::<Vec<_>>());
        println!("{}", answer.unwrap_or_else(|error| json!({ "error": error.to_string() })));
        stdout().flush().expect("standard output takes the answer");
    }
}

/// The array of the last `load`.
struct Loaded {
    array: Array<MemoryStore>,
    options: CodecOptions,
    kind: String,
    size: usize,
    dimlens: Vec<usize>,
    chunklens: Vec<usize>,
}

struct Slab {
    start: Vec<usize>,
    count: Vec<usize>,
    stride: Vec<usize>,
    /// In memory the first dimension is contiguous.
    transposed: bool,
}

#[derive(Default)]
struct Server {
    loaded: Option<Loaded>,
    /// The caller's memory, and as much to copy from.
    memory: Option<(Aligned, Aligned)>,
}

fn list(words: &str) -> Outcome<Vec<usize>> {
    Ok(words.split(',').map(str::parse).collect::<Result<_, _>>()?)
}

fn hash(number: usize) -> u32 {
    (number as u32).wrapping_mul(2_654_435_761)
}

/// The values of the elements from number `first` on: the formulas of benches/transfers/data.rs.
fn values(kind: &str, first: usize, out: &mut [u8]) {
    match kind {
        "float32" => each(out, |i| ((hash(first + i) >> 8) as f32).to_ne_bytes()),
        "float64" => each(out, |i| f64::from(hash(first + i)).to_ne_bytes()),
        _ => each(out, |i| ((hash(first + i) >> 16) as u16).to_ne_bytes()),
    }
}

fn each<const N: usize>(out: &mut [u8], value: impl Fn(usize) -> [u8; N]) {
    out.as_chunks_mut().0.iter_mut().enumerate().for_each(|(i, word)| *word = value(i));
}

/// Memory that begins with a cache line, all of it in use already.
struct Aligned {
    bytes: Vec<u8>,
    begin: usize,
    len: usize,
}

impl Aligned {
    fn new(len: usize) -> Self {
        let bytes = vec![0xA5; len + 64];
        let begin = bytes.as_ptr().align_offset(64);
        Aligned { bytes, begin, len }
    }

    fn get(&mut self) -> &mut [u8] {
        &mut self.bytes[self.begin..self.begin + self.len]
    }
}

impl Server {
    fn obey(&mut self, words: &[&str]) -> Outcome<Value> {
        match words {
            ["versions"] => Ok(json!({ "zarrs": zarrs::version::version_str() })),
            ["load", rest @ ..] => {
                *self = Server::default();
                self.loaded = Some(Loaded::new(rest)?);
                Ok(json!({ "ok": true }))
            }
            ["unload"] => {
                *self = Server::default();
                Ok(json!({ "ok": true }))
            }
            [access, _, _, calls, repetitions, budget, start, count, stride, layout] => {
                let (start, count, stride) = (list(start)?, list(count)?, list(stride)?);
                let slab = Slab { start, count, stride, transposed: *layout == "transposed" };
                self.run(*access == "write", &slab, calls.parse()?, repetitions.parse()?, budget.parse()?)
            }
            _ => Err("not understood".into()),
        }
    }

    /// Measures, or with 0 repetitions checks: what was read, or what the array is after writing, as a CRC-32.
    fn run(&mut self, writing: bool, slab: &Slab, calls: usize, repetitions: usize, budget: f64) -> Outcome<Value> {
        let loaded = self.loaded.as_ref().ok_or("nothing is loaded")?;
        let elements = if calls > 0 { calls } else { slab.count.iter().product() };
        let bytes = elements * loaded.size;
        if self.memory.as_ref().is_none_or(|(memory, _)| memory.len != bytes) {
            self.memory = None;
            self.memory = Some((Aligned::new(bytes), Aligned::new(bytes)));
        }
        let (memory, other) = self.memory.as_mut().ok_or("no memory")?;
        let (memory, other) = (memory.get(), other.get());
        // From 12 345 677 on: what the array does not have there.
        values(&loaded.kind, 12_345_677, other);
        let positions = slab.positions(calls);
        let mut around = Aligned::new(if calls > 0 { 0 } else { loaded.bytes_around(slab) });
        let mut run = |memory: &mut [u8]| {
            if writing {
                loaded.write(slab, other, around.get())
            } else if calls > 0 {
                let elements = memory.chunks_exact_mut(loaded.size);
                positions
                    .iter()
                    .zip(elements)
                    .try_for_each(|(position, element)| loaded.read_box(position, &vec![1; position.len()], element))
            } else {
                loaded.read(slab, memory, around.get())
            }
        };
        if repetitions > 0 {
            return measure(repetitions, budget, memory, run);
        }
        memory.fill(0xA5);
        run(memory)?;
        if !writing {
            return Ok(json!({ "crc": crc32fast::hash(memory) }));
        }
        let mut all = Aligned::new(loaded.dimlens.iter().product::<usize>() * loaded.size);
        loaded.read_box(&vec![0; loaded.dimlens.len()], &loaded.dimlens, all.get())?;
        Ok(json!({ "crc": crc32fast::hash(all.get()) }))
    }
}

impl Slab {
    /// The lengths of the box around it.
    fn lengths(&self) -> Vec<usize> {
        self.count.iter().zip(&self.stride).map(|(count, stride)| (count - 1) * stride + 1).collect()
    }

    /// Single elements, scattered over the box: the formula of benches/transfers/ideal.rs.
    fn positions(&self, calls: usize) -> Vec<Vec<usize>> {
        let total: usize = self.count.iter().product();
        let one = |k| {
            let mut number = (hash(k) as usize * total) >> 32;
            let mut position = self.start.clone();
            for (index, count) in position.iter_mut().zip(&self.count).rev() {
                *index += number % count;
                number /= count;
            }
            position
        };
        (0..calls).map(one).collect()
    }

    /// Calls `one` with each element's place in the box around it, in elements, and its number.
    fn for_each(&self, mut one: impl FnMut(usize, usize)) {
        let lengths = self.lengths();
        let row = self.count[self.count.len() - 1];
        let stride = self.stride[self.count.len() - 1];
        let rows = self.count.iter().product::<usize>() / row;
        for number in 0..rows {
            let (mut rest, mut at, mut weight) = (number, 0, lengths[lengths.len() - 1]);
            for d in (0..lengths.len() - 1).rev() {
                at += rest % self.count[d] * self.stride[d] * weight;
                rest /= self.count[d];
                weight *= lengths[d];
            }
            (0..row).for_each(|i| one(at + i * stride, number * row + i));
        }
    }
}

/// Copies the elements between the box around a hyperslab and memory without gaps.
fn gather<const N: usize>(slab: &Slab, around: &[u8], memory: &mut [u8]) {
    let (around, memory) = (around.as_chunks::<N>().0, memory.as_chunks_mut::<N>().0);
    slab.for_each(|place, number| memory[number] = around[place]);
}

/// Rows become columns, in blocks of as many lines as the cache can hold.
fn transpose<const N: usize>(slab: &Slab, around: &[u8], memory: &mut [u8]) {
    const BLOCK: usize = 16;
    let (around, memory) = (around.as_chunks::<N>().0, memory.as_chunks_mut::<N>().0);
    let [rows, columns] = slab.count[..] else { panic!("only planes are transposed") };
    for row in (0..rows).step_by(BLOCK) {
        for column in (0..columns).step_by(BLOCK) {
            for j in column..columns.min(column + BLOCK) {
                for i in row..rows.min(row + BLOCK) {
                    memory[j * rows + i] = around[i * columns + j];
                }
            }
        }
    }
}

fn scatter<const N: usize>(slab: &Slab, around: &mut [u8], memory: &[u8]) {
    let (around, memory) = (around.as_chunks_mut::<N>().0, memory.as_chunks::<N>().0);
    slab.for_each(|place, number| around[place] = memory[number]);
}

impl Loaded {
    fn new(words: &[&str]) -> Outcome<Self> {
        let [name, kind, order, codec, every, dimlens, chunklens, frames] = words else {
            return Err("load: not understood".into());
        };
        let (dimlens, chunklens, every) = (list(dimlens)?, list(chunklens)?, every.parse::<usize>()?);
        let mut codecs = vec![json!({ "name": "bytes", "configuration": { "endian": order } })];
        if *codec == "zstd" {
            codecs.push(json!({ "name": "zstd", "configuration": { "level": 1, "checksum": false } }));
        }
        let metadata = json!({
            "zarr_format": 3, "node_type": "array", "shape": dimlens, "data_type": kind,
            "chunk_grid": { "name": "regular", "configuration": { "chunk_shape": chunklens } },
            "chunk_key_encoding": { "name": "default", "configuration": { "separator": "/" } },
            "fill_value": if *kind == "int16" { json!(-999) } else { json!(-999.0) },
            "codecs": codecs, "attributes": {},
        });
        let store = Arc::new(MemoryStore::new());
        let array = Array::new_with_metadata(store.clone(), "/", serde_json::from_value(metadata)?)?;
        let options = CodecOptions::default().with_concurrent_target(1);
        let size = match *kind {
            "float32" => 4,
            "float64" => 8,
            _ => 2,
        };
        let loaded = Loaded { array, options, kind: kind.to_string(), size, dimlens, chunklens };
        if *codec == "zstd" {
            for directory in std::fs::read_dir(Path::new(frames).join(name).join("c"))? {
                for file in std::fs::read_dir(directory?.path())? {
                    let path = file?.path();
                    let key = path.strip_prefix(Path::new(frames).join(name))?.to_str().ok_or("a path is not UTF-8")?;
                    store.set(&StoreKey::new(key)?, std::fs::read(&path)?.into())?;
                }
            }
        } else if every > 0 {
            loaded.fill(every)?;
        }
        Ok(loaded)
    }

    /// Writes rows of chunks or, where chunks are absent, those that are not.
    fn fill(&self, every: usize) -> Outcome<()> {
        let mut count = self.dimlens.clone();
        count[0] = self.chunklens[0];
        let row: usize = self.dimlens[1..].iter().product();
        let mut piece = vec![0; count[0] * row * self.size];
        let mut start = vec![0; count.len()];
        while start[0] < self.dimlens[0] {
            values(&self.kind, start[0] * row, &mut piece);
            self.write_box(&start, &count, &piece)?;
            start[0] += count[0] * every;
        }
        Ok(())
    }

    fn subset(start: &[usize], count: &[usize]) -> Outcome<ArraySubset> {
        let wide = |list: &[usize]| list.iter().map(|&n| n as u64).collect::<Vec<_>>();
        Ok(ArraySubset::new_with_start_shape(wide(start), wide(count))?)
    }

    fn read_box(&self, start: &[usize], count: &[usize], memory: &mut [u8]) -> Outcome<()> {
        let subset = Self::subset(start, count)?;
        let shape: Vec<u64> = count.iter().map(|&n| n as u64).collect();
        let whole = ArraySubset::new_with_shape(shape.clone());
        // SAFETY: there is one view of the memory.
        let view = unsafe { ArrayBytesFixedDisjointView::new(UnsafeCellSlice::new(memory), self.size, &shape, whole) };
        let target = &mut view?;
        self.array.retrieve_array_subset_into_opt(&subset, ArrayBytesDecodeIntoTarget::Fixed(target), &self.options)?;
        Ok(())
    }

    fn write_box(&self, start: &[usize], count: &[usize], memory: &[u8]) -> Outcome<()> {
        let bytes = ArrayBytes::new_flen(memory);
        self.array.store_array_subset_opt(&Self::subset(start, count)?, bytes, &self.options)?;
        Ok(())
    }

    /// Whether the strides skip whole chunks, so that the box around the hyperslab would be mostly for nothing.
    fn is_sparse(&self, slab: &Slab) -> bool {
        slab.stride.iter().zip(&self.chunklens).any(|(stride, chunklen)| stride > chunklen)
    }

    fn is_box(slab: &Slab) -> bool {
        slab.stride.iter().all(|&stride| stride == 1)
    }

    /// How much memory the box around a hyperslab takes, if it is wanted.
    fn bytes_around(&self, slab: &Slab) -> usize {
        if !slab.transposed && (Self::is_box(slab) || self.is_sparse(slab)) {
            return 0;
        }
        slab.lengths().iter().product::<usize>() * self.size
    }

    fn read(&self, slab: &Slab, memory: &mut [u8], around: &mut [u8]) -> Outcome<()> {
        if slab.transposed {
            self.read_box(&slab.start, &slab.lengths(), around)?;
            match self.size {
                2 => transpose::<2>(slab, around, memory),
                4 => transpose::<4>(slab, around, memory),
                _ => transpose::<8>(slab, around, memory),
            }
            return Ok(());
        }
        if Self::is_box(slab) {
            return self.read_box(&slab.start, &slab.count, memory);
        }
        if self.is_sparse(slab) {
            let ones = vec![1; slab.count.len()];
            for (number, element) in memory.chunks_exact_mut(self.size).enumerate() {
                let (mut rest, mut position) = (number, slab.start.clone());
                for d in (0..position.len()).rev() {
                    position[d] += rest % slab.count[d] * slab.stride[d];
                    rest /= slab.count[d];
                }
                self.read_box(&position, &ones, element)?;
            }
            return Ok(());
        }
        self.read_box(&slab.start, &slab.lengths(), around)?;
        match self.size {
            2 => gather::<2>(slab, around, memory),
            4 => gather::<4>(slab, around, memory),
            _ => gather::<8>(slab, around, memory),
        }
        Ok(())
    }

    fn write(&self, slab: &Slab, memory: &[u8], around: &mut [u8]) -> Outcome<()> {
        if Self::is_box(slab) {
            return self.write_box(&slab.start, &slab.count, memory);
        }
        self.read_box(&slab.start, &slab.lengths(), around)?;
        match self.size {
            2 => scatter::<2>(slab, around, memory),
            4 => scatter::<4>(slab, around, memory),
            _ => scatter::<8>(slab, around, memory),
        }
        self.write_box(&slab.start, &slab.lengths(), around)
    }
}

/// Seconds of one run, repeatedly; beside each, those of memcpy of as many bytes. What is short is run many times over.
fn measure(
    repetitions: usize,
    budget: f64,
    memory: &mut [u8],
    mut run: impl FnMut(&mut [u8]) -> Outcome<()>,
) -> Outcome<Value> {
    let other = vec![0x5A_u8; memory.len()];
    let begin = Instant::now();
    let mut timed = |times: usize, run: &mut dyn FnMut(&mut [u8]) -> Outcome<()>| {
        let begin = Instant::now();
        (0..times).try_for_each(|_| run(memory))?;
        Ok::<f64, Box<dyn Error>>(begin.elapsed().as_secs_f64() / times as f64)
    };
    let mut copy = |memory: &mut [u8]| {
        memory.copy_from_slice(black_box(&other));
        Ok(())
    };
    // At least 200 microseconds of each.
    let times = |seconds: f64| ((2e-4 / seconds.max(1e-9)).ceil() as usize).clamp(1, 100_000);
    let copies = times(timed(1, &mut copy)?.min(timed(1, &mut copy)?));
    let first = timed(1, &mut run)?;
    let runs = if first < budget { times(timed(1, &mut run)?) } else { 1 };
    let (mut seconds, mut memcpy) = (Vec::new(), Vec::new());
    while seconds.len() < repetitions && (seconds.is_empty() || begin.elapsed().as_secs_f64() < budget) {
        memcpy.push(timed(copies, &mut copy)?);
        seconds.push(timed(runs, &mut run)?);
    }
    Ok(json!({ "seconds": seconds, "memcpy": memcpy }))
}
