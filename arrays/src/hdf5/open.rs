//! Opening an array of a file, and telling what there is.

use std::collections::{HashMap, HashSet};

use super::attribute::{self, Stored, is_scale};
use super::bits::Bits;
use super::bytes::{is_of_the_file, malformed};
use super::chunks::{Edges, InChunks};
use super::dataset::{ChunkedLayout, Dataset, Filter, IndexMessage, Layout, is_dataset, space_and_type};
use super::datatype::What;
use super::file::{File, USED_UP, has_user_block};
use super::files::Files;
use super::group::{Group, NO_COORDINATE, Target, is_group};
use super::header::Header;
use super::index::Index;
use super::text::{self, HeapTexts};
use crate::alloc;
use crate::codec::{self, Codec, CodecUse};
use crate::copier::TextElement;
use crate::dataset::{
    Attributes, Dimensions, FileFormat, GroupDimension, Head, Node, NodeArray, OneNode, Opened, Opener, lossy_text,
};
use crate::element::ElementType;
use crate::error::{Error, ErrorKind, Result};
use crate::fetch::ObjectChunks;
use crate::netcdf;
use crate::object::{Name, ObjectStore, Storage};
use crate::shared::Shared;
use crate::store::ChunkStore;
use crate::strings::{self, TextChunks};
use crate::variable::{Endian, Variable};

/// What netCDF-C writes as the name of the array that stands for a dimension without a variable.
const NO_VARIABLE: &[u8] = b"This is a netCDF dimension but not a netCDF variable.";

/// Links to paths are followed so often on the way to one object.
const MOST_LINKS: usize = 16;
/// Groups are within others so deep, and names are so long.
const MOST_GROUPS: usize = 256;
const LONGEST_NAME: usize = 64 << 10;

/// An object that was found: its file, its header, the groups that it is in from the root of the file on, and its name.
struct Found {
    file: Shared<File>,
    header: Header,
    groups: Vec<Shared<Group>>,
    name: String,
}

/// The object of a path.
///
/// # Errors
/// `NotFound`, `Unsupported` for a link to another file that is not followed, those of opening it, and those of what
/// the files say. What fails behind a link to another file is about the link.
fn find(files: &Files, file: &Shared<File>, path: &str) -> Result<Found> {
    let mut link = None;
    find_by(files, file, path, &mut link).map_err(|error| behind(link, error))
}

/// As [`find`], of a path in another file, to which a link of a file leads.
fn find_in(files: &Files, from: &File, file: &str, path: &str) -> Result<Found> {
    let mut link = Some((alloc::text(path)?, alloc::text(file)?));
    let found = files.linked(from, file).and_then(|file| find_by(files, &file, path, &mut link));
    found.map_err(|error| behind(link, error))
}

/// An error of what is behind the link to a path in a file.
fn behind(link: Option<(String, String)>, error: Error) -> Error {
    match link {
        Some((path, file)) => error.in_object(format_args!("link to {path} in {file}")),
        None => error,
    }
}

