//! Every chunk is one worker's; all before the first that fails are done; and that one is told.

use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use loom::sync::Arc;
use loom::thread;

use super::Exclusive;
use crate::Model;
use crate::error::ErrorKind;

#[allow(clippy::duplicate_mod, reason = "the transfer has it for itself alone")]
#[path = "../../../engine/src/transfer/queue.rs"]
mod library;

use library::Queue;

pub(super) const MODELS: &[Model] = &[
    Model("queue/every-chunk-once", None, every_chunk_once),
    Model("queue/blocks", None, blocks),
    Model("queue/first-failure", Some(3), first_failure),
];

const BEGIN: usize = 5;

/// What becomes of chunks of which some fail.
struct Job {
    queue: Queue,
    chunks: Vec<Exclusive>,
    fails: fn(usize) -> bool,
}

impl Job {
    /// Does what the queue has, as a worker of a transfer does.
    fn work(&self, block: usize) {
        while let Some(block) = self.queue.take(block) {
            for chunk in block {
                if !self.queue.wants(chunk) {
                    return;
                }
                assert_eq!(self.chunks[chunk - BEGIN].change(), 0);
                if (self.fails)(chunk - BEGIN) {
                    return self.queue.fail(chunk, ErrorKind::Callback(chunk as i32).into());
                }
            }
        }
    }
}

fn run(workers: usize, chunks: usize, block: usize, fails: fn(usize) -> bool) {
    let all = (0..chunks).map(|_| Exclusive::new()).collect();
    let job = Arc::new(Job { queue: Queue::new(BEGIN..BEGIN + chunks), chunks: all, fails });
    let threads: Vec<_> = (1..workers)
        .map(|_| {
            let job = job.clone();
            thread::spawn(move || job.work(block))
        })
        .collect();
    job.work(block);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let Ok(Job { queue, chunks: all, .. }) = Arc::try_unwrap(job) else { panic!("a worker has the job") };
    let (mut done, first) = (0, (0..chunks).find(|&chunk| fails(chunk)));
    let result = queue.finish(&mut done);
    assert_eq!(done, first.unwrap_or(chunks));
    assert_eq!(result.err().map(|error| error.status()), first.map(|first| (BEGIN + first) as i32));
    assert!(all[..first.map_or(chunks, |first| first + 1)].iter().all(|chunk| chunk.look() == 1));
}

fn every_chunk_once() {
    run(2, 4, 1, |_| false);
}

fn blocks() {
    run(2, 5, 2, |_| false);
}

fn first_failure() {
    run(3, 4, 1, |chunk| chunk >= 1);
}
