/* skvdb: SKVDB as an engine of Assay.
 *
 *   make SKVDB=/path/to/skvdb && assay verify -e skvdb --plugin ./libskvdb.so
 *
 * Volumes are SKVDB's own: a store mounts one or more at the root of a virtual storage. The suite
 * skvdb writes, reads and removes properties and links through it. Other suites store a record as
 * a property of one entry: its name is the key, its value the payload, as a BLOB.
 *
 * SKVDB changes entries in memory and writes them to its files when they are closed, without
 * fsync: that is level none.
 */
#include <assay_driver.hpp>

#include <ondisk/Volume.hpp>
#include <vfs/Storage.hpp>

#include <array>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace {

using skv::ondisk::Volume;
using skv::util::Status;
using skv::vfs::IEntry;
using skv::vfs::Property;
using skv::vfs::Storage;

using Entry = std::shared_ptr<IEntry>;
using Bytes = std::vector<char>;

/* The entry whose properties are the records of other suites. */
const std::string RECORDS = "records";

void check(const char *doing, const Status &status)
{
    if (!status.isOk())
        throw std::runtime_error(std::string(doing) + ": " + status.message());
}

/* What a read or a removal came to: SKVDB has no status of its own for a missing name. */
int outcome(const char *doing, const Status &status)
{
    if (status.isOk())
        return ASSAY_DONE;
    if (status.isFatal() || status.isIOError())
        throw std::runtime_error(std::string(doing) + ": " + status.message());
    return ASSAY_MISSING;
}

/* The names on the way to a record. SKVDB copies and looks through all children of an entry when it
 * links, so no entry gets many: records are spread over three levels, none below another. */
std::vector<std::string> names_of(std::uint64_t record)
{
    const std::string high = std::to_string(record >> 32);
    const std::uint64_t low = record & 0xffffffff;
    if (low == 0)
        return {"record-" + high};
    return {"records-" + high, std::to_string(low / 64), std::to_string(low % 64)};
}

template <class Number>
Property number(const assay_property &value)
{
    Number number;
    std::memcpy(&number, value.bytes, sizeof number);
    return number;
}

Property property_of(const assay_property &value)
{
    const char *bytes = static_cast<const char *>(value.bytes);
    switch (value.type) {
    case ASSAY_U8:
        return number<std::uint8_t>(value);
    case ASSAY_U32:
        return number<std::uint32_t>(value);
    case ASSAY_U64:
        return number<std::uint64_t>(value);
    case ASSAY_F32:
        return number<float>(value);
    case ASSAY_F64:
        return number<double>(value);
    case ASSAY_TEXT:
        return std::string(bytes, value.size_bytes);
    case ASSAY_BYTES:
        return Bytes(bytes, bytes + value.size_bytes);
    }
    throw std::runtime_error("a property of type " + std::to_string(value.type)
                             + " is none that is known");
}

/* Shows a property of SKVDB as Assay sees it. */
struct Show {
    assay_found found;
    void *context;

    void operator()(const std::string &text) const
    {
        show(ASSAY_TEXT, text.data(), text.size());
    }
    void operator()(const Bytes &bytes) const
    {
        show(ASSAY_BYTES, bytes.data(), bytes.size());
    }
    void operator()(std::uint8_t number) const { show(ASSAY_U8, &number, sizeof number); }
    void operator()(std::uint32_t number) const { show(ASSAY_U32, &number, sizeof number); }
    void operator()(std::uint64_t number) const { show(ASSAY_U64, &number, sizeof number); }
    void operator()(float number) const { show(ASSAY_F32, &number, sizeof number); }
    void operator()(double number) const { show(ASSAY_F64, &number, sizeof number); }
    template <class Other>
    void operator()(Other) const
    {
        throw std::runtime_error("a property has a type that was never written");
    }

private:
    void show(std::uint32_t type, const void *bytes, std::size_t size) const
    {
        const assay_property value{type, static_cast<std::uint32_t>(size), bytes};
        found(context, &value);
    }
};

} // namespace

struct assay_store {
    assay_store(const assay_open_options &options);
    ~assay_store();

    /* The entry of a record, which stays open until the store is closed. */
    Entry entry_of(std::uint64_t record);
    void close();

    const assay_schema &schema;
    std::string settings;
    std::vector<std::shared_ptr<Volume>> volumes;
    std::unique_ptr<Storage> storage;
    Entry records;
    /* An update reads and writes; updates of one record take turns. */
    std::array<std::mutex, 64> updates;

private:
    Entry open(const std::vector<std::string> &names);
    bool is_there(const std::string &path);

