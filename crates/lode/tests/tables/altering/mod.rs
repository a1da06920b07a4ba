//! Changes of tables: columns, names, kinds; and what cannot be.

mod redefinitions;
mod writers;

use lode::{
    Alteration, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable, Result,
    Schema, SchemaFault, Table, Type, Value,
};

use crate::reading::check;

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
