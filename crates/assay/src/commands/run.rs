//! `assay run SUITE`

use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::driver::Storage;
use assay_core::run_file::{CellResult, RunFile};
use assay_suites::crossbench::published::{self, Show};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::Outcome;
use crate::cli::{Common, CrossbenchArgs, Format, LevelsArg, StorageArg, VerifyArgs};
use crate::commands::verify;
use crate::executor::{Execution, new_run};
use crate::exit::Failure;
use crate::interrupt::Interrupt;
use crate::output::print;
use crate::places::Places;
use crate::planning;
use crate::progress::Display;

/// Runs CrossBench as the command line asks.
pub fn crossbench(args: &CrossbenchArgs) -> Outcome {
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
    let interrupt = Interrupt::watch()?;
    let places = Places::prepare(&StorageArg::modes(&args.storage), args.common.dir.as_deref())?;
    let plan = planning::crossbench(args, &places)?;
    let mut run = new_run(plan.len());
    let path = run_path(&args.common, "crossbench", &run)?;
    let mut display = Display::new(plan.len(), args.quiet);
    places.warnings.iter().for_each(|warning| display.say(&format!("note: {warning}")));
    let show = Show { quiet: args.quiet, header_off: args.header };
    let key_chosen = args.key.kind().is_some();
    let mut each = |result: &CellResult| match args.common.format {
        Format::Crossbench if !result.cell.calibration => {
            print(&published_text(result, key_chosen, show))
        }
        _ => Ok(()),
    };
    let result = Execution {
        timeout: args.common.timeout.map(Duration::from_secs),
        interrupt: &interrupt,
        path: &path,
        display: &mut display,
        each: &mut each,
    }
    .carry_out(plan, &mut run);
    if args.common.format == Format::Table && !run.cells.is_empty() {
        show_table(&run, args.quiet)?;
        if !args.quiet && path.exists() {
            say_where(&path, &run)?;
        }
    }
    result
}

fn published_text(result: &CellResult, key_chosen: bool, show: Show) -> String {
    published::text(result, key_chosen, show).expect("text can be written to memory")
}

/// Prints the default view.
pub fn show_table(run: &RunFile, brief: bool) -> Outcome {
    print(&assay_report::table::render(run, brief).expect("text can be written to memory"))
}

fn say_where(path: &Path, run: &RunFile) -> Outcome {
    let kept: Vec<_> = run
        .results()
        .filter(|result| result.cell.storage != Storage::Memory)
        .filter_map(|result| result.cell.dir.as_ref())
        .filter(|dir| dir.exists())
        .map(|dir| dir.display().to_string())
        .collect();
    let mut text =
        format!("\n run file: {p} (assay show {p}; assay plot {p})\n", p = path.display());
    if !kept.is_empty() {
        text += &format!(" stores left for -r: {}\n", kept.join(", "));
    }
    print(&text)
}

/// Where the run file goes; its directory must be writable before anything is measured.
fn run_path(common: &Common, suite: &str, run: &RunFile) -> Outcome<PathBuf> {
    let path = common.output.clone().unwrap_or_else(|| {
        let time = run.created.to_zoned(TimeZone::UTC).strftime("%Y%m%dT%H%M%SZ").to_string();
        PathBuf::from("assay-runs").join(format!("{suite}-{time}.json"))
    });
    check_writable(&path)?;
    Ok(path)
}

/// Whether a run file can be written here.
pub fn check_writable(path: &Path) -> Outcome {
    let refused = |e: &dyn std::fmt::Display| {
        Failure::Refused(format!("{}: {e}; choose another file with --output", path.display()))
    };
    if path.is_dir() {
        return Err(refused(&"is a directory"));
    }
    let folder = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    std::fs::create_dir_all(folder).map_err(|e| refused(&e))?;
    let probe = folder.join(format!(
        ".assay-probe-{}-{}",
        std::process::id(),
        Timestamp::now().as_nanosecond()
    ));
    std::fs::File::create(&probe)
        .and_then(|_| std::fs::remove_file(&probe))
        .map_err(|e| refused(&e))
}
