//! Workloads of files, from the command line.

use crate::support::{Bench, engines};

/// A workload with operations of every kind.
const ALL_KINDS: &str = r#"
title = "All kinds"
[records]
count = 300
key = { type = "u64", made = "sparse" }
value = { uniform = [8, 200] }
[[phase]]
name = "serve"
threads = [1, 2]
operations = 600
mix = { read = 30, missing = 5, update = 10, insert = 10, delete = 5, read_modify_write = 5 }
[[phase]]
name = "more"
operations = 200
mix = { upsert = 1, scan = 1 }
scan = { rows = { constant = 5 } }
[[phase]]
name = "together"
operations = 100
transaction = 10
mix = { update = 1, read = 1 }
"#;

fn bench_with(name: &str, text: &str) -> Bench {
    let bench = Bench::new();
    std::fs::write(bench.path().join(name), text).expect("a file");
    bench
}

#[test]
fn every_engine_does_what_a_file_says() {
    let bench = bench_with("all.toml", ALL_KINDS);
    let engines = engines().join(",");
    let line = format!("run workload all.toml -e {engines} -s m,d --dir stores -o run.json -y");
    let ended = bench.succeeds(&format!("{line} --timeout 300"));
    assert!(ended.stdout.contains("All kinds"), "{}", ended.stdout);
    for engine in ["lode", "sqlite", "redb"] {
        assert!(ended.stdout.contains(engine), "{engine}: {}", ended.stdout);
    }
    bench.has_no_stores();
    let published = bench.succeeds("show run.json --format published").stdout;
    assert!(published.contains("  serve, threads 2, operations a second"), "{published}");
    let run = std::fs::read_to_string(bench.path().join("run.json")).expect("the run file");
    assert!(!run.contains("\"wrong\"") && run.contains("\"reopened\""));
}

