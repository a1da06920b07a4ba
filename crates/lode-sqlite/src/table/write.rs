//! Writes of statements: inserts, updates and deletes of single rows (`xUpdate`).

use lode::{Error, ReadTable, Schema, Table, Transaction};
use rusqlite::types::ValueRef;
use rusqlite::vtab::{Inserts, Updates};
use rusqlite::{Result, ffi};

use crate::error::{error, of_engine};
use crate::table::shared::{Shared, WriteBuffers};
use crate::values::from_sqlite;
use crate::values::row_numbers::has_row_numbers;

/// The treatment of a row whose key is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Conflict {
    /// Refusing the row: SQLite does what the statement says: abort, ignore it, …
    Fails,
    /// Writing the row over the record of its key.
    Replaces,
}

/// The place of the first column among the values that SQLite passes: after the keys of the old row
/// and the new row.
const FIRST_COLUMN: usize = 2;

impl Shared {
    /// Inserts a row, and returns its number, if it has one.
    pub(crate) fn insert(&self, values: &Inserts<'_>, conflict: Conflict) -> Result<i64> {
        let schema = self.schema();
        let has_numbers = has_row_numbers(schema);
        if has_numbers && values.iter().nth(1).is_some_and(|number| number != ValueRef::Null) {
            return Err(self.number_is_set());
        }
        let record = &mut self.write_buffers.borrow_mut().record;
        let mut packer = schema.packer(record);
        for (column, value) in schema.columns().iter().zip(values.iter().skip(FIRST_COLUMN)) {
            let mut text = String::new();
            let value = from_sqlite(&self.name, column, value, &mut text)?;
            packer.push(value).map_err(|cause| of_engine(&cause))?;
        }
        let key_bytes = packer.finish().map_err(|cause| of_engine(&cause))?;
        let is_new = match conflict {
            Conflict::Fails => self.session.insert(&self.table, key_bytes, record)?,
            Conflict::Replaces => self
                .session
                .write(&self.table, |transaction| replace(transaction, &self.table, record))
                .map(|()| true)?,
        };
        match (is_new, has_numbers) {
            (false, _) => Err(self.is_there_already()),
            (true, false) => Ok(0),
            // The number of a row stands for its key.
            (true, true) => self.numbers.number(&record[..key_bytes]),
        }
    }

    /// Changes a row.
    pub(crate) fn update(&self, values: &Updates<'_>, conflict: Conflict) -> Result<()> {
        let schema = self.schema();
        let mut given = values.iter();
        let (Some(row), Some(new_row)) = (given.next(), given.next()) else {
            return Err(error(ffi::SQLITE_MISUSE, "an update names no row"));
        };
        if has_row_numbers(schema) && row != new_row {
            return Err(self.number_is_set());
        }
        let WriteBuffers { key, record } = &mut *self.write_buffers.borrow_mut();
        self.read_key(row, key)?;
        record.clear();
        record.extend_from_slice(key);
        if !self.session.read(&self.table, record)? {
            return Ok(());
        }
        for ((at, column), value) in (FIRST_COLUMN..).zip(schema.columns()).zip(given) {
            if values.no_change(at) {
                continue;
            }
            let mut text = String::new();
            let value = from_sqlite(&self.name, column, value, &mut text)?;
            schema.set(record, column, value).map_err(|cause| of_engine(&cause))?;
        }
        let table = &self.table;
        let new_key = key_of(schema, record)?;
        let write = |transaction: &Transaction| match conflict {
            Conflict::Fails => transaction.upsert(table, record).map(drop),
            Conflict::Replaces => replace(transaction, table, record),
        };
        if new_key == key {
            return match conflict {
                Conflict::Replaces if table.has_indexes() => self.session.write(table, write),
                _ => self.session.replace(table, key, record),
            };
        }
        if conflict == Conflict::Fails && self.session.read(table, &mut new_key.to_vec())? {
            return Err(self.is_there_already());
        }
        self.session.write(table, |transaction| {
            together(transaction, || {
                transaction.delete(table, &key[..])?;
                write(transaction)
            })
        })
    }

