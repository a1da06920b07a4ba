//! A batch of operations: prepared off the clock, performed on it, and compared after it.

use std::ops::{Bound, Range};
use std::time::{Duration, Instant};

use assay_core::tape::Records as _;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

use super::model::State;
use super::records::{Records, STAMP_SIZE};
use super::spec::Kind;
use super::tape::Operation;

/// Records in arenas start at multiples of this, as those of a C compiler do.
const ALIGN: usize = 8;

/// A record that a scan found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanned {
    /// The place of the scan in the batch.
    pub(super) at: usize,
    /// The number at the front of the value; none if the value is too short for it.
    pub(super) stamp: Option<[u8; STAMP_SIZE]>,
    /// A digest of the value.
    pub(super) digest: u64,
}

/// Operations, with the bytes that they need. Its memory is reused.
pub(super) struct Batch {
    pub(super) operations: Vec<Operation>,
    /// The key area of each operation.
    keys: Vec<u8>,
    key_size: usize,
    /// New values, and whole records.
    values: Vec<u8>,
    value_at: Vec<usize>,
    values_used: usize,
    /// The answers of reads, one after another.
    answers: Vec<u8>,
    answer_at: Vec<usize>,
    answers_used: usize,
    pub(super) outcomes: Vec<Outcome>,
    pub(super) scanned: Vec<Scanned>,
    scanned_keys: Vec<u8>,
    /// The moments of an open loop at which operations are due.
    pub(super) dues: Vec<Duration>,
    /// The moment at which the batch started, and those at which each operation and each
    /// transaction ended.
    pub(super) started: Instant,
    pub(super) ends: Vec<Instant>,
    pub(super) commits: Vec<Instant>,
    /// The transactions that the engine refused, and that were done again.
    pub(super) conflicts: u64,
}

/// The most attempts at a transaction.
const ATTEMPTS: u32 = 10_000;

/// The way in which a batch is performed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// The number of operations in a transaction.
    pub(super) together: usize,
    /// True if an upsert is the engine's insert, which replaces.
    pub(super) inserts_replace: bool,
    /// The time on the phase's clock at which the batch starts.
    pub(super) base: Duration,
}

impl Batch {
    pub(super) fn new(records: &Records) -> Self {
        Self {
            operations: Vec::new(),
            keys: Vec::new(),
            key_size: records.schema().key_size(),
            values: vec![0; records.schema().record_size()],
            value_at: Vec::new(),
            values_used: 0,
            answers: vec![0; records.schema().payload_size()],
            answer_at: Vec::new(),
            answers_used: 0,
            outcomes: Vec::new(),
            scanned: Vec::new(),
            scanned_keys: Vec::new(),
            dues: Vec::new(),
            started: Instant::now(),
            ends: Vec::new(),
            commits: Vec::new(),
            conflicts: 0,
        }
    }

    /// Empties the batch. Answers are wiped, so that none can be taken for a later one.
    pub(super) fn clear(&mut self) {
        self.operations.clear();
        self.keys.clear();
        self.value_at.clear();
        self.values_used = 0;
        let used = self.answers.len().min(self.answers_used + ALIGN);
        self.answers[..used].fill(0);
        self.answer_at.clear();
        self.answers_used = 0;
        self.outcomes.clear();
        self.scanned.clear();
        self.scanned_keys.clear();
        self.dues.clear();
        self.ends.clear();
        self.commits.clear();
        self.conflicts = 0;
    }

    /// Returns the bytes of the prepared values.
    pub(super) fn bytes(&self) -> usize {
        self.values_used
    }

    /// Adds an operation, with its key and value.
    pub(super) fn add(&mut self, operation: Operation, records: &Records) {
        let key_at = self.keys.len();
        self.keys.resize(key_at + self.key_size, 0);
        let key = &mut self.keys[key_at..];
        match operation.kind {
            Kind::Missing => records.write_absent(operation.row, key),
            _ => records.write_key(operation.row, key),
        }
        self.value_at.push(self.values_used);
        // An operation on an absent record writes what nobody keeps.
        let version = operation.after.map_or(0, State::version);
        if operation.kind.writes() && operation.kind != Kind::Delete {
            let whole = matches!(operation.kind, Kind::Insert | Kind::Upsert);
            let front = if whole { self.key_size } else { 0 };
            let size = front + records.packed_bytes(operation.row, version);
            // The last record can be looked at in its full length too.
            let room = self.values_used + size + records.schema().record_size();
            if self.values.len() < room {
                self.values.resize(room, 0);
            }
            let (area, value) = self.values[self.values_used..][..size].split_at_mut(front);
            area.copy_from_slice(&self.keys[key_at..][..front]);
            records.write_packed(operation.row, version, value);
            self.values_used += size.next_multiple_of(ALIGN);
        }
        self.operations.push(operation);
    }

    /// Performs all operations, on the clock.
    pub(super) fn perform(
        &mut self,
        records: &Records,
        connection: &mut dyn Connection,
        manner: Manner,
    ) -> Result<()> {
        self.started = Instant::now();
        let count = self.operations.len();
        for first in (0..count).step_by(manner.together) {
            let range = first..count.min(first + manner.together);
            if manner.together == 1 {
                self.each(range, records, connection, manner)?;
            } else {
                self.transaction(range, records, connection, manner)?;
            }
        }
        Ok(())
    }