#[test]
fn a_plan_names_the_file_and_survives_is_the_level() {
    let text = ALL_KINDS.replace("[records]", "survives = \"power cut\"\n[records]");
    let bench = bench_with("all.toml", &text);
    let plan = "engine = [\"lmdb\"]\n[[run]]\nsuite = \"workload\"\nfile = \"all.toml\"\n\
                threads = [2]\n";
    std::fs::write(bench.path().join("plan.toml"), plan).expect("a plan");
    let ended = bench.succeeds("plan -c plan.toml -o run.json");
    assert!(ended.told().contains("survives power loss"), "{}", ended.stdout);
    let named = "run workload all.toml -e lmdb --durability none -t 1 -o other.json -y";
    let other = bench.succeeds(&format!("{named} --dir stores")).told();
    assert!(other.contains("durability none"), "the command line decides: {other}");
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    for (right, wrong, said) in [
        ("count = 300", "count = \"10x\"", "line 4, column 9: \"10x\": not a count"),
        ("count = 300", "count = -1", "line 4, column 9: invalid value: integer `-1`"),
        ("count = 300", "count = \"2000m\"", "line 4, column 9: count must be between 0 and"),
        ("[8, 200]", "[8, 9000000]", "line 6, column 9: bytes must be between 8 and 4000000"),
        ("[8, 200]", "[200, 8]", "line 6, column 9: uniform = [least, most]: the least is more"),
        ("\"u64\"", "\"u128\"", "line 5, column 16: unknown variant `u128`, expected one of `u64`"),
        ("\"u64\"", "\"text\"", "line 5, column 16: a key of this type needs its bytes"),
        ("operations = 600\n", "", "line 7, column 1: the phase has no end; add operations"),
        ("operations = 600", "operation = 600", "line 10, column 1: unknown field `operation`"),
        ("operations = 600", "until = \"stable\"", "line 10, column 9: unknown variant `stable`"),
        (
            "operations = 600",
            "operations = 600\nuntil = \"steady\"",
            "line 11, column 9: the phase has operations too; leave one of them out",
        ),
        ("operations = 600", "seconds = 1\nwindow = 3", "line 11, column 10: window and limit are"),
        (
            "operations = 600",
            "until = \"steady\"\nwindow = 20\nlimit = 99",
            "line 12, column 9: limit must be between 100 and 86400: 5 windows of 20 s",
        ),
        ("operations = 600", "do = \"reopen\"", "line 11, column 7: a phase with do has no oper"),
        (
            "operations = 600",
            "do = \"recover\"\nlimit = 3",
            "line 12, column 7: a phase with do has no oper",
        ),
        ("operations = 600", "do = \"close\"", "line 10, column 6: unknown variant `close`, expec"),
        ("mix = { update = 1, read = 1 }", "", "line 17, column 1: the phase has no mix; add mix"),
        ("operations = 600", "operations = 0", "line 10, column 14: operations must be between 1"),
        ("{ upsert = 1, scan = 1 }", "{ upsert = 0 }", "line 15, column 7: the mix has no oper"),
        ("{ upsert = 1, scan = 1 }", "{ scna = 1 }", "line 15, column 9: unknown field `scna`"),
        ("{ upsert = 1, scan = 1 }", "{ scan = nan }", "line 15, column 7: shares of a mix are"),
        ("{ upsert = 1, scan = 1 }", "{ increment = 1 }", "line 15, column 7: increment is for"),
        ("\"more\"", "\"serve\"", "line 13, column 8: another phase has this name"),
        ("\"more\"", "\"load\"", "line 13, column 8: load is the name of"),
        ("[1, 2]", "[0, 2]", "line 9, column 11: threads must be between 1 and 256, each once"),
        ("transaction = 10", "rate = [[1, 0]]", "line 20, column 8: rate must be \"closed\", oper"),
        (
            "transaction = 10",
            "rate = \"fast\"",
            "line 20, column 8: invalid value: string \"fast\"",
        ),
        (
            "transaction = 10",
            "background = { mix = { scan = 1 }, rate = 5 }",
            "line 20, column 22: a mix with scan needs scan = { rows = { … } }",
        ),
        (
            "transaction = 10",
            "background = { mix = { read = 1 }, rate = 0 }",
            "line 20, column 43: rate must be between 1 and",
        ),
        ("transaction = 10", "background = { rate = 5 }", "line 20, column 14: missing field"),
        (
            "operations = 100",
            "do = \"reopen\"\nbackground = { mix = { read = 1 }, rate = 5 }",
            "a phase with do has no operations of its own; leave this out",
        ),
        (
            "{ upsert = 1, scan = 1 }",
            "{ scan = 1, find = 1 }",
            "line 15, column 7: a mix with find needs",
        ),
        (
            "transaction = 10",
            "find = { by = \"owner\" }",
            "line 20, column 8: the mix has no find; leave it out",
        ),
        (
            "{ upsert = 1, scan = 1 }",
            "{ upsert = 1, scan = 1, find = 1 }\nfind = { by = \"owner\" }",
            "line 16, column 8: [records] has no column \"owner\" with index = true; add one",
        ),
        (
            "transaction = 10",
            "background = { mix = { find = 1 }, rate = 5 }",
            "line 20, column 22: a mix with find needs find = { by = \"…\" }",
        ),
        (
            "{ rows = { constant = 5 } }",
            "{ rows = { constant = 5 }, columns = [\"owner\"] }",
            "[records] has no column \"owner\"; name its columns, or \"value\" (keys are al",
        ),
        (
            "{ rows = { constant = 5 } }",
            "{ rows = { constant = 5 }, columns = [\"value\", \"value\"] }",
            "a column is named twice; name it once",
        ),
        (
            "{ rows = { constant = 5 } }",
            "{ rows = { constant = 5 }, columns = \"some\" }",
            "invalid value: string \"some\", expected \"all\", or a list of columns",
        ),
        (
            "made = \"sparse\" }",
            "leading = { a = { type = \"u32\", distinct = 1001 } } }",
            "the leading columns have 1001 combinations of values; lower distinct until",
        ),
        (
            "[[phase]]",
            "columns = { value = { type = \"u32\", distinct = 9 } }\n[[phase]]",
            "line 7, column 13: \"value\" names the value; give the column another name",
        ),
        (
            "[[phase]]",
            "columns = { Owner = { type = \"u32\", distinct = 9 } }\n[[phase]]",
            "line 7, column 13: a column's name is 1 to 32 lower-case letters, digits and _",
        ),
        (
            "[[phase]]",
            "columns = { owner = { type = \"u32\", distinct = 0 } }\n[[phase]]",
            "line 7, column 48: distinct must be between 1 and",
        ),
        (
            "[[phase]]",
            "columns = { owner = { type = \"u32\", bytes = 9, distinct = 9 } }\n[[phase]]",
            "line 7, column 45: only a text has bytes of its own; leave this out",
        ),
        (
            "[[phase]]",
            "columns = { owner = { type = \"text\", distinct = 9 } }\n[[phase]]",
            "line 7, column 30: a text needs its bytes",
        ),
        (
            "count = 300",
            "count = \"1m\"\ncolumns = { owner = { type = \"u64\", distinct = 9, index = true } }",
            "line 5, column 48: each value would have 111117 records, and a find returns at most",
        ),
        ("title = \"All kinds\"", "title = \"\"", "line 2, column 9: title must be a line of 1"),
        ("[records]", "[records", "line 3, column 9: unclosed table, expected `]`"),
    ] {
        assert!(ALL_KINDS.contains(right), "{right}");
        let bench = bench_with("all.toml", &ALL_KINDS.replacen(right, wrong, 1));
        bench.refuses("run workload all.toml -e lmdb", 2, &["assay: all.toml, ", said]);
        assert_eq!(bench.list(), ["all.toml"], "nothing was made");
    }
    let bench = bench_with("all.toml", "title = \"None\"\n[records]\ncount = 1\n");
    bench.refuses("run workload all.toml", 2, &["line 2, column 1: missing field `key`"]);
    bench.refuses("run workload none.toml", 3, &["none.toml: No such file"]);
    bench.refuses("run workload", 2, &["<FILE>"]);
}

