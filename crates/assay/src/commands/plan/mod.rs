//! `assay plan`: a plan in a file, whose results are one run file, or one a run in a folder.

mod folder;
mod overview;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
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
use crate::planning::plan_file::{PlanFile, Target};
use crate::planning::request::Request;
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Planned, Setting};
use crate::running::executor::new_run;
use crate::running::resume::Resumable;
use crate::running::time_budget::TimeBudget;

use overview::Section;

/// Runs a plan.
pub(crate) fn plan(args: &PlanArgs) -> Outcome {
    let file = PlanFile::read(&args.config)?;
    let requests = file.runs.iter().map(Request::of).collect::<Outcome<Vec<_>>>()?;
    match &file.target {
        Target::File(output) => one_file(args, &file, &requests, output.clone()),
        Target::Folder { folder, names } => {
            folder::carry_out(args, &file, &requests, folder, names)
        }
    }
}

/// Runs a plan whose results are one run file.
fn one_file(
    args: &PlanArgs,
    file: &PlanFile,
    requests: &[Request],
    output: Option<PathBuf>,
) -> Outcome {
    let interrupt = Interrupt::noted();
    let named = args.output.clone().or(output);
    let path = named.clone().unwrap_or_else(|| {
        let name = args.config.file_stem().unwrap_or_default();
        let mut name = name.to_os_string();
        name.push(".json");
        PathBuf::from(files::RUNS_FOLDER).join(name)
    });
    match named {
        Some(_) => files::check_writable(&path, "--output")?,
        None => files::check_default(&path)?,
    }
    let store_dirs = store_dirs(args, file, &modes(requests))?;
    let mut known = HashSet::new();
    let plans = requests.iter().map(|request| {
        let mut cells = plan_of(request, &store_dirs)?;
        // Cells that two runs ask for are measured once.
        cells.retain(|planned| known.insert(planned.cell.identity()));
        Ok(cells)
    });
    let plans = plans.collect::<Outcome<Vec<_>>>()?;
    let estimate = Estimate::of_earlier_runs(whole_file::folder_of(&path), &new_run(0));
    let titles: Vec<_> = (1..=requests.len()).map(|number| number.to_string()).collect();
    let sections = titles
        .iter()
        .zip(requests)
        .zip(&plans)
        .map(|((title, request), plan)| Section { title, request, plan, done: None });
    print(&overview::text(&sections.collect::<Vec<_>>(), &estimate))?;
    if args.dry_run {
        return Ok(());
    }
    let time_budget = TimeBudget::lasting(args.limit, estimate);
    let (run, result) = Resumable {
        path: &path,
        // Of several runs in one file, the plan is the command.
        command: file.commands.first().filter(|_| file.commands.len() == 1).map(Vec::as_slice),
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
    show(&run, args, &path)?;
    if time_budget.is_spent() {
        print(&overview::goes_on(&run, &path))?;
    }
    result
}

/// Returns the storage modes of all runs.
fn modes(requests: &[Request]) -> Vec<Storage> {
    let mut modes = Vec::new();
    for mode in requests.iter().flat_map(|request| StorageArg::modes(&request.storage)) {
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
