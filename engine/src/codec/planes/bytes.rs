//! Byte planes: what the shuffle filters of HDF5, numcodecs and blosc make.
//!
//! Of `count` elements of `size` bytes, byte `k` of element `i` is stored at `k * count + i`. What remains beyond a
//! multiple of the size is not part of this and is copied by whoever calls.
#![allow(unsafe_code)]

use std::mem::MaybeUninit;
use std::ops::Range;

/// Elements of other sizes are moved in groups of so many, which stay in the nearest cache.
const GROUP: usize = 128;

/// Gathers the elements `elements` of `count` from their planes into `to`, which has room for just them.
///
/// Returns `false`, having written nothing, if the planes are not all there as far as they are needed, or if `to` has
/// another length. If it returns `true`, all of `to` is written.
#[must_use]
pub(in crate::codec) fn gather(
    size: usize,
    planes: &[u8],
    count: usize,
    elements: Range<usize>,
    to: &mut [MaybeUninit<u8>],
) -> bool {
    let wanted = elements.len();
    let is_fitting = elements.end <= count && size > 0 && wanted.checked_mul(size) == Some(to.len());
    let end = (size.max(1) - 1).checked_mul(count).and_then(|last| last.checked_add(elements.end));
    if !is_fitting || end.is_none_or(|end| end > planes.len()) {
        return false;
    }
    if wanted > 0 {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            unsafe { gather_avx2(size, planes, count, elements.start, to) };
            return true;
        }
        gather_any(size, planes, count, elements.start, to);
    }
    true
}

/// Scatters the elements in `from` to their planes in `to`.
///
/// Returns `false`, having written nothing, if `from` does not hold whole elements or `to` has another length. If it
/// returns `true`, all of `to` is written.
#[must_use]
pub(in crate::codec) fn scatter(size: usize, from: &[u8], to: &mut [MaybeUninit<u8>]) -> bool {
    if size == 0 || from.len() % size != 0 || from.len() != to.len() {
        return false;
    }
    if !from.is_empty() {
        #[cfg(target_arch = "x86_64")]
        if std::arch::is_x86_feature_detected!("avx2") {
            // SAFETY: the processor has AVX2.
            unsafe { scatter_avx2(size, from, to) };
            return true;
        }
        scatter_any(size, from, to);
    }
    true
}

/// `gather_any` with AVX2.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn gather_avx2(size: usize, planes: &[u8], count: usize, first: usize, to: &mut [MaybeUninit<u8>]) {
    gather_any(size, planes, count, first, to);
}

/// `scatter_any` with AVX2.
///
/// # Safety
/// The processor has AVX2.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
unsafe fn scatter_avx2(size: usize, from: &[u8], to: &mut [MaybeUninit<u8>]) {
    scatter_any(size, from, to);
}

#[inline(always)]
fn gather_any(size: usize, planes: &[u8], count: usize, first: usize, to: &mut [MaybeUninit<u8>]) {
    match size {
        1 => copy(&planes[first..][..to.len()], to),
        2 => interleave::<2>(planes, count, first, to),
        3 => interleave::<3>(planes, count, first, to),
        4 => interleave::<4>(planes, count, first, to),
        8 => interleave::<8>(planes, count, first, to),
        _ => {
            for (group, to) in to.chunks_mut(GROUP.saturating_mul(size)).enumerate() {
                for k in 0..size {
                    let plane = &planes[k * count + first + group * GROUP..][..to.len() / size];
                    for (byte, to) in plane.iter().zip(to[k..].iter_mut().step_by(size)) {
                        to.write(*byte);
                    }
                }
            }
        }
    }
}

#[inline(always)]
fn scatter_any(size: usize, from: &[u8], to: &mut [MaybeUninit<u8>]) {
    let count = from.len() / size;
    match size {
        1 => copy(from, to),
        2 => deinterleave::<2>(from, count, to),
        3 => deinterleave::<3>(from, count, to),
        4 => deinterleave::<4>(from, count, to),
        8 => deinterleave::<8>(from, count, to),
        _ => {
            for (group, from) in from.chunks(GROUP.saturating_mul(size)).enumerate() {
                for k in 0..size {
                    let plane = &mut to[k * count + group * GROUP..][..from.len() / size];
                    for (to, byte) in plane.iter_mut().zip(from[k..].iter().step_by(size)) {
                        to.write(*byte);
                    }
                }
            }
        }
    }
}

