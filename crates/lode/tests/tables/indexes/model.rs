//! Random writes, lookups, and creating and dropping of indexes, compared with a `BTreeMap`: in
//! memory, and on a simulated disk where the power goes.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use lode::simulation::{self, Fault, Simulated};
use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result, Row,
    Schema, Table, Transaction, Type, Value,
};
use proptest::prelude::*;

use crate::effort::effort;

/// The columns after the key: a mail that can be null, a city, and an age that can be null.
type Person = (Option<u8>, u8, Option<i8>);
type Model = BTreeMap<u64, Person>;

#[derive(Clone, Debug)]
enum Write {
    Insert(u64, Person),
    Upsert(u64, Person),
    SetCity(u64, u8),
    Delete(u64),
}

#[derive(Clone, Debug)]
enum Operation {
    Write(Write),
    InsertAll(Vec<(u64, Person)>),
    UpsertAll(Vec<(u64, Person)>),
    /// Writes in a transaction, of which the last ones are undone.
    Transaction(Vec<Write>, usize),
    Create(usize),
    Drop(usize),
    Clear,
    /// Replaces the table by one that is made from it.
    Alter,
    Rename,
    Crash(u64),
    Compact,
}

/// The indexes that come and go.
fn index(number: usize) -> IndexSchema {
    match number {
        0 => IndexSchema::new("by_mail", ["mail"]).unique(),
        1 => IndexSchema::new("by_city", ["city", "age"]),
        2 => IndexSchema::new("by_age", ["age", "id"]),
        _ => IndexSchema::new("by_both", ["city", "mail"]).unique(),
    }
}

/// The values that a record has in the columns of an index, and its key.
type Entry = (Vec<Option<Vec<u8>>>, u64);

fn entry(number: usize, id: u64, person: Person) -> Entry {
    let (mail, city, age) = person;
    let mail = mail.map(|mail| mail_of(mail).into_bytes());
    // Bytes in the order of the values.
    let age = age.map(|age| vec![(age as u8) ^ 0x80]);
    let key = id.to_be_bytes().to_vec();
    let values = match number {
        0 => vec![mail],
        1 => vec![Some(vec![city]), age],
        2 => vec![age, Some(key)],
        _ => vec![Some(vec![city]), mail],
    };
    (values, id)
}

fn mail_of(mail: u8) -> String {
    format!("{}\0", "m".repeat(usize::from(mail)))
}

struct Run {
    disk: Option<(Simulated, Options)>,
    db: Database,
    table: Table,
    model: Model,
    indexes: BTreeSet<usize>,
}

impl Run {
    fn new(kind: KeyKind, disk: Option<(Simulated, Options)>) -> Self {
        let db = match &disk {
            None => Options::new().memory_bytes(64 << 20).in_memory().expect("memory"),
            Some((disk, options)) => simulation::open(options, disk, 1).expect("an empty disk"),
        };
        let schema = Schema::build("people")
            .key("id", Type::U64)
            .nullable("mail", Type::VarText(60))
            .column("city", Type::U8)
            .nullable("age", Type::I8);
        let table = db.create_table(&schema.finish().expect("a schema"), kind).expect("room");
        Self { disk, db, table, model: Model::new(), indexes: BTreeSet::new() }
    }

    fn record(&self, id: u64, (mail, city, age): Person) -> Vec<u8> {
        let text = mail.map(mail_of);
        let mail = text.as_ref().map_or(Value::Null, |text| Value::Text(text));
        let age = age.map_or(Value::Null, |age| Value::Signed(age.into()));
        let values = [Value::Unsigned(id), mail, Value::Unsigned(city.into()), age];
        self.table.schema().pack(&values).expect("it fits")
    }

    /// Returns true if two records of a model have equal values where no two may.
    fn violates(&self, model: &Model) -> bool {
        self.indexes.iter().filter(|number| index(**number).is_unique()).any(|number| {
            let entries = model.iter().map(|(id, person)| entry(*number, *id, *person).0);
            let mut seen = BTreeSet::new();
            entries
                .filter(|values| values.iter().all(Option::is_some))
                .any(|values| !seen.insert(values))
        })
    }

