//! The timed loops.
//!
//! Operations are prepared in batches that stay in the processor's cache; only the replay of a
//! batch by the driver is inside the timed span. Each lookup returns into a separate buffer.
//! Between the spans every result is compared, byte by byte, with the expected one; every write is
//! checked by its outcome, and after a round of writes a sample is read back.
//!
//! (A virtual call and the folding of the result into a digest for each operation were measured
//! too: their instructions leave room for fewer cache misses at a time in the processor's window.
//! That cost 80 ns a lookup on a hash table of a million rows.)

use std::hint::black_box;

use assay_driver::Outcome;
use assay_driver::error::{Error, ErrorKind, Result};

use crate::crew::{Spans, Taken};
use crate::latency::Stopwatch;
use crate::round::{Replay, bytes};
use crate::sample::{self, Expected, sample, wrong_answer};
use crate::tape::{Records, TapeHash};

pub use crate::round::{Clock, Round};

/// Operations prepared at a time, at most and at least: many, so that the start and the end of
/// a span do not count, but not more than stay in a first-level cache.
const BATCH_MOST: usize = 1024;
const BATCH_LEAST: usize = 16;
const BATCH_BYTES: usize = 40 * 1024;
/// The most operations of a batch of several threads, for which spans take longer to start and end.
const SHARED_BATCH_MOST: usize = 16 * 1024;
const SHARED_BATCH_BYTES: usize = 1 << 20;

/// The spans and checks of one round.
#[derive(Clone, Debug, Default)]
pub struct Timed {
    /// Operations done.
    pub operations: u64,
    /// The spans on the clock.
    pub spans: Spans,
    /// The hash of the rows visited, in order.
    pub tape: TapeHash,
    /// Results that were compared with the expected ones.
    pub checked: u64,
}

/// The action on each row of a round that is timed operation by operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Insert the row.
    Insert,
    /// Look the row up; a named column has a value that is not known.
    Query {
        /// The column.
        ignored: Option<usize>,
    },
    /// Set a column to its value in a version.
    Update {
        /// The column.
        column: usize,
        /// The version.
        version: u32,
    },
    /// Delete the row.
    Delete,
}

impl Action {
    fn name(self) -> &'static str {
        match self {
            Self::Insert => "insert",
            Self::Query { .. } => "query",
            Self::Update { .. } => "update",
            Self::Delete => "delete",
        }
    }
}

/// Operations between two calls for progress, if they are timed one by one.
const TOLD_EVERY: u64 = 1024;

/// A batch of operations. Its memory is reused for the next batch: allocations between the spans
/// would move the engine's own allocations.
struct Batch {
    /// The most operations that the batch holds.
    most: u64,
    rows: Vec<u64>,
    keys: Vec<u8>,
}

impl Batch {
    /// Returns the batch for the operations of a round, which may be one batch.
    fn of<R: Records>(round: &Round<'_, '_, R>) -> Self {
        let schema = round.records.schema();
        let (bytes, most) = if round.pace.is_shared() {
            (SHARED_BATCH_BYTES, SHARED_BATCH_MOST)
        } else {
            (BATCH_BYTES, BATCH_MOST)
        };
        let most = match round.clock {
            Clock::Stops => (bytes / schema.record_size()).clamp(BATCH_LEAST, most),
            Clock::Continuous => ((round.positions.end - round.positions.start) as usize).max(1),
        };
        Self {
            most: most as u64,
            rows: Vec::with_capacity(most),
            keys: vec![0; most * schema.key_size()],
        }
    }
}

