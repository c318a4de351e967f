//! Names of files that are being written. A file is written under such a name beside its own and renamed when it is
//! complete.

use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::alloc::Failed;

/// How many bytes of its own name are part of a file's temporary name: file systems allow 255 in all.
const KEPT: usize = 190;

/// How many names are tried before one that is taken is an error: those of processes that ended early are found again
/// when their number is.
pub(super) const ATTEMPTS: usize = 1000;

/// A new temporary name for an object: `<directories>/.<last part>.<process>.<number>.partial`.
pub(super) fn name(name: &str) -> Result<String, Failed> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let (directories, last) = name.split_at(name.rfind('/').map_or(0, |slash| slash + 1));
    let kept = (0..=last.len().min(KEPT)).rev().find(|&end| last.is_char_boundary(end)).unwrap_or(0);
    let mut partial = String::new();
    // Two numbers, the dots and the end take less than 64 bytes.
    partial.try_reserve_exact(directories.len() + kept + 64).map_err(|_| Failed)?;
    let (process, number) = (std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let _ = write!(partial, "{directories}.{}.{process}.{number}.partial", &last[..kept]);
    Ok(partial)
}

/// Whether the last part of a name is that of a file which is being written: one of the names above, or one of
/// zarr-python's, which are `<name>.<32 hexadecimal digits>.partial`.
pub(super) fn is_partial(last: &str) -> bool {
    let Some(before) = last.strip_suffix(".partial") else { return false };
    let number = before.rsplit('.').next().unwrap_or_default();
    let is_uuid = number.len() == 32 && number.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_uuid || (before.starts_with('.') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A file or directory that is being written, or that was when its writer was killed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unfinished {
    /// Its name in the directory.
    pub name: String,
    /// The process that writes it, by its number on the machine where it runs or ran; `None` if it has another writer,
    /// such as zarr-python.
    pub process: Option<u32>,
}

impl Unfinished {
    /// The process that a temporary name tells: see [`name`].
    pub(super) fn process(last: &str) -> Option<u32> {
        let mut parts = last.strip_prefix('.')?.strip_suffix(".partial")?.rsplit('.');
        let numbers = [parts.next()?, parts.next()?];
        let are_numbers = numbers.iter().all(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
        // What is before them is the name of the object.
        let process = if are_numbers { numbers[1].parse().ok()? } else { return None };
        parts.next().map(|_| process)
    }

    /// Whether a process on this machine has the writer's number; `None` if the writer or the system do not say so.
    /// Another process may have got the number meanwhile.
    pub fn is_written(&self) -> Option<bool> {
        #[cfg(all(any(target_os = "linux", target_os = "macos", target_os = "freebsd"), not(miri)))]
        {
            self.process.map(super::syscalls::is_running)
        }
        #[cfg(not(all(any(target_os = "linux", target_os = "macos", target_os = "freebsd"), not(miri))))]
        {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_new_and_known_again() {
        let process = std::process::id();
        let partial = name("a/b.c/0.1").unwrap();
        assert!(partial.starts_with(&format!("a/b.c/.0.1.{process}.")) && partial.ends_with(".partial"));
        assert_ne!(name("a/b.c/0.1").unwrap(), partial);
        assert!(is_partial(partial.rsplit('/').next().unwrap()));
        assert_eq!(Unfinished::process(partial.rsplit('/').next().unwrap()), Some(process));
        for unknown in [".x.12.partial", ".12.1.partial", "x.12.1.partial", ".x.y.1.partial", ".x.1.y.partial", "x"] {
            assert_eq!(Unfinished::process(unknown), None, "{unknown}");
        }
        let long = name(&"\u{e4}".repeat(127)).unwrap();
        assert!(long.len() <= 255 && is_partial(&long));
        assert!(is_partial(".zarray.0123456789abcdef0123456789ABCDEF.partial"));
        assert!(is_partial("zarr.0123456789abcdef0123456789abcdef.partial"));
        for kept in ["my.partial", ".partial", ".x.partial", "0.1.partial", ".zarray", "x.tmp"] {
            assert!(!is_partial(kept), "{kept}");
        }
    }
}
