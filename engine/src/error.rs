//! Errors: their messages and their netCDF statuses.
//!
//! An [`Error`] says what happened ([`ErrorKind`]), in which dimension, in which chunk, and which other error caused
//! it. [`Error::status`] is the one mapping to netCDF's numbers.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ffi::c_int;
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use smallvec::SmallVec;

use crate::alloc;
use crate::element::ElementType;
use crate::setting::SettingNames;
use crate::shared::Shared;
use crate::status;

/// A result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error. The message names the quantities involved, in elements unless it says bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// An invalid argument.
    #[error("{0}")]
    Argument(&'static str),
    /// A rank above [`MAX_RANK`](crate::MAX_RANK).
    #[error("rank {0} is above the maximum of 1024 dimensions")]
    Rank(usize),
    /// No start was given for a variable with dimensions.
    #[error("start is NULL, but the variable has dimensions")]
    NoStart,
    /// A start is beyond its dimension.
    #[error("start {start} is outside the dimension, whose length is {dimlen}")]
    #[allow(missing_docs)]
    Start { start: usize, dimlen: usize },
    /// An index of a list, or of a point, is beyond its dimension.
    #[error("index {index} is outside the dimension, whose length is {dimlen}")]
    #[allow(missing_docs)]
    Beyond { index: usize, dimlen: usize },
    /// The last selected element is beyond its dimension.
    #[error("start {start}, count {count}, stride {stride} reach beyond the dimension, whose length is {dimlen}")]
    #[allow(missing_docs)]
    Edge { start: usize, count: usize, stride: isize, dimlen: usize },
    /// A stride is below 1, or is 0 where negative strides are allowed.
    #[error("stride {0} is invalid: {rule}", rule = stride_rule(*.0))]
    Stride(isize),
    /// A dimension is longer than 2^63 elements, or another length is out of range.
    #[error("{0} is not a valid length of a dimension or chunk here")]
    DimensionLength(usize),
    /// The variable does not have this dimension.
    #[error("dimension {0} does not exist")]
    NoDimension(usize),
    /// An origin puts elements, or the beginnings of their chunks, outside the range of indices.
    #[error("origin {origin} and length {dimlen} put indices of the dimension out of the range of signed integers")]
    #[allow(missing_docs)]
    Origin { origin: isize, dimlen: usize },
    /// An index is beyond the end of its list.
    #[error("index {index} is out of range: the number of items is {len}")]
    #[allow(missing_docs)]
    Index { index: usize, len: usize },
    /// A range of a plan's chunks reaches beyond the last chunk.
    #[error("{num_chunks} chunks from number {first} on reach beyond the plan, which has {len}")]
    #[allow(missing_docs)]
    ChunkRange { first: usize, num_chunks: usize, len: usize },
    /// The caller's buffer is too small for a list.
    #[error("the caller's buffer has room for {capacity}, but {needed} are needed")]
    #[allow(missing_docs)]
    Capacity { needed: usize, capacity: usize },
    /// A byte order is set for elements that have none.
    #[error("elements of {0} bytes have no byte order; set a word size first")]
    Endian(usize),
    /// Elements lie outside the block of memory.
    #[error("the selection does not fit into the {len} bytes of memory")]
    #[allow(missing_docs)]
    Memory { len: usize },
    /// A write to a read-only store.
    #[error("read-only: this cannot be written to")]
    ReadOnly,
    /// A write to an array that was opened read-only.
    #[error("opened read-only; open it with Access::Write (in C NCZCHUNK_WRITE) to write")]
    OpenedToRead,
    /// A variable is larger than its file format allows.
    #[error("{0}")]
    VariableSize(&'static str),
    /// An allocation failed.
    #[error("out of memory")]
    OutOfMemory,
    /// The call needs more memory than a [limit](crate::MemoryLimits) allows.
    #[error("{}", Exceeded { name, needed: *needed, limit: *limit })]
    #[allow(missing_docs)]
    Limit { name: &'static str, needed: Option<usize>, limit: usize },
    /// An array cannot be [rechunked](crate) with so little memory.
    #[error("rechunking needs at least {needed} bytes of memory, and the limit is {limit}")]
    #[allow(missing_docs)]
    RechunkMemory { needed: usize, limit: usize },
    /// A stored chunk has the wrong length.
    #[error("the stored chunk has {found} bytes, expected {expected}")]
    #[allow(missing_docs)]
    StoredLength { found: usize, expected: usize },
    /// A stored chunk has more bytes than a chunk of its size can take.
    #[error("the stored chunk has {found} bytes, more than the {most} that a chunk of this size can take")]
    #[allow(missing_docs)]
    StoredTooLong { found: usize, most: usize },
    /// A chunk decodes to the wrong length; `None` stands for more than expected.
    #[error("the decoded chunk has {} bytes, expected {expected}", decoded(*.found))]
    #[allow(missing_docs)]
    DecodedLength { found: Option<usize>, expected: usize },
    /// A zero-copy reader gave a chunk with more bytes than memory can hold.
    #[error("the zero-copy callback gave a chunk of {0} bytes, more than memory can hold")]
    LentLength(usize),
    /// A zero-copy reader returned success without a chunk.
    #[error("the zero-copy callback returned success but gave no chunk")]
    NoData,
    /// The bytes of a chunk cannot be decoded by its codec.
    #[error("the chunk is corrupt: {codec}: {reason}")]
    #[allow(missing_docs)]
    Corrupt { codec: &'static str, reason: &'static str },
    /// A codec could not encode a chunk.
    #[error("{codec} could not encode the chunk: {reason}")]
    #[allow(missing_docs)]
    Encode { codec: &'static str, reason: &'static str },
    /// A file ends too early.
    #[error("the file ends before the requested bytes")]
    Truncated,
    /// Nothing exists under this name.
    #[error("no such {0}")]
    NotFound(&'static str),
    /// A group, or something else that is not an array.
    #[error("this is not an array")]
    NotAnArray,
    /// The format is unknown.
    #[error("the format is unknown: not Zarr, NCZarr, netCDF, HDF5, cfdb or a zip file of these")]
    UnknownFormat,
    /// Metadata violate the rules of their format.
    #[error("malformed metadata: {0}")]
    Metadata(&'static str),
    /// Metadata require a feature that the library does not support.
    #[error("not supported: {0}")]
    Unsupported(&'static str),
    /// A codec is unknown, or cannot be used in this way.
    #[error("{0}")]
    Codec(&'static str),
    /// A setting of a codec is out of range.
    #[error("expected an integer from {least} to {most}, found {found}")]
    #[allow(missing_docs)]
    Setting { least: i64, most: i64, found: i64 },
    /// A codec does not have this setting.
    #[error("unknown setting; the codec has: {0}")]
    UnknownSetting(SettingNames),
    /// The type of the elements is not supported.
    #[error("elements of this type cannot be read")]
    ElementType,
    /// The elements of an array are read or written as a Rust type that does not hold them.
    #[error("the elements are {element} and cannot be read or written as {rust}: values are not converted")]
    #[allow(missing_docs)]
    RustType { element: ElementType, rust: &'static str },
    /// The attribute does not exist.
    #[error("attribute not found")]
    NoAttribute,
    /// Something exists that must not exist yet.
    #[error("something exists here")]
    Exists,
    /// An array or group exists, and overwriting is not allowed.
    #[error("an array or group exists here; pass overwrite to replace it")]
    NotOverwritten,
    /// Another program has locked the file for writing.
    #[error("another program has it open to write to it")]
    Busy,
    /// A file was changed while it was read.
    #[error("the file has changed since it was opened; open it again")]
    Changed,
    /// A server did not respond, or not correctly. The error's source has its message.
    #[error("{0}")]
    Network(&'static str),
    /// A server refuses access, at least with these credentials.
    #[error("the server refuses access")]
    Refused,
    /// Another writer has created or changed the object meanwhile.
    #[error("another writer has made or changed the object meanwhile; read it and try again")]
    Conflict,
    /// A system error with files, by its number (on Windows, the C library's number). A reader or writer in Rust may
    /// return it, too.
    #[error("the system reported error {0}: {words}", words = words(*.0))]
    System(c_int),
    /// The status that a callback of the caller returned, unchanged.
    #[error("the callback failed with status {0}: {words}", words = words(*.0))]
    Callback(c_int),
    /// The status with which the progress callback cancelled the call.
    #[error("the progress callback ended the call with status {0}: {words}", words = words(*.0))]
    Stopped(c_int),
    /// A bug in this library.
    #[error("internal error")]
    Internal,
}

impl ErrorKind {
    /// An error of this kind about a subject: see [`Error::in_object`].
    #[cold]
    #[must_use]
    pub fn in_object(self, what: impl fmt::Display) -> Error {
        Error::from(self).in_object(what)
    }

    /// An error of this kind in a dimension.
    #[must_use]
    pub fn in_dimension(self, dimension: usize) -> Error {
        Error::from(self).in_dimension(dimension)
    }

    /// netCDF's number for this kind of error.
    pub fn status(self) -> c_int {
        match self {
            ErrorKind::Argument(_)
            | ErrorKind::Memory { .. }
            | ErrorKind::Capacity { .. }
            | ErrorKind::Setting { .. }
            | ErrorKind::UnknownSetting(_) => status::EINVAL,
            ErrorKind::ReadOnly | ErrorKind::OpenedToRead => status::EPERM,
            ErrorKind::Rank(_) => status::EMAXDIMS,
            ErrorKind::NoStart | ErrorKind::Start { .. } | ErrorKind::Beyond { .. } | ErrorKind::Index { .. } => {
                status::EINVALCOORDS
            }
            ErrorKind::Edge { .. } | ErrorKind::ChunkRange { .. } => status::EEDGE,
            ErrorKind::Stride(_) => status::ESTRIDE,
            ErrorKind::DimensionLength(_) | ErrorKind::Origin { .. } => status::EDIMSIZE,
            ErrorKind::NoDimension(_) => status::EBADDIM,
            ErrorKind::Endian(_) => status::EBADTYPE,
            ErrorKind::VariableSize(_) => status::EVARSIZE,
            ErrorKind::OutOfMemory | ErrorKind::Limit { .. } | ErrorKind::RechunkMemory { .. } => status::ENOMEM,
            ErrorKind::StoredLength { .. }
            | ErrorKind::StoredTooLong { .. }
            | ErrorKind::DecodedLength { .. }
            | ErrorKind::LentLength(_)
            | ErrorKind::NoData => status::EBADCHUNK,
            ErrorKind::Corrupt { .. } | ErrorKind::Truncated | ErrorKind::Changed => status::EIO,
            ErrorKind::Network(_) => libc::EIO,
            ErrorKind::Refused => libc::EACCES,
            ErrorKind::Conflict => libc::EAGAIN,
            ErrorKind::Busy => libc::EBUSY,
            ErrorKind::Encode { .. } => status::EFILTER,
            ErrorKind::NotFound(_) => status::ENOTFOUND,
            ErrorKind::NotAnArray => status::ENOTVAR,
            ErrorKind::UnknownFormat => status::ENOTNC,
            ErrorKind::Metadata(_) => status::ENCZARR,
            ErrorKind::Unsupported(_) => status::ENOTBUILT,
            ErrorKind::Codec(_) => status::ENOFILTER,
            ErrorKind::ElementType | ErrorKind::RustType { .. } => status::EBADTYPE,
            ErrorKind::NoAttribute => status::ENOTATT,
            ErrorKind::Exists | ErrorKind::NotOverwritten => status::EEXIST,
            ErrorKind::System(code) | ErrorKind::Callback(code) | ErrorKind::Stopped(code) => code,
            ErrorKind::Internal => status::EINTERNAL,
        }
    }
}

/// The message for a status. Nothing is allocated.
fn words(code: c_int) -> &'static str {
    // SAFETY: strerror returns a text with a NUL at its end that stays valid at least until this thread calls it again,
    // which is after the message is written.
    unsafe { std::ffi::CStr::from_ptr(status::strerror(code)) }.to_str().unwrap_or("(no words)")
}

/// Why a stride is refused, for messages.
fn stride_rule(stride: isize) -> &'static str {
    if stride == 0 { "it must not be 0" } else { "this call takes strides of 1 or more" }
}

/// What exceeds a limit, for messages.
struct Exceeded<'e> {
    name: &'e str,
    needed: Option<usize>,
    limit: usize,
}

impl fmt::Display for Exceeded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exceeded { name, needed, limit } = self;
        match needed {
            Some(needed) => write!(f, "{needed} bytes of memory are needed, above the limit {name} = {limit}")?,
            None => write!(f, "more bytes of memory are needed than the limit {name} = {limit}")?,
        }
        f.write_str("; raise it by nczchunk_storage_set_memory_limits, or MemoryLimits in C++, Python and Rust")
    }
}

/// How long a decoded chunk is, for messages.
fn decoded(found: Option<usize>) -> impl fmt::Display {
    struct Found(Option<usize>);
    impl fmt::Display for Found {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            match self.0 {
                Some(found) => found.fmt(f),
                None => f.write_str("more"),
            }
        }
    }
    Found(found)
}

/// An error: what happened, where, and which other error caused it.
///
/// It is one pointer, so that results, most of which are no errors, are returned in registers.
pub struct Error(
    /// `None` stands for a failed allocation, be it that of the details.
    Option<Held>,
);

struct Details {
    kind: ErrorKind,
    dimension: Option<u16>,
    chunk: Option<SmallVec<[isize; 8]>>,
    about: About,
    source: Option<Source>,
}

impl Details {
    fn of(kind: ErrorKind) -> Self {
        Details { kind, dimension: None, chunk: None, about: About::NOTHING, source: None }
    }
}

/// What an error is about, such as an object's name: as much of it as there is room for.
#[derive(Clone)]
struct About {
    bytes: [u8; 160],
    len: usize,
}

impl About {
    const NOTHING: About = About { bytes: [0; 160], len: 0 };

    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }
}

impl fmt::Write for About {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let room = self.bytes.len() - self.len;
        let end = (0..=room.min(text.len())).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
        self.bytes[self.len..][..end].copy_from_slice(&text.as_bytes()[..end]);
        self.len += end;
        // What has no room is left out; nothing may follow it.
        if end < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}

/// What caused an error.
#[derive(Clone)]
struct Source(Shared<Box<dyn std::error::Error + Send + Sync>>);

impl Source {
    fn new(error: impl std::error::Error + Send + Sync + 'static) -> Result<Self, alloc::Failed> {
        let error: Box<dyn std::error::Error + Send + Sync> = alloc::try_box(error)?;
        Ok(Source(Shared::new(error)?))
    }
}

impl Error {
    /// An error for a reader or writer of the caller to return: the status that ends the call, and its cause.
    pub fn caused_by(status: c_int, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        Error::from(ErrorKind::Callback(status)).with_source(source)
    }

    /// The kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.as_ref().map_or(ErrorKind::OutOfMemory, |details| details.kind)
    }

    /// netCDF's number for the error.
    pub fn status(&self) -> c_int {
        self.kind().status()
    }

    /// The dimension in which the error occurred, if it concerns one.
    pub fn dimension(&self) -> Option<usize> {
        self.0.as_ref()?.dimension.map(usize::from)
    }

    /// The indices of the chunk at which the error occurred, if it concerns one.
    pub fn chunk(&self) -> Option<&[isize]> {
        self.0.as_ref()?.chunk.as_deref()
    }

    /// The subject of the error, such as the name of an object and a position in it; may be empty.
    pub fn about(&self) -> &str {
        self.0.as_ref().map_or("", |details| details.about.as_str())
    }

    /// The same error with this subject, unless it is empty, before its subject so far. A long subject is cut off.
    #[cold]
    #[must_use]
    pub fn in_object(self, what: impl fmt::Display) -> Self {
        self.with(|details| {
            let before = std::mem::replace(&mut details.about, About::NOTHING);
            let _ = fmt::Write::write_fmt(&mut details.about, format_args!("{what}"));
            let separator = if before.len > 0 && details.about.len > 0 { ": " } else { "" };
            let _ = fmt::Write::write_fmt(&mut details.about, format_args!("{separator}{}", before.as_str()));
        })
    }

    /// The same error, in this dimension.
    #[must_use]
    pub fn in_dimension(self, dimension: usize) -> Self {
        self.with(|details| details.dimension = u16::try_from(dimension).ok())
    }

    /// The same error, in this chunk. If the allocation for the indices fails, they are left out.
    #[cold]
    #[must_use]
    pub fn in_chunk(self, chunk: &[isize]) -> Self {
        self.with(|details| {
            let mut indices = SmallVec::new();
            if indices.try_reserve_exact(chunk.len()).is_ok() {
                indices.extend_from_slice(chunk);
                details.chunk = Some(indices);
            }
        })
    }

    /// The same error, and what caused it. If the allocation for that fails, it is left out.
    #[doc(hidden)]
    pub fn with_source(self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.with(|details| details.source = Source::new(source).ok())
    }

    /// The same error with other details, if there is memory for any.
    fn with(mut self, change: impl FnOnce(&mut Details)) -> Self {
        let kind = self.kind();
        let details = self.0.take().or_else(|| Held::new(Details::of(kind)));
        Error(details.map(|mut details| {
            change(&mut details);
            details
        }))
    }
}

