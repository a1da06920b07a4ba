/* Lode: an embedded storage engine for typed records.
 *
 * This file is made of the sources in crates/lode-capi/src.
 *
 * What every function does alike:
 *
 * - It returns a lode_status: 0 when it was done, LODE_NOT_FOUND, LODE_EXISTS or LODE_END as an
 *   answer, and from LODE_BAD_HANDLE on a failure. lode_error_message() has the reason, for the
 *   thread that made the call. After a failure, results may have any content unless the
 *   description of the function says more. It has changed nothing unless lode_error_effect() says
 *   so.
 * - It may be called by any thread. Transactions, cursors, lists, changes, and writers and readers of
 *   blobs are used by one thread at a time. None may be called in a signal handler, or in a process
 *   that was forked after a database or a volume was opened.
 * - It calls no function of the program, and keeps no pointer that is passed to it.
 * - A pointer comes with the number of elements, or of bytes, that it leads to; it may be null if
 *   that is 0. Memory that is written to does not overlap what is read. Texts are UTF-8, and need
 *   no zero at their end; LODE_STR("text") passes a text and its bytes.
 * - A structure that has a size may get more fields at its end in later versions. Set it to zeros
 *   first, and pass its sizeof.
 * - A handle that was freed, or never made, is found out: LODE_BAD_HANDLE.
 */


#ifndef LODE_H
#define LODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/**
 * The most bytes of a position.
 */
#define LODE_MOST_POSITION_BYTES 50

/**
 * A change: a record was inserted, replaced or deleted.
 */
#define LODE_CHANGE_RECORD 1

/**
 * A change: a table was created, without records.
 */
#define LODE_CHANGE_CREATE_TABLE 2

/**
 * A change: a table was dropped with its records and indexes. A cleared table is dropped and
 * created.
 */
#define LODE_CHANGE_DROP_TABLE 3

/**
 * A change: a table was altered. Its records, which are not listed, are those of the new columns
 * from then on; the indexes that it has then are created by the changes after this.
 */
#define LODE_CHANGE_ALTER_TABLE 4

/**
 * A change: a secondary index was created, and has an entry for each record.
 */
#define LODE_CHANGE_CREATE_INDEX 5

/**
 * A change: a secondary index was dropped, but not its table.
 */
#define LODE_CHANGE_DROP_INDEX 6

/**
 * The side of a change: a record or a table as it was.
 */
#define LODE_BEFORE 0

/**
 * The side of a change: a record or a table as it is since.
 */
#define LODE_AFTER 1

/**
 * Flag of a column: it is of the key. Columns of the key come first.
 */
#define LODE_KEY 1

/**
 * Flag of a column: it can be null. Columns of the key cannot.
 */
#define LODE_NULLABLE 2

/**
 * A bound of a range: no bound at this end.
 */
#define LODE_UNBOUNDED 0

/**
 * A bound of a range: keys that start with the values are in it.
 */
#define LODE_INCLUDED 1

/**
 * A bound of a range: keys that start with the values are not in it.
 */
#define LODE_EXCLUDED 2

/**
 * Nothing has happened, and nothing will.
 */
#define LODE_EFFECT_NONE 0

/**
 * Everything has happened and stays; the failure came after that.
 */
#define LODE_EFFECT_APPLIED 1

/**
 * The effect can be seen until the database is closed. When it is opened again, all of it is there
 * or none.
 */
#define LODE_EFFECT_UNKNOWN 2

/**
 * Some of the volumes that a storage has mounted have the change and keep it.
 */
#define LODE_EFFECT_PARTIAL 3

/**
 * Opens the database in a directory, and creates one if the directory does not exist or is empty.
 */
#define LODE_OPEN_OR_CREATE 0

/**
 * Opens the database in a directory, which has to exist.
 */
#define LODE_OPEN_EXISTING 1

/**
 * Creates a database in a directory that has none.
 */
#define LODE_CREATE_NEW 2

/**
 * Opens the database in a directory to read it only, as of one moment. Others may do so at the
 * same time, and one process may write.
 */
#define LODE_OPEN_READ_ONLY 3

/**
 * Writes the log by calls of the operating system, never through a mapping of its file. So a
 * failing disk is an error and no signal. Writing takes longer then.
 */
#define LODE_UNMAPPED_LOG 1

/**
 * Gives no space back in the background.
 */
#define LODE_NO_IDLE_COMPACTION 2

/**
 * Ends the keeping of changes that an earlier opening has asked for.
 */
#define LODE_KEEP_NO_CHANGES 4

/**
 * The version of this interface: of the functions, structures and numbers in this header.
 *
 * It goes up when a program that was compiled with an earlier header would no longer work.
 * Functions, statuses and fields at the end of structures that have a size are added without that.
 */
#define LODE_ABI_VERSION 1

/**
 * Access to a mounted volume: reading and writing, unless it was opened to be read only.
 */
#define LODE_MOUNT_WRITE 0

/**
 * Access to a mounted volume: reading only.
 */
#define LODE_MOUNT_READ_ONLY 1

/**
 * The outcome of a call. Zero and the small numbers are answers; all from `LODE_BAD_HANDLE` on are
 * failures, of which `lode_error_message` says more. Later versions keep the numbers and may add
 * others, so treat one that you do not know as a failure.
 */
enum lode_status
#if defined(__cplusplus) || __STDC_VERSION__ >= 202311L
  : int32_t
#endif // defined(__cplusplus) || __STDC_VERSION__ >= 202311L
 {
    /**
     * The call succeeded.
     */
    LODE_OK = 0,
    /**
     * There is no record, entry, property or blob with this key or name.
     */
    LODE_NOT_FOUND = 1,
    /**
     * There is a record with this key already, so it was not inserted.
     */
    LODE_EXISTS = 2,
    /**
     * There are no more rows, names, bytes or changes.
     */
    LODE_END = 3,
    /**
     * A handle was freed already, or was never made.
     */
    LODE_BAD_HANDLE = 10,
    /**
     * Another thread is using a transaction, a cursor or another object that one at a time may
     * use.
     */
    LODE_BUSY = 11,
    /**
     * A pointer is null, or a number is not possible.
     */
    LODE_BAD_ARGUMENT = 12,
    /**
     * A text is not UTF-8.
     */
    LODE_NOT_UTF8 = 13,
    /**
     * A buffer is too small. The call has said how many bytes it needs.
     */
    LODE_TOO_SMALL = 14,
    /**
     * A fault in Lode, which is stopped at this border. Please report it.
     */
    LODE_PANIC = 15,
    /**
     * A failure that this version of the header has no number for.
     */
    LODE_OTHER = 16,
    /**
     * Another writer changed what the transaction had looked up, scanned or was to write. Nothing
     * of it has happened; run it again.
     */
    LODE_CONFLICT = 30,
    /**
     * Old pages of a snapshot or cursor have left memory. Take a new one.
     */
    LODE_SNAPSHOT_TOO_OLD = 31,
    /**
     * The directory is open for writing in another process, or in this one.
     */
    LODE_LOCKED = 32,
    /**
     * The moment that a database opened for reading shows has expired: the writer has given its
     * pages to others. Open it again.
     */
    LODE_MOMENT_EXPIRED = 33,
    /**
     * The memory budget is used up.
     */
    LODE_FULL = 40,
    /**
     * The disk has no space left.
     */
    LODE_DISK_FULL = 41,
    /**
     * A table of hashed keys has the most records that are possible.
     */
    LODE_TABLE_FULL = 42,
    /**
     * There can be no more tables.
     */
    LODE_CATALOGUE_FULL = 43,
    /**
     * The database has the most pages that are possible.
     */
    LODE_DATABASE_FULL = 44,
    /**
     * A transaction would hold more than it may. Commit more often.
     */
    LODE_TRANSACTION_TOO_LARGE = 45,
    /**
     * There is a table of that name already.
     */
    LODE_TABLE_EXISTS = 50,
    /**
     * There is no table of that name, or it was dropped.
     */
    LODE_NO_TABLE = 51,
    /**
     * A schema is not possible.
     */
    LODE_INVALID_SCHEMA = 52,
    /**
     * The records of a schema are too long for a table of its kind.
     */
    LODE_SCHEMA_TOO_LONG = 53,
    /**
     * The columns of a table are others.
     */
    LODE_OTHER_COLUMNS = 54,
    /**
     * There is no such column.
     */
    LODE_NO_COLUMN = 55,
    /**
     * There are more or fewer values than columns.
     */
    LODE_VALUE_COUNT = 56,
    /**
     * A value does not fit its column, or the type of a property.
     */
    LODE_VALUE_MISFIT = 57,
    /**
     * A value is too long for its column, or for a property.
     */
    LODE_VALUE_TOO_LONG = 58,
    /**
     * A record is too long.
     */
    LODE_RECORD_TOO_LONG = 59,
    /**
     * Bytes are no packed key, record or column of the table.
     */
    LODE_NOT_PACKED = 60,
    /**
     * A column of the key cannot be changed.
     */
    LODE_KEY_COLUMN = 61,
    /**
     * A column that can be null cannot be changed by its packed bytes.
     */
    LODE_NULLABLE_COLUMN = 62,
    /**
     * A column has no room for a sum, or is not one of whole numbers.
     */
    LODE_NO_ROOM_IN_COLUMN = 63,
    /**
     * A change cannot change the key.
     */
    LODE_KEY_CHANGED = 64,
    /**
     * A field cannot have the value of its column.
     */
    LODE_FIELD_MISFIT = 65,
    /**
     * The columns after the key have any length.
     */
    LODE_VARIABLE_PAYLOAD = 66,
    /**
     * A table is of another database than the snapshot or transaction.
     */
    LODE_OTHER_DATABASE = 67,
    /**
     * A key is too long for its column.
     */
    LODE_KEY_TOO_LONG = 68,
    /**
     * A table of hashed keys has no order.
     */
    LODE_NO_ORDER = 69,
    /**
     * A table has a secondary index of that name already.
     */
    LODE_INDEX_EXISTS = 70,
    /**
     * A table has no secondary index of that name.
     */
    LODE_NO_INDEX = 71,
    /**
     * Another record has the values that a record was to have in the columns of a unique index.
     */
    LODE_UNIQUE_VIOLATION = 72,
    /**
     * A column cannot be dropped: an index has it.
     */
    LODE_COLUMN_IN_USE = 73,
    /**
     * A table cannot be altered: a record does not fit.
     */
    LODE_RECORD_MISFIT = 74,
    /**
     * A blob has more bytes than a blob can have.
     */
    LODE_BLOB_TOO_LONG = 79,
    /**
     * A file does not have the content that was written to it.
     */
    LODE_CORRUPT = 80,
    /**
     * A file of the directory is of another database.
     */
    LODE_FOREIGN_FILE = 81,
    /**
     * The files are of another version of the format.
     */
    LODE_VERSION = 82,
    /**
     * The directory has no database.
     */
    LODE_NO_DATABASE = 83,
    /**
     * The directory has a database already.
     */
    LODE_DATABASE_EXISTS = 84,
    /**
     * A directory cannot take the backup.
     */
    LODE_NO_BACKUP = 85,
    /**
     * The directory has a backup that was never finished.
     */
    LODE_UNFINISHED_BACKUP = 86,
    /**
     * A database in memory has no files.
     */
    LODE_NO_FILES = 87,
    /**
     * The database was opened for reading only.
     */
    LODE_READ_ONLY = 100,
    /**
     * The database was closed.
     */
    LODE_CLOSED = 101,
    /**
     * This process was forked from the one that opened the database.
     */
    LODE_FORKED = 102,
    /**
     * Writing failed, and the content of the disk is not known any more. Open the database again.
     */
    LODE_POISONED = 103,
    /**
     * The operation has happened and stays, but making it durable failed. Do not repeat it.
     */
    LODE_NOT_DURABLE = 104,
    /**
     * The operating system returned an error.
     */
    LODE_IO = 105,
    /**
     * A closure was to write the record that it is changing.
     */
    LODE_REENTERED = 106,
    /**
     * The database keeps no changes.
     */
    LODE_CHANGES_NOT_KEPT = 107,
    /**
     * The changes after a position are not kept any more.
     */
    LODE_CHANGES_GONE = 108,
    /**
     * A position is none of the database.
     */
    LODE_OTHER_POSITION = 109,
    /**
     * A name of an entry or of a property is not possible: it is empty, too long, has a `/`, or is
     * `.` or `..`.
     */
    LODE_INVALID_NAME = 120,
    /**
     * There is no entry that an operation is to change.
     */
    LODE_NO_ENTRY = 121,
    /**
     * A child of the entry has that name already.
     */
    LODE_NAME_TAKEN = 122,
    /**
     * An entry has children, so it is not unlinked.
     */
    LODE_NOT_EMPTY = 123,
    /**
     * The entry was unlinked since it was opened.
     */
    LODE_GONE = 124,
    /**
     * An entry cannot be moved below itself.
     */
    LODE_INTO_ITSELF = 125,
    /**
     * A property cannot expire as late as that.
     */
    LODE_EXPIRY_TOO_FAR = 126,
    /**
     * The database in a directory is no volume.
     */
    LODE_NOT_A_VOLUME = 127,
    /**
     * The database in a directory has no volume yet.
     */
    LODE_NO_VOLUME = 128,
    /**
     * A volume is mounted in another storage.
     */
    LODE_CLAIMED = 129,
    /**
     * An entry of the volume is mounted at this path already.
     */
    LODE_ALREADY_MOUNTED = 130,
    /**
     * No volume is mounted at a path or above it, or this one is not.
     */
    LODE_NOT_MOUNTED = 131,
    /**
     * Volumes were mounted or unmounted since the entry was opened. Open it again.
     */
    LODE_MOUNTS_CHANGED = 132,
    /**
     * Some volumes of a storage have a change and others do not; the message names them.
     */
    LODE_PARTIAL = 133,
};
#ifndef __cplusplus
#if __STDC_VERSION__ >= 202311L
typedef enum lode_status lode_status;
#else
typedef int32_t lode_status;
#endif // __STDC_VERSION__ >= 202311L
#endif // __cplusplus

