//! What has to be in the store after it was closed and opened again.

use assay_core::crew::Connections;
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::{Population, Records, Tape};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Outcome};

use super::Run;
use super::route::Routes;
use crate::cell::Session;

/// Rows that were deleted: the first of a tape over those that lived before.
pub(super) struct Deleted {
    pub(super) before: Population,
    pub(super) tape: Tape,
    pub(super) count: u64,
}

impl Deleted {
    /// Returns a sample of them.
    fn sample(&self) -> impl Iterator<Item = u64> {
        let rows = self.before.rows();
        sample(self.count).map(move |position| rows.row(self.tape.row(position)))
    }
}

/// As many rows come back into a store that was emptied, since an empty one shows nothing.
const COME_BACK: usize = 64;

impl Run<'_> {
    /// Closes the store and looks at it: rows that live are there, deleted ones are gone. Into an
    /// empty store some rows are inserted, and looked at after another closing.
    pub(super) fn close(self, session: Session<'_>, deleted: Option<&Deleted>) -> Result<()> {
        let routes = &self.routes;
        let living = session.marker.population.clone();
        let birth = routes.schema().position("birth").filter(|_| session.marker.updated);
        let is_empty = living.live() == 0;
        let first = |connections: Connections<'_, '_>| {
            let connection = &mut *connections[0];
            let compared = living_rows(connection, routes, &living, birth)?;
            let Some(deleted) = deleted else { return Ok(compared) };
            let gone = compare(connection, routes, deleted.sample(), Expected::Gone)?;
            if is_empty {
                insert(connection, routes, deleted.sample().take(COME_BACK))?;
            }
            Ok(compared + gone)
        };
        let second = |connections: Connections<'_, '_>| {
            let rows = deleted.into_iter().flat_map(|all| all.sample().take(COME_BACK));
            let expected = Expected::There { version: 0, ignored: None };
            compare(&mut *connections[0], routes, rows, expected)
        };
        match is_empty {
            true => session.close(&[&first, &second]),
            false => session.close(&[&first]),
        }
    }

    /// Closes a store that is not to be left, and looks at its rows before it is removed.
    pub(super) fn discard(self, session: Session<'_>) -> Result<()> {
        let living = session.marker.population.clone();
        let birth = self.routes.schema().position("birth").filter(|_| session.marker.updated);
        session.discard(&[&|connections: Connections<'_, '_>| {
            living_rows(&mut *connections[0], &self.routes, &living, birth)
        }])
    }
}

/// Compares a sample of the rows that live; a column that is named has a value that is not known.
fn living_rows(
    connection: &mut dyn Connection,
    routes: &Routes,
    living: &Population,
    ignored: Option<usize>,
) -> Result<u64> {
    let rows = living.rows();
    let there = sample(living.live()).map(|position| rows.row(position));
    compare(connection, routes, there, Expected::There { version: 0, ignored })
}

/// Inserts rows, each in a transaction of its own.
fn insert(
    connection: &mut dyn Connection,
    routes: &Routes,
    rows: impl Iterator<Item = u64>,
) -> Result<()> {
    let mut record = vec![0; routes.schema().record_size()];
    for row in rows {
        let (key, payload) = record.split_at_mut(routes.schema().key_size());
        routes.key(row, key);
        routes.payload(row, 0, payload);
        if connection.insert(&record)? != Outcome::Done {
            let why = format!("row {row} was refused as a duplicate after its deletion");
            return Err(Error::new(ErrorKind::WrongAnswer, why));
        }
    }
    Ok(())
}
