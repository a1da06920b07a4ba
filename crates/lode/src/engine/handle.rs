//! Shares in an open database: the last one closes it when it is dropped.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Engine;

/// A share in an open database. Every public handle has one. The threads of the database have none,
/// so none of them can be the last. The thread that drops the last share waits until they have
/// ended.
pub(crate) struct Handle {
    engine: Arc<Engine>,
}

impl Handle {
    /// Makes the first share.
    pub(crate) fn new(engine: Engine) -> Self {
        Self { engine: Arc::new(engine) }
    }

    /// Returns the engine, for the threads of the database.
    pub(crate) fn shared(&self) -> &Arc<Engine> {
        &self.engine
    }

    /// Returns true if both are of the same database.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.engine, &other.engine)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.engine.more_handles.fetch_add(1, Ordering::Relaxed);
        Self { engine: Arc::clone(&self.engine) }
    }
}

impl Deref for Handle {
    type Target = Engine;

    #[inline(always)]
    fn deref(&self) -> &Engine {
        &self.engine
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.engine.more_handles.fetch_sub(1, Ordering::AcqRel) == 0 {
            // `Database::close` returns whether it went well.
            let _ = self.engine.close();
        }
    }
}
