//! `assay torture`: programs that keep their promise, programs that must not, and commands with
//! which nothing can be tested.

use std::ffi::OsString;

use crate::support::{Bench, Ended, has_power_cuts};

/// Appends each item to a file, syncs it, and acknowledges it then.
const SYNCED: &str = "\
for n in $(seq 60); do
  echo try $n; echo $n >> items; sync items; echo ack $n
done";

/// Acknowledges each item before it is synced.
const EARLY: &str = "\
for n in $(seq 60); do
  echo try $n; echo $n >> items; echo ack $n
done";

/// Keeps items in memory, and writes them at the end.
const AT_THE_END: &str = "\
for n in $(seq 60); do
  echo try $n; all=\"$all $n\"; echo ack $n; sleep 0.002
done
printf '%s\\n' $all > items";

/// Prints the items of lines that are whole.
const CHECKER: &str = "test ! -e items || grep -x '[0-9]*' items || true";

/// Prints the items that have files of their own.
const FILES: &str = "cat item.* 2>/dev/null | grep -x '[0-9]*' || true";

/// Returns a writer of items in files of their own. `sync` is how it synchronises the file `$item`.
fn files_by(sync: &str) -> String {
    some_files_by(30, sync)
}

fn some_files_by(items: u32, sync: &str) -> String {
    format!(
        "for n in $(seq {items}); do
           echo try $n; item=item.$n; echo $n > $item || exit 1; {sync}; sync . || exit 1
           echo ack $n
         done"
    )
}

fn torture(bench: &Bench, writer: &str, checker: &str, line: &str) -> Ended {
    let words = ["torture", "--writer", writer, "--checker", checker, "--dir", "stores"];
    let words = words.into_iter().chain(line.split_whitespace()).map(OsString::from);
    bench.assay_words(&words.collect::<Vec<_>>(), bench.path())
}

/// Checks that nothing of a test is left but what broke a promise.
fn is_clean(bench: &Bench) {
    assert!(!bench.stores().join("torture-disk").exists(), "{:?}", bench.list());
    let mounts = std::fs::read_to_string("/proc/self/mountinfo").expect("the mounts");
    assert!(!mounts.contains("assay-powercut"), "{mounts}");
}

#[test]
fn a_program_that_syncs_loses_nothing() {
    let bench = Bench::new();
    let crashes = if has_power_cuts() { "process,power" } else { "process" };
    let ended = torture(&bench, SYNCED, CHECKER, &format!("--crash {crashes} --rounds 12"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let rows = ended.stdout.lines().filter(|line| line.contains("at most 22 %"));
    assert_eq!(rows.count(), crashes.split(',').count(), "{ended:?}");
    assert!(!bench.path().join("assay-runs").exists(), "{:?}", bench.list());
    is_clean(&bench);
}

#[test]
fn a_program_that_acknowledges_too_early_is_found_and_its_round_can_be_repeated() {
    let bench = Bench::new();
    if has_power_cuts() {
        let power = "--crash power --rounds 6";
        let ended = torture(&bench, EARLY, CHECKER, power);
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains("items are lost, \""), "{ended:?}");
        let at = |line: &str| line.split("--round ").nth(1).map(str::to_string);
        let again = ended.stdout.lines().find_map(at).expect("a command that repeats it");
        let again = torture(&bench, EARLY, CHECKER, &format!("--crash power --round {again}"));
        assert_eq!(again.code, Some(1), "{again:?}");
        // A kill takes nothing that was written.
        let kill = torture(&bench, EARLY, CHECKER, "--crash process --rounds 6");
        assert_eq!(kill.code, Some(0), "{kill:?}");
    }
    let ended = torture(&bench, AT_THE_END, CHECKER, "--crash process --rounds 3 --images kept");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.ends_with("3 rounds broke the promise\n"), "{ended:?}");
    assert!(bench.path().join("kept/process-1-0/store").is_dir(), "{ended:?}");
    // The items that are lost are the last ones.
    let line = "--crash process --rounds 3 --promise prefix";
    assert_eq!(torture(&bench, AT_THE_END, CHECKER, line).code, Some(0));
    is_clean(&bench);
}