/// As [`find`]. `link` is the path and the file of the last link to another file.
fn find_by(files: &Files, file: &Shared<File>, path: &str, link: &mut Option<(String, String)>) -> Result<Found> {
    let mut parts = Vec::new();
    let add = |parts: &mut Vec<String>, path: &str| {
        path.split('/')
            .rev()
            .filter(|part| !matches!(*part, "" | "."))
            .try_for_each(|part| alloc::push(parts, alloc::text(part)?))
    };
    add(&mut parts, path)?;
    let (mut file, mut groups) = (file.clone(), Vec::new());
    alloc::push(&mut groups, files.group(&file, file.root)?)?;
    let mut num_links = usize::from(link.is_some());
    while let Some(part) = parts.pop() {
        let group = groups.last().ok_or(ErrorKind::Internal)?;
        let found = group.find(&part).ok_or(ErrorKind::NotFound("variable"))?;
        num_links += usize::from(!matches!(found.to, Target::Object(_)));
        match &found.to {
            Target::Object(address) if parts.is_empty() => {
                let (header, name) = (Header::read(&file, *address)?, alloc::text(&part)?);
                return Ok(Found { file, header, groups, name });
            }
            Target::Object(_) if groups.len() == MOST_GROUPS => return Err(malformed("groups are nested too deeply")),
            // What is no group has no links.
            Target::Object(address) => {
                let group = files.group(&file, *address)?;
                alloc::push(&mut groups, group)?;
            }
            Target::Path(_) if num_links > MOST_LINKS => return Err(malformed("soft links form a cycle")),
            Target::Path(path) => {
                let path = alloc::text(path)?;
                if path.starts_with('/') {
                    groups.truncate(1);
                }
                add(&mut parts, &path)?;
            }
            Target::InFile { file: name, path } => {
                *link = Some((alloc::text(path)?, alloc::text(name)?));
                if num_links > MOST_LINKS {
                    return Err(malformed("links to other files form a cycle"));
                }
                add(&mut parts, path)?;
                file = files.linked(&file, name)?;
                groups.clear();
                alloc::push(&mut groups, files.group(&file, file.root)?)?;
            }
            Target::Elsewhere => return Err(defined_by_a_program()),
        }
    }
    let address = groups.last().ok_or(ErrorKind::Internal)?.address;
    Ok(Found { header: Header::read(&file, address)?, file, groups, name: String::new() })
}

/// The format.
pub(crate) struct Hdf5;

impl FileFormat for Hdf5 {
    fn open(&self, storage: &Storage, file: &Head<'_>, name: &str) -> Result<Opened> {
        let (files, first) = Files::open(storage, file)?;
        open_found(&files, &first, name)
    }

