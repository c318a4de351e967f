//! The codecs of an array: their names and configurations, as v2 and v3 spell them.
//!
//! v2 has one object with the `id` and the configuration in it. v3 has a `name` and a `configuration`; `numcodecs.` and
//! an id of v2 is a name, too. What is missing is numcodecs' default, which is what the writer left out. What can be
//! set is in the codec's [`Definition`].

use super::axes::{order_of, placed, spread};
use super::data_type;
use super::dtype;
use super::fill::{self, Dialect};
use super::format::Format;
use crate::alloc;
use crate::codec::{self, CodecRegistry, Definition, Given, Kind, Setting, Settings, Stage};
use crate::element::{Elements, Endian, Kind as ElementKind};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::object::Name;
use crate::setting::SettingNames;

/// Whether the library was built with the codec of this name, such as "blosc", "zstd" or "sharding_indexed".
pub fn has_codec(name: &str) -> bool {
    codec::has(name) || codec::is_of_arrays(name)
}

/// A codec and its settings.
#[derive(Debug, PartialEq)]
pub(crate) enum CodecSpec {
    Known(KnownCodec),
    /// Blocks of N5, which have codecs of their own.
    N5(N5Blocks),
    /// Shards within a shard.
    Shards(InnerShards),
    /// One that is none of the library's, or that it was built without.
    Own(OwnCodec),
}

/// A codec of the library's.
#[derive(Debug, PartialEq)]
pub(crate) struct KnownCodec {
    pub(super) settings: Settings,
    /// The elements that it is given to encode.
    pub(super) decoded: Elements,
    /// What it makes of them, if that is elements again.
    pub(super) encoded: Elements,
}

/// What the metadata say of the blocks of an array.
#[derive(Debug, PartialEq)]
pub(crate) struct N5Blocks {
    /// The codec as it is written.
    pub(super) written: OwnCodec,
    /// What the elements of a block are encoded with.
    pub(super) codecs: Vec<CodecSpec>,
    /// The lengths of a whole block, of the fastest dimension first.
    pub(super) lens: Vec<usize>,
    pub(super) element_size: usize,
}

/// What the metadata say of shards that are the chunks of a shard.
#[derive(Debug, PartialEq)]
pub(crate) struct InnerShards {
    /// The codec as it is written.
    pub(super) written: OwnCodec,
    /// The lengths of such a shard along the array's axes.
    pub(super) shape: Vec<usize>,
    pub(super) shards: Shards,
}

