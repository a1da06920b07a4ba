//! An estimate of the records of a tree.

use super::Tree;
use crate::error::Result;
use crate::pager::{Pager, ReadEpoch};

impl Tree {
    /// Estimates the number of records at a moment. It reads the nodes on the way to a leaf in the
    /// middle, and takes all others to have as many entries.
    pub(crate) fn estimate(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        let mut page = self.root();
        let mut above = usize::MAX;
        let mut count = 1u64;
        loop {
            let (level, entries, child) = pager.at(moment, page, |words| {
                let node = self.layout.node(words);
                let child = (!node.is_leaf()).then(|| node.child(node.count() / 2));
                (node.level(), node.count() as u64, child)
            })?;
            if level >= above {
                return Err(super::goes_up(page));
            }
            count = count.saturating_mul(entries);
            match child {
                None => return Ok(count),
                Some(child) => (page, above) = (child, level),
            }
        }
    }
}
