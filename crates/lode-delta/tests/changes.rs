//! Exports of changes: after each, the newest version has the records of the table, whatever was
//! done to it since the one before.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use lode::{Alteration, Database, KeyKind, Options, ReadTable, Schema, Table, Type, Value};
use lode_arrow::{Compression, Packer, Scan};
use lode_delta::{
    ChangesExported, DeltaTable, Error, ExportOptions, Exported, Location, WhyWhole, export,
    export_changes,
};
use tempfile::TempDir;

/// Files of few rows, so that there are many.
const OPTIONS: ExportOptions = ExportOptions {
    compression: Compression::None,
    row_group_rows: 64,
    file_bytes: 2_000,
    changes_bytes: 1 << 20,
};

/// A database that keeps its changes, and a place for a Delta table.
struct Bench {
    folder: TempDir,
    db: Database,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let options = Options::new().keep_changes(1 << 20).segment_bytes(1 << 20);
        let db = options.create_new(folder.path().join("db")).expect("a database");
        Self { folder, db }
    }

    fn target(&self) -> PathBuf {
        self.folder.path().join("t")
    }

    fn location(&self) -> Location {
        Location::parse(self.target().to_str().expect("a plain name")).expect("a place")
    }

    fn try_export(
        &self,
        table: &Table,
        options: &ExportOptions,
    ) -> lode_delta::Result<ChangesExported> {
        export_changes(&self.location(), &self.db, table, options, &mut |_| false)
    }

    fn export(&self, table: &Table) -> ChangesExported {
        self.try_export(table, &OPTIONS).expect("it is exported")
    }

    /// Checks that the newest version has what the table has; returns how many records.
    fn expect_same(&self, table: &Table) -> u64 {
        let schema = table.schema();
        let stored = DeltaTable::open(&self.location()).expect("a version");
        let mut found = BTreeSet::new();
        let mut packer = Packer::new(schema, stored.schema().clone()).expect("its columns");
        for batch in stored.batches() {
            let mut take = |_, record: &[u8]| {
                assert!(found.insert(record.to_vec()), "a record is there twice");
                Ok::<(), lode_arrow::Error>(())
            };
            packer.pack(&batch.expect("a batch"), &mut take).expect("records");
        }
        let mut wanted = BTreeSet::new();
        let mut cursor = table.iter();
        while let Some(row) = cursor.next_row().expect("a record") {
            wanted.insert(row.bytes().to_vec());
        }
        assert_eq!(found.len(), wanted.len());
        assert!(found == wanted);
        assert_eq!(stored.rows(), Some(wanted.len() as u64));
        wanted.len() as u64
    }
}

