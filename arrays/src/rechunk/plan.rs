//! Which boxes an array is written in, so that least is read, and whether it is better to write everything twice.
//!
//! A box consists of whole chunks of the new array along each dimension. It is read from all chunks of the source that
//! it touches, and written. A source chunk on the border of two boxes is read twice. How often chunks are read along a
//! dimension follows from how many chunks of the new array a box has there:
//!
//! ```text
//!     reads(k) = sum over the boxes along the dimension of the source chunks that the box touches
//!     chunks read = product of reads(k) over the dimensions
//! ```
//!
//! So the dimensions are independent but for the memory of a box. Of the numbers k along a dimension those are kept
//! that no other beats by length, reads and number of boxes at once; the best combination that fits is found by branch
//! and bound, and is the best there is.
//!
//! With two passes, a box of the first has whole chunks of the source, and a box of the second whole chunks of the new
//! array. The temporary array between them is cut wherever boxes of either end, so each of its chunks is written once
//! and read once, and so is each chunk of the source: no two passes move fewer bytes. What is left to choose is how few
//! chunks the temporary array has: the boxes of one pass are chosen for those of the other, in turn, until nothing gets
//! better.

/// What a request for a chunk costs, and a box, in bytes that could be moved meanwhile.
const REQUEST: f64 = (32 << 10) as f64;
const BOX: f64 = (128 << 10) as f64;

/// How many lengths of boxes from 1 up, and how many numbers of boxes from 1 up, are looked at along a dimension.
const TRIED: usize = 512;

/// How many lengths of boxes are kept along a dimension.
const KEPT: usize = 96;

/// How many combinations a search looks at before it takes the best that it has found: of up to six dimensions none
/// looks at a fifth as many.
const MOST_LOOKED_AT: usize = 1 << 20;

/// Whether boxes of these lengths fit the memory.
pub(super) type Fits<'f> = &'f dyn Fn(&[usize]) -> bool;

/// One dimension: where chunks begin, and where the last one ends, in elements of the new array. Chunks of the source
/// that no element is selected of are left out.
#[derive(Debug, Clone)]
pub(super) struct Axis {
    pub source: Vec<usize>,
    pub target: Vec<usize>,
}

/// Boxes along a dimension: each of so many chunks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Choice {
    pub chunks: usize,
    /// The elements of the longest box.
    pub len: usize,
    /// How many source chunks all boxes touch, together.
    pub reads: usize,
    pub boxes: usize,
}

/// The boxes of a pass along each dimension, and what they cost.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Boxes {
    pub choices: Vec<Choice>,
    pub cost: f64,
}

/// How often a chunk begins or ends: every so many of the chunks.
pub(super) fn cuts(bounds: &[usize], chunks: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = bounds.iter().copied().step_by(chunks.max(1)).collect();
    match bounds.last() {
        Some(&end) if cuts.last() != Some(&end) => cuts.push(end),
        _ => {}
    }
    cuts
}

/// The cuts of both.
pub(super) fn union(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = Vec::with_capacity(one.len() + other.len());
    each_of_both(one, other, |cut| all.push(cut));
    all
}

/// Calls a function with each cut of either, in their order and each once. Both lists ascend.
fn each_of_both(one: &[usize], other: &[usize], mut each: impl FnMut(usize)) {
    let (mut i, mut j) = (0, 0);
    loop {
        let cut = match (one.get(i), other.get(j)) {
            (Some(one), Some(other)) => *one.min(other),
            (Some(cut), None) | (None, Some(cut)) => *cut,
            (None, None) => return,
        };
        i += usize::from(one.get(i) == Some(&cut));
        j += usize::from(other.get(j) == Some(&cut));
        each(cut);
    }
}

/// How many parts there are between the cuts of both.
fn parts_of_both(one: &[usize], other: &[usize]) -> usize {
    let mut num: usize = 0;
    each_of_both(one, other, |_| num += 1);
    num.saturating_sub(1)
}

/// How many parts there are between cuts.
fn parts(cuts: &[usize]) -> usize {
    cuts.len().saturating_sub(1)
}

/// How many chunks with these bounds boxes with these cuts touch, each counted as often as it is.
pub(super) fn touched(cuts: &[usize], bounds: &[usize]) -> usize {
    let of_box = |pair: &[usize]| {
        let first = bounds.partition_point(|&bound| bound <= pair[0]) - 1;
        bounds.partition_point(|&bound| bound < pair[1]) - first
    };
    cuts.windows(2).map(of_box).sum()
}

