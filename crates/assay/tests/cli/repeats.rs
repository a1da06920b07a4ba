//! Rounds that were disturbed are done again, in every suite that has some which can be.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use assay_core::crew::bind;
use assay_driver::machine::usable_cpus;

use crate::support::Bench;

/// Work that shares a processor with the workers of a test, so that each of their rounds lacks it.
struct Other {
    cpu: usize,
    ends: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Other {
    fn begin() -> Self {
        let cpu = usable_cpus()[0];
        let ends = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ends);
        let thread = std::thread::spawn(move || {
            bind(&[cpu]).expect("the processor is there");
            while !seen.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        Self { cpu, ends, thread: Some(thread) }
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

/// The phases of a run of one engine, each with how many of its rounds were done again.
fn repeated(bench: &Bench, line: &str) -> Vec<(String, u64)> {
    bench.succeeds(line);
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let phases = cells
        .iter()
        .filter(|cell| cell["cell"]["calibration"] != true)
        .flat_map(|cell| cell["measurement"]["phases"].as_array().expect("phases"));
    let repeats = |phase: &serde_json::Value| phase["repeats"].as_u64().unwrap_or(0);
    phases.map(|phase| (phase["name"].as_str().expect("a name").into(), repeats(phase))).collect()
}

/// Returns true if the kernel counts what a thread waits for; else no round counts as disturbed.
fn is_counted() -> bool {
    let counted = std::fs::read_to_string("/proc/thread-self/schedstat");
    counted.is_ok_and(|text| text.split_whitespace().count() == 3)
}

#[test]
fn what_reads_or_writes_again_is_done_again_and_what_inserts_or_deletes_is_not() {
    if !is_counted() {
        return;
    }
    let other = Other::begin();
    let cpu = other.cpu;
    let common = format!("-e btreemap -s m -c {cpu} --repeats 2 -o run.json --timeout 300");
    let cases: [(&str, &[&str], &[&str]); 7] = [
        ("run crossbench -i 20k -q 20k -u 20k -d 20k", &["query", "update"], &["insert", "delete"]),
        ("run nudb --inserts 5k --fetches 20k", &["fetch"], &["insert"]),
        (
            "run skvdb -t 1 --entries 1 --operations 20k --children 5k",
            &["write, one record", "read, one record", "write, own records", "read, own records"],
            &["remove", "link", "unlink"],
        ),
        (
            "run tonbo-read --records 10k --ranges 40 --range-size 2k -t 1",
            &["random range reads", "random range projection reads"],
            &["load"],
        ),
        (
            "run tonbo-micro --batches 16 --warm-up 0.1 --measurement 1 --samples 10",
            &["write/16"],
            &[],
        ),
        ("run ycsb -w a,c,f --records 2k --operations 20k", &["run"], &["load"]),
        ("run ycsb -w d,e --records 2k --operations 2k", &[], &["load", "run"]),
    ];
    let mut repeated_rounds = 0;
    for (line, again, once) in cases {
        let bench = Bench::new();
        let phases = repeated(&bench, &format!("{line} {common}"));
        for (name, repeats) in &phases {
            // A short round may have had the processor for itself.
            let most = if again.contains(&name.as_str()) { 2 } else { 0 };
            assert!(*repeats <= most, "{line}: {name}: {repeats}");
            repeated_rounds += repeats;
        }
        let all_there = again.iter().chain(once).all(|name| phases.iter().any(|p| p.0 == **name));
        assert!(all_there, "{line}: {phases:?}");
    }
    assert!(repeated_rounds > 0, "no round was done again");
}

#[test]
fn suites_that_only_fill_and_empty_have_no_repeats() {
    let bench = Bench::new();
    bench.refuses("run tonbo-write --repeats 1", 2, &["--repeats"]);
    bench.refuses("run ycsb --repeats 1001", 2, &["--repeats", "1000"]);
    assert!(!bench.succeeds("run tonbo-write --help").stdout.contains("--repeats"));
    for suite in ["crossbench", "nudb", "skvdb", "tonbo-read", "tonbo-micro", "ycsb"] {
        bench.helps(&format!("run {suite}"), "--repeats <COUNT> Repeat at most this many rounds");
    }
}
