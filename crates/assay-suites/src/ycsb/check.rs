//! Checks that the fields that were read are those that were written.
//!
//! Every field names the operation that wrote it. That operation is a function of its position, so
//! the check can tell if it writes this field of this record; and within a thread, positions give
//! the order of operations.

use assay_core::random::draw;
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::Records;
use assay_driver::error::Result;
use assay_driver::{Connection, Outcome};

use super::clients::{Clients, Moment, Round, wrong};
use super::users::Users;
use super::workload::own_row;

/// The number of records of each kind that are checked at the end.
const SAMPLE: u64 = 512;

impl Clients<'_> {
    /// Checks a record that a thread read at a moment; no thread and moment: after all rounds.
    pub(super) fn check_read(
        &self,
        row: u64,
        answer: &[u8],
        reader: Option<(usize, Moment)>,
    ) -> Result<()> {
        let schema = self.users.schema();
        let mut expected = vec![0; schema.columns()[1].kind.size_bytes()];
        self.check_whole(row, self.users.stamps(answer))?;
        for (column, field) in schema.payload_columns().iter().zip(0..) {
            let text = &answer[column.offset - schema.key_size()..][..expected.len()];
            let stamp = Users::stamp(text).ok_or_else(|| {
                wrong(row, &format!("{} is nothing that was written", column.name))
            })?;
            self.users.field(row, field, stamp, &mut expected);
            if expected != text {
                return Err(wrong(
                    row,
                    &format!("{} is not what operation {stamp} wrote", column.name),
                ));
            }
            self.check_stamp(row, field, stamp, reader)?;
        }
        Ok(())
    }

    /// Checks that all fields of a record are of one operation, if operations write whole records.
    pub(super) fn check_whole(
        &self,
        row: u64,
        mut stamps: impl Iterator<Item = Option<u64>>,
    ) -> Result<()> {
        let first = stamps.next();
        if self.core.writes_all && stamps.any(|stamp| Some(stamp) != first) {
            return Err(wrong(
                row,
                "its fields are of several operations, which write all of them",
            ));
        }
        Ok(())
    }

    /// Checks that the operation with a stamp writes a field of a record, and did so before a
    /// thread read it.
    pub(super) fn check_stamp(
        &self,
        row: u64,
        field: u32,
        stamp: u64,
        reader: Option<(usize, Moment)>,
    ) -> Result<()> {
        if stamp == 0 {
            return Ok(());
        }
        let Some((written, operation)) = self.writer(stamp) else {
            return Err(wrong(row, &format!("field{field} is of no operation")));
        };
        let is_its = self.core.writes_all || operation.field == field;
        let wrote = operation.kind.writes_a_field() && operation.row == row && is_its;
        let from_the_future = reader.is_some_and(|(thread, own)| {
            self.positions(written.round, thread).contains(&written.position) && written >= own
        });
        if wrote && !from_the_future {
            return Ok(());
        }
        Err(wrong(row, &format!("field{field} cannot have come from operation {stamp} yet")))
    }

    /// Checks a sample of the records at the end: each field must hold what one of the threads
    /// wrote last, since no other write can have been the last of all. The round for the throughput
    /// was repeated `repeats` times. Then checks a sample of the inserted records. Returns the
    /// number of records that were checked.
    pub(super) fn look_at_all(&self, connection: &mut dyn Connection, repeats: u32) -> Result<u64> {
        let updated = self.lost_updates(connection, repeats)?;
        // Without updates, inserted records are those that were inserted.
        Ok(updated + if self.core.updates() { 0 } else { self.lost_inserts(connection)? })
    }

    /// Checks a sample of the records that each thread inserted: nothing has changed them since.
    fn lost_inserts(&self, connection: &mut dyn Connection) -> Result<u64> {
        let looked_at = (0..self.threads as usize).map(|thread| {
            let rows = sample(self.inserted(thread))
                .map(|nth| own_row(self.users.loaded, self.threads, thread, nth));
            let expected = Expected::There { version: 0, ignored: None };
            compare(connection, self.users, rows, expected)
        });
        looked_at.sum()
    }

    fn lost_updates(&self, connection: &mut dyn Connection, repeats: u32) -> Result<u64> {
        let schema = self.users.schema();
        let fields = schema.payload_columns().len();
        let rows: Vec<u64> = {
            // The first operations' records are more likely to have been written often; others need
            // not have been written at all.
            let count = self.operations(Round::FIRST);
            let mut rows: Vec<_> = (0..SAMPLE.min(count))
                .map(|at| draw(1, at, count))
                .map(|position| self.operation(Round::FIRST, position).row)
                .filter(|&row| row < self.users.loaded)
                .collect();
            rows.extend(sample(self.users.loaded).take(SAMPLE as usize));
            if self.core.updates() {
                for thread in 0..self.threads as usize {
                    let inserted = sample(self.inserted(thread)).take(SAMPLE as usize);
                    let row = |nth| own_row(self.users.loaded, self.threads, thread, nth);
                    rows.extend(inserted.map(row));
                }
            }
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        // The last stamp of each thread for each field of each of these records.
        let threads = self.threads as usize;
        let mut last = vec![0; rows.len() * fields * threads];
        // Each attempt writes all that the previous one wrote.
        let rounds = [Round::Throughput { attempt: repeats }, Round::Latencies];
        let parts = rounds.into_iter().flat_map(|r| (0..threads).map(move |t| (r, t)));
        for (round, thread) in parts {
            self.walk(round, thread, &mut |position, operation| {
                if !operation.kind.writes_a_field() {
                    return;
                }
                let Ok(at) = rows.binary_search(&operation.row) else { return };
                let field = operation.field as usize;
                let written = if self.core.writes_all { 0..fields } else { field..field + 1 };
                for field in written {
                    let place = (at * fields + field) * threads + thread;
                    last[place] = self.stamp(Moment { round, position });
                }
            });
        }
        let mut key = vec![0; schema.key_size()];
        let mut answer = vec![0; schema.payload_size()];
        for (at, row) in rows.iter().enumerate() {
            self.users.key(*row, &mut key);
            if connection.get(&key, &mut answer)? != Outcome::Done {
                return Err(wrong(*row, "is missing in the end"));
            }
            self.check_read(*row, &answer, None)?;
            for (column, field) in schema.payload_columns().iter().zip(0..) {
                let text = &answer[column.offset - schema.key_size()..];
                let stamp = Users::stamp(text).unwrap_or_default();
                let candidates = &last[(at * fields + field) * threads..][..threads];
                let untouched = candidates.iter().all(|&stamp| stamp == 0);
                if !(candidates.contains(&stamp) && (stamp > 0 || untouched)) {
                    return Err(wrong(*row, &format!("{} has lost an update", column.name)));
                }
            }
        }
        Ok(rows.len() as u64)
    }
}
