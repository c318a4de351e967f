//! Requests against an oracle: a loop over every selected element that knows nothing of chunks.
//!
//! The input is an array, how it is cut into chunks, which of these are there, and one request to read or to write,
//! which may be wrong in any way. What is refused must be refused for netCDF's reason, in the right dimension; what is
//! read or written must be what the loop finds.

#![no_main]

use std::collections::HashMap;
use std::sync::Mutex;

use libfuzzer_sys::fuzz_target;
use nczchunk::status::{EEDGE, EINVALCOORDS, ESTRIDE};
use nczchunk::{Access, Buffer, ChunkReader, ChunkStore, Endian, Error, Filled, Hyperslab, Request, Result, Variable};
use nczchunk_fuzz::Input;

/// One dimension, and what is asked of it.
#[derive(Debug, Clone, Copy)]
struct Dim {
    len: usize,
    chunklen: usize,
    origin: isize,
    start: usize,
    count: usize,
    stride: isize,
}

impl Dim {
    fn of(input: &mut Input<'_>) -> Self {
        let len = input.between(0, 12);
        let chunklen = input.between(1, 14);
        let origin = input.between(0, 40) as isize - 20;
        let stride = input.magnitude();
        let stride = if input.bool() { stride.wrapping_neg() } else { stride };
        let (start, count) = (input.magnitude(), input.magnitude());
        // Most requests should fit, or nothing but the checks is tried.
        if input.bool() {
            return Dim { len, chunklen, origin, start, count, stride: stride as isize };
        }
        let (start, step) = (start % (len + 1), stride % 4 + 1);
        Dim { len, chunklen, origin, start, count: count % ((len - start).div_ceil(step) + 1), stride: step as isize }
    }

    /// Whether the last selected element lies in the dimension.
    fn ends_inside(&self) -> bool {
        let last = self.start as i128 + (self.count as i128 - 1) * self.stride as i128;
        self.count == 0 || (0..self.len as i128).contains(&last)
    }
}

/// What netCDF says to the request: its number and the dimension.
fn refused(dims: &[Dim], access: Access, both_ways: bool) -> Option<(i32, usize)> {
    if let Some(d) = dims.iter().position(|dim| dim.stride == 0 || (dim.stride < 0 && !both_ways)) {
        return Some((ESTRIDE, d));
    }
    let is_nothing = access == Access::Write && dims.iter().any(|dim| dim.count == 0);
    dims.iter().enumerate().find_map(|(d, dim)| match () {
        () if dim.start > dim.len || (dim.start == dim.len && dim.count > 0) => Some((EINVALCOORDS, d)),
        () if !is_nothing && !dim.ends_inside() => Some((EEDGE, d)),
        () => None,
    })
}

/// Calls `visit` for all combinations of numbers below these, in row-major order.
fn for_each(counts: &[usize], mut visit: impl FnMut(&[usize])) {
    let mut k = vec![0; counts.len()];
    for ordinal in 0..counts.iter().product() {
        let mut rest: usize = ordinal;
        for (k, count) in k.iter_mut().zip(counts).rev() {
            (*k, rest) = (rest % count, rest / count);
        }
        visit(&k);
    }
}

/// Chunks as they are stored, by their indices.
#[derive(Default)]
struct Chunks {
    stored: Mutex<HashMap<Vec<isize>, Vec<u8>>>,
    ranges: Option<usize>,
}

impl ChunkReader for Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let stored = self.stored.lock().unwrap();
        let Some(chunk) = stored.get(request.chunk()) else { return Ok(Filled::Absent) };
        let rest = &chunk[request.offset()..];
        buffer.write(&rest[..rest.len().min(buffer.capacity())]);
        Ok(Filled::Stored(rest.len()))
    }

    fn range_gap(&self) -> Option<usize> {
        self.ranges
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn store(&self, request: &Request<'_>, bytes: &[u8]) -> Result<()> {
        assert_eq!((bytes.len(), request.offset()), (request.chunk_bytes(), 0));
        self.stored.lock().unwrap().insert(request.chunk().to_vec(), bytes.to_vec());
        Ok(())
    }
}

/// The array element by element, row-major: `SIZE` bytes each, in native order.
struct Plain<const SIZE: usize> {
    lens: Vec<usize>,
    values: Vec<[u8; SIZE]>,
}

impl<const SIZE: usize> Plain<SIZE> {
    fn at(&mut self, indices: impl Iterator<Item = usize>) -> &mut [u8; SIZE] {
        let place = indices.zip(&self.lens).fold(0, |place, (index, len)| place * len + index);
        &mut self.values[place]
    }
}

fn reversed<const SIZE: usize>(value: [u8; SIZE], is_swapped: bool) -> [u8; SIZE] {
    let mut value = value;
    if is_swapped {
        // An element of 16 bytes has two words.
        value.chunks_mut(SIZE.min(8)).for_each(<[u8]>::reverse);
    }
    value
}

