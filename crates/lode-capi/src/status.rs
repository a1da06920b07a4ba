//! Statuses: what became of a call.

use lode::Error;
use lode_volumes::Error as VolumeError;

/// The outcome of a call. Zero and the small numbers are answers; all from `LODE_BAD_HANDLE` on are
/// failures, of which `lode_error_message` says more. Later versions keep the numbers and may add
/// others, so treat one that you do not know as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum lode_status {
    /// The call succeeded.
    LODE_OK = 0,
    /// There is no record, entry, property or blob with this key or name.
    LODE_NOT_FOUND = 1,
    /// There is a record with this key already, so it was not inserted.
    LODE_EXISTS = 2,
    /// There are no more rows, names, bytes or changes.
    LODE_END = 3,

    /// A handle was freed already, or was never made.
    LODE_BAD_HANDLE = 10,
    /// Another thread is using a transaction, a cursor or another object that one at a time may
    /// use.
    LODE_BUSY = 11,
    /// A pointer is null, or a number is not possible.
    LODE_BAD_ARGUMENT = 12,
    /// A text is not UTF-8.
    LODE_NOT_UTF8 = 13,
    /// A buffer is too small. The call has said how many bytes it needs.
    LODE_TOO_SMALL = 14,
    /// A fault in Lode, which is stopped at this border. Please report it.
    LODE_PANIC = 15,
    /// A failure that this version of the header has no number for.
    LODE_OTHER = 16,

    /// Another writer changed what the transaction had looked up, scanned or was to write. Nothing
    /// of it has happened; run it again.
    LODE_CONFLICT = 30,
    /// Old pages of a snapshot or cursor have left memory. Take a new one.
    LODE_SNAPSHOT_TOO_OLD = 31,
    /// The directory is open for writing in another process, or in this one.
    LODE_LOCKED = 32,
    /// The moment that a database opened for reading shows has expired: the writer has given its
    /// pages to others. Open it again.
    LODE_MOMENT_EXPIRED = 33,

    /// The memory budget is used up.
    LODE_FULL = 40,
    /// The disk has no space left.
    LODE_DISK_FULL = 41,
    /// A table of hashed keys has the most records that are possible.
    LODE_TABLE_FULL = 42,
    /// There can be no more tables.
    LODE_CATALOGUE_FULL = 43,
    /// The database has the most pages that are possible.
    LODE_DATABASE_FULL = 44,
    /// A transaction would hold more than it may. Commit more often.
    LODE_TRANSACTION_TOO_LARGE = 45,

    /// There is a table of that name already.
    LODE_TABLE_EXISTS = 50,
    /// There is no table of that name, or it was dropped.
    LODE_NO_TABLE = 51,
    /// A schema is not possible.
    LODE_INVALID_SCHEMA = 52,
    /// The records of a schema are too long for a table of its kind.
    LODE_SCHEMA_TOO_LONG = 53,
    /// The columns of a table are others.
    LODE_OTHER_COLUMNS = 54,
    /// There is no such column.
    LODE_NO_COLUMN = 55,
    /// There are more or fewer values than columns.
    LODE_VALUE_COUNT = 56,
    /// A value does not fit its column, or the type of a property.
    LODE_VALUE_MISFIT = 57,
    /// A value is too long for its column, or for a property.
    LODE_VALUE_TOO_LONG = 58,
    /// A record is too long.
    LODE_RECORD_TOO_LONG = 59,
    /// Bytes are no packed key, record or column of the table.
    LODE_NOT_PACKED = 60,
    /// A column of the key cannot be changed.
    LODE_KEY_COLUMN = 61,
    /// A column that can be null cannot be changed by its packed bytes.
    LODE_NULLABLE_COLUMN = 62,
    /// A column has no room for a sum, or is not one of whole numbers.
    LODE_NO_ROOM_IN_COLUMN = 63,
    /// A change cannot change the key.
    LODE_KEY_CHANGED = 64,
    /// A field cannot have the value of its column.
    LODE_FIELD_MISFIT = 65,
    /// The columns after the key have any length.
    LODE_VARIABLE_PAYLOAD = 66,
    /// A table is of another database than the snapshot or transaction.
    LODE_OTHER_DATABASE = 67,
    /// A key is too long for its column.
    LODE_KEY_TOO_LONG = 68,
    /// A table of hashed keys has no order.
    LODE_NO_ORDER = 69,
    /// A table has a secondary index of that name already.
    LODE_INDEX_EXISTS = 70,
    /// A table has no secondary index of that name.
    LODE_NO_INDEX = 71,
    /// Another record has the values that a record was to have in the columns of a unique index.
    LODE_UNIQUE_VIOLATION = 72,
    /// A column cannot be dropped: an index has it.
    LODE_COLUMN_IN_USE = 73,
    /// A table cannot be altered: a record does not fit.
    LODE_RECORD_MISFIT = 74,
    /// A blob has more bytes than a blob can have.
    LODE_BLOB_TOO_LONG = 79,

    /// A file does not have the content that was written to it.
    LODE_CORRUPT = 80,
    /// A file of the directory is of another database.
    LODE_FOREIGN_FILE = 81,
    /// The files are of another version of the format.
    LODE_VERSION = 82,
    /// The directory has no database.
    LODE_NO_DATABASE = 83,
    /// The directory has a database already.
    LODE_DATABASE_EXISTS = 84,
    /// A directory cannot take the backup.
    LODE_NO_BACKUP = 85,
    /// The directory has a backup that was never finished.
    LODE_UNFINISHED_BACKUP = 86,
    /// A database in memory has no files.
    LODE_NO_FILES = 87,

    /// The database was opened for reading only.
    LODE_READ_ONLY = 100,
    /// The database was closed.
    LODE_CLOSED = 101,
    /// This process was forked from the one that opened the database.
    LODE_FORKED = 102,
    /// Writing failed, and the content of the disk is not known any more. Open the database again.
    LODE_POISONED = 103,
    /// The operation has happened and stays, but making it durable failed. Do not repeat it.
    LODE_NOT_DURABLE = 104,
    /// The operating system returned an error.
    LODE_IO = 105,
    /// A closure was to write the record that it is changing.
    LODE_REENTERED = 106,
    /// The database keeps no changes.
    LODE_CHANGES_NOT_KEPT = 107,
    /// The changes after a position are not kept any more.
    LODE_CHANGES_GONE = 108,
    /// A position is none of the database.
    LODE_OTHER_POSITION = 109,

    /// A name of an entry or of a property is not possible: it is empty, too long, has a `/`, or is
    /// `.` or `..`.
    LODE_INVALID_NAME = 120,
    /// There is no entry that an operation is to change.
    LODE_NO_ENTRY = 121,
    /// A child of the entry has that name already.
    LODE_NAME_TAKEN = 122,
    /// An entry has children, so it is not unlinked.
    LODE_NOT_EMPTY = 123,
    /// The entry was unlinked since it was opened.
    LODE_GONE = 124,
    /// An entry cannot be moved below itself.
    LODE_INTO_ITSELF = 125,
    /// A property cannot expire as late as that.
    LODE_EXPIRY_TOO_FAR = 126,
    /// The database in a directory is no volume.
    LODE_NOT_A_VOLUME = 127,
    /// The database in a directory has no volume yet.
    LODE_NO_VOLUME = 128,
    /// A volume is mounted in another storage.
    LODE_CLAIMED = 129,
    /// An entry of the volume is mounted at this path already.
    LODE_ALREADY_MOUNTED = 130,
    /// No volume is mounted at a path or above it, or this one is not.
    LODE_NOT_MOUNTED = 131,
    /// Volumes were mounted or unmounted since the entry was opened. Open it again.
    LODE_MOUNTS_CHANGED = 132,
    /// Some volumes of a storage have a change and others do not; the message names them.
    LODE_PARTIAL = 133,
}

