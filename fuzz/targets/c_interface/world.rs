//! The objects that have been made, and the calls that use them.
// Every call below has the same safety: each pointer is NULL or points to what the function's description says.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr;

use nczchunk::Projection;
use nczchunk_c::{
    array::*, array_objects::*, array_points::*, attribute::*, cache::*, chunkshape::*, classic::*, codec::*,
    context::*, copy::*, create::*, group::*, key::*, layout::*, list::*, locate::*, objects::*, odometer::*, plan::*,
    points::*, progress::*, projection::*, read::*, rechunk::*, status::*, storage::*, store::*, var::*, version::*,
    write::*,
};
use nczchunk_fuzz::{Input, LARGEST_CHUNK};

use super::callbacks::{self, Script};

const EINTERNAL: c_int = -92;

/// The most bytes that are read or written at once.
const MOST_BYTES: usize = 1 << 16;

/// How many objects of a kind there are.
const SLOTS: usize = 3;

/// Lists have so many entries, which is more than any rank here.
const ENTRIES: usize = 8;

const NAMES: [&CStr; 12] =
    [c"x", c"", c"a/x", c"zstd", c"float32", c"string", c"own", c"..", c"units", c"gzip", c"\xff", c"datetime64[s]"];

/// The metadata of an array that need not be stored.
const DOCUMENT: &CStr =
    c"{\"zarr_format\":2,\"shape\":[7],\"chunks\":[3],\"dtype\":\"<i4\",\"fill_value\":1,\"order\":\"C\",
    \"compressor\":null,\"filters\":null}";

/// All objects, each NULL or alive.
pub struct World {
    vars: [*mut nczchunk_var; SLOTS],
    stores: [*mut nczchunk_chunk_store; SLOTS],
    plans: [*mut nczchunk_plan; SLOTS],
    /// How much memory each plan is for, where that is not what it selects.
    plan_sizes: [Option<usize>; SLOTS],
    caches: [*mut nczchunk_cache; SLOTS],
    codecs: [*mut nczchunk_codec; SLOTS],
    contexts: [*mut nczchunk_context; SLOTS],
    storages: [*mut nczchunk_storage; SLOTS],
    arrays: [*mut nczchunk_array; SLOTS],
    odometers: [*mut nczchunk_odometer; SLOTS],
    /// What the callbacks of a store or a storage do, and whether the library has taken them over.
    scripts: Vec<(*mut Script, bool)>,
    /// What the callbacks of codecs do.
    bytes: Vec<*mut u8>,
}

impl Default for World {
    fn default() -> Self {
        World {
            vars: [ptr::null_mut(); SLOTS],
            stores: [ptr::null_mut(); SLOTS],
            plans: [ptr::null_mut(); SLOTS],
            plan_sizes: [None; SLOTS],
            caches: [ptr::null_mut(); SLOTS],
            codecs: [ptr::null_mut(); SLOTS],
            contexts: [ptr::null_mut(); SLOTS],
            storages: [ptr::null_mut(); SLOTS],
            arrays: [ptr::null_mut(); SLOTS],
            odometers: [ptr::null_mut(); SLOTS],
            scripts: Vec::new(),
            bytes: Vec::new(),
        }
    }
}

/// A list with as many entries as any rank needs.
type List<T> = [T; ENTRIES];

/// The pointer, or sometimes NULL.
fn or_null<T>(input: &mut Input<'_>, pointer: *const T) -> *const T {
    if input.byte() % 32 == 31 { ptr::null() } else { pointer }
}

fn or_null_mut<T>(input: &mut Input<'_>, pointer: *mut T) -> *mut T {
    or_null(input, pointer).cast_mut()
}

fn sizes(input: &mut Input<'_>) -> List<usize> {
    std::array::from_fn(|_| input.magnitude())
}

fn small(input: &mut Input<'_>, low: usize, high: usize) -> List<usize> {
    std::array::from_fn(|_| input.between(low, high))
}

fn steps(input: &mut Input<'_>) -> List<isize> {
    std::array::from_fn(|_| match input.byte() {
        0..=99 => 1,
        byte @ 100..=199 => isize::from(byte % 9) - 3,
        _ => input.magnitude() as isize,
    })
}

fn name(input: &mut Input<'_>) -> *const c_char {
    let name = input.choice(&NAMES).as_ptr();
    or_null(input, name)
}

/// What every call that returns a status has to keep: the library has found no fault in itself.
fn check(status: c_int) -> c_int {
    assert_ne!(status, EINTERNAL);
    status
}

/// A request: the lists of a hyperslab, each of which may be NULL.
struct Slab {
    lists: (List<usize>, List<usize>, List<isize>),
    is_null: u8,
}

impl Slab {
    fn of(input: &mut Input<'_>) -> Self {
        let (start, count) =
            if input.bool() { (small(input, 0, 3), small(input, 0, 6)) } else { (sizes(input), sizes(input)) };
        Slab { lists: (start, count, steps(input)), is_null: input.byte() }
    }

    fn start(&self) -> *const usize {
        if self.is_null % 16 == 15 { ptr::null() } else { self.lists.0.as_ptr() }
    }

    fn count(&self) -> *const usize {
        if self.is_null % 8 == 7 { ptr::null() } else { self.lists.1.as_ptr() }
    }

    fn stride(&self) -> *const isize {
        if self.is_null & 16 == 16 { ptr::null() } else { self.lists.2.as_ptr() }
    }
}

/// Memory for a transfer: exactly as much as is needed, so that an access beyond is noticed.
struct Memory(Vec<*mut c_char>, usize);

impl Memory {
    /// For elements that are texts it holds NULL, or one text again and again.
    fn new(bytes: usize, has_texts: bool) -> Self {
        let text = if has_texts { c"text".as_ptr().cast_mut() } else { ptr::null_mut() };
        Memory(vec![text; bytes.div_ceil(size_of::<*mut c_char>())], bytes)
    }

    /// A pointer whose last byte is the memory's last.
    fn data(&mut self) -> *mut c_void {
        let unused = self.0.len() * size_of::<*mut c_char>() - self.1;
        self.0.as_mut_ptr().cast::<u8>().wrapping_add(unused).cast()
    }
}

impl World {
    /// A variable, and whether its elements are texts of any length.
    fn var_of(&self, input: &mut Input<'_>) -> (*const nczchunk_var, bool) {
        let number = input.between(0, 2 * SLOTS - 1);
        match self.arrays.get(number.wrapping_sub(SLOTS)) {
            Some(array) => (unsafe { nczchunk_array_var(*array) }, self.has_texts(*array)),
            None => (self.vars[number].cast_const(), false),
        }
    }

    fn has_texts(&self, array: *const nczchunk_array) -> bool {
        unsafe { CStr::from_ptr(nczchunk_array_type_name(array)) == c"string" }
    }

    fn store(&self, input: &mut Input<'_>, var: *const nczchunk_var) -> *const nczchunk_chunk_store {
        // An array's variable goes with its store; the elements of others may not be texts.
        let array = self.arrays.iter().find(|array| !array.is_null() && unsafe { nczchunk_array_var(**array) } == var);
        match array {
            Some(array) if !var.is_null() => unsafe { nczchunk_array_store(*array) },
            _ => input.choice(&self.stores).cast_const(),
        }
    }

