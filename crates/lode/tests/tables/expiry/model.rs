//! Records that expire, compared with a `BTreeMap`, while the clock goes forward and back: in
//! memory, and on a simulated disk where the power goes.

use std::collections::{BTreeMap, BTreeSet};

use lode::simulation::{self, Fault, Simulated};
use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result, Row,
    Schema, Table, Type, Value,
};
use proptest::prelude::*;

use super::Hand;
use crate::effort::effort;
use crate::reading::check;

#[derive(Clone, Copy, Debug, PartialEq)]
struct Person {
    color: u8,
    mail: Option<u8>,
    until_us: Option<i64>,
}

type Model = BTreeMap<u64, Person>;

#[derive(Clone, Debug)]
enum Write {
    Insert(u64, Person),
    Upsert(u64, Person),
    SetColor(u64, u8),
    Delete(u64),
}

#[derive(Clone, Debug)]
enum Operation {
    Write(Write),
    /// Changes the time at which a record expires.
    Renew(u64, Option<i64>),
    InsertAll(Vec<(u64, Person)>),
    UpsertAll(Vec<(u64, Person)>),
    Transaction(Vec<Write>),
    /// Moves the clock.
    Tick(i64),
    /// Opens the database after a crash; the clock is at its start then, if that is true.
    Crash(u64, bool),
    Checkpoint,
    Remove,
    Alter,
    Rename,
    BuildIndexes,
}

/// The shape of a table.
#[derive(Clone, Copy, Debug)]
struct Shape {
    kind: KeyKind,
    body: Type,
}

struct Run {
    hand: Hand,
    disk: Option<(Simulated, Options)>,
    db: Database,
    table: Table,
    /// The records that have not expired.
    model: Model,
    /// The latest time at which a record expired that was seen to be gone.
    horizon_us: i64,
    /// The latest time of all.
    latest_us: i64,
    is_indexed: bool,
}

fn indexes() -> [IndexSchema; 2] {
    [IndexSchema::new("by_color", ["color"]), IndexSchema::new("by_mail", ["mail"]).unique()]
}

fn mail_of(mail: u8) -> String {
    format!("{mail}@example.org")
}

impl Run {
    fn new(shape: Shape, is_indexed: bool, on_disk: bool) -> Self {
        let hand = Hand::default();
        let options = Options::new().memory_bytes(8 << 20).durability(Durability::Process);
        let options = options.clock(hand.clock());
        let disk = on_disk.then(|| (Simulated::new(1), options.clone()));
        let db = match &disk {
            Some((disk, options)) => simulation::open(options, disk, 1),
            None => options.in_memory(),
        };
        let db = db.expect("an empty disk");
        let schema = Schema::build("people").key("id", Type::U64).column("color", Type::U8);
        let schema = schema.nullable("mail", Type::Text(32)).nullable("until", Type::Timestamp);
        let schema = schema.column("body", shape.body).expires("until").finish();
        let schema = schema.expect("a schema");
        let table = match is_indexed {
            true => db.create_indexed_table(&schema, shape.kind, &indexes()),
            false => db.create_table(&schema, shape.kind),
        };
        let table = table.expect("room");
        let (horizon_us, latest_us) = (i64::MIN, 0);
        Self { hand, disk, db, table, model: Model::new(), horizon_us, latest_us, is_indexed }
    }

    fn packed(&self, id: u64, person: Person) -> Vec<u8> {
        let mail = person.mail.map(mail_of);
        let values = [
            Value::Unsigned(id),
            Value::Unsigned(person.color.into()),
            mail.as_deref().map_or(Value::Null, Value::Text),
            person.until_us.map_or(Value::Null, Value::Timestamp),
            Value::Text("body"),
        ];
        self.table.schema().pack(&values).expect("it fits")
    }

