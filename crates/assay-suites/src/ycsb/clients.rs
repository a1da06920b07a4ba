//! The threads that carry a workload out.

use std::ops::{Bound, Range};

use assay_core::crew::{Pace, Taken, share};
use assay_core::latency::{Arrivals, Stopwatch, operations_at};
use assay_core::plan::Cell;
use assay_core::random::{derive, mix};
use assay_core::tape::Records;
use assay_core::timing::Timed;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

use super::choice::Chooser;
use super::core_workload::CoreWorkload;
use super::marks::{Mark, Marks};
use super::options::Options;
use super::users::Users;
use super::workload::{Kind, Operation, Operations, Seen};
use crate::session::Session;

/// The bytes of records and results of the operations that are prepared at a time.
const BATCH_BYTES: usize = 256 * 1024;
const SHARED_BATCH_BYTES: usize = 1 << 20;

/// The number of operations between two calls for progress, if they are timed one by one.
const TOLD_EVERY: u64 = 256;

/// The rounds of a cell, in the order in which they take place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Round {
    /// One span of time for many operations; attempts at it have numbers from 0.
    Throughput { attempt: u32 },
    /// A time for each operation.
    Latencies,
}

impl Round {
    pub(super) const FIRST: Self = Self::Throughput { attempt: 0 };

    /// Returns the number by which stamps name the round.
    fn number(self) -> u64 {
        match self {
            Self::FIRST => 0,
            Self::Latencies => 1,
            Self::Throughput { attempt } => 1 + u64::from(attempt),
        }
    }

    fn of_number(number: u64) -> Option<Self> {
        match number {
            0 => Some(Self::FIRST),
            1 => Some(Self::Latencies),
            _ => Some(Self::Throughput { attempt: u32::try_from(number - 1).ok()? }),
        }
    }
}

/// The place of an operation in the order of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Moment {
    pub(super) round: Round,
    pub(super) position: u64,
}

/// The way in which a whole record is replaced.
#[derive(Clone, Copy, Debug)]
pub(super) enum Replaces {
    Upsert,
    /// By an insert, which replaces.
    Insert,
}

/// All threads of a cell.
pub(super) struct Clients<'c> {
    pub(super) users: &'c Users,
    pub(super) core: CoreWorkload,
    /// The way to write all fields of a record, if updates do.
    pub(super) replaces: Replaces,
    /// The states of the threads at some positions, if updates may be of inserted records.
    marks: Option<[Marks; 2]>,
    pub(super) threads: u32,
    /// The number of operations of the first round, and the most of the second.
    most: u64,
    rate: Option<u64>,
    /// The seed of the operations' arrival times, if they have a rate.
    arrivals: u64,
    /// The most attempts at the round for the throughput.
    attempts: u32,
    /// The operations for the throughput, and those for the latencies.
    rounds: [Operations; 2],
    check: bool,
}

/// A thread's part of a running round.
struct Client<'c> {
    clients: &'c Clients<'c>,
    round: Round,
    thread: usize,
    positions: Range<u64>,
    /// The number of records that this thread has inserted, in this round and before it.
    inserted: u64,
    chooser: Chooser,
    timed: Timed,
}

/// Operations, with the bytes that they need.
struct Batch {
    operations: Vec<(u64, Operation)>,
    keys: Vec<u8>,
    /// New fields, or new records.
    values: Vec<u8>,
    /// The results of reads, each in a separate buffer.
    answers: Vec<u8>,
    /// All columns, for scans.
    columns: Vec<usize>,
    outcomes: Vec<Outcome>,
    /// The results of scans.
    scanned: Vec<Scanned>,
    /// The stamps of the fields of these records, if there are updates.
    stamps: Vec<Option<u64>>,
}

/// A thread's place in its own operations.
#[derive(Clone, Copy)]
struct Own {
    moment: Moment,
    /// The number of records that it has inserted.
    inserted: u64,
}

