//! `assay run --against`: two builds take turns.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::plugins::compile;
use crate::support::Bench;

const QUICK: &str = "run crossbench -s m -e btreemap -i 2k -q 2k -u 2k -d 2k -o run.json";

/// The program itself, as another file.
fn copy(bench: &Bench) -> PathBuf {
    let other = bench.path().join("other-assay");
    fs::copy(env!("CARGO_BIN_EXE_assay"), &other).expect("it can be copied");
    other
}

/// A script that is called as a worker is.
fn script(bench: &Bench, name: &str, text: &str) {
    let path = bench.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{text}\n")).expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it can be changed");
}

/// A script that reads its job and sends one line.
fn sends(bench: &Bench, name: &str, line: &Value) {
    script(bench, name, &format!("cat > /dev/null\ncat <<'END'\n{line}\nEND"));
}

/// Returns the version that a build prints.
fn introduction(protocol: u32, engines: &[&str], suites: &[(&str, u32)]) -> Value {
    let suites =
        suites.iter().map(|(id, revision)| serde_json::json!({ "id": id, "revision": revision }));
    serde_json::json!({ "Introduced": {
        "protocol": protocol,
        "build": {
            "version": "0.0.9", "rustc": "r", "target": "t", "opt_level": "3", "engines": engines,
        },
        "suites": suites.collect::<Vec<_>>(),
    }})
}

/// The engines of a run's results in the order in which they were measured, with their trials.
fn turns(run: &Value) -> Vec<(String, u64)> {
    let cells = run["cells"].as_array().expect("cells").iter().map(|result| &result["cell"]);
    let results = cells.filter(|cell| cell["calibration"] != true);
    let turn = |cell: &Value| {
        (cell["engine"].as_str().expect("an engine").into(), cell["trial"].as_u64().expect("one"))
    };
    results.map(turn).collect()
}

#[test]
fn two_builds_take_turns_and_are_compared() {
    let bench = Bench::new();
    let other = copy(&bench);
    let ended = bench.succeeds(&format!("{QUICK} --against other-assay --trials 5"));
    let run = bench.run_file("run.json");
    let turns = turns(&run);
    let expected: Vec<_> = (1..=5)
        .flat_map(|trial| {
            let mut turn = [("btreemap".to_string(), trial), ("btreemap@other".into(), trial)];
            if trial % 2 == 0 {
                turn.reverse();
            }
            turn
        })
        .collect();
    assert_eq!(turns, expected, "the other build is first in even trials");
    assert_eq!(run["baseline"]["path"], Value::from(other.to_str().expect("UTF-8")));
    assert_eq!(run["baseline"]["kind"], "program");
    assert_eq!(run["baseline"]["build"], run["build"], "it is a copy");
    let command = run["command"].as_array().expect("a command");
    assert!(command.iter().any(|word| word == "other-assay"), "{command:?}");
    // No view takes one build for the other.
    assert!(ended.stdout.contains("btreemap@other"), "{ended:?}");
    assert!(ended.told().contains("other-assay, assay 0."), "{ended:?}");
    bench.succeeds("report run.json -o page.html");
    let page = fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(page.contains("btreemap@other") && page.contains("other-assay, assay 0."));
    assert!(ended.stdout.contains("the paired t for sides that took turns"), "{ended:?}");
    assert!(ended.told().contains("base: the other build, /"), "{ended:?}");
    let csv = bench.succeeds("show run.json --format csv").stdout;
    assert!(csv.contains(",btreemap,") && csv.contains(",btreemap@other,"), "{csv}");
    let published = bench.succeeds("show run.json --format published").stdout;
    assert!(published.contains("@other"), "{published}");
    // The same comparison again, and by names.
    let again = bench.succeeds("compare run.json --format json").stdout;
    let again: Value = serde_json::from_str(&again).expect("JSON");
    assert_eq!(again["design"], "in_turns");
    assert_eq!(again["lines"][0]["engine"], "btreemap : btreemap@other");
    let named = bench.succeeds("compare run.json --engines btreemap@other,btreemap --format json");
    let named: Value = serde_json::from_str(&named.stdout).expect("JSON");
    assert_eq!(named["lines"], again["lines"]);
}

