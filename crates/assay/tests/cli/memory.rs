//! The memory that engines may have: the size of their caches, and the limit of a worker.

use std::fs;
use std::path::{Path, PathBuf};

use assay_driver::control_group::ControlGroup;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::plugins::{BAD, compile};
use crate::support::{Bench, wait_for};

/// The cells of a run whose engines keep files.
fn cells(bench: &Bench, options: &str) -> Vec<serde_json::Value> {
    bench.succeeds(&format!(
        "run crossbench -s r -e sqlite,lmdb,lode,redb --dir stores -i 100 -q 100 -u 10 -d 10 \
         -o run.json {options}"
    ));
    let run = bench.run_file("run.json");
    let cells = run["cells"].as_array().expect("cells").iter();
    cells.filter(|cell| cell["cell"]["calibration"] != true).cloned().collect()
}

fn cache_settings(cells: &[serde_json::Value]) -> Vec<String> {
    let of = |cell: &serde_json::Value| {
        let settings = cell["measurement"]["settings"].as_array().expect("settings").iter();
        let settings = settings.filter_map(|text| text.as_str());
        settings.filter(|text| text.starts_with("cache: ")).map(String::from).collect::<Vec<_>>()
    };
    cells.iter().flat_map(of).collect()
}

#[test]
fn a_cache_of_one_size_reaches_every_engine_and_every_view() {
    let bench = Bench::new();
    let cells = cells(&bench, "--cache 8m");
    assert_eq!(
        cache_settings(&cells),
        [
            "cache: 8 MiB (PRAGMA cache_size)",
            "cache: none, its files are mapped",
            "cache: 8 MiB (memory_bytes)",
            "cache: 8 MiB (set_cache_size)",
        ]
    );
    for cell in &cells {
        assert_eq!(cell["cell"]["cache_bytes"], 8 << 20);
        assert_eq!(cell["cell"]["cache_named"], true);
    }
    assert!(bench.succeeds("show run.json").told().contains("· cache 8 MiB"), "the heading");
    let details = bench.succeeds("show run.json --details").told();
    assert!(details.contains("cache: 8 MiB (PRAGMA cache_size)"), "{details}");
    bench.succeeds("report run.json -o page.html");
    let page = std::fs::read_to_string(bench.path().join("page.html")).expect("a page");
    assert!(page.contains("cache: 8 MiB (memory_bytes)") && page.contains("--cache 8m"));
}

#[test]
fn without_a_size_all_engines_have_the_same() {
    let bench = Bench::new();
    let cells = cells(&bench, "");
    let sizes: Vec<_> = cells.iter().map(|cell| cell["cell"]["cache_bytes"].as_u64()).collect();
    let expected = assay_driver::machine::usable_memory_bytes() / 8;
    assert_eq!(sizes, [Some(expected); 4]);
    assert!(!bench.succeeds("show run.json").told().contains("cache"), "nothing was named");
}

#[test]
fn engines_have_caches_of_their_own_size_when_asked_or_as_published() {
    let bench = Bench::new();
    for options in ["--cache own", "--as-published"] {
        let cells = cells(&bench, options);
        assert!(cells.iter().all(|cell| cell["cell"].get("cache_bytes").is_none()), "{options}");
        let settings = cache_settings(&cells);
        assert_eq!(settings[0], "cache: the engine's default", "{options}");
        assert_eq!(settings[3], "cache: 1 GiB (set_cache_size)", "{options}");
    }
}

#[test]
fn a_bad_size_is_refused_in_one_line() {
    let bench = Bench::new();
    for (size, why) in [
        ("0", "must be at least 1m"),
        ("1023k", "must be at least 1m"),
        ("many", "not a size; write digits with m or g behind them, such as 256m"),
        ("-1", "not a size"),
        ("99999999999999999999", "too large for any machine"),
        ("4000t", "of memory here; take at most that"),
    ] {
        bench.refuses(
            &format!("run crossbench -s m -e btreemap -i 10 -q 10 -u 10 --cache {size}"),
            2,
            &["--cache", why],
        );
    }
}

