//! Points in a transaction that it can go back to.

use super::touched::Touched;
use super::{Place, Transaction};

/// A point in a transaction. Made by [`Transaction::savepoint`].
#[derive(Debug, PartialEq, Eq)]
pub struct Savepoint {
    /// Its place among those that are kept.
    depth: usize,
}

/// What a record should have been before it was written again.
struct Before {
    place: Place,
    /// None if it had not been written.
    wanted: Option<Option<Vec<u8>>>,
}

/// The points that are kept, and what was written since the first of them.
#[derive(Default)]
pub(super) struct Savepoints {
    /// How much had been written at each.
    kept: Vec<usize>,
    written: Vec<Before>,
}

impl Savepoints {
    /// Notes what a record should be, which is about to be written.
    pub(super) fn note(&mut self, tables: &[Touched], place: Place) {
        if !self.kept.is_empty() {
            let wanted = tables[place.table].wanted(place.number);
            let wanted = wanted.map(|payload| payload.map(<[u8]>::to_vec));
            self.written.push(Before { place, wanted });
        }
    }
}

impl Transaction {
    /// A point that the transaction can [go back](Self::roll_back_to) to. Points lie one inside the
    /// other. While there is one, what records should be before each write is kept in memory.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).column("bits", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    ///
    /// let transaction = db.begin();
    /// transaction.insert(&bytes, &[7, 3])?;
    /// let point = transaction.savepoint();
    /// transaction.upsert(&bytes, &[7, 4])?;
    /// transaction.insert(&bytes, &[8, 1])?;
    /// transaction.roll_back_to(&point);
    /// transaction.release(point);
    /// transaction.commit()?;
    /// assert_eq!(bytes.get(7)?.map(lode::Row::into_bytes), Some(vec![7, 3]));
    /// assert!(!bytes.contains(8)?);
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn savepoint(&self) -> Savepoint {
        let mut savepoints = self.savepoints.borrow_mut();
        let depth = savepoints.kept.len();
        let written = savepoints.written.len();
        savepoints.kept.push(written);
        Savepoint { depth }
    }

    /// Undoes what was written since a point, which is kept; those inside it are gone. What was
    /// read since then the commit looks at all the same. For a point that is gone, or of another
    /// transaction, there is nothing to do.
    pub fn roll_back_to(&self, point: &Savepoint) {
        let mut savepoints = self.savepoints.borrow_mut();
        let Some(written) = savepoints.kept.get(point.depth).copied() else { return };
        savepoints.kept.truncate(point.depth + 1);
        let mut tables = self.tables.borrow_mut();
        for Before { place, wanted } in savepoints.written.drain(written..).rev() {
            let wanted = wanted.as_ref().map(Option::as_deref);
            tables[place.table].restore(place.number, wanted);
        }
    }

    /// Forgets a point, and those inside it; what was written stays.
    pub fn release(&self, point: Savepoint) {
        let mut savepoints = self.savepoints.borrow_mut();
        savepoints.kept.truncate(point.depth);
        if savepoints.kept.is_empty() {
            savepoints.written.clear();
        }
    }
}
