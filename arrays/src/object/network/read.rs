//! One read of one object, as the thread that asks makes it.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::StreamExt;
use object_store::path::Path;
use object_store::{
    Attribute, Error as StoreError, GetOptions, GetRange, GetResult, ObjectMeta, ObjectStore, UpdateVersion,
};

use super::etag::{self, is_strong};
use super::failure;
use crate::error::{Error, ErrorKind, Result};
use crate::object::asynchronous::ReadRequest;
use crate::object::byte_range::ByteRange;
use crate::open_object::ObjectState;

/// How often a read is begun that breaks off, and after which pause. What the server answers with an error, or not at
/// all, the crate asks for again.
const ATTEMPTS: usize = 4;
const PAUSE: Duration = Duration::from_millis(50);

/// Beyond this the numbers of some servers end.
const MOST: u64 = i64::MAX as u64;

/// How many bytes are passed over to get to those that are asked for, where a server does not serve ranges.
const MOST_SKIPPED: u64 = 64 << 20;

/// What an object was when it was read first.
#[derive(Debug, Clone)]
struct Pin {
    etag: Option<String>,
    modified: i64,
    size: u64,
}

impl Pin {
    /// Whether nothing says that it is another one. Some servers send an ETag as a weak one at times.
    fn is_same(&self, other: &Pin) -> bool {
        let etag = |pin: &Pin| pin.etag.as_deref().map(etag::opaque).map(str::to_owned);
        (etag(self), self.modified, self.size) == (etag(other), other.modified, other.size)
    }
}

/// What objects were when they were read first: others of their names are not read.
#[derive(Default)]
pub(super) struct Pins(Mutex<HashMap<Path, Pin>>);

impl Pins {
    fn get(&self, path: &Path) -> Option<Pin> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(path).cloned()
    }

    /// Whether an object is what it was at first.
    fn is_same(&self, path: &Path, now: Pin) -> bool {
        let mut pins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match pins.get(path) {
            Some(first) => first.is_same(&now),
            None => pins.insert(path.clone(), now).is_none(),
        }
    }
}

/// What is read from.
#[derive(Clone)]
pub(super) struct Source {
    pub store: Arc<dyn ObjectStore>,
    /// Whether the server may not serve ranges.
    pub is_http: bool,
    /// Whether ranges may be counted from the end.
    pub has_suffixes: bool,
    /// How long a read is begun again that breaks off.
    pub patience: Duration,
    /// If objects are files that must not be replaced, what they are.
    pub pins: Option<Arc<Pins>>,
}

/// Why a read has ended without its bytes.
enum Ended {
    /// The answer broke off, or the object was replaced meanwhile: another attempt may succeed.
    Broken(Error),
    Failed(Error),
}

impl From<Error> for Ended {
    fn from(error: Error) -> Self {
        Ended::Failed(error)
    }
}

/// The object's length and version.
fn state(meta: &ObjectMeta) -> ObjectState {
    (meta.size, version(meta))
}

/// The object's version, if its ETag is one.
fn version(meta: &ObjectMeta) -> Option<u128> {
    let etag = meta.e_tag.as_deref().filter(|etag| is_strong(etag))?;
    let mut hasher = DefaultHasher::new();
    (etag, meta.size).hash(&mut hasher);
    Some(hasher.finish().max(1).into())
}

impl Source {
    /// Reads an object; `None` if there is none.
    ///
    /// # Errors
    /// Those of the server and of the network, with their cause; `Changed` if the one file is another one.
    pub(super) async fn read(&self, path: &Path, read: &mut ReadRequest) -> Result<Option<ObjectState>> {
        let (mut left, begun) = (ATTEMPTS, Instant::now());
        loop {
            left -= 1;
            match self.try_read(path, read).await {
                Ok(found) => return Ok(found),
                Err(Ended::Broken(_)) if left > 0 && begun.elapsed() < self.patience => {
                    // What the attempt has brought may be of another object than the next one finds.
                    read.fill(|buffer| buffer.truncate(0));
                    tokio::time::sleep(PAUSE).await;
                }
                Err(Ended::Broken(error) | Ended::Failed(error)) => return Err(error),
            }
        }
    }

