//! A table of objects under handles. A slot is used again, but its generation goes up with each
//! object, so that a handle is of one object only: one that was freed, or that never was, is found
//! out without a look at the object. Slots never move, and are never freed.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::pins::{Pin, pinned};

/// Slots of the first chunk; each chunk has twice as many as the one before.
const FIRST_SLOTS: usize = 64;

/// Chunks: together they have fewer than 2^28 slots.
const CHUNKS: usize = 22;

/// Bits of an id that say of what kind the object is.
const KIND_BITS: u32 = 4;

/// Bits of a state below the generation.
const FLAG_BITS: u32 = 2;

/// The flag of an object that a call uses alone.
const BUSY: u64 = 1;

/// The flag of an object in which a call has panicked.
const BROKEN: u64 = 2;

/// The reason why an object cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unusable {
    /// The id is that of no object, or of one that was freed.
    Gone,
    /// Another call uses the object.
    Busy,
    /// A call has panicked while it used the object.
    Broken,
}

/// Returns the number of the kind of object that an id says it is of.
#[inline]
pub(crate) fn kind_of(id: u64) -> u8 {
    id as u8 & ((1 << KIND_BITS) - 1)
}

/// A place for an object.
struct Slot<T> {
    /// The generation, which is odd while there is an object, and flags.
    state: AtomicU64,
    object: UnsafeCell<Option<T>>,
}

/// The slots that can be used again.
#[derive(Default)]
struct Stock {
    /// Slots that have been used at least once.
    used: usize,
    /// The slots without an object.
    free: Vec<usize>,
    /// The objects whose handle was freed while a call used them, with their ids.
    retired: Vec<(usize, u64)>,
}

/// All objects of a kind.
struct Registry<T> {
    kind: u8,
    chunks: [OnceLock<Box<[Slot<T>]>>; CHUNKS],
    stock: Mutex<Stock>,
}

// SAFETY: an object is reached by one thread at a time (`ExclusiveRegistry`), or is `Sync`
// (`SharedRegistry`); `insert` and `take` move it between threads, for which `Send` is enough.
#[allow(unsafe_code)]
unsafe impl<T: Send> Sync for Slot<T> {}

impl<T: Send> Registry<T> {
    const fn new(kind: u8) -> Self {
        assert!(kind > 0 && kind < 1 << KIND_BITS, "an id of zero is no object");
        let stock = Stock { used: 0, free: Vec::new(), retired: Vec::new() };
        Self { kind, chunks: [const { OnceLock::new() }; CHUNKS], stock: Mutex::new(stock) }
    }

    /// Returns the chunk of a slot, and the place in it.
    #[inline]
    fn place(at: usize) -> (usize, usize) {
        let chunk = (at / FIRST_SLOTS + 1).ilog2() as usize;
        (chunk, at - FIRST_SLOTS * ((1 << chunk) - 1))
    }

    #[inline]
    fn slot(&self, at: usize) -> Option<&Slot<T>> {
        let (chunk, place) = Self::place(at);
        self.chunks.get(chunk)?.get()?.get(place)
    }

    /// Returns the slot that an id names, its place, and the state that it has while the object is
    /// there and unused.
    #[inline]
    fn slot_of(&self, id: u64) -> Result<(&Slot<T>, usize, u64), Unusable> {
        let at = (id as u32 >> KIND_BITS) as usize;
        let generation = id >> 32;
        if kind_of(id) != self.kind || generation.is_multiple_of(2) {
            return Err(Unusable::Gone);
        }
        let slot = self.slot(at).ok_or(Unusable::Gone)?;
        Ok((slot, at, generation << FLAG_BITS))
    }

    /// Keeps an object; returns its id. Gives it back if there are too many.
    fn insert(&self, object: T) -> Result<u64, T> {
        self.drop_retired();
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let at = stock.free.pop().unwrap_or_else(|| {
            stock.used += 1;
            stock.used - 1
        });
        drop(stock);
        let (chunk, place) = Self::place(at);
        let Some(chunk_slots) = self.chunks.get(chunk) else { return Err(object) };
        let slots = chunk_slots.get_or_init(|| {
            let empty = || Slot { state: AtomicU64::new(0), object: UnsafeCell::new(None) };
            std::iter::repeat_with(empty).take(FIRST_SLOTS << chunk).collect()
        });
        let slot = &slots[place];
        let generation = (slot.state.load(Ordering::Acquire) >> FLAG_BITS) + 1;
        debug_assert!(generation % 2 == 1, "a free slot has no object");
        // SAFETY: the slot is free, so no id leads to it, and only this call took it from the
        // stock.
        #[allow(unsafe_code)]
        unsafe {
            *slot.object.get() = Some(object);
        }
        slot.state.store(generation << FLAG_BITS, Ordering::SeqCst);
        Ok(generation << 32 | (at as u64) << KIND_BITS | u64::from(self.kind))
    }

    /// Makes an id invalid, unless a call uses the object alone. Returns the slot and its place.
    fn invalidate(&self, id: u64) -> Result<(&Slot<T>, usize), Unusable> {
        let (slot, at, live) = self.slot_of(id)?;
        let next = ((live >> FLAG_BITS) + 1) << FLAG_BITS;
        let exchange =
            |from| slot.state.compare_exchange(from, next, Ordering::SeqCst, Ordering::SeqCst);
        match exchange(live) {
            Ok(_) => Ok((slot, at)),
            Err(state) if state == live | BROKEN => {
                exchange(state).map(|_| (slot, at)).map_err(|_| Unusable::Gone)
            }
            Err(state) => Err(Self::why(state, live)),
        }
    }

