//! `assay run SUITE`

use std::path::Path;
use std::time::Duration;

use assay_core::run_file::{CellResult, RunFile};
use assay_driver::Storage;
use assay_report::compare;
use assay_suites::crossbench::published::{self, Show};
use assay_suites::nudb;
use program_support::exit::{Failure, Outcome};
use program_support::interrupt::Interrupt;
use program_support::output::{print, say};
use program_support::whole_file;

use crate::cli::{self, CrossbenchArgs, Format, Look, NudbArgs, RunSuite, StorageArg};
use crate::crash::VERDICTS_FILE;
use crate::files;
use crate::output::progress::Display;
use crate::output::results::{print_published, run_file_line, say_notes, show_table};
use crate::planning::baseline::Baseline;
use crate::planning::request::Request;
use crate::planning::store_dirs::StoreDirs;
use crate::planning::{self, Setting};
use crate::running::executor::{Execution, examine, new_run};
use crate::running::run_place::RunPlace;
use crate::running::start::Start;
use crate::running::stopping_rule::StoppingRule;
use crate::running::time_budget::TimeBudget;

/// Runs a suite.
pub(crate) fn run(suite: &RunSuite) -> Outcome {
    match suite {
        RunSuite::Crossbench(args) => crossbench(args),
        RunSuite::Nudb(args) => nudb(args),
        _ => plainly(&Request::of(suite)?)?.1,
    }
}

/// Runs CrossBench, which has options for its printed output.
fn crossbench(args: &CrossbenchArgs) -> Outcome {
    if args.options.rows == Some(0) && args.header {
        return print(&(published::header() + "\n"));
    }
    let show = Show { quiet: args.quiet, header_off: args.header };
    // Only the published text has the header that -H is about.
    let format = if args.header { Format::Published } else { args.common.format };
    // CrossBench prints as it goes.
    let mut each = |result: &CellResult| match format {
        Format::Published if !result.cell.calibration => {
            print(&published::text(result, show).expect("text can be written to memory"))
        }
        _ => Ok(()),
    };
    let (run, place, result) = measure(&Request::crossbench(args)?, &mut each)?;
    let run = run.printable();
    match format {
        Format::Table => show_result(&run, &place, &args.common.look, args.quiet)?,
        Format::Published => say_notes(&run),
    }
    show_builds(&run)?;
    result
}

/// Runs NuDB's bench, which may write a second file.
fn nudb(args: &NudbArgs) -> Outcome {
    if let Some(path) = &args.raw_out {
        files::check_other(path, "--raw-out")?;
        let output = args.measure.common.output.as_ref();
        let same = output.is_some_and(|output| files::is_same(output, path));
        if same {
            return Err(Failure::Usage("--raw-out and --output name the same file".into()));
        }
    }
    let (run, result) = plainly(&Request::nudb(args)?)?;
    if let Some(path) = &args.raw_out {
        let raw = nudb::published::raw(&run).expect("text can be written to memory");
        whole_file::write(path, raw.as_bytes()).map_err(|e| {
            let shown = path.display();
            Failure::Refused(format!("{shown}: {e}; choose another file with --raw-out"))
        })?;
    }
    result
}

/// Measures the cells, then shows the results as a table or as the suite's project prints them.
fn plainly(request: &Request) -> Outcome<(RunFile, Outcome)> {
    let (run, place, result) = measure(request, &mut |_| Ok(()))?;
    let run = run.printable();
    match request.common.format {
        Format::Table => show_result(&run, &place, &request.common.look, request.quiet)?,
        Format::Published => print_published(&run, place.path())?,
    }
    show_builds(&run)?;
    Ok((run, result))
}

