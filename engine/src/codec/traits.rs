//! The interface of a codec.

use std::ops::Range;

use super::steps::Steps;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::threads::Threads;

/// The `id` of a codec in numcodecs, and the number among its settings that matters there, if one does.
pub type InNumcodecs = (&'static str, Option<usize>);

/// Ranges of encoded bytes, ascending and none of them empty, and the decoded bytes that they stand for.
pub type EncodedRanges = (Vec<Range<usize>>, Range<usize>);

/// A codec.
pub trait Codec: Send + Sync {
    /// The codec's name, for messages.
    fn name(&self) -> &str;

    /// The most bytes that `decoded_size` bytes can take encoded in one go.
    fn encoded_bound(&self, decoded_size: usize) -> usize;

    /// The number of bytes that `decoded_size` bytes take encoded, if it does not depend on their values. A chunk that
    /// is stored with another length is refused, whatever part of it is needed.
    fn encoded_len(&self, decoded_size: usize) -> Option<usize> {
        let _ = decoded_size;
        None
    }

    /// The encoded bytes that are needed to decode the bytes `needed` of `decoded_size`; by default all. Only the end
    /// of the range counts; it may lie beyond the encoded bytes.
    fn needed_encoded(&self, needed: Range<usize>, decoded_size: usize) -> Range<usize> {
        let _ = (needed, decoded_size);
        0..usize::MAX
    }

    /// About how many bytes are decoded to get the bytes `needed`; by default all up to the last of them. Bytes that
    /// are only copied do not count.
    fn decoded_for(&self, needed: Range<usize>) -> usize {
        needed.end
    }

    /// Decodes into an empty buffer of exactly the expected size. The codec must write the bytes `needed`. It must fill
    /// the bytes before them with any values, see [`Buffer::skip`], and may leave out the bytes after them. If `needed`
    /// is not the whole buffer, the encoded bytes that [`needed_encoded`](Self::needed_encoded) leaves out may be
    /// missing, and those before the needed ones may have any values.
    ///
    /// # Errors
    /// `Corrupt` for data that do not decode, `DecodedLength` for more than the buffer can hold, `OutOfMemory`, or an
    /// error of the codec's own. The codec need not detect data that decode to fewer bytes.
    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()>;

    /// Decodes in steps, without memory for bytes that are not needed, and ends with [`Steps::check`]. Returns `false`,
    /// and gives nothing, if the codec cannot do that: then [`decode`](Self::decode) is called.
    ///
    /// # Errors
    /// Those of `decode`.
    fn decode_in_steps(&self, encoded: &[u8], steps: &mut Steps<'_, '_>) -> Result<bool> {
        let _ = (encoded, steps);
        Ok(false)
    }

    /// The number of encoded bytes, from the first on, that are the decoded bytes unchanged, for a codec that only
    /// appends bytes. Then nothing is copied. `size`, `needed` and the verification are as for [`decode`](Self::decode)
    /// into a buffer of that size. `None` for codecs that change the bytes.
    ///
    /// # Errors
    /// Those of [`decode`](Self::decode).
    fn decoded_as_is(&self, encoded: &[u8], needed: Range<usize>, size: usize) -> Result<Option<usize>> {
        let _ = (encoded, needed, size);
        Ok(None)
    }

    /// The ranges of encoded bytes that, joined, decode to a range that contains the `needed` bytes, and that range:
    /// for codecs that only move bytes. `None` for others.
    ///
    /// # Errors
    /// `OutOfMemory`.
    fn encoded_ranges(&self, needed: Range<usize>, decoded_size: usize) -> Result<Option<EncodedRanges>> {
        let _ = (needed, decoded_size);
        Ok(None)
    }

    /// Whether [`decode`](Self::decode) reports a buffer that is too small with `DecodedLength`. Then a smaller buffer
    /// may be tried first for chunks whose decoded length is unknown.
    fn says_too_little_room(&self) -> bool {
        false
    }

    /// Encodes into an empty buffer with room for [`encoded_bound`](Self::encoded_bound) bytes.
    ///
    /// # Errors
    /// `Encode`, `OutOfMemory`, or an error of the codec's own.
    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()>;

    /// [`encode`](Self::encode) by up to `threads` threads, the calling one included, for codecs that divide their
    /// input. The result is the same for any number of threads.
    ///
    /// # Errors
    /// Those of `encode`.
    fn encode_by_threads(&self, decoded: &[u8], encoded: &mut Buffer<'_>, threads: Threads<'_>) -> Result<()> {
        let _ = threads;
        self.encode(decoded, encoded)
    }

    /// The most bytes of memory that the codec takes to encode or to decode `decoded_size` bytes, besides the buffers
    /// that it is given. Limits on the memory of a call count it. The default is one more buffer of encoded bytes.
    fn working_memory(&self, decoded_size: usize, encodes: bool) -> usize {
        let _ = encodes;
        self.encoded_bound(decoded_size)
    }

    /// Whether the codec can encode; by default, unless one of its settings is a reason why not.
    fn can_encode(&self) -> bool {
        self.why_not_encoded().is_none()
    }

    /// The reason why the codec cannot encode, if it is one of its settings.
    fn why_not_encoded(&self) -> Option<&'static str> {
        None
    }

    /// The codec of numcodecs that decodes the same, for references to chunks; `None` if there is none.
    fn numcodecs(&self) -> Option<InNumcodecs> {
        None
    }

    /// Whether several threads may use the codec at the same time.
    fn is_concurrent(&self) -> bool {
        true
    }
}

/// Defines what a [`Codec`] states by constants: its name and, if they are listed, that numcodecs has a codec of this
/// name, and that it says if there is too little room.
macro_rules! named {
    (@in_numcodecs $name:expr) => {
        fn numcodecs(&self) -> Option<$crate::codec::InNumcodecs> {
            Some(($name, None))
        }
    };
    (@says_too_little_room $name:expr) => {
        fn says_too_little_room(&self) -> bool {
            true
        }
    };
    ($name:expr $(, $fact:ident)*) => {
        fn name(&self) -> &str {
            $name
        }

        $($crate::codec::traits::named!(@$fact $name);)*
    };
}
pub(super) use named;

/// The part of a [`Codec`] that encodes, for one that only decodes; and what it says of that.
#[allow(unused_macros, reason = "codecs use it, and all of them can be left out")]
macro_rules! decoded_only {
    ($codec:expr, $reason:literal) => {
        fn encode(&self, _: &[u8], _: &mut Buffer<'_>) -> Result<()> {
            Err(ErrorKind::Encode { codec: $codec, reason: $reason }.into())
        }

        fn can_encode(&self) -> bool {
            false
        }
    };
}
#[allow(unused_imports, reason = "codecs use it, and all of them can be left out")]
pub(super) use decoded_only;

/// Refuses to encode where there was too little room to write something.
#[allow(dead_code, reason = "codecs use it, and all of them can be left out")]
pub(super) fn written(is_written: bool, codec: &'static str) -> Result<()> {
    if is_written { Ok(()) } else { Err(ErrorKind::Encode { codec, reason: "the output buffer is too small" }.into()) }
}
