//! Makes histories: runs seeded transactions on an engine and records its answers.
//!
//! An [`Engine`] stores bytes under keys. [`in_threads`] uses it from several threads at once.
//! [`in_turns`] runs several sessions on one thread, operation by operation in an order that
//! follows from the seed: so what it finds can be repeated. [`in_fixed_order`] runs known cases
//! whose steps are in an order that shows an anomaly, if the engine allows it.

mod cases;
mod recorder;
mod script;

use std::sync::atomic::AtomicU64;

pub use cases::{CaseResult, in_fixed_order};
use recorder::Recorder;
pub use script::{Kind, Plan};

use crate::history::Transaction;
use crate::random::Random;

/// An engine whose isolation is looked at.
pub trait Engine: Sync {
    /// Calls `work` once, with a session of the calling thread.
    ///
    /// # Errors
    /// If the engine has none; the text says why.
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String>;
}

/// A session of an engine. It has one transaction at a time, which `begin` starts. `commit` and
/// `abort` end it, and so does a call that returns an error.
pub trait Session {
    /// Starts a transaction.
    fn begin(&mut self) -> Result<(), Stop>;

    /// Returns the value of a key.
    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop>;

    /// Stores a value, in place of one that exists.
    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop>;

    /// Deletes a key, if it exists.
    fn delete(&mut self, key: u64) -> Result<(), Stop>;

    /// Returns the keys from `low` to `high`, which belongs to the range, with their values.
    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<(), Stop>;

    /// Rolls the transaction back.
    fn abort(&mut self) -> Result<(), Stop>;
}

/// The end of a transaction before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The engine refused to continue, and nothing of the transaction has happened.
    Refused,
    /// The transaction may or may not have happened.
    Unknown,
    /// The engine does not work: the run ends.
    Failed(String),
}

/// The reason why a run ended early.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// The engine gave no session.
    #[error("the engine gives no session: {0}")]
    NoSession(String),
    /// An operation failed.
    #[error("{operation} of transaction {number} failed: {reason}")]
    Operation {
        /// The operation.
        operation: &'static str,
        /// The transaction's number in the plan.
        number: u64,
        /// The engine's words.
        reason: String,
    },
    /// A value was read that is no list of numbers.
    #[error("key {key} holds {bytes} bytes, which no transaction of the run wrote")]
    Value {
        /// The key.
        key: u64,
        /// The length of the value.
        bytes: usize,
    },
}

/// Runs a plan on several threads at once, and returns the transactions in the order in which they
/// started.
///
/// # Errors
/// If the engine fails.
pub fn in_threads(engine: &dyn Engine, plan: &Plan) -> Result<Vec<Transaction>, Broken> {
    let clock = AtomicU64::new(0);
    let run = |thread: u64| {
        let mut recorder = Recorder::new(&clock);
        let mut ended = Ok(Vec::new());
        engine
            .connect(&mut |session| {
                let numbers = (thread..plan.transactions).step_by(plan.threads.max(1) as usize);
                ended = numbers
                    .map(|number| recorder.run(number, plan.script(number), session))
                    .collect();
            })
            .map_err(Broken::NoSession)?;
        ended
    };
    let all: Result<Vec<Vec<Transaction>>, Broken> = std::thread::scope(|scope| {
        let start = |thread| scope.spawn(move || run(thread));
        let threads: Vec<_> = (0..u64::from(plan.threads.max(1))).map(start).collect();
        let end = |thread: std::thread::ScopedJoinHandle<'_, _>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(end).collect()
    });
    let mut history: Vec<Transaction> = all?.into_iter().flatten().collect();
    history.sort_by_key(|transaction| transaction.start);
    Ok(history)
}

/// Runs a plan on one thread, whose sessions take turns, and returns the transactions in the order
/// in which they started. The engine must refuse rather than wait for another session.
///
/// # Errors
/// If the engine fails.
pub fn in_turns(engine: &dyn Engine, plan: &Plan) -> Result<Vec<Transaction>, Broken> {
    let mut history = Ok(Vec::new());
    let mut run = |sessions: &mut [&mut dyn Session]| history = by_turns(sessions, plan);
    connect(engine, plan.threads.max(1), Vec::new(), &mut run).map_err(Broken::NoSession)?;
    let mut history = history?;
    history.sort_by_key(|transaction| transaction.start);
    Ok(history)
}

/// Calls `run` with sessions of an engine: `more` new ones, and those that are there.
fn connect(
    engine: &dyn Engine,
    more: u32,
    mut sessions: Vec<&mut dyn Session>,
    run: &mut dyn FnMut(&mut [&mut dyn Session]),
) -> Result<(), String> {
    if more == 0 {
        run(&mut sessions);
        return Ok(());
    }
    let mut inner = Ok(());
    engine.connect(&mut |session| {
        let mut all: Vec<&mut dyn Session> = Vec::with_capacity(sessions.len() + 1);
        for session in &mut sessions {
            all.push(&mut **session);
        }
        all.push(session);
        inner = connect(engine, more - 1, all, run);
    })?;
    inner
}

/// Runs a plan on sessions that take turns.
fn by_turns(sessions: &mut [&mut dyn Session], plan: &Plan) -> Result<Vec<Transaction>, Broken> {
    let clock = AtomicU64::new(0);
    let mut random = Random::new(plan.seed);
    let start = |session| (session, Recorder::new(&clock));
    let mut running: Vec<_> = sessions.iter_mut().map(start).collect();
    let mut next = 0;
    let mut history = Vec::new();
    while !running.is_empty() {
        let at = random.below(running.len() as u64) as usize;
        let (session, recorder) = &mut running[at];
        if recorder.is_idle() {
            if next >= plan.transactions {
                running.remove(at);
                continue;
            }
            recorder.start(next, plan.script(next));
            next += 1;
        }
        history.extend(recorder.step(&mut ***session)?);
    }
    Ok(history)
}
