//! Blobs in directories: with little memory, opened again, read by others, while others write.

use std::io::{Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use lode::{
    Change, Changes, Database, Durability, Error, KeyKind, Options, ReadTable, Schema, Type, Value,
};

use super::{CHUNK, bytes, rows, sound};
use crate::watched::watched;

fn options() -> Options {
    Options::new().memory_bytes(1 << 20).durability(Durability::Process)
}

/// A stream of bytes that follow from their offsets.
struct Stream {
    at: u64,
    end: u64,
}

fn byte_at(at: u64) -> u8 {
    (at ^ at >> 8 ^ at >> 16) as u8
}

impl Read for Stream {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let count = (self.end - self.at).min(into.len() as u64);
        for byte in &mut into[..count as usize] {
            *byte = byte_at(self.at);
            self.at += 1;
        }
        Ok(count as usize)
    }
}

#[test]
fn a_blob_of_many_times_the_memory_goes_in_and_out() {
    let folder = tempfile::tempdir().expect("a directory");
    let db = options().log_bytes(1 << 20).open(folder.path()).expect("a database");
    let files = db.create_blobs("files").expect("a store");
    let end = 24 << 20;
    assert_eq!(files.put("large", Stream { at: 0, end }), Ok(end));
    let mut reader = files.read("large").expect("it is read").expect("it is there");
    let mut buffer = vec![0; 100_000];
    let mut at = 0;
    loop {
        let count = reader.read(&mut buffer).expect("it is read");
        if count == 0 {
            break;
        }
        for byte in &buffer[..count] {
            assert!(*byte == byte_at(at), "byte {at}");
            at += 1;
        }
    }
    assert_eq!(at, end);
    let statistics = db.statistics();
    assert!(statistics.page_bytes <= 1 << 20, "{statistics:?}");
    drop(reader);
    assert_eq!(files.remove("large"), Ok(true));
    assert_eq!(rows(&db), [0; 3]);
    sound(&db);
}

#[test]
fn what_a_writer_left_is_removed_by_the_next_process_that_writes() {
    let folder = tempfile::tempdir().expect("a directory");
    let kept = bytes(1, 2 * CHUNK);
    {
        let db = options().open(folder.path()).expect("a database");
        let files = db.create_blobs("files").expect("a store");
        files.put("a", &kept[..]).expect("there is room");
        let mut writer = files.write("a").expect("a writer");
        writer.write_all(&bytes(2, 7 * CHUNK)).expect("there is room");
        // The process ends: what the writer would do then does not happen.
        db.close().expect("it closes");
        drop(writer);
    }
    let db = options().open(folder.path()).expect("a database");
    assert_eq!(rows(&db), [1, 2 + 6, 1], "nobody has opened the store");
    sound(&db);
    let reader = Database::open_read_only(folder.path()).expect("it can be read");
    let read = reader.blobs("files").expect("it is there");
    assert!(read.get("a").expect("it is read").as_ref() == Some(&kept));
    assert_eq!(read.put("a", &b"new"[..]), Err(Error::ReadOnly));
    assert_eq!(read.remove("a"), Err(Error::ReadOnly));
    assert_eq!(rows(&db), [1, 8, 1], "a reader removes nothing");

    let files = db.blobs("files").expect("it is there");
    assert!(files.get("a").expect("it is read").as_ref() == Some(&kept));
    assert_eq!(rows(&db), [1, 8, 1], "what is only read may be a copy");
    drop(files.write("b").expect("a writer"));
    assert_eq!(rows(&db), [1, 2, 0]);
    assert!(files.get("a").expect("it is read").as_ref() == Some(&kept));
    // The reader shows its moment, whatever is written.
    files.put("a", &bytes(3, 9 * CHUNK)[..]).expect("there is room");
    assert!(read.get("a").expect("it is read") == Some(kept));
}

