//! Errors, and what the caller can do about them.

mod cause;
mod code;
mod effect;
mod packed_fault;
mod schema_fault;

use std::io;
use std::path::PathBuf;

pub use cause::Cause;
pub use effect::Effect;
pub use packed_fault::{PackedFault, PackedPart};
pub use schema_fault::SchemaFault;

use crate::position::Position;
use crate::types::Type;

/// The result of an operation that can fail.
///
/// ```
/// use lode::{Database, Result};
///
/// /// The names of the tables, each with a comma after it.
/// fn names(db: &Database) -> Result<String> {
///     db.flush()?;
///     Ok(db.table_names().iter().map(|name| format!("{name},")).collect())
/// }
///
/// assert_eq!(names(&Database::in_memory()?)?, "");
/// # Ok::<(), lode::Error>(())
/// ```
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The reason why an operation failed. As a rule nothing has happened then;
/// [`effect`](Error::effect) says so. The exceptions are [`NotDurable`](Error::NotDurable), and
/// what was being made durable when the database was [`Poisoned`](Error::Poisoned).
///
/// ```
/// use lode::{Database, Error, KeyKind, Schema, Type};
///
/// let db = Database::in_memory()?;
/// let schema = Schema::build("byte").key("id", Type::U8).finish()?;
/// let table = match db.table("byte") {
///     Err(Error::NoTable { .. }) => db.create_table(&schema, KeyKind::Hash)?,
///     opened => opened?,
/// };
/// let error = table.insert(&[1, 2]).expect_err("it has a byte too many");
/// assert_eq!(error.to_string(), "table byte: a packed record has 1 bytes, not 2");
/// assert!(error.is_bad_input() && !error.is_retryable());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The memory budget is used up. In memory: delete records, or open the database with more. In
    /// a directory: the operation needs more pages at once than there are; commit more often, or
    /// open the database with more.
    #[error(
        "the memory budget of {budget_bytes} bytes is used up; delete records, commit more often, \
         or give the database more memory"
    )]
    Full {
        /// The memory budget.
        budget_bytes: u64,
    },
    /// The disk has no space left. Nothing is lost; make space, and continue.
    #[error("{what}: no space is left on the disk; make some and try again")]
    DiskFull {
        /// The action that failed.
        what: String,
    },
    /// A directory cannot take the backup. Choose an empty one, or one with an earlier backup of
    /// this database.
    #[error(
        "the directory cannot take the backup: {why}; choose an empty one, or one with an earlier \
         backup of this database"
    )]
    NoBackup {
        /// The reason.
        why: &'static str,
    },
    /// The directory has a backup that was never finished. Back up to it again, or remove it.
    #[error("the backup in this directory was not finished; back up to it again, or remove it")]
    UnfinishedBackup,
    /// A database in memory has no checkpoint that could be copied. Dump or export its tables.
    #[error("a database in memory has no files to back up; dump or export its tables")]
    NoFiles,
    /// A table of hashed keys has the most buckets that are possible. Use several tables.
    #[error("a table of hashed keys has no room for more buckets; spread the records over several")]
    TableFull,
    /// No more tables are possible: their definitions, which are names and columns, have the most
    /// bytes together, or 2^32 tables were created. Drop some, or use another database.
    #[error(
        "there can be no more tables: the names and columns of all have at most {most_bytes} bytes \
         together, and 2^32 can be created; drop some, or use another database"
    )]
    CatalogueFull {
        /// The most bytes of all definitions.
        most_bytes: usize,
    },
    /// The database has the most pages that are possible. Delete records and compact it, or use
    /// another one. If the limit of the process's addresses is low, raise it.
    #[error(
        "the database has {most_bytes} bytes of pages, which is the most; delete records, use \
         another database, or raise the limit of addresses if there is one"
    )]
    DatabaseFull {
        /// The most bytes of pages.
        most_bytes: u64,
    },
    /// Another thread changed what the transaction had looked up, scanned or was to write. Run it
    /// again.
    #[error(
        "another writer changed a record of table {table} meanwhile; run the transaction again"
    )]
    Conflict {
        /// The table.
        table: String,
    },
    /// A closure of `change` was to write, by another operation, the record that it is changing.
    #[error(
        "a closure of `change` cannot write the record of table {table} that it is changing; \
         change what it is given, or write after it has returned"
    )]
    Reentered {
        /// The table.
        table: String,
    },
    /// A transaction would hold more than it may:
    /// [`MOST_TRANSACTION_BYTES`](crate::MOST_TRANSACTION_BYTES), the part of the memory budget for
    /// all transactions, or the room of the pages that its commit would change. Commit more often.
    #[error(
        "transactions can hold {most_bytes} bytes of records now; commit more often{}",
        or_more_memory(*most_bytes)
    )]
    TxnTooLarge {
        /// The limit.
        most_bytes: usize,
    },
    /// Pages have changed so much since a snapshot was taken that their old images take up more
    /// memory than they may. The snapshot is of no use any more. Take a new one.
    #[error(
        "the snapshot is too old: what has changed since would take more than {most_bytes} bytes \
         of memory; take a new one, or give the database more memory"
    )]
    SnapshotTooOld {
        /// The most bytes that all snapshots may take together.
        most_bytes: u64,
    },
    /// The moment that a database opened for reading shows has expired: the process that writes has
    /// given its pages to others, since they took more space than
    /// [`reader_bytes`](crate::Options::reader_bytes), or was started anew. Refresh it, or open it
    /// again.
    #[error(
        "the moment that this reader shows has expired: the writer has given its pages to others; \
         refresh or open again"
    )]
    MomentExpired,
    /// A table of that name exists already.
    #[error("there is a table {table} already; open it, or choose another name")]
    TableExists {
        /// The name.
        table: String,
    },
    /// A table has a secondary index of that name already.
    #[error("table {table} has an index {index} already; use it, or choose another name")]
    IndexExists {
        /// The table.
        table: String,
        /// The name.
        index: Box<str>,
    },
    /// A table has no secondary index of that name; or it was not whole yet, or not there, at the
    /// moment of a snapshot.
    #[error("table {table} has no index {index}, or had none at this moment; create it")]
    NoIndex {
        /// The table.
        table: String,
        /// The name.
        index: Box<str>,
    },
    /// Another record has the values that a record was to have in the columns of a unique index.
    #[error("table {table}: another record has ({key}) in the unique index {index}")]
    UniqueViolation {
        /// The table.
        table: String,
        /// The index.
        index: Box<str>,
        /// The values of the indexed columns; of long ones the start.
        key: Box<str>,
    },
    /// Records have equal values in the columns of an index that was to be unique.
    #[error(
        "table {table}: several records have {} in the columns of the unique index {index}; change \
         them first",
        listed(.keys)
    )]
    Duplicates {
        /// The table.
        table: String,
        /// The index.
        index: Box<str>,
        /// The first values of the indexed columns that several records have, ten at most; of long
        /// ones the start.
        keys: Box<[Box<str>]>,
    },
    /// No table has that name.
    #[error("there is no table {table}; create it")]
    NoTable {
        /// The name.
        table: String,
    },
    /// A schema is not possible.
    #[error("table {table}: {fault}")]
    InvalidSchema {
        /// The table.
        table: String,
        /// The fault of the schema.
        fault: SchemaFault,
    },
    /// The records of a schema are too long for a table of its kind.
    #[error(
        "table {table}: its records of {size_bytes} bytes are too long; a table of this kind has \
         at most {most_bytes}"
    )]
    SchemaTooLong {
        /// The table.
        table: String,
        /// The most bytes of a record in the index.
        most_bytes: usize,
        /// The bytes that the record would have there.
        size_bytes: usize,
    },
    /// A table has other columns than the struct of its records.
    #[error(
        "table {table}: column {number} is {in_table} in the table and {in_record} in the record"
    )]
    OtherColumns {
        /// The table.
        table: String,
        /// The first column that differs, counted from 1.
        number: usize,
        /// The column in the table.
        in_table: Box<str>,
        /// The column in the struct.
        in_record: Box<str>,
    },
    /// A table has no such column.
    #[error("table {table}: there is no column {column}")]
    NoColumn {
        /// The table.
        table: String,
        /// The name of the column, or its place.
        column: String,
    },
    /// The number of values is not that of the columns.
    #[error("table {table}: there are {columns} columns and {values} values")]
    ValueCount {
        /// The table.
        table: String,
        /// The number of columns.
        columns: usize,
        /// The number of values that were passed.
        values: usize,
    },
    /// A column cannot have a value: it is of another type, or too large.
    #[error("table {table}: {value} does not fit column {column}: {kind:?}")]
    ValueMisfit {
        /// The table.
        table: String,
        /// The column.
        column: Box<str>,
        /// The type of the column.
        kind: Type,
        /// The value, or the start of it.
        value: Box<str>,
    },
    /// A value has more bytes than its column takes.
    #[error("table {table}: column {column} can have at most {most_bytes} bytes, not {size_bytes}")]
    ValueTooLong {
        /// The table.
        table: String,
        /// The column.
        column: Box<str>,
        /// The most bytes of the column.
        most_bytes: usize,
        /// The bytes of the value.
        size_bytes: usize,
    },
    /// The columns of variable length of a record have too many bytes together.
    #[error(
        "table {table}: the columns of variable length have at most {most_bytes} bytes together, \
         not {size_bytes}"
    )]
    RecordTooLong {
        /// The table.
        table: String,
        /// The most bytes of these columns.
        most_bytes: usize,
        /// The bytes that these columns would have.
        size_bytes: usize,
    },
    /// A blob would have more than [`MOST_BLOB_BYTES`](crate::MOST_BLOB_BYTES). Split it.
    #[error("blob store {store}: a blob can have at most {most_bytes} bytes; split it")]
    BlobTooLong {
        /// The store.
        store: String,
        /// The most bytes of a blob.
        most_bytes: u64,
    },
    /// Bytes are no packed key, record, payload or column of a table.
    #[error("table {table}: {fault}")]
    NotPacked {
        /// The table.
        table: String,
        /// The fault of the bytes.
        fault: PackedFault,
    },
    /// A column cannot be set by itself: it is of the key.
    #[error("table {table}: column {column} is of the key; it stays")]
    KeyColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column cannot be set by itself: it can be null.
    #[error("table {table}: column {column} can be null; change it with its null bit by `change`")]
    NullableColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A column has no room for a sum, or is not one of whole numbers.
    #[error("table {table}: column {column}: {kind:?} has no room for {by} more")]
    NoRoomInColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The type of the column.
        kind: Type,
        /// The number that was to be added.
        by: i64,
    },
    /// A column cannot be dropped: an index has it.
    #[error("table {table}: index {index} has column {column}; drop the index first")]
    ColumnInUse {
        /// The table.
        table: String,
        /// The column.
        column: Box<str>,
        /// The index.
        index: Box<str>,
    },
    /// A table cannot be altered: a record does not fit.
    #[error("{source}, in record ({key}); change the record first")]
    RecordMisfit {
        /// The values of the record's key; of long ones the start.
        key: Box<str>,
        /// The error of the value: `ValueMisfit`.
        source: Box<Error>,
    },
    /// A change of a record has changed its key.
    #[error("table {table}: a change cannot change the key; delete the record and insert another")]
    KeyChanged {
        /// The table.
        table: String,
    },
    /// A field of a struct cannot have the value of its column.
    #[error("table {table}: the field of column {column} cannot be {value}")]
    FieldMisfit {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// The value, or the start of it.
        value: Box<str>,
    },
    /// The columns after the key have any length, so a buffer of a fixed size does not fit.
    #[error("table {table}: payloads have any length; use `get_into`")]
    VariablePayload {
        /// The table.
        table: String,
    },
    /// A table is of another database than the snapshot or transaction that uses it.
    #[error("table {table}: it is of another database than the {reader}")]
    OtherDatabase {
        /// The table.
        table: String,
        /// The reader: a snapshot, or a transaction.
        reader: &'static str,
    },
    /// A key has more bytes than its column takes, so no record has it. Lookups return a missing
    /// record instead.
    #[error("table {table}: column {column} can have at most {most_bytes} bytes, not {size_bytes}")]
    KeyTooLong {
        /// The table.
        table: String,
        /// The column of the key.
        column: String,
        /// The most bytes of the column.
        most_bytes: usize,
        /// The bytes of the key.
        size_bytes: usize,
    },
    /// A table of hashed keys has no order of keys.
    #[error("table {table} has hashed keys, which have no order; create it with keys in a tree")]
    NoOrder {
        /// The table.
        table: String,
    },
    /// A file does not have the content that was written to it. Other parts can still be read:
    /// [`Options::repair`](crate::Options::repair) copies them to a new database.
    #[error("{what} is corrupt: {why}; restore the database from a copy, or repair it")]
    Corrupt {
        /// The part, and its file.
        what: String,
        /// The fault of the part.
        why: String,
    },
    /// A file of the directory is of another database than its data file. Nothing was changed.
    #[error(
        "{file} is of another database than file data; put the data file back that belongs to it, \
         or move {file} out of the directory"
    )]
    ForeignFile {
        /// The name of the file.
        file: String,
    },
    /// The files are of another version of the format.
    #[error(
        "the database has format {found}, and this version of Lode reads format {known}; open it \
         with the version that made it"
    )]
    Version {
        /// The format of the files.
        found: u32,
        /// The format that this version knows.
        known: u32,
    },
    /// A later version of Lode made a table of the database.
    #[error(
        "a table is of kind {kind}, which this version of Lode does not know; open the database \
         with the version that made it"
    )]
    TableVersion {
        /// The kind of table, as the files have it.
        kind: u8,
    },
    /// The directory is open for writing elsewhere, or is being created. Where readers cannot be
    /// let in at the same time, it may be open for reading.
    #[error(
        "the database is in use by another process, or is open in this one already; it can be open \
         once for writing, and several times for reading only"
    )]
    Locked,
    /// The directory has no database.
    #[error(
        "there is no database in {}; create one, or open another directory",
        directory.display()
    )]
    NoDatabase {
        /// The directory.
        directory: PathBuf,
    },
    /// The directory has a database already.
    #[error(
        "there is a database in {} already; open it, or choose another directory",
        directory.display()
    )]
    DatabaseExists {
        /// The directory.
        directory: PathBuf,
    },
    /// The database keeps no changes. Open it for writing with
    /// [`keep_changes`](crate::Options::keep_changes) once; those from then on are kept.
    #[error(
        "the database keeps no changes; have it keep them (`keep_changes`, or `lode changes \
         --keep`), and take those from then on"
    )]
    ChangesNotKept,
    /// The changes after a position are not kept any more. Take a copy of the database, and
    /// continue at the position of that.
    #[error(
        "the changes since {since} are not kept any more, but those since {oldest}; take a new \
         copy and continue at its position, or keep more bytes"
    )]
    ChangesGone {
        /// The position.
        since: Position,
        /// The oldest position whose changes are kept.
        oldest: Position,
    },
    /// A position is none of the database: it is of another one, or of changes that a crash of the
    /// machine has taken back. Take a copy of the database, and continue at the position of that.
    #[error(
        "{position} is no position of this database, or was lost in a crash; take a new copy and \
         continue at its position"
    )]
    OtherPosition {
        /// The position.
        position: Position,
    },
    /// The database was opened for reading only.
    #[error("the database was opened for reading only; open it for writing")]
    ReadOnly,
    /// The database was closed.
    #[error("the database was closed; open it again")]
    Closed,
    /// This process was forked from the one that opened the database. Only that one may use it. One
    /// in a directory can be opened here after it was closed there.
    #[error(
        "this process was forked from the one that opened the database; use it there, or close it \
         there and open it here"
    )]
    Forked,
    /// Writing failed, and the content of the disk is not known any more. Reading still works;
    /// close the database and open it again to return to the durable state.
    #[error(
        "the database takes no more writes since {why}; open it again{}", poisoned_words(*effect)
    )]
    Poisoned {
        /// The error that made it so.
        why: String,
        /// The effect of the operation that returned this.
        effect: Effect,
    },
    /// The operation has happened and stays, but making it durable failed. Do not repeat it: when
    /// the cause is mended, [`flush`](crate::Database::flush).
    #[error("it was done, but is not durable yet: {source}; do not repeat it, but flush later")]
    NotDurable {
        /// The error of making it durable.
        source: Box<Error>,
    },
    /// The operating system returned an error.
    #[error("{what}: {source}")]
    Io {
        /// The action that failed.
        what: String,
        /// The error of the operating system.
        source: Cause,
    },
}

