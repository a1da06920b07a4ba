//! The other suites from the command line: every engine, the published text, the pictures, and
//! what a user can say wrong.

use crate::support::{Bench, engines, engines_here};

const THERE: &str = "--dir stores -o run.json --timeout 300";

/// Every number of a text.
fn numbers(text: &str) -> usize {
    text.split(|c: char| !c.is_ascii_digit() && c != '.').filter(|word| !word.is_empty()).count()
}

#[test]
fn nudb_prints_its_two_tables() {
    let bench = Bench::new();
    let line = "run nudb --inserts 300 600 --fetches 200 -s all --format published";
    let ended = bench.succeeds(&format!("{line} -e {} {THERE}", engines().join(",")));
    let text = &ended.stdout;
    assert!(text.starts_with("insert\n        inserts  stl-map-memory"), "{text}");
    assert!(text.contains("\nfetch\n200\nitems\n      # db keys  stl-map-memory"), "{text}");
    assert!(text.contains("  redb-memory") && text.contains("  redb-disk"), "{text}");
    // CrossDB's keys are too short.
    for engine in engines_here().into_iter().filter(|engine| *engine != "crossdb") {
        assert!(text.contains(engine), "{engine}: {text}");
    }
    assert_eq!(text.lines().filter(|line| line.trim_start().starts_with("600 ")).count(), 2);
    let again = bench.succeeds("show run.json --format published");
    assert_eq!(again.stdout, *text);
    let drawn = bench.succeeds("plot run.json -o pictures");
    assert!(drawn.stdout.contains("run-nudb-insert.svg"), "{}", drawn.stdout);
    bench.has_no_stores();
}

/// Values are given as NuDB's own documentation types them.
#[test]
fn several_values_follow_an_equals_sign() {
    let bench = Bench::new();
    let line = "run nudb --inserts=100 200 --dbs=lmdb redb --fetches 50 --format published";
    let text = bench.succeeds(&format!("{line} {THERE}")).stdout;
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[1], "        inserts          lmdb          redb");
    assert!(lines[2].starts_with("            100 ") && lines[3].starts_with("            200 "));
    assert_eq!(lines.len(), 11, "{text}");
}

#[test]
fn nudb_in_batches_gives_the_curve() {
    let bench = Bench::new();
    let line = "run nudb --batch_size 100 --num_batches 5 --dbs lmdb fjall --raw_out raw.csv -Q";
    bench.succeeds(&format!("{line} --block_size 8192 {THERE}"));
    let raw = std::fs::read_to_string(bench.path().join("raw.csv")).expect("the CSV");
    let lines: Vec<_> = raw.lines().collect();
    assert_eq!(lines[0], "num_db_items,db,op,ops/sec");
    assert_eq!(lines.len(), 1 + 2 * 2 * 5, "{raw}");
    let starts = ["0,lmdb,insert,", "100,lmdb,fetch,", "100,lmdb,insert,", "200,lmdb,fetch,"];
    for (line, start) in lines[1..].iter().zip(starts) {
        assert!(line.starts_with(start), "{raw}");
        let decimals = line.rsplit_once('.').map(|(_, decimals)| decimals.len());
        assert_eq!(decimals, Some(6), "{line}");
    }
    let summary = bench.succeeds("show run.json --format published").stdout;
    let lines: Vec<_> = summary.lines().collect();
    assert_eq!(
        lines[..3],
        ["", "insert (per second)", "    num_db_keys          lmdb         fjall"]
    );
    assert!(lines[3].starts_with("            100 "), "{summary}");
    assert_eq!(lines.len(), 8, "{summary}");
    let shown = bench.succeeds("show run.json");
    let ignored = "ignored, since the engine has no such setting: block_size";
    assert!(shown.told().contains(ignored), "{}", shown.stdout);
    let drawn = bench.succeeds("plot run.json --log");
    for picture in drawn.stdout.lines() {
        assert!(std::fs::metadata(bench.path().join(picture)).is_ok_and(|m| m.len() > 1_000));
    }
}

