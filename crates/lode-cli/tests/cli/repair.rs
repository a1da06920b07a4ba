//! Repairs: what is left of a damaged database is copied, and what is lost is named.

use std::fs;

use crate::support::Bench;

const SLOT_BYTES: usize = 16 * 1024;

/// A database of some pages, of which one is damaged.
fn damaged() -> Bench {
    let bench = Bench::with_animals();
    let line = |id: u32| format!("{{\"id\":{id},\"text\":\"cage-{id:06}\"}}\n");
    let lines: String = (0..4_000).map(line).collect();
    bench.write("lines.jsonl", &lines);
    let schema = ["--schema", "id:u64 key, text:text(60)"];
    bench.succeeds(&[&["load", "zoo", "cage", "lines.jsonl"], &schema[..]].concat());
    bench.succeeds(&["index", "create", "zoo", "animal", "by_name", "name"]);
    let mut bytes = fs::read(bench.path("zoo/data")).expect("it is there");
    let wanted = b"cage-003000";
    let found = bytes.windows(wanted.len()).position(|word| word == wanted);
    let at = found.expect("a record") / SLOT_BYTES;
    bytes[at * SLOT_BYTES + SLOT_BYTES / 2] ^= 1;
    fs::write(bench.path("zoo/data"), bytes).expect("room");
    bench
}

#[test]
fn what_is_left_is_a_database_and_what_is_lost_is_named() {
    let bench = damaged();
    let before = fs::read(bench.path("zoo/data")).expect("it is there");
    let repaired = bench.lode(&["repair", "zoo", "new/zoo"]);
    assert_eq!(repaired.code, Some(1), "{repaired:?}");
    assert!(repaired.stdout.starts_with("animal: 3 records\ncage: 3"), "{repaired:?}");
    let [page, keys, end] = repaired.stderr.lines().collect::<Vec<_>>()[..] else {
        panic!("{repaired:?}")
    };
    assert!(page.starts_with("lode: zoo: table cage: page "), "{page}");
    assert!(keys.starts_with("lode: zoo: table cage: the records from ("), "{keys}");
    assert_eq!(end, "lode: zoo: 2 losses; what is left is in new/zoo");
    let numbers = |text: &str| {
        let words = text.split(|letter: char| !letter.is_ascii_digit());
        words.filter_map(|word| word.parse().ok()).collect::<Vec<u64>>()
    };
    let [from, before_key] = numbers(keys)[..] else { panic!("{keys}") };
    assert!((from..before_key).contains(&3_000), "{keys}");
    let left = bench.succeeds(&["dump", "new/zoo", "cage"]);
    let left: Vec<u64> = left.lines().map(|line| numbers(line)[0]).collect();
    let wanted = (0..4_000).filter(|id| !(from..before_key).contains(id));
    assert_eq!(left, wanted.collect::<Vec<_>>());
    assert!(bench.succeeds(&["check", "new/zoo"]).ends_with("no faults found\n"));
    assert!(bench.succeeds(&["index", "list", "new/zoo"]).contains("by_name"));
    assert!(fs::read(bench.path("zoo/data")).expect("it is there") == before, "it is only read");
    assert_eq!(bench.list("new"), ["zoo"]);
}

#[test]
fn a_whole_database_loses_nothing() {
    let bench = Bench::with_animals();
    let said = bench.succeeds(&["repair", "zoo", "new"]);
    assert_eq!(said, "animal: 3 records\nnothing is lost\n");
    let dump = bench.succeeds(&["dump", "zoo", "animal"]);
    assert_eq!(bench.succeeds(&["dump", "new", "animal"]), dump);
}

#[test]
fn a_directory_of_something_else_takes_no_repair() {
    let bench = damaged();
    fs::create_dir(bench.path("taken")).expect("a directory");
    bench.write("taken/letter", "dear");
    let none = "there is no database; name the directory of one, or make one with \
                lode load --schema or lode sql --create";
    bench.refuses(&["repair", "taken", "new"], 2, &format!("taken: {none}"));
    bench.refuses(&["repair", "nosuch", "new"], 2, &format!("nosuch: {none}"));
    let inside = "zoo/new: this is inside the database; choose another directory";
    bench.refuses(&["repair", "zoo", "zoo/new"], 2, inside);
    let files = "zoo: create taken: the directory has files; choose another one";
    bench.refuses(&["repair", "zoo", "taken"], 3, files);
    assert_eq!(bench.list("taken"), ["letter"]);
    bench.lode(&["repair", "zoo", "new"]);
    let exists = "there is a database in new already; open it, or choose another directory";
    bench.refuses(&["repair", "zoo", "new"], 2, exists);
    fs::remove_file(bench.path("zoo/data")).expect("it is there");
    let why = "the directory is corrupt: file data is missing, and there are log segments; restore \
               the database from a copy, or repair it";
    bench.refuses(&["repair", "zoo", "other"], 1, &format!("zoo: {why}"));
    assert!(!bench.path("other").exists());
}
