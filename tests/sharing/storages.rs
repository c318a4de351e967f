//! The storages that handles share: directories, memory, a zip file that is being made, and objects of a program's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::ThreadId;

use fastrand::Rng;
use nczchunk::object::{
    AsyncRequests, AsyncStore, ByteRange, Directory, Entry, Flight, Limits, Memory, ObjectStore, ReadRequest, Storage,
};
use nczchunk::{Buffer, ObjectState, Result, Versions, pass_on};

/// A directory for one test, removed with it.
pub struct Temporary(pub PathBuf);

impl Temporary {
    pub fn new(test: &str) -> Self {
        Temporary::below(&std::env::temp_dir(), test)
    }

    pub fn below(parent: &Path, test: &str) -> Self {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Relaxed);
        let path = parent.join(format!("nczchunk-sharing-{test}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Temporary(path)
    }

    pub fn storage(&self) -> Storage {
        Storage::new(Directory::create(&self.0).unwrap()).unwrap()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Where directories are made: the one for temporary files, and those of `NCZCHUNK_SHARING_DIRECTORIES`, separated by
/// colons, such as one of a file system with coarse times.
pub fn parents() -> Vec<PathBuf> {
    let given = std::env::var("NCZCHUNK_SHARING_DIRECTORIES").unwrap_or_default();
    let given = given.split(':').filter(|path| !path.is_empty()).map(PathBuf::from);
    [std::env::temp_dir()].into_iter().chain(given).collect()
}

/// A kind of storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Below the parent of this number.
    Directory(usize),
    Memory,
    #[cfg(feature = "zip")]
    NewZip,
    Own {
        has_versions: bool,
        has_latency: bool,
    },
}

impl Kind {
    pub fn all() -> Vec<Kind> {
        let own = |has_versions, has_latency| Kind::Own { has_versions, has_latency };
        let own = [own(false, false), own(true, false), own(false, true), own(true, true)];
        let directories = (0..parents().len()).map(Kind::Directory);
        #[cfg(feature = "zip")]
        let others = [Kind::Memory, Kind::NewZip];
        #[cfg(not(feature = "zip"))]
        let others = [Kind::Memory];
        directories.chain(others).chain(own).collect()
    }

    pub fn has_versions(self) -> bool {
        !matches!(self, Kind::Own { has_versions: false, .. })
    }

    /// A storage of this kind, and what it is in.
    pub fn storage(self, seed: u64) -> (Storage, Temporary) {
        let number = if let Kind::Directory(number) = self { number } else { 0 };
        let temporary = Temporary::below(&parents()[number], "storage");
        let storage = match self {
            Kind::Directory(_) => Storage::new(Near(Directory::create(&temporary.0).unwrap())),
            Kind::Memory => Storage::new(Near(Memory::new())),
            #[cfg(feature = "zip")]
            Kind::NewZip => {
                std::fs::create_dir_all(&temporary.0).unwrap();
                let writer = nczchunk::object::ZipWriter::create(temporary.0.join("new.zip")).unwrap();
                Storage::new(Near(writer))
            }
            Kind::Own { has_versions, has_latency } => Storage::new(Own::new(has_versions, has_latency, seed)),
        };
        (storage.unwrap(), temporary)
    }
}

/// So few bytes lie between two ranges that are read one by one.
const GAP: usize = 64;

/// A storage of which ranges are read one by one that lie near to each other, so that small chunks are read in many.
pub struct Near<O>(pub O);

impl<O: ObjectStore> ObjectStore for Near<O> {
    pass_on! { self => self.0;
        read read_part read_version versions open list write remove remove_empty is_writable
    }

    fn gap(&self) -> usize {
        GAP
    }
}

/// Objects of a program's own, as callbacks are, with versions or without, at once or in flight.
struct Own {
    requests: AsyncRequests<Objects>,
    has_latency: bool,
}

struct Objects {
    has_versions: bool,
    objects: Mutex<BTreeMap<String, Object>>,
    in_flight: Mutex<InFlight>,
}

#[derive(Clone)]
struct Object {
    bytes: Arc<Vec<u8>>,
    version: u64,
}

struct InFlight {
    rng: Rng,
    num_writes: u64,
    reads: Vec<Pending>,
}

/// A read in flight, and what it found if it has got as far as that.
struct Pending {
    thread: ThreadId,
    read: ReadRequest,
    found: Option<Option<Object>>,
}

impl Own {
    fn new(has_versions: bool, has_latency: bool, seed: u64) -> Self {
        let in_flight = InFlight { rng: Rng::with_seed(seed), num_writes: 0, reads: Vec::new() };
        let objects = Objects { has_versions, objects: Mutex::default(), in_flight: Mutex::new(in_flight) };
        Own { requests: AsyncRequests::new(objects).unwrap(), has_latency }
    }

    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Object>> {
        self.requests.store().objects.lock().unwrap()
    }
}

impl Objects {
    fn get(&self, name: &str) -> Option<Object> {
        self.objects.lock().unwrap().get(name).cloned()
    }

    /// Reads an object as it was found.
    fn read(&self, found: Option<Object>, begin: ByteRange, buffer: &mut Buffer<'_>) -> Option<ObjectState> {
        let Object { bytes, version } = found?;
        Some((begin.copy(&bytes, buffer), self.has_versions.then_some(version.into())))
    }
}

impl ObjectStore for Own {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let objects = self.requests.store();
        Ok(objects.read(objects.get(name), begin, buffer))
    }

    fn versions(&self) -> Versions {
        if self.requests.store().has_versions { Versions::Told } else { Versions::Unknown }
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let mut below = BTreeMap::new();
        for rest in self.objects().keys().filter_map(|name| name.strip_prefix(&prefix)) {
            match rest.split_once('/') {
                Some((first, _)) => below.insert(first.to_owned(), Entry::Prefix),
                None => below.insert(rest.to_owned(), Entry::Object),
            };
        }
        below.iter().try_for_each(|(name, entry)| one(name, *entry))
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let version = {
            let mut in_flight = self.requests.store().in_flight.lock().unwrap();
            in_flight.num_writes += 1;
            in_flight.num_writes
        };
        self.objects().insert(name.to_owned(), Object { bytes: Arc::new(bytes.to_vec()), version });
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.objects().remove(name);
        Ok(())
    }

    fn is_writable(&self) -> bool {
        true
    }

    fn gap(&self) -> usize {
        GAP
    }

    fn flight(&self) -> Option<&dyn Flight> {
        self.has_latency.then_some(&self.requests)
    }
}

impl AsyncStore for Objects {
    fn limits(&self) -> Limits {
        Limits { requests: 5, ..Limits::default() }
    }

    fn start_read(&self, read: ReadRequest) {
        let found = self.get(read.name());
        let mut in_flight = self.in_flight.lock().unwrap();
        // What is there now, or what is there when it is waited for.
        let found = in_flight.rng.bool().then_some(found);
        in_flight.reads.push(Pending { thread: std::thread::current().id(), read, found });
    }

    fn wait(&self) -> Result<()> {
        let Pending { mut read, found, .. } = {
            let InFlight { rng, reads, .. } = &mut *self.in_flight.lock().unwrap();
            let this = std::thread::current().id();
            let own: Vec<usize> = (0..reads.len()).filter(|&i| reads[i].thread == this).collect();
            reads.swap_remove(own[rng.usize(..own.len())])
        };
        let (found, begin) = (found.unwrap_or_else(|| self.get(read.name())), read.begin());
        let found = read.fill(|buffer| self.read(found, begin, buffer));
        read.answer(Ok(found));
        Ok(())
    }
}
