//! Locks for keys, for engines that cannot change an existing record, or whose transactions do not
//! keep others out: their update is a lookup and a write, and no other thread's write to that key
//! may come between.
//!
//! With one thread there are no locks, and nothing is locked.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of locks that share the keys: threads seldom meet, yet one can take all.
const LOCKS: usize = 256;

/// Locks by the hash of the key.
pub(crate) struct KeyLocks {
    locks: Vec<Mutex<()>>,
}

impl KeyLocks {
    pub(crate) fn new(threads: u32) -> Self {
        let count = if threads > 1 { LOCKS } else { 0 };
        Self { locks: (0..count).map(|_| Mutex::new(())).collect() }
    }

    /// Returns the words of the results about the locks, if there are any.
    pub(crate) fn setting(&self) -> Option<String> {
        let locks = self.locks.len();
        (locks > 0).then(|| format!("writers of a key take one of {locks} locks of the driver"))
    }

    /// Keeps other writers of this key out until the guard is dropped.
    pub(crate) fn lock(&self, key: &[u8]) -> Option<MutexGuard<'_, ()>> {
        if self.locks.is_empty() {
            return None;
        }
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let at = hasher.finish() as usize % self.locks.len();
        Some(guard(&self.locks[at]))
    }

    /// Keeps every other writer out, for a transaction. All take the locks in the same order.
    pub(crate) fn lock_all(&self) -> Vec<MutexGuard<'_, ()>> {
        self.locks.iter().map(guard).collect()
    }
}

/// Locks a mutex. It protects no data, so a writer that panicked leaves nothing broken.
fn guard(lock: &Mutex<()>) -> MutexGuard<'_, ()> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_locks_nothing() {
        let locks = KeyLocks::new(1);
        assert!(locks.lock(b"key").is_none());
        assert!(locks.lock_all().is_empty());
    }

    #[test]
    fn a_lock_keeps_other_writers_of_the_key_out() {
        let locks = KeyLocks::new(8);
        let held = locks.lock(b"key");
        let others = locks.locks.iter().filter(|lock| lock.try_lock().is_ok()).count();
        assert_eq!(others, LOCKS - 1);
        drop(held);
        assert_eq!(locks.lock_all().len(), LOCKS);
    }
}
