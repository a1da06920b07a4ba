//! Delta tables in folders: `lode export --delta` and `lode import --delta`.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use lode::{KeyKind, Schema, Type, Value};
use lode_arrow::Scan;
use lode_delta::{DeltaTable, Error, ExportOptions, Location, export};

use crate::support::{Bench, close, end, start};

fn rows_of(table: &DeltaTable) -> usize {
    table.batches().map(|batch| batch.expect("a batch").num_rows()).sum()
}

fn open(bench: &Bench, name: &str) -> lode_delta::Result<DeltaTable> {
    let path = bench.path(name);
    DeltaTable::open(&Location::parse(path.to_str().expect("a plain name")).expect("a folder"))
}

/// The files of a table, without its log.
fn data_files(bench: &Bench, name: &str) -> Vec<String> {
    let names = bench.list(name);
    names.into_iter().filter(|name| name.ends_with(".parquet")).collect()
}

#[test]
fn every_export_is_a_version_that_replaces_the_one_before() {
    let bench = Bench::with_animals();
    let export = ["export", "zoo", "animal", "--delta", "farm/animal"];
    assert_eq!(bench.succeeds(&export), "3 records exported in 1 file as version 0\n");
    bench.feeds(&["load", "zoo", "animal"], "{\"id\":9,\"name\":\"Di\",\"tag\":null}\n");
    assert_eq!(bench.succeeds(&export), "4 records exported in 1 file as version 1\n");
    assert_eq!(data_files(&bench, "farm/animal").len(), 2);
    let table = open(&bench, "farm/animal").expect("a table");
    assert_eq!((table.version(), table.rows(), rows_of(&table)), (1, Some(4), 4));
    let imported = bench.succeeds(&["import", "copy", "animal", "--delta", "farm/animal"]);
    assert_eq!(imported, "4 records imported\n");
    assert_eq!(bench.succeeds(&["schema", "copy"]), bench.succeeds(&["schema", "zoo"]));
    let dumps = ["copy", "zoo"].map(|db| bench.succeeds(&["dump", db, "animal"]));
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn a_version_by_changes_adds_only_what_changed() {
    let bench = Bench::with_animals();
    let export = ["export", "zoo", "animal", "--delta", "farm", "--changes"];
    let line = "zoo: the database keeps no changes; have it keep them (`keep_changes`, or `lode \
                changes --keep`), and take those from then on";
    bench.refuses(&export, 3, line);
    assert!(!bench.path("farm").exists());
    bench.succeeds(&["changes", "zoo", "--keep", "8M"]);
    assert_eq!(bench.succeeds(&export), "3 records exported in 1 file as version 0\n");
    // A writer that changes nothing is no change.
    bench.succeeds(&["sql", "zoo", "SELECT 1"]);
    assert_eq!(bench.succeeds(&export), "nothing has changed since version 0\n");
    let lines =
        "{\"id\":9,\"name\":\"Di\",\"tag\":null}\n{\"id\":2,\"name\":\"Bob\",\"tag\":null}\n";
    bench.feeds(&["load", "zoo", "animal", "--replace"], lines);
    bench.succeeds(&["sql", "zoo", "DELETE FROM animal WHERE id = 1"]);
    assert_eq!(bench.succeeds(&export), "2 records written and 1 deleted as version 1\n");
    assert_eq!(data_files(&bench, "farm").len(), 2);
    let table = open(&bench, "farm").expect("a table");
    assert_eq!((table.version(), table.rows(), rows_of(&table)), (1, Some(3), 3));
    bench.succeeds(&["import", "copy", "animal", "--delta", "farm"]);
    let dumps = ["copy", "zoo"].map(|db| bench.succeeds(&["dump", db, "animal"]));
    assert_eq!(dumps[0], dumps[1]);

    // The other export takes the place of all versions, and leaves the table as it can be read.
    let whole = ["export", "zoo", "animal", "--delta", "farm"];
    assert_eq!(bench.succeeds(&whole), "3 records exported in 1 file as version 2\n");
    assert_eq!(
        bench.succeeds(&export),
        "3 records exported in 1 file as version 3; all of them, since the version before is not \
         of an export of this table's changes\n"
    );
    bench.succeeds(&["sql", "zoo", "ALTER TABLE animal ADD COLUMN age INTEGER"]);
    let refused = bench.lode(&export);
    assert_eq!(refused.code, Some(2));
    let line = "lode: farm: there is a Delta table with other columns: ";
    assert!(refused.stderr.starts_with(line), "{}", refused.stderr);
    for (more, line) in [
        (
            &["animal", "a.csv", "--changes"][..],
            "lode: --changes is for Delta tables; name one by --delta",
        ),
        (
            &["animal", "--delta", "farm", "--changes", "--limit", "2"],
            "the argument '--changes' cannot be used with '--limit <RECORDS>'",
        ),
    ] {
        let refused = bench.lode(&[&["export", "zoo"], more].concat());
        assert_eq!(refused.code, Some(2));
        assert!(refused.stderr.contains(line), "{}", refused.stderr);
    }
}

#[test]
fn every_type_and_every_null_comes_back() {
    let bench = Bench::new();
    let types = "u8 u16 u32 u64 i8 i16 i32 i64 f32 f64 bool timestamp text(9) bytes(2) vartext(99) \
                 varbytes(99)";
    let columns = types.split(' ').map(|kind| format!("\"{kind}\":{kind}, \"{kind}?\":{kind}?"));
    let schema = format!("id:u64 key, {}", columns.collect::<Vec<_>>().join(", "));
    let lows = "0 0 0 0 -128 -32768 -2147483648 -9223372036854775808 -3.4028235e38 \"NaN\" false \
                -9223372036854775808 \"\" {\"hex\":\"0000\"} \"\" {\"hex\":\"\"}";
    let highs = "255 65535 4294967295 18446744073709551615 127 32767 2147483647 \
                 9223372036854775807 \"-inf\" 5e-324 true 9223372036854775807 \"ä\\u0000z\" \
                 {\"hex\":\"ff00\"} \"\\n\" {\"hex\":\"00c3\"}";
    let line = |id: u64, values: &str, has_nulls: bool| {
        let members = types.split(' ').zip(values.split_whitespace()).map(|(kind, value)| {
            let other = if has_nulls { "null" } else { value };
            format!("\"{kind}\":{value},\"{kind}?\":{other}")
        });
        format!("{{\"id\":{id},{}}}\n", members.collect::<Vec<_>>().join(","))
    };
    let lines = [line(0, lows, false), line(1, highs, false), line(u64::MAX, lows, true)].concat();
    bench.feeds(&["load", "db", "all", "--schema", &schema], &lines);
    bench.succeeds(&["export", "db", "all", "--delta", "all"]);
    bench.succeeds(&["import", "copy", "all", "--delta", "all"]);
    assert_eq!(bench.succeeds(&["dump", "copy", "all"]), lines);
    assert_eq!(bench.succeeds(&["schema", "copy"]), bench.succeeds(&["schema", "db"]));
}

#[test]
fn what_cannot_be_is_one_line_and_leaves_nothing() {
    let bench = Bench::with_animals();
    bench.succeeds(&["export", "zoo", "animal", "--delta", "farm"]);
    bench.write("file", "mine\n");
    bench.with_numbers("db", KeyKind::Hash, 10);
    let before = bench.list("farm");
    for (args, code, line) in [
        (
            &["export", "db", "number", "--delta", "farm"][..],
            2,
            "farm: there is a Delta table with other columns: id:decimal(20,0), name:string, \
             tag:binary?, and not id:decimal(20,0), square:decimal(20,0)",
        ),
        (
            &["export", "zoo", "animal", "--delta", "zoo/farm"],
            2,
            "zoo/farm: this is inside the database; choose another directory",
        ),
        (
            &["export", "zoo", "animal", "--delta", "file"],
            2,
            "file: this is a file; name the folder of a table",
        ),
        (
            &["export", "zoo", "animal", "--delta", "gs://farm/animal"],
            2,
            "gs://farm/animal: there are no tables at gs://; name a folder, or s3://…",
        ),
        (&["import", "new", "animal", "--delta", "nowhere"], 2, "nowhere: there is no Delta table"),
        (&["import", "new", "animal", "--delta", "db"], 2, "db: there is no Delta table"),
        (
            &["import", "db", "number", "--delta", "farm", "--replace"],
            1,
            "farm: there is no column square, which cannot be null; columns are id, name, tag",
        ),
    ] {
        bench.refuses(args, code, line);
    }
    assert_eq!(bench.list("farm"), before);
    assert_eq!(bench.list("."), ["db", "farm", "file", "zoo"]);
    let missing = ["export", "zoo", "nosuch", "--delta", "new/farm"];
    bench.refuses(&missing, 2, "zoo: there is no table nosuch; the only one is animal");
    assert!(!bench.path("new").exists());
}

#[test]
fn a_table_that_is_damaged_is_refused_before_anything_is_imported() {
    let bench = Bench::with_animals();
    bench.succeeds(&["export", "zoo", "animal", "--delta", "farm"]);
    let file = data_files(&bench, "farm").remove(0);
    let path = bench.path("farm").join(&file);
    let content = fs::read(&path).expect("it is there");
    fs::write(&path, &content[..content.len() / 2]).expect("it is written");
    let args = ["import", "new", "animal", "--delta", "farm"];
    let damaged = "farm: the Delta table is damaged";
    let half = content.len() / 2;
    let whole = content.len();
    let why = format!("it has {half} bytes and not {whole}");
    bench.refuses(&args, 1, &format!("{damaged}: file {file}: {why}"));
    fs::remove_file(&path).expect("it is there");
    bench.refuses(&args, 1, &format!("{damaged}: file {file}: it is not there"));
    let entry = "_delta_log/00000000000000000000.json";
    fs::write(bench.path("farm").join(entry), "{\"add\":7}").expect("it is written");
    let ended = bench.lode(&args);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with(&format!("lode: {damaged}: {entry}: ")), "{}", ended.stderr);
    assert_eq!(ended.stderr.lines().count(), 1);
    assert_eq!(bench.list("."), ["farm", "zoo"]);
}

