//! A run: a database whose disk fails as the seed says, and what may come back of it.

use crate::reading::check;
use lode::simulation::{self, Fault, FaultKind, Mapping, Simulated};
use lode::{Database, Durability, Error, Options, Table};

use super::readers::Reader;
use super::tables::{Model, TABLES, read};
use crate::common::random::Random;

impl Random {
    pub fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

pub struct Run {
    pub(super) random: Random,
    pub(super) disk: Simulated,
    pub(super) options: Options,
    pub(super) level: Durability,
    pub(super) db: Option<Database>,
    pub(super) readers: Vec<Reader>,
    /// The number of times that a reader showed what was there.
    pub(super) reads: u64,
    pub(super) model: Model,
    /// The contents after each operation since the last that is promised.
    pub(super) states: Vec<State>,
    /// The most lanes of the log.
    pub(super) lanes: u64,
    /// About the number of consecutive operations in a lane.
    operations_in_a_lane: u64,
    /// The number of times that contents were promised.
    pub(super) promises: u64,
    pub(super) keys: u64,
    pub(super) next_value: u32,
    /// From which operation on the power is off.
    pub(super) power_off_at: Option<u64>,
    /// True if the power was off since the database was open last.
    pub(super) has_crashed: bool,
}

/// The content after an operation.
#[derive(Clone)]
pub struct State {
    pub model: Model,
    /// True if a checkpoint could have been made there.
    pub checkpointed: bool,
    /// True if the operation comes after all before it, and before all after it, in the log.
    pub is_alone: bool,
}

impl State {
    pub(super) fn of(model: &Model, checkpointed: bool) -> Self {
        Self { model: model.clone(), checkpointed, is_alone: false }
    }
}

/// Returns true if a content is one after some operations of several lanes of the log. They are the
/// first of each lane and under each key: each lane has lost its last ones.
fn is_mixed_of(states: &[State], found: &Model) -> bool {
    let is_alone = |_: &State, next: &State| !next.is_alone;
    states.chunk_by(is_alone).any(|between| {
        let has_tables = between.iter().all(|state| state.model.tables == found.tables);
        let all = between.iter().flat_map(|state| state.model.records.keys());
        has_tables
            && all.chain(found.records.keys()).all(|key| {
                let of = |state: &State| state.model.records.get(key) == found.records.get(key);
                between.iter().any(of)
            })
    })
}

/// The outcome of an operation.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    Well,
    /// The power is off, or the database takes no more writes.
    Over,
}

