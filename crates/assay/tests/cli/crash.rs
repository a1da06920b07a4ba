//! `assay crash`: engines that keep their promise, controls that must not, and what is left of
//! the tests themselves, which is nothing.

use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::support::{Bench, Ended, children, has_power_cuts, wait_for};

const DIR: &str = "--dir stores -o durability.json";
const IMAGES: &str = "--images images";

fn verdicts(bench: &Bench) -> Vec<Value> {
    let file = bench.run_file("durability.json");
    file["verdicts"].as_array().expect("a list").clone()
}

fn number(verdict: &Value, name: &str) -> u64 {
    verdict[name].as_u64().unwrap_or_else(|| panic!("{name}: {verdict}"))
}

/// No filesystem of a power cut is mounted where any but its own processes sees it.
fn nothing_is_mounted() {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    assert!(!mounts.contains("assay-powercut"), "{mounts}");
}

#[test]
fn killed_processes_lose_nothing() {
    let bench = Bench::new();
    let line = "crash -e sqlite,lmdb,fjall --durability process --crash process --rounds 8";
    let ended = bench.succeeds(&format!("{line} --commits 80 {DIR}"));
    let kept = "broken in none of 8: at most 31 %";
    assert_eq!(ended.stdout.matches(kept).count(), 3, "{ended:?}");
    for verdict in verdicts(&bench) {
        assert_eq!(number(&verdict, "rounds"), 8);
        assert!(number(&verdict, "acknowledged") > 0, "{verdict}");
    }
    bench.has_no_stores();
}

/// Several threads leave one order of all their commits, at each kind of crash.
#[test]
fn several_threads_lose_nothing_at_commit() {
    let bench = Bench::new();
    let crashes = if has_power_cuts() { "process,power" } else { "process" };
    let line = "crash -e sqlite,lmdb --durability commit --threads 4 --rounds 6 --commits 120";
    let ended = bench.succeeds(&format!("{line} --crash {crashes} {DIR}"));
    let kinds = crashes.split(',').count();
    assert_eq!(ended.stdout.matches(" with 4 threads: broken in none of 6").count(), 2 * kinds);
    for verdict in verdicts(&bench) {
        assert_eq!(number(&verdict, "threads"), 4);
        assert!(number(&verdict, "acknowledged") > 8, "more than the shared rows: {verdict}");
    }
    bench.has_no_stores();
}

/// SQLite copies its log into the file when it opens: crashes come in between.
#[test]
fn crashes_within_recovery_lose_nothing_at_commit() {
    let bench = Bench::new();
    let crashes = if has_power_cuts() { "process,power" } else { "process" };
    let line = "crash -e sqlite,fjall --durability commit --crashes 3 --rounds 6 --commits 120";
    let ended = bench.succeeds(&format!("{line} --crash {crashes} {DIR}"));
    assert!(ended.stdout.contains(" with 3 crashes: broken in none of 6"), "{ended:?}");
    let cut = |verdict: &Value| number(verdict, "cut_openings");
    let verdicts = verdicts(&bench);
    let of_power = verdicts.iter().filter(|verdict| verdict["crash"] == "power");
    assert!(!has_power_cuts() || of_power.clone().all(|verdict| cut(verdict) > 6), "{verdicts:?}");
    assert!(verdicts.iter().any(|verdict| verdict["crash"] == "process" && cut(verdict) > 0));
    bench.has_no_stores();
}

/// sled loses what it flushed, so a store that opens has lost something.
#[test]
fn a_crash_within_recovery_is_named_and_can_be_repeated() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e sled --durability commit --crash power --crashes 2 --further 0";
    let ended = bench.assay(&format!("{line} --rounds 6 --commits 40 {DIR} {IMAGES}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let verdicts = verdicts(&bench);
    let failures = verdicts[0]["failures"].as_array().expect("a list");
    let within = failures.iter().find(|failure| failure["recoveries"].is_array());
    let within = within.expect("a store that could be opened once");
    let command = within["command"].as_str().expect("a command").trim_start_matches("assay ");
    assert!(command.contains("--crashes 2") && command.contains(','), "{command}");
    let again = bench.assay(&format!("{command} {DIR} {IMAGES}"));
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("crashed again before operation "), "{again:?}");
}

