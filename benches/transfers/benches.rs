//! The workloads as criterion's benches.

use std::cell::OnceCell;
use std::hint::black_box;

use criterion::{Criterion, Throughput};

use super::data::{Aligned, Data, new_values};
use super::subject::SUBJECTS;
use super::workloads::{READS, WRITES, Workload};

/// Runs those that the command line asks for.
pub fn run() {
    let mut criterion = Criterion::default().configure_from_args();
    for table in [READS, WRITES] {
        for workloads in table.chunk_by(|a, b| std::ptr::eq(a.array, b.array)) {
            of_one_array(&mut criterion, workloads);
        }
    }
    criterion.final_summary();
}

/// The workloads of one array, which is made when the first of them is run.
fn of_one_array(criterion: &mut Criterion, workloads: &[Workload]) {
    let mut data = OnceCell::new();
    for workload in workloads {
        let mut group = criterion.benchmark_group(workload.name);
        group.sample_size(10).throughput(Throughput::Bytes(workload.bytes() as u64));
        let mut memory = OnceCell::new();
        let values = || new_values(workload.array.kind, workload.bytes());
        group.bench_function("memcpy", |bencher| {
            let mut out = Aligned::new(workload.bytes());
            bencher.iter(|| out.copy_from_slice(black_box(memory.get_or_init(values))));
        });
        for (name, subject) in SUBJECTS.into_iter().filter(|(_, subject)| subject.can(workload)) {
            group.bench_function(name, |bencher| {
                data.get_or_init(|| Data::new(workload.array));
                memory.get_or_init(values);
                let mut transfer = subject.transfer(workload, data.get_mut().expect("it was just made"));
                let memory = memory.get_mut().expect("it was just made");
                bencher.iter(|| transfer(black_box(&mut *memory)));
            });
        }
        group.finish();
    }
}
