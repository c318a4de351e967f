//! What threads save where every request takes its time: 1000 chunks with zstd, of which each arrives after 50 ms, with
//! 64 requests in flight. What is printed is the time over the larger of what the requests alone take and what the same
//! threads take to decode the same chunks from memory, in the same run. Once more with all chunks in one shard, whose
//! requests are one thread's. And the same for writes: of everything, and of every second element, where each chunk is
//! read before.
//!
//!     cargo bench --bench latency

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use nczchunk::object::{
    AsyncRequests, AsyncStore, Flight, Limits, Memory, ObjectStore, ReadRequest, Storage, WriteRequest,
};
use nczchunk::{Access, Array, Description, ElementType, Hyperslab, Options, Plan, pass_on};

const CHUNKS: usize = 1000;
const CHUNK: usize = 1 << 18;
const IN_FLIGHT: usize = 64;
const LATENCY: Duration = Duration::from_millis(50);
const TIMES: usize = 3;

/// Objects in memory, each request for which is answered after its time, by a thread of its own.
struct Far {
    memory: Arc<Memory>,
    requests: AsyncRequests<Delayed>,
}

/// Where requests go, each with the moment at which it is answered.
struct Delayed(Mutex<Sender<(Instant, Request)>>);

enum Request {
    Read(ReadRequest),
    Write(WriteRequest),
}

impl Far {
    fn new() -> Self {
        let memory = Arc::new(Memory::new());
        let (sender, receiver) = channel::<(Instant, Request)>();
        let objects = memory.clone();
        thread::spawn(move || {
            for (due, request) in receiver {
                thread::sleep(due.saturating_duration_since(Instant::now()));
                match request {
                    Request::Read(mut read) => {
                        let (name, begin) = (read.name().to_owned(), read.begin());
                        let found = read.fill(|buffer| objects.read(&name, begin, buffer));
                        read.answer(found.map(|len| len.map(|len| (len, None))));
                    }
                    Request::Write(write) => {
                        let result = objects.write(write.name(), write.bytes());
                        write.answer(result);
                    }
                }
            }
        });
        Far { memory, requests: AsyncRequests::new(Delayed(Mutex::new(sender))).unwrap() }
    }
}

impl Delayed {
    fn start(&self, request: Request) {
        self.0.lock().unwrap().send((Instant::now() + LATENCY, request)).unwrap();
    }
}

impl AsyncStore for Delayed {
    fn limits(&self) -> Limits {
        Limits { requests: IN_FLIGHT, ..Limits::default() }
    }

    fn start_read(&self, read: ReadRequest) {
        self.start(Request::Read(read));
    }

    fn writes(&self) -> bool {
        true
    }

    fn start_write(&self, write: WriteRequest) {
        self.start(Request::Write(write));
    }
}

impl ObjectStore for Far {
    pass_on! { self => self.memory; read list write is_writable }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(&self.requests)
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
    let far = Arc::new(Far::new());
    let storages = [Storage::new(Memory::new()), Storage::new(far)].map(Result::unwrap);
    let create = |name: &str, description: &Description<'_>| {
        storages.each_ref().map(|storage| {
            let array = Array::create_in(storage, name, description).unwrap();
            array.write(&Hyperslab::all(), &values).unwrap();
            array
        })
    };
    let arrays = create("a", &description);
    let in_a_shard = create("b", &description.with_shard_shape(&[CHUNKS * CHUNK]));
    let mut out = vec![0u8; 4 * values.len()];
    let waiting = LATENCY.as_secs_f64() * CHUNKS.div_ceil(IN_FLIGHT) as f64;
    println!("requests alone {waiting:.3} s");
    for (what, [near, far], waiting) in [("", &arrays, waiting), (" one shard,", &in_a_shard, LATENCY.as_secs_f64())] {
        for threads in [1, 2] {
            let (decoding, took) = (time(near, &mut out, threads), time(far, &mut out, threads));
            let over = took / waiting.max(decoding);
            println!("{threads} threads:{what} decoding alone {decoding:.3} s, in flight {took:.3} s: {over:.2}");
        }
    }
    drop(in_a_shard);
    let [near, far] = &arrays;
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
