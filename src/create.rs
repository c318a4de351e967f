//! # Creating an array
//!
//! Fill in a description and create an array from it. Every field that you leave out has a default:
//!
//! ```c
//! const size_t shape[3] = {365, 90, 180};
//! const char *const names[3] = {"time", "lat", "lon"};
//! nczchunk_description sst = NCZCHUNK_DESCRIPTION_INIT;
//! nczchunk_array *array = NULL;
//!
//! sst.type = NCZCHUNK_FLOAT;
//! sst.rank = 3;
//! sst.shape = shape;
//! sst.dimension_names = names;
//! int status = nczchunk_array_create("ocean.zarr", "sst", &sst, &array, NULL);
//! if (status == NCZCHUNK_NOERR) status = nczchunk_array_write(array, start, count, NULL, data, NULL);
//! nczchunk_array_close(array);
//! ```
//!
//! This example creates a Zarr v3 array with the fill value 0, in chunks of about 16 MiB that are compressed with zstd.

use super::attribute::nczchunk_attribute;
use super::prelude::*;
use super::var::endian;
use nczchunk::{Array, ArrayFormat, AttributeValue, Description};
use nczchunk_engine::chunk_list::ChunkRun;
use nczchunk_engine::key::Separator;

/// The format Zarr v3.
pub const NCZCHUNK_ZARR_V3: c_int = 3;
/// The format Zarr v2.
pub const NCZCHUNK_ZARR_V2: c_int = 2;
/// The format Zarr v2 with the metadata that netCDF-C reads with #mode=zarr. The array must be in a group, so it needs
/// a name. All its dimensions need names, and a name stands for one length within a group. An array that netCDF-C would
/// refuse or misread is refused. netCDF-C shows characters as strings of one character, and a scalar with a dimension
/// of length 1.
pub const NCZCHUNK_NCZARR: c_int = 1;

/// A codec of an array to create. The structure will not change.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_codec_setting {
    /// The codec's name, such as "zstd": see nczchunk_has_codec.
    pub name: *const c_char,
    /// The codec's configuration. Either a JSON object as a string, such as "{\"level\": 3}", with the settings' names
    /// in numcodecs; or a number alone, such as "3", which sets the codec's first numeric setting. Unknown settings and
    /// values out of range are refused. NULL for the defaults.
    pub configuration: *const c_char,
}

/// An array to create. Set struct_size, the element type, rank and shape. A field that is 0 or NULL has its default.
/// The pointers need to be valid only during the call.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_description {
    /// sizeof(nczchunk_description).
    pub struct_size: usize,
    /// The element type by netCDF's number: NCZCHUNK_FLOAT and so on. 0 to use type_name.
    pub r#type: usize,
    /// The element type by name: "float32", "datetime64[ns]".
    pub type_name: *const c_char,
    /// The number of dimensions; 0 for a scalar.
    pub rank: usize,
    /// The lengths of the dimensions.
    pub shape: *const usize,
    /// The lengths of a chunk, the unit of encoding. NULL for netCDF-C's choice: about 16 MiB.
    pub chunk_shape: *const usize,
    /// The lengths of a shard, an object that holds several chunks, for Zarr v3: multiples of chunk_shape. NULL to
    /// store each chunk as an object of its own.
    pub shard_shape: *const usize,
    /// The names of the dimensions. A name may be NULL or empty for a dimension without a name. Zarr v2 stores all
    /// names or none: if a dimension has no name, none has one. NULL if no dimension has a name.
    pub dimension_names: *const *const c_char,
    /// The fill value: what reads return where nothing was written. One element in native byte order; for
    /// NCZCHUNK_STRING a const char *. NULL for zeros, or for an empty string.
    pub fill_value: *const c_void,
    /// The codecs, in the order of encoding. NULL for zstd, if it is built in; with num_codecs 0, a pointer that is not
    /// NULL stands for no codecs, as uncompressed does.
    pub codecs: *const nczchunk_codec_setting,
    /// The number of codecs.
    pub num_codecs: usize,
    /// 1 to store chunks uncompressed, without codecs.
    pub uncompressed: usize,
    /// Attributes, as a JSON object in a string. NULL for none.
    pub attributes_json: *const c_char,
    /// More attributes, which are set after those of attributes_json. NULL for none.
    pub attributes: *const nczchunk_attribute,
    /// The number of entries in attributes.
    pub num_attributes: usize,
    /// NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR. 0 for Zarr v3.
    pub format: usize,
    /// The chunk key separator: '.' or '/'. 0 for '/' in Zarr v3, else '.'.
    pub separator: usize,
    /// The byte order of the stored data: NCZCHUNK_ENDIAN_LITTLE or NCZCHUNK_ENDIAN_BIG. 0 for this machine's byte
    /// order; with NCZCHUNK_NCZARR, 0 is little-endian, which netCDF-C reads.
    pub endian: usize,
    /// 1 to replace an existing array or group. Its metadata documents, its chunks and the arrays and groups below it
    /// are removed; symbolic links are removed as links. If anything else is there, the call fails with NCZCHUNK_EEXIST
    /// and removes nothing. With 0, the call fails if an array or group exists.
    pub overwrite: usize,
    /// For Zarr v3 without shards, the lengths of the chunks where they differ: for each dimension a list with as many
    /// entries as num_chunks has for it. A list may be NULL for chunks of one length, that of chunk_shape. NULL if no
    /// dimension has a list.
    pub chunk_lengths: *const *const usize,
    /// For each dimension the number of entries in its list of chunk_lengths.
    pub num_chunks: *const usize,
}
growing!(nczchunk_description, num_chunks: *const usize);

