//! Writes of records: by themselves, or in a transaction.

use std::ffi::c_void;

use lode::{Column, ReadTable, Table, Transaction};

use crate::argument::{array, bytes, optional_out, slice};
use crate::failure::{Result, guarded};
use crate::objects::{lode_table, lode_transaction};
use crate::packing::{with_key, with_packed};
use crate::scratch::with_record_memory;
use crate::status::lode_status::{self, LODE_EXISTS, LODE_NOT_FOUND, LODE_OK};
use crate::table::{column_at, column_to_set};
use crate::value::{lode_bytes, lode_value};

/// Calls `alone`, or `within` the transaction if there is one.
#[inline(always)]
fn write<T>(
    transaction: lode_transaction,
    alone: impl FnOnce() -> Result<T>,
    within: impl FnOnce(&Transaction) -> Result<T>,
) -> Result<T> {
    if transaction.is_none() {
        return alone();
    }
    within(&transaction.lock()?.transaction)
}

/// Inserts a record, unless there is one with its key.
///
/// It is written in `transaction`, and by itself, as durable as the level says, if that is
/// `LODE_ALONE`. `values` are one for each column, `count` in all.
///
/// Returns `LODE_EXISTS` when there is a record with its key; `LODE_VALUE_COUNT`,
/// `LODE_VALUE_MISFIT`, `LODE_VALUE_TOO_LONG`, `LODE_RECORD_TOO_LONG`, `LODE_KEY_TOO_LONG`,
/// `LODE_NOT_UTF8`; `LODE_NO_TABLE`, `LODE_READ_ONLY`, `LODE_CLOSED`, `LODE_POISONED`, `LODE_FULL`,
/// `LODE_DISK_FULL`, `LODE_TABLE_FULL`; in a transaction `LODE_TRANSACTION_TOO_LARGE`,
/// `LODE_OTHER_DATABASE`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_insert(
    table: lode_table,
    transaction: lode_transaction,
    values: *const lode_value,
    count: usize,
) -> lode_status {
    guarded(|| {
        let open = table.share()?;
        with_packed(open.table.schema(), array!(values, count), |record| {
            insert(&open.table, transaction, record)
        })
    })
}

/// Inserts a packed record of `record_size` bytes. As `lode_insert`, and `LODE_NOT_PACKED` when it
/// is no record of the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_insert_packed(
    table: lode_table,
    transaction: lode_transaction,
    record: *const c_void,
    record_size: usize,
) -> lode_status {
    guarded(|| {
        let record = bytes!(record, record_size);
        insert(&table.share()?.table, transaction, record)
    })
}

#[inline(always)]
fn insert(table: &Table, transaction: lode_transaction, record: &[u8]) -> Result<lode_status> {
    let is_new = write(
        transaction,
        || Ok(table.insert(record)?),
        |transaction| Ok(transaction.insert(table, record)?),
    )?;
    Ok(if is_new { LODE_OK } else { LODE_EXISTS })
}

/// Writes a record, in the place of one with its key. `replaced` becomes true if there was one; it
/// may be null. As `lode_insert` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_upsert(
    table: lode_table,
    transaction: lode_transaction,
    values: *const lode_value,
    count: usize,
    replaced: *mut bool,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(replaced);
        let open = table.share()?;
        with_packed(open.table.schema(), array!(values, count), |record| {
            out.set(upsert(&open.table, transaction, record)?);
            Ok(LODE_OK)
        })
    })
}

/// Writes a packed record of `record_size` bytes. As `lode_upsert`, and `LODE_NOT_PACKED` when it
/// is no record of the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_upsert_packed(
    table: lode_table,
    transaction: lode_transaction,
    record: *const c_void,
    record_size: usize,
    replaced: *mut bool,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(replaced);
        let record = bytes!(record, record_size);
        out.set(upsert(&table.share()?.table, transaction, record)?);
        Ok(LODE_OK)
    })
}

fn upsert(table: &Table, transaction: lode_transaction, record: &[u8]) -> Result<bool> {
    write(
        transaction,
        || Ok(table.upsert(record)?),
        |transaction| Ok(transaction.upsert(table, record)?),
    )
}

/// Sets one column of the record with a key. `column` is the place of the column, which is not of
/// the key. `key` are the values of the columns of the key, `key_count` in all.
///
/// No other write of the record comes between. Returns `LODE_NOT_FOUND`; `LODE_NO_COLUMN`,
/// `LODE_KEY_COLUMN`; `LODE_CONFLICT` when others kept writing the record during the call; and as
/// `lode_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_update(
    table: lode_table,
    transaction: lode_transaction,
    key: *const lode_value,
    key_count: usize,
    column: usize,
    value: *const lode_value,
) -> lode_status {
    guarded(|| {
        let key = array!(key, key_count);
        // SAFETY: the header asks for a pointer to a value.
        let value = unsafe { slice(value, 1, "value") }?;
        let open = table.share()?;
        let column = column_to_set(&open.table, column)?;
        let update = Update { table: &open.table, column, value: &value[0] };
        let found = with_key(open.table.schema(), key, |key| {
            write(transaction, || update.alone(key), |transaction| update.within(transaction, key))
        })?;
        Ok(if found == Some(true) { LODE_OK } else { LODE_NOT_FOUND })
    })
}

/// A column that is set to a value.
struct Update<'u> {
    table: &'u Table,
    column: &'u Column,
    value: &'u lode_value,
}

