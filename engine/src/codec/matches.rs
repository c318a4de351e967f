//! Matches of LZ77: bytes that are copied from where they stand earlier in the same data.
//!
//! Shuffled data are full of runs, which are matches that overlap what they make: those are copied with few long moves.

/// How many bytes are moved at a time where matches do not overlap so closely.
const WIDE: usize = 16;

/// The same for closer ones.
const NARROW: usize = 8;

/// What is copied at most by two wide moves.
const FEW: usize = 32;

/// What is copied at most by narrow moves.
const MANY: usize = 64;

/// Copies `len` bytes to `at` from `distance` bytes before; bytes that are copied may be copied again. Behind them up
/// to 32 bytes may be changed, which are to be written later. Returns `false`, having written nothing, if the bytes do
/// not lie in `to`.
#[inline(always)]
#[must_use]
pub(super) fn repeat(to: &mut [u8], at: usize, distance: usize, len: usize) -> bool {
    let Some(room) = to.len().checked_sub(at) else { return false };
    if distance.wrapping_sub(1) >= at || len > room {
        return false;
    }
    let from = at - distance;
    if distance >= WIDE && len <= FEW && room >= FEW {
        to.copy_within(from..from + WIDE, at);
        to.copy_within(from + WIDE..from + FEW, at + WIDE);
    } else if distance < WIDE && len <= MANY && room >= MANY {
        repeat_closely(to, at, distance, len);
    } else if distance == 1 {
        let byte = to[from];
        to[at..at + len].fill(byte);
    } else {
        // What was copied lengthens what can be copied at once.
        let mut copied = 0;
        while copied < len {
            let part = (distance + copied).min(len - copied);
            to.copy_within(from..from + part, at + copied);
            copied += part;
        }
    }
    true
}

/// `repeat` for short distances and lengths: in steps of 8 bytes, each from a multiple of the distance before, which is
/// at least 8.
#[inline(always)]
fn repeat_closely(to: &mut [u8], at: usize, distance: usize, len: usize) {
    let (mut back, mut copied) = (distance, 0);
    if distance < NARROW {
        for i in at..at + NARROW {
            to[i] = to[i - distance];
        }
        (back, copied) = (NARROW.div_ceil(distance) * distance, NARROW);
    }
    while copied < len {
        let from = at + copied - back;
        to.copy_within(from..from + NARROW, at + copied);
        copied += NARROW;
    }
}

/// Copies so many bytes of the beginning of `from` to `at`. Behind them up to 16 bytes may be changed, which are to be
/// written later. Returns `false`, having written nothing, if there are not so many or no room for them.
#[inline(always)]
#[must_use]
pub(super) fn literals(to: &mut [u8], at: usize, from: &[u8], len: usize) -> bool {
    let Some(room) = to.get_mut(at..) else { return false };
    match (room.first_chunk_mut::<WIDE>(), from.first_chunk::<WIDE>()) {
        (Some(room), Some(from)) if len <= WIDE => *room = *from,
        _ => match (room.get_mut(..len), from.get(..len)) {
            (Some(room), Some(from)) => room.copy_from_slice(from),
            _ => return false,
        },
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matches_repeat_what_stands_before() {
        for total in [70 + FEW - 1, 70 + FEW, 70 + MANY - 1, 70 + MANY, 300] {
            for distance in 1..70 {
                for len in 0..=total - 70 {
                    let mut to: Vec<u8> = (0..total).map(|i| (i * 37) as u8).collect();
                    let mut due = to.clone();
                    (70..70 + len).for_each(|i| due[i] = due[i - distance]);
                    assert!(repeat(&mut to, 70, distance, len));
                    assert_eq!(to[..70 + len], due[..70 + len], "{total} {distance} {len}");
                    let beyond = (70 + len + 32).min(total);
                    assert_eq!(to[beyond..], due[beyond..], "{total} {distance} {len}");
                }
            }
        }
    }

    #[test]
    fn what_does_not_lie_there_is_refused() {
        let mut to = [1; 40];
        for (at, distance, len) in [(10, 11, 4), (10, 0, 4), (0, 1, 4), (10, 2, 31), (41, 2, 0), (10, 20, usize::MAX)] {
            assert!(!repeat(&mut to, at, distance, len), "{at} {distance} {len}");
        }
        assert!(!literals(&mut to, 30, &[2; 20], 11) && !literals(&mut to, 0, &[2; 20], 21));
        assert!(!literals(&mut to, 41, &[], 0) && !literals(&mut to, 0, &[2; 3], usize::MAX));
        assert_eq!(to, [1; 40]);
        assert!(literals(&mut to, 24, &[2; 20], 3) && to[24..27] == [2; 3] && to[..24] == [1; 24]);
    }
}
