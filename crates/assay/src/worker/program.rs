//! The program itself, to be started again as another of its processes.

use std::os::unix::process::CommandExt;
use std::process::Command;

/// The file that this process runs from, even if another file has taken its name since.
const SELF: &str = "/proc/self/exe";

/// Returns the command that starts this program again.
pub(crate) fn again() -> Command {
    let mut program = Command::new(SELF);
    program.arg0("assay");
    program
}
