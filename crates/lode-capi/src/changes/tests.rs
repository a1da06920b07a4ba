//! Changes of tables and indexes that C has no functions for.

#![allow(unsafe_code)]

use lode::{Alteration, IndexSchema, KeyKind, Options, Schema, Type};

use super::*;

/// A reader of the changes of a database, whose commits are read one after another.
struct Reader {
    changes: lode_changes,
    count: usize,
}

impl Reader {
    fn next(&mut self) -> lode_status {
        // SAFETY: the place for the count is that of this reader.
        unsafe { lode_next_commit(self.changes, &raw mut self.count) }
    }

    fn at(&self, place: usize) -> lode_change {
        let mut change = std::mem::MaybeUninit::uninit();
        let size = size_of::<lode_change>();
        // SAFETY: the place is for a change, which was written if the call was done.
        unsafe {
            let status = lode_get_change(self.changes, place, change.as_mut_ptr(), size);
            assert_eq!(status, LODE_OK);
            change.assume_init()
        }
    }

    /// Returns the name of the last column of a table on a side.
    fn last_column(&self, place: usize, side: u32) -> String {
        let mut name = String::new();
        let mut column = std::mem::MaybeUninit::<lode_column>::uninit();
        for at in 0.. {
            // SAFETY: the place is for a column, which was written if the call was done.
            unsafe {
                let out = column.as_mut_ptr();
                if lode_get_change_column(self.changes, place, side, at, out) != LODE_OK {
                    break;
                }
                let column = column.assume_init_ref();
                let bytes = lode_bytes { data: column.name.cast(), size: column.name_size };
                name = text(bytes);
            }
        }
        name
    }
}

fn text(bytes: lode_bytes) -> String {
    if bytes.data.is_null() {
        return "null".into();
    }
    // SAFETY: it is of a change of the commit that was read last.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.data.cast::<u8>(), bytes.size) };
    String::from_utf8(bytes.to_vec()).expect("a name")
}

#[test]
fn no_position_has_more_bytes_than_the_header_says() {
    let longest = "18446744073709551615-18446744073709551615-ffffffff";
    let position: Position = longest.parse().expect("a position");
    assert_eq!(position.to_string().len(), LODE_MOST_POSITION_BYTES);
}

#[test]
fn alterations_and_indexes_are_changes() {
    let directory = tempfile::tempdir().expect("a folder");
    let db = Options::new().keep_changes(1 << 20).open(directory.path()).expect("a database");
    let schema = Schema::build("city").key("id", Type::U32).column("people", Type::U64);
    let schema = schema.finish().expect("a schema");
    let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
    let changes = db.changes(db.position().expect("a position")).expect("they are kept");
    let opened = lode_changes::new(OpenChanges { changes, commit: Vec::new() });
    let mut reader = Reader { changes: opened.expect("a handle"), count: 0 };

    table.create_index(&IndexSchema::new("by_people", ["people"])).expect("there is none");
    assert_eq!((reader.next(), reader.count), (LODE_OK, 1));
    let change = reader.at(0);
    assert_eq!(change.kind, LODE_CHANGE_CREATE_INDEX);
    assert_eq!((text(change.table), text(change.index)), ("city".into(), "by_people".into()));
    table.drop_index("by_people").expect("it is there");
    assert_eq!(reader.next(), LODE_OK);
    assert_eq!(reader.at(0).kind, LODE_CHANGE_DROP_INDEX);
    assert_eq!(text(reader.at(0).index), "by_people");

    let alteration = Alteration::new().rename_table("town").rename_column("people", "souls");
    db.alter_table("city", &alteration).expect("it can be altered");
    while reader.next() == LODE_OK && reader.at(0).kind != LODE_CHANGE_ALTER_TABLE {}
    let change = reader.at(0);
    assert_eq!(change.kind, LODE_CHANGE_ALTER_TABLE);
    assert_eq!((text(change.table), text(change.new_table)), ("city".into(), "town".into()));
    assert_eq!(text(change.key), "null");
    assert_eq!((change.columns, change.key_columns), (2, 1));
    assert_eq!(reader.last_column(0, LODE_BEFORE), "people");
    assert_eq!(reader.last_column(0, LODE_AFTER), "souls");
    db.drop_table("town").expect("it is there");
    assert_eq!(reader.next(), LODE_OK);
    assert_eq!(reader.at(0).kind, LODE_CHANGE_DROP_TABLE);
    assert_eq!(reader.next(), LODE_END);
    assert_eq!(lode_free_changes(reader.changes), LODE_OK);
}
