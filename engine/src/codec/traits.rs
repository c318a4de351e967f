//! What a codec does.

use std::ops::Range;

use super::steps::Steps;
use crate::buffer::Buffer;
use crate::error::Result;

/// Ranges of encoded bytes, ascending and none of them empty, and the decoded bytes that they stand for.
pub type EncodedRanges = (Vec<Range<usize>>, Range<usize>);

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

    /// Decodes in steps, so that it takes no room for bytes that nobody needs; `false`, and nothing has been given, if
    /// the codec cannot do that.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    #[doc(hidden)]
    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        let _ = (encoded, steps);
        Ok(false)
    }

    /// How many of the encoded bytes, from the first on, are the decoded ones as they are, if the codec has only added
    /// something behind them: then nothing has to be copied. `size`, `needed` and what is verified are as for
    /// [`decode`](Self::decode) into a buffer of that size. `None` for codecs that change the bytes.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    #[doc(hidden)]
    fn decoded_as_is(&self, encoded: &[u8], needed: Range<usize>, size: usize) -> Result<Option<usize>> {
        let _ = (encoded, needed, size);
        Ok(None)
    }

    /// Which ranges of the encoded bytes, put together, decode to a range of the bytes that has the `needed` ones, and
    /// that range: for codecs that only put bytes elsewhere. `None` for others.
    #[doc(hidden)]
    fn encoded_ranges(&self, needed: Range<usize>, decoded_size: usize) -> Result<Option<EncodedRanges>> {
        let _ = (needed, decoded_size);
        Ok(None)
    }

    /// Whether [`decode`](Self::decode) says with `DecodedLength` that there is too little room: then it may first be
    /// tried with less than what could be due.
    #[doc(hidden)]
    fn says_too_little_room(&self) -> bool {
        false
    }

    /// Encodes into an empty buffer with room for [`encoded_bound`](Self::encoded_bound) bytes.
    ///
    /// # Errors
    /// `Encode`, `OutOfMemory`, or an error of the codec's own.
    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()>;

    /// Whether the codec can encode, and so be written with.
    fn can_encode(&self) -> bool {
        true
    }

    /// Why it cannot encode, where its settings are the reason.
    #[doc(hidden)]
    fn why_not_encoded(&self) -> Option<&'static str> {
        None
    }

    /// Whether several threads may use the codec at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }
}
