//! Zarr v2: `.zarray` and `.zattrs`, written.

use super::dtype;
use super::fill::Dialect;
use super::format::Format;
use super::metadata::{KeyEncoding, Metadata};
use super::nczarr::ARRAY_DIMENSIONS;
use super::write_fill;
use crate::alloc;
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::json::{self, Value};

/// The text of `.zarray`.
///
/// # Errors
/// `Unsupported` for what Zarr v2 does not have: shards, other orders than C and F, and the keys of v3; `Argument` for
/// a fill value that is not one element; `OutOfMemory`.
pub(crate) fn write_array_v2(metadata: &Metadata) -> Result<String> {
    if metadata.shards.is_some() {
        return Err(ErrorKind::Unsupported("shards in Zarr v2").into());
    }
    if metadata.keys.style != KeyEncoding::V2 {
        return Err(ErrorKind::Unsupported("chunk keys of Zarr v3 in Zarr v2").into());
    }
    let rank = metadata.shape.len();
    let order = match &metadata.order {
        None => "C",
        Some(axes) if axes.iter().copied().eq((0..rank).rev()) => "F",
        Some(_) => return Err(ErrorKind::Unsupported("a dimension order other than C and F in Zarr v2").into()),
    };
    // The last codec is the compressor if it is one; what is before it are filters.
    let (compressor, filters) = match metadata.codecs.split_last() {
        Some((last, before)) if last.is_compressor() => (last.write_v2()?, before),
        _ => (Value::Null, metadata.codecs.as_slice()),
    };
    let mut list = Vec::new();
    if metadata.element == ElementType::String {
        alloc::push(&mut list, Value::object([("id", Value::text("vlen-utf8")?)])?)?;
    }
    for filter in filters {
        alloc::push(&mut list, filter.write_v2()?)?;
    }
    let dialect = Dialect { format: Format::V2, is_nczarr: metadata.is_nczarr };
    let fill_value = write_fill::write(metadata.fill_value.as_deref(), metadata.element, dialect)?;
    json::indented(&Value::object([
        ("zarr_format", Value::number(2)?),
        ("shape", Value::numbers(&metadata.shape)?),
        ("chunks", Value::numbers(&metadata.chunk_shape)?),
        ("dtype", dtype::write(metadata.element, metadata.endian)?),
        ("compressor", compressor),
        ("fill_value", fill_value),
        ("order", Value::text(order)?),
        ("filters", if list.is_empty() { Value::Null } else { Value::List(list) }),
        ("dimension_separator", Value::text_of(metadata.keys.separator.as_char())?),
    ])?)
}

/// The text of `.zattrs`: the attributes, with the dimensions' names if each has one and no attribute says them.
pub(crate) fn write_attributes_v2(metadata: &Metadata) -> Result<String> {
    let mut attributes = metadata.attributes.copied()?;
    let names = &metadata.dimension_names;
    if attributes.get(ARRAY_DIMENSIONS).is_none() && names.iter().all(Option::is_some) {
        attributes.push(ARRAY_DIMENSIONS, Value::list(names.iter().flatten().map(|name| Value::text(name)))?)?;
    }
    json::indented(&attributes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zarr::read_v2;

    #[test]
    fn what_is_written_is_read() {
        let text = r#"{"shape":[4,5],"chunks":[2,9],"dtype":">f4","fill_value":"NaN","order":"F","filters":
            [{"id":"shuffle","elementsize":4}],"dimension_separator":"/","compressor":{"id":"zlib","level":1},
            "zarr_format":2}"#;
        let mut array = read_v2(text.as_bytes(), Some(br#"{"units":"m"}"#)).unwrap();
        array.dimension_names = vec![Some("y".to_owned()), Some("x".to_owned())];
        let written = write_array_v2(&array).unwrap();
        let mut expected = json::read(text.as_bytes()).unwrap();
        let again = json::read(written.as_bytes()).unwrap();
        for (name, value) in again.members() {
            assert_eq!(expected.take(name).as_ref(), Some(value), "{name:?}");
        }
        let attributes = write_attributes_v2(&array).unwrap();
        assert_eq!(attributes, "{\n  \"units\": \"m\",\n  \"_ARRAY_DIMENSIONS\": [\"y\", \"x\"]\n}\n");
        let again = read_v2(written.as_bytes(), Some(attributes.as_bytes())).unwrap();
        assert_eq!((&again.codecs, &again.order), (&array.codecs, &array.order));
        assert_eq!((again.fill_value, again.dimension_names), (array.fill_value, array.dimension_names));
    }

    #[test]
    fn other_orders_are_refused_and_names_are_written_once() {
        let text = r#"{"shape":[4,5],"chunks":[2,9],"dtype":"|u1","fill_value":0,"order":"F","filters":null,
            "compressor":null,"zarr_format":2}"#;
        let read = |attributes: &str| read_v2(text.as_bytes(), Some(attributes.as_bytes())).unwrap();
        let mut array = read(r#"{"_ARRAY_DIMENSIONS":["y","x"]}"#);
        assert_eq!(write_attributes_v2(&array).unwrap().matches("_ARRAY_DIMENSIONS").count(), 1);
        array.order = Some(vec![0, 1]);
        let error = write_array_v2(&array).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported("a dimension order other than C and F in Zarr v2"));
        assert_eq!(write_attributes_v2(&read("{}")).unwrap(), "{}\n");
    }

    #[test]
    fn a_checksum_at_the_end_is_a_filter() {
        let text = r#"{"shape":[4],"chunks":[2],"dtype":"|O","fill_value":null,"order":"C","filters":
            [{"id":"vlen-utf8"},{"id":"zstd","level":0}],"compressor":{"id":"crc32c"},"zarr_format":2}"#;
        let array = read_v2(text.as_bytes(), None).unwrap();
        let written = json::read(write_array_v2(&array).unwrap().as_bytes()).unwrap();
        let filters = json::compact(written.get("filters").unwrap()).unwrap();
        assert_eq!(filters, r#"[{"id":"vlen-utf8"},{"id":"zstd","level":0},{"id":"crc32c"}]"#);
        assert_eq!(written.get("compressor"), Some(&Value::Null));
    }

    #[test]
    fn keys_of_v3_are_refused() {
        let text = br#"{"shape":[4],"chunks":[2],"dtype":"|u1","fill_value":0,"order":"C","filters":null,
            "compressor":null,"zarr_format":2}"#;
        let mut array = read_v2(text, None).unwrap();
        array.keys.style = KeyEncoding::V3;
        let error = write_array_v2(&array).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Unsupported("chunk keys of Zarr v3 in Zarr v2"));
    }
}