    fn context(&self, input: &mut Input<'_>) -> *mut nczchunk_context {
        input.choice(&self.contexts)
    }

    fn script(&mut self, input: &mut Input<'_>) -> *mut Script {
        let steps = if input.bool() { input.between(0, 24) } else { 0 };
        let script = Box::into_raw(Script::new(input.take(steps)));
        self.scripts.push((script, false));
        script
    }

    fn byte(&mut self, input: &mut Input<'_>) -> *mut u8 {
        let byte = Box::into_raw(Box::new(input.byte()));
        self.bytes.push(byte);
        byte
    }

    /// Some call.
    pub fn call(&mut self, input: &mut Input<'_>) {
        let slot = input.between(0, SLOTS - 1);
        match input.between(0, 16) {
            0 => self.make_var(input, slot),
            1 => self.change_var(input),
            2 => self.make_store(input, slot),
            3 => self.change_store(input, slot),
            4 => self.make_context(input, slot),
            5 => self.make_plan(input, slot),
            6 => self.use_plan(input),
            7 if input.byte() < 64 => self.transfer_chosen(input),
            7 | 8 => self.transfer(input),
            9 => self.make_storage(input, slot),
            10 => self.make_array(input, slot),
            11 if input.byte() < 32 => self.rechunk(input),
            11 => self.use_array(input),
            12 => self.change_array(input),
            13 => self.list(input),
            14 => self.odometer(input, slot),
            15 => self.group(input),
            _ => self.compute(input),
        }
    }

    fn make_var(&mut self, input: &mut Input<'_>, slot: usize) {
        let context = self.context(input);
        let (lens, chunks) =
            if input.bool() { (small(input, 0, 12), small(input, 1, 6)) } else { (sizes(input), sizes(input)) };
        let (rank, size) = (input.between(0, 3), if input.bool() { input.magnitude() } else { input.between(1, 16) });
        unsafe {
            nczchunk_var_free(self.vars[slot]);
            self.vars[slot] = ptr::null_mut();
            let (lens, chunks) = (or_null(input, lens.as_ptr()), or_null(input, chunks.as_ptr()));
            let var = or_null_mut(input, &raw mut self.vars[slot]);
            check(nczchunk_var_new(rank, lens, chunks, size, var, context));
        }
    }

    fn change_var(&mut self, input: &mut Input<'_>) {
        unsafe extern "C" fn copy(
            _: *mut c_void,
            _: c_int,
            count: usize,
            source: *const c_void,
            destination: *mut c_void,
        ) -> c_int {
            // The variables that get this copier have elements of 8 bytes.
            unsafe { destination.cast::<u8>().copy_from(source.cast(), count * 8) };
            0
        }
        let (var, context) = (input.choice(&self.vars), self.context(input));
        let fill = [0x5A_u8; 256];
        unsafe {
            let size = nczchunk_var_element_size(var);
            match input.between(0, 9) {
                0 if size <= fill.len() => {
                    let fill = or_null(input, fill.as_ptr().cast());
                    check(nczchunk_var_set_fill_value(var, fill, context));
                }
                1 => _ = check(nczchunk_var_set_endian(var, input.between(0, 4) as c_int - 1, context)),
                2 => _ = check(nczchunk_var_set_word_size(var, input.magnitude(), context)),
                3 => {
                    let (order, none) = (input.order(ENTRIES.min(nczchunk_var_rank(var))), small(input, 0, 3));
                    let order = if input.bool() { order.as_ptr() } else { none.as_ptr() };
                    check(nczchunk_var_set_chunk_order(var, or_null(input, order), context));
                }
                4 => {
                    let times = input.between(1, 3);
                    let chunks: List<usize> =
                        std::array::from_fn(|d| nczchunk_var_chunklen(var, d).wrapping_mul(times + d % 2));
                    check(nczchunk_var_set_write_grid(var, or_null(input, chunks.as_ptr()), context));
                }
                5 => _ = check(nczchunk_var_set_dimlen(var, input.between(0, 4), input.magnitude(), context)),
                6 => {
                    let origin = (input.magnitude() as isize).wrapping_sub(16);
                    check(nczchunk_var_set_origin(var, input.between(0, 4), origin, context));
                }
                7 => {
                    let copier = (size == 8 && input.bool()).then_some(copy as _);
                    check(nczchunk_var_set_copier(var, copier, ptr::null_mut(), context));
                }
                8 => {
                    // Mostly lists that reach as far as small dimensions do.
                    let lengths: [usize; 8] = std::array::from_fn(|_| input.between(0, 9));
                    let encoded: [usize; 8] = std::array::from_fn(|i| lengths[i].wrapping_add(input.between(0, 3)));
                    let (d, num) = (input.between(0, 4), input.between(0, 8));
                    let (lengths, encoded) = (or_null(input, lengths.as_ptr()), or_null(input, encoded.as_ptr()));
                    check(nczchunk_var_set_chunk_lengths(var, d, num, lengths, encoded, context));
                }
                _ => {
                    let d = input.magnitude();
                    let _ = (nczchunk_var_rank(var), nczchunk_var_dimlen(var, d), nczchunk_var_chunklen(var, d));
                    let _ = (nczchunk_var_write_chunklen(var, d), nczchunk_var_origin(var, d));
                    let _ = nczchunk_var_is_regular(var, d);
                    let num_chunks = nczchunk_var_num_chunks(var, d).max(1);
                    let (mut extent, chunk) = ([0; 3], (input.magnitude() % num_chunks) as isize);
                    let [start, length, encoded] = extent.each_mut().map(|number| or_null_mut(input, number));
                    check(nczchunk_var_chunk_extent(var, d, chunk, start, length, encoded, context));
                    let _ = (nczchunk_var_word_size(var), nczchunk_var_endian(var), nczchunk_var_chunk_bytes(var));
                    let fill = nczchunk_var_fill_value(var).cast::<u8>();
                    if !fill.is_null() {
                        let _ = std::slice::from_raw_parts(fill, size).to_vec();
                    }
                }
            }
        }
    }

    fn make_store(&mut self, input: &mut Input<'_>, slot: usize) {
        let (script, context) = (self.script(input), self.context(input));
        let number = self.scripts.len() - 1;
        let how = input.byte();
        unsafe {
            nczchunk_chunk_store_free(self.stores[slot]);
            self.stores[slot] = ptr::null_mut();
            let made = or_null_mut(input, &raw mut self.stores[slot]);
            let status = if how & 128 == 128 {
                let callbacks = callbacks::zero_copy(script, how);
                nczchunk_chunk_store_new_zero_copy(or_null(input, &raw const callbacks), made, context)
            } else {
                let callbacks = callbacks::reader(script, how, input.magnitude());
                nczchunk_chunk_store_new(or_null(input, &raw const callbacks), made, context)
            };
            self.scripts[number].1 = check(status) == 0 && how & 64 == 0;
        }
    }

