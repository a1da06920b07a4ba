//! Every option with input that it cannot take: one line on standard error that names the option
//! or the thing, the documented status, nothing made, nothing left.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;

use crate::support::{Bench, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use signal_hook::consts::SIGHUP;

/// The command lines that take each option, and the option.
const NUMBERS: [(&str, &[&str]); 13] = [
    (
        "run crossbench -s m -e btreemap",
        &["-i", "-l", "-r", "-q", "-u", "-d", "-t", "-c", "--seed", "--timeout", "--trials"],
    ),
    ("run crossbench -s m -e btreemap --latency", &["--rate"]),
    ("run crossbench -s m -e btreemap --until-ci 5%", &["--max-trials"]),
    ("run crossbench -s m -e btreemap", &["--until-ci", "--plugin-timeout"]),
    (
        "run nudb -s m -e btreemap",
        &["--inserts", "--fetches", "--key-size", "--block-size", "--load-factor", "--batch-size"],
    ),
    ("run nudb -s m -e btreemap --batch_size 10", &["--num-batches"]),
    ("run skvdb -s m -e btreemap", &["-t", "--entries", "--operations", "--children"]),
    ("run tonbo-write -s m -e btreemap", &["--scale", "-t"]),
    ("run tonbo-read -s m -e btreemap", &["--records", "--ranges", "--range-size", "-t"]),
    ("run tonbo-micro -s m -e btreemap", &["--batches", "--warm-up", "--measurement", "--samples"]),
    (
        "run ycsb -s m -e btreemap",
        &["--records", "--operations", "-t", "--rate", "--field-count", "--field-length"],
    ),
    ("crash -e sqlite", &["--rounds", "--commits", "--round", "--seed", "--timeout"]),
    ("generate customer", &["-r", "--seed"]),
];

#[test]
fn numbers_that_are_none_are_refused_by_the_option_that_wants_them() {
    let bench = Bench::new();
    for (command, options) in NUMBERS {
        for option in options {
            for value in ["", "-1", "NaN", "99999999999999999999999"] {
                let mut words: Vec<OsString> = command.split(' ').map(OsString::from).collect();
                words.extend([option.into(), value.into()]);
                let line =
                    bench.refuses_words(&words, &[2], &format!("{command} {option} {value:?}"));
                assert!(line.contains(option) || line.contains("--"), "{line}");
                assert!(!line.contains("invalid digit"), "{line}");
                assert!(!line.contains("unexpected argument"), "{option} {value}: {line}");
            }
        }
    }
    assert_eq!(bench.list(), [""; 0]);
}

#[test]
fn numbers_say_what_they_can_be() {
    let bench = Bench::new();
    let run = "run crossbench -s m -e btreemap";
    bench.refuses(&format!("{run} -c x"), 2, &["--cpu", "named by its number"]);
    bench.refuses(&format!("{run} --seed abc"), 2, &["--seed", "whole number from 0 to 1844"]);
    bench.refuses(&format!("{run} --seed -1"), 2, &["--seed", "whole number"]);
    bench.refuses(&format!("{run} -i -1"), 2, &["--insert", "not a count"]);
    bench.refuses(&format!("{run} --repeats 1001"), 2, &["--repeats", "at most 1000"]);
    bench.refuses("run skvdb --entries 17", 2, &["--entries", "between 1 and 16"]);
    bench.refuses("run tonbo-micro --samples 9", 2, &["--samples", "between 10 and 10000"]);
    bench.refuses("crash --rounds 0", 2, &["--rounds", "between 1 and 1000000"]);
    bench.refuses("crash -e sqlite --at 5 --rounds 3", 2, &["--at", "--round"]);
    bench.refuses(
        "plan crossbench-ladder --max-rows 10",
        2,
        &["--max-rows 10", "smallest", "1000 rows"],
    );
    bench.refuses("run ycsb --until-ci 5% --max-trials 1", 2, &["--max-trials 1", "needs 7"]);
    bench.refuses("run ycsb --until-ci 5% --trials 40", 2, &["--trials 40", "--max-trials"]);
    bench.refuses("run nudb --inserts 10 --raw_out x.csv", 2, &["--raw-out", "--batch-size"]);
    assert_eq!(bench.list(), [""; 0]);
}

#[test]
fn empty_names_are_no_names() {
    let bench = Bench::new();
    for command in
        ["run crossbench", "run ycsb", "plan crossbench-ladder", "verify", "crash", "list"]
    {
        for name in ["", ",", "btreemap,", ",btreemap"] {
            let words = command.split(' ').chain(["-e", name]).map(OsString::from);
            let words: Vec<_> = words.collect();
            let line = bench.refuses_words(&words, &[2], &format!("{command} -e {name:?}"));
            assert!(line.contains("name of an engine is empty"), "{line}");
        }
    }
    let words = ["run", "nudb", "--dbs", ""].map(OsString::from);
    assert!(bench.refuses_words(&words, &[2], "--dbs").contains("empty"));
    for option in ["--set", "--dir", "-o", "--plugin", "--s3-endpoint", "--s3-bucket", "-s", "-k"] {
        let words = ["run", "crossbench", "-e", "sqlite", option, ""].map(OsString::from);
        bench.refuses_words(&words, &[2], option);
    }
    assert_eq!(bench.list(), [""; 0]);
}

/// The command lines that take a file or a directory, with the place for it.
const PATHS: [(&str, Kind); 17] = [
    ("run crossbench -s m -e btreemap -i 1k -q 1k -u 1k -o @", Kind::NewFile),
    ("run nudb -s m -e btreemap --batch_size 10 --num_batches 1 --raw_out @", Kind::NewFile),
    ("plan crossbench-ladder -s d -e sqlite --max-rows 1k -o @", Kind::NewFile),
    ("plan -c plan.toml -o @", Kind::NewFile),
    ("plan -c plan.toml --dry-run -o @", Kind::NewFile),
    (
        "crash -e sqlite --rounds 1 --commits 5 --durability process --crash process -o @",
        Kind::NewFile,
    ),
    ("report run.json -o @", Kind::NewFile),
    ("generate customer -r 10 -o @", Kind::NewFile),
    ("run crossbench -s d -e btreemap --dir @", Kind::Directory),
    ("verify -s d -e sqlite --dir @", Kind::Directory),
    ("crash -e sqlite --crash process --dir @", Kind::Directory),
    ("plot run.json -o @", Kind::Directory),
    ("man -o @", Kind::Directory),
    ("show @", Kind::File),
    ("plan -c @", Kind::File),
    ("run tonbo-read -s m -e btreemap --tbl @", Kind::File),
    ("list --plugin @", Kind::File),
];

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    /// A file that is to be written.
    NewFile,
    /// A folder that is made if it is missing.
    Directory,
    /// A file that is read.
    File,
}

