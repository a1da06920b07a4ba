//! A clock that never stops within a round: what the instrument does before and after it, and that
//! neither operations nor checks are others.

use std::collections::BTreeMap;
use std::sync::Mutex;

use assay_core::crew::Pace;
use assay_core::plan::Cell;
use assay_core::run_file::Status;
use assay_core::tape::{Order, Population, Records, Tape};
use assay_core::timing::{Clock, Round, Timed};
use assay_driver::error::Result;
use assay_driver::schema::Schema;
use assay_driver::{Connection, Outcome};
use assay_suites::crossbench::Keys;
use assay_suites::crossbench::route::Routes;

use crate::engine::{Fault, Faulty};
use crate::others::{measured, of_clock};

/// The events, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    /// A record's key or content was made.
    Made,
    /// The engine did an operation.
    Did,
    /// Progress was reported.
    Told,
}

type Log = Mutex<Vec<Event>>;

fn note(log: &Log, event: Event) {
    log.lock().expect("no test panics with it").push(event);
}

/// Records that note when they are made.
struct Watched<'l> {
    routes: Routes,
    log: &'l Log,
}

impl Records for Watched<'_> {
    fn schema(&self) -> &Schema {
        self.routes.schema()
    }

    fn key(&self, row: u64, key: &mut [u8]) {
        note(self.log, Event::Made);
        self.routes.key(row, key);
    }

    fn payload(&self, row: u64, version: u32, payload: &mut [u8]) {
        note(self.log, Event::Made);
        self.routes.payload(row, version, payload);
    }
}

/// An engine that notes when it is asked.
struct Engine<'l> {
    content: BTreeMap<Vec<u8>, Vec<u8>>,
    log: &'l Log,
}

impl Connection for Engine<'_> {
    fn begin(&mut self) -> Result<()> {
        note(self.log, Event::Did);
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        note(self.log, Event::Did);
        Ok(())
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        note(self.log, Event::Did);
        let (key, payload) = record.split_at(KEY_BYTES);
        Ok(match self.content.insert(key.to_vec(), payload.to_vec()) {
            None => Outcome::Done,
            Some(_) => Outcome::Duplicate,
        })
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        note(self.log, Event::Did);
        Ok(match self.content.get(key) {
            Some(found) => {
                payload.copy_from_slice(found);
                Outcome::Done
            }
            None => Outcome::Missing,
        })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        note(self.log, Event::Did);
        let schema = Routes::new(Keys::Dense, 1).schema().clone();
        let from = schema.columns()[column].offset - KEY_BYTES;
        Ok(match self.content.get_mut(key) {
            Some(payload) => {
                payload[from..from + value.len()].copy_from_slice(value);
                Outcome::Done
            }
            None => Outcome::Missing,
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        note(self.log, Event::Did);
        Ok(match self.content.remove(key) {
            Some(_) => Outcome::Done,
            None => Outcome::Missing,
        })
    }
}

/// Bytes of the key of a route.
const KEY_BYTES: usize = 8;

/// More than a batch of several threads, and than are done between two reports of progress.
const ROWS: u64 = 40_000;

/// Returns the events of rounds of all kinds, one after another on one engine.
fn events(clock: Clock) -> Vec<Vec<Event>> {
    let log = Log::default();
    let routes = Watched { routes: Routes::new(Keys::Dense, 1), log: &log };
    assert_eq!(routes.schema().key_size(), KEY_BYTES);
    let birth = routes.schema().position("birth").expect("a birth");
    let mut engine = Engine { content: BTreeMap::new(), log: &log };
    type Work<'w> = &'w dyn Fn(Round<'_, '_, Watched<'_>>) -> Result<Timed>;
    let works: [Work<'_>; 7] = [
        &|round| round.inserts(true),
        &|round| round.queries(None),
        &|round| round.updates(birth, 1),
        &|round| round.deletes(),
        &|round| round.inserts(false),
        &|round| round.deletes(),
        &|round| round.batches(100),
    ];
    let events_of = |work: &Work<'_>| {
        log.lock().expect("no test panics with it").clear();
        let round = Round {
            connection: &mut engine,
            pace: &mut Pace::alone(),
            records: &routes,
            rows: &Population::all(ROWS).rows(),
            tape: &Tape::new(Order::Permutation, 1, ROWS),
            positions: 0..ROWS,
            clock,
            check: true,
            progress: &mut |_| note(&log, Event::Told),
        };
        let timed = work(round).expect("every result is right");
        assert!(timed.operations == ROWS && timed.checked > 0, "{timed:?}");
        log.lock().expect("no test panics with it").clone()
    };
    works.iter().map(events_of).collect()
}

/// The number of calls of the engine before anything is made again.
fn first_span(events: &[Event]) -> usize {
    let begin = events.iter().position(|event| *event == Event::Did).expect("it is asked");
    let span = events[begin..].iter().take_while(|event| **event != Event::Made);
    span.filter(|event| **event == Event::Did).count()
}

#[test]
fn a_clock_that_never_stops_has_all_made_before_it_and_compared_after_it() {
    for (at, events) in events(Clock::Continuous).iter().enumerate() {
        assert!(first_span(events) >= ROWS as usize, "round {at}: {}", first_span(events));
        // A long span says how far it is.
        assert!(events.iter().filter(|event| **event == Event::Told).count() > 3, "round {at}");
    }
    for (at, events) in events(Clock::Stops).iter().enumerate() {
        assert!(first_span(events) < 2_000, "round {at}: {}", first_span(events));
    }
}

#[test]
fn the_clock_changes_no_operation() {
    let recorded = |cell: &Cell| {
        let engine = Faulty::with(Fault::None);
        let (status, measurement) = measured(cell, &engine);
        assert_eq!(status, Status::Measured, "{}", cell.suite);
        let checked: Vec<_> = measurement.phases.iter().map(|phase| phase.checked).collect();
        let tapes: Vec<_> =
            measurement.phases.iter().map(|phase| phase.tape_hash.clone()).collect();
        (engine.recorded(), checked, tapes)
    };
    let pairs = of_clock(Clock::Stops).into_iter().zip(of_clock(Clock::Continuous));
    for (stops, continuous) in pairs {
        assert_ne!(stops.options, continuous.options);
        assert_eq!(recorded(&stops), recorded(&continuous), "{}", stops.suite);
    }
}

#[test]
fn a_fault_is_found_out_under_a_clock_that_never_stops() {
    let faults = [Fault::LosesAnInsert, Fault::FlipsABit, Fault::ForgetsDeletes];
    for (cell, fault) in of_clock(Clock::Continuous).iter().zip(faults) {
        let (status, _) = measured(cell, &Faulty::with(fault));
        assert!(matches!(status, Status::Wrong(_)), "{}, {fault:?}: {status:?}", cell.suite);
    }
}
