//! Generates small histories: an interpreter runs transactions in turns, at a level.

use std::collections::{BTreeMap, BTreeSet};

use assay_isolation::{Operation, Outcome, Row, Transaction};

use crate::random::Random;

/// The isolation of transactions by the interpreter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// Reads are of the moment of the start, and are unchanged at the commit.
    Serializable,
    /// Serializable, but the moment may be an earlier one.
    Stale,
    /// Reads are of the moment of the start; the first of two that write a key is committed.
    Snapshot,
    /// Reads show what was committed last.
    Committed,
    /// Reads show all writes.
    Uncommitted,
}

pub const ALL: [Isolation; 5] = [
    Isolation::Serializable,
    Isolation::Stale,
    Isolation::Snapshot,
    Isolation::Committed,
    Isolation::Uncommitted,
];

/// The habit of transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Habit {
    /// They read each key before they write it, and write back what they read with a change.
    ReadFirst,
    /// Appends are made to the list as it is at the commit; registers are read before.
    AppendAtOnce,
    /// Registers are written without reading, and deleted.
    Blind,
}

pub const HABITS: [Habit; 3] = [Habit::ReadFirst, Habit::AppendAtOnce, Habit::Blind];

/// Lists have the keys 1 and 2, registers 3 and 4.
const KEYS: u64 = 4;

fn is_list(key: u64) -> bool {
    key <= KEYS / 2
}

type State = BTreeMap<u64, Vec<u64>>;

struct Running {
    number: usize,
    left: u64,
    view: State,
    started_at: usize,
    read: BTreeSet<u64>,
    changes: Vec<Operation>,
}

struct Interpreter {
    random: Random,
    isolation: Isolation,
    habit: Habit,
    history: Vec<Transaction>,
    /// The newest state, those before the commits, and the keys that each commit changed.
    state: State,
    earlier: Vec<State>,
    commits: Vec<BTreeSet<u64>>,
    next_value: u64,
    clock: u64,
}

/// Returns a history of at most `most` transactions.
pub fn history(seed: u64, isolation: Isolation, habit: Habit, most: u64) -> Vec<Transaction> {
    let mut random = Random(seed);
    let mut left = most - random.below(3).min(most - 1);
    let mut interpreter = Interpreter {
        random,
        isolation,
        habit,
        history: Vec::new(),
        state: State::new(),
        earlier: Vec::new(),
        commits: Vec::new(),
        next_value: 1,
        clock: 0,
    };
    let mut running: Vec<Running> = Vec::new();
    while left > 0 || !running.is_empty() {
        let starts = running.is_empty() || (left > 0 && interpreter.random.once_in(2));
        if left > 0 && starts {
            left -= 1;
            running.push(interpreter.start());
            continue;
        }
        let at = interpreter.random.below(running.len() as u64) as usize;
        if running[at].left > 0 {
            interpreter.step(&mut running[at]);
        } else {
            let ended = running.remove(at);
            interpreter.end(ended);
        }
    }
    if interpreter.random.once_in(3) {
        interpreter.spoil();
    }
    interpreter.history
}

impl Interpreter {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn start(&mut self) -> Running {
        let start = self.tick();
        let transaction =
            Transaction { start, end: 0, outcome: Outcome::Aborted, operations: Vec::new() };
        self.history.push(transaction);
        let mut started_at = self.commits.len();
        let mut view = self.state.clone();
        if self.isolation == Isolation::Stale && started_at > 0 {
            started_at -= 1;
            view = self.earlier[started_at].clone();
        }
        Running {
            number: self.history.len() - 1,
            left: 1 + self.random.below(4),
            view,
            started_at,
            read: BTreeSet::new(),
            changes: Vec::new(),
        }
    }

    /// Returns what a transaction sees.
    fn seen(&self, running: &Running) -> State {
        let mut seen = match self.isolation {
            Isolation::Serializable | Isolation::Stale | Isolation::Snapshot => {
                running.view.clone()
            }
            Isolation::Committed | Isolation::Uncommitted => self.state.clone(),
        };
        if self.isolation != Isolation::Uncommitted {
            for change in &running.changes {
                apply(&mut seen, change);
            }
        }
        seen
    }

    fn note(&mut self, running: &Running, operation: Operation) {
        self.history[running.number].operations.push(operation);
    }

