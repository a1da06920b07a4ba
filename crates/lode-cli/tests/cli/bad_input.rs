//! Checks faults of a command line and of the place that it names: one line on standard
//! error, the documented status, nothing changed.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use lode::{KeyKind, Schema, Type};

use crate::support::{ANIMALS, Bench, close, content, end, expect_refusal, expect_success, start};

/// Returns the commands that need a database, with this directory.
fn commands(dir: &str) -> Vec<Vec<&str>> {
    vec![
        vec!["check", dir],
        vec!["stat", dir],
        vec!["dump", dir, "animal"],
        vec!["schema", dir],
        vec!["load", dir, "animal"],
        #[cfg(feature = "columns")]
        vec!["export", dir, "animal", "animals.csv"],
    ]
}

const NO_DATABASE: &str = "there is no database; name the directory of one, or make one with \
                           lode load --schema or lode sql --create";

#[test]
fn no_command_creates_a_database_by_mistake() {
    let bench = Bench::new();
    fs::create_dir(bench.path("empty")).expect("a directory");
    fs::create_dir(bench.path("other")).expect("a directory");
    bench.write("other/notes.txt", "mine\n");
    bench.write("file", "mine\n");
    for dir in ["nowhere", "empty", "other", "no/where"] {
        for args in commands(dir) {
            bench.refuses(&args, 2, &format!("{dir}: {NO_DATABASE}"));
        }
    }
    for args in commands("file") {
        bench.refuses(&args, 2, "file: this is a file; name the directory of a database");
    }
    assert_eq!(bench.list("."), ["empty", "file", "other"]);
    assert_eq!(bench.list("empty"), [""; 0]);
    assert_eq!(bench.list("other"), ["notes.txt"]);
}

#[test]
fn a_database_is_not_created_among_other_files() {
    let bench = Bench::new();
    fs::create_dir(bench.path("other")).expect("a directory");
    bench.write("other/notes.txt", "mine\n");
    bench.refuses(
        &["load", "other", "animal", "--schema", ANIMALS],
        2,
        "other: there are other files in this directory; choose an empty or a new one",
    );
    assert_eq!(bench.list("other"), ["notes.txt"]);
}

#[test]
fn a_database_that_is_written_elsewhere_can_be_read_and_is_otherwise_refused() {
    let bench = Bench::with_animals();
    let open = bench.open("zoo");
    for args in commands("zoo") {
        if args[0] != "load" {
            bench.succeeds(&args);
            continue;
        }
        let line = "zoo: the database is in use by another process, or is open in this one \
                    already; it can be open once for writing, and several times for reading only";
        bench.refuses(&args, 3, line);
    }
    close(open);
    bench.succeeds(&["check", "zoo"]);
}

#[test]
fn a_database_without_its_data_is_damaged() {
    let bench = Bench::with_animals();
    fs::remove_file(bench.path("zoo/data")).expect("it is there");
    let before = content(&bench.path("zoo"));
    for args in commands("zoo") {
        let why = "the directory is corrupt: file data is missing, and there are log segments";
        bench.refuses(
            &args,
            1,
            &format!("zoo: {why}; restore the database from a copy, or repair it"),
        );
    }
    assert_eq!(content(&bench.path("zoo")), before);
}

#[test]
fn a_database_that_may_not_be_opened_is_refused() {
    let bench = Bench::with_animals();
    fs::create_dir(bench.path("hidden")).expect("a directory");
    // The superuser may do everything, so another user tries, with a program within that user's
    // reach.
    let folder = bench.path(".");
    let program = bench.path("lode-copy");
    fs::copy(env!("CARGO_BIN_EXE_lode"), &program).expect("a copy");
    fs::set_permissions(&folder, PermissionsExt::from_mode(0o755)).expect("mode");
    fs::set_permissions(bench.path("hidden"), PermissionsExt::from_mode(0o000)).expect("mode");
    fs::set_permissions(bench.path("zoo"), PermissionsExt::from_mode(0o555)).expect("mode");
    for file in ["data", "lock"] {
        let path = bench.path("zoo").join(file);
        fs::set_permissions(path, PermissionsExt::from_mode(0o444)).expect("mode");
    }
    let run = |args: &[&str]| {
        let mut command = Command::new(&program);
        command.current_dir(&folder).args(args).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        if fs::metadata(&program).expect("the copy").uid() == 0 {
            command.uid(65534).gid(65534);
        }
        end(start(&mut command))
    };
    let hidden = ["check", "hidden"];
    expect_refusal(&hidden, &run(&hidden), 3, "hidden: Permission denied (os error 13)");
    let load = ["load", "zoo", "animal"];
    let line = "zoo: lock the database: Permission denied (os error 13)";
    expect_refusal(&load, &run(&load), 3, line);
    // Reading needs no permission to write.
    let before = content(&bench.path("zoo"));
    let check = ["check", "zoo"];
    expect_success(&check, run(&check));
    expect_success(&["stat", "zoo"], run(&["stat", "zoo"]));
    assert_eq!(content(&bench.path("zoo")), before);
    fs::set_permissions(bench.path("zoo/data"), PermissionsExt::from_mode(0o000)).expect("mode");
    let line = "zoo: open file data: Permission denied (os error 13)";
    expect_refusal(&check, &run(&check), 3, line);
}