/**
 * An open database. Any number of threads may use one at the same time.
 *
 * All handles are passed by value, and one of zeros is none. Each is freed once, by `lode_close`
 * for a database. A call with a handle that was freed returns `LODE_BAD_HANDLE`; a thread that is
 * in a call with it at that moment finishes the call. Handles are worthless in a forked process.
 */
typedef struct lode_database {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_database;

/**
 * A blob store: values of up to 4 GiB under keys of any bytes, written and read as streams. Any
 * number of threads may use one at the same time. Freed by `lode_free_blobs`.
 */
typedef struct lode_blobs {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_blobs;

/**
 * The keys of a blob store, one after another. One thread at a time may use one; another gets
 * `LODE_BUSY`. Freed by `lode_free_blob_list`.
 */
typedef struct lode_blob_list {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_blob_list;

/**
 * A blob that is being read. One thread at a time may use one; another gets `LODE_BUSY`. Freed by
 * `lode_free_blob_reader`.
 */
typedef struct lode_blob_reader {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_blob_reader;

/**
 * A blob that is being written. One thread at a time may use one; another gets `LODE_BUSY`. It
 * ends with `lode_finish_blob` or `lode_free_blob_writer`, which free the handle.
 */
typedef struct lode_blob_writer {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_blob_writer;

/**
 * The changes of a database, commit by commit, in the order in which they happened. One thread at
 * a time may use one; another gets `LODE_BUSY`. Freed by `lode_free_changes`.
 */
typedef struct lode_changes {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_changes;

/**
 * Bytes somewhere in memory. The pointer may be null if there are none.
 */
typedef struct lode_bytes {
    /**
     * The first byte.
     */
    const void *data;
    /**
     * The number of bytes.
     */
    size_t size;
} lode_bytes;

/**
 * A change of a commit. Names and bytes are memory of the reader of changes, and stay until the
 * next `lode_next_commit` with it.
 */
typedef struct lode_change {
    /**
     * One of the numbers from `LODE_CHANGE_RECORD` on.
     */
    uint32_t kind;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * The name of the table, in UTF-8; of an altered one, the name before.
     */
    struct lode_bytes table;
    /**
     * The name of an altered table from then on.
     */
    struct lode_bytes new_table;
    /**
     * The name of an index that was created or dropped.
     */
    struct lode_bytes index;
    /**
     * The packed key of a record.
     */
    struct lode_bytes key;
    /**
     * The packed record as it was; null if it was inserted.
     */
    struct lode_bytes before;
    /**
     * The packed record as it is since; null if it was deleted.
     */
    struct lode_bytes after;
    /**
     * The number of columns of the table; of an altered one, from then on.
     */
    size_t columns;
    /**
     * The number of columns of its key, which come first.
     */
    size_t key_columns;
} lode_change;

/**
 * The kind of a value: one of the numbers `LODE_NULL` to `LODE_DECIMAL`.
 */
typedef uint32_t lode_kind;

/**
 * A signed number of 128 bits in two's complement.
 */
typedef struct lode_i128 {
    /**
     * The lower 64 bits.
     */
    uint64_t low;
    /**
     * The higher 64 bits, with the sign.
     */
    int64_t high;
} lode_i128;

/**
 * The content of a value, by its kind.
 */
typedef union lode_data {
    /**
     * Of `LODE_UNSIGNED`.
     */
    uint64_t u;
    /**
     * Of `LODE_SIGNED` and `LODE_TIMESTAMP`.
     */
    int64_t i;
    /**
     * Of `LODE_FLOAT`.
     */
    double f;
    /**
     * Of `LODE_BOOL`.
     */
    uint8_t b;
    /**
     * Of `LODE_TEXT` and `LODE_BYTES`.
     */
    struct lode_bytes bytes;
    /**
     * Of `LODE_DECIMAL`: the number without its point, 1230 of 12.30.
     */
    struct lode_i128 decimal;
} lode_data;

/**
 * A value of a column. The functions `lode_u64`, `lode_i64`, `lode_f64`, `lode_bool`,
 * `lode_timestamp`, `lode_text`, `lode_blob`, `lode_decimal` and `lode_null` make one.
 *
 * A column of whole numbers, timestamps or decimals takes signed and unsigned numbers alike if
 * they fit. A text or bytes that a call gives out point to memory of which that call's description
 * says how long it stays; one that is passed in is read during the call only.
 */
typedef struct lode_value {
    /**
     * The kind of the value.
     */
    lode_kind kind;
    /**
     * Digits after the point, of a decimal.
     */
    uint32_t scale;
    /**
     * The content.
     */
    union lode_data data;
} lode_value;

/**
 * The type of a column: one of the numbers `LODE_TYPE_U8` to `LODE_TYPE_DECIMAL`.
 */
typedef uint32_t lode_type;

/**
 * A column of a table. `LODE_COLUMN` makes one of constants.
 */
typedef struct lode_column {
    /**
     * The name, in UTF-8.
     */
    const char *name;
    /**
     * The bytes of the name, without a zero at its end.
     */
    size_t name_size;
    /**
     * The type.
     */
    lode_type type;
    /**
     * The bytes of a text or of bytes, or the digits of a decimal; 0 for other types.
     */
    uint32_t size;
    /**
     * Digits after the point of a decimal; 0 for other types.
     */
    uint32_t scale;
    /**
     * The sum of `LODE_KEY` and `LODE_NULLABLE`, or 0.
     */
    uint32_t flags;
} lode_column;

/**
 * A table. Any number of threads may use one at the same time. Freed by `lode_free_table`.
 */
typedef struct lode_table {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_table;

/**
 * The state that a read sees: the records as they are now (`LODE_NOW`), as of a snapshot
 * (`lode_at(snapshot)`), or as a transaction sees them (`lode_within(transaction)`). It is no
 * handle of its own: the snapshot or transaction is freed, the view is not.
 */
typedef struct lode_view {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_view;

/**
 * The rows and columns that a cursor reads. One of zeros is all rows: `lode_range range = {0};`.
 *
 * A bound is the values of the first columns of the key, all or some. So the keys with a prefix
 * are a range with it as both bounds, each `LODE_INCLUDED`.
 */
typedef struct lode_range {
    /**
     * The values of the lower bound.
     */
    const struct lode_value *lower;
    /**
     * The number of these values.
     */
    size_t lower_count;
    /**
     * The values of the upper bound.
     */
    const struct lode_value *upper;
    /**
     * The number of these values.
     */
    size_t upper_count;
    /**
     * The places of the columns that rows have, in this order; null for all columns.
     */
    const size_t *columns;
    /**
     * The number of these columns; 0 for all columns.
     */
    size_t columns_count;
    /**
     * The most rows; 0 for any number.
     */
    uint64_t limit;
    /**
     * `LODE_UNBOUNDED`, `LODE_INCLUDED` or `LODE_EXCLUDED`.
     */
    uint32_t lower_bound;
    /**
     * `LODE_UNBOUNDED`, `LODE_INCLUDED` or `LODE_EXCLUDED`.
     */
    uint32_t upper_bound;
    /**
     * 1 to read from the last key to the first, or else 0.
     */
    uint32_t backward;
    /**
     * Zero.
     */
    uint32_t reserved;
} lode_range;

/**
 * The rows of a table, or of a range of keys, one after another. One thread at a time may use one;
 * another gets `LODE_BUSY`. Freed by `lode_free_cursor`.
 */
typedef struct lode_cursor {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_cursor;

/**
 * Which crashes finished operations survive: one of the numbers from `LODE_DURABILITY_NONE` on. In
 * options, 0 is the default, `LODE_DURABILITY_COMMIT`.
 */
typedef uint32_t lode_durability;

/**
 * Options of opening a database. One of zeros has the defaults: `lode_options options = {0};`.
 */
typedef struct lode_options {
    /**
     * The memory budget in bytes: what pages, transactions and snapshots take up together. 0 is
     * half of what the process may take up.
     */
    uint64_t memory_bytes;
    /**
     * The most bytes of the log before writers wait for a checkpoint; 0 is 1 GiB.
     */
    uint64_t log_bytes;
    /**
     * The most bytes of a segment of the log; 0 is 16 MiB.
     */
    uint64_t segment_bytes;
    /**
     * The time between syncs at level `LODE_DURABILITY_PERIODIC`, in microseconds; 0 is 100,000.
     */
    uint64_t sync_interval_us;
    /**
     * The level of durability; 0 is `LODE_DURABILITY_COMMIT`.
     */
    lode_durability durability;
    /**
     * `LODE_OPEN_OR_CREATE`, `LODE_OPEN_EXISTING`, `LODE_CREATE_NEW` or `LODE_OPEN_READ_ONLY`. In
     * memory it has to be `LODE_OPEN_OR_CREATE`.
     */
    uint32_t mode;
    /**
     * The sum of some of `LODE_UNMAPPED_LOG`, `LODE_NO_IDLE_COMPACTION` and
     * `LODE_KEEP_NO_CHANGES`, or 0.
     */
    uint32_t flags;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * Keeps changes for `lode_open_changes`: at least the newest of as many bytes of the log, in
     * whole MiB. The database remembers it for later openings; 0 leaves it as it was. A database
     * in memory, or at level `LODE_DURABILITY_NONE`, keeps none.
     *
     * A write of one record is a commit then, next to no other write, and the log is about twice
     * as long.
     */
    uint64_t kept_changes_bytes;
} lode_options;

/**
 * The sizes of a backup, in bytes.
 */
typedef struct lode_backup_sizes {
    /**
     * Bytes of pages that the database has.
     */
    uint64_t total_bytes;
    /**
     * Bytes of pages that were copied, since the backup before had others.
     */
    uint64_t copied_bytes;
} lode_backup_sizes;

/**
 * The space that a database takes up, in bytes.
 */
typedef struct lode_statistics {
    /**
     * Pages in memory.
     */
    uint64_t page_bytes;
    /**
     * Pages that have changed since they were written to the data file.
     */
    uint64_t changed_bytes;
    /**
     * Old images of pages, for snapshots and the checkpoint.
     */
    uint64_t snapshot_bytes;
    /**
     * Memory that transactions hold.
     */
    uint64_t transaction_bytes;
    /**
     * The data file, without holes in it.
     */
    uint64_t data_bytes;
    /**
     * The part of the data file that is in use.
     */
    uint64_t data_used_bytes;
    /**
     * Pages that were read from the data file since it was opened.
     */
    uint64_t data_read_bytes;
    /**
     * Pages that were written to the data file since then.
     */
    uint64_t data_written_bytes;
    /**
     * The log that would have to be replayed after a crash.
     */
    uint64_t log_bytes;
} lode_statistics;

/**
 * The place of a payload among those of several: its first byte, and its bytes. `start` is
 * `LODE_MISSING` if there is no such record.
 */
typedef struct lode_place {
    /**
     * The first byte, counted from the start of all payloads.
     */
    size_t start;
    /**
     * The number of bytes.
     */
    size_t size;
} lode_place;

/**
 * All tables as they were at one moment. Any number of threads may use one at the same time. Freed
 * by `lode_free_snapshot`.
 */
typedef struct lode_snapshot {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_snapshot;

/**
 * The way in which a table finds its records: `LODE_HASHED` or `LODE_ORDERED`.
 */
typedef uint32_t lode_key_kind;

/**
 * The sizes of records and keys of a table. Bytes are those of packed ones.
 */
typedef struct lode_table_sizes {
    /**
     * The number of columns.
     */
    uint64_t columns;
    /**
     * The number of columns of the key, which come first.
     */
    uint64_t key_columns;
    /**
     * `LODE_HASHED` or `LODE_ORDERED`.
     */
    uint64_t key_kind;
    /**
     * The fewest bytes of a key.
     */
    uint64_t key_bytes;
    /**
     * The most bytes of a key.
     */
    uint64_t most_key_bytes;
    /**
     * The fewest bytes of a payload, which is a record without its key.
     */
    uint64_t payload_bytes;
    /**
     * The most bytes of a payload.
     */
    uint64_t most_payload_bytes;
} lode_table_sizes;

/**
 * A transaction. One thread at a time may use one; another gets `LODE_BUSY`. It ends with
 * `lode_commit`, `lode_commit_with` or `lode_roll_back`, which free the handle.
 */
typedef struct lode_transaction {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_transaction;

/**
 * Options of opening a volume. One of zeros has the defaults:
 * `lode_volume_options options = {0};`.
 */
typedef struct lode_volume_options {
    /**
     * The memory budget of the volume's database in bytes; 0 is half of what the process may take
     * up.
     */
    uint64_t memory_bytes;
    /**
     * The most bytes of the log before writers wait for a checkpoint; 0 is 1 GiB.
     */
    uint64_t log_bytes;
    /**
     * The most bytes of a segment of the log; 0 is 16 MiB.
     */
    uint64_t segment_bytes;
    /**
     * The time between syncs at level `LODE_DURABILITY_PERIODIC`, in microseconds; 0 is 100,000.
     */
    uint64_t sync_interval_us;
    /**
     * The level of durability; 0 is `LODE_DURABILITY_COMMIT`. In memory nothing is durable.
     */
    lode_durability durability;
    /**
     * `LODE_OPEN_OR_CREATE`, `LODE_OPEN_EXISTING` or `LODE_OPEN_READ_ONLY`. In memory it has to be
     * `LODE_OPEN_OR_CREATE`.
     */
    uint32_t mode;
    /**
     * The sum of `LODE_UNMAPPED_LOG` and `LODE_NO_IDLE_COMPACTION`, or 0.
     */
    uint32_t flags;
    /**
     * Zero.
     */
    uint32_t reserved;
    /**
     * The interval at which expired properties are removed in the background, in microseconds; 0
     * is 1,000,000. No reader sees them before that either.
     */
    uint64_t sweep_interval_us;
    /**
     * The number of entries that are kept open in memory beyond those of handles; 0 is 4,096.
     */
    uint64_t open_entries;
    /**
     * The bytes of values that are kept with open entries; 0 is 64 MiB.
     */
    uint64_t cache_bytes;
    /**
     * The volume's name in messages, in UTF-8; null for its directory, or `memory`.
     */
    const char *name;
    /**
     * The bytes of the name.
     */
    size_t name_size;
} lode_volume_options;

/**
 * A volume: a tree of entries with typed properties, in a database of its own. Any number of
 * threads may use one at the same time. Freed by `lode_close_volume`.
 */
typedef struct lode_volume {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_volume;

/**
 * An entry of a volume or of a storage: properties, and children under names. Any number of
 * threads may use one at the same time. Freed by `lode_free_entry`.
 *
 * All handles of an entry are of one object in memory, where properties are read without a lookup
 * in a table. So keep the handle of an entry that is used often.
 */
typedef struct lode_entry {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_entry;

/**
 * The names of the children of an entry, one after another. One thread at a time may use one;
 * another gets `LODE_BUSY`. Freed by `lode_free_links`.
 */
typedef struct lode_links {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_links;

/**
 * The properties of an entry, one after another. One thread at a time may use one; another gets
 * `LODE_BUSY`. Freed by `lode_free_properties`.
 */
typedef struct lode_properties {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_properties;

/**
 * Several volumes that are mounted at paths, and read and written as one tree. Any number of
 * threads may use one at the same time. Freed by `lode_free_storage`.
 *
 * - Of several volumes at one path, a property is read from the one with the highest priority that
 *   has it; of those with one priority, from the one that was mounted first.
 * - Children are those of all of them.
 * - A write goes to all that are mounted for writing. An entry that one of them has not is made
 *   there. If some fail, the write returns `LODE_PARTIAL`.
 * - Only the mounts at the longest path that a path starts with count for it.
 */
typedef struct lode_storage {
    /**
     * A number that means something to Lode only.
     */
    uint64_t id;
} lode_storage;

/**
 * How a volume is mounted. One of zeros mounts all of it, for writing: `lode_mount mount = {0};`.
 */
typedef struct lode_mount {
    /**
     * The path of the entry of the volume that is mounted, in UTF-8; null for "/".
     */
    const char *entry;
    /**
     * The bytes of this path.
     */
    size_t entry_size;
    /**
     * The priority: the higher, the earlier the volume is asked for a property.
     */
    int32_t priority;
    /**
     * `LODE_MOUNT_WRITE` or `LODE_MOUNT_READ_ONLY`.
     */
    uint32_t access;
} lode_mount;

/**
 * By a hash of the key: the fastest for single records. There are no ranges.
 */
#define LODE_HASHED 1

/**
 * By the order of keys: with ranges, in both directions.
 */
#define LODE_ORDERED 2

/**
 * None: a crash goes back to the last checkpoint.
 */
#define LODE_DURABILITY_NONE 1

/**
 * A killed process. A crash of the machine may lose the last ones.
 */
#define LODE_DURABILITY_PROCESS 2

/**
 * A killed process; a crash of the machine loses those of the last interval at most.
 */
#define LODE_DURABILITY_PERIODIC 3

/**
 * All: no finished operation is lost.
 */
#define LODE_DURABILITY_COMMIT 4

/**
 * No value.
 */
#define LODE_NULL 0

/**
 * A whole number without a sign, in `data.u`.
 */
#define LODE_UNSIGNED 1

/**
 * A whole number with a sign, in `data.i`.
 */
#define LODE_SIGNED 2

/**
 * A floating-point number, in `data.f`.
 */
#define LODE_FLOAT 3

/**
 * True (1) or false (0), in `data.b`.
 */
#define LODE_BOOL 4

/**
 * Microseconds since the start of 1970, in `data.i`.
 */
#define LODE_TIMESTAMP 5

/**
 * UTF-8 without a zero at its end, in `data.bytes`.
 */
#define LODE_TEXT 6

/**
 * Bytes, in `data.bytes`; also a stored text that is not UTF-8.
 */
#define LODE_BYTES 7

/**
 * An exact decimal number, in `data.decimal`, with `scale` of its digits after the point.
 */
#define LODE_DECIMAL 8

/**
 * 8 bits, unsigned.
 */
#define LODE_TYPE_U8 1

/**
 * 16 bits, unsigned.
 */
#define LODE_TYPE_U16 2

/**
 * 32 bits, unsigned.
 */
#define LODE_TYPE_U32 3

/**
 * 64 bits, unsigned.
 */
#define LODE_TYPE_U64 4

/**
 * 8 bits, signed.
 */
#define LODE_TYPE_I8 5

/**
 * 16 bits, signed.
 */
#define LODE_TYPE_I16 6

/**
 * 32 bits, signed.
 */
#define LODE_TYPE_I32 7

/**
 * 64 bits, signed.
 */
#define LODE_TYPE_I64 8

/**
 * 32 bits, IEEE 754.
 */
#define LODE_TYPE_F32 9

/**
 * 64 bits, IEEE 754.
 */
#define LODE_TYPE_F64 10

/**
 * False or true, in a byte.
 */
#define LODE_TYPE_BOOL 11

/**
 * Microseconds since the start of 1970, in 64 bits with a sign.
 */
#define LODE_TYPE_TIMESTAMP 12

/**
 * UTF-8 of at most `size` bytes, filled up with zeros.
 */
#define LODE_TYPE_TEXT 13

/**
 * Exactly `size` bytes.
 */
#define LODE_TYPE_BYTES 14

/**
 * UTF-8 of at most `size` bytes, stored in its own length.
 */
#define LODE_TYPE_VAR_TEXT 15

/**
 * At most `size` bytes.
 */
#define LODE_TYPE_VAR_BYTES 16

/**
 * An exact decimal number of `size` digits, 1 to 38, `scale` of them after the point.
 */
#define LODE_TYPE_DECIMAL 17

/**
 * Type of a property: the widest that its value has. It is of a call that sets a property only.
 */
#define LODE_TYPE_WIDEST 0

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

/**
 * Creates a blob store, which is written to `blobs` and freed with `lode_free_blobs`. `name` is
 * UTF-8 of `name_size` bytes. The store is kept in the tables NAME.blobs, NAME.chunks and
 * NAME.pending, which are to be written by the functions of blobs only.
 *
 * Returns `LODE_TABLE_EXISTS` when there is such a store or another table of these names; and as
 * `lode_create_table`.
 */
lode_status lode_create_blobs(struct lode_database database,
                              const char *name,
                              size_t name_size,
                              struct lode_blobs *blobs);

/**
 * Opens the blob store with a name, which is written to `blobs` and freed with `lode_free_blobs`.
 * `name` is UTF-8 of `name_size` bytes. What an ended process has not finished is removed by the
 * first write or removal.
 *
 * Returns `LODE_NO_TABLE` when no store has the name; `LODE_OTHER_COLUMNS`, `LODE_NO_ORDER` when
 * its tables were altered; and as `lode_open_table`.
 */
lode_status lode_open_blobs(struct lode_database database,
                            const char *name,
                            size_t name_size,
                            struct lode_blobs *blobs);

/**
 * Drops a blob store with all blobs. `name` is UTF-8 of `name_size` bytes. Handles, writers and
 * readers of it return `LODE_NO_TABLE` then.
 *
 * Returns `LODE_NO_TABLE`; `LODE_OTHER_COLUMNS`, `LODE_NO_ORDER` when a table of its names is none
 * of a store; and as `lode_drop_table`. After a failure of writing, call it again to drop what is
 * left.
 */
lode_status lode_drop_blobs(struct lode_database database, const char *name, size_t name_size);

/**
 * Frees the handle of a blob store. The store stays, and so do writers, readers and lists of it.
 */
lode_status lode_free_blobs(struct lode_blobs blobs);

/**
 * Writes the number of bytes of the blob with a key to `length_bytes`. `key` has `key_size` bytes.
 *
 * Returns `LODE_NOT_FOUND` when there is no such blob; `LODE_NO_TABLE` when the store was dropped;
 * `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`. All reads of blobs may return these.
 */
lode_status lode_blob_length(struct lode_blobs blobs,
                             const void *key,
                             size_t key_size,
                             uint64_t *length_bytes);

/**
 * Removes the blob with a key of `key_size` bytes. Those who are reading it read on.
 *
 * Returns `LODE_NOT_FOUND` when there is no such blob; and as `lode_finish_blob`.
 */
lode_status lode_remove_blob(struct lode_blobs blobs, const void *key, size_t key_size);

/**
 * Opens a list of the blobs whose keys start with `prefix`, which has `prefix_size` bytes, in the
 * order of their keys. Null and 0 are all blobs. It is written to `list`, and freed with
 * `lode_free_blob_list`. It shows the store as it was when it was opened.
 *
 * A failure such as `LODE_CLOSED` comes in the place of the first key.
 */
lode_status lode_open_blob_list(struct lode_blobs blobs,
                                const void *prefix,
                                size_t prefix_size,
                                struct lode_blob_list *list);

/**
 * Reads the next key of a list. Writes a pointer to it to `key`, its bytes to `key_size`, and
 * those of its blob to `length_bytes`, which may be null. The key is memory of the list, and stays
 * until the next call with it.
 *
 * Returns `LODE_END` after the last; `LODE_NO_TABLE` when the store was dropped;
 * `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`.
 */
lode_status lode_next_blob(struct lode_blob_list list,
                           const void **key,
                           size_t *key_size,
                           uint64_t *length_bytes);

/**
 * Frees a list of blobs.
 */
lode_status lode_free_blob_list(struct lode_blob_list list);

/**
 * Reads a part of the blob with a key of `key_size` bytes: those from the offset `from` on, as far
 * as there are any and `buffer` has room, which is for `capacity` bytes. Writes the number of
 * bytes that were read to `size`, and those of the whole blob to `length_bytes`, which may be
 * null.
 *
 * Returns `LODE_NOT_FOUND` when there is no such blob, with 0 in `size`; and as
 * `lode_blob_length`.
 */
lode_status lode_get_blob(struct lode_blobs blobs,
                          const void *key,
                          size_t key_size,
                          uint64_t from,
                          void *buffer,
                          size_t capacity,
                          size_t *size,
                          uint64_t *length_bytes);

/**
 * Opens a reader of the blob with a key of `key_size` bytes, at its first byte. It is written to
 * `reader`, and freed with `lode_free_blob_reader`.
 *
 * It reads the blob that was found, also when that is replaced or removed later; the space of that
 * is free for others when its last reader is freed. A reader holds 64 KiB in memory, besides the
 * memory budget.
 *
 * Returns `LODE_NOT_FOUND`; and as `lode_blob_length`.
 */
lode_status lode_open_blob_reader(struct lode_blobs blobs,
                                  const void *key,
                                  size_t key_size,
                                  struct lode_blob_reader *reader);

/**
 * Reads the next bytes of a blob to `buffer`, which has room for `capacity` bytes, and writes
 * their number to `size`. They are fewer than `capacity` at the end of the blob only.
 *
 * Returns `LODE_END` after the last byte, with 0 in `size`; `LODE_NO_TABLE` when the store was
 * dropped; `LODE_MOMENT_EXPIRED`, `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`: nothing was read then,
 * and the next call tries again.
 */
lode_status lode_read_blob(struct lode_blob_reader reader,
                           void *buffer,
                           size_t capacity,
                           size_t *size);

/**
 * Sets the offset from which a reader reads next. It may be after the end of the blob.
 */
lode_status lode_seek_blob(struct lode_blob_reader reader, uint64_t offset);

/**
 * Writes the number of bytes of the blob that a reader reads to `length_bytes`.
 */
lode_status lode_blob_reader_length(struct lode_blob_reader reader, uint64_t *length_bytes);

/**
 * Frees a reader.
 */
lode_status lode_free_blob_reader(struct lode_blob_reader reader);

/**
 * Writes a blob of `size` bytes at once, in the place of one with its key of `key_size` bytes. As
 * `lode_finish_blob` otherwise; `LODE_KEY_TOO_LONG`.
 */
lode_status lode_put_blob(struct lode_blobs blobs,
                          const void *key,
                          size_t key_size,
                          const void *data,
                          size_t size);

/**
 * Starts to write a blob with a key of `key_size` bytes. The writer is written to `writer`, and
 * ends with `lode_finish_blob` or `lode_free_blob_writer`.
 *
 * Nobody sees anything of the blob before `lode_finish_blob`. Of several writers of one key, the
 * last one to finish counts. A writer holds 64 KiB in memory, besides the memory budget.
 *
 * Returns `LODE_KEY_TOO_LONG`, `LODE_READ_ONLY`, `LODE_CLOSED`, `LODE_NO_TABLE`.
 */
lode_status lode_open_blob_writer(struct lode_blobs blobs,
                                  const void *key,
                                  size_t key_size,
                                  struct lode_blob_writer *writer);

/**
 * Adds `size` bytes to the end of a blob that is being written. Writes the number of bytes that
 * were taken to `taken`, which may be null. They are fewer than `size` after a failure only; the
 * others may be passed again.
 *
 * Returns `LODE_BLOB_TOO_LONG` for more than 4 GiB in all; `LODE_NO_TABLE` when the store was
 * dropped; `LODE_FULL`, `LODE_DISK_FULL`, `LODE_CLOSED`, `LODE_POISONED`, `LODE_IO`.
 */
lode_status lode_write_blob(struct lode_blob_writer writer,
                            const void *data,
                            size_t size,
                            size_t *taken);

/**
 * Puts a blob that was written in the place of the one before with its key, in one commit, and
 * frees the writer, whatever it returns but `LODE_BUSY`. When this returns, the blob is as durable
 * as commits are.
 *
 * Returns `LODE_BLOB_TOO_LONG` when more than 4 GiB were to be written; and as `lode_commit`. The
 * blob before stays then, unless `lode_error_effect` says otherwise.
 */
lode_status lode_finish_blob(struct lode_blob_writer writer);

/**
 * Frees a writer that was not finished. The key has the blob that it had before.
 */
lode_status lode_free_blob_writer(struct lode_blob_writer writer);

/**
 * Writes the position after all changes that ended before this call to `position`, which has room
 * for `position_capacity` bytes, and its bytes to `position_size`: at most
 * `LODE_MOST_POSITION_BYTES`. No zero ends it. It is a text that can be kept anywhere, such as
 * "12-8192-00c0ffee".
 *
 * In a database that is open to be read only it is that of the moment which the database shows.
 *
 * Returns `LODE_CHANGES_NOT_KEPT` unless `kept_changes_bytes` of the options, now or earlier, have
 * asked for changes; `LODE_CHANGES_GONE` when those after that moment are not kept any more;
 * `LODE_TOO_SMALL`; `LODE_CLOSED`, `LODE_POISONED`, `LODE_IO`.
 */
lode_status lode_position(struct lode_database database,
                          char *position,
                          size_t position_capacity,
                          size_t *position_size);

/**
 * Opens a reader of the changes of a database since a position, which is a text of `since_size`
 * bytes; null and 0 are all changes that are kept. It is written to `changes`, and freed with
 * `lode_free_changes`.
 *
 * It reads the files of the log, and no writer waits for it. It looks through the log from the
 * position on first.
 *
 * Returns `LODE_CHANGES_NOT_KEPT`; `LODE_CHANGES_GONE` when the changes after the position are not
 * kept any more; `LODE_OTHER_POSITION` when it is none of this database; `LODE_BAD_ARGUMENT` for a
 * text that is no position; `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_VERSION`, `LODE_IO`.
 */
lode_status lode_open_changes(struct lode_database database,
                              const char *since,
                              size_t since_size,
                              struct lode_changes *changes);

/**
 * Reads the next commit, which is what happened together: a single operation, a transaction, or
 * records written together. Writes the number of its changes to `count`; `lode_get_change` has
 * each. They may be there before they are durable: call `lode_sync_changes` before acting on them.
 *
 * To repeat a commit in a copy, in one transaction: delete the changed records by their keys, then
 * insert those that are there after the last change of each key.
 *
 * Returns `LODE_END` after the last commit so far: call it again later; `LODE_CHANGES_GONE` when
 * the reader has fallen behind so far that what comes next is not kept any more;
 * `LODE_OTHER_POSITION` when a crash of the machine has taken back what was read; `LODE_CORRUPT`,
 * `LODE_VERSION`, `LODE_IO`. The next call tries again.
 */
lode_status lode_next_commit(struct lode_changes changes, size_t *count);

/**
 * Writes the change at a place in the commit that was read last, counted from 0, to `change`,
 * which has `change_size` bytes (`sizeof(lode_change)`). Changes are in their order; a record may
 * be changed more than once.
 *
 * Returns `LODE_END` after the last.
 */
lode_status lode_get_change(struct lode_changes changes,
                            size_t at,
                            struct lode_change *change,
                            size_t change_size);

/**
 * Reads the record of a change as it was (`LODE_BEFORE`) or as it is since (`LODE_AFTER`). Writes
 * the values of all columns to `values`, which has room for `count`, one for each column. Texts
 * and bytes are memory of the reader of changes, and stay until the next `lode_next_commit` with
 * it.
 *
 * Returns `LODE_NOT_FOUND` when there was no record on that side, or the change is none of a
 * record; `LODE_END` after the last change; `LODE_VALUE_COUNT`.
 */
lode_status lode_unpack_change(struct lode_changes changes,
                               size_t at,
                               uint32_t side,
                               struct lode_value *values,
                               size_t count);

/**
 * Writes the description of a column of the table of a change to `description`: the one at the
 * place `column`, counted from 0. Of an altered table, `side` says whether it is the table as it
 * was or since; another table has the columns that it had when the commit happened. The name is
 * memory of the reader of changes, and stays until the next `lode_next_commit` with it.
 *
 * Returns `LODE_NO_COLUMN`; `LODE_END` after the last change.
 */
lode_status lode_get_change_column(struct lode_changes changes,
                                   size_t at,
                                   uint32_t side,
                                   size_t column,
                                   struct lode_column *description);

/**
 * Writes the position after what a reader of changes has read to `position`, as `lode_position`
 * does. `lode_open_changes` continues there.
 */
lode_status lode_reached_position(struct lode_changes changes,
                                  char *position,
                                  size_t position_capacity,
                                  size_t *position_size);

/**
 * Makes all that a reader of changes has read durable in the database, whatever its level is: then
 * no crash of its machine can take back what a copy of it has.
 *
 * Returns `LODE_IO`.
 */
lode_status lode_sync_changes(struct lode_changes changes);

/**
 * Frees a reader of changes.
 */
lode_status lode_free_changes(struct lode_changes changes);

/**
 * Opens a cursor over the rows that `view` sees in a table, which is written to `cursor` and freed
 * with `lode_free_cursor`.
 *
 * `range` may be null for all rows; else `range_size` is `sizeof(lode_range)`. Rows are in the
 * order of keys; in a table of hashed keys they are in no order, and there are no bounds.
 *
 * A cursor sees the table as it was when it was opened, whatever is written later. It needs
 * neither its table's handle nor its snapshot or transaction to stay; of a transaction it has the
 * writes until then. It keeps old pages as a snapshot does, until it is freed.
 *
 * Returns `LODE_VALUE_COUNT`, `LODE_VALUE_MISFIT`, `LODE_KEY_TOO_LONG` and `LODE_NO_COLUMN` when
 * the range is not possible. `LODE_NO_ORDER`, `LODE_NO_TABLE`, `LODE_OTHER_DATABASE` and
 * `LODE_CLOSED` come in the place of the first row.
 */
lode_status lode_open_cursor(struct lode_table table,
                             struct lode_view view,
                             const struct lode_range *range,
                             size_t range_size,
                             struct lode_cursor *cursor);

/**
 * Reads the next row of a cursor. Writes the values of its columns to `values`, which has room for
 * `count`, one for each column of the row. Texts and bytes point to memory of the cursor, and stay
 * until the next call with it.
 *
 * Returns `LODE_END` after the last row, and after a failure other than `LODE_VALUE_COUNT`,
 * `LODE_BAD_ARGUMENT` and `LODE_BUSY`; `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`,
 * `LODE_IO`.
 */
lode_status lode_next(struct lode_cursor cursor, struct lode_value *values, size_t count);

/**
 * Reads the next row of a cursor as bytes: the packed record, or the cells of the columns that it
 * reads. Writes a pointer to them to `row` and their number to `row_size`. They are memory of the
 * cursor, and stay until the next call with it. As `lode_next` otherwise.
 */
lode_status lode_next_packed(struct lode_cursor cursor, const void **row, size_t *row_size);

/**
 * Frees a cursor.
 */
lode_status lode_free_cursor(struct lode_cursor cursor);

/**
 * Opens the database in a directory.
 *
 * `directory` is a path of `directory_size` bytes. `options` may be null; else `options_size` is
 * `sizeof(lode_options)`. The database is written to `database`, and closed with `lode_close`.
 *
 * Returns `LODE_LOCKED` when it is open already, here or in another process; `LODE_NO_DATABASE`,
 * `LODE_DATABASE_EXISTS` by the mode; `LODE_CORRUPT`, `LODE_FOREIGN_FILE`, `LODE_VERSION`,
 * `LODE_FULL`, `LODE_DISK_FULL`, `LODE_IO`.
 */
lode_status lode_open(const char *directory,
                      size_t directory_size,
                      const struct lode_options *options,
                      size_t options_size,
                      struct lode_database *database);

/**
 * Creates a database in memory, which lives until it is closed. As `lode_open` otherwise.
 */
lode_status lode_open_in_memory(const struct lode_options *options,
                                size_t options_size,
                                struct lode_database *database);

/**
 * Closes a database and frees its handle. All that was done is in its files then, whatever the
 * level, and the directory can be opened again.
 *
 * Other handles of the database return `LODE_CLOSED` from then on; they have still to be freed,
 * and the memory of the database goes with the last of them.
 *
 * A failure, such as `LODE_DISK_FULL`, says that the last changes are in the log only. The
 * database is closed and the handle is freed nevertheless.
 */
lode_status lode_close(struct lode_database database);

/**
 * Makes everything durable that was done before, whatever the level.
 *
 * Returns `LODE_POISONED` when the disk fails, now and ever after; `LODE_DISK_FULL`, `LODE_IO`.
 */
lode_status lode_flush(struct lode_database database);

/**
 * Writes all that has changed to the data file, so that nothing that was done before has to be
 * replayed after a crash. It blocks no other operation. Fails as `lode_flush` does.
 */
lode_status lode_checkpoint(struct lode_database database);

/**
 * Gives unused space back to the file system, in small steps next to readers and writers. Fails as
 * `lode_flush` does; `LODE_CORRUPT` when a table is damaged.
 */
lode_status lode_compact(struct lode_database database);

/**
 * Backs the database up to another directory, as of one moment from the call on. If that has an
 * earlier backup of this database, only pages that have changed since are copied.
 *
 * `directory` is a path of `directory_size` bytes. What was copied is written to `sizes`, which
 * has `sizes_size` bytes (`sizeof(lode_backup_sizes)`), or may be null with 0.
 *
 * Returns `LODE_NO_BACKUP` when the directory has something else; `LODE_NO_FILES` for a database
 * in memory; `LODE_LOCKED` when the directory is open; `LODE_CORRUPT`, `LODE_DISK_FULL`,
 * `LODE_IO`, `LODE_READ_ONLY`.
 */
lode_status lode_backup(struct lode_database database,
                        const char *directory,
                        size_t directory_size,
                        struct lode_backup_sizes *sizes,
                        size_t sizes_size);

/**
 * Writes the space that a database takes up to `statistics`, which has `statistics_size` bytes
 * (`sizeof(lode_statistics)`).
 */
lode_status lode_get_statistics(struct lode_database database,
                                struct lode_statistics *statistics,
                                size_t statistics_size);

/**
 * Writes the name of a table to `name`, which has room for `name_capacity` bytes, and its bytes to
 * `name_size`. No zero ends it; a name has at most 255 bytes. Names are in their order, counted
 * from 0 by `at`; tables created or dropped between calls change the count.
 *
 * Returns `LODE_END` after the last; `LODE_TOO_SMALL`.
 */
lode_status lode_table_name(struct lode_database database,
                            size_t at,
                            char *name,
                            size_t name_capacity,
                            size_t *name_size);

/**
 * Drops a table with all its records. `name` is UTF-8 of `name_size` bytes. Handles of the table
 * return `LODE_NO_TABLE` then; snapshots that were taken before still see it.
 *
 * Returns `LODE_NO_TABLE`, `LODE_READ_ONLY`, `LODE_POISONED`, `LODE_FULL`, `LODE_DISK_FULL`.
 */
lode_status lode_drop_table(struct lode_database database, const char *name, size_t name_size);

/**
 * Returns the message of the last call of this thread that failed, ended by a zero; an empty text
 * if none has.
 *
 * The text stays until the next call of this thread that fails, and no longer than the thread. A
 * call that succeeds leaves it as it is.
 */
const char *lode_error_message(void);

/**
 * Returns what the last call of this thread that failed has done to records, tables and entries,
 * as one of the numbers from `LODE_EFFECT_NONE` on.
 */
uint32_t lode_error_effect(void);

/**
 * Returns a word for a status, such as "no_table", ended by a zero; "unknown" for a number that is
 * none. The text is constant.
 */
const char *lode_status_name(int32_t status);

/**
 * Packs a record into `record`, which has room for `record_capacity` bytes; writes its bytes to
 * `record_size`. `values` are one for each column, `count` in all.
 *
 * A packed record is the key and the payload after it. It has the columns in their order, each in
 * as many bytes as its type has, little-endian, without gaps: so a table of columns of fixed
 * length that cannot be null has records like a packed structure. `FORMAT.md` of Lode has the
 * rest.
 *
 * Returns `LODE_TOO_SMALL`, with the bytes that it needs in `record_size`; `LODE_VALUE_COUNT`,
 * `LODE_VALUE_MISFIT`, `LODE_VALUE_TOO_LONG`, `LODE_RECORD_TOO_LONG`, `LODE_KEY_TOO_LONG`.
 */
lode_status lode_pack(struct lode_table table,
                      const struct lode_value *values,
                      size_t count,
                      void *record,
                      size_t record_capacity,
                      size_t *record_size);

/**
 * Packs a key into `key`, which has room for `key_capacity` bytes; writes its bytes to `key_size`.
 * `values` are one for each column of the key, `count` in all. Fails as `lode_pack` does.
 */
lode_status lode_pack_key(struct lode_table table,
                          const struct lode_value *values,
                          size_t count,
                          void *key,
                          size_t key_capacity,
                          size_t *key_size);

/**
 * Reads a packed record of `record_size` bytes. Writes the values of all columns to `values`,
 * which has room for `count`, one for each column. Texts and bytes point into `record`.
 *
 * Returns `LODE_NOT_PACKED` when it is no record of the table; `LODE_VALUE_COUNT`.
 */
lode_status lode_unpack(struct lode_table table,
                        const void *record,
                        size_t record_size,
                        struct lode_value *values,
                        size_t count);

/**
 * Looks up the record with a key, as `view` sees the table.
 *
 * `key` are the values of the columns of the key, `key_count` in all. The packed record is copied
 * to `record`, which has room for `record_capacity` bytes, and its bytes are written to
 * `record_size`. The values of all columns are written to `values`, which has room for `count`,
 * one for each column; texts and bytes point into `record`, so they stay as long as that. `values`
 * may be null with a `count` of 0, to read the packed record with `lode_unpack` later.
 *
 * Returns `LODE_NOT_FOUND`, with 0 in `record_size`; `LODE_TOO_SMALL`, with the bytes that it
 * needs in `record_size`; `LODE_NO_TABLE` when the table was dropped; `LODE_VALUE_COUNT`,
 * `LODE_VALUE_MISFIT`; `LODE_SNAPSHOT_TOO_OLD`, `LODE_OTHER_DATABASE`,
 * `LODE_TRANSACTION_TOO_LARGE` by the view; `LODE_CLOSED`, `LODE_CORRUPT`, `LODE_IO`.
 */
lode_status lode_get(struct lode_table table,
                     struct lode_view view,
                     const struct lode_value *key,
                     size_t key_count,
                     void *record,
                     size_t record_capacity,
                     size_t *record_size,
                     struct lode_value *values,
                     size_t count);

/**
 * Looks up the record with a packed key of `key_size` bytes, as `view` sees the table. Copies its
 * payload, which is the record without its key, to `payload`, which has room for
 * `payload_capacity` bytes; writes the payload's bytes to `payload_size`.
 *
 * It is the fastest lookup, and allocates nothing if payloads have a fixed size and the view is
 * `LODE_NOW`. Fails as `lode_get` does; `LODE_NOT_PACKED` when the key has not the bytes of one.
 * After `LODE_NOT_FOUND`, `payload_size` is 0 and `payload` may have any content.
 */
lode_status lode_get_packed(struct lode_table table,
                            struct lode_view view,
                            const void *key,
                            size_t key_size,
                            void *payload,
                            size_t payload_capacity,
                            size_t *payload_size);

/**
 * Looks up several packed keys, which come one after another in `keys`, of `keys_size` bytes in
 * all. Copies the payloads one after another to `payloads`, which has room for
 * `payloads_capacity` bytes, and writes their bytes together to `payloads_size`. Writes the place
 * of each to `places`, which has room for `count`, one for each key.
 *
 * The cache misses of the lookups overlap, so this is faster than single lookups. With `LODE_NOW`,
 * each lookup is by itself: commits may happen between them.
 *
 * Fails as `lode_get_packed` does; `LODE_TOO_SMALL`, with the bytes that it needs in
 * `payloads_size`, so that the call can be made again.
 */
lode_status lode_get_many_packed(struct lode_table table,
                                 struct lode_view view,
                                 const void *keys,
                                 size_t keys_size,
                                 void *payloads,
                                 size_t payloads_capacity,
                                 size_t *payloads_size,
                                 struct lode_place *places,
                                 size_t count);

/**
 * Counts the records that `view` sees in a table; writes their number to `records`. It reads pages
 * of the index. Fails as `lode_get` does.
 */
lode_status lode_count(struct lode_table table, struct lode_view view, uint64_t *records);

/**
 * Takes a snapshot of all tables, which is written to `snapshot` and freed with
 * `lode_free_snapshot`. It blocks no other operation. `lode_at` makes a view of it.
 *
 * Old images of pages that change are kept in memory for it. If they would take too much, the
 * oldest snapshots return `LODE_SNAPSHOT_TOO_OLD` from then on.
 */
lode_status lode_take_snapshot(struct lode_database database, struct lode_snapshot *snapshot);

/**
 * Frees a snapshot. Cursors and transactions that were made of it keep their own share in it.
 */
lode_status lode_free_snapshot(struct lode_snapshot snapshot);

/**
 * Creates a table. That is durable at every level but `LODE_DURABILITY_NONE`.
 *
 * `name` is UTF-8 of `name_size` bytes. `columns` are `count` columns, those of the key first.
 * `kind` is `LODE_HASHED` or `LODE_ORDERED`. The table is written to `table`, and freed with
 * `lode_free_table`.
 *
 * Returns `LODE_TABLE_EXISTS`, `LODE_INVALID_SCHEMA`, `LODE_SCHEMA_TOO_LONG`,
 * `LODE_CATALOGUE_FULL`, `LODE_FULL`, `LODE_DISK_FULL`, `LODE_READ_ONLY`, `LODE_POISONED`.
 */
lode_status lode_create_table(struct lode_database database,
                              const char *name,
                              size_t name_size,
                              const struct lode_column *columns,
                              size_t count,
                              lode_key_kind kind,
                              struct lode_table *table);

/**
 * Opens the table with a name, UTF-8 of `name_size` bytes. It is written to `table`, and freed
 * with `lode_free_table`.
 *
 * Returns `LODE_NO_TABLE`; `LODE_CORRUPT` when it cannot be read, though others can.
 */
lode_status lode_open_table(struct lode_database database,
                            const char *name,
                            size_t name_size,
                            struct lode_table *table);

/**
 * Deletes all records of a table at once: the table is replaced by an empty one like it, which is
 * written to `table`. Handles of the old one return `LODE_NO_TABLE` then. As `lode_drop_table`
 * otherwise.
 */
lode_status lode_clear_table(struct lode_database database,
                             const char *name,
                             size_t name_size,
                             struct lode_table *table);

/**
 * Frees the handle of a table. The table stays.
 */
lode_status lode_free_table(struct lode_table table);

/**
 * Writes what keys and records of a table take up to `sizes`, which has `sizes_size` bytes
 * (`sizeof(lode_table_sizes)`).
 */
lode_status lode_get_table_sizes(struct lode_table table,
                                 struct lode_table_sizes *sizes,
                                 size_t sizes_size);

/**
 * Writes the description of the column at a place, counted from 0, to `column`. Its name points
 * to memory of the table's handle, and stays until that is freed.
 *
 * Returns `LODE_NO_COLUMN`.
 */
lode_status lode_get_column(struct lode_table table, size_t at, struct lode_column *column);

/**
 * Writes the place of the column with a name, UTF-8 of `name_size` bytes, to `at`.
 *
 * Returns `LODE_NO_COLUMN`.
 */
lode_status lode_find_column(struct lode_table table,
                             const char *name,
                             size_t name_size,
                             size_t *at);

/**
 * Starts a transaction, which is written to `transaction`. It holds what it reads and writes in
 * memory until its commit, and waits for no other thread.
 */
lode_status lode_begin(struct lode_database database, struct lode_transaction *transaction);

/**
 * Starts a transaction that reads the records as of a snapshot, and its own writes. Its commit
 * conflicts with what was written since that moment to the records that it writes.
 */
lode_status lode_begin_at(struct lode_database database,
                          struct lode_snapshot snapshot,
                          struct lode_transaction *transaction);

/**
 * Applies all writes of a transaction together, as durable as the level of the database says, and
 * frees its handle, whatever it returns but `LODE_BUSY`.
 *
 * Returns `LODE_CONFLICT` when another writer has changed what the transaction looked up, scanned
 * or wrote: nothing of it has happened, so start it again. A read or a write within it may say so
 * before. `LODE_FULL`, `LODE_DISK_FULL`, `LODE_CLOSED`, `LODE_READ_ONLY`: nothing of it has
 * happened. `LODE_POISONED` when making it durable fails: `lode_error_effect` says whether it may
 * be there.
 */
lode_status lode_commit(struct lode_transaction transaction);

/**
 * Commits a transaction, durable at `level` at least, and frees its handle. As `lode_commit`
 * otherwise; `LODE_NOT_DURABLE` when it has happened and stays, but making it durable failed; and
 * `LODE_BAD_ARGUMENT` for a level that is none, which leaves the transaction as it was.
 */
lode_status lode_commit_with(struct lode_transaction transaction, lode_durability level);

/**
 * Ends a transaction of which nothing happens, and frees its handle.
 */
lode_status lode_roll_back(struct lode_transaction transaction);

/**
 * Makes a point that a transaction can go back to; its number is written to `savepoint`. Points
 * nest.
 */
lode_status lode_make_savepoint(struct lode_transaction transaction, uint64_t *savepoint);

/**
 * Undoes the writes of a transaction since a point, which is kept; those made later are gone.
 *
 * Returns `LODE_BAD_ARGUMENT` when the point is gone.
 */
lode_status lode_roll_back_to(struct lode_transaction transaction, uint64_t savepoint);

/**
 * Forgets a point of a transaction, and those made later; the writes stay.
 *
 * Returns `LODE_BAD_ARGUMENT` when the point is gone.
 */
lode_status lode_release_savepoint(struct lode_transaction transaction, uint64_t savepoint);

/**
 * Returns the version of the interface that the library has. Compare it with `LODE_ABI_VERSION`,
 * which is that of the header, when the library is loaded while the program runs.
 */
uint32_t lode_abi_version(void);

/**
 * Returns the version of Lode, such as "0.1.0", ended by a zero. The text is constant.
 */
const char *lode_version(void);

/**
 * Opens the volume in a directory, and makes one if the mode says so.
 *
 * `directory` is a path of `directory_size` bytes. `options` may be null; else `options_size` is
 * `sizeof(lode_volume_options)`. The volume is written to `volume`, and closed with
 * `lode_close_volume`. It has a thread of its own, which removes expired properties.
 *
 * Returns `LODE_NOT_A_VOLUME` when the directory has another database; `LODE_NO_VOLUME` when it
 * has none yet and is opened to be read only; and as `lode_open`.
 */
lode_status lode_open_volume(const char *directory,
                             size_t directory_size,
                             const struct lode_volume_options *options,
                             size_t options_size,
                             struct lode_volume *volume);

/**
 * Makes a volume in memory, which lives until it is closed. As `lode_open_volume` otherwise.
 */
lode_status lode_open_volume_in_memory(const struct lode_volume_options *options,
                                       size_t options_size,
                                       struct lode_volume *volume);

/**
 * Closes a volume and frees its handle. All that was done is in its files then, whatever the
 * level, and the directory can be opened again.
 *
 * Handles of its entries return `LODE_CLOSED` from then on, except that properties which are in
 * memory can still be read; they have still to be freed. Storages in which it is mounted get
 * `LODE_CLOSED` from it.
 *
 * A failure, such as `LODE_DISK_FULL`, says that the last changes are in the log only. The volume
 * is closed and the handle is freed nevertheless.
 */
lode_status lode_close_volume(struct lode_volume volume);

/**
 * Makes everything durable that was done before in a volume, whatever the level. Fails as
 * `lode_flush` does.
 */
lode_status lode_flush_volume(struct lode_volume volume);

/**
 * Removes all properties that have expired, as the volume's thread does at its interval, and
 * deletes what is left of unlinked entries. Writes the number of removed properties to `removed`,
 * which may be null. Fails as writes of the volume do.
 */
lode_status lode_sweep_volume(struct lode_volume volume, uint64_t *removed);

/**
 * Opens the entry of a volume under a path, which is UTF-8 of `path_size` bytes, such as
 * "/app/ui"; "/" is the entry that all others are below. It is written to `entry`, and freed with
 * `lode_free_entry`.
 *
 * Returns `LODE_NOT_FOUND` when there is no such entry; `LODE_INVALID_NAME`; `LODE_CLOSED`,
 * `LODE_CORRUPT`, `LODE_IO`, which all functions of entries may return.
 */
lode_status lode_open_entry(struct lode_volume volume,
                            const char *path,
                            size_t path_size,
                            struct lode_entry *entry);

/**
 * Opens the entry of a volume under a path. Links it if it does not exist, and those on the way.
 * As `lode_open_entry` otherwise; fails as `lode_link` does.
 */
lode_status lode_create_entry(struct lode_volume volume,
                              const char *path,
                              size_t path_size,
                              struct lode_entry *entry);

/**
 * Opens the entry under a path from another one, such as "ui" or "ui/toolbar". It is written to
 * `child`, and freed with `lode_free_entry`. As `lode_open_entry` otherwise; `LODE_GONE` when the
 * entry was unlinked.
 */
lode_status lode_open_child(struct lode_entry entry,
                            const char *path,
                            size_t path_size,
                            struct lode_entry *child);

/**
 * Frees the handle of an entry. The entry stays.
 */
lode_status lode_free_entry(struct lode_entry entry);

/**
 * Writes the path of an entry to `path`, which has room for `path_capacity` bytes, and its bytes
 * to `path_size`. No zero ends it.
 *
 * Returns `LODE_TOO_SMALL`, with the bytes that it needs in `path_size`; `LODE_GONE`.
 */
lode_status lode_entry_path(struct lode_entry entry,
                            char *path,
                            size_t path_capacity,
                            size_t *path_size);

/**
 * Links a new entry, without properties, below another one. `name` is UTF-8 of `name_size` bytes.
 * A handle of it is written to `child`, which may be null.
 *
 * In a storage it is linked in each volume that is mounted for writing.
 *
 * Returns `LODE_NAME_TAKEN` when the entry has such a child; `LODE_INVALID_NAME`, `LODE_GONE`,
 * `LODE_READ_ONLY`, `LODE_POISONED`, `LODE_FULL`, `LODE_DISK_FULL`; in a storage also
 * `LODE_PARTIAL`, and `LODE_MOUNTS_CHANGED` when the entry has to be opened again. All writes of
 * entries may return these, except for the first.
 */
lode_status lode_link(struct lode_entry entry,
                      const char *name,
                      size_t name_size,
                      struct lode_entry *child);

/**
 * Unlinks a child of an entry, with its properties. `name` is UTF-8 of `name_size` bytes. Handles
 * of it return `LODE_GONE` from then on, in all threads.
 *
 * In a storage it is unlinked in each volume that has it, and in none if one of them is read-only.
 *
 * Returns `LODE_NO_ENTRY` when there is no such child; `LODE_NOT_EMPTY` when it has children
 * itself; and as `lode_link`. If deleting what the child had fails after it was unlinked, that is
 * returned too; the deletion continues later.
 */
lode_status lode_unlink(struct lode_entry entry, const char *name, size_t name_size);

/**
 * Unlinks a child of an entry, and all below it. As `lode_unlink` otherwise.
 */
lode_status lode_unlink_all(struct lode_entry entry, const char *name, size_t name_size);

/**
 * Moves the child `name` of an entry, with all below it, below the entry `to` of its volume, under
 * the name `new_name`. Both names are UTF-8 of as many bytes as their sizes say. Handles stay what
 * they are.
 *
 * Returns `LODE_NO_ENTRY`, `LODE_NAME_TAKEN`; `LODE_INTO_ITSELF` when `to` is the child or below
 * it; `LODE_OTHER_DATABASE` when it is of another volume; `LODE_BAD_ARGUMENT` for entries of a
 * storage; and as `lode_link`.
 */
lode_status lode_rename(struct lode_entry entry,
                        const char *name,
                        size_t name_size,
                        struct lode_entry to,
                        const char *new_name,
                        size_t new_name_size);

/**
 * Opens a list of the children of an entry, as they are now, in the order of their names' bytes.
 * It is written to `links`, and freed with `lode_free_links`.
 *
 * `prefix` is UTF-8 of `prefix_size` bytes: the list has the names that start with it. Null and 0
 * are all names.
 *
 * Returns `LODE_GONE`; in a storage `LODE_MOUNTS_CHANGED`, and failures of reading.
 */
lode_status lode_open_links(struct lode_entry entry,
                            const char *prefix,
                            size_t prefix_size,
                            struct lode_links *links);

/**
 * Reads the next name of a list of children. Writes a pointer to it to `name`, and its bytes to
 * `name_size`. It is memory of the list, and stays until the next call with it. No zero ends it.
 *
 * Returns `LODE_END` after the last; `LODE_SNAPSHOT_TOO_OLD`, `LODE_CLOSED`, `LODE_CORRUPT`,
 * `LODE_IO`.
 */
lode_status lode_next_link(struct lode_links links, const char **name, size_t *name_size);

/**
 * Frees a list of children.
 */
lode_status lode_free_links(struct lode_links links);

/**
 * Opens a list of the properties of an entry, as they are now, in the order of their names' bytes.
 * It is written to `properties`, and freed with `lode_free_properties`. Fails as
 * `lode_open_links` does.
 */
lode_status lode_open_properties(struct lode_entry entry, struct lode_properties *properties);

/**
 * Reads the next property of a list. Writes a pointer to its name to `name`, the bytes of that to
 * `name_size`, its type to `type` and its value to `value`; the last two may be null. The name, a
 * text and bytes are memory of the list, and stay until the next call with it.
 *
 * Returns as `lode_next_link`.
 */
lode_status lode_next_property(struct lode_properties properties,
                               const char **name,
                               size_t *name_size,
                               lode_type *type,
                               struct lode_value *value);

/**
 * Frees a list of properties.
 */
lode_status lode_free_properties(struct lode_properties properties);

/**
 * Sets a property of an entry, whether it exists or not: its type, its value, and that it does not
 * expire. When this returns, it is as durable as the volume's level says.
 *
 * `name` is UTF-8 of `name_size` bytes. `type` is one of `LODE_TYPE_U8` to `LODE_TYPE_F64`,
 * `LODE_TYPE_VAR_TEXT`, `LODE_TYPE_VAR_BYTES`, or `LODE_TYPE_WIDEST` for the type of 64 bits, text
 * or bytes that `value` has.
 *
 * In a storage it is set in each volume that is mounted for writing; the entry is made where it is
 * missing.
 *
 * Returns `LODE_VALUE_MISFIT`, `LODE_NOT_UTF8`; `LODE_VALUE_TOO_LONG` for more than 1 MiB; and as
 * `lode_link`.
 */
lode_status lode_set_property(struct lode_entry entry,
                              const char *name,
                              size_t name_size,
                              lode_type type,
                              const struct lode_value *value);

/**
 * Reads a property of an entry. Writes its value to `value` and its type to `type`; either may be
 * null.
 *
 * A text or bytes are copied to `buffer`, which has room for `capacity` bytes, and their number is
 * written to `size`; `value` points to them there. Numbers need no buffer, and are 0 bytes. It
 * allocates nothing, and threads that read do not wait for one another.
 *
 * In a storage the property is of the volume with the highest priority that has it.
 *
 * Returns `LODE_NOT_FOUND` when there is no such property or it has expired, with 0 in `size`;
 * `LODE_TOO_SMALL`, with the bytes that it needs in `size`; `LODE_INVALID_NAME`, `LODE_GONE`; in a
 * storage `LODE_MOUNTS_CHANGED`.
 */
lode_status lode_get_property(struct lode_entry entry,
                              const char *name,
                              size_t name_size,
                              void *buffer,
                              size_t capacity,
                              size_t *size,
                              lode_type *type,
                              struct lode_value *value);

/**
 * Returns `LODE_OK` if an entry has a property, and `LODE_NOT_FOUND` if not. `name` is UTF-8 of
 * `name_size` bytes. Fails as `lode_get_property` does.
 */
lode_status lode_has_property(struct lode_entry entry, const char *name, size_t name_size);

/**
 * Removes a property of an entry. `name` is UTF-8 of `name_size` bytes. In a storage it is removed
 * from each volume that is mounted for writing; one that is read-only may have it still.
 *
 * Returns `LODE_NOT_FOUND` when there is no such property; and as `lode_link`.
 */
lode_status lode_remove_property(struct lode_entry entry, const char *name, size_t name_size);

/**
 * Lets a property of an entry expire `after_us` microseconds from now. From then on no one sees
 * it, also after the volume was opened again, or the system's clock was set back. Setting it again
 * ends that.
 *
 * Returns `LODE_NOT_FOUND` when there is no such property; `LODE_EXPIRY_TOO_FAR`; and as
 * `lode_link`.
 */
lode_status lode_expire_property(struct lode_entry entry,
                                 const char *name,
                                 size_t name_size,
                                 uint64_t after_us);

/**
 * Lets a property of an entry stay that would have expired.
 *
 * Returns `LODE_NOT_FOUND` when there is no such property; and as `lode_link`.
 */
lode_status lode_cancel_expiration(struct lode_entry entry, const char *name, size_t name_size);

/**
 * Makes a storage in which nothing is mounted, which is written to `storage` and freed with
 * `lode_free_storage`.
 */
lode_status lode_make_storage(struct lode_storage *storage);

/**
 * Frees a storage. Its volumes stay open, and can be mounted elsewhere once the handles of its
 * entries are freed as well.
 */
lode_status lode_free_storage(struct lode_storage storage);

/**
 * Mounts a volume, or an entry of it, at a path of a storage. `path` is UTF-8 of `path_size`
 * bytes. `mount` may be null for all of the volume with priority 0, for writing; else `mount_size`
 * is `sizeof(lode_mount)`.
 *
 * Entries of the storage that are open return `LODE_MOUNTS_CHANGED` from then on. The volume's
 * handle may be used as before; closing the volume does not unmount it.
 *
 * Returns `LODE_NO_ENTRY` when the volume has not the entry that is to be mounted; `LODE_CLAIMED`
 * when it is mounted in another storage; `LODE_ALREADY_MOUNTED`, `LODE_INVALID_NAME`.
 */
lode_status lode_mount_volume(struct lode_storage storage,
                              const char *path,
                              size_t path_size,
                              struct lode_volume volume,
                              const struct lode_mount *mount,
                              size_t mount_size);

/**
 * Takes a volume, of which the entry with the path `entry` was mounted at `path`, out of a storage
 * again. Both paths are UTF-8 of as many bytes as their sizes say; null and 0 are "/". As
 * `lode_mount_volume` otherwise; `LODE_NOT_MOUNTED` when it is not mounted there.
 */
lode_status lode_unmount_volume(struct lode_storage storage,
                                const char *path,
                                size_t path_size,
                                struct lode_volume volume,
                                const char *entry,
                                size_t entry_size);

/**
 * Opens the entry of a storage under a path, which is written to `entry` and freed with
 * `lode_free_entry`. As `lode_open_entry` otherwise.
 *
 * Returns `LODE_NOT_FOUND` when no volume that is mounted there has it; `LODE_NOT_MOUNTED` when no
 * volume is mounted at the path or above it.
 */
lode_status lode_open_storage_entry(struct lode_storage storage,
                                    const char *path,
                                    size_t path_size,
                                    struct lode_entry *entry);

/**
 * Opens the entry of a storage under a path. Links it, and those on the way, in each volume that
 * is mounted there for writing and has it not. As `lode_open_storage_entry` otherwise; fails as
 * `lode_link` does.
 */
lode_status lode_create_storage_entry(struct lode_storage storage,
                                      const char *path,
                                      size_t path_size,
                                      struct lode_entry *entry);

/**
 * Inserts a record, unless there is one with its key.
 *
 * It is written in `transaction`, and by itself, as durable as the level says, if that is
 * `LODE_ALONE`. `values` are one for each column, `count` in all.
 *
 * Returns `LODE_EXISTS` when there is a record with its key; `LODE_VALUE_COUNT`,
 * `LODE_VALUE_MISFIT`, `LODE_VALUE_TOO_LONG`, `LODE_RECORD_TOO_LONG`, `LODE_KEY_TOO_LONG`,
 * `LODE_NOT_UTF8`; `LODE_NO_TABLE`, `LODE_READ_ONLY`, `LODE_CLOSED`, `LODE_POISONED`, `LODE_FULL`,
 * `LODE_DISK_FULL`, `LODE_TABLE_FULL`; in a transaction `LODE_TRANSACTION_TOO_LARGE`,
 * `LODE_OTHER_DATABASE`.
 */
lode_status lode_insert(struct lode_table table,
                        struct lode_transaction transaction,
                        const struct lode_value *values,
                        size_t count);

/**
 * Inserts a packed record of `record_size` bytes. As `lode_insert`, and `LODE_NOT_PACKED` when it
 * is no record of the table.
 */
lode_status lode_insert_packed(struct lode_table table,
                               struct lode_transaction transaction,
                               const void *record,
                               size_t record_size);

/**
 * Writes a record, in the place of one with its key. `replaced` becomes true if there was one; it
 * may be null. As `lode_insert` otherwise.
 */
lode_status lode_upsert(struct lode_table table,
                        struct lode_transaction transaction,
                        const struct lode_value *values,
                        size_t count,
                        bool *replaced);

/**
 * Writes a packed record of `record_size` bytes. As `lode_upsert`, and `LODE_NOT_PACKED` when it
 * is no record of the table.
 */
lode_status lode_upsert_packed(struct lode_table table,
                               struct lode_transaction transaction,
                               const void *record,
                               size_t record_size,
                               bool *replaced);

/**
 * Sets one column of the record with a key. `column` is the place of the column, which is not of
 * the key. `key` are the values of the columns of the key, `key_count` in all.
 *
 * No other write of the record comes between. Returns `LODE_NOT_FOUND`; `LODE_NO_COLUMN`,
 * `LODE_KEY_COLUMN`; `LODE_CONFLICT` when others kept writing the record during the call; and as
 * `lode_insert`.
 */
lode_status lode_update(struct lode_table table,
                        struct lode_transaction transaction,
                        const struct lode_value *key,
                        size_t key_count,
                        size_t column,
                        const struct lode_value *value);

/**
 * Sets one column of the record with a packed key to the bytes that it has in a packed record: a
 * number little-endian, a text of fixed length with zeros after it. `key` has `key_size` bytes and
 * `column_bytes` has `bytes_size`. The column cannot be one that can be null.
 *
 * As `lode_update`, and faster; `LODE_NOT_PACKED`, `LODE_NULLABLE_COLUMN`.
 */
lode_status lode_update_packed(struct lode_table table,
                               struct lode_transaction transaction,
                               const void *key,
                               size_t key_size,
                               size_t column,
                               const void *column_bytes,
                               size_t bytes_size);

/**
 * Deletes the record with a key. `key` are the values of the columns of the key, `key_count` in
 * all.
 *
 * Returns `LODE_NOT_FOUND`; and as `lode_insert`.
 */
lode_status lode_delete(struct lode_table table,
                        struct lode_transaction transaction,
                        const struct lode_value *key,
                        size_t key_count);

/**
 * Deletes the record with a packed key of `key_size` bytes. As `lode_delete`, and
 * `LODE_NOT_PACKED` when it is no key of the table.
 */
lode_status lode_delete_packed(struct lode_table table,
                               struct lode_transaction transaction,
                               const void *key,
                               size_t key_size);

/**
 * Adds `by` to a column of whole numbers of the record with a key, by itself and not in a
 * transaction. Writes the sum to `sum`, which may be null.
 *
 * Returns `LODE_NOT_FOUND`; `LODE_NO_ROOM_IN_COLUMN` when the column has no room for the sum, or
 * is not one of whole numbers; and as `lode_update`.
 */
lode_status lode_increment(struct lode_table table,
                           const struct lode_value *key,
                           size_t key_count,
                           size_t column,
                           int64_t by,
                           struct lode_value *sum);

/**
 * Inserts several packed records together: readers see all of them or none, also after a crash. A
 * record whose key exists already, or comes earlier among them, is left out. `records` are `count`
 * in all. Writes the number of inserted ones to `inserted`, which may be null.
 *
 * Returns as `lode_insert_packed`; `LODE_TRANSACTION_TOO_LARGE`. None of them is inserted then.
 */
lode_status lode_insert_all(struct lode_table table,
                            const struct lode_bytes *records,
                            size_t count,
                            uint64_t *inserted);

/**
 * Writes several packed records together, in the place of those with their keys. Writes the number
 * of new keys to `added`, which may be null. As `lode_insert_all` otherwise.
 */
lode_status lode_upsert_all(struct lode_table table,
                            const struct lode_bytes *records,
                            size_t count,
                            uint64_t *added);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* LODE_H */

#ifdef __cplusplus
extern "C" {
#endif

/* The start of a payload that is missing. */
#define LODE_MISSING SIZE_MAX

/* A text that ends with a zero, and its bytes, as two arguments. */
#define LODE_STR(text) (text), strlen(text)

/* A column, of a name that is a constant. */
#define LODE_COLUMN(name, type, size, flags) { (name), sizeof(name) - 1, (type), (size), 0, (flags) }

/* A column of decimals, of a name that is a constant. */
#define LODE_DECIMAL_COLUMN(name, digits, scale, flags)                                            \
    { (name), sizeof(name) - 1, LODE_TYPE_DECIMAL, (digits), (scale), (flags) }

/* The view of the records as they are now. */
static const lode_view LODE_NOW = { 0 };

/* No transaction: each write is by itself. */
static const lode_transaction LODE_ALONE = { 0 };

/* Returns the view of the records as of a snapshot. */
static inline lode_view lode_at(lode_snapshot snapshot)
{
    lode_view view;
    view.id = snapshot.id;
    return view;
}

/* Returns the view of the records as a transaction sees them. */
static inline lode_view lode_within(lode_transaction transaction)
{
    lode_view view;
    view.id = transaction.id;
    return view;
}

/* Returns the value of no value. */
static inline lode_value lode_null(void)
{
    lode_value value;
    memset(&value, 0, sizeof value);
    return value;
}

/* Returns the value of a whole number without a sign. */
static inline lode_value lode_u64(uint64_t number)
{
    lode_value value = lode_null();
    value.kind = LODE_UNSIGNED;
    value.data.u = number;
    return value;
}

/* Returns the value of a whole number with a sign. */
static inline lode_value lode_i64(int64_t number)
{
    lode_value value = lode_null();
    value.kind = LODE_SIGNED;
    value.data.i = number;
    return value;
}

/* Returns the value of a floating-point number. */
static inline lode_value lode_f64(double number)
{
    lode_value value = lode_null();
    value.kind = LODE_FLOAT;
    value.data.f = number;
    return value;
}

/* Returns the value of true or false. */
static inline lode_value lode_bool(bool truth)
{
    lode_value value = lode_null();
    value.kind = LODE_BOOL;
    value.data.b = truth ? 1 : 0;
    return value;
}

/* Returns the value of a time: microseconds since the start of 1970. */
static inline lode_value lode_timestamp(int64_t time_us)
{
    lode_value value = lode_i64(time_us);
    value.kind = LODE_TIMESTAMP;
    return value;
}

/* Returns the value of some bytes, which the value points to. */
static inline lode_value lode_blob(const void *data, size_t size)
{
    lode_value value = lode_null();
    value.kind = LODE_BYTES;
    value.data.bytes.data = data;
    value.data.bytes.size = size;
    return value;
}

/* Returns the value of a text of `size` bytes, which the value points to. */
static inline lode_value lode_text_of(const char *text, size_t size)
{
    lode_value value = lode_blob(text, size);
    value.kind = LODE_TEXT;
    return value;
}

/* Returns the value of a text that ends with a zero, which the value points to. */
static inline lode_value lode_text(const char *text)
{
    return lode_text_of(text, strlen(text));
}

/* Returns the value of a decimal number: 12.30 is lode_decimal(1230, 2). */
static inline lode_value lode_decimal(int64_t unscaled, uint32_t scale)
{
    lode_value value = lode_null();
    value.kind = LODE_DECIMAL;
    value.scale = scale;
    value.data.decimal.low = (uint64_t)unscaled;
    value.data.decimal.high = unscaled < 0 ? -1 : 0;
    return value;
}

#ifdef __cplusplus
}
#endif
