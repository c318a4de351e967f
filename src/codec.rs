//! # Codecs: built-in ones and your own
//!
//! Give a store a chain of codecs, and its callbacks exchange encoded chunks. Make each codec with one of these
//! functions, and hand it over to a store with nczchunk_chunk_store_add_codec, one after another in the order of
//! encoding.
//!
//! ```c
//! nczchunk_codec_zstd(NULL, &codec, NULL);
//! nczchunk_chunk_store_add_codec(store, codec, NULL);
//! ```
//!
//! A chunk that is contiguous in the caller's memory is decoded directly into it. Only large reads decode chunks of up
//! to 1 MiB in the processor's cache first, where that is faster. The library trusts no size that encoded data claim:
//! it decodes into a buffer of the expected size. Data that decode to another length fail with NCZCHUNK_EBADCHUNK, and
//! data that do not decode fail with NCZCHUNK_EIO; but see nczchunk_chunk_store_set_verify.

use std::ffi::{CStr, c_uint};
use std::ops::Range;

use super::callbacks::Callbacks;
use super::prelude::*;
use nczchunk_engine::alloc::Slot;
use nczchunk_engine::buffer::Buffer;
use nczchunk_engine::codec::{self, Codec};

/// Options for encoding with zstd.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_zstd_options {
    /// sizeof(nczchunk_zstd_options).
    pub struct_size: usize,
    /// The compression level. 0 is zstd's default, which is 3. Levels outside zstd's range are clamped to it.
    pub level: isize,
    /// 1 to leave out the checksum that follows the data, else 0.
    pub no_checksum: usize,
}
growing!(nczchunk_zstd_options, no_checksum: usize);

/// Makes the codec zstd. options is for encoding; NULL stands for zeros. Free the codec with nczchunk_codec_free,
/// unless a store has taken it over.
///
/// Errors: NCZCHUNK_EINVAL (codec is NULL; a struct_size of 0; a newer structure with fields in use that this library
/// does not know), NCZCHUNK_ENOFILTER (the library was built without zstd), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_codec_zstd(
    options: *const nczchunk_zstd_options,
    codec: *mut *mut nczchunk_codec,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || hand_over(codec, || {
        let (mut level, mut checksum) = (0, true);
        if !options.is_null() {
            let options = read_growing(options)?;
            level = options.level.clamp(i32::MIN as isize, i32::MAX as isize) as i32;
            checksum = options.no_checksum == 0;
        }
        Ok(nczchunk_codec(codec::built_in::zstd(level, checksum)?))
    })))
}

/// Makes the codec for the HDF5 filter of this number. It takes the parameters of nc_def_var_filter. Filters are, for
/// example, 1 for deflate (the level), 2 for shuffle (the bytes of an element), 3 for fletcher32 (none), 32001 for
/// blosc (seven, as in H5Zblosc.c) and 32015 for zstd (the level). Those of szip (4), nbit (5), scaleoffset (6), lzf
/// (32000), lz4 (32004) and bitshuffle (32008) only decode, with the parameters that an HDF5 file has for them. The
/// codec decodes only the data that the filter decodes: for zstd, one frame that contains its decoded size. Free the
/// codec with nczchunk_codec_free, unless a store has taken it over.
///
/// Errors: NCZCHUNK_EINVAL (codec is NULL; parameters is NULL although their number is not 0; parameters that the
/// filter does not take), NCZCHUNK_ENOFILTER (an unknown filter; this build does not include it), NCZCHUNK_ENOMEM.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_codec_filter(
    filter: c_uint,
    num_parameters: usize,
    parameters: *const c_uint,
    codec: *mut *mut nczchunk_codec,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || hand_over(codec, || {
        let parameters = required(parameters, num_parameters, "parameters is NULL")?;
        Ok(nczchunk_codec(codec::of_filter(filter, parameters)?))
    })))
}

/// Returns 1 if the library was built with the codec of this name, such as "blosc", "zstd" or "sharding_indexed".
/// Returns 0 for any other name and for NULL. docs/formats.md lists all names.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_has_codec(name: *const c_char) -> c_int {
    let name = by_promise!(text(name, ""));
    name.is_ok_and(|name| name.to_str().is_ok_and(nczchunk::has_codec)).into()
}

