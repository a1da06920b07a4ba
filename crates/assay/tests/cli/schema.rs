//! The options of every suite: command line, plan files and run files know each by one name, with
//! one default and one range.

use assay_core::plan::Cell;
use assay_suites::options::plain;
use assay_suites::tonbo::{micro, read, write};
use assay_suites::{crossbench, nudb, skvdb, ycsb};
use clap::{Arg, Args, Command};
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::support::Bench;

#[test]
fn every_option_of_a_suite_has_one_name_one_default_and_one_range() {
    let bench = Bench::new();
    check::<crossbench::Options>(&bench, crossbench::ID);
    check::<nudb::Options>(&bench, nudb::ID);
    check::<skvdb::Options>(&bench, skvdb::ID);
    check::<write::Options>(&bench, write::ID);
    check::<read::Options>(&bench, read::ID);
    check::<micro::Options>(&bench, micro::ID);
    check::<ycsb::Options>(&bench, ycsb::ID);
}

fn definition<O: Args>() -> Command {
    O::augment_args(Command::new("options").no_binary_name(true))
}

/// Reads options as a run file has them: the suite reads a cell's.
fn of_run_file(suite: &str, options: Value) -> Result<(), String> {
    let cell = json!({
        "suite": suite, "revision": 1, "engine": "lmdb", "storage": "disk", "durability": "none",
        "durability_wanted": "none", "key_kind": "tree", "key_kind_named": false, "rows": 1,
        "threads": 1, "trial": 1, "seed": 1, "variant": "", "options": options,
        "engine_options": {}, "engine_parameters": {}, "cpus": [], "cache_named": false,
        "page_cache": "warm", "dir": null, "calibration": false,
    });
    let cell: Cell = serde_json::from_value(cell).expect("a cell");
    assay_suites::task(&cell).map(drop).map_err(|error| error.to_string())
}

fn check<O: Args + Serialize + Default>(bench: &Bench, suite: &str) {
    let defaults = plain(&O::default());
    let arguments: Vec<Arg> = definition::<O>().get_arguments().cloned().collect();
    assert!(arguments.len() > 2, "{suite}");
    for argument in &arguments {
        let id = argument.get_id().as_str();
        let long = argument.get_long().expect("an option has a long name");
        assert_eq!(long.replace('-', "_"), id, "{suite}: one name");
        if id == "script_counts" {
            assert!(defaults.get(id).is_none(), "a cell has the counts that it stands for");
            continue;
        }
        // What property files say becomes other options.
        if id != "property_file" {
            is_kept::<O>(suite, argument, &defaults);
        }
        if argument.get_action().takes_values() && !["tbl", "property_file", "name"].contains(&id) {
            is_refused_alike(bench, suite, argument);
        }
    }
    let unknown = of_run_file(suite, json!({"nosuch": 1})).expect_err("no such option");
    assert!(unknown.contains("unexpected argument '--nosuch'"), "{unknown}");
}

/// A value that is given is in the run file under the option's name, from which the suite reads it
/// again; one that is not given is its default there, or is absent.
fn is_kept<O: Args + Serialize>(suite: &str, argument: &Arg, defaults: &Value) {
    let id = argument.get_id().as_str();
    let default = argument.get_default_values().iter().map(|value| value.to_string_lossy());
    let default = default.collect::<Vec<_>>().join(",");
    let takes_values = argument.get_action().takes_values();
    let known = defaults.get(id).is_some();
    assert_eq!(known, !(takes_values && default.is_empty()), "{suite} {id}: {defaults}");
    let possible = argument.get_possible_values();
    let given = match (takes_values, possible.first()) {
        (false, _) => None,
        (true, Some(word)) => Some(word.get_name().to_string()),
        (true, None) if id == "tbl" => Some("/dev/null".into()),
        (true, None) => Some(if id == "samples" { "12" } else { "1" }.into()),
    };
    let given = match id {
        "field_length" => Some("64".into()),
        "property" => Some("maxscanlength=7".into()),
        _ => given,
    };
    let mut words = vec![match &given {
        Some(value) => format!("--{}={value}", id.replace('_', "-")),
        None => format!("--{}", id.replace('_', "-")),
    }];
    words.extend((id == "rate" && suite == crossbench::ID).then(|| "--latency".into()));
    let matches = definition::<O>().try_get_matches_from(&words);
    let matches = matches.unwrap_or_else(|error| panic!("{suite} {words:?}: {error}"));
    let options = plain(&O::from_arg_matches(&matches).expect("options"));
    let kept = &options[id];
    let kept = kept.as_array().map_or(kept, |values| &values[0]);
    match (given, kept) {
        (Some(given), Value::String(text)) => assert_eq!(*text, given, "{suite} {id}"),
        (Some(given), Value::Number(number)) => {
            assert_eq!(number.as_f64(), given.parse().ok(), "{suite} {id}");
        }
        (None, kept) => assert_eq!(*kept, true, "{suite} {id}"),
        (given, kept) => panic!("{suite} {id}: {given:?} became {kept}"),
    }
    of_run_file(suite, options).unwrap_or_else(|why| panic!("{suite} {id}: {why}"));
}

/// A value out of range is refused with one text on the command line, in a plan and in a run file.
fn is_refused_alike(bench: &Bench, suite: &str, argument: &Arg) {
    let id = argument.get_id().as_str();
    let flag = format!("--{}", id.replace('_', "-"));
    let on_line = bench.assay(&format!("run {suite} {flag}=-1"));
    assert_eq!(on_line.code, Some(2), "{on_line:?}");
    let why = on_line.stderr.trim_start_matches("assay: ").trim_end();
    assert!(why.starts_with(&format!("invalid value '-1' for '{flag} <")), "{why}");
    let plan = format!("[[run]]\nsuite = \"{suite}\"\n{id} = -1\n");
    std::fs::write(bench.path().join("plan.toml"), plan).expect("write");
    let in_plan = bench.assay("plan -c plan.toml --dry-run");
    assert_eq!(in_plan.code, Some(2), "{in_plan:?}");
    assert!(in_plan.stderr.trim_end().ends_with(why), "{why}: {in_plan:?}");
    let options = Map::from_iter([(id.to_string(), json!(-1))]);
    let in_run_file = of_run_file(suite, Value::Object(options)).expect_err("out of range");
    assert!(in_run_file.ends_with(why), "{why}: {in_run_file}");
}
