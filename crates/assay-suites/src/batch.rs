//! A batch of operations: prepared off the clock, performed on it, and compared after it. What an
//! operation means is its suite's business; here it is a call with a key and perhaps a value.

use std::ops::{Bound, Range};
use std::time::{Duration, Instant};

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::Schema;
use assay_driver::{Connection, InsertRule, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

/// Records in arenas start at multiples of this, as those of a C compiler do.
const ALIGN: usize = 8;

/// Bytes at the front of a value that are kept of each record that a scan found.
pub(crate) const STAMP_SIZE: usize = 8;

/// The most attempts at a transaction.
const ATTEMPTS: u32 = 10_000;

/// The call that an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Read,
    Insert,
    Upsert,
    Update,
    Delete,
    /// Reads a record, and replaces its value.
    ReadModifyWrite,
    /// Reads a record that is a number, and writes that number plus one.
    Increment,
    /// Reads these columns of up to this many records in the order of keys.
    Scan(u64, Selected),
    /// Reads all records with a value of this column, by its place after the key.
    Find(usize),
}

/// The most columns after the key of records of which a scan selects some.
pub(crate) const MOST_SELECTED: usize = 5;

/// The most columns of a key.
const MOST_OF_KEY: usize = 4;

/// Columns that a scan reads besides the key, by their places after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Selected(u8);

impl Selected {
    /// All columns.
    pub(crate) const ALL: Self = Self(u8::MAX);

    /// Returns the columns at these places, each below [`MOST_SELECTED`].
    pub(crate) fn of(places: impl IntoIterator<Item = usize>) -> Self {
        Self(places.into_iter().fold(0, |bits, place| bits | 1 << place))
    }

    /// Returns true if the column at a place is selected.
    pub(crate) fn has(self, place: usize) -> bool {
        self == Self::ALL || self.0 >> place & 1 == 1
    }

    /// Returns the positions of key and selected columns among all of a schema; `room` is memory
    /// for them.
    fn positions<'p>(
        self,
        schema: &'p Schema,
        room: &'p mut [usize; MOST_OF_KEY + MOST_SELECTED],
    ) -> &'p [usize] {
        if self == Self::ALL {
            return schema.positions();
        }
        let key_len = schema.key_columns().len();
        let is_read = |at: &usize| *at < key_len || self.has(at - key_len);
        let mut count = 0;
        for at in (0..schema.columns().len()).filter(is_read) {
            room[count] = at;
            count += 1;
        }
        &room[..count]
    }
}

impl Call {
    /// Returns true if it writes a record with its key.
    fn is_whole(self) -> bool {
        matches!(self, Self::Insert | Self::Upsert)
    }

    /// Returns true if it takes a value, to write it or to look for it.
    fn has_value(self) -> bool {
        let writes = matches!(self, Self::Update | Self::ReadModifyWrite | Self::Increment);
        self.is_whole() || writes || matches!(self, Self::Find(_))
    }
}

/// Records of a key, perhaps columns that never change, and at the end the value.
pub(crate) trait Values {
    /// Returns the shape of the records.
    fn schema(&self) -> &Schema;

    /// Returns a digest of the selected columns before the value; 0 if there are none.
    fn columns_digest(&self, _payload: &[u8], _selected: Selected) -> u64 {
        0
    }

    /// Returns the value in a payload area.
    fn value_in<'p>(&self, payload: &'p [u8]) -> &'p [u8];
}

/// An operation on records of a kind, as the call that it is.
pub(crate) trait AsCall<R> {
    /// Returns the call.
    fn call(&self) -> Call;

    /// Writes the key area.
    fn write_key(&self, records: &R, area: &mut [u8]);

    /// Writes the columns of the record before its value into an area of zeros.
    fn write_columns(&self, _: &R, _: &mut [u8]) {}

    /// Returns the bytes of the value to write or to look for, in its packed form.
    fn packed_bytes(&self, records: &R) -> usize;

    /// Writes that packed form.
    fn write_packed(&self, records: &R, packed: &mut [u8]);
}

/// A record that a scan or a find returned.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    /// The place of the operation in the batch.
    pub(crate) at: usize,
    /// The columns that were read.
    pub(crate) selected: Selected,
    /// A digest of those of them before the value; 0 if there are none.
    pub(crate) columns: u64,
    /// The front of the value; none if the value is shorter, or was not read.
    pub(crate) stamp: Option<[u8; STAMP_SIZE]>,
    /// A digest of the value; 0 if it was not read.
    pub(crate) digest: u64,
}

