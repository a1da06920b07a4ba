//! The driver `crossdb` against a stand-in for its library (`crossdb_double/`). So its calls into C
//! are executed on machines that do not have the real one.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::Bench;

const DOUBLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/crossdb_double/crossdb_double.c");

/// The name that the double has, and no real library.
const VERSION: &str = "0.8.0-test-double";

/// The environment variable by which Assay finds the library.
const VARIABLE: &str = "ASSAY_CROSSDB_LIB";

/// The checks that a driver passes if it declines only what it must. On each of the four shapes of
/// records whose keys it can have: eight cases, the random operations, and the close.
const LEAST_CHECKS: u32 = 36;

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

/// Runs Assay in `work` with what `library` says of CrossDB's.
fn assay(library: &Library<'_>, work: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assay"));
    command.args(arguments).current_dir(work);
    command.env_remove("LD_LIBRARY_PATH").env_remove(VARIABLE);
    match library {
        Library::Named(file) => command.env(VARIABLE, file),
        Library::Linked(folder) => command.env("LD_LIBRARY_PATH", folder),
        Library::Missing => &mut command,
    };
    command.output().expect("assay can be started")
}

/// The variable that leads Assay to CrossDB's library.
enum Library<'l> {
    /// The environment variable names the file.
    Named(&'l Path),
    /// The dynamic linker finds it in the folder.
    Linked(&'l Path),
    Missing,
}

/// Returns the output of a run that succeeded.
fn success(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}\n{stdout}\n{stderr}", output.status);
    stdout
}

/// Compiles the double, with these options, into a folder.
fn double_in(folder: &Path, options: &[&str]) -> PathBuf {
    let file = folder.join("libcrossdb.so");
    compile(Path::new(DOUBLE), &file, &[&["-shared", "-fPIC"], options].concat());
    file
}

/// Runs Assay with the double; its stores are in a directory of their own.
fn with_double(options: &[&str], work: &Path, arguments: &[&str]) -> String {
    let library = folder();
    double_in(library.path(), options);
    with_library(&Library::Linked(library.path()), work, arguments)
}

/// Runs Assay with a library; its stores are in a directory of their own.
fn with_library(library: &Library<'_>, work: &Path, arguments: &[&str]) -> String {
    let stores = folder();
    let dir = stores.path().to_str().expect("temporary directories have plain names");
    success(&assay(library, work, &[arguments, &["--dir", dir]].concat()))
}

