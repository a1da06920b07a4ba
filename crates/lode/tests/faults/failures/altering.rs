//! The alteration of a table, in which the power goes or a call of the disk fails at each step: the
//! table is as before then, or as it was to be, with all records and its index.

use lode::simulation::{self, Fault, FaultKind, Mapping, Simulated};
use lode::{
    Alteration, Database, Durability, Effect, Error, IndexSchema, KeyKind, Options, ReadTable,
    Schema, Type, Value,
};

use super::calls::{self, LEVELS};

const RECORDS: u64 = 400;

fn options(level: Durability) -> Options {
    Options::new().memory_bytes(1 << 20).log_bytes(1 << 18).segment_bytes(1 << 16).durability(level)
}

/// A disk with records that have long texts at times, and an index.
fn prepared(level: Durability, kind: KeyKind, records: u64) -> Simulated {
    let disk = Simulated::new(1);
    let db = simulation::open(&options(level), &disk, 1).expect("an empty disk");
    let schema = Schema::build("t").key("id", Type::U32).column("group", Type::U16);
    let schema = schema.column("text", Type::VarText(2_000)).finish().expect("a schema");
    let by_group = IndexSchema::new("by_group", ["group"]);
    let table = db.create_indexed_table(&schema, kind, &[by_group]).expect("room");
    let record = |id: u64| {
        let text = "ab".repeat(if id.is_multiple_of(50) { 900 } else { 9 });
        let values = [Value::Unsigned(id), Value::Unsigned(id % 7), Value::Text(&text)];
        schema.pack(&values).expect("they fit")
    };
    for id in 0..records {
        table.insert(&record(id)).expect("room");
    }
    db.close().expect("nothing is wrong with the disk");
    disk
}

/// The way in which a table is altered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Its records are written anew.
    Copied,
    /// Its records stay as they are.
    Redefined,
}

impl Way {
    fn alteration(self) -> Alteration<'static> {
        let changes = Alteration::new().rename_table("u");
        match self {
            Self::Copied => changes.drop_column("text").change_type("group", Type::I64).add_column(
                "new",
                Type::U8,
                Value::Unsigned(5),
            ),
            Self::Redefined => changes
                .rename_column("group", "set")
                .rename_column("text", "new")
                .change_type("new", Type::VarText(9_000)),
        }
    }
}

/// Checks that the table is as before or as it was to be; returns true if it was altered.
fn is_altered(db: &Database, way: Way, case: &str) -> bool {
    let report = db.check().expect("it is open");
    assert!(report.is_sound(), "{case}: {report}");
    let names = db.table_names();
    assert!(names == ["t"] || names == ["u"], "{case}: {names:?}");
    let table = db.table(&names[0]).expect("it is there");
    let is_altered = names == ["u"];
    assert_eq!(table.len(), Ok(RECORDS), "{case}");
    let is_signed = is_altered && way == Way::Copied;
    let group = if is_signed { Value::Signed(3) } else { Value::Unsigned(3) };
    let by_group = table.by("by_group").expect("it is there");
    let rows = by_group.range([group]..=[group]).map(|row| row.expect("whole"));
    let ids: Vec<_> = rows.map(|row| row.get("id").expect("a column").to_string()).collect();
    let wanted: Vec<_> = (0..RECORDS).filter(|id| id % 7 == 3).map(|id| id.to_string()).collect();
    assert_eq!(ids, wanted, "{case}");
    let row = table.get(50).expect("whole").expect("it is there");
    let text = row.get("text").or_else(|| row.get("new"));
    let is_copied = text == Some(Value::Unsigned(5));
    let long = "ab".repeat(900);
    assert!(is_copied || text == Some(Value::Text(&long)), "{case}: {text:?}");
    assert_eq!(is_copied, is_signed, "{case}");
    assert_eq!(row.get("new").is_some(), is_altered, "{case}");
    if is_altered && way == Way::Redefined {
        assert_eq!(row.schema().columns()[1].name, "set", "{case}");
    }
    is_altered
}