/// A copy is of one moment, is refused, or is shown to be a mixture, which is no failure.
#[test]
fn copies_of_open_stores_are_judged_and_no_fault() {
    let bench = Bench::new();
    let line = "crash -e sqlite,lmdb,redb --copy --rounds 6 --commits 150";
    let ended = bench.succeeds(&format!("{line} --durability commit {DIR} {IMAGES}"));
    let verdicts = verdicts(&bench);
    assert_eq!(verdicts.len(), 3, "{ended:?}");
    for verdict in &verdicts {
        assert_eq!((&verdict["crash"], &verdict["promise"]), (&"copy".into(), &"copy".into()));
        assert_eq!(number(verdict, "rounds"), 6);
    }
    let rules = [("sqlite", true), ("lmdb", false), ("redb", true)];
    for (verdict, (engine, has_rule)) in verdicts.iter().zip(rules) {
        assert_eq!(
            (verdict["engine"].as_str(), verdict["copy_rule"].is_string()),
            (Some(engine), has_rule)
        );
    }
    assert!(ended.stdout.contains("; its authors say: "), "{ended:?}");
    let mixed = verdicts.iter().flat_map(|verdict| verdict["failures"].as_array().expect("a list"));
    // Which pages are copied while they are written is up to the machine.
    let Some(mixed) = mixed.last() else { return bench.has_no_stores() };
    let image = mixed["image"].as_str().expect("a folder");
    let opened = bench.succeeds(&format!("crash --open {image} --dir stores"));
    let now = opened.stdout.lines().find_map(|line| line.strip_prefix(" now: "));
    let was = opened.stdout.lines().find_map(|line| line.strip_prefix(" the round: "));
    assert!(now.is_some() && now == was, "{opened:?}");
    let command = mixed["command"].as_str().expect("a command").trim_start_matches("assay ");
    assert!(command.contains(" --copy "), "{command}");
    bench.succeeds(&format!("{command} {DIR} {IMAGES}"));
    bench.has_no_stores();
}

/// SQLite without `synchronous` and LMDB without syncs lose commits when the power goes, and more
/// than those: if they lost none, the filesystem would be broken.
#[test]
fn a_power_cut_takes_what_was_not_synchronised_and_spares_what_was() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e sqlite,lmdb,mdbx --crash power --rounds 24 --commits 100";
    let ended = bench.succeeds(&format!("{line} {DIR}"));
    let verdicts = verdicts(&bench);
    let of = |engine: &str, level: &str| {
        let is = |verdict: &&Value| verdict["engine"] == engine && verdict["durability"] == level;
        verdicts.iter().find(is).expect("a verdict").clone()
    };
    let mut broken = 0;
    for engine in ["sqlite", "lmdb"] {
        let control = of(engine, "process");
        assert!(number(&control, "lost_rounds") >= 8, "{control}");
        broken += number(&control, "torn_rounds") + number(&control, "refused_rounds");
        let careful = of(engine, "commit");
        assert_eq!(number(&careful, "lost_rounds"), 0, "{careful}");
        assert_eq!(careful["failures"].as_array().map(Vec::len), Some(0), "{careful}");
    }
    assert!(broken >= 1, "what is lost out of order breaks a store now and then");
    let periodic = of("lmdb", "periodic");
    assert_eq!(number(&periodic, "lost_commits_most"), 1, "{periodic}");
    // It takes commits back that it did not sync only if it finds itself in another boot.
    let taken_back = of("mdbx", "periodic");
    assert!(number(&taken_back, "lost_rounds") >= 8, "{taken_back}");
    // It states an interval, so the age of what was lost is measured; LMDB states none.
    assert_eq!(number(&taken_back, "interval_ms"), 100);
    assert!(taken_back["lost_age_most_ms"].is_u64(), "{taken_back}");
    assert!(periodic["interval_ms"].is_null(), "{periodic}");
    assert!(ended.stdout.contains(" ms old)"), "{ended:?}");
    nothing_is_mounted();
    bench.has_no_stores();
}

