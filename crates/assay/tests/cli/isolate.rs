//! `assay isolate`: what transactions that run at once show.

use std::fs;

use serde_json::Value;

use crate::support::Bench;

#[test]
fn engines_with_one_writer_at_a_time_show_no_anomaly() {
    let bench = Bench::new();
    let ended = bench.succeeds("isolate -e lmdb,sqlite --transactions 300 --dir stores");
    for word in ["strictly serializable", "lmdb", "sqlite", "G-single", "long fork", "real time"] {
        assert!(ended.stdout.contains(word), "{word}: {ended:?}");
    }
    let seen =
        |word: &str| ended.stdout.lines().any(|line| line.starts_with(" G") && line.contains(word));
    assert!(seen("no") && !seen("seen") && !seen("AGAINST"), "{ended:?}");
    assert!(ended.stderr.contains("lmdb on ramdisk at process"), "{ended:?}");
    bench.has_no_stores();
    let json = bench.succeeds("isolate -e lmdb --transactions 300 --seed 3 --format json");
    let json: Value = serde_json::from_str(&json.stdout).expect("one object");
    assert_eq!((&json["format"], &json["seed"]), (&"assay-isolation".into(), &3.into()));
    let lmdb = &json["engines"][0];
    assert_eq!(lmdb["promised"], "serializable");
    let isolation = &lmdb["isolation"];
    let count = |name: &str| isolation[name].as_u64().expect("a count");
    assert_eq!(count("committed") + count("aborted"), 300, "{isolation}");
    assert_eq!((count("cases"), count("cases_refused")), (12, 0), "{isolation}");
    assert!(count("cases_waited") >= 10, "writers wait for each other: {isolation}");
    let markdown = bench.succeeds("isolate -e lmdb --transactions 20 --format markdown");
    assert!(
        markdown.stdout.starts_with("| engine | storage | promised | kept | G0 |"),
        "{markdown:?}"
    );
}

#[test]
fn what_cannot_be_looked_at_is_refused_in_one_line() {
    let bench = Bench::new();
    let refuses = |line: &str, code: i32, words: &[&str]| {
        bench.refuses(&format!("isolate {line}"), code, words);
    };
    refuses("-e btreemap -s m", 3, &["nothing was looked at; btreemap: ", "no transactions"]);
    refuses("-e lmdb -s m", 3, &["lmdb: it has no storage mode memory"]);
    refuses("-e null", 3, &["null: it keeps nothing"]);
    refuses("-e lmdb --threads 1", 2, &["--threads"]);
    refuses("-e lmdb --transactions 0", 2, &["--transactions"]);
    refuses("-e nosuch", 2, &["nosuch"]);
    let foreign = bench.path().join("stores/isolate-lmdb-ramdisk");
    fs::create_dir_all(&foreign).expect("a directory");
    fs::write(foreign.join("letter"), "mine").expect("it can be written");
    refuses("-e lmdb --dir stores --transactions 20", 3, &["files here that Assay did not make"]);
    assert_eq!(fs::read_to_string(foreign.join("letter")).expect("it is there"), "mine");
}
