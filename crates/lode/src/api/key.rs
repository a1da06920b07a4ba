//! Keys as callers pass them.

use std::ops::{Bound, RangeBounds};

use crate::decimal::Decimal;
use crate::error::Result;
use crate::schema::{Column, Schema, Type, Value};

/// A key of a table:
///
/// - bytes that [`Schema::pack_key`] packed: `&[u8]`, `[u8; N]`, `Vec<u8>`;
/// - the [`Value`]s of the columns of the key: a slice, an array, a `Vec`;
/// - the value of the only column of the key: a number, a [`Decimal`], `bool`, `&str`, `String`, a
///   [`Value`];
/// - a tuple of such values, if the key has several columns.
///
/// Numbers are of any type that fits their column. Bytes are a packed key; as a value they are
/// [`Value::Bytes`].
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("city").key("country", Type::Text(2)).key("name", Type::Text(32));
/// let cities = db.create_table(&schema.column("people", Type::U64).finish()?, KeyKind::Hash)?;
/// let bern = [Value::Text("CH"), Value::Text("Bern"), Value::Unsigned(134_591)];
/// cities.insert(&cities.schema().pack(&bern)?)?;
///
/// assert!(cities.contains(("CH", "Bern"))?);
/// assert!(cities.contains(&bern[..2])?);
/// assert!(cities.contains(cities.schema().pack_key(&bern[..2])?)?);
/// assert!(!cities.contains(("CH", "Thun"))?);
/// # Ok::<(), lode::Error>(())
/// ```
pub trait Key {
    /// Calls `work` with the packed key, and returns its result.
    ///
    /// # Errors
    /// Those of `work`. `ValueCount`, `ValueMisfit` and `KeyTooLong` when the values do not fit the
    /// columns of the key. Bytes are passed on as they are: `work` has to refuse those that are no
    /// key.
    fn with_packed<T>(&self, schema: &Schema, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T>;
}

impl<K: Key + ?Sized> Key for &K {
    #[inline]
    fn with_packed<T>(&self, schema: &Schema, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        (**self).with_packed(schema, work)
    }
}

/// Implements [`Key`] for bytes that are packed already.
macro_rules! packed_keys {
    ($([$($parameter:tt)*] $bytes:ty),*) => {$(
        impl<$($parameter)*> Key for $bytes {
            #[inline]
            fn with_packed<T>(
                &self,
                _: &Schema,
                work: impl FnOnce(&[u8]) -> Result<T>,
            ) -> Result<T> {
                work(self)
            }
        }
    )*};
}
packed_keys!([] [u8], [] Vec<u8>, [const N: usize] [u8; N]);

/// Implements [`Key`] for the values of all columns of the key.
macro_rules! keys_of_values {
    ($([$($parameter:tt)*] $values:ty),*) => {$(
        impl<$($parameter)*> Key for $values {
            fn with_packed<T>(
        &self,
        schema: &Schema,
        work: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
                schema.pack_key(self).and_then(|key| work(&key))
            }
        }
    )*};
}
keys_of_values!(['v] [Value<'v>], ['v] Vec<Value<'v>>, ['v, const N: usize] [Value<'v>; N]);

/// The value of one column of a key. See [`Key`].
///
/// ```
/// use lode::{Column, Database, KeyKind, KeyPart, ReadTable, Schema, Type, Value};
///
/// /// The number of a customer.
/// struct Customer(u32);
///
/// impl KeyPart for Customer {
///     fn value(&self, _: &Column) -> Value<'_> {
///         Value::Unsigned(self.0.into())
///     }
/// }
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("order").key("customer", Type::U32).key("number", Type::U16);
/// let orders = db.create_table(&schema.finish()?, KeyKind::Tree)?;
/// orders.insert(&[7, 0, 0, 0, 1, 0])?;
/// assert!(orders.contains((Customer(7), 1))?);
/// # Ok::<(), lode::Error>(())
/// ```
pub trait KeyPart {
    /// Returns the value for a column of the key; one that does not fit the column, if this does
    /// not.
    fn value(&self, column: &Column) -> Value<'_>;
}

impl<P: KeyPart + ?Sized> KeyPart for &P {
    fn value(&self, column: &Column) -> Value<'_> {
        (**self).value(column)
    }
}

impl KeyPart for Value<'_> {
    fn value(&self, _: &Column) -> Value<'_> {
        *self
    }
}

