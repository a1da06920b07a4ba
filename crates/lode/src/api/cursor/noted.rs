//! The notes of a cursor of a transaction: the part of the table that it has read so far.

use std::cmp::Ordering;
use std::sync::Arc;

use super::Run;
use super::merge::{Own, Written};
use crate::api::transaction::{Lifetime, Scan};
use crate::error::Error;
use crate::table::{KeyKind, TableCore};
use crate::tree::Direction;

/// The transaction of a cursor.
pub(in crate::api) struct Within {
    written: Arc<Written>,
    scan: Arc<Scan>,
    /// True if the user has chosen its moment.
    is_at_snapshot: bool,
    lifetime: Lifetime,
}

impl Within {
    pub(in crate::api) fn new(
        written: Written,
        scan: Arc<Scan>,
        is_at_snapshot: bool,
        lifetime: Lifetime,
    ) -> Self {
        Self { written: Arc::new(written), scan, is_at_snapshot, lifetime }
    }

    /// Returns how long all that the transaction has found exists.
    pub(super) fn lifetime(&self) -> &Lifetime {
        &self.lifetime
    }

    /// Returns the position of a cursor in the writes of the transaction.
    pub(super) fn own(&self, kind: KeyKind, direction: Direction) -> Own {
        Own::new(Arc::clone(&self.written), kind, direction)
    }

    pub(super) fn scan(&self) -> Arc<Scan> {
        Arc::clone(&self.scan)
    }

    /// Notes that the cursor may have read everything.
    pub(super) fn note_all(&self) {
        self.scan.note_all();
    }

    /// Returns the error of a cursor as the transaction has it: if its own moment is gone, it has
    /// to run again.
    pub(super) fn of_transaction(&self, core: &TableCore, error: Error) -> Error {
        match error {
            Error::SnapshotTooOld { .. } if !self.is_at_snapshot => {
                self.scan.lose();
                Error::Conflict { table: core.schema().name().into() }
            }
            other => other,
        }
    }
}

impl Run {
    /// Notes that the walk has come past a page, and that the cursor may have read all of it.
    pub(super) fn note_page(&self) {
        if let Some(noted) = &self.noted
            && let Some(extent) = self.walk.passed()
        {
            noted.note(extent);
        }
    }

    /// Returns the key of the last record in the batch that was passed, or that of a later one of
    /// the transaction.
    fn last_key(&self) -> Option<&[u8]> {
        let passed = self.passed.checked_sub(1)?;
        let at =
            if self.is_forward { passed } else { self.batch.len().checked_sub(self.passed)? };
        let (key, _) = self.batch.record(at);
        let own = self.own.as_ref().and_then(Own::last_key);
        let is_later = |own: &&[u8]| match (*own).cmp(key) {
            Ordering::Greater => self.is_forward,
            Ordering::Less => !self.is_forward,
            Ordering::Equal => false,
        };
        Some(own.filter(is_later).unwrap_or(key))
    }
}

impl Drop for Run {
    /// Notes where the cursor has ended, so that what comes after it may change.
    fn drop(&mut self) {
        if let Some(noted) = &self.noted
            && let Some(last) = self.last_key()
            && let Some(extent) = self.walk.passed_to(last)
        {
            noted.note(extent);
        }
    }
}
