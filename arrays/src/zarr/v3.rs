//! Zarr v3: the `zarr.json` of an array.
//!
//! The source is <https://zarr-specs.readthedocs.io/en/latest/v3/core/index.html> and, for the codecs, the
//! specifications below it. An extension may be an object or its name alone.

use super::axes::{order_of, placed, row_major};
use super::codecs::{self, CodecSpec, InnerShards, N5Blocks, OwnCodec, Shards};
use super::data_type::{self, DataType};
use super::fill::Dialect;
use super::format::Format;
use super::metadata::{KeyEncoding, Keys, Metadata};
use super::nczarr;
use super::v2::{chunk_lengths, separator};
use crate::alloc;
use crate::chunk_list::ChunkRun;
use crate::codec::{CodecRegistry, Stage};
use crate::dims::check_rank;
use crate::element::{ElementType, Elements};
use crate::error::{Error, ErrorKind, Result};
use crate::grid::Dimension;
#[cfg(test)]
use crate::json;
use crate::json::{At, Value};
use crate::key::Separator;
use crate::variable::Endian;

/// As [`v3_of_value`], from a text.
#[cfg(test)]
pub(crate) fn read_v3(text: &[u8]) -> Result<Metadata> {
    v3_of_value(&json::read(text).map_err(|error| error.in_object("zarr.json"))?, &CodecRegistry::default())
}

/// Reads a `zarr.json`. The caller's `own` codecs come before the library's.
///
/// # Errors
/// `NotAnArray` for a group; `Metadata`, `Unsupported`, `Codec` and `ElementType` about a place in the document;
/// `Rank`, `OutOfMemory`.
pub(crate) fn v3_of_value(document: &Value, own: &CodecRegistry) -> Result<Metadata> {
    read(&At::root(document), own).map_err(|error| error.in_object("zarr.json"))
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

fn read(document: &At<'_>, own: &CodecRegistry) -> Result<Metadata> {
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
    let (chunk_shape, chunk_runs) = chunk_grid(&document.require("chunk_grid")?, &shape)?;
    let data_type = data_type::read(document.require("data_type")?)?;
    let element = data_type.element;
    let codecs = document.require("codecs")?;
    if !chunk_runs.is_empty() {
        check_any_shape(&codecs)?;
    }
    let chain = chain(&codecs, &chunk_shape, (&data_type, own), Within::Nothing)?;
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
        unlimited: alloc::filled(rank, false)?,
        chunk_shape,
        chunk_runs,
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
        return Err(version.malformed("expected 3"));
    }
    let node = document.require("node_type")?;
    match node.text()? {
        "array" => Ok(true),
        "group" => Ok(false),
        _ => Err(node.malformed("expected array or group")),
    }
}

