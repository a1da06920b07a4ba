//! Comparing answers with those that are possible.

use std::ops::Bound;

use assay_core::tape::Records as _;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, KeyKind, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

use super::batch::Batch;
use super::client::Client;
use super::clients::read;
use super::finding::look_by_columns;
use super::history::{Moment, Possible};
use super::model::{Model, State};
use super::records::Records;
use super::spec::Kind;
use super::tape::Operation;
use crate::batch::Scanned;

/// The records between two calls for progress, while all of them are looked at.
const TOLD_EVERY: u64 = 4096;

/// The fault of a record whose columns are not its own.
const OTHER_COLUMNS: &str = "its columns are not those that were written";

pub(super) fn wrong(row: u64, what: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("record {row}: {what}"))
}

impl Client<'_> {
    /// Compares every result of a batch with the possible ones.
    pub(super) fn check(&mut self, batch: &Batch) -> Result<()> {
        let mut scanned = 0;
        for (at, operation) in batch.operations.iter().enumerate() {
            let outcome = batch.outcomes[at];
            match operation.kind {
                Kind::Scan | Kind::Find => {
                    let own = batch.scanned[scanned..].iter().take_while(|found| found.at == at);
                    let found = scanned..scanned + own.count();
                    scanned = found.end;
                    match operation.kind {
                        Kind::Scan => self.check_scan(batch, at, found)?,
                        _ => self.check_find(batch, at, found)?,
                    }
                }
                Kind::Read | Kind::ReadModifyWrite | Kind::Increment => {
                    self.check_read(batch, at)?;
                }
                _ => {
                    let expected = self.expected(operation);
                    if outcome != expected {
                        let kind = operation.kind.name();
                        let what = format!("{kind} returned {outcome:?}, not {expected:?}");
                        return Err(wrong(operation.row, &what));
                    }
                }
            }
            self.timed.checked += 1;
        }
        Ok(())
    }

    /// Returns the outcome of an operation that reads no value.
    fn expected(&self, operation: &Operation) -> Outcome {
        let is_there = operation.before.is_some_and(State::is_there);
        match operation.kind {
            Kind::Insert | Kind::Upsert => Outcome::Done,
            Kind::Delete if self.clients.deletes_are_silent => Outcome::Done,
            _ if is_there => Outcome::Done,
            _ => Outcome::Missing,
        }
    }

    pub(super) fn moment(&self, batch: &Batch, at: usize) -> Moment {
        let (begin_ns, end_ns) = self.times(batch, at, false);
        Moment { thread: self.thread, at, begin_ns, end_ns }
    }

    fn check_read(&mut self, batch: &Batch, at: usize) -> Result<()> {
        let row = batch.operations[at].row;
        let outcome = batch.outcomes[at];
        let clients = self.clients;
        let owner = (row % clients.lanes.len() as u64) as usize;
        let lane = read(&clients.lanes[owner]);
        let log = read(&clients.logs[owner]);
        let possible = match batch.operations[at].before {
            Some(state) => Possible::only(state),
            None => Possible::of(row, owner, &lane, &log, &self.moment(batch, at)),
        };
        match outcome {
            Outcome::Done => {
                let payload = batch.answer(at);
                check_record(clients.records, row, payload, possible, &mut self.expected)
            }
            Outcome::Missing if possible.may_be_absent() => Ok(()),
            other => {
                let kind = batch.operations[at].kind.name();
                let expected = possible.in_words();
                Err(wrong(row, &format!("{kind} returned {other:?}; expected {expected}")))
            }
        }
    }

    /// Checks a scan: it returns the records that follow in the order of keys, none twice, each as
    /// it was at some moment during the scan; none is missing that was there throughout, and none
    /// is found that was absent throughout.
    fn check_scan(
        &mut self,
        batch: &Batch,
        at: usize,
        found: std::ops::Range<usize>,
    ) -> Result<()> {
        let clients = self.clients;
        let records = clients.records;
        let operation = batch.operations[at];
        let moment = self.moment(batch, at);
        let standing = clients.standing();
        let rows = standing.rows();
        let mut at = Some(operation.row);
        let mut next = found.start;
        let mut count = 0;
        while count < operation.wanted {
            let Some(row) = at else { break };
            at = records.keys().after(row, rows);
            let possible = standing.possible(row, &moment);
            let is_it =
                next < found.end && records.keys().row_of(batch.scanned_key(next)) == Some(row);
            if is_it {
                let what = &batch.scanned[next];
                check_found(records, row, what, possible, &mut self.expected)?;
                next += 1;
                count += 1;
            } else if !possible.may_be_absent() {
                let expected = possible.in_words();
                return Err(wrong(row, &format!("a scan did not find it; expected {expected}")));
            }
        }
        if next < found.end {
            let what = "a scan from it found records twice, out of order or too many";
            Err(wrong(operation.row, what))
        } else {
            Ok(())
        }
    }
}

