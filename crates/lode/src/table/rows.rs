//! Rows: the parts of records that a cursor shows.
//!
//! A row is a whole packed record, or some columns of one. If records are in a tree next to fixed
//! keys, only the bytes of these columns are copied out of the pages. If the index of a heap has
//! the keys, the heap is not read for columns of the key.

use std::ops::Range;
use std::sync::Arc;

use super::TableCore;
use super::scan::has_record;
use crate::batch::Batch;
use crate::error::Result;
use crate::pager::{Pager, ReadEpoch};
use crate::schema::ColumnId;
use crate::tree::Wanted;

/// The rows that a cursor shows, one at a time.
pub(crate) struct Rows {
    /// The columns of a row; `None` for the whole record.
    columns: Option<Arc<[ColumnId]>>,
    /// The pieces of a row in a copy out of a leaf, if only a part of the record is copied.
    pieces: Option<Pieces>,
    /// True if a row is all that a batch has of a record.
    is_whole: bool,
    /// True if rows need nothing but the keys in the index of a heap.
    is_of_keys: bool,
    /// The record of the row, unless the row is made of pieces; for rows of keys alone, the key.
    record: Vec<u8>,
    /// The bytes that the heap has of the record.
    whole: Vec<u8>,
    row: Vec<u8>,
    shown: Shown,
}

/// The place of the bytes of the row.
#[derive(Clone, Copy, Debug)]
enum Shown {
    Record,
    Row,
    /// All bytes that the batch has of this record.
    Whole(usize),
}

impl Rows {
    /// Prepares rows of these columns, which the table has. If whole records are needed, rows are
    /// made of them.
    pub(crate) fn new(core: &TableCore, columns: Option<Arc<[ColumnId]>>, needs: Needs) -> Self {
        // A row of all columns in their order is the record, unless cells say more than it does.
        let is_record = |columns: &Arc<[ColumnId]>| {
            let schema = core.schema();
            let all = 0..schema.columns().len();
            let varies = schema.is_variable() || schema.is_key_variable();
            let has_more = varies || !schema.null_bits().is_empty();
            !has_more && columns.iter().map(|column| column.index()).eq(all)
        };
        let columns = columns.filter(|columns| !is_record(columns));
        let pieces = match (&columns, needs, core.tree_of_records()) {
            (Some(columns), Needs::Row, Some(_)) if !core.schema().is_key_variable() => {
                Some(Pieces::new(core, columns))
            }
            _ => None,
        };
        let is_whole = columns.is_none()
            && needs == Needs::Row
            && core.heap.is_none()
            && !core.schema().is_key_variable();
        let is_of_keys = needs == Needs::Row
            && core.heap.as_ref().is_some_and(|heap| !heap.has_keys())
            && columns.as_ref().is_some_and(|columns| core.schema().are_of_key(columns));
        let record = Vec::new();
        let whole = Vec::new();
        let row = Vec::new();
        Self { columns, pieces, is_whole, is_of_keys, record, whole, row, shown: Shown::Record }
    }

    /// Returns the parts of each record that a walk has to copy.
    pub(crate) fn wanted(&self, core: &TableCore) -> Wanted {
        match &self.pieces {
            Some(pieces) => Wanted { keys: pieces.has_key, payloads: pieces.payloads.clone() },
            None => core.index.whole(),
        }
    }

    /// Makes the row of a record of a batch, if the batch is enough for that. Returns false if more
    /// is needed, or the record has a fault.
    #[inline]
    pub(crate) fn show_in_batch(&mut self, core: &TableCore, batch: &Batch, at: usize) -> bool {
        if self.is_whole {
            if core.order.is_packed() {
                self.shown = Shown::Whole(at);
                return true;
            }
            let (key, payload) = batch.record(at);
            self.shown = Shown::Record;
            return core.pack(key, payload, &mut self.record).is_ok();
        }
        if self.is_of_keys {
            let (key, found) = batch.record(at);
            if !has_record(found) || core.unpack_key(key, &mut self.record).is_err() {
                return false;
            }
            self.show_record(core);
            return true;
        }
        let Some(pieces) = &self.pieces else { return false };
        if pieces.is_row && (!pieces.has_key || core.order.is_packed()) {
            self.shown = Shown::Whole(at);
            return true;
        }
        self.shown = Shown::Row;
        let (key, found) = batch.record(at);
        pieces.put_together(core, key, found, &mut self.record, &mut self.row).is_ok()
    }

    /// Makes the row of a record of a batch; returns false if there is no record.
    pub(crate) fn read(
        &mut self,
        core: &TableCore,
        pager: &Pager,
        moment: ReadEpoch,
        batch: &Batch,
        at: usize,
    ) -> Result<bool> {
        let (key, found) = batch.record(at);
        if self.show_in_batch(core, batch, at) {
            return Ok(true);
        }
        if let Some(pieces) = &self.pieces {
            // The record has a fault: this returns it.
            pieces.put_together(core, key, found, &mut self.record, &mut self.row)?;
        }
        match &core.heap {
            None => core.pack(key, found, &mut self.record)?,
            Some(_) if self.is_of_keys => {
                core.unpack_key(key, &mut self.record)?;
                return Ok(false);
            }
            Some(heap) => {
                core.was_there(moment)?;
                if !core.read_found(heap, pager, moment, found, &mut self.whole)? {
                    return Ok(false);
                }
                if heap.has_keys() {
                    std::mem::swap(&mut self.record, &mut self.whole)
                } else {
                    core.pack(key, &self.whole, &mut self.record)?
                }
            }
        }
        self.show_record(core);
        Ok(true)
    }

