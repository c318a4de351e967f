//! The chunks (or shards) of an array that are stored, by the names of their objects.

use super::documents::below;
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::grid::{Dimension, Grid};
use crate::key::Separator;
use crate::object::{Entry, Name, Storage};
use crate::zarr::{KeyEncoding, Keys};

/// What a name below an array's is.
pub(super) enum Key {
    /// That of a chunk with these indices.
    Whole(Dims<isize>),
    /// What the names of chunks begin with, whose first indices are these.
    ByteRange(Dims<isize>),
    /// Neither.
    None,
}

impl Key {
    /// Reads a key of an array of this rank.
    pub(super) fn read(key: &str, keys: Keys, rank: usize) -> Result<Key> {
        let separator = match keys.separator {
            Separator::Dot => '.',
            Separator::Slash => '/',
        };
        let mut indices = Dims::new();
        dims::reserve(&mut indices, rank)?;
        let numbers = match keys.style {
            // A scalar has one chunk.
            KeyEncoding::V2 if rank == 0 => return Ok(if key == "0" { Key::Whole(indices) } else { Key::None }),
            KeyEncoding::V3 if rank == 0 => return Ok(if key == "c" { Key::Whole(indices) } else { Key::None }),
            KeyEncoding::V2 => Some(key),
            KeyEncoding::V3 if key == "c" && separator == '/' => return Ok(Key::ByteRange(indices)),
            KeyEncoding::V3 => key.strip_prefix('c').and_then(|rest| rest.strip_prefix(separator)),
        };
        for number in numbers.iter().flat_map(|numbers| numbers.split(separator)) {
            let is_number =
                number.bytes().all(|byte| byte.is_ascii_digit()) && (number == "0" || !number.starts_with('0'));
            match number.parse() {
                Ok(index) if is_number && indices.len() < rank => indices.push(index),
                _ => return Ok(Key::None),
            }
        }
        Ok(match indices.len() {
            0 => Key::None,
            len if len == rank => Key::Whole(indices),
            _ if separator == '/' => Key::ByteRange(indices),
            _ => Key::None,
        })
    }
}

/// Who looks at the chunks that are stored.
pub(super) trait Look {
    /// Something is listed, a chunk or not.
    fn listed(&mut self) -> Result<()> {
        Ok(())
    }

    /// Whether chunks whose first indices are these are looked at.
    fn is_wanted(&self, first: &[isize]) -> bool;

    /// The chunks whose first indices are these, and which are wanted, are below a symbolic link of this name; whether
    /// they are looked at.
    fn link(&mut self, first: &[isize], name: &str) -> Result<bool> {
        let _ = (first, name);
        Ok(true)
    }

    /// There is a chunk with these indices, in an object of this name. It need not be wanted.
    fn chunk(&mut self, indices: &[isize], name: &str) -> Result<()>;
}

/// Looks at the chunks that lie inside of a grid.
pub(super) struct Inside<'a> {
    grid: &'a Grid,
    one: &'a mut dyn FnMut(&[isize]) -> Result<()>,
    is_listed: bool,
}

impl<'a> Inside<'a> {
    pub(super) fn new(grid: &'a Grid, one: &'a mut dyn FnMut(&[isize]) -> Result<()>) -> Self {
        Inside { grid, one, is_listed: false }
    }

    /// Whether anything has been listed: an array has a document at least.
    pub(super) fn is_listed(&self) -> bool {
        self.is_listed
    }
}

impl Look for Inside<'_> {
    fn listed(&mut self) -> Result<()> {
        self.is_listed = true;
        Ok(())
    }

    fn is_wanted(&self, first: &[isize]) -> bool {
        let is_inside = |(dimension, &index): (&Dimension, &isize)| dimension.chunk_at(index) < dimension.num_chunks();
        self.grid.dimensions().iter().zip(first).all(is_inside)
    }

    fn chunk(&mut self, indices: &[isize], _: &str) -> Result<()> {
        if self.is_wanted(indices) { (self.one)(indices) } else { Ok(()) }
    }
}