/// The way in which batches are performed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Manner {
    /// The number of operations in a transaction; 1 for none.
    pub(crate) together: usize,
    pub(crate) insert_rule: InsertRule,
    /// True if an upsert is the engine's insert, which replaces.
    pub(crate) inserts_replace: bool,
    /// The time on the phase's clock at which the batch starts.
    pub(crate) base: Duration,
}

/// Operations, with the bytes that they need. Its memory is reused.
pub(crate) struct Batch<O> {
    pub(crate) operations: Vec<O>,
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
    pub(crate) outcomes: Vec<Outcome>,
    pub(crate) scanned: Vec<Scanned>,
    scanned_keys: Vec<u8>,
    /// The moments at which operations are due, if they are.
    pub(crate) dues: Vec<Duration>,
    /// The moment at which the batch started, and those at which each operation and each
    /// transaction ended.
    pub(crate) started: Instant,
    pub(crate) ends: Vec<Instant>,
    pub(crate) commits: Vec<Instant>,
    /// The transactions that the engine refused, and that were done again.
    pub(crate) conflicts: u64,
}

/// The times of an operation.
pub(crate) struct Times {
    /// The time on the phase's clock at which it ended.
    pub(crate) ended: Duration,
    /// The time that it took, from the moment at which it was due, if it was.
    pub(crate) latency: Duration,
}

