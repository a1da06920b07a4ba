//! The writer of a crash test on a disk that fails. An error does not end it: it notes the refused
//! commit, sets the rows aside, and continues with the others over a new connection. Between
//! commits it reads, and compares each answer with what it knows.

use std::collections::BTreeMap;
use std::time::Duration;

use assay_core::durability::now_us;
use assay_core::random::{draw, mix};
use assay_core::tape::Records;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Driver, Outcome};
use serde::{Deserialize, Serialize};

use super::check::words;
use super::history::Step;
use super::ledger::{Contents, Ledger};
use super::log::{Acknowledged, Log, Refused};
use super::write::{Said, apply, pause};
use super::writers::{Author, Writers};
use super::{Job, open};

/// The refused commits and connections after which a writer ends: an engine may refuse all that
/// comes after a fault.
const REFUSED_MOST: u32 = 12;

/// Drawn rows that are read after each commit.
const READS: u64 = 3;

/// The last act of a writer, after it has said [`Said::Over`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Then {
    /// Waits for its end, with the store open.
    Waits,
    /// Closes the store, and says [`Said::Closed`].
    Closes,
}

/// Commits the history of a single writer from where `log` ends; creates the store if `log` is
/// empty.
///
/// # Errors
/// If the store cannot be opened or closed.
pub fn endure(
    job: &Job,
    driver: &dyn Driver,
    log: &Log,
    then: Then,
    say: &mut (dyn FnMut(Said) + Send),
) -> Result<()> {
    let writers = Writers::of(job, driver);
    let ledger = Ledger::new(job.seed, writers.shared_from());
    let store = open(job, driver, &ledger, log.tried() == 0)?;
    say(Said::Open(store.settings()));
    let mut author = writers.author(0);
    (0..log.tried()).for_each(|_| drop(author.advance()));
    let aside = BTreeMap::new();
    let pace = Duration::from_micros(job.pace_us);
    let mut clerk = Clerk { writers, ledger, author, refused: 0, aside, seed: job.seed, pace, say };
    while !clerk.is_over() {
        let connected = store.connect(&mut |connection| {
            clerk.work(connection);
            Ok(())
        });
        clerk.refused += u32::from(connected.is_err());
    }
    (clerk.say)(Said::Over);
    if then == Then::Closes {
        store.close()?;
        (clerk.say)(Said::Closed);
    }
    Ok(())
}

/// A writer with what it knows of the store.
struct Clerk<'c> {
    writers: Writers,
    ledger: Ledger,
    author: Author,
    /// Refused commits and connections.
    refused: u32,
    /// The rows of the commits that were refused.
    aside: BTreeMap<u32, Aside>,
    seed: u64,
    /// The pause before each commit.
    pace: Duration,
    say: &'c mut (dyn FnMut(Said) + Send),
}

/// A row of a refused commit.
#[derive(Clone, Copy)]
struct Aside {
    commit: u32,
    /// Its contents before and after the commit, as far as both are possible.
    possible: [Option<Contents>; 2],
}

/// The reason why a commit was refused.
struct Refusal {
    error: Error,
    /// True if the engine was not asked to commit yet.
    is_early: bool,
}

impl Clerk<'_> {
    fn is_over(&self) -> bool {
        self.refused >= REFUSED_MOST || self.author.commits() >= self.writers.commits(0)
    }

    /// Commits until the history is over, or something is refused.
    fn work(&mut self, connection: &mut dyn Connection) {
        while !self.is_over() {
            pause(self.pace);
            let before = self.author.clone();
            let steps = self.author.advance();
            let began = 2 * u64::from(before.commits());
            let done = self.commit(connection, &steps);
            let is_refused = done.is_err();
            match done {
                Ok(()) => {
                    let commit = Acknowledged { writer: 0, began, ended: began + 1 };
                    (self.say)(Said::Committed { commit, at_us: now_us(), late_us: 0 });
                }
                Err(refusal) => self.refuse(&before, &steps, refusal),
            }
            let rows = steps.iter().map(|step| step.row()).collect();
            if self.read(connection, rows).is_err() || is_refused {
                return;
            }
        }
    }

    fn commit(
        &self,
        connection: &mut dyn Connection,
        steps: &[Step],
    ) -> std::result::Result<(), Refusal> {
        let late = |error| Refusal { error, is_early: false };
        let early = |error| Refusal { error, is_early: true };
        let commit = self.author.commit();
        let is_single = steps.len() == 1;
        if is_single {
            return apply(connection, &self.ledger, self.writers, commit, steps).map_err(late);
        }
        connection.begin().map_err(early)?;
        let done = apply(connection, &self.ledger, self.writers, commit, steps)
            .map_err(early)
            .and_then(|()| connection.commit().map_err(late));
        if done.is_err() {
            // The transaction may be over already.
            let _ = connection.rollback();
        }
        done
    }

    /// Notes that the last commit was refused.
    fn refuse(&mut self, before: &Author, steps: &[Step], refusal: Refusal) {
        let Refusal { error, is_early } = refusal;
        if error.kind() == ErrorKind::WrongAnswer {
            (self.say)(Said::Wrong(error.to_string()));
        }
        let is_without_effect = is_early || error.is_without_effect();
        let commit = self.author.commits();
        for row in steps.iter().map(|step| step.row()) {
            let before = before.row(row);
            let after = self.author.row(row);
            let possible = [before, if is_without_effect { before } else { after }];
            self.aside.insert(row, Aside { commit, possible });
        }
        self.author.set_aside(before, steps);
        self.refused += 1;
        let why = error.to_string();
        (self.say)(Said::Refused(Refused { number: commit, is_without_effect, why }));
    }

    /// Notes what a row has. If a refused commit changed it, all of that commit is there or not.
    fn note(&mut self, row: u32, found: Option<Contents>) {
        let Some(&Aside { commit, possible: [before, after] }) = self.aside.get(&row) else {
            return;
        };
        if before == after {
            return;
        }
        let seen = usize::from(found == after);
        for aside in self.aside.values_mut().filter(|aside| aside.commit == commit) {
            aside.possible = [aside.possible[seen]; 2];
        }
    }

    /// Reads rows, and some more, and compares them with what they are known to have.
    fn read(&mut self, connection: &mut dyn Connection, mut rows: Vec<u32>) -> Result<()> {
        let seed = mix(self.seed, u64::from(self.author.commits()));
        let all = u64::from(self.writers.rows());
        rows.extend((0..READS).map(|at| draw(seed, at, all) as u32));
        let mut payload = vec![0; self.ledger.schema().payload_size()];
        for row in rows {
            let key = self.ledger.key_of(row);
            let found = match connection.get(&key, &mut payload)? {
                Outcome::Missing => Some(None),
                _ => self.ledger.read(row, &payload).map(Some),
            };
            let aside = self.aside.get(&row).map(|aside| aside.possible);
            let possible = aside.unwrap_or([self.author.row(row); 2]);
            let commit = self.author.commits();
            match found {
                Some(found) if possible.contains(&found) => self.note(row, found),
                Some(found) => (self.say)(Said::Wrong(format!(
                    "after commit {commit} row {row} is {}, not {}",
                    words(found),
                    words(possible[0])
                ))),
                None => (self.say)(Said::Wrong(format!(
                    "after commit {commit} the record of row {row} is none that was written"
                ))),
            }
        }
        Ok(())
    }
}
