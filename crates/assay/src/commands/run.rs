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
use program_support::output::{print, print_styled, say};
use program_support::whole_file;

use crate::against::Against;
use crate::cli::{
    self, CrossbenchArgs, Format, LevelsArg, Look, NudbArgs, RunSuite, StorageArg, VerifyArgs,
};
use crate::commands::{plot, verify};
use crate::crash::VERDICTS_FILE;
use crate::executor::{Execution, examine, new_run};
use crate::files;
use crate::planning::{self, Setting};
use crate::progress::Display;
use crate::request::Request;
use crate::run_place::RunPlace;
use crate::sitting::Sitting;
use crate::start::Start;
use crate::store_dirs::StoreDirs;
use crate::until_ci::UntilCi;

/// Runs a suite.
pub(crate) fn run(suite: &RunSuite) -> Outcome {
    match suite {
        RunSuite::Crossbench(args) => crossbench(args),
        RunSuite::Nudb(args) => nudb(args),
        _ => plainly(&Request::of(suite)?)?.1,
    }
}

/// CrossBench, with options of its own for what is printed.
fn crossbench(args: &CrossbenchArgs) -> Outcome {
    if args.verify && args.against.against.is_some() {
        return Err(Failure::Usage(
            "--against is for what is measured, and -V measures nothing; leave one out".into(),
        ));
    }
    if args.verify {
        return verify::verify(&VerifyArgs {
            engine: args.common.engine.clone(),
            storage: args.storage.clone(),
            durability: args.common.durability.map(LevelsArg::from),
            dir: args.common.dir.clone(),
            seed: args.common.seed,
            timeout: args.common.timeout,
            long: false,
        });
    }
    if args.rows == Some(0) && args.header {
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

/// NuDB's bench, which may write a second file.
fn nudb(args: &NudbArgs) -> Outcome {
    if args.raw_out.is_some() && args.batch_size.is_none() {
        // clap does not look at what an option needs if something excludes that.
        return Err(Failure::Usage(
            "--raw_out is for batches; add --batch_size, or leave it out".into(),
        ));
    }
    if let Some(path) = &args.raw_out {
        files::check_other(path, "--raw_out")?;
        let output = args.measure.common.output.as_ref();
        let same = output.is_some_and(|output| files::is_same(output, path));
        if same {
            return Err(Failure::Usage("--raw_out and --output name the same file".into()));
        }
    }
    let (run, result) = plainly(&Request::nudb(args)?)?;
    if let Some(path) = &args.raw_out {
        let raw = nudb::published::raw(&run).expect("text can be written to memory");
        whole_file::write(path, raw.as_bytes()).map_err(|e| {
            let shown = path.display();
            Failure::Refused(format!("{shown}: {e}; choose another file with --raw_out"))
        })?;
    }
    result
}

/// Measures, and shows at the end what came out, or what the suite's project prints of it.
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

/// Measures, and returns the run, where its file is, and how it ended.
fn measure(
    request: &Request,
    each: &mut dyn FnMut(&CellResult) -> Outcome,
) -> Outcome<(RunFile, RunPlace, Outcome)> {
    let interrupt = Interrupt::noted();
    let mut setting = Setting::new(&request.common, request.key)?;
    if let Some(path) = &request.against {
        let against = Against::at(path)?;
        against.check_suite(request.workloads[0].suite)?;
        setting.take_turns(against)?;
    }
    let modes = StorageArg::modes(&request.storage);
    let wanted = &request.trials;
    let mut until_ci = UntilCi::wanted(wanted)?;
    if let Some(path) = &request.common.output {
        // Before anything is made.
        RunPlace::check(path)?;
    }
    let store_dirs = StoreDirs::prepare(&modes, request.common.dir.as_deref())?;
    let first = match &until_ci {
        Some(_) => UntilCi::first_trials(wanted),
        None => wanted.trials,
    };
    let mut plan = planning::plan(&setting, &request.workloads, &modes, first, &store_dirs)?;
    let mut run = new_run(plan.len());
    run.against = setting.against.as_ref().map(Against::described);
    let output = request.common.output.as_deref();
    let place = RunPlace::of(output, request.workloads[0].suite, run.created)?;
    let sync = examine(&mut run, &store_dirs, &plan);
    let (quiet, yes) = (request.quiet, request.common.yes);
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
            against: setting.against.as_ref(),
            interrupt: &interrupt,
            sitting: &Sitting::without_end(),
            path: place.path(),
            verdicts: Path::new(VERDICTS_FILE),
            display: &mut display,
            each,
        }
        .carry_out(plan, &mut run);
        let wide = match (&result, &mut until_ci) {
            (Ok(()), Some(until_ci)) => until_ci.look(&run, trials),
            _ => break result,
        };
        if wide.is_empty() {
            break result;
        }
        trials += 1;
        plan = planning::trial(&setting, &request.workloads, &modes, trials, &store_dirs);
        // Two builds go on until both are done.
        plan.retain(|planned| wide.iter().any(|cell| cell.same_but_trial_and_build(&planned.cell)));
        run.planned_cells += plan.len();
    };
    if let (Ok(()), Some(until_ci)) = (&result, &until_ci) {
        until_ci.shortfalls(&run).iter().for_each(|why| say(&format!("note: --until-ci: {why}")));
    }
    Ok((run, place, result))
}

/// Prints what the two builds of a run differ in, if it has two.
fn show_builds(run: &RunFile) -> Outcome {
    let Some(comparison) = compare::builds(run).filter(|found| !found.lines.is_empty()) else {
        return Ok(());
    };
    let text = compare::render(&comparison, cli::width());
    print(&text.expect("text can be written to memory"))
}

/// Prints our table, and where the run file is.
fn show_result(run: &RunFile, place: &RunPlace, look: &Look, quiet: bool) -> Outcome {
    if run.cells.is_empty() {
        return Ok(());
    }
    show_table(run, look)?;
    match !quiet && place.is_written() {
        true => say_where(place.path(), run),
        false => Ok(()),
    }
}

/// Prints the run of a file as the projects of its suites do.
pub(crate) fn print_published(run: &RunFile, path: &Path) -> Outcome {
    let name = plot::name(path);
    let mut suites: Vec<&str> = Vec::new();
    for result in run.results() {
        if !suites.contains(&result.cell.suite.as_str()) {
            suites.push(&result.cell.suite);
        }
    }
    for suite in suites.into_iter().filter_map(assay_suites::find) {
        print(&suite.published_text(run, &name).expect("text can be written to memory"))?;
    }
    say_notes(run);
    Ok(())
}

/// Says what published tables have no place for.
fn say_notes(run: &RunFile) {
    let mut notes: Vec<String> = Vec::new();
    for cell in run.results().map(|result| &result.cell) {
        let (wanted, level) = (cell.durability_wanted, cell.durability);
        let note = format!("note: {} runs at {level}, not at {wanted}", cell.engine);
        if level != wanted && !notes.contains(&note) {
            notes.push(note);
        }
    }
    for why in run.results().filter_map(|result| result.refuted.as_ref()) {
        let note = format!("note: {why}");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes.iter().for_each(|note| say(note));
}

/// Prints the default view.
pub(crate) fn show_table(run: &RunFile, look: &Look) -> Outcome {
    print_styled(&assay_report::table::render(run, look.view()))
}

/// The line that names a run file.
pub(crate) fn run_file_line(path: &Path) -> String {
    format!("\n run file: {} (assay show, report, plot, compare)\n", path.display())
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