/// Has the changes of a database happen in another one.
fn follow(changes: &mut Changes, copy: &Database) {
    for commit in changes {
        for change in commit.expect("it is whole").changes {
            match change {
                Change::CreateTable { table } => {
                    copy.create_table(table.schema(), table.key_kind()).expect("it is new");
                }
                Change::CreateIndex { table, index } => {
                    let table = copy.table(table.name()).expect("it is there");
                    table.create_index(&index).expect("it is new");
                }
                Change::Row(row) => {
                    let table = copy.table(row.table().name()).expect("it is there");
                    match row.after_bytes() {
                        Some(record) => table.upsert(record).map(drop).expect("there is room"),
                        None => table.delete(row.key()).map(drop).expect("it is deleted"),
                    }
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn a_copy_that_follows_keeps_a_blob_that_is_being_written() {
    let folder = tempfile::tempdir().expect("a directory");
    let db = options().keep_changes(64 << 20).open(folder.path()).expect("a database");
    let mut changes = db.changes(None).expect("they are kept");
    let files = db.create_blobs("files").expect("a store");
    let (old, new) = (bytes(1, 2 * CHUNK), bytes(2, 7 * CHUNK));
    files.put("a", &old[..]).expect("there is room");
    let mut writer = files.write("a").expect("a writer");
    writer.write_all(&new).expect("there is room");

    let copy = options().in_memory().expect("memory");
    follow(&mut changes, &copy);
    assert_eq!(rows(&copy), rows(&db), "it has the chunks of both");
    let copied = copy.blobs("files").expect("it is there");
    assert!(copied.get("a").expect("it is read") == Some(old));
    drop(copied);
    writer.finish().expect("there is room");
    follow(&mut changes, &copy);
    let copied = copy.blobs("files").expect("it is there");
    assert!(copied.get("a").expect("it is read") == Some(new));
    assert_eq!(rows(&copy), rows(&db));
    sound(&copy);
}

#[test]
fn a_new_id_is_higher_than_all_in_the_tables() {
    let folder = tempfile::tempdir().expect("a directory");
    let has_chunk = |db: &Database, id: u64| {
        let chunks = db.table("files.chunks").expect("it is there");
        chunks.contains((id, 0_u32)).expect("it is read")
    };
    for (part, last) in [("files.chunks", 20_u64), ("files.pending", 30), ("files.blobs", 40)] {
        let db = options().open(folder.path()).expect("a database");
        db.blobs_or_create("files").expect("a store");
        let table = db.table(part).expect("it is there");
        // What damage or a repair may leave: something of an id without the rest.
        let values = match part {
            "files.chunks" => vec![Value::Unsigned(last), Value::Unsigned(5), Value::Bytes(b"")],
            "files.pending" => vec![Value::Unsigned(last)],
            _ => vec![Value::Bytes(b"torn"), Value::Unsigned(last), Value::Unsigned(1)],
        };
        let record = table.schema().pack(&values).expect("it fits");
        assert_eq!(table.insert(&record), Ok(true));
        db.close().expect("it closes");
        let db = options().open(folder.path()).expect("a database");
        let files = db.blobs("files").expect("it is there");
        files.put("a", &b"a"[..]).expect("there is room");
        assert!(has_chunk(&db, last + 1), "the id after that in {part}");
        db.close().expect("it closes");
    }
}

#[test]
fn readers_find_whole_blobs_while_writers_replace_and_remove_them() {
    const KEYS: [&str; 3] = ["a", "b", "c"];
    let db = Options::new().memory_bytes(64 << 20).in_memory().expect("memory");
    let files = db.create_blobs("files").expect("a store");
    let is_over = AtomicBool::new(false);
    watched(|| {
        std::thread::scope(|scope| {
            let readers: Vec<_> = (0..2)
                .map(|_| {
                    scope.spawn(|| {
                        let mut found = 0;
                        while !is_over.load(Ordering::Relaxed) || found == 0 {
                            for key in KEYS {
                                let Some(all) = files.get(key).expect("it is read") else {
                                    continue;
                                };
                                let seed = u64::from(all[0]);
                                assert!(all.iter().all(|byte| u64::from(*byte) == seed));
                                assert_eq!(all.len() as u64, CHUNK as u64 / 2 * (1 + seed % 7));
                                found += 1;
                            }
                        }
                        found
                    })
                })
                .collect();
            let writers: Vec<_> = (0..2_u64)
                .map(|writer| {
                    let files = &files;
                    scope.spawn(move || {
                        for round in 0..150 {
                            let seed = (round * 2 + writer) % 250;
                            let key = KEYS[round as usize % 3];
                            if round % 11 == 10 {
                                files.remove(key).expect("it is written");
                            }
                            let all = vec![seed as u8; CHUNK / 2 * (1 + seed as usize % 7)];
                            files.put(key, &all[..]).expect("there is room");
                        }
                    })
                })
                .collect();
            writers.into_iter().for_each(|writer| writer.join().expect("it ends well"));
            is_over.store(true, Ordering::Relaxed);
            readers.into_iter().for_each(|reader| {
                assert!(reader.join().expect("it ends well") > 0, "a reader has found nothing");
            });
        });
    });
    files.remove("a").expect("it is written");
    assert_eq!(rows(&db)[2], 0, "nothing is left to remove");
    sound(&db);
}

#[test]
fn tables_of_others_are_never_cleared_or_dropped() {
    let db = Database::in_memory().expect("memory");
    let schema = |name: &str, kind| Schema::build(name).key("id", kind).finish();
    let create = |name: &str, kind, key_kind| {
        db.create_table(&schema(name, kind).expect("a schema"), key_kind).expect("room")
    };
    let own = create("orders.pending", Type::U64, KeyKind::Tree);
    own.insert(&7u64.to_le_bytes()).expect("room");
    let hashed = create("visits.pending", Type::U64, KeyKind::Hash);
    let other = create("calls.chunks", Type::U32, KeyKind::Tree);
    for (store, table) in
        [("orders", "orders.pending"), ("visits", "visits.pending"), ("calls", "calls.chunks")]
    {
        let names = db.table_names();
        let refused = db.create_blobs(store).expect_err("refused");
        assert_eq!(refused, Error::TableExists { table: table.into() });
        assert_eq!(db.table_names(), names);
    }
    assert!(matches!(db.drop_blobs("visits"), Err(Error::NoOrder { .. })));
    assert!(matches!(db.drop_blobs("calls"), Err(Error::OtherColumns { .. })));
    assert_eq!((own.len(), hashed.len(), other.len()), (Ok(1), Ok(0), Ok(0)));
    // What a crash has left of a store is empty, and taken over.
    own.delete(7u64).expect("room");
    db.create_blobs("orders").expect("room");
}
