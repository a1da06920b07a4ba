//! An estimate of the records of a table of hashed keys.

use super::{Hash, HashPlace};
use crate::error::Result;
use crate::pager::{Pager, ReadEpoch};

/// Buckets that the estimate looks at.
const BUCKETS: usize = 8;

impl Hash {
    /// Estimates the number of records at a moment, from the first buckets: keys are spread evenly.
    pub(crate) fn estimate(&self, pager: &Pager, moment: ReadEpoch) -> Result<u64> {
        let mut count = 0;
        let mut end = Some(HashPlace::FIRST);
        for _ in 0..BUCKETS {
            let Some(place) = end else { break };
            let (bucket, next) = self.directory.read_at_epoch(pager, moment, place)?;
            count += pager.at(moment, bucket, |words| self.slots.records(words) as u64)?;
            end = next;
        }
        let share = end.map_or(1.0, HashPlace::share_of_keys);
        Ok((count as f64 / share) as u64)
    }
}