/// What an object holds that is a shard: the chunks within it, which are encoded one by one, and an index of them.
///
/// Let axis `i` of the shard as it is sharded be the array's axis `p[i]`; without transpositions before sharding `p` is
/// `0, 1, ..`. Then
/// - the index has an entry for each inner chunk, row-major in the axes `p`, the last of them the fastest:
///   [`index_order`](Self::index_order) is `p`;
/// - the elements of an inner chunk are in the order that [`Metadata::order`](super::Metadata::order) says, which is
///   `p` with the transpositions among the inner codecs after it. It differs from `p` only if there are some.
#[derive(Debug, PartialEq)]
pub(crate) struct Shards {
    /// The lengths of the inner chunks along the array's axes. Each divides the shard's.
    pub(crate) inner: Vec<usize>,
    /// The array's axes from the slowest to the fastest of the index; `None` for row-major.
    pub(crate) index_order: Option<Vec<usize>>,
    /// What turns the bytes of an inner chunk into those that are stored, in the order of encoding.
    pub(crate) codecs: Vec<CodecSpec>,
    /// Whether the index is before the chunks, and not behind them.
    pub(crate) index_at_start: bool,
    /// The byte order of the index.
    pub(crate) index_endian: Endian,
    /// Whether the CRC-32C of the index is behind it, in 4 bytes.
    pub(crate) index_checksum: bool,
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
        Ok(CodecSpec::Own(OwnCodec::new(at, name, configuration)?))
    }

    /// Where it stands among others; codecs of the caller's stand anywhere.
    pub(crate) fn stage(&self) -> Option<Stage> {
        match self {
            CodecSpec::Known(known) => Some(known.stage()),
            CodecSpec::N5(_) | CodecSpec::Shards(_) => Some(Stage::ToBytes),
            CodecSpec::Own(_) => None,
        }
    }

    /// Refuses one that comes out otherwise if its elements are transposed before and not behind it.
    pub(super) fn check_commutes(&self, transposition: &At<'_>) -> Result<()> {
        match self {
            CodecSpec::Known(known) if known.stage() == Stage::EachElement => Ok(()),
            CodecSpec::Known(_) | CodecSpec::N5(_) | CodecSpec::Shards(_) => {
                Err(transposition.unsupported("a transposition after a codec that joins elements"))
            }
            CodecSpec::Own(own) => Err(own.unknown()),
        }
    }

    /// Has the elements that it makes be stored in this byte order.
    pub(crate) fn store_as(&mut self, endian: Endian) {
        if let CodecSpec::Known(known) = self {
            known.encoded.endian = if known.encoded.element.word_size() > 1 { endian } else { Endian::Native };
        }
    }

    /// Refuses a codec that is neither the library's nor among these, also where it is within another one.
    pub(super) fn check(&self, own: &CodecRegistry) -> Result<()> {
        match self {
            CodecSpec::Own(codec) if own.find(&codec.name).is_none() => Err(codec.unknown()),
            CodecSpec::Known(_) | CodecSpec::Own(_) => Ok(()),
            CodecSpec::N5(blocks) => blocks.codecs.iter().try_for_each(|codec| codec.check(own)),
            CodecSpec::Shards(inner) => inner.shards.codecs.iter().try_for_each(|codec| codec.check(own)),
        }
    }

    /// Has the axes be those of an array, which are listed for them.
    pub(super) fn place_axes(&mut self, axes: &[usize]) -> Result<()> {
        if let CodecSpec::Shards(inner) = self {
            inner.shape = spread(&inner.shape, axes)?;
            inner.shards.place_axes(axes)?;
        }
        Ok(())
    }

    /// The codec as it is written, unless that follows from its settings.
    pub(super) fn written(&self) -> Option<&OwnCodec> {
        match self {
            CodecSpec::Known(_) => None,
            CodecSpec::N5(N5Blocks { written, .. })
            | CodecSpec::Shards(InnerShards { written, .. })
            | CodecSpec::Own(written) => Some(written),
        }
    }

    /// What it makes of these elements.
    pub(crate) fn encoded(&self, elements: Elements) -> Elements {
        match self {
            CodecSpec::Known(known) => known.encoded,
            CodecSpec::N5(_) | CodecSpec::Shards(_) | CodecSpec::Own(_) => elements,
        }
    }
}

impl Shards {
    /// Has the axes be those of an array, which are listed for them.
    pub(super) fn place_axes(&mut self, axes: &[usize]) -> Result<()> {
        self.inner = spread(&self.inner, axes)?;
        let order = match self.index_order.take() {
            Some(order) => placed(&order, axes)?,
            None => alloc::copied(axes)?,
        };
        self.index_order = order_of(order);
        self.codecs.iter_mut().try_for_each(|codec| codec.place_axes(axes))
    }
}

impl KnownCodec {
    pub(super) fn stage(&self) -> Stage {
        self.settings.definition().stage
    }
}

impl OwnCodec {
    /// A codec at a place in a document.
    pub(super) fn new(at: &At<'_>, name: &str, configuration: Option<&Value>) -> Result<Self> {
        let at = Name::of(format_args!("{at}"))?;
        OwnCodec::at(&at, name, configuration)
    }

    fn at(at: &str, name: &str, configuration: Option<&Value>) -> Result<Self> {
        // In v2 the name is among the members.
        let configuration = configuration.unwrap_or(&Value::Null).copied_members(|name| name != "id")?;
        Ok(OwnCodec { name: alloc::text(name)?, configuration, at: alloc::text(at)? })
    }

    /// The error that there is no such codec.
    #[cold]
    pub(super) fn unknown(&self) -> Error {
        let name = self.name.strip_prefix("numcodecs.").unwrap_or(&self.name);
        let error = if codec::is_known(name) || codec::is_of_arrays(name) {
            codec::not_built_in(&self.name)
        } else {
            ErrorKind::Codec("unknown codec; add it with nczchunk_storage_add_codec").in_object(&self.name)
        };
        error.in_object(&self.at)
    }
}

