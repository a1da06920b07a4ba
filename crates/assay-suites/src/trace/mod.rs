//! `trace`: replays what a program did, from a file with a line for each operation.
//!
//! Before the clock the trace is read to its end, and each operation gets the state of its record
//! before it (`tape.rs`). So broken lines are found before anything starts, and memory does not
//! grow with the trace. Every answer is compared with the one that is right. Keys are hashed, and
//! contents are ours; operations, their order and the sizes of values are the trace's.
//! `docs/traces.md` describes formats and replay.

mod batch;
mod check;
mod clients;
mod deal;
mod facts;
mod fit;
mod format;
mod generate;
mod line;
mod options;
mod pace;
mod reader;
mod records;
mod source;
mod spool;
mod state;
mod tape;

use std::fmt;
use std::ops::Bound;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use assay_core::chart::LineChart;
use assay_core::crew::Connections;
use assay_core::latency::summary;
use assay_core::plan::Cell;
use assay_core::run_file::{Phase as Measured, RunFile};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Change, Concurrency, Connection, Driver, KeyKind, Scan};
use program_support::exit::Outcome;
use xxhash_rust::xxh3::xxh3_64;

use crate::options::Part;
use crate::phases::{LOAD, NthRound, kept, telling};
use crate::reopened::Reopened;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Nothing, Paced, Suite};
use crate::workload;
use check::{Checker, Ordered};
use clients::{Clients, Done, unreadable};
pub use facts::Facts;
pub use fit::{Fit, FitOptions, fit};
pub use format::Format;
pub use generate::{generate, packed};
pub use line::Act;
pub use options::Options;
pub use pace::Pace;
use records::Records;
use tape::Tape;

/// The suite.
pub struct Trace;

/// The name of the phase.
const REPLAY: &str = "replay";

/// The name that progress has while the trace is read.
const READ: &str = "read the trace";

/// The operations that a scan is counted as.
const SCAN_WEIGHT: u64 = 5;

fn needs<'r>(cell: &Cell, facts: &Facts, records: &'r Records) -> Needs<'r> {
    Needs {
        schema: records.schema(),
        records: String::new(),
        keep: false,
        expected_rows: facts.stored,
        threads: cell.threads,
        volumes: None,
    }
}

/// Returns the figures of a cell's trace.
fn facts_of(options: &Options) -> Result<&Facts> {
    options.facts.as_ref().ok_or_else(|| Error::new(ErrorKind::Engine, "the cell has no trace"))
}

/// Reads the trace of a cell again, which must be the one that was planned.
fn tape_of(options: &Options, progress: &mut dyn FnMut(u64)) -> Result<Tape> {
    let reading = options.reading().ok_or_else(|| unreadable(&"the cell names none"))?;
    let tape = Tape::of(&reading, options.prefill, progress).map_err(|why| unreadable(&why))?;
    if Some(&tape.facts) == options.facts.as_ref() {
        Ok(tape)
    } else {
        Err(unreadable(&"it has changed since the run was planned; start the run again"))
    }
}

/// Returns why an engine cannot do a trace, as far as what it declares says that.
fn refusal(
    driver: &dyn Driver,
    facts: &Facts,
    key_kind: KeyKind,
    threads: u32,
) -> Option<&'static str> {
    let is_alone = driver.profile().concurrency == Concurrency::OneConnection;
    let any = |property: fn(Act) -> bool| {
        Act::ALL.into_iter().any(|act| facts.count(act) > 0 && property(act))
    };
    let lacks = |change| driver.lacks().contains(&change);
    let why = [
        (threads > 1 && is_alone, "it has one connection at a time"),
        (any(Act::updates) && lacks(Change::Update), "it has no update"),
        (any(|act| act == Act::Delete) && lacks(Change::Delete), "it has no delete"),
        (any(|act| act == Act::Scan) && key_kind == KeyKind::Hash, "its keys have no order"),
    ];
    why.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
}

/// Checks that an engine scans, by a scan of the empty store.
fn try_scan(connection: &mut dyn Connection) -> Result<()> {
    let all = Bound::Unbounded;
    let scan = Scan { lower: all, upper: all, columns: &[0, 1], limit: 1 };
    connection.scan(&scan, &mut |_| ()).map(drop)
}

/// Keeps the figures of a phase.
fn keep(session: &mut Session<'_>, name: &str, threads: u32, hash: u64, done: &Done) {
    session.keep(Measured {
        name: name.into(),
        rounds: vec![kept(done.timed.operations, done.taken)],
        published_top: 1,
        tape_hash: format!("{hash:016x}"),
        checked: done.timed.checked,
        threads,
        ..Measured::default()
    });
}

impl Suite for Trace {
    type Options = Options;
    type Left = Nothing;