impl KeyPart for str {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Text(self)
    }
}

impl KeyPart for String {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Text(self)
    }
}

impl KeyPart for Decimal {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Decimal(*self)
    }
}

impl KeyPart for bool {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Bool(*self)
    }
}

impl KeyPart for f32 {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Float((*self).into())
    }
}

impl KeyPart for f64 {
    fn value(&self, _: &Column) -> Value<'_> {
        Value::Float(*self)
    }
}

/// Returns a whole number as the value of a column: signed or not, as the column is, if it can be.
fn whole_number(number: i128, column: &Column) -> Value<'static> {
    let signed = i64::try_from(number);
    match (column.kind, u64::try_from(number), signed) {
        (Type::Timestamp, _, Ok(micros)) => Value::Timestamp(micros),
        (Type::Decimal { .. }, Ok(number), _) => Value::Decimal(number.into()),
        (Type::Decimal { .. }, _, Ok(number)) => Value::Decimal(number.into()),
        (Type::I8 | Type::I16 | Type::I32 | Type::I64, _, Ok(number)) => Value::Signed(number),
        (_, Ok(number), _) => Value::Unsigned(number),
        (.., signed) => Value::Signed(signed.unwrap_or(i64::MIN)),
    }
}

macro_rules! whole_numbers {
    ($($number:ty),*) => {$(
        impl KeyPart for $number {
            fn value(&self, column: &Column) -> Value<'_> {
                whole_number((*self).into(), column)
            }
        }
    )*};
}
whole_numbers!(u8, u16, u32, u64, i8, i16, i32, i64);

/// Implements [`Key`] for keys of one column.
macro_rules! single_keys {
    ($($part:ty),*) => {$(
        impl Key for $part {
            fn with_packed<T>(
        &self,
        schema: &Schema,
        work: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
                with_parts(schema, &[&|column| self.value(column)], work)
            }
        }
    )*};
}
single_keys!(u8, u16, u32, u64, i8, i16, i32, i64, bool, f32, f64, Decimal, str, String, Value<'_>);

/// Implements [`Key`] for keys of several columns.
macro_rules! tuple_keys {
    ($(($($part:ident $at:tt),*)),*) => {$(
        impl<$($part: KeyPart),*> Key for ($($part,)*) {
            fn with_packed<T>(
        &self,
        schema: &Schema,
        work: impl FnOnce(&[u8]) -> Result<T>,
    ) -> Result<T> {
                with_parts(schema, &[$(&|column| self.$at.value(column)),*], work)
            }
        }
    )*};
}
tuple_keys!(
    (A 0, B 1),
    (A 0, B 1, C 2),
    (A 0, B 1, C 2, D 3),
    (A 0, B 1, C 2, D 3, E 4),
    (A 0, B 1, C 2, D 3, E 4, F 5)
);

/// The most columns of a key that is a tuple.
const MOST_PARTS: usize = 6;

/// A function that returns the value of a column of the key.
type Part<'p> = &'p dyn Fn(&Column) -> Value<'p>;

fn with_parts<T>(
    schema: &Schema,
    parts: &[Part<'_>],
    work: impl FnOnce(&[u8]) -> Result<T>,
) -> Result<T> {
    let columns = &schema.columns()[..schema.key_columns()];
    schema.expect_count(columns, parts.len())?;
    let mut values = [Value::Null; MOST_PARTS];
    for ((part, column), value) in parts.iter().zip(columns).zip(&mut values) {
        *value = part(column);
    }
    schema.pack_key(&values[..parts.len()]).and_then(|key| work(&key))
}

/// Returns the packed bounds of a range, the lower one first.
pub(super) fn pack_bounds<K: Key>(
    keys: &impl RangeBounds<K>,
    schema: &Schema,
) -> Result<[Bound<Vec<u8>>; 2]> {
    let copy = |key: &[u8]| Ok(key.to_vec());
    let pack = |bound: Bound<&K>| {
        Ok(match bound {
            Bound::Included(key) => Bound::Included(key.with_packed(schema, copy)?),
            Bound::Excluded(key) => Bound::Excluded(key.with_packed(schema, copy)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    };
    Ok([pack(keys.start_bound())?, pack(keys.end_bound())?])
}
