use std::mem::MaybeUninit;

use super::*;
use crate::alloc;

fn run(copy: &StridedCopy, source: &[u8], from: usize, destination: &mut [MaybeUninit<u8>], to: usize) -> Result<()> {
    copy.run(source.into(), from, &mut destination.into(), to)
}

/// Bytes that end where a page begins that can be neither read nor written, so that an access beyond the last byte
/// ends the test.
struct Fenced {
    bytes: *mut u8,
    len: usize,
}

impl Fenced {
    fn new(value: impl Fn(usize) -> u8, len: usize) -> Self {
        let mut fenced = Fenced { bytes: pages::map(len), len };
        fenced.iter_mut().enumerate().for_each(|(i, byte)| *byte = value(i));
        fenced
    }
}

impl Drop for Fenced {
    fn drop(&mut self) {
        // SAFETY: `new` has mapped them, and the borrows of the bytes have ended.
        unsafe { pages::unmap(self.bytes, self.len) };
    }
}

#[cfg(all(unix, not(miri)))]
mod pages {
    fn page_size() -> usize {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap()
    }

    fn mapped(len: usize) -> usize {
        len.next_multiple_of(page_size()) + page_size()
    }

    /// Maps pages for so many bytes and returns the address of the first byte.
    pub(super) fn map(len: usize) -> *mut u8 {
        let (all, access) = (mapped(len), libc::PROT_READ | libc::PROT_WRITE);
        // SAFETY: the system chooses the addresses of the new pages, so no memory in use is affected, nor by the
        // protection of the last of them.
        unsafe {
            let pages = libc::mmap(std::ptr::null_mut(), all, access, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1, 0)
                .cast::<u8>();
            assert_ne!(pages.cast(), libc::MAP_FAILED);
            let end = pages.add(all - page_size());
            assert_eq!(libc::mprotect(end.cast(), page_size(), libc::PROT_NONE), 0);
            end.sub(len)
        }
    }

    /// # Safety
    /// `map` has returned the address for so many bytes, and they are not used any more.
    pub(super) unsafe fn unmap(bytes: *mut u8, len: usize) {
        let all = mapped(len);
        // SAFETY: these are the pages that were mapped.
        unsafe {
            let pages = bytes.add(len).sub(all - page_size());
            assert_eq!(libc::munmap(pages.cast(), all), 0);
        }
    }
}

/// Without such a page: Miri needs none, and elsewhere there are other calls for it.
#[cfg(not(all(unix, not(miri))))]
mod pages {
    pub(super) fn map(len: usize) -> *mut u8 {
        Vec::leak(vec![0; len]).as_mut_ptr()
    }

    /// # Safety
    /// `map` has returned the address for so many bytes, and they are not used any more.
    pub(super) unsafe fn unmap(bytes: *mut u8, len: usize) {
        // SAFETY: it was a vector of so many bytes, with room for no more.
        drop(unsafe { Vec::from_raw_parts(bytes, len, len) });
    }
}

impl std::ops::Deref for Fenced {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: `new` has allocated and initialised the bytes, and they are borrowed through `self` only.
        unsafe { std::slice::from_raw_parts(self.bytes, self.len) }
    }
}

impl std::ops::DerefMut for Fenced {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.bytes, self.len) }
    }
}

