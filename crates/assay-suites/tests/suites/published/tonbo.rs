//! The tables of Tonbo's benches.

use assay_core::run_file::{Phase, Round};
use assay_suites::options::Threads;
use assay_suites::tonbo::{micro, read, write};

use super::{cell, phase, published, result, run};

#[test]
fn read_has_the_eight_published_lines() {
    let options = read::Options {
        ranges: 1,
        range_size: 1,
        threads: vec![Threads::one(4)],
        ..Default::default()
    };
    let result_of = |engine: &str, read_ms: [u64; 2], projected_ms: [u64; 3]| {
        let us = |ms: &[u64]| ms.iter().map(|ms| ms * 1_000).collect::<Vec<_>>();
        let projected = "random range projection reads";
        let phases = vec![
            phase("load", 1, &[5_000], 1),
            phase("random range reads", 1, &us(&read_ms), 1),
            phase(projected, 1, &us(&projected_ms[..2]), 1),
            phase("random range projection reads (4 threads)", 1, &us(&projected_ms[2..]), 1),
        ];
        result(cell(read::ID, engine, 1, &options), engine, phases)
    };
    let cells = vec![
        result_of("tonbo", [324_629, 313_270], [75_861, 81_807, 73_021]),
        result_of("rocksdb", [17_162, 17_131], [17_665, 17_663, 17_632]),
    ];
    let expected = "\
+-------------------------------------------+----------+---------+
|                                           | tonbo    | rocksdb |
+================================================================+
| random range reads                        | 324629ms | 17162ms |
|-------------------------------------------+----------+---------|
| random range reads                        | 313270ms | 17131ms |
|-------------------------------------------+----------+---------|
| random range projection reads             | 75861ms  | 17665ms |
|-------------------------------------------+----------+---------|
| random range projection reads             | 81807ms  | 17663ms |
|-------------------------------------------+----------+---------|
| random range projection reads (4 threads) | 73021ms  | 17632ms |
+-------------------------------------------+----------+---------+
";
    assert_eq!(published(&run(cells)), expected);
}

#[test]
fn write_keeps_its_bulk_load() {
    let options = write::Options { threads: vec![Threads::one(1)], ..Default::default() };
    let of = |engine: &str, load_ms: u64, removals_ms: u64| {
        let phases = vec![
            phase("bulk load", 1, &[load_ms * 1_000], 1),
            phase("removals", 1, &[removals_ms * 1_000], 1),
        ];
        result(cell(write::ID, engine, 1, &options), engine, phases)
    };
    let cells = vec![of("tonbo", 6_311, 3_045), of("rocksdb", 9_558, 3_814)];
    let expected = "\
+-----------+--------+---------+
|           | tonbo  | rocksdb |
+==============================+
| bulk load | 6311ms | 9558ms  |
|-----------+--------+---------|
| removals  | 3045ms | 3814ms  |
+-----------+--------+---------+
";
    assert_eq!(published(&run(cells)), expected);
}

#[test]
fn micro_prints_what_criterion_prints() {
    let options = micro::Options { batches: vec![16], ..Default::default() };
    let result_of = |engine: &str, name: &str, iteration_ns: u64| {
        let rounds = (1..=100).map(|operations| Round {
            operations,
            time_ns: operations * iteration_ns * if operations == 50 { 9 } else { 1 },
            usage: None,
        });
        let phase = Phase { name: "write/16".into(), rounds: rounds.collect(), ..Phase::default() };
        result(cell(micro::ID, engine, 0, &options), name, vec![phase])
    };
    let text = published(&run(vec![
        result_of("sled", "Sled", 213_830),
        result_of("x", "An engine with a long name", 0),
    ]));
    let lines: Vec<_> = text.lines().collect();
    assert!(lines[0].starts_with("write/Sled/16           time:   [21"), "{text}");
    assert!(lines[0].ends_with(" µs]"), "{text}");
    assert_eq!(lines[1], "Found 1 outliers among 100 measurements (1.00%)");
    assert_eq!(lines[2], "  1 (1.00%) high severe");
    assert_eq!(lines[3], "write/An engine with a long name/16");
    assert!(lines[4].starts_with("                        time:   – (a round"), "{text}");
    assert_eq!(lines.len(), 5);
}
