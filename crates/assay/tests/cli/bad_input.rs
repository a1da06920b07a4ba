//! Mistakes of a user: one line on standard error, the documented exit status, nothing left behind.

use crate::support::Bench;

#[cfg(not(feature = "duckdb"))]
#[test]
fn an_engine_that_this_build_leaves_out_names_its_feature() {
    let bench = Bench::new();
    let ended = bench.assay("run crossbench -e duckdb");
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("--features duckdb"), "{ended:?}");
    assert!(bench.succeeds("list").told().contains("duckdb cargo build --release --features"));
}

#[test]
fn unknown_names_are_refused_with_what_there_is() {
    let bench = Bench::new();
    bench.refuses("run crossbench -e nosuch", 2, &["no engine nosuch", "sqlite", "lmdb"]);
    bench.refuses("run nosuch", 2, &["nosuch"]);
    bench.refuses("nosuch", 2, &["nosuch"]);
    bench.refuses("run crossbench -s tape", 2, &["tape", "ramdisk", "inmem", "ondisk"]);
    bench.refuses("run crossbench -k trie", 2, &["trie", "hash", "tree"]);
    bench.refuses("run crossbench --nosuch", 2, &["--nosuch"]);
    bench.refuses("run crossbench --set sqlite.nosuch=1", 2, &["nosuch", "rowid"]);
    bench.refuses("run crossbench --durability forever", 2, &["forever", "commit"]);
    bench.refuses("verify -e nosuch", 2, &["no engine nosuch"]);
    bench.refuses("list -e nosuch", 2, &["no engine nosuch"]);
    bench.has_no_stores();
}

#[test]
fn counts_that_are_none_are_refused() {
    let bench = Bench::new();
    bench.refuses("run crossbench -i ten", 2, &["ten", "not a count"]);
    bench.refuses("run crossbench -q 1.5m", 2, &["1.5m", "not a count"]);
    bench.refuses("run ycsb --records 18446744073709551615", 2, &["too large"]);
    bench.refuses("run ycsb --records 2000m", 2, &["at most 1000m records"]);
    bench.refuses("run crossbench -i 0", 2, &["--insert", "at least 1"]);
    bench.refuses("run crossbench -l 0", 2, &["--load", "at least 1"]);
    bench.refuses("run crossbench -i 99999999999999999999", 2, &["too large"]);
    bench.refuses("run crossbench -i 18446744073709551615k", 2, &["too large"]);
    bench.refuses("run crossbench -i 5000m", 2, &["more than there are different keys"]);
    bench.refuses("run crossbench -r 0", 2, &["-r 0", "-H"]);
    bench.refuses("run crossbench --trials 0", 2, &["at least 1"]);
    bench.refuses("run crossbench --timeout 0", 2, &["at least 1"]);
}

/// A special file is not replaced by a file, and a link stays a link.
#[test]
fn output_goes_to_files_only() {
    let bench = Bench::new();
    let pipe = bench.path().join("pipe");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    let run = "run crossbench -s m -e btreemap -i 1k -q 1k -u 1k";
    bench.refuses(&format!("{run} -o pipe"), 3, &["pipe", "not a file", "--output"]);
    bench.refuses("crash -e sqlite -o pipe", 3, &["pipe", "not a file"]);
    std::fs::write(bench.path().join("mine.txt"), "precious").expect("write");
    bench.refuses(&format!("{run} -o mine.txt"), 3, &["mine.txt", "no run file", "--output"]);
    assert_eq!(std::fs::read(bench.path().join("mine.txt")).expect("read"), b"precious");
    std::fs::write(bench.path().join("real.json"), "").expect("write");
    std::os::unix::fs::symlink("real.json", bench.path().join("link.json")).expect("a link");
    bench.succeeds(&format!("{run} -o link.json"));
    assert!(bench.path().join("link.json").is_symlink());
    assert_eq!(bench.run_file("real.json")["format"], "assay-run");
}

