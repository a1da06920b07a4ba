//! The workloads that Assay runs, one module a suite. A suite knows no engine: it works on a
//! [`Driver`](assay_driver::Driver) that it is given.

#![warn(unreachable_pub)]

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, RunFile};
use assay_driver::error::{Error, Result};

mod batch;
pub mod crash;
pub mod crossbench;
mod fullest;
pub mod isolate;
pub mod nudb;
pub mod options;
mod phases;
mod reopened;
mod repeats;
pub mod run;
mod scaling;
mod session;
pub mod skvdb;
mod suite;
pub mod tonbo;
pub mod trace;
pub mod verify;
pub mod workload;
pub mod ycsb;

pub use options::plain;
pub use session::{Progress, Report};
pub use suite::{AnySuite, CALIBRATION_COUNT, Farewell, Measured, StoreUse, Suite, Task};

/// All suites.
pub const ALL: [&dyn AnySuite; 9] = [
    &crossbench::CrossBench,
    &nudb::Nudb,
    &skvdb::Skvdb,
    &tonbo::write::TonboWrite,
    &tonbo::read::TonboRead,
    &tonbo::micro::TonboMicro,
    &ycsb::Ycsb,
    &workload::Workload,
    &trace::Trace,
];

/// Returns the suite with this id.
pub fn find(id: &str) -> Option<&'static dyn AnySuite> {
    ALL.into_iter().find(|suite| suite.id() == id)
}

/// Returns a cell with its options read by the suite that it names.
///
/// # Errors
/// If the suite is unknown, or the options are not its own.
pub fn task(cell: &Cell) -> Result<Box<dyn Task + '_>> {
    match find(&cell.suite) {
        Some(suite) => suite.task(cell),
        None => Err(Error::unsupported(format!("there is no suite {}", cell.suite))),
    }
}

/// The names of a run's engines: their ids, and if the run has several storage modes these too.
pub(crate) struct Labels {
    with_storage: bool,
}

impl Labels {
    pub(crate) fn of(run: &RunFile) -> Self {
        Self { with_storage: has_several_storages(run) }
    }

    /// Returns the labels of several results, each once and in their order.
    pub(crate) fn of_all<'r>(
        &self,
        results: impl IntoIterator<Item = &'r CellResult>,
    ) -> Vec<String> {
        let mut labels = Vec::new();
        for result in results {
            let label = self.label(&result.cell);
            if !labels.contains(&label) {
                labels.push(label);
            }
        }
        labels
    }

    /// Returns the label of a cell's engine.
    pub(crate) fn label(&self, cell: &Cell) -> String {
        if self.with_storage {
            format!("{}-{}", cell.engine, cell.storage)
        } else {
            cell.engine.to_string()
        }
    }
}

/// Returns true if a run has results of several storage modes.
pub(crate) fn has_several_storages(run: &RunFile) -> bool {
    let mut storages = run.results().map(|result| result.cell.storage);
    let first = storages.next();
    storages.any(|storage| Some(storage) != first)
}
