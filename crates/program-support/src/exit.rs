//! The end of a command: the exit statuses that both programs document.

use std::process::ExitCode;

pub use crate::failure::{Failure, Outcome};
use crate::interrupt;
use crate::output::say;

impl Failure {
    /// Returns the status for the shell.
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

/// Ends a program: prints why its command failed, if it did, and returns the status.
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
