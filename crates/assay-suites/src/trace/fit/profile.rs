//! The profile by which a trace and a workload are compared.

use std::collections::{BTreeMap, HashMap};
use std::io;

use super::super::line::Act;
use super::super::tape::{Resolved, Tape};
use crate::workload::spec::{Kind, Spec};
use crate::workload::{self, Listed};

/// Numbers, each with how often it is there.
pub(super) type Counts = BTreeMap<u64, u64>;

/// The properties of a sequence of operations.
#[derive(Clone, Debug, Default)]
pub(super) struct Profile {
    pub(super) operations: u64,
    /// The number of operations of each kind, in the order of [`Kind::ALL`].
    pub(super) kinds: [u64; Kind::ALL.len()],
    /// The bytes of values that are written, of two digits.
    pub(super) sizes: Counts,
    /// The records that scans ask for, of two digits.
    pub(super) scanned: Counts,
    /// The frequencies of choice: the number of records by their number of operations without
    /// inserts.
    pub(super) chosen: Counts,
    /// The number of records with one operation in all.
    pub(super) once: u64,
    /// The number of records that are there at the start.
    pub(super) at_start: u64,
    /// The number of records that are stored at some time.
    pub(super) stored: u64,
    pub(super) key_bytes: u64,
    /// The time from the first operation to the end of the last one; 0 if the trace has no times.
    pub(super) time_ns: u64,
}

/// The operations on a record.
#[derive(Clone, Copy, Default)]
struct Record {
    all: u64,
    chosen: u64,
    is_stored: bool,
}

impl Profile {
    /// Returns the profile of a trace.
    pub(super) fn of_trace(tape: Tape) -> io::Result<Self> {
        let facts = &tape.facts;
        let mut profile = Self {
            at_start: facts.filled,
            key_bytes: facts.key_bytes,
            time_ns: if facts.has_times { facts.time_ns } else { 0 },
            ..Self::default()
        };
        for mut part in tape.parts {
            let mut records = HashMap::<u64, Record>::new();
            while let Some(operation) = part.next()? {
                let record = records.entry(operation.key).or_default();
                record.is_stored |= operation.before.is_there() || operation.after().is_there();
                profile.add(kind_of(&operation), u64::from(operation.size), record);
            }
            records.into_values().for_each(|record| profile.add_record(record));
        }
        Ok(profile)
    }

    /// Returns the profile of a workload's operations.
    pub(super) fn of_workload(spec: &Spec, seed: u64, operations: u64) -> Self {
        let mut profile = Self { at_start: spec.records.count, ..Self::default() };
        let mut records = HashMap::<u64, Record>::new();
        let listed = workload::listed(spec, seed, Some(operations), &mut |listed| {
            let Listed { kind, key, size, wanted, time_ns } = listed;
            let record = records.entry(key).or_default();
            record.is_stored |= kind != Kind::Missing;
            profile.time_ns = time_ns;
            profile.add(kind, if kind == Kind::Scan { wanted } else { size }, record);
            Ok(())
        });
        listed.expect("nothing is written");
        records.into_values().for_each(|record| profile.add_record(record));
        profile
    }

    fn add(&mut self, kind: Kind, size: u64, record: &mut Record) {
        self.operations += 1;
        self.kinds[kind as usize] += 1;
        record.all += 1;
        record.chosen += u64::from(!matches!(kind, Kind::Insert | Kind::Missing));
        if kind == Kind::Scan {
            *self.scanned.entry(of_two_digits(size)).or_default() += 1;
        } else if kind.writes() && kind != Kind::Delete {
            *self.sizes.entry(of_two_digits(size)).or_default() += 1;
        }
    }

    fn add_record(&mut self, record: Record) {
        if record.is_stored {
            self.stored += 1;
            self.once += u64::from(record.all == 1);
            *self.chosen.entry(record.chosen).or_default() += 1;
        }
    }

    /// Returns the share of the operations that are of a kind.
    pub(super) fn share(&self, kind: Kind) -> f64 {
        self.kinds[kind as usize] as f64 / self.operations.max(1) as f64
    }

    /// Returns the operations a second; none without times.
    pub(super) fn rate(&self) -> Option<f64> {
        (self.time_ns > 0).then(|| self.operations as f64 * 1e9 / self.time_ns as f64)
    }
}

/// Returns the kind of a workload's operation that an operation of a trace is.
fn kind_of(operation: &Resolved) -> Kind {
    let is_there = operation.before.is_there();
    match operation.act {
        Act::Read if is_there => Kind::Read,
        Act::Read => Kind::Missing,
        Act::Upsert if operation.before.version() == 0 => Kind::Insert,
        Act::Insert if operation.before.version() == 0 => Kind::Insert,
        Act::Insert | Act::Upsert => Kind::Upsert,
        Act::Update => Kind::Update,
        Act::Delete => Kind::Delete,
        Act::ReadModifyWrite => Kind::ReadModifyWrite,
        Act::Scan => Kind::Scan,
    }
}

/// Returns a number with all but its first two digits made zero.
fn of_two_digits(number: u64) -> u64 {
    let unit = 10_u64.pow(number.max(1).ilog10().saturating_sub(1));
    (number + unit / 2) / unit * unit
}

/// Returns the number that a share of all counted ones is at most.
pub(super) fn quantile(counts: &Counts, share: f64) -> u64 {
    let all: u64 = counts.values().sum();
    let mut seen = 0;
    for (number, count) in counts {
        seen += count;
        if seen as f64 >= share * all as f64 {
            return *number;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_of_a_number_are_kept() {
        assert_eq!([0, 7, 99, 101, 1_049, 1_051].map(of_two_digits), [0, 7, 99, 100, 1_000, 1_100]);
    }

    #[test]
    fn quantiles_are_of_all_counted_numbers() {
        let counts = Counts::from([(1, 90), (5, 9), (100, 1)]);
        assert_eq!([0.5, 0.9, 0.95, 0.999].map(|share| quantile(&counts, share)), [1, 1, 5, 100]);
        assert_eq!(quantile(&Counts::new(), 0.5), 0);
    }
}
