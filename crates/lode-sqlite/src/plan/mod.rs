//! The plans for reading a table, on which SQLite's planner and this module agree (`xBestIndex`).

pub(crate) mod range;
pub(crate) mod secondary;
pub(crate) mod transient;

use lode::{Column, ColumnId, IndexSchema, KeyKind, Schema, Type};
use rusqlite::Result;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{IndexConstraintOp, IndexFlags, IndexInfo};

use crate::plan::secondary::Secondary;
use crate::values::collation::COLLATION;
use crate::values::decimal::Form;
use crate::values::position::{is_exact, is_float, is_single};
use crate::values::row_numbers::has_row_numbers;

/// A cursor's way to its rows. The values that it needs come in this order: those of the first
/// columns of the key, the bounds of the next one, the limit, the offset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    /// The number of columns of the key whose values are given.
    pub equal: usize,
    /// The column that has a list of values, if one has. (Of text, where SQLite would compare
    /// single values of a list otherwise than the list.)
    pub list: Option<usize>,
    /// Bounds of the column after those.
    pub lower: Option<Bound>,
    /// See `lower`.
    pub upper: Option<Bound>,
    /// True if rows come from the last key to the first.
    pub is_backward: bool,
    /// True if a limit is given; and if an offset is.
    pub has_limit: bool,
    /// See `has_limit`.
    pub has_offset: bool,
    /// Columns whose values are given too, after the others: they are looked up in an index that is
    /// built when it is worth it.
    pub indexed: Vec<usize>,
    /// True if all records are to be read, and perhaps only their number is wanted: the statement
    /// uses no column that SQLite does not always ask for.
    pub may_be_count: bool,
    /// The columns that the statement uses, and those of the key; all columns if `None`.
    pub columns: Option<Vec<ColumnId>>,
    /// The secondary index by which rows are found, if one is. Nothing else is given then.
    pub secondary: Option<Secondary>,
}

/// A bound, with or without the value itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Included,
    Excluded,
}

/// The order of keys, or the reverse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    Forward,
    Backward,
}

/// The conditions of a statement that can be used: places among them.
#[derive(Default)]
pub(crate) struct Conditions {
    /// For each column, a condition that it is equal to a value.
    pub equal: Vec<Option<usize>>,
    pub lower: Vec<Option<(usize, Bound)>>,
    pub upper: Vec<Option<(usize, Bound)>>,
    /// Columns that are compared with what is not known before.
    joined: Vec<(usize, usize)>,
    limit: Option<usize>,
    /// The offset, and true if it can be used.
    offset: Option<(usize, bool)>,
    /// The number of conditions apart from limit and offset.
    count: usize,
}

/// A table whose reading is planned.
pub(crate) struct Planned<'t> {
    pub schema: &'t Schema,
    pub kind: KeyKind,
    /// About how many records it has.
    pub rows: u64,
    /// Its secondary indexes.
    pub indexes: &'t [IndexSchema],
}

pub(crate) fn is_text(kind: Type) -> bool {
    matches!(kind, Type::Text(_) | Type::VarText(_))
}

/// Returns the collation that orders the texts of a column as its keys are; `None` if SQLite
/// compares no texts there.
fn collation(kind: Type) -> Option<&'static str> {
    match kind {
        Type::Text(_) | Type::VarText(_) => Some("BINARY"),
        Type::Decimal { precision, scale } => {
            (Form::of(precision, scale) == Form::Text).then_some(COLLATION)
        }
        _ => None,
    }
}

