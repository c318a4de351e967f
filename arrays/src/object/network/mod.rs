//! Objects in object stores and on HTTP servers.
//!
//! ```text
//!   service.rs    the thread that asks
//!   connect.rs    from a URL to a client
//!   renewing.rs   a client whose credentials may expire
//!   failure.rs    what servers answer, as errors
//!   read.rs       one read of one object
//!   in_flight.rs  many reads at the same time
//! ```
//!
//! Whoever calls waits for the one thread, which has any number of requests in flight. A request is tried again for as
//! long as there is time, and ends when the time is over, whatever the server does.
#![allow(unsafe_code)]

mod connect;
mod failure;
mod in_flight;
mod read;
mod renewing;
mod service;

use std::ffi::CStr;
use std::future::Future;
use std::mem::ManuallyDrop;
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{Error as StoreError, ObjectStore as _, ObjectStoreExt, PutMode, PutPayload, WriteMultipart};

use super::byte_range::ByteRange;
use super::flight::{Flight, Limits, ObjectRequest};
use super::names::{Listed, Text, concatenated};
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use super::url::{Service as Kind, Url};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{Error, ErrorKind, Result};
use crate::open_object::{ObjectState, Versions};
use connect::Times;
use in_flight::Mailboxes;
use read::{Room, Source};
use service::{Service, within};

/// What is longer is written in parts of this many bytes each.
const PART: usize = 16 << 20;
const MOST_AT_ONCE: usize = 64 << 20;
/// How many parts are on their way at the same time.
const PARTS_UNDER_WAY: usize = 8;
/// What a connection carries at least: a write has a second more for so many bytes.
const LEAST_PER_SECOND: u64 = 1 << 20;

/// No wider gap is read, however little that is beside what is needed.
const GAP: usize = 1 << 20;

/// The objects below a URL.
pub(crate) struct Network {
    /// What asks. In a process that was forked it is left as it is, for it belongs to a thread of the parent.
    asking: ManuallyDrop<(Source, Arc<Service>)>,
    /// What all names begin with, and a `/`; or nothing.
    root: String,
    times: Times,
    /// The gap that the environment asks for.
    gap: Option<usize>,
    is_http: bool,
    mailboxes: Mailboxes,
}

impl Network {
    /// The objects below a URL. Nothing is asked yet.
    ///
    /// # Errors
    /// Those of the URL and of the environment; in a process that was forked, that its parent has used a URL.
    pub(crate) fn open(url: &Url<'_>) -> Result<Self> {
        Network::below(url, |path| path, None)
    }

