/* @NAME@: an engine for Assay. assay_driver.h says what each function has to do. */
#include "assay_driver.h"

#include <stdio.h>
#include <stdlib.h>

struct assay_store {
    const assay_schema *schema;
    /* what your engine needs for an open database */
};

struct assay_handle {
    assay_store *store;
    /* what it needs for a thread: a cursor, a transaction, a buffer */
};

/* How to fail: return failed(error, "what happened"). */
static int failed(assay_error *error, const char *why)
{
    snprintf(error->text, sizeof error->text, "%s", why);
    return ASSAY_FAILED;
}

/* Make a database in options->dir, or open the one there. */
static int @FUNCTION@_create(const assay_open_options *options, assay_store **store,
                             assay_error *error)
{
    assay_store *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed(error, "out of memory");
    made->schema = options->schema;
    *store = made;
    return ASSAY_DONE;
}

static int @FUNCTION@_close(assay_store *store, assay_error *error)
{
    (void)error;
    free(store);
    return ASSAY_DONE;
}

static int @FUNCTION@_connect(assay_store *store, assay_handle **handle, assay_error *error)
{
    assay_handle *made = calloc(1, sizeof *made);
    if (made == NULL)
        return failed(error, "out of memory");
    made->store = store;
    *handle = made;
    return ASSAY_DONE;
}

static void @FUNCTION@_disconnect(assay_handle *handle)
{
    free(handle);
}

/* Start a transaction. Without transactions, leave these three out of the table. */
static int @FUNCTION@_begin(assay_handle *handle, assay_error *error)
{
    (void)handle, (void)error;
    return ASSAY_UNSUPPORTED;
}

static int @FUNCTION@_commit(assay_handle *handle, assay_error *error)
{
    (void)handle, (void)error;
    return ASSAY_UNSUPPORTED;
}

static int @FUNCTION@_rollback(assay_handle *handle, assay_error *error)
{
    (void)handle, (void)error;
    return ASSAY_UNSUPPORTED;
}

/* Insert a record: the key is its first key_size bytes. */
static int @FUNCTION@_insert(assay_handle *handle, const void *record, assay_error *error)
{
    (void)handle, (void)record, (void)error;
    return ASSAY_UNSUPPORTED;
}

/* Look a key up, and copy payload_size bytes. */
static int @FUNCTION@_query(assay_handle *handle, const void *key, void *payload,
                            assay_error *error)
{
    (void)handle, (void)key, (void)payload, (void)error;
    return ASSAY_UNSUPPORTED;
}

/* Set one column of a record: schema->columns[column]. */
static int @FUNCTION@_update(assay_handle *handle, const void *key, uint32_t column,
                             const void *value, assay_error *error)
{
    (void)handle, (void)key, (void)column, (void)value, (void)error;
    return ASSAY_UNSUPPORTED;
}

static int @FUNCTION@_delete(assay_handle *handle, const void *key, assay_error *error)
{
    (void)handle, (void)key, (void)error;
    return ASSAY_UNSUPPORTED;
}

static const assay_driver DRIVER = {
    .size_bytes = sizeof(assay_driver),
    .abi_version = ASSAY_DRIVER_ABI,
    .id = "@NAME@",
    .name = "@NAME@",
    .version = "0",
    .about = "an engine that is not filled in yet",
    .key_kinds = ASSAY_KEY_HASH,
    .memory_levels = ASSAY_LEVEL_NONE,
    .transactions = ASSAY_TRANSACTIONS,
    .concurrency = ASSAY_ONE_CONNECTION,
    .create = @FUNCTION@_create,
    .close = @FUNCTION@_close,
    .connect = @FUNCTION@_connect,
    .disconnect = @FUNCTION@_disconnect,
    .begin = @FUNCTION@_begin,
    .commit = @FUNCTION@_commit,
    .rollback = @FUNCTION@_rollback,
    .insert = @FUNCTION@_insert,
    .query = @FUNCTION@_query,
    .update = @FUNCTION@_update,
    .remove = @FUNCTION@_delete,
};

const assay_driver *assay_plugin(void)
{
    return &DRIVER;
}
