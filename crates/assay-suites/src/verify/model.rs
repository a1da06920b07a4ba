//! The model that drivers are compared with: a `BTreeMap` from encoded keys to payloads.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Bound, Range};

use assay_core::random::mix;
use assay_core::tape::Records;
use assay_driver::error::{Error, ErrorKind, Result};
use assay_driver::schema::{Column, KeyOrder};
use assay_driver::{
    Change, Connection, DeleteRule, InsertRule, KeyKind, Outcome, Profile, Scan, Transactions,
};

use super::schemas::ShapedRecords;

/// The number of rows that random operations touch: few enough that they meet.
const ROWS: u64 = 2_000;

type Content = BTreeMap<Vec<u8>, Vec<u8>>;

/// The content that a store should have.
pub(super) struct Model<'m> {
    records: &'m ShapedRecords,
    profile: &'m Profile,
    lacks: &'m [Change],
    ordered: bool,
    order: KeyOrder,
    content: Content,
}

/// One random operation.
#[derive(Clone, Copy, Debug)]
enum Operation {
    Insert,
    Upsert,
    Get,
    Update,
    Delete,
    Scan,
    Find,
    Transaction,
}

impl Operation {
    fn drawn(number: u64) -> Self {
        match number % 100 {
            0..28 => Self::Insert,
            28..35 => Self::Upsert,
            35..60 => Self::Get,
            60..75 => Self::Update,
            75..93 => Self::Delete,
            93..95 => Self::Scan,
            95..97 => Self::Find,
            _ => Self::Transaction,
        }
    }
}

impl<'m> Model<'m> {
    pub(super) fn new(
        records: &'m ShapedRecords,
        profile: &'m Profile,
        lacks: &'m [Change],
        key_kind: KeyKind,
    ) -> Self {
        Self {
            records,
            profile,
            lacks,
            ordered: key_kind == KeyKind::Tree,
            order: KeyOrder::new(records.schema()),
            content: BTreeMap::new(),
        }
    }

    /// Takes the store's content of all rows into the model.
    pub(super) fn adopt(&mut self, connection: &mut dyn Connection) -> Result<()> {
        let mut payload = vec![0; self.records.schema().payload_size()];
        for row in 0..ROWS {
            let key = self.key(row);
            if connection.get(&key, &mut payload)? == Outcome::Done {
                self.content.insert(self.encoded(&key), payload.clone());
            }
        }
        Ok(())
    }

    /// Runs random operations on the store and the model.
    pub(super) fn operate(
        &mut self,
        connection: &mut dyn Connection,
        seed: u64,
        count: u64,
    ) -> Result<()> {
        for at in 0..count {
            let operation = Operation::drawn(mix(seed, at * 2));
            self.step(connection, operation, mix(seed, at * 2 + 1)).map_err(|error| {
                Error::new(error.kind(), format!("operation {at} ({operation:?}): {error}"))
            })?;
        }
        Ok(())
    }

    fn step(
        &mut self,
        connection: &mut dyn Connection,
        operation: Operation,
        number: u64,
    ) -> Result<()> {
        match operation {
            Operation::Scan if !self.ordered => Ok(()),
            Operation::Scan => self.scan_from(connection, number % ROWS),
            Operation::Find => self.find_alike(connection, number),
            Operation::Transaction if self.profile.transactions == Transactions::None => Ok(()),
            Operation::Transaction => self.transaction(connection, number),
            single => self.single(connection, single, number),
        }
    }