/// Alters the table while the disk fails at the call of this number. Returns true if that call
/// came.
fn with_fault(
    disk: &Simulated,
    level: Durability,
    way: Way,
    fault: (u64, Option<FaultKind>),
) -> bool {
    let (number, kind) = fault;
    let case = format!("{way:?} at {level:?}, {fault:?}");
    let disk = disk.fork();
    disk.set_mapping(if number % 2 == 0 { Mapping::None } else { Mapping::ALL[1] });
    let db = simulation::open(&options(level), &disk, 2).expect("nothing is wrong with the disk");
    let at = disk.operations() + number;
    disk.fail(match kind {
        None => Fault::Crash { at },
        Some(kind) => Fault::Error { at, kind },
    });
    let done = db.alter_table("t", &way.alteration()).map(drop);
    let has_come = disk.operations() > at;
    if kind.is_some() {
        disk.heal();
        match &done {
            Ok(()) => assert!(is_altered(&db, way, &case), "{case}"),
            Err(error) if error.effect() == Effect::None && db.flush().is_ok() => {
                assert!(!is_altered(&db, way, &case), "{case}: {error}");
            }
            Err(error) => {
                assert!(matches!(error, Error::Poisoned { .. }), "{case}: {error}");
                // Writers do not wait for an alteration that has ended.
                let name = db.table_names().remove(0);
                let refused = db.table(&name).and_then(|table| table.delete(7));
                assert!(refused.is_err(), "{case}");
            }
        }
    }
    let is_durable = done.is_ok() && level != Durability::None;
    disk.fail(Fault::Crash { at: disk.operations() });
    drop(db);
    disk.crash(number);
    let db = simulation::open(&options(level), &disk, 3);
    let db = db.unwrap_or_else(|why| panic!("{case}: {why}"));
    let found = is_altered(&db, way, &case);
    assert!(!is_durable || found, "{case}: it was promised");
    if !found {
        db.alter_table("t", &way.alteration()).unwrap_or_else(|why| panic!("{case}: {why}"));
        assert!(is_altered(&db, way, &case));
    }
    has_come
}

#[test]
fn a_table_is_altered_or_as_before_whatever_fails() {
    for (way, fewest_steps) in [(Way::Copied, 100), (Way::Redefined, 20)] {
        let mut steps = 0;
        for (level, kind) in LEVELS {
            let disk = prepared(level, kind, RECORDS);
            steps += calls::each(&mut |fault| with_fault(&disk, level, way, fault));
        }
        assert!(steps > fewest_steps, "{way:?}: {steps} steps failed");
    }
}

/// Loses pages of a successor that was being made when the power went. No table needs them.
#[test]
fn damage_of_an_unfinished_successor_keeps_no_database_from_opening() {
    const SLOT_BYTES: usize = 16 << 10;
    const MANY: u64 = 12_000;
    const MARK: &[u8] = b"of the successor";
    let level = Durability::Commit;
    let disk = prepared(level, KeyKind::Hash, MANY);
    let mark = Type::Bytes(MARK.len() as u32);
    // Short records are in the buckets, which the rest of the copy changes.
    let changes = Alteration::new().drop_column("text");
    let changes = changes.add_column("mark", mark, Value::Bytes(MARK));
    let (mut damaged, mut number) = (0, 0);
    loop {
        number += 399;
        let disk = disk.fork();
        let db = simulation::open(&options(level), &disk, 2).expect("nothing is wrong");
        let at = disk.operations() + number;
        disk.fail(Fault::Crash { at });
        if db.alter_table("t", &changes).is_ok() {
            break;
        }
        drop(db);
        disk.crash(number);
        let open = |disk: &Simulated| simulation::open(&options(level), disk, 3);
        let whole = open(&disk.fork()).and_then(|db| db.table("t")).expect("nothing is wrong");
        if whole.schema().column("mark").is_ok() {
            break;
        }
        let bytes = disk.file_bytes("data").expect("it is there");
        for (slot, page) in bytes.chunks(SLOT_BYTES).enumerate() {
            let Some(place) = page.windows(MARK.len()).position(|bytes| bytes == MARK) else {
                continue;
            };
            let disk = disk.fork();
            disk.flip_bit("data", ((slot * SLOT_BYTES + place) * 8) as u64);
            let table = open(&disk).and_then(|db| db.table("t"));
            let table = table.unwrap_or_else(|why| panic!("crash at {number}, slot {slot}: {why}"));
            assert_eq!(table.len(), Ok(MANY), "crash at {number}, slot {slot}");
            damaged += 1;
        }
    }
    assert!(damaged > 0, "no page of it was on the disk");
}
