//! Files of columns: `lode export` and `lode import`.

use std::fs;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use lode::KeyKind;

use crate::support::{ANIMALS, Bench, end, start};

const FILES: [&str; 4] = ["out.parquet", "out.arrow", "out.feather", "out.csv"];

#[test]
fn an_export_is_imported_as_it_was() {
    for file in FILES {
        let bench = Bench::with_animals();
        let lines = bench.succeeds(&["dump", "zoo", "animal"]);
        assert_eq!(bench.succeeds(&["export", "zoo", "animal", file]), "3 records exported\n");
        let mut args = vec!["import", "copy", "animal", file];
        if file.ends_with("csv") {
            args.extend(["--schema", ANIMALS]);
        }
        assert_eq!(bench.succeeds(&args), "3 records imported\n");
        assert_eq!(bench.succeeds(&["dump", "copy", "animal"]), lines, "{file}");
        assert_eq!(
            bench.succeeds(&["schema", "copy"]),
            bench.succeeds(&["schema", "zoo"]),
            "{file}"
        );
        assert_eq!(bench.list("."), ["copy", file, "zoo"]);
    }
}

#[test]
fn columns_limit_and_format_are_as_said() {
    let bench = Bench::with_animals();
    let args = ["export", "zoo", "animal", "names", "--format", "csv", "--columns", "name,id"];
    bench.succeeds(&[&args[..], &["--limit", "2"]].concat());
    assert_eq!(bench.read("names"), "name,id\nAda,1\nBo,2\n");
    bench.succeeds(&["export", "zoo", "animal", "all.csv"]);
    assert_eq!(bench.read("all.csv"), "id,name,tag\n1,Ada,00ff\n2,Bo,\n3,Cé,\n");
    for codec in ["none", "snappy", "lz4", "zstd"] {
        let args = ["export", "zoo", "animal", "a.parquet", "--row-group", "2", "--compression"];
        bench.succeeds(&[&args[..], &[codec]].concat());
        bench.succeeds(&["import", "copy", codec, "a.parquet"]);
    }
    bench.refuses(
        &["export", "zoo", "animal", "a.csv", "--compression", "lz4"],
        2,
        "a.csv: CSV has no compression lz4",
    );
    let kinds = bench.succeeds(&["import", "hashed", "animal", "a.parquet", "--kind", "hash"]);
    assert_eq!(kinds, "3 records imported\n");
    assert!(bench.succeeds(&["schema", "hashed"]).starts_with("animal\thash\t"));
}

#[test]
fn keys_that_are_there_stop_it_unless_it_is_said_what_to_do() {
    let bench = Bench::with_animals();
    bench.succeeds(&["export", "zoo", "animal", "all.parquet"]);
    bench.write("new.csv", "id,name\n0,Zoe\n2,New\n");
    let there = "there is a record with this key already; --replace overwrites such records, \
                 --skip leaves them";
    bench.refuses(
        &["import", "zoo", "animal", "all.parquet"],
        1,
        &format!("all.parquet: row 1: {there}; nothing was imported"),
    );
    bench.refuses(
        &["import", "zoo", "animal", "new.csv"],
        1,
        &format!("new.csv: row 2: {there}; 1 record before was imported, and stays"),
    );
    let skipped = bench.succeeds(&["import", "zoo", "animal", "new.csv", "--skip"]);
    assert_eq!(skipped, "0 records imported, 2 skipped\n");
    let replaced = bench.succeeds(&["import", "zoo", "animal", "new.csv", "--replace"]);
    assert_eq!(replaced, "2 records imported, 2 of them replaced others\n");
}

#[test]
fn nothing_is_left_of_an_import_that_does_not_fit() {
    let bench = Bench::with_animals();
    bench.succeeds(&["export", "zoo", "animal", "all.parquet"]);
    let whole = fs::read(bench.path("all.parquet")).expect("it is there");
    fs::write(bench.path("cut.parquet"), &whole[..whole.len() - 100]).expect("it is written");
    fs::create_dir(bench.path("folder.arrow")).expect("a directory");
    bench.write("wrong.csv", "id,name,tag\n7,Gus,\n8,Hal,zz\n");
    bench.write("twice.csv", "id,name,tag\n7,Gus,\n7,Gus,\n");
    bench.write("other.csv", "id,nom\n7,Gus\n");
    bench.write("plain", "");
    let why = "Invalid Parquet file. Corrupt footer";
    for (file, code, line) in [
        ("cut.parquet", 1, &*format!("cut.parquet: {why}")),
        ("wrong.csv", 1, "wrong.csv: line 3: column tag (bytes(2)) cannot hold zz"),
        (
            "other.csv",
            1,
            "other.csv: there is no column name, which cannot be null; columns are id, nom",
        ),
        (
            "plain",
            2,
            "plain: the name does not end in .parquet, .arrow, .ipc, .feather or .csv; --format \
             says what it is",
        ),
        ("nosuch.csv", 3, "nosuch.csv: No such file or directory (os error 2)"),
        ("folder.arrow", 2, "folder.arrow: this is a directory, not a file"),
    ] {
        bench.refuses(&["import", "zoo", "animal", file], code, line);
        bench.refuses(&["import", "new", "animal", file, "--schema", ANIMALS], code, line);
    }
    bench.refuses(
        &["import", "new", "animal", "twice.csv", "--schema", ANIMALS],
        1,
        "twice.csv: row 2: there is a record with this key already; --replace overwrites such \
         records, --skip leaves them; nothing was imported",
    );
    bench.refuses(
        &["import", "zoo", "copy", "twice.csv", "--schema", ANIMALS],
        1,
        "twice.csv: row 2: there is a record with this key already; --replace overwrites such \
         records, --skip leaves them; nothing was imported",
    );
    assert!(!bench.path("new").exists());
    assert_eq!(bench.succeeds(&["check", "zoo"]), "animal: tree, 3 records\nno faults found\n");
}

