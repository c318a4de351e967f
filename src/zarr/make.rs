//! From a codec's settings to the codec.
//!
//! A codec that the library was built without is refused with its name.

#[cfg(feature = "blosc")]
use super::codecs::BloscShuffle;
use super::codecs::CodecSpec;
use crate::codec::{Codec, CodecUse, Makers, not_built_in};
use crate::element::ElementType;
use crate::error::Result;
use crate::json;
use crate::object::Name;

/// The codec with these settings, for elements of this type; one that is not the library's is among the caller's.
pub(super) fn make(spec: &CodecSpec, element: ElementType, own: &Makers) -> Result<Box<dyn Codec>> {
    if let CodecSpec::Own(codec) = spec {
        let make = own.find(&codec.name).ok_or_else(|| codec.unknown())?;
        let configuration = json::compact(&codec.configuration)?;
        let type_name = Name::of(format_args!("{element}"))?;
        let element_size = element.size();
        let of = CodecUse { name: &codec.name, configuration: &configuration, type_name: &type_name, element_size };
        return make(&of).map_err(|error| error.in_object(&codec.name));
    }
    match *spec {
        #[cfg(feature = "zstd")]
        CodecSpec::Zstd { level, checksum } => boxed(crate::codec::Zstd::new(level, checksum)),
        #[cfg(feature = "blosc")]
        CodecSpec::Blosc { compressor, level, shuffle, typesize, blocksize } => {
            let shuffle = match shuffle {
                BloscShuffle::None => crate::codec::BloscShuffle::None,
                BloscShuffle::Byte => crate::codec::BloscShuffle::Byte,
                BloscShuffle::Bit => crate::codec::BloscShuffle::Bit,
            };
            let level = level.clamp(0, 9) as u8;
            boxed(crate::codec::Blosc::new(compressor.name(), level, shuffle, typesize, blocksize))
        }
        #[cfg(feature = "gzip")]
        CodecSpec::Gzip { level } => boxed(crate::codec::Gzip::new(level.clamp(0, 9) as u32)),
        #[cfg(feature = "zlib")]
        CodecSpec::Zlib { level } => boxed(crate::codec::Zlib::new(if level < 0 { 6 } else { level.min(9) as u32 })),
        #[cfg(feature = "lz4")]
        CodecSpec::Lz4 { .. } => boxed(crate::codec::Lz4),
        #[cfg(feature = "shuffle")]
        CodecSpec::Shuffle { element_size } => boxed(crate::codec::Shuffle::new(element_size)),
        #[cfg(feature = "crc32c")]
        CodecSpec::Crc32c => boxed(crate::codec::Crc32c),
        #[cfg(feature = "fletcher32")]
        CodecSpec::Fletcher32 => boxed(crate::codec::Fletcher32),
        #[allow(unreachable_patterns)]
        ref other => Err(not_built_in(other.id())),
    }
}

#[cfg(nczchunk_codecs)]
fn boxed(codec: impl Codec + 'static) -> Result<Box<dyn Codec>> {
    Ok(crate::alloc::try_box(codec)?)
}

#[cfg(all(test, feature = "zlib"))]
mod tests {
    use super::*;
    use crate::codec::tests::encoded;

    #[test]
    fn levels_of_zlib_are_its_own() {
        let bytes: Vec<u8> = (0..20_000u32).map(|i| (i * i / 77 % 37) as u8).collect();
        let len = |level| {
            let codec = make(&CodecSpec::Zlib { level }, ElementType::Byte, &Makers::default()).unwrap();
            encoded(&*codec, &bytes).len()
        };
        assert!(len(0) > bytes.len() && len(1) < bytes.len() && len(1) > len(6));
        // What is below 0 stands for the default.
        assert_eq!((len(-1), len(100)), (len(6), len(9)));
    }
}
