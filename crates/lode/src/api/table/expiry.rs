//! Records that have expired: writes take them for missing, and remove a few others each.

use std::cell::Cell;

use super::Table;
use super::writes::{Records, Request};
use crate::api::steps::{Indexed, Steps};
use crate::engine::{CommitSize, LongTurn};
use crate::error::Result;
use crate::index::{Living, Write};
use crate::table::Walk;

impl Table {
    /// Removes all records that [have expired](crate::Builder::expires), in commits of a
    /// page each. Returns the number of removed records. It is of use for tables that are not
    /// written for long: writes remove expired records, too.
    ///
    /// # Errors
    /// Those of [writing](Table#errors). Some records may be removed then.
    pub fn remove_expired(&self) -> Result<u64> {
        self.core.ensure_open()?;
        self.db.expect_healthy()?;
        let mut removed = 0;
        if self.core.has_expiry() {
            let mut walk = self.core.index.walk();
            while let Some(of_page) = self.sweep_page(&mut walk)? {
                removed += of_page;
            }
        }
        Ok(removed)
    }

    /// Writes the record under a key in order, or a new one in the place of an expired one. Returns
    /// the answer of the write.
    #[inline(never)]
    pub(super) fn write_living<'w, Q: Request<'w>>(
        &self,
        records: &impl Records,
        key: &[u8],
        write: impl Write,
        turn: LongTurn<'_>,
        extra_pages: u64,
    ) -> Result<bool> {
        debug_assert!(self.core.has_expiry(), "other records do not expire");
        let left_us = &Cell::new(None);
        let expired_us = &|payload: &[u8]| self.db.expired_us(&self.core, payload);
        let living = Living { write, expired_us, left_us };
        let answer = self.write_next::<Q>(records, key, living, turn, extra_pages)?;
        debug_assert!(!answer || left_us.get().is_none(), "an expired record is missing");
        left_us.get().into_iter().for_each(|at_us| self.db.leave_out(at_us));
        self.sweep_after(1);
        Ok(answer)
    }

    /// Removes expired records from some pages after writes of some records. An error here comes
    /// again in the operation that needs the space.
    pub(in crate::api) fn sweep_after(&self, writes: u64) {
        if !self.core.has_expiry() {
            return;
        }
        let pages = self.core.sweep.pages_after(writes);
        let Some(mut place) = (pages > 0).then(|| self.core.sweep.try_walk()).flatten() else {
            return;
        };
        for _ in 0..pages {
            debug_assert!(pages <= writes, "no page is looked at without a write");
            let mut walk = place.take().unwrap_or_else(|| self.core.index.walk());
            if matches!(self.sweep_page(&mut walk), Ok(Some(_))) {
                *place = Some(walk);
            }
        }
    }

    /// Removes the expired records of the next page of a walk, in one commit, which does not wait
    /// for its sync. Returns their number; `None` at the end of the walk.
    fn sweep_page(&self, walk: &mut Walk) -> Result<Option<u64>> {
        let is_expired = |payload: &[u8]| self.db.expired_us(&self.core, payload).is_some();
        let Some(keys) = self.next_keys_of(walk, &is_expired)? else { return Ok(None) };
        if keys.is_empty() {
            return Ok(Some(0));
        }
        self.remove_if_expired(&keys).map(Some)
    }

    /// Removes the records under keys in order, as far as they have expired, in one commit, which
    /// does not wait for its sync. Returns their number.
    fn remove_if_expired(&self, keys: &[Vec<u8>]) -> Result<u64> {
        let size = CommitSize { records: keys.len(), bytes: 0 };
        let (removed, _) = self.db.admitted_alone(size, &mut || {
            self.core.ensure_open()?;
            let secondaries = self.core.secondaries();
            secondaries.expect_whole()?;
            let mut steps = Steps::new(&self.db, keys.len() * (1 + secondaries.all.len()));
            let mut removed = 0;
            let all = keys.iter().try_for_each(|key| {
                let payload = self.core.payload_of(self.db.pager(), key)?;
                let is_expired = |payload: &Vec<u8>| {
                    self.core.expect_stored(payload).is_ok()
                        && self.db.expired_us(&self.core, payload).is_some()
                };
                let Some(payload) = payload.filter(is_expired) else { return Ok(()) };
                removed += 1;
                let of = Indexed { table: &self.core, secondaries: &secondaries };
                steps.remove_record(of, key.clone(), payload)
            });
            steps.end(all.map(|()| removed))
        })?;
        debug_assert!(removed <= keys.len() as u64, "each key has at most one record");
        Ok(removed)
    }
}
