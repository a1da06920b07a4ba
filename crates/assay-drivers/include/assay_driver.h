/* assay_driver.h: how an engine outside of Assay lets itself be driven. Version 2.
 *
 * A plugin is a shared library that exports one function, assay_plugin(), which returns a table of
 * functions. Assay loads it with --plugin ./libname.so, or finds it as libNAME.so in a folder of
 * plugins when the engine NAME is asked for; in a process of its own for each cell.
 *
 * Versions
 *  - A table starts with its size and its version. Assay loads tables of every version up to its
 *    own; what a version does not have counts as 0 or NULL. A table of a later version is refused.
 *  - The structures that Assay passes only grow at their ends. A plugin may read what its header
 *    declares, since no older Assay loads it.
 *  - Version 1 ended with scan, and its update and remove could not be NULL. Version 2 has all
 *    that is marked with a 2 below.
 *
 * Threads
 *  - create and close are called by one thread, while no other function is at work.
 *  - connect and disconnect are called by the thread that works with the handle, by several threads
 *    at once where the concurrency allows several handles.
 *  - A handle is used by one thread at a time; several handles of a store, as the concurrency says.
 *  - Threads that the plugin starts end in close.
 *
 * Conventions
 *  - Functions that can fail return one of the ASSAY_ values below. With ASSAY_FAILED they write
 *    why into the error, as a text that ends with a zero byte; with ASSAY_UNSUPPORTED they may.
 *  - No exception leaves a function. assay_driver.hpp has what a plugin in C++ needs for that.
 *  - A key, a payload and a record are packed bytes: columns at the offsets that the schema gives,
 *    numbers in the byte order of the machine. A record is its key followed by its payload.
 *    A column ASSAY_TEXT is filled up with zero bytes, ASSAY_BYTES is used whole, and
 *    ASSAY_VAR_BYTES (only the last column) is a 32-bit length followed by that many bytes.
 *    Unused bytes are zero; those behind the bytes of an ASSAY_VAR_BYTES may be anything in a
 *    payload that query returns.
 *  - Each thread works with a handle of its own, made by connect. Outside of begin … commit every
 *    write is a transaction of its own, durable as the level says when the call returns.
 *  - Pointers that Assay passes are valid during the call, unless it says otherwise.
 */
#ifndef ASSAY_DRIVER_H
#define ASSAY_DRIVER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this interface. */
#define ASSAY_DRIVER_ABI 2u

/* Answers. */
#define ASSAY_MISSING 0       /* there is no such key; nothing happened */
#define ASSAY_DONE 1          /* found, inserted, updated, deleted */
#define ASSAY_DUPLICATE 2     /* the key is there already; nothing happened */
#define ASSAY_FAILED (-1)     /* see the error */
#define ASSAY_UNSUPPORTED (-2) /* the engine cannot do that */

/* Types of columns, and of properties. */
#define ASSAY_U8 0u
#define ASSAY_U16 1u
#define ASSAY_U32 2u
#define ASSAY_U64 3u
#define ASSAY_I32 4u
#define ASSAY_I64 5u
#define ASSAY_F64 6u
#define ASSAY_TEXT 7u
#define ASSAY_BYTES 8u
#define ASSAY_VAR_BYTES 9u
#define ASSAY_F32 10u /* 2; of properties only */

/* Kinds of keys, as bits. */
#define ASSAY_KEY_HASH 1u
#define ASSAY_KEY_TREE 2u /* ordered: numbers by value, texts and bytes bytewise */

/* What writes survive, as bits. */
#define ASSAY_LEVEL_NONE 1u     /* nothing before close */
#define ASSAY_LEVEL_PROCESS 2u  /* a killed process */
#define ASSAY_LEVEL_PERIODIC 4u /* power loss, but for an interval that the settings state */
#define ASSAY_LEVEL_COMMIT 8u   /* power loss */

/* Where the data lives. */
#define ASSAY_MEMORY 0u
#define ASSAY_RAMDISK 1u
#define ASSAY_DISK 2u

