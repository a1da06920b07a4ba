//! Records that expire, while the clock goes forward and back and the power is cut: no read returns
//! a record whose time is over, and none that was seen to be gone comes back.

#![no_main]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use lode::simulation::{self, Fault, Mapping, Simulated};
use lode::{
    Database, Error, IndexSchema, KeyKind, Options, ReadTable, Row, Schema, Snapshot, Table, Type,
    Value,
};
use lode_fuzz::{look_after, options, to_the_end};

#[derive(Arbitrary, Clone, Debug)]
enum Op {
    Insert(u8, Life),
    Upsert(u8, Life),
    UpsertAll(Vec<(u8, Life)>),
    Delete(u8),
    Commit(Vec<(u8, Option<Life>)>),
    Clock(u16),
    TakeSnapshot,
    DropSnapshot,
    Look,
    RemoveExpired,
    Index,
    Checkpoint,
    Compact,
    LookAfter,
    Reopen,
    Kill,
    PowerCut(u64),
}

/// The time at which a record is to expire, if it is, and a number of its own.
#[derive(Arbitrary, Clone, Copy, Debug, PartialEq)]
struct Life {
    until_us: Option<u16>,
    number: u8,
}

#[derive(Arbitrary, Debug)]
struct Input {
    mapping: u8,
    kind: bool,
    is_long: bool,
    #[arbitrary(with = to_the_end)]
    ops: Vec<Op>,
}

type Content = BTreeMap<u8, Life>;

struct Run {
    disk: Simulated,
    options: Options,
    clock: Arc<AtomicI64>,
    schema: Schema,
    kind: KeyKind,
    open: Option<(Database, Table)>,
    /// A snapshot, and the records that were there when it was taken.
    snapshot: Option<(Snapshot, Content)>,
    /// The records that were written last, also those that have expired.
    written: Content,
    /// The keys of those that were seen to be gone.
    gone: BTreeSet<u8>,
    /// The latest time that any read may have gone by.
    latest_us: i64,
    is_indexed: bool,
}

/// Returns false if a commit changes more pages than there are, or is too long for the memory.
fn is_done(written: lode::Result<()>) -> bool {
    match written {
        Ok(()) => true,
        Err(Error::Full { .. } | Error::TxnTooLarge { .. }) => false,
        Err(error) => panic!("{error}"),
    }
}

fn index() -> IndexSchema {
    IndexSchema::new("by_number", ["number"])
}

impl Run {
    fn db(&self) -> &Database {
        &self.open.as_ref().expect("it is open").0
    }

    fn table(&self) -> &Table {
        &self.open.as_ref().expect("it is open").1
    }

    fn now_us(&self) -> i64 {
        self.clock.load(Ordering::SeqCst)
    }

    fn record(&self, key: u8, life: Life) -> Vec<u8> {
        let until = life.until_us.map_or(Value::Null, |us| Value::Timestamp(us.into()));
        let (key, number) = (Value::Unsigned(key.into()), Value::Unsigned(life.number.into()));
        let rest = vec![life.number; usize::from(life.number) * 20];
        let rest = if self.schema.is_variable() { &rest[..] } else { &[7; 8] };
        self.schema.pack(&[key, until, number, Value::Bytes(rest)]).expect("it fits")
    }

    fn life(row: &Row) -> (u8, Life) {
        let unsigned = |name| match row.get(name) {
            Some(Value::Unsigned(number)) => number as u8,
            other => panic!("{name} is {other:?}"),
        };
        let until_us = match row.get("until") {
            Some(Value::Timestamp(us)) => Some(us as u16),
            _ => None,
        };
        (unsigned("key"), Life { until_us, number: unsigned("number") })
    }

    fn lives(rows: impl Iterator<Item = lode::Result<Row>>) -> Content {
        rows.map(|row| Self::life(&row.expect("it is whole"))).collect()
    }

    /// Returns true if a record is over by the clock.
    fn is_over(&self, life: Life) -> bool {
        life.until_us.is_some_and(|us| i64::from(us) <= self.now_us())
    }

    /// Returns true if a record is over by no clock that there was.
    fn is_live(&self, life: Life) -> bool {
        life.until_us.is_none_or(|us| i64::from(us) > self.latest_us)
    }

    /// Compares what a read found at a moment with the records written before it.
    fn expect(&self, found: &Content, written: &Content) {
        for (key, life) in found {
            assert_eq!(written.get(key), Some(life), "record {key}");
            assert!(!self.is_over(*life), "record {key} is over");
        }
        for (key, life) in written {
            assert!(!self.is_live(*life) || found.contains_key(key), "record {key} is missing");
        }
    }

    /// Reads all records in every way, and notes those that are gone.
    fn look(&mut self) {
        let table = self.table();
        let found = Self::lives(table.iter());
        self.expect(&found, &self.written);
        for key in found.keys() {
            assert!(!self.gone.contains(key), "record {key} has come back");
        }
        for key in self.written.keys() {
            let row = table.get(u64::from(*key)).expect("it is whole");
            assert_eq!(row.map(|row| Self::life(&row).1), found.get(key).copied());
        }
        assert_eq!(table.len().expect("it is counted"), found.len() as u64);
        if self.is_indexed {
            let by = table.by("by_number").expect("an index");
            assert_eq!(Self::lives(by.prefix(&[])), found);
        }
        if let Some((snapshot, written)) = &self.snapshot {
            let at = table.at(snapshot);
            self.expect(&Self::lives(at.iter()), written);
        }
        let gone = self.written.keys().filter(|key| !found.contains_key(key));
        self.gone = gone.copied().collect();
    }