#[test]
fn skvdb_prints_four_tables_and_draws_four_pictures_for_each_engine() {
    let bench = Bench::new();
    let line = "run skvdb -e btreemap,lmdb,fjall -s m,r -t 1,3-4 --entries 2,1 --operations 70";
    let ended = bench.succeeds(&format!("{line} --children 5 --format published {THERE}"));
    for engine in ["# btreemap", "# lmdb", "# fjall"] {
        assert!(ended.stdout.contains(engine), "{}", ended.stdout);
    }
    assert!(
        ended.stdout.contains("No. threads | 2 entries | 1 entry|\n---|--------|-------\n1  |\t")
    );
    let rows = ended.stdout.lines().filter(|line| line.contains("|\t")).collect::<Vec<_>>();
    assert_eq!(rows.len(), 3 * 4 * 3, "{}", ended.stdout);
    assert!(rows.iter().all(|row| numbers(row) == 3), "{}", ended.stdout);
    let shown = bench.succeeds("show run.json");
    for phase in ["write, one", "remove/s", "link/s", "unlink/s"] {
        assert!(shown.stdout.contains(phase), "{phase}: {}", shown.stdout);
    }
    let drawn = bench.succeeds("plot run.json");
    assert_eq!(drawn.stdout.lines().filter(|line| line.ends_with(".svg")).count(), 3 * 4 + 1);
    let all = bench.path().join("run-skvdb-engines.svg");
    let all = std::fs::read_to_string(all).expect("a picture over all engines");
    for words in ["btreemap-memory", "lmdb-ramdisk", "fjall-ramdisk", "4. Multiple Records"] {
        assert!(all.contains(words), "{words}");
    }
    // The text's links lead to the pictures.
    let links = ended.stdout.lines().filter_map(|line| line.strip_prefix("![")?.split_once("]("));
    let links: Vec<_> = links.map(|(_, file)| file.trim_end_matches(')')).collect();
    assert_eq!(links.len(), 3 * 4, "{}", ended.stdout);
    for file in links {
        assert!(drawn.stdout.lines().any(|drawn| drawn.ends_with(file)), "{file}");
    }
    bench.has_no_stores();
}

#[test]
fn lode_runs_skvdb_on_volumes_of_its_own() {
    let bench = Bench::new();
    let line = "run skvdb -e lode -s m,r,d -t 1,3 --entries 3,1 --operations 700 --children 20";
    bench.succeeds(&format!("{line} {THERE}"));
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let of_lode: Vec<_> = cells.iter().filter(|cell| cell["cell"]["engine"] == "lode").collect();
    assert_eq!(of_lode.len(), 3 * 2 * 2, "{run}");
    for cell in of_lode {
        let measurement = &cell["measurement"];
        assert_eq!(cell["cell"]["key_kind"], "tree", "the tables of volumes are trees");
        assert_eq!(measurement["phases"].as_array().map(Vec::len), Some(7), "{cell}");
        let settings = measurement["settings"].to_string();
        let volumes = match cell["cell"]["options"]["entries"][0].as_u64() {
            Some(3) => "3 volumes of lode-volumes at one point",
            _ => "1 volume of lode-volumes",
        };
        assert!(settings.contains(volumes), "{cell}");
    }
    bench.has_no_stores();
}

#[test]
fn tonbo_write_prints_the_published_table() {
    let bench = Bench::new();
    let line = "run tonbo-write --scale 0.001 -s m,r --format published";
    let quick = "btreemap,hashbrown,lode,sqlite,lmdb,mdbx,redb,fjall";
    let ended = bench.succeeds(&format!("{line} -e {quick} {THERE}"));
    for phase in ["bulk load", "individual writes (8 threads)", "batch writes (4 threads)"] {
        assert!(ended.stdout.contains(&format!("| {phase}")), "{}", ended.stdout);
    }
    assert!(ended.stdout.contains("| removals "), "{}", ended.stdout);
    let shown = bench.succeeds("show run.json");
    assert!(shown.told().contains("there are no batch writes"), "{}", shown.stdout);
    bench.has_no_stores();
}

#[test]
fn tonbo_read_keeps_its_store_and_takes_it_again() {
    let bench = Bench::new();
    bench.succeeds("generate customer --rows 500 -o customer.tbl");
    let line = "run tonbo-read -e sqlite,lmdb --tbl customer.tbl --keep --ranges 8 \
                --range-size 50 -t 2";
    let first = bench.succeeds(&format!("{line} {THERE}"));
    assert!(first.stdout.contains("load/s") && first.stdout.contains("stores left"));
    let table = bench.succeeds("show run.json --format published").stdout;
    assert!(!table.contains("| load"), "{table}");
    assert_eq!(table.lines().filter(|line| line.starts_with("| random")).count(), 5, "{table}");
    let second = bench.succeeds(&format!("{line} --format published {THERE}"));
    assert!(!second.stdout.contains("| load "), "{}", second.stdout);
    assert!(second.stdout.contains("| random range projection reads (2 threads)"));
    // Other records: the stores that are there are refused, and stay.
    bench.succeeds("generate customer --rows 500 --seed 2 -o other.tbl");
    let other = line.replace("customer.tbl", "other.tbl");
    bench.refuses(&format!("{other} {THERE}"), 1, &["other records", "customers"]);
    bench.succeeds(&format!("{line} {THERE}"));
}

