//! The threads that carry a phase out.
//!
//! Each thread prepares a batch, meets the others, performs it, and meets them again. Then all of
//! them compare answers, while none prepares: so the states of records stand still.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use assay_core::crew::{Pace, Taken, share};
use assay_core::latency::{Arrivals, Stopwatch};
use assay_core::random::{derive, mix};
use assay_core::tape::Records as _;
use assay_core::timing::Timed;
use assay_driver::error::Result;
use assay_driver::{Connection, DeleteRule, InsertRule, Profile};

use super::batch::Batch;
use super::course::Course;
use super::history::{Log, Write};
use super::model::{Lane, Model, Start, State};
use super::records::Records;
use super::spec::{Kind, Phase, Spec, Until};
use super::tape::Tape;
use crate::batch::Manner;
use crate::session::{Session, as_ns};

/// The most operations of a batch, and the bytes of values from which on it is full.
const BATCH_MOST: usize = 1024;
const SHARED_BATCH_MOST: usize = 8 * 1024;
const BATCH_BYTES: usize = 256 * 1024;

/// The operations of a thread's first batch.
const BATCH_FIRST: usize = 64;

/// The time on the clock that a batch is to take, at least and at most: batches get longer or
/// shorter. How long they are has no effect on the operations.
const BATCH_TIME: (Duration, Duration) = (Duration::from_millis(5), Duration::from_millis(100));

/// The least time for which operations in the background are planned.
const LEAST_PLAN_NS: u64 = 1_000_000;

/// The name of the latency of a transaction's commit.
const COMMIT: &str = "commit";

/// Returns the names of the kinds of operation that are timed in a phase, or `apart` in its
/// background: with the phase's name, if there are others.
pub(super) fn timed_kinds(spec: &Spec, phase: &Phase, apart: &str) -> Vec<String> {
    let name = if spec.phases.len() == 1 { "" } else { &phase.name };
    let named = |kind| [name, apart, kind].into_iter().filter(|word| !word.is_empty());
    timed().map(|kind| named(kind).collect::<Vec<_>>().join(" ")).collect()
}

fn timed() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).chain([COMMIT])
}

/// What all threads of a phase share.
pub(super) struct Clients<'c> {
    pub(super) records: &'c Records,
    phase: &'c Phase,
    /// What the last thread does, if it is one in the background.
    behind: Option<Phase>,
    course: &'c Course,
    start: Start,
    pub(super) lanes: Vec<RwLock<Lane>>,
    pub(super) logs: Vec<RwLock<Log>>,
    /// True if results are compared.
    check: bool,
    pub(super) deletes_are_silent: bool,
    insert_rule: InsertRule,
    inserts_replace: bool,
    /// The time on the phase's clock, of the thread whose batches took longest.
    clock_ns: AtomicU64,
    /// The time that the first thread's last batch took, for which one in the background plans.
    batch_ns: AtomicU64,
    /// Threads that have not done all their operations, without one in the background.
    working: AtomicU64,
    /// The moment at which the next operation in the background is due, if it was drawn.
    due: Option<Duration>,
    /// The time on that clock at the start of this window.
    start_ns: u64,
    /// The stopwatches of the window before.
    stopwatches: Vec<Mutex<Option<Stopwatch>>>,
    is_over: AtomicBool,
    origin: Instant,
}

/// What a window takes over from the one before it.
#[derive(Default)]
pub(super) struct Resumed {
    /// The time on the phase's clock.
    pub(super) clock_ns: u64,
    /// A stopwatch for each thread; none at the start of a phase.
    pub(super) stopwatches: Vec<Stopwatch>,
    /// The moment at which the next operation in the background is due.
    pub(super) due: Option<Duration>,
}

/// The results of a phase, or of a window of one. Operations and time are those of its threads
/// without one in the background; lists have that as their last.
pub(super) struct Done {
    pub(super) timed: Timed,
    pub(super) taken: Taken,
    pub(super) stopwatches: Vec<Stopwatch>,
    /// The moment at which the next operation in the background is due.
    pub(super) due: Option<Duration>,
    /// The number of operations of each thread.
    pub(super) operations: Vec<u64>,
    pub(super) model: Model,
    /// The transactions that the engine refused, and that were done again.
    pub(super) conflicts: u64,
    /// Bytes of keys and values that were written or deleted.
    pub(super) changed_bytes: u64,
    /// The time on the phase's clock.
    pub(super) clock_ns: u64,
}

/// The results of a thread.
struct Ran {
    timed: Timed,
    stopwatch: Stopwatch,
    conflicts: u64,
    changed_bytes: u64,
    due: Option<Duration>,
}

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

