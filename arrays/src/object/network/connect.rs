//! From a URL to a client of its object store or server, with what the environment says of it.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::client::{ClientOptions, HttpRequest, HttpRequestBody};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::http::HttpBuilder;
use object_store::{BackoffConfig, ClientConfigKey, ObjectStore, RetryConfig};

use super::client::Redirects;
use super::failure;
use super::renewing::Renewing;
use super::service::Clients;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::object::url::{Service, Url, check_bucket, check_key};

/// How long things may take.
#[derive(Debug, Clone, Copy)]
pub(super) struct Times {
    /// One read, listing or removal, with all that is tried again.
    pub all: Duration,
}

/// The name of the variable that says how long, in seconds.
const VARIABLE: &str = "NCZCHUNK_NETWORK_TIMEOUT";
const SECONDS: f64 = 120.0;
const MOST_SECONDS: f64 = 86_400.0;

impl Times {
    /// What the environment says.
    ///
    /// # Errors
    /// `Argument` if that is no number of seconds.
    pub(super) fn of_environment() -> Result<Self> {
        let Some(value) = env::var_os(VARIABLE) else { return Ok(Times { all: Duration::from_secs_f64(SECONDS) }) };
        let seconds = value.to_str().and_then(|text| text.parse::<f64>().ok());
        match seconds.filter(|seconds| *seconds > 0.0 && *seconds <= MOST_SECONDS) {
            Some(seconds) => Ok(Times { all: Duration::from_secs_f64(seconds) }),
            None => {
                let reason = "NCZCHUNK_NETWORK_TIMEOUT must be a number of seconds above 0 and up to 86400";
                Err(ErrorKind::Argument(reason).into())
            }
        }
    }

    /// How long the server may be silent before it is asked again.
    fn silence(self) -> Duration {
        self.all / 4
    }

    fn connection(self) -> Duration {
        self.silence().min(Duration::from_secs(5))
    }

    /// How long what has failed is tried again. That is less than there is, so that the last failure is reported.
    pub(super) fn patience(self) -> Duration {
        self.all / 2
    }

    fn retries(self) -> RetryConfig {
        let (first, most) = (Duration::from_millis(100), Duration::from_secs(5));
        // The first pause may not be longer than the longest one.
        let max_backoff = most.min(self.all / 8).max(Duration::from_millis(1));
        let backoff = BackoffConfig { init_backoff: first.min(max_backoff), max_backoff, base: 2.0 };
        RetryConfig { backoff, max_retries: 8, retry_timeout: self.patience() }
    }

    /// The settings of clients, and the variables by which the user may override them.
    fn settings(self) -> [(ClientConfigKey, &'static str, String); 3] {
        let milliseconds = |duration: Duration| format!("{} ms", duration.as_millis().max(1));
        [
            (ClientConfigKey::Timeout, "TIMEOUT", milliseconds(self.all)),
            (ClientConfigKey::ConnectTimeout, "CONNECT_TIMEOUT", milliseconds(self.connection())),
            (ClientConfigKey::ReadTimeout, "READ_TIMEOUT", milliseconds(self.silence())),
        ]
    }
}

/// The gap that the environment asks for between ranges that are read by one request.
///
/// # Errors
/// `Argument` if that is no number of bytes.
pub(super) fn gap_of_environment() -> Result<Option<usize>> {
    let Some(value) = env::var_os("NCZCHUNK_NETWORK_GAP") else { return Ok(None) };
    let bytes = value.to_str().and_then(|text| text.parse::<usize>().ok());
    let wrong = || ErrorKind::Argument("NCZCHUNK_NETWORK_GAP must be a number of bytes").into();
    bytes.map(Some).ok_or_else(wrong)
}

/// Refuses what is no URL of a server: the client would fail with each request, and not say why.
fn check_server(url: Option<String>) -> Result<()> {
    let mut request = HttpRequest::new(HttpRequestBody::empty());
    let is_url = |text: &str| {
        let uri = text.parse().map(|uri| *request.uri_mut() = uri);
        uri.is_ok() && reqwest::Url::parse(text).is_ok_and(|url| url.has_host())
    };
    if url.as_deref().is_none_or(is_url) {
        return Ok(());
    }
    Err(ErrorKind::Argument("the endpoint of the object store is not the URL of a server").into())
}

/// Whether the environment has one of these variables.
fn has_any(names: &[&str]) -> bool {
    names.iter().any(|name| env::var_os(name).is_some_and(|value| !value.is_empty()))
}

/// Whether the server is the program's choice, or the environment's: only such a one gets credentials.
fn is_known(url: &Url<'_>) -> bool {
    let Some(scheme) = url.scheme.filter(|_| url.is_of_document) else { return true };
    let server = format!("{scheme}://{}", url.authority);
    ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL", "AWS_ENDPOINT"]
        .iter()
        .any(|name| env::var(name).is_ok_and(|endpoint| endpoint.trim_end_matches('/').eq_ignore_ascii_case(&server)))
}

/// A client, and the path of what the URL names there.
///
/// # Errors
/// Those of the settings in the environment, and of the URL.
pub(super) fn connect<'u>(url: &Url<'u>, times: Times, clients: &Clients) -> Result<(Arc<dyn ObjectStore>, &'u str)> {
    let (store, path) = client(url, times, clients)?;
    if url.service == Service::Http {
        // It has no credentials.
        return Ok((store, path));
    }
    let text = |text: &str| Ok::<_, Error>(alloc::text(text)?);
    let (whole, authority, of_server) = (text(url.text)?, text(url.authority)?, text(url.path)?);
    let (scheme, service, content) = (url.scheme.map(text).transpose()?, url.service, url.content);
    let is_of_document = url.is_of_document;
    let clients = clients.clone();
    let make = move || {
        let scheme = scheme.as_deref();
        let (text, authority, path) = (&*whole, &*authority, &*of_server);
        let url = Url { text, service, scheme, authority, path, content, is_of_document };
        client(&url, times, &clients).map(|(store, _)| store)
    };
    Ok((Arc::new(Renewing::new(store, Box::new(make))), path))
}

