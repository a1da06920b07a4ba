//! Databases that are only read: opened as of one moment, and again as of a later one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, RwLock};

use super::Engine;
use crate::error::Result;
use crate::io::Disk;
use crate::observability::Work;
use crate::store::{Opened, Settings};

/// The place of a database that is only read.
pub(super) struct Source {
    directory: PathBuf,
}

impl Engine {
    /// Opens the database on a disk to read it only, as of now. Errors name the directory.
    ///
    /// # Errors
    /// Those of [`open_read_only`](crate::Options::open_read_only).
    pub(crate) fn open_to_read(
        disk: Arc<dyn Disk>,
        settings: Settings,
        directory: &Path,
    ) -> Result<Self> {
        let work = Work::start();
        let opened = crate::store::open_to_read(&*disk, &settings, directory)?;
        let Opened { store, pager, catalogue, replay } = opened;
        settings.observer.opened_to_read(work, &replay);
        catalogue.list_all_indexes();
        let source = Some(Source { directory: directory.into() });
        let engine = Self::of(pager, RwLock::new(catalogue), Some(store), settings);
        Ok(Self { source, disk: Some(disk), ..engine })
    }

    /// Opens the database anew if it is only read; `None` if it shows the newest moment already.
    ///
    /// # Errors
    /// As [`open_to_read`](Self::open_to_read); `Closed`, `Forked`.
    pub(crate) fn open_later(&self) -> Result<Option<Self>> {
        self.expect_open()?;
        let (Some(Source { directory }), Some(disk)) = (&self.source, &self.disk) else {
            return Ok(None);
        };
        let Some(store) = &self.store else { return Ok(None) };
        let later = Self::open_to_read(Arc::clone(disk), self.settings.again(), directory)?;
        self.horizon.get_us().into_iter().for_each(|at_us| later.horizon.raise(at_us));
        let is_later = later.store.as_ref().is_some_and(|later| store.is_before(later));
        Ok(is_later.then_some(later))
    }
}
