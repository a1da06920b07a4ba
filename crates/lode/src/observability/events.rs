//! Events, by crate `tracing`.

use std::fmt::Display;
use std::sync::Arc;

use tracing::{debug, error, info, warn};

use super::{Lack, Replay, Work};
use crate::error::{Error, Result};

/// The seconds from which on the stall of a write is worth an event.
const LONG_STALL_SECONDS: f64 = 0.1;

/// The events of a database.
#[derive(Clone)]
pub(super) struct Events {
    database: Arc<str>,
}

impl Events {
    pub(super) fn new(database: &dyn Display) -> Self {
        Self { database: database.to_string().into() }
    }

    pub(super) fn opened(&self, work: Work, replay: &Replay) {
        info!(
            target: "lode",
            database = &*self.database,
            replayed_frames = replay.frames.get(),
            replayed_bytes = replay.bytes.get(),
            seconds = work.seconds(),
            "opened"
        );
    }

    pub(super) fn opened_to_read(&self, work: Work, replay: &Replay) {
        debug!(
            target: "lode",
            database = &*self.database,
            replayed_frames = replay.frames.get(),
            replayed_bytes = replay.bytes.get(),
            seconds = work.seconds(),
            "opened to read"
        );
    }

    pub(super) fn checkpointed(&self, work: Work) {
        debug!(
            target: "lode",
            database = &*self.database,
            pages = work.count,
            seconds = work.seconds(),
            "checkpoint"
        );
    }

    pub(super) fn stalled(&self, lack: Lack, work: Work) {
        self.stalled_for(lack, work.seconds());
    }

    pub(super) fn stalled_for(&self, lack: Lack, seconds: f64) {
        if seconds >= LONG_STALL_SECONDS {
            let reason = lack.name();
            warn!(target: "lode", database = &*self.database, reason, seconds, "stalled");
        }
    }

    pub(super) fn poisoned(&self, why: &str) {
        error!(target: "lode", database = &*self.database, error = why, "poisoned");
    }

    pub(super) fn compacted(&self, work: Work, before_bytes: u64, after_bytes: u64) {
        info!(
            target: "lode",
            database = &*self.database,
            before_bytes,
            after_bytes,
            seconds = work.seconds(),
            "compacted"
        );
    }

    pub(super) fn backed_up(&self, work: Work, copied_bytes: u64, total_bytes: u64) {
        info!(
            target: "lode",
            database = &*self.database,
            copied_bytes,
            total_bytes,
            seconds = work.seconds(),
            "backed up"
        );
    }

    pub(super) fn built_index(&self, work: Work, table: &str, index: &str, built: &Result<()>) {
        let database = &*self.database;
        let seconds = work.seconds();
        match built {
            Ok(()) => info!(target: "lode", database, table, index, seconds, "index built"),
            Err(error) => {
                warn!(target: "lode", database, table, index, %error, seconds, "index not built");
            }
        }
    }

    pub(super) fn failed_in_background(&self, work: &str, error: &Error) {
        let database = &*self.database;
        warn!(target: "lode", database, work, %error, "failed in the background");
    }

    pub(super) fn closed(&self, work: Work, outcome: &Result<()>) {
        let database = &*self.database;
        let seconds = work.seconds();
        match outcome {
            Ok(()) => info!(target: "lode", database, seconds, "closed"),
            Err(error) => warn!(target: "lode", database, %error, seconds, "closed with an error"),
        }
    }
}
