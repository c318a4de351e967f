//! The metadata of a cfdb file: which variables there are, their shapes and types, how chunks are compressed.
//!
//! A coordinate has a shape of one dimension and an origin, which is the global index of its first element. A data
//! variable has the names of its coordinates, and these have its shape and its origins. The source is cfdb 0.11,
//! `data_models.py`.

use super::data_type::{DataType, data_type};
use crate::alloc;
use crate::error::{ErrorKind, Result};
use crate::json::{self, At, Value};
use crate::limits::Limit;

/// The latest version of the format.
const FORMAT_VERSION: usize = 1;
/// The longest name that cfdb gives a variable, in bytes.
const LONGEST_NAME: usize = 256;

/// What the metadata say that is not of one variable.
#[derive(Debug)]
pub(super) struct Metadata {
    document: Value,
    pub(super) compression: Compression,
    /// Whether the file holds what has been fetched of a remote one, so that what is absent may be there.
    pub(super) is_remote: bool,
}

/// How chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Compression {
    pub(super) is_lz4: bool,
    /// Whether the bytes of an element are in planes.
    pub(super) is_shuffled: bool,
}

/// A variable.
#[derive(Debug)]
pub(super) struct VariableMetadata {
    pub(super) shape: Vec<usize>,
    pub(super) origins: Vec<isize>,
    pub(super) chunk_shape: Vec<usize>,
    /// The names of its coordinates; of a coordinate its own.
    pub(super) coordinates: Vec<String>,
    pub(super) data_type: DataType,
    pub(super) units: Option<String>,
    pub(super) axis: Option<String>,
}

impl Metadata {
    /// # Errors
    /// `Metadata`; `Unsupported` for a later version and for compressions that are not known.
    pub(super) fn read(text: &[u8], limit: Limit) -> Result<Self> {
        let document = json::read_within(text, limit)?;
        let root = At::root(&document);
        root.check_object()?;
        if let Some(version) = root.given("format_version") {
            if version.usize()? > FORMAT_VERSION {
                return Err(version.unsupported("cfdb files of a newer version"));
            }
        }
        let compression = root.require("compression")?;
        let (is_lz4, is_shuffled) = match compression.text()? {
            "zstd" => (false, false),
            "lz4" => (true, false),
            "zstd_shuffle" => (false, true),
            "lz4_shuffle" => (true, true),
            _ => return Err(compression.unsupported("this compression")),
        };
        let compression = Compression { is_lz4, is_shuffled };
        let is_remote = match root.given("remote") {
            Some(remote) => remote.value().as_bool().ok_or_else(|| remote.malformed("expected true or false"))?,
            None => false,
        };
        if let Some(variables) = root.given("variables") {
            variables.check_object()?;
        }
        Ok(Metadata { document, compression, is_remote })
    }

    fn variables(&self) -> &Value {
        self.document.get("variables").unwrap_or(&Value::Null)
    }

    /// The names of all variables in their order, each once.
    pub(super) fn names(&self) -> Result<Vec<&str>> {
        let names = alloc::collected(self.variables().members().iter().map(|(name, _)| &**name))?;
        // Of several variables of one name the last counts.
        let mut sorted = alloc::copied(&names)?;
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| matches!(pair, [one, other] if one == other)) {
            return Err(ErrorKind::Metadata("two variables have one name").in_object("$.variables"));
        }
        Ok(names)
    }

    /// The text that a coordinate reference system is written as, if the file has one.
    pub(super) fn reference_system(&self) -> Option<&str> {
        self.document.get("crs").and_then(Value::as_str)
    }

    /// A variable.
    ///
    /// # Errors
    /// `NotFound`, `Metadata`, `Unsupported`, `ElementType`.
    pub(super) fn variable(&self, name: &str) -> Result<VariableMetadata> {
        let root = At::root(&self.document);
        let variables = root.get("variables");
        let variable = variables.as_ref().and_then(|variables| variables.get(name));
        let variable = variable.ok_or(ErrorKind::NotFound("variable"))?;
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        if name.len() > LONGEST_NAME || name.is_empty() || !name.bytes().all(is_letter) {
            return Err(variable.malformed("this name is not valid for a variable"));
        }
        let (mut shape, mut origins, mut coordinates) = (Vec::new(), Vec::new(), Vec::new());
        if is_coordinate(&variable)? {
            alloc::push(&mut coordinates, alloc::text(name)?)?;
        } else {
            for coordinate in variable.require("coords")?.items()? {
                alloc::push(&mut coordinates, alloc::text(coordinate.text()?)?)?;
            }
        }
        for coordinate in &coordinates {
            let coordinate = variables.as_ref().and_then(|variables| variables.get(coordinate));
            let Some(coordinate) = coordinate.filter(|coordinate| is_coordinate(coordinate).unwrap_or(false)) else {
                return Err(variable.malformed("one of its coordinates is missing"));
            };
            alloc::push(&mut shape, one(&coordinate.require("shape")?)?)?;
            let origin = coordinate.given("origin").map(|origin| {
                let number = origin.value().as_i64().and_then(|number| isize::try_from(number).ok());
                number.ok_or_else(|| origin.malformed("expected an integer"))
            });
            alloc::push(&mut origins, origin.transpose()?.unwrap_or(0))?;
        }
        let chunk_shape = variable.require("chunk_shape")?;
        let chunk_lens = chunk_shape.usizes()?;
        if chunk_lens.len() != shape.len() || chunk_lens.contains(&0) {
            return Err(chunk_shape.malformed("there must be one length of at least 1 for each coordinate"));
        }
        let text = |name: &str| variable.value().get(name).and_then(Value::as_str).map(alloc::text).transpose();
        Ok(VariableMetadata {
            shape,
            origins,
            chunk_shape: chunk_lens,
            coordinates,
            data_type: data_type(&variable.require("dtype")?)?,
            units: text("units")?,
            axis: text("axis")?,
        })
    }
}