fn run<const SIZE: usize>(input: &mut Input<'_>) {
    const FILL: u8 = 0xF1;
    let dims: Vec<Dim> = (0..input.between(0, 3)).map(|_| Dim::of(input)).collect();
    let column = |pick: fn(&Dim) -> usize| dims.iter().map(pick).collect::<Vec<_>>();
    let (lens, chunklens) = (column(|dim| dim.len), column(|dim| dim.chunklen));
    let mut variable = Variable::new(&lens, &chunklens, SIZE).unwrap();
    for (d, dim) in dims.iter().enumerate() {
        variable.set_origin(d, dim.origin).unwrap();
    }
    variable.set_fill_value(Some(&[FILL; SIZE])).unwrap();
    let is_swapped = input.bool() && [2, 4, 8, 16].contains(&SIZE);
    if is_swapped {
        variable.set_endian(if cfg!(target_endian = "little") { Endian::Big } else { Endian::Little }).unwrap();
    }
    let order = input.order(dims.len());
    variable.set_chunk_order(Some(&order)).unwrap();

    // The chunks, of which some are absent. What lies outside of the dimensions must never be seen.
    let mut plain = Plain { values: vec![[FILL; SIZE]; lens.iter().product()], lens };
    let chunks = Chunks { ranges: input.bool().then(|| input.between(0, 30)), ..Chunks::default() };
    let chunk_len: usize = chunklens.iter().product();
    let mut begins = vec![0; dims.len()];
    let spans: Vec<(isize, usize)> = dims
        .iter()
        .map(|dim| {
            let chunklen = dim.chunklen as isize;
            let first = dim.origin.div_euclid(chunklen);
            let last = (dim.origin + dim.len as isize - 1).div_euclid(chunklen);
            (first, if dim.len == 0 { 0 } else { (last - first + 1) as usize })
        })
        .collect();
    let mask = input.word();
    let mut number = 0;
    for_each(&spans.iter().map(|(_, count)| *count).collect::<Vec<_>>(), |c| {
        number += 1;
        if mask >> (number % 64) & 1 == 1 {
            return;
        }
        let indices: Vec<isize> = c.iter().zip(&spans).map(|(c, (first, _))| first + *c as isize).collect();
        for ((begin, index), dim) in begins.iter_mut().zip(&indices).zip(&dims) {
            *begin = index * dim.chunklen as isize - dim.origin;
        }
        let mut bytes = vec![0xEE; chunk_len * SIZE];
        for_each(&chunklens, |k| {
            let element: Vec<isize> = k.iter().zip(&begins).map(|(k, begin)| begin + *k as isize).collect();
            if element.iter().zip(&dims).any(|(element, dim)| !(0..dim.len as isize).contains(element)) {
                return;
            }
            let place = order.iter().fold(0, |place, &d| place * chunklens[d] + k[d]);
            let seed = element.iter().fold(7_u8, |seed, e| seed.wrapping_mul(31).wrapping_add(*e as u8));
            let value = std::array::from_fn(|i| seed.wrapping_add(i as u8 * 5));
            bytes[place * SIZE..][..SIZE].copy_from_slice(&reversed(value, is_swapped));
            *plain.at(element.iter().map(|e| *e as usize)) = value;
        });
        chunks.stored.lock().unwrap().insert(indices, bytes);
    });
    let store = ChunkStore::new(chunks).unwrap();

    let access = if input.bool() { Access::Write } else { Access::Read };
    let both_ways = input.bool();
    let (start, count) = (column(|dim| dim.start), column(|dim| dim.count));
    let stride: Vec<isize> = dims.iter().map(|dim| dim.stride).collect();
    let slab = Hyperslab::new(&start, &count);
    let slab = if both_ways { slab.with_signed_stride(&stride) } else { slab.with_stride(&stride) };
    let found = |error: Error| error.dimension().map(|d| (error.status(), d));
    let element = |k: &[usize]| -> Vec<usize> {
        k.iter().zip(&dims).map(|(k, dim)| (dim.start as isize + *k as isize * dim.stride) as usize).collect()
    };
    let refused = refused(&dims, access, both_ways);
    if access == Access::Write {
        // A write of nothing may have any other counts.
        let is_nothing = refused.is_some() || count.contains(&0);
        let num_values = if is_nothing { 0 } else { count.iter().product() };
        let values: Vec<[u8; SIZE]> = (0..num_values).map(|i| [i as u8 ^ 0x5A; SIZE]).collect();
        let written = nczchunk::write(&variable, &store, &slab, &values);
        assert_eq!(written.map_err(found).err().map(Option::unwrap), refused, "{dims:?}");
        let mut values = values.into_iter();
        if num_values > 0 {
            for_each(&count, |k| *plain.at(element(k).into_iter()) = values.next().unwrap());
        }
        assert_eq!(nczchunk::read::<[u8; SIZE]>(&variable, &store, &Hyperslab::all()).unwrap(), plain.values);
        return;
    }
    match nczchunk::read::<[u8; SIZE]>(&variable, &store, &slab) {
        Err(error) => assert_eq!(found(error), refused, "{dims:?}"),
        Ok(values) => {
            assert_eq!(refused, None, "{dims:?}");
            let mut expected = Vec::new();
            for_each(&count, |k| expected.push(*plain.at(element(k).into_iter())));
            assert_eq!(values, expected, "{dims:?}");
        }
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    match input.byte() % 7 {
        0 => run::<1>(&mut input),
        1 => run::<2>(&mut input),
        2 => run::<3>(&mut input),
        3 => run::<8>(&mut input),
        4 => run::<16>(&mut input),
        5 => run::<12>(&mut input),
        _ => run::<4>(&mut input),
    }
});
