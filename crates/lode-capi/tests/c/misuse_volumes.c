/* What a program does wrong with volumes: each is a status with a message that says what to do, and
 * never harms the process. Run under valgrind and with sanitizers, so harm is found. */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static lode_volume volume;
static lode_entry entry;

static void null_pointers(void)
{
    const lode_value value = lode_u64(1);
    lode_value read;
    lode_entry opened;
    lode_volume made;
    lode_storage storage;
    lode_links links;
    lode_properties properties;
    const char *name;
    size_t size;
    char path[9];
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_volume(NULL, 4, NULL, 0, &made));
    REFUSED(LODE_BAD_ARGUMENT, "is empty", lode_open_volume(NULL, 0, NULL, 0, &made));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_volume(LODE_STR("here"), NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_volume_in_memory(NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_entry(volume, NULL, 1, &opened));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_entry(volume, LODE_STR("/"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_create_entry(volume, LODE_STR("/x"), NULL));
    EXPECT(LODE_NOT_FOUND, lode_open_entry(volume, LODE_STR("/x"), &opened));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_child(entry, LODE_STR("x"), NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_entry_path(entry, path, sizeof path, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_entry_path(entry, NULL, 9, &size));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_link(entry, NULL, 3, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_unlink(entry, NULL, 3));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U8, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_set_property(entry, NULL, 1, LODE_TYPE_U8, &value));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get_property(entry, LODE_STR("x"), NULL, 0, NULL, NULL, &read));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_get_property(entry, LODE_STR("x"), NULL, 5, &size, NULL, &read));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_links(entry, NULL, 3, &links));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_links(entry, NULL, 0, NULL));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_properties(entry, NULL));
    DONE(lode_open_links(entry, NULL, 0, &links));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_next_link(links, NULL, &size));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_next_link(links, &name, NULL));
    DONE(lode_free_links(links));
    DONE(lode_open_properties(entry, &properties));
    REFUSED(LODE_BAD_ARGUMENT, "is null",
            lode_next_property(properties, NULL, &size, NULL, NULL));
    DONE(lode_free_properties(properties));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_make_storage(NULL));
    DONE(lode_make_storage(&storage));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_open_storage_entry(storage, NULL, 1, &opened));
    REFUSED(LODE_BAD_ARGUMENT, "is null", lode_mount_volume(storage, NULL, 1, volume, NULL, 0));
    DONE(lode_free_storage(storage));
}

