//! Indexes that are built while a statement runs, for joins on columns that are no key.
//!
//! SQLite builds none for virtual tables. So a condition of equality on any column is taken. The
//! first time a cursor looks for a value, it reads all records that the rest of the plan finds.
//! Once it looks for another value among the same records, they are indexed: each record's key,
//! under a hash of the columns. So what looks once builds nothing, and a join reads its inner table
//! twice at most, and then what it finds. What is found may be more than what is equal: SQLite
//! compares again.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;
use std::rc::Rc;

use lode::{Cursor, RowRef, Schema, Type, Value};
use rusqlite::types::ValueRef;
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};
use crate::plan::range::{Target, equals};
use crate::values::collation;
use crate::values::decimal::Form;
use crate::values::position::is_float;

/// The most memory of one index. Beyond that, records are read anew for each value.
pub(crate) const MOST_INDEX_BYTES: usize = 256 << 20;

/// Bytes that say how long a key is.
const LENGTH_BYTES: usize = 2;

/// Keys of records under hashes.
#[derive(Debug, Default)]
pub(crate) struct Index {
    /// Hashes in order, each with the start of its key; of one hash in the order of records.
    entries: Vec<(u64, u32)>,
    keys: Vec<u8>,
}

/// The values that a column is looked up by.
enum Probe {
    /// No value: nothing is equal.
    Nothing,
    /// A value that is in the hash.
    Hashed,
    /// Any value, since any may be equal.
    Any,
}

/// The keys that an index has for values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Lookup {
    Nothing,
    /// The numbers of entries.
    Entries(Range<usize>),
    /// All records are to be read: the index does not know.
    All,
}

/// Hashes a text: texts that any collation of SQLite takes for equal have one hash.
fn hash_text(hasher: &mut DefaultHasher, text: &[u8]) {
    let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
    let end = text[..end].iter().rposition(|byte| *byte != b' ').map_or(0, |last| last + 1);
    text[..end].iter().for_each(|byte| hasher.write_u8(byte.to_ascii_lowercase()));
    hasher.write_u8(0xff);
}