/// LMDB never synchronises its directory: where a name needs that, its file may vanish.
#[test]
fn a_broken_promise_is_named_and_can_be_repeated() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e lmdb --durability commit --crash power --directories strict -t 2";
    let ended = bench.assay(&format!("{line} --rounds 6 --further 3 --commits 40 {DIR} {IMAGES}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("lmdb does not keep what commit promises"), "{ended:?}");
    let before = verdicts(&bench);
    let failures = before[0]["failures"].as_array().expect("a list").len();
    assert!(ended.stdout.contains(&format!("REFUTED in {failures} of 9 rounds")), "{ended:?}");
    let images = std::fs::read_dir(bench.path().join("images")).expect("images").count();
    assert_eq!(images, failures, "one of each broken round");
    let failure = &before[0]["failures"][failures - 1];
    let command = failure["command"].as_str().expect("a command").trim_start_matches("assay ");
    assert!(command.contains("--threads 2"), "{command}");
    let again = bench.assay(&format!("{command} {DIR} {IMAGES}"));
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("REFUTED in 1 of 1 rounds"), "{again:?}");
    assert_eq!(verdicts(&bench), before, "one round is no verdict");
    let image = failure["image"].as_str().expect("a folder");
    // What is looked at is a copy, so it can be looked at again.
    for _ in 0..2 {
        let opened = bench.assay(&format!("crash --open {image} --dir stores"));
        assert_eq!(opened.code, Some(1), "{opened:?}");
        let found = opened.stdout.lines().find_map(|line| line.strip_prefix(" now: "));
        let was = opened.stdout.lines().find_map(|line| line.strip_prefix(" the round: "));
        assert!(found.is_some() && found == was, "{opened:?}");
    }
    bench.has_no_stores();
    bench.succeeds(&format!("{line} --rounds 6 --commits 40 --loss nothing {DIR}"));
    assert_eq!(verdicts(&bench), before, "nor is one kind of loss");
}

/// LMDB's file may vanish under the strict rule, in a state that each cut may leave.
#[test]
fn every_state_that_cuts_may_leave_is_tried() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash --durability commit --crash power --enumerate --states 8 --commits 3";
    let ended = bench.succeeds(&format!("{line} -e lode,sqlite,lmdb {DIR}"));
    assert!(ended.stdout.contains("may leave more than the 8 that were tried"), "{ended:?}");
    let before = verdicts(&bench);
    for verdict in &before {
        let enumerated = &verdict["enumerated"];
        let (states, cuts) = (number(verdict, "rounds"), number(enumerated, "operations"));
        let all = states + number(enumerated, "equal");
        assert!(cuts > 3 && all > cuts && states <= 8 * (cuts + 1), "{verdict}");
        let held = format!("broken in none of {states} states that cuts before {cuts} operations");
        assert!(ended.stdout.contains(&held), "{held}: {ended:?}");
        assert_eq!(verdict["failures"].as_array().map(Vec::len), Some(0));
    }
    let strict = format!("{line} -e lmdb --directories strict {DIR} {IMAGES}");
    let ended = bench.assay(&strict);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let all = verdicts(&bench);
    assert_eq!(all.len(), before.len() + 1, "{all:?}");
    let verdict = all.last().expect("the last one");
    let (broken, states) = (verdict["failures"].as_array().expect("a list"), &verdict["rounds"]);
    let said = format!("REFUTED in {} of {states} states", broken.len());
    assert!(ended.stdout.contains(&said), "{said}: {ended:?}");
    let command = broken[0]["command"].as_str().expect("a command").trim_start_matches("assay ");
    let again = bench.assay(&format!("{command} {DIR} {IMAGES}"));
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stdout.contains("REFUTED in 1 of 1 states"), "{again:?}");
    assert_eq!(verdicts(&bench), all, "one state is no verdict");
    // The form that help and errors name, of an operation beyond the number of commits.
    let late = "crash -e lmdb --durability commit --enumerate --round 0 --at 999,1";
    assert_eq!(bench.assay(&format!("{late} {DIR}")).code, Some(0));
    let none = bench.assay(&format!("{line} -e lmdb --round 0 --at 1,1 {DIR}"));
    assert_eq!(none.code, Some(1), "{none:?}");
    let said = "a cut before operation 1 leaves 0 states here";
    assert!(none.stdout.contains(said), "{none:?}");
    let image = broken[0]["image"].as_str().expect("a folder");
    assert_eq!(bench.assay(&format!("crash --open {image} --dir stores")).code, Some(1));
    nothing_is_mounted();
    bench.has_no_stores();
}

