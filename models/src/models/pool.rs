//! What is taken from a pool is one thread's until it is put back, with all that was done to it; nothing is lost.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use loom::thread;

use super::Exclusive;
use crate::Model;
use crate::pool::{Lease, Pool};

pub(super) const MODELS: &[Model] =
    &[Model("pool/one-at-a-time", None, one_at_a_time), Model("pool/ends", None, nothing_is_lost)];

struct Thing {
    cell: Exclusive,
    alive: Arc<AtomicU8>,
}

impl Thing {
    fn new(alive: &Arc<AtomicU8>) -> Box<Self> {
        alive.fetch_add(1, SeqCst);
        Box::new(Thing { cell: Exclusive::new(), alive: alive.clone() })
    }
}

impl Drop for Thing {
    fn drop(&mut self) {
        self.cell.change();
        self.alive.fetch_sub(1, SeqCst);
    }
}

/// Threads take things, change them, and put them back.
fn run(first: Option<Box<Thing>>, alive: &Arc<AtomicU8>, uses: usize) {
    let pool = loom::sync::Arc::new(Pool::new());
    first.into_iter().for_each(|thing| pool.put(thing));
    let threads = [0, 1].map(|_| {
        let (pool, alive) = (pool.clone(), alive.clone());
        thread::spawn(move || {
            for _ in 0..uses {
                let thing: Lease<'_, Box<Thing>> = Lease::new(&pool, || Ok::<_, ()>(Thing::new(&alive))).unwrap();
                thing.cell.change();
            }
        })
    });
    for thread in threads {
        thread.join().unwrap();
    }
    assert!(pool.take().is_some_and(|thing| thing.cell.change() > 0));
}

fn one_at_a_time() {
    let alive = Arc::new(AtomicU8::new(0));
    run(Some(Thing::new(&alive)), &alive, 1);
    assert_eq!(alive.load(SeqCst), 0);
}

fn nothing_is_lost() {
    let alive = Arc::new(AtomicU8::new(0));
    run(None, &alive, 2);
    assert_eq!(alive.load(SeqCst), 0);
}