impl<'c> Clients<'c> {
    /// Returns the threads of a phase on records in the state of a model.
    pub(super) fn new(
        records: &'c Records,
        phase: &'c Phase,
        course: &'c Course,
        model: Model,
        profile: &Profile,
        inserts_replace: bool,
        resumed: Resumed,
    ) -> Self {
        let start = Start::of(&model);
        let lanes = course.lanes;
        let logs = (0..lanes).map(|_| RwLock::default()).collect();
        Self {
            records,
            phase,
            behind: phase.behind(),
            course,
            start,
            lanes: model.lanes(lanes).into_iter().map(RwLock::new).collect(),
            logs,
            check: profile.keeps_data,
            deletes_are_silent: profile.delete_rule == DeleteRule::Silent,
            insert_rule: profile.insert_rule,
            inserts_replace,
            clock_ns: AtomicU64::new(resumed.clock_ns),
            batch_ns: AtomicU64::new(as_ns(BATCH_TIME.0)),
            working: AtomicU64::new(match phase.until {
                Until::Operations(count) => count.min(course.threads.into()),
                _ => course.threads.into(),
            }),
            due: resumed.due,
            start_ns: resumed.clock_ns,
            stopwatches: resumed.stopwatches.into_iter().map(|it| Mutex::new(Some(it))).collect(),
            is_over: AtomicBool::new(false),
            origin: Instant::now(),
        }
    }

    /// Carries the phase out.
    pub(super) fn run(self, session: &Session<'_>, progress: &mut dyn FnMut(u64)) -> Result<Done> {
        let crew =
            session.crew(self.course.lanes, progress, &|thread, pace, connections, progress| {
                Client::new(&self, thread).run(pace, &mut *connections[0], progress)
            })?;
        let conflicts = crew.iter().map(|ran| ran.conflicts).sum();
        let changed_bytes = crew.iter().map(|ran| ran.changed_bytes).sum();
        let clock_ns = self.clock_ns.load(Ordering::SeqCst);
        let due = crew.last().and_then(|ran| ran.due);
        let (mut timed, stopwatches): (Vec<_>, Vec<_>) =
            crew.into_iter().map(|ran| (ran.timed, ran.stopwatch)).unzip();
        let operations = timed.iter().map(|timed| timed.operations).collect();
        let behind = timed.split_off(self.course.threads as usize);
        let (mut timed, taken) = Timed::of_crew(timed);
        timed.checked += behind.iter().map(|timed| timed.checked).sum::<u64>();
        let lanes: Vec<_> = self.lanes.iter().map(read).collect();
        let lanes: Vec<_> = lanes.iter().map(|lane| &**lane).collect();
        let model = Model::of_lanes(&lanes);
        Ok(Done {
            timed,
            taken,
            stopwatches,
            due,
            operations,
            model,
            conflicts,
            changed_bytes,
            clock_ns,
        })
    }
}

/// Returns the model after a phase in whose windows threads did these numbers of operations;
/// `seed` is the cell's.
pub(super) fn replayed(phase: &Phase, seed: u64, mut model: Model, windows: &[Vec<u64>]) -> Model {
    let phase = phase.one_window(model.live());
    let behind = phase.behind();
    let lanes = windows.first().map_or(1, Vec::len) as u32;
    let threads = lanes - u32::from(behind.is_some());
    let mut course = Course::new(&phase, seed, threads, model.rows());
    for operations in windows {
        let start = Start::of(&model);
        let mut lanes = model.lanes(lanes);
        for (thread, (lane, count)) in lanes.iter_mut().zip(operations).enumerate() {
            let of_thread = behind.as_ref().filter(|_| thread >= threads as usize);
            let tape = Tape::new(of_thread.unwrap_or(&phase), &course, &start, thread);
            for position in 0..*count {
                tape.next(position, lane, &start);
            }
        }
        model = Model::of_lanes(&lanes.iter().collect::<Vec<_>>());
        course.advance(operations);
    }
    model
}

/// Returns the hash of a phase whose operations depend on how fast the engine is: that of all else
/// that decides them.
pub(super) fn hash_of_timed(spec: &Spec, course: &Course) -> u64 {
    let words = format!("{} {:?} {:?}", course.threads, spec.records, spec.phases);
    derive(course.seed, &words)
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
    fn new(clients: &'c Clients<'c>, thread: usize) -> Self {
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

    fn run(
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
            // Whoever compares sees the writes of all threads, and no thread goes on before all
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
        batch.clear();
        while batch.operations.len() < count && self.timed.operations < limit {
            let is_whole = batch.operations.len().is_multiple_of(together);
            if is_whole && batch.bytes() >= BATCH_BYTES {
                break;
            }
            let due = self.due.take().or_else(|| self.stopwatch.next_due());
            if due.is_some_and(|due| due > until) {
                self.due = due;
                break;
            }
            let operation = self.tape.next(self.timed.operations, &mut lane, &clients.start);
            let version = operation.after.map_or(0, State::version);
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
            self.next = next.clamp(BATCH_FIRST, SHARED_BATCH_MOST);
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
