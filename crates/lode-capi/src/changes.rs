//! The change feed: committed changes in their order.

use std::ffi::c_char;

use lode::{Change, ChangedTable, Position};

use crate::argument::{Out, Plain, Room, out, room, text};
use crate::column::lode_column;
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenChanges, lode_changes, lode_database};
use crate::packing::unpack;
use crate::status::lode_status::{self, LODE_END, LODE_NOT_FOUND, LODE_OK};
use crate::table::column_at;
use crate::value::{lode_bytes, lode_value};

/// The most bytes of a position.
pub const LODE_MOST_POSITION_BYTES: usize = 50;

/// A change: a record was inserted, replaced or deleted.
pub const LODE_CHANGE_RECORD: u32 = 1;
/// A change: a table was created, without records.
pub const LODE_CHANGE_CREATE_TABLE: u32 = 2;
/// A change: a table was dropped with its records and indexes. A cleared table is dropped and
/// created.
pub const LODE_CHANGE_DROP_TABLE: u32 = 3;
/// A change: a table was altered. Its records, which are not listed, are those of the new columns
/// from then on; the indexes that it has then are created by the changes after this.
pub const LODE_CHANGE_ALTER_TABLE: u32 = 4;
/// A change: a secondary index was created, and has an entry for each record.
pub const LODE_CHANGE_CREATE_INDEX: u32 = 5;
/// A change: a secondary index was dropped, but not its table.
pub const LODE_CHANGE_DROP_INDEX: u32 = 6;

/// The side of a change: a record or a table as it was.
pub const LODE_BEFORE: u32 = 0;
/// The side of a change: a record or a table as it is since.
pub const LODE_AFTER: u32 = 1;

/// A change of a commit. Names and bytes are memory of the reader of changes, and stay until the
/// next `lode_next_commit` with it.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_change {
    /// One of the numbers from `LODE_CHANGE_RECORD` on.
    pub kind: u32,
    /// Zero.
    pub reserved: u32,
    /// The name of the table, in UTF-8; of an altered one, the name before.
    pub table: lode_bytes,
    /// The name of an altered table from then on.
    pub new_table: lode_bytes,
    /// The name of an index that was created or dropped.
    pub index: lode_bytes,
    /// The packed key of a record.
    pub key: lode_bytes,
    /// The packed record as it was; null if it was inserted.
    pub before: lode_bytes,
    /// The packed record as it is since; null if it was deleted.
    pub after: lode_bytes,
    /// The number of columns of the table; of an altered one, from then on.
    pub columns: usize,
    /// The number of columns of its key, which come first.
    pub key_columns: usize,
}

// SAFETY: all fields are numbers and pointers.
unsafe impl Plain for lode_change {}

/// Returns the tables before and after a change, which are one unless it was altered.
fn tables(change: &Change) -> [&ChangedTable; 2] {
    match change {
        Change::Row(row) => [row.table(), row.table()],
        Change::AlterTable { before, after } => [before, after],
        Change::CreateTable { table }
        | Change::DropTable { table }
        | Change::CreateIndex { table, .. }
        | Change::DropIndex { table, .. } => [table, table],
        // Stopped at the border, rather than to leave out a change.
        other => panic!("the header has no kind for {other:?}"),
    }
}

impl lode_change {
    /// Makes the change for C of one of Lode, whose memory it points to.
    fn of(change: &Change) -> Self {
        let none = lode_bytes::of(None);
        let [before, after] = tables(change);
        let schema = after.schema();
        let of_table = Self {
            kind: LODE_CHANGE_RECORD,
            reserved: 0,
            table: lode_bytes::of(Some(before.name().as_bytes())),
            new_table: none,
            index: none,
            key: none,
            before: none,
            after: none,
            columns: schema.columns().len(),
            key_columns: schema.key_columns(),
        };
        let of_index = |kind, index: &lode::IndexSchema| {
            let index = lode_bytes::of(Some(index.name().as_bytes()));
            Self { kind, index, ..of_table }
        };
        match change {
            Change::Row(row) => Self {
                key: lode_bytes::of(Some(row.key())),
                before: lode_bytes::of(row.before_bytes()),
                after: lode_bytes::of(row.after_bytes()),
                ..of_table
            },
            Change::DropTable { .. } => Self { kind: LODE_CHANGE_DROP_TABLE, ..of_table },
            Change::AlterTable { after, .. } => {
                let new_table = lode_bytes::of(Some(after.name().as_bytes()));
                Self { kind: LODE_CHANGE_ALTER_TABLE, new_table, ..of_table }
            }
            Change::CreateIndex { index, .. } => of_index(LODE_CHANGE_CREATE_INDEX, index),
            Change::DropIndex { index, .. } => of_index(LODE_CHANGE_DROP_INDEX, index),
            _ => Self { kind: LODE_CHANGE_CREATE_TABLE, ..of_table },
        }
    }
}

