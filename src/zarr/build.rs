//! From an array's metadata to a variable and a store.

use super::chunks::Names;
use super::codecs::CodecSpec;
use super::make::make;
use super::metadata::{Metadata, Shards};
use super::shard::{InShards, IndexFormat, Layout, ShardCodec};
use crate::alloc;
use crate::codec::{Chain, Makers};
use crate::copier::TextElement;
use crate::copy;
use crate::dims::{self, Dims};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::{Locate, ObjectChunks};
use crate::object::Place;
use crate::shared::Shared;
use crate::store::Store;
use crate::texts::{self, TextChunks};
use crate::variable::Variable;

/// The variable and the store of an array whose objects have these names.
pub(crate) fn build(metadata: &Metadata, place: &Place, prefix: &str) -> Result<(Variable, Store<'static>)> {
    let (variable, mut store) = with_store(metadata, place, prefix)?;
    if metadata.element != ElementType::String {
        store.set_limit(place.memory_limits().chunk());
    }
    Ok((variable, store))
}

/// The same, but for how much memory a chunk may take, if it is not one of texts.
fn with_store(metadata: &Metadata, place: &Place, prefix: &str) -> Result<(Variable, Store<'static>)> {
    let is_scalar = metadata.is_scalar;
    let shape = if is_scalar { &[] } else { metadata.shape.as_slice() };
    let cells = if is_scalar { &[] } else { metadata.chunk_shape.as_slice() };
    let names = Names::new(prefix, metadata.keys.style())?;
    let codecs = Codecs { element: metadata.element, own: place.codecs() };
    if metadata.element == ElementType::String {
        return texts(metadata, (shape, cells), (place, names), codecs);
    }
    match &metadata.shards {
        None => {
            let variable = variable(metadata, shape, cells)?;
            Ok((variable, codecs.add_to(store(place, names)?, &metadata.codecs)?))
        }
        Some(shards) => sharded(metadata, shards, (shape, cells), (place, names), codecs),
    }
}

