//! The library against one oracle: a loop over every element that knows nothing of projections, plans or copies.
//!
//! Everything goes through the C interface, as a user's calls do. Small shapes are tried exhaustively, larger ones at
//! random. A failure prints its seed, and `NCZCHUNK_SEED=n` repeats it. Each test tries 200 000 of its cases, chosen at
//! random, or as many as `NCZCHUNK_CASES` says: all for `scripts/test --long`, fewer for checkers under which those
//! would take hours.

// The oracle and the tests are C callers in Rust.
#![allow(unsafe_code)]

#[path = "oracle/cases.rs"]
mod cases;
#[path = "oracle/chosen.rs"]
mod chosen;
#[path = "oracle/lists.rs"]
mod lists;
#[path = "oracle/naive.rs"]
mod naive;
#[path = "oracle/subject.rs"]
mod subject;
#[path = "oracle/written.rs"]
mod written;

use cases::{Dim, slices};

#[test]
fn every_case_of_one_dimension() {
    every_case::<1>(32);
}

#[test]
fn every_case_of_two_dimensions() {
    every_case::<2>(8);
}

#[test]
fn every_case_of_three_dimensions() {
    every_case::<3>(4);
}

/// Every valid slice of every shape with dimensions up to so long, in chunks of every length up to one more than that.
fn every_case<const RANK: usize>(longest: usize) {
    let dims: Vec<Dim> =
        (0..=longest).flat_map(|len| (1..=len + 1).flat_map(move |chunklen| slices(len, chunklen))).collect();
    let num_cases = dims.len().pow(RANK as u32);
    let tried = at_most(num_cases);
    println!("{tried} of {num_cases} cases");
    seeded(|rng| {
        for variant in 0..tried {
            let mut number = if tried < num_cases { rng.usize(0..num_cases) } else { variant };
            let case: [Dim; RANK] = std::array::from_fn(|_| {
                let dim = dims[number % dims.len()];
                number /= dims.len();
                dim
            });
            // To begin threads takes a hundred times as long as a small case, so most do without; the rest are of all
            // variants, with which this number has no factor in common.
            let threads = if variant.is_multiple_of(2503) { 3 } else { 1 };
            subject::check(&case, variant, threads);
        }
    });
}

/// How many of its cases a test tries.
fn at_most(all: usize) -> usize {
    match std::env::var("NCZCHUNK_CASES").as_deref() {
        Ok("all") => all,
        Ok(limit) => all.min(limit.parse().expect("NCZCHUNK_CASES is a number, or all")),
        Err(_) => all.min(200_000),
    }
}

/// Ranks up to 6, each dimension up to 40 long.
#[test]
fn random_cases_of_up_to_six_dimensions() {
    seeded(|rng| {
        for variant in 0..at_most(20_000) {
            let rank = rng.usize(0..=6);
            let longest = [0, 40, 40, 20, 10, 6, 5][rank];
            let dims: Vec<Dim> = (0..rank).map(|_| random_dim(rng, longest)).collect();
            subject::check(&dims, variant, if rng.u8(..) < 32 { 3 } else { 1 });
        }
    });
}

/// One dimension of up to 2^63 elements with few of them selected: projections only, since nobody can store it.
#[test]
fn random_cases_of_enormous_dimensions() {
    seeded(|rng| {
        for _ in 0..at_most(200_000) {
            let dim = random_enormous_dim(rng);
            subject::check_projections(dim, &naive::projections(dim));
        }
    });
}

