/* hashtable: a plugin for Assay that is complete and small: a hash table in memory, with open
 * addressing and linear probing (Knuth, The Art of Computer Programming, volume 3, section 6.4,
 * algorithms L and R), and transactions by an undo log. One thread at a time.
 *
 *   make && assay verify -e hashtable --plugin ./libhashtable.so
 */
#include "assay_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct assay_store {
    const assay_schema *schema;
    size_t slot_size; /* a record, and a byte that says whether there is one */
    size_t mask;      /* slots are a power of two */
    size_t count;
    unsigned char *slots;

    /* What undoes the open transaction, newest last: each entry is a byte that says whether the
     * record was there, and the record (or only its key). */
    int in_transaction;
    size_t undo_count, undo_room;
    unsigned char *undo;
};

/* There is one connection, so the handle is the store. */
static assay_store *store_of(assay_handle *handle)
{
    return (assay_store *)handle;
}

static int failed(assay_error *error, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s", why);
    return ASSAY_FAILED;
}

/* FNV-1a over the key, with a final mix so that the low bits depend on all of it. */
static size_t hash(const assay_store *store, const unsigned char *key)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (uint32_t at = 0; at < store->schema->key_size; at++)
        h = (h ^ key[at]) * 0x100000001b3u;
    h ^= h >> 32;
    return (size_t)(h * 0x9e3779b97f4a7c15u >> 17);
}

static unsigned char *slot(const assay_store *store, size_t at)
{
    return store->slots + (at & store->mask) * store->slot_size;
}

static unsigned char *record_in(unsigned char *slot)
{
    return slot + 1;
}

/* The slot of a key, or the free one where it would be. */
static size_t find(const assay_store *store, const unsigned char *key)
{
    size_t at = hash(store, key);
    while (slot(store, at)[0]
           && memcmp(record_in(slot(store, at)), key, store->schema->key_size) != 0)
        at++;
    return at & store->mask;
}

static int allocate(assay_store *store, size_t slots)
{
    unsigned char *made = calloc(slots, store->slot_size);
    if (made == NULL)
        return 0;
    store->slots = made;
    store->mask = slots - 1;
    return 1;
}

static int grow(assay_store *store)
{
    unsigned char *old = store->slots;
    size_t slots = store->mask + 1;
    if (!allocate(store, slots * 2))
        return 0;
    for (size_t at = 0; at < slots; at++) {
        unsigned char *from = old + at * store->slot_size;
        if (from[0])
            memcpy(slot(store, find(store, record_in(from))), from, store->slot_size);
    }
    free(old);
    return 1;
}

static int put(assay_store *store, const unsigned char *record)
{
    if ((store->count + 1) * 4 > (store->mask + 1) * 3 && !grow(store))
        return 0;
    unsigned char *to = slot(store, find(store, record));
    store->count += !to[0];
    to[0] = 1;
    memcpy(record_in(to), record, store->schema->record_size);
    return 1;
}

/* Empties a slot, and moves those behind it forward that would not be found any more. */
static void take(assay_store *store, size_t hole)
{
    store->count--;
    for (size_t at = hole + 1; slot(store, at)[0]; at++) {
        size_t home = hash(store, record_in(slot(store, at)));
        if (((at - home) & store->mask) >= ((at - hole) & store->mask)) {
            memcpy(slot(store, hole), slot(store, at), store->slot_size);
            hole = at;
        }
    }
    slot(store, hole)[0] = 0;
}

/* Notes what a key had before it is changed. */
static int note(assay_store *store, const unsigned char *key)
{
    if (!store->in_transaction)
        return 1;
    if (store->undo_count == store->undo_room) {
        size_t room = store->undo_room ? store->undo_room * 2 : 64;
        unsigned char *made = realloc(store->undo, room * store->slot_size);
        if (made == NULL)
            return 0;
        store->undo = made;
        store->undo_room = room;
    }
    unsigned char *entry = store->undo + store->undo_count++ * store->slot_size;
    unsigned char *now = slot(store, find(store, key));
    memcpy(entry, now, store->slot_size);
    if (!now[0])
        memcpy(record_in(entry), key, store->schema->key_size);
    return 1;
}

static int hashtable_create(const assay_open_options *options, assay_store **store,
                            assay_error *error)
{
    assay_store *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed(error, "out of memory");
    made->schema = options->schema;
    made->slot_size = 1 + (size_t)options->schema->record_size;
    if (!allocate(made, 1024)) {
        free(made);
        return failed(error, "out of memory");
    }
    *store = made;
    return ASSAY_DONE;
}

