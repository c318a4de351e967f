//! An HTTP server on the loopback interface, with ranges and ETags, that does wrong what a test asks it to. It is also
//! an object store, as far as the library asks one for things, in the dialects of S3, Google and Azure: see `store.rs`.

#[path = "store.rs"]
mod store;

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// What becomes of a request, in place of what it asks for.
#[derive(Clone, Debug)]
pub enum Fault {
    None,
    /// The connection is closed before there is an answer.
    Closed,
    /// It is closed in the middle of the bytes.
    BrokenOff,
    /// This status, and these lines of the header.
    Status(u16, &'static str),
    /// Half of the bytes, and the header says that they are all.
    Short,
    /// Another range than the one that was asked for, and its bytes.
    OtherRange,
    /// Nothing ever.
    Silent,
    /// As it should be, and then the object has these other bytes.
    ThenChanged(Vec<u8>),
    /// The connection is closed in the middle of the bytes, and then the object has these other ones.
    BrokenOffThenChanged(Vec<u8>),
    /// Of a write: it is carried out, and the answer is this status nevertheless; 0: the connection is closed.
    Done(u16),
    /// No length, but the bytes in pieces.
    Pieces,
}

#[derive(Clone, Default)]
struct Object {
    bytes: Vec<u8>,
    version: usize,
    /// Lines of the header that are kept with it.
    metadata: String,
}

/// A request.
struct Request {
    method: String,
    /// Decoded.
    path: String,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

/// What a part of a URL stands for: `%20` is a space.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let code = (*first == b'%').then(|| u8::from_str_radix(std::str::from_utf8(&after[..2]).unwrap(), 16).unwrap());
        bytes.push(code.unwrap_or(*first));
        rest = if code.is_some() { &after[2..] } else { after };
    }
    String::from_utf8(bytes).unwrap()
}

/// What was asked for: the path, and the first and the last byte of the range, if there was one.
pub type Asked = (String, Option<(u64, u64)>);

/// Each so manieth answer is slow.
const SLOW: usize = 24;

#[derive(Default)]
struct State {
    objects: Mutex<HashMap<String, Object>>,
    faults: Mutex<HashMap<String, VecDeque<Fault>>>,
    /// What happens to every request for a path that has no faults of its own.
    always: Mutex<HashMap<String, Fault>>,
    log: Mutex<Vec<Asked>>,
    latency: Mutex<Duration>,
    versions: AtomicUsize,
    /// Parts of uploads that have not ended, by their path and number.
    parts: Mutex<HashMap<String, std::collections::BTreeMap<String, Vec<u8>>>>,
    /// What is to be kept with the objects that they become, by their paths.
    metadata: Mutex<HashMap<String, String>>,
    /// Which credentials are valid: no matter which if it is 0.
    credentials: AtomicUsize,
    requests_in_flight: AtomicUsize,
    most: AtomicUsize,
    connections: AtomicUsize,
    /// The bytes of objects that were sent.
    sent: AtomicUsize,
    has_no_ranges: AtomicBool,
    refuses_long_suffixes: AtomicBool,
    has_weak_etags: AtomicBool,
    /// The lines of the header in which an object's version is, in place of its own ones.
    versions_sent: Mutex<Option<&'static str>>,
    /// The status with which all requests are answered that do not ask for bytes; 0 for none.
    refuses_heads: AtomicUsize,
    is_over: AtomicBool,
}

pub struct Server {
    pub address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    pub fn new() -> Self {
        Server::of(TcpListener::bind("127.0.0.1:0").unwrap())
    }