/// The input and output of a codec of yours for one encoding or decoding. The library sets all fields except nbytes.
/// They are valid until the callback returns.
#[repr(C)]
pub struct nczchunk_coding {
    /// sizeof(nczchunk_coding) as the library knows it. There are no fields beyond it.
    pub struct_size: usize,
    /// The bytes to encode or decode, which are only read. They need not be aligned.
    pub source: *const c_void,
    /// The number of bytes in source.
    pub source_size: usize,
    /// The memory for the result. It need not be aligned, and does not overlap the source.
    pub destination: *mut c_void,
    /// The size of destination in bytes: for decoding, the expected length; for encoding, the result of encoded_bound.
    pub capacity: usize,
    /// For decoding: the first byte of the result that is needed. The codec must also write the bytes before it.
    pub needed_offset: usize,
    /// For decoding: the number of bytes of the result that are needed from there on. The codec may leave out the bytes
    /// after them.
    pub needed_size: usize,
    /// Set by the callback: the number of bytes of the result that it has written, from the first on. 0 at first.
    pub nbytes: usize,
}
assert_can_grow!(nczchunk_coding, nbytes: usize);

/// The callbacks of a codec of your own.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct nczchunk_codec_callbacks {
    /// sizeof(nczchunk_codec_callbacks).
    pub struct_size: usize,
    /// Passed to every callback.
    pub user: *mut c_void,
    /// Decodes. Never writes more than capacity bytes. If the result is longer, it sets nbytes to any number above
    /// capacity and returns 0, or returns a status of its own. Returns 0, or a status that ends the call.
    pub decode: Option<unsafe extern "C" fn(user: *mut c_void, coding: *mut nczchunk_coding) -> c_int>,
    /// Encodes; may be NULL: then stores with this codec are read-only. Returns 0, or a status that ends the call.
    pub encode: Option<unsafe extern "C" fn(user: *mut c_void, coding: *mut nczchunk_coding) -> c_int>,
    /// Returns the most bytes that decoded_size bytes take if they are encoded in one go. It is called for reading,
    /// too, to find the memory that an encoded chunk may need. NULL stands for decoded_size.
    pub encoded_bound: Option<unsafe extern "C" fn(user: *mut c_void, decoded_size: usize) -> usize>,
    /// Called once when the codec is freed; may be NULL.
    pub destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    /// 1 if the callbacks may run in several threads at the same time; 0 restricts a call with this codec to its own
    /// thread.
    pub concurrent: usize,
}
growing!(nczchunk_codec_callbacks, concurrent: usize);

/// Makes a codec of your own. name is for messages; up to 63 bytes of it are copied, and the callbacks are copied. Free
/// the codec with nczchunk_codec_free, unless a store has taken it over.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument; decode is NULL; a struct_size of 0; a newer structure with fields in use
/// that this library does not know), NCZCHUNK_ENOMEM. After an error destroy is not called.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_codec_new(
    name: *const c_char,
    callbacks: *const nczchunk_codec_callbacks,
    codec: *mut *mut nczchunk_codec,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let (name, callbacks) = (text(name, "name is NULL")?, read_growing(callbacks)?);
        let decode = callbacks.decode.ok_or(ErrorKind::Argument("the decode callback is NULL"))?;
        let out = handle_mut(codec, "codec is NULL")?;
        // From here on destroy would be called, so that nothing may fail any more.
        let (slot, outer) = (Slot::new()?, Slot::new()?);
        let callbacks = Callbacks::new(callbacks, callbacks.user, callbacks.destroy);
        let custom = Custom { name: Name::new(name), callbacks, decode };
        *out = Box::into_raw(outer.fill(nczchunk_codec(slot.fill(custom))));
        Ok(())
    }))
}

/// Frees a codec that no store has taken over, and calls destroy. NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_codec_free(codec: *mut nczchunk_codec) {
    by_promise!(take_back(codec))
}

/// Adds a codec to the end of a store's chain, which is in the order of encoding. The codec encodes the output of the
/// codecs before it, and is the first to decode the chunks from the callbacks. The store takes the codec over and frees
/// it; if the call fails, the codec remains the caller's. Only a store that reads chunks into a buffer can be written
/// to with codecs.
///
/// Errors: NCZCHUNK_EINVAL (a NULL argument), NCZCHUNK_ENOMEM. After an error the store is as it was.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nczchunk_chunk_store_add_codec(
    store: *mut nczchunk_chunk_store,
    codec: *mut nczchunk_codec,
    context: *mut nczchunk_context,
) -> c_int {
    by_promise!(report(context, || {
        let store = handle_mut(store, "store is NULL")?;
        if codec.is_null() {
            return Err(ErrorKind::Argument("codec is NULL").into());
        }
        store.0.reserve_codec()?;
        // SAFETY: the codec is not NULL, was made by one of the functions above, and is the caller's to hand over.
        let codec = unsafe { Box::from_raw(codec) };
        store.0.push_codec(codec.0);
        Ok(())
    }))
}

