//! Checks entries of the log that contradict each other, and files next to them.

use std::slice;

use serde_json::{Value, json};

use crate::support::{Bench, id_schema, metadata, protocol, remove, with, without};

#[test]
fn an_entry_that_contradicts_itself_is_refused() {
    let (bench, a, b) = Bench::with_two_files();
    let sidecar = json!({ "sidecar": { "path": "x", "sizeInBytes": 1, "modificationTime": 0 } });
    for (actions, why) in [
        (vec![a.clone(), remove(&a)], "file a.parquet is both added and removed"),
        (vec![a.clone(), without(&a, &[1])], "file a.parquet is added twice"),
        (vec![protocol(&[]), protocol(&["deletionVectors"])], "it has 2 actions protocol"),
        (vec![metadata(&id_schema()), metadata(&id_schema())], "it has 2 actions metaData"),
        (vec![sidecar], "it has actions that only checkpoints have"),
    ] {
        bench.begin(&["deletionVectors"], slice::from_ref(&b));
        bench.entry(1, &actions);
        let entry = "_delta_log/00000000000000000001.json";
        assert_eq!(bench.why(), format!("is damaged: {entry}: {why}"));
    }
    // These do not: the file with the vector is another one.
    bench.entry(1, &[without(&b, &[1]), remove(&b), a]);
    assert_eq!(bench.ids(), [1, 2, 3, 4]);
}

#[test]
fn what_is_unknown_is_left_out() {
    let (bench, a, b) = Bench::with_two_files();
    let tags = json!({ "tags": { "x": "y" }, "baseRowId": 7, "defaultRowCommitVersion": 1 });
    let more = [
        with(&a, "add", tags),
        b,
        json!({ "txn": { "appId": "x", "version": 1 } }),
        json!({ "domainMetadata": { "domain": "x", "configuration": "", "removed": false } }),
        json!({ "cdc": { "path": "_change_data/x", "partitionValues": {}, "size": 1,
            "dataChange": false } }),
        json!({ "action of another year": 1 }),
    ];
    bench.begin(&[], &more);
    bench.write("_delta_log/00000000000000000000.00000000000000000007.compacted.json", "nothing");
    bench.write("_delta_log/_staged_commits/00000000000000000007.x.json", "nothing");
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_table_without_columns_may_get_them_later() {
    let (bench, a, b) = Bench::with_two_files();
    let mut empty = metadata(&id_schema());
    empty["metaData"].as_object_mut().expect("an object").remove("schemaString");
    bench.entry(0, &[protocol(&[]), empty]);
    assert_eq!(bench.why(), "is damaged: its log has no schema");
    bench.entry(1, &[metadata(&id_schema()), a, b]);
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_checksum_of_the_version_is_looked_at() {
    let (bench, a, b) = Bench::with_two_files();
    let bytes = ["a", "b"].map(|name| bench.path(&format!("{name}.parquet")).metadata());
    let bytes: u64 = bytes.map(|found| found.expect("it is there").len()).iter().sum();
    bench.begin(&["deletionVectors"], &[without(&a, &[1, 2]), b]);
    let name = "_delta_log/00000000000000000000.crc";
    let checksum = json!({
        "numFiles": 2, "tableSizeBytes": bytes, "numMetadata": 1, "numProtocol": 1,
        "numDeletionVectorsOpt": 1, "numDeletedRecordsOpt": 2,
    });
    let written = |members: Value| {
        let checksum = with(&json!({ "crc": checksum }), "crc", members);
        bench.write(name, checksum["crc"].to_string());
    };
    written(json!({}));
    assert_eq!(bench.ids(), [1, 4, 5]);
    for (members, why) in [
        (json!({ "numFiles": 3 }), "3 files; its log has 2".to_string()),
        (json!({ "tableSizeBytes": 7 }), format!("7 bytes; its log has {bytes}")),
        (json!({ "numDeletionVectorsOpt": 0 }), "0 deletion vectors; its log has 1".into()),
        (json!({ "numDeletedRecordsOpt": 3 }), "3 deleted records; its log has 2".into()),
    ] {
        written(members);
        assert_eq!(bench.why(), format!("is damaged: {name} says that there are {why}"));
    }
    bench.write(name, "{\"numFiles\":");
    assert_eq!(bench.ids(), [1, 4, 5]);
}

#[test]
fn a_log_whose_end_is_gone_is_refused() {
    let (bench, a, b) = Bench::with_two_files();
    bench.begin(&[], &[a]);
    bench.entry(1, &[b]);
    bench.write("_delta_log/_last_checkpoint", "{\"version\":1,\"size\":4}");
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
    bench.write("_delta_log/_last_checkpoint", "{\"version\":2,\"size\":4}");
    let why = "is damaged: its log ends with version 1; _last_checkpoint names version 2";
    assert_eq!(bench.why(), why);
    bench.write("_delta_log/_last_checkpoint", "{");
    assert_eq!(bench.ids(), [1, 2, 3, 4, 5]);
}

#[test]
fn a_file_that_is_not_the_one_that_was_added_is_refused() {
    let (bench, a, _) = Bench::with_two_files();
    let found = bench.path("a.parquet").metadata().expect("it is there").len();
    bench.begin(&[], &[with(&a, "add", json!({ "size": 7 }))]);
    assert_eq!(bench.why(), format!("is damaged: file a.parquet: it has {found} bytes and not 7"));
    bench.begin(&[], &[with(&a, "add", json!({ "stats": "{\"numRecords\":4}" }))]);
    assert_eq!(bench.why(), "is damaged: file a.parquet: it has 3 rows and not 4");
    bench.begin(&[], &[with(&a, "add", json!({ "stats": null }))]);
    assert_eq!(bench.ids(), [1, 2, 3]);
}
