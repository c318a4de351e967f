//! An array that can be read: what every format comes to.

use super::attribute::Attributes;
use super::dimension::Dimensions;
use crate::element::ElementType;
use crate::store::ChunkStore;
use crate::variable::Variable;

/// An array: how it is read, and what is said of it.
pub(crate) struct Opened {
    pub(crate) variable: Variable,
    pub(crate) store: ChunkStore<'static>,
    pub(crate) element: ElementType,
    pub(crate) dimensions: Dimensions,
    pub(crate) attributes: Attributes,
    /// Whether its chunks are in another storage than the one in which it was opened: a link leads there.
    pub(crate) is_elsewhere: bool,
}
