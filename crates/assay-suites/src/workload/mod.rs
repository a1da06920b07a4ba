//! `workload`: what a file says. It describes records, and phases of operations on them; a cell
//! loads the records and carries the phases out.
//!
//! Operations are a function of seed and position, so every engine does the same ones; the content
//! of a record is a function of its number and version. Every answer is compared with those that
//! are possible, and after each phase the whole store with the model. `docs/workloads.md` describes
//! the file.

mod batch;
mod caches;
mod check;
pub(crate) mod choice;
mod clients;
#[cfg(test)]
mod distributions;
pub mod file;
mod history;
mod kinds;
mod listing;
mod meaning;
mod model;
mod offer;
mod options;
mod published;
mod ready;
mod records;
pub(crate) mod sizes;
pub mod spec;
mod tape;
mod zipf;

use std::fmt;
use std::time::Duration;

use assay_core::chart::LineChart;
use assay_core::crew::Connections;
use assay_core::latency::summary;
use assay_core::plan::Cell;
use assay_core::run_file::{Phase as Measured, RunFile};
use assay_core::tape::{Order, Records as _};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Concurrency, Driver, Durability};
use program_support::exit::Outcome;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::options::Part;
use crate::phases::{Loading, NthRound, kept, load_as, telling};
use crate::reopened::Reopened;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Paced, Suite};
use check::look_at_all;
use clients::{Clients, hash_of_timed, replayed, timed_kinds};
pub use kinds::Sample;
pub use listing::{Listed, listed};
pub use meaning::text as meaning;
use model::Model;
use offer::{Offer, offer};
pub use offer::{refusal, too_large};
pub use options::{Options, Text};
pub(crate) use published::text as text_of;
pub use ready::Ready;
use records::Records;
use spec::{Kind, Phase, Spec, Until};

/// The suite.
pub struct Workload;

/// What a cell did in each phase: the number of operations of each thread. None is for a phase
/// that the engine could not do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    operations: Vec<Vec<u64>>,
}

/// The bytes of the records of a transaction of the load, about, and the most records of one.
const LOAD_BYTES: u64 = 4 << 20;
const LOAD_MOST: u64 = 1_000;

/// Returns the stores that a cell needs.
fn needs<'r>(cell: &Cell, spec: &Spec, records: &'r Records, driver: &dyn Driver) -> Needs<'r> {
    let is_alone = driver.profile().concurrency == Concurrency::OneConnection;
    Needs {
        schema: records.schema(),
        records: String::new(),
        keep: false,
        expected_rows: spec.expected_rows(),
        // Phases of more threads than the engine takes are left out.
        threads: if is_alone { 1 } else { cell.threads },
        volumes: None,
    }
}

/// Returns the workload of a cell.
fn spec_of(options: &Options) -> Result<&Spec> {
    options.spec().ok_or_else(|| Error::new(ErrorKind::Engine, "the cell has no workload"))
}

impl Suite for Workload {
    type Options = Options;
    type Left = Left;

    const ID: &'static str = "workload";
    const ABOUT: &'static str = "does what the file of a workload says, and nothing else";
    const REVISION: u32 = 1;
    const SHORTER: &'static str = "fewer operations in the file";

    fn parts(options: Options) -> Outcome<Vec<Part<Options>>> {
        options.parts()
    }

    fn variant(options: &Options) -> String {
        let Some(spec) = options.spec() else { return "no workload".into() };
        // Two files with one title are two workloads.
        let digest = xxh3_64(format!("{spec:?}").as_bytes()) >> 40;
        format!("{} · {digest:06x}", spec.title)
    }

