//! The condition of a filter on one column of the key.

use std::ops::Bound;

use datafusion::common::{Column as NamedColumn, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};
use lode::{Column, Schema};

use super::value::KeyValue;

/// A filter that asks something of one column of the key, and of nothing else.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    /// The column of the key.
    pub(crate) column: usize,
    pub(crate) wanted: Wanted,
}

/// The values that a filter wants.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Wanted {
    OneOf(Vec<KeyValue>),
    Range { lower: Bound<KeyValue>, upper: Bound<KeyValue> },
}

impl Condition {
    /// Returns the condition of a filter; `None` if it asks anything that keys do not say, or
    /// compares with a value that the column cannot have.
    pub(crate) fn of(filter: &Expr, schema: &Schema) -> Option<Self> {
        match filter {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
                Self::of_either(left, right, schema)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
                if let Some((at, column)) = key_column(left, schema) {
                    return Self::of_comparison(at, column, *op, right);
                }
                let (at, column) = key_column(right, schema)?;
                Self::of_comparison(at, column, op.swap()?, left)
            }
            Expr::Between(Between { expr, negated: false, low, high }) => {
                let (at, column) = key_column(expr, schema)?;
                let lower = Bound::Included(literal(low, column)?);
                let upper = Bound::Included(literal(high, column)?);
                Some(Self { column: at, wanted: Wanted::Range { lower, upper } })
            }
            Expr::InList(InList { expr, list, negated: false }) => {
                let (at, column) = key_column(expr, schema)?;
                let values = list.iter().map(|value| literal(value, column));
                Some(Self { column: at, wanted: Wanted::OneOf(values.collect::<Option<_>>()?) })
            }
            Expr::Column(_) => Self::of_bool(filter, true, schema),
            Expr::Not(negated) => Self::of_bool(negated, false, schema),
            _ => None,
        }
    }

    fn of_comparison(at: usize, column: &Column, op: Operator, other: &Expr) -> Option<Self> {
        let other = literal(other, column)?;
        let (lower, upper) = match op {
            Operator::Eq => {
                return Some(Self { column: at, wanted: Wanted::OneOf(vec![other]) });
            }
            Operator::Lt => (Bound::Unbounded, Bound::Excluded(other)),
            Operator::LtEq => (Bound::Unbounded, Bound::Included(other)),
            Operator::Gt => (Bound::Excluded(other), Bound::Unbounded),
            Operator::GtEq => (Bound::Included(other), Bound::Unbounded),
            _ => return None,
        };
        Some(Self { column: at, wanted: Wanted::Range { lower, upper } })
    }

    /// Joins the values of two conditions on the same column: DataFusion writes short lists like
    /// that.
    fn of_either(left: &Expr, right: &Expr, schema: &Schema) -> Option<Self> {
        let left = Self::of(left, schema)?;
        let right = Self::of(right, schema)?;
        match (left.wanted, right.wanted) {
            (Wanted::OneOf(mut values), Wanted::OneOf(others)) if left.column == right.column => {
                values.extend(others);
                Some(Self { column: left.column, wanted: Wanted::OneOf(values) })
            }
            _ => None,
        }
    }

    /// Returns the condition of a column that is a condition by itself.
    fn of_bool(column: &Expr, wanted: bool, schema: &Schema) -> Option<Self> {
        let (at, column) = key_column(column, schema)?;
        let wanted = KeyValue::of(&ScalarValue::Boolean(Some(wanted)), column.kind)?;
        Some(Self { column: at, wanted: Wanted::OneOf(vec![wanted]) })
    }
}

/// Returns the column of the key that an expression is.
fn key_column<'s>(expr: &Expr, schema: &'s Schema) -> Option<(usize, &'s Column)> {
    let Expr::Column(NamedColumn { name, .. }) = expr else { return None };
    let mut columns = schema.columns()[..schema.key_columns()].iter().enumerate();
    columns.find(|(_, column)| column.name == *name)
}

/// Returns the value that an expression is, if a column can have it.
fn literal(expr: &Expr, column: &Column) -> Option<KeyValue> {
    let Expr::Literal(literal, _) = expr else { return None };
    KeyValue::of(literal, column.kind)
}
