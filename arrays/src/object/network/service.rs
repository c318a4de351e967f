//! The thread that asks: it is started for the first storage at a URL, and has ended when the last one is dropped.
#![allow(unsafe_code)]

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use object_store::ClientOptions;
use object_store::client::{
    HttpClient, HttpConnector, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpService,
};
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use super::client::{self, Redirects};
use crate::error::{ErrorKind, Result};
use crate::lock::Lock;
use crate::object::asynchronous::FORKED;

/// All requests of the process are made by one thread.
pub(super) struct Service {
    pub clients: Clients,
    process: u32,
    handle: Handle,
    /// What ends the thread, and the thread, until this is dropped.
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

/// The HTTP clients of all storages: one for those with the same options, so that they share its connections, and that
/// the system's certificates are read once for each.
#[derive(Debug, Clone, Default)]
pub(super) struct Clients(Arc<Mutex<Vec<(String, HttpClient)>>>);

impl Clients {
    /// What connects a storage, if its server may be silent so long; `None` if the user has chosen the times.
    pub(super) fn connector(&self, redirects: Redirects, silence: Option<Duration>) -> Connector {
        Connector { clients: self.clone(), redirects, silence }
    }

    fn get(&self, options: &ClientOptions, redirects: Redirects) -> object_store::Result<HttpClient> {
        let mut clients = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let options_text = format!("{redirects:?} {options:?}");
        if let Some((_, client)) = clients.iter().find(|(other, _)| *other == options_text) {
            return Ok(client.clone());
        }
        let client = client::client(options, redirects)?;
        clients.push((options_text, client.clone()));
        Ok(client)
    }
}

/// What connects a storage.
#[derive(Debug)]
pub(super) struct Connector {
    clients: Clients,
    redirects: Redirects,
    silence: Option<Duration>,
}

impl HttpConnector for Connector {
    fn connect(&self, options: &ClientOptions) -> object_store::Result<HttpClient> {
        let (clients, redirects) = (self.clients.clone(), self.redirects);
        let client = clients.get(options, redirects)?;
        let Some(silence) = self.silence else { return Ok(client) };
        let options = options.clone().with_timeout_disabled().with_read_timeout_disabled();
        Ok(HttpClient::new(Patient { client, clients, redirects, options, silence }))
    }
}

/// Requests with more bytes than this are long.
const LONG: usize = 256 << 10;

/// A client that has more patience with long requests. While a request is sent the server is silent, and the client
/// would give it up and send it again.
#[derive(Debug)]
struct Patient {
    client: HttpClient,
    clients: Clients,
    redirects: Redirects,
    /// Those of a client that waits as long as it takes, and how long the server may be silent.
    options: ClientOptions,
    silence: Duration,
}

impl HttpService for Patient {
    fn call<'s, 'f>(&'s self, request: HttpRequest) -> Pin<Box<dyn Future<Output = Answered> + Send + 'f>>
    where
        's: 'f,
        Self: 'f,
    {
        let len = request.body().content_length();
        if len <= LONG {
            return Box::pin(self.client.execute(request));
        }
        let patience = self.silence + time_to_send(len);
        Box::pin(async move {
            let client = self.clients.get(&self.options, self.redirects).unwrap_or_else(|_| self.client.clone());
            let answer = tokio::time::timeout(patience, client.execute(request)).await;
            answer.unwrap_or_else(|elapsed| Err(HttpError::new(HttpErrorKind::Timeout, elapsed)))
        })
    }
}

/// What a connection carries at least in a second.
const LEAST_PER_SECOND: f64 = (1 << 20) as f64;

/// How long it may take to send so many bytes.
pub(super) fn time_to_send(len: usize) -> Duration {
    Duration::from_secs_f64(len as f64 / LEAST_PER_SECOND)
}

type Answered = Result<HttpResponse, HttpError>;

/// The one that runs, if there is one.
static CURRENT: OnceLock<Lock<Weak<Service>>> = OnceLock::new();

/// How many names of servers are looked up at the same time.
const MOST_LOOKUPS: usize = 16;
/// How long the end of the thread waits for those.
const LAST_LOOKUP: Duration = Duration::from_secs(1);

/// How many turns the tasks of a connection need for that.
const YIELDS: usize = 3;

/// The time is over.
pub(super) const LATE: ErrorKind = ErrorKind::Network(
    "the server did not respond in time; the environment variable NCZCHUNK_NETWORK_TIMEOUT sets the limit in seconds; \
     the default is 120",
);

/// What a future gives within this time.
///
/// # Errors
/// `Network` if the time is over, and those of the future.
pub(super) async fn within<T>(time: Duration, future: impl Future<Output = Result<T>>) -> Result<T> {
    let result = tokio::time::timeout(time, future).await;
    // The tasks of the connection give it back before whoever waits goes on: the next request would open another one.
    for _ in 0..YIELDS {
        tokio::task::yield_now().await;
    }
    match result {
        Ok(result) => result,
        Err(_) => Err(LATE.into()),
    }
}

impl Service {
    /// The service of this process, which is started if it does not run.
    ///
    /// # Errors
    /// `Argument` in a process that was forked; those of the system, if it refuses a thread.
    pub(super) fn get() -> Result<Arc<Self>> {
        let mut current = CURRENT.get_or_init(|| Lock::new(Weak::new())).lock().ok_or(FORKED)?;
        if let Some(service) = current.upgrade() {
            return Ok(service);
        }
        let service = Arc::new(Service::start()?);
        *current = Arc::downgrade(&service);
        Ok(service)
    }