/// Hashes a value; returns false for what equals nothing.
fn hash_value(hasher: &mut DefaultHasher, value: Value<'_>) -> bool {
    match value {
        Value::Unsigned(number) => hasher.write_i128(number.into()),
        Value::Signed(number) | Value::Timestamp(number) => hasher.write_i128(number.into()),
        Value::Bool(truth) => hasher.write_i128(truth.into()),
        // The zeros are equal.
        Value::Float(0.0) => hasher.write_u64(0),
        Value::Float(number) if number.is_nan() => return false,
        Value::Float(number) => hasher.write_u64(number.to_bits()),
        Value::Bytes(bytes) => {
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
        Value::Text(text) => hash_text(hasher, text.as_bytes()),
        // Whatever digits come after the point.
        Value::Decimal(number) => number.hash(hasher),
        _ => return false,
    }
    true
}

fn is_text(kind: Type) -> bool {
    matches!(kind, Type::Text(_) | Type::VarText(_))
}

/// Hashes a record's columns; returns `None` if one of them equals nothing.
fn hash_row(schema: &Schema, columns: &[usize], row: RowRef<'_>) -> Option<u64> {
    let mut hasher = DefaultHasher::new();
    for column in columns.iter().map(|column| &schema.columns()[*column]) {
        if is_text(column.kind) {
            // Also what is no UTF-8.
            hash_text(&mut hasher, row.bytes_at(column.id())?);
        } else if !hash_value(&mut hasher, row.at(column.id())) {
            return None;
        }
    }
    Some(hasher.finish())
}

/// Hashes a value of SQLite that is compared with a column.
fn probe(hasher: &mut DefaultHasher, kind: Type, value: ValueRef<'_>) -> Probe {
    match (is_text(kind), value) {
        (_, ValueRef::Null) | (true, ValueRef::Blob(_)) => Probe::Nothing,
        (false, value) if is_decimal_text(kind) => probe_decimal(hasher, value),
        (true, ValueRef::Text(text)) => {
            hash_text(hasher, text);
            Probe::Hashed
        }
        (true, _) => Probe::Any,
        (false, value) => match equals(kind, value) {
            None => Probe::Nothing,
            Some(Some(equal)) if hash_value(hasher, equal) => Probe::Hashed,
            Some(None) if is_float(kind) => {
                // Only zero equals several.
                hash_value(hasher, Value::Float(0.0));
                Probe::Hashed
            }
            Some(_) => Probe::Any,
        },
    }
}

/// Checks whether a column has decimals that are text in SQL.
fn is_decimal_text(kind: Type) -> bool {
    match kind {
        Type::Decimal { precision, scale } => Form::of(precision, scale) == Form::Text,
        _ => false,
    }
}

/// Hashes a value that is compared with decimals that are text in SQL. What any collation of the
/// plan takes for equal to such a text is the same decimal, or a number of more than 38 digits.
/// With a number SQLite may compare doubles, to which many decimals can be equal.
fn probe_decimal(hasher: &mut DefaultHasher, value: ValueRef<'_>) -> Probe {
    match value {
        ValueRef::Null | ValueRef::Blob(_) => Probe::Nothing,
        ValueRef::Integer(_) | ValueRef::Real(_) => Probe::Any,
        ValueRef::Text(text) => match str::from_utf8(text).ok().and_then(collation::parse) {
            Some(number) => {
                number.hash(hasher);
                Probe::Hashed
            }
            None => Probe::Any,
        },
    }
}

impl Index {
    /// Indexes the records of a cursor by columns; returns `None` if that takes too much memory.
    pub(crate) fn build(
        cursor: &mut Cursor,
        schema: &Schema,
        columns: &[usize],
        most_bytes: usize,
    ) -> Result<Option<Self>> {
        let mut index = Self::default();
        let key_columns = &schema.columns()[..schema.key_columns()];
        while let Some(row) = cursor.next_row().map_err(|cause| of_engine(&cause))? {
            let Some(hash) = hash_row(schema, columns, row) else { continue };
            let values: Vec<_> = key_columns.iter().map(|column| row.at(column.id())).collect();
            let key = schema.pack_key(&values).map_err(|cause| of_engine(&cause))?;
            let at = u32::try_from(index.keys.len());
            let length = u16::try_from(key.len()).map_err(|_| {
                error(ffi::SQLITE_TOOBIG, "a key is longer than keys of Lode can be")
            })?;
            index.keys.extend_from_slice(&length.to_le_bytes());
            index.keys.extend_from_slice(&key);
            match at {
                Ok(at) if index.size_bytes() <= most_bytes => index.entries.push((hash, at)),
                _ => return Ok(None),
            }
        }
        // Keys of one hash stay in the order of the records.
        index.entries.sort_unstable();
        Ok(Some(index))
    }

    fn size_bytes(&self) -> usize {
        self.keys.len() + self.entries.len() * size_of::<(u64, u32)>()
    }

    /// Finds what may be equal to values, which are of these columns.
    pub(crate) fn find(
        &self,
        schema: &Schema,
        columns: &[usize],
        values: &[ValueRef<'_>],
    ) -> Lookup {
        let mut hasher = DefaultHasher::new();
        let mut is_known = true;
        for (column, value) in columns.iter().zip(values) {
            match probe(&mut hasher, schema.columns()[*column].kind, *value) {
                Probe::Nothing => return Lookup::Nothing,
                Probe::Hashed => {}
                Probe::Any => is_known = false,
            }
        }
        if !is_known {
            return Lookup::All;
        }
        let hash = hasher.finish();
        let start = self.entries.partition_point(|(other, _)| *other < hash);
        let end = self.entries.partition_point(|(other, _)| *other <= hash);
        Lookup::Entries(start..end)
    }

    /// Returns the packed key of an entry.
    pub(crate) fn key(&self, number: usize) -> Option<&[u8]> {
        let (_, at) = self.entries.get(number)?;
        let rest = &self.keys[*at as usize..];
        let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
        rest.get(..u16::from_le_bytes(*length).into())
    }
}

/// The knowledge about a plan while a statement runs.
#[derive(Default)]
pub(crate) struct Transient {
    /// The records of the lookups, and their moment.
    targets: Vec<Target>,
    moment: Moment,
    /// The number of lookups among the records.
    looks: u64,
    index: Option<Rc<Index>>,
    is_too_large: bool,
}

/// The content of a table at one moment, as far as one connection sees it: two that are equal have
/// the same records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Moment {
    pub snapshot: u64,
    pub writes: u64,
}

/// A cursor's next step.
pub(crate) enum Way {
    /// Reading all records of the targets.
    Read,
    /// Building an index of the records.
    Build,
    /// Looking in the index.
    Look(Rc<Index>),
}

impl Transient {
    /// Notes that a cursor looks among the records of targets at a moment.
    pub(crate) fn look(&mut self, targets: &[Target], moment: Moment) -> Way {
        if self.moment != moment || self.targets != targets {
            let targets = targets.to_vec();
            *self = Self { targets, moment, ..Self::default() };
        }
        self.looks += 1;
        match &self.index {
            Some(index) => Way::Look(Rc::clone(index)),
            None if self.looks > 1 && !self.is_too_large => Way::Build,
            None => Way::Read,
        }
    }

    /// Keeps an index that was built; `None` if it is too large.
    pub(crate) fn keep(&mut self, index: Option<&Rc<Index>>) {
        self.is_too_large = index.is_none();
        self.index = index.map(Rc::clone);
    }
}

#[cfg(test)]
mod tests {
    use lode::{Database, KeyKind, ReadTable};

    use super::*;

    #[test]
    fn an_index_finds_all_that_may_be_equal_and_is_bounded() {
        let db = Database::in_memory().expect("memory");
        let schema = Schema::build("t").key("id", Type::VarText(4)).nullable("x", Type::F64);
        let schema = schema.nullable("word", Type::VarText(9)).finish().expect("a schema");
        let table = db.create_table(&schema, KeyKind::Tree).expect("a table");
        let float = |number| Value::Float(number);
        for (id, x, word) in [
            ("a", float(0.0), Value::Text("One")),
            ("b", float(-0.0), Value::Text("one  ")),
            ("c", float(1.5), Value::Null),
            ("d", Value::Null, Value::Text("ONE\0two")),
            ("e", float(f64::NAN), Value::Text("two")),
        ] {
            table.insert(&schema.pack(&[Value::Text(id), x, word]).expect("fits")).expect("room");
        }
        let build = |columns: &[usize], most_bytes| {
            Index::build(&mut table.iter(), &schema, columns, most_bytes).expect("it is read")
        };
        let found = |index: &Index, columns: &[usize], value: ValueRef<'_>| match index.find(
            &schema,
            columns,
            &[value],
        ) {
            Lookup::Entries(range) => {
                let key = |number| -> String {
                    let key = index.key(number).expect("an entry");
                    // Its letter comes last.
                    String::from_utf8_lossy(&key[key.len() - 1..]).into()
                };
                range.map(key).collect::<String>()
            }
            other => format!("{other:?}"),
        };
        let x = build(&[1], 1_000).expect("small");
        let word = build(&[2], 1_000).expect("small");
        for (value, ids) in [
            (ValueRef::Integer(0), "ab"),
            (ValueRef::Real(1.5), "c"),
            (ValueRef::Text(b" 1.5"), "c"),
            (ValueRef::Text(b"x"), "Nothing"),
            (ValueRef::Null, "Nothing"),
            (ValueRef::Blob(b"x"), "Nothing"),
            (ValueRef::Integer(7), ""),
        ] {
            assert_eq!(found(&x, &[1], value), ids, "{value:?}");
        }
        for (value, ids) in [
            (ValueRef::Text(b"oNE"), "abd"),
            (ValueRef::Text(b"TWO "), "e"),
            (ValueRef::Integer(1), "All"),
            (ValueRef::Null, "Nothing"),
        ] {
            assert_eq!(found(&word, &[2], value), ids, "{value:?}");
        }
        assert!(build(&[1], 20).is_none(), "it is beyond its bound");
    }
}
