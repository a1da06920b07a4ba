//! The subject of the checks, and their actions: open its store, write and read rows, compare.

use std::collections::BTreeMap;
use std::path::PathBuf;

use assay_core::tape::Records;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::{
    Change, Connection, DeleteRule, Driver, Endpoint, OpenSpec, Outcome, Profile, Storage, Store,
};

use super::model::Model;
use super::schemas::ShapedRecords;
use super::{Job, RANDOM_OPERATIONS, SIGNATURE};

/// An engine, and the records with which it is tried.
pub(super) struct Subject<'s> {
    pub(super) job: &'s Job,
    pub(super) driver: &'s dyn Driver,
    pub(super) profile: &'s Profile,
    pub(super) records: &'s ShapedRecords,
    pub(super) dir: PathBuf,
}

impl Subject<'_> {
    pub(super) fn has(&self, change: Change) -> bool {
        !self.driver.lacks().contains(&change)
    }

    /// Checks that the engine has a change; a check that needs it is skipped otherwise.
    pub(super) fn needs(&self, change: Change) -> Result<()> {
        if self.has(change) { Ok(()) } else { Err(Error::unsupported(change.to_string())) }
    }

    pub(super) fn model(&self) -> Model<'_> {
        Model::new(self.records, self.profile, self.driver.lacks(), self.job.key_kind)
    }

    pub(super) fn open(&self, create: bool, threads: u32) -> Result<Box<dyn Store>> {
        if self.job.storage != Storage::Memory {
            std::fs::create_dir_all(&self.job.dir)
                .and_then(|()| std::fs::write(self.job.dir.join(SIGNATURE), ""))
                .and_then(|()| std::fs::create_dir_all(&self.dir))
                .map_err(|e| Error::engine("create", e))?;
        }
        let spec = OpenSpec {
            endpoint: Endpoint::Directory(self.dir.clone()),
            create,
            storage: self.job.storage,
            durability: self.job.durability,
            key_kind: self.job.key_kind,
            schema: self.records.schema().clone(),
            expected_rows: RANDOM_OPERATIONS,
            threads,
            cache_bytes: None,
            volumes: None,
            parameters: BTreeMap::new(),
        };
        self.driver.open(&spec.with(self.job.parameters.clone()))
    }

    pub(super) fn key(&self, row: u64) -> Vec<u8> {
        let mut key = vec![0; self.records.schema().key_size()];
        self.records.key(row, &mut key);
        key
    }

    pub(super) fn record(&self, row: u64, version: u32) -> Vec<u8> {
        self.records.record(row, version)
    }

    /// Returns the last column with its value in another version.
    pub(super) fn change(&self, row: u64, version: u32) -> (usize, Vec<u8>) {
        let at = self.records.schema().columns().len() - 1;
        let record = self.record(row, version);
        (at, self.records.schema().columns()[at].slice(&record).to_vec())
    }

    pub(super) fn get(
        &self,
        connection: &mut dyn Connection,
        row: u64,
    ) -> Result<(Outcome, Vec<u8>)> {
        let mut payload = vec![0; self.records.schema().payload_size()];
        let outcome = connection.get(&self.key(row), &mut payload)?;
        Ok((outcome, payload))
    }

    pub(super) fn delete_of_missing(&self) -> Outcome {
        match self.profile.delete_rule {
            DeleteRule::Reports => Outcome::Missing,
            DeleteRule::Silent => Outcome::Done,
        }
    }

    pub(super) fn expect(
        &self,
        what: &str,
        row: u64,
        got: Outcome,
        expected: Outcome,
    ) -> Result<()> {
        if got == expected {
            Ok(())
        } else {
            Err(wrong(format!("{what} of row {row}: expected {expected:?}, got {got:?}")))
        }
    }

    pub(super) fn expect_version(
        &self,
        connection: &mut dyn Connection,
        row: u64,
        version: u32,
    ) -> Result<()> {
        let record = self.record(row, version);
        self.expect_payload(connection, row, &record[self.records.schema().key_size()..])
    }

    pub(super) fn expect_payload(
        &self,
        connection: &mut dyn Connection,
        row: u64,
        expected: &[u8],
    ) -> Result<()> {
        let (outcome, payload) = self.get(connection, row)?;
        self.expect("get", row, outcome, Outcome::Done)?;
        self.same_payload(row, expected, &payload)
    }

    pub(super) fn same_payload(&self, row: u64, expected: &[u8], got: &[u8]) -> Result<()> {
        match self.records.schema().first_difference(expected, got) {
            None => Ok(()),
            Some(difference) => Err(wrong(format!("row {row}: {difference}"))),
        }
    }
}

pub(super) fn wrong(message: String) -> Error {
    Error::new(ErrorKind::WrongAnswer, message)
}
