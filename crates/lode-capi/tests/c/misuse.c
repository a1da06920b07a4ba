/* What a program does wrong: each is a status with a message that says what to do, and never harms
 * the process. Run under valgrind and with sanitizers, so harm is found. With the argument
 * "without-membarrier" that call of the system is refused, as an old kernel or a sandbox does. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const lode_column COLUMNS[] = {
    LODE_COLUMN("id", LODE_TYPE_U32, 0, LODE_KEY),
    LODE_COLUMN("text", LODE_TYPE_VAR_TEXT, 100, 0),
};

static lode_database db;
static lode_table table;

static void null_pointers(void)
{
    lode_value values[] = { lode_u64(1), lode_text("one") };
    char record[128];
    size_t size;
    uint64_t number;
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open(NULL, 4, NULL, 0, &db));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open(LODE_STR("here"), NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is empty", lode_open(NULL, 0, NULL, 0, &db));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_in_memory(NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_table(db, NULL, 5, &table));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_table(db, LODE_STR("t"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_create_table(db, LODE_STR("u"), NULL, 2, 1, &table));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_insert(table, LODE_ALONE, NULL, 2));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_insert_packed(table, LODE_ALONE, NULL, 9));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get(table, LODE_NOW, NULL, 1, record, sizeof record, &size, values, 2));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get(table, LODE_NOW, values, 1, NULL, sizeof record, &size, NULL, 0));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get(table, LODE_NOW, values, 1, record, sizeof record, NULL, NULL, 0));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get(table, LODE_NOW, values, 1, record, sizeof record, &size, NULL, 2));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_update(table, LODE_ALONE, values, 1, 1, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_count(table, LODE_NOW, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_begin(db, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_take_snapshot(db, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_cursor(table, LODE_NOW, NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_get_statistics(db, NULL, sizeof(lode_statistics)));
    values[1].data.bytes.data = NULL;
    REFUSED(LODE_BAD_ARGUMENT, "a value is null", lode_insert(table, LODE_ALONE, values, 2));
    values[1].data.bytes.size = 0;
    DONE(lode_insert(table, LODE_ALONE, values, 2));
    DONE(lode_count(table, LODE_NOW, &number));
    CHECK(number == 1);
}

static void wrong_lengths(void)
{
    lode_value values[] = { lode_u64(2), lode_text("two"), lode_u64(3) };
    char record[128];
    size_t size;
    REFUSED(LODE_BAD_ARGUMENT, "cannot have", lode_insert(table, LODE_ALONE, values, SIZE_MAX));
    REFUSED(LODE_BAD_ARGUMENT, "cannot have",
            lode_insert_packed(table, LODE_ALONE, record, SIZE_MAX));
    REFUSED(LODE_VALUE_COUNT, "3 values for 2", lode_insert(table, LODE_ALONE, values, 3));
    EXPECT(LODE_VALUE_COUNT, lode_insert(table, LODE_ALONE, values, 0));
    EXPECT(LODE_VALUE_COUNT, lode_delete(table, LODE_ALONE, values, 2));
    EXPECT(LODE_VALUE_COUNT, lode_delete(table, LODE_ALONE, values, 0));
    EXPECT(LODE_NOT_PACKED, lode_insert_packed(table, LODE_ALONE, "abc", 3));
    EXPECT(LODE_NOT_PACKED, lode_insert_packed(table, LODE_ALONE, NULL, 0));
    EXPECT(LODE_NOT_PACKED, lode_get_packed(table, LODE_NOW, "abc", 3, record, 128, &size));
    EXPECT(LODE_NOT_PACKED, lode_delete_packed(table, LODE_ALONE, "abcde", 5));
    EXPECT(LODE_VALUE_TOO_LONG, lode_unpack(table, "abcdefghi", 9, values, 2));
    EXPECT(LODE_NOT_PACKED, lode_unpack(table, "abcd\2\0\0\0a", 9, values, 2));
    EXPECT(LODE_VALUE_COUNT, lode_unpack(table, "abcdefgh", 8, values, 3));
    lode_place places[2];
    EXPECT(LODE_NOT_PACKED,
           lode_get_many_packed(table, LODE_NOW, "abcde", 5, record, 9, &size, places, 2));
    REFUSED(LODE_BAD_ARGUMENT, "2 keys and 1 place",
            lode_get_many_packed(table, LODE_NOW, "abcdefgh", 8, record, 9, &size, places, 1));
    REFUSED(LODE_BAD_ARGUMENT, "overlaps", lode_get_packed(table, LODE_NOW, record, 4, record + 2,
                                                           sizeof record - 2, &size));
    REFUSED(LODE_BAD_ARGUMENT, "overlaps",
            lode_pack(table, values, 2, values, sizeof values, &size));
    REFUSED(LODE_BAD_ARGUMENT, "aligned",
            lode_insert(table, LODE_ALONE, (const lode_value *)(const void *)(record + 1), 2));
    char long_text[200] = { 0 };
    memset(long_text, 'x', 199);
    values[1] = lode_text(long_text);
    EXPECT(LODE_VALUE_TOO_LONG, lode_insert(table, LODE_ALONE, values, 2));
}

static void wrong_values(void)
{
    lode_value values[] = { lode_u64(2), lode_text("a\xff") };
    REFUSED(LODE_NOT_UTF8, "from byte 1", lode_insert(table, LODE_ALONE, values, 2));
    values[1] = lode_i64(7);
    REFUSED(LODE_VALUE_MISFIT, "column text", lode_insert(table, LODE_ALONE, values, 2));
    values[1] = lode_null();
    EXPECT(LODE_VALUE_MISFIT, lode_insert(table, LODE_ALONE, values, 2));
    values[1] = lode_text("two");
    values[0] = lode_i64(-1);
    EXPECT(LODE_VALUE_MISFIT, lode_insert(table, LODE_ALONE, values, 2));
    values[0] = lode_u64((uint64_t)1 << 32);
    EXPECT(LODE_VALUE_MISFIT, lode_insert(table, LODE_ALONE, values, 2));
    values[0].kind = 77;
    REFUSED(LODE_BAD_ARGUMENT, "kind 77", lode_insert(table, LODE_ALONE, values, 2));
    values[0] = lode_u64(2);
    REFUSED(LODE_NO_COLUMN, "no column 2",
            lode_update(table, LODE_ALONE, values, 1, 2, &values[1]));
    REFUSED(LODE_KEY_COLUMN, "column id", lode_update(table, LODE_ALONE, values, 1, 0, values));
    EXPECT(LODE_NO_COLUMN, lode_update_packed(table, LODE_ALONE, "abcd", 4, 9, "x", 1));
    REFUSED(LODE_NOT_UTF8, "name", lode_drop_table(db, "\xc3", 1));

    lode_table made;
    lode_column columns[2] = { COLUMNS[0], COLUMNS[1] };
    REFUSED(LODE_BAD_ARGUMENT, "kind of key 0",
            lode_create_table(db, LODE_STR("u"), columns, 2, 0, &made));
    columns[0].type = 99;
    REFUSED(LODE_BAD_ARGUMENT, "no type 99",
            lode_create_table(db, LODE_STR("u"), columns, 2, LODE_HASHED, &made));
    columns[0] = COLUMNS[0];
    columns[0].size = 4;
    REFUSED(LODE_BAD_ARGUMENT, "size 4",
            lode_create_table(db, LODE_STR("u"), columns, 2, LODE_HASHED, &made));
    columns[0] = COLUMNS[0];
    columns[0].flags = LODE_KEY | LODE_NULLABLE;
    REFUSED(LODE_BAD_ARGUMENT, "flags 3",
            lode_create_table(db, LODE_STR("u"), columns, 2, LODE_HASHED, &made));
    columns[0].flags = 0;
    EXPECT(LODE_INVALID_SCHEMA,
           lode_create_table(db, LODE_STR("u"), columns, 2, LODE_HASHED, &made));
    EXPECT(LODE_INVALID_SCHEMA,
           lode_create_table(db, LODE_STR("u"), NULL, 0, LODE_HASHED, &made));
    EXPECT(LODE_TABLE_EXISTS,
           lode_create_table(db, LODE_STR("t"), COLUMNS, 2, LODE_HASHED, &made));

    lode_options options = { 0 };
    lode_database opened;
    options.mode = 17;
    REFUSED(LODE_BAD_ARGUMENT, "mode 17",
            lode_open(LODE_STR("/nowhere"), &options, sizeof options, &opened));
    REFUSED(LODE_BAD_ARGUMENT, "always new",
            lode_open_in_memory(&options, sizeof options, &opened));
    options.mode = 0;
    options.flags = 1u << 31;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_in_memory(&options, sizeof options, &opened));
    options.flags = 0;
    options.durability = 5;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_in_memory(&options, sizeof options, &opened));
    REFUSED(LODE_BAD_ARGUMENT, "sizeof", lode_open_in_memory(&options, 0, &opened));
}

static void wrong_ranges(void)
{
    lode_cursor cursor;
    lode_value row[2], key[] = { lode_u64(1), lode_u64(2) };
    size_t columns[] = { 0, 5 };
    lode_range range = { 0 };
    range.lower = key;
    range.lower_count = 1;
    REFUSED(LODE_BAD_ARGUMENT, "LODE_INCLUDED",
            lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    range.lower_bound = 9;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    range.lower_bound = LODE_INCLUDED;
    range.lower_count = 2;
    EXPECT(LODE_VALUE_COUNT, lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    range.lower_count = 1;
    range.columns = columns;
    range.columns_count = 2;
    EXPECT(LODE_NO_COLUMN, lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    range.columns_count = 1;
    range.backward = 2;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    range.backward = 0;
    DONE(lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    REFUSED(LODE_NO_ORDER, "hashed", lode_next(cursor, row, 1));
    EXPECT(LODE_END, lode_next(cursor, row, 1));
    DONE(lode_free_cursor(cursor));
}

static void handles_that_are_none(void)
{
    lode_database no_db = { 0 };
    lode_table no_table = { 0 }, other_kind = { db.id };
    lode_transaction no_transaction = { ~(uint64_t)0 };
    lode_cursor no_cursor = { 77 };
    lode_view no_view = { table.id };
    uint64_t count;
    lode_value values[2];
    EXPECT(LODE_BAD_HANDLE, lode_close(no_db));
    EXPECT(LODE_BAD_HANDLE, lode_flush(no_db));
    EXPECT(LODE_BAD_HANDLE, lode_count(no_table, LODE_NOW, &count));
    REFUSED(LODE_BAD_HANDLE, "table was freed", lode_count(other_kind, LODE_NOW, &count));
    REFUSED(LODE_BAD_HANDLE, "lode_at", lode_count(table, no_view, &count));
    EXPECT(LODE_BAD_HANDLE, lode_insert_packed(table, no_transaction, "abcdefgh", 8));
    EXPECT(LODE_BAD_HANDLE, lode_next(no_cursor, values, 2));

    lode_transaction in;
    DONE(lode_begin(db, &in));
    DONE(lode_commit(in));
    REFUSED(LODE_BAD_HANDLE, "transaction was freed", lode_commit(in));
    EXPECT(LODE_BAD_HANDLE, lode_roll_back(in));
    EXPECT(LODE_BAD_HANDLE, lode_count(table, lode_within(in), &count));
    lode_transaction next;
    DONE(lode_begin(db, &next));
    CHECK(next.id != in.id);
    EXPECT(LODE_BAD_HANDLE, lode_roll_back(in));
    DONE(lode_roll_back(next));

    lode_cursor cursor;
    DONE(lode_open_cursor(table, LODE_NOW, NULL, 0, &cursor));
    DONE(lode_free_cursor(cursor));
    EXPECT(LODE_BAD_HANDLE, lode_next(cursor, values, 2));
    EXPECT(LODE_BAD_HANDLE, lode_free_cursor(cursor));

    lode_snapshot snapshot;
    DONE(lode_take_snapshot(db, &snapshot));
    DONE(lode_free_snapshot(snapshot));
    EXPECT(LODE_BAD_HANDLE, lode_count(table, lode_at(snapshot), &count));
    EXPECT(LODE_BAD_HANDLE, lode_free_snapshot(snapshot));

    lode_table again;
    DONE(lode_open_table(db, LODE_STR("t"), &again));
    DONE(lode_free_table(again));
    EXPECT(LODE_BAD_HANDLE, lode_free_table(again));
    EXPECT(LODE_BAD_HANDLE, lode_count(again, LODE_NOW, &count));
}

static void two_databases(void)
{
    lode_database other;
    lode_table of_other;
    uint64_t count;
    DONE(lode_open_in_memory(NULL, 0, &other));
    DONE(lode_create_table(other, LODE_STR("t"), COLUMNS, 2, LODE_ORDERED, &of_other));
    lode_transaction in;
    lode_snapshot snapshot;
    DONE(lode_begin(db, &in));
    DONE(lode_take_snapshot(db, &snapshot));
    lode_value values[] = { lode_u64(1), lode_text("one") };
    EXPECT(LODE_OTHER_DATABASE, lode_insert(of_other, in, values, 2));
    EXPECT(LODE_OTHER_DATABASE, lode_count(of_other, lode_at(snapshot), &count));
    DONE(lode_roll_back(in));
    DONE(lode_free_snapshot(snapshot));

    /* Whatever is made of a database outlives it, and says that it was closed. */
    lode_cursor cursor;
    DONE(lode_begin(other, &in));
    DONE(lode_insert(of_other, in, values, 2));
    DONE(lode_open_cursor(of_other, lode_within(in), NULL, 0, &cursor));
    DONE(lode_take_snapshot(other, &snapshot));
    DONE(lode_close(other));
    EXPECT(LODE_BAD_HANDLE, lode_close(other));
    REFUSED(LODE_CLOSED, "open it again", lode_next(cursor, values, 2));
    EXPECT(LODE_CLOSED, lode_count(of_other, lode_at(snapshot), &count));
    EXPECT(LODE_CLOSED, lode_commit(in));
    DONE(lode_free_cursor(cursor));
    DONE(lode_free_snapshot(snapshot));
    DONE(lode_free_table(of_other));
}

