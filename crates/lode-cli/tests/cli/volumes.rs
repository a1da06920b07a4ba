//! `lode volume`: what it does, and what it says of bad input.

use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::os::unix::ffi::OsStrExt;

use crate::support::{Bench, content, end, expect_refusal, start};

fn with_settings() -> Bench {
    let bench = Bench::new();
    bench.succeeds(&["volume", "link", "settings", "/app/ui", "--parents"]);
    bench.succeeds(&["volume", "set", "settings", "/app/ui", "theme", "dark"]);
    bench.succeeds(&["volume", "set", "settings", "/app/ui", "scale", "1.5", "--type", "f64"]);
    bench
}

/// Returns the commands that need a volume, with this directory.
fn commands(dir: &str) -> [Vec<&str>; 9] {
    let volume = |args: &[&'static str]| -> Vec<&str> {
        let (command, rest) = args.split_first().expect("a command");
        [&["volume", *command, dir], rest].concat()
    };
    [
        volume(&["ls"]),
        volume(&["get", "/"]),
        volume(&["set", "/", "x", "1"]),
        volume(&["rm", "/a"]),
        volume(&["expire", "/", "x", "1"]),
        volume(&["tree"]),
        volume(&["watch"]),
        volume(&["export"]),
        volume(&["import", "/"]),
    ]
}

const NO_VOLUME: &str =
    "there is no volume; name the directory of one, or make one with lode volume link";

#[test]
fn entries_and_properties_are_shown() {
    let bench = with_settings();
    bench.succeeds(&["volume", "link", "settings", "/app/db"]);
    bench.succeeds(&["volume", "set", "settings", "/app/db", "port", "-5", "--type", "i32"]);
    bench.succeeds(&["volume", "set", "settings", "/app/db", "key", "00ff", "--type", "blob"]);
    assert_eq!(bench.succeeds(&["volume", "ls", "settings"]), "app\n");
    assert_eq!(bench.succeeds(&["volume", "ls", "settings", "app"]), "db\nui\n");
    assert_eq!(bench.succeeds(&["volume", "ls", "settings", "/app", "--prefix", "u"]), "ui\n");
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/app/ui", "theme"]), "dark\n");
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/app/ui", "theme", "--raw"]), "dark");
    let all = bench.succeeds(&["volume", "get", "settings", "/app/db"]);
    assert_eq!(all, "key\tblob\t00ff\nport\ti32\t-5\n");
    let tree = bench.succeeds(&["volume", "tree", "settings"]);
    assert_eq!(tree, "/\n  app\n    db\n    ui\n");
    let tree = bench.succeeds(&["volume", "tree", "settings", "/app/ui", "--properties"]);
    assert_eq!(tree, "/app/ui\n  .scale = 1.5 (f64)\n  .theme = dark (text)\n");
}

#[test]
fn entries_and_properties_are_removed() {
    let bench = with_settings();
    bench.succeeds(&["volume", "rm", "settings", "/app/ui", "theme"]);
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/app/ui"]), "scale\tf64\t1.5\n");
    bench.refuses(
        &["volume", "rm", "settings", "/app"],
        2,
        "settings: entry /app has children; --recursive removes them, too",
    );
    bench.succeeds(&["volume", "rm", "settings", "/app", "--recursive"]);
    assert_eq!(bench.succeeds(&["volume", "tree", "settings"]), "/\n");
}

#[test]
fn values_come_from_standard_input() {
    let bench = with_settings();
    bench.feeds(&["volume", "set", "settings", "/", "motto"], "two\nlines\n");
    let motto = bench.succeeds(&["volume", "get", "settings", "/", "motto", "--raw"]);
    assert_eq!(motto, "two\nlines\n");
    let most = "x".repeat(1 << 20);
    bench.feeds(&["volume", "set", "settings", "/", "long", "--type", "blob"], &most);
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/", "long", "--raw"]), most);
    bench.refuses_input(
        &["volume", "set", "settings", "/", "long"],
        &"y".repeat((1 << 20) + 1),
        2,
        "standard input: a property can have at most 1048576 bytes",
    );
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/", "long", "--raw"]), most);
}

