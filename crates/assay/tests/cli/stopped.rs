//! Runs that do not come to their end: what was measured is kept, what was made for the
//! measurement is gone, no process stays.

use crate::support::{Bench, Ended, children, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// Cells that take long enough to be caught in the act.
const LONG: &str = "run crossbench -s d --durability commit --dir stores -o run.json -i 1m";

fn start(bench: &Bench, line: &str) -> (std::process::Child, i32) {
    let child = bench.start(line);
    wait_for("the store", || {
        let entries = std::fs::read_dir(bench.stores()).ok()?.flatten();
        entries.map(|entry| entry.path().join("data")).find(|data| data.exists())
    });
    let worker = wait_for("the worker", || children(child.id()).first().copied());
    (child, worker)
}

fn end(child: std::process::Child) -> Ended {
    let output = child.wait_with_output().expect("it ends");
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

fn is_running(process: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, after)| !after.trim_start().starts_with('Z'))
}

#[test]
fn an_interrupt_keeps_what_was_measured_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let (child, worker) = start(&bench, &format!("{LONG} -e sqlite"));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("the parent is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted; what was measured is in run.json"), "{ended:?}");
    let run = bench.run_file("run.json");
    assert_eq!(run["cells"].as_array().map(Vec::len), Some(1), "the calibration was done");
    wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
    bench.has_no_stores();
}

#[test]
fn a_worker_that_crashes_is_one_failed_cell() {
    let bench = Bench::new();
    let (child, worker) = start(&bench, &format!("{LONG} -e sqlite,lmdb --timeout 2"));
    kill(Pid::from_raw(worker), Signal::SIGABRT).expect("the worker is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let run = bench.run_file("run.json");
    let reason = |at: usize| run["cells"][at]["status"]["reason"].as_str().unwrap_or_default();
    assert!(reason(1).contains("killed by SIGABRT"), "{run}");
    assert!(reason(2).contains("not done after 2 s"), "the rest of the run went on: {run}");
    bench.has_no_stores();
}

#[test]
fn a_worker_that_hangs_is_given_up() {
    let bench = Bench::new();
    let (child, worker) = start(&bench, &format!("{LONG} -e sqlite --timeout 2"));
    kill(Pid::from_raw(worker), Signal::SIGSTOP).expect("the worker is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("not done after 2 s; allow more with --timeout"), "{ended:?}");
    wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
    bench.has_no_stores();
}

#[test]
fn a_worker_does_not_outlive_its_parent() {
    let bench = Bench::new();
    let (mut child, worker) = start(&bench, &format!("{LONG} -e sqlite"));
    child.kill().expect("the parent is there");
    child.wait().expect("it ends");
    wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
    // What such an end leaves, the next run replaces.
    bench.succeeds("run crossbench -s d -e sqlite --dir stores -i 10 -q 10 -u 10");
}

#[test]
fn two_assays_do_not_share_a_directory() {
    let bench = Bench::new();
    let (mut child, _) = start(&bench, &format!("{LONG} -e sqlite"));
    bench.refuses(
        "run crossbench -s d -e lmdb --dir stores -i 10",
        3,
        &["another assay is at work there"],
    );
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM).expect("it is there");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
}

#[test]
fn a_ladder_goes_on_where_it_was_interrupted() {
    let bench = Bench::new();
    let ladder = "ladder crossbench -e sqlite -s d --max-rows 1k --durability commit \
                  --dir stores -o ladder.json";
    let child = bench.start(ladder);
    wait_for("the first cells", || {
        let text = std::fs::read_to_string(bench.path().join("ladder.json")).ok()?;
        (text.matches("\"measurement\"").count() >= 2).then_some(())
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("the same command goes on"), "{ended:?}");
    let before = bench.run_file("ladder.json")["cells"].as_array().expect("cells").clone();
    let ended = bench.succeeds(ladder);
    assert!(ended.stderr.contains("resuming ladder.json"), "{ended:?}");
    let after = bench.run_file("ladder.json")["cells"].as_array().expect("cells").clone();
    assert_eq!(after.len(), 4, "calibration and three loops");
    assert_eq!(after[..before.len()], before[..], "what was measured stays");
    assert!(ended.stdout.contains("On-Disk Benchmark Test"), "{ended:?}");
    assert_eq!(ended.stdout.matches("          SQLite            1000").count(), 3, "{ended:?}");
    bench.refuses(
        "ladder crossbench -e lmdb -s d --max-rows 1k --dir stores -o ladder.json",
        3,
        &["cannot go on with this run", "--restart"],
    );
}
