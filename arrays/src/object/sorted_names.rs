//! Names that are kept in ascending order, each with something, however many there are.

use super::names;
use super::traits::Entry;
use crate::alloc::{self, Failed};
use crate::error::Result;

/// How many names a block has at most. To add a name or to remove one moves the others of its block.
const MOST: usize = 512;

/// Names in ascending order of their bytes, each once, in blocks.
pub(super) struct SortedNames<T>(Vec<Vec<(String, T)>>);

impl<T> Default for SortedNames<T> {
    fn default() -> Self {
        SortedNames(Vec::new())
    }
}

impl<T> SortedNames<T> {
    /// The block that has a name or is to have it, and where in it.
    fn find(&self, name: &str) -> (usize, std::result::Result<usize, usize>) {
        let is_before = |block: &Vec<(String, T)>| block.last().is_some_and(|(last, _)| last.as_str() < name);
        let number = self.0.partition_point(is_before).min(self.0.len().saturating_sub(1));
        let at = self.0.get(number).map(|block| block.binary_search_by(|(other, _)| other.as_str().cmp(name)));
        (number, at.unwrap_or(Err(0)))
    }

    pub(super) fn get(&self, name: &str) -> Option<&T> {
        let (number, at) = self.find(name);
        self.0.get(number)?.get(at.ok()?).map(|(_, value)| value)
    }

    fn get_mut(&mut self, name: &str) -> Option<&mut T> {
        let (number, at) = self.find(name);
        self.0.get_mut(number)?.get_mut(at.ok()?).map(|(_, value)| value)
    }

    /// Adds a name, or gives it something else and returns what it had. If that fails, nothing is changed.
    pub(super) fn insert(&mut self, name: String, value: T) -> std::result::Result<Option<T>, Failed> {
        if let Some(old) = self.get_mut(&name) {
            return Ok(Some(std::mem::replace(old, value)));
        }
        self.0.try_reserve(1).map_err(|_| Failed)?;
        if self.0.is_empty() {
            self.0.push(Vec::new());
        }
        let (number, Ok(at) | Err(at)) = self.find(&name);
        let block = self.0.get_mut(number).ok_or(Failed)?;
        if block.len() < MOST {
            block.try_reserve(1).map_err(|_| Failed)?;
            block.insert(at, (name, value));
            return Ok(None);
        }
        let mut upper = Vec::new();
        upper.try_reserve_exact(MOST).map_err(|_| Failed)?;
        // Where names come in their order, blocks stay full.
        let middle = if at == MOST { MOST } else { MOST / 2 };
        upper.extend(block.drain(middle..));
        if at > middle || upper.is_empty() {
            upper.insert(at - middle, (name, value));
        } else {
            block.insert(at, (name, value));
        }
        self.0.insert(number + 1, upper);
        Ok(None)
    }

    /// Removes a name, and returns what it had.
    pub(super) fn remove(&mut self, name: &str) -> Option<T> {
        let (number, at) = self.find(name);
        let block = self.0.get_mut(number)?;
        let (_, value) = block.remove(at.ok()?);
        if block.is_empty() {
            self.0.remove(number);
        }
        Some(value)
    }

    /// All names, in their order.
    #[cfg(any(test, feature = "zip"))]
    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &T)> {
        self.0.iter().flatten().map(|(name, value)| (name.as_str(), value))
    }

    /// Calls `one` for what lies directly below a prefix, as [`ObjectStore::list`](super::ObjectStore::list) does.
    pub(super) fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        let begins_before = |name: &str| name.bytes().lt(prefix.bytes().chain([b'/']));
        let is_before = |name: &str| !prefix.is_empty() && begins_before(name);
        let is_below = |name: &str| prefix.is_empty() || name.strip_prefix(prefix).is_some_and(|r| r.starts_with('/'));
        let first = self.0.partition_point(|block| block.last().is_some_and(|(last, _)| is_before(last)));
        // The names below a prefix may go on in the next block.
        let mut last = String::new();
        for block in self.0.get(first..).unwrap_or_default() {
            let is_over = |(name, _): &(String, T)| !is_before(name) && !is_below(name);
            if block.first().is_some_and(is_over) {
                break;
            }
            names::list(block.len(), |i| &block[i].0, prefix, &mut |name, entry| {
                if entry == Entry::Prefix {
                    if last == name {
                        return Ok(());
                    }
                    last = alloc::text(name)?;
                }
                one(name, entry)
            })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Names that come in any order, in their own, and backwards, against the standard library's map.
    #[test]
    fn names_are_kept_in_order_and_found() {
        let len = if cfg!(miri) { 700 } else { 5000 };
        let orders: [fn(usize, usize) -> usize; 3] = [|i, len| i * 2741 % len, |i, _| i, |i, len| len - 1 - i];
        for order in orders {
            let (mut names, mut due) = (SortedNames::default(), BTreeMap::new());
            for i in 0..len {
                let number = order(i, len);
                let name = format!("{}/{}", number / 600, number % 600);
                assert_eq!(names.insert(name.clone(), number), Ok(due.insert(name, number)));
            }
            let check = |names: &SortedNames<usize>, due: &BTreeMap<String, usize>| {
                assert!(names.iter().eq(due.iter().map(|(name, number)| (name.as_str(), number))));
                assert!(due.iter().all(|(name, number)| names.get(name) == Some(number)));
                for prefix in ["", "0", "1", "3", "7", "8", "x", "0/1"] {
                    let mut found = Vec::new();
                    let mut one = |name: &str, entry| {
                        found.push((name.to_owned(), entry == Entry::Prefix));
                        Ok(())
                    };
                    names.list(prefix, &mut one).unwrap();
                    let (all, mut expected): (Vec<_>, _) = (due.keys().map(String::as_str).collect(), Vec::new());
                    let mut one = |name: &str, entry| {
                        expected.push((name.to_owned(), entry == Entry::Prefix));
                        Ok(())
                    };
                    super::names::list(all.len(), |i| all[i], prefix, &mut one).unwrap();
                    assert_eq!(found, expected, "{prefix}");
                }
            };
            check(&names, &due);
            assert_eq!(names.insert("1/7".to_owned(), 3), Ok(due.insert("1/7".to_owned(), 3)));
            *names.get_mut("0/0").unwrap() = 9;
            due.insert("0/0".to_owned(), 9);
            for number in (0..len).filter(|number| number % 3 > 0) {
                let name = format!("{}/{}", number / 600, number % 600);
                assert_eq!(names.remove(&name), due.remove(&name));
            }
            assert_eq!((names.remove("no"), names.get_mut("no")), (None, None));
            check(&names, &due);
            due.keys().for_each(|name| assert!(names.remove(name).is_some()));
            check(&names, &BTreeMap::new());
        }
    }
}
