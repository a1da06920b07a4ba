/* Everything of volumes that the header declares: argv[1] is an empty directory. */
#include <unistd.h>

#include "check.h"

/* Checks the names of the children of an entry that start with a prefix, each after a space. */
static void expect_links(lode_entry entry, const char *prefix, const char *wanted)
{
    lode_links links;
    char names[256] = "";
    const char *name;
    size_t size;
    lode_status status;
    DONE(lode_open_links(entry, LODE_STR(prefix), &links));
    while ((status = lode_next_link(links, &name, &size)) == LODE_OK) {
        CHECK(strlen(names) + size + 2 < sizeof names);
        strcat(names, " ");
        strncat(names, name, size);
    }
    EXPECT(LODE_END, status);
    EXPECT(LODE_END, lode_next_link(links, &name, &size));
    if (strcmp(names, wanted) != 0)
        fprintf(stderr, "the children are%s\n", names);
    CHECK(strcmp(names, wanted) == 0);
    DONE(lode_free_links(links));
}

static void entries(lode_volume volume)
{
    lode_entry root, app, ui, again, bar;
    DONE(lode_open_entry(volume, LODE_STR("/"), &root));
    EXPECT(LODE_NOT_FOUND, lode_open_entry(volume, LODE_STR("/app"), &app));
    DONE(lode_create_entry(volume, LODE_STR("/app/ui"), &ui));
    DONE(lode_create_entry(volume, LODE_STR("app//ui/"), &again));
    DONE(lode_free_entry(again));
    DONE(lode_open_child(root, LODE_STR("app"), &app));
    DONE(lode_open_child(root, LODE_STR("app/ui"), &again));
    char path[64];
    size_t size;
    DONE(lode_entry_path(again, path, sizeof path, &size));
    CHECK(size == 7 && memcmp(path, "/app/ui", 7) == 0);
    DONE(lode_free_entry(again));
    EXPECT(LODE_TOO_SMALL, lode_entry_path(ui, path, 6, &size));
    CHECK(size == 7);
    EXPECT(LODE_NOT_FOUND, lode_open_child(app, LODE_STR("uj"), &again));

    DONE(lode_link(app, LODE_STR("b"), NULL));
    DONE(lode_link(app, LODE_STR("bar"), &bar));
    DONE(lode_link(bar, LODE_STR("below"), NULL));
    REFUSED(LODE_NAME_TAKEN, "/app/bar", lode_link(app, LODE_STR("bar"), NULL));
    expect_links(app, "", " b bar ui");
    expect_links(app, "ba", " bar");
    expect_links(app, "bard", "");

    DONE(lode_rename(app, LODE_STR("bar"), root, LODE_STR("moved")));
    DONE(lode_entry_path(bar, path, sizeof path, &size));
    CHECK(size == 6 && memcmp(path, "/moved", 6) == 0);
    EXPECT(LODE_NO_ENTRY, lode_rename(app, LODE_STR("bar"), root, LODE_STR("x")));
    EXPECT(LODE_NAME_TAKEN, lode_rename(root, LODE_STR("moved"), app, LODE_STR("b")));
    EXPECT(LODE_INTO_ITSELF, lode_rename(root, LODE_STR("moved"), bar, LODE_STR("x")));

    REFUSED(LODE_NOT_EMPTY, "/moved", lode_unlink(root, LODE_STR("moved")));
    DONE(lode_unlink_all(root, LODE_STR("moved")));
    EXPECT(LODE_GONE, lode_entry_path(bar, path, sizeof path, &size));
    EXPECT(LODE_GONE, lode_link(bar, LODE_STR("x"), NULL));
    EXPECT(LODE_GONE, lode_has_property(bar, LODE_STR("x")));
    DONE(lode_unlink(app, LODE_STR("b")));
    EXPECT(LODE_NO_ENTRY, lode_unlink(app, LODE_STR("b")));
    EXPECT(LODE_NO_ENTRY, lode_unlink_all(app, LODE_STR("b")));
    expect_links(app, "", " ui");

    /* A list shows the children as they were when it was opened. */
    lode_links links;
    const char *name;
    DONE(lode_open_links(root, NULL, 0, &links));
    DONE(lode_link(root, LODE_STR("later"), NULL));
    DONE(lode_next_link(links, &name, &size));
    CHECK(size == 3 && memcmp(name, "app", 3) == 0);
    EXPECT(LODE_END, lode_next_link(links, &name, &size));
    DONE(lode_free_links(links));
    DONE(lode_free_entry(root));
    DONE(lode_free_entry(app));
    DONE(lode_free_entry(ui));
    DONE(lode_free_entry(bar));
}