    /// Does a write, to the table or in a transaction.
    fn write(&self, write: &Write, within: Option<&Transaction>) -> Result<bool> {
        let table = &self.table;
        match (write, within) {
            (Write::Insert(id, person), None) => table.insert(&self.record(*id, *person)),
            (Write::Upsert(id, person), None) => table.upsert(&self.record(*id, *person)),
            (Write::Delete(id), None) => table.delete(*id),
            (Write::SetCity(id, city), None) => {
                table.update(*id, table.schema().column("city")?, &[*city])
            }
            (Write::Insert(id, person), Some(transaction)) => {
                transaction.insert(table, &self.record(*id, *person))
            }
            (Write::Upsert(id, person), Some(transaction)) => {
                transaction.upsert(table, &self.record(*id, *person))
            }
            (Write::Delete(id), Some(transaction)) => transaction.delete(table, *id),
            (Write::SetCity(id, city), Some(transaction)) => {
                transaction.update(table, *id, table.schema().column("city")?, &[*city])
            }
        }
    }

    /// Compares the result of a write with that of the model, which gets it, too.
    fn expect(&self, model: &mut Model, write: &Write, found: Result<bool>) {
        let mut after = model.clone();
        let wanted = match write {
            Write::Insert(id, _) if model.contains_key(id) => false,
            Write::Insert(id, person) => after.insert(*id, *person).is_none(),
            Write::Upsert(id, person) => after.insert(*id, *person).is_some(),
            Write::Delete(id) => after.remove(id).is_some(),
            Write::SetCity(id, city) => after.get_mut(id).map(|person| person.1 = *city).is_some(),
        };
        if self.violates(&after) {
            assert!(matches!(found, Err(Error::UniqueViolation { .. })), "{write:?}: {found:?}");
        } else {
            assert_eq!(found, Ok(wanted), "{write:?}");
            *model = after;
        }
    }

    fn step(&mut self, operation: &Operation) -> Result<()> {
        match operation {
            Operation::Write(write) => {
                let found = self.write(write, None);
                let mut model = std::mem::take(&mut self.model);
                self.expect(&mut model, write, found);
                self.model = model;
            }
            Operation::InsertAll(people) | Operation::UpsertAll(people) => {
                let replaces = matches!(operation, Operation::UpsertAll(_));
                let mut after = self.model.clone();
                for (id, person) in people {
                    if replaces || !after.contains_key(id) {
                        after.insert(*id, *person);
                    }
                }
                let is_refused = self.violates(&after);
                let records = people.iter().map(|(id, person)| self.record(*id, *person));
                let found = match replaces {
                    true => self.table.upsert_all(records),
                    false => self.table.insert_all(records),
                };
                match found {
                    Err(Error::UniqueViolation { .. }) => assert!(is_refused, "{operation:?}"),
                    found => {
                        assert!(!is_refused, "{operation:?}");
                        let new = after.len() - self.model.len();
                        assert_eq!(found, Ok(new as u64), "{operation:?}");
                        self.model = after;
                    }
                }
            }
            Operation::Transaction(writes, undone) => {
                let mut model = self.model.clone();
                let transaction = self.db.begin();
                let kept = writes.len().saturating_sub(*undone);
                for write in &writes[..kept] {
                    let found = self.write(write, Some(&transaction));
                    self.expect(&mut model, write, found);
                }
                let point = transaction.savepoint();
                let mut then = model.clone();
                for write in &writes[kept..] {
                    let found = self.write(write, Some(&transaction));
                    self.expect(&mut then, write, found);
                }
                self.expect_entries(&self.table.within(&transaction), &then)?;
                transaction.roll_back_to(&point);
                self.expect_entries(&self.table.within(&transaction), &model)?;
                transaction.commit()?;
                self.model = model;
            }
            Operation::Create(number) => {
                let is_there = !self.indexes.insert(*number);
                let created = self.table.create_index(&index(*number));
                if is_there {
                    assert!(matches!(created, Err(Error::IndexExists { .. })), "{created:?}");
                } else if self.violates(&self.model) {
                    let is_refused = matches!(created, Err(Error::Duplicates { .. }));
                    assert!(is_refused, "{number}: {created:?}");
                    self.indexes.remove(number);
                } else {
                    created?;
                }
            }
            Operation::Drop(number) => {
                let dropped = self.table.drop_index(index(*number).name());
                match self.indexes.remove(number) {
                    true => dropped?,
                    false => assert!(matches!(dropped, Err(Error::NoIndex { .. })), "{dropped:?}"),
                }
            }
            Operation::Clear => {
                self.table = self.db.clear_table("people")?;
                self.model.clear();
            }
            Operation::Crash(seed) => {
                let Some((disk, options)) = &self.disk else { return Ok(()) };
                self.db.flush()?;
                disk.fail(Fault::Crash { at: disk.operations() });
                self.db = Database::in_memory()?;
                self.table = self.db.create_table(&self.table.schema().clone(), KeyKind::Tree)?;
                disk.crash(*seed);
                self.db = simulation::open(options, disk, *seed)?;
                self.table = self.db.table("people")?;
            }
            Operation::Alter => {
                let more = Alteration::new().add_nullable("more", Type::U8);
                self.db.alter_table("people", &more)?;
                let back = Alteration::new().drop_column("more");
                self.table = self.db.alter_table("people", &back)?;
            }
            Operation::Rename => {
                let other = Alteration::new().rename_column("city", "town").rename_table("folk");
                self.db.alter_table("people", &other)?;
                let back = Alteration::new().rename_column("town", "city").rename_table("people");
                self.table = self.db.alter_table("folk", &back)?;
            }
            Operation::Compact => drop(self.db.compact()?),
        }
        self.expect_entries(&self.table, &self.model)?;
        self.expect_entries(&self.table.at(&self.db.snapshot()), &self.model)
    }

