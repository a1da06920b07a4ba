//! Connections to containers whose keys and payloads are strings of bytes.

use std::ffi::c_void;
use std::ops::Bound;

use assay_driver::error::{Error, Result};
use assay_driver::schema::{ColumnType, KeyOrder, Schema};
use assay_driver::{Connection, Outcome, Scan};

use super::payload_offset;
use super::table::BytesTable;
use super::visit::{Visit, visit_row};

pub(super) struct BytesConnection<'s> {
    pub(super) table: &'static BytesTable,
    pub(super) map: *mut c_void,
    pub(super) order: &'s KeyOrder,
    pub(super) key: Vec<u8>,
    pub(super) ordered: bool,
    pub(super) schema: &'s Schema,
}

impl BytesConnection<'_> {
    fn used_payload<'r>(&self, record: &'r [u8]) -> &'r [u8] {
        let payload = &record[self.schema.key_size()..];
        assert_eq!(payload.len(), self.schema.payload_size(), "a whole record");
        &payload[..self.schema.used_payload(payload)]
    }
}

// SAFETY of every call below: as for `WordConnection`; strings were inserted with at most the
// schema's payload size, so no more bytes than that are copied out.
impl Connection for BytesConnection<'_> {
    fn insert(&mut self, record: &[u8]) -> Result<Outcome> {
        self.order.encode(record, &mut self.key);
        let payload = self.used_payload(record);
        let key = self.key.as_ptr().cast();
        let size = self.key.len();
        // SAFETY: see above.
        Ok(unsafe {
            (self.table.insert)(self.map, key, size, payload.as_ptr().cast(), payload.len())
        })
    }

    fn upsert(&mut self, record: &[u8]) -> Result<()> {
        self.order.encode(record, &mut self.key);
        let payload = self.used_payload(record);
        let key = self.key.as_ptr().cast();
        let size = self.key.len();
        // SAFETY: see above.
        unsafe {
            (self.table.upsert)(self.map, key, size, payload.as_ptr().cast(), payload.len());
        }
        Ok(())
    }

    fn get(&mut self, key: &[u8], payload: &mut [u8]) -> Result<Outcome> {
        assert_eq!(payload.len(), self.schema.payload_size(), "room for the payload");
        self.order.encode(key, &mut self.key);
        let key = self.key.as_ptr().cast();
        let size = self.key.len();
        // SAFETY: see above.
        Ok(unsafe { (self.table.get)(self.map, key, size, payload.as_mut_ptr().cast()) })
    }

    fn update(&mut self, key: &[u8], column: usize, value: &[u8]) -> Result<Outcome> {
        let offset = payload_offset(self.schema, column, value);
        let kind = self.schema.columns()[column].kind;
        let last = matches!(kind, ColumnType::VarBytes(_));
        let value = &value[..kind.used_bytes(value)];
        self.order.encode(key, &mut self.key);
        let key = self.key.as_ptr().cast();
        let size = self.key.len();
        let bytes = value.as_ptr().cast();
        // SAFETY: see above.
        Ok(unsafe { (self.table.update)(self.map, key, size, offset, bytes, value.len(), last) })
    }

    fn delete(&mut self, key: &[u8]) -> Result<Outcome> {
        self.order.encode(key, &mut self.key);
        // SAFETY: see above.
        Ok(unsafe { (self.table.remove)(self.map, self.key.as_ptr().cast(), self.key.len()) })
    }

    fn scan(&mut self, scan: &Scan<'_>, row: &mut dyn FnMut(&[u8])) -> Result<u64> {
        if !self.ordered {
            return Err(Error::unsupported("ordered scans"));
        }
        let encode = |key: &[u8]| {
            let mut encoded = vec![0; self.order.size()];
            self.order.encode(key, &mut encoded);
            encoded
        };
        let from = match scan.lower {
            Bound::Unbounded => Vec::new(),
            Bound::Included(key) | Bound::Excluded(key) => encode(key),
        };
        let decode = |found: &[u8], area: &mut [u8]| self.order.decode(found, area);
        let mut visit = Visit::new(self.schema, scan, &decode, &encode, <[u8]>::cmp, row);
        // SAFETY: see above; `visit` outlives the call.
        unsafe {
            (self.table.scan)(
                self.map,
                from.as_ptr().cast(),
                from.len(),
                (&raw mut visit).cast(),
                visit_row,
            );
        }
        Ok(visit.count)
    }
}