/// A folder in memory that is called a disk has no page cache that could be cold.
#[test]
fn a_cold_page_cache_needs_a_disk() {
    let shm = tempfile::Builder::new().prefix("assay-test").tempdir_in("/dev/shm");
    let Ok(shm) = shm else {
        println!("skipped: there is no RAM disk here");
        return;
    };
    let dir = shm.path().display();
    let run = "run crossbench -s d -e lmdb -i 1k -q 1k -u 0 -d 0 --page-cache cold";
    Bench::new().refuses(&format!("{run} --dir {dir}"), 3, &["no page cache to drop"]);
}

#[test]
fn what_is_asked_for_twice_is_measured_once() {
    let bench = Bench::new();
    let ended = bench.succeeds(
        "run ycsb -s m -e btreemap -w a,a -t 1,1 --records 100 --operations 100 -o run.json",
    );
    assert!(ended.stdout.contains("· 1 trial\n"), "{ended:?}");
    assert_eq!(bench.run_file("run.json")["cells"].as_array().map(Vec::len), Some(2));
}

#[test]
fn options_that_exclude_each_other_are_refused() {
    let bench = Bench::new();
    bench.refuses("run nudb --raw_out x.csv", 2, &["--raw-out", "--batch-size"]);
    bench.refuses("run nudb --inserts 10 --num_batches 1", 2, &["--inserts", "--num-batches"]);
    bench.refuses(
        "run nudb --batch_size 10 --num_batches 1 --raw_out x --output x",
        2,
        &["the same file"],
    );
    bench.refuses("run ycsb --until-ci 2% --trials 5 --max-trials 4", 2, &["less than --trials"]);
    bench.refuses("run ycsb -e redb --set sqlite.rowid=yes", 2, &["not among --engine"]);
    bench.refuses("run crossbench -i 10 -l 10", 2, &["--insert", "--load"]);
    bench.refuses("run crossbench -i 10 -r 10", 2, &["--insert", "--rows"]);
    bench.refuses("run crossbench -l 10 -r 10", 2, &["--load", "--rows"]);
}

#[test]
fn a_store_that_is_there_has_one_trial() {
    Bench::new().refuses("run crossbench -e lmdb -s d -r 10 --trials 2", 2, &["one trial"]);
}

#[test]
fn names_that_no_run_file_can_hold_are_refused() {
    use std::os::unix::ffi::OsStrExt;
    let bench = Bench::new();
    let name = std::ffi::OsStr::from_bytes(b"stores\xff");
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_assay"));
    command.current_dir(bench.path()).args(["run", "crossbench", "-i", "10", "--dir"]).arg(name);
    let output = command.output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("not UTF-8"), "{said}");
}

#[test]
fn readers_that_go_away_change_nothing_of_how_a_run_ends() {
    let bench = Bench::new();
    let through = |line: &str| {
        let mut command = std::process::Command::new("sh");
        let line = line.replace("assay", env!("CARGO_BIN_EXE_assay"));
        command.current_dir(bench.path()).args(["-c", &line]);
        command.output().expect("a shell").status.code()
    };
    let tiny = "-s m -e btreemap -i 10 -q 10 -u 10 -o run.json";
    assert_eq!(through(&format!("assay run crossbench {tiny} 2>/dev/full")), Some(0));
    for words in ["--help", "--version", "help run", "run --help"] {
        assert_eq!(through(&format!("assay {words} | true")), Some(0), "{words}");
        assert_eq!(through(&format!("assay {words} >/dev/full 2>/dev/null")), Some(3), "{words}");
    }
    let failing = "run crossbench -s d -e sqlite -r 10 --dir stores";
    let piped = format!("{{ assay {failing} 2>/dev/null; echo $? >status; }} | true");
    assert_eq!(through(&piped), Some(0));
    let status = std::fs::read_to_string(bench.path().join("status")).expect("the status");
    assert_eq!(status.trim(), "1");
}

