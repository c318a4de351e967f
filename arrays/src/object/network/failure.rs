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
        let mut text = without_users(&without_tokens(&text.split_whitespace().collect::<Vec<_>>().join(" ")));
        if text.len() > TOLD {
            let end = (0..=TOLD).rev().find(|&end| text.is_char_boundary(end)).unwrap_or(0);
            text.truncate(end);
            text.push_str(" ...");
        }
        Cause(text)
    }
}

/// A text of a server without the credentials in it: S3 repeats the session token that it refuses, in an element
/// `Token-0`, and another region may take it still.
fn without_tokens(text: &str) -> String {
    const BEGIN: &str = "<Token-";
    let mut parts = text.split(BEGIN);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        left.push_str("<token/>");
        let behind = part.split_once("</Token-").and_then(|(_, behind)| behind.split_once('>'));
        left.push_str(behind.map_or("", |(_, behind)| behind));
    }
    left
}

/// A text without the names and passwords of users in the URLs in it.
fn without_users(text: &str) -> String {
    const BEGIN: &str = "://";
    let mut parts = text.split(BEGIN);
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let authority = part.split(['/', ' ', '"', '?', '#']).next().unwrap_or_default();
        left.push_str(BEGIN);
        left.push_str(part.get(authority.rfind('@').map_or(0, |at| at + 1)..).unwrap_or_default());
    }
    left
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
        StoreError::NotFound { .. } if !is_absent(error) => {
            Error::from(ErrorKind::Refused).with_source(Cause::of(error))
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

/// Whether the server has answered that there is no such object. To the crate an HTTP server that refuses the method
/// has said so, too.
pub(super) fn is_absent(error: &StoreError) -> bool {
    matches!(error, StoreError::NotFound { .. }) && !is_method_refused(error)
}

/// Whether the server refuses to be asked in this way, such as for what it would send, without the bytes.
pub(super) fn is_method_refused(error: &StoreError) -> bool {
    has_status(error, "405")
}

/// Whether the server has answered that there is nothing in this range.
pub(super) fn is_out_of_range(error: &StoreError) -> bool {
    has_status(error, "416")
}

/// Whether the server has answered a listing that there is no such bucket or container.
pub(super) fn has_no_bucket(error: &StoreError) -> bool {
    has_status(error, "404")
}

/// Whether a write may have been carried out that has failed so: the answer to it was lost, or was that to the same
/// request once more.
pub(super) fn may_be_done(error: &StoreError) -> bool {
    matches!(error, StoreError::AlreadyExists { .. } | StoreError::Precondition { .. } | StoreError::Generic { .. })
}

/// Whether an upload in parts may have ended whose end has failed so. Of one that has ended, a store says that there is
/// none.
pub(super) fn is_end_refused(error: &StoreError) -> bool {
    may_be_done(error) || matches!(error, StoreError::NotFound { .. })
}

/// Whether the server has answered with this status. The crate does not tell the number in another way.
fn has_status(error: &StoreError, status: &str) -> bool {
    let (StoreError::Generic { source, .. } | StoreError::NotFound { source, .. }) = error else { return false };
    let text = source.to_string();
    // What comes before is the method and the URL, in which there is no space; what comes behind is the server's.
    let said = text.split_once(" status code: ").and_then(|(_, behind)| behind.split_once(' '));
    said.is_some_and(|(said, _)| said == status)
}

/// Whether the server has answered what cannot be used, such as the whole object in place of a range.
pub(super) fn is_unusable(error: &StoreError) -> bool {
    match error {
        StoreError::NotSupported { .. } => true,
        StoreError::Generic { source, .. } => !source.to_string().starts_with("Error performing "),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_tokens_are_not_repeated() {
        for (text, left) in [
            ("no token", "no token"),
            ("a <Token-0>secret</Token-0> b", "a <token/> b"),
            ("a <Token-0>secret</Token-0> b <Token-1>secret</Token-1>", "a <token/> b <token/>"),
            ("cut off <Token-0>sec", "cut off <token/>"),
        ] {
            assert_eq!(without_tokens(text), left);
        }
    }

    #[test]
    fn users_in_urls_are_not_repeated() {
        for (text, left) in [
            ("no URL, a@b", "no URL, a@b"),
            ("GET http://me:hunter2@h:1/a@b in 1s", "GET http://h:1/a@b in 1s"),
            ("\"https://me@h\" and s3://b/a@c, http://h@", "\"https://h\" and s3://b/a@c, http://"),
        ] {
            assert_eq!(without_users(text), left);
        }
    }
}
