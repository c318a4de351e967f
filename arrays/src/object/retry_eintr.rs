//! System calls that signals interrupt. Opening, reading and writing are not the only ones: where a file system is
//! another machine's or a program's, any may fail so.
//!
//! Such a file system may have done what it was asked for before it says that it was interrupted, so that the second
//! call finds it done. Those who remove an object or make a directory take that for a success. After a rename it is an
//! error though the object is the new one, and a temporary file that was made is left beside one of another name.

use std::io;

/// Calls until a signal does not interrupt it.
pub(crate) fn retry_eintr<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}