    /// What is read of the groups is read once for all arrays.
    fn opener<'s>(&'s self, storage: &'s Storage, file: Head<'s>) -> Result<Opener<'s>> {
        let (files, first) = Files::open(storage, &file)?;
        Ok(alloc::try_box(move |name: &str| open_found(&files, &first, name))?)
    }

    fn list(&self, storage: &Storage, file: &Head<'_>, name: &str, recursive: bool, one: OneNode<'_>) -> Result<()> {
        let (files, first) = Files::open(storage, file)?;
        let name = name.trim_matches('/');
        let found = find(&files, &first, name)?;
        if is_dataset(&found.header) {
            let Found { file, header, groups, name: own } = found;
            let groups = &mut groups.iter().rev().map(around);
            return one(array(&file, &header, (groups, &own), name)?);
        }
        if !is_group(&found.header) {
            return Err(ErrorKind::NotFound("group").into());
        }
        one(Node::of_group(name, attribute::shown(&found.file, &found.header)?)?)?;
        let (mut levels, mut listed) = (Vec::new(), HashSet::new());
        enter(&files, &mut levels, found, name)?;
        for level in &levels {
            is_first(&mut listed, &level.file, level.group.address)?;
        }
        while let Some(level) = levels.last_mut() {
            let Some(link) = level.group.links.get(level.next) else {
                levels.pop();
                continue;
            };
            level.next += 1;
            let file = level.file.clone();
            let last = alloc::text(link.name.strip_prefix(NO_COORDINATE).unwrap_or(&link.name))?;
            let name = below(&level.name, &last)?;
            let is_object = matches!(link.to, Target::Object(_));
            let found = match &link.to {
                Target::Object(address) => {
                    Header::read(&file, *address).map(|header| Found { file, header, groups: Vec::new(), name: last })
                }
                Target::Path(path) if path.starts_with('/') => find(&files, &file, path),
                Target::Path(path) => find(&files, &first, &below(&level.name, path)?),
                Target::InFile { file: other, path } => find_in(&files, &file, other, path),
                Target::Elsewhere => Err(defined_by_a_program()),
            };
            let found = match found {
                Ok(found) => found,
                // Of what links lead to, errors of the system are told as those of the file are.
                Err(error) if is_of_the_file(&error) || !is_object && is_of_the_system(&error) => {
                    one(Node::unreadable(&name, error)?)?;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if is_dataset(&found.header) {
                let Found { file, header, .. } = &found;
                // Where the object has groups of its own, a link has led to it.
                let within = levels.iter().rev().take_while(|level| level.file.number == file.number);
                let groups: &mut dyn Iterator<Item = Around<'_>> = match found.groups.is_empty() {
                    true => &mut within.map(|level| (&*level.group, level.path())),
                    false => &mut found.groups.iter().rev().map(around),
                };
                if !is_dimension_alone(file, header)? {
                    one(array(file, header, (groups, &found.name), &name)?)?;
                }
            } else if is_group(&found.header) {
                one(Node::of_group(&name, attribute::shown(&found.file, &found.header)?)?)?;
                // What several links lead to is listed with the first of them.
                if recursive && is_first(&mut listed, &found.file, found.header.address)? {
                    if levels.len() >= MOST_GROUPS {
                        return Err(malformed("groups are nested too deeply"));
                    }
                    match enter(&files, &mut levels, found, &name) {
                        Err(error) if is_of_the_file(&error) => one(Node::unreadable(&name, error)?)?,
                        entered => entered?,
                    }
                }
            }
        }
        Ok(())
    }

    /// The dimensions that a group of a file defines: those of its members that are dimension scales. What several
    /// links lead to counts once, and what cannot be read defines none. As netCDF has it, an unlimited one is as long
    /// as the longest array that has it, in the group or in one below.
    fn dimensions(&self, storage: &Storage, file: &Head<'_>, name: &str) -> Result<Vec<GroupDimension>> {
        let (files, first) = Files::open(storage, file)?;
        let Found { file, header, .. } = find(&files, &first, name)?;
        if !is_group(&header) {
            return Err(ErrorKind::NotFound("group").into());
        }
        let (mut scales, mut seen) = (Vec::new(), HashSet::new());
        for link in &files.group(&file, header.address)?.links {
            let Target::Object(address) = link.to else { continue };
            if !is_first(&mut seen, &file, address)? {
                continue;
            }
            // A listing has the member with its error.
            if let Some(Some(scale)) = of_the_file(defined_by(&file, address, &link.name))? {
                alloc::push(&mut scales, scale)?;
            }
        }
        if scales.iter().any(|scale| scale.dimension.is_unlimited) {
            lengthen(&files, &file, header.address, &mut scales)?;
        }
        // In netCDF's order, if the file has it.
        scales.sort_by_key(|scale| scale.number);
        alloc::collected(scales.into_iter().map(|scale| scale.dimension)).map_err(Error::from)
    }

    fn begins_later(&self, objects: &dyn ObjectStore, file: &str, len: u64) -> Result<bool> {
        has_user_block(objects, file, len)
    }

    fn has_shorter_arrays(&self) -> bool {
        true
    }
}

/// Opens an array of the first file.
fn open_found(files: &Files, first: &Shared<File>, name: &str) -> Result<Opened> {
    let Found { file, header, groups, name } = find(files, first, name)?;
    if !is_dataset(&header) {
        return Err(ErrorKind::NotAnArray.into());
    }
    let dataset = Dataset::read(&file, &header)?;
    let groups = &mut groups.iter().rev().map(around);
    let (dimensions, attributes) = told(&file, &header, &dataset, (groups, &name))?;
    let (variable, store, element) = build(&file, &name, &dataset)?;
    Ok(Opened { variable, store, element, dimensions, attributes, is_elsewhere: file.number != first.number })
}

/// A dimension, and the address and number of its scale.
struct Scale {
    address: u64,
    number: Option<i32>,
    dimension: GroupDimension,
}

