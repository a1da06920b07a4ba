//! The threads that carry a workload out.

use std::ops::{Bound, Range};
use std::time::{Duration, Instant};

use assay_core::crew::{Pace, share};
use assay_core::driver::{Connection, Outcome, Scan};
use assay_core::error::{Error, ErrorKind, Result};
use assay_core::plan::Cell;
use assay_core::random::{derive, mix};
use assay_core::run_file::Latency;
use assay_core::tape::Records;
use assay_core::timing::Timed;
use hdrhistogram::Histogram;
use xxhash_rust::xxh3::xxh3_64;

use super::Options;
use super::users::Users;
use super::workload::{Distribution, Kind, Operation, Operations};
use super::zipf::Zipf;
use crate::cell::Session;

/// Operations prepared at a time, so that their records and answers stay within these bytes.
const BATCH_BYTES: usize = 256 * 1024;
const SHARED_BATCH_BYTES: usize = 1 << 20;

/// What the clock is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    /// A span for many operations.
    Throughput,
    /// Each operation by itself.
    Latency,
}

/// All threads of a cell.
pub(super) struct Clients<'c> {
    pub(super) users: &'c Users,
    pub(super) threads: u32,
    pub(super) operations: u64,
    rounds: [Operations; 2],
    check: bool,
}

/// A thread's round under way.
struct Client<'c> {
    clients: &'c Clients<'c>,
    round: u64,
    thread: usize,
    positions: Range<u64>,
    clock: Clock,
    /// Records that this thread has inserted, in this round and before it.
    inserted: u64,
    timed: Timed,
    histograms: Vec<Histogram<u64>>,
}

/// Operations, with the bytes that they need.
struct Batch {
    operations: Vec<(u64, Operation)>,
    keys: Vec<u8>,
    /// New fields, or new records.
    values: Vec<u8>,
    /// What reads answer, each in a place of its own.
    answers: Vec<u8>,
    outcomes: Vec<Outcome>,
    /// What scans found: the position of the scan in the batch, the key, a digest of the rest.
    scanned: Vec<(usize, [u8; 24], u64)>,
}

impl<'c> Clients<'c> {
    pub(super) fn new(users: &'c Users, options: &Options, cell: &Cell, check: bool) -> Self {
        let needs_zipf = options.distribution != Distribution::Uniform;
        let zipf = needs_zipf.then(|| Zipf::new(cell.rows));
        let seed = derive(cell.seed, "operations");
        Self {
            users,
            threads: cell.threads,
            operations: options.operations,
            rounds: [0, 1].map(|round| Operations::new(options, cell.rows, zipf, mix(seed, round))),
            check,
        }
    }

    /// The number of the record that a thread inserts as its n-th.
    fn own(&self, thread: usize, nth: u64) -> u64 {
        self.users.loaded + nth * u64::from(self.threads) + thread as u64
    }

    /// The thread that inserts a record, and as which of its own.
    fn owner(&self, row: u64) -> (usize, u64) {
        let after = row - self.users.loaded;
        ((after % u64::from(self.threads)) as usize, after / u64::from(self.threads))
    }

    pub(super) fn positions(&self, thread: usize) -> Range<u64> {
        share(self.operations, self.threads, thread)
    }

    /// The operation that wrote a stamp, which says round and position; its thread too.
    pub(super) fn writer(&self, stamp: u64) -> Option<(u64, u64, Operation)> {
        let at = stamp.checked_sub(1)?;
        let (round, position) = (at / self.operations, at % self.operations);
        let operations = self.rounds.get(usize::try_from(round).ok()?)?;
        Some((round, position, operations.at(position, 0, |_| u64::MAX)))
    }

    pub(super) fn stamp(&self, round: u64, position: u64) -> u64 {
        1 + round * self.operations + position
    }

    pub(super) fn operation(&self, round: u64, position: u64) -> Operation {
        self.rounds[round as usize].at(position, 0, |_| u64::MAX)
    }

    /// How many records a thread has inserted before a position of a round.
    fn inserted_before(&self, thread: usize, round: u64) -> u64 {
        let count = |round: u64| {
            let operations = &self.rounds[round as usize];
            self.positions(thread).filter(|&position| operations.inserts(position)).count() as u64
        };
        (0..round).map(count).sum()
    }

