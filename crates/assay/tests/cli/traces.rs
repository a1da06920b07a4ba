//! Traces, from the command line.

use crate::support::{Bench, engines, was_refused};

/// A workload with operations that every engine's trace may have.
const MIXED: &str = r#"
title = "Mixed"
[records]
count = 300
key = { type = "text", bytes = 24 }
value = { uniform = [8, 200] }
[[phase]]
name = "serve"
operations = 900
mix = { read = 40, update = 10, insert = 10, delete = 5, read_modify_write = 5, upsert = 5 }
choose = { zipfian = 0.9 }
"#;

const FORMATS: [&str; 4] = ["twitter", "metakv", "rocksdb", "csv"];

/// Returns a bench with the trace of a workload, `trace.csv`.
fn bench_with(workload: &str) -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join("mixed.toml"), workload).expect("a file");
    bench.succeeds("generate trace mixed.toml -o trace.csv");
    bench
}

fn with_scans() -> String {
    MIXED
        .replace("upsert = 5", "scan = 5")
        .replace("choose", "scan = { rows = { constant = 7 } }\nchoose")
}

#[test]
fn every_engine_replays_a_trace() {
    for workload in [MIXED.to_string(), with_scans()] {
        let bench = bench_with(&workload);
        let engines = engines().join(",");
        let line = format!("run trace trace.csv --prefill -e {engines} -s m,d --dir stores");
        let ended = bench.succeeds(&format!("{line} -o run.json -y --timeout 300"));
        assert!(ended.told().contains("trace.csv · "), "{}", ended.stdout);
        for engine in ["lode", "sqlite", "redb"] {
            assert!(ended.stdout.contains(engine), "{engine}: {}", ended.stdout);
        }
        bench.has_no_stores();
        let run = std::fs::read_to_string(bench.path().join("run.json")).expect("the run file");
        assert!(!run.contains("\"wrong\"") && run.contains("\"reopened\""));
        let published = bench.succeeds("show run.json --format published").stdout;
        assert!(published.contains("  replay, threads 1, operations a second"), "{published}");
    }
}

#[test]
fn every_format_is_generated_compressed_recognised_and_replayed() {
    let bench = bench_with(MIXED);
    for format in FORMATS {
        for end in ["txt", "zst", "gz"] {
            let name = format!("{format}.{end}");
            bench.succeeds(&format!("generate trace mixed.toml --trace-format {format} -o {name}"));
            for (named, threads) in [(String::new(), 1), (format!("--trace-format {format}"), 2)] {
                let line = format!("run trace {name} {named} -t {threads} -e lode --dir stores");
                let told = bench.succeeds(&format!("{line} -Q -y -o run.json")).told();
                assert!(told.contains(&name) && told.contains("replay"), "{told}");
            }
        }
    }
    let longer = "generate trace mixed.toml --trace-format twitter --operations 2000 -o long.csv";
    bench.succeeds(longer);
    let text = std::fs::read_to_string(bench.path().join("long.csv")).expect("a trace");
    assert_eq!(text.lines().count(), 2_000);
    let printed = bench.succeeds("generate trace mixed.toml").stdout;
    let file = std::fs::read_to_string(bench.path().join("trace.csv")).expect("a trace");
    assert_eq!(printed, file);
    std::fs::write(bench.path().join("scans.toml"), with_scans()).expect("a file");
    let twitter = "generate trace scans.toml --trace-format twitter -o scans.csv";
    bench.refuses(twitter, 2, &["no word for it; choose --trace-format csv or rocksdb"]);
    assert!(!bench.path().join("scans.csv").exists());
    bench.refuses("generate trace mixed.toml -o no/such/folder.csv", 3, &["--output"]);
}

#[test]
fn lines_as_their_projects_write_them_are_read() {
    let bench = Bench::new();
    for (text, operations) in [
        ("1,a,b,3,5,7,set,0\n1,a,b,3,5,7,gets,0\n2,k,1,0,7,incr,0\n", 3),
        ("key,op,size,op_count,key_size\n17,SET_LEASE,9,2,20\n17,GET,9,3,20\n", 5),
        ("op_time,key,key_size,op,op_count,size,cache_hits,ttl\n5,1,83,GET,1,62,1,0\n", 1),
        ("0x61AB 1 0 12 1593\n0x61AB 0 0 0 1593\n0x61AB 0 1 0 1600\n0x61 6 0 0 1601\n", 4),
        ("time,operation,key,value_bytes,scan_rows\r\n0.5,upsert,k,12,\r\n1,scan,a,,9\r\n", 2),
    ] {
        std::fs::write(bench.path().join("trace"), text).expect("a file");
        bench.succeeds("run trace trace -e btreemap,lode -s m,d --dir stores -o run.json -Q -y");
        let run = bench.run_file("run.json");
        let facts = run["cells"][1]["cell"]["options"]["facts"].as_str().expect("figures");
        let words = format!("\"operations\":{operations},");
        assert!(facts.contains(&words), "{text}: {facts}");
    }
}

