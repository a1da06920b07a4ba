//! Connections to containers whose keys are one word and whose payloads are at most eight.

use std::ffi::c_void;
use std::ops::Bound;

use assay_driver::error::{Error, Result};
use assay_driver::schema::Schema;
use assay_driver::{Connection, Outcome, Scan};

use super::payload_offset;
use super::table::WordTable;
use super::visit::{Visit, visit_row};
use crate::word_key::WordKey;

pub(super) struct WordConnection<'s> {
    pub(super) table: &'static WordTable,
    pub(super) map: *mut c_void,
    pub(super) key: &'s WordKey,
    pub(super) ordered: bool,
    pub(super) schema: &'s Schema,
}

impl WordConnection<'_> {
    #[inline(always)]
    fn word(&self, key: &[u8]) -> u64 {
        if self.ordered { self.key.ordered(key) } else { WordKey::raw(key) }
    }
}

// SAFETY of every call below: the container belongs to this table, and to this connection alone
// while the call may change it (the store's lock is held); payload slices have the schema's payload
// size, which is the size of the table's value type; a column is inside the payload.
impl Connection for WordConnection<'_> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        let payload = &record[8..];
        assert_eq!(payload.len(), self.schema.payload_size(), "a whole record");
        // SAFETY: see above.
        Ok(unsafe { (self.table.insert)(self.map, self.word(record), payload.as_ptr().cast()) })
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        let payload = &record[8..];
        assert_eq!(payload.len(), self.schema.payload_size(), "a whole record");
        // SAFETY: see above.
        unsafe { (self.table.upsert)(self.map, self.word(record), payload.as_ptr().cast()) };
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        assert_eq!(payload.len(), self.schema.payload_size(), "room for the payload");
        // SAFETY: see above.
        Ok(unsafe { (self.table.get)(self.map, self.word(key), payload.as_mut_ptr().cast()) })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let offset = payload_offset(self.schema, column, value);
        // SAFETY: see above.
        Ok(unsafe {
            (self.table.update)(
                self.map,
                self.word(key),
                offset,
                value.as_ptr().cast(),
                value.len(),
            )
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        // SAFETY: see above.
        Ok(unsafe { (self.table.remove)(self.map, self.word(key)) })
    }

    fn replay_inserts(&mut self, records: &[u8], record_size: usize) -> Result<u64> {
        assert_eq!(record_size, self.schema.record_size(), "whole records");
        let count = records.len() / record_size;
        // SAFETY: see above; there are `count` records.
        let done =
            unsafe { (self.table.inserts)(self.map, self.key, records.as_ptr().cast(), count) };
        Ok(done as u64)
    }

    fn replay_gets(
        &mut self,
        keys: &[u8],
        key_size: usize,
        payloads: &mut [u8],
        payload_size: usize,
    ) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        assert_eq!(payload_size, self.schema.payload_size(), "room for the payload");
        assert!(payloads.len() >= count * payload_size, "room for every payload");
        let payloads = payloads.as_mut_ptr().cast();
        // SAFETY: see above; there are `count` keys and places for their payloads.
        let done = unsafe { (self.table.gets)(self.map, self.key, keys, count, payloads) };
        Ok(done as u64)
    }

    fn replay_updates(
        &mut self,
        keys: &[u8],
        key_size: usize,
        column: usize,
        values: &[u8],
        value_size: usize,
    ) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        assert!(values.len() >= count * value_size, "a value for every key");
        let offset = payload_offset(self.schema, column, &values[..value_size]);
        let values = values.as_ptr().cast();
        // SAFETY: see above; there are `count` keys and values.
        let done = unsafe {
            (self.table.updates)(self.map, self.key, keys, count, offset, values, value_size)
        };
        Ok(done as u64)
    }

    fn replay_deletes(&mut self, keys: &[u8], key_size: usize) -> Result<u64> {
        let (keys, count) = words(keys, key_size);
        // SAFETY: see above; there are `count` keys.
        let done = unsafe { (self.table.removes)(self.map, self.key, keys, count) };
        Ok(done as u64)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        if !self.ordered {
            return Err(Error::unsupported("ordered scans"));
        }
        let from = match scan.lower {
            Bound::Unbounded => 0,
            Bound::Included(key) | Bound::Excluded(key) => self.word(key),
        };
        let decode = |found: &[u8], area: &mut [u8]| {
            let word = u64::from_ne_bytes(*found.first_chunk().expect("a word"));
            area.copy_from_slice(&self.key.raw_from_ordered(word).to_le_bytes());
        };
        let encode = |key: &[u8]| self.word(key).to_ne_bytes().to_vec();
        let mut visit = Visit::new(
            self.schema,
            scan,
            &decode,
            &encode,
            |a, b| {
                let word = |bytes: &[u8]| u64::from_ne_bytes(*bytes.first_chunk().expect("a word"));
                word(a).cmp(&word(b))
            },
            row,
        );
        // SAFETY: see above; `visit` outlives the call.
        unsafe { (self.table.scan)(self.map, from, (&raw mut visit).cast(), visit_row) };
        Ok(visit.count)
    }
}

/// Returns a tape of key areas as an array of words.
fn words(keys: &[u8], key_size: usize) -> (*const c_void, usize) {
    assert_eq!(key_size, 8, "keys of one word");
    (keys.as_ptr().cast(), keys.len() / key_size)
}
