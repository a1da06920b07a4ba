//! Crashes on a simulated disk: whatever happens, the database comes back with all that was promised
//! and nothing half done.
//!
//! A seed decides everything: what is done, when the power goes, what of the unsynced writes is on
//! the disk then. `LODE_SEED=n` replays one, `LODE_SEEDS=n` asks for so many.

#[path = "common/random.rs"]
mod random;

use std::collections::{BTreeMap, BTreeSet};

use lode::simulation::{self, Checkpoint, Fault, FaultKind, Simulated};
use lode::{Database, Durability, Error, KeyKind, Options, Schema, Snapshot, Table, Type, Value};

use random::Random;

impl Random {
    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }
}

/// What a table's records have after key and value: so many bytes, or any number of them.
#[derive(Clone, Copy)]
enum Rest {
    Fixed(u32),
    Any,
}

/// The tables that there may be.
const TABLES: [(&str, KeyKind, Rest); 8] = [
    ("hash", KeyKind::Hash, Rest::Fixed(900)),
    ("tree", KeyKind::Tree, Rest::Fixed(1900)),
    ("short", KeyKind::Hash, Rest::Fixed(4)),
    ("shrub", KeyKind::Tree, Rest::Fixed(4)),
    ("letters", KeyKind::Hash, Rest::Any),
    ("books", KeyKind::Tree, Rest::Any),
    ("words", KeyKind::Hash, Rest::Fixed(30)),
    ("names", KeyKind::Tree, Rest::Fixed(60)),
];

/// Those whose keys are of variable length.
const WORDS: usize = 6;
const NAMES: usize = 7;
const MOST_NAME_BYTES: u32 = 300;

/// The one whose keys are so long that its index has digests of them.
const LETTERS: usize = 4;
const LONG_KEY_BYTES: usize = 20;

const KEY: usize = 0;
const VALUE: usize = 1;
const REST: usize = 2;

/// The most bytes of a rest.
const MOST_REST_BYTES: u32 = 60_000;

/// How much may have changed before operations beside a checkpoint stop: the least memory has room for
/// 40 changed pages.
const MOST_CHANGED_BYTES: u64 = 28 * 16_384;

/// The value of a record, and the number that its other bytes are made of.
type Entry = (u32, u32);

/// What is in the database: records under keys, of the tables that there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Model {
    tables: BTreeSet<usize>,
    records: BTreeMap<(usize, u32), Entry>,
}

fn schema(table: usize) -> Schema {
    let (name, _, rest) = TABLES[table];
    let rest = match rest {
        Rest::Fixed(size) => Type::Bytes(size),
        Rest::Any => Type::VarBytes(MOST_REST_BYTES),
    };
    let key = match table {
        LETTERS => Type::Bytes(LONG_KEY_BYTES as u32),
        WORDS | NAMES => Type::VarBytes(MOST_NAME_BYTES),
        _ => Type::U32,
    };
    Schema::build(name)
        .key("key", key)
        .column("value", Type::U32)
        .column("rest", rest)
        .finish()
        .expect("a schema")
}

/// How long a rest of any length is: mostly short, seldom longer than a page.
fn size_of_any(seed: u32) -> u32 {
    let random = seed.wrapping_mul(0x9e37_79b1) >> 8;
    let most = match random % 40 {
        0 => MOST_REST_BYTES,
        1..6 => 4_000,
        _ => 300,
    };
    4 + random / 40 % (most - 4)
}

/// Bytes that begin with the number that they are made of.
fn rest(table: usize, seed: u32) -> Vec<u8> {
    let size = match TABLES[table].2 {
        Rest::Fixed(size) => size,
        Rest::Any => size_of_any(seed),
    };
    let byte = (seed.wrapping_mul(0x9e37_79b1) >> 24) as u8;
    let others = (4..size).map(|at| byte ^ (at ^ at >> 8) as u8);
    seed.to_le_bytes().into_iter().chain(others).collect()
}

/// What the column of a key has: it begins with its number.
fn key_cell(table: usize, key: u32) -> Vec<u8> {
    let mut cell = key.to_le_bytes().to_vec();
    match table {
        LETTERS => cell.resize(LONG_KEY_BYTES, key as u8),
        // Few are long.
        WORDS | NAMES if key.is_multiple_of(11) => cell.resize(4 + key as usize % 290, key as u8),
        WORDS | NAMES => cell.resize(4 + key as usize % 20, key as u8),
        _ => {}
    }
    cell
}