/// Refuses keys that have to be understood.
pub(super) fn check_keys(document: &At<'_>) -> Result<()> {
    for (name, at) in document.members()? {
        let is_optional = at.value().get("must_understand") == Some(&Value::Bool(false));
        if !is_optional && *at.value() != Value::Null && !KEYS.contains(&name) {
            return Err(at.unsupported("an unknown extension that must be understood"));
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
    configuration.ok_or_else(|| at.malformed("the configuration is missing"))
}

/// The lengths of a chunk, and the lists of lengths of a grid that is not regular.
fn chunk_grid(grid: &At<'_>, shape: &[usize]) -> Result<(Vec<usize>, Vec<Vec<ChunkRun>>)> {
    match extension(grid)? {
        ("regular", configuration) => {
            let configuration = configured(grid, configuration)?;
            Ok((chunk_lengths(&configuration.require("chunk_shape")?, shape.len())?, Vec::new()))
        }
        ("rectilinear", configuration) => rectilinear(&configured(grid, configuration)?, shape),
        (name, _) => Err(grid.error(ErrorKind::Unsupported("the chunk grid").in_object(name))),
    }
}

/// The source is <https://github.com/zarr-developers/zarr-extensions/tree/main/chunk-grids/rectilinear>: for each
/// dimension an integer, which is the length of all chunks, or a list of lengths, in which `[V, N]` stands for N times
/// V. Together they reach the end of the dimension or go beyond it.
fn rectilinear(configuration: &At<'_>, shape: &[usize]) -> Result<(Vec<usize>, Vec<Vec<ChunkRun>>)> {
    let kind = configuration.require("kind")?;
    if kind.text()? != "inline" {
        return Err(kind.unsupported("another kind of rectilinear grid than inline"));
    }
    let lists = configuration.require("chunk_shapes")?;
    if lists.items()?.len() != shape.len() {
        return Err(lists.malformed("expected chunk lengths for each dimension"));
    }
    let (mut lengths, mut all) = (Vec::new(), Vec::new());
    for (list, &len) in lists.items()?.zip(shape) {
        let broken = |error: Error| match error.kind() {
            ErrorKind::Argument(rule) => list.malformed(rule),
            _ => list.error(error),
        };
        let (runs, dimension) = if list.value().as_list().is_some() {
            let runs = alloc::try_collected(list.items()?.map(|item| run(&item)))?;
            let dimension = Dimension::with_chunks(len, runs.iter().copied());
            (runs, dimension)
        } else {
            (Vec::new(), Dimension::new(len, list.usize()?))
        };
        alloc::push(&mut lengths, dimension.map_err(broken)?.chunklen())?;
        alloc::push(&mut all, runs)?;
    }
    Ok((lengths, all))
}

/// A length, or a length and how many chunks have it.
fn run(item: &At<'_>) -> Result<ChunkRun> {
    if item.value().as_list().is_none() {
        return Ok(ChunkRun::new(1, item.usize()?));
    }
    match item.usizes()?[..] {
        [_, 0] => Err(item.malformed("a length is repeated 0 times")),
        [len, num_chunks] => Ok(ChunkRun::new(num_chunks, len)),
        _ => Err(item.malformed("expected a length, or a length and how often it is repeated")),
    }
}

/// Refuses codecs that are told the shape of a chunk, for chunks of several shapes.
fn check_any_shape(list: &At<'_>) -> Result<()> {
    for codec in list.items()? {
        if matches!(extension(&codec)?.0, "reshape" | "sharding_indexed" | "n5_default") {
            return Err(codec.unsupported("this codec for chunks of a rectilinear grid"));
        }
    }
    Ok(())
}

fn keys(encoding: &At<'_>) -> Result<Keys> {
    let (name, configuration) = extension(encoding)?;
    let (style, default) = match name {
        "default" => (KeyEncoding::V3, Separator::Slash),
        "v2" => (KeyEncoding::V2, Separator::Dot),
        _ => {
            return Err(encoding.error(ErrorKind::Unsupported("the chunk key encoding").in_object(name)));
        }
    };
    let separator = configuration.map_or(Ok(default), |at| separator(&at, default, "separator"))?;
    Ok(Keys { style, separator })
}

fn dimension_names(document: &At<'_>, rank: usize) -> Result<Vec<Option<String>>> {
    let Some(given) = document.given("dimension_names") else { return Ok(alloc::filled(rank, None)?) };
    let name = |name: At<'_>| Ok(if *name.value() == Value::Null { None } else { Some(alloc::text(name.text()?)?) });
    let names = alloc::try_collected(given.items()?.map(name))?;
    if names.len() == rank { Ok(names) } else { Err(given.malformed("expected one name for each dimension")) }
}

/// What a list of codecs says.
struct Chain {
    /// The axes from the slowest to the fastest of what the codec that makes bytes is given.
    order: Vec<usize>,
    endian: Endian,
    codecs: Vec<CodecSpec>,
    /// The order of the elements in inner chunks, and the rest.
    shards: Option<(Option<Vec<usize>>, Shards)>,
}

/// The type of the elements, and the caller's codecs.
type Of<'a> = (&'a DataType, &'a CodecRegistry);

/// What a list of codecs is within.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Within {
    Nothing,
    Shard,
    Block,
}

const TWICE: &str = "a second array-to-bytes codec; a list of codecs has exactly one";
const BEHIND: &str = "this codec must come before the array-to-bytes codec";

/// The error of a codec that cannot stand where it does.
fn misplaced(at: &At<'_>, name: &str, rule: &'static str) -> Error {
    at.error(ErrorKind::Metadata(rule).in_object(name))
}

/// Reads a list of codecs: those that make elements of elements, such as transpositions, then one that makes bytes,
/// then those that turn bytes into bytes. `chunk` is the shape of what is encoded, whose axes are those that the result
/// is about.
///
/// Codecs that are none of the library's may come before the one that makes bytes. They turn elements into elements; in
/// the machine's byte order that is the same as if they came behind what makes bytes.
fn chain(list: &At<'_>, chunk: &[usize], of @ (data_type, own): Of<'_>, within: Within) -> Result<Chain> {
    let mut elements = Elements { element: data_type.element, endian: Endian::Native };
    let mut chain = Chain { order: row_major(chunk.len())?, endian: Endian::Native, codecs: Vec::new(), shards: None };
    let (mut has_bytes, mut is_reshaped) = (false, false);
    // So many of the codecs are known to do the same before a transposition and after it.
    let mut num_commuting = 0;
    for codec in list.items()? {
        let (name, configuration) = extension(&codec)?;
        let known = match own.find(name) {
            Some(_) => None,
            None => codecs::read_v3(name, configuration.as_ref(), elements).map_err(|error| match configuration {
                Some(_) => error,
                None => codec.error(error),
            })?,
        };
        if let Some(known) = known {
            match (known.stage(), has_bytes) {
                (Stage::Bytes, false) if matches!(chain.codecs.first(), Some(CodecSpec::Own(_))) => break,
                (Stage::Bytes, false) => {
                    return Err(codec.malformed("this codec must come after the array-to-bytes codec"));
                }
                (Stage::Bytes, true) => {}
                (Stage::ToBytes, true) => return Err(misplaced(&codec, name, TWICE)),
                (_, true) => return Err(misplaced(&codec, name, BEHIND)),
                (stage, false) => has_bytes = stage == Stage::ToBytes,
            }
            elements = known.encoded;
            alloc::push(&mut chain.codecs, CodecSpec::Known(known))?;
            continue;
        }
        let written = || OwnCodec::new(&codec, name, configuration.as_ref().map(At::value));
        if has_bytes {
            match name {
                "bytes" | "endian" | "vlen-utf8" | "sharding_indexed" | "n5_default" => {
                    return Err(misplaced(&codec, name, TWICE));
                }
                "transpose" | "reshape" => return Err(misplaced(&codec, name, BEHIND)),
                _ => alloc::push(&mut chain.codecs, CodecSpec::Own(written()?))?,
            }
            continue;
        }
        let is_text = elements.element == ElementType::String;
        match (name, chain.codecs.last_mut()) {
            ("transpose" | "sharding_indexed" | "n5_default", _) if is_reshaped => {
                return Err(codec.unsupported("a transposition, shards or N5 blocks after reshape"));
            }
            ("reshape", _) => {
                is_reshaped = true;
                check_reshaped(&configured(&codec, configuration)?.require("shape")?, chunk, &chain.order)?;
            }
            ("n5_default", None) => {
                has_bytes = true;
                let configured = configured(&codec, configuration)?;
                blocks(&configured, chunk, of, (written()?, &mut chain))?;
            }
            ("transpose", _) => {
                for before in chain.codecs.get(num_commuting..).unwrap_or_default() {
                    before.check_commutes(&codec)?;
                }
                num_commuting = chain.codecs.len();
                transpose(&mut chain.order, &configured(&codec, configuration)?.require("order")?)?;
            }
            ("bytes" | "endian", before) => {
                has_bytes = true;
                let endian = bytes(&codec, configuration, elements.element, data_type)?;
                match before {
                    None => chain.endian = endian,
                    Some(CodecSpec::Known(known)) => known.encoded.endian = endian,
                    Some(_) if endian.is_foreign() => {
                        return Err(
                            codec.unsupported("a byte order other than native after a codec that a program added")
                        );
                    }
                    Some(_) => {}
                }
            }
            ("vlen-utf8", None) if is_text => has_bytes = true,
            ("sharding_indexed", _) if within == Within::Block => {
                return Err(codec.unsupported("shards within N5 blocks"));
            }
            ("sharding_indexed", _) if within == Within::Shard && is_text => {
                return Err(codec.unsupported("variable-length strings in shards within shards"));
            }
            ("sharding_indexed", None) => {
                has_bytes = true;
                shards(&configured(&codec, configuration)?, chunk, of, &mut chain)?;
                if within == Within::Shard {
                    nested(chunk, written()?, &mut chain)?;
                }
            }
            ("vlen-utf8" | "sharding_indexed", Some(CodecSpec::Own(before))) => return Err(before.unknown()),
            ("sharding_indexed", _) => return Err(codec.unsupported("shards after an array-to-array codec")),
            _ => alloc::push(&mut chain.codecs, CodecSpec::Own(written()?))?,
        }
    }
    match chain.codecs.first() {
        _ if has_bytes => Ok(chain),
        Some(CodecSpec::Own(before)) => Err(before.unknown()),
        _ => Err(list.malformed("expected an array-to-bytes codec, such as bytes or sharding_indexed")),
    }
}

/// Refuses a shape that is not one of as many elements as a chunk has. The elements stay in their order.
fn check_reshaped(shape: &At<'_>, chunk: &[usize], order: &[usize]) -> Result<()> {
    let wrong = || shape.malformed("the shape does not have as many elements as a chunk");
    let lens = placed(order, chunk)?;
    // None of these products is more than the chunk's elements, of which there are not too many.
    let product = |lens: &[usize]| lens.iter().try_fold(1usize, |all, len| all.checked_mul(*len));
    let all = product(&lens).ok_or_else(wrong)?;
    let (mut known, mut num_open, mut last, mut before) = (1usize, 0, None, Some(1usize));
    for item in shape.items()? {
        let len = match item.value().as_i64() {
            Some(-1) => {
                num_open += 1;
                before = None;
                continue;
            }
            Some(len) => {
                usize::try_from(len).ok().filter(|&len| len > 0).ok_or_else(|| item.malformed("expected a length"))?
            }
            None => {
                let axes = item.usizes()?;
                let mut len = 1usize;
                for &axis in &axes {
                    if last.is_some_and(|last| axis <= last) {
                        return Err(item.malformed("the dimensions must be in order, each once"));
                    }
                    last = Some(axis);
                    len = len
                        .saturating_mul(*lens.get(axis).ok_or_else(|| item.malformed("the dimension does not exist"))?);
                }
                // The elements of these dimensions are those of this one only if what is before is as much.
                let first = axes.first().and_then(|first| product(lens.get(..*first)?));
                if !axes.is_empty() && before.is_some() && first != before {
                    return Err(item.malformed("the product of the dimensions before it does not match"));
                }
                len
            }
        };
        known = known.checked_mul(len).ok_or_else(wrong)?;
        before = before.and_then(|before| before.checked_mul(len));
    }
    let fits = if num_open == 0 { known == all } else { num_open == 1 && all % known == 0 };
    if fits { Ok(()) } else { Err(wrong()) }
}

/// Reads the configuration of `n5_default`, of which the result is `outer`'s.
fn blocks(at: &At<'_>, chunk: &[usize], of: Of<'_>, (written, outer): (OwnCodec, &mut Chain)) -> Result<()> {
    let (codecs_at, (data_type, _)) = (at.require("codecs")?, of);
    let chain = chain(&codecs_at, chunk, of, Within::Block)?;
    let is_reversed = chain.order.iter().copied().eq((0..chunk.len()).rev());
    let is_big = data_type.element.word_size() <= 1 || chain.endian.is_foreign() != cfg!(target_endian = "big");
    let is_of_bytes = chain.codecs.iter().all(|codec| codec.stage().is_none_or(|stage| stage == Stage::Bytes));
    if !is_reversed || !is_big || !is_of_bytes || data_type.element == ElementType::String {
        return Err(codecs_at.malformed("N5 blocks must be transposed as a whole and big-endian"));
    }
    let order = placed(&chain.order, &outer.order)?;
    let lens = placed(&outer.order, chunk)?;
    (outer.order, outer.endian) = (order, chain.endian);
    let element_size = data_type.element.size();
    Ok(alloc::push(&mut outer.codecs, CodecSpec::N5(N5Blocks { written, codecs: chain.codecs, lens, element_size }))?)
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
    let mut is_used = alloc::filled(axes.len(), false)?;
    let mut transposed = Vec::new();
    for &axis in &order {
        match (axes.get(axis), is_used.get_mut(axis)) {
            (Some(&of_array), Some(is_used)) if !*is_used => {
                *is_used = true;
                alloc::push(&mut transposed, of_array)?;
            }
            _ => return Err(at.malformed("expected each dimension exactly once")),
        }
    }
    if transposed.len() != axes.len() {
        return Err(at.malformed("expected each dimension exactly once"));
    }
    *axes = transposed;
    Ok(())
}

/// The byte order that the codec `bytes` says.
fn bytes(codec: &At<'_>, configuration: Option<At<'_>>, element: ElementType, data_type: &DataType) -> Result<Endian> {
    if element == ElementType::String {
        return Err(codec.malformed("strings of variable length need the codec vlen-utf8"));
    }
    let endian = configuration.as_ref().map_or(Ok(None), endian)?;
    if data_type.has_hidden_words && endian == Some(Endian::Big) {
        return Err(codec.error(ErrorKind::ElementType.in_object("big-endian structures")));
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
        _ => Err(at.malformed("expected little or big")),
    })
}