/* What begin, commit and rollback offer. */
#define ASSAY_NO_TRANSACTIONS 0u
#define ASSAY_BATCHES 1u      /* inserts and deletes are applied at commit */
#define ASSAY_TRANSACTIONS 2u /* reads and writes, with its own writes visible */

/* How many handles can work at once. */
#define ASSAY_ONE_CONNECTION 0u
#define ASSAY_ONE_WRITER 1u /* many readers beside one writer */
#define ASSAY_CONCURRENT 2u

typedef struct assay_error {
    char text[512];
} assay_error;

typedef struct assay_column {
    const char *name;
    uint32_t type;
    uint32_t size_bytes;
    uint32_t offset; /* in a record */
    uint32_t in_key; /* 1 or 0 */
} assay_column;

typedef struct assay_schema {
    const char *name;
    const assay_column *columns;
    uint32_t column_count;
    uint32_t key_column_count; /* the first ones */
    uint32_t key_size;
    uint32_t payload_size;
    uint32_t record_size;
} assay_schema;

/* 2: a setting with a value of its own, as the user gave it. */
typedef struct assay_parameter {
    const char *name;
    const char *value;
} assay_parameter;

typedef struct assay_open_options {
    const char *dir;        /* an existing directory for the engine's files; unused in memory */
    uint32_t create;        /* 1: make a store in the empty directory; 0: open the one there */
    uint32_t storage;       /* ASSAY_MEMORY, ASSAY_RAMDISK or ASSAY_DISK */
    uint32_t level;         /* one of the levels that the table lists for this storage */
    uint32_t key_kind;      /* one of the table's key kinds */
    uint32_t threads;       /* how many handles will work at once */
    uint64_t expected_rows; /* how many records to expect */
    const assay_schema *schema; /* valid until close */
    uint32_t volumes;           /* 2: volumes to mount; 1 unless the volume table says mounts */
    uint32_t parameter_count;   /* 2 */
    const assay_parameter *parameters; /* 2: those of the table's parameters that were given */
} assay_open_options;

typedef struct assay_scan {
    const void *lower; /* a key, or NULL for none */
    const void *upper;
    uint32_t lower_included; /* 1 or 0 */
    uint32_t upper_included;
    const uint32_t *columns; /* positions of the columns wanted, ascending */
    uint32_t column_count;
    uint64_t limit; /* the most records */
} assay_scan;

/* Called with each record of a scan, in ascending order of keys; only the columns that were asked
 * for have to be filled. */
typedef void (*assay_row)(void *context, const void *record);

typedef struct assay_store assay_store;   /* the plugin's own */
typedef struct assay_handle assay_handle; /* the plugin's own */

/* 2: a typed value: ASSAY_U8, U32, U64, F32 or F64 in the byte order of the machine, ASSAY_TEXT
 * (UTF-8) or ASSAY_BYTES. */
typedef struct assay_property {
    uint32_t type;
    uint32_t size_bytes;
    const void *bytes;
} assay_property;

/* Called with the property that get_property found. */
typedef void (*assay_found)(void *context, const assay_property *value);

/* 2: volumes of records with typed properties, for engines that have such a notion themselves; the
 * suite skvdb calls these instead of the functions for records. Each may be NULL: what it would do
 * is then shown as not offered.
 *
 * A record is named by a number and is there as soon as it is named. Names of properties and of
 * links are UTF-8 of name_size bytes, without a zero byte at the end. */
