//! Imports and exports by standard input and output, pipes and devices.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::Stdio;

use nix::sys::stat::Mode;

use crate::support::{ANIMALS, Bench, end, expect_success, start};

const CSV: &str = "id,name,tag\n1,Ada,00ff\n2,Bo,\n3,Cé,\n";

#[test]
fn standard_output_is_written_to_and_not_replaced() {
    let bench = Bench::with_animals();
    for place in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let args = ["export", "zoo", "animal", place, "--format", "csv"];
        assert_eq!(bench.succeeds(&args), CSV, "{place}");
        let mut file = File::create(bench.path("all.csv")).expect("a file");
        file.write_all(b"first\n").expect("it is written");
        let kept = file.try_clone().expect("it is open");
        let mut command = bench.command(&args);
        expect_success(&args, end(start(command.stdout(Stdio::from(kept)))));
        file.write_all(b"last\n").expect("it is written");
        assert_eq!(bench.read("all.csv"), format!("first\n{CSV}last\n"), "{place}");
        std::fs::remove_file(bench.path("all.csv")).expect("it is there");
    }
    let args = ["dump", "zoo", "animal", "-o", "/dev/stdout"];
    assert_eq!(bench.succeeds(&args), bench.succeeds(&["dump", "zoo", "animal"]));
    for place in ["-", "/dev/stdout", "/dev/null"] {
        let args = ["dump", "zoo", "animal", "-o", place];
        bench.succeeds(&args);
    }
    assert_eq!(bench.list("."), ["zoo"]);
}

#[test]
fn every_format_goes_through_standard_output_and_input() {
    for format in ["parquet", "arrow", "csv"] {
        let bench = Bench::with_animals();
        let lines = bench.succeeds(&["dump", "zoo", "animal"]);
        let mut out = File::options();
        let out = out.create(true).truncate(true).read(true).write(true);
        let mut out = out.open(bench.path("out")).expect("a file");
        let mut export = bench.command(&["export", "zoo", "animal", "-", "--format", format]);
        let kept = out.try_clone().expect("it is open");
        assert_eq!(end(start(export.stdout(Stdio::from(kept)))).code, Some(0));
        let mut whole = Vec::new();
        out.seek(SeekFrom::Start(0)).expect("it is a file");
        out.read_to_end(&mut whole).expect("it is read");

        // A file of which something was read before, and a pipe.
        let args = ["import", "file", "animal", "-", "--format", format, "--schema", ANIMALS];
        let mut more = b"front".to_vec();
        more.extend_from_slice(&whole);
        std::fs::write(bench.path("more"), more).expect("it is written");
        let mut input = File::open(bench.path("more")).expect("it is there");
        input.seek(SeekFrom::Start(5)).expect("it is a file");
        let mut command = bench.command(&args);
        let ended = end(start(command.stdin(Stdio::from(input))));
        assert_eq!(expect_success(&args, ended), "3 records imported\n");
        let args = [&["import", "pipe"], &args[2..]].concat();
        let mut command = bench.command(&args);
        let mut child = start(command.stdin(Stdio::piped()));
        let mut pipe = child.stdin.take().expect("it is piped");
        pipe.write_all(&whole).expect("it is written");
        drop(pipe);
        assert_eq!(expect_success(&args, end(child)), "3 records imported\n");
        assert_eq!(bench.list("."), ["file", "more", "out", "pipe", "zoo"]);
        for db in ["file", "pipe"] {
            assert_eq!(bench.succeeds(&["dump", db, "animal"]), lines, "{format}");
        }
    }
}

#[test]
fn named_pipes_are_read_and_written() {
    let bench = Bench::with_animals();
    nix::unistd::mkfifo(&bench.path("pipe.csv"), Mode::S_IRWXU).expect("a pipe");
    let export = start(&mut bench.command(&["export", "zoo", "animal", "pipe.csv"]));
    let args = ["import", "copy", "animal", "pipe.csv", "--schema", ANIMALS];
    assert_eq!(bench.succeeds(&args), "3 records imported\n");
    assert_eq!(expect_success(&["export"], end(export)), "");
    assert_eq!(
        bench.succeeds(&["dump", "copy", "animal"]),
        bench.succeeds(&["dump", "zoo", "animal"])
    );
}

#[test]
fn what_is_wrong_with_a_stream_is_said() {
    let bench = Bench::with_animals();
    bench.refuses_input(
        &["import", "copy", "animal", "-", "--key", "id"],
        CSV,
        2,
        "standard input: --format says what it is",
    );
    bench.refuses_input(
        &["import", "zoo", "animal", "-", "--format", "csv"],
        "id,name\nx,Ada\n",
        1,
        "standard input: line 2: column id (u64) cannot hold x",
    );
    bench.refuses(
        &["import", "zoo", "animal", "/dev/zero", "--format", "csv"],
        3,
        "/dev/zero: this is a device; name a file or a pipe",
    );
    bench.refuses(
        &["export", "zoo", "animal", "/dev/full", "--format", "csv"],
        3,
        "/dev/full: No space left on device (os error 28)",
    );
    bench.refuses(
        &["export", "zoo", "animal", "/dev/stdout"],
        2,
        "/dev/stdout: the name does not end in .parquet, .arrow, .ipc, .feather, .csv or .tsv; \
         --format says what it is",
    );
    let mut command = bench.command(&["export", "zoo", "animal", "-", "--format", "csv"]);
    let full = OpenOptions::new().write(true).open("/dev/full").expect("a device");
    let ended = end(start(command.stdout(Stdio::from(full))));
    assert_eq!(ended.code, Some(3));
    assert_eq!(ended.stderr, "lode: standard output: No space left on device (os error 28)\n");
}
