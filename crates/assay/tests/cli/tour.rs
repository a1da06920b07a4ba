//! `assay run` without a suite, and what stands before a run.

use crate::support::Bench;

#[test]
fn without_a_suite_there_is_a_tour_with_a_page() {
    let bench = Bench::new();
    let ended = bench.succeeds("run -e hashbrown,lode -o tour.json --dir stores");
    for words in [
        "crossbench · memory · 100k rows",
        "crossbench · RAM disk · 100k rows",
        "\n page: tour.html\n run file: tour.json\n",
    ] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(ended.stderr.contains("3 cells: about "), "an estimate comes first: {ended:?}");
    let page = std::fs::read_to_string(bench.path().join("tour.html")).expect("the page");
    assert!(page.contains("hashbrown") && page.trim_end().ends_with("</html>"));
    assert_eq!(bench.list(), ["tour.html", "tour.json"], "nothing else is left");
    // The table is drawn from the run file again.
    assert!(ended.stdout.starts_with(&bench.succeeds("show tour.json").stdout));
}

/// An engine that synchronises each commit deletes a tenth of the rows.
#[test]
fn the_tour_removes_stores_that_still_have_rows() {
    let bench = Bench::new();
    let shm = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let shm = shm.expect("a temporary directory");
    let dir = shm.path().join("stores");
    let line = "run -e lode --durability commit -o tour.json --dir";
    let ended = bench.succeeds(&format!("{line} {}", dir.display()));
    assert!(ended.told().contains("RAM disk"), "{ended:?}");
    assert!(!dir.exists(), "stores are left: {:?}", dir.read_dir());
}

#[test]
fn the_tour_refuses_what_it_cannot_do() {
    let bench = Bench::new();
    bench.refuses("run -e nosuch", 2, &["no engine nosuch"]);
    bench.refuses("run -e sqlite -o page.html --dir stores", 2, &["page.html", ".json"]);
    let both = "run -e sqlite crossbench -s m -e btreemap -i 10 -q 10 -u 10 -o run.json";
    bench.refuses(both, 2, &["crossbench"]);
    assert_eq!(bench.list(), [] as [&str; 0], "nothing is left");
}

/// A run of hours is announced before it starts; without a terminal nothing is asked.
#[test]
fn a_long_run_is_told_with_what_is_shorter() {
    let bench = Bench::new();
    // A billion queries in each round, and a cell that is given up at once.
    let line = "run crossbench -s m -e hashbrown -i 1k -q 1000m -u 0 -o run.json --timeout 1";
    let told = bench.assay(line).stderr;
    assert!(told.contains("1 cell: about 2.8 h (one is guessed"), "{told}");
    assert!(told.contains("note: 2.8 h is long; it takes less time with -i 100k"), "{told}");
    let quick = bench.assay(&format!("{line} --yes")).stderr;
    assert!(quick.contains("about 2.8 h") && !quick.contains("is long"), "{quick}");
    let quiet = bench.assay(&format!("{line} -Q --yes")).stderr;
    assert!(!quiet.contains("about"), "{quiet}");
}

/// The times of what was measured here before are known.
#[test]
fn the_time_is_known_from_earlier_runs() {
    let bench = Bench::new();
    let line = "run crossbench -s m -e btreemap -i 1k -q 1k -u 1k";
    assert!(bench.succeeds(line).stderr.contains("one is guessed"));
    assert!(bench.succeeds(line).stderr.contains("from earlier runs here"));
}
