//! Lookups by a secondary index.

use std::ops::Bound as Edge;

use lode::ReadTable;

use crate::failure::Result;
use crate::signals::look_for_signals;
use crate::value::OwnedValue;

/// The values that are looked for by a secondary index.
pub(crate) struct Find<'f> {
    pub(crate) index: &'f str,
    pub(crate) columns: &'f [&'f lode::Column],
    pub(crate) lower: Option<&'f [OwnedValue]>,
    pub(crate) upper: Option<&'f [OwnedValue]>,
    /// True if records with the values of `upper` are among those looked for.
    pub(crate) has_upper: bool,
    pub(crate) chosen: Option<&'f [lode::ColumnId]>,
    pub(crate) limit: Option<u64>,
    pub(crate) is_reverse: bool,
}

impl Find<'_> {
    fn values<'v>(&self, owned: &'v [OwnedValue]) -> Vec<lode::Value<'v>> {
        owned.iter().zip(self.columns).map(|(value, column)| value.value(column)).collect()
    }

    pub(crate) fn run(&self, table: &dyn ReadTable) -> Result<Vec<Vec<OwnedValue>>> {
        /// Rows between two looks for signals.
        const ROWS: usize = 4_096;
        let lower = self.lower.map(|owned| self.values(owned));
        let upper = self.upper.map(|owned| self.values(owned));
        let edge = if self.has_upper { Edge::Included } else { Edge::Excluded };
        let lower = lower.as_deref().map_or(Edge::Unbounded, Edge::Included);
        let upper = upper.as_deref().map_or(Edge::Unbounded, edge);
        let mut cursor = table.by(self.index)?.range_of_values(lower, upper);
        if self.is_reverse {
            cursor = cursor.rev();
        }
        if let Some(rows) = self.limit {
            cursor = cursor.limit(rows);
        }
        let all = table.table().schema().columns();
        let all: Vec<_> = all.iter().map(lode::Column::id).collect();
        let columns = self.chosen.unwrap_or(&all);
        if self.chosen.is_some() {
            cursor = cursor.columns(columns);
        }
        let mut rows = Vec::new();
        while let Some(row) = cursor.next_row()? {
            rows.push(columns.iter().map(|column| row.at(*column).into()).collect());
            if rows.len().is_multiple_of(ROWS) {
                look_for_signals()?;
            }
        }
        Ok(rows)
    }
}
