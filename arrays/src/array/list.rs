//! Listing a group: its arrays and groups, with their metadata.

use super::documents::{V2_ARRAY, V2_ATTRIBUTES, V2_CONSOLIDATED, V2_GROUP, V3, about, below, groups_above};
use super::{file, joined};
use crate::alloc;
use crate::dataset::{Node, OneNode};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{ByName, Member, Value};
use crate::object::{self, Entry, Storage, check_name};
use crate::zarr::{self, Format};

/// Lists a group of a storage; an empty name is the storage itself. The group comes first, then its members by name. If
/// `recursive`, the members of each group follow it. For an array, only the array itself is listed.
///
/// Members that cannot be read, and groups whose members the storage does not list, are listed with their
/// [error](Node::error). A symbolic link to a group is listed with
/// the members of that group. Members that several links lead to are listed only with the first link. A link to a group
/// that contains the link is left out. If the storage cannot list its objects, or has latency, the group's consolidated
/// metadata are used, if it has any.
///
/// The metadata alone are read: whether the chunks have the names that they say is found out when an array is opened.
///
/// In a [file](Storage::file), the file itself is listed as a group.
///
/// # Errors
/// `NotFound`, `UnknownFormat` if the storage itself is neither a group nor an array, `Metadata` for the group's own,
/// `Unsupported` if the storage cannot list and has no consolidated metadata, `OutOfMemory`, and those of the storage.
pub fn list(storage: &Storage, group: &str, recursive: bool) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    list_each(storage, group, recursive, &mut |node| Ok(alloc::push(&mut nodes, node)?))?;
    Ok(nodes)
}

/// Calls `one` for each node that [`list`] finds, in the same order, as soon as it is found.
///
/// # Errors
/// Those of [`list`], and the first of `one`, which ends the search.
pub fn list_each(
    storage: &Storage,
    group: &str,
    recursive: bool,
    one: &mut dyn FnMut(Node) -> Result<()>,
) -> Result<()> {
    walk(storage, group, recursive, true, one)
}

/// Calls `one` for the group or array of a name alone; an empty name is the storage itself.
pub fn one_node(storage: &Storage, name: &str, one: &mut dyn FnMut(Node) -> Result<()>) -> Result<()> {
    if storage.file_name().is_none() && storage.joined().is_none() {
        return alone(storage, clean_name(name)?, one);
    }
    // What is in the file after its first node ends the listing.
    let mut told = None;
    let listed = list_each(storage, name, false, &mut |node| {
        told = Some(one(node));
        Err(ErrorKind::Internal.into())
    });
    told.unwrap_or(listed)
}

fn alone(storage: &Storage, name: &str, one: OneNode<'_>) -> Result<()> {
    match node(storage, name).map_err(|error| error.in_object(name))? {
        Some((node, _)) => one(node),
        None => Err(no_node(storage, name)),
    }
}

/// A name without slashes around it, if objects can have it.
pub(super) fn clean_name(name: &str) -> Result<&str> {
    let name = name.trim_matches('/');
    if !name.is_empty() {
        check_name(name).map_err(|error| error.in_object(name))?;
    }
    Ok(name)
}

/// That there is neither a group nor an array.
pub(super) fn no_node(storage: &Storage, name: &str) -> Error {
    match name {
        "" => zarr::why_nothing(storage),
        _ => ErrorKind::NotFound("group").in_object(name),
    }
}

