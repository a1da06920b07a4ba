//! The copy of a database, and the position that it remembers.

use lode::{Database, Error, KeyKind, Position, ReadTable, Schema, Transaction, Type, Value};

/// The table with the position. It has no record while tables are copied.
pub(super) const NOTE: &str = "followed position";

/// The key of its only record.
const KEY: u8 = 0;

/// The copy of a database.
pub(super) struct Replica {
    db: Database,
}

fn schema() -> Result<Schema, Error> {
    let schema = Schema::build(NOTE).key("number", Type::U8);
    schema.column("position", Type::VarText(60)).finish()
}

impl Replica {
    /// Returns true if a database is a copy, or has nothing yet.
    pub(super) fn is_in(db: &Database) -> Result<bool, Error> {
        match db.table(NOTE) {
            Err(Error::NoTable { .. }) => Ok(db.table_names().is_empty()),
            note => Ok(*note?.schema() == schema()?),
        }
    }

    /// Returns the copy in a database, which may be new; `None` if it has something else.
    pub(super) fn of(db: Database) -> Result<Option<Self>, Error> {
        match db.table(NOTE) {
            Err(Error::NoTable { .. }) if db.table_names().is_empty() => {
                db.create_table(&schema()?, KeyKind::Tree)?;
            }
            Err(Error::NoTable { .. }) => return Ok(None),
            Ok(note) if *note.schema() != schema()? => return Ok(None),
            note => drop(note?),
        }
        Ok(Some(Self { db }))
    }

    pub(super) fn db(&self) -> &Database {
        &self.db
    }

    /// Returns the position up to which it has all changes; `None` if it is not whole.
    pub(super) fn position(&self) -> Result<Option<Position>, Error> {
        let Some(row) = self.db.table(NOTE)?.get(KEY)? else { return Ok(None) };
        let Some(Value::Text(text)) = row.get("position") else { return Ok(None) };
        Ok(text.parse().ok())
    }

    /// Notes a position, in a transaction.
    pub(super) fn note_in(&self, to: &Transaction, position: Position) -> Result<(), Error> {
        let text = position.to_string();
        let record = schema()?.pack(&[Value::Unsigned(KEY.into()), Value::Text(&text)])?;
        to.upsert(&self.db.table(NOTE)?, &record).map(drop)
    }

    /// Notes the position up to which it has all changes.
    pub(super) fn note(&self, position: Position) -> Result<(), Error> {
        let transaction = self.db.begin();
        self.note_in(&transaction, position)?;
        transaction.commit()
    }

    /// Drops all tables. Until it has a position again, it is not whole.
    pub(super) fn clear(&self) -> Result<(), Error> {
        self.db.table(NOTE)?.delete(KEY)?;
        let names = self.db.table_names().into_iter();
        names.filter(|name| name != NOTE).try_for_each(|name| self.db.drop_table(&name))
    }

    pub(super) fn close(self) -> Result<(), Error> {
        self.db.close()
    }
}
