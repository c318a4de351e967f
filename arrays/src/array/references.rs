//! Files of references: JSON that says of which files the objects of Zarr arrays are parts, as kerchunk writes it.
//!
//! The source is the text of fsspec's ReferenceFileSystem, version 0 and 1. An object is a text, which may be base64,
//! or a JSON object, or a list: a path or URL, and if only a part is meant the first byte and how many.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, ByName, Value};
use crate::object::{Directory, ObjectStore, Reference, References, Target, Url, check_name};
#[cfg(feature = "network")]
use crate::object::{Network, Service};
use crate::shared::Shared;
use crate::zarr;

/// Where a file of references is, from which relative paths lead on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'o> {
    /// In this directory.
    Directory(&'o Path),
    /// At a URL that begins with this, up to the last `/`: from there no path of this machine can be referred to.
    #[cfg(feature = "network")]
    Below(&'o str),
}

/// The same for references that are read later.
#[cfg_attr(not(feature = "parquet"), allow(dead_code, reason = "only references in Parquet are read later"))]
pub(super) enum OwnedOrigin {
    Directory(PathBuf),
    #[cfg(feature = "network")]
    Below(String),
}

impl OwnedOrigin {
    #[cfg(feature = "parquet")]
    pub(super) fn origin(&self) -> Origin<'_> {
        match self {
            OwnedOrigin::Directory(directory) => Origin::Directory(directory),
            #[cfg(feature = "network")]
            OwnedOrigin::Below(begin) => Origin::Below(begin),
        }
    }
}

impl Origin<'_> {
    /// The whole path, or the URL, that a path or URL stands for.
    ///
    /// # Errors
    /// `Argument` for a path of this machine from elsewhere.
    pub(super) fn path(&self, url: &str) -> Result<PathBuf> {
        let path = match url.split_once("://") {
            Some(("file", path)) => path,
            Some(_) => return Ok(PathBuf::from(url)),
            None => url,
        };
        match self {
            Origin::Directory(directory) => Ok(directory.join(path)),
            #[cfg(feature = "network")]
            Origin::Below(begin) if path == url && !Path::new(path).has_root() => {
                Ok(PathBuf::from(from_url(begin, path)?))
            }
            #[cfg(feature = "network")]
            Origin::Below(_) => Err(FROM_ELSEWHERE.into()),
        }
    }
}

/// Whether a file that begins like this may be one of references.
pub(super) fn may_be(first: &[u8]) -> bool {
    first.trim_ascii_start().first() == Some(&b'{') && !first.contains(&0)
}

/// Whether the name of a directory says that it may have references in Parquet files.
pub(super) fn may_be_parquet(path: &Path) -> bool {
    let is_named = |end: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end));
    is_named("parq") || is_named("parquet")
}

/// The objects that a document says.
///
/// # Errors
/// `Metadata`, `Unsupported` for what kerchunk generates from formulas, `OutOfMemory`, `Argument` for names
/// that no object can have and for paths of this machine in references from elsewhere, and those of opening what they
/// lead to.
pub(super) fn read(document: &Value, origin: Origin<'_>) -> Result<References> {
    let root = At::root(document);
    root.check_object()?;
    let mut reading = Reading { origin, templates: HashMap::new(), targets: Targets::default() };
    let objects = match document.get("version") {
        None => reading.objects(&root)?,
        Some(version) if version.as_usize() == Some(1) => {
            if root.given("gen").is_some_and(|formulas| formulas.value().as_list().is_none_or(|list| !list.is_empty()))
            {
                return Err(root.unsupported("references that are generated (gen)"));
            }
            if let Some(templates) = root.given("templates") {
                for (name, at) in templates.members()? {
                    reading.templates.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
                    reading.templates.insert(alloc::text(name)?, alloc::text(at.text()?)?);
                }
            }
            reading.objects(&root.require("refs")?)?
        }
        Some(_) => return Err(root.unsupported("references of another version than 0 and 1")),
    };
    Ok(References::new(objects, None, reading.targets.stores.opened))
}

/// What is known while references are read.
struct Reading<'o> {
    origin: Origin<'o>,
    templates: HashMap<String, String>,
    targets: Targets,
}

/// What references lead to, by their paths and URLs as they are written.
#[derive(Default)]
pub(super) struct Targets {
    known: HashMap<String, Shared<Target>>,
    stores: Stores,
}

impl Targets {
    /// The stores that they are in, in the order in which they were opened.
    #[cfg(feature = "parquet")]
    pub(super) fn stores(&self) -> &[Shared<Box<dyn ObjectStore>>] {
        &self.stores.opened
    }

