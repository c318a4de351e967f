//! Carrying out a plan: for each chunk of it, fetch the chunk and move its box to memory.

use std::mem::MaybeUninit;

use crate::copy::{self, Axis, StridedCopy};
use crate::dims::{self, Dims};
use crate::error::{ErrorKind, Result};
use crate::memory::{self, Scratch};
use crate::plan::{Plan, Walk};
use crate::store::{self, Buffer, Fill, Lend, Lent, Loan, Reader, Store};
use crate::variable::{Dimension, Variable};

/// Reads what the plan selects into `out`, row-major and in native byte order; `out` has `plan.selected_bytes()` bytes.
///
/// Every touched chunk is asked for once, in the plan's order, and no other. After an error the bytes of `out` are
/// unspecified.
///
/// # Errors
/// `Argument` if `out` has another length, before any chunk is asked for. Otherwise the first error of a chunk, with its
/// indices: the reader's own (`Reader`), `ChunkLength`, `NoData`, `Decode`, `DecodedLength`, `OutOfMemory`.
pub fn read(variable: &Variable, plan: &Plan, store: &Store<'_>, out: &mut [u8]) -> Result<()> {
    // SAFETY: reading writes the bytes of chunks and fill values, which are initialised.
    #[allow(unsafe_code)]
    let out = unsafe { memory::as_uninit(out) };
    read_uninit(variable, plan, store, out)
}

/// [`read`], into memory that need not be initialised: on success all of it is.
pub fn read_uninit(variable: &Variable, plan: &Plan, store: &Store<'_>, out: &mut [MaybeUninit<u8>]) -> Result<()> {
    if out.len() != plan.selected_bytes() {
        return Err(ErrorKind::Argument("the output is not as long as the selection").into());
    }
    if plan.num_chunks() == 0 {
        return Ok(());
    }
    let mut mover = Mover::new(variable, plan, out)?;
    let mut walk = plan.walk()?;
    match &store.reader {
        Reader::Lending(lender) => mover.read_lent(&mut walk, lender.as_ref()),
        Reader::Filling(filler) => {
            let mut scratch = store.scratch.take();
            let result = mover.read_filled(&mut walk, filler.as_ref(), scratch.get_or_insert_default());
            if let Some(scratch) = scratch.filter(|scratch| scratch.capacity() > 0) {
                store.scratch.put(scratch);
            }
            result
        }
    }
    .map_err(|error| error.in_chunk(walk.chunk_indices()))
}

/// Moves one chunk after another between its own layout and the memory's.
struct Mover<'a> {
    variable: &'a Variable,
    plan: &'a Plan,
    out: &'a mut [MaybeUninit<u8>],
    /// Bytes from an element to the next along each dimension: in a chunk, and in memory.
    chunk_strides: Dims<usize>,
    memory_strides: Dims<usize>,
    /// The current box: its shape, and where its first element is on either side, in bytes.
    shape: Dims<usize>,
    chunk_offset: usize,
    memory_offset: usize,
    /// The copies prepared for boxes of this shape: from a stored chunk and, once needed, from the fill value.
    from_chunk: StridedCopy,
    from_fill_value: Option<StridedCopy>,
}

impl<'a> Mover<'a> {
    fn new(variable: &'a Variable, plan: &'a Plan, out: &'a mut [MaybeUninit<u8>]) -> Result<Self> {
        let size = variable.element_size();
        Ok(Mover {
            variable,
            plan,
            out,
            chunk_strides: row_major(size, variable.dimensions().iter().map(Dimension::chunklen))?,
            memory_strides: row_major(size, plan.dimensions().iter().map(|dimension| dimension.slice().count()))?,
            // No box has this shape, but that of a scalar, for which the copy is prepared.
            shape: dims::filled(variable.rank(), 0)?,
            chunk_offset: 0,
            memory_offset: 0,
            from_chunk: StridedCopy::new(size, variable.swapped_word(), std::iter::empty())?,
            from_fill_value: None,
        })
    }

    fn read_lent(&mut self, walk: &mut Walk<'_>, lender: &dyn Lend) -> Result<()> {
        while walk.more() {
            self.aim(walk)?;
            let loan = Loan::take(lender, walk.chunk_indices())?;
            match loan.lent {
                Lent::Chunk(bytes) => self.copy(bytes)?,
                Lent::Fill(bytes) => self.copy_fill_chunk(bytes)?,
                Lent::Absent => self.fill()?,
            }
            drop(loan);
            walk.advance();
        }
        Ok(())
    }

