//! Alterations of tables that threads write in at the same time.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result,
    Schema, Type, Value,
};

use super::{LAYOUTS, changes, filled};
use crate::random::mix;
use crate::reading::check;

/// The most alterations in a test: its writers may have ended with a fault.
const MOST_ROUNDS: u32 = 10_000;

/// Ends the work of threads, also if a test fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// Gives each of two accounts the number of the other one, which is unique, while the table is
/// changed again and again.
#[test]
fn unique_values_that_records_exchange_are_no_violation() {
    const COUNT: u64 = 300;
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U32).column("number", Type::U32).finish();
    let schema = schema.expect("a schema");
    let by_number = IndexSchema::new("by_number", ["number"]).unique();
    let table = db.create_indexed_table(&schema, KeyKind::Hash, &[by_number]).expect("room");
    let record =
        |id: u64, number: u64| schema.pack(&[Value::Unsigned(id), Value::Unsigned(number)]);
    for id in 0..COUNT {
        table.insert(&record(id, id).expect("it fits")).expect("room");
    }
    let (is_over, exchanged) = (AtomicBool::new(false), AtomicU64::new(0));
    let exchange = |random: u64| -> Result<()> {
        let table = db.table("t")?;
        let (one, other) = (mix(random) % COUNT, mix(random ^ 77) % COUNT);
        if one == other {
            return Ok(());
        }
        let transaction = db.begin();
        let number = |id: u64| -> Result<u64> {
            let row = table.within(&transaction).get(id)?.expect("it is there");
            let Some(Value::Unsigned(number)) = row.get("number") else { panic!("a number") };
            Ok(number)
        };
        let numbers = (number(one)?, number(other)?);
        transaction.delete(&table, one)?;
        transaction.upsert(&table, &record(other, numbers.0)?)?;
        transaction.insert(&table, &record(one, numbers.1)?)?;
        transaction.commit()?;
        exchanged.fetch_add(1, Ordering::Relaxed);
        Ok(())
    };
    std::thread::scope(|scope| {
        for thread in 0..3_u64 {
            let (is_over, exchange) = (&is_over, &exchange);
            scope.spawn(move || {
                let mut random = thread << 32;
                while !is_over.load(Ordering::Acquire) {
                    random += 1;
                    match exchange(random) {
                        Ok(()) | Err(Error::Conflict { .. } | Error::NoTable { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            });
        }
        let _end = End(&is_over);
        let mut rounds = 0_u32;
        while rounds < 20 || exchanged.load(Ordering::Relaxed) < 500 && rounds < MOST_ROUNDS {
            let kind = if rounds.is_multiple_of(2) { KeyKind::Tree } else { KeyKind::Hash };
            db.alter_table("t", &Alteration::new().change_kind(kind)).expect("room");
            rounds += 1;
        }
    });
    check(&db).expect("whole");
    let table = db.table("t").expect("it is there");
    let by_number = table.by("by_number").expect("it is there");
    for number in 0..COUNT {
        assert!(by_number.get(number).expect("whole").is_some(), "{number}");
    }
}

/// The ways in which a record is written.
fn write(db: &Database, at: u64, id: u64, own: &mut BTreeMap<u64, u64>) -> Result<()> {
    let table = db.table("t")?;
    let schema = table.schema();
    let has_more = schema.columns().len() > 2;
    let record = |id: u64, count: u64| {
        let values = [Value::Unsigned(id), Value::Unsigned(count), Value::Null];
        schema.pack(&values[..schema.columns().len()])
    };
    let column = schema.column("count")?;
    match mix(at) % 8 {
        0 | 1 => {
            if table.insert(&record(id, at)?)? {
                assert_eq!(own.insert(id, at), None);
            }
        }
        2 => {
            table.upsert(&record(id, at)?)?;
            own.insert(id, at);
        }
        3 => {
            let is_there = table.update(id, column, &at.to_le_bytes()[..])?;
            assert_eq!(is_there, own.contains_key(&id), "{has_more}");
            own.entry(id).and_modify(|count| *count = at);
        }
        4 => {
            let sum = table.increment(id, column, 1)?;
            own.entry(id).and_modify(|count| *count += 1);
            assert_eq!(sum, own.get(&id).map(|count| Value::Unsigned(*count)));
        }
        5 => {
            assert_eq!(table.delete(id)?, own.remove(&id).is_some());
        }
        6 => {
            let records = [record(id, at)?, record(id + 1, at)?];
            table.upsert_all(&records)?;
            own.extend([(id, at), (id + 1, at)]);
        }
        _ => {
            let transaction = db.begin();
            transaction.upsert(&table, &record(id, at)?)?;
            transaction.delete(&table, id + 1)?;
            transaction.commit()?;
            own.insert(id, at);
            own.remove(&(id + 1));
        }
    }
    Ok(())
}

/// Writes records in all ways, by several threads, while their table is changed again and again.
fn write_while_altering(db: &Database, kind: KeyKind, indexed: bool, ids: u64) {
    const THREADS: u64 = 3;
    let schema = Schema::build("t").key("id", Type::U64).column("count", Type::U64).finish();
    let table = db.create_table(&schema.expect("a schema"), kind).expect("room");
    if indexed {
        table.create_index(&IndexSchema::new("by_count", ["count"])).expect("room");
    }
    let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
    let all = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| {
                let (is_over, written) = (&is_over, &written);
                scope.spawn(move || {
                    let mut own = BTreeMap::new();
                    let mut at = thread << 40;
                    while !is_over.load(Ordering::Acquire) {
                        at += 1;
                        let id = mix(at ^ 5) % ids * 2 + thread * 10_000;
                        match write(db, at, id, &mut own) {
                            Ok(()) => drop(written.fetch_add(1, Ordering::Relaxed)),
                            // Nothing was written.
                            Err(Error::Conflict { .. } | Error::NoTable { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                    own
                })
            })
            .collect();
        let end = End(&is_over);
        let mut rounds = 0_u32;
        while rounds < 6 || written.load(Ordering::Relaxed) < 4 * ids && rounds < MOST_ROUNDS {
            let changes = match rounds % 3 {
                0 => Alteration::new().add_nullable("more", Type::VarText(50)),
                1 => Alteration::new().rename_column("more", "note"),
                _ => Alteration::new().drop_column("note"),
            };
            db.alter_table("t", &changes).expect("room");
            rounds += 1;
        }
        drop(end);
        let own = threads.into_iter().map(|thread| thread.join().expect("no panic"));
        own.fold(BTreeMap::new(), |mut all, own| {
            all.extend(own);
            all
        })
    });
    let table = db.table("t").expect("it is there");
    let mut found = BTreeMap::new();
    for row in table.iter() {
        let row = row.expect("whole");
        let numbers = ["id", "count"].map(|name| match row.get(name) {
            Some(Value::Unsigned(number)) => number,
            other => panic!("{name}: {other:?}"),
        });
        found.insert(numbers[0], numbers[1]);
    }
    assert_eq!(found, all);
    check(db).expect("whole");
}

#[test]
fn what_others_write_in_the_meantime_is_there() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for indexed in [false, true] {
            write_while_altering(&Database::in_memory().expect("memory"), kind, indexed, 4_000);
            let folder = tempfile::tempdir().expect("a directory");
            let options = Options::new().memory_bytes(8 << 20).durability(Durability::Process);
            let db = options.open(folder.path()).expect("it opens");
            write_while_altering(&db, kind, indexed, 400);
        }
    }
}

/// Drops the table, clears it, or drops an index while the table is changed, until that has come
/// in between.
#[test]
fn a_table_that_is_gone_in_between_is_an_error() {
    const MOST_ATTEMPTS: u32 = 100;
    for step in 0..3 {
        let mut attempts = 0;
        while !has_come_in_between(step) {
            attempts += 1;
            assert!(attempts < MOST_ATTEMPTS, "step {step} was always too late");
        }
    }
}

/// Returns true if the step came before the end of the alteration.
fn has_come_in_between(step: u32) -> bool {
    let db = Database::in_memory().expect("memory");
    let table = filled(&db, LAYOUTS[0], 30_000);
    table.create_index(&IndexSchema::new("by_count", ["count"])).expect("room");
    let before = db.statistics().page_bytes;
    let altered = std::thread::scope(|scope| {
        let altered = scope.spawn(|| db.alter_table("t", &changes()).map(drop));
        while db.statistics().page_bytes < before + (1 << 19) && !altered.is_finished() {
            std::thread::yield_now();
        }
        match step {
            0 => db.drop_table("t").expect("it is there"),
            1 => drop(db.clear_table("t").expect("it is there")),
            _ => match db.table("t").expect("it is there").drop_index("by_count") {
                Ok(()) | Err(Error::NoIndex { .. } | Error::NoTable { .. }) => {}
                Err(error) => panic!("{error}"),
            },
        }
        altered.join().expect("no panic")
    });
    let has_come = match (step, altered) {
        (_, Ok(())) => false,
        (0 | 1, Err(Error::NoTable { .. })) | (2, Err(Error::Conflict { .. })) => true,
        (step, Err(error)) => panic!("{step}: {error}"),
    };
    assert_eq!(db.table_names().len(), usize::from(step != 0));
    check(&db).expect("whole");
    if step != 0 {
        // Nothing is in the way of another one.
        let again = Alteration::new().add_nullable("last", Type::U8);
        db.alter_table("t", &again).expect("room");
    }
    has_come
}

/// Writes one record at a time, with rests: writers never wait, and there is always a new key. A
/// third of the keys are of no record, and too large for the new type.
#[test]
fn an_alteration_ends_beside_a_writer_that_rests_at_times() {
    for rest in [0, 20, 200] {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t").key("id", Type::U64).column("count", Type::U64).finish();
        let table = db.create_table(&schema.expect("a schema"), KeyKind::Hash).expect("room");
        let record = |id: u64| [id.to_le_bytes(), id.to_le_bytes()].concat();
        table.insert_all((0..20_000).map(record)).expect("room");
        let (is_over, written) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let count = table.schema().column("count").expect("a column");
                for at in 0_u64.. {
                    if is_over.load(Ordering::Acquire) {
                        return;
                    }
                    let id = if at.is_multiple_of(3) { at << 33 | 1 } else { mix(at) % 20_000 };
                    match table.update(id, count, &id.to_le_bytes()) {
                        Ok(is_there) => assert_eq!(is_there, id < 20_000),
                        Err(Error::NoTable { .. }) => return,
                        Err(error) => panic!("{error}"),
                    }
                    written.fetch_add(1, Ordering::Relaxed);
                    if rest > 0 {
                        std::thread::sleep(std::time::Duration::from_micros(rest));
                    }
                }
            });
            let _end = End(&is_over);
            while written.load(Ordering::Relaxed) < 100 {
                std::thread::yield_now();
            }
            let narrower = Alteration::new().change_type("id", Type::U32);
            let altered = db.alter_table("t", &narrower).expect("room");
            assert_eq!(altered.len(), Ok(20_000));
        });
        check(&db).expect("whole");
    }
}
