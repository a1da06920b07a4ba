//! What a suite is. A [`Suite`] has its options as a type of its own; [`AnySuite`] and [`Task`] are
//! the same for callers that know neither: they read a cell's options once, here and nowhere else.

use std::fmt;
use std::time::Duration;

use assay_core::chart::{LineChart, Sheet};
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, Measurement, RunFile, Status};
use assay_driver::Driver;
use assay_driver::error::{Error, Result};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::cell::Report;

/// The cells that show what the instrument costs do at most this many operations of a kind.
pub const CALIBRATION_COUNT: u64 = 1_000_000;

/// What a cell does with the store in its directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StoreUse {
    /// It makes a new one, and removes it at the end or leaves it for a next run.
    Makes,
    /// It takes the one that is there, or makes one and leaves it.
    TakesOrMakes,
    /// It opens the one that is there.
    Opens,
}

/// Operations that are due at a rate, and the time that they take then, whatever the engine.
#[derive(Clone, Copy, Debug, Default)]
pub struct Paced {
    /// How many.
    pub operations: u64,
    /// From the first to the last of them.
    pub time: Duration,
}

/// What a suite leaves whose stores are looked at by what their cell says alone.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Nothing {}

/// A cell whose store is to be looked at, in a process of its own.
pub struct CellLook<'c, O> {
    /// The cell.
    pub cell: &'c Cell,
    /// Its options.
    pub options: &'c O,
    /// The driver of its engine.
    pub driver: &'c dyn Driver,
}

/// A cell that is to be measured.
pub struct CellRun<'c, O> {
    /// The cell.
    pub cell: &'c Cell,
    /// Its options.
    pub options: &'c O,
    /// The driver of its engine.
    pub driver: &'c dyn Driver,
    /// Where its figures go.
    pub measurement: &'c mut Measurement,
    /// Where its progress goes.
    pub report: &'c mut Report<'c>,
}