    fn each(
        &mut self,
        range: Range<usize>,
        records: &Records,
        connection: &mut dyn Connection,
        manner: Manner,
    ) -> Result<()> {
        for at in range {
            if let Some(due) = self.dues.get(at) {
                wait_until(due.saturating_sub(manner.base), self.started);
            }
            let outcome = self.one(at, records, connection, manner.inserts_replace)?;
            self.outcomes.push(outcome);
            self.ends.push(Instant::now());
        }
        Ok(())
    }

    /// Performs a transaction, again and again while the engine refuses it because of others.
    fn transaction(
        &mut self,
        range: Range<usize>,
        records: &Records,
        connection: &mut dyn Connection,
        manner: Manner,
    ) -> Result<()> {
        let (answers, scanned) = (self.answers_used, self.scanned.len());
        for _ in 0..ATTEMPTS {
            let done = connection
                .begin()
                .and_then(|()| self.each(range.clone(), records, connection, manner))
                .and_then(|()| connection.commit());
            match done {
                Ok(()) => {
                    self.commits.push(Instant::now());
                    return Ok(());
                }
                Err(error) if error.kind() == ErrorKind::Conflict => {}
                Err(error) => return Err(error),
            }
            connection.rollback()?;
            self.conflicts += 1;
            self.outcomes.truncate(range.start);
            self.ends.truncate(range.start);
            self.answer_at.truncate(range.start);
            let used = self.answers.len().min(self.answers_used + ALIGN);
            self.answers[answers..used].fill(0);
            self.answers_used = answers;
            self.scanned.truncate(scanned);
            self.scanned_keys.truncate(scanned * self.key_size);
            std::thread::yield_now();
        }
        Err(Error::engine("commit", format!("refused {ATTEMPTS} times because of other threads")))
    }

    fn one(
        &mut self,
        at: usize,
        records: &Records,
        connection: &mut dyn Connection,
        inserts_replace: bool,
    ) -> Result<Outcome> {
        let schema = records.schema();
        let operation = self.operations[at];
        let key = &self.keys[at * self.key_size..][..self.key_size];
        let value = &self.values[self.value_at[at]..];
        let value_size = schema.columns()[1].kind.size_bytes();
        self.answer_at.push(self.answers_used);
        Ok(match operation.kind {
            Kind::Insert => connection.insert(&value[..schema.record_size()])?,
            Kind::Upsert if inserts_replace => connection.insert(&value[..schema.record_size()])?,
            Kind::Upsert => {
                connection.upsert(&value[..schema.record_size()])?;
                Outcome::Done
            }
            Kind::Update => connection.update(key, 1, &value[..value_size])?,
            Kind::Delete => connection.delete(key)?,
            Kind::Scan => {
                let scan = Scan {
                    lower: Bound::Included(key),
                    upper: Bound::Unbounded,
                    columns: &[0, 1],
                    limit: operation.wanted,
                };
                let (scanned, keys) = (&mut self.scanned, &mut self.scanned_keys);
                connection.scan(&scan, &mut |record| {
                    let (key, payload) = record.split_at(self.key_size);
                    let value = records.value_in(payload);
                    let stamp = value.first_chunk().copied();
                    keys.extend_from_slice(key);
                    scanned.push(Scanned { at, stamp, digest: xxh3_64(value) });
                })?;
                Outcome::Done
            }
            Kind::Read | Kind::Missing | Kind::ReadModifyWrite | Kind::Increment => {
                let room = self.answers_used + schema.payload_size();
                if self.answers.len() < room {
                    self.answers.resize(2 * room, 0);
                }
                let answer = &mut self.answers[self.answers_used..room];
                let found = connection.get(key, answer)?;
                self.answers_used += schema.used_payload(answer).next_multiple_of(ALIGN);
                match (operation.kind, found) {
                    (Kind::ReadModifyWrite, Outcome::Done) => {
                        connection.update(key, 1, &value[..value_size])?
                    }
                    (Kind::Increment, Outcome::Done) => {
                        let number = u64::from_le_bytes(*answer.first_chunk().expect("8 bytes"));
                        connection.update(key, 1, &number.wrapping_add(1).to_le_bytes())?
                    }
                    _ => found,
                }
            }
        })
    }

    /// Returns the payload that an operation read.
    pub(super) fn answer(&self, at: usize) -> &[u8] {
        &self.answers[self.answer_at[at]..]
    }

    /// Returns the key area of a record that a scan found, by its place among all of the batch.
    pub(super) fn scanned_key(&self, at: usize) -> &[u8] {
        &self.scanned_keys[at * self.key_size..][..self.key_size]
    }

    /// Returns the moment at which an operation began: the end of what its thread did before.
    pub(super) fn began(&self, at: usize, together: usize) -> Instant {
        match at.checked_sub(1) {
            None => self.started,
            Some(_) if together > 1 && at.is_multiple_of(together) => {
                self.commits[at / together - 1]
            }
            Some(before) => self.ends[before],
        }
    }
}

/// Time before a moment that is not slept through: a sleep can last longer than it was meant to.
const SPIN: Duration = Duration::from_millis(1);

/// Waits until some time after a moment.
fn wait_until(time: Duration, after: Instant) {
    loop {
        let left = time.saturating_sub(after.elapsed());
        match left.checked_sub(SPIN) {
            _ if left.is_zero() => return,
            Some(long) if !long.is_zero() => std::thread::sleep(long),
            _ => std::thread::yield_now(),
        }
    }
}
