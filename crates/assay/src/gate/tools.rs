//! The tools that counting needs, and why they cannot be used.

use std::io::ErrorKind;
use std::process::Command;

use assay_core::counting;
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

/// Checks that the processor counts instructions for programs.
pub(crate) fn expect_hardware() -> Outcome {
    counting::expect_hardware().map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::PermissionDenied => "set /proc/sys/kernel/perf_event_paranoid to 2 or less",
            _ => "virtual machines often have no such counter",
        };
        let why = format!("this processor counts no instructions for programs ({error}): {hint}");
        Failure::Refused(format!("{why}; use --counter callgrind"))
    })
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
