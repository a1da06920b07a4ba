/* As much of NuDB's names as the plugin nudb uses, over a map in memory, which a store that is
 * closed leaves in its data file. It stands in for NuDB in tests of the plugin, and of how the
 * plugin is built. */
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

inline void write_bytes(std::ofstream &file, const std::string &bytes)
{
    file << bytes.size() << ' ' << bytes << '\n';
}

inline std::string read_bytes(std::ifstream &file)
{
    std::size_t size = 0;
    file >> size;
    file.get();
    std::string bytes(size, '\0');
    file.read(&bytes[0], static_cast<std::streamsize>(size));
    return bytes;
}

inline void save(const std::string &data, const content &held)
{
    std::ofstream file(data, std::ios::binary);
    file << held.key_size << ' ' << held.block_size << ' ' << held.values.size() << '\n';
    for (const auto &value : held.values) {
        write_bytes(file, value.first);
        write_bytes(file, value.second);
    }
}

inline void load(const std::string &data, content &held)
{
    std::ifstream file(data, std::ios::binary);
    std::size_t count = 0;
    file >> held.key_size >> held.block_size >> count;
    for (std::size_t at = 0; at < count; ++at) {
        const std::string key = read_bytes(file);
        held.values[key] = read_bytes(file);
    }
}

inline std::uint64_t make_salt()
{
    return 1;
}

template <class Hasher>
void create(const std::string &data, const std::string &, const std::string &, std::uint64_t,
            std::uint64_t, std::size_t key_size, std::size_t block_size, float, error_code &)
{
    content made;
    made.key_size = key_size;
    made.block_size = block_size;
    save(data, made);
}

class store {
    std::string file;
    content held;

public:
    void open(const std::string &data, const std::string &, const std::string &, error_code &)
    {
        file = data;
        load(file, held);
    }

    void close(error_code &) { save(file, held); }
    std::size_t key_size() const { return held.key_size; }
    std::size_t block_size() const { return held.block_size; }

    void insert(const void *key, const void *value, std::size_t size, error_code &failed)
    {
        const std::string name(static_cast<const char *>(key), held.key_size);
        const std::lock_guard<std::mutex> turn(held.one_at_a_time);
        if (!held.values.emplace(name, std::string(static_cast<const char *>(value), size)).second)
            failed = error::key_exists;
    }

    template <class Found>
    void fetch(const void *key, Found found, error_code &failed)
    {
        const std::lock_guard<std::mutex> turn(held.one_at_a_time);
        const auto at = held.values.find({static_cast<const char *>(key), held.key_size});
        if (at == held.values.end())
            failed = error::key_not_found;
        else
            found(at->second.data(), at->second.size());
    }
};

} // namespace nudb

#endif
