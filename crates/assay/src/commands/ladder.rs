//! `assay ladder SUITE`: the published scripts as one command.

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::run_file::{CellResult, RunFile, Status};
use assay_driver::Driver;
use assay_suites::crossbench::ladder::{LOOPS, ROWS, SECTIONS, Script};
use assay_suites::crossbench::published::{self, Show};
use assay_suites::crossbench::{CrossBench, Fill, Options};
use assay_suites::options::MostRepeats;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::print;

use crate::cli::{Format, LadderArgs, StorageArg};
use crate::crash::VERDICTS_FILE;
use crate::files;
use crate::output::results::{run_file_line, show_table};
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{Planned, Setting, Workload, calibration, planned};
use crate::running::resume::Resumable;
use crate::running::start::Start;
use crate::running::time_budget::TimeBudget;

/// Runs the published ladder of CrossBench.
pub(crate) fn crossbench(args: &LadderArgs) -> Outcome {
    let interrupt = Interrupt::noted();
    let setting = Setting::new(&args.common, None)?;
    let modes = StorageArg::modes(&args.storage);
    if args.max_rows < ROWS[0] {
        return Err(Failure::Usage(format!(
            "--max-rows {} leaves no size: the smallest of the ladder has {} rows",
            args.max_rows, ROWS[0]
        )));
    }
    let path = args.common.output.clone().unwrap_or_else(|| default_path(args));
    match args.common.output {
        Some(_) => files::check_writable(&path, "--output")?,
        None => files::check_default(&path)?,
    }
    let store_dirs = StoreDirs::prepare(&modes, args.common.dir.as_deref())?;
    let plan = plan(args, &setting, &store_dirs);
    if plan.iter().all(|planned| planned.cell.calibration || planned.refusal.is_some()) {
        return Err(Failure::Usage("no engine here can do that; see assay list".into()));
    }
    let (run, result) = Resumable {
        path: &path,
        command: None,
        restart: args.restart,
        timeout: args.common.timeout.map(Duration::from_secs),
        quiet: false,
        store_dirs: &store_dirs,
        interrupt: &interrupt,
        time_budget: &TimeBudget::without_end(),
        verdicts: Path::new(VERDICTS_FILE),
        start: Some(Start {
            quiet: false,
            yes: args.common.yes,
            shorter: "--max-rows 1m",
            interrupt: &interrupt,
        }),
    }
    .carry_out(plan)?;
    let run = run.printable();
    match args.common.format {
        Format::Published => sections(&run)?,
        Format::Table => {
            sections(&run)?;
            show_table(&run, &args.common.look)?;
        }
    }
    if files::is_written(&path) {
        print(&run_file_line(&path))?;
    }
    result
}

/// Returns the ladder's cells: sizes from small to large, for early results; in each, storage modes
/// in the published order; in each, loops, in which the engines take turns.
fn plan(args: &LadderArgs, setting: &Setting, store_dirs: &StoreDirs) -> Vec<Planned> {
    let modes = StorageArg::modes(&args.storage);
    let mut plan = Vec::new();
    for rows in ROWS.into_iter().filter(|&rows| rows <= args.max_rows) {
        let options = |driver: &dyn Driver, storage| {
            let counts = Script::of(driver.profile()).counts(storage, rows);
            Options {
                query: counts.query,
                update: counts.update,
                delete: rows,
                keys: args.keys,
                repeats: MostRepeats { repeats: 0 },
                ..Options::default().filled_by(Fill::Insert, rows)
            }
        };
        let first = options(setting.engines[0].as_ref(), SECTIONS[0].0);
        plan.extend(calibration(setting, &Workload::of::<CrossBench>(rows, &first), store_dirs));
        for (storage, _) in SECTIONS.into_iter().filter(|(s, _)| modes.contains(s)) {
            for trial in 1..=LOOPS {
                for driver in &setting.engines {
                    let workload =
                        Workload::of::<CrossBench>(rows, &options(driver.as_ref(), storage));
                    let planned =
                        planned(driver.as_ref(), setting, &workload, (storage, trial), store_dirs);
                    if planned.refusal.is_none() || (setting.named && trial == 1) {
                        plan.push(planned);
                    }
                }
            }
        }
    }
    plan
}

/// Returns the ladder's default path: a fixed name, by which a later command finds it.
fn default_path(args: &LadderArgs) -> PathBuf {
    let engines = if args.common.engine.is_empty() {
        "all".to_string()
    } else {
        args.common.engine.join("-")
    };
    PathBuf::from(files::RUNS_FOLDER).join(format!("ladder-crossbench-{engines}.json"))
}

/// Prints the published output of the scripts.
fn sections(run: &RunFile) -> Outcome {
    let show = Show { quiet: true, header_off: true };
    for (storage, title) in SECTIONS {
        let of_section: Vec<&CellResult> = run
            .results()
            .filter(|r| r.cell.storage == storage && r.status == Status::Measured)
            .collect();
        if of_section.is_empty() {
            continue;
        }
        print(&format!("{title}\n{}\n", published::header()))?;
        let mut engines = Vec::new();
        for result in &of_section {
            if !engines.contains(&&result.cell.engine) {
                engines.push(&result.cell.engine);
            }
        }
        for engine in engines {
            for result in of_section.iter().filter(|result| result.cell.engine == *engine) {
                let row = published::text(result, show);
                print(&row.expect("text can be written to memory"))?;
            }
        }
    }
    Ok(())
}
