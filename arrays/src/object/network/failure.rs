//! What servers answer, as errors.

use std::fmt;

use object_store::Error as StoreError;

use crate::error::{Error, ErrorKind};

/// What a server or the network has said, on one line.
#[derive(Debug)]
struct Cause(String);

/// How many bytes of it messages quote. Some servers answer with pages.
const TOLD: usize = 400;

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Cause {}

impl Cause {
    fn of(error: &dyn std::error::Error) -> Self {
        let mut text = error.to_string();
        // The innermost error says the most: "connection refused".
        let mut next = error.source();
        while let Some(source) = next {
            let inner = source.to_string();
            if !text.contains(&inner) {
                text = format!("{text}: {inner}");
            }
            next = source.source();
        }
        let mut text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        if text.len() > TOLD {
            let end = (0..=TOLD).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.truncate(end);
            text.push_str(" ...");
        }
        Cause(text)
    }
}

/// An error of the network, with its cause.
pub(super) fn failed(reason: &'static str, cause: &dyn std::error::Error) -> Error {
    Error::from(ErrorKind::Network(reason)).with_source(Cause::of(cause))
}

/// What was asked for cannot be, whatever a server says.
pub(super) fn refused(reason: &'static str, cause: &dyn std::error::Error) -> Error {
    Error::from(ErrorKind::Argument(reason)).with_source(Cause::of(cause))
}

/// The error that a store's is.
pub(super) fn of_store(error: &StoreError) -> Error {
    match error {
        StoreError::PermissionDenied { .. } | StoreError::Unauthenticated { .. } => {
            Error::from(ErrorKind::Refused).with_source(Cause::of(error))
        }
        StoreError::Precondition { .. } | StoreError::AlreadyExists { .. } => {
            Error::from(ErrorKind::Conflict).with_source(Cause::of(error))
        }
        StoreError::NotSupported { .. } | StoreError::NotImplemented { .. } => {
            failed("the server does not support the request", error)
        }
        _ => failed("the request to the server failed", error),
    }
}

/// Whether the server may have answered that the credentials have expired.
pub(super) fn has_expired(error: &StoreError) -> bool {
    // S3 answers 400 or 403 with this word; an answer to HEAD has no words.
    let is_said = |source: &dyn std::error::Error| {
        let text = source.to_string();
        let is_silent = || ["400 Bad Request: ", "403 Forbidden: "].iter().any(|status| text.ends_with(status));
        text.contains("ExpiredToken") || is_silent()
    };
    match error {
        StoreError::Unauthenticated { .. } => true,
        StoreError::PermissionDenied { source, .. } | StoreError::Generic { source, .. } => is_said(&**source),
        _ => false,
    }
}

/// Whether the server has answered that there is nothing in this range.
pub(super) fn is_out_of_range(error: &StoreError) -> bool {
    has_status(error, " status code: 416 ")
}

/// Whether the server has answered a listing that there is no such bucket or container.
pub(super) fn has_no_bucket(error: &StoreError) -> bool {
    has_status(error, " status code: 404 ")
}

/// The crate does not tell the number in another way.
fn has_status(error: &StoreError, words: &str) -> bool {
    matches!(error, StoreError::Generic { source, .. } if source.to_string().contains(words))
}

/// Whether the server has answered what cannot be used, such as the whole object in place of a range.
pub(super) fn is_unusable(error: &StoreError) -> bool {
    match error {
        StoreError::NotSupported { .. } => true,
        StoreError::Generic { source, .. } => !source.to_string().starts_with("Error performing "),
        _ => false,
    }
}
