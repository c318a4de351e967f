//! From an array's metadata to a variable and a store.

use super::chunks::{Chunks, Names};
use super::codecs::CodecSpec;
use super::make::make;
use super::metadata::{Metadata, Shards};
use super::shard::{IndexFormat, Layout, ShardCodec, ShardedChunks};
use crate::alloc;
use crate::codec::{Chain, Makers};
use crate::copy;
use crate::dataset::ElementType;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Place;
use crate::shared::Shared;
use crate::store::Store;
use crate::texts::{self, TextChunks};
use crate::variable::Variable;

/// The variable and the store of an array whose objects have these names. The variable of texts of any length has a
/// pointer to the metadata's fill value, so the metadata have to outlive it.
pub(crate) fn build(metadata: &Metadata, place: &Place, prefix: &str) -> Result<(Variable, Store<'static>)> {
    let is_scalar = metadata.is_scalar;
    let shape = if is_scalar { &[] } else { metadata.shape.as_slice() };
    let cells = if is_scalar { &[] } else { metadata.chunk_shape.as_slice() };
    let names = Names::new(prefix, metadata.keys.style())?;
    let chunks = Chunks { place: place.clone(), names };
    let codecs = Codecs { element: metadata.element, own: place.codecs() };
    if metadata.element == ElementType::String {
        return texts(metadata, (shape, cells), chunks, codecs);
    }
    match &metadata.shards {
        None => {
            let variable = variable(metadata, shape, cells)?;
            Ok((variable, codecs.add_to(Store::filling(chunks)?, &metadata.codecs)?))
        }
        Some(shards) => sharded(metadata, shards, (shape, cells), chunks, codecs),
    }
}

/// Codecs as an array's metadata have them, some of them the caller's own.
#[derive(Clone, Copy)]
struct Codecs<'a> {
    element: ElementType,
    own: &'a Makers,
}

impl Codecs<'_> {
    fn add_to(self, mut store: Store<'static>, codecs: &[CodecSpec]) -> Result<Store<'static>> {
        for codec in codecs {
            store.add_boxed_codec(make(codec, self.element, self.own)?)?;
        }
        Ok(store)
    }
}

/// An array of texts of any length. In shards they are only read.
fn texts(
    metadata: &Metadata,
    (shape, cells): (&[usize], &[usize]),
    chunks: Chunks,
    codecs: Codecs<'_>,
) -> Result<(Variable, Store<'static>)> {
    let (cells, bytes, unwritable) = match &metadata.shards {
        None => (cells, codecs.add_to(Store::filling(chunks)?, &metadata.codecs)?, None),
        Some(_) if !metadata.codecs.is_empty() => {
            let kind = ErrorKind::Unsupported("shards that are encoded once more, as a whole");
            return Err(Error::from(kind).in_object(metadata.element));
        }
        Some(shards) => {
            let layout = Shared::new(shard_layout(shards, cells)?.1)?;
            let store = Store::filling(ShardedChunks::new(chunks, layout))?;
            let unwritable = Some("writing texts of any length to shards");
            (shards.inner.as_slice(), codecs.add_to(store, &shards.codecs)?, unwritable)
        }
    };
    let mut variable = Variable::new(shape, cells, texts::ELEMENT)?;
    variable.set_copier(Some(texts::copier()));
    let fill_value: *const u8 = metadata.fill_value.as_deref().map_or(c"".as_ptr().cast(), <[u8]>::as_ptr);
    variable.set_fill_value(Some(&fill_value.expose_provenance().to_ne_bytes()))?;
    variable.set_chunk_order(metadata.order.as_deref().filter(|_| !shape.is_empty()))?;
    let count = variable.chunk_bytes() / texts::ELEMENT;
    Ok((variable, Store::lending(TextChunks::new(bytes, count, unwritable))?))
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
    codecs: Codecs<'_>,
) -> Result<(Variable, Store<'static>)> {
    let (counts, layout) = shard_layout(shards, cells)?;
    let layout = Shared::new(layout)?;
    let codec = shard_codec(metadata, shards, (&counts, &layout), codecs)?;
    if metadata.codecs.is_empty() {
        let mut variable = variable(metadata, shape, &shards.inner)?;
        variable.set_write_grid(Some(cells))?;
        let mut store = Store::filling(ShardedChunks::new(chunks, layout))?;
        store = codecs.add_to(store, &shards.codecs)?;
        store.add_write_codec(codec)?;
        return Ok((variable, store));
    }
    let mut store = Store::filling(chunks)?;
    store.add_codec(codec)?;
    Ok((variable(metadata, shape, cells)?, codecs.add_to(store, &metadata.codecs)?))
}

/// How many chunks a shard has along each dimension, and where in it they are.
fn shard_layout(shards: &Shards, cells: &[usize]) -> Result<(Dims<usize>, Layout)> {
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
    let layout = Layout::new(&counts, shards.index_order.as_deref(), index)?;
    Ok((counts, layout))
}

fn shard_codec(
    metadata: &Metadata,
    shards: &Shards,
    (counts, layout): (&[usize], &Shared<Layout>),
    codecs: Codecs<'_>,
) -> Result<ShardCodec> {
    let mut chain = Chain::default();
    for codec in &shards.codecs {
        chain.reserve()?;
        chain.push(make(codec, codecs.element, codecs.own)?);
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
