//! Files of references: JSON that says of which files the objects of Zarr arrays are parts, as kerchunk writes it.
//!
//! The source is the text of fsspec's ReferenceFileSystem, version 0 and 1. An object is a text, which may be base64,
//! or a JSON object, or a list: a path or URL, and if only a part is meant the first byte and how many.

use std::path::{Component, Path, PathBuf};

use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, At, ByName, Value};
use crate::limits::Limit;
#[cfg(feature = "network")]
use crate::object::Network;
use crate::object::{Directory, ObjectStore, Reference, References, Target, Url, check_name};
use crate::zarr;

/// Where a file of references is, from which relative paths lead on.
#[derive(Debug, Clone, Copy)]
pub(super) enum Origin<'o> {
    /// In this directory.
    Directory(&'o Path),
    /// At a URL that begins with this, up to the last `/`: from there no path of this machine can be referred to.
    #[cfg_attr(not(feature = "network"), allow(dead_code))]
    Below(&'o str),
}

/// Whether a file that begins like this may be one of references.
pub(super) fn may_be(first: &[u8]) -> bool {
    first.trim_ascii_start().first() == Some(&b'{')
}

/// The objects that a text says.
///
/// # Errors
/// `Metadata`, `Unsupported` for what kerchunk generates from formulas, `Limit`, `OutOfMemory`, `Argument` for names
/// that no object can have and for paths of this machine in references from elsewhere, and those of opening what they
/// lead to.
pub(super) fn read(text: &[u8], origin: Origin<'_>, limit: Limit) -> Result<References> {
    let document = json::read_within(text, limit)?;
    let root = At::root(&document);
    root.check_object()?;
    let mut reading =
        Reading { origin, templates: Vec::new(), targets: Vec::new(), known: Vec::new(), stores: Stores::default() };
    let objects = match document.get("version") {
        None => reading.objects(&root)?,
        Some(version) if version.as_usize() == Some(1) => {
            if root.given("gen").is_some_and(|formulas| formulas.value().as_list().is_none_or(|list| !list.is_empty()))
            {
                return Err(root.unsupported("references that are generated (gen)"));
            }
            if let Some(templates) = root.given("templates") {
                for (name, at) in templates.members()? {
                    alloc::push(&mut reading.templates, (alloc::text(name)?, alloc::text(at.text()?)?))?;
                }
            }
            reading.objects(&root.require("refs")?)?
        }
        Some(_) => return Err(root.unsupported("references of another version than 0 and 1")),
    };
    Ok(References::new(objects, reading.targets, reading.stores.opened))
}

/// What is known while references are read.
struct Reading<'o> {
    origin: Origin<'o>,
    templates: Vec<(String, String)>,
    targets: Vec<Target>,
    /// The paths and URLs of the targets, each with its number, in the order of the texts.
    known: Vec<(String, usize)>,
    stores: Stores,
}

impl Reading<'_> {
    fn objects(&mut self, at: &At<'_>) -> Result<Vec<(String, Reference)>> {
        at.check_object()?;
        let mut objects = Vec::new();
        for (name, value) in ByName::new(at.value().members())?.distinct() {
            let about = |error: Error| if error.about().is_empty() { error.in_object(name) } else { error };
            check_name(name).map_err(about)?;
            let reference = self.reference(value).map_err(about)?;
            alloc::push(&mut objects, (alloc::text(name)?, reference))?;
        }
        Ok(objects)
    }

    fn reference(&mut self, value: &Value) -> Result<Reference> {
        const RULE: ErrorKind = ErrorKind::Metadata("a reference is a text, an object, [URL] or [URL, offset, length]");
        if let Some(text) = value.as_str() {
            return Ok(Reference::Bytes(match text.strip_prefix("base64:") {
                Some(text) => zarr::base64(text)?.ok_or(ErrorKind::Metadata("this is not base64"))?,
                None => alloc::copied(text.as_bytes())?,
            }));
        }
        if let Value::Object(_) = value {
            return Ok(Reference::Bytes(json::compact(value)?.into_bytes()));
        }
        let (url, part) = match value.as_list().ok_or(RULE)? {
            [url] => (url, None),
            [url, offset, len] => (url, Some((offset.as_u64().ok_or(RULE)?, len.as_u64().ok_or(RULE)?))),
            _ => return Err(RULE.into()),
        };
        Ok(Reference::Target(self.target(url.as_str().ok_or(RULE)?)?, part))
    }

    /// The number of the target of a path or URL, with its templates.
    fn target(&mut self, written: &str) -> Result<usize> {
        let at = match self.known.binary_search_by(|(other, _)| other.as_str().cmp(written)) {
            Ok(at) => return Ok(self.known.get(at).ok_or(ErrorKind::Internal)?.1),
            Err(at) => at,
        };
        let url = self.without_templates(written)?;
        let target = self.stores.target(&url, self.origin).map_err(|error| error.in_object(&url))?;
        alloc::push(&mut self.targets, target)?;
        self.known.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
        let number = self.targets.len() - 1;
        self.known.insert(at, (alloc::text(written)?, number));
        Ok(number)
    }

    fn without_templates(&self, written: &str) -> Result<String> {
        let (mut url, mut rest) = (String::new(), written);
        if self.templates.is_empty() {
            return Ok(alloc::text(written)?);
        }
        while let Some((before, behind)) = rest.split_once("{{") {
            let Some((name, after)) = behind.split_once("}}") else { break };
            let template = self.templates.iter().find(|(template, _)| template == name.trim());
            let formula = || Error::from(ErrorKind::Unsupported("a template that is a formula, or not there"));
            let (_, text) =
                template.filter(|(_, text)| !text.contains("{{")).ok_or_else(|| formula().in_object(name))?;
            alloc::push_text(&mut url, before)?;
            alloc::push_text(&mut url, text)?;
            rest = after;
        }
        alloc::push_text(&mut url, rest)?;
        Ok(url)
    }
}

