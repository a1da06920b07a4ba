//! Errors of Tonbo's background tasks. Tonbo compacts in a task whose errors it hands to no caller
//! but the `tracing` log; here they are kept. So the next write, or the close, fails with the
//! engine's own words. No write continues with a table that cannot reach its files.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use assay_driver::error::{Error, Result};
use tracing::dispatcher::{self, DefaultGuard, Dispatch};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

/// The first error that a background task reported.
#[derive(Debug, Default)]
pub(super) struct Background {
    failed: AtomicBool,
    said: Mutex<Option<String>>,
}

impl Background {
    /// Returns an error if a background task has failed.
    pub(super) fn check(&self, doing: &str) -> Result<()> {
        if !self.failed.load(Ordering::Relaxed) {
            return Ok(());
        }
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        Err(Error::engine(doing, one_line(said.as_deref().unwrap_or_default())))
    }

    fn note(&self, said: String) {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(said);
        self.failed.store(true, Ordering::Relaxed);
    }

    /// Makes the calling thread report errors to this, for as long as the thread lives.
    pub(super) fn listen(self: &Arc<Self>) {
        thread_local! {
            static LISTENING: RefCell<Option<DefaultGuard>> = const { RefCell::new(None) };
        }
        let guard = dispatcher::set_default(&Dispatch::new(Listener(Arc::clone(self))));
        LISTENING.with(|listening| listening.replace(Some(guard)));
    }
}

/// Returns an engine's message on one line of bounded length.
pub(super) fn one_line(said: impl fmt::Display) -> String {
    const MOST: usize = 400;
    let said = said.to_string();
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Keeps errors of Tonbo and ignores everything else.
struct Listener(Arc<Background>);

impl Subscriber for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() == Level::ERROR && metadata.target().starts_with("tonbo")
    }

    fn event(&self, event: &Event<'_>) {
        let mut message = Message(String::new());
        event.record(&mut message);
        self.0.note(message.0);
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        if field.name() == "message" {
            self.0 = format!("{value:?}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_a_background_task_fails_the_next_check() {
        let background = Arc::new(Background::default());
        let heard = Arc::clone(&background);
        let thread = std::thread::spawn(move || {
            heard.listen();
            tracing::warn!(target: "tonbo", "not an error");
            heard.check("insert").expect("a warning is not an error");
            tracing::error!(target: "tonbo", "[Compaction Error]: no space left\non device");
        });
        thread.join().expect("the thread ran");
        let error = background.check("insert").expect_err("the task failed");
        assert_eq!(error.to_string(), "insert: [Compaction Error]: no space left on device");
    }
}
