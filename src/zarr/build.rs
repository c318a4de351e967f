//! From an array's metadata to a variable and a store.

use super::chunks::{Chunks, Names};
use super::make::make;
use super::metadata::{Metadata, Shards};
use super::shard::{IndexFormat, Layout, ShardCodec, ShardedChunks};
use crate::alloc;
use crate::codec::Chain;
use crate::copy;
use crate::dataset::ElementType;
use crate::dims;
use crate::error::{Error, ErrorKind, Result};
use crate::object::Place;
use crate::shared::Shared;
use crate::store::Store;
use crate::variable::Variable;

/// The variable and the store of an array whose objects have these names. Texts of any length are refused.
pub(crate) fn build(metadata: &Metadata, place: &Place, prefix: &str) -> Result<(Variable, Store<'static>)> {
    if metadata.element == ElementType::String {
        return Err(Error::from(ErrorKind::ElementType).in_object(metadata.element));
    }
    let is_scalar = metadata.is_scalar;
    let shape = if is_scalar { &[] } else { metadata.shape.as_slice() };
    let cells = if is_scalar { &[] } else { metadata.chunk_shape.as_slice() };
    let names = Names::new(prefix, metadata.keys.style())?;
    let chunks = Chunks { place: place.clone(), names };
    match &metadata.shards {
        None => {
            let variable = variable(metadata, shape, cells)?;
            let mut store = Store::filling(chunks)?;
            for codec in &metadata.codecs {
                store.add_boxed_codec(make(codec)?)?;
            }
            Ok((variable, store))
        }
        Some(shards) => sharded(metadata, shards, (shape, cells), chunks),
    }
}

fn variable(metadata: &Metadata, shape: &[usize], chunklens: &[usize]) -> Result<Variable> {
    let mut variable = Variable::new(shape, chunklens, metadata.element.size())?;
    let word = metadata.element.word_size();
    if word > 0 {
        variable.set_word_size(word)?;
        variable.set_endian(metadata.endian)?;
    }
    variable.set_fill_value(metadata.fill_value.as_deref())?;
    // A scalar has one order only.
    variable.set_chunk_order(metadata.order.as_deref().filter(|_| !shape.is_empty()))?;
    Ok(variable)
}

/// An array in shards: read by the chunks within them and written by shards. Shards that are encoded once more, as a
/// whole, have to be decoded as a whole; they are read by shards, too.
fn sharded(
    metadata: &Metadata,
    shards: &Shards,
    (shape, cells): (&[usize], &[usize]),
    chunks: Chunks,
) -> Result<(Variable, Store<'static>)> {
    if shards.inner.len() != cells.len()
        || cells.iter().zip(&shards.inner).any(|(cell, len)| *len == 0 || cell % len != 0)
    {
        return Err(ErrorKind::Metadata("a shard is not a whole number of chunks").into());
    }
    let counts = dims::copied(cells.iter().zip(&shards.inner).map(|(cell, len)| cell / len))?;
    let index = IndexFormat {
        at_start: shards.index_at_start,
        endian: shards.index_endian,
        has_checksum: shards.index_checksum,
    };
    let layout = Shared::new(Layout::new(&counts, shards.index_order.as_deref(), index)?)?;
    let codec = shard_codec(metadata, shards, &counts, &layout)?;
    if metadata.codecs.is_empty() {
        let mut variable = variable(metadata, shape, &shards.inner)?;
        variable.set_write_grid(Some(cells))?;
        let mut store = Store::filling(ShardedChunks::new(chunks, layout))?;
        for codec in &shards.codecs {
            store.add_boxed_codec(make(codec)?)?;
        }
        store.add_write_codec(codec)?;
        return Ok((variable, store));
    }
    let mut store = Store::filling(chunks)?;
    store.add_codec(codec)?;
    for codec in &metadata.codecs {
        store.add_boxed_codec(make(codec)?)?;
    }
    Ok((variable(metadata, shape, cells)?, store))
}

fn shard_codec(metadata: &Metadata, shards: &Shards, counts: &[usize], layout: &Shared<Layout>) -> Result<ShardCodec> {
    let mut chain = Chain::default();
    for codec in &shards.codecs {
        chain.reserve()?;
        chain.push(make(codec)?);
    }
    let order = match metadata.order.as_deref() {
        Some(order) => dims::copied(order.iter().copied())?,
        None => dims::copied(0..counts.len())?,
    };
    ShardCodec::new(layout.clone(), chain, stored_fill_value(metadata)?, counts, &shards.inner, &order)
}

/// An element that nothing was written to, as it is stored.
fn stored_fill_value(metadata: &Metadata) -> Result<Vec<u8>> {
    let size = metadata.element.size();
    let mut fill_value = match &metadata.fill_value {
        Some(value) => alloc::copied(value)?,
        None => {
            let mut zeros = Vec::new();
            zeros.try_reserve_exact(size).map_err(|_| ErrorKind::OutOfMemory)?;
            zeros.resize(size, 0);
            zeros
        }
    };
    let word = metadata.element.word_size();
    if word > 1 && metadata.endian.is_foreign() {
        copy::swap_in_place(&mut fill_value, word);
    }
    Ok(fill_value)
}
