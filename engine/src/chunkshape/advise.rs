//! The chunk shape that costs least for the ways in which an array is read.
//!
//! A pattern is a box of some shape that is read at any place of the array, all places being equally likely, with a
//! weight: how often it is read. With chunks of length c along a dimension of n elements, a read of a elements touches
//! on average
//!
//! ```text
//!     e = mean over the starts s = 0 ... n - a of floor((s + a - 1) / c) - floor(s / c) + 1
//! ```
//!
//! chunks; over all dimensions their product, each of which is one request. What is read then takes on its way and in
//! the processor
//!
//! ```text
//!     way  = requests * time of a request + stored bytes / bandwidth
//!     work = requests * time of a chunk + decoded bytes / decoding speed + read bytes / copying speed
//! ```
//!
//! which overlap where several requests are in flight. Each request that is done is followed by another, so that there
//! are `rounds`, requests / in flight rounded up, and the read takes the longer of
//!
//! ```text
//!     rounds * latency + share * the longer of way and work + rounds / requests * the shorter
//!     latency + the longer of way and work + the shorter / requests
//! ```
//!
//! In the first, what is in flight is not enough to hide the latency; share is that of the requests for which nothing
//! is waited, those of the last round and one of each before: `1 - (rounds - 1) * (in flight - 1) / requests`. With one
//! request in flight it is the sum of all. The cost of a chunk shape is the mean over the patterns, by their weights.
//!
//! A codec such as zstd decodes a chunk only up to the last element that is read, in steps. Along a dimension, the
//! touched chunks end in all after a + s mod c elements: all but the last have their c, and the first begins with s mod
//! c elements that are not read. With e chunks that is on average l = a + mean of (s mod c), and the elements up to the
//! last are
//!
//! ```text
//!     product of all e + sum over the dimensions of (l - e) * elements between neighbours * product of other e
//! ```
//!
//! and half of a step for each chunk, but no more than all of it.

use super::check;
use super::{NETCDF_TARGET_BYTES, RECHUNKIT_TARGET_BYTES, h5py, netcdf, rechunkit};
use crate::alloc;
use crate::error::{Error, ErrorKind, Result};

/// A way in which an array is read.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<'a> {
    /// How many elements are read along each dimension; at least 1, and more than the dimension has stand for all.
    pub shape: &'a [usize],
    /// How often it is read, compared with the others.
    pub weight: f64,
}

/// What reading costs, and which chunks are allowed.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Costs {
    /// How long a request takes until its first byte is there, in seconds.
    pub latency: f64,
    /// How many bytes a second arrive.
    pub bandwidth: f64,
    /// How long each request keeps the way busy, in seconds, whatever else is in flight: a server that answers so many
    /// a second takes the inverse.
    pub per_request: f64,
    /// How many decoded bytes a second the codecs give, by all threads together.
    pub decoding: f64,
    /// How many bytes a second are copied from decoded chunks to where they are wanted.
    pub copying: f64,
    /// How long a chunk takes besides, in seconds: to find it, and to begin to decode it.
    pub per_chunk: f64,
    /// How many requests are on their way at the same time.
    pub in_flight: usize,
    /// How many bytes are stored for a decoded byte.
    pub stored: f64,
    /// The fewest and the most bytes of a chunk, decoded. Arrays that are smaller have smaller chunks.
    pub chunk_bytes: (usize, usize),
    /// In steps of how many bytes a chunk is decoded, up to the last element that is read; 128 KiB by zstd. 0 if it is
    /// always decoded as a whole.
    pub step_bytes: usize,
}

impl Default for Costs {
    /// A local disk: 0.1 ms, 1 GB/s, 1 GB/s of decoding, 4 GB/s of copying, 10 us for a chunk, 1 request at a time,
    /// half of the bytes stored, chunks from 64 KiB to 64 MiB, decoded as a whole.
    fn default() -> Self {
        Costs {
            latency: 1e-4,
            bandwidth: 1e9,
            per_request: 0.0,
            decoding: 1e9,
            copying: 4e9,
            per_chunk: 1e-5,
            in_flight: 1,
            stored: 0.5,
            chunk_bytes: (64 << 10, 64 << 20),
            step_bytes: 0,
        }
    }
}

