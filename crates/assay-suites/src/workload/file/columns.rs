//! Checking what a file says of columns of few values: those between key and value, and those that
//! lead the key.

use std::collections::BTreeMap;

use toml::Spanned;

use super::reader::{Read, Reader};
use super::tables::{ColumnTable, ColumnWord, LeadingTable};
use super::words::Number;
use crate::workload::columns::MOST_COLUMNS;
use crate::workload::spec::{Column, ColumnKind, MOST_COUNT, MOST_LEADING, TEXT_KEY_BYTES};

/// The name by which a scan reads the value.
pub(super) const VALUE: &str = "value";

/// Combinations of values in the leading columns of a key that may always be.
const LEAST_FRONTS: u64 = 1_000;

impl Reader<'_> {
    /// Reads the columns between key and value, in the order of the file.
    pub(super) fn columns(
        &self,
        tables: &BTreeMap<Spanned<String>, ColumnTable>,
    ) -> Read<Vec<Column>> {
        let mut tables: Vec<_> = tables.iter().collect();
        tables.sort_by_key(|(name, _)| name.span().start);
        if let Some((name, _)) = tables.get(MOST_COLUMNS) {
            let what = format!("there are at most {MOST_COLUMNS} columns; leave this out");
            return Err(self.fault(name.span(), what));
        }
        let column = |(name, table): (&Spanned<String>, &ColumnTable)| {
            if name.get_ref() == VALUE {
                let what = "\"value\" names the value; give the column another name";
                return Err(self.fault(name.span(), what));
            }
            let ColumnTable { kind, bytes, distinct, index } = table;
            let column = self.column(name, kind, bytes.as_ref(), distinct)?;
            Ok(Column { is_indexed: *index, ..column })
        };
        tables.into_iter().map(column).collect()
    }

    /// Reads the leading columns of the keys of `count` records, in the order of the file.
    pub(super) fn leading(
        &self,
        tables: &BTreeMap<Spanned<String>, LeadingTable>,
        count: u64,
    ) -> Read<Vec<Column>> {
        let mut tables: Vec<_> = tables.iter().collect();
        tables.sort_by_key(|(name, _)| name.span().start);
        if let Some((name, _)) = tables.get(MOST_LEADING) {
            let what = format!("a key has at most {MOST_LEADING} leading columns; leave this out");
            return Err(self.fault(name.span(), what));
        }
        let mut fronts: u64 = 1;
        let mut columns = Vec::new();
        for (name, LeadingTable { kind, bytes, distinct }) in tables {
            let column = self.column(name, kind, bytes.as_ref(), distinct)?;
            fronts = fronts.saturating_mul(column.distinct);
            if fronts > count.max(LEAST_FRONTS) {
                let what = format!(
                    "the leading columns have {fronts} combinations of values; lower distinct \
                     until they are at most {}",
                    count.max(LEAST_FRONTS)
                );
                return Err(self.fault(distinct.span(), what));
            }
            columns.push(column);
        }
        Ok(columns)
    }

    /// Reads a column of few values: its name, its type with the bytes of a text, and the number of
    /// values.
    fn column(
        &self,
        name: &Spanned<String>,
        word: &Spanned<ColumnWord>,
        bytes: Option<&Spanned<Number>>,
        distinct: &Spanned<Number>,
    ) -> Read<Column> {
        let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let text = name.get_ref();
        if text.is_empty() || text.len() > 32 || !text.chars().all(is_plain) {
            let what = "a column's name is 1 to 32 lower-case letters, digits and _";
            return Err(self.fault(name.span(), what));
        }
        let kind = match (word.get_ref(), bytes) {
            (ColumnWord::U32, None) => ColumnKind::U32,
            (ColumnWord::U64, None) => ColumnKind::U64,
            (ColumnWord::Text, Some(bytes)) => {
                let (least, most) = TEXT_KEY_BYTES;
                let bytes = self.between(bytes, "bytes of a text", least, most)?;
                ColumnKind::Text(bytes as u32)
            }
            (ColumnWord::Text, None) => {
                return Err(self.fault(word.span(), "a text needs its bytes"));
            }
            (_, Some(bytes)) => {
                let what = "only a text has bytes of its own; leave this out";
                return Err(self.fault(bytes.span(), what));
            }
        };
        let distinct = self.between(distinct, "distinct", 1, MOST_COUNT)?;
        Ok(Column { name: text.clone(), kind, distinct, is_indexed: false })
    }
}