    /// Deletes a row.
    pub(crate) fn delete(&self, row: ValueRef<'_>) -> Result<()> {
        let key = &mut self.write_buffers.borrow_mut().key;
        self.read_key(row, key)?;
        let table = &self.table;
        self.session.write(table, |transaction| transaction.delete(table, &key[..]).map(drop))
    }

    /// Reads the packed key of a row, which SQLite names by its key if that is one column, and by
    /// its number otherwise.
    fn read_key(&self, row: ValueRef<'_>, key: &mut Vec<u8>) -> Result<()> {
        let schema = self.schema();
        key.clear();
        if has_row_numbers(schema) {
            let known = row.as_i64().ok().and_then(|number| self.numbers.key(number));
            let unknown = || error(ffi::SQLITE_MISUSE, "no row of the statement has this number");
            key.extend_from_slice(&known.ok_or_else(unknown)?);
            return Ok(());
        }
        let column = &schema.columns()[0];
        let mut text = String::new();
        let value = from_sqlite(&self.name, column, row, &mut text)?;
        schema.append_key(&[value], key).map_err(|cause| of_engine(&cause))
    }

    /// Returns plain `SQLITE_CONSTRAINT`, for SQLite to do what `OR IGNORE` and the like say.
    fn is_there_already(&self) -> rusqlite::Error {
        let keys = &self.schema().columns()[..self.schema().key_columns()];
        let names = keys.iter().map(|column| format!("{}.{}", self.name, column.name));
        let names = names.collect::<Vec<_>>().join(", ");
        error(ffi::SQLITE_CONSTRAINT, format!("UNIQUE constraint failed: {names}"))
    }

    fn number_is_set(&self) -> rusqlite::Error {
        let name = &self.name;
        error(ffi::SQLITE_ERROR, format!("the row numbers of {name} cannot be set; set its key"))
    }
}

/// Does several writes of a transaction; after an error, none of them has happened.
fn together(
    transaction: &Transaction,
    writes: impl FnOnce() -> lode::Result<()>,
) -> lode::Result<()> {
    let before = transaction.savepoint();
    let done = writes();
    if done.is_err() {
        transaction.roll_back_to(&before);
    }
    transaction.release(before);
    done
}

/// Writes a record in the place of those that have its key, or its values in a unique index.
fn replace(transaction: &Transaction, table: &Table, record: &[u8]) -> lode::Result<()> {
    together(transaction, || replace_all(transaction, table, record))
}

fn replace_all(transaction: &Transaction, table: &Table, record: &[u8]) -> lode::Result<()> {
    loop {
        let violation = match transaction.upsert(table, record) {
            Err(violation @ Error::UniqueViolation { .. }) => violation,
            done => return done.map(drop),
        };
        let Error::UniqueViolation { index: name, .. } = &violation else { return Err(violation) };
        let indexes = table.indexes()?;
        // One that is still being built cannot be looked up.
        let Some(index) = indexes.iter().find(|index| index.name() == &**name) else {
            return Err(violation);
        };
        let row = table.schema().row(record)?;
        let values: Vec<_> = index.columns().iter().filter_map(|column| row.get(column)).collect();
        let other = table.within(transaction).by(name)?.prefix(&values).keys();
        let other = { other }.next_key()?.map(<[u8]>::to_vec);
        match other {
            Some(other) => drop(transaction.delete(table, &other[..])?),
            None => return Err(violation),
        }
    }
}

/// Returns the packed key that a record starts with.
fn key_of<'r>(schema: &Schema, record: &'r [u8]) -> Result<&'r [u8]> {
    let length = schema.key_length(record).map_err(|cause| of_engine(&cause))?;
    Ok(&record[..length])
}
