//! The checker of a crash test.

use std::ops::Bound;

use assay_core::durability::Found;
use assay_core::tape::Records;
use assay_driver::error::{Error, Result};
use assay_driver::{Connection, Driver, KeyKind, Outcome, Scan};
use serde::{Deserialize, Serialize};

use super::history::Step;
use super::ledger::{Contents, Ledger};
use super::log::Log;
use super::order::{Commit, Left, Span, Writer, Wrong};
use super::write::{Said, commit};
use super::writers::{Author, Writers};
use super::{COMMITS_AFTER, Job, open, refusals};

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checked {
    /// The state of the store.
    pub found: Found,
    /// The place of the oldest lost commit in the log, if commits were lost.
    pub oldest_lost: Option<u32>,
}

/// Opens the store that a writer left after it had acknowledged the commits of `log`, and checks
/// it; then continues the histories, closes, and checks again.
pub fn check(job: &Job, driver: &dyn Driver, log: &Log) -> Checked {
    let writers = Writers::of(job, driver);
    let ledger = Ledger::new(job.seed, writers.shared_from());
    let checker = Checker { job, driver, ledger, writers };
    let placed = match checker.look() {
        Err(error) => Err(Found::Refused(error.to_string())),
        Ok(Err(torn)) => Err(Found::Torn(torn)),
        Ok(Ok(rows)) => match checker.place(&rows, log) {
            Err(torn) => Err(Found::Torn(torn)),
            Ok(Placed { returned: Some(why), .. }) => Err(Found::Returned(why)),
            Ok(placed) => match checker.go_on(placed.authors, rows) {
                Err(error) => Err(Found::Unusable(error.to_string())),
                Ok(()) => Ok((placed.lost, placed.oldest_lost)),
            },
        },
    };
    match placed {
        Err(found) => Checked { found, oldest_lost: None },
        Ok((0, _)) => Checked { found: Found::Everything, oldest_lost: None },
        Ok((commits, oldest_lost)) => Checked { found: Found::Lost { commits }, oldest_lost },
    }
}

/// Opens the store that a writer left, connects, and closes it again.
pub fn reopen(job: &Job, driver: &dyn Driver, say: &mut dyn FnMut(Said)) -> Result<()> {
    let writers = Writers::of(job, driver);
    let ledger = Ledger::new(job.seed, writers.shared_from());
    say(Said::Opening);
    let store = open(job, driver, &ledger, false)?;
    store.connect(&mut |_| Ok(()))?;
    store.close()
}

/// The rows of the table as they were found.
pub(super) type Rows = Vec<Option<Contents>>;

struct Checker<'c> {
    job: &'c Job,
    driver: &'c dyn Driver,
    ledger: Ledger,
    writers: Writers,
}

