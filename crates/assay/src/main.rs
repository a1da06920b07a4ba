//! The program `assay`; its code is in the library of this crate.

use std::process::ExitCode;

fn main() -> ExitCode {
    assay_cli::run()
}
