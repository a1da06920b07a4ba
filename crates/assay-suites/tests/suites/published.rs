//! The published form of each suite, letter by letter: from a run file made by hand, with figures
//! from the published samples where there are some.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::environment::{Build, Environment};
use assay_core::plan::{Cell, PageCache};
use assay_core::run_file::{CellResult, Latency, Measurement, Phase, Round, RunFile, Status};
use assay_driver::{Durability, KeyKind, Storage};
use assay_suites::tonbo::{micro, read, write};
use assay_suites::ycsb::workload::{Distribution, Workload};
use assay_suites::{crossbench, nudb, skvdb, ycsb};

fn cell(suite: &str, engine: &str, rows: u64, options: &impl serde::Serialize) -> Cell {
    Cell {
        suite: suite.into(),
        revision: assay_suites::find(suite).expect("a suite").revision(),
        engine: engine.into(),
        storage: Storage::Disk,
        durability: Durability::Periodic,
        durability_wanted: Durability::Periodic,
        key_kind: KeyKind::Tree,
        key_kind_named: false,
        rows,
        threads: 1,
        trial: 1,
        seed: 1,
        variant: String::new(),
        options: serde_json::to_value(options).expect("plain data"),
        engine_options: BTreeMap::new(),
        engine_parameters: BTreeMap::new(),
        cpus: Vec::new(),
        page_cache: PageCache::Warm,
        dir: None,
        calibration: false,
    }
}

/// A phase of rounds with this number of operations, which took these microseconds.
fn phase(name: &str, operations: u64, times_us: &[u64], published_top: usize) -> Phase {
    let round = |us: &u64| Round { operations, time_ns: us * 1_000 };
    let rounds = times_us.iter().map(round).collect();
    Phase { name: name.into(), rounds, published_top, threads: 1, ..Phase::default() }
}

fn result(cell: Cell, engine_name: &str, phases: Vec<Phase>) -> CellResult {
    let measurement =
        Measurement { engine_name: engine_name.into(), phases, ..Measurement::default() };
    let started = jiff::Timestamp::UNIX_EPOCH;
    let status = Status::Measured;
    CellResult { cell, started, whole_ns: None, status, refuted: None, measurement }
}

fn run(cells: Vec<CellResult>) -> RunFile {
    let build = Build {
        version: "0.0.0".into(),
        rustc: "rustc".into(),
        target: "target".into(),
        opt_level: "3".into(),
        engines: Vec::new(),
    };
    let mut run = RunFile::new(Vec::new(), build, Environment::capture(), cells.len());
    run.cells = cells;
    run
}

fn published(run: &RunFile) -> String {
    let suite = assay_suites::find(&run.cells[0].cell.suite).expect("a suite");
    suite.published_text(run, "run").expect("text")
}

mod of_crossbench {
    use super::*;
    use crossbench::published::{Show, text};
    use crossbench::{Fill, Keys, Options};

    const UPDATES_US: [u64; 10] =
        [266_616, 281_096, 274_047, 265_904, 260_426, 265_945, 254_995, 274_223, 274_394, 290_548];
    const QUERIES_US: [u64; 10] =
        [231_543, 244_874, 240_435, 223_147, 221_954, 243_468, 240_375, 240_878, 229_140, 237_540];

    fn options(fill: Fill) -> Options {
        let (query, update, delete) = (1_000_000, 1_000_000, 1_000_000);
        let keys = Keys::Dense;
        Options { fill, query, update, delete, sequential: false, keys, latencies: None }
    }

    /// The cell of the published sample.
    fn sample(fill: Fill) -> CellResult {
        let count = 1_000_000;
        let mut cell = cell(crossbench::ID, "crossdb", count, &options(fill));
        cell.storage = Storage::Ramdisk;
        cell.dir = Some(PathBuf::from("/tmp/_benchmarkdb/CrossDB"));
        let mut phases = vec![
            phase("query", count, &QUERIES_US, 3),
            phase("update", count, &UPDATES_US, 5),
            phase("delete", count, &[401_207], 1),
        ];
        match fill {
            Fill::Insert => phases.insert(0, phase("insert", count, &[272_466], 1)),
            Fill::Load => phases.insert(0, phase("load", count, &[272_466], 1)),
            Fill::Open => {}
        }
        result(cell, "CrossDB", phases)
    }

