//! Elements whose places on either side follow no rule but a list.
#![allow(unsafe_code)]

use super::{Axis, Destination, Source};
use crate::error::{ErrorKind, Result};

/// Where an element of a list, or what begins there, is in a chunk and in memory: in steps of the [`List`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    pub in_chunk: usize,
    pub in_memory: usize,
}

/// Places, and how many bytes a step is on either side.
#[derive(Clone, Copy)]
pub struct List<'p> {
    places: &'p [Place],
    chunk_step: isize,
    memory_step: isize,
    /// The least and the greatest place in the chunk, and the greatest in memory.
    in_chunk: (usize, usize),
    most_in_memory: usize,
}

impl<'p> List<'p> {
    /// A list of at least one place.
    pub fn new(places: &'p [Place], chunk_step: isize, memory_step: isize) -> Self {
        let (mut least, mut most, mut most_in_memory) = (usize::MAX, 0, 0);
        for place in places {
            least = least.min(place.in_chunk);
            most = most.max(place.in_chunk);
            most_in_memory = most_in_memory.max(place.in_memory);
        }
        List { places, chunk_step, memory_step, in_chunk: (least, most), most_in_memory }
    }

    /// The same steps with other places.
    pub(crate) fn with_places<'o>(&self, places: &'o [Place]) -> List<'o> {
        List::new(places, self.chunk_step, self.memory_step)
    }

    pub(crate) fn places(&self) -> &'p [Place] {
        self.places
    }

    /// Bytes of a step in the chunk.
    pub(crate) fn chunk_step(&self) -> usize {
        self.chunk_step.unsigned_abs()
    }

    /// How many bytes of the chunk lie before the first place, and how many before the last.
    pub(crate) fn reach(&self) -> (usize, usize) {
        // Within a chunk no stride is negative.
        let bytes = |place: usize| place * self.chunk_step();
        (bytes(self.in_chunk.0), bytes(self.in_chunk.1))
    }

    /// How far a place is from the first one in the chunk and in memory, in bytes.
    #[inline(always)]
    fn at(&self, place: &Place) -> (isize, isize) {
        let bytes = |place: usize, step: isize| (place as isize).wrapping_mul(step);
        (bytes(place.in_chunk, self.chunk_step), bytes(place.in_memory, self.memory_step))
    }

    /// The offsets in the chunk and in memory of a place, from those of the first one.
    #[inline(always)]
    fn from(&self, (in_chunk, in_memory): (usize, usize), place: &Place) -> (usize, usize) {
        let (chunk_distance, memory_distance) = self.at(place);
        (in_chunk.wrapping_add_signed(chunk_distance), in_memory.wrapping_add_signed(memory_distance))
    }
}

