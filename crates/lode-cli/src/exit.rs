//! How a command ends: the exit statuses that `lode --help` documents.

use std::process::ExitCode;

/// Why a command did not end well.
#[derive(Debug)]
pub enum Failure {
    /// The database is damaged, or a line cannot be loaded. Status 1.
    Wrong(String),
    /// The command line cannot be carried out as it stands. Status 2.
    Usage(String),
    /// A file, a directory or the machine does not allow it. Status 3.
    Refused(String),
    /// A signal interrupted it. Status 128 and the signal's number.
    Interrupted {
        /// What to say.
        line: String,
        /// The status.
        status: u8,
    },
    /// Help or the version was printed: nothing more to say.
    Quiet,
}

impl Failure {
    /// The line for standard error.
    pub fn line(&self) -> Option<&str> {
        match self {
            Self::Wrong(line)
            | Self::Usage(line)
            | Self::Refused(line)
            | Self::Interrupted { line, .. } => Some(line),
            Self::Quiet => None,
        }
    }

    /// The same failure, with more to say.
    pub fn and(self, more: &str) -> Self {
        let longer = |line: String| format!("{line}; {more}");
        match self {
            Self::Wrong(line) => Self::Wrong(longer(line)),
            Self::Usage(line) => Self::Usage(longer(line)),
            Self::Refused(line) => Self::Refused(longer(line)),
            Self::Interrupted { line, status } => Self::Interrupted { line: longer(line), status },
            Self::Quiet => Self::Quiet,
        }
    }

    /// The status for the shell.
    pub fn code(&self) -> ExitCode {
        ExitCode::from(match self {
            Self::Wrong(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Interrupted { status, .. } => *status,
            Self::Quiet => 0,
        })
    }
}
