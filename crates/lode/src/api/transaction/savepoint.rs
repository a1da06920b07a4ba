//! Points in a transaction that it can go back to.

use std::sync::atomic::{AtomicU64, Ordering};

use super::touched::{Overwrite, Touched, Wanted};
use super::{Place, Transaction};

/// The number of the next point, of all transactions.
static NEXT: AtomicU64 = AtomicU64::new(0);

/// A point in a transaction. Made by [`Transaction::savepoint`].
#[derive(Debug, PartialEq, Eq)]
pub struct Savepoint {
    number: u64,
}

/// The wanted state of a record before it was written again.
struct Before {
    place: Place,
    wanted: Wanted,
}

/// A point that is kept.
struct Kept {
    number: u64,
    /// The number of notes when the point was made.
    written: usize,
}

/// The points that are kept, one inside the other, and the notes on writes since the first of them.
#[derive(Default)]
pub(super) struct Savepoints {
    kept: Vec<Kept>,
    written: Vec<Before>,
}

impl Savepoints {
    /// Notes the wanted state of a record that is about to be written. Returns what to do with its
    /// payload.
    pub(super) fn note(&mut self, tables: &[Touched], place: Place) -> Overwrite {
        if self.kept.is_empty() {
            return Overwrite::Replace;
        }
        let wanted = tables[place.table].wanted_now(place.number);
        self.written.push(Before { place, wanted });
        Overwrite::Keep
    }

    /// Returns the bytes that the points and notes take up.
    pub(super) fn size_bytes(&self) -> usize {
        self.written.capacity() * size_of::<Before>() + self.kept.capacity() * size_of::<Kept>()
    }

    /// Returns true if no write is noted.
    pub(super) fn are_without_writes(&self) -> bool {
        self.written.is_empty()
    }

    /// Finds the place of a point among those that are kept.
    fn place_of(&self, point: &Savepoint) -> Option<usize> {
        self.kept.iter().rposition(|kept| kept.number == point.number)
    }
}

impl Transaction {
    /// Makes a point that the transaction can [go back](Self::roll_back_to) to. Points nest. As
    /// long as there is one, the wanted state of records before each write is kept in memory, and
    /// counts as written.
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
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let written = savepoints.written.len();
        let last = savepoints.kept.last().map_or(0, |last| last.written);
        debug_assert!(last <= written, "savepoints follow each other");
        savepoints.kept.push(Kept { number, written });
        Savepoint { number }
    }

    /// Returns true if a point of this transaction is kept: it was neither released, nor gone back
    /// behind.
    pub fn has_savepoint(&self, point: &Savepoint) -> bool {
        self.savepoints.borrow().place_of(point).is_some()
    }

    /// Undoes the writes since a point, which is kept; those inside it are gone. The commit still
    /// checks the reads since then. For a point that is gone, or of another transaction, this does
    /// nothing.
    pub fn roll_back_to(&self, point: &Savepoint) {
        let mut savepoints = self.savepoints.borrow_mut();
        let Some(at) = savepoints.place_of(point) else { return };
        let written = savepoints.kept[at].written;
        debug_assert!(written <= savepoints.written.len(), "a savepoint is of the past");
        savepoints.kept.truncate(at + 1);
        let mut tables = self.tables.borrow_mut();
        for Before { place, wanted } in savepoints.written.drain(written..).rev() {
            tables[place.table].restore(place.number, wanted);
        }
    }

    /// Undoes all writes, and forgets all points. The commit still checks what was read, if more is
    /// written.
    ///
    /// ```
    /// use lode::{Database, KeyKind, ReadTable, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
    /// let bytes = db.create_table(&schema, KeyKind::Tree)?;
    ///
    /// let transaction = db.begin();
    /// transaction.insert(&bytes, &[7])?;
    /// transaction.roll_back_all();
    /// transaction.insert(&bytes, &[8])?;
    /// transaction.commit()?;
    /// assert_eq!((bytes.contains(7)?, bytes.contains(8)?), (false, true));
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn roll_back_all(&self) {
        *self.savepoints.borrow_mut() = Savepoints::default();
        self.tables.borrow_mut().iter_mut().for_each(Touched::forget_writes);
    }

    /// Forgets a point, and those inside it; the writes stay.
    pub fn release(&self, point: Savepoint) {
        let mut savepoints = self.savepoints.borrow_mut();
        let Some(at) = savepoints.place_of(&point) else { return };
        savepoints.kept.truncate(at);
        if savepoints.kept.is_empty() {
            savepoints.written.clear();
            self.tables.borrow_mut().iter_mut().for_each(Touched::drop_old);
        }
    }
}