/// What a pattern costs with a chunk shape: on average over all places.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// Requests, which are the chunks that are touched.
    pub requests: f64,
    /// Decoded bytes of these chunks.
    pub bytes: f64,
    /// Seconds.
    pub seconds: f64,
}

/// How many candidates there are along a dimension.
const CANDIDATES: usize = 48;

/// How often all dimensions are looked at one after the other, where there are too many combinations.
const SWEEPS: usize = 4;

/// How many combinations of candidates are looked at.
const COMBINATIONS: f64 = 2e6;

/// The mean number of chunks of length `chunk` that a read of `count` elements touches along a dimension.
fn touched(len: usize, count: usize, chunk: usize) -> f64 {
    let (count, chunk) = (count.clamp(1, len.max(1)), chunk.max(1));
    // Whole chunks, and one more for as many of the starts within a chunk as leave too little of it.
    let sum = |starts: usize| -> f64 {
        // Of all starts below that: the chunk in which the last element is, less that in which the first is.
        let below = |starts: usize, shift: usize| -> f64 {
            // The sum of floor((s + shift) / chunk) over s below starts.
            let all = |n: usize| {
                let (whole, rest) = (n / chunk, n % chunk);
                whole as f64 * (whole as f64 - 1.0) / 2.0 * chunk as f64 + (whole * rest) as f64
            };
            all(starts + shift) - all(shift)
        };
        below(starts, count - 1) - below(starts, 0) + starts as f64
    };
    let starts = len.max(1) - count + 1;
    sum(starts) / starts as f64
}

/// How many elements the touched chunks have along a dimension up to the last that is read of each, in the mean.
fn reached(len: usize, count: usize, chunk: usize) -> f64 {
    let (count, chunk) = (count.clamp(1, len.max(1)), chunk.max(1));
    let starts = len.max(1) - count + 1;
    let (whole, rest) = ((starts / chunk) as f64, (starts % chunk) as f64);
    let within = whole * (chunk as f64 * (chunk as f64 - 1.0) / 2.0) + rest * (rest - 1.0) / 2.0;
    count as f64 + within / starts as f64
}

/// What each read of a pattern costs with chunks of these lengths.
///
/// # Errors
/// Those of [`advise`].
pub fn cost(
    dimlens: &[usize],
    typesize: usize,
    chunklens: &[usize],
    pattern: &Pattern<'_>,
    costs: &Costs,
) -> Result<Cost> {
    check(dimlens, typesize, chunklens)?;
    check_pattern(dimlens, pattern)?;
    Ok(of(dimlens, typesize, chunklens, pattern, costs))
}

fn of(dimlens: &[usize], typesize: usize, chunklens: &[usize], pattern: &Pattern<'_>, costs: &Costs) -> Cost {
    let (mut requests, mut bytes, mut read) = (1.0, typesize as f64, typesize as f64);
    for ((&len, &chunk), &count) in dimlens.iter().zip(chunklens).zip(pattern.shape) {
        let touched = touched(len, count, chunk);
        requests *= touched;
        bytes *= touched * chunk as f64;
        read *= count.min(len) as f64;
    }
    let decoded = match costs.step_bytes {
        0 => bytes,
        step => {
            let to_the_last = up_to_the_last(dimlens, chunklens, pattern) * typesize as f64;
            (to_the_last + requests * step as f64 / 2.0).min(bytes)
        }
    };
    let way = requests * costs.per_request + bytes * costs.stored / costs.bandwidth;
    let work = requests * costs.per_chunk + decoded / costs.decoding + read / costs.copying;
    let (longer, shorter, in_flight) = (way.max(work), way.min(work), costs.in_flight.max(1) as f64);
    // Between those of the whole numbers next to it, for the number of requests is a mean.
    let rounds_of = |requests: f64| (requests / in_flight).ceil();
    let rounds =
        rounds_of(requests.floor()) + requests.fract() * (rounds_of(requests.ceil()) - rounds_of(requests.floor()));
    let share = 1.0 - (rounds - 1.0) * (in_flight - 1.0) / requests;
    let waiting = rounds * costs.latency + share * longer + rounds / requests * shorter;
    let busy = costs.latency + longer + shorter / requests;
    Cost { requests, bytes, seconds: waiting.max(busy) }
}

