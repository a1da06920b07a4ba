//! Records that have columns of variable length: most of them short, some longer than a page.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::simulation::{self, Checkpoint, Simulated};
use lode::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Snapshot, Table, Transaction,
    Type, Value,
};
use proptest::prelude::*;

use super::cases;
use super::disk::{self, BALLAST, Swept};
use super::keys::{Keys, Place};

type Model = BTreeMap<Place, Entry>;
type Range = (Bound<Place>, Bound<Place>);

const MOST_DATA_BYTES: u32 = 60_000;
const MOST_TEXT_BYTES: u32 = 200;
const MOST_NOTE_BYTES: u32 = 3_000;

/// Bytes that two numbers stand for.
#[derive(Clone, Copy, Debug)]
struct Bytes {
    seed: u8,
    size: u32,
}

impl Bytes {
    fn data(self) -> Vec<u8> {
        (0..self.size).map(|at| self.seed ^ (at ^ at >> 8) as u8).collect()
    }

    fn text(self) -> String {
        let letter = |at| char::from(b'a' + ((u32::from(self.seed) + at) % 26) as u8);
        (0..self.size).map(letter).collect()
    }

    /// Those that these are, if they are data.
    fn of(data: &[u8]) -> Self {
        Self { seed: data.first().copied().unwrap_or(0), size: data.len() as u32 }
    }
}

/// The columns of a record after its key.
#[derive(Clone, Copy, Debug)]
struct Entry {
    value: u32,
    data: Bytes,
    flag: u16,
    text: Bytes,
    note: Option<Bytes>,
}

impl Entry {
    /// The entry that a record is of.
    fn of(keys: Keys, record: &[u8]) -> Self {
        let schema = schema(keys);
        let row = schema.row(record).expect("a record");
        let (Value::Unsigned(value), Value::Unsigned(flag)) = (row.at(nth(2)), row.at(nth(4)))
        else {
            panic!("two numbers, not {row:?}");
        };
        let data = |column| match row.at(nth(column)) {
            Value::Null => None,
            Value::Bytes(bytes) => Some(Bytes::of(bytes)),
            other => panic!("{other:?} in column {column}"),
        };
        let Value::Text(text) = row.at(nth(5)) else { panic!("a text, not {:?}", row.at(nth(5))) };
        let seed = text.bytes().next().map_or(0, |first| first - b'a');
        Self {
            value: value as u32,
            data: data(3).expect("it is never null"),
            flag: flag as u16,
            text: Bytes { seed, size: text.len() as u32 },
            note: data(6),
        }
    }

    fn record(self, keys: Keys, place: Place) -> Vec<u8> {
        let [first, second] = keys.cells(place);
        let key = match keys {
            Keys::Numbers => [Value::Signed(place.0.into()), Value::Unsigned(place.1.into())],
            Keys::AnyLength => {
                let second = str::from_utf8(&second).expect("letters");
                [Value::Bytes(&first), Value::Text(second)]
            }
        };
        let (data, text, note) = (self.data.data(), self.text.text(), self.note.map(Bytes::data));
        let values = [
            key[0],
            key[1],
            Value::Unsigned(self.value.into()),
            Value::Bytes(&data),
            Value::Unsigned(self.flag.into()),
            Value::Text(&text),
            note.as_ref().map_or(Value::Null, |note| Value::Bytes(note)),
        ];
        schema(keys).pack(&values).expect("they fit")
    }

    fn payload(self) -> Vec<u8> {
        let place = (0, 0);
        self.record(Keys::Numbers, place).split_off(Keys::Numbers.key(place).len())
    }

    /// The row of a scan that asks for these columns.
    fn row(self, keys: Keys, place: Place, columns: &[usize]) -> Vec<u8> {
        let mut row = Vec::new();
        for column in columns {
            let bytes = match column {
                0 | 1 => keys.in_row(place, *column),
                2 => self.value.to_le_bytes().to_vec(),
                3 => self.data.data(),
                4 => self.flag.to_le_bytes().to_vec(),
                5 => self.text.text().into_bytes(),
                _ => self.note.map(Bytes::data).unwrap_or_default(),
            };
            if [3, 5, 6].contains(column) {
                row.extend((bytes.len() as u32).to_le_bytes());
            }
            row.extend(bytes);
            if *column == 6 {
                row.push(u8::from(self.note.is_none()));
            }
        }
        row
    }
}

