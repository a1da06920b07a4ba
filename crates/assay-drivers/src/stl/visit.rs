//! A scan over a container: C++ walks, and hands every row to [`visit_row`].

use std::ffi::c_void;
use std::ops::Bound;

use assay_driver::Scan;
use assay_driver::schema::Schema;

/// A running scan: its end, and the receiver of its rows.
pub(super) struct Visit<'v> {
    schema: &'v Schema,
    decode: &'v dyn Fn(&[u8], &mut [u8]),
    skip: Option<Vec<u8>>,
    upper: Bound<Vec<u8>>,
    compare: fn(&[u8], &[u8]) -> std::cmp::Ordering,
    record: Vec<u8>,
    limit: u64,
    pub(super) count: u64,
    row: &'v mut dyn FnMut(&[u8]),
}

impl<'v> Visit<'v> {
    pub(super) fn new(
        schema: &'v Schema,
        scan: &Scan<'_>,
        decode: &'v dyn Fn(&[u8], &mut [u8]),
        encode: &dyn Fn(&[u8]) -> Vec<u8>,
        compare: fn(&[u8], &[u8]) -> std::cmp::Ordering,
        row: &'v mut dyn FnMut(&[u8]),
    ) -> Self {
        Self {
            schema,
            decode,
            skip: match scan.lower {
                Bound::Excluded(key) => Some(encode(key)),
                _ => None,
            },
            upper: scan.upper.map(encode),
            compare,
            record: vec![0; schema.record_size()],
            limit: scan.limit,
            count: 0,
            row,
        }
    }

    /// Takes one row; returns false to end the scan.
    fn take(&mut self, key: &[u8], payload: &[u8]) -> bool {
        let order_to = |bound: &[u8]| (self.compare)(key, bound);
        let beyond = match &self.upper {
            Bound::Unbounded => false,
            Bound::Included(bound) => order_to(bound).is_gt(),
            Bound::Excluded(bound) => order_to(bound).is_ge(),
        };
        if beyond || self.count == self.limit {
            return false;
        }
        if self.skip.as_ref().is_some_and(|skipped| order_to(skipped).is_eq()) {
            return true;
        }
        let (area, rest) = self.record.split_at_mut(self.schema.key_size());
        (self.decode)(key, area);
        rest[..payload.len()].copy_from_slice(payload);
        (self.row)(&self.record);
        self.count += 1;
        true
    }
}

pub(super) extern "C" fn visit_row(
    context: *mut c_void,
    key: *const c_void,
    key_size: usize,
    payload: *const c_void,
    payload_size: usize,
) -> bool {
    // SAFETY: the context is the `Visit` of the scan that is calling; key and payload are the
    // container's own and have these sizes.
    let (visit, key, payload) = unsafe {
        let visit = &mut *context.cast::<Visit<'_>>();
        (
            visit,
            std::slice::from_raw_parts(key.cast::<u8>(), key_size),
            std::slice::from_raw_parts(payload.cast::<u8>(), payload_size),
        )
    };
    visit.take(key, payload)
}
