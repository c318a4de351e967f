//! System calls that take the names of files, relative to a directory or to the one in which the process is.
//!
//! A name is copied first, for the system wants a NUL at its end. The allocation for that may fail; with the standard
//! library's functions the process would be aborted.
#![allow(unsafe_code)]

use std::ffi::{CStr, OsString, c_char, c_int, c_uint};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

pub(super) use libc::AT_FDCWD as WORKING_DIRECTORY;
// The names of the calls whose offsets have 64 bits also where pointers have 32.
#[cfg(not(target_os = "linux"))]
pub(super) use libc::{fstat, fstatat, openat, stat};
#[cfg(target_os = "linux")]
pub(super) use libc::{fstat64 as fstat, fstatat64 as fstatat, openat64 as openat, stat64 as stat};
use smallvec::SmallVec;

use super::retry_eintr::retry_eintr;

/// A name with a NUL at its end, and none before.
pub(super) struct Terminated(SmallVec<[u8; 256]>);

impl Terminated {
    pub(super) fn new(name: &[u8]) -> io::Result<Self> {
        let mut bytes = SmallVec::new();
        bytes.try_reserve_exact(name.len() + 1).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
        bytes.extend_from_slice(name);
        bytes.push(0);
        CStr::from_bytes_with_nul(&bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))?;
        Ok(Terminated(bytes))
    }

    fn as_ptr(&self) -> *const c_char {
        self.0.as_ptr().cast()
    }
}

/// Makes a system call until a signal does not interrupt it.
fn called(mut call: impl FnMut() -> c_int) -> io::Result<c_int> {
    retry_eintr(|| match call() {
        -1 => Err(io::Error::last_os_error()),
        result => Ok(result),
    })
}

/// Whether there is a process of this number.
#[cfg(not(miri))]
pub(super) fn is_running(process: u32) -> bool {
    let Ok(process @ 1..) = libc::pid_t::try_from(process) else { return false };
    // SAFETY: no signal is sent, it is only looked for whether there is somebody who could get one.
    let found = called(|| unsafe { libc::kill(process, 0) });
    // Only this error says that there is none.
    found.map_or_else(|error| error.raw_os_error() != Some(libc::ESRCH), |_| true)
}

/// The path of the directory in which the process is.
pub(super) fn working_directory() -> io::Result<PathBuf> {
    let no_memory = |_| io::Error::from_raw_os_error(libc::ENOMEM);
    let mut path: Vec<u8> = Vec::new();
    path.try_reserve_exact(256).map_err(no_memory)?;
    loop {
        // SAFETY: so many bytes may be written there, one of which is a NUL if the call succeeds.
        if !unsafe { libc::getcwd(path.as_mut_ptr().cast(), path.capacity()) }.is_null() {
            // SAFETY: the call has written a text with a NUL at its end.
            let len = unsafe { CStr::from_ptr(path.as_ptr().cast()) }.count_bytes();
            // SAFETY: so many bytes have been written.
            unsafe { path.set_len(len) };
            return Ok(OsString::from_vec(path).into());
        }
        match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::ERANGE) => {
                path.try_reserve_exact(2 * path.capacity()).map_err(no_memory)?;
            }
            error => return Err(error),
        }
    }
}

pub(super) fn open(directory: c_int, name: &Terminated, flags: c_int) -> io::Result<File> {
    const MODE: c_uint = 0o666;
    let flags = flags | libc::O_CLOEXEC | libc::O_NOCTTY;
    // SAFETY: the name ends with a NUL, and a descriptor that is none is an error.
    let opened = called(|| unsafe { openat(directory, name.as_ptr(), flags, MODE) })?;
    // SAFETY: the system has just opened the descriptor, which is nobody else's.
    Ok(unsafe { File::from_raw_fd(opened) })
}

/// Opens what may be a file, or something else, to read it.
pub(super) fn open_to_read(directory: c_int, name: &Terminated) -> io::Result<File> {
    // To open a named pipe would wait for a writer. A file is opened at once with this flag or, if someone holds a
    // lease on it, not yet.
    match open(directory, name, libc::O_RDONLY | libc::O_NONBLOCK) {
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => open(directory, name, libc::O_RDONLY),
        opened => opened,
    }
}

/// What the system tells of a name, with flags of `fstatat`.
pub(super) fn status(directory: c_int, name: &Terminated, flags: c_int) -> io::Result<stat> {
    let mut status = std::mem::MaybeUninit::<stat>::uninit();
    // SAFETY: the name ends with a NUL, there is room for a status, and a descriptor that is none is an error.
    called(|| unsafe { fstatat(directory, name.as_ptr(), status.as_mut_ptr(), flags) })?;
    // SAFETY: the call has succeeded, and so has written it.
    Ok(unsafe { status.assume_init() })
}

/// The same of an open file.
pub(super) fn status_of(file: &File) -> io::Result<stat> {
    let mut status = std::mem::MaybeUninit::<stat>::uninit();
    // SAFETY: the descriptor is open, and there is room for a status.
    called(|| unsafe { fstat(file.as_raw_fd(), status.as_mut_ptr()) })?;
    // SAFETY: the call has succeeded, and so has written it.
    Ok(unsafe { status.assume_init() })
}

/// Whether this is what one of the `S_IF...` stands for.
pub(super) fn is_a(kind: libc::mode_t, status: &stat) -> bool {
    status.st_mode & libc::S_IFMT == kind
}

pub(super) fn rename(directory: c_int, from: &Terminated, to: &Terminated) -> io::Result<()> {
    // SAFETY: the names end with a NUL, and a descriptor that is none is an error.
    called(|| unsafe { libc::renameat(directory, from.as_ptr(), directory, to.as_ptr()) }).map(drop)
}

/// Gives a file another name, which nothing has.
pub(super) fn link(directory: c_int, from: &Terminated, to: &Terminated) -> io::Result<()> {
    // SAFETY: the names end with a NUL, and a descriptor that is none is an error.
    called(|| unsafe { libc::linkat(directory, from.as_ptr(), directory, to.as_ptr(), 0) }).map(drop)
}

/// Removes a file; with `AT_REMOVEDIR` a directory, which is empty.
pub(super) fn remove(directory: c_int, name: &Terminated, flags: c_int) -> io::Result<()> {
    // SAFETY: the name ends with a NUL, and a descriptor that is none is an error.
    called(|| unsafe { libc::unlinkat(directory, name.as_ptr(), flags) }).map(drop)
}

pub(super) fn make_directory(directory: c_int, name: &Terminated) -> io::Result<()> {
    const MODE: libc::mode_t = 0o777;
    // SAFETY: the name ends with a NUL, and a descriptor that is none is an error.
    called(|| unsafe { libc::mkdirat(directory, name.as_ptr(), MODE) }).map(drop)
}
