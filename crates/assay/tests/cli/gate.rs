//! `assay gate`: counts, and changes of them.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::plugins::compile;
use crate::support::{Bench, Ended, was_refused};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// A suite of 100 operations a phase, in memory.
const SUITE: &str = "crossbench -s m -i 100 -q 10 -u 10 -d 50";
/// Enough operations to keep one-time costs, such as the growth of a heap while a thread is busy,
/// below the least share that counts.
const LONGER: &str = "crossbench -s m -i 2k -q 200 -u 200 -d 1k";

/// Returns true if valgrind is here; says so if it is not.
fn can_count() -> bool {
    let is_here = Command::new("valgrind").arg("--version").output().is_ok();
    if !is_here {
        eprintln!("skipped: valgrind is not installed");
    }
    is_here
}

/// Builds the example of a plugin with other text in place of some of its own.
fn build(bench: &Bench, name: &str, changes: &[(&str, &str)]) {
    let source = Path::new(ROOT).join("examples/plugins/hashtable/hashtable.c");
    let mut text = fs::read_to_string(source).expect("it is there");
    for (old, new) in changes {
        assert!(text.contains(old), "{old}");
        text = text.replacen(old, new, 1);
    }
    let path = bench.path().join(format!("{name}.c"));
    fs::write(&path, text).expect("it can be written");
    compile(bench, &path, &format!("{name}.so"), &[]);
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|e| panic!("{e}: {ended:?}"))
}

/// The first lines of two functions of the example, before which tests plant more work.
const OF_INSERT: &str = "    if (slot(store, find(store, record))[0])\n";
const OF_QUERY: &str = "    (void)error;\n    const assay_store *store = store_of(handle);\n";

/// A system call for every hundredth call of a function.
fn one_in_a_hundred(call: &str) -> String {
    format!("    static int calls;\n    {call};\n    if (++calls % 100 == 0) ")
}

#[test]
fn counts_are_kept_and_are_the_same_again() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    let ended = bench.succeeds(&format!("gate -e btreemap --save counts.json {LONGER}"));
    assert!(ended.stdout.contains("btreemap on memory, none"), "{ended:?}");
    assert!(ended.stdout.contains("instructions") && ended.stdout.contains("insert"), "{ended:?}");
    let file = bench.run_file("counts.json");
    let phases = file["cells"][0]["phases"].as_array().expect("phases");
    let names: Vec<_> = phases.iter().map(|phase| phase["name"].as_str()).collect();
    assert_eq!(names, ["insert", "query", "update", "delete"].map(Some));
    for phase in phases {
        let counts = phase["counts"]["instructions"].as_array().expect("counts");
        let counts: Vec<_> = counts.iter().filter_map(Value::as_u64).collect();
        assert_eq!(counts.len(), 3, "{phase}");
        // An operation takes more than ten instructions, and less than the start of a program.
        assert!(counts.iter().all(|count| (10_000..100_000_000).contains(count)), "{phase}");
    }
    let again = bench.succeeds(&format!("gate --against counts.json -Q {LONGER}"));
    assert!(again.stdout.contains("as before") && again.stdout.contains("0 worse"), "{again:?}");
    assert_eq!(again.stderr, "");
}

#[test]
fn a_system_call_in_a_hundred_operations_is_found() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    build(&bench, "libhashtable", &[]);
    let sync = one_in_a_hundred("int fdatasync(int)") + "fdatasync(-1);\n";
    build(&bench, "syncs", &[(OF_INSERT, &(sync + OF_INSERT))]);
    let reads = one_in_a_hundred("int getppid(void)") + "getppid();\n";
    build(&bench, "calls", &[(OF_QUERY, &(OF_QUERY.to_string() + &reads))]);
    let gate =
        |plugin: &str| format!("gate -Q --against libhashtable.so --plugin {plugin} {SUITE}");
    let same = bench.succeeds(&gate("libhashtable.so"));
    assert!(same.stdout.contains("as before"), "{same:?}");
    // Another build has another heap, so other findings may come before.
    let finds = |line: &str, finding: &str| {
        let ended = bench.assay(line);
        assert_eq!(ended.code, Some(4), "{line}: {ended:?}");
        assert!(ended.stdout.contains(finding), "{line}: {finding}: {ended:?}");
    };
    let more = "! insert: 1 more fdatasync in 100 operations: 0 → 0.01 an operation";
    finds(&gate("syncs.so"), more);
    finds(&gate("calls.so"), "! query: 1 more getppid in 100 operations");
    // Fewer syncs are no less of a change: what survives a crash may be another.
    let back = format!("gate -Q --against syncs.so --plugin libhashtable.so {SUITE}");
    finds(&back, "insert: 1 fewer fdatasync in 100 operations");
}

