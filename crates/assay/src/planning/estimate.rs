//! Estimates of the time of cells, from those that are done.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use assay_core::plan::Cell;
use assay_core::run_file::{RunFile, Status};
use assay_driver::{Durability, Storage};

/// The time of an operation, by its kind.
#[derive(Default)]
pub(crate) struct Estimate {
    spent: HashMap<Key, Spent>,
}

/// The total time of all measured cells of a kind. A total keeps one cell, which may be small, from
/// deciding the estimate of all others.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    operations: f64,
    seconds: f64,
}

impl Spent {
    /// Returns the seconds of an operation.
    fn each(&self) -> f64 {
        self.seconds / self.operations
    }
}

/// Suite, engine and storage mode; no suite means any.
type Key = (Option<String>, String, Storage);

impl Estimate {
    /// Learns from the runs of this machine in a folder.
    pub(crate) fn of_earlier_runs(folder: &Path, fresh: &RunFile) -> Self {
        let mut estimate = Self::default();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        // The folder may have other files.
        let paths = entries.map(|entry| entry.path()).filter(|path| may_be_run(path));
        let runs = paths.filter_map(|path| RunFile::load(&path).ok());
        let machine = |run: &RunFile| {
            (run.environment.cpu_model.clone(), run.environment.cpus, run.environment.memory_bytes)
        };
        let mut runs: Vec<_> = runs.filter(|run| machine(run) == machine(fresh)).collect();
        // The latest measurement is kept.
        runs.sort_by_key(|run| run.created);
        for result in runs.iter().flat_map(RunFile::results) {
            if let (Some(whole_ns), Status::Measured) = (result.whole_ns, &result.status) {
                estimate.learn(&result.cell, Duration::from_nanos(whole_ns));
            }
        }
        estimate
    }

    /// Learns the time of a measured cell.
    pub(crate) fn learn(&mut self, cell: &Cell, took: Duration) {
        let Some(work) = work(cell).filter(|_| !cell.calibration) else {
            return;
        };
        for key in keys(cell) {
            let spent = self.spent.entry(key).or_default();
            spent.operations += work.operations.max(1) as f64;
            spent.seconds += took.saturating_sub(work.paced_time).as_secs_f64();
        }
    }

    /// Returns a cell's expected time, from the same engine and storage mode: in the same suite, or
    /// else in any.
    pub(crate) fn of(&self, cell: &Cell) -> Option<Duration> {
        let spent = keys(cell).iter().find_map(|key| self.spent.get(key))?;
        work(cell)?.at(spent.each())
    }

    /// Returns the expected time of several cells; unknown times are guessed.
    pub(crate) fn forecast<'c>(
        &self,
        cells: impl IntoIterator<Item = &'c Cell>,
        sync: Option<Duration>,
    ) -> Forecast {
        let mut forecast = Forecast::default();
        for cell in cells {
            forecast.time += self.of(cell).unwrap_or_else(|| {
                forecast.guessed += 1;
                guess(cell, sync)
            });
        }
        forecast
    }

    /// Returns a cell's expected time; if nothing of its kind is known, that of the slowest known.
    pub(crate) fn of_at_most(&self, cell: &Cell) -> Option<Duration> {
        self.of(cell).or_else(|| {
            let slowest = self.spent.values().map(Spent::each).reduce(f64::max)?;
            work(cell)?.at(slowest)
        })
    }

    /// Returns the expected time of several cells.
    pub(crate) fn of_all(&self, cells: &[&Cell]) -> Option<Duration> {
        cells.iter().map(|cell| self.of_at_most(cell)).sum()
    }
}

/// The expected time of cells, and the number of cells whose time is guessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forecast {
    pub time: Duration,
    pub guessed: usize,
}

impl Forecast {
    /// Returns the time, and its source.
    pub(crate) fn text(&self) -> String {
        let how = match self.guessed {
            0 => "from earlier runs here".to_string(),
            1 => "one is guessed: none like it was measured here".to_string(),
            cells => format!("{cells} are guessed: none like them were measured here"),
        };
        format!("about {} ({how})", rough(self.time))
    }
}

/// The guessed time of a commit that reaches a disk, if it was not measured.
const GUESS_SYNC: Duration = Duration::from_millis(2);
/// The guessed time of a commit on a RAM disk: the work of a sync, without a wait for a device.
const GUESS_SYNC_IN_MEMORY: Duration = Duration::from_micros(40);
/// The guessed time of a cell whose operations are not known: that of a suite that measures for a
/// time.
const GUESS_CELL: Duration = Duration::from_secs(30);

/// Returns a guess of a cell's time if nothing is known. `sync` is the time of a sync of the disk.
fn guess(cell: &Cell, sync: Option<Duration>) -> Duration {
    let Ok(task) = assay_suites::task(cell) else { return GUESS_CELL };
    let (Some(operations), Some(commits)) = (task.operations(), task.commits()) else {
        return GUESS_CELL;
    };
    let operation = match cell.storage {
        Storage::Memory => Duration::from_micros(1),
        Storage::Ramdisk => Duration::from_micros(2),
        Storage::Disk => Duration::from_micros(4),
    };
    let commit = match cell.storage {
        Storage::Disk if syncs_each_commit(cell) => sync.unwrap_or(GUESS_SYNC),
        Storage::Ramdisk if syncs_each_commit(cell) => GUESS_SYNC_IN_MEMORY,
        _ => Duration::ZERO,
    };
    operation.mul_f64(operations as f64) + commit.mul_f64(commits as f64) + task.paced().time
}

