//! # Context: errors, progress and threads
//!
//! Ask a context which error occurred, in which dimension and at which chunk. A status gives only the kind of an error.
//! Every function that can fail takes a context as its last argument: pass NULL, or a context of yours, and ask it
//! afterwards for the message, the dimension and the chunk. Its answers are always about the last call with it. If a
//! context cannot be created, it is NULL, which is allowed everywhere; then there are no answers.
//!
//! ```c
//! nczchunk_context *context = NULL;
//! nczchunk_context_new(&context);
//! if (nczchunk_read_vars(var, store, start, count, stride, data, context))
//!     fprintf(stderr, "%s\n", nczchunk_context_message(context));
//!     // "chunk (1, 0, 3): the stored chunk has 40 bytes, expected 4000"
//! nczchunk_context_free(context);
//! ```
//!
//! A context also sets how many threads a call may use, and the progress callback.

use std::fmt::Write;

use super::message::Message;
use super::prelude::*;
use super::progress::nczchunk_progress;
use nczchunk_engine::alloc::try_box;
use nczchunk_engine::cancel::CancelGuard;
use nczchunk_engine::threads::Team;
use nczchunk_engine::transfer::{Options, Progress};

/// Creates a context. Free it with nczchunk_context_free.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_new(context: *mut *mut nczchunk_context) -> c_int {
    by_promise!(report(std::ptr::null_mut(), || hand_over(context, || {
        Ok(nczchunk_context {
            threads: 1,
            keeps_threads: false,
            team: None,
            uses_cache: true,
            progress: None,
            progress_user: std::ptr::null_mut(),
            error: None,
            message: Message::EMPTY,
            chunks_done: 0,
        })
    })))
}

/// Frees a context. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_free(context: *mut nczchunk_context) {
    by_promise!(take_back(context))
}

/// Returns the status of the last call; NCZCHUNK_NOERR for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_status(context: *const nczchunk_context) -> c_int {
    by_promise!(error_of(context).map_or(nczchunk_engine::status::NOERR, Error::status))
}

/// Returns the message for the error of the last call, a sentence of at most 511 bytes. It is empty if the call
/// succeeded, and for NULL. It belongs to the context and is valid until the next call with that context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_message(context: *const nczchunk_context) -> *const c_char {
    by_promise!(context.as_ref()).map_or(&Message::EMPTY, |context| &context.message).bytes.as_ptr().cast()
}

/// Returns the dimension in which the last call failed, counted from 0; -1 if the error does not concern a dimension.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_dimension(context: *const nczchunk_context) -> c_int {
    let dimension = by_promise!(error_of(context)).and_then(Error::dimension);
    dimension.and_then(|dimension| c_int::try_from(dimension).ok()).unwrap_or(-1)
}

/// Returns the indices of the chunk at which the last call failed, and their number in rank (NULL: not wanted). Returns
/// NULL if the error does not concern a chunk. The indices belong to the context and are valid until the next call with
/// that context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_chunk(context: *const nczchunk_context, rank: *mut usize) -> *const isize {
    let Some(chunk) = by_promise!(error_of(context)).and_then(Error::chunk) else {
        return std::ptr::null();
    };
    if let Some(rank) = by_promise!(rank.as_mut()) {
        *rank = chunk.len();
    }
    chunk.as_ptr()
}

/// Returns the number of chunks that the last call has read or written. They are the first chunks of the plan, in its
/// order; if the call failed at a chunk, that chunk is the next one. The chunks after it were not tried or, with
/// several threads or requests in flight, some were and some were not. Returns 0 for NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_chunks_done(context: *const nczchunk_context) -> usize {
    by_promise!(context.as_ref().map_or(0, |context| context.chunks_done))
}

/// Sets the progress callback of a context; NULL removes it. It is called in the calling thread only: before each chunk
/// that this thread transfers, and once when all chunks are done. If it returns anything but 0 before that last call,
/// the library's call ends with that status, after chunks_done chunks. progress is valid until the callback returns.
/// user is passed to the callback.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_set_progress(
    context: *mut nczchunk_context,
    progress: Option<unsafe extern "C" fn(user: *mut c_void, progress: *const nczchunk_progress) -> c_int>,
    user: *mut c_void,
) -> c_int {
    by_promise!(report(context, || {
        let context = handle_mut(context, "context is NULL")?;
        (context.progress, context.progress_user) = (progress, user);
        Ok(())
    }))
}

