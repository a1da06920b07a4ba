//! The program `assay`; what it does is in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_cli::run()
}