/// An engine with both kinds of table takes the ordered one.
#[test]
fn a_background_that_scans_is_known_before_and_measured() {
    let text = "title = \"Reports\"\n[records]\ncount = 900\nvalue = { constant = 20 }\n\
                key = { type = \"u64\", made = \"time\", leading = { device = { type = \"u32\", \
                distinct = 7 } } }\ncolumns = { kind = { type = \"u32\", distinct = 3 } }\n\
                [[phase]]\nname = \"serve\"\noperations = 5000\nmix = { update = 1, insert = 1 }\n\
                background = { mix = { scan = 1 }, rate = 100000, \
                scan = { rows = { constant = 50 }, columns = [\"kind\"] } }\n";
    let bench = bench_with("reports.toml", text);
    let meaning = bench.succeeds("workload check reports.toml").stdout;
    for words in [
        "  keys         device (u32, 7 values), u64, ascending moments",
        "  scan rows    50, key, kind",
        "all of it: lode, ",
    ] {
        assert!(meaning.contains(words), "{words}: {meaning}");
    }
    let table = bench.succeeds("run workload reports.toml -e lode,btreemap -s m -Q -y").stdout;
    for engine in ["lode", "btreemap"] {
        let is_scan = |line: &str| line.contains("background scan") && line.contains(engine);
        assert!(table.lines().any(is_scan), "{engine}: {table}");
    }
    let refused = "serve – its keys have no order";
    assert!(!meaning.lines().any(|line| line.contains("lode") && line.contains(refused)));
}

#[test]
fn the_file_of_every_kind_means_something_and_is_carried_out() {
    let bench = Bench::new();
    for kind in [
        "documents",
        "indexed",
        "cache",
        "queue",
        "timeseries",
        "blobs",
        "sessions",
        "counters",
        "bulk",
        "ycsb-a",
        "ycsb-e",
    ] {
        bench.succeeds(&format!("workload new {kind} -o {kind}.toml"));
        let file = std::fs::read_to_string(bench.path().join(format!("{kind}.toml")));
        let printed = bench.succeeds(&format!("workload new {kind}")).stdout;
        assert_eq!(file.expect("the file"), printed);
        let meaning = bench.succeeds(&format!("workload check {kind}.toml")).stdout;
        let words = ["  survives     ", "  records      ", "  touches      ", "all of it: lode, "];
        for words in words {
            assert!(meaning.contains(words), "{kind}: {words}: {meaning}");
        }
        let (engine, threads) = if kind == "indexed" { ("sqlite", 1) } else { ("btreemap", 4) };
        let line =
            format!("run workload {kind}.toml -e {engine} -s m --durability none -t {threads}");
        let table = bench.succeeds(&format!("{line} -Q -y -o {kind}.json")).stdout;
        assert!(table.contains(engine), "{table}");
    }
    bench.succeeds("workload new age -o age.toml");
    let meaning = bench.succeeds("workload check age.toml").stdout;
    for words in [
        "overwrite: until windows of 10 s are steady, for 600 s at most, threads 1",
        "open-again: closes the store and opens it again",
        "delete-half: deletes half of the records, and looks at the space for 30 s",
    ] {
        assert!(meaning.contains(words), "{words}: {meaning}");
    }
    let once = "is there already; choose another file with --output";
    bench.refuses("workload new queue -o queue.toml", 3, &["queue.toml: ", once]);
    bench.refuses("workload new nothing", 2, &["nothing", "documents, indexed, cache, queue"]);
    bench.refuses("workload check none.toml", 3, &["none.toml: No such file"]);
    bench.refuses("workload check queue.json", 2, &["queue.json, line 1, column "]);
}

