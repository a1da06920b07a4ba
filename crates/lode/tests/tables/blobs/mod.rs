//! Blobs: streams in and out, who sees what, what is left, what is refused.

mod kept;
mod model;

use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};

use lode::{Alteration, Database, Error, KeyKind, MOST_BLOB_KEY_BYTES, ReadTable, Schema, Type};

use crate::random::mix;
use crate::reading::check;

/// Bytes of a full chunk.
const CHUNK: usize = 65_500;

/// Bytes that follow from a seed.
fn bytes(seed: u64, size: usize) -> Vec<u8> {
    let words = (0..size as u64 / 8 + 1).flat_map(|at| mix(seed ^ mix(at)).to_le_bytes());
    words.take(size).collect()
}

/// The rows of the tables of a store `files`: blobs, chunks, pending.
fn rows(db: &Database) -> [u64; 3] {
    ["files.blobs", "files.chunks", "files.pending"].map(|name| {
        let table = db.table(name).expect("it is there");
        table.len().expect("it is counted")
    })
}

fn sound(db: &Database) {
    check(db).unwrap_or_else(|why| panic!("{why}"));
}

#[test]
fn blobs_of_all_lengths_come_back_as_they_were() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let mut chunks = 0;
    let lengths = [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 5 * CHUNK + 17];
    for length in lengths {
        let wanted = bytes(length as u64, length);
        let key = length.to_string();
        assert_eq!(files.put(&key, &wanted[..]), Ok(length as u64));
        chunks += length.div_ceil(CHUNK) as u64;
        assert_eq!(files.length_bytes(&key), Ok(Some(length as u64)));
        assert!(files.get(&key).expect("it is read").as_deref() == Some(&wanted), "{length}");
    }
    assert_eq!(rows(&db), [lengths.len() as u64, chunks, 0]);
    assert_eq!((files.len(), files.is_empty()), (Ok(lengths.len() as u64), Ok(false)));
    let keys: Vec<_> = files.iter().map(|blob| blob.expect("it is read").key).collect();
    assert!(keys.is_sorted() && keys.len() == lengths.len(), "{keys:?}");
    sound(&db);
    for length in lengths {
        assert_eq!(files.remove(length.to_string()), Ok(true));
    }
    assert_eq!(files.remove("0"), Ok(false));
    assert_eq!(rows(&db), [0; 3], "nothing is left");
    sound(&db);
}

#[test]
fn a_blob_is_there_at_the_end_of_its_writer_and_not_before() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let wanted = bytes(1, 3 * CHUNK);
    let mut writer = files.write("a").expect("a writer");
    writer.write_all(&wanted).expect("there is room");
    assert_eq!(files.contains("a"), Ok(false));
    sound(&db);
    assert_eq!(rows(&db), [0, 2, 1], "the last chunk is not written yet");
    writer.finish().expect("there is room");
    assert_eq!(rows(&db), [1, 3, 0]);
    assert!(files.get("a").expect("it is read") == Some(wanted.clone()));

    let mut dropped = files.write("a").expect("a writer");
    dropped.write_all(&bytes(2, 2 * CHUNK)).expect("there is room");
    drop(dropped);
    assert_eq!(rows(&db), [1, 3, 0], "its chunks are gone");
    assert!(files.get("a").expect("it is read") == Some(wanted));
}

#[test]
fn the_last_writer_to_finish_counts() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let [first, second] = [1, 2].map(|seed| bytes(seed, 2 * CHUNK + 9));
    let mut writers = [&first, &second].map(|_| files.write("a").expect("a writer"));
    for from in (0..first.len()).step_by(999) {
        for (writer, all) in writers.iter_mut().zip([&first, &second]) {
            let end = all.len().min(from + 999);
            writer.write_all(&all[from..end]).expect("there is room");
        }
    }
    let [early, late] = writers;
    late.finish().expect("there is room");
    assert!(files.get("a").expect("it is read") == Some(second));
    early.finish().expect("there is room");
    assert!(files.get("a").expect("it is read") == Some(first));
    assert_eq!(rows(&db), [1, 3, 0]);
}

#[test]
fn a_reader_reads_on_in_what_was_replaced_and_removed() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let old = bytes(1, 4 * CHUNK + 1);
    files.put("a", &old[..]).expect("there is room");
    let mut reader = files.read("a").expect("it is read").expect("it is there");
    let mut read = vec![0; CHUNK / 2];
    reader.read_exact(&mut read).expect("it is read");

    files.put("a", &b"new"[..]).expect("there is room");
    let again = files.read("a").expect("it is read").expect("it is there");
    assert_eq!(files.remove("a"), Ok(true));
    // Other handles of the store, and their writers, know of the reader.
    let other = db.blobs("files").expect("it is there");
    other.put("b", &b"b"[..]).expect("there is room");
    assert_eq!(rows(&db), [1, 5 + 1 + 1, 2], "what is read is kept");
    sound(&db);

    reader.read_to_end(&mut read).expect("it is read");
    assert!(read == old, "the blob that was found");
    drop(reader);
    assert_eq!(rows(&db), [1, 1 + 1, 1], "another reader has what came after it");
    drop(again);
    assert_eq!(rows(&db), [1, 1, 0], "and is removed then");
}

