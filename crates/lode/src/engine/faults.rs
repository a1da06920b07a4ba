//! What is wrong with a database.

use std::collections::HashSet;
use std::fmt::{self, Display, Formatter};

/// Something that is wrong with a database.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Fault {
    /// The table that it concerns; `None` if it concerns the data file.
    pub table: Option<String>,
    /// What is wrong, and with which page.
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

/// What [`Database::faults`](crate::Database::faults) finds.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Faults {
    /// The first faults, each once.
    pub list: Vec<Fault>,
    /// How many others there are.
    pub more: u64,
    most: usize,
    known: HashSet<Fault>,
}

impl Faults {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, ..Self::default() }
    }

    /// Adds a fault, unless it is known. Of many records of one damaged page, each would name the
    /// page.
    pub(crate) fn add(&mut self, table: Option<&str>, why: String) {
        let fault = Fault { table: table.map(str::to_string), why };
        if self.known.contains(&fault) {
            return;
        }
        match self.list.len() < self.most {
            true => {
                self.known.insert(fault.clone());
                self.list.push(fault);
            }
            false => self.more += 1,
        }
    }
}
