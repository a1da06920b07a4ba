//! Examples of anomalies, made as small as they can be: operations are taken away as long as the
//! rest, checked again, shows the anomaly and no other kind.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::collect::{committed, each_seen};
use crate::examine::{Raw, examine};
use crate::history::{Operation, Outcome, Row, Transaction};
use crate::verdict::{Anomaly, Found, Step};

/// The most transactions of an example that is made smaller. Taking operations away takes the
/// square of their number in checks.
const MOST_TRANSACTIONS: usize = 64;

/// A part of a history: transactions by their numbers.
type Part = Vec<(usize, Transaction)>;

/// Returns a small example of each anomaly.
pub(crate) fn shrink(history: &[Transaction], found: Vec<Raw>) -> Vec<Found> {
    if found.is_empty() {
        return Vec::new();
    }
    let history = &Known { committed: committed(history), transactions: history };
    let mut drafts: Vec<Draft> = found.into_iter().map(|raw| Draft::new(history, raw)).collect();
    let longest = longest_reads(history, &drafts);
    drafts.iter_mut().for_each(|draft| draft.add_evidence(history, &longest));
    let writers = writers(history.transactions, &drafts);
    drafts.into_iter().map(|draft| draft.shrink(history, &writers)).collect()
}

/// A history, and which of its transactions were committed.
struct Known<'h> {
    committed: Vec<bool>,
    transactions: &'h [Transaction],
}

impl Known<'_> {
    /// Returns a copy of a transaction. If its outcome was unknown, but another one has read what
    /// it wrote, it is a committed one.
    fn copy(&self, number: usize) -> Transaction {
        let mut transaction = self.transactions[number].clone();
        if transaction.outcome == Outcome::Unknown && self.committed[number] {
            transaction.outcome = Outcome::Committed;
            transaction.end = u64::MAX;
        }
        transaction
    }
}

/// A key and a value, or the key alone.
type Wanted = (u64, Option<u64>);

/// An example that is being made.
struct Draft {
    raw: Raw,
    part: Part,
    wanted: Vec<Wanted>,
}

impl Draft {
    /// Starts with the transactions that show the anomaly.
    fn new(history: &Known<'_>, raw: Raw) -> Self {
        let numbers: BTreeSet<usize> = raw.transactions.iter().copied().collect();
        let part: Part = numbers.into_iter().map(|number| (number, history.copy(number))).collect();
        let mut wanted: Vec<Wanted> = raw.keys.iter().map(|key| (*key, None)).collect();
        for (_, transaction) in &part {
            for operation in &transaction.operations {
                if let Operation::Append { key, value } | Operation::Write { key, value } =
                    operation
                    && raw.keys.contains(key)
                {
                    wanted.push((*key, Some(*value)));
                }
            }
        }
        Self { raw, part, wanted }
    }

    /// Adds the reads that show the order of versions.
    fn add_evidence(&mut self, history: &Known<'_>, longest: &Longest) {
        let numbers = self.wanted.iter().filter_map(|wanted| longest.get(wanted));
        let mut numbers: BTreeSet<usize> = numbers.map(|best| best.1).collect();
        self.part.iter().for_each(|(number, _)| _ = numbers.remove(number));
        for number in numbers {
            let mut transaction = history.copy(number);
            let wanted =
                |operation: &Operation| self.wanted.iter().any(|wanted| shows(operation, wanted));
            transaction.operations.retain(wanted);
            self.part.push((number, transaction));
        }
        self.part.sort_by_key(|(number, _)| *number);
    }

    /// Returns the part with those who wrote what it shows of the anomaly's keys.
    fn with_writers(&self, history: &Known<'_>, writers: &Writers) -> Part {
        let mut numbers = BTreeSet::new();
        for (_, transaction) in &self.part {
            each_seen(transaction, &mut |key, value| {
                let writer = writers.get(&(key, value));
                numbers.extend(writer.filter(|_| self.raw.keys.contains(&key)));
            });
        }
        self.raw.transactions.iter().for_each(|number| _ = numbers.remove(number));
        let is_wanted = |operation: &Operation| {
            operation.changed_key().is_some_and(|key| self.raw.keys.contains(&key))
                || self.wanted.iter().any(|wanted| shows(operation, wanted))
        };
        let mut part = self.part.clone();
        part.retain(|(number, _)| !numbers.contains(number));
        for number in numbers {
            let mut transaction = history.copy(number);
            transaction.operations.retain(is_wanted);
            part.push((number, transaction));
        }
        part.sort_by_key(|(number, _)| *number);
        part
    }