/// Creates an array and opens it with NCZCHUNK_WRITE. path is a directory, which is created if it does not exist. name
/// is the path of the new array below it, such as "ocean/sst", and is NULL or empty if path is to be the array itself.
/// Missing groups on the way are created. Close the array with nczchunk_array_close.
///
/// Consolidated metadata of the groups above (.zmetadata, or in their zarr.json) are removed, because they do not list
/// the new array. Consolidated metadata of a group above path are not looked for. Nothing is written before all checks
/// have passed. Others can open the array once all its metadata are written.
///
/// Errors: NCZCHUNK_EEXIST (something exists there, or name is below an array), NCZCHUNK_EINVAL (a NULL argument; an
/// inconsistent description; a name that arrays cannot have, such as ".zgroup" or, in Zarr v3, "__x"),
/// NCZCHUNK_EBADTYPE (a type that arrays cannot have), NCZCHUNK_ENOFILTER (an unknown codec), NCZCHUNK_ENCZARR
/// (malformed JSON), NCZCHUNK_ENOTBUILT (the format does not support the description), NCZCHUNK_EMAXDIMS,
/// NCZCHUNK_EDIMSIZE, NCZCHUNK_EPERM (path is a zip file), NCZCHUNK_ENOMEM, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_create(
    path: *const c_char,
    name: *const c_char,
    description: *const nczchunk_description,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let path = file_path(path)?;
        let name = optional_text(name)?;
        hand_over_boxed(array, || {
            described(description, |all| Array::create_as(path, name, all, nczchunk_array::boxed))
        })
    }))
}

/// Creates an array in a storage: see nczchunk_array_create.
///
/// Errors: those of nczchunk_array_create, and the status that a callback of the storage returned.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_create_in(
    storage: *const nczchunk_storage,
    name: *const c_char,
    description: *const nczchunk_description,
    array: *mut *mut nczchunk_array,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let storage = handle(storage, "storage is NULL")?;
        let name = optional_text(name)?;
        hand_over_boxed(array, || {
            described(description, |all| Array::create_in_as(&storage.0, name, all, nczchunk_array::boxed))
        })
    }))
}