impl Update<'_> {
    /// Sets the column in a packed record.
    fn set(&self, record: &mut Vec<u8>) -> Result<()> {
        Ok(self.table.schema().set(record, self.column, self.value.read(self.column)?)?)
    }

    /// Sets the column of a record by itself. Returns false if there is no such record.
    fn alone(&self, key: &[u8]) -> Result<bool> {
        let mut outcome = Ok(());
        let is_there = self.table.change(key, &mut |payload| {
            let mut record = [key, payload].concat();
            outcome = self.set(&mut record);
            payload.clear();
            payload.extend_from_slice(&record[key.len()..]);
            outcome.is_ok()
        })?;
        outcome.map(|()| is_there)
    }

    /// Sets the column of a record in a transaction. Returns false if there is no such record.
    fn within(&self, transaction: &Transaction, key: &[u8]) -> Result<bool> {
        with_record_memory(|payload| {
            if !self.table.within(transaction).get_into(key, payload)? {
                return Ok(false);
            }
            let mut record = [key, payload].concat();
            self.set(&mut record)?;
            transaction.upsert(self.table, &record)?;
            Ok(true)
        })
    }
}

/// Sets one column of the record with a packed key to the bytes that it has in a packed record: a
/// number little-endian, a text of fixed length with zeros after it. `key` has `key_size` bytes and
/// `column_bytes` has `bytes_size`. The column cannot be one that can be null.
///
/// As `lode_update`, and faster; `LODE_NOT_PACKED`, `LODE_NULLABLE_COLUMN`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_update_packed(
    table: lode_table,
    transaction: lode_transaction,
    key: *const c_void,
    key_size: usize,
    column: usize,
    column_bytes: *const c_void,
    bytes_size: usize,
) -> lode_status {
    guarded(|| {
        let key = bytes!(key, key_size);
        let bytes = bytes!(column_bytes, bytes_size);
        let open = table.share()?;
        let table = &open.table;
        let column = column_at(table.schema(), column)?.id();
        let found = write(
            transaction,
            || Ok(table.update(key, column, bytes)?),
            |transaction| Ok(transaction.update(table, key, column, bytes)?),
        )?;
        Ok(if found { LODE_OK } else { LODE_NOT_FOUND })
    })
}

/// Deletes the record with a key. `key` are the values of the columns of the key, `key_count` in
/// all.
///
/// Returns `LODE_NOT_FOUND`; and as `lode_insert`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_delete(
    table: lode_table,
    transaction: lode_transaction,
    key: *const lode_value,
    key_count: usize,
) -> lode_status {
    guarded(|| {
        let key = array!(key, key_count);
        let open = table.share()?;
        let deleted =
            with_key(open.table.schema(), key, |key| delete(&open.table, transaction, key))?;
        Ok(deleted.unwrap_or(LODE_NOT_FOUND))
    })
}

/// Deletes the record with a packed key of `key_size` bytes. As `lode_delete`, and
/// `LODE_NOT_PACKED` when it is no key of the table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_delete_packed(
    table: lode_table,
    transaction: lode_transaction,
    key: *const c_void,
    key_size: usize,
) -> lode_status {
    guarded(|| {
        let key = bytes!(key, key_size);
        delete(&table.share()?.table, transaction, key)
    })
}

fn delete(table: &Table, transaction: lode_transaction, key: &[u8]) -> Result<lode_status> {
    let found = write(
        transaction,
        || Ok(table.delete(key)?),
        |transaction| Ok(transaction.delete(table, key)?),
    )?;
    Ok(if found { LODE_OK } else { LODE_NOT_FOUND })
}

/// Adds `by` to a column of whole numbers of the record with a key, by itself and not in a
/// transaction. Writes the sum to `sum`, which may be null.
///
/// Returns `LODE_NOT_FOUND`; `LODE_NO_ROOM_IN_COLUMN` when the column has no room for the sum, or
/// is not one of whole numbers; and as `lode_update`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_increment(
    table: lode_table,
    key: *const lode_value,
    key_count: usize,
    column: usize,
    by: i64,
    sum: *mut lode_value,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(sum);
        let key = array!(key, key_count);
        let open = table.share()?;
        let column = column_at(open.table.schema(), column)?.id();
        let found = with_key(open.table.schema(), key, |key| {
            Ok(open.table.increment(key, column, by)?.map(lode_value::of))
        })?;
        let Some(value) = found.flatten() else { return Ok(LODE_NOT_FOUND) };
        out.set(value);
        Ok(LODE_OK)
    })
}

/// Returns the records of an array.
fn records(array: &[lode_bytes]) -> Result<Vec<&[u8]>> {
    let read = |bytes: &lode_bytes| {
        // SAFETY: the header asks for pointers to that many bytes.
        unsafe { slice(bytes.data.cast::<u8>(), bytes.size, "a record") }
    };
    array.iter().map(read).collect()
}

/// Inserts several packed records together: readers see all of them or none, also after a crash. A
/// record whose key exists already, or comes earlier among them, is left out. `records` are `count`
/// in all. Writes the number of inserted ones to `inserted`, which may be null.
///
/// Returns as `lode_insert_packed`; `LODE_TRANSACTION_TOO_LARGE`. None of them is inserted then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_insert_all(
    table: lode_table,
    records: *const lode_bytes,
    count: usize,
    inserted: *mut u64,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(inserted);
        let all = array!(records, count);
        out.set(table.share()?.table.insert_all(self::records(all)?)?);
        Ok(LODE_OK)
    })
}

/// Writes several packed records together, in the place of those with their keys. Writes the number
/// of new keys to `added`, which may be null. As `lode_insert_all` otherwise.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_upsert_all(
    table: lode_table,
    records: *const lode_bytes,
    count: usize,
    added: *mut u64,
) -> lode_status {
    guarded(|| {
        let out = optional_out!(added);
        let all = array!(records, count);
        out.set(table.share()?.table.upsert_all(self::records(all)?)?);
        Ok(LODE_OK)
    })
}
