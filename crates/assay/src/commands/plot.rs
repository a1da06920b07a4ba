//! `assay plot RUN`

use std::path::PathBuf;

use assay_report::plot;
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use crate::cli::PlotArgs;
use crate::files;
use crate::output::charts::{charts_of, name, publishes_bars, sheets_of};

/// Draws the published pictures (lines for the suites that publish lines, bars for the others), and
/// the curves of latencies.
pub(crate) fn plot(args: &PlotArgs) -> Outcome {
    let refused = |e: &dyn std::fmt::Display| Failure::Refused(e.to_string());
    let loaded = files::load_runs(&args.run)?;
    let first = loaded[0].0;
    let runs: Vec<_> = loaded.into_iter().map(|(_, run)| run.printable()).collect();
    let latencies = assay_report::latencies::charts(&runs);
    let mut charts = Vec::new();
    let mut barred = Vec::new();
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