/* A property as it is set, and as it is read back. */
struct property {
    const char *name;
    lode_type set_as, type;
    lode_value value;
};

static bool is_equal(lode_value one, lode_value other)
{
    if (one.kind != other.kind)
        return false;
    if (one.kind != LODE_TEXT && one.kind != LODE_BYTES)
        return one.data.u == other.data.u;
    const size_t size = one.data.bytes.size;
    return size == other.data.bytes.size &&
           (size == 0 || memcmp(one.data.bytes.data, other.data.bytes.data, size) == 0);
}

static void properties(lode_volume volume)
{
    const struct property all[] = {
        { "a", LODE_TYPE_U8, LODE_TYPE_U8, lode_u64(255) },
        { "b", LODE_TYPE_U16, LODE_TYPE_U16, lode_u64(65535) },
        { "c", LODE_TYPE_U32, LODE_TYPE_U32, lode_u64(UINT32_MAX) },
        { "d", LODE_TYPE_U64, LODE_TYPE_U64, lode_u64(UINT64_MAX) },
        { "e", LODE_TYPE_I8, LODE_TYPE_I8, lode_i64(-128) },
        { "f", LODE_TYPE_I16, LODE_TYPE_I16, lode_i64(-32768) },
        { "g", LODE_TYPE_I32, LODE_TYPE_I32, lode_i64(INT32_MIN) },
        { "h", LODE_TYPE_I64, LODE_TYPE_I64, lode_i64(INT64_MIN) },
        { "i", LODE_TYPE_F32, LODE_TYPE_F32, lode_f64(0.5) },
        { "j", LODE_TYPE_F64, LODE_TYPE_F64, lode_f64(0.1) },
        { "k", LODE_TYPE_VAR_TEXT, LODE_TYPE_VAR_TEXT, lode_text("ein Text") },
        { "l", LODE_TYPE_VAR_BYTES, LODE_TYPE_VAR_BYTES, lode_blob("\0\377", 2) },
        { "m", LODE_TYPE_WIDEST, LODE_TYPE_U64, lode_u64(7) },
        { "n", LODE_TYPE_WIDEST, LODE_TYPE_I64, lode_i64(-7) },
        { "o", LODE_TYPE_WIDEST, LODE_TYPE_F64, lode_f64(7) },
        { "p", LODE_TYPE_WIDEST, LODE_TYPE_VAR_TEXT, lode_text("") },
        { "q", LODE_TYPE_WIDEST, LODE_TYPE_VAR_BYTES, lode_blob(NULL, 0) },
    };
    enum { COUNT = sizeof all / sizeof *all };
    lode_entry entry;
    lode_value value;
    lode_type type;
    char buffer[64];
    size_t size;
    DONE(lode_create_entry(volume, LODE_STR("/values"), &entry));
    for (size_t at = 0; at < COUNT; at++) {
        const struct property *one = &all[at];
        EXPECT(LODE_NOT_FOUND, lode_has_property(entry, LODE_STR(one->name)));
        DONE(lode_set_property(entry, LODE_STR(one->name), one->set_as, &one->value));
        DONE(lode_has_property(entry, LODE_STR(one->name)));
        DONE(lode_get_property(entry, LODE_STR(one->name), buffer, sizeof buffer, &size, &type,
                               &value));
        CHECK(type == one->type && is_equal(value, one->value));
        const bool is_long = value.kind == LODE_TEXT || value.kind == LODE_BYTES;
        CHECK(size == (is_long ? value.data.bytes.size : 0));
        CHECK(!is_long || value.data.bytes.data == buffer);
    }
    /* A number of the other sign is taken if it fits. */
    value = lode_i64(8);
    DONE(lode_set_property(entry, LODE_STR("m"), LODE_TYPE_U64, &value));
    DONE(lode_get_property(entry, LODE_STR("m"), NULL, 0, &size, NULL, &value));
    CHECK(value.kind == LODE_UNSIGNED && value.data.u == 8 && size == 0);
    memset(buffer, 0x5a, sizeof buffer);
    EXPECT(LODE_TOO_SMALL, lode_get_property(entry, LODE_STR("k"), buffer, 7, &size, NULL, NULL));
    CHECK(size == 8 && buffer[0] == 0x5a);

    lode_properties list;
    const char *name;
    lode_status status;
    size_t at = 0;
    DONE(lode_open_properties(entry, &list));
    DONE(lode_remove_property(entry, LODE_STR("a")));
    EXPECT(LODE_NOT_FOUND, lode_remove_property(entry, LODE_STR("a")));
    for (; (status = lode_next_property(list, &name, &size, &type, &value)) == LODE_OK; at++) {
        CHECK(at < COUNT && size == 1 && *name == *all[at].name && type == all[at].type);
        CHECK(*name == 'm' || is_equal(value, all[at].value));
    }
    EXPECT(LODE_END, status);
    CHECK(at == COUNT);
    DONE(lode_free_properties(list));
    size = 9;
    EXPECT(LODE_NOT_FOUND,
           lode_get_property(entry, LODE_STR("a"), buffer, sizeof buffer, &size, &type, &value));
    CHECK(size == 0);

    /* The most bytes of a property, and one more. */
    const size_t most = 1 << 20;
    char *large = malloc(most + 1), *back = malloc(most);
    memset(large, 'x', most + 1);
    value = lode_text_of(large, most);
    DONE(lode_set_property(entry, LODE_STR("k"), LODE_TYPE_VAR_TEXT, &value));
    DONE(lode_get_property(entry, LODE_STR("k"), back, most, &size, NULL, &value));
    CHECK(size == most && memcmp(large, back, most) == 0 && value.data.bytes.data == back);
    value = lode_text_of(large, most + 1);
    REFUSED(LODE_VALUE_TOO_LONG, "1048577",
            lode_set_property(entry, LODE_STR("k"), LODE_TYPE_VAR_TEXT, &value));
    free(large);
    free(back);
    DONE(lode_free_entry(entry));
}

