//! Reading many records of a table: ranges, and all.

use std::ops::Bound;

use super::core::Core;
use super::kinds::Kinds;
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::heap::{Entry, Heap};
use crate::index::Visit;
use crate::pager::{Moment, Pager};
use crate::tree::{Direction, Range, Span, Tree};

/// What a scan asks for.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// The packed key that it begins at.
    pub lower: Bound<&'s [u8]>,
    /// The packed key that it ends at.
    pub upper: Bound<&'s [u8]>,
    /// From the highest key down.
    pub backward: bool,
    /// The columns wanted, in the order wanted. A row has their bytes one after another; before those of
    /// one of variable length come four bytes that say how many, little-endian, and after one that
    /// can be null comes a byte more, which is 1 if it is.
    pub columns: &'s [usize],
    /// The most records.
    pub limit: u64,
}

impl Scan<'_> {
    pub(crate) fn direction(&self) -> Direction {
        match self.backward {
            true => Direction::Backward,
            false => Direction::Forward,
        }
    }
}

impl Core {
    pub(crate) fn scan_at(
        &self,
        pager: &Pager,
        moment: Moment,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        if self.heap.is_some() {
            return self.scan_heap_at(pager, moment, scan, visit);
        }
        let (tree, range) = (self.tree()?, self.range(scan)?);
        let (key_size, columns) = (self.schema().key_size(), self.schema().columns());
        // A column of the key cannot be turned back without what is before it; so the key comes whole.
        let needs_key = scan.columns.iter().any(|at| *at < self.schema().key_columns());
        let mut spans = Vec::new();
        if needs_key {
            spans.push(Span { from: 0, size: key_size });
        }
        // Where each column wanted lies in what is copied.
        let mut places = Vec::new();
        let mut size = if needs_key { key_size } else { 0 };
        for &column in scan.columns {
            let found = columns.get(column);
            let found =
                found.ok_or_else(|| self.schema().mismatch(format!("no column {column}")))?;
            let bytes = found.range();
            if column < self.schema().key_columns() {
                places.push(bytes);
                continue;
            }
            places.push(size..size + bytes.len());
            size += bytes.len();
            match spans.last_mut() {
                Some(last) if last.from + last.size == bytes.start => last.size += bytes.len(),
                _ => spans.push(Span { from: bytes.start, size: bytes.len() }),
            }
        }
        // And the bits that say what is null, if one can be.
        let bits = self.schema().null_bits();
        let nulls: Vec<_> =
            scan.columns.iter().map(|at| self.schema().null_bit(&columns[*at])).collect();
        let has_nulls = nulls.iter().any(Option::is_some);
        let bits_at = size;
        if has_nulls {
            size += bits.len();
            spans.push(Span { from: bits.start, size: bits.len() });
        }
        let in_order = !needs_key
            || places.iter().try_fold(0, |end, place| (place.start == end).then_some(place.end))
                == Some(size);
        let (mut left, mut key, mut row) = (scan.limit, vec![0; key_size], Vec::new());
        let mut copy = vec![0; size];
        if left == 0 {
            return Ok(());
        }
        tree.scan(pager, moment, (&range, scan.direction()), &spans, &mut |bytes| {
            left -= 1;
            if !needs_key && !has_nulls {
                return Ok(visit(bytes)? && left > 0);
            }
            copy.copy_from_slice(bytes);
            if needs_key {
                self.order.decode(&bytes[..key_size], &mut key);
                copy[..key_size].copy_from_slice(&key);
            }
            if in_order && !has_nulls {
                return Ok(visit(&copy)? && left > 0);
            }
            row.clear();
            for (place, null) in places.iter().zip(&nulls) {
                row.extend_from_slice(&copy[place.clone()]);
                let is_null =
                    |(at, mask): &(usize, u8)| copy[at - bits.start + bits_at] & mask != 0;
                row.extend(null.as_ref().map(|null| u8::from(is_null(null))));
            }
            Ok(visit(&row)? && left > 0)
        })
    }