    /// Runs one round with all threads.
    pub(super) fn round(
        &self,
        session: &Session<'_>,
        round: u64,
        clock: Clock,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Timed, Duration, Vec<Latency>)> {
        let crew =
            session.crew(self.threads, progress, &|thread, pace, connections, progress| {
                let client = Client {
                    clients: self,
                    round,
                    thread,
                    positions: self.positions(thread),
                    clock,
                    inserted: self.inserted_before(thread, round),
                    timed: Timed::default(),
                    histograms: Kind::ALL.map(|_| histogram()).into(),
                };
                client.run(pace, &mut *connections[0], progress)
            })?;
        let (timed, histograms): (Vec<_>, Vec<_>) = crew.into_iter().unzip();
        let (timed, time) = Timed::of_crew(timed);
        Ok((timed, time, latencies(&histograms)))
    }
}

fn histogram() -> Histogram<u64> {
    // Up to an hour, with three significant digits.
    Histogram::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds that HDR histograms take")
}

/// The latencies of all threads together, by kind of operation.
fn latencies(threads: &[Vec<Histogram<u64>>]) -> Vec<Latency> {
    let mut latencies = Vec::new();
    for (kind, at) in Kind::ALL.iter().zip(0..) {
        let mut all = histogram();
        for thread in threads {
            all.add(&thread[at]).expect("they have the same bounds");
        }
        if all.is_empty() {
            continue;
        }
        latencies.push(Latency {
            operation: kind.name().into(),
            count: all.len(),
            mean_ns: all.mean(),
            min_ns: all.min(),
            p50_ns: all.value_at_quantile(0.5),
            p90_ns: all.value_at_quantile(0.9),
            p95_ns: all.value_at_quantile(0.95),
            p99_ns: all.value_at_quantile(0.99),
            p999_ns: all.value_at_quantile(0.999),
            max_ns: all.max(),
        });
    }
    latencies
}

