//! Checkpoints under all of their names, with sidecars and without.

use std::slice;

use serde_json::{Value, json};

use crate::support::{Bench, id_schema, lines, metadata, protocol, remove};

const FEATURE: &[&str] = &["v2Checkpoint"];
const NAMED: &str = "00000000000000000001.checkpoint.80a083e8-7026-4e79-81be-64bd76c43a11";
const CLASSIC: &str = "00000000000000000001.checkpoint";

/// Returns a table whose log has entry 1 only, and the first actions of its checkpoint.
fn cleaned(features: &[&str]) -> (Bench, Value, Value, Vec<Value>) {
    let (bench, a, b) = Bench::with_two_files();
    bench.entry(1, &[json!({ "commitInfo": { "operation": "WRITE" } })]);
    (bench, a, b, vec![protocol(features), metadata(&id_schema())])
}

fn said(version: u64) -> Value {
    json!({ "checkpointMetadata": { "version": version } })
}

fn sidecar(path: &str, size: u64) -> Value {
    json!({ "sidecar": { "path": path, "sizeInBytes": size, "modificationTime": 0 } })
}

/// Writes a checkpoint as Parquet or as lines.
fn write(bench: &Bench, name: &str, actions: &[Value]) {
    if name.ends_with(".json") {
        bench.write(&format!("_delta_log/{name}"), lines(actions))
    } else {
        bench.checkpoint(name, actions);
    }
}

#[test]
fn sidecars_are_read_whatever_the_checkpoint_is_called() {
    for name in [format!("{CLASSIC}.parquet"), format!("{NAMED}.parquet"), format!("{NAMED}.json")]
    {
        let (bench, a, b, mut actions) = cleaned(FEATURE);
        let gone = json!({ "remove": { "path": "b.parquet", "dataChange": true } });
        let one = bench.checkpoint("_sidecars/one.parquet", &[a, gone]);
        let two = bench.checkpoint("_sidecars/tw o.parquet", &[b]);
        actions.extend([said(1), sidecar("one.parquet", one), sidecar("tw%20o.parquet", two)]);
        write(&bench, &name, &actions);
        assert_eq!(bench.ids(), [1, 2, 3, 4, 5], "{name}");
        let whole = "file:/moved/_delta_log/_sidecars/one.parquet";
        actions.pop();
        actions[3] = sidecar(whole, one);
        write(&bench, &name, &actions);
        assert_eq!(bench.ids(), [1, 2, 3], "{name}");
    }
}

#[test]
fn checkpoints_without_sidecars_are_read() {
    for name in [format!("{CLASSIC}.parquet"), format!("{NAMED}.parquet"), format!("{NAMED}.json")]
    {
        let (bench, a, b, mut actions) = cleaned(FEATURE);
        actions.extend([said(1), a, remove(&b)]);
        write(&bench, &name, &actions);
        assert_eq!(bench.ids(), [1, 2, 3], "{name}");
    }
}

#[test]
fn all_parts_of_a_checkpoint_are_read_if_all_are_there() {
    let (bench, a, b) = Bench::with_two_files();
    bench.begin(&[], slice::from_ref(&a));
    bench.entry(1, slice::from_ref(&b));
    let part = |part: u32, parts: u32| format!("{CLASSIC}.{part:010}.{parts:010}.parquet");
    bench.checkpoint(&part(1, 2), &[protocol(&[]), a]);
    // The other part is missing: the entries are read.
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
    bench.checkpoint(&part(2, 2), &[metadata(&id_schema()), b]);
    bench.forget(0);
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
    bench.checkpoint(&part(2, 2), &[metadata(&id_schema()), said(1)]);
    let why = "a part of a checkpoint has checkpointMetadata";
    assert_eq!(bench.why(), format!("is damaged: _delta_log/{}: {why}", part(1, 2)));
}

#[test]
fn what_a_checkpoint_lacks_is_named() {
    let (bench, a, _, first) = cleaned(FEATURE);
    let size = bench.checkpoint("_sidecars/one.parquet", slice::from_ref(&a));
    let with = |more: &[Value]| [&first[..], more].concat();
    let sidecars = "_delta_log/_sidecars";
    for (actions, name, why) in [
        (
            with(&[sidecar("one.parquet", size)]),
            format!("{CLASSIC}.parquet"),
            format!("_delta_log/{CLASSIC}.parquet: it has sidecars and no checkpointMetadata"),
        ),
        (
            with(&[said(1), sidecar("none.parquet", size)]),
            format!("{CLASSIC}.parquet"),
            format!("{sidecars}/none.parquet: it is not there"),
        ),
        (
            with(&[said(1), sidecar("one.parquet", 7)]),
            format!("{CLASSIC}.parquet"),
            format!("{sidecars}/one.parquet: it has {size} bytes and not 7"),
        ),
        (
            with(&[said(2)]),
            format!("{CLASSIC}.parquet"),
            format!("_delta_log/{CLASSIC}.parquet: it is the checkpoint of version 2"),
        ),
        (
            with(slice::from_ref(&a)),
            format!("{NAMED}.json"),
            format!("_delta_log/{NAMED}.json: it has no checkpointMetadata"),
        ),
    ] {
        let _ = std::fs::remove_file(bench.path(&format!("_delta_log/{CLASSIC}.parquet")));
        write(&bench, &name, &actions);
        assert_eq!(bench.why(), format!("is damaged: {why}"));
    }
}
