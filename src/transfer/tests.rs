use super::*;
use crate::hyperslab::{Access, Hyperslab};
use crate::store::{Buffer, Fill, Filled, Lend, Lent};
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
    let slab = Hyperslab { start: Some(&start), count: Some(&count), stride: Some(&stride), both_ways: false };
    let plan = Plan::new(&variable, &slab, Access::Read)?;
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
