//! The records that a walk copies out of a leaf.

use std::ops::Range;

use super::Node;
use crate::batch::Batch;

/// The parts of records that a walk wants.
pub(crate) struct Wanted {
    /// True if it wants their keys.
    pub keys: bool,
    /// Bytes of their payloads, which come one after another.
    pub payloads: Vec<Range<usize>>,
}

impl Wanted {
    /// Returns the wish for keys, and payloads of `payload_size` bytes.
    pub(crate) fn all(payload_size: usize) -> Self {
        Self { keys: true, payloads: std::iter::once(0..payload_size).collect() }
    }
}

/// The least wanted bytes of a record for which the next one is fetched during its copy: the copy
/// ends before the processor would fetch ahead by itself.
const FETCHED_BYTES: usize = 256;

/// Copies entries of a leaf; removes the former records of the batch.
pub(super) fn fill(batch: &mut Batch, node: Node<'_>, entries: Range<usize>, wanted: &Wanted) {
    let payload_size = wanted.payloads.iter().map(ExactSizeIterator::len).sum();
    let key_size = |entry| if wanted.keys { node.key_size(entry) } else { 0 };
    let (mut rest, places) = batch.lay_out(entries.clone().map(key_size), payload_size);
    let end = entries.end;
    for (entry, place) in entries.zip(places) {
        if payload_size >= FETCHED_BYTES && entry + 1 < end {
            node.fetch_record(entry + 1);
        }
        let (key, after) = rest.split_at_mut(place.key_size as usize);
        rest = after;
        if !key.is_empty() {
            node.read_key(entry, key);
        }
        for wanted in &wanted.payloads {
            let (bytes, after) = rest.split_at_mut(wanted.len());
            node.read_payload(entry, wanted.start, bytes);
            rest = after;
        }
    }
}