/// How many elements of the touched chunks come no later than the last one that is read.
fn up_to_the_last(dimlens: &[usize], chunklens: &[usize], pattern: &Pattern<'_>) -> f64 {
    // From the fastest dimension on: the chunks that are touched, and the elements up to the last of each.
    let (mut chunks, mut elements, mut step) = (1.0, 1.0, 1.0);
    for ((&len, &chunk), &count) in dimlens.iter().zip(chunklens).zip(pattern.shape).rev() {
        let touched = touched(len, count, chunk);
        elements = elements * touched + (reached(len, count, chunk) - touched) * step * chunks;
        chunks *= touched;
        step *= chunk as f64;
    }
    elements
}

fn check_pattern(dimlens: &[usize], pattern: &Pattern<'_>) -> Result<()> {
    if pattern.shape.len() != dimlens.len() || pattern.shape.contains(&0) {
        return Err(ErrorKind::Argument("a pattern must have a length of at least 1 for each dimension").into());
    }
    if !(pattern.weight > 0.0 && pattern.weight.is_finite()) {
        return Err(ErrorKind::Argument("the weight of a pattern must be a positive number").into());
    }
    Ok(())
}

/// The mean cost of a read in seconds, by the weights of the patterns.
fn mean(dimlens: &[usize], typesize: usize, chunklens: &[usize], patterns: &[Pattern<'_>], costs: &Costs) -> f64 {
    // Compared with the largest, so that their sum is a number.
    let largest = patterns.iter().fold(0.0, |largest: f64, pattern| largest.max(pattern.weight));
    let weights: f64 = patterns.iter().map(|pattern| pattern.weight / largest).sum();
    let seconds =
        |pattern: &Pattern<'_>| of(dimlens, typesize, chunklens, pattern, costs).seconds * (pattern.weight / largest);
    patterns.iter().map(seconds).sum::<f64>() / weights
}

/// The chunk shape that costs least for these patterns, among those that cut each dimension into equal parts or into
/// powers of 2, and those that netCDF-C, h5py and rechunkit choose.
///
/// - `dimlens`: in elements, at least 1 each.
/// - `typesize`: the size of an element, in bytes.
/// - `chunklens`: as long as `dimlens`; receives the chunk lengths. Untouched after an error.
///
/// Returns the mean cost of a read in seconds.
///
/// # Errors
/// `Rank`; `Argument` for an element of 0 bytes, no pattern, a pattern that is none, or fewest bytes of a chunk that
/// are more than the most; `DimensionLength` for a length of 0; `OutOfMemory`.
///
/// ```
/// use nczchunk_engine::chunkshape::{Costs, Pattern, advise};
///
/// let (map, series) = ([1, 721, 1440], [365, 1, 1]);
/// let patterns = [Pattern { shape: &map, weight: 0.5 }, Pattern { shape: &series, weight: 0.5 }];
/// let mut chunklens = [0; 3];
/// advise(&[365, 721, 1440], 4, &patterns, &Costs::default(), &mut chunklens)?;
/// // Neither maps nor series.
/// assert!(chunklens[0] > 1 && chunklens[0] < 365 && chunklens[2] < 1440);
/// # Ok::<(), nczchunk_engine::Error>(())
/// ```
pub fn advise(
    dimlens: &[usize],
    typesize: usize,
    patterns: &[Pattern<'_>],
    costs: &Costs,
    chunklens: &mut [usize],
) -> Result<f64> {
    check(dimlens, typesize, chunklens)?;
    let mut best: Option<(f64, Vec<usize>)> = None;
    survey(dimlens, typesize, patterns, costs, |shape, cost| {
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, alloc::copied(shape)?));
        }
        Ok(())
    })?;
    // Where no shape is within the bounds, such as for elements that are larger, it is what comes nearest.
    let (cost, shape) = match best {
        Some(best) => best,
        None => {
            let mut shape = alloc::copied(dimlens)?;
            rechunkit(dimlens, typesize, costs.chunk_bytes.1.max(typesize), &mut shape)?;
            (mean(dimlens, typesize, &shape, patterns, costs), shape)
        }
    };
    chunklens.copy_from_slice(&shape);
    Ok(cost)
}