    std::mutex opening;
    std::unordered_map<std::uint64_t, Entry> entries;
};

struct assay_handle {
    assay_store &store;
    std::uint64_t record = 0;
    Entry entry;
    std::unordered_map<std::uint64_t, Entry> entries;

    IEntry &entry_of(std::uint64_t wanted)
    {
        if (entry == nullptr || wanted != record) {
            Entry &known = entries[wanted];
            if (known == nullptr)
                known = store.entry_of(wanted);
            entry = known;
            record = wanted;
        }
        return *entry;
    }
};

assay_store::assay_store(const assay_open_options &options) : schema(*options.schema)
{
    Status status;
    storage = std::make_unique<Storage>(status);
    check("make the storage", status);
    Volume::OpenOptions opened;
    opened.LogDeviceCreateNewIfNotExist = options.create != 0;
    for (std::uint32_t number = 0; number < options.volumes; number++) {
        auto volume = std::make_shared<Volume>(status, opened);
        check("make a volume", status);
        check("open a volume",
              volume->initialize(options.dir, "volume" + std::to_string(number + 1)));
        volumes.push_back(volume);
        check("mount", storage->mount(volume, "/", "/", Storage::MaxPriority - number));
    }
    records = open({RECORDS});
    settings = std::to_string(volumes.size()) + " volume" + (volumes.size() == 1 ? "" : "s")
        + " mounted at /\nlog device with blocks of "
        + std::to_string(opened.LogDeviceBlockSize) + " bytes\nwritten when closed, without fsync";
}

/* Where opening failed, what was opened is closed; what that says is not reported. */
assay_store::~assay_store()
{
    try {
        close();
    } catch (const std::exception &) {
    }
}

void assay_store::close()
{
    entries.clear();
    records.reset();
    const auto opened = std::move(volumes);
    volumes.clear();
    for (const auto &volume : opened)
        check("unmount", storage->unmount(volume, "/", "/"));
    for (const auto &volume : opened)
        check("close a volume", volume->deinitialize());
}

bool assay_store::is_there(const std::string &path)
{
    for (const auto &volume : volumes)
        if (volume->entry(path) == nullptr)
            return false;
    return true;
}

Entry assay_store::open(const std::vector<std::string> &names)
{
    std::string path;
    for (const std::string &name : names) {
        const std::string parent = path.empty() ? "/" : path;
        path += "/" + name;
        if (is_there(path))
            continue;
        const Entry of = storage->entry(parent);
        if (of == nullptr)
            throw std::runtime_error("open " + parent + ": there is no such entry");
        check("link", storage->link(*of, name));
        if (!is_there(path))
            throw std::runtime_error("link " + path + ": not every volume has it");
    }
    Entry opened = storage->entry(path);
    if (opened == nullptr)
        throw std::runtime_error("open " + path + ": there is no such entry");
    return opened;
}

Entry assay_store::entry_of(std::uint64_t record)
{
    const std::lock_guard<std::mutex> guard(opening);
    Entry &known = entries[record];
    if (known == nullptr)
        known = open(names_of(record));
    return known;
}

namespace {

int create(const assay_open_options *options, assay_store **made, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        *made = new assay_store(*options);
        return ASSAY_DONE;
    });
}

int close(assay_store *store, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        const std::unique_ptr<assay_store> owned(store);
        owned->close();
        return ASSAY_DONE;
    });
}

const char *settings(assay_store *store)
{
    return store->settings.c_str();
}

int connect(assay_store *store, assay_handle **handle, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        *handle = new assay_handle{*store, 0, nullptr, {}};
        return ASSAY_DONE;
    });
}

void disconnect(assay_handle *handle)
{
    delete handle;
}

/* Records of other suites. */

std::string key_of(const assay_store &store, const void *key)
{
    return std::string(static_cast<const char *>(key), store.schema.key_size);
}

int insert(assay_handle *handle, const void *record, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = handle->store;
        const char *payload = static_cast<const char *>(record) + store.schema.key_size;
        const std::size_t size = assay::used_bytes(store.schema, payload);
        check("set a property",
              store.records->setProperty(key_of(store, record), Bytes(payload, payload + size)));
        return ASSAY_DONE;
    });
}

/* Calls work with the payload of a record, if there is one. */
template <class Work>
int with_payload(assay_store &store, const std::string &key, Work work)
{
    const auto [status, value] = store.records->property(key);
    const int found = outcome("get a property", status);
    if (found == ASSAY_DONE)
        work(std::get<Bytes>(value));
    return found;
}