impl Conditions {
    fn of(info: &IndexInfo, schema: &Schema) -> Result<Self> {
        let columns = schema.columns().len();
        let mut found = Self { equal: vec![None; columns], ..Self::default() };
        (found.lower, found.upper) = (vec![None; columns], vec![None; columns]);
        for (at, constraint) in info.constraints().enumerate() {
            use IndexConstraintOp as Op;
            match constraint.operator() {
                Op::SQLITE_INDEX_CONSTRAINT_LIMIT => {
                    found.limit = constraint.is_usable().then_some(at);
                    continue;
                }
                Op::SQLITE_INDEX_CONSTRAINT_OFFSET => {
                    found.offset = Some((at, constraint.is_usable()));
                    continue;
                }
                _ => found.count += 1,
            }
            let column = usize::try_from(constraint.column()).ok();
            let Some(column) = column.filter(|_| constraint.is_usable()) else { continue };
            let kind = schema.columns()[column].kind;
            let own = collation(kind);
            let collation = if own.is_some() { info.collation(at)? } else { "BINARY" };
            let is = |name: &&str| collation.eq_ignore_ascii_case(name);
            if constraint.operator() == Op::SQLITE_INDEX_CONSTRAINT_EQ
                && (["BINARY", "NOCASE", "RTRIM"].iter().any(is) || own.as_ref().is_some_and(is))
                && info.rhs_value(at)?.is_none()
                && !info.is_in_constraint(at)?
            {
                found.joined.push((column, at));
            }
            if !is(&own.unwrap_or("BINARY")) {
                continue;
            }
            let first = |place: &mut Option<(usize, Bound)>, bound| {
                place.get_or_insert((at, bound));
            };
            match constraint.operator() {
                // A NaN is NULL, and is where NULL is not.
                Op::SQLITE_INDEX_CONSTRAINT_IS
                    if is_float(schema.columns()[column].kind)
                        || schema.columns()[column].nullable => {}
                Op::SQLITE_INDEX_CONSTRAINT_EQ | Op::SQLITE_INDEX_CONSTRAINT_IS => {
                    found.equal[column].get_or_insert(at);
                }
                Op::SQLITE_INDEX_CONSTRAINT_GT => first(&mut found.lower[column], Bound::Excluded),
                Op::SQLITE_INDEX_CONSTRAINT_GE => first(&mut found.lower[column], Bound::Included),
                Op::SQLITE_INDEX_CONSTRAINT_LT => first(&mut found.upper[column], Bound::Excluded),
                Op::SQLITE_INDEX_CONSTRAINT_LE => first(&mut found.upper[column], Bound::Included),
                _ => {}
            }
        }
        Ok(found)
    }
}

