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
            "plain: the name does not end in .parquet, .arrow, .ipc, .feather, .csv or .tsv; \
             --format says what it is",
        ),
        ("nosuch.csv", 3, "nosuch.csv: No such file or directory (os error 2)"),
        ("nosuch", 3, "nosuch: No such file or directory (os error 2)"),
        ("folder.arrow", 2, "folder.arrow: there is no file of a table in this folder"),
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

/// A table of visits in partitions by day and gate.
fn visits(bench: &Bench) {
    for (folder, file, rows) in [
        ("day=2026-11-22/gate=1", "a.csv", "1,Ada\n2,\n"),
        ("day=2026-11-22/gate=12", "b.csv", "3,Bo\n"),
        ("day=2026-11-23/gate=__HIVE_DEFAULT_PARTITION__", "c.csv", "4,C\u{e9}\n"),
    ] {
        fs::create_dir_all(bench.path("visits").join(folder)).expect("a folder");
        let rows = format!("id,who\n{rows}");
        fs::write(bench.path("visits").join(folder).join(file), rows).expect("it is written");
    }
    bench.write("visits/_SUCCESS", "");
    bench.write("visits/.a.csv.crc", "crc");
}

#[test]
fn a_folder_in_partitions_is_one_table() {
    let bench = Bench::new();
    visits(&bench);
    let schema = "id:u32 key, who:vartext(9)?, day:timestamp, gate:u8?";
    let args = ["import", "db", "visit", "visits", "--schema", schema];
    assert_eq!(bench.succeeds(&args), "4 records imported\n");
    let day_us = 86_400_000_000_u64;
    let line = |id: u64, who: &str, day: u64, gate: &str| {
        format!("{{\"id\":{id},\"who\":{who},\"day\":{},\"gate\":{gate}}}\n", day * day_us)
    };
    let wanted = [
        line(1, "\"Ada\"", 20_779, "1"),
        line(2, "null", 20_779, "1"),
        line(3, "\"Bo\"", 20_779, "12"),
        line(4, "\"C\u{e9}\"", 20_780, "null"),
    ];
    assert_eq!(bench.succeeds(&["dump", "db", "visit"]), wanted.concat());

    // Without a schema, folders say whole numbers or text.
    bench.succeeds(&["export", "db", "visit", "part.parquet", "--columns", "id,who"]);
    fs::create_dir_all(bench.path("plain/day=a%2Fb/gate=-7")).expect("a folder");
    fs::create_dir_all(bench.path("plain/day=007/gate=8")).expect("a folder");
    for place in ["plain/day=a%2Fb/gate=-7/x.parquet", "plain/day=007/gate=8/y.parquet"] {
        fs::copy(bench.path("part.parquet"), bench.path(place)).expect("it is copied");
    }
    bench.succeeds(&["import", "db", "plain", "plain", "--key", "day,gate,id"]);
    let schemas = bench.succeeds(&["schema", "db"]);
    let wanted = "plain\ttree\tday:vartext(339) key, gate:i64 key, id:u32 key, who:vartext(9)?";
    assert!(schemas.contains(wanted), "{schemas}");
    let dumped = bench.succeeds(&["dump", "db", "plain"]);
    assert_eq!(dumped.lines().count(), 8);
    assert!(dumped.contains(r#"{"day":"a/b","gate":-7,"id":4,"#), "{dumped}");
    assert!(dumped.contains(r#"{"day":"007","gate":8,"id":1,"#), "{dumped}");
}

#[test]
fn what_folders_say_counts() {
    let bench = Bench::new();
    for (folder, rows) in [
        ("part/n=7/text=NULL", "id,n\n1,8\n"),
        ("part/n=NULL/text=x", "id,n\n2,\n"),
        ("part/_temporary/n=1/text=x", "id,n\n3,1\n"),
    ] {
        fs::create_dir_all(bench.path(folder)).expect("a folder");
        bench.write(&format!("{folder}/a.csv"), rows);
    }
    let schema = "id:u8 key, n:u8?, text:vartext(9)";
    bench.succeeds(&["import", "db", "part", "part", "--schema", schema]);
    assert_eq!(
        bench.succeeds(&["dump", "db", "part"]),
        "{\"id\":1,\"n\":7,\"text\":\"NULL\"}\n{\"id\":2,\"n\":null,\"text\":\"x\"}\n"
    );
    fs::remove_dir_all(bench.path("part/n=7")).expect("it is removed");
    std::os::unix::fs::symlink("nowhere", bench.path("part/n=NULL/b.csv")).expect("a link");
    bench.refuses(
        &["import", "db", "part", "part"],
        3,
        "part: n=NULL/b.csv: No such file or directory (os error 2)",
    );
}

#[test]
fn what_is_wrong_in_a_folder_is_named_with_its_file() {
    let schema = "id:u32 key, who:vartext(9)?, day:timestamp, gate:u8?";
    let wrong = |place: &str, content: &str, code: i32, line: &str| {
        let bench = Bench::new();
        visits(&bench);
        let path = bench.path("visits").join(place);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, content).expect("it is written");
        bench.refuses(&["import", "db", "visit", "visits", "--schema", schema], code, line);
        assert!(!bench.path("db").exists());
    };
    wrong(
        "day=2026-11-23/gate=2/d.csv",
        "id,who\n5,Di\nsix,Ed\n",
        1,
        "visits/day=2026-11-23/gate=2/d.csv: line 3: column id (u32) cannot hold six",
    );
    wrong(
        "day=2026-11-23/gate=2/d.csv",
        "id,who\n5,Di\n1,Again\n",
        1,
        "visits/day=2026-11-23/gate=2/d.csv: row 2: there is a record with this key already; \
         --replace overwrites such records, --skip leaves them; nothing was imported",
    );
    wrong(
        "day=2026-11-23/gate=300/d.csv",
        "id,who\n5,Di\n",
        1,
        "visits/day=2026-11-23/gate=300/d.csv: column gate (u8) cannot hold \"300\", as the name \
         of its folder says",
    );
    wrong(
        "notes.txt",
        "mine",
        2,
        "visits: notes.txt: the name does not say which format the file has",
    );
    wrong(
        "day=2026-11-23/gate=2/d.parquet",
        "",
        2,
        "visits: day=2026-11-23/gate=2/d.parquet: the file has another format than those before it",
    );
    wrong(
        "day=2026-11-23/d.csv",
        "id,who\n5,Di\n",
        2,
        "visits: day=2026-11-23/d.csv: its folders name other columns than others do",
    );
    wrong(
        "older/d.csv",
        "id,who\n5,Di\n",
        2,
        "visits: older: the folder of a partition is named COLUMN=VALUE",
    );
    wrong(
        "day=2026-11-23/gate=1/day=1/d.csv",
        "id,who\n5,Di\n",
        2,
        "visits: day=2026-11-23/gate=1/day=1: a folder around it names the same column",
    );
    wrong(
        "_delta_log/00000000000000000000.json",
        "{}",
        2,
        "visits: this is a Delta table, whose log says which files count; `lode import --delta` \
         reads it",
    );
}