impl<R: Records> Round<'_, '_, R> {
    /// Inserts rows; in one transaction for all if `load`, else in one for each.
    pub fn inserts(mut self, load: bool) -> Result<Timed> {
        let size = self.records.schema().record_size();
        let key_size = self.records.schema().key_size();
        let mut batch = Batch::of(&self);
        let mut packed = vec![0; size * batch.most as usize];
        let mut timed = Timed::default();
        let transaction = load && self.clock.stops();
        if transaction {
            self.pace.span(|| self.connection.begin())?;
        }
        for first in self.positions.clone().step_by(batch.most as usize) {
            self.prepare(first, &mut batch, &mut timed);
            for (row, record) in batch.rows.iter().zip(packed.chunks_exact_mut(size)) {
                let (key, payload) = record.split_at_mut(key_size);
                self.records.key(*row, key);
                self.records.payload(*row, 0, payload);
            }
            let packed = &packed[..size * batch.rows.len()];
            let replay = Replay { load, ..Replay::one_by_one(batch.rows.len()) };
            let done = self.replay(replay, |connection, part| {
                connection.replay_inserts(&packed[bytes(&part, size)], size)
            })?;
            self.expect_all(done, &batch, "insert", "was refused as a duplicate")?;
            (self.progress)(timed.operations);
        }
        if transaction {
            self.pace.span(|| self.connection.commit())?;
        }
        self.read_back(&mut timed, Expected::There { version: 0, ignored: None })?;
        Ok(timed)
    }

    /// Inserts rows in transactions of `size` rows each.
    pub fn batches(mut self, size: u64) -> Result<Timed> {
        let record_size = self.records.schema().record_size();
        let key_size = self.records.schema().key_size();
        let mut batch = Batch::of(&self);
        batch.most = batch.most.next_multiple_of(size);
        let mut packed = vec![0; record_size * batch.most as usize];
        let mut timed = Timed::default();
        for first in self.positions.clone().step_by(batch.most as usize) {
            self.prepare(first, &mut batch, &mut timed);
            for (row, record) in batch.rows.iter().zip(packed.chunks_exact_mut(record_size)) {
                let (key, payload) = record.split_at_mut(key_size);
                self.records.key(*row, key);
                self.records.payload(*row, 0, payload);
            }
            let packed = &packed[..record_size * batch.rows.len()];
            let replay = Replay { together: size, ..Replay::one_by_one(batch.rows.len()) };
            let done = self.replay(replay, |connection, part| {
                let records = &packed[bytes(&part, record_size)];
                let transactions = records.chunks(record_size * size as usize);
                transactions.map(|records| connection.batch(records, record_size)).sum()
            })?;
            self.expect_all(done, &batch, "insert", "was refused as a duplicate")?;
            (self.progress)(timed.operations);
        }
        self.read_back(&mut timed, Expected::There { version: 0, ignored: None })?;
        Ok(timed)
    }

    /// Looks rows up and checks every result. `ignored` names a column whose value is not known,
    /// because an earlier run changed it.
    pub fn queries(mut self, ignored: Option<usize>) -> Result<Timed> {
        let schema = self.records.schema().clone();
        let ignored = ignored.map(|at| {
            let column = &schema.columns()[at];
            let from = column.offset - schema.key_size();
            from..from + column.kind.size_bytes()
        });
        let key_size = schema.key_size();
        let size = schema.payload_size();
        let mut batch = Batch::of(&self);
        let mut answers = vec![0; size * batch.most as usize];
        // The system gives pages when they are first written, which is not to be on the clock.
        black_box(answers.as_mut_slice()).fill(0);
        let mut expected = vec![0; size];
        let mut timed = Timed::default();
        for first in self.positions.clone().step_by(batch.most as usize) {
            self.prepare(first, &mut batch, &mut timed);
            let answers = &mut answers[..size * batch.rows.len()];
            let found = self.replay(Replay::one_by_one(batch.rows.len()), |connection, part| {
                let keys = &batch.keys[bytes(&part, key_size)];
                connection.replay_gets(keys, key_size, &mut answers[bytes(&part, size)], size)
            })?;
            if self.check {
                let mut right = found == batch.rows.len() as u64;
                for (row, answer) in batch.rows.iter().zip(answers.chunks_exact_mut(size)) {
                    self.records.payload(*row, 0, &mut expected);
                    if let Some(range) = &ignored {
                        answer[range.clone()].copy_from_slice(&expected[range.clone()]);
                    }
                    right &= schema.same_payload(&expected, answer);
                }
                if !right {
                    return Err(self.first_wrong(&batch.rows, 0, ignored));
                }
                timed.checked += batch.rows.len() as u64;
            }
            (self.progress)(timed.operations);
        }
        timed.spans = self.pace.finish()?;
        Ok(timed)
    }

