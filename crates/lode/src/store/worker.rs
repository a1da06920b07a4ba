//! The thread of a database in a directory: it syncs the log now and then, and makes checkpoints
//! before anybody has to wait for one.

use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::JoinHandle;
use std::time::Duration;

use super::locked;
use crate::db::Inner;
use crate::io::Home;

/// How often it looks, if nothing has to be synced.
const IDLE: Duration = Duration::from_secs(1);

/// The thread, once it is [started](Worker::start).
#[derive(Default)]
pub struct Worker {
    signal: Arc<Signal>,
    thread: Mutex<Option<(JoinHandle<()>, Home)>>,
}

#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// Somebody thinks that there is something to do.
    awake: bool,
    stopped: bool,
}

impl Worker {
    /// Starts the thread, which syncs the log every so often if `interval` says so.
    pub fn start(&self, db: Weak<Inner>, interval: Option<Duration>) -> std::io::Result<()> {
        let signal = Arc::clone(&self.signal);
        let thread = std::thread::Builder::new().name("lode".into());
        let handle = thread.spawn(move || {
            while signal.wait(interval.unwrap_or(IDLE)) {
                let Some(db) = db.upgrade() else { return };
                // What goes wrong here goes wrong again for those who need it, and they say so.
                let _ = db.look_after(interval.is_some());
            }
        })?;
        *locked(&self.thread) = Some((handle, Home::here()));
        Ok(())
    }

    /// Has it look now.
    pub fn wake(&self) {
        locked(&self.signal.state).awake = true;
        self.signal.changed.notify_one();
    }

    /// Ends it, and waits until it has ended.
    pub fn stop(&self) {
        locked(&self.signal.state).stopped = true;
        self.signal.changed.notify_one();
        let Some((handle, _)) = locked(&self.thread).take() else { return };
        // The last one to let go of the database may be the thread itself.
        if handle.thread().id() != std::thread::current().id() {
            let _ = handle.join();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let Ok(thread) = self.thread.get_mut() else { return };
        if thread.as_ref().is_some_and(|(_, home)| !home.is_here()) {
            // A fork copies no thread, so there is none to detach.
            std::mem::forget(thread.take());
        }
    }
}

impl Signal {
    /// Waits until it is time or somebody wakes it; false when it shall end.
    fn wait(&self, time: Duration) -> bool {
        let state = locked(&self.state);
        let asleep = |state: &mut State| !state.awake && !state.stopped;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(state, time, asleep)
            .unwrap_or_else(PoisonError::into_inner);
        state.awake = false;
        !state.stopped
    }
}