#[test]
fn properties_expire() {
    let bench = with_settings();
    bench.succeeds(&["volume", "expire", "settings", "/app/ui", "theme", "0"]);
    bench.succeeds(&["volume", "set", "settings", "/app/ui", "token", "x", "--expire", "0.000001"]);
    bench.succeeds(&["volume", "set", "settings", "/app/ui", "kept", "x", "--expire", "1000"]);
    bench.succeeds(&["volume", "expire", "settings", "/app/ui", "kept", "never"]);
    let all = bench.succeeds(&["volume", "get", "settings", "/app/ui"]);
    assert_eq!(all, "kept\ttext\tx\nscale\tf64\t1.5\n");
    let gone = "settings: entry /app/ui has no property theme; see lode volume get";
    bench.refuses(&["volume", "expire", "settings", "/app/ui", "theme", "never"], 2, gone);
    bench.refuses(&["volume", "get", "settings", "/app/ui", "theme"], 2, gone);
    bench.refuses(&["volume", "rm", "settings", "/app/ui", "theme"], 2, gone);
}

#[test]
fn what_is_exported_is_imported() {
    let bench = with_settings();
    let lines = bench.succeeds(&["volume", "export", "settings", "/app"]);
    let ui =
        "{\"path\":\"/ui\",\"properties\":{\"scale\":{\"f64\":1.5},\"theme\":{\"text\":\"dark\"}}}";
    assert_eq!(lines, format!("{{\"path\":\"/\",\"properties\":{{}}}}\n{ui}\n"));
    bench.succeeds(&["volume", "export", "settings", "/app", "-o", "app.jsonl"]);
    assert_eq!(bench.read("app.jsonl"), lines);
    bench.succeeds(&["volume", "link", "copy", "/"]);
    let told = bench.succeeds(&["volume", "import", "copy", "/", "app.jsonl"]);
    assert_eq!(told, "2 lines imported\n");
    assert_eq!(bench.feeds(&["volume", "import", "copy", "/x/y"], &lines), "2 lines imported\n");
    let tree = bench.succeeds(&["volume", "tree", "copy"]);
    assert_eq!(tree, "/\n  ui\n  x\n    y\n      ui\n");
    bench.refuses_input(
        &["volume", "import", "copy", "/"],
        "{\"path\":\"/z\"}\n{\"path\":\"/z\",\"properties\":{\"a\":{\"u8\":256}}}\n",
        1,
        "standard input:2: property \"a\": 256 is no u8; the lines before it are imported, and \
         stay",
    );
    assert_eq!(bench.succeeds(&["volume", "ls", "copy"]), "ui\nx\nz\n");
    bench.refuses(
        &["volume", "export", "settings", "-o", "settings/app.jsonl"],
        2,
        "settings/app.jsonl: this is inside the database; choose another directory",
    );
    bench.refuses(
        &["volume", "import", "copy", "/", "none.jsonl"],
        3,
        "none.jsonl: No such file or directory (os error 2)",
    );
    bench.refuses(&["volume", "import", "copy", "/", "."], 3, ".: is a directory");
}

#[test]
fn a_watch_prints_what_others_change() {
    let bench = with_settings();
    let watch = ["volume", "watch", "settings", "/app", "--interval", "0.01"];
    let mut child = start(&mut bench.command(&watch));
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut next = || lines.next().expect("a line").expect("it is text");
    // The time of its first look is unknown: the first changes are repeated until one is seen.
    let seen = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for at in 0.. {
                if seen.load(std::sync::atomic::Ordering::SeqCst) {
                    break;
                }
                retried(&bench, &["volume", "set", "settings", "/app/ui", "n", &at.to_string()]);
            }
        });
        assert!(next().starts_with("set\t/app/ui\tn\t"));
        seen.store(true, std::sync::atomic::Ordering::SeqCst);
    });
    // One change after another: what happens between two looks is seen together.
    for (change, expected) in [
        (&["link", "settings", "/app/new"][..], "linked\t/app/new"),
        (&["rm", "settings", "/app/ui", "theme"], "removed\t/app/ui\ttheme"),
        (&["rm", "settings", "/app/ui"], "unlinked\t/app/ui"),
    ] {
        retried(&bench, &[&["volume"], change].concat());
        loop {
            let got = next();
            if got == expected {
                break;
            }
            assert!(got.starts_with("set\t/app/ui\tn\t"), "{got}");
        }
    }
    child.kill().expect("it is running");
    end(child);
}

