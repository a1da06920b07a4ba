//! The display of long work: a bar or a counter on standard error, if that is a terminal, and only
//! after a moment, so that short work shows nothing.

use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// The time before work shows anything.
const PATIENCE: Duration = Duration::from_millis(500);

/// The time between two turns of a spinner.
const TURN: Duration = Duration::from_millis(100);

/// A display of the progress of work. It disappears when it is dropped.
pub(crate) struct Progress {
    bar: ProgressBar,
    begun: Instant,
    state: State,
}

/// The state of the display.
#[derive(PartialEq, Eq)]
enum State {
    Never,
    Later,
    Shown,
}

impl Progress {
    /// Counts records whose number is not known.
    pub(crate) fn of_records(what: impl Into<String>) -> Self {
        Self::new(what.into(), None, "{spinner} {msg} · {human_pos} records")
    }

    /// Counts records up to `total`.
    #[cfg(feature = "columns")]
    pub(crate) fn of_rows(what: impl Into<String>, total: u64) -> Self {
        Self::new(what.into(), Some(total), "{msg} {bar:40} {human_pos}/{human_len} · {eta}")
    }

    /// Counts bytes up to `total_bytes`.
    pub(crate) fn of_bytes(what: impl Into<String>, total_bytes: u64) -> Self {
        Self::new(what.into(), Some(total_bytes), "{msg} {bar:40} {bytes}/{total_bytes} · {eta}")
    }

    fn new(what: String, total: Option<u64>, template: &str) -> Self {
        let style = ProgressStyle::with_template(template);
        let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::hidden())
            .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
            .with_message(what);
        let state = if std::io::stderr().is_terminal() { State::Later } else { State::Never };
        Self { bar, begun: Instant::now(), state }
    }

    /// Shows nothing if `is_wanted` is false.
    pub(crate) fn only_if(mut self, is_wanted: bool) -> Self {
        if !is_wanted {
            self.state = State::Never;
        }
        self
    }

    /// Shows that `done` records, or bytes, are done.
    pub(crate) fn at(&mut self, done: u64) {
        if self.state == State::Never {
            return;
        }
        if self.state == State::Later && self.begun.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.state = State::Shown;
        }
        self.bar.set_position(done);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Calls `work`, which cannot report its progress, under a spinner.
pub(crate) fn during<T>(what: &str, work: impl FnOnce() -> T) -> T {
    if !std::io::stderr().is_terminal() {
        return work();
    }
    let (until, end) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if end.recv_timeout(PATIENCE) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::new_spinner().with_message(what.to_string());
            bar.enable_steady_tick(TURN);
            // Nothing is sent: the other end is dropped, and that is enough.
            let _ = end.recv();
            bar.finish_and_clear();
        });
        let done = work();
        drop(until);
        done
    })
}