/// Copies elements between two arrays with every kernel there is for them, with ordinary and with non-temporal
/// stores, and compares with one loop over all bytes.
fn check(element_size: usize, swap: Option<usize>, axes: &[(usize, isize, isize)]) {
    let axes: Vec<Axis> =
        axes.iter().map(|&(count, source, destination)| Axis { count, source, destination }).collect();
    let prepared = |volume: Volume| {
        let mut copy = StridedCopy::unprepared(volume);
        copy.prepare(element_size, swap, axes.iter().copied()).unwrap();
        copy
    };
    let with_kernel = |kernel: Kernel| StridedCopy { kernel, ..prepared(Volume::Streaming) };
    let copy = prepared(Volume::Small);
    #[cfg(target_arch = "x86_64")]
    let sse2 = if cfg!(miri) { None } else { x86::choose_non_temporal(&prepared(Volume::Streaming).shape()) };
    #[cfg(not(target_arch = "x86_64"))]
    let sse2 = None;
    let portable = portable::choose(&copy.shape());
    let kernels = [
        ("portable", with_kernel(portable)),
        ("large", prepared(Volume::Large)),
        ("streaming", prepared(Volume::Streaming)),
    ];
    let kernels: Vec<_> =
        kernels.into_iter().chain(sse2.map(|kernel| ("streaming with SSE2", with_kernel(kernel)))).collect();
    let reach = |stride: fn(&Axis) -> isize| {
        let low: isize = axes.iter().map(|axis| (stride(axis) * (axis.count as isize - 1)).min(0)).sum();
        let high: isize = axes.iter().map(|axis| (stride(axis) * (axis.count as isize - 1)).max(0)).sum();
        (low.unsigned_abs(), low.unsigned_abs() + high.unsigned_abs() + element_size)
    };
    let (source_offset, source_len) = reach(|axis| axis.source);
    let (destination_offset, destination_len) = reach(|axis| axis.destination);

    let source = Fenced::new(|i| (i * 7 + i / 251) as u8, source_len);
    let mut expected = vec![0xEE_u8; destination_len];
    let word = swap.unwrap_or(1);
    let total: usize = axes.iter().map(|axis| axis.count).product();
    for element in 0..total {
        let (mut rest, mut from, mut to) = (element, source_offset as isize, destination_offset as isize);
        for axis in &axes {
            let index = (rest % axis.count) as isize;
            rest /= axis.count;
            from += index * axis.source;
            to += index * axis.destination;
        }
        for byte in 0..element_size {
            let swapped = byte / word * word + (word - 1 - byte % word);
            expected[to as usize + byte] = source[from as usize + swapped];
        }
    }

    let mut got = Fenced::new(|_| 0, destination_len);
    for (kernel, copy) in kernels.iter().map(|(name, copy)| (*name, copy)).chain([("chosen", &copy)]) {
        got.fill(0xEE);
        // SAFETY: a copy writes initialised bytes only.
        run(copy, &source, source_offset, unsafe { alloc::as_uninit(&mut got) }, destination_offset).unwrap();
        let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        assert_eq!(wrong, None, "{kernel} kernel, element size {element_size}, swap {swap:?}, axes {axes:?}");
    }

    // SAFETY: a copy writes initialised bytes only.
    let destination = unsafe { alloc::as_uninit(&mut got) };
    let (low, high) = copy.source_reach();
    assert_eq!((source_offset as isize + low, source_offset as isize + high), (0, source_len as isize));
    for short in [source_len - 1, 0] {
        assert!(run(&copy, &source[..short], source_offset, destination, destination_offset).is_err());
    }
    assert!(run(&copy, &source, source_offset, &mut destination[1..], destination_offset).is_err());
}

#[test]
fn all_shapes_strides_sizes_and_directions() {
    for (element_size, swap) in [
        (1, None),
        (2, None),
        (3, None),
        (4, None),
        (8, None),
        (16, None),
        (24, None),
        (32, None),
        (64, None),
        (128, None),
    ]
    .into_iter()
    .chain([(2, Some(2)), (4, Some(4)), (8, Some(8)), (16, Some(8)), (8, Some(4)), (12, Some(4))])
    {
        let size = element_size as isize;
        // Miri is slow.
        let (inners, outers): (&[usize], &[usize]) = if cfg!(miri) { (&[1, 5], &[3]) } else { (&[1, 2, 5], &[1, 3]) };
        for &inner in inners {
            for &outer in outers {
                let row = inner as isize * size;
                // Contiguous; gathered; scattered; both; transposed; flipped; filled from one element.
                check(element_size, swap, &[(inner, size, size), (outer, row, row)]);
                check(element_size, swap, &[(inner, 2 * size, size), (outer, 3 * row, row)]);
                check(element_size, swap, &[(inner, size, 3 * size), (outer, row, 3 * row)]);
                check(element_size, swap, &[(inner, 2 * size, 3 * size), (outer, 2 * row, 3 * row)]);
                check(element_size, swap, &[(inner, outer as isize * size, size), (outer, size, row)]);
                check(element_size, swap, &[(inner, -size, size), (outer, row, -row)]);
                check(element_size, swap, &[(inner, 0, size), (outer, 0, 2 * row)]);
            }
        }
        check(element_size, swap, &[]);
    }
}

/// Rows of more than a vector, at every distance that has a kernel and one beyond.
#[test]
fn long_gathers() {
    for (element_size, swap) in [(1, None), (2, None), (4, None), (8, None), (2, Some(2)), (4, Some(4)), (8, Some(8))] {
        let size = element_size as isize;
        // Miri is slow, and has no such instructions.
        for stride in if cfg!(miri) { 2..=3 } else { 1..=17 } {
            for count in if cfg!(miri) { 33..=33 } else { 3..=100 } {
                check(element_size, swap, &[(count, stride * size, size), (3, 100 * 17 * size, 100 * size)]);
            }
        }
    }
}