impl<O> Batch<O> {
    pub(crate) fn new(schema: &Schema) -> Self {
        Self {
            operations: Vec::new(),
            keys: Vec::new(),
            key_size: schema.key_size(),
            values: vec![0; schema.record_size()],
            value_at: Vec::new(),
            values_used: 0,
            answers: vec![0; schema.payload_size()],
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
    pub(crate) fn clear(&mut self) {
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
    pub(crate) fn bytes(&self) -> usize {
        self.values_used
    }

    /// Adds an operation, with its key and value.
    pub(crate) fn add<R: Values>(&mut self, operation: O, records: &R)
    where
        O: AsCall<R>,
    {
        let key_at = self.keys.len();
        self.keys.resize(key_at + self.key_size, 0);
        operation.write_key(records, &mut self.keys[key_at..]);
        self.value_at.push(self.values_used);
        let call = operation.call();
        if call.has_value() {
            let front = if call.is_whole() { records.schema().last_offset() } else { 0 };
            let size = front + operation.packed_bytes(records);
            // The last record can be looked at in its full length too.
            let room = self.values_used + size + records.schema().record_size();
            if self.values.len() < room {
                self.values.resize(room, 0);
            }
            let (area, value) = self.values[self.values_used..][..size].split_at_mut(front);
            if call.is_whole() {
                let (key, columns) = area.split_at_mut(self.key_size);
                key.copy_from_slice(&self.keys[key_at..]);
                columns.fill(0);
                operation.write_columns(records, columns);
            }
            operation.write_packed(records, value);
            self.values_used += size.next_multiple_of(ALIGN);
        }
        self.operations.push(operation);
    }

    /// Performs all operations, on the clock.
    pub(crate) fn perform<R: Values>(
        &mut self,
        records: &R,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<()>
    where
        O: AsCall<R>,
    {
        self.started = Instant::now();
        let count = self.operations.len();
        for first in (0..count).step_by(manner.together) {
            let range = first..count.min(first.saturating_add(manner.together));
            if manner.together == 1 {
                self.each(range, records, connection, manner)?;
            } else {
                self.transaction(range, records, connection, manner)?;
            }
        }
        Ok(())
    }

    fn each<R: Values>(
        &mut self,
        range: Range<usize>,
        records: &R,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<()>
    where
        O: AsCall<R>,
    {
        for at in range {
            if let Some(due) = self.dues.get(at) {
                wait_until(due.saturating_sub(manner.base), self.started);
            }
            let outcome = self.one(at, records, connection, manner)?;
            self.outcomes.push(outcome);
            self.ends.push(Instant::now());
        }
        Ok(())
    }

    /// Performs a transaction, again and again while the engine refuses it because of others.
    fn transaction<R: Values>(
        &mut self,
        range: Range<usize>,
        records: &R,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<()>
    where
        O: AsCall<R>,
    {
        let answers = self.answers_used;
        let scanned = self.scanned.len();
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

    fn one<R: Values>(
        &mut self,
        at: usize,
        records: &R,
        connection: &mut dyn Connection,
        manner: &mut Manner,
    ) -> Result<Outcome>
    where
        O: AsCall<R>,
    {
        let schema = records.schema();
        let key = &self.keys[at * self.key_size..][..self.key_size];
        let value = &self.values[self.value_at[at]..];
        let last = schema.columns().len() - 1;
        let value_size = schema.columns()[last].kind.size_bytes();
        self.answer_at.push(self.answers_used);
        let call = self.operations[at].call();
        Ok(match call {
            Call::Insert => connection.insert(&value[..schema.record_size()])?,
            Call::Upsert => upsert(&value[..schema.record_size()], connection, manner)?,
            Call::Update => connection.update(key, last, &value[..value_size])?,
            Call::Delete => connection.delete(key)?,
            Call::Scan(limit, selected) => {
                let mut room = [0; MOST_OF_KEY + MOST_SELECTED];
                let scan = Scan {
                    lower: Bound::Included(key),
                    upper: Bound::Unbounded,
                    columns: selected.positions(schema, &mut room),
                    limit,
                };
                let scanned = &mut self.scanned;
                let keys = &mut self.scanned_keys;
                let mut row = |record: &[u8]| {
                    keys.extend_from_slice(&record[..schema.key_size()]);
                    scanned.push(noted(records, at, record, selected));
                };
                connection.scan(&scan, &mut row)?;
                Outcome::Done
            }
            Call::Find(place) => {
                let column = schema.key_columns().len() + place;
                let value = &value[..schema.columns()[column].kind.size_bytes()];
                let scanned = &mut self.scanned;
                let keys = &mut self.scanned_keys;
                let mut row = |record: &[u8]| {
                    keys.extend_from_slice(&record[..schema.key_size()]);
                    scanned.push(noted(records, at, record, Selected::ALL));
                };
                connection.find_by(column, value, &mut row)?;
                Outcome::Done
            }
            Call::Read | Call::ReadModifyWrite | Call::Increment => {
                let room = self.answers_used + schema.payload_size();
                if self.answers.len() < room {
                    self.answers.resize(2 * room, 0);
                }
                let answer = &mut self.answers[self.answers_used..room];
                let found = connection.get(key, answer)?;
                self.answers_used += schema.used_payload(answer).next_multiple_of(ALIGN);
                match (call, found) {
                    (Call::ReadModifyWrite, Outcome::Done) => {
                        connection.update(key, last, &value[..value_size])?
                    }
                    (Call::Increment, Outcome::Done) => {
                        let number = records.value_in(answer).first_chunk().expect("8 bytes");
                        let next = u64::from_le_bytes(*number).wrapping_add(1);
                        connection.update(key, last, &next.to_le_bytes())?
                    }
                    _ => found,
                }
            }
        })
    }

    /// Returns the payload that an operation read.
    pub(crate) fn answer(&self, at: usize) -> &[u8] {
        &self.answers[self.answer_at[at]..]
    }

    /// Returns the key area of a record that a scan found, by its place among all of the batch.
    pub(crate) fn scanned_key(&self, at: usize) -> &[u8] {
        &self.scanned_keys[at * self.key_size..][..self.key_size]
    }

    /// Returns the moment at which an operation began: the end of what its thread did before.
    pub(crate) fn began(&self, at: usize, together: usize) -> Instant {
        match at.checked_sub(1) {
            None => self.started,
            Some(_) if together > 1 && at.is_multiple_of(together) => {
                self.commits[at / together - 1]
            }
            Some(before) => self.ends[before],
        }
    }

    /// Returns the times of an operation.
    pub(crate) fn times(&self, at: usize, manner: &Manner) -> Times {
        let end = self.ends[at];
        let ended = manner.base + end.duration_since(self.started);
        let latency = match self.dues.get(at) {
            Some(due) => ended.saturating_sub(*due),
            None => end.duration_since(self.began(at, manner.together)),
        };
        Times { ended, latency }
    }

    /// Returns the time on the phase's clock at which the batch ended.
    pub(crate) fn ended(&self, manner: &Manner) -> Duration {
        let last = self.commits.last().or(self.ends.last());
        manner.base + last.map_or(Duration::ZERO, |last| last.duration_since(self.started))
    }
}

/// Returns what is kept of a record that operation `at` of a batch returned.
fn noted(records: &impl Values, at: usize, record: &[u8], selected: Selected) -> Scanned {
    let schema = records.schema();
    let payload = &record[schema.key_size()..];
    let columns = records.columns_digest(payload, selected);
    if !selected.has(schema.payload_columns().len() - 1) {
        return Scanned { at, selected, columns, stamp: None, digest: 0 };
    }
    let value = records.value_in(payload);
    let stamp = value.first_chunk().copied();
    Scanned { at, selected, columns, stamp, digest: xxh3_64(value) }
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