fn schema(keys: Keys) -> Schema {
    keys.schema()
        .column("value", Type::U32)
        .column("data", Type::VarBytes(MOST_DATA_BYTES))
        .column("flag", Type::U16)
        .column("text", Type::VarText(MOST_TEXT_BYTES))
        .nullable("note", Type::VarBytes(MOST_NOTE_BYTES))
        .finish()
        .expect("a schema")
}

/// What writes to a record.
#[derive(Clone, Debug)]
enum Write {
    Insert(Entry),
    Upsert(Entry),
    Value(u32),
    Data(Bytes),
    Text(Bytes),
    Delete,
}

/// What may be done. Keys are few, so that operations meet.
#[derive(Clone, Debug)]
enum Op {
    Write(Place, Write),
    /// A change that makes it another record.
    Change(Place, Entry),
    /// One that thinks better of it, and one that makes no record of it.
    Keep(Place),
    Spoil(Place),
    DeleteRange(i16, i16),
    Get(Place),
    GetMany(Vec<Place>),
    Scan {
        range: Range,
        backward: bool,
        limit: u64,
    },
    TakeSnapshot,
    DropSnapshot,
    Begin,
    Commit,
    Rollback,
    Check,
    /// What only a database in a directory has to do.
    Disk(DiskOp),
}

#[derive(Clone, Debug)]
enum DiskOp {
    InsertRange(i16, i16, Entry),
    Checkpoint,
    /// A checkpoint with writes before each of its steps, and a snapshot taken in the middle.
    CheckpointAmid(Vec<(Place, Write)>),
    Flush,
    LookAfter,
    Compact,
    Reopen,
    Sweep(u32),
}

fn bytes(size: impl Strategy<Value = u32>) -> impl Strategy<Value = Bytes> {
    (any::<u8>(), size).prop_map(|(seed, size)| Bytes { seed, size })
}

/// Mostly short, seldom longer than a page, at most so long.
fn data(most: u32) -> impl Strategy<Value = Bytes> {
    bytes(prop_oneof![
        12 => 0..300u32,
        3 => 300..4_000u32,
        1 => 4_000..16_000u32,
        1 => 16_000..=most,
    ])
}

fn text() -> impl Strategy<Value = Bytes> {
    bytes(0..=MOST_TEXT_BYTES)
}

fn entry(data: impl Strategy<Value = Bytes>) -> impl Strategy<Value = Entry> {
    let note = proptest::option::weighted(0.3, bytes(0..=MOST_NOTE_BYTES));
    (any::<u32>(), data, any::<u16>(), text(), note)
        .prop_map(|(value, data, flag, text, note)| Entry { value, data, flag, text, note })
}

fn write(most: u32) -> impl Strategy<Value = Write> {
    prop_oneof![
        6 => entry(data(most)).prop_map(Write::Insert),
        3 => entry(data(most)).prop_map(Write::Upsert),
        2 => any::<u32>().prop_map(Write::Value),
        3 => data(most).prop_map(Write::Data),
        1 => text().prop_map(Write::Text),
        3 => Just(Write::Delete),
    ]
}

