/* As much of NuDB's names as the plugin nudb uses, over a map in memory. It stands in for NuDB in
 * tests of the plugin, and of how the plugin is built. */
#ifndef NUDB_DOUBLE_HPP
#define NUDB_DOUBLE_HPP

#include <cstdint>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <system_error>

namespace nudb {

using error_code = std::error_code;
enum class error { key_exists = 1, key_not_found };

struct category : std::error_category {
    const char *name() const noexcept override { return "nudb"; }
    std::string message(int) const override { return "a failure of the double"; }
};

inline error_code make_error_code(error value)
{
    static const category CATEGORY;
    return {static_cast<int>(value), CATEGORY};
}

} // namespace nudb

template <>
struct std::is_error_code_enum<nudb::error> : std::true_type {
};

namespace nudb {

struct xxhasher {
};

struct content {
    std::size_t key_size = 0, block_size = 0;
    std::map<std::string, std::string> values;
    /* As NuDB's functions, those below may be called by several threads at once. */
    std::mutex one_at_a_time;
};

/* What each data file holds, as long as the process lives. */
inline std::map<std::string, content> &disk()
{
    static std::map<std::string, content> DISK;
    return DISK;
}

inline std::uint64_t make_salt()
{
    return 1;
}

template <class Hasher>
void create(const std::string &data, const std::string &, const std::string &, std::uint64_t,
            std::uint64_t, std::size_t key_size, std::size_t block_size, float, error_code &)
{
    content &made = disk()[data];
    made.key_size = key_size;
    made.block_size = block_size;
    made.values.clear();
    std::ofstream(data) << "a double of NuDB's data file";
}

class store {
    content *held = nullptr;

public:
    void open(const std::string &data, const std::string &, const std::string &, error_code &)
    {
        held = &disk()[data];
    }

    void close(error_code &) {}
    std::size_t key_size() const { return held->key_size; }
    std::size_t block_size() const { return held->block_size; }

    void insert(const void *key, const void *value, std::size_t size, error_code &failed)
    {
        const std::string name(static_cast<const char *>(key), held->key_size);
        const std::lock_guard<std::mutex> turn(held->one_at_a_time);
        if (!held->values.emplace(name, std::string(static_cast<const char *>(value), size)).second)
            failed = error::key_exists;
    }

    template <class Found>
    void fetch(const void *key, Found found, error_code &failed)
    {
        const std::lock_guard<std::mutex> turn(held->one_at_a_time);
        const auto at = held->values.find({static_cast<const char *>(key), held->key_size});
        if (at == held->values.end())
            failed = error::key_not_found;
        else
            found(at->second.data(), at->second.size());
    }
};

} // namespace nudb

#endif