/// The most bytes of keys and records that a transaction may hold. All transactions together may
/// hold a third of the memory budget, too.
pub const MOST_TRANSACTION_BYTES: usize = 256 << 20;

/// Returns advice to give more memory, which is of use only below the limit of one transaction.
fn or_more_memory(most_bytes: usize) -> &'static str {
    if most_bytes < MOST_TRANSACTION_BYTES { ", or give the database more memory" } else { "" }
}

fn poisoned_words(effect: Effect) -> &'static str {
    match effect {
        Effect::None => "",
        _ => ", and see whether this is there",
    }
}

/// Turns `KeyTooLong` into the result of a missing record: no record can have such a key.
#[inline(always)]
pub(crate) fn none_if_too_long<T: Default>(found: Result<T>) -> Result<T> {
    // The result is not taken apart: it would be copied piece by piece.
    match &found {
        Err(Error::KeyTooLong { .. }) => Ok(T::default()),
        _ => found,
    }
}

/// The most values that [`Error::Duplicates`] has.
pub(crate) const MOST_DUPLICATES: usize = 10;

/// Lists values of columns.
fn listed(keys: &[Box<str>]) -> String {
    let keys: Vec<_> = keys.iter().map(|key| format!("({key})")).collect();
    let others = if keys.len() < MOST_DUPLICATES { "" } else { ", and perhaps others," };
    format!("{}{others}", keys.join(", "))
}

