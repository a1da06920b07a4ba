//! Comparing answers. Each is known in advance, since all operations on a key are done by one
//! thread in the order of the trace.

use std::ops::{Bound, Range};

use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{Connection, KeyKind, Outcome, Scan};
use xxhash_rust::xxh3::xxh3_64;

use super::batch::Batch;
use super::line::Act;
use super::records::Records;
use super::state::State;
use super::tape::{Keys, Resolved};

/// The records between two calls for progress, while all of them are looked at.
const TOLD_EVERY: u64 = 4096;

fn wrong(key: u64, what: &str) -> Error {
    Error::new(ErrorKind::WrongAnswer, format!("key {key:016x}: {what}"))
}

/// Returns the error of a temporary file.
pub(super) fn spooled(error: &std::io::Error) -> Error {
    Error::engine("read a temporary file of the trace", error)
}

/// Every key that a scan may find, with its state so far.
pub(super) struct Ordered {
    keys: Vec<u64>,
    states: Vec<State>,
}

impl Ordered {
    /// Returns the states of ascending keys, before all operations.
    pub(super) fn new(keys: Vec<u64>) -> Self {
        let states = vec![State::default(); keys.len()];
        Self { keys, states }
    }

    /// Notes the state of a key.
    pub(super) fn set(&mut self, key: u64, state: State) {
        if let Ok(at) = self.keys.binary_search(&key) {
            self.states[at] = state;
        }
    }

    /// Returns the records that are there from a key on.
    fn from(&self, key: u64) -> impl Iterator<Item = (u64, State)> + '_ {
        let first = self.keys.partition_point(|other| *other < key);
        let all = self.keys[first..].iter().copied().zip(self.states[first..].iter().copied());
        all.filter(|(_, state)| state.is_there())
    }
}

/// Compares answers with the known ones.
pub(super) struct Checker<'c> {
    pub(super) records: &'c Records,
    pub(super) deletes_are_silent: bool,
    /// The states by which scans are compared.
    pub(super) ordered: Option<Ordered>,
    /// Memory for values to compare with.
    expected: Vec<u8>,
}

impl<'c> Checker<'c> {
    pub(super) fn new(
        records: &'c Records,
        deletes_are_silent: bool,
        ordered: Option<Ordered>,
    ) -> Self {
        Self { records, deletes_are_silent, ordered, expected: Vec::new() }
    }

    /// Compares the results of a batch. Returns their number.
    pub(super) fn check(&mut self, batch: &Batch) -> Result<u64> {
        let mut scanned = 0;
        for (at, operation) in batch.operations.iter().enumerate() {
            let outcome = batch.outcomes[at];
            let expected = self.expected(operation);
            if outcome != expected {
                let act = operation.act.name();
                let what = format!("{act} returned {outcome:?}, not {expected:?}");
                return Err(wrong(operation.key, &what));
            }
            match operation.act {
                Act::Scan => {
                    let own = batch.scanned[scanned..].iter().take_while(|found| found.at == at);
                    let count = own.count();
                    self.check_scan(batch, operation, scanned..scanned + count)?;
                    scanned += count;
                }
                Act::Read | Act::ReadModifyWrite if outcome == Outcome::Done => {
                    let value = self.records.value_in(batch.answer(at));
                    self.check_value(operation.key, operation.before, value)?;
                }
                _ => {}
            }
            if let Some(ordered) = self.ordered.as_mut().filter(|_| operation.act.writes()) {
                ordered.set(operation.key, operation.after());
            }
        }
        Ok(batch.operations.len() as u64)
    }

    fn expected(&self, operation: &Resolved) -> Outcome {
        match operation.act {
            Act::Insert | Act::Upsert | Act::Scan => Outcome::Done,
            Act::Delete if self.deletes_are_silent => Outcome::Done,
            _ if operation.before.is_there() => Outcome::Done,
            _ => Outcome::Missing,
        }
    }

    /// Returns the value of a record.
    fn value(&mut self, key: u64, state: State) -> &[u8] {
        self.expected.resize(state.size as usize, 0);
        self.records.write_value(key, state, &mut self.expected);
        &self.expected
    }

    fn check_value(&mut self, key: u64, state: State, found: &[u8]) -> Result<()> {
        if self.value(key, state) == found {
            return Ok(());
        }
        let bytes = state.size;
        let version = state.version();
        let what = format!(
            "{} bytes were read that are not the {bytes} of version {version}",
            found.len()
        );
        Err(wrong(key, &what))
    }

