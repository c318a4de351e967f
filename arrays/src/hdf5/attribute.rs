//! Attributes: those of a header and those in a heap, as netCDF has them.

use super::bits::Bits;
use super::btree::Tree;
use super::bytes::{Cursor, is_of_the_file, malformed};
use super::dataset::Dataspace;
use super::datatype::{Datatype, Padding, What};
use super::file::File;
use super::header::{HEAP_ID, Header, in_heap, kind, shared};
use super::heap::{FractalHeap, HeapId, collection};
use crate::alloc;
use crate::dataset::{Attribute, Attributes, Values, lossy_text};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::float_format::FloatFormat;
use crate::variable::Endian;

/// An attribute as it is stored.
pub(super) struct Stored {
    pub name: String,
    pub datatype: Datatype,
    pub space: Dataspace,
    pub bytes: Vec<u8>,
    order: u32,
}

/// What netCDF and HDF5's dimension scales keep among the attributes for themselves.
const HIDDEN: [&str; 6] =
    ["_NCProperties", "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "DIMENSION_LIST", "DIMENSION_LABELS"];

/// What only dimension scales keep for themselves. Attributes of other objects may have these names.
const HIDDEN_OF_SCALES: [&str; 3] = ["CLASS", "NAME", "REFERENCE_LIST"];

/// All attributes of an object, in the order in which they were made or, where that is not told, are stored.
pub(super) fn stored(file: &File, header: &Header) -> Result<Vec<Stored>> {
    let mut all = Vec::new();
    for message in &header.messages {
        match message.kind {
            kind::ATTRIBUTE if message.is_shared => {
                let shared = shared(file, kind::ATTRIBUTE, &mut Cursor::new(&message.bytes, file.sizes))?;
                alloc::push(&mut all, attribute(file, &shared.bytes, message.order.into())?)?;
            }
            kind::ATTRIBUTE => alloc::push(&mut all, attribute(file, &message.bytes, message.order.into())?)?,
            kind::ATTRIBUTE_INFO => dense(file, &message.bytes, &mut all)?,
            _ => {}
        }
    }
    all.sort_by_key(|attribute| attribute.order);
    Ok(all)
}

/// The attributes that are in a heap, as the records of a tree say.
fn dense(file: &File, bytes: &[u8], all: &mut Vec<Stored>) -> Result<()> {
    let mut cursor = Cursor::new(bytes, file.sizes);
    cursor.version(0)?;
    let flags = cursor.u8()?;
    cursor.skip(if flags & 1 != 0 { 2 } else { 0 })?;
    let (Some(heap), Some(tree)) = (cursor.address()?, cursor.address()?) else { return Ok(()) };
    let (mut heap, mut records) = (FractalHeap::read(file, heap)?, Tree::read(file, tree)?.records(file, 0)?);
    heap.sort(&mut records);
    records.iter().try_for_each(|record| {
        let mut cursor = Cursor::new(record, file.sizes);
        let (id, flags, order) = (cursor.take(HEAP_ID)?, cursor.u8()?, cursor.u32()?);
        let bytes = if flags & 1 << 1 != 0 { in_heap(file, kind::ATTRIBUTE, id)? } else { heap.object(file, id)? };
        Ok(alloc::push(all, attribute(file, &bytes, order)?)?)
    })
}

fn attribute(file: &File, bytes: &[u8], order: u32) -> Result<Stored> {
    const TYPE_IS_SHARED: u8 = 1;
    const SPACE_IS_SHARED: u8 = 2;
    let mut cursor = Cursor::new(bytes, file.sizes);
    let (version, flags) = (cursor.u8()?, cursor.u8()?);
    if !matches!(version, 1..=3) {
        return Err(ErrorKind::Unsupported("an HDF5 file with an attribute of a version above 3").into());
    }
    let lens = [usize::from(cursor.u16()?), usize::from(cursor.u16()?), usize::from(cursor.u16()?)];
    cursor.skip(if version == 3 { 1 } else { 0 })?;
    let mut part = |len: usize| {
        let part = cursor.take(len)?;
        cursor.skip(if version == 1 { len.next_multiple_of(8) - len } else { 0 })?;
        Ok::<_, crate::error::Error>(part)
    };
    let (name, datatype, space) = (part(lens[0])?, part(lens[1])?, part(lens[2])?);
    let name = lossy_text(name.split(|byte| *byte == 0).next().unwrap_or_default())?;
    let whole = |bytes, flag, kind| match flags & flag != 0 && version > 1 {
        true => Ok(shared(file, kind, &mut Cursor::new(bytes, file.sizes))?.bytes),
        false => Ok::<_, Error>(alloc::copied(bytes)?),
    };
    let datatype = whole(datatype, TYPE_IS_SHARED, kind::DATATYPE)?;
    let datatype = Datatype::read(&mut Cursor::new(&datatype, file.sizes))?;
    let space = whole(space, SPACE_IS_SHARED, kind::DATASPACE)?;
    let space = Dataspace::read(&mut Cursor::new(&space, file.sizes))?;
    let len = space.count()?.checked_mul(datatype.size).ok_or(ErrorKind::Truncated)?;
    let bytes = alloc::copied(cursor.take(len)?)?;
    Ok(Stored { name, datatype, space, bytes, order })
}

/// The attributes that are shown of an object, and what is left out: those whose values are structures, references or
/// lists of any length, which netCDF's own types are not, and the names of an enumeration's values.
pub(super) fn shown(file: &File, header: &Header) -> Result<Attributes> {
    match stored(file, header).and_then(|all| values_of(file, all)) {
        Ok((list, left_out)) => Ok(Attributes { left_out, ..Attributes::of(list)? }),
        Err(error) if is_of_the_file(&error) => Ok(Attributes { error: Some(error), ..Attributes::of(Vec::new())? }),
        Err(error) => Err(error),
    }
}

fn values_of(file: &File, all: Vec<Stored>) -> Result<(Vec<Attribute>, Vec<Error>)> {
    let (mut list, mut left_out) = (Vec::new(), Vec::new());
    let of_scales = if is_scale(&all) { &HIDDEN_OF_SCALES[..] } else { &[] };
    let is_hidden = |name: &str| HIDDEN.contains(&name) || of_scales.contains(&name);
    for stored in all.into_iter().filter(|stored| !is_hidden(&stored.name)) {
        match of_netcdf(&stored.datatype) {
            Ok(of) => {
                let (element, values) = values(file, &stored, of)?;
                if let Some(what) = stored.datatype.left_out {
                    let error = ErrorKind::Unsupported(what).in_object(alloc::text(&stored.name)?);
                    alloc::push(&mut left_out, error)?;
                }
                alloc::push(&mut list, Attribute { name: stored.name, element, values })?;
            }
            Err(error) => alloc::push(&mut left_out, error.in_object(stored.name))?,
        }
    }
    Ok((list, left_out))
}

/// What the values of an attribute are, of whatever length.
///
/// # Errors
/// `Unsupported` for those that attributes of netCDF's own types cannot have.
fn of_netcdf(datatype: &Datatype) -> Result<(ElementType, Endian)> {
    match datatype.what {
        What::Element(ElementType::Opaque { .. }, _) => {
            Err(ErrorKind::Unsupported("attributes of compound, array and opaque types").into())
        }
        What::Element(ElementType::Complex { .. }, _) => {
            Err(ErrorKind::Unsupported("attributes that are complex numbers").into())
        }
        What::Element(element, endian) => Ok((element, endian)),
        _ => datatype.element(),
    }
}

/// The values of an attribute of these elements, in a type that netCDF has.
fn values(file: &File, stored: &Stored, (element, endian): (ElementType, Endian)) -> Result<(ElementType, Values)> {
    let Stored { datatype, space, bytes, .. } = stored;
    Ok(match element {
        ElementType::String => (element, Values::Texts(texts(file, bytes)?)),
        ElementType::Char | ElementType::Text { .. } => {
            let text = |bytes| lossy_text(without_end(bytes, datatype.padding));
            let is_list_of_char = element == ElementType::Char && space.shape.len() == 1;
            if space.shape.is_empty() || is_list_of_char {
                // One zero may be the fill value of an array of characters.
                let is_whole = is_list_of_char || *bytes == [0] && stored.name == "_FillValue";
                let values = if is_whole { bytes } else { without_end(bytes, datatype.padding) };
                return Ok((ElementType::Char, Values::Bytes(alloc::copied(values)?)));
            }
            let texts = alloc::try_collected(bytes.chunks_exact(datatype.size).map(text))?;
            (ElementType::String, Values::Texts(texts))
        }
        ElementType::Half | ElementType::BFloat16 => {
            let format = if element == ElementType::Half { FloatFormat::HALF } else { FloatFormat::BFLOAT16 };
            let mut wide = Vec::new();
            for bytes in native(bytes, element, endian)?.chunks_exact(2) {
                let mut bits = [0; 2];
                bits.copy_from_slice(bytes);
                let value = format.to_f64(u16::from_ne_bytes(bits).into()) as f32;
                alloc::extend(&mut wide, &value.to_ne_bytes())?;
            }
            (ElementType::Float, Values::Bytes(wide))
        }
        element => {
            let mut values = alloc::copied(bytes)?;
            if let What::Bits(_, _, range) = datatype.what {
                let bits = Bits::new(element, endian, range);
                values.chunks_exact_mut(datatype.size).for_each(|bytes| bits.value(bytes));
            }
            (element, Values::Bytes(native(&values, element, endian)?))
        }
    })
}

/// Elements in the machine's byte order.
pub(super) fn native(bytes: &[u8], element: ElementType, endian: Endian) -> Result<Vec<u8>> {
    let mut bytes = alloc::copied(bytes)?;
    let word = element.word_size();
    if endian.is_foreign() && word > 1 {
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    Ok(bytes)
}

/// A text without what fills it up.
fn without_end(bytes: &[u8], padding: Padding) -> &[u8] {
    let without = |filler: u8| {
        let last = bytes.iter().rposition(|byte| *byte != filler);
        bytes.get(..last.map_or(0, |last| last + 1)).unwrap_or_default()
    };
    match padding {
        Padding::Terminated => bytes.split(|byte| *byte == 0).next().unwrap_or_default(),
        Padding::Zeros => without(0),
        Padding::Spaces => without(b' '),
    }
}

/// What the elements of a list of any length or the bytes of a text are: where they are in a global heap, and how many.
pub(super) fn ids<'b>(file: &File, bytes: &'b [u8]) -> impl Iterator<Item = Result<(u32, Option<HeapId>)>> + use<'b> {
    let sizes = file.sizes;
    bytes.chunks_exact(8 + sizes.address).map(move |bytes| heap_id(&mut Cursor::new(bytes, sizes)))
}

