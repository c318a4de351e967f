//! Callbacks of the caller's that the library has taken over.

use std::ffi::c_void;
use std::ops::Deref;

/// Callbacks, and the pointer that each of them gets. They are destroyed once, when the library is done with them.
pub(super) struct Callbacks<C: Copy> {
    callbacks: C,
    pub(super) user: *mut c_void,
    destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
}

// SAFETY: the callbacks and their user pointer are used from several threads only if they say that they allow it, or if
// the caller's own threads do so, who is told that the callbacks must then allow it.
unsafe impl<C: Copy> Send for Callbacks<C> {}
// SAFETY: as above.
unsafe impl<C: Copy> Sync for Callbacks<C> {}

impl<C: Copy> Callbacks<C> {
    pub(super) fn new(
        callbacks: C,
        user: *mut c_void,
        destroy: Option<unsafe extern "C" fn(user: *mut c_void)>,
    ) -> Self {
        Callbacks { callbacks, user, destroy }
    }
}

impl<C: Copy> Deref for Callbacks<C> {
    type Target = C;

    fn deref(&self) -> &C {
        &self.callbacks
    }
}

impl<C: Copy> Drop for Callbacks<C> {
    fn drop(&mut self) {
        if let Some(destroy) = self.destroy {
            // SAFETY: the function takes this pointer, as documented, and nobody uses the callbacks any more.
            unsafe { destroy(self.user) };
        }
    }
}
