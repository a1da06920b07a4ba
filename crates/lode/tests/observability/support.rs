//! A recorder and a subscriber that keep all reports, and databases that report.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, Mutex, Once};

use lode::simulation::{self, Simulated};
use lode::{Database, Durability, KeyKind, Options, Schema, Table, Type};
use metrics_util::debugging::{DebugValue, DebuggingRecorder, Snapshotter};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

pub(crate) const RECORD_BYTES: usize = 500;

pub(crate) fn options(level: Durability) -> Options {
    Options::new().memory_bytes(16 << 20).durability(level)
}

pub(crate) fn open(options: &Options, disk: &Simulated) -> Database {
    simulation::open(options, disk, 1).expect("a whole disk")
}

pub(crate) fn table(db: &Database) -> Table {
    let schema = Schema::build("t").key("id", Type::U32);
    let schema = schema.column("rest", Type::Bytes(RECORD_BYTES as u32 - 4)).finish();
    db.create_table(&schema.expect("a schema"), KeyKind::Tree).expect("room")
}

pub(crate) fn record(id: u32, content: u8) -> [u8; RECORD_BYTES] {
    let mut record = [content; RECORD_BYTES];
    record[..4].copy_from_slice(&id.to_le_bytes());
    record
}

/// The metrics that databases report which this thread opens.
pub(crate) struct Metrics {
    recorder: DebuggingRecorder,
    snapshotter: Snapshotter,
}

/// The moves of metrics, by their names, and those of stalls by their reasons too.
#[derive(Debug, PartialEq)]
pub(crate) struct Moved(BTreeMap<String, DebugValue>);

impl Metrics {
    pub(crate) fn new() -> Self {
        let recorder = DebuggingRecorder::new();
        let snapshotter = recorder.snapshotter();
        Self { recorder, snapshotter }
    }

    pub(crate) fn record<T>(&self, work: impl FnOnce() -> T) -> T {
        metrics::with_local_recorder(&self.recorder, work)
    }

    /// Returns how the metrics of a database have moved since the last call.
    pub(crate) fn moved(&self, database: &str) -> Moved {
        let mut moved = BTreeMap::new();
        for (key, _, _, value) in self.snapshotter.snapshot().into_vec() {
            let labels: BTreeMap<_, _> =
                key.key().labels().map(|label| (label.key(), label.value())).collect();
            let reason = labels.get("reason").map_or(String::new(), |reason| format!(" {reason}"));
            if labels["database"] == database {
                moved.insert(format!("{}{reason}", key.key().name()), value);
            }
        }
        Moved(moved)
    }
}

impl Moved {
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    pub(crate) fn counter(&self, name: &str) -> u64 {
        match &self.0[name] {
            DebugValue::Counter(count) => *count,
            other => panic!("{name} is {other:?}"),
        }
    }

    pub(crate) fn gauge(&self, name: &str) -> u64 {
        match &self.0[name] {
            DebugValue::Gauge(level) => level.0 as u64,
            other => panic!("{name} is {other:?}"),
        }
    }

    /// Returns the number of durations of a histogram.
    pub(crate) fn durations(&self, name: &str) -> u64 {
        match &self.0[name] {
            DebugValue::Histogram(seconds) => {
                assert!(seconds.iter().all(|seconds| seconds.0 >= 0.0), "{name}: {seconds:?}");
                seconds.len() as u64
            }
            other => panic!("{name} is {other:?}"),
        }
    }
}

/// An event with its fields as texts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) level: Level,
    pub(crate) fields: BTreeMap<&'static str, String>,
}

impl Seen {
    pub(crate) fn message(&self) -> &str {
        &self.fields["message"]
    }

    pub(crate) fn number(&self, field: &str) -> u64 {
        self.fields[field].parse().expect("a number")
    }
}

impl Visit for Seen {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.fields.insert(field.name(), format!("{value:?}"));
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.fields.insert(field.name(), value.into());
    }
}

/// The events that this thread sends.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<Seen>>>);

impl Events {
    pub(crate) fn record<T>(&self, work: impl FnOnce() -> T) -> T {
        // A place of events could be left out for all threads: if a thread without a subscriber
        // came to it first, while no other subscriber was there.
        static ALWAYS: Once = Once::new();
        ALWAYS.call_once(|| {
            tracing::subscriber::set_global_default(Self::default()).expect("no other is set");
        });
        tracing::subscriber::with_default(self.clone(), work)
    }

    /// Returns the events since the last call.
    pub(crate) fn take(&self) -> Vec<Seen> {
        std::mem::take(&mut *self.0.lock().expect("no panic"))
    }
}

impl Subscriber for Events {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "lode"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let level = *event.metadata().level();
        let mut seen = Seen { level, fields: BTreeMap::new() };
        event.record(&mut seen);
        self.0.lock().expect("no panic").push(seen);
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
