//! Reading many records of a table: ranges, and all.

use std::ops::Bound;

use super::TableCore;
use super::kinds::Kinds;
use super::rows::Rows;
use crate::error::{Error, Result};
use crate::heap::{Entry, Heap};
use crate::index::Visit;
use crate::pager::{Pager, ReadEpoch};
use crate::tree::{Direction, Range, Tree, Wanted};

/// What a scan asks for.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'s> {
    /// The packed key that it begins at.
    pub lower: Bound<&'s [u8]>,
    /// The packed key that it ends at.
    pub upper: Bound<&'s [u8]>,
    /// From the highest key down.
    pub backward: bool,
    /// The columns wanted, in the order wanted. A row has their bytes one after another; before
    /// those of one of variable length come four bytes that say how many, little-endian, and after
    /// one that can be null comes a byte more, which is 1 if it is.
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

impl TableCore {
    pub(crate) fn scan_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        scan: &Scan<'_>,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        if self.heap.is_some() || self.schema().is_key_variable() {
            return self.scan_records_at(pager, moment, scan, visit);
        }
        let (tree, range) = (self.tree()?, self.range(scan)?);
        let (key_size, columns) = (self.schema().key_size(), self.schema().columns());
        // A column of the key cannot be turned back without what is before it; so the key comes
        // whole.
        let needs_key = scan.columns.iter().any(|at| *at < self.schema().key_columns());
        let mut payloads: Vec<std::ops::Range<usize>> = Vec::new();
        // Where each column wanted lies in what is copied.
        let mut places = Vec::new();
        let mut size = if needs_key { key_size } else { 0 };
        for &column in scan.columns {
            let found = columns.get(column);
            let found =
                found.ok_or_else(|| self.schema().mismatch(format!("no column {column}")))?;
            if column < self.schema().key_columns() {
                places.push(found.range());
                continue;
            }
            let bytes = self.schema().range_in_payload(found);
            places.push(size..size + bytes.len());
            size += bytes.len();
            match payloads.last_mut() {
                Some(last) if last.end == bytes.start => last.end = bytes.end,
                _ => payloads.push(bytes),
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
            payloads.push(bits.clone());
        }
        let in_order = !needs_key
            || places.iter().try_fold(0, |end, place| (place.start == end).then_some(place.end))
                == Some(size);
        let (mut left, mut copy, mut row) = (scan.limit, Vec::with_capacity(size), Vec::new());
        if left == 0 {
            return Ok(());
        }
        let wanted = Wanted { keys: needs_key, payloads };
        tree.scan(pager, moment, (&range, scan.direction()), &wanted, &mut |key, payload| {
            left -= 1;
            if !needs_key && !has_nulls {
                return Ok(visit(payload)? && left > 0);
            }
            copy.clear();
            if needs_key {
                self.unpack_key(key, &mut copy)?;
            }
            copy.extend_from_slice(payload);
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

    /// The same where records do not lie in the tree, or their keys are of variable length.
    fn scan_records_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
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
        moment: ReadEpoch,
        (range, direction): (&Range, Direction),
        visit: &mut Visit<'_>,
    ) -> Result<()> {
        let tree = self.tree()?;
        let (wanted, mut payload) = (Wanted::all(tree.shape().payload_size), Vec::new());
        tree.scan(pager, moment, (range, direction), &wanted, &mut |key, found| match &self.heap {
            None => visit(key, found),
            Some(heap) => match self.read_found(heap, pager, (moment, found), &mut payload)? {
                true => visit(key, &payload),
                false => Ok(true),
            },
        })
    }

    /// Packs a record of a key in order and a payload, whatever was there before.
    pub(crate) fn pack(&self, ordered: &[u8], payload: &[u8], record: &mut Vec<u8>) -> Result<()> {
        self.unpack_key(ordered, record)?;
        record.extend_from_slice(payload);
        Ok(())
    }

    /// The packed key of one in order, whatever was there before.
    pub(super) fn unpack_key(&self, ordered: &[u8], packed: &mut Vec<u8>) -> Result<()> {
        let decoded = self.order.decode(ordered, packed);
        let is_key = decoded.is_some()
            && (!self.schema().is_key_variable() || self.schema().expect_key(packed).is_ok());
        match is_key {
            true => Ok(()),
            false => Err(self.corrupt("a key is none of its columns")),
        }
    }

    fn bound(&self, bound: Bound<&[u8]>) -> Result<Bound<Vec<u8>>> {
        let ordered = |key: &[u8]| {
            self.schema().expect_key(key)?;
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
        moment: ReadEpoch,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
    ) -> Result<()> {
        let (mut record, mut whole) = (Vec::new(), Vec::new());
        self.index.each(pager, moment, &mut |name, found| {
            match &self.heap {
                None => self.pack(name, found, &mut record)?,
                Some(heap) => {
                    if !self.read_found(heap, pager, (moment, found), &mut whole)? {
                        return Ok(true);
                    }
                    match heap.has_keys() {
                        false => self.pack(name, &whole, &mut record)?,
                        true => std::mem::swap(&mut record, &mut whole),
                    }
                }
            }
            visit(&record)
        })
    }

    /// The same for all that can be read; `fault` gets the error of each page or record that
    /// cannot.
    pub(crate) fn each_readable_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        visit: &mut dyn FnMut(&[u8]) -> Result<bool>,
        fault: &mut dyn FnMut(Error),
    ) -> Result<()> {
        let fault = std::cell::RefCell::new(fault);
        let (mut record, mut whole) = (Vec::new(), Vec::new());
        let mut packed = |name: &[u8], found: &[u8], record: &mut Vec<u8>| {
            let Some(heap) = &self.heap else {
                return self.pack(name, found, record).map(|()| true);
            };
            if !self.read_found(heap, pager, (moment, found), &mut whole)? {
                return Ok(false);
            }
            match heap.has_keys() {
                false => self.pack(name, &whole, record)?,
                true => std::mem::swap(record, &mut whole),
            }
            Ok(true)
        };
        self.index.each_readable(
            pager,
            moment,
            &mut |name, found| match packed(name, found, &mut record) {
                Ok(true) => visit(&record),
                Ok(false) => Ok(true),
                Err(error @ Error::Corrupt { .. }) => {
                    (fault.borrow_mut())(error);
                    Ok(true)
                }
                Err(error) => Err(error),
            },
            &mut |error| (fault.borrow_mut())(error),
        )
    }

    /// Reads all that the heap has of a record whose entry the index had at a moment; false if
    /// there was none.
    fn read_found(
        &self,
        heap: &Heap,
        pager: &Pager,
        (moment, entry): (ReadEpoch, &[u8]),
        whole: &mut Vec<u8>,
    ) -> Result<bool> {
        let entry = Entry::of(entry.try_into().expect("an index of a heap has entries"));
        let Some(address) = entry.address else { return Ok(false) };
        heap.read_at(pager, moment, address, whole)?;
        self.expect_whole(heap, whole)?;
        Ok(true)
    }
}