/// The workload of a published benchmark. What implements it stands for the suite, and has no
/// values of its own.
pub trait Suite: Sync + 'static {
    /// What a cell of this suite does.
    type Options: Serialize + DeserializeOwned + 'static;

    /// Its id.
    const ID: &'static str;

    /// What an engine does in it, as the page of results says it.
    const ABOUT: &'static str;

    /// Its revision, from 1: one more with every change after which its figures can no longer be
    /// compared with earlier ones. `docs/run-file.md` says what each change was.
    const REVISION: u32;

    /// Whether lines of progress name the variant of a cell.
    const SHOWS_VARIANT: bool = true;

    /// Whether the suite's project publishes bars, so that ours stay bars however far engines are
    /// apart.
    const PUBLISHES_BARS: bool = false;

    /// How cells with these options differ from others, in words.
    fn variant(options: &Self::Options) -> String;

    /// What the measuring of a cell tells those who look at its store afterwards. Not a unit, which
    /// is no value in JSON.
    type Left: Serialize + DeserializeOwned + 'static;

    /// Measures a cell. Returns what it left, if its store outlives its closing.
    fn run(run: CellRun<'_, Self::Options>) -> Result<Option<Self::Left>>;

    /// Looks at the store that a cell left. Returns how many answers were compared, and what there
    /// is to look at for one more process.
    fn look(
        look: CellLook<'_, Self::Options>,
        left: Self::Left,
    ) -> Result<(u64, Option<Self::Left>)>;

    /// About how many operations a cell does, for estimates of time.
    fn operations(cell: &Cell, options: &Self::Options) -> Option<u64>;

    /// Those of them that are due at a rate.
    fn paced(_: &Self::Options) -> Paced {
        Paced::default()
    }

    /// About how many of them are commits, which an engine may have to synchronise.
    fn commits(cell: &Cell, options: &Self::Options) -> Option<u64>;

    /// About how many bytes a record of a cell has.
    fn record_bytes(options: &Self::Options) -> u64;

    /// What a cell does with the store in its directory.
    fn store_use(_: &Self::Options) -> StoreUse {
        StoreUse::Makes
    }

    /// Whether a cell reads ranges, for which keys have to be in order.
    fn scans(_: &Self::Options) -> bool {
        false
    }

    /// Whether a cell works on volumes, which an engine may have of its own.
    fn mounts_volumes(_: &Self::Options) -> bool {
        false
    }

    /// The options of the cell that shows what the instrument costs; none: there is no such cell.
    fn calibration(options: &Self::Options) -> Option<Self::Options>;

    /// What the suite's project prints of a run; with the name that its pictures begin with.
    fn published(run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error>;

    /// The line charts of a run; none for suites whose pictures are bars.
    fn charts(_: &RunFile) -> Vec<LineChart> {
        Vec::new()
    }

    /// One picture over all engines, where the published ones are of one engine each.
    fn over_engines(_: &RunFile) -> Option<Sheet> {
        None
    }
}

/// Options as cells carry them.
pub fn plain(options: &impl Serialize) -> Value {
    serde_json::to_value(options).expect("options are plain data")
}

/// The options of a cell of this suite.
pub(crate) fn options<S: Suite>(cell: &Cell) -> Result<S::Options> {
    S::Options::deserialize(&cell.options)
        .map_err(|why| Error::engine("read the options of the cell", why))
}

/// The results of a suite in a run, without those of engines that cannot do it; with their
/// options, where they can be read.
pub(crate) fn results<S: Suite>(run: &RunFile) -> Vec<(&CellResult, Option<S::Options>)> {
    let cannot =
        |status: &Status| matches!(status, Status::Unsupported(_) | Status::Unavailable(_));
    run.results()
        .filter(|result| result.cell.suite == S::ID && !cannot(&result.status))
        .map(|result| (result, options::<S>(&result.cell).ok()))
        .collect()
}

/// A suite of which only the name is known.
pub trait AnySuite: Sync {
    /// Its id.
    fn id(&self) -> &'static str;

    /// What an engine does in it.
    fn about(&self) -> &'static str;

    /// Its revision.
    fn revision(&self) -> u32;

    /// Whether lines of progress name the variant of a cell.
    fn shows_variant(&self) -> bool;

    /// A cell of this suite, with its options read.
    ///
    /// # Errors
    /// The options are not those of this suite.
    fn task<'c>(&self, cell: &'c Cell) -> Result<Box<dyn Task + 'c>>;

    /// What the suite's project prints of a run; with the name that its pictures begin with.
    fn published_text(&self, run: &RunFile, name: &str) -> std::result::Result<String, fmt::Error>;

    /// The line charts of a run.
    fn line_charts(&self, run: &RunFile) -> Vec<LineChart>;

    /// Whether the suite's project publishes bars.
    fn publishes_bars(&self) -> bool;

    /// One picture over all engines, where the published ones are of one engine each.
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
    /// About how many operations it does; none if its suite does not know.
    fn operations(&self) -> Option<u64>;

    /// Those of them that are due at a rate.
    fn paced(&self) -> Paced;

    /// About how many of them are commits; none if its suite does not know.
    fn commits(&self) -> Option<u64>;

    /// About how many bytes a record of it has.
    fn record_bytes(&self) -> u64;

    /// What it does with the store in its directory.
    fn store_use(&self) -> StoreUse;

    /// Measures it. Returns what it left, if its store outlives its closing.
    fn run(
        &self,
        driver: &dyn Driver,
        measurement: &mut Measurement,
        report: &mut Report<'_>,
    ) -> Result<Option<Value>>;

    /// Looks at the store that it left. Returns how many answers were compared, and what there is
    /// to look at for one more process.
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

    fn run(
        &self,
        driver: &dyn Driver,
        measurement: &mut Measurement,
        report: &mut Report<'_>,
    ) -> Result<Option<Value>> {
        let (cell, options) = (self.cell, &self.options);
        let left = S::run(CellRun { cell, options, driver, measurement, report })?;
        Ok(left.as_ref().map(plain))
    }

    fn look(&self, driver: &dyn Driver, left: Value) -> Result<(u64, Option<Value>)> {
        let left = S::Left::deserialize(left)
            .map_err(|why| Error::engine("read what the cell left", why))?;
        let (cell, options) = (self.cell, &self.options);
        let (compared, left) = S::look(CellLook { cell, options, driver }, left)?;
        Ok((compared, left.as_ref().map(plain)))
    }
}