impl Clone for Error {
    /// If an allocation fails, the copy has fewer details.
    fn clone(&self) -> Self {
        let Some(details) = self.0.as_deref() else { return Error(None) };
        let copy = Error::from(details.kind).with(|copy| {
            (copy.dimension, copy.about, copy.source) =
                (details.dimension, details.about.clone(), details.source.clone());
        });
        match &details.chunk {
            Some(chunk) => copy.in_chunk(chunk),
            None => copy,
        }
    }
}

impl PartialEq for Error {
    /// Errors are equal if their messages are, whatever their causes.
    fn eq(&self, other: &Self) -> bool {
        (self.kind(), self.dimension(), self.chunk()) == (other.kind(), other.dimension(), other.chunk())
    }
}

impl From<ErrorKind> for Error {
    #[cold]
    fn from(kind: ErrorKind) -> Self {
        match kind {
            ErrorKind::OutOfMemory => Error(None),
            kind => Error(None).with(|details| details.kind = kind),
        }
    }
}

impl From<alloc::Failed> for Error {
    fn from(_: alloc::Failed) -> Self {
        Error(None)
    }
}

impl From<std::io::Error> for Error {
    /// The system's error number where there is one, else `EIO`. That the system has no memory is `OutOfMemory`.
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::OutOfMemory {
            return ErrorKind::OutOfMemory.into();
        }
        match errno(&error) {
            Some(number) => Error::from(ErrorKind::System(number)).with_source(error),
            None => Error::caused_by(status::EIO, error),
        }
    }
}