#[test]
fn ranges_and_offsets_are_as_those_of_a_slice() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let all = bytes(1, 2 * CHUNK + 100);
    files.put("a", &all[..]).expect("there is room");
    let part = |range: std::ops::Range<usize>| {
        let found = files.read_range("a", range.start as u64..range.end as u64);
        found.expect("it is read").expect("it is there")
    };
    let mut reader = files.read("a").expect("it is read").expect("it is there");
    for case in 0..200 {
        let from = mix(case) as usize % (all.len() + 5);
        let end = from + mix(!case) as usize % (CHUNK + 50);
        let wanted = &all[from.min(all.len())..end.min(all.len())];
        assert!(part(from..end) == wanted, "{from}..{end}");
        let place = match case % 3 {
            0 => SeekFrom::Start(from as u64),
            1 => SeekFrom::End(from as i64 - all.len() as i64),
            _ => {
                let at = reader.stream_position().expect("it is known");
                SeekFrom::Current(from as i64 - at as i64)
            }
        };
        assert_eq!(reader.seek(place).expect("it is in there"), from as u64);
        let mut found = Vec::new();
        (&mut reader).take((end - from) as u64).read_to_end(&mut found).expect("it is read");
        assert!(found == wanted, "{from}..{end}");
    }
    let (late, early) = (9, 3);
    assert_eq!(part(late..early), [0; 0]);
    let [last, rest] = [(3..=3), (u64::MAX..=u64::MAX)].map(|range| files.read_range("a", range));
    assert_eq!((last, rest), (Ok(Some(vec![all[3]])), Ok(Some(Vec::new()))));
    let error = reader.seek(SeekFrom::End(-1 - all.len() as i64)).expect_err("it is before");
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
    assert_eq!(files.read_range("b", ..), Ok(None));
}

#[test]
fn keys_are_any_bytes_and_found_by_their_start() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let longest = vec![0; MOST_BLOB_KEY_BYTES];
    let keys: [&[u8]; 7] = [b"", b"a", b"a\0", b"a\xff", b"a\xff\xff", b"b", &longest];
    for key in keys {
        files.put(key, key).expect("there is room");
    }
    for key in keys {
        assert_eq!(files.get(key), Ok(Some(key.to_vec())));
    }
    let found = |start: &[u8]| -> Vec<_> {
        files.prefix(start).map(|blob| blob.expect("it is read").key).collect()
    };
    assert_eq!(found(b"a"), [&b"a"[..], b"a\0", b"a\xff", b"a\xff\xff"]);
    assert_eq!(found(b"a\xff"), [&b"a\xff"[..], b"a\xff\xff"]);
    assert_eq!(found(b"").len(), keys.len());
    assert_eq!(found(b"\xff"), [[0; 0]; 0]);

    let too_long = vec![0; MOST_BLOB_KEY_BYTES + 1];
    let error = files.write(&too_long).expect_err("it is too long");
    assert_eq!(
        error.to_string(),
        "table files.blobs: column key can have at most 1000 bytes, not 1001"
    );
    assert_eq!((files.get(&too_long), files.remove(&too_long)), (Ok(None), Ok(false)));
}

/// A source that has any number of zeros, of which the first ones cost nothing.
struct Zeros(u64);

impl Read for Zeros {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = self.0.min(into.len() as u64);
        self.0 -= count;
        Ok(count as usize)
    }
}

#[test]
fn a_source_that_fails_leaves_what_was_there() {
    struct Fails;
    impl Read for Fails {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::from(ErrorKind::UnexpectedEof))
        }
    }
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    files.put("a", &b"old"[..]).expect("there is room");
    let error = files.put("a", Zeros(200_000).chain(Fails)).expect_err("the source fails");
    assert_eq!(error.to_string(), "read what a blob is made of: unexpected end of file");
    assert_eq!(files.get("a"), Ok(Some(b"old".to_vec())));
    assert_eq!(rows(&db), [1, 1, 0]);

    // The error of another store is that of this one.
    let other = db.create_blobs("other").expect("a store");
    other.put("b", Zeros(200_000)).expect("there is room");
    let reader = other.read("b").expect("it is read").expect("it is there");
    db.drop_blobs("other").expect("it is there");
    let error = files.put("a", reader).expect_err("the source fails");
    assert_eq!(error, Error::NoTable { table: "other.chunks".into() });
}