    fn change_store(&mut self, input: &mut Input<'_>, slot: usize) {
        let (store, context) = (input.choice(&self.stores), self.context(input));
        unsafe {
            match input.between(0, 6) {
                0 => _ = check(nczchunk_chunk_store_set_verify(store, input.between(0, 1) as c_int, context)),
                1 => _ = check(nczchunk_chunk_store_set_cache(store, input.choice(&self.caches).cast_const(), context)),
                2 => {
                    nczchunk_cache_free(self.caches[slot]);
                    self.caches[slot] = ptr::null_mut();
                    let limit = input.magnitude().min(1 << 20);
                    let made = or_null_mut(input, &raw mut self.caches[slot]);
                    check(nczchunk_cache_new(limit, made, context));
                }
                3 => {
                    let mut statistics: nczchunk_cache_statistics = std::mem::zeroed();
                    statistics.struct_size = input.choice(&[size_of::<nczchunk_cache_statistics>(), 0, 8, 24]);
                    check(nczchunk_cache_get_statistics(
                        input.choice(&self.caches).cast_const(),
                        &raw mut statistics,
                        context,
                    ));
                }
                4 => {
                    nczchunk_codec_free(self.codecs[slot]);
                    self.codecs[slot] = ptr::null_mut();
                    let made = or_null_mut(input, &raw mut self.codecs[slot]);
                    let kind = input.byte();
                    if kind & 1 == 1 {
                        let mut options: nczchunk_zstd_options = std::mem::zeroed();
                        options.struct_size = size_of::<nczchunk_zstd_options>();
                        options.level = input.between(0, 6) as isize - 3;
                        check(nczchunk_codec_zstd(or_null(input, &raw const options), made, context));
                    } else if kind & 2 == 2 {
                        let filter = input.choice(&[1, 2, 3, 32001, 32015, 4]);
                        let number = input.choice(&[1, 0, 7, 8]);
                        let parameters: [c_uint; 8] = std::array::from_fn(|_| input.between(0, 11) as c_uint);
                        let parameters = or_null(input, parameters.as_ptr());
                        check(nczchunk_codec_filter(filter, number, parameters, made, context));
                    } else {
                        let callbacks = callbacks::copying(&*self.byte(input));
                        let made = or_null_mut(input, &raw mut self.codecs[slot]);
                        check(nczchunk_codec_new(name(input), or_null(input, &raw const callbacks), made, context));
                    }
                }
                _ => {
                    // The store takes the codec over, if all is well.
                    if check(nczchunk_chunk_store_add_codec(store, self.codecs[slot], context)) == 0 {
                        self.codecs[slot] = ptr::null_mut();
                    }
                }
            }
        }
    }

    fn make_context(&mut self, input: &mut Input<'_>, slot: usize) {
        unsafe extern "C" fn progress(user: *mut c_void, progress: *const nczchunk_progress) -> c_int {
            unsafe {
                assert!((*progress).chunks_done <= (*progress).num_chunks);
                assert!((*progress).bytes_done <= (*progress).num_bytes);
            }
            if user.is_null() { 0 } else { 4 }
        }
        unsafe {
            let context = self.contexts[slot];
            match input.between(0, 4) {
                0 => {
                    nczchunk_context_free(context);
                    self.contexts[slot] = ptr::null_mut();
                    check(nczchunk_context_new(or_null_mut(input, &raw mut self.contexts[slot])));
                }
                1 => _ = check(nczchunk_context_set_threads(context, input.between(0, 3))),
                2 => {
                    let user: *mut c_void =
                        if input.bool() { ptr::dangling_mut::<u8>().cast() } else { ptr::null_mut() };
                    let progress = input.bool().then_some(progress as _);
                    check(nczchunk_context_set_progress(context, progress, user));
                }
                3 if input.bool() => _ = nczchunk_context_set_keeps_threads(context, input.bool().into()),
                3 => _ = nczchunk_context_set_uses_cache(context, input.bool().into()),
                _ => {
                    let status = nczchunk_context_status(context);
                    let words = CStr::from_ptr(nczchunk_context_message(context));
                    assert!(status != 0 || words.is_empty() || context.is_null());
                    let mut rank = 0;
                    let chunk = nczchunk_context_chunk(context, or_null_mut(input, &raw mut rank));
                    if !chunk.is_null() && rank > 0 {
                        let _ = std::slice::from_raw_parts(chunk, rank).to_vec();
                    }
                    let _ = (nczchunk_context_dimension(context), nczchunk_context_chunks_done(context));
                    let _ = CStr::from_ptr(nczchunk_strerror(input.magnitude() as c_int)).to_bytes();
                }
            }
        }
    }

    fn make_plan(&mut self, input: &mut Input<'_>, slot: usize) {
        let ((var, has_texts), context, slab) = (self.var_of(input), self.context(input), Slab::of(input));
        let (start, count, stride) = (slab.start(), slab.count(), slab.stride());
        let access = input.between(0, 2) as c_int;
        unsafe {
            nczchunk_plan_free(self.plans[slot]);
            self.plans[slot] = ptr::null_mut();
            // Plans for texts are used while the array is open: see `transfer`.
            if has_texts {
                return;
            }
            let made = or_null_mut(input, &raw mut self.plans[slot]);
            self.plan_sizes[slot] = None;
            if input.bool() {
                check(nczchunk_plan_new(var, start, count, stride, access, made, context));
            } else {
                let strides = steps(input);
                let (size, offset) = (input.magnitude(), input.magnitude());
                let strides = or_null(input, strides.as_ptr());
                self.plan_sizes[slot] = Some(size);
                check(nczchunk_plan_new_strided(
                    var, start, count, stride, size, offset, strides, access, made, context,
                ));
            }
        }
    }

