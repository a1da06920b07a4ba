//! Tables whose records are deleted all at once.

use lode::{Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Type};

/// A database in a directory with a table of `count` records.
fn filled(dir: &std::path::Path, kind: KeyKind, count: u16) -> Database {
    let db = Options::new().durability(Durability::Commit).open(dir).expect("it opens");
    let schema = Schema::build("word").key("id", Type::U16).column("text", Type::VarBytes(40));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, kind).expect("a table");
    let values = |id: u16| [lode::Value::Unsigned(id.into()), lode::Value::Bytes(&[7; 33])];
    let transaction = db.begin();
    for id in 0..count {
        let record = schema.pack(&values(id)).expect("it fits");
        transaction.insert(&table, &record).expect("room");
    }
    transaction.commit().expect("room");
    db
}

#[test]
fn a_table_that_was_cleared_is_empty_now_and_after_a_crash() {
    for kind in [KeyKind::Hash, KeyKind::Tree] {
        let folder = tempfile::tempdir().expect("a directory");
        let dir = folder.path().join("db");
        let db = filled(&dir, kind, 2_000);
        let (before, snapshot) = (db.table("word").expect("it is there"), db.snapshot());
        let cleared = db.clear_table("word").expect("room");
        assert_eq!((cleared.len(), cleared.key_kind()), (Ok(0), kind));
        assert_eq!(cleared.schema(), before.schema());
        assert_eq!(before.at(&snapshot).len(), Ok(2_000), "a snapshot still sees them");
        assert_eq!(before.len(), Err(Error::NoTable { table: "word".into() }));
        assert!(matches!(db.clear_table("none"), Err(Error::NoTable { .. })));

        // The files as a crash leaves them: the log has both the one and the other.
        let copy = folder.path().join("copy");
        std::fs::create_dir(&copy).expect("it is new");
        for entry in std::fs::read_dir(&dir).expect("it is there") {
            let entry = entry.expect("an entry");
            std::fs::copy(entry.path(), copy.join(entry.file_name())).expect("it is copied");
        }
        for db in [db, Options::new().open_existing(&copy).expect("it is replayed")] {
            let table = db.table("word").expect("it is there");
            assert_eq!(table.len(), Ok(0));
            let record = table.schema().pack(&[lode::Value::Unsigned(7), lode::Value::Bytes(&[1])]);
            assert_eq!(table.insert(&record.expect("it fits")), Ok(true));
            assert!(db.check().expect("it is open").is_sound());
        }
    }
}