static void wrong_arguments(void)
{
    lode_entry child;
    lode_links links;
    lode_storage storage;
    lode_volume made;
    lode_value value = lode_u64(256), back;
    char buffer[32] = "name";
    size_t size;
    REFUSED(LODE_BAD_ARGUMENT, "cannot have", lode_link(entry, "x", SIZE_MAX, NULL));
    REFUSED(LODE_NOT_UTF8, "from byte 1", lode_link(entry, "a\xff", 2, NULL));
    REFUSED(LODE_NOT_UTF8, "path", lode_open_entry(volume, "/\xc3", 2, &child));
    REFUSED(LODE_NOT_UTF8, "prefix", lode_open_links(entry, "\xc3", 1, &links));
    REFUSED(LODE_INVALID_NAME, "has a /", lode_link(entry, LODE_STR("a/b"), NULL));
    REFUSED(LODE_INVALID_NAME, "is empty", lode_link(entry, NULL, 0, NULL));
    REFUSED(LODE_INVALID_NAME, "write it out", lode_open_child(entry, LODE_STR("../a"), &child));
    char long_name[300];
    memset(long_name, 'x', sizeof long_name);
    REFUSED(LODE_INVALID_NAME, "300 bytes", lode_link(entry, long_name, sizeof long_name, NULL));
    REFUSED(LODE_INVALID_NAME, "is empty",
            lode_set_property(entry, NULL, 0, LODE_TYPE_U16, &value));

    REFUSED(LODE_VALUE_MISFIT, "property x: the value does not fit u8",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U8, &value));
    EXPECT(LODE_VALUE_MISFIT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_I8, &value));
    EXPECT(LODE_VALUE_MISFIT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_F64, &value));
    EXPECT(LODE_VALUE_MISFIT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_VAR_TEXT, &value));
    REFUSED(LODE_BAD_ARGUMENT, "no type 12",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_TIMESTAMP, &value));
    EXPECT(LODE_BAD_ARGUMENT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_TEXT, &value));
    value = lode_i64(-1);
    EXPECT(LODE_VALUE_MISFIT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U64, &value));
    value = lode_f64(1e300);
    EXPECT(LODE_VALUE_MISFIT, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_F32, &value));
    const lode_value none[] = { lode_null(), lode_bool(true), lode_timestamp(1),
                                lode_decimal(1, 1) };
    for (size_t at = 0; at < sizeof none / sizeof *none; at++)
        REFUSED(LODE_VALUE_MISFIT, "a number, a text or bytes",
                lode_set_property(entry, LODE_STR("x"), LODE_TYPE_WIDEST, &none[at]));
    value.kind = 77;
    REFUSED(LODE_BAD_ARGUMENT, "property x: there is no value of kind 77",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U8, &value));
    value = lode_text("a\xff");
    REFUSED(LODE_NOT_UTF8, "from byte 1",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_WIDEST, &value));
    value.data.bytes.data = NULL;
    REFUSED(LODE_BAD_ARGUMENT, "a value is null",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_WIDEST, &value));
    EXPECT(LODE_NOT_FOUND, lode_has_property(entry, LODE_STR("x")));
    REFUSED(LODE_BAD_ARGUMENT, "overlaps",
            lode_get_property(entry, buffer, 4, buffer, sizeof buffer, &size, NULL, &back));

    lode_volume_options options = { 0 };
    options.mode = LODE_CREATE_NEW;
    REFUSED(LODE_BAD_ARGUMENT, "no mode 2",
            lode_open_volume(LODE_STR("/nowhere"), &options, sizeof options, &made));
    REFUSED(LODE_BAD_ARGUMENT, "always new",
            lode_open_volume_in_memory(&options, sizeof options, &made));
    options.mode = 0;
    options.reserved = 1;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_volume_in_memory(&options, sizeof options, &made));
    options.reserved = 0;
    options.durability = 5;
    EXPECT(LODE_BAD_ARGUMENT, lode_open_volume_in_memory(&options, sizeof options, &made));
    options.durability = 0;
    options.name_size = 3;
    REFUSED(LODE_BAD_ARGUMENT, "name is null",
            lode_open_volume_in_memory(&options, sizeof options, &made));
    options.name = "\xff\xff\xff";
    EXPECT(LODE_NOT_UTF8, lode_open_volume_in_memory(&options, sizeof options, &made));
    REFUSED(LODE_BAD_ARGUMENT, "sizeof", lode_open_volume_in_memory(&options, 0, &made));
    DONE(lode_make_storage(&storage));
    lode_mount mount = { 0 };
    mount.access = 2;
    REFUSED(LODE_BAD_ARGUMENT, "access 2",
            lode_mount_volume(storage, LODE_STR("/"), volume, &mount, sizeof mount));
    mount.access = 0;
    mount.entry_size = 1;
    REFUSED(LODE_BAD_ARGUMENT, "entry is null",
            lode_mount_volume(storage, LODE_STR("/"), volume, &mount, sizeof mount));
    EXPECT(LODE_NOT_UTF8, lode_mount_volume(storage, "\xff", 1, volume, NULL, 0));
    DONE(lode_free_storage(storage));
}

