//! Packed records and keys: the bytes in which Lode keeps them.

use std::ffi::c_void;

use lode::{Error, Schema, Value};

use crate::argument::{Room, array, bytes, out, room};
use crate::failure::{Failure, Result, guarded};
use crate::objects::lode_table;
use crate::scratch::{with_key_memory, with_record_memory};
use crate::status::lode_status::{self, LODE_OK, LODE_VALUE_COUNT};
use crate::value::lode_value;

/// Values that need no memory of their own while a key is packed.
const FEW: usize = 8;

/// Packs a record into `record`, which has room for `record_capacity` bytes; writes its bytes to
/// `record_size`. `values` are one for each column, `count` in all.
///
/// A packed record is the key and the payload after it. It has the columns in their order, each in
/// as many bytes as its type has, little-endian, without gaps: so a table of columns of fixed
/// length that cannot be null has records like a packed structure. `FORMAT.md` of Lode has the
/// rest.
///
/// Returns `LODE_TOO_SMALL`, with the bytes that it needs in `record_size`; `LODE_VALUE_COUNT`,
/// `LODE_VALUE_MISFIT`, `LODE_VALUE_TOO_LONG`, `LODE_RECORD_TOO_LONG`, `LODE_KEY_TOO_LONG`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_pack(
    table: lode_table,
    values: *const lode_value,
    count: usize,
    record: *mut c_void,
    record_capacity: usize,
    record_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(record, record_capacity), out!(record_size));
        let open = table.share()?;
        let values = array!(values, count);
        room.expect_apart(values, "record")?;
        with_packed(open.table.schema(), values, |record| room.fill(record, &size, "record"))?;
        Ok(LODE_OK)
    })
}

/// Packs a key into `key`, which has room for `key_capacity` bytes; writes its bytes to `key_size`.
/// `values` are one for each column of the key, `count` in all. Fails as `lode_pack` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_pack_key(
    table: lode_table,
    values: *const lode_value,
    count: usize,
    key: *mut c_void,
    key_capacity: usize,
    key_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(key, key_capacity), out!(key_size));
        let open = table.share()?;
        let values = array!(values, count);
        room.expect_apart(values, "key")?;
        with_values(open.table.schema(), values, |schema, values| {
            with_key_memory(|key| {
                key.clear();
                schema.append_key(values, key)?;
                room.fill(key, &size, "key")
            })
        })?;
        Ok(LODE_OK)
    })
}

/// Reads a packed record of `record_size` bytes. Writes the values of all columns to `values`,
/// which has room for `count`, one for each column. Texts and bytes point into `record`.
///
/// Returns `LODE_NOT_PACKED` when it is no record of the table; `LODE_VALUE_COUNT`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_unpack(
    table: lode_table,
    record: *const c_void,
    record_size: usize,
    values: *mut lode_value,
    count: usize,
) -> lode_status {
    guarded(|| {
        let room = room!(values, count);
        let open = table.share()?;
        unpack(open.table.schema(), bytes!(record, record_size), &room)?;
        Ok(LODE_OK)
    })
}

/// Reads a packed record, and writes the values of its columns.
pub(crate) fn unpack(schema: &Schema, record: &[u8], values: &Room<lode_value>) -> Result<()> {
    expect_count(schema, values.count(), schema.columns().len())?;
    values.expect_apart(record, "values")?;
    let row = schema.row(record)?;
    for (at, column) in schema.columns().iter().enumerate() {
        values.put(at, &[lode_value::of(row.at(column.id()))]);
    }
    Ok(())
}

/// Refuses a number of values that is not that of the columns.
///
/// # Errors
/// `LODE_VALUE_COUNT`.
pub(crate) fn expect_count(schema: &Schema, given: usize, columns: usize) -> Result<()> {
    if given == columns {
        return Ok(());
    }
    let table = schema.name();
    let message = format!("table {table}: there are {given} values for {columns} columns");
    Err(Failure::new(LODE_VALUE_COUNT, message))
}

/// Calls `work` with the packed record of values.
pub(crate) fn with_packed<T>(
    schema: &Schema,
    values: &[lode_value],
    work: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    expect_count(schema, values.len(), schema.columns().len())?;
    with_record_memory(|record| {
        let mut packer = schema.packer(record);
        for (value, column) in values.iter().zip(schema.columns()) {
            packer.push(value.read(column)?)?;
        }
        packer.finish()?;
        work(record)
    })
}

/// Calls `work` with the packed key of values; `None` if no record can have it, since it is too
/// long.
pub(crate) fn with_key<T>(
    schema: &Schema,
    values: &[lode_value],
    work: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<Option<T>> {
    with_values(schema, values, |schema, values| {
        with_key_memory(|key| {
            key.clear();
            match schema.append_key(values, key) {
                Err(Error::KeyTooLong { .. }) => Ok(None),
                Err(error) => Err(error.into()),
                Ok(()) => work(key).map(Some),
            }
        })
    })
}

/// Calls `work` with the values of the first columns of a key: as many as are given.
pub(crate) fn with_values<T>(
    schema: &Schema,
    values: &[lode_value],
    work: impl FnOnce(&Schema, &[Value<'_>]) -> Result<T>,
) -> Result<T> {
    let columns = &schema.columns()[..schema.key_columns()];
    let read = |(value, column)| lode_value::read(value, column);
    if values.len() > columns.len() {
        expect_count(schema, values.len(), columns.len())?;
    }
    if values.len() > FEW {
        let all = values.iter().zip(columns).map(read).collect::<Result<Vec<_>>>()?;
        return work(schema, &all);
    }
    let mut few = [Value::Null; FEW];
    for (place, given) in few.iter_mut().zip(values.iter().zip(columns)) {
        *place = read(given)?;
    }
    work(schema, &few[..values.len()])
}
