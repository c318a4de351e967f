//! What is said of dimensions beside their lengths.

/// The dimensions of an array, slowest first. Of dimensions that are not in a list nothing is known.
#[derive(Debug, Default)]
pub(crate) struct Dimensions {
    pub(crate) names: Vec<Option<String>>,
    /// Which are unlimited.
    pub(crate) unlimited: Vec<bool>,
}

impl Dimensions {
    /// The name of a dimension, if it has one.
    pub(crate) fn name(&self, d: usize) -> Option<&str> {
        self.names.get(d)?.as_deref()
    }

    /// Whether a dimension is said to be unlimited.
    pub(crate) fn is_unlimited(&self, d: usize) -> bool {
        self.unlimited.get(d).is_some_and(|unlimited| *unlimited)
    }
}
