//! The types of columns of CSV, as all of their fields say together.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::values::iso_moment;

/// The most digits of a number that a float of 64 bits gives back as they were.
const FLOAT_DIGITS: usize = 15;

/// The possible types of columns, by the fields that were looked at.
pub(crate) struct Guesses {
    columns: Vec<Guess>,
    /// True if times with more digits than microseconds have are times.
    rounds_times: bool,
}

/// The possible types of a column.
struct Guess {
    name: String,
    /// The type of the column, if something else than its fields says so.
    known: Option<DataType>,
    has_values: bool,
    is_integer: bool,
    is_float: bool,
    is_bool: bool,
    is_moment: bool,
}

impl Guesses {
    pub(crate) fn new(rounds_times: bool) -> Self {
        Self { columns: Vec::new(), rounds_times }
    }

    /// Adds columns whose types are known.
    pub(crate) fn begin<'f>(&mut self, known: impl Iterator<Item = &'f Field>) {
        for field in known {
            let place = self.place(field.name());
            self.columns[place].known = Some(field.data_type().clone());
        }
    }

    /// Adds columns of which there may be no rows.
    pub(crate) fn add(&mut self, schema: &Schema) {
        for field in schema.fields() {
            self.place(field.name());
        }
    }

    /// Looks at the fields of a batch whose other columns are text.
    pub(crate) fn look_at(&mut self, batch: &RecordBatch) {
        for (field, array) in batch.schema_ref().fields().iter().zip(batch.columns()) {
            let place = self.place(field.name());
            let guess = &mut self.columns[place];
            let rounds_times = self.rounds_times;
            if guess.known.is_none() {
                let texts = array.as_string::<i32>().iter().flatten();
                texts.for_each(|text| guess.look_at(text, rounds_times));
            }
        }
    }

    /// Returns the place of a column, and adds the column if it is missing.
    fn place(&mut self, name: &str) -> usize {
        let known = self.columns.iter().position(|guess| guess.name == name);
        known.unwrap_or_else(|| {
            self.columns.push(Guess::of(name));
            self.columns.len() - 1
        })
    }

    /// Returns the columns in the order in which they came, each of which can be null.
    pub(crate) fn schema(&self) -> SchemaRef {
        let fields = self.columns.iter().map(|guess| Field::new(&guess.name, guess.kind(), true));
        Arc::new(Schema::new(fields.collect::<Vec<_>>()))
    }
}

impl Guess {
    fn of(name: &str) -> Self {
        Self {
            name: name.into(),
            known: None,
            has_values: false,
            is_integer: true,
            is_float: true,
            is_bool: true,
            is_moment: true,
        }
    }

    fn look_at(&mut self, text: &str, rounds_times: bool) {
        self.has_values = true;
        self.is_integer &= self.is_integer && is_integer(text);
        self.is_float &= self.is_float && is_float(text);
        self.is_bool &= matches!(text, "true" | "false");
        self.is_moment &= self.is_moment && iso_moment(text, rounds_times).is_some();
    }

    fn kind(&self) -> DataType {
        match self {
            Self { known: Some(known), .. } => known.clone(),
            Self { has_values: false, .. } => DataType::Utf8,
            Self { is_integer: true, .. } => DataType::Int64,
            Self { is_float: true, .. } => DataType::Float64,
            Self { is_bool: true, .. } => DataType::Boolean,
            Self { is_moment: true, .. } => {
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
            }
            _ => DataType::Utf8,
        }
    }
}

/// Returns true if a text is a whole number as it is written, so without zeros before it.
fn is_integer(text: &str) -> bool {
    text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
}

/// Returns true if a text is the name of a float, or a number that a float gives back with the same
/// digits.
fn is_float(text: &str) -> bool {
    if matches!(text, "NaN" | "inf" | "-inf") {
        return true;
    }
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (number, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let has_zero_before = whole.len() > 1 && whole.starts_with('0');
    let digits = whole.trim_start_matches('0').len() + part.len();
    are_digits(whole)
        && are_digits(part)
        && !has_zero_before
        && digits <= FLOAT_DIGITS
        && exponent.parse::<i16>().is_ok_and(|exponent| (-290..=290).contains(&exponent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_is_what_all_of_its_fields_are() {
        for (texts, wanted) in [
            (&["1", "-7"][..], DataType::Int64),
            (&["1", "2.50", "-1e9"], DataType::Float64),
            (&["1", "NaN"], DataType::Float64),
            (&["007", "8"], DataType::Utf8),
            (&["9223372036854775808"], DataType::Utf8),
            (&["0.1234567890123456"], DataType::Utf8),
            (&["1e999"], DataType::Utf8),
            (&["true", "false"], DataType::Boolean),
            (&["true", "1"], DataType::Utf8),
            (&[""], DataType::Utf8),
            (&[], DataType::Utf8),
            (
                &["2024-02-29", "2024-02-29T12:30:00Z"],
                DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
            ),
            (&["2024-02-29", "5"], DataType::Utf8),
        ] {
            let mut guess = Guess::of("c");
            texts.iter().for_each(|text| guess.look_at(text, false));
            assert_eq!(guess.kind(), wanted, "{texts:?}");
        }
    }
}
