//! From an array's metadata to a variable and a store.

use super::chunks::Names;
use super::codecs::{CodecSpec, Shards};
use super::make::make;
use super::metadata::Metadata;
use super::shard::{InShards, IndexFormat, Layout, ShardCodec};
use crate::alloc;
use crate::codec::{Chain, Codec, CodecRegistry};
use crate::copier::TextElement;
use crate::copy;
use crate::dims::{self, Dims};
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::fetch::{Locate, ObjectChunks};
use crate::object::Storage;
use crate::shared::Shared;
use crate::store::ChunkStore;
use crate::strings::{self, TextChunks};
use crate::variable::Variable;

/// The variable and the store of an array whose objects have these names.
pub(crate) fn build(metadata: &Metadata, storage: &Storage, prefix: &str) -> Result<(Variable, ChunkStore<'static>)> {
    let (variable, mut store) = with_store(metadata, storage, prefix)?;
    if metadata.element != ElementType::String {
        store.set_limit(storage.memory_limits().chunk());
    }
    Ok((variable, store))
}

/// The same, but for how much memory a chunk may take, if it is not one of texts.
fn with_store(metadata: &Metadata, storage: &Storage, prefix: &str) -> Result<(Variable, ChunkStore<'static>)> {
    let is_scalar = metadata.is_scalar;
    let shape = if is_scalar { &[] } else { metadata.shape.as_slice() };
    let cells = if is_scalar { &[] } else { metadata.chunk_shape.as_slice() };
    let names = Names::new(prefix, metadata.keys.style())?;
    let codecs = Codecs { metadata, own: storage.codecs() };
    if metadata.element == ElementType::String {
        return texts(metadata, (shape, cells), (storage, names), codecs);
    }
    match &metadata.shards {
        None => {
            let variable = variable(metadata, shape, cells)?;
            Ok((variable, codecs.add_to(store(storage, names)?, &metadata.codecs)?))
        }
        Some(shards) => sharded(metadata, shards, (shape, cells), (storage, names), codecs),
    }
}

/// The chunks of an array, without codecs.
fn store(storage: &Storage, locate: impl Locate + 'static) -> Result<ChunkStore<'static>> {
    ChunkStore::new(ObjectChunks::new(storage.clone(), locate))
}

/// Codecs as an array's metadata have them, some of them the caller's own.
#[derive(Clone, Copy)]
struct Codecs<'a> {
    metadata: &'a Metadata,
    own: &'a CodecRegistry,
}

impl Codecs<'_> {
    fn add_to(self, mut store: ChunkStore<'static>, codecs: &[CodecSpec]) -> Result<ChunkStore<'static>> {
        for codec in codecs {
            store.add_boxed_codec(self.make(codec)?)?;
        }
        Ok(store)
    }

    fn make(self, codec: &CodecSpec) -> Result<Box<dyn Codec>> {
        let CodecSpec::Shards(inner) = codec else { return make(codec, self.metadata.element, self.own) };
        let (counts, layout) = shard_layout(&inner.shards, &inner.shape)?;
        Ok(alloc::try_box(self.shard_codec(&inner.shards, &counts, &Shared::new(layout)?)?)?)
    }

    /// What makes a shard of the chunks within it.
    fn shard_codec(self, shards: &Shards, counts: &[usize], layout: &Shared<Layout>) -> Result<ShardCodec> {
        let mut chain = Chain::default();
        for codec in &shards.codecs {
            chain.reserve()?;
            chain.push(self.make(codec)?);
        }
        let order = match self.metadata.order.as_deref() {
            Some(order) => dims::copied(order.iter().copied())?,
            None => dims::copied(0..counts.len())?,
        };
        let fill_value = stored_fill_value(self.metadata)?;
        ShardCodec::new(layout.clone(), chain, fill_value, counts, &shards.inner, &order)
    }
}

