//! `assay plan`: a plan in a file, whose results are one run file, or one a run in a folder.

mod folder;
mod overview;

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use assay_core::run_file::RunFile;
use assay_driver::Storage;
use program_support::exit::Outcome;
use program_support::interrupt::Interrupt;
use program_support::output::print;
use program_support::whole_file;

use crate::cli::{PlanArgs, StorageArg};
use crate::crash::VERDICTS_FILE;
use crate::files;
use crate::output::results::{run_file_line, show_table};
use crate::planning::estimate::Estimate;
use crate::planning::plan_file::{PlanFile, PlannedRun, Target};
use crate::planning::request::Request;
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Planned, Setting};
use crate::running::executor::new_run;
use crate::running::resume::Resumable;
use crate::running::time_budget::TimeBudget;

use overview::Section;

/// Runs a plan.
pub(crate) fn plan(args: &PlanArgs) -> Outcome {
    let file = PlanFile::of(args)?;
    match &file.target {
        Target::File(path) => one_file(args, &file, path),
        Target::Folder(folder) => folder::carry_out(args, &file, folder),
    }
}

/// Runs a plan whose results are one run file.
fn one_file(args: &PlanArgs, file: &PlanFile, path: &Path) -> Outcome {
    let interrupt = Interrupt::noted();
    let path = args.output.as_deref().unwrap_or(path);
    if whole_file::folder_of(path) == Path::new(files::RUNS_FOLDER) {
        files::check_default(path)?;
    } else {
        files::check_writable(path, "--output")?;
    }
    let store_dirs = store_dirs(args, file, &modes(&file.runs))?;
    let mut known = HashSet::new();
    let plans = file.runs.iter().map(|run| {
        let mut cells = plan_of(&run.request, &store_dirs)?;
        // Cells that two runs ask for are measured once.
        cells.retain(|planned| known.insert(planned.cell.identity()));
        Ok(cells)
    });
    let plans = plans.collect::<Outcome<Vec<_>>>()?;
    let estimate = Estimate::of_earlier_runs(whole_file::folder_of(path), &new_run(0));
    let sections = file.runs.iter().zip(&plans);
    let sections = sections.map(|(run, plan)| Section { run, plan, done: None });
    print(&overview::text(&sections.collect::<Vec<_>>(), &estimate))?;
    if args.dry_run {
        return Ok(());
    }
    let time_budget = TimeBudget::lasting(args.limit, estimate);
    let (run, result) = Resumable {
        path,
        // Of several runs in one file, the plan is the command.
        command: match file.runs.as_slice() {
            [run] => Some(&run.command),
            _ => None,
        },
        restart: args.restart,
        timeout: file.timeout_s.map(Duration::from_secs),
        quiet: args.quiet,
        store_dirs: &store_dirs,
        interrupt: &interrupt,
        time_budget: &time_budget,
        verdicts: Path::new(VERDICTS_FILE),
        start: None,
    }
    .carry_out(plans.into_iter().flatten().collect())?;
    let run = run.printable();
    show(&run, args, path)?;
    if time_budget.is_spent() {
        print(&overview::goes_on(&run, path))?;
    }
    result
}

/// Returns the storage modes of all runs.
fn modes(runs: &[PlannedRun]) -> Vec<Storage> {
    let mut modes = Vec::new();
    for mode in runs.iter().flat_map(|run| StorageArg::modes(&run.request.storage)) {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    modes
}

fn store_dirs(args: &PlanArgs, file: &PlanFile, modes: &[Storage]) -> Outcome<StoreDirs> {
    if args.dry_run {
        StoreDirs::look(modes, file.dir.as_deref())
    } else {
        StoreDirs::prepare(modes, file.dir.as_deref())
    }
}

/// Returns the cells of a run.
fn plan_of(request: &Request, store_dirs: &StoreDirs) -> Outcome<Vec<Planned>> {
    let setting = Setting::new(&request.common, request.key)?;
    let modes = StorageArg::modes(&request.storage);
    planning::plan(&setting, &request.workloads, &modes, request.trials.trials, store_dirs)
}

fn show(run: &RunFile, args: &PlanArgs, path: &Path) -> Outcome {
    show_table(run, &args.look)?;
    if !args.quiet && files::is_written(path) { print(&run_file_line(path)) } else { Ok(()) }
}
