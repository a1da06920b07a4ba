//! Parts of a table that are read at the same time.

use lode::{KeyKind, ReadTable, TableAt, Type, Value};

use crate::pushdown::{KeyRange, Pushdown, Target};

/// The fewest records, about, for which a separate part is worth it.
const LEAST_ROWS: u64 = 16_384;

/// The division of a scan.
pub(crate) struct Division {
    /// The most parts that are wanted.
    pub(crate) most_parts: usize,
    /// About how many records will be read.
    pub(crate) rows: u64,
}

/// Divides what is to be read of a table into parts. Only a single range of keys in order is
/// divided, by the values of the first column that is not fixed. These have to be whole numbers
/// or moments.
///
/// # Errors
/// The errors of reading, and of packing keys.
pub(crate) fn divide(
    table: TableAt<'_>,
    pushdown: &Pushdown<'_>,
    target: Target,
    division: &Division,
) -> lode::Result<Vec<Target>> {
    let parts = (division.most_parts as u64).min(division.rows / LEAST_ROWS);
    match &target {
        Target::Ranges(ranges)
            if ranges.len() == 1 && parts > 1 && table.table().key_kind() == KeyKind::Tree =>
        {
            let range = &ranges[0];
            let starts = starts(table, pushdown, range, parts)?;
            let parts = range.split_at(starts).into_iter();
            Ok(parts.map(|part| Target::Ranges(vec![part])).collect())
        }
        _ => Ok(vec![target]),
    }
}

/// Returns the keys at which all parts but the first start.
fn starts(
    table: TableAt<'_>,
    pushdown: &Pushdown<'_>,
    range: &KeyRange,
    parts: u64,
) -> lode::Result<Vec<Vec<u8>>> {
    let schema = table.table().schema();
    let fixed: Vec<_> = pushdown.fixed().into_iter().map(|value| value.value()).collect();
    let Some(column) = schema.columns()[..schema.key_columns()].get(fixed.len()) else {
        return Ok(Vec::new());
    };
    let cursor = || {
        let lower = range.lower.as_ref().map(Vec::as_slice);
        let upper = range.upper.as_ref().map(Vec::as_slice);
        table.range_packed(lower, upper).columns([column.id()]).limit(1)
    };
    let number = |mut cursor: lode::Cursor| {
        let row = cursor.next_row()?;
        Ok::<_, lode::Error>(row.and_then(|row| whole_number(row.at(column.id()))))
    };
    let (Some(first), Some(last)) = (number(cursor())?, number(cursor().rev())?) else {
        return Ok(Vec::new());
    };
    let span = last - first + 1;
    let parts = i128::from(parts);
    let mut numbers: Vec<_> = (1..parts).map(|part| first + span * part / parts).collect();
    numbers.dedup();
    let starts = numbers.into_iter().filter(|number| *number > first).map(|number| {
        let values = [&fixed[..], &[of_number(number, column.kind)]].concat();
        schema.pack_prefix(&values).map(|(lowest, _)| lowest)
    });
    starts.collect()
}

fn whole_number(value: Value<'_>) -> Option<i128> {
    match value {
        Value::Unsigned(number) => Some(number.into()),
        Value::Signed(number) | Value::Timestamp(number) => Some(number.into()),
        _ => None,
    }
}

/// Returns a number between two of a column as its value.
fn of_number(number: i128, kind: Type) -> Value<'static> {
    match kind {
        Type::U8 | Type::U16 | Type::U32 | Type::U64 => Value::Unsigned(number as u64),
        Type::Timestamp => Value::Timestamp(number as i64),
        _ => Value::Signed(number as i64),
    }
}