/// Whether two plans share chunks, against all chunks of both, with strides up to several times a chunk.
#[test]
fn random_pairs_of_plans_that_share_chunks() {
    use nczchunk::{Access, Hyperslab, Plan, Variable};
    seeded(|rng| {
        let mut shared = 0;
        for _ in 0..at_most(200_000) {
            let rank = rng.usize(1..=2);
            let chunklens: Vec<usize> = (0..rank).map(|_| rng.usize(1..=40)).collect();
            let origins: Vec<isize> = (0..rank).map(|_| rng.isize(-60..=60)).collect();
            let mut one = || {
                let dims: Vec<Dim> = chunklens.iter().map(|&chunklen| random_sparse_dim(rng, chunklen)).collect();
                let column = |pick: fn(&Dim) -> usize| dims.iter().map(pick).collect::<Vec<_>>();
                let mut variable = Variable::new(&column(|dim| dim.len), &chunklens, 1).unwrap();
                for (d, &origin) in origins.iter().enumerate() {
                    variable.set_origin(d, origin).unwrap();
                }
                let (start, count) = (column(|dim| dim.start), column(|dim| dim.count));
                let stride: Vec<isize> = dims.iter().map(|dim| dim.stride as isize).collect();
                let slab = Hyperslab::new(&start, &count).with_stride(&stride);
                Plan::new(&variable, &slab, Access::Write).unwrap().into_owned().unwrap()
            };
            let plans = [one(), one()];
            let touched = plans.each_ref().map(|plan| {
                let indices = |d: usize| plan.dimensions()[d].iter().map(|p| p.chunk_index);
                (0..rank).map(|d| indices(d).collect::<std::collections::HashSet<_>>()).collect::<Vec<_>>()
            });
            let expected = touched[0].iter().zip(&touched[1]).all(|(one, other)| !one.is_disjoint(other));
            shared += usize::from(expected);
            assert_eq!(plans[0].shares_chunks(&plans[1]).unwrap(), expected, "{plans:?}");
            assert_eq!(plans[1].shares_chunks(&plans[0]).unwrap(), expected, "{plans:?}");
        }
        println!("{shared} pairs share chunks");
    });
}

/// Chunks with a list of lengths: projections, and whether two selections share a chunk.
#[test]
fn random_lists_of_chunk_lengths() {
    seeded(|rng| {
        for _ in 0..at_most(100_000) {
            let (num, longest) = (rng.usize(1..=12), rng.usize(1..=7));
            let one = lists::Listed::random(rng, num, longest);
            one.check_projections();
            one.check_shared(&one.selecting(rng));
        }
    });
}

/// The same in up to three dimensions: reads and writes.
#[test]
fn random_arrays_with_lists_of_chunk_lengths() {
    seeded(|rng| {
        for variant in 0..at_most(5_000) {
            let rank = rng.usize(1..=3);
            let dims: Vec<_> = (0..rank).map(|_| lists::Listed::random(rng, 4, 4)).collect();
            lists::check(&dims, variant);
        }
    });
}

/// Points and lists of indices in up to four dimensions: reads and writes.
#[test]
fn random_points_and_lists_of_indices() {
    seeded(|rng| {
        for _ in 0..at_most(20_000) {
            let threads = if rng.u8(..) < 8 { 3 } else { 1 };
            chosen::check(rng, threads);
        }
    });
}

/// Runs a test with a seed that is new each time, and printed.
fn seeded(test: impl FnOnce(&mut fastrand::Rng)) {
    let seed = match std::env::var("NCZCHUNK_SEED") {
        Ok(seed) => seed.parse().expect("NCZCHUNK_SEED is a number"),
        Err(_) => fastrand::u64(..),
    };
    println!("NCZCHUNK_SEED={seed}");
    test(&mut fastrand::Rng::with_seed(seed));
}

fn random_dim(rng: &mut fastrand::Rng, longest: usize) -> Dim {
    let len = rng.usize(1..=longest);
    let start = rng.usize(0..len);
    let stride = rng.usize(1..=len);
    let count = rng.usize(1..=(len - 1 - start) / stride + 1);
    Dim { len, chunklen: rng.usize(1..=len + 1), start, count, stride }
}

/// A selection with a stride up to six times the chunk.
fn random_sparse_dim(rng: &mut fastrand::Rng, chunklen: usize) -> Dim {
    let (start, count) = (rng.usize(0..200), rng.usize(1..30));
    let stride = if rng.u8(..) < 32 { rng.usize(1..=chunklen) } else { rng.usize(1..=6 * chunklen) };
    let len = start + (count - 1) * stride + rng.usize(1..20);
    Dim { len, chunklen, start, count, stride }
}

/// A number whose magnitude, too, is random.
fn random_magnitude(rng: &mut fastrand::Rng, max: usize) -> usize {
    (rng.usize(..) >> rng.u32(0..usize::BITS)) % max + 1
}

fn random_enormous_dim(rng: &mut fastrand::Rng) -> Dim {
    let len = random_magnitude(rng, 1 << (usize::BITS - 1));
    let start = random_magnitude(rng, len) - 1;
    let stride = random_magnitude(rng, isize::MAX as usize);
    let count = random_magnitude(rng, ((len - 1 - start) / stride + 1).min(50));
    Dim { len, chunklen: random_magnitude(rng, usize::MAX - 1), start, count, stride }
}