/// The moment of the histories that a store is at.
pub(super) struct Placed {
    /// Every writer, as far as its commits are there.
    pub(super) authors: Vec<Author>,
    /// The number of acknowledged commits that are lost, and the place of the oldest in the log.
    pub(super) lost: u32,
    pub(super) oldest_lost: Option<u32>,
    /// The refused commit that is there although nothing of it may be, and its error.
    pub(super) returned: Option<String>,
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
        let mut rows = vec![None; self.writers.rows() as usize];
        let mut payload = vec![0; self.ledger.schema().payload_size()];
        for row in 0..self.writers.rows() {
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

    /// Returns the latest moment of the histories with these rows.
    fn place(&self, rows: &Rows, log: &Log) -> std::result::Result<Placed, String> {
        if !log.refused().is_empty() {
            return refusals::place(self.writers, rows, log);
        }
        let left = self.left(rows, log)?;
        let count = self.writers.count();
        let with_first = |some: usize| left.least(&log.counts_of_first(some, count));
        let mut counts = with_first(0).map_err(|wrong| self.explain(wrong))?;
        // The more commits have to be there, the harder it is.
        let mut possible = 0;
        let mut impossible = log.commits() as usize + 1;
        while possible + 1 < impossible {
            let middle = possible.midpoint(impossible);
            match with_first(middle) {
                Ok(found) => (possible, counts) = (middle, found),
                Err(_) => impossible = middle,
            }
        }
        let (oldest_lost, lost) = log.beyond(&counts);
        let mut authors = Vec::new();
        for (writer, &count) in counts.iter().enumerate() {
            let mut author = self.writers.author(writer);
            (0..count).for_each(|_| drop(author.advance()));
            authors.push(author);
        }
        Ok(Placed { authors, lost, oldest_lost, returned: None })
    }

    /// Returns what the writers may have left, and what they did leave.
    fn left(&self, rows: &Rows, log: &Log) -> std::result::Result<Left, String> {
        let acknowledged = log.counts(self.writers.count());
        let newest = |writer: usize| log.spans(writer).last().and_then(|span| span.ended);
        let mut writers = Vec::new();
        for (at, &acknowledged) in acknowledged.iter().enumerate() {
            let mut spans = log.spans(at);
            // One more commit may have been in flight than was acknowledged. It began after those
            // of its writer, and after those before the threads.
            if acknowledged < self.writers.commits(at) {
                let began = newest(at).max(newest(0)).map_or(0, |ended| ended + 1);
                spans.push(Span { began, ended: None });
            }
            writers.push(self.writer(at, rows, spans, acknowledged)?);
        }
        let mut last = vec![None; self.writers.registers()];
        for (register, last) in last.iter_mut().enumerate() {
            let row = self.writers.row_of(register);
            let Some(contents) = rows[row as usize] else { continue };
            let values = Writers::values(contents);
            let commit = self.writers.commit_of(values[register % values.len()]);
            let wrote = writers
                .get(commit.writer)
                .and_then(|writer| writer.registers.get((commit.number as usize).checked_sub(1)?));
            if wrote.is_none_or(|registers| !registers.contains(&register)) {
                let what = self.writers.words(commit);
                return Err(format!("row {row} is as {what} wrote it, which never did"));
            }
            *last = Some(commit);
        }
        Ok(Left { writers, last })
    }

    /// Follows one writer through its commits, and compares its rows after each.
    fn writer(
        &self,
        at: usize,
        rows: &Rows,
        spans: Vec<Span>,
        acknowledged: u32,
    ) -> std::result::Result<Writer, String> {
        let own = self.writers.own(at);
        let mut author = self.writers.author(at);
        let differs = |author: &Author, row: u32| author.row(row) != rows[row as usize];
        let mut different = own.clone().filter(|&row| differs(&author, row)).count();
        let mut closest = (different, author.clone());
        let mut moments = Vec::new();
        let mut registers = Vec::new();
        loop {
            if different == 0 {
                moments.push(author.commits());
            }
            if different <= closest.0 {
                closest = (different, author.clone());
            }
            if author.commits() as usize == spans.len() {
                break;
            }
            let before = author.clone();
            let steps = author.advance();
            for row in steps.iter().map(|step| step.row()).filter(|row| own.contains(row)) {
                different -= usize::from(differs(&before, row));
                different += usize::from(differs(&author, row));
            }
            let written = steps.into_iter().flat_map(|step| self.writers.registers_of(step));
            registers.push(written.collect());
        }
        if moments.is_empty() {
            let (different, closest) = closest;
            let row = own.clone().find(|&row| differs(&closest, row)).unwrap_or_default();
            return Err(format!(
                "it is no moment of the history{}: of {acknowledged} acknowledged commits it comes \
                 closest to {}, from which {different} rows differ; row {row} is {}, not {}",
                self.writers.of_thread(at),
                closest.commits(),
                words(rows[row as usize]),
                words(closest.row(row)),
            ));
        }
        Ok(Writer { spans, moments, registers })
    }

    /// Returns in words why no order of the commits leaves the rows as they are.
    fn explain(&self, wrong: Wrong) -> String {
        let words = |commit: Commit| self.writers.words(commit);
        let row = |register: usize| self.writers.row_of(register);
        let why = match wrong {
            Wrong::Missing { commit, later: None } => {
                format!("a shared row has {}, the rows of its thread do not", words(commit))
            }
            Wrong::Missing { commit, later: Some(later) } => format!(
                "{} is missing, but {}, which began after it was acknowledged, is there",
                words(commit),
                words(later)
            ),
            Wrong::Replaced { register, seen: None, later } => {
                format!(
                    "row {} is missing, but {}, which wrote it, is there",
                    row(register),
                    words(later)
                )
            }
            Wrong::Replaced { register, seen: Some(seen), later } => format!(
                "row {} is as {} wrote it, but {}, which wrote it later, is there",
                row(register),
                words(seen),
                words(later)
            ),
            Wrong::Crossed { registers: [one, other], seen: [first, second] } => format!(
                "row {} is as {} wrote it and row {} as {} did, and each of them came before the \
                 other",
                row(one),
                words(first),
                row(other),
                words(second)
            ),
        };
        format!("no order of the commits leaves this: {why}")
    }

    /// Makes further commits of each writer, closes, opens and checks again.
    fn go_on(&self, mut authors: Vec<Author>, mut expected: Rows) -> Result<()> {
        let store = open(self.job, self.driver, &self.ledger, false)?;
        store.connect(&mut |connection| {
            for (at, author) in authors.iter_mut().enumerate() {
                let most = match self.writers.at_once().contains(&at) {
                    true => author.commits() + COMMITS_AFTER,
                    false => self.writers.commits(at),
                };
                while author.commits() < most {
                    let steps = author.advance();
                    let number = author.commit();
                    commit(connection, &self.ledger, self.writers, number, &steps)?;
                    for step in steps {
                        expected[step.row() as usize] = self.after(author, step, &expected);
                    }
                }
            }
            Ok(())
        })?;
        store.close()?;
        let rows = self.look()?.map_err(|why| Error::engine("go on", why))?;
        match (0..rows.len()).find(|&row| rows[row] != expected[row]) {
            None => Ok(()),
            Some(row) => Err(Error::engine(
                "go on",
                format!(
                    "after {COMMITS_AFTER} more commits row {row} is {}, not {}",
                    words(rows[row]),
                    words(expected[row])
                ),
            )),
        }
    }

    /// Returns what a row has after a step of a writer's last commit.
    fn after(&self, author: &Author, step: Step, before: &Rows) -> Option<Contents> {
        if !self.ledger.is_shared(step.row()) {
            return author.row(step.row());
        }
        let mark = self.writers.mark(author.commit());
        let old = before[step.row() as usize].unwrap_or(Contents { written: mark, touched: mark });
        match step {
            Step::Touch(_) => Some(Contents { touched: mark, ..old }),
            Step::Mark(_) => Some(Contents { written: mark, ..old }),
            Step::Insert(_) | Step::Delete(_) => Some(Contents { written: mark, touched: mark }),
        }
    }
}

/// Returns a row's contents in words.
pub(super) fn words(contents: Option<Contents>) -> String {
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
