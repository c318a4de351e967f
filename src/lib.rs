//! The C interface: one file per section of the header, in the header's order.
//!
//! Every function does three things: turn pointers into slices and references, call the core, turn the result into a
//! status. `include/nczchunk.h` is generated from these files, so their documentation is written for C readers.
//!
//! Unsafe code is allowed here because C callers hand over raw pointers. What each function requires of them is in its
//! documentation and in the header's introduction, which is called *the header's general promise* here: every
//! pointer is NULL or points to what its description says, which is alive, and which no other thread changes during the
//! call. What is allowed by that alone is in `by_promise!` and has no other SAFETY comment. NULL is looked for wherever
//! it can be, and a panic ends at `guard`.
// The documentation is C: start[d] is no link there.
#![allow(rustdoc::broken_intra_doc_links)]
#![allow(unsafe_code, non_camel_case_types, clippy::missing_safety_doc)]

#[cfg(feature = "arrays")]
pub mod array;
#[cfg(feature = "arrays")]
pub mod array_objects;
#[cfg(feature = "arrays")]
pub mod array_points;
#[cfg(feature = "arrays")]
pub mod attribute;
pub mod cache;
mod callbacks;
pub mod chunkshape;
pub mod classic;
pub mod codec;
pub mod context;
pub mod copy;
#[cfg(feature = "arrays")]
pub mod create;
#[cfg(feature = "arrays")]
pub mod group;
mod growing;
pub mod key;
pub mod layout;
#[cfg(feature = "arrays")]
pub mod list;
#[cfg(feature = "arrays")]
pub mod locate;
mod message;
pub mod objects;
pub mod odometer;
pub mod plan;
mod pointers;
pub mod points;
pub mod progress;
pub mod projection;
pub mod read;
#[cfg(feature = "arrays")]
pub mod rechunk;
pub mod status;
#[cfg(feature = "arrays")]
pub mod storage;
pub mod store;
#[cfg(feature = "arrays")]
pub mod types;
pub mod var;
pub mod version;
pub mod write;

/// What nearly every file uses.
mod prelude {
    pub(super) use std::ffi::{c_char, c_int, c_void};

    #[cfg(feature = "arrays")]
    pub(super) use super::array::{file_path, optional_text, utf8};
    #[cfg(feature = "arrays")]
    pub(super) use super::array_objects::{CAttribute, c_text, nczchunk_array, nczchunk_storage};
    pub(super) use super::context::{report, report_computed, report_transfer};
    #[cfg(feature = "arrays")]
    pub(super) use super::growing::size_of_growing;
    pub(super) use super::growing::{assert_can_grow, growing, read_growing, write_growing};
    pub(super) use super::objects::*;
    pub(super) use super::pointers::*;
    pub(super) use nczchunk_engine::alloc;
    pub(super) use nczchunk_engine::dims::check_rank;
    #[cfg(feature = "arrays")]
    pub(super) use nczchunk_engine::element::ElementType;
    pub(super) use nczchunk_engine::error::{Error, ErrorKind, Result};
    pub(super) use nczchunk_engine::grid::Access;
    pub(super) use nczchunk_engine::status::NOERR;
}
