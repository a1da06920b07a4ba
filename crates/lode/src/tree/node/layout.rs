//! The layout of the records of a node.

use super::{CHILD_BYTES, Node, NodeMut, SIZE_BYTES};
use crate::index::Shape;
use crate::pager::{PageMut, PageRef};

/// The layout of a table's nodes.
#[derive(Clone, Copy, Debug)]
pub(in crate::tree) struct Layout {
    pub shape: Shape,
    /// Bytes before the key of a leaf's record.
    pub(super) front: usize,
    /// Bytes before the payload of a leaf's record, if keys are not variable.
    pub(super) payload_at: usize,
}

impl Layout {
    pub(in crate::tree) fn new(shape: Shape) -> Self {
        let front = if shape.is_variable { SIZE_BYTES } else { 0 };
        Self { shape, front, payload_at: front + shape.key_size }
    }

    /// Returns the words of a fence.
    pub(super) fn fence_words(self) -> usize {
        self.shape.key_size.div_ceil(8)
    }

    /// Returns the bytes of a record whose key has this size.
    #[inline(always)]
    pub(super) fn record_size(self, level: usize, key_size: usize) -> usize {
        match level {
            0 => self.front + key_size + self.shape.payload_size,
            _ => CHILD_BYTES + key_size,
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