/// A record that a scan found.
#[derive(Clone, Copy, Debug)]
struct Scanned {
    /// The position of the scan in the batch.
    at: usize,
    key: [u8; 24],
    /// A digest of the fields.
    digest: u64,
}

impl<'c> Clients<'c> {
    pub(super) fn new(
        users: &'c Users,
        core: CoreWorkload,
        options: &Options,
        cell: &Cell,
        check: bool,
    ) -> Self {
        let inserts = core.expected_inserts();
        let chooser = Chooser::new(core.distribution, &core.skew, cell.rows, inserts, 0);
        let seed = derive(cell.seed, "operations");
        let mut clients = Self {
            users,
            core,
            replaces: Replaces::Upsert,
            marks: None,
            threads: cell.threads,
            most: core.operations,
            rate: options.rate,
            arrivals: derive(cell.seed, "arrivals"),
            attempts: 1 + options.repeats.repeats,
            rounds: [0, 1].map(|round| Operations::new(&core, &chooser, mix(seed, round))),
            check,
        };
        if core.updates() && core.mix.has(Kind::Insert) {
            let marks = [Round::FIRST, Round::Latencies].map(|round| Marks::of(&clients, round));
            clients.marks = Some(marks);
        }
        clients
    }

    /// Returns the thread that inserts a record, and its number among that thread's records.
    fn owner(&self, row: u64) -> (usize, u64) {
        let after = row - self.users.loaded;
        ((after % u64::from(self.threads)) as usize, after / u64::from(self.threads))
    }

    /// Returns the number of operations of a round, of all threads together.
    pub(super) fn operations(&self, round: Round) -> u64 {
        match round {
            Round::Throughput { .. } => self.most,
            Round::Latencies => operations_at(self.rate, self.most),
        }
    }

    pub(super) fn positions(&self, round: Round, thread: usize) -> Range<u64> {
        share(self.operations(round), self.threads, thread)
    }

    /// Returns the operation that wrote a stamp, and its moment, which the stamp names.
    pub(super) fn writer(&self, stamp: u64) -> Option<(Moment, Operation)> {
        let at = stamp.checked_sub(1)?;
        let position = at % self.most;
        let round = Round::of_number(at / self.most)?;
        let is_one = round < Round::Throughput { attempt: self.attempts };
        (is_one || round == Round::Latencies)
            .then(|| (Moment { round, position }, self.operation(round, position)))
    }

    pub(super) fn stamp(&self, Moment { round, position }: Moment) -> u64 {
        1 + round.number() * self.most + position
    }

    /// Returns the operations of a round, which are equal for each attempt.
    pub(super) fn of_round(&self, round: Round) -> &Operations {
        match round {
            Round::Throughput { .. } => &self.rounds[0],
            Round::Latencies => &self.rounds[1],
        }
    }

    /// Returns the operation at a position.
    pub(super) fn operation(&self, round: Round, position: u64) -> Operation {
        let operations = self.of_round(round);
        // Without inserts, or without updates to be found by their stamps, threads have no state.
        let mark = self.marks.as_ref().map(|[first, latencies]| match round {
            Round::Throughput { .. } => first.before(self, round, position),
            Round::Latencies => latencies.before(self, round, position),
        });
        let alone = Mark { thread: 0, inserted: 0, chooser: operations.chooser };
        let Mark { thread, inserted, mut chooser } = mark.unwrap_or(alone);
        operations.at(position, &mut self.seen(&mut chooser, thread, inserted))
    }

    /// Calls a function with each operation of a thread in a round, in their order.
    pub(super) fn walk(&self, round: Round, thread: usize, each: &mut dyn FnMut(u64, &Operation)) {
        let operations = self.of_round(round);
        let mut chooser = operations.chooser;
        let mut inserted = self.inserted_before(thread, round);
        for position in self.positions(round, thread) {
            let operation = operations.at(position, &mut self.seen(&mut chooser, thread, inserted));
            inserted += u64::from(operation.kind == Kind::Insert);
            each(position, &operation);
        }
    }

