//! `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper, Silberstein,
//! Tam, Ramakrishnan, Sears: Benchmarking Cloud Serving Systems with YCSB, SOCC 2010, section 4).
//!
//! A cell loads records and runs one workload on them, once for the throughput and once more for
//! the latencies. `docs/suites/ycsb.md` says where this departs from the original and why.

mod check;
mod choice;
mod clients;
mod options;
mod published;
#[cfg(test)]
mod tapes;
mod users;
pub mod workload;
mod zipf;

use std::fmt;
use std::time::Duration;

use assay_core::chart::LineChart;
use assay_core::crew::Connections;
use assay_core::latency::{operations_at, summary};
use assay_core::plan::Cell;
use assay_core::run_file::RunFile;
use assay_core::tape::Records;
use assay_driver::KeyKind;
use assay_driver::error::{Error, Result};
use program_support::exit::Outcome;
use serde::{Deserialize, Serialize};

use crate::options::Part;
use crate::phases::{Growing, NthRound, load, telling};
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Paced, Suite};
use clients::{Clients, Round};
pub use options::Options;
use users::Users;
use workload::{Kind, Workload};

/// The id of the suite.
pub const ID: &str = "ycsb";

/// The suite.
pub struct Ycsb;

/// Returns the approximate cost of an operation in reads: a scan is fifty.
fn weight(options: &Options) -> u64 {
    if options.workload() == Workload::E { 50 } else { 1 }
}

/// The number of times that a cell repeated its round for the throughput.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Left {
    repeats: u32,
}

/// Returns the stores that a cell needs.
fn needs<'u>(cell: &Cell, options: &Options, users: &'u Users) -> Needs<'u> {
    Needs {
        schema: users.schema(),
        records: String::new(),
        keep: false,
        expected_rows: cell.rows + 2 * options.operations,
        threads: cell.threads,
        volumes: None,
    }
}

impl Suite for Ycsb {
    type Options = Options;
    type Left = Left;

    const ID: &'static str = ID;
    const ABOUT: &'static str =
        "reads, updates, inserts and scans records, of which some are asked for far more often";
    const REVISION: u32 = 3;
    const SHORTER: &'static str = "--records 10k --operations 10k";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        Ok(options.parts())
    }

    fn variant(options: &Options) -> String {
        let rate =
            options.rate.map(|rate| format!(" · latencies at {rate} random arrivals a second"));
        format!(
            "workload {} · {} · {} fields of {} bytes{}",
            options.workload(),
            options.distribution(),
            options.field_count,
            options.field_length,
            rate.unwrap_or_default()
        )
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report } = run;
        if options.workload() == Workload::E && cell.key_kind == KeyKind::Hash {
            return Err(Error::unsupported("ordered scans, which workload E consists of"));
        }
        if let Some(change) =
            driver.lacks().iter().find(|&&change| options.workload().needs(change))
        {
            let workload = options.workload();
            return Err(Error::unsupported(format!(
                "workload {workload} needs an {change}, and the engine has none"
            )));
        }
        let users = Users::new(cell.rows, options, cell.seed);
        let needs = needs(cell, options, &users);
        let check = driver.profile().keeps_data;
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        load(cell, &users, LOAD_BATCH, driver, &mut session, report)?;
        session.cool()?;

        let clients = Clients::new(&users, options, cell, check);
        let nth = NthRound { round: 1, rounds: 2 };
        let mut told = telling(report, "run", nth, options.operations, cell.threads);
        // An insert can be done only once.
        let mut repeats = if options.workload().inserts() {
            Repeats::none()
        } else {
            Repeats::at_most(options.repeats, cell)
        };
        let (timed, taken) = repeats.least_disturbed(|attempt| {
            let (timed, taken, _) =
                clients.round(&session, Round::Throughput { attempt }, &mut told)?;
            Ok((timed, taken))
        })?;
        drop(told);
        let mut phase = Growing::new("run", cell.threads);
        phase.round(&timed, taken);
        session.keep(phase.done_with(&repeats));
        let count = clients.operations(Round::Latencies);
        let nth = NthRound { round: 2, rounds: 2 };
        let mut told = telling(report, "latencies", nth, count, cell.threads);
        session.cool()?;
        let (timed, _, stopwatches) = clients.round(&session, Round::Latencies, &mut told)?;
        drop(told);
        let look = |connections: Connections<'_, '_>| {
            clients.look_at_all(&mut *connections[0], repeats.done())
        };
        let looked_at = if check {
            session.crew(1, &mut |_| (), &|_, _, connections, _| look(connections))?
        } else {
            Vec::new()
        };
        let looked_at = looked_at.iter().sum::<u64>();
        if let Some(taken) = summary(stopwatches, &Kind::ALL.map(Kind::name)) {
            session.add_latencies("run", cell.threads, timed.checked + looked_at, taken);
        }
        let repeats = repeats.done();
        Ok(session.close()?.then_some(Left { repeats }))
    }

    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        let CellLook { cell, options, driver } = look;
        let users = Users::new(cell.rows, options, cell.seed);
        let clients = Clients::new(&users, options, cell, true);
        let stores = Reopened::open(cell, driver, &needs(cell, options, &users))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            clients.look_at_all(&mut *connections[0], left.repeats)
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let latencies = operations_at(options.rate, options.operations);
        let both = options.operations.saturating_add(latencies);
        Some(cell.rows.saturating_add(both.saturating_mul(weight(options))))
    }

    fn paced(options: &Options) -> Paced {
        options.rate.map_or(Paced::default(), |rate| {
            let operations = operations_at(options.rate, options.operations);
            let time = Duration::from_secs_f64(operations as f64 / rate.max(1) as f64);
            Paced { operations: operations.saturating_mul(weight(options)), time }
        })
    }

    fn commits(_: &Cell, options: &Options) -> Option<u64> {
        // Records are loaded in few transactions. Of the operations of both rounds, reads and scans
        // commit nothing.
        let percent = match options.workload() {
            Workload::A | Workload::F => 50,
            Workload::B | Workload::D | Workload::E => 5,
            Workload::C => 0,
        };
        Some(options.operations.saturating_mul(2) / 100 * percent)
    }

    fn record_bytes(options: &Options) -> u64 {
        u64::from(options.field_count) * u64::from(options.field_length)
    }

    fn scans(options: &Options) -> bool {
        options.workload() == Workload::E
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(options.clone())
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        published::text(run)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        crate::scaling::charts(run)
    }
}

/// The number of records loaded in a transaction: the suite is not about the load.
const LOAD_BATCH: u64 = 1_000;
