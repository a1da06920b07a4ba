/* The change feed, as it should be used and as it should not: argv[1] is an empty directory. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>

#include "check.h"

static const lode_column CITY[] = {
    LODE_COLUMN("id", LODE_TYPE_U32, 0, LODE_KEY),
    LODE_COLUMN("name", LODE_TYPE_VAR_TEXT, 80, 0),
    LODE_COLUMN("people", LODE_TYPE_U64, 0, LODE_NULLABLE),
};

/* A position, as a program keeps it. */
struct position {
    char text[LODE_MOST_POSITION_BYTES];
    size_t size;
};

static struct position now(lode_database db)
{
    struct position found;
    DONE(lode_position(db, found.text, sizeof found.text, &found.size));
    CHECK(found.size > 0 && found.size <= sizeof found.text);
    return found;
}

static struct position reached(lode_changes changes)
{
    struct position found;
    DONE(lode_reached_position(changes, found.text, sizeof found.text, &found.size));
    return found;
}

static bool is_equal(struct position one, struct position other)
{
    return one.size == other.size && memcmp(one.text, other.text, one.size) == 0;
}

static bool says(lode_bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.data, text, bytes.size) == 0;
}

static lode_change change_at(lode_changes changes, size_t at)
{
    lode_change change;
    DONE(lode_get_change(changes, at, &change, sizeof change));
    CHECK(change.reserved == 0 && says(change.table, "city"));
    CHECK(change.columns == 3 && change.key_columns == 1);
    return change;
}

static void put(lode_table table, lode_transaction in, uint32_t id, const char *name)
{
    lode_value values[] = { lode_u64(id), lode_text(name), lode_null() };
    DONE(lode_upsert(table, in, values, 3, NULL));
}

static void commits(lode_database db)
{
    lode_table table, cleared;
    lode_changes changes, all;
    lode_change change;
    lode_value values[3];
    lode_column column;
    size_t count;
    const struct position start = now(db);
    DONE(lode_open_changes(db, start.text, start.size, &changes));
    EXPECT(LODE_END, lode_next_commit(changes, &count));
    CHECK(count == 0);
    EXPECT(LODE_END, lode_get_change(changes, 0, &change, sizeof change));
    EXPECT(LODE_END, lode_unpack_change(changes, 0, LODE_AFTER, values, 3));
    EXPECT(LODE_END, lode_get_change_column(changes, 0, LODE_AFTER, 0, &column));

    DONE(lode_create_table(db, LODE_STR("city"), CITY, 3, LODE_ORDERED, &table));
    DONE(lode_next_commit(changes, &count));
    CHECK(count == 1);
    change = change_at(changes, 0);
    CHECK(change.kind == LODE_CHANGE_CREATE_TABLE && !change.key.data && !change.index.data);
    EXPECT(LODE_NOT_FOUND, lode_unpack_change(changes, 0, LODE_AFTER, values, 3));
    for (size_t at = 0; at < 3; at++) {
        DONE(lode_get_change_column(changes, 0, LODE_AFTER, at, &column));
        CHECK(column.name_size == CITY[at].name_size && column.type == CITY[at].type);
        CHECK(memcmp(column.name, CITY[at].name, column.name_size) == 0);
    }
    EXPECT(LODE_NO_COLUMN, lode_get_change_column(changes, 0, LODE_AFTER, 3, &column));

    put(table, LODE_ALONE, 7, "Bern");
    const struct position middle = now(db);
    lode_transaction in;
    lode_value key = lode_u64(7), people = lode_u64(134591);
    DONE(lode_begin(db, &in));
    DONE(lode_update(table, in, &key, 1, 2, &people));
    put(table, in, 8, "Thun");
    DONE(lode_commit(in));
    DONE(lode_delete(table, LODE_ALONE, &key, 1));

    DONE(lode_next_commit(changes, &count));
    CHECK(count == 1 && is_equal(reached(changes), middle));
    change = change_at(changes, 0);
    CHECK(change.kind == LODE_CHANGE_RECORD && !change.before.data && change.before.size == 0);
    CHECK(change.key.size == 4 && memcmp(change.key.data, "\7\0\0\0", 4) == 0);
    EXPECT(LODE_NOT_FOUND, lode_unpack_change(changes, 0, LODE_BEFORE, values, 3));
    DONE(lode_unpack_change(changes, 0, LODE_AFTER, values, 3));
    CHECK(values[0].data.u == 7 && is_text(values[1], "Bern") && values[2].kind == LODE_NULL);
    EXPECT(LODE_VALUE_COUNT, lode_unpack_change(changes, 0, LODE_AFTER, values, 2));

    /* A transaction is one commit, in whatever order of its records. */
    DONE(lode_next_commit(changes, &count));
    CHECK(count == 2);
    for (size_t at = 0; at < count; at++) {
        change = change_at(changes, at);
        CHECK(change.kind == LODE_CHANGE_RECORD && change.after.size > change.key.size);
        DONE(lode_unpack_change(changes, at, LODE_AFTER, values, 3));
        if (change.before.data) {
            CHECK(values[0].data.u == 7 && values[2].data.u == 134591);
            lode_value unpacked[3];
            DONE(lode_unpack(table, change.before.data, change.before.size, unpacked, 3));
            CHECK(is_text(unpacked[1], "Bern") && unpacked[2].kind == LODE_NULL);
        } else {
            CHECK(values[0].data.u == 8 && is_text(values[1], "Thun"));
        }
    }
    EXPECT(LODE_END, lode_get_change(changes, 2, &change, sizeof change));
    DONE(lode_next_commit(changes, &count));
    change = change_at(changes, 0);
    CHECK(count == 1 && change.before.data && !change.after.data);
    EXPECT(LODE_END, lode_next_commit(changes, &count));
    EXPECT(LODE_END, lode_get_change(changes, 0, &change, sizeof change));
    DONE(lode_sync_changes(changes));

    /* A cleared table is dropped and created. */
    DONE(lode_clear_table(db, LODE_STR("city"), &cleared));
    DONE(lode_next_commit(changes, &count));
    CHECK(change_at(changes, 0).kind == LODE_CHANGE_DROP_TABLE);
    if (count == 1)
        DONE(lode_next_commit(changes, &count));
    CHECK(change_at(changes, count - 1).kind == LODE_CHANGE_CREATE_TABLE);
    DONE(lode_free_changes(changes));

    /* From a position that was kept, and from the start of what is kept. */
    DONE(lode_open_changes(db, middle.text, middle.size, &changes));
    DONE(lode_next_commit(changes, &count));
    CHECK(count == 2);
    DONE(lode_open_changes(db, NULL, 0, &all));
    DONE(lode_next_commit(all, &count));
    CHECK(count == 1 && change_at(all, 0).kind == LODE_CHANGE_CREATE_TABLE);
    DONE(lode_free_changes(all));
    DONE(lode_free_changes(changes));
    DONE(lode_free_table(table));
    DONE(lode_free_table(cleared));
}

