//! The adapter for key-value engines.
//!
//! A key is the key area encoded so that bytewise order is key order; a value is the payload area
//! as it stands, up to the end of a column of variable length. Where texts vary it is packed by
//! [`Compact`]. An engine implements [`Handle`]; [`KvConnection`] is then its record level. An
//! engine without columns updates one by reading the value, changing it in place and writing it
//! back.

use std::ops::{Bound, Range};

use assay_driver::compact::Compact;
use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, KeyOrder, Schema};
use assay_driver::{Connection, Outcome, Scan};

/// A thread's handle of a key-value engine. Writes outside a transaction commit by themselves.
pub(crate) trait Handle {
    /// Starts a transaction.
    fn begin(&mut self) -> Result<()>;

    /// Commits the transaction.
    fn commit(&mut self) -> Result<()>;

    /// Rolls the transaction back.
    fn rollback(&mut self) -> Result<()>;

    /// Stores a value under a key, as the profile's insert rule says.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<Outcome>;

    /// Stores a value under a key, in place of an existing one. By default it inserts, which is
    /// right for engines whose insert replaces.
    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<()> {
        self.insert(key, value).map(|_| ())
    }

    /// Calls `found` with the value, if there is one.
    fn get(&mut self, key: &[u8], found: impl FnOnce(&[u8])) -> Result<Outcome>;

    /// Looks several keys up in one read transaction and calls `found` with the position and the
    /// value of each that exists.
    fn get_many(
        &mut self,
        keys: std::slice::ChunksExact<'_, u8>,
        found: impl FnMut(usize, &[u8]),
    ) -> Result<()> {
        _ = (keys, found);
        Err(Error::unsupported("lookups of several keys at once"))
    }

    /// Reads the value, lets `change` change it, and stores it.
    fn modify(&mut self, key: &[u8], change: impl FnMut(&mut Vec<u8>)) -> Result<Outcome>;

    /// Deletes a key, as the profile's delete rule says.
    fn delete(&mut self, key: &[u8]) -> Result<Outcome>;

    /// Calls `row` with keys and values in order until it returns false.
    fn scan(
        &mut self,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        row: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()>;
}

/// Returns the stored form of a packed record; packs it into `packed` if texts vary.
fn value_of<'r>(
    schema: &Schema,
    compact: Option<&Compact>,
    record: &'r [u8],
    packed: &'r mut Vec<u8>,
) -> &'r [u8] {
    let payload = &record[schema.key_size()..];
    match compact {
        None => &payload[..schema.used_payload(payload)],
        Some(compact) => {
            compact.pack(payload, packed);
            packed
        }
    }
}

/// Copies a stored value into a payload area. A value that is too long is cut, which the comparison
/// of payloads finds.
fn copy_value(compact: Option<&Compact>, value: &[u8], payload: &mut [u8]) {
    match compact {
        None => {
            let len = value.len().min(payload.len());
            payload[..len].copy_from_slice(&value[..len]);
        }
        Some(compact) => compact.unpack(value, payload),
    }
}

/// Returns the parts of the payload area with the columns wanted: neighbours are one part.
fn payload_parts(schema: &Schema, columns: &[usize]) -> Vec<Range<usize>> {
    let base = schema.key_size();
    let mut parts: Vec<Range<usize>> = Vec::new();
    for column in columns.iter().map(|&at| &schema.columns()[at]).filter(|c| c.offset >= base) {
        let from = column.offset - base;
        let end = from + column.kind.size_bytes();
        match parts.last_mut() {
            Some(last) if from - last.end < size_of::<u64>() => last.end = end,
            _ => parts.push(from..end),
        }
    }
    parts
}

/// The record level over a [`Handle`].
pub(crate) struct KvConnection<'s, H: Handle> {
    handle: H,
    schema: &'s Schema,
    order: KeyOrder,
    compact: Option<Compact>,
    key: Vec<u8>,
    keys: Vec<u8>,
    packed: Vec<u8>,
}

impl<'s, H: Handle> KvConnection<'s, H> {
    pub(crate) fn new(handle: H, schema: &'s Schema) -> Self {
        let order = KeyOrder::new(schema);
        let key = vec![0; order.size()];
        let keys = Vec::new();
        let packed = Vec::new();
        Self { handle, schema, order, compact: Compact::new(schema), key, keys, packed }
    }
}

