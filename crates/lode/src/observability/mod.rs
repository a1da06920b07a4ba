//! The observability of databases: their space, and behind features metrics and events.
//!
//! # Metrics
//!
//! With feature `metrics`, a database reports to the recorder of crate
//! [`metrics`](https://docs.rs/metrics) that the program installs, such as an exporter for
//! Prometheus. Install it before you open a database, which keeps the recorder's handles.
//! `describe_metrics` describes all metrics to the recorder.
//!
//! Each metric has the label `database`: the directory as it was opened, or `memory` for all
//! databases in memory. A database that is only read has no metrics.
//!
//! | name | kind | unit | meaning |
//! |---|---|---|---|
//! | `lode_commits_total` | counter | commits | transactions and batches that have written |
//! | `lode_commit_duration_seconds` | histogram | seconds | duration, with the wait for a sync |
//! | `lode_conflicts_total` | counter | conflicts | attempts that a conflict ended |
//! | `lode_syncs_total` | counter | syncs | syncs of the log; several threads may share one |
//! | `lode_sync_duration_seconds` | histogram | seconds | duration |
//! | `lode_checkpoints_total` | counter | checkpoints | checkpoints after the opening |
//! | `lode_checkpoint_duration_seconds` | histogram | seconds | duration |
//! | `lode_stalls_total` | counter | stalls | writes that had to wait for room, by `reason` |
//! | `lode_stall_duration_seconds` | histogram | seconds | duration, by `reason` |
//! | `lode_open_duration_seconds` | histogram | seconds | duration of an opening, with recovery |
//! | `lode_replayed_frames_total` | counter | frames | frames of the log that opening replayed |
//! | `lode_replayed_bytes_total` | counter | bytes | bytes of the records in these frames |
//! | `lode_poisoned` | gauge | | 1 when the disk failed, and nothing is written any more |
//! | `lode_evictions_total` | counter | pages | pages that left memory for others |
//! | `lode_data_read_bytes_total` | counter | bytes | pages read from the data file |
//! | `lode_data_written_bytes_total` | counter | bytes | pages written to the data file |
//! | `lode_page_bytes` | gauge | bytes | [`Statistics::page_bytes`] |
//! | `lode_changed_bytes` | gauge | bytes | [`Statistics::changed_bytes`] |
//! | `lode_snapshot_bytes` | gauge | bytes | [`Statistics::snapshot_bytes`] |
//! | `lode_transaction_bytes` | gauge | bytes | [`Statistics::transaction_bytes`] |
//! | `lode_data_bytes` | gauge | bytes | [`Statistics::data_bytes`] |
//! | `lode_data_used_bytes` | gauge | bytes | [`Statistics::data_used_bytes`] |
//! | `lode_log_bytes` | gauge | bytes | [`Statistics::log_bytes`] |
//!
//! The label `reason` of a stall says what a write waits for: `memory` for changed pages, `log` for
//! the [bound of the log](crate::Options::log_bytes), `space` on the disk, or `segment`, which is
//! the next file of the log.
//!
//! Single reads and writes report nothing. Openings, commits, syncs, checkpoints, stalls, conflicts
//! and poisoning are reported when they happen. The metrics from `lode_evictions_total` on are
//! copied from numbers that the engine keeps: about once a second by the database's thread, after
//! each checkpoint, and at closing, which sets the gauges to 0. A database in memory has no thread,
//! and reports none of these.
//!
//! # Events
//!
//! With feature `tracing`, a database sends events to the subscriber of crate
//! [`tracing`](https://docs.rs/tracing), with target `lode`. Each has the field `database`;
//! `seconds` is a duration. A database in memory is not opened or closed.
//!
//! | level | message | further fields |
//! |---|---|---|
//! | error | `poisoned` | `error` |
//! | warn | `stalled`, of 100 ms or more | `reason`, `seconds` |
//! | warn | `failed in the background` | `work`, `error` |
//! | warn | `closed with an error` | `error`, `seconds` |
//! | warn | `index not built` | `table`, `index`, `error`, `seconds` |
//! | info | `opened` | `replayed_frames`, `replayed_bytes`, `seconds` |
//! | info | `closed` | `seconds` |
//! | info | `compacted` | `before_bytes`, `after_bytes` of the data file, `seconds` |
//! | info | `backed up` | `copied_bytes`, `total_bytes`, `seconds` |
//! | info | `index built` | `table`, `index`, `seconds` |
//! | debug | `checkpoint` | `pages` that were to be written, `seconds` |
//! | debug | `opened to read` | as `opened` |

#[cfg_attr(not(any(feature = "metrics", feature = "tracing")), path = "no_work.rs")]
mod work;

#[cfg_attr(not(feature = "tracing"), path = "no_events.rs")]
mod events;
#[cfg_attr(not(feature = "metrics"), path = "no_meters.rs")]
mod meters;
mod statistics;
#[cfg(test)]
#[cfg(all(feature = "metrics", feature = "tracing"))]
mod tests;

use std::fmt::Display;

