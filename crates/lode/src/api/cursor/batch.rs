//! Many rows at once.

use super::Cursor;
use crate::api::row::Shape;
use crate::error::{Error, Result};
use crate::schema::RowRef;

/// The most bytes of the rows of a batch, if it has several.
const MOST_BATCH_BYTES: usize = 8 << 20;

/// Rows that a [`Cursor`] has copied into one block of memory. Later changes of the table do not
/// change them.
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type, Value};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("square").key("of", Type::I64).column("is", Type::I64).finish()?;
/// let squares = db.create_table(&schema, KeyKind::Tree)?;
/// let all = (0..10_000).map(|n| schema.pack(&[Value::Signed(n), Value::Signed(n * n)]));
/// squares.load(all.collect::<lode::Result<Vec<_>>>()?)?;
///
/// let (mut sum, is) = (0, schema.column("is")?);
/// for batch in squares.iter().columns([is]).batches(1_024) {
///     for row in batch?.iter() {
///         let Value::Signed(square) = row.at(is) else { unreachable!("the column is an I64") };
///         sum += square;
///     }
/// }
/// assert_eq!(sum, 333_283_335_000);
/// # Ok::<(), lode::Error>(())
/// ```
pub struct RowBatch {
    shape: Shape,
    bytes: Vec<u8>,
    /// The end of each row in `bytes`.
    ends: Vec<usize>,
}

impl RowBatch {
    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no rows. A cursor makes no such batch.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns the bytes of all rows together.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Returns the row at a place, counted from 0; `None` if there is no such row.
    pub fn row(&self, at: usize) -> Option<RowRef<'_>> {
        let end = *self.ends.get(at)?;
        let from = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        Some(self.shape.row(&self.bytes[from..end]))
    }

    /// Iterates over the rows, in the order of the cursor.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = RowRef<'_>> + DoubleEndedIterator {
        (0..self.len()).map(|at| self.row(at).expect("the place is below the number of rows"))
    }
}

/// A cursor that is read in batches. Made by [`Cursor::batches`].
///
/// ```
/// use lode::{Database, KeyKind, ReadTable, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
/// let bytes = db.create_table(&schema, KeyKind::Tree)?;
/// for id in 0..10 {
///     bytes.insert(&[id])?;
/// }
/// let sizes = bytes.iter().batches(4).map(|batch| Ok(batch?.len()));
/// assert_eq!(sizes.collect::<lode::Result<Vec<_>>>()?, [4, 4, 2]);
/// # Ok::<(), lode::Error>(())
/// ```
pub struct Batches {
    cursor: Cursor,
    most_rows: usize,
    /// An error that came after rows.
    error: Option<Error>,
}

impl Cursor {
    /// Reads the next rows, at most `most_rows` and at least one; `None` at the end. There are
    /// fewer rows than `most_rows` at the end, and if they have more than 8 MiB together.
    ///
    /// # Errors
    /// Those of the [cursor](Self#errors). The rows of the batch that were read before are lost;
    /// [`batches`](Self::batches) keeps them.
    pub fn next_batch(&mut self, most_rows: usize) -> Result<Option<RowBatch>> {
        let (batch, end) = self.fill_batch(most_rows);
        end.map(|()| batch)
    }

    /// Iterates over batches of `rows` rows, as [`next_batch`](Self::next_batch) makes them. An
    /// error comes after the rows before it.
    pub fn batches(self, rows: usize) -> Batches {
        Batches { cursor: self, most_rows: rows, error: None }
    }

    /// Reads up to `most_rows` rows. Returns them, and any error that came after them.
    fn fill_batch(&mut self, most_rows: usize) -> (Option<RowBatch>, Result<()>) {
        let mut bytes = Vec::new();
        let mut ends = Vec::new();
        let shape = self.shape();
        let end = loop {
            if ends.len() >= most_rows.max(1) || bytes.len() >= MOST_BATCH_BYTES {
                break Ok(());
            }
            match self.next_row() {
                Ok(Some(row)) => {
                    bytes.extend_from_slice(row.bytes());
                    ends.push(bytes.len());
                }
                Ok(None) => break Ok(()),
                Err(error) => break Err(error),
            }
        };
        debug_assert!(ends.last().is_none_or(|end| *end == bytes.len()), "rows fill the batch");
        debug_assert!(ends.is_sorted(), "each row ends after the one before");
        let batch = (!ends.is_empty()).then_some((bytes, ends)).zip(shape);
        (batch.map(|((bytes, ends), shape)| RowBatch { shape, bytes, ends }), end)
    }
}

impl Iterator for Batches {
    type Item = Result<RowBatch>;

    fn next(&mut self) -> Option<Result<RowBatch>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        match self.cursor.fill_batch(self.most_rows) {
            (None, end) => end.err().map(Err),
            (Some(batch), end) => {
                self.error = end.err();
                Some(Ok(batch))
            }
        }
    }
}
