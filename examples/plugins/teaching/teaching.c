/* teaching: a plugin for Assay with bugs to switch on, one at a time. Each is of a kind that real
 * engines had, and a test of Assay finds it; README.md has the list.
 *
 *   make && assay crash -e teaching --plugin ./libteaching.so --set teaching.bug=no-sync
 *
 * All records are in memory, in the order of their keys. A store has two files:
 *
 *   pages   the records as of a checkpoint, with the number of the last commit that they have
 *   log     the commits since then, each with its number, its length and a checksum
 *
 * A commit appends to the log and synchronises it; then its changes are in memory. A checkpoint
 * writes pages.new, synchronises it, gives it the name pages, synchronises the directory, and
 * empties the log. Opening replays the log up to the first commit that is not whole or not next,
 * and makes a checkpoint.
 *
 * If a write fails, the log is cut off where it ended before. If that fails, or a synchronisation,
 * nobody knows what the disk has: the store takes no more commits.
 *
 * A transaction holds the lock of the store from its begin to its end, and changes a copy of the
 * records.
 */
#define _GNU_SOURCE
#include "assay_driver.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHECKPOINT_COMMITS = 5, SECTOR_BYTES = 4096, LETS_PASS_US = 100 };

typedef enum {
    NO_BUG,
    /* A killed process. */
    SKIPS_DELETES,
    /* A power cut. */
    NO_SYNC,
    LATE_SYNC,
    NEW_FILE_UNSYNCED,
    NAME_UNSYNCED,
    LOG_NAME_UNSYNCED,
    IN_PLACE,
    NO_CHECKSUM,
    REWRITES_SECTOR,
    FREES_EARLY,
    HALVES,
    /* A crash within recovery. */
    EMPTIES_FIRST,
    TRUSTS_MARKER,
    /* A disk that fails. */
    IGNORED_SYNC,
    SECOND_SYNC,
    SHORT_WRITE,
    UNREAD,
    FREES_TWICE,
    /* Several threads. */
    LOST_UPDATE,
    LOG_ORDER,
    NO_VALIDATION,
    UNLOCKED_SCAN,
    BUG_COUNT
} bug_kind;

static const char *const BUGS[BUG_COUNT] = {
    [NO_BUG] = "none",
    [SKIPS_DELETES] = "skips-deletes",
    [NO_SYNC] = "no-sync",
    [LATE_SYNC] = "late-sync",
    [NEW_FILE_UNSYNCED] = "new-file-unsynced",
    [NAME_UNSYNCED] = "name-unsynced",
    [LOG_NAME_UNSYNCED] = "log-name-unsynced",
    [IN_PLACE] = "in-place",
    [NO_CHECKSUM] = "no-checksum",
    [REWRITES_SECTOR] = "rewrites-sector",
    [FREES_EARLY] = "frees-early",
    [HALVES] = "halves",
    [EMPTIES_FIRST] = "empties-first",
    [TRUSTS_MARKER] = "trusts-marker",
    [IGNORED_SYNC] = "ignored-sync",
    [SECOND_SYNC] = "second-sync",
    [SHORT_WRITE] = "short-write",
    [UNREAD] = "unread",
    [FREES_TWICE] = "frees-twice",
    [LOST_UPDATE] = "lost-update",
    [LOG_ORDER] = "log-order",
    [NO_VALIDATION] = "no-validation",
    [UNLOCKED_SCAN] = "unlocked-scan",
};

/* Bytes that grow. */
typedef struct {
    unsigned char *bytes;
    size_t size, room;
} buffer;

/* In front of the changes of a commit. The checksum is of all that follows it. */
typedef struct {
    uint32_t checksum;
    uint32_t size_bytes;
    uint64_t number;
} commit_head;

/* In front of the records in pages. */
typedef struct {
    uint64_t checksum;
    uint64_t last_commit;
    uint64_t size_bytes;
} pages_head;

/* A change is one of these, then a record or a key. */
enum { PUT = 'P', DELETE = 'D' };

