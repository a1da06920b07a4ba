//! The stores of a cell after its clock. A process other than the one that closed them opens and
//! checks them. So data in the memory of the first does not count as kept.

use assay_core::crew::{self, Connections};
use assay_core::plan::Cell;
use assay_core::store_dir::{Marker, StoreDir};
use assay_driver::error::Result;
use assay_driver::{Driver, Store};

use crate::session::{Needs, dir_of, marker_of, open_all, spec_of, store_error, stores_for};

/// A function that checks stores, by a connection to each; returns the number of answers.
pub(crate) type Look<'l> = dyn Fn(Connections<'_, '_>) -> Result<u64> + Sync + 'l;

/// Stores that were opened again.
pub(crate) struct Reopened {
    stores: Vec<Box<dyn Store>>,
    cpus: Vec<usize>,
    dir: Option<StoreDir>,
    /// The marker that the process that closed them wrote.
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

    /// Checks the content of the stores.
    pub(crate) fn look(&self, look: &Look<'_>) -> Result<u64> {
        let compared =
            crew::run(&self.stores, 1, &self.cpus, &mut |_| (), &|_, _, connections, _| {
                look(connections)
            })?;
        Ok(compared.iter().sum())
    }

    /// Closes the stores; they are removed unless they stay for another process.
    pub(crate) fn close(self, stay: bool) -> Result<()> {
        self.stores.into_iter().try_for_each(Store::close)?;
        match self.dir.filter(|_| !stay) {
            Some(dir) => dir.remove().map_err(store_error),
            None => Ok(()),
        }
    }
}
