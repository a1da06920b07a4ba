//! A cell from its start to its status, by the suite that it names.

use std::cell::RefCell;
use std::path::Path;

use assay_core::environment::available_bytes;
use assay_core::plan::Cell;
use assay_core::run_file::{Measurement, Status};
use assay_driver::Driver;
use assay_driver::error::{Error, ErrorKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::fullest::Fullest;
use crate::session::{Progress, Report, account, dir_of};
use crate::suite::{Farewell, Measured};

/// The report of a process that looked at a cell's store.
#[derive(Debug, Serialize, Deserialize)]
pub struct Looked {
    /// The outcome of the look.
    pub status: Status,
    /// The number of answers that were compared.
    pub compared: u64,
    /// The value that one more process needs to look again; absent if no store is left.
    pub left: Option<Value>,
}

/// Measures a cell with the suite that it names. A process that is to be killed says so by
/// `farewell`, and [`resume`] continues in another one.
pub fn measure(
    cell: &Cell,
    driver: &dyn Driver,
    report: &mut Report<'_>,
    farewell: &mut Farewell<'_>,
) -> Measured {
    measure_on(cell, driver, None, report, farewell)
}

/// Continues to measure a cell, whose process was killed as it had asked for.
pub fn resume(
    cell: &Cell,
    driver: &dyn Driver,
    left: Value,
    report: &mut Report<'_>,
    farewell: &mut Farewell<'_>,
) -> Measured {
    measure_on(cell, driver, Some(left), report, farewell)
}

fn measure_on(
    cell: &Cell,
    driver: &dyn Driver,
    killed: Option<Value>,
    report: &mut Report<'_>,
    farewell: &mut Farewell<'_>,
) -> Measured {
    let mut measurement =
        Measurement { engine_name: driver.profile().name.into(), ..Measurement::default() };
    match driver.version() {
        Ok(version) => measurement.engine_version = version,
        Err(why) => {
            return Measured { status: Status::Unavailable(why), measurement, left: None };
        }
    }
    let task = crate::task(cell);
    let fullest = RefCell::new(Fullest::of(dir_of(cell, driver.profile())));
    let at_fullest = |measurement: &mut Measurement| {
        let resources = &mut measurement.resources;
        resources.store_peak_bytes = fullest.borrow().or_more(resources.store_peak_bytes);
    };
    let watched = &mut |progress: &Progress| {
        fullest.borrow_mut().look();
        report(progress);
    };
    let farewell = &mut |mut measured: Measured, after| {
        at_fullest(&mut measured.measurement);
        farewell(measured, after);
    };
    let was_killed = killed.is_some();
    let result =
        task.and_then(|task| task.run(driver, killed, &mut measurement, watched, farewell));
    at_fullest(&mut measurement);
    if result.is_err() {
        // The store is accounted for when it is closed, which did not happen.
        account(&mut measurement.resources);
    }
    let (status, left) = match result {
        Ok(left) => (Status::Measured, left),
        Err(error) if was_killed => {
            let said = format!("{KILLED}: {error}");
            (status_of(cell, &Error::new(error.kind(), said)), None)
        }
        Err(error) => (status_of(cell, &error), None),
    };
    Measured { status, measurement, left }
}

/// The start of an error after a process was killed as it had asked for.
const KILLED: &str = "after its process was killed";

/// The start of an error about a store that another process opened.
pub const REOPENED: &str = "after the store was closed and opened again";

/// Looks at the store that a cell's measuring left, in another process.
pub fn look(cell: &Cell, driver: &dyn Driver, left: Value) -> Looked {
    match crate::task(cell).and_then(|task| task.look(driver, left)) {
        Ok((compared, left)) => Looked { status: Status::Measured, compared, left },
        Err(error) => {
            let said = format!("{REOPENED}: {error}");
            let status = status_of(cell, &Error::new(error.kind(), said));
            Looked { status, compared: 0, left: None }
        }
    }
}

/// Returns how a cell ends because of an error.
fn status_of(cell: &Cell, error: &Error) -> Status {
    match error.kind() {
        ErrorKind::Unsupported => Status::Unsupported(error.to_string()),
        ErrorKind::WrongAnswer => Status::Wrong(error.to_string()),
        ErrorKind::Full | ErrorKind::Engine => Status::Failed(match cell.dir.as_deref() {
            // Not every engine passes on why a write failed.
            Some(dir) if error.kind() == ErrorKind::Full || is_nearly_full(dir) => {
                format!("{error}; {}", no_space(dir))
            }
            _ => error.to_string(),
        }),
        ErrorKind::GivenUp | ErrorKind::Conflict => Status::Failed(error.to_string()),
    }
}

/// The free bytes below which a file system counts as full.
const LITTLE_BYTES: u64 = 1 << 20;

fn is_nearly_full(dir: &Path) -> bool {
    available_bytes(dir).is_some_and(|free| free < LITTLE_BYTES)
}

fn no_space(dir: &Path) -> String {
    format!(
        "the file system of {} is full: free some space, or choose another --dir or fewer rows",
        dir.display()
    )
}
