//! CrossBench's text.

use std::path::PathBuf;

use assay_core::run_file::CellResult;
use assay_driver::{KeyKind, Storage};
use assay_suites::crossbench;
use assay_suites::crossbench::published::{Show, text};
use assay_suites::crossbench::{Fill, Options};

use super::{cell, phase, published, result, run};

const UPDATES_US: [u64; 10] =
    [266_616, 281_096, 274_047, 265_904, 260_426, 265_945, 254_995, 274_223, 274_394, 290_548];
const QUERIES_US: [u64; 10] =
    [231_543, 244_874, 240_435, 223_147, 221_954, 243_468, 240_375, 240_878, 229_140, 237_540];

fn options(fill: Fill) -> Options {
    Options::default().filled_by(fill, 1_000_000)
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

#[test]
fn several_trials_are_the_tables_of_the_scripts() {
    let trial = |storage, engine: &str, trial| {
        let mut result = sample(Fill::Insert);
        result.cell.storage = storage;
        result.cell.engine = engine.into();
        result.cell.trial = trial;
        result.measurement.engine_name = result.cell.engine.id.clone();
        result
    };
    let (memory, disk) = (Storage::Memory, Storage::Disk);
    let turns = [(memory, "a", 1), (disk, "a", 1), (disk, "b@other", 1), (disk, "a", 2)];
    let cells = turns.map(|(storage, engine, number)| trial(storage, engine, number));
    let text = published(&run(cells.into()));
    let firsts: Vec<_> = text
        .lines()
        .filter_map(|line| line.split_whitespace().next())
        .filter(|word| *word != "DB")
        .collect();
    assert_eq!(firsts, ["On-Disk", "a", "a", "b@other", "In-Memory", "a"], "{text}");
    assert_eq!(text.matches("DB            Rows").count(), 2, "a header for each mode: {text}");
}
