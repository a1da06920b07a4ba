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
use crate::estimate::{Estimate, Forecast, operations, rough};
use crate::executor::new_run;
use crate::files;
use crate::plan_file::PlanFile;
use crate::planning::{self, Planned, Setting};
use crate::request::Request;
use crate::resume::Resumable;
use crate::store_dirs::StoreDirs;

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
        start: None,
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
    let mut whole = Forecast::default();
    for (number, (request, cells)) in (1..).zip(requests.iter().zip(sections)) {
        let measured = || {
            let cells = cells.iter().map(|planned| &planned.cell);
            cells.filter(|cell| !cell.calibration)
        };
        let engines: HashSet<_> = measured().map(|cell| cell.engine.as_str()).collect();
        let forecast = estimate.forecast(measured(), None);
        whole.time += forecast.time;
        whole.guessed += forecast.guessed;
        let operations: u64 = measured().filter_map(operations).sum();
        table.add_row([
            number.to_string(),
            request.workloads[0].suite.to_string(),
            engines.len().to_string(),
            request.trials.trials.to_string(),
            cells.len().to_string(),
            assay_report::format::quantity(operations as f64),
            rough(forecast.time),
        ]);
    }
    for column in table.column_iter_mut().skip(2) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let lines: Vec<_> = table.to_string().lines().map(|l| l.trim_end().to_string()).collect();
    format!("{}\n\n in all {}\n", lines.join("\n"), whole.text())
}

fn show(run: &RunFile, args: &SuiteArgs, path: &Path) -> Outcome {
    show_table(run, &args.look)?;
    match args.quiet {
        true => Ok(()),
        false => print(&format!("\n run file: {}\n", path.display())),
    }
}
