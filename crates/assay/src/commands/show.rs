//! `assay show RUN`

use assay_core::run_file::RunFile;

use crate::Outcome;
use crate::cli::{Format, ShowArgs};
use crate::commands::run::{print_published, show_table};
use crate::exit::Failure;

/// Shows a run file again.
pub fn show(args: &ShowArgs) -> Outcome {
    let run = RunFile::load(&args.run).map_err(|e| Failure::Refused(e.to_string()))?;
    match args.format {
        Format::Table => show_table(&run, false),
        Format::Published => print_published(&run),
    }
}
