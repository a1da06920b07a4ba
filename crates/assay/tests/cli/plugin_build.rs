//! `assay plugin build`: what it makes, and what it says when it cannot. A double of NuDB's headers
//! stands in for them; `peers` has the tests with the real ones.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{Bench, was_refused};

const DOUBLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/plugins/nudb_double");

/// A bench with a folder of headers that look like Boost's as far as the double needs any.
fn bench() -> Bench {
    let bench = Bench::new();
    let boost = bench.path().join("headers/boost");
    fs::create_dir_all(&boost).expect("a folder");
    fs::write(boost.join("version.hpp"), "").expect("write");
    bench
}

fn build_double(more: &str) -> String {
    format!("plugin build nudb --with {DOUBLE} --boost headers {more}")
}

#[test]
fn a_plugin_is_built_into_the_folder_and_found_there() {
    let bench = bench();
    let told = bench.succeeds(&build_double("")).stdout;
    assert!(told.contains("plugins/libnudb.so: NuDB 0.0-double"), "{told}");
    assert!(told.contains("\n  assay verify -e nudb\n"), "found without --plugin: {told}");
    let there: Vec<_> = fs::read_dir(bench.plugins()).expect("made").flatten().collect();
    assert_eq!(there.len(), 1, "the library and nothing else: {there:?}");
    bench.succeeds("verify -s d -e nudb --dir stores");
    let run = "run nudb --dbs nudb --inserts 500 --fetches 500 --dir stores -o run.json";
    bench.succeeds(&format!("{run} --block_size 8192 --load_factor 0.25"));
    let settings = bench.run_file("run.json")["cells"][1]["measurement"]["settings"].clone();
    assert_eq!(
        (&settings[0], &settings[1]),
        (&"block_size 8192".into(), &"load_factor 0.250000".into())
    );
    // Built again, it replaces what is there.
    bench.succeeds(&build_double(""));
    assert!(!bench.succeeds("list").stdout.contains("not built: assay plugin build nudb"));
}

#[test]
fn another_folder_can_be_named() {
    let bench = bench();
    let told = bench.succeeds(&build_double("-o elsewhere")).stdout;
    assert!(told.contains("-e nudb --plugin elsewhere/libnudb.so"), "{told}");
    assert!(!bench.plugins().exists(), "the other folder is not touched");
    bench.succeeds("list -e nudb --plugin elsewhere/libnudb.so");
}

#[test]
fn what_is_missing_is_named_in_one_line() {
    let bench = bench();
    let empty = bench.path().join("empty");
    fs::create_dir(&empty).expect("a folder");
    fs::write(bench.path().join("file"), "").expect("write");
    let part = bench.path().join("part/include/nudb");
    fs::create_dir_all(&part).expect("a folder");
    fs::write(part.join("nudb.hpp"), "").expect("write");
    let words = ["\"mydb\"", "nudb and skvdb", "plugin new"];
    bench.refuses("plugin build mydb --with empty", 2, &words);
    bench.refuses("plugin build nudb", 2, &["--with"]);
    let build = "plugin build nudb --with";
    bench.refuses(&format!("{build} nowhere"), 3, &["nowhere: No such file", "--with"]);
    bench.refuses(&format!("{build} file"), 3, &["file: is not a directory", "--with"]);
    let words = ["empty: there is no nudb/nudb.hpp in it", "NuDB's headers"];
    bench.refuses(&format!("{build} empty"), 3, &words);
    bench.refuses(&format!("{build} part"), 3, &["nudb/version.hpp is missing"]);
    let words = ["empty: there is no vfs/Storage.hpp in it", "SKVDB's sources"];
    bench.refuses("plugin build skvdb --with empty", 3, &words);
    let build = format!("{build} {DOUBLE}");
    bench.refuses(&format!("{build} --boost empty"), 3, &["no boost/version.hpp", "--boost"]);
    bench.refuses(&format!("{build} --boost nowhere"), 3, &["nowhere", "--boost"]);
    bench.refuses(&build_double("-o file"), 3, &["file", "not a directory", "--output"]);
    bench.refuses(&build_double("-o /proc"), 3, &["/proc", "--output"]);
    bench.refuses(&build_double("-o nowhere/deeper"), 3, &["nowhere", "--output"]);
    let missing = bench.assay_with(("CXX", "no-such-compiler"), &build_double(""));
    let words = ["no-such-compiler cannot be started", "install a C++ compiler", "CXX"];
    was_refused("a compiler that is missing", &missing, 3, &words);
    let blind = bench.assay_with(("CXX", "c++ -nostdinc"), &build);
    let words = ["Boost's headers are not here", "libboost-dev", "--boost"];
    was_refused("no Boost", &blind, 3, &words);
    let nowhere = bench.assay_with(("PATH", "/nonexistent"), &build_double(""));
    was_refused("no make", &nowhere, 3, &["make cannot be started", "install it"]);
    let none = bench.assay_with(("ASSAY_PLUGINS", ""), &build_double(""));
    was_refused("no folder", &none, 3, &["there is no folder of plugins", "--output"]);
    assert!(!bench.plugins().exists(), "nothing was made for what is refused");
}

#[test]
fn a_compiler_that_fails_is_heard() {
    let bench = bench();
    let broken = bench.path().join("broken headers");
    fs::create_dir_all(broken.join("nudb/impl")).expect("a folder");
    fs::write(broken.join("nudb/nudb.hpp"), "#error these are no headers\n").expect("write");
    fs::write(broken.join("nudb/version.hpp"), "").expect("write");
    fs::write(broken.join("nudb/impl/basic_store.ipp"), "").expect("write");
    fs::rename(&broken, bench.path().join("broken")).expect("renamed");
    let said = bench.assay("plugin build nudb --with broken --boost headers");
    let words = ["it does not compile", "error: #error these are no headers", "the whole log: "];
    was_refused("broken headers", &said, 3, &words);
    let (_, log) = said.stderr.trim_end().split_once("the whole log: ").expect("a log");
    let log = PathBuf::from(log);
    let text = fs::read_to_string(&log).expect("the log is there");
    assert!(text.contains("these are no headers"), "{text}");
    fs::remove_file(log).expect("ours");
    assert!(!bench.plugins().join("libnudb.so").exists());
}

/// Names with spaces are names.
#[test]
fn folders_with_spaces_in_their_names_serve() {
    let bench = bench();
    let with = bench.path().join("my headers");
    copy(Path::new(DOUBLE), &with);
    fs::rename(bench.path().join("headers"), bench.path().join("a boost")).expect("renamed");
    let words = ["plugin", "build", "nudb", "--with", "my headers", "--boost", "a boost"];
    let words: Vec<_> = words.iter().chain(&["-o", "my plugins"]).map(Into::into).collect();
    let ended = bench.assay_words(&words, bench.path());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(bench.path().join("my plugins/libnudb.so").exists());
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("list").flatten() {
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to.join(entry.file_name())),
            false => drop(fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy")),
        }
    }
}
