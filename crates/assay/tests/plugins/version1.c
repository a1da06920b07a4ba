/* A plugin of version 1 of the interface, as it was built before there was version 2. It has its
 * own copy of the structures of then, so that a change of assay_driver.h that breaks old plugins
 * is noticed. Its engine keeps records in a list. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MISSING = 0, DONE = 1, DUPLICATE = 2, FAILED = -1 };

typedef struct { char text[512]; } error_1;

typedef struct {
    const char *name;
    uint32_t type, size_bytes, offset, in_key;
} column_1;

typedef struct {
    const char *name;
    const column_1 *columns;
    uint32_t column_count, key_column_count, key_size, payload_size, record_size;
} schema_1;

typedef struct {
    const char *dir;
    uint32_t create, storage, level, key_kind, threads;
    uint64_t expected_rows;
    const schema_1 *schema;
} options_1;

typedef struct {
    const schema_1 *schema;
    size_t count, room;
    unsigned char *records;
} store_1;

typedef struct {
    uint32_t size_bytes, abi_version;
    const char *id, *name, *version, *about;
    uint32_t key_kinds, memory_levels, ramdisk_levels, disk_levels, transactions, insert_replaces,
        delete_silent, concurrency, periodic_survives_kill;
    int (*create)(const options_1 *, store_1 **, error_1 *);
    int (*close)(store_1 *, error_1 *);
    const char *(*settings)(store_1 *);
    int (*connect)(store_1 *, store_1 **, error_1 *);
    void (*disconnect)(store_1 *);
    int (*begin)(store_1 *, error_1 *);
    int (*commit)(store_1 *, error_1 *);
    int (*rollback)(store_1 *, error_1 *);
    int (*insert)(store_1 *, const void *, error_1 *);
    int (*query)(store_1 *, const void *, void *, error_1 *);
    int (*update)(store_1 *, const void *, uint32_t, const void *, error_1 *);
    int (*remove)(store_1 *, const void *, error_1 *);
    int (*upsert)(store_1 *, const void *, error_1 *);
    int (*scan)(store_1 *, const void *, void *, void *, uint64_t *, error_1 *);
} driver_1;

static int failed(error_1 *error, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s", why);
    return FAILED;
}

static unsigned char *at(store_1 *store, size_t place)
{
    return store->records + place * store->schema->record_size;
}

static unsigned char *find(store_1 *store, const void *key)
{
    for (size_t place = 0; place < store->count; place++)
        if (memcmp(at(store, place), key, store->schema->key_size) == 0)
            return at(store, place);
    return NULL;
}

static int create(const options_1 *options, store_1 **store, error_1 *error)
{
    if (options->storage != 0 || options->level != 1 || options->create != 1)
        return failed(error, "that was not declared");
    *store = calloc(1, sizeof **store);
    if (*store == NULL)
        return failed(error, "out of memory");
    (*store)->schema = options->schema;
    return DONE;
}

static int close_store(store_1 *store, error_1 *error)
{
    (void)error;
    free(store->records);
    free(store);
    return DONE;
}

static int connect(store_1 *store, store_1 **handle, error_1 *error)
{
    (void)error;
    *handle = store;
    return DONE;
}

static void disconnect(store_1 *handle)
{
    (void)handle;
}

static int insert(store_1 *store, const void *record, error_1 *error)
{
    if (find(store, record) != NULL)
        return DUPLICATE;
    if (store->count == store->room) {
        size_t room = store->room ? store->room * 2 : 64;
        void *made = realloc(store->records, room * store->schema->record_size);
        if (made == NULL)
            return failed(error, "out of memory");
        store->records = made;
        store->room = room;
    }
    memcpy(at(store, store->count++), record, store->schema->record_size);
    return DONE;
}

static int query(store_1 *store, const void *key, void *payload, error_1 *error)
{
    (void)error;
    unsigned char *found = find(store, key);
    if (found == NULL)
        return MISSING;
    memcpy(payload, found + store->schema->key_size, store->schema->payload_size);
    return DONE;
}

static int update(store_1 *store, const void *key, uint32_t column, const void *value,
                  error_1 *error)
{
    (void)error;
    unsigned char *found = find(store, key);
    if (found == NULL)
        return MISSING;
    const column_1 *changed = &store->schema->columns[column];
    memcpy(found + changed->offset, value, changed->size_bytes);
    return DONE;
}

static int remove_record(store_1 *store, const void *key, error_1 *error)
{
    (void)error;
    unsigned char *found = find(store, key);
    if (found == NULL)
        return MISSING;
    memmove(found, at(store, --store->count), store->schema->record_size);
    return DONE;
}

const driver_1 *assay_plugin(void);

const driver_1 *assay_plugin(void)
{
    static const driver_1 DRIVER = {
        .size_bytes = sizeof(driver_1),
        .abi_version = 1,
        .id = "version1",
        .name = "Version 1",
        .version = "1",
        .about = "a plugin that is older than this Assay",
        .key_kinds = 1,
        .memory_levels = 1,
        .create = create,
        .close = close_store,
        .connect = connect,
        .disconnect = disconnect,
        .insert = insert,
        .query = query,
        .update = update,
#ifndef NO_REMOVE
        .remove = remove_record,
#endif
    };
    (void)remove_record;
    return &DRIVER;
}
