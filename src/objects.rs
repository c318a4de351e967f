//! # Objects
//!
//! Opaque types. Create each with its _new function or with another function that returns one, and release it with
//! its _free function.

use std::ffi::{c_int, c_void};

use super::message::Message;
use super::progress::nczchunk_progress;
use nczchunk_engine::cache::Cache;
use nczchunk_engine::codec::Codec;
use nczchunk_engine::error::Error;
use nczchunk_engine::store::ChunkStore;
use nczchunk_engine::threads::Team;
use nczchunk_engine::transfer::Prepared;
use nczchunk_engine::variable::Variable;

/// The errors of the last call, and the resources that calls may use: see CONTEXT. One context serves one call at a
/// time; use one per thread.
pub struct nczchunk_context {
    pub(super) threads: usize,
    pub(super) keeps_threads: bool,
    /// Where its threads stay between calls, if they do. The call that uses them has it until it ends.
    pub(super) team: Option<Box<Team>>,
    pub(super) uses_cache: bool,
    pub(super) progress: Option<unsafe extern "C" fn(user: *mut c_void, progress: *const nczchunk_progress) -> c_int>,
    pub(super) progress_user: *mut c_void,
    pub(super) error: Option<Error>,
    pub(super) message: Message,
    pub(super) chunks_done: usize,
}

/// A variable: how an array is divided into chunks, and what its elements are. Any number of threads may use one at the
/// same time, as long as none changes it.
// A variable is a nczchunk_var, too. cbindgen, which does not look into `cfg_attr`, is to declare it as opaque.
#[cfg_attr(all(), repr(transparent))]
pub struct nczchunk_var(pub(super) Variable);

/// A store: the source and destination of chunks. Several threads may use one at the same time if its callbacks may run
/// in several threads. Between calls it keeps the memory that it needed: for each thread that used it at the same time,
/// up to 16, one chunk; with codecs also one encoded chunk and the memory of the codecs.
// As for nczchunk_var.
#[cfg_attr(all(), repr(transparent))]
pub struct nczchunk_chunk_store(pub(super) ChunkStore<'static>);

/// A codec. Hand it over to a store with nczchunk_chunk_store_add_codec.
pub struct nczchunk_codec(pub(super) Box<dyn Codec>);

/// A cache of decoded chunks. Any number of threads may use one at the same time. In a forked child process it is empty
/// and keeps nothing.
pub struct nczchunk_cache(pub(super) Cache);

/// A plan: which chunks a hyperslab touches, and where their elements go in memory. It has copies of everything that it
/// was made from, so the variable may be changed or freed meanwhile. Any number of threads may use a plan at the same
/// time.
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