/// The boxes of so many chunks along a dimension with these bounds, and how many chunks with the others' they touch.
fn choice(bounds: &[usize], others: &[usize], chunks: usize) -> Choice {
    let cuts = cuts(bounds, chunks);
    let len = cuts.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    Choice { chunks, len, reads: touched(&cuts, others), boxes: parts(&cuts) }
}

/// The choices along a dimension that no other beats, shortest first.
pub(super) fn choices(bounds: &[usize], others: &[usize]) -> Vec<Choice> {
    let num = parts(bounds);
    if num == 0 {
        return vec![Choice { chunks: 1, len: 0, reads: 0, boxes: 0 }];
    }
    let mut tried: Vec<usize> = (1..=num.min(TRIED)).chain((1..=num.min(TRIED)).map(|n| num.div_ceil(n))).collect();
    tried.sort_unstable();
    tried.dedup();
    let mut all: Vec<Choice> = tried.into_iter().map(|chunks| choice(bounds, others, chunks)).collect();
    all.sort_by_key(|choice| (choice.len, choice.reads, choice.boxes));
    let mut kept: Vec<Choice> = Vec::new();
    for choice in all {
        if !kept.iter().any(|other| other.reads <= choice.reads && other.boxes <= choice.boxes) {
            kept.push(choice);
        }
    }
    // The shortest and the longest always stay.
    while kept.len() > KEPT {
        let mut number = 0;
        let last = kept.len() - 1;
        kept.retain(|_| {
            number += 1;
            number % 2 == 1 || number > last
        });
    }
    kept
}

/// A search for the combination of choices that costs least, among those that fit.
struct Search<'s> {
    dimensions: &'s [Vec<Choice>],
    /// What is counted of a choice, and what one of the product costs.
    count: &'s dyn Fn(usize, &Choice) -> usize,
    each: f64,
    fits: Fits<'s>,
    /// The least that is counted from a dimension on, and the fewest boxes.
    least: Vec<(f64, f64)>,
    num_looked_at: usize,
    best: Option<(f64, Vec<Choice>)>,
    picked: Vec<Choice>,
}

impl Search<'_> {
    /// Tries all choices from a dimension on, with what is counted and the boxes so far.
    fn go(&mut self, d: usize, counted: f64, boxes: f64) {
        let (least_counted, fewest_boxes) = self.least[d];
        let least = counted * least_counted * self.each + boxes * fewest_boxes * BOX;
        self.num_looked_at += 1;
        if self.best.as_ref().is_some_and(|(cost, _)| *cost <= least || self.num_looked_at > MOST_LOOKED_AT) {
            return;
        }
        let mut lens: Vec<usize> = self.picked.iter().map(|choice| choice.len).collect();
        // The shortest comes first.
        lens.extend(self.dimensions[d..].iter().filter_map(|choices| choices.first()).map(|choice| choice.len));
        if !(self.fits)(&lens) {
            return;
        }
        let Some(choices) = self.dimensions.get(d) else {
            self.best = Some((least, self.picked.clone()));
            return;
        };
        for choice in choices.iter().rev() {
            self.picked.push(*choice);
            self.go(d + 1, counted * (self.count)(d, choice) as f64, boxes * choice.boxes as f64);
            self.picked.pop();
        }
    }
}

fn search(
    dimensions: &[Vec<Choice>],
    count: &dyn Fn(usize, &Choice) -> usize,
    each: f64,
    fits: Fits<'_>,
) -> Option<Boxes> {
    let mut least = vec![(1.0, 1.0); dimensions.len() + 1];
    for (d, choices) in dimensions.iter().enumerate().rev() {
        let of = |of: &dyn Fn(&Choice) -> usize| choices.iter().map(of).min().unwrap_or(0) as f64;
        let (counted, boxes) = least[d + 1];
        least[d] = (of(&|choice| count(d, choice)) * counted, of(&|choice| choice.boxes) * boxes);
    }
    let mut search = Search { dimensions, count, each, fits, least, num_looked_at: 0, best: None, picked: Vec::new() };
    search.go(0, 1.0, 1.0);
    search.best.map(|(cost, choices)| Boxes { choices, cost })
}