static int hashtable_close(assay_store *store, assay_error *error)
{
    (void)error;
    free(store->slots);
    free(store->undo);
    free(store);
    return ASSAY_DONE;
}

static const char *hashtable_settings(assay_store *store)
{
    (void)store;
    return "linear probing, at most 3/4 full\nno lock";
}

static int hashtable_connect(assay_store *store, assay_handle **handle, assay_error *error)
{
    (void)error;
    *handle = (assay_handle *)store;
    return ASSAY_DONE;
}

static void hashtable_disconnect(assay_handle *handle)
{
    (void)handle;
}

static int hashtable_begin(assay_handle *handle, assay_error *error)
{
    assay_store *store = store_of(handle);
    if (store->in_transaction)
        return failed(error, "a transaction is open already");
    store->in_transaction = 1;
    store->undo_count = 0;
    return ASSAY_DONE;
}

static int hashtable_commit(assay_handle *handle, assay_error *error)
{
    assay_store *store = store_of(handle);
    if (!store->in_transaction)
        return failed(error, "no transaction is open");
    store->in_transaction = 0;
    return ASSAY_DONE;
}

static int hashtable_rollback(assay_handle *handle, assay_error *error)
{
    assay_store *store = store_of(handle);
    if (!store->in_transaction)
        return failed(error, "no transaction is open");
    store->in_transaction = 0;
    while (store->undo_count > 0) {
        unsigned char *entry = store->undo + --store->undo_count * store->slot_size;
        if (entry[0]) {
            if (!put(store, record_in(entry)))
                return failed(error, "out of memory");
        } else {
            size_t at = find(store, record_in(entry));
            if (slot(store, at)[0])
                take(store, at);
        }
    }
    return ASSAY_DONE;
}

static int hashtable_insert(assay_handle *handle, const void *record, assay_error *error)
{
    assay_store *store = store_of(handle);
    if (slot(store, find(store, record))[0])
        return ASSAY_DUPLICATE;
    if (!note(store, record) || !put(store, record))
        return failed(error, "out of memory");
    return ASSAY_DONE;
}

static int hashtable_upsert(assay_handle *handle, const void *record, assay_error *error)
{
    assay_store *store = store_of(handle);
    if (!note(store, record) || !put(store, record))
        return failed(error, "out of memory");
    return ASSAY_DONE;
}

static int hashtable_query(assay_handle *handle, const void *key, void *payload,
                           assay_error *error)
{
    (void)error;
    const assay_store *store = store_of(handle);
    unsigned char *found = slot(store, find(store, key));
    if (!found[0])
        return ASSAY_MISSING;
    memcpy(payload, record_in(found) + store->schema->key_size, store->schema->payload_size);
    return ASSAY_DONE;
}

static int hashtable_update(assay_handle *handle, const void *key, uint32_t column,
                            const void *value, assay_error *error)
{
    assay_store *store = store_of(handle);
    unsigned char *found = slot(store, find(store, key));
    if (!found[0])
        return ASSAY_MISSING;
    if (!note(store, key))
        return failed(error, "out of memory");
    const assay_column *changed = &store->schema->columns[column];
    memcpy(record_in(found) + changed->offset, value, changed->size_bytes);
    return ASSAY_DONE;
}

static int hashtable_delete(assay_handle *handle, const void *key, assay_error *error)
{
    assay_store *store = store_of(handle);
    size_t at = find(store, key);
    if (!slot(store, at)[0])
        return ASSAY_MISSING;
    if (!note(store, key))
        return failed(error, "out of memory");
    take(store, at);
    return ASSAY_DONE;
}

static const assay_driver DRIVER = {
    .size_bytes = sizeof(assay_driver),
    .abi_version = ASSAY_DRIVER_ABI,
    .id = "hashtable",
    .name = "HashTable",
    .version = "1",
    .about = "hash table in memory, the example of a plugin (C)",
    .key_kinds = ASSAY_KEY_HASH,
    .memory_levels = ASSAY_LEVEL_NONE,
    .transactions = ASSAY_TRANSACTIONS,
    .concurrency = ASSAY_ONE_CONNECTION,
    .create = hashtable_create,
    .close = hashtable_close,
    .settings = hashtable_settings,
    .connect = hashtable_connect,
    .disconnect = hashtable_disconnect,
    .begin = hashtable_begin,
    .commit = hashtable_commit,
    .rollback = hashtable_rollback,
    .insert = hashtable_insert,
    .upsert = hashtable_upsert,
    .query = hashtable_query,
    .update = hashtable_update,
    .remove = hashtable_delete,
};

const assay_driver *assay_plugin(void)
{
    return &DRIVER;
}
