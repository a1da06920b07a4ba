//! `assay show RUN`

use assay_core::run_file::RunFile;
use assay_suites::crossbench::published::{self, Show};

use crate::Outcome;
use crate::cli::{Format, ShowArgs};
use crate::commands::run::show_table;
use crate::exit::Failure;
use crate::output::print;

/// Shows a run file again.
pub fn show(args: &ShowArgs) -> Outcome {
    let run = RunFile::load(&args.run).map_err(|e| Failure::Refused(e.to_string()))?;
    match args.format {
        Format::Table => show_table(&run, false),
        Format::Crossbench => run.results().try_for_each(|result| {
            let text = published::text(result, false, Show::default());
            print(&text.expect("text can be written to memory"))
        }),
    }
}
