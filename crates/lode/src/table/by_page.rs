//! Walks over hashed tables whose heaps do not fit in memory.
//!
//! The records of a bucket are scattered over the heap. Reading them as they come would bring a
//! page from the disk for almost each of them. This walk takes the entries of many buckets, and
//! reads their records in the order of the heap. So it reads a page of the heap at most once for
//! all entries that it takes at a time. At first it takes few, since many walks end after a few
//! records.

use crate::batch::Batch;
use crate::error::{Error, Result};
use crate::hash::{Buckets, Hash, HashPlace};
use crate::heap::Entry;
use crate::pager::{Pager, ReadEpoch};

/// The divisor of the memory budget that gives the most bytes of entries, which come on top.
const PART_OF_BUDGET: u64 = 8;

/// The most bytes of entries.
const MOST_BYTES: u64 = 64 << 20;

/// The factor by which the number of entries taken at a time grows, up to the most.
const GROWTH: usize = 4;

/// The most entries of a batch.
const MOST_IN_BATCH: usize = 512;

/// Bytes of the longest key that a hashed index of a heap has.
const KEY_BYTES: usize = 16;

/// The entry and key of a record in the index.
#[derive(Clone)]
struct Item {
    entry: [u8; Entry::BYTES],
    key: [u8; KEY_BYTES],
}

/// A walk over the entries of all buckets.
#[derive(Clone)]
pub(crate) struct ByPage {
    buckets: Buckets,
    bucket: Batch,
    key_size: usize,
    items: Vec<Item>,
    /// Items that were returned.
    passed: usize,
    /// An error that comes after the items.
    error: Option<Error>,
    /// The next number of items to take, about, and the most.
    next_items: usize,
    most_items: usize,
}

impl ByPage {
    pub(crate) fn new(pager: &Pager) -> Self {
        let most_bytes = (pager.budget_bytes() / PART_OF_BUDGET).min(MOST_BYTES);
        Self {
            buckets: Buckets::new(),
            bucket: Batch::default(),
            key_size: 0,
            items: Vec::new(),
            passed: 0,
            error: None,
            next_items: 1,
            most_items: most_bytes as usize / size_of::<Item>(),
        }
    }

    /// Returns the place up to which the walk has come; `None` at the end.
    pub(crate) fn place(&self) -> Option<HashPlace> {
        self.buckets.place()
    }

    /// Returns true if the walk can continue after its own error, or one of a record.
    pub(crate) fn knows_way(&self) -> bool {
        !self.buckets.is_lost || self.error.is_some()
    }

    /// Copies the entries that come next, and their keys; returns false at the end.
    ///
    /// # Errors
    /// The fault of a bucket.
    pub(crate) fn next(
        &mut self,
        hash: &Hash,
        pager: &Pager,
        moment: ReadEpoch,
        batch: &mut Batch,
    ) -> Result<bool> {
        batch.clear();
        if self.passed == self.items.len() && self.error.is_none() {
            self.take_buckets(hash, pager, moment);
        }
        let left = &self.items[self.passed..];
        let some = &left[..left.len().min(MOST_IN_BATCH)];
        if some.is_empty() {
            return self.error.take().map_or(Ok(false), Err);
        }
        batch.fill(self.key_size, Entry::BYTES, |bytes| {
            for Item { entry, key } in some {
                bytes.extend_from_slice(&key[..self.key_size]);
                bytes.extend_from_slice(entry);
            }
        });
        debug_assert_eq!(batch.len(), some.len(), "each item is in the batch");
        self.passed += some.len();
        Ok(true)
    }

    /// Takes the entries of the next buckets, and sorts them by their places in the heap.
    fn take_buckets(&mut self, hash: &Hash, pager: &Pager, moment: ReadEpoch) {
        self.items.clear();
        self.passed = 0;
        while self.items.len() < self.next_items {
            match hash.next_bucket(pager, moment, &mut self.buckets, &mut self.bucket) {
                Ok(true) => self.take_bucket(),
                Ok(false) => break,
                Err(error) => {
                    self.error = Some(error);
                    break;
                }
            }
        }
        self.items.sort_unstable_by_key(|item| Entry::of(item.entry).order_in_heap());
        self.next_items = (self.items.len() * GROWTH).min(self.most_items).max(1);
    }

    fn take_bucket(&mut self) {
        for at in 0..self.bucket.len() {
            let (key, entry) = self.bucket.record(at);
            debug_assert!(key.len() <= KEY_BYTES, "longer keys are in the heap");
            self.key_size = key.len();
            let mut item = Item { entry: [0; Entry::BYTES], key: [0; KEY_BYTES] };
            item.entry.copy_from_slice(entry);
            item.key[..key.len()].copy_from_slice(key);
            self.items.push(item);
        }
    }
}
