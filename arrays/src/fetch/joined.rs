//! Where the chunks of several arrays are that are one along a dimension.

use super::locate::{Index, Learned, Locate, Location, Step};
use crate::codec::Chain;
use crate::dims::{self, Dims};
use crate::error::{Error, ErrorKind, Result};
use crate::object::Name;
use crate::store::Filled;

/// The chunks of arrays that follow one another. The first of an object's numbers is that of its array.
pub(crate) struct InParts {
    /// `None` for an array that is only in the first part.
    pub dimension: Option<usize>,
    pub parts: Vec<InPart>,
}

/// One of the arrays.
pub(crate) struct InPart {
    /// The number of its first chunk along the dimension.
    pub first_chunk: isize,
    pub locate: Box<dyn Locate>,
    /// Its codecs; `None` if they are the store's.
    pub codecs: Option<Chain<'static>>,
    /// Whether it has codecs that several threads may use.
    pub is_concurrent: bool,
}

impl InParts {
    /// The array that a chunk is in, its number, and the chunk's indices there.
    fn part(&self, chunk: &[isize]) -> Result<(&InPart, isize, Dims<isize>)> {
        let mut indices = dims::copied(chunk.iter().copied())?;
        let mut number = 0;
        if let Some(index) = self.dimension.and_then(|d| indices.get_mut(d)) {
            number = self.parts.partition_point(|part| part.first_chunk <= *index).saturating_sub(1);
            *index -= self.parts.get(number).map_or(0, |part| part.first_chunk);
        }
        Ok((self.parts.get(number).ok_or(ErrorKind::Internal)?, number as isize, indices))
    }

    /// The array that an object is of, and the object's numbers there.
    fn of<'o>(&self, object: &'o [isize]) -> Result<(&InPart, &'o [isize])> {
        let (number, rest) = object.split_first().ok_or(ErrorKind::Internal)?;
        Ok((self.parts.get(*number as usize).ok_or(ErrorKind::Internal)?, rest))
    }

    fn all(&self, is: impl Fn(&dyn Locate) -> bool) -> bool {
        self.parts.iter().all(|part| is(&*part.locate))
    }
}

impl Locate for InParts {
    fn locate(&self, chunk: &[isize]) -> Result<Location> {
        let (part, number, chunk) = self.part(chunk)?;
        let Location { object, part } = part.locate.locate(&chunk)?;
        let numbers = (0..object.len() + 1).map(|i| if i == 0 { number } else { object[i - 1] });
        Ok(Location { object: dims::copied(numbers)?, part })
    }

    fn name(&self, object: &[isize]) -> Result<Name> {
        let (part, rest) = self.of(object)?;
        let number = object.first().ok_or(ErrorKind::Internal)?;
        Name::of(format_args!("{number}/{}", &*part.locate.name(rest)?))
    }

    fn first_step(&self, index: &[isize]) -> Result<Step> {
        let (part, index) = self.of(index)?;
        part.locate.first_step(index)
    }

    fn learn(&self, index: &[isize], step: &Step, bytes: &[u8], object_len: u64) -> Result<Learned> {
        let (part, index) = self.of(index)?;
        part.locate.learn(index, step, bytes, object_len)
    }

    fn index_len(&self) -> usize {
        self.parts.iter().map(|part| part.locate.index_len()).max().unwrap_or(1)
    }

    fn most_chunks(&self, object: &[isize], counts: &[usize]) -> Option<usize> {
        let (part, rest) = self.of(object).ok()?;
        let mut own = dims::copied(counts.iter().copied()).ok()?;
        if let Some(count) = self.dimension.and_then(|d| own.get_mut(d)) {
            let next = object.first().and_then(|number| self.parts.get(*number as usize + 1));
            let end = next.map_or(*count as isize, |next| next.first_chunk);
            *count = usize::try_from(end - part.first_chunk).ok()?;
        }
        part.locate.most_chunks(rest, &own)
    }

    fn span(&self, object: &[isize], index: &Index, number: usize, object_len: u64) -> Result<Option<(u64, u64)>> {
        let (part, object) = self.of(object)?;
        part.locate.span(object, index, number, object_len)
    }

    fn has_indices(&self) -> bool {
        !self.all(|locate| !locate.has_indices())
    }

    fn has_neighbours(&self) -> bool {
        !self.all(|locate| !locate.has_neighbours())
    }

    fn missing(&self, object: &[isize]) -> Result<Filled> {
        let (part, object) = self.of(object)?;
        part.locate.missing(object)
    }

    fn too_short(&self, object: &[isize]) -> Error {
        self.of(object).map_or_else(|error| error, |(part, object)| part.locate.too_short(object))
    }

    fn is_constant(&self) -> bool {
        self.all(|locate| locate.is_constant())
    }

    fn tells_len(&self) -> bool {
        self.all(|locate| locate.tells_len())
    }

    fn is_concurrent(&self) -> bool {
        self.parts.iter().all(|part| part.is_concurrent)
    }

    fn reads_no_gaps(&self) -> bool {
        !self.all(|locate| !locate.reads_no_gaps())
    }

    fn skipped_codecs(&self, chunk: &[isize]) -> Result<u32> {
        let (part, _, chunk) = self.part(chunk)?;
        part.locate.skipped_codecs(&chunk)
    }

    fn own_codecs(&self, chunk: &[isize]) -> Option<&Chain<'static>> {
        let index = *chunk.get(self.dimension?)?;
        let number = self.parts.partition_point(|part| part.first_chunk <= index).saturating_sub(1);
        self.parts.get(number)?.codecs.as_ref()
    }

    fn swapped_part(&self) -> Option<usize> {
        self.parts.first()?.locate.swapped_part().filter(|_| self.all(|locate| locate.swapped_part().is_some()))
    }
}
