//! The workloads as benches, each beside memcpy of as many bytes.

use std::cell::OnceCell;
use std::hint::black_box;
use std::time::{Duration, Instant};

use super::data::{Aligned, Data, new_values};
use super::subject::SUBJECTS;
use super::workloads::{READS, WRITES, Workload};

/// A bench is measured so often, and each time repeated for so long if a call takes less.
const SAMPLES: usize = 10;
const SAMPLE_TIME: Duration = Duration::from_millis(50);

/// Which benches are run: all, or those whose names begin with one of the words.
pub struct Chosen<'a> {
    pub names: Vec<&'a str>,
    /// Each is run once and nothing is measured, to see that it runs.
    pub once: bool,
}

impl Chosen<'_> {
    fn has(&self, name: &str) -> bool {
        self.names.is_empty() || self.names.iter().any(|chosen| name.starts_with(chosen))
    }

    fn run(&self, name: &str, bytes: usize, mut call: impl FnMut()) {
        let time = if self.once { time_of(&mut call, 1) } else { median(&mut call) };
        let speed = bytes as f64 / time.as_nanos().max(1) as f64;
        println!("{name:<16} {:>14.3} µs {speed:>8.2} GB/s", time.as_secs_f64() * 1e6);
    }
}

/// The time of a call, of so many of them.
fn time_of(call: &mut dyn FnMut(), count: u32) -> Duration {
    let begin = Instant::now();
    (0..count).for_each(|_| call());
    begin.elapsed() / count
}

fn median(call: &mut dyn FnMut()) -> Duration {
    let first = time_of(call, 1).max(Duration::from_nanos(1));
    let count = (SAMPLE_TIME.as_nanos() / first.as_nanos()).max(1) as u32;
    let mut times: Vec<_> = (0..SAMPLES).map(|_| time_of(call, count)).collect();
    times.sort_unstable();
    times[SAMPLES / 2]
}

/// Runs those that are chosen.
pub fn run(chosen: &Chosen) {
    for table in [READS, WRITES] {
        for workloads in table.chunk_by(|a, b| std::ptr::eq(a.array, b.array)) {
            of_one_array(chosen, workloads);
        }
    }
}

/// The workloads of one array, which is made when the first of them is run.
fn of_one_array(chosen: &Chosen, workloads: &[Workload]) {
    let mut data = OnceCell::new();
    for workload in workloads {
        let (name, bytes) = (|subject| format!("{}/{subject}", workload.name), workload.bytes());
        let mut memory = OnceCell::new();
        let values = || new_values(workload.array.kind, bytes);
        if chosen.has(&name("memcpy")) {
            let mut out = Aligned::new(bytes);
            chosen.run(&name("memcpy"), bytes, || out.copy_from_slice(black_box(memory.get_or_init(values))));
        }
        for (subject_name, subject) in SUBJECTS.into_iter().filter(|(_, subject)| subject.can(workload)) {
            if chosen.has(&name(subject_name)) {
                data.get_or_init(|| Data::new(workload.array));
                memory.get_or_init(values);
                let mut transfer = subject.transfer(workload, data.get_mut().expect("it was just made"));
                let memory = memory.get_mut().expect("it was just made");
                chosen.run(&name(subject_name), bytes, || transfer(black_box(&mut *memory)));
            }
        }
    }
}