/// Copies bytes; both slices have the same length.
#[inline(always)]
pub(in crate::codec) fn copy(from: &[u8], to: &mut [MaybeUninit<u8>]) {
    for (to, from) in to.iter_mut().zip(from) {
        to.write(*from);
    }
}

#[inline(always)]
fn interleave<const SIZE: usize>(planes: &[u8], count: usize, first: usize, to: &mut [MaybeUninit<u8>]) {
    let wanted = to.len() / SIZE;
    let planes: [&[u8]; SIZE] = std::array::from_fn(|k| &planes[k * count + first..][..wanted]);
    for (i, element) in to.chunks_exact_mut(SIZE).enumerate() {
        for k in 0..SIZE {
            element[k].write(planes[k][i]);
        }
    }
}

#[inline(always)]
fn deinterleave<const SIZE: usize>(from: &[u8], count: usize, to: &mut [MaybeUninit<u8>]) {
    let mut planes = to.chunks_exact_mut(count);
    let planes: [&mut [MaybeUninit<u8>]; SIZE] = std::array::from_fn(|_| planes.next().unwrap_or_default());
    // There are as many planes, of this length. The compiler has to be told so.
    if planes.iter().any(|plane| plane.len() != count) {
        return;
    }
    for (i, element) in from.chunks_exact(SIZE).enumerate() {
        for k in 0..SIZE {
            planes[k][i].write(element[k]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::alloc::as_uninit;

    /// A buffer to write to that was written to before.
    fn uninit(bytes: &mut [u8]) -> &mut [MaybeUninit<u8>] {
        // SAFETY: the functions write only initialised bytes.
        unsafe { as_uninit(bytes) }
    }

    #[test]
    fn planes_are_where_the_format_says_and_come_back() {
        let sizes: &[usize] = if cfg!(miri) { &[1, 2, 4, 5, 8, 16] } else { &[1, 2, 3, 4, 5, 8, 12, 16, 255] };
        let counts: &[usize] =
            if cfg!(miri) { &[0, 1, 17, 129] } else { &[0, 1, 2, 15, 16, 17, 33, 127, 128, 129, 300] };
        for &size in sizes {
            for &count in counts {
                let elements: Vec<u8> = (0..size * count).map(|i| (i * 7 + i / 256) as u8).collect();
                let mut planes = vec![0; elements.len()];
                assert!(scatter(size, &elements, uninit(&mut planes)));
                for i in 0..count {
                    assert!((0..size).all(|k| planes[k * count + i] == elements[i * size + k]), "{size} {count} {i}");
                }
                for range in [0..count, 0..count / 2, count / 3..count, count / 3..count / 2] {
                    let mut part = vec![0; range.len() * size];
                    assert!(gather(size, &planes, count, range.clone(), uninit(&mut part)));
                    assert_eq!(part, elements[range.start * size..range.end * size], "{size} {count}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let mut to = [0; 8];
        assert!(!gather(4, &[0; 8], 2, 0..3, uninit(&mut to)));
        assert!(!gather(4, &[0; 7], 2, 0..2, uninit(&mut to)));
        assert!(!gather(4, &[0; 9], 2, 0..3, uninit(&mut [0; 12])));
        assert!(!gather(4, &[0; 8], 2, 0..1, uninit(&mut to)));
        assert!(!gather(0, &[0; 8], 2, 0..2, uninit(&mut to)) && !gather(0, &[0; 8], 2, 0..2, &mut []));
        assert!(!gather(4, &[0; 8], usize::MAX, 0..2, uninit(&mut to)));
        assert!(gather(4, &[0; 7], 2, 0..1, uninit(&mut to[..4])));
        assert!(!scatter(3, &[0; 8], uninit(&mut to)) && !scatter(4, &[0; 4], uninit(&mut to)));
    }
}