#[test]
fn records_are_found_by_engines_with_indexes() {
    let bench = Bench::new();
    bench.succeeds("workload new indexed -o indexed.toml");
    let meaning = bench.succeeds("workload check indexed.toml").stdout;
    for words in [
        "  column       owner: u32, 5000 values, 20 records of each, indexed",
        "  finds by     owner",
        "redb: it keeps no index of owner; serve – it has no secondary indexes",
    ] {
        assert!(meaning.contains(words), "{words}: {meaning}");
    }
    bench.succeeds("workload new indexed -o load.toml");
    let text = std::fs::read_to_string(bench.path().join("load.toml")).expect("the file");
    let phase = "[[phase]]\nname = \"writes\"\noperations = 300\nmix = { update = 1 }\n";
    let text = text.replace("\"100k\"", "2000").replace("[[phase]]", &format!("{phase}[[phase]]"));
    std::fs::write(bench.path().join("load.toml"), text).expect("a file");
    let line = "run workload load.toml -e lode,sqlite,redb -s r -t 1,4 --dir stores -y -o run.json";
    let table = bench.succeeds(line).told();
    for words in [
        "serve find",
        "it has no secondary indexes",
        "it has no secondary indexes: its writes keep none of owner",
    ] {
        assert!(table.contains(words), "{words}: {table}");
    }
    let run = bench.run_file("run.json");
    for cell in run["cells"].as_array().expect("cells") {
        assert_eq!(cell["status"]["outcome"], "measured", "{cell}");
    }
    let refused = "finds records by a column, and traces have no word for it";
    bench.refuses("generate trace indexed.toml --trace-format csv", 2, &[refused]);
}

#[test]
fn a_store_ages_until_it_is_steady_or_the_time_is_over() {
    let bench = Bench::new();
    let line = "age -e btreemap -s m --durability none --records 300 --window 1 --limit 5 -Q";
    let table = bench.succeeds(&format!("{line} -o age.json")).stdout;
    for words in ["Ageing", "overwrite/s", "after/s", "steady after "] {
        assert!(table.contains(words), "{words}: {table}");
    }
    assert!(table.contains("its data does not outlive closing"), "{table}");
    let run = bench.run_file("age.json");
    // The first cell is the instrument's own.
    let phases = run["cells"][1]["measurement"]["phases"].as_array().expect("phases");
    let overwrite = phases.iter().find(|phase| phase["name"] == "overwrite").expect("a phase");
    assert!(overwrite["steady"].is_boolean(), "{overwrite}");
    let why = "--limit 99 is less than five windows of 20 s";
    bench.refuses("age --window 20 --limit 99", 2, &[why]);
    bench.refuses("age --window 0", 2, &["--window", "between 1 and 17280"]);
    bench.refuses("age --records 0", 2, &["--records"]);
    bench.refuses("age --fill 4", 2, &["--fill", "must be a factor from 0.1x to 100x"]);
    bench.refuses("age --fill 4x --records 9", 2, &["--fill", "cannot be used with '--records"]);
    bench.refuses("age --fill 4x -s r", 2, &["--fill 4x: it is for stores on disk alone"]);
    let why = ["--fill 100x: ", "records are more than 1000000000; take less, or a --cgroup"];
    bench.refuses("age --fill 100x --cgroup 999g", 2, &why);
}

