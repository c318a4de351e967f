//! Whether the chunks of an array of Zarr v2 are named as its metadata say.
//!
//! An array without `dimension_separator` has keys like `0.0`. Those that zarr-python's NestedDirectoryStore and
//! FSStore wrote before there was that member have keys like `0/0`. Taken at its word such an array has no chunks, and
//! reads as fill values.

use crate::error::{ErrorKind, Result};
use crate::json::Value;
use crate::object::{Entry, Storage};

/// Refuses an array that does not name its separator if `/` is the one that its chunks' names have: if below the array
/// there are prefixes that are numbers, and no object with a `.` between numbers. The listing ends with the first such
/// object. A storage that cannot be listed is not judged.
pub(super) fn check(storage: &Storage, name: &str, array: &Value, rank: usize) -> Result<()> {
    const MEMBER: &str = "dimension_separator";
    if rank < 2 || array.get(MEMBER).is_some_and(|separator| *separator != Value::Null) {
        return Ok(());
    }
    let (mut has_dots, mut has_slashes) = (false, false);
    let listed = storage.list(name, &mut |last, entry| {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
        match entry {
            Entry::Prefix => has_slashes |= is_number(last),
            Entry::Object => has_dots |= last.contains('.') && last.split('.').all(is_number),
        }
        // Any error ends the listing.
        if has_dots { Err(ErrorKind::Exists.into()) } else { Ok(()) }
    });
    match listed {
        Ok(()) if has_slashes => {
            let rule = "dimension_separator is missing, so it is '.', but the names of the chunks contain '/'";
            Err(ErrorKind::Metadata(rule).in_object(format_args!(".zarray: $.{MEMBER}")))
        }
        Err(error) if error.kind() == ErrorKind::OutOfMemory => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::object::{Memory, ObjectStore};

    fn status(names: &[&str], text: &str, rank: usize) -> Result<()> {
        let memory = Memory::new();
        for name in names {
            memory.write(name, b"").unwrap();
        }
        check(&Storage::new(memory).unwrap(), "a", &json::read(text.as_bytes()).unwrap(), rank)
    }

    #[test]
    fn slashes_that_nobody_tells_of_are_refused() {
        let error = status(&["a/.zarray", "a/1/0", "b/0.0"], "{}", 2).unwrap_err();
        assert_eq!((error.about(), error.status()), (".zarray: $.dimension_separator", crate::status::ENCZARR));
        assert!(status(&["a/0/0/0"], r#"{"dimension_separator":null}"#, 3).is_err());
    }

    /// A storage that cannot be listed, for this reason.
    struct Unlisted(ErrorKind);

    impl ObjectStore for Unlisted {
        fn read(&self, _: &str, _: crate::object::ByteRange, _: &mut crate::buffer::Buffer<'_>) -> Result<Option<u64>> {
            Ok(None)
        }

        fn list(&self, _: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            one("0", Entry::Prefix)?;
            Err(self.0.into())
        }
    }

    #[test]
    fn a_storage_that_cannot_be_listed_is_not_judged() {
        let judged = |kind| {
            let array = json::read(b"{}").unwrap();
            check(&Storage::new(Unlisted(kind)).unwrap(), "a", &array, 2).map_err(|error| error.kind())
        };
        assert_eq!(judged(ErrorKind::Unsupported("listing")), Ok(()));
        assert_eq!(judged(ErrorKind::OutOfMemory), Err(ErrorKind::OutOfMemory));
    }

    #[test]
    fn all_else_is_right() {
        for names in [&["a/.zarray"][..], &["a/0.0"], &["a/0/0", "a/0.0"], &["a/x/0"], &["b/0/0"], &[]] {
            assert_eq!(status(names, "{}", 2), Ok(()), "{names:?}");
        }
        assert_eq!(status(&["a/0/0"], r#"{"dimension_separator":"/"}"#, 2), Ok(()));
        assert_eq!(status(&["a/0/0"], r#"{"dimension_separator":"."}"#, 2), Ok(()));
        assert_eq!(status(&["a/0/x"], "{}", 1), Ok(()));
    }
}
