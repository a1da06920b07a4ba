//! Scans of a transaction: the table as it is, with what the transaction wrote in its place.

use std::cmp::Ordering;
use std::ops::Bound;

use super::Transaction;
use crate::api::Snapshot;
use crate::api::Table;
use crate::error::Result;
use crate::table::{Rows, Scan, TableCore};
use crate::tree::{Direction, Range};

/// What is shown of a scan: a key in order, and its payload, or none where the transaction has
/// deleted it. It answers whether to go on.
type Show<'s> = dyn FnMut(&[u8], Option<&[u8]>) -> Result<bool> + 's;

impl Transaction {
    /// As [`Table::scan`], with what this transaction has written so far.
    ///
    /// A commit does not look at what scans came by: [get](Self::payload) what must not change
    /// until then.
    ///
    /// # Errors
    /// As [`Table::scan`].
    pub fn scan(
        &self,
        table: &Table,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.expect_own(table)?;
        let core = table.core();
        let range = core.range(scan)?;
        let mut rows = Rows::new(core, scan, visit)?;
        let show = &mut |key: &[u8], payload: Option<&[u8]>| rows.show(key, payload);
        self.each_in(table, (&range, scan.direction()), scan.limit, show)
    }

    /// Shows the records of a range; `show` counts them, if there is a limit.
    pub(crate) fn each_in(
        &self,
        table: &Table,
        (range, direction): (&Range, Direction),
        limit: u64,
        show: &mut Show<'_>,
    ) -> Result<()> {
        self.expect_own(table)?;
        let snapshot = Snapshot::new(self.db.clone());
        let core = snapshot.core(table)?;
        if limit == 0 {
            return Ok(());
        }
        let mut own = self.written_in(core, range, direction).into_iter().peekable();
        let mut more = true;
        snapshot.each_in(core, (range, direction), &mut |key, payload| {
            while more && let Some((own_key, state)) = own.peek() {
                let order = match direction {
                    Direction::Forward => (**own_key).cmp(key),
                    Direction::Backward => key.cmp(*own_key),
                };
                if order == Ordering::Greater {
                    break;
                }
                more = show(own_key, *state)?;
                own.next();
                if order == Ordering::Equal {
                    return Ok(more);
                }
            }
            more = more && show(key, Some(payload))?;
            Ok(more)
        })?;
        for (key, state) in own {
            more = more && show(key, state)?;
        }
        Ok(())
    }

    /// What the transaction wrote in a range, in the order of a scan.
    fn written_in(
        &self,
        core: &TableCore,
        range: &Range,
        direction: Direction,
    ) -> Vec<(&[u8], Option<&[u8]>)> {
        let touched = self.tables.iter().find(|touched| touched.core().id() == core.id());
        let Some(touched) = touched else { return Vec::new() };
        let mut written = touched.written_in((slice_of(&range.lower), slice_of(&range.upper)));
        if direction == Direction::Backward {
            written.reverse();
        }
        written
    }
}

fn slice_of(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}
