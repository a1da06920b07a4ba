//! The public interface: databases, tables, records, transactions, snapshots.

mod alteration;
mod blobs;
mod by_index;
mod changes;
mod cursor;
mod database;
mod index_cursor;
mod key;
mod options;
mod read;
mod record;
mod repair;
mod row;
mod snapshot;
mod steps;
mod table;
mod transaction;

pub use alteration::Alteration;
pub use blobs::{
    BlobCursor, BlobEntry, BlobReader, BlobWriter, Blobs, MOST_BLOB_BYTES, MOST_BLOB_KEY_BYTES,
};
pub use by_index::ByIndex;
pub use changes::{Change, ChangedTable, Changes, Commit, RowChange};
pub use cursor::{Batches, Cursor, RowBatch};
pub use database::{Database, MOST_ATTEMPTS};
pub use index_cursor::{IndexCursor, IndexKeys};
pub use key::{Key, KeyPart};
pub use options::{DEFAULT_SYNC_INTERVAL, Options};
pub use read::{ReadTable, TableAt, TableWithin};
pub use record::{
    Record, RecordCursor, RecordIndexCursor, Records, RecordsAt, RecordsByIndex, RecordsWithin,
    misfit,
};
pub use repair::{Loss, Repaired, RepairedTable};
pub use row::Row;
pub use snapshot::Snapshot;
pub use table::Table;
pub use transaction::{Savepoint, Transaction};
