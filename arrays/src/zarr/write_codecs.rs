//! The codecs of an array, as v2 and v3 write them.

use super::codecs::{CodecSpec, KnownCodec};
use super::data_type::{self, extension};
use super::dtype;
use super::fill::Dialect;
use super::format::Format;
use super::write_fill;
use crate::codec::{Given, Kind, Setting, Written};
use crate::element::{Elements, Endian};
use crate::error::{ErrorKind, Result};
use crate::json::Value;

impl CodecSpec {
    /// Whether Zarr v2 has it as a compressor rather than as a filter.
    pub(super) fn is_compressor(&self) -> bool {
        matches!(self, CodecSpec::Known(known) if known.settings.definition().is_compressor)
    }

    /// The name that numcodecs has for it, or its own.
    pub(crate) fn id(&self) -> &str {
        match self {
            CodecSpec::Known(known) => known.settings.definition().name(),
            other => other.written().map_or("", |written| &written.name),
        }
    }

    /// Whether netCDF-C reads it, for elements of so many bytes.
    pub(crate) fn is_netcdfs(&self, element_size: usize) -> bool {
        match self {
            CodecSpec::Known(known) => (known.settings.definition().is_netcdfs)(&known.settings, element_size),
            _ => false,
        }
    }

    /// The configuration's members.
    pub(crate) fn configuration(&self, format: Format) -> Result<Value> {
        match (self, self.written()) {
            (CodecSpec::Known(known), _) => known.configuration(format, format),
            (_, written) => written.ok_or(ErrorKind::Internal)?.configuration.copied(),
        }
    }

    /// The object that v2 writes.
    pub(super) fn write_v2(&self) -> Result<Value> {
        let mut value = Value::object([("id", Value::text(self.id())?)])?;
        value.append(self.configuration(Format::V2)?)?;
        Ok(value)
    }

    /// The object that v3 writes.
    pub(super) fn write_v3(&self) -> Result<Value> {
        let CodecSpec::Known(known) = self else { return extension(self.id(), self.configuration(Format::V3)?) };
        let name = known.settings.definition().v3;
        // What is none of the specification's has the members of v2.
        if name.starts_with("numcodecs.") {
            return extension(name, known.configuration(Format::V2, Format::V3)?);
        }
        let configuration = known.configuration(Format::V3, Format::V3)?;
        if configuration.members().is_empty() {
            return Value::object([("name", Value::text(name)?)]);
        }
        extension(name, configuration)
    }
}

impl KnownCodec {
    /// The members that a version has, in a document of this one.
    fn configuration(&self, format: Format, document: Format) -> Result<Value> {
        let mut value = Value::object([])?;
        for (setting, given) in self.settings.iter() {
            let written = if format == Format::V2 { setting.v2 } else { setting.v3 };
            let is_written = match written {
                Written::Always => true,
                Written::IfSet => *given != setting.default(),
                Written::Never => false,
            };
            if is_written {
                value.push(setting.name, self.member(setting, given, (format, document))?)?;
            }
        }
        Ok(value)
    }

    /// What is written for a setting.
    fn member(&self, setting: &Setting, given: &Given, (format, document): (Format, Format)) -> Result<Value> {
        match (setting.kind, given) {
            (Kind::Flag, Given::Integer(number)) => Ok(Value::Bool(*number != 0)),
            (Kind::Word { first: Some(first), .. }, Given::Integer(place)) if format == Format::V2 => {
                Value::number(place + first)
            }
            (Kind::Word { .. }, _) => Value::text(self.settings.word(setting.name)),
            (_, Given::Integer(number)) => Value::number(number),
            // This is the shortest text that reads as the same double.
            (_, Given::Number(number)) => Value::number(format_args!("{number:?}")),
            (Kind::DataType, Given::Elements(elements)) => {
                data_type::write(elements.ok_or(ErrorKind::Internal)?.element)
            }
            (_, Given::Elements(elements)) => {
                let Elements { element, endian } = elements.unwrap_or(self.decoded);
                // In Zarr v3 the codec `bytes` has the byte order; numpy needs one nevertheless.
                dtype::write(element, if document == Format::V2 { endian } else { Endian::Little })
            }
            (_, Given::Bytes(bytes)) => {
                let dialect = Dialect { format: Format::V3, is_nczarr: false };
                write_fill::write(Some(bytes), self.decoded.element, dialect)
            }
        }
    }
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    use super::super::codecs::testing::of;
    use super::super::codecs::{codec_named, read_v2, read_v3};
    use super::*;
    use crate::codec::CodecRegistry;
    use crate::element::ElementType;
    use crate::json::At;

    fn named(name: &str, configuration: &str, element: ElementType) -> CodecSpec {
        codec_named(name, configuration, (of(element), false), Format::V3, &CodecRegistry::default()).unwrap()
    }

    #[test]
    fn each_version_has_its_own_members() {
        let compact = |value: Result<Value>| crate::json::compact(&value.unwrap()).unwrap();
        for (name, configuration, v2, v3) in [
            (
                "zstd",
                "3",
                r#"{"id":"zstd","level":3}"#,
                r#"{"name":"zstd","configuration":{"level":3,"checksum":false}}"#,
            ),
            (
                "zstd",
                r#"{"level":3,"checksum":true}"#,
                r#"{"id":"zstd","level":3,"checksum":true}"#,
                r#"{"name":"zstd","configuration":{"level":3,"checksum":true}}"#,
            ),
            (
                "blosc",
                r#"{"cname":"zstd"}"#,
                r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#,
                concat!(
                    r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"#,
                    r#""shuffle":"shuffle","blocksize":0,"typesize":4}}"#
                ),
            ),
            ("zlib", "", r#"{"id":"zlib","level":1}"#, r#"{"name":"numcodecs.zlib","configuration":{"level":1}}"#),
            ("crc32c", "", r#"{"id":"crc32c"}"#, r#"{"name":"crc32c"}"#),
            ("mine", "", r#"{"id":"mine"}"#, r#"{"name":"mine","configuration":{}}"#),
        ] {
            let codec = named(name, configuration, ElementType::Int);
            assert_eq!((&*compact(codec.write_v2()), &*compact(codec.write_v3())), (v2, v3));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        for (name, configuration) in [
            ("zstd", r#"{"level":-1,"checksum":true}"#),
            ("zstd", "3"),
            ("blosc", r#"{"cname":"lz4hc","shuffle":2,"clevel":5,"typesize":8}"#),
            ("gzip", "6"),
            ("zlib", "4"),
            ("lz4", "2"),
            ("shuffle", "4"),
            ("crc32c", ""),
            ("fletcher32", ""),
        ] {
            let codec = named(name, configuration, ElementType::Double);
            assert_eq!(
                read_v2(At::root(&codec.write_v2().unwrap()), of(ElementType::Double), &CodecRegistry::default())
                    .unwrap(),
                codec
            );
            let value = codec.write_v3().unwrap();
            let at = At::root(&value);
            let configuration = at.get("configuration");
            let name = at.require("name").unwrap().text().unwrap();
            let read = read_v3(name, configuration.as_ref(), of(ElementType::Double)).unwrap();
            assert_eq!(read.map(CodecSpec::Known), Some(codec));
        }
    }
}