/// A packed key.
fn packed(table: usize, key: u32) -> Vec<u8> {
    let cell = key_cell(table, key);
    match table {
        WORDS | NAMES => [&(cell.len() as u16).to_le_bytes()[..], &cell].concat(),
        _ => cell,
    }
}

fn record(table: usize, key: u32, value: u32) -> Vec<u8> {
    let (cell, rest) = (key_cell(table, key), rest(table, value));
    let key = match table {
        LETTERS | WORDS | NAMES => Value::Bytes(&cell),
        _ => Value::Unsigned(key.into()),
    };
    let values = [key, Value::Unsigned(value.into()), Value::Bytes(&rest)];
    schema(table).pack(&values).expect("they fit")
}

/// What a record of a new value is.
fn entry(value: u32) -> Entry {
    (value, value)
}

fn value_of(payload: &[u8]) -> u32 {
    u32::from_le_bytes(*payload.first_chunk().expect("four bytes"))
}

/// The key and the entry of a record, which is whole.
fn parts_of(table: usize, bytes: &[u8]) -> (u32, Entry) {
    let schema = schema(table);
    schema.row(bytes).expect("a record");
    let found = schema.bytes_of(bytes, &schema.columns()[REST]);
    let seed = value_of(found);
    assert!(found == rest(table, seed), "a record of {} is torn", TABLES[table].0);
    let (packed_key, payload) = bytes.split_at(schema.key_length(bytes).expect("a key"));
    let key = value_of(schema.bytes_of(bytes, &schema.columns()[KEY]));
    assert!(packed_key == packed(table, key), "a key of {} is torn", TABLES[table].0);
    (key, (value_of(payload), seed))
}

/// What the database has.
fn read(db: &Database) -> Result<Model, Error> {
    let mut model = Model::default();
    let snapshot = db.snapshot();
    for name in db.table_names() {
        let at = TABLES.iter().position(|(other, ..)| *other == name).expect("a known table");
        model.tables.insert(at);
        let table = db.table(&name)?;
        assert_eq!(table.key_kind(), TABLES[at].1);
        snapshot.each(&table, &mut |record| {
            let (key, entry) = parts_of(at, record);
            model.records.insert((at, key), entry);
            Ok(true)
        })?;
    }
    Ok(model)
}

struct Run {
    random: Random,
    disk: Simulated,
    options: Options,
    level: Durability,
    db: Option<Database>,
    model: Model,
    /// What there was after each operation since the last that is promised, and whether a
    /// checkpoint could have been made there.
    states: Vec<(Model, bool)>,
    /// How often that was.
    promises: u64,
    keys: u64,
    next_value: u32,
    /// From which operation on the power is off.
    power_off_at: Option<u64>,
    /// Whether the power was off since the database was open last.
    has_crashed: bool,
}

/// What has come of something.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Well,
    /// The power is off, or the database takes no more writes.
    Over,
}