#[test]
fn a_table_that_is_not_there_is_refused_with_those_that_are() {
    let bench = Bench::with_animals();
    bench.refuses(
        &["dump", "zoo", "Animal"],
        2,
        "zoo: there is no table Animal; the only one is animal",
    );
    let db = bench.open("zoo");
    for name in ["keeper", "a\nb"] {
        let schema = Schema::build(name).key("id", Type::U8).finish().expect("a schema");
        db.create_table(&schema, KeyKind::Hash).expect("a table");
    }
    close(db);
    let there = "there is no table x; there are a\\nb, animal and keeper";
    bench.refuses(&["dump", "zoo", "x"], 2, &format!("zoo: {there}"));
    bench.refuses(&["schema", "zoo", "x"], 2, &format!("zoo: {there}"));
    let more = "--schema creates a table that is not there";
    bench.refuses(&["load", "zoo", "x"], 2, &format!("zoo: {there}; {more}"));
    close(bench.open("none"));
    let none = "none: there is no table x; the database has none yet";
    bench.refuses(&["dump", "none", "x"], 2, none);
}

#[test]
fn a_table_that_is_otherwise_is_not_taken_for_the_one_wanted() {
    let bench = Bench::with_animals();
    let there = format!("table animal is there already, and has other columns: {ANIMALS}");
    let load = ["load", "zoo", "animal", "--schema"];
    bench.refuses(&[&load[..], &["id:u64 key"]].concat(), 2, &format!("--schema: {there}"));
    bench.refuses(
        &[&load[..], &[ANIMALS, "--kind", "hash"]].concat(),
        2,
        "--kind: table animal is there already, and is of kind tree",
    );
    for kind in [&[][..], &["--kind", "tree"]] {
        let same = [&load[..], &[ANIMALS], kind].concat();
        assert_eq!(bench.succeeds(&same), "0 records loaded\n");
    }
}

#[test]
fn a_schema_that_cannot_be_creates_nothing() {
    let bench = Bench::new();
    for (schema, why) in [
        ("", "at character 1: the name of a column should be here"),
        ("id:u64", "table animal: it has no key; begin with a key column"),
        ("id:u64 key, id:u8", "table animal: there are two columns id"),
        ("id:text(1025) key", "table animal: keys can have at most 1024 bytes"),
        ("id:u64? key", "at character 12: id is of the key, so it cannot be null"),
        ("id:u64 key; name:text(4)", "at character 11: ',' should be here, and not ';'"),
    ] {
        let args = ["load", "zoo", "animal", "--schema", schema];
        bench.refuses(&args, 2, &format!("--schema: {why}"));
    }
    assert_eq!(bench.list("."), [""; 0]);
}

#[test]
fn lines_that_cannot_be_read_create_nothing() {
    let bench = Bench::new();
    fs::create_dir(bench.path("folder")).expect("a directory");
    for (file, why) in [
        ("nofile", "No such file or directory (os error 2)"),
        ("folder", "this is a directory; name a file"),
    ] {
        let args = ["load", "zoo", "animal", file, "--schema", ANIMALS];
        bench.refuses(&args, 3, &format!("{file}: {why}"));
    }
    assert_eq!(bench.list("."), ["folder"]);
}