/// Reads the configuration of `sharding_indexed`, of which the result is `outer`'s.
fn shards(at: &At<'_>, shard: &[usize], of: Of<'_>, outer: &mut Chain) -> Result<()> {
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
    let mut chain = chain(&at.require("codecs")?, &lengths, of, Within::Shard)?;
    let order = placed(&chain.order, &outer.order)?;
    for codec in &mut chain.codecs {
        codec.place_axes(&outer.order)?;
    }
    let index_at_start = at.given("index_location").map_or(Ok(false), |at| match at.text()? {
        "start" => Ok(true),
        "end" => Ok(false),
        _ => Err(at.malformed("expected start or end")),
    })?;
    let (index_endian, index_checksum) = index(&at.require("index_codecs")?)?;
    let index_order = order_of(alloc::copied(&outer.order)?);
    outer.endian = chain.endian;
    let shards = Shards { inner, index_order, codecs: chain.codecs, index_at_start, index_endian, index_checksum };
    outer.shards = Some((order_of(order), shards));
    Ok(())
}

/// Makes shards a codec of shards like them: as such they are decoded as a whole.
fn nested(shape: &[usize], written: OwnCodec, chain: &mut Chain) -> Result<()> {
    let (order, shards) = chain.shards.take().ok_or(ErrorKind::Internal)?;
    chain.order = match order {
        Some(order) => order,
        None => row_major(shape.len())?,
    };
    let shape = alloc::copied(shape)?;
    Ok(alloc::push(&mut chain.codecs, CodecSpec::Shards(InnerShards { written, shape, shards }))?)
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
                let reason = "the index must have the codecs bytes and crc32c at most once each";
                return Err(codec.error(ErrorKind::Codec(reason).in_object(name)));
            }
        }
    }
    Ok((order.unwrap_or(Endian::Little), has_checksum))
}

#[cfg(test)]
mod tests;
