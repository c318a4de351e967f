//! An array as its header says: its shape, what its elements are, how they are stored, what stands where nothing is.

use super::bytes::{Cursor, malformed};
use super::datatype::Datatype;
use super::file::File;
use super::header::{Header, kind};
use crate::alloc;
use crate::dataset::lossy_text;
use crate::dims;
use crate::error::{ErrorKind, Result};

/// The lengths of dimensions.
#[derive(Debug, Default)]
pub(super) struct Dataspace {
    pub shape: Vec<usize>,
    /// The most that each may become; `None` where there is no limit.
    pub most: Vec<Option<u64>>,
    /// Whether there are no elements, and no shape either.
    pub is_null: bool,
}

impl Dataspace {
    pub(super) fn read(cursor: &mut Cursor<'_>) -> Result<Dataspace> {
        const HAS_MOST: u8 = 1;
        let (version, rank, flags) = (cursor.u8()?, usize::from(cursor.u8()?), cursor.u8()?);
        let mut space = Dataspace::default();
        match version {
            1 => cursor.skip(5)?,
            2 => space.is_null = cursor.u8()? == 2,
            _ => return Err(ErrorKind::Unsupported("an HDF5 file with a dataspace of a version above 2").into()),
        }
        for d in 0..rank {
            let len = usize::try_from(cursor.length()?).ok().filter(|len| isize::try_from(*len).is_ok());
            let len = len.ok_or_else(|| ErrorKind::DimensionLength(usize::MAX).in_dimension(d))?;
            alloc::push(&mut space.shape, len)?;
        }
        for &len in &space.shape {
            let most = if flags & HAS_MOST != 0 { cursor.length_or_none()? } else { Some(len as u64) };
            alloc::push(&mut space.most, most)?;
        }
        Ok(space)
    }

    /// How many elements there are.
    pub(super) fn count(&self) -> Result<usize> {
        if self.is_null {
            return Ok(0);
        }
        let count = self.shape.iter().try_fold(1usize, |count, len| count.checked_mul(*len));
        count.ok_or_else(|| malformed("the number of elements is too large"))
    }
}

/// A filter of the pipeline.
#[derive(Debug)]
pub(super) struct Filter {
    pub number: u32,
    pub name: String,
    pub parameters: Vec<u32>,
}

/// How elements are stored.
#[derive(Debug)]
pub(super) enum Layout {
    /// One piece of the file, from a position on.
    Bytes {
        position: u64,
    },
    /// There are none yet.
    Nothing,
    Chunked(ChunkedLayout),
}

/// Chunks, and what they are found by.
#[derive(Debug)]
pub(super) struct ChunkedLayout {
    pub shape: Vec<usize>,
    pub index: IndexMessage,
    /// Where the index is; `None` as long as there are no chunks.
    pub address: Option<u64>,
    /// Whether chunks that reach beyond a dimension go through no filter.
    pub edges_are_plain: bool,
}

/// What the chunks are found by.
#[derive(Debug, Clone, Copy)]
pub(super) enum IndexMessage {
    Tree1,
    /// There is one chunk: its length in the file and the filters that it has not been through.
    Single(Option<(u64, u32)>),
    Implicit,
    FixedArray,
    ExtensibleArray,
    Tree2,
}

/// An array as its header says.
pub(super) struct Dataset {
    pub space: Dataspace,
    pub datatype: Datatype,
    /// What stands where nothing was written, as it is in the file.
    pub fill_value: Option<Vec<u8>>,
    pub filters: Vec<Filter>,
    pub layout: Layout,
}

/// Whether a header is that of an array.
pub(super) fn is_dataset(header: &Header) -> bool {
    header.has(kind::DATASPACE) && header.has(kind::DATATYPE) && header.has(kind::LAYOUT)
}

/// The shape and the type that a header has.
pub(super) fn space_and_type(file: &File, header: &Header) -> Result<(Dataspace, Datatype)> {
    let message =
        |kind| header.find(file, kind)?.ok_or_else(|| malformed("the dataset has no dataspace or no datatype"));
    let (space, datatype) = (message(kind::DATASPACE)?, message(kind::DATATYPE)?);
    let space = Dataspace::read(&mut Cursor::new(&space.bytes, file.sizes))?;
    Ok((space, Datatype::read(&mut Cursor::new(&datatype.bytes, file.sizes))?))
}

