//! Handles that are used at the same time. Every chunk has one writer, who writes stamps that increase; who reads finds
//! one stamp in all of a chunk, between the last that was written before the read began and the last that was begun
//! before it ended.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::time::{Duration, Instant};

use fastrand::Rng;
use nczchunk::object::Storage;
use nczchunk::{Access, Array, Hyperslab, Options, Plan};

use crate::model::{FILL, Layout, Pair, Slab};
use crate::storages::Kind;
use crate::{seconds, seed};

/// Chunks along each dimension.
pub const GRID: Pair = [2, 4];
pub const NUM_CHUNKS: usize = GRID[0] * GRID[1];

/// How many writes of each chunk have begun, and how many have ended.
pub trait Counters: Sync {
    fn begun(&self, chunk: usize) -> u64;
    fn ended(&self, chunk: usize) -> u64;
    fn begin(&self, chunk: usize, stamp: u64);
    fn end(&self, chunk: usize, stamp: u64);
}

#[derive(Default)]
struct Atomics([[AtomicU64; 2]; NUM_CHUNKS]);

impl Counters for Atomics {
    fn begun(&self, chunk: usize) -> u64 {
        self.0[chunk][0].load(SeqCst)
    }

    fn ended(&self, chunk: usize) -> u64 {
        self.0[chunk][1].load(SeqCst)
    }

    fn begin(&self, chunk: usize, stamp: u64) {
        self.0[chunk][0].store(stamp, SeqCst);
    }

    fn end(&self, chunk: usize, stamp: u64) {
        self.0[chunk][1].store(stamp, SeqCst);
    }
}

/// An array that is shared, and what its chunks hold.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    pub layout: Layout,
    /// Whether shards may have other chunks, or chunks of other lengths, with each write. Where objects have no
    /// versions, a shard that is replaced twice during one read may look as it did.
    pub varies: bool,
}

impl Subject {
    pub fn shape(&self) -> Pair {
        [0, 1].map(|d| GRID[d] * self.layout.chunk[d])
    }