use lode_status as is;

/// The statuses with the words for them: those of failures of Lode are `lode::Error::code`.
const WORDS: &[(lode_status, &std::ffi::CStr)] = &[
    (is::LODE_OK, c"ok"),
    (is::LODE_NOT_FOUND, c"not_found"),
    (is::LODE_EXISTS, c"exists"),
    (is::LODE_END, c"end"),
    (is::LODE_BAD_HANDLE, c"bad_handle"),
    (is::LODE_BUSY, c"busy"),
    (is::LODE_BAD_ARGUMENT, c"bad_argument"),
    (is::LODE_NOT_UTF8, c"not_utf8"),
    (is::LODE_TOO_SMALL, c"too_small"),
    (is::LODE_PANIC, c"panic"),
    (is::LODE_OTHER, c"other"),
    (is::LODE_CONFLICT, c"conflict"),
    (is::LODE_SNAPSHOT_TOO_OLD, c"snapshot_too_old"),
    (is::LODE_LOCKED, c"locked"),
    (is::LODE_MOMENT_EXPIRED, c"moment_expired"),
    (is::LODE_FULL, c"full"),
    (is::LODE_DISK_FULL, c"disk_full"),
    (is::LODE_TABLE_FULL, c"table_full"),
    (is::LODE_CATALOGUE_FULL, c"catalogue_full"),
    (is::LODE_DATABASE_FULL, c"database_full"),
    (is::LODE_TRANSACTION_TOO_LARGE, c"transaction_too_large"),
    (is::LODE_TABLE_EXISTS, c"table_exists"),
    (is::LODE_NO_TABLE, c"no_table"),
    (is::LODE_INVALID_SCHEMA, c"invalid_schema"),
    (is::LODE_SCHEMA_TOO_LONG, c"schema_too_long"),
    (is::LODE_OTHER_COLUMNS, c"other_columns"),
    (is::LODE_NO_COLUMN, c"no_column"),
    (is::LODE_VALUE_COUNT, c"value_count"),
    (is::LODE_VALUE_MISFIT, c"value_misfit"),
    (is::LODE_VALUE_TOO_LONG, c"value_too_long"),
    (is::LODE_RECORD_TOO_LONG, c"record_too_long"),
    (is::LODE_BLOB_TOO_LONG, c"blob_too_long"),
    (is::LODE_NOT_PACKED, c"not_packed"),
    (is::LODE_KEY_COLUMN, c"key_column"),
    (is::LODE_NULLABLE_COLUMN, c"nullable_column"),
    (is::LODE_NO_ROOM_IN_COLUMN, c"no_room_in_column"),
    (is::LODE_KEY_CHANGED, c"key_changed"),
    (is::LODE_FIELD_MISFIT, c"field_misfit"),
    (is::LODE_VARIABLE_PAYLOAD, c"variable_payload"),
    (is::LODE_OTHER_DATABASE, c"other_database"),
    (is::LODE_KEY_TOO_LONG, c"key_too_long"),
    (is::LODE_NO_ORDER, c"no_order"),
    (is::LODE_INDEX_EXISTS, c"index_exists"),
    (is::LODE_NO_INDEX, c"no_index"),
    (is::LODE_UNIQUE_VIOLATION, c"unique_violation"),
    (is::LODE_COLUMN_IN_USE, c"column_in_use"),
    (is::LODE_RECORD_MISFIT, c"record_misfit"),
    (is::LODE_CORRUPT, c"corrupt"),
    (is::LODE_FOREIGN_FILE, c"foreign_file"),
    (is::LODE_VERSION, c"version"),
    (is::LODE_NO_DATABASE, c"no_database"),
    (is::LODE_DATABASE_EXISTS, c"database_exists"),
    (is::LODE_NO_BACKUP, c"no_backup"),
    (is::LODE_UNFINISHED_BACKUP, c"unfinished_backup"),
    (is::LODE_NO_FILES, c"no_files"),
    (is::LODE_READ_ONLY, c"read_only"),
    (is::LODE_CLOSED, c"closed"),
    (is::LODE_FORKED, c"forked"),
    (is::LODE_POISONED, c"poisoned"),
    (is::LODE_NOT_DURABLE, c"not_durable"),
    (is::LODE_IO, c"io"),
    (is::LODE_REENTERED, c"reentered"),
    (is::LODE_CHANGES_NOT_KEPT, c"changes_not_kept"),
    (is::LODE_CHANGES_GONE, c"changes_gone"),
    (is::LODE_OTHER_POSITION, c"other_position"),
    (is::LODE_INVALID_NAME, c"invalid_name"),
    (is::LODE_NO_ENTRY, c"no_entry"),
    (is::LODE_NAME_TAKEN, c"name_taken"),
    (is::LODE_NOT_EMPTY, c"not_empty"),
    (is::LODE_GONE, c"gone"),
    (is::LODE_INTO_ITSELF, c"into_itself"),
    (is::LODE_EXPIRY_TOO_FAR, c"expiry_too_far"),
    (is::LODE_NOT_A_VOLUME, c"not_a_volume"),
    (is::LODE_NO_VOLUME, c"no_volume"),
    (is::LODE_CLAIMED, c"claimed"),
    (is::LODE_ALREADY_MOUNTED, c"already_mounted"),
    (is::LODE_NOT_MOUNTED, c"not_mounted"),
    (is::LODE_MOUNTS_CHANGED, c"mounts_changed"),
    (is::LODE_PARTIAL, c"partial"),
];