    fn read_filled(&mut self, walk: &mut Walk<'_>, filler: &dyn Fill, scratch: &mut Scratch) -> Result<()> {
        let chunk_bytes = self.variable.chunk_bytes();
        while walk.more() {
            self.aim(walk)?;
            if self.from_chunk.is_one_piece(chunk_bytes) {
                let mut buffer = Buffer::new(&mut self.out[self.memory_offset..][..chunk_bytes]);
                if !store::fetch(filler, walk.chunk_indices(), &mut buffer)? {
                    self.fill()?;
                } else if let Some(word) = self.variable.swapped_word() {
                    copy::swap_in_place(buffer.filled_mut(), word);
                }
            } else {
                let mut buffer = Buffer::new(memory::room(scratch, chunk_bytes)?);
                if store::fetch(filler, walk.chunk_indices(), &mut buffer)? {
                    self.copy(buffer.filled())?;
                } else {
                    self.fill()?;
                }
            }
            walk.advance();
        }
        Ok(())
    }

    /// Points at the box of the walk's current chunk. Boxes of the same shape share their prepared copies.
    fn aim(&mut self, walk: &Walk<'_>) -> Result<()> {
        (self.chunk_offset, self.memory_offset) = (0, 0);
        let mut same_shape = true;
        for (d, projection) in walk.projections().iter().enumerate() {
            self.chunk_offset += projection.first * self.chunk_strides[d];
            self.memory_offset += projection.iopos * self.memory_strides[d];
            same_shape &= self.shape[d] == projection.iocount;
            self.shape[d] = projection.iocount;
        }
        if !same_shape {
            self.from_chunk = self.prepare_from_chunk(self.variable.swapped_word())?;
            self.from_fill_value = None;
        }
        Ok(())
    }

    /// Copies the box from a stored chunk.
    fn copy(&mut self, chunk: &[u8]) -> Result<()> {
        check_length(chunk, self.variable)?;
        self.from_chunk.run(chunk, self.chunk_offset, self.out, self.memory_offset)
    }

    /// Copies the box from a chunk of fill values, which are in native byte order.
    fn copy_fill_chunk(&mut self, chunk: &[u8]) -> Result<()> {
        check_length(chunk, self.variable)?;
        self.prepare_from_chunk(None)?.run(chunk, self.chunk_offset, self.out, self.memory_offset)
    }

    /// Fills the box with the fill value.
    fn fill(&mut self) -> Result<()> {
        let copy = match self.from_fill_value.take() {
            Some(copy) => copy,
            None => self.prepare_from_fill_value()?,
        };
        copy.run(self.variable.fill_value().unwrap_or(&[0]), 0, self.out, self.memory_offset)?;
        self.from_fill_value = Some(copy);
        Ok(())
    }

    fn prepare_from_chunk(&self, swap: Option<usize>) -> Result<StridedCopy> {
        let axes = self.axes(|d| {
            // Where the product overflows, the box has one element along this dimension and the axis is dropped.
            let stride = self.plan.dimensions()[d].slice().stride();
            self.chunk_strides[d].checked_mul(stride).and_then(|stride| isize::try_from(stride).ok()).unwrap_or(0)
        });
        StridedCopy::new(self.variable.element_size(), swap, axes)
    }

    /// The same one element for the whole box or, without a fill value, the same byte of 0 for all bytes of every element.
    fn prepare_from_fill_value(&self) -> Result<StridedCopy> {
        let element_size = self.variable.element_size();
        match self.variable.fill_value() {
            Some(_) => StridedCopy::new(element_size, None, self.axes(|_| 0)),
            None => {
                let element = Axis { count: element_size, source: 0, destination: 1 };
                StridedCopy::new(1, None, std::iter::once(element).chain(self.axes(|_| 0)))
            }
        }
    }

    /// The axes of the current box, innermost first, with the given strides in the source.
    fn axes(&self, source: impl Fn(usize) -> isize) -> impl Iterator<Item = Axis> {
        (0..self.shape.len()).rev().map(move |d| Axis {
            count: self.shape[d],
            source: source(d),
            destination: self.memory_strides[d] as isize,
        })
    }
}

