//! Writes of records of a table with secondary indexes. A record and its entries are written
//! together, with the gate closed: so such a write is a commit, and never meets a conflict.

use std::borrow::Cow;

use super::Table;
use crate::api::steps::{Step, Steps};
use crate::engine::{CommitSize, LongTurn};
use crate::error::{Error, Result};
use crate::index::{Change, Decision, Write};
use crate::wal::LogPosition;

impl Table {
    /// Writes the record under a key in order, and its entries. Returns the answer of the write,
    /// when the change is as durable as the level says. The turn ends before that: long records are
    /// synced together.
    ///
    /// # Errors
    /// `UniqueViolation`, after which nothing has happened; those of [writing](Table#errors).
    #[inline(never)]
    pub(super) fn write_indexed(
        &self,
        key: &[u8],
        write: impl Write,
        turn: LongTurn<'_>,
    ) -> Result<bool> {
        let size = CommitSize { records: 1, bytes: write.most_bytes() };
        let (answer, end) = self.db.admitted_alone(size, &mut || {
            self.core.ensure_open()?;
            let secondaries = self.core.secondaries();
            secondaries.expect_whole()?;
            let seen = self.core.payload_of(self.db.pager(), key)?;
            seen.as_ref().map_or(Ok(()), |payload| self.core.expect_stored(payload))?;
            let mut found = seen.clone();
            let Decision { answer, change } = write.decide(found.as_mut());
            let wanted = match change {
                None => return Ok((answer, LogPosition::default())),
                Some(Change::Put(payload)) => Some(Cow::Borrowed(payload)),
                Some(Change::Patch { at, bytes }) => {
                    let mut payload = seen.clone().unwrap_or_default();
                    payload[at..][..bytes.len()].copy_from_slice(bytes);
                    Some(Cow::Owned(payload))
                }
                Some(Change::Delete) => None,
            };
            let mut steps = Steps::new(&self.db, 1 + 2 * secondaries.all.len());
            let seen = seen.as_deref().map(Cow::Borrowed);
            let step = Step { core: &self.core, key: Cow::Borrowed(key), seen, wanted };
            let taken = steps.take_indexed(step, &secondaries);
            debug_assert!(taken != Ok(false), "nobody has written in between");
            steps.end(taken.map(|_| answer))
        })?;
        drop(turn);
        self.db.acknowledge(end).map_err(Error::after_effect)?;
        Ok(answer)
    }
}
