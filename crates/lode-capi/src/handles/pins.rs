//! Pins: the handles that threads are using now. They are hazard pointers (Michael, Hazard
//! Pointers: Safe Memory Reclamation for Lock-Free Objects, IEEE TPDS 15(6), 2004): an object is
//! dropped only if no thread has pinned its handle. A pin writes memory of its own thread only, so
//! threads that use one table do not slow each other down.
//!
//! A pin has to be seen by the thread that frees before the state is looked at. A fence in each
//! call would do, but then one lookup could not start while the one before waits for memory. So the
//! thread that frees has all others pass a fence ([`barrier`](super::barrier)); where the system
//! cannot do that, each pin has its own.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering, compiler_fence, fence};
use std::sync::{Mutex, PoisonError};

use super::barrier;

/// The most handles that one call uses, with a margin.
const PINS: usize = 4;

/// The pins of a thread: the ids of the handles that its call uses, and zeros. They stand in cache
/// lines of their own.
#[derive(Default)]
#[repr(align(128))]
struct Pins {
    ids: [AtomicU64; PINS],
    /// True if each pin needs a fence of its own.
    needs_fence: bool,
}

impl Pins {
    /// Returns a pin that is free, when the first is not.
    #[inline(never)]
    fn another(&self) -> &AtomicU64 {
        let free = self.ids.iter().find(|pinned| pinned.load(Ordering::Relaxed) == 0);
        free.expect("no call uses more handles than there are pins")
    }
}

/// The pins of all threads, and those whose threads have ended.
struct All {
    every: Vec<&'static Pins>,
    idle: Vec<&'static Pins>,
}

static ALL: Mutex<All> = Mutex::new(All { every: Vec::new(), idle: Vec::new() });

/// Gives the pins of a thread back when the thread ends.
struct Lease(&'static Pins);

impl Drop for Lease {
    fn drop(&mut self) {
        OWN.set(None);
        ALL.lock().unwrap_or_else(PoisonError::into_inner).idle.push(self.0);
    }
}

thread_local! {
    /// The pins of this thread. Without a destructor, so that it can be used while others run.
    static OWN: Cell<Option<&'static Pins>> = const { Cell::new(None) };
    static LEASE: Cell<Option<Lease>> = const { Cell::new(None) };
}

#[cold]
fn register() -> &'static Pins {
    let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let pins = match all.idle.pop() {
        Some(pins) => pins,
        None => {
            let needs_fence = !barrier::is_possible();
            let pins: &'static Pins = Box::leak(Box::new(Pins { needs_fence, ..Pins::default() }));
            all.every.push(pins);
            pins
        }
    };
    drop(all);
    OWN.set(Some(pins));
    // While a thread ends this can fail: then the pins serve no other thread.
    let _ = LEASE.try_with(|lease| lease.set(Some(Lease(pins))));
    pins
}

/// A pinned handle, until it is dropped.
pub(super) struct Pin {
    id: &'static AtomicU64,
}

impl Pin {
    /// Pins a handle. Afterwards, a load of its slot's state says if it came in time.
    #[inline]
    pub(super) fn new(id: u64) -> Self {
        let pins = OWN.get().unwrap_or_else(register);
        let is_free = |pinned: &AtomicU64| pinned.load(Ordering::Relaxed) == 0;
        let pinned = if is_free(&pins.ids[0]) { &pins.ids[0] } else { pins.another() };
        pinned.store(id, Ordering::Relaxed);
        // Ordered before the load of the state: either that load sees that the handle was freed, or
        // the thread that frees it sees the pin.
        if pins.needs_fence {
            fence(Ordering::SeqCst);
        } else {
            compiler_fence(Ordering::SeqCst);
        }
        Self { id: pinned }
    }
}

impl Drop for Pin {
    #[inline]
    fn drop(&mut self) {
        self.id.store(0, Ordering::Release);
    }
}

/// Returns the handles that threads have pinned, of those that were freed before the call; `None`
/// if that cannot be found out now.
pub(super) fn pinned() -> Option<Vec<u64>> {
    if !barrier::pass() {
        return None;
    }
    let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
    let ids = all.every.iter().flat_map(|pins| &pins.ids);
    let ids = ids.map(|pinned| pinned.load(Ordering::SeqCst));
    Some(ids.filter(|id| *id != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pins_of_a_thread_that_has_ended_serve_the_next_one() {
        // Other tests have threads of their own, whose pins come and go.
        let count = || ALL.lock().expect("no panic").every.len();
        let before = count();
        for id in 1..200 {
            std::thread::spawn(move || {
                let pin = Pin::new(id << 40);
                let is_pinned = || pinned().expect("a barrier").contains(&(id << 40));
                assert!(is_pinned());
                drop(pin);
                assert!(!is_pinned());
            })
            .join()
            .expect("no panic");
        }
        assert!(count() < before + 100, "{} after {before}", count());
    }
}
