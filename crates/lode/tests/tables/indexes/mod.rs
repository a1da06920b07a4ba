//! Secondary indexes: each write keeps them, whatever way it takes.

mod kept;
mod model;
mod short;

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use lode::{
    ColumnId, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Record,
    Result, Schema, Table, Type, Value,
};

/// A table of people, with a city and a mail that can be null.
fn people(db: &Database, kind: KeyKind) -> Table {
    let schema = Schema::build("people")
        .key("id", Type::U64)
        .nullable("mail", Type::VarText(60))
        .column("city", Type::Text(8))
        .column("age", Type::I32);
    db.create_table(&schema.finish().expect("a schema"), kind).expect("room")
}

fn person(table: &Table, id: u64, mail: Option<&str>, city: &str, age: i64) -> Vec<u8> {
    let mail = mail.map_or(Value::Null, Value::Text);
    let values = [Value::Unsigned(id), mail, Value::Text(city), Value::Signed(age)];
    table.schema().pack(&values).expect("it fits")
}

fn column(table: &Table, name: &str) -> ColumnId {
    table.schema().column(name).expect("there is one")
}

/// Creates an index over the city and the age, and a unique one over the mail.
fn create_both(table: &Table) {
    table.create_index(&IndexSchema::new("by_city", ["city", "age"])).expect("room");
    table.create_index(&IndexSchema::new("by_mail", ["mail"]).unique()).expect("no two are equal");
}

fn expect_sound(db: &Database) {
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{report}");
}

#[test]
fn all_ways_to_write_keep_the_entries() -> Result<()> {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory()?;
        let table = people(&db, kind);
        for id in 0..500 {
            table.insert(&person(&table, id, None, "Bern", id as i64 % 50))?;
        }
        create_both(&table);
        expect_sound(&db);
        let (age, mail) = (column(&table, "age"), "ada@example.org");
        assert!(table.insert(&person(&table, 500, Some(mail), "Thun", 1))?);
        assert!(!table.insert(&person(&table, 500, None, "Basel", 1))?);
        assert!(table.upsert(&person(&table, 3, None, "Basel", -1))?);
        assert!(table.update(4, age, &7i32.to_le_bytes())?);
        assert_eq!(table.increment(5, age, 3)?, Some(Value::Signed(8)));
        assert!(table.delete(6)?);
        assert!(!table.delete(6)?);
        table.change(7, &mut |payload| {
            let at = payload.len();
            payload[at - 1] = payload[at - 1].wrapping_add(0);
            false
        })?;
        assert_eq!(
            table.insert_all([
                person(&table, 8, None, "no", 1),
                person(&table, 600, None, "Thun", 2)
            ])?,
            1
        );
        assert_eq!(
            table.upsert_all([
                person(&table, 9, None, "Thun", 1),
                person(&table, 9, None, "Chur", 2)
            ])?,
            0
        );
        assert_eq!(
            table.insert_all_new([
                person(&table, 601, None, "no", 1),
                person(&table, 10, None, "no", 2)
            ])?,
            Some(1)
        );
        expect_sound(&db);
        db.transact(|transaction| {
            transaction.insert(&table, &person(&table, 700, Some("b"), "Thun", 2))?;
            transaction.upsert(&table, &person(&table, 11, Some("c"), "Thun", 2))?;
            let point = transaction.savepoint();
            transaction.delete(&table, 12)?;
            transaction.upsert(&table, &person(&table, 13, Some("d"), "Thun", 2))?;
            transaction.roll_back_to(&point);
            transaction.update(&table, 14, age, &9i32.to_le_bytes())?;
            transaction.delete(&table, 15)
        })?;
        expect_sound(&db);
        table.drop_index("by_city")?;
        table.insert(&person(&table, 800, Some("e"), "Thun", 2))?;
        let cleared = db.clear_table("people")?;
        assert_eq!(cleared.indexes()?, [IndexSchema::new("by_mail", ["mail"]).unique()]);
        cleared.insert(&person(&cleared, 1, Some("a"), "Bern", 2))?;
        let refused = cleared.insert(&person(&cleared, 2, Some("a"), "Bern", 2));
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
        expect_sound(&db);
        db.drop_table("people")?;
        assert!(db.check()?.is_sound());
        assert_eq!(db.statistics().page_bytes, Database::in_memory()?.statistics().page_bytes);
    }
    Ok(())
}