impl Planned<'_> {
    /// Makes a plan and passes it to SQLite. `number` returns the number under which it is kept.
    pub(crate) fn plan(
        &self,
        info: &mut IndexInfo,
        number: impl FnOnce(Plan) -> Result<i32>,
    ) -> Result<()> {
        let found = Conditions::of(info, self.schema)?;
        let keys = self.schema.key_columns();
        let mut equal = 0;
        let mut list = None;
        for (column, at) in (0..keys).zip(found.equal.iter().map_while(|at| *at)) {
            if is_text(self.schema.columns()[column].kind) && info.is_in_constraint(at)? {
                if list.is_some() {
                    break;
                }
                list = Some(column);
            }
            equal = column + 1;
        }
        if self.kind == KeyKind::Hash && equal < keys {
            (equal, list) = (0, None);
        }
        let has_range = self.kind == KeyKind::Tree && equal < keys;
        let (lower, upper) =
            if has_range { (found.lower[equal], found.upper[equal]) } else { (None, None) };
        if equal < keys
            && let Some(secondary) =
                self.secondary(info, &found, self.cost_by_key(equal, lower, upper))?
        {
            return self.plan_by(info, &found, secondary, number);
        }
        let mut used: Vec<usize> = found.equal[..equal].iter().flatten().copied().collect();
        used.extend(lower.iter().chain(&upper).map(|(at, _)| *at));
        let is_ordered = self.order(info, equal).filter(|_| list.is_none());
        let last = equal + usize::from(lower.or(upper).is_some());
        // SQLite passes `(a, b) > (1, 2)` on as `a >= 1`, and looks at the rows again.
        let may_be_row = lower.into_iter().chain(upper).any(|(_, bound)| bound == Bound::Included);
        let can_limit = used.len() == found.count
            && !may_be_row
            && (0..last).all(|column| self.is_found_exactly(column))
            && (info.num_of_order_by() == 0 || is_ordered.is_some());
        let limit = found.limit.filter(|_| can_limit);
        // SQLite skips the rows before the offset itself, so they are read, too.
        let (limit, offset) = match (limit, found.offset) {
            (Some(limit), Some((offset, true))) => (Some(limit), Some(offset)),
            (Some(limit), None) => (Some(limit), None),
            _ => (None, None),
        };
        let is_one = equal == keys || list.is_some();
        let mut joined = found.joined;
        joined.retain(|(_, at)| !is_one && !used.contains(at));
        joined.sort_unstable();
        joined.dedup_by_key(|(column, _)| *column);
        // SQLite asks for the key of a table without row numbers.
        let always = if has_row_numbers(self.schema) { 0 } else { 1 };
        let may_be_count =
            info.col_used() & !always == 0 && found.count == 0 && info.num_of_order_by() == 0;
        let plan = Plan {
            indexed: joined.iter().map(|(column, _)| *column).collect(),
            may_be_count: may_be_count && limit.is_none(),
            equal,
            list,
            lower: lower.map(|(_, bound)| bound),
            upper: upper.map(|(_, bound)| bound),
            is_backward: is_ordered == Some(Order::Backward),
            has_limit: limit.is_some(),
            has_offset: offset.is_some(),
            columns: self.columns(info.col_used()),
            secondary: None,
        };
        for (at, place) in used.iter().zip(1..) {
            let column = usize::try_from(info.constraints().nth(*at).map_or(0, |it| it.column()));
            let is_exact = column.is_ok_and(|column| self.is_found_exactly(column));
            let mut usage = info.constraint_usage(*at);
            usage.set_argv_index(place);
            usage.set_omit(is_exact);
        }
        if let Some(at) = list.and_then(|column| found.equal[column]) {
            info.set_in_constraint(at, true)?;
        }
        // There is a limit only if there are no conditions other than those of the key.
        let others = limit.into_iter().chain(offset).chain(joined.iter().map(|(_, at)| *at));
        for (at, place) in others.zip(used.len() as i32 + 1..) {
            info.constraint_usage(at).set_argv_index(place);
        }
        info.set_order_by_consumed(is_ordered.is_some());
        self.estimate(info, &plan);
        info.set_idx_str(&self.describe(&plan));
        info.set_idx_num(number(plan)?);
        Ok(())
    }

    /// Returns true if the rows that are found are exactly those that a condition on a column
    /// wants. Where several values can be equal to one, conditions on later columns find nothing.
    fn is_found_exactly(&self, column: usize) -> bool {
        let columns = &self.schema.columns()[..self.schema.key_columns()];
        let before = match self.kind {
            KeyKind::Hash => columns,
            KeyKind::Tree => &columns[..column],
        };
        is_exact(columns[column].kind) && before.iter().all(|column| is_single(column.kind))
    }

    /// Estimates what it costs to read the rows that conditions on columns of the key leave.
    fn cost_by_key<B>(&self, equal: usize, lower: Option<B>, upper: Option<B>) -> f64 {
        let keys = self.schema.key_columns();
        let share = (keys - equal) as f64 / keys as f64;
        let bounds = usize::from(lower.is_some()) + usize::from(upper.is_some());
        4.0 + ((self.rows.max(1) as f64).powf(share) / 4f64.powi(bounds as i32)).max(1.0)
    }

    /// Returns the direction in which rows come as `ORDER BY` wants them, if one exists.
    fn order(&self, info: &IndexInfo, equal: usize) -> Option<Order> {
        let keys = self.schema.key_columns();
        let is_fixed =
            |column: usize| column < equal && is_single(self.schema.columns()[column].kind);
        if info.num_of_order_by() == 0 {
            return None;
        }
        if (0..keys).all(is_fixed) {
            // At most one row comes.
            return Some(Order::Forward);
        }
        if self.kind == KeyKind::Hash {
            return None;
        }
        let mut next = 0;
        let mut order = None;
        for wanted in info.order_bys() {
            let column = usize::try_from(wanted.column()).ok()?;
            if is_fixed(column) {
                continue;
            }
            if self.schema.columns().get(column).is_some_and(|column| is_float(column.kind)) {
                // To SQLite both zeros are one, and NaN, which is NULL, comes first.
                return None;
            }
            while next < keys && is_fixed(next) {
                next += 1;
            }
            if next == keys {
                // Keys are unique: columns after a whole key order nothing.
                break;
            }
            let direction =
                if wanted.is_order_by_desc() { Order::Backward } else { Order::Forward };
            if column != next || *order.get_or_insert(direction) != direction {
                return None;
            }
            next += 1;
        }
        order.or(Some(Order::Forward))
    }

    /// Returns the columns to read, if not all.
    fn columns(&self, used: u64) -> Option<Vec<ColumnId>> {
        // The last bit stands for all columns from there on.
        let is_used = |at: usize| used & (1 << at.min(63)) != 0;
        let columns = self.schema.columns().iter().enumerate();
        let wanted = columns.filter(|(at, _)| *at < self.schema.key_columns() || is_used(*at));
        let wanted: Vec<_> = wanted.map(|(_, column)| column.id()).collect();
        let saves = if self.schema.is_variable() {
            // Whole records come from the heap, unless the key is all that is wanted.
            wanted.len() == self.schema.key_columns()
        } else {
            true
        };
        (saves && wanted.len() < self.schema.columns().len()).then_some(wanted)
    }

    /// Estimates how many rows come, and what they cost.
    fn estimate(&self, info: &mut IndexInfo, plan: &Plan) {
        let keys = self.schema.key_columns();
        let rows = self.rows.max(1) as f64;
        if plan.equal == keys {
            info.set_estimated_rows(1);
            info.set_estimated_cost(2.0);
            if (0..keys).all(|column| is_single(self.schema.columns()[column].kind)) {
                info.set_idx_flags(IndexFlags::SQLITE_INDEX_SCAN_UNIQUE);
            }
            return;
        }
        // Each column of the key is taken to distinguish as many records as the others.
        let share = (keys - plan.equal) as f64 / keys as f64;
        let bounds = [plan.lower, plan.upper].into_iter().flatten().count();
        let rows = (rows.powf(share) / 4f64.powi(bounds as i32)).max(1.0);
        if plan.indexed.is_empty() {
            info.set_estimated_rows(rows as i64);
            info.set_estimated_cost(4.0 + rows);
            return;
        }
        // A column is taken to have as many values as the root of the number of records. A
        // fifth as many look-ups share the cost of building the index. Each record that one finds
        // is read by its key.
        let root = rows.sqrt();
        let found = (root / 4f64.powi(plan.indexed.len() as i32 - 1)).max(1.0);
        info.set_estimated_rows(found as i64);
        info.set_estimated_cost(4.0 + rows.min(10.0 * root + 4.0 * found));
    }

    /// Describes the plan in words, for `EXPLAIN QUERY PLAN`.
    fn describe(&self, plan: &Plan) -> String {
        let name = |column: usize| &self.schema.columns()[column].name;
        let term = |column: usize| {
            if plan.list == Some(column) {
                format!("{} IN (?)", name(column))
            } else {
                format!("{}=?", name(column))
            }
        };
        let mut terms: Vec<_> = (0..plan.equal).map(term).collect();
        let sign = |bound: Bound, sign: char| match bound {
            Bound::Included => format!("{sign}="),
            Bound::Excluded => sign.to_string(),
        };
        let bounds = plan.lower.map(|bound| sign(bound, '>'));
        let bounds = bounds.into_iter().chain(plan.upper.map(|bound| sign(bound, '<')));
        terms.extend(bounds.map(|sign| format!("{}{sign}?", name(plan.equal))));
        let mut text = if terms.is_empty() {
            "all records".into()
        } else {
            format!("key ({})", terms.join(" AND "))
        };
        if !plan.indexed.is_empty() {
            let terms: Vec<_> =
                plan.indexed.iter().map(|column| format!("{}=?", name(*column))).collect();
            text += &format!(", index built ({})", terms.join(" AND "));
        }
        for (is_so, words) in [(plan.is_backward, ", backward"), (plan.has_limit, ", limit")] {
            text += if is_so { words } else { "" };
        }
        if let Some(columns) = &plan.columns {
            let names = columns.iter().map(|column| &self.schema[*column].name[..]);
            text += &format!(", columns {}", names.collect::<Vec<_>>().join(" "));
        }
        if plan.may_be_count {
            text += ", or their number";
        }
        // The text ends at a zero byte.
        text.replace('\0', "?")
    }
}