/// sled loses what it flushed, and leaves files with the rest.
#[test]
fn an_image_has_the_files_as_the_power_cut_left_them() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e sled --durability commit --crash power --rounds 6 --further 0";
    let ended = bench.assay(&format!("{line} --commits 40 {DIR} {IMAGES}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let mut with_files = 0;
    for failure in verdicts(&bench)[0]["failures"].as_array().expect("a list") {
        let image = failure["image"].as_str().expect("a folder");
        let store = std::fs::read_dir(bench.path().join(image).join("store")).expect("a store");
        with_files += usize::from(store.count() > 0);
        let opened = bench.assay(&format!("crash --open {image} --dir stores"));
        let now = opened.stdout.lines().find_map(|line| line.strip_prefix(" now: "));
        let was = opened.stdout.lines().find_map(|line| line.strip_prefix(" the round: "));
        assert!(now.is_some() && now == was, "{opened:?}");
    }
    assert!(with_files > 0, "a cut spares something now and then");
    let failures = &verdicts(&bench)[0]["failures"];
    let image = failures[0]["image"].as_str().expect("a folder");
    let path = bench.path().join(image).join("round.json");
    let mut round: Value =
        serde_json::from_slice(&std::fs::read(&path).expect("a round")).expect("JSON");
    round["found"] = serde_json::json!({ "hung": "nothing happened for 9 s" });
    std::fs::write(&path, round.to_string()).expect("write");
    let opened = bench.assay(&format!("crash --open {image} --dir stores"));
    let command = failures[0]["command"].as_str().expect("a command");
    let words = format!("no files show that; repeat the round with\n   {command}\n");
    assert!(opened.stdout.contains(&words), "{opened:?}");
}

/// sled loses what it flushed, whatever the disk does before.
#[test]
fn what_broke_promises_on_a_failing_disk_is_counted() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e sled --durability commit --crash power --fault slow --rounds 3";
    let ended = bench.assay(&format!("{line} --further 0 --commits 40 {DIR} {IMAGES}"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("; broken by: lost "), "{ended:?}");
}

/// Each fault is met, and after each the store is whole and takes commits.
#[test]
fn a_failing_disk_makes_careful_engines_lose_nothing() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e lode,sqlite --durability commit --fault all --rounds 3 --commits 60";
    let ended = bench.succeeds(&format!("{line} {DIR}"));
    let verdicts = verdicts(&bench);
    assert_eq!(verdicts.len(), 2 * 6 * 2, "engines, faults, and kinds of crash: {ended:?}");
    let mut refused = 0;
    for verdict in &verdicts {
        let faults = &verdict["faults"];
        assert!(number(faults, "met_rounds") > 0, "{verdict}");
        assert!(faults["lasts"].is_null(), "rounds take turns: {verdict}");
        refused += number(faults, "refused_commits");
        let prepared = if faults["fault"] == "eio-read" { 30 } else { 0 };
        let most = (60 - prepared) * number(verdict, "rounds");
        assert!(number(verdict, "acknowledged") <= most, "on the failing disk: {verdict}");
    }
    assert!(refused > 10, "{refused} commits were refused");
    assert!(ended.stdout.contains(" at commit, power with eio-sync: broken in none of 3"));
    nothing_is_mounted();
    bench.has_no_stores();
    let before = verdicts;
    // Each has one round at least that met its fault; others may have ended before it came.
    let fewer = line.replace("--rounds 3", "--rounds 1");
    let again = bench.succeeds(&format!("{fewer} {DIR} --missing"));
    assert!(again.stdout.contains("durability.json has all these verdicts"), "{again:?}");
    let line = "crash -e sqlite --durability commit --crash power --fault full --round 1 --at 12";
    let one = bench.succeeds(&format!("{line} --fault-lasts healed --loss nothing {DIR}"));
    assert!(one.stdout.contains(" at commit, power with full healed: "), "{one:?}");
    assert_eq!(crate::crash::verdicts(&bench), before, "one round is no verdict");
}

