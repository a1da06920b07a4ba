//! Signals of the user, such as that of Ctrl-C, during long work.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use pyo3::prelude::*;

use crate::failure::Result;

/// Raises `KeyboardInterrupt` if the user has asked for it.
pub(crate) fn look_for_signals() -> PyResult<()> {
    // Python's method by itself is not general enough for Rust.
    #[allow(clippy::redundant_closure_for_method_calls)]
    Python::attach(|py| py.check_signals())
}

/// Does work in a thread of its own and returns its result. If the user interrupts, the wait ends;
/// the work continues to its end, and its result is dropped.
pub(crate) fn wait_for<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    /// The time between two looks for signals.
    const PAUSE: Duration = Duration::from_millis(50);
    py.detach(move || {
        let (sender, receiver) = channel();
        std::thread::Builder::new()
            .name("lode-python".into())
            .spawn(move || drop(sender.send(work())))
            .map_err(PyErr::from)?;
        loop {
            match receiver.recv_timeout(PAUSE) {
                Ok(done) => return Ok(done),
                Err(RecvTimeoutError::Timeout) => look_for_signals()?,
                Err(RecvTimeoutError::Disconnected) => panic!("the work has panicked"),
            }
        }
    })
}