/// The codec of an object of v2's. The caller's `own` codecs come before the library's.
pub(super) fn read_v2(at: At<'_>, elements: Elements, own: &CodecRegistry) -> Result<CodecSpec> {
    let id = at.require("id")?.text()?;
    match find_v2(id).filter(|_| own.find(id).is_none()) {
        Some(definition) => {
            let of = Of { elements, format: Format::V2, is_new: false, is_taken: false };
            Ok(CodecSpec::Known(of.read(definition, Some(&at))?))
        }
        None => CodecSpec::own(&at, id, Some(at.value())),
    }
}

/// The codec of a name of v3's; `None` if it is none of the library's that metadata make of elements or bytes.
pub(super) fn read_v3(name: &str, configuration: Option<&At<'_>>, elements: Elements) -> Result<Option<KnownCodec>> {
    let of = Of { elements, format: Format::V3, is_new: false, is_taken: false };
    find_v3(name).map(|definition| of.read(definition, configuration)).transpose()
}

/// The codec of a name and the text of a configuration, which is a JSON object, or a number, which is the first setting
/// that is one; an empty one stands for the defaults. It is a name of v2's or of v3's, or one of the caller's `own`
/// codecs. If it is taken from another array, the types in the configuration get the byte order of the elements.
///
/// # Errors
/// `Metadata` for a configuration that is malformed; `Argument` for one of other elements than these; `Setting`,
/// `UnknownSetting`, `OutOfMemory`.
pub(crate) fn codec_named(
    name: &str,
    configuration: &str,
    (elements, is_taken): (Elements, bool),
    format: Format,
    own: &CodecRegistry,
) -> Result<CodecSpec> {
    let about = |error: Error| error.in_object(name);
    let id = name.strip_prefix("numcodecs.").unwrap_or(name);
    let definition = match format {
        _ if own.find(name).is_some() => None,
        Format::V2 => find_v2(id),
        Format::V3 => find_v3(name).or_else(|| find_v2(id)),
    };
    let mut configuration = match configuration {
        "" => Value::Object(Vec::new()),
        text => json::read(text.as_bytes()).map_err(about)?,
    };
    if configuration.as_number().is_some() {
        let settings = definition.map_or(&[][..], |definition| definition.settings);
        let is_number = |setting: &&Setting| matches!(setting.kind, Kind::Integer { .. } | Kind::Size { .. });
        let none = || about(ErrorKind::Argument("the codec has no setting that is a number").into());
        let setting = settings.iter().find(is_number).ok_or_else(none)?;
        configuration = Value::object([(setting.name, configuration)])?;
    }
    let at = At::root(&configuration);
    at.check_object().map_err(about)?;
    match definition {
        Some(definition) => {
            let of = Of { elements, format, is_new: true, is_taken };
            Ok(CodecSpec::Known(of.read(definition, Some(&at)).map_err(about)?))
        }
        None => Ok(CodecSpec::Own(OwnCodec::at("", name, Some(&configuration))?)),
    }
}

fn find_v2(id: &str) -> Option<&'static Definition> {
    codec::definitions().find(|codec| codec.v2 == id && !id.is_empty())
}

fn find_v3(name: &str) -> Option<&'static Definition> {
    codec::definitions()
        .find(|codec| codec.v3 == name && !name.is_empty())
        .or_else(|| codec::definitions().find(|codec| codec.has_v3(name)))
}

/// What a codec is read for: the elements that it is given, the version that spells it, and whether it is one of a new
/// array, of which the settings have to be the codec's own, in their ranges and about these elements. One that is taken
/// from another array has types in another byte order.
#[derive(Clone, Copy)]
struct Of {
    elements: Elements,
    format: Format,
    is_new: bool,
    is_taken: bool,
}

