//! System calls that signals interrupt. Opening, reading and writing are not the only ones: where a file system is
//! another machine's or a program's, any may fail so.

use std::io;

/// Calls until a signal does not interrupt it.
pub(crate) fn uninterrupted<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
