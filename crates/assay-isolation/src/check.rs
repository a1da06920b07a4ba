//! The check of a history.

use crate::collect::Malformed;
use crate::examine::examine;
use crate::history::Transaction;
use crate::shrink::shrink;
use crate::verdict::{Level, Verdict};

/// Checks a history, and returns the strongest level that it keeps, with an example of each kind of
/// anomaly.
///
/// It takes time and memory in proportion to the history.
///
/// ```
/// use assay_isolation::{Anomaly, Level, Operation, Outcome, Transaction, check};
///
/// // Two transactions read one version of a counter, and both replace it.
/// let add = |value: u64| Transaction {
///     start: value,
///     end: value + 10,
///     outcome: Outcome::Committed,
///     operations: vec![Operation::read(1, &[]), Operation::Write { key: 1, value }],
/// };
/// let verdict = check(&[add(1), add(2)])?;
/// assert_eq!(verdict.level, Level::ReadCommitted);
/// assert!(verdict.shows(Anomaly::LostUpdate));
/// # Ok::<(), assay_isolation::Malformed>(())
/// ```
///
/// # Errors
/// If the history does not say what a check needs: a value was written twice, for example.
pub fn check(history: &[Transaction]) -> Result<Verdict, Malformed> {
    let found = examine(history)?;
    let level = found.iter().map(|raw| raw.anomaly.allowed_at()).min();
    let level = level.unwrap_or(Level::StrictlySerializable);
    let mut anomalies = shrink(history, found);
    anomalies.sort_by_key(|found| (found.anomaly.allowed_at(), found.anomaly));
    Ok(Verdict { level, anomalies })
}
