//! Suites. A [`Suite`] has a type for its options. [`AnySuite`] and [`Task`] are for callers that
//! do not know the type: they read a cell's options once, here and nowhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use assay_core::chart::{LineChart, Sheet};
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, Measurement, RunFile, Status};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Driver, Durability, Profile, Storage};
use clap::Args;
use program_support::exit::Outcome;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::options::{self, Part, plain};
use crate::session::Report;

/// The most operations of a kind in the cells that show the instrument's own cost.
pub const CALIBRATION_COUNT: u64 = 1_000_000;

/// The use that a cell makes of the store in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreUse {
    /// The cell makes a new store, and removes it at the end or leaves it for a next run.
    Makes,
    /// The cell takes the existing store, or makes one and leaves it.
    TakesOrMakes,
    /// The cell opens the existing store.
    Opens,
}

/// Operations that are due at a rate, and the time that they take with any engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paced {
    /// The number of operations.
    pub operations: u64,
    /// The time from the first to the last of them.
    pub time: Duration,
}

/// The value left by a suite whose stores are checked by their cell alone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Nothing {}

/// A cell whose store is to be checked, in another process.
pub struct CellLook<'c, O> {
    /// The cell.
    pub cell: &'c Cell,
    /// The options of the cell.
    pub options: &'c O,
    /// The driver of the cell's engine.
    pub driver: &'c dyn Driver,
}

/// A cell that is to be measured.
pub struct CellRun<'c, O> {
    /// The cell.
    pub cell: &'c Cell,
    /// The options of the cell.
    pub options: &'c O,
    /// The driver of the cell's engine.
    pub driver: &'c dyn Driver,
    /// The measurement that gets the figures.
    pub measurement: &'c mut Measurement,
    /// The function that gets the progress.
    pub report: &'c mut Report<'c>,
    /// The function by which the process asks to be killed.
    pub farewell: &'c mut Farewell<'c>,
}

/// The report of a process that measured a cell.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    /// The outcome of the measuring.
    pub status: Status,
    /// The measurement.
    pub measurement: Measurement,
    /// The value that another process needs to look at the store; absent if no store is left.
    pub left: Option<Value>,
}

/// A function that hands over what was measured so far, and asks for this process to be killed
/// after a time. Another process continues with the store that is left.
pub type Farewell<'f> = dyn FnMut(Measured, Duration) + 'f;