/// The dimension that a member of a group defines, if it is a dimension scale.
fn defined_by(file: &File, address: u64, name: &str) -> Result<Option<Scale>> {
    let header = Header::read(file, address)?;
    if !is_dataset(&header) {
        return Ok(None);
    }
    let attributes = attribute::stored(file, &header)?;
    if !is_scale(&attributes) {
        return Ok(None);
    }
    let (space, _) = space_and_type(file, &header)?;
    // A coordinate of several dimensions is the first one's scale.
    let Some((&len, most)) = space.shape.first().zip(space.most.first()) else { return Ok(None) };
    let name = alloc::text(name.strip_prefix(NO_COORDINATE).unwrap_or(name))?;
    let dimension = GroupDimension { name, len, is_unlimited: most.is_none() };
    Ok(Some(Scale { address, number: number(&attributes)?, dimension }))
}

/// Has unlimited dimensions be as long as the longest array that has them, in the group at an address or in one below.
fn lengthen(files: &Files, file: &Shared<File>, group: u64, scales: &mut [Scale]) -> Result<()> {
    let (mut addresses, mut seen) = (Vec::new(), HashSet::new());
    alloc::push(&mut addresses, group)?;
    while let Some(address) = addresses.pop() {
        if !is_first(&mut seen, file, address)? {
            continue;
        }
        let Some(header) = of_the_file(Header::read(file, address))? else { continue };
        if is_dataset(&header) {
            of_the_file(lengthen_to(file, &header, scales))?;
        } else if is_group(&header) {
            let Some(group) = of_the_file(files.group(file, address))? else { continue };
            for link in &group.links {
                if let Target::Object(address) = link.to {
                    alloc::push(&mut addresses, address)?;
                }
            }
        }
    }
    Ok(())
}

/// Has the dimensions of an array be at least as long as that.
fn lengthen_to(file: &File, header: &Header, scales: &mut [Scale]) -> Result<()> {
    let (space, _) = space_and_type(file, header)?;
    if space.most.iter().all(Option::is_some) {
        return Ok(());
    }
    let all = attribute::stored(file, header)?;
    let lens = space.shape.iter().zip(&space.most);
    for (id, (&len, most)) in scales_of(file, &all, space.shape.len())?.into_iter().zip(lens) {
        let is_it = |scale: &&mut Scale| match id {
            Some(ScaleId::Address(address)) => scale.address == address,
            Some(ScaleId::Number(number)) => scale.number == Some(number),
            None => false,
        };
        if most.is_none() {
            let of_it = scales.iter_mut().filter(|scale| scale.dimension.is_unlimited).filter(is_it);
            of_it.for_each(|scale| scale.dimension.len = scale.dimension.len.max(len));
        }
    }
    Ok(())
}

/// What was found, or `None` if the file itself is wrong there. That no more of it may be read is an error, for it may
/// be right there.
fn of_the_file<T>(found: Result<T>) -> Result<Option<T>> {
    match found {
        Err(error) if is_of_the_file(&error) && error.kind() != USED_UP => Ok(None),
        found => found.map(Some),
    }
}

/// A group that is listed, and which of its links is the next.
struct Level {
    file: Shared<File>,
    group: Shared<Group>,
    name: String,
    next: usize,
}

impl Level {
    /// Its path, unless it only is around a group that is listed.
    fn path(&self) -> Option<&str> {
        (self.next != usize::MAX).then_some(&*self.name)
    }
}

/// Adds a group that was found, which is to be listed by a name. Of those that it is in only the dimensions count.
fn enter(files: &Files, levels: &mut Vec<Level>, found: Found, name: &str) -> Result<()> {
    let Found { file, header, groups, .. } = found;
    for group in groups.into_iter().filter(|group| group.address != header.address) {
        alloc::push(levels, Level { file: file.clone(), group, name: String::new(), next: usize::MAX })?;
    }
    let group = files.group(&file, header.address)?;
    Ok(alloc::push(levels, Level { file, group, name: alloc::text(name)?, next: 0 })?)
}

/// Whether a group is the first of those that are listed which has its address in its file.
fn is_first(listed: &mut HashSet<(usize, u64)>, file: &File, address: u64) -> Result<bool> {
    listed.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
    Ok(listed.insert((file.number, address)))
}

