//! Records that all have the same size.

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::simulation::{self, Checkpoint, Simulated};
use lode::{
    Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Snapshot, Table, Transaction,
    Type,
};
use proptest::prelude::*;

use super::cases;
use super::disk::{self, BALLAST, Swept};
use super::keys::{Keys, Place};

type Entry = (u32, Vec<u8>);
type Model = BTreeMap<Place, Entry>;
/// What a scan copies of a record.
type Pick<'p> = &'p dyn Fn(&Place, &Entry) -> Vec<u8>;

/// What may be done. Keys are few, so that operations meet.
#[derive(Clone, Debug)]
enum Op {
    Insert(i16, u8, u32),
    Upsert(i16, u8, u32),
    Update(i16, u8, u32),
    Increment(i16, u8),
    Delete(i16, u8),
    DeleteRange(i16, i16),
    Get(i16, u8),
    GetMany(Vec<(i16, u8)>),
    Scan {
        lower: Bound<(i16, u8)>,
        upper: Bound<(i16, u8)>,
        backward: bool,
        limit: u64,
    },
    TakeSnapshot,
    DropSnapshot,
    Begin,
    Commit,
    Rollback,
    /// What only a database in a directory has to do.
    Disk(DiskOp),
}

#[derive(Clone, Debug)]
enum DiskOp {
    InsertRange(i16, i16, u32),
    Checkpoint,
    /// A checkpoint with writes before each of its steps, and a snapshot taken in the middle.
    CheckpointAmid(Vec<(i16, u8, Option<u32>)>),
    Flush,
    LookAfter,
    Compact,
    Reopen,
    /// Reads this number of records of the other table, and writes one of them.
    Sweep(u32),
}

