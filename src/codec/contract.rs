//! What a codec does.

use std::ops::Range;

use crate::buffer::Buffer;
use crate::error::Result;

/// A codec.
pub trait Codec: Send + Sync {
    /// The codec's name, for messages.
    fn name(&self) -> &str;

    /// The most bytes that `decoded_size` bytes can take encoded in one go.
    fn encoded_bound(&self, decoded_size: usize) -> usize;

    /// How many bytes `decoded_size` bytes take encoded, if that does not depend on what they are: a chunk that is
    /// stored with another length is refused whatever is needed of it.
    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        let _ = decoded_size;
        None
    }

    /// Which of the encoded bytes are needed to decode the bytes `needed` of `decoded_size`: all of them, unless the
    /// codec says otherwise. Of the range only the end counts; it may lie beyond what is encoded.
    fn needed_encoded(&self, needed: Range<usize>, decoded_size: usize) -> Range<usize> {
        let _ = (needed, decoded_size);
        0..usize::MAX
    }

    /// About how many bytes are decoded to have the bytes `needed`: all up to the last of them, unless the codec says
    /// otherwise. Those that are only copied do not count.
    fn decoded_for(&self, needed: Range<usize>) -> usize {
        needed.end
    }

    /// Decodes into an empty buffer that has room for just what is due. Of that, the bytes `needed` have to be there
    /// afterwards. What is before them has to be filled with anything, see [`Buffer::skip`]; what follows may be left
    /// out, and then nobody looks at it. If `needed` is not all, of the encoded bytes those may be missing that
    /// [`needed_encoded`](Self::needed_encoded) leaves out, and what is before the needed ones may be anything.
    ///
    /// # Errors `Corrupt` for data that do not decode, `DecodedLength` for more than there is room for, `OutOfMemory`,
    /// or an error of the codec's own. That less is decoded than is due need not be noticed.
    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()>;

    /// Encodes into an empty buffer with room for [`encoded_bound`](Self::encoded_bound) bytes.
    ///
    /// # Errors
    /// `Encode`, `OutOfMemory`, or an error of the codec's own.
    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()>;

    /// Whether the codec can encode, and so be written with.
    fn can_encode(&self) -> bool {
        true
    }

    /// Whether several threads may use the codec at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }
}
