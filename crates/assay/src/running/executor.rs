//! Carries a plan out: one worker a cell. The run file is saved after each, and no stores are left.

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use assay_core::doctor::{self, Facts};
use assay_core::durability::{Level, Verdicts};
use assay_core::engine::WhichBuild;
use assay_core::environment::Environment;
use assay_core::plan::Cell;
use assay_core::run_file::{CellResult, Measurement, RunFile, Status};
use assay_core::store_dir::StoreDir;
use assay_driver::Storage;
use assay_suites::run::REOPENED;
use assay_suites::{Measured, StoreUse};
use jiff::Timestamp;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;

use crate::files;
use crate::output::progress::Display;
use crate::planning::Planned;
use crate::planning::baseline::Baseline;
use crate::planning::store_dirs::StoreDirs;
use crate::running::time_budget::TimeBudget;
use crate::worker::introduction::build;
use crate::worker::parent::{self, End, Order};
use crate::worker::patience::Patience;
use crate::worker::{Job, Message, Program};

/// Returns a run that starts now, with the command line that repeats it.
pub(crate) fn new_run(planned_cells: usize) -> RunFile {
    let mut command = vec!["assay".to_string()];
    command.extend(std::env::args_os().skip(1).map(|a| a.to_string_lossy().into_owned()));
    RunFile::new(command, build(), Environment::capture(), planned_cells)
}

/// Notes the effects of the machine's state on the figures of a run, once. Returns the time of a
/// sync in the directory for stores on disk, if there is one.
pub(crate) fn examine(
    run: &mut RunFile,
    store_dirs: &StoreDirs,
    plan: &[Planned],
) -> Option<Duration> {
    let data_bytes = |cell: &Cell| {
        let task = assay_suites::task(cell).ok()?;
        Some(cell.rows.saturating_mul(task.record_bytes()))
    };
    let largest = plan.iter().filter_map(|planned| data_bytes(&planned.cell)).max();
    let facts = Facts::capture(&store_dirs.bases(), largest);
    if run.findings.is_empty() {
        run.findings = doctor::findings(&facts);
    }
    let disk = facts.data_dirs.iter().find(|dir| dir.storage == Storage::Disk)?;
    disk.sync_latency_ns.map(Duration::from_nanos)
}

/// The means by which a run is carried out.
pub(crate) struct Execution<'e> {
    pub timeout: Option<Duration>,
    /// The other build, if one takes turns with this one.
    pub baseline: Option<&'e Baseline>,
    pub interrupt: &'e Interrupt,
    pub time_budget: &'e TimeBudget,
    pub path: &'e Path,
    /// The file of crash tests' verdicts, by which engines are marked.
    pub verdicts: &'e Path,
    pub display: &'e mut Display,
    /// A function that is called with each result as it comes.
    pub each: &'e mut dyn FnMut(&CellResult) -> Outcome,
}

impl Execution<'_> {
    /// Measures every planned cell that is not in `run` yet, until the time budget is spent.
    pub(crate) fn carry_out(mut self, plan: Vec<Planned>, run: &mut RunFile) -> Outcome {
        let done: HashSet<_> = run.cells.iter().map(|done| done.cell.identity()).collect();
        let todo: Vec<_> =
            plan.into_iter().filter(|planned| !done.contains(&planned.cell.identity())).collect();
        let verdicts = Verdicts::load(self.verdicts).unwrap_or_else(|why| {
            self.display.say(&format!("note: {why}; no engine is marked by it"));
            Verdicts::default()
        });
        for (at, planned) in todo.iter().enumerate() {
            let left: Vec<_> = todo[at + 1..]
                .iter()
                .filter(|planned| planned.refusal.is_none())
                .map(|planned| &planned.cell)
                .collect();
            let result = match &planned.refusal {
                Some(status) => refused(&planned.cell, status.clone()),
                None if !self.time_budget.begins(&planned.cell) => break,
                None => match self.measure(&planned.cell, &left) {
                    Err(Failure::Interrupted(_)) => return Err(interrupted(run, self.path)),
                    other => other?,
                },
            };
            let result = with_crash_tests(&verdicts, result);
            self.display.end(&result, &left);
            run.cells.push(result);
            files::make_default_folder(self.path)?;
            run.save(self.path)
                .map_err(|e| Failure::Refused(format!("{e}; choose another file with --output")))?;
            (self.each)(&run.cells[run.cells.len() - 1])?;
        }
        self.display.finish();
        failed_cells(run, self.path)
    }

    fn measure(&mut self, cell: &Cell, left: &[&Cell]) -> Outcome<CellResult> {
        self.display.begin(cell, left);
        let started = Timestamp::now();
        let start = Instant::now();
        // To its worker, the other build is its own.
        let engine = cell.engine.of(WhichBuild::This);
        let own = Box::new(Cell { engine, ..cell.clone() });
        let mut end = self.carry_out_job(cell, left, &Job::Measure(own.clone()));
        // A worker that was killed, as it had asked for, is followed by another one.
        let mut so_far: Option<Measurement> = None;
        let then = |so_far: Option<Measurement>, next: Measurement| match so_far {
            Some(so_far) => so_far.then(next),
            None => next,
        };
        while let End::Replied(Message::Farewell(measured, _)) = end {
            so_far = Some(then(so_far, measured.measurement));
            let resume = Job::Resume(own.clone(), measured.left.unwrap_or_default());
            end = self.carry_out_job(cell, left, &resume);
        }
        let (mut status, mut measurement, mut remains) = match end {
            End::Replied(Message::Measured(measured)) => {
                let Measured { status, measurement, left } = *measured;
                (status, then(so_far, measurement), left)
            }
            other => {
                let status = self.failed(cell, other)?;
                (status, so_far.unwrap_or_else(|| no_measurement(cell)), None)
            }
        };
        // Other processes than the one that measured examine the store that it closed.
        while let Some(remain) = remains.take() {
            let end = self.carry_out_job(cell, left, &Job::Look(own.clone(), remain));
            status = match end {
                End::Replied(Message::Looked(looked)) => {
                    measurement.reopened += looked.compared;
                    remains = looked.left;
                    looked.status
                }
                other => match self.failed(cell, other)? {
                    Status::Failed(why) => Status::Failed(format!("{REOPENED}: {why}")),
                    other => other,
                },
            };
        }
        if status != Status::Measured {
            remove_store(cell);
        }
        let whole_ns = u64::try_from(start.elapsed().as_nanos()).ok();
        let cell = cell.clone();
        let refuted = None;
        let held = None;
        Ok(CellResult { cell, started, whole_ns, status, refuted, held, measurement })
    }
}

