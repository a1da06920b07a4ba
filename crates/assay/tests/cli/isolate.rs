//! `assay isolate`: what transactions that run at once show.

use std::fs;

use serde_json::Value;

use crate::advise::SMALL;
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
    assert_eq!(json["format"], "assay-isolation");
    let lmdb = &json["verdicts"][0];
    assert_eq!((&lmdb["promised"], &lmdb["seed"]), (&"serializable".into(), &3.into()));
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

#[test]
fn verdicts_are_kept_for_advice_and_the_site() {
    let bench = Bench::new();
    bench.succeeds("isolate -e lmdb,sqlite --transactions 20 --dir stores");
    bench.succeeds("isolate -e lmdb --transactions 30 --dir stores");
    let path = bench.path().join("assay-runs/isolation.json");
    let read = || -> Value {
        serde_json::from_str(&fs::read_to_string(&path).expect("the file")).expect("JSON")
    };
    let of = |file: &Value, engine: &str| {
        let verdicts = file["verdicts"].as_array().expect("a list");
        let of_engine = verdicts.iter().filter(|verdict| verdict["engine"] == engine);
        of_engine.map(|verdict| verdict["transactions"].as_u64()).collect::<Vec<_>>()
    };
    let mut file = read();
    assert_eq!((of(&file, "lmdb"), of(&file, "sqlite")), (vec![Some(30)], vec![Some(20)]));

    fs::write(bench.path().join("small.toml"), SMALL).expect("a file");
    let line = "advise small.toml -e lmdb,sqlite,sled -s r --survives killed-process --for 60s -Q \
                --isolation serializable --dir stores";
    let told = bench.succeeds(&format!("{line} -o a.json")).told();
    assert!(told.contains("· serializable, kept in 30 transactions"), "{told}");
    let why = "sled: its isolation is not known: it has no transactions that read and write";
    assert!(told.contains(why), "{told}");

    // As if a test had refuted LMDB's documentation.
    let verdicts = file["verdicts"].as_array_mut().expect("a list");
    let lmdb = verdicts.iter_mut().find(|verdict| verdict["engine"] == "lmdb").expect("one");
    lmdb["isolation"]["seen"] = serde_json::json!([{ "anomaly": "G2-item", "case": null,
        "example": ["T0: read 1"], "is_against_promise": true }]);
    fs::write(&path, file.to_string()).expect("it can be written");
    let told = bench.succeeds(&format!("{line} -o b.json")).told();
    let why = "lmdb: assay isolate saw G2-item on ramdisk, which serializable excludes";
    assert!(told.contains(why) && told.contains("1 sqlite"), "{told}");

    bench.succeeds("site a.json assay-runs/isolation.json -o site");
    let page = fs::read_to_string(bench.path().join("site/isolation.html")).expect("the page");
    assert!(page.contains(">AGAINST</a>") && page.contains("T0: read 1"), "{page}");
    assert!(bench.path().join("site/runs/isolation.json").exists());
    fs::write(&path, "{}").expect("it can be written");
    bench.refuses("isolate -e lmdb", 3, &["not a file of verdicts that `assay isolate` wrote"]);
    assert_eq!(fs::read_to_string(&path).expect("it is there"), "{}");
}