/* A forked process is told so, and can free its handles. */
static void forked(void)
{
    uint64_t count;
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        EXPECT(LODE_FORKED, lode_count(table, LODE_NOW, &count));
        DONE(lode_free_table(table));
        EXPECT(LODE_FORKED, lode_close(db));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    DONE(lode_count(table, LODE_NOW, &count));
}

/* Threads that use a table while another frees it, and a transaction that others use, too. */
static _Atomic(uint64_t) shared_table, shared_transaction;
static atomic_bool ended;

static void *use(void *unused)
{
    (void)unused;
    while (!atomic_load(&ended)) {
        lode_table used = { atomic_load(&shared_table) };
        lode_transaction in = { atomic_load(&shared_transaction) };
        uint32_t key = 1;
        char payload[128];
        size_t size;
        uint64_t count;
        lode_status status = lode_get_packed(used, LODE_NOW, &key, 4, payload, 128, &size);
        CHECK(status == LODE_OK || status == LODE_BAD_HANDLE);
        status = lode_count(table, lode_within(in), &count);
        CHECK(status == LODE_OK || status == LODE_BAD_HANDLE || status == LODE_BUSY);
        // With one thread at a time, as below valgrind, another would never find it idle.
        sched_yield();
    }
    CHECK(lode_error_message()[0] != 'x');
    return NULL;
}

