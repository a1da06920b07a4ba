//! The public interface: databases, tables, records, transactions, snapshots.

mod cursor;
mod database;
mod key;
mod options;
mod read;
mod record;
mod row;
mod snapshot;
mod steps;
mod table;
mod transaction;

pub use cursor::{Batches, Cursor, RowBatch};
pub use database::{Database, MOST_ATTEMPTS};
pub use key::{Key, KeyPart};
pub use options::{DEFAULT_SYNC_INTERVAL, Options};
pub use read::{ReadTable, TableAt, TableWithin};
pub use record::{Record, RecordCursor, Records, RecordsAt, RecordsWithin, misfit};
pub use row::Row;
pub use snapshot::Snapshot;
pub use table::Table;
pub use transaction::{Savepoint, Transaction};
