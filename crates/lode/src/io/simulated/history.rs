//! The durable version of something, and all versions since.

use super::random::Random;

/// The versions of a sector, a length or a name.
#[derive(Clone)]
pub(super) struct History<T> {
    /// The version that a crash cannot take away, though it may bring it back.
    durable: T,
    /// The versions after it, in order; the last is the one that is seen.
    since: Vec<T>,
    /// True if the last version may be lost, and the system believes that it is not: writing it
    /// back failed, after which the system takes it for written.
    lost: bool,
}

impl<T> History<T> {
    /// Creates a history with a durable version.
    pub(super) fn new(durable: T) -> Self {
        Self { durable, since: Vec::new(), lost: false }
    }

    /// Returns the version that is seen.
    pub(super) fn now(&self) -> &T {
        self.since.last().unwrap_or(&self.durable)
    }

    /// Adds a version, which is not durable yet.
    pub(super) fn set(&mut self, version: T) {
        self.since.push(version);
        self.lost = false;
    }

    /// Makes the seen version durable, unless writing it back failed before: it is not tried twice.
    pub(super) fn sync(&mut self) {
        if !self.lost
            && let Some(last) = self.since.pop()
        {
            self.durable = last;
            self.since.clear();
        }
    }

    /// Notes that writing it back failed.
    pub(super) fn fail_sync(&mut self) {
        self.lost = !self.since.is_empty();
    }

    /// Returns true if a crash changes nothing.
    pub(super) fn is_durable(&self) -> bool {
        self.since.is_empty()
    }

    /// Returns all versions.
    pub(super) fn versions(&self) -> impl Iterator<Item = &T> {
        std::iter::once(&self.durable).chain(&self.since)
    }

    /// Returns all versions, to be changed.
    pub(super) fn versions_mut(&mut self) -> impl Iterator<Item = &mut T> {
        std::iter::once(&mut self.durable).chain(&mut self.since)
    }
}

/// The fate of versions that are not durable, in a crash.
pub(super) struct Fate {
    random: Random,
    /// The number of histories in 256 in which a version that is not durable survives.
    survivors: u64,
    /// True if the last version survives, not just any.
    last: bool,
}

impl Fate {
    /// Creates the fate of this seed: in one of four everything survives, in one nothing does.
    pub(super) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed);
        let (survivors, last) = match random.below(4) {
            0 => (256, true),
            1 => (0, false),
            _ => (random.below(257), false),
        };
        Self { random, survivors, last }
    }

    /// Returns the version of a history that is left.
    pub(super) fn choose<T>(&mut self, history: History<T>) -> T {
        let History { durable, mut since, .. } = history;
        if since.is_empty() || self.random.below(256) >= self.survivors {
            return durable;
        }
        let last = since.len() - 1;
        let chosen = if self.last { last } else { self.random.below(since.len() as u64) as usize };
        since.swap_remove(chosen)
    }
}
