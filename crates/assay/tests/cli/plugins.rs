//! Engines in shared libraries: the example, the template, and libraries that are none.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::support::{Bench, children, is_running, processes, wait_for};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
pub const BAD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/bad.c");

/// Compiles a plugin into the bench's directory.
pub fn compile(bench: &Bench, source: &Path, name: &str, more: &[String]) -> PathBuf {
    let library = bench.path().join(name);
    let built = Command::new("cc")
        .args(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared"])
        .arg(format!("-I{ROOT}/crates/assay-drivers/include"))
        .arg(format!("-I{ROOT}/examples/plugins/hashtable"))
        .args(more)
        .arg("-o")
        .args([&library, source])
        .output()
        .expect("the C compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    library
}

#[test]
fn the_example_is_verified_and_measured() {
    let bench = Bench::new();
    let source = PathBuf::from(format!("{ROOT}/examples/plugins/hashtable/hashtable.c"));
    compile(&bench, &source, "libhashtable.so", &[]);
    let plugin = "--plugin libhashtable.so";
    let verified = bench.succeeds(&format!("verify -s m -e hashtable {plugin}"));
    let line = verified.stdout.lines().find(|line| line.contains("hashtable")).expect("a line");
    assert!(line.contains("passed") && line.contains(" 50 "), "{verified:?}");
    let listed = bench.succeeds(&format!("list -e hashtable {plugin}"));
    assert!(listed.stdout.contains("the example of a plugin"), "{listed:?}");
    let run = "run crossbench -s m -e hashtable,hashbrown -i 2k -q 2k -u 2k -d 1k -o run.json";
    bench.succeeds(&format!("{run} {plugin}"));
    let cells = bench.run_file("run.json")["cells"].clone();
    let of =
        |at: usize| (cells[at]["cell"]["engine"].clone(), cells[at]["status"]["outcome"].clone());
    assert_eq!(of(1), ("hashtable".into(), "measured".into()), "{cells}");
    let tape = |at: usize| cells[at]["measurement"]["phases"][0]["tape_hash"].clone();
    assert_eq!(tape(1), tape(2), "they did the same");
    assert_eq!(cells[1]["measurement"]["settings"][0], "linear probing, at most 3/4 full");
    let said = ["there is no engine hashtable here, and no libhashtable.so in the folders"];
    bench.refuses("run crossbench -e hashtable", 2, &said);
    bench.refuses("list -e hashtable", 2, &said);
}

#[test]
fn the_template_builds_and_is_not_taken_for_an_engine() {
    let bench = Bench::new();
    let told = bench.succeeds("plugin new my-engine");
    assert!(told.stdout.contains("make -C my-engine"), "{told:?}");
    let source = bench.path().join("my-engine/my-engine.c");
    compile(
        &bench,
        &source,
        "libmy-engine.so",
        &[format!("-I{}/my-engine", bench.path().display())],
    );
    let plugin = "--plugin libmy-engine.so";
    bench.refuses(&format!("verify -s m -e my-engine {plugin}"), 1, &["insert is not offered"]);
    let header = std::fs::read(bench.path().join("my-engine/assay_driver.h")).expect("it is there");
    let own = format!("{ROOT}/crates/assay-drivers/include/assay_driver.h");
    assert_eq!(header, std::fs::read(own).expect("it is there"));
    assert!(bench.path().join("my-engine/Makefile").exists());
    bench.refuses("plugin new my-engine", 3, &["my-engine", "--output"]);
    bench.refuses("plugin new sqlite", 2, &["already"]);
    bench.refuses("plugin new My_Engine", 2, &["cannot be an engine's id"]);
}

#[test]
fn what_is_no_plugin_is_refused() {
    let bench = Bench::new();
    std::fs::write(bench.path().join("text.so"), "not a library").expect("write");
    bench.refuses("list --plugin nosuch.so", 3, &["nosuch.so"]);
    let pipe = bench.path().join("pipe.so");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
    bench.refuses("list --plugin pipe.so", 3, &["pipe.so", "is a device or a pipe"]);
    bench.refuses("list --plugin text.so", 3, &["text.so", "not a shared library", "too short"]);
    // The linker names the library that is missing.
    let empty = bench.path().join("empty.c");
    std::fs::write(&empty, "void nothing(void);\nvoid nothing(void) {}\n").expect("write");
    compile(&bench, &empty, "libmissing.so", &[]);
    let needed = [format!("-L{}", bench.path().display()), "-Wl,--no-as-needed".into()];
    let needs = needed.into_iter().chain(["-lmissing".into()]).collect::<Vec<_>>();
    compile(&bench, Path::new(BAD), "needs.so", &needs);
    std::fs::remove_file(bench.path().join("libmissing.so")).expect("it is there");
    bench.refuses("list --plugin needs.so", 3, &["needs.so", "libmissing.so", "No such file"]);
    let empty = bench.path().join("empty.c");
    std::fs::write(&empty, "int nothing;\n").expect("write");
    compile(&bench, &empty, "empty.so", &[]);
    bench.refuses("list --plugin empty.so", 3, &["empty.so", "no assay_plugin()"]);
    for (fault, words) in [
        ("OTHER_VERSION", "version 99, this Assay has versions 1 to 2"),
        ("OTHER_SIZE", "its table has"),
        ("NO_TABLE", "returns no table"),
        ("BAD_ID", "lower-case letters"),
        ("TAKEN_ID", "an engine btreemap already"),
        ("NO_INSERT", "no function insert"),
        ("UNKNOWN_BITS", "0x100"),
        ("DIES_AT_LOAD", "killed by SIGABRT"),
    ] {
        let name = format!("{fault}.so");
        compile(&bench, Path::new(BAD), &name, &[format!("-D{fault}")]);
        bench.refuses(&format!("list --plugin {name}"), 3, &[&name, words]);
    }
}

/// The message for a cell that has used up its time.
const LATE: &str = "not done after";

#[test]
fn a_plugin_that_goes_wrong_is_one_failed_cell() {
    let bench = Bench::new();
    for (fault, words) in [
        ("CRASHES", "killed by SIGSEGV"),
        ("GARBAGE", "insert: the plugin returns 77, which means nothing"),
        ("FAILS", "insert: out of cheese"),
        ("FILLS_ERROR", "insert: "),
        ("LIES", "expected"),
        ("HANGS", LATE),
        ("NO_STORE", "the plugin returns no store"),
        ("CLOSES_PIPES", "killed by SIGKILL"),
        ("NEVER_ENDS_A_LINE", LATE),
        ("STOPS", LATE),
    ] {
        let name = format!("{fault}.so");
        compile(&bench, Path::new(BAD), &name, &[format!("-D{fault}")]);
        // On a busy machine what would end by itself may need longer, too.
        let is_late = |why: &str| why.contains(LATE);
        let (reason, rest) = (0..10)
            .map(|doublings| run_beside(&bench, &name, 3 << doublings))
            .find(|(why, rest)| {
                !rest["reason"].as_str().is_some_and(is_late) && (words == LATE || !is_late(why))
            })
            .expect("there is time enough at some time");
        assert!(reason.contains(words), "{fault}: {reason}");
        assert!(!reason.contains('\n'), "{fault}: {reason}");
        assert_eq!(rest["outcome"], "measured", "{fault}: the rest went on");
    }
}

/// Runs the plugin `name` and then another engine. Returns why the plugin's cell failed, and what
/// became of the other one.
fn run_beside(bench: &Bench, name: &str, timeout_s: u32) -> (String, serde_json::Value) {
    let run = "run crossbench -s m -i 1k -q 1k -u 1k -d 0 -o run.json -e bad,btreemap";
    let _ = std::fs::remove_file(bench.path().join("run.json"));
    let ended = bench.assay(&format!("{run} --timeout {timeout_s} --plugin {name}"));
    assert_eq!(ended.code, Some(1), "{name}: {ended:?}");
    let cells = bench.run_file("run.json")["cells"].clone();
    let reason = cells[1]["status"]["reason"].as_str().unwrap_or_default();
    (reason.into(), cells[2]["status"].clone())
}

/// Data that an engine keeps in its process is missing in the process that looks at the store.
#[test]
fn a_plugin_that_only_remembers_its_store_is_wrong() {
    let bench = Bench::new();
    compile(&bench, Path::new(BAD), "remembers.so", &["-DREMEMBERS".into()]);
    let line = "-e bad -s d --dir stores -o run.json --plugin remembers.so";
    for (suite, sizes) in [
        ("crossbench", "-i 1k -q 1k -u 1k -d 0"),
        ("crossbench", "-i 1k -q 1k -u 1k"),
        ("ycsb", "-w a --records 1k --operations 1k"),
    ] {
        let _ = std::fs::remove_file(bench.path().join("run.json"));
        let words = ["after the store was closed and opened again", "missing"];
        bench.refuses(&format!("run {suite} {sizes} {line}"), 1, &words);
        bench.has_no_stores();
    }
}

#[test]
fn a_plugin_that_does_not_describe_itself_is_given_up() {
    let bench = Bench::new();
    for fault in ["HANGS_AT_LOAD", "HANGS_AT_DESCRIBE"] {
        let name = format!("{fault}.so");
        compile(&bench, Path::new(BAD), &name, &[format!("-D{fault}")]);
        for (command, option) in [
            ("list --plugin-timeout 1", "1 s"),
            ("run crossbench -e btreemap -s m --plugin-timeout 2", "2 s"),
            ("verify -e btreemap -s m --plugin-timeout 1", "1 s"),
        ] {
            let words = [&name, "not done after", option, "--plugin-timeout"];
            bench.refuses(&format!("{command} --plugin {name}"), 3, &words);
        }
        let listing = bench.start(&format!("list --plugin {name}"));
        let worker = wait_for("the worker", || children(listing.id()).first().copied());
        kill(Pid::from_raw(listing.id().cast_signed()), Signal::SIGTERM).expect("it is there");
        let ended = listing.wait_with_output().expect("it ends");
        assert_eq!(ended.status.code(), Some(143), "{ended:?}");
        wait_for("the end of the worker", || (!is_running(worker)).then_some(()));
    }
    for command in ["list", "run crossbench", "verify", "crash"] {
        bench.helps(command, "to describe its engine [default: 60]");
    }
    bench.helps("run ycsb", "[default: after 600 without progress]");
    bench.helps("verify", "this many seconds [default: 600]");
    bench.helps("crash", "may be silent for so long [default: 60]");
}

/// A library that was built for the interface of version 1.
const VERSION_1: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/version1.c");
/// The example with volumes of its own.
pub const VOLUMES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/volumes.c");

#[test]
fn a_plugin_of_an_older_version_is_loaded_as_ever() {
    let bench = Bench::new();
    compile(&bench, Path::new(VERSION_1), "libversion1.so", &[]);
    let verified = bench.succeeds("verify -s m -e version1 --plugin libversion1.so");
    let line = verified.stdout.lines().find(|line| line.contains("version1")).expect("a line");
    assert!(line.contains("passed") && line.contains(" 35 "), "{verified:?}");
    // What version 2 allows, version 1 did not.
    compile(&bench, Path::new(VERSION_1), "lacking.so", &["-DNO_REMOVE".into()]);
    bench.refuses("list --plugin lacking.so", 3, &["lacking.so", "no function remove"]);
    bench.refuses("list --plugin .", 3, &[".: is a directory"]);
}

#[test]
fn an_engine_that_only_inserts_is_measured_by_what_it_has() {
    let bench = Bench::new();
    compile(&bench, Path::new(VOLUMES), "libonly.so", &["-DINSERT_ONLY".into()]);
    let plugin = "--plugin libonly.so";
    let verified = bench.succeeds(&format!("verify -s m -e volumes {plugin} --long"));
    for shape in ["route", "wide", "varied"] {
        for skipped in ["update", "delete"] {
            let line = format!("skipped {skipped} ({shape}): {skipped}");
            assert!(verified.stdout.contains(&line), "{line}: {verified:?}");
        }
        assert!(verified.stdout.contains(&format!("passed  insert and get ({shape})")));
    }
    let run = "run crossbench -s m -i 1k -q 1k -u 1k -d 1k -o run.json";
    let shown = bench.succeeds(&format!("{run} -e volumes,hashbrown {plugin}")).stdout;
    assert!(
        shown.contains("] it has no update") && shown.contains("] it has no delete"),
        "{shown}"
    );
    let cells = bench.run_file("run.json")["cells"].clone();
    assert_eq!(cells[1]["status"]["outcome"], "measured");
    let names = |list: &str, name: &str| -> Vec<String> {
        let all = cells[1]["measurement"][list].as_array().expect("a list");
        all.iter().map(|one| one[name].as_str().unwrap_or_default().to_string()).collect()
    };
    assert_eq!(names("phases", "name"), ["insert", "query"]);
    assert_eq!(names("not_offered", "phase"), ["update", "delete"]);
    let rows = bench.succeeds("show run.json --format csv").stdout;
    assert!(rows.contains("delete,unsupported: it has no delete"), "{rows}");
    let ycsb = "run ycsb -s m --records 1k --operations 1k -t 1 -e volumes";
    bench.succeeds(&format!("{ycsb} -w c,d {plugin}"));
    let words = ["nothing could be measured", "workload A needs an update"];
    bench.refuses(&format!("{ycsb} -w a {plugin}"), 3, &words);
    let run = "run tonbo-write -s m --scale 0.001 -t 1 -o write.json";
    bench.succeeds(&format!("{run} -e volumes {plugin}"));
    let cells = bench.run_file("write.json")["cells"].clone();
    assert_eq!(cells[1]["measurement"]["not_offered"][0]["phase"], "removals");
}

#[test]
fn volumes_of_a_plugin_are_mounted_by_itself() {
    let bench = Bench::new();
    let run = |fault: &str| {
        let name = format!("{fault}.so");
        compile(&bench, Path::new(VOLUMES), &name, &[format!("-D{fault}")]);
        let run = "run skvdb -s m -e volumes -t 1 --operations 700 --children 20 --entries 3";
        let ended = bench.assay(&format!("{run} -o run.json --plugin {name}"));
        (ended, bench.run_file("run.json")["cells"][1].clone())
    };
    let (ended, cell) = run("NOTHING");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(cell["measurement"]["settings"][0], "3 volumes", "{cell}");
    let phases = cell["measurement"]["phases"].as_array().expect("phases").len();
    assert_eq!((phases, &cell["measurement"]["phases"][1]["checked"]), (7, &700.into()), "{cell}");
    for fault in ["LIES", "SAYS_NO_TYPE"] {
        let (ended, cell) = run(fault);
        assert_eq!(ended.code, Some(1), "{fault}: {ended:?}");
        let why = cell["status"]["reason"].as_str().unwrap_or_default();
        assert!(why.contains("is missing or another value"), "{fault}: {cell}");
    }
    let (ended, cell) = run("LACKS_LINK");
    assert_eq!(ended.code, Some(3), "nothing was measured whole: {ended:?}");
    assert_eq!(
        (&cell["status"]["outcome"], &cell["status"]["reason"]),
        (&"unsupported".into(), &"link".into())
    );
    compile(&bench, Path::new(VOLUMES), "size.so", &["-DOTHER_VOLUME_SIZE".into()]);
    bench.refuses("list --plugin size.so", 3, &["size.so", "its table of volumes has 40 bytes"]);
}

#[test]
fn parameters_reach_the_plugins_that_name_them() {
    let bench = Bench::new();
    compile(&bench, Path::new(VOLUMES), "libvolumes.so", &[]);
    let run = "run nudb -s m -e volumes --inserts 500 --fetches 500 -o run.json";
    bench.succeeds(&format!(
        "{run} --block_size 512 --load_factor 0.4 --cache 64m --plugin libvolumes.so"
    ));
    let measurement = bench.run_file("run.json")["cells"][1]["measurement"].clone();
    assert_eq!(measurement["settings"][1], "block_size = 512", "{measurement}");
    assert_eq!(measurement["settings"][2], "cache_bytes = 67108864", "{measurement}");
    assert_eq!(measurement["settings"][3], "cache: 64 MiB (cache_bytes)", "{measurement}");
    assert_eq!(measurement["settings"].as_array().map(Vec::len), Some(4), "{measurement}");
    bench.succeeds(&format!("{run} --set volumes.block_size=256 --plugin libvolumes.so"));
    let set = bench.run_file("run.json")["cells"][1].clone();
    assert_eq!(set["cell"]["engine_options"]["block_size"], "256", "{set}");
    assert_eq!(set["measurement"]["settings"][1], "block_size = 256", "{set}");
    let note = measurement["notes"][0].as_str().unwrap_or_default();
    assert!(note.contains("load_factor") && !note.contains("block_size"), "{note}");
}

/// A process that the engine started keeps the worker's pipes, and ends with the worker.
#[test]
fn what_a_plugin_starts_ends_with_its_worker() {
    let bench = Bench::new();
    compile(&bench, Path::new(BAD), "FORKS.so", &["-DFORKS".into()]);
    let run = "run crossbench -s m -i 1k -q 1k -u 1k -d 0 -e bad --plugin FORKS.so -o run.json";
    bench.succeeds(run);
    let holder = format!("{}/FORKS.so", bench.path().display());
    wait_for("the end of what it started", || {
        let maps = processes()
            .into_iter()
            .filter_map(|process| std::fs::read_to_string(format!("/proc/{process}/maps")).ok());
        (!maps.into_iter().any(|maps| maps.contains(&holder))).then_some(())
    });
}