#[test]
fn a_broken_line_is_named_and_skipped_on_request() {
    let csv = "time,operation,key,value_bytes,scan_rows\n1,read,k,,\n";
    let kv = "key,op,size,op_count,key_size\n";
    let long = format!("{csv}{}\n", "x".repeat(100_000));
    for (text, said) in [
        (format!("{csv}2,raed,k,,\n"), "line 3, column 3: \"raed\": no operation; they are read,"),
        (format!("{csv}x,read,k,,\n"), "line 3, column 1: \"x\": a time must be a number"),
        (format!("{csv}0.5,read,k,,\n"), "line 3, column 1: the time is before that of the line"),
        (format!("{csv}2,read,k\n"), "line 3, column 1: not the five fields time,operation,key"),
        (format!("{csv}2,read,,,\n"), "line 3, column 8: no key"),
        (format!("{csv}2,read,k,,,9\n"), "line 3, column 12: \"9\": more than five fields"),
        (
            format!("{csv}2,upsert,k,99999999999999999999,\n"),
            "line 3, column 12: \"99999999999999999999\": bytes of a value must be at most 4000000",
        ),
        (format!("{csv}2,scan,k,,0\n"), "line 3, column 11: \"0\": a scan asks for at least one"),
        (format!("{csv}2.1234567891,read,k,,\n"), "line 3, column 1: "),
        (format!("{csv}\n"), "line 3, column 1: not the five fields"),
        (long, "line 3, column 65536: the line has more than 65536 bytes"),
        ("1,k,1,5,7,set,0\n2,k,1,5,7,sit,0\n".into(), "line 2, column 11: \"sit\": no operation"),
        ("1,k,1,5,7,set,0\n2,k,1,-5,7,set,0\n".into(), "line 2, column 7: \"-5\": bytes of a"),
        ("1,k,1,5,7,set,0\nset\n".into(), "line 2, column 1: not the seven fields"),
        (format!("{kv}1,GET,0,1,2\n1,GET,0,0,2\n"), "line 3, column 9: \"0\": op_count must be"),
        (format!("{kv}1,GET,0,1,2\n1,GET,0\n"), "line 3, column 1: 3 fields, and the header names"),
        ("0xAB 0 0 0 5\n0xAB 0xAC 4 0 0 5\n".into(), "line 2, column 6: \"0xAC\": the end of a"),
        ("0xAB 0 0 0 5\n0xAB 7 0 0 5\n".into(), "line 2, column 6: \"7\": a seek backwards"),
        ("0xAB 0 0 0 5\n0xABC 0 0 0 5\n".into(), "line 2, column 1: \"0xABC\": a key must be 0x"),
    ] {
        let bench = Bench::new();
        std::fs::write(bench.path().join("trace"), text).expect("a file");
        let run = "run trace trace -e lode --dir stores -o run.json -y";
        bench.refuses(run, 2, &["assay: trace, ", said, "; --skip-broken leaves such lines out"]);
        assert_eq!(bench.list(), ["trace"], "nothing was made");
        let told = bench.succeeds(&format!("{run} --skip-broken")).told();
        assert!(
            told.contains("lines of the trace that were broken and skipped: 1, first line "),
            "{told}"
        );
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let bench = Bench::new();
    let write = |name: &str, content: &[u8]| {
        std::fs::write(bench.path().join(name), content).expect("a file");
    };
    write("empty", b"");
    write("header", b"time,operation,key,value_bytes,scan_rows\n");
    write("words", b"some words\n");
    write("broken", b"1,k,1,5,7,set,0\n");
    write("zeros", &[0; 200_000]);
    write("timeless", b"key,op,size,op_count,key_size\n1,GET,0,1,2\n");
    let long = "key,op,size,op_count,key_size\n1,GET,0,999999999,2\n1,GET,0,2,2\n";
    write("long", long.as_bytes());
    let mut packed = b"\x28\xb5\x2f\xfd".to_vec();
    packed.extend([7; 50]);
    write("packed.zst", &packed);
    for (line, code, words) in [
        ("empty", 2, "empty: the trace is empty"),
        ("header", 2, "header: the trace is empty"),
        ("words", 2, "words, line 1, column 1: no known format; name one with --trace-format"),
        ("zeros", 2, "zeros, line 1, column 65536: the line has more than"),
        ("words --trace-format csv", 2, "line 1, column 1: a trace in csv starts with time,oper"),
        ("words --trace-format metakv", 2, "names key, op, size, op_count, key_size, and not"),
        ("words --trace-format twitter --skip-broken", 2, "none of its lines is an operation; 1"),
        ("timeless --pace recorded", 2, "the trace has no times; replay it with --pace as-fast"),
        ("broken --pace 0x", 2, "--pace"),
        ("broken --pace slowly", 2, "must be recorded, as-fast-as-possible, or a factor"),
        ("broken --first 0", 2, "must be between 1 and 1000000000"),
        ("broken -t 0", 2, "threads are 1 to 256"),
        ("none.csv", 3, "none.csv: No such file"),
        ("packed.zst", 3, "packed.zst"),
        ("/dev/zero", 3, "/dev/zero: is a device, which may have no end; name another file"),
        (".", 3, ".: is a directory"),
        ("", 2, "<FILE>"),
    ] {
        let run = format!("run trace {line} -e lode --dir stores -o run.json");
        bench.refuses(&run, code, &["assay: ", words]);
        assert!(!bench.path().join("run.json").exists() && !bench.stores().exists());
    }
    nix::unistd::mkfifo(&bench.path().join("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    bench.refuses("run trace pipe -e lode", 3, &["pipe: is no regular file"]);
}

#[test]
fn a_folder_for_temporary_files_that_is_not_there_is_named() {
    let bench = Bench::new();
    // More operations on one key than stay in memory.
    std::fs::write(bench.path().join("hot"), "1,k,1,5,7,set,0\n".repeat(9_000)).expect("a file");
    let line = "run trace hot -e lode --dir stores -o run.json";
    let ended = bench.assay_with(("TMPDIR", "/none/here"), line);
    was_refused(
        line,
        &ended,
        3,
        &["/none/here: a temporary file for hot", "set TMPDIR to a folder"],
    );
    assert_eq!(bench.list(), ["hot"], "nothing was made");
}

#[test]
fn a_replay_is_paced_planned_compared_and_shown() {
    let bench = bench_with(MIXED);
    let run = "run trace trace.csv -e lode,redb -t 1,2 --dir stores -o run.json -y";
    bench.succeeds(&format!("{run} --pace 4x --prefill"));
    let compared = bench.succeeds("compare run.json --engines lode,redb").told();
    assert!(compared.contains("replay") && compared.contains("load"), "{compared}");
    bench.succeeds("report run.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("the page");
    assert!(page.contains("trace.csv") && page.contains("read_modify_write"));
    bench.succeeds("plot run.json -o pictures");
    assert!(bench.succeeds("show run.json --format csv").stdout.contains("update"));
    let told = bench.succeeds("show run.json").told();
    assert!(told.contains("prefilled, pace 4x"), "{told}");
    let plan =
        "engine = [\"lmdb\"]\n[[run]]\nsuite = \"trace\"\nfile = \"trace.csv\"\nfirst = 90\n";
    std::fs::write(bench.path().join("plan.toml"), plan).expect("a plan");
    let ended = bench.succeeds("plan -c plan.toml -o planned.json");
    assert!(ended.told().contains("replay"), "{}", ended.stdout);
    bench.helps("run trace", "Fill in the records that the trace finds");
}

#[test]
fn caches_of_twitter_are_workloads_that_ship() {
    let bench = Bench::new();
    let meaning = bench.succeeds("workload check twitter:37").stdout;
    assert!(meaning.contains("Twitter cache 37") && meaning.contains("insert 26.35"), "{meaning}");
    let text = bench.succeeds("workload new twitter:12").stdout;
    assert!(text.contains("CC BY 4.0") && text.contains("zipfian = 0.3048"), "{text}");
    let small = text
        .replace("count = 931099 ", "count = 900 ")
        .replace("operations = 1000000", "operations = 900");
    assert!(small.contains("count = 900 ") && small.contains("operations = 900\n"), "{small}");
    std::fs::write(bench.path().join("small.toml"), small).expect("a file");
    bench.succeeds("run workload small.toml -e lode -t 1 --dir stores -o run.json -Q -y");
    bench.refuses("workload check twitter:5", 2, &["of this cache nothing but its misses"]);
    bench.refuses("run workload twitter:55", 2, &["there are twitter:1 to twitter:54"]);
    bench.refuses("workload new twitter:x", 2, &["there are twitter:1 to twitter:54"]);
    bench.succeeds("generate trace twitter:37 --operations 50 -o twitter.csv");
}

#[test]
fn a_workload_is_fitted_to_a_trace_and_runs() {
    let bench = bench_with(MIXED);
    let distances = bench.succeeds("workload fit trace.csv --prefill -o fitted.toml").stdout;
    for property in ["mix", "value bytes", "popularity", "one-hit keys", "growth", "rate"] {
        assert!(distances.contains(&format!("\n{property} ")), "{property}: {distances}");
    }
    let told = bench.succeeds("workload check fitted.toml").told();
    assert!(told.contains("As trace.csv") && told.contains("900 operations"), "{told}");
    bench.succeeds("run workload fitted.toml -e lode,redb --dir stores -o run.json -Q -y");
    let printed = bench.succeeds("workload fit trace.csv --prefill").stdout;
    let file = std::fs::read_to_string(bench.path().join("fitted.toml")).expect("the file");
    assert!(printed.starts_with(&file) && printed.contains("# popularity"), "{printed}");
    let there = "fitted.toml: is there already; choose another file with --output";
    bench.refuses("workload fit trace.csv -o fitted.toml", 3, &[there]);
    bench.refuses("workload fit none.csv", 3, &["none.csv: No such file"]);
    std::fs::write(bench.path().join("broken.csv"), "1,k,1,5,7,set,0\nset\n").expect("a file");
    bench.refuses("workload fit broken.csv", 2, &["broken.csv, line 2, column 1: not the seven"]);
}