/// A name of at most 63 bytes.
struct Name {
    bytes: [u8; 63],
    len: usize,
}

impl Name {
    fn new(name: &CStr) -> Self {
        let name = name.to_bytes();
        let mut bytes = [0; 63];
        let len = name.len().min(bytes.len());
        bytes[..len].copy_from_slice(&name[..len]);
        Name { bytes, len }
    }

    fn as_str(&self) -> &str {
        let bytes = &self.bytes[..self.len];
        match std::str::from_utf8(bytes) {
            Ok(name) => name,
            // A character that was cut, or a name that is not UTF-8: as much of it as is.
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
        }
    }
}

struct Custom {
    name: Name,
    callbacks: Callbacks<nczchunk_codec_callbacks>,
    decode: unsafe extern "C" fn(*mut c_void, *mut nczchunk_coding) -> c_int,
}

impl Custom {
    /// Calls a callback with these bytes and this empty buffer.
    fn call(
        &self,
        callback: unsafe extern "C" fn(*mut c_void, *mut nczchunk_coding) -> c_int,
        bytes: &[u8],
        needed: Range<usize>,
        buffer: &mut Buffer<'_>,
    ) -> Result<()> {
        let capacity = buffer.capacity();
        let mut coding = nczchunk_coding {
            struct_size: size_of::<nczchunk_coding>(),
            source: bytes.as_ptr().cast(),
            source_size: bytes.len(),
            destination: buffer.as_mut_ptr().cast(),
            capacity,
            needed_offset: needed.start,
            needed_size: needed.len(),
            nbytes: 0,
        };
        // SAFETY: the callback gets what is documented; the buffer has room for `capacity` bytes.
        match unsafe { callback(self.callbacks.user, &raw mut coding) } {
            NOERR if coding.nbytes > capacity => {
                let kind = ErrorKind::DecodedLength { found: Some(coding.nbytes), expected: capacity };
                Err(Error::from(kind).in_object(self.name()))
            }
            NOERR => {
                // SAFETY: the callback has written so many bytes, as documented, and they are not more than there is
                // room for.
                unsafe { buffer.set_filled(coding.nbytes) };
                Ok(())
            }
            status => Err(Error::from(ErrorKind::Callback(status)).in_object(self.name())),
        }
    }
}

impl Codec for Custom {
    fn name(&self) -> &str {
        self.name.as_str()
    }

    fn encoded_bound(&self, decoded_size: usize) -> usize {
        // SAFETY: the callback gets what is documented: its own pointer, and a size.
        self.callbacks.encoded_bound.map_or(decoded_size, |bound| unsafe { bound(self.callbacks.user, decoded_size) })
    }

    fn decode(&self, encoded: &[u8], needed: Range<usize>, decoded: &mut Buffer<'_>) -> Result<()> {
        self.call(self.decode, encoded, needed, decoded)
    }

    fn encode(&self, decoded: &[u8], encoded: &mut Buffer<'_>) -> Result<()> {
        let encode = self.callbacks.encode.ok_or(ErrorKind::ReadOnly)?;
        let capacity = encoded.capacity();
        self.call(encode, decoded, 0..capacity, encoded)
    }

    fn can_encode(&self) -> bool {
        self.callbacks.encode.is_some()
    }

    fn is_concurrent(&self) -> bool {
        self.callbacks.concurrent != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_as_much_as_there_is_room_for() {
        let long = format!("{}\u{e4}b", "a".repeat(62));
        for (name, kept) in [
            (c"delta".to_owned(), "delta"),
            (std::ffi::CString::new(long).unwrap(), &"a".repeat(62)),
            (std::ffi::CString::new("b".repeat(64)).unwrap(), &"b".repeat(63)),
            (c"latin \xe4".to_owned(), "latin "),
        ] {
            assert_eq!(Name::new(&name).as_str(), kept);
        }
    }
}
