//! The elements of a selection, piece by piece, to the new array.
//!
//! A piece is a box of whole chunks (or shards) of the new array, as many as fit the memory that is for it, so that
//! each is encoded and stored once, and none has to be read again.

use nczchunk::{Access, Array, Hyperslab, Options, Plan, Progress};

use super::write_lens;
use crate::failure::Result;
use crate::interrupt;
use crate::pieces::{self, Values};
use crate::progress;
use crate::slab::{self, Selection};
use crate::storage;

/// The bytes of a piece, unless a chunk has more.
const BYTES: usize = 64 << 20;

/// A box of the new array: where it begins, and its lengths.
struct Piece {
    start: Vec<usize>,
    count: Vec<usize>,
}

/// Copies the elements of a selection of one array to another one, which has its shape.
pub(super) fn transfer(source: &Array, selection: &Selection, to: &Array, threads: usize) -> Result<()> {
    let size = to.variable().element_size();
    let bar = progress::of_bytes((selection.num_elements() as u64).saturating_mul(size as u64));
    let fill_value = fill_value(to);
    let shape = slab::shape(to);
    let lens = write_lens(to);
    for piece in Pieces::new(&shape, &lens, (BYTES / size).max(1)) {
        interrupt::check()?;
        let part = part(selection, &piece);
        match pieces::read(source, &part, threads)? {
            Values::Texts(texts) => to.write_strings(&Hyperslab::new(&piece.start, &piece.count), &texts)?,
            Values::Bytes { bytes, .. } => write(to, &piece, &bytes, &fill_value, threads)?,
        }
        bar.inc((part.num_elements() as u64).saturating_mul(size as u64));
    }
    bar.finish_and_clear();
    Ok(())
}

/// The elements of the selection that belong to a piece, which has no dimensions of those that are dropped.
fn part(selection: &Selection, piece: &Piece) -> Selection {
    let (mut first, mut count) = (vec![0; selection.rank()], selection.count.clone());
    for (i, d) in selection.kept().enumerate() {
        (first[d], count[d]) = (piece.start[i], piece.count[i]);
    }
    selection.part(&first, &count)
}

/// The fill value as the bytes of an element.
fn fill_value(array: &Array) -> Vec<u8> {
    let zeros = || vec![0; array.variable().element_size()];
    array.variable().fill_value().map_or_else(zeros, <[u8]>::to_vec)
}

/// Writes a piece, without the chunks that are fill values only.
fn write(to: &Array, piece: &Piece, bytes: &[u8], fill_value: &[u8], threads: usize) -> Result<()> {
    let slab = Hyperslab::new(&piece.start, &piece.count);
    let plan = Plan::new(to.variable(), &slab, Access::Write)?;
    let stop = |_: Progress| i32::from(interrupt::is_wished());
    let options = Options::default().with_threads(threads).with_progress(&stop);
    let mut begin = 0;
    for i in 0..=plan.num_chunks() {
        let is_written = i < plan.num_chunks() && !is_all(&plan, i, piece, bytes, fill_value)?;
        if is_written {
            continue;
        }
        if begin < i {
            plan.write_chunks(to.store(), begin..i, bytes, options)?;
        }
        begin = i + 1;
    }
    Ok(())
}

/// Whether all elements of the i-th chunk of a plan are the fill value.
fn is_all(plan: &Plan<'_>, i: usize, piece: &Piece, bytes: &[u8], fill_value: &[u8]) -> Result<bool> {
    let projections = storage::projections(plan, i)?;
    let Some((last, others)) = projections.split_last() else { return Ok(bytes == fill_value) };
    let size = fill_value.len();
    let row_len = last.iocount * size;
    let rows: usize = others.iter().map(|projection| projection.iocount).product();
    for row in 0..rows {
        // The element of the piece that the row begins with.
        let (mut rest, mut at, mut step) = (row, last.iopos, piece.count[others.len()]);
        for (d, projection) in others.iter().enumerate().rev() {
            at += (projection.iopos + rest % projection.iocount) * step;
            rest /= projection.iocount;
            step *= piece.count[d];
        }
        let elements = &bytes[at * size..][..row_len];
        if elements.chunks_exact(size).any(|element| element != fill_value) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Boxes of whole cells that are all of a shape, in row-major order.
struct Pieces {
    shape: Vec<usize>,
    lens: Vec<usize>,
    next: Option<Vec<usize>>,
}

impl Pieces {
    /// Boxes of so many elements at most, unless one cell has more.
    fn new(shape: &[usize], cell: &[usize], most_elements: usize) -> Self {
        let mut lens: Vec<usize> = cell.iter().zip(shape).map(|(cell, len)| (*cell).min(*len)).collect();
        for d in (0..shape.len()).rev() {
            let others: usize = lens.iter().enumerate().filter(|(other, _)| *other != d).map(|(_, len)| len).product();
            let cells = (most_elements / others.max(1) / cell[d]).max(1);
            lens[d] = cells.saturating_mul(cell[d]).min(shape[d]).max(lens[d]);
            if lens[d] < shape[d] {
                break;
            }
        }
        let next = (!shape.contains(&0)).then(|| vec![0; shape.len()]);
        Pieces { shape: shape.to_vec(), lens, next }
    }
}

impl Iterator for Pieces {
    type Item = Piece;

    fn next(&mut self) -> Option<Piece> {
        let start = self.next.take()?;
        let lens = start.iter().zip(&self.shape).zip(&self.lens);
        let count = lens.map(|((start, len), most)| (*most).min(len - start)).collect();
        let mut next = start.clone();
        for d in (0..next.len()).rev() {
            next[d] += self.lens[d];
            if next[d] < self.shape[d] {
                self.next = Some(next);
                break;
            }
            next[d] = 0;
        }
        Some(Piece { start, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn boxes(shape: &[usize], cell: &[usize], most: usize) -> Vec<(Vec<usize>, Vec<usize>)> {
        Pieces::new(shape, cell, most).map(|piece| (piece.start, piece.count)).collect()
    }

    #[test]
    fn pieces_are_whole_cells() {
        assert_eq!(boxes(&[5, 6], &[2, 2], 24), [(vec![0, 0], vec![4, 6]), (vec![4, 0], vec![1, 6])]);
        assert_eq!(boxes(&[5, 6], &[2, 2], 8).len(), 6);
        assert_eq!(boxes(&[5, 6], &[2, 2], 8)[1], (vec![0, 4], vec![2, 2]));
        assert_eq!(boxes(&[5, 6], &[2, 2], 1).len(), 9);
        assert_eq!(boxes(&[5, 6], &[9, 9], 1), [(vec![0, 0], vec![5, 6])]);
        assert_eq!((boxes(&[], &[], 1).len(), boxes(&[3, 0], &[1, 1], 9).len()), (1, 0));
    }

    #[test]
    fn pieces_are_everything_once() {
        for most in 1..100 {
            let mut seen = [[[0; 7]; 5]; 4];
            for (start, count) in boxes(&[4, 5, 7], &[3, 2, 4], most) {
                assert!(start.iter().zip([3, 2, 4]).all(|(start, cell)| start % cell == 0));
                let [i, j, k]: [usize; 3] = start.try_into().unwrap();
                let planes = seen[i..i + count[0]].iter_mut().flat_map(|plane| &mut plane[j..j + count[1]]);
                planes.flat_map(|row| &mut row[k..k + count[2]]).for_each(|seen| *seen += 1);
            }
            assert!(seen.as_flattened().as_flattened().iter().all(|seen| *seen == 1), "{most}");
        }
    }
}
