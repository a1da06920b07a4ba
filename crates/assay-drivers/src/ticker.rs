//! A thread that syncs a store every interval: the level `periodic` for engines that leave the
//! interval to the application.

use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use assay_driver::error::{Error, Result};

/// The interval: at most this and one sync is lost.
pub(crate) const INTERVAL: Duration = Duration::from_millis(100);

/// Syncs until it is stopped, or until a sync fails.
pub(crate) struct Ticker {
    stop: mpsc::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Ticker {
    pub(crate) fn start(mut sync: impl FnMut() -> Result<()> + Send + 'static) -> Self {
        let (stop, stopped) = mpsc::channel();
        let thread = std::thread::spawn(move || {
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                sync()?;
            }
            Ok(())
        });
        Self { stop, thread }
    }

    /// Stops the thread and returns whether a sync failed.
    pub(crate) fn stop(self) -> Result<()> {
        drop(self.stop);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(Error::engine("sync", "the syncing thread panicked")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_sync_is_told_when_the_store_is_closed() {
        let (told, heard) = mpsc::channel();
        let ticker = Ticker::start(move || {
            told.send(()).expect("the test listens");
            Err(Error::engine("sync", "the disk is gone"))
        });
        heard.recv().expect("one sync");
        assert_eq!(ticker.stop().expect_err("it failed").to_string(), "sync: the disk is gone");
    }
}
