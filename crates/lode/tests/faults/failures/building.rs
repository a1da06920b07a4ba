//! The building and dropping of an index, in which the power goes or a call of the disk fails at
//! each step: there is a whole index then, or none.

use lode::simulation::{self, Fault, FaultKind, Mapping, Simulated};
use lode::{
    Database, Durability, Effect, Error, IndexSchema, KeyKind, Options, ReadTable, Row, Schema,
    Table, Type,
};

use super::calls::{self, LEVELS};

const RECORDS: u32 = 600;

fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).segment_bytes(1 << 16).durability(level)
}

fn by_group() -> IndexSchema {
    IndexSchema::new("by_group", ["group"])
}

fn record(id: u32) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(id % 7).to_le_bytes(), &[3; 40]].concat()
}

/// A disk with records, on which the index is built or not.
fn prepared(level: Durability, kind: KeyKind, is_built: bool) -> Simulated {
    let disk = Simulated::new(1);
    let db = simulation::open(&options(level), &disk, 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U32).column("group", Type::U32);
    let schema = schema.column("rest", Type::Bytes(40)).finish().expect("a schema");
    let table = db.create_table(&schema, kind).expect("room");
    table.insert_all((0..RECORDS).map(record)).expect("room");
    if is_built {
        table.create_index(&by_group()).expect("room");
    }
    db.close().expect("nothing is wrong with the disk");
    disk
}

/// Checks that the index is whole or not there; returns true if it is.
fn is_there(db: &Database, table: &Table, case: &str) -> bool {
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{case}: {report}");
    assert_eq!(table.len(), Ok(RECORDS.into()), "{case}");
    let indexes = table.indexes().expect("it is open");
    assert!(indexes.is_empty() || indexes == [by_group()], "{case}: {indexes:?}");
    if indexes.is_empty() {
        return false;
    }
    let rows = table.by("by_group").expect("it is there").iter();
    let rows: Vec<_> = rows.map(|row| row.map(Row::into_bytes).expect("it is whole")).collect();
    let mut wanted: Vec<_> = (0..RECORDS).collect();
    wanted.sort_by_key(|id| (id % 7, *id));
    assert_eq!(rows, wanted.into_iter().map(record).collect::<Vec<_>>(), "{case}");
    true
}

/// Creates or drops the index while the disk fails at the call of this number. Returns true if that
/// call came.
fn with_fault(
    disk: &Simulated,
    level: Durability,
    creates: bool,
    fault: (u64, Option<FaultKind>),
) -> bool {
    let (number, kind) = fault;
    let case = format!("{} at {level:?}, {fault:?}", if creates { "create" } else { "drop" });
    let disk = disk.fork();
    disk.set_mapping(if number % 2 == 0 { Mapping::None } else { Mapping::ALL[1] });
    let db = simulation::open(&options(level), &disk, 2).expect("nothing is wrong with the disk");
    let table = db.table("t").expect("it is there");
    let at = disk.operations() + number;
    disk.fail(match kind {
        None => Fault::Crash { at },
        Some(kind) => Fault::Error { at, kind },
    });
    let done = if creates { table.create_index(&by_group()) } else { table.drop_index("by_group") };
    let has_come = disk.operations() > at;
    if kind.is_some() {
        disk.heal();
        if let Err(error) = &done {
            match error.effect() {
                Effect::None if db.flush().is_ok() => {
                    assert_eq!(is_there(&db, &table, &case), !creates, "{case}: {error}");
                }
                _ => assert!(matches!(error, Error::Poisoned { .. }), "{case}: {error}"),
            }
        } else {
            assert_eq!(is_there(&db, &table, &case), creates, "{case}");
        }
    }
    let is_durable = done.is_ok() && level != Durability::None;
    disk.fail(Fault::Crash { at: disk.operations() });
    drop((table, db));
    disk.crash(number);
    let db = simulation::open(&options(level), &disk, 3);
    let db = db.unwrap_or_else(|why| panic!("{case}: {why}"));
    let table = db.table("t").unwrap_or_else(|why| panic!("{case}: {why}"));
    let found = is_there(&db, &table, &case);
    assert!(!is_durable || found == creates, "{case}: it was promised");
    if !found {
        table.create_index(&by_group()).unwrap_or_else(|why| panic!("{case}: {why}"));
        assert!(is_there(&db, &table, &case));
    }
    has_come
}

#[test]
fn an_index_is_whole_or_not_there_whatever_fails() {
    let mut steps = 0;
    for (level, kind) in LEVELS {
        for creates in [true, false] {
            let disk = prepared(level, kind, !creates);
            steps += calls::each(&mut |fault| with_fault(&disk, level, creates, fault));
        }
    }
    assert!(steps > 200, "{steps} steps failed");
}
