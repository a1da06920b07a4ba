//! What the user sees while work is long: a bar or a counter on standard error, if that is a
//! terminal, and only after a moment, so that short work shows nothing.

use std::io::IsTerminal;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Work that takes less than this shows nothing.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often a spinner turns.
const TURN: Duration = Duration::from_millis(100);

/// Shows how far something is. It goes away when it is dropped.
pub struct Progress {
    what: String,
    /// Bytes there are, if they are known; otherwise records are counted.
    total_bytes: Option<u64>,
    begun: Instant,
    is_wanted: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Counts records, of which nobody knows how many there are.
    pub fn of_records(what: impl Into<String>) -> Self {
        Self::new(what.into(), None)
    }

    /// Counts bytes of so many.
    pub fn of_bytes(what: impl Into<String>, total_bytes: u64) -> Self {
        Self::new(what.into(), Some(total_bytes))
    }

    fn new(what: String, total_bytes: Option<u64>) -> Self {
        let is_wanted = std::io::stderr().is_terminal();
        Self { what, total_bytes, begun: Instant::now(), is_wanted, bar: None }
    }

    /// The same, or nothing at all if it would be in the way.
    pub fn only_if(mut self, is_wanted: bool) -> Self {
        self.is_wanted &= is_wanted;
        self
    }

    /// So many records, or bytes, are done.
    pub fn at(&mut self, done: u64) {
        if !self.is_wanted {
            return;
        }
        if self.bar.is_none() && self.begun.elapsed() < PATIENCE {
            return;
        }
        self.bar.get_or_insert_with(|| bar(&self.what, self.total_bytes)).set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(what: &str, total_bytes: Option<u64>) -> ProgressBar {
    let (bar, template) = match total_bytes {
        None => (ProgressBar::new_spinner(), "{spinner} {msg} · {human_pos} records · {per_sec}"),
        Some(bytes) => (ProgressBar::new(bytes), "{msg} {bar:40} {bytes}/{total_bytes} · {eta}"),
    };
    let style = ProgressStyle::with_template(template);
    bar.with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        .with_message(what.to_string())
}

/// Does something that cannot say how far it is, under a spinner.
pub fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let bar = ProgressBar::new_spinner().with_message(what.to_string());
    bar.enable_steady_tick(TURN);
    let done = work();
    bar.finish_and_clear();
    done
}