    /// Compares what a scan found: the records that follow in the order of keys, each once.
    fn check_scan(
        &mut self,
        batch: &Batch,
        operation: &Resolved,
        found: Range<usize>,
    ) -> Result<()> {
        let Some(ordered) = &self.ordered else { return Ok(()) };
        let expected = ordered.from(operation.key).take(operation.size as usize);
        let expected: Vec<_> = expected.collect();
        for (nth, (key, state)) in expected.iter().enumerate() {
            let at = Some(found.start + nth).filter(|at| *at < found.end);
            let is = at.and_then(|at| self.records.key_of(batch.scanned_key(at)));
            match at {
                Some(at) if is == Some(*key) => {
                    if xxh3_64(self.value(*key, *state)) != batch.scanned[at].digest {
                        let version = state.version();
                        let what = format!("its value in a scan is not that of version {version}");
                        return Err(wrong(*key, &what));
                    }
                }
                _ => return Err(wrong(*key, "a scan did not find it, or not where it follows")),
            }
        }
        if found.len() > expected.len() {
            return Err(wrong(operation.key, "a scan from it found more records than are there"));
        }
        Ok(())
    }

    /// Compares the whole store with the states at the end. Returns the number of answers.
    pub(super) fn look_at_all(
        &mut self,
        connection: &mut dyn Connection,
        key_kind: KeyKind,
        end: &mut Keys,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        let all = Bound::Unbounded;
        let one = Scan { lower: all, upper: all, columns: &[0, 1], limit: 1 };
        let has_order = key_kind == KeyKind::Tree
            && match connection.scan(&one, &mut |_| ()) {
                Err(error) if error.kind() == ErrorKind::Unsupported => false,
                other => other.map(|_| true)?,
            };
        if has_order {
            self.scan_all(connection, end, progress)
        } else {
            self.get_all(connection, end, progress)
        }
    }

    /// Reads the store in the order of keys, next to the states at the end.
    fn scan_all(
        &mut self,
        connection: &mut dyn Connection,
        end: &mut Keys,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        let all = Bound::Unbounded;
        let scan = Scan { lower: all, upper: all, columns: &[0, 1], limit: u64::MAX };
        let mut count = 0;
        let mut fault = None;
        connection.scan(&scan, &mut |record| {
            if fault.is_some() {
                return;
            }
            let (key, payload) = record.split_at(self.records.schema().key_size());
            fault = self.follows(key, payload, end).err();
            count += 1;
            if count % TOLD_EVERY == 0 {
                progress(count);
            }
        })?;
        match (fault, live(end)?) {
            (Some(fault), _) => Err(fault),
            (None, Some((key, _))) => Err(wrong(key, "a scan of all records did not find it")),
            (None, None) => Ok(count),
        }
    }

    /// Checks that a record is the next one that is there.
    fn follows(&mut self, key: &[u8], payload: &[u8], end: &mut Keys) -> Result<()> {
        let found = self.records.key_of(key);
        let found = found.ok_or_else(|| wrong(0, "the store has a key that was never written"))?;
        match live(end)? {
            Some((key, state)) if key == found => {
                self.check_value(key, state, self.records.value_in(payload))
            }
            Some((key, _)) if key < found => {
                Err(wrong(key, "a scan of all records did not find it"))
            }
            _ => Err(wrong(found, "a scan of all records found it twice, or it is not there")),
        }
    }

    /// Looks every key up.
    fn get_all(
        &mut self,
        connection: &mut dyn Connection,
        end: &mut Keys,
        progress: &mut dyn FnMut(u64),
    ) -> Result<u64> {
        let mut key_area = vec![0; self.records.schema().key_size()];
        let mut payload = vec![0; self.records.schema().payload_size()];
        let mut count = 0;
        while let Some((key, state)) = end.next().map_err(|error| spooled(&error))? {
            self.records.write_key(key, &mut key_area);
            match connection.get(&key_area, &mut payload)? {
                Outcome::Done if state.is_there() => {
                    self.check_value(key, state, self.records.value_in(&payload))?;
                }
                Outcome::Done => return Err(wrong(key, "is there at the end, and must not be")),
                _ if state.is_there() => return Err(wrong(key, "is missing at the end")),
                _ => {}
            }
            count += 1;
            if count % TOLD_EVERY == 0 {
                progress(count);
            }
        }
        Ok(count)
    }
}

/// Returns the next record that is there.
fn live(end: &mut Keys) -> Result<Option<(u64, State)>> {
    loop {
        match end.next().map_err(|error| spooled(&error))? {
            Some((_, state)) if !state.is_there() => {}
            other => return Ok(other),
        }
    }
}
