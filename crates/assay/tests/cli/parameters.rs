//! Parameters of engines: checked, applied, recorded, marked, and part of what is compared.

use crate::support::Bench;

#[test]
fn a_parameter_is_checked_before_anything_is_measured() {
    let bench = Bench::new();
    let refuses = |set: &str, words: &[&str]| {
        bench.refuses(&format!("run ycsb -e sqlite,lode --set {set}"), 2, words);
    };
    refuses("sqlite.page_size=1000", &["sqlite.page_size is a power of two bytes, from 512 B"]);
    refuses("sqlite.nosuch=1", &["sqlite has no parameter nosuch; it has rowid, cache_bytes"]);
    refuses("sqlite.page_size", &["write it as ENGINE.NAME=VALUE"]);
    refuses("lode.map_log=maybe", &["lode.map_log is one of yes, no"]);
    refuses("lmdb.map_bytes=64m", &["not among --engine"]);
    assert_eq!(bench.list(), [""; 0]);
    let listed = bench.succeeds("list -e sqlite").told();
    assert!(listed.contains("--set sqlite.page_size=BYTES PRAGMA page_size"), "{listed}");
}

#[test]
fn a_parameter_that_is_set_is_applied_recorded_and_marked() {
    let bench = Bench::new();
    let line = "run crossbench -e sqlite,lmdb,lode -s m,r -i 100 -q 10 -u 10 --dir stores";
    let set = "--set sqlite.page_size=8k --set lode.cache_bytes=2m";
    let table = bench.succeeds(&format!("{line} {set} -o set.json")).told();
    let run = bench.run_file("set.json");
    let cells = run["cells"].as_array().expect("cells");
    let of = |engine: &str, storage: &str| {
        let is_it = |cell: &serde_json::Value| {
            cell["engine"] == engine && cell["storage"] == storage && cell["calibration"] == false
        };
        cells.iter().find(|result| is_it(&result["cell"])).expect("a cell")
    };
    let sqlite = of("sqlite", "ramdisk");
    assert_eq!(sqlite["cell"]["engine_options"], serde_json::json!({ "page_size": "8192" }));
    let settings = sqlite["measurement"]["settings"].to_string();
    assert!(settings.contains("PRAGMA page_size = 8192"), "{settings}");
    let lode = of("lode", "ramdisk")["measurement"]["settings"].to_string();
    assert!(lode.contains("cache: 2 MiB (memory_bytes)"), "{lode}");
    let in_memory = of("lode", "memory")["status"]["reason"].to_string();
    assert!(in_memory.contains("its cache_bytes is for files"), "{in_memory}");
    assert!(table.contains("with page_size=8192, not its default"), "{table}");
    assert!(table.contains("sqlite◇") && !table.contains("lmdb◇"), "{table}");
    let csv = bench.succeeds("show set.json --format csv").stdout;
    assert!(csv.contains("sqlite page_size=8192") && csv.contains("other_settings"), "{csv}");

    // It is another engine to a comparison.
    bench.succeeds(&format!("{line} -o plain.json"));
    let compared = bench.assay("compare plain.json set.json --format json");
    let compared: serde_json::Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let apart = compared["not_compared"].to_string();
    assert!(apart.contains("only in the first: sqlite in crossbench"), "{compared}");
    assert!(!apart.contains("lmdb in crossbench · ramdisk"), "{compared}");
}