    /// What is written `written` and stands for this path or URL.
    pub(super) fn find(
        &mut self,
        written: &str,
        origin: Origin<'_>,
        url: impl FnOnce() -> Result<String>,
    ) -> Result<Shared<Target>> {
        if let Some(target) = self.known.get(written) {
            return Ok(target.clone());
        }
        let url = url()?;
        let target = Shared::new(self.stores.target(&url, origin).map_err(|error| error.in_object(&url))?)?;
        self.known.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        self.known.insert(alloc::text(written)?, target.clone());
        Ok(target)
    }
}

impl Reading<'_> {
    fn objects(&mut self, at: &At<'_>) -> Result<Vec<(String, Reference)>> {
        at.check_object()?;
        let (mut objects, mut has_scalars) = (Vec::<(String, Reference)>::new(), false);
        if let Some((name, _)) = at.value().members().iter().find(|(name, _)| !name.is_unicode()) {
            return Err(Error::from(NOT_UNICODE).in_object(&**name));
        }
        for (name, value) in ByName::new(at.value().members())?.distinct() {
            let about = |error: Error| if error.about().is_empty() { error.in_object(name) } else { error };
            let mut whole = alloc::text(name)?;
            // VirtualiZarr forgets the key of the only chunk of a scalar, which is 0.
            if name.ends_with('/') {
                alloc::push_text(&mut whole, "0")?;
                has_scalars = true;
            }
            check_name(&whole).map_err(about)?;
            let reference = self.reference(value).map_err(about)?;
            alloc::push(&mut objects, (whole, reference))?;
        }
        objects.sort_unstable_by(|one, other| one.0.cmp(&other.0));
        if let Some(twice) = objects.windows(2).find(|two| has_scalars && two[0].0 == two[1].0) {
            return Err(ErrorKind::Metadata("there are two references to this").in_object(&twice[0].0));
        }
        Ok(objects)
    }

    fn reference(&mut self, value: &Value) -> Result<Reference> {
        const RULE: ErrorKind = ErrorKind::Metadata("a reference is a text, an object, [URL] or [URL, offset, length]");
        if let Value::Text(text) = value {
            if !text.is_unicode() {
                return Err(NOT_UNICODE.into());
            }
            return Ok(Reference::Bytes(Shared::new(match text.strip_prefix("base64:") {
                Some(text) => zarr::base64(text)?.ok_or(ErrorKind::Metadata("this is not base64"))?,
                None => alloc::copied(text.as_bytes())?,
            })?));
        }
        if let Value::Object(_) = value {
            return Ok(Reference::Bytes(Shared::new(json::compact(value)?.into_bytes())?));
        }
        let (url, part) = match value.as_list().ok_or(RULE)? {
            [url] => (url, None),
            [url, offset, len] => (url, Some((offset.as_u64().ok_or(RULE)?, len.as_u64().ok_or(RULE)?))),
            _ => return Err(RULE.into()),
        };
        Ok(Reference::Target(self.target(url.as_str().ok_or(RULE)?)?, part))
    }

    /// The target of a path or URL, with its templates.
    fn target(&mut self, written: &str) -> Result<Shared<Target>> {
        let Reading { origin, templates, targets } = self;
        targets.find(written, *origin, || without_templates(templates, written))
    }
}

/// A path or URL with the templates in it replaced.
fn without_templates(templates: &HashMap<String, String>, written: &str) -> Result<String> {
    let (mut url, mut rest) = (String::new(), written);
    if templates.is_empty() {
        return Ok(alloc::text(written)?);
    }
    while let Some((before, behind)) = rest.split_once("{{") {
        let Some((name, after)) = behind.split_once("}}") else { break };
        let template = templates.get(name.trim());
        let formula = || Error::from(ErrorKind::Unsupported("a template that is a formula, or not there"));
        let text = template.filter(|text| !text.contains("{{")).ok_or_else(|| formula().in_object(name))?;
        if url.len() + before.len() + text.len() > LONGEST {
            return Err(TOO_LONG.into());
        }
        alloc::push_text(&mut url, before)?;
        alloc::push_text(&mut url, text)?;
        rest = after;
    }
    alloc::push_text(&mut url, rest)?;
    Ok(url)
}

/// How many servers and buckets references may lead to. Each has a client, and for each URL they are looked through.
#[cfg(feature = "network")]
const SERVERS: usize = 256;

/// The stores that targets are in.
#[derive(Default)]
struct Stores {
    opened: Vec<Shared<Box<dyn ObjectStore>>>,
    /// The directories among them.
    directories: Vec<(PathBuf, usize)>,
    /// The servers and buckets: what the URLs of all their objects begin with.
    #[cfg(feature = "network")]
    servers: Vec<(Service, String, usize)>,
}

