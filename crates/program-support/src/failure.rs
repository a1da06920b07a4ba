//! The reasons why a command did not end well.

/// The result of a command.
pub type Outcome<T = ()> = Result<T, Failure>;

/// A reason why a command did not end well, with the line that states it.
#[derive(Debug)]
pub enum Failure {
    /// The command's subject is wrong: a cell failed, a database is damaged, a line cannot be
    /// loaded. Status 1.
    Wrong(String),
    /// The command line cannot be carried out as it stands. Status 2.
    Usage(String),
    /// A file, a directory or the machine does not allow it. Status 3.
    Refused(String),
    /// A comparison found a difference on which it was told to fail. Status 4.
    Regression(String),
    /// A signal ended the command. Status 128 and the signal's number.
    Interrupted(String),
    /// Help or the version was printed: the program prints nothing more. Status 0.
    Quiet,
}

impl Failure {
    /// Returns the line for standard error.
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

    /// Adds text to the failure's line.
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
}