/// Where the chunks of an array are, and how their objects are named.
#[derive(Clone, Copy)]
pub(super) struct Chunks<'a> {
    pub storage: &'a Storage,
    pub name: &'a str,
    pub keys: Keys,
    pub rank: usize,
}

impl Chunks<'_> {
    /// The name of the object of a chunk with these indices.
    pub(super) fn object(&self, indices: &[isize]) -> Result<Name> {
        let key = Name::of(format_args!("{}", self.keys.style().key(indices)?))?;
        below(self.name, &key)
    }

    /// What the names of chunks with these first indices begin with, if that can be a prefix.
    pub(super) fn prefix(&self, first: &[isize]) -> Result<Option<Name>> {
        if self.keys.separator != Separator::Slash || (first.is_empty() && self.keys.style == KeyEncoding::V2) {
            return Ok(None);
        }
        self.object(first).map(Some)
    }

    /// Lists the chunks that are stored. What several symbolic links lead to is listed below one of them: the links of
    /// a directory that are wanted have the same chunks, as far as the indices go that are behind the link's.
    pub(super) fn each(&self, look: &mut impl Look) -> Result<()> {
        let mut followed = Vec::new();
        // What is to be listed below the array, each as what its name adds to the array's.
        let mut prefixes = Vec::new();
        alloc::push(&mut prefixes, String::new())?;
        while let Some(prefix) = prefixes.pop() {
            let mut found = Vec::new();
            let in_storage = match prefix.as_str() {
                "" => Name::of(format_args!("{}", self.name))?,
                prefix => below(self.name, prefix)?,
            };
            self.storage.list(&in_storage, &mut |last, entry| {
                look.listed()?;
                let key = below(&prefix, last)?;
                match (entry, Key::read(&key, self.keys, self.rank)?) {
                    (Entry::Object, Key::Whole(indices)) => look.chunk(&indices, &below(self.name, &key)?),
                    (Entry::Prefix, Key::ByteRange(first)) if look.is_wanted(&first) => {
                        Ok(alloc::push(&mut found, (alloc::text(&key)?, first))?)
                    }
                    _ => Ok(()),
                }
            })?;
            for (key, first) in found {
                let full = below(self.name, &key)?;
                // What is gone meanwhile is no link.
                let is_link = self.storage.is_link(&full).unwrap_or(false);
                if !is_link || (look.link(&first, &full)? && self.is_new(&mut followed, &full, first.len())?) {
                    alloc::push(&mut prefixes, key)?;
                }
            }
        }
        Ok(())
    }

    /// Whether no link behind so many indices has led where this one does.
    fn is_new(&self, followed: &mut Vec<(u128, usize)>, link: &str, depth: usize) -> Result<bool> {
        let Some(location) = self.storage.location(link)? else { return Ok(true) };
        let Err(at) = followed.binary_search(&(location, depth)) else { return Ok(false) };
        alloc::insert(followed, at, (location, depth))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;

    /// Looks at the chunks whose first index is this one, or all.
    #[derive(Default)]
    struct Found {
        wanted: Option<isize>,
        num_listed: usize,
        chunks: Vec<(Vec<isize>, String)>,
    }

    impl Look for Found {
        fn listed(&mut self) -> Result<()> {
            self.num_listed += 1;
            Ok(())
        }

        fn is_wanted(&self, first: &[isize]) -> bool {
            first.first().is_none_or(|first| self.wanted.is_none_or(|wanted| wanted == *first))
        }

        fn chunk(&mut self, indices: &[isize], name: &str) -> Result<()> {
            self.chunks.push((indices.to_vec(), name.to_owned()));
            Ok(())
        }
    }

    fn found(keys: Keys, rank: usize, objects: &[&str]) -> Vec<Vec<isize>> {
        let storage = Storage::new(Memory::new()).unwrap();
        objects.iter().for_each(|name| storage.write(name, b"").unwrap());
        let chunks = Chunks { storage: &storage, name: "a/b", keys, rank };
        let mut found = Found::default();
        chunks.each(&mut found).unwrap();
        assert_eq!(found.num_listed > 0, objects.iter().any(|name| name.starts_with("a/b/")));
        found.chunks.iter().for_each(|(indices, name)| assert_eq!(name, &*chunks.object(indices).unwrap()));
        let mut indices: Vec<Vec<isize>> = found.chunks.into_iter().map(|(indices, _)| indices).collect();
        indices.sort();
        indices
    }

    const fn keys(style: KeyEncoding, separator: Separator) -> Keys {
        Keys { style, separator }
    }

    #[test]
    fn chunks_are_found_by_their_keys() {
        let objects = ["a/b/0.10", "a/b/1.x", "a/b/.zarray", "a/b/1", "a/b/1.2.3", "a/b/01.1", "a/0.0", "a/b/c/0.1"];
        assert_eq!(found(keys(KeyEncoding::V2, Separator::Dot), 2, &objects), [[0, 10]]);
        let objects = ["a/b/0/10", "a/b/5/1", "a/b/x/0", "a/b/1/2/3", "a/b/0", "a/b/c/0/1"];
        assert_eq!(found(keys(KeyEncoding::V2, Separator::Slash), 2, &objects), [[0, 10], [5, 1]]);
        let objects = ["a/b/c/0/10", "a/b/c/5/1", "a/b/0/1", "a/b/zarr.json", "a/b/c/1"];
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Slash), 2, &objects), [[0, 10], [5, 1]]);
        let objects = ["a/b/c.0.10", "a/b/0.1", "a/b/c.1", "a/b/c"];
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Dot), 2, &objects), [[0, 10]]);
        assert_eq!(found(keys(KeyEncoding::V3, Separator::Slash), 1, &[]), [[0isize; 1]; 0]);
        for (style, key) in [(KeyEncoding::V2, "a/b/0"), (KeyEncoding::V3, "a/b/c")] {
            for separator in [Separator::Dot, Separator::Slash] {
                assert_eq!(found(keys(style, separator), 0, &[key, "a/b/1", "a/b/d"]), [[0isize; 0]]);
            }
        }
    }

    #[test]
    fn only_what_is_wanted_is_listed() {
        let storage = Storage::new(Memory::new()).unwrap();
        ["a/c/0/0", "a/c/0/1", "a/c/1/0", "a/zarr.json"].iter().for_each(|name| storage.write(name, b"").unwrap());
        let chunks = Chunks { storage: &storage, name: "a", keys: keys(KeyEncoding::V3, Separator::Slash), rank: 2 };
        let mut found = Found { wanted: Some(1), ..Found::default() };
        chunks.each(&mut found).unwrap();
        // `c` and the document, `0` and `1`, and what is below that.
        assert_eq!((found.num_listed, found.chunks), (5, vec![(vec![1, 0], "a/c/1/0".to_owned())]));
    }

    /// Each directory has a link to each: there are more names than can be listed.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn links_are_followed_to_each_directory_once() {
        use std::os::unix::fs::symlink;
        let path = crate::object::testing::Temporary::new("keys");
        let storage = Storage::new(crate::object::Directory::create(&path).unwrap()).unwrap();
        for i in 0..10 {
            std::fs::create_dir_all(path.join(format!("c/{i}"))).unwrap();
            std::fs::write(path.join(format!("c/{i}/100")), b"").unwrap();
            (10..20).for_each(|j| symlink(format!("../{}", j - 10), path.join(format!("c/{i}/{j}"))).unwrap());
        }
        let chunks = Chunks { storage: &storage, name: "", keys: keys(KeyEncoding::V3, Separator::Slash), rank: 20 };
        let mut found = Found::default();
        chunks.each(&mut found).unwrap();
        assert!(found.num_listed < 20 * 10 * 20, "{}", found.num_listed);
        assert_eq!(found.chunks.len(), 10);
    }
}
