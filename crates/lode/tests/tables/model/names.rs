//! Ordered tables whose keys are any bytes: some the beginnings of others, some as long as keys can
//! be.

use std::collections::BTreeMap;
use std::ops::{Bound, RangeBounds};

use crate::reading::{Scan, check, cursor, each_row, nth, payload_of};
use lode::{Database, KeyKind, Options, ReadTable, Schema, Snapshot, Table, Type, Value};
use proptest::prelude::*;
use proptest::sample::Index;

use super::cases;

type Name = Vec<u8>;
type Model = BTreeMap<Name, u32>;

/// The most bytes of a name, with two for its length as many as a key can have.
const MOST_NAME_BYTES: u32 = 1022;

/// An operation on one of the names.
#[derive(Clone, Debug)]
enum Op {
    Upsert(Index, u32),
    Delete(Index),
    /// All that are in order between two, those not there before.
    InsertAll(Index, Index, u32),
    /// Each of some, with a value that comes from its place among them.
    UpsertAll(Vec<Index>, u32),
    DeleteBetween(Index, Index),
    Get(Index),
    GetMany(Vec<Index>),
    Scan(Bound<Index>, Bound<Index>, bool, u64),
    TakeSnapshot,
}

fn name() -> impl Strategy<Value = Name> {
    let byte = || prop_oneof![Just(0), Just(1), Just(0xff), Just(b'a')];
    prop_oneof![
        6 => prop::collection::vec(byte(), 0..6),
        2 => prop::collection::vec(byte(), 0..60),
        // They differ at their ends, or not before the second zero.
        2 => (0..MOST_NAME_BYTES as usize, 0..3usize, byte()).prop_map(|(size, zeros, last)| {
            let mut name = vec![b'a'; size];
            name.extend(vec![0; zeros]);
            name.push(last);
            name.truncate(MOST_NAME_BYTES as usize);
            name
        }),
        1 => byte().prop_map(|byte| vec![byte; MOST_NAME_BYTES as usize]),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let place = any::<Index>;
    let bound = || {
        prop_oneof![
            place().prop_map(Bound::Included),
            place().prop_map(Bound::Excluded),
            Just(Bound::Unbounded),
        ]
    };
    prop_oneof![
        12 => (place(), any::<u32>()).prop_map(|(at, value)| Op::Upsert(at, value)),
        4 => place().prop_map(Op::Delete),
        4 => (place(), place(), any::<u32>()).prop_map(|(from, to, n)| Op::InsertAll(from, to, n)),
        2 => (prop::collection::vec(place(), 0..60), any::<u32>())
            .prop_map(|(names, n)| Op::UpsertAll(names, n)),
        1 => (place(), place()).prop_map(|(from, to)| Op::DeleteBetween(from, to)),
        2 => place().prop_map(Op::Get),
        1 => prop::collection::vec(place(), 0..40).prop_map(Op::GetMany),
        3 => (bound(), bound(), any::<bool>(), 1..50u64)
            .prop_map(|(lower, upper, backward, limit)| Op::Scan(lower, upper, backward, limit)),
        1 => Just(Op::TakeSnapshot),
    ]
}

/// Returns names, the length of their other columns, and operations.
fn runs() -> impl Strategy<Value = (Vec<Name>, u32, Vec<Op>)> {
    let names = prop::collection::vec(name(), 1..200);
    let size = prop_oneof![Just(1), Just(100), Just(1_000), Just(3_000)];
    (names, size, prop::collection::vec(op(), 0..400))
}

struct Run {
    db: Database,
    table: Table,
    names: Vec<Name>,
    size: u32,
    model: Model,
    snapshots: Vec<(Snapshot, Model)>,
}

impl Run {
    fn new(kind: KeyKind, names: Vec<Name>, size: u32) -> Self {
        let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
        let schema = Schema::build("t")
            .key("name", Type::VarBytes(MOST_NAME_BYTES))
            .column("value", Type::U32)
            .column("rest", Type::Bytes(size));
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("a table");
        Self { db, table, names, size, model: Model::new(), snapshots: Vec::new() }
    }

    fn name(&self, at: &Index) -> &Name {
        at.get(&self.names)
    }

    fn key(&self, name: &[u8]) -> Vec<u8> {
        self.table.schema().pack_key(&[Value::Bytes(name)]).expect("it fits")
    }

    fn record(&self, name: &[u8], value: u32) -> Vec<u8> {
        let rest = vec![value as u8; self.size as usize];
        let values = [Value::Bytes(name), Value::Unsigned(value.into()), Value::Bytes(&rest)];
        self.table.schema().pack(&values).expect("it fits")
    }

    /// The names between two of them, in their order.
    fn between(&self, from: &Index, to: &Index) -> Vec<Name> {
        let (from, to) = (self.name(from), self.name(to));
        let mut between: Vec<_> =
            self.names.iter().filter(|name| *name >= from && *name <= to).cloned().collect();
        between.sort();
        between.dedup();
        between
    }

    fn expect(&self, name: &[u8], found: Option<Vec<u8>>, model: &Model) {
        let expected = model.get(name).map(|value| self.record(name, *value));
        let found = found.map(|payload| [self.key(name), payload].concat());
        assert!(found == expected, "{name:?}");
    }

    fn step(&mut self, op: &Op) -> lode::Result<()> {
        match op {
            Op::Upsert(at, value) => {
                let name = self.name(at).clone();
                let there = self.table.upsert(&self.record(&name, *value))?;
                assert_eq!(there, self.model.insert(name, *value).is_some());
            }
            Op::Delete(at) => {
                let name = self.name(at).clone();
                let there = self.table.delete(self.key(&name))?;
                assert_eq!(there, self.model.remove(&name).is_some());
            }
            Op::InsertAll(from, to, value) => {
                let names = self.between(from, to);
                let records = names.iter().map(|name| self.record(name, *value));
                let before = self.model.len();
                let first_there = names.iter().position(|name| self.model.contains_key(name));
                let new = if value % 2 == 0 {
                    assert_eq!(self.table.insert_all_new(records)?, first_there);
                    if first_there.is_some() {
                        return Ok(());
                    }
                    names.len() as u64
                } else {
                    self.table.insert_all(records)?
                };
                for name in names {
                    self.model.entry(name).or_insert(*value);
                }
                assert_eq!(new as usize, self.model.len() - before);
            }
            Op::UpsertAll(places, value) => {
                let values = (0..).map(|at| value.wrapping_add(at));
                let written = places.iter().map(|at| self.name(at).clone()).zip(values);
                let written: Vec<_> = written.collect();
                let records = written.iter().map(|(name, value)| self.record(name, *value));
                let before = self.model.len();
                let new = self.table.upsert_all(records)?;
                self.model.extend(written);
                assert_eq!(new as usize, self.model.len() - before);
            }
            Op::DeleteBetween(from, to) => {
                for name in self.between(from, to) {
                    let there = self.table.delete(self.key(&name))?;
                    assert_eq!(there, self.model.remove(&name).is_some());
                }
            }
            Op::Get(at) => {
                let (name, key) = (self.name(at), self.key(self.name(at)));
                self.expect(name, payload_of(&self.table, &key)?, &self.model);
                for (snapshot, model) in &self.snapshots {
                    let mut payload = Vec::new();
                    let there = self.table.at(snapshot).get_into(&key, &mut payload)?;
                    self.expect(name, there.then_some(payload), model);
                }
            }
            Op::GetMany(places) => {
                let keys: Vec<_> = places.iter().flat_map(|at| self.key(self.name(at))).collect();
                let mut found = vec![None; places.len()];
                self.table.get_many_with(&keys, &mut |at, payload| {
                    found[at] = payload.map(<[u8]>::to_vec);
                })?;
                for (at, found) in places.iter().zip(found) {
                    self.expect(self.name(at), found, &self.model);
                }
            }
            Op::Scan(lower, upper, backward, limit) => {
                if self.table.key_kind() == KeyKind::Tree {
                    self.scan((lower, upper), *backward, *limit)?;
                }
            }
            Op::TakeSnapshot => self.snapshots.push((self.db.snapshot(), self.model.clone())),
        }
        Ok(())
    }

    fn scan(
        &self,
        (lower, upper): (&Bound<Index>, &Bound<Index>),
        backward: bool,
        limit: u64,
    ) -> lode::Result<()> {
        let (lower, upper) =
            (lower.map(|at| self.name(&at).clone()), upper.map(|at| self.name(&at).clone()));
        let key = |name: &Name| self.key(name);
        let (low, high) = (lower.as_ref().map(key), upper.as_ref().map(key));
        let scan = Scan {
            lower: low.as_ref().map(|key| &key[..]),
            upper: high.as_ref().map(|key| &key[..]),
            backward,
            columns: &[1, 0],
            limit,
        };
        let range = (lower.as_ref().map(|name| &name[..]), upper.as_ref().map(|name| &name[..]));
        let expected = |model: &Model| {
            let inside = model.iter().filter(|(name, _)| range.contains(&name[..]));
            let mut rows: Vec<_> = inside
                .map(|(name, value)| {
                    let size = (name.len() as u32).to_le_bytes();
                    [&value.to_le_bytes()[..], &size, name].concat()
                })
                .collect();
            if backward {
                rows.reverse();
            }
            rows.truncate(limit as usize);
            rows
        };
        let mut found = Vec::new();
        each_row(cursor(&self.table, &scan), &mut |row| {
            found.push(row.to_vec());
            Ok(true)
        })?;
        assert!(found == expected(&self.model), "{scan:?}");
        for (snapshot, model) in &self.snapshots {
            let mut found = Vec::new();
            each_row(cursor(&self.table.at(snapshot), &scan), &mut |row| {
                found.push(row.to_vec());
                Ok(true)
            })?;
            assert!(found == expected(model), "{scan:?} of a snapshot");
        }
        Ok(())
    }

    fn end(self) {
        check(&self.db).unwrap_or_else(|why| panic!("{why}"));
        let mut records = Vec::new();
        let each = each_row(self.table.iter(), &mut |record| {
            records.push(record.to_vec());
            Ok(true)
        });
        each.expect("nothing is wrong");
        if self.table.key_kind() == KeyKind::Hash {
            records.sort_by_key(|record| {
                let row = self.table.schema().row(record).expect("a record");
                let Value::Bytes(name) = row.at(nth(0)) else { panic!("no name: {row:?}") };
                name.to_vec()
            });
        }
        let expected = self.model.iter().map(|(name, value)| self.record(name, *value));
        assert!(records.into_iter().eq(expected), "all records, in their order");
        drop(self.snapshots);
        self.db.drop_table("t").expect("it is there");
        assert_eq!(self.db.statistics().page_bytes, 0, "all pages came back");
    }
}

fn run(kind: KeyKind, (names, size, ops): (Vec<Name>, u32, Vec<Op>)) {
    let mut run = Run::new(kind, names, size);
    for op in &ops {
        run.step(op).unwrap_or_else(|error| panic!("{op:?}: {error}"));
    }
    run.end();
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn ordered_tables_of_any_names_do_what_maps_do(steps in runs()) {
        run(KeyKind::Tree, steps);
    }

    #[test]
    fn hashed_tables_of_any_names_do_what_maps_do(steps in runs()) {
        run(KeyKind::Hash, steps);
    }
}