/// Rows of many lines, each on other pages, that begin anywhere in a line: four of them are interleaved.
// Miri has none of these kernels.
#[cfg(not(miri))]
#[test]
fn rows_on_pages_of_their_own() {
    let rows = [3, 4, 9, 34];
    for (element_size, swap) in [(1, None), (2, None), (4, None), (8, None), (2, Some(2)), (4, Some(4)), (8, Some(8))] {
        let size = element_size as isize;
        for num_rows in rows {
            for stride in 0..=6 {
                for (bytes, gap) in [(64, 64), (256, 0), (300, 4), (1000, 8), (2048, 2048), (3000, 3)] {
                    let count = bytes / element_size;
                    let row = (count * element_size + gap) as isize;
                    check(element_size, swap, &[(count, stride * size, size), (num_rows, 4200 * stride, row)]);
                }
            }
        }
    }
    for (unit, gap) in [(64, 0), (64, 64), (64, 1), (128, 24), (192, 64), (700, 3), (4096, 64), (5000, 1)] {
        for num_rows in rows {
            check(unit, None, &[(num_rows, unit as isize + 8, (unit + gap) as isize), (2, 70_000, 300_000)]);
        }
    }
}

/// Rows so long that four segments of one row are interleaved.
#[cfg(not(miri))]
#[test]
fn long_rows() {
    for bytes in [65_536, 65_600, 100_040] {
        for (element_size, swap) in
            [(1, None), (2, None), (4, None), (8, None), (2, Some(2)), (4, Some(4)), (8, Some(8))]
        {
            for stride in 0..=5 {
                let (size, count) = (element_size as isize, bytes / element_size);
                check(element_size, swap, &[(count, stride * size, size), (2, 600_000, bytes as isize + 8)]);
            }
        }
        check(bytes, None, &[]);
        check(bytes, None, &[(2, bytes as isize + 1, bytes as isize + 72)]);
    }
}

/// Boxes larger than a block; every axis is once the one along which units are contiguous in the source.
#[test]
fn transposed_boxes() {
    for (element_size, swap) in [(1, None), (2, None), (3, None), (4, Some(4)), (8, None), (16, Some(8)), (24, None)] {
        let (size, counts) = (element_size as isize, if cfg!(miri) { [5, 3, 2] } else { [37, 3, 18] });
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let (mut strides, mut stride) = ([0; 3], size);
            for d in order {
                strides[d] = stride;
                stride *= counts[d] as isize;
            }
            let row_major = [size, size * counts[0] as isize, size * (counts[0] * counts[1]) as isize];
            check(element_size, swap, &[0, 1, 2].map(|d| (counts[d], row_major[d], strides[d])));
            check(element_size, swap, &[0, 1, 2].map(|d| (counts[d], 2 * strides[d], -row_major[d])));
        }
    }
}

/// Random boxes: up to four axes in any order and direction, with or without gaps, and repeated in the source.
#[test]
fn boxes_at_random() {
    // Miri is slow.
    let (num_boxes, most_bytes, most_reach) = if cfg!(miri) { (8, 1 << 8, 1 << 10) } else { (300, 1 << 15, 1 << 17) };
    let mut random = fastrand::Rng::with_seed(1);
    for _ in 0..num_boxes {
        let (element_size, swap) = match random.u8(..4) {
            0 => random.choice([(2, Some(2)), (4, Some(4)), (8, Some(8)), (16, Some(8)), (12, Some(4))]).unwrap(),
            _ => (random.choice([1, 2, 3, 4, 8, 16, 24, 64, 100, 192, 512]).unwrap(), None),
        };
        let mut axes = [(1, 0, 0); 4];
        let mut bytes = element_size;
        for (count, _, _) in &mut axes {
            let most = random.choice([1, 4, 12, 90, usize::MAX]).unwrap().min(most_bytes / bytes);
            *count = random.usize(1..=most.max(1));
            bytes *= *count;
        }
        // Each stride is at least what the axes before it reach, so that no two elements overlap.
        random.shuffle(&mut axes);
        let mut reach = element_size;
        for (count, _, destination) in &mut axes {
            let gap = random.choice([0, 0, 0, element_size, 64 - reach % 64, 4096 - reach % 4096, 3]).unwrap();
            let stride = if (reach + gap) * *count > most_reach { reach } else { reach + gap };
            *destination = if random.u8(..4) == 0 { -(stride as isize) } else { stride as isize };
            reach = stride * *count;
        }
        random.shuffle(&mut axes);
        let mut reach = element_size;
        for (count, source, _) in &mut axes {
            let words = element_size * random.usize(1..18);
            let stride = random.choice([0, words, reach, reach, reach + words, reach + 3]).unwrap();
            let stride = if stride * *count > most_reach { element_size } else { stride };
            *source = if random.u8(..4) == 0 { -(stride as isize) } else { stride as isize };
            reach = reach.max(stride * *count);
        }
        random.shuffle(&mut axes);
        check(element_size, swap, &axes);
    }
}

