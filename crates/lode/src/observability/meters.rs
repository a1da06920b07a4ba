//! Metrics, by crate `metrics`.

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use metrics::{Counter, Gauge, Histogram, NoopRecorder, Unit, with_local_recorder};

use super::{Lack, Replay, Statistics, Work};

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// A metric, as the recorder describes it.
pub(super) struct Metric {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    unit: Unit,
    meaning: &'static str,
}

const fn counter(name: &'static str, unit: Unit, meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Counter, unit, meaning }
}

const fn seconds(name: &'static str, meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Histogram, unit: Unit::Seconds, meaning }
}

const fn gauge(name: &'static str, unit: Unit, meaning: &'static str) -> Metric {
    Metric { name, kind: Kind::Gauge, unit, meaning }
}

const COMMITS: &str = "lode_commits_total";
const COMMIT_SECONDS: &str = "lode_commit_duration_seconds";
const CONFLICTS: &str = "lode_conflicts_total";
const SYNCS: &str = "lode_syncs_total";
const SYNC_SECONDS: &str = "lode_sync_duration_seconds";
const CHECKPOINTS: &str = "lode_checkpoints_total";
const CHECKPOINT_SECONDS: &str = "lode_checkpoint_duration_seconds";
const STALLS: &str = "lode_stalls_total";
const STALL_SECONDS: &str = "lode_stall_duration_seconds";
const OPEN_SECONDS: &str = "lode_open_duration_seconds";
const REPLAYED_FRAMES: &str = "lode_replayed_frames_total";
const REPLAYED_BYTES: &str = "lode_replayed_bytes_total";
const POISONED: &str = "lode_poisoned";
const EVICTIONS: &str = "lode_evictions_total";
const READ_BYTES: &str = "lode_data_read_bytes_total";
const WRITTEN_BYTES: &str = "lode_data_written_bytes_total";
const PAGE_BYTES: &str = "lode_page_bytes";
const CHANGED_BYTES: &str = "lode_changed_bytes";
const SNAPSHOT_BYTES: &str = "lode_snapshot_bytes";
const TRANSACTION_BYTES: &str = "lode_transaction_bytes";
const DATA_BYTES: &str = "lode_data_bytes";
const DATA_USED_BYTES: &str = "lode_data_used_bytes";
const LOG_BYTES: &str = "lode_log_bytes";

/// All lacks, in the order of their numbers.
const LACKS: [Lack; 4] = [Lack::Memory, Lack::Log, Lack::Space, Lack::Segment];

/// All metrics, in the order of the table in the documentation.
pub(super) const METRICS: [Metric; 23] = [
    counter(COMMITS, Unit::Count, "Transactions and batches that have written."),
    seconds(COMMIT_SECONDS, "Duration of a commit, with the wait for a sync."),
    counter(CONFLICTS, Unit::Count, "Attempts of transactions that a conflict ended."),
    counter(SYNCS, Unit::Count, "Syncs of the log."),
    seconds(SYNC_SECONDS, "Duration of a sync of the log."),
    counter(CHECKPOINTS, Unit::Count, "Checkpoints after the opening."),
    seconds(CHECKPOINT_SECONDS, "Duration of a checkpoint."),
    counter(STALLS, Unit::Count, "Writes that had to wait for room."),
    seconds(STALL_SECONDS, "Duration of the wait of a write for room."),
    seconds(OPEN_SECONDS, "Duration of an opening, with recovery."),
    counter(REPLAYED_FRAMES, Unit::Count, "Frames of the log that opening replayed."),
    counter(REPLAYED_BYTES, Unit::Bytes, "Bytes of records of the log that opening replayed."),
    gauge(POISONED, Unit::Count, "1 when the disk failed, and nothing is written any more."),
    counter(EVICTIONS, Unit::Count, "Pages that left memory for others."),
    counter(READ_BYTES, Unit::Bytes, "Bytes of pages read from the data file."),
    counter(WRITTEN_BYTES, Unit::Bytes, "Bytes of pages written to the data file."),
    gauge(PAGE_BYTES, Unit::Bytes, "Bytes of pages in memory."),
    gauge(CHANGED_BYTES, Unit::Bytes, "Bytes of pages that are to be written to the data file."),
    gauge(SNAPSHOT_BYTES, Unit::Bytes, "Bytes of old page images."),
    gauge(TRANSACTION_BYTES, Unit::Bytes, "Bytes that transactions hold."),
    gauge(DATA_BYTES, Unit::Bytes, "Bytes of the data file, without holes."),
    gauge(DATA_USED_BYTES, Unit::Bytes, "Bytes of the data file that are in use."),
    gauge(LOG_BYTES, Unit::Bytes, "Bytes of the log that a crash would have replayed."),
];

/// Describes each metric, by its unit and meaning, to the recorder of the program. Call it once,
/// after you have installed the recorder.
///
/// ```
/// use lode::{Database, observability};
/// use metrics_util::debugging::DebuggingRecorder;
///
/// let recorder = DebuggingRecorder::new();
/// let snapshotter = recorder.snapshotter();
/// recorder.install().expect("no other is installed");
/// observability::describe_metrics();
///
/// let db = Database::in_memory()?;
/// db.begin().commit()?;
/// let metrics = snapshotter.snapshot().into_vec();
/// let names: Vec<_> = metrics.iter().map(|(key, ..)| key.key().name()).collect();
/// assert!(names.contains(&"lode_commits_total"));
/// # Ok::<(), lode::Error>(())
/// ```
pub fn describe_metrics() {
    for Metric { name, kind, unit, meaning } in METRICS {
        match kind {
            Kind::Counter => metrics::describe_counter!(name, unit, meaning),
            Kind::Gauge => metrics::describe_gauge!(name, unit, meaning),
            Kind::Histogram => metrics::describe_histogram!(name, unit, meaning),
        }
    }
}