/// Runs a command again while the watch has the volume open.
fn retried(bench: &Bench, args: &[&str]) {
    loop {
        let ended = bench.lode(args);
        match ended.code {
            Some(0) => return,
            Some(3) if ended.stderr.contains("in use by another process") => {}
            _ => panic!("{args:?}: {ended:?}"),
        }
    }
}

#[test]
fn no_command_but_link_makes_a_volume() {
    let bench = Bench::new();
    std::fs::create_dir(bench.path("empty")).expect("a directory");
    std::fs::create_dir(bench.path("other")).expect("a directory");
    bench.write("other/notes.txt", "mine\n");
    bench.write("file", "mine\n");
    for dir in ["nowhere", "empty", "other"] {
        for args in commands(dir) {
            bench.refuses(&args, 2, &format!("{dir}: {NO_VOLUME}"));
        }
    }
    for args in commands("file") {
        bench.refuses(&args, 2, "file: this is a file; name the directory of a database");
    }
    let taken = "other: there are other files in this directory; choose an empty or a new one";
    bench.refuses(&["volume", "link", "other", "/a"], 2, taken);
    let wrong = "\"..\" is no name: a path cannot go to itself or up; write it out";
    bench.refuses(&["volume", "link", "nowhere", "/../a"], 2, wrong);
    assert_eq!(bench.list("."), ["empty", "file", "other"]);
    assert_eq!(bench.list("empty"), [""; 0]);
    bench.succeeds(&["volume", "link", "empty", "/"]);
    assert_eq!(bench.succeeds(&["volume", "ls", "empty"]), "");
}

#[test]
fn a_database_of_records_stays_one() {
    let bench = Bench::with_animals();
    drop(lode::Database::open(bench.path("none")).expect("a database"));
    let before = content(&bench.path("none"));
    let records = "zoo: this is a database with table animal, and no volume; see lode stat";
    for args in commands("zoo") {
        bench.refuses(&args, 2, records);
    }
    bench.refuses(&["volume", "link", "zoo", "/a"], 2, records);
    for args in commands("none") {
        bench.refuses(&args, 2, &format!("none: {NO_VOLUME}"));
    }
    assert!(content(&bench.path("none")) == before, "its files are as they were");
    assert_eq!(bench.succeeds(&["dump", "zoo", "animal"]).lines().count(), 3);
}

#[test]
fn names_and_paths_that_cannot_be_are_refused() {
    let bench = with_settings();
    let long = "x".repeat(256);
    let set = |path: &str, name: &str, line: &str| {
        bench.refuses(&["volume", "set", "settings", path, name, "1"], 2, line);
    };
    set("/", "", "settings: \"\" is no name: it is empty; give one");
    set("/", "..", "settings: \"..\" is no name: a path cannot go to itself or up; write it out");
    set("/", "a/b", "settings: \"a/b\" is no name: it has a /; leave it out");
    let most = "it has 256 bytes, and at most 255 are allowed; shorten it";
    set("/", &long, &format!("settings: \"{}\" is no name: {most}", &long[1..]));
    set("/.", "a", "settings: \".\" is no name: a path cannot go to itself or up; write it out");
    let missing = "settings: there is no entry /none; link it, or see lode volume tree";
    set("/none", "a", missing);
    for command in ["ls", "get", "tree", "export", "rm"] {
        bench.refuses(&["volume", command, "settings", "/none"], 2, missing);
    }
    bench.refuses(&["volume", "link", "settings", "/none/a"], 2, missing);
    let taken = "settings: there is an entry /app/ui already; open it, or choose another name";
    bench.refuses(&["volume", "link", "settings", "/app/ui"], 2, taken);
    let root = "settings: the root cannot be removed; name an entry below it";
    bench.refuses(&["volume", "rm", "settings", "/", "-r"], 2, root);

    let mut command = bench.command(&["volume", "ls", "settings"]);
    let ended = end(start(command.arg(OsStr::from_bytes(b"/a\xff"))));
    let line = "invalid UTF-8 was detected in one or more arguments; see --help";
    expect_refusal(&["a path that is not UTF-8"], &ended, 2, line);
    let all = "scale\tf64\t1.5\ntheme\ttext\tdark\n";
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/app/ui"]), all);
}

