//! A storage that answers later and keeps its promises: what is read is written to memory when it is waited for, the
//! first that was asked for first. Adversaries use it; it is none.

use std::sync::Mutex;
use std::thread::{self, ThreadId};

use nczchunk::object::{AsyncRequests, AsyncStore, Flight, Limits, Memory, ObjectStore, ReadRequest};
use nczchunk::{Result, pass_on};

pub(super) struct Far(AsyncRequests<Later>);

struct Later {
    memory: Memory,
    requests_in_flight: Mutex<Vec<(ThreadId, ReadRequest)>>,
}

impl Far {
    pub fn new() -> Self {
        Far(AsyncRequests::new(Later { memory: Memory::new(), requests_in_flight: Mutex::default() }).unwrap())
    }

    pub fn memory(&self) -> &Memory {
        &self.0.store().memory
    }

    /// How many reads are in flight.
    pub fn num_under_way(&self) -> usize {
        self.0.store().requests_in_flight.lock().unwrap().len()
    }
}

impl AsyncStore for Later {
    fn limits(&self) -> Limits {
        Limits { requests: 3, ..Limits::default() }
    }

    fn start_read(&self, read: ReadRequest) {
        self.requests_in_flight.lock().unwrap().push((thread::current().id(), read));
    }

    fn wait(&self) -> Result<()> {
        let mut requests_in_flight = self.requests_in_flight.lock().unwrap();
        let own = requests_in_flight.iter().position(|(thread, _)| *thread == thread::current().id());
        let (_, mut read) = requests_in_flight.remove(own.expect("a read of the thread's is in flight"));
        let (name, begin) = (read.name().to_owned(), read.begin());
        let found = read.fill(|buffer| self.memory.read(&name, begin, buffer));
        read.answer(found.map(|len| len.map(|len| (len, None))));
        Ok(())
    }
}

impl ObjectStore for Far {
    pass_on! { self => self.memory(); read list write remove is_writable }

    fn gap(&self) -> usize {
        1
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(&self.0)
    }
}