/// The chunks of an array, without codecs.
fn store(place: &Place, locate: impl Locate + 'static) -> Result<Store<'static>> {
    Store::filling(ObjectChunks::new(place.clone(), locate))
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
    (place, names): (&Place, Names),
    codecs: Codecs<'_>,
) -> Result<(Variable, Store<'static>)> {
    let limit = place.memory_limits().string_chunk();
    let (cells, mut bytes, unwritable) = match &metadata.shards {
        None => (cells, codecs.add_to(store(place, names)?, &metadata.codecs)?, None),
        Some(_) if !metadata.codecs.is_empty() => {
            let kind = ErrorKind::Unsupported("shards that are encoded once more, as a whole");
            return Err(Error::from(kind).in_object(metadata.element));
        }
        Some(shards) => {
            let layout = Shared::new(shard_layout(shards, cells)?.1)?;
            let store = store(place, InShards::new(names, layout))?;
            let unwritable = Some("writing texts of any length to shards");
            (shards.inner.as_slice(), codecs.add_to(store, &shards.codecs)?, unwritable)
        }
    };
    let mut variable = Variable::new(shape, cells, texts::ELEMENT)?;
    let fill_value = metadata.fill_value.as_deref().map(alloc::copied).transpose()?;
    variable.set_texts(texts::copier(), TextElement::new(fill_value)?)?;
    variable.set_chunk_order(metadata.order.as_deref())?;
    let count = variable.chunk_bytes() / texts::ELEMENT;
    bytes.set_limit(limit);
    Ok((variable, Store::lending_texts(TextChunks::new(bytes, count, unwritable))?))
}

fn variable(metadata: &Metadata, shape: &[usize], chunklens: &[usize]) -> Result<Variable> {
    let mut variable = Variable::new(shape, chunklens, metadata.element.size())?;
    let word = metadata.element.word_size();
    if word > 0 {
        variable.set_word_size(word)?;
        variable.set_endian(metadata.endian)?;
    }
    variable.set_fill_value(metadata.fill_value.as_deref())?;
    variable.set_chunk_order(metadata.order.as_deref())?;
    Ok(variable)
}

/// An array in shards: read by the chunks within them and written by shards. Shards that are encoded once more, as a
/// whole, have to be decoded as a whole; they are read by shards, too.
fn sharded(
    metadata: &Metadata,
    shards: &Shards,
    (shape, cells): (&[usize], &[usize]),
    (place, names): (&Place, Names),
    codecs: Codecs<'_>,
) -> Result<(Variable, Store<'static>)> {
    let (counts, layout) = shard_layout(shards, cells)?;
    let layout = Shared::new(layout)?;
    let codec = shard_codec(metadata, shards, (&counts, &layout), codecs)?;
    if metadata.codecs.is_empty() {
        let mut variable = variable(metadata, shape, &shards.inner)?;
        variable.set_write_grid(Some(cells))?;
        let mut store = store(place, InShards::new(names, layout))?;
        store = codecs.add_to(store, &shards.codecs)?;
        store.add_write_codec(codec)?;
        return Ok((variable, store));
    }
    let mut store = store(place, names)?;
    store.add_codec(codec)?;
    Ok((variable(metadata, shape, cells)?, codecs.add_to(store, &metadata.codecs)?))
}

/// How many chunks a shard has along each dimension, and where in it they are.
fn shard_layout(shards: &Shards, cells: &[usize]) -> Result<(Dims<usize>, Layout)> {
    // The metadata's reader, or the description, has seen to it that they divide the shard.
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
    if metadata.endian.is_foreign() {
        copy::swap_in_place(&mut fill_value, metadata.element.word_size());
    }
    Ok(fill_value)
}

#[cfg(all(test, feature = "crc32c"))]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::object::Memory;
    use crate::object::later::Later;

    fn place_of(objects: &[(&str, &[u8])]) -> Place {
        let place = Place::new(Memory::new()).unwrap();
        objects.iter().for_each(|(name, bytes)| place.write(name, bytes).unwrap());
        place
    }

    #[test]
    fn words_are_read_in_the_order_that_is_stored() {
        fn read<const N: usize>(dtype: &str, stored: &[u8]) -> Vec<[u8; N]>
        where
            [u8; N]: crate::Element,
        {
            let text = format!(
                r#"{{"zarr_format":2,"shape":[2],"chunks":[2],"dtype":"{dtype}","fill_value":null,"order":"C",
                "filters":null,"compressor":null}}"#
            );
            let place = place_of(&[(".zarray", text.as_bytes()), ("0", stored)]);
            Array::open_in(&place, "", Access::Read).unwrap().read(&Hyperslab::all()).unwrap()
        }
        let stored: Vec<u8> = (0..16).collect();
        let native = |big: &[u8]| {
            let mut bytes = big.to_vec();
            if cfg!(target_endian = "little") {
                bytes.reverse();
            }
            bytes
        };
        assert_eq!(read::<2>(">i2", &stored[..4]).concat(), [native(&[0, 1]), native(&[2, 3])].concat());
        assert_eq!(read::<8>(">f8", &stored).concat(), [native(&stored[..8]), native(&stored[8..])].concat());
        let parts: Vec<Vec<u8>> = stored.chunks(4).map(native).collect();
        assert_eq!(read::<8>(">c8", &stored).concat(), parts.concat());
        assert_eq!(read::<8>(">U2", &stored).concat(), parts.concat());
        for dtype in ["|S8", "|V8"] {
            assert_eq!(read::<8>(dtype, &stored).concat(), stored, "{dtype}");
        }
    }

    /// An array of 6 elements in shards of 4 and chunks of 2, with a codec for the whole shard or none.
    fn sharded(data_type: &str, fill_value: &str, inner: &str, outer: &str) -> String {
        format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":[6],"data_type":"{data_type}","fill_value":{fill_value},
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[4]}}}},"chunk_key_encoding":"default",
            "codecs":[{{"name":"sharding_indexed","configuration":{{"chunk_shape":[2],"codecs":[{inner}],
            "index_codecs":[{{"name":"bytes","configuration":{{"endian":"little"}}}}]}}}}{outer}]}}"#
        )
    }

    const BIG: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;

    /// A shard that has its second chunk only.
    fn shard(chunk: &[u8]) -> Vec<u8> {
        let mut bytes = chunk.to_vec();
        for number in [u64::MAX, u64::MAX, 0, chunk.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes
    }

    #[test]
    fn chunks_of_fill_values_are_not_in_shards() {
        let text = sharded("int16", "258", BIG, "");
        let place = place_of(&[("zarr.json", text.as_bytes())]);
        let array = Array::open_in(&place, "", Access::Write).unwrap();
        array.write(&Hyperslab::new(&[0], &[4]), &[258i16, 258, 259, 3]).unwrap();
        let stored = crate::object::read_whole(&*place, "c/0", 1000).unwrap();
        assert_eq!(stored, Some(shard(&[1, 3, 0, 3])));
        let array = Array::open_in(&place, "", Access::Read).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [258, 258, 259, 3, 258, 258]);
    }

    #[test]
    fn texts_are_read_from_shards() {
        let encoded = [&[2, 0, 0, 0, 1, 0, 0, 0][..], b"a", &[2, 0, 0, 0], b"bc"].concat();
        let open = |outer: &str, access| {
            let text = sharded("string", "\"none\"", "\"vlen-utf8\"", outer);
            Array::open_in(&place_of(&[("zarr.json", text.as_bytes()), ("c/0", &shard(&encoded))]), "", access)
        };
        let array = open("", Access::Write).unwrap();
        assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), ["none", "none", "a", "bc", "none", "none"]);
        let error = array.write_strings(&Hyperslab::all(), &["x"; 6]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported("writing texts of any length to shards"));
        let error = open(r#","crc32c""#, Access::Read).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported("shards that are encoded once more, as a whole"));
    }

    #[test]
    fn stores_allow_what_their_place_allows() {
        for is_concurrent in [false, true] {
            for text in [&sharded("int16", "0", BIG, "")[..], &sharded("int16", "0", BIG, r#","crc32c""#)] {
                let metadata = crate::zarr::read_v3(text.as_bytes()).unwrap();
                for is_writable in [false, true] {
                    let mut later = Later::new();
                    (later.is_concurrent, later.is_writable) = (is_concurrent, is_writable);
                    let (_, store) = build(&metadata, &Place::new(later).unwrap(), "").unwrap();
                    assert_eq!((store.is_concurrent(), store.is_writable()), (is_concurrent, is_writable));
                }
            }
        }
    }
}
