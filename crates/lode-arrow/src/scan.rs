//! Reading a table as record batches.

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema as ArrowSchema, SchemaRef};
use lode::{ColumnId, Cursor, ReadTable, Schema};

use crate::columns::{Block, Column};
use crate::error::{Error, Result};
use crate::types::{arrow_schema, field};

/// The most rows of a batch, unless the scan says otherwise.
pub const DEFAULT_BATCH_ROWS: usize = 8_192;

/// The bytes of rows after which a batch is full.
const MOST_BATCH_BYTES: usize = 8 << 20;

/// The most bytes of records that are looked up at a time: places in a batch have 32 bits.
const MOST_LOOKUP_BYTES: usize = 1 << 30;

/// A scan of a table. Of each record only the wanted columns are copied out of the pages.
///
/// ```
/// use lode::{Database, KeyKind, Schema, Type};
/// use lode_arrow::Scan;
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// for id in 0..=255 {
///     bytes.insert(&[id, id.count_ones() as u8])?;
/// }
///
/// let snapshot = db.snapshot();
/// let scan = Scan::of(bytes.at(&snapshot)).columns(["bits"])?.batch_rows(100);
/// let batches = scan.read().collect::<lode_arrow::Result<Vec<_>>>()?;
/// let rows: Vec<_> = batches.iter().map(|batch| batch.num_rows()).collect();
/// assert_eq!((rows, batches[0].num_columns()), (vec![100, 100, 56], 1));
/// # Ok::<(), lode_arrow::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scan<T> {
    table: T,
    columns: Vec<ColumnId>,
    /// The lowest and the highest packed key.
    keys: Option<[Bound<Vec<u8>>; 2]>,
    limit: u64,
    batch_rows: usize,
}

impl<T: ReadTable> Scan<T> {
    /// Scans all of a table: as it is now, at a snapshot, or within a transaction.
    pub fn of(table: T) -> Self {
        let columns = table.table().schema().columns().iter().map(lode::Column::id).collect();
        Self { table, columns, keys: None, limit: u64::MAX, batch_rows: DEFAULT_BATCH_ROWS }
    }

    /// Reads only the columns of these names, in this order. The list may be empty: then batches
    /// have rows without columns.
    ///
    /// # Errors
    /// `NoColumn`.
    pub fn columns<N: AsRef<str>>(self, names: impl IntoIterator<Item = N>) -> lode::Result<Self> {
        let schema = self.table.table().schema();
        let columns = names.into_iter().map(|name| schema.column(name.as_ref()));
        Ok(Self { columns: columns.collect::<lode::Result<_>>()?, ..self })
    }

    /// Reads only records whose packed keys are in a range. Batches come in the order of keys.
    #[must_use]
    pub fn packed_keys(self, lower: Bound<Vec<u8>>, upper: Bound<Vec<u8>>) -> Self {
        Self { keys: Some([lower, upper]), ..self }
    }

    /// Reads at most `rows` rows.
    #[must_use]
    pub fn limit(self, rows: u64) -> Self {
        Self { limit: rows, ..self }
    }

    /// Sets the rows of a batch; the last one has fewer, and those of long rows: a batch is full at
    /// 8 MiB.
    #[must_use]
    pub fn batch_rows(self, rows: usize) -> Self {
        Self { batch_rows: rows.max(1), ..self }
    }

    /// Starts to read. The batches are all of the same moment, which is now, or that of the
    /// snapshot. A fault of the scan is an error in the place of the first batch.
    pub fn read(self) -> Batches {
        let (columns, schema) = self.batch_shape();
        let cursor = match &self.keys {
            None => self.table.iter(),
            Some([lower, upper]) => self
                .table
                .range_packed(lower.as_ref().map(Vec::as_slice), upper.as_ref().map(Vec::as_slice)),
        };
        let cursor = cursor.limit(self.limit).columns(&self.columns);
        Batches {
            cursor,
            columns,
            schema,
            block: Block::default(),
            batch_rows: self.batch_rows,
            rows: 0,
        }
    }