    /// Returns true if records of a heap are read from it.
    #[inline]
    pub(crate) fn needs_heap(&self) -> bool {
        !self.is_of_keys
    }

    /// Makes the row of a record by its key in order and its payload.
    pub(crate) fn pack(&mut self, core: &TableCore, key: &[u8], payload: &[u8]) -> Result<()> {
        core.pack(key, payload, &mut self.record)?;
        self.show_record(core);
        Ok(())
    }

    fn show_record(&mut self, core: &TableCore) {
        self.shown = match &self.columns {
            None => Shown::Record,
            Some(columns) => {
                self.row.clear();
                core.schema().append_cells(&self.record, columns, &mut self.row);
                Shown::Row
            }
        };
    }

    /// Returns the record of the row, if it was not made of pieces.
    pub(crate) fn record(&self) -> &[u8] {
        &self.record
    }

    /// Returns the bytes of the row, with the batch that it was read from.
    #[inline]
    pub(crate) fn bytes<'r>(&'r self, batch: &'r Batch) -> &'r [u8] {
        match self.shown {
            Shown::Record => &self.record,
            Shown::Row => &self.row,
            Shown::Whole(at) => batch.whole_record(at),
        }
    }
}

/// The parts of records that a cursor needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Needs {
    /// Rows only.
    Row,
    /// Whole records, with their keys.
    Record,
}

/// The layout of rows of some columns in a copy out of a leaf: the key if one of its columns is
/// wanted, and bytes of the payload.
struct Pieces {
    /// True if the key is copied. One column of it cannot be turned back without those before it.
    has_key: bool,
    /// Bytes of the payload; if a column can be null, the null bits come last.
    payloads: Vec<Range<usize>>,
    /// The columns in the order of the row.
    places: Vec<Place>,
    /// True if the copy is the row.
    is_row: bool,
}

/// The place of a column in the copy.
struct Place {
    bytes: Range<usize>,
    /// The byte and the mask of its null bit, if it can be null.
    null: Option<(usize, u8)>,
}

impl Pieces {
    fn new(core: &TableCore, wanted: &[ColumnId]) -> Self {
        let schema = core.schema();
        let columns = core.schema().columns();
        let is_of_key = |at: &ColumnId| at.index() < schema.key_columns();
        let has_key = wanted.iter().any(is_of_key);
        let mut size = if has_key { schema.key_size() } else { 0 };
        let mut payloads: Vec<Range<usize>> = Vec::new();
        let mut ranges = Vec::new();
        for at in wanted {
            let column = &columns[at.index()];
            if is_of_key(at) {
                ranges.push(column.range());
                continue;
            }
            let bytes = schema.range_in_payload(column);
            ranges.push(size..size + bytes.len());
            size += bytes.len();
            match payloads.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => payloads.push(bytes),
            }
        }
        let bits = schema.null_bits();
        let nulls: Vec<_> = wanted.iter().map(|at| schema.null_bit(&columns[at.index()])).collect();
        let has_nulls = nulls.iter().any(Option::is_some);
        if has_nulls {
            payloads.push(bits.clone());
        }
        let in_copy = |(at, mask)| (at - bits.start + size, mask);
        let places = ranges.into_iter().zip(nulls);
        let places: Vec<Place> =
            places.map(|(bytes, null)| Place { bytes, null: null.map(in_copy) }).collect();
        let after = |end, Place { bytes, .. }: &Place| (bytes.start == end).then_some(bytes.end);
        let end = places.iter().try_fold(0, after);
        let is_row = !has_nulls && end == Some(size);
        debug_assert_eq!(places.len(), wanted.len(), "each column of the row has a place");
        Self { has_key, payloads, places, is_row }
    }

    /// Makes a row of the copied parts.
    fn put_together(
        &self,
        core: &TableCore,
        key: &[u8],
        payload: &[u8],
        copy: &mut Vec<u8>,
        row: &mut Vec<u8>,
    ) -> Result<()> {
        row.clear();
        if self.is_row {
            core.unpack_key(key, row)?;
            row.extend_from_slice(payload);
            return Ok(());
        }
        copy.clear();
        if self.has_key {
            core.unpack_key(key, copy)?;
        }
        copy.extend_from_slice(payload);
        let is_in = |place: &Place| place.bytes.end <= copy.len();
        debug_assert!(self.places.iter().all(is_in), "the copy has all columns of the row");
        for Place { bytes, null } in &self.places {
            row.extend_from_slice(&copy[bytes.clone()]);
            row.extend(null.map(|(at, mask)| u8::from(copy[at] & mask != 0)));
        }
        Ok(())
    }
}
