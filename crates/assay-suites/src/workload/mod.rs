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
mod client;
mod clients;
mod columns;
mod course;
#[cfg(test)]
mod distributions;
pub mod file;
mod finding;
mod history;
mod keys;
mod kinds;
mod listing;
mod losses;
mod meaning;
mod model;
mod offer;
mod options;
mod published;
mod ready;
mod records;
mod recover;
mod running;
pub(crate) mod sizes;
pub mod spec;
mod tape;
mod texts;
mod zipf;

use std::fmt;
use std::time::Duration;

use assay_core::chart::LineChart;
use assay_core::crew::Connections;
use assay_core::plan::Cell;
use assay_core::run_file::RunFile;
use assay_core::tape::Records as _;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Concurrency, Driver, Durability};
use program_support::exit::Outcome;
use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_64;

use crate::options::Part;
use crate::phases::NthRound;
use crate::reopened::Reopened;
use crate::session::{Needs, Session};
use crate::suite::{CellLook, CellRun, Paced, Suite};
use check::{Ways, look_at_all};
use clients::replayed;
pub use kinds::Sample;
pub use listing::{Listed, listed};
pub use meaning::text as meaning;
use model::{Model, State};
pub use offer::{records_refusal, refusal};
pub use options::{Options, Text};
pub(crate) use published::text as text_of;
pub use ready::Ready;
use records::Records;
use running::Running;
use spec::{Kind, Phase, Spec, Until};

/// The suite.
pub struct Workload;

/// The phases that a cell carried out, in their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Left {
    phases: Vec<Carried>,
    /// The place of the phase in which the process is killed; absent at the end of a cell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    killed: Option<usize>,
}

/// The work of a cell in a phase.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Carried {
    /// The place of the phase in the file.
    phase: usize,
    /// The number of operations of each thread, by window.
    windows: Vec<Vec<u64>>,
    /// Records that a killed process left as they were before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    put_back: Vec<(u64, State)>,
}

impl Carried {
    /// Returns the model after the phase; `seed` is the cell's.
    fn replayed(&self, phase: &Phase, seed: u64, model: Model) -> Model {
        let mut model = replayed(phase, seed, model, &self.windows);
        self.put_back.iter().for_each(|(row, state)| model.put_back(*row, *state));
        model
    }
}

impl Left {
    /// Returns the model of what was done to the records of a workload.
    fn model(&self, spec: &Spec, seed: u64) -> Result<Model> {
        self.phases.iter().try_fold(Model::loaded(spec.records.count), |model, carried| {
            Ok(carried.replayed(phase_of(spec, carried.phase)?, seed, model))
        })
    }
}

/// Returns the phase of a workload at a place.
fn phase_of(spec: &Spec, place: usize) -> Result<&Phase> {
    let missing = || Error::new(ErrorKind::Engine, "the cell has no such phase");
    spec.phases.get(place).ok_or_else(missing)
}

