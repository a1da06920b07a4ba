//! What a user of the crate touches: databases, tables, records, transactions, snapshots.

mod database;
mod options;
mod record;
mod snapshot;
mod table;
mod transaction;

pub use database::Database;
pub use options::{DEFAULT_SYNC_INTERVAL, Options};
pub use record::{Record, Records, RecordsAt, RecordsWithin, misfit};
pub use snapshot::Snapshot;
pub use table::Table;
pub use transaction::{MOST_BYTES, Transaction};