/// Operations on keys of `-reach..reach`.
fn memory_ops(reach: i16) -> BoxedStrategy<Op> {
    let key = move || (-reach..reach, 0..6u8);
    let bound = move || {
        prop_oneof![
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    };
    prop_oneof![
        18 => (key(), write(MOST_DATA_BYTES)).prop_map(|(place, write)| Op::Write(place, write)),
        3 => (key(), entry(data(MOST_DATA_BYTES))).prop_map(|(key, entry)| Op::Change(key, entry)),
        1 => key().prop_map(Op::Keep),
        1 => key().prop_map(Op::Spoil),
        1 => (-reach..reach, 0..20i16).prop_map(|(from, size)| Op::DeleteRange(from, from + size)),
        2 => key().prop_map(Op::Get),
        1 => proptest::collection::vec(key(), 0..40).prop_map(Op::GetMany),
        2 => (bound(), bound(), any::<bool>(), 0..50u64)
            .prop_map(|(lower, upper, backward, limit)| {
                Op::Scan { range: (lower, upper), backward, limit }
            }),
        1 => Just(Op::TakeSnapshot),
        1 => Just(Op::DropSnapshot),
        1 => Just(Op::Begin),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
        1 => Just(Op::Check),
    ]
    .boxed()
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(memory_ops(20), 0..300)
}

/// How far from 0 keys are on a disk.
const REACH: i16 = 150;

/// Operations on a disk: on few keys, so that they meet, and on many, so that there are many pages.
fn disk_ops() -> impl Strategy<Value = (Durability, Vec<Op>)> {
    let key = || (-REACH..REACH, 0..6u8);
    // Not so long that a checkpoint would have to make room for what is written in its midst.
    let amid = (key(), write(18_000));
    let range = (-REACH..REACH, 0..25i16, entry(bytes(0..1_000u32)));
    let disk_op = prop_oneof![
        8 => range.prop_map(|(from, count, entry)| {
            DiskOp::InsertRange(from, from + count, entry)
        }),
        3 => Just(DiskOp::Checkpoint),
        2 => proptest::collection::vec(amid, 0..10).prop_map(DiskOp::CheckpointAmid),
        1 => Just(DiskOp::Flush),
        1 => Just(DiskOp::LookAfter),
        1 => Just(DiskOp::Compact),
        2 => Just(DiskOp::Reopen),
        5 => (1..2 * BALLAST).prop_map(DiskOp::Sweep),
    ];
    let op = prop_oneof![
        5 => memory_ops(20),
        5 => memory_ops(REACH),
        2 => disk_op.prop_map(Op::Disk),
    ];
    let level =
        prop_oneof![Just(Durability::None), Just(Durability::Process), Just(Durability::Commit)];
    (level, proptest::collection::vec(op, 0..150))
}

/// Carries a write out on a model, and returns what the table has to return.
fn write_to(model: &mut Model, place: Place, write: &Write) -> bool {
    let there = model.get_mut(&place);
    let was_there = there.is_some();
    match (write, there) {
        (Write::Insert(entry), None) | (Write::Upsert(entry), _) => {
            model.insert(place, *entry);
        }
        (Write::Value(value), Some(entry)) => entry.value = *value,
        (Write::Data(data), Some(entry)) => entry.data = *data,
        (Write::Text(text), Some(entry)) => entry.text = *text,
        (Write::Delete, _) => {
            model.remove(&place);
        }
        _ => {}
    }
    match write {
        Write::Insert(_) => !was_there,
        _ => was_there,
    }
}

impl Write {
    fn to_table(&self, table: &Table, (keys, place): (Keys, Place)) -> Result<bool, Error> {
        let key = keys.key(place);
        match self {
            Self::Insert(entry) => table.insert(&entry.record(keys, place)),
            Self::Upsert(entry) => table.upsert(&entry.record(keys, place)),
            Self::Value(value) => table.update(&key, nth(2), &value.to_le_bytes()),
            Self::Data(data) => table.update(&key, nth(3), &data.data()),
            Self::Text(text) => table.update(&key, nth(5), text.text().as_bytes()),
            Self::Delete => table.delete(&key),
        }
    }

    fn by(
        &self,
        transaction: &Transaction,
        table: &Table,
        (keys, place): (Keys, Place),
    ) -> Result<bool, Error> {
        let key = keys.key(place);
        match self {
            Self::Insert(entry) => transaction.insert(table, &entry.record(keys, place)),
            Self::Upsert(entry) => transaction.upsert(table, &entry.record(keys, place)),
            Self::Value(value) => transaction.update(table, &key, nth(2), &value.to_le_bytes()),
            Self::Data(data) => transaction.update(table, &key, nth(3), &data.data()),
            Self::Text(text) => transaction.update(table, &key, nth(5), text.text().as_bytes()),
            Self::Delete => transaction.delete(table, &key),
        }
    }
}

struct Run {
    /// The disk, unless the database is in memory.
    disk: Option<(Simulated, Options)>,
    swept: Swept,
    db: Database,
    table: Table,
    kind: KeyKind,
    keys: Keys,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
    transaction: Option<(Transaction, Model, bool)>,
}

impl Run {
    fn in_memory(kind: KeyKind, keys: Keys) -> Self {
        let db = Options::new().memory_bytes(256 << 20).in_memory().expect("memory");
        Self::with(db, (kind, keys), None)
    }

    fn on_disk(kind: KeyKind, keys: Keys, level: Durability) -> Self {
        let (disk, options) = (disk::loaded(), disk::options(level));
        let db = simulation::open(&options, &disk, 1).expect("a database");
        Self::with(db, (kind, keys), Some((disk, options)))
    }

    fn with(
        db: Database,
        (kind, keys): (KeyKind, Keys),
        disk: Option<(Simulated, Options)>,
    ) -> Self {
        let table = db.create_table(&schema(keys), kind).expect("a table");
        let (model, snapshots, transaction) = (Model::new(), Vec::new(), None);
        let swept = Swept::default();
        Self { disk, swept, db, table, kind, keys, model, snapshots, transaction }
    }

    /// Writes outside of a transaction make one that is under way fail, if they touch its records:
    /// here, whenever they happen.
    fn outside(&mut self) {
        if let Some((_, _, disturbed)) = &mut self.transaction {
            *disturbed = true;
        }
    }

    fn step(&mut self, op: &Op) -> Result<(), Error> {
        match op {
            Op::Write(place, write) => {
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let answer = write.by(transaction, &self.table, (self.keys, *place))?;
                    let expected = write_to(model, *place, write);
                    assert!(*disturbed || answer == expected);
                    return Ok(());
                }
                self.write(*place, write)?;
            }
            Op::Change(place, entry) => {
                self.outside();
                self.change(*place, |payload| {
                    *payload = entry.payload();
                    true
                })?;
                self.model.entry(*place).and_modify(|old| *old = *entry);
            }
            Op::Keep(place) => self.change(*place, |payload| {
                payload.clear();
                false
            })?,
            Op::Spoil(place) => {
                let spoilt = self.change(*place, |payload| {
                    payload.push(0);
                    true
                });
                match self.model.contains_key(place) {
                    true => {
                        assert!(matches!(&spoilt, Err(error) if error.is_bad_input()), "{spoilt:?}")
                    }
                    false => spoilt?,
                }
            }
            Op::DeleteRange(from, to) => {
                self.outside();
                for place in (*from..*to).flat_map(|a| (0..6).map(move |b| (a, b))) {
                    self.write(place, &Write::Delete)?;
                }
            }
            Op::Get(place) => self.get(*place)?,
            Op::GetMany(places) => {
                let keys: Vec<u8> = places.iter().flat_map(|place| self.keys.key(*place)).collect();
                let mut found = vec![None; places.len()];
                self.table.get_many_with(&keys, &mut |at, payload| {
                    found[at] = payload.map(<[u8]>::to_vec);
                })?;
                for (place, found) in places.iter().zip(found) {
                    assert!(found == self.model.get(place).map(|entry| entry.payload()));
                }
            }
            Op::Scan { range, backward, limit } => {
                self.scan(range, *backward, *limit)?;
            }
            Op::TakeSnapshot => self.snapshots.push((self.db.snapshot(), self.model.clone())),
            Op::DropSnapshot => {
                if !self.snapshots.is_empty() {
                    self.snapshots.remove(0);
                }
            }
            Op::Begin => {
                if self.transaction.is_none() {
                    self.transaction = Some((self.db.begin(), self.model.clone(), false));
                }
            }
            Op::Commit => self.commit()?,
            Op::Rollback => self.transaction = None,
            Op::Check => check(&self.db).unwrap_or_else(|why| panic!("{why}")),
            Op::Disk(op) => self.disk_step(op)?,
        }
        Ok(())
    }

    fn write(&mut self, place: Place, write: &Write) -> Result<(), Error> {
        let answer = write.to_table(&self.table, (self.keys, place))?;
        assert_eq!(answer, write_to(&mut self.model, place, write), "{place:?}");
        Ok(())
    }

    /// Changes a record, which is what the model says before that.
    fn change(&self, place: Place, work: impl Fn(&mut Vec<u8>) -> bool) -> Result<(), Error> {
        let before = self.model.get(&place).map(|entry| entry.payload());
        let there = self.table.change(self.keys.key(place), &mut |payload| {
            assert!(Some(&*payload) == before.as_ref(), "{place:?}");
            work(payload)
        })?;
        assert_eq!(there, before.is_some());
        Ok(())
    }

    fn get(&mut self, place: Place) -> Result<(), Error> {
        let (key, expected) = (self.keys.key(place), self.model.get(&place));
        assert!(payload_of(&self.table, &key)? == expected.map(|entry| entry.payload()));
        let text = expected.map(|entry| entry.text.text());
        let is_right = |text: &String| {
            self.table
                .get(&key)
                .map(|row| row.map(|row| row.get("text") == Some(Value::Text(text))))
        };
        let seen = text.as_ref().map_or(Ok(None), is_right)?;
        assert_eq!(seen, expected.map(|_| true));
        let mut bytes = [0; 20];
        let refused = self.table.get_exact(&key, &mut bytes);
        assert!(matches!(refused, Err(Error::VariablePayload { .. })), "{refused:?}");
        if let Some((transaction, model, disturbed)) = &mut self.transaction {
            let expected = model.get(&place).map(|entry| entry.payload());
            let found = payload_of(&self.table.within(transaction), &key)?;
            assert!(*disturbed || found == expected);
        }
        for (snapshot, model) in &self.snapshots {
            let mut payload = vec![7; 10];
            let found = self.table.at(snapshot).get_into(&key, &mut payload)?;
            let expected = model.get(&place).map(|entry| entry.payload());
            assert!(found.then_some(payload) == expected, "{place:?} in a snapshot");
        }
        Ok(())
    }

    fn commit(&mut self) -> Result<(), Error> {
        let Some((transaction, model, disturbed)) = self.transaction.take() else { return Ok(()) };
        match transaction.commit() {
            Ok(()) if !disturbed => self.model = model,
            // It may not have met what was written outside; its model is of no use.
            Ok(()) => self.read_all()?,
            Err(Error::Conflict { .. }) if disturbed => {}
            // It changes more pages than there are.
            Err(Error::Full { .. }) if self.disk.is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    fn disk_step(&mut self, op: &DiskOp) -> Result<(), Error> {
        match op {
            DiskOp::InsertRange(from, to, entry) => {
                self.outside();
                for place in (*from..*to).flat_map(|a| (0..6).map(move |b| (a, b))) {
                    self.write(place, &Write::Insert(*entry))?;
                }
            }
            DiskOp::Checkpoint => self.db.checkpoint()?,
            DiskOp::CheckpointAmid(writes) => {
                self.outside();
                self.checkpoint_amid(writes)?;
            }
            DiskOp::Flush => self.db.flush()?,
            DiskOp::LookAfter => simulation::look_after(&self.db)?,
            DiskOp::Compact => drop(self.db.compact()?),
            DiskOp::Reopen => self.reopen()?,
            DiskOp::Sweep(count) => self.swept.sweep(&self.db, *count)?,
        }
        Ok(())
    }

    fn checkpoint_amid(&mut self, writes: &[(Place, Write)]) -> Result<(), Error> {
        let db = self.db.clone();
        // Until its end no other checkpoint makes room for what is written meanwhile.
        let statistics = db.statistics();
        if statistics.changed_bytes > 12 << 14 || statistics.log_bytes > 1 << 16 {
            db.checkpoint()?;
        }
        let mut checkpoint = Checkpoint::begin(&db)?;
        let mut writes = writes.iter();
        loop {
            for (place, write) in writes.by_ref().take(5) {
                if db.statistics().changed_bytes < 20 << 14 {
                    self.write(*place, write)?;
                }
            }
            self.snapshots.push((db.snapshot(), self.model.clone()));
            if !checkpoint.step()? {
                break;
            }
        }
        checkpoint.finish()
    }

    /// Closes the database and opens it again.
    fn reopen(&mut self) -> Result<(), Error> {
        self.transaction = None;
        let (disk, options) = self.disk.as_ref().expect("it is on a disk");
        self.db.clone().close()?;
        for (snapshot, _) in self.snapshots.drain(..) {
            let looked = each_row(self.table.at(&snapshot).iter(), &mut |_| Ok(true));
            assert_eq!(looked, Err(Error::Closed));
        }
        self.db = simulation::open(options, disk, 1)?;
        self.table = self.db.table("t")?;
        Ok(())
    }

    fn read_all(&mut self) -> Result<(), Error> {
        let mut model = Model::new();
        each_row(self.table.iter(), &mut |record| {
            let place = self.keys.of(self.table.schema(), record);
            let entry = Entry::of(self.keys, record);
            assert!(record == entry.record(self.keys, place), "{place:?}");
            model.insert(place, entry);
            Ok(true)
        })?;
        self.model = model;
        Ok(())
    }

    /// Whether all records are in a snapshot, and no others.
    fn expect_all(&self, snapshot: &Snapshot, model: &Model) -> Result<(), Error> {
        let mut left = model.clone();
        each_row(self.table.at(snapshot).iter(), &mut |record| {
            let place = self.keys.of(self.table.schema(), record);
            let entry = left.remove(&place).unwrap_or_else(|| panic!("{place:?} should not be"));
            assert!(record == entry.record(self.keys, place), "{place:?}");
            Ok(true)
        })?;
        assert!(left.is_empty(), "{:?} are not there", left.keys());
        Ok(())
    }

    fn scan(&self, range: &Range, backward: bool, limit: u64) -> Result<(), Error> {
        let key = |place| self.keys.key(place);
        let (low, high) = (range.0.map(key), range.1.map(key));
        let ask = |columns| Scan {
            lower: low.as_ref().map(|key| &key[..]),
            upper: high.as_ref().map(|key| &key[..]),
            backward,
            columns,
            limit,
        };
        if self.kind == KeyKind::Hash {
            let refused = each_row(cursor(&self.table, &ask(&[0])), &mut |_| Ok(true));
            assert!(matches!(refused, Err(Error::NoOrder { .. })));
            return Ok(());
        }
        let expected = |model: &Model, columns: &[usize]| {
            let inside = model.iter().filter(|(place, _)| range.contains(*place));
            let mut inside: Vec<_> = inside.collect();
            if backward {
                inside.reverse();
            }
            inside.truncate(limit as usize);
            inside
                .into_iter()
                .map(|(place, entry)| entry.row(self.keys, *place, columns))
                .collect::<Vec<_>>()
        };
        let cases: [&[usize]; 5] = [&[0, 1, 2, 3, 4, 5, 6], &[5, 1], &[6, 2], &[4], &[]];
        for columns in cases {
            let mut found = Vec::new();
            each_row(cursor(&self.table, &ask(columns)), &mut |row| {
                found.push(row.to_vec());
                Ok(true)
            })?;
            assert!(found == expected(&self.model, columns), "{columns:?}");
            for (snapshot, model) in &self.snapshots {
                let mut found = Vec::new();
                each_row(cursor(&self.table.at(snapshot), &ask(columns)), &mut |row| {
                    found.push(row.to_vec());
                    Ok(true)
                })?;
                assert!(found == expected(model, columns), "{columns:?} of a snapshot");
            }
            if let Some((transaction, model, false)) = &self.transaction {
                let mut found = Vec::new();
                each_row(cursor(&self.table.within(transaction), &ask(columns)), &mut |row| {
                    found.push(row.to_vec());
                    Ok(true)
                })?;
                assert!(found == expected(model, columns), "{columns:?} of a transaction");
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), Error> {
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
        self.expect_all(&self.db.snapshot(), &self.model)?;
        for (snapshot, model) in &self.snapshots {
            self.expect_all(snapshot, model)?;
        }
        self.snapshots.clear();
        self.transaction = None;
        assert_eq!(self.db.statistics().snapshot_bytes, 0);
        if self.disk.is_some() {
            self.reopen()?;
            check(&self.db).unwrap_or_else(|why| panic!("{why}"));
            self.expect_all(&self.db.snapshot(), &self.model)?;
            self.swept.sweep(&self.db, BALLAST)?;
            self.db.drop_table("ballast")?;
        }
        self.db.drop_table("t")?;
        assert_eq!(self.db.statistics().page_bytes, 0, "all pages came back");
        self.db.checkpoint()?;
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
        // Superblocks, the catalogue, and what says where that is.
        assert!(self.db.statistics().data_used_bytes <= 8 << 14, "all places came back");
        Ok(())
    }
}

fn finish(mut run: Run, ops: &[Op]) {
    for op in ops {
        run.step(op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
    }
    run.end().expect("it ends well");
}

fn keys() -> impl Strategy<Value = Keys> {
    prop_oneof![Just(Keys::Numbers), Just(Keys::AnyLength)]
}

proptest! {
    #![proptest_config(cases(600))]

    #[test]
    fn hashed_tables_of_records_of_any_length_do_what_maps_do(keys in keys(), ops in ops()) {
        finish(Run::in_memory(KeyKind::Hash, keys), &ops);
    }

    #[test]
    fn ordered_tables_of_records_of_any_length_do_what_maps_do(keys in keys(), ops in ops()) {
        finish(Run::in_memory(KeyKind::Tree, keys), &ops);
    }
}

proptest! {
    #![proptest_config(cases(300))]

    #[test]
    fn hashed_tables_of_records_of_any_length_on_a_disk_do_what_maps_do(
        keys in keys(),
        (level, ops) in disk_ops(),
    ) {
        finish(Run::on_disk(KeyKind::Hash, keys, level), &ops);
    }

    #[test]
    fn ordered_tables_of_records_of_any_length_on_a_disk_do_what_maps_do(
        keys in keys(),
        (level, ops) in disk_ops(),
    ) {
        finish(Run::on_disk(KeyKind::Tree, keys, level), &ops);
    }
}
