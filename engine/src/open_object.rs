//! An object that stays what it was when it was opened, to be read at any position, without a file pointer that threads
//! would share.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::sync::Mutex;

use crate::buffer::Buffer;
use crate::error::Result;
use crate::shared::Shared;

/// The length of an object in bytes and, where that is known, a number that no other object of the same name has: not
/// one that replaced it, and not the same one after a change.
pub type ObjectState = (u64, Option<u128>);

/// What is known of objects that change or are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Versions {
    /// No object changes while the storage is used.
    Constant,
    /// What is read comes with the object's version.
    Told,
    /// Nothing: an object that is replaced by one of the same length looks the same.
    Unknown,
}

/// What there is to read if several parts of something are needed.
pub enum Opening<'f> {
    /// Nothing that is kept open: each part is asked for by itself.
    Nothing,
    /// What was asked for does not exist.
    Absent,
    /// An open object: all that is read from it is of one version of the object.
    Object(OpenObject<'f>),
}

impl<'f> Opening<'f> {
    /// A file that stays open anyway.
    pub fn borrowed(file: &'f File) -> Self {
        Opening::Object(OpenObject { bytes: Bytes::Borrowed(file), begin: 0, end: u64::MAX, state: None })
    }

    /// The bytes from `begin` on of a file that stays open anyway, and their state.
    #[doc(hidden)]
    pub fn within(file: &'f File, begin: u64, state: ObjectState) -> Self {
        let end = begin.saturating_add(state.0);
        Opening::Object(OpenObject { bytes: Bytes::Borrowed(file), begin, end, state: Some(state) })
    }

    /// A file that is closed with this, and its state.
    pub fn owned(file: File, state: ObjectState) -> Self {
        Opening::Object(OpenObject { bytes: Bytes::Owned(file), begin: 0, end: state.0, state: Some(state) })
    }

    /// Bytes in memory, and their state.
    #[doc(hidden)]
    pub fn memory(bytes: Shared<Vec<u8>>, state: ObjectState) -> Self {
        Opening::Object(OpenObject { bytes: Bytes::Memory(bytes), begin: 0, end: state.0, state: Some(state) })
    }

    /// What is so many bytes behind the beginning of this.
    pub fn behind(mut self, bytes: u64) -> Self {
        if let Opening::Object(object) = &mut self {
            object.begin = object.begin.saturating_add(bytes);
        }
        self
    }
}

/// Bytes of an object, from one of its bytes on.
pub struct OpenObject<'f> {
    bytes: Bytes<'f>,
    begin: u64,
    /// Nothing is read from this byte of the file or the memory on.
    end: u64,
    state: Option<ObjectState>,
}

enum Bytes<'f> {
    Borrowed(&'f File),
    Owned(File),
    Memory(Shared<Vec<u8>>),
}

impl OpenObject<'_> {
    /// So many bytes from `offset` on, as an object of its own.
    #[doc(hidden)]
    pub fn part(self, offset: u64, len: u64) -> Self {
        let begin = self.begin.saturating_add(offset);
        let end = self.end.min(begin.saturating_add(len));
        OpenObject { begin, end, ..self }
    }

    /// The object's state, if it was asked for.
    pub fn state(&self) -> Option<ObjectState> {
        self.state
    }

    /// How many bytes there are, as far as that is known.
    pub(crate) fn len(&self) -> usize {
        usize::try_from(self.end.saturating_sub(self.begin)).unwrap_or(usize::MAX)
    }

    /// Reads up to as many bytes as an empty buffer has room for, from `offset` on.
    #[doc(hidden)]
    pub fn read(&self, offset: u64, buffer: &mut Buffer<'_>) -> io::Result<()> {
        let begin = self.begin.saturating_add(offset);
        let there = usize::try_from(self.end.saturating_sub(begin)).unwrap_or(usize::MAX);
        let wanted = buffer.capacity().min(there);
        match &self.bytes {
            Bytes::Borrowed(file) => read_at(file, begin, wanted, buffer),
            Bytes::Owned(file) => read_at(file, begin, wanted, buffer),
            Bytes::Memory(bytes) => {
                let rest = usize::try_from(begin).ok().and_then(|begin| bytes.get(begin..)).unwrap_or_default();
                buffer.write(&rest[..rest.len().min(wanted)]);
                Ok(())
            }
        }
    }

    /// Fills an empty buffer with the bytes from `offset` on, if they are in memory, such as a file's in the page
    /// cache; `false` if they are not all there, or if the system does not tell: then they may have to be waited for.
    pub(crate) fn fill_at_once(&self, offset: u64, buffer: &mut Buffer<'_>) -> bool {
        let begin = self.begin.saturating_add(offset);
        if self.end.saturating_sub(begin) < buffer.capacity() as u64 {
            return false;
        }
        match &self.bytes {
            Bytes::Borrowed(file) => read_cached(file, begin, buffer),
            Bytes::Owned(file) => read_cached(file, begin, buffer),
            Bytes::Memory(_) => self.read(offset, buffer).is_ok() && buffer.filled().len() == buffer.capacity(),
        }
    }

    /// Fills an empty buffer with the bytes from `offset` on; `false`, and the buffer is empty, if they are not all
    /// there.
    ///
    /// # Errors
    /// The system's.
    #[inline]
    #[doc(hidden)]
    pub fn fill(&self, offset: u64, buffer: &mut Buffer<'_>) -> Result<bool> {
        let due = buffer.capacity();
        self.read(offset, buffer)?;
        if buffer.filled().len() == due {
            return Ok(true);
        }
        // SAFETY: it is no more than there is room for.
        unsafe { buffer.set_filled(0) };
        Ok(false)
    }
}