/// The shapes that [`advise`] compares: `each` gets the chunk lengths and the mean cost of a read in seconds, some of
/// them more than once.
///
/// # Errors
/// Those of `advise`, and those of `each`, which end the survey.
pub fn survey(
    dimlens: &[usize],
    typesize: usize,
    patterns: &[Pattern<'_>],
    costs: &Costs,
    mut each: impl FnMut(&[usize], f64) -> Result<()>,
) -> Result<()> {
    check(dimlens, typesize, dimlens)?;
    if let Some(d) = dimlens.iter().position(|&dimlen| dimlen == 0) {
        return Err(Error::from(ErrorKind::DimensionLength(0)).in_dimension(d));
    }
    if patterns.is_empty() {
        return Err(ErrorKind::Argument("advice needs a pattern").into());
    }
    patterns.iter().try_for_each(|pattern| check_pattern(dimlens, pattern))?;
    if costs.chunk_bytes.0 > costs.chunk_bytes.1 {
        return Err(ErrorKind::Argument("the fewest bytes of a chunk are more than the most").into());
    }
    let rank = dimlens.len();
    let (least, most) = bounds(dimlens, typesize, costs);
    let mut consider = |shape: &[usize]| -> Result<()> {
        let bytes = shape.iter().fold(typesize as f64, |bytes, len| bytes * *len as f64);
        if bytes < least || bytes > most {
            return Ok(());
        }
        each(shape, mean(dimlens, typesize, shape, patterns, costs))
    };
    let mut candidates = Vec::new();
    let per_dimension = COMBINATIONS.powf(1.0 / rank.max(1) as f64).max(2.0) as usize;
    for &len in dimlens {
        alloc::push(&mut candidates, candidates_of(len, per_dimension.min(CANDIDATES))?)?;
    }
    let (mut at, mut shape) = (alloc::copied(dimlens)?, alloc::copied(dimlens)?);
    at.fill(0);
    let combinations: f64 = candidates.iter().map(|lens| lens.len() as f64).product();
    if combinations > COMBINATIONS * 2.0 {
        // Of so many dimensions: one dimension after the other, from all that there is.
        for d in (0..rank).cycle().take(rank.saturating_mul(SWEEPS)) {
            let mut cheapest = (f64::INFINITY, shape[d]);
            for &len in &candidates[d] {
                shape[d] = len;
                let bytes = shape.iter().fold(typesize as f64, |bytes, len| bytes * *len as f64);
                // What is too large costs more the larger it is.
                let excess = (bytes / most).max(1.0);
                let cost = mean(dimlens, typesize, &shape, patterns, costs) * excess * excess;
                if cost < cheapest.0 {
                    cheapest = (cost, len);
                }
            }
            shape[d] = cheapest.1;
            consider(&shape)?;
        }
        candidates.iter_mut().for_each(|lens| lens.truncate(1));
    }
    'shapes: loop {
        for d in 0..rank {
            shape[d] = candidates[d][at[d]];
        }
        consider(&shape)?;
        for d in (0..rank).rev() {
            at[d] += 1;
            if at[d] < candidates[d].len() {
                continue 'shapes;
            }
            at[d] = 0;
        }
        break;
    }
    netcdf(dimlens, typesize, NETCDF_TARGET_BYTES, &mut shape)?;
    consider(&shape)?;
    h5py(dimlens, typesize, &mut shape)?;
    consider(&shape)?;
    rechunkit(dimlens, typesize, RECHUNKIT_TARGET_BYTES, &mut shape)?;
    consider(&shape)
}

/// How many bytes a chunk may have.
fn bounds(dimlens: &[usize], typesize: usize, costs: &Costs) -> (f64, f64) {
    let all = dimlens.iter().fold(typesize as f64, |bytes, len| bytes * *len as f64);
    let (least, most) = costs.chunk_bytes;
    ((least as f64).min(all), most as f64)
}

