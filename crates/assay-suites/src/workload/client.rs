//! One thread of those that carry a phase out.

use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use assay_core::crew::{Pace, share};
use assay_core::latency::{Arrivals, Stopwatch};
use assay_core::random::mix;
use assay_core::tape::Records as _;
use assay_core::timing::Timed;
use assay_driver::Connection;
use assay_driver::error::Result;

use super::batch::Batch;
use super::clients::{Clients, timed, write};
use super::history::{Log, Write};
use super::model::State;
use super::spec::{Kind, Phase, Until};
use super::tape::Tape;
use crate::batch::Manner;
use crate::session::as_ns;

/// The most operations of a batch, and the bytes of values from which on it is full.
const BATCH_MOST: usize = 1024;
const SHARED_BATCH_MOST: usize = 8 * 1024;
const BATCH_BYTES: usize = 256 * 1024;

/// The records that the scans of a batch ask for, from which on it is full.
const BATCH_WANTED: u64 = 1_000_000;

/// The operations of a thread's first batch.
const BATCH_FIRST: usize = 64;

/// The time on the clock that a batch is to take, at least and at most: batches get longer or
/// shorter. How long they are has no effect on the operations.
pub(super) const BATCH_TIME: (Duration, Duration) =
    (Duration::from_millis(5), Duration::from_millis(100));

/// The least time for which operations in the background are planned.
const LEAST_PLAN_NS: u64 = 1_000_000;

/// The results of a thread.
pub(super) struct Ran {
    pub(super) timed: Timed,
    pub(super) stopwatch: Stopwatch,
    pub(super) conflicts: u64,
    pub(super) changed_bytes: u64,
    pub(super) due: Option<Duration>,
}

/// One thread of a running phase.
pub(super) struct Client<'c> {
    pub(super) clients: &'c Clients<'c>,
    pub(super) thread: usize,
    phase: &'c Phase,
    is_behind: bool,
    /// The moment at which its next operation is due, if it was drawn.
    due: Option<Duration>,
    tape: Tape,
    stopwatch: Stopwatch,
    pub(super) timed: Timed,
    /// Bytes of keys and values that it wrote or deleted.
    changed_bytes: u64,
    /// The number of operations of the next batch.
    next: usize,
    /// Memory for values to compare with.
    pub(super) expected: Vec<u8>,
}

impl<'c> Client<'c> {
    pub(super) fn new(clients: &'c Clients<'c>, thread: usize) -> Self {
        let course = clients.course;
        let behind = clients.behind.as_ref().filter(|_| thread >= course.threads as usize);
        let is_behind = behind.is_some();
        let phase = behind.unwrap_or(clients.phase);
        let seed = mix(course.seed, u64::from(is_behind));
        let nth = if is_behind { 0 } else { thread };
        let of = if is_behind { 1 } else { course.threads };
        let rates = phase.rates.clone();
        let arrivals = rates.map(|rates| Arrivals::along(rates, nth, of, seed));
        Self {
            clients,
            thread,
            phase,
            is_behind,
            due: clients.due.filter(|_| is_behind),
            tape: Tape::new(phase, course, &clients.start, thread),
            stopwatch: clients
                .stopwatches
                .get(thread)
                .and_then(|slot| slot.lock().unwrap_or_else(PoisonError::into_inner).take())
                .unwrap_or_else(|| Stopwatch::new(timed().count(), arrivals)),
            timed: Timed::default(),
            changed_bytes: 0,
            next: BATCH_FIRST,
            expected: Vec::new(),
        }
    }

