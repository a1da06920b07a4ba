//! Plans whose runs have a run file each. A command works on the plan for a time. Runs that are
//! whole are not measured again, and a later command continues where the last one stopped.

use std::collections::{BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::engine::EngineRef;
use assay_core::run_file::RunFile;
use assay_driver::Storage;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};

use crate::cli::PlanArgs;
use crate::crash::VERDICTS_NAME;
use crate::crash::levels::{Ordered, Place};
use crate::files;
use crate::planning::Planned;
use crate::planning::estimate::Estimate;
use crate::planning::plan_file::{PlanFile, PlannedRun};
use crate::running::executor::new_run;
use crate::running::resume::{self, Resumable};
use crate::running::time_budget::TimeBudget;

use super::overview::{self, Section};

/// A run and its file.
struct Part {
    path: PathBuf,
    plan: Vec<Planned>,
    /// The command line that measures this run alone.
    command: Vec<String>,
    /// For each cell of the plan, true if the file has it.
    done: Vec<bool>,
    /// Engines that were added since the run became whole, if the run cannot continue. They are not
    /// in the plan.
    without: BTreeSet<EngineRef>,
}

impl Part {
    fn of(path: PathBuf, mut plan: Vec<Planned>, command: Vec<String>) -> Outcome<Self> {
        if !path.exists() {
            let done = vec![false; plan.len()];
            return Ok(Self { path, plan, command, done, without: BTreeSet::new() });
        }
        let run = RunFile::load(&path).map_err(|e| {
            Failure::Refused(format!("{e}, or remove it, so that the plan makes it anew"))
        })?;
        let known: HashSet<_> =
            run.cells.iter().map(|result| result.cell.identity_anywhere()).collect();
        let is_done = |planned: &Planned| known.contains(&planned.cell.identity_anywhere());
        let mut without = BTreeSet::new();
        if !plan.iter().all(is_done) {
            // Refused before anything is measured.
            if let Err(refusal) = resume::begin(false, &path, &plan) {
                without = newcomers(&run, &plan, is_done).ok_or(refusal)?;
                plan.retain(|planned| !without.contains(&planned.cell.engine));
            }
        }
        let done = plan.iter().map(is_done).collect();
        Ok(Self { path, plan, command, done, without })
    }

    fn is_whole(&self) -> bool {
        self.done.iter().all(|done| *done)
    }
}

/// Returns the engines without a cell in a run that was whole, if nothing else of the plan is left.
fn newcomers(
    run: &RunFile,
    plan: &[Planned],
    is_done: impl Fn(&Planned) -> bool,
) -> Option<BTreeSet<EngineRef>> {
    let measured: HashSet<_> = run.cells.iter().map(|result| &result.cell.engine).collect();
    let mut left = plan.iter().filter(|planned| !is_done(planned)).map(|p| &p.cell.engine);
    let was_whole = run.cells.len() == run.planned_cells;
    let engines: BTreeSet<_> = left.clone().cloned().collect();
    (was_whole && left.all(|engine| !measured.contains(engine))).then_some(engines)
}

/// A folder that this command made. It is removed again if it stays empty.
struct Made<'f>(Option<&'f Path>);

impl Drop for Made<'_> {
    fn drop(&mut self) {
        if let Some(folder) = self.0 {
            // A folder that is not empty is not removed.
            let _ = fs::remove_dir(folder);
        }
    }
}

/// Measures the cells of a plan that are missing, within the time budget.
pub(super) fn carry_out(args: &PlanArgs, file: &PlanFile, folder: &Path) -> Outcome {
    let refused = |option: &str, instead: &str| {
        Err(Failure::Usage(format!("{option}: each run of this plan has a file; {instead}")))
    };
    if args.output.is_some() {
        return refused("--output", "the plan names their folder with runs");
    }
    if args.restart {
        return refused("--restart", "remove the files of the runs that are to be measured anew");
    }
    let interrupt = Interrupt::noted();
    let mut modes = super::modes(&file.runs);
    if !file.crashes.is_empty() && !modes.contains(&Storage::Disk) {
        modes.push(Storage::Disk);
    }
    let store_dirs = super::store_dirs(args, file, &modes)?;
    let parts = file.runs.iter().map(|run| {
        let path = folder.join(format!("{}.json.gz", run.title));
        Part::of(path, super::plan_of(&run.request, &store_dirs)?, run.command.clone())
    });
    let parts = parts.collect::<Outcome<Vec<_>>>()?;
    let estimate = Estimate::of_earlier_runs(folder, &new_run(0));
    print(&overview(&file.runs, &parts, &estimate))?;
    let verdicts = folder.join(VERDICTS_NAME);
    if args.dry_run {
        return Ok(());
    }
    let _made = Made(files::make_directory(folder, "runs in the plan")?.then_some(folder));
    let time_budget = TimeBudget::lasting(args.limit, estimate);
    let mut failure = None;
    let place = Place {
        verdicts: Some(&verdicts),
        store_dirs: &store_dirs,
        interrupt: &interrupt,
        time_budget: &time_budget,
    };
    for test in &file.crashes {
        if time_budget.is_spent() {
            break;
        }
        failure = first(failure, Ordered::of(test)?.carry_out(test, &place))?;
    }
    for part in parts.into_iter().filter(|part| !part.is_whole()) {
        if time_budget.is_spent() {
            break;
        }
        say(&format!("measuring {}", part.path.display()));
        let result = Resumable {
            path: &part.path,
            command: Some(&part.command),
            restart: false,
            timeout: file.timeout_s.map(Duration::from_secs),
            quiet: args.quiet,
            store_dirs: &store_dirs,
            interrupt: &interrupt,
            time_budget: &time_budget,
            verdicts: &verdicts,
            start: None,
        }
        .carry_out(part.plan)
        .and_then(|(_, result)| result);
        failure = first(failure, result)?;
    }
    print(&if time_budget.is_spent() {
        "\n the time budget is spent; the same command continues\n".to_string()
    } else {
        format!("\n everything is there; assay site {} shows it\n", folder.display())
    })?;
    failure.map_or(Ok(()), Err)
}

/// Returns the first failure. An interrupt is returned as an error at once.
fn first(before: Option<Failure>, outcome: Outcome) -> Outcome<Option<Failure>> {
    match outcome {
        Err(Failure::Interrupted(line)) => Err(Failure::Interrupted(line)),
        Err(failure) => Ok(before.or(Some(failure))),
        Ok(()) => Ok(before),
    }
}

/// Returns the table of runs, then those whose files have fewer engines than there are now.
fn overview(runs: &[PlannedRun], parts: &[Part], estimate: &Estimate) -> String {
    let sections = runs.iter().zip(parts);
    let sections =
        sections.map(|(run, part)| Section { run, plan: &part.plan, done: Some(&part.done) });
    let mut text = overview::text(&sections.collect::<Vec<_>>(), estimate);
    for (PlannedRun { title, .. }, Part { without, .. }) in
        runs.iter().zip(parts).filter(|(_, p)| !p.without.is_empty())
    {
        let engines: Vec<_> = without.iter().map(ToString::to_string).collect();
        let _ = writeln!(text, " {title} was measured without {}", engines.join(", "));
    }
    text
}