impl Dataset {
    pub(super) fn read(file: &File, header: &Header) -> Result<Dataset> {
        let (space, datatype) = space_and_type(file, header)?;
        if space.is_null {
            return Err(ErrorKind::Unsupported("an array without a shape (HDF5's null dataspace)").into());
        }
        dims::check_rank(space.shape.len())?;
        if header.has(kind::EXTERNAL_FILES) {
            return Err(ErrorKind::Unsupported("an array of an HDF5 file whose elements are in other files").into());
        }
        let fill_value = fill_value(file, header)?.filter(|value| value.len() == datatype.size);
        let filters = match header.find(file, kind::FILTERS)? {
            Some(message) => filters(&mut Cursor::new(&message.bytes, file.sizes))?,
            None => Vec::new(),
        };
        let layout = layout(file, header, &space, &datatype)?;
        Ok(Dataset { space, datatype, fill_value, filters, layout })
    }
}

fn fill_value(file: &File, header: &Header) -> Result<Option<Vec<u8>>> {
    const IS_DEFINED: u8 = 1 << 5;
    let value = |mut cursor: Cursor<'_>| {
        // A negative length stands for none.
        match usize::try_from(cursor.u32()? as i32) {
            Ok(len) => Ok(Some(alloc::copied(cursor.take(len)?)?)),
            Err(_) => Ok(None),
        }
    };
    if let Some(message) = header.find(file, kind::FILL_VALUE)? {
        let mut cursor = Cursor::new(&message.bytes, file.sizes);
        let version = cursor.u8()?;
        return match version {
            1 | 2 => {
                cursor.skip(2)?;
                let is_defined = cursor.u8()? != 0;
                if is_defined || version == 1 && cursor.left() >= 4 { value(cursor) } else { Ok(None) }
            }
            3 if cursor.u8()? & IS_DEFINED != 0 => value(cursor),
            3 => Ok(None),
            _ => Err(ErrorKind::Unsupported("an HDF5 file with a fill value of a version above 3").into()),
        };
    }
    match header.find(file, kind::OLD_FILL_VALUE)? {
        Some(message) => value(Cursor::new(&message.bytes, file.sizes)),
        None => Ok(None),
    }
}

/// The most filters that a pipeline has: as many as a chunk's mask has bits.
const MOST_FILTERS: usize = 32;

/// The filters of a pipeline.
pub(super) fn filters(cursor: &mut Cursor<'_>) -> Result<Vec<Filter>> {
    /// From this number on filters have names.
    const NAMED: u32 = 256;
    let (version, count) = (cursor.u8()?, usize::from(cursor.u8()?));
    match version {
        1 => cursor.skip(6)?,
        2 => {}
        _ => return Err(ErrorKind::Unsupported("an HDF5 file with a filter pipeline of a version above 2").into()),
    }
    if count > MOST_FILTERS {
        return Err(malformed("the dataset has more than 32 filters"));
    }
    let mut filters = Vec::new();
    for _ in 0..count {
        let number = u32::from(cursor.u16()?);
        let name_len = if version == 1 || number >= NAMED { usize::from(cursor.u16()?) } else { 0 };
        cursor.skip(2)?;
        let num_parameters = usize::from(cursor.u16()?);
        let name = cursor.take(if version == 1 { name_len.next_multiple_of(8) } else { name_len })?;
        let name = lossy_text(name.split(|byte| *byte == 0).next().unwrap_or_default())?;
        let parameters = alloc::try_collected((0..num_parameters).map(|_| cursor.u32()))?;
        if version == 1 && num_parameters % 2 == 1 && cursor.left() >= 4 {
            cursor.skip(4)?;
        }
        alloc::push(&mut filters, Filter { number, name, parameters })?;
    }
    Ok(filters)
}

