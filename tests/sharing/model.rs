//! Layouts of an array, and a model of what is stored and of what a handle may find.

use std::collections::HashMap;
use std::rc::Rc;

use fastrand::Rng;
use nczchunk::{Description, ElementType};

/// Rows and columns.
pub type Pair = [usize; 2];

/// How an array is cut, and whether its chunks are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub chunk: Pair,
    /// A shard, in chunks.
    pub shard: Option<Pair>,
    pub is_compressed: bool,
}

pub const FILL: i32 = -7;

impl Layout {
    /// Raw and compressed chunks, as objects and in shards.
    pub fn all(chunk: Pair) -> Vec<Layout> {
        let of = |shard| [false, cfg!(feature = "codecs")].map(|is_compressed| Layout { chunk, shard, is_compressed });
        [of(None), of(Some([2, 2]))].concat()
    }

    /// What is written at once: a chunk or a shard.
    pub fn written(&self) -> Pair {
        let shard = self.shard.unwrap_or([1, 1]);
        [self.chunk[0] * shard[0], self.chunk[1] * shard[1]]
    }

    pub fn described<T>(&self, shape: Pair, with: impl FnOnce(Description<'_>) -> T) -> T {
        let (codecs, written): (&[(&str, &str)], _) =
            (if self.is_compressed { &[("zstd", "")] } else { &[] }, self.written());
        let (chunk, fill) = (self.chunk, FILL.to_ne_bytes());
        let plain = Description::new(&shape, ElementType::Int).with_chunk_shape(&chunk).with_codecs(codecs);
        let plain = plain.with_fill_value(&fill);
        with(if self.shard.is_some() { plain.with_shard_shape(&written) } else { plain })
    }
}

/// A hyperslab.
#[derive(Debug, Clone, Copy)]
pub struct Slab {
    pub start: Pair,
    pub count: Pair,
    pub stride: Pair,
}

impl Slab {
    /// All, a part, a column or a strided part of a shape without a length of 0.
    pub fn random(rng: &mut Rng, shape: Pair) -> Slab {
        let one = |rng: &mut Rng, len: usize, kind: u8| match kind {
            0 => (0, len, 1),
            1 => (rng.usize(..len), 1, 1),
            _ => {
                let start = rng.usize(..len);
                let stride = if kind == 2 { 1 } else { rng.usize(1..=len) };
                (start, rng.usize(1..=(len - start).div_ceil(stride)), stride)
            }
        };
        let kinds = [rng.u8(0..4), rng.u8(0..4)];
        let [row, column] = [0, 1].map(|d| one(rng, shape[d], kinds[d]));
        Slab { start: [row.0, column.0], count: [row.1, column.1], stride: [row.2, column.2] }
    }

    pub fn strides(&self) -> [isize; 2] {
        self.stride.map(|stride| stride as isize)
    }

    /// Where the elements are, row-major.
    pub fn elements(&self) -> impl Iterator<Item = Pair> {
        let Slab { start, count, stride } = *self;
        let along = move |d: usize| (0..count[d]).map(move |i| start[d] + i * stride[d]);
        along(0).flat_map(move |row| along(1).map(move |column| [row, column]))
    }
}

/// What has been stored of a chunk since the beginning, and since when.
type History = Vec<(u64, Rc<Vec<i32>>)>;

/// What is stored: each write of a chunk, with its time.
pub struct Model {
    pub layout: Layout,
    pub shape: Pair,
    pub attributes: HashMap<String, i32>,
    chunks: HashMap<Pair, History>,
    pub now: u64,
}

/// What one handle knows.
pub struct View {
    pub shape: Pair,
    pub attributes: HashMap<String, i32>,
    pub has_cache: bool,
    /// When it was opened or refreshed.
    since: u64,
    /// When it wrote to a chunk itself.
    written: HashMap<Pair, u64>,
}

fn chunk_of(element: Pair, lens: Pair) -> Pair {
    [element[0] / lens[0], element[1] / lens[1]]
}

impl Model {
    pub fn new(layout: Layout, shape: Pair) -> Self {
        Model { layout, shape, attributes: HashMap::new(), chunks: HashMap::new(), now: 0 }
    }

    /// What a handle knows that is opened or refreshed now.
    pub fn view(&self, has_cache: bool) -> View {
        let attributes = self.attributes.clone();
        View { shape: self.shape, attributes, has_cache, since: self.now, written: HashMap::new() }
    }

    fn blank(&self) -> Vec<i32> {
        vec![FILL; self.layout.chunk[0] * self.layout.chunk[1]]
    }

    fn within(&self, element: Pair) -> usize {
        let chunk = self.layout.chunk;
        element[0] % chunk[0] * chunk[1] + element[1] % chunk[1]
    }

    /// Changes chunks by the values of elements; those of chunks that are `erased` are fill values at first.
    fn change(&mut self, erased: &[Pair], elements: impl Iterator<Item = (Pair, i32)>) {
        self.now += 1;
        let mut changed: HashMap<Pair, Vec<i32>> = HashMap::new();
        for chunk in erased {
            changed.insert(*chunk, self.blank());
        }
        for (element, value) in elements {
            let chunk = chunk_of(element, self.layout.chunk);
            let within = self.within(element);
            changed.entry(chunk).or_insert_with(|| self.stored(chunk).to_vec())[within] = value;
        }
        for (chunk, contents) in changed {
            let blank = (0, Rc::new(self.blank()));
            self.chunks.entry(chunk).or_insert_with(|| vec![blank]).push((self.now, Rc::new(contents)));
        }
    }

