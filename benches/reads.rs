//! What reads cost: every workload beside memcpy of as many bytes, the ideal and the bare loop over chunks, in one
//! run.
//!
//! `cargo bench --bench reads` runs them all; `cargo bench --bench reads -- W9/` the one with that name. What other programs
//! take for the same is measured by `scripts/bench`.

mod workloads;

use std::cell::OnceCell;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workloads::data::{Aligned, Data};
use workloads::subject::Subject;
use workloads::{READS, Workload};

const SUBJECTS: [(&str, Subject); 4] = [
    ("ideal", Subject::Ideal),
    ("bare", Subject::Bare),
    ("nczchunk", Subject::Nczchunk(1)),
    ("nczchunk, 2 threads", Subject::Nczchunk(2)),
];

/// The workloads of one array, which is made when the first of them is run.
fn of_one_array(criterion: &mut Criterion, workloads: &[Workload]) {
    let mut data = OnceCell::new();
    for workload in workloads {
        let mut group = criterion.benchmark_group(workload.name);
        group.sample_size(10).throughput(Throughput::Bytes(workload.bytes() as u64));
        let memory = OnceCell::new();
        let memory = || memory.get_or_init(|| Aligned::new(workload.bytes()));
        group.bench_function("memcpy", |bencher| {
            let mut out = Aligned::new(workload.bytes());
            bencher.iter(|| out.copy_from_slice(black_box(memory())));
        });
        for (name, subject) in SUBJECTS.into_iter().filter(|(_, subject)| subject.can(workload)) {
            group.bench_function(name, |bencher| {
                data.get_or_init(|| Data::new(workload.array));
                let mut read = subject.read(workload, data.get_mut().expect("it was just made"));
                let mut out = Aligned::new(workload.bytes());
                bencher.iter(|| read(black_box(&mut out)));
            });
        }
        group.finish();
    }
}

fn reads(criterion: &mut Criterion) {
    for workloads in READS.chunk_by(|a, b| std::ptr::eq(a.array, b.array)) {
        of_one_array(criterion, workloads);
    }
}

criterion_group!(benches, reads);
criterion_main!(benches);