/// What is said of a link that is of none of HDF5's kinds.
fn defined_by_a_program() -> Error {
    ErrorKind::Unsupported("an HDF5 link of a kind that a program has defined").into()
}

/// Whether an error is one of opening another file, or says that it is another one by now.
fn is_of_the_system(error: &Error) -> bool {
    use ErrorKind::{Changed, Refused, System, UnknownFormat};
    matches!(error.kind(), System(_) | UnknownFormat | Refused | Changed)
}

fn below(group: &str, name: &str) -> Result<String> {
    if group.len() + name.len() > LONGEST_NAME {
        return Err(malformed("a name is longer than 64 KiB"));
    }
    let mut full = alloc::text(group)?;
    if !group.is_empty() {
        alloc::push_text(&mut full, "/")?;
    }
    alloc::push_text(&mut full, name)?;
    Ok(full)
}

/// A group that an array is in, and its path if it is known.
type Around<'w> = (&'w Group, Option<&'w str>);

/// The groups that an array is in, from the innermost on, and its own name.
type Within<'w> = (&'w mut dyn Iterator<Item = Around<'w>>, &'w str);

/// A group that was gone through to an array, to which a link may have led.
fn around(group: &Shared<Group>) -> Around<'_> {
    (group, None)
}

/// What is said of an array.
fn array<'w>(file: &File, header: &Header, within: Within<'w>, name: &str) -> Result<Node> {
    let found = Dataset::read(file, header).and_then(|dataset| {
        let (element, _) = dataset.datatype.element()?;
        let (dimensions, attributes) = told(file, header, &dataset, within)?;
        let chunk_shape = match &dataset.layout {
            Layout::Chunked(layout) => alloc::copied(&layout.shape)?,
            _ => piece(&dataset, 0)?.chunk_shape,
        };
        for filter in &dataset.filters {
            codec_of(file, filter, (element, dataset.datatype.size))?;
        }
        let shape = dataset.space.shape;
        Ok((attributes, NodeArray { element, shape, chunk_shape, shard_shape: None, dimensions }))
    });
    match found {
        Ok((attributes, array)) => Node::of_array(name, attributes, array),
        Err(error) if is_of_the_file(&error) => Node::unreadable(name, error.in_object(name)),
        Err(error) => Err(error),
    }
}

/// Whether an array only stands for a dimension of netCDF's.
fn is_dimension_alone(file: &File, header: &Header) -> Result<bool> {
    match attribute::stored(file, header) {
        Ok(all) => Ok(attribute::text(&all, "NAME").is_some_and(|name| name.starts_with(NO_VARIABLE))),
        Err(error) if is_of_the_file(&error) => Ok(false),
        Err(error) => Err(error),
    }
}

/// The dimensions and the attributes of an array.
fn told(file: &File, header: &Header, dataset: &Dataset, within: Within<'_>) -> Result<(Dimensions, Attributes)> {
    let unlimited = alloc::collected(dataset.space.most.iter().map(Option::is_none))?;
    let names = attribute::stored(file, header).and_then(|all| names(file, &all, dataset, within));
    let (names, groups) = of_the_file(names)?.unwrap_or_default();
    let mut attributes = attribute::shown(file, header)?;
    if let Some(what) = dataset.datatype.left_out {
        alloc::push(&mut attributes.left_out, ErrorKind::Unsupported(what).into())?;
    }
    Ok((Dimensions { names, unlimited, groups }, attributes))
}

/// What tells the scale of a dimension: where it is, or the number that netCDF-C gave to the dimension.
#[derive(Clone, Copy)]
enum ScaleId {
    Address(u64),
    Number(i32),
}