struct assay_store {
    const assay_schema *schema;
    bug_kind bug;
    int is_synchronised; /* at level commit */
    int directory, log;  /* file descriptors */
    pthread_mutex_t lock;
    pthread_mutex_t log_lock; /* only LOG_ORDER needs it */
    buffer records;
    uint64_t last_commit;
    off_t log_end, last_start; /* and where the last commit starts */
    uint32_t commits_in_log;
    int is_broken;
    char settings[64];
};

struct assay_handle {
    assay_store *store;
    int is_open;  /* a transaction */
    int has_lock; /* which it has from its begin on, without a bug */
    buffer records, changes;
};

static int failed(assay_error *error, const char *what)
{
    snprintf(error->text, sizeof error->text, "%s: %s", what, strerror(errno));
    return ASSAY_FAILED;
}

static int refused(assay_error *error, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s", why);
    return ASSAY_FAILED;
}

static uint64_t checksum_of(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t sum = 0xcbf29ce484222325u; /* FNV-1a */
    for (size_t number = 0; number < size; number++)
        sum = (sum ^ at[number]) * 0x100000001b3u;
    return sum ^ sum >> 32;
}

/* Makes room for more bytes at a place, and returns that. Memory that is missing ends the process,
 * as it does in most programs. */
static unsigned char *insert_bytes(buffer *to, size_t at, size_t size)
{
    if (to->bytes == NULL || to->size + size > to->room) {
        to->room = (to->size + size) * 2 + 64;
        to->bytes = realloc(to->bytes, to->room);
        if (to->bytes == NULL)
            abort();
    }
    memmove(to->bytes + at + size, to->bytes + at, to->size - at);
    to->size += size;
    return to->bytes + at;
}

static void append(buffer *to, const void *bytes, size_t size)
{
    if (size > 0)
        memcpy(insert_bytes(to, to->size, size), bytes, size);
}

static void set_to(buffer *to, const buffer *from)
{
    to->size = 0;
    append(to, from->bytes, from->size);
}

/* Records. */

static int compare_columns(uint32_t type, const unsigned char *one, const unsigned char *other,
                           uint32_t size)
{
#define COMPARE(kind)                                                                              \
    do {                                                                                           \
        kind a, b;                                                                                 \
        memcpy(&a, one, sizeof a);                                                                 \
        memcpy(&b, other, sizeof b);                                                               \
        return (a > b) - (a < b);                                                                  \
    } while (0)
    switch (type) {
    case ASSAY_U16:
        COMPARE(uint16_t);
    case ASSAY_U32:
        COMPARE(uint32_t);
    case ASSAY_U64:
        COMPARE(uint64_t);
    case ASSAY_I32:
        COMPARE(int32_t);
    case ASSAY_I64:
        COMPARE(int64_t);
    case ASSAY_F64:
        COMPARE(double);
    default:
        return memcmp(one, other, size);
    }
}

static int compare_keys(const assay_schema *schema, const unsigned char *one,
                        const unsigned char *other)
{
    int order = 0;
    for (uint32_t at = 0; at < schema->key_column_count && order == 0; at++) {
        const assay_column *column = &schema->columns[at];
        order = compare_columns(column->type, one + column->offset, other + column->offset,
                                column->size_bytes);
    }
    return order;
}

/* The place of the first record that is not before a key. */
static size_t find(const assay_schema *schema, const buffer *records, const void *key,
                   int *is_there)
{
    size_t from = 0, end = records->size / schema->record_size;
    while (from < end) {
        size_t middle = (from + end) / 2;
        if (compare_keys(schema, records->bytes + middle * schema->record_size, key) < 0)
            from = middle + 1;
        else
            end = middle;
    }
    size_t at = from * schema->record_size;
    *is_there = at < records->size && compare_keys(schema, records->bytes + at, key) == 0;
    return at;
}

static void put(const assay_schema *schema, buffer *records, const void *record)
{
    int is_there;
    size_t at = find(schema, records, record, &is_there);
    unsigned char *place = records->bytes + at;
    if (!is_there)
        place = insert_bytes(records, at, schema->record_size);
    memcpy(place, record, schema->record_size);
}

static void take(const assay_schema *schema, buffer *records, const void *key)
{
    int is_there;
    size_t at = find(schema, records, key, &is_there);
    if (is_there) {
        size_t end = at + schema->record_size;
        memmove(records->bytes + at, records->bytes + end, records->size - end);
        records->size -= schema->record_size;
    }
}

