/* Blobs, as they should be used and as they should not: argv[1] is an empty directory. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#include "check.h"

#define KEY(text) (text), strlen(text)

/* More than three of the chunks into which blobs are cut. */
enum { LARGE = 200000 };

static unsigned char large[LARGE], back[LARGE + 1];

static void whole_blobs(lode_blobs blobs)
{
    size_t size;
    uint64_t length;
    EXPECT(LODE_NOT_FOUND, lode_get_blob(blobs, KEY("a"), 0, back, LARGE, &size, &length));
    CHECK(size == 0);
    EXPECT(LODE_NOT_FOUND, lode_blob_length(blobs, KEY("a"), &length));
    EXPECT(LODE_NOT_FOUND, lode_remove_blob(blobs, KEY("a")));
    DONE(lode_put_blob(blobs, KEY("a"), large, LARGE));
    DONE(lode_blob_length(blobs, KEY("a"), &length));
    CHECK(length == LARGE);
    DONE(lode_get_blob(blobs, KEY("a"), 0, back, sizeof back, &size, &length));
    CHECK(size == LARGE && length == LARGE && memcmp(back, large, LARGE) == 0);
    /* A part in the middle, one over the end, and one after it. */
    memset(back, 0x5a, sizeof back);
    DONE(lode_get_blob(blobs, KEY("a"), 65000, back, 70000, &size, NULL));
    CHECK(size == 70000 && memcmp(back, large + 65000, size) == 0 && back[70000] == 0x5a);
    DONE(lode_get_blob(blobs, KEY("a"), LARGE - 3, back, 10, &size, &length));
    CHECK(size == 3 && length == LARGE && memcmp(back, large + LARGE - 3, 3) == 0);
    DONE(lode_get_blob(blobs, KEY("a"), UINT64_MAX, back, 10, &size, NULL));
    CHECK(size == 0);
    DONE(lode_get_blob(blobs, KEY("a"), 0, NULL, 0, &size, &length));
    CHECK(size == 0 && length == LARGE);
    /* A key is any bytes, also none; and so is a blob. */
    DONE(lode_put_blob(blobs, NULL, 0, NULL, 0));
    DONE(lode_put_blob(blobs, "\0\377", 2, "xyz", 3));
    DONE(lode_blob_length(blobs, NULL, 0, &length));
    CHECK(length == 0);
    DONE(lode_get_blob(blobs, "\0\377", 2, 1, back, 1, &size, &length));
    CHECK(size == 1 && back[0] == 'y' && length == 3);
}

static void writers_and_readers(lode_blobs blobs)
{
    lode_blob_writer writer, other;
    lode_blob_reader reader;
    size_t size;
    uint64_t length;
    DONE(lode_put_blob(blobs, KEY("b"), "before", 6));
    DONE(lode_open_blob_writer(blobs, KEY("b"), &writer));
    DONE(lode_write_blob(writer, large, 100000, &size));
    CHECK(size == 100000);
    DONE(lode_write_blob(writer, NULL, 0, &size));
    CHECK(size == 0);
    DONE(lode_write_blob(writer, large + 100000, LARGE - 100000, NULL));
    DONE(lode_blob_length(blobs, KEY("b"), &length));
    CHECK(length == 6);
    DONE(lode_open_blob_writer(blobs, KEY("b"), &other));
    DONE(lode_write_blob(other, large, LARGE, NULL));
    DONE(lode_free_blob_writer(other));
    DONE(lode_finish_blob(writer));
    EXPECT(LODE_BAD_HANDLE, lode_finish_blob(writer));

    EXPECT(LODE_NOT_FOUND, lode_open_blob_reader(blobs, KEY("none"), &reader));
    DONE(lode_open_blob_reader(blobs, KEY("b"), &reader));
    DONE(lode_put_blob(blobs, KEY("b"), "after", 5));
    DONE(lode_blob_reader_length(reader, &length));
    CHECK(length == LARGE);
    size_t read = 0;
    lode_status status;
    while ((status = lode_read_blob(reader, back + read, 70001, &size)) == LODE_OK) {
        CHECK(size > 0 && (size == 70001 || read + size == LARGE));
        read += size;
    }
    EXPECT(LODE_END, status);
    CHECK(size == 0 && read == LARGE && memcmp(back, large, LARGE) == 0);
    DONE(lode_seek_blob(reader, 131000));
    DONE(lode_read_blob(reader, back, 10, &size));
    CHECK(size == 10 && memcmp(back, large + 131000, 10) == 0);
    DONE(lode_seek_blob(reader, LARGE + 1));
    EXPECT(LODE_END, lode_read_blob(reader, back, 10, &size));
    DONE(lode_seek_blob(reader, 0));
    DONE(lode_read_blob(reader, NULL, 0, &size));
    CHECK(size == 0);
    DONE(lode_free_blob_reader(reader));
    DONE(lode_get_blob(blobs, KEY("b"), 0, back, 10, &size, NULL));
    CHECK(size == 5 && memcmp(back, "after", 5) == 0);
}

