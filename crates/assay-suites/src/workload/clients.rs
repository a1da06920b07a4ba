//! The threads that carry a phase out.
//!
//! Each thread prepares a batch, meets the others, performs it, and meets them again. Then all of
//! them compare answers, while none prepares: so the states of records stand still.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::time::{Duration, Instant};

use assay_core::crew::Taken;
use assay_core::latency::Stopwatch;
use assay_core::random::derive;
use assay_core::timing::Timed;
use assay_driver::error::Result;
use assay_driver::{DeleteRule, InsertRule, Profile};

use super::client::{BATCH_TIME, Client};
use super::course::Course;
use super::history::{Log, Moment, Possible};
use super::model::{Lane, Model, Start};
use super::records::Records;
use super::spec::{Kind, Phase, Spec, Until};
use super::tape::{Operation, Tape};
use crate::session::{Session, as_ns};

/// The name of the latency of a transaction's commit.
const COMMIT: &str = "commit";

/// Returns the names of the kinds of operation that are timed in a phase, or `apart` in its
/// background: with the phase's name, if there are others.
pub(super) fn timed_kinds(spec: &Spec, phase: &Phase, apart: &str) -> Vec<String> {
    let name = if spec.phases.len() == 1 { "" } else { &phase.name };
    let named = |kind| [name, apart, kind].into_iter().filter(|word| !word.is_empty());
    timed().map(|kind| named(kind).collect::<Vec<_>>().join(" ")).collect()
}

/// Returns the names of what a stopwatch times, in its order.
pub(super) fn timed() -> impl Iterator<Item = &'static str> {
    Kind::ALL.iter().map(|kind| kind.name()).chain([COMMIT])
}

/// The state that all threads of a phase share.
pub(super) struct Clients<'c> {
    pub(super) records: &'c Records,
    pub(super) phase: &'c Phase,
    /// The work of the last thread, if it is one in the background.
    pub(super) behind: Option<Phase>,
    pub(super) course: &'c Course,
    pub(super) start: Start,
    pub(super) lanes: Vec<RwLock<Lane>>,
    pub(super) logs: Vec<RwLock<Log>>,
    /// True if results are compared.
    pub(super) check: bool,
    pub(super) deletes_are_silent: bool,
    pub(super) insert_rule: InsertRule,
    pub(super) inserts_replace: bool,
    /// The time on the phase's clock, of the thread whose batches took longest.
    pub(super) clock_ns: AtomicU64,
    /// The time that the first thread's last batch took, for which one in the background plans.
    pub(super) batch_ns: AtomicU64,
    /// Threads that have not done all their operations, without one in the background.
    pub(super) working: AtomicU64,
    /// The moment at which the next operation in the background is due, if it was drawn.
    pub(super) due: Option<Duration>,
    /// The time on that clock at the start of this window.
    pub(super) start_ns: u64,
    /// The stopwatches of the window before.
    pub(super) stopwatches: Vec<Mutex<Option<Stopwatch>>>,
    pub(super) is_over: AtomicBool,
    pub(super) origin: Instant,
}

/// The state that a window takes over from the one before it.
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
    /// The time that operations in the background took together.
    pub(super) behind_ns: u64,
}

pub(super) fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(PoisonError::into_inner)
}

pub(super) fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(PoisonError::into_inner)
}

/// The records of all threads and their writes in a batch, which stand still while it is compared.
pub(super) struct Standing<'c> {
    lanes: Vec<RwLockReadGuard<'c, Lane>>,
    logs: Vec<RwLockReadGuard<'c, Log>>,
}

impl Standing<'_> {
    /// Returns a number above those of all records.
    pub(super) fn rows(&self) -> u64 {
        let longest = self.lanes.iter().map(|lane| lane.len()).max().unwrap_or(0);
        (longest * self.lanes.len()) as u64
    }

    /// Returns the states that a record can have had during a read.
    pub(super) fn possible(&self, row: u64, read: &Moment) -> Possible<'_> {
        let owner = (row % self.lanes.len() as u64) as usize;
        Possible::of(row, owner, &self.lanes[owner], &self.logs[owner], read)
    }
}

impl<'c> Clients<'c> {
    /// Returns the records and writes of all threads.
    pub(super) fn standing(&self) -> Standing<'_> {
        let lanes = self.lanes.iter().map(read).collect();
        Standing { lanes, logs: self.logs.iter().map(read).collect() }
    }

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
        let behind = behind.into_iter().map(|timed| Timed::of_crew(vec![timed]).1.time);
        let behind_ns = as_ns(behind.sum());
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
            behind_ns,
        })
    }
}

/// Returns the model after a phase in whose windows threads did these numbers of operations;
/// `seed` is the cell's.
pub(super) fn replayed(phase: &Phase, seed: u64, model: Model, windows: &[Vec<u64>]) -> Model {
    replay(phase, seed, model, windows, &mut |_, _| ())
}

/// Replays a phase with a look at each operation of each thread, in that thread's order. Returns
/// the model after it.
pub(super) fn replay(
    phase: &Phase,
    seed: u64,
    mut model: Model,
    windows: &[Vec<u64>],
    look: &mut dyn FnMut(usize, Operation),
) -> Model {
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
                look(thread, tape.next(position, lane, &start));
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