    fn person(row: &Row) -> (u64, Person) {
        let unsigned = |name| match row.get(name) {
            Some(Value::Unsigned(number)) => number,
            other => panic!("{name} is {other:?}"),
        };
        let mail = match row.get("mail") {
            Some(Value::Text(mail)) => mail.split('@').next().and_then(|mail| mail.parse().ok()),
            _ => None,
        };
        let until_us = match row.get("until") {
            Some(Value::Timestamp(us)) => Some(us),
            _ => None,
        };
        (unsigned("id"), Person { color: unsigned("color") as u8, mail, until_us })
    }

    fn is_live(&self, person: &Person) -> bool {
        let over_us = self.horizon_us.max(self.hand.now_us());
        person.until_us.is_none_or(|until_us| until_us > over_us)
    }

    /// Writes a record in a model. Returns the answer; `None` if a unique index refuses it.
    fn write_model(&self, model: &mut Model, write: &Write) -> Option<bool> {
        let found = |model: &Model, id: &u64| model.get(id).copied();
        let (id, after) = match write {
            Write::Insert(id, _) if model.contains_key(id) => return Some(false),
            Write::Insert(id, person) | Write::Upsert(id, person) => (id, *person),
            Write::SetColor(id, color) => match found(model, id) {
                None => return Some(false),
                Some(before) => (id, Person { color: *color, ..before }),
            },
            Write::Delete(id) => return Some(model.remove(id).is_some()),
        };
        let is_taken = |(other, with): (&u64, &Person)| other != id && with.mail == after.mail;
        if self.is_indexed && after.mail.is_some() && model.iter().any(is_taken) {
            return None;
        }
        let before = match self.is_live(&after) {
            true => model.insert(*id, after),
            false => model.remove(id),
        };
        Some(if matches!(write, Write::Insert(..)) { before.is_none() } else { before.is_some() })
    }

    fn write(&mut self, write: &Write) -> Result<()> {
        let mut model = self.model.clone();
        let wanted = self.write_model(&mut model, write);
        let color = self.table.schema().column("color")?;
        let answer = match write {
            Write::Insert(id, person) => self.table.insert(&self.packed(*id, *person)),
            Write::Upsert(id, person) => self.table.upsert(&self.packed(*id, *person)),
            Write::SetColor(id, to) => self.table.update(*id, color, &[*to]),
            Write::Delete(id) => self.table.delete(*id),
        };
        match (wanted, answer) {
            (None, Err(Error::UniqueViolation { .. })) => {}
            (Some(wanted), Ok(answer)) => {
                assert_eq!(answer, wanted, "{write:?}");
                self.model = model;
            }
            (wanted, answer) => panic!("{write:?}: {answer:?}, not {wanted:?}"),
        }
        Ok(())
    }

    fn renew(&mut self, id: u64, until_us: Option<i64>) -> Result<()> {
        let bytes = self.packed(id, Person { color: 0, mail: None, until_us });
        let schema = self.table.schema().clone();
        let [until, body] = ["until", "body"].map(|name| schema.column(name).expect("a column"));
        let place = schema[until].range();
        let fresh = bytes[place.clone()].to_vec();
        let key = schema.key_size();
        let null = schema.key_size() + schema.payload_size() - 1;
        // The second column that can be null: its bit is the second one.
        assert_eq!((schema[until].nullable, schema[body].nullable), (true, false));
        let answer = self.table.change(id, &mut |payload| {
            payload[place.start - key..place.end - key].copy_from_slice(&fresh);
            let bits = &mut payload[null - key];
            *bits = *bits & !2 | if until_us.is_none() { 2 } else { 0 };
            true
        })?;
        assert_eq!(answer, self.model.contains_key(&id));
        if let Some(person) = self.model.get(&id).copied() {
            let after = Person { until_us, ..person };
            if self.is_live(&after) {
                self.model.insert(id, after);
            } else {
                self.model.remove(&id);
            }
        }
        Ok(())
    }