#[test]
fn a_processor_that_does_not_exist_is_refused() {
    Bench::new().refuses("run crossbench -e btreemap -c 100000", 2, &["no processor 100000"]);
}

#[test]
fn a_directory_that_cannot_be_written_is_refused() {
    let bench = Bench::new();
    bench.refuses("run crossbench -s d -e sqlite -i 10 --dir /proc/x", 3, &["/proc/x", "--dir"]);
    bench.refuses("run crossbench -s m -e btreemap -i 10 -o /proc/x.json", 3, &["--output"]);
}

#[test]
fn what_no_engine_can_do_is_refused_with_the_reason() {
    let bench = Bench::new();
    let small = "-i 10 -q 10 -u 10 --dir stores";
    bench.refuses(
        &format!("run crossbench -s m -e lmdb {small}"),
        3,
        &["nothing could be measured", "lmdb", "no storage mode memory"],
    );
    bench.refuses(
        &format!("run crossbench -s m -k hash -e btreemap {small}"),
        3,
        &["nothing could be measured", "no hash keys"],
    );
    bench.refuses(
        &format!("run crossbench -s m -e btreemap --durability commit {small}"),
        3,
        &["nothing could be measured", "strongest level"],
    );
}

#[test]
fn files_that_are_no_run_files_are_refused_by_name() {
    let bench = Bench::new();
    let write = |name: &str, text: &str| {
        std::fs::write(bench.path().join(name), text).expect("write");
    };
    write("foreign.json", "{\"format\": \"something else\"}");
    write("newer.json", "{\"format\": \"assay-run\", \"schema_version\": 99}");
    write("truncated.json", "{\"format\": \"assay-run\", \"schema_version\": 3, \"cells\": [");
    write("partial.json", "{\"format\": \"assay-run\", \"schema_version\": 3}");
    for command in ["show", "plot"] {
        bench.refuses(&format!("{command} missing.json"), 3, &["missing.json"]);
        bench.refuses(&format!("{command} foreign.json"), 3, &["foreign.json", "not a run file"]);
        bench.refuses(&format!("{command} newer.json"), 3, &["version 99", "version 3"]);
        bench.refuses(&format!("{command} truncated.json"), 3, &["truncated.json", "not a run"]);
        bench.refuses(&format!("{command} partial.json"), 3, &["partial.json", "missing field"]);
    }
}

#[test]
fn files_of_others_are_never_removed() {
    let bench = Bench::new();
    let store = bench.stores().join("sqlite-disk");
    std::fs::create_dir_all(&store).expect("a directory");
    std::fs::write(store.join("mine.txt"), "precious").expect("write");
    bench.refuses(
        "run crossbench -s d -e sqlite -i 10 -q 10 -u 10 --dir stores",
        1,
        &["sqlite", "files here that Assay did not make"],
    );
    assert!(store.join("mine.txt").exists());
}

/// Nothing that was named is left out without a word, and a number is written in one way.
#[test]
fn what_cannot_be_done_is_named_and_numbers_are_read_alike() {
    let bench = Bench::new();
    let verified = bench.succeeds("verify -e lmdb,btreemap -s r").told();
    assert!(verified.contains("btreemap ramdisk skipped: it has no such storage"), "{verified}");
    bench.succeeds("run crossbench -s m -e btreemap -i 10 -q 0 -u 0 -d 0 -c 0-0 -o run.json");
    assert_eq!(bench.run_file("run.json")["cells"][0]["cell"]["cpus"], serde_json::json!([0]));
    bench.refuses("run crossbench -s m -c 1-0", 2, &["a range is like 0-3"]);
    let plan = "[[run]]\nsuite = \"crossbench\"\ninsert = 1e9\n";
    std::fs::write(bench.path().join("plan.toml"), plan).expect("write");
    bench.refuses("plan -c plan.toml --dry-run", 2, &["insert", "not a count"]);
    bench.refuses("run tonbo-micro --page-cache cold", 2, &["warms up before it measures"]);
}
