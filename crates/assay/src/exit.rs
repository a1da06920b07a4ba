//! How a command ends: the exit statuses that the README documents.

use std::process::ExitCode;

use crate::interrupt;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// Cells failed; each was named when it did. Status 1.
    Cells(String),
    /// The command line cannot be carried out as it stands. Status 2.
    Usage(String),
    /// A file, a directory or the machine does not allow it. Status 3.
    Refused(String),
    /// A comparison found what it was told to fail on. Status 4.
    Regression(String),
    /// A signal ended it. Status 128 and its number.
    Interrupted(String),
    /// Help or the version was printed: nothing more to say.
    Quiet(u8),
}

impl Failure {
    /// The line for standard error.
    pub fn line(&self) -> Option<&str> {
        match self {
            Self::Cells(line)
            | Self::Usage(line)
            | Self::Refused(line)
            | Self::Regression(line)
            | Self::Interrupted(line) => Some(line),
            Self::Quiet(_) => None,
        }
    }

    /// The status for the shell.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Cells(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Regression(_) => 4,
            Self::Interrupted(_) => interrupt::status(),
            Self::Quiet(code) => *code,
        })
    }
}
