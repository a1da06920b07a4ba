//! Reading CSV.

use std::fs::File;
use std::io::BufReader;
use std::str::FromStr;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, RecordBatch,
    StringArray,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use lode::Decimal;

use super::fields::{FieldText, Line, Lines};
use crate::error::Result;

/// The bytes of lines after which a batch is full.
const MOST_BATCH_BYTES: usize = 8 << 20;

/// The most characters of a value that an error repeats.
const MOST_REPEATED: usize = 40;

pub(crate) struct Reader {
    lines: Lines<BufReader<File>>,
    schema: SchemaRef,
    batch_rows: usize,
}

impl Reader {
    /// Reads the header. `known` says of which types columns are.
    pub(crate) fn new(file: File, known: &SchemaRef, batch_rows: usize) -> Result<Self> {
        let mut lines = Lines::new(BufReader::new(file))?;
        let mut header = Line::default();
        if !lines.next(&mut header)? {
            return Err(header.wrong("the names of the columns should be here"));
        }
        let mut fields = Vec::with_capacity(header.len());
        for at in 0..header.len() {
            let name = str::from_utf8(header.field(at).bytes);
            let name = name.map_err(|_| header.wrong("the name of a column is no UTF-8"))?;
            if fields.iter().any(|field: &Arc<Field>| field.name() == name) {
                return Err(header.wrong(format!("column {name} is there twice")));
            }
            // What no column has is text, to be refused by its name.
            let field = known.field_with_name(name).cloned();
            let field = field.unwrap_or_else(|_| Field::new(name, DataType::Utf8, true));
            // Whether it can be null is for the table to say.
            fields.push(Arc::new(field.with_nullable(true)));
        }
        Ok(Self { lines, schema: Arc::new(Schema::new(fields)), batch_rows: batch_rows.max(1) })
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Reads the next lines; `None` at the end.
    pub(crate) fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let (mut lines, mut size) = (Vec::new(), 0);
        while lines.len() < self.batch_rows && size < MOST_BATCH_BYTES {
            let mut line = Line::default();
            if !self.lines.next(&mut line)? {
                break;
            }
            let (found, wanted) = (line.len(), self.schema.fields().len());
            if found != wanted {
                return Err(line.wrong(format!("it has {found} fields and the header {wanted}")));
            }
            size += (0..found).map(|at| line.field(at).bytes.len()).sum::<usize>();
            lines.push(line);
        }
        if lines.is_empty() {
            return Ok(None);
        }
        let fields = self.schema.fields().iter().enumerate();
        let arrays = fields.map(|(at, field)| Cells { lines: &lines, at, field }.array());
        let arrays = arrays.collect::<Result<Vec<_>>>()?;
        Ok(Some(RecordBatch::try_new(self.schema(), arrays)?))
    }
}

/// The fields of a column.
struct Cells<'l> {
    lines: &'l [Line],
    at: usize,
    field: &'l Field,
}

impl Cells<'_> {
    /// What the fields say, each as `read` reads it; none where there is nothing.
    fn values<'c, T>(
        &'c self,
        read: impl Fn(FieldText<'c>) -> Option<T>,
    ) -> Result<Vec<Option<T>>> {
        let value = |line: &'c Line| {
            let field = line.field(self.at);
            if field.bytes.is_empty() && !field.is_quoted {
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
            DataType::Float32 => self.numbers::<Float32Type>()?,
            DataType::Float64 => self.numbers::<Float64Type>()?,
            DataType::Timestamp(TimeUnit::Microsecond, zone) => {
                let moments: PrimitiveArray<TimestampMicrosecondType> =
                    self.values(parsed::<i64>)?.into_iter().collect();
                Arc::new(moments.with_timezone_opt(zone.clone()))
            }
            DataType::Decimal128(precision, scale) => {
                let (digits, after) = (*precision, *scale as u8);
                let read = |field| parsed::<Decimal>(field)?.rescaled(digits, after);
                let numbers: PrimitiveArray<Decimal128Type> =
                    self.values(read)?.into_iter().collect();
                Arc::new(numbers.with_precision_and_scale(*precision, *scale)?)
            }
            DataType::Boolean => {
                let values = self.values(|field| match field.bytes {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => None,
                });
                Arc::new(BooleanArray::from(values?))
            }
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

fn parsed<N: FromStr>(field: FieldText<'_>) -> Option<N> {
    str::from_utf8(field.bytes).ok()?.trim().parse().ok()
}

/// Bytes from their digits, two each.
fn unhex(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = digits.chunks(2).map(|pair| match *pair {
        [high, low] => Some((digit(high)? << 4 | digit(low)?) as u8),
        _ => None,
    });
    pairs.collect()
}
