//! What is in a group: arrays and groups, with what their metadata say.

use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, V2_CONSOLIDATED, V2_GROUP, V3, below};
use super::file;
use super::links::Links;
use crate::alloc;
use crate::dataset::Node;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Value;
use crate::object::{Entry, Held, Place, check_name};
use crate::zarr;

/// What is in a group of a place; an empty name is the place itself. The group comes first, then what is in it, by
/// name, and if `recursive` after each group what is in that. An array is listed as itself alone.
///
/// What is there but cannot be read is listed with its [error](Node::error), and the list goes on. If the place cannot
/// list its objects, the group's consolidated metadata tell what there is. Of groups that symbolic links lead to, what
/// is in them is listed for the first link alone, and not for one that leads to a group that it is in.
///
/// In a [file](Place::file) the file itself is a group.
///
/// # Errors
/// `NotFound`, `UnknownFormat` if the place itself is no group and no array, `Metadata` for a group's own,
/// `Unsupported` if the place cannot list and has no consolidated metadata, `OutOfMemory`, and those of the place.
pub fn list(place: &Place, group: &str, recursive: bool) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    each(place, group, recursive, &mut |node| Ok(alloc::push(&mut nodes, node)?))?;
    Ok(nodes)
}

/// Calls `one` for what [`list`] finds, in its order.
pub(crate) fn each(place: &Place, group: &str, recursive: bool, one: &mut dyn FnMut(Node) -> Result<()>) -> Result<()> {
    if let Some(file) = place.file_name() {
        return file::list(place, file, group, one);
    }
    let group = group.trim_matches('/');
    if !group.is_empty() {
        check_name(group).map_err(|error| error.in_object(group))?;
    }
    let (mut names, mut links) = (Vec::new(), Links::default());
    alloc::push(&mut names, (alloc::text(group)?, false))?;
    let mut is_first = true;
    while let Some((name, is_link)) = names.pop() {
        let begin = names.len();
        let mut find = || {
            let node = node(place, &name)?;
            let is_group = node.as_ref().is_some_and(Node::is_group);
            let is_entered = is_group && (is_first || recursive) && !(is_link && links.have_led_to(place, &name)?);
            let is_listed = !is_entered || members(place, &name, &mut names)?;
            Ok((node, is_listed))
        };
        let (node, is_listed) = match find() {
            Ok(found) => found,
            Err(error) if is_first => return Err(if name.is_empty() { error } else { error.in_object(&name) }),
            // It has been removed meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::NotFound(_)) => (None, true),
            Err(error) => {
                names.truncate(begin);
                (Some(Node::found(&name, Err(error))?), true)
            }
        };
        match node {
            Some(node) => {
                one(node)?;
                if is_first && !is_listed {
                    consolidated(place, &name, recursive, one)?;
                }
            }
            None if is_first && name.is_empty() => return Err(ErrorKind::UnknownFormat.into()),
            None if is_first && is_told_by_top(place, &name)? => {
                let (top, rest) = place.split_top(&name).unwrap_or(("", &name));
                return each(place, rest, recursive, &mut |node| one(node.below(top)?));
            }
            None if is_first => return Err(Error::from(ErrorKind::NotFound("group")).in_object(&name)),
            None => {}
        }
        is_first = false;
    }
    Ok(())
}

/// Whether there is something by this name without the directory that it begins with, if that is all of a zip file.
fn is_told_by_top(place: &Place, name: &str) -> Result<bool> {
    match place.split_top(name) {
        Some((_, rest)) => Ok(node(place, rest)?.is_some()),
        None => Ok(false),
    }
}