/// The system's number for an error, if it is one of the system's.
#[cfg(unix)]
fn errno(error: &std::io::Error) -> Option<c_int> {
    error.raw_os_error().filter(|&number| number > 0)
}

/// The C library's number for an error, if it is one of the system's: Windows has others.
#[cfg(not(unix))]
fn errno(error: &std::io::Error) -> Option<c_int> {
    use std::io::ErrorKind;
    if error.get_ref().is_some() {
        return None;
    }
    Some(match error.kind() {
        ErrorKind::NotFound => libc::ENOENT,
        ErrorKind::PermissionDenied => libc::EACCES,
        ErrorKind::AlreadyExists => libc::EEXIST,
        ErrorKind::NotADirectory => libc::ENOTDIR,
        ErrorKind::IsADirectory => libc::EISDIR,
        ErrorKind::DirectoryNotEmpty => libc::ENOTEMPTY,
        ErrorKind::InvalidInput => libc::EINVAL,
        ErrorKind::StorageFull => libc::ENOSPC,
        ErrorKind::FileTooLarge => libc::EFBIG,
        ErrorKind::ReadOnlyFilesystem => libc::EROFS,
        ErrorKind::ResourceBusy => libc::EBUSY,
        _ => match error.raw_os_error() {
            // Another program has it open, or has locked it.
            Some(32 | 33) => libc::EACCES,
            // What the file system cannot have as a name.
            Some(123 | 206) => libc::EINVAL,
            _ => libc::EIO,
        },
    })
}