/// The scales of an array's dimensions, of which there are so many or none. netCDF-C writes the dimensions' numbers to
/// a coordinate of several dimensions, and to every array whose scales it does not list.
fn scales_of(file: &File, all: &[Stored], rank: usize) -> Result<Vec<Option<ScaleId>>> {
    let attribute = |name: &str| all.iter().find(|stored| stored.name == name);
    if let Some(list) = attribute("DIMENSION_LIST") {
        let addresses = attribute::first_objects(file, list)?.into_iter().take(rank);
        return Ok(alloc::collected(addresses.map(|address| address.map(ScaleId::Address)))?);
    }
    let numbers = attribute("_Netcdf4Coordinates").map_or(Ok(Vec::new()), attribute::integers)?;
    match numbers.len() == rank {
        true => Ok(alloc::collected(numbers.into_iter().map(|number| Some(ScaleId::Number(number))))?),
        false => Ok(Vec::new()),
    }
}

/// The names of an array's dimensions, and the paths of the groups that define them.
type Named = (Vec<Option<String>>, Vec<Option<String>>);

/// What an array's dimensions are called: like the arrays that are their scales, or like the array itself if it is one.
fn names<'w>(file: &File, all: &[Stored], dataset: &Dataset, (groups, own): Within<'w>) -> Result<Named> {
    let rank = dataset.space.shape.len();
    let (mut names, mut paths, mut above) = (Vec::new(), Vec::new(), Vec::new());
    for group in groups {
        alloc::push(&mut above, group)?;
    }
    let path = |group: Option<&Around<'_>>| group.and_then(|(_, path)| *path).map(alloc::text).transpose();
    if rank == 1 && is_scale(all) {
        alloc::push(&mut names, Some(alloc::text(own)?))?;
        alloc::push(&mut paths, path(above.first())?)?;
        return Ok((names, paths));
    }
    for scale in scales_of(file, all, rank)? {
        let found = match scale {
            Some(ScaleId::Address(address)) => scale_name(file, address, &above)?,
            Some(ScaleId::Number(number)) => numbered_name(file, number, &above)?,
            None => None,
        };
        let (name, group) = found.map_or((None, None), |(name, group)| (Some(name), group));
        alloc::push(&mut names, name)?;
        alloc::push(&mut paths, path(group)?)?;
    }
    Ok((names, paths))
}

/// The name of a dimension, and which of the groups defines it.
type NamedIn<'g, 'w> = Option<(String, Option<&'g Around<'w>>)>;

/// The number that netCDF-C gave to the dimension of a scale.
fn number(all: &[Stored]) -> Result<Option<i32>> {
    let number = all.iter().find(|stored| stored.name == "_Netcdf4Dimid");
    Ok(number.map(attribute::integers).transpose()?.and_then(|numbers| numbers.first().copied()))
}

/// The name of the array at an address that is a dimension's scale.
fn scale_name<'g, 'w>(file: &File, scale: u64, groups: &'g [Around<'w>]) -> Result<NamedIn<'g, 'w>> {
    for around in groups {
        if let Some(link) = around.0.find_address(scale) {
            return Ok(Some((alloc::text(&link.name)?, Some(around))));
        }
    }
    let all = attribute::stored(file, &Header::read(file, scale)?)?;
    let name = attribute::text(&all, "NAME").filter(|name| !name.is_empty() && !name.starts_with(NO_VARIABLE));
    Ok(name.map(lossy_text).transpose()?.map(|name| (name, None)))
}

/// The name of the dimension that has a number.
fn numbered_name<'g, 'w>(file: &File, number: i32, groups: &'g [Around<'w>]) -> Result<NamedIn<'g, 'w>> {
    for around in groups {
        let group = around.0;
        let numbers = match group.numbers.get() {
            Some(numbers) => numbers,
            None => {
                let found = numbers(file, group)?;
                group.numbers.get_or_init(|| found)
            }
        };
        if let Some(link) = numbers.get(&number).and_then(|i| group.links.get(*i)) {
            let name = alloc::text(link.name.strip_prefix(NO_COORDINATE).unwrap_or(&link.name))?;
            return Ok(Some((name, Some(around))));
        }
    }
    Ok(None)
}