/// The group or array of a name, if there is one.
fn node(place: &Place, name: &str) -> Result<Option<Node>> {
    if let Some(text) = zarr::document(place, name, V3)? {
        let found = zarr::read_node_v3(&text).and_then(|node| match node {
            zarr::Node::Array(metadata) => zarr::array_node(place, name, *metadata),
            zarr::Node::Group(group) => zarr::group_node(name, &group.attributes),
        });
        return Node::found(name, found).map(Some);
    }
    if documents::is_there(place, name, V2_ARRAY)? {
        let found = zarr::open(place, name).and_then(|metadata| zarr::array_node(place, name, metadata));
        return Node::found(name, found).map(Some);
    }
    let Some(text) = zarr::document(place, name, V2_GROUP)? else { return Ok(None) };
    let attributes = zarr::document(place, name, V2_ATTRIBUTES)?;
    zarr::group_node(name, &zarr::read_group_v2(&text, attributes.as_deref())?.attributes).map(Some)
}

/// Adds the names of what may be groups and arrays directly below a group, so that they are popped by name; `false` if
/// the place cannot list, for a group has a document at least. With each name comes whether it is a link's.
fn members(place: &Place, group: &str, names: &mut Vec<(String, bool)>) -> Result<bool> {
    let begin = names.len();
    let mut is_listed = false;
    place.list_held(group, &mut |last, held| {
        is_listed = true;
        if let Held::Prefix | Held::Link(Some(Entry::Prefix)) = held {
            alloc::push(names, (alloc::text(&below(group, last)?)?, held != Held::Prefix))?;
        }
        Ok(())
    })?;
    names[begin..].sort_unstable_by(|one, other| other.cmp(one));
    Ok(is_listed)
}

