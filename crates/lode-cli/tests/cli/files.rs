//! Dumps in files: whole, or as they were before.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::process::Child;
use std::sync::Arc;

use lode::KeyKind;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{Id, WaitPidFlag, waitid};
use nix::unistd::Pid;
use signal_hook::consts::SIGHUP;

use crate::support::{Bench, end, expect_refusal, start};

#[test]
fn a_dump_goes_to_a_file() {
    let bench = Bench::with_animals();
    let lines = bench.succeeds(&["dump", "zoo", "animal"]);
    assert_eq!(bench.succeeds(&["dump", "zoo", "animal", "-o", "out.jsonl"]), "");
    assert_eq!(bench.read("out.jsonl"), lines);
    assert_eq!(bench.list("."), ["out.jsonl", "zoo"]);
}

#[test]
fn a_file_that_is_replaced_keeps_its_mode_and_its_links() {
    let bench = Bench::with_animals();
    bench.write("real.jsonl", "old\n");
    fs::set_permissions(bench.path("real.jsonl"), PermissionsExt::from_mode(0o600)).expect("mode");
    symlink("real.jsonl", bench.path("link.jsonl")).expect("a link");
    bench.succeeds(&["dump", "zoo", "animal", "--output", "link.jsonl"]);
    assert!(bench.path("link.jsonl").is_symlink());
    assert_eq!(bench.read("real.jsonl").lines().count(), 3);
    let mode = fs::metadata(bench.path("real.jsonl")).expect("it is there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn a_dump_goes_to_no_other_place() {
    let bench = Bench::with_animals();
    symlink("nowhere", bench.path("link")).expect("a link");
    for (place, code, why) in [
        ("zoo", 3, "it is a directory"),
        ("link", 3, "it is a link to a file that is not there"),
        ("no/file", 3, "No such file or directory (os error 2)"),
        ("zoo/data", 2, "this is inside the database; choose another directory"),
        ("zoo/new", 2, "this is inside the database; choose another directory"),
    ] {
        let args = ["dump", "zoo", "animal", "-o", place];
        bench.refuses(&args, code, &format!("{place}: {why}"));
    }
    bench.refuses(
        &["dump", "zoo", "nosuch", "-o", "out.jsonl"],
        2,
        "zoo: there is no table nosuch; the only one is animal",
    );
    assert_eq!(bench.list("."), ["link", "zoo"]);
    assert_eq!(bench.succeeds(&["check", "zoo"]), "animal: tree, 3 records\nno faults found\n");
}

/// Starts a dump of `size_bytes` and stops the process while it has written less than half of the
/// new file. On a busy machine a dump may be further before this process sees it; then another one
/// is started.
fn stopped_dump(bench: &Bench, args: &[&str], size_bytes: u64) -> (Child, Pid) {
    const MOST_ATTEMPTS: usize = 100;
    let new_file = || {
        let names = bench.list(".");
        names.into_iter().find(|name| name != "out.jsonl" && name != "zoo")
    };
    for _ in 0..MOST_ATTEMPTS {
        bench.write("out.jsonl", "old\n");
        let mut dump = start(&mut bench.command(args));
        let process = Pid::from_raw(dump.id().try_into().expect("a process id"));
        while new_file().is_none() && dump.try_wait().expect("it is ours").is_none() {
            std::thread::yield_now();
        }
        if dump.try_wait().expect("it is ours").is_none() {
            kill(process, Signal::SIGSTOP).expect("it is ours");
            let flags = WaitPidFlag::WSTOPPED | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
            waitid(Id::Pid(process), flags).expect("it is ours");
            let written = new_file().and_then(|name| fs::metadata(bench.path(&name)).ok());
            if written.is_some_and(|written| written.len() < size_bytes / 2) {
                return (dump, process);
            }
            kill(process, Signal::SIGCONT).expect("it is ours");
        }
        assert_eq!(end(dump).code, Some(0), "it was not interrupted");
    }
    panic!("each of {MOST_ATTEMPTS} dumps was too far before it was seen");
}

#[test]
fn an_interrupted_dump_leaves_nothing_behind() {
    let bench = Bench::new();
    bench.with_numbers("zoo", KeyKind::Tree, 100_000);
    let args = ["dump", "zoo", "number", "-o", "out.jsonl"];
    let size_bytes = bench.succeeds(&args[..3]).len() as u64;
    // A program that is started here does not ignore what this one catches.
    signal_hook::flag::register(SIGHUP, Arc::default()).expect("the signal can be caught");
    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143), (Signal::SIGHUP, 129)] {
        let (dump, process) = stopped_dump(&bench, &args, size_bytes);
        for signal in [signal, Signal::SIGCONT] {
            kill(process, signal).expect("it is there");
        }
        expect_refusal(&args, &end(dump), status, "interrupted; the file was not written");
        assert_eq!(bench.list("."), ["out.jsonl", "zoo"]);
        assert_eq!(bench.read("out.jsonl"), "old\n");
    }
    assert!(bench.succeeds(&["--help"]).contains("143 SIGTERM"), "the help states them");
}
