//! Checks the features that a table asks of its readers and writers.

use std::slice;

use arrow_schema::DataType;
use lode::{Database, KeyKind, Schema, Type};
use lode_arrow::Scan;
use lode_delta::{ExportOptions, export};
use serde_json::{Value, json};

use crate::support::{Bench, field, id_schema, metadata, protocol, with};

#[test]
fn features_of_readers_are_read_or_refused_by_their_names() {
    let (bench, a, b) = Bench::with_two_files();
    for feature in [
        "columnMapping",
        "deletionVectors",
        "timestampNtz",
        "typeWidening",
        "typeWidening-preview",
        "v2Checkpoint",
        "vacuumProtocolCheck",
    ] {
        bench.begin(&[feature], &[a.clone(), b.clone()]);
        assert_eq!(bench.ids(), [1, 2, 3, 4, 5], "{feature}");
    }
    for feature in [
        "catalogManaged",
        "catalogOwned-preview",
        "variantType",
        "variantType-preview",
        "variantShredding",
        "geospatial",
        "feature of another year",
    ] {
        bench.begin(&["deletionVectors", feature], slice::from_ref(&a));
        assert_eq!(bench.why(), format!("has the feature {feature}, which Lode does not read"));
    }
    let versions = json!({ "protocol": { "minReaderVersion": 4, "minWriterVersion": 7 } });
    bench.entry(0, &[versions, metadata(&id_schema())]);
    assert_eq!(bench.why(), "has reader version 4, which Lode does not read");
    let versions = json!({ "protocol": { "minReaderVersion": 3, "minWriterVersion": 7 } });
    bench.entry(0, &[versions, metadata(&id_schema())]);
    assert_eq!(bench.why(), "is damaged: its protocol has reader version 3 and no readerFeatures");
    let format = json!({ "format": { "provider": "orc", "options": {} } });
    bench.entry(0, &[protocol(&[]), with(&metadata(&id_schema()), "metaData", format)]);
    assert_eq!(bench.why(), "has files of orc, which Lode does not read");
    for kind in ["variant", "interval day", "geometry(OGC:CRS84)"] {
        bench.entry(0, &[protocol(&[]), metadata(&json!([field("v", kind, &json!({}))]))]);
        let why = format!("has column v of type {kind:?}, which Lode does not read");
        assert_eq!(bench.why(), why);
    }
}

/// Why a table of column `id` cannot be replaced.
fn why_not(bench: &Bench) -> Option<String> {
    let db = Database::in_memory().expect("a database");
    let schema = Schema::build("t").key("id", Type::I64).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let options = ExportOptions::default();
    let done = export(&bench.location(), Scan::of(&table), &options, &mut |_| false);
    let place = format!("{}: the Delta table ", bench.path("").display());
    done.err().map(|error| error.to_string().replacen(&place, "", 1))
}

#[test]
fn what_asks_more_of_a_writer_is_not_replaced() {
    let (bench, a, _) = Bench::with_two_files();
    let with_lode = |more: Value| {
        let mut metadata = json!({ "lode.type": "i64", "lode.key": "true" });
        metadata
            .as_object_mut()
            .expect("an object")
            .extend(more.as_object().expect("an object").clone());
        let mut column = field("id", "long", &metadata);
        column["nullable"] = json!(false);
        json!([column])
    };
    let plain = metadata(&with_lode(json!({})));
    let versions = |reader: u32, writer: u32| {
        let versions = json!({ "minReaderVersion": reader, "minWriterVersion": writer });
        json!({ "protocol": versions })
    };
    let property = |name: &str, value: &str| {
        with(&plain, "metaData", json!({ "configuration": { name: value } }))
    };
    let invariant = json!({ "delta.invariants": "{\"expression\":{\"expression\":\"id > 3\"}}" });
    let writers = "which Lode does not replace";
    for (actions, why) in [
        (vec![versions(1, 3), plain.clone()], "has reader version 1 and writer version 3"),
        (vec![versions(0, 7), plain.clone()], "has reader version 0 and writer version 7"),
        (vec![versions(2, 2), plain.clone()], "has reader version 2 and writer version 2"),
        (vec![versions(2, 7), plain.clone()], "has reader version 2 and writer version 7"),
        (vec![protocol(&["rowTracking"]), plain.clone()], "has the feature rowTracking"),
        (
            vec![protocol(&["deletionVectors", "columnMapping"]), plain.clone()],
            "has the feature columnMapping",
        ),
        (
            vec![versions(1, 2), property("delta.appendOnly", "TRUE")],
            "has the property delta.appendOnly",
        ),
        (vec![versions(1, 2), metadata(&with_lode(invariant))], "has a column with an invariant"),
        (
            vec![versions(1, 2), with(&plain, "metaData", json!({ "partitionColumns": ["id"] }))],
            "has partitions",
        ),
    ] {
        bench.entry(0, &[&actions[..], slice::from_ref(&a)].concat());
        assert_eq!(why_not(&bench), Some(format!("{why}, {writers}")));
    }
    assert_eq!(std::fs::read_dir(bench.path("")).expect("a folder").count(), 3);
    bench.entry(0, &[versions(1, 2), plain, a]);
    assert_eq!(why_not(&bench), None);
    let table = bench.open().expect("a table");
    assert_eq!((table.version(), table.rows()), (1, Some(0)));
    assert_eq!(table.schema().field(0).data_type(), &DataType::Int64);
}
