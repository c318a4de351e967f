//! A whole chunk whose length is not known before it is decoded; and the way back.
#![allow(unsafe_code)]

use super::base::{ChunkStore, Reader};
use super::fetch::fetch_stored;
use super::memory::{Encoded, Workspace};
use super::request::Request;
use crate::buffer::Buffer;
use crate::error::{ErrorKind, Result};
use crate::threads::Threads;

/// The room that a chunk is decoded into first, if that is more than a few times what is stored.
const LEAST: usize = 64 << 10;

impl ChunkStore<'_> {
    /// Fetches a chunk of any length up to the store's limit, decoded; `None` stands for an absent chunk.
    pub(crate) fn fetch_any_length(&self, request: &Request<'_>) -> Result<Option<Vec<u8>>> {
        let Reader::Filling(filler) = &self.reader else { return Err(ErrorKind::Internal.into()) };
        self.verify_stored(request)?;
        let Workspace { encoded, .. } = &mut self.workspace()?;
        let Encoded { stored, between: [one, other] } = encoded;
        let first = LEAST.min(self.limit.bytes);
        let Some(len) = fetch_stored(&**filler, request, (first, |len| self.limit.check(len)), stored)? else {
            return Ok(None);
        };
        // SAFETY: `fetch_stored` has filled so many bytes.
        let stored = unsafe { stored.filled(len) };
        let codecs = self.codecs(request.access());
        if codecs.is_empty() {
            return Ok(Some(crate::alloc::copied(stored)?));
        }
        let most = self.limit.bytes;
        let mut room = len.saturating_mul(4).max(LEAST).min(most);
        loop {
            let mut chunk: Vec<u8> = Vec::new();
            chunk.try_reserve_exact(room).map_err(|_| ErrorKind::OutOfMemory)?;
            let mut buffer = Buffer::new(&mut chunk.spare_capacity_mut()[..room]);
            let result = codecs.decode_any_length(stored, &mut buffer, [&mut **one, &mut **other], self.limit);
            let filled = buffer.filled().len();
            match result {
                Err(error) if !matches!(error.kind(), ErrorKind::DecodedLength { .. }) => return Err(error),
                Err(_) if room == most => return Err(self.limit.exceeded(None)),
                Err(_) => room = room.saturating_mul(4).min(most),
                Ok(()) => {
                    // SAFETY: so many bytes of the room have been filled.
                    unsafe { chunk.set_len(filled) };
                    return Ok(Some(chunk));
                }
            }
        }
    }

    /// Encodes a chunk of any length and stores it.
    pub(crate) fn put_any_length(&self, request: &Request<'_>, chunk: &[u8]) -> Result<()> {
        self.put(request, self.encode(request.access(), chunk, &mut self.workspace()?.encoded, Threads::ONE)?)
    }
}
