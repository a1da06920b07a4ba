//! The engine with bugs to switch on: each is found by the test that its table names, and none
//! where it has none.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::plugins::compile;
use crate::support::{Bench, has_power_cuts};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/teaching");

/// Options of each test.
const TEST: &str = "crash -e teaching --plugin libteaching.so --durability commit --dir stores \
                    --images images -o durability.json";

fn bench() -> Bench {
    let bench = Bench::new();
    compile(&bench, &PathBuf::from(format!("{FOLDER}/teaching.c")), "libteaching.so", &[]);
    bench
}

/// Returns the bugs of the table, each with the options that find it.
fn table() -> Vec<(String, String)> {
    let text = std::fs::read_to_string(format!("{FOLDER}/README.md")).expect("the table");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let cells = rows.map(|row| row.split('`').collect::<Vec<_>>());
    cells.map(|cells| (cells[0].into(), cells[cells.len() - 2].into())).collect()
}

/// Finds the bugs of the table whose options are some.
fn find(has: impl Fn(&str) -> bool) {
    if !has_power_cuts() {
        return;
    }
    let bench = bench();
    let bugs: Vec<_> = table().into_iter().filter(|(_, options)| has(options)).collect();
    assert!(bugs.len() > 2, "{bugs:?}");
    for (bug, options) in bugs {
        let further = if options.contains("--enumerate") { "" } else { "--further 0" };
        let line = format!("{TEST} --set teaching.bug={bug} {options} {further}");
        let ended = bench.assay(&line);
        assert_eq!(ended.code, Some(1), "{bug}: {ended:?}");
        assert!(ended.stdout.contains("REFUTED in "), "{bug}: {ended:?}");
    }
}

fn is_of_isolation(options: &str) -> bool {
    options.contains("isolate")
}

fn is_of_threads(options: &str) -> bool {
    options.contains("--threads")
}

fn is_of_faults(options: &str) -> bool {
    options.contains("--fault")
}

#[test]
fn crashes_find_bugs() {
    find(|options| !is_of_threads(options) && !is_of_faults(options) && !is_of_isolation(options));
}

#[test]
fn failing_disks_find_bugs() {
    find(is_of_faults);
}

#[test]
fn several_threads_find_bugs() {
    find(is_of_threads);
}

#[test]
fn transactions_at_once_find_a_bug() {
    let bench = bench();
    let isolate = |bug: &str, more: &str| {
        let line = "isolate -e teaching --plugin libteaching.so --dir stores --transactions 600";
        bench.assay(&format!("{line} --set teaching.bug={bug} {more}"))
    };
    let bugs: Vec<_> = table().into_iter().filter(|(_, by)| is_of_isolation(by)).collect();
    let [(bug, command)] = &bugs[..] else { panic!("{bugs:?}") };
    let expect = command.strip_prefix("assay isolate ").expect("a command");
    let found = isolate(bug, expect);
    assert_eq!(found.code, Some(1), "{found:?}");
    assert!(found.stdout.contains("AGAINST"), "{found:?}");
    assert!(found.stderr.contains("against --expect"), "{found:?}");
    let without = isolate("none", expect);
    assert_eq!(without.code, Some(0), "{without:?}");
    // Nobody has promised anything.
    let unexpected = isolate(bug, "");
    assert_eq!(unexpected.code, Some(0), "{unexpected:?}");
    let file = bench.path().join("assay-runs/isolation.json");
    assert!(!file.exists(), "such verdicts are kept nowhere");
    bench.refuses("isolate -e lmdb --expect serializable -o file.json", 2, &["cannot be used"]);
    bench.refuses("isolate -e lmdb --set lmdb.typo=1", 2, &["lmdb has no parameter typo"]);
}

#[test]
fn no_test_finds_a_bug_where_there_is_none() {
    if !has_power_cuts() {
        return;
    }
    let bench = bench();
    bench.succeeds("verify -e teaching --plugin libteaching.so --dir stores");
    let without_rounds = |options: String| match options.split_once(" --rounds") {
        Some((options, _)) => options.into(),
        None => options,
    };
    let options = table().into_iter().map(|(_, options)| options);
    let tests = options.filter(|options| !is_of_isolation(options)).map(without_rounds);
    for options in BTreeSet::from_iter(tests) {
        let rounds = if options.contains("--enumerate") { "" } else { "--rounds 8" };
        let ended = bench.assay(&format!("{TEST} {options} {rounds}"));
        assert_eq!(ended.code, Some(0), "{options}: {ended:?}");
        assert!(ended.stdout.contains("broken in none of "), "{options}: {ended:?}");
    }
}

/// The commands that a finding prints are whole: they name the plugin.
#[test]
fn a_finding_is_repeated_and_its_image_opened() {
    if !has_power_cuts() {
        return;
    }
    let bench = bench();
    let line = format!("{TEST} --set teaching.bug=new-file-unsynced --crash power --rounds 8");
    assert_eq!(bench.assay(&format!("{line} --further 0")).code, Some(1));
    let file = bench.run_file("durability.json");
    let failure = &file["verdicts"][0]["failures"][0];
    let command = failure["command"].as_str().expect("a command").trim_start_matches("assay ");
    assert!(command.contains("-e teaching --plugin libteaching.so "), "{command}");
    let again = bench.assay(&format!("{command} --dir stores --images images -o again.json"));
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("REFUTED in 1 of 1"), "{again:?}");
    let image = failure["image"].as_str().expect("a folder");
    let open = format!("crash --open {image} --dir stores");
    let opened = bench.assay(&format!("{open} --plugin libteaching.so"));
    assert_eq!(opened.code, Some(1), "{opened:?}");
    bench.refuses(&open, 2, &["there is no engine teaching here"]);
}

#[test]
fn the_table_has_all_bugs() {
    let source = std::fs::read_to_string(format!("{FOLDER}/teaching.c")).expect("the source");
    let rows = source.lines().filter_map(|line| line.trim().strip_prefix('['));
    let names = rows.filter_map(|row| row.split('"').nth(1)).filter(|name| *name != "none");
    let mut names: Vec<_> = names.map(String::from).collect();
    let mut listed: Vec<_> = table().into_iter().map(|(bug, _)| bug).collect();
    names.sort();
    listed.sort();
    assert_eq!(names, listed);
    assert!(names.len() > 20, "{names:?}");
    let bench = bench();
    let line = format!("{TEST} --crash process --set teaching.bug=typo");
    bench.refuses(&line, 1, &["there is no bug typo; README.md has all"]);
}
