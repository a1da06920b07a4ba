//! `--continuous`: the clock never stops within a round.

use serde_json::Value;

use crate::support::Bench;

/// The cells of a run, without those of the null engine.
fn results(bench: &Bench) -> Vec<Value> {
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells").clone();
    cells.into_iter().filter(|cell| cell["cell"]["calibration"] != true).collect()
}

#[test]
fn suites_whose_operations_can_be_prepared_have_it() {
    let bench = Bench::new();
    for line in [
        "run crossbench -s m -e btreemap,sqlite -i 20k -q 20k -u 2k -d 20k",
        "run crossbench -e lmdb,sqlite -l 20k -q 2k -u 0 -d 0 -t 1,2 -s d --dir stores",
        "run nudb -s m -e btreemap --inserts 2k --fetches 2k",
        "run nudb -s m -e btreemap --batch_size 200 --num_batches 5",
        "run tonbo-write -s m -e btreemap --scale 0.002 -t 1",
    ] {
        let ended = bench.succeeds(&format!("{line} --continuous -o run.json --timeout 300"));
        let what = format!("{line}: {ended:?}");
        assert!(ended.told().contains("continuous"), "{what}");
        for result in results(&bench) {
            assert_eq!(result["status"]["outcome"], "measured", "{what}");
            assert_eq!(result["cell"]["options"]["continuous"], true, "{what}");
            let variant = result["cell"]["variant"].as_str().expect("a variant");
            assert!(variant.ends_with(", continuous"), "{variant}");
            let notes = result["measurement"]["notes"].as_array().expect("notes");
            let is_it = |note: &Value| note.as_str().is_some_and(|n| n.starts_with("continuous"));
            assert!(notes.iter().any(is_it), "{notes:?}");
        }
    }
}

#[test]
fn cells_of_both_clocks_are_not_taken_for_each_other() {
    let bench = Bench::new();
    let line = "run crossbench -s m -e btreemap -i 2k -q 2k -u 2k -d 2k";
    bench.succeeds(&format!("{line} -o run.json"));
    assert_eq!(results(&bench)[0]["cell"]["options"]["continuous"], false);
    bench.succeeds(&format!("{line} --continuous -o continuous.json"));
    bench.refuses("compare run.json continuous.json", 3, &["nothing to compare", "only in the"]);
}

#[test]
fn suites_without_it_refuse_it_and_have_it_not_in_their_help() {
    let bench = Bench::new();
    for suite in ["skvdb", "tonbo-read", "tonbo-micro", "ycsb"] {
        bench.refuses(&format!("run {suite} --continuous"), 2, &["--continuous"]);
        let help = bench.succeeds(&format!("run {suite} --help")).stdout;
        assert!(!help.contains("--continuous"), "{suite}: {help}");
    }
    for suite in ["crossbench", "nudb", "tonbo-write"] {
        bench.helps(&format!("run {suite}"), "Never stop the clock in a round");
    }
}