/// Details in a place of the library's or, if all of these are taken, on the heap.
struct Held(NonNull<Details>);

// SAFETY: what is held belongs to the one value that points to it, and may be sent and shared itself.
unsafe impl Send for Held {}
// SAFETY: as above.
unsafe impl Sync for Held {}

/// A place for details, so that it needs no memory to tell of an error.
struct Place {
    is_taken: AtomicBool,
    details: UnsafeCell<MaybeUninit<Details>>,
}

// SAFETY: the details are only used by whoever has set `is_taken`.
unsafe impl Sync for Place {}

static PLACES: [Place; 16] =
    [const { Place { is_taken: AtomicBool::new(false), details: UnsafeCell::new(MaybeUninit::uninit()) } }; 16];

impl Held {
    /// Holds details; `None` if there is no place and the allocation fails.
    fn new(details: Details) -> Option<Self> {
        match PLACES.iter().find(|place| !place.is_taken.swap(true, Ordering::Acquire)) {
            Some(place) => {
                // SAFETY: the place was free and is ours now.
                let taken = unsafe { (*place.details.get()).write(details) };
                Some(Held(NonNull::from(taken)))
            }
            None => Some(Held(NonNull::from(Box::leak(alloc::try_box(details).ok()?)))),
        }
    }
}