    const ID: &'static str = "trace";
    const ABOUT: &'static str = "replays what a program did, as its trace says";
    const REVISION: u32 = 1;
    const SHORTER: &'static str = "--first";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        options.parts()
    }

    fn variant(options: &Options) -> String {
        let name = options.file.as_deref().and_then(|path| path.file_name());
        let mut said = name.unwrap_or_default().to_string_lossy().into_owned();
        if let Some(facts) = &options.facts {
            // Two files of one name are two traces.
            let digest = facts.digest ^ xxh3_64(&facts.filled.to_le_bytes());
            said += &format!(" · {:06x}", digest >> 40);
        }
        if options.prefill {
            said += ", prefilled";
        }
        if options.pace != Pace::Fastest {
            said += &format!(", pace {}", options.pace);
        }
        said
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Nothing>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let facts = facts_of(options)?;
        let threads = options.cell_threads();
        if let Some(why) = refusal(driver, facts, cell.key_kind, threads) {
            return Err(Error::unsupported(why));
        }
        let mut told = telling(report, READ, NthRound::ONLY, facts.operations, 1);
        let mut tape = tape_of(options, &mut told)?;
        drop(told);
        let records = Records::new(facts, cell.seed);
        let mut session = Session::open(cell, driver, &needs(cell, facts, &records), measurement)?;
        let profile = driver.profile();
        let scans = facts.count(Act::Scan) > 0;
        if scans {
            session.connected(&mut try_scan)?;
        }
        let mut ordered = scans.then(|| Ordered::new(std::mem::take(&mut tape.keys)));
        if facts.filled > 0 {
            let mut told = telling(report, LOAD, NthRound::ONLY, facts.filled, 1);
            let mut clients = Clients::new(&records, profile, Pace::Fastest);
            clients.together = true;
            let fill = std::mem::take(&mut tape.fill);
            let mut done = clients.run(fill, ordered, &session, &mut told)?;
            drop(told);
            ordered = done.ordered.take();
            keep(&mut session, LOAD, 1, facts.digest ^ facts.filled, &done);
        }
        session.cool()?;
        let mut told = telling(report, REPLAY, NthRound::ONLY, facts.operations, threads);
        let mut clients = Clients::new(&records, profile, options.pace);
        clients.threads = threads;
        let parts = std::mem::take(&mut tape.parts);
        let done = clients.run(parts, ordered, &session, &mut told)?;
        drop(told);
        keep(&mut session, REPLAY, threads, facts.digest, &done);
        if let Some(why) = &facts.first_broken {
            let count = facts.broken;
            session.note(format!(
                "lines of the trace that were broken and skipped: {count}, first {why}"
            ));
        }
        if options.pace != Pace::Fastest && done.late > Duration::from_secs(1) {
            let late = done.late.as_secs_f64();
            session.note(format!(
                "the engine fell behind the trace: its last operation ended {late:.1} s late"
            ));
        }
        let mut looked_at = 0;
        if profile.keeps_data {
            let mut told = telling(report, REPLAY, NthRound::ONLY, facts.keys, 1);
            let end = Mutex::new(&mut tape.end);
            let looks = session.crew(1, &mut told, &|_, _, connections, told| {
                let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
                let mut checker = Checker::new(&records, false, None);
                checker.look_at_all(&mut *connections[0], cell.key_kind, &mut end, told)
            })?;
            looked_at = looks.iter().sum();
        }
        let names = Act::ALL.map(Act::name);
        if let Some(taken) = summary(done.stopwatches, &names) {
            session.add_latencies(REPLAY, threads, looked_at, taken);
        }
        Ok(session.close()?.then_some(Nothing {}))
    }

    fn look(look: CellLook<'_, Options>, _: Nothing) -> Result<(u64, Option<Nothing>)> {
        let CellLook { cell, options, driver } = look;
        let facts = facts_of(options)?;
        let tape = tape_of(options, &mut |_| ())?;
        let records = Records::new(facts, cell.seed);
        let stores = Reopened::open(cell, driver, &needs(cell, facts, &records))?;
        let end = Mutex::new(tape.end);
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let mut end = end.lock().unwrap_or_else(PoisonError::into_inner);
            let mut checker = Checker::new(&records, false, None);
            checker.look_at_all(&mut *connections[0], cell.key_kind, &mut end, &mut |_| ())
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(_: &Cell, options: &Options) -> Option<u64> {
        let facts = options.facts.as_ref()?;
        // The trace is read twice, and at the end all records are.
        let scans = facts.count(Act::Scan).saturating_mul(SCAN_WEIGHT);
        let parts =
            [facts.operations, facts.operations, scans, facts.keys, facts.keys, facts.filled];
        Some(parts.into_iter().fold(0, u64::saturating_add))
    }

    fn paced(options: &Options) -> Paced {
        match (&options.facts, options.pace) {
            (Some(facts), Pace::Times(factor)) => Paced {
                operations: facts.operations,
                time: Duration::from_nanos((facts.time_ns as f64 / factor) as u64),
            },
            _ => Paced::default(),
        }
    }

    fn commits(_: &Cell, options: &Options) -> Option<u64> {
        options.facts.as_ref().map(Facts::writes)
    }

    fn record_bytes(options: &Options) -> u64 {
        options.facts.as_ref().map_or(0, Facts::mean_bytes)
    }

    fn scans(options: &Options) -> bool {
        options.facts.as_ref().is_some_and(|facts| facts.count(Act::Scan) > 0)
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(options.clone())
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        workload::text_of::<Self>(run)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        crate::scaling::charts(run)
    }
}
