//! Tests of the table of metrics, and of the least stall that is an event.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

use super::meters::{Kind, METRICS};
use super::{Events, Lack};

/// Returns the first two cells of the rows of the table in the documentation of this module.
fn documented() -> Vec<(&'static str, &'static str)> {
    let rows = include_str!("mod.rs").lines().filter_map(|line| line.strip_prefix("//! | `lode_"));
    rows.map(|row| {
        let (name, rest) = row.split_once("` | ").expect("a row");
        (name, rest.split(' ').next().expect("a kind"))
    })
    .collect()
}

#[test]
fn all_metrics_are_documented_in_their_order_with_their_kinds() {
    let kind = |kind| match kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let known = METRICS.iter().map(|metric| (metric.name, kind(metric.kind)));
    let known: Vec<_> =
        known.map(|(name, kind)| (name.strip_prefix("lode_").expect("a prefix"), kind)).collect();
    assert_eq!(documented(), known);
    assert_eq!(known.iter().collect::<BTreeSet<_>>().len(), known.len());
}

/// The fields of events, as one text.
#[derive(Clone, Default)]
struct Reported(Arc<Mutex<String>>);

impl Visit for Reported {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        *self.0.lock().expect("no panic") += &format!("{field}={value:?} ");
    }
}

impl Subscriber for Reported {
    fn enabled(&self, _: &Metadata<'_>) -> bool {
        true
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

#[test]
fn a_stall_is_reported_from_a_tenth_of_a_second_on() {
    let reported = Reported::default();
    tracing::subscriber::with_default(reported.clone(), || {
        let events = Events::new(&"here");
        events.stalled_for(Lack::Memory, 0.099);
        assert_eq!(*reported.0.lock().expect("no panic"), "");
        events.stalled_for(Lack::Log, 0.1);
    });
    let wanted = "message=stalled database=\"here\" reason=\"log\" seconds=0.1 ";
    assert_eq!(*reported.0.lock().expect("no panic"), wanted);
}