#[test]
fn what_a_new_table_needs_is_asked_for() {
    let bench = Bench::with_animals();
    let args = ["export", "zoo", "animal", "some.parquet", "--columns", "name,tag"];
    bench.succeeds(&args);
    bench.refuses(
        &["import", "new", "animal", "some.parquet"],
        2,
        "some.parquet: it does not say which columns are the key of a new table; --key names them",
    );
    bench.refuses(
        &["import", "new", "animal", "some.parquet", "--key", "id"],
        1,
        "some.parquet: there is no column id, which cannot be null; columns are name, tag",
    );
    bench.succeeds(&["import", "new", "animal", "some.parquet", "--key", "name"]);
    let schema = bench.succeeds(&["schema", "new"]);
    assert_eq!(schema, "animal\ttree\tname:text(32) key, tag:bytes(2)?\n");
    bench.write("a.csv", "id\n1\n");
    bench.refuses(
        &["import", "newer", "animal", "a.csv", "--key", "id"],
        2,
        "a.csv: CSV does not say of which types its columns are; --schema does",
    );
    bench.refuses(
        &["import", "zoo", "animal", "a.csv", "--schema", "id:u8 key"],
        2,
        "--schema: table animal is there already, and has other columns: id:u64 key, \
         name:text(32), tag:bytes(2)?",
    );
    assert_eq!(bench.list("."), ["a.csv", "new", "some.parquet", "zoo"]);
}

#[test]
fn an_export_goes_to_no_other_place() {
    let bench = Bench::with_animals();
    for (args, code, line) in [
        (
            vec!["animal", "zoo/a.csv"],
            2,
            "zoo/a.csv: this is inside the database; choose another \
                                          directory",
        ),
        (vec!["animal", "no/a.csv"], 3, "no/a.csv: No such file or directory (os error 2)"),
        (vec!["nosuch", "a.csv"], 2, "zoo: there is no table nosuch; the only one is animal"),
        (
            vec!["animal", "a.csv", "--columns", "id,age"],
            2,
            "zoo: table animal: there is no column age",
        ),
    ] {
        bench.refuses(&[&["export", "zoo"], &args[..]].concat(), code, line);
    }
    assert_eq!(bench.list("."), ["zoo"]);
}

#[test]
fn an_interrupted_export_leaves_what_was_there() {
    let bench = Bench::new();
    bench.with_numbers("db", KeyKind::Tree, 200_000);
    bench.write("out.csv", "old\n");
    // How far it comes before the signal does is for the machine to say: it is whole, or not there.
    let mut was_interrupted = false;
    for _ in 0..50 {
        let child = start(&mut bench.command(&["export", "db", "number", "out.csv"]));
        let process = Pid::from_raw(child.id().try_into().expect("a process id"));
        while bench.list(".").len() == 2 && !bench.read("out.csv").starts_with("id") {
            std::thread::yield_now();
        }
        kill(process, Signal::SIGTERM).expect("it has not been waited for");
        let ended = end(child);
        if ended.code == Some(0) {
            assert_eq!(bench.read("out.csv").lines().count(), 200_001);
            bench.write("out.csv", "old\n");
            continue;
        }
        assert_eq!(ended.code, Some(143), "{}", ended.stderr);
        assert_eq!(ended.stderr, "lode: interrupted; the file was not written\n");
        assert_eq!(
            (bench.read("out.csv"), bench.list(".")),
            ("old\n".into(), vec!["db".into(), "out.csv".into()])
        );
        was_interrupted = true;
        break;
    }
    assert!(was_interrupted, "every one of 50 exports was whole before the signal came");
}
