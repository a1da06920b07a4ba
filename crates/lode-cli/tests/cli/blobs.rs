//! `lode blob`: values as streams.

use std::process::Stdio;

use crate::support::{Bench, close, end, start};

/// Bytes that follow from their places.
fn bytes(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
}

#[test]
fn files_go_in_and_come_out_whole_and_in_parts() {
    let bench = Bench::new();
    let all = bytes(3_000_000);
    std::fs::write(bench.path("film"), &all).expect("it is written");
    let memory = ["--memory", "1M"];
    let put = ["blob", "put", "zoo", "films", "lion", "film", "--create"];
    assert_eq!(bench.succeeds(&[&memory[..], &put].concat()), "");
    let get = ["blob", "get", "zoo", "films", "lion", "-o", "copy"];
    assert_eq!(bench.succeeds(&[&memory[..], &get].concat()), "");
    assert!(std::fs::read(bench.path("copy")).expect("it is there") == all);

    let part = ["blob", "get", "zoo", "films", "lion", "--from", "1M", "--length", "70000"];
    let part = bench.command(&part).output().expect("it runs");
    assert!(part.stdout == all[1 << 20..(1 << 20) + 70_000]);
    let end = ["blob", "get", "zoo", "films", "lion", "--from", "2999999", "--length", "9"];
    let end = bench.command(&end).output().expect("it runs");
    assert_eq!((end.status.code(), &end.stdout[..]), (Some(0), &all[2_999_999..]));
    assert_eq!(bench.succeeds(&["blob", "get", "zoo", "films", "lion", "--from", "3G"]), "");

    assert_eq!(bench.feeds(&["blob", "put", "zoo", "films", "a\nb", "-"], "short"), "");
    assert_eq!(bench.succeeds(&["blob", "get", "zoo", "films", "a\nb"]), "short");
    let listed = bench.succeeds(&["blob", "list", "zoo", "films"]);
    assert_eq!(listed, "5\ta\\nb\n3000000\tlion\n");
    let listed = bench.succeeds(&["blob", "list", "zoo", "films", "--prefix", "l"]);
    assert_eq!(listed, "3000000\tlion\n");
    assert_eq!(bench.succeeds(&["blob", "list", "zoo"]), "2\tfilms\n");
    assert!(bench.succeeds(&["check", "zoo"]).ends_with("no faults found\n"));

    assert_eq!(bench.succeeds(&["blob", "remove", "zoo", "films", "lion"]), "");
    assert_eq!(
        bench.succeeds(&["check", "zoo"]),
        "films.blobs: tree, 1 record\nfilms.chunks: tree, 1 record\n\
         films.pending: tree, 0 records\nno faults found\n"
    );
    let dropped = bench.succeeds(&["blob", "drop", "zoo", "films"]);
    assert_eq!(dropped, "blob store films dropped: 1 blob\n");
    assert_eq!(bench.succeeds(&["blob", "list", "zoo"]), "");
}

#[test]
fn what_is_not_there_is_said_and_nothing_is_made() {
    let bench = Bench::with_animals();
    let no_store = "zoo: there is no blob store films; the database has none yet";
    bench.refuses(&["blob", "get", "zoo", "films", "lion"], 2, no_store);
    bench.refuses(&["blob", "remove", "zoo", "films", "lion"], 2, no_store);
    bench.refuses(&["blob", "drop", "zoo", "films"], 2, no_store);
    bench.refuses_input(
        &["blob", "put", "zoo", "films", "lion"],
        "x",
        2,
        &format!("{no_store}; --create creates one"),
    );
    let missing = ["blob", "put", "new", "films", "lion", "missing", "--create"];
    bench.refuses(&missing, 3, "missing: No such file or directory (os error 2)");
    assert!(!bench.path("new").exists());
    let folder = ["blob", "put", "new", "films", "lion", "zoo", "--create"];
    bench.refuses(&folder, 2, "zoo: it is a directory; name a file");

    bench.feeds(&["blob", "put", "zoo", "films", "lion", "--create"], "x");
    bench.refuses(
        &["blob", "get", "zoo", "films", "tiger"],
        2,
        "zoo: blob store films has no blob tiger; list its keys",
    );
    bench.refuses(
        &["blob", "list", "zoo", "filsm"],
        2,
        "zoo: there is no blob store filsm; the only one is films",
    );
    let long = "x".repeat(1_001);
    bench.refuses_input(
        &["blob", "put", "new", "films", &long, "--create"],
        "x",
        2,
        "KEY has 1001 bytes; name one of at most 1000",
    );
    assert!(!bench.path("new").exists());
    bench.refuses(
        &["blob", "get", "zoo", "films", "lion", "-o", "zoo/data"],
        2,
        "zoo/data: this is inside the database; choose another directory",
    );
}

#[test]
fn a_damaged_blob_is_named_and_leaves_the_file_as_it_was() {
    let bench = Bench::new();
    let db = bench.open("zoo");
    let films = db.create_blobs("films").expect("a store");
    films.put("lion", &bytes(200_000)[..]).expect("there is room");
    let chunks = db.table("films.chunks").expect("it is there");
    assert_eq!(chunks.delete((1_u64, 2_u32)), Ok(true));
    drop((films, chunks));
    close(db);
    bench.write("copy", "before");
    let why = "zoo: table films.chunks is corrupt: chunk 2 of blob 1 is missing; restore the \
               database from a copy, or repair it";
    bench.refuses(&["blob", "get", "zoo", "films", "lion", "-o", "copy"], 1, why);
    assert_eq!(bench.read("copy"), "before");
    let checked = bench.lode(&["check", "zoo"]);
    assert_eq!(checked.code, Some(1));
    let fault = "lode: zoo: table films.blobs: blob lion: chunk 2 of id 1 is missing\n";
    assert_eq!(checked.stderr, fault);
}

#[test]
fn a_writer_that_is_killed_leaves_what_was_there() {
    let bench = Bench::new();
    bench.feeds(&["blob", "put", "zoo", "films", "lion", "--create"], "before");
    let mut command = bench.command(&["blob", "put", "zoo", "films", "lion", "-"]);
    let mut child = start(command.stdin(Stdio::piped()));
    let mut input = child.stdin.take().expect("it is piped");
    std::io::Write::write_all(&mut input, &bytes(1_000_000)).expect("it reads");
    child.kill().expect("it runs");
    end(child);
    assert_eq!(bench.succeeds(&["blob", "get", "zoo", "films", "lion"]), "before");
    assert!(bench.succeeds(&["check", "zoo"]).ends_with("no faults found\n"));
    bench.feeds(&["blob", "put", "zoo", "films", "lion"], "after");
    let checked = bench.succeeds(&["check", "zoo"]);
    assert!(checked.contains("films.chunks: tree, 1 record\n"), "{checked}");
    assert!(checked.contains("films.pending: tree, 0 records\n"), "{checked}");
}
