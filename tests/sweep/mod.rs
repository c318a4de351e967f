//! How much of a sweep a test does, of files that are changed in every way, or of cases at random: all of it with
//! `NCZCHUNK_CASES=all`, as `scripts/test --long` says.

/// Of how many cases one is tried: of each where all are, else of so many.
pub fn one_of(many: usize) -> usize {
    if std::env::var("NCZCHUNK_CASES").is_ok_and(|cases| cases == "all") { 1 } else { many }
}
