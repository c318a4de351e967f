//! A request that may be in flight: what the store receives, where its bytes go, and what they are for.
#![allow(unsafe_code)]

use std::ptr::{self, NonNull};

use crate::alloc::{Scratch, try_box};
use crate::cache::{Turn, Write};
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::plan::Plan;
use crate::pool::Lease;
use crate::store::{ChunkStore, RawRequest, Workspace};

/// What the store receives of a request.
struct Told {
    request: RawRequest,
    indices: Dims<isize>,
}

/// A place for one request in flight.
pub(super) struct Slot<'s> {
    /// It is reached by this pointer only: while the request is in flight the store uses it too, so that no reference
    /// to it may be made, nor to what contains it.
    told: NonNull<Told>,
    pub memory: Lease<'s, Scratch>,
    /// The number of the chunk in the plan.
    pub chunk: usize,
    /// Where the bytes that were asked for begin in the stored chunk, and how many they are.
    pub begin: usize,
    pub size: usize,
    pub is_in_flight: bool,
    pub is_cancelled: bool,
    /// How many times the chunk was asked for, which is asked for once more if it is longer than expected.
    pub num_asked: usize,
    /// Where the bytes go, if they are one of several ranges of the chunk.
    pub range: Option<usize>,
    /// When it was started, as far as the store's cache is concerned.
    pub turn: Option<Turn>,
    /// Whether the chunk is on its way to the store, and not from there.
    pub is_stored: bool,
    /// How many bytes of memory it takes in a transfer that writes.
    pub held: usize,
    /// What keeps a cache from the chunk that is written.
    pub write: Option<Write<'s>>,
}

impl<'s> Slot<'s> {
    pub(super) fn new(plan: &Plan<'_>, store: &'s ChunkStore<'_>) -> Result<Self> {
        let Workspace { chunk: memory, .. } = store.workspace()?;
        let mut indices = Dims::new();
        dims::reserve(&mut indices, plan.rank())?;
        let request = RawRequest {
            struct_size: size_of::<RawRequest>(),
            rank: plan.rank(),
            chunk_indices: ptr::null(),
            access: plan.access() as usize,
            chunk_bytes: 0,
            offset: 0,
            buffer: ptr::null_mut(),
            size: 0,
            nbytes: 0,
            status: 0,
            handle: ptr::null_mut(),
        };
        let told = NonNull::from(Box::leak(try_box(Told { request, indices })?));
        Ok(Slot {
            told,
            memory,
            chunk: 0,
            begin: 0,
            size: 0,
            is_in_flight: false,
            is_cancelled: false,
            num_asked: 0,
            range: None,
            turn: None,
            is_stored: false,
            held: 0,
            write: None,
        })
    }

    /// Where the request is.
    pub(super) fn request(&self) -> *mut RawRequest {
        // SAFETY: it is there as long as the slot.
        unsafe { &raw mut (*self.told.as_ptr()).request }
    }

    /// The chunk's indices.
    pub(super) fn indices(&self) -> &[isize] {
        // SAFETY: it is there as long as the slot, and nobody writes to the indices but `set_chunk`.
        unsafe { &(*self.told.as_ptr()).indices }
    }

    /// Sets the chunk that is asked for. There is room for its indices, and the request is not in flight.
    pub(super) fn set_chunk(&mut self, indices: &[isize], chunk_bytes: usize) {
        // SAFETY: it is there as long as the slot, and the store does not use it now.
        let told = unsafe { self.told.as_mut() };
        told.indices.clear();
        told.indices.extend_from_slice(indices);
        told.request.chunk_bytes = chunk_bytes;
    }

    /// The request for `size` bytes of the chunk from `begin` on, at this address, as the store is to receive it.
    ///
    /// # Safety
    /// The request is not in flight.
    pub(super) unsafe fn prepare(&mut self, begin: usize, buffer: *mut u8, size: usize) -> *mut RawRequest {
        let chunk_indices = self.indices().as_ptr();
        // SAFETY: it is there as long as the slot, and the store does not use it now, by the caller's promise.
        let request = unsafe { &mut (*self.told.as_ptr()).request };
        (request.chunk_indices, request.offset) = (chunk_indices, begin);
        (request.buffer, request.size) = (buffer.cast(), size);
        (request.nbytes, request.status, request.handle) = (0, 0, ptr::null_mut());
        self.request()
    }
}

impl Drop for Slot<'_> {
    fn drop(&mut self) {
        // SAFETY: it came from a box, and no request outlives the call.
        drop(unsafe { Box::from_raw(self.told.as_ptr()) });
    }
}
