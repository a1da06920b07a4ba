//! Engines whose library the dynamic linker cannot load: `list` passes its words on.

use std::fs;
use std::path::Path;
use std::process::Command;

use tempfile::TempDir;

/// Compiles a library of one function that no program calls.
fn compile(folder: &Path, name: &str, more: &[&str]) {
    let source = folder.join("empty.c");
    fs::write(&source, "void nothing(void);\nvoid nothing(void) {}\n").expect("a source");
    let built = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([folder.join(name), source])
        .args(more)
        .output()
        .expect("the C compiler can be started");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
}

/// Returns why `list` says that an engine is not available, with libraries of this folder only.
fn reason(engine: &str, folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_assay"))
        .args(["list", "--json"])
        .current_dir(folder)
        .env_remove("ASSAY_CROSSDB_LIB")
        .env("LD_LIBRARY_PATH", folder)
        .output()
        .expect("assay can be started");
    let listing: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let mut engines = listing["engines"].as_array().expect("engines").iter();
    let own = engines.find(|one| one["id"] == engine).expect("the engine is listed");
    own["not_available"].as_str().expect("a reason").to_string()
}

/// Every file that a driver may name; of the first the linker's words are shown.
const LIBRARIES: [(&str, &[&str]); 2] = [
    ("leveldb", &["libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so"]),
    ("crossdb", &["libcrossdb.so"]),
];

fn says(engine: &str, folder: &Path, words: &[&str]) {
    let line = reason(engine, folder);
    for part in words {
        assert!(line.contains(part), "{engine}: no {part:?} in {line:?}");
    }
    assert!(!line.contains("not found"), "{engine}: {line:?}");
}

#[test]
fn a_library_that_is_no_library_is_refused_in_the_linkers_words() {
    for (engine, files) in LIBRARIES {
        let folder = TempDir::new().expect("a temporary directory");
        for file in files {
            fs::write(folder.path().join(file), "no library\n").expect("a file");
        }
        says(engine, folder.path(), &[files[0], "cannot be loaded", "too short"]);
    }
}

#[test]
fn a_library_that_lacks_a_library_of_its_own_names_it() {
    for (engine, files) in LIBRARIES {
        let folder = TempDir::new().expect("a temporary directory");
        let here = format!("-L{}", folder.path().display());
        compile(folder.path(), "libmissing.so", &[]);
        for file in files {
            compile(folder.path(), file, &[&here, "-Wl,--no-as-needed", "-lmissing"]);
        }
        fs::remove_file(folder.path().join("libmissing.so")).expect("it is there");
        says(engine, folder.path(), &[files[0], "libmissing.so", "No such file"]);
    }
}

#[test]
fn a_library_without_a_function_is_refused_in_the_linkers_words() {
    for (engine, files, function) in [
        ("leveldb", LIBRARIES[0].1, "leveldb_major_version"),
        ("crossdb", LIBRARIES[1].1, "xdb_version"),
    ] {
        let folder = TempDir::new().expect("a temporary directory");
        files.iter().for_each(|file| compile(folder.path(), file, &[]));
        says(engine, folder.path(), &[function, "undefined symbol"]);
    }
}
