//! Runs one transaction after another, step by step, and records them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::script::{Script, Step};
use super::{Broken, Session, Stop};
use crate::history::{Operation, Outcome, Row, Transaction};

pub(super) struct Recorder<'c> {
    clock: &'c AtomicU64,
    current: Option<Current>,
}

/// The transaction that is running.
struct Current {
    number: u64,
    script: Script,
    next: usize,
    is_begun: bool,
    recorded: Transaction,
    /// The lists as it has seen them last.
    lists: HashMap<u64, Vec<u64>>,
}

/// The end of a step.
enum Ended {
    /// The transaction continues.
    No,
    With(Outcome),
}

impl<'c> Recorder<'c> {
    pub(super) fn new(clock: &'c AtomicU64) -> Self {
        Self { clock, current: None }
    }

    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none()
    }

    /// Makes a transaction the current one.
    pub(super) fn start(&mut self, number: u64, script: Script) {
        let outcome = Outcome::Aborted;
        self.current = Some(Current {
            number,
            script,
            next: 0,
            is_begun: false,
            recorded: Transaction { start: 0, end: 0, outcome, operations: Vec::new() },
            lists: HashMap::new(),
        });
    }

    /// Runs a transaction to its end.
    pub(super) fn run(
        &mut self,
        number: u64,
        script: Script,
        session: &mut dyn Session,
    ) -> Result<Transaction, Broken> {
        self.start(number, script);
        loop {
            if let Some(ended) = self.step(session)? {
                return Ok(ended);
            }
        }
    }

    fn now(&self) -> u64 {
        self.clock.fetch_add(1, Ordering::SeqCst)
    }

    /// Takes one step of the current transaction, and returns it if it has ended.
    pub(super) fn step(
        &mut self,
        session: &mut dyn Session,
    ) -> Result<Option<Transaction>, Broken> {
        let Some(mut current) = self.current.take() else { return Ok(None) };
        if !current.is_begun {
            current.recorded.start = self.now();
        }
        let outcome = match current.advance(session)? {
            Ended::No => {
                self.current = Some(current);
                return Ok(None);
            }
            Ended::With(outcome) => outcome,
        };
        let mut recorded = current.recorded;
        recorded.end = self.now();
        recorded.outcome = outcome;
        Ok(Some(recorded))
    }
}

impl Current {
    fn advance(&mut self, session: &mut dyn Session) -> Result<Ended, Broken> {
        if !self.is_begun {
            self.is_begun = true;
            let begun = session.begin();
            return self.end_of("begin", begun, Ended::No);
        }
        let Some(step) = self.script.steps.get(self.next).copied() else {
            return if self.script.commits {
                let committed = session.commit();
                self.end_of("commit", committed, Ended::With(Outcome::Committed))
            } else {
                let aborted = session.abort();
                self.end_of("abort", aborted, Ended::With(Outcome::Aborted))
            };
        };
        self.next += 1;
        match step {
            Step::Read { key } => match session.get(key) {
                Ok(value) => {
                    let seen = numbers(key, &value.unwrap_or_default())?;
                    self.recorded.operations.push(Operation::read(key, &seen));
                    self.lists.insert(key, seen);
                    Ok(Ended::No)
                }
                Err(stop) => self.end_of("get", Err(stop), Ended::No),
            },
            Step::Range { low, high } => match session.range(low, high) {
                Ok(found) => {
                    let mut rows = Vec::with_capacity(found.len());
                    for (key, value) in found {
                        rows.push(Row { key, seen: numbers(key, &value)?.into() });
                    }
                    let rows = rows.into();
                    self.recorded.operations.push(Operation::Range { low, high, rows });
                    Ok(Ended::No)
                }
                Err(stop) => self.end_of("range", Err(stop), Ended::No),
            },
            // Changes are recorded first: if their outcome is unknown, they may have happened.
            Step::Append { key, value } => {
                self.recorded.operations.push(Operation::Append { key, value });
                let list = self.lists.entry(key).or_default();
                list.push(value);
                let bytes: Vec<u8> = list.iter().flat_map(|value| value.to_le_bytes()).collect();
                self.end_of("put", session.put(key, &bytes), Ended::No)
            }
            Step::Write { key, value } => {
                self.recorded.operations.push(Operation::Write { key, value });
                self.end_of("put", session.put(key, &value.to_le_bytes()), Ended::No)
            }
            Step::Delete { key } => {
                self.recorded.operations.push(Operation::Delete { key });
                self.end_of("delete", session.delete(key), Ended::No)
            }
        }
    }

    /// Returns what follows from the answer to an operation.
    fn end_of(
        &self,
        operation: &'static str,
        answer: Result<(), Stop>,
        done: Ended,
    ) -> Result<Ended, Broken> {
        match answer {
            Ok(()) => Ok(done),
            Err(Stop::Refused) => Ok(Ended::With(Outcome::Aborted)),
            Err(Stop::Unknown) => Ok(Ended::With(Outcome::Unknown)),
            Err(Stop::Failed(reason)) => {
                Err(Broken::Operation { operation, number: self.number, reason })
            }
        }
    }
}

/// Returns the numbers that a value holds.
fn numbers(key: u64, value: &[u8]) -> Result<Vec<u64>, Broken> {
    let (words, rest) = value.as_chunks::<8>();
    if rest.is_empty() {
        Ok(words.iter().map(|word| u64::from_le_bytes(*word)).collect())
    } else {
        Err(Broken::Value { key, bytes: value.len() })
    }
}