/// Whether a variable is a coordinate, and not a data variable.
fn is_coordinate(variable: &At<'_>) -> Result<bool> {
    let tag = variable.require("type")?;
    match tag.text()? {
        "coord" => Ok(true),
        "data_var" => Ok(false),
        _ => Err(tag.malformed("the variable is neither a coordinate nor a data variable")),
    }
}

/// The one number of a list.
fn one(at: &At<'_>) -> Result<usize> {
    match at.usizes()?.as_slice() {
        [number] => Ok(*number),
        _ => Err(at.malformed("a coordinate must have one dimension")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::ElementType;

    const TEXT: &str = r#"{"dataset_type":"grid","compression":"zstd_shuffle","compression_level":1,"variables":{
        "y":{"type":"coord","shape":[7],"chunk_shape":[4],"dtype":{"name":"int16"},"origin":-3,"axis":"y"},
        "x":{"type":"coord","shape":[5],"chunk_shape":[5],"dtype":{"name":"float64"},"origin":null},
        "v":{"type":"data_var","chunk_shape":[2,3],"coords":["y","x"],"dtype":{"name":"int8"},"units":"K"}
        },"crs":"EPSG:4326","remote":false,"format_version":1}"#;

    fn changed(from: &str, to: &str) -> Metadata {
        assert!(TEXT.contains(from));
        Metadata::read(TEXT.replace(from, to).as_bytes(), Limit::NONE).unwrap()
    }

    #[test]
    fn shapes_and_origins_are_those_of_the_coordinates() {
        let metadata = Metadata::read(TEXT.as_bytes(), Limit::NONE).unwrap();
        assert_eq!(metadata.names().unwrap(), ["y", "x", "v"]);
        assert_eq!((metadata.is_remote, metadata.reference_system()), (false, Some("EPSG:4326")));
        assert_eq!(metadata.compression, Compression { is_lz4: false, is_shuffled: true });
        let v = metadata.variable("v").unwrap();
        assert_eq!((&v.shape[..], &v.origins[..], &v.chunk_shape[..]), (&[7, 5][..], &[-3, 0][..], &[2, 3][..]));
        assert_eq!(
            (&v.coordinates[..], v.data_type.stored),
            (&["y".to_owned(), "x".to_owned()][..], ElementType::Byte)
        );
        assert_eq!(v.units.as_deref(), Some("K"));
        let y = metadata.variable("y").unwrap();
        assert_eq!((&y.shape[..], &y.origins[..], &y.coordinates[..]), (&[7][..], &[-3][..], &["y".to_owned()][..]));
        assert_eq!(y.axis.as_deref(), Some("y"));
        assert_eq!(metadata.variable("z").unwrap_err().kind(), ErrorKind::NotFound("variable"));
    }

    #[test]
    fn what_does_not_fit_together_is_malformed() {
        for (from, to, place) in [
            (r#"["y","x"]"#, r#"["y","v"]"#, "$.variables.v"),
            (r#"["y","x"]"#, r#"["y","z"]"#, "$.variables.v"),
            (r#"["y","x"]"#, r#"["y"]"#, "$.variables.v.chunk_shape"),
            (r#"[2,3]"#, r#"[2,0]"#, "$.variables.v.chunk_shape"),
            (r#"[7]"#, r#"[7,1]"#, "$.variables.y.shape"),
            (r#"[7]"#, r#"[-7]"#, "$.variables.y.shape[0]"),
            (r#""origin":-3"#, r#""origin":0.5"#, "$.variables.y.origin"),
            (r#""data_var""#, r#""x""#, "$.variables.v.type"),
        ] {
            let metadata = changed(from, to);
            let error = metadata.variable("v").unwrap_err();
            assert!(matches!(error.kind(), ErrorKind::Metadata(_)), "{error}");
            assert_eq!(error.about(), place);
        }
        for (from, to) in [
            ("zstd_shuffle", "brotli"),
            (r#""format_version":1"#, r#""format_version":2"#),
            (r#""remote":false"#, r#""remote":1"#),
            (r#""compression":"#, r#""compressed":"#),
        ] {
            assert!(Metadata::read(TEXT.replace(from, to).as_bytes(), Limit::NONE).is_err(), "{to}");
        }
        let bad_name = changed(r#""v":"#, r#""v!0.0":"#);
        assert!(matches!(bad_name.variable("v!0.0").unwrap_err().kind(), ErrorKind::Metadata(_)));
        assert!(changed(r#""x":"#, r#""y":"#).names().is_err());
        for (len, is_name) in [(0, false), (1, true), (LONGEST_NAME, true), (LONGEST_NAME + 1, false)] {
            let name = "v".repeat(len);
            let metadata = changed(r#""v":"#, &format!(r#""{name}":"#));
            assert_eq!(metadata.variable(&name).is_ok(), is_name, "{len}");
        }
    }
}
