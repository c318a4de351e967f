//! The axes of a map: what stands beside rows and below columns.

use nczchunk::object::Storage;
use nczchunk::{Access, Array};

use crate::attribute;
use crate::cf::Decoding;
use crate::pieces::{self, Values};
use crate::screen::printable;
use crate::slab::{self, Selection};

/// An axis.
#[derive(Debug)]
pub(super) struct Axis {
    /// The dimension's name, and the units of its coordinates.
    pub title: String,
    /// What the elements along it are called.
    labels: Vec<String>,
}

impl Axis {
    /// The axis of a dimension: labelled with the values of the array that is called like the dimension and in the same
    /// group, which by CF are its coordinates, or else with indices.
    pub(super) fn new(storage: &Storage, array: &Array, selection: &Selection, d: usize) -> Self {
        Axis::of_coordinates(storage, array, selection, d).unwrap_or_else(|| {
            let labels = (0..selection.count[d]).map(|k| selection.index(d, k).to_string());
            Axis { title: printable(&slab::dimension_name(array, d)), labels: labels.collect() }
        })
    }

    /// The axis with coordinates; `None` if there are none that can be shown.
    fn of_coordinates(storage: &Storage, array: &Array, selection: &Selection, d: usize) -> Option<Self> {
        // An array that is all of a storage has no others beside it.
        let name = array.dimension_name(d).filter(|_| !array.name().is_empty())?;
        let group = array.name().rsplit_once('/').map_or(String::new(), |(group, _)| format!("{group}/"));
        let coordinates = Array::open_in(storage, &format!("{group}{name}"), Access::Read).ok()?;
        if slab::shape(&coordinates) != [slab::shape(array)[d]] {
            return None;
        }
        let decoding = Decoding::of(&coordinates);
        let along = Selection {
            start: vec![selection.start[d]],
            count: vec![selection.count[d]],
            stride: vec![selection.stride[d]],
            is_kept: vec![true],
        };
        let Ok(Values::Bytes { bytes, size }) = pieces::read(&coordinates, &along, 1) else { return None };
        let labels: Option<Vec<String>> = bytes.chunks_exact(size).map(|bytes| decoding.label(bytes)).collect();
        let units = attribute::text(coordinates.attributes(), "units").filter(|_| !decoding.is_of_times());
        let units = units.map(|units| format!(" ({units})")).unwrap_or_default();
        Some(Axis { title: printable(&format!("{name}{units}")), labels: labels? })
    }

    #[cfg(test)]
    pub(super) fn of_indices(name: &str, elements: std::ops::Range<usize>, step: usize) -> Self {
        Axis { title: name.to_owned(), labels: elements.map(|k| (k * step).to_string()).collect() }
    }

    /// The label of an element that is shown; nothing beyond the last one.
    pub(super) fn label(&self, k: usize) -> &str {
        self.labels.get(k).map_or("", String::as_str)
    }

    /// The most characters of a label.
    pub(super) fn width(&self) -> usize {
        self.labels.iter().map(|label| label.chars().count()).max().unwrap_or(0)
    }

    /// The axis of the elements in the opposite order.
    pub(super) fn flip(&mut self) {
        self.labels.reverse();
    }
}
