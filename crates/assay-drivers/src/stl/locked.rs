//! A connection to a container shared with others, which takes the lock for each operation.

use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use assay_driver::error::Result;
use assay_driver::{Connection, Outcome, Scan};

/// `inner` under the store's lock: shared for reads, alone for writes.
pub(super) struct Locked<'s, C> {
    pub(super) inner: C,
    pub(super) lock: &'s RwLock<super::Container>,
}

/// Locks for a read.
fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

/// Locks for a write.
fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<C: Connection> Connection for Locked<'_, C> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let _held = write(self.lock);
        self.inner.insert(record)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let _held = write(self.lock);
        self.inner.upsert(record)
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        let _held = read(self.lock);
        self.inner.get(key, payload)
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let _held = write(self.lock);
        self.inner.update(key, column, value)
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        let _held = write(self.lock);
        self.inner.delete(key)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let _held = read(self.lock);
        self.inner.scan(scan, row)
    }
}