#[test]
fn a_checker_that_fails_or_finds_too_much_is_a_finding() {
    let bench = Bench::new();
    // It is run once without a crash, and then is to find the writer's unfinished work.
    let writer = "touch busy; for n in 1 2 3; do echo try $n; echo $n >> items; echo ack $n; \
                  sleep 0.01; done; rm busy";
    for (checker, what) in [
        (
            "test ! -e busy || { echo it is broken >&2; exit 7; }; cat items",
            "status 7: it is broken",
        ),
        ("cat items; test ! -e busy || echo 99", "item \"99\" is there and was never tried"),
        ("cat items; test ! -e busy || tail -n 1 items", "is there twice"),
    ] {
        let ended = torture(&bench, writer, checker, "--crash process --rounds 4");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(ended.stdout.contains(what), "{ended:?}");
    }
    is_clean(&bench);
}

#[test]
fn a_program_that_ends_when_its_disk_fails_loses_nothing() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let writer = files_by("sync $item || exit 1");
    let ended = torture(&bench, &writer, FILES, "--fault all --rounds 6");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    // What it writes is never read, and a shell's short writes are those of single bytes.
    assert!(ended.stderr.contains("nothing that eio-read concerns"), "{ended:?}");
    for fault in ["eio-write", "eio-sync", "full"] {
        let of_fault: Vec<_> =
            ended.stdout.lines().filter(|line| line.contains(fault)).map(words).collect();
        assert_eq!(of_fault.len(), 2, "{fault}: {ended:?}");
        let has_ended = of_fault.iter().filter(|words| words[3] != "0").count();
        assert_eq!(has_ended, 2, "{fault}: {ended:?}");
    }
    is_clean(&bench);
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

#[test]
fn a_program_that_does_not_heed_a_failed_sync_is_found() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    for careless in ["sync $item", "sync $item || sync $item"] {
        let writer = files_by(careless);
        let line = "--fault eio-sync --fault-lasts once --rounds 12";
        // What the kernel's cache has is there as long as the power is.
        let kill = torture(&bench, &writer, FILES, &format!("{line} --crash process"));
        assert_eq!(kill.code, Some(0), "{careless}: {kill:?}");
        let cut = torture(&bench, &writer, FILES, &format!("{line} --crash power"));
        assert_eq!(cut.code, Some(1), "{careless}: {cut:?}");
        assert!(cut.stdout.contains(" items are lost, "), "{cut:?}");
        let at = |line: &str| line.split("--round ").nth(1).map(str::to_string);
        let again = cut.stdout.lines().find_map(at).expect("a command that repeats it");
        assert!(again.contains("--fault eio-sync --fault-lasts once"), "{again}");
        let line = format!("--crash power --round {again}");
        let again = torture(&bench, &writer, FILES, &line);
        assert_eq!(again.code, Some(1), "{again:?}");
    }
    is_clean(&bench);
}

#[test]
fn a_program_that_hangs_or_reads_wrong_when_its_disk_fails_is_found() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let writer = some_files_by(3, "sync $item || sleep 98764");
    let line = "--fault eio-sync --crash process --rounds 1 --timeout 20";
    let ended = torture(&bench, &writer, FILES, line);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("the writer hung: it has said nothing for 20 s"), "{ended:?}");
    assert!(ended.stdout.contains(" --fault-lasts once --timeout 20\n"), "{ended:?}");
    // It takes an item that it cannot read for none.
    let writer = "for n in $(seq 30); do
           echo try $n; { cat items 2>/dev/null; echo $n; } > new; sync new || exit 1
           mv new items && sync . || exit 1; echo ack $n
         done";
    let line = "--fault eio-read --crash process --rounds 3";
    let ended = torture(&bench, writer, CHECKER, line);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    is_clean(&bench);
}