/// Checks the version that a value says it is of.
fn check_version(records: &Records, row: u64, value: &[u8], possible: Possible<'_>) -> Result<u32> {
    let version = records
        .version_of(row, value)
        .ok_or_else(|| wrong(row, "its value is none that was written to it"))?;
    if possible.allows(version) {
        Ok(version)
    } else {
        let expected = possible.in_words();
        Err(wrong(row, &format!("its value is of version {version}; expected {expected}")))
    }
}

/// Writes the value of a version into memory to compare with.
fn write_expected(records: &Records, row: u64, version: u32, expected: &mut Vec<u8>) {
    expected.resize(records.value_bytes(row, version), 0);
    records.write_value(row, version, expected);
}

/// Checks a record's columns and value.
pub(super) fn check_record(
    records: &Records,
    row: u64,
    payload: &[u8],
    possible: Possible<'_>,
    expected: &mut Vec<u8>,
) -> Result<()> {
    if !records.columns().are_in(row, payload) {
        return Err(wrong(row, OTHER_COLUMNS));
    }
    let value = records.value_in(payload);
    let version = check_version(records, row, value, possible)?;
    write_expected(records, row, version, expected);
    if value == expected {
        Ok(())
    } else {
        Err(wrong(row, &format!("its value is not that of version {version}")))
    }
}

/// Checks a record that a scan or a find returned, by its digests.
pub(super) fn check_found(
    records: &Records,
    row: u64,
    found: &Scanned,
    possible: Possible<'_>,
    expected: &mut Vec<u8>,
) -> Result<()> {
    let columns = records.columns();
    if found.columns != columns.digest_of(row, found.selected) {
        return Err(wrong(row, OTHER_COLUMNS));
    }
    if !found.selected.has(columns.value_place()) {
        return if possible.may_be_there() {
            Ok(())
        } else {
            Err(wrong(row, "a scan found it; expected absent"))
        };
    }
    let version = check_version(records, row, &found.stamp.unwrap_or_default(), possible)?;
    write_expected(records, row, version, expected);
    if found.digest == xxh3_64(expected) {
        Ok(())
    } else {
        Err(wrong(row, &format!("its value is not that of version {version}")))
    }
}

/// Reads the first record that is there.
pub(super) fn first_answer(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
) -> Result<()> {
    let Some(row) = model.first_live() else { return Ok(()) };
    let mut key = vec![0; records.schema().key_size()];
    let mut payload = vec![0; records.schema().payload_size()];
    records.keys().write(row, &mut key);
    match connection.get(&key, &mut payload)? {
        Outcome::Done => {
            let possible = Possible::only(model.state(row));
            check_record(records, row, &payload, possible, &mut Vec::new())
        }
        _ => Err(wrong(row, "is missing after the store was opened again")),
    }
}

/// Reads a record that is there unless a killed process lost it: it has no newer version than this
/// state, and that one whole. Returns the version; `None` if the record is missing.
pub(super) fn plausible_answer(
    connection: &mut dyn Connection,
    records: &Records,
    row: u64,
    newest: State,
) -> Result<Option<u32>> {
    let mut key = vec![0; records.schema().key_size()];
    let mut payload = vec![0; records.schema().payload_size()];
    records.keys().write(row, &mut key);
    match connection.get(&key, &mut payload)? {
        Outcome::Done => {
            plausible_version(records, row, &payload, newest, &mut Vec::new()).map(Some)
        }
        _ => Ok(None),
    }
}

/// Returns the version of a value that some write up to this state wrote.
fn plausible_version(
    records: &Records,
    row: u64,
    payload: &[u8],
    newest: State,
    expected: &mut Vec<u8>,
) -> Result<u32> {
    let version = records
        .version_of(row, records.value_in(payload))
        .filter(|version| *version <= newest.version());
    let version = version.ok_or_else(|| wrong(row, "its value is none that was written to it"))?;
    let state = State::new(version, true);
    check_record(records, row, payload, Possible::only(state), expected)?;
    Ok(version)
}

