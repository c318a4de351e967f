//! What an array or a group consists of: what its metadata imply, and nothing else. It is what is removed when it is
//! overwritten.
//!
//! - Of an array: its metadata documents, and the objects of its chunks (or shards), as its shape, its grid and the
//!   encoding of its keys name them, whatever else there may be in the document that cannot be read.
//! - Of a group: its metadata documents, and the arrays and groups that are directly below it, each with what it
//!   consists of.
//! - Symbolic links that stand for any of these: the links, and not what they lead to.
//! - Prefixes that hold no object, such as empty directories.
//!
//! Files that are being written are neither removed nor in the way. A document that cannot be read implies no chunks and
//! no members.
//!
//! Before a chunk is removed the array's document is made one of no version of Zarr. So nobody reads fill values where
//! there were chunks, and who is interrupted can do the same again, for the document still says what the chunks are.

use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, V2_GROUP, V3, below};
use super::keys::Key;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, Value};
use crate::object::{Entry, Held, Place};
use crate::zarr::{self, DOCUMENTS, Keys};

/// Makes sure that nothing is where an array is to be, or only what may be overwritten; whether something is to be
/// removed.
///
/// # Errors
/// `Exists` for an array or group that may not be overwritten, `InTheWay` about the first thing that is no part of one,
/// `Unsupported` if the place cannot list its objects, and those of the place.
pub(super) fn check(place: &Place, name: &str, overwrite: bool) -> Result<bool> {
    if Implied::by(place, name)?.is_there && !overwrite {
        return Err(Error::from(ErrorKind::Exists).in_object(if name.is_empty() { "the place" } else { name }));
    }
    let mut walk = Walk { place, removes: false, has_found: false };
    walk.all(name)?;
    Ok(walk.has_found)
}

/// Removes what [`check`] has found to be what may be overwritten.
///
/// # Errors
/// As for `check`, of what has come meanwhile; and those of the place.
pub(super) fn remove(place: &Place, name: &str) -> Result<()> {
    Walk { place, removes: true, has_found: false }.all(name)
}

/// What metadata documents imply.
#[derive(Default)]
struct Implied {
    /// Whether there is an array or a group.
    is_there: bool,
    is_group: bool,
    /// The chunks, by each document that tells of some.
    chunks: Vec<(Keys, Vec<usize>)>,
}

impl Implied {
    fn by(place: &Place, name: &str) -> Result<Self> {
        let mut implied = Implied::default();
        for which in [V3, V2_ARRAY] {
            let Some(text) = zarr::document(place, name, which)? else { continue };
            implied.is_there = true;
            let found = json::read(&text).and_then(|document| match document.get("node_type").and_then(Value::as_str) {
                _ if which == V2_ARRAY => zarr::chunk_grid_v2(&document).map(Some),
                Some("group") => {
                    implied.is_group = true;
                    Ok(None)
                }
                _ => zarr::chunk_grid_v3(&document).map(Some),
            });
            match found {
                Ok(Some(grid)) => alloc::push(&mut implied.chunks, grid)?,
                Err(error) if error.kind() == ErrorKind::OutOfMemory => return Err(error),
                // Nothing more is known of it.
                Ok(None) | Err(_) => {}
            }
        }
        if documents::is_there(place, name, V2_GROUP)? {
            (implied.is_there, implied.is_group) = (true, true);
        }
        Ok(implied)
    }

    /// What a key is among those of the chunks.
    fn key(&self, key: &str) -> Result<Key> {
        for (keys, num_chunks) in &self.chunks {
            let is_inside = |indices: &[isize]| {
                indices.iter().zip(num_chunks).all(|(&i, &len)| usize::try_from(i).is_ok_and(|i| i < len))
            };
            match Key::read(key, *keys, num_chunks.len())? {
                Key::Whole(indices) if is_inside(&indices) => return Ok(Key::Whole(indices)),
                Key::Begin(indices) if is_inside(&indices) => return Ok(Key::Begin(indices)),
                _ => {}
            }
        }
        Ok(Key::None)
    }
}

