use super::*;
use crate::hyperslab::{Access, Hyperslab};
use crate::store::{Borrowed, Buffer, Fill, Filled, Lend, Lent};
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

/// Arrays large enough not to pass through the cache, with chunks and boxes that end anywhere in a line. Miri has no such
/// way, and little patience.
#[cfg(not(miri))]
mod large {
    use std::sync::Mutex;

    use super::*;

    const LENS: [usize; 2] = [2311, 2011];
    const CHUNKS: [usize; 2] = [500, 307];
    const GRID: [usize; 2] = [5, 7];
    const FILL: u32 = 0xF111_F111;

    fn variable(order: ByteOrder) -> Variable {
        let mut variable = Variable::new(&LENS, &CHUNKS, 4).unwrap();
        variable.set_byte_order(order).unwrap();
        variable.set_fill_value(Some(&FILL.to_ne_bytes())).unwrap();
        variable
    }

    /// Every third chunk is absent.
    fn value(place: [usize; 2]) -> u32 {
        let chunk = place[0] / CHUNKS[0] * GRID[1] + place[1] / CHUNKS[1];
        if chunk % 3 == 1 { FILL } else { (place[0] * LENS[1] + place[1]) as u32 }
    }

    fn to_bytes(value: u32, order: ByteOrder) -> [u8; 4] {
        if order == ByteOrder::Big { value.to_be_bytes() } else { value.to_ne_bytes() }
    }

    fn chunks(order: ByteOrder) -> Vec<Option<Vec<u8>>> {
        let chunk = |number: usize| {
            let base = [number / GRID[1] * CHUNKS[0], number % GRID[1] * CHUNKS[1]];
            let value = |i| value([base[0] + i / CHUNKS[1], base[1] + i % CHUNKS[1]]);
            (number % 3 != 1).then(|| (0..CHUNKS[0] * CHUNKS[1]).flat_map(|i| to_bytes(value(i), order)).collect())
        };
        (0..GRID[0] * GRID[1]).map(chunk).collect()
    }

    /// Chunks on loan.
    struct Kept(Vec<Option<Vec<u8>>>);

    impl Lend for Kept {
        fn lend(&self, chunk: &[isize]) -> Result<Lent<'_>> {
            let chunk = &self.0[chunk[0] as usize * GRID[1] + chunk[1] as usize];
            Ok(chunk.as_deref().map_or(Lent::Absent, Lent::Chunk))
        }
    }

    /// Chunks to be written, which were absent.
    struct Written(Mutex<Vec<Vec<u8>>>);

    impl Lend for &Written {
        fn lend(&self, _: &[isize]) -> Result<Lent<'_>> {
            Ok(Lent::Absent)
        }

        fn is_writable(&self) -> bool {
            true
        }

        fn change(&self, chunk: &[isize], _: bool, change: &mut dyn FnMut(Borrowed<'_>) -> Result<()>) -> Result<()> {
            change(Borrowed::New(&mut self.0.lock().unwrap()[chunk[0] as usize * GRID[1] + chunk[1] as usize]))
        }
    }

    #[test]
    fn reads_of_all_kinds() {
        let requests = [
            ([0, 0], [LENS[0], LENS[1]], [1, 1]),
            ([3, 5], [2300, 2003], [1, 1]),
            ([1, 0], [2311 - 1, 1005], [1, 2]),
            ([0, 1], [770, 2010], [3, 1]),
        ];
        for order in [ByteOrder::Native, ByteOrder::Big] {
            let (variable, store) = (variable(order), Store::lending(Kept(chunks(order))).unwrap());
            for (start, count, stride) in requests {
                let slab =
                    Hyperslab { start: Some(&start), count: Some(&count), stride: Some(&stride), both_ways: false };
                let plan = Plan::new(&variable, &slab, Access::Read).unwrap();
                // Lines begin between elements, or within them.
                for offset in [4, 1] {
                    let mut out = vec![0; plan.selected_bytes() + offset];
                    read(&variable, &plan, &store, &mut out[offset..]).unwrap();
                    for (e, bytes) in out[offset..].as_chunks().0.iter().enumerate() {
                        let at = |d: usize, k: usize| start[d] + k * stride[d] as usize;
                        let place = [at(0, e / count[1]), at(1, e % count[1])];
                        assert_eq!(u32::from_ne_bytes(*bytes), value(place), "{place:?} of {start:?} {stride:?}");
                    }
                }
            }
        }
    }

    /// Writes all of the array from memory of these strides and compares: place by place, the value that is expected there.
    fn check_write(order: ByteOrder, strides: [isize; 2], data: &[u32], expected: impl Fn([usize; 2]) -> u32) {
        let variable = variable(order);
        let written = Written(Mutex::new(vec![vec![0; variable.chunk_bytes()]; GRID[0] * GRID[1]]));
        let store = Store::lending(&written).unwrap();
        let slab = Hyperslab { start: Some(&[0, 0]), ..Default::default() };
        let plan = Plan::new(&variable, &slab, Access::Write).unwrap();
        let data: Vec<u8> = data.iter().copied().flat_map(u32::to_ne_bytes).collect();
        let layout = Layout::strided(&plan, &strides, 0, data.len()).unwrap();
        let transfer = Transfer { variable: &variable, plan: &plan, layout: &layout, store: &store, threads: 1 };
        transfer.write(data.as_slice().into(), &mut 0).unwrap();
        for (number, chunk) in written.0.lock().unwrap().iter().enumerate() {
            for (i, bytes) in chunk.as_chunks().0.iter().enumerate() {
                let place =
                    [number / GRID[1] * CHUNKS[0] + i / CHUNKS[1], number % GRID[1] * CHUNKS[1] + i % CHUNKS[1]];
                let is_inside = place[0] < LENS[0] && place[1] < LENS[1];
                let expected = to_bytes(if is_inside { expected(place) } else { FILL }, order);
                assert_eq!(*bytes, expected, "{place:?}, strides {strides:?}");
            }
        }
    }

    #[test]
    fn writes_to_chunks_on_loan() {
        for order in [ByteOrder::Native, ByteOrder::Big] {
            let data: Vec<u32> = (0..LENS[0] * LENS[1]).map(|e| value([e / LENS[1], e % LENS[1]])).collect();
            check_write(order, [4 * LENS[1] as isize, 4], &data, value);
            // Transposed; one value a row; one value a column.
            check_write(order, [4, 4 * LENS[0] as isize], &data, |[i, j]| data[j * LENS[0] + i]);
            check_write(order, [4, 0], &data[..LENS[0]], |[i, _]| data[i]);
            check_write(order, [0, 4], &data[..LENS[1]], |[_, j]| data[j]);
        }
    }
}
