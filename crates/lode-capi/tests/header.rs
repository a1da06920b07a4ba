//! The header is that of the sources, says something of everything in it, and names what the
//! library exports.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

fn crate_file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn read(name: &str) -> String {
    std::fs::read_to_string(crate_file(name)).expect("the file is there")
}

/// Compares a file with what it should contain; writes it if `LODE_WRITE_HEADER` is set.
fn expect_content(name: &str, wanted: &str) {
    if std::env::var_os("LODE_WRITE_HEADER").is_some() {
        std::fs::write(crate_file(name), wanted).expect("it can be written");
    }
    let there = read(name);
    let differ = there.lines().zip(wanted.lines()).find(|(there, wanted)| there != wanted);
    assert_eq!(differ, None, "{name} is not up to date: see cbindgen.toml");
    assert_eq!(there, wanted, "{name} is not up to date: see cbindgen.toml");
}

#[test]
fn the_header_is_made_of_the_sources() {
    let config = cbindgen::Config::from_file(crate_file("cbindgen.toml")).expect("a configuration");
    let builder = cbindgen::Builder::new().with_config(config);
    let made = builder.with_crate(env!("CARGO_MANIFEST_DIR")).generate().expect("a header");
    let mut header = Vec::new();
    made.write(&mut header);
    expect_content("include/lode.h", &String::from_utf8(header).expect("UTF-8"));
}

/// Returns the names of the functions that the header declares.
fn declared() -> BTreeSet<String> {
    let header = read("include/lode.h");
    let mut names = BTreeSet::new();
    for (at, _) in header.match_indices("(") {
        let before = header[..at].trim_end_matches(|letter: char| !letter.is_ascii_whitespace());
        let name = header[before.len()..at].trim_start_matches('*');
        let line = before.rsplit('\n').next().unwrap_or_default();
        let starts_line = !line.is_empty() && !line.starts_with([' ', '#', '/']);
        if name.starts_with("lode_") && starts_line && !line.starts_with("static") {
            names.insert(name.to_string());
        }
    }
    names
}

#[test]
fn everything_in_the_header_is_described() {
    let header = read("include/lode.h");
    let lines: Vec<_> = header.lines().collect();
    let mut looked_at = 0;
    for (at, line) in lines.iter().enumerate() {
        let field = line.starts_with("    ") && line.ends_with(';') && !line.contains('=');
        let is_declared = line.starts_with("typedef")
            || line.starts_with("#define LODE_") && !line.ends_with("LODE_H")
            || line.contains('(') && !line.starts_with([' ', '#', '/', '}'])
            || line.starts_with("static");
        let constant = line.starts_with("    LODE_") && line.contains(" = ");
        let in_function = lines[..at].iter().rev().find(|line| !line.starts_with("    "));
        let is_field = field && in_function.is_some_and(|line| line.starts_with("typedef"));
        // Its description stands before the numbers.
        if line.starts_with("typedef") && line.ends_with(" lode_status;") {
            continue;
        }
        if is_declared || constant || is_field {
            let before = lines[at - 1].trim();
            assert!(before.ends_with("*/"), "line {}: {line}", at + 1);
            looked_at += 1;
        }
    }
    assert!(looked_at > 150, "{looked_at}");
}

#[test]
fn the_library_exports_what_the_header_declares() {
    let declared: Vec<_> = declared().into_iter().collect();
    assert!(declared.len() > 40, "{declared:?}");
    expect_content("tests/lode.symbols", &(declared.join("\n") + "\n"));
    let library = library();
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(&library).output();
    let output = output.expect("nm of the binutils, which a linker comes with");
    assert!(output.status.success(), "{output:?}");
    let listed = String::from_utf8(output.stdout).expect("UTF-8");
    let exported: BTreeSet<_> =
        listed.lines().filter_map(|line| line.split_whitespace().last()).collect();
    assert_eq!(exported.into_iter().collect::<Vec<_>>(), declared, "{}", library.display());
}

#[test]
fn the_name_of_the_library_has_the_version_of_the_interface() {
    let number = |text: &str, before: &str| {
        let at = text.find(before).expect("the number is there") + before.len();
        let digits = text[at..].split(|letter: char| !letter.is_ascii_digit()).next();
        digits.and_then(|digits| digits.parse::<u32>().ok()).expect("a number")
    };
    let manifest = read("Cargo.toml");
    let library = manifest.find("[package.metadata.capi.library]").expect("the table is there");
    let of_library = number(&manifest[library..], "version = \"");
    assert_eq!(of_library, number(&read("include/lode.h"), "#define LODE_ABI_VERSION "));
}

/// Returns the shared library that Cargo built for this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("it is known");
    let library = program.with_file_name("liblode_capi.so");
    assert!(library.exists(), "{} is not there", library.display());
    library
}
