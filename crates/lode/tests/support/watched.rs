//! A watch over work that might never end.

use std::io::Write as _;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Far longer than any test takes on a machine that is busy with other work.
const LIMIT: Duration = Duration::from_secs(1_800);

/// Runs `work` and returns its result. Aborts the process, with a message, if `work` never ends.
pub(super) fn watched<T>(work: impl FnOnce() -> T) -> T {
    let (ended, end) = channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            if end.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                let minutes = LIMIT.as_secs() / 60;
                // Not `eprintln`: what that says is captured, and lost with the process.
                let _ = writeln!(
                    std::io::stderr(),
                    "a test hangs: it has not ended after {minutes} minutes"
                );
                std::process::abort();
            }
        });
        // Dropped when `work` returns and when it panics: both end the watch.
        let _ended = ended;
        work()
    })
}
