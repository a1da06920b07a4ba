//! The checks of the basic operations, and of several connections at once.

use assay_core::crew;
use assay_core::tape::Records;
use assay_driver::error::{Error, Result};
use assay_driver::{
    Change, Concurrency, Connection, InsertRule, KeyKind, Outcome, Scan, Transactions,
};

use super::subject::{Subject, wrong};

/// The number of connections at once, among which rows are divided.
const THREADS: u32 = 4;
const ROWS: u64 = 400;

pub(super) type Case = (&'static str, fn(&Subject<'_>, &mut dyn Connection) -> Result<()>);

/// The cases of each subject; each has a separate range of rows.
pub(super) const CASES: &[Case] = &[
    ("insert and get", |s, c| s.insert_and_get(c)),
    ("missing key", |s, c| s.missing_key(c)),
    ("duplicate key", |s, c| s.duplicate_key(c)),
    ("upsert", |s, c| s.upsert(c)),
    ("update", |s, c| s.update(c)),
    ("delete", |s, c| s.delete(c)),
    ("lookup of several keys", |s, c| s.get_many(c)),
    ("transaction commit", |s, c| s.commit(c)),
    ("transaction rollback", |s, c| s.rollback(c)),
    ("ordered scan", |s, c| s.scan(c)),
];

/// The cases that any engine must pass, unless it declares not to have the change.
pub(super) const NEEDED: [(&str, Option<Change>); 3] =
    [("insert and get", None), ("update", Some(Change::Update)), ("delete", Some(Change::Delete))];

