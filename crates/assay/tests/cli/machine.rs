//! Assay's reports on the machine, and on itself for shells and manual readers.

use crate::support::Bench;

#[test]
fn the_doctor_looks_at_everything_and_runs_keep_it() {
    let bench = Bench::new();
    let ended = bench.succeeds("doctor --dir stores");
    for subject in [
        "governor",
        "turbo",
        "steal time",
        "load",
        "other runs",
        "huge pages",
        "memory",
        "free memory",
        "clock",
        "address randomisation",
        "filesystem (ramdisk)",
        "filesystem (disk)",
        "sync (disk)",
    ] {
        assert!(ended.stdout.contains(subject), "{subject}: {ended:?}");
    }
    bench.has_no_stores();
    bench.succeeds("run crossbench -s m -e btreemap -i 1k -q 1k -u 1k -o run.json");
    let findings = bench.run_file("run.json")["findings"].clone();
    assert_eq!(findings.as_array().map(Vec::len), Some(10), "{findings}");
}

#[test]
fn completions_and_manual_pages_know_the_commands() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = bench.succeeds(&format!("completions {shell}")).stdout;
        assert!(script.contains("crossbench") && script.contains("fail-on-regression"), "{shell}");
        assert!(!script.contains("power-cut-server"), "hidden commands stay hidden: {shell}");
    }
    assert!(bench.succeeds("man").stdout.contains("assay\\-crash"));
    bench.succeeds("man -o pages");
    let page = std::fs::read_to_string(bench.path().join("pages/assay-crash.1")).expect("a page");
    assert!(page.contains("sectors\\-512"), "{page}");
    assert!(!bench.path().join("pages/assay-worker.1").exists());
    bench.refuses("completions tcsh", 2, &["tcsh"]);
    bench.refuses("man -o /proc/nowhere", 3, &["/proc/nowhere", "--output"]);
}
