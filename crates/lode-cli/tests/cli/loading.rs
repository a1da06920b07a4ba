//! Loads records that are there already, lines that are wrong, and more than fits little
//! memory.

use crate::support::{ANIMALS, Bench};

const CHANGES: &str = "{\"id\":3,\"name\":\"Cleo\",\"tag\":null}\n\
                       {\"id\":4,\"name\":\"Dan\",\"tag\":null}\n";

/// The lines of the numbers in a range.
fn numbers(ids: std::ops::Range<u64>) -> String {
    ids.map(|id| format!("{{\"id\":{id},\"square\":{}}}\n", id * id)).collect()
}

#[test]
fn keys_that_are_there_stop_the_loading() {
    let bench = Bench::with_animals();
    let there = "there is a record with this key already; --replace overwrites such records, \
                 --skip leaves them";
    let load = ["load", "zoo", "animal"];
    let line = format!("standard input:1:1: {there}; nothing was loaded");
    bench.refuses_input(&load, CHANGES, 1, &line);
    let twice =
        "{\"id\":9,\"name\":\"I\",\"tag\":null}\n\n{\"id\":9,\"name\":\"J\",\"tag\":null}\n";
    let line = format!("standard input:3:1: {there}; 1 record before was loaded, and stays");
    bench.refuses_input(&load, twice, 1, &line);
    let dumped = bench.succeeds(&["dump", "zoo", "animal"]);
    assert!(dumped.ends_with("{\"id\":9,\"name\":\"I\",\"tag\":null}\n"), "{dumped}");
    assert!(dumped.contains("Cé"), "{dumped}");
}

#[test]
fn keys_that_are_there_are_skipped_or_replaced_if_that_is_said() {
    let bench = Bench::with_animals();
    let skipped = bench.feeds(&["load", "zoo", "animal", "--skip"], CHANGES);
    assert_eq!(skipped, "1 record loaded, 1 skipped\n");
    assert!(bench.succeeds(&["dump", "zoo", "animal"]).contains("Cé"));
    let replaced = bench.feeds(&["load", "zoo", "animal", "--replace"], CHANGES);
    assert_eq!(replaced, "2 records loaded, 2 of them replaced others\n");
    let dumped = bench.succeeds(&["dump", "zoo", "animal"]);
    assert!(dumped.contains("Cleo") && dumped.contains("Dan") && !dumped.contains("Cé"));
}

#[test]
fn the_order_of_columns_and_white_space_do_not_matter() {
    let bench = Bench::new();
    let lines = "\r\n  { \"tag\" : { \"hex\" : \"00FF\" } , \"name\" : \"\\u0041da\" , \
                 \"id\" : 1 } \r\n \n";
    bench.feeds(&["load", "zoo", "animal", "--schema", ANIMALS], lines);
    let wanted = "{\"id\":1,\"name\":\"Ada\",\"tag\":{\"hex\":\"00ff\"}}\n";
    assert_eq!(bench.succeeds(&["dump", "zoo", "animal"]), wanted);
    // A last line without an end is a line.
    bench.feeds(&["load", "zoo", "animal"], CHANGES.trim_end());
    assert_eq!(bench.succeeds(&["dump", "zoo", "animal"]).lines().count(), 3);
}

/// Several transactions, the last of them not full.
#[test]
fn all_records_before_a_line_that_is_wrong_stay() {
    let bench = Bench::new();
    let lines = format!("{}{{\"id\":true}}\n{}", numbers(0..9000), numbers(9000..20_000));
    bench.write("in", &lines);
    bench.refuses(
        &["load", "zoo", "number", "in", "--schema", "id:u64 key, square:u64"],
        1,
        "in:9001:7: column id (u64) cannot hold true; 9000 records before were loaded, and stay",
    );
    assert_eq!(bench.succeeds(&["dump", "zoo", "number"]), numbers(0..9000));
}

/// The records of one transaction are more than there is memory for.
#[test]
fn little_memory_is_enough() {
    let bench = Bench::new();
    let lines: String =
        (0..3000).map(|id| format!("{{\"id\":{id},\"text\":\"{id}\"}}\n")).collect();
    let schema = ["--schema", "id:u64 key, text:text(1000)"];
    let load = [&["--memory", "1M", "load", "zoo", "page"][..], &schema].concat();
    assert_eq!(bench.feeds(&load, &lines), "3000 records loaded\n");
    let checked = bench.succeeds(&["check", "zoo", "--memory", "1048576"]);
    assert_eq!(checked, "page: tree, 3000 records\nno faults found\n");
    assert_eq!(bench.succeeds(&["dump", "zoo", "page"]), lines);
}