    fn read(&mut self, running: &mut Running, key: u64) -> Vec<u64> {
        running.read.insert(key);
        let seen = self.seen(running).remove(&key).unwrap_or_default();
        self.note(running, Operation::read(key, &seen));
        seen
    }

    fn step(&mut self, running: &mut Running) {
        running.left -= 1;
        let key = 1 + self.random.below(KEYS);
        match self.random.below(5) {
            0 | 1 => _ = self.read(running, key),
            2 => self.range(running, key),
            _ => self.change(running, key),
        }
    }

    fn range(&mut self, running: &mut Running, low: u64) {
        let high = low + self.random.below(3);
        running.read.extend(low..=high);
        let seen = self.seen(running);
        let row = |(key, seen): (&u64, &Vec<u64>)| Row { key: *key, seen: seen[..].into() };
        let rows = seen.range(low..=high).map(row).collect();
        self.note(running, Operation::Range { low, high, rows });
    }

    fn change(&mut self, running: &mut Running, key: u64) {
        let value = self.next_value;
        self.next_value += 1;
        let reads_first = match self.habit {
            Habit::ReadFirst => true,
            Habit::AppendAtOnce => !is_list(key) || self.random.once_in(2),
            Habit::Blind => self.random.once_in(3),
        };
        if reads_first {
            self.read(running, key);
        }
        let deletes = self.habit == Habit::Blind && self.random.once_in(4);
        let change = if is_list(key) {
            Operation::Append { key, value }
        } else if deletes {
            Operation::Delete { key }
        } else {
            Operation::Write { key, value }
        };
        self.note(running, change.clone());
        if self.isolation == Isolation::Uncommitted {
            apply(&mut self.state, &change);
        }
        running.changes.push(change);
    }

    fn end(&mut self, running: Running) {
        let keys: BTreeSet<u64> =
            running.changes.iter().filter_map(Operation::changed_key).collect();
        let changed: BTreeSet<u64> =
            self.commits[running.started_at..].iter().flatten().copied().collect();
        let is_refused = match self.isolation {
            Isolation::Serializable => {
                !changed.is_disjoint(&keys) || !changed.is_disjoint(&running.read)
            }
            // Keys that are only read may have been changed since.
            Isolation::Stale => {
                !keys.is_empty()
                    && !changed.is_disjoint(&keys.union(&running.read).copied().collect())
            }
            Isolation::Snapshot => !changed.is_disjoint(&keys),
            Isolation::Committed | Isolation::Uncommitted => false,
        };
        let outcome = match self.random.below(12) {
            _ if is_refused => Outcome::Aborted,
            0 => Outcome::Aborted,
            1 => Outcome::Unknown,
            _ => Outcome::Committed,
        };
        let happens = match outcome {
            Outcome::Committed => true,
            Outcome::Aborted => false,
            Outcome::Unknown => self.random.once_in(2),
        };
        if happens && self.isolation != Isolation::Uncommitted {
            self.earlier.push(self.state.clone());
            let written_back = self.seen(&running);
            for change in &running.changes {
                match change {
                    Operation::Append { key, .. } if self.habit == Habit::ReadFirst => {
                        let values = written_back[key].clone();
                        self.state.insert(*key, values);
                    }
                    change => apply(&mut self.state, change),
                }
            }
            self.commits.push(keys);
        }
        let end = self.tick();
        let transaction = &mut self.history[running.number];
        transaction.outcome = outcome;
        transaction.end = end;
    }

    /// Changes what one read has seen.
    fn spoil(&mut self) {
        let at = self.random.below(self.history.len() as u64) as usize;
        let (choice, value) = (self.random.below(4), 1 + self.random.below(self.next_value));
        for operation in &mut self.history[at].operations {
            if let Operation::Read { key, seen } = operation {
                let mut values = seen.to_vec();
                match choice {
                    0 => _ = values.pop(),
                    1 if is_list(*key) => values.push(value),
                    2 => values.truncate(1),
                    _ => values.reverse(),
                }
                *seen = values.into();
                return;
            }
        }
    }
}

fn apply(state: &mut State, change: &Operation) {
    match change {
        Operation::Append { key, value } => state.entry(*key).or_default().push(*value),
        Operation::Write { key, value } => _ = state.insert(*key, vec![*value]),
        Operation::Delete { key } => _ = state.remove(key),
        Operation::Read { .. } | Operation::Range { .. } => {}
    }
}