    /// What is stored of a chunk now.
    fn stored(&self, chunk: Pair) -> Rc<Vec<i32>> {
        let last = self.chunks.get(&chunk).and_then(|history| history.last());
        last.map_or_else(|| Rc::new(self.blank()), |(_, contents)| contents.clone())
    }

    /// The chunks of what is written at once.
    fn chunks_of_written(&self, written: Pair) -> Vec<Pair> {
        let [rows, columns] = self.layout.shard.unwrap_or([1, 1]);
        let chunk = |i: usize| [written[0] * rows + i / columns, written[1] * columns + i % columns];
        (0..rows * columns).map(chunk).collect()
    }

    /// A handle writes. What it knows all of is not read before, so that what lies behind the end of the shape that it
    /// knows becomes fill values.
    pub fn write(&mut self, view: &mut View, slab: &Slab, values: &[i32]) {
        let lens = self.layout.written();
        let mut selected: HashMap<Pair, usize> = HashMap::new();
        slab.elements().for_each(|element| *selected.entry(chunk_of(element, lens)).or_default() += 1);
        let inside =
            |written: Pair| -> usize { (0..2).map(|d| lens[d].min(view.shape[d] - written[d] * lens[d])).product() };
        let covered = selected.iter().filter(|(written, num)| inside(**written) == **num);
        let erased: Vec<Pair> = covered.flat_map(|(written, _)| self.chunks_of_written(*written)).collect();
        self.change(&erased, slab.elements().zip(values.iter().copied()));
        for chunk in selected.keys().flat_map(|written| self.chunks_of_written(*written)) {
            view.written.insert(chunk, self.now);
        }
    }

    /// The array gets another shape: what lies outside of it becomes fill values, in the dimensions that get shorter.
    /// What handles with another shape have written beyond the old shape and the new one stays.
    pub fn resize(&mut self, shape: Pair) {
        let (lens, old) = (self.layout.written(), self.shape);
        if (0..2).any(|d| shape[d] < old[d]) {
            let mut cut = Vec::new();
            for chunk in self.chunks.keys() {
                let shard = self.layout.shard.unwrap_or([1, 1]);
                let written = chunk_of(*chunk, shard);
                let is_outside = (0..2).any(|d| written[d] >= shape[d].div_ceil(lens[d]));
                let [rows, columns] = self.layout.chunk;
                let elements = (0..rows).flat_map(|row| (0..columns).map(move |column| [row, column]));
                let elements = elements.map(|[row, column]| [chunk[0] * rows + row, chunk[1] * columns + column]);
                let is_known = (0..2).all(|d| written[d] < old[d].max(shape[d]).div_ceil(lens[d]));
                let is_cut = |element: &Pair| {
                    let is_behind =
                        |d: usize| shape[d] < old[d] && written[d] == shape[d] / lens[d] && element[d] >= shape[d];
                    is_known && (is_outside || (0..2).any(is_behind))
                };
                cut.extend(elements.filter(is_cut));
            }
            self.change(&[], cut.into_iter().map(|element| (element, FILL)));
        }
        self.shape = shape;
    }

    /// The array is replaced by an empty one.
    pub fn overwrite(&mut self, layout: Layout, shape: Pair) {
        if layout == self.layout {
            let all: Vec<Pair> = self.chunks.keys().copied().collect();
            self.change(&all, std::iter::empty());
        } else {
            self.chunks.clear();
        }
        (self.layout, self.shape) = (layout, shape);
        self.attributes.clear();
    }

    /// What is wrong with what a handle has read: without a cache it is what is stored; with one, all of a chunk was
    /// stored at one time since the handle was opened or refreshed, or wrote to the chunk.
    pub fn check(&self, view: &View, slab: &Slab, values: &[i32]) -> Result<(), String> {
        let mut found: HashMap<Pair, Vec<(usize, i32)>> = HashMap::new();
        for (element, value) in slab.elements().zip(values) {
            found.entry(chunk_of(element, self.layout.chunk)).or_default().push((self.within(element), *value));
        }
        for (chunk, found) in found {
            let is_it = |contents: &[i32]| found.iter().all(|(within, value)| contents[*within] == *value);
            if is_it(&self.stored(chunk)) {
                continue;
            }
            let since = view.written.get(&chunk).copied().unwrap_or(0).max(view.since);
            let history = self.chunks.get(&chunk).map_or(&[][..], |history| history);
            let first = history.iter().rposition(|(time, _)| *time <= since).unwrap_or(0);
            let allowed = if view.has_cache { &history[first.min(history.len())..] } else { &[] };
            if !allowed.iter().any(|(_, contents)| is_it(contents)) {
                let before = history[..first.min(history.len())].iter().rev().find(|(_, contents)| is_it(contents));
                return Err(format!(
                    "chunk {chunk:?}: {found:?}\nis stored as {:?}; it was that at {:?} of {since}..{}",
                    self.stored(chunk),
                    before.map(|(time, _)| time),
                    self.now
                ));
            }
        }
        Ok(())
    }
}