#[test]
fn tonbo_micro_prints_estimates() {
    let bench = Bench::new();
    let line = "run tonbo-micro -e btreemap,lmdb -s m,r --warm-up 0.01 --measurement 0.05";
    let ended = bench.succeeds(&format!("{line} --samples 10 --format published {THERE}"));
    for batch in ["write/LMDB-ramdisk/16 ", "write/LMDB-ramdisk/128 "] {
        assert!(ended.stdout.contains(batch), "{}", ended.stdout);
    }
    assert!(ended.stdout.contains("time:   ["), "{}", ended.stdout);
}

#[test]
fn ycsb_runs_all_workloads_with_latencies() {
    let bench = Bench::new();
    // Persy panics now and then when a scan meets an insert.
    let engines: Vec<_> = engines().into_iter().filter(|engine| *engine != "persy").collect();
    let line = "run ycsb --records 500 --operations 400 -t 1,3 -s m,r";
    let ended = bench.succeeds(&format!("{line} -e {} {THERE}", engines.join(",")));
    for workload in ["A", "B", "C", "D", "E", "F"] {
        let title = format!("workload {workload} · ");
        assert!(ended.stdout.contains(&title), "{title}: {}", ended.stdout);
    }
    assert!(ended.stdout.contains("latency of"), "{}", ended.stdout);
    // Hash keys have no scans.
    assert!(ended.told().contains("ordered scans, which workload E consists of"));
    let published = bench.succeeds("show run.json --format published").stdout;
    for line in ["[OVERALL], Throughput(ops/sec), ", "[READ-MODIFY-WRITE], Operations, "] {
        assert!(published.contains(line), "{published}");
    }
    let drawn = bench.succeeds("plot run.json");
    assert!(drawn.stdout.lines().count() >= 2, "{}", drawn.stdout);
    bench.has_no_stores();
}

#[test]
fn an_open_loop_says_what_arrived_and_what_was_done() {
    let bench = Bench::new();
    let line = "run ycsb --records 300 --operations 600 -w a,e -t 1,2 -s m -e btreemap,sqlite";
    // Slow enough for everybody, and faster than anybody.
    let ended = bench.succeeds(&format!("{line} --rate 2k {THERE}"));
    assert!(
        ended.told().contains("latencies at 2000 random arrivals a second"),
        "{}",
        ended.stdout
    );
    let run = bench.run_file("run.json");
    for cell in run["cells"].as_array().expect("cells") {
        let phases = cell["measurement"]["phases"].as_array().expect("phases");
        let Some(phase) = phases.iter().find(|p| p["name"] == "run" && p["timeline"].is_object())
        else {
            continue;
        };
        let timeline = &phase["timeline"];
        assert_eq!(timeline["offered_per_second"], 2_000);
        // The last operation does not arrive before its time: 300 ms, by chance 5 · √600 gaps less.
        assert!(timeline["time_ns"].as_u64() >= Some(240_000_000), "{timeline}");
        let intervals = timeline["intervals"].as_array().expect("intervals");
        let sum: u64 = intervals.iter().filter_map(|i| i["operations"].as_u64()).sum();
        assert_eq!(sum, 600);
        let counts = phase["latencies"].as_array().expect("latencies").iter();
        assert_eq!(counts.filter_map(|l| l["count"].as_u64()).sum::<u64>(), 600);
    }
    let shown = bench.succeeds("show run.json --details").stdout;
    assert!(shown.contains("p99.9 of the null engine, which does nothing"), "{shown}");
    let drawn = bench.succeeds("plot run.json").stdout;
    assert!(drawn.contains("run-throughput-") && drawn.contains("run-p99-"), "{drawn}");
    let page = bench.succeeds("report run.json -o page.html");
    assert!(page.stdout.contains("page.html"), "{page:?}");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(page.contains("\"timeline\":{\"rates\":[["));
    let ended = bench.succeeds(&format!("{line} --rate 1000m {THERE}"));
    let told = "1000000000 operations a second arrived and ";
    assert!(ended.told().contains(told), "{}", ended.stdout);
}

