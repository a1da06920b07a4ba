//! The stores of a cell after its clock: a process of its own opens what another one closed and
//! looks at it, so that nothing counts as kept that was in the memory of that process.

use assay_core::crew::{self, Connections};
use assay_core::plan::Cell;
use assay_core::store_dir::{Marker, StoreDir};
use assay_driver::error::Result;
use assay_driver::{Driver, Store};

use crate::cell::{Needs, dir_of, marker_of, open_all, spec_of, store_error, stores_for};

/// Looks at what stores hold, by a connection to each. Returns how many answers were compared.
pub(crate) type Look<'l> = dyn Fn(Connections<'_, '_>) -> Result<u64> + Sync + 'l;

/// Stores that are open again.
pub(crate) struct Reopened {
    stores: Vec<Box<dyn Store>>,
    cpus: Vec<usize>,
    dir: Option<StoreDir>,
    /// What the process that closed them says of them.
    pub(crate) marker: Marker,
}

impl Reopened {
    /// Opens the stores that the cell's measuring left.
    pub(crate) fn open(cell: &Cell, driver: &dyn Driver, needs: &Needs<'_>) -> Result<Self> {
        let version = driver.version().unwrap_or_default();
        let expected = marker_of(cell, &version, needs);
        let dir = dir_of(cell, driver.profile());
        let marker = match &dir {
            Some(dir) => dir.expect(&expected).map_err(store_error)?,
            None => expected,
        };
        let spec = spec_of(cell, driver, needs, false);
        let stores = open_all(driver, &spec, stores_for(driver, needs))?;
        Ok(Self { stores, cpus: cell.cpus.clone(), dir, marker })
    }

    /// Looks at what they hold.
    pub(crate) fn look(&self, look: &Look<'_>) -> Result<u64> {
        let compared =
            crew::run(&self.stores, 1, &self.cpus, &mut |_| (), &|_, _, connections, _| {
                look(connections)
            })?;
        Ok(compared.iter().sum())
    }

    /// Closes them; they are removed unless they stay for another process.
    pub(crate) fn close(self, stay: bool) -> Result<()> {
        self.stores.into_iter().try_for_each(Store::close)?;
        match self.dir.filter(|_| !stay) {
            Some(dir) => dir.remove().map_err(store_error),
            None => Ok(()),
        }
    }
}
