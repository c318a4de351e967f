//! The codecs that turn bytes into bytes: their names and configurations, as v2 and v3 spell them.
//!
//! v2 has one object with the `id` and the configuration in it. v3 has a `name` and a `configuration`; `numcodecs.` and
//! an id of v2 is a name, too. What is missing is numcodecs' default, which is what the writer left out.

use crate::alloc;
use crate::dataset::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::object::Name;

/// A codec and its settings.
#[derive(Debug, PartialEq)]
pub(crate) enum CodecSpec {
    Zstd {
        level: i32,
        checksum: bool,
    },
    /// The header of what is stored rules when it is decoded; this is what to encode with.
    Blosc {
        compressor: BloscCompressor,
        level: i32,
        shuffle: BloscShuffle,
        typesize: usize,
        blocksize: usize,
    },
    Gzip {
        level: i32,
    },
    Zlib {
        level: i32,
    },
    Lz4 {
        acceleration: i32,
    },
    /// The size is never 0.
    Shuffle {
        element_size: usize,
    },
    Crc32c,
    Fletcher32,
    /// One that is none of the library's.
    Own(OwnCodec),
}

/// A codec that is none of the library's.
#[derive(Debug, PartialEq)]
pub(crate) struct OwnCodec {
    pub(crate) name: String,
    /// An object.
    pub(crate) configuration: Value,
    /// Where it is in the document; empty for that of an array that is to be created.
    at: String,
}

impl CodecSpec {
    /// A codec that is none of the library's.
    pub(super) fn own(at: &At<'_>, name: &str, configuration: Option<&Value>) -> Result<Self> {
        let at = Name::of(format_args!("{at}"))?;
        CodecSpec::own_of(&at, name, configuration)
    }

    fn own_of(at: &str, name: &str, configuration: Option<&Value>) -> Result<Self> {
        // In v2 the name is among the members.
        let configuration = configuration.unwrap_or(&Value::Null).copied_members(|name| name != "id")?;
        Ok(CodecSpec::Own(OwnCodec { name: alloc::text(name)?, configuration, at: alloc::text(at)? }))
    }
}

impl OwnCodec {
    /// The error that there is no such codec.
    #[cold]
    pub(super) fn unknown(&self) -> Error {
        let error = Error::from(ErrorKind::Codec("the library does not have it")).in_object(&self.name);
        if self.at.is_empty() { error } else { error.in_object(&self.at) }
    }
}

/// What compresses within blosc.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BloscCompressor {
    Blosclz,
    Lz4,
    Lz4hc,
    Snappy,
    Zlib,
    Zstd,
}

impl BloscCompressor {
    const ALL: [(BloscCompressor, &'static str); 6] = [
        (BloscCompressor::Blosclz, "blosclz"),
        (BloscCompressor::Lz4, "lz4"),
        (BloscCompressor::Lz4hc, "lz4hc"),
        (BloscCompressor::Snappy, "snappy"),
        (BloscCompressor::Zlib, "zlib"),
        (BloscCompressor::Zstd, "zstd"),
    ];

    pub(crate) fn name(self) -> &'static str {
        BloscCompressor::ALL.iter().find(|(compressor, _)| *compressor == self).map_or("", |(_, name)| name)
    }
}

/// What blosc does before it compresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BloscShuffle {
    None,
    Byte,
    Bit,
}

/// The codec of an object of v2's.
pub(super) fn read_v2(at: At<'_>, element: ElementType) -> Result<CodecSpec> {
    let id = at.require("id")?.text()?;
    of_numcodecs(id, Some(&at), element)?.map_or_else(|| CodecSpec::own(&at, id, Some(at.value())), Ok)
}

/// The codec of a name of v3's; `None` if it is none that turns bytes into bytes.
pub(super) fn read_v3(name: &str, configuration: Option<&At<'_>>, element: ElementType) -> Result<Option<CodecSpec>> {
    match name.strip_prefix("numcodecs.") {
        Some(id) => of_numcodecs(id, configuration, element),
        // What `lz4` alone would be has not been agreed on.
        None if name == "lz4" => Ok(None),
        None => of_numcodecs(name, configuration, element),
    }
}