    /// One that listens there.
    pub fn of(listener: TcpListener) -> Self {
        let (address, state) = (listener.local_addr().unwrap(), Arc::new(State::default()));
        let of_thread = state.clone();
        let thread = std::thread::spawn(move || {
            let mut connections = Vec::new();
            for stream in listener.incoming() {
                if of_thread.is_over.load(SeqCst) {
                    break;
                }
                let (Ok(stream), state) = (stream, of_thread.clone()) else { continue };
                of_thread.connections.fetch_add(1, SeqCst);
                let again = stream.try_clone().unwrap();
                connections.push((again, std::thread::spawn(move || serve(&stream, &state))));
            }
            for (stream, thread) in connections {
                let _ = stream.shutdown(Shutdown::Both);
                thread.join().unwrap();
            }
        });
        Server { address, state, thread: Some(thread) }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub fn put(&self, path: &str, bytes: &[u8]) {
        let version = self.state.versions.fetch_add(1, SeqCst) + 1;
        let object = Object { bytes: bytes.to_vec(), version, ..Object::default() };
        self.state.objects.lock().unwrap().insert(format!("/{}", decoded(path)), object);
    }

    /// The bytes of an object.
    pub fn bytes(&self, path: &str) -> Vec<u8> {
        self.state.objects.lock().unwrap()[&format!("/{path}")].bytes.clone()
    }

    /// The names of all objects.
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<_> = self.state.objects.lock().unwrap().keys().cloned().collect();
        names.sort();
        names
    }

    /// How many uploads in parts have begun and not ended.
    pub fn uploads(&self) -> usize {
        self.state.parts.lock().unwrap().len()
    }

    /// From now on others are the valid credentials, which `/credentials` tells.
    pub fn expire_credentials(&self) {
        self.state.credentials.fetch_add(1, SeqCst);
    }

    pub fn remove(&self, path: &str) {
        self.state.objects.lock().unwrap().remove(&format!("/{path}"));
    }

    /// Has the next requests for a path go wrong, one after the other.
    pub fn fail(&self, path: &str, faults: &[Fault]) {
        self.state.faults.lock().unwrap().insert(format!("/{path}"), faults.iter().cloned().collect());
    }

    /// Has all requests for a path go wrong.
    pub fn fail_always(&self, path: &str, fault: Fault) {
        self.state.always.lock().unwrap().insert(format!("/{path}"), fault);
    }

    pub fn set_latency(&self, latency: Duration) {
        *self.state.latency.lock().unwrap() = latency;
    }

    /// From now on a range of more bytes from the end than the object has is none.
    pub fn refuse_long_suffixes(&self) {
        self.state.refuses_long_suffixes.store(true, SeqCst);
    }

    pub fn set_no_ranges(&self) {
        self.state.has_no_ranges.store(true, SeqCst);
    }

    pub fn set_weak_etags(&self) {
        self.state.has_weak_etags.store(true, SeqCst);
    }

    /// From now on these lines of the header tell the versions of all objects, also of those that change.
    pub fn send_versions(&self, lines: &'static str) {
        *self.state.versions_sent.lock().unwrap() = Some(lines);
    }

    /// From now on requests without bytes are answered with this status; 200: but without a length.
    pub fn refuse_heads(&self, status: usize) {
        self.state.refuses_heads.store(status, SeqCst);
    }