    /// An element of a chunk as this write leaves it. Each seventh write leaves the chunk empty, and each third one
    /// leaves what cannot be compressed.
    fn value(&self, chunk: usize, stamp: u64, within: usize) -> i32 {
        if self.is_blank(stamp) {
            return FILL;
        }
        let noise = match stamp % 3 {
            0 if self.varies => (within as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_mul(stamp) >> 58,
            _ => 0,
        };
        ((stamp * NUM_CHUNKS as u64 + chunk as u64) << 6 | noise) as i32
    }

    fn is_blank(&self, stamp: u64) -> bool {
        stamp == 0 || self.varies && stamp % 7 == 0
    }

    fn numbered(chunk: usize) -> Pair {
        [chunk / GRID[1], chunk % GRID[1]]
    }

    /// The stamp that all of these elements of a chunk have, of those that it can have: if the chunk may have been
    /// empty several times, the first.
    fn stamp(&self, chunk: usize, found: &[(usize, i32)], range: Range<u64>) -> Option<u64> {
        let first = found[0].1;
        let stamp = match first {
            FILL => range.clone().find(|stamp| self.is_blank(*stamp))?,
            _ => (first >> 6) as u64 / NUM_CHUNKS as u64,
        };
        let is_it = found.iter().all(|(within, value)| self.value(chunk, stamp, *within) == *value);
        (is_it && range.contains(&stamp)).then_some(stamp)
    }

    /// Writes to chunks and shards of which this is one of several writers, until it is over. The result is how many
    /// writes there were.
    pub fn write(
        &self,
        array: &Array,
        counters: &dyn Counters,
        own: Share,
        rng: &mut Rng,
        is_over: &dyn Fn() -> bool,
    ) -> u64 {
        let (chunk, shard) = (self.layout.chunk, self.layout.shard.unwrap_or([1, 1]));
        let shards = [GRID[0] / shard[0], GRID[1] / shard[1]];
        let own: Vec<usize> = (0..shards[0] * shards[1]).filter(|i| i % own.of == own.number).collect();
        let mut num = 0;
        while !is_over() {
            let i = *rng.choice(&own).unwrap();
            let first = [i / shards[1] * shard[0], i % shards[1] * shard[1]];
            // All of a shard, or one of its chunks.
            let (first, count) = match rng.bool() {
                true => (first, shard),
                false => ([first[0] + rng.usize(..shard[0]), first[1] + rng.usize(..shard[1])], [1, 1]),
            };
            let chunks = Slab { start: first, count, stride: [1, 1] };
            let numbers: Vec<usize> = chunks.elements().map(|[row, column]| row * GRID[1] + column).collect();
            let stamps: Vec<u64> = numbers.iter().map(|number| counters.begun(*number) + 1).collect();
            let (start, count) = ([0, 1].map(|d| first[d] * chunk[d]), [0, 1].map(|d| count[d] * chunk[d]));
            let slab = Slab { start, count, stride: [1, 1] };
            let values: Vec<i32> = slab
                .elements()
                .map(|[row, column]| {
                    let number = row / chunk[0] * GRID[1] + column / chunk[1];
                    let which = numbers.iter().position(|other| *other == number).unwrap();
                    self.value(number, stamps[which], row % chunk[0] * chunk[1] + column % chunk[1])
                })
                .collect();
            numbers.iter().zip(&stamps).for_each(|(number, stamp)| counters.begin(*number, *stamp));
            array.write(&Hyperslab::new(&slab.start, &slab.count), &values).unwrap();
            numbers.iter().zip(&stamps).for_each(|(number, stamp)| counters.end(*number, *stamp));
            num += 1;
        }
        num
    }

    /// Reads until it is over. The result is how many reads there were, or what was wrong.
    pub fn read(
        &self,
        array: Reader<'_>,
        counters: &dyn Counters,
        rng: &mut Rng,
        is_over: &dyn Fn() -> bool,
    ) -> Result<u64, String> {
        let ended = || -> Vec<u64> { (0..NUM_CHUNKS).map(|chunk| counters.ended(chunk)).collect() };
        let mut owned = None;
        let (mut least, is_exact, may_return) = match &array {
            Reader::Own(storage, has_cache) => {
                let least = ended();
                let mut array = Array::open_in(storage, "x", Access::Read).unwrap();
                if !has_cache {
                    array.set_cache(None);
                }
                owned = Some(array);
                (least, !has_cache, *has_cache)
            }
            // Its writers drop from the cache what they write.
            Reader::Writers(_) => (ended(), true, false),
        };
        let mut num = 0;
        while !is_over() {
            if let Some(own) = owned.as_mut().filter(|_| rng.u8(0..50) == 0) {
                // Of what was read without a cache nothing older is read again.
                let now = ended();
                least
                    .iter_mut()
                    .zip(now)
                    .for_each(|(least, now)| *least = if may_return { now } else { now.max(*least) });
                own.refresh().unwrap();
            }
            let of = match (&array, &owned) {
                (Reader::Writers(array), _) => array,
                (_, Some(array)) => array,
                _ => unreachable!(),
            };
            let slab = Slab::random(rng, self.shape());
            let num_threads = rng.choice([1, 1, 1, 2]).unwrap();
            if is_exact {
                least.iter_mut().zip(ended()).for_each(|(least, ended)| *least = ended.max(*least));
            }
            let values = match read(of, &slab, num_threads) {
                Ok(values) => values,
                // Where objects cannot be opened, a shard may be another one each time.
                Err(error) if error.to_string().contains("replaced during each attempt") => continue,
                Err(error) => return Err(format!("{error}: {slab:?}")),
            };
            let mut found = vec![Vec::new(); NUM_CHUNKS];
            let chunk = self.layout.chunk;
            for ([row, column], value) in slab.elements().zip(values) {
                let within = row % chunk[0] * chunk[1] + column % chunk[1];
                found[row / chunk[0] * GRID[1] + column / chunk[1]].push((within, value));
            }
            for number in (0..NUM_CHUNKS).filter(|number| !found[*number].is_empty()) {
                let range = least[number]..counters.begun(number) + 1;
                let Some(stamp) = self.stamp(number, &found[number], range.clone()) else {
                    let [row, column] = Subject::numbered(number);
                    let found = &found[number];
                    let stamps: Vec<i32> = found.iter().map(|(_, value)| (value >> 6) / NUM_CHUNKS as i32).collect();
                    return Err(format!(
                        "chunk {row} {column}: stamps {stamps:?}, not one of {range:?}: {slab:?}\n{found:?}"
                    ));
                };
                if !may_return {
                    least[number] = stamp;
                }
            }
            num += 1;
        }
        Ok(num)
    }
}

fn read(array: &Array, slab: &Slab, num_threads: usize) -> nczchunk::Result<Vec<i32>> {
    let strides = slab.strides();
    let hyperslab = Hyperslab::new(&slab.start, &slab.count).with_stride(&strides);
    if num_threads == 1 {
        return array.read(&hyperslab);
    }
    let plan = Plan::new(array.variable(), &hyperslab, Access::Read)?;
    let mut bytes = vec![0; plan.memory_bytes()];
    let options = Options::default().with_threads(num_threads);
    plan.read_chunks(array.store(), 0..plan.num_chunks(), &mut bytes, options)?;
    Ok(bytes.chunks_exact(4).map(|bytes| i32::from_ne_bytes(bytes.try_into().unwrap())).collect())
}

/// The handle that is read from.
pub enum Reader<'a> {
    /// One of its own, with a cache or without, that is refreshed from time to time.
    Own(&'a Storage, bool),
    /// The one that all writers have, with a cache.
    Writers(&'a Array),
}

/// One of several writers.
#[derive(Clone, Copy)]
pub struct Share {
    pub number: usize,
    pub of: usize,
}

/// Chunks of which columns are read in many ranges: small ones, and some that take longer to write.
pub fn chunk(rng: &mut Rng) -> Pair {
    rng.choice([[4, 20], [4, 20], [32, 256]]).unwrap()
}

fn round(kind: Kind, subject: Subject, seed: u64, time: Duration) -> u64 {
    let mut rng = Rng::with_seed(seed);
    let (storage, _temporary) = kind.storage(seed);
    let shape = subject.shape();
    let create = |description: nczchunk::Description<'_>| Array::create_in(&storage, "x", &description).unwrap();
    let first = subject.layout.described(shape, create);
    let has_one_handle = rng.u8(0..3) == 0;
    let counters = Atomics::default();
    let (until, is_failed) = (Instant::now() + time, AtomicBool::new(false));
    let is_over = || Instant::now() > until || is_failed.load(SeqCst);
    let other = Array::open_in(&storage, "x", Access::Write).unwrap();
    let writers = [&first, if has_one_handle { &first } else { &other }];
    let outcomes: Vec<Result<u64, String>> = std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for (number, writer) in writers.into_iter().enumerate() {
            let (counters, is_over, mut rng) = (&counters, &is_over, rng.fork());
            let own = Share { number, of: 2 };
            threads.push(scope.spawn(move || Ok(subject.write(writer, counters, own, &mut rng, is_over))));
        }
        for number in 0..3 {
            let (counters, is_over, is_failed, mut rng) = (&counters, &is_over, &is_failed, rng.fork());
            let array = if has_one_handle { Reader::Writers(&first) } else { Reader::Own(&storage, number == 2) };
            threads.push(scope.spawn(move || {
                let read = subject.read(array, counters, &mut rng, is_over);
                is_failed.fetch_or(read.is_err(), SeqCst);
                read
            }));
        }
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let what = || format!("NCZCHUNK_SEED={seed} {kind:?} {subject:?}, one handle: {has_one_handle}");
    outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|wrong| panic!("{wrong}\n{}", what()))).sum()
}

/// Two writers and three readers, over every storage and layout.
#[test]
fn handles_that_are_used_at_the_same_time_find_one_write_of_each_chunk() {
    let (first, until) = (seed(), Instant::now() + seconds(4));
    let mut num = 0;
    let mut rounds = 0;
    for seed in first.. {
        // Every storage and layout in turn, from one at random on.
        let kinds = Kind::all();
        let layouts = Layout::all(chunk(&mut Rng::with_seed(seed)));
        let kind = kinds[seed as usize % kinds.len()];
        let layout = layouts[seed as usize / kinds.len() % layouts.len()];
        let varies = layout.shard.is_none() || kind.has_versions();
        num += round(kind, Subject { layout, varies }, seed, Duration::from_millis(110));
        rounds += 1;
        if Instant::now() > until {
            break;
        }
    }
    println!("{num} operations at the same time, in {rounds} rounds");
}
