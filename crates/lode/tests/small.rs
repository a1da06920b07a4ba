//! A little of everything, with few operations: for Miri and valgrind, which look at every access
//! to memory. `MIRIFLAGS=-Zmiri-isolation-error=hide cargo +nightly miri test -p lodedb --test
//! small`

#[path = "support/reading.rs"]
mod reading;

use std::collections::BTreeMap;
use std::ops::Bound;

use crate::reading::check;
use crate::reading::{Scan, cursor, each_row, payload_of};
use lode::simulation::{self, Mapping, Simulated};
use lode::{Database, Durability, KeyKind, Options, ReadTable, Result, Schema, Table, Type};

/// Keys that are worked with. (Miri takes ten thousand times as long as the machine.)
const IDS: u32 = if cfg!(miri) { 16 } else { 100 };

/// Sixty-four pages, the fewest that there can be.
const MEMORY_BYTES: u64 = 64 * 16 * 1024;

/// Returns schemas of records in the index, and of records in the heap, some in several pages.
fn schemas() -> [Schema; 2] {
    let short = Schema::build("short").key("id", Type::U32).column("number", Type::U64);
    let long = Schema::build("long").key("id", Type::U32).column("data", Type::VarBytes(40_000));
    [short, long].map(|schema| schema.finish().expect("a schema"))
}

/// A packed record.
fn record(schema: &Schema, id: u32, round: u32) -> Vec<u8> {
    let id_bytes = id.to_le_bytes();
    if !schema.is_variable() {
        return [&id_bytes[..], &u64::from(round).to_le_bytes()].concat();
    }
    let size = if id % 50 == 9 { 20_000 } else { (id * 37 + round) % 300 };
    let mut record = [id_bytes, size.to_le_bytes()].concat();
    record.resize(8 + size as usize, round as u8);
    record
}

type Model = BTreeMap<u32, Vec<u8>>;

/// Inserts, writes over and deletes records, one by one and in transactions.
fn work(db: &Database, table: &Table, model: &mut Model) -> Result<()> {
    let schema = table.schema();
    for id in 0..IDS {
        let record = record(schema, id, 0);
        assert!(table.insert(&record)?);
        model.insert(id, record);
    }
    for id in (0..IDS).step_by(3) {
        let record = record(schema, id, 1);
        assert!(table.upsert(&record)?);
        model.insert(id, record);
    }
    for id in (0..IDS).step_by(4) {
        assert!(table.delete(id.to_le_bytes())?);
        model.remove(&id);
    }
    for commits in [true, false] {
        let transaction = db.begin();
        let mut changed = model.clone();
        for id in (0..IDS + 20).step_by(7) {
            let record = record(schema, id, 2);
            transaction.upsert(table, &record)?;
            changed.insert(id, record);
        }
        for id in (0..IDS).step_by(9) {
            transaction.delete(table, id.to_le_bytes())?;
            changed.remove(&id);
        }
        if commits {
            transaction.commit()?;
            *model = changed;
        }
    }
    Ok(())
}

/// Everything that a table has, found in every way that there is.
fn expect(db: &Database, table: &Table, model: &Model) -> Result<()> {
    let mut all = Model::new();
    each_row(table.iter(), &mut |record| {
        let id = u32::from_le_bytes(*record.first_chunk().expect("a key"));
        assert!(all.insert(id, record.to_vec()).is_none());
        Ok(true)
    })?;
    assert_eq!(&all, model);
    let keys: Vec<u8> = (0..IDS + 20).flat_map(u32::to_le_bytes).collect();
    table.get_many_with(&keys, &mut |id, payload| {
        assert_eq!(payload, model.get(&(id as u32)).map(|record| &record[4..]));
    })?;
    for id in 0..IDS + 20 {
        let payload = payload_of(&table, id.to_le_bytes())?;
        assert_eq!(payload.as_deref(), model.get(&id).map(|record| &record[4..]));
    }
    if table.key_kind() == KeyKind::Tree {
        for backward in [false, true] {
            let scan = Scan {
                lower: Bound::Included(&[5, 0, 0, 0]),
                upper: Bound::Excluded(&[35, 0, 0, 0]),
                backward,
                columns: &[0],
                limit: 15,
            };
            let mut found = Vec::new();
            each_row(cursor(&table, &scan), &mut |row| {
                found.push(u32::from_le_bytes(row.try_into().expect("a key")));
                Ok(true)
            })?;
            let mut ids: Vec<u32> = model.range(5..35).map(|(id, _)| *id).collect();
            if backward {
                ids.reverse();
            }
            ids.truncate(15);
            assert_eq!(found, ids);
        }
    }
    check(db).expect("everything is consistent");
    Ok(())
}

#[test]
fn tables_in_memory_are_what_their_model_is() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for schema in schemas() {
            let db = Options::new().memory_bytes(MEMORY_BYTES).in_memory().expect("memory");
            let (table, mut model) = (db.create_table(&schema, kind).expect("room"), Model::new());
            let before = db.snapshot();
            work(&db, &table, &mut model).expect("room");
            expect(&db, &table, &model).expect("it is there");
            each_row(table.at(&before).iter(), &mut |_| panic!("it was empty"))
                .expect("it was empty");
        }
    }
}

/// (Not with Miri: the numbers of a disk's pages alone are a gibibyte of memory.)
#[test]
#[cfg_attr(miri, ignore)]
fn tables_on_a_disk_are_there_after_a_crash() {
    let options = Options::new().memory_bytes(MEMORY_BYTES).durability(Durability::Commit);
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for schema in schemas() {
            let disk = Simulated::new(1);
            disk.set_mapping(Mapping::OnDisk);
            let db = simulation::open(&options, &disk, 1).expect("an empty disk");
            let (table, mut model) = (db.create_table(&schema, kind).expect("room"), Model::new());
            work(&db, &table, &mut model).expect("room");
            db.checkpoint().expect("room");
            assert_eq!(table.delete([1, 0, 0, 0]), Ok(model.remove(&1).is_some()));
            disk.crash(2);
            drop((table, db));
            let db = simulation::open(&options, &disk, 2).expect("everything is there");
            let table = db.table(schema.name()).expect("it is there");
            expect(&db, &table, &model).expect("it is there");
        }
    }
}

#[test]
fn threads_change_pages_that_others_read() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        for schema in schemas() {
            let db = Options::new().memory_bytes(MEMORY_BYTES).in_memory().expect("memory");
            let table = db.create_table(&schema, kind).expect("room");
            std::thread::scope(|scope| {
                for writer in 0..2 {
                    let (db, table) = (&db, &table);
                    scope.spawn(move || {
                        for id in (writer..IDS / 2).step_by(2) {
                            let record = record(table.schema(), id + 1, writer);
                            assert!(table.insert(&record).expect("room"));
                            if id.is_multiple_of(5) {
                                let transaction = db.begin();
                                transaction.upsert(table, &record).expect("room");
                                transaction.commit().expect("no other thread writes it");
                            }
                        }
                    });
                }
                scope.spawn(|| {
                    for id in (0..IDS / 2).cycle().take(2 * IDS as usize) {
                        if let Some(payload) = payload_of(&table, id.to_le_bytes()).expect("a key")
                        {
                            let whole = record(table.schema(), id, (id + 1) % 2);
                            assert_eq!(payload, whole[4..]);
                        }
                    }
                    let mut ids = 0;
                    let count = &mut |_: &[u8]| {
                        ids += 1;
                        Ok(true)
                    };
                    each_row(table.iter(), count).expect("a snapshot");
                    assert!(ids <= IDS / 2);
                });
            });
            check(&db).expect("everything is consistent");
        }
    }
}