/* Returns the size of the change that the bytes start with; 0 if they start with none. */
static size_t change_size(const assay_schema *schema, const unsigned char *bytes, size_t most)
{
    size_t size = most == 0 ? 0
        : bytes[0] == PUT   ? 1 + (size_t)schema->record_size
        : bytes[0] == DELETE ? 1 + (size_t)schema->key_size
                             : 0;
    return size <= most ? size : 0;
}

static void apply(const assay_schema *schema, buffer *records, const unsigned char *changes,
                  size_t size)
{
    size_t at = 0, one;
    while ((one = change_size(schema, changes + at, size - at)) != 0) {
        if (changes[at] == PUT)
            put(schema, records, changes + at + 1);
        else
            take(schema, records, changes + at + 1);
        at += one;
    }
}

/* Files. */

static int write_all(const assay_store *store, int file, const void *bytes, size_t size, off_t at)
{
    const unsigned char *from = bytes;
    while (size > 0) {
        ssize_t written = pwrite(file, from, size, at);
        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return 0;
        if (store->bug == SHORT_WRITE)
            return 1;
        from += written;
        size -= (size_t)written;
        at += written;
    }
    return 1;
}

/* Reads a whole file; returns 0 if that fails, and the buffer has what could be read. */
static int read_all(int file, buffer *to)
{
    to->size = 0;
    for (;;) {
        unsigned char part[1 << 16];
        ssize_t size = pread(file, part, sizeof part, (off_t)to->size);
        if (size < 0 && errno == EINTR)
            continue;
        if (size <= 0)
            return size == 0;
        append(to, part, (size_t)size);
    }
}

static int synchronise(assay_store *store, int file)
{
    if (!store->is_synchronised || fsync(file) == 0)
        return 1;
    if (store->bug == IGNORED_SYNC || (store->bug == SECOND_SYNC && fsync(file) == 0))
        return 1;
    store->is_broken = 1;
    return 0;
}

/* The log. */

static int empty_log(assay_store *store)
{
    store->log_end = store->last_start = 0;
    store->commits_in_log = 0;
    return ftruncate(store->log, 0) == 0 && synchronise(store, store->log);
}

/* Writes a commit at the end of the log, together with what its last sector has. */
static int rewrite_sector(assay_store *store, const buffer *commit)
{
    off_t start = store->log_end - store->log_end % SECTOR_BYTES;
    buffer all = {0};
    size_t size = (size_t)(store->log_end - start);
    ssize_t found = pread(store->log, insert_bytes(&all, 0, size), size, start);
    append(&all, commit->bytes, commit->size);
    int is_done = found == (ssize_t)size && ftruncate(store->log, start) == 0
        && write_all(store, store->log, all.bytes, all.size, start);
    free(all.bytes);
    return is_done;
}

static int append_commit(assay_store *store, const unsigned char *changes, size_t size,
                         assay_error *error)
{
    buffer commit = {0};
    commit_head head = {0, (uint32_t)size, store->last_commit + 1};
    append(&commit, &head, sizeof head);
    append(&commit, changes, size);
    head.checksum = (uint32_t)checksum_of(commit.bytes + sizeof head.checksum,
                                          commit.size - sizeof head.checksum);
    memcpy(commit.bytes, &head.checksum, sizeof head.checksum);

    if (store->bug == LATE_SYNC)
        synchronise(store, store->log);
    int is_written = store->bug == REWRITES_SECTOR
        ? rewrite_sector(store, &commit)
        : write_all(store, store->log, commit.bytes, commit.size, store->log_end);
    size_t written = commit.size;
    free(commit.bytes);
    if (!is_written) {
        int answer = failed(error, "the log cannot be written");
        if (store->bug == FREES_TWICE)
            store->log_end = store->last_start;
        if (ftruncate(store->log, store->log_end) != 0)
            store->is_broken = 1;
        return answer;
    }
    if (store->bug != NO_SYNC && store->bug != LATE_SYNC && !synchronise(store, store->log))
        return failed(error, "the log cannot be synchronised");
    store->last_start = store->log_end;
    store->log_end += (off_t)written;
    store->last_commit++;
    store->commits_in_log++;
    return ASSAY_DONE;
}

