//! Zarr v3: `zarr.json`, written.

use super::axes::{order_of, row_major};
use super::codecs::CodecSpec;
use super::data_type::{self, extension};
use super::fill::Dialect;
use super::format::Format;
use super::metadata::{KeyEncoding, Metadata};
use super::write_fill;
use crate::alloc;
use crate::codec::Stage;
use crate::element::{ElementType, Elements};
use crate::error::{ErrorKind, Result};
use crate::json::{self, Value};
use crate::variable::Endian;

/// The text of an array's `zarr.json`.
///
/// # Errors
/// `Argument` for orders that are not each dimension once and a fill value that is not one element; `OutOfMemory`.
pub(crate) fn write_v3(metadata: &Metadata) -> Result<String> {
    let encoding = match metadata.keys.style {
        KeyEncoding::V2 => "v2",
        KeyEncoding::V3 => "default",
    };
    let separator = ("separator", Value::text_of(metadata.keys.separator.as_char())?);
    let encoding = extension(encoding, Value::object([separator])?)?;
    let dialect = Dialect { format: Format::V3, is_nczarr: false };
    let fill_value = write_fill::write(metadata.fill_value.as_deref(), metadata.element, dialect)?;
    let grid = chunk_grid(metadata)?;
    let mut document = Value::object([
        ("zarr_format", Value::number(3)?),
        ("node_type", Value::text("array")?),
        ("shape", Value::numbers(&metadata.shape)?),
        ("data_type", data_type::write(metadata.element)?),
        ("chunk_grid", grid),
        ("chunk_key_encoding", encoding),
        ("fill_value", fill_value),
        ("codecs", codecs(metadata)?),
        ("attributes", metadata.attributes.copied()?),
    ])?;
    if metadata.dimension_names.iter().any(Option::is_some) {
        let names = metadata.dimension_names.iter().map(Option::as_deref);
        document.push("dimension_names", Value::list(names.map(|name| name.map_or(Ok(Value::Null), Value::text)))?)?;
    }
    document.push("storage_transformers", Value::List(Vec::new()))?;
    json::indented(&document)
}

fn chunk_grid(metadata: &Metadata) -> Result<Value> {
    if metadata.chunk_runs.is_empty() {
        return extension("regular", Value::object([("chunk_shape", Value::numbers(&metadata.chunk_shape)?)])?);
    }
    let mut lists = Vec::new();
    for (runs, len) in metadata.chunk_runs.iter().zip(&metadata.chunk_shape) {
        let list = runs.iter().map(|run| match run.num_chunks {
            1 => Value::number(run.len),
            num_chunks => Value::numbers(&[run.len, num_chunks]),
        });
        alloc::push(&mut lists, if runs.is_empty() { Value::number(len)? } else { Value::list(list)? })?;
    }
    let configuration = [("kind", Value::text("inline")?), ("chunk_shapes", Value::List(lists))];
    extension("rectilinear", Value::object(configuration)?)
}

fn codecs(metadata: &Metadata) -> Result<Value> {
    let rank = metadata.shape.len();
    let mut list = Vec::new();
    let Some(shards) = &metadata.shards else {
        transpose(metadata.order.as_deref(), &mut list)?;
        add(&metadata.codecs, metadata, &mut list)?;
        return Ok(Value::List(list));
    };
    // The axes of the shard as it is sharded, and those of the elements in terms of them.
    let identity = row_major(rank)?;
    let outer = shards.index_order.as_deref().unwrap_or(&identity);
    let elements = metadata.order.as_deref().unwrap_or(&identity);
    let position = |axis| Ok(outer.iter().position(|of_shard| of_shard == axis).ok_or(WRONG)?);
    let inner_order = alloc::try_collected(elements.iter().map(position))?;
    let len = |&axis: &usize| Ok(*shards.inner.get(axis).ok_or(WRONG)?);
    let inner_shape = alloc::try_collected(outer.iter().map(len))?;
    let mut inner = Vec::new();
    transpose(order_of(inner_order).as_deref(), &mut inner)?;
    add(&shards.codecs, metadata, &mut inner)?;
    let mut index = Vec::new();
    alloc::push(&mut index, with_endian(shards.index_endian)?)?;
    if shards.index_checksum {
        alloc::push(&mut index, Value::object([("name", Value::text("crc32c")?)])?)?;
    }
    let configuration = Value::object([
        ("chunk_shape", Value::numbers(&inner_shape)?),
        ("codecs", Value::List(inner)),
        ("index_codecs", Value::List(index)),
        ("index_location", Value::text(if shards.index_at_start { "start" } else { "end" })?),
    ])?;
    transpose(shards.index_order.as_deref(), &mut list)?;
    alloc::push(&mut list, extension("sharding_indexed", configuration)?)?;
    add_all(&metadata.codecs, &mut list)?;
    Ok(Value::List(list))
}

const WRONG: ErrorKind = ErrorKind::Argument("an order of dimensions names each dimension once");

/// Adds the transposition for an order of axes, unless that is row-major.
fn transpose(order: Option<&[usize]>, list: &mut Vec<Value>) -> Result<()> {
    if let Some(order) = order {
        let configuration = Value::object([("order", Value::numbers(order)?)])?;
        alloc::push(list, extension("transpose", configuration)?)?;
    }
    Ok(())
}

