//! What writes cost: every workload beside memcpy of as many bytes and beside the ideal, in one run.
//!
//! `cargo bench --bench writes` runs them all; `cargo bench --bench writes -- W9w/` the one with that name. What other
//! programs take for the same is measured by `scripts/bench`.

mod workloads;

use std::cell::OnceCell;
use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};

use workloads::WRITES;
use workloads::data::{Aligned, Data, new_values};
use workloads::subject::Subject;

fn writes(criterion: &mut Criterion) {
    for workload in WRITES {
        let mut group = criterion.benchmark_group(workload.name);
        group.sample_size(10).throughput(Throughput::Bytes(workload.bytes() as u64));
        let values = OnceCell::new();
        let values = || &**values.get_or_init(|| new_values(workload.array.kind, workload.bytes()));
        let mut data = OnceCell::new();
        group.bench_function("memcpy", |bencher| {
            let mut out = Aligned::new(workload.bytes());
            bencher.iter(|| out.copy_from_slice(black_box(values())));
        });
        for (name, subject) in [("ideal", Subject::Ideal), ("nczchunk", Subject::Nczchunk(1))] {
            group.bench_function(name, |bencher| {
                data.get_or_init(|| Data::new(workload.array));
                let mut write = subject.write(workload, data.get_mut().expect("it was just made"));
                bencher.iter(|| write(black_box(values())));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, writes);
criterion_main!(benches);
