//! HTTP clients: those of the crate object_store, but that they follow no redirects where requests are signed, never
//! tell a server which URL has led to it, ask for no encoding of what is stored, read no endless answers and rely on no
//! weak ETags.

use std::collections::hash_map::RandomState;
use std::fmt::Display;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::pin::Pin;
use std::str::FromStr;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body::{Body, Frame};
use object_store::client::{
    HttpClient, HttpError, HttpErrorKind, HttpRequest, HttpResponse, HttpResponseBody, HttpService,
};
use object_store::{ClientConfigKey as Key, ClientOptions, Error, Result};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{ACCEPT_ENCODING, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Method, StatusCode};

use super::etag;

/// What a client does if the server says that something is elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirects {
    Followed,
    /// They are errors: what was signed for one server is no other's, and of a write that is led to a page nothing is
    /// stored.
    Refused,
}

/// A client with these options.
///
/// # Errors
/// Those of the options.
pub(super) fn client(options: &ClientOptions, redirects: Redirects) -> Result<HttpClient> {
    let text = |key| options.get_config_value(&key);
    let is_set = |key| text(key).map_or(Ok(false), |text| switch(&text));
    let duration = |key| text(key).map(|text| humantime::parse_duration(&text).map_err(failed)).transpose();
    let mut builder = reqwest::ClientBuilder::new()
        .user_agent(text(Key::UserAgent).unwrap_or_else(|| concat!("nczchunk/", env!("CARGO_PKG_VERSION")).to_owned()))
        // What is compressed has another length than the object.
        .no_gzip()
        .no_brotli()
        .no_zstd()
        .no_deflate()
        // To a request that does not say so, a server may send any encoding.
        .default_headers(HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("identity"))]))
        .referer(false)
        .redirect(if redirects == Redirects::Followed { Policy::default() } else { Policy::none() })
        .https_only(!is_set(Key::AllowHttp)?)
        .tls_danger_accept_invalid_certs(is_set(Key::AllowInvalidCertificates)?)
        .http2_keep_alive_while_idle(is_set(Key::Http2KeepAliveWhileIdle)?)
        .http2_keep_alive_interval(duration(Key::Http2KeepAliveInterval)?)
        .http2_max_frame_size(number::<u32>(text(Key::Http2MaxFrameSize))?);
    if let Some(url) = text(Key::ProxyUrl) {
        let excluded = text(Key::ProxyExcludes).and_then(|names| reqwest::NoProxy::from_string(&names));
        builder = builder.proxy(reqwest::Proxy::all(url).map_err(failed)?.no_proxy(excluded));
        if let Some(certificate) = text(Key::ProxyCaCertificate) {
            let certificate = reqwest::Certificate::from_pem(certificate.as_bytes()).map_err(failed)?;
            builder = builder.tls_certs_merge([certificate]);
        }
    }
    if is_set(Key::NoSystemCertificates)? {
        builder = builder.tls_certs_only([]);
    }
    for (key, set) in [
        (Key::Timeout, reqwest::ClientBuilder::timeout as fn(_, _) -> _),
        (Key::ConnectTimeout, reqwest::ClientBuilder::connect_timeout),
        (Key::ReadTimeout, reqwest::ClientBuilder::read_timeout),
        (Key::Http2KeepAliveTimeout, reqwest::ClientBuilder::http2_keep_alive_timeout),
        (Key::PoolIdleTimeout, reqwest::ClientBuilder::pool_idle_timeout),
    ] {
        if let Some(time) = duration(key)? {
            builder = set(builder, time);
        }
    }
    if let Some(most) = number(text(Key::PoolMaxIdlePerHost))? {
        builder = builder.pool_max_idle_per_host(most);
    }
    if is_set(Key::Http1Only)? {
        builder = builder.http1_only();
    }
    if is_set(Key::Http2Only)? {
        builder = builder.http2_prior_knowledge();
    }
    if is_set(Key::RandomizeAddresses)? {
        builder = builder.dns_resolver(Arc::new(AnyAddress));
    }
    let client = HttpClient::new(builder.build().map_err(failed)?);
    Ok(HttpClient::new(Bounded { client, redirects }))
}

fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::Generic { store: "HTTP client", source: Box::new(error) }
}