/// Changes the shape of an array that was opened with NCZCHUNK_WRITE. shape has a length for each dimension. The
/// array's variable changes too; do not use plans that were made with it any more, nor strings that the array's
/// functions returned.
///
/// Chunks (or shards) outside the new shape are removed. Where the new shape cuts through a chunk or shard, the part
/// that is cut off becomes fill values. So reads return fill values there if the array grows again. (Data that another
/// program left in a chunk beyond the end of a dimension, as zarr-python does when it makes an array smaller, are not
/// looked for.) Consolidated metadata are removed: see nczchunk_array_create. Others that have the array open keep the
/// old shape until they call nczchunk_array_refresh, which this call includes. If one of them has changed the shape, it
/// starts from that shape. A failure leaves the shape as it was, and may leave fill values in the part to be cut off.
///
/// netCDF-C opens a group of NCZarr only if all its arrays have one length for a dimension of the same name: resize
/// them all.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; the array was replaced by one with other chunks or another type),
/// NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_EDIMSIZE, NCZCHUNK_ENOTBUILT (dimensions whose lengths
/// netCDF-C keeps in their group; a smaller shape in a storage that cannot list its objects), NCZCHUNK_ENOMEM, those of
/// opening, reading and writing, and the system's errno values.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_resize(
    array: *mut nczchunk_array,
    shape: *const usize,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = handle_mut(array, "array is NULL")?;
        let shape = required(shape, array.array.variable().rank(), "shape is NULL")?;
        array.array.check_writable()?;
        // What others have changed meanwhile is told in C's words, too.
        let mut now = nczchunk_array::new(array.array.reopened()?)?;
        let resized = now.array.resize_reopened(shape);
        *array = now;
        resized
    }))
}

/// Reads the metadata of an array again and drops its cached chunks and shard indices. The next read returns what is
/// stored now: the data, the shape and the attributes that other handles and processes have written. Without this call,
/// a cached chunk is returned as it was when it was cached, and the shape stays as it was. docs/sharing.md has the
/// rules.
///
/// As with nczchunk_array_resize, nobody else may use the array during the call. Afterwards, do not use plans that were
/// made for its variable, nor strings that the array's functions returned. The array's variable and store keep their
/// addresses. Of a file that was opened by its path, and has been replaced, the new one is opened, unless the file is
/// one of several that are joined.
///
/// Errors: NCZCHUNK_EINVAL (array is NULL; the array was replaced by one with other chunks or another type), and those
/// of nczchunk_array_open. After an error the array is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_refresh(array: *mut nczchunk_array, context: *mut nczchunk_context) -> c_int {
    by_promise!(report(context, || {
        let array = handle_mut(array, "array is NULL")?;
        *array = nczchunk_array::new(array.array.reopened()?)?;
        Ok(())
    }))
}

/// Sets or adds an attribute of an array that was opened with NCZCHUNK_WRITE, immediately. type is netCDF's number for
/// the type of the values:
///
/// - NCZCHUNK_CHAR: a string of num_values bytes in UTF-8,
/// - NCZCHUNK_STRING: num_values strings, const char *const *,
/// - any other: num_values numbers in native byte order.
///
/// The metadata do not store the types of numbers. After the array is opened again, an NCZCHUNK_SHORT is an
/// NCZCHUNK_INT and a float is an NCZCHUNK_DOUBLE, unless the array was created with the format NCZCHUNK_NCZARR or by
/// netCDF-C. Consolidated metadata are removed: see nczchunk_array_create. Pointers to the array's attributes that were
/// returned before are no longer valid.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have, such as those that the formats
/// reserve), NCZCHUNK_EBADTYPE (another type), NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_ENOMEM, and
/// those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_attribute(
    array: *mut nczchunk_array,
    name: *const c_char,
    r#type: c_int,
    num_values: usize,
    values: *const c_void,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = handle_mut(array, "array is NULL")?;
        let name = utf8(text(name, "name is NULL")?)?;
        let texts = texts(r#type, num_values, values)?;
        array.change_attribute(name, Some(value(r#type, num_values, values, &texts)?))
    }))
}

/// Sets or adds several attributes of an array that was opened with NCZCHUNK_WRITE, immediately: each member of a JSON
/// object, as it is. Members may be nested. nczchunk_array_attributes_json returns them unchanged. Other attributes
/// stay as they are. See nczchunk_array_set_attribute.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; a name that attributes cannot have), NCZCHUNK_ENCZARR (the string is not a
/// JSON object), NCZCHUNK_EPERM (the array was opened read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_set_attributes_json(
    array: *mut nczchunk_array,
    attributes_json: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = handle_mut(array, "array is NULL")?;
        array.update_attributes(utf8(text(attributes_json, "attributes_json is NULL")?)?)
    }))
}

/// Removes an attribute of an array that was opened with NCZCHUNK_WRITE, immediately: see nczchunk_array_set_attribute.
///
/// Errors: NCZCHUNK_ENOTATT (no attribute of that name), NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_EPERM (the array
/// was opened read-only), NCZCHUNK_ENOMEM, and those of the storage.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_array_remove_attribute(
    array: *mut nczchunk_array,
    name: *const c_char,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let array = handle_mut(array, "array is NULL")?;
        array.change_attribute(utf8(text(name, "name is NULL")?)?, None)
    }))
}