/// What is left to do.
enum Step {
    /// Look at what is there by this name.
    Node(String),
    /// Remove these documents of an array or group, by their places in the list, and what is left of it.
    Documents(String, [bool; DOCUMENTS.len()]),
}

struct Walk<'p> {
    place: &'p Place,
    /// Whether what is found is removed, and not only looked at.
    removes: bool,
    has_found: bool,
}

impl Walk<'_> {
    /// All that is there by this name.
    fn all(&mut self, name: &str) -> Result<()> {
        if !Implied::by(self.place, name)?.is_there {
            return self.vacant(name);
        }
        let mut steps = Vec::new();
        alloc::push(&mut steps, Step::Node(alloc::text(name)?))?;
        while let Some(step) = steps.pop() {
            match step {
                Step::Node(name) => self.node(name, &mut steps)?,
                Step::Documents(name, documents) => {
                    for (which, _) in DOCUMENTS.iter().zip(documents).filter(|(_, is_there)| *is_there) {
                        self.object(&below(&name, which)?)?;
                    }
                    self.emptied(&name)?;
                }
            }
        }
        Ok(())
    }

    /// A name that has no metadata. Attributes alone are what is left of an attempt that was cut short. Beside an array
    /// in the place itself there may be other things, such as a README.
    fn vacant(&mut self, name: &str) -> Result<()> {
        for (last, held) in self.entries(name)? {
            let full = below(name, &last)?;
            match held {
                Held::Temporary => {}
                Held::Object | Held::Link(_) if last == V2_ATTRIBUTES => self.object(&full)?,
                _ if name.is_empty() && !is_of_an_array(&last) => {}
                Held::Prefix => self.nothing(&full)?,
                _ => return in_the_way(&full),
            }
        }
        Ok(())
    }

    /// An array or a group; or the prefix of neither, in a group.
    fn node(&mut self, name: String, steps: &mut Vec<Step>) -> Result<()> {
        let implied = Implied::by(self.place, &name)?;
        if !implied.is_there {
            return self.nothing(&name);
        }
        if self.removes && implied.is_group {
            documents::forget_consolidated_of(self.place, &name)?;
        }
        let entries = self.entries(&name)?;
        if entries.is_empty() {
            const WHAT: &str = "overwriting an array in a place that cannot list its objects";
            return Err(ErrorKind::Unsupported(WHAT).into());
        }
        let mut documents = [false; DOCUMENTS.len()];
        let (mut others, mut chunks) = (Vec::new(), Vec::new());
        for (last, held) in entries {
            let document = DOCUMENTS.iter().position(|document| *document == last);
            match (held, document.and_then(|at| documents.get_mut(at))) {
                (Held::Object | Held::Link(_), Some(is_there)) => *is_there = true,
                _ if !matches!(implied.key(&last)?, Key::None) => alloc::push(&mut chunks, (last, held))?,
                _ => alloc::push(&mut others, (below(&name, &last)?, held))?,
            }
        }
        self.chunks(&name, &implied, chunks)?;
        // The documents go when all that is below is gone.
        alloc::push(steps, Step::Documents(name, documents))?;
        for (full, held) in others {
            match held {
                Held::Temporary => {}
                Held::Prefix if implied.is_group => alloc::push(steps, Step::Node(alloc::text(&full)?))?,
                Held::Prefix => self.nothing(&full)?,
                Held::Link(Some(Entry::Prefix)) if implied.is_group && Implied::by(self.place, &full)?.is_there => {
                    self.object(&full)?;
                }
                _ => return in_the_way(&full),
            }
        }
        Ok(())
    }

    /// The chunks of an array, of which these are directly below it, or below what is.
    fn chunks(&mut self, name: &str, implied: &Implied, entries: Vec<(String, Held)>) -> Result<()> {
        if self.removes && !entries.is_empty() {
            self.invalidate(name)?;
        }
        let (mut prefixes, mut emptied) = (Vec::new(), Vec::new());
        let mut found = Some((String::new(), entries));
        while let Some((prefix, entries)) = found {
            for (last, held) in entries {
                let key = below(&prefix, &last)?;
                let full = below(name, &key)?;
                match (held, implied.key(&key)?) {
                    (Held::Temporary, _) => {}
                    (Held::Prefix, Key::Begin(_)) => alloc::push(&mut prefixes, alloc::text(&key)?)?,
                    (Held::Prefix, _) => self.nothing(&full)?,
                    (Held::Object | Held::Link(_), Key::Whole(_)) | (Held::Link(_), Key::Begin(_)) => {
                        self.object(&full)?;
                    }
                    _ => return in_the_way(&full),
                }
            }
            found = match prefixes.pop() {
                None => None,
                Some(prefix) => {
                    let full = below(name, &prefix)?;
                    let entries = self.entries(&full)?;
                    alloc::push(&mut emptied, full)?;
                    Some((prefix, entries))
                }
            };
        }
        // Those within others come after them.
        emptied.iter().rev().try_for_each(|prefix| self.emptied(prefix))
    }

    /// Makes the documents of an array such as no version of Zarr has.
    fn invalidate(&self, name: &str) -> Result<()> {
        for which in [V3, V2_ARRAY] {
            match documents::read(self.place, name, which) {
                Ok(Some(mut document)) => {
                    document.set("zarr_format", Value::number(0)?)?;
                    document.set("_nczchunk", Value::text("this array was being overwritten")?)?;
                    documents::write(self.place, name, which, &json::indented(&document)?)?;
                }
                Err(error) if !matches!(error.kind(), ErrorKind::Metadata(_)) => return Err(error),
                // Nobody can read it.
                Ok(None) | Err(_) => {}
            }
        }
        Ok(())
    }

    /// A prefix that may hold no object.
    fn nothing(&mut self, prefix: &str) -> Result<()> {
        let (mut prefixes, mut emptied) = (Vec::new(), Vec::new());
        alloc::push(&mut prefixes, alloc::text(prefix)?)?;
        while let Some(prefix) = prefixes.pop() {
            for (last, held) in self.entries(&prefix)? {
                let full = below(&prefix, &last)?;
                match held {
                    Held::Temporary => {}
                    Held::Prefix => alloc::push(&mut prefixes, alloc::text(&full)?)?,
                    _ => return in_the_way(&full),
                }
            }
            alloc::push(&mut emptied, prefix)?;
        }
        self.has_found = true;
        emptied.iter().rev().try_for_each(|prefix| self.emptied(prefix))
    }

    /// What is directly below a prefix. It is listed before any of it is removed.
    fn entries(&self, prefix: &str) -> Result<Vec<(String, Held)>> {
        let mut entries = Vec::new();
        self.place.list_held(prefix, &mut |last, held| Ok(alloc::push(&mut entries, (alloc::text(last)?, held))?))?;
        Ok(entries)
    }

    /// An object, or a link that stands for something, which is part of what is overwritten.
    fn object(&mut self, name: &str) -> Result<()> {
        self.has_found = true;
        if self.removes { self.place.remove(name) } else { Ok(()) }
    }

    /// A prefix of which all has been removed.
    fn emptied(&self, prefix: &str) -> Result<()> {
        if self.removes && !prefix.is_empty() { self.place.remove_empty(prefix) } else { Ok(()) }
    }
}

fn in_the_way<T>(name: &str) -> Result<T> {
    Err(Error::from(ErrorKind::InTheWay).in_object(name))
}

/// Whether this is what something directly below an array is called: a document, a chunk, or what the names of chunks
/// begin with.
fn is_of_an_array(last: &str) -> bool {
    let numbers = last.strip_prefix('c').unwrap_or(last);
    DOCUMENTS.contains(&last) || numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}
