//! `assay compare`, and trials that are repeated until an interval is narrow.

use crate::support::Bench;

const RUN: &str = "run crossbench -s m -e btreemap,hashbrown -i 1k -q 1k -u 1k -d 1k";

#[test]
fn runs_and_engines_are_compared() {
    let bench = Bench::new();
    bench.succeeds(&format!("{RUN} --trials 5 -o a.json"));
    bench.succeeds(&format!("{RUN} --trials 5 -o b.json"));
    for cell in bench.run_file("a.json")["cells"].as_array().expect("cells") {
        assert_eq!(cell["cell"]["options"]["repeats"], 5, "unless something else is said");
        for phase in cell["measurement"]["phases"].as_array().expect("phases") {
            for round in phase["rounds"].as_array().expect("rounds") {
                let wall_ns = round["usage"]["wall_ns"].as_u64().expect("the wall time");
                assert!(wall_ns >= round["time_ns"].as_u64().expect("a time"), "{round}");
                assert!(round["usage"]["processors"].as_u64() > Some(0), "{round}");
            }
        }
    }
    let runs = bench.succeeds("compare a.json b.json");
    assert_eq!(runs.stdout.matches("insert/s").count(), 2, "{runs:?}");
    // Of two engines: insert, query and update by two statistics, delete, memory and close.
    let words = ["Welch's t for two runs", "together, after Holm", "drift of the machine"];
    assert!(words.iter().all(|words| runs.stdout.contains(words)), "{runs:?}");
    let ranks = bench.succeeds("compare a.json b.json --ranks").stdout;
    let words = ["base/s", "btreemap tree", "hashbrown hash", "Kendall's τ", "of 1 pairs"];
    assert!(words.iter().all(|words| ranks.contains(words)), "{ranks}");
    bench.refuses("compare a.json --ranks", 2, &["<NEW>"]);
    let both = "compare a.json b.json --ranks --fail-on-regression 5%";
    bench.refuses(both, 2, &["--ranks", "--fail-on-regression"]);
    let engines = bench.succeeds("compare a.json --engines btreemap,hashbrown");
    assert_eq!(engines.stdout.matches("hashbrown : btreemap").count(), 1, "{engines:?}");
    assert!(engines.stdout.contains("the paired t") && !engines.stdout.contains("drift"));
    // Each view names the ratio that it prints.
    assert!(engines.told().contains("ratio: the median of the trials' ratios"), "{engines:?}");
    assert!(runs.told().contains("ratio: new to base, each the median over trials"), "{runs:?}");
    let markdown = bench.succeeds("compare a.json b.json --format markdown").stdout;
    let rows = markdown.lines().filter(|line| line.starts_with("| btreemap | "));
    assert_eq!(rows.filter(|row| row.contains("fastest tenth")).count(), 2, "{markdown}");
    let json = bench.succeeds("compare a.json b.json --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!((&json["design"], &json["level"]), (&"apart".into(), &0.05.into()));
    let lines = json["lines"].as_array().expect("lines");
    assert_eq!(json["tests"], lines.len(), "each line has a test: {json:#}");
    let kinds = lines.iter().map(|line| line["quantity"]["kind"].as_str().expect("a kind"));
    let kinds: Vec<_> = kinds.take(8).collect();
    assert_eq!(kinds, ["rate", "rate", "rate", "rate", "rate", "rate", "memory", "close"]);
    let ratio = lines[0]["ratio"].as_f64().expect("a ratio");
    let new = lines[0]["new"].as_f64().expect("a rate");
    assert!((new / lines[0]["base"].as_f64().expect("a rate") - ratio).abs() < 1e-12);
}

/// A figure edited to be ten times as slow: five trials of one thing, no noise can hide it.
#[test]
fn a_regression_has_its_own_status() {
    let bench = Bench::new();
    bench.succeeds(&format!("{RUN} --trials 5 -o a.json"));
    let mut slow = bench.run_file("a.json");
    for cell in slow["cells"].as_array_mut().expect("cells") {
        for phase in cell["measurement"]["phases"].as_array_mut().expect("phases") {
            for round in phase["rounds"].as_array_mut().expect("rounds") {
                let time_ns = round["time_ns"].as_u64().expect("a time");
                round["time_ns"] = (time_ns * 1000).into();
            }
        }
    }
    std::fs::write(bench.path().join("slow.json"), slow.to_string()).expect("write");
    bench.refuses(
        "compare a.json slow.json --fail-on-regression 5%",
        4,
        &["surely worse by 5 %", "slower by 99.9 %"],
    );
    bench.succeeds("compare slow.json a.json --fail-on-regression 5%");
    bench.succeeds("compare a.json a.json --fail-on-regression 1");
    let ended = bench.assay("compare a.json slow.json");
    assert_eq!(ended.code, Some(0), "without the option it only reports: {ended:?}");
    assert!(ended.stdout.contains(" 0.001 ") && ended.stdout.contains(" slower"), "{ended:?}");
}

/// A gate that saw less than the base has is not green.
#[test]
fn what_cannot_be_judged_fails_the_gate() {
    let bench = Bench::new();
    bench.succeeds(&format!("{RUN} --trials 5 -o a.json"));
    let edited = |name: &str, edit: &dyn Fn(&mut Vec<serde_json::Value>)| {
        let mut run = bench.run_file("a.json");
        edit(run["cells"].as_array_mut().expect("cells"));
        std::fs::write(bench.path().join(name), run.to_string()).expect("write");
    };
    let is_of = |cell: &serde_json::Value, engine: &str| cell["cell"]["engine"] == engine;
    edited("wrong.json", &|cells| {
        let wrong = serde_json::json!({ "outcome": "wrong", "reason": "row 7: it lies" });
        let one = cells.iter_mut().filter(|cell| is_of(cell, "btreemap")).nth(3);
        one.expect("the fourth trial")["status"] = wrong;
    });
    edited("absent.json", &|cells| cells.retain(|cell| !is_of(cell, "btreemap")));
    edited("phaseless.json", &|cells| {
        for cell in cells {
            let phases = cell["measurement"]["phases"].as_array_mut().expect("phases");
            phases.retain(|phase| phase["name"] != "update");
        }
    });
    edited("quick.json", &|cells| {
        for round in cells.iter_mut().flat_map(|cell| {
            let phase = &mut cell["measurement"]["phases"][1];
            phase["rounds"].as_array_mut().expect("rounds")
        }) {
            round["time_ns"] = 50.into();
        }
    });
    edited("few.json", &|cells| cells.retain(|cell| cell["cell"]["trial"] != 5));
    let gate = "--fail-on-regression 99%";
    for (new, words) in [
        ("wrong.json", ["trial 4 of btreemap", "row 7: it lies"]),
        ("absent.json", ["only in the first: btreemap", "--allow-missing"]),
        ("phaseless.json", ["update is missing from", "--allow-missing"]),
        ("quick.json", ["has no query/s", "--allow-missing"]),
        ("few.json", ["lines have too few trials", "5 trials or more"]),
    ] {
        bench.refuses(&format!("compare a.json {new} {gate}"), 4, &words);
        bench.succeeds(&format!("compare a.json {new} {gate} --allow-missing"));
        bench.succeeds(&format!("compare a.json {new}"));
    }
    // What the base lacks is no loss of the other side.
    bench.succeeds(&format!("compare absent.json a.json {gate}"));
    bench.refuses("compare a.json a.json --allow-missing", 2, &["--fail-on-regression"]);
    edited("nothing.json", &|cells| cells.clear());
    let nothing = format!("compare a.json nothing.json {gate} --allow-missing");
    bench.refuses(&nothing, 3, &["nothing to compare", "only in the first"]);
    let json = bench.succeeds("compare a.json absent.json --format json").stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(json["not_compared"].as_array().map(Vec::len), Some(1), "{json:#}");
}

#[test]
fn trials_go_on_until_intervals_are_narrow_or_there_are_enough() {
    let bench = Bench::new();
    let narrow = bench.succeeds(&format!("{RUN} --until-ci 0.0001% --max-trials 7 -o narrow.json"));
    let note = "note: --until-ci: btreemap · memory · 1k rows";
    assert!(narrow.stderr.contains(note), "{narrow:?}");
    assert!(narrow.stderr.contains("after 7 trials, not within 0.00 %"), "{narrow:?}");
    let run = bench.run_file("narrow.json");
    let trials = |engine: &str| {
        let cells = run["cells"].as_array().expect("cells").iter();
        cells.filter(|cell| cell["cell"]["engine"] == engine).count()
    };
    assert_eq!((trials("btreemap"), trials("hashbrown")), (7, 7), "no interval is that narrow");
    assert_eq!(run["planned_cells"], 15, "with the calibration");
    bench.succeeds(&format!("{RUN} --until-ci 99% -o wide.json"));
    let wide = bench.run_file("wide.json");
    let count = wide["cells"].as_array().expect("cells").len();
    assert!(count >= 15, "at least seven trials: {count}");
}

/// The report names work of an engine beyond its level, and work of others that it is spared.
#[test]
fn what_makes_figures_unlike_is_marked() {
    let bench = Bench::new();
    let run = "run crossbench -s d -e lmdb,fjall,sqlite -i 1k -q 0 -u 0 -d 1k --dir stores";
    bench.succeeds(&format!("{run} --durability periodic -o periodic.json"));
    bench.succeeds(&format!("{run} --durability commit -o commit.json"));
    let notes = |file: &str, engine: &str| {
        let run = bench.run_file(file);
        let mut cells = run["cells"].as_array().expect("cells").iter();
        let cell = cells.find(|cell| cell["cell"]["engine"] == engine).expect("its cell");
        cell["measurement"]["notes"].to_string()
    };
    let syncs = "stronger than periodic: every commit syncs its data";
    assert!(notes("periodic.json", "lmdb").contains(syncs));
    assert_eq!(notes("commit.json", "lmdb"), "[]", "that is what the level asks for");
    let blind = "inserts and deletes do not look whether the key is there";
    assert!(notes("commit.json", "fjall").contains(blind));
    assert_eq!(notes("periodic.json", "sqlite"), "[]");
    let table = bench.succeeds("show periodic.json").stdout;
    assert!(table.contains(syncs) && table.contains(blind), "{table}");
}

#[test]
fn bad_input_is_refused() {
    let bench = Bench::new();
    bench.succeeds(&format!("{RUN} -o a.json"));
    bench.refuses("compare a.json", 2, &["a.json", "one build measured it"]);
    bench.refuses("compare a.json nosuch.json", 3, &["nosuch.json"]);
    bench.refuses("compare a.json --engines btreemap,sqlite", 2, &["no engine sqlite"]);
    bench.refuses("compare a.json a.json --fail-on-regression much", 2, &["percentage"]);
    bench.refuses(&format!("{RUN} --max-trials 4"), 2, &["--until-ci"]);
    bench.refuses(&format!("{RUN} --until-ci 0"), 2, &["percentage above 0"]);
    let whole = std::fs::read(bench.path().join("a.json")).expect("read");
    std::fs::write(bench.path().join("half.json"), &whole[..whole.len() / 2]).expect("write");
    bench.refuses("compare a.json half.json", 3, &["half.json", "not a run file"]);
    bench.succeeds("run crossbench -s m -e btreemap -i 2k -q 1k -u 1k -d 1k -o other.json");
    bench.refuses("compare a.json other.json", 3, &["nothing to compare"]);
    let edited = |name: &str, edit: &dyn Fn(&mut serde_json::Value)| {
        let mut run = bench.run_file("a.json");
        edit(&mut run);
        std::fs::write(bench.path().join(name), run.to_string()).expect("write");
    };
    edited("moved.json", &|run| run["environment"]["cpus"] = 99.into());
    bench.refuses("compare a.json moved.json", 3, &["not the same experiment", "processors"]);
    bench.succeeds("compare a.json moved.json --allow-differences");
    edited("revised.json", &|run| run["cells"][1]["cell"]["revision"] = 7.into());
    let words = ["not the same experiment", "revisions of the suite crossbench: 2 and 7"];
    bench.refuses("compare a.json revised.json", 3, &words);
    bench.succeeds("compare a.json revised.json --allow-differences");
    for view in ["show revised.json", "plot revised.json", "report revised.json"] {
        bench.succeeds(view);
    }
    edited("without.json", &|run| {
        for cell in run["cells"].as_array_mut().expect("cells") {
            cell["cell"].as_object_mut().expect("a cell").remove("revision");
        }
    });
    bench.refuses("show without.json", 3, &["without.json", "revision"]);
    edited("old.json", &|run| run["schema_version"] = 1.into());
    bench.refuses("compare a.json old.json", 3, &["old.json", "schema version 1"]);
}