impl lode_status {
    /// Returns the status of a failure of Lode.
    pub(crate) fn of(error: &Error) -> Self {
        let code = error.code().as_bytes();
        let found = WORDS.iter().find(|(_, word)| word.to_bytes() == code);
        found.map_or(is::LODE_OTHER, |(status, _)| *status)
    }

    /// Returns the status of a failure of a volume.
    pub(crate) fn of_volume(error: &VolumeError) -> Self {
        match error {
            VolumeError::Database(error) => Self::of(error),
            VolumeError::InvalidName { .. } => is::LODE_INVALID_NAME,
            VolumeError::NoEntry { .. } => is::LODE_NO_ENTRY,
            VolumeError::NameTaken { .. } => is::LODE_NAME_TAKEN,
            VolumeError::NotEmpty { .. } => is::LODE_NOT_EMPTY,
            VolumeError::Gone { .. } => is::LODE_GONE,
            VolumeError::IntoItself { .. } => is::LODE_INTO_ITSELF,
            VolumeError::ValueTooLong { .. } => is::LODE_VALUE_TOO_LONG,
            VolumeError::OtherKind { .. } => is::LODE_VALUE_MISFIT,
            VolumeError::ExpiryTooFar { .. } => is::LODE_EXPIRY_TOO_FAR,
            VolumeError::ReadOnly { .. } => is::LODE_READ_ONLY,
            VolumeError::OtherVolume { .. } => is::LODE_OTHER_DATABASE,
            VolumeError::NotAVolume { .. } => is::LODE_NOT_A_VOLUME,
            VolumeError::NoVolume { .. } => is::LODE_NO_VOLUME,
            VolumeError::Layout { .. } => is::LODE_VERSION,
            VolumeError::Corrupt { .. } => is::LODE_CORRUPT,
            VolumeError::Conflict { .. } => is::LODE_CONFLICT,
            VolumeError::Claimed { .. } => is::LODE_CLAIMED,
            VolumeError::AlreadyMounted { .. } => is::LODE_ALREADY_MOUNTED,
            VolumeError::NotMounted { .. } => is::LODE_NOT_MOUNTED,
            VolumeError::MountsChanged { .. } => is::LODE_MOUNTS_CHANGED,
            VolumeError::Partial { .. } => is::LODE_PARTIAL,
            VolumeError::Stream { .. } => is::LODE_IO,
            // Nothing here imports lines.
            _ => is::LODE_OTHER,
        }
    }

