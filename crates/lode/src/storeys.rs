//! The test that modules import only lower modules.

use std::fs;
use std::path::{Path, PathBuf};

/// The modules of the crate, the lowest first. A module imports those that come before it.
const STOREYS: [&str; 20] = [
    "decimal",
    "types",
    "position",
    "error",
    "observability",
    "codec",
    "batch",
    "io",
    "schema",
    "data",
    "wal",
    "pager",
    "index",
    "hash",
    "tree",
    "heap",
    "table",
    "store",
    "engine",
    "api",
];

/// The names at the root of the crate that belong to its lowest module.
const OF_ERROR: [&str; 2] = ["Error", "Result"];

/// Files that only tests have: they may use the crate as its users do.
const OF_TESTS: [&str; 20] = [
    "api/table/indexes/tests.rs",
    "api/table/indexes/tests/walks.rs",
    "api/table/writes/tests.rs",
    "api/transaction/commit/tests.rs",
    "api/transaction/scans/tests.rs",
    "api/transaction/touched/tests.rs",
    "engine/bounds.rs",
    "engine/cleaned.rs",
    "engine/closed.rs",
    "engine/given_up.rs",
    "engine/idle/tests.rs",
    "engine/passed.rs",
    "engine/periodic.rs",
    "heap/tests.rs",
    "lib.rs",
    "observability/tests.rs",
    "simulation.rs",
    "storeys.rs",
    "table/changed/tests.rs",
    "wal/group/tests.rs",
];

fn rank(module: &str) -> Option<usize> {
    STOREYS.iter().position(|storey| *storey == module)
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the sources are there") {
        let path = entry.expect("a file").path();
        if path.is_dir() { files(&path, found) } else { found.push(path) }
    }
}

/// Returns the names that a line of code uses of the crate: the first part of each path.
fn named(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    code.match_indices("crate::").map(|(at, start)| {
        let rest = &code[at + start.len()..];
        let end = rest.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
        &rest[..end.unwrap_or(rest.len())]
    })
}

/// Returns the first fault of a line of a module's file, if there is one.
fn fault(module: usize, line: &str) -> Option<String> {
    let wrong = named(line).find(|name| match rank(name) {
        Some(other) => other > module,
        None => !OF_ERROR.contains(name),
    });
    wrong.map(|name| format!("{} imports `{name}`", STOREYS[module]))
}

#[test]
fn modules_import_what_is_below_them() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    files(&root, &mut found);
    let mut faults = Vec::new();
    for path in &found {
        let name = path.strip_prefix(&root).expect("it is in there").display().to_string();
        let name = name.replace(std::path::MAIN_SEPARATOR, "/");
        if OF_TESTS.contains(&name.as_str()) {
            continue;
        }
        let module = name.split(['/', '.']).next().expect("a name");
        let module = rank(module).unwrap_or_else(|| panic!("{name} is in no storey"));
        let text = fs::read_to_string(path).expect("it can be read");
        for (line, number) in text.lines().zip(1..) {
            faults.extend(fault(module, line).map(|why| format!("src/{name}:{number}: {why}")));
        }
    }
    assert!(found.len() > STOREYS.len(), "{} files", found.len());
    assert_eq!(faults, Vec::<String>::new());
}

#[test]
fn an_import_from_above_is_found() {
    let table = rank("table").expect("a storey");
    assert_eq!(fault(table, "use crate::error::{Error, Result};"), None);
    assert_eq!(fault(table, "use crate::table::KeyKind; // crate::api"), None);
    let why = Some("table imports `engine`".to_string());
    assert_eq!(fault(table, "    fn of(engine: &crate::engine::Engine) {}"), why);
    assert_eq!(fault(table, "use crate::Database;"), Some("table imports `Database`".into()));
}
