//! Space that a database gives back while it has little or nothing to do.

use std::time::{Duration, Instant};

use super::{Engine, Sparse};
use crate::error::Error;
use crate::pager::PAGE_BYTES;
use crate::store::Store;
use crate::wal::{Log, Positions};

/// The least time of little writing before space is given back.
const LEAST_PAUSE: Duration = Duration::from_secs(10);

/// The most that this time becomes. It doubles each time: writers who pause need the space again.
const MOST_PAUSE: Duration = Duration::from_secs(60);

/// The least time between two looks from which the pace of writing can be told.
const LEAST_LOOK: Duration = Duration::from_secs(1);

/// Bytes of unused space that are left alone, besides a quarter of the used bytes of the data file.
/// A single write reserves more than one mebibyte.
const SPARE_BYTES: u64 = 4 << 20;

/// The state that writers change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    log_end: Positions,
    changed_pages: u64,
}

/// The pace of writing between two looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    Nothing,
    /// Light enough that [no checkpoint](Store::light_log_bytes) is needed for long.
    Light,
    Busy,
}

/// A database as it was at a look.
#[derive(Clone, Copy, Debug)]
struct Look {
    at: Instant,
    state: State,
    /// The places of the last checkpoint in the log.
    checkpoint: Positions,
}

impl Look {
    fn take(engine: &Engine, store: &Store, at: Instant) -> Option<Self> {
        let state = state_of(engine, store)?;
        Some(Self { at, state, checkpoint: store.recovered_from() })
    }

    /// Returns the pace of writing since an earlier look.
    fn pace_since(&self, before: &Self, store: &Store) -> Pace {
        if self.state == before.state {
            return Pace::Nothing;
        }
        if self.checkpoint != before.checkpoint {
            // What was written before it may be forgotten.
            return Pace::Busy;
        }
        let seconds = self.at.saturating_duration_since(before.at).as_secs();
        let most_bytes = store.light_log_bytes() * seconds.max(1);
        if store.log().map_or(0, |log| log.bytes_since(&before.state.log_end)) <= most_bytes {
            Pace::Light
        } else {
            Pace::Busy
        }
    }
}

/// The time for which a database has had little or nothing to do.
#[derive(Debug)]
pub(super) struct Idleness {
    last: Option<Look>,
    /// The time since which nothing was written.
    quiet_since: Option<Instant>,
    /// The time since which little was written.
    light_since: Option<Instant>,
    /// The state that the last finished attempt left.
    done: Option<State>,
    /// Bytes of pages that had been written when the tables' pages were filled.
    filled_at_bytes: u64,
    pause: Duration,
}

impl Default for Idleness {
    fn default() -> Self {
        Self {
            last: None,
            quiet_since: None,
            light_since: None,
            done: None,
            filled_at_bytes: 0,
            pause: LEAST_PAUSE,
        }
    }
}

impl Idleness {
    /// Gives space back if nothing or little has been written for long enough, until much is
    /// written or `goes_on` returns false. An error here comes again in the operation that needs
    /// the space, which returns it.
    pub(super) fn look(&mut self, engine: &Engine, now: Instant, goes_on: &dyn Fn() -> bool) {
        let Some(store) = engine.store().filter(|_| engine.settings.compacts_when_idle) else {
            return;
        };
        let Some(look) = Look::take(engine, store, now) else { return };
        if !self.note(&look, store) || self.done == Some(look.state) {
            return;
        }
        let is_over = |since: Option<Instant>| {
            since.is_some_and(|since| now.saturating_duration_since(since) >= self.pause)
        };
        let log_end = look.state.log_end;
        let is_light = || {
            let written = store.log().map_or(0, |log| log.bytes_since(&log_end));
            goes_on() && written <= store.light_log_bytes()
        };
        // There are sparse pages if there is free space, even if that has been given back.
        let length_bytes = store.data.length_bytes();
        let space_bytes = store.data.space_bytes();
        let is_quiet = is_over(self.quiet_since) && has_spare_space(store, length_bytes);
        let (ended, tables) = if is_quiet {
            (engine.compact_while(&is_light), Sparse::Filled)
        } else if is_over(self.light_since) && has_spare_space(store, space_bytes) {
            let tables = self.sparse_pages(engine, store);
            (engine.give_back_while(tables, &is_light), tables)
        } else {
            return;
        };
        if tables == Sparse::Filled && ended == Ok(true) {
            self.filled_at_bytes = store.data.written_bytes();
        }
        self.last = Look::take(engine, store, now);
        (self.quiet_since, self.light_since) = (Some(now), Some(now));
        // A damaged page stays so. Any other error may be gone the next time.
        if is_quiet && matches!(ended, Ok(true) | Err(Error::Corrupt { .. })) {
            self.done = self.last.map(|left| left.state);
        }
        self.pause = (self.pause * 2).min(MOST_PAUSE);
    }

    /// Notes what was written since the last look; returns false if that was a moment ago.
    fn note(&mut self, look: &Look, store: &Store) -> bool {
        let pace = match &self.last {
            Some(last) if look.at.saturating_duration_since(last.at) < LEAST_LOOK => return false,
            Some(last) => look.pace_since(last, store),
            None => Pace::Busy,
        };
        self.last = Some(*look);
        if pace != Pace::Nothing {
            self.quiet_since = Some(look.at);
        }
        if pace == Pace::Busy {
            self.light_since = Some(look.at);
        }
        true
    }

    /// Returns what to do with sparse pages next to writers. They are filled if a quarter as many
    /// pages as are in use were written since the last time: so changes pay for the work.
    fn sparse_pages(&self, engine: &Engine, store: &Store) -> Sparse {
        let changed_bytes = engine.pager().dirty() * PAGE_BYTES as u64;
        debug_assert!(self.filled_at_bytes <= store.data.written_bytes(), "writes add up");
        let written_bytes = store.data.written_bytes() + changed_bytes - self.filled_at_bytes;
        if written_bytes >= store.data.live_bytes() / 4 { Sparse::Filled } else { Sparse::Left }
    }
}

fn state_of(engine: &Engine, store: &Store) -> Option<State> {
    let log_end = store.log()?.ends();
    Some(State { log_end, changed_pages: engine.pager().dirty() })
}

/// Returns true if much of the files is not in use, or would not be after a checkpoint, for a data
/// file of `data_bytes`.
pub(super) fn has_spare_space(store: &Store, data_bytes: u64) -> bool {
    let used_bytes = store.data.live_bytes() + store.data.only_kept_bytes();
    let log_bytes = store.log().map_or(0, Log::unused_bytes) + store.log_bytes();
    data_bytes + log_bytes > used_bytes + used_bytes / 4 + SPARE_BYTES
}

#[cfg(test)]
mod tests;
