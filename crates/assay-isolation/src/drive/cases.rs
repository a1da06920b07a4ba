//! Known cases: a few sessions whose steps are in a fixed order, each of which shows one anomaly if
//! the engine allows it. They are those of Hermitage (Kleppmann, Hermitage: Testing the "I" in
//! ACID, 2014) as far as a store of keys can run them.
//!
//! Sessions are on threads of their own, since a step may wait for the end of another session's
//! transaction. A step that takes longer than a patience is taken to wait, while other sessions
//! continue with their steps.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use super::recorder::Recorder;
use super::script::{Script, Step};
use super::{Broken, Engine};
use crate::check;
use crate::history::{Outcome, Transaction};
use crate::verdict::{Anomaly, Verdict};

/// A step of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Do {
    Begin,
    Read(u64),
    /// Reads a list and adds a value to it.
    Append(u64),
    /// Reads all keys of the case.
    ReadAll,
    Commit,
    Abort,
}

use Do::{Abort, Append, Begin, Commit, Read, ReadAll};

/// A case. Keys count from the first one of the case.
struct Case {
    name: &'static str,
    anomaly: Anomaly,
    /// The number of a session, and what it does.
    steps: &'static [(usize, Do)],
}

/// The keys of a case.
const KEYS: u64 = 8;

const CASES: [Case; 12] = [
    Case {
        name: "two writers of two keys",
        anomaly: Anomaly::DirtyWrite,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Append(0)),
            (1, Append(0)),
            (0, Append(1)),
            (0, Commit),
            (1, Append(1)),
            (1, Commit),
        ],
    },
    Case {
        name: "a read of what is rolled back",
        anomaly: Anomaly::AbortedRead,
        steps: &[(0, Begin), (1, Begin), (0, Append(0)), (1, Read(0)), (0, Abort), (1, Commit)],
    },
    Case {
        name: "a read between two writes",
        anomaly: Anomaly::IntermediateRead,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Append(0)),
            (1, Read(0)),
            (0, Append(0)),
            (0, Commit),
            (1, Commit),
        ],
    },
    Case {
        name: "two transactions that read each other's writes",
        anomaly: Anomaly::CircularFlow,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Append(0)),
            (1, Append(1)),
            (0, Read(1)),
            (1, Read(0)),
            (0, Commit),
            (1, Commit),
        ],
    },
    Case {
        name: "an observed transaction vanishes",
        anomaly: Anomaly::CircularFlow,
        steps: &[
            (0, Begin),
            (1, Begin),
            (2, Begin),
            (0, Append(0)),
            (0, Append(1)),
            (1, Append(0)),
            (0, Commit),
            (2, Read(0)),
            (1, Append(1)),
            (2, Read(1)),
            (1, Commit),
            (2, Read(0)),
            (2, Commit),
        ],
    },
    Case {
        name: "two updates of one key",
        anomaly: Anomaly::LostUpdate,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Read(0)),
            (1, Read(0)),
            (0, Append(0)),
            (1, Append(0)),
            (0, Commit),
            (1, Commit),
        ],
    },
    Case {
        name: "two reads around a commit",
        anomaly: Anomaly::ReadSkew,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Read(0)),
            (1, Append(0)),
            (1, Append(1)),
            (1, Commit),
            (0, Read(1)),
            (0, Commit),
        ],
    },
    Case {
        name: "two ranges around a commit",
        anomaly: Anomaly::ReadSkew,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, ReadAll),
            (1, Append(2)),
            (1, Commit),
            (0, ReadAll),
            (0, Commit),
        ],
    },
    Case {
        name: "a read, and a write after another's commit",
        anomaly: Anomaly::ReadSkew,
        steps: &[
            (0, Begin),
            (0, Read(0)),
            (1, Begin),
            (1, Append(0)),
            (1, Append(1)),
            (1, Commit),
            (0, Append(1)),
            (0, Commit),
        ],
    },
    Case {
        name: "each reads what the other writes",
        anomaly: Anomaly::WriteSkew,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, Read(0)),
            (0, Read(1)),
            (1, Read(0)),
            (1, Read(1)),
            (0, Append(0)),
            (1, Append(1)),
            (0, Commit),
            (1, Commit),
        ],
    },
    Case {
        name: "each writes into the range that the other reads",
        anomaly: Anomaly::Phantom,
        steps: &[
            (0, Begin),
            (1, Begin),
            (0, ReadAll),
            (1, ReadAll),
            (0, Append(3)),
            (1, Append(4)),
            (0, Commit),
            (1, Commit),
        ],
    },
    Case {
        name: "a reader between two dependent writers",
        anomaly: Anomaly::Phantom,
        steps: &[
            (0, Begin),
            (0, ReadAll),
            (1, Begin),
            (1, Append(1)),
            (1, Commit),
            (2, Begin),
            (2, ReadAll),
            (2, Commit),
            (0, Append(0)),
            (0, Commit),
        ],
    },
];

/// The result of a case.
#[derive(Clone, Debug)]
pub struct CaseResult {
    /// The name of the case.
    pub name: &'static str,
    /// The anomaly that the order of steps would show.
    pub anomaly: Anomaly,
    /// The verdict on all transactions of the case.
    pub verdict: Verdict,
    /// True if a step waited for another session.
    pub has_waited: bool,
    /// True if the engine refused a transaction.
    pub was_refused: bool,
}