#[test]
fn rounds_that_meet_no_fault_are_no_verdict() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let line = "crash -e lmdb --durability process --crash process --rounds 2 --commits 20";
    let words = ["lmdb at process, process with eio-sync: the writer does nothing that eio-sync"];
    bench.refuses(&format!("{line} --fault eio-sync {DIR}"), 3, &words);
    let both = bench.succeeds(&format!("{line} --fault eio-sync,full {DIR}"));
    assert!(both.stderr.contains(&format!("note: not tested: {}", words[0])), "{both:?}");
    assert_eq!(verdicts(&bench).len(), 1, "{both:?}");
    let late = "crash -e lmdb --crash process --commits 20 --fault full --round 0 --at 99999";
    let words = ["in 1 rounds no operation met full"];
    bench.refuses(&format!("{late} --durability commit {DIR}"), 3, &words);
}

/// libmdbx takes what it did not sync for lost if it finds itself in another boot; and it hears of
/// an error of writing a page back when it opens a store, unless another has heard of it before.
#[test]
fn after_a_fault_a_killed_process_leaves_its_boot_and_a_healed_disk() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    for (level, fault) in [("process", "slow"), ("commit", "eio-write")] {
        let line = format!("crash -e mdbx --durability {level} --crash process --fault {fault}");
        let ended = bench.succeeds(&format!("{line} --rounds 6 --commits 60 {DIR}"));
        let kept = format!("process with {fault}: broken in none of 6");
        assert!(ended.stdout.contains(&kept), "{ended:?}");
    }
    bench.has_no_stores();
}

#[test]
fn only_what_is_missing_is_tested() {
    let bench = Bench::new();
    let line = "crash -e sqlite,lmdb --durability process --crash process --commits 5";
    bench.succeeds(&format!("{line} --rounds 2 {DIR}"));
    let before = verdicts(&bench);
    let none = bench.succeeds(&format!("{line} --rounds 2 --missing {DIR}"));
    assert!(none.stdout.contains("durability.json has all these verdicts"), "{none:?}");
    assert_eq!(verdicts(&bench), before);
    let mut one = serde_json::json!(bench.run_file("durability.json"));
    one["verdicts"].as_array_mut().expect("a list").remove(0);
    std::fs::write(bench.path().join("durability.json"), one.to_string()).expect("write");
    let rest = bench.succeeds(&format!("{line} --rounds 2 --missing {DIR}"));
    assert!(rest.stderr.contains("testing sqlite") && !rest.stderr.contains("testing lmdb"));
    let more = bench.succeeds(&format!("{line} --rounds 3 --missing {DIR}"));
    assert_eq!(
        more.stderr.matches("testing ").count(),
        2,
        "fewer rounds are not as much: {more:?}"
    );
}

#[test]
fn what_is_no_image_is_not_opened() {
    let bench = Bench::new();
    bench.refuses("crash --open nosuch", 3, &["nosuch", "no image of a store"]);
    bench.refuses("crash --open nosuch -e sqlite", 2, &["--open"]);
    std::fs::create_dir(bench.path().join("mine")).expect("a folder");
    std::fs::write(bench.path().join("mine/round.json"), "{}").expect("write");
    bench.refuses("crash --open mine", 3, &["mine", "no image of a store"]);
    assert_eq!(bench.list(), ["mine"], "nothing is made");
}