    fn durability(options: &Options) -> Option<Durability> {
        options.spec().and_then(|spec| spec.survives)
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report } = run;
        let spec = spec_of(options)?;
        let refused = |phase: &Phase| {
            refusal(driver, phase, cell.key_kind, phase.threads_in(options.cell_threads()))
        };
        let refusals: Vec<_> = spec.phases.iter().map(refused).collect();
        if let Some(Some(why)) = refusals.first().filter(|_| !refusals.contains(&None)) {
            return Err(Error::unsupported(format!("no phase of the workload: {why}")));
        }
        let records = Records::new(spec, cell.seed);
        let mut session =
            Session::open(cell, driver, &needs(cell, spec, &records, driver), measurement)?;
        let profile = driver.profile();
        let mut model = Model::loaded(spec.records.count);
        if spec.records.count > 0 {
            let bytes = records.schema().record_size() as u64;
            let order = if spec.records.in_order { Order::Sequential } else { Order::Permutation };
            let batch = (LOAD_BYTES / bytes).clamp(1, LOAD_MOST);
            let loading =
                Loading { rows: spec.records.count, batch, order, bulk: spec.records.bulk };
            load_as(cell, &records, &loading, driver, &mut session, report)?;
        }
        let mut left = Left { operations: Vec::new() };
        let rounds = spec.phases.len();
        let mut depends_on_time = false;
        for (round, phase) in (1..).zip(&spec.phases) {
            let nth = NthRound { round, rounds };
            session.cool()?;
            let mut offered = refused(phase).map(|why| Offer::Cannot(why.into()));
            if offered.is_none() {
                session.connected(&mut |connection| {
                    let of = (&records, &model);
                    offered = Some(offer(connection, driver.profile(), phase, of)?);
                    Ok(())
                })?;
            }
            let inserts_replace = match offered {
                Some(Offer::Can { inserts_replace }) => inserts_replace,
                Some(Offer::Cannot(why)) => {
                    session.leave_out(&phase.name, why);
                    left.operations.push(Vec::new());
                    continue;
                }
                None => return Err(Error::engine("connect", "the store did not run its work")),
            };
            let threads = phase.threads_in(options.cell_threads());
            let (total, told_by) = match phase.until {
                Until::Operations(operations) => (operations, threads),
                Until::Seconds(seconds) => (seconds * 1_000, 1),
            };
            let mut told = telling(report, &phase.name, nth, total, told_by);
            let of_seed = (threads, cell.seed);
            let clients = Clients::new(&records, phase, of_seed, model, profile, inserts_replace);
            let done = clients.run(&session, &mut told)?;
            drop(told);
            model = done.model;
            // What a timed phase wrote decides what later ones find.
            let is_timed = matches!(phase.until, Until::Seconds(_));
            let hash = if is_timed || depends_on_time {
                hash_of_timed(spec, phase, of_seed)
            } else {
                done.timed.tape.value()
            };
            depends_on_time |= is_timed && phase.any(Kind::writes);
            session.keep(Measured {
                name: phase.name.clone(),
                rounds: vec![kept(done.timed.operations, done.taken)],
                published_top: 1,
                tape_hash: format!("{hash:016x}"),
                checked: done.timed.checked,
                conflicts: done.conflicts,
                threads,
                ..Measured::default()
            });
            if done.conflicts > 0 {
                session.note(format!(
                    "{}: {} transactions were refused because of other threads, and done again",
                    phase.name, done.conflicts
                ));
            }
            let mut looked_at = 0;
            if profile.keeps_data {
                let rows = model.rows();
                let mut told = telling(report, &phase.name, nth, rows, 1);
                let looks = session.crew(1, &mut told, &|_, _, connections, told| {
                    look_at_all(&mut *connections[0], &records, &model, cell.key_kind, told)
                })?;
                looked_at = looks.iter().sum();
            }
            let kinds = timed_kinds(spec, phase);
            let kinds: Vec<_> = kinds.iter().map(String::as_str).collect();
            if let Some(taken) = summary(done.stopwatches, &kinds) {
                session.add_latencies(&phase.name, threads, looked_at, taken);
            }
            left.operations.push(done.operations);
        }
        Ok(session.close()?.then_some(left))
    }

    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        let CellLook { cell, options, driver } = look;
        let spec = spec_of(options)?;
        let records = Records::new(spec, cell.seed);
        let mut model = Model::loaded(spec.records.count);
        for (phase, operations) in spec.phases.iter().zip(&left.operations) {
            if !operations.is_empty() {
                model = replayed(phase, cell.seed, model, operations);
            }
        }
        let stores = Reopened::open(cell, driver, &needs(cell, spec, &records, driver))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            look_at_all(&mut *connections[0], &records, &model, cell.key_kind, &mut |_| ())
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(_: &Cell, options: &Options) -> Option<u64> {
        let spec = options.spec()?;
        let phases = spec.phases.iter().filter_map(|phase| match phase.until {
            Until::Operations(count) => Some(count + phase.expected(Kind::Scan) * SCAN_WEIGHT),
            Until::Seconds(_) => None,
        });
        // After each phase all records are read.
        let looks = (1 + spec.phases.len() as u64).saturating_mul(spec.expected_rows());
        Some(phases.sum::<u64>().saturating_add(looks))
    }

    fn paced(options: &Options) -> Paced {
        let mut paced = Paced::default();
        for phase in options.spec().map(|spec| spec.phases.as_slice()).unwrap_or_default() {
            match (phase.until, &phase.rates) {
                (Until::Seconds(seconds), _) => paced.time += Duration::from_secs(seconds),
                (Until::Operations(count), Some(rates)) => {
                    paced.operations += count;
                    paced.time += Duration::from_secs_f64(rates.seconds_of(count as f64));
                }
                (Until::Operations(_), None) => {}
            }
        }
        paced
    }

    fn commits(_: &Cell, options: &Options) -> Option<u64> {
        let commits = |phase: &Phase| {
            let writes = Kind::ALL.into_iter().filter(|kind| kind.writes());
            writes.map(|kind| phase.expected(kind)).sum::<u64>() / phase.together
        };
        Some(options.spec()?.phases.iter().map(commits).sum())
    }

    fn record_bytes(options: &Options) -> u64 {
        options.spec().map_or(0, |spec| spec.records.value.mean() as u64)
    }

    fn scans(options: &Options) -> bool {
        options.spec().is_some_and(Spec::scans)
    }

    fn calibration(options: &Options) -> Option<Options> {
        Some(options.clone())
    }

    fn published(run: &RunFile, _: &str) -> std::result::Result<String, fmt::Error> {
        published::text::<Self>(run)
    }

    fn charts(run: &RunFile) -> Vec<LineChart> {
        crate::scaling::charts(run)
    }
}

/// The cost of a scan in reads, about.
const SCAN_WEIGHT: u64 = 50;