    /// Does the thread's operations, batch by batch.
    pub(super) fn run(
        mut self,
        pace: &mut Pace<'_>,
        connection: &mut dyn Connection,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Ran> {
        let clients = self.clients;
        let (limit, limit_ns) = match clients.phase.until {
            _ if self.is_behind => (u64::MAX, u64::MAX),
            Until::Operations(count) => {
                let share = share(count, clients.course.threads, self.thread);
                (share.end - share.start, u64::MAX)
            }
            // Other ends are those of phases of several windows, which have one of these each.
            Until::Seconds(seconds) | Until::Steady { window: seconds, .. } => {
                (u64::MAX, clients.start_ns + seconds * 1_000_000_000)
            }
            Until::Half { .. } => (0, u64::MAX),
        };
        let mut batch = Batch::new(clients.records.schema());
        let mut manner = Manner {
            together: self.phase.together as usize,
            insert_rule: clients.insert_rule,
            inserts_replace: clients.inserts_replace,
            base: Duration::ZERO,
        };
        let mut conflicts = 0;
        while self.timed.operations < limit && !clients.is_over.load(Ordering::SeqCst) {
            if self.is_behind && clients.working.load(Ordering::SeqCst) == 0 {
                break;
            }
            self.prepare(&mut batch, limit, pace.is_shared());
            manner.base = Duration::from_nanos(clients.clock_ns.load(Ordering::SeqCst));
            pace.span(|| batch.perform(clients.records, connection, &mut manner))?;
            self.take_times(&batch, &manner, limit_ns);
            conflicts += batch.conflicts;
            if self.timed.operations >= limit {
                clients.working.fetch_sub(1, Ordering::SeqCst);
            }
            // A thread that compares sees the writes of all threads, and none continues before all
            // have compared.
            if clients.check {
                *write(&clients.logs[self.thread]) = self.log(&batch);
                pace.meet()?;
                self.check(&batch)?;
            }
            pace.meet()?;
            progress(match clients.phase.until {
                Until::Operations(_) | Until::Half { .. } => self.timed.operations,
                Until::Seconds(_) | Until::Steady { .. } => {
                    clients.clock_ns.load(Ordering::SeqCst) / 1_000_000
                }
            });
        }
        *write(&clients.logs[self.thread]) = Log::default();
        self.timed.spans = pace.finish()?;
        let Self { timed, stopwatch, changed_bytes, due, .. } = self;
        Ok(Ran { timed, stopwatch, conflicts, changed_bytes, due })
    }

    /// Fills the batch with the next operations, and notes in the lane what they write.
    fn prepare(&mut self, batch: &mut Batch, limit: u64, is_shared: bool) {
        let clients = self.clients;
        let together = self.phase.together as usize;
        let until = self.horizon();
        let most = if is_shared { SHARED_BATCH_MOST } else { BATCH_MOST };
        let count = self.next.min(most).next_multiple_of(together);
        let mut lane = write(&clients.lanes[self.thread]);
        let mut wanted = 0;
        batch.clear();
        while batch.operations.len() < count && self.timed.operations < limit {
            let is_whole = batch.operations.len().is_multiple_of(together);
            if is_whole && (batch.bytes() >= BATCH_BYTES || wanted >= BATCH_WANTED) {
                break;
            }
            let due = self.due.take().or_else(|| self.stopwatch.next_due());
            if due.is_some_and(|due| due > until) {
                self.due = due;
                break;
            }
            let operation = self.tape.next(self.timed.operations, &mut lane, &clients.start);
            let version = operation.after.map_or(0, State::version);
            wanted += operation.wanted;
            self.timed.tape.add(operation.row << 4 ^ operation.kind as u64);
            self.timed.tape.add(operation.wanted << 32 ^ u64::from(version));
            self.changed_bytes += match operation.kind {
                _ if operation.after.is_none() => 0,
                Kind::Delete => clients.records.key_bytes(),
                _ => clients.records.record_bytes(operation.row, version),
            };
            batch.add(operation, clients.records);
            batch.dues.extend(due);
            self.timed.operations += 1;
        }
    }

    /// Returns the moment until which operations are planned: in the background, the end of a batch
    /// that takes as long as the last one.
    fn horizon(&self) -> Duration {
        let clients = self.clients;
        if !self.is_behind {
            return Duration::MAX;
        }
        let now_ns = clients.clock_ns.load(Ordering::SeqCst);
        let batch_ns = clients.batch_ns.load(Ordering::SeqCst).max(LEAST_PLAN_NS);
        Duration::from_nanos(now_ns + batch_ns)
    }

    /// Takes the latencies of a batch, moves the phase's clock on, and decides how long the next
    /// batch is.
    fn take_times(&mut self, batch: &Batch, manner: &Manner, limit_ns: u64) {
        let clients = self.clients;
        for (at, operation) in batch.operations.iter().enumerate() {
            let times = batch.times(at, manner);
            self.stopwatch.note(operation.kind as usize, times.ended, times.latency);
        }
        for (commit, last) in batch.commits.iter().zip(batch.ends.chunks(manner.together)) {
            let Some(last) = last.last() else { continue };
            let ended = manner.base + commit.duration_since(batch.started);
            self.stopwatch.note(Kind::ALL.len(), ended, commit.duration_since(*last));
        }
        let now = batch.ended(manner);
        let took = now - manner.base;
        if self.is_behind {
            // An engine that cannot keep up does not hold the phase up.
            let longest = 2 * clients.batch_ns.load(Ordering::SeqCst).max(LEAST_PLAN_NS);
            let is_long = as_ns(took) > longest;
            let next = if is_long { self.next / 2 } else { 2 * self.next };
            self.next = next.clamp(1, SHARED_BATCH_MOST);
            return;
        }
        if self.thread == 0 {
            clients.batch_ns.store(as_ns(took), Ordering::SeqCst);
        }
        let now_ns = as_ns(now);
        clients.clock_ns.fetch_max(now_ns, Ordering::SeqCst);
        if now_ns >= limit_ns {
            clients.is_over.store(true, Ordering::SeqCst);
        }
        let (short, long) = BATCH_TIME;
        self.next = match took {
            took if took < short => (2 * self.next).min(SHARED_BATCH_MOST),
            took if took > long => (self.next / 2).max(1),
            _ => self.next,
        };
    }

    /// Returns the writes of a batch.
    fn log(&self, batch: &Batch) -> Log {
        let writes = batch.operations.iter().enumerate().filter_map(|(at, operation)| {
            let (before, after) = operation.before.zip(operation.after)?;
            let (begin_ns, end_ns) = self.times(batch, at, true);
            Some(Write { row: operation.row, at, before, after, begin_ns, end_ns })
        });
        Log::of(writes.collect())
    }

    /// Returns the times between which an operation had its effect, or saw the store: in a
    /// transaction from the start of that on, and a write is seen once it is committed.
    pub(super) fn times(&self, batch: &Batch, at: usize, writes: bool) -> (u64, u64) {
        let together = self.phase.together as usize;
        let ns = |moment: Instant| as_ns(moment.duration_since(self.clients.origin));
        let began = batch.began(at - at % together, together);
        let ended = match (together, writes) {
            (1, _) | (_, false) => batch.ends[at],
            _ => batch.commits[at / together],
        };
        (ns(began), ns(ended))
    }
}