#[test]
fn of_two_writers_the_second_is_refused_and_leaves_nothing() {
    let bench = Bench::with_animals();
    let db = bench.open("zoo");
    let table = db.table("animal").expect("it is there");
    let location = bench.path("farm");
    let location = Location::parse(location.to_str().expect("a plain name")).expect("a folder");
    let options = ExportOptions::default();
    for version in 0..2 {
        let mut first = None;
        let second = export(&location, Scan::of(&table), &options, &mut |_| {
            first = Some(export(&location, Scan::of(&table), &options, &mut |_| false));
            false
        });
        let first = first.expect("it ran").expect("it was first");
        assert_eq!((first.version, first.rows), (version, 3));
        let refused = second.expect_err("it was second");
        assert!(matches!(refused, Error::Conflict { version: other, .. } if other == version));
        assert_eq!(data_files(&bench, "farm").len() as u64, version + 1);
    }
    let stopped = export(&location, Scan::of(&table), &options, &mut |_| true);
    assert!(matches!(stopped, Err(Error::Interrupted)));
    assert_eq!(data_files(&bench, "farm").len(), 2);
    close(db);
}

#[test]
fn files_are_ranges_of_the_key() {
    let bench = Bench::new();
    let db = bench.open("db");
    let schema = Schema::build("t").key("id", Type::I64).column("text", Type::VarText(99));
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let text = "a text that is different in each row: ".to_string();
    for id in 0..50_000i64 {
        let text = format!("{text}{:x}", id.wrapping_mul(0x1e37_79b9_7f4a_7c15));
        let record = schema.pack(&[Value::Signed(id), Value::Text(&text)]);
        table.insert(&record.expect("it fits")).expect("there is room");
    }
    let path = bench.path("out");
    let location = Location::parse(path.to_str().expect("a plain name")).expect("a folder");
    let options = ExportOptions { file_bytes: 200_000, ..ExportOptions::default() };
    let done = export(&location, Scan::of(&table), &options, &mut |_| false).expect("exported");
    assert!(done.files > 3, "{done:?}");
    let log = bench.read("out/_delta_log/00000000000000000000.json");
    let mut next = 0;
    for line in log.lines().filter(|line| line.starts_with("{\"add\"")) {
        let action: serde_json::Value = serde_json::from_str(line).expect("JSON");
        let stats = action["add"]["stats"].as_str().expect("statistics");
        let stats: serde_json::Value = serde_json::from_str(stats).expect("JSON");
        assert_eq!(stats["minValues"]["id"], next, "{stats}");
        assert_eq!(stats["nullCount"]["text"], 0);
        next = stats["maxValues"]["id"].as_i64().expect("a number") + 1;
    }
    assert_eq!(next, 50_000);
    let table = DeltaTable::open(&location).expect("a table");
    assert_eq!((rows_of(&table), table.rows()), (50_000, Some(50_000)));
    close(db);
}