    /// Takes operations away, and returns the rest.
    fn shrink(self, history: &Known<'_>, writers: &Writers) -> Found {
        let anomaly = self.raw.anomaly;
        let example = Example::new(self.part.clone(), anomaly, writers)
            .or_else(|| Example::new(self.with_writers(history, writers), anomaly, writers));
        let Some(mut example) = example else {
            return Found { anomaly, transactions: self.part, steps: self.raw.steps };
        };
        if example.part.len() <= MOST_TRANSACTIONS {
            example.shrink(&self.raw.keys);
        }
        Found { anomaly, transactions: example.part, steps: example.steps }
    }
}

/// A part that shows an anomaly, checked by itself.
struct Example<'w> {
    part: Part,
    steps: Vec<Step>,
    anomaly: Anomaly,
    /// The kinds that the first part showed.
    kinds: BTreeSet<Anomaly>,
    writers: &'w Writers,
}

impl<'w> Example<'w> {
    /// Returns the example of a part, if it shows the anomaly.
    fn new(part: Part, anomaly: Anomaly, writers: &'w Writers) -> Option<Self> {
        let part = projected(&part, writers);
        let kinds = kinds(&part);
        let steps = shown(&part, anomaly, &kinds)?;
        Some(Self { part, steps, anomaly, kinds, writers })
    }

    /// Takes away what it can.
    fn shrink(&mut self, keys: &[u64]) {
        let mut less = self.part.clone();
        for (_, transaction) in &mut less {
            transaction.operations.retain(|operation| touches(operation, keys));
        }
        self.replace(less);
        for at in (0..self.part.len()).rev() {
            let mut less = self.part.clone();
            less.remove(at);
            self.replace(less);
        }
        // An operation that could not be taken away may be, when others are gone.
        let mut count = usize::MAX;
        while operations(&self.part) < count {
            count = operations(&self.part);
            for (transaction, operation) in places(&self.part) {
                let mut less = self.part.clone();
                less[transaction].1.operations.remove(operation);
                self.replace(less);
            }
        }
        self.part.retain(|(_, transaction)| !transaction.operations.is_empty());
    }

    /// Takes a smaller part, if it shows the anomaly too.
    fn replace(&mut self, less: Part) {
        let less = projected(&less, self.writers);
        if let Some(steps) = shown(&less, self.anomaly, &self.kinds) {
            self.part = less;
            self.steps = steps;
        }
    }
}

/// Returns true if an operation reads or changes one of the keys.
fn touches(operation: &Operation, keys: &[u64]) -> bool {
    match operation {
        Operation::Read { key, .. } => keys.contains(key),
        Operation::Range { low, high, .. } => keys.iter().any(|key| (low..=high).contains(&key)),
        change => change.changed_key().is_some_and(|key| keys.contains(&key)),
    }
}

fn operations(part: &Part) -> usize {
    part.iter().map(|(_, transaction)| transaction.operations.len()).sum()
}

/// Returns the places of all operations, the last first, so that taking one away moves none that
/// comes later.
fn places(part: &Part) -> Vec<(usize, usize)> {
    let of = |at: usize| (0..part[at].1.operations.len()).map(move |operation| (at, operation));
    let mut places: Vec<_> = (0..part.len()).flat_map(of).collect();
    places.reverse();
    places
}

fn histories(part: &Part) -> Vec<Transaction> {
    part.iter().map(|(_, transaction)| transaction.clone()).collect()
}

/// Returns the kinds of anomalies of a part.
fn kinds(part: &Part) -> BTreeSet<Anomaly> {
    let found = examine(&histories(part)).unwrap_or_default();
    found.into_iter().map(|raw| raw.anomaly).collect()
}

/// Returns the steps of an anomaly in a part, if it shows that, and no kind that is new.
fn shown(part: &Part, anomaly: Anomaly, allowed: &BTreeSet<Anomaly>) -> Option<Vec<Step>> {
    let found = examine(&histories(part)).ok()?;
    if !found.iter().all(|raw| allowed.contains(&raw.anomaly)) {
        return None;
    }
    let raw = found.into_iter().find(|raw| raw.anomaly == anomaly)?;
    let named = |step: Step| Step { from: part[step.from].0, to: part[step.to].0, ..step };
    Some(raw.steps.into_iter().map(named).collect())
}