fn check_length(chunk: &[u8], variable: &Variable) -> Result<()> {
    let (found, expected) = (chunk.len(), variable.chunk_bytes());
    if found == expected { Ok(()) } else { Err(ErrorKind::ChunkLength { found, expected }.into()) }
}

/// The strides in bytes of a row-major array. That the whole array fits in memory was checked before.
fn row_major(
    element_size: usize,
    lens: impl DoubleEndedIterator<Item = usize> + ExactSizeIterator,
) -> Result<Dims<usize>> {
    let mut strides = dims::filled(lens.len(), 0)?;
    let mut stride = element_size;
    for (entry, len) in strides.iter_mut().rev().zip(lens.rev()) {
        *entry = stride;
        stride *= len;
    }
    Ok(strides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hyperslab::{Access, Hyperslab};
    use crate::store::Filled;
    use crate::variable::ByteOrder;

    /// 5 x 4 two-byte big-endian elements, value 10*row + column, in chunks of 2 x 3; chunk (1, 1) is absent.
    fn variable() -> Variable {
        let mut variable = Variable::new(&[5, 4], &[2, 3], 2).unwrap();
        variable.set_byte_order(ByteOrder::Big).unwrap();
        variable.set_fill_value(Some(&(-1i16).to_ne_bytes())).unwrap();
        variable
    }

    fn chunk(indices: &[isize]) -> Option<Vec<u8>> {
        let value = |i: isize, j: isize| (10 * (2 * indices[0] + i) + 3 * indices[1] + j) as i16;
        (indices != [1, 1]).then(|| (0..2).flat_map(|i| (0..3).flat_map(move |j| value(i, j).to_be_bytes())).collect())
    }

    struct Filling;

    impl Fill for Filling {
        fn fill(&self, indices: &[isize], buffer: &mut Buffer<'_>) -> Result<Filled> {
            let Some(bytes) = chunk(indices) else {
                return Ok(Filled::Absent);
            };
            buffer.write(&bytes);
            Ok(Filled::Stored(bytes.len()))
        }
    }

    struct Lending(Vec<Option<Vec<u8>>>);

    impl Lend for Lending {
        fn lend(&self, indices: &[isize]) -> Result<Lent<'_>> {
            let chunk = &self.0[(indices[0] * 2 + indices[1]) as usize];
            Ok(chunk.as_deref().map_or(Lent::Absent, Lent::Chunk))
        }
    }

    fn read_i16(store: &Store<'_>, start: [usize; 2], count: [usize; 2], stride: [isize; 2]) -> Result<Vec<i16>> {
        let variable = variable();
        let slab = Hyperslab::new(variable.dimlens(), Some(&start), Some(&count), Some(&stride), Access::Read)?;
        let plan = Plan::new(&variable, &slab)?;
        let mut out = vec![0; plan.selected_bytes()];
        read(&variable, &plan, store, &mut out)?;
        Ok(out.as_chunks().0.iter().map(|&bytes| i16::from_ne_bytes(bytes)).collect())
    }

    #[test]
    fn both_kinds_of_reader_give_the_same_values() {
        let lending = Lending((0..6).map(|i| chunk(&[i / 2, i % 2])).collect());
        for store in [Store::filling(Filling).unwrap(), Store::lending(lending).unwrap()] {
            assert_eq!(read_i16(&store, [1, 0], [2, 4], [2, 1]).unwrap(), [10, 11, 12, 13, 30, 31, 32, -1]);
            assert_eq!(read_i16(&store, [0, 0], [2, 3], [1, 1]).unwrap(), [0, 1, 2, 10, 11, 12]);
            assert_eq!(read_i16(&store, [2, 3], [2, 1], [1, 1]).unwrap(), [-1, -1]);
        }
    }

    #[test]
    fn an_error_names_its_chunk() {
        let mut chunks: Vec<_> = (0..6).map(|i| chunk(&[i / 2, i % 2])).collect();
        chunks[4] = Some(vec![0; 11]);
        let store = Store::lending(Lending(chunks)).unwrap();
        let error = read_i16(&store, [0, 0], [5, 4], [1, 1]).unwrap_err();
        assert_eq!(error.to_string(), "chunk (2, 0): the stored chunk has 11 bytes where 12 are due");
    }
}
