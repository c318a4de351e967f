//! Zarr v2: `.zarray`, and `.zattrs` beside it.
//!
//! The source is <https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html>. Keys that it does not know are skipped.

use super::attributes;
use super::axes::{order_of, row_major};
use super::codecs::{self, CodecSpec};
use super::dtype;
use super::fill::{self, Dialect};
use super::format::Format;
use super::metadata::{KeyEncoding, Keys, Metadata};
use super::nczarr;
use crate::alloc;
use crate::codec::CodecRegistry;
use crate::dims::check_rank;
use crate::element::{ElementType, Elements};
use crate::error::Result;
#[cfg(test)]
use crate::json;
use crate::json::{At, Value};
use crate::key::Separator;

/// As [`v2_of_values`], from texts.
#[cfg(test)]
pub(crate) fn read_v2(array: &[u8], attributes: Option<&[u8]>) -> Result<Metadata> {
    let array = json::read(array).map_err(|error| error.in_object(".zarray"))?;
    let attributes = attributes.map(json::read).transpose().map_err(|error| error.in_object(".zattrs"))?;
    v2_of_values(&array, attributes.as_ref(), &CodecRegistry::default())
}

/// Reads the documents `.zarray`, and `.zattrs` if there is one. The caller's `own` codecs come before the library's.
///
/// # Errors
/// `Metadata`, `Unsupported`, `Codec` and `ElementType` about a place in a document; `Rank`, `OutOfMemory`.
pub(crate) fn v2_of_values(array: &Value, attributes: Option<&Value>, own: &CodecRegistry) -> Result<Metadata> {
    let nothing = Value::Object(Vec::new());
    let attributes = attributes.unwrap_or(&nothing);
    At::root(attributes).check_object().map_err(|error| error.in_object(".zattrs"))?;
    let documents = [At::root(attributes), At::root(array)];
    let mut metadata = read(&documents[1], &documents, own).map_err(|error| error.in_object(".zarray"))?;
    metadata.attributes = attributes.copied()?;
    Ok(metadata)
}

fn read(array: &At<'_>, documents: &[At<'_>], own: &CodecRegistry) -> Result<Metadata> {
    check_version(array)?;
    let shape = array.require("shape")?.usizes()?;
    check_rank(shape.len())?;
    let chunks = array.require("chunks")?;
    let chunk_shape = chunk_lengths(&chunks, shape.len())?;
    let (filters, has_strings) = filters(array)?;
    let spelt = dtype::read(array.require("dtype")?, has_strings)?;
    let nczarr = nczarr::read_array(documents, &shape)?;
    let (element, endian) = if nczarr.is_nczarr { nczarr::element(spelt) } else { spelt };
    let dialect = Dialect { format: Format::V2, is_nczarr: nczarr.is_nczarr };
    Ok(Metadata {
        format: Format::V2,
        is_nczarr: nczarr.is_nczarr,
        unlimited: alloc::filled(shape.len(), false)?,
        order: order(array, shape.len())?,
        fill_value: fill_value(array, documents, element, dialect)?,
        keys: Keys { style: KeyEncoding::V2, separator: separator(array, Separator::Dot, "dimension_separator")? },
        codecs: codecs(array, filters, has_strings, (Elements { element, endian }, own))?,
        shape,
        chunk_shape,
        chunk_runs: Vec::new(),
        element,
        endian,
        shards: None,
        dimension_names: nczarr.dimension_names,
        dimension_references: nczarr.dimension_references,
        attributes: Value::Null,
        attributes_error: None,
        is_scalar: nczarr.is_scalar,
    })
}

/// The fill value. netCDF-C writes numbers with six digits there, and in full in the attribute.
fn fill_value(array: &At<'_>, documents: &[At<'_>], element: ElementType, dialect: Dialect) -> Result<Option<Vec<u8>>> {
    let written = array.get("fill_value").map_or(Ok(None), |at| fill::read(at, element, dialect))?;
    match documents.first().filter(|_| dialect.is_nczarr) {
        Some(all) => Ok(attributes::told_fill_value(all.value(), element)?.or(written)),
        None => Ok(written),
    }
}

pub(super) fn check_version(document: &At<'_>) -> Result<()> {
    let version = document.require("zarr_format")?;
    if version.usize()? == 2 { Ok(()) } else { Err(version.malformed("expected 2")) }
}

