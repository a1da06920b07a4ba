//! The page of run files.

use std::path::{Path, PathBuf};

use assay_report::html::{self, Part};
use program_support::exit::{Failure, Outcome};
use program_support::whole_file;

use crate::files;
use crate::output::charts::{about, charts_of};

/// Writes the page of some run files.
pub(crate) fn write(runs: &[PathBuf], output: &Path) -> Outcome {
    let parts: Vec<_> = files::load_runs(runs)?
        .into_iter()
        .map(|(_, run)| {
            let run = run.printable();
            let charts = charts_of(&run);
            Part { run, charts, file: None }
        })
        .collect();
    let page = html::render(&parts, &[], &about).map_err(|e| Failure::Refused(e.to_string()))?;
    whole_file::write(output, page.as_bytes()).map_err(|e| {
        let shown = output.display();
        Failure::Refused(format!("{shown}: {e}; choose another file with --output"))
    })
}