#[test]
fn the_same_seed_gives_every_engine_the_same_operations() {
    let bench = Bench::new();
    for (suite, line) in [
        ("nudb", "--inserts 300 --fetches 200"),
        ("ycsb", "--records 300 --operations 200 -t 3"),
        ("tonbo-read", "--records 300 --ranges 5 --range-size 10 -t 2"),
    ] {
        bench.succeeds(&format!("run {suite} {line} -e sqlite,lmdb,redb -s d -o run.json"));
        let run = bench.run_file("run.json");
        let cells = run["cells"].as_array().expect("cells");
        let mut hashes = std::collections::BTreeMap::new();
        for cell in cells {
            assert_eq!(cell["status"]["outcome"], "measured", "{suite}: {cell}");
            for phase in cell["measurement"]["phases"].as_array().expect("phases") {
                let hash = phase["tape_hash"].as_str().expect("a hash").to_string();
                let name = format!("{} {}", cell["cell"]["variant"], phase["name"]);
                assert_eq!(*hashes.entry(name).or_insert(hash.clone()), hash, "{suite}");
            }
        }
    }
}

#[test]
fn lists_sizes_and_threads_that_are_none_are_refused() {
    let bench = Bench::new();
    bench.refuses("run nudb --inserts 1000 0", 2, &["--inserts", "at least 1"]);
    bench.refuses("run nudb --inserts 1000 many", 2, &["many", "not a count"]);
    bench.refuses("run nudb --fetches 0", 2, &["at least 1"]);
    bench.refuses("run nudb --key_size 0", 2, &["a key has 1 to 65536 bytes"]);
    bench.refuses("run nudb --key_size 65537", 2, &["a key has 1 to 65536 bytes"]);
    bench.refuses("run nudb --key_size 1 --inserts 257", 2, &["257 items", "(256)", "--key-size"]);
    bench.refuses("run nudb --load_factor 1.5", 2, &["at most 1"]);
    bench.refuses("run nudb --dbs nosuch", 2, &["no engine nosuch", "lmdb"]);
    bench.refuses("run skvdb -t 0", 2, &["threads are 1 to 256"]);
    bench.refuses("run skvdb -t 16-2", 2, &["a range is like 2-16"]);
    bench.refuses("run skvdb --entries 0", 2, &["--entries", "between 1 and 16"]);
    bench.refuses("run skvdb --threads 300", 2, &["threads are 1 to 256"]);
    bench.refuses("run tonbo-write --scale 0", 2, &["above 0"]);
    bench.refuses("run tonbo-write --scale 2000", 2, &["more than there are keys", "--scale"]);
    bench.refuses("run tonbo-read --records 10 --range-size 11", 2, &["--range-size"]);
    bench.refuses("run tonbo-read --records 10 --tbl x", 2, &["--records", "--tbl"]);
    bench.refuses("run ycsb -w g", 2, &["possible values"]);
    bench.refuses("run ycsb --field-length 6", 2, &["--field-length"]);
    bench.refuses("run ycsb --distribution normal", 2, &["normal", "zipfian"]);
    bench.refuses("run nudb --s3-endpoint http://localhost:1", 2, &["--s3-bucket"]);
    bench.has_no_stores();
}

#[test]
fn tbl_files_that_are_none_are_refused_by_line() {
    let bench = Bench::new();
    let write = |text: &str| {
        std::fs::write(bench.path().join("bad.tbl"), text).expect("write");
    };
    let run = "run tonbo-read --tbl bad.tbl";
    bench.refuses(run, 3, &["bad.tbl", "No such file"]);
    write("1|n|a|7|p|0.00|s|c|\n2|n|a|7|p|0.00|s|\n");
    bench.refuses(run, 3, &["bad.tbl, line 2: 7 fields, expected 8", "c_custkey"]);
    write("");
    bench.refuses(run, 3, &["bad.tbl", "no customers", "assay generate customer"]);
    bench.refuses("generate customer -o /proc/x/y", 3, &["/proc/x/y"]);
    bench.refuses("generate customer -r 0", 2, &["at least 1"]);
    bench.refuses("run nudb --batch_size 10 --raw_out /proc/x", 3, &["/proc", "--raw-out"]);
}

#[test]
fn a_key_that_is_too_long_for_an_engine_is_one_cell_less() {
    let bench = Bench::new();
    let line = "run nudb --inserts 50 --fetches 50 --key_size 1000 -e lmdb,sqlite";
    let ended = bench.succeeds(&format!("{line} {THERE}"));
    let why = "not here: lmdb (keys of 1000 bytes; it takes 511)";
    assert!(ended.stdout.contains(why), "{}", ended.stdout);
    bench.succeeds(&format!(
        "run nudb --inserts 9 --fetches 9 --key_size 65536 -s m -e redb {THERE}"
    ));
}
