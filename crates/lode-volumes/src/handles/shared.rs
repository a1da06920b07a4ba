//! The parts that all handles of a volume hold, and the thread that sweeps.

use std::ops::Deref;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::core::Core;
use crate::error::{Error, Result};
use crate::lock::lock;

/// The parts that handles of a volume hold. The volume's thread ends with the last handle.
pub(crate) struct Shared {
    core: Arc<Core>,
    alarm: Arc<Alarm>,
    /// The thread, which a forked process does not have.
    sweeper: Mutex<Option<JoinHandle<()>>>,
}

impl Deref for Shared {
    type Target = Core;

    fn deref(&self) -> &Core {
        &self.core
    }
}

impl Shared {
    /// Starts the thread that sweeps a volume, if it can be written.
    pub(crate) fn start(core: Core, interval: Duration) -> Result<Self> {
        let core = Arc::new(core);
        let alarm = Arc::<Alarm>::default();
        let thread = std::thread::Builder::new().name("lode-volume".into());
        let sweeping = (Arc::clone(&core), Arc::clone(&alarm));
        let sweeper = thread.spawn(move || {
            let (core, alarm) = sweeping;
            while !core.is_read_only() && alarm.wait(interval) {
                // The next turn repeats a sweep that failed; readers do not depend on it.
                let _ = core.sweep();
            }
        });
        let sweeper = sweeper.map_err(|error| Error::stream("start a thread", error))?;
        Ok(Self { core, alarm, sweeper: Mutex::new(Some(sweeper)) })
    }

    pub(crate) fn core(&self) -> &Arc<Core> {
        &self.core
    }

    /// Ends the work in the background. Returns true if it had not ended before.
    fn end(&self) -> bool {
        self.core.is_ending.store(true, Ordering::SeqCst);
        self.alarm.end();
        let sweeper = lock(&self.sweeper).take();
        let has_run = sweeper.is_some();
        if let Some(sweeper) = sweeper {
            let _ = sweeper.join();
        }
        has_run
    }

    /// Writes what has to be written before the database is closed.
    fn finish(&self) -> Result<()> {
        if self.is_read_only() {
            return Ok(());
        }
        self.late.end();
        self.catch_up()?;
        self.keep_time(self.time.now())
    }

    /// Closes the volume. It is closed after an error, too, but for `Forked`.
    pub(crate) fn close(&self) -> Result<()> {
        self.expect_here()?;
        self.end();
        let finished = self.finish();
        self.watchers.close();
        let closed = self.database.clone().close();
        finished.and(closed.map_err(Error::from))
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.expect_here().is_err() {
            // The thread is of another process, and so may be what holds a lock.
            std::mem::forget(std::mem::take(&mut self.sweeper));
            return;
        }
        if self.end() {
            // A caller who wants to see the error closes the volume.
            let _ = self.finish();
        }
        self.watchers.close();
    }
}

/// Wakes the thread that sweeps.
#[derive(Default)]
struct Alarm {
    is_ending: Mutex<bool>,
    changed: Condvar,
}

impl Alarm {
    /// Ends the thread that waits for it.
    fn end(&self) {
        *lock(&self.is_ending) = true;
        self.changed.notify_all();
    }

    /// Waits for the interval; returns false if the thread is to end.
    fn wait(&self, interval: Duration) -> bool {
        let ending = lock(&self.is_ending);
        let waited = self.changed.wait_timeout_while(ending, interval, |ending| !*ending);
        !*waited.unwrap_or_else(PoisonError::into_inner).0
    }
}