/// Returns the stores that a cell needs.
fn needs<'r>(cell: &Cell, spec: &Spec, records: &'r Records, driver: &dyn Driver) -> Needs<'r> {
    let is_alone = driver.profile().concurrency == Concurrency::OneConnection;
    let behind = u32::from(spec.phases.iter().any(|phase| phase.background.is_some()));
    Needs {
        schema: records.schema(),
        records: String::new(),
        keep: false,
        expected_rows: spec.expected_rows(),
        // Phases of more threads than the engine takes are left out.
        threads: if is_alone { 1 } else { cell.threads + behind },
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

    fn uncountable(options: &Options) -> Option<String> {
        let why = |phase: &Phase| {
            let why = match phase {
                Phase { task: spec::Task::Recover, .. } => "its process is killed",
                Phase { background: Some(_), .. } => "its background depends on time",
                phase if phase.is_timed() => "it ends by the clock; name a number of operations",
                _ => return None,
            };
            Some(format!("phase {}: {why}", phase.name))
        };
        options.spec()?.phases.iter().find_map(why)
    }

    fn durability(options: &Options) -> Option<Durability> {
        options.spec().and_then(|spec| spec.survives)
    }

    fn run(run: CellRun<'_, Options>) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, farewell } = run;
        let spec = spec_of(options)?;
        let refused = |phase: &Phase| {
            refusal(driver, phase, cell.key_kind, phase.threads_in(options.cell_threads()))
        };
        let refusals: Vec<_> = spec.phases.iter().map(refused).collect();
        if let Some(Some(why)) = refusals.first().filter(|_| !refusals.contains(&None)) {
            return Err(Error::unsupported(format!("no phase of the workload: {why}")));
        }
        let records = Records::new(spec, cell.seed);
        let session =
            Session::open(cell, driver, &needs(cell, spec, &records, driver), measurement)?;
        let model = Model::loaded(spec.records.count);
        let left = Left { phases: Vec::new(), killed: None };
        let mut running = Running {
            cell,
            spec,
            driver,
            records: &records,
            session,
            model,
            left,
            depends_on_time: false,
        };
        running.load(report)?;
        running.phases_from(0, options.cell_threads(), report, farewell)
    }

    fn resume(run: CellRun<'_, Options>, mut left: Left) -> Result<Option<Left>> {
        let CellRun { cell, options, driver, measurement, report, farewell } = run;
        let spec = spec_of(options)?;
        let missing = || Error::new(ErrorKind::Engine, "the cell was killed in no phase");
        let killed = left.killed.take().ok_or_else(missing)?;
        let phase = phase_of(spec, killed)?;
        let records = Records::new(spec, cell.seed);
        let model = left.model(spec, cell.seed)?;
        let needs = Needs { keep: true, ..needs(cell, spec, &records, driver) };
        let session = Session::open(cell, driver, &needs, measurement)?;
        let mut running = Running {
            cell,
            spec,
            driver,
            records: &records,
            session,
            model,
            left,
            depends_on_time: true,
        };
        let nth = NthRound { round: killed + 1, rounds: spec.phases.len() };
        let measured = running.recovered(phase, nth)?;
        running.session.keep(measured);
        running.phases_from(killed + 1, options.cell_threads(), report, farewell)
    }

    fn look(look: CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
        let CellLook { cell, options, driver } = look;
        let spec = spec_of(options)?;
        let records = Records::new(spec, cell.seed);
        let model = left.model(spec, cell.seed)?;
        let ways = Ways { key_kind: cell.key_kind, has_indexes: driver.has_indexes() };
        let stores = Reopened::open(cell, driver, &needs(cell, spec, &records, driver))?;
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            look_at_all(&mut *connections[0], &records, &model, ways, &mut |_| ())
        })?;
        stores.close(false)?;
        Ok((compared, None))
    }

    fn operations(_: &Cell, options: &Options) -> Option<u64> {
        let spec = options.spec()?;
        let phases = spec.phases.iter().filter_map(|phase| match phase.until {
            Until::Operations(count) => {
                let found = spec.found_by(phase).map_or(0, |by| spec.alike(by));
                let found = phase.expected(Kind::Find).saturating_mul(found);
                let scanned = phase.expected(Kind::Scan) * SCAN_WEIGHT;
                Some((count + scanned).saturating_add(found))
            }
            Until::Half { .. } => Some(spec.expected_rows() / 2),
            Until::Seconds(_) | Until::Steady { .. } => None,
        });
        // After each phase all records are read, and by each index at most.
        let indexes = spec.records.columns.iter().filter(|column| column.is_indexed).count() as u64;
        let looks = (1 + spec.phases.len() as u64).saturating_mul(1 + indexes);
        let looks = looks.saturating_mul(spec.expected_rows());
        Some(phases.sum::<u64>().saturating_add(looks))
    }

    fn paced(options: &Options) -> Paced {
        let mut paced = Paced::default();
        for phase in options.spec().map(|spec| spec.phases.as_slice()).unwrap_or_default() {
            match (phase.until, &phase.rates) {
                (Until::Seconds(seconds) | Until::Steady { limit: seconds, .. }, _) => {
                    paced.time += Duration::from_secs(seconds);
                }
                (Until::Operations(count), Some(rates)) => {
                    paced.operations += count;
                    paced.time += Duration::from_secs_f64(rates.seconds_of(count as f64));
                }
                (Until::Operations(_) | Until::Half { .. }, _) => {}
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
        let columns = |spec: &Spec| -> u64 {
            spec.records.columns.iter().map(|column| column.kind.bytes()).sum()
        };
        options.spec().map_or(0, |spec| spec.records.value.mean() as u64 + columns(spec))
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
