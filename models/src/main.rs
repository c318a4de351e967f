//! Runs what threads share through every order in which they may meet, and every value that memory may show them.
//!
//! The modules are the library's own files, compiled with loom's atomics, locks and threads in the place of the
//! standard library's: see `nczchunk-models-std`. Each model has a few threads use one of them. loom runs it again and
//! again, each time in another order, and fails if a check does, if two threads use a cell at the same time, or if all
//! wait for each other.
//!
//!     models              all models
//!     models cache        those whose names begin so

#![allow(dead_code, unused_imports, reason = "the models use a part of the library")]

extern crate nczchunk_models_std as libc;
extern crate nczchunk_models_std as std;

// The library's engine, which is what src/lib.rs has without features.
#[path = "../../engine/src/alloc.rs"]
mod alloc;
#[path = "../../engine/src/buffer.rs"]
mod buffer;
#[path = "../../engine/src/cache/mod.rs"]
mod cache;
#[path = "../../engine/src/cancel.rs"]
mod cancel;
#[path = "../../engine/src/chunk_list.rs"]
mod chunk_list;
#[path = "../../engine/src/clock.rs"]
mod clock;
#[path = "../../engine/src/codec/mod.rs"]
mod codec;
#[path = "../../engine/src/copier.rs"]
mod copier;
#[path = "../../engine/src/copy/mod.rs"]
mod copy;
#[path = "../../engine/src/dims.rs"]
mod dims;
#[path = "../../engine/src/element.rs"]
mod element;
#[path = "../../engine/src/error.rs"]
mod error;
#[path = "../../engine/src/float_format.rs"]
mod float_format;
#[path = "../../engine/src/grid.rs"]
mod grid;
#[path = "../../engine/src/hyperslab.rs"]
mod hyperslab;
#[path = "../../engine/src/layout.rs"]
mod layout;
#[path = "../../engine/src/limits.rs"]
mod limits;
#[path = "../../engine/src/lock.rs"]
mod lock;
#[path = "../../engine/src/open_object.rs"]
mod open_object;
#[path = "../../engine/src/pages.rs"]
mod pages;
#[path = "../../engine/src/panic_guard.rs"]
mod panic_guard;
#[path = "../../engine/src/plan.rs"]
mod plan;
#[path = "../../engine/src/points.rs"]
mod points;
#[path = "../../engine/src/pool.rs"]
mod pool;
#[path = "../../engine/src/projection.rs"]
mod projection;
#[path = "../../engine/src/setting.rs"]
mod setting;
#[path = "../../engine/src/shared.rs"]
mod shared;
#[path = "../../engine/src/status.rs"]
mod status;
#[path = "../../engine/src/store/mod.rs"]
mod store;
#[path = "../../engine/src/threads/mod.rs"]
mod threads;
#[path = "../../engine/src/transfer/mod.rs"]
mod transfer;
#[path = "../../engine/src/variable.rs"]
mod variable;

pub use buffer::Buffer;
pub use dims::MAX_RANK;
pub use error::Error;
pub use store::{ChunkReader, ChunkStore, ZeroCopyReader};
pub use variable::Variable;

mod models;

use std::panic::catch_unwind;
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::SystemTime;

/// Something that is run in every order: its name, how often threads may be interrupted where they could go on (any
/// number of times if none is said), and what is run.
struct Model(&'static str, Option<usize>, fn());

/// How often the model at hand has been run.
static COUNT: AtomicU32 = AtomicU32::new(0);

impl Model {
    /// Runs it in every order. What is found is the panic's message.
    fn check(&self) -> Result<(), String> {
        let Model(_, bound, body) = *self;
        COUNT.store(0, Relaxed);
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = bound;
        builder.max_branches = 10_000;
        let run = move || {
            COUNT.fetch_add(1, Relaxed);
            body();
        };
        catch_unwind(|| builder.check(run)).map_err(|panic| match panic.downcast::<String>() {
            Ok(message) => *message,
            Err(panic) => panic.downcast::<&str>().map_or_else(|_| "a panic".to_owned(), |message| message.to_string()),
        })
    }
}

fn main() -> ExitCode {
    let begin = std::env::args().nth(1).unwrap_or_default();
    let mut result = ExitCode::SUCCESS;
    for model in models::ALL.iter().copied().flatten().filter(|model| model.0.starts_with(&begin)) {
        let begun = SystemTime::now();
        let found = model.check();
        let seconds = begun.elapsed().map_or(0.0, |elapsed| elapsed.as_secs_f64());
        println!("{:24} {:>8} executions {seconds:>6.1} s", model.0, COUNT.load(Relaxed));
        if let Err(message) = found {
            println!("{}: {message}", model.0);
            result = ExitCode::FAILURE;
        }
    }
    result
}
