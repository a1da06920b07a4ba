//! Properties of entries: reading and writing them, and their types.

use std::ffi::{c_char, c_void};
use std::time::Duration;

use lode::Value;
use lode_volumes::{Kind, ValueRef};

use crate::argument::{Out, Room, optional_out, out, room, slice, text};
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenEntry, lode_entry};
use crate::status::lode_status::{self, LODE_NOT_FOUND, LODE_OK, LODE_VALUE_MISFIT};
use crate::value::{
    LODE_TYPE_F32, LODE_TYPE_F64, LODE_TYPE_I8, LODE_TYPE_I16, LODE_TYPE_I32, LODE_TYPE_I64,
    LODE_TYPE_U8, LODE_TYPE_U16, LODE_TYPE_U32, LODE_TYPE_U64, LODE_TYPE_VAR_BYTES,
    LODE_TYPE_VAR_TEXT, lode_type, lode_value,
};

/// Type of a property: the widest that its value has. It is of a call that sets a property only.
pub const LODE_TYPE_WIDEST: lode_type = 0;

/// The types of properties, by their numbers.
const TYPES: [(lode_type, Kind); 12] = [
    (LODE_TYPE_U8, Kind::U8),
    (LODE_TYPE_U16, Kind::U16),
    (LODE_TYPE_U32, Kind::U32),
    (LODE_TYPE_U64, Kind::U64),
    (LODE_TYPE_I8, Kind::I8),
    (LODE_TYPE_I16, Kind::I16),
    (LODE_TYPE_I32, Kind::I32),
    (LODE_TYPE_I64, Kind::I64),
    (LODE_TYPE_F32, Kind::F32),
    (LODE_TYPE_F64, Kind::F64),
    (LODE_TYPE_VAR_TEXT, Kind::Text),
    (LODE_TYPE_VAR_BYTES, Kind::Blob),
];

/// Returns the type of a number; `None` for the widest one.
///
/// # Errors
/// `LODE_BAD_ARGUMENT`.
fn kind_of(name: &str, number: lode_type) -> Result<Option<Kind>> {
    if number == LODE_TYPE_WIDEST {
        return Ok(None);
    }
    let found = TYPES.iter().find(|(known, _)| *known == number);
    found.map(|(_, kind)| Some(*kind)).ok_or_else(|| {
        Failure::argument(format!(
            "property {name}: there is no type {number} for properties; use LODE_TYPE_U8 to \
             LODE_TYPE_F64, LODE_TYPE_VAR_TEXT, LODE_TYPE_VAR_BYTES or LODE_TYPE_WIDEST"
        ))
    })
}

/// Returns the number of the type of a property.
pub(super) fn number_of(kind: Kind) -> lode_type {
    let found = TYPES.iter().find(|(_, known)| *known == kind);
    found.map_or(LODE_TYPE_WIDEST, |(number, _)| *number)
}

/// Returns the value for a property of a type, or of the widest one.
///
/// # Errors
/// `LODE_VALUE_MISFIT`, `LODE_NOT_UTF8`, `LODE_BAD_ARGUMENT`.
fn read<'v>(name: &str, number: lode_type, value: &'v lode_value) -> Result<ValueRef<'v>> {
    let kind = kind_of(name, number)?;
    let fitting = match (value.read_for_property(name)?, kind) {
        (Value::Unsigned(number), None) => Some(ValueRef::U64(number)),
        (Value::Signed(number), None) => Some(ValueRef::I64(number)),
        (Value::Unsigned(number), Some(kind)) => whole(number.into(), kind),
        (Value::Signed(number), Some(kind)) => whole(number.into(), kind),
        (Value::Float(number), None | Some(Kind::F64)) => Some(ValueRef::F64(number)),
        (Value::Float(number), Some(Kind::F32)) => {
            // Rounded, as in columns; but not to infinity.
            let rounded = number as f32;
            (rounded.is_finite() || !number.is_finite()).then_some(ValueRef::F32(rounded))
        }
        (Value::Text(text), None | Some(Kind::Text)) => Some(ValueRef::Text(text)),
        (Value::Bytes(bytes), None | Some(Kind::Blob)) => Some(ValueRef::Blob(bytes)),
        _ => None,
    };
    fitting.ok_or_else(|| {
        let message = match kind {
            Some(kind) => {
                format!("property {name}: the value does not fit {kind}; use another type")
            }
            None => format!("property {name}: it can be a number, a text or bytes only"),
        };
        Failure::new(LODE_VALUE_MISFIT, message)
    })
}

