//! The tables and the raw rows of NuDB's bench.

use assay_core::run_file::{CellResult, Phase, Round, RunFile};
use assay_suites::nudb;
use assay_suites::nudb::Options;

use super::{cell, phase, published, result, run};

fn result_of(engine: &str, rows: u64, batch: Option<u64>, phases: Vec<Phase>) -> CellResult {
    let options = Options { fetches: Some(1_000_000), batch_size: batch, ..Options::default() };
    result(cell(nudb::ID, engine, rows, &options), engine, phases)
}

#[test]
fn whole_runs_print_seconds() {
    let sizes = |engine: &str, figures: [(u64, u64, u64); 2]| {
        figures.map(|(rows, insert_ms, fetch_ms)| {
            let phases = vec![
                phase("insert", rows, &[insert_ms * 1_000], 1),
                phase("fetch", 1_000_000, &[fetch_ms * 1_000], 1),
            ];
            result_of(engine, rows, None, phases)
        })
    };
    let mut cells = sizes("nudb", [(1_000_000, 2_640, 2_380), (5_000_000, 17_670, 3_000)]).to_vec();
    cells.extend(sizes("rocksdb", [(1_000_000, 8_950, 15_730), (5_000_000, 91_250, 40_960)]));
    let expected = "\
insert
        inserts          nudb       rocksdb
        1000000          2.64          8.95
        5000000         17.67         91.25

fetch
1000000
items
      # db keys          nudb       rocksdb
        1000000          2.38         15.73
        5000000          3.00         40.96
";
    assert_eq!(published(&run(cells)), expected);
}

/// Batches of 100,000 items; the times give the whole numbers of the published sample.
fn batches() -> RunFile {
    const SIZE: u64 = 100_000;
    let phases = |insert_ns: [u64; 3], fetch_ns: [u64; 3]| {
        let of = |name: &str, times: [u64; 3]| Phase {
            name: name.into(),
            rounds: times.map(|time_ns| Round { operations: SIZE, time_ns, usage: None }).to_vec(),
            ..Phase::default()
        };
        vec![of("insert", insert_ns), of("fetch", fetch_ns)]
    };
    run(vec![
        result_of(
            "nudb",
            300_000,
            Some(SIZE),
            phases([400_000_000, 245_943_167, 0], [200_000_000, 250_000_000, 400_000_000]),
        ),
        result_of(
            "rocksdb",
            300_000,
            Some(SIZE),
            phases([300_000_000, 431_152_000, 1_000], [143_431_000, 9_000_000, 7_000_000]),
        ),
    ])
}

#[test]
fn batches_print_operations_a_second_at_powers_of_ten() {
    let expected = "
insert (per second)
    num_db_keys          nudb       rocksdb
         100000        406598        231936

fetch (per second)
    num_db_keys          nudb       rocksdb
         100000        500000        697199
";
    assert_eq!(published(&batches()), expected);
    let small = |rows, size| {
        let phases = vec![phase("insert", size, &[1_000; 1], 1), phase("fetch", size, &[2_000], 1)];
        published(&run(vec![result_of("nudb", rows, Some(size), phases)]))
    };
    let expected = "
insert (per second)
    num_db_keys          nudb
           1000            NA

fetch (per second)
    num_db_keys          nudb
           1000        500000
";
    assert_eq!(small(1_000, 1_000), expected, "the last batch of inserts began before");
}

#[test]
fn raw_batches_come_in_the_order_of_time() {
    let raw = nudb::published::raw(&batches()).expect("text");
    let lines: Vec<_> = raw.lines().collect();
    assert_eq!(
        lines[..8],
        [
            "num_db_items,db,op,ops/sec",
            "0,nudb,insert,250000.000000",
            "100000,nudb,fetch,500000.000000",
            "100000,nudb,insert,406598.000749",
            "200000,nudb,fetch,400000.000000",
            "200000,nudb,insert,–",
            "300000,nudb,fetch,250000.000000",
            "0,rocksdb,insert,333333.333333",
        ]
    );
}
