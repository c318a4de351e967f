//! What threads save where every request takes its time: 1000 chunks with zstd, of which each arrives after 50 ms, with
//! 64 requests in flight. What is printed is the time over the larger of what the requests alone take and what the same
//! threads take to decode the same chunks from memory, in the same run. And the same for writes: of everything, and of
//! every second element, where each chunk is read before.
//!
//!     cargo bench --bench latency

use std::collections::HashMap;
use std::ffi::CStr;
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use nczchunk::object::{ByteRange, Entry, Flight, Limits, Memory, ObjectRequest, ObjectStore, Storage};
use nczchunk::{Access, Array, Buffer, Description, ElementType, Hyperslab, Options, Plan, Result, status};

const CHUNKS: usize = 1000;
const CHUNK: usize = 1 << 18;
const IN_FLIGHT: usize = 64;
const LATENCY: Duration = Duration::from_millis(50);
const TIMES: usize = 3;

/// Objects in memory, each read of which takes its time.
struct Far {
    objects: Mutex<HashMap<String, Arc<Vec<u8>>>>,
    reads: Mutex<Vec<Read>>,
}

struct Read {
    thread: ThreadId,
    request: *mut ObjectRequest,
    due: Instant,
    is_write: bool,
}

// SAFETY: a request is used by the thread that started it.
#[allow(unsafe_code)]
unsafe impl Send for Read {}

impl ObjectStore for Far {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let Some(object) = self.objects.lock().unwrap().get(name).cloned() else { return Ok(None) };
        let rest = &object[begin.offset(object.len() as u64) as usize..];
        buffer.write(&rest[..rest.len().min(buffer.capacity())]);
        Ok(Some(object.len() as u64))
    }

    fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.objects.lock().unwrap().insert(name.to_owned(), Arc::new(bytes.to_vec()));
        Ok(())
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(self)
    }
}

// SAFETY: a read is given back once, after its answer has been written.
#[allow(unsafe_code)]
unsafe impl Flight for Far {
    fn limits(&self) -> Limits {
        Limits { requests: IN_FLIGHT, ..Limits::default() }
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        self.begin(request, false);
        Ok(true)
    }

    fn writes(&self) -> bool {
        true
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        self.begin(request, true);
        Ok(())
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let Read { request, due, is_write, .. } = {
            let (mut reads, this) = (self.reads.lock().unwrap(), std::thread::current().id());
            let own = (0..reads.len()).filter(|&i| reads[i].thread == this);
            let next = own.min_by_key(|&i| reads[i].due).unwrap();
            reads.swap_remove(next)
        };
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        // SAFETY: the request is this thread's again, and its name is a text.
        let (answer, name) = unsafe { (&mut *request, CStr::from_ptr((*request).name).to_str().unwrap()) };
        if is_write {
            // SAFETY: there are `size` bytes.
            let bytes = unsafe { std::slice::from_raw_parts(answer.buffer.cast::<u8>(), answer.size) };
            self.write(name, bytes)?;
            return Ok(request);
        }
        let Some(object) = self.objects.lock().unwrap().get(name).cloned() else {
            answer.status = status::ENOOBJECT as isize;
            return Ok(request);
        };
        let rest = &object[(answer.offset as usize).min(object.len())..];
        answer.nbytes = rest.len().min(answer.size);
        // SAFETY: there is room for `size` bytes.
        unsafe { answer.buffer.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), answer.nbytes) };
        answer.object_size = object.len() as u64;
        Ok(request)
    }
}

impl Far {
    fn begin(&self, request: *mut ObjectRequest, is_write: bool) {
        let (thread, due) = (std::thread::current().id(), Instant::now() + LATENCY);
        self.reads.lock().unwrap().push(Read { thread, request, due, is_write });
    }
}

/// The quickest of some writes of a slab, in seconds.
fn time_to_write(array: &Array, slab: &Hyperslab<'_>, values: &[u8], threads: usize) -> f64 {
    let plan = Plan::new(array.variable(), slab, Access::Write).unwrap();
    let options = Options::default().with_threads(threads);
    let one = |_| {
        let begun = Instant::now();
        plan.write_chunks(array.store(), 0..plan.num_chunks(), &values[..plan.selected_bytes()], options).unwrap();
        begun.elapsed().as_secs_f64()
    };
    (0..TIMES).map(one).fold(f64::INFINITY, f64::min)
}

/// The quickest of some reads of everything, in seconds.
fn time(array: &Array, out: &mut [u8], threads: usize) -> f64 {
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let options = Options::default().with_threads(threads);
    let one = |_| {
        let begun = Instant::now();
        plan.read_chunks(array.store(), 0..plan.num_chunks(), out, options).unwrap();
        begun.elapsed().as_secs_f64()
    };
    (0..TIMES).map(one).fold(f64::INFINITY, f64::min)
}

fn main() {
    let description = Description::new(&[CHUNKS * CHUNK], ElementType::Float)
        .with_chunk_shape(&[CHUNK])
        .with_codecs(&[("zstd", r#"{"level": 1, "checksum": false}"#)]);
    let mut state = 7u64;
    let mut values = vec![0f32; CHUNKS * CHUNK];
    for (i, value) in values.iter_mut().enumerate() {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *value = (i / 100) as f32 + (state >> 61) as f32;
    }
    let far = Arc::new(Far { objects: Mutex::default(), reads: Mutex::default() });
    let arrays = [Storage::new(Memory::new()), Storage::new(far)].map(|storage| {
        let array = Array::create_in(&storage.unwrap(), "a", &description).unwrap();
        array.write(&Hyperslab::all(), &values).unwrap();
        array
    });
    let [near, far] = &arrays;
    let mut out = vec![0u8; 4 * values.len()];
    let waiting = LATENCY.as_secs_f64() * CHUNKS.div_ceil(IN_FLIGHT) as f64;
    println!("requests alone {waiting:.3} s");
    for threads in [1, 2] {
        let (decoding, took) = (time(near, &mut out, threads), time(far, &mut out, threads));
        let bound = waiting.max(decoding);
        println!("{threads} threads: decoding alone {decoding:.3} s, in flight {took:.3} s: {:.2}", took / bound);
    }
    out.iter_mut().enumerate().for_each(|(i, byte)| *byte = (i >> 9) as u8);
    // Every second element is written, so that each chunk is read before.
    let count = [CHUNKS * CHUNK / 2];
    for (what, slab, trips) in
        [("all", Hyperslab::all(), 1.0), ("every second element", Hyperslab::new(&[0], &count).with_stride(&[2]), 2.0)]
    {
        for threads in [1, 2] {
            let encoding = time_to_write(near, &slab, &out, threads);
            let took = time_to_write(far, &slab, &out, threads);
            let bound = (waiting * trips).max(encoding);
            println!(
                "{threads} threads: writing {what}: encoding alone {encoding:.3} s, in flight {took:.3} s: {:.2}",
                took / bound
            );
        }
    }
}