#[test]
fn a_unique_index_refuses_equal_values_and_says_which() -> Result<()> {
    let db = Database::in_memory()?;
    let table = people(&db, KeyKind::Hash);
    create_both(&table);
    table.insert(&person(&table, 1, Some("a"), "Bern", 1))?;
    table.insert(&person(&table, 2, Some("b"), "Bern", 1))?;
    let expect_refused = |refused: Result<()>| {
        let Err(error @ Error::UniqueViolation { .. }) = &refused else { panic!("{refused:?}") };
        let wanted = "table people: another record has (\"a\") in the unique index by_mail";
        assert_eq!((error.to_string(), error.code()), (wanted.into(), "unique_violation"));
        assert_eq!(table.len(), Ok(2));
        expect_sound(&db);
    };
    expect_refused(table.insert(&person(&table, 3, Some("a"), "Thun", 1)).map(drop));
    expect_refused(table.upsert(&person(&table, 2, Some("a"), "Thun", 1)).map(drop));
    let three = [person(&table, 4, None, "x", 1), person(&table, 5, Some("a"), "x", 1)];
    expect_refused(table.insert_all(&three).map(drop));
    expect_refused(table.upsert_all(&three).map(drop));
    expect_refused(table.insert_all_new(&three).map(drop));
    let transaction = db.begin();
    expect_refused(transaction.upsert(&table, &three[1]).map(drop));
    transaction.delete(&table, 1)?;
    transaction.upsert(&table, &three[1])?;
    transaction.commit()?;
    expect_sound(&db);
    let again = table.create_index(&IndexSchema::new("by_mail", ["mail"]));
    assert!(matches!(again, Err(Error::IndexExists { .. })), "{again:?}");
    let none = table.drop_index("by_name");
    assert!(matches!(none, Err(Error::NoIndex { .. })), "{none:?}");
    let city = table.create_index(&IndexSchema::new("of_city", ["city"]).unique());
    assert!(city.is_ok(), "Bern and x: {city:?}");
    table.drop_index("of_city")?;
    table.insert(&person(&table, 6, None, "Bern", 1))?;
    let city = table.create_index(&IndexSchema::new("of_city", ["city"]).unique());
    let Err(error @ Error::Duplicates { .. }) = city else { panic!("{city:?}") };
    let wanted = "table people: several records have (\"Bern\") in the columns of the unique index \
                  of_city; change them first";
    assert_eq!((error.to_string(), error.code()), (wanted.into(), "unique_violation"));
    assert_eq!(table.indexes()?.len(), 2);
    Ok(())
}

#[test]
fn an_index_that_cannot_be_unique_names_the_first_ten_values_in_its_way() -> Result<()> {
    for (kind, count) in [(KeyKind::Hash, 4_000), (KeyKind::Tree, 9), (KeyKind::Tree, 4_000)] {
        let db = Database::in_memory()?;
        let schema = Schema::build("t").key("id", Type::U32).column("n", Type::U32).finish()?;
        let table = db.create_table(&schema, kind)?;
        // Each value but the highest is in three records.
        let record = |id: u32| [id.to_le_bytes(), (id % count).to_le_bytes()].concat();
        table.insert_all((0..count * 3).map(record))?;
        table.insert(&[u32::MAX.to_le_bytes(), u32::MAX.to_le_bytes()].concat())?;
        let refused = table.create_index(&IndexSchema::new("by_n", ["n"]).unique());
        let Err(error @ Error::Duplicates { .. }) = &refused else { panic!("{refused:?}") };
        let Error::Duplicates { keys, .. } = error else { unreachable!("it is one") };
        assert_eq!(keys.len(), 10.min(count as usize), "{kind:?}");
        assert!(keys.iter().all(|key| key.parse().is_ok_and(|n: u32| n < count)), "{keys:?}");
        let distinct: std::collections::BTreeSet<_> = keys.iter().collect();
        assert_eq!(distinct.len(), keys.len(), "each is named once");
        assert_eq!(error.to_string().contains("and perhaps others"), count > 9, "{error}");
        assert_eq!((table.indexes()?, table.len()?), (vec![], u64::from(count) * 3 + 1));
        // It is in the way of nothing.
        table.insert(&record(count * 3))?;
        table.create_index(&IndexSchema::new("by_n", ["n"]))?;
        expect_sound(&db);
    }
    Ok(())
}