/// The numbers of the dimensions whose scales are in a group, each with that of the scale's link. What cannot be read
/// is no scale.
fn numbers(file: &File, group: &Group) -> Result<HashMap<i32, usize>> {
    let mut numbers = HashMap::new();
    for (i, link) in group.links.iter().enumerate() {
        let Target::Object(address) = link.to else { continue };
        let all = of_the_file(Header::read(file, address).and_then(|header| attribute::stored(file, &header)))?;
        let Some(all) = all.filter(|all| is_scale(all)) else { continue };
        if let Some(number) = of_the_file(number(&all))?.flatten() {
            numbers.try_reserve(1).map_err(|_| ErrorKind::OutOfMemory)?;
            numbers.entry(number).or_insert(i);
        }
    }
    Ok(numbers)
}

/// How an array lies in the file that is one piece.
fn piece(dataset: &Dataset, position: u64) -> Result<netcdf::Layout> {
    netcdf::Layout::of_one_piece(alloc::copied(&dataset.space.shape)?, dataset.datatype.size as u64, position)
}

/// The variable and the store of an array.
fn build(file: &File, name: &str, dataset: &Dataset) -> Result<(Variable, ChunkStore<'static>, ElementType)> {
    let (element, endian) = dataset.datatype.element()?;
    let (is_text, shape, size) = (element == ElementType::String, &dataset.space.shape, dataset.datatype.size);
    let (mut store, chunk_shape) = match &dataset.layout {
        Layout::Bytes { position } => {
            let mut layout = piece(dataset, *position)?;
            if is_text {
                layout = layout.whole()?;
            }
            let chunk_shape = alloc::copied(&layout.chunk_shape)?;
            let chunks = netcdf::InFile::new(&file.name, name, layout, file.len)?;
            (ChunkStore::new(ObjectChunks::new(file.storage.clone(), chunks))?, chunk_shape)
        }
        Layout::Nothing => {
            let shape = piece(dataset, 0)?.chunk_shape;
            let (index, address) = (IndexMessage::Implicit, None);
            let layout = ChunkedLayout { shape, index, address, edges_are_plain: false };
            (chunked(file, name, dataset, &layout)?, layout.shape)
        }
        Layout::Chunked(layout) => (chunked(file, name, dataset, layout)?, alloc::copied(&layout.shape)?),
    };
    let mut fill_value = dataset.fill_value.as_deref().map(alloc::copied).transpose()?;
    if let What::Bits(_, _, bits) = dataset.datatype.what {
        fill_value.iter_mut().for_each(|value| Bits::new(element, endian, bits).value(value));
        store.add_codec(Bits::new(element, endian, bits))?;
    }
    if let Layout::Chunked(_) = dataset.layout {
        for filter in &dataset.filters {
            store.add_boxed_codec(codec_of(file, filter, (element, size))?)?;
        }
    }
    let limits = file.storage.memory_limits();
    if is_text {
        let mut variable = Variable::new(shape, &chunk_shape, strings::ELEMENT)?;
        let fill_value = text::fill_value(file, fill_value.as_deref())?;
        variable.set_texts(strings::copier(), TextElement::new(fill_value)?)?;
        let count = variable.chunk_bytes() / strings::ELEMENT;
        let chunk_bytes = count.checked_mul(size).ok_or(ErrorKind::OutOfMemory)?;
        store.set_limit(limits.string_chunk());
        let mut texts = ChunkStore::new(HeapTexts::new(store, chunk_bytes, file)?)?;
        texts.set_limit(limits.string_chunk());
        let chunks = TextChunks::new(texts, Some("writing to HDF5 files"));
        return Ok((variable, ChunkStore::lending_texts(chunks)?, element));
    }
    store.set_limit(limits.chunk());
    let mut variable = Variable::new(shape, &chunk_shape, size)?;
    if element.word_size() > 0 {
        variable.set_word_size(element.word_size())?;
        variable.set_endian(if element.word_size() > 1 { endian } else { Endian::Native })?;
    }
    let fill_value = fill_value.as_deref().map(|value| attribute::native(value, element, endian)).transpose()?;
    variable.set_fill_value(fill_value.as_deref())?;
    Ok((variable, store, element))
}

