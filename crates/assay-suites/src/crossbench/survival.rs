//! The required content of a cell's store after it was closed.

use assay_core::crew::Connections;
use assay_core::sample::{Expected, compare, sample};
use assay_core::tape::{Order, Population, Records, Tape};
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, Outcome};
use serde::{Deserialize, Serialize};

use super::route::Routes;
use super::{Options, needs};
use crate::reopened::Reopened;
use crate::suite::CellLook;

/// The state in which a cell left its store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Left {
    /// The rows that it deleted.
    pub(super) deleted: Option<Deleted>,
    /// True if the store is to be removed even if it has rows.
    pub(super) goes: bool,
    /// True if the store was emptied, and rows were inserted again since.
    pub(super) came_back: bool,
}

/// The deleted rows: the first of an order of the rows that existed before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Deleted {
    pub(super) before: Population,
    pub(super) order: Order,
    pub(super) seed: u64,
    pub(super) count: u64,
}

impl Deleted {
    /// Returns a sample of the deleted rows.
    fn sample(&self) -> impl Iterator<Item = u64> {
        let tape = Tape::new(self.order, self.seed, self.before.live());
        let rows = self.before.rows();
        sample(self.count).map(move |position| rows.row(tape.row(position)))
    }
}

/// The number of rows inserted into an emptied store, because an empty one shows nothing.
const COME_BACK: usize = 64;

/// Checks a store: remaining rows exist, deleted ones do not. Into an empty store some rows are
/// inserted, which one more process checks.
pub(super) fn look(look: &CellLook<'_, Options>, left: Left) -> Result<(u64, Option<Left>)> {
    let CellLook { cell, options, driver } = *look;
    let routes = Routes::new(options.keys, cell.seed);
    let schema = routes.schema().clone();
    let stores = Reopened::open(cell, driver, &needs(cell, options, &schema))?;
    let Left { deleted, goes, came_back } = &left;
    if *came_back {
        let compared = stores.look(&|connections: Connections<'_, '_>| {
            let rows = deleted.iter().flat_map(|all| all.sample().take(COME_BACK));
            let expected = Expected::There { version: 0, ignored: None };
            compare(&mut *connections[0], &routes, rows, expected)
        })?;
        stores.close(false)?;
        return Ok((compared, None));
    }
    let living = stores.marker.population.clone();
    let is_empty = living.live() == 0;
    // A column that was updated has an unknown value.
    let birth = schema.position("birth").filter(|_| stores.marker.updated);
    let compared = stores.look(&|connections: Connections<'_, '_>| {
        let connection = &mut *connections[0];
        let rows = living.rows();
        let there = sample(living.live()).map(|position| rows.row(position));
        let expected = Expected::There { version: 0, ignored: birth };
        let compared = compare(connection, &routes, there, expected)?;
        let Some(deleted) = deleted else { return Ok(compared) };
        let gone = compare(connection, &routes, deleted.sample(), Expected::Gone)?;
        if is_empty {
            insert(connection, &routes, deleted.sample().take(COME_BACK))?;
        }
        Ok(compared + gone)
    })?;
    let comes_back = is_empty && deleted.is_some();
    stores.close(comes_back || !(is_empty || *goes))?;
    Ok((compared, comes_back.then_some(Left { came_back: true, ..left })))
}

/// Inserts rows, each in a separate transaction.
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
