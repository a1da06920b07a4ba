//! Records that are in one leaf, read as they are now: most lookups by a secondary index need no
//! more.

use std::ops::Bound;

use super::scan::is_below;
use super::{Found, SearchKey, Tree};
use crate::batch::Batch;
use crate::error::Result;
use crate::pager::Pager;

/// The first record from a key on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// The record is in the leaf of the key.
    InLeaf,
    /// No record follows.
    Missing,
    /// A later leaf has the record, if one follows.
    Later,
}

impl Tree {
    /// Finds the first record from a key on. If it is in the leaf of that key, copies the record's
    /// key, in place of the content of `first_key`.
    #[inline]
    pub(crate) fn first_from(
        &self,
        pager: &Pager,
        from: &[u8],
        first_key: &mut Vec<u8>,
    ) -> Result<First> {
        let from = SearchKey::new(from);
        loop {
            let Found { seen, node, .. } = self.read_optimistic(pager, from, 0)?;
            let at = node.search(from).unwrap_or_else(|at| at);
            let first = if at < node.count() {
                first_key.resize(node.key_size(at), 0);
                node.read_key(at, first_key);
                First::InLeaf
            } else if node.is_last() {
                First::Missing
            } else {
                First::Later
            };
            if seen.validate() {
                return Ok(first);
            }
        }
    }

    /// Replaces the content of `batch` with the records between two bounds, if they are in one leaf
    /// and at most `most`. The lower bound is a key. Returns false otherwise.
    pub(crate) fn copy_range(
        &self,
        pager: &Pager,
        lower: Bound<&[u8]>,
        upper: Bound<&[u8]>,
        most: usize,
        batch: &mut Batch,
    ) -> Result<bool> {
        let (Bound::Included(from) | Bound::Excluded(from)) = lower else { return Ok(false) };
        let from = SearchKey::new(from);
        loop {
            let Found { seen, node, .. } = self.read_optimistic(pager, from, 0)?;
            let mut at = match (node.search(from), lower) {
                (Ok(at), Bound::Excluded(_)) => at + 1,
                (Ok(at) | Err(at), _) => at,
            };
            batch.clear();
            let ends_here = loop {
                if at >= node.count() {
                    break node.upper_fence().is_none_or(|fence| !is_below(upper, &fence));
                }
                let (key, payload) = batch.push(node.key_size(at), self.layout.shape.payload_size);
                node.read_key(at, key);
                if !is_below(upper, key) {
                    batch.pop();
                    break true;
                }
                node.read_payload(at, 0, payload);
                if batch.len() > most {
                    break false;
                }
                at += 1;
            };
            if seen.validate() {
                debug_assert!(batch.len() <= most + 1, "a copy stops after one record too many");
                return Ok(ends_here);
            }
        }
    }
}