/// A counter of a number that the engine keeps, and the number as of the last time.
struct Kept {
    counter: Counter,
    last: AtomicU64,
}

impl Kept {
    fn raise_to(&self, number: u64) {
        let last = self.last.fetch_max(number, Ordering::Relaxed);
        self.counter.increment(number.saturating_sub(last));
    }
}

/// The metrics of a database.
#[derive(Clone)]
pub(super) struct Meters(Arc<Handles>);

/// A gauge, and the part of the statistics that it shows.
type Space = (Gauge, fn(&Statistics) -> u64);

/// The recorder's handles of all metrics.
struct Handles {
    commits: Counter,
    commit_seconds: Histogram,
    conflicts: Counter,
    syncs: Counter,
    sync_seconds: Histogram,
    checkpoints: Counter,
    checkpoint_seconds: Histogram,
    stalls: [(Counter, Histogram); LACKS.len()],
    open_seconds: Histogram,
    replayed_frames: Counter,
    replayed_bytes: Counter,
    poisoned: Gauge,
    evictions: Kept,
    read_bytes: Kept,
    written_bytes: Kept,
    space: [Space; 7],
}

impl Handles {
    fn register(database: &str) -> Self {
        let counter =
            |name: &'static str| metrics::counter!(name, "database" => database.to_owned());
        let gauge = |name: &'static str| metrics::gauge!(name, "database" => database.to_owned());
        let seconds =
            |name: &'static str| metrics::histogram!(name, "database" => database.to_owned());
        let kept = |name| Kept { counter: counter(name), last: AtomicU64::new(0) };
        let stalls = LACKS.map(|lack| {
            let labels = [("database", database.to_owned()), ("reason", lack.name().to_owned())];
            (metrics::counter!(STALLS, &labels), metrics::histogram!(STALL_SECONDS, &labels))
        });
        Self {
            commits: counter(COMMITS),
            commit_seconds: seconds(COMMIT_SECONDS),
            conflicts: counter(CONFLICTS),
            syncs: counter(SYNCS),
            sync_seconds: seconds(SYNC_SECONDS),
            checkpoints: counter(CHECKPOINTS),
            checkpoint_seconds: seconds(CHECKPOINT_SECONDS),
            stalls,
            open_seconds: seconds(OPEN_SECONDS),
            replayed_frames: counter(REPLAYED_FRAMES),
            replayed_bytes: counter(REPLAYED_BYTES),
            poisoned: gauge(POISONED),
            evictions: kept(EVICTIONS),
            read_bytes: kept(READ_BYTES),
            written_bytes: kept(WRITTEN_BYTES),
            space: [
                (gauge(PAGE_BYTES), |statistics| statistics.page_bytes),
                (gauge(CHANGED_BYTES), |statistics| statistics.changed_bytes),
                (gauge(SNAPSHOT_BYTES), |statistics| statistics.snapshot_bytes),
                (gauge(TRANSACTION_BYTES), |statistics| statistics.transaction_bytes),
                (gauge(DATA_BYTES), |statistics| statistics.data_bytes),
                (gauge(DATA_USED_BYTES), |statistics| statistics.data_used_bytes),
                (gauge(LOG_BYTES), |statistics| statistics.log_bytes),
            ],
        }
    }
}

impl Meters {
    pub(super) fn new(database: &dyn Display) -> Self {
        Self(Arc::new(Handles::register(&database.to_string())))
    }

    /// Makes metrics that no recorder shows.
    pub(super) fn none() -> Self {
        Self(Arc::new(with_local_recorder(&NoopRecorder, || Handles::register(""))))
    }

    pub(super) fn opened(&self, work: Work, replay: &Replay) {
        self.0.open_seconds.record(work.seconds());
        self.0.replayed_frames.increment(replay.frames.get());
        self.0.replayed_bytes.increment(replay.bytes.get());
    }

    pub(super) fn committed(&self, work: Work, has_written: impl FnOnce() -> bool) {
        if has_written() {
            self.0.commits.increment(1);
            self.0.commit_seconds.record(work.seconds());
        }
    }

    pub(super) fn met_conflict(&self) {
        self.0.conflicts.increment(1);
    }

    pub(super) fn synced(&self, work: Work) {
        self.0.syncs.increment(1);
        self.0.sync_seconds.record(work.seconds());
    }

    pub(super) fn checkpointed(&self, work: Work) {
        self.0.checkpoints.increment(1);
        self.0.checkpoint_seconds.record(work.seconds());
    }

    pub(super) fn stalled(&self, lack: Lack, work: Work) {
        debug_assert!(LACKS[lack as usize] == lack, "lacks are in the order of their numbers");
        let (count, seconds) = &self.0.stalls[lack as usize];
        count.increment(1);
        seconds.record(work.seconds());
    }

    pub(super) fn poisoned(&self) {
        self.0.poisoned.set(1);
    }

    pub(super) fn publish(&self, now: impl FnOnce() -> (Statistics, u64)) {
        let (statistics, evictions) = now();
        self.0.evictions.raise_to(evictions);
        self.0.read_bytes.raise_to(statistics.data_read_bytes);
        self.0.written_bytes.raise_to(statistics.data_written_bytes);
        for (gauge, bytes) in &self.0.space {
            gauge.set(bytes(&statistics) as f64);
        }
    }

    pub(super) fn closed(&self) {
        self.0.poisoned.set(0);
        self.0.space.iter().for_each(|(gauge, _)| gauge.set(0));
    }
}
