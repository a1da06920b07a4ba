//! More lanes of the log, for threads that would wait for each other.

use super::Engine;
use crate::error::Result;

impl Engine {
    /// Has the log have `count` lanes, if it has fewer and may have them.
    ///
    /// # Errors
    /// `DiskFull`, `Io`: the log keeps the lanes that it has. `Poisoned`; `Closed`.
    pub(crate) fn widen_log(&self, count: usize) -> Result<()> {
        let Some(log) = self.log().filter(|log| log.may_have(count)) else { return Ok(()) };
        while log.lanes_missing(count) {
            let Some((store, mut current)) = self.take_turn()? else { return Ok(()) };
            if !log.lanes_missing(count) {
                return Ok(());
            }
            self.pager.name_frames()?;
            store.prepare_lane(&mut current)?;
            // No thread has latched a page then whose last frame it does not name.
            let _alone = self.gate.close();
            log.begin_lane();
        }
        Ok(())
    }
}