/* Replays the log, of which these bytes could be read. */
static void replay(assay_store *store, const buffer *log)
{
    size_t at = 0;
    commit_head head;
    while (at + sizeof head <= log->size) {
        memcpy(&head, log->bytes + at, sizeof head);
        size_t size = sizeof head + head.size_bytes;
        if (head.size_bytes == 0 || size > log->size - at)
            break;
        uint32_t sum = (uint32_t)checksum_of(log->bytes + at + sizeof head.checksum,
                                             size - sizeof head.checksum);
        if (sum != head.checksum && store->bug != NO_CHECKSUM)
            break;
        if (head.number > store->last_commit + 1)
            break;
        /* One that is in the pages is passed over. */
        if (head.number == store->last_commit + 1) {
            const unsigned char *changes = log->bytes + at + sizeof head;
            if (store->bug != SKIPS_DELETES || changes[0] != DELETE)
                apply(store->schema, &store->records, changes, head.size_bytes);
            store->last_commit = head.number;
        }
        store->last_start = (off_t)at;
        at += size;
        store->commits_in_log++;
    }
    store->log_end = (off_t)at;
}

/* Pages. */

static int write_pages(assay_store *store, const char *name)
{
    int file = openat(store->directory, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0)
        return 0;
    const buffer *records = &store->records;
    pages_head head = {0, store->last_commit, records->size};
    buffer all = {0};
    append(&all, &head, sizeof head);
    append(&all, records->bytes, records->size);
    head.checksum = checksum_of(all.bytes + sizeof head.checksum, all.size - sizeof head.checksum);
    memcpy(all.bytes, &head.checksum, sizeof head.checksum);
    int is_done = ftruncate(file, (off_t)all.size) == 0
        && write_all(store, file, all.bytes, all.size, 0)
        && (store->bug == NEW_FILE_UNSYNCED || synchronise(store, file));
    free(all.bytes);
    return close(file) == 0 && is_done;
}

/* Writes the records to the pages, and empties the log. If it fails, the log stays. */
static int checkpoint(assay_store *store)
{
    if (store->bug == FREES_EARLY && !empty_log(store))
        return 0;
    if (store->bug == IN_PLACE)
        return write_pages(store, "pages") && empty_log(store);
    if (!write_pages(store, "pages.new")) {
        unlinkat(store->directory, "pages.new", 0);
        return 0;
    }
    if (renameat(store->directory, "pages.new", store->directory, "pages") != 0)
        return 0;
    if (store->bug != NAME_UNSYNCED && !synchronise(store, store->directory))
        return 0;
    return empty_log(store);
}