    /// Returns the records among which a thread can choose that has inserted `inserted` records.
    fn seen<'s>(&self, chooser: &'s mut Chooser, thread: usize, inserted: u64) -> Seen<'s> {
        let loaded = self.users.loaded;
        let threads = self.threads;
        Seen { chooser, loaded, inserted, threads, thread }
    }

    /// Returns the number of records that a thread has inserted before a round.
    pub(super) fn inserted_before(&self, thread: usize, round: Round) -> u64 {
        match round {
            Round::Throughput { .. } => 0,
            Round::Latencies => self.inserted_in(thread, Round::FIRST),
        }
    }

    /// Returns the number of records that a thread has inserted in both rounds.
    pub(super) fn inserted(&self, thread: usize) -> u64 {
        self.inserted_in(thread, Round::FIRST) + self.inserted_in(thread, Round::Latencies)
    }

    fn inserted_in(&self, thread: usize, round: Round) -> u64 {
        let operations = self.of_round(round);
        let positions = self.positions(round, thread);
        positions.filter(|&position| operations.inserts(position)).count() as u64
    }

    /// Runs one round with all threads.
    pub(super) fn round(
        &self,
        session: &Session<'_>,
        round: Round,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Timed, Taken, Vec<Stopwatch>)> {
        let crew =
            session.crew(self.threads, progress, &|thread, pace, connections, progress| {
                let client = Client {
                    clients: self,
                    round,
                    thread,
                    positions: self.positions(round, thread),
                    inserted: self.inserted_before(thread, round),
                    chooser: self.of_round(round).chooser,
                    timed: Timed::default(),
                };
                client.run(pace, &mut *connections[0], progress)
            })?;
        let (timed, stopwatches): (Vec<_>, Vec<_>) = crew.into_iter().unzip();
        let (timed, taken) = Timed::of_crew(timed);
        Ok((timed, taken, stopwatches))
    }
}

