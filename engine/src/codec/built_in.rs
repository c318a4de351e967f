//! Codecs that are made without their names: by formats that name none, and by functions of the C interface.

use super::Codec;
use crate::error::Result;

/// A function that makes a codec where the library was built with this feature, and fails where it was not.
macro_rules! made {
    ($feature:literal, $(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) $codec:block) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// `Codec` if the library was built without it; `Memory`.
        pub fn $name($($argument: $type),*) -> Result<Box<dyn Codec>> {
            #[cfg(feature = $feature)]
            return Ok(crate::alloc::try_box($codec)?);
            #[cfg(not(feature = $feature))]
            {
                let _ = ($($argument,)*);
                Err(super::not_built_in($feature))
            }
        }
    };
}

made! { "lz4",
    /// Frames of lz4.
    fn lz4_frame() { super::Lz4Frame }
}

made! { "shuffle",
    /// The byte shuffle of elements of this size.
    fn shuffle(size: usize) { super::public::Shuffle::new(size) }
}

made! { "zstd",
    /// zstd at this level, with a checksum in each frame or without one.
    fn zstd(level: i32, has_checksum: bool) { super::public::Zstd::new(level, has_checksum) }
}

/// The CRC-32C of these bytes.
///
/// # Errors
/// `Codec` if the library was built without it.
pub fn crc32c(bytes: &[u8]) -> Result<u32> {
    #[cfg(feature = "crc32c")]
    return Ok(::crc32c::crc32c(bytes));
    #[cfg(not(feature = "crc32c"))]
    {
        let _ = bytes;
        Err(super::not_built_in("crc32c"))
    }
}