#[test]
fn places_that_cannot_be_are_refused_before_anything_is_made() {
    let bench = Bench::new();
    let at = |name: &str| bench.path().join(name);
    bench.succeeds("run crossbench -s m -e btreemap -i 1k -q 1k -u 1k -o run.json");
    std::fs::write(at("plan.toml"), "[[run]]\nsuite = \"ycsb\"\nengine = \"btreemap\"\n")
        .expect("write");
    std::fs::write(at("file"), "mine").expect("write");
    std::os::unix::fs::symlink("nowhere/at/all", at("dangling")).expect("a link");
    std::os::unix::fs::symlink("loop", at("loop")).expect("a link");
    nix::unistd::mkfifo(&at("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    std::fs::create_dir(at("directory")).expect("a directory");
    let before = bench.list();
    let deep = format!("{}/x", "d".repeat(300));
    for (command, kind) in PATHS {
        let mut places: Vec<&str> =
            vec!["none/at/all/x", "file/x", "dangling", "loop", "/proc/x/y", &deep, "/dev/null/x"];
        match kind {
            Kind::NewFile => places.extend([
                "directory",
                "/dev/full",
                "/dev/null",
                "pipe",
                "/",
                ".",
                "directory/",
            ]),
            Kind::Directory => places.extend(["file", "/dev/null", "pipe", "/proc/x"]),
            Kind::File => places.extend(["directory", "none", "/", "/dev/zero"]),
        }
        for place in places {
            let words = command.split(' ').map(|word| OsString::from(word.replace('@', place)));
            let words: Vec<_> = words.collect();
            let line = bench.refuses_words(&words, &[2, 3], &format!("{command}: {place}"));
            assert!(line.contains(place.trim_end_matches('/')), "{command} {place}: {line}");
        }
    }
    assert_eq!(bench.list(), before);
    assert_eq!(std::fs::read(at("file")).expect("read"), b"mine");
}

/// A name that is not UTF-8 works, or is refused before anything is measured.
#[test]
fn names_that_are_not_utf8_work_or_are_refused() {
    let bench = Bench::new();
    bench.succeeds("run crossbench -s m -e btreemap -i 1k -q 1k -u 1k -o run.json");
    let plan = "[[run]]\nsuite = \"ycsb\"\nengine = \"btreemap\"\nstorage = \"m\"\n\
                records = 10\noperations = 10\n";
    std::fs::write(bench.path().join("plan.toml"), plan).expect("write");
    let name = OsString::from_vec(b"n\xffm\x1b".to_vec());
    for (command, kind) in PATHS {
        if command.contains("--dry-run") {
            continue;
        }
        let words: Vec<OsString> = command
            .split(' ')
            .map(|word| if word == "@" { name.clone() } else { word.into() })
            .collect();
        let ended = bench.assay_words(&words, bench.path());
        assert!(matches!(ended.code, Some(0 | 2 | 3)), "{command}: {ended:?}");
        assert!(!ended.stderr.contains('\x1b') && !ended.stdout.contains('\x1b'), "{ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:?}");
        let path = bench.path().join(&name);
        let made = path.exists();
        assert_eq!(made, ended.code == Some(0) && kind != Kind::File, "{command}: {ended:?}");
        let _ = std::fs::remove_file(&path);
        let _ = std::fs::remove_dir_all(&path);
    }
    let folder = bench.path().join(&name);
    std::fs::create_dir(&folder).expect("a directory");
    let run = "run crossbench -e btreemap -i 1k -q 1k -u 1k -o run.json -s m";
    let words: Vec<_> = run.split(' ').map(OsString::from).collect();
    let ended = bench.assay_words(&words, &folder);
    assert_eq!(ended.code, Some(0), "in memory nothing has to be named: {ended:?}");
    let words: Vec<_> = run
        .replace("-s m", "-s d")
        .replace("btreemap", "sqlite")
        .split(' ')
        .map(OsString::from)
        .collect();
    let ended = bench.assay_words(&words, &folder);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("not UTF-8") && ended.stderr.contains("--dir"), "{ended:?}");
    assert_eq!(std::fs::read_dir(&folder).expect("it is there").count(), 1, "the run file alone");
}

#[test]
fn commands_that_want_another_list_what_there_is() {
    let bench = Bench::new();
    let ended = bench.assay("plugin");
    assert_eq!(ended.code, Some(2), "{ended:?}");
    for command in ["new", "build"] {
        let begin = format!("assay plugin {command} ");
        let line = ended.stderr.lines().find(|line| line.trim_start().starts_with(&begin));
        assert!(line.is_some_and(|line| line.len() > 40), "{command}: {ended:?}");
    }
    for suite in ["crossbench", "nudb", "skvdb", "tonbo-write", "tonbo-read", "tonbo-micro", "ycsb"]
    {
        bench.helps("run", &format!(" {suite} "));
    }
    bench.refuses("plan", 2, &["assay plan crossbench-ladder", "--config"]);
    bench.refuses("generate", 2, &["assay generate customer"]);
    bench.refuses("plugin", 2, &["assay plugin new"]);
    bench.refuses("", 2, &["no command given", "assay --help"]);
}

/// 128 and the signal's number, whatever the command; no unfinished file stays.
#[test]
fn a_signal_ends_any_command_with_its_own_status() {
    let bench = Bench::new();
    let run = "run crossbench -s d --durability commit --dir stores -o run.json -i 1m -e sqlite";
    // A program that is started here does not ignore what this one catches.
    signal_hook::flag::register(SIGHUP, Arc::default()).expect("the signal can be caught");
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let generate = "generate customer -r 1000m -o customers.tbl";
        for command in [generate, run] {
            let child = bench.start(command);
            let id = Pid::from_raw(child.id().cast_signed());
            wait_for("its work", || {
                let begun = bench.list().iter().any(|name| name.starts_with(".unfinished-"));
                let data = bench.stores().join("sqlite-disk/data");
                (begun || data.exists()).then_some(())
            });
            kill(id, signal).expect("it is there");
            let ended = child.wait_with_output().expect("it ends");
            assert_eq!(ended.status.code(), Some(status), "{command}: {signal}: {ended:?}");
            let left: Vec<_> = bench.list().into_iter().filter(|name| name != "run.json").collect();
            assert_eq!(left, [""; 0], "{command}: {signal}");
            let _ = std::fs::remove_file(bench.path().join("run.json"));
        }
    }
    bench.helps("--help", "130 SIGINT, 143 SIGTERM, 129 SIGHUP");
}