/// Runs all cases whose steps the engine can do, each on keys of its own. `has_ranges` is true for
/// an engine with ranges. A step waits if it takes longer than `patience`.
///
/// # Errors
/// If the engine fails.
pub fn in_fixed_order(
    engine: &dyn Engine,
    has_ranges: bool,
    patience: Duration,
) -> Result<Vec<CaseResult>, Broken> {
    let can_run = |case: &&Case| has_ranges || case.steps.iter().all(|(_, step)| *step != ReadAll);
    let with_keys = CASES.iter().zip((0..).step_by(KEYS as usize));
    with_keys
        .filter(|(case, _)| can_run(case))
        .map(|(case, first_key)| run(engine, case, first_key, patience))
        .collect()
}

/// A session that runs, and what it is to do.
struct Running<'s> {
    orders: Sender<u32>,
    answers: Receiver<()>,
    thread: ScopedJoinHandle<'s, Result<Transaction, Broken>>,
    calls: std::vec::IntoIter<u32>,
    /// The steps that it has not answered.
    unanswered: u32,
}

impl Running<'_> {
    /// Has it take the next step; returns false if that waits for another session.
    fn step(&mut self, patience: Duration) -> bool {
        let calls = self.calls.next().expect("a number of calls for each step");
        // A thread that has failed says so at its end.
        let _ = self.orders.send(calls);
        self.unanswered += 1;
        let until = Instant::now() + patience;
        while self.unanswered > 0 {
            match self.answers.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(()) => self.unanswered -= 1,
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
        true
    }

    fn end(self) -> Result<Transaction, Broken> {
        drop(self.orders);
        self.thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// The steps of one session.
struct Part {
    script: Script,
    /// For each step of the case, the number of calls that it takes.
    calls: Vec<u32>,
}

impl Case {
    /// Returns the part of a session.
    fn part(&self, session: usize, first_key: u64) -> Part {
        let own = || self.steps.iter().zip(1..).filter(|((number, _), _)| *number == session);
        let mut part =
            Part { script: Script { steps: Vec::new(), commits: true }, calls: Vec::new() };
        for ((_, step), value) in own() {
            let steps = &mut part.script.steps;
            let before = steps.len();
            match *step {
                Begin | Commit => {}
                Abort => part.script.commits = false,
                Read(key) => steps.push(Step::Read { key: first_key + key }),
                Append(key) => {
                    let key = first_key + key;
                    steps.extend([Step::Read { key }, Step::Append { key, value }]);
                }
                ReadAll => steps.push(Step::Range { low: first_key, high: first_key + KEYS - 1 }),
            }
            // Starting and ending a transaction takes a call each.
            part.calls.push(((steps.len() - before) as u32).max(1));
        }
        part
    }
}

/// Runs a case, and then reads all that it has left.
fn run(
    engine: &dyn Engine,
    case: &Case,
    first_key: u64,
    patience: Duration,
) -> Result<CaseResult, Broken> {
    let clock = AtomicU64::new(0);
    let numbers: BTreeSet<usize> = case.steps.iter().map(|(session, _)| *session).collect();
    let parts: Vec<Part> = numbers.iter().map(|number| case.part(*number, first_key)).collect();
    let mut has_waited = false;
    let ended: Result<Vec<Transaction>, Broken> = thread::scope(|scope| {
        let mut sessions: Vec<Running<'_>> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let (orders, taken) = channel();
            let (answer, answers) = channel();
            let script = part.script.clone();
            let clock = &clock;
            let thread =
                scope.spawn(move || follow(engine, number as u64, script, clock, &taken, &answer));
            let calls = part.calls.clone().into_iter();
            sessions.push(Running { orders, answers, thread, calls, unanswered: 0 });
        }
        for (session, _) in case.steps {
            has_waited |= !sessions[*session].step(patience);
        }
        sessions.into_iter().map(Running::end).collect()
    });
    let mut history = ended?;
    let wanted = parts.iter().filter(|part| part.script.commits).count();
    let is_committed = |transaction: &&Transaction| transaction.outcome == Outcome::Committed;
    let was_refused = history.iter().filter(is_committed).count() < wanted;
    history.push(read_all(engine, &clock, first_key)?);
    history.sort_by_key(|transaction| transaction.start);
    let verdict = check(&history).expect("each step has a value and each case keys of its own");
    Ok(CaseResult { name: case.name, anomaly: case.anomaly, verdict, has_waited, was_refused })
}

/// Runs the transaction of a session, as many calls at a time as each order says.
fn follow(
    engine: &dyn Engine,
    number: u64,
    script: Script,
    clock: &AtomicU64,
    orders: &Receiver<u32>,
    answer: &Sender<()>,
) -> Result<Transaction, Broken> {
    let mut ended = Ok(None);
    let mut script = Some(script);
    engine
        .connect(&mut |session| {
            let Some(script) = script.take() else { return };
            let mut recorder = Recorder::new(clock);
            recorder.start(number, script);
            for calls in orders {
                for _ in 0..calls {
                    if !recorder.is_idle() {
                        ended = recorder.step(session);
                    }
                }
                // The receiver is gone if the session waited longer than the case took.
                let _ = answer.send(());
            }
        })
        .map_err(Broken::NoSession)?;
    let nothing = || Broken::NoSession("it did not run the steps that it was given".into());
    ended?.ok_or_else(nothing)
}

/// Reads all keys of a case, one by one.
fn read_all(engine: &dyn Engine, clock: &AtomicU64, first_key: u64) -> Result<Transaction, Broken> {
    let steps = (first_key..first_key + KEYS).map(|key| Step::Read { key }).collect();
    let mut script = Some(Script { steps, commits: true });
    let mut ended = Err(Broken::NoSession("it called for no session".into()));
    engine
        .connect(&mut |session| {
            if let Some(script) = script.take() {
                ended = Recorder::new(clock).run(u64::MAX, script, session);
            }
        })
        .map_err(Broken::NoSession)?;
    ended
}
