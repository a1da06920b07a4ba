//! The workloads that Assay runs, one module a suite. A suite knows no engine: it works on a
//! [`Driver`](assay_driver::Driver) that it is given.

#![warn(unreachable_pub)]

use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, RunFile};
use assay_driver::error::{Error, Result};

pub mod cell;
pub mod crash;
pub mod crossbench;
mod fullest;
pub mod nudb;
mod phases;
mod reopened;
mod repeats;
mod scaling;
pub mod skvdb;
mod suite;
pub mod tonbo;
pub mod verify;
pub mod ycsb;

pub use repeats::REPEATS;
pub use suite::{AnySuite, CALIBRATION_COUNT, StoreUse, Suite, Task, plain};

/// Every suite.
pub const ALL: [&dyn AnySuite; 7] = [
    &crossbench::CrossBench,
    &nudb::Nudb,
    &skvdb::Skvdb,
    &tonbo::write::TonboWrite,
    &tonbo::read::TonboRead,
    &tonbo::micro::TonboMicro,
    &ycsb::Ycsb,
];

/// The suite with this id.
pub fn find(id: &str) -> Option<&'static dyn AnySuite> {
    ALL.into_iter().find(|suite| suite.id() == id)
}

/// A cell with its options read by the suite that it names.
///
/// # Errors
/// There is no such suite, or the options are not its.
pub fn task(cell: &Cell) -> Result<Box<dyn Task + '_>> {
    match find(&cell.suite) {
        Some(suite) => suite.task(cell),
        None => Err(Error::unsupported(format!("there is no suite {}", cell.suite))),
    }
}

/// What the engines of a run are called beside each other: by their ids, and where the run has
/// several storage modes by these too.
pub(crate) struct Labels {
    with_storage: bool,
}

impl Labels {
    pub(crate) fn of(run: &RunFile) -> Self {
        Self { with_storage: has_several_storages(run) }
    }

    /// Those of several results, each once and in their order.
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

    /// That of a cell's engine.
    pub(crate) fn label(&self, cell: &Cell) -> String {
        match self.with_storage {
            true => format!("{}-{}", cell.engine, cell.storage),
            false => cell.engine.clone(),
        }
    }
}

/// Whether a run has results of several storage modes.
pub(crate) fn has_several_storages(run: &RunFile) -> bool {
    let mut storages = run.results().map(|result| result.cell.storage);
    let first = storages.next();
    storages.any(|storage| Some(storage) != first)
}