    const ROUNDS: &str = "\
Query Test: 1000000
  Round: 1      Use Time: 231543us      QPS: 4318852
  Round: 2      Use Time: 244874us      QPS: 4083732
  Round: 3      Use Time: 240435us      QPS: 4159128
  Round: 4      Use Time: 223147us      QPS: 4481350
  Round: 5      Use Time: 221954us      QPS: 4505438
  Round: 6      Use Time: 243468us      QPS: 4107315
  Round: 7      Use Time: 240375us      QPS: 4160166
  Round: 8      Use Time: 240878us      QPS: 4151479
  Round: 9      Use Time: 229140us      QPS: 4364144
  Round: 10     Use Time: 237540us      QPS: 4209817
Update Test: 1000000
  Round: 1      Use Time: 266616us      TPS: 3750712
  Round: 2      Use Time: 281096us      TPS: 3557503
  Round: 3      Use Time: 274047us      TPS: 3649009
  Round: 4      Use Time: 265904us      TPS: 3760755
  Round: 5      Use Time: 260426us      TPS: 3839862
  Round: 6      Use Time: 265945us      TPS: 3760175
  Round: 7      Use Time: 254995us      TPS: 3921645
  Round: 8      Use Time: 274223us      TPS: 3646667
  Round: 9      Use Time: 274394us      TPS: 3644394
  Round: 10     Use Time: 290548us      TPS: 3441772

Delete: 1000000 Use Time: 401207us      TPS: 2492478

";

    /// The sample prints the mean of three rounds for update, where its text says five.
    #[test]
    fn the_sample_is_printed_as_published() {
        let expected = format!(
            "\
CrossDB Database Benchmark

Location: /tmp/_benchmarkdb/CrossDB
Type: RAMDISK
Key: Default
Access: Random

Insert rows: 1000000    Use time: 272466us    TPS: 3670182

{ROUNDS}\
CrossDB Benchmark Result: RAMDISK Access=Random Key=Default Rows=1000000
              DB            Rows          Insert           Query          Update          Delete
         CrossDB         1000000         3670182         4450310         3806629         2492478
"
        );
        assert_eq!(published(&run(vec![sample(Fill::Insert)])), expected);
    }

    #[test]
    fn loaded_rows_are_called_so_and_keys_by_what_was_asked_for() {
        let mut loaded = sample(Fill::Load);
        loaded.cell.key_kind_named = true;
        loaded.cell.cpus = vec![7];
        let expected = format!(
            "\
CrossDB Database Benchmark

Location: /tmp/_benchmarkdb/CrossDB
Type: RAMDISK
Key: TREE
Access: Random

Run test on CPU 7

Load rows: 1000000    Use time: 272466us    TPS: 3670182

{ROUNDS}\
CrossDB Benchmark Result: RAMDISK Access=Random Key=TREE Rows=1000000
              DB            Rows            Load           Query          Update          Delete
         CrossDB         1000000         3670182         4450310         3806629         2492478
"
        );
        assert_eq!(published(&run(vec![loaded])), expected);
        let mut hashed = sample(Fill::Open);
        (hashed.cell.key_kind, hashed.cell.key_kind_named) = (KeyKind::Hash, true);
        let text = published(&run(vec![hashed]));
        assert!(text.contains("\nKey: HASH\nAccess: Random\nQuery Test: 1000000\n"), "{text}");
        assert!(text.contains(" Key=HASH "), "{text}");
    }

    #[test]
    fn quiet_is_two_lines_and_without_header_one() {
        let lines = |quiet, header_off| {
            let text = text(&sample(Fill::Insert), Show { quiet, header_off }).expect("text");
            text.lines()
                .map(|line| line.split_whitespace().next().unwrap_or_default().to_string())
                .collect::<Vec<_>>()
        };
        assert_eq!(lines(true, false), ["DB", "CrossDB"]);
        assert_eq!(lines(true, true), ["CrossDB"]);
        assert_eq!(lines(false, true), lines(false, false));
    }
}

mod of_nudb {
    use super::*;
    use nudb::Options;

    fn result_of(engine: &str, rows: u64, batch: Option<u64>, phases: Vec<Phase>) -> CellResult {
        let options = Options { key_size: 64, fetches: 1_000_000, batch_size: batch };
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
        let mut cells =
            sizes("nudb", [(1_000_000, 2_640, 2_380), (5_000_000, 17_670, 3_000)]).to_vec();
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
                rounds: times.map(|time_ns| Round { operations: SIZE, time_ns }).to_vec(),
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
            let phases =
                vec![phase("insert", size, &[1_000; 1], 1), phase("fetch", size, &[2_000], 1)];
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
}

#[test]
fn skvdb_prints_its_tables_with_their_pictures() {
    let mut cells = Vec::new();
    for (threads, rates) in [(2, [71_000, 88_000, 385_000]), (10, [26_000, 30_000, 62_000])] {
        for (entries, rate) in [3, 2, 1].into_iter().zip(rates) {
            let options = skvdb::Options { operations: 1_000_000, children: 0, entries };
            let mut cell = cell(skvdb::ID, "skvdb", 1_000_000, &options);
            cell.threads = threads;
            let names = ["write, one record", "read, one record"];
            let own = ["write, own records", "read, own records"];
            let phases = names.into_iter().chain(own).map(|name| Phase {
                name: name.into(),
                // One second for what each thread does in one.
                rounds: vec![Round {
                    operations: rate * u64::from(threads),
                    time_ns: 1_000_000_000,
                }],
                ..Phase::default()
            });
            cells.push(result(cell, "SKVDB", phases.collect()));
        }
    }
    let text = published(&run(cells));
    let table = "
No. threads | 3 entries | 2 entries| 1 entry|
---|--------|-------|-------
2  |\t71000 |\t88000 |\t385000
10 |\t26000 |\t30000 |\t62000
";
    let mut expected = "# skvdb\n".to_string();
    for (number, title, picture) in [
        (
            1,
            "One record, multiple threads writing properties to it",
            "![One Record Multiple Threads Writing]\
             (run-skvdb-one_record_multiple_threads_set_prop.png)",
        ),
        (
            2,
            "One record, multiple threads reading properties from it",
            "![One Record Multiple Threads Reading]\
             (run-skvdb-one_record_multiple_threads_get_prop.png)",
        ),
        (
            3,
            "Multiple records, multiple threads writing properties to them (each thread to owned \
             record)",
            "![Multiple Records Multiple Threads Writing]\
             (run-skvdb-multiple_records_multiple_threads_set_prop.png)",
        ),
        (
            4,
            "Multiple records, multiple threads reading properties from them (each thread from \
             owned record)",
            "![Multiple Records Multiple Threads Reading]\
             (run-skvdb-multiple_records_multiple_threads_get_prop.png)",
        ),
    ] {
        expected += &format!("\n**Table {number}**. {title}. Properties/sec. per-thread\n{table}");
        expected += &format!("\n{picture}\n");
    }
    assert_eq!(text.trim_end(), expected.trim_end());
}

mod of_tonbo {
    use super::*;

