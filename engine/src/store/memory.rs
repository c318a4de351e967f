//! Memory for chunks, which a store keeps between calls.

use crate::alloc::{Failed, Scratch, try_box};
use crate::codec::Between;
use crate::pool::{Lease, Pool};

/// The memory that a store keeps. Each purpose has a pool of its own, so that what is taken again has the size that is
/// needed, and there is enough for as many threads as a pool has room for.
pub struct Memory {
    /// Chunks that do not land in the destination in one piece.
    chunk: Pool<Scratch>,
    stored: Pool<Scratch>,
    between: [Pool<Scratch>; 2],
}

impl Memory {
    pub fn new() -> Result<Box<Self>, Failed> {
        try_box(Memory { chunk: Pool::new(), stored: Pool::new(), between: [Pool::new(), Pool::new()] })
    }

    /// Frees what is not in use.
    pub(super) fn free(&self) {
        let [one, other] = &self.between;
        for pool in [&self.chunk, &self.stored, one, other] {
            while pool.take().is_some() {}
        }
    }

    /// Memory for one thread. Nothing is allocated before it is used.
    pub(super) fn workspace(&self) -> Workspace<'_> {
        fn lease(pool: &Pool<Scratch>) -> Lease<'_, Scratch> {
            match Lease::new(pool, || Ok::<_, std::convert::Infallible>(Scratch::EMPTY)) {
                Ok(lease) => lease,
            }
        }
        let Memory { chunk, stored, between: [one, other] } = self;
        Workspace {
            chunk: lease(chunk),
            encoded: Encoded { stored: lease(stored), between: [lease(one), lease(other)] },
        }
    }
}

/// The memory that one thread needs for its chunks, from the store's pools.
pub struct Workspace<'s> {
    /// A chunk as the variable has it.
    pub(crate) chunk: Lease<'s, Scratch>,
    /// What is needed to encode and decode.
    pub encoded: Encoded<'s>,
}

/// The memory for encoded chunks.
pub struct Encoded<'s> {
    /// A chunk as it is stored.
    pub(super) stored: Lease<'s, Scratch>,
    /// What lies between two codecs.
    pub(super) between: [Lease<'s, Scratch>; 2],
}

impl Encoded<'_> {
    /// The memory for what lies between two codecs.
    pub(crate) fn between(&mut self) -> Between<'_> {
        let [one, other] = &mut self.between;
        [one, other]
    }
}
