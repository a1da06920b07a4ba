//! Reading CSV.

use std::fs::File;
use std::io::BufRead;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    RecordBatchOptions, StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lode::Decimal;

use super::CsvForm;
use super::fields::{FieldText, Line, Lines};
use super::packed::unpacked;
use super::values::{moment, parsed, truth, unhex};
use crate::constant::is_said;
use crate::error::{Error, Result};
use crate::files::{ReadOptions, places};

/// The bytes of lines after which a batch is full.
const MOST_BATCH_BYTES: usize = 8 << 20;

/// The most characters of a value that an error repeats.
const MOST_REPEATED: usize = 40;

pub(crate) struct Reader {
    lines: Lines<Box<dyn BufRead + Send>>,
    /// The wanted columns.
    schema: SchemaRef,
    /// The places of these columns in a line.
    places: Vec<usize>,
    /// The number of fields of a line.
    width: usize,
    csv: CsvForm,
    rounds_times: bool,
    batch_rows: usize,
}

impl Reader {
    /// Reads the header. `known` says of which types columns are.
    pub(crate) fn new(file: File, known: &SchemaRef, options: &ReadOptions) -> Result<Self> {
        let csv = options.csv.clone();
        csv.check().map_err(|why| Error::Format(why.into()))?;
        let mut lines = Lines::new(unpacked(file)?, csv.delimiter())?;
        let names = match (csv.has_header, &options.columns) {
            (true, _) => header(&mut lines)?,
            (false, Some(columns)) => columns.clone(),
            (false, None) => known.fields().iter().map(|field| field.name().clone()).collect(),
        };
        let places = match &options.columns {
            Some(wanted) => places(wanted, names.iter().map(String::as_str))?,
            None => (0..names.len()).collect(),
        };
        let field = |place: &usize| {
            let name = &names[*place];
            // A field of no column is text, to be refused by its name.
            let field = known.field_with_name(name).cloned();
            let field = field.unwrap_or_else(|_| Field::new(name, DataType::Utf8, true));
            // The table decides if the column can be null.
            field.with_nullable(true)
        };
        let schema = Arc::new(Schema::new(places.iter().map(field).collect::<Vec<_>>()));
        Ok(Self {
            lines,
            schema,
            places,
            width: names.len(),
            csv,
            rounds_times: options.rounds_times,
            batch_rows: options.batch_rows.max(1),
        })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Reads the next lines; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let mut lines = Vec::new();
        let mut size = 0;
        while lines.len() < self.batch_rows && size < MOST_BATCH_BYTES {
            let mut line = Line::default();
            let is_there = match self.width {
                1 => self.lines.next_even_empty(&mut line)?,
                _ => self.lines.next(&mut line)?,
            };
            if !is_there {
                break;
            }
            let found = line.len();
            let wanted = self.width;
            if found != wanted {
                return Err(line.wrong(if self.csv.has_header {
                    format!("it has {found} fields and the header {wanted}")
                } else {
                    format!("it has {found} fields, and there are {wanted} columns")
                }));
            }
            size += (0..found).map(|at| line.field(at).bytes.len()).sum::<usize>();
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let fields = self.schema.fields().iter().zip(&self.places);
        let arrays = fields.map(|(field, &at)| {
            let csv = &self.csv;
            let rounds_times = self.rounds_times;
            Cells { lines: &lines, at, field, csv, rounds_times }.array()
        });
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        let rows = RecordBatchOptions::new().with_row_count(Some(lines.len()));
        Ok(Some(RecordBatch::try_new_with_options(self.schema(), arrays, &rows)?))
    }
}

/// Reads the names of the columns.
fn header<R: BufRead>(lines: &mut Lines<R>) -> Result<Vec<String>> {
    let mut header = Line::default();
    if !lines.next(&mut header)? {
        header.number = 1;
        return Err(header.wrong("the names of the columns should be here"));
    }
    let mut names = Vec::with_capacity(header.len());
    for at in 0..header.len() {
        let name = str::from_utf8(header.field(at).bytes);
        let name = name.map_err(|_| header.wrong("the name of a column is no UTF-8"))?;
        if names.iter().any(|other| other == name) {
            return Err(header.wrong(format!("column {name} is there twice")));
        }
        names.push(name.to_string());
    }
    Ok(names)
}

/// The fields of a column.
struct Cells<'l> {
    lines: &'l [Line],
    at: usize,
    field: &'l Field,
    csv: &'l CsvForm,
    rounds_times: bool,
}

