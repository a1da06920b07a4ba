//! A stream of operations with crashes and reopening, compared with a `BTreeMap`.

#![no_main]

use std::collections::BTreeMap;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::{self, Checkpoint, Fault, Mapping, Simulated};
use lode::{Alteration, Database, Durability, Error, IndexSchema, Options, ReadTable};
use lode_fuzz::{TABLES, look_after, number_of, packed, record, schema, to_the_end};

#[derive(Arbitrary, Clone, Debug)]
enum Op {
    Upsert(u8, u16, u32),
    PutRange(u8, u16, u8, u32),
    Change(u8, u16, u32),
    Delete(u8, u16),
    DeleteRange(u8, u16, u8),
    Commit(Vec<(u8, u16, Option<u32>)>),
    /// Creates or drops the table with this number; or renames its last column, if the bits above
    /// are set.
    Define(u8),
    Checkpoint,
    CheckpointAmid(u8, u16, u32),
    Compact,
    LookAfter,
    Reopen,
    Kill,
    PowerCut(u64),
}

#[derive(Arbitrary, Debug)]
struct Input {
    mapping: u8,
    segment: u8,
    #[arbitrary(with = to_the_end)]
    ops: Vec<Op>,
}

type Content = BTreeMap<usize, BTreeMap<u32, u32>>;

fn read(db: &Database) -> Content {
    let mut content = Content::new();
    for name in db.table_names() {
        let at = TABLES.iter().position(|(other, ..)| *other == name).expect("a known table");
        let table = db.table(&name).expect("it is whole");
        let records = content.entry(at).or_default();
        for row in table.iter() {
            let row = row.expect("nothing is wrong with the disk");
            let bytes = row.bytes();
            let number = number_of(at, bytes);
            let payload = &bytes[packed(at, number).len()..];
            let value = u32::from_le_bytes(*payload.first_chunk().expect("four bytes"));
            assert!(bytes == record(at, number, value), "a record of {name}");
            records.insert(number, value);
        }
    }
    content
}

/// Returns the secondary indexes of a table: every third one has one, over the first column after
/// the key.
fn indexes(at: usize) -> Vec<IndexSchema> {
    let schema = schema(at);
    let first = schema.columns().get(schema.key_columns()).filter(|_| at % 3 == 2);
    first.map(|column| IndexSchema::new("by_first", [&column.name[..]])).into_iter().collect()
}

struct Run {
    disk: Simulated,
    options: Options,
    db: Option<Database>,
    content: Content,
}

impl Run {
    fn db(&self) -> &Database {
        self.db.as_ref().expect("it is open")
    }

    fn open(&mut self) {
        self.db = Some(simulation::open(&self.options, &self.disk, 3).expect("it is whole"));
        assert_eq!(read(self.db()), self.content);
    }

    fn upsert(&mut self, at: usize, key: u32, value: u32) {
        let Some(records) = self.content.get_mut(&at) else { return };
        let table = self.db.as_ref().expect("it is open").table(TABLES[at].0).expect("a table");
        let there = table.upsert(&record(at, key, value)).expect("room");
        assert_eq!(there, records.insert(key, value).is_some());
    }

