//! The threads of a database in a directory. One makes checkpoints before a writer has to wait for
//! one, and gives space back when there is nothing else to do. Another one makes segments of the
//! log, and a longer data file, ahead of need. At level `periodic`, a third one syncs the log. They
//! are separate, so that no sync of the log waits for the data file.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::Engine;
use super::idle::Idleness;
use crate::store::locked;

/// The time after which the thread of checkpoints looks by itself.
const IDLE: Duration = Duration::from_secs(1);

/// The shortest interval between syncs, so that an interval of zero takes no processor.
const LEAST_INTERVAL: Duration = Duration::from_millis(1);

/// The threads, once they are [started](Worker::start).
#[derive(Default)]
pub(super) struct Worker {
    signal: Arc<Signal>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

#[derive(Default)]
struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// True if a checkpoint may be needed.
    awake: bool,
    stopped: bool,
}

impl Worker {
    /// Starts the threads; the one that syncs the log only if there is an interval.
    pub(super) fn start(
        &self,
        db: &Arc<Engine>,
        interval: Option<Duration>,
    ) -> std::io::Result<()> {
        let signal = Arc::clone(&self.signal);
        let shared = Arc::clone(db);
        // An error here comes again in the operation that needs it, which returns it.
        self.spawn("lode", move || {
            let mut idleness = Idleness::default();
            while signal.wait_for_work() {
                shared.observer().ran_in_background("checkpoint", &shared.checkpoint_ahead());
                shared.publish();
                idleness.look(&shared, Instant::now(), &|| !shared.worker.is_stopped());
            }
        })?;
        self.start_ahead(db)?;
        let Some(interval) = interval.map(|interval| interval.max(LEAST_INTERVAL)) else {
            return Ok(());
        };
        let signal = Arc::clone(&self.signal);
        let shared = Arc::clone(db);
        self.spawn("lode sync", move || {
            let mut start = Instant::now();
            // From the start of one to the start of the next: so records written during a sync wait
            // no longer than the rest.
            while signal.wait_until(start.checked_add(interval)) {
                start = Instant::now();
                shared.observer().ran_in_background("sync of the log", &shared.sync_log());
            }
        })
    }

    /// Starts the thread that works ahead, unless there is only one processor, which writers need.
    fn start_ahead(&self, db: &Arc<Engine>) -> std::io::Result<()> {
        let has_processor = std::thread::available_parallelism().is_ok_and(|count| count.get() > 1);
        if db.log().is_none() || !has_processor {
            return Ok(());
        }
        let shared = Arc::clone(db);
        self.spawn("lode ahead", move || {
            while let Some(log) = shared.log().filter(|log| log.wait_until_asked()) {
                // An error here comes again in the writer that needs it.
                let _ = log.make_next();
                let _ = shared.store().map(|store| store.data.grow_ahead());
                // Last: it waits for a checkpoint that is under way.
                let _ = shared.widen_log(log.wanted_lanes());
            }
        })
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let handle = std::thread::Builder::new().name(name.into()).spawn(work)?;
        let mut threads = locked(&self.threads);
        debug_assert!(threads.len() < 3, "there are three kinds of threads");
        threads.push(handle);
        Ok(())
    }

    /// Wakes the thread of checkpoints.
    pub(super) fn wake(&self) {
        locked(&self.signal.state).awake = true;
        self.signal.changed.notify_all();
    }

    /// Returns true if no thread is left.
    pub(super) fn has_ended(&self) -> bool {
        locked(&self.threads).is_empty()
    }

    /// Returns true if the threads are to end.
    pub(super) fn is_stopped(&self) -> bool {
        locked(&self.signal.state).stopped
    }

    /// Ends the threads, and waits until they have ended. None of them calls this: they have no
    /// share in the database that they could be the last to drop.
    pub(super) fn stop(&self) {
        locked(&self.signal.state).stopped = true;
        self.signal.changed.notify_all();
        // Locked until all have ended: so two threads that close both wait. A panic was reported.
        locked(&self.threads).drain(..).for_each(|thread| drop(thread.join()));
    }
}

impl Signal {
    /// Waits until it is time, or a checkpoint may be needed; false when the threads are to end.
    fn wait_for_work(&self) -> bool {
        let asleep = |state: &mut State| !state.awake && !state.stopped;
        let (mut state, _) = self
            .changed
            .wait_timeout_while(locked(&self.state), IDLE, asleep)
            .unwrap_or_else(PoisonError::into_inner);
        state.awake = false;
        !state.stopped
    }

    /// Waits until an instant, or without end; returns false when the threads are to end.
    fn wait_until(&self, due: Option<Instant>) -> bool {
        let mut state = locked(&self.state);
        while !state.stopped {
            let left = due.map(|due| due.saturating_duration_since(Instant::now()));
            state = match left {
                Some(Duration::ZERO) => return true,
                Some(left) => {
                    let (state, _) = self
                        .changed
                        .wait_timeout(state, left)
                        .unwrap_or_else(PoisonError::into_inner);
                    state
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
        false
    }
}