#[test]
fn more_instructions_are_found_and_said_in_every_format() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    build(&bench, "libhashtable", &[]);
    let work = format!("{OF_QUERY}    for (volatile int more = 0; more < 2; more++)\n        ;\n");
    build(&bench, "slower", &[(OF_QUERY, &work)]);
    let plugin = "--plugin libhashtable.so";
    bench.succeeds(&format!("gate -Q --save counts.json -e hashtable {plugin} {LONGER}"));
    let gate = "gate -Q --against counts.json";
    let slower = format!("--plugin slower.so {LONGER}");
    let summary = ("GITHUB_STEP_SUMMARY", "summary.md");
    let github = bench.assay_with(summary, &format!("{gate} --format github {slower}"));
    assert_eq!(github.code, Some(4), "{github:?}");
    assert!(github.stdout.contains("! query: ") && github.stdout.contains("more instructions: "));
    assert!(github.stdout.contains("1 worse, 0 with another number of syncs"), "{github:?}");
    assert!(github.stdout.contains("::error title=assay gate::hashtable, query: "), "{github:?}");
    assert!(github.stderr.contains("assay: hashtable, query: "), "{github:?}");
    let added = fs::read_to_string(bench.path().join("summary.md")).expect("it was written");
    assert!(added.contains("- **worse**: query: "), "{added}");
    let found = bench.assay(&format!("{gate} --save slow.json --format json {slower}"));
    let found = json(&found);
    assert_eq!(found["format"], "assay-gate");
    let lines = found["comparisons"][0]["lines"].as_array().expect("lines");
    let worse: Vec<_> = lines.iter().filter(|line| line["verdict"] == "more").collect();
    let [line] = worse.as_slice() else { panic!("{worse:?}") };
    assert_eq!((&line["phase"], &line["quantity"]), (&"query".into(), &"instructions".into()));
    assert!(line["new"].as_u64() > line["base"].as_u64(), "{line}");
    // The other way round it is better, which is no failure.
    let better = bench.succeeds(&format!("gate -Q --against slow.json {plugin} {LONGER}"));
    assert!(better.stdout.contains("+ query: ") && better.stdout.contains("fewer"), "{better:?}");
}

#[test]
fn what_cannot_be_counted_is_refused_in_one_line() {
    let bench = Bench::new();
    let empty = ("PATH", "/nowhere");
    let ended = bench.assay_with(empty, &format!("gate -e btreemap {SUITE}"));
    was_refused("no valgrind", &ended, 3, &["valgrind", "apt-get install valgrind"]);
    if !can_count() {
        return;
    }
    let refuses = |line: &str, code: i32, words: &[&str]| {
        bench.refuses(&format!("gate -e btreemap {line}"), code, words);
    };
    refuses("crossbench -s m -i 100", 2, &["operations are too many to count", "at most 200000"]);
    refuses("crossbench -s m -i 100 -t 2", 2, &["--threads", "count with one"]);
    refuses("crossbench -s m -i 100 --trials 5", 2, &["--trials", "counts three times"]);
    refuses("crossbench -s m -i 100 -o x.json", 2, &["--output", "--save"]);
    refuses("crossbench -s m -i 100 --cgroup 1g", 2, &["--cgroup"]);
    refuses("nosuch", 2, &["nosuch"]);
    refuses(&format!("{SUITE} --plugin x.so"), 2, &["--plugin stands before the suite"]);
    refuses(&format!("--against nosuch.json {SUITE}"), 3, &["nosuch.json", "No such file"]);
    let file = |name: &str, text: &str| {
        fs::write(bench.path().join(name), text).expect("it can be written");
    };
    file("other.json", "{\"format\": \"assay-run\"}");
    refuses(&format!("--against other.json {SUITE}"), 3, &["no file of counts", "--save FILE"]);
    file("broken.json", "{\"format\": ");
    refuses(&format!("--against broken.json {SUITE}"), 3, &["no file of counts"]);
    file("newer.json", "{\"format\": \"assay-counts\", \"schema_version\": 9}");
    refuses(&format!("--against newer.json {SUITE}"), 3, &["of version 9", "count anew"]);
    bench.succeeds(&format!("gate -Q -e btreemap --save counts.json {SUITE}"));
    let mut counts = bench.run_file("counts.json");
    let here = counts["made_with"]["processor"].take();
    counts["made_with"]["processor"] = "m68k".into();
    file("elsewhere.json", &counts.to_string());
    counts["made_with"]["processor"] = here;
    counts["made_with"]["instructions_by"] = "the processor".into();
    file("hardware.json", &counts.to_string());
    let words = ["counted by the processor, here by valgrind", "--counter"];
    refuses(&format!("--against hardware.json {SUITE}"), 3, &words);
    let words = ["another kind of processor (m68k, here ", "--against BUILD"];
    refuses(&format!("--against elsewhere.json {SUITE}"), 3, &words);
    refuses(
        "--against counts.json crossbench -s m -i 50 -q 10 -u 10 -d 50",
        4,
        &["it was not counted now"],
    );
    bench.has_no_stores();
}

