//! Objects in object stores and on HTTP servers.
//!
//! ```text
//!   service.rs    the thread that asks
//!   connect.rs    from a URL to a store
//!   client.rs     the HTTP client of a store
//!   etag.rs       which ETags tell versions apart
//!   renewing.rs   a store whose credentials may expire
//!   failure.rs    what servers answer, as errors
//!   read.rs       one read of one object
//! ```
//!
//! Whoever calls waits for the one thread, which has any number of requests in flight. A request is tried again for as
//! long as there is time, and ends when the time is over, whatever the server does.

mod client;
mod connect;
mod etag;
mod failure;
mod read;
mod renewing;
mod service;

use std::collections::hash_map::RandomState;
use std::future::Future;
use std::hash::BuildHasher;
use std::mem;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::{self, StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error as StoreError, MultipartUpload, ObjectStore as _, ObjectStoreExt, PutMode,
    PutMultipartOptions, PutOptions, PutPayload,
};

use super::asynchronous::{AsyncRequests, AsyncStore, ReadRequest, WriteRequest};
use super::byte_range::ByteRange;
use super::flight::{Flight, Limits};
use super::names::{Listed, Text, concatenated};
use super::requests_in_flight;
use super::traits::{Entry, ObjectStore, check_name, check_prefix};
use super::url::{Service as Kind, Url};
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::open_object::{ObjectState, Versions};
use connect::Times;
use read::Source;
use service::{Service, within};

/// What is longer is written in parts of this many bytes each.
const PART: usize = 16 << 20;
const MOST_AT_ONCE: usize = 64 << 20;
/// How many parts are on their way at the same time.
const PARTS_UNDER_WAY: usize = 8;

/// The name of the metadata in which a store has the [number](writer) of the write that has stored an object. Azure
/// takes no hyphens in it.
const WRITER: &str = "nczchunkwriter";

/// A number that no other write has. Where a write fails although the store may have carried it out, such as when the
/// answer is lost and what is there is in the way of the same request once more, this tells whose the object is.
fn writer() -> String {
    let number = || RandomState::new().hash_one((std::process::id(), SystemTime::now()));
    format!("{:016x}{:016x}", number(), number())
}

fn attributes(writer: &str) -> Attributes {
    Attributes::from_iter([(Attribute::Metadata(WRITER.into()), writer.to_owned())])
}

/// No wider gap is read, however little that is beside what is needed.
const GAP: usize = 1 << 20;

/// The objects below a URL.
pub(crate) struct Network(AsyncRequests<Arc<Server>>);

/// Where the objects are, and what asks for them.
struct Server {
    source: Source,
    service: Arc<Service>,
    /// What all names begin with, and a `/`; or nothing.
    root: String,
    times: Times,
    /// The gap that the environment asks for.
    gap: Option<usize>,
    is_http: bool,
}

impl Network {
    /// The objects below a URL. Nothing is asked yet.
    ///
    /// # Errors
    /// Those of the URL and of the environment; in a process that was forked, that its parent has used a URL.
    pub(crate) fn open(url: &Url<'_>) -> Result<Self> {
        Network::below(url, |path| path, false)
    }

    /// All objects of the server or bucket of a URL, and what of the URL names the [object](Self::object_name) in it.
    /// `are_files` if each is read as it was first, and to replace one is an error.
    ///
    /// # Errors
    /// Those of [`open`](Self::open).
    pub(crate) fn open_server<'u>(url: &Url<'u>, are_files: bool) -> Result<(Self, &'u str)> {
        let mut name = "";
        let root = |path| {
            name = path;
            ""
        };
        Ok((Network::below(url, root, are_files)?, name))
    }

    /// The name of an object that a URL's path, or the end of one, stands for.
    ///
    /// # Errors
    /// `Argument` for a malformed URL, `OutOfMemory`.
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
            true,
        )?;
        let Some(name) = name else { return Ok(None) };
        Ok(Some((network, Network::object_name(url.service, name)?)))
    }

    fn below<'u>(url: &Url<'u>, root: impl FnOnce(&'u str) -> &'u str, are_files: bool) -> Result<Self> {
        let (times, gap, service) = (Times::of_environment()?, connect::gap_of_environment()?, Service::get()?);
        let (store, path) = connect::connect(url, times, &service.clients)?;
        let root = root(path).trim_matches('/');
        let mut root = Network::object_name(url.service, root)?;
        check_prefix(&root)?;
        if !root.is_empty() {
            alloc::push_text(&mut root, "/")?;
        }
        let is_http = url.service == Kind::Http;
        let source = Source {
            store,
            is_http,
            has_suffixes: url.service != Kind::Azure,
            patience: times.patience(),
            pins: are_files.then(Arc::default),
        };
        Ok(Network(AsyncRequests::new(Arc::new(Server { source, service, root, times, gap, is_http }))?))
    }

    fn server(&self) -> &Arc<Server> {
        self.0.store()
    }
}

