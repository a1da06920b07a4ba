//! Cases in a fixed order, on engines whose answers are known.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use assay_isolation::drive::{CaseResult, Engine, Session, Stop, in_fixed_order};
use assay_isolation::{Anomaly, Level};

use super::model::{Model, Weakness};

/// Longer than any step of a model takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn cases(weakness: Weakness) -> Vec<CaseResult> {
    in_fixed_order(&Model::new(weakness), true, PATIENCE).expect("a model works")
}

/// Returns the anomalies that the cases were made for and show.
fn shown(cases: &[CaseResult]) -> Vec<Anomaly> {
    let shown = cases.iter().filter(|case| case.verdict.shows(case.anomaly));
    let mut all: Vec<_> = shown.map(|case| case.anomaly).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn each_weakness_shows_in_the_cases_made_for_it() {
    use Anomaly::{
        AbortedRead, CircularFlow, IntermediateRead, LostUpdate, Phantom, ReadSkew, WriteSkew,
    };
    let expected: [(Weakness, &[Anomaly]); 6] = [
        (Weakness::None, &[]),
        (Weakness::RangesUnchecked, &[Phantom]),
        (Weakness::ReadsUnchecked, &[WriteSkew, Phantom]),
        (Weakness::WritesUnchecked, &[LostUpdate, WriteSkew, Phantom]),
        (Weakness::NewestReads, &[LostUpdate, ReadSkew, WriteSkew, Phantom]),
        (
            Weakness::DirtyReads,
            &[AbortedRead, IntermediateRead, CircularFlow, ReadSkew, WriteSkew, Phantom],
        ),
    ];
    for (weakness, anomalies) in expected {
        let cases = cases(weakness);
        assert_eq!(cases.len(), 12);
        assert_eq!(shown(&cases), anomalies, "{weakness:?}");
        assert!(cases.iter().all(|case| !case.has_waited), "{weakness:?}: a model never waits");
        let refused = cases.iter().filter(|case| case.was_refused).count();
        assert_eq!(refused > 0, weakness <= Weakness::ReadsUnchecked, "{weakness:?}: {refused}");
    }
}

/// A model in which one transaction waits for the end of the one before.
struct OneByOne {
    model: Model,
    is_busy: Mutex<bool>,
    ended: Condvar,
}

struct Alone<'o> {
    inner: &'o mut dyn Session,
    of: &'o OneByOne,
}

impl OneByOne {
    fn set(&self, is_busy: bool) {
        let mut busy = self.is_busy.lock().unwrap_or_else(PoisonError::into_inner);
        while is_busy && *busy {
            busy = self.ended.wait(busy).unwrap_or_else(PoisonError::into_inner);
        }
        *busy = is_busy;
        self.ended.notify_all();
    }
}

impl Engine for OneByOne {
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        self.model.connect(&mut |inner| work(&mut Alone { inner, of: self }))
    }
}

impl Session for Alone<'_> {
    fn begin(&mut self) -> Result<(), Stop> {
        self.of.set(true);
        self.inner.begin()
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        self.inner.get(key)
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        self.inner.put(key, value)
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        self.inner.delete(key)
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        self.inner.range(low, high)
    }

    fn commit(&mut self) -> Result<(), Stop> {
        let ended = self.inner.commit();
        self.of.set(false);
        ended
    }

    fn abort(&mut self) -> Result<(), Stop> {
        let ended = self.inner.abort();
        self.of.set(false);
        ended
    }
}

#[test]
fn sessions_may_wait_for_each_other() {
    let (is_busy, ended) = (Mutex::default(), Condvar::new());
    let engine = OneByOne { model: Model::new(Weakness::WritesUnchecked), is_busy, ended };
    let cases = in_fixed_order(&engine, true, Duration::from_millis(20)).expect("a model works");
    for case in &cases {
        assert_eq!(case.verdict.level, Level::StrictlySerializable, "{}", case.verdict);
        assert!(!case.was_refused, "{}", case.name);
        // One case has its transactions one after another.
        let is_apart = case.name == "a reader between two dependent writers";
        assert!(case.has_waited || is_apart, "{}", case.name);
    }
}

#[test]
fn ranges_are_left_out_where_there_are_none() {
    let model = Model::new(Weakness::None);
    let cases = in_fixed_order(&model, false, PATIENCE).expect("a model works");
    assert_eq!(cases.len(), 9);
    assert!(cases.iter().all(|case| case.anomaly != Anomaly::Phantom));
}
