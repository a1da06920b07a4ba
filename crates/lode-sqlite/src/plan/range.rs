//! The values of a statement's conditions as keys, or as a range of keys.

use std::ops::Bound;

use lode::{Column, Cursor, KeyKind, ReadTable, Schema, Type, Value};
use rusqlite::types::ValueRef;

use crate::plan::{self, Plan};
use crate::values::position::{Cut, Position, is_float, position, same_number};

/// The records that a cursor is to find.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Nothing,
    /// The record with this packed key.
    Key(Vec<u8>),
    Range(Range),
}

/// A range of packed keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Range {
    lower: Bound<Vec<u8>>,
    upper: Bound<Vec<u8>>,
}

impl Range {
    const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Returns a cursor over those records of a table.
    pub(crate) fn of(&self, table: &impl ReadTable) -> Cursor {
        match (&self.lower, &self.upper) {
            // Hashed keys have no order.
            (Bound::Unbounded, Bound::Unbounded) => table.iter(),
            (lower, upper) => table.range_packed(slice(lower), slice(upper)),
        }
    }
}

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The end of a range of values of one column.
pub(super) struct Ends<'v> {
    pub lower: Cut<'v>,
    pub upper: Cut<'v>,
}

impl<'v> Ends<'v> {
    pub(super) const ALL: Self = Self { lower: Cut::Lowest, upper: Cut::Highest };

    /// Returns the ends around the values at a position; `None` if no value equals it.
    pub(super) fn equal(position: Position<'v>) -> Option<Self> {
        match position {
            Position::Null | Position::Absent => None,
            Position::Unknown => Some(Self::ALL),
            Position::Span { start, end } if start == end => None,
            Position::Span { start, end } => Some(Self { lower: start, upper: end }),
        }
    }

    /// Returns the only value inside, if it is known.
    pub(super) fn only(&self) -> Option<Value<'v>> {
        match (self.lower, self.upper) {
            (Cut::Before(first), Cut::After(last)) if is_same(first, last) => Some(first),
            _ => None,
        }
    }

    /// Returns the ends between the bounds of a column that `values` has; `None` if nothing is.
    pub(super) fn between(
        column: &Column,
        lower: Option<plan::Bound>,
        upper: Option<plan::Bound>,
        values: &[ValueRef<'v>],
    ) -> Option<Self> {
        let mut ends = Ends::ALL;
        let mut values = values.iter();
        if let Some(bound) = lower {
            ends.raise(bound, position(column.kind, *values.next()?))?;
        }
        if let Some(bound) = upper {
            ends.cap(bound, position(column.kind, *values.next()?))?;
        }
        if is_float(column.kind) && lower.or(upper).is_some() {
            // NaN is NULL to SQLite, and within no bounds.
            if ends.lower == Cut::Lowest {
                ends.lower = Cut::Before(Value::Float(f64::NEG_INFINITY));
            }
            if ends.upper == Cut::Highest {
                ends.upper = Cut::After(Value::Float(f64::INFINITY));
            }
        }
        Some(ends)
    }

    fn raise(&mut self, bound: plan::Bound, position: Position<'v>) -> Option<()> {
        match (position, bound) {
            (Position::Null, _) => return None,
            (Position::Absent | Position::Unknown, _) => {}
            (Position::Span { start, .. }, plan::Bound::Included) => self.lower = start,
            (Position::Span { end, .. }, plan::Bound::Excluded) => self.lower = end,
        }
        Some(())
    }

    fn cap(&mut self, bound: plan::Bound, position: Position<'v>) -> Option<()> {
        match (position, bound) {
            (Position::Null, _) => return None,
            (Position::Absent | Position::Unknown, _) => {}
            (Position::Span { end, .. }, plan::Bound::Included) => self.upper = end,
            (Position::Span { start, .. }, plan::Bound::Excluded) => self.upper = start,
        }
        Some(())
    }
}

/// Returns the only value of a column that equals one of SQLite's, if it is known.
pub(crate) fn only(kind: Type, value: ValueRef<'_>) -> Option<Value<'_>> {
    if let ValueRef::Integer(number) = value
        && let Some(same) = same_number(kind, number)
    {
        return Some(same);
    }
    Ends::equal(position(kind, value))?.only()
}

/// Returns what of a column equals one of SQLite's values: nothing; the only value, if it is known.
pub(crate) fn equals(kind: Type, value: ValueRef<'_>) -> Option<Option<Value<'_>>> {
    Ends::equal(position(kind, value)).map(|ends| ends.only())
}

/// Returns true if two values are the same, bit by bit: zero is not its negative.
fn is_same(one: Value<'_>, other: Value<'_>) -> bool {
    match (one, other) {
        (Value::Float(one), Value::Float(other)) => one.to_bits() == other.to_bits(),
        _ => one == other,
    }
}

impl Plan {
    /// Returns the target of a cursor with these values, which come as the plan says.
    ///
    /// # Errors
    /// The errors of packing keys.
    pub(crate) fn target(
        &self,
        schema: &Schema,
        kind: KeyKind,
        values: &[ValueRef<'_>],
    ) -> lode::Result<Target> {
        Ok(match self.find(schema, values)? {
            // Not one key: SQLite looks at the values of all records.
            Some(Target::Range(_)) if kind == KeyKind::Hash => Target::Range(Range::ALL),
            found => found.unwrap_or(Target::Nothing),
        })
    }

    fn find(&self, schema: &Schema, values: &[ValueRef<'_>]) -> lode::Result<Option<Target>> {
        let columns = &schema.columns()[..schema.key_columns()];
        let mut prefix = Vec::with_capacity(columns.len());
        for (column, value) in columns.iter().zip(values).take(self.equal) {
            let Some(ends) = Ends::equal(position(column.kind, *value)) else { return Ok(None) };
            match ends.only() {
                Some(value) => prefix.push(value),
                // SQLite looks at the values of the columns after it.
                None => return among(schema, &prefix, &ends),
            }
        }
        if prefix.len() == columns.len() {
            return Ok(Some(Target::Key(schema.pack_key(&prefix)?)));
        }
        let column = &columns[self.equal];
        let values = &values[self.equal..];
        let Some(ends) = Ends::between(column, self.lower, self.upper, values) else {
            return Ok(None);
        };
        among(schema, &prefix, &ends)
    }
}

/// Returns the records whose keys start with some values, and then have one between two ends.
fn among(schema: &Schema, prefix: &[Value<'_>], ends: &Ends<'_>) -> lode::Result<Option<Target>> {
    // The packed keys around all that start with the prefix and one value more, if there is one.
    let around = |value: Option<Value<'_>>| {
        schema.pack_prefix(&prefix.iter().copied().chain(value).collect::<Vec<_>>())
    };
    let is_all = prefix.is_empty();
    let lower = match ends.lower {
        Cut::Lowest if is_all => Bound::Unbounded,
        Cut::Lowest => Bound::Included(around(None)?.0),
        Cut::Before(value) => Bound::Included(around(Some(value))?.0),
        Cut::After(value) => Bound::Excluded(around(Some(value))?.1),
        Cut::Highest => return Ok(None),
    };
    let upper = match ends.upper {
        Cut::Highest if is_all => Bound::Unbounded,
        Cut::Highest => Bound::Included(around(None)?.1),
        Cut::After(value) => Bound::Included(around(Some(value))?.1),
        Cut::Before(value) => Bound::Excluded(around(Some(value))?.0),
        Cut::Lowest => return Ok(None),
    };
    Ok(Some(Target::Range(Range { lower, upper })))
}