impl Subject<'_> {
    fn insert_and_get(&self, connection: &mut dyn Connection) -> Result<()> {
        for row in 0..10 {
            self.expect("insert", row, connection.insert(&self.record(row, 0))?, Outcome::Done)?;
        }
        (0..10).try_for_each(|row| self.expect_version(connection, row, 0))
    }

    fn missing_key(&self, connection: &mut dyn Connection) -> Result<()> {
        let row = 100;
        let missing = Outcome::Missing;
        self.expect("get", row, self.get(connection, row)?.0, missing)?;
        if self.has(Change::Update) {
            let (column, value) = self.change(row, 1);
            let outcome = connection.update(&self.key(row), column, &value)?;
            self.expect("update", row, outcome, missing)?;
        }
        if self.has(Change::Delete) {
            let outcome = connection.delete(&self.key(row))?;
            self.expect("delete", row, outcome, self.delete_of_missing())?;
        }
        self.expect("get after the changes", row, self.get(connection, row)?.0, missing)
    }

    fn duplicate_key(&self, connection: &mut dyn Connection) -> Result<()> {
        let row = 200;
        self.expect("insert", row, connection.insert(&self.record(row, 0))?, Outcome::Done)?;
        let again = connection.insert(&self.record(row, 1))?;
        match self.profile.insert_rule {
            InsertRule::Refuses => {
                self.expect("second insert", row, again, Outcome::Duplicate)?;
                self.expect_version(connection, row, 0)
            }
            InsertRule::Replaces => {
                self.expect("second insert", row, again, Outcome::Done)?;
                self.expect_version(connection, row, 1)
            }
        }
    }

    fn upsert(&self, connection: &mut dyn Connection) -> Result<()> {
        connection.upsert(&self.record(250, 0))?;
        self.expect_version(connection, 250, 0)?;
        connection.upsert(&self.record(250, 1))?;
        self.expect_version(connection, 250, 1)?;
        connection.insert(&self.record(251, 0))?;
        connection.upsert(&self.record(251, 1))?;
        self.expect_version(connection, 251, 1)
    }

    fn update(&self, connection: &mut dyn Connection) -> Result<()> {
        self.needs(Change::Update)?;
        let row = 300;
        connection.insert(&self.record(row, 0))?;
        let schema = self.records.schema();
        let mut expected = self.record(row, 0);
        let changed = self.record(row, 1);
        for at in schema.key_columns().len()..schema.columns().len() {
            let column = &schema.columns()[at];
            let value = column.slice(&changed).to_vec();
            let outcome = connection.update(&self.key(row), at, &value)?;
            self.expect(&format!("update of {}", column.name), row, outcome, Outcome::Done)?;
            column.slice_mut(&mut expected).copy_from_slice(&value);
            self.expect_payload(connection, row, &expected[schema.key_size()..])?;
        }
        Ok(())
    }

    fn delete(&self, connection: &mut dyn Connection) -> Result<()> {
        self.needs(Change::Delete)?;
        let row = 400;
        connection.insert(&self.record(row, 0))?;
        connection.insert(&self.record(row + 1, 0))?;
        let outcome = connection.delete(&self.key(row))?;
        self.expect("delete", row, outcome, Outcome::Done)?;
        self.expect("get", row, self.get(connection, row)?.0, Outcome::Missing)?;
        let again = connection.delete(&self.key(row))?;
        self.expect("second delete", row, again, self.delete_of_missing())?;
        self.expect_version(connection, row + 1, 0)?;
        self.expect("insert", row, connection.insert(&self.record(row, 1))?, Outcome::Done)?;
        self.expect_version(connection, row, 1)
    }

    fn get_many(&self, connection: &mut dyn Connection) -> Result<()> {
        let schema = self.records.schema();
        let rows = 500..520;
        let mut keys = Vec::new();
        for row in rows.clone() {
            keys.extend(self.key(row));
            if row % 2 == 0 {
                connection.insert(&self.record(row, 0))?;
            }
        }
        let count = keys.len() / schema.key_size();
        let mut payloads = vec![0; schema.payload_size() * count];
        let mut outcomes = vec![Outcome::Duplicate; count];
        connection.get_many(&keys, &mut payloads, &mut outcomes)?;
        let answers = payloads.chunks_exact(schema.payload_size());
        for ((row, outcome), payload) in rows.zip(outcomes).zip(answers) {
            let there = if row % 2 == 0 { Outcome::Done } else { Outcome::Missing };
            self.expect("lookup", row, outcome, there)?;
            if there == Outcome::Done {
                self.same_payload(row, &self.record(row, 0)[schema.key_size()..], payload)?;
            }
        }
        Ok(())
    }

    fn commit(&self, connection: &mut dyn Connection) -> Result<()> {
        if self.profile.transactions == Transactions::None {
            return Err(Error::unsupported("transactions"));
        }
        let rows = 600..610;
        connection.insert(&self.record(610, 0))?;
        connection.begin()?;
        for row in rows.clone() {
            self.expect("insert", row, connection.insert(&self.record(row, 0))?, Outcome::Done)?;
        }
        let deleted = if self.has(Change::Delete) {
            connection.delete(&self.key(610))?;
            Outcome::Missing
        } else {
            Outcome::Done
        };
        if self.profile.transactions == Transactions::Full {
            self.expect_version(connection, 605, 0)?;
            let found = self.get(connection, 610)?.0;
            self.expect("get inside the transaction", 610, found, deleted)?;
        }
        connection.commit()?;
        for row in rows {
            self.expect_version(connection, row, 0)?;
        }
        self.expect("get", 610, self.get(connection, 610)?.0, deleted)
    }

    fn rollback(&self, connection: &mut dyn Connection) -> Result<()> {
        if self.profile.transactions == Transactions::None {
            return Err(Error::unsupported("transactions"));
        }
        connection.insert(&self.record(700, 0))?;
        connection.begin()?;
        for row in 701..710 {
            connection.insert(&self.record(row, 0))?;
        }
        if self.has(Change::Delete) {
            connection.delete(&self.key(700))?;
        }
        if let Err(error) = connection.rollback() {
            connection.commit()?;
            return Err(error);
        }
        self.expect_version(connection, 700, 0)?;
        (701..710).try_for_each(|row| {
            self.expect("get", row, self.get(connection, row)?.0, Outcome::Missing)
        })
    }

    fn scan(&self, connection: &mut dyn Connection) -> Result<()> {
        if self.job.key_kind == KeyKind::Hash {
            return Err(Error::unsupported("ordered scans with hash keys"));
        }
        let mut model = self.model();
        for row in 800..900 {
            connection.insert(&self.record(row, 0))?;
        }
        model.adopt(connection)?;
        model.compare_scans(connection)?;
        let last = self.records.schema().columns().len() - 1;
        let mut rows = 0;
        let scan = Scan {
            lower: std::ops::Bound::Unbounded,
            upper: std::ops::Bound::Unbounded,
            columns: &[last],
            limit: 7,
        };
        let count = connection.scan(&scan, &mut |_| rows += 1)?;
        match (count, rows) {
            (7, 7) => Ok(()),
            other => Err(wrong(format!("a scan with limit 7 returned (count, rows) {other:?}"))),
        }
    }

    /// Checks that threads insert, update, delete and read separate rows, and all find the results.
    pub(super) fn connections(&self) -> Result<()> {
        if self.profile.concurrency == Concurrency::OneConnection {
            return Err(Error::unsupported("several connections"));
        }
        let subject =
            Subject { dir: self.job.dir.join("connections"), records: self.records, ..*self };
        let stores = [subject.open(true, THREADS)?];
        let updates = subject.has(Change::Update);
        let deletes = subject.has(Change::Delete);
        let end_of = |row: u64| {
            if deletes && row.is_multiple_of(3) { Outcome::Missing } else { Outcome::Done }
        };
        crew::run(&stores, THREADS, &[], &mut |_| (), &|number, pace, connections, _| {
            let connection = &mut *connections[0];
            let rows = crew::share(ROWS, THREADS, number);
            for row in rows.clone() {
                let inserted = connection.insert(&subject.record(row, 0))?;
                subject.expect("insert", row, inserted, Outcome::Done)?;
                let (column, value) = subject.change(row, 1);
                if updates {
                    connection.update(&subject.key(row), column, &value)?;
                }
                if end_of(row) == Outcome::Missing {
                    connection.delete(&subject.key(row))?;
                }
                let found = subject.get(connection, row)?.0;
                subject.expect("get", row, found, end_of(row))?;
            }
            pace.finish()?;
            for row in 0..ROWS {
                let (found, payload) = subject.get(connection, row)?;
                subject.expect("get after all", row, found, end_of(row))?;
                if end_of(row) == Outcome::Done {
                    let mut record = subject.record(row, 0);
                    let (column, value) = subject.change(row, u32::from(updates));
                    subject.records.schema().columns()[column]
                        .slice_mut(&mut record)
                        .copy_from_slice(&value);
                    let base = subject.records.schema().key_size();
                    subject.same_payload(row, &record[base..], &payload)?;
                }
            }
            Ok(())
        })?;
        let [store] = stores;
        store.close()
    }
}
