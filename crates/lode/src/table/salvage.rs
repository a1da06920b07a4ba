//! Reads what is left of a damaged table.

use super::{Definition, KeyKind, Location};
use crate::data::DataFile;
use crate::error::{Error, Result};
use crate::hash::Hash;
use crate::heap::{Entry, Heap, InHeap};
use crate::index::{Remains, Salvaged, loss};
use crate::pager::{PageNumber, Pager, Space};
use crate::schema::Schema;
use crate::schema::key::KeyOrder;
use crate::tree::Tree;

/// A part of a damaged table, or the lack of one.
pub(crate) enum Left<'l> {
    /// A packed record.
    Record(&'l [u8]),
    /// A page that is damaged, with all that was on it.
    Page { why: Error },
    /// Packed keys of which it is not known whether there were any: from the first one on, and
    /// before the other; `None` for no bound.
    Keys { from: Option<Vec<u8>>, before: Option<Vec<u8>> },
    /// A record that is damaged, and its packed key if that is known.
    Damaged { key: Option<Vec<u8>>, why: Error },
}

/// Reads a table's records out of an index, and a heap if it has one.
struct Reading<'r> {
    schema: &'r Schema,
    order: KeyOrder,
    pager: &'r Pager,
    heap: Option<Heap>,
    visit: &'r mut dyn FnMut(Left<'_>) -> Result<()>,
    record: Vec<u8>,
    payload: Vec<u8>,
}

impl Reading<'_> {
    /// Takes a part of the index.
    fn take(&mut self, salvaged: Salvaged<'_>) -> Result<()> {
        match salvaged {
            Salvaged::Entry { key, payload } => self.take_entry(key, payload),
            Salvaged::Page { why } => (self.visit)(Left::Page { why }),
            Salvaged::Keys { from, before } => {
                let packed = |ordered: Option<Vec<u8>>| {
                    let mut packed = Vec::new();
                    self.order.decode(&ordered?, &mut packed)?;
                    Some(packed)
                };
                let from = packed(from);
                let before = packed(before);
                (self.visit)(Left::Keys { from, before })
            }
        }
    }

    fn take_entry(&mut self, ordered: &[u8], payload: &[u8]) -> Result<()> {
        if self.order.decode(ordered, &mut self.record).is_none() {
            let why = Error::corrupt("an index", "a key is none of its columns");
            return (self.visit)(Left::Damaged { key: None, why });
        }
        let Some(heap) = &self.heap else {
            self.record.extend_from_slice(payload);
            return self.take_record();
        };
        let entry = payload.first_chunk().map(|bytes| Entry::of(*bytes));
        let Some(address) = entry.and_then(|entry| entry.address) else {
            let why = Error::corrupt("an index", "a key leads to no record");
            return (self.visit)(Left::Damaged { key: Some(self.record.clone()), why });
        };
        let moment = self.pager.moment();
        let read = heap.read_at(self.pager, moment, address, &mut self.payload);
        self.pager.release(moment);
        match loss(read)? {
            Ok(()) => {
                self.record.extend_from_slice(&self.payload);
                self.take_record()
            }
            Err(why) => (self.visit)(Left::Damaged { key: Some(self.record.clone()), why }),
        }
    }

    /// Takes the packed record, if the schema allows it.
    fn take_record(&mut self) -> Result<()> {
        match self.schema.expect_record(&self.record) {
            Ok(()) => (self.visit)(Left::Record(&self.record)),
            Err(why) => {
                let key = self.schema.key_length(&self.record).ok();
                let key = key.and_then(|size| self.record.get(..size)).map(<[u8]>::to_vec);
                (self.visit)(Left::Damaged { key, why })
            }
        }
    }

    /// Takes all records of a heap that has their keys: its index is not needed.
    fn take_heap(&mut self, remains: &Remains<'_>) -> Result<()> {
        let Some(heap) = self.heap.take() else { return Ok(()) };
        let moment = self.pager.moment();
        let read = heap.salvage(remains, moment, &mut |found| match found {
            InHeap::Record(whole) => {
                self.record.clear();
                self.record.extend_from_slice(whole);
                self.take_record()
            }
            InHeap::Damaged { why } => (self.visit)(Left::Damaged { key: None, why }),
            InHeap::Page { why } => (self.visit)(Left::Page { why }),
        });
        self.pager.release(moment);
        read
    }
}

fn pages_of(extents: &[PageNumber]) -> Vec<PageNumber> {
    Space::restore(extents.to_vec()).numbers()
}

/// Calls `visit` with every record of a table that can be read, and with all that is lost.
///
/// # Errors
/// Those of `visit`; `Full`.
pub(crate) fn salvage(
    pager: &Pager,
    data: &DataFile,
    definition: &Definition,
    location: &Location,
    visit: &mut dyn FnMut(Left<'_>) -> Result<()>,
) -> Result<()> {
    let heap = definition.index_keys();
    let heap = heap.map(|keys| Heap::new(Space::restore(location.heap.clone()), keys));
    let has_keys = heap.as_ref().is_some_and(Heap::has_keys);
    let mut reading = Reading {
        schema: &definition.schema,
        order: definition.order(),
        pager,
        heap,
        visit,
        record: Vec::new(),
        payload: Vec::new(),
    };
    if has_keys {
        let remains = Remains { pager, data, pages: pages_of(&location.heap) };
        return reading.take_heap(&remains);
    }
    let remains = Remains { pager, data, pages: pages_of(&location.extents) };
    let visit = &mut |salvaged: Salvaged<'_>| reading.take(salvaged);
    match definition.kind {
        KeyKind::Tree => Tree::salvage(location.root, definition.shape(), &remains, visit),
        KeyKind::Hash => {
            Hash::salvage(location.root, definition.hash_parameters(), &remains, visit)
        }
    }
}