impl Server {
    /// The path of an object.
    fn path(&self, name: &str) -> Result<Path> {
        check_name(name).map_err(|error| error.in_object(name))?;
        self.full(name).map_err(|error| error.in_object(name))
    }

    fn full(&self, name: &str) -> Result<Path> {
        let full: Text = concatenated(&[&self.root, name])?;
        let full = std::str::from_utf8(&full).map_err(|_| ErrorKind::Internal)?;
        Path::parse(full).map_err(|error| failure::refused("this name is not valid for an object", &error))
    }

    /// Has the service do something, and waits for it.
    fn ask<T: Send + 'static>(
        &self,
        time: Duration,
        what: impl Future<Output = Result<T>> + Send + 'static,
    ) -> Result<T> {
        let (sender, receiver) = sync_channel(1);
        self.service.spawn(async move {
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
        let source = self.source.clone();
        self.ask(self.time_to_write(bytes.len()), async move {
            let mode = match before {
                None => PutMode::Create,
                Some((_, None)) => return Err(UNTOLD.into()),
                // What is there has a number here, and an ETag for the server.
                Some(before) => match source.state(&path).await? {
                    Some((now, update)) if now == before => PutMode::Update(update),
                    _ => return Err(ErrorKind::Conflict.into()),
                },
            };
            let writer = writer();
            let options = PutOptions { mode, attributes: attributes(&writer), ..PutOptions::default() };
            match source.store.put_opts(&path, PutPayload::from_bytes(bytes), options).await {
                Ok(_) => Ok(()),
                Err(error) if failure::may_be_done(&error) && source.is_of_writer(&path, &writer).await => Ok(()),
                Err(error) => Err(failure::of_store(&error)),
            }
        })
    }

    fn list(&self, prefix: &str) -> Result<Listed> {
        check_prefix(prefix)?;
        if self.is_http {
            // There is no request for that: as with any storage that cannot list, nothing is found.
            return Ok(Listed::NOTHING);
        }
        let (path, store) = (self.full(prefix)?, self.source.store.clone());
        self.ask(self.times.all, async move {
            let found =
                store.list_with_delimiter(Some(&path)).await.map_err(|error| match failure::has_no_bucket(&error) {
                    true => ErrorKind::NotFound("bucket or container").into(),
                    false => failure::of_store(&error),
                })?;
            let mut listed = Listed::NOTHING;
            let last = |location: &Path| location.filename().map(str::to_owned);
            for object in found.objects.iter().filter(|object| object.location != path) {
                last(&object.location).map_or(Ok(()), |name| listed.push(&name, Entry::Object))?;
            }
            for prefix in &found.common_prefixes {
                last(prefix).map_or(Ok(()), |name| listed.push(&name, Entry::Prefix))?;
            }
            Ok(listed)
        })
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.check_writable()?;
        let (path, store) = (self.path(name)?, self.source.store.clone());
        self.ask(self.times.all, async move {
            match store.delete(&path).await {
                Ok(()) | Err(StoreError::NotFound { .. }) => Ok(()),
                Err(error) => Err(failure::of_store(&error)),
            }
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
        self.times.all + service::time_to_send(len)
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
        let (source, time_to_forget) = (self.source.clone(), self.times.all / 8);
        let put = async move {
            if bytes.len() > MOST_AT_ONCE {
                return put_in_parts(&source, &path, &bytes, time - time_to_forget).await;
            }
            let put = source.store.put(&path, PutPayload::from_bytes(bytes)).await;
            put.map(drop).map_err(|error| failure::of_store(&error))
        };
        Ok((time, put))
    }
}

/// A server has sent a weak ETag, or none.
const UNTOLD: ErrorKind =
    ErrorKind::Unsupported("changing an object of a server that does not tell its versions apart by strong ETags");

/// Writes an object in parts, of which nobody sees anything before the last has arrived. If one fails, or if they take
/// longer than `time`, the store is asked to forget what has been sent.
async fn put_in_parts(source: &Source, path: &Path, bytes: &Bytes, time: Duration) -> Result<()> {
    let (writer, deadline) = (writer(), tokio::time::Instant::now() + time);
    let options = PutMultipartOptions { attributes: attributes(&writer), ..PutMultipartOptions::default() };
    let upload = source.store.put_multipart_opts(path, options).await;
    let mut upload = upload.map_err(|error| failure::of_store(&error))?;
    let error = match tokio::time::timeout_at(deadline, send_parts(&mut *upload, bytes)).await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(error)) if failure::is_end_refused(&error) && source.is_of_writer(path, &writer).await => return Ok(()),
        Ok(Err(error)) => failure::of_store(&error),
        Err(_) => service::LATE.into(),
    };
    let _ = upload.abort().await;
    Err(error)
}

async fn send_parts(upload: &mut dyn MultipartUpload, bytes: &Bytes) -> object_store::Result<()> {
    let begins = stream::iter((0..bytes.len()).step_by(PART));
    let parts = begins.map(|begin| {
        let end = bytes.len().min(begin + PART);
        upload.put_part(PutPayload::from_bytes(bytes.slice(begin..end)))
    });
    parts.buffer_unordered(PARTS_UNDER_WAY).try_collect::<()>().await?;
    upload.complete().await.map(drop)
}

/// What a part of a URL stands for: `%20` is a space.
fn decoded(part: &str) -> Result<String> {
    let path = Path::from_url_path(part).map_err(|error| failure::refused("the URL is malformed", &error))?;
    Ok(path.into())
}

impl Drop for Server {
    fn drop(&mut self) {
        if !self.service.is_here() {
            // These belong to a thread of the parent, and so are never dropped here.
            mem::forget((self.source.clone(), self.service.clone()));
        }
    }
}

impl ObjectStore for Network {
    fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
        Ok(self.read_version(name, begin, buffer)?.map(|(len, _)| len))
    }

    fn read_version(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<ObjectState>> {
        // Whatever else this thread has in flight.
        let requests = AsyncRequests::new(self.server().clone())?;
        requests_in_flight::read((&requests, ""), name, begin, buffer)
    }

    fn versions(&self) -> Versions {
        Versions::Told
    }

    fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.server().list(prefix).map_err(|error| error.in_object(prefix))?.tell(one)
    }

    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let put = self.server().put(name, bytes).and_then(|(time, put)| self.server().ask(time, put));
        put.map_err(|error| error.in_object(name))
    }

    fn write_over(&self, name: &str, before: Option<ObjectState>, bytes: &[u8]) -> Result<()> {
        self.server().put_over(name, before, bytes).map_err(|error| error.in_object(name))
    }

    fn compares(&self) -> bool {
        self.is_writable()
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.server().remove(name).map_err(|error| error.in_object(name))
    }

    fn is_writable(&self) -> bool {
        !self.server().is_http
    }

    fn gap(&self) -> usize {
        self.server().gap.unwrap_or(GAP)
    }

    fn flight(&self) -> Option<&dyn Flight> {
        Some(&self.0)
    }
}