impl Client<'_> {
    fn run(
        mut self,
        pace: &mut Pace<'_>,
        connection: &mut dyn Connection,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Timed, Stopwatch)> {
        let Self { thread, clients, .. } = self;
        let of_thread = |rate| Arrivals::new(rate, thread, clients.threads, clients.arrivals);
        let mut stopwatch = Stopwatch::new(Kind::ALL.len(), self.clients.rate.map(of_thread));
        match self.round {
            Round::Throughput { .. } => {
                let size = self.clients.users.schema().record_size();
                let bytes = if pace.is_shared() { SHARED_BATCH_BYTES } else { BATCH_BYTES };
                let most = (bytes / size).max(16);
                let mut batch = self.batch(most);
                for first in self.positions.clone().step_by(most) {
                    let last = self.positions.end.min(first + most as u64);
                    let inserted = self.prepare(first..last, &mut batch);
                    pace.span(|| {
                        (0..batch.operations.len())
                            .try_for_each(|at| self.perform(at, &mut batch, connection))
                    })?;
                    self.check(&batch, inserted)?;
                    progress(self.timed.operations);
                }
            }
            // Each operation is prepared before its time and checked after it, all in one span:
            // threads do not wait for each other.
            Round::Latencies => {
                let mut batch = self.batch(1);
                pace.span(|| {
                    stopwatch.start();
                    for position in self.positions.clone() {
                        let inserted = self.prepare(position..position + 1, &mut batch);
                        let kind = batch.operations[0].1.kind as usize;
                        stopwatch.time(kind, || self.perform(0, &mut batch, connection))?;
                        self.check(&batch, inserted)?;
                        if self.timed.operations.is_multiple_of(TOLD_EVERY) {
                            progress(self.timed.operations);
                        }
                    }
                    Ok(())
                })?;
            }
        }
        self.timed.spans = pace.finish()?;
        Ok((self.timed, stopwatch))
    }

    fn batch(&self, most: usize) -> Batch {
        let schema = self.clients.users.schema();
        Batch {
            operations: Vec::with_capacity(most),
            keys: vec![0; most * schema.key_size()],
            values: vec![0; most * schema.record_size()],
            answers: vec![0; most * schema.payload_size()],
            columns: (0..schema.columns().len()).collect(),
            outcomes: Vec::with_capacity(most),
            scanned: Vec::new(),
            stamps: Vec::new(),
        }
    }

    /// Fills a batch; returns how many records this thread had inserted before it.
    fn prepare(&mut self, positions: Range<u64>, batch: &mut Batch) -> u64 {
        let users = self.clients.users;
        let schema = users.schema();
        let key_size = schema.key_size();
        let record_size = schema.record_size();
        let before = self.inserted;
        batch.operations.clear();
        batch.outcomes.clear();
        batch.scanned.clear();
        batch.stamps.clear();
        let keys = batch.keys.chunks_exact_mut(key_size);
        let values = batch.values.chunks_exact_mut(record_size);
        for ((position, key), value) in positions.zip(keys).zip(values) {
            let operations = self.clients.of_round(self.round);
            let mut seen = self.clients.seen(&mut self.chooser, self.thread, self.inserted);
            let operation = operations.at(position, &mut seen);
            users.key(operation.row, key);
            match operation.kind {
                Kind::Insert => {
                    let (area, payload) = value.split_at_mut(key_size);
                    area.copy_from_slice(key);
                    users.payload(operation.row, 0, payload);
                    self.inserted += 1;
                }
                kind if kind.writes_a_field() => {
                    let stamp = self.clients.stamp(Moment { round: self.round, position });
                    if self.clients.core.writes_all {
                        let (area, payload) = value.split_at_mut(key_size);
                        area.copy_from_slice(key);
                        users.all_fields(operation.row, stamp, payload);
                    } else {
                        let size = schema.columns()[1].kind.size_bytes();
                        users.field(operation.row, operation.field, stamp, &mut value[..size]);
                    }
                }
                _ => {}
            }
            self.timed.tape.add(operation.row << 3 ^ operation.kind as u64);
            batch.operations.push((position, operation));
        }
        before
    }

    /// Performs an operation of a batch, on the clock.
    fn perform(&self, at: usize, batch: &mut Batch, connection: &mut dyn Connection) -> Result<()> {
        let schema = self.clients.users.schema();
        let key_size = schema.key_size();
        let record_size = schema.record_size();
        let (payload_size, field_size) =
            (schema.payload_size(), schema.columns()[1].kind.size_bytes());
        let operation = &batch.operations[at].1;
        let key = &batch.keys[at * key_size..(at + 1) * key_size];
        let value = &batch.values[at * record_size..(at + 1) * record_size];
        let answer = &mut batch.answers[at * payload_size..(at + 1) * payload_size];
        let column = 1 + operation.field as usize;
        let clients = self.clients;
        let update =
            |connection: &mut dyn Connection| match (clients.core.writes_all, clients.replaces) {
                (false, _) => connection.update(key, column, &value[..field_size]),
                (true, Replaces::Upsert) => connection.upsert(value).map(|()| Outcome::Done),
                (true, Replaces::Insert) => connection.insert(value),
            };
        let outcome = match operation.kind {
            Kind::Read => connection.get(key, answer)?,
            Kind::Update => update(connection)?,
            Kind::Insert => connection.insert(value)?,
            Kind::ReadModifyWrite => match connection.get(key, answer)? {
                Outcome::Done => update(connection)?,
                other => other,
            },
            Kind::Scan => {
                let scan = Scan {
                    lower: Bound::Included(key),
                    upper: Bound::Unbounded,
                    columns: &batch.columns,
                    limit: operation.length,
                };
                let scanned = &mut batch.scanned;
                let stamps = &mut batch.stamps;
                let updates = clients.core.updates();
                connection.scan(&scan, &mut |record| {
                    let (key, payload) = record.split_at(key_size);
                    let key = *key.first_chunk().expect("a key");
                    scanned.push(Scanned { at, key, digest: xxh3_64(payload) });
                    if updates {
                        stamps.extend(clients.users.stamps(payload));
                    }
                })?;
                Outcome::Done
            }
        };
        batch.outcomes.push(outcome);
        Ok(())
    }

    /// Compares every result of a batch with the possible ones.
    fn check(&mut self, batch: &Batch, mut inserted: u64) -> Result<()> {
        self.timed.operations += batch.operations.len() as u64;
        if !self.clients.check {
            return Ok(());
        }
        let payload_size = self.clients.users.schema().payload_size();
        let mut scanned = 0;
        for (at, (position, operation)) in batch.operations.iter().enumerate() {
            if batch.outcomes[at] != Outcome::Done {
                let kind = operation.kind.name();
                let outcome = batch.outcomes[at];
                return Err(wrong(operation.row, &format!("{kind} returned {outcome:?}")));
            }
            match operation.kind {
                Kind::Read | Kind::ReadModifyWrite => {
                    let answer = &batch.answers[at * payload_size..(at + 1) * payload_size];
                    let own = Moment { round: self.round, position: *position };
                    self.clients.check_read(operation.row, answer, Some((self.thread, own)))?;
                }
                Kind::Scan => {
                    let own = batch.scanned[scanned..].iter().take_while(|found| found.at == at);
                    let found = scanned..scanned + own.count();
                    scanned = found.end;
                    let own = Moment { round: self.round, position: *position };
                    self.check_scan(batch, at, found, Own { moment: own, inserted })?;
                }
                Kind::Insert => inserted += 1,
                Kind::Update => {}
            }
            self.timed.checked += 1;
        }
        Ok(())
    }

    /// Checks a scan. It returns the records that follow in the order of keys: every one that was
    /// loaded or that this thread has inserted, and maybe those of other threads.
    fn check_scan(&self, batch: &Batch, at: usize, found: Range<usize>, own: Own) -> Result<()> {
        let users = self.clients.users;
        let operation = &batch.operations[at].1;
        let mut payload = vec![0; users.schema().payload_size()];
        let mut rank = users.rank(operation.row);
        let mut next = found.start;
        let mut count = 0;
        while count < operation.length {
            let Some(row) = users.row_of_rank(rank) else { break };
            rank += 1;
            let is_it = next < found.end && users.row_of_key(&batch.scanned[next].key) == Some(row);
            if is_it {
                self.check_scanned(batch, next, row, own.moment, &mut payload)?;
                next += 1;
                count += 1;
            } else if row < users.loaded || {
                let (thread, nth) = self.clients.owner(row);
                thread == self.thread && nth < own.inserted
            } {
                return Err(wrong(row, "a scan that should have found it did not"));
            }
        }
        if next < found.end {
            Err(wrong(operation.row, "a scan from it found records out of order"))
        } else {
            Ok(())
        }
    }

    /// Checks the fields of a record that a scan found.
    fn check_scanned(
        &self,
        batch: &Batch,
        at: usize,
        row: u64,
        own: Moment,
        payload: &mut [u8],
    ) -> Result<()> {
        let users = self.clients.users;
        let fields = users.schema().payload_columns().len();
        if self.clients.core.updates() {
            let stamps = &batch.stamps[at * fields..][..fields];
            self.clients.check_whole(row, stamps.iter().copied())?;
            payload.fill(0);
            for (field, stamp) in (0..).zip(stamps) {
                let reader = Some((self.thread, own));
                let stamp = stamp.ok_or_else(|| {
                    wrong(row, "a scan found a field that is nothing that was written")
                })?;
                self.clients.check_stamp(row, field, stamp, reader)?;
                users.write_field(row, field, stamp, payload);
            }
        } else {
            users.payload(row, 0, payload);
        }
        if batch.scanned[at].digest == xxh3_64(payload) {
            Ok(())
        } else {
            Err(wrong(row, "a scan found other fields than were written"))
        }
    }
}

pub(super) fn wrong(row: u64, what: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("record {row}: {what}"))
}