/// Where an object is in a global heap, and its length; `None` for nothing.
pub(super) fn heap_id(cursor: &mut Cursor<'_>) -> Result<(u32, Option<HeapId>)> {
    let (len, address, number) = (cursor.u32()?, cursor.address()?, cursor.u32()?);
    Ok((len, address.filter(|address| *address != 0).map(|address| HeapId { address, number })))
}

/// The texts that are in a global heap.
fn texts(file: &File, bytes: &[u8]) -> Result<Vec<String>> {
    let mut texts = Vec::new();
    for id in ids(file, bytes) {
        let (len, id) = id?;
        let Some(id) = id.filter(|_| len > 0) else {
            alloc::push(&mut texts, String::new())?;
            continue;
        };
        let heap = collection(file, id.address)?;
        let text =
            heap.get(id.number)?.get(..len as usize).ok_or_else(|| malformed("a string is longer than its object"))?;
        file.charge(u64::from(len))?;
        alloc::push(&mut texts, lossy_text(without_end(text, Padding::Terminated))?)?;
    }
    Ok(texts)
}

/// The addresses of objects that a list for each element has, given the first one.
pub(super) fn first_objects(file: &File, stored: &Stored) -> Result<Vec<Option<u64>>> {
    let mut objects = Vec::new();
    if stored.datatype.what != What::ObjectLists {
        return Ok(objects);
    }
    for id in ids(file, &stored.bytes) {
        let object = match id? {
            (0, _) | (_, None) => None,
            (_, Some(id)) => Cursor::new(collection(file, id.address)?.get(id.number)?, file.sizes).address()?,
        };
        alloc::push(&mut objects, object)?;
    }
    Ok(objects)
}

/// The numbers of an attribute of `int`s.
pub(super) fn integers(stored: &Stored) -> Result<Vec<i32>> {
    let What::Element(ElementType::Int, endian) = stored.datatype.what else { return Ok(Vec::new()) };
    let mut numbers = Vec::new();
    for bytes in native(&stored.bytes, ElementType::Int, endian)?.chunks_exact(4) {
        let mut number = [0; 4];
        number.copy_from_slice(bytes);
        alloc::push(&mut numbers, i32::from_ne_bytes(number))?;
    }
    Ok(numbers)
}

/// The text that an attribute is.
pub(super) fn text<'a>(all: &'a [Stored], name: &str) -> Option<&'a [u8]> {
    let stored = all.iter().find(|stored| stored.name == name)?;
    match stored.datatype.what {
        What::Element(ElementType::Char | ElementType::Text { .. }, _) => {
            Some(without_end(&stored.bytes, stored.datatype.padding))
        }
        _ => None,
    }
}

/// Whether an array with these attributes is a dimension's scale.
pub(super) fn is_scale(all: &[Stored]) -> bool {
    text(all, "CLASS") == Some(b"DIMENSION_SCALE")
}
