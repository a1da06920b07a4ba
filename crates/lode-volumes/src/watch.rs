//! Reports changes below a path to those who watch it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::lock::lock;
use crate::name::is_below;

/// The most events that wait for a watch; later ones are counted only.
const MOST_WAITING: usize = 1 << 16;

/// A change of an entry.
///
/// ```
/// use lode_volumes::{Event, Volume, What};
///
/// let volume = Volume::in_memory()?;
/// let watch = volume.watch("/ui")?;
/// let ui = volume.root().link("ui")?;
/// ui.set("theme", "dark")?;
/// volume.root().set("other", 1u8)?;
///
/// let linked = Event { path: "/ui".into(), what: What::Linked };
/// let set = Event { path: "/ui".into(), what: What::Set { name: "theme".into() } };
/// assert_eq!([watch.try_next(), watch.try_next()], [Some(linked), Some(set)]);
/// assert_eq!(watch.try_next(), None);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The entry, when the change started.
    pub path: Box<str>,
    /// The change of the entry.
    pub what: What,
}

/// A change of an entry. See [`Event`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// The setting of a property.
    Set {
        /// The property's name.
        name: Box<str>,
    },
    /// The removal of a property.
    Removed {
        /// The property's name.
        name: Box<str>,
    },
    /// The removal of a property that had expired.
    Expired {
        /// The property's name.
        name: Box<str>,
    },
    /// The linking of the entry.
    Linked,
    /// The unlinking of the entry, with all below it.
    Unlinked,
    /// The move of the entry, with all below it.
    Renamed {
        /// The new path.
        to: Box<str>,
    },
    /// Too many events waited: those after the last one were left out. Look at the entries anew.
    Missed {
        /// The number of changes.
        count: u64,
    },
}

/// The watches of a volume.
#[derive(Default)]
pub(crate) struct Watchers {
    queues: Mutex<Vec<Arc<Queue>>>,
    count: Arc<AtomicUsize>,
}

/// Events for one who watches.
struct Queue {
    /// The watched path; those below it are watched too.
    path: String,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    events: VecDeque<Event>,
    missed: u64,
    is_closed: bool,
}

impl Queue {
    fn push(&self, event: Event) {
        let mut state = lock(&self.state);
        if state.events.len() < MOST_WAITING && state.missed == 0 {
            state.events.push_back(event)
        } else {
            state.missed += 1
        }
        self.changed.notify_one();
    }

    fn close(&self) {
        lock(&self.state).is_closed = true;
        self.changed.notify_all();
    }

    fn is_closed(&self) -> bool {
        lock(&self.state).is_closed
    }

    /// Returns true if an event is of interest.
    fn wants(&self, event: &Event) -> bool {
        let moves_here = match &event.what {
            What::Renamed { to } => is_below(to, &self.path),
            _ => false,
        };
        let is_above = match &event.what {
            What::Unlinked | What::Renamed { .. } => is_below(&self.path, &event.path),
            _ => false,
        };
        is_below(&event.path, &self.path) || moves_here || is_above
    }
}

impl State {
    fn next(&mut self, path: &str) -> Option<Event> {
        if let Some(event) = self.events.pop_front() {
            return Some(event);
        }
        match std::mem::take(&mut self.missed) {
            0 => None,
            count => Some(Event { path: path.into(), what: What::Missed { count } }),
        }
    }
}

/// The event of one operation: none, if nothing was watched when it started.
pub(crate) struct Told<'w> {
    watchers: &'w Watchers,
    path: Option<String>,
}

impl Told<'_> {
    /// Returns true if something was watched when the operation started.
    pub(crate) fn is_heard(&self) -> bool {
        self.path.is_some()
    }

    pub(crate) fn say(&self, event: impl FnOnce(&str) -> Event) {
        if let Some(path) = &self.path {
            self.watchers.say(&event(path));
        }
    }
}

impl Watchers {
    /// Returns what is reported of an operation on the entry of a path.
    #[inline]
    pub(crate) fn of(&self, path: impl FnOnce() -> String) -> Told<'_> {
        let is_watched = self.count.load(Ordering::SeqCst) > 0;
        Told { watchers: self, path: is_watched.then(path) }
    }

    fn say(&self, event: &Event) {
        lock(&self.queues).retain(|queue| {
            let is_open = !queue.is_closed();
            if is_open && queue.wants(event) {
                queue.push(event.clone());
            }
            is_open
        });
    }

    /// Watches a path, which is in its usual form.
    pub(crate) fn watch(&self, path: String) -> Watch {
        let queue = Arc::new(Queue { path, state: Mutex::default(), changed: Condvar::new() });
        lock(&self.queues).push(Arc::clone(&queue));
        self.count.fetch_add(1, Ordering::SeqCst);
        Watch { queue, count: Arc::clone(&self.count) }
    }

    /// Ends all of them: nothing changes any more.
    pub(crate) fn close(&self) {
        lock(&self.queues).drain(..).for_each(|queue| queue.close());
    }
}

/// The changes below a path, one after another; those of one property in their order. Made by
/// [`Volume::watch`](crate::Volume::watch).
///
/// As an iterator it waits for the next one, and ends when the volume is closed.
#[must_use = "changes are kept for it until it is dropped"]
pub struct Watch {
    queue: Arc<Queue>,
    count: Arc<AtomicUsize>,
}

impl Watch {
    /// Returns the next change, if one has come.
    pub fn try_next(&self) -> Option<Event> {
        lock(&self.queue.state).next(&self.queue.path)
    }

    /// Returns the next change, if one comes before the time has passed.
    pub fn next_within(&self, time: Duration) -> Option<Event> {
        self.wait(Instant::now().checked_add(time))
    }

    /// Waits until a moment, or for ever.
    fn wait(&self, until: Option<Instant>) -> Option<Event> {
        let mut state = lock(&self.queue.state);
        loop {
            let next = state.next(&self.queue.path);
            if next.is_some() || state.is_closed {
                return next;
            }
            state = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.queue.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(Duration::ZERO) => return None,
                Some(left) => {
                    let waited = self.queue.changed.wait_timeout(state, left);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }
}

impl Iterator for Watch {
    type Item = Event;

    fn next(&mut self) -> Option<Event> {
        self.wait(None)
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.queue.close();
        self.count.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A callback that is called for changes below a path, until this is dropped. Made by
/// [`Volume::watch_with`](crate::Volume::watch_with).
#[must_use = "the callback is called until it is dropped"]
pub struct Watching {
    queue: Arc<Queue>,
    thread: Option<JoinHandle<()>>,
    /// The process that has the thread.
    process: u32,
}

impl Watching {
    pub(crate) fn start(
        watch: Watch,
        mut callback: impl FnMut(Event) + Send + 'static,
    ) -> std::io::Result<Self> {
        let queue = Arc::clone(&watch.queue);
        let thread = std::thread::Builder::new().name("lode-watch".into());
        let thread = thread.spawn(move || watch.for_each(&mut callback))?;
        Ok(Self { queue, thread: Some(thread), process: std::process::id() })
    }
}

impl Drop for Watching {
    /// Waits for the callback, unless it is the one that drops this, or is of another process.
    fn drop(&mut self) {
        if std::process::id() != self.process {
            std::mem::forget(self.thread.take());
            return;
        }
        {
            let mut state = lock(&self.queue.state);
            state.events.clear();
            state.missed = 0;
        }
        self.queue.close();
        if let Some(thread) = self.thread.take()
            && thread.thread().id() != std::thread::current().id()
        {
            // A callback that panicked has said so.
            let _ = thread.join();
        }
    }
}