/// The entry of a version.
fn entry(target: &Path, version: u64) -> Vec<serde_json::Value> {
    let name = format!("_delta_log/{version:020}.json");
    let text = fs::read_to_string(target.join(name)).expect("an entry");
    text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

/// Random numbers of a seed.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A table of numbers and texts with a key of these types.
fn table_of(bench: &Bench, kind: KeyKind, keys: &[Type]) -> Table {
    let builder = keys
        .iter()
        .enumerate()
        .fold(Schema::build("t"), |builder, (at, kind)| builder.key(&format!("k{at}"), *kind));
    let schema = builder.nullable("n", Type::I64).column("text", Type::VarText(40)).finish();
    bench.db.create_table(&schema.expect("a schema"), kind).expect("a table")
}

/// The record with a number in its key.
fn record(schema: &Schema, key: u64, n: u64) -> Vec<u8> {
    let shown = format!("key {key}");
    let text = format!("row {n}");
    let mut values: Vec<Value<'_>> = Vec::new();
    for column in &schema.columns()[..schema.key_columns()] {
        values.push(match column.kind {
            Type::U64 => Value::Unsigned(u64::MAX - key),
            Type::U8 => Value::Unsigned(key % 200),
            Type::I32 => Value::Signed(key as i64 - 300),
            Type::VarText(_) | Type::Text(_) => Value::Text(&shown),
            Type::Timestamp => Value::Timestamp(key as i64),
            other => panic!("no {other} in keys"),
        });
    }
    values.push(if n.is_multiple_of(5) { Value::Null } else { Value::Signed(n as i64) });
    values.push(Value::Text(&text));
    schema.pack(&values).expect("a record")
}

#[test]
fn the_newest_version_has_what_the_table_has() {
    for (seed, (kind, keys)) in [
        (KeyKind::Tree, &[Type::U64][..]),
        (KeyKind::Hash, &[Type::U64]),
        (KeyKind::Tree, &[Type::I32, Type::VarText(20)]),
        (KeyKind::Hash, &[Type::VarText(20)]),
        (KeyKind::Tree, &[Type::Text(20), Type::U8]),
        (KeyKind::Hash, &[Type::Timestamp]),
    ]
    .into_iter()
    .enumerate()
    {
        let bench = Bench::new();
        let table = table_of(&bench, kind, keys);
        let schema = table.schema().clone();
        let mut random = Random(seed as u64 + 7);
        let mut versions = 0;
        for key in 0..400 {
            table.insert(&record(&schema, key, key)).expect("it is written");
        }
        for round in 0..25 {
            match bench.export(&table) {
                ChangesExported::Whole { why: None, .. } => assert_eq!(round, 0),
                ChangesExported::Changes { version, .. } => {
                    assert_eq!(version, versions);
                    let is_add = |action: &serde_json::Value| action.get("add").is_some();
                    let actions = entry(&bench.target(), version);
                    assert!(actions.iter().all(|action| action.get("metaData").is_none()));
                    if keys[0] == Type::I32 && round % 5 == 4 {
                        // New keys are higher than all others, so no other file has changed.
                        assert_eq!(actions.iter().filter(|action| is_add(action)).count(), 1);
                    }
                }
                other => panic!("round {round}: {other:?}"),
            }
            versions += 1;
            bench.expect_same(&table);
            if round % 5 == 3 {
                let first = 1_000 + round * 10;
                for key in first..first + 3 {
                    table.insert(&record(&schema, key, key)).expect("it is written");
                }
                continue;
            }
            for _ in 0..1 + random.below(60) {
                let key = random.below(500);
                let record = record(&schema, key, random.below(1_000));
                if random.below(3) == 0 {
                    let row = schema.row(&record).expect("a record");
                    table.delete(row.key()).expect("it is deleted");
                } else {
                    table.upsert(&record).expect("it is written");
                }
            }
        }
    }
}

/// A table of ten records that was exported once.
fn exported_once(kind: KeyKind) -> (Bench, Table) {
    let bench = Bench::new();
    let table = table_of(&bench, kind, &[Type::U64]);
    for key in 0..10 {
        table.insert(&record(table.schema(), key, key)).expect("it is written");
    }
    let whole = bench.export(&table);
    assert!(matches!(
        whole,
        ChangesExported::Whole { exported: Exported { version: 0, rows: 10, .. }, why: None }
    ));
    (bench, table)
}

/// Checks that the next export has all records for that reason, and the one after it changes only.
fn expect_whole(bench: &Bench, table: &Table, wanted: WhyWhole) {
    let ChangesExported::Whole { exported, why } = bench.export(table) else {
        panic!("not all records: {wanted}");
    };
    assert_eq!((why, exported.rows), (Some(wanted), bench.expect_same(table)));
    table.upsert(&record(table.schema(), 3, 77)).expect("it is written");
    let version = exported.version + 1;
    let changes = ChangesExported::Changes { version, written: 1, deleted: 0 };
    assert_eq!(bench.export(table), changes);
    bench.expect_same(table);
}

#[test]
fn all_records_are_written_if_the_changes_are_not_known() {
    let (bench, table) = exported_once(KeyKind::Tree);
    // Another export does not say of which moment it was.
    export(&bench.location(), Scan::of(&table), &OPTIONS, &mut |_| false).expect("exported");
    expect_whole(&bench, &table, WhyWhole::NoPosition);

    let options = ExportOptions { changes_bytes: 100, ..OPTIONS };
    for key in 20..30 {
        table.insert(&record(table.schema(), key, key)).expect("it is written");
    }
    let done = bench.try_export(&table, &options).expect("it is exported");
    let ChangesExported::Whole { why, .. } = done else { panic!("{done:?}") };
    assert_eq!(why, Some(WhyWhole::TooMany { most_bytes: 100 }));
    bench.expect_same(&table);

    let renamed = |from: &str, to: &str| {
        let alteration = Alteration::new().rename_table(to);
        bench.db.alter_table(from, &alteration).expect("it is renamed")
    };
    renamed("t", "other");
    let table = renamed("other", "t");
    expect_whole(&bench, &table, WhyWhole::Redefined);

    // Another table of these columns, in the same place.
    let schema = table.schema();
    let others = schema.columns()[1..].iter();
    let builder = Schema::build("u").key(&schema.columns()[0].name, Type::U64);
    let schema = others
        .fold(builder, |builder, column| match column.nullable {
            true => builder.nullable(&column.name, column.kind),
            false => builder.column(&column.name, column.kind),
        })
        .finish()
        .expect("a schema");
    let other = bench.db.create_table(&schema, KeyKind::Hash).expect("a table");
    expect_whole(&bench, &other, WhyWhole::NoPosition);
    expect_whole(&bench, &table, WhyWhole::NoPosition);

    bench.db.drop_table("t").expect("it is dropped");
    let table = table_of(&bench, KeyKind::Hash, &[Type::U64]);
    table.insert(&record(table.schema(), 3, 3)).expect("it is written");
    expect_whole(&bench, &table, WhyWhole::Redefined);

    // More than what is kept.
    let text = "x".repeat(40);
    for _ in 0..30 {
        let transaction = bench.db.begin();
        for key in 0..1_000u64 {
            let values = [Value::Unsigned(key), Value::Signed(1), Value::Text(&text)];
            let record = table.schema().pack(&values).expect("a record");
            transaction.upsert(&table, &record).expect("it is written");
        }
        transaction.commit().expect("there is room");
    }
    bench.db.checkpoint().expect("a checkpoint");
    expect_whole(&bench, &table, WhyWhole::Gone);

    let other = Bench::new();
    let foreign = table_of(&other, KeyKind::Hash, &[Type::U64]);
    foreign.insert(&record(foreign.schema(), 1, 1)).expect("it is written");
    let done = export_changes(&bench.location(), &other.db, &foreign, &OPTIONS, &mut |_| false);
    let ChangesExported::Whole { why, .. } = done.expect("it is exported") else { panic!("whole") };
    assert_eq!(why, Some(WhyWhole::OtherPosition));
}

#[test]
fn a_change_elsewhere_moves_the_position_on_and_none_writes_nothing() {
    let (bench, table) = exported_once(KeyKind::Hash);
    assert_eq!(bench.export(&table), ChangesExported::Nothing { version: 0 });
    let schema = Schema::build("other").key("id", Type::U64).finish().expect("a schema");
    bench.db.create_table(&schema, KeyKind::Hash).expect("a table");
    let nothing_here = ChangesExported::Changes { version: 1, written: 0, deleted: 0 };
    assert_eq!(bench.export(&table), nothing_here);
    assert_eq!(entry(&bench.target(), 1).len(), 1);
    assert_eq!(bench.export(&table), ChangesExported::Nothing { version: 1 });

    // A record that came and went leaves nothing; one that was replaced is written once.
    table.insert(&record(table.schema(), 50, 1)).expect("it is written");
    table.delete(u64::MAX - 50).expect("it is deleted");
    for n in 0..20 {
        table.upsert(&record(table.schema(), 5, n)).expect("it is written");
    }
    table.delete(u64::MAX - 6).expect("it is deleted");
    let changes = ChangesExported::Changes { version: 2, written: 1, deleted: 1 };
    assert_eq!(bench.export(&table), changes);
    assert_eq!(bench.expect_same(&table), 9);

    // A file without rows is no file of the table any more.
    for key in 0..10 {
        table.delete(u64::MAX - key).expect("it is deleted");
    }
    let changes = ChangesExported::Changes { version: 3, written: 0, deleted: 9 };
    assert_eq!(bench.export(&table), changes);
    assert!(entry(&bench.target(), 3).iter().all(|action| action.get("add").is_none()));
    assert_eq!(bench.expect_same(&table), 0);
}

#[test]
fn files_that_others_wrote_anew_are_followed_and_their_changes_are_not() {
    let (bench, table) = exported_once(KeyKind::Tree);
    let added = entry(&bench.target(), 0).into_iter().find(|action| action.get("add").is_some());
    let mut add = added.expect("a file");
    let path = add["add"]["path"].as_str().expect("a path").to_string();
    for (version, data_change) in [(1, false), (3, true)] {
        let copy = format!("copy-{version}.parquet");
        fs::copy(bench.target().join(&path), bench.target().join(&copy)).expect("a copy");
        let mut actions = Vec::new();
        if version == 1 {
            let remove = serde_json::json!({ "path": path, "dataChange": data_change });
            actions.push(serde_json::json!({ "remove": remove }));
        }
        add["add"]["path"] = copy.into();
        add["add"]["dataChange"] = data_change.into();
        actions.push(add.clone());
        let lines: String = actions.iter().map(|action| format!("{action}\n")).collect();
        let name = format!("_delta_log/{version:020}.json");
        fs::write(bench.target().join(name), lines).expect("an entry");
        table.upsert(&record(table.schema(), 4, version + 100)).expect("it is written");
        if data_change {
            expect_whole(&bench, &table, WhyWhole::NoPosition);
        } else {
            let changes = ChangesExported::Changes { version: 2, written: 1, deleted: 0 };
            assert_eq!(bench.export(&table), changes);
            bench.expect_same(&table);
            // Readers of the change data feed see a file's old rows go, and not all of it.
            for action in entry(&bench.target(), 2) {
                for kind in ["add", "remove"].into_iter().filter_map(|kind| action.get(kind)) {
                    assert_eq!(kind["dataChange"], true, "{action}");
                }
            }
        }
    }
}

#[test]
fn a_table_whose_feed_was_switched_off_gets_it_again() {
    let (bench, table) = exported_once(KeyKind::Hash);
    let mut actions = entry(&bench.target(), 0).into_iter();
    let mut metadata = actions.find(|action| action.get("metaData").is_some()).expect("one");
    let configuration = &mut metadata["metaData"]["configuration"];
    configuration["delta.enableChangeDataFeed"] = "false".into();
    let name = format!("_delta_log/{:020}.json", 1);
    fs::write(bench.target().join(name), format!("{metadata}\n")).expect("an entry");
    expect_whole(&bench, &table, WhyWhole::SwitchedOff);
}

#[test]
fn what_cannot_be_exported_by_changes_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    let schema = Schema::build("f").key("id", Type::U64).column("_Change_Type", Type::U64);
    let schema = schema.finish().expect("a schema");
    let table = bench.db.create_table(&schema, KeyKind::Tree).expect("a table");
    let refused = bench.try_export(&table, &OPTIONS).expect_err("a name that is used");
    let why =
        "column _Change_Type has a name of change data feeds; rename it, or export all records";
    assert!(refused.to_string().ends_with(why), "{refused}");
    assert!(!bench.target().exists());

    let db = Options::new().create_new(bench.folder.path().join("plain")).expect("a database");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let refused = export_changes(&bench.location(), &db, &table, &OPTIONS, &mut |_| false);
    let refused = refused.expect_err("it keeps no changes");
    let kept = lode_arrow::Error::Lode(lode::Error::ChangesNotKept);
    assert_eq!(refused.to_string(), kept.to_string());
    assert!(!bench.target().exists());

    let (bench, table) = exported_once(KeyKind::Tree);
    let names = || {
        let entries = fs::read_dir(bench.target()).expect("a folder");
        entries.map(|entry| entry.expect("an entry").file_name()).collect::<BTreeSet<_>>()
    };
    let before = names();
    table.upsert(&record(table.schema(), 4, 100)).expect("it is written");
    for stop_after in 0..3 {
        let mut calls = 0;
        let mut stop = |_| {
            calls += 1;
            calls > stop_after
        };
        let stopped = export_changes(&bench.location(), &bench.db, &table, &OPTIONS, &mut stop);
        assert!(matches!(stopped, Err(Error::Interrupted)), "{stop_after}: {stopped:?}");
        assert_eq!(names(), before);
    }
    // Another writer comes first: what was written for the second is removed.
    let mut first = None;
    let second = export_changes(&bench.location(), &bench.db, &table, &OPTIONS, &mut |rows| {
        if rows > 0 && first.is_none() {
            first = Some(bench.export(&table));
        }
        false
    });
    let changes = ChangesExported::Changes { version: 1, written: 1, deleted: 0 };
    assert_eq!(first, Some(changes));
    assert!(matches!(second, Err(Error::Conflict { version: 1, .. })), "{second:?}");
    assert_eq!(names().len(), before.len() + 2);
    bench.expect_same(&table);
}
