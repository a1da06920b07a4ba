//! The values that all conditions on one column allow together.

use std::fmt;
use std::ops::Bound;

use super::condition::Wanted;
use super::value::KeyValue;

/// The values that are allowed of a column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Allowed {
    /// Only these, in their order, each once.
    List(Vec<KeyValue>),
    Range {
        lower: Bound<KeyValue>,
        upper: Bound<KeyValue>,
    },
}

impl Allowed {
    /// All values.
    pub(crate) const ALL: Self = Self::Range { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Allows only what a condition wants, too.
    pub(crate) fn narrow(self, wanted: Wanted) -> Self {
        match (self, wanted) {
            (Self::Range { lower, upper }, Wanted::Range { lower: low, upper: high }) => {
                Self::Range { lower: higher(lower, low), upper: less(upper, high) }
            }
            (Self::List(mut values), Wanted::OneOf(wanted)) => {
                values.retain(|value| wanted.contains(value));
                Self::List(values)
            }
            (Self::List(mut values), Wanted::Range { lower, upper })
            | (Self::Range { lower, upper }, Wanted::OneOf(mut values)) => {
                values.retain(|value| is_above(value, &lower) && is_below(value, &upper));
                values.sort();
                values.dedup();
                Self::List(values)
            }
        }
    }

    /// Allows all from the first to the last of some values, which are in order.
    pub(crate) fn around(values: &[KeyValue]) -> Self {
        let bound = |value: Option<&KeyValue>| {
            value.map_or(Bound::Unbounded, |value| Bound::Included(value.clone()))
        };
        Self::Range { lower: bound(values.first()), upper: bound(values.last()) }
    }

    /// Returns the number of bounds of a range.
    pub(crate) fn count_bounds(&self) -> i32 {
        match self {
            Self::List(_) | Self::Range { lower: Bound::Unbounded, upper: Bound::Unbounded } => 0,
            Self::Range { lower: Bound::Unbounded, .. }
            | Self::Range { upper: Bound::Unbounded, .. } => 1,
            Self::Range { .. } => 2,
        }
    }

    /// Returns true if no value is allowed.
    pub(crate) fn is_nothing(&self) -> bool {
        match self {
            Self::List(values) => values.is_empty(),
            Self::Range { lower: Bound::Included(lower), upper: Bound::Included(upper) } => {
                lower > upper
            }
            Self::Range {
                lower: Bound::Included(lower) | Bound::Excluded(lower),
                upper: Bound::Included(upper) | Bound::Excluded(upper),
            } => lower >= upper,
            Self::Range { .. } => false,
        }
    }

    /// Writes it as a condition on a column.
    pub(crate) fn show(&self, column: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (lower, upper) = match self {
            Self::List(values) if values.len() == 1 => {
                return write!(f, "{column} = {}", values[0]);
            }
            Self::List(values) => {
                let values: Vec<_> = values.iter().map(ToString::to_string).collect();
                return write!(f, "{column} IN ({})", values.join(", "));
            }
            Self::Range { lower, upper } => (lower, upper),
        };
        match lower {
            Bound::Included(value) => write!(f, "{column} >= {value}")?,
            Bound::Excluded(value) => write!(f, "{column} > {value}")?,
            Bound::Unbounded => {}
        }
        if *lower != Bound::Unbounded && *upper != Bound::Unbounded {
            f.write_str(" AND ")?;
        }
        match upper {
            Bound::Included(value) => write!(f, "{column} <= {value}"),
            Bound::Excluded(value) => write!(f, "{column} < {value}"),
            Bound::Unbounded => Ok(()),
        }
    }
}

/// Returns the lower bound that allows less.
fn higher(one: Bound<KeyValue>, other: Bound<KeyValue>) -> Bound<KeyValue> {
    match &other {
        Bound::Unbounded => one,
        Bound::Included(value) | Bound::Excluded(value) if is_above(value, &one) => other,
        Bound::Included(_) | Bound::Excluded(_) => one,
    }
}

/// Returns the upper bound that allows less.
fn less(one: Bound<KeyValue>, other: Bound<KeyValue>) -> Bound<KeyValue> {
    match &other {
        Bound::Unbounded => one,
        Bound::Included(value) | Bound::Excluded(value) if is_below(value, &one) => other,
        Bound::Included(_) | Bound::Excluded(_) => one,
    }
}

fn is_above(value: &KeyValue, lower: &Bound<KeyValue>) -> bool {
    match lower {
        Bound::Included(lower) => value >= lower,
        Bound::Excluded(lower) => value > lower,
        Bound::Unbounded => true,
    }
}

fn is_below(value: &KeyValue, upper: &Bound<KeyValue>) -> bool {
    match upper {
        Bound::Included(upper) => value <= upper,
        Bound::Excluded(upper) => value < upper,
        Bound::Unbounded => true,
    }
}