/// Sets the largest number of threads, including the caller's, that a call with this context may use at the same time.
/// It is 1 at first, and never more than 256. The call spawns worker threads and joins them before it returns, unless
/// the context keeps them (nczchunk_context_set_keeps_threads). It spawns them only if
///
/// - the store's callbacks allow it (see concurrent),
/// - the variable has no copier,
/// - there are several chunks, or 4 MiB are read of one that is uncompressed in a file,
/// - elements that are read do not share memory,
/// - there is enough work: about 0.1 ms for each thread. For a store without codecs that lends chunks, and whose
///   concurrent is 1, the work is estimated from the bytes. For any other store it is measured on the first chunks.
///   Where hundreds of calls of this thread began within a few milliseconds, and none took 0.1 ms in the last seconds,
///   the next ones are measured only once they have lasted some milliseconds.
///
/// If the system refuses a thread, the remaining workers do its share. Results and status are the same for any number
/// of threads, as long as there is memory for a chunk in each. New threads have all signals blocked except those of a
/// fault (SIGSEGV, SIGBUS and the like), which are handled as in the caller.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL; threads is 0).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_set_threads(context: *mut nczchunk_context, threads: usize) -> c_int {
    by_promise!(report(context, || {
        let context = handle_mut(context, "context is NULL")?;
        if threads == 0 {
            return Err(ErrorKind::Argument("the number of threads is 0").into());
        }
        context.threads = threads;
        Ok(())
    }))
}

/// Sets whether a context keeps the threads that its calls spawn. With 1, those of one call wait for the next, which
/// then takes fewer microseconds to begin with several threads. They end when the context is freed, and when this is
/// set to 0; both wait for them. If a callback sets it, they end with the call. It is 0 at first. What the context says
/// of the last call stays. Returns what it was, 0 or 1.
///
/// Threads that wait use no time of a processor. They have the processors (affinity) and the privileges that the thread
/// had that made the call which spawned them. Do not unload the library before the context is freed. A child process
/// that was forked may use the context: its calls spawn threads of the child's own.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_set_keeps_threads(
    context: *mut nczchunk_context,
    keeps_threads: c_int,
) -> c_int {
    let Some(context) = by_promise!(context.as_mut()) else { return nczchunk_engine::status::EINVAL };
    let (before, keeps) = (context.keeps_threads, keeps_threads != 0);
    if before != keeps {
        context.team = match keeps.then(|| try_box(Team::new())).transpose() {
            Ok(team) => team,
            Err(_) => return nczchunk_engine::status::ENOMEM,
        };
        context.keeps_threads = keeps;
    }
    c_int::from(before)
}

/// Sets whether calls with this context use the cache of a store or array. With 0, reads look for nothing there, and
/// keep nothing of what they read: they return what is stored, whatever the handle has read before. Writes do not
/// depend on it. It is 1 at first. What the context says of the last call stays. Returns what it was, 0 or 1.
///
/// Errors: NCZCHUNK_EINVAL (context is NULL).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_context_set_uses_cache(context: *mut nczchunk_context, uses_cache: c_int) -> c_int {
    match by_promise!(context.as_mut()) {
        Some(context) => c_int::from(std::mem::replace(&mut context.uses_cache, uses_cache != 0)),
        None => nczchunk_engine::status::EINVAL,
    }
}

/// # Safety
/// The pointer is NULL or points to a context.
unsafe fn error_of<'a>(context: *const nczchunk_context) -> Option<&'a Error> {
    by_promise!(context.as_ref()?.error.as_ref())
}

/// Runs the body of a C function, and notes its result in the context. The body may call functions of the caller's, and
/// of the system's that read and write: the thread cannot be cancelled there.
///
/// # Safety
/// The pointer is NULL or points to a context that nobody else uses meanwhile.
pub(super) unsafe fn report(context: *mut nczchunk_context, body: impl FnOnce() -> Result<()>) -> c_int {
    let _held = CancelGuard::hold();
    by_promise!(report_with(context, |_| body()))
}

/// [`report`] for a body that only computes, in which no thread can be cancelled anyway.
///
/// # Safety
/// As for [`report`].
pub(super) unsafe fn report_computed(context: *mut nczchunk_context, body: impl FnOnce() -> Result<()>) -> c_int {
    by_promise!(report_with(context, |_| body()))
}

