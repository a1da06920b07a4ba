//! Lookups of records by their keys.

use std::ffi::c_void;

use lode::{ReadTable, Schema, Table};

use crate::argument::{Out, Room, array, bytes, out, room, slice};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenTable, lode_table, lode_view};
use crate::packing::{expect_count, unpack, with_key};
use crate::scratch::with_record_memory;
use crate::status::lode_status::{self, LODE_NOT_FOUND, LODE_OK};
use crate::value::lode_value;

/// Looks up the record with a key, as `view` sees the table.
///
/// `key` are the values of the columns of the key, `key_count` in all. The packed record is copied
/// to `record`, which has room for `record_capacity` bytes, and its bytes are written to
/// `record_size`. The values of all columns are written to `values`, which has room for `count`,
/// one for each column; texts and bytes point into `record`, so they stay as long as that. `values`
/// may be null with a `count` of 0, to read the packed record with `lode_unpack` later.
///
/// Returns `LODE_NOT_FOUND`, with 0 in `record_size`; `LODE_TOO_SMALL`, with the bytes that it
/// needs in `record_size`; `LODE_NO_TABLE` when the table was dropped; `LODE_VALUE_COUNT`,
/// `LODE_VALUE_MISFIT`; `LODE_SNAPSHOT_TOO_OLD`, `LODE_OTHER_DATABASE`,
/// `LODE_TRANSACTION_TOO_LARGE` by the view; `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get(
    table: lode_table,
    view: lode_view,
    key: *const lode_value,
    key_count: usize,
    record: *mut c_void,
    record_capacity: usize,
    record_size: *mut usize,
    values: *mut lode_value,
    count: usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(record, record_capacity), out!(record_size));
        let (values, key): (Room<lode_value>, _) = (room!(values, count), array!(key, key_count));
        room.expect_apart(key, "record")?;
        values.expect_apart(key, "values")?;
        let open = table.share()?;
        let schema = open.table.schema();
        if values.count() > 0 {
            expect_count(schema, values.count(), schema.columns().len())?;
        }
        let found = with_key(schema, key, |key| {
            view.of(&open.table, |read| {
                with_record_memory(|payload| {
                    if !read.get_into(key, payload)? {
                        return Ok(LODE_NOT_FOUND);
                    }
                    give_record(
                        schema,
                        key,
                        payload,
                        Place { room: &room, size: &size, values: &values },
                    )
                })
            })
        })?;
        let status = found.unwrap_or(LODE_NOT_FOUND);
        if status == LODE_NOT_FOUND {
            size.set(0);
        }
        Ok(status)
    })
}

/// The places for a record and its values.
struct Place<'p> {
    room: &'p Room<u8>,
    size: &'p Out<usize>,
    values: &'p Room<lode_value>,
}

fn give_record(
    schema: &Schema,
    key: &[u8],
    payload: &[u8],
    place: Place<'_>,
) -> Result<lode_status> {
    let Place { room, size, values } = place;
    let record_bytes = key.len() + payload.len();
    size.set(record_bytes);
    if record_bytes > room.count() {
        return Err(Failure::too_small("record", room.count(), record_bytes));
    }
    room.put(0, key);
    room.put(key.len(), payload);
    if values.count() > 0 {
        // SAFETY: these bytes were just written there.
        let record = unsafe { slice(room.start(), record_bytes, "record") }?;
        unpack(schema, record, values)?;
    }
    Ok(LODE_OK)
}

/// Looks up the record with a packed key of `key_size` bytes, as `view` sees the table. Copies its
/// payload, which is the record without its key, to `payload`, which has room for
/// `payload_capacity` bytes; writes the payload's bytes to `payload_size`.
///
/// It is the fastest lookup, and allocates nothing if payloads have a fixed size and the view is
/// `LODE_NOW`. Fails as `lode_get` does; `LODE_NOT_PACKED` when the key has not the bytes of one.
/// After `LODE_NOT_FOUND`, `payload_size` is 0 and `payload` may have any content.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_packed(
    table: lode_table,
    view: lode_view,
    key: *const c_void,
    key_size: usize,
    payload: *mut c_void,
    payload_capacity: usize,
    payload_size: *mut usize,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(payload, payload_capacity), out!(payload_size));
        let key = bytes!(key, key_size);
        let open = table.share()?;
        if view.is_now()
            && let Some(exact) = open.payload_bytes
            && exact <= room.count()
            && !room.overlaps(key)
        {
            // SAFETY: the room is that of this call alone, and does not overlap the key.
            let part = unsafe { room.part(0, exact) };
            let is_there = open.table.get_exact(key, part)?;
            size.set(if is_there { exact } else { 0 });
            return Ok(if is_there { LODE_OK } else { LODE_NOT_FOUND });
        }
        get_patiently(&open, view, key, &room, &size)
    })
}