/// The lengths of a chunk, one per dimension and none of them 0.
pub(super) fn chunk_lengths(at: &At<'_>, rank: usize) -> Result<Vec<usize>> {
    let lengths = at.usizes()?;
    if lengths.len() != rank {
        return Err(at.malformed("expected one length for each dimension"));
    }
    match lengths.iter().position(|&len| len == 0) {
        Some(d) => Err(at.malformed("the chunk length is 0").in_dimension(d)),
        None => Ok(lengths),
    }
}

/// What stands between the numbers of a key.
pub(super) fn separator(at: &At<'_>, default: Separator, name: &str) -> Result<Separator> {
    at.given(name).map_or(Ok(default), |at| match at.text()? {
        "." => Ok(Separator::Dot),
        "/" => Ok(Separator::Slash),
        _ => Err(at.malformed("expected '.' or '/'")),
    })
}

fn order(array: &At<'_>, rank: usize) -> Result<Option<Vec<usize>>> {
    let Some(order) = array.given("order") else { return Ok(None) };
    match order.text()? {
        "C" => Ok(None),
        "F" => {
            let mut axes = row_major(rank)?;
            axes.reverse();
            Ok(order_of(axes))
        }
        _ => Err(order.malformed("expected C or F")),
    }
}

/// The filters, and whether the first of them makes texts of objects.
fn filters<'a>(array: &'a At<'a>) -> Result<(Option<At<'a>>, bool)> {
    let Some(filters) = array.given("filters") else { return Ok((None, false)) };
    let has_strings = filters
        .items()?
        .next()
        .is_some_and(|first| first.value().get("id").and_then(Value::as_str) == Some("vlen-utf8"));
    Ok((Some(filters), has_strings))
}