static void expiry(lode_volume volume)
{
    lode_entry entry;
    lode_value value = lode_u64(1);
    uint64_t removed;
    DONE(lode_create_entry(volume, LODE_STR("/expiry"), &entry));
    EXPECT(LODE_NOT_FOUND, lode_expire_property(entry, LODE_STR("gone"), 0));
    EXPECT(LODE_NOT_FOUND, lode_cancel_expiration(entry, LODE_STR("gone")));
    DONE(lode_set_property(entry, LODE_STR("gone"), LODE_TYPE_U8, &value));
    DONE(lode_set_property(entry, LODE_STR("kept"), LODE_TYPE_U8, &value));
    DONE(lode_expire_property(entry, LODE_STR("kept"), 3600000000));
    DONE(lode_cancel_expiration(entry, LODE_STR("kept")));
    DONE(lode_expire_property(entry, LODE_STR("gone"), 3600000000));
    DONE(lode_has_property(entry, LODE_STR("gone")));
    DONE(lode_expire_property(entry, LODE_STR("gone"), 0));
    DONE(lode_sweep_volume(volume, &removed));
    CHECK(removed == 1);
    EXPECT(LODE_NOT_FOUND, lode_has_property(entry, LODE_STR("gone")));
    REFUSED(LODE_EXPIRY_TOO_FAR, "later",
            lode_expire_property(entry, LODE_STR("kept"), UINT64_MAX));
    DONE(lode_sweep_volume(volume, NULL));
    DONE(lode_has_property(entry, LODE_STR("kept")));
    DONE(lode_expire_property(entry, LODE_STR("kept"), 20000));
    usleep(20001);
    EXPECT(LODE_NOT_FOUND, lode_has_property(entry, LODE_STR("kept")));
    DONE(lode_free_entry(entry));
}

static uint64_t number(lode_entry entry, const char *name)
{
    lode_value value;
    size_t size;
    DONE(lode_get_property(entry, LODE_STR(name), NULL, 0, &size, NULL, &value));
    return value.data.u;
}

