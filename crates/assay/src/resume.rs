//! Runs that go on where they were interrupted.

use std::path::Path;

use assay_core::run_file::RunFile;

use crate::Outcome;
use crate::executor::new_run;
use crate::exit::Failure;
use crate::planning::Planned;

/// A new run, or the one at `path` if it has the same plan and nobody wants to begin anew.
pub fn begin(restart: bool, path: &Path, plan: &[Planned]) -> Outcome<RunFile> {
    if restart || !path.exists() {
        return Ok(new_run(plan.len()));
    }
    let mut run = RunFile::load(path).map_err(|e| Failure::Refused(e.to_string()))?;
    let (fresh, found) = (new_run(plan.len()), &run.environment);
    let other_machine = (&fresh.environment.cpu_model, fresh.environment.memory_bytes)
        != (&found.cpu_model, found.memory_bytes);
    let foreign =
        run.cells.iter().find(|done| !plan.iter().any(|planned| planned.cell == done.cell));
    let why = match foreign {
        _ if other_machine => "it is of another machine".to_string(),
        _ if run.build != fresh.build => "it is of another build of Assay".to_string(),
        Some(done) => format!(
            "its cell {} on {} with {} rows is not in this plan",
            done.cell.engine, done.cell.storage, done.cell.rows
        ),
        None => {
            run.planned_cells = plan.len();
            // What failed is tried again.
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