/// Operations on keys of `-reach..reach`.
fn memory_ops(reach: i16) -> BoxedStrategy<Op> {
    let key = move || (-reach..reach, 0..6u8);
    let bound = || {
        prop_oneof![
            key().prop_map(Bound::Included),
            key().prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    };
    prop_oneof![
        8 => (key(), any::<u32>()).prop_map(|((a, b), v)| Op::Insert(a, b, v)),
        2 => (key(), any::<u32>()).prop_map(|((a, b), v)| Op::Upsert(a, b, v)),
        2 => (key(), any::<u32>()).prop_map(|((a, b), v)| Op::Update(a, b, v)),
        1 => key().prop_map(|(a, b)| Op::Increment(a, b)),
        3 => key().prop_map(|(a, b)| Op::Delete(a, b)),
        1 => (-reach..reach, 0..20i16).prop_map(|(from, size)| Op::DeleteRange(from, from + size)),
        2 => key().prop_map(|(a, b)| Op::Get(a, b)),
        1 => proptest::collection::vec(key(), 0..40).prop_map(Op::GetMany),
        2 => (bound(), bound(), any::<bool>(), 0..50u64)
            .prop_map(|(lower, upper, backward, limit)| Op::Scan { lower, upper, backward, limit }),
        1 => Just(Op::TakeSnapshot),
        1 => Just(Op::DropSnapshot),
        1 => Just(Op::Begin),
        1 => Just(Op::Commit),
        1 => Just(Op::Rollback),
    ]
    .boxed()
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    proptest::collection::vec(memory_ops(20), 0..300)
}

/// Operations on a disk: on few keys, so that they meet, and on many, so that there are many pages.
fn disk_ops() -> impl Strategy<Value = (Durability, Vec<Op>)> {
    let key = || (-REACH..REACH, 0..6u8);
    let amid = (key(), proptest::option::of(any::<u32>())).prop_map(|((a, b), v)| (a, b, v));
    let range = (-REACH..REACH, 0..25i16, any::<u32>());
    let disk_op = prop_oneof![
        8 => range.prop_map(|(from, count, v)| DiskOp::InsertRange(from, from + count, v)),
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

/// How far from 0 keys are on a disk.
const REACH: i16 = 150;

fn key(place: Place) -> Vec<u8> {
    Keys::Numbers.key(place)
}

/// A table whose records are so long that few fit on a page.
fn schema(payload: u32) -> Schema {
    Keys::Numbers
        .schema()
        .column("value", Type::U32)
        .column("rest", Type::Bytes(payload))
        .finish()
        .expect("a schema")
}

fn record(a: i16, b: u8, value: u32, payload: u32) -> Vec<u8> {
    let rest: Vec<u8> = (0..payload).map(|at| (value ^ at) as u8).collect();
    [&key((a, b))[..], &value.to_le_bytes(), &rest].concat()
}

fn packed_rest((value, rest): &(u32, Vec<u8>)) -> Vec<u8> {
    [&value.to_le_bytes()[..], rest].concat()
}

struct Run {
    /// The disk, unless the database is in memory.
    disk: Option<(Simulated, Options)>,
    swept: Swept,
    db: Database,
    table: Table,
    kind: KeyKind,
    payload: u32,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
    transaction: Option<(Transaction, Model, bool)>,
}

impl Run {
    fn new(kind: KeyKind, payload: u32) -> Self {
        let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
        Self::with(db, kind, payload, None)
    }

    fn on_disk(kind: KeyKind, payload: u32, level: Durability) -> Self {
        let (disk, options) = (disk::loaded(), disk::options(level));
        let db = simulation::open(&options, &disk, 1).expect("a database");
        Self::with(db, kind, payload, Some((disk, options)))
    }

    fn with(db: Database, kind: KeyKind, payload: u32, disk: Option<(Simulated, Options)>) -> Self {
        let table = db.create_table(&schema(payload), kind).expect("a table");
        let (model, snapshots, transaction) = (Model::new(), Vec::new(), None);
        let swept = Swept::default();
        Self { disk, swept, db, table, kind, payload, model, snapshots, transaction }
    }

    fn value(&self, a: i16, b: u8, value: u32) -> (u32, Vec<u8>) {
        let record = record(a, b, value, self.payload);
        (value, record[7..].to_vec())
    }

    /// Writes outside of a transaction make one that is under way fail, if they touch its records:
    /// here, whenever they happen.
    fn outside(&mut self) {
        if let Some((_, _, disturbed)) = &mut self.transaction {
            *disturbed = true;
        }
    }

    fn step(&mut self, op: &Op) -> Result<(), Error> {
        let payload = self.payload;
        match op {
            Op::Insert(a, b, value) => {
                let (place, new) = ((*a, *b), self.value(*a, *b, *value));
                let record = record(*a, *b, *value, payload);
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let fresh = !model.contains_key(&place);
                    let inserted = transaction.insert(&self.table, &record)?;
                    assert!(*disturbed || inserted == fresh);
                    model.entry(place).or_insert(new);
                    return Ok(());
                }
                assert_eq!(self.table.insert(&record)?, !self.model.contains_key(&place));
                self.model.entry(place).or_insert(new);
            }
            Op::Upsert(a, b, value) => {
                let (place, new) = ((*a, *b), self.value(*a, *b, *value));
                let record = record(*a, *b, *value, payload);
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let there = transaction.upsert(&self.table, &record)?;
                    let before = model.insert(place, new).is_some();
                    assert!(*disturbed || there == before);
                    return Ok(());
                }
                let there = self.table.upsert(&record)?;
                assert_eq!(there, self.model.insert(place, new).is_some());
            }
            Op::Update(a, b, value) => {
                let (key, bytes) = (key((*a, *b)), value.to_le_bytes());
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let there = transaction.update(&self.table, &key, nth(2), &bytes)?;
                    assert!(*disturbed || there == model.contains_key(&(*a, *b)));
                    model.entry((*a, *b)).and_modify(|entry| entry.0 = *value);
                    return Ok(());
                }
                let there = self.table.update(&key, nth(2), &bytes)?;
                assert_eq!(there, self.model.contains_key(&(*a, *b)));
                self.model.entry((*a, *b)).and_modify(|entry| entry.0 = *value);
            }
            Op::Increment(a, b) => {
                self.outside();
                let there = self.table.change(key((*a, *b)), &mut |payload| {
                    let value = u32::from_le_bytes(*payload.first_chunk().expect("four bytes"));
                    payload[..4].copy_from_slice(&value.wrapping_add(1).to_le_bytes());
                    true
                })?;
                assert_eq!(there, self.model.contains_key(&(*a, *b)));
                self.model.entry((*a, *b)).and_modify(|e| e.0 = e.0.wrapping_add(1));
            }
            Op::Delete(a, b) => {
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let there = transaction.delete(&self.table, key((*a, *b)))?;
                    let before = model.remove(&(*a, *b)).is_some();
                    assert!(*disturbed || there == before);
                    return Ok(());
                }
                let there = self.table.delete(key((*a, *b)))?;
                assert_eq!(there, self.model.remove(&(*a, *b)).is_some());
            }
            Op::DeleteRange(from, to) => {
                self.outside();
                for a in *from..*to {
                    for b in 0..6 {
                        let there = self.table.delete(key((a, b)))?;
                        assert_eq!(there, self.model.remove(&(a, b)).is_some());
                    }
                }
            }
            Op::Get(a, b) => {
                let expected = self.model.get(&(*a, *b)).map(packed_rest);
                assert_eq!(payload_of(&self.table, key((*a, *b)))?, expected);
                if let Some((transaction, model, disturbed)) = &mut self.transaction {
                    let expected = model.get(&(*a, *b)).map(packed_rest);
                    let found = payload_of(&self.table.within(transaction), key((*a, *b)))?;
                    assert!(*disturbed || found == expected);
                }
                for (snapshot, model) in &self.snapshots {
                    let mut payload = vec![0; 4 + payload as usize];
                    let found = self.table.at(snapshot).get_into(&key((*a, *b)), &mut payload)?;
                    let expected = model.get(&(*a, *b)).map(packed_rest);
                    assert_eq!(found.then_some(payload), expected);
                }
            }
            Op::GetMany(places) => {
                let keys: Vec<u8> = places.iter().flat_map(|(a, b)| key((*a, *b))).collect();
                let mut found = vec![None; places.len()];
                self.table.get_many_with(&keys, &mut |at, payload| {
                    found[at] = payload.map(<[u8]>::to_vec);
                })?;
                for (place, found) in places.iter().zip(found) {
                    assert_eq!(found, self.model.get(place).map(packed_rest));
                }
            }
            Op::Scan { lower, upper, backward, limit } => {
                self.scan(lower, upper, *backward, *limit)?;
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
            Op::Commit => {
                if let Some((transaction, model, disturbed)) = self.transaction.take() {
                    match transaction.commit() {
                        Ok(()) if !disturbed => self.model = model,
                        // It may not have met what was written outside; its model is of no use.
                        Ok(()) => self.read_all()?,
                        Err(Error::Conflict { .. }) if disturbed => {}
                        // It changes more pages than there are.
                        Err(Error::Full { .. }) if self.disk.is_some() => {}
                        Err(error) => return Err(error),
                    }
                }
            }
            Op::Rollback => self.transaction = None,
            Op::Disk(op) => self.disk_step(op)?,
        }
        Ok(())
    }

    fn disk_step(&mut self, op: &DiskOp) -> Result<(), Error> {
        match op {
            DiskOp::InsertRange(from, to, value) => {
                self.outside();
                for (a, b) in (*from..*to).flat_map(|a| (0..6).map(move |b| (a, b))) {
                    let inserted = self.table.insert(&record(a, b, *value, self.payload))?;
                    assert_eq!(inserted, !self.model.contains_key(&(a, b)));
                    let new = self.value(a, b, *value);
                    self.model.entry((a, b)).or_insert(new);
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

    fn checkpoint_amid(&mut self, writes: &[(i16, u8, Option<u32>)]) -> Result<(), Error> {
        let db = self.db.clone();
        // Until its end no other checkpoint makes room for what is written meanwhile.
        if db.statistics().changed_bytes > 16 << 14 {
            db.checkpoint()?;
        }
        let mut checkpoint = Checkpoint::begin(&db)?;
        let mut writes = writes.iter();
        loop {
            for (a, b, value) in writes.by_ref().take(5) {
                let place = (*a, *b);
                let (there, before) = match value {
                    Some(value) => {
                        let new = self.value(*a, *b, *value);
                        let there = self.table.upsert(&record(*a, *b, *value, self.payload))?;
                        (there, self.model.insert(place, new))
                    }
                    None => (self.table.delete(key((*a, *b)))?, self.model.remove(&place)),
                };
                assert_eq!(there, before.is_some());
            }
            self.snapshots.push((db.snapshot(), self.model.clone()));
            if !checkpoint.step()? {
                break;
            }
        }
        checkpoint.finish()
    }

    /// Closes the database and opens it again. Old handles know that they are of no use.
    fn reopen(&mut self) -> Result<(), Error> {
        self.transaction = None;
        let (disk, options) = self.disk.as_ref().expect("it is on a disk");
        self.db.clone().close()?;
        assert_eq!(payload_of(&self.table, key((0, 0))), Err(Error::Closed));
        assert_eq!(self.table.delete(key((0, 0))), Err(Error::Closed));
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
            let a = i16::from_le_bytes(*record.first_chunk().expect("two bytes"));
            let value = u32::from_le_bytes(*record[3..].first_chunk().expect("four bytes"));
            model.insert((a, record[2]), (value, record[7..].to_vec()));
            Ok(true)
        })?;
        self.model = model;
        Ok(())
    }

    fn scan(
        &self,
        lower: &Bound<(i16, u8)>,
        upper: &Bound<(i16, u8)>,
        backward: bool,
        limit: u64,
    ) -> Result<(), Error> {
        let packed = |bound: &Bound<(i16, u8)>| bound.map(key);
        let (low, high) = (packed(lower), packed(upper));
        let ask = |columns| Scan {
            lower: low.as_ref().map(|key| &key[..]),
            upper: high.as_ref().map(|key| &key[..]),
            backward,
            columns,
            limit,
        };
        let expected = |model: &Model, pick: Pick<'_>| {
            let inside = |place: &(i16, u8)| {
                let above = match lower {
                    Bound::Included(lower) => place >= lower,
                    Bound::Excluded(lower) => place > lower,
                    Bound::Unbounded => true,
                };
                above
                    && match upper {
                        Bound::Included(upper) => place <= upper,
                        Bound::Excluded(upper) => place < upper,
                        Bound::Unbounded => true,
                    }
            };
            let all = model.iter().filter(|(place, _)| inside(place));
            let mut rows: Vec<_> = all.map(|(place, entry)| pick(place, entry)).collect();
            if backward {
                rows.reverse();
            }
            rows.truncate(limit as usize);
            rows
        };
        if self.kind == KeyKind::Hash {
            let refused = each_row(cursor(&self.table, &ask(&[0])), &mut |_| Ok(true));
            assert!(matches!(refused, Err(Error::NoOrder { .. })));
            return Ok(());
        }
        let whole =
            |(a, b): &(i16, u8), entry: &Entry| [key((*a, *b)), packed_rest(entry)].concat();
        let some =
            |(_, b): &(i16, u8), (value, _): &Entry| [&value.to_le_bytes()[..], &[*b]].concat();
        let values = |_: &(i16, u8), (value, _): &Entry| value.to_le_bytes().to_vec();
        let cases: [(&[usize], Pick<'_>); 3] =
            [(&[0, 1, 2, 3], &whole), (&[2, 1], &some), (&[2], &values)];
        for (columns, pick) in cases {
            let mut found = Vec::new();
            let keep = &mut |row: &[u8]| {
                found.push(row.to_vec());
                Ok(true)
            };
            each_row(cursor(&self.table, &ask(columns)), keep)?;
            assert_eq!(found, expected(&self.model, pick), "{columns:?}");
            for (snapshot, model) in &self.snapshots {
                let mut found = Vec::new();
                let keep = &mut |row: &[u8]| {
                    found.push(row.to_vec());
                    Ok(true)
                };
                each_row(cursor(&self.table.at(snapshot), &ask(columns)), keep)?;
                assert_eq!(found, expected(model, pick), "{columns:?} of a snapshot");
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), Error> {
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
        let expected = self.model.clone();
        self.read_all()?;
        assert_eq!(self.model, expected);
        self.snapshots.clear();
        self.transaction = None;
        assert_eq!(self.db.statistics().snapshot_bytes, 0);
        if self.disk.is_some() {
            self.reopen()?;
            check(&self.db).unwrap_or_else(|why| panic!("{why}"));
            self.read_all()?;
            assert!(self.model == expected, "all of it is there again");
            self.swept.sweep(&self.db, BALLAST)?;
            self.db.drop_table("ballast")?;
        }
        self.db.drop_table("t")?;
        assert_eq!(self.db.statistics().page_bytes, 0, "all pages came back");
        self.db.checkpoint()?;
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
        // Superblocks, the catalogue, and what says where that is.
        assert!(self.db.statistics().data_used_bytes <= 8 << 14, "all places came back");
        assert!(matches!(payload_of(&self.table, key((0, 0))), Err(Error::NoTable { .. })));
        Ok(())
    }
}

fn replay(kind: KeyKind, payload: u32, ops: &[Op]) {
    finish(Run::new(kind, payload), ops);
}

fn replay_on_disk(kind: KeyKind, payload: u32, (level, ops): &(Durability, Vec<Op>)) {
    finish(Run::on_disk(kind, payload, *level), ops);
}

fn finish(mut run: Run, ops: &[Op]) {
    for op in ops {
        run.step(op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
    }
    run.end().expect("it ends well");
}

proptest! {
    #![proptest_config(cases(2_000))]

    #[test]
    fn hashed_tables_do_what_maps_do(ops in ops()) {
        replay(KeyKind::Hash, 900, &ops);
    }

    #[test]
    fn ordered_tables_do_what_maps_do(ops in ops()) {
        replay(KeyKind::Tree, 1_900, &ops);
    }

    #[test]
    fn hashed_tables_of_short_records_do_what_maps_do(ops in ops()) {
        replay(KeyKind::Hash, 10, &ops);
    }

    #[test]
    fn ordered_tables_of_short_records_do_what_maps_do(ops in ops()) {
        replay(KeyKind::Tree, 10, &ops);
    }

}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn hashed_tables_on_a_disk_do_what_maps_do(case in disk_ops()) {
        replay_on_disk(KeyKind::Hash, 900, &case);
    }

    #[test]
    fn ordered_tables_on_a_disk_do_what_maps_do(case in disk_ops()) {
        replay_on_disk(KeyKind::Tree, 1_900, &case);
    }

    #[test]
    fn hashed_tables_of_short_records_on_a_disk_do_what_maps_do(case in disk_ops()) {
        replay_on_disk(KeyKind::Hash, 10, &case);
    }

    #[test]
    fn ordered_tables_of_short_records_on_a_disk_do_what_maps_do(case in disk_ops()) {
        replay_on_disk(KeyKind::Tree, 10, &case);
    }
}