static void threads(void)
{
    pthread_t users[3];
    lode_table opened;
    lode_transaction in;
    DONE(lode_open_table(db, LODE_STR("t"), &opened));
    DONE(lode_begin(db, &in));
    atomic_store(&shared_table, opened.id);
    atomic_store(&shared_transaction, in.id);
    for (int at = 0; at < 3; at++)
        CHECK(pthread_create(&users[at], NULL, use, NULL) == 0);
    for (int round = 0; round < 500; round++) {
        lode_table next;
        lode_transaction following;
        DONE(lode_open_table(db, LODE_STR("t"), &next));
        atomic_store(&shared_table, next.id);
        DONE(lode_free_table(opened));
        opened = next;
        DONE(lode_begin(db, &following));
        atomic_store(&shared_transaction, following.id);
        lode_status status;
        while ((status = lode_roll_back(in)) == LODE_BUSY)
            sched_yield();
        DONE(status);
        in = following;
    }
    atomic_store(&ended, true);
    for (int at = 0; at < 3; at++)
        CHECK(pthread_join(users[at], NULL) == 0);
    DONE(lode_roll_back(in));
    DONE(lode_free_table(opened));
}

/* Has the system refuse membarrier from now on. */
static void refuse_membarrier(void)
{
    struct sock_filter steps[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { sizeof steps / sizeof *steps, steps };
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0);
    CHECK(syscall(SYS_membarrier, 0, 0, 0) == -1 && errno == ENOSYS);
}

int main(int count, char **arguments)
{
    lode_options options = { 0 };
    if (count > 1 && strcmp(arguments[1], "without-membarrier") == 0)
        refuse_membarrier();
    options.memory_bytes = 8 << 20;
    DONE(lode_open_in_memory(&options, sizeof options, &db));
    DONE(lode_create_table(db, LODE_STR("t"), COLUMNS, 2, LODE_HASHED, &table));
    null_pointers();
    wrong_lengths();
    wrong_values();
    wrong_ranges();
    handles_that_are_none();
    two_databases();
    forked();
    threads();
    DONE(lode_free_table(table));
    DONE(lode_close(db));
    puts("misuse: refused");
    return 0;
}