/// As [`each`]. `believes` says whether consolidated metadata may tell what is in a group.
pub(super) fn walk(storage: &Storage, group: &str, recursive: bool, believes: bool, one: OneNode<'_>) -> Result<()> {
    if let Some(file) = storage.file_name() {
        return file::list(storage, file, group, recursive, one);
    }
    if let Some(joined) = storage.joined() {
        return joined::list_each(storage, joined, group, recursive, one);
    }
    let group = clean_name(group)?;
    let mut members = Members::default();
    alloc::push(&mut members.names, (alloc::text(group)?, false))?;
    let mut is_first = true;
    while let Some((name, is_linked)) = members.names.pop() {
        let location = if is_linked { storage.location(&name) } else { Ok(None) };
        if let Ok(Some(location)) = location {
            if is_within(storage, &name, location)? {
                continue;
            }
        }
        let found = match location.and_then(|location| Ok((node(storage, &name)?, location))) {
            // The group itself has to be readable. A member that is not is reported with its status.
            Err(error) if !is_first && is_of_member(&error) => {
                Node::unreadable(&name, error).map(|node| (Some((node, Consolidated::Inline(None))), None))
            }
            found => found,
        };
        match found.map_err(|error| error.in_object(&name))? {
            (Some((mut node, told)), location) => {
                let mut entered = Ok(None);
                if node.is_group() && (recursive || is_first) {
                    entered = members.enter(storage, (&name, is_linked), location, (told, believes));
                }
                if let Err(error) = &entered {
                    if !is_first && is_of_member(error) {
                        node = Node::unreadable(&name, error.clone())?;
                        entered = Ok(None);
                    }
                }
                one(node)?;
                if let Some(documents) = entered? {
                    tell(storage, &name, recursive, &documents, one)?;
                }
            }
            (None, _) if is_first => return Err(no_node(storage, &name)),
            (None, _) => {}
        }
        is_first = false;
    }
    Ok(())
}

/// Whether an error of reading a member says nothing of the others.
fn is_of_member(error: &Error) -> bool {
    is_of_storage(error) || matches!(error.kind(), ErrorKind::Metadata(_) | ErrorKind::Limit { .. })
}

fn is_of_storage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::System(_) | ErrorKind::Refused | ErrorKind::Callback(_))
}

/// The error of a member that may be anything, for what is stored of it has not been read.
pub(super) fn unread(node: &Node) -> Option<Error> {
    let error = node.error().filter(|error| is_of_storage(error))?.clone();
    Some(if error.about().is_empty() { error.in_object(node.name()) } else { error })
}

/// Where the consolidated metadata of a group are.
enum Consolidated {
    /// In its document, which has been read, if it has them.
    Inline(Option<Vec<Member>>),
    /// In a document beside it, if there is one.
    Beside,
}

/// The group or array of a name, if there is one.
fn node(storage: &Storage, name: &str) -> Result<Option<(Node, Consolidated)>> {
    let array = |node: Node| Some((node, Consolidated::Inline(None)));
    let node = zarr::document(storage, name, V3)
        .and_then(|document| document.map(|value| zarr::node_v3_of_value(value, storage.codecs())).transpose());
    match node {
        Ok(Some(zarr::Node::Array(metadata))) => return zarr::array_node(storage, name, Ok(*metadata)).map(array),
        Ok(Some(zarr::Node::Group(group))) => {
            let node = zarr::group_node(name, Format::V3.name(false), &group.attributes, group.attributes_error)?;
            return Ok(Some((node, Consolidated::Inline(group.consolidated))));
        }
        Err(error) => return zarr::array_node(storage, name, Err(error)).map(array),
        Ok(None) => {}
    }
    if zarr::is_there(storage, name, V2_ARRAY)? {
        return zarr::array_node(storage, name, zarr::told(storage, name)).map(array);
    }
    let Some(group) = zarr::document(storage, name, V2_GROUP)? else { return Ok(None) };
    let group = zarr::group_v2_of_values(&group, zarr::document(storage, name, V2_ATTRIBUTES))?;
    let format = Format::V2.name(group.is_nczarr);
    let node = zarr::group_node(name, format, &group.attributes, group.attributes_error)?;
    Ok(Some((node, Consolidated::Beside)))
}