/// The moments at which exports are killed, as shares of the time that one takes, by a seed.
fn moments(seed: u64) -> impl Iterator<Item = f64> {
    let mut state = seed;
    std::iter::repeat_with(move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1u64 << 53) as f64
    })
}

#[test]
fn a_reader_sees_a_whole_version_whenever_the_writer_is_killed() {
    const KILLS: usize = 50;
    let bench = Bench::new();
    bench.with_numbers("db", KeyKind::Tree, 30_000);
    bench.with_numbers("half", KeyKind::Tree, 15_000);
    let begun = std::time::Instant::now();
    bench.succeeds(&["export", "db", "number", "--delta", "out"]);
    let whole = begun.elapsed();
    let mut versions = BTreeSet::from([0]);
    let mut rows = 30_000;
    for (round, share) in moments(22).take(KILLS).enumerate() {
        let db = ["half", "db"][round % 2];
        let wanted = [15_000, 30_000][round % 2];
        let mut child = start(&mut bench.command(&["export", db, "number", "--delta", "out"]));
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * share));
        child.kill().expect("it is ours");
        end(child);
        let table = open(&bench, "out").expect("there is a whole version");
        let found = rows_of(&table);
        assert_eq!(table.rows(), Some(found as u64));
        if versions.insert(table.version()) {
            rows = wanted
        } else {
            assert_eq!(found, rows, "nothing was committed in round {round}")
        }
        assert_eq!(found, rows, "round {round}");
    }
    // What was left by those that were killed is in the way of none.
    bench.succeeds(&["export", "half", "number", "--delta", "out"]);
    assert_eq!(rows_of(&open(&bench, "out").expect("a table")), 15_000);
}

