//! Zarr v3: the `zarr.json` of an array.
//!
//! The source is <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html> and, for the codecs, the
//! specifications below it. An extension may be an object or its name alone.

use super::codecs::{self, CodecSpec};
use super::data_type::{self, DataType};
use super::fill::Dialect;
use super::format::Format;
use super::metadata::{KeyEncoding, Keys, Metadata, Shards, order_of, row_major};
use super::nczarr;
use super::v2::{chunk_lengths, falses, separator};
use crate::alloc;
use crate::codec::Stage;
use crate::dims::check_rank;
use crate::element::{ElementType, Elements};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::key::Separator;
use crate::variable::Endian;

/// Reads the text of `zarr.json`.
///
/// # Errors
/// `NotAnArray` for a group; `Metadata`, `Unsupported`, `Codec` and `ElementType` about a place in the document;
/// `Rank`, `OutOfMemory`.
pub(crate) fn read_v3(text: &[u8]) -> Result<Metadata> {
    v3_of_value(&json::read(text).map_err(|error| error.in_object("zarr.json"))?)
}

/// As [`read_v3`], from a document that has been read.
pub(crate) fn v3_of_value(document: &Value) -> Result<Metadata> {
    read(&At::root(document)).map_err(|error| error.in_object("zarr.json"))
}

/// The keys that the specification has, and zarr-python's `consolidated_metadata`.
const KEYS: [&str; 12] = [
    "zarr_format",
    "node_type",
    "shape",
    "data_type",
    "chunk_grid",
    "chunk_key_encoding",
    "fill_value",
    "codecs",
    "attributes",
    "dimension_names",
    "storage_transformers",
    "consolidated_metadata",
];

fn read(document: &At<'_>) -> Result<Metadata> {
    if !is_array(document)? {
        return Err(ErrorKind::NotAnArray.into());
    }
    check_keys(document)?;
    if let Some(transformers) = document.given("storage_transformers") {
        if transformers.items()?.len() > 0 {
            return Err(transformers.unsupported("storage transformers"));
        }
    }
    let shape = document.require("shape")?.usizes()?;
    let rank = shape.len();
    check_rank(rank)?;
    let chunk_shape = chunk_shape(&document.require("chunk_grid")?, rank)?;
    let data_type = data_type::read(document.require("data_type")?)?;
    let element = data_type.element;
    let chain = chain(&document.require("codecs")?, &chunk_shape, &data_type, false)?;
    let (attributes, attributes_error) = match document.given("attributes") {
        Some(attributes) => match attributes.check_object() {
            Ok(()) => (attributes.value().copied()?, None),
            Err(error) => (Value::Object(Vec::new()), Some(error.in_object("zarr.json"))),
        },
        None => (Value::Object(Vec::new()), None),
    };
    let dialect = Dialect { format: Format::V3, is_nczarr: false };
    let fill_value = data_type.fill_value(document.require("fill_value")?, dialect)?;
    let dimension_names = dimension_names(document, rank)?;
    let (order, shards) = match chain.shards {
        Some((order, shards)) => (order, Some(shards)),
        None => (order_of(chain.order), None),
    };
    Ok(Metadata {
        format: Format::V3,
        is_nczarr: nczarr::find(&[At::root(&attributes)], &nczarr::ARRAY).is_some(),
        shape,
        unlimited: falses(rank)?,
        chunk_shape,
        element,
        endian: chain.endian,
        order,
        fill_value,
        keys: keys(&document.require("chunk_key_encoding")?)?,
        codecs: chain.codecs,
        shards,
        dimension_names,
        dimension_references: Vec::new(),
        attributes,
        attributes_error,
        is_scalar: false,
    })
}

/// Whether the document, which is of Zarr v3, is an array's; else it is a group's.
pub(super) fn is_array(document: &At<'_>) -> Result<bool> {
    let version = document.require("zarr_format")?;
    if version.value().as_str().is_some() {
        return Err(version.unsupported("the draft of Zarr v3 of 2021"));
    }
    if version.usize()? != 3 {
        return Err(version.malformed("3 is due"));
    }
    let node = document.require("node_type")?;
    match node.text()? {
        "array" => Ok(true),
        "group" => Ok(false),
        _ => Err(node.malformed("a node is an array or a group")),
    }
}

/// Refuses keys that have to be understood.
pub(super) fn check_keys(document: &At<'_>) -> Result<()> {
    for (name, at) in document.members()? {
        let is_optional = at.value().get("must_understand") == Some(&Value::Bool(false));
        if !is_optional && *at.value() != Value::Null && !KEYS.contains(&name) {
            return Err(at.unsupported("an extension that has to be understood"));
        }
    }
    Ok(())
}

/// The name of an extension, and its configuration if it has one.
fn extension<'a>(at: &'a At<'_>) -> Result<(&'a str, Option<At<'a>>)> {
    match at.value() {
        Value::Text(name) => Ok((name, None)),
        _ => Ok((at.require("name")?.text()?, at.given("configuration"))),
    }
}

