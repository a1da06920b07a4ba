//! What is done while a database has nothing to do: it gives back space that it does not need.

use std::time::{Duration, Instant};

use super::Engine;
use crate::error::Error;
use crate::store::Store;
use crate::wal::{Log, LogPosition};

/// How long nothing must have been written before space is given back.
const LEAST_QUIET: Duration = Duration::from_secs(10);

/// The most that this becomes. It doubles each time: writers who pause need the space again.
const MOST_QUIET: Duration = Duration::from_secs(60);

/// Bytes of the files that are not in use, beside a quarter of those of the data file that are, and
/// are left alone. A single write reserves more than one mebibyte.
const SPARE_BYTES: u64 = 4 << 20;

/// What writers change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    log_end: LogPosition,
    changed_pages: u64,
}

/// How long a database has had nothing to do.
#[derive(Debug)]
pub(super) struct Idleness {
    /// As it was seen last, and since when it has been so.
    seen: Option<(State, Instant)>,
    /// What the last attempt left that came to its end.
    done: Option<State>,
    quiet: Duration,
}

impl Default for Idleness {
    fn default() -> Self {
        Self { seen: None, done: None, quiet: LEAST_QUIET }
    }
}

impl Idleness {
    /// Gives space back, if nothing has been written for long enough, until something is or
    /// `goes_on` returns false. What fails here fails again for the operation that needs it, and
    /// that returns the error.
    pub(super) fn look(&mut self, engine: &Engine, now: Instant, goes_on: &dyn Fn() -> bool) {
        let Some(store) = engine.store().filter(|_| engine.settings.compacts_when_idle) else {
            return;
        };
        let Some(state) = state_of(engine, store) else { return };
        let since = match self.seen {
            Some((seen, since)) if seen == state => since,
            _ => {
                self.seen = Some((state, now));
                return;
            }
        };
        let is_quiet = now.saturating_duration_since(since) >= self.quiet;
        // Sparse pages are where there is free space, even if that has been given back.
        let length_bytes = store.data.length_bytes();
        if !is_quiet || self.done == Some(state) || !has_spare_space(store, length_bytes) {
            return;
        }
        let log_end = || store.log().map(Log::end);
        let ended = engine
            .compact_while(&|| goes_on() && log_end().is_some_and(|end| end == state.log_end));
        let left = state_of(engine, store);
        self.seen = left.map(|left| (left, now));
        // What is damaged stays so. Anything else may go well the next time.
        if matches!(ended, Ok(true) | Err(Error::Corrupt { .. })) {
            self.done = left;
        }
        self.quiet = (self.quiet * 2).min(MOST_QUIET);
    }
}

fn state_of(engine: &Engine, store: &Store) -> Option<State> {
    let log_end = store.log()?.end();
    Some(State { log_end, changed_pages: engine.pager().dirty() })
}

/// Whether much of the files is not in use, for a data file of `data_bytes`.
pub(super) fn has_spare_space(store: &Store, data_bytes: u64) -> bool {
    let used_bytes = store.data.used_bytes();
    let log_bytes = store.log().map_or(0, Log::unused_bytes);
    data_bytes + log_bytes > used_bytes + used_bytes / 4 + SPARE_BYTES
}

#[cfg(test)]
mod tests;