typedef struct assay_volume {
    uint32_t size_bytes; /* sizeof(assay_volume) */
    /* 1: a store mounts as many volumes at one point as the options say, the first with the highest
     * priority: a write goes to each, and a read returns that of the first that has it.
     * 0: a store is one volume, and Assay opens several. */
    uint32_t mounts;
    int (*set_property)(assay_handle *handle, uint64_t record, const char *name,
                        uint32_t name_size, const assay_property *value, assay_error *error);
    int (*get_property)(assay_handle *handle, uint64_t record, const char *name,
                        uint32_t name_size, assay_found found, void *context,
                        assay_error *error);
    int (*remove_property)(assay_handle *handle, uint64_t record, const char *name,
                           uint32_t name_size, assay_error *error);
    /* Makes a child of a record under a name; ASSAY_DUPLICATE if the name is there. The child's
     * number is one that was not named before; an engine that numbers by itself ignores it. */
    int (*link)(assay_handle *handle, uint64_t parent, const char *name, uint32_t name_size,
                uint64_t child, assay_error *error);
    int (*unlink)(assay_handle *handle, uint64_t parent, const char *name, uint32_t name_size,
                  assay_error *error);
} assay_volume;

typedef struct assay_driver {
    uint32_t size_bytes;  /* sizeof(assay_driver) */
    uint32_t abi_version; /* ASSAY_DRIVER_ABI */

    /* What the engine declares about itself. */
    const char *id;      /* on the command line: lower-case letters, digits and hyphens */
    const char *name;    /* in tables */
    const char *version;
    const char *about;   /* one line */
    uint32_t key_kinds;      /* bits; the first that is set is the default */
    uint32_t memory_levels;  /* bits; 0: not in memory */
    uint32_t ramdisk_levels;
    uint32_t disk_levels;
    uint32_t transactions;
    uint32_t insert_replaces; /* 1: insert overwrites; 0: it returns ASSAY_DUPLICATE */
    uint32_t delete_silent;   /* 1: delete does not look; 0: it returns ASSAY_MISSING */
    uint32_t concurrency;
    uint32_t periodic_survives_kill; /* 1: level periodic loses nothing with a killed process */

    /* The store. */
    int (*create)(const assay_open_options *options, assay_store **store, assay_error *error);
    int (*close)(assay_store *store, assay_error *error);
    /* What was set, one setting a line; may be NULL. The text is valid until close. */
    const char *(*settings)(assay_store *store);

    /* A thread's handle. */
    int (*connect)(assay_store *store, assay_handle **handle, assay_error *error);
    void (*disconnect)(assay_handle *handle);

    /* May be NULL where there are no transactions. */
    int (*begin)(assay_handle *handle, assay_error *error);
    int (*commit)(assay_handle *handle, assay_error *error);
    int (*rollback)(assay_handle *handle, assay_error *error);

    int (*insert)(assay_handle *handle, const void *record, assay_error *error);
    /* Copies the record's payload. */
    int (*query)(assay_handle *handle, const void *key, void *payload, assay_error *error);
    /* Sets one column, by its position, to a packed value. 2: NULL where records cannot be changed;
     * update phases are then shown as not offered. */
    int (*update)(assay_handle *handle, const void *key, uint32_t column, const void *value,
                  assay_error *error);
    /* 2: NULL where records cannot be deleted; delete phases are then shown as not offered. */
    int (*remove)(assay_handle *handle, const void *key, assay_error *error);
    /* Inserts or replaces; may be NULL. */
    int (*upsert)(assay_handle *handle, const void *record, assay_error *error);
    /* Calls row and counts; may be NULL. */
    int (*scan)(assay_handle *handle, const assay_scan *scan, assay_row row, void *context,
                uint64_t *count, assay_error *error);

    /* Version 1 ends here. */

    /* At level periodic: the interval between syncs, which assay crash checks; 0: not stated. */
    uint32_t periodic_interval_ms;
    uint32_t reserved; /* 0 */
    /* Names of settings with values of their own, such as block_size, and a NULL at the end; or
     * NULL. By the name cache_bytes a plugin is given what its cache may take up, in bytes, where
     * there is a budget for all engines (assay run --cache). */
    const char *const *parameters;
    /* The engine's own notion of volumes; may be NULL. */
    const assay_volume *volume;
} assay_driver;

/* The one function that a plugin exports. The table is valid as long as the library is loaded. */
const assay_driver *assay_plugin(void);

#ifdef __cplusplus
}
#endif
#endif