/// Calls `one` with the offsets, in a chunk and in memory, of each combination of the lists' places; the first list is
/// the innermost.
pub fn for_each(
    lists: &[List<'_>],
    (in_chunk, in_memory): (usize, usize),
    one: &mut impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    let (mut lists, mut at) = (lists, (in_chunk, in_memory));
    while let Some((outer, inner)) = lists.split_last() {
        // Of a single place no call is nested, or a thousand dimensions would take a large stack.
        let [place] = outer.places else {
            return outer.places.iter().try_for_each(|place| for_each(inner, outer.from(at, place), one));
        };
        (lists, at) = (inner, outer.from(at, place));
    }
    one(at.0, at.1)
}

/// Calls `one` with the offsets, in a chunk and in memory, of each element of a box, whose axes lead from the chunk to
/// memory and come slowest first.
pub fn for_each_of_box(
    axes: &[Axis],
    (in_chunk, in_memory): (usize, usize),
    one: &mut impl FnMut(usize, usize) -> Result<()>,
) -> Result<()> {
    // As above: an axis of one element changes nothing.
    let nested = axes.iter().position(|axis| axis.count != 1).unwrap_or(axes.len());
    let Some((outer, inner)) = axes[nested..].split_first() else { return one(in_chunk, in_memory) };
    let distance = |i: usize, stride: isize| (i as isize).wrapping_mul(stride);
    (0..outer.count).try_for_each(|i| {
        let in_chunk = in_chunk.wrapping_add_signed(distance(i, outer.source));
        for_each_of_box(inner, (in_chunk, in_memory.wrapping_add_signed(distance(i, outer.destination))), one)
    })
}

/// Copies the elements of a list, of `size` bytes each, from a chunk to memory or, with `TO_CHUNK`, from memory to a
/// chunk, one after another. With `swap`, the bytes of every word of that size are reversed. Offsets are in bytes.
///
/// # Errors
/// `Internal` if an element does not lie within both regions. Then nothing is copied.
pub fn elements<const TO_CHUNK: bool>(
    list: &List<'_>,
    (size, swap): (usize, Option<usize>),
    (source, source_offset): (Source<'_>, usize),
    (destination, destination_offset): (&mut Destination<'_>, usize),
) -> Result<()> {
    // The first place of a side may lie before the region, if none of the list does.
    let fits = |offset: usize, step: isize, (least, most): (usize, usize), len: usize| {
        let bytes = |places: usize| isize::try_from(places).ok()?.checked_mul(step);
        let first = offset.wrapping_add_signed(bytes(least)?);
        let last = first.checked_add_signed(bytes(most - least)?)?;
        (first.max(last).checked_add(size)? <= len).then_some(())
    };
    let chunk = (list.chunk_step, list.in_chunk);
    let memory = (list.memory_step, (0, list.most_in_memory));
    let (from, to) = if TO_CHUNK { (memory, chunk) } else { (chunk, memory) };
    let are_inside = fits(source_offset, from.0, from.1, source.len())
        .and_then(|()| fits(destination_offset, to.0, to.1, destination.len()));
    are_inside.ok_or(ErrorKind::Internal)?;
    let (from, to) = (source.pointer().wrapping_add(source_offset), destination.pointer());
    let to = to.wrapping_add(destination_offset);
    let each = |copy: &dyn Fn(*const u8, *mut u8)| {
        list.places.iter().for_each(|place| {
            let (in_chunk, in_memory) = list.at(place);
            let (source, destination) = if TO_CHUNK { (in_memory, in_chunk) } else { (in_chunk, in_memory) };
            copy(from.wrapping_offset(source), to.wrapping_offset(destination));
        });
    };
    macro_rules! words {
        ($word:ty) => {
            for place in list.places {
                let (in_chunk, in_memory) = list.at(place);
                let (source, destination) = if TO_CHUNK { (in_memory, in_chunk) } else { (in_chunk, in_memory) };
                // SAFETY: no place is beyond the greatest one, and the elements from offset to that one lie within both
                // regions, which do not overlap because the destination is borrowed exclusively. The word has as many
                // bytes as an element and need not be aligned.
                unsafe {
                    let word = from.wrapping_offset(source).cast::<$word>().read_unaligned();
                    let word = if swap.is_some() { word.swap_bytes() } else { word };
                    to.wrapping_offset(destination).cast::<$word>().write_unaligned(word);
                }
            }
        };
    }
    match size {
        1 => words!(u8),
        2 if swap.is_none_or(|word| word == size) => words!(u16),
        4 if swap.is_none_or(|word| word == size) => words!(u32),
        8 if swap.is_none_or(|word| word == size) => words!(u64),
        16 if swap.is_none() => words!(u128),
        _ => each(&|from, to| {
            // SAFETY: as above, with elements of `size` bytes; what was written is initialised.
            let copied = unsafe {
                to.copy_from_nonoverlapping(from, size);
                std::slice::from_raw_parts_mut(to, size)
            };
            if let Some(word) = swap {
                super::swap_in_place(copied, word);
            }
        }),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(places: &[(usize, usize)]) -> Vec<Place> {
        places.iter().map(|&(in_chunk, in_memory)| Place { in_chunk, in_memory }).collect()
    }

    #[test]
    fn elements_of_every_size_go_both_ways_and_are_swapped() {
        let places = places(&[(3, 0), (0, 2), (3, 1), (5, 3)]);
        for size in [1usize, 2, 3, 4, 8, 12, 16] {
            for word in [None, Some(2), Some(4), Some(8)] {
                if word.is_some_and(|word| size % word != 0) {
                    continue;
                }
                let chunk: Vec<u8> = (0..6 * size as u8).collect();
                let list = List::new(&places, size as isize, size as isize);
                let mut memory = vec![0; 4 * size];
                elements::<false>(&list, (size, word), (chunk[..].into(), 0), (&mut (&mut memory[..]).into(), 0))
                    .unwrap();
                for place in &places {
                    let mut element = chunk[place.in_chunk * size..][..size].to_vec();
                    element.chunks_mut(word.unwrap_or(1)).for_each(|word| word.reverse());
                    assert_eq!(memory[place.in_memory * size..][..size], element, "{size} {word:?}");
                }
                let mut back = vec![0; 6 * size];
                elements::<true>(&list, (size, word), (memory[..].into(), 0), (&mut (&mut back[..]).into(), 0))
                    .unwrap();
                for place in &places {
                    assert_eq!(back[place.in_chunk * size..][..size], chunk[place.in_chunk * size..][..size]);
                }
            }
        }
    }

    #[test]
    fn the_last_place_of_a_chunks_element_wins_and_none_is_copied_beyond_either_side() {
        let list = places(&[(1, 0), (1, 2), (0, 1)]);
        let list = List::new(&list, 1, 1);
        let mut chunk = [0; 2];
        let copy = |memory: &[u8], chunk: &mut [u8], offset| {
            elements::<true>(&list, (1, None), (memory.into(), offset), (&mut chunk.into(), 0))
        };
        copy(&[7, 8, 9], &mut chunk, 0).unwrap();
        assert_eq!(chunk, [8, 9]);
        assert_eq!(copy(&[7, 8, 9], &mut chunk, 1).unwrap_err().kind(), ErrorKind::Internal);
        assert_eq!(copy(&[7, 8, 9], &mut chunk[..1], 0).unwrap_err().kind(), ErrorKind::Internal);
        // Towards the beginning of memory.
        let back = List { memory_step: -1, ..list };
        let mut memory = [0; 3];
        let backwards = |memory: &mut [u8], offset| {
            elements::<false>(&back, (1, None), ([5, 6][..].into(), 0), (&mut memory.into(), offset))
        };
        backwards(&mut memory, 2).unwrap();
        assert_eq!(memory, [6, 5, 6]);
        assert_eq!(backwards(&mut memory, 1).unwrap_err().kind(), ErrorKind::Internal);
    }
}