    fn use_plan(&mut self, input: &mut Input<'_>) {
        let slot = input.between(0, SLOTS - 1);
        let (plan, other, context) = (self.plans[slot], input.choice(&self.plans), self.context(input));
        unsafe {
            let mut totals: nczchunk_totals = std::mem::zeroed();
            totals.struct_size = size_of::<nczchunk_totals>();
            if check(nczchunk_plan_totals(plan, &raw mut totals, context)) != 0 {
                return;
            }
            let i = if input.bool() { input.between(0, 255) } else { input.magnitude() };
            match input.between(0, 7) {
                6 => {
                    let mut there = 0;
                    if check(nczchunk_plan_intersect(plan, i, other, &raw mut there, context)) == 0 {
                        let mut back = 0;
                        assert!(i < totals.chunks);
                        if there != usize::MAX {
                            let status = nczchunk_plan_intersect(other, there, plan, &raw mut back, context);
                            assert!(check(status) != 0 || back == i);
                        }
                    }
                }
                7 => {
                    let (plans, mut owner) = ([plan, other, plan], 0);
                    let which = input.between(0, 3);
                    let plans = plans.map(<*mut nczchunk_plan>::cast_const);
                    let status = nczchunk_plan_owner(plans.as_ptr(), 3, which, i, &raw mut owner, context);
                    assert!(check(status) != 0 || owner < 3);
                }
                0 => {
                    let mut projections = [Projection::default(); ENTRIES];
                    let mut covered = 0;
                    let size = size_of::<Projection>();
                    let covered = or_null_mut(input, &raw mut covered);
                    check(nczchunk_plan_chunk(plan, i, projections.as_mut_ptr(), size, covered, context));
                }
                1 => {
                    let mut shared = 7;
                    let status = nczchunk_plan_shares_chunks(plan, other, &raw mut shared, context);
                    assert!(check(status) != 0 || shared == 0 || shared == 1);
                }
                2 => {
                    let (mut first, mut num) = (0, 0);
                    let parts = input.magnitude();
                    if check(nczchunk_plan_part(plan, i, parts, &raw mut first, &raw mut num, context)) == 0 {
                        assert!(first + num <= totals.chunks);
                    }
                }
                how => {
                    let size = self.plan_sizes[slot].unwrap_or(totals.selected_bytes);
                    if size > MOST_BYTES || totals.chunk_bytes / totals.chunks.max(1) > LARGEST_CHUNK {
                        return;
                    }
                    let mut memory = Memory::new(size, false);
                    let data = or_null_mut(input, memory.data());
                    let (first, num) = (i, if input.bool() { usize::MAX } else { input.magnitude() });
                    let store = input.choice(&self.stores);
                    match how {
                        3 => _ = check(nczchunk_plan_read(plan, store, first, num, data, context)),
                        4 => _ = check(nczchunk_plan_write(plan, store, first, num, data, context)),
                        _ => {
                            let mut chunk = vec![3_u8; totals.chunk_bytes / totals.chunks.max(1)];
                            let (len, chunk) = (chunk.len(), or_null_mut(input, chunk.as_mut_ptr().cast()));
                            check(nczchunk_plan_copy_chunk(plan, i, chunk, len, data, context));
                        }
                    }
                }
            }
        }
    }

    fn transfer(&mut self, input: &mut Input<'_>) {
        let ((var, has_texts), context, slab) = (self.var_of(input), self.context(input), Slab::of(input));
        let (store, is_write) = (self.store(input, var), input.bool());
        let (start, count, stride) = (slab.start(), slab.count(), slab.stride());
        let mut totals: nczchunk_totals = unsafe { std::mem::zeroed() };
        totals.struct_size = size_of::<nczchunk_totals>();
        unsafe {
            let mut plan = ptr::null_mut();
            let status =
                check(nczchunk_plan_new(var, start, count, stride, c_int::from(is_write), &raw mut plan, context));
            if status == 0 {
                check(nczchunk_plan_totals(plan, &raw mut totals, context));
            }
            nczchunk_plan_free(plan);
            if totals.selected_bytes > MOST_BYTES || totals.chunk_bytes / totals.chunks.max(1) > LARGEST_CHUNK {
                return;
            }
            let mut memory = Memory::new(totals.selected_bytes, has_texts && is_write);
            let data = memory.data();
            let passed = or_null_mut(input, data);
            let how = if has_texts { 0 } else { input.between(0, 3) };
            let done = match (how, is_write) {
                (0 | 1, false) => nczchunk_read_vars(var, store, start, count, stride, passed, context),
                (0 | 1, true) => nczchunk_write_vars(var, store, start, count, stride, passed, context),
                (2, _) => {
                    let strides = steps(input);
                    let (size, offset) = (memory.1, input.magnitude());
                    let strides = or_null(input, strides.as_ptr());
                    if is_write {
                        nczchunk_write_strided(var, store, start, count, stride, passed, size, offset, strides, context)
                    } else {
                        nczchunk_read_strided(var, store, start, count, stride, passed, size, offset, strides, context)
                    }
                }
                _ => self.mapped(input, var, store, &slab, is_write, context),
            };
            check(done);
            if how < 2 && status != 0 && !passed.is_null() && !store.is_null() {
                assert_ne!(done, 0, "what cannot be planned cannot be done");
            }
            if has_texts && !is_write {
                nczchunk_strings_free(memory.0.len(), memory.0.as_mut_ptr());
            }
        }
    }

    /// Points, and lists of indices along some dimensions. Of an array, or of its variable and its store or another.
    fn transfer_chosen(&mut self, input: &mut Input<'_>) {
        let (array, context, is_write) = (input.choice(&self.arrays), self.context(input), input.bool());
        let ((mut var, mut has_texts), is_array) = (self.var_of(input), input.bool());
        if is_array {
            (var, has_texts) = (unsafe { nczchunk_array_var(array) }, self.has_texts(array));
        }
        let store = self.store(input, var);
        let points: [usize; 4 * ENTRIES] = std::array::from_fn(|_| if input.bool() { 0 } else { input.magnitude() });
        let (count, start, stride) = (small(input, 0, 4), small(input, 0, 2), steps(input));
        let lists: List<*const usize> = std::array::from_fn(|d| or_null(input, points[4 * d..].as_ptr()));
        unsafe {
            let rank = nczchunk_var_rank(var);
            let lens = (0..rank).map(|d| nczchunk_var_write_chunklen(var, d).max(nczchunk_var_chunklen(var, d)));
            let chunk_bytes = lens.fold(nczchunk_var_element_size(var), usize::saturating_mul);
            let (is_points, num_points) = (input.bool(), input.between(0, 4));
            let num = if is_points { num_points } else { count.iter().take(rank).product() };
            let bytes = num.saturating_mul(nczchunk_var_element_size(var));
            if rank > ENTRIES || chunk_bytes > LARGEST_CHUNK || bytes > MOST_BYTES {
                return;
            }
            let mut memory = Memory::new(bytes, has_texts && is_write);
            let data = or_null_mut(input, memory.data());
            let (num, points) = (num_points, or_null(input, points.as_ptr()));
            let (start, stride) = (or_null(input, start.as_ptr()), or_null(input, stride.as_ptr()));
            let (count, lists) = (count.as_ptr(), or_null(input, lists.as_ptr()));
            let done = match (is_array, is_points, is_write) {
                (false, true, false) => nczchunk_read_points(var, store, num, points, data, context),
                (false, true, true) => nczchunk_write_points(var, store, num, points, data, context),
                (false, false, false) => nczchunk_read_lists(var, store, start, count, stride, lists, data, context),
                (false, false, true) => nczchunk_write_lists(var, store, start, count, stride, lists, data, context),
                (true, true, false) => nczchunk_array_read_points(array, num, points, data, context),
                (true, true, true) => nczchunk_array_write_points(array, num, points, data, context),
                (true, false, false) => nczchunk_array_read_lists(array, start, count, stride, lists, data, context),
                (true, false, true) => nczchunk_array_write_lists(array, start, count, stride, lists, data, context),
            };
            check(done);
            if has_texts && !is_write {
                nczchunk_strings_free(memory.0.len(), memory.0.as_mut_ptr());
            }
        }
    }

