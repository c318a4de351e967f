//! What latency costs: 1000 chunks of which each takes 50 ms to arrive, and one in 20 twice that, with 64 requests in
//! flight. The storage has a clock of its own, so that nothing is waited for and the figures are the same every time:
//!
//! ```text
//! cargo test --test latency -- --nocapture
//! ```
//!
//! Time must be at most 1.1 times what 64 equal lines of requests take, and memory at most that of 64 chunks, beside
//! the one that is decoded.
#![cfg(feature = "arrays")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::ThreadId;
use std::time::Duration;

use nczchunk::object::{
    AsyncRequests, AsyncStore, ByteRange, Entry, Flight, Limits, Memory, ObjectStore, ReadRequest, Storage,
};
use nczchunk::{Access, Array, Buffer, Codec, Hyperslab, Options, Plan, Result};

const CHUNKS: usize = 1000;
const CHUNK: usize = 16384;
const CHUNK_BYTES: usize = 4 * CHUNK;
const IN_FLIGHT: usize = 64;
const LATENCY: u64 = 50_000;

/// The system's allocator; counts the bytes that are in use.
struct Counting;

static IN_USE: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: what the system's allocator promises is passed on.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        MOST.fetch_max(IN_USE.fetch_add(layout.size(), Relaxed) + layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A storage whose objects take their time.
struct Far(AsyncRequests<Later>);

struct Later {
    objects: Mutex<HashMap<String, Vec<u8>>>,
    bytes: Option<usize>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    requests_in_flight: Vec<Pending>,
    now: u64,
    most: usize,
    reads: usize,
}

struct Pending {
    thread: ThreadId,
    read: ReadRequest,
    due: u64,
}

impl Far {
    fn new(bytes: Option<usize>) -> Self {
        Far(AsyncRequests::new(Later { objects: Mutex::default(), bytes, state: Mutex::default() }).unwrap())
    }
}

impl AsyncStore for Later {
    fn limits(&self) -> Limits {
        Limits { requests: IN_FLIGHT, bytes: self.bytes, largest: 8 * CHUNK_BYTES, excess: None }
    }

    fn start_read(&self, read: ReadRequest) {
        let mut state = self.state.lock().unwrap();
        state.reads += 1;
        let latency = if state.reads % 20 == 0 { 2 * LATENCY } else { LATENCY };
        let due = state.now + latency;
        state.requests_in_flight.push(Pending { thread: std::thread::current().id(), read, due });
        state.most = state.most.max(state.requests_in_flight.len());
    }

    fn wait(&self) -> Result<()> {
        let mut state = self.state.lock().unwrap();
        let this = std::thread::current().id();
        let own = (0..state.requests_in_flight.len()).filter(|&i| state.requests_in_flight[i].thread == this);
        let next = own.min_by_key(|&i| state.requests_in_flight[i].due).unwrap();
        let Pending { mut read, due, .. } = state.requests_in_flight.swap_remove(next);
        state.now = state.now.max(due);
        let found = self.objects.lock().unwrap().get(read.name()).map(|object| {
            let begin = read.begin();
            (read.fill(|buffer| begin.copy(object, buffer)), Some(1))
        });
        read.answer(Ok(found));
        Ok(())
    }
}

impl ObjectStore for Far {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        let objects = self.0.store().objects.lock().unwrap();
        Ok(objects.get(name).map(|object| begin.copy(object, buffer)))
    }

    fn list(&self, _prefix: &str, _one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        Ok(())
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.0.store().objects.lock().unwrap().insert(name.into(), bytes.into());
        Ok(())
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn gap(&self) -> usize {
        1 << 20
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(&self.0)
    }
}

/// The metadata of an array of 1000 chunks with these codecs, in shards of so many chunks, if there are any.
fn metadata(codecs: &str, shard: Option<usize>) -> String {
    let bytes = r#"{"name": "bytes", "configuration": {"endian": "little"}}"#;
    let mut codecs = format!("{bytes}{codecs}");
    if shard.is_some() {
        codecs = format!(
            r#"{{"name": "sharding_indexed", "configuration": {{"chunk_shape": [{CHUNK}], "codecs": [{codecs}],
                "index_codecs": [{bytes}]}}}}"#
        );
    }
    let (shape, chunk) = (CHUNKS * CHUNK, shard.unwrap_or(1) * CHUNK);
    format!(
        r#"{{"zarr_format": 3, "node_type": "array", "shape": [{shape}], "data_type": "float32", "fill_value": 0,
            "chunk_grid": {{"name": "regular", "configuration": {{"chunk_shape": [{chunk}]}}}},
            "chunk_key_encoding": {{"name": "default"}}, "codecs": [{codecs}]}}"#
    )
}

