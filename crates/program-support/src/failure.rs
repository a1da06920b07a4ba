//! Why a command did not end well.

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
}