/// Returns a whole number in a type; `None` if it does not fit.
fn whole<'v>(number: i128, kind: Kind) -> Option<ValueRef<'v>> {
    Some(match kind {
        Kind::U8 => ValueRef::U8(number.try_into().ok()?),
        Kind::U16 => ValueRef::U16(number.try_into().ok()?),
        Kind::U32 => ValueRef::U32(number.try_into().ok()?),
        Kind::U64 => ValueRef::U64(number.try_into().ok()?),
        Kind::I8 => ValueRef::I8(number.try_into().ok()?),
        Kind::I16 => ValueRef::I16(number.try_into().ok()?),
        Kind::I32 => ValueRef::I32(number.try_into().ok()?),
        Kind::I64 => ValueRef::I64(number.try_into().ok()?),
        _ => return None,
    })
}

/// Returns the value for C of a property, whose bytes it points to.
pub(super) fn value_of(value: ValueRef<'_>) -> lode_value {
    lode_value::of(match value {
        ValueRef::U8(number) => Value::Unsigned(number.into()),
        ValueRef::U16(number) => Value::Unsigned(number.into()),
        ValueRef::U32(number) => Value::Unsigned(number.into()),
        ValueRef::U64(number) => Value::Unsigned(number),
        ValueRef::I8(number) => Value::Signed(number.into()),
        ValueRef::I16(number) => Value::Signed(number.into()),
        ValueRef::I32(number) => Value::Signed(number.into()),
        ValueRef::I64(number) => Value::Signed(number),
        ValueRef::F32(number) => Value::Float(number.into()),
        ValueRef::F64(number) => Value::Float(number),
        ValueRef::Text(text) => Value::Text(text),
        ValueRef::Blob(bytes) => Value::Bytes(bytes),
    })
}

/// Sets a property of an entry, whether it exists or not: its type, its value, and that it does not
/// expire. When this returns, it is as durable as the volume's level says.
///
/// `name` is UTF-8 of `name_size` bytes. `type` is one of `LODE_TYPE_U8` to `LODE_TYPE_F64`,
/// `LODE_TYPE_VAR_TEXT`, `LODE_TYPE_VAR_BYTES`, or `LODE_TYPE_WIDEST` for the type of 64 bits, text
/// or bytes that `value` has.
///
/// In a storage it is set in each volume that is mounted for writing; the entry is made where it is
/// missing.
///
/// Returns `LODE_VALUE_MISFIT`, `LODE_NOT_UTF8`; `LODE_VALUE_TOO_LONG` for more than 1 MiB; and as
/// `lode_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_set_property(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
    r#type: lode_type,
    value: *const lode_value,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        // SAFETY: the header asks for a pointer to a value.
        let value = unsafe { slice(value, 1, "value") }?;
        let value = read(name, r#type, &value[0])?;
        match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.set(name, value)?,
            OpenEntry::Storage(_, entry) => entry.set(name, value)?,
        }
        Ok(LODE_OK)
    })
}

/// The places for a property.
struct Place<'p> {
    room: &'p Room<u8>,
    size: &'p Out<usize>,
    kind: &'p Out<lode_type>,
    value: &'p Out<lode_value>,
}

impl Place<'_> {
    /// Writes a property to its places.
    #[inline]
    fn take(&self, value: ValueRef<'_>) -> Result<lode_status> {
        self.kind.set(number_of(value.kind()));
        let bytes = match value {
            ValueRef::Text(text) => Some(text.as_bytes()),
            ValueRef::Blob(bytes) => Some(bytes),
            _ => None,
        };
        self.room.fill(bytes.unwrap_or_default(), self.size, "buffer")?;
        let mut made = value_of(value);
        made.move_to(self.room.start());
        self.value.set(made);
        Ok(LODE_OK)
    }
}

