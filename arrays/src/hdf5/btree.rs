//! Version 2 B-trees: how their nodes are laid out, and all records of one. Those of groups and attributes are read as
//! a whole; those of chunks node by node (`index.rs`).

use super::bytes::{Cursor, Sizes, bytes_for, malformed, verify};
use super::file::File;
use crate::alloc;
use crate::error::{ErrorKind, Result};

/// What a node has before and behind its records: mark, version, type, and checksum.
const AROUND: usize = 10;

/// The deepest tree: one of 2^64 records has fewer levels.
const DEEPEST: u16 = 64;

/// The header of a tree.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    pub sizes: Sizes,
    pub kind: u8,
    pub node_size: usize,
    pub record_size: usize,
    pub root: Option<Child>,
    /// How many bytes tell the number of a child's records.
    count_size: usize,
    /// For each level from the leaves on the most records that are below a node of it.
    below: Vec<u64>,
}

/// A node, as what is above it says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Child {
    pub address: u64,
    /// How many records are in it.
    pub count: usize,
    /// How many levels are below it.
    pub level: u16,
}

/// A node's records, one behind the other, and those that are below it: of n records there are n + 1, or none.
pub(super) struct Node<'b> {
    records: &'b [u8],
    children: Cursor<'b>,
}

impl Tree {
    pub(super) fn read(file: &File, address: u64) -> Result<Tree> {
        let sizes = file.sizes;
        let len = 22 + sizes.address + sizes.length;
        let bytes = file.read(address, len as u64)?;
        let mut cursor = Cursor::new(&bytes, sizes);
        cursor.mark(b"BTHD")?;
        cursor.version(0)?;
        let (kind, node_size, record_size) = (cursor.u8()?, cursor.u32()? as usize, usize::from(cursor.u16()?));
        let level = cursor.u16()?;
        cursor.skip(2)?;
        let (root, count) = (cursor.address()?, usize::from(cursor.u16()?));
        cursor.length()?;
        cursor.checksum()?;
        let room = node_size.checked_sub(AROUND).filter(|_| record_size > 0 && level <= DEEPEST);
        let room = room.ok_or_else(|| malformed("a B-tree's nodes have no room for records"))?;
        let most = room / record_size;
        let count_size = bytes_for(most as u64);
        let mut tree = Tree { sizes, kind, node_size, record_size, root: None, count_size, below: Vec::new() };
        alloc::push(&mut tree.below, most as u64)?;
        for level in 1..=level {
            let most =
                (room.saturating_sub(tree.pointer_size(level)) / (record_size + tree.pointer_size(level))) as u64;
            let below = tree.below.last().copied().unwrap_or(0);
            alloc::push(&mut tree.below, (most + 1).saturating_mul(below).saturating_add(most))?;
        }
        tree.root = root.map(|address| Child { address, count, level });
        Ok(tree)
    }

    /// How many bytes a node of this level has for each child.
    fn pointer_size(&self, level: u16) -> usize {
        self.sizes.address + self.count_size + self.total_size(level)
    }

    /// Of these those that tell how many records are below the child.
    fn total_size(&self, level: u16) -> usize {
        match level {
            0 | 1 => 0,
            _ => self.below.get(usize::from(level) - 1).map_or(0, |most| bytes_for(*most)),
        }
    }

    /// How many bytes of a node are in use.
    pub(super) fn len(&self, child: Child) -> Result<usize> {
        let pointers = if child.level == 0 { 0 } else { (child.count + 1) * self.pointer_size(child.level) };
        let len = AROUND + child.count * self.record_size + pointers;
        if len > self.node_size {
            return Err(malformed("a B-tree node has more records than it has room for"));
        }
        Ok(len)
    }

    /// What the bytes of a node say, which have been verified.
    pub(super) fn node<'b>(&self, child: Child, bytes: &'b [u8]) -> Result<Node<'b>> {
        let mut cursor = Cursor::new(bytes, self.sizes);
        cursor.mark(if child.level == 0 { b"BTLF" } else { b"BTIN" })?;
        cursor.version(0)?;
        if cursor.u8()? != self.kind {
            return Err(malformed("a B-tree node belongs to another tree"));
        }
        let records = cursor.take(child.count.saturating_mul(self.record_size))?;
        Ok(Node { records, children: cursor })
    }

    /// A record of a node.
    pub(super) fn record<'b>(&self, node: &Node<'b>, i: usize) -> Result<&'b [u8]> {
        let begin = i.saturating_mul(self.record_size);
        let record = node.records.get(begin..begin.saturating_add(self.record_size));
        Ok(record.ok_or(ErrorKind::Internal)?)
    }

    /// A child of a node that is no leaf.
    pub(super) fn child(&self, parent: Child, node: &Node<'_>, i: usize) -> Result<Child> {
        let mut cursor = node.children.clone();
        let level = parent.level.checked_sub(1).ok_or(ErrorKind::Internal)?;
        cursor.skip(i.saturating_mul(self.pointer_size(parent.level)))?;
        let address = cursor.address()?.ok_or_else(|| malformed("a B-tree node has no address"))?;
        Ok(Child { address, count: cursor.number(self.count_size)? as usize, level })
    }

    /// All records, each from this byte on.
    pub(super) fn records(&self, file: &File, first: usize) -> Result<Vec<Vec<u8>>> {
        let (mut all, mut taken) = (Vec::new(), 0usize);
        self.each(file, &mut |record| {
            let record = record.get(first..).unwrap_or_default();
            taken = taken.saturating_add(size_of::<Vec<u8>>() + record.len());
            file.limit.check(taken)?;
            Ok(alloc::push(&mut all, alloc::copied(record)?)?)
        })?;
        Ok(all)
    }

    /// Calls `one` for each record.
    pub(super) fn each(&self, file: &File, one: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let (mut nodes, mut left) = (Vec::new(), file.len);
        if let Some(root) = self.root.filter(|root| root.count > 0) {
            alloc::push(&mut nodes, root)?;
        }
        while let Some(child) = nodes.pop() {
            let len = self.len(child)?;
            left = left.checked_sub(len as u64).ok_or_else(|| malformed("a B-tree has a cycle"))?;
            let bytes = file.read(child.address, len as u64)?;
            verify(&bytes, self.sizes)?;
            let node = self.node(child, &bytes)?;
            if child.level > 0 {
                for i in 0..=child.count {
                    alloc::push(&mut nodes, self.child(child, &node, i)?)?;
                }
            }
            node.records.chunks_exact(self.record_size).try_for_each(&mut *one)?;
        }
        Ok(())
    }
}
