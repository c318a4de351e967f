//! Dimensions: those of an array, and those that a group defines.

/// A dimension that a group defines.
#[derive(Debug, PartialEq, Eq)]
pub struct GroupDimension {
    /// Its name.
    pub name: String,
    /// Its length in elements.
    pub len: usize,
    /// Whether it is unlimited.
    pub is_unlimited: bool,
}

/// The dimensions of an array, slowest first. Of dimensions that are not in a list nothing is known.
#[derive(Debug, Default)]
pub(crate) struct Dimensions {
    pub(crate) names: Vec<Option<String>>,
    /// Which are unlimited.
    pub(crate) unlimited: Vec<bool>,
    /// The paths of the groups that define them, where that is known. Elsewhere it is the innermost group around the
    /// array that defines a dimension of the name.
    pub(crate) groups: Vec<Option<String>>,
}

impl Dimensions {
    /// The name of a dimension, if it has one.
    pub(crate) fn name(&self, d: usize) -> Option<&str> {
        self.names.get(d)?.as_deref()
    }

    /// The path of the group that defines a dimension, if it is known.
    pub(crate) fn group(&self, d: usize) -> Option<&str> {
        self.groups.get(d)?.as_deref()
    }

    /// Whether a dimension is said to be unlimited.
    pub(crate) fn is_unlimited(&self, d: usize) -> bool {
        self.unlimited.get(d).is_some_and(|unlimited| *unlimited)
    }
}
