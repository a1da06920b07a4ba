//! Runs that do not come to their end: what was measured is kept, what was made for the
//! measurement is gone, no process stays.

use std::path::Path;

use crate::plugins::{BAD, compile};
use crate::support::{Bench, Ended, children, is_running, wait_for};
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

/// With the calibration only there is nothing for a page, which is no reason to end otherwise.
#[test]
fn an_interrupt_of_the_tour_is_one_before_it_has_anything_to_show() {
    let bench = Bench::new();
    let plugin = hanging_plugin(&bench);
    let child = bench.start(&format!("run -e bad -o tour.json --dir stores {plugin}"));
    wait_for("the calibration", || {
        let text = std::fs::read_to_string(bench.path().join("tour.json")).ok()?;
        text.contains("\"measurement\"").then_some(())
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("what was measured is in tour.json"), "{ended:?}");
    assert!(!bench.path().join("tour.html").exists(), "a page of nothing");
    bench.has_no_stores();
}

/// A plugin whose first insert never returns, so that its worker is at work however long a test
/// takes to reach it.
fn hanging_plugin(bench: &Bench) -> String {
    compile(bench, Path::new(BAD), "hangs.so", &["-DHANGS".into()]);
    "--plugin hangs.so".into()
}

/// A signal to all of a group reaches a worker that was just started, too: its end is no failure.
#[test]
fn a_worker_that_an_interrupt_ends_is_no_failed_cell() {
    let bench = Bench::new();
    compile(&bench, Path::new(BAD), "interrupts.so", &["-DINTERRUPTS".into()]);
    let line = "run crossbench -s m -e bad -i 1k -q 1k -u 1k -o run.json --plugin interrupts.so";
    let ended = bench.assay(line);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    let run = bench.run_file("run.json");
    assert_eq!(run["cells"].as_array().map(Vec::len), Some(1), "the calibration only: {run}");
}

/// Its first cell never ends, so no run file comes into the folder of the plan.
#[test]
fn an_interrupted_plan_leaves_no_empty_folder() {
    let bench = Bench::new();
    let plugin = hanging_plugin(&bench);
    let run =
        "[[run]]\nname = \"one\"\nsuite = \"tonbo-micro\"\nengine = \"bad\"\nstorage = \"m\"\n";
    let plan = format!("runs = \"results\"\n{run}");
    std::fs::write(bench.path().join("plan.toml"), plan).expect("write");
    let child = bench.start(&format!("plan -c plan.toml {plugin}"));
    wait_for("the folder", || bench.path().join("results").exists().then_some(()));
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(!bench.path().join("results").exists(), "{ended:?}");
}

#[test]
fn a_worker_that_crashes_is_one_failed_cell() {
    let bench = Bench::new();
    let plugin = hanging_plugin(&bench);
    let line = "run crossbench -s m -e bad,btreemap -i 1k -q 1k -u 1k -o run.json";
    let child = bench.start(&format!("{line} {plugin}"));
    wait_for("the calibration", || {
        let text = std::fs::read_to_string(bench.path().join("run.json")).ok()?;
        text.contains("\"measurement\"").then_some(())
    });
    let worker = wait_for("the worker", || children(child.id()).first().copied());
    kill(Pid::from_raw(worker), Signal::SIGABRT).expect("the worker is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let run = bench.run_file("run.json");
    let status = |at: usize| run["cells"][at]["status"].clone();
    let reason = status(1)["reason"].as_str().unwrap_or_default().to_string();
    assert!(reason.contains("killed by SIGABRT"), "{run}");
    assert_eq!(status(2)["outcome"], "measured", "the rest of the run went on: {run}");
}

#[test]
fn a_worker_that_is_stopped_is_given_up() {
    let bench = Bench::new();
    compile(&bench, Path::new(BAD), "stops.so", &["-DSTOPS".into()]);
    let line = "run crossbench -s m -e bad -i 1k -q 1k -u 1k -o run.json --plugin stops.so";
    // On a busy machine it may take longer until there is something to stop.
    let timeouts_s = (1..10).map(|doublings| 1 << doublings);
    let (timeout_s, ended, worker) = timeouts_s
        .map(|timeout_s: u32| (timeout_s, bench.assay(&format!("{line} --timeout {timeout_s}"))))
        .find_map(|(timeout_s, ended)| {
            let worker = std::fs::read_to_string(bench.path().join("stopped.pid")).ok()?;
            Some((timeout_s, ended, worker))
        })
        .expect("it stops at some time");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let why = format!("not done after {timeout_s} s; allow more with --timeout");
    assert!(ended.stderr.contains(&why), "{ended:?}");
    let worker = worker.trim().parse().expect("a process id");
    wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
}

/// The key that stops a program stops all of it.
#[test]
fn a_stop_from_the_keyboard_stops_the_worker_too() {
    let bench = Bench::new();
    let (child, worker) = start(&bench, &format!("{LONG} -e sqlite"));
    let parent = Pid::from_raw(child.id().cast_signed());
    let is_stopped = || {
        let status = std::fs::read_to_string(format!("/proc/{worker}/status")).unwrap_or_default();
        status.lines().any(|line| line.starts_with("State:") && line.contains('T'))
    };
    kill(parent, Signal::SIGTSTP).expect("the parent is there");
    wait_for("the stop of the worker", || is_stopped().then_some(()));
    kill(parent, Signal::SIGCONT).expect("the parent is there");
    wait_for("the worker at work", || (!is_stopped()).then_some(()));
    kill(parent, Signal::SIGINT).expect("the parent is there");
    assert_eq!(end(child).code, Some(130));
    wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
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
    assert_eq!(child.wait().expect("it ends").code(), Some(143));
}

/// The larger of the two sizes takes too long to be done before the interrupt comes.
#[test]
fn an_interrupted_ladder_keeps_what_was_measured() {
    let bench = Bench::new();
    let ladder = "plan crossbench-ladder -e sqlite -s d --max-rows 10k --with durability=commit";
    let child = bench.start(&format!("{ladder} --dir stores -o ladder.json"));
    wait_for("the first cells", || {
        let text = std::fs::read_to_string(bench.path().join("ladder.json")).ok()?;
        (text.matches("\"measurement\"").count() >= 2).then_some(())
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("it is there");
    let ended = end(child);
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("the same command goes on"), "{ended:?}");
    let run = bench.run_file("ladder.json");
    assert!(run["cells"].as_array().expect("cells").len() >= 2, "{run}");
    bench.has_no_stores();
}

#[test]
fn a_ladder_goes_on_where_it_was_interrupted() {
    let bench = Bench::new();
    let ladder = "plan crossbench-ladder -e sqlite -s d --max-rows 1k --with durability=commit \
                  --dir stores -o ladder.json";
    bench.succeeds(ladder);
    let mut run = bench.run_file("ladder.json");
    let cells = run["cells"].as_array_mut().expect("cells");
    cells.truncate(2);
    let before = cells.clone();
    std::fs::write(bench.path().join("ladder.json"), run.to_string()).expect("write");
    let ended = bench.succeeds(ladder);
    assert!(ended.stderr.contains("resuming ladder.json"), "{ended:?}");
    let after = bench.run_file("ladder.json")["cells"].as_array().expect("cells").clone();
    assert_eq!(after.len(), 4, "calibration and three loops");
    assert_eq!(after[..before.len()], before[..], "what was measured stays");
    let options = &after[3]["cell"]["options"];
    let counts = ["query", "update", "delete", "repeats"].map(|name| options[name].as_u64());
    assert_eq!(counts, [Some(1_000), Some(1_000), Some(1_000), Some(0)], "SQLite's script");
    let shown = bench.succeeds("show ladder.json --format published").stdout;
    assert!(shown.contains("On-Disk Benchmark Test"), "{shown}");
    assert_eq!(shown.matches("          SQLite            1000").count(), 3, "{shown}");
    bench.refuses(
        "plan crossbench-ladder -e lmdb -s d --max-rows 1k --dir stores -o ladder.json",
        3,
        &["cannot go on with this run", "--restart"],
    );
}