static void lists(lode_blobs blobs)
{
    static const char *keys[] = { "dir/a", "dir/b", "dir/c" };
    lode_blob_list list;
    const void *key;
    size_t size, count = 0;
    uint64_t length;
    lode_status status;
    for (size_t at = 0; at < 3; at++)
        DONE(lode_put_blob(blobs, KEY(keys[at]), large, at));
    DONE(lode_open_blob_list(blobs, KEY("dir/"), &list));
    DONE(lode_remove_blob(blobs, KEY("dir/b")));
    for (; (status = lode_next_blob(list, &key, &size, &length)) == LODE_OK; count++) {
        CHECK(count < 3 && size == 5 && memcmp(key, keys[count], 5) == 0);
        CHECK(length == count);
    }
    EXPECT(LODE_END, status);
    CHECK(count == 3);
    DONE(lode_free_blob_list(list));
    DONE(lode_open_blob_list(blobs, NULL, 0, &list));
    for (count = 0; lode_next_blob(list, &key, &size, NULL) == LODE_OK; count++)
        CHECK(count > 0 || size == 0);
    CHECK(count == 6);
    DONE(lode_free_blob_list(list));
}

static void misuse(lode_database db, lode_blobs blobs)
{
    lode_blobs made, as_blobs = { db.id };
    lode_blob_writer writer, as_writer = { blobs.id };
    lode_blob_reader reader, no_reader = { 0 };
    lode_blob_list list;
    const void *key;
    size_t size;
    uint64_t length;
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_create_blobs(db, NULL, 1, &made));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_blobs(db, LODE_STR("files"), NULL));
    REFUSED(LODE_NOT_UTF8, "name", lode_open_blobs(db, "\xff", 1, &made));
    REFUSED(LODE_NOT_UTF8, "name", lode_drop_blobs(db, "\xff", 1));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_put_blob(blobs, NULL, 1, "x", 1));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_put_blob(blobs, KEY("x"), NULL, 1));
    REFUSED(LODE_BAD_ARGUMENT, "cannot have", lode_put_blob(blobs, KEY("x"), "x", SIZE_MAX));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_blob_length(blobs, KEY("x"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get_blob(blobs, KEY("a"), 0, NULL, 1, &size, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get_blob(blobs, KEY("a"), 0, back, 1, NULL, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "overlaps",
            lode_get_blob(blobs, back, 3, 0, back, sizeof back, &size, NULL));
    EXPECT(LODE_KEY_TOO_LONG, lode_put_blob(blobs, large, 5000, "x", 1));
    EXPECT(LODE_KEY_TOO_LONG, lode_open_blob_writer(blobs, large, 5000, &writer));
    EXPECT(LODE_NOT_FOUND, lode_blob_length(blobs, large, 5000, &length));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_blob_writer(blobs, KEY("x"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_blob_reader(blobs, KEY("a"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_blob_list(blobs, KEY("a"), NULL));

    EXPECT(LODE_BAD_HANDLE, lode_put_blob(as_blobs, KEY("x"), "x", 1));
    REFUSED(LODE_BAD_HANDLE, "writer of a blob", lode_write_blob(as_writer, "x", 1, NULL));
    EXPECT(LODE_BAD_HANDLE, lode_seek_blob(no_reader, 1));
    DONE(lode_open_blob_writer(blobs, KEY("x"), &writer));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_write_blob(writer, NULL, 1, &size));
    DONE(lode_free_blob_writer(writer));
    EXPECT(LODE_BAD_HANDLE, lode_free_blob_writer(writer));
    EXPECT(LODE_BAD_HANDLE, lode_write_blob(writer, "x", 1, NULL));
    EXPECT(LODE_NOT_FOUND, lode_blob_length(blobs, KEY("x"), &length));
    DONE(lode_open_blob_reader(blobs, KEY("a"), &reader));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_read_blob(reader, NULL, 1, &size));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_read_blob(reader, back, 1, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_blob_reader_length(reader, NULL));
    as_writer.id = reader.id;
    EXPECT(LODE_BAD_HANDLE, lode_finish_blob(as_writer));
    DONE(lode_free_blob_reader(reader));
    EXPECT(LODE_BAD_HANDLE, lode_free_blob_reader(reader));
    EXPECT(LODE_BAD_HANDLE, lode_read_blob(reader, back, 1, &size));
    DONE(lode_open_blob_list(blobs, NULL, 0, &list));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_next_blob(list, NULL, &size, NULL));
    DONE(lode_free_blob_list(list));
    EXPECT(LODE_BAD_HANDLE, lode_free_blob_list(list));
    EXPECT(LODE_BAD_HANDLE, lode_next_blob(list, &key, &size, NULL));
}

/* A writer that two threads use: each write of one is whole, and the other gets LODE_BUSY. */
static lode_blob_writer shared;
static atomic_size_t taken, busy;

static void *write_shared(void *unused)
{
    (void)unused;
    // Until both have met once, so that it is seen; with one processor that may take a while.
    for (int round = 0; round < 20 || (atomic_load(&busy) == 0 && round < 2000); round++) {
        size_t size;
        lode_status status = lode_write_blob(shared, large, LARGE, &size);
        CHECK(status == LODE_OK || status == LODE_BUSY);
        atomic_fetch_add(status == LODE_OK ? &taken : &busy, status == LODE_OK ? size : 1);
        sched_yield();
    }
    return NULL;
}

static void threads(lode_blobs blobs)
{
    pthread_t users[2];
    uint64_t length;
    DONE(lode_open_blob_writer(blobs, KEY("shared"), &shared));
    for (int at = 0; at < 2; at++)
        CHECK(pthread_create(&users[at], NULL, write_shared, NULL) == 0);
    for (int at = 0; at < 2; at++)
        CHECK(pthread_join(users[at], NULL) == 0);
    DONE(lode_finish_blob(shared));
    DONE(lode_blob_length(blobs, KEY("shared"), &length));
    CHECK(length == atomic_load(&taken) && atomic_load(&busy) > 0);
    DONE(lode_remove_blob(blobs, KEY("shared")));
}

/* Whatever is made of a store outlives its handle, and says that it was dropped, or closed. */
static void used_after_the_end(lode_database db)
{
    lode_blobs blobs;
    lode_blob_writer writer;
    lode_blob_reader reader;
    lode_blob_list list;
    const void *key;
    size_t size;
    DONE(lode_create_blobs(db, LODE_STR("other"), &blobs));
    REFUSED(LODE_TABLE_EXISTS, "other", lode_create_blobs(db, LODE_STR("other"), &blobs));
    DONE(lode_put_blob(blobs, KEY("a"), large, LARGE));
    DONE(lode_open_blob_reader(blobs, KEY("a"), &reader));
    DONE(lode_open_blob_writer(blobs, KEY("b"), &writer));
    DONE(lode_drop_blobs(db, LODE_STR("other")));
    EXPECT(LODE_NO_TABLE, lode_drop_blobs(db, LODE_STR("other")));
    EXPECT(LODE_NO_TABLE, lode_put_blob(blobs, KEY("a"), large, LARGE));
    EXPECT(LODE_NO_TABLE, lode_read_blob(reader, back, LARGE, &size));
    EXPECT(LODE_NO_TABLE, lode_write_blob(writer, large, LARGE, &size));
    CHECK(size < LARGE);
    EXPECT(LODE_NO_TABLE, lode_finish_blob(writer));
    DONE(lode_free_blob_reader(reader));
    DONE(lode_free_blobs(blobs));
    EXPECT(LODE_BAD_HANDLE, lode_free_blobs(blobs));
    EXPECT(LODE_BAD_HANDLE, lode_put_blob(blobs, KEY("a"), "x", 1));

    DONE(lode_open_blobs(db, LODE_STR("files"), &blobs));
    DONE(lode_open_blob_reader(blobs, KEY("a"), &reader));
    DONE(lode_open_blob_writer(blobs, KEY("b"), &writer));
    DONE(lode_open_blob_list(blobs, NULL, 0, &list));
    DONE(lode_close(db));
    EXPECT(LODE_CLOSED, lode_put_blob(blobs, KEY("a"), "x", 1));
    EXPECT(LODE_CLOSED, lode_read_blob(reader, back, LARGE, &size));
    EXPECT(LODE_CLOSED, lode_next_blob(list, &key, &size, NULL));
    DONE(lode_write_blob(writer, "x", 1, NULL));
    EXPECT(LODE_CLOSED, lode_finish_blob(writer));
    DONE(lode_free_blob_reader(reader));
    DONE(lode_free_blob_list(list));
    DONE(lode_free_blobs(blobs));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    for (size_t at = 0; at < LARGE; at++)
        large[at] = (unsigned char)(at * 31 % 251);
    char path[4096];
    snprintf(path, sizeof path, "%s/db", arguments[1]);
    lode_options options = { 0 };
    options.memory_bytes = 16 << 20;
    options.durability = LODE_DURABILITY_PROCESS;
    lode_database db;
    lode_blobs blobs;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    EXPECT(LODE_NO_TABLE, lode_open_blobs(db, LODE_STR("files"), &blobs));
    DONE(lode_create_blobs(db, LODE_STR("files"), &blobs));
    whole_blobs(blobs);
    writers_and_readers(blobs);
    lists(blobs);
    misuse(db, blobs);
    threads(blobs);
    DONE(lode_free_blobs(blobs));
    used_after_the_end(db);

    options.mode = LODE_OPEN_READ_ONLY;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    DONE(lode_open_blobs(db, LODE_STR("files"), &blobs));
    size_t size;
    DONE(lode_get_blob(blobs, KEY("a"), 0, back, sizeof back, &size, NULL));
    CHECK(size == LARGE && memcmp(back, large, LARGE) == 0);
    lode_blob_writer writer;
    EXPECT(LODE_READ_ONLY, lode_open_blob_writer(blobs, KEY("c"), &writer));
    EXPECT(LODE_READ_ONLY, lode_remove_blob(blobs, KEY("a")));
    DONE(lode_free_blobs(blobs));
    DONE(lode_close(db));
    puts("blobs: as they should be");
    return 0;
}