    /// Reads the records with these packed keys, as one batch in the order of `keys`. Keys that the
    /// table does not have are left out. This is for tables of both kinds; the limit, the range of
    /// keys and the rows of a batch do not matter.
    ///
    /// All of these records are in memory at a time, so `keys` should be few.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type};
    /// use lode_arrow::Scan;
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Hash)?;
    /// bytes.insert(&[7, 3])?;
    ///
    /// let batch = Scan::of(&bytes).lookup(&[vec![255], vec![7]])?;
    /// assert_eq!(batch.num_rows(), 1);
    /// # Ok::<(), lode_arrow::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [reading](ReadTable#errors); `NotText` when text is no UTF-8; `TooManyKeys`
    /// when the records have more than a gibibyte.
    pub fn lookup(&self, keys: &[Vec<u8>]) -> Result<RecordBatch> {
        let mut block = Block::default();
        for key in keys {
            if let Some(record) = self.table.get(key.as_slice())? {
                block.push_record(record.as_ref(), &self.columns);
            }
            if block.size_bytes() > MOST_LOOKUP_BYTES {
                return Err(Error::TooManyKeys { keys: keys.len() });
            }
        }
        let (columns, schema) = self.batch_shape();
        batch_of(&mut block, &columns, &schema)
    }

    /// Returns the columns of batches, and their schema.
    fn batch_shape(&self) -> (Vec<Column>, SchemaRef) {
        let schema = self.table_schema();
        let columns = self.columns.iter().map(|at| Column::of(&schema[*at])).collect();
        let fields = self.columns.iter().map(|at| field(schema, &schema[*at]));
        (columns, Arc::new(ArrowSchema::new(fields.collect::<Vec<_>>())))
    }

    /// Returns the schema of the table's records.
    pub fn table_schema(&self) -> &Schema {
        self.table.table().schema()
    }
}

/// The record batches of a table, one after another. Made by [`Scan::read`].
///
/// # Errors
/// The errors of a [cursor](lode::Cursor#errors); `NotText` when text is no UTF-8. After an error
/// there are no more batches.
pub struct Batches {
    cursor: Cursor,
    columns: Vec<Column>,
    schema: SchemaRef,
    /// The rows of a batch as the cursor returns them; used again for each batch.
    block: Block,
    batch_rows: usize,
    rows: u64,
}

impl Batches {
    /// Returns the schema of the batches.
    pub fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> u64 {
        self.rows
    }

    fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        let block = &mut self.block;
        block.clear();
        while block.rows() < self.batch_rows && block.size_bytes() < MOST_BATCH_BYTES {
            match self.cursor.next_row()? {
                Some(row) => block.push(row.bytes()),
                None => break,
            }
        }
        let rows = block.rows();
        if rows == 0 {
            return Ok(None);
        }
        self.rows += rows as u64;
        batch_of(block, &self.columns, &self.schema).map(Some)
    }
}

/// Turns packed records of a table into record batches, in their order. A batch has at most
/// [`DEFAULT_BATCH_ROWS`] rows, and fewer if they are long.
///
/// ```
/// use lode::{Schema, Type};
/// use lode_arrow::batches_of;
///
/// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
/// let records: [&[u8]; 2] = [&[7, 3], &[255, 8]];
/// let batches = batches_of(&schema, records).collect::<lode_arrow::Result<Vec<_>>>()?;
/// assert_eq!((batches.len(), batches[0].num_rows()), (1, 2));
/// # Ok::<(), lode_arrow::Error>(())
/// ```
///
/// # Errors
/// An item may be an error: `Lode` with `NotPacked` if a record is none of the table; `NotText`
/// when text is no UTF-8. After an error there are no more batches.
pub fn batches_of<'r>(
    schema: &Schema,
    records: impl IntoIterator<Item = &'r [u8]>,
) -> impl Iterator<Item = Result<RecordBatch>> {
    let ids: Vec<ColumnId> = schema.columns().iter().map(lode::Column::id).collect();
    let columns: Vec<_> = schema.columns().iter().map(Column::of).collect();
    let arrow = arrow_schema(schema);
    let mut records = records.into_iter().fuse();
    let mut block = Block::default();
    let mut has_failed = false;
    std::iter::from_fn(move || {
        block.clear();
        while !has_failed
            && block.rows() < DEFAULT_BATCH_ROWS
            && block.size_bytes() < MOST_BATCH_BYTES
        {
            match records.next().map(|record| schema.row(record)) {
                None => break,
                Some(Ok(record)) => block.push_record(record, &ids),
                Some(Err(error)) => {
                    has_failed = true;
                    return Some(Err(error.into()));
                }
            }
        }
        let is_empty = has_failed || block.rows() == 0;
        (!is_empty).then(|| {
            let batch = batch_of(&mut block, &columns, &arrow);
            has_failed = batch.is_err();
            batch
        })
    })
}

/// Turns the rows of a block into a batch.
fn batch_of(block: &mut Block, columns: &[Column], schema: &SchemaRef) -> Result<RecordBatch> {
    let arrays = columns.iter().map(|column| column.take_from(block));
    let arrays = arrays.collect::<Result<Vec<_>>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(block.rows()));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), arrays, &options)?)
}

impl Iterator for Batches {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.next_batch().transpose()
    }
}

impl std::fmt::Debug for Batches {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Batches").field("rows", &self.rows).finish_non_exhaustive()
    }
}
