//! `assay run` without a suite: a short and honest tour of the engines, with CrossBench at a size
//! that fits a minute.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::run_file::Status;
use assay_driver::{Driver, Durability, Storage};
use assay_suites::crossbench::{CrossBench, Fill, Options};
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::print;

use crate::cli::{Format, TourArgs};
use crate::crash::VERDICTS_FILE;
use crate::output::page;
use crate::output::progress::Display;
use crate::output::results::{print_published, show_table};
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Planned, Setting, Workload, calibration, planned};
use crate::running::executor::{Execution, examine, new_run, remove_store};
use crate::running::run_place::RunPlace;
use crate::running::start::Start;
use crate::running::time_budget::TimeBudget;

const MODES: [Storage; 2] = [Storage::Memory, Storage::Ramdisk];

/// Rows of each store.
const ROWS: u64 = 100_000;

/// Lookups in each of ten rounds.
const QUERIES: u64 = 100_000;

/// Updates in each of ten rounds.
const UPDATES: u64 = 20_000;

/// An engine that synchronises each commit does the `SLOW`th part of updates and deletes; the table
/// marks its figures.
const SLOW: u64 = 10;

/// Measures the engines, shows the table and writes the page.
pub(crate) fn tour(args: &TourArgs) -> Outcome {
    let common = &args.common;
    let interrupt = Interrupt::noted();
    let setting = Setting::new(common, None)?;
    let store_dirs = StoreDirs::prepare(&MODES, common.dir.as_deref())?;
    let plan = plan(&setting, &store_dirs)?;
    let mut run = new_run(plan.len());
    let place = RunPlace::of(common.output.as_deref(), "tour", run.created)?;
    let path = place.path();
    let page_path = page_beside(path)?;
    let sync = examine(&mut run, &store_dirs, &plan);
    let start =
        Start { quiet: args.quiet, yes: common.yes, shorter: "-e ENGINE", interrupt: &interrupt };
    start.announce(&plan, &run, sync)?;
    let mut display = Display::new(plan.len(), args.quiet);
    store_dirs.warnings.iter().for_each(|warning| display.say(&format!("note: {warning}")));
    let result = Execution {
        timeout: common.timeout.map(Duration::from_secs),
        baseline: None,
        interrupt: &interrupt,
        time_budget: &TimeBudget::without_end(),
        path,
        verdicts: Path::new(VERDICTS_FILE),
        display: &mut display,
        each: &mut |result| {
            // Rows are left in the store if not all were deleted.
            if result.status == Status::Measured {
                remove_store(&result.cell);
            }
            Ok(())
        },
    }
    .carry_out(plan, &mut run);
    let run = run.printable();
    if run.cells.is_empty() {
        return result;
    }
    match common.format {
        Format::Table => show_table(&run, &common.look)?,
        Format::Published => print_published(&run, path)?,
    }
    if !place.is_written() {
        return result;
    }
    if let Err(failure) = page::write(&[path.to_path_buf()], &page_path) {
        // How the measuring ended comes first: after an interrupt there may be nothing for a page.
        return result.and(Err(failure));
    }
    if !args.quiet {
        print(&format!("\n page: {}\n run file: {}\n", page_path.display(), path.display()))?;
    }
    result
}

/// Returns the path of the page: the run file's, with `.html` as its end.
fn page_beside(path: &std::path::Path) -> Outcome<PathBuf> {
    let page = path.with_extension("html");
    if page == path {
        Err(Failure::Usage(format!(
            "--output {}: the page of the tour goes there; name the run file .json",
            path.display()
        )))
    } else {
        Ok(page)
    }
}

fn plan(setting: &Setting, store_dirs: &StoreDirs) -> Outcome<Vec<Planned>> {
    let mut plan: Vec<_> =
        calibration(setting, &workload(Pace::Usual), store_dirs).into_iter().collect();
    for storage in MODES {
        for driver in &setting.engines {
            let workload = workload(Pace::of(driver.as_ref(), setting, storage));
            let cell = planned(driver.as_ref(), setting, &workload, storage, 1, store_dirs);
            if setting.named || cell.refusal.is_none() {
                plan.push(cell);
            }
        }
    }
    if plan.iter().all(|planned| planned.cell.calibration) {
        Err(Failure::Usage("no engine here can do that; see assay list".into()))
    } else {
        Ok(plan)
    }
}

/// The number of operations that an engine does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Usual,
    Fewer,
}

impl Pace {
    /// Returns the pace of an engine at the level at which it will run.
    fn of(driver: &dyn Driver, setting: &Setting, storage: Storage) -> Self {
        match planning::level(driver.profile(), storage, setting.wanted) {
            Ok((Durability::Commit, _)) => Self::Fewer,
            _ => Self::Usual,
        }
    }
}

fn workload(pace: Pace) -> Workload {
    let of_slow = |count| if pace == Pace::Fewer { count / SLOW } else { count };
    let options = Options {
        query: QUERIES,
        update: of_slow(UPDATES),
        delete: of_slow(ROWS),
        ..Options::default().filled_by(Fill::Insert, ROWS)
    };
    Workload::of::<CrossBench>(ROWS, &options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_engine_that_synchronises_each_commit_does_less() {
        let null = planning::engines::named(&["null".into()]).expect("an engine").remove(0);
        let options =
            |pace| (workload(pace).options)(null.profile(), assay_driver::Storage::Memory);
        let usual = options(Pace::Usual);
        let fewer = options(Pace::Fewer);
        assert_eq!((&usual["update"], &fewer["update"]), (&20_000.into(), &2_000.into()));
        assert_eq!((&usual["delete"], &fewer["delete"]), (&100_000.into(), &10_000.into()));
        assert_eq!(usual["query"], fewer["query"]);
        let usual = workload(Pace::Usual);
        let fewer = workload(Pace::Fewer);
        assert_eq!((usual.rows, usual.variant), (fewer.rows, fewer.variant), "one table");
    }
}