/// The workload of a published benchmark. The implementing type stands for the suite, and has no
/// values.
pub trait Suite: Sync + 'static {
    /// The options of this suite: what a command asks for, and a cell's share of it.
    type Options: Args + Serialize + Clone + 'static;

    /// The suite's id.
    const ID: &'static str;

    /// The engine's work in the suite, as the page of results describes it.
    const ABOUT: &'static str;

    /// The suite's revision, from 1. It grows by one with every change after which figures can no
    /// longer be compared with earlier ones. `docs/run-file.md` describes each change.
    const REVISION: u32;

    /// True if lines of progress name the variant of a cell.
    const SHOWS_VARIANT: bool = true;

    /// True if the suite's project publishes bars, so that ours stay bars however far apart engines
    /// are.
    const PUBLISHES_BARS: bool = false;

    /// Options with which a run takes less time.
    const SHORTER: &'static str;

    /// Returns each cell's part of a command's options.
    ///
    /// # Errors
    /// If options contradict each other, or a file that they name cannot be read.
    fn parts(options: Self::Options) -> Outcome<Vec<Part<Self::Options>>>;

    /// Returns the parameters that the options have for engines, by name.
    fn parameters(_: &Self::Options) -> BTreeMap<String, String> {
        BTreeMap::new()
    }

    /// Returns the options of the cell of an engine in a storage mode.
    fn options_for(options: &Self::Options, _: &Profile, _: Storage) -> Self::Options {
        options.clone()
    }

    /// Returns in words how cells with these options differ from others.
    fn variant(options: &Self::Options) -> String;

    /// The value that the measuring of a cell leaves for those who check its store afterwards. It
    /// is not a unit, which is no value in JSON.
    type Left: Serialize + DeserializeOwned + 'static;

    /// Measures a cell. Returns the value that it left, if its store outlives its closing.
    fn run(run: CellRun<'_, Self::Options>) -> Result<Option<Self::Left>>;

    /// Continues to measure a cell whose process was killed, as it had asked for.
    fn resume(_: CellRun<'_, Self::Options>, _: Self::Left) -> Result<Option<Self::Left>> {
        Err(Error::unsupported("phases after the process was killed"))
    }

    /// Checks the store that a cell left. Returns the number of answers that were compared, and the
    /// value for one more process, if it has something to check.
    fn look(
        look: CellLook<'_, Self::Options>,
        left: Self::Left,
    ) -> Result<(u64, Option<Self::Left>)>;

    /// Returns about how many operations a cell does, for estimates of time.
    fn operations(cell: &Cell, options: &Self::Options) -> Option<u64>;

    /// Returns the operations that are due at a rate.
    fn paced(_: &Self::Options) -> Paced {
        Paced::default()
    }

    /// Returns about how many operations are commits, which an engine may have to synchronise.
    fn commits(cell: &Cell, options: &Self::Options) -> Option<u64>;

    /// Returns about how many bytes a record of a cell has.
    fn record_bytes(options: &Self::Options) -> u64;

    /// Returns the level that the options ask for; none: the command decides.
    fn durability(_: &Self::Options) -> Option<Durability> {
        None
    }

    /// Returns the use that a cell makes of the store in its directory.
    fn store_use(_: &Self::Options) -> StoreUse {
        StoreUse::Makes
    }

    /// Returns why the operations of a cell cannot be counted; `None` if they can.
    fn uncountable(_: &Self::Options) -> Option<String> {
        None
    }

    /// Returns true if a cell reads ranges, for which keys must be in order.
    fn scans(_: &Self::Options) -> bool {
        false
    }

    /// Returns true if a cell uses volumes, which an engine may implement itself.
    fn mounts_volumes(_: &Self::Options) -> bool {
        false
    }

    /// Returns the options of the cell that shows the instrument's own cost; none: no such cell.
    fn calibration(options: &Self::Options) -> Option<Self::Options>;

    /// Returns a run as the suite's project prints it; names of pictures start with `name`.
    fn published(run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error>;

    /// Returns the line charts of a run; none for suites whose pictures are bars.
    fn charts(_: &RunFile) -> Vec<LineChart> {
        Vec::new()
    }

    /// Returns one picture over all engines, if the published pictures are of one engine each.
    fn over_engines(_: &RunFile) -> Option<Sheet> {
        None
    }
}

/// Returns the options of a cell of this suite.
pub(crate) fn options<S: Suite>(cell: &Cell) -> Result<S::Options> {
    options::read(&cell.options)
        .map_err(|why| Error::new(ErrorKind::Engine, format!("options of the cell: {why}")))
}

/// Returns the results of a suite in a run, without those of engines that cannot do it; with their
/// options, if they can be read.
pub(crate) fn results<S: Suite>(run: &RunFile) -> Vec<(&CellResult, Option<S::Options>)> {
    let cannot =
        |status: &Status| matches!(status, Status::Unsupported(_) | Status::Unavailable(_));
    run.results()
        .filter(|result| result.cell.suite == S::ID && !cannot(&result.status))
        .map(|result| (result, options::<S>(&result.cell).ok()))
        .collect()
}

/// A suite whose type of options is not known.
pub trait AnySuite: Sync {
    /// Returns the suite's id.
    fn id(&self) -> &'static str;

    /// Returns the engine's work in the suite, in words.
    fn about(&self) -> &'static str;

    /// Returns the suite's revision.
    fn revision(&self) -> u32;

    /// Returns true if lines of progress name the variant of a cell.
    fn shows_variant(&self) -> bool;

    /// Returns a cell of this suite, with its options read.
    ///
    /// # Errors
    /// If the options are not those of this suite.
    fn task<'c>(&self, cell: &'c Cell) -> Result<Box<dyn Task + 'c>>;

    /// Returns a run as the suite's project prints it; names of pictures start with `name`.
    fn published_text(&self, run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error>;

    /// Returns the line charts of a run.
    fn line_charts(&self, run: &RunFile) -> Vec<LineChart>;

    /// Returns true if the suite's project publishes bars.
    fn publishes_bars(&self) -> bool;

    /// Returns one picture over all engines, if the published pictures are of one engine each.
    fn sheet(&self, run: &RunFile) -> Option<Sheet>;
}

impl<S: Suite> AnySuite for S {
    fn id(&self) -> &'static str {
        S::ID
    }

    fn about(&self) -> &'static str {
        S::ABOUT
    }

    fn revision(&self) -> u32 {
        S::REVISION
    }

    fn shows_variant(&self) -> bool {
        S::SHOWS_VARIANT
    }

    fn task<'c>(&self, cell: &'c Cell) -> Result<Box<dyn Task + 'c>> {
        let options = options::<S>(cell)?;
        Ok(Box::new(TaskOf::<'c, S> { cell, options }))
    }

    fn published_text(&self, run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error> {
        S::published(run, name)
    }

    fn line_charts(&self, run: &RunFile) -> Vec<LineChart> {
        S::charts(run)
    }

    fn publishes_bars(&self) -> bool {
        S::PUBLISHES_BARS
    }

    fn sheet(&self, run: &RunFile) -> Option<Sheet> {
        S::over_engines(run)
    }
}

/// A cell with its options read.
pub trait Task {
    /// Returns about how many operations the cell does; none if its suite does not know.
    fn operations(&self) -> Option<u64>;

    /// Returns the operations that are due at a rate.
    fn paced(&self) -> Paced;

    /// Returns about how many operations are commits; none if its suite does not know.
    fn commits(&self) -> Option<u64>;

    /// Returns about how many bytes a record of the cell has.
    fn record_bytes(&self) -> u64;

    /// Returns the use that the cell makes of the store in its directory.
    fn store_use(&self) -> StoreUse;

    /// Returns why the cell's operations cannot be counted; `None` if they can.
    fn uncountable(&self) -> Option<String>;

    /// Measures the cell, or continues with what a killed process left. Returns the value that it
    /// left, if its store outlives its closing.
    fn run(
        &self,
        driver: &dyn Driver,
        killed: Option<Value>,
        measurement: &mut Measurement,
        report: &mut Report<'_>,
        farewell: &mut Farewell<'_>,
    ) -> Result<Option<Value>>;

    /// Checks the store that the cell left. Returns the number of answers that were compared, and
    /// the value for one more process, if it has something to check.
    fn look(&self, driver: &dyn Driver, left: Value) -> Result<(u64, Option<Value>)>;
}

struct TaskOf<'c, S: Suite> {
    cell: &'c Cell,
    options: S::Options,
}