fn chunked(file: &File, name: &str, dataset: &Dataset, layout: &ChunkedLayout) -> Result<ChunkStore<'static>> {
    let index = Index::read(file, layout, &dataset.space, dataset.datatype.size)?;
    let plain = match layout.edges_are_plain {
        true => Some((alloc::copied(&dataset.space.shape)?, alloc::copied(&layout.shape)?)),
        false => None,
    };
    let before_filters = matches!(dataset.datatype.what, What::Bits(..)).into();
    // A chunk's mask has a bit for each codec.
    if dataset.filters.len() + before_filters as usize > 32 {
        return Err(ErrorKind::Unsupported("integers of some bits that go through 32 filters of HDF5's").into());
    }
    let lens = dataset.space.shape.iter().zip(&layout.shape);
    let counts = alloc::collected(lens.map(|(len, chunk_len)| len.div_ceil((*chunk_len).max(1))))?;
    let chunks = InChunks::new(file, (name, counts), index, Edges { before_filters, plain })?;
    ChunkStore::new(ObjectChunks::new(file.storage.clone(), chunks))
}

/// The codec that a filter is: the caller's own, or the library's. What only the writing of it depends on may be
/// missing.
pub(super) fn codec_of(file: &File, filter: &Filter, (element, size): (ElementType, usize)) -> Result<Box<dyn Codec>> {
    const DEFLATE: u32 = 1;
    const SHUFFLE: u32 = 2;
    const BZIP2: u32 = 307;
    const BLOSC: u32 = 32001;
    const ZSTD: u32 = 32015;
    let own = Name::of(format_args!("hdf5.{}", filter.number))?;
    if let Some(make) = file.storage.codecs().find(&own) {
        return own_codec(make, &own, filter, (element, size)).map_err(|error| about(error, filter));
    }
    let mut parameters = [0; 7];
    let given = filter.parameters.get(..filter.parameters.len().min(7)).unwrap_or_default();
    parameters[..given.len()].copy_from_slice(given);
    let due: &[u32] = match filter.number {
        DEFLATE => &[parameters[0].min(9)],
        SHUFFLE if given.is_empty() => &[size as u32],
        SHUFFLE => &[parameters[0]],
        BZIP2 | ZSTD => &[3],
        BLOSC => {
            let [_, _, type_size, chunk_size, ..] = parameters;
            &[2, 2, type_size.max(1), chunk_size, 5, parameters[5].min(2), parameters[6].min(5)]
        }
        _ => &filter.parameters,
    };
    codec::of_filter(filter.number, due).map_err(|error| about(error, filter))
}

/// The codec that a function of the caller's makes for a filter.
fn own_codec(
    make: &codec::MakeCodec,
    name: &str,
    filter: &Filter,
    (element, element_size): (ElementType, usize),
) -> Result<Box<dyn Codec>> {
    let mut configuration = alloc::text(r#"{"parameters":["#)?;
    for (i, parameter) in filter.parameters.iter().enumerate() {
        let comma = if i == 0 { "" } else { "," };
        alloc::push_text(&mut configuration, &Name::of(format_args!("{comma}{parameter}"))?)?;
    }
    alloc::push_text(&mut configuration, "]}")?;
    let type_name = Name::of(format_args!("{element}"))?;
    make(&CodecUse { name, configuration: &configuration, type_name: &type_name, element_size })
}

/// An error of a filter, with its number and its name.
fn about(error: Error, filter: &Filter) -> Error {
    let known = match filter.number {
        4 => "szip",
        5 => "nbit",
        6 => "scaleoffset",
        32000 => "lzf",
        32004 => "lz4",
        32008 => "bitshuffle",
        _ => &filter.name,
    };
    error.in_object(format_args!("HDF5's filter {} {known}", filter.number))
}
