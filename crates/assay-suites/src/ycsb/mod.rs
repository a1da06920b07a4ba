//! `ycsb`: the core workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper, Silberstein,
//! Tam, Ramakrishnan, Sears: Benchmarking Cloud Serving Systems with YCSB, SOCC 2010, section 4).
//!
//! A cell loads records and runs one workload on them, once for the throughput and once more for
//! the latencies. `docs/suites/ycsb.md` says where this departs from the original and why.

mod check;
mod choice;
mod clients;
pub mod core_workload;
mod marks;
mod options;
mod properties;
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
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Change, InsertRule, KeyKind};
use program_support::exit::Outcome;
use serde::{Deserialize, Serialize};

use crate::options::Part;
use crate::phases::{Growing, NthRound, load, telling};
use crate::reopened::Reopened;
use crate::repeats::Repeats;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Paced, Suite};
use clients::{Clients, Replaces, Round};
use core_workload::{CoreWorkload, FIELDS};
pub use options::Options;
pub use properties::Property;
use users::Users;
use workload::{Kind, Lengths};

/// The id of the suite.
pub const ID: &str = "ycsb";

/// The suite.
pub struct Ycsb;

/// Returns the approximate cost of an operation in reads: a scan is as many as half its records.
fn weight(options: &Options) -> u64 {
    let Ok(core) = CoreWorkload::of(options) else { return 1 };
    let Lengths { least, most, .. } = core.scanned;
    let scans = core.mix.expected(Kind::Scan, 1_000);
    (scans * (least + most) / 2 + (1_000 - scans)).div_ceil(1_000)
}

/// Returns the workload of a cell.
fn core_of(options: &Options) -> Result<CoreWorkload> {
    CoreWorkload::of(options).map_err(|why| Error::new(ErrorKind::Engine, why.to_string()))
}

/// The number of times that a cell repeated its round for the throughput.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Left {
    repeats: u32,
}

/// Returns the stores that a cell needs.
fn needs<'u>(cell: &Cell, core: &CoreWorkload, users: &'u Users) -> Needs<'u> {
    Needs {
        schema: users.schema(),
        records: String::new(),
        keep: false,
        expected_rows: cell.rows + 2 * core.operations,
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
        options.parts()
    }

    fn variant(options: &Options) -> String {
        let said = options.property.iter().map(|property| format!(" · {property}"));
        let rate =
            options.rate.map(|rate| format!(" · latencies at {rate} random arrivals a second"));
        let Ok(core) = CoreWorkload::of(options) else { return options.workload_name() };
        format!(
            "workload {} · {} · {} fields of {} bytes{}{}",
            options.workload_name(),
            core.distribution,
            core.fields,
            options.field_length(),
            said.collect::<String>(),
            rate.unwrap_or_default()
        )
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, .. } = run;
        let core = core_of(options)?;
        let workload = options.workload_name();
        if core.mix.has(Kind::Scan) && cell.key_kind == KeyKind::Hash {
            let what = format!("ordered scans, which workload {workload} consists of");
            return Err(Error::unsupported(what));
        }
        let is_whole = core.writes_all && core.updates();
        let lacks = driver.lacks().contains(&Change::Update);
        if core.updates() && !is_whole && lacks {
            return Err(Error::unsupported(format!(
                "workload {workload} needs an {}, and the engine has none",
                Change::Update
            )));
        }
        let users = Users::new(cell.rows, &core, cell.seed);
        let needs = needs(cell, &core, &users);
        let check = driver.profile().keeps_data;
        let mut session = Session::open(cell, driver, &needs, measurement)?;
        load(cell, &users, LOAD_BATCH, driver, &mut session, report)?;
        session.cool()?;

        let mut clients = Clients::new(&users, core, options, cell, check);
        if is_whole {
            clients.replaces = replaces(&session, &users)?;
        }
        let nth = NthRound { round: 1, rounds: 2 };
        let mut told = telling(report, "run", nth, core.operations, cell.threads);
        // An insert can be done only once.
        let mut repeats = if core.mix.has(Kind::Insert) {
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
        let core = core_of(options)?;
        let users = Users::new(cell.rows, &core, cell.seed);
        let clients = Clients::new(&users, core, options, cell, true);
        let stores = Reopened::open(cell, driver, &needs(cell, &core, &users))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            clients.look_at_all(&mut *connections[0], left.repeats)
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(cell: &Cell, options: &Options) -> Option<u64> {
        let operations = CoreWorkload::of(options).ok()?.operations;
        let both = operations.saturating_add(operations_at(options.rate, operations));
        Some(cell.rows.saturating_add(both.saturating_mul(weight(options))))
    }

    fn paced(options: &Options) -> Paced {
        let (Some(rate), Ok(core)) = (options.rate, CoreWorkload::of(options)) else {
            return Paced::default();
        };
        let operations = operations_at(options.rate, core.operations);
        let time = Duration::from_secs_f64(operations as f64 / rate.max(1) as f64);
        Paced { operations: operations.saturating_mul(weight(options)), time }
    }

    fn commits(_: &Cell, options: &Options) -> Option<u64> {
        // Records are loaded in few transactions. Of the operations of both rounds, reads and scans
        // commit nothing.
        let core = CoreWorkload::of(options).ok()?;
        let writes = [Kind::Update, Kind::Insert, Kind::ReadModifyWrite];
        let both = core.operations.saturating_mul(2);
        Some(writes.into_iter().map(|kind| core.mix.expected(kind, both)).sum())
    }

    fn record_bytes(options: &Options) -> u64 {
        let fields = options.field_count.unwrap_or(FIELDS);
        u64::from(fields) * u64::from(options.field_length())
    }

    fn scans(options: &Options) -> bool {
        CoreWorkload::of(options).is_ok_and(|core| core.mix.has(Kind::Scan))
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

/// Finds out how an engine replaces a whole record, by writing one as it is.
fn replaces(session: &Session<'_>, users: &Users) -> Result<Replaces> {
    let mut record = vec![0; users.schema().record_size()];
    let (key, payload) = record.split_at_mut(users.schema().key_size());
    users.key(0, key);
    users.payload(0, 0, payload);
    let mut replaces = Replaces::Upsert;
    session.connected(&mut |connection| {
        match connection.upsert(&record) {
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                if session.profile().insert_rule != InsertRule::Replaces {
                    let what = "replacing whole records, which writeallfields=true asks for";
                    return Err(Error::unsupported(what));
                }
                replaces = Replaces::Insert;
            }
            other => other?,
        }
        Ok(())
    })?;
    Ok(replaces)
}

/// The number of records loaded in a transaction: the suite is not about the load.
const LOAD_BATCH: u64 = 1_000;
