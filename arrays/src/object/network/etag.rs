//! ETags: which of them tell versions of an object apart.
//!
//! If a connection breaks off, the client goes on in the middle of the object as long as the ETag is the same. So it
//! does not see ETags that other bytes may have as well. In place of such a one each answer gets one of its own, and
//! what the server has sent is kept beside it.

use core::sync::atomic::{AtomicU64, Ordering::Relaxed};

use object_store::client::HttpResponse;
use object_store::{GetResult, ObjectMeta};
use reqwest::header::{DATE, ETAG, HeaderValue, LAST_MODIFIED};

/// The ETag that a server has sent, as a weak one.
#[derive(Debug, Clone)]
struct Weak(String);

/// Whether no other bytes have the same ETag: those of a weak one may differ, and no request can ask for it, for to a
/// server `If-Match` is not true of any weak one. An empty one tells nothing.
pub(super) fn is_strong(etag: &str) -> bool {
    !etag.starts_with("W/") && !opaque(etag).is_empty()
}

/// What an ETag consists of, without the mark that it is weak.
pub(super) fn opaque(etag: &str) -> &str {
    etag.strip_prefix("W/").unwrap_or(etag).trim_matches('"')
}

/// Hides the ETag of an answer from the client if other bytes may have the same. `is_of_file` if the server may make
/// ETags of the times of files, which many know to the second: an object that has changed in the second in which it is
/// sent may change once more, with the same ETag.
pub(super) fn hide(response: &mut HttpResponse, is_of_file: bool) {
    static ANSWERS: AtomicU64 = AtomicU64::new(0);
    let headers = response.headers();
    let Some(etag) = headers.get(ETAG).and_then(|etag| etag.to_str().ok()) else { return };
    let is_new = is_of_file && headers.get(DATE).is_some_and(|date| headers.get(LAST_MODIFIED) == Some(date));
    if is_strong(etag) && !is_new {
        return;
    }
    let weak = if etag.starts_with("W/") { etag.to_owned() } else { format!("W/{etag}") };
    let own = HeaderValue::try_from(format!("W/\"{}\"", ANSWERS.fetch_add(1, Relaxed)));
    let Ok(own) = own else { return };
    response.headers_mut().insert(ETAG, own);
    response.extensions_mut().insert(Weak(weak));
}

/// What an answer says of an object, with the ETag that the server has sent.
pub(super) fn meta(result: &GetResult) -> ObjectMeta {
    let mut meta = result.meta.clone();
    if let Some(Weak(etag)) = result.extensions.get::<Weak>() {
        meta.e_tag = Some(etag.clone());
    }
    meta
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weak_and_empty_etags_are_no_versions() {
        for (etag, strong) in [("\"1\"", true), ("1", true), ("W/\"1\"", false), ("\"\"", false), ("", false)] {
            assert_eq!(is_strong(etag), strong, "{etag}");
        }
        assert_eq!((opaque("W/\"1\""), opaque("\"1\""), opaque("1")), ("1", "1", "1"));
    }
}