static void handles_that_are_none(void)
{
    lode_volume no_volume = { 0 }, as_volume = { entry.id };
    lode_entry as_entry = { volume.id }, child;
    lode_storage as_storage = { entry.id }, storage;
    lode_links as_links = { entry.id }, links;
    lode_properties as_properties, properties;
    const char *name;
    size_t size;
    EXPECT(LODE_BAD_HANDLE, lode_close_volume(no_volume));
    EXPECT(LODE_BAD_HANDLE, lode_flush_volume(as_volume));
    REFUSED(LODE_BAD_HANDLE, "entry was freed", lode_has_property(as_entry, LODE_STR("x")));
    EXPECT(LODE_BAD_HANDLE, lode_open_storage_entry(as_storage, LODE_STR("/"), &child));
    EXPECT(LODE_BAD_HANDLE, lode_next_link(as_links, &name, &size));
    EXPECT(LODE_BAD_HANDLE, lode_free_links(as_links));
    EXPECT(LODE_BAD_HANDLE, lode_close((lode_database){ volume.id }));

    DONE(lode_open_links(entry, NULL, 0, &links));
    as_properties.id = links.id;
    EXPECT(LODE_BAD_HANDLE, lode_next_property(as_properties, &name, &size, NULL, NULL));
    DONE(lode_free_links(links));
    EXPECT(LODE_BAD_HANDLE, lode_free_links(links));
    EXPECT(LODE_BAD_HANDLE, lode_next_link(links, &name, &size));
    DONE(lode_open_properties(entry, &properties));
    DONE(lode_free_properties(properties));
    EXPECT(LODE_BAD_HANDLE, lode_free_properties(properties));
    DONE(lode_open_child(entry, LODE_STR(""), &child));
    DONE(lode_free_entry(child));
    EXPECT(LODE_BAD_HANDLE, lode_free_entry(child));
    EXPECT(LODE_BAD_HANDLE, lode_link(child, LODE_STR("x"), NULL));
    EXPECT(LODE_BAD_HANDLE, lode_rename(entry, LODE_STR("x"), child, LODE_STR("y")));
    DONE(lode_make_storage(&storage));
    EXPECT(LODE_BAD_HANDLE, lode_mount_volume(storage, LODE_STR("/"), no_volume, NULL, 0));
    DONE(lode_free_storage(storage));
    EXPECT(LODE_BAD_HANDLE, lode_free_storage(storage));
    EXPECT(LODE_BAD_HANDLE, lode_mount_volume(storage, LODE_STR("/"), volume, NULL, 0));
}

/* Whatever is made of a volume outlives it, and says that it was closed. */
static void used_after_close(void)
{
    lode_volume closed;
    lode_entry of_closed, other;
    lode_links links;
    lode_properties properties;
    lode_storage storage;
    const lode_value value = lode_u64(1);
    const char *name;
    size_t size;
    DONE(lode_open_volume_in_memory(NULL, 0, &closed));
    DONE(lode_create_entry(closed, LODE_STR("/a"), &of_closed));
    DONE(lode_set_property(of_closed, LODE_STR("x"), LODE_TYPE_U8, &value));
    EXPECT(LODE_OTHER_DATABASE, lode_rename(entry, LODE_STR("b"), of_closed, LODE_STR("b")));
    DONE(lode_open_links(of_closed, NULL, 0, &links));
    DONE(lode_open_properties(of_closed, &properties));
    DONE(lode_make_storage(&storage));
    DONE(lode_mount_volume(storage, LODE_STR("/"), closed, NULL, 0));
    DONE(lode_close_volume(closed));
    EXPECT(LODE_BAD_HANDLE, lode_close_volume(closed));
    EXPECT(LODE_BAD_HANDLE, lode_open_entry(closed, LODE_STR("/a"), &other));
    EXPECT(LODE_CLOSED, lode_set_property(of_closed, LODE_STR("x"), LODE_TYPE_U8, &value));
    EXPECT(LODE_CLOSED, lode_link(of_closed, LODE_STR("b"), NULL));
    EXPECT(LODE_CLOSED, lode_next_link(links, &name, &size));
    EXPECT(LODE_CLOSED, lode_next_property(properties, &name, &size, NULL, NULL));
    EXPECT(LODE_CLOSED, lode_create_storage_entry(storage, LODE_STR("/b"), &other));
    DONE(lode_free_links(links));
    DONE(lode_free_properties(properties));
    DONE(lode_free_entry(of_closed));
    DONE(lode_free_storage(storage));
}

