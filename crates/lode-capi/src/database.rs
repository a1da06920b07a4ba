//! Databases: opening, closing, and what concerns all of their tables.

use std::ffi::c_char;

use lode::Statistics;

use crate::argument::{Out, Room, bytes, out, path, room, structure, text};
use crate::failure::{Result, guarded};
use crate::objects::lode_database;
use crate::options::lode_options;
use crate::status::lode_status::{self, LODE_END, LODE_OK};

/// Opens the database in a directory.
///
/// `directory` is a path of `directory_size` bytes. `options` may be null; else `options_size` is
/// `sizeof(lode_options)`. The database is written to `database`, and closed with `lode_close`.
///
/// Returns `LODE_LOCKED` when it is open already, here or in another process; `LODE_NO_DATABASE`,
/// `LODE_DATABASE_EXISTS` by the mode; `LODE_CORRUPT`, `LODE_FOREIGN_FILE`, `LODE_VERSION`,
/// `LODE_FULL`, `LODE_DISK_FULL`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open(
    directory: *const c_char,
    directory_size: usize,
    options: *const lode_options,
    options_size: usize,
    database: *mut lode_database,
) -> lode_status {
    guarded(|| {
        let out = out!(database);
        let path = path(bytes!(directory, directory_size), "directory")?;
        let options = structure!(options, options_size).unwrap_or(lode_options::DEFAULT);
        give(options.open(path)?, &out)
    })
}

/// Creates a database in memory, which lives until it is closed. As `lode_open` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_open_in_memory(
    options: *const lode_options,
    options_size: usize,
    database: *mut lode_database,
) -> lode_status {
    guarded(|| {
        let out = out!(database);
        let options = structure!(options, options_size).unwrap_or(lode_options::DEFAULT);
        give(options.in_memory()?, &out)
    })
}

fn give(database: lode::Database, out: &Out<lode_database>) -> Result<lode_status> {
    out.set(lode_database::new(database)?);
    Ok(LODE_OK)
}

/// Closes a database and frees its handle. All that was done is in its files then, whatever the
/// level, and the directory can be opened again.
///
/// Other handles of the database return `LODE_CLOSED` from then on; they have still to be freed,
/// and the memory of the database goes with the last of them.
///
/// A failure, such as `LODE_DISK_FULL`, says that the last changes are in the log only. The
/// database is closed and the handle is freed nevertheless.
#[unsafe(no_mangle)]
pub extern "C" fn lode_close(database: lode_database) -> lode_status {
    guarded(|| {
        let open = database.share()?.clone();
        database.free()?;
        open.close()?;
        Ok(LODE_OK)
    })
}

/// Makes everything durable that was done before, whatever the level.
///
/// Returns `LODE_POISONED` when the disk fails, now and ever after; `LODE_DISK_FULL`, `LODE_IO`.
#[unsafe(no_mangle)]
pub extern "C" fn lode_flush(database: lode_database) -> lode_status {
    guarded(|| Ok(database.share()?.flush().map(|()| LODE_OK)?))
}

/// Writes all that has changed to the data file, so that nothing that was done before has to be
/// replayed after a crash. It blocks no other operation. Fails as `lode_flush` does.
#[unsafe(no_mangle)]
pub extern "C" fn lode_checkpoint(database: lode_database) -> lode_status {
    guarded(|| Ok(database.share()?.checkpoint().map(|()| LODE_OK)?))
}

/// Gives unused space back to the file system, in small steps next to readers and writers. Fails as
/// `lode_flush` does; `LODE_CORRUPT` when a table is damaged.
#[unsafe(no_mangle)]
pub extern "C" fn lode_compact(database: lode_database) -> lode_status {
    guarded(|| Ok(database.share()?.compact().map(|_| LODE_OK)?))
}

/// The sizes of a backup, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_backup_sizes {
    /// Bytes of pages that the database has.
    pub total_bytes: u64,
    /// Bytes of pages that were copied, since the backup before had others.
    pub copied_bytes: u64,
}