    /// All objects of the server or bucket of a URL, and what of the URL names the [object](Self::object_name) in it.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub(crate) fn open_server<'u>(url: &Url<'u>) -> Result<(Self, &'u str)> {
        let mut name = "";
        let root = |path| {
            name = path;
            ""
        };
        Ok((Network::below(url, root, None)?, name))
    }

    /// The name of an object that a URL's path, or the end of one, stands for.
    ///
    /// # Errors
    /// `Network` for a malformed URL, `OutOfMemory`.
    pub(crate) fn object_name(service: Kind, path: &str) -> Result<String> {
        if service == Kind::Http { decoded(path) } else { Ok(alloc::text(path)?) }
    }

    /// What the file at a URL is in, as a storage from which only this file is read, and the name of the file; `None`
    /// if there can be no file.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub(crate) fn open_file<'u>(url: &Url<'u>) -> Result<Option<(Self, String)>> {
        let mut name = None;
        let network = Network::below(
            url,
            |path| {
                let file = url.file(path);
                name = file.map(|(_, name)| name);
                file.map_or(path, |(parent, _)| parent)
            },
            Some(Arc::new(OnceLock::new())),
        )?;
        let Some(name) = name else { return Ok(None) };
        Ok(Some((network, Network::object_name(url.service, name)?)))
    }

    fn below<'u>(
        url: &Url<'u>,
        root: impl FnOnce(&'u str) -> &'u str,
        pin: Option<Arc<OnceLock<read::Pin>>>,
    ) -> Result<Self> {
        let (times, gap, service) = (Times::of_environment()?, connect::gap_of_environment()?, Service::get()?);
        let (store, path) = connect::connect(url, times, &service.clients)?;
        let root = root(path).trim_matches('/');
        let mut root = Network::object_name(url.service, root)?;
        check_prefix(&root)?;
        if !root.is_empty() {
            alloc::push_text(&mut root, "/")?;
        }
        let is_http = url.service == Kind::Http;
        let source =
            Source { store, is_http, has_suffixes: url.service != Kind::Azure, patience: times.patience(), pin };
        let asking = ManuallyDrop::new((source, service));
        Ok(Network { asking, root, times, gap, is_http, mailboxes: Mailboxes::default() })
    }

    fn source(&self) -> &Source {
        &self.asking.0
    }

    fn service(&self) -> Result<&Service> {
        self.asking.1.check()?;
        Ok(&self.asking.1)
    }

    /// The path of an object.
    fn path(&self, name: &str) -> Result<Path> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.full(name).map_err(|error| error.in_object(name))
    }

    fn full(&self, name: &str) -> Result<Path> {
        let full: Text = concatenated(&[&self.root, name])?;
        let full = std::str::from_utf8(&full).map_err(|_| ErrorKind::Internal)?;
        Path::parse(full).map_err(|error| failure::failed("this name is not valid for an object", &error))
    }

    /// Has the service do something, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        time: Duration,
        what: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = sync_channel(1);
        self.service()?.spawn(async move {
            // What was done is dropped at the end of this statement, before the caller learns of it.
            let result = within(time, what).await;
            let _ = sender.send(result);
        })?;
        receiver.recv().unwrap_or_else(|_| Err(ErrorKind::Internal.into()))
    }

    /// Writes an object in place of the one in this state, or of none. It is one request that compares and writes.
    fn put_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
        self.check_writable()?;
        let path = self.path(name)?;
        let bytes = Bytes::from(alloc::copied(bytes)?);
        let source = self.source().clone();
        self.ask(self.time_to_write(bytes.len()), async move {
            let mode = match before {
                None => PutMode::Create,
                // What is there has a number here, and an ETag for the server.
                Some(before) => match source.state(&path).await? {
                    Some((now, update)) if now == before => PutMode::Update(update),
                    _ => return Err(ErrorKind::Conflict.into()),
                },
            };
            let put = source.store.put_opts(&path, PutPayload::from_bytes(bytes), mode.into()).await;
            put.map(drop).map_err(|error| failure::of_store(&error))
        })
    }

    fn check_writable(&self) -> Result<()> {
        if self.is_http {
            return Err(ErrorKind::Unsupported("writing to an HTTP server; HTTP is read-only").into());
        }
        Ok(())
    }

    /// How long it may take to write so many bytes.
    fn time_to_write(&self, len: usize) -> Duration {
        self.times.all + Duration::from_secs(len as u64 / LEAST_PER_SECOND)
    }

    /// What writes a whole object, and how long that may take. It has a copy of the bytes, for the client may keep some
    /// for a while after it has failed.
    fn put(
        &self,
        name: &str,
        bytes: &[u8],
    ) -> Result<(Duration, impl Future<Output = Result<()>> + Send + 'static + use<>)> {
        self.check_writable()?;
        let path = self.path(name)?;
        let bytes = Bytes::from(alloc::copied(bytes)?);
        let time = self.time_to_write(bytes.len());
        let store = self.source().store.clone();
        let put = async move {
            if bytes.len() <= MOST_AT_ONCE {
                let put = store.put(&path, PutPayload::from_bytes(bytes)).await;
                return put.map(drop).map_err(|error| failure::of_store(&error));
            }
            let upload = store.put_multipart(&path).await.map_err(|e| failure::of_store(&e))?;
            let mut parts = WriteMultipart::new_with_chunk_size(upload, PART);
            let mut begin = 0;
            while begin < bytes.len() {
                let end = bytes.len().min(begin + PART);
                if let Err(error) = parts.wait_for_capacity(PARTS_UNDER_WAY).await {
                    // What has been sent is not seen by anybody; the store is asked to forget it.
                    let _ = parts.abort().await;
                    return Err(failure::of_store(&error));
                }
                parts.put(bytes.slice(begin..end));
                begin = end;
            }
            // This aborts, if a part fails.
            parts.finish().await.map(drop).map_err(|e| failure::of_store(&e))
        };
        Ok((time, put))
    }
}

/// What a part of a URL stands for: `%20` is a space.
fn decoded(part: &str) -> Result<String> {
    let path = Path::from_url_path(part).map_err(|error| failure::failed("the URL is malformed", &error))?;
    Ok(path.into())
}

impl Drop for Network {
    fn drop(&mut self) {
        if self.asking.1.is_here() {
            // SAFETY: it is dropped once, and not used after this.
            unsafe { ManuallyDrop::drop(&mut self.asking) };
        }
    }
}