static int read_pages(assay_store *store, assay_error *error)
{
    int file = openat(store->directory, "pages", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return errno == ENOENT ? ASSAY_DONE : failed(error, "pages cannot be opened");
    buffer all = {0};
    int is_read = read_all(file, &all) || store->bug == UNREAD;
    int answer = is_read ? ASSAY_DONE : failed(error, "pages cannot be read");
    close(file);
    pages_head head;
    if (is_read && all.size >= sizeof head) {
        memcpy(&head, all.bytes, sizeof head);
        uint64_t sum =
            checksum_of(all.bytes + sizeof head.checksum, all.size - sizeof head.checksum);
        if (sum != head.checksum || head.size_bytes != all.size - sizeof head)
            answer = refused(error, "pages are damaged");
        else
            append(&store->records, all.bytes + sizeof head, (size_t)head.size_bytes);
        store->last_commit = head.last_commit;
    } else if (is_read && store->bug != UNREAD) {
        answer = refused(error, "pages are damaged");
    }
    free(all.bytes);
    return answer;
}

/* Opens the files of a store, and brings the pages up to date. */
static int recover(assay_store *store, assay_error *error)
{
    int answer = read_pages(store, error);
    if (answer != ASSAY_DONE)
        return answer;
    if (store->bug == TRUSTS_MARKER) {
        int is_marked = faccessat(store->directory, "recovering", F_OK, 0) == 0;
        int marker = openat(store->directory, "recovering", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (marker < 0 || !synchronise(store, store->directory))
            return failed(error, "recovering cannot be made");
        close(marker);
        if (is_marked && !empty_log(store))
            return failed(error, "the log cannot be emptied");
    }
    buffer log = {0};
    int is_read = read_all(store->log, &log) || store->bug == UNREAD;
    if (is_read)
        replay(store, &log);
    free(log.bytes);
    if (!is_read)
        return failed(error, "the log cannot be read");
    if (store->bug == EMPTIES_FIRST && !empty_log(store))
        return failed(error, "the log cannot be emptied");
    if (!checkpoint(store))
        return failed(error, "the pages cannot be written");
    if (store->bug == TRUSTS_MARKER)
        unlinkat(store->directory, "recovering", 0);
    return ASSAY_DONE;
}

/* The store. */

static int teaching_close(assay_store *store, assay_error *error)
{
    (void)error;
    if (store->log >= 0)
        close(store->log);
    if (store->directory >= 0)
        close(store->directory);
    pthread_mutex_destroy(&store->lock);
    pthread_mutex_destroy(&store->log_lock);
    free(store->records.bytes);
    free(store);
    return ASSAY_DONE;
}

static int choose_bug(assay_store *store, const assay_open_options *options, assay_error *error)
{
    for (uint32_t at = 0; at < options->parameter_count; at++) {
        const assay_parameter *given = &options->parameters[at];
        size_t bug = 0;
        while (bug < BUG_COUNT && strcmp(BUGS[bug], given->value) != 0)
            bug++;
        if (bug == BUG_COUNT) {
            snprintf(error->text, sizeof error->text, "there is no bug %.40s; README.md has all",
                     given->value);
            return ASSAY_FAILED;
        }
        store->bug = (bug_kind)bug;
    }
    snprintf(store->settings, sizeof store->settings, "bug %s", BUGS[store->bug]);
    return ASSAY_DONE;
}

static int open_files(assay_store *store, const assay_open_options *options, assay_error *error)
{
    store->directory = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (store->directory < 0)
        return failed(error, options->dir);
    int flags = O_RDWR | O_CLOEXEC | (options->create ? O_CREAT | O_EXCL : 0);
    store->log = openat(store->directory, "log", flags, 0644);
    if (store->log < 0)
        return failed(error, "the log cannot be opened");
    if (options->create && store->bug != LOG_NAME_UNSYNCED
        && !synchronise(store, store->directory))
        return failed(error, "the directory cannot be synchronised");
    return options->create ? ASSAY_DONE : recover(store, error);
}

static int teaching_create(const assay_open_options *options, assay_store **store,
                           assay_error *error)
{
    assay_store *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed(error, "a store");
    made->schema = options->schema;
    made->is_synchronised = options->level == ASSAY_LEVEL_COMMIT;
    made->directory = made->log = -1;
    pthread_mutex_init(&made->lock, NULL);
    pthread_mutex_init(&made->log_lock, NULL);
    int answer = choose_bug(made, options, error);
    if (answer == ASSAY_DONE)
        answer = open_files(made, options, error);
    if (answer == ASSAY_DONE)
        *store = made;
    else
        teaching_close(made, error);
    return answer;
}

static const char *teaching_settings(assay_store *store)
{
    return store->settings;
}

/* Transactions. */

static int teaching_connect(assay_store *store, assay_handle **handle, assay_error *error)
{
    assay_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed(error, "a handle");
    made->store = store;
    *handle = made;
    return ASSAY_DONE;
}

/* Takes the lock of the store, unless the transaction has it. */
static void take_lock(assay_handle *handle)
{
    if (!handle->has_lock)
        pthread_mutex_lock(&handle->store->lock);
    handle->has_lock = 1;
}

static void release_lock(assay_handle *handle)
{
    if (handle->has_lock)
        pthread_mutex_unlock(&handle->store->lock);
    handle->has_lock = 0;
}

static int teaching_begin(assay_handle *handle, assay_error *error)
{
    (void)error;
    take_lock(handle);
    set_to(&handle->records, &handle->store->records);
    handle->changes.size = 0;
    handle->is_open = 1;
    if (handle->store->bug == NO_VALIDATION || handle->store->bug == UNLOCKED_SCAN)
        release_lock(handle);
    return ASSAY_DONE;
}

static int teaching_rollback(assay_handle *handle, assay_error *error)
{
    (void)error;
    handle->is_open = 0;
    release_lock(handle);
    return ASSAY_DONE;
}

/* Has the transaction go on with the records as they are now, if it has only scanned so far. */
static void end_of_scans(assay_handle *handle)
{
    if (handle->store->bug != UNLOCKED_SCAN || handle->has_lock)
        return;
    take_lock(handle);
    set_to(&handle->records, &handle->store->records);
}

static void teaching_disconnect(assay_handle *handle)
{
    if (handle->is_open)
        teaching_rollback(handle, NULL);
    free(handle->records.bytes);
    free(handle->changes.bytes);
    free(handle);
}

static int log_changes(assay_store *store, const buffer *changes, assay_error *error)
{
    if (store->is_broken)
        return refused(error, "the disk has failed; the store takes no more commits");
    size_t first = change_size(store->schema, changes->bytes, changes->size);
    if (store->bug == HALVES && first < changes->size) {
        int answer = append_commit(store, changes->bytes, first, error);
        if (answer != ASSAY_DONE)
            return answer;
        return append_commit(store, changes->bytes + first, changes->size - first, error);
    }
    return append_commit(store, changes->bytes, changes->size, error);
}

static int teaching_commit(assay_handle *handle, assay_error *error)
{
    assay_store *store = handle->store;
    handle->is_open = 0;
    take_lock(handle);
    int answer = ASSAY_DONE;
    if (store->bug == LOG_ORDER && handle->changes.size > 0) {
        set_to(&store->records, &handle->records);
        release_lock(handle);
        usleep(handle->changes.size % 3 * LETS_PASS_US);
        pthread_mutex_lock(&store->log_lock);
        answer = log_changes(store, &handle->changes, error);
        pthread_mutex_unlock(&store->log_lock);
        return answer;
    }
    if (handle->changes.size > 0) {
        answer = log_changes(store, &handle->changes, error);
        if (answer == ASSAY_DONE)
            apply(store->schema, &store->records, handle->changes.bytes, handle->changes.size);
        /* The commit is in the log, whether the checkpoint succeeds or not. */
        if (answer == ASSAY_DONE && store->commits_in_log >= CHECKPOINT_COMMITS)
            checkpoint(store);
    }
    release_lock(handle);
    return answer;
}

/* Operations. */

/* Notes a change of a transaction, which its own reads see. */
static void change(assay_handle *handle, unsigned char kind, const void *bytes, size_t size)
{
    end_of_scans(handle);
    size_t before = handle->changes.size;
    append(&handle->changes, &kind, 1);
    append(&handle->changes, bytes, size);
    apply(handle->store->schema, &handle->records, handle->changes.bytes + before, 1 + size);
}

/* Ends an operation, which is a transaction of its own unless it is in one. */
static int settle(assay_handle *handle, int is_alone, int answer, assay_error *error)
{
    if (!is_alone)
        return answer;
    if (answer != ASSAY_DONE) {
        teaching_rollback(handle, error);
        return answer;
    }
    return teaching_commit(handle, error);
}

static int is_alone(assay_handle *handle)
{
    int is_alone = !handle->is_open;
    if (is_alone)
        teaching_begin(handle, NULL);
    return is_alone;
}

static unsigned char *record_of(assay_handle *handle, const void *key)
{
    end_of_scans(handle);
    int is_there;
    size_t at = find(handle->store->schema, &handle->records, key, &is_there);
    return is_there ? handle->records.bytes + at : NULL;
}

static int teaching_insert(assay_handle *handle, const void *record, assay_error *error)
{
    int alone = is_alone(handle);
    int answer = record_of(handle, record) == NULL ? ASSAY_DONE : ASSAY_DUPLICATE;
    if (answer == ASSAY_DONE)
        change(handle, PUT, record, handle->store->schema->record_size);
    return settle(handle, alone, answer, error);
}

static int teaching_upsert(assay_handle *handle, const void *record, assay_error *error)
{
    int alone = is_alone(handle);
    change(handle, PUT, record, handle->store->schema->record_size);
    return settle(handle, alone, ASSAY_DONE, error);
}

static int teaching_query(assay_handle *handle, const void *key, void *payload, assay_error *error)
{
    const assay_schema *schema = handle->store->schema;
    int alone = is_alone(handle);
    const unsigned char *record = record_of(handle, key);
    if (record != NULL)
        memcpy(payload, record + schema->key_size, schema->payload_size);
    return settle(handle, alone, record != NULL ? ASSAY_DONE : ASSAY_MISSING, error);
}

static int teaching_update(assay_handle *handle, const void *key, uint32_t column,
                           const void *value, assay_error *error)
{
    const assay_schema *schema = handle->store->schema;
    const assay_column *of = &schema->columns[column];
    int alone = is_alone(handle);
    const unsigned char *record = record_of(handle, key);
    if (record == NULL)
        return settle(handle, alone, ASSAY_MISSING, error);
    buffer now = {0};
    append(&now, record, schema->record_size);
    memcpy(now.bytes + of->offset, value, of->size_bytes);
    if (alone && handle->store->bug == LOST_UPDATE) {
        teaching_rollback(handle, error);
        usleep(LETS_PASS_US);
        teaching_begin(handle, error);
    }
    change(handle, PUT, now.bytes, now.size);
    free(now.bytes);
    return settle(handle, alone, ASSAY_DONE, error);
}

static int teaching_remove(assay_handle *handle, const void *key, assay_error *error)
{
    int alone = is_alone(handle);
    int answer = record_of(handle, key) != NULL ? ASSAY_DONE : ASSAY_MISSING;
    if (answer == ASSAY_DONE)
        change(handle, DELETE, key, handle->store->schema->key_size);
    return settle(handle, alone, answer, error);
}

static int teaching_scan(assay_handle *handle, const assay_scan *scan, assay_row row,
                         void *context, uint64_t *count, assay_error *error)
{
    const assay_schema *schema = handle->store->schema;
    int alone = is_alone(handle), is_there;
    const buffer *records = &handle->records;
    size_t at = 0;
    if (scan->lower != NULL) {
        at = find(schema, records, scan->lower, &is_there);
        if (is_there && !scan->lower_included)
            at += schema->record_size;
    }
    *count = 0;
    for (; at < records->size && *count < scan->limit; at += schema->record_size) {
        int order = scan->upper == NULL
            ? -1
            : compare_keys(schema, records->bytes + at, scan->upper);
        if (order > 0 || (order == 0 && !scan->upper_included))
            break;
        row(context, records->bytes + at);
        ++*count;
    }
    return settle(handle, alone, ASSAY_DONE, error);
}

static const char *const PARAMETERS[] = {"bug", NULL};

static const assay_driver DRIVER = {
    .size_bytes = sizeof(assay_driver),
    .abi_version = ASSAY_DRIVER_ABI,
    .id = "teaching",
    .name = "teaching",
    .version = "1",
    .about = "a small engine with bugs to switch on",
    .key_kinds = ASSAY_KEY_TREE,
    .ramdisk_levels = ASSAY_LEVEL_PROCESS | ASSAY_LEVEL_COMMIT,
    .disk_levels = ASSAY_LEVEL_PROCESS | ASSAY_LEVEL_COMMIT,
    .transactions = ASSAY_TRANSACTIONS,
    .concurrency = ASSAY_CONCURRENT,
    .create = teaching_create,
    .close = teaching_close,
    .settings = teaching_settings,
    .connect = teaching_connect,
    .disconnect = teaching_disconnect,
    .begin = teaching_begin,
    .commit = teaching_commit,
    .rollback = teaching_rollback,
    .insert = teaching_insert,
    .query = teaching_query,
    .update = teaching_update,
    .remove = teaching_remove,
    .upsert = teaching_upsert,
    .scan = teaching_scan,
    .parameters = PARAMETERS,
};

const assay_driver *assay_plugin(void)
{
    return &DRIVER;
}