    /// The same where the tree has only the addresses of the records.
    fn scan_heap_at(
        &self,
        pager: &Pager,
        moment: Moment,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        self.tree()?;
        let range = self.range(scan)?;
        let mut rows = Rows::new(self, scan, visit)?;
        if scan.limit == 0 {
            return Ok(());
        }
        self.each_in(pager, moment, (&range, scan.direction()), &mut |key, payload| {
            rows.show(key, Some(payload))
        })
    }

    fn tree(&self) -> Result<&Tree> {
        match &self.index {
            Kinds::Tree(tree) => Ok(tree),
            Kinds::Hash(_) => Err(Error::NoOrder { table: self.schema().name().into() }),
        }
    }

    /// The range of a scan, of keys in order.
    pub(crate) fn range(&self, scan: &Scan<'_>) -> Result<Range> {
        Ok(Range { lower: self.bound(scan.lower)?, upper: self.bound(scan.upper)? })
    }

    /// Calls `visit` with the key in order and the payload of each record in a range at a moment,
    /// until it answers false.
    pub(crate) fn each_in(
        &self,
        pager: &Pager,
        moment: Moment,
        (range, direction): (&Range, Direction),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let tree = self.tree()?;
        let key_size = self.schema().key_size();
        let spans = [Span { from: 0, size: key_size + tree.shape().payload_size }];
        let mut payload = Vec::new();
        tree.scan(pager, moment, (range, direction), &spans, &mut |bytes| {
            let (key, found) = bytes.split_at(key_size);
            match &self.heap {
                None => visit(key, found),
                Some(heap) => match self.read_found(heap, pager, (moment, found), &mut payload)? {
                    true => visit(key, &payload),
                    false => Ok(true),
                },
            }
        })
    }

    /// Packs a record of a key in order and a payload, whatever was there before.
    pub(crate) fn pack(&self, ordered: &[u8], payload: &[u8], record: &mut Vec<u8>) {
        record.resize(ordered.len(), 0);
        self.order.decode(ordered, record);
        record.extend_from_slice(payload);
    }

    fn bound(&self, bound: Bound<&[u8]>) -> Result<Bound<Vec<u8>>> {
        let ordered = |key: &[u8]| {
            self.schema().expect_size("key", key.len(), self.schema().key_size())?;
            Ok::<_, Error>(self.in_order(key, <[u8]>::to_vec))
        };
        Ok(match bound {
            Bound::Included(key) => Bound::Included(ordered(key)?),
            Bound::Excluded(key) => Bound::Excluded(ordered(key)?),
            Bound::Unbounded => Bound::Unbounded,
        })
    }

    /// Calls `visit` with every packed record at a moment, until it answers false.
    pub(crate) fn each_at(
        &self,
        pager: &Pager,
        moment: Moment,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (mut record, mut whole) = (Vec::new(), Vec::new());
        self.index.each(pager, moment, &mut |name, found| {
            match &self.heap {
                None => self.pack(name, found, &mut record),
                Some(heap) => {
                    if !self.read_found(heap, pager, (moment, found), &mut whole)? {
                        return Ok(true);
                    }
                    match heap.front() {
                        0 => self.pack(name, &whole, &mut record),
                        _ => std::mem::swap(&mut record, &mut whole),
                    }
                }
            }
            visit(&record)
        })
    }

    /// Reads all that the heap has of a record whose entry the index had at a moment; false if there was
    /// none.
    fn read_found(
        &self,
        heap: &Heap,
        pager: &Pager,
        (moment, entry): (Moment, &[u8]),
        whole: &mut Vec<u8>,
    ) -> Result<bool> {
        let entry = Entry::of(entry.try_into().expect("an index of a heap has entries"));
        let Some(address) = entry.address else { return Ok(false) };
        heap.read_at(pager, moment, address, whole)?;
        self.expect_stored(whole.get(heap.front()..).unwrap_or_default())?;
        Ok(true)
    }
}
