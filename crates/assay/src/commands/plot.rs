//! `assay plot RUN`

use assay_core::run_file::RunFile;
use std::path::PathBuf;

use crate::Outcome;
use crate::cli::PlotArgs;
use crate::exit::Failure;
use crate::output::print;

/// Draws the published pictures.
pub fn plot(args: &PlotArgs) -> Outcome {
    let refused = |e: &dyn std::fmt::Display| Failure::Refused(e.to_string());
    let mut runs = Vec::new();
    for path in &args.run {
        runs.push(RunFile::load(path).map_err(|e| refused(&e))?);
    }
    let first = &args.run[0];
    let folder = args
        .output
        .clone()
        .unwrap_or_else(|| first.parent().map(PathBuf::from).unwrap_or_default());
    let name = first.file_stem().unwrap_or_default().to_string_lossy();
    let pictures =
        assay_report::plot::draw(&runs, &folder, &name, args.log).map_err(|e| refused(&e))?;
    let list: Vec<_> = pictures.iter().map(|path| format!("{}\n", path.display())).collect();
    print(&list.concat())
}