/// The program takes longer than the limit, which only bounds its silence.
#[test]
fn a_slow_program_that_is_not_silent_is_waited_for() {
    let bench = Bench::new();
    let writer = "for n in $(seq 6); do
           echo try $n; sleep 2; echo $n >> items; echo ack $n
         done";
    let line = "--crash process --round 0 --at 1 --timeout 10";
    let ended = torture(&bench, writer, CHECKER, line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    is_clean(&bench);
}

/// A fault that is met does not keep a program that comes to its end from being killed.
#[test]
fn a_program_that_has_an_end_is_killed_after_a_fault() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let writer = "for n in $(seq 20); do
           echo try $n; echo $n >> log; all=\"$all $n\"; echo ack $n
         done; sleep 1; printf '%s\\n' $all > items";
    let line = "--fault slow --fault-lasts once --crash process --rounds 4";
    let ended = torture(&bench, writer, CHECKER, line);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    let row = ended.stdout.lines().map(words).find(|words| words.contains(&"slow"));
    assert_eq!(row.expect("a row")[2], "4", "each round meets the fault before: {ended:?}");
    let writer = some_files_by(20, "sync $item || exit 0");
    let line = "--fault eio-sync --fault-lasts once --crash process --rounds 4";
    let ended = torture(&bench, &writer, FILES, line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("of 4 rounds the writer ended before it"), "{ended:?}");
    let late = "--fault full --crash process --round 0 --at 99999";
    let ended = torture(&bench, &writer, FILES, late);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("no operation met full before process crashes"), "{ended:?}");
    is_clean(&bench);
}

#[test]
fn a_program_that_tries_for_ever_when_its_disk_fails_is_killed() {
    if !has_power_cuts() {
        return;
    }
    let bench = Bench::new();
    let writer = "while true; do
           n=$((n + 1)); item=item.$n; echo try $n
           echo $n > $item && sync $item && sync . && echo ack $n
         done";
    let line = "--fault eio-sync --fault-lasts always --crash process --rounds 2 --acks 10";
    let ended = torture(&bench, writer, FILES, line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    is_clean(&bench);
}

#[test]
fn commands_with_which_nothing_can_be_tested_are_refused() {
    let bench = Bench::new();
    for (writer, checker, why) in [
        ("true", CHECKER, "the writer acknowledged nothing"),
        (
            "echo try 1; echo 1 > items; sleep 9",
            CHECKER,
            "said nothing for 1 s, after 0 acknowledgements",
        ),
        ("exit 4", CHECKER, "the writer failed after 0 acknowledgements: status 4"),
        ("echo no room >&2; exit 1", CHECKER, "status 1: no room"),
        ("no-such-program", CHECKER, "status 127"),
        ("echo hello", CHECKER, "\"hello\" is neither `try ITEM` nor `ack ITEM`"),
        ("echo ack 1", CHECKER, "acknowledged, but was not tried"),
        ("echo try 1; echo ack 1; echo ack 1", CHECKER, "acknowledged twice"),
        ("echo try 1; echo ack 1", CHECKER, "changed nothing in its directory"),
        ("echo try 1; echo 1 > items; echo ack 1", "true", "1 of 1 items are lost"),
        ("echo try 1; echo 1 > items; echo ack 1", "exit 2", "the checker failed: status 2"),
        ("echo try 1; echo 1 > items; echo ack 1", "sleep 9", "not ended after 1 s"),
        ("head -c 200000 /dev/zero", CHECKER, "a line has more than"),
    ] {
        let ended = torture(&bench, writer, checker, "--crash process --rounds 1 --timeout 1");
        assert_eq!(ended.code, Some(3), "{writer}, {checker}: {ended:?}");
        let said: Vec<_> = ended.stderr.lines().collect();
        assert!(said.len() == 2 && said[1].contains(why), "{writer}, {checker}: {ended:?}");
        is_clean(&bench);
    }
    bench.refuses("torture --writer true", 2, &["--checker <COMMAND>"]);
    bench.refuses("torture --writer true --checker true --at 7", 2, &["--round"]);
}

/// A writer that starts others is killed with them.
#[test]
fn no_process_of_a_writer_is_left() {
    let bench = Bench::new();
    let writer = format!("sleep 98765 & {SYNCED}");
    let ended = torture(&bench, &writer, CHECKER, "--crash process --rounds 2 --acks 10");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let processes = std::fs::read_dir("/proc").expect("the processes").flatten();
    let command = |process: std::fs::DirEntry| std::fs::read(process.path().join("cmdline")).ok();
    let left = processes.filter_map(command).filter(|command| command == b"sleep\098765\0");
    assert_eq!(left.count(), 0);
    is_clean(&bench);
}
