//! `assay report`

use program_support::exit::Outcome;
use program_support::output::print;

use crate::cli::ReportArgs;
use crate::files;
use crate::output::page;

/// Makes one page of run files, and says where it is.
pub(crate) fn report(args: &ReportArgs) -> Outcome {
    files::check_other(&args.output, "--output")?;
    page::write(&args.run, &args.output)?;
    print(&format!("{}\n", args.output.display()))
}