/// Returns the version that the store has of each record; none of one that is absent. Each is one
/// that was written, up to the newest.
pub(super) fn found_versions(
    connection: &mut dyn Connection,
    records: &Records,
    newest: &Model,
    key_kind: KeyKind,
) -> Result<Vec<Option<u32>>> {
    let mut found = vec![None; newest.rows() as usize];
    let mut fault = None;
    let mut last = None;
    let mut expected = Vec::new();
    let all = Bound::Unbounded;
    let columns = records.schema().positions();
    let scan = Scan { lower: all, upper: all, columns, limit: u64::MAX };
    let mut note = |record: &[u8]| {
        let (key, payload) = record.split_at(records.schema().key_size());
        let row = records.keys().row_of(key).filter(|row| *row < newest.rows());
        let row = row.ok_or_else(|| wrong(0, "the store has a key that was never written"))?;
        let rank = Some(records.keys().rank(row));
        if std::mem::replace(&mut last, rank) >= rank {
            return Err(wrong(row, "a scan of all records found it twice or out of order"));
        }
        let state = newest.state(row);
        found[row as usize] = Some(plausible_version(records, row, payload, state, &mut expected)?);
        Ok(())
    };
    let scanned = match key_kind {
        KeyKind::Tree => connection.scan(&scan, &mut |record| {
            if fault.is_none() {
                fault = note(record).err();
            }
        }),
        KeyKind::Hash => Err(Error::unsupported("ordered scans")),
    };
    match (scanned, fault) {
        (_, Some(fault)) => Err(fault),
        (Err(error), _) if error.kind() == ErrorKind::Unsupported => {
            get_versions(connection, records, newest)
        }
        (scanned, _) => scanned.map(|_| found),
    }
}

fn get_versions(
    connection: &mut dyn Connection,
    records: &Records,
    newest: &Model,
) -> Result<Vec<Option<u32>>> {
    let mut key = vec![0; records.schema().key_size()];
    let mut payload = vec![0; records.schema().payload_size()];
    let mut expected = Vec::new();
    let version = |row| {
        records.keys().write(row, &mut key);
        if connection.get(&key, &mut payload)? != Outcome::Done {
            return Ok(None);
        }
        plausible_version(records, row, &payload, newest.state(row), &mut expected).map(Some)
    };
    (0..newest.rows()).map(version).collect()
}

/// The ways in which all records of a store can be read.
#[derive(Clone, Copy)]
pub(super) struct Ways {
    pub(super) key_kind: KeyKind,
    /// True if the engine keeps the secondary indexes that the workload asks for.
    pub(super) has_indexes: bool,
}

/// Compares the whole store with the model, its indexes too. Returns the number of answers that
/// were compared.
pub(super) fn look_at_all(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    ways: Ways,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let found = match ways.key_kind {
        KeyKind::Tree => scan_all(connection, records, model, progress),
        KeyKind::Hash => Err(Error::unsupported("ordered scans")),
    };
    let compared = match found {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            get_all(connection, records, model, progress)?
        }
        other => other?,
    };
    if !ways.has_indexes {
        return Ok(compared);
    }
    look_by_columns(connection, records, model, compared, progress)
}

/// Reads the store in the order of keys: each record found is one that is there, no key comes
/// twice, and there are as many as are there.
fn scan_all(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let lower = Bound::Unbounded;
    let upper = Bound::Unbounded;
    let columns = records.schema().positions();
    let scan = Scan { lower, upper, columns, limit: u64::MAX };
    let mut count = 0;
    let mut fault = None;
    let mut last = None;
    let mut expected = Vec::new();
    connection.scan(&scan, &mut |record| {
        if fault.is_some() {
            return;
        }
        let (key, payload) = record.split_at(records.schema().key_size());
        let checked = match records.keys().row_of(key) {
            None => Err(wrong(count, "the store has a key that was never written")),
            Some(row) if last >= Some(records.keys().rank(row)) => {
                Err(wrong(row, "a scan of all records found it twice or out of order"))
            }
            Some(row) => {
                last = Some(records.keys().rank(row));
                let possible = Possible::only(model.state(row));
                check_record(records, row, payload, possible, &mut expected)
            }
        };
        fault = checked.err();
        count += 1;
        if count % TOLD_EVERY == 0 {
            progress(count);
        }
    })?;
    match (fault, model.live()) {
        (Some(fault), _) => Err(fault),
        (None, live) if live == count => Ok(count),
        (None, live) => {
            let what = format!("a scan found {count} records, and {live} are there");
            Err(Error::new(ErrorKind::WrongAnswer, what))
        }
    }
}

/// Looks every record up that is or was there.
fn get_all(
    connection: &mut dyn Connection,
    records: &Records,
    model: &Model,
    progress: &mut dyn FnMut(u64),
) -> Result<u64> {
    let mut key = vec![0; records.schema().key_size()];
    let mut payload = vec![0; records.schema().payload_size()];
    let mut expected = Vec::new();
    for row in 0..model.rows() {
        records.keys().write(row, &mut key);
        let state = model.state(row);
        match connection.get(&key, &mut payload)? {
            Outcome::Done => {
                check_record(records, row, &payload, Possible::only(state), &mut expected)?;
            }
            _ if state.is_there() => return Err(wrong(row, "is missing after the phase")),
            _ => {}
        }
        if row % TOLD_EVERY == 0 {
            progress(row);
        }
    }
    Ok(model.rows())
}