impl Cells<'_> {
    /// Returns the values of the fields, each as `read` reads it; `None` where the field is a null.
    fn values<'c, T>(
        &'c self,
        read: impl Fn(FieldText<'c>) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let value = |line: &'c Line| {
            let field = line.field(self.at);
            let is_null = |word: &String| word.as_bytes() == field.bytes;
            let is_null = field.bytes.is_empty() || self.csv.nulls.iter().any(is_null);
            if is_null && !field.is_quoted {
                return Ok(None);
            }
            read(field).map(Some).ok_or_else(|| {
                let text = String::from_utf8_lossy(field.bytes);
                let shown: String = text.chars().take(MOST_REPEATED).collect();
                let more = if shown.len() < text.len() { "…" } else { "" };
                let Self { field, .. } = self;
                let kind = field.metadata().get(crate::types::TYPE);
                let kind = kind.map_or("text", String::as_str);
                line.wrong(format!("column {} ({kind}) cannot hold {shown}{more}", field.name()))
            })
        };
        self.lines.iter().map(value).collect()
    }

    fn array(&self) -> Result<ArrayRef> {
        Ok(match self.field.data_type() {
            DataType::UInt8 => self.numbers::<UInt8Type>()?,
            DataType::UInt16 => self.numbers::<UInt16Type>()?,
            DataType::UInt32 => self.numbers::<UInt32Type>()?,
            DataType::UInt64 => self.numbers::<UInt64Type>()?,
            DataType::Int8 => self.numbers::<Int8Type>()?,
            DataType::Int16 => self.numbers::<Int16Type>()?,
            DataType::Int32 => self.numbers::<Int32Type>()?,
            DataType::Int64 => self.numbers::<Int64Type>()?,
            DataType::Float32 => {
                let values = self.values(|field| finite(parsed::<f32>(field), field))?;
                Arc::new(values.into_iter().collect::<PrimitiveArray<Float32Type>>())
            }
            DataType::Float64 => {
                let values = self.values(|field| finite(parsed::<f64>(field), field))?;
                Arc::new(values.into_iter().collect::<PrimitiveArray<Float64Type>>())
            }
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let moments: PrimitiveArray<TimestampMicrosecondType> =
                    self.values(|field| moment(field, self.rounds_times))?.into_iter().collect();
                Arc::new(moments.with_timezone_opt(zone.clone()))
            }
            DataType::Decimal128(precision, scale) => {
                let digits = *precision;
                let after = *scale as u8;
                let read = |field| parsed::<Decimal>(field)?.rescaled(digits, after);
                let numbers: PrimitiveArray<Decimal128Type> =
                    self.values(read)?.into_iter().collect();
                Arc::new(numbers.with_precision_and_scale(*precision, *scale)?)
            }
            DataType::Boolean => Arc::new(BooleanArray::from(self.values(truth)?)),
            DataType::Binary => {
                let values = self.values(|field| unhex(field.bytes))?;
                Arc::new(values.into_iter().collect::<BinaryArray>())
            }
            DataType::FixedSizeBinary(size) => {
                let is_whole = |bytes: &Vec<u8>| bytes.len() == *size as usize;
                let values = self.values(|field| unhex(field.bytes).filter(is_whole))?;
                let values = values.into_iter();
                Arc::new(FixedSizeBinaryArray::try_from_sparse_iter_with_size(values, *size)?)
            }
            _ => {
                let values = self.values(|field| str::from_utf8(field.bytes).ok())?;
                Arc::new(StringArray::from(values))
            }
        })
    }

    fn numbers<A: ArrowPrimitiveType>(&self) -> Result<ArrayRef>
    where
        A::Native: FromStr,
        PrimitiveArray<A>: FromIterator<Option<A::Native>>,
    {
        let values = self.values(parsed::<A::Native>)?;
        Ok(Arc::new(values.into_iter().collect::<PrimitiveArray<A>>()))
    }
}

/// Refuses a number that the text of a field does not say.
fn finite<F: Into<f64> + Copy>(number: Option<F>, field: FieldText<'_>) -> Option<F> {
    let text = str::from_utf8(field.bytes).ok()?;
    number.filter(|&number| is_said(text, number.into()))
}
