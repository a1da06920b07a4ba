/* nudb: NuDB as an engine of Assay.
 *
 *   make NUDB=/path/to/NuDB && assay verify -e nudb --plugin ./libnudb.so
 *
 * A record's key is NuDB's key, and its payload the value, up to the end of what is used of it.
 * NuDB inserts and fetches; it neither changes nor deletes. Inserts are kept in memory. A thread
 * of NuDB's own commits them once a second, with fsync: that is level periodic. A killed process
 * loses what was not committed yet. Block size and load factor are those of NuDB's own bench
 * unless the user says otherwise.
 */
#include <assay_driver.hpp>

#include <nudb/nudb.hpp>
#include <nudb/version.hpp>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>

namespace {

using nudb::error_code;

constexpr std::uint64_t APPLICATION = 1;
constexpr unsigned long BLOCK_SIZE = 4096;
constexpr float LOAD_FACTOR = 0.5f;

/* What NuDB has room for in the header of its files. */
constexpr std::uint32_t MOST_KEY_BYTES = 65535;

void check(const error_code &error)
{
    if (error)
        throw std::runtime_error(error.message());
}

unsigned long block_size(const assay_open_options &options)
{
    const char *text = assay::parameter(options, "block_size");
    if (text == nullptr)
        return BLOCK_SIZE;
    char *end;
    const unsigned long size = std::strtoul(text, &end, 10);
    if (end == text || *end != 0 || size == 0 || size > 65535)
        throw std::runtime_error(std::string("block_size ") + text
                                 + ": give a number of bytes, 1 to 65535");
    return size;
}

float load_factor(const assay_open_options &options)
{
    const char *text = assay::parameter(options, "load_factor");
    if (text == nullptr)
        return LOAD_FACTOR;
    char *end;
    const float share = std::strtof(text, &end);
    if (end == text || *end != 0 || !(share > 0.0f && share < 1.0f))
        throw std::runtime_error(std::string("load_factor ") + text
                                 + ": give a number between 0 and 1");
    return share;
}

} // namespace

struct assay_store {
    const assay_schema &schema;
    std::string settings;
    nudb::store db;
};

namespace {

/* NuDB's functions can be called by all threads at once, so every handle is the store. */
assay_store &store_of(assay_handle *handle)
{
    return *reinterpret_cast<assay_store *>(handle);
}

int create(const assay_open_options *options, assay_store **made, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        const assay_schema &schema = *options->schema;
        if (schema.key_size > MOST_KEY_BYTES)
            return assay::unsupported(error, "keys of more than 65535 bytes");
        const std::string files = std::string(options->dir) + "/nudb";
        const std::string data = files + ".dat", keys = files + ".key", log = files + ".log";
        error_code failed;
        if (options->create) {
            nudb::create<nudb::xxhasher>(data, keys, log, APPLICATION, nudb::make_salt(),
                                         schema.key_size, block_size(*options),
                                         load_factor(*options), failed);
            check(failed);
        }
        std::unique_ptr<assay_store> store(new assay_store{schema, {}, {}});
        store->db.open(data, keys, log, failed);
        check(failed);
        if (store->db.key_size() != schema.key_size)
            throw std::runtime_error("the store here has keys of "
                                     + std::to_string(store->db.key_size()) + " bytes");
        store->settings = "block_size " + std::to_string(store->db.block_size());
        if (options->create)
            store->settings += "\nload_factor " + std::to_string(load_factor(*options));
        store->settings += "\ncommits with fsync once a second";
        *made = store.release();
        return ASSAY_DONE;
    });
}

int close(assay_store *store, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        const std::unique_ptr<assay_store> owned(store);
        error_code failed;
        owned->db.close(failed);
        check(failed);
        return ASSAY_DONE;
    });
}

const char *settings(assay_store *store)
{
    return store->settings.c_str();
}

int connect(assay_store *store, assay_handle **handle, assay_error *)
{
    *handle = reinterpret_cast<assay_handle *>(store);
    return ASSAY_DONE;
}

void disconnect(assay_handle *)
{
}

int insert(assay_handle *handle, const void *record, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = store_of(handle);
        const unsigned char *payload =
            static_cast<const unsigned char *>(record) + store.schema.key_size;
        error_code failed;
        store.db.insert(record, payload, assay::used_bytes(store.schema, payload), failed);
        if (failed == nudb::error::key_exists)
            return ASSAY_DUPLICATE;
        check(failed);
        return ASSAY_DONE;
    });
}

int query(assay_handle *handle, const void *key, void *payload, assay_error *error)
{
    return assay::kept_inside(error, [&] {
        assay_store &store = store_of(handle);
        const std::size_t most = store.schema.payload_size;
        error_code failed;
        store.db.fetch(
            key,
            [&](const void *value, std::size_t size) {
                std::memcpy(payload, value, size < most ? size : most);
            },
            failed);
        if (failed == nudb::error::key_not_found)
            return ASSAY_MISSING;
        check(failed);
        return ASSAY_DONE;
    });
}

const char *const PARAMETERS[] = {"block_size", "load_factor", nullptr};

assay_driver driver()
{
    assay_driver driver = assay::driver_of(
        "nudb", "NuDB", NUDB_VERSION_STRING,
        "append-only hash table on disk (C++ headers); inserts and fetches only");
    driver.key_kinds = ASSAY_KEY_HASH;
    driver.ramdisk_levels = ASSAY_LEVEL_PERIODIC;
    driver.disk_levels = ASSAY_LEVEL_PERIODIC;
    driver.transactions = ASSAY_NO_TRANSACTIONS;
    driver.concurrency = ASSAY_CONCURRENT;
    driver.periodic_interval_ms = 1000;
    driver.parameters = PARAMETERS;
    assay::set_functions(driver, create, close, settings, connect, disconnect, insert, query);
    return driver;
}

} // namespace

ASSAY_EXPORT(driver)
