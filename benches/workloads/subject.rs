//! Who does a workload: the library, or the plain loops it is compared with.

use super::bare::Bare;
use super::data::Data;
use super::engine::Engine;
use super::ideal::{self, Decoder, Selection};
use super::{Access, Content, Workload};

/// Reads a workload's selection into memory.
pub type Read<'d> = Box<dyn FnMut(&mut [u8]) + 'd>;

/// Writes memory to a workload's selection.
pub type Write<'d> = Box<dyn FnMut(&[u8]) + 'd>;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// With so many threads.
    Nczchunk(usize),
    /// The same selection of a contiguous array; of compressed chunks, decoding alone.
    Ideal,
    /// The same pieces of the same chunks, without a library.
    Bare,
}

impl Subject {
    /// Whether there is such a thing for the workload.
    pub fn can(self, workload: &Workload) -> bool {
        match self {
            Subject::Nczchunk(threads) => threads == 1 || workload.threaded,
            // An array of 4 GB, of which all but 100 chunks are absent, is not made for its sake.
            Subject::Ideal => !matches!(workload.array.content, Content::EveryNth(2..)),
            Subject::Bare => workload.access == Access::Read && workload.array.content == Content::EveryNth(1),
        }
    }

    /// Whether it delivers the selected bytes: decoding alone does not.
    pub fn delivers(self, workload: &Workload) -> bool {
        self != Subject::Ideal || !matches!(workload.array.content, Content::Compressed { .. })
    }

    /// What reads the workload's selection into memory.
    pub fn read<'d>(self, workload: &'d Workload, data: &'d mut Data) -> Read<'d> {
        let positions = ideal::positions(workload);
        match (self, workload.access, workload.array.content) {
            (Subject::Nczchunk(threads), Access::ReadElements(_), _) => {
                let engine = Engine::new(workload.array, &mut data.chunks, threads);
                Box::new(move |out| engine.read_elements(workload, &positions, out))
            }
            (Subject::Nczchunk(threads), ..) => {
                let engine = Engine::new(workload.array, &mut data.chunks, threads);
                Box::new(move |out| engine.read(workload, out))
            }
            (Subject::Bare, ..) => {
                let bare = Bare::new(workload);
                Box::new(move |out| bare.read(&data.chunks.bytes, out))
            }
            (Subject::Ideal, Access::ReadElements(_), _) => {
                Box::new(move |out| ideal::read_elements(workload, &positions, &data.whole, out))
            }
            (Subject::Ideal, _, Content::EveryNth(_)) => {
                let selection = Selection::new(workload);
                Box::new(move |out| selection.read(&data.whole, out))
            }
            (Subject::Ideal, _, Content::Nothing) => Box::new(ideal::fill_values),
            (Subject::Ideal, _, Content::Compressed { .. }) => {
                let mut decoder = Decoder::new(workload.array.chunk_bytes());
                Box::new(move |_| decoder.run(&data.chunks))
            }
        }
    }

    /// What writes memory to the workload's selection.
    pub fn write<'d>(self, workload: &'d Workload, data: &'d mut Data) -> Write<'d> {
        match self {
            Subject::Nczchunk(threads) => {
                let mut engine = Engine::new(workload.array, &mut data.chunks, threads);
                Box::new(move |from| engine.write(workload, from))
            }
            Subject::Ideal | Subject::Bare => {
                let selection = Selection::new(workload);
                Box::new(move |from| selection.write(&mut data.whole, from))
            }
        }
    }
}