/// An array of variable-length strings. In shards they are only read.
fn texts(
    metadata: &Metadata,
    (shape, cells): (&[usize], &[usize]),
    (storage, names): (&Storage, Names),
    codecs: Codecs<'_>,
) -> Result<(Variable, ChunkStore<'static>)> {
    let limit = storage.memory_limits().string_chunk();
    let (chunk_shape, mut bytes, unwritable) = match &metadata.shards {
        None => (cells, codecs.add_to(store(storage, names)?, &metadata.codecs)?, None),
        Some(_) if !metadata.codecs.is_empty() => {
            return Err(ErrorKind::Unsupported("codecs after sharding_indexed").in_object(metadata.element));
        }
        Some(shards) => {
            let layout = Shared::new(shard_layout(shards, cells)?.1)?;
            let store = store(storage, InShards::new(names, layout))?;
            let unwritable = Some("writing variable-length strings to shards");
            (shards.inner.as_slice(), codecs.add_to(store, &shards.codecs)?, unwritable)
        }
    };
    let mut variable = Variable::new(shape, chunk_shape, strings::ELEMENT)?;
    set_chunk_runs(metadata, &mut variable)?;
    if metadata.shards.is_some() {
        variable.set_write_grid(Some(cells))?;
    }
    let fill_value = metadata.fill_value.as_deref().map(alloc::copied).transpose()?;
    variable.set_texts(strings::copier(), TextElement::new(fill_value)?)?;
    variable.set_chunk_order(metadata.order.as_deref())?;
    bytes.set_limit(limit);
    Ok((variable, ChunkStore::lending_texts(TextChunks::new(bytes, unwritable))?))
}

/// Gives a variable the lists of chunk lengths of an array without shards.
fn set_chunk_runs(metadata: &Metadata, variable: &mut Variable) -> Result<()> {
    let mut lists = metadata.chunk_runs.iter().enumerate().filter(|(_, runs)| !runs.is_empty());
    lists.try_for_each(|(d, runs)| variable.set_chunk_runs(d, Some(runs)))
}

