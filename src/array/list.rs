//! What is in a group: arrays and groups, with what their metadata say.

use super::attributes::{Attribute, Attributes};
use super::documents::{self, V2_ARRAY, V2_ATTRIBUTES, V2_CONSOLIDATED, V2_GROUP, V3, below};
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};
use crate::json::Value;
use crate::object::{Entry, Place, check_name};
use crate::zarr::{self, ElementType, Metadata};

/// A group or an array that was found.
#[derive(Debug)]
pub struct Node {
    name: String,
    attributes: Attributes,
    what: What,
}

#[derive(Debug)]
enum What {
    Group,
    Array(Box<Metadata>),
    /// It is there, but what it is cannot be told.
    Unreadable(Error),
}

impl Node {
    /// Its name, with those of the groups that it is in before it, such as `ocean/sst`; empty for the place itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is a group.
    pub fn is_group(&self) -> bool {
        matches!(self.what, What::Group)
    }

    /// Why it cannot be opened, if that is known from its metadata. Then nothing else is known of it, either.
    pub fn error(&self) -> Option<&Error> {
        if let What::Unreadable(error) = &self.what { Some(error) } else { None }
    }

    fn metadata(&self) -> Option<&Metadata> {
        if let What::Array(metadata) = &self.what { Some(metadata) } else { None }
    }

    /// The lengths of an array's dimensions; empty for a group.
    pub fn shape(&self) -> &[usize] {
        self.metadata().filter(|metadata| !metadata.is_scalar).map_or(&[], |metadata| &metadata.shape)
    }

    /// The lengths of an array's chunks, by which it is read.
    pub fn chunk_shape(&self) -> &[usize] {
        let Some(metadata) = self.metadata().filter(|metadata| !metadata.is_scalar) else { return &[] };
        metadata.shards.as_ref().map_or(&metadata.chunk_shape, |shards| &shards.inner)
    }

    /// The lengths of an array's shards, by which it is written, if it has shards.
    pub fn shard_shape(&self) -> Option<&[usize]> {
        let metadata = self.metadata()?;
        metadata.shards.as_ref().map(|_| metadata.chunk_shape.as_slice())
    }

    /// What an array's elements are; `None` for a group.
    pub fn element_type(&self) -> Option<ElementType> {
        self.metadata().map(|metadata| metadata.element)
    }

    /// The name of an array's dimension, if it has one.
    pub fn dimension_name(&self, d: usize) -> Option<&str> {
        if d < self.shape().len() { self.metadata()?.dimension_names.get(d)?.as_deref() } else { None }
    }

    /// Whether netCDF-C says that a dimension is unlimited.
    pub fn is_unlimited(&self, d: usize) -> bool {
        self.metadata().and_then(|metadata| metadata.unlimited.get(d)).is_some_and(|unlimited| *unlimited)
    }

    /// Its attributes.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes.list
    }

    /// Its attributes as the text of a JSON object, as they are stored.
    pub fn attributes_json(&self) -> &str {
        &self.attributes.json
    }

    fn group(name: &str, attributes: &Value) -> Result<Self> {
        Ok(Node { name: alloc::text(name)?, attributes: Attributes::new(attributes, None)?, what: What::Group })
    }

    fn array(place: &Place, name: &str, metadata: Result<Metadata>) -> Result<Self> {
        let metadata = metadata.and_then(|metadata| metadata.check_codecs(place.codecs()).map(|()| metadata));
        let (attributes, what) = match metadata {
            Ok(metadata) => {
                (Attributes::new(&metadata.attributes, Some(metadata.element))?, What::Array(alloc::try_box(metadata)?))
            }
            Err(error) if is_of_metadata(&error) => {
                (Attributes::new(&Value::Object(Vec::new()), None)?, What::Unreadable(error))
            }
            Err(error) => return Err(error),
        };
        Ok(Node { name: alloc::text(name)?, attributes, what })
    }
}

/// Whether an error is one of what metadata say, and not of reading them.
fn is_of_metadata(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Metadata(_)
            | ErrorKind::Unsupported(_)
            | ErrorKind::Codec(_)
            | ErrorKind::ElementType
            | ErrorKind::Rank(_)
    )
}

/// What is in a group of a place; an empty name is the place itself. The group comes first, then what is in it, by
/// name, and if `recursive` after each group what is in that. An array is listed as itself alone.
///
/// What is there but cannot be read is listed with its [error](Node::error). If the place cannot list its objects, the
/// group's consolidated metadata tell what there is.
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
    let group = group.trim_matches('/');
    if !group.is_empty() {
        check_name(group).map_err(|error| error.in_object(group))?;
    }
    let mut names = Vec::new();
    alloc::push(&mut names, alloc::text(group)?)?;
    let mut is_first = true;
    while let Some(name) = names.pop() {
        match node(place, &name).map_err(|error| if name.is_empty() { error } else { error.in_object(&name) })? {
            Some(node) => {
                let is_entered = node.is_group() && (recursive || is_first);
                one(node)?;
                if is_entered && !members(place, &name, &mut names)? {
                    consolidated(place, &name, recursive, one)?;
                }
            }
            None if is_first && name.is_empty() => return Err(ErrorKind::UnknownFormat.into()),
            None if is_first => return Err(Error::from(ErrorKind::NotFound("group")).in_object(&name)),
            None => {}
        }
        is_first = false;
    }
    Ok(())
}

/// The group or array of a name, if there is one.
fn node(place: &Place, name: &str) -> Result<Option<Node>> {
    if let Some(text) = zarr::document(place, name, V3)? {
        return Ok(Some(match zarr::read_node_v3(&text) {
            Ok(zarr::Node::Array(metadata)) => Node::array(place, name, Ok(*metadata))?,
            Ok(zarr::Node::Group(group)) => Node::group(name, &group.attributes)?,
            Err(error) => Node::array(place, name, Err(error))?,
        }));
    }
    if documents::is_there(place, name, V2_ARRAY)? {
        return Node::array(place, name, zarr::open(place, name)).map(Some);
    }
    let Some(text) = zarr::document(place, name, V2_GROUP)? else { return Ok(None) };
    let attributes = zarr::document(place, name, V2_ATTRIBUTES)?;
    Node::group(name, &zarr::read_group_v2(&text, attributes.as_deref())?.attributes).map(Some)
}

/// Adds the names of what may be groups and arrays directly below a group, so that they are popped by name; `false` if
/// the place cannot list, for a group has a document at least.
fn members(place: &Place, group: &str, names: &mut Vec<String>) -> Result<bool> {
    let begin = names.len();
    let mut is_listed = false;
    place.list(group, &mut |last, entry| {
        is_listed = true;
        if entry == Entry::Prefix {
            alloc::push(names, alloc::text(&below(group, last)?)?)?;
        }
        Ok(())
    })?;
    if let Some(added) = names.get_mut(begin..) {
        added.sort_unstable_by(|one, other| other.cmp(one));
    }
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
                one(if is_group {
                    Node::group(&name, document.get("attributes").unwrap_or(&Value::Null))?
                } else {
                    Node::array(place, &name, zarr::v3_of_value(document))?
                })?;
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
            match which {
                V2_ARRAY => one(Node::array(place, &name, zarr::v2_of_values(value, attributes))?)?,
                V2_GROUP => one(Node::group(&name, attributes.unwrap_or(&Value::Null))?)?,
                _ => {}
            }
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
}