    /// Compares what each index finds with a model.
    fn expect_entries(&self, view: &impl ReadTable, model: &Model) -> Result<()> {
        let mut names: Vec<_> = self.indexes.iter().map(|number| index(*number)).collect();
        names.sort_by(|a, b| a.name().cmp(b.name()));
        assert_eq!(self.table.indexes()?, names);
        let record = |id: &u64| self.record(*id, model[id]);
        let id = self.table.schema().column("id")?;
        for number in 0..4 {
            let described = index(number);
            if !self.indexes.contains(&number) {
                let none = view.by(described.name()).map(drop);
                assert!(matches!(none, Err(Error::NoIndex { .. })), "{none:?}");
                continue;
            }
            let by = view.by(described.name())?;
            let entries = model.iter().map(|(id, person)| entry(number, *id, *person));
            let mut entries: Vec<_> = entries.collect();
            entries.sort_unstable();
            let wanted: Vec<_> = entries.iter().map(|(_, id)| record(id)).collect();
            let rows = |rows: &mut dyn Iterator<Item = Result<Row>>| {
                rows.map(|row| row.map(Row::into_bytes)).collect::<Result<Vec<_>>>()
            };
            assert_eq!(rows(&mut by.iter())?, wanted, "{described:?}");
            let backward: Vec<_> = wanted.iter().rev().take(3).cloned().collect();
            assert_eq!(rows(&mut by.iter().rev().limit(3))?, backward, "{described:?}");
            let ids: Vec<_> = entries.iter().map(|(_, id)| id.to_le_bytes().to_vec()).collect();
            assert_eq!(rows(&mut by.iter().columns([id]))?, ids, "{described:?}");
            for person in model.values().take(3) {
                self.expect_found(&by, number, &entries, *person, &record)?;
            }
        }
        Ok(())
    }

