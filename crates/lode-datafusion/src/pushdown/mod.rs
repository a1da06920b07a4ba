//! Filters of a query as keys, or as ranges of keys.

mod allowed;
mod condition;
mod range;
mod value;

use std::fmt;

use datafusion::logical_expr::{Expr, TableProviderFilterPushDown};
use lode::{KeyKind, Schema};

use self::allowed::Allowed;
use self::condition::Condition;
pub(crate) use self::range::KeyRange;
use self::value::KeyValue;

/// The most keys, or ranges of keys, that a query finds one by one. With more of them all between
/// the first and the last is read.
const MOST_TARGETS: usize = 1_000;

/// The records to read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    /// Records with these packed keys; in a tree, in their order.
    Keys(Vec<Vec<u8>>),
    /// Records in these ranges, which are in order and do not overlap.
    Ranges(Vec<KeyRange>),
}

/// The conditions of filters on the columns of a key, as far as they help to find records.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pushdown<'s> {
    schema: &'s Schema,
    /// The allowed values of the first columns of the key: lists, and of the last one maybe a
    /// range.
    used: Vec<Allowed>,
    /// The number of `used` columns whose allowed values are found exactly.
    exact: usize,
    /// True if no record fulfils all filters.
    is_nothing: bool,
}

impl<'s> Pushdown<'s> {
    /// Returns the usable part of filters that all hold.
    pub(crate) fn of<'f>(
        filters: impl IntoIterator<Item = &'f Expr>,
        schema: &'s Schema,
        kind: KeyKind,
    ) -> Self {
        let mut all = vec![Allowed::ALL; schema.key_columns()];
        for condition in filters.into_iter().filter_map(|filter| Condition::of(filter, schema)) {
            let allowed = std::mem::replace(&mut all[condition.column], Allowed::ALL);
            all[condition.column] = allowed.narrow(condition.wanted);
        }
        let is_nothing = all.iter().any(Allowed::is_nothing);
        let (used, exact) = match kind {
            KeyKind::Tree => in_order(all),
            KeyKind::Hash => whole_keys(all),
        };
        Self { schema, used, exact, is_nothing }
    }

    /// Returns how a filter is supported. DataFusion may drop any other one that it finds to be
    /// always true, so exact is only what each filter by itself finds exactly.
    pub(crate) fn support(
        filter: &Expr,
        schema: &'s Schema,
        kind: KeyKind,
    ) -> TableProviderFilterPushDown {
        match Self::of([filter], schema, kind).exact {
            _ if Condition::of(filter, schema).is_none() => {
                TableProviderFilterPushDown::Unsupported
            }
            // Together with others it may help to find records.
            0 => TableProviderFilterPushDown::Inexact,
            _ => TableProviderFilterPushDown::Exact,
        }
    }

    /// Returns the records to read.
    ///
    /// # Errors
    /// The errors of packing keys.
    pub(crate) fn target(&self) -> lode::Result<Target> {
        if self.is_nothing {
            return Ok(Target::Keys(Vec::new()));
        }
        let mut prefixes: Vec<Vec<&KeyValue>> = vec![Vec::new()];
        let mut range = None;
        for allowed in &self.used {
            match allowed {
                Allowed::List(values) => prefixes = with_each(&prefixes, values),
                Allowed::Range { lower, upper } => range = Some((lower.as_ref(), upper.as_ref())),
            }
        }
        let is_whole = self.used.len() == self.schema.key_columns() && range.is_none();
        if is_whole {
            let keys = prefixes.iter().map(|key| {
                let values: Vec<_> = key.iter().map(|value| value.value()).collect();
                self.schema.pack_key(&values)
            });
            return Ok(Target::Keys(keys.collect::<lode::Result<_>>()?));
        }
        let ranges = prefixes.iter().map(|prefix| KeyRange::of(self.schema, prefix, range));
        Ok(Target::Ranges(ranges.collect::<lode::Result<_>>()?))
    }

    /// Returns the only values of the first columns of the key, as far as each has one.
    pub(crate) fn fixed(&self) -> Vec<&KeyValue> {
        let only = self.used.iter().map_while(|allowed| match allowed {
            Allowed::List(values) if values.len() == 1 => values.first(),
            Allowed::List(_) | Allowed::Range { .. } => None,
        });
        only.collect()
    }

    /// Estimates how many of `rows` records are found.
    pub(crate) fn estimate(&self, rows: u64) -> u64 {
        if self.is_nothing {
            return 0;
        }
        let mut found = rows as f64;
        let keys = self.schema.key_columns() as f64;
        for allowed in &self.used {
            // Each column of the key is taken to distinguish as many records as the others.
            found = match allowed {
                Allowed::List(values) => {
                    found / (rows as f64).powf(1.0 / keys) * values.len() as f64
                }
                range @ Allowed::Range { .. } => found / 4f64.powi(range.count_bounds()),
            };
        }
        (found.ceil() as u64).min(rows)
    }
}

impl fmt::Display for Pushdown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, (allowed, column)) in self.used.iter().zip(self.schema.columns()).enumerate() {
            f.write_str(if at == 0 { "" } else { " AND " })?;
            allowed.show(&column.name, f)?;
        }
        Ok(())
    }
}

/// Returns the usable conditions where keys are in order: lists of the first columns, and what is
/// allowed of the one after them; and of how many columns that is found exactly.
fn in_order(all: Vec<Allowed>) -> (Vec<Allowed>, usize) {
    let mut used = Vec::new();
    let mut targets = 1;
    for allowed in all {
        match &allowed {
            Allowed::List(values) if targets * values.len().max(1) <= MOST_TARGETS => {
                targets *= values.len().max(1);
                used.push(allowed);
            }
            Allowed::List(values) => {
                let exact = used.len();
                used.push(Allowed::around(values));
                return (used, exact);
            }
            allowed if *allowed == Allowed::ALL => break,
            Allowed::Range { .. } => {
                used.push(allowed);
                break;
            }
        }
    }
    let exact = used.len();
    (used, exact)
}

/// Returns the usable conditions where keys are hashed: lists of all columns, or nothing.
fn whole_keys(all: Vec<Allowed>) -> (Vec<Allowed>, usize) {
    let mut targets = 1;
    for allowed in &all {
        match allowed {
            Allowed::List(values) if targets * values.len().max(1) <= MOST_TARGETS => {
                targets *= values.len().max(1);
            }
            _ => return (Vec::new(), 0),
        }
    }
    let exact = all.len();
    (all, exact)
}

/// Joins each of some starts of keys with each of some values after it.
fn with_each<'v>(prefixes: &[Vec<&'v KeyValue>], values: &'v [KeyValue]) -> Vec<Vec<&'v KeyValue>> {
    let longer =
        |prefix: &Vec<&'v KeyValue>, value| prefix.iter().copied().chain([value]).collect();
    let each =
        prefixes.iter().flat_map(|prefix| values.iter().map(move |value| longer(prefix, value)));
    each.collect()
}
