//! What the system is told of the pages of memory.
#![allow(unsafe_code)]

pub(crate) use system::{TAKES_BACK, ask_for_large, give_back, size};

/// The bytes of a large page.
pub(crate) const LARGE: usize = 2 << 20;

#[cfg(any(target_os = "linux", target_os = "android"))]
mod system {
    use std::ptr::NonNull;

    /// Whether pages in the midst of an allocation can be given back.
    pub(crate) const TAKES_BACK: bool = true;

    /// The bytes of a page.
    pub(crate) fn size() -> usize {
        // SAFETY: the call has no preconditions.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(super::LARGE)
    }

    /// Asks for large pages, where all of the memory is going to be used. If there are none, it does without.
    #[cold]
    pub(crate) fn ask_for_large(begin: NonNull<u8>, len: usize) {
        let skipped = begin.align_offset(size()).min(len);
        // SAFETY: the address lies within the memory or at its end.
        let first = unsafe { begin.add(skipped) };
        // SAFETY: the contents of the memory do not change.
        unsafe { advise(first, len - skipped, libc::MADV_HUGEPAGE) };
    }

    /// Gives pages back to the system. They are there again when they are next used, as zeros.
    ///
    /// # Safety
    /// They are whole pages of an allocation, and nobody uses what is in them.
    pub(crate) unsafe fn give_back(begin: NonNull<u8>, len: usize) {
        if cfg!(miri) {
            // It has no such call. To whoever else uses the memory it would be a write.
            // SAFETY: this is the first byte of an allocation's pages, which nobody uses.
            unsafe { begin.write(0) };
        }
        // SAFETY: what is in the pages nobody uses.
        unsafe { advise(begin, len, libc::MADV_DONTNEED) };
    }

    /// Tells the system something of pages. If it refuses, nothing changes.
    ///
    /// # Safety
    /// Nobody uses what is in them, if the advice is to throw that away.
    unsafe fn advise(begin: NonNull<u8>, len: usize, advice: libc::c_int) {
        if !cfg!(miri) {
            // SAFETY: by the caller's promise nothing is lost that anybody uses.
            unsafe { libc::madvise(begin.as_ptr().cast(), len, advice) };
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod system {
    use std::ptr::NonNull;

    /// Whether pages in the midst of an allocation can be given back: nobody has tried.
    pub(crate) const TAKES_BACK: bool = false;

    pub(crate) fn size() -> usize {
        super::LARGE
    }

    pub(crate) fn ask_for_large(_: NonNull<u8>, _: usize) {}

    /// # Safety
    /// Any memory will do.
    pub(crate) unsafe fn give_back(_: NonNull<u8>, _: usize) {}
}

/// Whether the system has been asked for large pages at an address; `None` if it does not tell.
#[cfg(all(test, target_os = "linux", not(miri)))]
pub(crate) fn are_large_asked_for(address: *const u8) -> Option<bool> {
    let text = std::fs::read_to_string("/proc/self/smaps").ok()?;
    let mut is_here = false;
    for line in text.lines() {
        let range = line.split_once(' ').and_then(|(range, _)| range.split_once('-'));
        let number = |text| usize::from_str_radix(text, 16).ok();
        if let Some((begin, end)) = range.and_then(|(begin, end)| Some((number(begin)?, number(end)?))) {
            is_here = (begin..end).contains(&address.addr());
        } else if let (true, Some(flags)) = (is_here, line.strip_prefix("VmFlags:")) {
            return Some(flags.split_whitespace().any(|flag| flag == "hg"));
        }
    }
    None
}