/// The group that this process is in, if groups with a limit can be made below it.
fn group_with_limits() -> Option<ControlGroup> {
    let found = ControlGroup::own().filter(|own| {
        let folder = own.folders().next().expect("a group").join("assay-test");
        let made = fs::create_dir(&folder).is_ok();
        let has_limit = folder.join(own.version().limit_file()).exists();
        if made {
            fs::remove_dir(&folder).expect("it is empty");
        }
        has_limit
    });
    if found.is_none() {
        println!("skipped: no control group with a limit of memory can be made here");
    }
    found
}

/// The groups of workers that are there.
fn groups_of_workers(own: &ControlGroup) -> Vec<PathBuf> {
    let entries = own.folders().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let folders = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let name = |path: &Path| path.file_name().is_some_and(is_of_worker);
    folders.filter(|path| path.is_dir() && name(path)).collect()
}

fn is_of_worker(name: &std::ffi::OsStr) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix("assay-"));
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The number of processes in a group.
fn processes(group: &Path) -> usize {
    fs::read_to_string(group.join("cgroup.procs")).map_or(0, |text| text.lines().count())
}

/// One test, since it looks at all groups that there are.
#[test]
fn a_worker_over_its_limit_is_killed_and_every_group_is_removed() {
    let Some(own) = group_with_limits() else { return };
    let gone =
        || wait_for("the end of the groups", || groups_of_workers(&own).is_empty().then_some(()));
    let bench = Bench::new();
    compile(&bench, Path::new(BAD), "EATS.so", &["-DEATS".into()]);
    let run =
        "run crossbench -s m -i 1k -q 1k -u 1k -d 0 -e bad,btreemap --plugin EATS.so -o run.json";

    let ended = bench.assay(&format!("{run} --cgroup 64m"));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.told().contains("bad killed [1]"), "{ended:?}");
    assert!(ended.told().contains("[1] killed: over the memory limit of 64 MiB"), "{ended:?}");
    assert!(ended.told().contains("memory limit 64 MiB ·"), "the heading: {ended:?}");
    gone();
    let run_file = bench.run_file("run.json");
    let cells: Vec<_> = run_file["cells"].as_array().expect("cells").iter().skip(1).collect();
    assert_eq!(cells[0]["status"]["outcome"], "killed", "{run_file}");
    assert_eq!(cells[1]["status"]["outcome"], "measured", "the run went on: {run_file}");
    for cell in cells {
        assert_eq!(cell["cell"]["memory_limit_bytes"], 64 << 20);
        assert_eq!(cell["cell"]["cache_bytes"], 8 << 20, "an eighth of the limit");
    }
    bench.succeeds(&format!("{run} --cgroup 1g"));

    // However Assay ends, a group goes with it.
    compile(&bench, Path::new(BAD), "HANGS.so", &["-DHANGS".into()]);
    let hangs = "run crossbench -s m -i 1k -q 1k -u 1k -e bad --plugin HANGS.so -o hangs.json";
    for (signal, code) in [(Signal::SIGINT, Some(130)), (Signal::SIGKILL, None)] {
        let mut child = bench.start(&format!("{hangs} --cgroup 64m"));
        wait_for("a worker in its group", || {
            groups_of_workers(&own).iter().any(|group| processes(group) > 0).then_some(())
        });
        kill(Pid::from_raw(child.id().cast_signed()), signal).expect("it is there");
        assert_eq!(child.wait().expect("it ends").code(), code, "{signal}");
        gone();
    }
}

#[test]
fn a_bad_limit_is_refused_in_one_line() {
    let bench = Bench::new();
    for (size, why) in [
        ("0", "must be at least 32m"),
        ("31m", "must be at least 32m"),
        ("much", "not a size; write digits with m or g behind them, such as 256m"),
        ("4000t", "of memory here; take at most that"),
    ] {
        bench.refuses(
            &format!("run crossbench -s m -e btreemap -i 10 -q 10 -u 10 --cgroup {size}"),
            2,
            &["--cgroup", why],
        );
    }
    let more = ["--cache 128 MiB: more than the 64 MiB of --cgroup"];
    bench.refuses("run crossbench -s m --cgroup 64m --cache 128m", 2, &more);
}
