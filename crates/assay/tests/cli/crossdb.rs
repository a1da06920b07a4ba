//! The driver `crossdb` against a stand-in for its library (`crossdb_double/`), so that its calls
//! into C are executed on machines that do not have the real one.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

const DOUBLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crossdb_double/crossdb_double.c");

/// What the double calls itself, which no real library does.
const VERSION: &str = "0.8.0-test-double";

/// What a driver that declines nothing but what it must passes on the one shape of records
/// without columns of bytes: seven cases, the random operations, and the close.
const LEAST_CHECKS: u32 = 9;

fn folder() -> TempDir {
    TempDir::new().expect("a temporary directory can be made")
}

/// Compiles C with what a program and what a library need besides.
fn compile(source: &Path, to: &Path, more: &[&str]) {
    let built = Command::new("cc")
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([to, source])
        .args(more)
        .output()
        .expect("the C compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Runs Assay in `work`, with the double where it looks for libraries, or without.
fn assay(library: Option<&Path>, work: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).current_dir(work).env_remove("LD_LIBRARY_PATH");
    if let Some(library) = library {
        command.env("LD_LIBRARY_PATH", library);
    }
    command.output().expect("assay can be started")
}

/// What a run printed, after it succeeded.
fn success(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// Runs Assay with the double; its stores are in a directory of their own.
fn with_double(work: &Path, arguments: &[&str]) -> String {
    let (library, stores) = (folder(), folder());
    compile(Path::new(DOUBLE), &library.path().join("libcrossdb.so"), &["-shared", "-fPIC"]);
    let dir = stores.path().to_str().expect("temporary directories have plain names");
    let arguments = [arguments, &["--dir", dir]].concat();
    success(&assay(Some(library.path()), work, &arguments))
}

#[test]
fn the_driver_passes_verify() {
    let stdout = with_double(folder().path(), &["verify", "-e", "crossdb"]);
    for storage in ["memory", "ramdisk", "disk"] {
        let passed = stdout.lines().any(|line| {
            let words: Vec<_> = line.split_whitespace().collect();
            let [engine, place, _, _, checks, result, ..] = words[..] else {
                return false;
            };
            // No check at all would be "passed" as well, with everything not offered.
            (engine, place, result.trim_end_matches(';')) == ("crossdb", storage, "passed")
                && checks.parse().is_ok_and(|checks: u32| checks >= LEAST_CHECKS)
        });
        assert!(passed, "no line says that {storage} passed:\n{stdout}");
    }
}

#[test]
fn a_suite_runs_in_every_storage_mode() {
    let work = folder();
    let suite = "run crossbench -e crossdb -s m,r,d -i 1k -q 1k -u 1k -o run.json";
    with_double(work.path(), &suite.split(' ').collect::<Vec<_>>());
    let text = fs::read_to_string(work.path().join("run.json")).expect("there is a run file");
    let run: Value = serde_json::from_str(&text).expect("a run file is JSON");
    for storage in ["memory", "ramdisk", "disk"] {
        let cell = run["cells"]
            .as_array()
            .expect("a run has cells")
            .iter()
            .find(|cell| cell["cell"]["engine"] == "crossdb" && cell["cell"]["storage"] == storage)
            .unwrap_or_else(|| panic!("no cell in {storage}:\n{run:#}"));
        assert_eq!(cell["status"]["outcome"], "measured", "{cell:#}");
        assert_eq!(cell["measurement"]["engine_version"], VERSION, "{cell:#}");
        let phases = cell["measurement"]["phases"].as_array().expect("a measurement has phases");
        let checked: Vec<_> = phases.iter().filter_map(|phase| phase["checked"].as_u64()).collect();
        assert_eq!(checked, [1_000, 10_000, 10_000, 1_000], "{cell:#}");
    }
}

#[test]
fn a_missing_library_is_said() {
    let work = folder();
    let (source, probe) = (work.path().join("probe.c"), work.path().join("probe"));
    let text = "#include <dlfcn.h>\n\
                int main(void) { return dlopen(\"libcrossdb.so\", RTLD_NOW) == 0; }\n";
    fs::write(&source, text).expect("a temporary file can be written");
    compile(&source, &probe, &["-ldl"]);
    let probed = Command::new(&probe)
        .env_remove("LD_LIBRARY_PATH")
        .status()
        .expect("the probe can be started");
    if probed.success() {
        println!("skipped: this machine has a libcrossdb.so");
        return;
    }
    let stdout = success(&assay(None, work.path(), &["list", "-e", "crossdb"]));
    assert!(stdout.contains("library not found"), "{stdout}");
}