impl ObjectStore for Network {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        let path = self.path(name)?;
        // SAFETY: the buffer is not used before `ask` returns, and then nobody reads into it any more.
        let room = unsafe { Room::new(buffer.as_mut_ptr(), buffer.capacity()) };
        let source = self.source().clone();
        let read = async move {
            let mut room = room;
            source.read(&path, begin, &mut room).await
        };
        let Some(answer) = self.ask(self.times.all, read).map_err(|error| error.in_object(name))? else {
            return Ok(None);
        };
        // SAFETY: so many bytes have been written, and there was room for them.
        unsafe { buffer.set_filled(answer.nbytes) };
        Ok(Some((answer.object_size, answer.version.map(u128::from))))
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        check_prefix(prefix).map_err(|error| error.in_object(prefix))?;
        if self.is_http {
            // There is no request for that: as with any storage that cannot list, nothing is found.
            return Ok(());
        }
        let (path, store) = (self.full(prefix)?, self.source().store.clone());
        let listed = self.ask(self.times.all, async move {
            let found = store.list_with_delimiter(Some(&path)).await.map_err(|error| failure::of_store(&error))?;
            let mut listed = Listed::NOTHING;
            let last = |location: &Path| location.filename().map(str::to_owned);
            for object in found.objects.iter().filter(|object| object.location != path) {
                last(&object.location).map_or(Ok(()), |name| listed.push(&name, Entry::Object))?;
            }
            for prefix in &found.common_prefixes {
                last(prefix).map_or(Ok(()), |name| listed.push(&name, Entry::Prefix))?;
            }
            Ok(listed)
        });
        listed.map_err(|error| error.in_object(prefix))?.tell(one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let put = self.put(name, bytes).and_then(|(time, put)| self.ask(time, put));
        put.map_err(|error| error.in_object(name))
    }

    fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
        self.put_over(name, before, bytes).map_err(|error| error.in_object(name))
    }

    fn compares(&self) -> bool {
        !self.is_http
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        let (path, store) = (self.path(name)?, self.source().store.clone());
        let removed = self.ask(self.times.all, async move {
            match store.delete(&path).await {
                Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
                Err(error) => Err(failure::of_store(&error)),
            }
        });
        removed.map_err(|error| error.in_object(name))
    }

    fn is_writable(&self) -> bool {
        !self.is_http
    }

    fn gap(&self) -> usize {
        self.gap.unwrap_or(GAP)
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(self)
    }
}

// SAFETY: `wait` gives back what a mailbox has of this thread, which is put there once: by a value that the task drops
// after the future that writes to the buffer, be the read cancelled or not. Of a read that has ended well so many bytes
// have been written. `wait` fails only in a process that was forked, where nothing writes.
unsafe impl Flight for Network {
    fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits { excess: limits.excess.filter(|_| self.gap.is_none()), ..limits }
    }

    unsafe fn start(&self, request: *mut ObjectRequest) -> Result<bool> {
        let asking = (self.service()?, self.source().clone(), self.times.all);
        // SAFETY: the caller's promises are the same.
        unsafe {
            let name = CStr::from_ptr((*request).name).to_str().map_err(|_| ErrorKind::Internal)?;
            in_flight::start(&self.mailboxes, asking, self.path(name)?, request)?;
        }
        Ok(true)
    }

    fn writes(&self) -> bool {
        !self.is_http
    }

    unsafe fn start_write(&self, request: *mut ObjectRequest) -> Result<()> {
        // SAFETY: the request, its name and its bytes are valid until it is given back.
        let (name, bytes) = unsafe {
            let ObjectRequest { name, buffer, size, .. } = *request;
            let bytes = if size == 0 { &[] } else { std::slice::from_raw_parts(buffer.cast::<u8>(), size) };
            (CStr::from_ptr(name).to_str().map_err(|_| ErrorKind::Internal)?, bytes)
        };
        let (time, put) = self.put(name, bytes)?;
        let written = read::Answer { nbytes: 0, object_size: 0, version: None };
        let what = async move { put.await.map(|()| Some(written)) };
        // SAFETY: the caller's promises are the same; the future has a copy of the bytes.
        unsafe { in_flight::spawn(&self.mailboxes, (self.service()?, time), request, what) }
    }

    unsafe fn wait(&self) -> Result<*mut ObjectRequest> {
        self.service()?;
        // SAFETY: the caller's promises are the same.
        unsafe { in_flight::wait(&self.mailboxes) }
    }

    unsafe fn cancel(&self, request: *mut ObjectRequest) {
        if self.service().is_ok() {
            // SAFETY: the caller's promise is the same.
            unsafe { in_flight::cancel(request) };
        }
    }

    unsafe fn take_error(&self, request: *mut ObjectRequest) -> Option<Error> {
        // SAFETY: the caller's promise is the same.
        unsafe { ObjectRequest::take_error(request) }
    }
}