/// Reads a property of an entry. Writes its value to `value` and its type to `type`; either may be
/// null.
///
/// A text or bytes are copied to `buffer`, which has room for `capacity` bytes, and their number is
/// written to `size`; `value` points to them there. Numbers need no buffer, and are 0 bytes. It
/// allocates nothing, and threads that read do not wait for one another.
///
/// In a storage the property is of the volume with the highest priority that has it.
///
/// Returns `LODE_NOT_FOUND` when there is no such property or it has expired, with 0 in `size`;
/// `LODE_TOO_SMALL`, with the bytes that it needs in `size`; `LODE_INVALID_NAME`, `LODE_GONE`; in a
/// storage `LODE_MOUNTS_CHANGED`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_get_property(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
    buffer: *mut c_void,
    capacity: usize,
    size: *mut usize,
    r#type: *mut lode_type,
    value: *mut lode_value,
) -> lode_status {
    guarded(|| {
        let (room, size): (Room<u8>, _) = (room!(buffer, capacity), out!(size));
        let kind = r#type;
        let (kind, value) = (optional_out!(kind), optional_out!(value));
        let name = text!(name, name_size);
        room.expect_apart(name.as_bytes(), "buffer")?;
        let place = Place { room: &room, size: &size, kind: &kind, value: &value };
        let found = match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.with_property(name, |value| place.take(value))?,
            OpenEntry::Storage(_, entry) => entry.with_property(name, |value| place.take(value))?,
        };
        found.unwrap_or_else(|| {
            size.set(0);
            Ok(LODE_NOT_FOUND)
        })
    })
}

/// Returns `LODE_OK` if an entry has a property, and `LODE_NOT_FOUND` if not. `name` is UTF-8 of
/// `name_size` bytes. Fails as `lode_get_property` does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_has_property(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        let has = match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.has_property(name)?,
            OpenEntry::Storage(_, entry) => entry.has_property(name)?,
        };
        Ok(found(has))
    })
}

fn found(is_there: bool) -> lode_status {
    if is_there { LODE_OK } else { LODE_NOT_FOUND }
}

/// Removes a property of an entry. `name` is UTF-8 of `name_size` bytes. In a storage it is removed
/// from each volume that is mounted for writing; one that is read-only may have it still.
///
/// Returns `LODE_NOT_FOUND` when there is no such property; and as `lode_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_remove_property(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        let was_there = match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.remove_property(name)?,
            OpenEntry::Storage(_, entry) => entry.remove_property(name)?,
        };
        Ok(found(was_there))
    })
}

/// Lets a property of an entry expire `after_us` microseconds from now. From then on no one sees
/// it, also after the volume was opened again, or the system's clock was set back. Setting it again
/// ends that.
///
/// Returns `LODE_NOT_FOUND` when there is no such property; `LODE_EXPIRY_TOO_FAR`; and as
/// `lode_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_expire_property(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
    after_us: u64,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        let after = Duration::from_micros(after_us);
        let was_there = match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.expire_property(name, after)?,
            OpenEntry::Storage(_, entry) => entry.expire_property(name, after)?,
        };
        Ok(found(was_there))
    })
}

/// Lets a property of an entry stay that would have expired.
///
/// Returns `LODE_NOT_FOUND` when there is no such property; and as `lode_link`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_cancel_expiration(
    entry: lode_entry,
    name: *const c_char,
    name_size: usize,
) -> lode_status {
    guarded(|| {
        let name = text!(name, name_size);
        let was_there = match &*entry.share()? {
            OpenEntry::Volume(entry) => entry.cancel_expiration(name)?,
            OpenEntry::Storage(_, entry) => entry.cancel_expiration(name)?,
        };
        Ok(found(was_there))
    })
}