#[test]
fn what_is_no_index_is_refused() {
    let db = Database::in_memory().expect("memory");
    let table = people(&db, KeyKind::Tree);
    let why = |index: IndexSchema| table.create_index(&index).expect_err("refused").to_string();
    assert_eq!(why(IndexSchema::new("", ["city"])), "table people.: an index needs a name");
    let none: [&str; 0] = [];
    assert_eq!(why(IndexSchema::new("a", none)), "table people.a: an index needs a column");
    assert_eq!(why(IndexSchema::new("a", ["x"])), "table people: there is no column x");
    let twice = IndexSchema::new("a", ["city", "city"]);
    assert_eq!(why(twice), "table people.a: there are two columns city");
    let name = "n".repeat(249);
    assert!(why(IndexSchema::new(&name, ["city"])).contains("its name has 256 bytes"));
    let schema = Schema::build("long").key("id", Type::U8).column("text", Type::VarText(2_000));
    let long = db.create_table(&schema.finish().expect("a schema"), KeyKind::Tree).expect("room");
    let why = long.create_index(&IndexSchema::new("a", ["text"])).expect_err("refused");
    assert!(why.to_string().contains("keys can have at most 1024 bytes"), "{why}");
    assert_eq!((table.indexes(), long.indexes()), (Ok(vec![]), Ok(vec![])));
}

/// Eight threads insert and change records with few values: of each value, one record at a time has
/// it, whoever writes how.
#[test]
fn one_of_eight_threads_gets_a_unique_value() -> Result<()> {
    const THREADS: u64 = 8;
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let db = Database::in_memory()?;
        let schema = Schema::build("seats").key("id", Type::U64).column("seat", Type::U64);
        let table = db.create_table(&schema.finish()?, kind)?;
        table.create_index(&IndexSchema::new("by_seat", ["seat"]).unique())?;
        let record = |id: u64, seat: u64| [id.to_le_bytes(), seat.to_le_bytes()].concat();
        for round in 0..200u64 {
            let start = Barrier::new(THREADS as usize);
            let taken: usize = thread::scope(|scope| {
                let sit = |thread: u64| {
                    let (db, table, start) = (&db, &table, &start);
                    let packed = record(round * THREADS + thread, round);
                    scope.spawn(move || {
                        start.wait();
                        let taken = match thread % 3 {
                            0 => table.insert(&packed),
                            1 => db.transact(|transaction| transaction.insert(table, &packed)),
                            _ => table.insert_all([&packed]).map(|count| count == 1),
                        };
                        match taken {
                            Ok(taken) => usize::from(taken),
                            Err(Error::UniqueViolation { .. }) => 0,
                            Err(error) => panic!("{error}"),
                        }
                    })
                };
                let threads: Vec<_> = (0..THREADS).map(sit).collect();
                threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
            });
            assert_eq!(taken, 1, "round {round}");
        }
        assert_eq!(table.len()?, 200);
        expect_sound(&db);
    }
    Ok(())
}