impl Run {
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let levels =
            [Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];
        let level = levels[random.below(4) as usize];
        let disk = Simulated::new(seed);
        disk.set_mapping(Mapping::ALL[random.below(3) as usize]);
        let log_bytes = if random.one_in(4) { 1 << 14 } else { 1 << 24 };
        let options = Options::new()
            .memory_bytes(if random.one_in(4) { 8 << 20 } else { 1 << 20 })
            .log_bytes(log_bytes)
            .segment_bytes(1 << (13 + random.below(4)))
            .reader_bytes([0, 1 << 18, 1 << 30][random.below(3) as usize])
            .durability(level);
        let lanes =
            if level == Durability::Process { [1, 2, 5, 16][random.below(4) as usize] } else { 1 };
        let operations_in_a_lane = [1, 10, 60][random.below(3) as usize];
        let keys = [5, 60, 600][random.below(3) as usize];
        Self {
            random,
            disk,
            options,
            level,
            db: None,
            readers: Vec::new(),
            reads: 0,
            model: Model::default(),
            states: vec![State::of(&Model::default(), true)],
            lanes,
            operations_in_a_lane,
            promises: 0,
            keys,
            next_value: 0,
            power_off_at: None,
            has_crashed: false,
        }
    }

    pub(super) fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// From here on, nothing less may come back.
    pub(super) fn promise(&mut self) {
        self.states = vec![State::of(&self.model, true)];
        self.promises += 1;
    }

    /// Something was done: it is what the model says.
    pub(super) fn done(&mut self) {
        match self.level {
            Durability::Commit => self.promise(),
            _ => self.states.push(State::of(&self.model, false)),
        }
    }

    pub(super) fn mark(&mut self) {
        self.states.last_mut().expect("there is always one").checkpointed = true;
    }

    /// Settles an operation that is alone in the log, if it changes something.
    pub(super) fn settle_alone<T>(&mut self, result: Result<T, Error>, wanted: Model) -> End {
        let count = self.states.len();
        let end = self.settle(result, wanted);
        let is_new = count < self.states.len();
        if let [.., before, last] = &mut self.states[..]
            && before.model != last.model
        {
            last.is_alone |= is_new;
        }
        end
    }

    /// Something came of an attempt to make the model `wanted`.
    pub(super) fn settle<T>(&mut self, result: Result<T, Error>, wanted: Model) -> End {
        match result {
            Ok(_) => {
                self.model = wanted;
                self.done();
                End::Well
            }
            // It happened; whether it is there after a crash is open.
            Err(Error::Poisoned { .. }) => {
                self.states.push(State::of(&wanted, true));
                End::Over
            }
            // More than there is memory for at once: nothing has happened, and the run continues.
            Err(Error::TxnTooLarge { .. }) => End::Well,
            // It did not happen; but if the power went off, it may have. Or it has, and is not
            // durable.
            Err(Error::Io { .. } | Error::NotDurable { .. }) => {
                self.states.push(State::of(&wanted, true));
                End::Over
            }
            Err(Error::DiskFull { .. } | Error::Full { .. }) => End::Over,
            Err(error) => panic!("{error}"),
        }
    }

    /// Notes the outcome of creating or dropping a table.
    pub(super) fn settle_tables<T>(&mut self, result: Result<T, Error>, wanted: Model) -> End {
        let end = self.settle_alone(result, wanted);
        self.mark();
        if end == End::Well && self.level >= Durability::Process {
            self.promise();
        }
        end
    }

    /// Opens the database, whatever happens in between, and compares it with the possible contents.
    pub(super) fn open(&mut self) {
        for attempt in 0.. {
            if attempt < 3 && self.random.one_in(3) {
                let at = self.disk.operations() + self.random.below(60);
                self.fail(at);
            }
            let opened = simulation::open(&self.options, &self.disk, self.random.next());
            let read = opened.and_then(|db| Ok((read(&db)?, db)));
            match read {
                Ok((model, db)) => {
                    self.db = Some(db);
                    self.disk.heal();
                    self.power_off_at = None;
                    self.compare(model);
                    return;
                }
                Err(Error::Io { .. } | Error::DiskFull { .. } | Error::Poisoned { .. })
                    if attempt < 3 =>
                {
                    self.crash();
                }
                Err(error) => panic!("attempt {attempt}: {error}"),
            }
        }
    }

    pub(super) fn compare(&mut self, found: Model) {
        if self.level >= Durability::Process && !self.has_crashed {
            // Of the process only: all that it had said was done, and perhaps what it was at.
            let last = self.states.iter().rposition(|state| state.model == self.model);
            self.states.drain(..last.unwrap_or(0));
        }
        let fits = |state: &State| {
            state.model == found && (self.level != Durability::None || state.checkpointed)
        };
        let is_mixed = self.lanes > 1 && self.has_crashed && is_mixed_of(&self.states, &found);
        if !is_mixed && !self.states.iter().any(fits) {
            let last = &self.states.last().expect("there is always one").model;
            let missing: Vec<_> = last
                .records
                .iter()
                .filter(|(at, value)| found.records.get(at) != Some(value))
                .collect();
            let others: Vec<_> = found
                .records
                .iter()
                .filter(|(at, value)| last.records.get(at) != Some(value))
                .collect();
            let equal = self.states.iter().rposition(|state| state.model == found);
            panic!(
                "level {:?}, {} lanes: none of {} states has come back (without a checkpoint: \
                 {equal:?}): tables {:?} of {:?}, the last one without {missing:?}, with \
                 {others:?}",
                self.level,
                self.lanes,
                self.states.len(),
                found.tables,
                last.tables,
            );
        }
        check(self.db()).unwrap_or_else(|why| panic!("{why}"));
        self.model = found;
        self.has_crashed = false;
        // What has come back is durable: recovery said so, or it was.
        self.states = vec![State::of(&self.model, true)];
        if self.level != Durability::Commit {
            self.db().flush().expect("nothing is wrong with the disk");
        }
    }

    /// The power goes off, or the process ends.
    pub(super) fn crash(&mut self) {
        let now = self.disk.operations();
        let is_on = self.power_off_at.take().is_none_or(|at| now <= at);
        // What closing does to the disk from here on counts for nothing.
        self.disk.fail(Fault::Crash { at: now });
        self.db = None;
        if is_on && self.random.one_in(4) {
            // Only the process ended: what it had handed over is there.
            self.disk.heal();
        } else {
            self.has_crashed = true;
            self.readers.clear();
            let seed = self.random.next();
            self.disk.crash(seed);
        }
    }

    /// Has something go wrong from an operation on.
    pub(super) fn fail(&mut self, at: u64) {
        let kinds =
            [FaultKind::SyncFails, FaultKind::WriteFails, FaultKind::ReadFails, FaultKind::NoSpace];
        match kinds.get(self.random.below(8) as usize) {
            Some(kind) => self.disk.fail(Fault::Error { at, kind: *kind }),
            None => {
                self.disk.fail(Fault::Crash { at });
                self.power_off_at = Some(at);
            }
        }
    }

    /// Has the next operations append to some lane of the log, and seldom has that have more. With
    /// few changes of lanes, they get far apart: frames of one have much lower numbers.
    pub(super) fn choose_lane(&mut self) {
        if self.lanes > 1 {
            if self.random.one_in(self.operations_in_a_lane) {
                simulation::choose_lane(self.random.below(self.lanes) as usize);
            }
            if self.random.one_in(8) {
                let lanes = 1 + self.random.below(self.lanes) as usize;
                // If the disk fails, the next operation says so.
                let _ = simulation::widen_log(self.db(), lanes);
            }
        }
    }

    pub(super) fn table(&self, at: usize) -> Result<Table, Error> {
        self.db().table(TABLES[at].0)
    }

    pub(super) fn some_table(&mut self) -> Option<usize> {
        let count = self.model.tables.len() as u64;
        (count > 0).then(|| {
            let at = self.random.below(count) as usize;
            *self.model.tables.iter().nth(at).expect("one of them")
        })
    }

    pub(super) fn key(&mut self) -> u32 {
        self.random.below(self.keys) as u32
    }

    pub(super) fn value(&mut self) -> u32 {
        self.next_value += 1;
        self.next_value
    }
}
