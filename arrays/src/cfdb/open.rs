//! Opening the variables of a cfdb file, and telling what there is.

use super::attributes;
use super::booklet::Booklet;
use super::chunks;
use super::metadata::{Metadata, VariableMetadata};
use crate::alloc;
use crate::dataset::{Attributes, Dimensions, FileFormat, Head, Node, NodeArray, OneNode, Opened};
use crate::error::{Error, ErrorKind, Result};
use crate::json::{self, Value};
use crate::limits::Limit;
use crate::object::{Name, Storage, read_text};
use crate::variable::{Endian, Variable};
use crate::zarr;

/// The key of the metadata.
pub(super) const METADATA: &str = "adb01ebc1ba3433eb043527";
/// What stands in the place of a variable's name in the key of the file's own attributes.
const FILE: &str = "_";

/// A file, and what its metadata say.
struct File {
    booklet: Booklet,
    metadata: Metadata,
    limit: Limit,
}

impl File {
    fn open(storage: &Storage, file: &str) -> Result<Self> {
        let booklet = Booklet::new(storage, file)?;
        let limit = storage.memory_limits().metadata();
        let text = read_text(&booklet, METADATA, limit)?;
        let text = text.ok_or(ErrorKind::Unsupported("a booklet file that cfdb did not write"))?;
        Ok(File { booklet, metadata: Metadata::read(&text, limit)?, limit })
    }

    /// The attributes that the user has written of a variable, or of the [file](FILE), and why they cannot be read.
    fn written(&self, name: &str) -> Result<(Value, Option<Error>)> {
        let key = Name::of(format_args!("_{name}.attrs"))?;
        let read = || match read_text(&self.booklet, &key, self.limit)? {
            Some(text) => json::read_within(&text, self.limit).map(Some).map_err(|error| error.in_object(&*key)),
            None => Ok(None),
        };
        let (written, error) = zarr::readable(read(), &key)?;
        Ok((written.unwrap_or_else(|| Value::Object(Vec::new())), error))
    }

    fn attributes(&self, name: &str, variable: &VariableMetadata) -> Result<Attributes> {
        let (written, error) = self.written(name)?;
        let all = attributes::attributes(written, variable)?;
        Ok(Attributes { error, ..zarr::attributes(&all, Some(variable.data_type.stored))? })
    }

    fn group(&self) -> Result<Node> {
        let (mut all, error) = self.written(FILE)?;
        if let (Some(text), None) = (self.metadata.reference_system(), all.get("crs")) {
            all.push("crs", Value::text(text)?)?;
        }
        zarr::group_node("", "", &all, error)
    }

    fn array(&self, name: &str) -> Result<Node> {
        let found = self.metadata.variable(name).and_then(|variable| {
            let element = variable.data_type.stored;
            let attributes = self.attributes(name, &variable)?;
            let dimensions = dimensions(&variable)?;
            let VariableMetadata { shape, chunk_shape, .. } = variable;
            Ok((attributes, NodeArray { element, shape, chunk_shape, shard_shape: None, dimensions }))
        });
        Node::found(name, found.map_err(|error| error.in_object(name)))
    }
}

/// The format.
pub(crate) struct Cfdb;

impl FileFormat for Cfdb {
    fn open(&self, storage: &Storage, file: &Head<'_>, name: &str) -> Result<Opened> {
        let file = File::open(storage, file.name)?;
        if file.metadata.is_remote && !storage.allows_partial() {
            return Err(ErrorKind::Unsupported(
                "a file that holds only a part of its arrays; allow partial files to read it",
            )
            .into());
        }
        let metadata = file.metadata.variable(name)?;
        let element = metadata.data_type.stored;
        let mut variable = Variable::new(&metadata.shape, &metadata.chunk_shape, element.size())?;
        variable.set_endian(Endian::Little)?;
        variable.set_fill_value(metadata.data_type.fill_value.as_deref())?;
        for (d, origin) in metadata.origins.iter().enumerate() {
            variable.set_origin(d, *origin)?;
        }
        let attributes = file.attributes(name, &metadata)?;
        let dimensions = dimensions(&metadata)?;
        let mut store = chunks::store(file.booklet, name, &metadata, file.metadata.compression)?;
        store.set_limit(storage.memory_limits().chunk());
        Ok(Opened { variable, store, element, dimensions, attributes, is_elsewhere: false })
    }

    /// The variables come in their order.
    fn list(&self, storage: &Storage, file: &Head<'_>, name: &str, _: bool, one: OneNode<'_>) -> Result<()> {
        let file = File::open(storage, file.name)?;
        if !name.is_empty() {
            return one(file.array(name)?);
        }
        one(file.group()?)?;
        for name in file.metadata.names()? {
            one(file.array(name)?)?;
        }
        Ok(())
    }

    fn is_locked(&self) -> bool {
        true
    }
}

/// Coordinates grow, but nothing says which do.
fn dimensions(variable: &VariableMetadata) -> Result<Dimensions> {
    let names = alloc::try_collected(variable.coordinates.iter().map(|name| Ok(Some(alloc::text(name)?))))?;
    Ok(Dimensions { names, ..Dimensions::default() })
}