#[test]
fn each_build_has_its_own_store_and_as_many_trials() {
    let bench = Bench::new();
    copy(&bench);
    let disk = "run ycsb -w c -s d -e lmdb,sqlite --records 100 --operations 100 --dir stores";
    bench.succeeds(&format!("{disk} --against other-assay --durability none -o run.json"));
    let run = bench.run_file("run.json");
    let dirs: Vec<_> = run["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .filter_map(|result| result["cell"]["dir"].as_str().map(|dir| Path::new(dir).to_owned()))
        .filter_map(|dir| Some(dir.file_name()?.to_str()?.to_string()))
        .collect();
    let expected = ["lmdb-disk", "lmdb@other-disk", "sqlite-disk", "sqlite@other-disk"];
    assert_eq!(dirs, expected, "{run}");
    bench.has_no_stores();
    bench.succeeds(&format!("{QUICK} --against other-assay --until-ci 0.0001% --max-trials 7"));
    let turns = turns(&bench.run_file("run.json"));
    assert_eq!(turns.len(), 14, "none of them is that narrow: {turns:?}");
    let of = |engine: &str| turns.iter().filter(|turn| turn.0 == engine).count();
    assert_eq!((of("btreemap"), of("btreemap@other")), (7, 7));
}

#[test]
fn a_plugin_is_another_build_of_its_engine() {
    let bench = Bench::new();
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/hashtable");
    let source = Path::new(root).join("hashtable.c");
    compile(&bench, &source, "libhashtable.so", &[]);
    let text = fs::read_to_string(&source).expect("it is there");
    let old = bench.path().join("old.c");
    fs::write(&old, text.replace("linear probing", "old probing")).expect("it can be written");
    compile(&bench, &old, "libhashtable-old.so", &[]);
    let run = "run crossbench -s m -i 2k -q 2k -u 2k -d 2k -o run.json --plugin libhashtable.so";
    bench.succeeds(&format!("{run} --against libhashtable-old.so"));
    let file = bench.run_file("run.json");
    let expected = [("hashtable".to_string(), 1), ("hashtable@other".into(), 1)];
    assert_eq!(turns(&file), expected, "only what both builds have");
    let settings = |at: usize| file["cells"][at]["measurement"]["settings"][0].clone();
    assert_eq!(settings(1), "linear probing, at most 3/4 full");
    assert_eq!(settings(2), "old probing, at most 3/4 full");
    assert_eq!(file["baseline"]["kind"], "plugin");
    assert_eq!(file["baseline"]["build"], Value::Null);
    let words = ["libhashtable-old.so", "it has no engine btreemap; it has hashtable"];
    bench.refuses(&format!("{run} -e btreemap --against libhashtable-old.so"), 2, &words);
    let words = ["this build has none of its engines, which are hashtable"];
    bench.refuses("run crossbench -s m --against libhashtable-old.so", 2, &words);
    // Another Assay measures the plugin of this one.
    copy(&bench);
    bench.succeeds(&format!("{run} -e hashtable --against other-assay"));
    assert_eq!(turns(&bench.run_file("run.json")), expected);
}

#[test]
fn what_is_no_other_build_is_refused_in_one_line() {
    let bench = Bench::new();
    let refuses = |file: &str, code: i32, words: &[&str]| {
        let line = format!("{QUICK} --against {file} --plugin-timeout 2");
        bench.refuses(&line, code, &[words, &["--against", file]].concat());
    };
    refuses("nosuch", 3, &["No such file"]);
    refuses(".", 3, &["not a file"]);
    fs::write(bench.path().join("text"), "no program").expect("it can be written");
    refuses("text", 3, &["not executable"]);
    fs::write(bench.path().join("libtext.so"), "no library").expect("it can be written");
    refuses("libtext.so", 3, &[]);
    script(&bench, "silent", "exit 0");
    let no_assay = "not an assay whose workers speak protocol 5";
    refuses("silent", 3, &[no_assay, "no answer"]);
    script(&bench, "before", "echo 'assay: worker is for the parent process' >&2; exit 2");
    refuses("before", 3, &[no_assay, "it last said: assay: worker is for the parent process"]);
    script(&bench, "babbles", "cat > /dev/null; echo 'hello {'; echo '[1, 2]'");
    refuses("babbles", 3, &[no_assay]);
    script(&bench, "hangs", "exec sleep 60");
    refuses("hangs", 3, &[no_assay, "after 2 s", "--plugin-timeout"]);
    sends(&bench, "elsewhere", &serde_json::json!({ "Panicked": "a panic" }));
    refuses("elsewhere", 3, &[no_assay, "a panic"]);
    sends(&bench, "stranger", &serde_json::json!({ "Verified": [] }));
    refuses("stranger", 3, &[no_assay, "it sent a verification"]);
    sends(&bench, "newer", &introduction(6, &["btreemap"], &[("crossbench", 2)]));
    refuses(
        "newer",
        3,
        &["assay 0.0.9, whose workers speak protocol 6; those of this one speak 5"],
    );
    sends(&bench, "other-suite", &introduction(5, &["btreemap"], &[("ycsb", 2)]));
    refuses("other-suite", 2, &["it has no suite crossbench"]);
    sends(&bench, "revised", &introduction(5, &["btreemap"], &[("crossbench", 9)]));
    refuses("revised", 3, &["crossbench is of revision 9, this one's of 2"]);
    sends(&bench, "other-engine", &introduction(5, &["lmdb"], &[("crossbench", 2)]));
    refuses("other-engine", 2, &["it has no engine btreemap; it has lmdb"]);
    assert!(!bench.list().contains(&"run.json".to_string()), "{:?}", bench.list());
    // The program introduces itself, and then does no work: a cell fails, and the run continues.
    sends(&bench, "idle", &introduction(5, &["btreemap"], &[("crossbench", 2)]));
    bench.refuses(&format!("{QUICK} --against idle"), 1, &["an introduction instead"]);
    let run = bench.run_file("run.json");
    let outcomes: Vec<_> = run["cells"]
        .as_array()
        .expect("cells")
        .iter()
        .map(|result| result["status"]["outcome"].as_str().expect("an outcome"))
        .collect();
    assert_eq!(outcomes, ["measured", "measured", "failed"]);
    bench.refuses(&format!("{QUICK} -V --against idle"), 2, &["-V measures nothing"]);
    bench.refuses("plan crossbench-ladder --with against=idle", 2, &["against has no meaning"]);
    let plan = "against = \"idle\"\n[[run]]\nsuite = \"crossbench\"\n";
    fs::write(bench.path().join("plan.toml"), plan).expect("it can be written");
    bench.refuses("plan --config plan.toml", 2, &["against has no meaning in a plan"]);
    bench.succeeds(QUICK);
    bench.refuses("compare run.json", 2, &["one build measured it", "--engines"]);
}