impl Plan {
    /// Returns the only column of the key if the plan finds one record by its value.
    pub(crate) fn single_key<'s>(&self, schema: &'s Schema) -> Option<&'s Column> {
        let is_single =
            self.equal == 1 && schema.key_columns() == 1 && self.list.is_none() && !self.has_limit;
        is_single.then(|| &schema.columns()[0])
    }

    /// Returns the values of the columns looked up in an index, from `values` in the plan's order.
    pub(crate) fn indexed_values<'g, 'v>(&self, values: &'g [ValueRef<'v>]) -> &'g [ValueRef<'v>] {
        let start = values.len().saturating_sub(self.indexed.len());
        &values[start..]
    }

    /// Returns the most rows that are needed, from `values` in the plan's order.
    pub(crate) fn limit(&self, values: &[ValueRef<'_>]) -> Option<u64> {
        let bounds = [self.lower, self.upper].into_iter().flatten().count();
        let mut values = values.iter().skip(self.equal + bounds);
        // A negative limit is no limit, and a negative offset is 0.
        let limit = values.next().filter(|_| self.has_limit)?.as_i64().ok()?;
        let limit = u64::try_from(limit).ok()?;
        match values.next().filter(|_| self.has_offset) {
            None => Some(limit),
            Some(offset) => Some(limit.saturating_add(offset.as_i64().ok()?.max(0) as u64)),
        }
    }
}