impl Stores {
    fn store(&self, number: usize) -> Result<Shared<Box<dyn ObjectStore>>> {
        Ok(self.opened.get(number).ok_or(ErrorKind::Internal)?.clone())
    }

    /// The store for a directory.
    fn directory(&mut self, root: &Path) -> Result<usize> {
        if let Some((_, store)) = self.directories.iter().find(|(other, _)| other == root) {
            return Ok(*store);
        }
        alloc::push(&mut self.opened, Shared::new(alloc::try_box(Directory::open(root)?)? as Box<dyn ObjectStore>)?)?;
        alloc::push(&mut self.directories, (root.to_owned(), self.opened.len() - 1))?;
        Ok(self.opened.len() - 1)
    }

    /// What a path or URL leads to. Long ones are refused before anything is made of them.
    fn target(&mut self, url: &str, origin: Origin<'_>) -> Result<Target> {
        if url.len() > LONGEST {
            return Err(TOO_LONG.into());
        }
        let path = match url.split_once("://") {
            Some(("file", path)) => Some(path),
            Some(_) => None,
            None => Some(url),
        };
        match (origin, path) {
            (_, None) => match url.strip_prefix("gcs://") {
                Some(rest) => self.url(&format!("gs://{rest}")),
                None => self.url(url),
            },
            (Origin::Directory(directory), Some(path)) => self.file(&directory.join(path), directory),
            #[cfg(feature = "network")]
            (Origin::Below(begin), Some(path)) if path == url && !Path::new(path).has_root() => {
                self.url(&from_url(begin, path)?)
            }
            #[cfg(feature = "network")]
            (Origin::Below(_), Some(_)) => Err(FROM_ELSEWHERE.into()),
        }
    }

    /// A file of this machine: one below the directory of the references, or any other.
    fn file(&mut self, path: &Path, directory: &Path) -> Result<Target> {
        let mut whole = PathBuf::new();
        for component in path.components() {
            match component {
                Component::ParentDir => {
                    whole.pop();
                }
                Component::CurDir => {}
                other => whole.push(other),
            }
        }
        let root = if whole.starts_with(directory) { directory } else { whole.ancestors().last().unwrap_or(directory) };
        let mut name = String::new();
        for part in whole.strip_prefix(root).map_err(|_| ErrorKind::Internal)?.components() {
            if !name.is_empty() {
                alloc::push_text(&mut name, "/")?;
            }
            let part = part.as_os_str().to_str();
            alloc::push_text(&mut name, part.ok_or(ErrorKind::Unsupported("a path that is not UTF-8"))?)?;
        }
        check_name(&name)?;
        let store = self.directory(root)?;
        Ok(Target { store: self.store(store)?, name })
    }

    #[cfg(feature = "network")]
    fn url(&mut self, url: &str) -> Result<Target> {
        let Some(url) = Url::of(Path::new(url))? else { return Err(UNKNOWN.into()) };
        let url = Url { is_of_document: true, ..url };
        let known = |(of, begin, _): &&(Service, String, usize)| *of == url.service && is_below(begin, url.text);
        let (store, path) = match self.servers.iter().find(known) {
            Some((_, begin, store)) => (*store, url.text.get(begin.len()..).unwrap_or_default()),
            None if self.servers.len() == SERVERS => {
                return Err(ErrorKind::Unsupported("references to objects of more than 256 servers or buckets").into());
            }
            None => {
                let (network, path) = Network::open_server(&url, false)?;
                alloc::push(&mut self.opened, Shared::new(alloc::try_box(network)? as Box<dyn ObjectStore>)?)?;
                let begin = alloc::text(url.text.strip_suffix(path).unwrap_or_default())?;
                alloc::push(&mut self.servers, (url.service, begin, self.opened.len() - 1))?;
                (self.opened.len() - 1, path)
            }
        };
        let name = Network::object_name(url.service, path)?;
        check_name(&name)?;
        Ok(Target { store: self.store(store)?, name: alloc::text(&name)? })
    }

    #[cfg(not(feature = "network"))]
    fn url(&mut self, url: &str) -> Result<Target> {
        match Url::of(Path::new(url))? {
            Some(_) => Err(WITHOUT_NETWORK.into()),
            None => Err(UNKNOWN.into()),
        }
    }
}