impl<H: Handle> Connection for KvConnection<'_, H> {
    fn begin(&mut self) -> Result<()> {
        self.handle.begin()
    }

    fn commit(&mut self) -> Result<()> {
        self.handle.commit()
    }

    fn rollback(&mut self) -> Result<()> {
        self.handle.rollback()
    }

    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.order.encode(record, &mut self.key);
        let value = value_of(self.schema, self.compact.as_ref(), record, &mut self.packed);
        self.handle.insert(&self.key, value)
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.order.encode(record, &mut self.key);
        let value = value_of(self.schema, self.compact.as_ref(), record, &mut self.packed);
        self.handle.upsert(&self.key, value)
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        self.order.encode(key, &mut self.key);
        let compact = self.compact.as_ref();
        self.handle.get(&self.key, |value| copy_value(compact, value, payload))
    }

    fn get_many(
        &mut self,
        keys: &[u8],
        payloads: &mut [u8],
        outcomes: &mut [Outcome],
    ) -> Result<()> {
        let size = self.order.size();
        let areas = keys.chunks_exact(self.schema.key_size());
        self.keys.resize(areas.len() * size, 0);
        for (area, key) in areas.zip(self.keys.chunks_exact_mut(size)) {
            self.order.encode(area, key);
        }
        outcomes.fill(Outcome::Missing);
        let payload_size = self.schema.payload_size();
        let compact = self.compact.as_ref();
        self.handle.get_many(self.keys.chunks_exact(size), |at, value| {
            copy_value(compact, value, &mut payloads[at * payload_size..(at + 1) * payload_size]);
            outcomes[at] = Outcome::Done;
        })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let column = &self.schema.columns()[column];
        let offset = column.offset - self.schema.key_size();
        self.order.encode(key, &mut self.key);
        if let Some(compact) = &self.compact {
            let kind = column.kind;
            let mut payload = vec![0; self.schema.payload_size()];
            return self.handle.modify(&self.key, |packed| {
                compact.unpack(packed, &mut payload);
                payload[offset..offset + kind.size_bytes()].copy_from_slice(value);
                compact.pack(&payload, packed);
            });
        }
        if let ColumnType::VarBytes(_) = column.kind {
            let used = column.kind.used_bytes(value);
            return self.handle.modify(&self.key, |payload| {
                payload.truncate(offset);
                payload.extend_from_slice(&value[..used]);
            });
        }
        self.handle.modify(&self.key, |payload| {
            payload[offset..offset + value.len()].copy_from_slice(value);
        })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.order.encode(key, &mut self.key);
        self.handle.delete(&self.key)
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        let encode = |area: &[u8]| {
            let mut key = vec![0; self.order.size()];
            self.order.encode(area, &mut key);
            key
        };
        let lower = scan.lower.map(encode);
        let upper = scan.upper.map(encode);
        let mut record = vec![0; self.schema.record_size()];
        let base = self.schema.key_size();
        let parts = payload_parts(self.schema, scan.columns);
        let payload_columns = self.schema.key_columns().len()..self.schema.columns().len();
        let wanted: Vec<_> = match &self.compact {
            None => Vec::new(),
            Some(_) => payload_columns.map(|at| scan.columns.contains(&at)).collect(),
        };
        let mut count = 0;
        self.handle.scan(
            lower.as_ref().map(Vec::as_slice),
            upper.as_ref().map(Vec::as_slice),
            |key, value| {
                if count == scan.limit {
                    return false;
                }
                let (area, payload) = record.split_at_mut(base);
                self.order.decode(key, area);
                match &self.compact {
                    Some(compact) => compact.unpack_some(value, |at| wanted[at], payload),
                    None => {
                        for part in &parts {
                            let end = part.end.min(value.len());
                            payload[part.start..end].copy_from_slice(&value[part.start..end]);
                        }
                    }
                }
                row(&record);
                count += 1;
                count < scan.limit
            },
        )?;
        Ok(count)
    }
}

/// Returns the smallest key that is greater, for engines whose ranges include the lower bound and
/// exclude the upper one.
#[cfg(any(feature = "leveldb", feature = "rocksdb", feature = "surrealkv"))]
pub(crate) fn successor(key: &[u8]) -> Vec<u8> {
    let mut key = key.to_vec();
    key.push(0);
    key
}
