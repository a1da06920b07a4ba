//! The writer of a crash test.

use std::time::{Duration, Instant};

use assay_core::durability::now_us;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Driver, Outcome};
use serde::{Deserialize, Serialize};

use super::history::{Habits, History, Step};
use super::ledger::{Contents, Ledger};
use super::{Job, open, rows};

/// A message of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The store is open, with these settings.
    Open(Vec<String>),
    /// A commit is done.
    Committed {
        /// The commit's number, counted from 1.
        number: u32,
        /// The time of the commit: microseconds since 1970.
        at_us: u64,
        /// The most microseconds so far of a commit, or of a pause beyond its length.
        late_us: u64,
    },
}

/// Creates a store, commits a history to it, and reports each commit. Then it waits for its end,
/// with the store open; it returns only with an error.
pub fn write(job: &Job, driver: &dyn Driver, say: &mut dyn FnMut(Said)) -> Result<()> {
    let ledger = Ledger::new(job.seed);
    let store = open(job, driver, &ledger, true)?;
    say(Said::Open(store.settings()));
    store.connect(&mut |connection| {
        let mut history = History::new(job.seed, Habits::of(driver), rows(job, driver));
        let pace = Duration::from_micros(job.pace_us);
        let mut late_us = 0;
        while history.commits() < job.commits {
            late_us = late_us.max(pause(pace));
            let steps = history.advance();
            let start = Instant::now();
            commit(connection, &ledger, history.commits(), &steps)?;
            late_us = late_us.max(as_us(start.elapsed()));
            say(Said::Committed { number: history.commits(), at_us: now_us(), late_us });
        }
        loop {
            std::thread::park();
        }
    })
}

/// Pauses the writer; returns the microseconds of the pause beyond `pace`.
fn pause(pace: Duration) -> u64 {
    if pace.is_zero() {
        return 0;
    }
    let start = Instant::now();
    std::thread::sleep(pace);
    as_us(start.elapsed().saturating_sub(pace))
}

fn as_us(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

/// Makes one commit.
pub(super) fn commit(
    connection: &mut dyn Connection,
    ledger: &Ledger,
    number: u32,
    steps: &[Step],
) -> Result<()> {
    let several = steps.len() > 1;
    if several {
        connection.begin()?;
    }
    for &step in steps {
        let outcome = match step {
            Step::Insert(row) => {
                let contents = Contents { written: number, touched: number };
                connection.insert(&ledger.record_of(row, contents))?
            }
            Step::Touch(row) => {
                let column = ledger.touched_column();
                connection.update(&ledger.key_of(row), column, &number.to_le_bytes())?
            }
            Step::Delete(row) => connection.delete(&ledger.key_of(row))?,
        };
        if outcome != Outcome::Done {
            return Err(Error::new(
                ErrorKind::WrongAnswer,
                format!("commit {number}: {step:?}: expected Done, got {outcome:?}"),
            ));
        }
    }
    if several { connection.commit() } else { Ok(()) }
}
