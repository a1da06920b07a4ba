//! Writing CSV.

use std::io::Write;
use std::ops::RangeInclusive;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, SchemaRef, TimeUnit};
use jiff::Timestamp;
use jiff::tz::Offset;

use super::packed::Packed;
use crate::error::{Error, Result};
use crate::files::{FileFormat, WriteOptions};

/// The bytes that lines wait for before they are written.
const BUFFER_BYTES: usize = 64 << 10;

pub(crate) struct Writer<W: Write> {
    out: Packed<W>,
    style: Style,
    iso_times: bool,
    lines: Vec<u8>,
    written_bytes: u64,
}

/// The signs between fields, and for nulls.
#[derive(Clone)]
struct Style {
    delimiter: u8,
    /// The text of a null; empty without a word for it.
    null: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Starts a file with its header.
    pub(crate) fn new(schema: &SchemaRef, options: &WriteOptions, out: W) -> Result<Self> {
        options.csv.check().map_err(|why| Error::Format(why.into()))?;
        let no_compression = || Error::NoCompression {
            format: FileFormat::Csv.name(),
            compression: options.compression.name(),
        };
        let out = Packed::new(out, options.compression)?.ok_or_else(no_compression)?;
        let null = options.csv.nulls.first().map_or(Vec::new(), |word| word.clone().into_bytes());
        let style = Style { delimiter: options.csv.delimiter(), null };
        let mut lines = Vec::new();
        if options.csv.has_header {
            for (at, field) in schema.fields().iter().enumerate() {
                style.separate(&mut lines, at);
                style.append_text(&mut lines, field.name());
            }
            lines.push(b'\n');
        }
        Ok(Self { out, style, iso_times: options.csv.iso_times, lines, written_bytes: 0 })
    }

    /// Writes the rows of a batch.
    pub(crate) fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let columns = batch.schema();
        let style = self.style.clone();
        let columns = columns.fields().iter().zip(batch.columns());
        let columns = columns.map(|(field, array)| {
            form_of(array, &style, self.iso_times).ok_or_else(|| Error::NoType {
                column: field.name().as_str().into(),
                found: Box::new(array.data_type().clone()),
            })
        });
        let columns = columns.collect::<Result<Vec<_>>>()?;
        for row in 0..batch.num_rows() {
            for (at, (array, form)) in batch.columns().iter().zip(&columns).enumerate() {
                style.separate(&mut self.lines, at);
                if array.is_valid(row) {
                    form(&mut self.lines, row)
                } else {
                    self.lines.extend_from_slice(&style.null)
                }
            }
            self.lines.push(b'\n');
            if self.lines.len() >= BUFFER_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(crate) fn written_bytes(&self) -> u64 {
        self.written_bytes + self.lines.len() as u64
    }

    pub(crate) fn finish(mut self) -> Result<W> {
        self.flush()?;
        Ok(self.out.finish()?)
    }

    fn flush(&mut self) -> Result<()> {
        self.out.write_all(&self.lines)?;
        self.written_bytes += self.lines.len() as u64;
        self.lines.clear();
        Ok(())
    }
}

/// Appends the value of a row to a line.
type Form<'b> = Box<dyn Fn(&mut Vec<u8>, usize) + 'b>;

/// Prints the values of a primitive array.
macro_rules! printed {
    ($array:expr, $kind:ty, $form:literal) => {{
        let values = $array.as_primitive::<$kind>().values();
        Box::new(move |line: &mut Vec<u8>, row: usize| {
            write!(line, $form, values[row]).expect("memory takes all");
        })
    }};
}

/// Returns the form in which the values of an array are written, for the types of Lode's columns.
fn form_of<'b>(array: &'b dyn Array, style: &'b Style, iso_times: bool) -> Option<Form<'b>> {
    Some(match array.data_type() {
        DataType::UInt8 => printed!(array, UInt8Type, "{}"),
        DataType::UInt16 => printed!(array, UInt16Type, "{}"),
        DataType::UInt32 => printed!(array, UInt32Type, "{}"),
        DataType::UInt64 => printed!(array, UInt64Type, "{}"),
        DataType::Int8 => printed!(array, Int8Type, "{}"),
        DataType::Int16 => printed!(array, Int16Type, "{}"),
        DataType::Int32 => printed!(array, Int32Type, "{}"),
        DataType::Int64 => printed!(array, Int64Type, "{}"),
        // The fewest digits that mean it, with an exponent where that is short.
        DataType::Float32 => printed!(array, Float32Type, "{:?}"),
        DataType::Float64 => printed!(array, Float64Type, "{:?}"),
        DataType::Timestamp(TimeUnit::Microsecond, _) if iso_times => {
            let values = array.as_primitive::<TimestampMicrosecondType>().values();
            Box::new(move |line, row| append_moment(line, values[row]))
        }
        DataType::Timestamp(TimeUnit::Microsecond, _) => {
            printed!(array, TimestampMicrosecondType, "{}")
        }
        DataType::Decimal128(_, _) => {
            let values = array.as_primitive::<Decimal128Type>();
            Box::new(move |line, row| {
                line.extend_from_slice(values.value_as_string(row).as_bytes());
            })
        }
        DataType::Boolean => {
            let values = array.as_boolean();
            Box::new(move |line, row| {
                line.extend_from_slice(if values.value(row) { b"true" } else { b"false" });
            })
        }
        DataType::Utf8 => {
            let values = array.as_string::<i32>();
            Box::new(move |line, row| style.append_text(line, values.value(row)))
        }
        DataType::Binary => {
            let values = array.as_binary::<i32>();
            Box::new(move |line, row| append_hex(line, values.value(row)))
        }
        DataType::FixedSizeBinary(_) => {
            let values = array.as_fixed_size_binary();
            Box::new(move |line, row| append_hex(line, values.value(row)))
        }
        _ => return None,
    })
}

impl Style {
    fn separate(&self, line: &mut Vec<u8>, at: usize) {
        if at > 0 {
            line.push(self.delimiter);
        }
    }

    /// Appends a text, in quotes where it needs them: also one that would be a null, and one that
    /// starts or ends with white space, since some readers cut that off.
    fn append_text(&self, line: &mut Vec<u8>, text: &str) {
        let needs = |byte: u8| matches!(byte, b'"' | b'\n' | b'\r') || byte == self.delimiter;
        let is_plain = !text.is_empty() && text.trim() == text && text.as_bytes() != self.null;
        if is_plain && !text.bytes().any(needs) {
            line.extend_from_slice(text.as_bytes());
            return;
        }
        line.push(b'"');
        for byte in text.bytes() {
            if byte == b'"' {
                line.push(b'"');
            }
            line.push(byte);
        }
        line.push(b'"');
    }
}

/// The years that ISO 8601 writes with four digits.
const ISO_YEARS: RangeInclusive<i16> = 0..=9999;

/// Appends a moment as in ISO 8601, or as its number where that does not write it.
fn append_moment(line: &mut Vec<u8>, time_us: i64) {
    let moment = Timestamp::from_microsecond(time_us).ok();
    let moment = moment.filter(|at| ISO_YEARS.contains(&Offset::UTC.to_datetime(*at).year()));
    match moment {
        Some(moment) => write!(line, "{moment}"),
        None => write!(line, "{time_us}"),
    }
    .expect("memory takes all");
}

/// Appends bytes as digits in hex; quotes if no bytes are given.
fn append_hex(line: &mut Vec<u8>, bytes: &[u8]) {
    if bytes.is_empty() {
        line.extend_from_slice(b"\"\"");
    }
    for byte in bytes {
        write!(line, "{byte:02x}").expect("memory takes all");
    }
}
