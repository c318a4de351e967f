//! Chunks that are parts of a file.

use super::flight::{PartFlight, truncated};
use super::layout::Layout;
use crate::alloc::{self, try_box};
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::object::Place;
use crate::open_object::Opening;
use crate::store::{Fill, Filled, Flight, Request};

/// What lands in memory is read by so many bytes. A read of as many takes much longer than to ask for it.
const SWAPPED: usize = 128 << 10;

/// The chunks of a variable.
pub(super) struct Chunks {
    place: Place,
    /// The name of the file in the place.
    file: String,
    /// The name of the variable in the file.
    variable: String,
    layout: Layout,
    /// Whether the file ends before the variable does.
    is_truncated: bool,
}

impl Chunks {
    /// The chunks of a variable in a file that had so many bytes when its header was read.
    pub(super) fn new(place: &Place, file: &str, variable: &str, layout: Layout, file_len: u64) -> Result<Self> {
        let is_truncated = layout.end > file_len;
        let (place, file, variable) = (place.clone(), alloc::text(file)?, alloc::text(variable)?);
        Ok(Chunks { place, file, variable, layout, is_truncated })
    }
}

impl Fill for Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let offset = self.layout.offset(request.chunk(), request.offset())?;
        if !self.place.read_part(&self.file, offset, buffer)? {
            return Err(ErrorKind::NotFound("file").into());
        }
        let (filled, due) = (buffer.filled().len(), buffer.capacity());
        if filled == due { Ok(Filled::Stored(filled)) } else { Err(truncated(&self.variable)) }
    }

    fn open(&self, request: &Request<'_>) -> Result<Opening<'_>> {
        let offset = self.layout.offset(request.chunk(), 0)?;
        match self.place.open(&self.file)? {
            Opening::Absent => Err(ErrorKind::NotFound("file").into()),
            opening => Ok(opening.behind(offset)),
        }
    }

    fn range_gap(&self) -> Option<usize> {
        // Of a file that ends too early nothing is read that is not needed.
        Some(if self.is_truncated { 0 } else { self.place.gap() })
    }

    fn swapped_part(&self) -> Option<usize> {
        Some(SWAPPED)
    }

    fn verify(&self, _: &Request<'_>) -> Result<()> {
        self.place.verify(&self.file)
    }

    fn is_concurrent(&self) -> bool {
        self.place.is_concurrent()
    }

    fn has_latency(&self) -> bool {
        self.place.flight().is_some()
    }

    fn flight(&self) -> Result<Box<dyn Flight + '_>> {
        let flight = self.place.flight().ok_or(ErrorKind::Internal)?;
        let flight = (flight, self.place.flight_prefix());
        Ok(try_box(PartFlight::new((&self.file, &self.variable), &self.layout, flight))?)
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;

    use crate::object::{Directory, Memory};
    use crate::{Access, Array, Hyperslab};

    #[test]
    fn a_file_that_is_gone_is_an_error() {
        let bytes = std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/data/coads_sst.nc")).unwrap();
        let directory = std::env::temp_dir().join(format!("nczchunk-gone-{}", std::process::id()));
        // The one is asked for parts of the file, and of the other it is opened.
        for place in [Place::new(Memory::new()), Place::new(Directory::create(&directory).unwrap())] {
            let place = place.unwrap();
            place.write("f", &bytes).unwrap();
            let array = Array::open_in(&place.file("f").unwrap(), "SST", Access::Read).unwrap();
            assert!(array.read::<f32>(&Hyperslab::all()).is_ok());
            place.remove("f").unwrap();
            for slab in [Hyperslab::all(), Hyperslab::new(&[0, 0, 0], &[12, 1, 1])] {
                let error = array.read::<f32>(&slab).unwrap_err();
                assert_eq!((error.kind(), error.chunk()), (ErrorKind::NotFound("file"), Some(&[0, 0, 0][..])));
            }
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
