//! A value that only one connection uses.

use std::cell::{RefCell, RefMut};

/// A value that only the functions of one connection touch, one after another.
pub(crate) struct Confined<T>(RefCell<T>);

// SAFETY: `rusqlite` wants what a module keeps to be `Sync`. But a session belongs to one
// connection, and nothing else borrows it; and SQLite has one call of a connection at a time. It
// holds the connection's mutex during the call. Where it has none (its "multi-thread mode"), a
// program may not use a connection in two threads at once.
#[expect(unsafe_code)]
unsafe impl<T: Send> Sync for Confined<T> {}

impl<T> Confined<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(RefCell::new(value))
    }

    /// Borrows the value until the function returns: no function of a connection is called in
    /// another.
    ///
    /// # Panics
    /// If the value is borrowed already.
    pub(crate) fn borrow(&self) -> RefMut<'_, T> {
        self.0.borrow_mut()
    }
}
