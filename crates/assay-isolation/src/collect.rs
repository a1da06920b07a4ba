//! All that a history says of each key: who wrote it, and what committed transactions saw of it.

use std::collections::{HashMap, HashSet};

use crate::history::{Operation, Outcome, Transaction};
use crate::verdict::Anomaly;

/// Stands for no place in a list.
pub(crate) const NONE: u32 = u32::MAX;

/// The reason why a history cannot be checked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A key was used as a list and as a register.
    #[error("key {key} is appended to and written: give lists and registers keys of their own")]
    MixedKey {
        /// The key.
        key: u64,
    },
    /// Two operations wrote one value, so that a read does not show which of them it saw.
    #[error("value {value} is written to key {key} twice: write each value once")]
    WrittenTwice {
        /// The key.
        key: u64,
        /// The value.
        value: u64,
    },
    /// A transaction ended before it started.
    #[error("transaction {number} ends before it starts: give both positions of one counter")]
    BackInTime {
        /// Its number in the history.
        number: usize,
    },
    /// The history has more transactions than numbers of 32 bits.
    #[error("the history has {count} transactions: check 4 thousand million at most at once")]
    TooLong {
        /// Their number.
        count: usize,
    },
}

/// An anomaly that needs no cycle, with the transactions that show it.
#[derive(Clone, Debug)]
pub(crate) struct Direct {
    pub(crate) anomaly: Anomaly,
    pub(crate) transactions: Vec<u32>,
    pub(crate) key: u64,
}

/// The first anomaly of each kind.
#[derive(Default)]
pub(crate) struct Directs {
    pub(crate) found: Vec<Direct>,
}

impl Directs {
    pub(crate) fn note(&mut self, anomaly: Anomaly, transactions: &[u32], key: u64) {
        if self.found.iter().all(|direct| direct.anomaly != anomaly) {
            self.found.push(Direct { anomaly, transactions: transactions.to_vec(), key });
        }
    }
}

/// The effect of a write on its key.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Append,
    Write,
    Delete,
}

/// A write of a transaction, committed or not.
#[derive(Clone, Copy)]
pub(crate) struct Write {
    pub(crate) key: u32,
    pub(crate) transaction: u32,
    pub(crate) kind: Kind,
    pub(crate) value: u64,
    /// The view of the key that its transaction had before it first wrote it.
    pub(crate) base: u32,
}

/// A committed transaction's view of what others had written to a key.
#[derive(Clone, Copy)]
pub(crate) struct View<'h> {
    pub(crate) key: u32,
    pub(crate) transaction: u32,
    pub(crate) seen: &'h [u64],
    /// True if a range did not show the key.
    pub(crate) is_gap: bool,
}

/// All writes and views. Keys are numbered in ascending order.
pub(crate) struct Collected<'h> {
    pub(crate) keys: Vec<u64>,
    pub(crate) committed: Vec<bool>,
    pub(crate) writes: Vec<Write>,
    pub(crate) views: Vec<View<'h>>,
    pub(crate) directs: Directs,
}

/// The work of a transaction on a key so far.
struct Own {
    /// Its first view of the key, and the last before it wrote it.
    first: u32,
    base: u32,
    written: Written,
}

/// A key that the transaction has not touched.
const UNTOUCHED: Own = Own { first: NONE, base: NONE, written: Written::Nothing };

enum Written {
    Nothing,
    List(Vec<u64>),
    Register(Option<u64>),
}

/// Collects the writes and views of a history.
pub(crate) fn collect(history: &[Transaction]) -> Result<Collected<'_>, Malformed> {
    if u32::try_from(history.len()).is_err() {
        return Err(Malformed::TooLong { count: history.len() });
    }
    for (number, transaction) in history.iter().enumerate() {
        if transaction.outcome == Outcome::Committed && transaction.end < transaction.start {
            return Err(Malformed::BackInTime { number });
        }
    }
    let operations = history.iter().flat_map(|transaction| &transaction.operations);
    let mut keys: Vec<u64> = operations.filter_map(Operation::changed_key).collect();
    keys.sort_unstable();
    keys.dedup();
    let ids = keys.iter().enumerate().map(|(id, key)| (*key, id as u32)).collect();
    let collected = Collected {
        committed: committed(history),
        keys,
        writes: Vec::new(),
        views: Vec::new(),
        directs: Directs::default(),
    };
    let mut collector = Collector { collected, ids, own: HashMap::new(), transaction: 0 };
    for (number, transaction) in history.iter().enumerate() {
        collector.transaction = number as u32;
        collector.own.clear();
        transaction.operations.iter().for_each(|operation| collector.add(operation));
    }
    Ok(collector.collected)
}

struct Collector<'h> {
    collected: Collected<'h>,
    ids: HashMap<u64, u32>,
    own: HashMap<u32, Own>,
    transaction: u32,
}