/// The URL that a relative path leads to from a directory's.
///
/// # Errors
/// `Argument` for a path that leads above the server or bucket, `OutOfMemory`.
#[cfg(feature = "network")]
fn from_url(mut begin: &str, mut path: &str) -> Result<String> {
    const ABOVE: ErrorKind = ErrorKind::Argument("a relative path cannot lead above the server or bucket");
    while let Some(rest) = path.strip_prefix("../") {
        let above = begin.strip_suffix('/').and_then(|begin| begin.rfind('/')).and_then(|slash| begin.get(..=slash));
        let has_server = |above: &&str| above.split_once("://").is_some_and(|(_, server)| server.contains('/'));
        (begin, path) = (above.filter(has_server).ok_or(ABOVE)?, rest);
    }
    let mut url = alloc::text(begin)?;
    alloc::push_text(&mut url, path)?;
    Ok(url)
}

/// Whether a URL is of an object of the server or bucket whose URLs begin like this: `s3://b` is none of those of
/// `s3://b2/x`.
#[cfg(feature = "network")]
pub(super) fn is_below(begin: &str, url: &str) -> bool {
    begin.ends_with('/') && url.starts_with(begin)
}

/// What is said of a URL where no URL can be opened.
#[cfg(not(feature = "network"))]
pub(super) const WITHOUT_NETWORK: ErrorKind = ErrorKind::Unsupported(
    "URLs, which this build does not include; build with the feature network (CMake: -DNCZCHUNK_NETWORK=ON)",
);

/// What is said of references in Parquet files where they cannot be read.
#[cfg(not(feature = "parquet"))]
pub(super) const WITHOUT_PARQUET: ErrorKind = ErrorKind::Unsupported(
    "references in Parquet files, which this build does not include; build with the feature parquet (CMake: \
     -DNCZCHUNK_PARQUET=ON)",
);

/// What is said of references at a URL that lead to files.
#[cfg(feature = "network")]
const FROM_ELSEWHERE: ErrorKind = ErrorKind::Argument("references at a URL cannot lead to files of this machine");

/// No system has longer paths.
const LONGEST: usize = 4096;
const TOO_LONG: ErrorKind = ErrorKind::Argument("a path or URL of more than 4096 bytes");

const NOT_UNICODE: ErrorKind = ErrorKind::Metadata("a text with half of a pair of surrogates has no bytes");

const UNKNOWN: ErrorKind = ErrorKind::Unsupported("a reference to a URL of this scheme");

#[cfg(test)]
mod tests {
    use super::*;

    /// The store and the name that a reference leads to.
    fn lead(stores: &mut Stores, url: &str, origin: Origin<'_>) -> Result<(usize, String)> {
        let target = stores.target(url, origin)?;
        let is_it = |store: &Shared<Box<dyn ObjectStore>>| std::ptr::eq(&***store, &**target.store);
        Ok((stores.opened.iter().position(is_it).unwrap(), target.name))
    }

    #[cfg(unix)]
    #[test]
    fn paths_lead_below_the_directory_or_elsewhere() {
        let (directory, mut stores) = (std::env::temp_dir(), Stores::default());
        let mut lead = |url: &str| lead(&mut stores, url, Origin::Directory(&directory));
        assert_eq!(lead("a/b.nc"), Ok((0, "a/b.nc".to_owned())));
        assert_eq!(lead("./a/../c"), Ok((0, "c".to_owned())));
        assert_eq!(lead("/x/y"), Ok((1, "x/y".to_owned())));
        assert_eq!(lead("file:///x/z"), Ok((1, "x/z".to_owned())));
        assert_eq!(lead(&"a".repeat(LONGEST + 1)).unwrap_err().status(), crate::status::EINVAL);
        assert_eq!(lead("ftp://a/b").unwrap_err().kind(), UNKNOWN);
    }

    /// A bucket may be in the path of a URL, so that the same server has several.
    #[cfg(feature = "network")]
    #[test]
    fn buckets_are_told_apart_and_opened_once() {
        let mut stores = Stores::default();
        let mut lead = |url: &str| lead(&mut stores, url, Origin::Below("https://host/d/"));
        assert_eq!(lead("https://host/one/k#mode=zarr,s3"), Ok((0, "k".to_owned())));
        assert_eq!(lead("https://host/two/k#mode=zarr,s3"), Ok((1, "k".to_owned())));
        assert_eq!(lead("https://host/one/a/b#mode=zarr,s3"), Ok((0, "a/b".to_owned())));
        assert_eq!(lead("https://host/one/k"), Ok((2, "one/k".to_owned())));
        assert_eq!(lead("x"), Ok((2, "d/x".to_owned())));
        assert_eq!(lead("../y/x"), Ok((2, "y/x".to_owned())));
        assert_eq!(lead("../../x").unwrap_err().status(), crate::status::EINVAL);
        for path in ["/etc/passwd", "file:///etc/passwd"] {
            assert_eq!(lead(path).unwrap_err().status(), crate::status::EINVAL);
        }
    }

