//! Time, as expiry sees it: it never goes back.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crate::error::{Error, Result};
use crate::lock::lock;

/// A source of the time.
///
/// A volume takes the latest time that it has seen for the present time. If the clock goes back,
/// time stands still until the clock has caught up. So what has expired stays expired.
///
/// ```
/// use std::sync::Arc;
/// use std::sync::atomic::{AtomicU64, Ordering};
/// use std::time::{Duration, SystemTime, UNIX_EPOCH};
/// use lode_volumes::{Clock, Options};
///
/// #[derive(Default)]
/// struct Wound(AtomicU64);
///
/// impl Clock for Wound {
///     fn now(&self) -> SystemTime {
///         UNIX_EPOCH + Duration::from_secs(self.0.load(Ordering::Relaxed))
///     }
/// }
///
/// let clock = Arc::new(Wound::default());
/// let root = Options::new().clock(clock.clone()).in_memory()?.root();
/// root.set("token", "abc")?;
/// root.expire_property("token", Duration::from_secs(60))?;
/// assert!(root.has_property("token")?);
/// clock.0.store(60, Ordering::Relaxed);
/// assert!(!root.has_property("token")?);
/// # Ok::<(), lode_volumes::Error>(())
/// ```
pub trait Clock: Send + Sync {
    /// Returns the time.
    fn now(&self) -> SystemTime;
}

/// The system's clock, which continues at its own pace when it is set back.
pub(crate) struct SystemClock {
    start: SystemTime,
    running: Instant,
}

impl SystemClock {
    pub(crate) fn new() -> Self {
        Self { start: SystemTime::now(), running: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        // The running clock may stand still while the machine sleeps; then the other one is ahead.
        SystemTime::now().max(self.start + self.running.elapsed())
    }
}

/// A moment: microseconds since the start of 1970.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Moment(pub i64);

impl Moment {
    /// Later than every other one: what does not expire does so then.
    pub(crate) const NEVER: Self = Self(i64::MAX);

    pub(crate) fn of(time: SystemTime) -> Self {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        Self(i64::try_from(since.as_micros()).unwrap_or(i64::MAX - 1))
    }

    /// Returns the moment `duration` later; less than a microsecond counts as one.
    pub(crate) fn after(self, duration: Duration) -> Result<Self> {
        let micros = i64::try_from(duration.as_nanos().div_ceil(1000)).ok();
        let later = micros.and_then(|micros| self.0.checked_add(micros)).map(Self);
        let later = later.filter(|later| *later < Self::NEVER);
        later.ok_or(Error::ExpiryTooFar { seconds: duration.as_secs() })
    }
}

/// The present time of a volume.
pub(crate) struct Time {
    clock: Arc<dyn Clock>,
    latest: AtomicI64,
}

impl Time {
    /// Makes the time of a volume that has seen `latest` before.
    pub(crate) fn new(clock: Arc<dyn Clock>, latest: Moment) -> Self {
        Self { clock, latest: AtomicI64::new(latest.0) }
    }

    pub(crate) fn now(&self) -> Moment {
        let now = Moment::of(self.clock.now()).0;
        let latest = self.latest.load(Ordering::SeqCst);
        if now <= latest {
            return Moment(latest);
        }
        Moment(now.max(self.latest.fetch_max(now, Ordering::SeqCst)))
    }
}

/// The latest time that a volume has seen, as far as its table has it.
pub(crate) struct KeptTime {
    micros: AtomicI64,
    /// A lock that is held while a later time is written.
    change: Mutex<()>,
}

impl KeptTime {
    pub(crate) fn new(kept: Moment) -> Self {
        Self { micros: AtomicI64::new(kept.0), change: Mutex::default() }
    }

    pub(crate) fn has(&self, moment: Moment) -> bool {
        moment.0 <= self.micros.load(Ordering::SeqCst)
    }

    /// Waits until no other thread writes a later time.
    pub(crate) fn lock(&self) -> MutexGuard<'_, ()> {
        lock(&self.change)
    }

    /// Notes the time that the table has; by the holder of the lock.
    pub(crate) fn set(&self, moment: Moment) {
        self.micros.store(moment.0, Ordering::SeqCst);
    }
}