    fn start() -> Result<Self> {
        // Names of servers are looked up by these other threads, which end soon after.
        let runtime = Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(MOST_LOOKUPS)
            .thread_keep_alive(Duration::from_millis(100))
            .build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        let _blocked = signals::Blocked::new();
        let thread = std::thread::Builder::new().name("nczchunk-network".into()).spawn(move || {
            let _ = runtime.block_on(stopped);
            // The system may wait for a name server for longer than anybody who has closed everything.
            runtime.shutdown_timeout(LAST_LOOKUP);
        })?;
        let clients = Clients::default();
        Ok(Service { clients, process: std::process::id(), handle, running: Some((stop, thread)) })
    }

    /// # Errors
    /// `Argument` in a process that was forked, where the thread does not exist.
    pub(super) fn check(&self) -> Result<()> {
        if self.is_here() { Ok(()) } else { Err(FORKED.into()) }
    }

    /// Whether this is the process that has the thread.
    pub(super) fn is_here(&self) -> bool {
        std::process::id() == self.process
    }

    /// Has the thread do something.
    ///
    /// # Errors
    /// Those of [`check`](Self::check).
    pub(super) fn spawn(&self, what: impl Future<Output = ()> + Send + 'static) -> Result<()> {
        self.check()?;
        drop(self.handle.spawn(what));
        Ok(())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        let running = self.running.take();
        if !self.is_here() {
            // The thread is another process's.
            return mem::forget(running);
        }
        if let Some((stop, thread)) = running {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}

/// Signals go to the program's own threads.
#[cfg(unix)]
mod signals {
    use std::mem::MaybeUninit;

    /// As long as this lives the thread gets no signals, and those that it starts get none ever.
    pub(super) struct Blocked(libc::sigset_t);

    impl Blocked {
        pub(super) fn new() -> Self {
            let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::uninit());
            // SAFETY: the sets are memory for sets; the calls fill them and cannot fail with these arguments.
            unsafe {
                libc::sigfillset(all.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
                Blocked(before.assume_init())
            }
        }
    }

    impl Drop for Blocked {
        fn drop(&mut self) {
            // SAFETY: the set is the one that the thread had.
            unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut()) };
        }
    }
}

#[cfg(not(unix))]
mod signals {
    pub(super) struct Blocked;

    impl Blocked {
        pub(super) fn new() -> Self {
            Blocked
        }
    }
}
