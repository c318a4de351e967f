//! A string of limited length.

use std::fmt::Write;

/// A string that ends with a NUL and leaves out what it has no room for.
pub(super) struct Message {
    pub(super) bytes: [u8; 512],
    len: usize,
}

impl Message {
    pub(super) const EMPTY: Message = Message { bytes: [0; 512], len: 0 };

    pub(super) fn clear(&mut self) {
        // A shorter text than before needs zeros behind it.
        self.bytes[..self.len].fill(0);
        self.len = 0;
    }
}

impl Write for Message {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let room = self.bytes.len() - 1 - self.len;
        let text = &text.as_bytes()[..text.len().min(room)];
        self.bytes[self.len..][..text.len()].copy_from_slice(text);
        self.len += text.len();
        Ok(())
    }
}
