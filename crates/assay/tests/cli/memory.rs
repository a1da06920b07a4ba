//! How much memory engines may have: the size of their caches.

use crate::support::Bench;

/// The cells of a run whose engines keep files.
fn cells(bench: &Bench, options: &str) -> Vec<serde_json::Value> {
    bench.succeeds(&format!(
        "run crossbench -s r -e sqlite,lmdb,lode,redb --dir stores -i 100 -q 100 -u 10 -d 10 \
         -o run.json {options}"
    ));
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells").iter();
    cells.filter(|cell| cell["cell"]["calibration"] != true).cloned().collect()
}

fn cache_settings(cells: &[serde_json::Value]) -> Vec<String> {
    let of = |cell: &serde_json::Value| {
        let settings = cell["measurement"]["settings"].as_array().expect("settings").iter();
        let settings = settings.filter_map(|text| text.as_str());
        settings.filter(|text| text.starts_with("cache: ")).map(String::from).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of).collect()
}

#[test]
fn a_cache_of_one_size_reaches_every_engine_and_every_view() {
    let bench = Bench::new();
    let cells = cells(&bench, "--cache 8m");
    assert_eq!(
        cache_settings(&cells),
        [
            "cache: 8 MiB (PRAGMA cache_size)",
            "cache: none, its files are mapped",
            "cache: 8 MiB (memory_bytes)",
            "cache: 8 MiB (set_cache_size)",
        ]
    );
    for cell in &cells {
        assert_eq!(cell["cell"]["cache_bytes"], 8 << 20);
        assert_eq!(cell["cell"]["cache_named"], true);
    }
    assert!(bench.succeeds("show run.json").told().contains("· cache 8 MiB"), "the heading");
    let details = bench.succeeds("show run.json --details").told();
    assert!(details.contains("cache: 8 MiB (PRAGMA cache_size)"), "{details}");
    bench.succeeds("report run.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(page.contains("cache: 8 MiB (memory_bytes)") && page.contains("--cache 8m"));
}

#[test]
fn without_a_size_all_engines_have_the_same() {
    let bench = Bench::new();
    let cells = cells(&bench, "");
    let sizes: Vec<_> = cells.iter().map(|cell| cell["cell"]["cache_bytes"].as_u64()).collect();
    let expected = assay_driver::machine::usable_memory_bytes() / 8;
    assert_eq!(sizes, [Some(expected); 4]);
    assert!(!bench.succeeds("show run.json").told().contains("cache"), "nothing was named");
}

#[test]
fn engines_have_caches_of_their_own_size_when_asked_or_as_published() {
    let bench = Bench::new();
    for options in ["--cache own", "--as-published"] {
        let cells = cells(&bench, options);
        assert!(cells.iter().all(|cell| cell["cell"].get("cache_bytes").is_none()), "{options}");
        let settings = cache_settings(&cells);
        assert_eq!(settings[0], "cache: the engine's default", "{options}");
        assert_eq!(settings[3], "cache: 1 GiB (set_cache_size)", "{options}");
    }
}

#[test]
fn a_bad_size_is_refused_in_one_line() {
    let bench = Bench::new();
    for (size, why) in [
        ("0", "must be at least 1m"),
        ("1023k", "must be at least 1m"),
        ("many", "not a size; write digits with m or g behind them, such as 256m"),
        ("-1", "not a size"),
        ("99999999999999999999", "too large for any machine"),
        ("4000t", "of memory here; take at most that"),
    ] {
        bench.refuses(&format!("run crossbench -s m --cache {size}"), 2, &["--cache", why]);
    }
}