/// The configuration of an extension, which needs one.
fn configured<'a>(at: &At<'_>, configuration: Option<At<'a>>) -> Result<At<'a>> {
    configuration.ok_or_else(|| at.malformed("a configuration is missing"))
}

fn chunk_shape(grid: &At<'_>, rank: usize) -> Result<Vec<usize>> {
    match extension(grid)? {
        ("regular", configuration) => chunk_lengths(&configured(grid, configuration)?.require("chunk_shape")?, rank),
        (name, _) => Err(grid.error(Error::from(ErrorKind::Unsupported("the chunk grid")).in_object(name))),
    }
}

fn keys(encoding: &At<'_>) -> Result<Keys> {
    let (name, configuration) = extension(encoding)?;
    let (style, default) = match name {
        "default" => (KeyEncoding::V3, Separator::Slash),
        "v2" => (KeyEncoding::V2, Separator::Dot),
        _ => {
            return Err(encoding.error(Error::from(ErrorKind::Unsupported("the chunk key encoding")).in_object(name)));
        }
    };
    let separator = configuration.map_or(Ok(default), |at| separator(&at, default, "separator"))?;
    Ok(Keys { style, separator })
}

fn dimension_names(document: &At<'_>, rank: usize) -> Result<Vec<Option<String>>> {
    let mut names = Vec::new();
    match document.given("dimension_names") {
        Some(given) => {
            for name in given.items()? {
                let name = if *name.value() == Value::Null { None } else { Some(alloc::text(name.text()?)?) };
                alloc::push(&mut names, name)?;
            }
            if names.len() != rank {
                return Err(given.malformed("one name per dimension is due"));
            }
        }
        None => {
            for _ in 0..rank {
                alloc::push(&mut names, None)?;
            }
        }
    }
    Ok(names)
}

/// What a list of codecs says.
struct Chain {
    /// The array's axes from the slowest to the fastest of what the codec that makes bytes is given.
    order: Vec<usize>,
    endian: Endian,
    codecs: Vec<CodecSpec>,
    /// The order of the elements in inner chunks, and the rest.
    shards: Option<(Option<Vec<usize>>, Shards)>,
}

/// Reads a list of codecs: those that make elements of elements, such as transpositions, then one that makes bytes,
/// then those that turn bytes into bytes. `chunk` is the shape of what is encoded, in the array's axes.
///
/// Codecs that are none of the library's may come before the one that makes bytes. They turn elements into elements; in
/// the machine's byte order that is the same as if they came behind what makes bytes.
fn chain(list: &At<'_>, chunk: &[usize], data_type: &DataType, is_inner: bool) -> Result<Chain> {
    let mut elements = Elements { element: data_type.element, endian: Endian::Native };
    let mut chain = Chain { order: row_major(chunk.len())?, endian: Endian::Native, codecs: Vec::new(), shards: None };
    let mut has_bytes = false;
    for codec in list.items()? {
        let (name, configuration) = extension(&codec)?;
        let known = codecs::read_v3(name, configuration.as_ref(), elements).map_err(|error| match configuration {
            Some(_) => error,
            None => codec.error(error),
        })?;
        if let Some(known) = known {
            match (known.stage(), has_bytes) {
                (Stage::Bytes, false) => return Err(codec.malformed("this codec comes before one that makes bytes")),
                (Stage::Bytes, true) => {}
                (_, true) => return Err(codec.malformed("this codec comes behind one that makes bytes")),
                (stage, false) => has_bytes = stage == Stage::ToBytes,
            }
            elements = known.encoded;
            alloc::push(&mut chain.codecs, CodecSpec::Known(known))?;
            continue;
        }
        let own = || CodecSpec::own(&codec, name, configuration.as_ref().map(At::value));
        if has_bytes {
            let rule = match name {
                "bytes" | "endian" | "vlen-utf8" | "sharding_indexed" => "a chain has one codec that makes bytes",
                "transpose" => "this codec comes behind one that makes bytes",
                _ => {
                    alloc::push(&mut chain.codecs, own()?)?;
                    continue;
                }
            };
            return Err(codec.error(Error::from(ErrorKind::Metadata(rule)).in_object(name)));
        }
        let is_text = elements.element == ElementType::String;
        match (name, chain.codecs.last_mut()) {
            ("transpose", _) => {
                for before in &chain.codecs {
                    before.check_commutes(&codec)?;
                }
                transpose(&mut chain.order, &configured(&codec, configuration)?.require("order")?)?;
            }
            ("bytes" | "endian", before) => {
                has_bytes = true;
                let endian = bytes(&codec, configuration, elements.element, data_type)?;
                match before {
                    None => chain.endian = endian,
                    Some(CodecSpec::Known(known)) => known.encoded.endian = endian,
                    Some(CodecSpec::Own(_)) if endian.is_foreign() => {
                        return Err(codec.unsupported("another byte order behind a codec that is not the library's"));
                    }
                    Some(CodecSpec::Own(_)) => {}
                }
            }
            ("vlen-utf8", None) if is_text => has_bytes = true,
            ("sharding_indexed", _) if is_inner => return Err(codec.unsupported("shards within shards")),
            ("sharding_indexed", None) => {
                has_bytes = true;
                shards(&configured(&codec, configuration)?, chunk, data_type, &mut chain)?;
            }
            ("vlen-utf8" | "sharding_indexed", Some(CodecSpec::Own(before))) => return Err(before.unknown()),
            ("sharding_indexed", _) => return Err(codec.unsupported("shards behind a codec of elements")),
            _ => alloc::push(&mut chain.codecs, own()?)?,
        }
    }
    match chain.codecs.first() {
        _ if has_bytes => Ok(chain),
        Some(CodecSpec::Own(before)) => Err(before.unknown()),
        _ => Err(list.malformed("a codec that makes bytes is missing")),
    }
}

