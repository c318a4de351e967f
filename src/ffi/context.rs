//! # Context: what went wrong, and where; and how many threads
//!
//! A status says what kind of error there was. Where a function takes a context, pass one instead of NULL and ask it
//! afterwards for the words, the dimension and the chunk. A context that could not be made is NULL, which serves too: it
//! knows nothing.
//!
//! ```c
//! nczchunk_context *context = NULL;
//! nczchunk_context_new(&context);
//! if (nczchunk_read_vars(var, store, start, count, stride, data, context))
//!     fprintf(stderr, "%s\n", nczchunk_context_message(context));
//!     // "chunk (1, 0, 3): the stored chunk has 40 bytes where 4000 are due"
//! nczchunk_context_free(context);
//! ```

use std::ffi::{c_char, c_int};
use std::fmt::Write;

use super::{guard, hand_over, handle_mut, status, take_back};
use crate::error::{Error, ErrorKind, Result};

/// What is known of the last call it was passed to, and what calls may use. One context serves one call at a time; use one
/// per thread.
pub struct nczchunk_context {
    threads: usize,
    error: Option<Error>,
    message: Message,
    chunks_done: usize,
}

/// A new context. Free it with nczchunk_context_free.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_new(context: *mut *mut nczchunk_context) -> c_int {
    // SAFETY: the header's general promise.
    status(|| unsafe {
        hand_over(context, || Ok(nczchunk_context { threads: 1, error: None, message: Message::EMPTY, chunks_done: 0 }))
    })
}

/// Frees a context. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_free(context: *mut nczchunk_context) {
    // SAFETY: the header's general promise.
    unsafe { take_back(context) }
}

/// Lets calls with this context use up to so many threads at the same time, the caller's included; 1 at first, and never
/// more than 256. A call begins its own and ends them before it returns. More than one work only where the store's callbacks
/// allow it (see concurrent), the variable has no copier, there are several chunks, and what is read does not overlap in
/// memory; where the system refuses a thread, fewer do. Results and status are the same with any number, as long as there is
/// memory for a chunk in each. New threads have all signals blocked but those of a fault (SIGSEGV, SIGBUS and the like),
/// which are handled as in the caller.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL; threads is 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_set_threads(context: *mut nczchunk_context, threads: usize) -> c_int {
    status(|| {
        // SAFETY: the header's general promise.
        let context = unsafe { handle_mut(context, "context is NULL") }?;
        if threads == 0 {
            return Err(ErrorKind::Argument("the number of threads is 0").into());
        }
        context.threads = threads;
        Ok(())
    })
}

/// The status of the last call; NCZCHUNK_NOERR for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_status(context: *const nczchunk_context) -> c_int {
    // SAFETY: the header's general promise.
    unsafe { error_of(context) }.map_or(crate::status::NOERR, Error::status)
}

/// What went wrong in the last call, in a sentence of at most 511 bytes; empty if nothing did, and for NULL. It belongs to
/// the context and is valid until the next call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_message(context: *const nczchunk_context) -> *const c_char {
    // SAFETY: the header's general promise.
    let message = unsafe { context.as_ref() }.map_or(&Message::EMPTY, |context| &context.message);
    message.bytes.as_ptr().cast()
}

/// The dimension in which the last call went wrong, counted from 0; -1 if it is not a matter of one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_dimension(context: *const nczchunk_context) -> c_int {
    // SAFETY: the header's general promise.
    let dimension = unsafe { error_of(context) }.and_then(Error::dimension);
    dimension.and_then(|dimension| c_int::try_from(dimension).ok()).unwrap_or(-1)
}

/// The indices of the chunk at which the last call went wrong, and in rank (NULL: not wanted) their number; NULL if it is
/// not a matter of one. They belong to the context and are valid until the next call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_chunk(context: *const nczchunk_context, rank: *mut usize) -> *const isize {
    // SAFETY: the header's general promise.
    let Some(chunk) = (unsafe { error_of(context) }).and_then(Error::chunk) else {
        return std::ptr::null();
    };
    // SAFETY: NULL, or a place for a number, by the header's general promise.
    if let Some(rank) = unsafe { rank.as_mut() } {
        *rank = chunk.len();
    }
    chunk.as_ptr()
}

/// How many chunks the last call has read or written. They are the first of the plan, in its order; where the call failed at
/// a chunk, it is the one after them. Those after that were not tried or, with several threads, some were and some not.
/// 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_chunks_done(context: *const nczchunk_context) -> usize {
    // SAFETY: the header's general promise.
    unsafe { context.as_ref() }.map_or(0, |context| context.chunks_done)
}

/// # Safety
/// The pointer is NULL or points to a context.
unsafe fn error_of<'a>(context: *const nczchunk_context) -> Option<&'a Error> {
    // SAFETY: the caller's promise.
    unsafe { context.as_ref() }?.error.as_ref()
}

/// Runs the body of a C function that returns a status and takes a context.
///
/// # Safety
/// The pointer is NULL or points to a context that nobody else uses meanwhile.
pub(super) unsafe fn report(context: *mut nczchunk_context, body: impl FnOnce() -> Result<()>) -> c_int {
    // SAFETY: the caller's promise.
    unsafe { report_chunks(context, |_, _| body()) }
}

/// [`report`] for a body that is told how many threads it may use, and counts the chunks it has done.
///
/// # Safety
/// As for [`report`].
pub(super) unsafe fn report_chunks(
    context: *mut nczchunk_context,
    body: impl FnOnce(usize, &mut usize) -> Result<()>,
) -> c_int {
    // SAFETY: the caller's promise.
    let threads = unsafe { context.as_ref() }.map_or(1, |context| context.threads);
    let mut chunks_done = 0;
    let error = guard(|| body(threads, &mut chunks_done)).err();
    let status = error.as_ref().map_or(crate::status::NOERR, Error::status);
    // Looked at only now: the body may have run a callback that uses the same context.
    // SAFETY: the caller's promise.
    if let Some(context) = unsafe { context.as_mut() } {
        context.message.clear();
        if let Some(error) = &error {
            // It never fails: what has no room is left out.
            let _ = write!(context.message, "{error}");
        }
        // Moved, not cloned: above rank 8 a clone would allocate, and abort where it cannot.
        context.error = error;
        context.chunks_done = chunks_done;
    }
    status
}

/// A text that ends with a NUL and leaves out what it has no room for.
struct Message {
    bytes: [u8; 512],
    len: usize,
}

impl Message {
    const EMPTY: Message = Message { bytes: [0; 512], len: 0 };

    fn clear(&mut self) {
        // What lies beyond the end is not looked at, but a longer text will want zeros behind it.
        self.bytes[..self.len].fill(0);
        self.len = 0;
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - 1 - self.len;
        let text = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.len..][..text.len()].copy_from_slice(text);
        self.len += text.len();
        Ok(())
    }
}