/// Reads all of an array; tells the time over what is ideal, and the memory in chunks.
fn measure(what: &str, codecs: &str, shard: Option<usize>) -> (f64, f64) {
    let bytes = shard.map(|_| IN_FLIGHT * CHUNK_BYTES);
    let far = Arc::new(Far::new(bytes));
    far.write("zarr.json", metadata(codecs, shard).as_bytes()).unwrap();
    let array = Array::open_in(&Storage::new(far.clone()).unwrap(), "", Access::Write).unwrap();
    let mut rng = fastrand::Rng::with_seed(7);
    let values: Vec<f32> = std::iter::repeat_with(|| rng.f32()).take(CHUNKS * CHUNK).collect();
    array.write(&Hyperslab::all(), &values).unwrap();
    let array = Array::open_in(&Storage::new(far.clone()).unwrap(), "", Access::Read).unwrap();
    let mut read = vec![0f32; values.len()];
    // What the storage takes for itself is not counted.
    let requests_in_flight = Vec::with_capacity(IN_FLIGHT);
    *far.0.store().state.lock().unwrap() = State { requests_in_flight, ..State::default() };
    let before = IN_USE.load(Relaxed);
    MOST.store(before, Relaxed);
    array.read_into(&Hyperslab::all(), &mut read).unwrap();
    let memory = (MOST.load(Relaxed) - before) as f64 / CHUNK_BYTES as f64;
    assert!(read == values);
    let State { now, most, reads, .. } = &*far.0.store().state.lock().unwrap();
    // What it takes if each chunk is a read of its own.
    let ideal = (CHUNKS as u64 * LATENCY * 21 / 20) / IN_FLIGHT as u64 + 2 * LATENCY;
    let (time, ideal) = (*now as f64 / 1e6, ideal as f64 / 1e6);
    println!(
        "{what:12} {reads:5} reads, {most:3} in flight: {time:.3} s, ideal {ideal:.3} s; {memory:5.1} chunks of memory"
    );
    (time / ideal, memory)
}

/// Tests of which one at a time runs, for one counts memory.
static ALONE: Mutex<()> = Mutex::new(());

#[test]
fn time_and_memory_are_what_they_should_be() {
    let _alone = ALONE.lock();
    let check = |(time, memory): (f64, f64), most: f64| assert!(time <= 1.1 && memory <= most, "{time} {memory}");
    // Beside the chunks: a kilobyte for each that is in flight, and in shards for each that is looked at to find
    // neighbours; with a codec, the chunk that is decoded, what the codec needs, and room for the most that a
    // chunk may take encoded.
    let (requests_in_flight, ahead, decoded) = (1.0, 16.0, 5.0);
    check(measure("raw", "", None), 64.0 + requests_in_flight);
    check(measure("raw, shards", "", Some(50)), 64.0 + ahead);
    if nczchunk::has_codec("zstd") {
        let zstd = r#", {"name": "zstd", "configuration": {"level": 1, "checksum": false}}"#;
        check(measure("zstd", zstd, None), 64.0 + requests_in_flight + decoded);
        check(measure("zstd, shards", zstd, Some(50)), 64.0 + ahead + decoded);
    }
}

/// A codec that leaves chunks as they are, and decodes one only once another thread decodes one, too.
struct Meeting(Arc<(Mutex<Vec<ThreadId>>, Condvar)>);

impl Codec for Meeting {
    fn name(&self) -> &str {
        "meeting"
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        decoded_size
    }

    fn decode(&self, encoded: &[u8], _: std::ops::Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        let (threads, met) = &*self.0;
        let (mut threads, this) = (threads.lock().unwrap(), std::thread::current().id());
        if !threads.contains(&this) {
            threads.push(this);
        }
        met.notify_all();
        let are_two = met.wait_timeout_while(threads, Duration::from_secs(60), |threads| threads.len() < 2).unwrap();
        assert!(!are_two.1.timed_out(), "one thread decodes");
        assert!(decoded.write(encoded));
        Ok(())
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        assert!(encoded.write(decoded));
        Ok(())
    }
}

/// Whether two threads decode where so many chunks of an array are read, of which the storage has nothing yet.
fn two_threads_decode(mut storage: Storage, shard: Option<usize>, num_chunks: usize) -> bool {
    let met = Arc::new((Mutex::default(), Condvar::new()));
    let other = met.clone();
    storage.add_codec("meeting", move |_| Ok(Box::new(Meeting(other.clone())))).unwrap();
    storage.write("zarr.json", metadata(r#", {"name": "meeting"}"#, shard).as_bytes()).unwrap();
    let array = Array::open_in(&storage, "", Access::Write).unwrap();
    let values: Vec<u32> = (0..(CHUNKS * CHUNK) as u32).collect();
    let bytes: Vec<u8> = values.iter().flat_map(|value| (*value as f32).to_ne_bytes()).collect();
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Write).unwrap();
    plan.write(array.store(), &bytes).unwrap();
    let plan = Plan::new(array.variable(), &Hyperslab::all(), Access::Read).unwrap();
    let mut read = vec![0; bytes.len()];
    let options = Options::default().with_threads(2);
    plan.read_chunks(array.store(), 0..num_chunks, &mut read, options).unwrap();
    let num_bytes = bytes.len() / CHUNKS * num_chunks;
    assert!(read[..num_bytes] == bytes[..num_bytes]);
    let threads = met.0.lock().unwrap().len();
    threads == 2
}

#[test]
fn threads_decode_while_requests_are_in_flight() {
    let _alone = ALONE.lock();
    // Few chunks are on their way as soon as one thread has begun, which does not take them all.
    for (shard, num_chunks) in [(None, CHUNKS), (None, 10), (Some(50), CHUNKS)] {
        let far = Arc::new(Far::new(None));
        assert!(two_threads_decode(Storage::new(far.clone()).unwrap(), shard, num_chunks));
        // Both together keep to the limit.
        assert!((2..=IN_FLIGHT).contains(&far.0.store().state.lock().unwrap().most));
    }
}

/// Chunks that an index has are read without latency, too, in batches: none of the threads takes all of them.
#[test]
fn threads_share_chunks_that_are_read_at_once() {
    let _alone = ALONE.lock();
    for shard in [2, 10, 500] {
        assert!(two_threads_decode(Storage::new(Memory::new()).unwrap(), Some(shard), CHUNKS));
    }
}