int query(assay_handle *handle, const void *key, void *payload, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = handle->store;
        const std::size_t most = store.schema.payload_size;
        return with_payload(store, key_of(store, key), [&](const Bytes &stored) {
            std::memcpy(payload, stored.data(), stored.size() < most ? stored.size() : most);
        });
    });
}

int update(assay_handle *handle, const void *key, uint32_t column, const void *value,
           assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = handle->store;
        const std::string name = key_of(store, key);
        const std::size_t of_key = std::hash<std::string>{}(name);
        const std::lock_guard<std::mutex> turn(store.updates[of_key % store.updates.size()]);
        Bytes payload;
        const int found =
            with_payload(store, name, [&](const Bytes &stored) { payload = stored; });
        if (found != ASSAY_DONE)
            return found;
        const assay_column &changed = store.schema.columns[column];
        payload.resize(store.schema.payload_size);
        std::memcpy(payload.data() + changed.offset - store.schema.key_size, value,
                    changed.size_bytes);
        payload.resize(assay::used_bytes(store.schema, payload.data()));
        check("set a property", store.records->setProperty(name, payload));
        return ASSAY_DONE;
    });
}

int remove(assay_handle *handle, const void *key, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = handle->store;
        return outcome("remove a property", store.records->removeProperty(key_of(store, key)));
    });
}

/* SKVDB's own notion. */

int set_property(assay_handle *handle, uint64_t record, const char *name, uint32_t name_size,
                 const assay_property *value, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        IEntry &entry = handle->entry_of(record);
        check("set a property",
              entry.setProperty(std::string(name, name_size), property_of(*value)));
        return ASSAY_DONE;
    });
}

int get_property(assay_handle *handle, uint64_t record, const char *name, uint32_t name_size,
                 assay_found found, void *context, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        const auto [status, value] =
            handle->entry_of(record).property(std::string(name, name_size));
        const int got = outcome("get a property", status);
        if (got == ASSAY_DONE)
            std::visit(Show{found, context}, value);
        return got;
    });
}

int remove_property(assay_handle *handle, uint64_t record, const char *name, uint32_t name_size,
                    assay_error *error)
{
    return assay::kept_inside(error, [&] {
        IEntry &entry = handle->entry_of(record);
        return outcome("remove a property", entry.removeProperty(std::string(name, name_size)));
    });
}

bool has_link(const IEntry &entry, const std::string &name)
{
    const auto [status, links] = entry.links();
    check("list the links", status);
    return links.count(name) != 0;
}

/* SKVDB numbers the child itself. Its status does not tell why it refuses a name. */
int link(assay_handle *handle, uint64_t parent, const char *name, uint32_t name_size, uint64_t,
         assay_error *error)
{
    return assay::kept_inside(error, [&] {
        IEntry &entry = handle->entry_of(parent);
        const std::string child(name, name_size);
        const Status status = handle->store.storage->link(entry, child);
        if (!status.isOk() && has_link(entry, child))
            return ASSAY_DUPLICATE;
        check("link", status);
        return ASSAY_DONE;
    });
}

int unlink(assay_handle *handle, uint64_t parent, const char *name, uint32_t name_size,
           assay_error *error)
{
    return assay::kept_inside(error, [&] {
        IEntry &entry = handle->entry_of(parent);
        const std::string child(name, name_size);
        const Status status = handle->store.storage->unlink(entry, child);
        if (!status.isOk() && !has_link(entry, child))
            return ASSAY_MISSING;
        check("unlink", status);
        return ASSAY_DONE;
    });
}

assay_volume volume()
{
    assay_volume volume{};
    volume.size_bytes = sizeof volume;
    volume.mounts = 1;
    volume.set_property = set_property;
    volume.get_property = get_property;
    volume.remove_property = remove_property;
    volume.link = link;
    volume.unlink = unlink;
    return volume;
}

assay_driver driver()
{
    static const assay_volume VOLUME = volume();
    assay_driver driver = assay::driver_of(
        "skvdb", "SKVDB", SKVDB_VERSION,
        "tree of entries with typed properties, in memory until closed (C++)");
    driver.key_kinds = ASSAY_KEY_HASH;
    driver.ramdisk_levels = ASSAY_LEVEL_NONE;
    driver.disk_levels = ASSAY_LEVEL_NONE;
    driver.transactions = ASSAY_NO_TRANSACTIONS;
    driver.insert_replaces = 1;
    driver.concurrency = ASSAY_CONCURRENT;
    assay::set_functions(driver, create, close, settings, connect, disconnect, insert, query);
    driver.update = update;
    driver.remove = remove;
    driver.upsert = insert;
    driver.volume = &VOLUME;
    return driver;
}

} // namespace

ASSAY_EXPORT(driver)