/// Adds a transposition: axis `i` of the result is axis `order[i]` of what is transposed.
fn transpose(axes: &mut Vec<usize>, at: &At<'_>) -> Result<()> {
    let order = match at.value().as_str() {
        // An early draft had these.
        Some("C") => return Ok(()),
        Some("F") => {
            axes.reverse();
            return Ok(());
        }
        _ => at.usizes()?,
    };
    let mut is_used = falses(axes.len())?;
    let mut transposed = Vec::new();
    for &axis in &order {
        match (axes.get(axis), is_used.get_mut(axis)) {
            (Some(&of_array), Some(is_used)) if !*is_used => {
                *is_used = true;
                alloc::push(&mut transposed, of_array)?;
            }
            _ => return Err(at.malformed("each dimension once is due")),
        }
    }
    if transposed.len() != axes.len() {
        return Err(at.malformed("each dimension once is due"));
    }
    *axes = transposed;
    Ok(())
}

/// The byte order that the codec `bytes` says.
fn bytes(codec: &At<'_>, configuration: Option<At<'_>>, element: ElementType, data_type: &DataType) -> Result<Endian> {
    if element == ElementType::String {
        return Err(codec.malformed("texts of any length are not made bytes like this"));
    }
    let endian = configuration.as_ref().map_or(Ok(None), endian)?;
    if data_type.has_hidden_words && endian == Some(Endian::Big) {
        return Err(codec.error(Error::from(ErrorKind::ElementType).in_object("a big-endian structure")));
    }
    match endian {
        _ if element.word_size() <= 1 => Ok(Endian::Native),
        Some(endian) => Ok(endian),
        None => Err(codec.malformed("the byte order is missing")),
    }
}

fn endian(configuration: &At<'_>) -> Result<Option<Endian>> {
    configuration.given("endian").map_or(Ok(None), |at| match at.text()? {
        "little" => Ok(Some(Endian::Little)),
        "big" => Ok(Some(Endian::Big)),
        _ => Err(at.malformed("a byte order is little or big")),
    })
}

/// Reads the configuration of `sharding_indexed`, of which the result is `outer`'s.
fn shards(at: &At<'_>, shard: &[usize], data_type: &DataType, outer: &mut Chain) -> Result<()> {
    let lengths_at = at.require("chunk_shape")?;
    let lengths = chunk_lengths(&lengths_at, shard.len())?;
    let mut inner = alloc::copied(shard)?;
    for (&axis, &len) in outer.order.iter().zip(&lengths) {
        if let Some(inner) = inner.get_mut(axis) {
            if *inner % len != 0 {
                return Err(lengths_at.malformed("the inner chunks do not divide the shard"));
            }
            *inner = len;
        }
    }
    let chain = chain(&at.require("codecs")?, &inner, data_type, true)?;
    let mut order = Vec::new();
    for &axis in &chain.order {
        alloc::push(&mut order, *outer.order.get(axis).ok_or(ErrorKind::Internal)?)?;
    }
    let index_at_start = at.given("index_location").map_or(Ok(false), |at| match at.text()? {
        "start" => Ok(true),
        "end" => Ok(false),
        _ => Err(at.malformed("the index is at the start or the end")),
    })?;
    let (index_endian, index_checksum) = index(&at.require("index_codecs")?)?;
    let index_order = order_of(alloc::copied(&outer.order)?);
    outer.endian = chain.endian;
    let shards = Shards { inner, index_order, codecs: chain.codecs, index_at_start, index_endian, index_checksum };
    outer.shards = Some((order_of(order), shards));
    Ok(())
}

/// The byte order of the index, and whether it has a checksum.
fn index(list: &At<'_>) -> Result<(Endian, bool)> {
    let (mut order, mut has_checksum) = (None, false);
    for codec in list.items()? {
        match extension(&codec)? {
            ("bytes" | "endian", configuration) if order.is_none() && !has_checksum => {
                let endian = configuration.as_ref().map_or(Ok(None), endian)?;
                order = Some(endian.ok_or_else(|| codec.malformed("the byte order is missing"))?);
            }
            ("crc32c" | "numcodecs.crc32c", _) if !has_checksum => has_checksum = true,
            (name, _) => {
                let kind = ErrorKind::Codec("an index has bytes and crc32c, each at most once");
                return Err(codec.error(Error::from(kind).in_object(name)));
            }
        }
    }
    Ok((order.unwrap_or(Endian::Little), has_checksum))
}

#[cfg(test)]
mod tests;
