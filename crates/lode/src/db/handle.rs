//! What keeps a database open: the last one to go closes it before it has gone.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Inner;

/// A share in an open database. Every public handle has one; the threads of the database have none,
/// so none of them can be the last, and whoever lets go of the last share waits until they have
/// ended.
pub struct Handle {
    inner: Arc<Inner>,
}

impl Handle {
    /// The first share.
    pub fn new(inner: Inner) -> Self {
        Self { inner: Arc::new(inner) }
    }

    /// The database, for its own threads.
    pub fn shared(&self) -> &Arc<Inner> {
        &self.inner
    }

    /// Whether both are of the same database.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.inner, &other.inner)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Self {
        self.inner.more_handles.fetch_add(1, Ordering::Relaxed);
        Self { inner: Arc::clone(&self.inner) }
    }
}

impl Deref for Handle {
    type Target = Inner;

    #[inline(always)]
    fn deref(&self) -> &Inner {
        &self.inner
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if self.inner.more_handles.fetch_sub(1, Ordering::AcqRel) == 0 {
            // Whoever wants to know whether it went well calls `Database::close`.
            let _ = self.inner.close();
        }
    }
}
