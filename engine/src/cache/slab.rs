//! Memory for chunks of one size that are used in turns, several megabytes at a time.
//!
//! Slabs of rows that are read one after another take a few rows from each of many chunks, again and again. In memory
//! of their own these chunks lie on more small pages than the processor knows the addresses of. A slab is memory that
//! the system is asked to give in large pages. What no chunk uses any more is given back at once. The system may take
//! it later, a large page at a time, so a slab usually takes little more than its chunks, and never more than its
//! [`BYTES`].
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, dealloc};
use std::mem::MaybeUninit;
use std::ops::RangeInclusive;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::alloc::Failed;
use crate::pages;
use crate::shared::Shared;

/// The bytes of a slab, which begins at a multiple of a large page.
pub(super) const BYTES: usize = 8 << 20;
const LAYOUT: Layout = match Layout::from_size_align(BYTES, pages::LARGE) {
    Ok(layout) => layout,
    Err(_) => panic!("the size must be a multiple of the alignment"),
};

/// The chunks that are kept in slabs: smaller ones lie close together in the heap, and of larger ones few would fit.
const CHUNK_BYTES: RangeInclusive<usize> = (256 << 10)..=pages::LARGE;

/// Memory for some chunks of at most so many bytes each.
pub(super) struct Slab {
    memory: NonNull<u8>,
    size: usize,
    count: usize,
    /// A bit for every place that no chunk has.
    free: AtomicU64,
}

/// The memory for one chunk in a slab, which lives as long as one of its chunks.
pub(super) struct Place {
    slab: Shared<Slab>,
    index: usize,
}

// SAFETY: the memory belongs to the slab, which uses none of it itself; each part belongs to the place that has it.
unsafe impl Send for Slab {}
// SAFETY: as above.
unsafe impl Sync for Slab {}

impl Slab {
    /// Whether chunks of so many bytes are kept in slabs on this system.
    pub(super) fn suits(chunk_bytes: usize) -> bool {
        pages::TAKES_BACK && CHUNK_BYTES.contains(&chunk_bytes)
    }

    /// A slab for chunks of so many bytes, which [suit](Self::suits) it.
    pub(super) fn new(chunk_bytes: usize) -> Result<Shared<Self>, Failed> {
        let slab = Shared::slot()?;
        let size = chunk_bytes.next_multiple_of(pages::size()).clamp(1, BYTES);
        let count = (BYTES / size).min(u64::BITS as usize);
        // SAFETY: the size is not 0.
        let memory = NonNull::new(unsafe { alloc(LAYOUT) }).ok_or(Failed)?;
        pages::ask_for_large(memory, BYTES);
        let free = AtomicU64::new(u64::MAX >> (u64::BITS as usize - count));
        Ok(Shared::fill(slab, Slab { memory, size, count, free }))
    }

    /// Whether it has places for chunks of so many bytes.
    pub(super) fn is_for(&self, chunk_bytes: usize) -> bool {
        chunk_bytes <= self.size && self.size - chunk_bytes < pages::size()
    }

    /// Whether no chunk has a place in it.
    pub(super) fn is_empty(&self) -> bool {
        self.free.load(Ordering::Acquire).count_ones() as usize == self.count
    }

    /// A place that no chunk has. If several threads ask at the same time, some may get none though there are more.
    pub(super) fn take(slab: &Shared<Self>) -> Option<Place> {
        let index = slab.free.load(Ordering::Relaxed).trailing_zeros();
        let place = 1_u64.checked_shl(index)?;
        // This comes after all that the last owner of the place did with it.
        let was_free = slab.free.fetch_and(!place, Ordering::Acquire) & place != 0;
        was_free.then(|| Place { slab: slab.clone(), index: index as usize })
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        // SAFETY: `new` allocated the memory with this layout, and it is freed once, after all of its places.
        unsafe { dealloc(self.memory.as_ptr(), LAYOUT) };
    }
}

impl Place {
    /// How many bytes it has.
    pub(super) fn len(&self) -> usize {
        self.slab.size
    }

    fn begin(&self) -> NonNull<u8> {
        // SAFETY: `index` is below the number of places, so the place lies within the slab.
        unsafe { self.slab.memory.add(self.index * self.slab.size) }
    }

