//! Chunk keys: the name under which a store holds a chunk.
//!
//! | style | key of chunk (1, 0) | rank 0 | what the numbers are |
//! |---|---|---|---|
//! | [Zarr v2] | `1.0` or `1/0` | `0` | chunk indices |
//! | [Zarr v3], default encoding | `c/1/0` or `c.1.0` | `c` | chunk indices |
//! | Zarr v3, v2 encoding | as Zarr v2 | `0` | chunk indices |
//! | cfdb | `var!4.0` | `var!` | the chunk's first element: chunk index times chunk length |
//!
//! Only cfdb has chunks before the origin; its numbers may be negative.
//!
//! [Zarr v2]: https://zarr-specs.readthedocs.io/en/latest/v2/v2.0.html
//! [Zarr v3]: https://zarr-specs.readthedocs.io/en/latest/v3/chunk-key-encodings/default/index.html

use std::fmt::{self, Write};

use crate::dims::check_rank;
use crate::error::{Error, ErrorKind, Result};

/// What stands between two numbers of a Zarr key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Separator {
    /// `.`, the default of Zarr v2.
    Dot,
    /// `/`, the default of Zarr v3.
    Slash,
}

impl Separator {
    /// The character.
    pub fn as_char(self) -> char {
        match self {
            Separator::Dot => '.',
            Separator::Slash => '/',
        }
    }
}

impl TryFrom<char> for Separator {
    type Error = Error;

    /// The separator that is this character. [`ErrorKind::Argument`] for any but `.` and `/`.
    fn try_from(separator: char) -> Result<Self> {
        match separator {
            '.' => Ok(Separator::Dot),
            '/' => Ok(Separator::Slash),
            _ => Err(ErrorKind::Argument("the chunk key separator must be '.' or '/'").into()),
        }
    }
}

/// How a store names its chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyStyle<'a> {
    /// Zarr v2, and Zarr v3 with the `v2` encoding.
    ZarrV2(Separator),
    /// Zarr v3 with the `default` encoding.
    ZarrV3(Separator),
    /// cfdb. Its separator is always `.`.
    Cfdb {
        /// The variable's name, taken as it is.
        var: &'a str,
        /// The chunk lengths, in elements, one per dimension.
        chunklens: &'a [usize],
    },
}

impl<'a> KeyStyle<'a> {
    /// The key of the chunk with these indices, one per dimension.
    ///
    /// With an origin the indices count from it: element i lies in chunk `floor((i + origin) / chunklen)`.
    ///
    /// Errors: [`ErrorKind::Rank`]; [`ErrorKind::Argument`] for a negative index in a Zarr key, a chunk length of 0, or
    /// a number of chunk lengths that is not the rank.
    pub fn key(self, chunk: &'a [isize]) -> Result<Key<'a>> {
        check_rank(chunk.len())?;
        let (wrong, message) = match self {
            KeyStyle::Cfdb { chunklens, .. } if chunklens.len() != chunk.len() => {
                return Err(ErrorKind::Argument("there must be one chunk length for each chunk index").into());
            }
            KeyStyle::Cfdb { chunklens, .. } => (chunklens.iter().position(|&c| c == 0), "the chunk length is 0"),
            _ => (chunk.iter().position(|&i| i < 0), "chunk indices in Zarr must not be negative"),
        };
        match wrong {
            Some(d) => Err(Error::from(ErrorKind::Argument(message)).in_dimension(d)),
            None => Ok(Key { style: self, chunk }),
        }
    }
}

/// A chunk's key, ready to be written: it implements [`Display`](fmt::Display), and nothing is allocated for it.
///
/// ```
/// use nczchunk::key::{KeyStyle, Separator};
///
/// let key = KeyStyle::ZarrV3(Separator::Slash).key(&[1, 0])?;
/// assert_eq!(key.to_string(), "c/1/0");
/// # Ok::<(), nczchunk::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key<'a> {
    style: KeyStyle<'a>,
    chunk: &'a [isize],
}

impl Key<'_> {
    /// The key's length in bytes.
    pub fn byte_len(&self) -> usize {
        let mut counter = Counter(0);
        // A counter never fails.
        let _ = write!(counter, "{self}");
        counter.0
    }
}