/// Sets a flag when it is dropped, also after a panic.
struct Ends<'f>(&'f AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Threads write while indexes are created and dropped again.
#[test]
fn indexes_come_and_go_under_writers() -> Result<()> {
    for (kind, number) in [(KeyKind::Hash, 0), (KeyKind::Tree, 1)] {
        let directory =
            std::env::temp_dir().join(format!("lode-indexes-{}-{number}", std::process::id()));
        let db = Options::new().durability(Durability::Process).open(&directory)?;
        let table = people(&db, kind);
        for id in 0..3_000 {
            table.insert(&person(&table, id, None, "Bern", id as i64 % 50))?;
        }
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            for thread in 0..2u64 {
                let (db, table, done) = (&db, &table, &done);
                scope.spawn(move || {
                    let mut id = thread;
                    while !done.load(Ordering::Relaxed) {
                        id = id.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1 + thread);
                        let key = (id >> 33) % 4_000;
                        let record = person(table, key, None, "Thun", (id >> 40) as i64 % 90);
                        match id >> 61 {
                            0 | 1 => drop(table.upsert(&record).expect("room")),
                            2 => drop(table.delete(key).expect("room")),
                            3 => drop(table.insert_all([&record]).expect("room")),
                            _ => drop(
                                db.transact(|transaction| {
                                    transaction.delete(table, key)?;
                                    transaction.insert(table, &record)
                                })
                                .expect("room"),
                            ),
                        }
                    }
                });
            }
            let _ends = Ends(&done);
            for round in 0..6 {
                let index = IndexSchema::new("by_city", ["city", "age"]);
                table.create_index(&index).expect("room");
                expect_sound(&db);
                if round < 5 {
                    table.drop_index("by_city").expect("it is there");
                }
            }
        });
        expect_sound(&db);
        drop(table);
        db.close()?;
        let db = Database::open(&directory)?;
        assert_eq!(db.table("people")?.indexes()?.len(), 1);
        expect_sound(&db);
        db.close()?;
        std::fs::remove_dir_all(&directory).expect("it is there");
    }
    Ok(())
}

/// The entries of one page of records are in more pages of the index than memory has room for.
#[test]
fn an_index_is_built_in_little_memory() -> Result<()> {
    let directory = std::env::temp_dir().join(format!("lode-narrow-{}", std::process::id()));
    let options = || Options::new().durability(Durability::Process).memory_bytes(1 << 20);
    let db = options().open(&directory)?;
    let schema = Schema::build("n").key("id", Type::U64).column("number", Type::U64).finish()?;
    let table = db.create_table(&schema, KeyKind::Tree)?;
    for id in 0..50_000u64 {
        let number = id.wrapping_mul(0x9e37_79b9_7f4a_7c15).swap_bytes();
        table.insert(&[id.to_le_bytes(), number.to_le_bytes()].concat())?;
    }
    table.create_index(&IndexSchema::new("by_number", ["number"]))?;
    expect_sound(&db);
    assert_eq!(table.by("by_number")?.iter().count(), 50_000);
    drop(table);
    db.close()?;
    std::fs::remove_dir_all(&directory).expect("it is there");
    Ok(())
}

#[derive(Record)]
#[record(table = "people")]
struct Tenant {
    #[record(key)]
    id: u64,
    #[record(unique)]
    flat: u64,
}

/// Threads that start up find the index that another one builds.
#[test]
fn threads_that_want_the_same_index_all_get_it() -> Result<()> {
    let db = Database::in_memory()?;
    for _ in 0..20 {
        let schema = Schema::build("people").key("id", Type::U64).column("flat", Type::U64);
        let table = db.create_table(&schema.finish()?, KeyKind::Hash)?;
        table
            .insert_all((0..2_000u64).map(|id| [id.to_le_bytes(), (!id).to_le_bytes()].concat()))?;
        let start = Barrier::new(4);
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    start.wait();
                    let tenants = db.records::<Tenant>().expect("no two flats are equal");
                    let tenant = tenants.by("by_flat").expect("it is ready").get(!7u64);
                    let tenant = tenant.expect("it is there").expect("it was inserted");
                    assert_eq!((tenant.id, tenant.flat), (7, !7));
                });
            }
        });
        db.drop_table("people")?;
    }
    Ok(())
}