    /// netCDF's imap, in the middle of more memory than it can reach.
    fn mapped(
        &self,
        input: &mut Input<'_>,
        var: *const nczchunk_var,
        store: *const nczchunk_chunk_store,
        slab: &Slab,
        is_write: bool,
        context: *mut nczchunk_context,
    ) -> c_int {
        let imap: List<isize> = std::array::from_fn(|_| input.between(0, 16) as isize - 8);
        let (start, count, stride) = (slab.start(), slab.count(), slab.stride());
        unsafe {
            let rank = nczchunk_var_rank(var);
            let counts = (0..rank).map(|d| if count.is_null() { nczchunk_var_dimlen(var, d) } else { *count.add(d) });
            if counts.into_iter().any(|count| count > 40) || nczchunk_var_element_size(var) > 16 {
                return 0;
            }
            let mut memory = Memory::new(1 << 16, false);
            let data = memory.data().byte_add(1 << 15);
            let imap = or_null(input, imap.as_ptr());
            let mut plan = ptr::null_mut();
            let access = c_int::from(is_write);
            check(nczchunk_plan_new_varm(var, start, count, stride, imap, access, &raw mut plan, context));
            nczchunk_plan_free(plan);
            if is_write {
                nczchunk_write_varm(var, store, start, count, stride, imap, data, context)
            } else {
                nczchunk_read_varm(var, store, start, count, stride, imap, data, context)
            }
        }
    }

    fn make_storage(&mut self, input: &mut Input<'_>, slot: usize) {
        let context = self.context(input);
        let storage = input.choice(&self.storages);
        unsafe {
            let mut made = ptr::null_mut();
            match input.between(0, 10) {
                0 => _ = check(nczchunk_storage_memory(or_null_mut(input, &raw mut made), context)),
                1 => _ = check(nczchunk_storage_file(storage, name(input), &raw mut made, context)),
                2 => {
                    check(nczchunk_storage_allow_partial(storage, input.between(0, 1) as c_int, context));
                    check(nczchunk_storage_allow_external_links(storage, input.between(0, 1) as c_int, context));
                    if input.between(0, 1) == 1 {
                        check(nczchunk_storage_keep_metadata(storage, context));
                    }
                    return;
                }
                3 => {
                    // Where nothing is and nothing can be.
                    let path = or_null(input, c"/dev/null/none".as_ptr());
                    assert_ne!(check(nczchunk_storage_open(path, &raw mut made, context)), 0);
                    assert_ne!(check(nczchunk_storage_create(path, &raw mut made, context)), 0);
                    assert_ne!(check(nczchunk_storage_create_zip(path, &raw mut made, context)), 0);
                    let paths = or_null(input, &raw const path);
                    assert_ne!(check(nczchunk_storage_concat(1, paths, name(input), &raw mut made, context)), 0);
                }
                4 => {
                    check(nczchunk_storage_finish(storage, context));
                    return;
                }
                5 => {
                    let bytes = input.take(40);
                    let name = name(input);
                    let data = or_null(input, bytes.as_ptr().cast());
                    check(nczchunk_storage_write(storage, name, data, bytes.len(), context));
                    check(nczchunk_storage_write_references(storage, name, name, storage, c"refs".as_ptr(), context));
                    return;
                }
                6 => {
                    let user = self.byte(input).cast();
                    let make = (!input.bool()).then_some(callbacks::make as _);
                    check(nczchunk_storage_add_codec(storage, name(input), make, user, None, context));
                    return;
                }
                7 => {
                    let most = sizes(input);
                    let limits = nczchunk_memory_limits {
                        struct_size: if input.bool() { size_of::<nczchunk_memory_limits>() } else { 0 },
                        chunk_bytes: most[0].min(LARGEST_CHUNK),
                        string_chunk_bytes: most[1].min(LARGEST_CHUNK),
                        metadata_bytes: most[2].min(LARGEST_CHUNK),
                    };
                    check(nczchunk_storage_set_memory_limits(storage, or_null(input, &raw const limits), context));
                    return;
                }
                _ => {
                    let script = self.script(input);
                    let callbacks = callbacks::storage(script, input.byte());
                    let status = nczchunk_storage_new(or_null(input, &raw const callbacks), &raw mut made, context);
                    self.scripts.last_mut().unwrap().1 = check(status) == 0;
                }
            }
            nczchunk_storage_free(std::mem::replace(&mut self.storages[slot], made));
        }
    }

