//! Plans that find rows by a secondary index: the index has the keys, and each row is read by its
//! key. SQLite looks at the conditions again.

use std::ops;

use lode::{ColumnId, IndexSchema, Schema, Value};
use rusqlite::Result;
use rusqlite::types::ValueRef;
use rusqlite::vtab::IndexInfo;

use super::range::Ends;
use super::{Bound, Conditions, Order, Plan, Planned, is_text};
use crate::values::position::{Cut, is_float, is_single, position};

/// A range of values of the first columns of an index.
pub(crate) type Values<'v> = (ops::Bound<Vec<Value<'v>>>, ops::Bound<Vec<Value<'v>>>);

/// A way to rows by a secondary index. The values that it needs come in this order: those of its
/// first columns, the bounds of the next one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Secondary {
    pub name: String,
    /// The places in the table of its columns.
    columns: Vec<usize>,
    is_unique: bool,
    /// The number of its columns whose values are given.
    equal: usize,
    /// Bounds of the column after those.
    lower: Option<Bound>,
    upper: Option<Bound>,
    pub is_backward: bool,
}

impl Planned<'_> {
    /// Returns the best way by an index, if it costs less than `most`.
    pub(super) fn secondary(
        &self,
        info: &IndexInfo,
        found: &Conditions,
        most: f64,
    ) -> Result<Option<Secondary>> {
        let mut best = None;
        let mut least = most;
        for index in self.indexes {
            if let Some(secondary) = self.way(info, found, index)? {
                let (_, cost) = self.estimate_by(&secondary);
                if cost < least {
                    (best, least) = (Some(secondary), cost);
                }
            }
        }
        Ok(best)
    }

    /// Returns the way by an index, if there are conditions on its first columns.
    fn way(
        &self,
        info: &IndexInfo,
        found: &Conditions,
        index: &IndexSchema,
    ) -> Result<Option<Secondary>> {
        let place = |name: &String| self.schema.column(name).ok().map(ColumnId::index);
        let Some(columns) = index.columns().iter().map(place).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let mut equal = 0;
        for column in &columns {
            let Some(at) = found.equal[*column] else { break };
            // SQLite would compare single texts of a list otherwise than the list.
            if is_text(self.schema.columns()[*column].kind) && info.is_in_constraint(at)? {
                break;
            }
            equal += 1;
        }
        let next = columns.get(equal);
        let lower = next.and_then(|next| found.lower[*next]).map(|(_, bound)| bound);
        let upper = next.and_then(|next| found.upper[*next]).map(|(_, bound)| bound);
        if equal == 0 && lower.or(upper).is_none() {
            return Ok(None);
        }
        let name = index.name().into();
        let is_unique = index.is_unique();
        let is_backward = false;
        Ok(Some(Secondary { name, columns, is_unique, equal, lower, upper, is_backward }))
    }

    /// Passes a plan by an index to SQLite.
    pub(super) fn plan_by(
        &self,
        info: &mut IndexInfo,
        found: &Conditions,
        mut secondary: Secondary,
        number: impl FnOnce(Plan) -> Result<i32>,
    ) -> Result<()> {
        let order = self.order_by(info, &secondary);
        secondary.is_backward = order == Some(Order::Backward);
        let first = secondary.columns[..secondary.equal].iter();
        let mut used: Vec<_> = first.filter_map(|column| found.equal[*column]).collect();
        if let Some(next) = secondary.columns.get(secondary.equal) {
            let bounds = [found.lower[*next], found.upper[*next]];
            used.extend(bounds.into_iter().flatten().map(|(at, _)| at));
        }
        for (at, place) in used.iter().zip(1..) {
            info.constraint_usage(*at).set_argv_index(place);
        }
        info.set_order_by_consumed(order.is_some());
        let (rows, cost) = self.estimate_by(&secondary);
        info.set_estimated_rows(rows as i64);
        info.set_estimated_cost(cost);
        info.set_idx_str(&self.describe_by(&secondary));
        info.set_idx_num(number(Plan::by(secondary))?);
        Ok(())
    }

    /// Estimates how many rows come by an index, and what they cost: each is looked up twice.
    fn estimate_by(&self, secondary: &Secondary) -> (f64, f64) {
        let all = self.rows.max(1) as f64;
        let Secondary { columns, equal, lower, upper, is_unique, .. } = secondary;
        if *is_unique && *equal == columns.len() {
            return (1.0, 3.0);
        }
        // A column is taken to have as many values as the root of the number of records.
        let bounds = [lower, upper].into_iter().flatten().count();
        let rows = all.powf(0.5f64.powi(*equal as i32)) / 4f64.powi(bounds as i32);
        let rows = rows.max(1.0);
        (rows, 4.0 + 2.0 * rows)
    }

    /// Returns the direction in which an index has rows as `ORDER BY` wants them, if one exists.
    fn order_by(&self, info: &IndexInfo, secondary: &Secondary) -> Option<Order> {
        if info.num_of_order_by() == 0 {
            return None;
        }
        let kind = |column: usize| self.schema.columns()[column].kind;
        let fixed = &secondary.columns[..secondary.equal];
        let is_fixed = |column: usize| fixed.contains(&column) && is_single(kind(column));
        // After its own columns, entries are in the order of keys.
        let keys = 0..self.schema.key_columns();
        let mut sorted = secondary.columns.clone();
        sorted.extend(keys.filter(|column| !secondary.columns.contains(column)));
        let mut sorted = sorted.into_iter().filter(|column| !is_fixed(*column));
        let mut order = None;
        for wanted in info.order_bys() {
            let column = usize::try_from(wanted.column()).ok()?;
            if is_fixed(column) {
                continue;
            }
            let direction =
                if wanted.is_order_by_desc() { Order::Backward } else { Order::Forward };
            let is_next = sorted.next() == Some(column) && !is_float(kind(column));
            if !is_next || *order.get_or_insert(direction) != direction {
                return None;
            }
        }
        order.or(Some(Order::Forward))
    }

    /// Describes the way in words, for `EXPLAIN QUERY PLAN`.
    fn describe_by(&self, secondary: &Secondary) -> String {
        let name = |column: &usize| &self.schema.columns()[*column].name;
        let first = secondary.columns[..secondary.equal].iter();
        let mut terms: Vec<_> = first.map(|column| format!("{}=?", name(column))).collect();
        if let Some(next) = secondary.columns.get(secondary.equal) {
            for (bound, sign) in [(secondary.lower, '>'), (secondary.upper, '<')] {
                let Some(bound) = bound else { continue };
                let or_equal = if bound == Bound::Included { "=" } else { "" };
                terms.push(format!("{}{sign}{or_equal}?", name(next)));
            }
        }
        let backward = if secondary.is_backward { ", backward" } else { "" };
        let text = format!("index {} ({}){backward}", secondary.name, terms.join(" AND "));
        // The text ends at a zero byte.
        text.replace('\0', "?")
    }
}