fn codecs(
    array: &At<'_>,
    filters: Option<At<'_>>,
    has_strings: bool,
    (mut elements, own): (Elements, &CodecRegistry),
) -> Result<Vec<CodecSpec>> {
    let has_texts = has_strings && elements.element == ElementType::String;
    let mut list = Vec::new();
    if let Some(filters) = filters {
        for filter in filters.items()?.skip(usize::from(has_texts)) {
            let codec = codecs::read_v2(filter, elements, own)?;
            elements = codec.encoded(elements);
            alloc::push(&mut list, codec)?;
        }
    }
    if let Some(compressor) = array.given("compressor") {
        alloc::push(&mut list, codecs::read_v2(compressor, elements, own)?)?;
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::super::codecs::testing::all_shown;
    use super::super::group::read_group_v2;
    use super::*;
    use crate::error::ErrorKind;
    use crate::variable::Endian;

    const XARRAY: &str = r#"{"shape":[8],"chunks":[2],"dtype":"<i4","fill_value":0,"order":"C","filters":null,
        "dimension_separator":".","compressor":{"id":"blosc","cname":"lz4","clevel":5,"shuffle":1,"blocksize":0},
        "zarr_format":2}"#;

    fn of(array: &str) -> Result<Metadata> {
        let metadata = read_v2(array.as_bytes(), None)?;
        metadata.check_codecs(&crate::codec::CodecRegistry::default()).map(|()| metadata)
    }

    #[test]
    fn an_array_of_zarr_python_is_read() {
        let array = read_v2(XARRAY.as_bytes(), Some(br#"{"_ARRAY_DIMENSIONS":["x"],"x":NaN}"#)).unwrap();
        assert_eq!((array.shape, array.chunk_shape, array.order), (vec![8], vec![2], None));
        assert_eq!((array.element, array.endian), (ElementType::Int, Endian::Little));
        assert_eq!(array.fill_value, Some(vec![0; 4]));
        assert_eq!(array.keys, Keys { style: KeyEncoding::V2, separator: Separator::Dot });
        let blosc = "blosc cname=lz4 clevel=5 shuffle=shuffle blocksize=0 typesize=4";
        assert_eq!(all_shown(&array.codecs), [blosc]);
        assert_eq!(array.dimension_names, [Some("x".to_owned())]);
        assert_eq!(array.attributes.get("x").and_then(Value::as_number), Some("NaN"));
        assert!(!array.is_nczarr && !array.is_scalar);
    }

    #[test]
    fn fortran_order_reverses_the_axes() {
        let text = r#"{"shape":[4,5,6],"chunks":[2,2,9],"dtype":">f8","fill_value":"NaN","order":"F","filters":[],
            "dimension_separator":"/","compressor":null,"zarr_format":2}"#;
        let array = of(text).unwrap();
        assert_eq!((array.order, array.endian), (Some(vec![2, 1, 0]), Endian::Big));
        assert_eq!((array.keys.separator, array.codecs.len()), (Separator::Slash, 0));
        assert_eq!(of(&XARRAY.replace(r#""C""#, r#""F""#)).unwrap().order, None);
    }

    #[test]
    fn a_variable_of_netcdf_is_read() {
        let text = br#"{"zarr_format": 2, "shape": [2,4], "dtype": "<i2", "chunks": [1,4], "fill_value": -32767,
            "order": "C", "compressor": {"id": "zlib", "level": 4}, "filters": [{"id": "shuffle", "elementsize": 0}]}"#;
        let attributes = br#"{"units": "m", "_ARRAY_DIMENSIONS": ["t","x"], "_nczarr_array": {"dimension_references":
            ["/t","/x"], "storage": "chunked"}, "_nczarr_attr": {"types": {"units": ">S1", "_nczarr_array": "|J0"}}}"#;
        let group = br#"{"_nczarr_group": {"dimensions": {"x": 4, "t": {"size": 2, "unlimited": 1}}, "arrays": [],
            "groups": []}}"#;
        let group = read_group_v2(br#"{"zarr_format": 2}"#, Some(group)).unwrap();
        let mut array = read_v2(text, Some(attributes)).unwrap();
        array.mark_unlimited(&group, None);
        assert_eq!(all_shown(&array.codecs), ["shuffle elementsize=2", "zlib level=4"]);
        assert!(array.is_nczarr && !array.is_scalar);
        assert_eq!((&array.unlimited, &array.dimension_references[0]), (&vec![true, false], &"/t".to_owned()));
        array.unlimited = vec![false; 2];
        array.mark_unlimited(&group, Some("/other"));
        assert_eq!(array.unlimited, [false, false]);
        array.mark_unlimited(&group, Some("/"));
        assert_eq!(array.unlimited, [true, false]);
    }

    /// netCDF-C writes the number with six digits there, and in full in the attribute.
    #[test]
    fn the_fill_value_of_netcdf_is_that_of_the_attribute() {
        let fill = |dtype: &str, fill_value: &str, attributes: &str| {
            let text = format!(
                r#"{{"zarr_format": 2, "shape": [4], "dtype": "{dtype}", "chunks": [4], "fill_value": {fill_value},
                "order": "C", "compressor": null, "filters": null}}"#
            );
            read_v2(text.as_bytes(), Some(attributes.as_bytes())).unwrap().fill_value.unwrap()
        };
        let nczarr = r#""_nczarr_array": {"dimrefs": ["/x"], "storage": "chunked"}"#;
        let all = format!(r#"{{"_FillValue": 1234567.25, {nczarr}}}"#);
        assert_eq!(fill("<f8", "1.23457e+06", &all), 1234567.25f64.to_ne_bytes());
        assert_eq!(fill(">f4", "1.23457e+06", &all), 1_234_567.2_f32.to_ne_bytes());
        let list = format!(r#"{{"_FillValue": [-1.000000015047466e+30], {nczarr}}}"#);
        assert_eq!(fill("<f8", "-1e+30", &list), (-1.000000015047466e+30f64).to_ne_bytes());
        // Whatever is no number of the array's type does not count, nor does the attribute of others than netCDF-C.
        for attributes in [format!(r#"{{"_FillValue": "x", {nczarr}}}"#), format!("{{{nczarr}}}")] {
            assert_eq!(fill("<f8", "1.5", &attributes), 1.5f64.to_ne_bytes());
        }
        assert_eq!(fill("<i2", "7", &format!(r#"{{"_FillValue": 70000, {nczarr}}}"#)), 7i16.to_ne_bytes());
        assert_eq!(fill("<f8", "1.5", r#"{"_FillValue": 1.25}"#), 1.5f64.to_ne_bytes());
        assert_eq!(fill("|S2", "\"y\"", &format!(r#"{{"_FillValue": "x", {nczarr}}}"#)), b"y\0");
    }

    #[test]
    fn keys_of_older_versions_of_netcdf_are_in_zarray() {
        let text = r#"{"zarr_format": 2, "shape": [3], "dtype": ">S1", "chunks": [3], "fill_value": "x", "order": "C",
            "compressor": null, "filters": null, "_NCZARR_ARRAY": {"dimrefs": ["/g/x"], "storage": "chunked"}}"#;
        let array = of(text).unwrap();
        assert_eq!((array.element, array.fill_value.as_deref()), (ElementType::Char, Some(&b"x"[..])));
        let older = of(&text.replace(">S1", "<U1")).unwrap();
        assert_eq!((older.element, older.endian, older.fill_value), (array.element, array.endian, array.fill_value));
        assert_eq!((array.is_nczarr, array.dimension_names), (true, vec![Some("x".to_owned())]));
    }

    #[test]
    fn a_scalar_of_netcdf_has_either_sign() {
        let text = br#"{"zarr_format": 2, "shape": [1], "dtype": "<f8", "chunks": [1], "fill_value": 9.96921e+36,
            "order": "C", "compressor": null, "filters": null}"#;
        for attributes in [
            r#"{"_ARRAY_DIMENSIONS": ["_scalar_"]}"#,
            r#"{"_ARRAY_DIMENSIONS": []}"#,
            r#"{"_nczarr_array": {"dimrefs": [], "storage": "scalar"}}"#,
            r#"{"_nczarr_array": {"dimension_references": [], "scalar": 1, "storage": "chunked"}}"#,
        ] {
            assert!(read_v2(text, Some(attributes.as_bytes())).unwrap().is_scalar, "{attributes}");
        }
        assert!(!read_v2(text, None).unwrap().is_scalar);
    }

    #[test]
    fn texts_of_any_length_have_their_filter() {
        let text = r#"{"shape":[4],"chunks":[2],"dtype":"|O","fill_value":"hi","order":"C",
            "filters":[{"id":"vlen-utf8"}],"compressor":{"id":"zstd","level":0},"zarr_format":2}"#;
        let array = of(text).unwrap();
        let fill_value = array.fill_value.as_deref();
        assert_eq!((array.element, array.codecs.len(), fill_value), (ElementType::String, 1, Some(&b"hi\0"[..])));
        let error = of(&text.replace("vlen-utf8", "json2")).unwrap_err();
        assert_eq!(error.about(), ".zarray: $.dtype: |O");
        let error = of(&text.replace("|O", "<i4").replace("\"hi\"", "0")).unwrap_err();
        assert_eq!(error.about(), ".zarray: $.filters[0]: vlen-utf8");
    }

    #[test]
    fn what_is_malformed_has_a_place() {
        for (from, to, about) in [
            (r#""shape":[8]"#, r#""shape":[8.0]"#, "$.shape[0]"),
            (r#""shape":[8]"#, r#""shape":8"#, "$.shape"),
            (r#""chunks":[2]"#, r#""chunks":[0]"#, "$.chunks"),
            (r#""chunks":[2]"#, r#""chunks":[2,2]"#, "$.chunks"),
            (r#""<i4""#, r#""<i5""#, "$.dtype: <i5"),
            (r#""fill_value":0"#, r#""fill_value":4294967296"#, "$.fill_value"),
            (r#""order":"C""#, r#""order":"A""#, "$.order"),
            (r#"lz4"#, r#"lz9"#, "$.compressor.cname: lz9"),
            (r#""id":"blosc""#, r#""id":"pcodec""#, "$.compressor: pcodec"),
            (r#""filters":null"#, r#""filters":[{"id":"astype"}]"#, "$.filters[0]: astype"),
            (r#""separator":".""#, r#""x":1"#, ""),
            (r#""zarr_format":2"#, r#""zarr_format":3"#, "$.zarr_format"),
            (r#""dimension_separator":".""#, r#""dimension_separator":"-""#, "$.dimension_separator"),
            (r#""shape":[8],"#, "", "$.shape"),
        ] {
            let result = of(&XARRAY.replace(from, to));
            let expected = if about.is_empty() { String::new() } else { format!(".zarray: {about}") };
            assert_eq!(result.err().map(|error| error.about().to_owned()).unwrap_or_default(), expected, "{to}");
        }
        let rank = format!("[{}1]", "1,".repeat(1024));
        let error = of(&XARRAY.replace(r#""shape":[8]"#, &format!("\"shape\":{rank}"))).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Rank(1025));
        assert_eq!(of("{").unwrap_err().about(), ".zarray: line 1, column 2");
        assert!(read_v2(XARRAY.as_bytes(), Some(b"[]")).unwrap_err().about().starts_with(".zattrs"));
    }
}
