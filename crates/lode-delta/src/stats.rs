//! Statistics of the values of a file in the log, so that readers leave files out ("Per-file
//! Statistics" in the protocol): the number of rows, the nulls of each column, and the lowest and
//! the highest integer and text.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use serde_json::{Map, Value, json};

/// The most bytes of a text that statistics have.
const MOST_TEXT_BYTES: usize = 64;

/// The statistics of a column.
#[derive(Clone, Default)]
struct ColumnStats {
    nulls: u64,
    integers: Option<(i128, i128)>,
    /// The lowest and the highest text; `None`, too, when one is too long to be shown.
    text: Option<(String, String)>,
    has_long_text: bool,
}

/// The statistics of a file.
pub(crate) struct Stats {
    rows: u64,
    columns: Vec<ColumnStats>,
}

impl Stats {
    pub(crate) fn new(schema: &Schema) -> Self {
        Self { rows: 0, columns: vec![ColumnStats::default(); schema.fields().len()] }
    }

    /// Adds the rows of a batch.
    pub(crate) fn add(&mut self, batch: &RecordBatch) {
        self.rows += batch.num_rows() as u64;
        for (stats, column) in self.columns.iter_mut().zip(batch.columns()) {
            stats.nulls += column.null_count() as u64;
            match column.data_type() {
                DataType::Int8 => stats.add_integers::<Int8Type>(column),
                DataType::Int16 => stats.add_integers::<Int16Type>(column),
                DataType::Int32 => stats.add_integers::<Int32Type>(column),
                DataType::Int64 => stats.add_integers::<Int64Type>(column),
                DataType::Decimal128(_, 0) => stats.add_integers::<Decimal128Type>(column),
                DataType::Utf8 => stats.add_text(column),
                _ => {}
            }
        }
    }

    /// Returns the statistics as the log has them.
    pub(crate) fn to_json(&self, schema: &Schema) -> String {
        let [mut lowest, mut highest, mut nulls] = [Map::new(), Map::new(), Map::new()];
        for (stats, field) in self.columns.iter().zip(schema.fields()) {
            nulls.insert(field.name().clone(), stats.nulls.into());
            if let Some((low, high)) = stats.bounds() {
                lowest.insert(field.name().clone(), low);
                highest.insert(field.name().clone(), high);
            }
        }
        json!({
            "numRecords": self.rows,
            "minValues": lowest,
            "maxValues": highest,
            "nullCount": nulls,
        })
        .to_string()
    }
}

impl ColumnStats {
    fn add_integers<A: ArrowPrimitiveType<Native: Into<i128>>>(&mut self, column: &dyn Array) {
        for value in column.as_primitive::<A>().iter().flatten() {
            let value = value.into();
            let (low, high) = self.integers.unwrap_or((value, value));
            self.integers = Some((low.min(value), high.max(value)));
        }
    }

    fn add_text(&mut self, column: &dyn Array) {
        for value in column.as_string::<i32>().iter().flatten() {
            self.has_long_text |= value.len() > MOST_TEXT_BYTES;
            if self.has_long_text {
                return;
            }
            match &mut self.text {
                None => self.text = Some((value.into(), value.into())),
                Some((low, _)) if value < low.as_str() => *low = value.into(),
                Some((_, high)) if value > high.as_str() => *high = value.into(),
                Some(_) => {}
            }
        }
    }

    fn bounds(&self) -> Option<(Value, Value)> {
        let integers = self.integers.and_then(|(low, high)| Some((number(low)?, number(high)?)));
        let text = self.text.as_ref().filter(|_| !self.has_long_text);
        integers.or(text.map(|(low, high)| (low.as_str().into(), high.as_str().into())))
    }
}

/// Returns a number of JSON; `None` for one that has more than 64 bits.
fn number(value: i128) -> Option<Value> {
    let unsigned = u64::try_from(value).map(Value::from);
    unsigned.or(i64::try_from(value).map(Value::from)).ok()
}