impl Run {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let levels =
            [Durability::None, Durability::Process, Durability::Periodic, Durability::Commit];
        let level = levels[random.below(4) as usize];
        let disk = Simulated::new(seed);
        disk.set_mapping(random.one_in(2));
        let log_bytes = if random.one_in(4) { 1 << 14 } else { 1 << 24 };
        let options = Options::new()
            .memory_bytes(if random.one_in(4) { 8 << 20 } else { 1 << 20 })
            .log_bytes(log_bytes)
            .segment_bytes(1 << (13 + random.below(4)))
            .durability(level);
        let keys = [5, 60, 600][random.below(3) as usize];
        Self {
            random,
            disk,
            options,
            level,
            db: None,
            model: Model::default(),
            states: vec![(Model::default(), true)],
            promises: 0,
            keys,
            next_value: 0,
            power_off_at: None,
            has_crashed: false,
        }
    }

    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    /// From here on, nothing less may come back.
    fn promise(&mut self) {
        self.states = vec![(self.model.clone(), true)];
        self.promises += 1;
    }

    /// Something was done: it is what the model says.
    fn done(&mut self) {
        match self.level {
            Durability::Commit => self.promise(),
            _ => self.states.push((self.model.clone(), false)),
        }
    }

    fn mark(&mut self) {
        self.states.last_mut().expect("there is always one").1 = true;
    }

    /// Something came of an attempt to make the model `wanted`.
    fn settle<T>(&mut self, result: Result<T, Error>, wanted: Model) -> End {
        match result {
            Ok(_) => {
                self.model = wanted;
                self.done();
                End::Well
            }
            // It happened, but nobody knows whether it will have.
            Err(Error::Poisoned { .. }) => {
                self.states.push((wanted, true));
                End::Over
            }
            // It did not happen; but if the power went off, it may have.
            Err(Error::Io { .. }) => {
                self.states.push((wanted, true));
                End::Over
            }
            Err(Error::DiskFull { .. } | Error::Full { .. }) => End::Over,
            Err(error) => panic!("{error}"),
        }
    }

    /// The same, for a table that was created or dropped.
    fn settle_tables<T>(&mut self, result: Result<T, Error>, wanted: Model) -> End {
        let end = self.settle(result, wanted);
        self.mark();
        if end == End::Well && self.level >= Durability::Process {
            self.promise();
        }
        end
    }

    /// Opens the database, whatever happens meanwhile, and compares it with what may be.
    fn open(&mut self) {
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

    fn compare(&mut self, found: Model) {
        if self.level >= Durability::Process && !self.has_crashed {
            // Of the process only: all that it had said was done, and perhaps what it was at.
            let last = self.states.iter().rposition(|(state, _)| *state == self.model);
            self.states.drain(..last.unwrap_or(0));
        }
        let fits = |(state, checkpointed): &&(Model, bool)| {
            *state == found && (self.level != Durability::None || *checkpointed)
        };
        if !self.states.iter().any(|state| fits(&state)) {
            let last = &self.states.last().expect("there is always one").0;
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
            panic!(
                "level {:?}: none of {} states has come back: tables {:?} of {:?}, the last one \
                 without {missing:?}, with {others:?}",
                self.level,
                self.states.len(),
                found.tables,
                last.tables,
            );
        }
        self.db().check().unwrap_or_else(|why| panic!("{why}"));
        self.model = found;
        self.has_crashed = false;
        // What has come back is durable: recovery said so, or it was.
        self.states = vec![(self.model.clone(), true)];
        if self.level != Durability::Commit && self.db().flush().is_err() {
            panic!("nothing is wrong with the disk");
        }
    }

    /// The power goes off, or the process ends.
    fn crash(&mut self) {
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
            let seed = self.random.next();
            self.disk.crash(seed);
        }
    }

    /// Has something go wrong from an operation on.
    fn fail(&mut self, at: u64) {
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

    fn table(&self, at: usize) -> Result<Table, Error> {
        self.db().table(TABLES[at].0)
    }

    fn some_table(&mut self) -> Option<usize> {
        let count = self.model.tables.len() as u64;
        (count > 0).then(|| {
            let at = self.random.below(count) as usize;
            *self.model.tables.iter().nth(at).expect("one of them")
        })
    }

    fn key(&mut self) -> u32 {
        self.random.below(self.keys) as u32
    }

    fn value(&mut self) -> u32 {
        self.next_value += 1;
        self.next_value
    }

    fn step(&mut self) -> End {
        let Some(at) = self.some_table() else { return self.create_or_drop() };
        let place = (at, self.key());
        let mut wanted = self.model.clone();
        let key = packed(at, place.1);
        match self.random.below(100) {
            0..35 => {
                let value = self.value();
                let new = !wanted.records.contains_key(&place);
                wanted.records.entry(place).or_insert(entry(value));
                let result = self.table(at).and_then(|t| t.insert(&record(at, place.1, value)));
                if let Ok(inserted) = result {
                    assert_eq!(inserted, new);
                }
                self.settle(result, wanted)
            }
            35..42 => {
                let value = self.value();
                wanted.records.insert(place, entry(value));
                let result = self.table(at).and_then(|t| t.upsert(&record(at, place.1, value)));
                self.settle(result, wanted)
            }
            42..47 => {
                let value = self.value();
                wanted.records.entry(place).and_modify(|old| old.0 = value);
                let bytes = value.to_le_bytes();
                let result = self.table(at).and_then(|t| t.update(&key, VALUE, &bytes));
                self.settle(result, wanted)
            }
            47..52 => {
                let seed = self.value();
                wanted.records.entry(place).and_modify(|old| old.1 = seed);
                let bytes = rest(at, seed);
                let result = self.table(at).and_then(|t| t.update(&key, REST, &bytes));
                self.settle(result, wanted)
            }
            52..55 => {
                let value = self.value();
                wanted.records.entry(place).and_modify(|old| old.0 = old.0.wrapping_add(value));
                let result = self.table(at).and_then(|t| {
                    t.change(&key, &mut |payload| {
                        let sum = value_of(payload).wrapping_add(value);
                        payload[..4].copy_from_slice(&sum.to_le_bytes());
                        true
                    })
                });
                self.settle(result, wanted)
            }
            55..70 => {
                wanted.records.remove(&place);
                let result = self.table(at).and_then(|t| t.delete(&key));
                self.settle(result, wanted)
            }
            70..80 => self.transaction(),
            80..84 => self.read_one(at, place.1),
            84..88 => self.checkpoint(),
            88..91 => self.create_or_drop(),
            91..94 => {
                self.mark();
                match self.db().flush() {
                    Ok(()) => self.promise(),
                    Err(_) => return End::Over,
                }
                End::Well
            }
            94..97 => {
                self.mark();
                match simulation::look_after(self.db()) {
                    Ok(()) if self.level >= Durability::Process => self.promise(),
                    Ok(()) => {}
                    Err(_) => return End::Over,
                }
                End::Well
            }
            97..98 => self.reopen(),
            98..99 => {
                self.mark();
                match self.db().compact() {
                    Ok(()) => self.promise(),
                    Err(_) => return End::Over,
                }
                End::Well
            }
            _ => {
                // A range is deleted, so that pages are joined and freed.
                for key in place.1..place.1 + 40 {
                    let mut wanted = self.model.clone();
                    wanted.records.remove(&(at, key));
                    let result = self.table(at).and_then(|t| t.delete(&packed(at, key)));
                    if self.settle(result, wanted) == End::Over {
                        return End::Over;
                    }
                }
                End::Well
            }
        }
    }

    fn read_one(&mut self, at: usize, key: u32) -> End {
        let found = self.table(at).and_then(|table| table.payload(&packed(at, key)));
        match found {
            Ok(payload) => {
                let wanted = self.model.records.get(&(at, key)).copied();
                let record = |payload: Vec<u8>| [packed(at, key), payload].concat();
                assert_eq!(payload.map(|payload| parts_of(at, &record(payload)).1), wanted);
                End::Well
            }
            Err(Error::Io { .. }) => End::Over,
            Err(error) => panic!("{error}"),
        }
    }

    fn transaction(&mut self) -> End {
        let mut wanted = self.model.clone();
        let mut transaction = self.db().begin();
        for _ in 0..self.random.below(12) {
            let Some(at) = self.some_table() else { break };
            let (key, value) = (self.key(), self.value());
            let result = self.table(at).and_then(|table| match self.random.one_in(3) {
                true => {
                    wanted.records.remove(&(at, key));
                    transaction.delete(&table, &packed(at, key)).map(drop)
                }
                false => {
                    wanted.records.insert((at, key), entry(value));
                    transaction.upsert(&table, &record(at, key, value)).map(drop)
                }
            });
            match result {
                Ok(()) => {}
                Err(Error::Io { .. }) => return End::Over,
                Err(error) => panic!("{error}"),
            }
        }
        match self.random.below(6) {
            0 => End::Well,
            1 => {
                // More durable than others.
                self.mark();
                let is_read_only = wanted == self.model;
                match transaction.commit_with(Durability::Commit) {
                    Ok(()) => {
                        self.model = wanted;
                        if is_read_only {
                            self.done()
                        } else {
                            self.promise()
                        }
                        End::Well
                    }
                    Err(error) => {
                        // In a database without a log it is done before it is durable.
                        self.states.push((wanted, true));
                        assert!(!matches!(error, Error::Conflict { .. } | Error::Corrupt { .. }));
                        End::Over
                    }
                }
            }
            _ => {
                let result = transaction.commit();
                self.settle(result, wanted)
            }
        }
    }

    /// A checkpoint, with operations between its steps.
    fn checkpoint(&mut self) -> End {
        self.mark();
        let db = self.db().clone();
        let before = self.states.len() - 1;
        let promised = self.promises;
        let mut checkpoint = match Checkpoint::begin(&db) {
            Ok(checkpoint) => checkpoint,
            Err(_) => return End::Over,
        };
        let mut kept: Option<(Snapshot, Model)> = None;
        loop {
            for _ in 0..self.random.below(8) {
                if self.between() == End::Over {
                    return End::Over;
                }
                if self.random.one_in(10) {
                    kept = Some((db.snapshot(), self.model.clone()));
                }
            }
            match checkpoint.step() {
                Ok(true) => {}
                Ok(false) => break,
                Err(_) => return End::Over,
            }
        }
        for _ in 0..self.random.below(8) {
            if self.between() == End::Over {
                return End::Over;
            }
        }
        if let Some((snapshot, model)) = kept
            && let Err(error) = self.compare_snapshot(&snapshot, &model)
        {
            assert!(matches!(error, Error::Io { .. }), "{error}");
            return End::Over;
        }
        match checkpoint.finish() {
            Ok(()) => {
                // What was there at its beginning comes back at least.
                if self.promises == promised {
                    self.states.drain(..before);
                }
                End::Well
            }
            Err(_) => End::Over,
        }
    }

    fn compare_snapshot(&self, snapshot: &Snapshot, model: &Model) -> Result<(), Error> {
        for at in &model.tables {
            let Ok(table) = self.table(*at) else { continue };
            let mut found = BTreeMap::new();
            snapshot.each(&table, &mut |record| {
                let (key, entry) = parts_of(*at, record);
                found.insert((*at, key), entry);
                Ok(true)
            })?;
            let mut wanted = model.records.clone();
            wanted.retain(|(table, _), _| table == at);
            assert_eq!(found, wanted, "a snapshot of {}", TABLES[*at].0);
        }
        Ok(())
    }

    /// An operation that asks for no checkpoint itself.
    fn between(&mut self) -> End {
        let Some(at) = self.some_table() else { return End::Well };
        // Few enough pages that it has not to wait for the checkpoint.
        if self.db().statistics().changed_bytes > MOST_CHANGED_BYTES {
            return End::Well;
        }
        let (key, value) = (self.key(), self.value());
        let mut wanted = self.model.clone();
        match self.random.below(3) {
            0 => {
                wanted.records.remove(&(at, key));
                let result = self.table(at).and_then(|t| t.delete(&packed(at, key)));
                self.settle(result, wanted)
            }
            1 => self.read_one(at, key),
            _ => {
                wanted.records.insert((at, key), entry(value));
                let result = self.table(at).and_then(|t| t.upsert(&record(at, key, value)));
                self.settle(result, wanted)
            }
        }
    }

    fn create_or_drop(&mut self) -> End {
        let at = self.random.below(TABLES.len() as u64) as usize;
        let mut wanted = self.model.clone();
        if wanted.tables.insert(at) {
            self.mark();
            let result = self.db().create_table(&schema(at), TABLES[at].1);
            return self.settle_tables(result, wanted);
        }
        if self.random.one_in(2) {
            wanted.tables.remove(&at);
            wanted.records.retain(|(table, _), _| *table != at);
            self.mark();
            let result = self.db().drop_table(TABLES[at].0);
            return self.settle_tables(result, wanted);
        }
        End::Well
    }

    /// Closes the database and opens it again.
    fn reopen(&mut self) -> End {
        self.mark();
        let db = self.db.take().expect("it is open");
        match db.close() {
            Ok(()) => {
                self.promise();
                self.open();
                End::Well
            }
            Err(_) => End::Over,
        }
    }

    /// Lives and crashes several times.
    fn run(mut self) {
        self.open();
        for _ in 0..3 {
            let at = self.disk.operations() + self.random.below(600);
            self.fail(at);
            for _ in 0..300 {
                if self.db.is_none() || self.step() == End::Over {
                    break;
                }
            }
            self.crash();
            self.open();
        }
        let found = read(self.db()).expect("nothing is wrong with the disk");
        assert_eq!(found, self.model);
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

#[test]
fn what_was_promised_comes_back_after_every_crash() {
    if let Some(seed) = number("LODE_SEED") {
        return Run::new(seed).run();
    }
    let seeds = number("LODE_SEEDS").unwrap_or(2_000);
    let failed = std::sync::Mutex::new(None);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let failed = &failed;
            scope.spawn(move || {
                for seed in (thread..seeds).step_by(2) {
                    let run = std::panic::catch_unwind(|| Run::new(seed).run());
                    if let Err(panic) = run {
                        *failed.lock().expect("no panic while it is held") = Some(seed);
                        let replay = format!("LODE_SEED={seed} cargo test --release -p lode");
                        eprintln!("replay with {replay} --test simulation");
                        std::panic::resume_unwind(panic);
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner().ok().flatten(), None);
}