    fn upsert_all(&mut self, at: usize, keys: std::ops::Range<u32>, value: u32) {
        let Some(records) = self.content.get_mut(&at) else { return };
        let table = self.db.as_ref().expect("it is open").table(TABLES[at].0).expect("a table");
        match table.upsert_all(keys.clone().map(|key| record(at, key, value))) {
            Ok(new) => {
                let before = records.len();
                records.extend(keys.map(|key| (key, value)));
                assert_eq!(new as usize, records.len() - before);
            }
            // It changes more pages than there are, or is too long for the memory.
            Err(Error::Full { .. } | Error::TxnTooLarge { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn insert_all_new(&mut self, at: usize, keys: std::ops::Range<u32>, value: u32) {
        let Some(records) = self.content.get_mut(&at) else { return };
        let table = self.db.as_ref().expect("it is open").table(TABLES[at].0).expect("a table");
        let first_there = keys.clone().position(|key| records.contains_key(&key));
        match table.insert_all_new(keys.clone().map(|key| record(at, key, value))) {
            Ok(first) => {
                assert_eq!(first, first_there);
                if first.is_none() {
                    records.extend(keys.map(|key| (key, value)));
                }
            }
            // It changes more pages than there are, or is too long for the memory.
            Err(Error::Full { .. } | Error::TxnTooLarge { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }

    fn change(&mut self, at: usize, number: u32, value: u32) {
        let Some(records) = self.content.get_mut(&at) else { return };
        let table = self.db.as_ref().expect("it is open").table(TABLES[at].0).expect("a table");
        let key = packed(at, number);
        let exchange = &mut |payload: &mut Vec<u8>| {
            let before = records.get(&number).map(|before| record(at, number, *before));
            assert!(before.is_some_and(|before| before[key.len()..] == payload[..]));
            *payload = record(at, number, value).split_off(key.len());
            true
        };
        let there = table.change(&key, exchange).expect("room");
        assert_eq!(there, records.get_mut(&number).map(|old| *old = value).is_some());
    }

    fn delete(&mut self, at: usize, number: u32) {
        let Some(records) = self.content.get_mut(&at) else { return };
        let table = self.db.as_ref().expect("it is open").table(TABLES[at].0).expect("a table");
        let there = table.delete(packed(at, number)).expect("a key");
        assert_eq!(there, records.remove(&number).is_some());
    }

    fn step(&mut self, op: &Op) {
        let place = |at: &u8, key: &u16| (*at as usize % TABLES.len(), u32::from(*key) % 2_000);
        match op {
            Op::Upsert(at, key, value) => {
                let (at, key) = place(at, key);
                self.upsert(at, key, *value);
            }
            Op::PutRange(at, key, count, value) => {
                let (at, key) = place(at, key);
                let keys = key..key + u32::from(*count);
                match count % 4 {
                    0 => self.upsert_all(at, keys, *value),
                    2 => self.insert_all_new(at, keys, *value),
                    _ => keys.for_each(|key| self.upsert(at, key, *value)),
                }
            }
            Op::Change(at, key, value) => {
                let (at, key) = place(at, key);
                self.change(at, key, *value);
            }
            Op::Delete(at, key) => {
                let (at, key) = place(at, key);
                self.delete(at, key);
            }
            Op::DeleteRange(at, key, count) => {
                let (at, key) = place(at, key);
                (key..key + u32::from(*count)).for_each(|key| self.delete(at, key));
            }
            Op::Commit(writes) => {
                let mut content = self.content.clone();
                let transaction = self.db().begin();
                for (at, key, value) in writes.iter().take(10) {
                    let (at, number) = place(at, key);
                    let Some(records) = content.get_mut(&at) else { continue };
                    let table = self.db().table(TABLES[at].0).expect("a table");
                    match value {
                        Some(value) => {
                            transaction.upsert(&table, &record(at, number, *value)).expect("room");
                            records.insert(number, *value);
                        }
                        None => {
                            transaction.delete(&table, packed(at, number)).expect("a key");
                            records.remove(&number);
                        }
                    }
                }
                match transaction.commit() {
                    Ok(()) => self.content = content,
                    // It changes more pages than there are.
                    Err(Error::Full { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Op::Define(at) => {
                let (at, how) = (*at as usize % TABLES.len(), *at as usize / TABLES.len());
                if how % 4 == 3 && self.content.contains_key(&at) {
                    let table = self.db().table(TABLES[at].0).expect("a table");
                    let last = &table.schema().columns().last().expect("a column").name;
                    let other = if last == "rest" { "other" } else { "rest" };
                    let changes = Alteration::new().rename_column(last, other);
                    self.db().alter_table(TABLES[at].0, &changes).expect("room");
                } else if self.content.remove(&at).is_some() {
                    self.db().drop_table(TABLES[at].0).expect("it is there");
                } else {
                    let created =
                        self.db().create_indexed_table(&schema(at), TABLES[at].1, &indexes(at));
                    created.expect("it is new");
                    self.content.insert(at, BTreeMap::new());
                }
            }
            Op::Checkpoint => self.db().checkpoint().expect("nothing is wrong with the disk"),
            Op::CheckpointAmid(at, key, value) => {
                let (at, key) = place(at, key);
                let db = self.db().clone();
                let mut checkpoint = Checkpoint::begin(&db).expect("nothing is wrong");
                // A write in a table with indexes is a commit, which may ask for a checkpoint.
                if indexes(at).is_empty() {
                    self.upsert(at, key, *value);
                }
                while checkpoint.step().expect("nothing is wrong with the disk") {}
                checkpoint.finish().expect("nothing is wrong with the disk");
            }
            Op::Compact => drop(self.db().compact().expect("nothing is wrong with the disk")),
            Op::LookAfter => look_after(self.db()).expect("nothing is wrong with the disk"),
            Op::Reopen => {
                self.db.take().expect("it is open").close().expect("nothing is wrong");
                self.open();
            }
            Op::Kill | Op::PowerCut(_) => {
                self.disk.fail(Fault::Crash { at: self.disk.operations() });
                self.db = None;
                match op {
                    Op::PowerCut(seed) => self.disk.crash(*seed),
                    _ => self.disk.heal(),
                }
                self.open();
            }
        }
    }
}

fuzz_target!(|input: Input| {
    let disk = Simulated::new(0);
    disk.set_mapping(Mapping::ALL[usize::from(input.mapping) % Mapping::ALL.len()]);
    let options = Options::new()
        .memory_bytes(1 << 20)
        .log_bytes(1 << 16)
        .segment_bytes(1 << (12 + input.segment % 5))
        .durability(Durability::Commit);
    let mut run = Run { disk, options, db: None, content: Content::new() };
    run.open();
    for at in [0, 2, 4, 5, 7] {
        run.step(&Op::Define(at));
    }
    for op in input.ops.iter().take(100) {
        run.step(op);
    }
    let report = run.db().check().expect("it is open");
    assert!(report.is_sound(), "{report}");
    assert_eq!(read(run.db()), run.content);
});