#[inline(never)]
fn get_patiently(
    open: &OpenTable,
    view: lode_view,
    key: &[u8],
    room: &Room<u8>,
    size: &Out<usize>,
) -> Result<lode_status> {
    room.expect_apart(key, "payload")?;
    view.of(&open.table, |read| {
        with_record_memory(|payload| {
            if !read.get_into(key, payload)? {
                size.set(0);
                return Ok(LODE_NOT_FOUND);
            }
            room.fill(payload, size, "payload")?;
            Ok(LODE_OK)
        })
    })
}

/// The place of a payload among those of several: its first byte, and its bytes. `start` is
/// `LODE_MISSING` if there is no such record.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct lode_place {
    /// The first byte, counted from the start of all payloads.
    pub start: usize,
    /// The number of bytes.
    pub size: usize,
}

/// The start of a payload that is missing: `LODE_MISSING` of the header.
const MISSING: usize = usize::MAX;

/// Looks up several packed keys, which come one after another in `keys`, of `keys_size` bytes in
/// all. Copies the payloads one after another to `payloads`, which has room for
/// `payloads_capacity` bytes, and writes their bytes together to `payloads_size`. Writes the place
/// of each to `places`, which has room for `count`, one for each key.
///
/// The cache misses of the lookups overlap, so this is faster than single lookups. With `LODE_NOW`,
/// each lookup is by itself: commits may happen between them.
///
/// Fails as `lode_get_packed` does; `LODE_TOO_SMALL`, with the bytes that it needs in
/// `payloads_size`, so that the call can be made again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_many_packed(
    table: lode_table,
    view: lode_view,
    keys: *const c_void,
    keys_size: usize,
    payloads: *mut c_void,
    payloads_capacity: usize,
    payloads_size: *mut usize,
    places: *mut lode_place,
    count: usize,
) -> lode_status {
    guarded(|| {
        let room: Room<u8> = room!(payloads, payloads_capacity);
        let size = out!(payloads_size);
        let keys = bytes!(keys, keys_size);
        let places: Room<lode_place> = room!(places, count);
        room.expect_apart(keys, "payloads")?;
        places.expect_apart(keys, "places")?;
        let open = table.share()?;
        expect_keys(&open.table, keys, count)?;
        let needed = view.of(&open.table, |read| get_many(read, keys, &room, &places))?;
        size.set(needed);
        if needed > room.count() {
            return Err(Failure::too_small("payloads", room.count(), needed));
        }
        Ok(LODE_OK)
    })
}

/// Looks up keys. Copies the payloads that have room, and returns the bytes of all.
fn get_many(
    read: &dyn ReadTable,
    keys: &[u8],
    room: &Room<u8>,
    places: &Room<lode_place>,
) -> Result<usize> {
    let mut used = 0;
    read.get_many_with(keys, &mut |at, payload| {
        let place = match payload {
            Some(payload) => {
                if used + payload.len() <= room.count() {
                    room.put(used, payload);
                }
                used += payload.len();
                lode_place { start: used - payload.len(), size: payload.len() }
            }
            None => lode_place { start: MISSING, size: 0 },
        };
        places.put(at, &[place]);
    })?;
    Ok(used)
}

/// Refuses keys that are not `count` in all.
///
/// # Errors
/// `LODE_NOT_PACKED`, `LODE_BAD_ARGUMENT`.
fn expect_keys(table: &Table, keys: &[u8], count: usize) -> Result<()> {
    let schema = table.schema();
    let found = if schema.is_key_variable() {
        let mut rest = keys;
        let mut found = 0;
        while !rest.is_empty() {
            (rest, found) = (&rest[schema.key_length(rest)?..], found + 1);
        }
        found
    } else {
        // A part of a key is refused by the lookup.
        keys.len().div_ceil(schema.key_size().max(1))
    };
    if found == count {
        return Ok(());
    }
    let message = format!("there are {found} keys and {count} places; pass a place for each key");
    Err(Failure::argument(message))
}

/// Counts the records that `view` sees in a table; writes their number to `records`. It reads pages
/// of the index. Fails as `lode_get` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_count(
    table: lode_table,
    view: lode_view,
    records: *mut u64,
) -> lode_status {
    guarded(|| {
        let out = out!(records);
        let open = table.share()?;
        out.set(view.of(&open.table, |read| Ok(read.len()?))?);
        Ok(LODE_OK)
    })
}
