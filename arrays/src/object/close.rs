//! Closing files that were written. Some file systems say only then that a write has failed.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;

/// Closes a file that was written.
///
/// # Errors
/// The system's. The file is closed nevertheless.
#[cfg(unix)]
pub(super) fn close(file: File) -> io::Result<()> {
    use std::os::fd::IntoRawFd;

    // SAFETY: the descriptor is open, and closed once.
    match unsafe { libc::close(file.into_raw_fd()) } {
        0 => Ok(()),
        // If a signal interrupts it, the descriptor is closed nevertheless.
        _ => Some(io::Error::last_os_error())
            .filter(|error| error.kind() != io::ErrorKind::Interrupted)
            .map_or(Ok(()), Err),
    }
}

/// Closes a file that was written.
#[cfg(not(unix))]
pub(super) fn close(file: File) -> io::Result<()> {
    drop(file);
    Ok(())
}
