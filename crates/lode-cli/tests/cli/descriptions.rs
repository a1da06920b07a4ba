//! Checks what the commands print about sound databases.

use lode::KeyKind;

use crate::support::{ANIMALS, Bench, close};

#[test]
fn a_check_counts_the_records_of_every_table() {
    let bench = Bench::with_animals();
    bench.with_numbers("zoo", KeyKind::Hash, 1);
    let all = "animal: tree, 3 records\nnumber: hash, 1 record\nno faults found\n";
    assert_eq!(bench.succeeds(&["check", "zoo"]), all);
    close(bench.open("none"));
    assert_eq!(bench.succeeds(&["check", "none"]), "no faults found\n");
}

#[test]
fn a_schema_is_printed_as_load_takes_it() {
    let bench = Bench::with_animals();
    bench.with_numbers("zoo", KeyKind::Hash, 1);
    let animal = format!("animal\ttree\t{ANIMALS}\n");
    assert_eq!(bench.succeeds(&["schema", "zoo", "animal"]), animal);
    let number = "number\thash\tid:u64 key, square:u64\n";
    assert_eq!(bench.succeeds(&["schema", "zoo"]), format!("{animal}{number}"));
}

#[test]
fn statistics_are_for_people_and_for_programs() {
    let bench = Bench::with_animals();
    bench.with_numbers("zoo", KeyKind::Hash, 1234);
    let size = |name: &str| {
        std::fs::metadata(bench.path("zoo").join(name)).expect("the file is there").len()
    };
    let data = size("data");
    let log = bench.list("zoo").pop().expect("a segment");
    let log_bytes = size(&log);

    let json = bench.succeeds(&["stat", "zoo", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    let files = serde_json::json!([
        {"name": "data", "bytes": data},
        {"name": log, "bytes": log_bytes},
    ]);
    assert_eq!(json["files"], files);
    let used = json["data_used_bytes"].as_u64().expect("a number");
    assert!(used > 0 && used <= data, "{used}");
    assert!(json["log_replay_bytes"].as_u64().is_some_and(|bytes| bytes < log_bytes));
    assert_eq!(
        json["tables"],
        serde_json::json!([
            {
                "name": "animal", "keys": "tree", "records": 3, "record_bytes": 43, "key_bytes": 8,
                "columns": [
                    {"name": "id", "type": "u64", "key": true, "nullable": false},
                    {"name": "name", "type": "text(32)", "key": false, "nullable": false},
                    {"name": "tag", "type": "bytes(2)", "key": false, "nullable": true},
                ],
                "indexes": [],
            },
            {
                "name": "number", "keys": "hash", "records": 1234, "record_bytes": 16,
                "key_bytes": 8,
                "columns": [
                    {"name": "id", "type": "u64", "key": true, "nullable": false},
                    {"name": "square", "type": "u64", "key": false, "nullable": false},
                ],
                "indexes": [],
            },
        ])
    );

    let data = size("data");
    let text = bench.succeeds(&["stat", "zoo"]);
    assert!(text.starts_with(&format!("data: {data} bytes\nlog-")), "{text}");
    let tables = "
 table   keys  records  bytes a record  columns
 animal  tree        3              43  id:u64 key, name:text(32), tag:bytes(2)?
 number  hash     1234              16  id:u64 key, square:u64
";
    assert!(text.ends_with(tables), "{text}");
    close(bench.open("none"));
    assert!(bench.succeeds(&["stat", "none"]).ends_with("\nno tables\n"));
}

#[test]
fn help_has_an_example_and_the_statuses() {
    let bench = Bench::new();
    let help = bench.succeeds(&["--help"]);
    assert!(help.contains("Exit status: 0 done, and nothing is wrong; 1 the database is damaged"));
    for command in ["check", "stat", "dump", "load", "schema"] {
        assert!(help.contains(&format!("\n  {command} ")), "{help}");
        let help = bench.succeeds(&[command, "--help"]);
        assert!(help.contains("\n  lode ") && help.contains("Example"), "{help}");
    }
    let version = format!("lode {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(bench.succeeds(&["--version"]), version);
}