/// The codec of a name and the text of a configuration, which is a JSON object; an empty one stands for the defaults.
/// It is a name of v2's or of v3's, or none of the library's.
///
/// # Errors
/// `Metadata` for a configuration that is malformed; `OutOfMemory`.
pub(crate) fn codec_named(name: &str, configuration: &str, element: ElementType) -> Result<CodecSpec> {
    let about = |error: Error| error.in_object(name);
    let configuration = match configuration {
        "" => Value::Object(Vec::new()),
        text => json::read(text.as_bytes()).map_err(about)?,
    };
    let at = At::root(&configuration);
    at.check_object().map_err(about)?;
    let id = name.strip_prefix("numcodecs.").unwrap_or(name);
    let own = || CodecSpec::own_of("", name, Some(&configuration));
    of_numcodecs(id, Some(&at), element).map_err(about)?.map_or_else(own, Ok)
}

fn of_numcodecs(id: &str, configuration: Option<&At<'_>>, element: ElementType) -> Result<Option<CodecSpec>> {
    let integer = |name, default| integer(configuration, name, default);
    Ok(Some(match id {
        "zstd" => CodecSpec::Zstd { level: integer("level", 0)?, checksum: flag(configuration, "checksum")? },
        "gzip" => CodecSpec::Gzip { level: integer("level", 1)? },
        "zlib" => CodecSpec::Zlib { level: integer("level", 1)? },
        "lz4" => CodecSpec::Lz4 { acceleration: integer("acceleration", 1)? },
        "shuffle" => {
            // netCDF-C writes 0; it takes the type's size whatever is written.
            let given = configuration.and_then(|at| at.given("elementsize"));
            let size = given.map_or(Ok(0), |at| small(&at))?;
            CodecSpec::Shuffle { element_size: if size == 0 { element.size().max(1) } else { size } }
        }
        "crc32c" => {
            let location = configuration.and_then(|at| at.value().get("location")).and_then(Value::as_str);
            match (configuration, location) {
                (Some(at), Some(location)) if location != "end" => {
                    return Err(at.error(ErrorKind::Codec("a checksum before what it is about is not supported")));
                }
                _ => CodecSpec::Crc32c,
            }
        }
        "fletcher32" => CodecSpec::Fletcher32,
        "blosc" => blosc(configuration, element)?,
        _ => return Ok(None),
    }))
}

fn blosc(configuration: Option<&At<'_>>, element: ElementType) -> Result<CodecSpec> {
    /// blosc's largest; beyond it bytes are taken for elements.
    const LARGEST_TYPESIZE: usize = 255;
    let given = |name| configuration.and_then(|at| at.given(name));
    let size = |name| given(name).map_or(Ok(0), |at| small(&at));
    let compressor = given("cname").map_or(Ok(BloscCompressor::Lz4), |at| {
        let name = at.text()?;
        let known = BloscCompressor::ALL.iter().find(|(_, known)| *known == name).map(|(compressor, _)| *compressor);
        known.ok_or_else(|| at.error(Error::from(ErrorKind::Codec("blosc has no such compressor")).in_object(name)))
    })?;
    let typesize = match size("typesize")? {
        0 => element.size(),
        typesize => typesize,
    };
    let typesize = if (1..=LARGEST_TYPESIZE).contains(&typesize) { typesize } else { 1 };
    let shuffle = given("shuffle").map_or(Ok(BloscShuffle::Byte), |at| match at.value() {
        Value::Text(text) if text == "noshuffle" => Ok(BloscShuffle::None),
        Value::Text(text) if text == "shuffle" => Ok(BloscShuffle::Byte),
        Value::Text(text) if text == "bitshuffle" => Ok(BloscShuffle::Bit),
        _ => match number(&at)? {
            0 => Ok(BloscShuffle::None),
            1 => Ok(BloscShuffle::Byte),
            2 => Ok(BloscShuffle::Bit),
            -1 => Ok(if typesize == 1 { BloscShuffle::Bit } else { BloscShuffle::Byte }),
            _ => Err(at.malformed("blosc has no such shuffle")),
        },
    })?;
    let level = integer(configuration, "clevel", 5)?;
    Ok(CodecSpec::Blosc { compressor, level, shuffle, typesize, blocksize: size("blocksize")? })
}

