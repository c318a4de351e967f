//! Processes that write and read one directory at the same time: what threads do, with the counters in a file.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fastrand::Rng;
use nczchunk::object::{Directory, Storage};
use nczchunk::{Access, Array};

use crate::model::Layout;
use crate::storages::{Near, Temporary, parents};
use crate::together::{Counters, NUM_CHUNKS, Reader, Share, Subject, chunk};
use crate::{seconds, seed};

const WRITERS: usize = 2;
const READERS: usize = 2;

/// Numbers of eight bytes each, which no process finds half written.
struct InFile(File);

impl InFile {
    fn open(path: &Path) -> Self {
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
        file.set_len(NUM_CHUNKS as u64 * 16).unwrap();
        InFile(file)
    }

    fn get(&self, place: usize) -> u64 {
        let mut bytes = [0; 8];
        self.0.read_exact_at(&mut bytes, place as u64 * 8).unwrap();
        u64::from_ne_bytes(bytes)
    }

    fn set(&self, place: usize, value: u64) {
        self.0.write_all_at(&value.to_ne_bytes(), place as u64 * 8).unwrap();
    }
}

impl Counters for InFile {
    fn begun(&self, chunk: usize) -> u64 {
        self.get(2 * chunk)
    }

    fn ended(&self, chunk: usize) -> u64 {
        self.get(2 * chunk + 1)
    }

    fn begin(&self, chunk: usize, stamp: u64) {
        self.set(2 * chunk, stamp);
    }

    fn end(&self, chunk: usize, stamp: u64) {
        self.set(2 * chunk + 1, stamp);
    }
}

fn place(path: &Path) -> Storage {
    Storage::new(Near(Directory::open(path).unwrap())).unwrap()
}

fn subject(seed: u64) -> Subject {
    let mut rng = Rng::with_seed(seed);
    let chunk = chunk(&mut rng);
    Subject { layout: rng.choice(Layout::all(chunk)).unwrap(), varies: true }
}

const CHILD: &str = "NCZCHUNK_SHARING_CHILD";

/// What a child process of the test below does; without one there is nothing to do.
#[test]
fn a_child_process() {
    let Ok(asked) = std::env::var(CHILD) else { return };
    let mut asked = asked.splitn(4, ' ');
    let mut number = || asked.next().unwrap().parse::<u64>().unwrap();
    let (child, seed, millis) = (number() as usize, number(), number());
    let path = Path::new(asked.next().unwrap());
    let (place, subject, counters) = (place(path), subject(seed), InFile::open(&path.join("counters")));
    let until = Instant::now() + Duration::from_millis(millis);
    let (is_over, mut rng) = (|| Instant::now() > until, Rng::with_seed(seed + child as u64));
    let num = if child < WRITERS {
        let array = Array::open_in(&place, "x", Access::Write).unwrap();
        let own = Share { number: child, of: WRITERS };
        subject.write(&array, &counters, own, &mut rng, &is_over)
    } else {
        subject.read(Reader::Own(&place, child % 2 == 0), &counters, &mut rng, &is_over).unwrap()
    };
    std::fs::write(path.join(format!("child{child}")), num.to_string()).unwrap();
}

fn child(number: usize, seed: u64, time: Duration, path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "processes::a_child_process", "--nocapture"])
        .env(CHILD, format!("{number} {seed} {} {}", time.as_millis(), path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Two processes write and two read, in each directory and layout.
#[test]
fn processes_find_one_write_of_each_chunk() {
    let (first, until) = (seed(), Instant::now() + seconds(2));
    let parents = parents();
    let mut num = 0;
    for seed in first.. {
        let temporary = Temporary::below(&parents[seed as usize % parents.len()], "processes");
        let subject = subject(seed);
        let create = |description: nczchunk::Description<'_>| Array::create_in(&temporary.storage(), "x", &description);
        subject.layout.described(subject.shape(), create).unwrap();
        InFile::open(&temporary.0.join("counters"));
        // In a long test there are files that are not changed for some seconds, whose versions are known.
        let time = if seconds(0) > Duration::ZERO && seed % 4 == 0 { 8000 } else { 500 };
        let children: Vec<Child> = (0..WRITERS + READERS)
            .map(|number| child(number, seed, Duration::from_millis(time), &temporary.0))
            .collect();
        for (number, child) in children.into_iter().enumerate() {
            let output = child.wait_with_output().unwrap();
            let told = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "NCZCHUNK_SEED={seed} {subject:?}, process {number}: {told}");
            let path = temporary.0.join(format!("child{number}"));
            num += std::fs::read_to_string(path).unwrap().parse::<u64>().unwrap();
        }
        if Instant::now() > until {
            break;
        }
    }
    println!("{num} operations by processes at the same time");
}
