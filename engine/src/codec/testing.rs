//! What tests of codecs need, in this crate and in those above.

use std::mem::MaybeUninit;
use std::ops::Range;

use super::Codec;
#[cfg(feature = "lz4")]
pub use super::lz4::frame::testing::frame as lz4_frame;
use crate::alloc::Scratch;
use crate::buffer::Buffer;
use crate::error::Result;

/// What a buffer is followed by, which nobody may write to.
const GUARD: usize = 64;

/// Encodes a chunk.
pub fn encoded(codec: &dyn Codec, chunk: &[u8]) -> Vec<u8> {
    let mut scratch = Scratch::EMPTY;
    let mut buffer = Buffer::new(scratch.room(codec.encoded_bound(chunk.len())).unwrap());
    codec.encode(chunk, &mut buffer).unwrap();
    buffer.filled().to_vec()
}

/// Decodes a chunk into a buffer of this size; what was filled.
pub fn decoded(codec: &dyn Codec, stored: &[u8], needed: Range<usize>, capacity: usize) -> Result<Vec<u8>> {
    let mut memory = vec![MaybeUninit::new(0xA5); capacity + GUARD];
    let (room, guard) = memory.split_at_mut(capacity);
    let mut buffer = Buffer::new(room);
    let result = codec.decode(stored, needed, &mut buffer).map(|()| buffer.filled().to_vec());
    // SAFETY: all of the memory was initialised.
    #[allow(unsafe_code)]
    let is_kept = guard.iter().all(|byte| unsafe { byte.assume_init() } == 0xA5);
    assert!(is_kept, "{} wrote beyond its buffer", codec.name());
    result
}