    fn note(&mut self, key: u8, life: Option<Life>) {
        self.gone.remove(&key);
        match life {
            Some(life) => self.written.insert(key, life),
            None => self.written.remove(&key),
        };
    }

    fn open(&mut self) {
        let db = simulation::open(&self.options, &self.disk, 3).expect("it is whole");
        let table = match db.table("t") {
            Err(Error::NoTable { .. }) => db.create_table(&self.schema, self.kind),
            there => there,
        };
        self.open = Some((db, table.expect("it is whole")));
        let names = self.table().indexes().expect("it is open");
        self.is_indexed = !names.is_empty();
    }

    fn step(&mut self, op: &Op) {
        match op {
            Op::Insert(key, life) => {
                let is_new = self.table().insert(&self.record(*key, *life)).expect("room");
                let before = self.written.get(key).copied();
                if !is_new {
                    let before = before.expect("no record is in its way");
                    assert!(!self.is_over(before) && !self.gone.contains(key), "record {key}");
                } else {
                    assert!(before.is_none_or(|it| !self.is_live(it)), "record {key} is lost");
                    self.note(*key, Some(*life));
                }
            }
            Op::Upsert(key, life) => {
                self.table().upsert(&self.record(*key, *life)).expect("room");
                self.note(*key, Some(*life));
            }
            Op::UpsertAll(lives) => {
                let records = lives.iter().map(|(key, life)| self.record(*key, *life));
                let written = self.table().upsert_all(Vec::from_iter(records)).map(drop);
                if is_done(written) {
                    lives.iter().for_each(|(key, life)| self.note(*key, Some(*life)));
                }
            }
            Op::Delete(key) => {
                let was_there = self.table().delete(u64::from(*key)).expect("a key");
                let before = self.written.get(key).copied();
                assert!(!was_there || before.is_some_and(|it| !self.is_over(it)));
                assert!(was_there || before.is_none_or(|it| !self.is_live(it)));
                self.note(*key, None);
            }
            Op::Commit(writes) => {
                let (db, table) = self.open.as_ref().expect("it is open");
                let transaction = db.begin();
                let written = writes.iter().try_for_each(|(key, life)| match life {
                    Some(life) => transaction.upsert(table, &self.record(*key, *life)).map(drop),
                    None => transaction.delete(table, u64::from(*key)).map(drop),
                });
                if is_done(written.and_then(|()| transaction.commit())) {
                    writes.iter().for_each(|(key, life)| self.note(*key, *life));
                }
            }
            Op::Clock(now_us) => {
                self.clock.store((*now_us).into(), Ordering::SeqCst);
                self.latest_us = self.latest_us.max((*now_us).into());
            }
            Op::TakeSnapshot => {
                self.look();
                let there = self.written.iter().filter(|(key, _)| !self.gone.contains(key));
                let there = there.map(|(key, life)| (*key, *life)).collect();
                self.snapshot = Some((self.db().snapshot(), there));
            }
            Op::DropSnapshot => self.snapshot = None,
            Op::Look => self.look(),
            Op::RemoveExpired => drop(self.table().remove_expired().expect("room")),
            Op::Index => {
                let done = match self.is_indexed {
                    true => self.table().drop_index("by_number"),
                    false => self.table().create_index(&index()),
                };
                done.expect("room");
                self.is_indexed = !self.is_indexed;
            }
            Op::Checkpoint => self.db().checkpoint().expect("nothing is wrong with the disk"),
            Op::Compact => drop(self.db().compact().expect("nothing is wrong with the disk")),
            Op::LookAfter => look_after(self.db()).expect("nothing is wrong with the disk"),
            Op::Reopen => {
                self.snapshot = None;
                let (db, table) = self.open.take().expect("it is open");
                drop(table);
                db.close().expect("nothing is wrong");
                self.open();
            }
            Op::Kill | Op::PowerCut(_) => {
                if let Op::PowerCut(_) = op {
                    // What a read has left out is as durable as the next sync.
                    self.db().flush().expect("nothing is wrong");
                }
                self.disk.fail(Fault::Crash { at: self.disk.operations() });
                self.snapshot = None;
                self.open = None;
                match op {
                    Op::PowerCut(seed) => self.disk.crash(*seed),
                    _ => self.disk.heal(),
                }
                self.open();
            }
        }
        if !matches!(op, Op::Clock(_)) {
            self.look();
        }
    }
}

fuzz_target!(|input: Input| {
    let disk = Simulated::new(0);
    disk.set_mapping(Mapping::ALL[usize::from(input.mapping) % Mapping::ALL.len()]);
    let clock = Arc::new(AtomicI64::new(0));
    let hand = Arc::clone(&clock);
    let now = move || UNIX_EPOCH + Duration::from_micros(hand.load(Ordering::SeqCst) as u64);
    let options = options().log_bytes(1 << 16).clock(now);
    let rest = if input.is_long { Type::VarBytes(6_000) } else { Type::Bytes(8) };
    let schema = Schema::build("t").key("key", Type::U64).nullable("until", Type::Timestamp);
    let schema = schema.column("number", Type::U8).column("rest", rest).expires("until");
    let schema = schema.finish().expect("a schema");
    let kind = if input.kind { KeyKind::Hash } else { KeyKind::Tree };
    let (written, gone) = (Content::new(), BTreeSet::new());
    let (open, snapshot, latest_us, is_indexed) = (None, None, 0, false);
    let mut run = Run {
        disk,
        options,
        clock,
        schema,
        kind,
        open,
        snapshot,
        written,
        gone,
        latest_us,
        is_indexed,
    };
    run.open();
    for op in input.ops.iter().take(100) {
        run.step(op);
    }
    let report = run.db().check().expect("it is open");
    assert!(report.is_sound(), "{report}");
});