/// A client with the credentials that the environment leads to now.
fn client<'u>(url: &Url<'u>, times: Times, clients: &Clients) -> Result<(Arc<dyn ObjectStore>, &'u str)> {
    // Another part of the program may have chosen already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let failed = |error: object_store::Error| failure::refused("the storage cannot be used", &error);
    // Times that the user has chosen are those of all requests.
    let is_chosen = |service: &str| has_any(&[&format!("{service}_TIMEOUT"), &format!("{service}_READ_TIMEOUT")]);
    let connector = |service| clients.connector(Redirects::Refused, (!is_chosen(service)).then(|| times.silence()));
    match url.service {
        Service::Http => {
            let mut options = ClientOptions::new().with_allow_http(true);
            for (key, _, value) in times.settings() {
                options = options.with_config(key, value);
            }
            let server = format!("{}://{}", url.scheme.unwrap_or("https"), url.authority);
            let builder = HttpBuilder::new().with_url(server).with_client_options(options);
            Ok((
                Arc::new(
                    builder
                        .with_retry(times.retries())
                        .with_http_connector(clients.connector(Redirects::Followed, None))
                        .build()
                        .map_err(failed)?,
                ),
                url.path,
            ))
        }
        Service::S3 => {
            let mut builder =
                AmazonS3Builder::from_env().with_retry(times.retries()).with_http_connector(connector("AWS"));
            for (key, name, value) in times.settings() {
                if !has_any(&[&format!("AWS_{name}")]) {
                    builder = builder.with_config(AmazonS3ConfigKey::Client(key), value);
                }
            }
            let is_told = has_any(&[
                "AWS_SKIP_SIGNATURE",
                "AWS_ACCESS_KEY_ID",
                "AWS_WEB_IDENTITY_TOKEN_FILE",
                "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
                "AWS_CONTAINER_CREDENTIALS_FULL_URI",
                "AWS_METADATA_ENDPOINT",
            ]);
            if !is_told || !is_known(url) {
                builder = builder.with_skip_signature(true);
            }
            let (builder, path) = match url.scheme {
                None => (builder.with_bucket_name(url.authority), url.path),
                // netCDF's way to name the server: https://SERVER/BUCKET/KEY#mode=s3
                Some(scheme) => {
                    let (bucket, path) = url.path.split_once('/').unwrap_or((url.path, ""));
                    if bucket.is_empty() {
                        return Err(ErrorKind::Argument("the URL does not name a bucket").into());
                    }
                    check_bucket(bucket)?;
                    check_key(path)?;
                    // This one is asked, whatever server the environment names in which way.
                    let server = format!("{scheme}://{}", url.authority);
                    let builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, server);
                    let is_plain = scheme.eq_ignore_ascii_case("http");
                    let builder = builder.with_virtual_hosted_style_request(false).with_bucket_name(bucket);
                    (if is_plain { builder.with_allow_http(true) } else { builder }, path)
                }
            };
            check_server(builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint))?;
            check_server(builder.get_config_value(&AmazonS3ConfigKey::Endpoint))?;
            Ok((Arc::new(builder.build().map_err(failed)?), path))
        }
        Service::Google => {
            let mut builder = GoogleCloudStorageBuilder::from_env()
                .with_retry(times.retries())
                .with_http_connector(connector("GOOGLE"));
            for (key, name, value) in times.settings() {
                if !has_any(&[&format!("GOOGLE_{name}")]) {
                    builder = builder.with_config(GoogleConfigKey::Client(key), value);
                }
            }
            let is_told = has_any(&[
                "GOOGLE_SKIP_SIGNATURE",
                "GOOGLE_SERVICE_ACCOUNT",
                "GOOGLE_SERVICE_ACCOUNT_PATH",
                "GOOGLE_SERVICE_ACCOUNT_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "SERVICE_ACCOUNT",
            ]);
            if !is_told {
                builder = builder.with_skip_signature(true);
            }
            let builder = builder.with_bucket_name(url.authority);
            check_server(builder.get_config_value(&GoogleConfigKey::BaseUrl))?;
            Ok((Arc::new(builder.build().map_err(failed)?), url.path))
        }
        Service::Azure => {
            let mut builder =
                MicrosoftAzureBuilder::from_env().with_retry(times.retries()).with_http_connector(connector("AZURE"));
            for (key, name, value) in times.settings() {
                if !has_any(&[&format!("AZURE_{name}")]) {
                    builder = builder.with_config(AzureConfigKey::Client(key), value);
                }
            }
            // Each kind of credentials has several names; what they have in common is said here.
            let is_credential = |name: &str| {
                name.starts_with("AZURE_")
                    && ["KEY", "SECRET", "TOKEN", "TOKEN_FILE", "SKIP_SIGNATURE", "USE_AZURE_CLI", "USE_EMULATOR"]
                        .iter()
                        .any(|end| name.ends_with(end))
            };
            let is_told = env::vars_os().any(|(name, _)| name.to_str().is_some_and(is_credential));
            if !is_told {
                builder = builder.with_skip_signature(true);
            }
            let builder = builder.with_container_name(url.authority);
            Ok((Arc::new(builder.build().map_err(failed)?), url.path))
        }
    }
}
