//! Errors of the operating system.

use std::fmt::{Display, Formatter};
use std::io;
use std::ops::Deref;
use std::sync::Arc;

/// An error of the operating system, which clones share. It is an [`io::Error`] to look at: its
/// [`kind`](io::Error::kind) says what a program can do.
///
/// ```
/// use std::io::ErrorKind;
/// use lode::{Error, Options};
///
/// let program = std::env::current_exe().expect("it is known");
/// match Options::new().open_existing(program) {
///     Err(Error::Io { source, .. }) => assert_eq!(source.kind(), ErrorKind::NotADirectory),
///     other => panic!("a program is no database: {:?}", other.map(drop)),
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Cause(Arc<io::Error>);

impl Cause {
    /// Copies an error; the copy has no other data than its kind, its number or its text.
    pub(super) fn of(error: &io::Error) -> Self {
        Self(Arc::new(match error.raw_os_error() {
            Some(code) => io::Error::from_raw_os_error(code),
            None => io::Error::new(error.kind(), error.to_string()),
        }))
    }
}

impl Deref for Cause {
    type Target = io::Error;

    fn deref(&self) -> &io::Error {
        &self.0
    }
}

impl Display for Cause {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        let parts = |cause: &Self| (cause.kind(), cause.raw_os_error(), cause.to_string());
        parts(self) == parts(other)
    }
}

impl Eq for Cause {}