impl Of {
    /// The codec with the settings of a configuration.
    fn read(self, definition: &'static Definition, configuration: Option<&At<'_>>) -> Result<KnownCodec> {
        let mut settings = Settings::new(definition)?;
        if let Some(configuration) = configuration {
            for (name, at) in configuration.members()? {
                if (self.is_new || definition.is_closed) && name != "id" && definition.setting(name).is_none() {
                    return Err(at.error(ErrorKind::UnknownSetting(SettingNames(definition.settings))));
                }
            }
            for setting in definition.settings {
                if let Some(at) = configuration.given(setting.name) {
                    settings.set(setting.name, self.given(setting, &at)?);
                } else if setting.is_required {
                    return Err(configuration
                        .require(setting.name)
                        .map_or_else(|error| error, |at| at.malformed("null is not allowed here")));
                }
            }
        } else if definition.settings.iter().any(|setting| setting.is_required) {
            return Err(ErrorKind::Metadata("the configuration is missing").into());
        }
        (definition.check)(&mut settings, self.elements).map_err(|error| match configuration {
            Some(at) => at.error(error),
            None => error,
        })?;
        if let Some(at) = configuration.and_then(|at| at.given("dtype")).filter(|_| self.is_new) {
            self.check_dtype(&settings).map_err(|error| at.error(error))?;
        }
        let encoded = (definition.encoded)(&settings, self.elements);
        Ok(KnownCodec { settings, decoded: self.elements, encoded })
    }

    /// Refuses a type of numbers that are not the elements: these would be read as other numbers, of which those that
    /// the codec makes narrower are lost. Times and what is no number have types of numbers that stand for them.
    fn check_dtype(self, settings: &Settings) -> Result<()> {
        const WRONG: ErrorKind = ErrorKind::Argument("the type is not that of the elements, byte order included");
        let Elements { element, endian } = self.elements;
        let mut types = settings.iter().filter(|(setting, _)| setting.name == "dtype");
        let Some((_, Given::Elements(Some(decoded)))) = types.next() else { return Ok(()) };
        let is_same = match element.kind() {
            ElementKind::Signed(_) | ElementKind::Unsigned(_) | ElementKind::Float(_) | ElementKind::Complex(_) => {
                decoded.element == element
            }
            _ => decoded.element.size() == element.size(),
        };
        let is_ordered = element.word_size() <= 1 || decoded.endian.is_foreign() == endian.is_foreign();
        if is_same && is_ordered { Ok(()) } else { Err(WRONG.into()) }
    }

    /// What is given for a setting.
    fn given(self, setting: &Setting, at: &At<'_>) -> Result<Given> {
        // What is stored beyond the range counts as the nearest; what is to be written is refused.
        let in_range = |value: i64, least: i64, most: i64| {
            if self.is_new && !(least..=most).contains(&value) {
                return Err(at.error(ErrorKind::Setting { least, most, found: value }));
            }
            Ok(Given::Integer(value.clamp(least, most)))
        };
        match setting.kind {
            Kind::Integer { least, most, .. } => in_range(number(at)?, least, most),
            Kind::Size { most } => match number(at)? {
                value if value < 0 => Err(at.malformed("expected a non-negative integer")),
                value => in_range(value, 0, most),
            },
            Kind::Flag => Ok(Given::Integer(match at.value() {
                Value::Bool(flag) => i64::from(*flag),
                _ => i64::from(number(at)? != 0),
            })),
            Kind::Number => {
                let number = at.value().as_f64().or(at.value().as_str().and_then(|text| text.trim().parse().ok()));
                number.map(Given::Number).ok_or_else(|| at.malformed("expected a number"))
            }
            Kind::Dtype => {
                let spelt = at.text()?;
                // numpy takes names, too, which are of words in the machine's order.
                let (element, endian) = match dtype::parse(spelt) {
                    Some(parsed) => parsed,
                    None => (spelt.parse().map_err(|error| at.error(error))?, Endian::Native),
                };
                // In Zarr v3 the byte order is what the codec `bytes` says. zarr-python swaps words if the name says
                // that they are big-endian.
                let endian = match self.format {
                    _ if self.is_taken => self.elements.endian,
                    Format::V2 => endian,
                    Format::V3 if spelt.starts_with('>') && element.word_size() > 1 => {
                        return Err(at.unsupported(
                            "a big-endian type name in Zarr v3, where the codec bytes sets the byte order",
                        ));
                    }
                    Format::V3 => self.elements.endian,
                };
                Ok(Given::Elements(Some(Elements { element, endian })))
            }
            Kind::DataType => {
                let element = data_type::read(*at)?.element;
                Ok(Given::Elements(Some(Elements { element, endian: Endian::Native })))
            }
            Kind::Element => {
                let dialect = Dialect { format: Format::V3, is_nczarr: false };
                let bytes = fill::read(*at, self.elements.element, dialect)?;
                bytes.map(Given::Bytes).ok_or_else(|| at.malformed("expected an element"))
            }
            Kind::Word { words, aliases, first, unknown, .. } => {
                let text = at.value().as_str();
                let position = text.and_then(|text| {
                    let among = words.iter().zip(0..).chain(aliases.iter().map(|(alias, position)| (alias, *position)));
                    among.into_iter().find(|(word, _)| **word == text).map(|(_, position)| position)
                });
                let position = match (position, first) {
                    (None, Some(first)) => number(at).ok().map(|number| number - first),
                    _ => position,
                };
                let position = position.filter(|position| (0..words.len() as i64).contains(position));
                position.map(Given::Integer).ok_or_else(|| {
                    let kind = if first.is_some() { ErrorKind::Metadata(unknown) } else { ErrorKind::Codec(unknown) };
                    at.error(kind.in_object(text.unwrap_or_default()))
                })
            }
        }
    }
}

