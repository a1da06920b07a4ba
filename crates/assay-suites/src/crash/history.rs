//! The history of the rows that one writer has to itself: single operations and transactions, a
//! function of the seed.

use std::collections::BTreeSet;

use assay_core::random::{Words, derive, mix};
use assay_driver::{Driver, Transactions};

use super::ledger::Contents;

/// One operation of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Inserts a row that is missing.
    Insert(u32),
    /// Changes one column of an existing row.
    Touch(u32),
    /// Changes the other column of an existing row that several writers share.
    Mark(u32),
    /// Deletes an existing row.
    Delete(u32),
}

impl Step {
    pub(super) fn row(self) -> u32 {
        match self {
            Self::Insert(row) | Self::Touch(row) | Self::Mark(row) | Self::Delete(row) => row,
        }
    }

    /// Returns the step on the row that is `by` further.
    pub(super) fn moved(self, by: u32) -> Self {
        match self {
            Self::Insert(row) => Self::Insert(row + by),
            Self::Touch(row) => Self::Touch(row + by),
            Self::Mark(row) => Self::Mark(row + by),
            Self::Delete(row) => Self::Delete(row + by),
        }
    }
}

/// The number of rows in a history in which records change: of all writers together, and the
/// least of each.
const ROWS: u32 = 400;
const ROWS_LEAST: u32 = 40;

/// The most steps of a transaction.
const MOST_STEPS: u64 = 12;

/// The steps and transactions that an engine's commits can have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habits {
    transactions: Transactions,
    /// True if records can be changed and deleted. Otherwise each step inserts a row of its own.
    changes: bool,
}

impl Habits {
    pub(super) fn of(driver: &dyn Driver) -> Self {
        Self { transactions: driver.profile().transactions, changes: driver.lacks().is_empty() }
    }

    /// Returns true if records can be changed and deleted.
    pub(super) fn changes(self) -> bool {
        self.changes
    }

    /// Returns true if a transaction can change columns.
    pub(super) fn changes_together(self) -> bool {
        self.changes && self.transactions == Transactions::Full
    }

    /// Returns the number of rows that the history of `commits` commits of one of `threads` writers
    /// needs.
    pub(super) fn rows(self, commits: u32, threads: u32) -> u32 {
        match (self.changes, self.transactions) {
            (true, _) => (ROWS / threads).max(ROWS_LEAST),
            (false, Transactions::None) => commits,
            (false, _) => commits.saturating_mul(MOST_STEPS as u32),
        }
    }
}

/// A state of the table, with which the next commit continues.
#[derive(Clone)]
pub(super) struct History {
    seed: u64,
    habits: Habits,
    rows: Vec<Option<Contents>>,
    inserts: u32,
    commits: u32,
    /// The rows of refused commits. No later commit changes them.
    aside: BTreeSet<u32>,
}

impl History {
    /// Returns the empty table, with room for `rows` rows.
    pub(super) fn new(seed: u64, habits: Habits, rows: u32) -> Self {
        let rows = vec![None; rows as usize];
        let seed = derive(seed, "history");
        Self { seed, habits, rows, inserts: 0, commits: 0, aside: BTreeSet::new() }
    }

    /// Returns the number of commits that led to this state.
    pub(super) fn commits(&self) -> u32 {
        self.commits
    }

    pub(super) fn row(&self, row: u32) -> Option<Contents> {
        self.rows[row as usize]
    }

    /// Makes a commit that leaves these rows as they are.
    pub(super) fn pass(&mut self) {
        self.commits += 1;
    }

    /// Takes the rows of the last commit, which was refused, back to how they were, and sets them
    /// aside.
    pub(super) fn set_aside(&mut self, before: &Self, rows: impl Iterator<Item = u32>) {
        for row in rows {
            self.rows[row as usize] = before.row(row);
            self.aside.insert(row);
        }
    }

    /// Returns true if the row was set aside.
    pub(super) fn is_aside(&self, row: u32) -> bool {
        self.aside.contains(&row)
    }

    /// Makes the next commit and returns its steps, each on another row; several are a transaction.
    pub(super) fn advance(&mut self) -> Vec<Step> {
        self.commits += 1;
        let mut words = Words::new(mix(self.seed, u64::from(self.commits)));
        let transactions = self.habits.transactions;
        let several = transactions != Transactions::None && words.next().is_multiple_of(2);
        let count = if several { 2 + words.next() % (MOST_STEPS - 1) } else { 1 };
        let mut steps: Vec<Step> = Vec::new();
        while (steps.len() as u64) < count {
            let row = if self.habits.changes {
                (words.next() % self.rows.len() as u64) as u32
            } else {
                self.inserts
            };
            if steps.iter().any(|step| step.row() == row) || self.is_aside(row) {
                continue;
            }
            // A batch cannot read, which a change of one column needs.
            let may_touch = !several || transactions == Transactions::Full;
            let step = match self.row(row) {
                None => Step::Insert(row),
                Some(_) if may_touch && words.next() % 5 < 3 => Step::Touch(row),
                Some(_) => Step::Delete(row),
            };
            self.take(step);
            steps.push(step);
        }
        steps
    }

    fn take(&mut self, step: Step) {
        let now = self.commits;
        self.inserts += u32::from(matches!(step, Step::Insert(_)));
        let row = &mut self.rows[step.row() as usize];
        *row = match (step, *row) {
            (Step::Insert(_), _) => Some(Contents { written: now, touched: now }),
            (Step::Touch(_), Some(old)) => Some(Contents { touched: now, ..old }),
            (Step::Mark(_), _) => unreachable!("only shared rows are marked"),
            (Step::Touch(_), None) | (Step::Delete(_), _) => None,
        };
    }
}
