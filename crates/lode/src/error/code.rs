//! Properties of an error by which a program decides what to do.

use super::Error;

impl Error {
    /// Returns a word for the kind of error, for programs and logs. Later versions keep it.
    ///
    /// ```
    /// use lode::{Database, KeyKind, Schema, Type};
    ///
    /// let db = Database::in_memory()?;
    /// let error = db.table("account").expect_err("it was not created");
    /// assert_eq!((error.code(), error.is_retryable()), ("no_table", false));
    /// # Ok::<(), lode::Error>(())
    /// ```
    pub fn code(&self) -> &'static str {
        match self {
            Self::Full { .. } => "full",
            Self::DiskFull { .. } => "disk_full",
            Self::NoBackup { .. } => "no_backup",
            Self::UnfinishedBackup => "unfinished_backup",
            Self::NoFiles => "no_files",
            Self::TableFull => "table_full",
            Self::CatalogueFull { .. } => "catalogue_full",
            Self::DatabaseFull { .. } => "database_full",
            Self::Conflict { .. } => "conflict",
            Self::Reentered { .. } => "reentered",
            Self::TxnTooLarge { .. } => "transaction_too_large",
            Self::SnapshotTooOld { .. } => "snapshot_too_old",
            Self::MomentExpired => "moment_expired",
            Self::TableExists { .. } => "table_exists",
            Self::NoTable { .. } => "no_table",
            Self::IndexExists { .. } => "index_exists",
            Self::NoIndex { .. } => "no_index",
            Self::UniqueViolation { .. } | Self::Duplicates { .. } => "unique_violation",
            Self::InvalidSchema { .. } => "invalid_schema",
            Self::SchemaTooLong { .. } => "schema_too_long",
            Self::OtherColumns { .. } => "other_columns",
            Self::NoColumn { .. } => "no_column",
            Self::ValueCount { .. } => "value_count",
            Self::ValueMisfit { .. } => "value_misfit",
            Self::ValueTooLong { .. } => "value_too_long",
            Self::RecordTooLong { .. } => "record_too_long",
            Self::BlobTooLong { .. } => "blob_too_long",
            Self::NotPacked { .. } => "not_packed",
            Self::KeyColumn { .. } => "key_column",
            Self::NullableColumn { .. } => "nullable_column",
            Self::NoRoomInColumn { .. } => "no_room_in_column",
            Self::ColumnInUse { .. } => "column_in_use",
            Self::RecordMisfit { .. } => "record_misfit",
            Self::KeyChanged { .. } => "key_changed",
            Self::FieldMisfit { .. } => "field_misfit",
            Self::VariablePayload { .. } => "variable_payload",
            Self::OtherDatabase { .. } => "other_database",
            Self::KeyTooLong { .. } => "key_too_long",
            Self::NoOrder { .. } => "no_order",
            Self::Corrupt { .. } => "corrupt",
            Self::ForeignFile { .. } => "foreign_file",
            Self::Version { .. } | Self::TableVersion { .. } => "version",
            Self::Locked => "locked",
            Self::NoDatabase { .. } => "no_database",
            Self::DatabaseExists { .. } => "database_exists",
            Self::ChangesNotKept => "changes_not_kept",
            Self::ChangesGone { .. } => "changes_gone",
            Self::OtherPosition { .. } => "other_position",
            Self::ReadOnly => "read_only",
            Self::Closed => "closed",
            Self::Forked => "forked",
            Self::Poisoned { .. } => "poisoned",
            Self::NotDurable { .. } => "not_durable",
            Self::Io { .. } => "io",
        }
    }

    /// Returns true if the same work can succeed when it is started again, though the caller
    /// changes nothing: after a `Conflict`, with a new snapshot after `SnapshotTooOld`, after a
    /// [`refresh`](crate::Database::refresh) if it was `MomentExpired`, and after `Locked`. Such an
    /// error has no [effect](Self::effect).
    /// [`Database::transact`](crate::Database::transact) repeats work after a `Conflict`.
    pub fn is_retryable(&self) -> bool {
        matches!(
            self,
            Self::Conflict { .. }
                | Self::SnapshotTooOld { .. }
                | Self::MomentExpired
                | Self::Locked
        )
    }

    /// Returns true if an argument is not possible: a schema, or a key, value, column, record or
    /// table that does not fit. The same call never succeeds.
    pub fn is_bad_input(&self) -> bool {
        matches!(
            self,
            Self::InvalidSchema { .. }
                | Self::SchemaTooLong { .. }
                | Self::OtherColumns { .. }
                | Self::NoColumn { .. }
                | Self::ValueCount { .. }
                | Self::ValueMisfit { .. }
                | Self::ValueTooLong { .. }
                | Self::RecordTooLong { .. }
                | Self::BlobTooLong { .. }
                | Self::NotPacked { .. }
                | Self::KeyColumn { .. }
                | Self::NullableColumn { .. }
                | Self::NoRoomInColumn { .. }
                | Self::ColumnInUse { .. }
                | Self::KeyChanged { .. }
                | Self::FieldMisfit { .. }
                | Self::VariablePayload { .. }
                | Self::OtherDatabase { .. }
                | Self::KeyTooLong { .. }
                | Self::NoFiles
        )
    }
}