impl Plan {
    /// Returns the plan of a way by an index.
    fn by(secondary: Secondary) -> Self {
        Self {
            equal: 0,
            list: None,
            lower: None,
            upper: None,
            is_backward: false,
            has_limit: false,
            has_offset: false,
            indexed: Vec::new(),
            may_be_count: false,
            columns: None,
            secondary: Some(secondary),
        }
    }
}

impl Secondary {
    /// Returns the range of values that an index is looked up by; `None` if it has nothing there.
    pub(crate) fn range<'v>(&self, schema: &Schema, values: &[ValueRef<'v>]) -> Option<Values<'v>> {
        let mut prefix = Vec::new();
        for (column, value) in self.columns.iter().zip(values).take(self.equal) {
            let ends = Ends::equal(position(schema.columns()[*column].kind, *value))?;
            match ends.only() {
                Some(value) => prefix.push(value),
                // SQLite looks at the columns after it.
                None => return around(prefix, &ends, false),
            }
        }
        let Some(next) = self.columns.get(self.equal) else {
            return around(prefix, &Ends::ALL, false);
        };
        let column = &schema.columns()[*next];
        let has_bound = self.lower.or(self.upper).is_some();
        let ends = Ends::between(column, self.lower, self.upper, &values[self.equal..])?;
        around(prefix, &ends, has_bound && column.nullable)
    }
}

/// Returns the values that start with a prefix, and then have one between two ends, and perhaps no
/// null.
fn around<'v>(prefix: Vec<Value<'v>>, ends: &Ends<'v>, has_no_null: bool) -> Option<Values<'v>> {
    let with = |value| prefix.iter().copied().chain([value]).collect::<Vec<_>>();
    let all = || {
        if prefix.is_empty() { ops::Bound::Unbounded } else { ops::Bound::Included(prefix.clone()) }
    };
    let lower = match ends.lower {
        Cut::Lowest if has_no_null => ops::Bound::Excluded(with(Value::Null)),
        Cut::Lowest => all(),
        Cut::Before(value) => ops::Bound::Included(with(value)),
        Cut::After(value) => ops::Bound::Excluded(with(value)),
        Cut::Highest => return None,
    };
    let upper = match ends.upper {
        Cut::Highest => all(),
        Cut::After(value) => ops::Bound::Included(with(value)),
        Cut::Before(value) => ops::Bound::Excluded(with(value)),
        Cut::Lowest => return None,
    };
    Some((lower, upper))
}