impl Deref for Held {
    type Target = Details;

    fn deref(&self) -> &Details {
        // SAFETY: the details are alive and ours.
        unsafe { self.0.as_ref() }
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut Details {
        // SAFETY: the details are alive and ours.
        unsafe { self.0.as_mut() }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let pointer = self.0.as_ptr();
        match PLACES.iter().find(|place| std::ptr::eq(place.details.get().cast(), pointer)) {
            Some(place) => {
                // SAFETY: the details in the place are alive, ours, and not used after this.
                unsafe { pointer.drop_in_place() };
                place.is_taken.store(false, Ordering::Release);
            }
            // SAFETY: they are not in a place, so `new` has put them in a box, which is dropped once.
            None => drop(unsafe { Box::from_raw(pointer) }),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let source = self.0.as_ref()?.source.as_ref()?;
        Some(&**source.0)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.about().is_empty() {
            write!(f, "{}: ", self.about())?;
        }
        if let Some(chunk) = self.chunk() {
            // The indices of a very high rank would hide what comes after them.
            const SHOWN: usize = 16;
            f.write_str("chunk (")?;
            for (d, index) in chunk.iter().take(SHOWN).enumerate() {
                write!(f, "{}{index}", if d == 0 { "" } else { ", " })?;
            }
            f.write_str(if chunk.len() > SHOWN { ", ...): " } else { "): " })?;
        }
        if let Some(dimension) = self.dimension() {
            write!(f, "dimension {dimension}: ")?;
        }
        self.kind().fmt(f)?;
        match (self.kind(), std::error::Error::source(self)) {
            (
                ErrorKind::Argument(_) | ErrorKind::Network(_) | ErrorKind::Refused | ErrorKind::Conflict,
                Some(source),
            ) => write!(f, ": {source}"),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    /// The message, and what caused the error, as `unwrap` and a `main` that returns the error print them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)?;
        match std::error::Error::source(self) {
            // The message has the system's own already.
            Some(source) if !matches!(self.kind(), ErrorKind::System(_)) => write!(f, ": {source}"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    /// That input or output failed: `EIO`, and `ERROR_IO_DEVICE`.
    const NUMBER: i32 = if cfg!(windows) { 1117 } else { libc::EIO };

    #[test]
    fn words_say_where_and_what() {
        let error = Error::from(ErrorKind::StoredLength { found: 40, expected: 4000 }).in_chunk(&[1, -2]);
        assert_eq!(error.to_string(), "chunk (1, -2): the stored chunk has 40 bytes, expected 4000");
        let error = Error::from(ErrorKind::Start { start: 11, dimlen: 10 }).in_dimension(1);
        assert_eq!(error.to_string(), "dimension 1: start 11 is outside the dimension, whose length is 10");
        assert_eq!((error.status(), error.dimension()), (-40, Some(1)));
    }

    #[test]
    fn a_short_chunk_is_said_to_be_stored_or_decoded() {
        let text = |found| ErrorKind::DecodedLength { found, expected: 8 }.to_string();
        assert_eq!(text(Some(5)), "the decoded chunk has 5 bytes, expected 8");
        assert_eq!(text(None), "the decoded chunk has more bytes, expected 8");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no strerror")]
    fn it_is_told_whether_the_system_or_a_callback_failed() {
        let by_the_system = Error::from(std::io::Error::from_raw_os_error(NUMBER)).in_chunk(&[0]);
        assert!(by_the_system.to_string().starts_with("chunk (0): the system reported error 5: "), "{by_the_system}");
        let by_a_reader = Error::caused_by(77, fmt::Error);
        assert!(by_a_reader.to_string().starts_with("the callback failed with status 77: "), "{by_a_reader}");
    }

    #[test]
    fn the_cause_is_kept() {
        let by_the_system = Error::from(std::io::Error::from_raw_os_error(NUMBER)).in_chunk(&[0]);
        let by_a_reader = Error::caused_by(77, fmt::Error);
        assert_eq!((by_the_system.status(), by_a_reader.status()), (libc::EIO, 77));
        let own = Error::from(std::io::Error::other("it is not there"));
        assert_eq!(
            (own.kind(), own.source().unwrap().to_string().as_str()),
            (ErrorKind::Callback(status::EIO), "it is not there")
        );
        for copy in [by_the_system.clone(), by_the_system] {
            assert!(copy.source().unwrap().is::<std::io::Error>());
        }
        assert!(by_a_reader.source().unwrap().is::<fmt::Error>());
    }

    #[test]
    fn a_system_without_memory_is_out_of_memory() {
        // `ENOMEM`, and `ERROR_NOT_ENOUGH_MEMORY`.
        let number = if cfg!(windows) { 8 } else { libc::ENOMEM };
        let error = Error::from(std::io::Error::from_raw_os_error(number));
        assert_eq!((error.kind(), error.status()), (ErrorKind::OutOfMemory, status::ENOMEM));
    }

    /// By their numbers in winerror.h.
    #[test]
    #[cfg(windows)]
    fn numbers_of_windows_are_told_as_those_of_the_c_library() {
        for (number, status) in [
            (2, libc::ENOENT),
            (3, libc::ENOENT),
            (5, libc::EACCES),
            (32, libc::EACCES),
            (33, libc::EACCES),
            (80, libc::EEXIST),
            (87, libc::EINVAL),
            (112, libc::ENOSPC),
            (123, libc::EINVAL),
            (145, libc::ENOTEMPTY),
            (183, libc::EEXIST),
            (206, libc::EINVAL),
            (267, libc::ENOTDIR),
        ] {
            assert_eq!(Error::from(std::io::Error::from_raw_os_error(number)).status(), status, "{number}");
        }
        assert_eq!(Error::from(std::io::Error::from(std::io::ErrorKind::IsADirectory)).status(), libc::EISDIR);
    }

    #[test]
    fn an_error_tells_what_it_is_about_as_far_as_there_is_room() {
        let error = Error::from(ErrorKind::Metadata("expected a number")).in_object("$.shape[1]").in_object(".zarray");
        assert_eq!(error.to_string(), ".zarray: $.shape[1]: malformed metadata: expected a number");
        let long = "\u{e4}".repeat(100);
        let error = Error::from(ErrorKind::NotAnArray).in_object("x").in_object(&long);
        assert_eq!((error.about(), error.status()), (&long[..160], -49));
    }

    #[test]
    fn many_errors_can_be_held_at_the_same_time() {
        let errors: Vec<Error> = (0..40).map(|i| Error::from(ErrorKind::Rank(i)).in_chunk(&[i as isize; 9])).collect();
        let copies = errors.clone();
        assert_eq!(copies, errors);
        drop(errors);
        for (i, copy) in copies.into_iter().enumerate() {
            assert_eq!((copy.kind(), copy.chunk()), (ErrorKind::Rank(i), Some([i as isize; 9].as_slice())));
        }
    }

    #[test]
    fn an_error_is_printed_as_its_message_and_its_cause() {
        let error = Error::from(ErrorKind::Internal).in_object("x").in_dimension(2);
        assert_eq!(
            (format!("{error:?}").as_str(), error.status()),
            ("x: dimension 2: internal error", status::EINTERNAL)
        );
        let by_a_reader = Error::caused_by(status::EIO, std::io::Error::other("the line is dead")).in_chunk(&[1]);
        assert_eq!(format!("{by_a_reader:?}"), format!("{by_a_reader}: the line is dead"));
        assert_eq!(format!("{:?}", Error::from(alloc::Failed)), "out of memory");
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no strerror")]
    fn the_words_of_the_system_are_printed_once() {
        let error = Error::from(std::io::Error::from_raw_os_error(NUMBER)).in_object("x");
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
