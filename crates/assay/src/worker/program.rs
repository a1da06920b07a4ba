//! This program, to be started again as another of its processes.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The file that this process runs from, also when another has taken its name since.
const SELF: &str = "/proc/self/exe";

/// This same program.
pub(crate) fn again() -> Command {
    let mut program = Command::new(SELF);
    program.arg0("assay");
    program
}
