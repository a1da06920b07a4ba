//! Errors of an engine, as drivers report them.
//!
//! A missing row and a duplicate key are outcomes, not errors (see [`crate::Outcome`]);
//! an [`Error`] means that the operation did not happen, or that the engine does not know.

use std::fmt;

/// The reason why an operation did not happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The engine has no such operation. Shown as `–`, never replaced by another operation.
    Unsupported,
    /// The disk or memory of the store is full.
    Full,
    /// A read came back wrong.
    WrongAnswer,
    /// The engine refused a transaction, or a part of it, because of other transactions. It is over
    /// once it was rolled back, and can be done again.
    Conflict,
    /// Another thread of the crew failed, so this one stopped. Its error is the reason.
    GivenUp,
    /// Any other error of the engine.
    Engine,
}

/// An engine's error: the attempted operation and the engine's message. One pointer wide, so that
/// results of single operations travel in registers.
pub struct Error(Box<Body>);

struct Body {
    kind: ErrorKind,
    message: String,
    /// True if the engine says that nothing has happened, and nothing will.
    is_without_effect: bool,
}

/// The result of a driver's functions.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Makes an error of `kind` with a message that names the operation and the engine's own words.
    #[cold]
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let is_without_effect = matches!(kind, ErrorKind::Unsupported | ErrorKind::Conflict);
        Self(Box::new(Body { kind, message: message.into(), is_without_effect }))
    }

    /// Makes the error of an operation that the engine does not have.
    #[cold]
    pub fn unsupported(what: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unsupported, what)
    }

    /// Makes an error from the engine's message about `operation`. A full disk is recognised by the
    /// operating system's words for it, which engines pass on.
    #[cold]
    pub fn engine(operation: &str, said: impl fmt::Display) -> Self {
        let said = said.to_string();
        let lower = said.to_lowercase();
        let full = ["no space left", "disk is full", "disk full", "map_full", "mapfull"];
        let kind = if full.iter().any(|words| lower.contains(words)) {
            ErrorKind::Full
        } else {
            ErrorKind::Engine
        };
        Self::new(kind, format!("{operation}: {said}"))
    }

    /// Makes the error of an operation of which the engine says that nothing has happened.
    #[cold]
    pub fn without_effect(mut self) -> Self {
        self.0.is_without_effect = true;
        self
    }

    /// Returns true if the engine says that nothing has happened, and nothing will; else it is not
    /// known.
    pub fn is_without_effect(&self) -> bool {
        self.0.is_without_effect
    }

    /// Returns the kind of the error.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self.0.message)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_told_from_other_errors() {
        let full = Error::engine("insert", "No space left on device (os error 28)");
        assert_eq!(full.kind(), ErrorKind::Full);
        assert_eq!(full.to_string(), "insert: No space left on device (os error 28)");
        assert_eq!(Error::engine("insert", "locked").kind(), ErrorKind::Engine);
    }

    #[test]
    fn only_an_engine_says_that_nothing_has_happened() {
        let error = Error::engine("insert", "input/output error");
        assert!(!error.is_without_effect());
        assert!(error.without_effect().is_without_effect());
        assert!(Error::new(ErrorKind::Conflict, "again").is_without_effect());
    }

    #[test]
    fn results_of_operations_fit_two_registers() {
        assert!(size_of::<Result<crate::Outcome>>() <= 16);
    }
}
