//! Records that have expired.
//!
//! A read leaves out a record whose time is over, and from then on that stays gone, whatever the
//! clock says: the *horizon* is the latest time at which such a record expired. It is logged before
//! the read returns.

use std::iter::once;

use super::Engine;
use crate::table::TableCore;
use crate::wal::LogRecord;

impl Engine {
    /// Returns the time at which the record with a payload expired; `None` if it has not.
    pub(crate) fn expired_us(&self, table: &TableCore, payload: &[u8]) -> Option<i64> {
        table.schema().expires_us(payload).filter(|at_us| self.is_over(*at_us))
    }

    /// Returns true if what expires at a time has expired.
    pub(crate) fn is_over(&self, at_us: i64) -> bool {
        self.horizon.includes(at_us) || at_us <= self.settings.clock.now_us()
    }

    /// Returns true if a read finds the record with a payload. One that has expired stays gone from
    /// then on, so this must not be asked while the gate is closed, or inside it.
    pub(crate) fn is_found(&self, table: &TableCore, payload: &[u8]) -> bool {
        let expired_us = self.expired_us(table, payload);
        expired_us.into_iter().for_each(|at_us| self.leave_out(at_us));
        expired_us.is_none()
    }

    /// Notes that records which expire up to a time have expired, whatever the clock says later. If
    /// it cannot be written, this process knows it alone.
    pub(crate) fn leave_out(&self, at_us: i64) {
        if self.horizon.includes(at_us) {
            return;
        }
        let noted =
            self.store.as_ref().filter(|store| !store.is_read_only()).map_or(Ok(()), |_| {
                self.admitted(0, &mut || {
                    let _alone = self.gate.close();
                    // What is closed is not written any more, and may be another process's.
                    self.expect_open()?;
                    self.expect_healthy()?;
                    self.append(once(LogRecord::Expired { until_us: at_us }))?;
                    debug_assert!(self.store.is_some(), "what is in memory only is not logged");
                    // A checkpoint that has not the record of the log has this.
                    self.horizon.raise(at_us);
                    Ok(())
                })
            });
        // A disk that fails is reported to writers.
        let _ = noted;
        self.horizon.raise(at_us);
        debug_assert!(self.is_over(at_us), "a record that was left out stays so");
    }
}
