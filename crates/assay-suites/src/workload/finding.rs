//! Comparing what secondary indexes find with what is possible.

use std::ops::Range;

use assay_core::tape::Records as _;
use assay_driver::Connection;
use assay_driver::error::Result;

use super::batch::Batch;
use super::check::{TOLD_EVERY, check_found, check_record, wrong};
use super::client::Client;
use super::clients::read;
use super::history::Possible;
use super::model::Model;
use super::records::Records;

/// The most values of a column that are looked up when the whole store is compared.
const VALUES_MOST: u64 = 1_000;

impl Client<'_> {
    /// Checks a find: it returns the records with the value, none twice, each as it was at some
    /// moment during the find; none is missing that was there throughout, and none is found that
    /// was absent throughout.
    pub(super) fn check_find(
        &mut self,
        batch: &Batch,
        at: usize,
        found: Range<usize>,
    ) -> Result<()> {
        let clients = self.clients;
        let records = clients.records;
        let operation = batch.operations[at];
        let moment = self.moment(batch, at);
        let lanes: Vec<_> = clients.lanes.iter().map(read).collect();
        let logs: Vec<_> = clients.logs.iter().map(read).collect();
        let longest = lanes.iter().map(|lane| lane.len()).max().unwrap_or(0);
        let rows = (longest * lanes.len()) as u64;
        let keys = found.map(|place| (batch.scanned_key(place), place));
        let found = sorted(records, operation.row, keys)?;
        let mut found = found.into_iter().peekable();
        for row in records.columns().alike(operation.by, operation.row, rows) {
            let owner = (row % lanes.len() as u64) as usize;
            let possible = Possible::of(row, owner, &lanes[owner], &logs[owner], &moment);
            match found.next_if(|(other, _)| *other == row) {
                Some((_, place)) => {
                    let what = &batch.scanned[place];
                    check_found(records, row, what, possible, &mut self.expected)?;
                }
                None if possible.may_be_absent() => {}
                None => {
                    let expected = possible.in_words();
                    return Err(wrong(row, &format!("a find missed it; expected {expected}")));
                }
            }
        }
        match found.next() {
            None => Ok(()),
            Some((row, _)) => Err(wrong(row, "a find of a value that it has not returned it")),
        }
    }
}

/// Returns what was found by the numbers of records, ascending; `of` is the one that is named if a
/// key is of none.
fn sorted<'k, T>(
    records: &Records,
    of: u64,
    keys: impl Iterator<Item = (&'k [u8], T)>,
) -> Result<Vec<(u64, T)>> {
    let row = |(key, what): (&[u8], T)| {
        let row = records.row_of_key(key);
        let row = row.ok_or_else(|| wrong(of, "a find of it returned a key that no record has"));
        Ok((row?, what))
    };
    let mut found = keys.map(row).collect::<Result<Vec<_>>>()?;
    found.sort_unstable_by_key(|(row, _)| *row);
    match found.windows(2).find(|two| two[0].0 == two[1].0) {
        Some(two) => Err(wrong(two[0].0, "a find returned it twice")),
        None => Ok(found),
    }
}

/// Compares what each index finds with the model, for up to [`VALUES_MOST`] values of a column.
/// Returns the number of answers that were compared.
pub(super) fn look_by_columns(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let schema = records.schema();
    let mut compared = 0;
    for position in schema.indexed() {
        let column = position - schema.key_columns().len();
        let distinct = records.columns().distinct(column).min(model.rows());
        let step = distinct.div_ceil(VALUES_MOST).max(1);
        for first in (0..distinct).step_by(step as usize) {
            compared += look_by(connection, records, model, column, first)?;
            if compared % TOLD_EVERY == 0 {
                progress(compared);
            }
        }
    }
    Ok(compared)
}

/// Compares what a look by the value of a record in a column finds with the model.
fn look_by(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    column: usize,
    of: u64,
) -> Result<u64> {
    let schema = records.schema();
    let mut value = vec![0; records.columns().packed_bytes(column)];
    records.columns().write_packed(column, of, &mut value);
    let mut found = Vec::new();
    connection.find_by(schema.key_columns().len() + column, &value, &mut |record| {
        found.push(record.to_vec());
    })?;
    let keys = found.iter().map(|record| record.split_at(schema.key_size()));
    let mut found = sorted(records, of, keys)?.into_iter().peekable();
    let mut expected = Vec::new();
    for row in records.columns().alike(column, of, model.rows()) {
        let state = model.state(row);
        match found.next_if(|(other, _)| *other == row) {
            Some((_, payload)) => {
                check_record(records, row, payload, Possible::only(state), &mut expected)?;
            }
            None if state.is_there() => return Err(wrong(row, "a find misses it")),
            None => {}
        }
    }
    match found.next() {
        None => Ok(1),
        Some((row, _)) => Err(wrong(row, "a find of a value that it has not returned it")),
    }
}