    #[test]
    fn read_has_the_eight_published_lines() {
        let options =
            read::Options { ranges: 1, range_size: 1, threads: vec![4], tbl: None, keep: false };
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
        let options = write::Options::scaled(1.0, vec![1]);
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
        let options =
            micro::Options { batches: vec![16], warm_up_ms: 1, measurement_ms: 1, samples: 100 };
        let result_of = |engine: &str, name: &str, iteration_ns: u64| {
            let rounds = (1..=100).map(|operations| Round {
                operations,
                time_ns: operations * iteration_ns * if operations == 50 { 9 } else { 1 },
            });
            let phase =
                Phase { name: "write/16".into(), rounds: rounds.collect(), ..Phase::default() };
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
}

#[test]
fn ycsb_prints_its_totals_and_latencies() {
    let options = ycsb::Options {
        workload: Workload::C,
        operations: 1_000,
        distribution: Distribution::Zipfian,
        field_count: 10,
        field_length: 100,
        rate: None,
    };
    let mut run_phase = phase("run", 1_000, &[2_000], 1);
    run_phase.latencies = vec![Latency {
        operation: "READ".into(),
        count: 1_000,
        mean_ns: 1_500.0,
        min_ns: 1_000,
        p50_ns: 1_250,
        p90_ns: 1_750,
        p95_ns: 2_000,
        p99_ns: 3_000,
        p999_ns: 4_000,
        p9999_ns: None,
        max_ns: 5_000,
    }];
    let result = result(cell(ycsb::ID, "lmdb", 1_000, &options), "LMDB", vec![run_phase]);
    let expected = "\
lmdb workloadc 1000 records 1 threads
[OVERALL], RunTime(ms), 2
[OVERALL], Throughput(ops/sec), 500000
[READ], Operations, 1000
[READ], AverageLatency(us), 1.5
[READ], MinLatency(us), 1
[READ], MaxLatency(us), 5
[READ], 50thPercentileLatency(us), 1.25
[READ], 95thPercentileLatency(us), 2
[READ], 99thPercentileLatency(us), 3
[READ], 99.9PercentileLatency(us), 4
[READ], Return=OK, 1000

";
    assert_eq!(published(&run(vec![result])), expected);
}

#[test]
fn no_published_form_makes_a_rate_of_no_time() {
    let options = ycsb::Options {
        workload: Workload::C,
        operations: 1,
        distribution: Distribution::Zipfian,
        field_count: 1,
        field_length: 7,
        rate: None,
    };
    let cell_of = |suite: &str| match suite {
        skvdb::ID => {
            let options = skvdb::Options { operations: 10, children: 0, entries: 1 };
            (cell(suite, "quick", 10, &options), "write, one record")
        }
        nudb::ID => {
            let options = nudb::Options { key_size: 64, fetches: 100, batch_size: Some(100) };
            (cell(suite, "quick", 100, &options), "fetch")
        }
        crossbench::ID => {
            let options = crossbench::Options {
                fill: crossbench::Fill::Insert,
                query: 0,
                update: 0,
                delete: 0,
                sequential: false,
                keys: crossbench::Keys::Dense,
                latencies: None,
            };
            (cell(suite, "quick", 10, &options), "insert")
        }
        _ => (cell(suite, "quick", 10, &options), "run"),
    };
    for suite in [crossbench::ID, nudb::ID, skvdb::ID, ycsb::ID] {
        let (cell, name) = cell_of(suite);
        let text = published(&run(vec![result(cell, "Quick", vec![phase(name, 10, &[0], 1)])]));
        assert!(text.contains('–'), "{suite}: {text}");
        assert!(text.contains("less time than the clock resolves"), "{suite}: {text}");
    }
}
