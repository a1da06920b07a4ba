//! `assay plot RUN`

use std::path::{Path, PathBuf};

use assay_core::chart::{LineChart, Sheet};
use assay_core::run_file::RunFile;
use assay_report::plot;
use assay_suites::AnySuite;
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use crate::cli::PlotArgs;
use crate::files;

/// Draws the published pictures (lines for the suites that publish lines, bars for the others), and
/// the curves of latencies.
pub(crate) fn plot(args: &PlotArgs) -> Outcome {
    let refused = |e: &dyn std::fmt::Display| Failure::Refused(e.to_string());
    let loaded = files::load_runs(&args.run)?;
    let first = loaded[0].0;
    let runs: Vec<_> = loaded.into_iter().map(|(_, run)| run.printable()).collect();
    let latencies = assay_report::latencies::charts(&runs);
    let (mut charts, mut barred) = (Vec::new(), Vec::new());
    for run in &runs {
        match charts_of(run) {
            of_run if of_run.is_empty() => barred.push(run.clone()),
            of_run => charts.extend(of_run),
        }
    }
    charts.extend(latencies);
    let sheets: Vec<_> = runs.iter().flat_map(sheets_of).collect();
    let folder = args
        .output
        .clone()
        .unwrap_or_else(|| first.parent().map(PathBuf::from).unwrap_or_default());
    if let Some(folder) = &args.output {
        files::make_directory(folder, "--output")?;
    }
    let name = name(first);
    let place = plot::Place { folder: &folder, name: &name, is_logarithmic: args.log };
    let mut pictures = Vec::new();
    if !charts.is_empty() {
        let drawn = plot::draw_lines(&runs, &charts, &sheets, &place);
        pictures.extend(drawn.map_err(|e| refused(&e))?);
    }
    if !barred.is_empty() {
        let drawn = plot::draw(&barred, &place, &publishes_bars);
        pictures.extend(drawn.map_err(|e| refused(&e))?);
    }
    let list: Vec<_> = pictures.iter().map(|path| format!("{}\n", path.display())).collect();
    print(&list.concat())
}

fn is_known(suite: &str) -> bool {
    assay_suites::find(suite).is_some()
}

/// Returns what a suite does, in a few words, if this Assay knows it.
pub(crate) fn about(suite: &str) -> Option<&'static str> {
    assay_suites::find(suite).map(AnySuite::about)
}

/// What the names of a run file's pictures begin with.
pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    plain.strip_suffix(".json").unwrap_or(plain).to_string()
}

/// The suites in a run that this Assay knows.
fn suites_of(run: &RunFile) -> Vec<&'static dyn AnySuite> {
    let mut names: Vec<&str> = Vec::new();
    for result in run.results() {
        if !names.contains(&result.cell.suite.as_str()) && is_known(&result.cell.suite) {
            names.push(&result.cell.suite);
        }
    }
    names.into_iter().filter_map(assay_suites::find).collect()
}

/// The line charts of the suites in a run.
pub(crate) fn charts_of(run: &RunFile) -> Vec<LineChart> {
    charts_by_suite(run).into_iter().map(|(_, chart)| chart).collect()
}

/// The same, each with its suite.
pub(crate) fn charts_by_suite(run: &RunFile) -> Vec<(String, LineChart)> {
    let of = |suite: &'static dyn AnySuite| {
        suite.line_charts(run).into_iter().map(|chart| (suite.id().to_string(), chart))
    };
    suites_of(run).into_iter().flat_map(of).collect()
}

/// The pictures over all engines of the suites in a run.
fn sheets_of(run: &RunFile) -> Vec<Sheet> {
    suites_of(run).into_iter().filter_map(|suite| suite.sheet(run)).collect()
}

fn publishes_bars(suite: &str) -> bool {
    assay_suites::find(suite).is_some_and(AnySuite::publishes_bars)
}
