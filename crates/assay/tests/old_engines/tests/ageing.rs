//! Ages stores of old versions and of the drivers' versions of the same engines. Asserted are bytes
//! only, never a time.
//!
//! `cargo build --workspace` makes the plugins; `ASSAY` names the program.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// Returns the path of a plugin, which is beside this test's folder.
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

/// Measures a workload of this folder once by some engines, and returns the space amplification of
/// each engine at the end of each phase.
fn space(workload: &str, engines: [&str; 2], more: &str) -> [Vec<f64>; 2] {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(workload);
    fs::copy(file, dir.path().join(workload)).expect("the workload is there");
    let named = engines.join(",");
    let line = format!(
        "run workload {workload} -e {named} -s d --dir stores -n 1 -o run.json --cache 64m {more}"
    );
    assay(dir.path(), &line);
    let run = fs::read(dir.path().join("run.json")).expect("the run file");
    let run: Value = serde_json::from_slice(&run).expect("JSON");
    engines.map(|engine| {
        let cells = run["cells"].as_array().expect("cells");
        let cell = cells.iter().find(|cell| cell["cell"]["engine"] == engine).expect("a cell");
        let phases = cell["measurement"]["phases"].as_array().expect("phases").iter();
        let windows = phases.filter_map(|phase| phase["windows"].as_array()?.last());
        windows
            .map(|window| {
                let bytes = |name: &str| window[name].as_f64().expect("a number of bytes");
                bytes("store_bytes") / bytes("live_bytes")
            })
            .collect()
    })
}

#[test]
fn the_old_versions_answer_right() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let told = assay(dir.path(), "verify -s d -e redb-2,fjall-2 --dir stores");
    let passed = told.lines().filter(|line| line.contains("passed")).count();
    assert_eq!(passed, 4, "each at both of its levels: {told}");
}
