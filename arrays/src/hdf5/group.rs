//! Groups: the links to what is in them, of old groups by symbol tables and of new ones by messages or a heap.

use std::cell::OnceCell;
use std::collections::HashMap;

use super::btree::Tree;
use super::bytes::{Cursor, malformed};
use super::file::File;
use super::header::{Header, kind};
use super::heap::FractalHeap;
use crate::alloc;
use crate::dataset::lossy_text;
use crate::error::{ErrorKind, Result};

/// A link of a group.
pub(super) struct Link {
    pub name: String,
    pub to: Target,
    /// When it was made among those of the group, if the file records it.
    order: u64,
}

/// What a link leads to.
pub(super) enum Target {
    /// The header at an address.
    Object(u64),
    /// What has this path.
    Path(String),
    /// What has a path in the file of another path.
    InFile { file: String, path: String },
    /// What only programs know that have made it.
    Elsewhere,
}

/// What netCDF-C writes before the name of a variable that is called like a dimension without being its coordinate.
pub(super) const NO_COORDINATE: &str = "_nc4_non_coord_";

/// A group: where its header is, and what is in it.
pub(super) struct Group {
    pub address: u64,
    /// As [`links`] has them.
    pub links: Vec<Link>,
    /// The numbers of the links, sorted by their names.
    by_name: Vec<usize>,
    /// The addresses of objects with the numbers of the links to them, sorted.
    by_address: Vec<(u64, usize)>,
    /// The numbers that netCDF-C gave to the dimensions whose scales are here, each with that of the scale's link, once
    /// they were asked for.
    pub numbers: OnceCell<HashMap<i32, usize>>,
}

impl Group {
    pub(super) fn read(file: &File, address: u64) -> Result<Group> {
        let links = links(file, &Header::read(file, address)?)?;
        let mut by_name = alloc::collected(0..links.len())?;
        let name = |i: &usize| links.get(*i).map_or("", |link| link.name.as_str());
        by_name.sort_unstable_by(|one, other| (name(one), one).cmp(&(name(other), other)));
        let mut by_address = Vec::new();
        for (i, link) in links.iter().enumerate() {
            if let Target::Object(address) = link.to {
                alloc::push(&mut by_address, (address, i))?;
            }
        }
        by_address.sort_unstable();
        Ok(Group { address, links, by_name, by_address, numbers: OnceCell::new() })
    }

    /// The link that netCDF calls so.
    pub(super) fn find(&self, name: &str) -> Option<&Link> {
        self.first(&[NO_COORDINATE, name]).or_else(|| self.first(&[name]))
    }

    /// The first link to the object at an address.
    pub(super) fn find_address(&self, address: u64) -> Option<&Link> {
        let at = self.by_address.partition_point(|(other, _)| *other < address);
        self.by_address.get(at).filter(|(other, _)| *other == address).and_then(|(_, i)| self.links.get(*i))
    }

    /// The first link whose name consists of these parts.
    fn first(&self, parts: &[&str]) -> Option<&Link> {
        let order = |link: &Link| link.name.bytes().cmp(parts.iter().flat_map(|part| part.bytes()));
        let link = |i: &usize| self.links.get(*i);
        let at = self.by_name.partition_point(|i| link(i).is_some_and(|link| order(link).is_lt()));
        self.by_name.get(at).and_then(link).filter(|link| order(link).is_eq())
    }
}

/// Whether a header is that of a group.
pub(super) fn is_group(header: &Header) -> bool {
    [kind::SYMBOL_TABLE, kind::LINK_INFO, kind::LINK].iter().any(|kind| header.has(*kind))
}