impl Error {
    pub(crate) fn io(what: impl Into<String>, error: &io::Error) -> Self {
        let what = what.into();
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { what },
            _ => Self::Io { what, source: Cause::of(error) },
        }
    }

    pub(crate) fn corrupt(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self::Corrupt { what: what.into(), why: why.into() }
    }
}

impl From<Error> for io::Error {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Io { source, .. } => source.kind(),
            Error::DiskFull { .. } => io::ErrorKind::StorageFull,
            // The kind of the cause is not used: programs repeat operations after some kinds.
            _ => io::ErrorKind::Other,
        };
        Self::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    /// Each operation returns an error, so it fits in a line of the processor's cache, and a word.
    #[test]
    fn an_error_is_small() {
        assert!(size_of::<Error>() <= 72, "{} bytes", size_of::<Error>());
    }

    #[test]
    fn what_the_system_said_is_kept() {
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        let error = Error::io("open file data", &denied);
        let source = error.source().and_then(|source| source.downcast_ref::<io::Error>());
        assert_eq!(source.map(io::Error::kind), Some(io::ErrorKind::PermissionDenied));
        assert_eq!(error.to_string(), format!("open file data: {denied}"));
        assert_eq!(error, error.clone());
        assert_ne!(error, Error::io("open file data", &io::ErrorKind::NotFound.into()));
        assert_eq!(io::Error::from(error).kind(), io::ErrorKind::PermissionDenied);

        let many = Error::io("open file data", &io::Error::from_raw_os_error(24));
        let Error::Io { source, .. } = &many else { panic!("{many:?}") };
        assert_eq!(source.raw_os_error(), Some(24));
    }
}
