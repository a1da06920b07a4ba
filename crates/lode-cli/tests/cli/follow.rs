//! Copies that follow a database: `lode follow`.
//!
//! One test kills the process that writes and the one that follows, at any moment. Then the test
//! runs itself again as the writer.

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use lode::{Alteration, Database, Durability, IndexSchema, KeyKind, Options, Schema, Type, Value};

use crate::support::{Bench, close, start};

/// Set for the writer only: the directory, and the number of its first step.
const WRITER: &str = "LODE_FOLLOWED_WRITER";

/// Returns the dumps of all tables of a database but the one with the position.
fn dumps(bench: &Bench, name: &str) -> Vec<(String, String)> {
    let schemas = bench.succeeds(&["schema", name]);
    let tables = schemas.lines().filter(|line| !line.starts_with("\"followed position\""));
    let dump = |schema: &str| {
        let table = schema.split('\t').next().expect("a name");
        (schema.into(), bench.succeeds(&["dump", name, table]))
    };
    tables.map(dump).collect()
}

fn expect_copy(bench: &Bench) {
    bench.succeeds(&["follow", "zoo", "copy", "--once"]);
    assert_eq!(dumps(bench, "copy"), dumps(bench, "zoo"));
    assert_eq!(
        bench.succeeds(&["index", "list", "copy"]),
        bench.succeeds(&["index", "list", "zoo"])
    );
    let checked = bench.succeeds(&["check", "copy"]);
    assert!(checked.ends_with("no faults found\n"), "{checked}");
}

fn kept() -> Bench {
    let bench = Bench::with_animals();
    bench.succeeds(&["changes", "zoo", "--keep", "64M"]);
    bench
}

#[test]
fn a_copy_has_what_the_database_has_after_changes_of_all_kinds() {
    let bench = kept();
    expect_copy(&bench);
    let more =
        "{\"id\":2,\"name\":\"Bob\",\"tag\":null}\n{\"id\":9,\"name\":\"Jo\",\"tag\":null}\n";
    bench.feeds(&["load", "zoo", "animal", "--replace"], more);
    bench.feeds(&["load", "zoo", "plant", "--schema", "id:u8 key, n:u8"], "{\"id\":1,\"n\":1}\n");
    bench.succeeds(&["index", "create", "zoo", "plant", "by_n", "n", "--unique"]);
    expect_copy(&bench);
    let db = bench.open("zoo");
    let plants = db.table("plant").expect("it is there");
    let plant = |id, n| plants.schema().pack(&[Value::Unsigned(id), Value::Unsigned(n)]);
    plants.insert(&plant(2, 2).expect("it fits")).expect("there is room");
    // Two plants swap what is unique.
    let transaction = db.begin();
    for id in [1, 2] {
        transaction.delete(&plants, id).expect("it is there");
    }
    for (id, n) in [(1, 2), (2, 1)] {
        transaction.insert(&plants, &plant(id, n).expect("it fits")).expect("there is room");
    }
    transaction.commit().expect("nobody else writes");
    close(db);
    expect_copy(&bench);
    let db = bench.open("zoo");
    let more =
        Alteration::new().add_column("more", Type::U8, Value::Unsigned(3)).rename_table("tree");
    db.alter_table("plant", &more).expect("it can be altered");
    db.clear_table("animal").expect("it can be cleared");
    db.table("tree").and_then(|trees| trees.delete(1)).expect("it is there");
    close(db);
    expect_copy(&bench);
    bench.succeeds(&["drop", "zoo", "tree"]);
    expect_copy(&bench);
    // A copy of the copy.
    bench.succeeds(&["changes", "copy", "--keep", "1M"]);
    bench.succeeds(&["follow", "copy", "second", "--once"]);
    assert_eq!(dumps(&bench, "second"), dumps(&bench, "zoo"));
}

#[test]
fn a_renamed_table_is_renamed_in_the_copy_which_is_not_made_anew() {
    let bench = kept();
    bench.succeeds(&["index", "create", "zoo", "animal", "by_name", "name"]);
    expect_copy(&bench);
    // A new copy would not have it.
    bench.feeds(&["load", "copy", "mine", "--schema", "id:u8 key"], "{\"id\":1}\n");
    let db = bench.open("zoo");
    let exchanged = Alteration::new()
        .rename_column("name", "between")
        .rename_column("tag", "name")
        .rename_column("between", "tag")
        .rename_table("beast");
    db.alter_table("animal", &exchanged).expect("it can be altered");
    close(db);
    bench.feeds(&["load", "zoo", "beast"], "{\"id\":7,\"tag\":\"Gil\",\"name\":null}\n");
    bench.succeeds(&["follow", "zoo", "copy", "--once"]);
    assert_eq!(bench.succeeds(&["dump", "copy", "mine"]), "{\"id\":1}\n");
    bench.succeeds(&["drop", "copy", "mine"]);
    expect_copy(&bench);
    let columns = bench.succeeds(&["index", "list", "copy", "beast"]);
    assert!(columns.contains("tag"), "{columns}");
}

#[test]
fn a_database_that_is_no_copy_is_not_touched() {
    let bench = kept();
    bench.succeeds(&["backup", "zoo", "copy"]);
    let refused =
        "copy: this database is no copy that lode follow has made; choose an empty directory";
    bench.refuses(&["follow", "zoo", "copy", "--once"], 2, refused);
    // Had it been opened for writing, it were no backup any more.
    bench.succeeds(&["backup", "zoo", "copy"]);
}

