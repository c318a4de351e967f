//! The codecs that turn bytes into bytes, as v2 and v3 write them.

use super::codecs::{BloscShuffle, CodecSpec};
use super::data_type::extension;
use super::format::Format;
use crate::error::Result;
use crate::json::Value;

impl CodecSpec {
    /// Whether Zarr v2 has it as a compressor rather than as a filter.
    pub(super) fn is_compressor(&self) -> bool {
        !matches!(self, CodecSpec::Shuffle { .. } | CodecSpec::Crc32c | CodecSpec::Fletcher32 | CodecSpec::Own(_))
    }

    /// The name that numcodecs has for it, or its own.
    pub(crate) fn id(&self) -> &str {
        match self {
            CodecSpec::Zstd { .. } => "zstd",
            CodecSpec::Blosc { .. } => "blosc",
            CodecSpec::Gzip { .. } => "gzip",
            CodecSpec::Zlib { .. } => "zlib",
            CodecSpec::Lz4 { .. } => "lz4",
            CodecSpec::Shuffle { .. } => "shuffle",
            CodecSpec::Crc32c => "crc32c",
            CodecSpec::Fletcher32 => "fletcher32",
            CodecSpec::Own(own) => &own.name,
        }
    }

    /// The configuration's members.
    pub(crate) fn configuration(&self, format: Format) -> Result<Value> {
        match *self {
            // Readers of v2 refuse a checksum that they do not know.
            CodecSpec::Zstd { level, checksum: false } if format == Format::V2 => {
                Value::object([("level", Value::number(level)?)])
            }
            CodecSpec::Zstd { level, checksum } => {
                Value::object([("level", Value::number(level)?), ("checksum", Value::Bool(checksum))])
            }
            CodecSpec::Gzip { level } | CodecSpec::Zlib { level } => Value::object([("level", Value::number(level)?)]),
            CodecSpec::Lz4 { acceleration } => Value::object([("acceleration", Value::number(acceleration)?)]),
            CodecSpec::Shuffle { element_size } => Value::object([("elementsize", Value::number(element_size)?)]),
            CodecSpec::Crc32c | CodecSpec::Fletcher32 => Value::object([]),
            CodecSpec::Own(ref own) => own.configuration.copied(),
            CodecSpec::Blosc { compressor, level, shuffle, typesize, blocksize } => {
                let shuffle = match (format, shuffle) {
                    (Format::V2, BloscShuffle::None) => Value::number(0)?,
                    (Format::V2, BloscShuffle::Byte) => Value::number(1)?,
                    (Format::V2, BloscShuffle::Bit) => Value::number(2)?,
                    (Format::V3, BloscShuffle::None) => Value::text("noshuffle")?,
                    (Format::V3, BloscShuffle::Byte) => Value::text("shuffle")?,
                    (Format::V3, BloscShuffle::Bit) => Value::text("bitshuffle")?,
                };
                let mut value = Value::object([
                    ("cname", Value::text(compressor.name())?),
                    ("clevel", Value::number(level)?),
                    ("shuffle", shuffle),
                    ("blocksize", Value::number(blocksize)?),
                ])?;
                // numcodecs of v2 takes it from the dtype, and others refuse it there.
                if format == Format::V3 {
                    value.push("typesize", Value::number(typesize)?)?;
                }
                Ok(value)
            }
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
        match self {
            CodecSpec::Crc32c => Value::object([("name", Value::text("crc32c")?)]),
            CodecSpec::Zstd { .. } | CodecSpec::Blosc { .. } | CodecSpec::Gzip { .. } => {
                extension(self.id(), self.configuration(Format::V3)?)
            }
            CodecSpec::Own(own) => extension(&own.name, own.configuration.copied()?),
            // The others are none of the specification's; numcodecs' spelling has the members of v2.
            _ => {
                let configuration = self.configuration(Format::V2)?;
                let name = Value::text_of(format_args!("numcodecs.{}", self.id()))?;
                Value::object([("name", name), ("configuration", configuration)])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::codecs::{BloscCompressor, read_v2, read_v3};
    use super::*;
    use crate::dataset::ElementType;
    use crate::json::At;

    #[test]
    fn each_version_has_its_own_members() {
        let compact = |value: Result<Value>| crate::json::compact(&value.unwrap()).unwrap();
        let (compressor, shuffle) = (BloscCompressor::Zstd, BloscShuffle::Byte);
        let own = CodecSpec::own(&At::root(&Value::Null), "mine", None).unwrap();
        for (codec, v2, v3) in [
            (
                CodecSpec::Zstd { level: 3, checksum: false },
                r#"{"id":"zstd","level":3}"#,
                r#"{"name":"zstd","configuration":{"level":3,"checksum":false}}"#,
            ),
            (
                CodecSpec::Zstd { level: 3, checksum: true },
                r#"{"id":"zstd","level":3,"checksum":true}"#,
                r#"{"name":"zstd","configuration":{"level":3,"checksum":true}}"#,
            ),
            (
                CodecSpec::Blosc { compressor, level: 5, shuffle, typesize: 4, blocksize: 0 },
                r#"{"id":"blosc","cname":"zstd","clevel":5,"shuffle":1,"blocksize":0}"#,
                concat!(
                    r#"{"name":"blosc","configuration":{"cname":"zstd","clevel":5,"#,
                    r#""shuffle":"shuffle","blocksize":0,"typesize":4}}"#
                ),
            ),
            (
                CodecSpec::Zlib { level: 1 },
                r#"{"id":"zlib","level":1}"#,
                r#"{"name":"numcodecs.zlib","configuration":{"level":1}}"#,
            ),
            (own, r#"{"id":"mine"}"#, r#"{"name":"mine","configuration":{}}"#),
        ] {
            assert_eq!((&*compact(codec.write_v2()), &*compact(codec.write_v3())), (v2, v3));
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let (compressor, shuffle) = (BloscCompressor::Lz4hc, BloscShuffle::Bit);
        for codec in [
            CodecSpec::Zstd { level: -1, checksum: true },
            CodecSpec::Zstd { level: 3, checksum: false },
            CodecSpec::Blosc { compressor, level: 5, shuffle, typesize: 8, blocksize: 0 },
            CodecSpec::Gzip { level: 6 },
            CodecSpec::Zlib { level: 4 },
            CodecSpec::Lz4 { acceleration: 2 },
            CodecSpec::Shuffle { element_size: 4 },
            CodecSpec::Crc32c,
            CodecSpec::Fletcher32,
        ] {
            assert_eq!(read_v2(At::root(&codec.write_v2().unwrap()), ElementType::Double).unwrap(), codec);
            let value = codec.write_v3().unwrap();
            let at = At::root(&value);
            let configuration = at.get("configuration");
            let name = at.require("name").unwrap().text().unwrap();
            assert_eq!(read_v3(name, configuration.as_ref(), ElementType::Double).unwrap(), Some(codec));
        }
    }
}