/// Objects that stay open as long as a transfer, so that all its threads read each from one version of it.
pub struct OpenObjects<'f> {
    /// How many stay open: those that were opened last.
    most: usize,
    list: Mutex<Vec<Known<'f>>>,
}

/// What has been found by a name.
enum Known<'f> {
    Object(Shared<NamedObject<'f>>),
    Absent(String),
}

impl<'f> Known<'f> {
    fn name(&self) -> &str {
        match self {
            Known::Object(opened) => &opened.name,
            Known::Absent(name) => name,
        }
    }

    fn found(&self) -> Found<'f> {
        match self {
            Known::Object(opened) => Found::Object(opened.clone()),
            Known::Absent(_) => Found::Absent,
        }
    }
}

/// An open object, and the name by which it was opened.
pub struct NamedObject<'f> {
    pub name: String,
    pub object: OpenObject<'f>,
    /// What stands for its version as long as it is open, if it has none.
    pub version: u128,
}

impl<'f> OpenObjects<'f> {
    /// Of which so many stay open.
    pub(crate) fn new(most: usize) -> Self {
        OpenObjects { most, list: Mutex::default() }
    }

    /// The object that was opened by this name, or one that is opened now. One that was absent stays so.
    ///
    /// # Errors
    /// Those of opening; `OutOfMemory`.
    pub fn get(&self, name: &str, open: impl FnOnce() -> Result<Opening<'f>>) -> Result<Found<'f>> {
        // Of the core library, for models are of what threads do to each other, which a number of one's own is not.
        use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

        static NEXT: AtomicU64 = AtomicU64::new(1);
        let find = |list: &[Known<'f>]| list.iter().find(|known| known.name() == name).map(Known::found);
        if let Some(found) = find(&self.list()) {
            return Ok(found);
        }
        let new = match open()? {
            Opening::Nothing => return Ok(Found::Nothing),
            Opening::Absent => Known::Absent(crate::alloc::text(name)?),
            Opening::Object(object) => {
                let version = NEXT.fetch_add(1, Relaxed).into();
                Known::Object(Shared::new(NamedObject { name: crate::alloc::text(name)?, object, version })?)
            }
        };
        let found = new.found();
        if self.most == 0 {
            return Ok(found);
        }
        let mut list = self.list();
        // Another thread may have found it meanwhile.
        if let Some(found) = find(&list) {
            return Ok(found);
        }
        if list.len() >= self.most {
            list.remove(0);
        }
        crate::alloc::push(&mut list, new)?;
        Ok(found)
    }

    fn list(&self) -> std::sync::MutexGuard<'_, Vec<Known<'f>>> {
        self.list.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// What an object is that was to be opened: see [`Opening`].
pub enum Found<'f> {
    Nothing,
    Absent,
    Object(Shared<NamedObject<'f>>),
}

/// The most that is asked for at once: macOS refuses more than 2^31 - 1 bytes, Linux gives that many.
#[cfg(unix)]
const MOST: usize = 1 << 30;

/// Reads `wanted` bytes, for which there is room, or fewer at the end of the file.
#[cfg(unix)]
pub fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
    #[cfg(not(target_os = "linux"))]
    use libc::pread;
    #[cfg(target_os = "linux")]
    use libc::pread64 as pread;
    use std::os::fd::AsRawFd;

    let begin = buffer.as_mut_ptr();
    let mut filled = 0;
    while filled < wanted {
        let Ok(position) = (offset + filled as u64).try_into() else { break };
        let (descriptor, room) = (file.as_raw_fd(), (wanted - filled).min(MOST));
        // SAFETY: `filled` is less than the buffer's size.
        let to = unsafe { begin.add(filled) };
        // SAFETY: the descriptor is open; behind `to` there is room for `room` bytes, for `filled + room` is at most
        // `wanted`, which is at most the buffer's size.
        match unsafe { pread(descriptor, to.cast(), room, position) } {
            0 => break,
            read if read > 0 => filled += read as usize,
            _ => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    // SAFETY: the system has written so many bytes.
    unsafe { buffer.set_filled(filled) };
    Ok(())
}

/// Whether the system tells what of a file is in the page cache. The call has other arguments where pointers of a
/// processor with 64 bits have 32.
pub(crate) const TELLS_CACHED: bool =
    cfg!(all(target_os = "linux", not(all(target_arch = "x86_64", target_pointer_width = "32")), not(miri)));

/// Fills an empty buffer from the page cache; `false` if not all of the bytes are there, or the system does not tell.
#[cfg(target_os = "linux")]
fn read_cached(file: &File, offset: u64, buffer: &mut Buffer<'_>) -> bool {
    use std::os::fd::AsRawFd;

    use libc::c_long;

    /// Of the C library's names, which not all of them have.
    const RWF_NOWAIT: c_long = 8;

    let Ok(offset) = i64::try_from(offset) else { return false };
    if !TELLS_CACHED {
        return false;
    }
    let room = buffer.capacity();
    let part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: room };
    // Of a machine with 64 bits the system takes the first word, and otherwise the lower half and the upper one.
    let [low, high] = [offset, offset >> 32].map(|half| half as c_long);
    let (number, descriptor, parts) = (libc::SYS_preadv2, c_long::from(file.as_raw_fd()), 1 as c_long);
    // SAFETY: the descriptor is open, the list has one part, and that has room for as many bytes as it says.
    let read = unsafe { libc::syscall(number, descriptor, &raw const part, parts, low, high, RWF_NOWAIT) };
    if usize::try_from(read) != Ok(room) {
        return false;
    }
    // SAFETY: the system has written all of them.
    unsafe { buffer.set_filled(room) };
    true
}

/// The system is not asked.
#[cfg(not(target_os = "linux"))]
fn read_cached(_: &File, _: u64, _: &mut Buffer<'_>) -> bool {
    false
}

/// Reads `wanted` bytes, for which there is room, or fewer at the end of the file.
#[cfg(windows)]
pub fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    let bytes = &mut buffer.zeroed()[..wanted];
    let mut filled = 0;
    while filled < wanted {
        let position = offset + filled as u64;
        // Windows takes a position beyond these for an error, and the greatest ones for the file pointer or the end.
        if i64::try_from(position).is_err() {
            break;
        }
        match file.seek_read(&mut bytes[filled..], position) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    // SAFETY: all of the buffer is initialised.
    unsafe { buffer.set_filled(filled) };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Threads that divide an object agree whether it is there.
    #[test]
    fn what_was_found_by_a_name_stays_so() {
        let open = |name: &str| Ok(if name == "b" { Opening::Nothing } else { Opening::Absent });
        let now_there = || Ok(Opening::memory(Shared::new(b"now".to_vec())?, (3, None)));
        for (most, is_kept) in [(2, true), (0, false)] {
            let opened = OpenObjects::new(most);
            assert!(matches!(opened.get("a", || open("a")), Ok(Found::Absent)));
            assert_eq!(matches!(opened.get("a", now_there), Ok(Found::Absent)), is_kept);
            assert!(matches!(opened.get("b", || open("b")), Ok(Found::Nothing)));
            assert!(matches!(opened.get("b", now_there), Ok(Found::Object(_))));
        }
    }
}
