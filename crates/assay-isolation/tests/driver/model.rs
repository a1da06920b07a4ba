//! An engine in memory that is serializable, unless a weakness was planted.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use assay_isolation::drive::{Engine, Session, Stop};

/// The planted weakness.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub enum Weakness {
    None,
    /// Commits do not look whether a range has changed.
    RangesUnchecked,
    /// Commits do not look whether what was read has changed.
    ReadsUnchecked,
    /// Commits look at nothing.
    WritesUnchecked,
    /// Commits look at nothing, and each read is of the newest state.
    NewestReads,
    /// Reads are of the newest state, and show writes before their commit.
    DirtyReads,
    /// A transaction reads what was there before its own writes.
    OwnWritesUnseen,
    /// A commit forgets half of its keys.
    HalfCommits,
    /// Transactions that write nothing read at an earlier moment.
    StaleReads,
    /// Values lose a byte.
    ShortValues,
    /// Nothing can be written.
    FullDisk,
}

type State = BTreeMap<u64, Vec<u8>>;

#[derive(Default)]
struct Shared {
    /// The state after each commit, and the keys that it changed.
    states: Vec<State>,
    changed: Vec<BTreeSet<u64>>,
    /// The newest state with writes that are not committed.
    dirty: State,
}

pub struct Model {
    weakness: Weakness,
    shared: Mutex<Shared>,
}

impl Model {
    pub fn new(weakness: Weakness) -> Self {
        let shared = Shared { states: vec![State::new()], ..Shared::default() };
        Self { weakness, shared: Mutex::new(shared) }
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine for Model {
    fn connect(&self, work: &mut dyn FnMut(&mut dyn Session)) -> Result<(), String> {
        work(&mut ModelSession { model: self, own: Own::default() });
        Ok(())
    }
}

#[derive(Default)]
struct Own {
    moment: usize,
    read: BTreeSet<u64>,
    ranges: BTreeSet<u64>,
    written: BTreeMap<u64, Option<Vec<u8>>>,
}

struct ModelSession<'m> {
    model: &'m Model,
    own: Own,
}

impl ModelSession<'_> {
    fn seen(&self, low: u64, high: u64) -> State {
        let shared = self.model.lock();
        let state = match self.model.weakness {
            Weakness::NewestReads => &shared.states[shared.states.len() - 1],
            Weakness::DirtyReads => &shared.dirty,
            _ => &shared.states[self.own.moment],
        };
        let mut seen: State =
            state.range(low..=high).map(|(key, value)| (*key, value.clone())).collect();
        if self.model.weakness != Weakness::OwnWritesUnseen {
            for (key, value) in self.own.written.range(low..=high) {
                match value {
                    Some(value) => _ = seen.insert(*key, value.clone()),
                    None => _ = seen.remove(key),
                }
            }
        }
        seen
    }

    fn write(&mut self, key: u64, value: Option<Vec<u8>>) -> Result<(), Stop> {
        if self.model.weakness == Weakness::FullDisk {
            return Err(Stop::Failed("no room".into()));
        }
        let mut shared = self.model.lock();
        match &value {
            Some(value) => _ = shared.dirty.insert(key, value.clone()),
            None => _ = shared.dirty.remove(&key),
        }
        self.own.written.insert(key, value);
        Ok(())
    }

    /// Returns the keys that must not have changed since the moment of the reads.
    fn checked(&self) -> BTreeSet<u64> {
        let written = self.own.written.keys().copied();
        let (read, ranges) = (self.own.read.iter().copied(), self.own.ranges.iter().copied());
        match self.model.weakness {
            Weakness::WritesUnchecked | Weakness::NewestReads | Weakness::DirtyReads => {
                BTreeSet::new()
            }
            Weakness::ReadsUnchecked => written.collect(),
            Weakness::RangesUnchecked => written.chain(read).collect(),
            Weakness::StaleReads if self.own.written.is_empty() => BTreeSet::new(),
            _ => written.chain(read).chain(ranges).collect(),
        }
    }
}

impl Session for ModelSession<'_> {
    fn begin(&mut self) -> Result<(), Stop> {
        let newest = self.model.lock().states.len() - 1;
        let is_stale = self.model.weakness == Weakness::StaleReads;
        let moment = if is_stale { newest.saturating_sub(3) } else { newest };
        self.own = Own { moment, ..Own::default() };
        Ok(())
    }

    fn get(&mut self, key: u64) -> Result<Option<Vec<u8>>, Stop> {
        self.own.read.insert(key);
        let mut value = self.seen(key, key).remove(&key);
        if let (Weakness::ShortValues, Some(value)) = (self.model.weakness, &mut value) {
            value.pop();
        }
        Ok(value)
    }

    fn put(&mut self, key: u64, value: &[u8]) -> Result<(), Stop> {
        self.write(key, Some(value.into()))
    }

    fn delete(&mut self, key: u64) -> Result<(), Stop> {
        self.write(key, None)
    }

    fn range(&mut self, low: u64, high: u64) -> Result<Vec<(u64, Vec<u8>)>, Stop> {
        self.own.ranges.extend(low..=high);
        Ok(self.seen(low, high).into_iter().collect())
    }

    fn commit(&mut self) -> Result<(), Stop> {
        let checked = self.checked();
        let mut shared = self.model.lock();
        if shared.changed[self.own.moment..].iter().any(|keys| !keys.is_disjoint(&checked)) {
            return Err(Stop::Refused);
        }
        let forgets = self.model.weakness == Weakness::HalfCommits;
        let mut state = shared.states[shared.states.len() - 1].clone();
        for (at, (key, value)) in self.own.written.iter().enumerate() {
            if forgets && at % 2 == 1 {
                continue;
            }
            match value {
                Some(value) => _ = state.insert(*key, value.clone()),
                None => _ = state.remove(key),
            }
        }
        shared.states.push(state);
        shared.changed.push(self.own.written.keys().copied().collect());
        Ok(())
    }

    fn abort(&mut self) -> Result<(), Stop> {
        Ok(())
    }
}
