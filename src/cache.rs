//! # Caches of decoded chunks
//!
//! Give a store a cache, so that it does not decode a chunk again for every call that needs it. A cache keeps decoded
//! chunks up to a number of bytes, for one store or for several:
//!
//! ```c
//! nczchunk_cache_new(64 << 20, &cache, NULL);
//! nczchunk_chunk_store_set_cache(store, cache, NULL);
//! nczchunk_cache_free(cache);                            the store goes on using it
//! ```
//!
//! A cache is used where it saves decoding or slow requests. It is not used for borrowed chunks. Nor is it used for
//! unencoded chunks that can be asked for in ranges, unless the store has start and wait. It does not keep chunks that
//! a call reads as a whole. The least recently used chunks are dropped first, but no call drops chunks that it has
//! fetched itself. While one thread fetches a chunk, others that need it wait; so a callback must not read the same
//! chunk of the same store. Writes go through to the store immediately.

use super::prelude::*;
use nczchunk_engine::cache::Cache;

/// The statistics of a cache: its requests and its contents. Set struct_size before a call fills it in.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_cache_statistics {
    /// sizeof(nczchunk_cache_statistics).
    pub struct_size: usize,
    /// The number of chunks in the cache.
    pub chunks: usize,
    /// The number of bytes that they take, all of them decoded.
    pub bytes: usize,
    /// The largest number of bytes that they may take.
    pub limit: usize,
    /// The number of times that a chunk was found.
    pub hits: u64,
    /// The number of times that a chunk had to be decoded, in part or as a whole, most often after it was fetched.
    pub misses: u64,
    /// The number of chunks that were dropped to make room.
    pub evictions: u64,
}
growing!(nczchunk_cache_statistics, evictions: u64);

/// Creates a cache that keeps up to limit bytes of decoded chunks. Free it with nczchunk_cache_free. A cache of 32 MiB
/// or more may take some MiB in addition, if the system has large pages.
///
/// Errors: NCZCHUNK_EINVAL (cache is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_cache_new(
    limit: usize,
    cache: *mut *mut nczchunk_cache,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || hand_over(cache, || Ok(nczchunk_cache(Cache::new(limit)?)))))
}

/// Frees a cache. Stores that use it can still use it. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_cache_free(cache: *mut nczchunk_cache) {
    by_promise!(take_back(cache))
}

/// Sets the cache for a store's decoded chunks; NULL for none. Chunks of the store in another cache are dropped.
///
/// Errors: NCZCHUNK_EINVAL (store is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_set_cache(
    store: *mut nczchunk_chunk_store,
    cache: *const nczchunk_cache,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        handle_mut(store, "store is NULL")?.0.set_cache(cache.as_ref().map(|cache| &cache.0));
        Ok(())
    }))
}

/// Returns the statistics of a cache: its requests and its contents.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; struct_size is not set).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_cache_get_statistics(
    cache: *const nczchunk_cache,
    statistics: *mut nczchunk_cache_statistics,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let now = handle(cache, "cache is NULL")?.0.statistics();
        let told = nczchunk_cache_statistics {
            struct_size: 0,
            chunks: now.chunks,
            bytes: now.bytes,
            limit: now.limit,
            hits: now.hits,
            misses: now.misses,
            evictions: now.evictions,
        };
        write_growing(statistics, told)
    }))
}
