//! The content of the store, by the operations that were done: a version for each record, in four
//! bytes.
//!
//! In a phase each record belongs to one thread, by its number: only that thread writes it. So the
//! versions of a record follow each other in the order of one thread's operations.

use serde::{Deserialize, Serialize};

use super::records::{LOADED, Records};

/// The state of a record: how often it was written, and whether it is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct State(u32);

impl State {
    /// The state after the load.
    pub(super) const LOADED: Self = Self::new(LOADED, true);

    /// Returns the state of a record that was written this often.
    pub(super) const fn new(version: u32, is_there: bool) -> Self {
        Self(version << 1 | is_there as u32)
    }

    /// Returns the number of writes so far.
    pub(super) fn version(self) -> u32 {
        self.0 >> 1
    }

    /// Returns true if the record is there.
    pub(super) fn is_there(self) -> bool {
        self.0 & 1 == 1
    }

    /// Returns the state after one more write, which leaves the record there or not.
    pub(super) fn next(self, is_there: bool) -> Self {
        Self::new(self.version() + 1, is_there)
    }
}

/// All records between two phases, by their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    states: Vec<State>,
}

/// The records of one thread in a phase: those whose number, divided by the number of threads,
/// leaves the thread's own.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    states: Vec<State>,
    thread: u64,
    threads: u64,
    /// The number of records that are there.
    live: u64,
    /// The place before which no record is there.
    oldest: usize,
}

impl Model {
    /// Returns the model of a store with loaded records.
    pub(super) fn loaded(count: u64) -> Self {
        Self { states: vec![State::LOADED; count as usize] }
    }

    /// Returns the number of records that there are or were.
    pub(super) fn rows(&self) -> u64 {
        self.states.len() as u64
    }

    /// Returns the number of records that are there.
    pub(super) fn live(&self) -> u64 {
        self.states.iter().filter(|state| state.is_there()).count() as u64
    }

    /// Returns the bytes of keys and values in the records that are there.
    pub(super) fn live_bytes(&self, records: &Records) -> u64 {
        let there = (0..).zip(&self.states).filter(|(_, state)| state.is_there());
        there.map(|(row, state)| records.record_bytes(row, state.version())).sum()
    }

    /// Returns the state of a record.
    pub(super) fn state(&self, row: u64) -> State {
        self.states.get(row as usize).copied().unwrap_or_default()
    }

    /// Returns the first record that is there.
    pub(super) fn first_live(&self) -> Option<u64> {
        self.states.iter().position(State::of_live).map(|row| row as u64)
    }

    /// Puts a record back into a state in which a killed process left it.
    pub(super) fn put_back(&mut self, row: u64, state: State) {
        if let Some(now) = self.states.get_mut(row as usize) {
            *now = state;
        }
    }

    /// Deals the records to threads.
    pub(super) fn lanes(self, threads: u32) -> Vec<Lane> {
        let lane = |thread: usize| {
            let states = self.states.iter().skip(thread).step_by(threads as usize);
            let states: Vec<_> = states.copied().collect();
            let live = states.iter().filter(|state| state.is_there()).count() as u64;
            let thread = thread as u64;
            let threads = u64::from(threads);
            Lane { states, thread, threads, live, oldest: 0 }.at_oldest()
        };
        (0..threads as usize).map(lane).collect()
    }

    /// Collects the records of all threads. Numbers that a thread has not reached are of no record.
    pub(super) fn of_lanes(lanes: &[&Lane]) -> Self {
        let longest = lanes.iter().map(|lane| lane.states.len()).max().unwrap_or(0);
        let mut states = vec![State::default(); longest * lanes.len()];
        for (thread, lane) in lanes.iter().enumerate() {
            for (at, state) in lane.states.iter().enumerate() {
                states[at * lanes.len() + thread] = *state;
            }
        }
        let end = states.iter().rposition(|state| *state != State::default());
        states.truncate(end.map_or(0, |last| last + 1));
        Self { states }
    }
}

impl Lane {
    fn at_oldest(mut self) -> Self {
        self.advance();
        self
    }

    fn advance(&mut self) {
        while self.states.get(self.oldest).is_some_and(|state| !state.is_there()) {
            self.oldest += 1;
        }
    }

    /// Returns the number of the record at a place of this lane.
    pub(super) fn row(&self, place: usize) -> u64 {
        place as u64 * self.threads + self.thread
    }

    /// Returns the place of a record in its lane.
    pub(super) fn place(&self, row: u64) -> usize {
        (row / self.threads) as usize
    }

    /// Returns true if the record is of this lane.
    pub(super) fn owns(&self, row: u64) -> bool {
        row % self.threads == self.thread
    }

    /// Returns the number of places.
    pub(super) fn len(&self) -> usize {
        self.states.len()
    }

    /// Returns the number of records that are there.
    pub(super) fn live(&self) -> u64 {
        self.live
    }

    /// Returns the place of the oldest record; the end if none is left.
    pub(super) fn oldest(&self) -> usize {
        self.oldest
    }

    /// Returns the state of a record of this lane.
    pub(super) fn state(&self, row: u64) -> State {
        self.states.get(self.place(row)).copied().unwrap_or_default()
    }

    /// Notes a write of a record of this lane, which may be the next new one.
    pub(super) fn write(&mut self, row: u64, is_there: bool) -> State {
        let place = self.place(row);
        if place == self.states.len() {
            self.states.push(State::default());
        }
        let before = self.states[place];
        let after = before.next(is_there);
        self.states[place] = after;
        self.live = self.live - u64::from(before.is_there()) + u64::from(is_there);
        if is_there {
            self.oldest = self.oldest.min(place);
        }
        self.advance();
        after
    }

    /// Returns the first place from `from` on, and then from the oldest record on, whose record is
    /// there.
    pub(super) fn live_from(&self, from: usize) -> Option<usize> {
        if self.live == 0 {
            return None;
        }
        let from = from.max(self.oldest).min(self.states.len());
        let ahead = self.states[from..].iter().position(State::of_live);
        ahead.map(|at| from + at).or_else(|| {
            self.states[self.oldest..from]
                .iter()
                .position(State::of_live)
                .map(|at| self.oldest + at)
        })
    }
}

impl State {
    fn of_live(state: &Self) -> bool {
        state.is_there()
    }
}

/// The records that are there at the start of a phase; none if all of them are.
#[derive(Clone, Debug)]
pub(super) struct Start {
    pub(super) rows: u64,
    gone: Option<Vec<u64>>,
}

impl Start {
    pub(super) fn of(model: &Model) -> Self {
        let rows = model.rows();
        let mut gone = vec![0_u64; rows.div_ceil(64) as usize];
        let mut any = false;
        for (row, state) in model.states.iter().enumerate() {
            if !state.is_there() {
                gone[row / 64] |= 1 << (row % 64);
                any = true;
            }
        }
        Self { rows, gone: any.then_some(gone) }
    }

    /// Returns true if the record was there.
    pub(super) fn has(&self, row: u64) -> bool {
        let is_gone = |gone: &Vec<u64>| gone[(row / 64) as usize] >> (row % 64) & 1 == 1;
        row < self.rows && !self.gone.as_ref().is_some_and(is_gone)
    }
}