/// A number of a configuration, which netCDF-C before 4.10 writes as a text.
fn number(at: &At<'_>) -> Result<i64> {
    let text = at.value().as_number().or(at.value().as_str().map(str::trim));
    let number: Option<i32> = text.and_then(|text| text.parse().ok());
    number.map(i64::from).ok_or_else(|| at.malformed("expected an integer of 32 bits"))
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;
    use crate::element::ElementType;
    use crate::json::compact;

    /// A codec as Zarr v2 writes it, all that is set included.
    pub(in crate::zarr) fn shown(codec: &CodecSpec) -> String {
        let mut all = codec.id().to_owned();
        match codec {
            CodecSpec::Known(known) => {
                for (setting, given) in known.settings.iter() {
                    let given = match (setting.kind, given) {
                        (Kind::Word { .. }, _) => known.settings.word(setting.name).to_owned(),
                        (_, Given::Integer(value)) => value.to_string(),
                        (_, Given::Elements(elements)) => format!("{:?}", elements.map(|elements| elements.element)),
                        (_, given) => format!("{given:?}"),
                    };
                    all += &format!(" {}={given}", setting.name);
                }
            }
            other => all += &compact(&other.written().unwrap().configuration).unwrap(),
        }
        all
    }

    /// The codecs of a list.
    pub(in crate::zarr) fn all_shown(codecs: &[CodecSpec]) -> Vec<String> {
        codecs.iter().map(shown).collect()
    }

    /// Elements of this type in the machine's byte order.
    #[allow(dead_code, reason = "tests of codecs use it, and all of these can be left out")]
    pub(in crate::zarr) fn of(element: ElementType) -> Elements {
        Elements { element, endian: Endian::Native }
    }
}

#[cfg(all(test, feature = "codecs"))]
mod tests {
    use super::testing::{of, shown};
    use super::*;
    use crate::element::ElementType;
    use crate::json::read;

    fn v2(text: &str) -> Result<String> {
        Ok(shown(&read_v2(At::root(&read(text.as_bytes())?), of(ElementType::Short), &CodecRegistry::default())?))
    }

