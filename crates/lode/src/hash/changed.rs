//! The buckets up to a place as they are now, for a transaction that looks whether its scans would
//! find the same.

use super::{Buckets, Hash, HashPlace};
use crate::batch::Batch;
use crate::error::Result;
use crate::pager::{PageNumber, Pager, ReadEpoch};

/// Places from one to before another; `None` for the end of all.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places {
    pub from: HashPlace,
    pub end: Option<HashPlace>,
}

impl Places {
    fn has(self, place: HashPlace) -> bool {
        place >= self.from && self.end.is_none_or(|end| place < end)
    }
}

impl Hash {
    /// Calls `visit` with the buckets of places below `end`, and their places, until it returns
    /// false. No thread may change the table. Buckets are not read.
    ///
    /// # Errors
    /// The fault of the directory; the error of `visit`.
    pub(crate) fn each_bucket(
        &self,
        pager: &Pager,
        end: Option<HashPlace>,
        visit: &mut dyn FnMut(PageNumber, Places) -> Result<bool>,
    ) -> Result<()> {
        let all = Places { from: HashPlace::FIRST, end };
        let mut next = Some(HashPlace::FIRST);
        while let Some(from) = next.filter(|place| all.has(*place)) {
            let (bucket, after) = self.directory.read_optimistic(pager, from)?;
            debug_assert!(after.is_none_or(|after| after > from), "places ascend");
            let inside = after.filter(|after| all.has(*after));
            if !visit(bucket, Places { from, end: inside.or(end) })? {
                return Ok(());
            }
            next = after;
        }
        Ok(())
    }

    /// Calls `visit` with the key and the payload of each record that some places had at a moment.
    pub(crate) fn each_record_at(
        &self,
        pager: &Pager,
        moment: ReadEpoch,
        places: Places,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<()> {
        let mut buckets = Buckets { next: Some(places.from), is_lost: false };
        let mut batch = Batch::default();
        while buckets.next.is_some_and(|next| places.has(next))
            && self.next_bucket(pager, moment, &mut buckets, &mut batch)?
        {
            for at in 0..batch.len() {
                let (key, payload) = batch.record(at);
                // A bucket may have been of other places too.
                if places.has(self.place(key).directory) {
                    visit(key, payload);
                }
            }
        }
        Ok(())
    }
}