    /// How many requests were being answered at the same time since the last time.
    pub fn most(&self) -> usize {
        self.state.most.swap(0, SeqCst)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> usize {
        self.state.connections.load(SeqCst)
    }

    /// The bytes of objects that were sent since the last time.
    pub fn sent(&self) -> usize {
        self.state.sent.swap(0, SeqCst)
    }

    pub fn requests_in_flight(&self) -> usize {
        self.state.requests_in_flight.load(SeqCst)
    }

    /// The requests since the last time: paths, and first and last bytes.
    pub fn log(&self) -> Vec<Asked> {
        std::mem::take(&mut *self.state.log.lock().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.state.is_over.store(true, SeqCst);
        // The thread waits for a connection.
        let _ = TcpStream::connect(self.address);
        let _ = self.thread.take().unwrap().join();
    }
}

/// The requests of one connection.
fn serve(stream: &TcpStream, state: &State) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut first = String::new();
        if reader.read_line(&mut first).unwrap_or(0) == 0 {
            return;
        }
        let mut headers = HashMap::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            headers.insert(name.to_lowercase(), value.to_owned());
        }
        let length = headers.get("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
        let mut body = vec![0; length];
        if reader.read_exact(&mut body).is_err() {
            return;
        }
        let mut words = first.split(' ');
        let (method, target) = (words.next().unwrap().to_owned(), words.next().unwrap());
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let query = query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
        let query = query.map(|(name, value)| (name.to_owned(), decoded(&value.replace('+', " ")))).collect();
        let request = Request { method, path: decoded(path), query, headers, body };
        state.most.fetch_max(state.requests_in_flight.fetch_add(1, SeqCst) + 1, SeqCst);
        if !answer(stream, state, &request) {
            let _ = stream.shutdown(Shutdown::Both);
            return;
        }
    }
}

/// Whether `If-Match` is true of an object with this ETag: by RFC 9110 a weak one is equal to none, not even to itself.
fn matches(wanted: &str, etag: &str) -> bool {
    wanted == "*" || !etag.starts_with("W/") && wanted.split(',').any(|wanted| wanted.trim() == etag)
}