#[test]
fn a_process_is_killed_while_it_writes_and_another_continues() {
    let phases = "operations = 100\ntransaction = 10";
    let kill = format!("do = \"recover\"\n[[phase]]\nname = \"then\"\n{phases}");
    let text = ALL_KINDS.replace(phases, &kill);
    assert_ne!(text, ALL_KINDS);
    for (bad, said) in [
        ("do = \"recover\"\nseconds = 0", "line 20, column 11: seconds must be between 1 and"),
        ("do = \"recover\"\nlimit = 3", "line 20, column 9: a store is opened once"),
        ("do = \"recover\"\nthreads = 2", "line 20, column 11: a store is opened once"),
        ("do = \"recover\"\nmix = { read = 1 }", "line 20, column 7: a phase with do has no"),
    ] {
        let bench = bench_with("bad.toml", &text.replace("do = \"recover\"", bad));
        bench.refuses("workload check bad.toml", 2, &[said]);
    }
    let bench = bench_with("kill.toml", &text);
    let meaning = bench.succeeds("workload check kill.toml").stdout;
    assert!(meaning.contains("together: updates records for 1 s, in which the process is killed"));
    let line = "run workload kill.toml -e lode,sqlite,redb,btreemap -s m,r -t 1 --dir stores -y";
    let ended = bench.succeeds(&format!("{line} --durability process -o run.json"));
    for said in ["together open", "together first answer", "of which 0 are lost", "then/s"] {
        assert!(ended.stdout.contains(said), "{said}: {}", ended.stdout);
    }
    bench.has_no_stores();
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells");
    let measured = |cell: &&serde_json::Value| cell["status"]["outcome"] == "measured";
    let on_files: Vec<_> = cells.iter().filter(measured).collect();
    let on_files = on_files.iter().filter(|cell| cell["cell"]["storage"] == "ramdisk");
    let mut tapes = Vec::new();
    for cell in on_files {
        let measurement = &cell["measurement"];
        let phases = measurement["phases"].as_array().expect("phases");
        let names: Vec<_> = phases.iter().filter_map(|phase| phase["name"].as_str()).collect();
        assert_eq!(names, ["load", "serve", "more", "together", "then"], "{cell}");
        assert!(measurement["reopened"].as_u64() > Some(300), "{cell}");
        let of_phases = phases.iter().map(|phase| phase["tape_hash"].as_str());
        tapes.push(of_phases.collect::<Option<Vec<_>>>().expect("a tape of each phase"));
    }
    tapes.dedup();
    assert_eq!(tapes.len(), 1, "every engine does the same operations");
    bench.succeeds("report run.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(page.contains("together first answer"));
}

#[test]
fn what_an_engine_cannot_do_is_said_before_and_left_out() {
    let bench = bench_with("all.toml", ALL_KINDS);
    let meaning = bench.succeeds("workload check all.toml").stdout;
    assert!(meaning.contains("leveldb: together – its transactions do not read"), "{meaning}");
    let line = "run workload all.toml -e hashbrown,leveldb -s m,d -t 1 --dir stores -o run.json -y";
    let table = bench.succeeds(line).told();
    for words in ["its keys have no order", "its transactions do not read"] {
        assert!(table.contains(words), "{words}: {table}");
    }
}

#[test]
fn records_that_an_engine_does_not_take_are_left_out() {
    if !engines().contains(&"persy") {
        return;
    }
    let bench = Bench::new();
    bench.succeeds("workload new blobs -o blobs.toml");
    let meaning = bench.succeeds("workload check blobs.toml").stdout;
    let too_large = "records of up to 1000008 bytes without their key; it takes 524288";
    assert!(meaning.contains(&format!("persy: {too_large}")), "{meaning}");
    let line = "run workload blobs.toml -e persy,btreemap -s m --durability none -t 1 -Q -y";
    let table = bench.succeeds(&format!("{line} -o blobs.json")).stdout;
    assert!(table.contains("not here: persy (records of up to 1000008 bytes"), "{table}");
}

#[test]
fn engines_are_compared_and_shown_as_those_of_suites_are() {
    let timed = "[[phase]]\nname = \"timed\"\nseconds = 1\nmix = { insert = 1 }\n\
                 [[phase]]\nname = \"after\"\noperations = 99\nmix = { read = 1 }\n";
    let bench = bench_with("all.toml", &format!("{ALL_KINDS}{timed}"));
    bench.succeeds("run workload all.toml -e lode,redb -t 2 --dir stores -o run.json -y");
    let compared = bench.succeeds("compare run.json --engines lode,redb").told();
    for phase in ["serve", "together", "timed", "after"] {
        assert!(compared.contains(phase), "{phase}: {compared}");
    }
    bench.succeeds("report run.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("the page");
    assert!(page.contains("All kinds") && page.contains("serve read_modify_write"));
    bench.succeeds("plot run.json -o pictures");
    assert!(bench.succeeds("show run.json --format csv").stdout.contains(",serve update,"));
}