    /// Compares what an index finds by values with a model.
    fn expect_found(
        &self,
        by: &lode::ByIndex<'_>,
        number: usize,
        entries: &[Entry],
        (mail, city, age): Person,
        record: &dyn Fn(&u64) -> Vec<u8>,
    ) -> Result<()> {
        let text = mail.map(mail_of);
        let text = text.as_ref().map_or(Value::Null, |text| Value::Text(text));
        let age = age.map_or(Value::Null, |age| Value::Signed(age.into()));
        let city_value = Value::Unsigned(city.into());
        let (first, lookup) = match number {
            0 => (text, vec![text]),
            1 => (city_value, vec![city_value, age]),
            2 => (age, vec![age]),
            _ => (city_value, vec![city_value, text]),
        };
        let values = entry(
            number,
            0,
            (
                mail,
                city,
                match age {
                    Value::Signed(age) => Some(age as i8),
                    _ => None,
                },
            ),
        );
        let first_bytes = &values.0[0];
        let with = |is_in: &dyn Fn(&Entry) -> bool| {
            entries
                .iter()
                .filter(|entry| is_in(entry))
                .map(|(_, id)| record(id))
                .collect::<Vec<_>>()
        };
        let rows = |cursor: lode::IndexCursor<'_>| {
            cursor.map(|row| row.map(Row::into_bytes)).collect::<Result<Vec<_>>>()
        };
        assert_eq!(rows(by.prefix(&[first]))?, with(&|(values, _)| values[0] == *first_bytes));
        let after = by.range_of_values(Bound::Excluded(&[first]), Bound::Unbounded);
        assert_eq!(rows(after)?, with(&|(values, _)| values[0] > *first_bytes));
        let until = by.range_of_values(Bound::Unbounded, Bound::Excluded(&[first]));
        assert_eq!(
            rows(until.rev())?.into_iter().rev().collect::<Vec<_>>(),
            with(&|(values, _)| { values[0] < *first_bytes })
        );
        if number != 2 && !lookup.contains(&Value::Null) {
            let equal = with(&|(found, _)| *found == values.0);
            assert_eq!(rows(by.range(lookup.clone()..=lookup.clone()))?, equal);
            assert_eq!(by.get(&lookup)?.map(Row::into_bytes), equal.first().cloned());
        }
        Ok(())
    }

    fn all(mut self, operations: &[Operation]) {
        for operation in operations {
            self.step(operation).unwrap_or_else(|error| panic!("{operation:?}: {error}"));
        }
        let report = self.db.check().expect("it is open");
        assert!(report.is_sound(), "{report}");
        let rows: Result<Vec<_>> = self.table.iter().map(|row| row.map(Row::into_bytes)).collect();
        let mut rows = rows.expect("nothing is damaged");
        rows.sort_unstable_by_key(|row| row.first_chunk().map(|id| u64::from_le_bytes(*id)));
        let wanted = self.model.iter().map(|(id, person)| self.record(*id, *person));
        assert_eq!(rows, wanted.collect::<Vec<_>>());
    }
}

fn people() -> impl Strategy<Value = (u64, Person)> {
    let person = (prop::option::of(0..12u8), 0..4u8, prop::option::of(-2..2i8));
    (0..40u64, person)
}

fn writes() -> impl Strategy<Value = Write> {
    prop_oneof![
        3 => people().prop_map(|(id, person)| Write::Insert(id, person)),
        3 => people().prop_map(|(id, person)| Write::Upsert(id, person)),
        1 => (0..40u64, 0..4u8).prop_map(|(id, city)| Write::SetCity(id, city)),
        2 => (0..40u64).prop_map(Write::Delete),
    ]
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let some = || prop::collection::vec(people(), 1..6);
    let operation = prop_oneof![
        8 => writes().prop_map(Operation::Write),
        1 => some().prop_map(Operation::InsertAll),
        1 => some().prop_map(Operation::UpsertAll),
        3 => (prop::collection::vec(writes(), 1..6), 0..4usize)
            .prop_map(|(writes, undone)| Operation::Transaction(writes, undone)),
        3 => (0..4usize).prop_map(Operation::Create),
        1 => (0..4usize).prop_map(Operation::Drop),
        1 => any::<u64>().prop_map(Operation::Crash),
        1 => prop_oneof![
            3 => Just(Operation::Compact),
            1 => Just(Operation::Clear),
            2 => Just(Operation::Alter),
            2 => Just(Operation::Rename),
        ],
    ];
    prop::collection::vec(operation, 1..60)
}

fn cases() -> ProptestConfig {
    let cases = effort("PROPTEST_CASES", 60, 1_000);
    ProptestConfig { cases: cases as u32, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn indexes_of_a_hash_in_memory_are_as_the_model(operations in operations()) {
        Run::new(KeyKind::Hash, None).all(&operations);
    }

    #[test]
    fn indexes_of_a_tree_on_a_disk_are_as_the_model(operations in operations()) {
        let level = Durability::Process;
        let options = Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).durability(level);
        Run::new(KeyKind::Tree, Some((Simulated::new(0), options))).all(&operations);
    }

    #[test]
    fn indexes_of_a_hash_on_a_disk_without_a_log_are_as_the_model(operations in operations()) {
        let options = Options::new().memory_bytes(1 << 20).durability(Durability::None);
        Run::new(KeyKind::Hash, Some((Simulated::new(0), options))).all(&operations);
    }
}
