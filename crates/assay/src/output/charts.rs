//! The descriptions of suites, and the charts that their projects publish.

use std::path::Path;

use assay_core::chart::{LineChart, Sheet};
use assay_core::run_file::RunFile;
use assay_suites::AnySuite;

fn is_known(suite: &str) -> bool {
    assay_suites::find(suite).is_some()
}

/// Returns what a suite does, in a few words, if this Assay knows it.
pub(crate) fn about(suite: &str) -> Option<&'static str> {
    assay_suites::find(suite).map(AnySuite::about)
}

/// Returns the start of the names of a run file's pictures.
pub(crate) fn name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let plain = name.strip_suffix(".gz").unwrap_or(&name);
    plain.strip_suffix(".json").unwrap_or(plain).to_string()
}

/// Returns the suites in a run that this Assay knows.
fn suites_of(run: &RunFile) -> Vec<&'static dyn AnySuite> {
    let mut names: Vec<&str> = Vec::new();
    for result in run.results() {
        if !names.contains(&result.cell.suite.as_str()) && is_known(&result.cell.suite) {
            names.push(&result.cell.suite);
        }
    }
    names.into_iter().filter_map(assay_suites::find).collect()
}

/// Returns the line charts of the suites in a run.
pub(crate) fn charts_of(run: &RunFile) -> Vec<LineChart> {
    charts_by_suite(run).into_iter().map(|(_, chart)| chart).collect()
}

/// Returns the line charts of the suites in a run, each with its suite.
pub(crate) fn charts_by_suite(run: &RunFile) -> Vec<(String, LineChart)> {
    let of = |suite: &'static dyn AnySuite| {
        suite.line_charts(run).into_iter().map(|chart| (suite.id().to_string(), chart))
    };
    suites_of(run).into_iter().flat_map(of).collect()
}

/// Returns the pictures over all engines of the suites in a run.
pub(crate) fn sheets_of(run: &RunFile) -> Vec<Sheet> {
    suites_of(run).into_iter().filter_map(|suite| suite.sheet(run)).collect()
}

/// Returns true if a suite's project publishes bars.
pub(crate) fn publishes_bars(suite: &str) -> bool {
    assay_suites::find(suite).is_some_and(AnySuite::publishes_bars)
}