    fn make_array(&mut self, input: &mut Input<'_>, slot: usize) {
        let (storage, context) = (input.choice(&self.storages), self.context(input));
        let (shape, chunks, shards) = (small(input, 0, 10), small(input, 1, 4), small(input, 1, 3));
        let shards: List<usize> = std::array::from_fn(|d| chunks[d] * shards[d]);
        let names: List<*const c_char> = std::array::from_fn(|_| name(input));
        let codecs = [
            nczchunk_codec_setting { name: name(input), configuration: ptr::null() },
            nczchunk_codec_setting { name: name(input), configuration: or_null(input, c"{\"level\":1}".as_ptr()) },
        ];
        let fill = [1_u8; 32];
        let how = input.byte();
        let optional = |bit: u8| how >> bit & 1 == 1;
        unsafe {
            let mut description: nczchunk_description = std::mem::zeroed();
            description.struct_size = size_of::<nczchunk_description>();
            description.r#type = input.between(0, 13);
            description.type_name = if description.r#type == 0 { name(input) } else { ptr::null() };
            (description.rank, description.shape) = (input.between(0, 3), or_null(input, shape.as_ptr()));
            if optional(0) {
                description.chunk_shape = chunks.as_ptr();
            }
            if optional(1) && optional(2) {
                description.shard_shape = shards.as_ptr();
            }
            // Most lists reach as far as most shapes do.
            let (lists, nums) = ([chunks.as_ptr(), shape.as_ptr(), ptr::null()], small(input, 0, 3));
            if optional(1) && optional(6) {
                (description.chunk_lengths, description.num_chunks) = (lists.as_ptr(), nums.as_ptr());
            }
            if optional(3) && optional(4) && !names.contains(&ptr::null()) {
                description.dimension_names = names.as_ptr();
            }
            if optional(5) && description.r#type != 12 && description.type_name != c"string".as_ptr() {
                description.fill_value = fill.as_ptr().cast();
            }
            (description.codecs, description.num_codecs) = (codecs.as_ptr(), input.between(0, 2));
            description.uncompressed = usize::from(optional(6));
            description.attributes_json = or_null(input, c"{\"units\": \"K\", \"n\": [1, 2]}".as_ptr());
            (description.format, description.separator) = (input.between(0, 4), input.choice(&[0, 46, 47, 99]));
            (description.endian, description.overwrite) = (input.between(0, 3), usize::from(optional(7)));
            let description = or_null(input, &raw const description);
            nczchunk_array_close(self.arrays[slot]);
            self.arrays[slot] = ptr::null_mut();
            let name = name(input);
            let made = or_null_mut(input, &raw mut self.arrays[slot]);
            if input.byte() < 200 {
                check(nczchunk_array_create_in(storage, name, description, made, context));
            } else {
                let path = c"/dev/null/none".as_ptr();
                check(nczchunk_array_create(path, name, description, made, context));
                check(nczchunk_array_open(path, name, input.between(0, 2) as c_int, made, context));
            }
        }
    }

    /// Rechunks an array that is not too large.
    fn rechunk(&mut self, input: &mut Input<'_>) {
        let (array, storage) = (input.choice(&self.arrays), input.choice(&self.storages));
        let (context, chunks, shards) = (self.context(input), small(input, 1, 4), small(input, 1, 3));
        let shards: List<usize> = std::array::from_fn(|d| chunks[d] * shards[d]);
        let codec = nczchunk_codec_setting { name: name(input), configuration: ptr::null() };
        let how = input.byte();
        let optional = |bit: u8| how >> bit & 1 == 1;
        unsafe {
            let var = nczchunk_array_var(array);
            let rank = nczchunk_var_rank(var);
            let elements = (0..rank).fold(1usize, |all, d| all.saturating_mul(nczchunk_var_dimlen(var, d)));
            let mut options: nczchunk_rechunk_options = std::mem::zeroed();
            options.struct_size = size_of::<nczchunk_rechunk_options>();
            options.memory = input.choice(&[0, 1, 7 << 20, 8 << 20]);
            if optional(0) && rank <= ENTRIES {
                options.chunk_shape = chunks.as_ptr();
            }
            if optional(1) && rank <= ENTRIES {
                options.shard_shape = shards.as_ptr();
            }
            if optional(2) {
                (options.codecs, options.num_codecs) = (&raw const codec, 1);
            }
            options.uncompressed = usize::from(optional(3));
            (options.format, options.endian) = (input.between(0, 4), input.between(0, 3));
            let temporary = input.choice(&self.storages);
            options.temporary = if optional(4) { temporary.cast_const() } else { ptr::null() };
            let mut report: nczchunk_rechunk_report = std::mem::zeroed();
            report.struct_size = if optional(5) { size_of::<nczchunk_rechunk_report>() } else { 0 };
            let report = or_null_mut(input, &raw mut report);
            let options = or_null(input, &raw const options);
            check(nczchunk_rechunk_plan(array, options, report, context));
            if elements < MOST_BYTES {
                check(nczchunk_rechunk_in(array, storage, name(input), options, report, context));
                check(nczchunk_rechunk(array, c"/dev/null/none".as_ptr(), name(input), options, report, context));
            }
        }
    }

    fn use_array(&mut self, input: &mut Input<'_>) {
        unsafe extern "C" fn located(user: *mut c_void, chunk: *const nczchunk_located) -> c_int {
            unsafe {
                let _ = CStr::from_ptr((*chunk).object).to_bytes();
                c_int::from(*user.cast::<u8>() > 250)
            }
        }
        unsafe extern "C" fn texts(user: *mut c_void, first: *const c_char, second: *const c_char) -> c_int {
            unsafe {
                let _ = (CStr::from_ptr(first).to_bytes(), CStr::from_ptr(second).to_bytes());
                c_int::from(*user.cast::<u8>() > 250)
            }
        }
        let (array, context, slab) = (input.choice(&self.arrays), self.context(input), Slab::of(input));
        let mut attribute: nczchunk_attribute = unsafe { std::mem::zeroed() };
        attribute.struct_size = size_of::<nczchunk_attribute>();
        unsafe {
            let var = nczchunk_array_var(array);
            match input.between(0, 3) {
                0 => {
                    let _ = (nczchunk_array_type(array), nczchunk_array_num_attributes(array));
                    for text in [
                        nczchunk_array_type_name(array),
                        nczchunk_array_format(array),
                        nczchunk_array_dimname(array, input.between(0, 4)),
                        nczchunk_array_attributes_json(array),
                    ] {
                        let _ = CStr::from_ptr(text).to_bytes();
                    }
                }
                1 => {
                    let found = (!input.bool()).then_some(texts as _);
                    check(nczchunk_array_codecs(array, found, self.byte(input).cast(), context));
                    check(nczchunk_array_left_out(array, found, self.byte(input).cast(), context));
                    check(nczchunk_array_check_attributes(array, context));
                    let status = if input.bool() {
                        nczchunk_array_attribute(array, name(input), &raw mut attribute, context)
                    } else {
                        nczchunk_array_attribute_at(array, input.between(0, 4), &raw mut attribute, context)
                    };
                    if check(status) == 0 {
                        let _ = CStr::from_ptr(attribute.name).to_bytes();
                    }
                }
                how => {
                    let (start, count, stride) = (slab.start(), slab.count(), slab.stride());
                    let mut plan = ptr::null_mut();
                    let mut totals: nczchunk_totals = std::mem::zeroed();
                    totals.struct_size = size_of::<nczchunk_totals>();
                    let access = c_int::from(how == 2);
                    if check(nczchunk_plan_new(var, start, count, stride, access, &raw mut plan, context)) == 0 {
                        check(nczchunk_plan_totals(plan, &raw mut totals, context));
                    }
                    nczchunk_plan_free(plan);
                    // Without a description the chunks have 16 MiB.
                    if totals.selected_bytes > MOST_BYTES || totals.chunk_bytes / totals.chunks.max(1) > LARGEST_CHUNK {
                        return;
                    }
                    let found = (!input.bool()).then_some(located as _);
                    check(nczchunk_array_locate(array, start, count, stride, found, self.byte(input).cast(), context));
                    let mut cost: nczchunk_read_cost = std::mem::zeroed();
                    cost.struct_size = input.choice(&[size_of::<nczchunk_read_cost>(), 0, 8, 24]);
                    check(nczchunk_array_read_cost(array, start, count, stride, &raw mut cost, context));
                    let (mut block, mut nbytes) = (ptr::null_mut(), 0);
                    let made = or_null_mut(input, &raw mut block);
                    if check(nczchunk_array_read_strings(array, start, count, stride, made, &raw mut nbytes, context))
                        == 0
                    {
                        assert!(nbytes == 0 || *block.add(nbytes - 1) == 0);
                        nczchunk_strings_free(1, &raw mut block);
                    }
                    let has_texts = self.has_texts(array);
                    let mut memory = Memory::new(totals.selected_bytes, has_texts && how == 2);
                    let data = or_null_mut(input, memory.data());
                    if how == 2 {
                        check(nczchunk_array_write(array, start, count, stride, data, context));
                    } else if check(nczchunk_array_read(array, start, count, stride, data, context)) == 0 && has_texts {
                        nczchunk_strings_free(memory.0.len(), memory.0.as_mut_ptr());
                    }
                }
            }
        }
    }

    fn change_array(&mut self, input: &mut Input<'_>) {
        let (array, context) = (input.choice(&self.arrays), self.context(input));
        unsafe {
            match input.between(0, 8) {
                0 => _ = check(nczchunk_array_set_cache(array, input.choice(&self.caches).cast_const(), context)),
                1 => _ = check(nczchunk_array_set_verify(array, input.between(0, 1) as c_int, context)),
                2 => {
                    let shape = small(input, 0, 10);
                    // Chunks of 16 MiB are not cut: that takes long.
                    if nczchunk_var_chunk_bytes(nczchunk_array_var(array)) <= LARGEST_CHUNK {
                        check(nczchunk_array_resize(array, or_null(input, shape.as_ptr()), context));
                    }
                }
                3 => {
                    let values = [0x2020_2020_2020_2020_u64; 4];
                    let texts = [c"a".as_ptr(), c"".as_ptr(), c"bc".as_ptr(), c"\xff".as_ptr()];
                    let (kind, num) = (input.between(0, 13) as c_int, input.between(0, 4));
                    let values = if kind == 12 { texts.as_ptr().cast() } else { values.as_ptr().cast() };
                    let (name, values) = (name(input), or_null(input, values));
                    check(nczchunk_array_set_attribute(array, name, kind, num, values, context));
                }
                4 => _ = check(nczchunk_array_remove_attribute(array, name(input), context)),
                5 => _ = check(nczchunk_array_refresh(array, context)),
                6 => {
                    let json = [c"{\"a\":{\"b\":[true,null]}}", c"{\"\":1}", c"[]", c"{"][input.between(0, 3)].as_ptr();
                    check(nczchunk_array_set_attributes_json(array, or_null(input, json), context));
                }
                _ => {
                    let slot = input.between(0, SLOTS - 1);
                    nczchunk_array_close(self.arrays[slot]);
                    self.arrays[slot] = ptr::null_mut();
                    let (storage, name, mode) =
                        (input.choice(&self.storages), name(input), input.between(0, 2) as c_int);
                    if input.byte() < 200 {
                        check(nczchunk_array_open_in(storage, name, mode, &raw mut self.arrays[slot], context));
                    } else {
                        let document = [DOCUMENT, c"{\"zarr_format\":3,\"node_type\":\"group\"}", c"{"];
                        let document = document[input.between(0, 2)].as_ptr();
                        let document = or_null(input, document);
                        let array = &raw mut self.arrays[slot];
                        check(nczchunk_array_open_document(storage, name, document, mode, array, context));
                    }
                }
            }
        }
    }

    /// Groups of storages in memory and of callbacks.
    fn group(&mut self, input: &mut Input<'_>) {
        unsafe extern "C" fn dimension(user: *mut c_void, dimension: *const nczchunk_dimension) -> c_int {
            unsafe { _ = CStr::from_ptr((*dimension).name).to_bytes() };
            if user.is_null() { 0 } else { 9 }
        }
        let (storage, context) = (input.choice(&self.storages), self.context(input));
        let group = name(input);
        let json = [c"{\"a\":{\"b\":[true,null]}}", c"{\"\":1}", c"[]", c"{"][input.between(0, 3)].as_ptr();
        let json = or_null(input, json);
        unsafe {
            match input.between(0, 5) {
                5 => {
                    let user = or_null(input, ptr::dangling::<u8>().cast::<c_void>()).cast_mut();
                    let function = (input.byte() < 250).then_some(dimension as _);
                    check(nczchunk_group_dimensions(storage, group, function, user, context));
                }
                0 => {
                    let format = input.between(0, 4);
                    check(nczchunk_group_create_in(storage, group, format, json, context));
                    // Where nothing can be.
                    let status = nczchunk_group_create(c"/dev/null/none".as_ptr(), group, format, json, context);
                    assert_ne!(check(status), 0);
                }
                1 => _ = check(nczchunk_group_set_attributes_json(storage, group, json, context)),
                2 => {
                    let values = [0x2020_2020_2020_2020_u64; 4];
                    let (kind, num) = (input.between(0, 11) as c_int, input.between(0, 4));
                    let (name, values) = (name(input), or_null(input, values.as_ptr().cast()));
                    check(nczchunk_group_set_attribute(storage, group, name, kind, num, values, context));
                }
                3 => _ = check(nczchunk_group_remove_attribute(storage, group, name(input), context)),
                _ => _ = check(nczchunk_group_consolidate(storage, group, context)),
            }
        }
    }

    fn list(&mut self, input: &mut Input<'_>) {
        unsafe extern "C" fn reason(user: *mut c_void, name: *const c_char, reason: *const c_char) -> c_int {
            unsafe { _ = (CStr::from_ptr(name).to_bytes(), CStr::from_ptr(reason).to_bytes()) };
            if user.is_null() { 0 } else { 9 }
        }
        unsafe extern "C" fn found(user: *mut c_void, node: *const nczchunk_node) -> c_int {
            unsafe {
                let node = &*node;
                let _ = (CStr::from_ptr(node.name).to_bytes(), CStr::from_ptr(node.attributes_json).to_bytes());
                let mut attribute: nczchunk_attribute = std::mem::zeroed();
                attribute.struct_size = size_of::<nczchunk_attribute>();
                for i in 0..=node.num_attributes {
                    let status = nczchunk_node_attribute_at(node, i, &raw mut attribute, ptr::null_mut());
                    assert_eq!(check(status) == 0, i < node.num_attributes);
                }
                check(nczchunk_node_left_out(node, Some(reason), user, ptr::null_mut()));
            }
            if user.is_null() { 0 } else { 9 }
        }
        let (storage, context) = (input.choice(&self.storages), self.context(input));
        let user: *mut c_void = if input.bool() { ptr::dangling_mut::<u8>().cast() } else { ptr::null_mut() };
        let recursive = input.between(0, 1) as c_int;
        unsafe {
            let function = (input.byte() < 250).then_some(found as _);
            check(nczchunk_list_in(storage, name(input), recursive, function, user, context));
            check(nczchunk_list_node(storage, name(input), function, user, context));
            check(nczchunk_list(c"/dev/null/none".as_ptr(), ptr::null(), recursive, function, user, context));
        }
    }

    fn odometer(&mut self, input: &mut Input<'_>, slot: usize) {
        let context = self.context(input);
        let (start, stop, stride, len) = if input.bool() {
            (small(input, 0, 2), small(input, 0, 5), small(input, 1, 3), small(input, 5, 6))
        } else {
            (sizes(input), sizes(input), sizes(input), sizes(input))
        };
        unsafe {
            let odometer = self.odometers[slot];
            if odometer.is_null() || input.byte() < 40 {
                nczchunk_odometer_free(odometer);
                self.odometers[slot] = ptr::null_mut();
                let (rank, made) = (input.between(0, 4), or_null_mut(input, &raw mut self.odometers[slot]));
                let (start, stop) = (or_null(input, start.as_ptr()), or_null(input, stop.as_ptr()));
                let (stride, len) = (or_null(input, stride.as_ptr()), or_null(input, len.as_ptr()));
                check(nczchunk_odometer_new(rank, start, stop, stride, len, made, context));
            }
            let odometer = or_null_mut(input, self.odometers[slot]);
            for _ in 0..input.between(0, 9) {
                let _ = (nczchunk_odometer_more(odometer), nczchunk_odometer_offset(odometer));
                let _ = (nczchunk_odometer_indices(odometer), nczchunk_odometer_avail(odometer));
                match input.between(0, 9) {
                    0 => nczchunk_odometer_skipavail(odometer),
                    1 => nczchunk_odometer_reset(odometer),
                    _ => nczchunk_odometer_next(odometer),
                }
            }
        }
    }

    /// What needs no objects.
    fn compute(&mut self, input: &mut Input<'_>) {
        let (context, rank) = (self.context(input), input.between(0, 4));
        let (lens, others) =
            if input.bool() { (small(input, 0, 9), sizes(input)) } else { (sizes(input), sizes(input)) };
        let indices = steps(input);
        unsafe {
            match input.between(0, 6) {
                0 => {
                    let mut chunks = [0; ENTRIES];
                    let (size, target) = (input.magnitude(), input.magnitude());
                    let (lens, chunks) = (or_null(input, lens.as_ptr()), or_null_mut(input, chunks.as_mut_ptr()));
                    check(nczchunk_chunkshape_netcdf(rank, lens, size, target, chunks, context));
                    check(nczchunk_chunkshape_h5py(rank, lens, size, chunks, context));
                    check(nczchunk_chunkshape_rechunkit(rank, lens, size, target, chunks, context));
                    let weights = [1.0, input.word() as f64 / 1e3];
                    let costs = nczchunk_advise_costs {
                        struct_size: if input.bool() { size_of::<nczchunk_advise_costs>() } else { 0 },
                        in_flight: target,
                        least_bytes: size,
                        most_bytes: target,
                        latency: weights[1],
                        bandwidth: 0.0,
                        decoding: weights[1],
                        stored: 0.0,
                        per_request: 0.0,
                        per_chunk: weights[1],
                        copying: 0.0,
                        step_bytes: target,
                    };
                    let costs = or_null(input, &raw const costs);
                    let (num, mut seconds) = (input.between(0, 1), 0.0);
                    check(nczchunk_advise(
                        rank,
                        lens,
                        size,
                        num,
                        lens,
                        weights.as_ptr(),
                        costs,
                        chunks,
                        &raw mut seconds,
                        context,
                    ));
                    let mut cost = nczchunk_advise_cost_of_read { requests: 0.0, bytes: 0.0, seconds: 0.0 };
                    check(nczchunk_advise_cost(rank, lens, size, lens, lens, costs, &raw mut cost, context));
                }
                1 => {
                    let (mut size, mut padded, mut record) = (0, 0, 0);
                    let type_size = input.choice(&[1, 2, 4, 8, 3]);
                    let lens = or_null(input, lens.as_ptr());
                    check(nczchunk_classic_varsize(rank, lens, type_size, &raw mut size, &raw mut padded, context));
                    let sizes = [size, input.word(), padded];
                    check(nczchunk_classic_recsize(rank.min(3), sizes.as_ptr(), &raw mut record, context));
                    let (begin, indices) = (input.word(), or_null(input, others.as_ptr()));
                    let offset = &raw mut size;
                    check(nczchunk_classic_offset(rank, lens, type_size, begin, record, indices, offset, context));
                }
                2 => {
                    // Two blocks of just the size that is said.
                    let (source, mut destination) =
                        (vec![1_u8; input.between(0, 255)], vec![2_u8; input.between(0, 255)]);
                    let (sizes, word) = (input.between(0, 17), input.choice(&[1, 2, 4, 8, 0, 3]));
                    let (from, to) = (steps(input), steps(input));
                    let count = or_null(input, lens.as_ptr());
                    check(nczchunk_copy_strided(
                        rank,
                        count,
                        sizes,
                        word,
                        source.as_ptr().cast(),
                        source.len(),
                        input.between(0, 40),
                        from.as_ptr(),
                        destination.as_mut_ptr().cast(),
                        destination.len(),
                        input.between(0, 40),
                        to.as_ptr(),
                        context,
                    ));
                }
                3 => {
                    let (capacity, separator) = (input.between(0, 64), input.choice(&[b'.', b'/', b'x']) as c_char);
                    let mut key = vec![0; capacity];
                    let mut length = 0;
                    let out = or_null_mut(input, key.as_mut_ptr());
                    let indices = or_null(input, indices.as_ptr());
                    let length = or_null_mut(input, &raw mut length);
                    check(nczchunk_key_zarr_v2(rank, indices, separator, out, capacity, length, context));
                    check(nczchunk_key_zarr_v3(rank, indices, separator, out, capacity, length, context));
                    let var = name(input);
                    check(nczchunk_key_cfdb(var, rank, lens.as_ptr(), indices, out, capacity, length, context));
                }
                4 | 5 => self.projections(input, context),
                _ => {
                    let _ = (nczchunk_has_codec(name(input)), nczchunk_version_number());
                    let _ = CStr::from_ptr(nczchunk_version()).to_bytes();
                }
            }
        }
    }

    fn projections(&self, input: &mut Input<'_>, context: *mut nczchunk_context) {
        let (dimlen, chunklen) = (input.magnitude(), input.magnitude());
        let (start, count, stride) = (input.magnitude(), input.magnitude(), input.magnitude() as isize);
        let size = size_of::<Projection>();
        let (mut all, mut needed) = ([Projection::default(); 64], 0);
        unsafe {
            let capacity = input.choice(&[0, 64]);
            let status = nczchunk_projections(
                dimlen,
                chunklen,
                start,
                count,
                stride,
                all.as_mut_ptr(),
                size,
                capacity,
                &raw mut needed,
                context,
            );
            if check(status) != 0 {
                return;
            }
            for p in [0, needed / 2, needed.wrapping_sub(1), needed] {
                let mut one = Projection::default();
                let status =
                    nczchunk_projection_at(dimlen, chunklen, start, count, stride, p, &raw mut one, size, context);
                assert_eq!(check(status) == 0, p < needed);
                if p < needed && capacity > 0 {
                    assert_eq!(one, all[p]);
                }
                // The p-th projection has the elements from iopos on, each at its place in the chunk.
                if p < needed {
                    let element = start as u128 + one.iopos as u128 * stride as u128;
                    assert_eq!(element, one.chunk_index as u128 * chunklen as u128 + one.first as u128);
                    assert_eq!(one.last - one.first, (one.iocount - 1) * stride as usize);
                }
            }
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        unsafe {
            self.plans.iter().for_each(|plan| nczchunk_plan_free(*plan));
            self.arrays.iter().for_each(|array| nczchunk_array_close(*array));
            self.storages.iter().for_each(|storage| nczchunk_storage_free(*storage));
            self.vars.iter().for_each(|var| nczchunk_var_free(*var));
            self.stores.iter().for_each(|store| nczchunk_chunk_store_free(*store));
            self.codecs.iter().for_each(|codec| nczchunk_codec_free(*codec));
            self.caches.iter().for_each(|cache| nczchunk_cache_free(*cache));
            self.contexts.iter().for_each(|context| nczchunk_context_free(*context));
            self.odometers.iter().for_each(|odometer| nczchunk_odometer_free(*odometer));
            for (script, is_taken) in &self.scripts {
                let script = Box::from_raw(*script);
                assert!(script.num_destroyed() <= 1 && (!is_taken || script.num_destroyed() == 1));
            }
            for byte in &self.bytes {
                drop(Box::from_raw(*byte));
            }
        }
    }
}
