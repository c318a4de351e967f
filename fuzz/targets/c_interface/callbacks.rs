//! Stores, storages and codecs whose callbacks do what the input says: answer, fail in every way that a callback can
//! fail, or call the library again.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use nczchunk_c::{codec::*, objects::*, projection::*, storage::*, store::*};

const EEMPTY: c_int = -139;
const ENOOBJECT: c_int = -141;

/// What the callbacks do, and what has been stored. One belongs to a store or a storage, and to all threads that the
/// library begins for it.
pub struct Script(Mutex<State>);

struct State {
    /// What each call does, in turn; when they are used up every call answers well.
    steps: Vec<u8>,
    next: usize,
    chunks: HashMap<Vec<isize>, Vec<u8>>,
    objects: HashMap<String, Vec<u8>>,
    started: Vec<*mut c_void>,
    lent: Vec<Box<[u8]>>,
    num_destroyed: usize,
}

/// What a slow call takes. For a few chunks of which each takes as long the library begins threads.
const SLOW: Duration = Duration::from_micros(300);

/// What one call does.
enum Step {
    Well,
    Status(c_int),
    Short,
    Long,
    Endless,
    Nothing,
    Again,
}

impl Script {
    pub fn new(steps: &[u8]) -> Box<Self> {
        Box::new(Script(Mutex::new(State {
            steps: steps.to_vec(),
            next: 0,
            chunks: HashMap::new(),
            objects: HashMap::new(),
            started: Vec::new(),
            lent: Vec::new(),
            num_destroyed: 0,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How often `destroy` was called.
    pub fn num_destroyed(&self) -> usize {
        self.state().num_destroyed
    }

    fn step(&self) -> Step {
        let step = {
            let mut state = self.state();
            state.next += 1;
            state.steps.get(state.next - 1).copied().unwrap_or(0)
        };
        match step % 32 {
            19 => std::thread::sleep(SLOW),
            20 => return Step::Status(-1),
            21 => return Step::Status(5),
            22 | 23 => return Step::Status(EEMPTY),
            24 => return Step::Status(ENOOBJECT),
            25 => return Step::Status(c_int::MIN),
            26 => return Step::Short,
            27 => return Step::Long,
            28 => return Step::Endless,
            29 => return Step::Nothing,
            30 | 31 => return Step::Again,
            _ => {}
        }
        Step::Well
    }
}

impl State {
    /// Whether the next call refuses to begin something.
    fn refuses(&mut self) -> bool {
        let refuses = matches!(self.steps.get(self.next).map(|step| step % 32), Some(29 | 30));
        self.next += usize::from(refuses);
        refuses
    }

    /// One of those that were started, whichever the script says; none if the script has all of them end.
    fn done(&mut self) -> Option<*mut c_void> {
        let choice = usize::from(self.steps.get(self.next).copied().unwrap_or(0));
        if choice % 32 == 25 || self.started.is_empty() {
            self.next += 1;
            self.started.clear();
            return None;
        }
        Some(self.started.swap_remove(choice % self.started.len()))
    }
}

/// A call of the library from within one of its callbacks.
fn call_again() {
    let mut needed = 0;
    // SAFETY: a number for the result, and nothing else.
    let status = unsafe {
        nczchunk_projections(
            10,
            3,
            1,
            3,
            2,
            ptr::null_mut(),
            size_of::<nczchunk::Projection>(),
            0,
            &raw mut needed,
            ptr::null_mut(),
        )
    };
    assert_eq!((status, needed), (0, 2));
}

/// # Safety
/// `user` is a script.
unsafe fn script<'a>(user: *mut c_void) -> &'a Script {
    // SAFETY: the caller's promise.
    unsafe { &*user.cast() }
}

type Chunk = nczchunk_request;

/// # Safety
/// As the library promises of a request and its indices.
unsafe fn indices(rank: usize, indices: *const isize) -> Vec<isize> {
    // SAFETY: the caller's promise.
    if rank == 0 { Vec::new() } else { unsafe { std::slice::from_raw_parts(indices, rank) }.to_vec() }
}

unsafe extern "C" fn fill(user: *mut c_void, request: *mut Chunk) -> c_int {
    // SAFETY: the library passes what it documents, and `user` is a script.
    let (script, request) = unsafe { (script(user), &mut *request) };
    let bytes = match script.step() {
        Step::Status(status) => return status,
        Step::Nothing => return 0,
        Step::Endless => {
            request.nbytes = usize::MAX;
            return 0;
        }
        Step::Short => request.size.saturating_sub(1),
        Step::Long => request.size + 1,
        Step::Again => {
            call_again();
            request.size
        }
        Step::Well => request.size,
    };
    // SAFETY: as above.
    let key = unsafe { indices(request.rank, request.chunk_indices) };
    let written = bytes.min(request.size);
    let state = script.state();
    let from = state.chunks.get(&key).map(|chunk| chunk.get(request.offset..).unwrap_or_default());
    let (from, nbytes) = match from {
        Some(from) if bytes == request.size => (from.to_vec(), from.len()),
        _ => (vec![7; written], bytes),
    };
    let len = from.len().min(request.size);
    // SAFETY: the buffer has room for `size` bytes.
    unsafe { request.buffer.cast::<u8>().copy_from_nonoverlapping(from.as_ptr(), len) };
    request.nbytes = nbytes;
    0
}

unsafe extern "C" fn store(user: *mut c_void, request: *mut Chunk) -> c_int {
    // SAFETY: as above.
    let (script, request) = unsafe { (script(user), &mut *request) };
    match script.step() {
        Step::Status(status) => return status,
        Step::Again => call_again(),
        _ => {}
    }
    // SAFETY: the buffer has `size` bytes.
    let bytes = unsafe { std::slice::from_raw_parts(request.buffer.cast::<u8>(), request.size) }.to_vec();
    // SAFETY: as above.
    script.state().chunks.insert(unsafe { indices(request.rank, request.chunk_indices) }, bytes);
    0
}

unsafe extern "C" fn start_chunk(user: *mut c_void, request: *mut Chunk) -> c_int {
    // SAFETY: as above.
    let mut state = unsafe { script(user) }.state();
    if state.refuses() {
        return 5;
    }
    state.started.push(request.cast());
    0
}

unsafe extern "C" fn wait_chunk(user: *mut c_void, done: *mut *mut Chunk) -> c_int {
    // SAFETY: as above.
    let Some(request) = unsafe { script(user) }.state().done() else { return -1 };
    let request: *mut Chunk = request.cast();
    // SAFETY: the request is the library's until it has been given back, which it is now.
    unsafe {
        (*request).status = fill(user, request) as isize;
        *done = request;
    }
    0
}

unsafe extern "C" fn cancel_chunk(user: *mut c_void, request: *mut Chunk) {
    // SAFETY: as above.
    assert!(unsafe { script(user) }.state().started.contains(&request.cast()), "what is cancelled was started");
}

unsafe extern "C" fn lend(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk) -> c_int {
    // SAFETY: as above.
    let (script, loan) = unsafe { (script(user), &mut *loan) };
    let (status, len) = match script.step() {
        Step::Status(status @ (EEMPTY | ENOOBJECT)) => (status, loan.chunk_bytes),
        Step::Status(status) => return status,
        Step::Nothing => return 0,
        Step::Short => (0, loan.chunk_bytes.saturating_sub(1)),
        Step::Long => (0, loan.chunk_bytes + 1),
        Step::Endless => return EEMPTY,
        Step::Again => {
            call_again();
            (0, loan.chunk_bytes)
        }
        Step::Well => (0, loan.chunk_bytes),
    };
    let mut bytes = vec![9; len].into_boxed_slice();
    (loan.data, loan.nbytes) = (bytes.as_mut_ptr().cast(), len);
    loan.handle = loan.data;
    script.state().lent.push(bytes);
    status
}

unsafe extern "C" fn release(user: *mut c_void, loan: *mut nczchunk_borrowed_chunk, _: c_int) -> c_int {
    // SAFETY: as above.
    let (script, loan) = unsafe { (script(user), &mut *loan) };
    let mut state = script.state();
    let lent = state.lent.iter().position(|lent| lent.as_ptr().cast() == loan.handle.cast_const());
    state.lent.swap_remove(lent.expect("what is given back was lent"));
    drop(state);
    if let Step::Status(status) = script.step() { status } else { 0 }
}

unsafe extern "C" fn destroy(user: *mut c_void) {
    // SAFETY: as above.
    unsafe { script(user) }.state().num_destroyed += 1;
}

/// Callbacks that fill chunks in, of which some are left out.
pub fn reader(script: *mut Script, how: u8, gap: usize) -> nczchunk_reader_callbacks {
    // SAFETY: zeros are a structure of callbacks that uses nothing.
    let none: nczchunk_reader_callbacks = unsafe { std::mem::zeroed() };
    let has_latency = how & 1 == 1;
    nczchunk_reader_callbacks {
        // An older program's structure is shorter.
        struct_size: if how & 64 == 64 { usize::from(how & 48) } else { size_of::<nczchunk_reader_callbacks>() },
        user: script.cast(),
        fill: (how & 2 == 0).then_some(fill as _),
        store: (how & 4 == 0).then_some(store as _),
        destroy: Some(destroy),
        ranges: usize::from(how & 8 == 8),
        gap,
        start: has_latency.then_some(start_chunk as _),
        wait: has_latency.then_some(wait_chunk as _),
        cancel: (how & 16 == 16).then_some(cancel_chunk as _),
        in_flight: usize::from(how >> 5 & 3),
        concurrent: usize::from(how >> 4 & 3),
        ..none
    }
}

/// Callbacks that lend chunks.
pub fn zero_copy(script: *mut Script, how: u8) -> nczchunk_zero_copy_callbacks {
    nczchunk_zero_copy_callbacks {
        struct_size: size_of::<nczchunk_zero_copy_callbacks>(),
        user: script.cast(),
        lend: (how & 2 == 0).then_some(lend as _),
        lend_to_write: (how & 4 == 0).then_some(lend as _),
        release: Some(release),
        destroy: Some(destroy),
        accept_longer: usize::from(how & 8 == 8),
        concurrent: usize::from(how >> 4 & 3),
    }
}

type Object = nczchunk_object_request;

unsafe extern "C" fn read_object(user: *mut c_void, request: *mut Object) -> c_int {
    // SAFETY: as above.
    let (script, request) = unsafe { (script(user), &mut *request) };
    let step = script.step();
    // SAFETY: the name is a text.
    let name = unsafe { CStr::from_ptr(request.name) }.to_str().unwrap();
    let state = script.state();
    let object = match step {
        Step::Status(status) => return status,
        Step::Nothing => return 0,
        Step::Endless => {
            (request.nbytes, request.object_size) = (request.size, u64::MAX);
            // SAFETY: the buffer has room for `size` bytes.
            unsafe { request.buffer.cast::<u8>().write_bytes(1, request.size) };
            return 0;
        }
        _ => state.objects.get(name),
    };
    let Some(object) = object else { return ENOOBJECT };
    let len = object.len() as u64;
    let begin = if request.from_end == 1 { len.saturating_sub(request.offset) } else { request.offset.min(len) };
    let rest = &object[begin as usize..];
    let mut count = rest.len().min(request.size);
    match step {
        Step::Short => count = count.saturating_sub(1),
        Step::Again => call_again(),
        _ => {}
    }
    // SAFETY: as above.
    unsafe { request.buffer.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), count) };
    request.nbytes = if matches!(step, Step::Long) { count + 1 } else { count };
    request.object_size = len;
    // Versions that are known, and are not; that change, and do not.
    request.version = len & 3;
    0
}

unsafe extern "C" fn list(
    user: *mut c_void,
    prefix: *const c_char,
    found: Option<unsafe extern "C" fn(argument: *mut c_void, name: *const c_char, is_prefix: c_int) -> c_int>,
    argument: *mut c_void,
) -> c_int {
    // SAFETY: as above.
    let script = unsafe { script(user) };
    let names: &[(&CStr, c_int)] = match script.step() {
        Step::Status(status) => return status,
        Step::Nothing | Step::Short => return 0,
        Step::Endless => &[(c"..", 0), (c"a/b", 1), (c"", 0)],
        // SAFETY: the prefix is a text.
        _ if unsafe { *prefix } == 0 => &[(c"x", 1), (c".zgroup", 0)],
        _ => &[(c".zarray", 0), (c"zarr.json", 0), (c"0.0", 0)],
    };
    for (name, is_prefix) in names {
        // SAFETY: the argument is passed on, and the name is a text.
        let status = unsafe { found.unwrap()(argument, name.as_ptr(), *is_prefix) };
        if status != 0 {
            return status;
        }
    }
    0
}

unsafe extern "C" fn write_object(
    user: *mut c_void,
    name: *const c_char,
    bytes: *const c_void,
    nbytes: usize,
) -> c_int {
    // SAFETY: as above.
    let script = unsafe { script(user) };
    if let Step::Status(status) = script.step() {
        return status;
    }
    // SAFETY: the name is a text, and there are so many bytes.
    unsafe {
        let name = CStr::from_ptr(name).to_str().unwrap().to_owned();
        let bytes = if nbytes == 0 { &[] } else { std::slice::from_raw_parts(bytes.cast::<u8>(), nbytes) };
        script.state().objects.insert(name, bytes.to_vec());
    }
    0
}

unsafe extern "C" fn remove_object(user: *mut c_void, name: *const c_char) -> c_int {
    // SAFETY: as above.
    let script = unsafe { script(user) };
    if let Step::Status(status) = script.step() {
        return status;
    }
    // SAFETY: the name is a text.
    script.state().objects.remove(unsafe { CStr::from_ptr(name) }.to_str().unwrap());
    0
}

unsafe extern "C" fn start_object(user: *mut c_void, request: *mut Object) -> c_int {
    // SAFETY: as above.
    let mut state = unsafe { script(user) }.state();
    if state.refuses() {
        return ENOOBJECT;
    }
    state.started.push(request.cast());
    0
}

unsafe extern "C" fn wait_object(user: *mut c_void, done: *mut *mut Object) -> c_int {
    // SAFETY: as above.
    let Some(request) = unsafe { script(user) }.state().done() else { return 5 };
    let request: *mut Object = request.cast();
    // SAFETY: as for chunks; a write has the handle that `start_write_object` gave it.
    unsafe {
        (*request).status = match (*request).handle.is_null() {
            true => read_object(user, request) as isize,
            false => write_object(user, (*request).name, (*request).buffer, (*request).size) as isize,
        };
        *done = request;
    }
    0
}

unsafe extern "C" fn start_write_object(user: *mut c_void, request: *mut Object) -> c_int {
    // SAFETY: as above.
    let status = unsafe { start_object(user, request) };
    // SAFETY: the handle is the callback's.
    unsafe { (*request).handle = user };
    status
}

unsafe extern "C" fn cancel_object(user: *mut c_void, request: *mut Object) {
    // SAFETY: as above.
    assert!(unsafe { script(user) }.state().started.contains(&request.cast()), "what is cancelled was started");
    // SAFETY: as above.
    assert!(unsafe { (*request).handle.is_null() }, "no write is cancelled");
}

/// Callbacks of a storage.
pub fn storage(script: *mut Script, how: u8) -> nczchunk_storage_callbacks {
    // SAFETY: as above.
    let none: nczchunk_storage_callbacks = unsafe { std::mem::zeroed() };
    let has_latency = how & 1 == 1;
    nczchunk_storage_callbacks {
        struct_size: size_of::<nczchunk_storage_callbacks>(),
        user: script.cast(),
        read: (how & 2 == 0).then_some(read_object as _),
        list: (how & 4 == 0).then_some(list as _),
        write: (how & 8 == 0).then_some(write_object as _),
        remove: (how & 16 == 0).then_some(remove_object as _),
        destroy: Some(destroy),
        start: has_latency.then_some(start_object as _),
        wait: has_latency.then_some(wait_object as _),
        cancel: (how & 32 == 32).then_some(cancel_object as _),
        in_flight: usize::from(how >> 5 & 3),
        concurrent: usize::from(how >> 7),
        versions: usize::from(how >> 4 & 1),
        start_write: (how & 0x41 == 0x41).then_some(start_write_object as _),
        ..none
    }
}

unsafe extern "C" fn decode(user: *mut c_void, coding: *mut nczchunk_coding) -> c_int {
    // SAFETY: `user` is a byte, and the library passes what it documents.
    let (how, coding) = unsafe { (*user.cast::<u8>(), &mut *coding) };
    let len = coding.source_size.min(coding.capacity);
    // SAFETY: both have so many bytes.
    unsafe { coding.destination.cast::<u8>().copy_from_nonoverlapping(coding.source.cast(), len) };
    coding.nbytes = match how % 8 {
        4 => coding.source_size + 1,
        5 => usize::MAX,
        6 => len.saturating_sub(1),
        7 => return -1,
        _ => coding.source_size,
    };
    0
}

unsafe extern "C" fn bound(user: *mut c_void, decoded_size: usize) -> usize {
    // SAFETY: `user` is a byte.
    match unsafe { *user.cast::<u8>() } >> 5 {
        6 => 0,
        7 => usize::MAX,
        _ => decoded_size,
    }
}

/// Callbacks of a codec that copies, or fails to. `how` is one byte that outlives the codec.
pub fn copying(how: &u8) -> nczchunk_codec_callbacks {
    // SAFETY: as above.
    let none: nczchunk_codec_callbacks = unsafe { std::mem::zeroed() };
    nczchunk_codec_callbacks {
        struct_size: size_of::<nczchunk_codec_callbacks>(),
        user: ptr::from_ref(how).cast_mut().cast(),
        decode: Some(decode),
        encode: (how & 8 == 0).then_some(decode as _),
        encoded_bound: (how & 16 == 0).then_some(bound as _),
        concurrent: usize::from(how & 32 == 0),
        ..none
    }
}

/// Makes a codec for the metadata of a storage, or does not.
pub unsafe extern "C" fn make(
    user: *mut c_void,
    of: *const nczchunk_codec_use,
    codec: *mut *mut nczchunk_codec,
) -> c_int {
    // SAFETY: `user` is a byte that outlives the codec, and `of` is what the library documents.
    unsafe {
        let how = &*user.cast::<u8>();
        assert!(!(*of).name.is_null() && !(*of).type_name.is_null());
        match how % 16 {
            14 => 0,
            15 => -1,
            _ => nczchunk_codec_new(c"own".as_ptr(), &raw const *(&copying(how)), codec, ptr::null_mut()),
        }
    }
}