/// Whether a name leads to the storage itself or a group that it is below, for that is where it is.
fn is_within(storage: &Storage, name: &str, location: u128) -> Result<bool> {
    for above in groups_above(name) {
        if storage.location(above)? == Some(location) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What is still to be listed.
#[derive(Default)]
struct Members {
    /// What may be groups and arrays; whether a symbolic link is on the way to it.
    names: Vec<(String, bool)>,
    /// Where symbolic links have led, in ascending order.
    locations: Vec<u128>,
}

/// The consolidated metadata of a group: its documents.
enum Documents {
    V3(Vec<Member>),
    V2(Vec<Member>),
}

impl Members {
    /// Reads the consolidated metadata of a group, if they tell what is in it. If not, its members are added.
    /// `believes` says whether consolidated metadata may tell.
    fn enter(
        &mut self,
        storage: &Storage,
        (group, is_linked): (&str, bool),
        location: Option<u128>,
        (told, believes): (Consolidated, bool),
    ) -> Result<Option<Documents>> {
        // One request tells of all members what would take one for each.
        if believes && object::latency(&**storage).is_some() {
            let documents = told.read(storage, group)?;
            if documents.is_some() || !self.is_new(location)? || self.add(storage, group, is_linked)? {
                return Ok(documents);
            }
            return Err(untold(group));
        }
        if !self.is_new(location)? || self.add(storage, group, is_linked)? {
            return Ok(None);
        }
        let documents = if believes { told.read(storage, group)? } else { None };
        documents.map(Some).ok_or_else(|| untold(group))
    }

    /// Adds the names of what may be groups and arrays directly below a group, so that they are popped by name; `false`
    /// if the storage cannot list, for a group has a document at least.
    fn add(&mut self, storage: &Storage, group: &str, is_linked: bool) -> Result<bool> {
        let begin = self.names.len();
        let mut is_listed = false;
        let listed = storage.list(group, &mut |last, entry| {
            is_listed = true;
            if entry == Entry::Prefix {
                alloc::push(&mut self.names, (alloc::text(&below(group, last)?)?, is_linked))?;
            }
            Ok(())
        });
        listed.inspect_err(|_| self.names.truncate(begin))?;
        for (name, is_linked) in &mut self.names[begin..] {
            // What is gone meanwhile is no link.
            *is_linked |= storage.is_link(name).unwrap_or(false);
        }
        self.names[begin..].sort_unstable_by(|one, other| other.cmp(one));
        Ok(is_listed)
    }

    /// Whether no link has led there yet, or none leads there.
    fn is_new(&mut self, location: Option<u128>) -> Result<bool> {
        let Some(location) = location else { return Ok(true) };
        let Err(at) = self.locations.binary_search(&location) else { return Ok(false) };
        alloc::insert(&mut self.locations, at, location)?;
        Ok(true)
    }
}

impl Consolidated {
    /// The documents, if there are any.
    fn read(self, storage: &Storage, group: &str) -> Result<Option<Documents>> {
        match self {
            Consolidated::Inline(documents) => Ok(documents.map(Documents::V3)),
            Consolidated::Beside => {
                let Some(document) = zarr::document(storage, group, V2_CONSOLIDATED)? else { return Ok(None) };
                Ok(Some(Documents::V2(zarr::consolidated_v2_of_value(document)?)))
            }
        }
    }
}

/// Calls `one` for what the consolidated metadata of a group tell, in their order.
fn tell(storage: &Storage, group: &str, recursive: bool, documents: &Documents, one: OneNode<'_>) -> Result<()> {
    let is_wanted = |path: &str| !path.is_empty() && (recursive || !path.contains('/'));
    let documents = match documents {
        Documents::V3(documents) => {
            for (path, document) in documents.iter().filter(|(path, _)| is_wanted(path)) {
                let name = below(group, path)?;
                let is_group = document.get("node_type").and_then(Value::as_str) == Some("group");
                one(if is_group {
                    group_node(&name, Format::V3, document.get("attributes"))?
                } else {
                    zarr::array_node(storage, &name, zarr::v3_of_value(document, storage.codecs()))?
                })?;
            }
            return Ok(());
        }
        Documents::V2(documents) => documents,
    };
    let by_name = ByName::new(documents)?;
    for (document, value) in documents {
        let Some((path, which)) = document.rsplit_once('/').filter(|(path, _)| is_wanted(path)) else { continue };
        let of_attributes = below(path, V2_ATTRIBUTES)?;
        let attributes = by_name.get(&of_attributes);
        let name = below(group, path)?;
        match which {
            V2_ARRAY => one(zarr::array_node(storage, &name, array_v2(storage, value, attributes))?)?,
            V2_GROUP => one(group_node(&name, Format::V2, attributes)?)?,
            _ => {}
        }
    }
    Ok(())
}

/// That neither a list nor consolidated metadata tell what is in a group.
fn untold(group: &str) -> Error {
    let reason = "the group has no consolidated metadata, and the storage cannot list its objects";
    ErrorKind::Unsupported(reason).in_object(about(group))
}

/// A group of which consolidated metadata tell.
fn group_node(name: &str, format: Format, attributes: Option<&Value>) -> Result<Node> {
    let error = attributes.filter(|all| **all != Value::Null).and_then(|all| zarr::check_attributes(all).err());
    let attributes = attributes.filter(|_| error.is_none());
    let (format, error) = (format.name(false), error.map(|error| error.in_object(V2_ATTRIBUTES)));
    zarr::group_node(name, format, attributes.unwrap_or(&Value::Null), error)
}

/// An array of which consolidated metadata of Zarr v2 tell.
fn array_v2(storage: &Storage, array: &Value, attributes: Option<&Value>) -> Result<zarr::Metadata> {
    let error = attributes.and_then(|all| zarr::check_attributes(all).err());
    let mut metadata = zarr::v2_of_values(array, attributes.filter(|_| error.is_none()), storage.codecs())?;
    metadata.attributes_error = error.map(|error| error.in_object(V2_ATTRIBUTES));
    Ok(metadata)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use crate::element::ElementType;
    use crate::object::{ByteRange, Memory, ObjectStore};
    use crate::pass_on;

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

    /// The names of chunks are looked at when an array is opened: at a URL that is a request for each array.
    #[test]
    fn groups_alone_are_asked_what_is_in_them() {
        struct Asked(Memory, std::sync::Mutex<Vec<String>>);
        impl ObjectStore for Asked {
            pass_on! { self => self.0; read }
            fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
                self.1.lock().unwrap().push(prefix.to_owned());
                self.0.list(prefix, one)
            }
        }
        let objects = objects();
        objects.write("a/0/0", b"").unwrap();
        let asked = std::sync::Arc::new(Asked(objects, Default::default()));
        let storage = Storage::new(asked.clone()).unwrap();
        let nodes = list(&storage, "", true).unwrap();
        assert_eq!(names(&nodes), ["", "a", "b", "b/a", "c"]);
        assert_eq!(*asked.1.lock().unwrap(), ["", "b"]);
        let open = |name| crate::Array::open_in(&storage, name, crate::Access::Read);
        assert!(open("b/a").is_ok());
        assert_eq!(open("a").err().unwrap().about(), "a: .zarray: $.dimension_separator");
        assert_eq!(asked.1.lock().unwrap()[2..], ["b/a", "a"]);
    }

    fn names(nodes: &[Node]) -> Vec<&str> {
        nodes.iter().map(Node::name).collect()
    }

    #[test]
    fn a_group_is_listed_with_what_is_in_it() {
        let storage = Storage::new(objects()).unwrap();
        let nodes = list(&storage, "", true).unwrap();
        assert_eq!(names(&nodes), ["", "a", "b", "b/a", "c"]);
        assert!(nodes[0].is_group() && nodes[2].is_group());
        assert_eq!(nodes[0].attributes()[0].name(), "title");
        assert_eq!((nodes[1].shape(), nodes[1].chunk_shape()), (&[4, 2][..], &[2, 2][..]));
        assert_eq!((nodes[1].element_type(), nodes[1].dimension_name(1)), (Some(ElementType::Short), Some("x")));
        assert_eq!((nodes[1].attributes().len(), nodes[1].shard_shape(), nodes[1].is_unlimited(0)), (1, None, false));
        assert_eq!(nodes[4].error().unwrap().status(), crate::status::ENCZARR);
        assert_eq!(names(&list(&storage, "", false).unwrap()), ["", "a", "b", "c"]);
        assert_eq!(names(&list(&storage, "/b/", true).unwrap()), ["b", "b/a"]);
        assert_eq!(names(&list(&storage, "b/a", true).unwrap()), ["b/a"]);
        assert_eq!(list(&storage, "d", true).unwrap_err().kind(), ErrorKind::NotFound("group"));
        assert!(list(&storage, "../d", true).is_err());
        assert_eq!(list(&Storage::new(Memory::new()).unwrap(), "", true).unwrap_err().kind(), ErrorKind::UnknownFormat);
    }

    /// A storage that cannot list.
    struct Mute(Memory);

    impl ObjectStore for Mute {
        pass_on! { self => self.0; read }

        fn list(&self, _: &str, _: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            Ok(())
        }
    }

    /// A storage in which the group `b` cannot be read.
    struct Locked(Memory, ErrorKind);

    impl ObjectStore for Locked {
        fn read(&self, name: &str, begin: ByteRange, buffer: &mut Buffer<'_>) -> Result<Option<u64>> {
            if name == "b/.zgroup" { Err(self.1.into()) } else { self.0.read(name, begin, buffer) }
        }

        pass_on! { self => self.0; list }
    }

    #[test]
    fn a_member_that_cannot_be_read_does_not_end_a_list() {
        let limit = ErrorKind::Limit { name: "metadata", needed: None, limit: 1 };
        for kind in [ErrorKind::System(13), ErrorKind::Refused, ErrorKind::Callback(7), limit] {
            let storage = Storage::new(Locked(objects(), kind)).unwrap();
            let nodes = list(&storage, "", true).unwrap();
            assert_eq!(names(&nodes), ["", "a", "b", "c"]);
            assert_eq!(nodes[2].error().map(Error::kind), Some(kind));
            // What the caller says of a node is no error of a member, and neither is the group that is asked for.
            let mut num_told = 0;
            let ended = list_each(&storage, "", true, &mut |_| {
                num_told += 1;
                if num_told == 2 { Err(kind.into()) } else { Ok(()) }
            });
            assert_eq!((ended.unwrap_err().kind(), num_told), (kind, 2));
            assert_eq!(list(&storage, "b", true).unwrap_err().kind(), kind);
        }
        let storage = Storage::new(Locked(objects(), ErrorKind::OutOfMemory)).unwrap();
        assert_eq!(list(&storage, "", true).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }

    /// A storage that can be written to, and does not list the group `b`.
    struct Unlisted(Memory, ErrorKind);

    impl ObjectStore for Unlisted {
        pass_on! { self => self.0; read write is_writable }

        fn list(&self, prefix: &str, one: &mut dyn FnMut(&str, Entry) -> Result<()>) -> Result<()> {
            if prefix == "b" { Err(self.1.into()) } else { self.0.list(prefix, one) }
        }
    }

    #[test]
    fn a_group_whose_members_are_not_listed_does_not_end_a_list() {
        for kind in [ErrorKind::System(13), ErrorKind::Refused, ErrorKind::Callback(7)] {
            let storage = Storage::new(Unlisted(objects(), kind)).unwrap();
            let nodes = list(&storage, "", true).unwrap();
            assert_eq!(names(&nodes), ["", "a", "b", "c"]);
            assert_eq!(nodes[2].error().map(Error::kind), Some(kind));
            // It is no error of a list that does not enter the group.
            assert!(list(&storage, "", false).unwrap()[2].is_group());
            assert_eq!(list(&storage, "b", true).unwrap_err().kind(), kind);
            // What is in it would be missing.
            assert_eq!(super::super::consolidate(&storage, "").unwrap_err().kind(), kind);
            assert!(!super::super::documents::is_there(&storage, "", V2_CONSOLIDATED).unwrap());
        }
        let storage = Storage::new(Unlisted(objects(), ErrorKind::OutOfMemory)).unwrap();
        assert_eq!(list(&storage, "", true).unwrap_err().kind(), ErrorKind::OutOfMemory);
    }

    #[test]
    fn consolidated_metadata_tell_where_nothing_is_listed() {
        let storage = Storage::new(Mute(objects())).unwrap();
        assert!(matches!(list(&storage, "", true).unwrap_err().kind(), ErrorKind::Unsupported(_)));
        let memory = objects();
        let text = format!(
            r#"{{"zarr_consolidated_format":1,"metadata":{{".zgroup":{GROUP},"a/.zarray":{ARRAY},
            "a/.zattrs":{ATTRIBUTES},"b/.zgroup":{GROUP},"b/a/.zarray":{ARRAY}}}}}"#
        );
        memory.write(".zmetadata", text.as_bytes()).unwrap();
        let storage = Storage::new(Mute(memory)).unwrap();
        let nodes = list(&storage, "", true).unwrap();
        assert_eq!(names(&nodes), ["", "a", "b", "b/a"]);
        assert_eq!((nodes[1].dimension_name(0), nodes[1].attributes().len()), (Some("y"), 1));
        assert_eq!(names(&list(&storage, "", false).unwrap()), ["", "a", "b"]);
    }

    #[test]
    fn consolidated_metadata_of_v3_are_in_the_group() {
        let memory = Memory::new();
        let text = r#"{"zarr_format":3,"node_type":"group","attributes":{},"consolidated_metadata":{"kind":"inline",
            "must_understand":false,"metadata":{"g":{"zarr_format":3,"node_type":"group","attributes":{"x":1}},"g/a":{
            "shape":[],"data_type":"int8","chunk_grid":{"name":"regular","configuration":{"chunk_shape":[]}},
            "chunk_key_encoding":"default","fill_value":0,"codecs":["bytes"],"zarr_format":3,"node_type":"array"}}}}"#;
        memory.write("g/zarr.json", text.as_bytes()).unwrap();
        let nodes = list(&Storage::new(Mute(memory)).unwrap(), "g", true).unwrap();
        assert_eq!(names(&nodes), ["g", "g/g", "g/g/a"]);
        assert_eq!((nodes[1].attributes().len(), nodes[2].element_type()), (1, Some(ElementType::Byte)));
    }

    #[test]
    fn a_group_of_v3_without_consolidated_metadata_is_not_listed() {
        let memory = Memory::new();
        memory.write("g/zarr.json", br#"{"zarr_format":3,"node_type":"group"}"#).unwrap();
        let error = list(&Storage::new(Mute(memory)).unwrap(), "g", true).unwrap_err();
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
        let ended = list_each(&Storage::new(Mute(memory)).unwrap(), "", true, &mut |node| {
            told.push(node.name().to_owned());
            if node.name() == "a" { Err(ErrorKind::Stopped(7).into()) } else { Ok(()) }
        });
        assert_eq!((ended.unwrap_err().kind(), told), (ErrorKind::Stopped(7), vec![String::new(), "a".to_owned()]));
    }

    /// A directory of groups with these names, and links.
    #[cfg(all(unix, not(miri)))]
    fn linked(what: &str, groups: &[&str], links: &[(&str, &str)]) -> (crate::object::testing::Temporary, Storage) {
        let path = crate::object::testing::Temporary::new(what);
        for group in groups {
            std::fs::create_dir_all(path.join(group)).unwrap();
            std::fs::write(path.join(group).join(".zgroup"), GROUP).unwrap();
        }
        links.iter().for_each(|(to, link)| std::os::unix::fs::symlink(to, path.join(link)).unwrap());
        let storage = Storage::new(crate::object::Directory::open(&path).unwrap()).unwrap();
        (path, storage)
    }

    #[cfg(all(unix, not(miri)))]
    #[test]
    fn links_in_circles_are_not_followed() {
        let links = [("..", "b/d/up"), (".", "b/here"), ("../b", "z/1"), ("../b", "z/2"), ("loop", "loop")];
        let (path, storage) = linked("circles", &["", "b", "b/d", "z"], &links);
        std::fs::write(path.join("b/d/.zarray"), ARRAY).unwrap();
        assert_eq!(names(&list(&storage, "", true).unwrap()), ["", "b", "b/d", "z", "z/1", "z/1/d", "z/2"]);
        // The group that is asked for is entered, whatever leads there.
        assert_eq!(names(&list(&storage, "z/2", true).unwrap()), ["z/2", "z/2/d"]);
    }

    /// Each of these groups has a link to each of them: there are more ways through than anybody can go.
    #[cfg(all(unix, not(miri)))]
    #[test]
    fn a_list_ends_however_many_links_there_are() {
        let groups: Vec<String> = (0..20).map(|i| format!("g{i}")).collect();
        let all: Vec<&str> = [""].into_iter().chain(groups.iter().map(String::as_str)).collect();
        let (path, storage) = linked("links", &all, &[("..", "g0/x")]);
        for (from, to) in groups.iter().flat_map(|from| groups.iter().map(move |to| (from, to))) {
            std::os::unix::fs::symlink(format!("../{to}"), path.join(from).join(format!("l{to}"))).unwrap();
        }
        // Each group is entered by its own name, and once by a link.
        let nodes = list(&storage, "", true).unwrap();
        assert!(groups.iter().all(|group| names(&nodes).contains(&group.as_str())));
        assert!(nodes.len() <= 1 + 20 * 2 * 21, "{}", nodes.len());
        // Out of the storage, and into it from above.
        std::os::unix::fs::symlink("..", path.join("g0/out")).unwrap();
        let inside = Storage::new(crate::object::Directory::open(path.join("g0")).unwrap()).unwrap();
        let nodes = list(&inside, "", true).unwrap();
        assert!(names(&nodes).contains(&"out/g1") && !names(&nodes).contains(&"out/g0"));
    }
}
