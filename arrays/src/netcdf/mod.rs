//! netCDF classic files (CDF-1, CDF-2, CDF-5), to be read.
//!
//! ```text
//!   cursor.rs      the numbers and names of a header
//!   types.rs       the types of values, and what is not written
//!   header.rs      a header: dimensions, attributes, variables
//!   file.rs        a file: its header, how many records it has, what is wrong with it
//!   layout.rs      a variable as chunks: how long they are, where each begins
//!   chunks.rs      where chunks are: parts of the file
//! ```
//!
//! [`classic`](crate::classic) computes where a value lies. The source is the specification of the format, corrected
//! by what netCDF-C, PnetCDF and scipy write.

mod chunks;
mod cursor;
mod file;
mod header;
mod layout;
mod types;

use crate::alloc;
use crate::dataset::{
    Attributes, Dimensions, FileFormat, GroupDimension, Head, Node, NodeArray, OneNode, Opened, only_group,
};
use crate::error::{ErrorKind, Result};
use crate::fetch::ObjectChunks;
use crate::object::Storage;
use crate::store::ChunkStore;
use crate::variable::{Endian, Variable};

#[cfg(feature = "hdf5")]
pub(crate) use chunks::InFile;
#[cfg(not(feature = "hdf5"))]
use chunks::InFile;
use file::File;
use header::VariableHeader;
pub(crate) use layout::Layout;

/// The format.
pub(crate) struct Classic;

impl FileFormat for Classic {
    fn has_chunks(&self) -> bool {
        false
    }

    fn open(&self, storage: &Storage, file: &Head<'_>, name: &str) -> Result<Opened> {
        let mut read = File::read(storage, file)?;
        let i = read.find(name).ok_or(ErrorKind::NotFound("variable"))?;
        let (layout, variable) = layout_and_variable(&read, i)?;
        let dimensions = dimensions(&read, i)?;
        let variable_header = read.header.variables.swap_remove(i);
        let element = variable_header.element;
        let chunks = ObjectChunks::new(storage.clone(), InFile::new(file.name, name, layout, read.len)?);
        let store = ChunkStore::new(chunks)?;
        let attributes = Attributes::of(variable_header.attributes)?;
        Ok(Opened { variable, store, element, dimensions, attributes, is_elsewhere: false })
    }

    fn list(&self, storage: &Storage, file: &Head<'_>, name: &str, _: bool, one: OneNode<'_>) -> Result<()> {
        let mut read = File::read(storage, file)?;
        if !name.is_empty() {
            let i = read.find(name).ok_or_else(|| ErrorKind::NotFound("variable").in_object(name))?;
            return one(node(&mut read, i)?);
        }
        one(Node::of_group("", Attributes::of(std::mem::take(&mut read.header.attributes))?)?)?;
        (0..read.header.variables.len()).try_for_each(|i| one(node(&mut read, i)?))
    }

    fn dimensions(&self, storage: &Storage, file: &Head<'_>, group: &str) -> Result<Vec<GroupDimension>> {
        only_group(group)?;
        File::read(storage, file)?.all_dimensions()
    }
}

/// What is said of a variable. Its attributes are taken from the file's.
fn node(file: &mut File, i: usize) -> Result<Node> {
    // A variable that fits a file may still be longer than a machine with 32 bits can have it.
    let layout = match layout_and_variable(file, i) {
        Ok((layout, _)) => layout,
        Err(error) if error.kind() == ErrorKind::OutOfMemory => return Err(error),
        Err(error) => return Node::unreadable(file.name(i), error),
    };
    let dimensions = dimensions(file, i)?;
    let VariableHeader { attributes, name, element, .. } =
        file.header.variables.get_mut(i).ok_or(ErrorKind::Internal)?;
    let Layout { shape, chunk_shape, .. } = layout;
    let array = NodeArray { element: *element, shape, chunk_shape, shard_shape: None, dimensions };
    Node::of_array(name, Attributes::of(std::mem::take(attributes))?, array)
}

fn dimensions(file: &File, i: usize) -> Result<Dimensions> {
    let mut dimensions = Dimensions::default();
    for dimension in file.dimensions(i) {
        alloc::push(&mut dimensions.names, Some(alloc::text(&dimension.name)?))?;
        alloc::push(&mut dimensions.unlimited, dimension.is_record())?;
    }
    Ok(dimensions)
}

/// How a variable lies in the file, and what is read.
///
/// # Errors
/// Those of [`File::layout`], and `DimensionLength`.
fn layout_and_variable(file: &File, i: usize) -> Result<(Layout, Variable)> {
    let layout = file.layout(i)?;
    let variable = variable(file.header.variables.get(i).ok_or(ErrorKind::Internal)?, &layout)?;
    Ok((layout, variable))
}

fn variable(header: &VariableHeader, layout: &Layout) -> Result<Variable> {
    let mut variable = Variable::new(&layout.shape, &layout.chunk_shape, header.element.size())?;
    variable.set_endian(Endian::Big)?;
    variable.set_fill_value(Some(types::fill_value(&header.attributes, header.element)?))?;
    if let Some(pitch) = layout.pitch {
        variable.set_chunk_pitch(pitch)?;
    }
    Ok(variable)
}