#[test]
fn a_command_line_that_says_nothing_possible_is_refused() {
    let bench = Bench::new();
    let required = "the following required arguments were not provided: ";
    for (args, line) in [
        (&[][..], "no command given; see lode --help".to_string()),
        (&["nosuch"], "unrecognized subcommand 'nosuch'; see --help".into()),
        (&["check"], format!("{required}<DIR>; see --help")),
        (&["dump", "zoo"], format!("{required}<TABLE>; see --help")),
        (
            &["load", "zoo", "animal", "--kind", "hash"],
            format!("{required}--schema <COLUMNS>; see --help"),
        ),
        (
            &["load", "zoo", "animal", "--skip", "--replace"],
            "the argument '--skip' cannot be used with '--replace'; see --help".into(),
        ),
        (
            &["stat", "zoo", "--format", "csv"],
            "invalid value 'csv' for '--format <FORMAT>'; [possible values: table, json]; see \
             --help"
                .into(),
        ),
        (
            &["--memory", "much", "check", "zoo"],
            "invalid value 'much' for '--memory <BYTES>': write a number of bytes, such as \
             67108864 or 64M; see --help"
                .into(),
        ),
    ] {
        bench.refuses(args, 2, &line);
    }
}

/// One line, the documented status, no text of a panic, and nothing made.
#[test]
fn hostile_words_are_refused_in_one_line() {
    let bench = Bench::with_animals();
    bench.write("file", "mine\n");
    std::os::unix::fs::symlink("nowhere", bench.path("dangling")).expect("a link");
    std::os::unix::fs::symlink("loop", bench.path("loop")).expect("a link");
    let before = (bench.list("."), content(&bench.path("zoo")));
    let long = "x".repeat(100_000);
    let hostile = [
        "",
        "\u{1b}[2J",
        "a\nlode: b",
        "\u{9b}31m\u{202e}",
        "-1",
        "no/where",
        "/dev/null",
        "file",
        "file/x",
        "dangling",
        "loop",
        "/proc/x",
        &long,
    ];
    for word in hostile {
        for args in [
            &["check", word][..],
            &["stat", word],
            &["schema", word],
            &["dump", word, "animal"],
            &["load", word, "animal"],
            &["dump", "zoo", word],
            &["schema", "zoo", word],
            &["load", "zoo", word],
            &["load", "zoo", "animal", word, "--schema", "id:u8 key"],
            &["load", "zoo", "new", "--schema", word],
            &["load", "zoo", "new", "--schema", "id:u64 key", "--kind", word],
            &["stat", "zoo", "--format", word],
            &["--memory", word, "check", "zoo"],
            &["dump", "zoo", "nosuch", "-o", word],
            &[word],
        ] {
            let ended = bench.lode(args);
            let what = format!("{args:.40?}");
            assert!(matches!(ended.code, Some(1..=3)), "{what}: {:?}", ended.code);
            assert_eq!(ended.stderr.lines().count(), 1, "{what}: {:.300}", ended.stderr);
            assert!(ended.stderr.starts_with("lode: "), "{what}: {:.300}", ended.stderr);
            assert!(!ended.stderr.contains("panicked"), "{what}: {:.300}", ended.stderr);
            let raw = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
            assert!(!ended.stderr.contains(raw), "{what}: {:?}", ended.stderr);
        }
    }
    for number in ["0", "1", "-1", "1.5", "1e9", "0x10", "18446744073709551616", "99999999999G"] {
        let args = ["--memory", number, "check", "zoo"];
        let ended = bench.lode(&args);
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "{number}: {ended:?}");
        let lines = usize::from(ended.code != Some(0));
        assert_eq!(ended.stderr.lines().count(), lines, "{number}: {ended:?}");
        assert!(!ended.stderr.contains("unexpected argument"), "{number}: {ended:?}");
    }
    assert_eq!(before.0, bench.list("."));
    bench.succeeds(&["check", "zoo"]);
}

#[test]
fn a_database_whose_creation_was_not_finished_is_none() {
    let bench = Bench::new();
    fs::create_dir(bench.path("zoo")).expect("it is new");
    bench.write("zoo/creating", "");
    let line = format!("zoo: {NO_DATABASE}");
    bench.refuses_input(&["load", "zoo", "animal"], ANIMALS, 2, &line);
    assert_eq!(bench.list("zoo"), ["creating"]);
}