#[test]
fn values_that_cannot_be_are_refused() {
    let bench = with_settings();
    let set = |value: &str, kind: &str, line: &str| {
        let args = ["volume", "set", "settings", "/app/ui", "theme", value, "--type", kind];
        bench.refuses(&args, 2, line);
    };
    set("256", "u8", "\"256\" is no u8; write a number that fits");
    set("-1", "u64", "\"-1\" is no u64; write a number that fits");
    set("1.5", "i32", "\"1.5\" is no i32; write a number that fits");
    set("one", "f64", "\"one\" is no f64; write a number that fits");
    set("1e999", "f64", "\"1e999\" is no f64; write a number that fits");
    set("-1e39", "f32", "\"-1e39\" is no f32; write a number that fits");
    let hex = "a blob is written in hexadecimal digits, two a byte, such as 00ff";
    set("0", "blob", hex);
    set("0g", "blob", hex);
    let known = "i8, i16, i32, i64, u8, u16, u32, u64, f32, f64, text, blob";
    let line = format!(
        "invalid value 'int' for '--type <TYPE>': there is no type int; there are {known}; see \
         --help"
    );
    set("1", "int", &line);
    bench.refuses(
        &["volume", "set", "settings", "/app/ui", "theme", "--type", "u8"],
        2,
        "a value of type u8 is missing; write it",
    );
    for wrong in ["-1", "soon", "1e9"] {
        let line = format!(
            "invalid value '{wrong}' for '<WHEN>': write a number of seconds, such as 3600 or 0.5, \
             or never; see --help"
        );
        bench.refuses(&["volume", "expire", "settings", "/app/ui", "theme", wrong], 2, &line);
    }
    let far = "settings: 100000000000000 seconds from now is later than a property can expire; \
               leave the expiry out";
    let args = ["volume", "expire", "settings", "/app/ui", "theme", "100000000000000"];
    bench.refuses(&args, 2, far);
    bench.refuses(
        &["volume", "rm", "settings", "/app", "theme", "-r"],
        2,
        "the argument '[NAME]' cannot be used with '--recursive'; see --help",
    );
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/app/ui", "theme"]), "dark\n");
}

#[test]
fn what_would_command_the_terminal_is_escaped() {
    let bench = with_settings();
    bench.succeeds(&["volume", "link", "settings", "/a\u{1b}[2J"]);
    bench.succeeds(&["volume", "set", "settings", "/", "n\tm", "x\ny"]);
    assert_eq!(bench.succeeds(&["volume", "ls", "settings"]), "a\\u{1b}[2J\napp\n");
    assert_eq!(bench.succeeds(&["volume", "get", "settings", "/"]), "n\\tm\ttext\tx\\ny\n");
}

#[test]
fn a_volume_that_is_open_elsewhere_is_only_read() {
    let bench = with_settings();
    let volume = lode_volumes::Volume::open(bench.path("settings")).expect("a volume");
    let locked = "settings: the database is in use by another process, or is open in this one \
                  already; it can be open once for writing, and several times for reading only";
    assert_eq!(bench.succeeds(&["volume", "ls", "settings"]), "app\n");
    bench.refuses(&["volume", "set", "settings", "/", "x", "1"], 3, locked);
    drop(volume);
}
