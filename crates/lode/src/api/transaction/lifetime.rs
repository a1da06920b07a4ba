//! How long what a transaction has found exists.
//!
//! A record expires without a write. So a transaction notes when the first of those that it has
//! found does. From then on nothing can be read, since no moment has all of it, and the commit
//! is refused.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use super::{Transaction, conflict};
use crate::api::table::Table;
use crate::engine::Engine;
use crate::error::Result;
use crate::table::TableCore;

/// The time at which the first record expires that a transaction has found, in microseconds since
/// the start of 1970; shared by the transaction and its cursors. `None` as long as it has read no
/// table whose records expire.
#[derive(Clone, Default)]
pub(in crate::api) struct Lifetime(Option<Arc<AtomicI64>>);

impl Lifetime {
    fn new() -> Self {
        Self(Some(Arc::new(AtomicI64::new(i64::MAX))))
    }

    /// Fails if a record of those that were found has expired.
    ///
    /// # Errors
    /// `Conflict`.
    fn expect_all(&self, db: &Engine, core: &TableCore) -> Result<()> {
        let first_us = self.0.as_ref().map_or(i64::MAX, |first| first.load(Ordering::Relaxed));
        if db.is_over(first_us) { Err(conflict(core)) } else { Ok(()) }
    }

    /// Returns true if the transaction finds the record with a payload: it has not expired.
    ///
    /// # Errors
    /// `Conflict` when one that it has found before has expired.
    pub(in crate::api) fn is_found(
        &self,
        db: &Engine,
        core: &TableCore,
        payload: &[u8],
    ) -> Result<bool> {
        debug_assert!(self.0.is_some(), "it is of a table whose records expire");
        self.expect_all(db, core)?;
        if !db.is_found(core, payload) {
            return Ok(false);
        }
        if let (Some(first), Some(at_us)) = (&self.0, core.schema().expires_us(payload)) {
            first.fetch_min(at_us, Ordering::Relaxed);
        }
        Ok(true)
    }
}

/// The lifetime of a transaction, and a table that it has read whose records expire.
#[derive(Default)]
pub(super) struct Lifetimes(OnceCell<(Lifetime, Arc<TableCore>)>);

impl Lifetimes {
    /// Fails if a record of those that were found has expired.
    ///
    /// # Errors
    /// `Conflict`.
    pub(super) fn expect_all(&self, db: &Engine) -> Result<()> {
        self.0.get().map_or(Ok(()), |(lifetime, core)| lifetime.expect_all(db, core))
    }
}

impl Transaction {
    /// Returns how long what the transaction has found exists, for a read of a table.
    pub(in crate::api) fn lifetime(&self, core: &Arc<TableCore>) -> Lifetime {
        if !core.has_expiry() {
            return Lifetime::default();
        }
        let (lifetime, _) = self.lifetimes.0.get_or_init(|| (Lifetime::new(), Arc::clone(core)));
        lifetime.clone()
    }

    /// Returns true if the transaction finds the record with a payload.
    ///
    /// # Errors
    /// `Conflict` when one that it has found before has expired.
    pub(super) fn is_found(&self, table: &Table, payload: &[u8]) -> Result<bool> {
        let core = table.core();
        if !core.has_expiry() {
            return Ok(true);
        }
        let found = self.lifetime(core).is_found(&self.db, core, payload);
        found.map_err(|_| self.conflict(core))
    }
}
