//! Creating an array: what is in the way, the groups above it, its documents.
//!
//! Everything is checked before anything is written. The document that makes a name an array is written last, unless
//! the storage tells which of several writers was first: there it is written first, so that no other writer touches the
//! attributes of the one that has the array. If writing fails, what has been written of the array is removed: groups
//! are left, and nothing that is in the way of the next attempt.

use std::mem::MaybeUninit;

use super::contents::{self, ChunkNames, Contents};
use super::description::Description;
use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, below};
use super::list;
use crate::alloc;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::json;
use crate::object::{ByteRange, Storage, check_name};
use crate::zarr::{self, Format, Metadata};

/// An array that can be created: all that is to be written.
pub(super) struct New {
    format: Format,
    array: String,
    attributes: Option<String>,
    groups: Vec<String>,
    overwrite: bool,
    /// How its chunks will be called.
    chunks: ChunkNames,
}

impl New {
    /// Checks whether an array can be created at a name of a storage, which may be empty. The result has the metadata
    /// as they will be read.
    pub(super) fn check(storage: &Storage, name: &str, description: &Description<'_>) -> Result<(Metadata, New)> {
        documents::check_writable(storage)?;
        let own = storage.codecs();
        let metadata = description.metadata(name, own)?;
        metadata.check_codecs(own).map_err(|error| error.in_object("the description"))?;
        let format = metadata.format;
        if !name.is_empty() {
            check_node_name(name, format).map_err(|error| error.in_object(name))?;
        }
        let (array, attributes) = match format {
            Format::V2 => (zarr::write_array_v2(&metadata)?, Some(zarr::write_attributes_v2(&metadata)?)),
            Format::V3 => (zarr::write_v3(&metadata)?, None),
        };
        let value = |text: &str| json::read(text.as_bytes());
        let again = match format {
            Format::V2 => {
                zarr::v2_of_values(&value(&array)?, attributes.as_deref().map(value).transpose()?.as_ref(), own)?
            }
            Format::V3 => zarr::v3_of_value(&value(&array)?, own)?,
        };
        if !zarr::is_same_fill_value(&again, &metadata) {
            let reason = "a fill value that the format cannot hold: the metadata would be read as another one";
            return Err(ErrorKind::Unsupported(reason).into());
        }
        let groups = documents::missing_groups(storage, name, format)?;
        if description.is_for_netcdf() {
            check_group(storage, name, &groups)?;
            if description.is_compared() {
                check_lengths(storage, name, &metadata, &groups)?;
            }
        }
        let counts = alloc::collected((0..again.shape.len()).map(|d| again.num_chunks(d)))?;
        let chunks = ChunkNames::Within(again.keys, counts);
        Ok((again, New { format, array, attributes, groups, overwrite: description.overwrite(), chunks }))
    }

    /// Writes it.
    pub(super) fn write(&self, storage: &Storage, name: &str) -> Result<()> {
        self.make_room(storage, name)?;
        match &self.attributes {
            Some(attributes) if storage.compares() => self.write_if_first(storage, name, attributes),
            _ => self.write_documents(storage, name, false),
        }
    }

    /// Writes the documents if no other writer has the array.
    fn write_if_first(&self, storage: &Storage, name: &str, text: &str) -> Result<()> {
        documents::forget_consolidated(storage, name)?;
        documents::make_missing(storage, &self.groups, self.format)?;
        let (array, attributes) = (below(name, V2_ARRAY)?, below(name, V2_ATTRIBUTES)?);
        // What is left of an attempt that was cut short is replaced.
        let left = documents::version(storage, &attributes)?;
        storage.write_over(&array, None, self.array.as_bytes()).inspect_err(|error| {
            // In a conflict, what is there is another's. Any other write may have been carried out nevertheless.
            if error.kind() != ErrorKind::Conflict {
                remove_own(storage, &array, &self.array);
            }
        })?;
        storage.write_over(&attributes, left, text.as_bytes()).inspect_err(|error| {
            // In a conflict, another has set attributes of this array already: those stay, for the next attempt.
            if remove_own(storage, &array, &self.array) && error.kind() != ErrorKind::Conflict {
                remove_own(storage, &attributes, text);
            }
        })
    }