    fn write_all(&mut self, people: &[(u64, Person)], replaces: bool) {
        let records = people.iter().map(|(id, person)| self.packed(*id, *person));
        let records = Vec::from_iter(records);
        let mut model = self.model.clone();
        let mut new = 0;
        for (id, person) in people {
            let is_there = model.contains_key(id);
            new += u64::from(!is_there);
            if !is_there || replaces {
                model.insert(*id, *person);
            }
        }
        // Entries are added at the end, so only what is there then counts.
        let mut mails = BTreeSet::new();
        let is_unique = model.values().all(|it| it.mail.is_none_or(|mail| mails.insert(mail)));
        let written = match replaces {
            true => self.table.upsert_all(&records),
            false => self.table.insert_all(&records),
        };
        match written {
            Err(Error::UniqueViolation { .. }) if self.is_indexed && !is_unique => {}
            written => {
                assert_eq!(written, Ok(new));
                self.model = model;
            }
        }
    }

    fn transact(&mut self, writes: &[Write]) -> Result<()> {
        let mut model = self.model.clone();
        let answers: Option<Vec<bool>> =
            writes.iter().map(|write| self.write_model(&mut model, write)).collect();
        let color = self.table.schema().column("color")?;
        let table = &self.table;
        let done = self.db.transact(|transaction| {
            let write = |write: &Write| match write {
                Write::Insert(id, it) => transaction.insert(table, &self.packed(*id, *it)),
                Write::Upsert(id, it) => transaction.upsert(table, &self.packed(*id, *it)),
                Write::SetColor(id, to) => transaction.update(table, *id, color, &[*to]),
                Write::Delete(id) => transaction.delete(table, *id),
            };
            let answers = writes.iter().map(write).collect::<Result<Vec<_>>>()?;
            if answers.len() == writes.len() {
                self.expect_view(&table.within(transaction), &model)?;
            }
            Ok::<_, Error>(answers)
        });
        match (answers, done) {
            (None, Err(Error::UniqueViolation { .. })) => {}
            (Some(wanted), Ok(answers)) => {
                assert_eq!(answers, wanted);
                self.model = model;
            }
            (wanted, done) => panic!("{writes:?}: {done:?}, not {wanted:?}"),
        }
        Ok(())
    }

    /// Moves the clock, and has all records looked at.
    fn set_clock(&mut self, now_us: i64) -> Result<()> {
        self.hand.set(now_us);
        self.latest_us = self.latest_us.max(now_us);
        let count = self.table.len()?;
        let over = self.model.values().filter(|it| !self.is_live(it));
        let last_us = over.filter_map(|it| it.until_us).max();
        self.horizon_us = last_us.map_or(self.horizon_us, |us| us.max(self.horizon_us));
        let mut model = std::mem::take(&mut self.model);
        model.retain(|_, it| self.is_live(it));
        self.model = model;
        assert_eq!(count, self.model.len() as u64);
        Ok(())
    }

