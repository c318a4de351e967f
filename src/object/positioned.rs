//! Reading and writing a file at a position, without a file pointer that threads would share.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

use super::contract::Begin;
use crate::buffer::Buffer;

/// Reads from a file of so many bytes into an empty buffer. If the file has become shorter meanwhile, what there is.
pub(super) fn read(file: &File, len: u64, begin: Begin, buffer: &mut Buffer<'_>) -> io::Result<()> {
    let offset = begin.offset(len);
    let wanted = usize::try_from(len - offset).unwrap_or(usize::MAX).min(buffer.capacity());
    read_at(file, offset, wanted, buffer)
}

/// The most that is asked for at once: macOS refuses more than 2^31 - 1 bytes, Linux gives that many.
#[cfg(unix)]
const MOST: usize = 1 << 30;

/// Reads `wanted` bytes, for which there is room, or fewer at the end of the file.
#[cfg(unix)]
pub(super) fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
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

#[cfg(windows)]
pub(super) fn read_at(file: &File, offset: u64, wanted: usize, buffer: &mut Buffer<'_>) -> io::Result<()> {
    use std::os::windows::fs::FileExt;

    let bytes = &mut buffer.zeroed()[..wanted];
    let mut filled = 0;
    while filled < wanted {
        match file.seek_read(&mut bytes[filled..], offset + filled as u64) {
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

/// Writes all bytes at a position.
#[cfg(all(unix, feature = "zip"))]
pub(super) fn write_at(file: &File, offset: u64, bytes: &[u8]) -> io::Result<()> {
    std::os::unix::fs::FileExt::write_all_at(file, bytes, offset)
}

/// Writes all bytes at a position.
#[cfg(all(windows, feature = "zip"))]
pub(super) fn write_at(file: &File, mut offset: u64, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        match std::os::windows::fs::FileExt::seek_write(file, bytes, offset) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(written) => (offset, bytes) = (offset + written as u64, bytes.get(written..).unwrap_or_default()),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
