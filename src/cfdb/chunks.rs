//! The chunks of a variable: the values of a booklet file whose keys are the variable's name and where they begin.

use super::booklet::Booklet;
use super::metadata::{Compression, VariableMetadata};
use crate::alloc;
use crate::buffer::Buffer;
use crate::codec::Codec;
use crate::error::Result;
use crate::key::KeyStyle;
use crate::object::{Begin, Name, Objects};
use crate::store::{Fill, Filled, Request, Store};

/// The chunks of a variable.
struct Chunks {
    booklet: Booklet,
    name: String,
    chunk_shape: Vec<usize>,
}

impl Fill for Chunks {
    fn fill(&self, request: &Request<'_>, buffer: &mut Buffer<'_>) -> Result<Filled> {
        let style = KeyStyle::Cfdb { var: &self.name, chunklens: &self.chunk_shape };
        let key = Name::of(format_args!("{}", style.key(request.chunk())?))?;
        let len = self.booklet.read(&key, Begin::At(0), buffer)?;
        Ok(len.map_or(Filled::Absent, |len| Filled::Stored(usize::try_from(len).unwrap_or(usize::MAX))))
    }

    fn tells_len(&self) -> bool {
        true
    }

    fn is_concurrent(&self) -> bool {
        self.booklet.is_concurrent()
    }
}

/// The chunks of a variable, as they are decoded.
///
/// # Errors
/// `Codec` for a compression that the library was built without.
pub(super) fn store(
    booklet: Booklet,
    name: &str,
    variable: &VariableMetadata,
    compression: Compression,
) -> Result<Store<'static>> {
    let chunk_shape = alloc::copied(&variable.chunk_shape)?;
    let mut store = Store::filling(Chunks { booklet, name: alloc::text(name)?, chunk_shape })?;
    let size = variable.data_type.stored.size();
    if compression.is_shuffled && matches!(size, 2 | 4 | 8) {
        store.add_boxed_codec(shuffle(size)?)?;
    }
    store.add_boxed_codec(if compression.is_lz4 { lz4()? } else { zstd()? })?;
    Ok(store)
}

#[cfg(feature = "shuffle")]
fn shuffle(size: usize) -> Result<Box<dyn Codec>> {
    Ok(alloc::try_box(crate::codec::public::Shuffle::new(size))?)
}

#[cfg(not(feature = "shuffle"))]
fn shuffle(_: usize) -> Result<Box<dyn Codec>> {
    Err(crate::codec::not_built_in("shuffle"))
}

#[cfg(feature = "lz4")]
fn lz4() -> Result<Box<dyn Codec>> {
    Ok(alloc::try_box(crate::codec::Lz4Frame)?)
}

#[cfg(not(feature = "lz4"))]
fn lz4() -> Result<Box<dyn Codec>> {
    Err(crate::codec::not_built_in("lz4"))
}

#[cfg(feature = "zstd")]
fn zstd() -> Result<Box<dyn Codec>> {
    Ok(alloc::try_box(crate::codec::public::Zstd::default())?)
}

#[cfg(not(feature = "zstd"))]
fn zstd() -> Result<Box<dyn Codec>> {
    Err(crate::codec::not_built_in("zstd"))
}