/// A number of a configuration, which netCDF-C before 4.10 writes as a text.
fn integer(configuration: Option<&At<'_>>, name: &str, default: i32) -> Result<i32> {
    configuration.and_then(|at| at.given(name)).map_or(Ok(default), |at| number(&at))
}

fn number(at: &At<'_>) -> Result<i32> {
    let text = at.value().as_number().or(at.value().as_str().map(str::trim));
    text.and_then(|text| text.parse().ok()).ok_or_else(|| at.malformed("a small integer is due"))
}

/// As [`number`], of 0 or more.
fn small(at: &At<'_>) -> Result<usize> {
    usize::try_from(number(at)?).map_err(|_| at.malformed("an integer of 0 or more is due"))
}

fn flag(configuration: Option<&At<'_>>, name: &str) -> Result<bool> {
    let given = configuration.and_then(|at| at.given(name));
    given.map_or(Ok(false), |at| match at.value() {
        Value::Bool(flag) => Ok(*flag),
        _ => Ok(number(&at)? != 0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    fn v2(text: &str) -> Result<CodecSpec> {
        read_v2(At::root(&read(text.as_bytes())?), ElementType::Short)
    }

    #[test]
    fn writers_codecs_of_v2_are_read() {
        assert_eq!(v2(r#"{"id":"zstd","level":0}"#).unwrap(), CodecSpec::Zstd { level: 0, checksum: false });
        assert_eq!(
            v2(r#"{"id":"zstd","level":-3,"checksum":true}"#).unwrap(),
            CodecSpec::Zstd { level: -3, checksum: true }
        );
        assert_eq!(v2(r#"{"id":"zlib","level":"4"}"#).unwrap(), CodecSpec::Zlib { level: 4 });
        assert_eq!(v2(r#"{"id":"gzip"}"#).unwrap(), CodecSpec::Gzip { level: 1 });
        assert_eq!(v2(r#"{"id":"lz4","acceleration":1}"#).unwrap(), CodecSpec::Lz4 { acceleration: 1 });
        assert_eq!(v2(r#"{"id":"shuffle","elementsize":0}"#).unwrap(), CodecSpec::Shuffle { element_size: 2 });
        assert_eq!(v2(r#"{"id":"shuffle"}"#).unwrap(), CodecSpec::Shuffle { element_size: 2 });
        assert_eq!(v2(r#"{"id":"shuffle","elementsize":4}"#).unwrap(), CodecSpec::Shuffle { element_size: 4 });
        assert_eq!(v2(r#"{"id":"crc32c"}"#).unwrap(), CodecSpec::Crc32c);
        assert_eq!(v2(r#"{"id":"fletcher32"}"#).unwrap(), CodecSpec::Fletcher32);
        let blosc = v2(r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}"#).unwrap();
        let (compressor, shuffle) = (BloscCompressor::Lz4, BloscShuffle::Byte);
        assert_eq!(blosc, CodecSpec::Blosc { compressor, level: 5, shuffle, typesize: 2, blocksize: 0 });
    }

    #[test]
    fn shuffles_and_flags_have_several_spellings() {
        let shuffle = |spelt: &str| match v2(&format!(r#"{{"id":"blosc","shuffle":{spelt}}}"#)) {
            Ok(CodecSpec::Blosc { shuffle, .. }) => Some(shuffle),
            _ => None,
        };
        for (spelt, due) in [
            (["0", "\"0\"", "\"noshuffle\""], BloscShuffle::None),
            (["1", "\"1\"", "\"shuffle\""], BloscShuffle::Byte),
            (["2", "\"2\"", "\"bitshuffle\""], BloscShuffle::Bit),
        ] {
            assert!(spelt.iter().all(|spelt| shuffle(spelt) == Some(due)), "{spelt:?}");
        }
        assert_eq!((shuffle("\"x\""), shuffle("\"-2\"")), (None, None));
        for (spelt, checksum) in [("0", false), ("1", true), ("\"1\"", true), ("false", false)] {
            let zstd = v2(&format!(r#"{{"id":"zstd","checksum":{spelt}}}"#)).unwrap();
            assert_eq!(zstd, CodecSpec::Zstd { level: 0, checksum }, "{spelt}");
        }
        assert_eq!(v2(r#"{"id":"crc32c","location":"end"}"#).unwrap(), CodecSpec::Crc32c);
    }

    #[test]
    fn names_of_v3_are_read() {
        let value = read(br#"{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"bitshuffle","blocksize":8}"#).unwrap();
        let at = At::root(&value);
        let (compressor, shuffle) = (BloscCompressor::Zstd, BloscShuffle::Bit);
        let expected = CodecSpec::Blosc { compressor, level: 5, shuffle, typesize: 4, blocksize: 8 };
        assert_eq!(read_v3("blosc", Some(&at), ElementType::Byte).unwrap(), Some(expected));
        let shuffle = CodecSpec::Shuffle { element_size: 8 };
        assert_eq!(read_v3("numcodecs.shuffle", None, ElementType::Double).unwrap(), Some(shuffle));
        assert_eq!(read_v3("numcodecs.delta", None, ElementType::Double).unwrap(), None);
        assert_eq!(read_v3("lz4", None, ElementType::Double).unwrap(), None);
    }

    #[test]
    fn a_codec_is_found_by_its_name() {
        let named = |name, configuration| codec_named(name, configuration, ElementType::Int);
        assert_eq!(named("zstd", "{\"level\": 7}").unwrap(), CodecSpec::Zstd { level: 7, checksum: false });
        assert_eq!(named("numcodecs.shuffle", "").unwrap(), CodecSpec::Shuffle { element_size: 4 });
        assert_eq!(named("lz4", "{}").unwrap(), CodecSpec::Lz4 { acceleration: 1 });
        let CodecSpec::Own(own) = named("bz2", "{\"level\": 1}").unwrap() else { panic!() };
        assert_eq!((own.unknown().about(), own.configuration.members().len()), ("bz2", 1));
        assert_eq!(named("zlib", "{\"level\": {}}").unwrap_err().about(), "zlib: $.level");
        assert_eq!(named("zlib", "[1]").unwrap_err().about(), "zlib: $");
        assert_eq!(named("zlib", "{").unwrap_err().kind().status(), crate::status::ENCZARR);
    }

    #[test]
    fn others_are_refused_by_name_or_place() {
        let CodecSpec::Own(own) = v2(r#"{"id":"pcodec","level":1}"#).unwrap() else { panic!() };
        assert_eq!(own.configuration.members().len(), 1);
        let error = own.unknown();
        assert_eq!((error.kind(), error.about()), (ErrorKind::Codec("the library does not have it"), "$: pcodec"));
        for (text, about) in [
            (r#"{"id":"blosc","cname":"x"}"#, "$.cname: x"),
            (r#"{"id":"blosc","shuffle":3}"#, "$.shuffle"),
            (r#"{"id":"blosc","blocksize":-1}"#, "$.blocksize"),
            (r#"{"id":"zlib","level":"x"}"#, "$.level"),
            (r#"{"id":"zlib","level":99999999999}"#, "$.level"),
            (r#"{"id":"shuffle","elementsize":-1}"#, "$.elementsize"),
            (r#"{"id":"crc32c","location":"start"}"#, "$"),
            (r#"{"level":1}"#, "$.id"),
            (r#"{"id":1}"#, "$.id"),
        ] {
            assert_eq!(v2(text).unwrap_err().about(), about, "{text}");
        }
    }
}