/// Returns true if the engine waits for the disk at each commit: its level says so, or the engine
/// does more than its level.
fn syncs_each_commit(cell: &Cell) -> bool {
    let driver = assay_drivers::find(&cell.engine.id);
    let stronger = driver.and_then(|driver| driver.stronger(cell.durability));
    cell.durability == Durability::Commit || stronger.is_some()
}

/// The most bytes of a run file to learn from in passing.
const MOST_BYTES: u64 = 64 << 20;

fn may_be_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_json = name.ends_with(".json") || name.ends_with(".json.gz");
    is_json && path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES)
}

fn keys(cell: &Cell) -> [Key; 2] {
    let engine = || cell.engine.id.clone();
    [(Some(cell.suite.clone()), engine(), cell.storage), (None, engine(), cell.storage)]
}

/// Returns about how many operations a cell does; none if its suite does not know.
pub(crate) fn operations(cell: &Cell) -> Option<u64> {
    assay_suites::task(cell).ok()?.operations()
}

/// Returns why the operations of a cell cannot be counted; `None` if they can.
pub(crate) fn uncountable(cell: &Cell) -> Option<String> {
    assay_suites::task(cell).ok()?.uncountable()
}

/// The operations of a cell: those as fast as the engine can, and those at a rate.
struct Work {
    operations: u64,
    paced_time: Duration,
}

impl Work {
    /// Returns the time of the work with an engine that needs `seconds` for an operation.
    fn at(&self, seconds: f64) -> Option<Duration> {
        let unpaced = Duration::try_from_secs_f64(seconds * self.operations as f64).ok()?;
        unpaced.checked_add(self.paced_time)
    }
}

/// Returns about the work of a cell; none if its suite does not know.
fn work(cell: &Cell) -> Option<Work> {
    let task = assay_suites::task(cell).ok()?;
    let paced = task.paced();
    let operations = task.operations()?.saturating_sub(paced.operations);
    Some(Work { operations, paced_time: paced.time })
}

/// Returns a rounded time in words.
pub(crate) fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::plan::{MemoryGrant, PageCache};
    use assay_driver::KeyKind;
    use assay_suites::nudb::{Nudb, Options};
    use assay_suites::ycsb::{self, Ycsb};
    use assay_suites::{Suite, plain};

    use super::*;

    fn cell(engine: &str, storage: Storage, durability: Durability) -> Cell {
        let options = Options { fetches: Some(1_000), ..Options::default() };
        Cell {
            suite: Nudb::ID.into(),
            revision: Nudb::REVISION,
            engine: engine.into(),
            storage,
            durability,
            durability_wanted: durability,
            key_kind: KeyKind::Tree,
            key_kind_named: false,
            rows: 1_000,
            threads: 1,
            trial: 1,
            seed: 1,
            variant: String::new(),
            options: plain(&options),
            engine_options: Default::default(),
            engine_parameters: Default::default(),
            cpus: Vec::new(),
            page_cache: PageCache::Warm,
            memory: MemoryGrant::default(),
            dir: None,
            calibration: false,
        }
    }

    #[test]
    fn operations_that_are_due_at_a_rate_say_nothing_of_the_engine() {
        let options = |rate| ycsb::Options { rate, ..ycsb::Options::default() };
        let ycsb = |rate| Cell {
            suite: Ycsb::ID.into(),
            revision: Ycsb::REVISION,
            rows: 100_000,
            options: plain(&options(rate)),
            ..cell("lmdb", Storage::Ramdisk, Durability::Process)
        };
        let mut estimate = Estimate::default();
        // 20 s for the operations at a rate, and 1 s for the others.
        estimate.learn(&ycsb(Some(5_000)), Duration::from_secs(21));
        assert_eq!(estimate.of(&ycsb(None)), Some(Duration::from_millis(1_500)));
        assert_eq!(estimate.of(&ycsb(Some(10_000))), Some(Duration::from_secs(11)));
    }

    #[test]
    fn a_small_cell_does_not_outweigh_a_large_one() {
        let sized = |rows| Cell { rows, ..cell("lmdb", Storage::Disk, Durability::Periodic) };
        let mut estimate = Estimate::default();
        // 100,000 operations in a second, then 2,000 of which most are the start of a process.
        estimate.learn(&sized(99_000), Duration::from_secs(1));
        estimate.learn(&sized(1_000), Duration::from_millis(200));
        let whole = estimate.of(&sized(99_000)).expect("it is known").as_millis();
        assert!((1_000..1_300).contains(&whole), "{whole}");
    }

    #[test]
    fn commits_that_wait_for_the_disk_are_counted() {
        let sync = Some(Duration::from_millis(10));
        let guessed = |engine, storage, level| {
            let forecast = Estimate::default().forecast([&cell(engine, storage, level)], sync);
            assert_eq!(forecast.guessed, 1);
            forecast.time.as_secs()
        };
        // A thousand commits of 10 ms.
        assert_eq!(guessed("sqlite", Storage::Disk, Durability::Commit), 10);
        assert_eq!(guessed("sqlite", Storage::Disk, Durability::Periodic), 0);
        assert_eq!(guessed("sqlite", Storage::Ramdisk, Durability::Commit), 0);
        assert_eq!(
            guessed("lmdb", Storage::Disk, Durability::Periodic),
            10,
            "it syncs each commit"
        );
    }
}