impl<'h> Collector<'h> {
    fn add(&mut self, operation: &'h Operation) {
        match operation {
            Operation::Append { key, value } => self.write(*key, Kind::Append, *value),
            Operation::Write { key, value } => self.write(*key, Kind::Write, *value),
            Operation::Delete { key } => self.write(*key, Kind::Delete, 0),
            Operation::Read { key, seen } => self.read(*key, seen),
            Operation::Range { low, high, rows } => {
                rows.iter().for_each(|row| self.read(row.key, &row.seen));
                let shown: HashSet<u64> = rows.iter().map(|row| row.key).collect();
                let first = self.collected.keys.partition_point(|key| key < low);
                let behind = self.collected.keys.partition_point(|key| key <= high);
                for id in first..behind.max(first) {
                    if !shown.contains(&self.collected.keys[id]) {
                        self.view(id as u32, &[], true);
                    }
                }
            }
        }
    }

    fn write(&mut self, key: u64, kind: Kind, value: u64) {
        let id = self.ids[&key];
        let own = self.own.entry(id).or_insert(UNTOUCHED);
        let views = self.collected.views.get(own.first as usize..).unwrap_or_default();
        let is_foreseen = views.iter().any(|view| view.key == id && view.seen.contains(&value));
        match (kind, &mut own.written) {
            (Kind::Append, Written::List(values)) => values.push(value),
            (Kind::Append, written) => *written = Written::List(vec![value]),
            (Kind::Write, written) => *written = Written::Register(Some(value)),
            (Kind::Delete, written) => *written = Written::Register(None),
        }
        let transaction = self.transaction;
        let base = own.base;
        self.collected.writes.push(Write { key: id, transaction, kind, value, base });
        if is_foreseen && kind != Kind::Delete {
            self.note(Anomaly::Internal, key);
        }
    }

    fn read(&mut self, key: u64, seen: &'h [u64]) {
        match self.ids.get(&key) {
            Some(id) => self.view(*id, seen, false),
            None if seen.is_empty() => {}
            None => self.note(Anomaly::Garbage, key),
        }
    }

    fn note(&mut self, anomaly: Anomaly, key: u64) {
        if self.collected.committed[self.transaction as usize] {
            self.collected.directs.note(anomaly, &[self.transaction], key);
        }
    }

    fn view(&mut self, id: u32, seen: &'h [u64], is_gap: bool) {
        let own = self.own.entry(id).or_insert(UNTOUCHED);
        let others = match &own.written {
            Written::Nothing => Some(seen),
            Written::List(values) => seen
                .strip_suffix(&values[..])
                .filter(|others| values.iter().all(|value| !others.contains(value))),
            Written::Register(value) if value.as_slice() == seen => return,
            Written::Register(_) => None,
        };
        let Some(seen) = others else {
            self.note(Anomaly::Internal, self.collected.keys[id as usize]);
            return;
        };
        if !self.collected.committed[self.transaction as usize] {
            return;
        }
        let number = self.collected.views.len() as u32;
        own.first = own.first.min(number);
        if matches!(own.written, Written::Nothing) {
            own.base = number;
        }
        let transaction = self.transaction;
        self.collected.views.push(View { key: id, transaction, seen, is_gap });
    }
}

/// Returns for each transaction whether it was committed. One of unknown outcome was, if a
/// committed one has read what it wrote; otherwise nothing of it matters.
pub(crate) fn committed(history: &[Transaction]) -> Vec<bool> {
    let is = |outcome| move |transaction: &Transaction| transaction.outcome == outcome;
    let mut committed: Vec<bool> = history.iter().map(is(Outcome::Committed)).collect();
    let mut writers: HashMap<(u64, u64), usize> = HashMap::new();
    for (number, transaction) in history.iter().enumerate() {
        if transaction.outcome == Outcome::Unknown {
            for operation in &transaction.operations {
                if let Operation::Append { key, value } | Operation::Write { key, value } =
                    operation
                {
                    writers.insert((*key, *value), number);
                }
            }
        }
    }
    if writers.is_empty() {
        return committed;
    }
    let mut left: Vec<usize> = (0..history.len()).filter(|number| committed[*number]).collect();
    while let Some(reader) = left.pop() {
        each_seen(&history[reader], &mut |key, value| {
            if let Some(writer) = writers.get(&(key, value))
                && !committed[*writer]
            {
                committed[*writer] = true;
                left.push(*writer);
            }
        });
    }
    committed
}

/// Calls `visit` with each key and value that a transaction has read.
pub(crate) fn each_seen(transaction: &Transaction, visit: &mut impl FnMut(u64, u64)) {
    for operation in &transaction.operations {
        match operation {
            Operation::Read { key, seen } => seen.iter().for_each(|value| visit(*key, *value)),
            Operation::Range { rows, .. } => {
                rows.iter().for_each(|row| row.seen.iter().for_each(|value| visit(row.key, *value)))
            }
            Operation::Append { .. } | Operation::Write { .. } | Operation::Delete { .. } => {}
        }
    }
}