    #[cfg(feature = "network")]
    #[test]
    fn a_server_is_none_whose_name_begins_alike() {
        assert!(is_below("s3://b/", "s3://b/x.nc"));
        assert!(!is_below("s3://b", "s3://b2/x.nc") && !is_below("http://h:80", "http://h:8080/x"));
    }

    /// What has no bytes, or is far longer than what can be, is refused.
    #[test]
    fn texts_without_bytes_and_endless_paths_are_refused() {
        let opened = |text: &str| read(&json::read(text.as_bytes()).unwrap(), Origin::Directory(&std::env::temp_dir()));
        for half in [r#"{"x/0":"\ud800"}"#, r#"{"\ud800/0":"four"}"#] {
            assert_eq!(opened(half).err().unwrap().kind(), NOT_UNICODE);
        }
        let of = |template: usize, times: usize| {
            let (template, written) = ("a".repeat(template), "{{u}}".repeat(times));
            opened(&format!(r#"{{"version":1,"templates":{{"u":"{template}"}},"refs":{{"x/0":["{written}"]}}}}"#))
        };
        assert!(of(10, 400).is_ok());
        for (template, times) in [(10, 500), (5000, 1), (200_000, 100_000)] {
            assert_eq!(of(template, times).err().unwrap().kind(), TOO_LONG);
        }
    }

    #[cfg(feature = "network")]
    #[test]
    fn references_lead_to_a_number_of_servers() {
        let of = |count: usize| {
            let refs: Vec<_> = (0..count).map(|i| format!(r#""x/{i}":["http://h{i}/x"]"#)).collect();
            let document = json::read(format!("{{{}}}", refs.join(",")).as_bytes()).unwrap();
            read(&document, Origin::Directory(&std::env::temp_dir())).err()
        };
        assert_eq!(of(SERVERS), None);
        assert!(of(SERVERS + 1).is_some_and(|error| error.to_string().contains("256")));
    }

    /// The only chunk of a scalar may be called by its array alone.
    #[test]
    fn scalars_need_no_key() {
        use crate::object::read_whole;
        let opened = |text: &str| read(&json::read(text.as_bytes()).unwrap(), Origin::Directory(&std::env::temp_dir()));
        let references = opened(r#"{"s/":"four","t/0":"five"}"#).unwrap();
        let whole = |name: &str| read_whole(&references, name, 9).unwrap();
        assert_eq!((whole("s/0").unwrap(), whole("t/0").unwrap()), (b"four".to_vec(), b"five".to_vec()));
        let error = opened(r#"{"s/":"four","s/0":"five"}"#).err().unwrap();
        assert_eq!((error.status(), error.about()), (crate::status::ENCZARR, "s/0"));
        assert!(opened(r#"{"/":"four"}"#).is_err() && opened(r#"{"s//":"four"}"#).is_err());
    }

    /// Documents that end early are refused, and of those that are changed comes an error or other values.
    #[cfg(all(feature = "codecs", not(miri)))]
    #[test]
    fn documents_that_are_cut_or_changed_end_with_an_error_or_other_values() {
        use crate::object::Storage;
        use crate::{Access, Array, Hyperslab, list};
        let directory = crate::object::testing::Temporary::new("references");
        std::fs::write(directory.join("file"), [0, 0, 1, 0, 2, 0, 3, 0]).unwrap();
        let document = br#"{"version":1,"templates":{"u":"file"},"refs":{"x/.zarray":{"zarr_format":2,"shape":[4],
            "chunks":[2],"dtype":"<i2","compressor":null,"filters":null,"fill_value":9,"order":"C"},
            "x/0":["{{u}}",2,4],"x/1":"base64:BAAFAA=="}}"#;
        let opened = |document: &[u8]| -> Result<Vec<i16>> {
            let references = read(&json::read(document)?, Origin::Directory(&directory))?;
            let storage = Storage::new(references)?;
            let _ = list(&storage, "", true);
            let array = Array::open_in(&storage, "x", Access::Read)?;
            match array.variable().dimensions() {
                [x] if x.len() < 100 => array.read(&Hyperslab::all()),
                _ => Ok(Vec::new()),
            }
        };
        assert_eq!(opened(document).unwrap(), [1, 2, 4, 5]);
        for len in 0..document.len() {
            assert!(opened(&document[..len]).is_err(), "{len}");
        }
        for bit in 0..8 * document.len() {
            let mut changed = *document;
            changed[bit / 8] ^= 1 << (bit % 8);
            let _ = opened(&changed);
        }
    }
}