    /// Makes sure that nothing is where the array is to be.
    pub(super) fn make_room(&self, storage: &Storage, name: &str) -> Result<()> {
        let exists = || Err(ErrorKind::NotOverwritten.in_object(documents::about(name)));
        let is_node = contents::is_node(storage, name)?;
        if is_node && !self.overwrite {
            return exists();
        }
        let contents = match is_node {
            true => Contents::of_node(storage, name)?,
            false => Contents::of_nothing(storage, name, &self.chunks)?,
        };
        if contents.is_array() && !self.overwrite {
            return exists();
        }
        if is_node && contents.is_empty() {
            return Err(ErrorKind::Unsupported("overwriting needs a storage that can list its objects").into());
        }
        if !is_node && !contents.is_array() && self.attributes.is_some() && storage.compares() {
            // These attributes may be those of another writer. Whoever has the array replaces them.
            return Ok(());
        }
        contents.remove(storage)
    }

    /// The same for an array of which another call may write the chunks meanwhile. Nothing is overwritten, and what has
    /// the name `but` is not in the way.
    pub(super) fn check_room(&self, storage: &Storage, name: &str, but: &str) -> Result<()> {
        let is_node = contents::is_node(storage, name)?;
        let contents = if is_node { Contents::default() } else { Contents::but(storage, name, &self.chunks, but)? };
        if is_node || contents.is_array() {
            return Err(ErrorKind::NotOverwritten.in_object(documents::about(name)));
        }
        // Attributes of Zarr v2 may be what another call writes.
        if self.attributes.is_none() { contents.remove(storage) } else { Ok(()) }
    }

    /// Whether the array is there, as it is written.
    pub(super) fn is_there(&self, storage: &Storage, name: &str) -> Result<bool> {
        Ok(is_text(storage, &below(name, documents::of_array(self.format))?, self.array.as_bytes())? == Some(true))
    }

    /// The document that says what the array is.
    pub(super) fn document(&self) -> &str {
        &self.array
    }

    /// Writes the documents, with those of missing groups above. If it `continues` what another call may have begun,
    /// attributes without an array are replaced, and no array is; nothing is removed, for it may be the other's.
    pub(super) fn write_documents(&self, storage: &Storage, name: &str, continues: bool) -> Result<()> {
        documents::forget_consolidated(storage, name)?;
        documents::make_missing(storage, &self.groups, self.format)?;
        // Both names first: what is written is removed without an allocation that may fail, unless they are long.
        let (array, attributes) = (below(name, documents::of_array(self.format))?, below(name, V2_ATTRIBUTES)?);
        let written = match &self.attributes {
            Some(text) if continues => storage.write(&attributes, text.as_bytes()),
            Some(text) => storage.write_over(&attributes, None, text.as_bytes()),
            None => Ok(()),
        };
        let are_there = written.is_ok();
        let write_array = |()| match continues {
            true => storage.write_new(&array, self.array.as_bytes()),
            false => storage.write_over(&array, None, self.array.as_bytes()),
        };
        written.and_then(write_array).inspect_err(|error| {
            let is_conflict = error.kind() == ErrorKind::Conflict;
            if continues || is_conflict && !are_there {
                // What is there is another's.
                return;
            }
            // A write that has failed may have stored the object nevertheless. An array goes before its attributes.
            let is_gone = is_conflict || remove_own(storage, &array, &self.array);
            if let (true, Some(text)) = (is_gone, &self.attributes) {
                remove_own(storage, &attributes, text);
            }
        })
    }
}

/// Removes an object if it is what was to be written, and not what another has; whether nothing is left of it.
fn remove_own(storage: &Storage, name: &str, text: &str) -> bool {
    match is_text(storage, name, text.as_bytes()) {
        Ok(is_own) => is_own.is_none_or(|is_own| is_own && storage.remove(name).is_ok()),
        Err(_) => false,
    }
}