static void misuse(lode_database db)
{
    lode_changes changes, as_changes = { db.id }, no_changes = { 0 };
    lode_change change;
    lode_value values[3];
    lode_column column;
    struct position position;
    size_t count;
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_position(db, NULL, 9, &count));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_position(db, position.text, 9, NULL));
    EXPECT(LODE_TOO_SMALL, lode_position(db, position.text, 3, &count));
    CHECK(count > 3);
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_changes(db, NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_changes(db, NULL, 3, &changes));
    REFUSED(LODE_NOT_UTF8, "since", lode_open_changes(db, "\xff", 1, &changes));
    REFUSED(LODE_BAD_ARGUMENT, "is no position", lode_open_changes(db, LODE_STR("now"), &changes));
    EXPECT(LODE_OTHER_POSITION,
           lode_open_changes(db, LODE_STR("99999-8192-00c0ffee"), &changes));

    EXPECT(LODE_BAD_HANDLE, lode_next_commit(as_changes, &count));
    REFUSED(LODE_BAD_HANDLE, "reader of changes", lode_sync_changes(no_changes));
    DONE(lode_open_changes(db, NULL, 0, &changes));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_next_commit(changes, NULL));
    DONE(lode_next_commit(changes, &count));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_get_change(changes, 0, NULL, sizeof change));
    EXPECT(LODE_END, lode_get_change(changes, SIZE_MAX, &change, sizeof change));
    DONE(lode_get_change(changes, 0, NULL, 0));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_unpack_change(changes, 0, LODE_AFTER, NULL, 3));
    REFUSED(LODE_BAD_ARGUMENT, "side 2", lode_unpack_change(changes, 0, 2, values, 3));
    REFUSED(LODE_BAD_ARGUMENT, "side 9", lode_get_change_column(changes, 0, 9, 0, &column));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get_change_column(changes, 0, LODE_AFTER, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_reached_position(changes, NULL, 50, &count));
    /* An earlier header has fewer fields, and a later one more. */
    struct {
        lode_change change;
        uint64_t later, after;
    } longer;
    memset(&longer, 0x5a, sizeof longer);
    DONE(lode_get_change(changes, 0, &longer.change, 8));
    CHECK(longer.change.kind == LODE_CHANGE_CREATE_TABLE);
    CHECK(longer.change.table.size == 0x5a5a5a5a5a5a5a5a);
    DONE(lode_get_change(changes, 0, &longer.change, sizeof(lode_change) + 8));
    CHECK(says(longer.change.table, "city") && longer.later == 0);
    CHECK(longer.after == 0x5a5a5a5a5a5a5a5a);
    DONE(lode_free_changes(changes));
    EXPECT(LODE_BAD_HANDLE, lode_free_changes(changes));
    EXPECT(LODE_BAD_HANDLE, lode_get_change(changes, 0, &change, sizeof change));
    EXPECT(LODE_BAD_HANDLE, lode_reached_position(changes, position.text, 50, &count));
}