    /// Sets `column` of rows to its value in `version`.
    pub fn updates(mut self, column: usize, version: u32) -> Result<Timed> {
        let schema = self.records.schema().clone();
        let size = schema.columns()[column].kind.size_bytes();
        let from = schema.columns()[column].offset - schema.key_size();
        let mut payload = vec![0; schema.payload_size()];
        let mut batch = Batch::of(&self);
        let mut values = vec![0; size * batch.most as usize];
        let mut timed = Timed::default();
        for first in self.positions.clone().step_by(batch.most as usize) {
            self.prepare(first, &mut batch, &mut timed);
            for (row, value) in batch.rows.iter().zip(values.chunks_exact_mut(size)) {
                self.records.payload(*row, version, &mut payload);
                value.copy_from_slice(&payload[from..from + size]);
            }
            let keys = batch.keys.as_slice();
            let key_size = schema.key_size();
            let values = &values[..size * batch.rows.len()];
            let done = self.replay(Replay::one_by_one(batch.rows.len()), |connection, part| {
                let keys = &keys[bytes(&part, key_size)];
                let values = &values[bytes(&part, size)];
                connection.replay_updates(keys, key_size, column, values, size)
            })?;
            self.expect_all(done, &batch, "update", "was not found")?;
            (self.progress)(timed.operations);
        }
        self.read_back(&mut timed, Expected::There { version, ignored: None })?;
        Ok(timed)
    }

    /// Deletes rows.
    pub fn deletes(mut self) -> Result<Timed> {
        let key_size = self.records.schema().key_size();
        let mut batch = Batch::of(&self);
        let mut timed = Timed::default();
        for first in self.positions.clone().step_by(batch.most as usize) {
            self.prepare(first, &mut batch, &mut timed);
            let keys = batch.keys.as_slice();
            let done = self.replay(Replay::one_by_one(batch.rows.len()), |connection, part| {
                connection.replay_deletes(&keys[bytes(&part, key_size)], key_size)
            })?;
            self.expect_all(done, &batch, "delete", "was not found")?;
            (self.progress)(timed.operations);
        }
        self.read_back(&mut timed, Expected::Gone)?;
        Ok(timed)
    }

    /// Does `action` to each row, timed one by one. An operation is prepared before its time comes
    /// and its result is compared after it, all in one span: threads do not wait for each other.
    pub fn one_by_one(
        mut self,
        action: Action,
        mut stopwatch: Stopwatch,
    ) -> Result<(Timed, Stopwatch)> {
        let schema = self.records.schema().clone();
        let key_size = schema.key_size();
        let area = |column: usize| {
            let column = &schema.columns()[column];
            let from = column.offset - key_size;
            from..from + column.kind.size_bytes()
        };
        let mut record = vec![0; schema.record_size()];
        let mut answer = vec![0; schema.payload_size()];
        let mut timed = Timed::default();
        let Self { connection, pace, records, rows, tape, positions, check, progress, .. } =
            &mut self;
        pace.span(|| {
            stopwatch.start();
            for position in positions.clone() {
                let row = rows.row(tape.row(position));
                let (key, payload) = record.split_at_mut(key_size);
                records.key(row, key);
                let version = match action {
                    Action::Update { version, .. } => version,
                    _ => 0,
                };
                records.payload(row, version, payload);
                let outcome = stopwatch.time(0, || match action {
                    Action::Insert => connection.insert(&record),
                    Action::Query { .. } => connection.get(&record[..key_size], &mut answer),
                    Action::Update { column, .. } => {
                        let value = &record[key_size..][area(column)];
                        connection.update(&record[..key_size], column, value)
                    }
                    Action::Delete => connection.delete(&record[..key_size]),
                })?;
                timed.tape.add(row);
                timed.operations += 1;
                if *check && outcome != Outcome::Done {
                    let name = action.name();
                    return Err(wrong_answer(row, &format!("{name} returned {outcome:?}")));
                }
                if let (true, Action::Query { ignored }) = (*check, action) {
                    let expected = &record[key_size..];
                    if let Some(area) = ignored.map(area) {
                        answer[area.clone()].copy_from_slice(&expected[area]);
                    }
                    if let Some(difference) = schema.first_difference(expected, &answer) {
                        return Err(wrong_answer(row, &difference));
                    }
                }
                timed.checked += u64::from(*check);
                if timed.operations.is_multiple_of(TOLD_EVERY) {
                    progress(timed.operations);
                }
            }
            Ok(())
        })?;
        match action {
            Action::Insert => {
                self.read_back(&mut timed, Expected::There { version: 0, ignored: None })?
            }
            Action::Update { version, .. } => {
                self.read_back(&mut timed, Expected::There { version, ignored: None })?
            }
            Action::Delete => self.read_back(&mut timed, Expected::Gone)?,
            Action::Query { .. } => timed.spans = self.pace.finish()?,
        }
        Ok((timed, stopwatch))
    }

