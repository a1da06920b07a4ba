"""Exceptions of Lode."""

from __future__ import annotations


class Error(Exception):
    """A call of Lode that failed.

    ``code`` is a word for the kind of failure, which later versions keep. ``effect`` says what the
    call has done to records: ``"none"``, ``"applied"`` (all of it happened, and the failure came
    after that) or ``"unknown"`` (all of it or none, which shows when the database is opened again).
    """

    code: str = "other"
    effect: str = "none"


class ConflictError(Error):
    """Another writer changed what a transaction has read. Nothing of it has happened: run it again."""


class BusyError(Error):
    """Another thread is using an object that one thread at a time may use."""


class EndedError(Error):
    """A transaction, snapshot or savepoint, or the reader or writer of a blob, has ended."""


class LockedError(Error):
    """The directory is open for writing in another process, or in this one."""


class SpaceError(Error):
    """There is no room: on the disk, in memory, or in a table."""


class SchemaError(Error):
    """A table or column is not there, is there already, or is not possible."""


class DataError(Error, ValueError):
    """A value, key or record does not fit its table; or another argument is not possible."""


class UniqueError(Error):
    """Records have, or were to have, equal values in the columns of a unique index."""


class SnapshotTooOldError(Error):
    """Old pages of a snapshot or iterator have left memory: take a new one. Or the writer has given
    pages of what is open for reading to others: open it again."""


class ChangesGoneError(Error):
    """The changes after a position cannot be read: they are not kept any more, or the position is of
    another database, or was lost in a crash. Take a new copy and continue at its position."""


class ReadOnlyError(Error):
    """What is open for reading only was to be written."""


class ClosedError(Error):
    """The database was closed, or belongs to the process that this one was forked from."""


class CorruptError(Error):
    """A file has not the content that was written to it, or is of another database or version."""


class StorageError(Error, OSError):
    """The operating system failed to read or write, or to make something durable."""


_CLASSES: dict[str, type[Error]] = {
    code: kind
    for kind, codes in {
        ConflictError: "conflict reentered",
        BusyError: "busy",
        EndedError: "ended",
        LockedError: "locked",
        SpaceError: "full disk_full table_full catalogue_full database_full transaction_too_large",
        SchemaError: "table_exists no_table index_exists no_index invalid_schema schema_too_long"
        " other_columns no_column column_in_use",
        UniqueError: "unique_violation",
        DataError: "bad_argument value_count value_misfit value_too_long record_too_long not_packed"
        " record_misfit blob_too_long"
        " key_column nullable_column no_room_in_column key_changed field_misfit variable_payload"
        " other_database key_too_long no_order no_files"
        " changes_not_kept",
        SnapshotTooOldError: "snapshot_too_old moment_expired",
        ChangesGoneError: "changes_gone other_position",
        ReadOnlyError: "read_only",
        ClosedError: "closed forked",
        CorruptError: "corrupt foreign_file version",
        StorageError: "io poisoned not_durable no_database database_exists no_backup"
        " unfinished_backup",
    }.items()
    for code in codes.split()
}


def make(code: str, effect: str, message: str) -> Error:
    """Makes the exception of a failure. Lode's own code calls it."""
    error = _CLASSES.get(code, Error)(message)
    error.code = code
    error.effect = effect
    return error
