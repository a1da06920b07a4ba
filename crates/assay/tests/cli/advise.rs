//! Advice about the engine for a workload, from the command line.

use crate::support::Bench;

/// A workload that takes a moment.
pub(crate) const SMALL: &str = r#"
title = "Small"
[records]
count = 300
key = { type = "u64" }
value = { uniform = [8, 200] }
[[phase]]
name = "serve"
threads = [1, 2]
operations = 600
mix = { read = 60, update = 20, insert = 10, scan = 10 }
scan = { rows = { constant = 5 } }
"#;

fn bench() -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("small.toml"), SMALL).expect("a file");
    bench
}

#[test]
fn engines_are_ranked_and_those_that_do_not_qualify_are_named() {
    let bench = bench();
    let line = "advise small.toml -e lode,lmdb,sqlite,hashbrown -s d --dir stores -o run.json \
                --survives power-cut --rank memory --for 60s";
    let ended = bench.succeeds(line);
    let told = ended.told();
    let asked = "Advice for Small · on disk · survives a power cut · 2 threads";
    assert!(told.contains(asked), "{told}");
    for words in [
        "engine processors memory",
        "lode is by the authors of this instrument; --without lode leaves it out",
        "lmdb 0.9.",
        " · OLDAP-2.8 · for c, c++, python",
        "do not qualify hashbrown: it has no storage mode disk",
        "page: run.html run file: run.json",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    bench.has_no_stores();
    // The other views say the same.
    let shown = bench.succeeds("show run.json").told();
    assert!(shown.contains(asked), "{shown}");
    let markdown = bench.succeeds("show run.json --format markdown").stdout;
    assert!(markdown.contains("### Advice for Small · on disk"), "{markdown}");
    let page = std::fs::read_to_string(bench.path().join("run.html")).expect("the page");
    assert!(page.contains("Advice for Small") && page.contains("OLDAP-2.8"));
    bench.succeeds("report run.json");
}

#[test]
fn limits_languages_and_names_leave_engines_out() {
    let bench = bench();
    let line = "advise small.toml -s m --survives nothing -t 1 -Q --for 60s";
    let without = format!("{line} -e lode,sqlite,btreemap --without lode --language C++ -o a.json");
    let told = bench.succeeds(&without).told();
    assert!(!told.contains("lode"), "{told}");
    assert!(told.contains("1 sqlite"), "{told}");
    assert!(told.contains("do not qualify btreemap: is for rust, not for c++"), "{told}");
    let none = format!("{line} -e btreemap --language java -o c.json");
    let ended = bench.assay(&none);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.stderr.contains("no engine qualifies; btreemap is for rust"), "{ended:?}");
    let limited = format!("{line} -e btreemap --rate 1k --p99.9 1us -o b.json");
    let ended = bench.assay(&limited);
    assert_eq!(ended.code, Some(4), "{ended:?}");
    assert!(ended.told().contains("btreemap: its p99.9 is "), "{ended:?}");
    assert!(ended.stderr.contains("assay: no engine qualifies"), "{ended:?}");
}

#[test]
fn more_trials_are_of_engines_that_are_not_told_apart() {
    let bench = bench();
    let line = "advise small.toml -e btreemap,null,hashbrown,sqlite -s m -t 1 -Q -o run.json";
    let details = bench.succeeds(&format!("{line} --details --format published")).stdout;
    assert!(details.contains("serve/s") && details.contains("operations a second"), "{details}");
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let trials = |engine: &str| {
        let of_engine = |cell: &&serde_json::Value| cell["cell"]["engine"] == engine;
        cells.iter().filter(of_engine).filter_map(|cell| cell["cell"]["trial"].as_u64()).max()
    };
    // Five trials tell engines apart at the earliest.
    assert!(trials("sqlite").is_some_and(|most| (5..=16).contains(&most)), "{cells:?}");
    assert_eq!(trials("hashbrown"), Some(1), "it has no order, so it does not qualify");
}

#[test]
fn engines_that_there_was_no_time_for_are_named() {
    let bench = bench();
    let long = SMALL.replace("operations = 600", "seconds = 2").replace("insert = 10, ", "");
    std::fs::write(bench.path().join("long.toml"), long).expect("a file");
    // The instrument's cell and two engines take at least six seconds.
    let line = "advise long.toml -e btreemap,sqlite -s m -t 1 --for 5s -o run.json";
    let told = bench.assay(line).told();
    assert!(told.contains("sqlite: was not measured, since the run ended before"), "{told}");
    assert!(!bench.succeeds("show run.json").stdout.contains("not complete"));
}

#[test]
fn a_question_that_cannot_be_asked_is_refused() {
    let bench = bench();
    for (line, words) in [
        ("advise none.toml", "none.toml: No such file"),
        ("advise small.toml --survives fire", "possible values: nothing, \"killed process\""),
        ("advise small.toml --language cobol", "no engine is known for it; known are c, c#, c++"),
        ("advise small.toml --p99.9 5", "not a latency; write a number with us, ms or s behind it"),
        ("advise small.toml --p99.9 0ms", "must be from 1us to 3600s"),
        ("advise small.toml --memory 1", "must be at least 32m"),
        ("advise small.toml --disk much", "not a size"),
        ("advise small.toml --rate 0", "must be at least 1"),
        ("advise small.toml --rate 1000000m", "rate"),
        ("advise small.toml --memory-weight -1", "must be a number of processors"),
        ("advise small.toml --memory-weight 1", "are for --rank cost; leave them out"),
        ("advise small.toml --rank cost", "operations that arrive at a rate; add --rate"),
        ("advise small.toml -s all", "--storage all: engines are ranked in one storage mode"),
        ("advise small.toml -t 0", "0"),
        ("advise small.toml --for 0s", "must be at least 1s"),
        ("advise small.toml --without nothing", "--without nothing: it is not measured anyway"),
        ("advise small.toml -e lode --without lode", "no engine here can do that"),
        ("advise small.toml --survives nothing --durability none", "cannot be used with"),
    ] {
        let code = if line.contains("none.toml") { 3 } else { 2 };
        bench.refuses(line, code, &[words]);
        assert_eq!(bench.list(), ["small.toml"], "{line}: nothing was made");
    }
}
