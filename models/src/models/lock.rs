//! Who has the lock has it alone; who waits is woken; a forked child never waits for what its parent's threads hold.

use std::process;

use loom::sync::Arc;
use loom::thread;

use super::Exclusive;
use crate::Model;
use crate::lock::Lock;

pub(super) const MODELS: &[Model] = &[
    Model("lock/one-at-a-time", None, one_at_a_time),
    Model("lock/all-are-woken", None, all_are_woken),
    Model("lock/forked-child", None, a_child_does_not_wait),
];

fn one_at_a_time() {
    let lock = Arc::new(Lock::new(Exclusive::new()));
    let threads = [0, 1].map(|_| {
        let lock = lock.clone();
        thread::spawn(move || lock.lock().unwrap().change())
    });
    let mut uses = threads.map(|thread| thread.join().unwrap());
    uses.sort();
    assert_eq!((uses, lock.lock().unwrap().change()), ([0, 1], 2));
}

fn all_are_woken() {
    let lock = Arc::new(Lock::new(false));
    let threads = [0, 1].map(|_| {
        let lock = lock.clone();
        thread::spawn(move || {
            let mut is_done = lock.lock().unwrap();
            while !*is_done {
                is_done = lock.wait(is_done);
            }
        })
    });
    *lock.lock().unwrap() = true;
    lock.notify();
    for thread in threads {
        thread.join().unwrap();
    }
}

/// Of the parent's threads the one that has the lock does not go on in the child.
fn a_child_does_not_wait() {
    let parent = process::id();
    let lock = Lock::new(0);
    let held = lock.lock().unwrap();
    process::set_id(parent + 1);
    let is_out_of_reach = lock.lock().is_none();
    process::set_id(parent);
    assert!(is_out_of_reach);
    drop(held);
    assert!(lock.lock().is_some());
}