use crate::error::{Error, Result};
use events::Events;
use meters::Meters;
#[cfg(feature = "metrics")]
pub use meters::describe_metrics;
pub use statistics::Statistics;
pub(crate) use work::{Tally, Work};

/// The lack that a write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lack {
    /// Too many pages have changed.
    Memory,
    /// The log is as long as it may be.
    Log,
    /// The disk is full but for space that a checkpoint gives back.
    Space,
    /// The last file of the log is full.
    Segment,
}

/// The frames of the log that an opening replayed, and the bytes of their records.
#[derive(Default)]
pub(crate) struct Replay {
    frames: Tally,
    bytes: Tally,
}

impl Replay {
    /// Counts a frame whose records have bytes.
    #[inline(always)]
    pub(crate) fn add(&self, bytes: impl FnOnce() -> usize) {
        self.frames.add(|| 1);
        self.bytes.add(|| bytes() as u64);
    }
}

/// Reports to the recorder and the subscriber of the program. Without the features it does nothing,
/// and takes up no memory.
#[derive(Clone)]
pub(crate) struct Observer {
    meters: Meters,
    events: Events,
}

/// The wait of a write, which ends when this is dropped.
pub(crate) struct Stall<'o> {
    observer: &'o Observer,
    lack: Lack,
    work: Work,
}

impl Drop for Stall<'_> {
    fn drop(&mut self) {
        self.observer.meters.stalled(self.lack, self.work);
        self.observer.events.stalled(self.lack, self.work);
    }
}

impl Observer {
    /// Makes the observer of a database in a directory.
    pub(crate) fn new(directory: &dyn Display) -> Self {
        Self { meters: Meters::new(directory), events: Events::new(directory) }
    }

    /// Makes the observer of a database in memory.
    pub(crate) fn in_memory() -> Self {
        Self::new(&"memory")
    }

    /// Makes the observer of a database that is only read.
    pub(crate) fn of_reader(directory: &dyn Display) -> Self {
        Self { meters: Meters::none(), events: Events::new(directory) }
    }

    /// Reports an opening for writing.
    pub(crate) fn opened(&self, work: Work, replay: &Replay) {
        self.meters.opened(work, replay);
        self.events.opened(work, replay);
    }

    /// Reports an opening for reading.
    pub(crate) fn opened_to_read(&self, work: Work, replay: &Replay) {
        self.events.opened_to_read(work, replay);
    }

    /// Reports a commit, if it has written.
    #[inline(always)]
    pub(crate) fn committed(&self, work: Work, has_written: impl FnOnce() -> bool) {
        self.meters.committed(work, has_written);
    }

    /// Reports the conflict of a commit, if that is the error of it. Returns the error.
    #[inline(always)]
    pub(crate) fn refused(&self, error: Error) -> Error {
        if matches!(error, Error::Conflict { .. }) {
            self.meters.met_conflict();
        }
        error
    }

    /// Reports an attempt of a transaction whose reads met a conflict.
    #[inline(always)]
    pub(crate) fn met_conflict(&self) {
        self.meters.met_conflict();
    }

    /// Reports a sync of the log.
    #[inline(always)]
    pub(crate) fn synced(&self, work: Work) {
        self.meters.synced(work);
    }

    /// Reports a checkpoint of some pages.
    pub(crate) fn checkpointed(&self, work: Work) {
        self.meters.checkpointed(work);
        self.events.checkpointed(work);
    }

    /// Starts the wait of a write.
    pub(crate) fn stalls(&self, lack: Lack) -> Stall<'_> {
        Stall { observer: self, lack, work: Work::start() }
    }

    /// Reports that nothing is written any more, and why.
    pub(crate) fn poisoned(&self, why: &str) {
        self.meters.poisoned();
        self.events.poisoned(why);
    }

    /// Reports space, and the pages that have left memory so far.
    pub(crate) fn publish(&self, now: impl FnOnce() -> (Statistics, u64)) {
        self.meters.publish(now);
    }

    /// Reports a compaction that the program has asked for.
    pub(crate) fn compacted(&self, work: Work, before: &Statistics, after: &Statistics) {
        self.events.compacted(work, before.data_bytes, after.data_bytes);
    }

    /// Reports a backup.
    pub(crate) fn backed_up(&self, work: Work, copied_bytes: u64, total_bytes: u64) {
        self.events.backed_up(work, copied_bytes, total_bytes);
    }

    /// Reports the building of an index, or its failure.
    pub(crate) fn built_index(&self, work: Work, table: &str, index: &str, built: &Result<()>) {
        self.events.built_index(work, table, index, built);
    }

    /// Reports the failure of work that no caller waits for. A poisoned database was reported once.
    pub(crate) fn ran_in_background(&self, work: &str, outcome: &Result<()>) {
        match outcome {
            Ok(()) | Err(Error::Poisoned { .. } | Error::Closed) => {}
            Err(error) => self.events.failed_in_background(work, error),
        }
    }

    /// Reports the end of a database.
    pub(crate) fn closed(&self, work: Work, outcome: &Result<()>) {
        self.meters.closed();
        self.events.closed(work, outcome);
    }
}