fn wrong(text: &str, what: impl Display) -> Error {
    Error::Generic { store: "HTTP client", source: format!("{text:?} is not {what}").into() }
}

/// What the crate takes for yes and no.
fn switch(text: &str) -> Result<bool> {
    match text.to_ascii_lowercase().as_str() {
        "1" | "true" | "on" | "yes" | "y" => Ok(true),
        "0" | "false" | "off" | "no" | "n" => Ok(false),
        _ => Err(wrong(text, "true or false")),
    }
}

fn number<N: FromStr>(text: Option<String>) -> Result<Option<N>> {
    text.map(|text| text.parse().map_err(|_| wrong(&text, "a number"))).transpose()
}

/// Looks names up, and begins with any of their addresses, so that not all connections are to one of many.
struct AnyAddress;

impl Resolve for AnyAddress {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let mut all: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            let first = RandomState::new().hash_one(()) as usize % all.len().max(1);
            all.rotate_left(first);
            Ok(Box::new(all.into_iter()) as Addrs)
        })
    }
}

/// What is read of the text that comes with an error.
const ERROR: usize = 64 << 10;
/// The longest answer that is read whole, which is a page of a list: stores send 5000 names of 1 KiB at most, with some
/// words about each.
const PAGE: usize = 64 << 20;

/// A client that reads no endless answers where they are read whole, and relies on no weak ETags.
#[derive(Debug)]
struct Bounded {
    client: HttpClient,
    redirects: Redirects,
}

#[async_trait::async_trait]
impl HttpService for Bounded {
    async fn call(&self, request: HttpRequest) -> std::result::Result<HttpResponse, HttpError> {
        let query = request.uri().query().unwrap_or_default();
        // Pages of lists, and what is said of what was done. What is read of objects is counted where it is read.
        let is_list = query.split('&').any(|part| part == "list-type=2" || part == "comp=list");
        let is_read = [Method::GET, Method::HEAD].contains(request.method());
        // Where redirects are followed it is a server of files.
        let (is_of_files, is_head) = (self.redirects == Redirects::Followed, request.method() == Method::HEAD);
        let mut response = self.client.execute(request).await?;
        // What is answered to a part of an upload is to be repeated at its end.
        if is_read {
            etag::hide(&mut response, is_of_files);
        }
        if is_of_files && is_head && response.status() == StatusCode::NOT_IMPLEMENTED {
            // It will not be at the next attempt, either.
            *response.status_mut() = StatusCode::METHOD_NOT_ALLOWED;
        }
        let is_error = !response.status().is_success();
        Ok(response.map(|body| match (is_error, is_list || !is_read) {
            (true, _) => HttpResponseBody::new(Cut { body, left: ERROR, is_error }),
            (false, true) => HttpResponseBody::new(Cut { body, left: PAGE, is_error }),
            (false, false) => body,
        }))
    }
}

/// A body of which so many bytes are read. The text of an error ends there, and is ASCII: the crate takes no other for
/// a text, and would not say any more what the error was. What else is longer is an error.
struct Cut {
    body: HttpResponseBody,
    left: usize,
    is_error: bool,
}

impl Body for Cut {
    type Data = Bytes;
    type Error = HttpError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Answered>> {
        if self.is_error && self.left == 0 {
            return Poll::Ready(None);
        }
        let frame = ready!(Pin::new(&mut self.body).poll_frame(cx));
        let Some(Ok(frame)) = frame else { return Poll::Ready(frame) };
        let Ok(mut bytes) = frame.into_data() else { return self.poll_frame(cx) };
        if !self.is_error && bytes.len() > self.left {
            let words = std::io::Error::other("the server sent an answer without an end");
            return Poll::Ready(Some(Err(HttpError::new(HttpErrorKind::Decode, words))));
        }
        bytes.truncate(self.left);
        self.left -= bytes.len();
        if self.is_error && !bytes.is_ascii() {
            bytes = bytes.iter().map(|&byte| if byte.is_ascii() { byte } else { b'?' }).collect();
        }
        Poll::Ready(Some(Ok(Frame::data(bytes))))
    }
}

type Answered = std::result::Result<Frame<Bytes>, HttpError>;
