//! # ObjectStore
//!
//! What the functions below make and use. Each is opaque: it is made by a function, asked by functions, and freed by
//! the _free function of its kind.

use std::ffi::{c_int, c_void};

use super::message::Message;
use super::progress::nczchunk_progress;
use crate::cache::Cache;
use crate::codec::Codec;
use crate::error::Error;
use crate::store::ChunkStore;
use crate::transfer::Prepared;
use crate::variable::Variable;

/// What went wrong in a call, and what calls may use: see CONTEXT. One context serves one call at a time; use one per
/// thread.
pub struct nczchunk_context {
    pub(super) threads: usize,
    pub(super) progress: Option<unsafe extern "C" fn(user: *mut c_void, progress: *const nczchunk_progress) -> c_int>,
    pub(super) progress_user: *mut c_void,
    pub(super) error: Option<Error>,
    pub(super) message: Message,
    pub(super) chunks_done: usize,
}

/// A variable: how an array is cut into chunks, and what its elements are. Any number of threads may use one at the
/// same time, as long as none changes it.
// A variable is a nczchunk_var, too. cbindgen, which does not look into `cfg_attr`, is to declare it as opaque.
#[cfg_attr(all(), repr(transparent))]
pub struct nczchunk_var(pub(super) Variable);

/// A store: where chunks come from and go to. Several threads may use one at the same time if its callbacks may be
/// called so. Between calls it keeps the memory it needed: for each thread that used it at the same time, up to 16, a
/// chunk, and with codecs an encoded chunk and what the codecs need.
// As for nczchunk_var.
#[cfg_attr(all(), repr(transparent))]
pub struct nczchunk_chunk_store(pub(super) ChunkStore<'static>);

/// A codec, to be given to a store.
pub struct nczchunk_codec(pub(super) Box<dyn Codec>);

/// A cache of decoded chunks. Any number of threads may use one at the same time. A child process that was forked finds
/// nothing in it and keeps nothing there.
pub struct nczchunk_cache(pub(super) Cache);

/// A plan: which chunks a hyperslab touches, and where their elements go in memory. It keeps what it was made from and
/// refers to nothing of the caller's, so the variable may be changed or freed meanwhile. Any number of threads may use
/// a plan at the same time.
pub struct nczchunk_plan(pub(super) Prepared);

#[cfg(feature = "arrays")]
impl nczchunk_var {
    /// A variable that is somebody else's, as C knows it.
    pub(super) fn lent(variable: &Variable) -> *const nczchunk_var {
        // The layout of a nczchunk_var is that of a variable.
        std::ptr::from_ref(variable).cast()
    }
}

#[cfg(feature = "arrays")]
impl nczchunk_chunk_store {
    /// A store that is somebody else's, as C knows it.
    pub(super) fn lent(store: &ChunkStore<'static>) -> *const nczchunk_chunk_store {
        // The layout of a nczchunk_chunk_store is that of a store.
        std::ptr::from_ref(store).cast()
    }
}