    /// The first `len` bytes, which are not more than there are.
    pub(super) fn room(&mut self, len: usize) -> &mut [MaybeUninit<u8>] {
        let begin = self.begin().cast::<MaybeUninit<u8>>();
        // SAFETY: the bytes are the place's, which `take` gives to one owner at a time, and need not be initialised;
        // they are borrowed from `self`.
        unsafe { std::slice::from_raw_parts_mut(begin.as_ptr(), len.min(self.len())) }
    }

    /// The first `len` bytes.
    ///
    /// # Safety
    /// They have been written since [`room`](Self::room) last gave them.
    pub(super) unsafe fn filled(&self, len: usize) -> &[u8] {
        // SAFETY: the bytes are the place's, there are so many because they were given, and they are initialised by the
        // caller's promise.
        unsafe { std::slice::from_raw_parts(self.begin().as_ptr(), len) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // SAFETY: the place is whole pages of the slab, whose bytes nobody uses any more.
        unsafe { pages::give_back(self.begin(), self.slab.size) };
        self.slab.free.fetch_or(1 << self.index, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bytes of a place the system has memory for.
    #[cfg(all(target_os = "linux", not(miri)))]
    fn resident(place: &Place) -> usize {
        let page = pages::size();
        let mut pages = vec![0_u8; place.len() / page];
        // SAFETY: the place is so many whole pages, for which there is a byte each.
        assert_eq!(unsafe { libc::mincore(place.begin().as_ptr().cast(), place.len(), pages.as_mut_ptr().cast()) }, 0);
        pages.iter().filter(|&&byte| byte & 1 == 1).count() * page
    }

    #[test]
    fn a_slab_has_as_many_places_as_fit() {
        if !Slab::suits(1 << 20) {
            return;
        }
        for bytes in [256_usize << 10, (256 << 10) + 1, 1 << 20, 2 << 20] {
            let count = BYTES / bytes.next_multiple_of(pages::size());
            let slab = Slab::new(bytes).unwrap();
            assert!(slab.is_empty() && slab.is_for(bytes) && !slab.is_for(bytes * 2) && !slab.is_for(bytes / 2));
            let mut places: Vec<_> = std::iter::from_fn(|| Slab::take(&slab)).collect();
            assert!(places.len() == count && !slab.is_empty(), "{bytes} {}", places.len());
            for (value, place) in places.iter_mut().enumerate() {
                assert!(place.len() >= bytes);
                let room = place.room(bytes);
                assert_eq!(room.len(), bytes);
                // All of it would take Miri very long.
                room[..100].fill(MaybeUninit::new(value as u8));
                if !cfg!(miri) {
                    room.fill(MaybeUninit::new(value as u8));
                }
            }
            for (value, place) in places.iter().enumerate() {
                let written = if cfg!(miri) { 100 } else { bytes };
                // SAFETY: so many bytes have just been written.
                assert!(unsafe { place.filled(written) }.iter().all(|&byte| byte == value as u8));
            }
            drop(places.remove(count / 2));
            drop(places.remove(0));
            assert!(Slab::take(&slab).is_some_and(|place| place.index == 0));
            drop(places);
            assert!(slab.is_empty());
        }
        assert!(!Slab::suits((256 << 10) - 1) && !Slab::suits((2 << 20) + 1));
    }

    #[test]
    fn a_place_is_one_threads_at_a_time() {
        if !Slab::suits(1 << 20) {
            return;
        }
        let slab = Slab::new(1 << 20).unwrap();
        std::thread::scope(|scope| {
            for value in 0..4 {
                let slab = &slab;
                scope.spawn(move || {
                    for _ in 0..if cfg!(miri) { 30 } else { 1000 } {
                        let Some(mut place) = Slab::take(slab) else { continue };
                        place.room(100).fill(MaybeUninit::new(value));
                        std::thread::yield_now();
                        // SAFETY: so many bytes have just been written.
                        assert_eq!(unsafe { place.filled(100) }, [value; 100]);
                    }
                });
            }
        });
        assert!(slab.is_empty());
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn what_no_chunk_uses_is_given_back() {
        let slab = Slab::new(1 << 20).unwrap();
        let mut places: Vec<_> = std::iter::from_fn(|| Slab::take(&slab)).collect();
        places.iter_mut().for_each(|place| place.room(1 << 20).fill(MaybeUninit::new(1)));
        assert!(places.iter().all(|place| resident(place) == 1 << 20));
        drop(places.remove(3));
        let again = Slab::take(&slab).unwrap();
        assert_eq!((again.index, resident(&again), resident(&places[3])), (3, 0, 1 << 20));
    }
}
