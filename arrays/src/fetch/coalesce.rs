//! Which ranges of an object are better read at once.

/// A range of an object's bytes.
pub(super) struct Range<O> {
    pub object: O,
    pub begin: u64,
    pub len: u64,
}

/// How many ranges, from the first on, are better read at once, and what has to be read for them: those of the same
/// object of which each begins less than `gap` bytes behind the end of those before it, as long as all of it is at most
/// `largest` bytes. They come sorted by their object and beginning. `None` if there are none.
pub(super) fn run<O: PartialEq>(
    mut ranges: impl Iterator<Item = Range<O>>,
    gap: u64,
    largest: u64,
) -> Option<(usize, std::ops::Range<u64>)> {
    let first = ranges.next()?;
    let (mut count, mut end) = (1, first.begin.saturating_add(first.len));
    for next in ranges {
        let next_end = end.max(next.begin.saturating_add(next.len));
        let is_near = next.begin.saturating_sub(end) < gap.max(1);
        if next.object != first.object || !is_near || next_end - first.begin > largest {
            break;
        }
        (count, end) = (count + 1, next_end);
    }
    Some((count, first.begin..end))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The runs of some ranges: how many ranges, where they begin and end.
    fn runs(ranges: &[(u8, u64, u64)], gap: u64, largest: u64) -> Vec<(usize, u64, u64)> {
        let (mut rest, mut runs) = (ranges, Vec::new());
        let range = |&(object, begin, len): &(u8, u64, u64)| Range { object, begin, len };
        while let Some((count, range)) = run(rest.iter().map(range), gap, largest) {
            runs.push((count, range.start, range.end));
            rest = &rest[count..];
        }
        runs
    }

    #[test]
    fn neighbours_are_read_at_once() {
        let ranges = [(0, 0, 10), (0, 10, 10), (0, 25, 5), (1, 30, 5), (1, 36, 4)];
        assert_eq!(runs(&ranges, 0, 1000), [(2, 0, 20), (1, 25, 30), (1, 30, 35), (1, 36, 40)]);
        assert_eq!(runs(&ranges, 5, 1000), [(2, 0, 20), (1, 25, 30), (2, 30, 40)]);
        assert_eq!(runs(&ranges, 6, 1000), [(3, 0, 30), (2, 30, 40)]);
        assert_eq!(runs(&ranges, 6, 30), [(3, 0, 30), (2, 30, 40)]);
        assert_eq!(runs(&ranges, 6, 29), [(2, 0, 20), (1, 25, 30), (2, 30, 40)]);
        // One that is longer is read all the same.
        assert_eq!(runs(&ranges, 6, 9), [(1, 0, 10), (1, 10, 20), (1, 25, 30), (1, 30, 35), (1, 36, 40)]);
        assert_eq!(runs(&[], 6, 9), []);
    }

    #[test]
    fn ranges_that_overlap_are_read_once() {
        assert_eq!(runs(&[(0, 0, 100), (0, 0, 100), (0, 50, 10), (0, 99, 2)], 0, 1000), [(4, 0, 101)]);
        assert_eq!(runs(&[(0, u64::MAX - 1, 9), (0, u64::MAX, 0)], 0, 10), [(2, u64::MAX - 1, u64::MAX)]);
    }
}
