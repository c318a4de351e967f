//! What names have in common: what lies below a prefix in a sorted list of them, and names joined to prefixes without
//! an allocation.

use std::ops::Range;

use smallvec::SmallVec;

use super::traits::Entry;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// Calls `one` for what lies directly below a prefix, as [`ObjectStore::list`](super::ObjectStore::list) does. The
/// names are those that `name` gives for `0..len`, ascending by their bytes, each once.
pub(super) fn list<'n>(
    len: usize,
    name: impl Fn(usize) -> &'n str,
    prefix: &str,
    one: &mut dyn FnMut(&str, Entry) -> Result<()>,
) -> Result<()> {
    let is_before = |name: &str| name.bytes().lt(prefix.bytes().chain([b'/']));
    let mut at = if prefix.is_empty() { 0 } else { partition_point(0..len, |i| is_before(name(i))) };
    while at < len {
        let full = name(at);
        let rest = if prefix.is_empty() {
            full
        } else {
            match full.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/')) {
                Some(rest) => rest,
                None => break,
            }
        };
        match rest.find('/') {
            None => {
                one(rest, Entry::Object)?;
                at += 1;
            }
            Some(end) => {
                one(&rest[..end], Entry::Prefix)?;
                let group = &full[..full.len() - rest.len() + end + 1];
                at = partition_point(at..len, |i| name(i).starts_with(group));
            }
        }
    }
    Ok(())
}

/// The first number of the range for which `is_before` is false; all for which it is true come before the others.
fn partition_point(range: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let Range { mut start, mut end } = range;
    while start < end {
        let middle = start + (end - start) / 2;
        if is_before(middle) {
            start = middle + 1;
        } else {
            end = middle;
        }
    }
    start
}

/// What is listed, kept for a while.
pub(super) struct Listed(Vec<(String, Entry)>);

impl Listed {
    pub(super) const NOTHING: Listed = Listed(Vec::new());

    pub(super) fn push(&mut self, name: &str, entry: Entry) -> Result<()> {
        Ok(alloc::push(&mut self.0, (alloc::text(name)?, entry))?)
    }

    /// Calls `one` for all of it.
    pub(super) fn tell(self, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
        self.0.iter().try_for_each(|(name, entry)| one(name, *entry))
    }
}

/// Room for a text that needs no allocation up to names of 255 bytes.
pub(super) type Text = SmallVec<[u8; 256]>;

/// The texts one after another.
pub(super) fn concatenated(texts: &[&str]) -> Result<Text> {
    let mut all = Text::new();
    let len = texts.iter().map(|text| text.len()).sum();
    all.try_reserve_exact(len).map_err(|_| Error::from(ErrorKind::OutOfMemory))?;
    texts.iter().for_each(|text| all.extend_from_slice(text.as_bytes()));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_below_a_prefix_is_found_among_sorted_names() {
        let mut names = ["a", "a/b", "a/b-", "a/b/c", "a/b/d/e", "a/b0", "a0/x", "b"];
        names.sort();
        let below = |prefix| {
            let mut found = Vec::new();
            let one = &mut |name: &str, entry| {
                found.push((name.to_owned(), entry == Entry::Prefix));
                Ok(())
            };
            list(names.len(), |i| names[i], prefix, one).unwrap();
            found
        };
        let owned = |list: &[(&str, bool)]| list.iter().map(|&(name, is)| (name.to_owned(), is)).collect::<Vec<_>>();
        assert_eq!(below(""), owned(&[("a", false), ("a", true), ("a0", true), ("b", false)]));
        assert_eq!(below("a"), owned(&[("b", false), ("b-", false), ("b", true), ("b0", false)]));
        assert_eq!(below("a/b"), owned(&[("c", false), ("d", true)]));
        assert_eq!((below("b"), below("c"), below("0")), (vec![], vec![], vec![]));
    }
}
