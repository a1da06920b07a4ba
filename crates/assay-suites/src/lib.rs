//! The workloads that Assay runs, one module a suite. A suite knows no engine: it works on a
//! [`Driver`] that somebody hands it.

use std::fmt;

use assay_core::chart::LineChart;
use assay_core::driver::Driver;
use assay_core::error::Result;
use assay_core::plan::Cell;
use assay_core::run_file::{Measurement, RunFile};

pub mod cell;
pub mod crash;
pub mod crossbench;
pub mod nudb;
mod phases;
mod scaling;
pub mod skvdb;
pub mod tonbo;
pub mod verify;
pub mod ycsb;

/// What the rest of Assay needs of a suite to run its cells.
pub struct Suite {
    /// Its id.
    pub id: &'static str,
    /// Its revision, from 1: one more with every change after which its figures can no longer be
    /// compared with earlier ones. `docs/run-file.md` says what each change was.
    pub revision: u32,
    /// Measures a cell.
    pub(crate) run: fn(&Cell, &dyn Driver, &mut Measurement, &mut cell::Report<'_>) -> Result<()>,
    /// About how many operations a cell does, for estimates of time.
    pub operations: fn(&Cell) -> Option<u64>,
    /// About how many bytes a record of a cell has.
    pub record_bytes: fn(&Cell) -> u64,
    /// What the suite's project prints of a run; with the name that its pictures begin with.
    pub published: fn(&RunFile, &str) -> std::result::Result<String, fmt::Error>,
    /// The line charts of a run; none for suites whose pictures are bars.
    pub charts: fn(&RunFile) -> Vec<LineChart>,
    /// Whether a cell makes its store, instead of opening one that was there.
    pub makes_store: fn(&Cell) -> bool,
}

/// Every suite.
pub const ALL: &[Suite] = &[
    crossbench::SUITE,
    nudb::SUITE,
    skvdb::SUITE,
    tonbo::write::SUITE,
    tonbo::read::SUITE,
    tonbo::micro::SUITE,
    ycsb::SUITE,
];

/// The suite with this id.
pub fn find(id: &str) -> Option<&'static Suite> {
    ALL.iter().find(|suite| suite.id == id)
}

/// For suites whose pictures are bars, which need nothing of the suite.
pub(crate) fn no_charts(_: &RunFile) -> Vec<LineChart> {
    Vec::new()
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

/// A cell's options, as the suite's own type.
pub(crate) fn options<T: serde::de::DeserializeOwned>(cell: &Cell) -> Option<T> {
    serde_json::from_value(cell.options.clone()).ok()
}