/// Measures the cells, and returns the run, the place of its file, and how it ended.
fn measure(
    request: &Request,
    each: &mut dyn FnMut(&CellResult) -> Outcome,
) -> Outcome<(RunFile, RunPlace, Outcome)> {
    let interrupt = Interrupt::noted();
    let mut setting = Setting::new(&request.common, request.key)?;
    if let Some(path) = &request.baseline {
        let baseline = Baseline::at(path)?;
        baseline.check_suite(request.workloads[0].suite)?;
        setting.take_turns(baseline)?;
    }
    let modes = StorageArg::modes(&request.storage);
    let wanted = &request.trials;
    let mut stopping_rule = StoppingRule::wanted(wanted)?;
    if let Some(path) = &request.common.output {
        // Checked before anything is made.
        RunPlace::check(path)?;
    }
    let store_dirs = StoreDirs::prepare(&modes, request.common.dir.as_deref())?;
    let first = match &stopping_rule {
        Some(_) => StoppingRule::first_trials(wanted),
        None => wanted.trials,
    };
    let mut plan = planning::plan(&setting, &request.workloads, &modes, first, &store_dirs)?;
    let mut run = new_run(plan.len());
    run.baseline = setting.baseline.as_ref().map(Baseline::described);
    let output = request.common.output.as_deref();
    let place = RunPlace::of(output, request.workloads[0].suite, run.created)?;
    let sync = examine(&mut run, &store_dirs, &plan);
    let quiet = request.quiet;
    let yes = request.common.yes;
    let start = Start { quiet, yes, shorter: request.shorter, interrupt: &interrupt };
    start.announce(&plan, &run, sync)?;
    let mut trials = first;
    let result = loop {
        let mut display = Display::new(plan.len(), request.quiet);
        if trials == first {
            store_dirs.warnings.iter().for_each(|warning| display.say(&format!("note: {warning}")));
        }
        let result = Execution {
            timeout: request.common.timeout.map(Duration::from_secs),
            baseline: setting.baseline.as_ref(),
            interrupt: &interrupt,
            time_budget: &TimeBudget::without_end(),
            path: place.path(),
            verdicts: Path::new(VERDICTS_FILE),
            display: &mut display,
            each,
        }
        .carry_out(plan, &mut run);
        let wide = match (&result, &mut stopping_rule) {
            (Ok(()), Some(stopping_rule)) => stopping_rule.look(&run, trials),
            _ => break result,
        };
        if wide.is_empty() {
            break result;
        }
        trials += 1;
        plan = planning::trial(&setting, &request.workloads, &modes, trials, &store_dirs);
        // Two builds are measured until both are done.
        plan.retain(|planned| wide.iter().any(|cell| cell.same_but_trial_and_build(&planned.cell)));
        run.planned_cells += plan.len();
    };
    if let (Ok(()), Some(stopping_rule)) = (&result, &stopping_rule) {
        stopping_rule
            .shortfalls(&run)
            .iter()
            .for_each(|why| say(&format!("note: --until-ci: {why}")));
    }
    Ok((run, place, result))
}

/// Prints the differences between the two builds of a run, if it has two.
fn show_builds(run: &RunFile) -> Outcome {
    let Some(comparison) = compare::builds(run).filter(|found| !found.lines.is_empty()) else {
        return Ok(());
    };
    let text = compare::render(&comparison, cli::width());
    print(&text.expect("text can be written to memory"))
}

/// Prints our table, and the path of the run file.
fn show_result(run: &RunFile, place: &RunPlace, look: &Look, quiet: bool) -> Outcome {
    if run.cells.is_empty() {
        return Ok(());
    }
    show_table(run, look)?;
    if !quiet && place.is_written() { say_where(place.path(), run) } else { Ok(()) }
}

fn say_where(path: &Path, run: &RunFile) -> Outcome {
    let mut kept: Vec<_> = run
        .results()
        .filter(|result| result.cell.storage != Storage::Memory)
        .filter_map(|result| result.cell.dir.as_ref())
        .filter(|dir| dir.exists())
        .map(|dir| dir.display().to_string())
        .collect();
    kept.sort_unstable();
    kept.dedup();
    let mut text = run_file_line(path);
    if !kept.is_empty() {
        text += &format!(" stores left for a next run: {}\n", kept.join(", "));
    }
    print(&text)
}
