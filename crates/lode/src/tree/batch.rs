//! What a walk copies out of a leaf.

use std::ops::Range;

use super::Node;
use crate::batch::Batch;

/// What a walk wants of records.
pub(crate) struct Wanted {
    /// Whether it wants their keys.
    pub keys: bool,
    /// Bytes of their payloads, which come one after another.
    pub payloads: Vec<Range<usize>>,
}

impl Wanted {
    /// Keys, and payloads of `payload_size` bytes.
    pub(crate) fn all(payload_size: usize) -> Self {
        Self { keys: true, payloads: std::iter::once(0..payload_size).collect() }
    }
}

/// Records of which at least this is wanted are fetched while the one before is copied: they end
/// before the processor would fetch ahead by itself.
const FETCHED_BYTES: usize = 256;

/// Copies entries of a leaf; nothing stays of what was in the batch before.
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
