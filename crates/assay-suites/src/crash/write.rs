//! The writer of a crash test: one process, with a thread for each of the job's writers.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use assay_core::durability::now_us;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Driver, Outcome};
use serde::{Deserialize, Serialize};

use super::history::Step;
use super::ledger::{Contents, Ledger};
use super::log::{Acknowledged, Refused};
use super::order::Commit;
use super::writers::Writers;
use super::{Job, open};

/// The most attempts at a transaction that the engine refuses because of other threads.
const ATTEMPTS: u32 = 1_000;

/// A message of a writer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Said {
    /// The store is open, with these settings.
    Open(Vec<String>),
    /// A commit was refused.
    Refused(Refused),
    /// The store gave a wrong answer.
    Wrong(String),
    /// The history is over, or too much of it was refused. The store stays open.
    Over,
    /// The writer's store is about to be opened again.
    Opening,
    /// The store was opened again, and closed.
    Closed,
    /// A commit is done.
    Committed {
        /// The commit.
        commit: Acknowledged,
        /// The time of the commit: microseconds since 1970.
        at_us: u64,
        /// The most microseconds so far of a commit, or of a pause beyond its length.
        late_us: u64,
    },
}

/// Creates a store, commits the histories of all writers to it, and reports each commit. Then it
/// waits for its end, with the store open; it returns only with an error.
pub fn write(job: &Job, driver: &dyn Driver, say: &mut (dyn FnMut(Said) + Send)) -> Result<()> {
    let writers = Writers::of(job, driver);
    let ledger = Ledger::new(job.seed, writers.shared_from());
    let store = open(job, driver, &ledger, true)?;
    say(Said::Open(store.settings()));
    let pace = Duration::from_micros(job.pace_us) * job.threads.max(1);
    let desk = Desk {
        writers,
        ledger,
        pace,
        clock: AtomicU64::new(1),
        is_over: AtomicBool::new(false),
        say: Mutex::new(say),
    };
    let work = |writer: usize| {
        let others = Others(&desk.is_over);
        let done = store.connect(&mut |connection| desk.work(connection, writer));
        if done.is_err() {
            others.stop();
        }
        done
    };
    let at_once = writers.at_once();
    (0..at_once.start).try_for_each(work)?;
    std::thread::scope(|scope| {
        let threads: Vec<_> = at_once.map(|writer| scope.spawn(move || work(writer))).collect();
        let ended = threads
            .into_iter()
            .map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        // All are waited for, so that none of them works when an error is returned.
        ended.collect::<Vec<_>>().into_iter().collect::<Result<()>>()
    })?;
    loop {
        std::thread::park();
    }
}

/// The state that the threads of a writer share.
struct Desk<'d> {
    writers: Writers,
    ledger: Ledger,
    /// The pause of a thread before each commit.
    pace: Duration,
    /// The starts and ends of commits so far.
    clock: AtomicU64,
    /// True if a writer has failed, so that the others stop: a crash would hide it.
    is_over: AtomicBool,
    say: Mutex<&'d mut (dyn FnMut(Said) + Send)>,
}

/// The other writers, which stop if this one fails.
struct Others<'d>(&'d AtomicBool);

impl Others<'_> {
    fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Drop for Others<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.stop();
        }
    }
}

impl Desk<'_> {
    /// Commits the history of one writer.
    fn work(&self, connection: &mut dyn Connection, writer: usize) -> Result<()> {
        let mut author = self.writers.author(writer);
        let mut late_us = 0;
        while author.commits() < self.writers.commits(writer) {
            if self.is_over.load(Ordering::Relaxed) {
                return Ok(());
            }
            late_us = late_us.max(pause(self.pace));
            let steps = author.advance();
            let began = self.clock.fetch_add(1, Ordering::SeqCst);
            let start = Instant::now();
            commit(connection, &self.ledger, self.writers, author.commit(), &steps)?;
            late_us = late_us.max(as_us(start.elapsed()));
            let ended = self.clock.fetch_add(1, Ordering::SeqCst);
            let commit = Acknowledged { writer: writer as u32, began, ended };
            let mut say = self.say.lock().unwrap_or_else(PoisonError::into_inner);
            say(Said::Committed { commit, at_us: now_us(), late_us });
        }
        Ok(())
    }
}

/// Pauses the writer; returns the microseconds of the pause beyond `pace`.
pub(super) fn pause(pace: Duration) -> u64 {
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

/// Makes one commit, again if other threads keep the engine from it.
pub(super) fn commit(
    connection: &mut dyn Connection,
    ledger: &Ledger,
    writers: Writers,
    commit: Commit,
    steps: &[Step],
) -> Result<()> {
    let several = steps.len() > 1;
    for _ in 0..ATTEMPTS {
        let done = if several {
            connection
                .begin()
                .and_then(|()| apply(connection, ledger, writers, commit, steps))
                .and_then(|()| connection.commit())
        } else {
            apply(connection, ledger, writers, commit, steps)
        };
        match done {
            Err(error) if error.kind() == ErrorKind::Conflict => {}
            other => return other,
        }
        if several {
            connection.rollback()?;
        }
        std::thread::yield_now();
    }
    Err(Error::engine("commit", format!("refused {ATTEMPTS} times because of other threads")))
}

/// Makes the steps of a commit.
pub(super) fn apply(
    connection: &mut dyn Connection,
    ledger: &Ledger,
    writers: Writers,
    commit: Commit,
    steps: &[Step],
) -> Result<()> {
    for &step in steps {
        let is_shared = ledger.is_shared(step.row());
        let number = if is_shared { writers.mark(commit) } else { commit.number };
        let mut set = |column: usize| {
            connection.update(&ledger.key_of(step.row()), column, &number.to_le_bytes())
        };
        let outcome = match step {
            Step::Touch(_) => set(ledger.touched_column())?,
            Step::Mark(_) => set(ledger.marked_column())?,
            Step::Insert(row) => {
                let contents = Contents { written: number, touched: number };
                connection.insert(&ledger.record_of(row, contents))?
            }
            Step::Delete(row) => connection.delete(&ledger.key_of(row))?,
        };
        if outcome != Outcome::Done {
            return Err(Error::new(
                ErrorKind::WrongAnswer,
                format!("{}: {step:?}: expected Done, got {outcome:?}", writers.words(commit)),
            ));
        }
    }
    Ok(())
}
