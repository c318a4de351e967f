//! Reading all that can be read.

use nczchunk::object::Storage;
use nczchunk::{Access, Array, ElementType, Hyperslab, Result, list};

use crate::{LARGEST_CHUNK, MOST_ELEMENTS};

/// Lists what is in a storage, and reads every array that is listed. How many could be read to their ends.
pub fn read_everything(storage: &Storage) -> usize {
    let Ok(nodes) = list(storage, "", true) else { return 0 };
    let mut num_read = 0;
    for node in nodes.iter().take(16) {
        for attribute in node.attributes() {
            check_attribute(attribute);
        }
        let _ = (node.error().map(ToString::to_string), node.shape(), node.chunk_shape(), node.shard_shape());
        let Ok(array) = Array::open_in(storage, node.name(), Access::Read) else { continue };
        num_read += usize::from(read_all(&array).is_ok());
    }
    num_read
}

fn check_attribute(attribute: &nczchunk::Attribute) {
    let _ = format!("{attribute:?}");
}

/// Asks an array for all that it tells, and reads its elements: the first of them, some of them, the last of them.
///
/// # Errors
/// Those of reading.
pub fn read_all(array: &Array) -> Result<()> {
    let variable = array.variable();
    for d in 0..=variable.rank() {
        let _ = (array.dimension_name(d), array.is_unlimited(d));
    }
    for attribute in array.attributes() {
        check_attribute(attribute);
    }
    let _ = (array.own_attributes_json(), array.codecs(), array.fill_value(), array.format());
    if variable.chunk_bytes() > LARGEST_CHUNK || variable.rank() > 16 {
        return Ok(());
    }
    let _ = array.stored_chunk_len(&vec![0; variable.rank()]);
    let lengths: Vec<usize> = variable.dimensions().iter().map(|dimension| dimension.len()).collect();
    let counts: Vec<usize> = lengths.iter().map(|len| (*len).min(40)).collect();
    if counts.iter().product::<usize>() > MOST_ELEMENTS {
        return Ok(());
    }
    let first = vec![0; lengths.len()];
    let last: Vec<usize> = lengths.iter().zip(&counts).map(|(len, count)| len - count).collect();
    let (middle, some): (Vec<usize>, Vec<usize>) =
        counts.iter().map(|count| (usize::from(*count > 2), if *count > 2 { count / 2 } else { *count })).unzip();
    read(array, &Hyperslab::new(&middle, &some))?;
    read(array, &Hyperslab::new(&first, &counts))?;
    read(array, &Hyperslab::new(&last, &counts))
}

fn read(array: &Array, slab: &Hyperslab<'_>) -> Result<()> {
    if *array.element_type() == ElementType::String {
        return array.read_strings(slab).map(drop);
    }
    // As bytes of that length, whatever they stand for.
    let (variable, store) = (array.variable(), array.store());
    match variable.element_size() {
        1 => nczchunk::read::<u8>(variable, store, slab).map(drop),
        2 => nczchunk::read::<u16>(variable, store, slab).map(drop),
        4 => nczchunk::read::<u32>(variable, store, slab).map(drop),
        8 => nczchunk::read::<u64>(variable, store, slab).map(drop),
        16 => nczchunk::read::<u128>(variable, store, slab).map(drop),
        3 => nczchunk::read::<[u8; 3]>(variable, store, slab).map(drop),
        5 => nczchunk::read::<[u8; 5]>(variable, store, slab).map(drop),
        20 => nczchunk::read::<[u8; 20]>(variable, store, slab).map(drop),
        _ => Ok(()),
    }
}