#[test]
fn an_engine_that_cannot_do_it_is_named_and_left_out() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    let scans = "ycsb -s m -w e --records 100 --operations 100";
    let both = bench.succeeds(&format!("gate -Q -e hashbrown,btreemap {scans}"));
    assert!(both.stderr.contains("note: hashbrown: ordered scans"), "{both:?}");
    assert!(both.stdout.contains("btreemap on memory"), "{both:?}");
    bench.refuses(&format!("gate -Q -e hashbrown {scans}"), 3, &["no engine here can do that"]);
}

/// Returns the instructions of each phase, as one counter counts them.
fn instructions(file: &Value) -> Vec<(String, u64)> {
    let phases = file["cells"][0]["phases"].as_array().expect("phases");
    let first = |phase: &Value| phase["counts"]["instructions"][0].as_u64().expect("a count");
    phases.iter().map(|phase| (phase["name"].to_string(), first(phase))).collect()
}

#[test]
fn the_processors_counter_agrees_with_callgrind() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    let gate = |counter: &str| {
        bench.assay(&format!(
            "gate -Q -e btreemap --counter {counter} --save {counter}.json {SUITE}"
        ))
    };
    let ended = gate("hardware");
    if ended.code == Some(3) {
        was_refused("no counter", &ended, 3, &["counts no instructions", "--counter callgrind"]);
        eprintln!("skipped: this processor counts no instructions for programs");
        return;
    }
    assert_eq!((ended.code, gate("callgrind").code), (Some(0), Some(0)), "{ended:?}");
    let counted =
        ["hardware.json", "callgrind.json"].map(|file| instructions(&bench.run_file(file)));
    for ((phase, hardware), (_, callgrind)) in counted[0].iter().zip(&counted[1]) {
        let difference = hardware.abs_diff(*callgrind);
        assert!(difference * 100 <= *callgrind, "{phase}: {hardware} and {callgrind}");
    }
    let words =
        ["counted by valgrind", "here by the processor", "count both sides by one --counter"];
    let mixed = format!("gate -Q --counter hardware --against callgrind.json {SUITE}");
    bench.refuses(&mixed, 3, &words);
}

#[test]
fn a_program_without_symbols_is_named() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    let stripped = bench.path().join("stripped");
    let mut strip = Command::new("strip");
    strip.arg("-o").arg(&stripped).arg(env!("CARGO_BIN_EXE_assay"));
    assert!(strip.status().expect("strip is there").success());
    let line = format!("gate -Q -e btreemap {SUITE} --against stripped");
    bench.refuses(&line, 4, &["btreemap: not judged: before: ", "no symbols", "without strip"]);
}

/// A thread of the example's that inserts what it is given; the caller only waits for it.
const OWN_THREAD: &str = r#"
#include <pthread.h>
struct order { assay_handle *handle; const void *record; assay_error *error; int answer; };
static int insert_here(assay_handle *handle, const void *record, assay_error *error);
static void *work(void *given)
{
    struct order *order = given;
    for (volatile int more = 0; more < 20000; more++)
        ;
    order->answer = insert_here(order->handle, order->record, order->error);
    return NULL;
}
static int hashtable_insert(assay_handle *handle, const void *record, assay_error *error)
{
    pthread_t thread;
    struct order order = { handle, record, error, 0 };
    if (pthread_create(&thread, NULL, work, &order))
        return failed(error, "no thread");
    pthread_join(thread, NULL);
    return order.answer;
}
static int insert_here(assay_handle *handle, const void *record, assay_error *error)
"#;

#[test]
fn an_engine_whose_own_threads_do_the_work_is_named() {
    if !can_count() {
        return;
    }
    let bench = Bench::new();
    let head = "static int hashtable_insert(assay_handle *handle, const void *record, \
                assay_error *error)\n";
    build(&bench, "libhashtable", &[(head, OWN_THREAD)]);
    let few = "crossbench -s m -i 30 -q 3 -u 3 -d 10";
    let gate = format!("gate -Q --plugin libhashtable.so --against libhashtable.so {few}");
    let ended = bench.succeeds(&gate);
    let words = "its own threads, which are not judged: 9";
    assert!(ended.stdout.contains(words), "{ended:?}");
}
