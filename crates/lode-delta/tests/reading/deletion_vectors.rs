//! Checks deletion vectors, and files that differ only by them.

use serde_json::{Value, json};

use crate::support::{Bench, inline_vector, remove, vector_bytes, with, without};

const FEATURE: &[&str] = &["deletionVectors"];

/// A file of deletion vectors; returns it, and where each of them is.
fn vector_file(vectors: &[&[u64]]) -> (Vec<u8>, Vec<usize>) {
    let mut content = vec![1];
    let mut places = Vec::new();
    for rows in vectors {
        let bytes = vector_bytes(rows);
        places.push(content.len());
        content.extend((bytes.len() as u32).to_be_bytes());
        content.extend(&bytes);
        content.extend(crc32fast::hash(&bytes).to_be_bytes());
    }
    (content, places)
}

/// A vector in a file.
fn stored(storage_type: &str, path: &str, offset: usize, rows: &[u64]) -> Value {
    json!({
        "storageType": storage_type, "pathOrInlineDv": path, "offset": offset,
        "sizeInBytes": vector_bytes(rows).len(), "cardinality": rows.len(),
    })
}

/// The name of a file in base 85, and of its bytes.
fn relative() -> (String, &'static str) {
    let id = 0xd2c6_39aa_8816_431a_aaf6_d3fe_2512_ff61u128.to_be_bytes();
    (z85::encode(id), "deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin")
}

#[test]
fn a_tombstone_in_a_checkpoint_removes_no_file_that_has_a_deletion_vector() {
    let (bench, a, b) = Bench::with_two_files();
    bench.begin(FEATURE, &[]);
    let actions = [
        crate::support::protocol(FEATURE),
        crate::support::metadata(&crate::support::id_schema()),
        without(&a, &[1]),
        remove(&a),
        b,
    ];
    bench.checkpoint("00000000000000000000.checkpoint.parquet", &actions);
    assert_eq!(bench.ids(), [1, 3, 4, 5]);
}

#[test]
fn a_newer_vector_takes_the_place_of_the_one_before() {
    let (bench, a, b) = Bench::with_two_files();
    bench.begin(FEATURE, &[a.clone(), b]);
    bench.entry(1, &[remove(&a), without(&a, &[0])]);
    assert_eq!(bench.ids(), [2, 3, 4, 5]);
    bench.entry(2, &[without(&a, &[0, 2]), remove(&without(&a, &[0]))]);
    assert_eq!(bench.ids(), [2, 4, 5]);
    bench.entry(3, &[without(&a, &[0, 1, 2]), remove(&without(&a, &[0, 2]))]);
    assert_eq!(bench.ids(), [4, 5]);
    bench.entry(4, &[without(&a, &[1])]);
    assert_eq!(bench.why(), "is damaged: file a.parquet is there with two deletion vectors");
}

#[test]
fn vectors_are_read_from_wherever_they_are() {
    let (bench, a, b) = Bench::with_two_files();
    let (content, places) = vector_file(&[&[0], &[1, 2], &[1]]);
    let (id, name) = relative();
    bench.write(name, &content);
    bench.write(&format!("ab/{name}"), &content);
    bench.write("../else where.bin", &content);
    let outside = bench.path("").parent().expect("a folder").join("else where.bin");
    let plain = outside.to_str().expect("a plain name").replace(' ', "%20");
    for (vectors, wanted) in [
        ([stored("u", &id, places[1], &[1, 2]), stored("u", &id, places[2], &[1])], &[1, 4][..]),
        (
            [
                stored("u", &format!("ab{id}"), places[0], &[0]),
                stored("p", &plain, places[2], &[1]),
            ],
            &[2, 3, 4],
        ),
        (
            [stored("p", &format!("file://{plain}"), places[0], &[0]), inline_vector(&[0, 1])],
            &[2, 3],
        ),
        (
            [inline_vector(&[]), stored("p", &format!("file:{plain}"), places[0], &[0])],
            &[1, 2, 3, 5],
        ),
    ] {
        let [of_a, of_b] = vectors.map(|vector| json!({ "deletionVector": vector }));
        bench.begin(FEATURE, &[with(&a, "add", of_a), with(&b, "add", of_b)]);
        assert_eq!(bench.ids(), wanted);
    }
}

#[test]
fn a_vector_of_many_rows_and_batches_is_read() {
    let bench = Bench::new();
    let all: Vec<i64> = (0..200_000).collect();
    let add = bench.ids_file("many", &all);
    let deleted: Vec<u64> = (0..200_000).filter(|row| row % 3 == 0 || *row < 70_000).collect();
    bench.begin(FEATURE, &[without(&add, &deleted)]);
    let wanted: Vec<i64> = all.into_iter().filter(|row| row % 3 != 0 && *row >= 70_000).collect();
    assert_eq!(bench.ids(), wanted);
}

#[test]
fn a_vector_that_is_damaged_is_refused() {
    let (bench, a, _) = Bench::with_two_files();
    let (id, name) = relative();
    let (content, places) = vector_file(&[&[1, 2]]);
    let vector = stored("u", &id, places[0], &[1, 2]);
    let of = |vector: Value| with(&a, "add", json!({ "deletionVector": vector }));
    bench.begin(FEATURE, &[of(vector.clone())]);
    let prefix = "is damaged: file a.parquet: its deletion vector: ";
    assert_eq!(bench.why(), format!("{prefix}{name}: it is not there, or it is cut off"));
    for (at, why) in [
        (0, "it has format 254, which is not known"),
        (4, "its size at 1 is 219 and not 36"),
        (20, "its checksum at 1 is wrong"),
    ] {
        let mut damaged = content.clone();
        damaged[at] ^= 255;
        bench.write(name, &damaged);
        assert_eq!(bench.why(), format!("{prefix}{name}: {why}"));
    }
    bench.write(name, &content[..content.len() - 1]);
    assert_eq!(bench.why(), format!("{prefix}{name}: it is not there, or it is cut off"));
    bench.write(name, &content);
    assert_eq!(bench.ids(), [1]);
    bench.begin(FEATURE, &[of(stored("x", "", 0, &[]))]);
    assert_eq!(bench.why(), format!("{prefix}there is no storage type \"x\""));
    bench.begin(
        FEATURE,
        &[of(with(&json!({ "v": vector }), "v", json!({ "cardinality": 1 }))["v"].clone())],
    );
    assert_eq!(bench.why(), format!("{prefix}it deletes 2 rows and not 1"));
    bench.begin(FEATURE, &[without(&a, &[1, 3])]);
    let why = "is damaged: file a.parquet: its deletion vector has row 3, and it has 3 rows";
    assert_eq!(bench.why(), why);
    bench.begin(FEATURE, &[of(stored("p", "s3://bucket/v.bin", 1, &[1]))]);
    assert_eq!(
        bench.why(),
        "has the file s3://bucket/v.bin outside of it, which Lode does not read"
    );
}
