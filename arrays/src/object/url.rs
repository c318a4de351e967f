//! URLs of object stores and HTTP servers: which paths are such URLs, and what netCDF's words behind a `#` say of them.

use std::path::Path;

use crate::error::{ErrorKind, Result};

/// How a URL begins, and what answers there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    Http,
    S3,
    Google,
    Azure,
}

/// What is stored at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Content {
    /// Whatever is found there.
    Any,
    /// Zarr's objects, of which the URL is the prefix.
    Zarr,
    /// One file.
    File,
    /// A zip file.
    Zip,
}

/// A URL in its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Url<'u> {
    /// All of it but the fragment, as it was given.
    pub text: &'u str,
    pub service: Service,
    /// `http` or `https`, if the URL of its server names an object store.
    pub scheme: Option<&'u str>,
    /// The server, with its port; of the other schemes the bucket or container.
    pub authority: &'u str,
    /// What follows the authority and a `/`.
    pub path: &'u str,
    pub content: Content,
    /// Whether a document has it, and not the program: then credentials go only to a server that the environment names.
    pub is_of_document: bool,
}

const SCHEMES: [(&str, Service); 5] = [
    ("http", Service::Http),
    ("https", Service::Http),
    ("s3", Service::S3),
    ("gs", Service::Google),
    ("az", Service::Azure),
];

impl<'u> Url<'u> {
    /// The URL that a path is, if it is one.
    ///
    /// # Errors
    /// `Argument` for a URL without a server or bucket, for a bucket or key that cannot be asked for as it is, for a
    /// fragment that says what is not known, and for one whose words contradict each other; `Unsupported` for a query,
    /// and for a user.
    pub(crate) fn of(path: &'u Path) -> Result<Option<Self>> {
        let Some((scheme, rest)) = path.to_str().and_then(|text| text.split_once("://")) else { return Ok(None) };
        let is_scheme = |(name, _): &&(&str, Service)| name.eq_ignore_ascii_case(scheme);
        let Some(&(_, service)) = SCHEMES.iter().find(is_scheme) else { return Ok(None) };
        let (rest, fragment) = rest.split_once('#').unwrap_or((rest, ""));
        let text = &path.to_str().unwrap_or_default()[..scheme.len() + "://".len() + rest.len()];
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if let Some((_, server)) = authority.rsplit_once('@') {
            // What comes before it is not repeated.
            return Err(ErrorKind::Unsupported("URLs with the name or the password of a user").in_object(server));
        }
        let scheme = (service == Service::Http).then_some(scheme);
        let content = Content::Any;
        let url = Url { text, service, scheme, authority, path, content, is_of_document: false };
        url.checked(fragment).map(Some).map_err(|error| error.in_object(text))
    }

    fn checked(mut self, fragment: &'u str) -> Result<Self> {
        if self.authority.is_empty() {
            return Err(ErrorKind::Argument("the URL names neither a server nor a bucket").into());
        }
        if self.service == Service::Http && (self.authority.contains('?') || self.path.contains('?')) {
            return Err(ErrorKind::Unsupported("URLs with a query, such as signed URLs").into());
        }
        if self.service != Service::Http {
            check_bucket(self.authority)?;
            check_key(self.path)?;
        }
        for part in fragment.split('&').filter(|part| !part.is_empty()) {
            // netCDF takes a word by itself for a mode.
            let (key, words) = part.split_once('=').unwrap_or(("mode", part));
            if key != "mode" {
                let reason = "the URL's fragment has an unknown key; the only one is mode";
                return Err(ErrorKind::Argument(reason).in_object(key));
            }
            words.split(',').try_for_each(|word| self.add_mode(word))?;
        }
        Ok(self)
    }

    /// What a word of netCDF's says.
    fn add_mode(&mut self, word: &str) -> Result<()> {
        let content = match (word, self.service) {
            ("zarr" | "nczarr" | "xarray" | "noxarray", _) => Content::Zarr,
            ("bytes", _) => Content::File,
            ("s3", Service::Http | Service::S3) => {
                self.service = Service::S3;
                return Ok(());
            }
            ("gs3", Service::Google) => return Ok(()),
            ("s3" | "gs3" | "file", _) => {
                let reason = "the mode in the URL's fragment does not match its scheme";
                return Err(ErrorKind::Argument(reason).in_object(word));
            }
            ("zip", _) => Content::Zip,
            _ => {
                let reason = "the mode in the URL's fragment is unknown; expected bytes, gs3, \
                              noxarray, nczarr, s3, xarray, zarr or zip";
                return Err(ErrorKind::Argument(reason).in_object(word));
            }
        };
        self.content = match (self.content, content) {
            (Content::Any, content) => content,
            (before, content) if before == content => content,
            // What is in the zip file.
            (Content::Zarr, Content::Zip) | (Content::Zip, Content::Zarr) => Content::Zip,
            _ => return Err(ErrorKind::Argument("the modes in the fragment of the URL contradict each other").into()),
        };
        Ok(())
    }

