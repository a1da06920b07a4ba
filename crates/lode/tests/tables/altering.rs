//! Changes of tables that are in use: columns, names, kinds.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result,
    Schema, SchemaFault, Table, Type, Value,
};

use crate::random::mix;
use crate::reading::check;

/// The most alterations beside writers: these may have ended with a fault.
const MOST_ROUNDS: u32 = 10_000;

/// Ends the work of threads, also if a test fails.
struct End<'e>(&'e AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

/// The layouts of tables: a kind, a type of keys, and the type of a column that is dropped.
const LAYOUTS: [(KeyKind, Type, Type); 6] = [
    (KeyKind::Hash, Type::U32, Type::Bytes(3)),
    (KeyKind::Hash, Type::U32, Type::VarBytes(3000)),
    (KeyKind::Hash, Type::VarText(40), Type::VarBytes(3000)),
    (KeyKind::Tree, Type::U32, Type::Bytes(3)),
    (KeyKind::Tree, Type::I64, Type::VarBytes(3000)),
    (KeyKind::Tree, Type::VarText(40), Type::Bytes(900)),
];

fn text(id: u64) -> String {
    format!("{id:09}").repeat(1 + (id % 4) as usize)
}

fn key_of(kind: Type, id: u64, text: &str) -> Value<'_> {
    match kind {
        Type::I64 => Value::Signed(id as i64 - 500),
        Type::VarText(_) => Value::Text(text),
        _ => Value::Unsigned(id),
    }
}

/// Creates a table with records that have a count and bytes that are long at times.
fn filled(db: &Database, layout: (KeyKind, Type, Type), count: u64) -> Table {
    let (kind, key, rest) = layout;
    let schema = Schema::build("t").key("id", key).column("count", Type::U16).column("rest", rest);
    let schema = schema.nullable("note", Type::VarText(30)).finish().expect("a schema");
    let table = db.create_table(&schema, kind).expect("room");
    for id in 0..count {
        table.insert(&before(&schema, id, id)).expect("room");
    }
    table
}

/// The record of a table before changes.
fn before(schema: &Schema, id: u64, count: u64) -> Vec<u8> {
    let (text, note) = (text(id), format!("note {count}"));
    let bytes = match schema.columns()[2].kind {
        Type::Bytes(size) => vec![7; size as usize],
        _ => vec![7; if id.is_multiple_of(40) { 2900 } else { 20 }],
    };
    let note = if id.is_multiple_of(3) { Value::Null } else { Value::Text(&note) };
    let key = key_of(schema.columns()[0].kind, id, &text);
    let values = [key, Value::Unsigned(count), Value::Bytes(&bytes), note];
    schema.pack(&values).expect("they fit")
}

/// Changes of each kind at once.
fn changes() -> Alteration<'static> {
    Alteration::new()
        .drop_column("rest")
        .change_type("count", Type::I32)
        .rename_column("note", "remark")
        .add_column("unit", Type::Text(4), Value::Text("kg"))
        .add_nullable("seen", Type::Timestamp)
        .change_nullable("count", true)
}

/// Checks that a table has its records as the changes leave them.
fn expect_changed(table: &Table, count: u64) {
    let names: Vec<_> =
        table.schema().columns().iter().map(|column| (&column.name[..], column.nullable)).collect();
    let wanted =
        [("id", false), ("count", true), ("remark", true), ("unit", false), ("seen", true)];
    assert_eq!(names, wanted);
    assert_eq!(table.len(), Ok(count));
    for id in 0..count {
        let text = text(id);
        let key = key_of(table.schema().columns()[0].kind, id, &text);
        let row = table.get(key).expect("it can be read").expect("it is there");
        let note = format!("note {id}");
        let note = if id.is_multiple_of(3) { Value::Null } else { Value::Text(&note) };
        let values = [key, Value::Signed(id as i64), note, Value::Text("kg"), Value::Null];
        let columns = row.schema().columns().iter();
        let found: Vec<_> = columns.map(|column| row.at(column.id())).collect();
        assert_eq!(found, values);
    }
}

