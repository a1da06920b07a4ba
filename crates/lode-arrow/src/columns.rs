//! From rows to columns: the cells of a block of rows become Arrow arrays, one column after the
//! other.
//!
//! A row is as [`Cursor::columns`](lode::Cursor::columns) describes it: the cells of the wanted
//! columns, one after another. For each row there is the place of its next cell; taking a column
//! moves all places on.

use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, FixedSizeBinaryArray, PrimitiveArray, StringArray,
};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use lode::{ColumnId, RowRef, Type, Value};

use crate::error::{Error, Result};

/// Rows of some columns, one after another.
#[derive(Default)]
pub(crate) struct Block {
    bytes: Vec<u8>,
    /// The start of the next cell of each row.
    places: Vec<u32>,
}

impl Block {
    pub(crate) fn clear(&mut self) {
        self.bytes.clear();
        self.places.clear();
    }

    pub(crate) fn rows(&self) -> usize {
        self.places.len()
    }

    pub(crate) fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Adds a row. A block has fewer bytes than 32 bits count: it is full long before.
    #[inline]
    pub(crate) fn push(&mut self, row: &[u8]) {
        self.places.push(self.bytes.len() as u32);
        self.bytes.extend_from_slice(row);
    }

    /// Adds the cells of some columns of a whole record.
    pub(crate) fn push_record(&mut self, record: RowRef<'_>, columns: &[ColumnId]) {
        self.places.push(self.bytes.len() as u32);
        let schema = record.schema();
        for column in columns {
            let cell = schema.bytes_of(record.bytes(), &schema[*column]);
            if schema[*column].kind.is_variable() {
                self.bytes.extend_from_slice(&(cell.len() as u32).to_le_bytes());
            }
            self.bytes.extend_from_slice(cell);
            if schema[*column].nullable {
                self.bytes.push(u8::from(record.at(*column) == Value::Null));
            }
        }
    }

    /// Takes the next cells, which have `N` bytes each.
    fn cells<const N: usize>(&mut self) -> impl ExactSizeIterator<Item = [u8; N]> {
        let bytes = &self.bytes;
        self.places.iter_mut().map(move |place| {
            let from = *place as usize;
            *place += N as u32;
            *bytes[from..].first_chunk().expect("a row has all of its cells")
        })
    }

    /// Calls `take` with the bytes of the next cells, which have `size` bytes, or as many as the
    /// four bytes before them say.
    fn each_cell(&mut self, size: Option<usize>, mut take: impl FnMut(&[u8])) {
        let Self { bytes, places } = self;
        for place in places {
            let mut from = *place as usize;
            let size = size.unwrap_or_else(|| {
                let length = bytes[from..].first_chunk().expect("a cell starts with its length");
                from += LENGTH_BYTES;
                u32::from_le_bytes(*length) as usize
            });
            take(&bytes[from..from + size]);
            *place = (from + size) as u32;
        }
    }
}

/// Bytes of the length of a cell of variable length.
const LENGTH_BYTES: usize = 4;

/// A column that is taken from blocks.
pub(crate) struct Column {
    name: Box<str>,
    kind: Type,
    nullable: bool,
}

impl Column {
    pub(crate) fn of(column: &lode::Column) -> Self {
        Self { name: column.name.as_str().into(), kind: column.kind, nullable: column.nullable }
    }