impl fmt::Display for Key<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.style {
            KeyStyle::ZarrV2(_) if self.chunk.is_empty() => f.write_char('0'),
            KeyStyle::ZarrV2(separator) => joined(f, separator, self.chunk),
            KeyStyle::ZarrV3(_) if self.chunk.is_empty() => f.write_char('c'),
            KeyStyle::ZarrV3(separator) => {
                write!(f, "c{}", separator.as_char())?;
                joined(f, separator, self.chunk)
            }
            KeyStyle::Cfdb { var, chunklens } => {
                write!(f, "{var}!")?;
                joined(f, Separator::Dot, self.chunk.iter().zip(chunklens).map(|(&index, &len)| start(index, len)))
            }
        }
    }
}

/// Where a chunk starts, in elements. Two factors of at most 64 bits have a product of at most 128.
fn start(index: isize, chunklen: usize) -> i128 {
    index as i128 * chunklen as i128
}

/// The numbers with the separator between them.
fn joined(
    f: &mut fmt::Formatter<'_>,
    separator: Separator,
    numbers: impl IntoIterator<Item: fmt::Display>,
) -> fmt::Result {
    for (d, number) in numbers.into_iter().enumerate() {
        if d > 0 {
            f.write_char(separator.as_char())?;
        }
        write!(f, "{number}")?;
    }
    Ok(())
}

/// Counts the bytes written to it.
struct Counter(usize);

impl Write for Counter {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0 += text.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status;

    fn key(style: KeyStyle, chunk: &[isize]) -> String {
        let key = style.key(chunk).unwrap();
        assert_eq!(key.byte_len(), key.to_string().len());
        key.to_string()
    }

    #[test]
    fn zarr_keys_are_chunk_indices() {
        use Separator::*;
        assert_eq!(key(KeyStyle::ZarrV2(Dot), &[2, 10, 0]), "2.10.0");
        assert_eq!(key(KeyStyle::ZarrV2(Slash), &[2, 10, 0]), "2/10/0");
        assert_eq!(key(KeyStyle::ZarrV2(Slash), &[]), "0");
        assert_eq!(key(KeyStyle::ZarrV3(Slash), &[7]), "c/7");
        assert_eq!(key(KeyStyle::ZarrV3(Dot), &[1, 0]), "c.1.0");
        assert_eq!(key(KeyStyle::ZarrV3(Dot), &[]), "c");
    }

    #[test]
    fn cfdb_keys_are_chunk_starts() {
        let style = KeyStyle::Cfdb { var: "sst", chunklens: &[4, 3] };
        assert_eq!(key(style, &[2, 1]), "sst!8.3");
        assert_eq!(key(style, &[-2, 0]), "sst!-8.0");
        assert_eq!(key(KeyStyle::Cfdb { var: "sst", chunklens: &[] }, &[]), "sst!");
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn the_farthest_chunks_have_keys() {
        let style = KeyStyle::Cfdb { var: "v", chunklens: &[usize::MAX, usize::MAX] };
        let starts = "v!-170141183460469231722463931679029329920.170141183460469231704017187605319778305";
        assert_eq!(key(style, &[isize::MIN, isize::MAX]), starts);
    }

    #[test]
    fn what_has_no_key() {
        let no_key = |style: KeyStyle, chunk: &[isize]| {
            let error = style.key(chunk).unwrap_err();
            (error.status(), error.dimension())
        };
        assert_eq!(no_key(KeyStyle::ZarrV2(Separator::Dot), &[0, -1]), (status::EINVAL, Some(1)));
        assert_eq!(no_key(KeyStyle::ZarrV3(Separator::Dot), &[-1]), (status::EINVAL, Some(0)));
        assert_eq!(no_key(KeyStyle::Cfdb { var: "v", chunklens: &[4, 0] }, &[0, 0]), (status::EINVAL, Some(1)));
        assert_eq!(no_key(KeyStyle::Cfdb { var: "v", chunklens: &[4] }, &[0, 0]), (status::EINVAL, None));
        assert_eq!(no_key(KeyStyle::ZarrV2(Separator::Dot), &[0; 1025]), (status::EMAXDIMS, None));
        assert!(Separator::try_from(',').is_err());
    }
}