/// Calls `one` for what the consolidated metadata of a group tell, in their order.
fn consolidated(place: &Place, group: &str, recursive: bool, one: &mut dyn FnMut(Node) -> Result<()>) -> Result<()> {
    let is_wanted = |path: &str| !path.is_empty() && (recursive || !path.contains('/'));
    if let Some(text) = zarr::document(place, group, V3)? {
        if let zarr::Node::Group(zarr::Group { consolidated: Some(documents), .. }) = zarr::read_node_v3(&text)? {
            for (path, document) in documents.iter().filter(|(path, _)| is_wanted(path)) {
                let name = below(group, path)?;
                let is_group = document.get("node_type").and_then(Value::as_str) == Some("group");
                let found = match is_group {
                    true => zarr::group_node(&name, document.get("attributes").unwrap_or(&Value::Null)),
                    false => zarr::v3_of_value(document).and_then(|array| zarr::array_node(place, &name, array)),
                };
                one(Node::found(&name, found)?)?;
            }
            return Ok(());
        }
    } else if let Some(text) = zarr::document(place, group, V2_CONSOLIDATED)? {
        let documents = zarr::consolidated_v2(&text)?;
        for (document, value) in &documents {
            let Some((path, which)) = document.rsplit_once('/').filter(|(path, _)| is_wanted(path)) else { continue };
            let of_attributes = below(path, V2_ATTRIBUTES)?;
            let attributes = documents.iter().find(|(other, _)| **other == *of_attributes).map(|(_, value)| value);
            let name = below(group, path)?;
            let found = match which {
                V2_ARRAY => zarr::v2_of_values(value, attributes).and_then(|all| zarr::array_node(place, &name, all)),
                V2_GROUP => zarr::group_node(&name, attributes.unwrap_or(&Value::Null)),
                _ => continue,
            };
            one(Node::found(&name, found)?)?;
        }
        return Ok(());
    }
    let kind = ErrorKind::Unsupported("listing in a place that cannot list, of a group without consolidated metadata");
    Err(Error::from(kind).in_object(if group.is_empty() { "the place" } else { group }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::dataset::ElementType;
    use crate::object::{Begin, Memory, Objects};

    const ARRAY: &str = r#"{"shape":[4,2],"chunks":[2,2],"dtype":"<i2","fill_value":0,"order":"C","filters":null,
        "compressor":null,"zarr_format":2}"#;
    const ATTRIBUTES: &str = r#"{"_ARRAY_DIMENSIONS":["y","x"],"units":"m"}"#;
    const GROUP: &str = r#"{"zarr_format":2}"#;

    fn objects() -> Memory {
        let memory = Memory::new();
        for (name, text) in [
            (".zgroup", GROUP),
            (".zattrs", r#"{"title":"t"}"#),
            ("b/.zgroup", GROUP),
            ("b/a/.zarray", ARRAY),
            ("b/a/0.0", ""),
            ("a/.zarray", ARRAY),
            ("a/.zattrs", ATTRIBUTES),
            ("c/.zarray", r#"{"zarr_format":2}"#),
            ("d/readme", ""),
        ] {
            memory.write(name, text.as_bytes()).unwrap();
        }
        memory
    }

    fn names(nodes: &[Node]) -> Vec<&str> {
        nodes.iter().map(Node::name).collect()
    }

    #[test]
    fn a_group_is_listed_with_what_is_in_it() {
        let place = Place::new(objects()).unwrap();
        let nodes = list(&place, "", true).unwrap();
        assert_eq!(names(&nodes), ["", "a", "b", "b/a", "c"]);
        assert!(nodes[0].is_group() && nodes[2].is_group());
        assert_eq!(nodes[0].attributes()[0].name(), "title");
        assert_eq!((nodes[1].shape(), nodes[1].chunk_shape()), (&[4, 2][..], &[2, 2][..]));
        assert_eq!((nodes[1].element_type(), nodes[1].dimension_name(1)), (Some(ElementType::Short), Some("x")));
        assert_eq!((nodes[1].attributes().len(), nodes[1].shard_shape(), nodes[1].is_unlimited(0)), (1, None, false));
        assert_eq!(nodes[4].error().unwrap().status(), crate::status::ENCZARR);
        assert_eq!(names(&list(&place, "", false).unwrap()), ["", "a", "b", "c"]);
        assert_eq!(names(&list(&place, "/b/", true).unwrap()), ["b", "b/a"]);
        assert_eq!(names(&list(&place, "b/a", true).unwrap()), ["b/a"]);
        assert_eq!(list(&place, "d", true).unwrap_err().kind(), ErrorKind::NotFound("group"));
        assert!(list(&place, "../d", true).is_err());
        assert_eq!(list(&Place::new(Memory::new()).unwrap(), "", true).unwrap_err().kind(), ErrorKind::UnknownFormat);
    }

    /// A place that cannot list.
    struct Mute(Memory);

    impl Objects for Mute {
        fn read(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            self.0.read(name, begin, buffer)
        }

        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn consolidated_metadata_tell_where_nothing_is_listed() {
        let place = Place::new(Mute(objects())).unwrap();
        assert!(matches!(list(&place, "", true).unwrap_err().kind(), ErrorKind::Unsupported(_)));
        let memory = objects();
        let text = format!(
            r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{GROUP},"a/.zarray":{ARRAY},
            "a/.zattrs":{ATTRIBUTES},"b/.zgroup":{GROUP},"b/a/.zarray":{ARRAY}}}}}"#
        );
        memory.write(".zmetadata", text.as_bytes()).unwrap();
        let place = Place::new(Mute(memory)).unwrap();
        let nodes = list(&place, "", true).unwrap();
        assert_eq!(names(&nodes), ["", "a", "b", "b/a"]);
        assert_eq!((nodes[1].dimension_name(0), nodes[1].attributes().len()), (Some("y"), 1));
        assert_eq!(names(&list(&place, "", false).unwrap()), ["", "a", "b"]);
    }

    #[test]
    fn consolidated_metadata_of_v3_are_in_the_group() {
        let memory = Memory::new();
        let text = r#"{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":{"kind":"inline",
            "must_understand":false,"metadata":{"g":{"zarr_format":3,"node_type":"group","attributes":{"x":1}},"g/a":{
            "shape":[],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
            "chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"],"zarr_format":3,"node_type":"array"}}}}"#;
        memory.write("g/zarr.json", text.as_bytes()).unwrap();
        let nodes = list(&Place::new(Mute(memory)).unwrap(), "g", true).unwrap();
        assert_eq!(names(&nodes), ["g", "g/g", "g/g/a"]);
        assert_eq!((nodes[1].attributes().len(), nodes[2].element_type()), (1, Some(ElementType::Byte)));
    }

    #[test]
    fn a_group_of_v3_without_consolidated_metadata_is_not_listed() {
        let memory = Memory::new();
        memory.write("g/zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
        let error = list(&Place::new(Mute(memory)).unwrap(), "g", true).unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Unsupported(_)) && error.about() == "g", "{error}");
    }

    #[test]
    fn who_is_told_may_end_a_list_of_consolidated_metadata() {
        let text =
            br#"{"zarr_format":3,"node_type":"group","consolidated_metadata":{"kind":"inline","must_understand":false,
            "metadata":{"a":{"zarr_format":3,"node_type":"group"},"b":{"zarr_format":3,"node_type":"group"}}}}"#;
        let memory = Memory::new();
        memory.write("zarr.json", text).unwrap();
        let mut told = Vec::new();
        let ended = each(&Place::new(Mute(memory)).unwrap(), "", true, &mut |node| {
            told.push(node.name().to_owned());
            if node.name() == "a" { Err(ErrorKind::Stopped(7).into()) } else { Ok(()) }
        });
        assert_eq!((ended.unwrap_err().kind(), told), (ErrorKind::Stopped(7), vec![String::new(), "a".to_owned()]));
    }

    /// A place of which some objects cannot be read, and some prefixes cannot be listed.
    struct Broken(Memory, &'static [&'static str], ErrorKind);

    impl Objects for Broken {
        fn read(&self, name: &str, begin: Begin, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            if self.1.contains(&name) { Err(self.2.into()) } else { self.0.read(name, begin, buffer) }
        }

        fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            if self.1.contains(&prefix) { Err(self.2.into()) } else { self.0.list(prefix, one) }
        }
    }

    /// The names, each with the status that it is told with.
    fn statuses(nodes: &[Node]) -> Vec<(&str, i32)> {
        nodes.iter().map(|node| (node.name(), node.error().map_or(0, Error::status))).collect()
    }

    #[test]
    fn what_cannot_be_read_is_told_and_the_list_goes_on() {
        let listed = |broken, kind| list(&Place::new(Broken(objects(), broken, kind)).unwrap(), "", true);
        let whole = [("", 0), ("a", 0), ("b", 0), ("b/a", 0), ("c", crate::status::ENCZARR)];
        for (broken, is_in) in [
            (&["a/zarr.json"][..], 1),
            (&["a/.zarray"], 1),
            (&["a/.zattrs"], 1),
            (&["b/.zgroup"], 2),
            (&["b/.zattrs"], 2),
            (&["b"], 2),
            (&["b/a/.zarray"], 3),
        ] {
            let nodes = listed(broken, ErrorKind::System(5)).unwrap();
            let mut expected = whole.to_vec();
            expected[is_in].1 = 5;
            // What is in a group that cannot be read is not known.
            if is_in == 2 {
                expected.remove(3);
            }
            assert_eq!(statuses(&nodes), expected, "{broken:?}");
            assert_eq!(listed(broken, ErrorKind::OutOfMemory).unwrap_err().kind(), ErrorKind::OutOfMemory);
        }
        // The group that was asked for is no member.
        for broken in [&[".zgroup"][..], &[".zattrs"], &[""]] {
            assert_eq!(listed(broken, ErrorKind::System(5)).unwrap_err().status(), 5, "{broken:?}");
        }
    }

    #[test]
    fn malformed_groups_are_told_too() {
        let memory = objects();
        memory.write("b/.zgroup", b"{").unwrap();
        memory.write("a/.zattrs", b"[]").unwrap();
        let text = format!("{{{}\"x\":1}}", (0..20_000).map(|i| format!("\"{i}\":0,")).collect::<String>());
        memory.write("d/.zgroup", GROUP.as_bytes()).unwrap();
        memory.write("d/.zattrs", text.as_bytes()).unwrap();
        let place = Place::new(memory).unwrap();
        let nodes = list(&place, "", true).unwrap();
        let malformed = crate::status::ENCZARR;
        assert_eq!(statuses(&nodes), [("", 0), ("a", malformed), ("b", malformed), ("c", malformed), ("d", malformed)]);
        assert!(nodes[2].error().unwrap().to_string().starts_with(".zgroup: "), "{nodes:?}");
        assert_eq!(list(&place, "b", true).unwrap_err().status(), malformed);
    }

    #[test]
    fn members_that_consolidated_metadata_spoil_are_told() {
        let many = (0..20_000).map(|i| format!("\"{i}\":0,")).collect::<String>();
        let v3 = format!(
            r#"{{"zarr_format":3,"node_type":"group","consolidated_metadata":{{"kind":"inline","must_understand":false,
            "metadata":{{"a":1,"b":{{"node_type":"group","attributes":{{{many}"x":1}}}},"c":{{"zarr_format":3,
            "node_type":"group"}}}}}}}}"#
        );
        let v2 = format!(
            r#"{{"zarr_consolidated_format":1,"metadata":{{"a/.zarray":1,"b/.zgroup":{GROUP},
            "b/.zattrs":{{{many}"x":1}},"c/.zgroup":{GROUP}}}}}"#
        );
        for documents in [&[("zarr.json", &*v3)][..], &[(".zgroup", GROUP), (".zmetadata", &v2)]] {
            let memory = Memory::new();
            documents.iter().for_each(|(name, text)| memory.write(name, text.as_bytes()).unwrap());
            let nodes = list(&Place::new(Mute(memory)).unwrap(), "", true).unwrap();
            let malformed = crate::status::ENCZARR;
            assert_eq!(statuses(&nodes), [("", 0), ("a", malformed), ("b", malformed), ("c", 0)]);
        }
    }

    /// Documents that are directories, and links in circles.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn a_directory_is_listed_whatever_is_in_it() {
        use std::os::unix::fs::symlink;
        let path = std::env::temp_dir().join(format!("nczchunk-list-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        let place = Place::new(crate::object::Directory::create(&path).unwrap()).unwrap();
        let group = br#"{"zarr_format":3,"node_type":"group"}"#;
        for name in ["zarr.json", "a/zarr.json", "b/zarr.json", "b/d/zarr.json", "z/zarr.json", "l/x/zarr.json"] {
            place.write(name, group).unwrap();
        }
        std::fs::create_dir_all(path.join("m/zarr.json")).unwrap();
        symlink(".zgroup", path.join("a/.zgroup")).unwrap();
        symlink("zarr.json", path.join("l/zarr.json")).unwrap();
        let listed = || list(&place, "", true).unwrap();
        let nodes = listed();
        let [eisdir, eloop] = [libc::EISDIR, libc::ELOOP];
        let expected = [("", 0), ("a", 0), ("b", 0), ("b/d", 0), ("l", eloop), ("m", eisdir), ("z", 0)];
        assert_eq!(statuses(&nodes), expected);
        // Links to groups are listed with what is in them, once; links to a group that they are in are not followed.
        symlink("../b", path.join("z/first")).unwrap();
        symlink("../b", path.join("z/second")).unwrap();
        symlink("..", path.join("b/d/up")).unwrap();
        symlink(".", path.join("b/here")).unwrap();
        let nodes = listed();
        let names = names(&nodes);
        assert_eq!(
            names,
            [
                "",
                "a",
                "b",
                "b/d",
                "b/d/up",
                "b/here",
                "l",
                "m",
                "z",
                "z/first",
                "z/first/d",
                "z/first/d/up",
                "z/first/here",
                "z/second",
            ]
        );
        // The group that is asked for is entered, whatever leads there.
        assert_eq!(self::names(&list(&place, "z/second", false).unwrap())[1..], ["z/second/d", "z/second/here"]);
        std::fs::remove_dir_all(&path).unwrap();
    }
}
