//! A volume is mounted in one storage at a time.

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::lock;

/// The storage that has a volume, and the number of its mounts.
#[derive(Default)]
pub(crate) struct Claim {
    token: u64,
    count: u64,
}

impl Core {
    /// Mounts the volume once more.
    pub(crate) fn claim(&self, token: u64) -> Result<()> {
        let mut claim = lock(&self.claim);
        if claim.count > 0 && claim.token != token {
            return Err(Error::Claimed { volume: self.name.clone() });
        }
        *claim = Claim { token, count: claim.count + 1 };
        Ok(())
    }

    /// Undoes one mount.
    pub(crate) fn release(&self, token: u64) {
        let mut claim = lock(&self.claim);
        debug_assert!(claim.token == token && claim.count > 0, "only what was claimed is released");
        claim.count = claim.count.saturating_sub(1);
    }
}