    /// Returns the word for a number.
    pub(crate) fn word(number: i32) -> &'static std::ffi::CStr {
        let found = WORDS.iter().find(|(status, _)| *status as i32 == number);
        found.map_or(c"unknown", |(_, word)| word)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The numbers of statuses that errors of `lode` have.
    const OF_LODE: std::ops::Range<i32> = 30..120;

    /// Returns the words for errors in the sources of Lode.
    fn codes() -> Vec<String> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lode/src/error/code.rs");
        let source = std::fs::read_to_string(path).expect("the source of Lode is there");
        let start = source.find("match self {").expect("the list of words");
        let end = source[start..].find("\n        }\n").expect("its end");
        let quoted = source[start..start + end].split('"').skip(1).step_by(2);
        quoted.map(String::from).collect()
    }

    #[test]
    fn each_error_of_lode_has_a_status() {
        let codes = codes();
        assert!(codes.len() > 40, "{codes:?}");
        for code in &codes {
            let known = WORDS.iter().filter(|(_, word)| word.to_bytes() == code.as_bytes());
            assert_eq!(known.count(), 1, "{code} has no status, or several");
        }
        let own = WORDS.iter().filter(|(status, _)| !OF_LODE.contains(&(*status as i32))).count();
        assert_eq!(WORDS.len(), codes.len() + own, "a word is of no error");
    }

    #[test]
    fn each_error_of_volumes_has_a_status() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../lode-volumes/src/error.rs");
        let source = std::fs::read_to_string(path).expect("the source of volumes is there");
        let start = source.find("pub enum Error {").expect("the errors");
        let end = source[start..].find("\n}\n").expect("their end");
        let variants = source[start..start + end].lines().filter_map(|line| {
            let name = line.strip_prefix("    ")?.strip_suffix(" {")?;
            name.starts_with(char::is_uppercase).then_some(name)
        });
        let missing = |name: &&str| {
            !include_str!("status.rs").contains(&format!("VolumeError::{name} {{ .. }} =>"))
        };
        let missing: Vec<_> = variants.filter(missing).collect();
        assert_eq!(missing, ["Line"], "only imports have errors of lines");
    }

    #[test]
    fn each_status_has_a_number_of_its_own_and_a_word() {
        for (status, word) in WORDS {
            assert_eq!(lode_status::word(*status as i32), *word);
        }
        assert_eq!(lode_status::word(-1), c"unknown");
        assert_eq!(lode_status::of(&Error::Closed), lode_status::LODE_CLOSED);
    }
}
