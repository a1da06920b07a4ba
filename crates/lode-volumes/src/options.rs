//! The options with which a volume is opened.

use std::sync::Arc;
use std::time::Duration;

use lode::Durability;

use crate::clock::{Clock, SystemClock};

/// Options for opening a volume.
///
/// ```
/// use lode_volumes::{Durability, Options};
///
/// let directory = std::env::temp_dir().join(format!("volume-{}", std::process::id()));
/// let volume = Options::new().durability(Durability::Process).open(&directory)?;
/// volume.root().set("greeting", "hello")?;
/// volume.close()?;
///
/// let volume = Options::new().open_read_only(&directory)?;
/// assert!(volume.root().has_property("greeting")?);
/// # volume.close()?;
/// # std::fs::remove_dir_all(&directory).expect("it is there");
/// # Ok::<(), lode_volumes::Error>(())
/// ```
#[derive(Clone)]
pub struct Options {
    pub(crate) database: lode::Options,
    pub(crate) durability: Durability,
    pub(crate) name: Option<String>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) sweep_interval: Duration,
    pub(crate) open_entries: usize,
    pub(crate) cache_bytes: usize,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options")
            .field("database", &self.database)
            .field("durability", &self.durability)
            .finish_non_exhaustive()
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl Options {
    /// Returns the default options.
    pub fn new() -> Self {
        Self {
            database: lode::Options::new(),
            durability: Durability::Commit,
            name: None,
            clock: None,
            sweep_interval: Duration::from_secs(1),
            open_entries: 4096,
            cache_bytes: 64 << 20,
        }
    }

    /// Sets how the database below is opened: its memory, its log, and so on. Its level of
    /// durability is that of [`durability`](Self::durability).
    pub fn database(mut self, options: lode::Options) -> Self {
        self.database = options;
        self
    }

    /// Sets what survives which fault, in a directory; [`Durability::Commit`] by default.
    pub fn durability(mut self, level: Durability) -> Self {
        self.durability = level;
        self
    }

    /// Sets the volume's name in errors; by default its directory, or `memory`.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the source of the time; the system's clock by default.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Sets the interval at which expired properties are removed in the background; one second by
    /// default. No reader sees an expired property before that either.
    pub fn sweep_interval(mut self, interval: Duration) -> Self {
        self.sweep_interval = interval.max(Duration::from_millis(1));
        self
    }

    /// Sets how many entries may be kept open in memory; 4,096 by default. Those that a handle
    /// holds are kept beyond that.
    pub fn open_entries(mut self, count: usize) -> Self {
        self.open_entries = count;
        self
    }

    /// Sets how many bytes of values may be kept with open entries; 64 MiB by default.
    pub fn cache_bytes(mut self, bytes: usize) -> Self {
        self.cache_bytes = bytes;
        self
    }

    pub(crate) fn clock_or_system(&self) -> Arc<dyn Clock> {
        self.clock.clone().unwrap_or_else(|| Arc::new(SystemClock::new()))
    }

    pub(crate) fn lode(&self) -> lode::Options {
        self.database.clone().durability(self.durability)
    }
}