    fn run(&mut self, operation: &Operation) -> Result<()> {
        let before = (self.db.snapshot(), self.model.clone());
        // Nothing that is written together is over at once, since it may be in its own way then.
        let later = |person: &Person| {
            let least_us = self.latest_us.max(self.horizon_us) - self.hand.now_us();
            let until_us = person.until_us.map(|us| us + least_us);
            Person { until_us, ..*person }
        };
        let all_later = |people: &[(u64, Person)]| {
            people.iter().map(|(id, it)| (*id, later(it))).collect::<Vec<_>>()
        };
        match operation {
            Operation::Write(write) => self.write(&self.absolute(write, &|it| *it))?,
            Operation::Renew(id, until_us) => {
                let until_us = until_us.map(|us| us + self.hand.now_us());
                self.renew(*id, until_us)?;
            }
            Operation::InsertAll(people) => {
                let people = self.all_absolute(&all_later(people));
                self.write_all(&people, false);
            }
            Operation::UpsertAll(people) => {
                let people = self.all_absolute(&all_later(people));
                self.write_all(&people, true);
            }
            Operation::Transaction(writes) => {
                let writes: Vec<_> = writes.iter().map(|it| self.absolute(it, &later)).collect();
                self.transact(&writes)?;
            }
            Operation::Tick(by_us) => self.set_clock((self.hand.now_us() + by_us).max(0))?,
            Operation::Crash(seed, goes_back) => {
                let Some((disk, options)) = self.disk.clone() else { return Ok(()) };
                self.db.flush()?;
                disk.fail(Fault::Crash { at: disk.operations() });
                self.db = Database::in_memory()?;
                self.table = self.db.create_table(self.table.schema(), KeyKind::Tree)?;
                drop(before);
                disk.crash(*seed);
                self.db = simulation::open(&options, &disk, *seed)?;
                self.table = self.db.table("people")?;
                self.set_clock(if *goes_back { 0 } else { self.hand.now_us() })?;
                return self.expect_view(&self.table, &self.model);
            }
            Operation::Checkpoint if self.disk.is_some() => self.db.checkpoint()?,
            Operation::Checkpoint => {}
            Operation::Remove => drop(self.table.remove_expired()?),
            Operation::Alter => {
                let more = Alteration::new().add_nullable("more", Type::U8);
                self.db.alter_table("people", &more)?;
                let back = Alteration::new().drop_column("more");
                self.table = self.db.alter_table("people", &back)?;
                return self.expect_all();
            }
            Operation::Rename => {
                let other = Alteration::new().rename_column("until", "ends");
                self.db.alter_table("people", &other)?;
                let back = Alteration::new().rename_column("ends", "until");
                self.table = self.db.alter_table("people", &back)?;
                return self.expect_all();
            }
            Operation::BuildIndexes if self.is_indexed => {
                for index in indexes() {
                    self.table.drop_index(index.name())?;
                    self.table.create_index(&index)?;
                }
                return self.expect_all();
            }
            Operation::BuildIndexes => {}
        }
        self.expect_all()?;
        let (snapshot, mut model) = before;
        model.retain(|_, it| self.is_live(it));
        self.expect_view(&self.table.at(&snapshot), &model)
    }

    /// Returns a write whose times are from the present on.
    fn absolute(&self, write: &Write, change: &dyn Fn(&Person) -> Person) -> Write {
        let now_us = self.hand.now_us();
        let person = |it: &Person| {
            let it = change(it);
            Person { until_us: it.until_us.map(|us| us + now_us), ..it }
        };
        match write {
            Write::Insert(id, it) => Write::Insert(*id, person(it)),
            Write::Upsert(id, it) => Write::Upsert(*id, person(it)),
            other => other.clone(),
        }
    }

    fn all_absolute(&self, people: &[(u64, Person)]) -> Vec<(u64, Person)> {
        let now_us = self.hand.now_us();
        let person = |it: &Person| Person { until_us: it.until_us.map(|us| us + now_us), ..*it };
        people.iter().map(|(id, it)| (*id, person(it))).collect()
    }

    fn expect_all(&self) -> Result<()> {
        assert_eq!(check(&self.db), Ok(()));
        self.expect_view(&self.table, &self.model)?;
        let transaction = self.db.begin();
        self.expect_view(&self.table.within(&transaction), &self.model)
    }