/// The links of a group, in the order in which they were made or, where that is not told, of their names.
fn links(file: &File, header: &Header) -> Result<Vec<Link>> {
    let mut links = Vec::new();
    for message in &header.messages {
        let mut cursor = Cursor::new(&message.bytes, file.sizes);
        match message.kind {
            kind::SYMBOL_TABLE => symbols(file, &mut cursor, &mut links)?,
            kind::LINK => add(file, &mut links, link(&mut cursor)?)?,
            kind::LINK_INFO => {
                cursor.version(0)?;
                let flags = cursor.u8()?;
                cursor.skip(if flags & 1 != 0 { 8 } else { 0 })?;
                if let (Some(heap), Some(tree)) = (cursor.address()?, cursor.address()?) {
                    dense(file, heap, tree, &mut links)?;
                }
            }
            _ => {}
        }
    }
    links.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
    Ok(links)
}

/// Adds a link, which takes memory again wherever the file leads to it again.
fn add(file: &File, links: &mut Vec<Link>, link: Link) -> Result<()> {
    file.charge(size_of::<Link>() as u64)?;
    Ok(alloc::push(links, link)?)
}

/// A link of a new group.
fn link(cursor: &mut Cursor<'_>) -> Result<Link> {
    const HAS_KIND: u8 = 1 << 3;
    const HAS_ORDER: u8 = 1 << 2;
    const HAS_ENCODING: u8 = 1 << 4;
    cursor.version(1)?;
    let flags = cursor.u8()?;
    let kind = if flags & HAS_KIND != 0 { cursor.u8()? } else { 0 };
    let order = if flags & HAS_ORDER != 0 { cursor.number(8)? } else { 0 };
    cursor.skip(if flags & HAS_ENCODING != 0 { 1 } else { 0 })?;
    let len = cursor.number(1 << (flags & 3))?;
    let name = lossy_text(cursor.take(usize::try_from(len).unwrap_or(usize::MAX))?)?;
    let to = match kind {
        0 => Target::Object(cursor.address()?.ok_or_else(|| malformed("a link has no target"))?),
        1 => {
            let len = usize::from(cursor.u16()?);
            Target::Path(lossy_text(cursor.take(len)?)?)
        }
        64 => {
            let len = usize::from(cursor.u16()?);
            let (version, texts) = cursor.take(len)?.split_first().ok_or_else(|| malformed("a link has no target"))?;
            // What is above the flags, of which there are none yet.
            if version >> 4 != 0 {
                return Err(ErrorKind::Unsupported("a structure of an HDF5 file of an unknown version").into());
            }
            let mut texts = texts.split(|byte| *byte == 0).map(lossy_text);
            let mut text = || texts.next().ok_or_else(|| malformed("a link has no target"))?;
            Target::InFile { file: text()?, path: text()? }
        }
        _ => Target::Elsewhere,
    };
    Ok(Link { name, to, order })
}

/// The links that are in a heap, as the records of a tree say.
fn dense(file: &File, heap: u64, tree: u64, links: &mut Vec<Link>) -> Result<()> {
    const HASH: usize = 4;
    let (mut heap, mut ids) = (FractalHeap::read(file, heap)?, Tree::read(file, tree)?.records(file, HASH)?);
    heap.sort(&mut ids);
    ids.iter().try_for_each(|id| {
        let object = heap.object(file, id)?;
        add(file, links, link(&mut Cursor::new(&object, file.sizes))?)
    })
}

/// The links of an old group: the leaves of its tree are tables of symbols, whose names are in a heap.
fn symbols(file: &File, cursor: &mut Cursor<'_>, links: &mut Vec<Link>) -> Result<()> {
    let nowhere = || malformed("a symbol table has no address");
    let (tree, heap) = (cursor.address()?.ok_or_else(nowhere)?, cursor.address()?.ok_or_else(nowhere)?);
    let names = local_heap(file, heap)?;
    let mut nodes = Vec::new();
    alloc::push(&mut nodes, (tree, None))?;
    let mut left = file.len;
    while let Some((address, level)) = nodes.pop() {
        left = left.checked_sub(8).ok_or_else(|| malformed("a B-tree has a cycle"))?;
        match level {
            Some(-1) => table(file, address, &names, links)?,
            _ => {
                let (level, children) = children(file, address, level)?;
                for child in children {
                    alloc::push(&mut nodes, (child, Some(level - 1)))?;
                }
            }
        }
    }
    Ok(())
}

