//! How long cells take, from those that are done.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use assay_core::plan::Cell;
use assay_core::run_file::{RunFile, Status};
use assay_driver::{Durability, Storage};

/// What an operation took, by what it was.
#[derive(Default)]
pub(crate) struct Estimate {
    spent: HashMap<Key, Spent>,
}

/// What all cells of a kind took that were measured: so one of them, which may be small, does not
/// make the estimate of all others.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    operations: f64,
    seconds: f64,
}

impl Spent {
    /// Seconds of an operation.
    fn each(&self) -> f64 {
        self.seconds / self.operations
    }
}

/// Suite, engine and storage mode; without the suite, any.
type Key = (Option<String>, String, Storage);

impl Estimate {
    /// Learns from the runs on this machine that are kept in a folder.
    pub(crate) fn of_earlier_runs(folder: &Path, fresh: &RunFile) -> Self {
        let mut estimate = Self::default();
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        // Other files may be there too.
        let paths = entries.map(|entry| entry.path()).filter(|path| may_be_run(path));
        let runs = paths.filter_map(|path| RunFile::load(&path).ok());
        let machine = |run: &RunFile| {
            (run.environment.cpu_model.clone(), run.environment.cpus, run.environment.memory_bytes)
        };
        let mut runs: Vec<_> = runs.filter(|run| machine(run) == machine(fresh)).collect();
        // What was measured last is remembered.
        runs.sort_by_key(|run| run.created);
        for result in runs.iter().flat_map(RunFile::results) {
            if let (Some(whole_ns), Status::Measured) = (result.whole_ns, &result.status) {
                estimate.learn(&result.cell, Duration::from_nanos(whole_ns));
            }
        }
        estimate
    }

    /// Learns what a cell took that was measured.
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

    /// What a cell will take, from the same engine and storage mode: in the same suite, or else in
    /// any.
    pub(crate) fn of(&self, cell: &Cell) -> Option<Duration> {
        let spent = keys(cell).iter().find_map(|key| self.spent.get(key))?;
        work(cell)?.at(spent.each())
    }

    /// What several cells will take; what is not known is guessed.
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

    /// The same, and where nothing of the kind is known, as for the slowest that is.
    pub(crate) fn of_at_most(&self, cell: &Cell) -> Option<Duration> {
        self.of(cell).or_else(|| {
            let slowest = self.spent.values().map(Spent::each).reduce(f64::max)?;
            work(cell)?.at(slowest)
        })
    }

    /// What several cells will take.
    pub(crate) fn of_all(&self, cells: &[&Cell]) -> Option<Duration> {
        cells.iter().map(|cell| self.of_at_most(cell)).sum()
    }
}

/// What cells will take, and how many of them are guessed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Forecast {
    pub time: Duration,
    pub guessed: usize,
}

impl Forecast {
    /// The time, and where it is known from.
    pub(crate) fn text(&self) -> String {
        let how = match self.guessed {
            0 => "from earlier runs here".to_string(),
            1 => "one is guessed: none like it was measured here".to_string(),
            cells => format!("{cells} are guessed: none like them were measured here"),
        };
        format!("about {} ({how})", rough(self.time))
    }
}

/// What a commit is taken to need that reaches a disk, where that was not measured.
const GUESS_SYNC: Duration = Duration::from_millis(2);
/// The same on a RAM disk, where engines do the work of a sync and wait for no device.
const GUESS_SYNC_IN_MEMORY: Duration = Duration::from_micros(40);
/// What a cell is taken to need whose operations are not known: that of a suite that measures for
/// a time.
const GUESS_CELL: Duration = Duration::from_secs(30);

/// What a cell is taken to need of which nothing is known. `sync` is what a sync of the disk takes.
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

/// Whether the engine waits for the disk at each commit: its level says so, or it does more than
/// its level.
fn syncs_each_commit(cell: &Cell) -> bool {
    let driver = assay_drivers::find(cell.engine_id());
    let stronger = driver.and_then(|driver| driver.stronger(cell.durability));
    cell.durability == Durability::Commit || stronger.is_some()
}

/// Larger files are no run files, or too large to learn from in passing.
const MOST_BYTES: u64 = 64 << 20;

fn may_be_run(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_json = name.ends_with(".json") || name.ends_with(".json.gz");
    is_json && path.metadata().is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES)
}

fn keys(cell: &Cell) -> [Key; 2] {
    let engine = || cell.engine_id().to_string();
    [(Some(cell.suite.clone()), engine(), cell.storage), (None, engine(), cell.storage)]
}

/// About how many operations a cell does; none if its suite does not know.
pub(crate) fn operations(cell: &Cell) -> Option<u64> {
    assay_suites::task(cell).ok()?.operations()
}

/// What a cell does: as fast as the engine can, and at a rate.
struct Work {
    operations: u64,
    paced_time: Duration,
}

impl Work {
    /// The time that it takes with an engine that needs `seconds` for an operation.
    fn at(&self, seconds: f64) -> Option<Duration> {
        let unpaced = Duration::try_from_secs_f64(seconds * self.operations as f64).ok()?;
        unpaced.checked_add(self.paced_time)
    }
}

/// About what a cell does; none if its suite does not know.
fn work(cell: &Cell) -> Option<Work> {
    let task = assay_suites::task(cell).ok()?;
    let paced = task.paced();
    let operations = task.operations()?.saturating_sub(paced.operations);
    Some(Work { operations, paced_time: paced.time })
}

/// A time as one says it.
pub(crate) fn rough(time: Duration) -> String {
    match time.as_secs() {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ 120..7200 => format!("{} min", seconds / 60),
        seconds => format!("{:.1} h", seconds as f64 / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use assay_core::plan::PageCache;
    use assay_core::timing::Clock;
    use assay_driver::KeyKind;
    use assay_suites::nudb::{Nudb, Options};
    use assay_suites::ycsb::workload::{Distribution, Workload};
    use assay_suites::ycsb::{self, Ycsb};
    use assay_suites::{Suite, plain};

    use super::*;

    fn cell(engine: &str, storage: Storage, durability: Durability) -> Cell {
        let clock = Clock::Stops;
        let options = Options { key_size: 64, fetches: 1_000, batch_size: None, repeats: 0, clock };
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
            cache_bytes: None,
            cache_named: false,
            memory_limit_bytes: None,
            dir: None,
            calibration: false,
        }
    }

    #[test]
    fn operations_that_are_due_at_a_rate_say_nothing_of_the_engine() {
        let options = |rate| ycsb::Options {
            workload: Workload::A,
            operations: 100_000,
            distribution: Distribution::Uniform,
            field_count: 10,
            field_length: 100,
            rate,
            repeats: 0,
        };
        let ycsb = |rate| Cell {
            suite: Ycsb::ID.into(),
            revision: Ycsb::REVISION,
            rows: 100_000,
            options: plain(&options(rate)),
            ..cell("lmdb", Storage::Ramdisk, Durability::Process)
        };
        let mut estimate = Estimate::default();
        // 20 s for the operations at a rate, and one for the others.
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