    async fn try_read(&self, path: &Path, read: &mut ReadRequest) -> Result<Option<ObjectState>, Ended> {
        let (begin, size) = (read.begin(), read.size());
        let known_etag = self.pins.as_ref().and_then(|pins| pins.get(path)?.etag).filter(|etag| is_strong(etag));
        let mut options = GetOptions { if_match: known_etag, ..GetOptions::default() };
        let range = match begin {
            _ if size == 0 => return self.head(path).await.map(|meta| meta.as_ref().map(state)),
            ByteRange::At(offset) if offset <= MOST - size as u64 => GetRange::Bounded(offset..offset + size as u64),
            ByteRange::BeforeEnd(bytes @ 1..=MOST) if self.has_suffixes => GetRange::Suffix(bytes),
            _ => {
                let Some(meta) = self.head(path).await? else { return Ok(None) };
                let offset = begin.offset(meta.size);
                if offset == meta.size {
                    return Ok(Some(state(&meta)));
                }
                // What follows is to be of the same object.
                options.if_match = version(&meta).and(meta.e_tag).or(options.if_match);
                GetRange::Bounded(offset..offset.saturating_add(size as u64))
            }
        };
        options.range = Some(range);
        match self.store.get_opts(path, options.clone()).await {
            Ok(result) => self.take(path, result, 0, read).await.map(Some),
            Err(error) if failure::is_absent(&error) => Ok(None),
            Err(error) if failure::is_out_of_range(&error) => self.nothing_there(path, read).await,
            Err(error @ StoreError::Precondition { .. }) => Err(self.replaced(path, &error)),
            Err(error) if self.is_http && failure::is_unusable(&error) => {
                self.read_unranged(path, read, options, &error).await
            }
            Err(error) => Err(failure::of_store(&error).into()),
        }
    }

    /// What the server says of an object, without its bytes.
    async fn head(&self, path: &Path) -> Result<Option<ObjectMeta>, Ended> {
        let found = self.store.get_opts(path, GetOptions { head: true, ..GetOptions::default() }).await;
        let meta = match found {
            Ok(result) => etag::meta(&result),
            Err(error) if failure::is_absent(&error) => return Ok(None),
            Err(error) if self.is_http && (failure::is_method_refused(&error) || failure::is_unusable(&error)) => {
                let Some(meta) = self.head_of_first_byte(path).await? else { return Ok(None) };
                meta
            }
            Err(error) => return Err(failure::of_store(&error).into()),
        };
        self.check_pin(path, &meta)?;
        Ok(Some(meta))
    }

    /// The same from a server that refuses such requests, or does not say how long the object is: it is asked for the
    /// first byte.
    async fn head_of_first_byte(&self, path: &Path) -> Result<Option<ObjectMeta>, Ended> {
        for range in [Some(GetRange::Bounded(0..1)), None] {
            match self.store.get_opts(path, GetOptions { range, ..GetOptions::default() }).await {
                Ok(result) => return Ok(Some(etag::meta(&result))),
                Err(error) if failure::is_absent(&error) => return Ok(None),
                Err(error) if failure::is_out_of_range(&error) => {
                    // It has no first byte.
                    let (location, last_modified) = (path.clone(), Default::default());
                    return Ok(Some(ObjectMeta { location, last_modified, size: 0, e_tag: None, version: None }));
                }
                // All of it then, of which the length comes first.
                Err(error) if failure::is_unusable(&error) => {}
                Err(error) => return Err(failure::of_store(&error).into()),
            }
        }
        let reason = "the server does not tell the length of the object";
        Err(Ended::Failed(ErrorKind::Network(reason).into()))
    }

    /// Whether an object was stored by the write that has this [number](super::writer), which has failed in a way that
    /// leaves it open.
    pub(super) async fn is_of_writer(&self, path: &Path, writer: &str) -> bool {
        let found = self.store.get_opts(path, GetOptions { head: true, ..GetOptions::default() }).await;
        let name = Attribute::Metadata(super::WRITER.into());
        found.is_ok_and(|found| found.attributes.get(&name).is_some_and(|stored| **stored == *writer))
    }