/// The bytes of a local heap.
fn local_heap(file: &File, address: u64) -> Result<Vec<u8>> {
    let bytes = file.read(address, (8 + 2 * file.sizes.length + file.sizes.address) as u64)?;
    let mut cursor = Cursor::new(&bytes, file.sizes);
    cursor.mark(b"HEAP")?;
    cursor.version(0)?;
    cursor.skip(3)?;
    let len = cursor.length()?;
    cursor.length()?;
    file.read(cursor.address()?.ok_or_else(|| malformed("a heap has no address"))?, len)
}

/// The text that begins there in a local heap. Many links may have the same one.
fn text(file: &File, names: &[u8], at: u64) -> Result<String> {
    let rest = usize::try_from(at).ok().and_then(|at| names.get(at..));
    let text = rest.and_then(|rest| rest.split(|byte| *byte == 0).next());
    let text = text.ok_or_else(|| malformed("a name is not in its heap"))?;
    file.charge(text.len() as u64)?;
    lossy_text(text)
}

/// The level of a node of a version 1 B-tree of a group, and what is below it. It has to be the level that is due.
fn children(file: &File, address: u64, due: Option<i16>) -> Result<(i16, Vec<u64>)> {
    let sizes = file.sizes;
    let before = 8 + 2 * sizes.address;
    let beginning = file.read(address, before as u64)?;
    let mut cursor = Cursor::new(&beginning, sizes);
    cursor.mark(b"TREE")?;
    let (kind, level, count) = (cursor.u8()?, i16::from(cursor.u8()?), usize::from(cursor.u16()?));
    if kind != 0 || due.is_some_and(|due| due != level) {
        return Err(malformed("a B-tree node belongs to another tree"));
    }
    let bytes = file.read(address, (before + count * (sizes.length + sizes.address)) as u64)?;
    let mut cursor = Cursor::new(&bytes, sizes);
    cursor.skip(before)?;
    let mut children = Vec::new();
    for _ in 0..count {
        cursor.length()?;
        alloc::push(&mut children, cursor.address()?.ok_or_else(|| malformed("a B-tree node has no address"))?)?;
    }
    Ok((level, children))
}

fn table(file: &File, address: u64, names: &[u8], links: &mut Vec<Link>) -> Result<()> {
    const SOFT: u32 = 2;
    let sizes = file.sizes;
    let beginning = file.read(address, 8)?;
    let mut cursor = Cursor::new(&beginning, sizes);
    cursor.mark(b"SNOD")?;
    cursor.version(1)?;
    cursor.skip(1)?;
    let count = usize::from(cursor.u16()?);
    let bytes = file.read(address, (8 + count * (sizes.length + sizes.address + 24)) as u64)?;
    let mut cursor = Cursor::new(&bytes, sizes);
    cursor.skip(8)?;
    for _ in 0..count {
        let name = text(file, names, cursor.length()?)?;
        let (object, kind) = (cursor.address()?, cursor.u32()?);
        cursor.skip(4)?;
        let mut scratch = Cursor::new(cursor.take(16)?, sizes);
        let to = match (kind, object) {
            (SOFT, _) => Target::Path(text(file, names, scratch.u32()?.into())?),
            (_, Some(object)) => Target::Object(object),
            _ => return Err(malformed("a link has no target")),
        };
        add(file, links, Link { name, to, order: 0 })?;
    }
    Ok(())
}

#[cfg(test)]
impl Group {
    /// A group with so many links, for tests.
    pub(super) fn of_links(num_links: usize) -> Group {
        let link = |_| Link { name: String::new(), to: Target::Elsewhere, order: 0 };
        let links = (0..num_links).map(link).collect();
        Group { address: 0, links, by_name: Vec::new(), by_address: Vec::new(), numbers: OnceCell::new() }
    }
}