/// Writes a position as a text.
fn give_position(position: Position, room: &Room<u8>, size: &Out<usize>) -> Result<lode_status> {
    let text = position.to_string();
    debug_assert!(text.len() <= LODE_MOST_POSITION_BYTES, "{text}");
    room.fill(text.as_bytes(), size, "position")?;
    Ok(LODE_OK)
}

/// Writes the position after all changes that ended before this call to `position`, which has room
/// for `position_capacity` bytes, and its bytes to `position_size`: at most
/// `LODE_MOST_POSITION_BYTES`. No zero ends it. It is a text that can be kept anywhere, such as
/// "12-8192-00c0ffee".
///
/// In a database that is open to be read only it is that of the moment which the database shows.
///
/// Returns `LODE_CHANGES_NOT_KEPT` unless `kept_changes_bytes` of the options, now or earlier, have
/// asked for changes; `LODE_CHANGES_GONE` when those after that moment are not kept any more;
/// `LODE_TOO_SMALL`; `LODE_CLOSED`, `LODE_POISONED`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_position(
    database: lode_database,
    position: *mut c_char,
    position_capacity: usize,
    position_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(position, position_capacity), out!(position_size));
        give_position(database.share()?.position()?, &room, &size)
    })
}

/// Opens a reader of the changes of a database since a position, which is a text of `since_size`
/// bytes; null and 0 are all changes that are kept. It is written to `changes`, and freed with
/// `lode_free_changes`.
///
/// It reads the files of the log, and no writer waits for it. It looks through the log from the
/// position on first.
///
/// Returns `LODE_CHANGES_NOT_KEPT`; `LODE_CHANGES_GONE` when the changes after the position are not
/// kept any more; `LODE_OTHER_POSITION` when it is none of this database; `LODE_BAD_ARGUMENT` for a
/// text that is no position; `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_VERSION`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_changes(
    database: lode_database,
    since: *const c_char,
    since_size: usize,
    changes: *mut lode_changes,
) -> lode_status {
    guarded(|| {
        let (out, since) = (out!(changes), text!(since, since_size));
        let since = match since {
            "" => None,
            text => {
                let read = text.parse::<Position>();
                Some(read.map_err(|error| Failure::argument(format!("since: {error}")))?)
            }
        };
        let changes = database.share()?.changes(since)?;
        out.set(lode_changes::new(OpenChanges { changes, commit: Vec::new() })?);
        Ok(LODE_OK)
    })
}

/// Reads the next commit, which is what happened together: a single operation, a transaction, or
/// records written together. Writes the number of its changes to `count`; `lode_get_change` has
/// each. They may be there before they are durable: call `lode_sync_changes` before acting on them.
///
/// To repeat a commit in a copy, in one transaction: delete the changed records by their keys, then
/// insert those that are there after the last change of each key.
///
/// Returns `LODE_END` after the last commit so far: call it again later; `LODE_CHANGES_GONE` when
/// the reader has fallen behind so far that what comes next is not kept any more;
/// `LODE_OTHER_POSITION` when a crash of the machine has taken back what was read; `LODE_CORRUPT`,
/// `LODE_VERSION`, `LODE_IO`. The next call tries again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_next_commit(changes: lode_changes, count: *mut usize) -> lode_status {
    guarded(|| {
        let out = out!(count);
        let mut open = changes.lock()?;
        out.set(0);
        open.commit.clear();
        let Some(commit) = open.changes.next() else { return Ok(LODE_END) };
        open.commit = commit?.changes;
        out.set(open.commit.len());
        Ok(LODE_OK)
    })
}