/* A reader that two threads use: one at a time, and the other gets LODE_BUSY. */
static lode_changes shared;
static atomic_size_t commits_read, busy;

static void *read_shared(void *unused)
{
    (void)unused;
    for (;;) {
        size_t count;
        lode_status status = lode_next_commit(shared, &count);
        if (status == LODE_END)
            break;
        CHECK(status == LODE_OK || status == LODE_BUSY);
        atomic_fetch_add(status == LODE_OK ? &commits_read : &busy, 1);
        if (status == LODE_BUSY)
            sched_yield();
    }
    return NULL;
}

static void threads(lode_database db)
{
    enum { COMMITS = 2000 };
    pthread_t users[2];
    lode_table table;
    const struct position start = now(db);
    DONE(lode_open_table(db, LODE_STR("city"), &table));
    for (uint32_t id = 0; id < COMMITS; id++)
        put(table, LODE_ALONE, id, "a city");
    DONE(lode_free_table(table));
    DONE(lode_open_changes(db, start.text, start.size, &shared));
    for (int at = 0; at < 2; at++)
        CHECK(pthread_create(&users[at], NULL, read_shared, NULL) == 0);
    for (int at = 0; at < 2; at++)
        CHECK(pthread_join(users[at], NULL) == 0);
    CHECK(atomic_load(&commits_read) == COMMITS);
    DONE(lode_free_changes(shared));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    char path[4096];
    snprintf(path, sizeof path, "%s/db", arguments[1]);
    lode_options options = { 0 };
    options.memory_bytes = 16 << 20;
    options.durability = LODE_DURABILITY_PROCESS;
    lode_database db;
    lode_changes changes;
    struct position position;
    /* An earlier header has no field for changes. */
    DONE(lode_open(LODE_STR(path), &options, offsetof(lode_options, kept_changes_bytes), &db));
    REFUSED(LODE_CHANGES_NOT_KEPT, "keep_changes",
            lode_position(db, position.text, sizeof position.text, &position.size));
    EXPECT(LODE_CHANGES_NOT_KEPT, lode_open_changes(db, NULL, 0, &changes));
    DONE(lode_close(db));

    options.kept_changes_bytes = 64 << 20;
    REFUSED(LODE_BAD_ARGUMENT, "in memory", lode_open_in_memory(&options, sizeof options, &db));
    options.flags = LODE_KEEP_NO_CHANGES;
    REFUSED(LODE_BAD_ARGUMENT, "leave one out",
            lode_open(LODE_STR(path), &options, sizeof options, &db));
    options.flags = 0;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    commits(db);
    misuse(db);
    threads(db);
    position = now(db);
    DONE(lode_close(db));

    /* It is remembered. What is made of a database outlives it, and reads on in its files. */
    options.kept_changes_bytes = 0;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    DONE(lode_open_changes(db, position.text, position.size, &changes));
    DONE(lode_close(db));
    EXPECT(LODE_BAD_HANDLE, lode_position(db, position.text, sizeof position.text, &position.size));
    size_t changed;
    EXPECT(LODE_END, lode_next_commit(changes, &changed));
    DONE(lode_free_changes(changes));

    options.flags = LODE_KEEP_NO_CHANGES;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    EXPECT(LODE_CHANGES_NOT_KEPT, lode_open_changes(db, NULL, 0, &changes));
    DONE(lode_close(db));
    puts("changes: as they should be");
    return 0;
}