impl AsyncStore for Arc<Server> {
    fn limits(&self) -> Limits {
        let limits = Limits::default();
        Limits { excess: limits.excess.filter(|_| self.gap.is_none()), ..limits }
    }

    fn start_read(&self, mut read: ReadRequest) {
        let (abort, aborted) = AbortHandle::new_pair();
        let path = self.service.check().and_then(|()| self.path(read.name()));
        let path = path.and_then(|path| read.on_cancel(move || abort.abort()).map(|()| path));
        let path = match path {
            Ok(path) => path,
            Err(error) => return read.answer(Err(error)),
        };
        let (source, time) = (self.source.clone(), self.times.all);
        // What cannot be started is dropped, as is what the service leaves when it ends; so are its answers.
        let _ = self.service.spawn(async move {
            let found = Abortable::new(within(time, source.read(&path, &mut read)), aborted).await;
            read.answer(found.unwrap_or_else(|_| Err(ErrorKind::Network("the request was cancelled").into())));
        });
    }

    fn writes(&self) -> bool {
        !self.is_http
    }

    fn start_write(&self, write: WriteRequest) {
        match self.service.check().and_then(|()| self.put(write.name(), write.bytes())) {
            Ok((time, put)) => {
                let _ = self.service.spawn(async move { write.answer(within(time, put).await) });
            }
            Err(error) => write.answer(Err(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fmt;
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

    use futures_util::stream::BoxStream;
    use object_store::{
        CopyOptions, GetOptions, GetResult, ListResult, ObjectMeta, ObjectStore, PutResult, UploadPart,
        memory::InMemory,
    };

    use super::*;

    /// A store whose uploads never get on, and whether one was aborted.
    #[derive(Debug)]
    struct Stuck(InMemory, Arc<AtomicBool>);

    impl fmt::Display for Stuck {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("stuck")
        }
    }

    #[async_trait::async_trait]
    impl MultipartUpload for Stuck {
        fn put_part(&mut self, _: PutPayload) -> UploadPart {
            Box::pin(std::future::pending())
        }

        async fn complete(&mut self) -> object_store::Result<PutResult> {
            std::future::pending().await
        }

        async fn abort(&mut self) -> object_store::Result<()> {
            self.1.store(true, SeqCst);
            Ok(())
        }
    }

    #[async_trait::async_trait]
    impl ObjectStore for Stuck {
        async fn put_opts(
            &self,
            path: &Path,
            bytes: PutPayload,
            options: PutOptions,
        ) -> object_store::Result<PutResult> {
            self.0.put_opts(path, bytes, options).await
        }

        async fn put_multipart_opts(
            &self,
            _: &Path,
            _: PutMultipartOptions,
        ) -> object_store::Result<Box<dyn MultipartUpload>> {
            Ok(Box::new(Stuck(InMemory::new(), self.1.clone())))
        }

        async fn get_opts(&self, path: &Path, options: GetOptions) -> object_store::Result<GetResult> {
            self.0.get_opts(path, options).await
        }

        fn delete_stream(
            &self,
            paths: BoxStream<'static, object_store::Result<Path>>,
        ) -> BoxStream<'static, object_store::Result<Path>> {
            self.0.delete_stream(paths)
        }

        fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, object_store::Result<ObjectMeta>> {
            self.0.list(prefix)
        }

        async fn list_with_delimiter(&self, prefix: Option<&Path>) -> object_store::Result<ListResult> {
            self.0.list_with_delimiter(prefix).await
        }

        async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> object_store::Result<()> {
            self.0.copy_opts(from, to, options).await
        }
    }

    #[test]
    fn an_upload_that_takes_too_long_is_aborted() {
        let is_aborted = Arc::new(AtomicBool::new(false));
        let store = Arc::new(Stuck(InMemory::new(), is_aborted.clone()));
        let (patience, pins) = (Duration::ZERO, None);
        let source = Source { store, is_http: false, has_suffixes: true, patience, pins };
        let put = async {
            put_in_parts(&source, &Path::from("x"), &Bytes::from_static(&[1; 8]), Duration::from_millis(1)).await
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let error = runtime.block_on(put).unwrap_err();
        assert!(error.to_string().contains("in time") && is_aborted.load(SeqCst), "{error}");
    }

    #[test]
    fn no_two_writers_have_one_number() {
        let numbers: std::collections::HashSet<String> = (0..1000).map(|_| writer()).collect();
        assert_eq!((numbers.len(), writer().len()), (1000, 32));
    }
}
