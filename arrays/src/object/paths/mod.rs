//! Files and directories by their paths.

#[cfg(any(test, not(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))))]
mod portable;
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
mod unix;

#[cfg(not(any(target_os = "linux", target_os = "macos", target_os = "freebsd")))]
pub(crate) use portable::*;
#[cfg(any(target_os = "linux", target_os = "macos", target_os = "freebsd"))]
pub(crate) use unix::*;

#[cfg(all(test, not(miri)))]
mod tests;
