//! JSON, as the metadata of arrays are written in.
//!
//! The source is RFC 8259, with what Python's `json` adds: bare `NaN`, `Infinity` and `-Infinity`, which stand in the
//! attributes of real files, and the last of several members of one name wins. Every allocation may fail.

mod at;
mod changed;
mod read;
mod value;
mod write;

pub(crate) use at::At;
pub use changed::{ChangedMember, changed_members};
pub(crate) use read::{read, read_within};
pub(crate) use value::{ByName, Member, Value};
pub(crate) use write::{compact, indented};