/// Every size that may have a kernel of its own, in every shape that kernels tell apart, in rows of more than a line.
#[test]
fn all_small_sizes() {
    let words = |size: usize| [2, 4, 8].into_iter().filter(move |word| size % word == 0).map(Some);
    for element_size in (1..=40).step_by(if cfg!(miri) { 5 } else { 1 }) {
        for swap in std::iter::once(None).chain(words(element_size)) {
            let size = element_size as isize;
            let counts: &[usize] = if cfg!(miri) { &[3] } else { &[1, 2, 3, 7, 16, 65] };
            for &count in counts {
                let row = count as isize * size;
                // Contiguous, gathered, scattered, both, reversed, filled, and transposed.
                check(element_size, swap, &[(count, size, size), (3, row + 1, row + 2)]);
                for distance in if cfg!(miri) { 2..=2 } else { 2..=5 } {
                    check(element_size, swap, &[(count, distance * size, size), (3, distance * row, row + 8)]);
                    check(element_size, swap, &[(count, size, distance * size), (3, row, distance * row)]);
                }
                check(element_size, swap, &[(count, 2 * size, 3 * size), (3, 2 * row, 3 * row)]);
                check(element_size, swap, &[(count, size + 1, size + 3), (3, row * 2, row * 4)]);
                check(element_size, swap, &[(count, -2 * size, size), (3, 2 * row, -row)]);
                check(element_size, swap, &[(count, size, -size), (3, -row, row)]);
                check(element_size, swap, &[(count, 0, size), (3, 0, row + 5)]);
                check(element_size, swap, &[(count, 0, 2 * size), (3, 1, 2 * row)]);
                check(element_size, swap, &[(count, 18 * size, size), (17, size, row)]);
            }
        }
    }
}

/// A copy that is prepared step by step, and again for something else.
#[test]
fn step_by_step() {
    let mut copy = StridedCopy::unprepared(Volume::Small);
    let source: Vec<u8> = (0..64).collect();
    let mut memory = [0; 8];
    let mut run = |copy: &StridedCopy, from| {
        copy.run(source.as_slice().into(), from, &mut memory.as_mut_slice().into(), 0).map(|()| memory)
    };
    assert!(run(&copy, 0).is_err());

    copy.begin(4, Some(4));
    copy.finish();
    assert_eq!(run(&copy, 60).unwrap(), [63, 62, 61, 60, 0, 0, 0, 0]);
    assert!(run(&copy, 61).is_err());

    copy.begin(2, None);
    copy.push(Axis { count: 1, source: 7, destination: isize::MAX }).unwrap();
    copy.push(Axis { count: 2, source: 2, destination: 2 }).unwrap();
    assert!(copy.push(Axis { count: 0, source: 2, destination: 2 }).is_err());
    copy.push(Axis { count: 2, source: -10, destination: 4 }).unwrap();
    copy.finish();
    assert_eq!(copy.source_reach(), (-10, 4));
    assert_eq!(run(&copy, 10).unwrap(), [10, 11, 12, 13, 0, 1, 2, 3]);
    assert!(run(&copy, 9).is_err());
}

#[test]
fn contiguous_boxes_are_one_piece() {
    let axis = |count, source, destination| Axis { count, source, destination };
    let piece = |element_size, swap, axes: &[Axis]| {
        let copy = StridedCopy::new(element_size, swap, axes.iter().copied()).unwrap();
        copy.is_one_piece(24)
    };
    assert!(piece(4, None, &[axis(3, 4, 4), axis(1, 99, 7), axis(2, 12, 12)]));
    assert!(piece(4, Some(4), &[axis(3, 4, 4), axis(2, 12, 12)]));
    assert!(piece(8, Some(4), &[axis(3, 8, 8)]));
    assert!(!piece(4, None, &[axis(3, 4, 4), axis(2, 16, 12)]));
    assert!(!piece(4, None, &[axis(6, 0, 4)]));
}