    /// The path of what the file is in, and the file's name, if there may be a file at the URL.
    #[cfg(any(feature = "network", test))]
    pub(crate) fn file(&self, path: &'u str) -> Option<(&'u str, &'u str)> {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        let may_be = match self.content {
            Content::Any => !name.ends_with(".zarr"),
            Content::Zarr => false,
            Content::File | Content::Zip => true,
        };
        (may_be && !name.is_empty()).then_some((parent, name))
    }
}

/// Refuses what is no name of a bucket or container: in the URL of a request it could be something else, such as a
/// query, and lead to another bucket.
///
/// # Errors
/// `Argument`.
pub(crate) fn check_bucket(name: &str) -> Result<()> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:$".contains(&byte);
    if name.bytes().all(is_allowed) && name != "." && name != ".." {
        return Ok(());
    }
    let reason = "the URL's bucket or container has a character that no name of one has";
    Err(ErrorKind::Argument(reason).in_object(name))
}

/// Refuses keys that the client would ask for without some of their slashes. One at the end is left out by intention.
///
/// # Errors
/// `Argument`.
pub(crate) fn check_key(key: &str) -> Result<()> {
    if key.starts_with('/') || key.ends_with("//") {
        let reason = "keys with a slash at their beginning, or with several at their end, are not supported";
        return Err(ErrorKind::Argument(reason).into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(path: &str) -> Result<Option<Url<'_>>> {
        Url::of(Path::new(path))
    }

    #[test]
    fn urls_are_told_from_paths() {
        for path in ["a", "/a/b.zarr", "file:///a", "s3:/a", "ftp://a/b", "c:\\a", "a://b", "", "dir/s3://a/b"] {
            assert_eq!(of(path), Ok(None), "{path}");
        }
        let url = of("S3://bucket/a/b.zarr#mode=nczarr,s3").unwrap().unwrap();
        assert_eq!((url.service, url.authority, url.path), (Service::S3, "bucket", "a/b.zarr"));
        assert_eq!((url.text, url.content, url.scheme), ("S3://bucket/a/b.zarr", Content::Zarr, None));
        let url = of("http://host:80/a.nc").unwrap().unwrap();
        assert_eq!((url.service, url.authority, url.scheme), (Service::Http, "host:80", Some("http")));
        assert_eq!(url.file(url.path), Some(("", "a.nc")));
        let url = of("gs://bucket").unwrap().unwrap();
        assert_eq!((url.path, url.file(url.path)), ("", None));
        assert_eq!(url.file("a/b.zarr"), None);
        assert_eq!(url.file("a/b"), Some(("a", "b")));
        let url = of("https://host/bucket/key#mode=zarr,s3").unwrap().unwrap();
        assert_eq!((url.service, url.path, url.file("key")), (Service::S3, "bucket/key", None));
        for words in ["zip", "mode=nczarr,zip", "mode=zip,zarr"] {
            assert_eq!(of(&format!("s3://b/a.zarr#{words}")).unwrap().unwrap().file("a.zarr"), Some(("", "a.zarr")));
        }
        assert_eq!(of("az://$web/a/").unwrap().unwrap().path, "a/");
        assert_eq!(of("az://c/a.zarr#bytes").unwrap().unwrap().file("a.zarr"), Some(("", "a.zarr")));
    }

    #[test]
    fn what_is_not_known_is_refused_by_name() {
        for (path, words) in [
            ("s3:///a", "s3:///a: the URL names neither a server nor a bucket"),
            ("http://h/a?b=c", "http://h/a?b=c: not supported: URLs with a query, such as signed URLs"),
            ("http://h?b=c", "http://h?b=c: not supported: URLs with a query, such as signed URLs"),
            ("http://h?b=c/a", "http://h?b=c/a: not supported: URLs with a query, such as signed URLs"),
            ("s3://b?acl/a", "s3://b?acl/a: b?acl: the URL's bucket or container has a character that no name of one"),
            ("gs://a b/a", "gs://a b/a: a b: the URL's bucket or container has a character that no name of one has"),
            ("az://%2e/a", "az://%2e/a: %2e: the URL's bucket or container has a character that no name of one has"),
            ("s3://../a", "s3://../a: ..: the URL's bucket or container has a character that no name of one has"),
            ("s3://b//a", "s3://b//a: keys with a slash at their beginning, or with several at their end"),
            ("s3://b/a//", "s3://b/a//: keys with a slash at their beginning, or with several at their end"),
            ("s3://b/a#mode=hdf9", "s3://b/a: hdf9: the mode in the URL's fragment is unknown; expected bytes"),
            ("s3://b/a#profile=x", "s3://b/a: profile: the URL's fragment has an unknown key"),
            ("gs://b/a#mode=s3", "gs://b/a: s3: the mode in the URL's fragment does not match its scheme"),
            ("s3://b/a#mode=zarr,bytes", "s3://b/a: the modes in the fragment of the URL contradict each other"),
            ("s3://b/a#mode=zip,bytes", "s3://b/a: the modes in the fragment of the URL contradict each other"),
        ] {
            let error = of(path).unwrap_err().to_string();
            assert!(error.starts_with(words), "{error}");
        }
    }
}
