//! Object headers: the messages that say what a group, an array or a type is.

use super::bytes::{Cursor, malformed, verify};
use super::file::File;
use super::heap::FractalHeap;
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// What messages are about, by their numbers.
pub(super) mod kind {
    /// What was removed, and space for more.
    pub const NOTHING: u16 = 0x00;
    pub const DATASPACE: u16 = 0x01;
    pub const LINK_INFO: u16 = 0x02;
    pub const DATATYPE: u16 = 0x03;
    pub const OLD_FILL_VALUE: u16 = 0x04;
    pub const FILL_VALUE: u16 = 0x05;
    pub const LINK: u16 = 0x06;
    pub const EXTERNAL_FILES: u16 = 0x07;
    pub const LAYOUT: u16 = 0x08;
    pub const FILTERS: u16 = 0x0b;
    pub const ATTRIBUTE: u16 = 0x0c;
    pub const SHARED_TABLE: u16 = 0x0f;
    pub const CONTINUATION: u16 = 0x10;
    pub const SYMBOL_TABLE: u16 = 0x11;
    pub const ATTRIBUTE_INFO: u16 = 0x15;
    /// The last kind that is known. The one before it says how space is used, which matters to writers only.
    pub const CACHE_IMAGE: u16 = 0x18;
}

/// A message.
pub(super) struct Message {
    pub kind: u16,
    /// Whether the bytes only say where the message is.
    pub is_shared: bool,
    /// When it was made among those of its kind, if the header records it.
    pub order: u16,
    /// Where the bytes are in the file.
    pub position: u64,
    pub bytes: Vec<u8>,
}

/// How many bytes the number of an object has in a heap of messages and in one of attributes.
pub(super) const HEAP_ID: usize = 8;

/// The header of an object.
pub(super) struct Header {
    /// Where it is.
    pub address: u64,
    pub messages: Vec<Message>,
    /// How many bytes of memory the messages take.
    taken: usize,
}

/// The flag of a message that is stored elsewhere, and that of one that has to be understood.
const SHARED: u8 = 1 << 1;
const MUST_BE_KNOWN: u8 = 1 << 7;

/// A part of a header: where it is, how long it is, how many bytes of it stand before the messages and behind them.
struct Part {
    address: u64,
    len: u64,
    before: usize,
    behind: usize,
}

impl Header {
    pub(super) fn read(file: &File, address: u64) -> Result<Header> {
        let first = file.read_up_to(address, 64)?;
        let mut cursor = Cursor::new(&first, file.sizes);
        let (is_old, has_order, part) = if first.starts_with(b"OHDR") {
            cursor.skip(4)?;
            cursor.version(2)?;
            let flags = cursor.u8()?;
            cursor.skip(if flags & 1 << 5 != 0 { 16 } else { 0 })?;
            cursor.skip(if flags & 1 << 4 != 0 { 4 } else { 0 })?;
            let len = cursor.number(1 << (flags & 3))?;
            let before = cursor.position();
            let len = len.checked_add(before as u64 + 4).ok_or(ErrorKind::Truncated)?;
            (false, flags & 1 << 2 != 0, Part { address, len, before, behind: 4 })
        } else {
            cursor.version(1)?;
            cursor.skip(1 + 2 + 4)?;
            let len = u64::from(cursor.u32()?);
            (true, false, Part { address, len: len + 16, before: 16, behind: 0 })
        };
        let (mut header, mut parts, mut left) =
            (Header { address, messages: Vec::new(), taken: 0 }, Vec::new(), file.len);
        alloc::push(&mut parts, part)?;
        while let Some(part) = parts.pop() {
            // Parts lie in the file side by side, so those that lead back to each other are more than the file has.
            left = left.checked_sub(part.len.max(1)).ok_or_else(|| malformed("an object header has a cycle"))?;
            header.add(file, &part, (is_old, has_order), &mut parts)?;
        }
        Ok(header)
    }

    fn add(&mut self, file: &File, part: &Part, (is_old, has_order): (bool, bool), more: &mut Vec<Part>) -> Result<()> {
        let bytes = file.read(part.address, part.len)?;
        let position = file.position(part.address, part.len)?;
        let end = bytes.len().checked_sub(part.behind).ok_or(ErrorKind::Truncated)?;
        if !is_old {
            verify(&bytes, file.sizes)?;
        }
        let mut cursor = Cursor::new(bytes.get(..end).unwrap_or_default(), file.sizes);
        if part.before == 4 {
            cursor.mark(b"OCHK")?;
        } else {
            cursor.skip(part.before)?;
        }
        // What is too short for a message is a gap.
        let least = if is_old { 8 } else { 4 + if has_order { 2 } else { 0 } };
        while cursor.left() >= least {
            let kind = if is_old { cursor.u16()? } else { u16::from(cursor.u8()?) };
            let (len, flags) = (usize::from(cursor.u16()?), cursor.u8()?);
            cursor.skip(if is_old { 3 } else { 0 })?;
            let order = if has_order { cursor.u16()? } else { 0 };
            let at = position + cursor.position() as u64;
            let message = cursor.take(len)?;
            match kind {
                kind::CONTINUATION => {
                    let mut to = Cursor::new(message, file.sizes);
                    let address = to
                        .address()?
                        .ok_or_else(|| malformed("the continuation of an object header has no address"))?;
                    let (before, behind) = if is_old { (0, 0) } else { (4, 4) };
                    alloc::push(more, Part { address, len: to.length()?, before, behind })?;
                }
                kind::NOTHING => {}
                0x19.. if flags & MUST_BE_KNOWN != 0 => {
                    return Err(ErrorKind::Unsupported(
                        "an HDF5 object with an unknown header message that must be understood",
                    )
                    .into());
                }
                _ => {
                    self.taken = self.taken.saturating_add(size_of::<Message>() + len);
                    file.limit.check(self.taken)?;
                    let (is_shared, bytes) = (flags & SHARED != 0, alloc::copied(message)?);
                    alloc::push(&mut self.messages, Message { kind, is_shared, order, position: at, bytes })?;
                }
            }
        }
        Ok(())
    }