    /// Makes an array of the next cells of all rows.
    pub(crate) fn take_from(&self, block: &mut Block) -> Result<ArrayRef> {
        Ok(match self.kind {
            Type::U8 => self.numbers::<UInt8Type, 1>(block, u8::from_le_bytes),
            Type::U16 => self.numbers::<UInt16Type, 2>(block, u16::from_le_bytes),
            Type::U32 => self.numbers::<UInt32Type, 4>(block, u32::from_le_bytes),
            Type::U64 => self.numbers::<UInt64Type, 8>(block, u64::from_le_bytes),
            Type::I8 => self.numbers::<Int8Type, 1>(block, i8::from_le_bytes),
            Type::I16 => self.numbers::<Int16Type, 2>(block, i16::from_le_bytes),
            Type::I32 => self.numbers::<Int32Type, 4>(block, i32::from_le_bytes),
            Type::I64 => self.numbers::<Int64Type, 8>(block, i64::from_le_bytes),
            Type::F32 => self.numbers::<Float32Type, 4>(block, f32::from_le_bytes),
            Type::F64 => self.numbers::<Float64Type, 8>(block, f64::from_le_bytes),
            Type::Timestamp => {
                let moments = self.primitive::<TimestampMicrosecondType, 8>(block, |bytes| {
                    i64::from_le_bytes(bytes)
                });
                Arc::new(moments.with_timezone("UTC"))
            }
            Type::Decimal { precision, scale } => {
                let numbers = match self.kind.size_bytes() {
                    8 => self.primitive::<Decimal128Type, 8>(block, |bytes| {
                        i64::from_le_bytes(bytes).into()
                    }),
                    _ => self.primitive::<Decimal128Type, 16>(block, i128::from_le_bytes),
                };
                Arc::new(numbers.with_precision_and_scale(precision, scale as i8)?)
            }
            Type::Bool => {
                let values = block.cells::<1>().map(|[byte]| byte != 0).collect::<BooleanBuffer>();
                Arc::new(BooleanArray::new(values, self.nulls(block)))
            }
            Type::Bytes(size) => self.bytes(block, size as usize)?,
            Type::Text(size) => self.text(block, Some(size as usize))?,
            Type::VarText(_) => self.text(block, None)?,
            Type::VarBytes(_) => {
                let (offsets, values) = gather(block, None, |cell| cell);
                Arc::new(BinaryArray::new(offsets, values, self.nulls(block)))
            }
            other => unreachable!("{other} is a type that this crate does not know"),
        })
    }

    fn numbers<A: ArrowPrimitiveType, const N: usize>(
        &self,
        block: &mut Block,
        read: fn([u8; N]) -> A::Native,
    ) -> ArrayRef {
        Arc::new(self.primitive::<A, N>(block, read))
    }

    fn primitive<A: ArrowPrimitiveType, const N: usize>(
        &self,
        block: &mut Block,
        read: impl Fn([u8; N]) -> A::Native,
    ) -> PrimitiveArray<A> {
        let values: Vec<A::Native> = block.cells().map(read).collect();
        PrimitiveArray::new(ScalarBuffer::from(values), self.nulls(block))
    }

    fn bytes(&self, block: &mut Block, size: usize) -> Result<ArrayRef> {
        let mut values = Vec::with_capacity(block.rows() * size);
        block.each_cell(Some(size), |cell| values.extend_from_slice(cell));
        let nulls = self.nulls(block);
        Ok(Arc::new(FixedSizeBinaryArray::try_new(size as i32, values.into(), nulls)?))
    }

    fn text(&self, block: &mut Block, size: Option<usize>) -> Result<ArrayRef> {
        let (offsets, values) = match size {
            Some(_) => gather(block, size, without_zeros),
            None => gather(block, size, |cell| cell),
        };
        let text = StringArray::try_new(offsets, values, self.nulls(block));
        // There is nothing else that can be wrong with it.
        Ok(Arc::new(text.map_err(|_| Error::NotText { column: self.name.clone() })?))
    }

    /// Takes the bytes after the cells that say which are null, if there are such bytes.
    fn nulls(&self, block: &mut Block) -> Option<NullBuffer> {
        let has_value = |[is_null]: [u8; 1]| is_null == 0;
        let values = self.nullable.then(|| block.cells().map(has_value).collect::<BooleanBuffer>());
        values.map(NullBuffer::new).filter(|nulls| nulls.null_count() > 0)
    }
}

/// Joins the next cells, one after another, as `part` wants them; returns where each ends, too.
fn gather(
    block: &mut Block,
    size: Option<usize>,
    part: impl Fn(&[u8]) -> &[u8],
) -> (OffsetBuffer<i32>, Buffer) {
    let mut offsets = Vec::with_capacity(block.rows() + 1);
    let mut values = Vec::with_capacity(size.map_or(0, |size| block.rows() * size));
    offsets.push(0);
    block.each_cell(size, |cell| {
        values.extend_from_slice(part(cell));
        offsets.push(values.len() as i32);
    });
    (OffsetBuffer::new(offsets.into()), values.into())
}

/// Returns a text without the zeros that fill its cell.
fn without_zeros(cell: &[u8]) -> &[u8] {
    let last = cell.iter().rposition(|byte| *byte != 0);
    &cell[..last.map_or(0, |last| last + 1)]
}