/// Whether an object is a text; `None` if there is none. It takes no memory, for that may be what has failed.
fn is_text(storage: &Storage, name: &str, text: &[u8]) -> Result<Option<bool>> {
    let mut rest = text;
    loop {
        let mut room = [const { MaybeUninit::uninit() }; 512];
        let mut buffer = Buffer::new(&mut room);
        let begin = ByteRange::At((text.len() - rest.len()) as u64);
        let Some(len) = storage.read(name, begin, &mut buffer)? else { return Ok(None) };
        match rest.strip_prefix(buffer.filled()) {
            Some(behind) if len == text.len() as u64 && behind.is_empty() => return Ok(Some(true)),
            Some(behind) if len == text.len() as u64 && behind.len() < rest.len() => rest = behind,
            _ => return Ok(Some(false)),
        }
    }
}

/// Refuses names that no array can have, or a group that it is in: their objects would be taken for something else.
pub(super) fn check_node_name(name: &str, format: Format) -> Result<()> {
    const DOCUMENT: &str =
        "arrays and groups cannot have the name of a metadata document, such as zarr.json or .zarray";
    const RESERVED: &str = "Zarr v3 reserves names that begin with __ and those of dots alone; choose another name";
    check_name(name)?;
    for part in name.split('/') {
        if zarr::DOCUMENTS.contains(&part) {
            return Err(ErrorKind::Argument(DOCUMENT).into());
        }
        if format == Format::V3 && (part.starts_with("__") || part.bytes().all(|byte| byte == b'.')) {
            return Err(ErrorKind::Argument(RESERVED).into());
        }
    }
    Ok(())
}

/// What is said of an array that has another length for a dimension than another array of its group.
pub const OTHER_LENGTH: ErrorKind =
    ErrorKind::Argument("netCDF-C has one length for a dimension of a group, and this array has another");

/// The group that an array is in, unless it is missing.
fn group_above<'n>(name: &'n str, missing: &[String]) -> Option<&'n str> {
    let group = name.rsplit_once('/').map_or("", |(group, _)| group);
    (!missing.iter().any(|missing| missing == group)).then_some(group)
}

/// Refuses an array that netCDF-C would not see for a list of arrays in its group.
fn check_group(storage: &Storage, name: &str, missing: &[String]) -> Result<()> {
    let Some(group) = group_above(name, missing) else { return Ok(()) };
    if zarr::has_netcdf_group(storage, group)? {
        let reason = "netCDF-C keeps a list of this group's arrays, and the list cannot be extended here";
        return Err(ErrorKind::Unsupported(reason).in_object(documents::about(group)));
    }
    Ok(())
}

