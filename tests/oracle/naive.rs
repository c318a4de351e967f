//! The oracle: every selected element, one by one, and the chunk it lies in. Nothing here is shared with the library.

use super::cases::Dim;

/// What is selected of one chunk along one dimension, with the names of `nczchunk_projection`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Touched {
    pub chunk_index: u128,
    pub offset: u128,
    pub first: u128,
    pub last: u128,
    pub limit: u128,
    pub iopos: u128,
    pub iocount: u128,
}

/// The chunks that a selection touches, found by looking at each of its elements in turn.
pub fn projections(dim: Dim) -> Vec<Touched> {
    let mut touched: Vec<Touched> = Vec::new();
    for k in 0..dim.count as u128 {
        let element = dim.start as u128 + k * dim.stride as u128;
        let chunk_index = element / dim.chunklen as u128;
        let offset = chunk_index * dim.chunklen as u128;
        match touched.last_mut() {
            Some(last) if last.chunk_index == chunk_index => {
                last.last = element - offset;
                last.iocount += 1;
            }
            _ => touched.push(Touched {
                chunk_index,
                offset,
                first: element - offset,
                last: element - offset,
                limit: (dim.chunklen as u128).min(dim.len as u128 - offset),
                iopos: k,
                iocount: 1,
            }),
        }
    }
    touched
}

/// Calls `visit` for each selected element, in row-major order, with its indices in the array.
pub fn for_each_selected(dims: &[Dim], mut visit: impl FnMut(&[usize])) {
    let total: usize = dims.iter().map(|dim| dim.count).product();
    let mut indices = vec![0; dims.len()];
    for ordinal in 0..total {
        let mut rest = ordinal;
        for (index, dim) in indices.iter_mut().zip(dims).rev() {
            *index = dim.start + rest % dim.count * dim.stride;
            rest /= dim.count;
        }
        visit(&indices);
    }
}

/// The byte at a place of an element, a function of where it is, such that neighbours in every direction differ.
pub fn byte(indices: &[usize], place: usize) -> u8 {
    let mixed = indices.iter().fold(place.wrapping_mul(0x9E37) ^ 0x55, |mixed, &index| {
        mixed.wrapping_mul(31).wrapping_add(index.wrapping_mul(7)) ^ (mixed >> 5)
    });
    (mixed ^ (mixed >> 8)) as u8
}
