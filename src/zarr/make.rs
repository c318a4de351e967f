//! From a codec's settings to the codec.

use super::codecs::CodecSpec;
use crate::codec::{Codec, CodecUse, Makers};
use crate::element::ElementType;
use crate::error::Result;
use crate::json;
use crate::object::Name;

/// The codec with these settings, in an array of elements of this type; one that is not the library's is among the
/// caller's.
pub(super) fn make(spec: &CodecSpec, element: ElementType, own: &Makers) -> Result<Box<dyn Codec>> {
    let codec = match spec {
        CodecSpec::Known(known) => {
            return (known.settings.definition().make)(&known.settings, known.decoded, known.encoded);
        }
        CodecSpec::Own(codec) => codec,
    };
    let make = own.find(&codec.name).ok_or_else(|| codec.unknown())?;
    let configuration = json::compact(&codec.configuration)?;
    let type_name = Name::of(format_args!("{element}"))?;
    let element_size = element.size();
    let of = CodecUse { name: &codec.name, configuration: &configuration, type_name: &type_name, element_size };
    make(&of).map_err(|error| error.in_object(&codec.name))
}
