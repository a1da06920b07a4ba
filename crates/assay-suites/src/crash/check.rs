//! The checker of a crash test.

use std::ops::Bound;

use assay_core::durability::Found;
use assay_core::tape::Records;
use assay_driver::error::{Error, Result};
use assay_driver::{Connection, Driver, KeyKind, Outcome, Scan};

use super::history::{Habits, History, Step};
use super::ledger::{Contents, Ledger};
use super::write::commit;
use super::{COMMITS_AFTER, Job, open, rows};

/// Opens the store that a writer left after it had `acknowledged` commits, and checks it; then
/// continues the history, closes, and checks again.
pub fn check(job: &Job, driver: &dyn Driver, acknowledged: u32) -> Found {
    let ledger = Ledger::new(job.seed);
    let row_count = rows(job, driver);
    let checker = Checker { job, driver, ledger, row_count };
    match checker.look() {
        Err(error) => Found::Refused(error.to_string()),
        Ok(Err(torn)) => Found::Torn(torn),
        Ok(Ok(rows)) => match checker.place(&rows, acknowledged) {
            Err(torn) => Found::Torn(torn),
            Ok(history) => {
                let commits = acknowledged.saturating_sub(history.commits());
                match checker.go_on(history) {
                    Err(error) => Found::Unusable(error.to_string()),
                    Ok(()) if commits > 0 => Found::Lost { commits },
                    Ok(()) => Found::Everything,
                }
            }
        },
    }
}

/// The rows of the table as they were found.
type Rows = Vec<Option<Contents>>;

struct Checker<'c> {
    job: &'c Job,
    driver: &'c dyn Driver,
    ledger: Ledger,
    row_count: u32,
}

impl Checker<'_> {
    /// Reads every row, by its key and in a scan; the inner error is a record that is wrong.
    fn look(&self) -> Result<std::result::Result<Rows, String>> {
        let store = open(self.job, self.driver, &self.ledger, false)?;
        let mut found = Ok(Vec::new());
        store.connect(&mut |connection| {
            found = self.rows(connection)?;
            Ok(())
        })?;
        store.close()?;
        Ok(found)
    }

    fn rows(&self, connection: &mut dyn Connection) -> Result<std::result::Result<Rows, String>> {
        let mut rows = vec![None; self.row_count as usize];
        let mut payload = vec![0; self.ledger.schema().payload_size()];
        for row in 0..self.row_count {
            if connection.get(&self.ledger.key_of(row), &mut payload)? == Outcome::Missing {
                continue;
            }
            match self.ledger.read(row, &payload) {
                Some(contents) => rows[row as usize] = Some(contents),
                None => {
                    return Ok(Err(format!("the record of row {row} is none that was written")));
                }
            }
        }
        if self.job.key_kind == KeyKind::Hash {
            return Ok(Ok(rows));
        }
        let there = rows.iter().flatten().count() as u64;
        Ok(match self.scanned(connection)? {
            count if count == there => Ok(rows),
            count => Err(format!("a scan finds {count} records, lookups find {there}")),
        })
    }

    fn scanned(&self, connection: &mut dyn Connection) -> Result<u64> {
        let columns: Vec<_> = (0..self.ledger.schema().columns().len()).collect();
        let whole = Scan {
            lower: Bound::Unbounded,
            upper: Bound::Unbounded,
            columns: &columns,
            limit: u64::MAX,
        };
        connection.scan(&whole, &mut |_| ())
    }

    /// Returns the last moment of the history with these rows.
    fn place(&self, rows: &Rows, acknowledged: u32) -> std::result::Result<History, String> {
        let habits = Habits::of(self.driver);
        let mut history = History::new(self.job.seed, habits, self.row_count);
        let differs = |history: &History, row: u32| history.row(row) != rows[row as usize];
        let mut different = (0..self.row_count).filter(|&row| differs(&history, row)).count();
        let mut last = None;
        let mut closest = (different, history.clone());
        // One more commit than was acknowledged may have been in flight.
        loop {
            if different == 0 {
                last = Some(history.clone());
            }
            if different <= closest.0 {
                closest = (different, history.clone());
            }
            if history.commits() > acknowledged || history.commits() >= self.job.commits {
                break;
            }
            let before = history.clone();
            for row in history.advance().into_iter().map(Step::row) {
                different -= usize::from(differs(&before, row));
                different += usize::from(differs(&history, row));
            }
        }
        let (different, closest) = closest;
        last.ok_or_else(|| {
            let row = (0..self.row_count).find(|&row| differs(&closest, row)).unwrap_or_default();
            format!(
                "it is no moment of the history: of {acknowledged} acknowledged commits it comes \
                 closest to {}, from which {different} rows differ; row {row} is {}, not {}",
                closest.commits(),
                words(rows[row as usize]),
                words(closest.row(row)),
            )
        })
    }

    /// Makes further commits, closes, opens and checks again.
    fn go_on(&self, mut history: History) -> Result<()> {
        let store = open(self.job, self.driver, &self.ledger, false)?;
        store.connect(&mut |connection| {
            for _ in 0..COMMITS_AFTER {
                let steps = history.advance();
                commit(connection, &self.ledger, history.commits(), &steps)?;
            }
            Ok(())
        })?;
        store.close()?;
        let rows = self.look()?.map_err(|why| Error::engine("go on", why))?;
        match (0..self.row_count).find(|&row| history.row(row) != rows[row as usize]) {
            None => Ok(()),
            Some(row) => Err(Error::engine(
                "go on",
                format!(
                    "after {COMMITS_AFTER} more commits row {row} is {}, not {}",
                    words(rows[row as usize]),
                    words(history.row(row))
                ),
            )),
        }
    }
}

fn words(contents: Option<Contents>) -> String {
    match contents {
        None => "missing".into(),
        Some(Contents { written, touched }) if written == touched => {
            format!("as commit {written} wrote it")
        }
        Some(Contents { written, touched }) => {
            format!("as commit {written} wrote and commit {touched} changed it")
        }
    }
}