#[test]
fn a_copy_that_cannot_continue_is_made_anew_only_if_that_is_asked_for() {
    let bench = kept();
    expect_copy(&bench);
    bench.succeeds(&["changes", "zoo", "--keep", "0"]);
    bench.refuses(
        &["follow", "zoo", "other"],
        3,
        "zoo: the database keeps no changes; have it keep them (`keep_changes`, or `lode changes \
         --keep`), and take those from then on",
    );
    assert_eq!(bench.list("."), ["copy", "zoo"], "no copy is started");
    bench.feeds(&["load", "zoo", "animal"], "{\"id\":7,\"name\":\"Gil\",\"tag\":null}\n");
    bench.succeeds(&["changes", "zoo", "--keep", "1M"]);
    let refused = bench.lode(&["follow", "zoo", "copy", "--once"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("are not kept any more"), "{refused:?}");
    assert!(refused.stderr.ends_with("--anew makes a new copy\n"), "{refused:?}");
    bench.succeeds(&["follow", "zoo", "copy", "--once", "--anew"]);
    expect_copy(&bench);
    let inside = "zoo/copy: this is inside the database; choose another directory";
    bench.refuses(&["follow", "zoo", "zoo/copy"], 2, inside);
    std::fs::create_dir(bench.path("taken")).expect("a directory");
    bench.write("taken/letter", "dear");
    bench.refuses(
        &["follow", "zoo", "taken"],
        2,
        "taken: there are other files in this directory; choose an empty or a new one",
    );
    assert_eq!(bench.list("taken"), ["letter"]);
    bench.refuses(
        &["follow", "copy", "zoo"],
        3,
        "copy: the database keeps no changes; have it keep them (`keep_changes`, or `lode changes \
         --keep`), and take those from then on",
    );
    bench.succeeds(&["changes", "copy", "--keep", "1M"]);
    bench.refuses(
        &["follow", "copy", "zoo"],
        2,
        "zoo: this database is no copy that lode follow has made; choose an empty directory",
    );
}

/// Writes until it is killed.
fn write_until_killed(path: &str, first: u64) {
    let options = Options::new().memory_bytes(4 << 20).segment_bytes(1 << 17).keep_changes(1 << 30);
    let db = options.log_bytes(1 << 20).durability(Durability::Process).open(path);
    let db = db.expect("it can be opened");
    for step in first.. {
        write(&db, step);
        // Not more than is kept, however long the test takes.
        if step % 5 == 0 {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

fn write(db: &Database, step: u64) {
    let schema = Schema::build("number").key("id", Type::U64).column("n", Type::U64);
    let schema = schema.column("text", Type::VarText(3_000)).finish().expect("a schema");
    let by_n = IndexSchema::new("by_n", ["n"]).unique();
    let table = match db.table("number") {
        Ok(table) => table,
        Err(_) => db.create_indexed_table(&schema, KeyKind::Tree, &[by_n]).expect("a table"),
    };
    let text = "text ".repeat(step as usize * 31 % 600);
    let record = |id: u64, n: u64| {
        let values = [Value::Unsigned(id), Value::Unsigned(n), Value::Text(&text)];
        table.schema().pack(&values).expect("it fits")
    };
    match step % 50 {
        // All records move, whose values are unique.
        49 => {
            let transaction = db.begin();
            for id in 0..20 {
                transaction.delete(&table, id).expect("it can be written");
            }
            for id in 0..20 {
                let moved = record(id, 1_000 + (id + step) % 20);
                transaction.insert(&table, &moved).expect("it can be written");
            }
            transaction.commit().expect("nobody else writes");
        }
        48 if step % 1_000 == 548 => {
            db.clear_table("number").expect("it can be cleared");
        }
        // Nothing is written there again that a copy has missed.
        0 | 10 | 20 | 30 => {
            let id = 1_000_000 + step;
            table.insert(&record(id, id)).expect("it can be written");
        }
        7 => {
            table.delete(20 + step % 40).expect("it can be deleted");
        }
        _ => {
            let id = 20 + step * 7 % 40;
            table.upsert(&record(id, id)).expect("it can be written");
        }
    }
}

fn writer(bench: &Bench, round: u64) -> Child {
    let program = std::env::current_exe().expect("it is known");
    let mut command = Command::new(program);
    command.args(["follow::a_copy_is_whole_however_often_either_side_is_killed", "--exact"]);
    let path = bench.path("zoo");
    command.env(WRITER, format!("{} {}", round * 1_000_000, path.display()));
    start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()))
}

#[test]
fn a_copy_is_whole_however_often_either_side_is_killed() {
    if let Ok(text) = std::env::var(WRITER) {
        let (first, path) = text.split_once(' ').expect("two parts");
        return write_until_killed(path, first.parse().expect("a number"));
    }
    let rounds = if std::env::var_os("LODE_THOROUGH").is_some() { 60 } else { 8 };
    let bench = kept();
    let mut writer_of_now = writer(&bench, 0);
    let mut follower = start(&mut bench.command(&["follow", "zoo", "copy"]));
    for round in 1..=rounds {
        std::thread::sleep(Duration::from_millis(200 + round * 97 % 500));
        // One of them, or both.
        if round % 3 != 0 {
            follower.kill().expect("it was started");
            follower.wait().expect("it has ended");
            follower = start(&mut bench.command(&["follow", "zoo", "copy"]));
        }
        if round % 3 != 1 {
            writer_of_now.kill().expect("it was started");
            writer_of_now.wait().expect("it has ended");
            writer_of_now = writer(&bench, round);
        }
    }
    for mut child in [writer_of_now, follower] {
        child.kill().expect("it was started");
        child.wait().expect("it has ended");
    }
    let changes = bench.succeeds(&["changes", "zoo"]);
    assert!(changes.lines().count() > 100, "the writer wrote");
    expect_copy(&bench);
}
