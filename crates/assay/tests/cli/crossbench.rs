//! The suite `crossbench` from the command line: every engine, every published option.

use crate::support::{Bench, engines, engines_here, engines_on_disk};

const TINY: &str = "-i 500 -q 200 -u 100 --dir stores -o run.json";

#[test]
fn every_engine_is_measured_in_every_storage_mode() {
    let bench = Bench::new();
    let ended = bench.succeeds(&format!("run crossbench -s all --details {TINY}"));
    for engine in engines_here() {
        let is_there = ended.stdout.contains(&format!("\n {engine}"));
        assert!(is_there, "{engine}: {}", ended.stdout);
    }
    for words in ["crossbench · memory", "crossbench · RAM disk", "crossbench · disk"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    assert!(ended.stdout.contains("instrument: insert"), "{}", ended.stdout);
    assert!(ended.stdout.contains("PRAGMA journal_mode = WAL"), "{}", ended.stdout);
    bench.has_no_stores();
}

#[test]
fn every_engine_replays_the_same_tape() {
    let bench = Bench::new();
    bench.succeeds(&format!("run crossbench -s m,d -e btreemap,sqlite,lmdb {TINY}"));
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let mut hashes = std::collections::BTreeMap::new();
    for cell in cells.iter().filter(|cell| cell["status"]["outcome"] == "measured") {
        for phase in cell["measurement"]["phases"].as_array().expect("phases") {
            let hash = phase["tape_hash"].as_str().expect("a hash").to_string();
            let name = phase["name"].as_str().expect("a name").to_string();
            assert_eq!(*hashes.entry(name).or_insert(hash.clone()), hash);
        }
    }
    // The operations of this suite with seed 1, so that they never change by accident.
    let pinned = [
        ("delete", "0f7b1b5d6d77669e"),
        ("insert", "c3060def00067230"),
        ("query", "3e3f7254fc663163"),
        ("update", "2fcf7e83a6bbf8f9"),
    ];
    let pinned = pinned.map(|(name, hash)| (name.to_string(), hash.to_string()));
    assert_eq!(hashes.into_iter().collect::<Vec<_>>(), pinned);
}

#[test]
fn a_store_that_is_left_can_be_queried_updated_and_emptied() {
    let bench = Bench::new();
    for engine in engines_on_disk() {
        let on = format!("-s d -e {engine} --dir stores");
        bench.succeeds(&format!("run crossbench {on} -i 1k -q 0 -u 0 -d 0"));
        assert!(bench.stores().join(format!("{engine}-disk")).is_dir());
        bench.succeeds(&format!("run crossbench {on} -r 1k -q 2k -u 0 -d 0"));
        bench.succeeds(&format!("run crossbench {on} -r 1k -q 100 -u 500 -d 300"));
        let ended = bench.succeeds(&format!("run crossbench {on} -r 700 -q 2k -u 0 -d 200 -S"));
        assert!(ended.told().contains("birth was not compared"), "{}", ended.stdout);
        bench.succeeds(&format!("run crossbench {on} -r 500 -q 2k -u 100"));
        bench.has_no_stores();
    }
}

#[test]
fn a_store_is_opened_with_the_keys_that_it_was_made_with() {
    let bench = Bench::new();
    let on = "-s d -e lode --dir stores --format published";
    let made = bench.succeeds(&format!("run crossbench {on} -i 1k -q 0 -u 0 -d 0 -k t")).stdout;
    assert!(made.contains("Key=TREE"), "{made}");
    let opened = bench.succeeds(&format!("run crossbench {on} -r 1k -q 10 -u 0 -d 0")).stdout;
    assert!(opened.contains("Key=TREE"), "{opened}");
    let other = format!("run crossbench {on} -r 1k -q 10 -u 0 -d 0 -k h");
    bench.refuses(&other, 1, &["another key type: tree, not hash"]);
    bench.succeeds(&format!("run crossbench {on} -r 1k -q 10 -u 0"));
    bench.has_no_stores();
}

#[test]
fn a_store_of_something_else_is_refused() {
    let bench = Bench::new();
    let on = "-s d -e lmdb --dir stores -q 10 -u 0 -d 0";
    bench.refuses(&format!("run crossbench {on} -r 10"), 1, &["no store here", "-i"]);
    bench.succeeds(&format!("run crossbench {on} -i 10"));
    bench.refuses(&format!("run crossbench {on} -r 20"), 1, &["holds 10 rows, not 20"]);
    bench.refuses(
        &format!("run crossbench {on} -r 10 --keys sparse"),
        1,
        &["other records: dense keys, not sparse keys"],
    );
    bench.refuses(&format!("run crossbench {on} -r 10 --seed 2"), 1, &["another seed: 1, not 2"]);
    std::fs::rename(bench.stores().join("lmdb-disk"), bench.stores().join("redb-disk"))
        .expect("rename");
    bench.refuses(
        "run crossbench -s d -e redb --dir stores -q 10 -u 0 -d 0 -r 10",
        1,
        &["another engine: lmdb, not redb"],
    );
    let marker = bench.stores().join("redb-disk").join("assay-store.json");
    let text = std::fs::read_to_string(&marker).expect("the marker");
    std::fs::rename(bench.stores().join("redb-disk"), bench.stores().join("lmdb-disk"))
        .expect("rename");
    let marker = bench.stores().join("lmdb-disk").join("assay-store.json");
    std::fs::write(&marker, text.replace("intf Text(16)", "intf Text(17)")).expect("write");
    bench.refuses(&format!("run crossbench {on} -r 10"), 1, &["another schema"]);
}

#[test]
fn a_store_that_lost_a_record_is_found_out() {
    let bench = Bench::new();
    let on = "-s d -e sqlite --dir stores";
    bench.succeeds(&format!("run crossbench {on} -i 100 -q 0 -u 0 -d 0"));
    // The marker now claims another seed for the records than they were made with.
    let marker = bench.stores().join("sqlite-disk").join("assay-store.json");
    let text = std::fs::read_to_string(&marker).expect("the marker");
    std::fs::write(&marker, text.replace("\"seed\": 1", "\"seed\": 2")).expect("write");
    bench.refuses(
        &format!("run crossbench {on} -r 100 -q 100 -u 0 -d 0 --seed 2"),
        1,
        &["column nexthop: expected"],
    );
}

#[test]
fn published_text_comes_as_scripts_expect_it() {
    let bench = Bench::new();
    let tiny = "-s r -e sqlite -i 100 -q 50 -u 20 --dir stores --format crossbench -o run.json";
    let whole = bench.succeeds(&format!("run crossbench {tiny}")).stdout;
    for line in [
        "SQLite Database Benchmark",
        "Type: RAMDISK",
        "Key: Default",
        "Access: Random",
        "Query Test: 50",
        "Update Test: 20",
        "SQLite Benchmark Result: RAMDISK Access=Random Key=Default Rows=100",
    ] {
        assert!(whole.lines().any(|l| l == line), "{line}: {whole}");
    }
    assert!(whole.contains("Insert rows: 100    Use time: "), "{whole}");
    assert_eq!(whole.matches("  Round: 10     Use Time: ").count(), 2, "{whole}");
    let header = bench.succeeds("run crossbench -H -r 0").stdout;
    assert!(whole.contains(&header), "{whole}");
    let quiet = bench.succeeds(&format!("run crossbench {tiny} -Q")).stdout;
    assert_eq!(quiet.lines().count(), 2, "{quiet}");
    assert!(quiet.starts_with(&header), "{quiet}");
    let unnamed = tiny.replace("--format crossbench", "");
    let row = bench.succeeds(&format!("run crossbench {unnamed} -Q -H -S -k tree")).stdout;
    assert_eq!(row.lines().count(), 1, "{row}");
    let columns: Vec<_> = row.split_whitespace().collect();
    assert_eq!((columns.len(), columns[0], columns[1]), (6, "SQLite", "100"));
    assert!(columns[2..].iter().all(|rate| rate.parse::<u64>().is_ok_and(|rate| rate > 0)));
    let shown = bench.succeeds("show run.json --format crossbench").stdout;
    assert!(shown.contains("\nKey: TREE\nAccess: Sequential\n\nInsert rows: 100 "), "{shown}");
    let loaded = bench.succeeds(&format!("run crossbench {} -Q", tiny.replace("-i", "-l"))).stdout;
    assert!(loaded.lines().next().is_some_and(|line| line.contains("    Load    ")), "{loaded}");
}

#[test]
fn loads_and_sparse_keys_and_trials_and_processors_work_together() {
    let bench = Bench::new();
    let ended = bench.succeeds(
        "run crossbench -s m,d -e btreemap,sqlite,sled -l 2k -q 100 -u 100 -d 2k -c 0 -S \
         --keys sparse --trials 2 --durability none --seed 7 --dir stores -o run.json",
    );
    assert!(ended.told().contains("no transactions, so the rows were inserted without one"));
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let order: Vec<_> = cells
        .iter()
        .filter(|cell| cell["cell"]["calibration"] != true)
        .filter(|cell| cell["status"]["outcome"] == "measured")
        .map(|cell| {
            let cell = &cell["cell"];
            let text = |name: &str| cell[name].as_str().expect("text").to_string();
            (cell["trial"].as_u64().expect("trial"), text("storage"), text("engine"))
        })
        .collect();
    let expected = [1, 2].into_iter().flat_map(|trial| {
        [("memory", "btreemap"), ("memory", "sqlite"), ("disk", "sqlite"), ("disk", "sled")]
            .map(|(storage, engine)| (trial, storage.to_string(), engine.to_string()))
    });
    assert_eq!(order, expected.collect::<Vec<_>>(), "engines take turns in each trial");
    bench.has_no_stores();
}

#[test]
fn a_cold_page_cache_is_for_disks() {
    let bench = Bench::new();
    let tiny = "-i 2k -q 100 -u 100 --dir stores --page-cache cold";
    let engines = engines_on_disk();
    let cold = bench.succeeds(&format!("run crossbench -s d {tiny} -e {}", engines.join(",")));
    assert!(cold.stdout.contains("page cache cold"), "{}", cold.stdout);
    bench.succeeds("run crossbench -s d -e lmdb -i 10 -q 0 -u 0 -d 0 --dir stores");
    bench.succeeds("run crossbench -s d -e lmdb -r 10 -q 10 -u 10 --dir stores --page-cache cold");
    bench.has_no_stores();
    let why = ["no page cache to drop"];
    bench.refuses(&format!("run crossbench -s r -e sqlite {tiny}"), 3, &why);
}

#[test]
fn published_settings_can_be_had() {
    let bench = Bench::new();
    let tiny = "-i 10 -q 10 -u 10 -s d -e sqlite --dir stores";
    let ours = bench.succeeds(&format!("run crossbench {tiny} --details")).told();
    assert!(ours.contains("WITHOUT ROWID") && ours.contains("synchronous = NORMAL"), "{ours}");
    let published = bench.succeeds(&format!("run crossbench {tiny} --details --as-published"));
    let published = published.told();
    assert!(published.contains("with a rowid (two B-trees)"), "{published}");
    let safe = bench.succeeds(&format!("run crossbench {tiny} --details --durability commit"));
    let safe = safe.told();
    assert!(safe.contains("synchronous = FULL"), "{safe}");
}

#[test]
fn a_run_is_shown_and_drawn_again_from_its_file() {
    let bench = Bench::new();
    let live = bench.succeeds(&format!("run crossbench -s m -e btreemap,hashbrown {TINY}"));
    let again = bench.succeeds("show run.json").stdout;
    assert!(live.stdout.starts_with(&again), "the same table");
    let listed = bench.succeeds("plot run.json -o pictures").stdout;
    let pictures: Vec<_> = listed.lines().collect();
    let (svg, png) = (pictures[0], pictures[1]);
    assert_eq!((svg, png), ("pictures/run-inmem-small.svg", "pictures/run-inmem-small.png"));
    let svg = std::fs::read_to_string(bench.path().join(svg)).expect("the SVG");
    assert!(svg.contains("hashbrown") && svg.contains("query") && svg.ends_with("</svg>\n"));
    let png = std::fs::read(bench.path().join(png)).expect("the PNG");
    assert!(png.starts_with(b"\x89PNG") && png.ends_with(b"IEND\xae\x42\x60\x82"));
    // On a slow day one engine may be 30 times slower than the other: then there are dots too.
    let folder = std::fs::read_dir(bench.path().join("pictures")).expect("folder");
    assert_eq!(folder.count(), pictures.len());
}

#[test]
fn verify_passes_for_every_engine_at_every_level() {
    let bench = Bench::new();
    let named = engines().join(",");
    // On a RAM disk, where syncs take no time: at every level there, and at the default one of
    // disks.
    let shm = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
    let shm = shm.expect("a directory");
    let ram = shm.path().join("stores").display().to_string();
    let ended = bench.succeeds(&format!("verify --durability all -s m,r --dir {ram} -e {named}"));
    bench.succeeds(&format!("verify -s d --dir {ram} -e {named}"));
    let here = engines_here();
    for engine in engines() {
        let is_here = here.contains(&engine);
        let of_engine = |line: &&str| line.split_whitespace().next() == Some(engine);
        let lines: Vec<_> = ended.stdout.lines().filter(of_engine).collect();
        assert!(!lines.is_empty(), "{engine}: {}", ended.stdout);
        let passed = |line: &&str| line.contains("passed");
        // What an engine has no storage for is named, and nothing else is left out.
        let named = |line: &&str| passed(line) || line.contains("skipped: it has no");
        let is_right = lines.iter().all(named) && lines.iter().any(passed);
        assert!(!is_here || is_right, "{engine}: {lines:?}");
    }
    bench.has_no_stores();
    bench.succeeds("run crossbench -V -e hashbrown -s m");
}

#[test]
fn list_tells_why_an_engine_is_not_there() {
    let bench = Bench::new();
    let ended = bench.succeeds("list");
    assert!(ended.told().contains("disk: process, periodic, commit"), "{}", ended.stdout);
    if ended.told().contains("library not found") {
        println!("crossdb is skipped: library not found");
    }
    let wide = ended.stdout.lines().find(|line| line.chars().count() > 80);
    assert_eq!(wide, None, "80 columns are enough");
}

#[test]
fn the_list_is_there_for_programs() {
    let bench = Bench::new();
    let listing = bench.succeeds("list --json").stdout;
    let listing: serde_json::Value = serde_json::from_str(&listing).expect("JSON");
    let sqlite = |listing: &serde_json::Value| {
        let engines = listing["engines"].as_array().expect("engines").clone();
        engines.into_iter().find(|engine| engine["id"] == "sqlite").expect("SQLite is there")
    };
    let found = sqlite(&listing);
    assert!(found["version"].is_string() && found["not_available"].is_null(), "{found}");
    assert_eq!(found["key_kinds"], serde_json::json!(["tree"]));
    let rowid = &found["parameters"][0];
    assert_eq!((&rowid["name"], rowid["values"][0].is_string()), (&"rowid".into(), true));
    let others = listing["not_in_this_build"].as_array().expect("an array");
    assert!(others.iter().any(|engine| engine["id"] == "duckdb"), "{listing}");
    let one = bench.succeeds("list --json -e sqlite").stdout;
    let one: serde_json::Value = serde_json::from_str(&one).expect("JSON");
    assert_eq!(one["engines"], serde_json::json!([sqlite(&listing)]));
    assert_eq!(one["not_built"], serde_json::json!([]));
}

#[test]
fn engines_can_be_left_out() {
    let bench = Bench::new();
    let line = "run crossbench -s m -i 100 -q 10 -u 10 -o run.json -Q -e";
    bench.succeeds(&format!("{line} btreemap,hashbrown,sqlite,!sqlite"));
    let run = bench.run_file("run.json");
    let engines = |run: &serde_json::Value| {
        let cells = run["cells"].as_array().expect("cells").iter();
        let measured = cells.filter(|cell| cell["cell"]["calibration"] == false);
        let names = measured.map(|cell| cell["cell"]["engine"].as_str().expect("a name").into());
        names.collect::<Vec<String>>()
    };
    assert_eq!(engines(&run), ["btreemap", "hashbrown"]);
    bench.succeeds(&format!("{line} all,!sqlite,!duckdb"));
    let all = engines(&bench.run_file("run.json"));
    assert!(all.len() > 2 && !all.contains(&"sqlite".to_string()), "{all:?}");
    bench.refuses(&format!("{line} sqlite,!sqlite"), 2, &["leave none"]);
    bench.refuses("verify -e !nosuch", 2, &["no engine nosuch"]);
    bench.refuses("crash -e sqlite,!sqlite", 2, &["leave none"]);
}

#[test]
fn threads_share_the_rows_and_their_speed_up_is_drawn() {
    let bench = Bench::new();
    let run = "run crossbench -s m -e btreemap,hashbrown,sqlite -t 1,3 -o run.json";
    let ended = bench.succeeds(&format!("{run} -i 2k -q 1k -u 1k -d 2k"));
    let cells = bench.run_file("run.json")["cells"].clone();
    let of = |engine: &str, threads: u64| {
        let is = |cell: &&serde_json::Value| {
            cell["cell"]["engine"] == engine && cell["cell"]["threads"] == threads
        };
        let mut all = cells.as_array().expect("cells").iter().filter(is);
        all.find(|cell| cell["cell"]["calibration"] == false).expect("a cell").clone()
    };
    for engine in ["btreemap", "hashbrown"] {
        let phases = of(engine, 3)["measurement"]["phases"].clone();
        assert_eq!(phases.as_array().map(Vec::len), Some(4), "{phases}");
        for phase in phases.as_array().expect("phases") {
            assert_eq!(phase["threads"], 3, "{phase}");
        }
        assert_eq!(phases[0]["rounds"][0]["operations"], 2000);
        assert_eq!(phases[1]["rounds"].as_array().map(Vec::len), Some(10));
    }
    assert_eq!(of("sqlite", 3)["status"]["outcome"], "unsupported", "in memory it has one");
    assert!(ended.stdout.contains("threads"), "{ended:?}");
    let drawn = bench.succeeds("plot run.json -o pictures").stdout;
    assert_eq!(drawn.matches("speedup-").count(), 8, "four phases, two kinds of files: {drawn}");
    let published = bench.succeeds("show run.json --format published").stdout;
    assert_eq!(published.matches("Threads: 3").count(), 2, "{published}");
    bench.refuses("run crossbench -t 0", 2, &["threads"]);
    bench.refuses("run crossbench -r 1k -t 1,2", 2, &["one number of threads"]);
}

#[test]
fn latencies_are_shown_and_drawn() {
    let bench = Bench::new();
    let counts = "-i 400 -q 300 -u 200 -d 400 --latency -t 1,2 -s m,r,d --details";
    let ended =
        bench.succeeds(&format!("run crossbench {counts} --dir stores -o run.json --timeout 300"));
    assert!(ended.told().contains("latencies in a closed loop"), "{}", ended.stdout);
    for words in ["latency of", "p99.99"] {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
    let run = bench.run_file("run.json");
    for cell in run["cells"].as_array().expect("cells") {
        let (status, engine) = (&cell["status"], &cell["cell"]["engine"]);
        if status["outcome"] != "measured" || cell["cell"]["calibration"] == true {
            continue;
        }
        let phases = cell["measurement"]["phases"].as_array().expect("phases");
        for (name, count) in [("insert", 400), ("query", 300), ("update", 200), ("delete", 400)] {
            let phase = phases.iter().find(|phase| phase["name"] == name).expect("a phase");
            assert!(!phase["rounds"].as_array().expect("rounds").is_empty(), "{engine} {name}");
            let latency = &phase["latencies"][0];
            assert_eq!(latency["count"], count, "{engine} {name}");
            let value = |field: &str| latency[field].as_u64().expect("a number");
            assert!(value("p50_ns") <= value("p9999_ns"), "{latency}");
            assert!(value("p9999_ns") <= value("max_ns") && value("min_ns") > 0, "{latency}");
        }
    }
    let drawn = bench.succeeds("plot run.json").stdout;
    assert!(drawn.contains("run-latency-insert-crossbench-ramdisk-400-"), "{drawn}");
    bench.has_no_stores();
}

#[test]
fn rows_that_stay_are_those_that_were_there_before_latencies_were_taken() {
    let bench = Bench::new();
    let engines = "-e lmdb,sqlite -s d";
    bench.succeeds(&format!("run crossbench {engines} -i 500 -q 0 -u 0 -d 100 --latency"));
    bench.succeeds(&format!("run crossbench {engines} -r 400 -q 300 -u 0 -d 400 --latency"));
    bench.has_no_stores();
}

/// Runs of one seed can be compared as long as their operations have these hashes.
#[test]
fn a_seed_names_its_operations_by_one_thread_and_by_two() {
    let bench = Bench::new();
    bench
        .succeeds("run crossbench -s m -e btreemap -t 1,2 -i 5k -d 5k -q 50k -u 2k -o run.json -Q");
    let run = bench.run_file("run.json");
    let hash = |threads: u64| {
        let is_of = |cell: &&serde_json::Value| cell["cell"]["threads"] == threads;
        let cell = run["cells"].as_array().expect("cells").iter().find(is_of).expect("a cell");
        cell["measurement"]["phases"][1]["tape_hash"].clone()
    };
    assert_eq!([hash(1), hash(2)], ["3117be8a4752c1ae", "d976f6f50f42789d"]);
}