    #[test]
    fn writers_codecs_of_v2_are_read() {
        for (text, codec) in [
            (r#"{"id":"zstd","level":0}"#, "zstd level=0 checksum=0"),
            (r#"{"id":"zstd","level":-3,"checksum":true}"#, "zstd level=-3 checksum=1"),
            (r#"{"id":"zlib","level":"4"}"#, "zlib level=4"),
            (r#"{"id":"gzip"}"#, "gzip level=1"),
            (r#"{"id":"lz4","acceleration":1}"#, "lz4 acceleration=1"),
            (r#"{"id":"shuffle","elementsize":0}"#, "shuffle elementsize=2"),
            (r#"{"id":"shuffle"}"#, "shuffle elementsize=2"),
            (r#"{"id":"shuffle","elementsize":4}"#, "shuffle elementsize=4"),
            (r#"{"id":"crc32c"}"#, "crc32c location=end"),
            (r#"{"id":"crc32c","location":"start"}"#, "crc32c location=start"),
            (r#"{"id":"crc32","location":"end"}"#, "crc32 location=end"),
            (r#"{"id":"adler32"}"#, "adler32 location=start"),
            (r#"{"id":"fletcher32"}"#, "fletcher32"),
            (
                r#"{"id":"blosc","cname":"lz4","clevel":5,"shuffle":-1,"blocksize":0}"#,
                "blosc cname=lz4 clevel=5 shuffle=shuffle blocksize=0 typesize=2",
            ),
            // What is to be written has its ranges; what is stored is taken as the nearest.
            (r#"{"id":"gzip","level":99,"x":1}"#, "gzip level=9"),
        ] {
            assert_eq!(v2(text).unwrap(), codec);
        }
    }

    #[test]
    fn shuffles_and_flags_have_several_spellings() {
        let shuffle = |spelt: &str| v2(&format!(r#"{{"id":"blosc","shuffle":{spelt}}}"#)).ok();
        for (spelt, due) in [
            (["0", "\"0\"", "\"noshuffle\"", "\"NONE\""], "noshuffle"),
            (["1", "\"1\"", "\"shuffle\"", "\"BYTE\""], "shuffle"),
            (["2", "\"2\"", "\"bitshuffle\"", "\"BIT\""], "bitshuffle"),
        ] {
            let due = format!("blosc cname=lz4 clevel=5 shuffle={due} blocksize=0 typesize=2");
            assert!(spelt.iter().all(|spelt| shuffle(spelt).as_deref() == Some(&due)), "{spelt:?}");
        }
        assert_eq!((shuffle("\"x\""), shuffle("\"-2\"")), (None, None));
        for (spelt, checksum) in [("0", 0), ("1", 1), ("\"1\"", 1), ("false", 0)] {
            let zstd = v2(&format!(r#"{{"id":"zstd","checksum":{spelt}}}"#)).unwrap();
            assert_eq!(zstd, format!("zstd level=0 checksum={checksum}"), "{spelt}");
        }
    }

    #[test]
    fn names_of_v3_are_read() {
        let value = read(br#"{"typesize":4,"cname":"zstd","clevel":5,"shuffle":"bitshuffle","blocksize":8}"#).unwrap();
        let at = At::root(&value);
        let v3 = |name, at, element| {
            read_v3(name, at, of(element)).unwrap().map(|codec| shown(&CodecSpec::Known(codec))).unwrap_or_default()
        };
        let expected = "blosc cname=zstd clevel=5 shuffle=bitshuffle blocksize=8 typesize=4";
        assert_eq!(v3("blosc", Some(&at), ElementType::Byte), expected);
        assert_eq!(v3("numcodecs.shuffle", None, ElementType::Double), "shuffle elementsize=8");
        assert_eq!(v3("numcodecs.lz4", None, ElementType::Double), "lz4 acceleration=1");
        assert_eq!(v3("zlib", None, ElementType::Double), "zlib level=1");
        for name in ["numcodecs.pcodec", "lz4", "", "numcodecs."] {
            assert_eq!(v3(name, None, ElementType::Double), "", "{name}");
        }
    }

    fn named(name: &str, configuration: &str) -> Result<CodecSpec> {
        codec_named(name, configuration, (of(ElementType::Int), false), Format::V3, &CodecRegistry::default())
    }

    #[test]
    fn a_codec_is_found_by_its_name() {
        let shown = |name, configuration| shown(&named(name, configuration).unwrap());
        assert_eq!(shown("zstd", "{\"level\": 7}"), "zstd level=7 checksum=0");
        assert_eq!(shown("zstd", "7"), "zstd level=7 checksum=0");
        assert_eq!(shown("blosc", "7"), "blosc cname=lz4 clevel=7 shuffle=shuffle blocksize=0 typesize=4");
        assert_eq!(shown("numcodecs.shuffle", ""), "shuffle elementsize=4");
        assert_eq!(shown("lz4", "{}"), "lz4 acceleration=1");
        let CodecSpec::Own(own) = named("pcodec", "{\"level\": 1}").unwrap() else { panic!() };
        assert_eq!((own.unknown().about(), own.configuration.members().len()), ("pcodec", 1));
        assert_eq!(named("zlib", "{\"level\": {}}").unwrap_err().about(), "zlib: $.level");
        assert_eq!(named("zlib", "[1]").unwrap_err().about(), "zlib: $");
        assert_eq!(named("zlib", "{").unwrap_err().kind().status(), crate::status::ENCZARR);
    }

    #[test]
    fn what_is_to_be_written_is_in_its_range() {
        for (name, configuration, message) in [
            ("zstd", "99", "zstd: $.level: expected an integer from -131072 to 22, found 99"),
            ("zstd", r#"{"levl":3}"#, "zstd: $.levl: unknown setting; the codec has: level, checksum"),
            ("gzip", r#"{"level":-1}"#, "gzip: $.level: expected an integer from 0 to 9, found -1"),
            ("fletcher32", r#"{"level":1}"#, "fletcher32: $.level: unknown setting; the codec has: none"),
            ("crc32c", "3", "crc32c: the codec has no setting that is a number"),
            ("blosc", r#"{"typesize":256}"#, "blosc: $.typesize: expected an integer from 0 to 255, found 256"),
            ("blosc", r#"{"clevel":42}"#, "blosc: $.clevel: expected an integer from 0 to 9, found 42"),
        ] {
            let error = named(name, configuration).unwrap_err();
            assert_eq!((error.to_string().as_str(), error.status()), (message, crate::status::EINVAL));
        }
    }

    #[test]
    fn a_word_that_a_setting_does_not_have_is_refused_with_those_it_has() {
        for (name, configuration, words) in [
            ("blosc", r#"{"cname":"zst"}"#, "expected lz4, lz4hc, zlib or zstd"),
            ("blosc", r#"{"shuffle":"bits"}"#, "expected noshuffle, shuffle, bitshuffle or autoshuffle"),
            ("crc32c", r#"{"location":"middle"}"#, "expected start or end"),
            ("gzip", r#"{"level":"high"}"#, "expected an integer of 32 bits"),
        ] {
            let message = named(name, configuration).unwrap_err().to_string();
            assert!(message.starts_with(name) && message.contains(words), "{message}");
        }
    }

    #[test]
    fn others_are_refused_by_name_or_storage() {
        let value = read(br#"{"id":"pcodec","level":1}"#).unwrap();
        let CodecSpec::Own(own) = read_v2(At::root(&value), of(ElementType::Int), &CodecRegistry::default()).unwrap()
        else {
            panic!()
        };
        assert_eq!(own.configuration.members().len(), 1);
        let error = own.unknown();
        let unknown = ErrorKind::Codec("unknown codec; add it with nczchunk_storage_add_codec");
        assert_eq!((error.kind(), error.about()), (unknown, "$: pcodec"));
        for (text, about) in [
            (r#"{"id":"blosc","cname":"x"}"#, "$.cname: x"),
            (r#"{"id":"blosc","shuffle":3}"#, "$.shuffle"),
            (r#"{"id":"blosc","blocksize":-1}"#, "$.blocksize"),
            (r#"{"id":"zlib","level":"x"}"#, "$.level"),
            (r#"{"id":"zlib","level":99999999999}"#, "$.level"),
            (r#"{"id":"shuffle","elementsize":-1}"#, "$.elementsize"),
            (r#"{"id":"crc32c","location":"middle"}"#, "$.location: middle"),
            (r#"{"level":1}"#, "$.id"),
            (r#"{"id":1}"#, "$.id"),
        ] {
            assert_eq!(v2(text).unwrap_err().about(), about, "{text}");
        }
    }
}
