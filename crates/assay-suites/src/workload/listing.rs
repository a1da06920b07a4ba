//! The operations of a workload one by one, as one thread does them; no engine is asked.

use std::io;

use assay_core::random::mix;

use super::course::Course;
use super::model::{Model, Start, State};
use super::records::Records;
use super::spec::{Kind, Phase, Spec};
use super::tape::Tape;

/// The operations a second of a phase without a rate.
const RATE: f64 = 10_000.0;

/// An operation.
#[derive(Clone, Copy, Debug)]
pub struct Listed {
    /// The time from the start of the first phase.
    pub time_ns: u64,
    /// The kind.
    pub kind: Kind,
    /// A number that stands for the record's key.
    pub key: u64,
    /// The bytes of the value: of the one that is read, or written.
    pub size: u64,
    /// The number of records that a scan asks for.
    pub wanted: u64,
}

/// Calls `work` for each operation of a workload's phases; the last one is continued, or ended,
/// after `operations` in all.
///
/// # Errors
/// The first error of `work`.
pub fn listed(
    spec: &Spec,
    seed: u64,
    operations: Option<u64>,
    work: &mut dyn FnMut(Listed) -> io::Result<()>,
) -> io::Result<()> {
    let records = Records::new(spec, seed);
    let mut model = Model::loaded(spec.records.count);
    let mut left = operations.unwrap_or(u64::MAX);
    let mut start_ns = 0.0;
    let mut phases = spec.phases.iter().filter(|phase| phase.is_listed()).peekable();
    while let Some(phase) = phases.next() {
        let is_last = phases.peek().is_none();
        let count = match operations {
            Some(_) if is_last => left,
            _ => phase.expected_operations().min(left),
        };
        left -= count;
        let start = Start::of(&model);
        let mut lanes = model.lanes(1);
        // A trace has one thread: it leaves the background out.
        let phase = &Phase { background: None, ..phase.clone() };
        let course = Course::new(phase, seed, 1, start.rows);
        let tape = Tape::new(phase, &course, &start, 0);
        for position in 0..count {
            let operation = tape.next(position, &mut lanes[0], &start);
            let state = operation.after.or(operation.before).filter(|state| state.is_there());
            let version = state.map(State::version);
            let size = version.map_or(0, |version| records.value_bytes(operation.row, version));
            work(Listed {
                time_ns: (start_ns + seconds_of(phase, position) * 1e9) as u64,
                kind: operation.kind,
                key: mix(seed ^ u64::from(operation.kind == Kind::Missing), operation.row),
                size: size as u64,
                wanted: operation.wanted,
            })?;
        }
        start_ns += seconds_of(phase, count) * 1e9;
        model = Model::of_lanes(&lanes.iter().collect::<Vec<_>>());
    }
    Ok(())
}

/// Returns the time of an operation in its phase, in seconds.
fn seconds_of(phase: &Phase, position: u64) -> f64 {
    match &phase.rates {
        Some(rates) => rates.seconds_of(position as f64),
        None => position as f64 / RATE,
    }
}
