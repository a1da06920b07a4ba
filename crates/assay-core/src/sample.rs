//! Reads a sample of records back, off the clock, and compares each with the expected one.

use std::time::{Duration, Instant};

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Outcome};

use crate::random::Bijection;
use crate::tape::Records;

/// Rows read back: at most `SAMPLE`, and no more than can be read in `SAMPLE_TIME` once there are
/// enough of them. (Some engines take milliseconds for a lookup.)
const SAMPLE: u64 = 4096;
const SAMPLE_TIME: Duration = Duration::from_secs(2);
const SAMPLE_ENOUGH: u64 = 128;

/// Returns a sample of `0..count`, in random order, as large as there is time to look at.
pub fn sample(count: u64) -> impl Iterator<Item = u64> {
    let started = Instant::now();
    let order = Bijection::new(count, count.max(1));
    (0..count.min(SAMPLE))
        .take_while(move |&at| at < SAMPLE_ENOUGH || started.elapsed() < SAMPLE_TIME)
        .map(move |at| order.at(at))
}

/// The expected state of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The row exists, with the payload of a version.
    There {
        /// The version.
        version: u32,
        /// A column whose value is not known.
        ignored: Option<usize>,
    },
    /// The row does not exist.
    Gone,
}

/// Looks rows up and compares each with the expected state. Returns the number compared.
///
/// # Errors
/// The engine's, and [`ErrorKind::WrongAnswer`] with the first row that differs.
pub fn compare<R: Records>(
    connection: &mut dyn Connection,
    records: &R,
    rows: impl IntoIterator<Item = u64>,
    expected: Expected,
) -> Result<u64> {
    let schema = records.schema();
    let mut key = vec![0; schema.key_size()];
    let mut got = vec![0; schema.payload_size()];
    let mut right = got.clone();
    let mut compared = 0;
    for row in rows {
        records.key(row, &mut key);
        let wrong = match (expected, connection.get(&key, &mut got)?) {
            (Expected::Gone, Outcome::Missing) => None,
            (Expected::Gone, _) => Some("is still there after its deletion".into()),
            (Expected::There { .. }, Outcome::Missing) => {
                Some("is missing after it was written".into())
            }
            (Expected::There { version, ignored }, _) => {
                records.payload(row, version, &mut right);
                if let Some(column) = ignored.map(|at| &schema.columns()[at]) {
                    let from = column.offset - schema.key_size();
                    let area = from..from + column.kind.size_bytes();
                    got[area.clone()].copy_from_slice(&right[area]);
                }
                schema.first_difference(&right, &got)
            }
        };
        if let Some(wrong) = wrong {
            return Err(wrong_answer(row, &wrong));
        }
        compared += 1;
    }
    Ok(compared)
}

/// Returns the error that names a row and its fault.
pub(crate) fn wrong_answer(row: u64, difference: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("row {row}: {difference}"))
}
