//! Who does a workload: the library, or the plain loops it is compared with.

use super::bare::Bare;
use super::data::Data;
use super::engine::Engine;
use super::ideal::{self, Decoder, Selection};
use super::workloads::{Access, Content, Workload};

/// Reads a workload's selection into memory or, if the workload is a write, writes memory to it.
pub type Transfer<'d> = Box<dyn FnMut(&mut [u8]) + 'd>;

/// All of them, by the names that are used outside.
pub const SUBJECTS: [(&str, Subject); 6] = [
    ("nczchunk", Subject::Nczchunk(1)),
    ("nczchunk-once", Subject::Once),
    ("ideal", Subject::Ideal),
    ("bare", Subject::Bare),
    ("nczchunk-2", Subject::Nczchunk(2)),
    ("nczchunk-8", Subject::Nczchunk(8)),
];

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// With so many threads.
    Nczchunk(usize),
    /// By one call each time, where the workload is for a plan that is kept.
    Once,
    /// The same selection of a contiguous array; of compressed chunks, decoding alone.
    Ideal,
    /// The same pieces of the same chunks, without a library, one after the other.
    Bare,
}

impl Subject {
    /// Whether there is such a thing for the workload.
    pub fn can(self, workload: &Workload) -> bool {
        match self {
            Subject::Nczchunk(threads) => threads == 1 || workload.threads == threads,
            Subject::Once => workload.kept,
            // An array of 4 GB, of which all but 100 chunks are absent, is not made for its sake.
            Subject::Ideal => !matches!(workload.array.content, Content::EveryNth(2..)),
            Subject::Bare => workload.access == Access::Read && workload.array.content == Content::EveryNth(1),
        }
    }

    /// Whether it delivers the selected bytes: decoding alone does not.
    pub fn delivers(self, workload: &Workload) -> bool {
        self != Subject::Ideal || !matches!(workload.array.content, Content::Compressed { .. })
    }

    /// What does the workload. All that can be known beforehand is, when this returns.
    pub fn transfer<'d>(self, workload: &'d Workload, data: &'d mut Data) -> Transfer<'d> {
        let positions = ideal::positions(workload);
        match (self, workload.access, workload.array.content) {
            (Subject::Once, ..) => {
                let engine = Engine::new(workload, &mut data.chunks, 1);
                Box::new(move |out| engine.read(workload, out))
            }
            (Subject::Nczchunk(threads), access, _) => {
                let mut engine = Engine::new(workload, &mut data.chunks, threads);
                match access {
                    Access::Read if workload.kept => {
                        let kept = engine.keep(workload);
                        Box::new(move |out| kept.read(out))
                    }
                    Access::Read if workload.transposed => {
                        let imap = workload.imap();
                        Box::new(move |out| engine.read_mapped(workload, &imap, out))
                    }
                    Access::Read => Box::new(move |out| engine.read(workload, out)),
                    Access::ReadElements(_) => Box::new(move |out| engine.read_elements(workload, &positions, out)),
                    Access::Write => Box::new(move |values| engine.write(workload, values)),
                }
            }
            (Subject::Bare, ..) => {
                let bare = Bare::new(workload, workload.array.chunklens);
                Box::new(move |out| bare.read(&data.chunks.bytes, out))
            }
            (Subject::Ideal, Access::Read, _) if workload.transposed => {
                // The array is one chunk.
                let bare = Bare::new(workload, workload.array.dimlens);
                Box::new(move |out| bare.read(&data.whole, out))
            }
            (Subject::Ideal, Access::ReadElements(_), _) => {
                Box::new(move |out| ideal::read_elements(workload, &positions, &data.whole, out))
            }
            (Subject::Ideal, Access::Write, _) => {
                let selection = Selection::new(workload);
                Box::new(move |values| selection.write(&mut data.whole, values))
            }
            (Subject::Ideal, _, Content::EveryNth(_)) => {
                let selection = Selection::new(workload);
                Box::new(move |out| selection.read(&data.whole, out))
            }
            (Subject::Ideal, _, Content::Nothing) => Box::new(ideal::fill_values),
            (Subject::Ideal, _, Content::Compressed { .. }) => {
                let mut decoder = Decoder::new(workload, &data.chunks);
                Box::new(move |_| decoder.run(&data.chunks))
            }
        }
    }
}