/* A forked process, which has no thread of the volume, is told so and can free its handles. */
static void forked(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        EXPECT(LODE_FORKED, lode_link(entry, LODE_STR("x"), NULL));
        EXPECT(LODE_FORKED, lode_has_property(entry, LODE_STR("x")));
        EXPECT(LODE_FORKED, lode_remove_property(entry, LODE_STR("x")));
        EXPECT(LODE_FORKED, lode_close_volume(volume));
        DONE(lode_free_entry(entry));
        /* No leak is looked for here: what the thread had is out of reach. */
        raise(SIGKILL);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

/* Threads that use an entry while another frees it, and a list that one at a time may use. */
static _Atomic(uint64_t) shared_entry, shared_links;
static atomic_bool ended;

static void *use(void *unused)
{
    (void)unused;
    while (!atomic_load(&ended)) {
        lode_entry used = { atomic_load(&shared_entry) };
        lode_links list = { atomic_load(&shared_links) };
        const lode_value value = lode_text("text");
        const char *name;
        size_t size;
        char buffer[32];
        lode_status status =
            lode_set_property(used, LODE_STR("t"), LODE_TYPE_VAR_TEXT, &value);
        CHECK(status == LODE_OK || status == LODE_BAD_HANDLE);
        status = lode_get_property(used, LODE_STR("t"), buffer, sizeof buffer, &size, NULL, NULL);
        CHECK(status == LODE_OK || status == LODE_BAD_HANDLE);
        status = lode_next_link(list, &name, &size);
        CHECK(status == LODE_OK || status == LODE_END || status == LODE_BAD_HANDLE ||
              status == LODE_BUSY);
        sched_yield();
    }
    return NULL;
}

static void threads(void)
{
    pthread_t users[3];
    lode_entry opened;
    lode_links links;
    DONE(lode_create_entry(volume, LODE_STR("/shared/child"), &opened));
    DONE(lode_free_entry(opened));
    DONE(lode_open_entry(volume, LODE_STR("/shared"), &opened));
    DONE(lode_open_links(opened, NULL, 0, &links));
    atomic_store(&shared_entry, opened.id);
    atomic_store(&shared_links, links.id);
    for (int at = 0; at < 3; at++)
        CHECK(pthread_create(&users[at], NULL, use, NULL) == 0);
    for (int round = 0; round < 500; round++) {
        lode_entry next;
        lode_links following;
        lode_status status;
        DONE(lode_open_entry(volume, LODE_STR("/shared"), &next));
        atomic_store(&shared_entry, next.id);
        DONE(lode_free_entry(opened));
        opened = next;
        DONE(lode_open_links(opened, NULL, 0, &following));
        atomic_store(&shared_links, following.id);
        while ((status = lode_free_links(links)) == LODE_BUSY)
            sched_yield();
        DONE(status);
        links = following;
    }
    atomic_store(&ended, true);
    for (int at = 0; at < 3; at++)
        CHECK(pthread_join(users[at], NULL) == 0);
    DONE(lode_free_links(links));
    DONE(lode_free_entry(opened));
}

int main(void)
{
    lode_volume_options options = { 0 };
    options.memory_bytes = 8 << 20;
    DONE(lode_open_volume_in_memory(&options, sizeof options, &volume));
    DONE(lode_create_entry(volume, LODE_STR("/entry"), &entry));
    null_pointers();
    wrong_arguments();
    handles_that_are_none();
    used_after_close();
    forked();
    threads();
    DONE(lode_free_entry(entry));
    DONE(lode_close_volume(volume));
    puts("misuse of volumes: refused");
    return 0;
}
