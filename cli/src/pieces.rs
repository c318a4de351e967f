//! A selection in pieces that fit memory, and their elements.

use nczchunk::{Access, Array, ElementType, Options, Plan};

use crate::slab::Selection;

/// The bytes of a piece.
pub const BYTES: usize = 32 << 20;

/// The elements of a selection, row-major.
pub enum Values {
    /// Elements of one size, in native byte order.
    Bytes { bytes: Vec<u8>, size: usize },
    /// Variable-length strings.
    Texts(Vec<String>),
}

/// Reads a selection with so many threads.
pub fn read(array: &Array, selection: &Selection, threads: usize) -> nczchunk::Result<Values> {
    if *array.element_type() == ElementType::String {
        return Ok(Values::Texts(array.read_strings(&selection.hyperslab())?));
    }
    let plan = Plan::new(array.variable(), &selection.hyperslab(), Access::Read)?;
    let mut bytes = vec![0; plan.selected_bytes()];
    let options = Options::default().with_threads(threads);
    plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut bytes, options)?;
    Ok(Values::Bytes { bytes, size: array.variable().element_size() })
}

/// The parts of a selection of an array in row-major order, each of [`BYTES`] bytes or less if that can be. Where they
/// are cut along a dimension they end where chunks do, if a piece has room for a whole one.
pub fn pieces(array: &Array, selection: &Selection) -> Pieces {
    let chunklens = array.variable().dimensions().iter().map(nczchunk::Dimension::chunklen).collect();
    Pieces::new(selection.clone(), chunklens, (BYTES / array.variable().element_size()).max(1))
}

/// See [`pieces`].
pub struct Pieces {
    selection: Selection,
    chunklens: Vec<usize>,
    /// The dimension that is cut. A piece has one element of those before it and all of those behind it.
    cut: usize,
    /// The most elements of a piece along that dimension.
    most: usize,
    /// The first element of the next piece; `None` behind the last one.
    next: Option<Vec<usize>>,
}

impl Pieces {
    fn new(selection: Selection, chunklens: Vec<usize>, most_elements: usize) -> Self {
        let (mut cut, mut behind) = (selection.rank(), 1usize);
        while cut > 0 && behind.saturating_mul(selection.count[cut - 1]) <= most_elements {
            cut -= 1;
            behind *= selection.count[cut];
        }
        // All fits if nothing has to be cut: then it is the first dimension that is taken whole.
        let (cut, most) = match cut {
            0 => (0, usize::MAX),
            _ => (cut - 1, (most_elements / behind.max(1)).max(1)),
        };
        let next = (selection.num_elements() > 0).then(|| vec![0; selection.rank()]);
        Pieces { selection, chunklens, cut, most, next }
    }

    /// How many elements from the k-th on are taken along the dimension that is cut.
    fn length(&self, k: usize) -> usize {
        let (d, rest) = (self.cut, self.selection.count[self.cut] - k);
        if rest <= self.most {
            return rest;
        }
        let stride = self.selection.stride[d].unsigned_abs();
        let begin = self.selection.index(d, k);
        // The last end of a chunk that is not too far.
        let reach = begin + self.most * stride;
        let end = reach / self.chunklens[d] * self.chunklens[d];
        if end > begin { (end - begin).div_ceil(stride).clamp(1, self.most) } else { self.most }
    }
}

impl Iterator for Pieces {
    type Item = Selection;

    fn next(&mut self) -> Option<Selection> {
        let mut first = self.next.take()?;
        if self.selection.rank() == 0 {
            return Some(self.selection.clone());
        }
        let mut count = self.selection.count.clone();
        count[..self.cut].fill(1);
        count[self.cut] = self.length(first[self.cut]);
        let piece = self.selection.part(&first, &count);
        first[self.cut] += count[self.cut];
        for d in (0..=self.cut).rev() {
            if first[d] < self.selection.count[d] {
                self.next = Some(first);
                break;
            }
            first[d] = 0;
            if d > 0 {
                first[d - 1] += 1;
            }
        }
        Some(piece)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selection(count: &[usize], stride: isize) -> Selection {
        let rank = count.len();
        Selection { start: vec![0; rank], count: count.into(), stride: vec![stride; rank], is_kept: vec![true; rank] }
    }

    fn counts(pieces: Pieces) -> Vec<(Vec<usize>, Vec<usize>)> {
        pieces.map(|piece| (piece.start, piece.count)).collect()
    }

    #[test]
    fn what_fits_is_one_piece() {
        assert_eq!(counts(Pieces::new(selection(&[3, 4], 1), vec![2, 2], 12)), [(vec![0, 0], vec![3, 4])]);
        assert_eq!(counts(Pieces::new(selection(&[], 1), vec![], 1)).len(), 1);
        assert_eq!(counts(Pieces::new(selection(&[3, 0], 1), vec![2, 2], 12)).len(), 0);
    }

    #[test]
    fn cuts_are_at_the_ends_of_chunks() {
        // 8 rows of 4 fit; chunks have 3 rows.
        let pieces = counts(Pieces::new(selection(&[10, 4], 1), vec![3, 4], 35));
        assert_eq!(pieces, [(vec![0, 0], vec![6, 4]), (vec![6, 0], vec![4, 4])]);
        let pieces = counts(Pieces::new(selection(&[10], 2), vec![7], 4));
        assert_eq!(pieces, [(vec![0], vec![4]), (vec![8], vec![3]), (vec![14], vec![3])]);
        // A chunk is longer than a piece.
        assert_eq!(counts(Pieces::new(selection(&[5], 1), vec![100], 2)).len(), 3);
    }

    #[test]
    fn pieces_are_all_elements_once_and_in_order() {
        for most in 1..130 {
            let all = selection(&[3, 5, 8], 2);
            let mut expected = Vec::new();
            for i in 0..120 {
                expected.push([i / 40 * 2, i / 8 % 5 * 2, i % 8 * 2]);
            }
            let mut found = Vec::new();
            for piece in Pieces::new(all, vec![2, 3, 7], most) {
                assert!(piece.num_elements() <= most);
                for i in 0..piece.num_elements() {
                    let [_, rows, columns] = piece.count[..] else { panic!() };
                    let k = [i / columns / rows, i / columns % rows, i % columns];
                    found.push([piece.index(0, k[0]), piece.index(1, k[1]), piece.index(2, k[2])]);
                }
            }
            assert_eq!(found, expected, "{most}");
        }
    }
}