/// Lengths of chunks along a dimension: of equal parts, fewest first, and powers of 2, no more than so many.
fn candidates_of(len: usize, most: usize) -> Result<Vec<usize>> {
    let mut candidates = Vec::new();
    let mut power = 1;
    while power < len && power <= 1 << 30 {
        alloc::push(&mut candidates, power)?;
        power *= 2;
    }
    let mut parts = 1;
    while parts <= len && candidates.len() < CANDIDATES * 2 {
        alloc::push(&mut candidates, len.div_ceil(parts))?;
        parts = (parts + 1).max(parts * 5 / 4);
    }
    candidates.sort_unstable();
    candidates.dedup();
    // Evenly thinned out, the first and the last stay.
    if candidates.len() > most {
        let last = candidates.len() - 1;
        return Ok(alloc::collected((0..most).map(|i| candidates[i * last / (most - 1).max(1)]))?);
    }
    Ok(candidates)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By looking at every start.
    fn counted(len: usize, count: usize, chunk: usize) -> f64 {
        let starts = len - count + 1;
        let touched = |s: usize| (s + count - 1) / chunk - s / chunk + 1;
        (0..starts).map(touched).sum::<usize>() as f64 / starts as f64
    }

    #[test]
    fn chunks_are_counted_as_if_every_start_were_tried() {
        for len in 1..if cfg!(miri) { 6 } else { 25 } {
            for count in 1..=len {
                for chunk in 1..30 {
                    let (found, expected) = (touched(len, count, chunk), counted(len, count, chunk));
                    assert!((found - expected).abs() < 1e-9, "{len} {count} {chunk}: {found} {expected}");
                }
            }
        }
        assert_eq!(touched(10, 99, 5), 2.0);
    }

    #[test]
    fn elements_up_to_the_last_are_counted_as_if_every_start_were_tried() {
        let dimlens = [7, 9];
        for (counts, chunks) in
            [([1, 9], [3, 4]), ([7, 1], [3, 4]), ([2, 3], [4, 2]), ([5, 5], [7, 9]), ([1, 1], [1, 5])]
        {
            let (mut sum, mut reads) = (0, 0);
            for y in 0..=dimlens[0] - counts[0] {
                for x in 0..=dimlens[1] - counts[1] {
                    reads += 1;
                    // Of each chunk the last element that is read.
                    for of_y in y / chunks[0]..=(y + counts[0] - 1) / chunks[0] {
                        for of_x in x / chunks[1]..=(x + counts[1] - 1) / chunks[1] {
                            let last = |of: usize, end: usize, chunk: usize| (end - 1 - of * chunk).min(chunk - 1);
                            let (row, column) =
                                (last(of_y, y + counts[0], chunks[0]), last(of_x, x + counts[1], chunks[1]));
                            sum += row * chunks[1] + column + 1;
                        }
                    }
                }
            }
            let pattern = Pattern { shape: &counts, weight: 1.0 };
            let found = up_to_the_last(&dimlens, &chunks, &pattern);
            assert!((found - f64::from(sum as u32) / f64::from(reads)).abs() < 1e-9, "{counts:?} {chunks:?} {found}");
            let [part, steps, whole] = [1, 16, 0]
                .map(|step_bytes| of(&dimlens, 4, &chunks, &pattern, &Costs { step_bytes, ..Costs::default() }));
            assert!(part.seconds <= steps.seconds && steps.seconds <= whole.seconds && part.bytes == whole.bytes);
        }
    }

    #[test]
    fn what_is_in_flight_overlaps() {
        // 10 chunks of 1000 bytes each: 1 ms on the way, 2 ms of work.
        let costs = Costs {
            latency: 5e-3,
            bandwidth: 1e6,
            per_request: 5e-4,
            decoding: 1e6,
            copying: 2e6,
            per_chunk: 5e-4,
            ..Costs::default()
        };
        let pattern = Pattern { shape: &[10_000], weight: 1.0 };
        for (in_flight, expected) in [(1, 80e-3), (2, 42e-3), (5, 26e-3), (10, 26e-3), (100, 26e-3)] {
            let costs = Costs { in_flight, ..costs };
            let found = of(&[10_000], 1, &[1000], &pattern, &costs);
            assert!((found.seconds - expected).abs() < 1e-12, "{in_flight}: {found:?}");
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes too long")]
    fn a_single_pattern_gets_chunks_of_its_own() {
        let dimlens = [365, 720, 1440];
        let costs = Costs { chunk_bytes: (1, 1 << 30), latency: 1e-2, ..Costs::default() };
        for shape in [[1, 720, 1440], [365, 1, 1], [1, 720, 1]] {
            let mut chunklens = [0; 3];
            let seconds =
                advise(&dimlens, 4, &[Pattern { shape: &shape, weight: 2.0 }], &costs, &mut chunklens).unwrap();
            let pattern = Pattern { shape: &shape, weight: 1.0 };
            let found = cost(&dimlens, 4, &chunklens, &pattern, &costs).unwrap();
            assert!(found.requests < 1.5 && (found.seconds - seconds).abs() < 1e-12, "{chunklens:?} {found:?}");
            // Chunks of the pattern itself cost no less than what was found.
            assert!(cost(&dimlens, 4, &shape, &pattern, &costs).unwrap().seconds >= seconds - 1e-12);
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes too long")]
    fn advice_is_no_worse_than_the_defaults() {
        let dimlens = [8760, 361, 576];
        for weight in [0.05, 0.5, 0.95] {
            let (map, series) = ([1, 361, 576], [8760, 1, 1]);
            let patterns = [Pattern { shape: &map, weight }, Pattern { shape: &series, weight: 1.0 - weight }];
            for costs in [Costs::default(), Costs { latency: 0.05, in_flight: 32, ..Costs::default() }] {
                let mut chunklens = [0; 3];
                let best = advise(&dimlens, 4, &patterns, &costs, &mut chunklens).unwrap();
                let bytes = chunklens.iter().product::<usize>() * 4;
                assert!((64 << 10..=64 << 20).contains(&bytes), "{chunklens:?}");
                netcdf(&dimlens, 4, NETCDF_TARGET_BYTES, &mut chunklens).unwrap();
                assert!(mean(&dimlens, 4, &chunklens, &patterns, &costs) >= best);
                h5py(&dimlens, 4, &mut chunklens).unwrap();
                assert!(mean(&dimlens, 4, &chunklens, &patterns, &costs) >= best);
                rechunkit(&dimlens, 4, RECHUNKIT_TARGET_BYTES, &mut chunklens).unwrap();
                assert!(mean(&dimlens, 4, &chunklens, &patterns, &costs) >= best);
            }
        }
    }

    #[test]
    #[cfg_attr(miri, ignore = "it takes too long")]
    fn what_cannot_be_advised_is_refused() {
        let costs = Costs::default();
        let mut chunklens = [7, 7];
        let mut refused = |dimlens: &[usize], typesize, patterns: &[Pattern<'_>]| {
            advise(dimlens, typesize, patterns, &costs, &mut chunklens).unwrap_err().kind()
        };
        let one = Pattern { shape: &[1, 1], weight: 1.0 };
        assert!(matches!(refused(&[4, 4], 0, &[one]), ErrorKind::Argument(_)));
        assert!(matches!(refused(&[4, 4], 4, &[]), ErrorKind::Argument(_)));
        assert!(matches!(refused(&[4, 4], 4, &[Pattern { shape: &[1], ..one }]), ErrorKind::Argument(_)));
        assert!(matches!(refused(&[4, 4], 4, &[Pattern { shape: &[1, 0], ..one }]), ErrorKind::Argument(_)));
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(refused(&[4, 4], 4, &[Pattern { weight, ..one }]), ErrorKind::Argument(_)));
        }
        let of = |weight| advise(&[4, 4], 4, &[Pattern { weight, ..one }; 2], &costs, &mut [0, 0]).unwrap();
        assert_eq!((of(1e308), of(5e-324)), (of(1.0), of(1.0)));
        let none = Costs { chunk_bytes: (100, 10), ..costs };
        assert!(advise(&[4, 4], 4, &[one], &none, &mut [0, 0]).is_err());
        assert!(matches!(refused(&[4, 0], 4, &[one]), ErrorKind::DimensionLength(0)));
        assert_eq!(chunklens, [7, 7]);
        // Very many dimensions.
        let (many, mut lens) = ([3usize; 200], [0; 200]);
        assert!(advise(&many, 4, &[Pattern { shape: &[1; 200], weight: 1.0 }], &costs, &mut lens).is_ok());
        // Elements that are larger than a chunk may be, and arrays that are smaller.
        let tiny = Costs { chunk_bytes: (1, 2), ..costs };
        assert!(advise(&[4, 4], 4, &[one], &tiny, &mut chunklens).is_ok() && chunklens == [1, 1]);
        assert!(advise(&[4, 4], 4, &[Pattern { shape: &[4, 4], weight: 1.0 }], &costs, &mut chunklens).is_ok());
        assert_eq!(chunklens, [4, 4]);
    }
}