#[test]
fn a_version_by_changes_is_whole_whenever_its_writer_is_killed() {
    const KILLS: usize = 40;
    let bench = Bench::new();
    bench.with_numbers("db", KeyKind::Tree, 20_000);
    bench.succeeds(&["changes", "db", "--keep", "8M"]);
    let export = ["export", "db", "number", "--delta", "out", "--changes"];
    bench.succeeds(&export);
    let write = |id: u64| {
        let line =
            format!("{{\"id\":{id},\"square\":0}}\n{{\"id\":{},\"square\":1}}\n", id + 30_000);
        bench.feeds(&["load", "db", "number", "--replace"], &line);
    };
    write(7);
    let begun = std::time::Instant::now();
    bench.succeeds(&export);
    let whole = begun.elapsed();
    let mut versions = BTreeSet::from([1]);
    let mut rows = 20_001;
    for (round, share) in moments(31).take(KILLS).enumerate() {
        write(100 + round as u64);
        let mut child = start(&mut bench.command(&export));
        std::thread::sleep(Duration::from_secs_f64(whole.as_secs_f64() * 1.2 * share));
        child.kill().expect("it is ours");
        end(child);
        let table = open(&bench, "out").expect("there is a whole version");
        if versions.insert(table.version()) {
            rows = 20_002 + round;
        }
        assert_eq!(table.rows(), Some(rows as u64), "round {round}");
        assert_eq!(rows_of(&table), rows, "round {round}");
    }
    bench.succeeds(&export);
    bench.succeeds(&["import", "copy", "number", "--delta", "out"]);
    let dumps = ["copy", "db"].map(|db| bench.succeeds(&["dump", db, "number"]));
    assert_eq!(dumps[0], dumps[1]);
}

#[test]
fn a_nested_column_may_be_left_out() {
    let bench = Bench::with_animals();
    bench.succeeds(&["export", "zoo", "animal", "--delta", "farm"]);
    let entry = "farm/_delta_log/00000000000000000000.json";
    // The schema is text in text.
    let id = r#"{\"name\":\"id\""#;
    let nested = r#"{\"name\":\"more\",\"type\":{\"type\":\"array\",\"elementType\":\"long\","#;
    let rest = r#"\"containsNull\":true},\"nullable\":true,\"metadata\":{}},"#;
    let log = bench.read(entry);
    assert!(log.contains(id), "{log}");
    bench.write(entry, &log.replacen(id, &format!("{nested}{rest}{id}"), 1));
    let import = ["import", "copy", "animal", "--delta", "farm"];
    let ended = bench.lode(&import);
    assert!(ended.stderr.starts_with("lode: farm: the Delta table has column more of type"));
    let some = |columns: &'static str| [&import[..], &["--columns", columns]].concat();
    assert_eq!(bench.succeeds(&some("name,id")), "3 records imported\n");
    let lines =
        "{\"id\":1,\"name\":\"Ada\"}\n{\"id\":2,\"name\":\"Bo\"}\n{\"id\":3,\"name\":\"Cé\"}\n";
    assert_eq!(bench.succeeds(&["dump", "copy", "animal"]), lines);
    let line = "farm: there is no column age; columns are more, id, name, tag";
    bench.refuses(&some("id,age"), 1, line);
}
