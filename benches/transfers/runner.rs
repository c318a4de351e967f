//! The library as `scripts/bench` runs it beside its peers: a program that is told on its standard input what to do.

use std::error::Error;
use std::io::{BufRead, Write, stdin, stdout};
use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};

use super::data::{Aligned, Data, fill, new_values};
use super::subject::{SUBJECTS, Subject};
use super::workloads::{Access, Array, Content, READS, WRITES, Workload};

pub type Outcome<T> = Result<T, Box<dyn Error>>;

fn workloads() -> impl Iterator<Item = &'static Workload> {
    READS.iter().chain(WRITES)
}

fn find(name: &str) -> Outcome<&'static Workload> {
    workloads().find(|workload| workload.name == name).ok_or(format!("no workload {name}").into())
}

/// The table, as the other programs need it.
pub fn list() -> Value {
    let one = |workload: &Workload| {
        let subjects = SUBJECTS.into_iter().filter(|(_, subject)| subject.can(workload));
        let (access, calls) = match workload.access {
            Access::Read => ("read", 0),
            Access::Write => ("write", 0),
            Access::ReadElements(calls) => ("read", calls),
        };
        json!({
            "name": workload.name, "title": workload.title, "array": describe(workload.array),
            "start": workload.start, "count": workload.count, "stride": workload.stride,
            "layout": if workload.transposed { "transposed" } else { "dense" }, "alone": workload.alone,
            "access": access, "calls": calls, "bytes": workload.bytes(),
            "subjects": subjects.map(|(name, _)| name).collect::<Vec<_>>(),
        })
    };
    json!({ "workloads": workloads().map(one).collect::<Vec<_>>() })
}

fn describe(array: &Array) -> Value {
    let (kind, order) = array.kind.words();
    let (every, compressed) = match array.content {
        Content::EveryNth(n) => (n, false),
        Content::Nothing => (0, false),
        Content::Compressed { .. } => (1, true),
    };
    json!({
        "name": array.name, "type": kind, "order": order, "dimlens": array.dimlens, "chunklens": array.chunklens,
        "every": every, "codec": if compressed { "zstd" } else { "none" },
        "bytes": array.dimlens.iter().product::<usize>() * array.kind.size(),
    })
}

/// Writes the frames of every compressed array, by the names that Zarr v3 gives chunks, so that all decode the same
/// ones.
pub fn frames(place: &Path) -> Outcome<()> {
    let mut done = Vec::new();
    for array in workloads().map(|workload| workload.array) {
        if !matches!(array.content, Content::Compressed { .. }) || done.contains(&array.name) {
            continue;
        }
        done.push(array.name);
        let data = Data::new(array);
        for (number, frame) in data.chunks.frames().enumerate() {
            let (row, column) = (number / data.chunks.grid[1], number % data.chunks.grid[1]);
            let directory = place.join(array.name).join(format!("c/{row}"));
            std::fs::create_dir_all(&directory)?;
            std::fs::write(directory.join(column.to_string()), frame)?;
        }
    }
    Ok(())
}

/// What is kept from one command to the next.
#[derive(Default)]
struct Server {
    array: Option<(&'static Array, Data)>,
    /// The caller's memory, and as much to copy from.
    memory: Option<(Aligned, Aligned)>,
}

/// Obeys until the input ends. Every answer is a line of JSON.
pub fn serve() -> Outcome<()> {
    let mut server = Server::default();
    for line in stdin().lock().lines() {
        let line = line?;
        let answer = server.obey(&line.split_whitespace().collect::<Vec<_>>());
        println!("{}", answer.unwrap_or_else(|error| json!({ "error": error.to_string() })));
        stdout().flush()?;
    }
    Ok(())
}

impl Server {
    fn obey(&mut self, words: &[&str]) -> Outcome<Value> {
        match words {
            ["load", name, ..] => {
                let array = workloads().map(|workload| workload.array).find(|array| array.name == *name);
                let array = array.ok_or(format!("no array {name}"))?;
                self.array = None;
                self.array = Some((array, Data::new(array)));
                Ok(json!({ "ok": true }))
            }
            ["unload"] => {
                *self = Server::default();
                Ok(json!({ "ok": true }))
            }
            ["read" | "write", name, subject, calls, repetitions, budget, ..] => {
                let mut workload = *find(name)?;
                if workload.access != Access::Write && calls.parse::<usize>()? > 0 {
                    workload.access = Access::ReadElements(calls.parse()?);
                }
                let found = SUBJECTS.iter().find(|(name, _)| name == subject);
                let (_, subject) = found.ok_or(format!("no subject {subject}"))?;
                self.run(&workload, *subject, repetitions.parse()?, budget.parse()?)
            }
            _ => Err(format!("not understood: {}", words.join(" ")).into()),
        }
    }

