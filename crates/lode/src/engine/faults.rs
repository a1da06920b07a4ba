//! Faults of a database.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

/// A fault of a database.
///
/// ```
/// use lode::{Database, Fault};
///
/// /// A line for each fault of the tables that are not of the application.
/// fn lines(faults: &[Fault]) -> Vec<String> {
///     faults.iter().filter(|fault| fault.table.is_some()).map(ToString::to_string).collect()
/// }
///
/// assert_eq!(lines(&Database::in_memory()?.check()?.faults), [""; 0]);
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fault {
    /// The table that it concerns; `None` if it concerns the data file.
    pub table: Option<String>,
    /// The fault, and the page that has it.
    pub why: String,
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.table {
            Some(table) => write!(f, "table {table}: {}", self.why),
            None => f.write_str(&self.why),
        }
    }
}

/// The most faults that a report names.
const MOST_FAULTS: usize = 100;

/// The result of [`Database::check`](crate::Database::check).
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
/// db.create_table(&schema, KeyKind::Hash)?.insert(&[7])?;
/// let report = db.check()?;
/// assert!(report.is_sound(), "{report}");
/// # Ok::<(), lode::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct CheckReport {
    /// The first faults, each once; at most a hundred.
    pub faults: Vec<Fault>,
    /// The number of further faults.
    pub more: u64,
    known: HashSet<Fault>,
}

impl CheckReport {
    /// Returns true if there is no fault.
    pub fn is_sound(&self) -> bool {
        self.faults.is_empty()
    }

    /// Adds a fault, unless it is known: many records of one damaged page would each name the page.
    pub(crate) fn add(&mut self, table: Option<&str>, why: String) {
        let fault = Fault { table: table.map(str::to_string), why };
        if self.known.contains(&fault) {
            return;
        }
        if self.faults.len() < MOST_FAULTS {
            debug_assert_eq!(self.known.len(), self.faults.len(), "each known fault is named");
            self.known.insert(fault.clone());
            self.faults.push(fault);
        } else {
            self.more += 1
        }
    }
}

/// Writes a line for each fault.
impl Display for CheckReport {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        if self.is_sound() {
            return f.write_str("no faults");
        }
        for (at, fault) in self.faults.iter().enumerate() {
            let before = if at == 0 { "" } else { "\n" };
            write!(f, "{before}{fault}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}