#[test]
fn stores_are_created_once_listed_and_dropped() {
    let db = Database::in_memory().expect("memory");
    let missing = Error::NoTable { table: "files.blobs".into() };
    assert_eq!(db.blobs("files").err(), Some(missing.clone()));
    assert_eq!(db.drop_blobs("files"), Err(missing.clone()));
    // A crash may have left these of one that was being created or dropped.
    let left = db.create_blobs("files").expect("a store");
    left.put("a", Zeros(3 * CHUNK as u64)).expect("there is room");
    db.drop_table("files.blobs").expect("it is there");
    let files = db.blobs_or_create("files").expect("a store");
    assert_eq!(rows(&db), [0; 3]);
    files.put("a", &b"a"[..]).expect("there is room");
    let there = Error::TableExists { table: "files.blobs".into() };
    assert_eq!(db.create_blobs("files").err(), Some(there));
    let same = db.blobs_or_create("files").expect("it is there");
    assert_eq!((same.get("a"), same.name()), (Ok(Some(b"a".to_vec())), "files"));
    db.create_blobs("another").expect("a store");
    let schema = Schema::build("none.blobs").key("id", Type::U8).finish().expect("a schema");
    db.create_table(&schema, KeyKind::Tree).expect("there is room");
    assert_eq!(db.blob_names(), ["another", "files"]);

    let mut writer = files.write("b").expect("a writer");
    db.drop_blobs("files").expect("it is there");
    assert_eq!(db.drop_blobs("files"), Err(missing));
    assert_eq!(db.blob_names(), ["another"]);
    let gone = Error::NoTable { table: "files.blobs".into() };
    assert_eq!(files.get("a"), Err(gone.clone()));
    writer.write_all(b"b").expect("it is in memory");
    writer.finish().expect_err("there is no store");
    assert_eq!(files.write("c").err(), Some(gone));
    drop(files);
    sound(&db);
}

#[test]
fn tables_that_were_altered_are_no_store() {
    let db = Database::in_memory().expect("memory");
    db.create_blobs("files").expect("a store");
    let wider = Alteration::new().add_nullable("owner", Type::U64);
    db.alter_table("files.blobs", &wider).expect("there is room");
    let error = db.blobs("files").expect_err("it has another column");
    assert_eq!(
        error.to_string(),
        "table files.blobs: column 4 is owner (U64, can be null) in the table and missing in the \
         record"
    );
    assert_eq!(db.blob_names(), [""; 0]);
}

#[test]
fn the_check_finds_chunks_that_are_missing_too_many_or_of_no_blob() {
    let db = Database::in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    for key in ["a", "b", "c\n"] {
        files.put(key, Zeros(3 * CHUNK as u64)).expect("there is room");
    }
    sound(&db);
    let chunks = db.table("files.chunks").expect("it is there");
    let record = |id: u64, number: u32, bytes: &[u8]| {
        let values = [
            lode::Value::Unsigned(id),
            lode::Value::Unsigned(number.into()),
            lode::Value::Bytes(bytes),
        ];
        chunks.schema().pack(&values).expect("it fits")
    };
    assert_eq!(chunks.delete((1_u64, 1_u32)), Ok(true));
    assert_eq!(chunks.upsert(&record(2, 2, b"short")), Ok(true));
    assert_eq!(chunks.insert(&record(3, 3, b"more")), Ok(true));
    assert_eq!(chunks.insert(&record(9, 0, b"lost")), Ok(true));
    let pending = db.table("files.pending").expect("it is there");
    assert_eq!(pending.insert(&3_u64.to_le_bytes()), Ok(true));
    assert_eq!(
        db.check().expect("it is open").to_string(),
        "table files.blobs: blob a: chunk 1 of id 1 is missing\n\
         table files.blobs: blob b: chunk 2 of id 2 has 5 bytes, not 65500\n\
         table files.blobs: blob c\\n: id 3 has chunks after its end\n\
         table files.chunks: chunks of id 9 are of no blob\n\
         table files.pending: id 3 is pending and of a blob"
    );
    files.put("d", &b"d"[..]).expect("there is room");
    assert!(files.get("c\n").expect("it is read").is_some(), "a blob stays whatever is pending");
    let error = files.get("a").expect_err("a chunk is missing");
    let corrupt = "table files.chunks is corrupt: chunk 1 of blob 1 is missing";
    assert!(error.to_string().starts_with(corrupt), "{error}");
    let error = files.get("b").expect_err("a chunk is short");
    assert!(error.to_string().contains("chunk 2 of blob 2 has 5 bytes, not 65500"), "{error}");
    let first = files.read_range("a", ..10).expect("the first chunk is there");
    assert_eq!(first, Some(vec![0; 10]), "the rest can be read");
}

#[test]
fn the_check_finds_a_store_without_one_of_its_tables() {
    for lost in ["chunks", "pending"] {
        let db = Database::in_memory().expect("memory");
        let files = db.create_blobs("files").expect("a store");
        files.put("a", Zeros(CHUNK as u64)).expect("there is room");
        db.drop_table(&format!("files.{lost}")).expect("it is there");
        assert_eq!(
            db.check().expect("it is open").to_string(),
            format!("table files.blobs: table files.{lost} is missing")
        );
    }
    let db = Database::in_memory().expect("memory");
    let mine = Schema::build("my.blobs").key("id", Type::U64).finish().expect("a schema");
    db.create_table(&mine, KeyKind::Hash).expect("there is room");
    sound(&db);
}
