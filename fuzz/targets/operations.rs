//! Operations on an array of Zarr against a plain array in memory: create, write, read, resize, open again.
//!
//! The model is a map from the indices of the elements that were written to their values; every other element is the
//! fill value. Of all formats, with shards and codecs, in both byte orders.

#![no_main]

use std::collections::HashMap;

use libfuzzer_sys::fuzz_target;
use nczchunk::key::Separator;
use nczchunk::object::{Memory, Storage};
use nczchunk::{Access, Array, ArrayFormat, Cache, Description, ElementType, Endian, Hyperslab};
use nczchunk_fuzz::Input;

const CODECS: [&[(&str, &str)]; 8] = [
    &[],
    &[("zstd", "")],
    &[("blosc", r#"{"cname":"lz4"}"#)],
    &[("shuffle", ""), ("zlib", "")],
    &[("gzip", r#"{"level":1}"#), ("crc32c", "")],
    &[("lz4", "")],
    &[("fletcher32", "")],
    &[("blosc", r#"{"cname":"zstd","shuffle":2}"#), ("crc32c", "")],
];

/// A slice along one dimension: start, count, step.
type Part = (usize, usize, usize);

struct Model<const SIZE: usize> {
    shape: Vec<usize>,
    fill: [u8; SIZE],
    written: HashMap<Vec<usize>, [u8; SIZE]>,
}

/// Calls `visit` with the indices of every selected element, in row-major order.
fn for_each(parts: &[Part], mut visit: impl FnMut(Vec<usize>)) {
    for ordinal in 0..parts.iter().map(|(_, count, _)| count).product::<usize>() {
        let mut rest = ordinal;
        let mut indices: Vec<usize> = parts
            .iter()
            .rev()
            .map(|(start, count, step)| {
                let k = rest % count;
                rest /= count;
                start + k * step
            })
            .collect();
        indices.reverse();
        visit(indices);
    }
}

impl<const SIZE: usize> Model<SIZE> {
    /// A selection that fits.
    fn parts(&self, input: &mut Input<'_>) -> Vec<Part> {
        let part = |&len: &usize| {
            let (start, step) = (input.between(0, len), input.between(1, 4));
            (start, input.between(0, (len - start).div_ceil(step)), step)
        };
        self.shape.iter().map(part).collect()
    }

    fn write(&mut self, array: &Array, input: &mut Input<'_>) {
        let parts = self.parts(input);
        // Sometimes all values are the fill value, which some writers leave out.
        let seed = input.byte();
        let mut values = Vec::new();
        for_each(&parts, |indices| {
            let i = values.len();
            let new = |b| if seed == 0 { self.fill[b] } else { (i as u8).wrapping_mul(seed).wrapping_add(b as u8) };
            let value = std::array::from_fn(new);
            values.push(value);
            self.written.insert(indices, value);
        });
        with_slab(&parts, |slab| nczchunk::write(array.variable(), array.store(), slab, &values)).unwrap();
    }

    fn check(&self, array: &Array, parts: &[Part]) {
        let mut expected = Vec::new();
        for_each(parts, |indices| expected.push(*self.written.get(&indices).unwrap_or(&self.fill)));
        let found =
            with_slab(parts, |slab| nczchunk::read::<[u8; SIZE]>(array.variable(), array.store(), slab)).unwrap();
        assert_eq!(found, expected, "{parts:?} of {:?}", self.shape);
    }

    fn check_all(&self, array: &Array) {
        self.check(array, &self.shape.iter().map(|len| (0, *len, 1)).collect::<Vec<_>>());
    }

    fn resize(&mut self, array: &mut Array, input: &mut Input<'_>) {
        let shape: Vec<usize> = self.shape.iter().map(|_| input.between(0, 10)).collect();
        array.resize(&shape).unwrap();
        self.written.retain(|indices, _| indices.iter().zip(&shape).all(|(index, len)| index < len));
        self.shape = shape;
    }
}

fn with_slab<T>(parts: &[Part], body: impl FnOnce(&Hyperslab<'_>) -> T) -> T {
    let column = |pick: fn(&Part) -> usize| parts.iter().map(pick).collect::<Vec<_>>();
    let (start, count) = (column(|part| part.0), column(|part| part.1));
    let step: Vec<isize> = parts.iter().map(|part| part.2 as isize).collect();
    body(&Hyperslab::new(&start, &count).with_stride(&step))
}

fn run<const SIZE: usize>(input: &mut Input<'_>, element: ElementType) {
    let rank = input.between(0, 3);
    let shape: Vec<usize> = (0..rank).map(|_| input.between(0, 10)).collect();
    let chunks: Vec<usize> = (0..rank).map(|_| input.between(1, 6)).collect();
    let shards: Vec<usize> = chunks.iter().map(|len| len * input.between(1, 3)).collect();
    let fill: [u8; SIZE] = std::array::from_fn(|_| input.byte());
    let format = input.choice(&[ArrayFormat::ZarrV2, ArrayFormat::ZarrV3]);
    let mut description = Description::new(&shape, element)
        .with_chunk_shape(&chunks)
        .with_fill_value(&fill)
        .with_format(format)
        .with_codecs(input.choice(&CODECS))
        .with_endian(input.choice(&[Endian::Native, Endian::Little, Endian::Big]))
        .with_separator(input.choice(&[Separator::Dot, Separator::Slash]));
    if format == ArrayFormat::ZarrV3 && input.bool() {
        description = description.with_shard_shape(&shards);
    }
    let storage = Storage::new(Memory::new()).unwrap();
    let mut array = Array::create_in(&storage, "a/x", &description).unwrap();
    let mut model = Model { shape: shape.clone(), fill, written: HashMap::new() };
    for _ in 0..32 {
        if input.is_empty() {
            break;
        }
        match input.between(0, 9) {
            0 => model.resize(&mut array, input),
            1 => array = Array::open_in(&storage, "a/x", Access::Write).unwrap(),
            2 => array.set_attribute("n", &[f64::from(input.byte())]).unwrap(),
            3 => array.set_cache(Cache::new(input.between(0, 255)).ok().filter(|_| input.bool()).as_ref()),
            4 | 5 => {
                let parts = model.parts(input);
                model.check(&array, &parts);
            }
            _ => model.write(&array, input),
        }
    }
    model.check_all(&array);
    // Another who opens it finds the same.
    let again = Array::open_in(&storage, "a/x", Access::Read).unwrap();
    assert!(again.variable().dimensions().iter().map(|dimension| dimension.len()).eq(model.shape.iter().copied()));
    model.check_all(&again);
}

fuzz_target!(|bytes: &[u8]| {
    let mut input = Input::new(bytes);
    match input.byte() % 4 {
        0 => run::<1>(&mut input, ElementType::UByte),
        1 => run::<2>(&mut input, ElementType::Short),
        2 => run::<8>(&mut input, ElementType::Int64),
        _ => run::<4>(&mut input, ElementType::UInt),
    }
});