impl Execution<'_> {
    /// Has a worker do a job of a cell.
    fn carry_out_job(&mut self, cell: &Cell, left: &[&Cell], job: &Job) -> End {
        let display = &mut *self.display;
        let other = self.baseline.filter(|_| cell.engine.is_of_other_build());
        parent::carry_out(
            Order { job, program: other.map_or(Program::This, Baseline::program) },
            Patience::with_cells(self.timeout),
            self.interrupt,
            &mut |at| display.advance(cell, left, at),
        )
    }

    /// Returns the status of a cell whose worker did not reply as it should.
    fn failed(&mut self, cell: &Cell, end: End) -> Outcome<Status> {
        Ok(match end {
            End::Replied(other) => {
                Status::Failed(format!("its worker sent {} instead of an answer", other.what()))
            }
            End::Failed(why) => Status::Failed(why),
            End::Killed(why) => Status::Killed(why),
            End::Interrupted => {
                remove_store(cell);
                self.display.finish();
                return Err(Failure::Interrupted(String::new()));
            }
        })
    }
}

fn refused(cell: &Cell, status: Status) -> CellResult {
    CellResult {
        cell: cell.clone(),
        started: Timestamp::now(),
        whole_ns: None,
        status,
        refuted: None,
        held: None,
        measurement: no_measurement(cell),
    }
}

fn no_measurement(cell: &Cell) -> Measurement {
    let driver = assay_drivers::find(&cell.engine.id);
    let profile = driver.as_ref().map(|driver| driver.profile());
    let version = driver.as_ref().and_then(|driver| driver.version().ok());
    Measurement {
        engine_name: profile.map_or(cell.engine.id.clone(), |profile| profile.name.into()),
        // The version of another build's engine is not known here.
        engine_version: version.filter(|_| !cell.engine.is_of_other_build()).unwrap_or_default(),
        ..Measurement::default()
    }
}

/// Returns a result with the findings of crash tests on the level of its cell, if there are any.
fn with_crash_tests(verdicts: &Verdicts, result: CellResult) -> CellResult {
    let cell = &result.cell;
    if cell.storage == Storage::Memory {
        return result;
    }
    let level = Level {
        engine: &cell.engine.id,
        engine_version: &result.measurement.engine_version,
        engine_options: &cell.engine_options,
        durability: cell.durability,
    };
    let refuted = verdicts.refutation(&level);
    let held = verdicts.holding(&level);
    CellResult { refuted, held, ..result }
}

/// Removes the store that a cell made. A store that existed before stays.
pub(crate) fn remove_store(cell: &Cell) {
    let ours = assay_suites::task(cell).is_ok_and(|task| task.store_use() == StoreUse::Makes);
    if let (true, Some(dir)) = (ours, &cell.dir) {
        // If the store cannot be removed, the next run replaces or names it.
        let _ = StoreDir::new(dir.clone()).remove();
    }
}

fn interrupted(run: &RunFile, path: &Path) -> Failure {
    Failure::Interrupted(if run.cells.is_empty() {
        "interrupted before anything was measured".into()
    } else {
        format!("interrupted; what was measured is in {}", path.display())
    })
}

fn failed_cells(run: &RunFile, path: &Path) -> Outcome {
    let failed: Vec<_> = run
        .cells
        .iter()
        .filter_map(|result| {
            let (Status::Failed(why) | Status::Wrong(why) | Status::Killed(why)) = &result.status
            else {
                return None;
            };
            Some(format!("{} on {}: {why}", result.cell.engine, result.cell.storage))
        })
        .collect();
    let measured = run.results().any(|result| result.status == Status::Measured);
    let why_not = run.results().find_map(|result| match &result.status {
        Status::Unsupported(why) | Status::Unavailable(why) => Some((&result.cell.engine, why)),
        _ => None,
    });
    match failed.as_slice() {
        [] if !measured && run.is_complete() => Err(Failure::Refused(match why_not {
            Some((engine, why)) => format!("nothing could be measured; {engine}: {why}"),
            None => "nothing could be measured".into(),
        })),
        [] => Ok(()),
        [only] => Err(Failure::Wrong(only.clone())),
        [first, others @ ..] => Err(Failure::Wrong(format!(
            "{} of {} cells failed, all in {}; the first: {first}",
            others.len() + 1,
            run.cells.len(),
            path.display()
        ))),
    }
}
