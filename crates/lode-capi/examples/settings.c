/* Settings in two volumes: defaults that come with a program, under those of a user. */
#include <stdio.h>
#include "lode.h"

/* Prints what went wrong, and where. */
static int failed(const char *what)
{
    fprintf(stderr, "settings: %s: %s\n", what, lode_error_message());
    return 1;
}

/* Prints the text property of an entry. */
static lode_status show(lode_entry entry, const char *name)
{
    char text[80];
    size_t size;
    lode_status status =
        lode_get_property(entry, LODE_STR(name), text, sizeof text, &size, NULL, NULL);
    if (status == LODE_OK)
        printf("%s: %.*s\n", name, (int)size, text);
    return status;
}

int main(void)
{
    lode_volume defaults, user;
    lode_entry installed;
    const lode_value light = lode_text("light"), dark = lode_text("dark");
    if (lode_open_volume_in_memory(NULL, 0, &defaults) != LODE_OK ||
        lode_open_volume(LODE_STR("settings"), NULL, 0, &user) != LODE_OK)
        return failed("open");
    if (lode_create_entry(defaults, LODE_STR("/app/ui"), &installed) != LODE_OK ||
        lode_set_property(installed, LODE_STR("theme"), LODE_TYPE_VAR_TEXT, &light) != LODE_OK)
        return failed("defaults");

    /* The user's volume is asked first, and it alone is written to. */
    lode_storage storage;
    lode_mount first = { 0 }, second = { 0 };
    first.priority = 1;
    second.access = LODE_MOUNT_READ_ONLY;
    if (lode_make_storage(&storage) != LODE_OK ||
        lode_mount_volume(storage, LODE_STR("/"), defaults, &second, sizeof second) != LODE_OK ||
        lode_mount_volume(storage, LODE_STR("/"), user, &first, sizeof first) != LODE_OK)
        return failed("mount");

    lode_entry ui;
    if (lode_open_storage_entry(storage, LODE_STR("/app/ui"), &ui) != LODE_OK ||
        show(ui, "theme") != LODE_OK)
        return failed("as installed");
    if (lode_set_property(ui, LODE_STR("theme"), LODE_TYPE_VAR_TEXT, &dark) != LODE_OK ||
        lode_expire_property(ui, LODE_STR("theme"), 3600000000) != LODE_OK ||
        show(ui, "theme") != LODE_OK)
        return failed("as the user wants it");
    if (lode_remove_property(ui, LODE_STR("theme")) != LODE_OK || show(ui, "theme") != LODE_OK)
        return failed("as installed again");

    lode_free_entry(ui);
    lode_free_entry(installed);
    lode_free_storage(storage);
    lode_close_volume(defaults);
    return lode_close_volume(user) == LODE_OK ? 0 : failed("close");
}
