//! The time for which records that a transaction has found exist.
//!
//! A record expires without a write. So a transaction notes when the first of those that it has
//! found does. From then on nothing can be read, since no moment has all of it, and the commit
//! is refused.

use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

use super::{Transaction, conflict};
use crate::api::table::Table;
use crate::engine::Engine;
use crate::error::Result;
use crate::table::TableCore;

/// The lifetime of all that a transaction has found; shared by the transaction and its cursors.
/// `None` as long as it has read no table whose records expire.
#[derive(Clone, Default)]
pub(in crate::api) struct Lifetime(Option<Arc<Found>>);

/// The expiry of the records that a transaction has found.
struct Found {
    /// The time at which the first of them expires, in microseconds since the start of 1970.
    first_us: AtomicI64,
    /// True if one was seen to have expired: no moment has all of them.
    is_lost: AtomicBool,
}

impl Lifetime {
    fn new() -> Self {
        let first_us = AtomicI64::new(i64::MAX);
        let is_lost = AtomicBool::new(false);
        Self(Some(Arc::new(Found { first_us, is_lost })))
    }

    /// Returns true if a record was seen to have expired that was found before.
    fn is_lost(&self) -> bool {
        self.0.as_ref().is_some_and(|found| found.is_lost.load(Ordering::Relaxed))
    }

    /// Fails if a record of those that were found has expired.
    ///
    /// # Errors
    /// `Conflict`.
    fn expect_all(&self, db: &Engine, core: &TableCore) -> Result<()> {
        let Some(found) = &self.0 else { return Ok(()) };
        if db.is_over(found.first_us.load(Ordering::Relaxed)) {
            found.is_lost.store(true, Ordering::Relaxed);
        }
        if self.is_lost() { Err(conflict(core)) } else { Ok(()) }
    }

    /// Returns the time at which the record with a payload expired; `None` if the transaction finds
    /// it.
    ///
    /// # Errors
    /// `Conflict` when one that it has found before has expired.
    pub(in crate::api) fn expired_us(
        &self,
        db: &Engine,
        core: &TableCore,
        payload: &[u8],
    ) -> Result<Option<i64>> {
        debug_assert!(self.0.is_some(), "it is of a table whose records expire");
        let expired_us = db.expired_us(core, payload);
        // After that: so all that was found before exists at a time at which this has expired.
        self.expect_all(db, core)?;
        if let (None, Some(found), Some(at_us)) =
            (expired_us, &self.0, core.schema().expires_us(payload))
        {
            found.first_us.fetch_min(at_us, Ordering::Relaxed);
        }
        Ok(expired_us)
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

    /// Returns the table with a record that was seen to have expired after it was found.
    pub(super) fn lost(&self) -> Option<&TableCore> {
        self.0.get().filter(|(lifetime, _)| lifetime.is_lost()).map(|(_, core)| &**core)
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
        let expired_us = self.lifetime(core).expired_us(&self.db, core, payload)?;
        expired_us.into_iter().for_each(|at_us| self.db.leave_out(at_us));
        Ok(expired_us.is_none())
    }
}
