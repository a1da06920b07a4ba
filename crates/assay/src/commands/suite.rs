//! `assay suite`

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use assay_core::run_file::RunFile;
use comfy_table::{CellAlignment, Table, presets};
use program_support::exit::Outcome;
use program_support::interrupt::Interrupt;
use program_support::output::print;
use program_support::whole_file;

use crate::cli::{StorageArg, SuiteArgs};
use crate::commands::run::show_table;
use crate::estimate::{Estimate, operations, rough};
use crate::executor::new_run;
use crate::files;
use crate::plan_file::PlanFile;
use crate::planning::{self, Planned, Setting};
use crate::request::Request;
use crate::resume::Resumable;
use crate::store_dirs::StoreDirs;

/// What a cell is taken to need of which nothing is known: an operation on a synchronising engine.
const GUESS_PER_OPERATION: Duration = Duration::from_micros(50);

/// Runs a plan.
pub(crate) fn suite(args: &SuiteArgs) -> Outcome {
    let file = PlanFile::read(&args.config)?;
    let requests = file.runs.iter().map(Request::of).collect::<Outcome<Vec<_>>>()?;
    let interrupt = Interrupt::noted();
    let mut modes = Vec::new();
    for mode in requests.iter().flat_map(|request| StorageArg::modes(&request.storage)) {
        if !modes.contains(&mode) {
            modes.push(mode);
        }
    }
    let named = args.output.clone().or(file.output);
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
    let store_dirs = match args.dry_run {
        true => StoreDirs::look(&modes, file.dir.as_deref())?,
        false => StoreDirs::prepare(&modes, file.dir.as_deref())?,
    };
    let sections = plan(&requests, &store_dirs)?;
    let estimate = Estimate::of_earlier_runs(whole_file::folder_of(&path), &new_run(0));
    print(&overview(&requests, &sections, &estimate))?;
    if args.dry_run {
        return Ok(());
    }
    let plan: Vec<Planned> = sections.into_iter().flatten().collect();
    let (run, result) = Resumable {
        path: &path,
        restart: args.restart,
        timeout: file.timeout_s.map(Duration::from_secs),
        quiet: args.quiet,
        store_dirs: &store_dirs,
        interrupt: &interrupt,
    }
    .carry_out(plan)?;
    show(&run.printable(), args, &path)?;
    result
}

/// The cells of each run; what two runs ask for is measured once.
fn plan(requests: &[Request], store_dirs: &StoreDirs) -> Outcome<Vec<Vec<Planned>>> {
    let mut sections: Vec<Vec<Planned>> = Vec::new();
    let mut known = HashSet::new();
    for request in requests {
        let setting = Setting::new(&request.common, request.key)?;
        let modes = StorageArg::modes(&request.storage);
        let mut cells = planning::plan(
            &setting,
            &request.workloads,
            &modes,
            request.trials.trials,
            store_dirs,
        )?;
        cells.retain(|planned| known.insert(planned.cell.identity()));
        sections.push(cells);
    }
    Ok(sections)
}

/// What is to be done, and about how long it takes.
fn overview(requests: &[Request], sections: &[Vec<Planned>], estimate: &Estimate) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(["run", "suite", "engines", "trials", "cells", "operations", "about"]);
    let (mut whole, mut guessed) = (Duration::ZERO, 0);
    for (number, (request, cells)) in (1..).zip(requests.iter().zip(sections)) {
        let mut engines: Vec<&str> = Vec::new();
        let (mut time, mut count) = (Duration::ZERO, 0);
        for cell in cells.iter().map(|planned| &planned.cell).filter(|cell| !cell.calibration) {
            if !engines.contains(&cell.engine.as_str()) {
                engines.push(&cell.engine);
            }
            let todo = operations(cell).unwrap_or_default();
            count += todo;
            time += estimate.of(cell).unwrap_or_else(|| {
                guessed += 1;
                GUESS_PER_OPERATION.mul_f64(todo as f64)
            });
        }
        whole += time;
        table.add_row([
            number.to_string(),
            request.workloads[0].suite.to_string(),
            engines.len().to_string(),
            request.trials.trials.to_string(),
            cells.len().to_string(),
            assay_report::format::quantity(count as f64),
            rough(time),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<_> = table.to_string().lines().map(|l| l.trim_end().to_string()).collect();
    let how = match guessed {
        0 => "from earlier runs here".to_string(),
        cells => format!(
            "{cells} cells are guessed at {} µs an operation: none like them was measured here",
            GUESS_PER_OPERATION.as_micros()
        ),
    };
    format!("{}\n\n about {} in all ({how})\n", lines.join("\n"), rough(whole))
}

fn show(run: &RunFile, args: &SuiteArgs, path: &Path) -> Outcome {
    show_table(run, args.quiet)?;
    match args.quiet {
        true => Ok(()),
        false => print(&format!("\n run file: {}\n", path.display())),
    }
}