    /// Fills the batch with the operations from position `first` on.
    fn prepare(&self, first: u64, batch: &mut Batch, timed: &mut Timed) {
        let key_size = self.records.schema().key_size();
        let positions = first..self.positions.end.min(first + batch.most);
        batch.rows.clear();
        batch.rows.extend(positions.map(|position| self.rows.row(self.tape.row(position))));
        batch.keys.resize(key_size * batch.rows.len(), 0);
        for (row, key) in batch.rows.iter().zip(batch.keys.chunks_exact_mut(key_size)) {
            self.records.key(*row, key);
            timed.tape.add(*row);
        }
        timed.operations += batch.rows.len() as u64;
    }

    fn expect_all(&self, done: u64, batch: &Batch, what: &str, wrong: &str) -> Result<()> {
        let expected = batch.rows.len() as u64;
        if !self.check || done == expected {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::WrongAnswer,
            format!(
                "{what}: {} of {expected} keys {wrong}; the first batch with one begins at row {}",
                expected - done,
                batch.rows[0]
            ),
        ))
    }

    /// Stops the clock and reads a sample of the visited rows back.
    fn read_back(&mut self, timed: &mut Timed, expected: Expected) -> Result<()> {
        timed.spans = self.pace.finish()?;
        let count = self.positions.end - self.positions.start;
        if !self.check {
            return Ok(());
        }
        let rows = self.rows;
        let tape = self.tape;
        let first = self.positions.start;
        let visited = sample(count).map(|position| rows.row(tape.row(first + position)));
        timed.checked += sample::compare(self.connection, self.records, visited, expected)?;
        Ok(())
    }

    /// Looks a batch up again, one by one, to name the first wrong answer.
    fn first_wrong(
        &mut self,
        rows: &[u64],
        version: u32,
        ignored: Option<std::ops::Range<usize>>,
    ) -> Error {
        let schema = self.records.schema();
        let mut key = vec![0; schema.key_size()];
        let mut got = vec![0; schema.payload_size()];
        let mut expected = got.clone();
        for &row in rows {
            self.records.key(row, &mut key);
            self.records.payload(row, version, &mut expected);
            match self.connection.get(&key, &mut got) {
                Ok(Outcome::Done) => {}
                Ok(outcome) => return wrong_answer(row, &format!("returned {outcome:?}")),
                Err(error) => return error,
            }
            if let Some(range) = &ignored {
                got[range.clone()].fill(0);
                expected[range.clone()].fill(0);
            }
            if let Some(difference) = schema.first_difference(&expected, &got) {
                return wrong_answer(row, &difference);
            }
        }
        Error::new(
            ErrorKind::WrongAnswer,
            format!(
                "query: an answer was wrong in the batch that begins at row {}, and right when \
                 asked again",
                rows[0]
            ),
        )
    }
}

impl Timed {
    /// Merges the results of a crew's threads into one.
    pub fn of_crew(crew: Vec<Self>) -> (Self, Taken) {
        let spans: Vec<_> = crew.iter().map(|timed| timed.spans.clone()).collect();
        let mut whole = Self::default();
        for timed in crew {
            whole.operations += timed.operations;
            whole.checked += timed.checked;
            whole.tape.add(timed.tape.value());
        }
        (whole, Spans::taken(&spans))
    }
}
