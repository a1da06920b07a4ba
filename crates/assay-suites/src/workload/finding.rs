//! Comparing what secondary indexes find with what is possible.

use std::ops::Range;

use assay_core::tape::Records as _;
use assay_driver::Connection;
use assay_driver::error::Result;

use super::batch::Batch;
use super::check::{check_found, check_record, wrong};
use super::client::Client;
use super::history::Possible;
use super::model::Model;
use super::records::Records;

/// The fault of a record that a find returned.
const NOT_ITS_VALUE: &str = "a find of a value that it has not returned it";

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
        let standing = clients.standing();
        let rows = standing.rows();
        let keys = found.map(|place| (batch.scanned_key(place), place));
        let found = sorted(records, operation.row, keys)?;
        let mut found = found.into_iter().peekable();
        for row in records.columns().alike(operation.by, operation.row, rows) {
            let possible = standing.possible(row, &moment);
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
            Some((row, _)) => Err(wrong(row, NOT_ITS_VALUE)),
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
    let row = |(key, what): (&[u8], T)| Ok((row_of(records, of, key)?, what));
    let mut found = keys.map(row).collect::<Result<Vec<_>>>()?;
    found.sort_unstable_by_key(|(row, _)| *row);
    expect_once(found.iter().map(|(row, _)| *row))?;
    Ok(found)
}

fn row_of(records: &Records, of: u64, key: &[u8]) -> Result<u64> {
    let row = records.keys().row_of(key);
    row.ok_or_else(|| wrong(of, "a find of it returned a key that no record has"))
}

/// Checks that no number of a record comes twice; they ascend.
fn expect_once(rows: impl Iterator<Item = u64>) -> Result<()> {
    let mut last = None;
    for row in rows {
        if last.replace(row) == Some(row) {
            return Err(wrong(row, "a find returned it twice"));
        }
    }
    Ok(())
}

/// Compares what each index finds with the model, for up to [`VALUES_MOST`] values of a column.
/// Returns `compared`, the number of answers that were compared before, and those.
pub(super) fn look_by_columns(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    mut compared: u64,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let schema = records.schema();
    for position in schema.indexed() {
        let column = position - schema.key_columns().len();
        let distinct = records.columns().distinct(column).min(model.rows());
        let step = distinct.div_ceil(VALUES_MOST).max(1);
        for first in (0..distinct).step_by(step as usize) {
            look_by(connection, records, model, column, first)?;
            compared += 1;
            progress(compared);
        }
    }
    Ok(compared)
}

/// Compares what a find by the value of a record in a column returns with the model.
fn look_by(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    column: usize,
    of: u64,
) -> Result<()> {
    let schema = records.schema();
    let mut value = vec![0; records.columns().packed_bytes(column)];
    records.columns().write_packed(column, of, &mut value);
    let mut rows = Vec::new();
    let mut fault = None;
    let mut expected = Vec::new();
    let mut check = |record: &[u8]| {
        let (key, payload) = record.split_at(schema.key_size());
        let row = row_of(records, of, key)?;
        if !records.columns().are_alike(column, row, of) {
            return Err(wrong(row, NOT_ITS_VALUE));
        }
        rows.push(row);
        let possible = Possible::only(model.state(row));
        check_record(records, row, payload, possible, &mut expected)
    };
    connection.find_by(schema.key_columns().len() + column, &value, &mut |record| {
        if fault.is_none() {
            fault = check(record).err();
        }
    })?;
    if let Some(fault) = fault {
        return Err(fault);
    }
    rows.sort_unstable();
    expect_once(rows.iter().copied())?;
    let there = records.columns().alike(column, of, model.rows());
    let mut there = there.filter(|row| model.state(*row).is_there());
    match there.find(|row| rows.binary_search(row).is_err()) {
        None => Ok(()),
        Some(row) => Err(wrong(row, "a find misses it")),
    }
}