/// Adds the codec that makes bytes of elements.
fn to_bytes(element: ElementType, endian: Endian, list: &mut Vec<Value>) -> Result<()> {
    let codec = match element {
        ElementType::String => extension("vlen-utf8", Value::Object(Vec::new()))?,
        _ if element.word_size() <= 1 => Value::object([("name", Value::text("bytes")?)])?,
        _ => with_endian(endian)?,
    };
    Ok(alloc::push(list, codec)?)
}

/// The codec `bytes` for words in this order.
fn with_endian(endian: Endian) -> Result<Value> {
    let is_big = endian.is_foreign() != cfg!(target_endian = "big");
    let name = if is_big { "big" } else { "little" };
    extension("bytes", Value::object([("endian", Value::text(name)?)])?)
}

/// Adds codecs, and what makes bytes of elements unless it is among them: behind those that make elements.
fn add(codecs: &[CodecSpec], metadata: &Metadata, list: &mut Vec<Value>) -> Result<()> {
    let is_of_elements = |codec: &CodecSpec| codec.stage().is_some_and(Stage::is_of_elements);
    let mut elements = Elements { element: metadata.element, endian: metadata.endian };
    let of_elements = codecs.iter().take_while(|codec| is_of_elements(codec)).count();
    let (before, behind) = codecs.split_at(of_elements);
    for codec in before {
        elements = codec.encoded(elements);
    }
    add_all(before, list)?;
    if behind.first().and_then(CodecSpec::stage) != Some(Stage::ToBytes) {
        to_bytes(elements.element, elements.endian, list)?;
    }
    add_all(behind, list)
}

fn add_all(codecs: &[CodecSpec], list: &mut Vec<Value>) -> Result<()> {
    for codec in codecs {
        alloc::push(list, codec.write_v3()?)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zarr::read_v3;

    fn document(codecs: &str) -> String {
        r#"{"zarr_format":3,"node_type":"array","shape":[8,9,3],"data_type":"float32","chunk_grid":{"name":"regular",
        "configuration":{"chunk_shape":[8,6,3]}},"chunk_key_encoding":{"name":"v2","configuration":{"separator":"."}},
        "fill_value":"NaN","codecs":CODECS,"attributes":{"x":NaN},"dimension_names":["z",null,"x"],
        "storage_transformers":[]}"#
            .replace("CODECS", codecs)
    }

    fn is_written_as_it_was(codecs: &str) {
        let text = document(codecs);
        let written = write_v3(&read_v3(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(json::read(written.as_bytes()).unwrap(), json::read(text.as_bytes()).unwrap());
    }

    #[test]
    fn chunks_are_written_as_they_were() {
        is_written_as_it_was(
            r#"[{"name":"transpose","configuration":{"order":[1,2,0]}},{"name":"bytes","configuration":
            {"endian":"big"}},{"name":"numcodecs.shuffle","configuration":{"elementsize":4}},{"name":"zstd",
            "configuration":{"level":3,
            "checksum":true}},{"name":"crc32c"}]"#,
        );
    }

    #[test]
    fn lists_of_lengths_are_written_as_they_were() {
        let text = document(r#"[{"name":"bytes","configuration":{"endian":"little"}}]"#).replace(
            r#"{"name":"regular",
        "configuration":{"chunk_shape":[8,6,3]}}"#,
            r#"{"name":"rectilinear","configuration":{"kind":"inline","chunk_shapes":[3,[[2,3],1,[1,4]],[3]]}}"#,
        );
        assert!(text.contains("rectilinear"));
        let metadata = read_v3(text.as_bytes()).unwrap();
        assert_eq!((metadata.chunk_shape.as_slice(), metadata.num_chunks(0)), (&[3, 2, 3][..], 3));
        assert_eq!((metadata.num_chunks(1), metadata.num_chunks(2)), (8, 1));
        let written = write_v3(&metadata).unwrap();
        assert_eq!(json::read(written.as_bytes()).unwrap(), json::read(text.as_bytes()).unwrap());
    }

    #[test]
    fn bytes_have_no_order() {
        let text = document(r#"[{"name":"bytes"}]"#).replace("float32", "int8").replace("\"NaN\"", "1");
        let written = write_v3(&read_v3(text.as_bytes()).unwrap()).unwrap();
        assert_eq!(json::read(written.as_bytes()).unwrap(), json::read(text.as_bytes()).unwrap());
    }

    #[test]
    fn shards_are_written_as_they_were() {
        is_written_as_it_was(
            r#"[{"name":"transpose","configuration":{"order":[1,2,0]}},{"name":"sharding_indexed","configuration":
            {"chunk_shape":[2,3,4],"codecs":[{"name":"transpose","configuration":{"order":[1,0,2]}},{"name":"bytes",
            "configuration":{"endian":"little"}},{"name":"gzip","configuration":{"level":6}}],"index_codecs":[{"name":
            "bytes","configuration":{"endian":"little"}},{"name":"crc32c"}],"index_location":"end"}},
            {"name":"crc32c"}]"#,
        );
        // An index without a checksum, at the start and big-endian.
        is_written_as_it_was(
            r#"[{"name":"sharding_indexed","configuration":{"chunk_shape":[4,3,3],"codecs":[{"name":"bytes",
            "configuration":{"endian":"little"}}],"index_codecs":[{"name":"bytes","configuration":{"endian":"big"}}],
            "index_location":"start"}}]"#,
        );
    }
}