impl Client<'_> {
    fn run(
        mut self,
        pace: &mut Pace<'_>,
        connection: &mut dyn Connection,
        progress: &mut dyn FnMut(u64),
    ) -> Result<(Timed, Vec<Histogram<u64>>)> {
        let schema = self.clients.users.schema();
        let bytes = if pace.is_shared() { SHARED_BATCH_BYTES } else { BATCH_BYTES };
        let most = (bytes / schema.record_size()).max(16);
        let mut batch = Batch {
            operations: Vec::with_capacity(most),
            keys: vec![0; most * schema.key_size()],
            values: vec![0; most * schema.record_size()],
            answers: vec![0; most * schema.payload_size()],
            outcomes: Vec::with_capacity(most),
            scanned: Vec::new(),
        };
        for first in self.positions.clone().step_by(most) {
            let last = self.positions.end.min(first + most as u64);
            let inserted = self.prepare(first..last, &mut batch);
            pace.span(|| self.replay(&mut batch, connection))?;
            if self.clients.check {
                self.check(&batch, inserted)?;
            }
            self.timed.operations += last - first;
            progress(self.timed.operations);
        }
        self.timed.spans = pace.finish()?;
        Ok((self.timed, self.histograms))
    }

    /// Fills a batch; answers how many records this thread had inserted before it.
    fn prepare(&mut self, positions: Range<u64>, batch: &mut Batch) -> u64 {
        let users = self.clients.users;
        let schema = users.schema();
        let (key_size, record_size) = (schema.key_size(), schema.record_size());
        let before = self.inserted;
        batch.operations.clear();
        batch.outcomes.clear();
        batch.scanned.clear();
        let keys = batch.keys.chunks_exact_mut(key_size);
        let values = batch.values.chunks_exact_mut(record_size);
        for ((position, key), value) in positions.zip(keys).zip(values) {
            let operations = &self.clients.rounds[self.round as usize];
            let own = |nth| self.clients.own(self.thread, nth);
            let operation = operations.at(position, self.inserted, own);
            users.key(operation.row, key);
            match operation.kind {
                Kind::Insert => {
                    let (area, payload) = value.split_at_mut(key_size);
                    area.copy_from_slice(key);
                    users.payload(operation.row, 0, payload);
                    self.inserted += 1;
                }
                kind if kind.writes_a_field() => {
                    let stamp = self.clients.stamp(self.round, position);
                    let size = schema.columns()[1].kind.size_bytes();
                    users.field(operation.row, operation.field, stamp, &mut value[..size]);
                }
                _ => {}
            }
            self.timed.tape.add(operation.row << 3 ^ operation.kind as u64);
            batch.operations.push((position, operation));
        }
        before
    }

    /// The operations of a batch, on the clock.
    fn replay(&mut self, batch: &mut Batch, connection: &mut dyn Connection) -> Result<()> {
        let schema = self.clients.users.schema();
        let (key_size, record_size) = (schema.key_size(), schema.record_size());
        let (payload_size, field_size) =
            (schema.payload_size(), schema.columns()[1].kind.size_bytes());
        let columns: Vec<_> = (0..schema.columns().len()).collect();
        for (at, (_, operation)) in batch.operations.iter().enumerate() {
            let key = &batch.keys[at * key_size..(at + 1) * key_size];
            let value = &batch.values[at * record_size..(at + 1) * record_size];
            let answer = &mut batch.answers[at * payload_size..(at + 1) * payload_size];
            let column = 1 + operation.field as usize;
            let start = (self.clock == Clock::Latency).then(Instant::now);
            let outcome = match operation.kind {
                Kind::Read => connection.get(key, answer)?,
                Kind::Update => connection.update(key, column, &value[..field_size])?,
                Kind::Insert => connection.insert(value)?,
                Kind::ReadModifyWrite => match connection.get(key, answer)? {
                    Outcome::Done => connection.update(key, column, &value[..field_size])?,
                    other => other,
                },
                Kind::Scan => {
                    let scan = Scan {
                        lower: Bound::Included(key),
                        upper: Bound::Unbounded,
                        columns: &columns,
                        limit: operation.length,
                    };
                    connection.scan(&scan, &mut |record| {
                        let (found, payload) = record.split_at(key_size);
                        let found = *found.first_chunk().expect("a key");
                        batch.scanned.push((at, found, xxh3_64(payload)));
                    })?;
                    Outcome::Done
                }
            };
            if let Some(start) = start {
                let latency = u64::try_from(start.elapsed().as_nanos()).unwrap_or(u64::MAX);
                self.histograms[operation.kind as usize].saturating_record(latency);
            }
            batch.outcomes.push(outcome);
        }
        Ok(())
    }

    /// Compares every answer of a batch with what it could be.
    fn check(&mut self, batch: &Batch, mut inserted: u64) -> Result<()> {
        let payload_size = self.clients.users.schema().payload_size();
        let mut scanned = batch.scanned.as_slice();
        for (at, (position, operation)) in batch.operations.iter().enumerate() {
            if batch.outcomes[at] != Outcome::Done {
                let (kind, outcome) = (operation.kind.name(), batch.outcomes[at]);
                return Err(wrong(operation.row, &format!("{kind} answered {outcome:?}")));
            }
            match operation.kind {
                Kind::Read | Kind::ReadModifyWrite => {
                    let answer = &batch.answers[at * payload_size..(at + 1) * payload_size];
                    let own = self.clients.stamp(self.round, *position);
                    self.clients.check_read(operation.row, answer, self.thread, own)?;
                }
                Kind::Scan => {
                    let own = scanned.iter().take_while(|found| found.0 == at).count();
                    let (found, others) = scanned.split_at(own);
                    scanned = others;
                    self.check_scan(operation, found, inserted)?;
                }
                Kind::Insert => inserted += 1,
                Kind::Update => {}
            }
            self.timed.checked += 1;
        }
        Ok(())
    }

    /// A scan answers the records that follow in the order of keys: every one that was loaded
    /// or that this thread has inserted, and maybe those of other threads.
    fn check_scan(
        &self,
        operation: &Operation,
        found: &[(usize, [u8; 24], u64)],
        inserted: u64,
    ) -> Result<()> {
        let users = self.clients.users;
        let mut payload = vec![0; users.schema().payload_size()];
        let mut rank = users.rank(operation.row);
        let mut found = found.iter();
        let mut count = 0;
        let mut next = found.next();
        while count < operation.length {
            let Some(row) = users.row_of_rank(rank) else { break };
            rank += 1;
            let is_it = next.is_some_and(|(_, key, _)| users.row_of_key(key) == Some(row));
            if is_it {
                users.payload(row, 0, &mut payload);
                if next.is_some_and(|(_, _, digest)| *digest != xxh3_64(&payload)) {
                    return Err(wrong(row, "a scan found other fields than were inserted"));
                }
                next = found.next();
                count += 1;
            } else if row < users.loaded || {
                let (thread, nth) = self.clients.owner(row);
                thread == self.thread && nth < inserted
            } {
                return Err(wrong(row, "a scan that should have found it did not"));
            }
        }
        match next {
            Some(_) => Err(wrong(operation.row, "a scan from it found records out of order")),
            None => Ok(()),
        }
    }
}

pub(super) fn wrong(row: u64, what: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("record {row}: {what}"))
}