/// Backs the database up to another directory, as of one moment from the call on. If that has an
/// earlier backup of this database, only pages that have changed since are copied.
///
/// `directory` is a path of `directory_size` bytes. What was copied is written to `sizes`, which
/// has `sizes_size` bytes (`sizeof(lode_backup_sizes)`), or may be null with 0.
///
/// Returns `LODE_NO_BACKUP` when the directory has something else; `LODE_NO_FILES` for a database
/// in memory; `LODE_LOCKED` when the directory is open; `LODE_CORRUPT`, `LODE_DISK_FULL`,
/// `LODE_IO`, `LODE_READ_ONLY`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_backup(
    database: lode_database,
    directory: *const c_char,
    directory_size: usize,
    sizes: *mut lode_backup_sizes,
    sizes_size: usize,
) -> lode_status {
    guarded(|| {
        let room = room!(sizes, sizes_size);
        let path = path(bytes!(directory, directory_size), "directory")?;
        let done = database.share()?.backup(path, |_| {})?;
        write_words(&room, &[done.total_bytes, done.copied_bytes]);
        Ok(LODE_OK)
    })
}

/// The space that a database takes up, in bytes.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_statistics {
    /// Pages in memory.
    pub page_bytes: u64,
    /// Pages that have changed since they were written to the data file.
    pub changed_bytes: u64,
    /// Old images of pages, for snapshots and the checkpoint.
    pub snapshot_bytes: u64,
    /// Memory that transactions hold.
    pub transaction_bytes: u64,
    /// The data file, without holes in it.
    pub data_bytes: u64,
    /// The part of the data file that is in use.
    pub data_used_bytes: u64,
    /// Pages that were read from the data file since it was opened.
    pub data_read_bytes: u64,
    /// Pages that were written to the data file since then.
    pub data_written_bytes: u64,
    /// The log that would have to be replayed after a crash.
    pub log_bytes: u64,
}

/// Writes the space that a database takes up to `statistics`, which has `statistics_size` bytes
/// (`sizeof(lode_statistics)`).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_statistics(
    database: lode_database,
    statistics: *mut lode_statistics,
    statistics_size: usize,
) -> lode_status {
    guarded(|| {
        let room = room!(statistics, statistics_size);
        let Statistics {
            page_bytes,
            changed_bytes,
            snapshot_bytes,
            transaction_bytes,
            data_bytes,
            data_used_bytes,
            data_read_bytes,
            data_written_bytes,
            log_bytes,
            ..
        } = database.share()?.statistics();
        let words = [
            page_bytes,
            changed_bytes,
            snapshot_bytes,
            transaction_bytes,
            data_bytes,
            data_used_bytes,
            data_read_bytes,
            data_written_bytes,
            log_bytes,
        ];
        write_words(&room, &words);
        Ok(LODE_OK)
    })
}

/// Writes the fields of a structure of numbers of 64 bits, as many as there is room for: an earlier
/// header has fewer. Further fields, of a later header, become zero.
pub(crate) fn write_words(room: &Room<u8>, words: &[u64]) {
    let known: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let size = room.count();
    room.put(0, &known[..known.len().min(size)]);
    if size > known.len() {
        room.put(known.len(), &vec![0; size - known.len()]);
    }
}

/// Writes the name of a table to `name`, which has room for `name_capacity` bytes, and its bytes to
/// `name_size`. No zero ends it; a name has at most 255 bytes. Names are in their order, counted
/// from 0 by `at`; tables created or dropped between calls change the count.
///
/// Returns `LODE_END` after the last; `LODE_TOO_SMALL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_table_name(
    database: lode_database,
    at: usize,
    name: *mut c_char,
    name_capacity: usize,
    name_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(name, name_capacity), out!(name_size));
        let names = database.share()?.table_names();
        let Some(found) = names.get(at) else { return Ok(LODE_END) };
        room.fill(found.as_bytes(), &size, "name")?;
        Ok(LODE_OK)
    })
}

/// Drops a table with all its records. `name` is UTF-8 of `name_size` bytes. Handles of the table
/// return `LODE_NO_TABLE` then; snapshots that were taken before still see it.
///
/// Returns `LODE_NO_TABLE`, `LODE_READ_ONLY`, `LODE_POISONED`, `LODE_FULL`, `LODE_DISK_FULL`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_drop_table(
    database: lode_database,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        database.share()?.drop_table(name)?;
        Ok(LODE_OK)
    })
}