fn layout(file: &File, header: &Header, space: &Dataspace, datatype: &Datatype) -> Result<Layout> {
    const COMPACT: u8 = 0;
    const CONTIGUOUS: u8 = 1;
    const CHUNKED: u8 = 2;
    const VIRTUAL: u8 = 3;
    const UNKNOWN: ErrorKind = ErrorKind::Unsupported("an array of an HDF5 file with an unknown layout");
    let message = header.find(file, kind::LAYOUT)?.ok_or(ErrorKind::Internal)?;
    let mut cursor = Cursor::new(&message.bytes, file.sizes);
    let rank = space.shape.len();
    let needed = (space.count()? as u64).checked_mul(datatype.size as u64);
    let needed = needed.ok_or_else(|| malformed("the elements need more bytes than a file can have"))?;
    let bytes = |position: u64, len: u64| match len >= needed {
        true => Ok(Layout::Bytes { position }),
        false => Err(malformed("fewer bytes are stored than the elements need")),
    };
    let version = cursor.u8()?;
    if version < 3 {
        let (dimensionality, class) = (usize::from(cursor.u8()?), cursor.u8()?);
        cursor.skip(5)?;
        let address = if class == COMPACT { None } else { cursor.address()? };
        if class == CHUNKED {
            let shape = chunk_shape(&mut cursor, dimensionality, 4, (rank, datatype))?;
            return Ok(chunked(shape, IndexMessage::Tree1, address));
        }
        // What a contiguous array has here are its lengths, which its shape says, too.
        cursor.skip(4 * dimensionality)?;
        if class == COMPACT {
            let len = u64::from(cursor.u32()?);
            return bytes(message.position + cursor.position() as u64, len.min(cursor.left() as u64));
        }
        return match (class, address) {
            (CONTIGUOUS, Some(address)) => bytes(address.saturating_add(file.base), needed),
            (CONTIGUOUS, None) => Ok(Layout::Nothing),
            _ => Err(UNKNOWN.into()),
        };
    }
    let class = cursor.u8()?;
    match class {
        _ if version > 5 => Err(UNKNOWN.into()),
        COMPACT => {
            let len = u64::from(cursor.u16()?);
            bytes(message.position + cursor.position() as u64, len.min(cursor.left() as u64))
        }
        CONTIGUOUS => match (cursor.address()?, cursor.length()?) {
            (Some(address), len) => bytes(address.saturating_add(file.base), len),
            (None, _) => Ok(Layout::Nothing),
        },
        CHUNKED if version == 3 => {
            let dimensionality = usize::from(cursor.u8()?);
            let address = cursor.address()?;
            Ok(chunked(chunk_shape(&mut cursor, dimensionality, 4, (rank, datatype))?, IndexMessage::Tree1, address))
        }
        CHUNKED => {
            const EDGES_ARE_PLAIN: u8 = 1;
            const SINGLE_IS_FILTERED: u8 = 2;
            let (flags, dimensionality, size) = (cursor.u8()?, usize::from(cursor.u8()?), usize::from(cursor.u8()?));
            let shape = chunk_shape(&mut cursor, dimensionality, size, (rank, datatype))?;
            let index = match cursor.u8()? {
                1 if flags & SINGLE_IS_FILTERED != 0 => IndexMessage::Single(Some((cursor.length()?, cursor.u32()?))),
                1 => IndexMessage::Single(None),
                2 => IndexMessage::Implicit,
                // What the header of an array or a tree says is not read here, too.
                3 => {
                    cursor.skip(1)?;
                    IndexMessage::FixedArray
                }
                4 => {
                    cursor.skip(5)?;
                    IndexMessage::ExtensibleArray
                }
                5 => {
                    cursor.skip(6)?;
                    IndexMessage::Tree2
                }
                _ => return Err(UNKNOWN.into()),
            };
            let address = cursor.address()?;
            let edges_are_plain = flags & EDGES_ARE_PLAIN != 0;
            Ok(Layout::Chunked(ChunkedLayout { shape, index, address, edges_are_plain }))
        }
        VIRTUAL => Err(ErrorKind::Unsupported("a virtual dataset, whose elements are in other datasets").into()),
        _ => Err(UNKNOWN.into()),
    }
}

fn chunked(shape: Vec<usize>, index: IndexMessage, address: Option<u64>) -> Layout {
    Layout::Chunked(ChunkedLayout { shape, index, address, edges_are_plain: false })
}

/// The lengths of chunks, behind which is the size of an element.
fn chunk_shape(
    cursor: &mut Cursor<'_>,
    dimensionality: usize,
    size: usize,
    (rank, datatype): (usize, &Datatype),
) -> Result<Vec<usize>> {
    if dimensionality != rank + 1 || !(1..=8).contains(&size) {
        return Err(malformed("the ranks of the chunks and their array differ"));
    }
    let mut shape = Vec::new();
    for _ in 0..rank {
        let len = usize::try_from(cursor.number(size)?).ok().filter(|len| *len > 0);
        alloc::push(&mut shape, len.ok_or_else(|| malformed("a chunk has no elements"))?)?;
    }
    match cursor.number(size)? == datatype.size as u64 {
        true => Ok(shape),
        false => Err(malformed("the element sizes of the chunks and the array differ")),
    }
}