fn files_of(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir(to).expect("it is new");
    for entry in std::fs::read_dir(from).expect("it is there") {
        let entry = entry.expect("an entry");
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("room");
    }
}

#[test]
fn each_layout_can_be_changed_and_is_so_after_a_crash() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().expect("a directory");
        let dir = folder.path().join("db");
        let db = Options::new().durability(Durability::Process).open(&dir).expect("it opens");
        let table = filled(&db, layout, 1_500);
        let snapshot = db.snapshot();
        let changed = db.alter_table("t", &changes()).expect("room");
        expect_changed(&changed, 1_500);
        assert_eq!(table.len(), Err(Error::NoTable { table: "t".into() }));
        assert_eq!(table.at(&snapshot).len(), Ok(1_500), "a snapshot still sees them");
        assert!(matches!(changed.at(&snapshot).len(), Err(Error::NoTable { .. })));
        assert_eq!(db.table_names(), ["t"]);

        let copy = folder.path().join("copy");
        files_of(&dir, &copy);
        let copied = Options::new().open_existing(&copy).expect("it is replayed");
        expect_changed(&copied.table("t").expect("it is there"), 1_500);
        check(&copied).expect("whole");
        // The log has the changes of a table that is no more.
        let repaired = folder.path().join("repaired");
        copied.close().expect("room");
        let options = Options::new().durability(Durability::Process);
        files_of(&dir, &folder.path().join("killed"));
        let mut losses = Vec::new();
        let killed = folder.path().join("killed");
        options.repair(&killed, &repaired, |loss| losses.push(loss.clone())).expect("room");
        assert_eq!(losses, []);
        let repaired = Database::open_read_only(&repaired).expect("whole");
        assert_eq!(repaired.table_names(), ["t"]);
        expect_changed(&repaired.table("t").expect("it is there"), 1_500);
        check(&db).expect("whole");
    }
}

#[test]
fn a_table_changes_its_name_and_its_kind() -> Result<()> {
    for layout in LAYOUTS {
        let db = Database::in_memory()?;
        filled(&db, layout, 700).create_index(&IndexSchema::new("by_count", ["count"]).unique())?;
        let other = match layout.0 {
            KeyKind::Hash => KeyKind::Tree,
            KeyKind::Tree => KeyKind::Hash,
        };
        let changes = Alteration::new().rename_table("u").change_kind(other);
        let table = db.alter_table("t", &changes.rename_column("count", "number"))?;
        assert_eq!((table.key_kind(), db.table_names()), (other, vec!["u".to_string()]));
        assert_eq!(table.indexes()?, [IndexSchema::new("by_count", ["number"]).unique()]);
        for id in [0, 13, 699] {
            let row = table.by("by_count")?.get(id)?.expect("it is there");
            assert_eq!(row.key(), &before(table.schema(), id, id)[..row.key().len()]);
        }
        let refused = table.insert(&before(table.schema(), 700, 13));
        assert!(matches!(refused, Err(Error::UniqueViolation { .. })), "{refused:?}");
        check(&db).expect("whole");
    }
    Ok(())
}