/// Writes the change at a place in the commit that was read last, counted from 0, to `change`,
/// which has `change_size` bytes (`sizeof(lode_change)`). Changes are in their order; a record may
/// be changed more than once.
///
/// Returns `LODE_END` after the last.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_change(
    changes: lode_changes,
    at: usize,
    change: *mut lode_change,
    change_size: usize,
) -> lode_status {
    guarded(|| {
        let room: Room<u8> = room!(change, change_size);
        let open = changes.lock()?;
        let Some(found) = open.commit.get(at) else { return Ok(LODE_END) };
        room.put_structure(&lode_change::of(found));
        Ok(LODE_OK)
    })
}

/// Returns the place of a side in an array of both.
///
/// # Errors
/// `LODE_BAD_ARGUMENT`.
fn side_of(number: u32) -> Result<usize> {
    match number {
        LODE_BEFORE => Ok(0),
        LODE_AFTER => Ok(1),
        other => {
            let message = format!("there is no side {other}; use LODE_BEFORE or LODE_AFTER");
            Err(Failure::argument(message))
        }
    }
}

/// Reads the record of a change as it was (`LODE_BEFORE`) or as it is since (`LODE_AFTER`). Writes
/// the values of all columns to `values`, which has room for `count`, one for each column. Texts
/// and bytes are memory of the reader of changes, and stay until the next `lode_next_commit` with
/// it.
///
/// Returns `LODE_NOT_FOUND` when there was no record on that side, or the change is none of a
/// record; `LODE_END` after the last change; `LODE_VALUE_COUNT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_unpack_change(
    changes: lode_changes,
    at: usize,
    side: u32,
    values: *mut lode_value,
    count: usize,
) -> lode_status {
    guarded(|| {
        let room: Room<lode_value> = room!(values, count);
        let side = side_of(side)?;
        let open = changes.lock()?;
        let Some(found) = open.commit.get(at) else { return Ok(LODE_END) };
        let Change::Row(row) = found else { return Ok(LODE_NOT_FOUND) };
        let Some(record) = [row.before_bytes(), row.after_bytes()][side] else {
            return Ok(LODE_NOT_FOUND);
        };
        unpack(row.table().schema(), record, &room)?;
        Ok(LODE_OK)
    })
}

/// Writes the description of a column of the table of a change to `description`: the one at the
/// place `column`, counted from 0. Of an altered table, `side` says whether it is the table as it
/// was or since; another table has the columns that it had when the commit happened. The name is
/// memory of the reader of changes, and stays until the next `lode_next_commit` with it.
///
/// Returns `LODE_NO_COLUMN`; `LODE_END` after the last change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_change_column(
    changes: lode_changes,
    at: usize,
    side: u32,
    column: usize,
    description: *mut lode_column,
) -> lode_status {
    guarded(|| {
        let out = out!(description);
        let side = side_of(side)?;
        let open = changes.lock()?;
        let Some(found) = open.commit.get(at) else { return Ok(LODE_END) };
        let schema = tables(found)[side].schema();
        out.set(lode_column::of(schema, column_at(schema, column)?));
        Ok(LODE_OK)
    })
}

/// Writes the position after what a reader of changes has read to `position`, as `lode_position`
/// does. `lode_open_changes` continues there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_reached_position(
    changes: lode_changes,
    position: *mut c_char,
    position_capacity: usize,
    position_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(position, position_capacity), out!(position_size));
        give_position(changes.lock()?.changes.reached(), &room, &size)
    })
}

/// Makes all that a reader of changes has read durable in the database, whatever its level is: then
/// no crash of its machine can take back what a copy of it has.
///
/// Returns `LODE_IO`.
#[unsafe(no_mangle)]
pub extern "C" fn lode_sync_changes(changes: lode_changes) -> lode_status {
    guarded(|| {
        changes.lock()?.changes.sync()?;
        Ok(LODE_OK)
    })
}

/// Frees a reader of changes.
#[unsafe(no_mangle)]
pub extern "C" fn lode_free_changes(changes: lode_changes) -> lode_status {
    guarded(|| changes.take().map(|_| LODE_OK))
}

#[cfg(test)]
mod tests;