#[test]
fn boxes_beyond_all_memory_are_refused() {
    let axis = Axis { count: usize::MAX, source: isize::MAX, destination: 4 };
    for volume in [Volume::Small, Volume::Large, Volume::Streaming] {
        for first in [axis, Axis { source: 8, ..axis }] {
            let mut copy = StridedCopy::unprepared(volume);
            copy.prepare(4, None, [first, axis].into_iter()).unwrap();
            assert!(run(&copy, &[0; 64], 0, &mut [MaybeUninit::uninit(); 64], 0).is_err());
        }
    }
    assert!(StridedCopy::new(0, None, [axis].into_iter()).is_err());
    assert!(StridedCopy::new(12, Some(3), [axis].into_iter()).is_err());
}

#[test]
fn words_are_swapped_in_place() {
    let mut bytes: Vec<u8> = (0..16).collect();
    swap_in_place(&mut bytes, 8);
    assert_eq!(bytes[..9], [7, 6, 5, 4, 3, 2, 1, 0, 15]);
    let mut without_words = [1, 2, 3];
    swap_in_place(&mut without_words, 0);
    assert_eq!(without_words, [1, 2, 3]);
    for word in [1, 2, 3, 4, 8, 16] {
        for len in (0..100).step_by(if cfg!(miri) { 33 } else { 1 }).chain([1000, 1003]) {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let swapped = |i: usize| if i / word < len / word { i / word * word + word - 1 - i % word } else { i };
            let expected: Vec<u8> = (0..len).map(|i| bytes[swapped(i)]).collect();
            let mut found = bytes.clone();
            swap_in_place(&mut found, word);
            assert_eq!(found, expected);
        }
    }
}

/// Boxes whose rows all have the same alignment to lines, and that are not a whole number of blocks or of tiles.
#[cfg(not(miri))]
#[test]
fn transposed_lines() {
    for (element_size, swap) in [(2, None), (4, None), (8, None), (2, Some(2)), (4, Some(4)), (8, Some(8))] {
        let (size, counts) = (element_size as isize, [201, 76]);
        for (row_gap, step) in [(0, 1), (64, 1), (0, 2), (4, 1)] {
            let source_row = (counts[1] as isize + 3) * size;
            let row = 64 * size * 4 + row_gap;
            check(element_size, swap, &[(counts[1], step * size, row), (counts[0], step * source_row, size)]);
            check(element_size, swap, &[(counts[1], size, -row), (counts[0], -source_row, size)]);
        }
    }
}

#[test]
fn single_elements_of_one_word_and_of_several() {
    let source: Vec<u8> = (1..=40).collect();
    for size in [1, 2, 3, 4, 8, 12, 16] {
        for swap in [None, Some(2), Some(4), Some(8)].into_iter().filter(|swap| swap.is_none_or(|w| size % w == 0)) {
            let mut destination = [const { MaybeUninit::new(0) }; 20];
            element(size, swap, (source[..].into(), 3), (&mut (&mut destination[..]).into(), 2)).unwrap();
            // SAFETY: all of it is initialised.
            let found = destination.map(|byte| unsafe { byte.assume_init() });
            let mut expected = [0; 20];
            expected[2..2 + size].copy_from_slice(&source[3..3 + size]);
            if let Some(word) = swap {
                expected[2..2 + size].chunks_exact_mut(word).for_each(<[u8]>::reverse);
            }
            assert_eq!(found, expected, "{size} bytes, {swap:?}");
            let beyond = element(size, swap, (source[..].into(), 41 - size), (&mut (&mut destination[..]).into(), 0));
            assert_eq!(beyond.unwrap_err().kind(), ErrorKind::Internal);
        }
    }
}

#[test]
fn a_box_fits_and_is_copied_by_runs_of_elements() {
    let copy = |destination| {
        let axis = Axis { count: 3, source: 2, destination };
        StridedCopy::new(2, None, [axis].into_iter()).unwrap()
    };
    let apart = copy(4);
    assert!(apart.fits((1, 7), (2, 12)));
    assert!(!apart.fits((2, 7), (2, 12)) && !apart.fits((1, 7), (3, 12)) && !apart.fits((2, 7), (3, 12)));
    for (destination, runs) in [(2, vec![(3, 1, 2)]), (4, vec![(1, 1, 2), (1, 3, 6), (1, 5, 10)])] {
        let (source, mut memory) = ([0u8; 7], [const { MaybeUninit::new(0u8) }; 12]);
        let (from, to) = (source.as_ptr().addr(), memory.as_ptr().addr());
        let mut found = Vec::new();
        let mut one = |elements: usize, at: *const u8, into: *mut u8| {
            found.push((elements, at.addr() - from, into.addr() - to));
            Ok(())
        };
        copy(destination).run_with(source[..].into(), 1, &mut (&mut memory[..]).into(), 2, &mut one).unwrap();
        assert_eq!(found, runs);
    }
}