#[test]
fn keys_and_values_change_their_types_if_each_fits() -> Result<()> {
    use Type::{Bytes, F32, F64, I16, I64, Text, Timestamp, U8, U32, U64, VarBytes, VarText};
    use Value::{Float, Signed, Unsigned};
    let digits = Type::Decimal { precision: 4, scale: 1 };
    let decimal = |text: &str| Value::Decimal(text.parse().expect("a number"));
    // A type, a value, and another type with its value, if it has one.
    let cases = [
        (U8, Unsigned(200), I16, Some(Signed(200))),
        (I64, Signed(-1), U64, None),
        (I64, Signed(70_000), I16, None),
        (U64, Unsigned(1 << 53), F64, Some(Float((1_u64 << 53) as f64))),
        (U64, Unsigned((1 << 53) + 1), F64, None),
        (U64, Unsigned((1 << 24) + 1), F32, None),
        (U64, Unsigned(u64::MAX), F64, None),
        (F64, Float(0.5), F32, Some(Float(0.5))),
        (F64, Float(0.1), F32, None),
        (F32, Float(0.5), F64, Some(Float(0.5))),
        (U32, Unsigned(999), digits, Some(decimal("999"))),
        (U32, Unsigned(1000), digits, None),
        (I64, Signed(-5), Timestamp, Some(Value::Timestamp(-5))),
        (Timestamp, Value::Timestamp(5), U8, Some(Unsigned(5))),
        (Text(4), Value::Text("ab"), VarText(2), Some(Value::Text("ab"))),
        (VarText(4), Value::Text("abc"), VarText(2), None),
        (VarText(4), Value::Text("abc"), Bytes(3), Some(Value::Bytes(b"abc"))),
        (VarBytes(4), Value::Bytes(b"abc"), Text(3), Some(Value::Text("abc"))),
        (VarBytes(4), Value::Bytes(b"\xff"), VarText(4), None),
        (VarText(4), Value::Text("1"), U8, None),
        (digits, decimal("1.5"), U8, None),
    ];
    for (from, value, to, wanted) in cases {
        let db = Database::in_memory()?;
        let schema = Schema::build("t").key("id", Type::U8).nullable("value", from).finish()?;
        let table = db.create_table(&schema, KeyKind::Hash)?;
        table.insert(&schema.pack(&[Unsigned(7), value])?)?;
        table.insert(&schema.pack(&[Unsigned(8), Value::Null])?)?;
        let altered = db.alter_table("t", &Alteration::new().change_type("value", to));
        match (altered, wanted) {
            (Ok(altered), Some(wanted)) => {
                let [row, null] = [7, 8].map(|id| altered.get(id).expect("whole").expect("there"));
                assert_eq!(row.get("value"), Some(wanted), "{from:?} {value} {to:?}");
                assert_eq!(null.get("value"), Some(Value::Null));
            }
            (Err(Error::RecordMisfit { key, source }), None) => {
                let Error::ValueMisfit { column, kind, .. } = *source else { panic!("{source}") };
                assert_eq!((&key[..], &column[..], kind), ("7", "value", to));
                assert_eq!(table.len(), Ok(2), "it is as before");
                assert_eq!(db.table_names(), ["t"]);
            }
            (altered, wanted) => panic!("{from:?} {value} {to:?}: {altered:?}, not {wanted:?}"),
        }
    }
    // Negative keys come before others in their order, whatever their bytes are.
    let db = Database::in_memory()?;
    let schema = Schema::build("t").key("id", Type::I16).finish()?;
    let table = db.create_table(&schema, KeyKind::Tree)?;
    for id in [-3, 5, 300] {
        table.insert(&schema.pack(&[Signed(id)])?)?;
    }
    let table = db.alter_table("t", &Alteration::new().change_type("id", Type::I64))?;
    let ids = table.iter().map(|row| row.map(|row| row.get("id").expect("a column").to_string()));
    assert_eq!(ids.collect::<Result<Vec<_>>>()?, ["-3", "5", "300"]);
    Ok(())
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() -> Result<()> {
    let db = Database::in_memory()?;
    let table = filled(&db, LAYOUTS[3], 100);
    table.create_index(&IndexSchema::new("by_count", ["count"]))?;
    db.create_table(&Schema::build("u").key("id", Type::U8).finish()?, KeyKind::Hash)?;
    let new = Alteration::new;
    let why = |changes: Alteration<'_>| {
        db.alter_table("t", &changes).map(drop).expect_err("refused").to_string()
    };
    let refused = [
        (new().drop_column("none"), "table t: there is no column none"),
        (new().drop_column("id"), "table t: column id is of the key; it stays"),
        (new().change_type("id", Type::F64), "table t: column id is of the key; it stays"),
        (new().change_nullable("id", true), "table t: column id is of the key; it stays"),
        (
            new().drop_column("count"),
            "table t: index by_count has column count; drop the index first",
        ),
        (
            new().add_column("a", Type::U8, Value::Unsigned(256)),
            "table t: 256 does not fit column a: U8",
        ),
        (new().add_column("a", Type::U8, Value::Null), "table t: null does not fit column a: U8"),
        (
            new().change_nullable("note", false),
            "table t: null does not fit column note: VarText(30), in record (0); change the record \
             first",
        ),
        (new().rename_table("u"), "there is a table u already; open it, or choose another name"),
    ];
    for (changes, wanted) in refused {
        assert_eq!(why(changes), wanted);
    }
    for (changes, fault) in [
        (new().rename_column("count", "rest"), SchemaFault::SameName { column: "rest".into() }),
        (
            // A column in between that has the name of another one.
            new().rename_column("count", "rest").rename_column("rest", "other"),
            SchemaFault::SameName { column: "rest".into() },
        ),
        (
            new().add_column("note", Type::U8, Value::Unsigned(1)).drop_column("note"),
            SchemaFault::SameName { column: "note".into() },
        ),
        (new().rename_table(""), SchemaFault::NoName),
    ] {
        let refused = db.alter_table("t", &changes).map(drop);
        assert!(matches!(refused, Err(Error::InvalidSchema { fault: of, .. }) if of == fault));
    }
    assert!(matches!(db.alter_table("none", &new()), Err(Error::NoTable { .. })));
    assert_eq!(db.table_names(), ["t", "u"]);
    for id in 0..100 {
        let row = table.get(id)?.expect("it is there");
        assert_eq!(row.bytes(), before(table.schema(), id, id));
    }
    check(&db).expect("whole");
    assert!(db.alter_table("t", &new()).is_ok(), "nothing is changed");
    assert!(table.contains(7)?);
    Ok(())
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
        let again = Alteration::new().rename_column("number", "n").rename_column("n", "number");
        let mut rounds = 0_u32;
        while rounds < 20 || exchanged.load(Ordering::Relaxed) < 500 && rounds < MOST_ROUNDS {
            db.alter_table("t", &again).expect("room");
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
            let changes = match rounds % 2 {
                0 => Alteration::new().add_nullable("more", Type::VarText(50)),
                _ => Alteration::new().drop_column("more"),
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

/// Drops the table, clears it, drops an index, and closes the database while the table is changed.
#[test]
fn a_table_that_is_gone_in_the_meantime_is_an_error() {
    for step in 0..4 {
        let db = Database::in_memory().expect("memory");
        let table = filled(&db, LAYOUTS[0], 30_000);
        table.create_index(&IndexSchema::new("by_count", ["count"])).expect("room");
        let altered = std::thread::scope(|scope| {
            let altered = scope.spawn(|| db.alter_table("t", &changes()).map(drop));
            // While it is made, the writers of the table take notes.
            while db.statistics().page_bytes < 3 << 20 && !altered.is_finished() {
                std::thread::yield_now();
            }
            match step {
                0 => db.drop_table("t").expect("it is there"),
                1 => drop(db.clear_table("t").expect("it is there")),
                2 => match db.table("t").expect("it is there").drop_index("by_count") {
                    Ok(()) | Err(Error::NoIndex { .. } | Error::NoTable { .. }) => {}
                    Err(error) => panic!("{error}"),
                },
                _ => {}
            }
            altered.join().expect("no panic")
        });
        match (step, altered) {
            (_, Ok(())) => {}
            (0 | 1, Err(Error::NoTable { .. })) | (2, Err(Error::Conflict { .. })) => {}
            (step, Err(error)) => panic!("{step}: {error}"),
        }
        let names = db.table_names();
        assert_eq!(names.len(), usize::from(step != 0));
        check(&db).expect("whole");
        if step != 0 {
            // Nothing is in the way of another one.
            let again = Alteration::new().add_nullable("last", Type::U8);
            db.alter_table("t", &again).expect("room");
        }
    }
}

/// Writes at times, each time one record: never so many that writers wait, and never none for long.
/// Some of the keys are those of no record, and of no record that there can be later.
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
