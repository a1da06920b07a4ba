//! `assay suite`: a plan in a file.

use crate::support::Bench;

const PLAN: &str = r#"
engine = ["btreemap", "hashbrown"]
storage = "inmem"
trials = 2
output = "plan.json"

[[run]]
suite = "crossbench"
insert = "1k"
query = 1000
update = "1k"
delete = "1k"

[[run]]
suite = "ycsb"
workload = ["a", "c"]
records = "1k"
operations = "1k"
"#;

fn write(bench: &Bench, text: &str) {
    std::fs::write(bench.path().join("plan.toml"), text).expect("write");
}

#[test]
fn a_plan_is_shown_measured_and_not_repeated() {
    let bench = Bench::new();
    write(&bench, PLAN);
    let shown = bench.succeeds("suite --config plan.toml --dry-run");
    for words in ["crossbench", "ycsb", " in all", "guessed"] {
        assert!(shown.stdout.contains(words), "{words}: {shown:?}");
    }
    assert!(!bench.path().join("plan.json").exists(), "it was only shown");
    let first = bench.succeeds("suite --config plan.toml");
    assert!(first.stdout.contains("crossbench · memory") && first.stdout.contains("workload A"));
    let run = bench.run_file("plan.json");
    // Two engines, two trials, of crossbench and two workloads; and what calibrates each.
    assert_eq!(run["cells"].as_array().map(Vec::len), Some(15), "{run}");
    let again = bench.succeeds("suite --config plan.toml");
    assert!(again.stderr.contains("resuming plan.json: 15 of 15 cells are there"), "{again:?}");
    assert_eq!(bench.run_file("plan.json")["cells"], run["cells"]);
    let known = bench.succeeds("suite --config plan.toml --dry-run");
    assert!(known.stdout.contains("from earlier runs here"), "{known:?}");
}

#[test]
fn a_plan_goes_on_where_it_was_stopped() {
    let bench = Bench::new();
    write(&bench, PLAN);
    bench.succeeds("suite -c plan.toml -Q");
    let mut run = bench.run_file("plan.json");
    let done = run["cells"].as_array_mut().expect("cells");
    done.truncate(6);
    std::fs::write(bench.path().join("plan.json"), run.to_string()).expect("write");
    let rest = bench.succeeds("suite -c plan.toml");
    assert!(rest.stderr.contains("6 of 15 cells are there"), "{rest:?}");
    assert!(rest.stderr.contains("[9/9]") && !rest.stderr.contains("[10/"), "{rest:?}");
    let whole = bench.run_file("plan.json");
    assert_eq!(whole["cells"].as_array().map(Vec::len), Some(15));
    assert_eq!(whole["cells"][0], run["cells"][0]);
}

#[test]
fn the_same_cell_is_measured_once() {
    let bench = Bench::new();
    let run = "[[run]]\nsuite = \"crossbench\"\ninsert = 1000\nquery = 100\nupdate = 0\n";
    write(&bench, &format!("engine = [\"btreemap\"]\nstorage = \"m\"\n{run}{run}"));
    bench.succeeds("suite -c plan.toml -Q -o out.json");
    let out = bench.run_file("out.json");
    assert_eq!(
        (out["planned_cells"].as_u64(), out["cells"].as_array().map(Vec::len)),
        (Some(2), Some(2))
    );
}

#[test]
fn bad_plans_are_refused() {
    let bench = Bench::new();
    bench.refuses("suite -c nosuch.toml", 3, &["nosuch.toml"]);
    for (text, words) in [
        ("", &["plan.toml", "no [[run]]"][..]),
        ("engine = [", &["plan.toml, line 1"]),
        ("[[run]]\nrows = 5", &["run 1 (?)", "names no suite"]),
        ("[[run]]\nsuite = \"nosuch\"", &["run 1 (nosuch)", "unrecognized subcommand"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecrods = 5", &["run 1 (ycsb)", "--recrods"]),
        ("timeout = 0\n[[run]]\nsuite = \"ycsb\"", &["plan.toml", "timeout = 0", "at least 1"]),
        ("engine = \"\"\n[[run]]\nsuite = \"ycsb\"", &["name of an engine is empty"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecords = 0", &["run 1 (ycsb)", "at least 1"]),
        ("[[run]]\nsuite = \"ycsb\"\ndir = \"/tmp\"", &["dir is for the whole plan"]),
        ("[[run]]\nsuite = \"ycsb\"\nformat = \"published\"", &["format has no meaning"]),
        ("[[run]]\nsuite = \"ycsb\"\nrecords = { a = 1 }", &["records: not a text"]),
        ("engine = [\"nosuch\"]\n[[run]]\nsuite = \"ycsb\"", &["nosuch"]),
    ] {
        write(&bench, text);
        bench.refuses("suite -c plan.toml", 2, words);
    }
    write(&bench, PLAN);
    bench.succeeds("suite -c plan.toml -Q");
    write(&bench, &PLAN.replace("query = 1000", "query = 2000"));
    bench.refuses("suite -c plan.toml", 3, &["plan.json: cannot go on", "--restart"]);
    bench.succeeds("suite -c plan.toml -Q --restart");
}
