//! What was measured is not lost to another command.

use std::fs;

use serde_json::Value;

use crate::support::Bench;

const TINY: &str = "run crossbench -e btreemap -s m -i 10 -q 10 -u 10";

#[test]
fn runs_of_one_second_have_run_files_of_their_own() {
    let bench = Bench::new();
    let line = format!("{TINY} -Q");
    let begun: Vec<_> = (0..6).map(|_| bench.start(&line)).collect();
    for run in begun {
        let ended = run.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    let files = fs::read_dir(bench.path().join("assay-runs")).expect("the folder");
    let mut files: Vec<_> = files.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert_eq!(files.len(), 6, "{files:?}");
    for file in files {
        bench.succeeds(&format!("show {}", file.display()));
    }
}

#[test]
fn a_run_that_measures_nothing_leaves_no_file() {
    let bench = Bench::new();
    bench.refuses("run crossbench -e lmdb -s m -i 10", 3, &["nothing could be measured"]);
    let files = fs::read_dir(bench.path().join("assay-runs")).expect("the folder").count();
    assert_eq!(files, 1, "it says why, and nothing is empty beside it");
}

#[test]
fn other_files_do_not_replace_measurements() {
    let bench = Bench::new();
    bench.succeeds(&format!("{TINY} -o run.json"));
    bench.succeeds(&format!("{TINY} -o run.json.gz"));
    let verdicts = "crash -e sqlite --durability commit --crash process --rounds 2 --commits 20";
    bench.succeeds(&format!("{verdicts} --dir stores -o durability.json"));
    let contents = || {
        ["run.json", "run.json.gz", "durability.json"]
            .map(|name| fs::read(bench.path().join(name)).expect("it is there"))
    };
    let before = contents();
    let nudb = "run nudb -e lode -s m --num_batches 2 --batch_size 10 -o other.json";
    for (name, what) in [
        ("run.json", "run file"),
        ("run.json.gz", "run file"),
        ("durability.json", "file of verdicts"),
    ] {
        bench.refuses(&format!("report run.json -o {name}"), 3, &[name, what, "--output"]);
        bench.refuses(&format!("generate customer -r 10 -o {name}"), 3, &[what, "--output"]);
        bench.refuses(&format!("{nudb} --raw_out {name}"), 3, &[what, "--raw-out"]);
    }
    assert!(before == contents(), "they are as they were");
    fs::write(bench.path().join("page.html"), "an earlier page").expect("a file");
    bench.succeeds("report run.json -o page.html");
}

/// Two crash tests that end at about the same time both have their verdicts in the file.
#[test]
fn crash_tests_at_once_keep_each_others_verdicts() {
    let bench = Bench::new();
    // The stores of one of them are where the file is.
    fs::create_dir(bench.path().join("lmdb")).expect("a directory");
    let test = |engine: &str| {
        let line = "--durability process --crash process --rounds 3 --commits 20";
        bench.start(&format!("crash -e {engine} {line} --dir {engine} -o lmdb/verdicts.json"))
    };
    let engines = ["fjall", "lmdb", "sqlite"];
    for test in engines.map(test) {
        let ended = test.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    }
    let file: Value = bench.run_file("lmdb/verdicts.json");
    let mut found: Vec<_> = file["verdicts"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|verdict| verdict["engine"].as_str().expect("a name"))
        .collect();
    found.sort_unstable();
    assert_eq!(found, engines);
}
