//! The test that no crate has a circle of imports: its modules stand in storeys, and each imports
//! what is below it only. And no command of `assay` imports another one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// The modules of a crate, with those that each imports.
type Imports = BTreeMap<String, BTreeSet<String>>;

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

fn folders(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).expect("the sources are there");
    entries.map(|entry| entry.expect("a file").path()).collect()
}

/// Returns the Rust files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in folders(folder) {
        match path.is_dir() {
            true => found.extend(files(&path)),
            false if path.extension().is_some_and(|end| end == "rs") => found.push(path),
            false => {}
        }
    }
    found
}

/// Returns the code of a file, without comments and without the tests at its end.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).expect("it can be read");
    let tests = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let lines = text[..tests].lines().map(|line| line.split("//").next().unwrap_or_default());
    lines.collect::<Vec<_>>().join("\n")
}

fn name_at(text: &str) -> &str {
    let end = text.find(|letter: char| !letter.is_alphanumeric() && letter != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns the modules that only tests have: `#[cfg(test)] mod name;`.
fn of_tests(code: &str) -> Vec<String> {
    let marks = code.match_indices("#[cfg(test)]\n").map(|(at, mark)| &code[at + mark.len()..]);
    let named = marks.filter_map(|rest| {
        let rest = rest.trim_start();
        let rest = rest.strip_prefix("pub(crate) ").unwrap_or(rest).strip_prefix("mod ")?;
        let name = name_at(rest);
        rest[name.len()..].starts_with(';').then(|| name.to_string())
    });
    named.collect()
}

/// Returns the first names of what stands behind `start`, one or several in braces.
fn behind<'c>(code: &'c str, start: &str) -> Vec<&'c str> {
    let mut found = Vec::new();
    for (at, start) in code.match_indices(start) {
        let before = code[..at].chars().next_back();
        if before.is_some_and(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':') {
            continue;
        }
        let rest = &code[at + start.len()..];
        let Some(list) = rest.strip_prefix('{') else {
            found.push(name_at(rest));
            continue;
        };
        let mut depth = 0;
        let mut begins = true;
        for (at, letter) in list.char_indices() {
            match letter {
                '{' => depth += 1,
                '}' if depth == 0 => break,
                '}' => depth -= 1,
                ',' if depth == 0 => begins = true,
                _ if begins && depth == 0 && !letter.is_whitespace() => {
                    found.push(name_at(&list[at..]));
                    begins = false;
                }
                _ => {}
            }
        }
    }
    found
}

/// Returns what the root of a crate passes on, by name, with the module that it is from.
fn passed_on(root: &str) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (at, start) in root.match_indices("use ") {
        let Some((path, _)) = root[at + start.len()..].split_once(';') else { continue };
        let path = path.trim_start_matches("crate::").trim_start_matches("self::");
        let Some((module, names)) = path.split_once("::") else { continue };
        for name in names.split(|letter: char| !letter.is_alphanumeric() && letter != '_') {
            found.insert(name.to_string(), module.to_string());
        }
    }
    found
}

/// Returns what each module of a crate imports.
fn imports(source: &Path) -> Imports {
    let root = ["lib.rs", "main.rs"].map(|name| source.join(name));
    let root = root.iter().find(|path| path.exists()).expect("the root of a crate");
    let found = files(source);
    let tests: BTreeSet<_> = found.iter().flat_map(|path| of_tests(&code(path))).collect();
    let passed_on = passed_on(&code(root));
    let mut imports = Imports::new();
    for path in &found {
        let relative = path.strip_prefix(source).expect("it is in there").with_extension("");
        let parts: Vec<_> = relative.iter().map(|part| part.to_string_lossy()).collect();
        let is_test = parts.iter().any(|part| tests.contains(part.as_ref()));
        if is_test || path == root || parts == ["main"] {
            continue;
        }
        let code = code(path);
        let depth = parts.len() - usize::from(parts.last().is_some_and(|last| last == "mod"));
        let above = "super::".repeat(depth);
        let own = imports.entry(parts[0].to_string()).or_default();
        for name in behind(&code, "crate::").into_iter().chain(behind(&code, &above)) {
            own.insert(passed_on.get(name).map_or(name, String::as_str).to_string());
        }
    }
    let modules: BTreeSet<_> = imports.keys().cloned().collect();
    for (module, own) in &mut imports {
        own.retain(|name| name != module && modules.contains(name));
    }
    imports
}

/// Returns the modules that are in circles: what is left once each module was taken away that
/// imports nothing that is left, or that nothing imports.
fn in_circles(mut imports: Imports) -> Vec<String> {
    loop {
        let used: BTreeSet<_> = imports.values().flatten().cloned().collect();
        let is_free = |(name, own): &(&String, &BTreeSet<String>)| {
            own.is_empty() || !used.contains(name.as_str())
        };
        let Some(free) = imports.iter().find(is_free).map(|(name, _)| name.clone()) else {
            return imports.into_keys().collect();
        };
        imports.remove(&free);
        for own in imports.values_mut() {
            own.remove(&free);
        }
    }
}

#[test]
fn no_crate_has_a_circle_of_imports() {
    let (mut looked_at, mut circles) = (0, Vec::new());
    for folder in folders(&crates()) {
        let source = folder.join("src");
        if !source.exists() {
            continue;
        }
        let name = folder.file_name().expect("a name").to_string_lossy().into_owned();
        let found = in_circles(imports(&source));
        looked_at += 1;
        if !found.is_empty() {
            circles.push(format!("{name}: {}", found.join(", ")));
        }
    }
    assert!(looked_at > 15, "{looked_at} crates");
    assert_eq!(circles, Vec::<String>::new());
}

#[test]
fn no_command_imports_another() {
    let commands = crates().join("assay/src/commands");
    let found = files(&commands);
    assert!(found.len() > 15, "{} files", found.len());
    for path in found {
        let names = behind(&code(&path), "crate::").contains(&"commands");
        assert!(!names, "{} imports a command", path.display());
    }
}

#[test]
fn circles_are_found() {
    let module = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    let mut imports: Imports = BTreeMap::from([
        ("a".into(), module(&["b"])),
        ("b".into(), module(&["c", "d"])),
        ("c".into(), module(&["b"])),
        ("d".into(), module(&[])),
    ]);
    assert_eq!(in_circles(imports.clone()), ["b", "c"]);
    imports.insert("c".into(), module(&["d"]));
    assert_eq!(in_circles(imports), Vec::<String>::new());
    let code = "use crate::{one::Two, three};\nlet x = crate::four::five(); other::crate::six;";
    assert_eq!(behind(code, "crate::"), ["one", "three", "four"]);
    assert_eq!(of_tests("#[cfg(test)]\nmod seven;\n#[cfg(test)]\nmod eight {}"), ["seven"]);
}
