//! The program `lode`; what it does is in the library of this package.

use std::process::ExitCode;

fn main() -> ExitCode {
    lode_cli::run()
}
