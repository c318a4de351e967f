//! A file that is open to be read at any position, without a file pointer that threads would share.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use crate::buffer::Buffer;

/// What there is to read if several parts of something are needed.
pub enum Opening<'f> {
    /// Nothing that is kept open: each part is asked for by itself.
    Nothing,
    /// What was asked for is not there.
    Absent,
    /// A file.
    File(OpenFile<'f>),
}

impl<'f> Opening<'f> {
    /// A file that stays open anyway.
    pub fn borrowed(file: &'f File) -> Self {
        Opening::File(OpenFile { file: Handle::Borrowed(file), begin: 0, state: None })
    }

    /// A file that is closed with this; its length, and a number that is another one for another file.
    pub fn owned(file: File, state: (u64, u128)) -> Self {
        Opening::File(OpenFile { file: Handle::Owned(file), begin: 0, state: Some(state) })
    }

    /// What is so many bytes behind the beginning of this.
    pub fn behind(mut self, bytes: u64) -> Self {
        if let Opening::File(file) = &mut self {
            file.begin = file.begin.saturating_add(bytes);
        }
        self
    }
}

/// Bytes of a file, from one of its bytes on.
pub struct OpenFile<'f> {
    file: Handle<'f>,
    begin: u64,
    state: Option<(u64, u128)>,
}

enum Handle<'f> {
    Borrowed(&'f File),
    Owned(File),
}

impl OpenFile<'_> {
    /// The file.
    pub fn file(&self) -> &File {
        match &self.file {
            Handle::Borrowed(file) => file,
            Handle::Owned(file) => file,
        }
    }

    /// The file's length, and a number that is another one for another file, if they were asked for.
    pub fn state(&self) -> Option<(u64, u128)> {
        self.state
    }

    /// Fills an empty buffer with the bytes from `offset` on; `false`, and the buffer is empty, if they are not all
    /// there or cannot be read.
    #[inline]
    pub(crate) fn fill(&self, offset: u64, buffer: &mut Buffer<'_>) -> bool {
        let due = buffer.capacity();
        let is_read = read_at(self.file(), self.begin.saturating_add(offset), due, buffer).is_ok();
        if is_read && buffer.filled().len() == due {
            return true;
        }
        // SAFETY: it is no more than there is room for.
        unsafe { buffer.set_filled(0) };
        false
    }
}

/// The most that is asked for at once: macOS refuses more than 2^31 - 1 bytes, Linux gives that many.
#[cfg(unix)]
const MOST: usize = 1 << 30;

/// Reads `wanted` bytes, for which there is room, or fewer at the end of the file.
#[cfg(unix)]
pub(crate) fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
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

/// Reads `wanted` bytes, for which there is room, or fewer at the end of the file.
#[cfg(windows)]
pub(crate) fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
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