    /// Makes several writes that are kept or dropped together.
    fn transaction(&mut self, connection: &mut dyn Connection, number: u64) -> Result<()> {
        let before = self.content.clone();
        let full = self.profile.transactions == Transactions::Full;
        connection.begin()?;
        for at in 0..number % 8 {
            let operation = match mix(number, at * 2) % 5 {
                0 | 1 => Operation::Insert,
                2 if full => Operation::Update,
                3 if full => Operation::Find,
                _ => Operation::Delete,
            };
            let number = mix(number, at * 2 + 1);
            match operation {
                Operation::Find => self.find_alike(connection, number)?,
                other => self.single(connection, other, number)?,
            }
        }
        if !number.is_multiple_of(3) {
            return connection.commit();
        }
        match connection.rollback() {
            Ok(()) => {
                self.content = before;
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => connection.commit(),
            Err(error) => Err(error),
        }
    }

    fn single(
        &mut self,
        connection: &mut dyn Connection,
        operation: Operation,
        number: u64,
    ) -> Result<()> {
        let schema = self.records.schema();
        let row = number % ROWS;
        let version = (number >> 32) as u32 % 8;
        let key = self.key(row);
        let encoded = self.encoded(&key);
        let there = self.content.contains_key(&encoded);
        let batched = self.profile.transactions == Transactions::Batches;
        let found = |there: bool| if there { Outcome::Done } else { Outcome::Missing };
        let (got, expected) = match operation {
            Operation::Insert => {
                let record = self.records.record(row, version);
                let payload = record[schema.key_size()..].to_vec();
                let expected = match (there, self.profile.insert_rule) {
                    (true, InsertRule::Refuses) => Outcome::Duplicate,
                    _ => {
                        self.content.insert(encoded, payload);
                        Outcome::Done
                    }
                };
                (connection.insert(&record)?, expected)
            }
            Operation::Upsert => {
                let record = self.records.record(row, version);
                if let Err(error) = connection.upsert(&record) {
                    return match error.kind() {
                        ErrorKind::Unsupported => Ok(()),
                        _ => Err(error),
                    };
                }
                self.content.insert(encoded, record[schema.key_size()..].to_vec());
                return Ok(());
            }
            Operation::Update if self.lacks.contains(&Change::Update) => return Ok(()),
            Operation::Delete if self.lacks.contains(&Change::Delete) => return Ok(()),
            Operation::Update => {
                let columns = schema.payload_columns();
                let at = (number >> 40) as usize % columns.len();
                let column = &columns[at];
                let record = self.records.record(row, version);
                let value = column.slice(&record);
                if let Some(payload) = self.content.get_mut(&encoded) {
                    let from = column.offset - schema.key_size();
                    payload[from..from + value.len()].copy_from_slice(value);
                }
                let position = schema.key_columns().len() + at;
                (connection.update(&key, position, value)?, found(there))
            }
            Operation::Delete => {
                self.content.remove(&encoded);
                let got = connection.delete(&key)?;
                // Inside a batch, the existing rows cannot be known.
                let silent = self.profile.delete_rule == DeleteRule::Silent;
                let unknown = batched && got == Outcome::Done;
                (got, if silent || unknown { Outcome::Done } else { found(there) })
            }
            _ => {
                self.compare_row(connection, row)?;
                return Ok(());
            }
        };
        if got == expected {
            Ok(())
        } else {
            Err(wrong(format!("row {row}: expected {expected:?}, got {got:?}")))
        }
    }

    /// Compares every row.
    pub(super) fn compare(&self, connection: &mut dyn Connection) -> Result<()> {
        (0..ROWS).try_for_each(|row| self.compare_row(connection, row))?;
        self.compare_finds(connection)?;
        if self.ordered { self.compare_scans(connection) } else { Ok(()) }
    }

    /// Compares the lookups of all values of columns with an index.
    fn compare_finds(&self, connection: &mut dyn Connection) -> Result<()> {
        let schema = self.records.schema();
        for &at in schema.indexed() {
            let column = &schema.columns()[at];
            let range = self.payload_range(column);
            let values = self.content.values().map(|payload| &payload[range.clone()]);
            let values: BTreeSet<_> = values.collect();
            for value in values {
                self.compare_find(connection, at, value)?;
            }
        }
        Ok(())
    }

    /// Compares the lookup of the value that a record would have, whether or not it is there.
    fn find_alike(&self, connection: &mut dyn Connection, number: u64) -> Result<()> {
        let schema = self.records.schema();
        let indexed = schema.indexed();
        let Some(nth) = (number >> 40).checked_rem(indexed.len() as u64) else { return Ok(()) };
        let at = indexed[nth as usize];
        let record = self.records.record(number % ROWS, (number >> 32) as u32 % 8);
        self.compare_find(connection, at, schema.columns()[at].slice(&record))
    }

    fn compare_find(&self, connection: &mut dyn Connection, at: usize, value: &[u8]) -> Result<()> {
        let schema = self.records.schema();
        let column = &schema.columns()[at];
        let mut found = Content::new();
        let mut rows = 0_u64;
        let count = connection.find_by(at, value, &mut |record| {
            let (key, payload) = record.split_at(schema.key_size());
            found.insert(self.encoded(key), payload.to_vec());
            rows += 1;
        })?;
        let range = self.payload_range(column);
        let expected = self.content.iter().filter(|(_, payload)| payload[range.clone()] == *value);
        let expected: Vec<_> = expected.collect();
        let name = column.name;
        if (count, rows) != (expected.len() as u64, expected.len() as u64) {
            let expected = expected.len();
            return Err(wrong(format!(
                "find by {name}: it says {count} records and gave {rows}, expected {expected}"
            )));
        }
        for (key, expected) in expected {
            let difference = match found.get(key) {
                None => Some("a record is missing".into()),
                Some(payload) => schema.first_difference(expected, payload),
            };
            if let Some(difference) = difference {
                return Err(wrong(format!("find by {name}: {difference}")));
            }
        }
        Ok(())
    }

    fn payload_range(&self, column: &Column) -> Range<usize> {
        let from = column.offset - self.records.schema().key_size();
        from..from + column.kind.size_bytes()
    }

    fn compare_row(&self, connection: &mut dyn Connection, row: u64) -> Result<()> {
        let key = self.key(row);
        let mut payload = vec![0; self.records.schema().payload_size()];
        let got = connection.get(&key, &mut payload)?;
        match (got, self.content.get(&self.encoded(&key))) {
            (Outcome::Missing, None) => Ok(()),
            (Outcome::Done, Some(expected)) => {
                match self.records.schema().first_difference(expected, &payload) {
                    None => Ok(()),
                    Some(difference) => Err(wrong(format!("row {row}: {difference}"))),
                }
            }
            (got, expected) => {
                let expected = if expected.is_some() { "it there" } else { "it missing" };
                Err(wrong(format!("get of row {row}: expected {expected}, got {got:?}")))
            }
        }
    }

    /// Compares scans of everything and of parts, with all kinds of bounds.
    pub(super) fn compare_scans(&self, connection: &mut dyn Connection) -> Result<()> {
        let all: Vec<_> = (0..self.records.schema().columns().len()).collect();
        let keys: Vec<_> = self.content.keys().cloned().collect();
        let whole = (Bound::Unbounded, Bound::Unbounded);
        self.compare_scan(connection, whole, &all, u64::MAX)?;
        let (Some(low), Some(high)) = (keys.get(keys.len() / 4), keys.get(keys.len() * 3 / 4))
        else {
            return Ok(());
        };
        let last = &all[all.len() - 1..];
        for (bounds, columns, limit) in [
            ((Bound::Included(low), Bound::Excluded(high)), &all[..], u64::MAX),
            ((Bound::Excluded(low), Bound::Included(high)), last, u64::MAX),
            ((Bound::Unbounded, Bound::Excluded(low)), &all[..], 5),
        ] {
            self.compare_scan(connection, bounds, columns, limit)?;
        }
        Ok(())
    }

    fn scan_from(&self, connection: &mut dyn Connection, row: u64) -> Result<()> {
        let from = self.encoded(&self.key(row));
        let all: Vec<_> = (0..self.records.schema().columns().len()).collect();
        self.compare_scan(connection, (Bound::Included(&from), Bound::Unbounded), &all, 20)
    }

    fn compare_scan(
        &self,
        connection: &mut dyn Connection,
        bounds: (Bound<&Vec<u8>>, Bound<&Vec<u8>>),
        columns: &[usize],
        limit: u64,
    ) -> Result<()> {
        let schema = self.records.schema();
        let decode = |encoded: &Vec<u8>| {
            let mut key = vec![0; schema.key_size()];
            self.order.decode(encoded, &mut key);
            key
        };
        let lower = bounds.0.map(decode);
        let upper = bounds.1.map(decode);
        let limit_rows = usize::try_from(limit).unwrap_or(usize::MAX);
        let mut expected = self.content.range::<Vec<u8>, _>(bounds).take(limit_rows);
        let mut difference = None;
        let mut rows = 0u64;
        let count = connection.scan(
            &Scan {
                lower: lower.as_ref().map(Vec::as_slice),
                upper: upper.as_ref().map(Vec::as_slice),
                columns,
                limit,
            },
            &mut |record| {
                let expected = expected.next().map(|(key, payload)| {
                    let mut record = decode(key);
                    record.extend(payload);
                    record
                });
                let same = expected.as_ref().is_some_and(|expected| {
                    columns.iter().all(|&at| {
                        let column = &schema.columns()[at];
                        column.value(expected) == column.value(record)
                    })
                });
                if !same && difference.is_none() {
                    difference = Some(format!(
                        "scan: record {rows} is {:?}, expected {:?}",
                        schema.columns()[columns[0]].value(record),
                        expected.as_ref().map(|r| schema.columns()[columns[0]].value(r))
                    ));
                }
                rows += 1;
            },
        )?;
        let left = expected.count();
        match difference {
            Some(difference) => Err(wrong(difference)),
            None if left > 0 => Err(wrong(format!("scan: {left} records are missing at its end"))),
            None if count != rows => {
                Err(wrong(format!("scan: it says {count} records and gave {rows}")))
            }
            None => Ok(()),
        }
    }

    fn key(&self, row: u64) -> Vec<u8> {
        let mut key = vec![0; self.records.schema().key_size()];
        self.records.key(row, &mut key);
        key
    }

    fn encoded(&self, key: &[u8]) -> Vec<u8> {
        let mut encoded = vec![0; self.order.size()];
        self.order.encode(key, &mut encoded);
        encoded
    }
}

fn wrong(message: String) -> Error {
    Error::new(ErrorKind::WrongAnswer, message)
}