    /// The first message of a kind, wherever it is stored.
    pub(super) fn find(&self, file: &File, kind: u16) -> Result<Option<Message>> {
        match self.messages.iter().find(|message| message.kind == kind) {
            Some(Message { is_shared: true, bytes, .. }) => {
                shared(file, kind, &mut Cursor::new(bytes, file.sizes)).map(Some)
            }
            Some(Message { order, position, bytes, .. }) => {
                let bytes = alloc::copied(bytes)?;
                Ok(Some(Message { kind, is_shared: false, order: *order, position: *position, bytes }))
            }
            None => Ok(None),
        }
    }

    pub(super) fn has(&self, kind: u16) -> bool {
        self.messages.iter().any(|message| message.kind == kind)
    }
}

/// The message that one which is stored elsewhere leads to: that of a committed type, or one in the heap of those that
/// objects share.
pub(super) fn shared(file: &File, kind: u16, cursor: &mut Cursor<'_>) -> Result<Message> {
    let (version, of) = (cursor.u8()?, cursor.u8()?);
    match (version, of) {
        // What is reserved, and where the name was in a symbol table.
        (1, _) => cursor.skip(6 + file.sizes.length)?,
        (2, _) | (3, 2) => {}
        (3, 1) => {
            let bytes = in_heap(file, kind, cursor.take(cursor.left().min(HEAP_ID))?)?;
            return Ok(Message { kind, is_shared: false, order: 0, position: 0, bytes });
        }
        _ => return Err(ErrorKind::Unsupported("an HDF5 object with a message that is shared in another way").into()),
    }
    let address = cursor.address()?.ok_or_else(|| malformed("a shared message has no address"))?;
    let found = Header::read(file, address)?.messages.into_iter().find(|message| message.kind == kind);
    // What is shared is not shared once more.
    found.filter(|message| !message.is_shared).ok_or_else(|| malformed("a shared message is not at its address"))
}

/// The messages of some kinds that objects share: where their heap is, and the heap once it was read.
pub(super) struct SharedMessages {
    kinds: u16,
    address: Option<u64>,
    heap: Option<FractalHeap>,
}

/// The message of a kind that has this number in the heap of those that objects share.
pub(super) fn in_heap(file: &File, kind: u16, id: &[u8]) -> Result<Vec<u8>> {
    let mut kept = file.shared.borrow_mut();
    let all = match &mut *kept {
        Some(all) => all,
        none => none.insert(shared_messages(file)?),
    };
    let is_of = |messages: &&mut SharedMessages| messages.kinds.checked_shr(kind.into()).unwrap_or(0) & 1 != 0;
    let messages = all.iter_mut().find(is_of).ok_or_else(no_table)?;
    let heap = match &mut messages.heap {
        Some(heap) => heap,
        none => none.insert(FractalHeap::read(file, messages.address.ok_or_else(no_table)?)?),
    };
    heap.object(file, id)
}

#[cold]
fn no_table() -> Error {
    malformed("there is no table of the messages that objects share")
}

/// What the table says of the messages that objects share.
fn shared_messages(file: &File) -> Result<Vec<SharedMessages>> {
    let extension = Header::read(file, file.extension.ok_or_else(no_table)?)?;
    // This message cannot be shared itself.
    let is_table = |message: &&Message| message.kind == kind::SHARED_TABLE && !message.is_shared;
    let message = extension.messages.iter().find(is_table).ok_or_else(no_table)?;
    let mut cursor = Cursor::new(&message.bytes, file.sizes);
    cursor.version(0)?;
    let (table, count) = (cursor.address()?.ok_or_else(no_table)?, usize::from(cursor.u8()?));
    let len = 4 + count * (14 + 2 * file.sizes.address);
    let bytes = file.read(table, len as u64 + 4)?;
    verify(&bytes, file.sizes)?;
    let mut cursor = Cursor::new(&bytes, file.sizes);
    cursor.mark(b"SMTB")?;
    let mut all = Vec::new();
    for _ in 0..count {
        cursor.version(0)?;
        cursor.skip(1)?;
        let kinds = cursor.u16()?;
        // From which length on messages are shared, how many a list has, how many there are, and the list's address.
        cursor.skip(4 + 2 + 2 + 2 + file.sizes.address)?;
        alloc::push(&mut all, SharedMessages { kinds, address: cursor.address()?, heap: None })?;
    }
    Ok(all)
}
