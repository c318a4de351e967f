//! A storage that answers later and keeps its promises: what is read is written to memory when it is waited for, the
//! first that was asked for first. Adversaries use it; it is none.
#![allow(unsafe_code)]

use std::ffi::CStr;
use std::sync::Mutex;
use std::thread::{self, ThreadId};

use nczchunk::object::{ByteRange, Entry, Flight, Limits, Memory, ObjectRequest, ObjectStore, read_whole};
use nczchunk::{Buffer, Result, status};

pub(super) struct Far {
    pub memory: Memory,
    requests_in_flight: Mutex<Vec<(ThreadId, Read)>>,
}

struct Read(*mut ObjectRequest);

// SAFETY: only the thread that has started a read uses it.
unsafe impl Send for Read {}

impl Far {
    pub fn new() -> Self {
        Far { memory: Memory::new(), requests_in_flight: Mutex::default() }
    }

    /// How many reads are in flight.
    pub fn num_under_way(&self) -> usize {
        self.requests_in_flight.lock().unwrap().len()
    }
}

// SAFETY: a read is given back once, after its answer has been written, and not touched afterwards.
unsafe impl Flight for Far {
    fn limits(&self) -> Limits {
        Limits { requests: 3, ..Limits::default() }
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        self.requests_in_flight.lock().unwrap().push((thread::current().id(), Read(request)));
        Ok(true)
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        let mut requests_in_flight = self.requests_in_flight.lock().unwrap();
        let own = requests_in_flight.iter().position(|(thread, _)| *thread == thread::current().id());
        let (_, Read(request)) = requests_in_flight.remove(own.expect("the caller's promise: a read is in flight"));
        // SAFETY: the request is in flight, its name is a text, and the buffer has so much room.
        unsafe {
            let answer = &mut *request;
            let name = CStr::from_ptr(answer.name).to_str().unwrap();
            let begin =
                if answer.from_end == 1 { ByteRange::BeforeEnd(answer.offset) } else { ByteRange::At(answer.offset) };
            match read_whole(&self.memory, name, 1 << 20)? {
                Some(object) => {
                    let rest = &object[begin.offset(object.len() as u64) as usize..];
                    answer.nbytes = rest.len().min(answer.size);
                    answer.buffer.cast::<u8>().copy_from_nonoverlapping(rest.as_ptr(), answer.nbytes);
                    answer.object_size = object.len() as u64;
                }
                None => answer.status = status::ENOOBJECT as isize,
            }
        }
        Ok(request)
    }
}

impl ObjectStore for Far {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        self.memory.read(name, begin, buffer)
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.memory.list(prefix, one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        self.memory.write(name, bytes)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.memory.remove(name)
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn gap(&self) -> usize {
        1
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(self)
    }
}
