//! Alterations under which records stay as they are: other names, and longer texts.

use lode::{
    Alteration, Change, Database, Durability, Error, IndexSchema, KeyKind, Options, ReadTable,
    Result, Schema, Type, Value,
};

use super::{LAYOUTS, before, files_of, filled};
use crate::reading::check;

/// More records than one commit of a copy takes.
const COUNT: u64 = 3_000;

fn indexes() -> [IndexSchema; 2] {
    [IndexSchema::new("by_count", ["count"]).unique(), IndexSchema::new("by_note", ["note"])]
}

fn renames() -> Alteration<'static> {
    Alteration::new()
        .rename_table("u")
        .rename_column("count", "number")
        .rename_column("note", "remark")
        .rename_column("rest", "other")
}

/// Checks that a table is as `renames` leaves it.
fn expect_renamed(db: &Database, schema: &Schema) {
    assert_eq!(db.table_names(), ["u"]);
    let table = db.table("u").expect("it is there");
    let columns = table.schema().columns().iter();
    let columns: Vec<_> = columns.map(|column| (&column.name[..], column.kind)).collect();
    let before = schema.columns();
    let wanted = [
        ("id", before[0].kind),
        ("number", Type::U16),
        ("other", before[2].kind),
        ("remark", Type::VarText(30)),
    ];
    assert_eq!(columns, wanted);
    let renamed = [
        IndexSchema::new("by_count", ["number"]).unique(),
        IndexSchema::new("by_note", ["remark"]),
    ];
    assert_eq!(table.indexes().expect("whole"), renamed);
    assert_eq!(table.len(), Ok(COUNT));
    for id in (0..COUNT).step_by(97) {
        let record = super::before(schema, id, id);
        let row = table.by("by_count").expect("it is there").get(id).expect("whole");
        assert_eq!(row.expect("it is there").bytes(), record);
        if !id.is_multiple_of(3) {
            let note = format!("note {id}");
            let found = table
                .by("by_note")
                .expect("it is there")
                .range([Value::Text(&note)]..=[Value::Text(&note)]);
            let found: Vec<_> = found.map(|row| row.expect("whole").bytes().to_vec()).collect();
            assert_eq!(found, [record]);
        }
    }
    check(db).expect("whole");
}

#[test]
fn names_change_in_one_step_however_many_records_there_are() {
    for layout in LAYOUTS {
        let folder = tempfile::tempdir().expect("a directory");
        let dir = folder.path().join("db");
        let options = Options::new().durability(Durability::Process).keep_changes(64 << 20);
        let db = options.open(&dir).expect("it opens");
        let table = filled(&db, layout, COUNT);
        indexes().iter().for_each(|index| table.create_index(index).expect("room"));
        let schema = table.schema().clone();
        let (snapshot, position) = (db.snapshot(), db.position().expect("it is kept"));
        let before_bytes = db.statistics().page_bytes;
        db.alter_table("t", &renames()).expect("room");
        assert_eq!(db.statistics().page_bytes, before_bytes, "no page is written anew");
        expect_renamed(&db, &schema);

        // The table before is no more, but for those who saw it.
        let no_table = Error::NoTable { table: "t".into() };
        assert_eq!(table.len(), Err(no_table.clone()));
        assert_eq!(table.insert(&before(&schema, COUNT, COUNT)), Err(no_table.clone()));
        assert_eq!(table.at(&snapshot).len(), Ok(COUNT));
        let by_count = table.at(&snapshot);
        let by_count = by_count.by("by_count").expect("it was there");
        assert!(by_count.get(7).expect("whole").is_some());
        let renamed = db.table("u").expect("it is there");
        let at_snapshot = renamed.at(&snapshot);
        assert!(matches!(at_snapshot.len(), Err(Error::NoTable { .. })));

        // All of it is one change, and the records before are of the table of then.
        let mut changes = db.changes(position).expect("they are kept");
        let commit = changes.next().expect("one").expect("whole");
        let [
            Change::AlterTable { before: old, after: new },
            Change::CreateIndex { index: first, .. },
            Change::CreateIndex { index: second, .. },
        ] = &commit.changes[..]
        else {
            panic!("{commit:?}")
        };
        assert_eq!((old.schema(), new.schema()), (&schema, renamed.schema()));
        assert_eq!([first.columns(), second.columns()], [["number"], ["remark"]]);
        assert!(changes.next().is_none());
        let rows = db.changes(None).expect("they are kept").map(|commit| commit.expect("whole"));
        let rows = rows.flat_map(|commit| commit.changes).filter_map(|change| match change {
            Change::Row(row) => Some(row.table().name().to_string()),
            _ => None,
        });
        assert!(rows.take(COUNT as usize).all(|name| name == "t"));

        // What the catalogue says is in a checkpoint, or in the log only.
        let copy = folder.path().join("copy");
        files_of(&dir, &copy);
        let copied = Options::new().open_existing(&copy).expect("it is replayed");
        expect_renamed(&copied, &schema);
        copied.close().expect("room");
        expect_renamed(&Database::open_read_only(&copy).expect("whole"), &schema);
        let (killed, repaired) = (folder.path().join("killed"), folder.path().join("repaired"));
        files_of(&dir, &killed);
        let mut losses = Vec::new();
        options.repair(&killed, &repaired, |loss| losses.push(loss.clone())).expect("room");
        assert_eq!(losses, []);
        expect_renamed(&Database::open_read_only(&repaired).expect("whole"), &schema);
    }
}

