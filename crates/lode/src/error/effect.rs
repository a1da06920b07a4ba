//! The effect of an operation that returned an error.

use super::Error;

/// The effect that an operation had on records and tables, though it returned an error:
/// [`Error::effect`] returns it.
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
    /// Everything has happened and stays, as durable as the level of the database says. The error
    /// came after that. To do it again would do it twice.
    Applied,
    /// The effect can be seen until the database is closed. The database takes no more writes; when
    /// it is opened again, all of the effect is there or none.
    Unknown,
}

impl Error {
    /// Returns the effect that the operation had on records and tables. Flushing, checkpoints,
    /// compaction and closing have none.
    ///
    /// A `Poisoned` database refuses all writes, of which nothing happens. The effect is
    /// [`Unknown`](Effect::Unknown) only for what was being made durable at that moment.
    pub fn effect(&self) -> Effect {
        match self {
            Self::Poisoned { effect, .. } => *effect,
            Self::NotDurable { .. } => Effect::Applied,
            _ => Effect::None,
        }
    }

    /// Turns an error into that of an operation which had happened before the error.
    pub(crate) fn after_effect(self) -> Self {
        match self {
            Self::Poisoned { why, .. } => Self::Poisoned { why, effect: Effect::Unknown },
            other => Self::NotDurable { source: Box::new(other) },
        }
    }
}
