//! The threads that replay a trace. Each does the operations of its own parts, in the order of the
//! trace, batch by batch.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::crew::{Pace as Turns, Taken};
use assay_core::latency::Stopwatch;
use assay_core::timing::Timed;
use assay_driver::error::{Error, Result};
use assay_driver::{Connection, DeleteRule, Profile, Transactions};

use super::batch::Batch;
use super::check::{Checker, Ordered, spooled};
use super::line::Act;
use super::pace::Pace;
use super::records::Records;
use super::tape::{Merged, Part};
use crate::batch::Manner;
use crate::session::{Session, as_ns};

/// The most operations of a batch; a round of several threads covers as many for each of them.
const BATCH_MOST: u32 = 1024;
const SHARED_BATCH_MOST: u32 = 8 * 1024;

/// The bytes of values, and of expected answers, from which on a batch is full.
const BATCH_BYTES: usize = 256 << 10;
const ANSWER_BYTES: u64 = 1 << 20;

/// The state that the threads of a phase share.
pub(super) struct Clients<'c> {
    pub(super) records: &'c Records,
    pub(super) profile: &'c Profile,
    pub(super) pace: Pace,
    /// True if batches are transactions, where the engine has them.
    pub(super) together: bool,
    pub(super) threads: u32,
    /// The time on the phase's clock, of the thread whose batches took longest.
    clock_ns: AtomicU64,
}

/// The results of a phase.
pub(super) struct Done {
    pub(super) timed: Timed,
    pub(super) taken: Taken,
    pub(super) stopwatches: Vec<Stopwatch>,
    /// The states by which scans were compared.
    pub(super) ordered: Option<Ordered>,
    /// The time between the moment at which the last operation was due and its end.
    pub(super) late: Duration,
}

/// The end of one thread.
struct Ended {
    timed: Timed,
    stopwatch: Stopwatch,
    ordered: Option<Ordered>,
    late: Duration,
}

impl<'c> Clients<'c> {
    pub(super) fn new(records: &'c Records, profile: &'c Profile, pace: Pace) -> Self {
        let clock_ns = AtomicU64::new(0);
        Self { records, profile, pace, together: false, threads: 1, clock_ns }
    }

    /// Replays the operations of parts. Traces with scans come with the states of all keys, and
    /// have one thread.
    pub(super) fn run(
        self,
        parts: Vec<Part>,
        ordered: Option<Ordered>,
        session: &Session<'_>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Done> {
        let mut dealt: Vec<Vec<Part>> = (0..self.threads).map(|_| Vec::new()).collect();
        for (at, part) in parts.into_iter().enumerate() {
            dealt[at % self.threads as usize].push(part);
        }
        let work: Vec<_> = dealt.into_iter().map(|parts| Mutex::new(Some(parts))).collect();
        let ordered = Mutex::new(ordered);
        let crew = session.crew(self.threads, progress, &|thread, turns, connections, told| {
            let parts = work[thread].lock().unwrap_or_else(PoisonError::into_inner).take();
            let ordered = ordered.lock().unwrap_or_else(PoisonError::into_inner).take();
            self.client(parts.unwrap_or_default(), ordered, turns, &mut *connections[0], told)
        })?;
        let mut all = Vec::new();
        let mut stopwatches = Vec::new();
        let mut kept = None;
        let mut late = Duration::ZERO;
        for ended in crew {
            all.push(ended.timed);
            stopwatches.push(ended.stopwatch);
            kept = kept.or(ended.ordered);
            late = late.max(ended.late);
        }
        let (timed, taken) = Timed::of_crew(all);
        Ok(Done { timed, taken, stopwatches, ordered: kept, late })
    }

    /// Does the operations of one thread.
    fn client(
        &self,
        parts: Vec<Part>,
        ordered: Option<Ordered>,
        turns: &mut Turns<'_>,
        connection: &mut dyn Connection,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Ended> {
        let of_files = |error: std::io::Error| spooled(&error);
        let mut merged = Merged::of(parts).map_err(of_files)?;
        let is_silent = self.profile.delete_rule == DeleteRule::Silent;
        let mut checker = Checker::new(self.records, is_silent, ordered);
        let mut batch = Batch::new(self.records.schema());
        let mut timed = Timed::default();
        let mut stopwatch = Stopwatch::new(Act::ALL.len(), None);
        let mut late = Duration::ZERO;
        let has_transactions = self.profile.transactions != Transactions::None;
        let mut manner = Manner {
            together: if self.together && has_transactions { usize::MAX } else { 1 },
            insert_rule: self.profile.insert_rule,
            inserts_replace: false,
            base: Duration::ZERO,
        };
        let most = if turns.is_shared() { SHARED_BATCH_MOST } else { BATCH_MOST };
        let step = most.saturating_mul(self.threads);
        let mut limit = step;
        while merged.peek().is_some() {
            let is_whole = self.prepare(&mut merged, limit, &mut batch).map_err(of_files)?;
            if is_whole {
                limit = limit.saturating_add(step);
            }
            manner.base = Duration::from_nanos(self.clock_ns.load(Ordering::SeqCst));
            turns.span(|| batch.perform(self.records, connection, &mut manner))?;
            for (at, operation) in batch.operations.iter().enumerate() {
                let times = batch.times(at, &manner);
                late = times.latency;
                stopwatch.note(operation.act as usize, times.ended, times.latency);
            }
            self.clock_ns.fetch_max(as_ns(batch.ended(&manner)), Ordering::SeqCst);
            timed.operations += batch.operations.len() as u64;
            if self.profile.keeps_data {
                timed.checked += checker.check(&batch)?;
            }
            // The clock of all threads is read once all have moved it on.
            turns.meet()?;
            progress(timed.operations);
        }
        timed.spans = turns.finish()?;
        Ok(Ended { timed, stopwatch, ordered: checker.ordered, late })
    }

    /// Fills the batch with the next operations, up to a position of the trace. Returns false if
    /// it was full before.
    fn prepare(&self, merged: &mut Merged, limit: u32, batch: &mut Batch) -> std::io::Result<bool> {
        batch.clear();
        let mut answers = 0;
        while let Some(operation) = merged.peek().filter(|next| next.position < limit) {
            if batch.bytes() >= BATCH_BYTES || answers >= ANSWER_BYTES {
                return Ok(false);
            }
            answers += u64::from(operation.before.size);
            batch.dues.extend(self.pace.due(operation.time_ns));
            batch.add(operation, self.records);
            merged.pop()?;
        }
        Ok(true)
    }
}

/// Returns the error of a trace that cannot be replayed any more.
pub(super) fn unreadable(why: &impl std::fmt::Display) -> Error {
    Error::engine("read the trace", why)
}