#[test]
fn a_renamed_table_is_written_dropped_and_its_name_used_again() -> Result<()> {
    for layout in LAYOUTS {
        let db = Database::in_memory()?;
        let table = filled(&db, layout, 100);
        let schema = table.schema().clone();
        let altered = db.alter_table("t", &renames().change_type("remark", Type::VarText(300)))?;
        let again = filled(&db, layout, 5);
        assert!(altered.insert(&before(&schema, 200, 200))?);
        assert!(altered.delete(before_key(&altered, 7))?);
        assert_eq!((again.len()?, altered.len()?), (5, 100));
        db.compact()?;
        check(&db).expect("whole");
        let long = "n".repeat(300);
        let values = super::key_of(layout.1, 300, "key 300");
        let rest = vec![1; if let Type::Bytes(size) = layout.2 { size as usize } else { 3 }];
        let wide = [values, Value::Unsigned(9), Value::Bytes(&rest), Value::Text(&long)];
        assert!(altered.insert(&altered.schema().pack(&wide)?)?, "a longer text than before");
        db.drop_table("u")?;
        assert!(matches!(altered.len(), Err(Error::NoTable { .. })));
        assert_eq!(db.table("t")?.len()?, 5);
        check(&db).expect("whole");
    }
    Ok(())
}

fn before_key(table: &lode::Table, id: u64) -> Vec<u8> {
    let record = before(table.schema(), id, id);
    table.schema().row(&record).expect("a record").key().to_vec()
}

#[test]
fn a_transaction_that_is_under_way_returns_a_conflict() -> Result<()> {
    let conflict = |result: Result<()>| matches!(result, Err(Error::Conflict { .. }));
    let db = Database::in_memory()?;
    let table = filled(&db, LAYOUTS[0], 10);
    let schema = table.schema().clone();
    let [reader, writer, scanner, both] = [(); 4].map(|()| db.begin());
    let other = Schema::build("other").key("id", Type::U8).finish()?;
    let other = db.create_table(&other, KeyKind::Hash)?;
    assert!(table.within(&reader).get(3)?.is_some());
    reader.insert(&other, &[1])?;
    writer.insert(&table, &before(&schema, 20, 20))?;
    assert_eq!(table.within(&scanner).iter().count(), 10);
    scanner.insert(&other, &[2])?;
    both.upsert(&table, &before(&schema, 3, 33))?;
    let renamed = db.alter_table("t", &Alteration::new().rename_column("note", "remark"))?;
    // Whatever it is answered about the table under its other name, its commit is refused.
    let _ = both.insert(&renamed, &before(&schema, 4, 4));
    for transaction in [reader, writer, scanner, both] {
        assert!(conflict(transaction.commit()));
    }
    assert_eq!((renamed.len()?, other.len()?), (10, 0));
    // A transaction that starts now sees the table.
    let transaction = db.begin();
    assert!(renamed.within(&transaction).get(3)?.is_some());
    assert!(transaction.delete(&renamed, 3)?);
    transaction.commit()?;
    assert_eq!(renamed.len(), Ok(9));
    Ok(())
}

#[test]
fn what_cannot_be_renamed_is_refused_and_stays() -> Result<()> {
    let db = Database::in_memory()?;
    let table = filled(&db, LAYOUTS[5], 10);
    table.create_index(&IndexSchema::new("by_note", ["note"]))?;
    db.create_table(&Schema::build("u").key("id", Type::U8).finish()?, KeyKind::Hash)?;
    let refused = |changes: Alteration<'_>| db.alter_table("t", &changes).map(drop);
    let taken = refused(Alteration::new().rename_table("u"));
    assert_eq!(taken, Err(Error::TableExists { table: "u".into() }));
    let long = refused(Alteration::new().rename_table(&"n".repeat(256)));
    assert!(matches!(long, Err(Error::InvalidSchema { .. })), "{long:?}");
    // Entries of the index would be too long for keys.
    let wide = refused(Alteration::new().change_type("note", Type::VarText(2_000)));
    assert!(matches!(wide, Err(Error::InvalidSchema { .. })), "{wide:?}");
    let key = refused(Alteration::new().change_type("id", Type::VarText(1_100)));
    assert!(matches!(key, Err(Error::InvalidSchema { .. })), "{key:?}");
    assert_eq!((table.len(), db.table_names()), (Ok(10), vec!["t".into(), "u".into()]));
    check(&db).expect("whole");
    Ok(())
}
