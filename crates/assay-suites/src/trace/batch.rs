//! A batch of operations: prepared off the clock, performed on it, and compared after it.

use std::ops::Bound;
use std::time::{Duration, Instant};

use assay_driver::error::{ErrorKind, Result};
use assay_driver::{Connection, InsertRule, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

use super::line::Act;
use super::records::Records;
use super::tape::Resolved;

/// Records in arenas start at multiples of this, as those of a C compiler do.
const ALIGN: usize = 8;

/// A record that a scan found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scanned {
    /// The place of the scan in the batch.
    pub(super) at: usize,
    /// The key; none if the record has one that no record can have.
    pub(super) key: Option<u64>,
    /// A digest of the value.
    pub(super) digest: u64,
}

/// Operations, with the bytes that they need. Its memory is reused.
pub(super) struct Batch {
    pub(super) operations: Vec<Resolved>,
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
    /// The moments at which operations are due.
    pub(super) dues: Vec<Duration>,
    /// The moment at which the batch started, and those at which each operation ended.
    pub(super) started: Instant,
    pub(super) ends: Vec<Instant>,
}

/// The way in which batches are performed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    /// True for one transaction.
    pub(super) together: bool,
    pub(super) insert_rule: InsertRule,
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
            dues: Vec::new(),
            started: Instant::now(),
            ends: Vec::new(),
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
        self.dues.clear();
        self.ends.clear();
    }

    /// Returns the bytes of the prepared values.
    pub(super) fn bytes(&self) -> usize {
        self.values_used
    }

    /// Adds an operation, with its key and value.
    pub(super) fn add(&mut self, operation: Resolved, records: &Records) {
        let key_at = self.keys.len();
        self.keys.resize(key_at + self.key_size, 0);
        records.write_key(operation.key, &mut self.keys[key_at..]);
        self.value_at.push(self.values_used);
        if operation.act.has_value() {
            // A value for an absent record is written as the first version would be.
            let state = match operation.after() {
                after if after.is_there() => after,
                absent => absent.after(Act::Upsert, records.fitting(operation.size)),
            };
            let whole = matches!(operation.act, Act::Insert | Act::Upsert);
            let front = if whole { self.key_size } else { 0 };
            let size = front + records.packed_bytes(state);
            // The last record can be looked at in its full length too.
            let room = self.values_used + size + records.schema().record_size();
            if self.values.len() < room {
                self.values.resize(room, 0);
            }
            let (area, value) = self.values[self.values_used..][..size].split_at_mut(front);
            area.copy_from_slice(&self.keys[key_at..][..front]);
            records.write_packed(operation.key, state, value);
            self.values_used += size.next_multiple_of(ALIGN);
        }
        self.operations.push(operation);
    }

    /// Performs all operations, on the clock.
    pub(super) fn perform(
        &mut self,
        records: &Records,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<()> {
        self.started = Instant::now();
        if manner.together {
            connection.begin()?;
        }
        for at in 0..self.operations.len() {
            if let Some(due) = self.dues.get(at) {
                wait_until(due.saturating_sub(manner.base), self.started);
            }
            let outcome = self.one(at, records, connection, manner)?;
            self.outcomes.push(outcome);
            self.ends.push(Instant::now());
        }
        if manner.together {
            connection.commit()?;
        }
        Ok(())
    }

    fn one(
        &mut self,
        at: usize,
        records: &Records,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<Outcome> {
        let schema = records.schema();
        let operation = self.operations[at];
        let key = &self.keys[at * self.key_size..][..self.key_size];
        let value = &self.values[self.value_at[at]..];
        let value_size = schema.columns()[1].kind.size_bytes();
        self.answer_at.push(self.answers_used);
        Ok(match operation.act {
            Act::Insert => connection.insert(&value[..schema.record_size()])?,
            Act::Upsert => upsert(&value[..schema.record_size()], connection, manner)?,
            Act::Update => connection.update(key, 1, &value[..value_size])?,
            Act::Delete => connection.delete(key)?,
            Act::Scan => {
                let scan = Scan {
                    lower: Bound::Included(key),
                    upper: Bound::Unbounded,
                    columns: &[0, 1],
                    limit: u64::from(operation.size),
                };
                let scanned = &mut self.scanned;
                connection.scan(&scan, &mut |record| {
                    let (key, payload) = record.split_at(schema.key_size());
                    let digest = xxh3_64(records.value_in(payload));
                    scanned.push(Scanned { at, key: records.key_of(key), digest });
                })?;
                Outcome::Done
            }
            Act::Read | Act::ReadModifyWrite => {
                let room = self.answers_used + schema.payload_size();
                if self.answers.len() < room {
                    self.answers.resize(2 * room, 0);
                }
                let answer = &mut self.answers[self.answers_used..room];
                let found = connection.get(key, answer)?;
                self.answers_used += schema.used_payload(answer).next_multiple_of(ALIGN);
                if operation.act == Act::ReadModifyWrite && found == Outcome::Done {
                    connection.update(key, 1, &value[..value_size])?
                } else {
                    found
                }
            }
        })
    }

    /// Returns the payload that an operation read.
    pub(super) fn answer(&self, at: usize) -> &[u8] {
        &self.answers[self.answer_at[at]..]
    }

    /// Returns the moment at which an operation began: the end of the one before.
    pub(super) fn began(&self, at: usize) -> Instant {
        at.checked_sub(1).map_or(self.started, |before| self.ends[before])
    }
}

/// Writes a record, whether or not it is there; by an insert, if that replaces and the engine has
/// no upsert.
fn upsert(record: &[u8], connection: &mut dyn Connection, manner: &mut Manner) -> Result<Outcome> {
    if manner.inserts_replace {
        return connection.insert(record);
    }
    match connection.upsert(record) {
        Err(error)
            if error.kind() == ErrorKind::Unsupported
                && manner.insert_rule == InsertRule::Replaces =>
        {
            manner.inserts_replace = true;
            connection.insert(record)
        }
        other => other.map(|()| Outcome::Done),
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