/// Returns a part without what its reads show of writes that are not in it.
fn projected(part: &Part, writers: &Writers) -> Part {
    let mut kept = HashSet::new();
    let mut changed = HashSet::new();
    for (_, transaction) in part {
        for operation in &transaction.operations {
            changed.extend(operation.changed_key());
            if let Operation::Append { key, value } | Operation::Write { key, value } = operation {
                kept.insert((*key, *value));
            }
        }
    }
    let is_shown =
        |key: u64, value: u64| kept.contains(&(key, value)) || !writers.contains_key(&(key, value));
    let mut part = part.clone();
    for operation in part.iter_mut().flat_map(|(_, transaction)| &mut transaction.operations) {
        match operation {
            Operation::Read { key, seen } => *seen = left(seen, |value| is_shown(*key, value)),
            Operation::Range { rows, .. } => {
                let less = rows.iter().map(|row| Row {
                    key: row.key,
                    seen: left(&row.seen, |value| is_shown(row.key, value)),
                });
                // A row stays a row: it was no gap in the range.
                let is_changed = |row: &Row| !row.seen.is_empty() || changed.contains(&row.key);
                *rows = less.filter(is_changed).collect();
            }
            Operation::Append { .. } | Operation::Write { .. } | Operation::Delete { .. } => {}
        }
    }
    part
}

fn left(seen: &[u64], is_shown: impl Fn(u64) -> bool) -> Box<[u64]> {
    seen.iter().copied().filter(|value| is_shown(*value)).collect()
}

/// The transaction that wrote a value to a key.
type Writers = HashMap<(u64, u64), usize>;

/// Returns the writers of what the drafts' reads show.
fn writers(history: &[Transaction], drafts: &[Draft]) -> Writers {
    let mut read = HashSet::new();
    for (_, transaction) in drafts.iter().flat_map(|draft| &draft.part) {
        each_seen(transaction, &mut |key, value| {
            read.insert((key, value));
        });
    }
    let mut writers = Writers::new();
    for (number, transaction) in history.iter().enumerate() {
        for operation in &transaction.operations {
            if let Operation::Append { key, value } | Operation::Write { key, value } = operation
                && read.contains(&(*key, *value))
            {
                writers.insert((*key, *value), number);
            }
        }
    }
    writers
}

/// The longest read of a key, or of those that show a value: its length, and who read it.
type Longest = BTreeMap<Wanted, (usize, usize)>;

/// Searches the reads that show most of what the drafts depend on.
fn longest_reads(history: &Known<'_>, drafts: &[Draft]) -> Longest {
    let mut keys: BTreeMap<u64, BTreeSet<Option<u64>>> = BTreeMap::new();
    for (key, value) in drafts.iter().flat_map(|draft| &draft.wanted) {
        keys.entry(*key).or_default().insert(*value);
    }
    let mut longest = Longest::new();
    for (number, transaction) in history.transactions.iter().enumerate() {
        if !history.committed[number] {
            continue;
        }
        let own = |key: u64, value: u64| {
            let wrote = |operation: &Operation| {
                matches!(operation, Operation::Append { key: k, value: v }
                    | Operation::Write { key: k, value: v } if *k == key && *v == value)
            };
            transaction.operations.iter().any(wrote)
        };
        for operation in &transaction.operations {
            each_read(operation, &mut |key, seen| {
                let Some(values) = keys.get(&key) else { return };
                // Own writes at the end show nothing of the others' order. Elsewhere they make the
                // read useless.
                let others = seen.iter().take_while(|value| !own(key, **value)).count();
                if !seen[others..].iter().all(|value| own(key, *value)) {
                    return;
                }
                for value in values {
                    let is_shown = value.is_none_or(|value| seen.contains(&value));
                    let best = longest.entry((key, *value)).or_insert((0, number));
                    if is_shown && others > best.0 {
                        *best = (others, number);
                    }
                }
            });
        }
    }
    longest.retain(|_, best| best.0 > 0);
    longest
}

/// Calls `visit` with each key that an operation shows, and its values.
fn each_read(operation: &Operation, visit: &mut impl FnMut(u64, &[u64])) {
    match operation {
        Operation::Read { key, seen } => visit(*key, seen),
        Operation::Range { rows, .. } => rows.iter().for_each(|row| visit(row.key, &row.seen)),
        Operation::Append { .. } | Operation::Write { .. } | Operation::Delete { .. } => {}
    }
}

/// Returns true if an operation shows a key, with the value if one is given.
fn shows(operation: &Operation, wanted: &Wanted) -> bool {
    let mut shows = false;
    each_read(operation, &mut |key, seen| {
        shows |= key == wanted.0 && wanted.1.is_none_or(|value| seen.contains(&value));
    });
    shows
}
