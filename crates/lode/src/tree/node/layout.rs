//! How the records of a node lie.

use super::{CHILD_BYTES, Node, NodeMut, SIZE_BYTES, SIZE_SHIFT};
use crate::index::{RecordLayout, Shape};
use crate::pager::{PageMut, PageRef};

/// How nodes of a table lie.
#[derive(Clone, Copy, Debug)]
pub(in crate::tree) struct Layout {
    pub shape: Shape,
    /// Where the parts of records begin: at multiples of 2^`unit_bits` bytes.
    pub(super) unit_bits: u32,
    /// Bytes before the key of a leaf's record.
    pub(super) front: usize,
    /// Where the size of a variable key is in the first word of a leaf's record.
    pub(super) size_shift: u32,
    /// Bytes before the payload of a leaf's record, if keys are not variable.
    pub(super) payload_at: usize,
}

impl Layout {
    pub(in crate::tree) fn new(shape: Shape, records: RecordLayout) -> Self {
        let (unit_bits, size_shift) = match records {
            RecordLayout::Aligned => (3, SIZE_SHIFT),
            RecordLayout::Packed => (0, 0),
        };
        let layout = Self { shape, unit_bits, front: 0, size_shift, payload_at: 0 };
        let front = if shape.is_variable { layout.room_of(SIZE_BYTES) } else { 0 };
        let payload_at = front + layout.room_of(shape.key_size);
        Self { front, payload_at, ..layout }
    }

    /// Bytes that this many take up in a record.
    #[inline(always)]
    pub(super) fn room_of(self, size: usize) -> usize {
        let gap = (1 << self.unit_bits) - 1;
        (size + gap) & !gap
    }

    /// Words of a fence.
    pub(super) fn fence_words(self) -> usize {
        self.shape.key_size.div_ceil(8)
    }

    /// Bytes of a record whose key has this size.
    #[inline(always)]
    pub(super) fn record_size(self, level: usize, key_size: usize) -> usize {
        let key = self.room_of(key_size);
        match level {
            0 => self.front + key + self.room_of(self.shape.payload_size),
            _ => CHILD_BYTES + key,
        }
    }

    #[inline(always)]
    pub(in crate::tree) fn node(self, words: PageRef<'_>) -> Node<'_> {
        Node { layout: self, words }
    }

    pub(in crate::tree) fn node_mut(self, words: PageMut<'_>) -> NodeMut<'_> {
        NodeMut { node: self.node(words.page_ref()), words }
    }
}
