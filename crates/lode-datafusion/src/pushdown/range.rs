//! Ranges of packed keys.

use std::ops::Bound;

use lode::Schema;

use super::value::KeyValue;

/// A range of packed keys.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct KeyRange {
    pub(crate) lower: Bound<Vec<u8>>,
    pub(crate) upper: Bound<Vec<u8>>,
}

impl KeyRange {
    /// All keys.
    pub(crate) const ALL: Self = Self { lower: Bound::Unbounded, upper: Bound::Unbounded };

    /// Returns the keys that start with some values and have one within bounds after them.
    ///
    /// # Errors
    /// The errors of packing keys.
    pub(super) fn of(
        schema: &Schema,
        prefix: &[&KeyValue],
        bounds: Option<(Bound<&KeyValue>, Bound<&KeyValue>)>,
    ) -> lode::Result<Self> {
        // The lowest and the highest key that start with the prefix and one value more, if any.
        let around = |value: Option<&KeyValue>| {
            let values = prefix.iter().copied().chain(value).map(KeyValue::value);
            schema.pack_prefix(&values.collect::<Vec<_>>())
        };
        let (lower, upper) = bounds.unwrap_or((Bound::Unbounded, Bound::Unbounded));
        let is_all = prefix.is_empty();
        Ok(Self {
            lower: match lower {
                Bound::Unbounded if is_all => Bound::Unbounded,
                Bound::Unbounded => Bound::Included(around(None)?.0),
                Bound::Included(value) => Bound::Included(around(Some(value))?.0),
                Bound::Excluded(value) => Bound::Excluded(around(Some(value))?.1),
            },
            upper: match upper {
                Bound::Unbounded if is_all => Bound::Unbounded,
                Bound::Unbounded => Bound::Included(around(None)?.1),
                Bound::Included(value) => Bound::Included(around(Some(value))?.1),
                Bound::Excluded(value) => Bound::Excluded(around(Some(value))?.0),
            },
        })
    }

    /// Splits the keys into parts. Each starts at one of `keys`, which are in order and inside.
    pub(crate) fn split_at(&self, keys: Vec<Vec<u8>>) -> Vec<Self> {
        let mut parts = Vec::with_capacity(keys.len() + 1);
        let mut lower = self.lower.clone();
        for key in keys {
            let upper = Bound::Excluded(key.clone());
            parts.push(Self { lower, upper });
            lower = Bound::Included(key);
        }
        parts.push(Self { lower, upper: self.upper.clone() });
        parts
    }
}
