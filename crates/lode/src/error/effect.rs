//! What became of an operation that returned an error.

use super::Error;

/// What became of the records and tables that an operation was to change, though it returned an
/// error: [`Error::effect`] says it.
///
/// ```
/// use lode::{Database, Effect, Error};
///
/// /// Runs something until it has happened, at most three times.
/// fn at_last(work: impl Fn() -> Result<(), Error>) -> Result<(), Error> {
///     for _ in 0..2 {
///         match work() {
///             Err(error) if error.effect() == Effect::None => {}
///             done => return done,
///         }
///     }
///     work()
/// }
///
/// let db = Database::in_memory()?;
/// let refused = at_last(|| db.drop_table("gone")).expect_err("there is no such table");
/// assert_eq!(refused.effect(), Effect::None);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Nothing has happened, and nothing will.
    None,
    /// What came before the error has happened and stays; the rest has not. Of the step that
    /// failed, the error that is the source says it.
    Partial,
    /// All of it has happened and stays, as durable as the level of the database says. The error
    /// came after that. To do it again would do it twice.
    Applied,
    /// It can be seen until the database is closed. The database takes no more writes; when it is
    /// opened again, this is there as a whole or not at all.
    Unknown,
}

impl Error {
    /// Says what became of the records and tables that the operation was to change. Flushing,
    /// checkpoints, compaction and closing change none.
    ///
    /// A `Poisoned` database refuses all writes, of which nothing happens. Only for what was being
    /// made durable at that moment the effect is [`Unknown`](Effect::Unknown).
    pub fn effect(&self) -> Effect {
        match self {
            Self::Poisoned { effect, .. } => *effect,
            Self::NotDurable { .. } => Effect::Applied,
            Self::PartlyDone { .. } => Effect::Partial,
            _ => Effect::None,
        }
    }

    /// The same error, of an operation that had happened before it.
    pub(crate) fn after_effect(self) -> Self {
        match self {
            Self::Poisoned { why, .. } => Self::Poisoned { why, effect: Effect::Unknown },
            other => Self::NotDurable { source: Box::new(other) },
        }
    }

    /// The same error, of an operation that had dealt with some records before it.
    pub(crate) fn after_records(self, done: u64) -> Self {
        match (done, self.effect()) {
            (0, Effect::None) => self,
            _ => Self::PartlyDone { done, source: Box::new(self) },
        }
    }
}
