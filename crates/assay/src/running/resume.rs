//! Runs that continue where they were interrupted.

use std::collections::HashSet;
use std::path::Path;
use std::time::Duration;

use assay_core::plan::Cell;
use assay_core::run_file::RunFile;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use crate::output::progress::Display;
use crate::planning::Planned;
use crate::planning::store_dirs::StoreDirs;
use crate::running::executor::{Execution, examine, new_run};
use crate::running::start::Start;
use crate::running::time_budget::TimeBudget;

/// The settings of a run that can continue.
pub(crate) struct Resumable<'r> {
    pub path: &'r Path,
    /// The command line that repeats the run, if it is not that of this process.
    pub command: Option<&'r [String]>,
    /// True if the run starts anew, even if its file exists.
    pub restart: bool,
    pub timeout: Option<Duration>,
    pub quiet: bool,
    pub store_dirs: &'r StoreDirs,
    pub interrupt: &'r Interrupt,
    pub time_budget: &'r TimeBudget,
    /// The file of crash tests' verdicts, by which engines are marked.
    pub verdicts: &'r Path,
    /// The start of the run; none if the announcement was made.
    pub start: Option<Start<'r>>,
}

impl Resumable<'_> {
    /// Measures the cells of a plan that are missing; returns the run, and how it ended. An
    /// interrupt ends it at once.
    pub(crate) fn carry_out(&self, plan: Vec<Planned>) -> Outcome<(RunFile, Outcome)> {
        let mut run = begin(self.restart, self.path, &plan)?;
        if let Some(command) = self.command {
            run.command = command.to_vec();
        }
        let sync = examine(&mut run, self.store_dirs, &plan);
        self.start.map_or(Ok(()), |start| start.announce(&plan, &run, sync))?;
        let mut display = Display::new(plan.len() - run.cells.len(), self.quiet);
        let warnings = self.store_dirs.warnings.iter();
        warnings.for_each(|warning| display.say(&format!("note: {warning}")));
        if !run.cells.is_empty() {
            display.say(&format!(
                "resuming {}: {} of {} cells are there",
                self.path.display(),
                run.cells.len(),
                plan.len()
            ));
        }
        let result = Execution {
            timeout: self.timeout,
            baseline: None,
            interrupt: self.interrupt,
            time_budget: self.time_budget,
            path: self.path,
            verdicts: self.verdicts,
            display: &mut display,
            each: &mut |_| Ok(()),
        }
        .carry_out(plan, &mut run);
        match result {
            Err(Failure::Interrupted(line)) => {
                Err(Failure::Interrupted(format!("{line}; the same command goes on")))
            }
            other => Ok((run, other)),
        }
    }
}

/// Returns a new run, or the one at `path` if it has the same plan and `restart` is not set.
///
/// # Errors
/// If the run at `path` cannot continue.
pub(crate) fn begin(restart: bool, path: &Path, plan: &[Planned]) -> Outcome<RunFile> {
    if restart || !path.exists() {
        return Ok(new_run(plan.len()));
    }
    let mut run = RunFile::load(path).map_err(|e| Failure::Refused(e.to_string()))?;
    let fresh = new_run(plan.len());
    let found = &run.environment;
    let other_machine = (&fresh.environment.cpu_model, fresh.environment.memory_bytes)
        != (&found.cpu_model, found.memory_bytes);
    let planned: HashSet<_> = plan.iter().map(|planned| planned.cell.identity()).collect();
    let foreign = run.cells.iter().find(|done| !planned.contains(&done.cell.identity()));
    let why = match foreign.map(|done| &done.cell) {
        _ if other_machine => "it is of another machine".to_string(),
        _ if run.build != fresh.build => "it is of another build of Assay".to_string(),
        Some(done) => foreign_because(done, plan),
        None => {
            run.planned_cells = plan.len();
            // Cells that failed are tried again.
            run.cells.retain(|done| !done.status.is_failure());
            return Ok(run);
        }
    };
    Err(Failure::Refused(format!(
        "{}: cannot go on with this run: {why}; begin anew with --restart or name another file \
         with --output",
        path.display()
    )))
}

/// Returns why a cell of a run is not in the plan.
fn foreign_because(done: &Cell, plan: &[Planned]) -> String {
    let anywhere = done.identity_anywhere();
    let moved = plan.iter().find(|planned| planned.cell.identity_anywhere() == anywhere);
    let shown = |cell: &Cell| match &cell.dir {
        Some(dir) => dir.display().to_string(),
        None => "memory".to_string(),
    };
    match moved {
        Some(Planned { cell, .. }) => format!(
            "a store of it was {} and would be {} now (go on from the same directory, with the \
             same --dir)",
            shown(done),
            shown(cell)
        ),
        None => format!(
            "its cell {} on {} with {} rows is not in this plan",
            done.engine, done.storage, done.rows
        ),
    }
}