fn variable(metadata: &Metadata, shape: &[usize], chunklens: &[usize]) -> Result<Variable> {
    let mut variable = Variable::new(shape, chunklens, metadata.element.size())?;
    set_chunk_runs(metadata, &mut variable)?;
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
    (storage, names): (&Storage, Names),
    codecs: Codecs<'_>,
) -> Result<(Variable, ChunkStore<'static>)> {
    let (counts, layout) = shard_layout(shards, cells)?;
    let layout = Shared::new(layout)?;
    let codec = codecs.shard_codec(shards, &counts, &layout)?;
    if metadata.codecs.is_empty() {
        let mut variable = variable(metadata, shape, &shards.inner)?;
        variable.set_write_grid(Some(cells))?;
        let mut store = store(storage, InShards::new(names, layout))?;
        store = codecs.add_to(store, &shards.codecs)?;
        store.add_write_codec(codec)?;
        return Ok((variable, store));
    }
    let mut store = store(storage, names)?;
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

/// An element that nothing was written to, as it is stored.
fn stored_fill_value(metadata: &Metadata) -> Result<Vec<u8>> {
    let mut fill_value = match &metadata.fill_value {
        Some(value) => alloc::copied(value)?,
        None => alloc::filled(metadata.element.size(), 0)?,
    };
    if metadata.endian.is_foreign() {
        copy::swap_in_place(&mut fill_value, metadata.element.word_size());
    }
    Ok(fill_value)
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    use super::*;
    use crate::array::Array;
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::object::Memory;
    use crate::object::delayed::DelayedStorage;

    fn storage_of(objects: &[(&str, &[u8])]) -> Storage {
        let storage = Storage::new(Memory::new()).unwrap();
        objects.iter().for_each(|(name, bytes)| storage.write(name, bytes).unwrap());
        storage
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
            let storage = storage_of(&[(".zarray", text.as_bytes()), ("0", stored)]);
            Array::open_in(&storage, "", Access::Read).unwrap().read(&Hyperslab::all()).unwrap()
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
        let storage = storage_of(&[("zarr.json", text.as_bytes())]);
        let array = Array::open_in(&storage, "", Access::Write).unwrap();
        array.write(&Hyperslab::new(&[0], &[4]), &[258i16, 258, 259, 3]).unwrap();
        let stored = crate::object::read_whole(&*storage, "c/0", 1000).unwrap();
        assert_eq!(stored, Some(shard(&[1, 3, 0, 3])));
        let array = Array::open_in(&storage, "", Access::Read).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [258, 258, 259, 3, 258, 258]);
    }

    /// Shards of 8 by 6, of shards of 4 by 3, of chunks of 2 by 3, each transposed; in the shards the index of those
    /// within is at the start, and they are compressed.
    #[cfg(feature = "codecs")]
    #[test]
    fn shards_within_shards_are_read_and_written() {
        let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
        let shards = |shape: &str, codecs: &str, location: &str| {
            format!(
                r#"{{"name":"sharding_indexed","configuration":{{"chunk_shape":{shape},"codecs":[{codecs}],
                "index_codecs":[{{"name":"bytes","configuration":{{"endian":"big"}}}},"crc32c"],
                "index_location":"{location}"}}}}"#
            )
        };
        for (transposed, inner, innermost) in [("", "[4,3]", "[2,3]"), (",", "[3,4]", "[2,3]")] {
            let before = |codec: String| if transposed.is_empty() { codec } else { format!("{transpose},{codec}") };
            let chunks = before(shards(innermost, &format!("{BIG},\"gzip\""), "start"));
            let codecs = before(shards(inner, &format!("{chunks},\"gzip\""), "end"));
            let text = format!(
                r#"{{"zarr_format":3,"node_type":"array","shape":[9,11],"data_type":"int16","fill_value":7,
                "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":[8,6]}}}},
                "chunk_key_encoding":"default","codecs":[{codecs}]}}"#
            );
            let storage = storage_of(&[("zarr.json", text.as_bytes())]);
            let array = Array::open_in(&storage, "", Access::Write).unwrap();
            assert_eq!(array.variable().chunk_bytes(), 4 * 3 * 2);
            let mut due: Vec<i16> = (0..99).collect();
            array.write(&Hyperslab::all(), &due).unwrap();
            array.write(&Hyperslab::new(&[0, 0], &[4, 3]), &[7i16; 12]).unwrap();
            array.write(&Hyperslab::new(&[7, 2], &[2, 5]).with_stride(&[1, 2]), &[-1i16; 10]).unwrap();
            for row in 0..9 {
                for column in 0..11 {
                    if row < 4 && column < 3 {
                        due[row * 11 + column] = 7;
                    }
                    if row >= 7 && column >= 2 && column % 2 == 0 {
                        due[row * 11 + column] = -1;
                    }
                }
            }
            let array = Array::open_in(&storage, "", Access::Read).unwrap();
            assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), due);
            assert_eq!(array.read::<i16>(&Hyperslab::new(&[8, 3], &[1, 2])).unwrap(), due[91..93]);
            assert_eq!(array.codecs().unwrap()[0].0, "sharding_indexed");
            assert!(crate::object::read_whole(&*storage, "c/1/1", 10_000).unwrap().is_some());
        }
    }

    #[test]
    fn texts_are_read_from_shards() {
        let encoded = [&[2, 0, 0, 0, 1, 0, 0, 0][..], b"a", &[2, 0, 0, 0], b"bc"].concat();
        let open = |outer: &str, access| {
            let text = sharded("string", "\"none\"", "\"vlen-utf8\"", outer);
            Array::open_in(&storage_of(&[("zarr.json", text.as_bytes()), ("c/0", &shard(&encoded))]), "", access)
        };
        let array = open("", Access::Write).unwrap();
        assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), ["none", "none", "a", "bc", "none", "none"]);
        let error = array.write_strings(&Hyperslab::all(), &["x"; 6]).unwrap_err();
        let error_of_writing = ErrorKind::Unsupported("writing variable-length strings to shards");
        assert_eq!(error.kind(), error_of_writing);
        let error = open(r#","crc32c""#, Access::Read).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported("codecs after sharding_indexed"));

        // What is stored are the shards.
        assert_eq!([0, 1, 2].map(|chunk| array.chunk_object(&[chunk]).unwrap().unwrap()), ["c/0", "c/0", "c/1"]);
        let text = sharded("string", "\"none\"", "\"vlen-utf8\"", "");
        let storage =
            storage_of(&[("zarr.json", text.as_bytes()), ("c/0", &shard(&encoded)), ("c/1", &shard(&encoded))]);
        let mut array = Array::open_in(&storage, "", Access::Write).unwrap();
        let mut found = Vec::new();
        let mut one = |indices: &[isize]| {
            found.push(indices[0]);
            Ok(())
        };
        array.each_stored_object(&mut one).unwrap();
        found.sort_unstable();
        assert_eq!(found, [0, 1]);
        assert_eq!(array.resize(&[3]).unwrap_err().kind(), error_of_writing);
        array.resize(&[4]).unwrap();
        array.resize(&[8]).unwrap();
        let expected = ["none", "none", "a", "bc", "none", "none", "none", "none"];
        assert_eq!(array.read_strings(&Hyperslab::all()).unwrap(), expected);
        // A copy has no shards.
        let copy = array.describe(|same| Array::create_in(&storage_of(&[]), "copy", &same)).unwrap();
        copy.write_strings(&Hyperslab::all(), &["x"; 8]).unwrap();
    }

    #[test]
    fn stores_allow_what_their_storage_allows() {
        for is_concurrent in [false, true] {
            for text in [&sharded("int16", "0", BIG, "")[..], &sharded("int16", "0", BIG, r#","crc32c""#)] {
                let metadata = crate::zarr::read_v3(text.as_bytes()).unwrap();
                for is_writable in [false, true] {
                    let mut later = DelayedStorage::new();
                    (later.is_concurrent, later.is_writable) = (is_concurrent, is_writable);
                    let (_, store) = build(&metadata, &Storage::new(later).unwrap(), "").unwrap();
                    assert_eq!((store.is_concurrent(), store.is_writable()), (is_concurrent, is_writable));
                }
            }
        }
    }
}