/// The boxes of a single pass, if any fit: those for which least is read. A source chunk has so many bytes.
pub(super) fn one_pass(axes: &[Axis], chunk_bytes: usize, fits: Fits<'_>) -> Option<Boxes> {
    let dimensions: Vec<Vec<Choice>> = axes.iter().map(|axis| choices(&axis.target, &axis.source)).collect();
    search(&dimensions, &|_, choice| choice.reads, chunk_bytes as f64 + REQUEST, fits)
}

/// The boxes of two passes, of source chunks and of chunks of the new array, if any fit: those for which the temporary
/// array has fewest chunks. The array has so many bytes, and each source chunk.
pub(super) fn two_passes(
    axes: &[Axis],
    (bytes, chunk_bytes): (usize, usize),
    fits: [Fits<'_>; 2],
) -> Option<(Boxes, Boxes)> {
    let all = |bounds: fn(&Axis) -> &[usize]| -> Vec<Vec<Choice>> {
        axes.iter().map(|axis| choices(bounds(axis), bounds(axis))).collect()
    };
    let bounds: [fn(&Axis) -> &[usize]; 2] = [|axis| &axis.source, |axis| &axis.target];
    let dimensions = bounds.map(all);
    // The boxes of one pass for those of the other: each chunk of the temporary array is written and read.
    let against = |pass: usize, others: &[Choice]| -> Option<Boxes> {
        let (of, other) = (bounds[pass], bounds[1 - pass]);
        let cuts_of: Vec<Vec<usize>> =
            axes.iter().zip(others).map(|(axis, choice)| cuts(other(axis), choice.chunks)).collect();
        let mut dimensions = dimensions[pass].clone();
        for (d, choices) in dimensions.iter_mut().enumerate() {
            for choice in choices {
                choice.reads = parts_of_both(&cuts(of(&axes[d]), choice.chunks), &cuts_of[d]);
            }
        }
        search(&dimensions, &|_, choice| choice.reads, 2.0 * REQUEST, fits[pass])
    };
    let mut best: Option<(Boxes, Boxes)> = None;
    for first in [0, 1] {
        // At first as few boxes as possible.
        let mut now = search(&dimensions[first], &|_, choice| choice.boxes, BOX, fits[first])?;
        let mut other = against(1 - first, &now.choices)?;
        loop {
            let next = against(first, &other.choices)?;
            let next_other = against(1 - first, &next.choices)?;
            if next_other.cost >= other.cost {
                break;
            }
            (now, other) = (next, next_other);
        }
        let both = if first == 0 { (now, other) } else { (other, now) };
        let cost = two_pass_cost(axes, (bytes, chunk_bytes), &both);
        if best.as_ref().is_none_or(|best| best.1.cost > cost) {
            let (source, target) = both;
            best = Some((source, Boxes { cost, ..target }));
        }
    }
    best
}

/// What no two passes cost less than.
pub(super) fn least_of_two_passes(axes: &[Axis], (bytes, chunk_bytes): (usize, usize)) -> f64 {
    let sources: f64 = axes.iter().map(|axis| parts(&axis.source) as f64).product();
    sources * (chunk_bytes as f64 + REQUEST) + 2.0 * (bytes as f64 + REQUEST + BOX)
}

/// What two passes cost: all chunks of the source are read, and the array is written and read once more.
fn two_pass_cost(axes: &[Axis], (bytes, chunk_bytes): (usize, usize), (one, two): &(Boxes, Boxes)) -> f64 {
    let sources: f64 = axes.iter().map(|axis| parts(&axis.source) as f64).product();
    let boxes = |boxes: &Boxes| boxes.choices.iter().map(|choice| choice.boxes as f64).product::<f64>();
    let chunks = num_temporary(axes, &one.choices, &two.choices);
    sources * (chunk_bytes as f64 + REQUEST)
        + 2.0 * bytes as f64
        + 2.0 * chunks * REQUEST
        + (boxes(one) + boxes(two)) * BOX
}

/// How many chunks the temporary array has.
fn num_temporary(axes: &[Axis], one: &[Choice], two: &[Choice]) -> f64 {
    let cut = |(axis, (one, two)): (&Axis, (&Choice, &Choice))| {
        parts_of_both(&cuts(&axis.source, one.chunks), &cuts(&axis.target, two.chunks)) as f64
    };
    axes.iter().zip(one.iter().zip(two)).map(cut).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(len: usize, chunk: usize) -> Vec<usize> {
        cuts(&(0..=len).collect::<Vec<_>>(), chunk)
    }

    fn axes(shape: &[usize], source: &[usize], target: &[usize]) -> Vec<Axis> {
        let axis = |d: usize| Axis { source: bounds(shape[d], source[d]), target: bounds(shape[d], target[d]) };
        (0..shape.len()).map(axis).collect()
    }

    /// Fewest chunks that are read with boxes of so many elements, by looking at every box of every combination.
    fn brute_force(shape: &[usize], source: &[usize], target: &[usize], most: usize) -> Option<usize> {
        let rank = shape.len();
        let num: Vec<usize> = (0..rank).map(|d| shape[d].div_ceil(target[d])).collect();
        let mut best = None;
        let mut k = vec![1; rank];
        loop {
            let lens: Vec<usize> = (0..rank).map(|d| (k[d] * target[d]).min(shape[d])).collect();
            if lens.iter().product::<usize>() <= most {
                let mut reads = 0;
                let mut at = vec![0; rank];
                'boxes: loop {
                    let touched = |d: usize| (at[d] + lens[d]).min(shape[d]).div_ceil(source[d]) - at[d] / source[d];
                    reads += (0..rank).map(touched).product::<usize>();
                    for d in (0..rank).rev() {
                        at[d] += k[d] * target[d];
                        if at[d] < shape[d] {
                            continue 'boxes;
                        }
                        at[d] = 0;
                    }
                    break;
                }
                best = Some(best.map_or(reads, |best: usize| best.min(reads)));
            }
            let Some(d) = (0..rank).rev().find(|&d| k[d] < num[d]) else { return best };
            k[d] += 1;
            k[d + 1..].fill(1);
        }
    }

    fn planned(shape: &[usize], source: &[usize], target: &[usize], most: usize) -> Option<usize> {
        let fits = |lens: &[usize]| lens.iter().product::<usize>() <= most;
        // So large that reads alone count.
        let boxes = one_pass(&axes(shape, source, target), 1 << (usize::BITS - 14), &fits)?;
        assert!(fits(&boxes.choices.iter().map(|choice| choice.len).collect::<Vec<_>>()));
        Some(boxes.choices.iter().map(|choice| choice.reads).product())
    }

    #[test]
    fn no_boxes_read_less() {
        let mut random = 7u64;
        let mut next = |most: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % most + 1
        };
        for _ in 0..if cfg!(miri) { 5 } else { 400 } {
            let rank = next(3);
            let mut lens = |most| (0..rank).map(|_| next(most)).collect::<Vec<_>>();
            let (shape, source, target) = (lens(17), lens(7), lens(7));
            let elements = shape.iter().product::<usize>();
            for most in [1, elements / 7, elements / 2, elements] {
                let case = format!("{shape:?} {source:?} {target:?} {most}");
                let expected = brute_force(&shape, &source, &target, most);
                assert_eq!(planned(&shape, &source, &target, most), expected, "{case}");
            }
        }
    }

    /// The cases of rechunkit's documentation, in elements.
    #[test]
    fn known_cases_are_read_as_often_as_expected() {
        let (shape, source, target) = ([31, 31, 31], [5, 2, 4], [4, 5, 3]);
        for (most, reads) in [(2000 / 4, 1881), (4096 / 4, 1216), (10_000 / 4, 896)] {
            assert!(planned(&shape, &source, &target, most).unwrap() <= reads, "{most}");
        }
        let (shape, source, target) = ([365, 721, 1440], [1, 721, 1440], [365, 24, 24]);
        assert_eq!(planned(&shape, &source, &target, (256 << 20) / 4), Some(6 * 365));
        assert_eq!(planned(&shape, &source, &target, 10), None);
    }

    #[test]
    fn two_passes_read_each_chunk_once() {
        let axes = axes(&[365, 721, 1440], &[1, 721, 1440], &[365, 24, 24]);
        let fits = |lens: &[usize]| lens.iter().product::<usize>() * 4 <= 64 << 20;
        let (one, two) = two_passes(&axes, (365 * 721 * 1440 * 4, 721 * 1440 * 4), [&fits, &fits]).unwrap();
        let chunks = num_temporary(&axes, &one.choices, &two.choices);
        // Boxes of 16 maps, and of series of 1/24 of the map: there cannot be fewer than 23 x 24 chunks.
        assert!((23.0 * 23.0..23.0 * 40.0).contains(&chunks), "{chunks} {one:?} {two:?}");
        for (d, axis) in axes.iter().enumerate() {
            let cuts = union(&cuts(&axis.source, one.choices[d].chunks), &cuts(&axis.target, two.choices[d].chunks));
            assert!(cuts.windows(2).all(|pair| pair[0] < pair[1]) && cuts[0] == 0);
        }
        let single = one_pass(&axes, 721 * 1440 * 4, &fits).unwrap();
        assert!(two.cost < single.cost);
        assert!(two_passes(&axes, (1, 1), [&|_| false, &fits]).is_none());
    }

    #[test]
    fn cuts_of_both_are_those_of_either() {
        let (one, other) = ([0, 3, 6, 9, 10], [0, 2, 4, 6, 8, 10]);
        assert_eq!(union(&one, &other), [0, 2, 3, 4, 6, 8, 9, 10]);
        assert_eq!((parts_of_both(&one, &other), parts_of_both(&one, &one), parts_of_both(&[0], &[0])), (7, 4, 0));
        assert_eq!((union(&one, &[]), union(&[], &[])), (one.to_vec(), vec![]));
    }

    #[test]
    fn no_two_passes_cost_less_than_the_least() {
        for (shape, source, target) in
            [([60, 50], [1, 50], [60, 1]), ([60, 50], [7, 11], [5, 13]), ([9, 9], [9, 9], [9, 9])]
        {
            let axes = axes(&shape, &source, &target);
            let sizes = (shape[0] * shape[1] * 4, source[0] * source[1] * 4);
            for most in [60, 500, 3000] {
                let fits = |lens: &[usize]| lens.iter().product::<usize>() <= most;
                if let Some((_, two)) = two_passes(&axes, sizes, [&fits, &fits]) {
                    assert!(two.cost >= least_of_two_passes(&axes, sizes));
                }
            }
        }
    }

    #[test]
    fn chunks_of_any_lengths_are_cut_where_they_end() {
        let axis = Axis { source: vec![0, 3, 4, 9, 12], target: vec![0, 2, 9, 12] };
        assert_eq!(choices(&axis.target, &axis.source).first().unwrap(), &choice(&axis.target, &axis.source, 1));
        assert_eq!(choice(&axis.target, &axis.source, 1), Choice { chunks: 1, len: 7, reads: 1 + 3 + 1, boxes: 3 });
        assert_eq!(choice(&axis.target, &axis.source, 2), Choice { chunks: 2, len: 9, reads: 4, boxes: 2 });
        assert_eq!(choices(&[0], &[0]), [Choice { chunks: 1, len: 0, reads: 0, boxes: 0 }]);
        assert_eq!(cuts(&[0], 1), [0]);
    }

    /// The number of combinations has no bound, and the search has.
    #[test]
    #[cfg_attr(miri, ignore = "it takes too long")]
    fn many_dimensions_are_planned() {
        let axes = axes(&[8; 20], &[2; 20], &[3; 20]);
        let fits = |lens: &[usize]| lens.iter().fold(1, |all: usize, &len| all.saturating_mul(len)) <= 1 << 42;
        let boxes = one_pass(&axes, 4 << 20, &fits).unwrap();
        assert!(fits(&boxes.choices.iter().map(|choice| choice.len).collect::<Vec<_>>()));
    }

    #[test]
    fn many_chunks_are_planned() {
        let axes = axes(&[100_000, 300, 500], &[24, 300, 500], &[100_000, 1, 1]);
        let elements = |lens: &[usize]| lens.iter().fold(1, |all: usize, &len| all.saturating_mul(len));
        let fits = |lens: &[usize]| elements(lens) <= 100 << 20;
        assert!(one_pass(&axes, 24 * 300 * 500 * 4, &fits).is_some());
        assert!(
            two_passes(&axes, (100_000usize.saturating_mul(300 * 500 * 4), 24 * 300 * 500 * 4), [&fits, &fits])
                .is_some()
        );
    }
}
