//! What a scan copies out of a leaf.

use std::ops::Range;

use super::{Direction, Node};
use crate::error::Result;
use crate::index::Visit;

/// What a scan wants of records.
pub(crate) struct Wanted {
    /// Whether it wants their keys.
    pub keys: bool,
    /// Bytes of their payloads, which come one after another.
    pub payloads: Vec<Range<usize>>,
}

impl Wanted {
    /// Keys, and payloads of so many bytes.
    pub(crate) fn all(payload_size: usize) -> Self {
        Self { keys: true, payloads: std::iter::once(0..payload_size).collect() }
    }
}

/// The records of a leaf, as far as they are wanted.
#[derive(Default)]
pub(super) struct Batch {
    bytes: Vec<u8>,
    /// For each record where its key begins, and how many bytes that has.
    records: Vec<(u32, u32)>,
}

impl Batch {
    /// Copies entries of a leaf; nothing stays of what was here before.
    pub(super) fn fill(&mut self, node: Node<'_>, entries: Range<usize>, wanted: &Wanted) {
        let payload_size: usize = wanted.payloads.iter().map(ExactSizeIterator::len).sum();
        let mut end = 0;
        self.records.clear();
        for entry in entries.clone() {
            let key_size = if wanted.keys { node.key_size(entry) } else { 0 };
            self.records.push((end as u32, key_size as u32));
            end += key_size + payload_size;
        }
        self.bytes.resize(end, 0);
        for (entry, (from, key_size)) in entries.zip(&self.records) {
            let record = &mut self.bytes[*from as usize..];
            let (key, mut rest) = record.split_at_mut(*key_size as usize);
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

    /// Calls `visit` with key and payload of each record, as far as they are wanted, until it
    /// answers false; whether it never has.
    pub(super) fn each(&self, direction: Direction, visit: &mut Visit<'_>) -> Result<bool> {
        let mut show = |at: usize| {
            let (from, key_size) = self.records[at];
            let end = self.records.get(at + 1).map_or(self.bytes.len(), |next| next.0 as usize);
            let (key, payload) = self.bytes[from as usize..end].split_at(key_size as usize);
            visit(key, payload)
        };
        let count = self.records.len();
        for at in 0..count {
            let at = match direction {
                Direction::Forward => at,
                Direction::Backward => count - 1 - at,
            };
            if !show(at)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