#[test]
fn a_refuted_level_is_marked_in_later_runs() {
    let bench = Bench::new();
    let file = bench.path().join("assay-runs/durability.json");
    let line = "crash -e sqlite --durability process --crash process --rounds 1 --commits 5";
    bench.succeeds(&format!("{line} --dir stores"));
    let run = "run crossbench -e sqlite,lmdb -i 1k -q 1k -u 1k -d 1k --dir stores";
    bench.succeeds(&format!("{run} -s m,r -Q -o held.json"));
    let held = |cell: &Value| (cell["cell"]["storage"].clone(), cell["held"].clone());
    let cells = bench.run_file("held.json")["cells"].clone();
    let cells = cells.as_array().expect("cells").iter();
    let of_sqlite: Vec<_> =
        cells.filter(|cell| cell["cell"]["engine"] == "sqlite").map(held).collect();
    let [(_, nothing), (_, found)] = &of_sqlite[..] else { panic!("{of_sqlite:?}") };
    assert!(nothing.is_null(), "memory survives nothing: {nothing}");
    let words = "sqlite at process: `assay crash` broke it in none of 1 killed processes";
    assert!(found["words"].as_str().expect("words").starts_with(words), "{found}");
    assert_eq!(found["most"].as_f64().map(|most| (most * 100.0).round()), Some(95.0));
    let mut verdicts: Value =
        serde_json::from_slice(&std::fs::read(&file).expect("verdicts")).expect("JSON");
    let failure = serde_json::json!({ "found": { "lost": { "commits": 2 } }, "command": "again" });
    verdicts["verdicts"][0]["failures"] = Value::Array(vec![failure]);
    std::fs::write(&file, verdicts.to_string()).expect("write");
    let ended = bench.succeeds(run);
    let words = "sqlite at process: `assay crash` refuted this level in 1 of 1 killed processes: 2 \
                 acknowledged commits were lost";
    assert!(ended.told().contains(&format!("† {words}")), "{ended:?}");
    assert_eq!(ended.stdout.matches("\n sqlite†").count(), 1, "{ended:?}");
    let published = bench.succeeds(&format!("{run} --format published"));
    assert!(published.stderr.contains(words), "{published:?}");
}

#[test]
fn an_interrupt_leaves_no_mount_and_no_process() {
    let crashes = if has_power_cuts() { "power" } else { "process" };
    let bench = Bench::new();
    let child = bench.start(&format!(
        "crash -e sqlite --durability commit --crash {crashes} --rounds 9999 {DIR}"
    ));
    let processes = wait_for("its processes", || {
        let all = children(child.id());
        (!all.is_empty()).then_some(all)
    });
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGINT).expect("the parent is there");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(130), "{output:?}");
    for process in processes {
        wait_for("the end of its processes", || {
            (!Path::new(&format!("/proc/{process}")).exists()).then_some(())
        });
    }
    nothing_is_mounted();
    bench.has_no_stores();
}

#[test]
fn a_killed_assay_takes_the_mount_with_it() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let mut child = bench
        .start(&format!("crash -e sqlite --durability commit --crash power --rounds 9999 {DIR}"));
    let processes = wait_for("its processes", || {
        let all = children(child.id());
        (all.len() > 1).then_some(all)
    });
    child.kill().expect("the parent is there");
    child.wait().expect("it ends");
    for process in processes {
        wait_for("the end of its processes", || {
            (!Path::new(&format!("/proc/{process}")).exists()).then_some(())
        });
    }
    nothing_is_mounted();
    // What a killed test leaves, the next one replaces.
    let line = "crash -e sqlite --durability commit --rounds 1 --commits 5";
    let Ended { code, .. } = bench.assay(&format!("{line} {DIR}"));
    assert_eq!(code, Some(0));
    bench.has_no_stores();
}