/// The stores that targets are in, and what each was opened for.
#[derive(Default)]
struct Stores {
    opened: Vec<Box<dyn ObjectStore>>,
    roots: Vec<PathBuf>,
}

impl Stores {
    /// The store that was opened for a directory or a server, or that `open` opens for it.
    fn find(&mut self, root: &Path, open: impl FnOnce() -> Result<Box<dyn ObjectStore>>) -> Result<usize> {
        if let Some(at) = self.roots.iter().position(|other| other == root) {
            return Ok(at);
        }
        let store = open()?;
        alloc::push(&mut self.roots, root.to_owned())?;
        alloc::push(&mut self.opened, store)?;
        Ok(self.opened.len() - 1)
    }

    fn target(&mut self, url: &str, origin: Origin<'_>) -> Result<Target> {
        if let Some(path) = url.strip_prefix("file://") {
            return self.file(Path::new(path), origin);
        }
        match url.split_once("://") {
            Some(("gcs", rest)) => self.url(&format!("gs://{rest}")),
            Some(_) => self.url(url),
            None => match origin {
                Origin::Directory(_) => self.file(Path::new(url), origin),
                Origin::Below(begin) => match Path::new(url).has_root() {
                    true => self.file(Path::new(url), origin),
                    false => self.url(&format!("{begin}{url}")),
                },
            },
        }
    }

    /// A file of this machine: one below the directory of the references, or any other by its whole path.
    fn file(&mut self, path: &Path, origin: Origin<'_>) -> Result<Target> {
        const ELSEWHERE: &str = "references at a URL cannot lead to files of this machine";
        let Origin::Directory(directory) = origin else { return Err(ErrorKind::Argument(ELSEWHERE).into()) };
        let path = directory.join(path);
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
        Ok(Target { store: self.find(root, || Ok(alloc::try_box(Directory::open(root)?)?))?, name })
    }

    #[cfg(feature = "network")]
    fn url(&mut self, url: &str) -> Result<Target> {
        let Some(url) = Url::of(Path::new(url))? else { return Err(UNKNOWN.into()) };
        let server = url.text.get(..url.text.len() - url.path.len()).unwrap_or_default();
        let (network, name) = Network::open_server(&url)?;
        check_name(&name)?;
        Ok(Target { store: self.find(Path::new(server), || Ok(alloc::try_box(network)?))?, name })
    }

    #[cfg(not(feature = "network"))]
    fn url(&mut self, url: &str) -> Result<Target> {
        match Url::of(Path::new(url))? {
            Some(_) => Err(WITHOUT_NETWORK.into()),
            None => Err(UNKNOWN.into()),
        }
    }
}

/// What is said of a URL where no URL can be opened.
#[cfg(not(feature = "network"))]
pub(super) const WITHOUT_NETWORK: ErrorKind = ErrorKind::Unsupported(
    "URLs, which this build does not include; build with the feature network (CMake: -DNCZCHUNK_NETWORK=ON)",
);

const UNKNOWN: ErrorKind = ErrorKind::Unsupported("a reference to a URL of this scheme");
