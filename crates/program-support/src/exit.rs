//! How a command ends: the exit statuses that both programs document.

use std::process::ExitCode;

use crate::interrupt;
use crate::output::say;

/// What commands return.
pub type Outcome<T = ()> = Result<T, Failure>;

/// Why a command did not end well, with the line that says so.
#[derive(Debug)]
pub enum Failure {
    /// What the command looked at is wrong: a cell failed, a database is damaged, a line cannot be
    /// loaded. Status 1.
    Wrong(String),
    /// The command line cannot be carried out as it stands. Status 2.
    Usage(String),
    /// A file, a directory or the machine does not allow it. Status 3.
    Refused(String),
    /// A comparison found what it was told to fail on. Status 4.
    Regression(String),
    /// A signal ended it. Status 128 and the signal's number.
    Interrupted(String),
    /// Help or the version was printed: nothing more to say. Status 0.
    Quiet,
}

impl Failure {
    /// The line for standard error.
    pub fn line(&self) -> Option<&str> {
        match self {
            Self::Wrong(line)
            | Self::Usage(line)
            | Self::Refused(line)
            | Self::Regression(line)
            | Self::Interrupted(line) => Some(line),
            Self::Quiet => None,
        }
    }

    /// The same failure, with more to say.
    #[must_use]
    pub fn and(mut self, more: &str) -> Self {
        match &mut self {
            Self::Wrong(line)
            | Self::Usage(line)
            | Self::Refused(line)
            | Self::Regression(line)
            | Self::Interrupted(line) => *line = format!("{line}; {more}"),
            Self::Quiet => {}
        }
        self
    }

    /// The status for the shell.
    pub fn status(&self) -> u8 {
        match self {
            Self::Wrong(_) => 1,
            Self::Usage(_) => 2,
            Self::Refused(_) => 3,
            Self::Regression(_) => 4,
            Self::Interrupted(_) => interrupt::status(),
            Self::Quiet => 0,
        }
    }
}

/// Ends a program: says why its command failed, if it did, and returns the status.
pub fn end(program: &str, outcome: &Outcome) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Wrong(_) | Failure::Refused(_)) if interrupt::ends_at_once() => {
            say(&format!("{program}: interrupted"));
            ExitCode::from(interrupt::status())
        }
        Err(failure) => {
            if let Some(line) = failure.line() {
                say(&format!("{program}: {line}"));
            }
            ExitCode::from(failure.status())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Failure;

    #[test]
    fn more_words_leave_the_status() {
        let longer = Failure::Refused("no room".into()).and("nothing was loaded");
        assert_eq!((longer.line(), longer.status()), (Some("no room; nothing was loaded"), 3));
        let quiet = Failure::Quiet.and("more");
        assert_eq!((quiet.line(), quiet.status()), (None, 0));
    }
}