#[test]
fn bad_input_is_refused() {
    let bench = Bench::new();
    bench.refuses("crash -e sqlite --at 5", 2, &["--round"]);
    bench.refuses("crash -e sqlite --rounds 0", 2, &["--rounds"]);
    bench.refuses("crash -e sqlite --fault some", 2, &["there is no fault some", "eio-sync"]);
    bench.refuses("crash -e sqlite --fault-lasts once", 2, &["--fault"]);
    let ever = "crash -e sqlite --fault full --fault-lasts ever";
    bench.refuses(ever, 2, &["no fault lasts ever", "healed"]);
    bench.refuses("crash -e sqlite --fault full --threads 2", 2, &["--fault", "--threads"]);
    bench.refuses("crash --open images --fault full", 2, &["--open", "--fault"]);
    bench.refuses("crash -e sqlite --fault full --copy", 2, &["--fault", "--copy"]);
    bench.refuses("crash -e sqlite --copy --crash process", 2, &["--copy", "--crash"]);
    bench.refuses("crash -e sqlite --crashes 17", 2, &["--crashes", "16"]);
    let moments = "crash -e sqlite --round 1 --at 5 --crashes 2";
    bench.refuses(moments, 2, &["--at names 1 of 2 moments"]);
    bench.refuses("crash -e sqlite --enumerate --rounds 9", 2, &["--enumerate", "--rounds"]);
    bench.refuses("crash -e sqlite --states 9", 2, &["--enumerate"]);
    let killed = "crash -e sqlite --enumerate --crash process";
    bench.refuses(killed, 2, &["--enumerate is for --crash power"]);
    let nothing = "crash -e sqlite --enumerate --durability process";
    if has_power_cuts() {
        bench.refuses(nothing, 2, &["these levels promise nothing about a power cut"]);
    }
    let lasts = "crash -e sqlite --enumerate --fault-lasts once";
    bench.refuses(lasts, 2, &["--enumerate", "--fault-lasts"]);
    let half = "crash -e sqlite --enumerate --round 0 --at 7";
    bench.refuses(half, 2, &["--at names an operation and a state", "--at 57,3"]);
    bench.refuses("crash -e sqlite --threads 65", 2, &["--threads", "1..=64"]);
    bench.refuses("crash -e sqlite --loss some", 2, &["there is no loss some", "sectors-512"]);
    bench.refuses("crash -e nosuch", 2, &["nosuch"]);
    bench.refuses("crash -e btreemap", 2, &["btreemap", "keeps nothing on disk"]);
    bench.refuses("crash -e sqlite --crash process --loss prefix", 2, &["--crash power"]);
    bench.refuses("crash -e sqlite -o /proc/x/y.json", 3, &["/proc/x/y.json", "--output"]);
    std::fs::write(bench.path().join("mine.json"), "{}").expect("write");
    bench.refuses("crash -e sqlite -o mine.json", 3, &["mine.json", "not a file of verdicts"]);
    let stores = bench.stores().join("crash-sqlite-disk");
    std::fs::create_dir_all(&stores).expect("a directory");
    std::fs::write(stores.join("mine"), "precious").expect("write");
    bench.refuses(&format!("crash -e sqlite {DIR}"), 3, &["files here that Assay did not make"]);
    assert!(stores.join("mine").exists());
}

#[test]
fn what_would_wait_or_test_in_vain_is_refused() {
    let bench = Bench::new();
    for (line, expected) in [
        ("-e sqlite --threads 4 --commits 11", "--commits 11 leaves 4 threads nothing to do"),
        ("-e sqlite --crash process --round 0 --at 301", "--at waits for commit 301 of 300"),
        ("--open images --threads 2", "cannot be used with"),
        ("-e sqlite --copy --further 3", "cannot be used with"),
    ] {
        bench.refuses(&format!("crash {line} --dir stores"), 2, &[expected]);
    }
    bench.has_no_stores();
}

#[test]
fn files_of_other_versions_are_named_so() {
    let bench = Bench::new();
    let old = r#"{"format": "assay-durability", "schema_version": 1, "verdicts": [{"engine": 1}]}"#;
    let path = bench.path().join("old.json");
    std::fs::write(&path, old).expect("a writable directory");
    let words = ["old.json", "verdicts of schema version 1"];
    bench.refuses("crash -e sqlite --rounds 1 -o old.json --dir stores", 3, &words);
    let words = ["old.json", "is a file of verdicts, which would be lost"];
    bench.refuses("gate -e sqlite --save old.json", 3, &words);
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), old);
}
