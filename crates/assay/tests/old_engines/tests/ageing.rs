//! Ages stores of old versions and of the drivers' versions of the same engines. Asserted are bytes
//! only, never a time.
//!
//! `cargo build --workspace` makes the plugins; `ASSAY` names the program.

use std::path::Path;
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Returns the path of a plugin, in the folder above this test's.
fn plugin(name: &str) -> String {
    let own = env::current_exe().expect("this test is a file");
    let path = own.parent().and_then(Path::parent).expect("two folders").join(name);
    assert!(path.exists(), "{} is missing; cargo build --workspace makes it", path.display());
    path.to_str().expect("a path in UTF-8").into()
}

/// Runs Assay with both plugins, and returns what it printed.
fn assay(dir: &Path, line: &str) -> String {
    let program = env::var("ASSAY").expect("ASSAY names the program");
    let [redb, fjall] = ["libredb_2.so", "libfjall_2.so"].map(plugin);
    let ended = Command::new(program)
        .current_dir(dir)
        .args(line.split_whitespace())
        .args(["--plugin", &redb, "--plugin", &fjall])
        .output()
        .expect("ASSAY names a program");
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{line}: {}\n{printed}\n{said}", ended.status);
    printed
}

/// Measures a workload of this folder on a RAM disk, and returns its cells by engine.
fn measured<const N: usize>(workload: &str, engines: [&str; N]) -> [Value; N] {
    let dir = tempfile::tempdir_in("/dev/shm").expect("a folder on a RAM disk");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(workload);
    let (file, named) = (file.display(), engines.join(","));
    let line = format!("run workload {file} -e {named} --dir stores -o run.json --cache 64m");
    assay(dir.path(), &line);
    let run = fs::read(dir.path().join("run.json")).expect("the run file");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    let cells = run["cells"].as_array().expect("cells");
    engines.map(|engine| {
        let cell = cells.iter().find(|cell| cell["cell"]["engine"] == engine).expect("a cell");
        assert_eq!(cell["status"]["outcome"], "measured", "{cell}");
        cell["measurement"].clone()
    })
}

/// Returns the last window of a phase.
fn end<'m>(measurement: &'m Value, phase: &str) -> &'m Value {
    let mut phases = measurement["phases"].as_array().expect("phases").iter();
    let phase = phases.find(|measured| measured["name"] == phase).expect("the phase");
    phase["windows"].as_array().and_then(|windows| windows.last()).expect("a window")
}

/// Returns a number of bytes.
fn bytes(of: &Value, name: &str) -> f64 {
    of[name].as_f64().unwrap_or_else(|| panic!("no {name}: {of}"))
}

/// Returns the most space that the store took, for each byte that was live at the end of a phase.
fn most_space(measurement: &Value, phase: &str) -> f64 {
    let most = bytes(&measurement["resources"], "store_peak_bytes");
    most / bytes(end(measurement, phase), "live_bytes")
}

#[test]
fn the_old_versions_answer_right() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let told = assay(dir.path(), "verify -s r --durability all -e redb-2,fjall-2");
    let passed = told.lines().filter(|line| line.contains("passed")).count();
    assert_eq!(passed, 4, "each at both of its levels: {told}");
}

#[test]
fn redb_2_leaves_dead_pages_where_its_driver_does_not() {
    let [old, new] =
        measured("dead_pages.toml", ["redb-2", "redb"]).map(|m| most_space(&m, "overwrite"));
    println!("bytes on disk for a live byte: redb 2.6.3 {old:.2}, the driver's {new:.2}");
    assert!(old > 20.0, "each of 5,000 commits of 1 KB leaves pages dead: {old}");
    assert!(new < 5.0, "{new}");
}

#[test]
fn redb_2_gives_nothing_back_for_half_of_its_records() {
    let shares = measured("half.toml", ["redb-2", "redb"]).map(|measurement| {
        let [before, after] = ["serve", "delete-half"].map(|phase| end(&measurement, phase));
        let live = bytes(after, "live_bytes") / bytes(before, "live_bytes");
        assert!((0.45..0.55).contains(&live), "{live} of the bytes are live");
        bytes(after, "store_bytes") / bytes(before, "store_bytes")
    });
    println!("space after deleting half, of that before: redb 2.6.3 and the driver's {shares:.2?}");
    assert!(shares[0] >= 1.0, "{shares:?}");
}

#[test]
fn the_journal_of_fjall_2_outgrows_a_full_cache() {
    let [old, new, pages] = measured("full_cache.toml", ["fjall-2", "fjall", "redb-2"])
        .map(|measurement| most_space(&measurement, "serve"));
    println!("bytes on disk for a live byte: fjall 2.11.2 {old:.2}, the driver's {new:.2}");
    assert!(old > 6.0, "a journal stays until its memtable of 16 MiB is full, for 2 MB: {old}");
    assert!(pages < 5.0, "a store of pages uses those of deleted records again: {pages}");
}