    /// The state of an object, and what a request says that is to replace this one and no other.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub(super) async fn state(&self, path: &Path) -> Result<Option<(ObjectState, UpdateVersion)>> {
        match self.head(path).await {
            Ok(Some(meta)) => Ok(Some((state(&meta), UpdateVersion { e_tag: meta.e_tag, version: meta.version }))),
            Ok(None) => Ok(None),
            Err(Ended::Broken(error) | Ended::Failed(error)) => Err(error),
        }
    }

    /// A read of which the server says that it begins behind the object's end, or before its beginning.
    async fn nothing_there(&self, path: &Path, read: &mut ReadRequest) -> Result<Option<ObjectState>, Ended> {
        let Some(meta) = self.head(path).await? else { return Ok(None) };
        if read.begin().offset(meta.size) == meta.size {
            return Ok(Some(state(&meta)));
        }
        if matches!(read.begin(), ByteRange::BeforeEnd(bytes) if bytes > meta.size) {
            // It should have sent all that there is.
            let range = Some(GetRange::Bounded(0..meta.size.min(read.size() as u64)));
            let if_match = version(&meta).and(meta.e_tag);
            let options = GetOptions { range, if_match, ..GetOptions::default() };
            return match self.store.get_opts(path, options).await {
                Ok(result) => self.take(path, result, 0, read).await.map(Some),
                Err(error) if failure::is_absent(&error) => Ok(None),
                Err(error @ StoreError::Precondition { .. }) => Err(self.replaced(path, &error)),
                Err(error) => Err(failure::of_store(&error).into()),
            };
        }
        let reason = "the server returned no bytes for a range within the object";
        Err(Ended::Broken(ErrorKind::Network(reason).into()))
    }

    /// A read from a server that does not serve ranges, or not as it should: the object is read from its beginning.
    async fn read_unranged(
        &self,
        path: &Path,
        read: &mut ReadRequest,
        options: GetOptions,
        ranged: &StoreError,
    ) -> Result<Option<ObjectState>, Ended> {
        let result = match self.store.get_opts(path, GetOptions { range: None, ..options }).await {
            Ok(result) => result,
            Err(error) if failure::is_absent(&error) => return Ok(None),
            Err(error @ StoreError::Precondition { .. }) => return Err(self.replaced(path, &error)),
            Err(error) => return Err(failure::of_store(&error).into()),
        };
        let offset = read.begin().offset(result.meta.size);
        if offset > MOST_SKIPPED {
            let reason = "the server does not support ranges of bytes, and this one begins more than 64 MiB behind the \
                          object's beginning";
            return Err(failure::failed(reason, ranged).into());
        }
        self.take(path, result, offset, read).await.map(Some)
    }

    /// Takes the bytes of an answer, from so many behind its beginning on: all, or as many as there is room for.
    async fn take(
        &self,
        path: &Path,
        result: GetResult,
        mut skipped: u64,
        read: &mut ReadRequest,
    ) -> Result<ObjectState, Ended> {
        let (meta, range) = (etag::meta(&result), &result.range);
        self.check_pin(path, &meta)?;
        let stored = range.end.saturating_sub(range.start);
        let due = usize::try_from(stored.saturating_sub(skipped)).unwrap_or(usize::MAX).min(read.size());
        let found = state(&meta);
        let reads_all = due as u64 == stored;
        let mut bytes = result.into_stream();
        let (mut filled, mut is_too_long) = (0, false);
        // All of it is read if it is needed, for then the connection can be used again.
        while filled < due || reads_all {
            let chunk = match bytes.next().await {
                Some(Ok(chunk)) => chunk,
                Some(Err(error)) => {
                    let error = failure::failed("the server's response was cut off", &error);
                    return Err(Ended::Broken(error));
                }
                None => break,
            };
            let begin = usize::try_from(skipped).unwrap_or(usize::MAX).min(chunk.len());
            skipped -= begin as u64;
            let rest = &chunk[begin..];
            is_too_long |= reads_all && rest.len() > due - filled;
            if is_too_long {
                break;
            }
            filled = read.fill(|buffer| {
                buffer.write(&rest[..rest.len().min(buffer.capacity() - buffer.filled().len())]);
                buffer.filled().len()
            });
        }
        if filled == due && !is_too_long {
            return Ok(found);
        }
        let reason = "the server sent a number of bytes other than announced";
        Err(Ended::Broken(ErrorKind::Network(reason).into()))
    }

    /// Compares what is read with the file that was read first.
    fn check_pin(&self, path: &Path, meta: &ObjectMeta) -> Result<(), Ended> {
        let Some(pins) = &self.pins else { return Ok(()) };
        let now = Pin { etag: meta.e_tag.clone(), modified: meta.last_modified.timestamp_millis(), size: meta.size };
        if pins.is_same(path, now) { Ok(()) } else { Err(Ended::Failed(ErrorKind::Changed.into())) }
    }

    /// That the object is not the one that was asked for any more.
    fn replaced(&self, path: &Path, error: &StoreError) -> Ended {
        match self.pins.as_ref().is_some_and(|pins| pins.get(path).is_some()) {
            true => Ended::Failed(ErrorKind::Changed.into()),
            false => Ended::Broken(failure::of_store(error)),
        }
    }
}
