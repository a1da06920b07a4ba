//! The writer.

use assay_core::driver::{Connection, Driver, Outcome};
use assay_core::error::{Error, ErrorKind, Result};
use serde::{Deserialize, Serialize};

use super::history::{History, Step};
use super::ledger::{Contents, Ledger};
use super::{Job, open};

/// What a writer says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The store is open, with these settings.
    Open(Vec<String>),
    /// The commit of this number, counted from 1, is done.
    Committed(u32),
}

/// Creates a store, commits a history to it, and says so. Then it waits for its end, with the
/// store open; it comes back only with an error.
pub fn write(job: &Job, driver: &dyn Driver, say: &mut dyn FnMut(Said)) -> Result<()> {
    let ledger = Ledger::new(job.seed);
    let store = open(job, driver, &ledger, true)?;
    say(Said::Open(store.settings()));
    store.connect(&mut |connection| {
        let mut history = History::new(job.seed, driver.profile().transactions);
        while history.commits() < job.commits {
            let steps = history.advance();
            commit(connection, &ledger, history.commits(), &steps)?;
            say(Said::Committed(history.commits()));
        }
        loop {
            std::thread::park();
        }
    })
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
    match several {
        true => connection.commit(),
        false => Ok(()),
    }
}
