//! Transactions: several writes that happen together or not at all.

use crate::argument::out;
use crate::failure::{Failure, Result, guarded};
use crate::objects::{OpenTransaction, lode_database, lode_snapshot, lode_transaction};
use crate::options::{durability, lode_durability};
use crate::status::lode_status::{self, LODE_OK};

/// Starts a transaction, which is written to `transaction`. It holds what it reads and writes in
/// memory until its commit, and waits for no other thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_begin(
    database: lode_database,
    transaction: *mut lode_transaction,
) -> lode_status {
    guarded(|| {
        let out = out!(transaction);
        out.set(lode_transaction::new(OpenTransaction::new(database.share()?.begin()))?);
        Ok(LODE_OK)
    })
}

/// Starts a transaction that reads the records as of a snapshot, and its own writes. Its commit
/// conflicts with what was written since that moment to the records that it writes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_begin_at(
    database: lode_database,
    snapshot: lode_snapshot,
    transaction: *mut lode_transaction,
) -> lode_status {
    guarded(|| {
        let out = out!(transaction);
        let begun = database.share()?.begin_at(&*snapshot.share()?);
        out.set(lode_transaction::new(OpenTransaction::new(begun))?);
        Ok(LODE_OK)
    })
}

/// Applies all writes of a transaction together, as durable as the level of the database says, and
/// frees its handle, whatever it returns but `LODE_BUSY`.
///
/// Returns `LODE_CONFLICT` when another writer has changed what the transaction looked up, scanned
/// or wrote: nothing of it has happened, so start it again. A read or a write within it may say so
/// before. `LODE_FULL`, `LODE_DISK_FULL`, `LODE_CLOSED`, `LODE_READ_ONLY`: nothing of it has
/// happened. `LODE_POISONED` when making it durable fails: `lode_error_effect` says whether it may
/// be there.
#[unsafe(no_mangle)]
pub extern "C" fn lode_commit(transaction: lode_transaction) -> lode_status {
    guarded(|| {
        transaction.take()?.transaction.commit()?;
        Ok(LODE_OK)
    })
}

/// Commits a transaction, durable at `level` at least, and frees its handle. As `lode_commit`
/// otherwise; `LODE_NOT_DURABLE` when it has happened and stays, but making it durable failed; and
/// `LODE_BAD_ARGUMENT` for a level that is none, which leaves the transaction as it was.
#[unsafe(no_mangle)]
pub extern "C" fn lode_commit_with(
    transaction: lode_transaction,
    level: lode_durability,
) -> lode_status {
    guarded(|| {
        let level = durability(level)?;
        transaction.take()?.transaction.commit_with(level)?;
        Ok(LODE_OK)
    })
}

/// Ends a transaction of which nothing happens, and frees its handle.
#[unsafe(no_mangle)]
pub extern "C" fn lode_roll_back(transaction: lode_transaction) -> lode_status {
    guarded(|| transaction.take().map(|_| LODE_OK))
}

/// Makes a point that a transaction can go back to; its number is written to `savepoint`. Points
/// nest.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn lode_make_savepoint(
    transaction: lode_transaction,
    savepoint: *mut u64,
) -> lode_status {
    guarded(|| {
        let out = out!(savepoint);
        let mut open = transaction.lock()?;
        let number = open.next;
        let point = open.transaction.savepoint();
        open.savepoints.push((number, point));
        open.next += 1;
        out.set(number);
        Ok(LODE_OK)
    })
}

/// Undoes the writes of a transaction since a point, which is kept; those made later are gone.
///
/// Returns `LODE_BAD_ARGUMENT` when the point is gone.
#[unsafe(no_mangle)]
pub extern "C" fn lode_roll_back_to(transaction: lode_transaction, savepoint: u64) -> lode_status {
    guarded(|| {
        let mut open = transaction.lock()?;
        let at = point(&open, savepoint)?;
        open.transaction.roll_back_to(&open.savepoints[at].1);
        open.savepoints.truncate(at + 1);
        Ok(LODE_OK)
    })
}

/// Forgets a point of a transaction, and those made later; the writes stay.
///
/// Returns `LODE_BAD_ARGUMENT` when the point is gone.
#[unsafe(no_mangle)]
pub extern "C" fn lode_release_savepoint(
    transaction: lode_transaction,
    savepoint: u64,
) -> lode_status {
    guarded(|| {
        let mut open = transaction.lock()?;
        let at = point(&open, savepoint)?;
        open.savepoints.truncate(at + 1);
        if let Some((_, point)) = open.savepoints.pop() {
            open.transaction.release(point);
        }
        Ok(LODE_OK)
    })
}

/// Returns the place of a point among those that are kept.
fn point(open: &OpenTransaction, savepoint: u64) -> Result<usize> {
    let found = open.savepoints.iter().position(|(number, _)| *number == savepoint);
    found.ok_or_else(|| {
        let message = format!("the transaction has no savepoint {savepoint}; make another one");
        Failure::argument(message)
    })
}
