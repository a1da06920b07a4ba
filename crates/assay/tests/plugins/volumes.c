/* The example plugin with volumes of its own, kept in lists. The options say how many are mounted,
 * and a write goes to each. What is defined when it is compiled makes it lack or do something. */
#define assay_plugin plain_plugin
#include "hashtable.c"
#undef assay_plugin

#include <stdio.h>

enum { MOST_VOLUMES = 3, MOST_NAMES = 4096, MOST_BYTES = 1024 };

typedef struct {
    uint64_t record;
    uint32_t is_link, name_size, type, size_bytes;
    char name[16];
    unsigned char bytes[MOST_BYTES];
} name_entry;

static struct {
    name_entry *entries;
    size_t count;
} mounted[MOST_VOLUMES];
static uint32_t volume_count;
static char volume_settings[64];

static int create_volumes(const assay_open_options *options, assay_store **store,
                          assay_error *error)
{
    volume_count = options->volumes;
    if (volume_count < 1 || volume_count > MOST_VOLUMES)
        return failed(error, "that many volumes were not expected");
    for (uint32_t at = 0; at < volume_count; at++)
        mounted[at].entries = calloc(MOST_NAMES, sizeof(name_entry));
    int written = snprintf(volume_settings, sizeof volume_settings, "%u volumes", volume_count);
    for (uint32_t at = 0; at < options->parameter_count; at++)
        written += snprintf(volume_settings + written, sizeof volume_settings - (size_t)written,
                            "\n%s = %s", options->parameters[at].name,
                            options->parameters[at].value);
    return hashtable_create(options, store, error);
}

static const char *settings_of_volumes(assay_store *store)
{
    (void)store;
    return volume_settings;
}

static name_entry *find_name(uint32_t volume, uint32_t is_link, uint64_t record, const char *name,
                             uint32_t name_size)
{
    for (size_t at = 0; at < mounted[volume].count; at++) {
        name_entry *entry = &mounted[volume].entries[at];
        if (entry->record == record && entry->is_link == is_link && entry->name_size == name_size
            && memcmp(entry->name, name, name_size) == 0)
            return entry;
    }
    return NULL;
}

static name_entry *add_name(uint32_t volume, uint32_t is_link, uint64_t record, const char *name,
                            uint32_t name_size)
{
    if (mounted[volume].count == MOST_NAMES || name_size > sizeof(((name_entry *)0)->name))
        return NULL;
    name_entry *entry = &mounted[volume].entries[mounted[volume].count++];
    entry->record = record;
    entry->is_link = is_link;
    entry->name_size = name_size;
    memcpy(entry->name, name, name_size);
    return entry;
}

static int take_name(uint32_t is_link, uint64_t record, const char *name, uint32_t name_size)
{
    int answer = ASSAY_MISSING;
    for (uint32_t volume = 0; volume < volume_count; volume++) {
        name_entry *entry = find_name(volume, is_link, record, name, name_size);
        if (entry != NULL) {
            *entry = mounted[volume].entries[--mounted[volume].count];
            answer = ASSAY_DONE;
        }
    }
    return answer;
}

static int set_property(assay_handle *handle, uint64_t record, const char *name,
                        uint32_t name_size, const assay_property *value, assay_error *error)
{
    (void)handle;
    if (value->size_bytes > MOST_BYTES)
        return failed(error, "too long");
    for (uint32_t volume = 0; volume < volume_count; volume++) {
        name_entry *entry = find_name(volume, 0, record, name, name_size);
        if (entry == NULL)
            entry = add_name(volume, 0, record, name, name_size);
        if (entry == NULL)
            return failed(error, "too many names");
        entry->type = value->type;
        entry->size_bytes = value->size_bytes;
        memcpy(entry->bytes, value->bytes, value->size_bytes);
    }
    return ASSAY_DONE;
}

static int get_property(assay_handle *handle, uint64_t record, const char *name,
                        uint32_t name_size, assay_found found, void *context, assay_error *error)
{
    (void)handle, (void)error;
    name_entry *entry = find_name(0, 0, record, name, name_size);
    if (entry == NULL)
        return ASSAY_MISSING;
#ifdef LIES
    entry->bytes[0] ^= 1;
#endif
    assay_property value = {entry->type, entry->size_bytes, entry->bytes};
#ifdef SAYS_NO_TYPE
    value.type = 99;
#endif
    found(context, &value);
    return ASSAY_DONE;
}

static int remove_property(assay_handle *handle, uint64_t record, const char *name,
                           uint32_t name_size, assay_error *error)
{
    (void)handle, (void)error;
    return take_name(0, record, name, name_size);
}

static int link_name(assay_handle *handle, uint64_t parent, const char *name, uint32_t name_size,
                     uint64_t child, assay_error *error)
{
    (void)handle, (void)child;
    for (uint32_t volume = 0; volume < volume_count; volume++) {
        if (find_name(volume, 1, parent, name, name_size) != NULL)
            return ASSAY_DUPLICATE;
        if (add_name(volume, 1, parent, name, name_size) == NULL)
            return failed(error, "too many names");
    }
    return ASSAY_DONE;
}

static int unlink_name(assay_handle *handle, uint64_t parent, const char *name,
                       uint32_t name_size, assay_error *error)
{
    (void)handle, (void)error;
    return take_name(1, parent, name, name_size);
}

static const char *const PARAMETERS[] = {"block_size", "cache_bytes", NULL};

const assay_driver *assay_plugin(void)
{
    static assay_volume volume = {
        .size_bytes = sizeof(assay_volume),
        .mounts = 1,
        .set_property = set_property,
        .get_property = get_property,
        .remove_property = remove_property,
        .link = link_name,
        .unlink = unlink_name,
    };
    static assay_driver driver;
    driver = *plain_plugin();
    driver.id = "volumes";
    driver.create = create_volumes;
    driver.settings = settings_of_volumes;
    driver.parameters = PARAMETERS;
    driver.volume = &volume;
#if defined(LACKS_LINK)
    volume.link = NULL;
#elif defined(OTHER_VOLUME_SIZE)
    volume.size_bytes -= 8;
#elif defined(INSERT_ONLY)
    driver.update = NULL;
    driver.remove = NULL;
    driver.upsert = NULL;
    driver.volume = NULL;
    driver.transactions = ASSAY_NO_TRANSACTIONS;
#endif
    return &driver;
}
