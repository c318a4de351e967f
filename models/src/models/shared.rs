//! A value with several owners lives as long as one of them, and ends once, after all that they have done with it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::SeqCst};

use loom::thread;

use super::Exclusive;
use crate::Model;
use crate::shared::Shared;

pub(super) const MODELS: &[Model] =
    &[Model("shared/ends-once", None, ends_once), Model("shared/only-owner", None, only_owner)];

/// Counts how often it ends. The count is not the model's, so that it orders nothing.
struct Value(Exclusive, Arc<AtomicU8>);

impl Drop for Value {
    fn drop(&mut self) {
        self.0.change();
        self.1.fetch_add(1, SeqCst);
    }
}

fn ends_once() {
    let ends = Arc::new(AtomicU8::new(0));
    let one = Shared::new(Value(Exclusive::new(), ends.clone())).unwrap();
    let threads = [0, 1].map(|_| {
        let own = one.clone();
        thread::spawn(move || {
            assert_eq!(own.0.look(), 0);
            let other = own.clone();
            drop(own);
            assert_eq!(other.0.look(), 0);
        })
    });
    assert_eq!(one.0.look(), 0);
    drop(one);
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(ends.load(SeqCst), 1);
}

/// Of all who want the value for themselves the last one gets it, and may change it.
fn only_owner() {
    let ends = Arc::new(AtomicU8::new(0));
    let one = Shared::new(Value(Exclusive::new(), ends.clone())).unwrap();
    let threads = [0, 1].map(|_| {
        let own = one.clone();
        thread::spawn(move || {
            own.0.look();
            own.into_only().map(|value| value.0.change()).is_some()
        })
    });
    one.0.look();
    let gets = one.into_only().map(|value| value.0.change()).is_some();
    let all = threads.map(|thread| thread.join().unwrap()).into_iter().filter(|&gets| gets).count() + usize::from(gets);
    assert_eq!((all, ends.load(SeqCst)), (1, 1));
}