/// A signal is ignored, as under `nohup`.
#[test]
fn a_hangup_that_is_ignored_ends_nothing() {
    let bench = Bench::new();
    let mut shell = std::process::Command::new("sh");
    let line = "run crossbench -e btreemap -s m -i 10 -q 10 -u 10 -Q -o run.json";
    let program = env!("CARGO_BIN_EXE_assay");
    let line = format!("trap '' HUP; exec {program} {line} --trials 40");
    shell.current_dir(bench.path()).args(["-c", &line]).stdout(Stdio::null()).stderr(Stdio::null());
    let run = shell.spawn().expect("a shell");
    wait_for("its first cell", || bench.path().join("run.json").exists().then_some(()));
    kill(Pid::from_raw(run.id().cast_signed()), Signal::SIGHUP).expect("it is there");
    let ended = run.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

/// Looking needs no lock; and on the RAM disk each directory has stores of its own.
#[test]
fn looking_needs_no_lock_and_other_directories_have_other_stores() {
    let bench = Bench::new();
    let run = "run crossbench -s d,r --durability commit -o run.json -i 1m -e sqlite";
    let mut child = bench.start(run);
    wait_for("the store", || {
        bench
            .path()
            .join("_benchmarkdb/sqlite-disk/data")
            .exists()
            .then_some(())
            .or_else(|| bench.path().join("run.json").exists().then_some(()))
    });
    let found = bench.succeeds("doctor").stdout;
    assert!(found.contains("another assay is"), "{found}");
    bench.succeeds("list -e sqlite");
    bench.refuses("run crossbench -s r -e sqlite -i 10", 3, &["another assay is at work there"]);
    let other = Bench::new();
    other.succeeds("run crossbench -s r -e sqlite -i 1k -q 1k -u 1k -o run.json");
    let stores = |bench: &Bench| bench.run_file("run.json")["cells"][1]["cell"]["dir"].clone();
    let theirs = stores(&other);
    assert!(theirs.as_str().is_some_and(|dir| dir.contains("_benchmarkdb-")), "{theirs}");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    child.wait().expect("it ends");
    let there = theirs.as_str().map(Path::new).and_then(Path::parent).is_some_and(Path::exists);
    assert!(!there, "an empty directory goes: {theirs}");
}