/// Answers a request; `false` if the connection is over.
fn answer(mut stream: &TcpStream, state: &State, request: &Request) -> bool {
    let Request { method, path, headers, .. } = request;
    // Azure's own clients ask by a header of their own.
    let range = headers.get("x-ms-range").or_else(|| headers.get("range"));
    let range = range.map(|range| range.strip_prefix("bytes=").unwrap().split_once('-').unwrap());
    let logged = range.map(|(begin, end)| (begin.parse().unwrap_or(u64::MAX), end.parse().unwrap_or(u64::MAX)));
    let number = {
        let mut log = state.log.lock().unwrap();
        log.push((path.clone(), logged));
        log.len()
    };
    // With a tail: some answers take much longer.
    let latency = *state.latency.lock().unwrap();
    std::thread::sleep(if number % SLOW == 0 { 4 * latency } else { latency });
    let is_read = ["GET", "HEAD"].contains(&&**method);
    let fault = state.faults.lock().unwrap().get_mut(path).and_then(|faults| match faults.front() {
        // That of a write waits for one.
        Some(Fault::Done(_)) if is_read => None,
        _ => faults.pop_front(),
    });
    let fault = fault.or_else(|| state.always.lock().unwrap().get(path).cloned());
    // Whoever has the answer finds that the request is not in flight any more.
    if !matches!(fault, Some(Fault::Silent)) {
        state.requests_in_flight.fetch_sub(1, SeqCst);
    }
    match &fault {
        Some(Fault::Closed) => return false,
        Some(Fault::Silent) => {
            while !state.is_over.load(SeqCst) && !is_closed(stream) {
                std::thread::sleep(Duration::from_millis(5));
            }
            state.requests_in_flight.fetch_sub(1, SeqCst);
            return false;
        }
        Some(Fault::Status(status, lines)) => {
            return write!(stream, "HTTP/1.1 {status} X\r\n{lines}Content-Length: 5\r\n\r\nsorry").is_ok();
        }
        _ => {}
    }
    if method == "HEAD" && state.refuses_heads.load(SeqCst) > 0 {
        let status = state.refuses_heads.load(SeqCst);
        let length = if status == 200 { "Transfer-Encoding: chunked" } else { "Content-Length: 0" };
        return write!(stream, "HTTP/1.1 {status} X\r\n{length}\r\n\r\n").is_ok();
    }
    if let Some((mut status, lines, mut body)) = store::answer(state, request) {
        if let Some(Fault::Done(other)) = fault {
            (status, body) = (other, String::new());
        }
        if status == 0 {
            return false;
        }
        let body = if method == "HEAD" { String::new() } else { body };
        let length = body.len();
        return write!(stream, "HTTP/1.1 {status} X\r\n{lines}Content-Length: {length}\r\n\r\n{body}").is_ok();
    }
    let objects = state.objects.lock().unwrap();
    let Some(object) = objects.get(path) else {
        return stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n").is_ok();
    };
    let weak = if state.has_weak_etags.load(SeqCst) { "W/" } else { "" };
    let (bytes, etag) = (object.bytes.clone(), format!("{weak}\"{}\"", object.version));
    let of_version = state.versions_sent.lock().unwrap().map_or_else(|| store::lines(&etag), str::to_owned);
    let of_version = of_version + &object.metadata;
    drop(objects);
    if headers.get("if-match").is_some_and(|wanted| !matches(wanted, &etag)) {
        return stream.write_all(b"HTTP/1.1 412 Precondition Failed\r\nContent-Length: 0\r\n\r\n").is_ok();
    }
    let len = bytes.len();
    let range = range.filter(|_| !state.has_no_ranges.load(SeqCst)).map(|(begin, end)| match begin {
        "" => match len.checked_sub(end.parse().unwrap()) {
            None if state.refuses_long_suffixes.load(SeqCst) => (len, len),
            begin => (begin.unwrap_or(0), len),
        },
        begin => (begin.parse().unwrap(), end.parse::<usize>().map_or(len, |end| len.min(end.saturating_add(1)))),
    });
    let (status, mut part) = match range {
        Some((begin, end)) if begin >= end => {
            return write!(stream, "HTTP/1.1 416 X\r\nContent-Range: bytes */{len}\r\nContent-Length: 0\r\n\r\n")
                .is_ok();
        }
        Some((begin, end)) => (206, begin..end),
        None => (200, 0..len),
    };
    if status == 206 && matches!(fault, Some(Fault::OtherRange)) {
        part = part.start..part.start + (part.end - part.start) / 2;
    }
    let mut header = format!("HTTP/1.1 {status} OK\r\nAccept-Ranges: bytes\r\n{of_version}");
    if status == 206 {
        header += &format!("Content-Range: bytes {}-{}/{len}\r\n", part.start, part.end - 1);
    }
    let mut body = &bytes[part];
    let half = &body[..body.len() / 2];
    if matches!(fault, Some(Fault::Short)) {
        body = half;
    }
    if matches!(fault, Some(Fault::Pieces)) {
        let _ = write!(stream, "{header}Transfer-Encoding: chunked\r\n\r\n{:x}\r\n", body.len());
        let sent = stream.write_all(body).is_ok();
        return sent && stream.write_all(b"\r\n0\r\n\r\n").is_ok();
    }
    header += &format!("Content-Length: {}\r\n\r\n", body.len());
    if stream.write_all(header.as_bytes()).is_err() {
        return false;
    }
    if matches!(fault, Some(Fault::BrokenOff | Fault::BrokenOffThenChanged(_))) {
        let _ = stream.write_all(half);
        change(state, path, fault);
        return false;
    }
    if method != "HEAD" {
        state.sent.fetch_add(body.len(), SeqCst);
    }
    let sent = method == "HEAD" || stream.write_all(body).is_ok();
    change(state, path, fault);
    sent
}

/// The object has other bytes, if the fault says so.
fn change(state: &State, path: &str, fault: Option<Fault>) {
    if let Some(Fault::ThenChanged(bytes) | Fault::BrokenOffThenChanged(bytes)) = fault {
        let version = state.versions.fetch_add(1, SeqCst) + 1;
        let object = Object { bytes, version, ..Object::default() };
        state.objects.lock().unwrap().insert(path.to_owned(), object);
    }
}

/// Whether the other side has gone.
fn is_closed(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    matches!(peeked, Ok(0)) || peeked.is_err_and(|error| error.kind() != std::io::ErrorKind::WouldBlock)
}