impl<S: Suite> Task for TaskOf<'_, S> {
    fn operations(&self) -> Option<u64> {
        S::operations(self.cell, &self.options)
    }

    fn paced(&self) -> Paced {
        S::paced(&self.options)
    }

    fn commits(&self) -> Option<u64> {
        S::commits(self.cell, &self.options)
    }

    fn record_bytes(&self) -> u64 {
        S::record_bytes(&self.options)
    }

    fn store_use(&self) -> StoreUse {
        S::store_use(&self.options)
    }

    fn uncountable(&self) -> Option<String> {
        S::uncountable(&self.options)
    }

    fn run(
        &self,
        driver: &dyn Driver,
        killed: Option<Value>,
        measurement: &mut Measurement,
        report: &mut Report<'_>,
        farewell: &mut Farewell<'_>,
    ) -> Result<Option<Value>> {
        let cell = self.cell;
        let options = &self.options;
        let run = CellRun { cell, options, driver, measurement, report, farewell };
        let left = match killed {
            Some(left) => S::resume(run, left_by::<S>(left)?)?,
            None => S::run(run)?,
        };
        Ok(left.as_ref().map(plain))
    }

    fn look(&self, driver: &dyn Driver, left: Value) -> Result<(u64, Option<Value>)> {
        let left = left_by::<S>(left)?;
        let cell = self.cell;
        let options = &self.options;
        let (compared, left) = S::look(CellLook { cell, options, driver }, left)?;
        Ok((compared, left.as_ref().map(plain)))
    }
}

/// Reads the value that a cell of a suite left.
fn left_by<S: Suite>(left: Value) -> Result<S::Left> {
    S::Left::deserialize(left).map_err(|why| Error::engine("read what the cell left", why))
}
