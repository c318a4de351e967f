//! libnczchunk: the C interface as a shared and as a static library.

pub use nczchunk_c::*;
