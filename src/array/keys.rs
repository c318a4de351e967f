//! The chunks of an array that are stored, by the names of their objects.

use super::documents::below;
use super::links::Links;
use crate::alloc;
use crate::dims::{self, Dims};
use crate::error::Result;
use crate::key::Separator;
use crate::object::{Entry, Held, Name, Place};
use crate::zarr::{KeyEncoding, Keys};

/// What a name below an array's is.
pub(super) enum Key {
    /// That of a chunk (or shard) with these indices.
    Whole(Dims<isize>),
    /// What the names of chunks begin with, whose first indices are these.
    Begin(Dims<isize>),
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
        let numbers = match (keys.style, rank) {
            (KeyEncoding::V2, 0) => return Ok(if key == "0" { Key::Whole(indices) } else { Key::None }),
            (KeyEncoding::V3, 0) => return Ok(if key == "c" { Key::Whole(indices) } else { Key::None }),
            (KeyEncoding::V2, _) => Some(key),
            (KeyEncoding::V3, _) if key == "c" && separator == '/' => return Ok(Key::Begin(indices)),
            (KeyEncoding::V3, _) => key.strip_prefix('c').and_then(|rest| rest.strip_prefix(separator)),
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
            _ if separator == '/' => Key::Begin(indices),
            _ => Key::None,
        })
    }
}

/// Where the chunks of an array are, and how their objects are named.
#[derive(Clone, Copy)]
pub(super) struct Chunks<'a> {
    pub place: &'a Place,
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

    /// Calls `one` with the indices and the name of each object that is a chunk, and `listed` for all that is listed on
    /// the way. Chunks whose first indices are not wanted may be left out.
    pub(super) fn each(
        &self,
        is_wanted: impl Fn(&[isize]) -> bool,
        listed: &mut dyn FnMut() -> Result<()>,
        one: &mut dyn FnMut(&[isize], &str) -> Result<()>,
    ) -> Result<()> {
        let mut links = Links::default();
        // What is to be listed below the array, each as what its name adds to the array's.
        let mut prefixes = Vec::new();
        alloc::push(&mut prefixes, String::new())?;
        while let Some(prefix) = prefixes.pop() {
            let mut found = Vec::new();
            let in_place = match prefix.as_str() {
                "" => Name::of(format_args!("{}", self.name))?,
                prefix => below(self.name, prefix)?,
            };
            self.place.list_held(&in_place, &mut |last, held| {
                listed()?;
                let key = below(&prefix, last)?;
                match (held, Key::read(&key, self.keys, self.rank)?) {
                    (Held::Object | Held::Link(Some(Entry::Object)), Key::Whole(indices)) => {
                        one(&indices, &below(self.name, &key)?)
                    }
                    (Held::Prefix | Held::Link(Some(Entry::Prefix)), Key::Begin(first)) if is_wanted(&first) => {
                        Ok(alloc::push(&mut found, (alloc::text(&key)?, held != Held::Prefix))?)
                    }
                    _ => Ok(()),
                }
            })?;
            for (key, is_link) in found {
                if !is_link || !links.have_led_to(self.place, &below(self.name, &key)?)? {
                    alloc::push(&mut prefixes, key)?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Memory;

    fn found(keys: Keys, rank: usize, objects: &[&str]) -> Vec<Vec<isize>> {
        let place = Place::new(Memory::new()).unwrap();
        objects.iter().for_each(|name| place.write(name, b"").unwrap());
        let mut found = Vec::new();
        let mut num_listed = 0;
        let chunks = Chunks { place: &place, name: "a/b", keys, rank };
        let note = &mut |indices: &[isize], name: &str| {
            assert_eq!(name, &*chunks.object(indices).unwrap());
            found.push(indices.to_vec());
            Ok(())
        };
        let count = &mut || {
            num_listed += 1;
            Ok(())
        };
        chunks.each(|_| true, count, note).unwrap();
        assert_eq!(num_listed > 0, objects.iter().any(|name| name.starts_with("a/b/")));
        found.sort();
        found
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
        let place = Place::new(Memory::new()).unwrap();
        ["a/c/0/0", "a/c/0/1", "a/c/1/0", "a/zarr.json"].iter().for_each(|name| place.write(name, b"").unwrap());
        let chunks = Chunks { place: &place, name: "a", keys: keys(KeyEncoding::V3, Separator::Slash), rank: 2 };
        let (mut num_listed, mut found) = (0, Vec::new());
        let count = &mut || {
            num_listed += 1;
            Ok(())
        };
        let note = &mut |indices: &[isize], _: &str| {
            found.push(indices.to_vec());
            Ok(())
        };
        chunks.each(|first| first.first().is_none_or(|i| *i == 1), count, note).unwrap();
        // `c` and the document, `0` and `1`, and what is below that.
        assert_eq!((num_listed, found), (5, vec![vec![1, 0]]));
    }

    /// Links in circles do not make a listing longer than what is there.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn links_in_circles_are_followed_once() {
        use std::os::unix::fs::symlink;
        let path = std::env::temp_dir().join(format!("nczchunk-keys-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let place = Place::new(crate::object::Directory::create(&path).unwrap()).unwrap();
        place.write("c/0/0/0", b"").unwrap();
        for i in 1..20 {
            symlink(".", path.join(format!("c/{i}"))).unwrap();
            symlink("../0/0", path.join(format!("c/0/{i}"))).unwrap();
        }
        let chunks = Chunks { place: &place, name: "", keys: keys(KeyEncoding::V3, Separator::Slash), rank: 3 };
        let mut found = Vec::new();
        let note = &mut |indices: &[isize], _: &str| {
            found.push(indices.to_vec());
            Ok(())
        };
        chunks.each(|_| true, &mut || Ok(()), note).unwrap();
        found.sort();
        assert!(found.contains(&vec![0, 0, 0]) && found.len() < 4, "{found:?}");
        std::fs::remove_dir_all(&path).unwrap();
    }
}
