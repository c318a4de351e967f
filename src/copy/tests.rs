use std::mem::MaybeUninit;

use super::*;

fn run(copy: &StridedCopy, source: &[u8], from: usize, destination: &mut [MaybeUninit<u8>], to: usize) -> Result<()> {
    copy.run(source.into(), from, &mut destination.into(), to)
}

/// Copies `shape` elements between two row-major arrays and compares with one loop over all bytes.
fn check(element_size: usize, swap: Option<usize>, axes: &[(usize, isize, isize)]) {
    let axes: Vec<Axis> =
        axes.iter().map(|&(count, source, destination)| Axis { count, source, destination }).collect();
    let copy = StridedCopy::new(element_size, swap, axes.iter().copied()).unwrap();
    let reach = |stride: fn(&Axis) -> isize| {
        let low: isize = axes.iter().map(|axis| (stride(axis) * (axis.count as isize - 1)).min(0)).sum();
        let high: isize = axes.iter().map(|axis| (stride(axis) * (axis.count as isize - 1)).max(0)).sum();
        (low.unsigned_abs(), low.unsigned_abs() + high.unsigned_abs() + element_size)
    };
    let (source_offset, source_len) = reach(|axis| axis.source);
    let (destination_offset, destination_len) = reach(|axis| axis.destination);

    let source: Vec<u8> = (0..source_len).map(|i| (i * 7 + i / 251) as u8).collect();
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

    let mut destination: Vec<MaybeUninit<u8>> = vec![MaybeUninit::new(0xEE); destination_len];
    run(&copy, &source, source_offset, &mut destination, destination_offset).unwrap();
    // SAFETY: every byte was initialised when the vector was made.
    let got: Vec<u8> = destination.iter().map(|byte| unsafe { byte.assume_init() }).collect();
    assert_eq!(got, expected, "element size {element_size}, swap {swap:?}, axes {axes:?}");

    for short in [source_len - 1, 0] {
        assert!(run(&copy, &source[..short], source_offset, &mut destination, destination_offset).is_err());
    }
    assert!(run(&copy, &source, source_offset, &mut destination[1..], destination_offset).is_err());
}

#[test]
fn all_shapes_strides_sizes_and_directions() {
    for (element_size, swap) in [(1, None), (2, None), (3, None), (4, None), (8, None), (16, None), (24, None)]
        .into_iter()
        .chain([(2, Some(2)), (4, Some(4)), (8, Some(8)), (16, Some(8)), (8, Some(4)), (12, Some(4))])
    {
        let size = element_size as isize;
        for inner in [1, 2, 5] {
            for outer in [1, 3] {
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
    let copy = StridedCopy::new(4, None, [axis, axis].into_iter()).unwrap();
    assert!(run(&copy, &[0; 64], 0, &mut [MaybeUninit::uninit(); 64], 0).is_err());
}

#[test]
fn words_are_swapped_in_place() {
    let mut bytes: Vec<u8> = (0..16).collect();
    swap_in_place(&mut bytes, 8);
    assert_eq!(bytes[..9], [7, 6, 5, 4, 3, 2, 1, 0, 15]);
}
