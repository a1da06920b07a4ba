//! The tools that counting needs, and why they cannot be used.

use std::process::Command;

use assay_core::run_file::Status;
use program_support::exit::{Failure, Outcome};

use crate::worker::callgrind::VALGRIND;

/// Returns valgrind's name and version.
pub(crate) fn valgrind() -> Outcome<String> {
    let refused = |why: &str| {
        Failure::Refused(format!(
            "{VALGRIND}, which counts instructions, {why}; install it (Debian, Ubuntu: apt-get \
             install valgrind)"
        ))
    };
    let output = Command::new(VALGRIND)
        .arg("--version")
        .output()
        .map_err(|e| refused(&format!("cannot be started: {e}")))?;
    if !output.status.success() {
        return Err(refused(&format!("ends with {}", output.status)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().into())
}

/// Returns why a cell cannot be counted.
pub(crate) fn reason(status: &Status) -> &str {
    match status {
        Status::Failed(why)
        | Status::Wrong(why)
        | Status::Killed(why)
        | Status::Unsupported(why)
        | Status::Unavailable(why) => why,
        Status::Measured => "",
    }
}
