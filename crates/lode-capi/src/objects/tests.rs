//! Handles of one kind are none of another.

use std::collections::BTreeSet;

use lode::{Database, KeyKind, Options, Schema, Type};
use lode_volumes::{Storage, Volume};

use super::*;
use crate::handles::kind_of;

#[test]
fn each_kind_of_handle_has_a_number_of_its_own() {
    let directory = tempfile::tempdir().expect("a folder");
    let kept = Options::new().keep_changes(1 << 20).open(directory.path()).expect("a database");
    let db = Database::in_memory().expect("memory");
    let schema = Schema::build("t").key("id", Type::U8).finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let cursor = OpenCursor { cursor: lode::ReadTable::iter(&table), columns: Box::default() };
    let blobs = db.create_blobs("files").expect("a store");
    blobs.put("a", &b"x"[..]).expect("there is room");
    let writer = blobs.write("a").expect("a writer");
    let reader = blobs.read("a").expect("it is read").expect("it is there");
    let list = OpenBlobList { blobs: blobs.iter(), last: Vec::new() };
    let changes = kept.changes(None).expect("they are kept");
    let volume = Volume::in_memory().expect("memory");
    let entry = volume.root();
    let names = Box::new(entry.links().expect("names"));
    let properties = Box::new(entry.properties().expect("properties"));
    let ids = [
        lode_transaction::new(OpenTransaction::new(db.begin())).map(|handle| handle.id),
        lode_snapshot::new(db.snapshot()).map(|handle| handle.id),
        lode_database::new(db).map(|handle| handle.id),
        lode_table::new(OpenTable::new(table)).map(|handle| handle.id),
        lode_cursor::new(cursor).map(|handle| handle.id),
        lode_blob_writer::new(writer).map(|handle| handle.id),
        lode_blob_reader::new(reader).map(|handle| handle.id),
        lode_blob_list::new(list).map(|handle| handle.id),
        lode_blobs::new(blobs).map(|handle| handle.id),
        lode_changes::new(OpenChanges { changes, commit: Vec::new() }).map(|handle| handle.id),
        lode_links::new(OpenLinks { names, last: String::new() }).map(|handle| handle.id),
        lode_properties::new(OpenProperties { properties, last: None }).map(|handle| handle.id),
        lode_entry::new(OpenEntry::Volume(entry)).map(|handle| handle.id),
        lode_volume::new(volume).map(|handle| handle.id),
        lode_storage::new(Storage::new()).map(|handle| handle.id),
    ];
    let kinds: BTreeSet<_> = ids.iter().flatten().map(|id| kind_of(*id)).collect();
    assert_eq!(kinds.len(), ids.len());
    assert!(!kinds.contains(&0), "a handle of zeros is none");
}