static void storages(lode_volume user)
{
    lode_volume defaults;
    lode_volume_options options = { 0 };
    options.name = "defaults";
    options.name_size = 8;
    DONE(lode_open_volume_in_memory(&options, sizeof options, &defaults));
    lode_entry of_defaults, of_user, ui, app;
    const lode_value one = lode_u64(1), two = lode_u64(2);
    DONE(lode_create_entry(defaults, LODE_STR("/app/ui"), &of_defaults));
    DONE(lode_set_property(of_defaults, LODE_STR("x"), LODE_TYPE_U8, &one));
    DONE(lode_set_property(of_defaults, LODE_STR("y"), LODE_TYPE_U8, &one));
    DONE(lode_create_entry(user, LODE_STR("/settings"), &of_user));

    lode_storage storage, other;
    lode_mount first = { 0 }, second = { 0 };
    first.entry = "/settings";
    first.entry_size = strlen(first.entry);
    first.priority = 1;
    second.access = LODE_MOUNT_READ_ONLY;
    DONE(lode_make_storage(&storage));
    EXPECT(LODE_NOT_MOUNTED, lode_open_storage_entry(storage, LODE_STR("/app/ui"), &ui));
    DONE(lode_mount_volume(storage, LODE_STR("/"), user, &first, sizeof first));
    DONE(lode_mount_volume(storage, LODE_STR("/app"), defaults, &second, sizeof second));
    DONE(lode_create_storage_entry(storage, LODE_STR("/made"), &app));
    expect_links(of_user, "", " made");
    /* The mounts at the longest path count. */
    EXPECT(LODE_NOT_FOUND, lode_open_storage_entry(storage, LODE_STR("/app/ui"), &ui));
    DONE(lode_unmount_volume(storage, LODE_STR("/app"), defaults, NULL, 0));
    EXPECT(LODE_NOT_MOUNTED, lode_unmount_volume(storage, LODE_STR("/app"), defaults, NULL, 0));
    DONE(lode_mount_volume(storage, LODE_STR("/"), defaults, &second, sizeof second));
    /* It is first by its priority, whenever it is mounted. */
    DONE(lode_unmount_volume(storage, LODE_STR("/"), user, LODE_STR("/settings")));
    DONE(lode_mount_volume(storage, LODE_STR("/"), user, &first, sizeof first));
    REFUSED(LODE_MOUNTS_CHANGED, "open it again", lode_has_property(app, LODE_STR("x")));
    REFUSED(LODE_ALREADY_MOUNTED, "defaults",
            lode_mount_volume(storage, LODE_STR("/"), defaults, NULL, 0));
    DONE(lode_make_storage(&other));
    REFUSED(LODE_CLAIMED, "defaults", lode_mount_volume(other, LODE_STR("/"), defaults, NULL, 0));
    first.entry = "/nothing";
    first.entry_size = strlen(first.entry);
    EXPECT(LODE_NO_ENTRY, lode_mount_volume(other, LODE_STR("/"), user, &first, sizeof first));
    DONE(lode_free_storage(other));
    DONE(lode_free_entry(app));

    DONE(lode_open_storage_entry(storage, LODE_STR("/app"), &app));
    DONE(lode_open_child(app, LODE_STR("ui"), &ui));
    char path[64];
    size_t size;
    DONE(lode_entry_path(ui, path, sizeof path, &size));
    CHECK(size == 7 && memcmp(path, "/app/ui", 7) == 0);
    CHECK(number(ui, "x") == 1);
    DONE(lode_set_property(ui, LODE_STR("x"), LODE_TYPE_U8, &two));
    CHECK(number(ui, "x") == 2 && number(ui, "y") == 1 && number(of_defaults, "x") == 1);
    DONE(lode_expire_property(ui, LODE_STR("x"), 3600000000));
    DONE(lode_cancel_expiration(ui, LODE_STR("x")));
    lode_properties list;
    const char *name;
    lode_value value;
    DONE(lode_open_properties(ui, &list));
    DONE(lode_next_property(list, &name, &size, NULL, &value));
    CHECK(size == 1 && *name == 'x' && value.data.u == 2);
    DONE(lode_next_property(list, &name, &size, NULL, &value));
    CHECK(size == 1 && *name == 'y' && value.data.u == 1);
    EXPECT(LODE_END, lode_next_property(list, &name, &size, NULL, NULL));
    DONE(lode_free_properties(list));
    DONE(lode_remove_property(ui, LODE_STR("x")));
    CHECK(number(ui, "x") == 1);

    lode_entry child;
    DONE(lode_link(ui, LODE_STR("child"), &child));
    DONE(lode_link(ui, LODE_STR("other"), NULL));
    EXPECT(LODE_NAME_TAKEN, lode_link(ui, LODE_STR("child"), NULL));
    expect_links(ui, "", " child other");
    expect_links(ui, "o", " other");
    REFUSED(LODE_BAD_ARGUMENT, "storage", lode_rename(ui, LODE_STR("child"), ui, LODE_STR("z")));
    DONE(lode_unlink(ui, LODE_STR("child")));
    DONE(lode_unlink_all(ui, LODE_STR("other")));
    EXPECT(LODE_NO_ENTRY, lode_unlink(ui, LODE_STR("other")));
    EXPECT(LODE_GONE, lode_has_property(child, LODE_STR("x")));
    EXPECT(LODE_READ_ONLY, lode_unlink_all(app, LODE_STR("ui")));

    DONE(lode_free_entry(child));
    DONE(lode_free_entry(ui));
    DONE(lode_free_entry(app));
    DONE(lode_free_storage(storage));
    /* It is free for another storage now. */
    DONE(lode_make_storage(&other));
    DONE(lode_mount_volume(other, LODE_STR("/"), defaults, NULL, 0));
    DONE(lode_mount_volume(other, LODE_STR("/"), user, NULL, 0));
    /* One of two volumes is closed, so only the other one takes a write. */
    DONE(lode_open_storage_entry(other, LODE_STR("/app/ui"), &ui));
    DONE(lode_close_volume(defaults));
    REFUSED(LODE_PARTIAL, "defaults", lode_set_property(ui, LODE_STR("new"), LODE_TYPE_U8, &one));
    CHECK(lode_error_effect() == LODE_EFFECT_PARTIAL);
    DONE(lode_free_entry(ui));
    DONE(lode_free_storage(other));
    DONE(lode_free_entry(of_defaults));
    DONE(lode_free_entry(of_user));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    char path[4096];
    snprintf(path, sizeof path, "%s/volume", arguments[1]);
    lode_volume_options options = { 0 };
    options.memory_bytes = 16 << 20;
    options.log_bytes = 8 << 20;
    options.segment_bytes = 1 << 20;
    options.sync_interval_us = 5000;
    options.durability = LODE_DURABILITY_PROCESS;
    options.flags = LODE_UNMAPPED_LOG | LODE_NO_IDLE_COMPACTION;
    options.sweep_interval_us = 3600000000;
    options.open_entries = 16;
    options.cache_bytes = 1 << 20;
    options.name = "settings";
    options.name_size = 8;
    lode_volume volume, other;
    DONE(lode_open_volume(LODE_STR(path), &options, sizeof options, &volume));
    EXPECT(LODE_LOCKED, lode_open_volume(LODE_STR(path), NULL, 0, &other));
    entries(volume);
    properties(volume);
    expiry(volume);
    storages(volume);
    lode_entry entry;
    const lode_value value = lode_u64(7);
    DONE(lode_create_entry(volume, LODE_STR("/stays"), &entry));
    DONE(lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U16, &value));
    DONE(lode_flush_volume(volume));
    DONE(lode_close_volume(volume));
    EXPECT(LODE_CLOSED, lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U16, &value));
    DONE(lode_free_entry(entry));

    options.mode = LODE_OPEN_READ_ONLY;
    DONE(lode_open_volume(LODE_STR(path), &options, sizeof options, &volume));
    DONE(lode_open_entry(volume, LODE_STR("/stays"), &entry));
    CHECK(number(entry, "x") == 7);
    REFUSED(LODE_READ_ONLY, "settings",
            lode_set_property(entry, LODE_STR("x"), LODE_TYPE_U16, &value));
    DONE(lode_free_entry(entry));
    DONE(lode_close_volume(volume));
    options.mode = LODE_OPEN_EXISTING;
    DONE(lode_open_volume(LODE_STR(path), &options, sizeof options, &volume));
    DONE(lode_close_volume(volume));

    snprintf(path, sizeof path, "%s/none", arguments[1]);
    EXPECT(LODE_NO_DATABASE, lode_open_volume(LODE_STR(path), &options, sizeof options, &volume));
    lode_database db;
    lode_table table;
    const lode_column column = LODE_COLUMN("id", LODE_TYPE_U8, 0, LODE_KEY);
    DONE(lode_open(LODE_STR(path), NULL, 0, &db));
    DONE(lode_create_table(db, LODE_STR("t"), &column, 1, LODE_ORDERED, &table));
    DONE(lode_free_table(table));
    DONE(lode_close(db));
    REFUSED(LODE_NOT_A_VOLUME, "table t", lode_open_volume(LODE_STR(path), NULL, 0, &volume));
    puts("volumes: as they should be");
    return 0;
}