    /// Compares all that a view of the table finds with a model.
    fn expect_view(&self, view: &impl ReadTable, model: &Model) -> Result<()> {
        assert_eq!(view.len()?, model.len() as u64);
        assert_eq!(view.is_empty()?, model.is_empty());
        let people = |rows: &mut dyn Iterator<Item = Result<Row>>| {
            rows.map(|row| row.map(|row| Self::person(&row))).collect::<Result<Vec<_>>>()
        };
        let found: Model = people(&mut view.iter())?.into_iter().collect();
        assert_eq!(&found, model);
        for id in 0..8 {
            let row = view.get(id)?.map(|row| Self::person(&row).1);
            assert_eq!((view.contains(id)?, row), (row.is_some(), model.get(&id).copied()));
        }
        let many = view.get_many(0..8u64)?;
        let many = many.iter().flatten().map(|row| Self::person(row).0);
        assert!(many.eq(model.keys().copied().filter(|id| *id < 8)));
        if self.table.key_kind() == KeyKind::Tree {
            let some = people(&mut view.range(2u64..6).rev().limit(2))?;
            let wanted = model.range(2..6).rev().take(2).map(|(id, it)| (*id, *it));
            assert!(some.into_iter().eq(wanted));
        }
        if !self.is_indexed {
            return Ok(());
        }
        for color in 0..3 {
            let with =
                || model.iter().filter(|(_, it)| it.color == color).map(|(id, it)| (*id, *it));
            let by_color = view.by("by_color")?;
            let all = || by_color.prefix(&[Value::Unsigned(color.into())]);
            assert!(people(&mut all())?.into_iter().eq(with()));
            assert!(people(&mut all().limit(1))?.into_iter().eq(with().take(1)));
            let ids = all().columns([self.table.schema().column("id")?]);
            assert_eq!(
                ids.map(|row| row.map(drop)).collect::<Result<Vec<_>>>()?.len(),
                with().count()
            );
            let first = by_color.get(color)?.map(|row| Self::person(&row));
            assert_eq!(first, with().next());
            let mut keys = all().keys();
            for (id, _) in with() {
                assert_eq!(keys.next_key()?, Some(&id.to_le_bytes()[..]));
            }
            assert_eq!(keys.next_key()?, None);
        }
        for mail in 0..4 {
            let wanted = model.iter().find(|(_, it)| it.mail == Some(mail));
            let found = view.by("by_mail")?.get(&mail_of(mail)[..])?;
            let found = found.map(|row| Self::person(&row));
            assert_eq!(found, wanted.map(|(id, it)| (*id, *it)));
        }
        Ok(())
    }
}

fn person() -> impl Strategy<Value = Person> {
    let until_us = prop_oneof![1 => Just(None), 4 => (1..20i64).prop_map(Some)];
    let mail = prop_oneof![2 => Just(None), 1 => (0..4u8).prop_map(Some)];
    (0..3u8, mail, until_us).prop_map(|(color, mail, until_us)| Person { color, mail, until_us })
}

fn write() -> impl Strategy<Value = Write> {
    let id = || 0..8u64;
    prop_oneof![
        3 => (id(), person()).prop_map(|(id, person)| Write::Insert(id, person)),
        3 => (id(), person()).prop_map(|(id, person)| Write::Upsert(id, person)),
        2 => (id(), 0..3u8).prop_map(|(id, color)| Write::SetColor(id, color)),
        2 => id().prop_map(Write::Delete),
    ]
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    let people = || prop::collection::vec((0..8u64, person()), 0..6);
    let renewed = prop_oneof![Just(None), (1..20i64).prop_map(Some)];
    let operation = prop_oneof![
        12 => write().prop_map(Operation::Write),
        3 => (0..8u64, renewed).prop_map(|(id, until_us)| Operation::Renew(id, until_us)),
        2 => people().prop_map(Operation::InsertAll),
        2 => people().prop_map(Operation::UpsertAll),
        4 => prop::collection::vec(write(), 0..5).prop_map(Operation::Transaction),
        6 => (-12..15i64).prop_map(Operation::Tick),
        1 => any::<(u64, bool)>().prop_map(|(seed, back)| Operation::Crash(seed, back)),
        1 => Just(Operation::Checkpoint),
        1 => Just(Operation::Remove),
        1 => Just(Operation::Alter),
        1 => Just(Operation::Rename),
        1 => Just(Operation::BuildIndexes),
    ];
    prop::collection::vec(operation, 1..60)
}

fn shape() -> impl Strategy<Value = Shape> {
    let kind = prop_oneof![Just(KeyKind::Hash), Just(KeyKind::Tree)];
    let body = prop_oneof![Just(Type::Text(8)), Just(Type::VarText(100))];
    (kind, body).prop_map(|(kind, body)| Shape { kind, body })
}

fn cases() -> ProptestConfig {
    let cases = effort("PROPTEST_CASES", 60, 1_000);
    ProptestConfig { cases: cases as u32, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn no_read_finds_an_expired_record(
        shape in shape(),
        is_indexed in any::<bool>(),
        on_disk in any::<bool>(),
        operations in operations(),
    ) {
        let mut run = Run::new(shape, is_indexed, on_disk);
        for operation in &operations {
            run.run(operation).expect("nothing fails");
        }
    }
}