    /// Measures, or with 0 repetitions checks: what was read, or what the array is after writing, as a CRC-32.
    fn run(&mut self, workload: &Workload, subject: Subject, repetitions: usize, budget: f64) -> Outcome<Value> {
        let (array, data) = self.array.as_mut().ok_or("nothing is loaded")?;
        if !std::ptr::eq(*array, workload.array) {
            return Err("another array is loaded".into());
        }
        if self.memory.as_ref().is_none_or(|(memory, _)| memory.len() != workload.bytes()) {
            self.memory = None;
            self.memory = Some((Aligned::new(workload.bytes()), new_values(array.kind, workload.bytes())));
        }
        let (memory, other) = self.memory.as_mut().ok_or("no memory")?;
        let is_write = workload.access == Access::Write;
        if is_write {
            memory.copy_from_slice(other);
        } else if repetitions == 0 {
            memory.fill(0xA5);
        }
        let mut transfer = subject.transfer(workload, data);
        if repetitions > 0 {
            let (seconds, memcpy) = measure(repetitions, budget, memory, other, transfer);
            return Ok(json!({ "seconds": seconds, "memcpy": memcpy }));
        }
        transfer(memory);
        drop(transfer);
        if is_write {
            let all = array.all();
            let mut out = Aligned::new(all.bytes());
            subject.transfer(&all, data)(&mut out);
            return Ok(json!({ "crc": crc32fast::hash(&out) }));
        }
        if !subject.delivers(workload) {
            return Ok(json!({ "crc": null }));
        }
        check_sparse(workload, memory)?;
        Ok(json!({ "crc": crc32fast::hash(memory) }))
    }
}

/// Where there is no ideal to compare with, the values are known.
fn check_sparse(workload: &Workload, out: &[u8]) -> Outcome<()> {
    if let (Content::EveryNth(2..), [start], [stride]) = (workload.array.content, workload.start, workload.stride) {
        let size = workload.array.kind.size();
        for (k, found) in out.chunks_exact(size).enumerate() {
            let mut expected = [0; 8];
            fill(workload.array.kind, start + k * *stride as usize, &mut expected[..size]);
            if found != &expected[..size] {
                return Err(format!("element {k} is wrong").into());
            }
        }
    }
    Ok(())
}

/// Seconds of one run, repeatedly; beside each, those of memcpy of as many bytes. What is short is run many times over.
fn measure(
    repetitions: usize,
    budget: f64,
    memory: &mut [u8],
    other: &[u8],
    mut run: impl FnMut(&mut [u8]),
) -> (Vec<f64>, Vec<f64>) {
    let begin = Instant::now();
    let (mut seconds, mut memcpy) = (Vec::new(), Vec::new());
    let mut timed = |times: usize, run: &mut dyn FnMut(&mut [u8])| {
        let begin = Instant::now();
        (0..times).for_each(|_| run(memory));
        begin.elapsed().as_secs_f64() / times as f64
    };
    let mut copy = |memory: &mut [u8]| memory.copy_from_slice(std::hint::black_box(other));
    let copies = times(timed(1, &mut copy).min(timed(1, &mut copy)));
    let runs = times(timed(1, &mut run).min(timed(1, &mut run)));
    while seconds.len() < repetitions && (seconds.is_empty() || begin.elapsed().as_secs_f64() < budget) {
        memcpy.push(timed(copies, &mut copy));
        seconds.push(timed(runs, &mut run));
    }
    (seconds, memcpy)
}

/// How many runs make up at least 200 microseconds.
fn times(seconds: f64) -> usize {
    ((2e-4 / seconds.max(1e-9)).ceil() as usize).clamp(1, 100_000)
}