/// Calls `create` with what a structure of C's describes.
///
/// # Safety
/// `description` is NULL or a structure of the size that it says, with pointers as they are documented.
unsafe fn described<T>(
    description: *const nczchunk_description,
    create: impl FnOnce(&Description<'_>) -> Result<T>,
) -> Result<T> {
    let from = by_promise!(read_growing(description))?;
    check_rank(from.rank)?;
    let element = match c_int::try_from(from.r#type) {
        Ok(0) => utf8(by_promise!(text(from.type_name, "neither type nor type_name is set"))?)?.parse()?,
        Ok(number) => ElementType::of_netcdf_type(number).ok_or(ErrorKind::ElementType)?,
        Err(_) => return Err(ErrorKind::ElementType.into()),
    };
    let (shape, chunk_shape, shard_shape, names) = by_promise!((
        required(from.shape, from.rank, "shape is NULL")?,
        given(from.chunk_shape, from.rank),
        given(from.shard_shape, from.rank),
        given(from.dimension_names, from.rank).unwrap_or_default(),
    ));
    let dimension_names = by_promise!(alloc::try_collected(names.iter().map(|name| optional_text(*name)))?);
    let mut lists = Vec::new();
    let (lengths, nums) = by_promise!((given(from.chunk_lengths, from.rank), optional(from.num_chunks, from.rank)));
    for (d, &lengths) in lengths.unwrap_or_default().iter().enumerate() {
        let mut list = Vec::new();
        if !lengths.is_null() {
            let num_chunks = nums.and_then(|nums| nums.get(d)).copied().unwrap_or(0);
            for &len in by_promise!(required(lengths, num_chunks, "chunk_lengths"))? {
                alloc::push(&mut list, ChunkRun::new(1, len))?;
            }
            if list.is_empty() {
                return Err(Error::from(ErrorKind::Argument("a list of chunk lengths is empty")).in_dimension(d));
            }
        }
        alloc::push(&mut lists, list)?;
    }
    let chunk_runs = alloc::collected(lists.iter().map(Vec::as_slice))?;
    let codecs = by_promise!(chosen_codecs(from.codecs, from.num_codecs, from.uncompressed))?;
    let listed = by_promise!(attributes(from.attributes, from.num_attributes))?;
    let number = |attribute: &nczchunk_attribute| c_int::try_from(attribute.r#type).unwrap_or(0);
    let texts_of =
        by_promise!(alloc::try_collected(listed.iter().map(|one| texts(number(one), one.num_values, one.values))))?;
    let attributes = by_promise!(alloc::try_collected(listed.iter().zip(&texts_of).map(|(one, texts)| {
        let name = utf8(text(one.name, "an attribute's name is NULL")?)?;
        Ok::<_, Error>((name, value(number(one), one.num_values, one.values, texts)?))
    })))?;
    let attributes_json = by_promise!(optional_text(from.attributes_json))?;
    let mut to = Description::new(shape, element)
        .with_dimension_names(&dimension_names)
        .with_attributes_json(attributes_json)
        .with_attributes(&attributes)
        .with_format(format(from.format)?)
        .with_endian(endian(from.endian)?)
        .with_overwrite(from.overwrite != 0);
    if let Some(chunk_shape) = chunk_shape {
        to = to.with_chunk_shape(chunk_shape);
    }
    to = to.with_chunk_runs(&chunk_runs);
    if let Some(shard_shape) = shard_shape {
        to = to.with_shard_shape(shard_shape);
    }
    if !from.fill_value.is_null() {
        // It points to an element, which is a text's pointer if texts have any length.
        to = to.with_fill_value(by_promise!(match element {
            ElementType::String => {
                text(from.fill_value.cast::<*const c_char>().read_unaligned(), "the fill value is NULL")?.to_bytes()
            }
            _ => std::slice::from_raw_parts(from.fill_value.cast(), element.size()),
        }));
    }
    if from.separator != 0 {
        let separator = u32::try_from(from.separator).ok().and_then(char::from_u32).unwrap_or('\0');
        to = to.with_separator(Separator::try_from(separator)?);
    }
    if let Some(codecs) = &codecs {
        to = to.with_codecs(codecs);
    }
    create(&to)
}

/// The codecs that are chosen, as their names and configurations; `None` if the choice is the library's.
///
/// # Safety
/// `codecs` is NULL or points to so many of them, whose names and configurations are NULL or texts.
pub(super) unsafe fn chosen_codecs<'t>(
    codecs: *const nczchunk_codec_setting,
    num_codecs: usize,
    uncompressed: usize,
) -> Result<Option<Vec<(&'t str, &'t str)>>> {
    let all = by_promise!(required(codecs, num_codecs, "codecs is NULL"))?.iter();
    let settings = by_promise!(alloc::try_collected(all.map(|codec| {
        Ok::<_, Error>((utf8(text(codec.name, "a codec's name is NULL")?)?, optional_text(codec.configuration)?))
    })))?;
    if uncompressed != 0 && !settings.is_empty() {
        return Err(ErrorKind::Argument("codecs must be empty if the chunks are not compressed").into());
    }
    Ok((uncompressed != 0 || !codecs.is_null()).then_some(settings))
}

/// A list that may be left out, which NULL stands for whatever its length.
///
/// # Safety
/// As for [`optional`].
pub(super) unsafe fn given<'a, T>(list: *const T, len: usize) -> Option<&'a [T]> {
    if list.is_null() { None } else { by_promise!(optional(list, len)) }
}

pub(super) fn format(format: usize) -> Result<ArrayFormat> {
    match c_int::try_from(format) {
        Ok(0 | NCZCHUNK_ZARR_V3) => Ok(ArrayFormat::ZarrV3),
        Ok(NCZCHUNK_ZARR_V2) => Ok(ArrayFormat::ZarrV2),
        Ok(NCZCHUNK_NCZARR) => Ok(ArrayFormat::NcZarr),
        _ => Err(ErrorKind::Argument("format must be NCZCHUNK_ZARR_V3, NCZCHUNK_ZARR_V2 or NCZCHUNK_NCZARR").into()),
    }
}

/// The attributes of a list, whose structures have the size that the first says.
///
/// # Safety
/// The list is NULL or has so many.
unsafe fn attributes(list: *const nczchunk_attribute, len: usize) -> Result<Vec<nczchunk_attribute>> {
    let mut attributes: Vec<nczchunk_attribute> = Vec::new();
    for i in 0..len {
        let size = attributes.first().map_or(0, |first| first.struct_size);
        // SAFETY: the structures before it have this size each, so that it is in the list.
        let attribute = unsafe { read_growing(list.wrapping_byte_add(i.wrapping_mul(size))) }?;
        alloc::push(&mut attributes, attribute)?;
    }
    Ok(attributes)
}

/// Strings in a list of C's; none for another type.
///
/// # Safety
/// `values` is NULL or has so many values of the type: of strings, pointers, each of them NULL or to a string.
pub(super) unsafe fn texts<'a>(r#type: c_int, num_values: usize, values: *const c_void) -> Result<Vec<&'a str>> {
    if r#type != ElementType::String.netcdf_type() {
        return Ok(Vec::new());
    }
    let values = by_promise!(required(values.cast::<*const c_char>(), num_values, "values is NULL"))?;
    by_promise!(alloc::try_collected(values.iter().map(|value| utf8(text(*value, "a string is NULL")?))))
}

/// The values of an attribute; several strings are those that are given.
///
/// # Safety
/// `values` is NULL or has so many values of the type.
pub(super) unsafe fn value<'a>(
    r#type: c_int,
    num_values: usize,
    values: *const c_void,
    texts: &'a [&'a str],
) -> Result<AttributeValue<'a>> {
    let element = ElementType::of_netcdf_type(r#type).ok_or(ErrorKind::ElementType)?;
    if element == ElementType::String {
        return Ok(AttributeValue::Texts(texts));
    }
    let num_bytes = num_values.saturating_mul(element.size());
    let bytes = by_promise!(required(values.cast(), num_bytes, "values is NULL"))?;
    if element != ElementType::Char {
        return Ok(AttributeValue::Numbers(element, bytes));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| ErrorKind::Argument("the string is not UTF-8"))?;
    Ok(AttributeValue::Text(text))
}