/// Every storage mode passed, and enough was checked in it.
fn passed_everywhere(stdout: &str) {
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

/// Returns the library that this machine has for tests, or says that they are skipped.
fn real_library() -> Option<PathBuf> {
    let file = std::env::var_os(VARIABLE).map(PathBuf::from);
    if file.is_none() {
        println!("skipped: {VARIABLE} names no libcrossdb.so");
    }
    file
}

#[test]
fn the_driver_passes_verify_with_rows_by_callback() {
    passed_everywhere(&with_double(&[], folder().path(), &["verify", "-e", "crossdb"]));
}

#[test]
fn the_driver_passes_verify_with_rows_fetched() {
    let options = ["-DWITHOUT_CALLBACKS"];
    passed_everywhere(&with_double(&options, folder().path(), &["verify", "-e", "crossdb"]));
}

#[test]
fn the_driver_passes_verify_with_rows_read_through_functions() {
    let options = ["-DOPAQUE", "-DVERSION=\"0.14.0\""];
    passed_everywhere(&with_double(&options, folder().path(), &["verify", "-e", "crossdb"]));
}

/// Snapshots of the new interface carry the version of the release before.
#[test]
fn the_interface_is_told_by_its_functions() {
    let options = ["-DOPAQUE", "-DVERSION=\"0.11.0\""];
    passed_everywhere(&with_double(&options, folder().path(), &["verify", "-e", "crossdb"]));
}

#[test]
fn the_real_library_passes_verify() {
    let Some(file) = real_library() else { return };
    let library = Library::Named(&file);
    passed_everywhere(&with_library(&library, folder().path(), &["verify", "-e", "crossdb"]));
}

#[test]
fn the_real_library_runs_the_suites_that_it_can_do() {
    let Some(file) = real_library() else { return };
    for (suite, cells) in [
        ("crossbench -s m,r,d -i 2k -q 1k -u 1k -d 2k", 3),
        ("nudb -s m,d --key_size 8 --inserts 1000 --fetches 1000", 2),
        ("ycsb -s m -w a,b,c,d,f --records 1k --operations 1k", 5),
    ] {
        let work = folder();
        let line = format!("run {suite} -e crossdb -o run.json");
        let words: Vec<_> = line.split(' ').collect();
        with_library(&Library::Named(&file), work.path(), &words);
        let run = run_file(work.path());
        let all = run["cells"].as_array().expect("a run has cells").iter();
        let own: Vec<_> = all.filter(|cell| cell["cell"]["engine"] == "crossdb").collect();
        assert_eq!(own.len(), cells, "{suite}: {run:#}");
        for cell in own {
            assert_eq!(cell["status"]["outcome"], "measured", "{suite}: {cell:#}");
        }
    }
}

fn run_file(work: &Path) -> Value {
    let text = fs::read_to_string(work.join("run.json")).expect("there is a run file");
    serde_json::from_str(&text).expect("a run file is JSON")
}

#[test]
fn a_suite_runs_in_every_storage_mode() {
    let work = folder();
    let suite = "run crossbench -e crossdb -s m,r,d -i 1k -q 1k -u 1k -o run.json";
    with_double(&[], work.path(), &suite.split(' ').collect::<Vec<_>>());
    let run = run_file(work.path());
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
    let line = reason(&Library::Missing, work.path());
    for part in ["library not found (libcrossdb.so)", "crossdb-org/CrossDB", VARIABLE] {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
}

/// Why CrossDB is not available, as `list` says it.
fn reason(library: &Library<'_>, work: &Path) -> String {
    let stdout = success(&assay(library, work, &["list", "--json"]));
    let listing: serde_json::Value = serde_json::from_str(&stdout).expect("JSON");
    let mut engines = listing["engines"].as_array().expect("engines").iter();
    let crossdb = engines.find(|engine| engine["id"] == "crossdb").expect("CrossDB is listed");
    let text = success(&assay(library, work, &["list"]));
    assert!(text.contains("not available: "), "{text}");
    crossdb["not_available"].as_str().expect("a reason").to_string()
}

/// Lists, verifies and measures with a file that cannot be the library: `list` says why in one
/// line and ends well, the others have nothing to do.
fn refused(file: &Path, words: &[&str]) {
    let work = folder();
    let library = Library::Named(file);
    let line = reason(&library, work.path());
    let path = file.display().to_string();
    for part in [&[VARIABLE, path.as_str()], words].concat() {
        assert!(line.contains(part), "no {part:?} in {line:?}");
    }
    for (command, status) in [("verify -e crossdb -s m", 3), ("run crossbench -e crossdb -i 1", 3)]
    {
        let arguments: Vec<_> = command.split(' ').collect();
        let output = assay(&library, work.path(), &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(status), "{command}: {stderr}");
        assert!(!stderr.contains("panicked"), "{command}: {stderr}");
    }
}

#[test]
fn a_file_that_is_no_library_is_refused() {
    let here = folder();
    refused(&here.path().join("absent.so"), &["No such file", "`make build`"]);
    refused(here.path(), &["a directory; name the file libcrossdb.so in it"]);
    let text = here.path().join("text.so");
    fs::write(&text, "no library\n").expect("a temporary file can be written");
    refused(&text, &["cannot be loaded", "too short", "`make build`"]);
    // Without the engine that was asked for, neither command has anything to do.
    let bench = Bench::new();
    for command in ["verify -s m", "crash --dir stores", "run crossbench -s m -i 10"] {
        let variable = (VARIABLE, text.to_str().expect("a temporary name"));
        let ended = bench.assay_with(variable, &format!("{command} -e crossdb"));
        assert_eq!(ended.code, Some(3), "{command}: {ended:?}");
        assert!(ended.stderr.contains("cannot be loaded"), "{command}: {ended:?}");
    }
    fs::write(&text, "no library\n".repeat(100)).expect("a temporary file can be written");
    refused(&text, &["cannot be loaded: invalid ELF header", "`make build`"]);
    let pipe = here.path().join("pipe.so");
    nix::unistd::mkfifo(&pipe, nix::sys::stat::Mode::S_IRWXU).expect("a pipe can be made");
    refused(&pipe, &["not a file", "`make build`"]);
}

#[test]
fn a_library_of_something_else_is_refused() {
    let here = folder();
    let (source, file) = (here.path().join("other.c"), here.path().join("other.so"));
    fs::write(&source, "int other(void) { return 1; }\n").expect("a file can be written");
    compile(&source, &file, &["-shared", "-fPIC"]);
    refused(&file, &["no CrossDB", "xdb_version", "`make build`"]);
}

#[test]
fn a_library_without_a_function_is_refused() {
    let here = folder();
    let file = double_in(here.path(), &["-DWITHOUT_COMMIT"]);
    refused(&file, &["CrossDB 0.8.0-test-double without the function xdb_commit", "`make build`"]);
    let file = double_in(here.path(), &["-DVERSION=\"0.12.0\""]);
    refused(&file, &["CrossDB 0.12.0 without the function xdb_errcode", "`make build`"]);
    let file = double_in(here.path(), &["-DVERSION=\"0.12.0\"", "-DWITH_ERRCODE"]);
    refused(&file, &["CrossDB 0.12.0 without the function xdb_affected_rows", "`make build`"]);
}

#[test]
fn versions_that_are_not_known_are_refused_by_name() {
    for version in ["0.7.0", "0.15.0", "1.0.0", "eight", ""] {
        let here = folder();
        let file = double_in(here.path(), &[&format!("-DVERSION=\"{version}\"")]);
        refused(&file, &[&format!("CrossDB {version}; Assay drives 0.8 to 0.14")]);
    }
}

#[test]
fn the_environment_variable_comes_before_the_linker() {
    let (linked, named) = (folder(), folder());
    double_in(linked.path(), &[]);
    let file = double_in(named.path(), &["-DVERSION=\"0.9.7\""]);
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["list", "-e", "crossdb"])
        .env("LD_LIBRARY_PATH", linked.path())
        .env(VARIABLE, &file)
        .output()
        .expect("assay can be started");
    let stdout = success(&output);
    assert!(stdout.contains("0.9.7") && !stdout.contains(VERSION), "{stdout}");
}
