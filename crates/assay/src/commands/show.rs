//! `assay show RUN`

use assay_core::run_file::RunFile;
use assay_report::{markdown, rows};
use program_support::exit::{Failure, Outcome};
use program_support::output::print;

use crate::cli::{ShowArgs, ShowFormat};
use crate::output::results::{print_published, show_table};

/// Shows a run file again.
pub(crate) fn show(args: &ShowArgs) -> Outcome {
    let run = RunFile::load(&args.run).map_err(|e| Failure::Refused(e.to_string()))?.printable();
    match args.format {
        ShowFormat::Table => show_table(&run, &args.look),
        ShowFormat::Published => print_published(&run, &args.run),
        ShowFormat::Markdown => print(&markdown::markdown(&run)),
        ShowFormat::Csv => print(&rows::csv(&run).expect("text can be written to memory")),
    }
}
