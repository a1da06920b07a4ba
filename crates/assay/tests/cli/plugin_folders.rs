//! Folders of plugins: engines in them are found by their names.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::plugins::{BAD, compile};
use crate::support::Bench;

const EXAMPLE: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plugins/hashtable/hashtable.c");

/// A bench with the example in its folder of plugins.
fn with_example() -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.plugins()).expect("a folder");
    compile(&bench, Path::new(EXAMPLE), "plugins/libhashtable.so", &[]);
    bench
}

fn permit(path: PathBuf, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
}

#[test]
fn an_engine_in_a_folder_is_there_when_it_is_named() {
    let bench = with_example();
    let run = "run nudb -s m --dbs hashtable,btreemap --inserts 500 --fetches 500 -o run.json";
    let shown = bench.succeeds(run).stdout;
    assert!(shown.contains(" hashtable "), "{shown}");
    bench.succeeds("verify -s m -e hashtable");
    let listed = bench.succeeds("list");
    assert!(listed.stdout.contains("the example of a plugin"), "{listed:?}");
    assert_eq!(listed.stderr, "", "nothing is wrong with it");
    bench.succeeds("run nudb -s m --inserts 500 --fetches 500 -o all.json");
    let all = bench.run_file("all.json")["cells"].to_string();
    assert!(all.contains("\"hashtable\""), "all engines are those found, too: {all}");
    // The file that is named goes first, and the first of several folders.
    let named = "list -e hashtable --plugin plugins/libhashtable.so";
    assert_eq!(bench.succeeds(named).stderr, "");
    let folders = format!("/nonexistent::{}", bench.plugins().display());
    let found = bench.assay_with(("ASSAY_PLUGINS", &folders), "list -e hashtable");
    assert_eq!(found.code, Some(0), "{found:?}");
    let none = bench.assay_with(("ASSAY_PLUGINS", ""), "list -e hashtable");
    assert_eq!(none.code, Some(2), "{none:?}");
}

#[test]
fn a_broken_file_hinders_only_those_who_name_it() {
    let bench = with_example();
    let plugins = bench.plugins();
    fs::write(plugins.join("libbroken.so"), "not a library").expect("write");
    fs::write(plugins.join("notes.txt"), "no plugin").expect("write");
    fs::create_dir(plugins.join("libfolder.so")).expect("a folder");
    fs::copy(plugins.join("libhashtable.so"), plugins.join("libother.so")).expect("a copy");
    compile(&bench, Path::new(BAD), "plugins/libbtreemap.so", &["-DTAKEN_ID".into()]);
    compile(&bench, Path::new(BAD), "plugins/libdies.so", &["-DDIES_AT_LOAD".into()]);
    for command in ["list -e hashtable", "run nudb -s m --inserts 500 --fetches 500"] {
        let ended = bench.succeeds(command);
        assert!(!ended.stderr.contains("broken"), "{command}: {ended:?}");
    }
    let listed = bench.succeeds("list");
    let warnings: Vec<_> = listed.stderr.lines().collect();
    assert_eq!(warnings.len(), 5, "one line each: {listed:?}");
    for (warning, words) in warnings.iter().zip([
        "libbroken.so: not a shared library",
        "libbtreemap.so: there is an engine btreemap already",
        "libdies.so: its worker was killed by SIGABRT",
        "libfolder.so: is a directory",
        "libother.so: its engine is hashtable; in a folder of plugins its name is libhashtable.so",
    ]) {
        assert!(warning.starts_with("warning: ") && warning.contains(words), "{words}: {warning}");
    }
    bench.refuses("run crossbench -e broken", 3, &["libbroken.so", "not a shared library"]);
    bench.refuses("verify -e folder", 3, &["libfolder.so", "is a directory"]);
    bench.refuses("crash -e dies", 3, &["libdies.so", "SIGABRT"]);
}

#[test]
fn what_others_may_write_is_not_loaded() {
    let bench = with_example();
    let library = bench.plugins().join("libhashtable.so");
    for (path, mode) in [(bench.plugins(), 0o777), (library, 0o646)] {
        let before = fs::metadata(&path).expect("it is there").permissions().mode() & 0o777;
        permit(path.clone(), mode);
        let words = ["others may write to it", "chmod go-w", &path.display().to_string()];
        bench.refuses("verify -s m -e hashtable", 3, &words);
        let listed = bench.succeeds("list");
        assert!(listed.stderr.contains("warning: ") && listed.stderr.contains("chmod go-w"));
        assert!(!listed.stdout.contains("the example of a plugin"), "{listed:?}");
        bench.succeeds("run nudb -s m -e btreemap --inserts 500 --fetches 500");
        permit(path, before);
    }
    bench.succeeds("list -e hashtable");
}

#[test]
fn engines_that_can_be_built_are_named_with_how() {
    let bench = Bench::new();
    let listed = bench.succeeds("list").told();
    for words in [
        "nudb not built: assay plugin build nudb --with <folder of NuDB's headers>",
        "skvdb not built: assay plugin build skvdb --with <folder of SKVDB's sources>",
    ] {
        assert!(listed.contains(words), "{words}: {listed}");
    }
    let command = "assay plugin build nudb --with <folder of NuDB's headers>";
    bench.refuses("run nudb --dbs nudb", 2, &["nudb is not built here", command]);
    bench.refuses("verify -e skvdb", 2, &["skvdb is not built here", "assay plugin build skvdb"]);
}