/// [`report`] for a body that transfers chunks: it gets the limits, and counts the chunks it has done. A body that
/// small calls have is a `move` closure: one that borrows the arguments has to load the address of each first.
///
/// # Safety
/// As for [`report`].
#[inline]
pub(super) unsafe fn report_transfer(
    context: *mut nczchunk_context,
    body: impl Fn(&Options<'_>, &mut usize) -> Result<()>,
) -> c_int {
    let _held = CancelGuard::hold();
    // SAFETY: a pointer that is not NULL points to a context by the caller's promise.
    let has_options = unsafe { context.as_ref() }.is_some_and(nczchunk_context::has_options);
    if !has_options {
        // Most calls: what the compiler knows of their options takes a small one no time.
        // SAFETY: the caller promises what `report_with` requires.
        return unsafe { report_with(context, |done| body(&Options::default(), done)) };
    }
    // SAFETY: there are options, and so there is a context.
    unsafe { report_with_options(context, &body) }
}

/// [`report_transfer`] for a context that asks for something.
///
/// # Safety
/// As for [`report`]; the pointer is not NULL.
#[inline(never)]
unsafe fn report_with_options(
    context: *mut nczchunk_context,
    body: &impl Fn(&Options<'_>, &mut usize) -> Result<()>,
) -> c_int {
    // SAFETY: by the caller's promise.
    let asked = unsafe { &mut *context };
    // A callback may use the context, so the call has what it borrows.
    let team = asked.team.take();
    let mut options = Options::default().with_threads(asked.threads);
    if let Some(team) = &team {
        options = options.with_team(team);
    }
    let status = match (asked.progress, asked.uses_cache) {
        // SAFETY: as above.
        (None, true) => unsafe { report_with(context, |done| body(&options, done)) },
        // SAFETY: as above.
        _ => unsafe { report_watched(context, options, body) },
    };
    if team.is_some() {
        // SAFETY: as above.
        let context = unsafe { &mut *context };
        // Unless a callback has set otherwise meanwhile.
        if context.keeps_threads && context.team.is_none() {
            context.team = team;
        }
    }
    status
}

/// [`report_with_options`] with those that few calls have.
///
/// # Safety
/// As for [`report`]; the pointer is not NULL.
#[inline(never)]
unsafe fn report_watched<'a>(
    context: *mut nczchunk_context,
    mut options: Options<'a>,
    body: &impl Fn(&Options<'_>, &mut usize) -> Result<()>,
) -> c_int {
    // SAFETY: by the caller's promise.
    let (progress, user, uses_cache) =
        unsafe { ((*context).progress, (*context).progress_user, (*context).uses_cache) };
    if !uses_cache {
        options = options.without_cache();
    }
    let Some(progress) = progress else {
        // SAFETY: as above.
        return unsafe { report_with(context, |done| body(&options, done)) };
    };
    let ask = |at: Progress| {
        let told = nczchunk_progress {
            struct_size: size_of::<nczchunk_progress>(),
            chunks_done: at.chunks_done,
            num_chunks: at.num_chunks,
            bytes_done: at.bytes_done,
            num_bytes: at.num_bytes,
        };
        // SAFETY: the function was given to be called with this pointer by the thread that makes the call, which this
        // is.
        unsafe { progress(user, &raw const told) }
    };
    let options = options.with_progress(&ask);
    // SAFETY: as above.
    unsafe { report_with(context, |done| body(&options, done)) }
}

/// # Safety
/// As for [`report`].
#[inline]
unsafe fn report_with(context: *mut nczchunk_context, body: impl FnOnce(&mut usize) -> Result<()>) -> c_int {
    // What the context knew is forgotten before the call, so that a callback that asks it is not told of an earlier
    // one. SAFETY: a pointer that is not NULL points to a context by the caller's promise.
    if let Some(context) = unsafe { context.as_mut() } {
        context.forget();
    }
    let mut chunks_done = 0;
    let result = guard(|| body(&mut chunks_done));
    // Only now, because the body may have run a callback that asked the same context.
    // SAFETY: as above.
    if let Some(context) = unsafe { context.as_mut() } {
        context.chunks_done = chunks_done;
        if let Err(error) = result {
            return context.note(error);
        }
        return nczchunk_engine::status::NOERR;
    }
    result.map_or_else(|error| error.status(), |()| nczchunk_engine::status::NOERR)
}

impl nczchunk_context {
    /// Whether it asks for more than a call without a context does.
    #[inline]
    fn has_options(&self) -> bool {
        self.threads > 1 || self.progress.is_some() || !self.uses_cache || self.team.is_some()
    }

    fn forget(&mut self) {
        if self.error.is_some() {
            self.error = None;
            self.message.clear();
        }
        self.chunks_done = 0;
    }

    #[cold]
    fn note(&mut self, error: Error) -> c_int {
        self.message.clear();
        // It never fails: what has no room is left out.
        let _ = write!(self.message, "{error}");
        let status = error.status();
        // The error is moved, not cloned: above rank 8 a clone would allocate, and abort if that fails.
        self.error = Some(error);
        status
    }
}
