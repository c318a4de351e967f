//! From a codec's settings to the codec.

use super::codecs::CodecSpec;
use super::n5::N5;
use crate::alloc;
use crate::codec::{Chain, Codec, CodecRegistry, CodecUse};
use crate::element::ElementType;
use crate::error::{ErrorKind, Result};
use crate::json;
use crate::object::Name;

/// The codec with these settings, in an array of elements of this type; one that is not the library's is among the
/// caller's.
pub(super) fn make(spec: &CodecSpec, element: ElementType, own: &CodecRegistry) -> Result<Box<dyn Codec>> {
    let codec = match spec {
        CodecSpec::Known(known) => {
            return (known.settings.definition().make)(&known.settings, known.decoded, known.encoded);
        }
        CodecSpec::N5(blocks) => {
            let mut chain = Chain::default();
            for codec in &blocks.codecs {
                chain.reserve()?;
                chain.push(make(codec, element, own)?);
            }
            let lens = alloc::copied(&blocks.lens)?;
            return Ok(alloc::try_box(N5 { chain, lens, element_size: blocks.element_size })?);
        }
        CodecSpec::Own(codec) => codec,
        // They need more of the array's metadata: `build.rs` makes them.
        CodecSpec::Shards(_) => return Err(ErrorKind::Internal.into()),
    };
    let make = own.find(&codec.name).ok_or_else(|| codec.unknown())?;
    let configuration = json::compact(&codec.configuration)?;
    let type_name = Name::of(format_args!("{element}"))?;
    let element_size = element.size();
    let of = CodecUse { name: &codec.name, configuration: &configuration, type_name: &type_name, element_size };
    make(&of).map_err(|error| error.in_object(&codec.name))
}