/// Codecs that make elements of elements, and bytes of elements, in whole arrays.
#[cfg(all(test, feature = "codecs"))]
mod tests_of_elements {
    use crate::array::{Array, Description};
    use crate::element::{ElementType, Endian};
    use crate::error::{ErrorKind, Result};
    use crate::grid::Access;
    use crate::hyperslab::Hyperslab;
    use crate::object::{Memory, Storage, read_whole};

    /// An array of Zarr v3 with one chunk, which is stored as these bytes.
    fn of(data_type: &str, shape: &str, codecs: &str, stored: &[u8]) -> Result<Array> {
        let fill = if data_type == "bool" { "false" } else { "0" };
        let text = format!(
            r#"{{"zarr_format":3,"node_type":"array","shape":{shape},"data_type":"{data_type}","fill_value":{fill},
            "chunk_grid":{{"name":"regular","configuration":{{"chunk_shape":{shape}}}}},
            "chunk_key_encoding":{{"name":"v2","configuration":{{"separator":"/"}}}},"codecs":[{codecs}]}}"#
        );
        let storage = Storage::new(Memory::new()).unwrap();
        storage.write("zarr.json", text.as_bytes()).unwrap();
        let key = if shape.contains(',') { "0/0" } else { "0" };
        storage.write(key, stored).unwrap();
        Array::open_in(&storage, "", Access::Read)
    }

    const BIG: &str = r#"{"name":"bytes","configuration":{"endian":"big"}}"#;
    const LITTLE: &str = r#"{"name":"bytes","configuration":{"endian":"little"}}"#;

    #[test]
    fn the_byte_order_is_that_of_what_is_stored() {
        let delta = r#"{"name":"numcodecs.delta","configuration":{"dtype":"<i4","astype":"<i2"}}"#;
        for (bytes, stored) in [(BIG, [0, 7, 0, 1, 0xff, 0xfe]), (LITTLE, [7, 0, 1, 0, 0xfe, 0xff])] {
            let array = of("int32", "[3]", &format!("{delta},{bytes}"), &stored).unwrap();
            assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), [7, 8, 6]);
            assert_eq!(array.read::<i32>(&Hyperslab::new(&[1], &[1])).unwrap(), [8]);
        }
    }

    #[test]
    fn values_are_scaled_and_cast() {
        let scaled = r#"{"name":"scale_offset","configuration":{"offset":-5,"scale":10}}"#;
        let cast = r#"{"name":"cast_value","configuration":{"data_type":"uint8","rounding":"nearest-even"}}"#;
        let array = of("float64", "[3]", &format!("{scaled},{cast},\"bytes\""), &[0, 55, 255]).unwrap();
        assert_eq!(array.read::<f64>(&Hyperslab::all()).unwrap(), [-5.0, 0.5, 20.5]);
        // In a wider type than that of the elements: what does not fit is an error.
        let cast = r#"{"name":"cast_value","configuration":{"data_type":"int16"}}"#;
        let array = of("uint8", "[2]", &format!("{cast},{BIG}"), &[0, 255, 1, 0]).unwrap();
        assert_eq!(array.read::<u8>(&Hyperslab::new(&[0], &[1])).unwrap(), [255]);
        let error = array.read::<u8>(&Hyperslab::all()).unwrap_err();
        let reason = "a value is out of the range of the type";
        assert_eq!(error.kind(), ErrorKind::Corrupt { codec: "cast_value", reason });
        for (scaled, about) in [(r#"{"offset":1e999}"#, ".offset"), (r#"{"scale":0}"#, ""), (r#"{"x":1}"#, ".x")] {
            let codec = format!(r#"{{"name":"scale_offset","configuration":{scaled}}}"#);
            let error = of("int16", "[3]", &format!("{codec},{BIG}"), &[]).err().unwrap();
            assert_eq!(error.about(), format!("zarr.json: $.codecs[0].configuration{about}"));
        }
    }

    #[test]
    fn bits_are_unpacked() {
        let packed = |configuration: &str| format!(r#"{{"name":"packbits","configuration":{{{configuration}}}}}"#);
        let first = packed(r#""padding_encoding":"first_byte""#);
        let array = of("bool", "[10]", &first, &[6, 0b0110_0101, 0b10]).unwrap();
        assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), [1, 0, 1, 0, 0, 1, 1, 0, 0, 1]);
        assert_eq!(array.read::<u8>(&Hyperslab::new(&[5], &[2])).unwrap(), [1, 1]);
        let array = of("int4", "[3]", r#""packbits",{"name":"numcodecs.zlib"}"#, b"").unwrap();
        assert!(array.read::<i8>(&Hyperslab::all()).is_err());
        let array = of("int4", "[3]", "\"packbits\"", &[0x87, 0x0f]).unwrap();
        assert_eq!(array.read::<i8>(&Hyperslab::all()).unwrap(), [7, -8, -1]);
        let array = of("int16", "[4]", &packed(r#""first_bit":1,"last_bit":3"#), &[0b10_001_110, 0b1010]).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [-4, 2, 4, -6]);
        assert!(of("int16", "[4]", &packed(r#""first_bit":3,"last_bit":1"#), &[]).is_err());
        assert!(of("uint2", "[4]", &packed(r#""last_bit":2"#), &[]).is_err());
    }

    #[test]
    fn transpositions_go_with_codecs_of_each_element() {
        let round = r#"{"name":"bitround","configuration":{"keepbits":3}}"#;
        let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
        let delta = r#"{"name":"numcodecs.delta","configuration":{"dtype":"<f4"}}"#;
        let stored: Vec<u8> = (0..6u8).flat_map(|i| f32::from(i).to_be_bytes()).collect();
        for codecs in [format!("{round},{transpose},{BIG}"), format!("{transpose},{round},{BIG}")] {
            let array = of("float32", "[2,3]", &codecs, &stored).unwrap();
            assert_eq!(array.read::<f32>(&Hyperslab::all()).unwrap(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
        }
        assert!(of("float32", "[2,3]", &format!("{transpose},{delta},{BIG}"), &stored).is_ok());
        let error = of("float32", "[2,3]", &format!("{delta},{transpose},{BIG}"), &stored).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unsupported("a transposition after a codec that joins elements"));
    }

    #[test]
    fn reshaping_leaves_the_elements_where_they_are() {
        let of = |shape: &str, more: &str| {
            let codecs = format!(r#"{{"name":"reshape","configuration":{{"shape":{shape}}}}},{more}"bytes""#);
            of("uint8", "[2,6]", &codecs, &(0..12).collect::<Vec<u8>>())
        };
        for shape in ["[12]", "[-1,4]", "[[0,1]]", "[[0],3,-1]", "[1,[0],[1]]", "[4,3]", "[-1]"] {
            let array = of(shape, "").unwrap_or_else(|error| panic!("{shape}: {error}"));
            assert_eq!(array.read::<u8>(&Hyperslab::all()).unwrap(), (0..12).collect::<Vec<u8>>(), "{shape}");
        }
        for shape in ["[13]", "[-1,5]", "[-1,-1]", "[[1],[0]]", "[3,[0],-1]", "[[2]]", "[0]", "[-2]", "3", "[[0],6,2]"]
        {
            assert!(of(shape, "").is_err(), "{shape}");
        }
        assert!(of("[6,2]", r#"{"name":"transpose","configuration":{"order":[1,0]}},"#).is_err());
    }

    #[test]
    fn blocks_of_n5_are_read() {
        let transpose = r#"{"name":"transpose","configuration":{"order":[1,0]}}"#;
        let n5 = |codecs: &str| format!(r#"{{"name":"n5_default","configuration":{{"codecs":[{codecs}]}}}}"#);
        let header = [0, 0, 0, 2, 0, 0, 0, 2, 0, 0, 0, 3];
        let elements: Vec<u8> = [0i16, 10, 1, 11, 2, 12].iter().flat_map(|value| value.to_be_bytes()).collect();
        let stored = [&header[..], &elements].concat();
        let array = of("int16", "[2,3]", &n5(&format!("{transpose},{BIG}")), &stored).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [0, 1, 2, 10, 11, 12]);
        assert_eq!(array.codecs().unwrap()[0].0, "n5_default");
        // A block that ends before the chunk does.
        let short = [0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2];
        let zlib = crate::codec::testing::encoded(&crate::Zlib::default(), &[0, 5, 0, 6]);
        let codecs = n5(&format!(r#"{transpose},{BIG},"numcodecs.zlib""#));
        let array = of("int16", "[2,3]", &codecs, &[&short[..], &zlib].concat()).unwrap();
        assert_eq!(array.read::<i16>(&Hyperslab::all()).unwrap(), [5, 6, 0, 0, 0, 0]);
        assert_eq!(array.read::<i16>(&Hyperslab::new(&[0, 1], &[1, 1])).unwrap(), [6]);
        for codecs in [BIG, &format!("{transpose},{LITTLE}")[..], transpose, &format!("{transpose},{BIG},\"zfp\"")] {
            assert!(of("int16", "[2,3]", &n5(codecs), &stored).is_err(), "{codecs}");
        }
    }

    #[test]
    fn what_the_library_does_not_have_is_named() {
        for (codecs, about) in [
            (r#"{"name":"zfp","configuration":{"mode":"reversible"}}"#, "$.codecs[0]: zfp"),
            (r#""zfp","zstd""#, "$.codecs[0]: zfp"),
            (r#"{"name":"conditional","configuration":{}},"bytes""#, "$.codecs[0]: conditional"),
        ] {
            let error = of("uint8", "[3]", codecs, &[]).err().unwrap();
            let unknown = ErrorKind::Codec("unknown codec; add it with nczchunk_storage_add_codec");
            assert_eq!((error.kind(), error.about()), (unknown, &*format!("zarr.json: {about}")));
        }
    }

    #[test]
    fn arrays_are_created_with_codecs_of_elements() {
        let values: Vec<i32> = (0..12).map(|i| i * i - 20).collect();
        for endian in [Endian::Little, Endian::Big] {
            for codecs in [
                &[("delta", ""), ("zlib", "")][..],
                &[("scale_offset", r#"{"offset":5,"scale":3}"#)],
                &[("cast_value", r#"{"data_type":"int16"}"#), ("delta", r#"{"dtype":"<i2"}"#), ("zlib", "3")],
                &[("packbits", r#"{"first_bit":0,"last_bit":9}"#), ("zlib", "")],
            ] {
                let storage = Storage::new(Memory::new()).unwrap();
                let description = Description::new(&[3, 4], ElementType::Int).with_endian(endian).with_codecs(codecs);
                Array::create_in(&storage, "", &description).unwrap().write(&Hyperslab::all(), &values).unwrap();
                let array = Array::open_in(&storage, "", Access::Read).unwrap();
                assert_eq!(array.read::<i32>(&Hyperslab::all()).unwrap(), values, "{codecs:?}");
                assert!(read_whole(&*storage, "c/0/0", 1000).unwrap().is_some());
            }
        }
        let wrong = Description::new(&[3], ElementType::Int).with_codecs(&[("zlib", ""), ("delta", "")]);
        let error = Array::create_in(&Storage::new(Memory::new()).unwrap(), "", &wrong).err().unwrap();
        assert!(matches!(error.kind(), ErrorKind::Argument(_)));
    }
}