/// Refuses an array that would keep netCDF-C from reading the others in its group.
fn check_lengths(storage: &Storage, name: &str, metadata: &Metadata, missing: &[String]) -> Result<()> {
    let Some(group) = group_above(name, missing) else { return Ok(()) };
    list::list_each(storage, group, false, &mut |node| {
        if let Some(error) = list::unread(&node) {
            return Err(error);
        }
        let is_other = |d: usize, dimension: &str| {
            let at = metadata.dimension_names.iter().position(|name| name.as_deref() == Some(dimension));
            at.is_some_and(|at| metadata.shape.get(at) != node.shape().get(d))
        };
        let mut dimensions = 0..if node.name() == name { 0 } else { node.shape().len() };
        match dimensions.find(|&d| node.dimension_name(d).is_some_and(|dimension| is_other(d, dimension))) {
            Some(d) => Err(OTHER_LENGTH.in_dimension(d).in_object(node.name())),
            None => Ok(()),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::documents::V3;
    use super::*;
    use crate::ArrayFormat;
    use crate::element::ElementType;
    use crate::object::{Memory, ObjectStore};
    use crate::pass_on;

    fn create(storage: &Storage, name: &str, description: &Description<'_>) -> Result<()> {
        crate::Array::create_in(storage, name, description).map(drop)
    }

    fn names(storage: &Storage, prefix: &str) -> Vec<String> {
        let mut names = Vec::new();
        storage.list(prefix, &mut |name, _| Ok(alloc::push(&mut names, name.to_owned())?)).unwrap();
        names.sort();
        names
    }

    fn with(objects: &[&str]) -> Storage {
        let storage = Storage::new(Memory::new()).unwrap();
        objects.iter().for_each(|name| storage.write(name, b"{}").unwrap());
        storage
    }

    /// What a failed creation has left is removed, and what another has written meanwhile is not.
    #[test]
    fn what_another_has_written_meanwhile_stays() {
        const GROUP: &[u8] = br#"{"zarr_format":3,"node_type":"group","attributes":{"x":1}}"#;
        let failed = |fails_at, others, error, format| {
            let late = LateFailure { memory: Memory::new(), fails_at, others, error, removes: true };
            let storage = Storage::new(late).unwrap();
            let description = Description::new(&[4], ElementType::Int)
                .with_format(format)
                .with_attributes_json(r#"{"units":"degC"}"#);
            (create(&storage, "g/x", &description).err().map(|error| error.kind()), storage)
        };
        let read = |storage: &Storage, name: &str| crate::object::read_whole(&**storage, name, 1000).unwrap();
        let lost = ErrorKind::Network("lost");
        // Its own, which was stored nevertheless; another's, longer and shorter.
        for others in [None, Some(&b"{}"[..]), Some(&[b' '; 4000])] {
            for (format, object) in [(ArrayFormat::ZarrV3, "g/x/zarr.json"), (ArrayFormat::ZarrV2, "g/x/.zarray")] {
                let (error, storage) = failed(object, others, lost, format);
                assert_eq!(error, Some(lost));
                let len = storage.object_len(object).unwrap();
                assert_eq!(len, others.map(|others| others.len() as u64));
            }
        }
        // The attributes are not left beside another's array.
        let (error, storage) = failed("g/x/.zarray", Some(b"{}"), ErrorKind::Conflict, ArrayFormat::ZarrV2);
        assert_eq!((error, names(&storage, "g/x")), (Some(ErrorKind::Conflict), vec![".zarray".to_owned()]));
        // A group above that another has made meanwhile is as good, and anything else is none.
        let (error, storage) = failed("g/zarr.json", Some(GROUP), ErrorKind::Conflict, ArrayFormat::ZarrV3);
        assert_eq!((error, read(&storage, "g/zarr.json").unwrap()), (None, GROUP.to_vec()));
        let (error, storage) = failed("g/zarr.json", Some(b"{}"), ErrorKind::Conflict, ArrayFormat::ZarrV3);
        assert_eq!((error, names(&storage, "g")), (Some(ErrorKind::Conflict), vec!["zarr.json".to_owned()]));
    }

    #[test]
    fn nothing_is_overwritten_unless_it_is_said() {
        let four = Description::new(&[4], ElementType::Int);
        for there in ["a/zarr.json", "a/.zarray", "a/.zgroup", "a/0.0", "a/c/0", "a/something"] {
            let storage = with(&[there]);
            assert_eq!(create(&storage, "a", &four).unwrap_err().status(), crate::status::EEXIST, "{there}");
            assert_eq!(names(&storage, ""), ["a"]);
        }
        // Other things may be beside an array that has no name, but no chunks that it would take for its own.
        for (there, is_free) in [("c/0", false), ("c/7", true), ("c/x", true), ("b/0", true), ("c/0/0", true)] {
            let storage = with(&["README", there]);
            assert_eq!(create(&storage, "", &four).is_ok(), is_free, "{there}");
        }
        let storage = with(&["b/0"]);
        create(&storage, "a", &Description::new(&[4, 4], ElementType::Int)).unwrap();
        ["a/c/0/1", "a/c/7/7"].iter().for_each(|chunk| storage.write(chunk, b"").unwrap());
        create(&storage, "a", &four.with_overwrite(true)).unwrap();
        assert_eq!((names(&storage, "a"), names(&storage, "b")), (vec![V3.to_owned()], vec!["0".to_owned()]));
        // What was left of an array may go, but not what is none.
        create(&with(&["a/c/0", "a/.zattrs"]), "a", &four.with_overwrite(true)).unwrap();
        create(&with(&["readme"]), "", &four).unwrap();
        // Attributes alone are no array, but what is left where a process ended between two writes.
        for format in [crate::ArrayFormat::ZarrV2, crate::ArrayFormat::ZarrV3] {
            let storage = with(&["a/.zattrs"]);
            create(&storage, "a", &four.with_format(format)).unwrap();
            assert_eq!(names(&storage, "a").len(), if format == crate::ArrayFormat::ZarrV2 { 2 } else { 1 });
        }
    }

    /// Only what metadata imply is removed. All else is in the way, and then nothing is removed.
    #[test]
    fn what_belongs_to_no_array_is_not_overwritten() {
        let four = Description::new(&[4], ElementType::Int).with_chunk_shape(&[2]).with_overwrite(true);
        let v2 = four.with_format(crate::ArrayFormat::ZarrV2);
        let other = ["2020/notes.txt", "20200101", "c/main.c", "c/0/0", "letters/x", "README", "c", "c/2"];
        for (description, others) in [(four, &other[..]), (v2, &["0/0", "2", "20200101", "0.0", "c/0"])] {
            for other in others {
                let object = format!("a/{other}");
                let storage = with(&[&object]);
                let error = create(&storage, "a", &description).unwrap_err();
                assert!(error.kind() == ErrorKind::Exists && object.starts_with(error.about()), "{error}");
                assert_eq!((names(&storage, ""), storage.object_len(&object)), (vec!["a".to_owned()], Ok(Some(2))));
            }
        }
        // Beside and below an array, and in a group with arrays in it.
        for other in ["a/README", "a/c/x", "a/c/0/0", "a/b/zarr.json", "g/notes/x", "g/1", "g/a/x"] {
            let storage = with(&[]);
            for name in ["a", "g/a", "g/h/b"] {
                create(&storage, name, &four).unwrap();
                storage.write(&format!("{name}/c/1"), b"").unwrap();
            }
            let name = &other[..1];
            storage.write(other, b"").unwrap();
            assert!(other.starts_with(create(&storage, name, &four).unwrap_err().about()), "{other}");
            assert!(documents::is_there(&storage, "g/h/b", "c/1").unwrap());
            storage.remove(other).unwrap();
            create(&storage, name, &four).unwrap();
            assert_eq!(names(&storage, name), [V3]);
        }
        // Metadata that cannot be read say nothing of the names of chunks.
        let broken = ["a/zarr.json", "a/c/0/1", "a/1.2", "a/3/4"];
        create(&with(&broken), "a", &four).unwrap();
        assert_eq!(create(&with(&["a/.zarray", "a/x"]), "a", &four).unwrap_err().about(), "a/x");
    }

    /// A link is removed as a link.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn what_links_lead_to_is_not_removed() {
        use std::os::unix::fs::symlink;
        let top = crate::object::testing::Temporary::new("overwrite");
        std::fs::create_dir_all(top.join("outside/0")).unwrap();
        std::fs::write(top.join("outside/0/thesis.txt"), "x").unwrap();
        std::fs::create_dir_all(top.join("data")).unwrap();
        let storage = Storage::new(crate::object::Directory::open(top.join("data")).unwrap()).unwrap();
        let four = Description::new(&[4, 4], ElementType::Int).with_chunk_shape(&[2, 2]).with_overwrite(true);
        for (name, link, is_chunk) in [("a", "a/c", true), ("g/a", "g/b", true), ("a", "a/link", false)] {
            create(&storage, name, &four).unwrap();
            symlink(top.join("outside"), top.join("data").join(link)).unwrap();
            let overwritten = create(&storage, &name[..1], &four);
            assert_eq!(overwritten.is_ok(), is_chunk, "{link}");
            assert_eq!(top.join("data").join(link).is_symlink(), !is_chunk);
            assert!(top.join("outside/0/thesis.txt").is_file());
        }
    }

    /// What no object can be belongs to somebody, too. What a killed writer has left does not.
    #[cfg(all(target_os = "linux", not(miri)))]
    #[test]
    fn what_is_no_object_is_not_overwritten() {
        use std::ffi::OsStr;
        use std::os::unix::ffi::OsStrExt;
        use std::os::unix::fs::symlink;
        let top = crate::object::testing::Temporary::new("no-object");
        let storage = Storage::new(crate::object::Directory::open(&top).unwrap()).unwrap();
        let four = Description::new(&[4], ElementType::Int).with_chunk_shape(&[2]).with_overwrite(true);
        for (name, above) in [("a", "a"), ("a", "a/c"), ("g", "g"), ("g", "g/a/c")] {
            create(&storage, if name == "a" { "a" } else { "g/a" }, &four).unwrap();
            let above = top.join(above);
            std::fs::create_dir_all(&above).unwrap();
            std::fs::write(above.join(".1.17.3.partial"), "").unwrap();
            for (other, shown) in [("r\u{e9}s", "r\u{fffd}s"), ("a\\b", "a\\b"), ("link", "link")] {
                // In Latin-1.
                let bytes: Vec<u8> = other.chars().map(|letter| letter as u8).collect();
                let other = above.join(OsStr::from_bytes(&bytes));
                if shown == "link" { symlink("nowhere", &other) } else { std::fs::create_dir(&other) }.unwrap();
                let error = create(&storage, name, &four).unwrap_err();
                assert!(error.kind() == ErrorKind::Exists && error.about().ends_with(shown), "{error}");
                assert!(other.symlink_metadata().is_ok());
                let array = if name == "a" { "a" } else { "g/a" };
                assert!(documents::is_there(&storage, array, V3).unwrap());
                std::fs::remove_dir(&other).or_else(|_| std::fs::remove_file(&other)).unwrap();
            }
            // A chunk that is a link is one wherever that leads.
            if above.ends_with("c") {
                symlink("nowhere", above.join("1")).unwrap();
            }
            create(&storage, name, &four).unwrap();
            assert!(!above.join("1").is_symlink());
            std::fs::remove_dir_all(top.join(name)).unwrap();
        }
    }

    #[test]
    fn names_of_documents_are_no_names_of_arrays() {
        use crate::ArrayFormat::{NcZarr, ZarrV2, ZarrV3};
        let four = Description::new(&[4], ElementType::Int).with_dimension_names(&["x"]);
        let storage = with(&[]);
        for format in [ZarrV3, ZarrV2, NcZarr] {
            let four = four.with_format(format);
            for document in zarr::DOCUMENTS {
                for name in [document.to_owned(), format!("g/{document}"), format!("{document}/a")] {
                    let error = create(&storage, &name, &four).unwrap_err();
                    assert!(error.to_string().contains("cannot have the name of a metadata document"), "{error}");
                    assert_eq!((error.about(), error.status()), (&*name, crate::status::EINVAL));
                }
            }
            assert_eq!(names(&storage, ""), [""; 0]);
        }
        for name in ["__a", "g/__a", "__g/a", "...", "g/..."] {
            let error = create(&storage, name, &four).unwrap_err();
            assert!(error.to_string().contains("Zarr v3 reserves names"), "{error}");
            create(&with(&[]), name, &four.with_format(ZarrV2)).unwrap();
        }
        for name in ["_a", "zarr.jso", ".zarrays", "a.zarr.json", "c"] {
            create(&with(&[]), name, &four).unwrap();
        }
    }

    #[test]
    fn netcdf_can_read_what_else_is_in_the_group() {
        let storage = with(&[]);
        let four = Description::new(&[4], ElementType::Int)
            .with_dimension_names(&["x"])
            .with_format(crate::ArrayFormat::NcZarr);
        create(&storage, "g/a", &four).unwrap();
        create(&storage, "g/b", &four).unwrap();
        let five = Description::new(&[5], ElementType::Int)
            .with_dimension_names(&["x"])
            .with_format(crate::ArrayFormat::NcZarr);
        let error = create(&storage, "g/c", &five).unwrap_err();
        assert_eq!((error.about(), error.dimension()), ("g/a", Some(0)));
        create(&storage, "h/c", &five).unwrap();
        let group = br#"{"_nczarr_group": {"dimensions": {"x": 4}, "arrays": [], "groups": []}}"#;
        storage.write("g/.zattrs", group).unwrap();
        assert!(matches!(create(&storage, "g/c", &four).unwrap_err().kind(), ErrorKind::Unsupported(_)));
    }

    /// A storage of which one write stores the object, or something else that another has written meanwhile, and fails.
    struct LateFailure {
        memory: Memory,
        fails_at: &'static str,
        others: Option<&'static [u8]>,
        error: ErrorKind,
        removes: bool,
    }

    impl ObjectStore for LateFailure {
        pass_on! { self => self.memory; read list is_writable }
        fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
            if name != self.fails_at {
                return self.memory.write(name, bytes);
            }
            self.memory.write(name, self.others.unwrap_or(bytes))?;
            Err(self.error.into())
        }
        fn remove(&self, name: &str) -> Result<()> {
            if self.removes { self.memory.remove(name) } else { Err(ErrorKind::System(5).into()) }
        }
    }

    #[test]
    fn what_fails_leaves_nothing_or_an_array_with_its_attributes() {
        let x = Description::new(&[4], ElementType::Int).with_dimension_names(&["x"]);
        let v2 = x.with_format(crate::ArrayFormat::ZarrV2);
        for (description, fails_at, documents) in
            [(x, "a/zarr.json", vec![V3]), (v2, "a/.zarray", vec![V2_ARRAY, V2_ATTRIBUTES]), (v2, "a/.zattrs", vec![])]
        {
            for removes in [true, false] {
                let storage = Storage::new(LateFailure {
                    memory: Memory::new(),
                    fails_at,
                    others: None,
                    error: ErrorKind::System(5),
                    removes,
                })
                .unwrap();
                assert_eq!(create(&storage, "a", &description).unwrap_err().status(), 5);
                if removes {
                    assert_eq!(names(&storage, "a"), [""; 0], "{fails_at}");
                } else if !documents.is_empty() {
                    assert_eq!(names(&storage, "a"), documents);
                    let array = crate::Array::open_in(&storage, "a", crate::Access::Read).unwrap();
                    assert_eq!(array.dimension_name(0), Some("x"));
                }
            }
        }
    }

    #[test]
    fn groups_are_made_and_nothing_is_written_in_vain() {
        let storage = with(&[]);
        create(&storage, "a/b", &Description::new(&[4], ElementType::Int)).unwrap();
        assert_eq!(["", "a"].map(|group| names(&storage, group)), [["a", V3], ["b", V3]]);
        let storage = with(&[]);
        let huge = Description::new(&[4], ElementType::Opaque { len: 1 << 30 });
        assert!(create(&storage, "a", &huge).is_err());
        let snappy = [("blosc", r#"{"cname": "snappy"}"#)];
        assert!(create(&storage, "a", &Description::new(&[4], ElementType::Int).with_codecs(&snappy)).is_err());
        let shards = Description::new(&[4], ElementType::Int).with_chunk_shape(&[1]).with_shard_shape(&[2]);
        let v2 = shards.with_format(crate::ArrayFormat::ZarrV2);
        assert!(matches!(create(&storage, "a", &v2).unwrap_err().kind(), ErrorKind::Unsupported(_)));
        assert!(create(&storage, "../a", &shards).is_err());
        assert_eq!(names(&storage, ""), [""; 0]);
    }

    /// A member that cannot be read may be an array with a dimension of another length.
    #[test]
    fn an_array_for_netcdf_is_not_created_beside_what_cannot_be_read() {
        struct Locked(Memory);
        impl ObjectStore for Locked {
            fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
                if name == "a/.zarray" { Err(ErrorKind::Callback(7).into()) } else { self.0.read(name, begin, buffer) }
            }
            pass_on! { self => self.0; list write is_writable }
        }
        let storage = Storage::new(Locked(Memory::new())).unwrap();
        storage.write(".zgroup", br#"{"zarr_format":2}"#).unwrap();
        storage.write("a/.zarray", b"{}").unwrap();
        let description = Description::new(&[5], ElementType::Int).with_format(ArrayFormat::NcZarr);
        let error = create(&storage, "b", &description.with_dimension_names(&["x"])).unwrap_err();
        assert_eq!((error.kind(), names(&storage, "b")), (ErrorKind::Callback(7), Vec::new()));
    }
}