    /// Returns the reason why an object cannot be used whose state is not `live`.
    fn why(state: u64, live: u64) -> Unusable {
        match state ^ live {
            BUSY => Unusable::Busy,
            BROKEN => Unusable::Broken,
            _ => Unusable::Gone,
        }
    }

    /// Takes the object out of a slot whose id is invalid, and lets the slot be used again.
    fn empty(&self, slot: &Slot<T>, at: usize, stock: &mut Stock) -> Option<T> {
        // SAFETY: the id was made invalid by this call, or by one that left the slot to this one,
        // and no call uses the object: none has pinned it, or it was not busy.
        #[allow(unsafe_code)]
        let object = unsafe { (*slot.object.get()).take() };
        // An id has 32 bits of generation. The last one is of no object.
        if slot.state.load(Ordering::Relaxed) >> FLAG_BITS < u64::from(u32::MAX - 1) {
            stock.free.push(at);
        }
        object
    }

    /// Drops the objects whose handles were freed while calls used them, if no call does now.
    fn drop_retired(&self) {
        let mut stock = self.stock.lock().unwrap_or_else(PoisonError::into_inner);
        if stock.retired.is_empty() {
            return;
        }
        let Some(pinned) = pinned() else { return };
        let retired = std::mem::take(&mut stock.retired);
        let (still, unused): (Vec<_>, Vec<_>) =
            retired.into_iter().partition(|(_, id)| pinned.contains(id));
        stock.retired = still;
        let slots = unused.iter().filter_map(|(at, _)| Some((self.slot(*at)?, *at)));
        let objects: Vec<_> = slots.map(|(slot, at)| self.empty(slot, at, &mut stock)).collect();
        // Dropping an object can take long.
        drop(stock);
        drop(objects);
    }
}

/// Objects that any number of calls may use at the same time.
pub(crate) struct SharedRegistry<T>(Registry<T>);

/// An object that calls share.
pub(crate) struct Shared<'r, T> {
    object: &'r T,
    _pin: Pin,
}

impl<T> std::ops::Deref for Shared<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.object
    }
}

impl<T: Send + Sync> SharedRegistry<T> {
    pub(crate) const fn new(kind: u8) -> Self {
        Self(Registry::new(kind))
    }

    /// Keeps an object; returns its id. Gives it back if there are too many.
    pub(crate) fn insert(&self, object: T) -> Result<u64, T> {
        self.0.insert(object)
    }

    /// Returns the object of an id, which is not dropped as long as it is used.
    #[inline]
    pub(crate) fn share(&self, id: u64) -> Result<Shared<'_, T>, Unusable> {
        let (slot, _, live) = self.0.slot_of(id)?;
        let pin = Pin::new(id);
        if slot.state.load(Ordering::Acquire) != live {
            return Err(Unusable::Gone);
        }
        // SAFETY: the handle was valid after it was pinned. So the object stays until the pin is
        // dropped, and nothing changes it: shared objects are never locked.
        #[allow(unsafe_code)]
        let object = unsafe { (*slot.object.get()).as_ref() };
        let object = object.expect("a valid handle has an object");
        Ok(Shared { object, _pin: pin })
    }

    /// Makes an id invalid, and drops its object: now, or later if other calls use it.
    pub(crate) fn free(&self, id: u64) -> Result<(), Unusable> {
        let (_, at) = self.0.invalidate(id)?;
        self.0.stock.lock().unwrap_or_else(PoisonError::into_inner).retired.push((at, id));
        self.0.drop_retired();
        Ok(())
    }
}

/// Objects that one call at a time may use.
pub(crate) struct ExclusiveRegistry<T>(Registry<T>);

/// An object that one call uses.
pub(crate) struct Locked<'r, T> {
    slot: &'r Slot<T>,
    live: u64,
}

impl<T> std::ops::Deref for Locked<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this call has set the flag `BUSY`, so no other uses or frees the object.
        #[allow(unsafe_code)]
        let object = unsafe { (*self.slot.object.get()).as_ref() };
        object.expect("a valid handle has an object")
    }
}

impl<T> std::ops::DerefMut for Locked<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this call has set the flag `BUSY`, so no other uses or frees the object.
        #[allow(unsafe_code)]
        let object = unsafe { (*self.slot.object.get()).as_mut() };
        object.expect("a valid handle has an object")
    }
}

impl<T> Drop for Locked<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let broken = if std::thread::panicking() { BROKEN } else { 0 };
        self.slot.state.store(self.live | broken, Ordering::Release);
    }
}

impl<T: Send> ExclusiveRegistry<T> {
    pub(crate) const fn new(kind: u8) -> Self {
        Self(Registry::new(kind))
    }

    /// Keeps an object; returns its id. Gives it back if there are too many.
    pub(crate) fn insert(&self, object: T) -> Result<u64, T> {
        self.0.insert(object)
    }

    /// Returns the object of an id. Until it is dropped, no other call can use it.
    #[inline]
    pub(crate) fn lock(&self, id: u64) -> Result<Locked<'_, T>, Unusable> {
        let (slot, _, live) = self.0.slot_of(id)?;
        let locked =
            slot.state.compare_exchange(live, live | BUSY, Ordering::Acquire, Ordering::Relaxed);
        match locked {
            Ok(_) => Ok(Locked { slot, live }),
            Err(state) => Err(Registry::<T>::why(state, live)),
        }
    }

    /// Makes an id invalid, and returns its object.
    pub(crate) fn take(&self, id: u64) -> Result<T, Unusable> {
        let (slot, at) = self.0.invalidate(id)?;
        let mut stock = self.0.stock.lock().unwrap_or_else(PoisonError::into_inner);
        let object = self.0.empty(slot, at, &mut stock);
        Ok(object.expect("a valid handle has an object"))
    }
}

#[cfg(test)]
mod tests;
