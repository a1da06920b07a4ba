// std::map and std::unordered_map behind plain functions: one table of functions for each
// container and size of payload. Keys are one word (the fast path) or a string of bytes.
//
// Nothing throws across the boundary: every function of a table is noexcept, so running out of
// memory ends the process, which the parent reports as a failed cell.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>
#include <utility>

namespace {

enum outcome : uint8_t { MISSING = 0, DONE = 1, DUPLICATE = 2 };

// The published hash of a route is prefix ^ mask: the two halves of its key word. libstdc++
// hashes integers to themselves, so this is what its users get.
struct identity_hash {
    size_t operator()(uint64_t key) const noexcept {
        return static_cast<uint32_t>(key) ^ (key >> 32);
    }
};

// The finalizer of MurmurHash3, for those who want to know what a mixing hash costs.
struct mixing_hash {
    size_t operator()(uint64_t key) const noexcept {
        key ^= key >> 33;
        key *= 0xff51afd7ed558ccdULL;
        key ^= key >> 33;
        key *= 0xc4ceb9fe1a85ec53ULL;
        key ^= key >> 33;
        return key;
    }
};

template <size_t WORDS> struct payload {
    uint64_t word[WORDS];
};

// Lookups by a view of the caller's bytes, so that they need no string of their own.
struct bytes_hash {
    using is_transparent = void;
    size_t operator()(std::string_view key) const noexcept {
        return std::hash<std::string_view>{}(key);
    }
};

using bytes_tree = std::map<std::string, std::string, std::less<>>;
using bytes_hashed = std::unordered_map<std::string, std::string, bytes_hash, std::equal_to<>>;

// A column of one, two, four or eight bytes is one store; the rest is a copy.
inline void set_bytes(char *to, const char *from, size_t size) {
    switch (size) {
    case 1: std::memcpy(to, from, 1); break;
    case 2: std::memcpy(to, from, 2); break;
    case 4: std::memcpy(to, from, 4); break;
    case 8: std::memcpy(to, from, 8); break;
    default: std::memcpy(to, from, size);
    }
}

// How a raw key word becomes one in the order of the typed key: the first column above the
// second, with the sign bits flipped. The Rust side has the same struct.
struct word_key {
    struct {
        uint64_t mask;
        uint32_t offset_bits;
        uint32_t width_bits;
    } first, second;
    uint64_t sign;

    uint64_t ordered(uint64_t raw) const {
        const uint64_t above = (raw >> first.offset_bits) & first.mask;
        const uint64_t below = (raw >> second.offset_bits) & second.mask;
        return (above << second.width_bits | below) ^ sign;
    }
};

// Tapes need not be aligned.
inline uint64_t raw_word(const char *keys, size_t at) {
    uint64_t raw;
    std::memcpy(&raw, keys + at * sizeof raw, sizeof raw);
    return raw;
}

using row_visitor = bool (*)(void *context, const void *key, size_t key_size,
                             const void *payload, size_t payload_size);

template <typename Map> struct word_functions {
    using value = typename Map::mapped_type;

    static constexpr bool ordered = std::is_same_v<Map, std::map<uint64_t, value>>;

    // The word under which the key at a place of a tape is kept.
    static uint64_t word(const word_key &order, const char *keys, size_t at) {
        const uint64_t raw = raw_word(keys, at);
        return ordered ? order.ordered(raw) : raw;
    }

    static void *create() noexcept { return new Map; }
    static void destroy(void *map) noexcept { delete static_cast<Map *>(map); }

    static outcome insert(void *map, uint64_t key, const void *bytes) noexcept {
        value copy;
        std::memcpy(&copy, bytes, sizeof copy);
        return static_cast<Map *>(map)->emplace(key, copy).second ? DONE : DUPLICATE;
    }

    static void upsert(void *map, uint64_t key, const void *bytes) noexcept {
        value copy;
        std::memcpy(&copy, bytes, sizeof copy);
        static_cast<Map *>(map)->insert_or_assign(key, copy);
    }

    static outcome get(void *map, uint64_t key, void *bytes) noexcept {
        const auto *container = static_cast<Map *>(map);
        const auto found = container->find(key);
        if (found == container->end())
            return MISSING;
        std::memcpy(bytes, &found->second, sizeof found->second);
        return DONE;
    }

    static outcome update(void *map, uint64_t key, size_t offset, const void *bytes,
                          size_t size) noexcept {
        auto *container = static_cast<Map *>(map);
        const auto found = container->find(key);
        if (found == container->end())
            return MISSING;
        set_bytes(reinterpret_cast<char *>(&found->second) + offset,
                  static_cast<const char *>(bytes), size);
        return DONE;
    }

    static outcome remove(void *map, uint64_t key) noexcept {
        return static_cast<Map *>(map)->erase(key) ? DONE : MISSING;
    }

    // The tapes: single operations one after another, as a plain loop does them. They return
    // how many were done.

    static size_t inserts(void *map, const word_key *order, const char *records,
                          size_t count) noexcept {
        auto *container = static_cast<Map *>(map);
        const word_key own_order = *order;
        size_t done = 0;
        for (size_t at = 0; at < count; at++) {
            value copy;
            std::memcpy(&copy, records + sizeof(uint64_t), sizeof copy);
            done += container->emplace(word(own_order, records, 0), copy).second;
            records += sizeof(uint64_t) + sizeof copy;
        }
        return done;
    }

    static size_t gets(void *map, const word_key *order, const char *keys,
                       size_t count, char *payloads) noexcept {
        const auto *container = static_cast<Map *>(map);
        const word_key own_order = *order;
        size_t done = 0;
        for (size_t at = 0; at < count; at++) {
            const auto found = container->find(word(own_order, keys, at));
            if (found == container->end())
                continue;
            std::memcpy(payloads + at * sizeof(value), &found->second, sizeof(value));
            done++;
        }
        return done;
    }

    static size_t updates(void *map, const word_key *order, const char *keys, size_t count,
                          size_t offset, const char *values, size_t size) noexcept {
        auto *container = static_cast<Map *>(map);
        const word_key own_order = *order;
        size_t done = 0;
        for (size_t at = 0; at < count; at++) {
            const auto found = container->find(word(own_order, keys, at));
            if (found == container->end())
                continue;
            set_bytes(reinterpret_cast<char *>(&found->second) + offset, values + at * size, size);
            done++;
        }
        return done;
    }

    static size_t removes(void *map, const word_key *order, const char *keys,
                          size_t count) noexcept {
        auto *container = static_cast<Map *>(map);
        const word_key own_order = *order;
        size_t done = 0;
        for (size_t at = 0; at < count; at++)
            done += container->erase(word(own_order, keys, at));
        return done;
    }

    static void scan(void *map, uint64_t from, void *context, row_visitor visit) noexcept {
        if constexpr (ordered) {
            auto *container = static_cast<Map *>(map);
            for (auto at = container->lower_bound(from); at != container->end(); ++at)
                if (!visit(context, &at->first, sizeof at->first, &at->second,
                           sizeof at->second))
                    return;
        }
    }
};

template <typename Map> struct bytes_functions {
    static void *create() noexcept { return new Map; }
    static void destroy(void *map) noexcept { delete static_cast<Map *>(map); }

    static outcome insert(void *map, const char *key, size_t key_size, const char *bytes,
                          size_t size) noexcept {
        return static_cast<Map *>(map)
                       ->emplace(std::string(key, key_size), std::string(bytes, size))
                       .second
                   ? DONE
                   : DUPLICATE;
    }

    static void upsert(void *map, const char *key, size_t key_size, const char *bytes,
                       size_t size) noexcept {
        static_cast<Map *>(map)->insert_or_assign(std::string(key, key_size),
                                                  std::string(bytes, size));
    }

    static outcome get(void *map, const char *key, size_t key_size, char *bytes) noexcept {
        const auto *container = static_cast<Map *>(map);
        const auto found = container->find(std::string_view(key, key_size));
        if (found == container->end())
            return MISSING;
        std::memcpy(bytes, found->second.data(), found->second.size());
        return DONE;
    }

    // A value that can vary in length is the last: the payload then ends with it.
    static outcome update(void *map, const char *key, size_t key_size, size_t offset,
                          const char *bytes, size_t size, bool last) noexcept {
        auto *container = static_cast<Map *>(map);
        const auto found = container->find(std::string_view(key, key_size));
        if (found == container->end())
            return MISSING;
        if (last)
            found->second.resize(offset + size);
        set_bytes(found->second.data() + offset, bytes, size);
        return DONE;
    }

    static outcome remove(void *map, const char *key, size_t key_size) noexcept {
        auto *container = static_cast<Map *>(map);
        const auto found = container->find(std::string_view(key, key_size));
        if (found == container->end())
            return MISSING;
        container->erase(found);
        return DONE;
    }

    static void scan(void *map, const char *from, size_t from_size, void *context,
                     row_visitor visit) noexcept {
        if constexpr (std::is_same_v<Map, bytes_tree>) {
            auto *container = static_cast<Map *>(map);
            for (auto at = container->lower_bound(std::string_view(from, from_size));
                 at != container->end(); ++at)
                if (!visit(context, at->first.data(), at->first.size(), at->second.data(),
                           at->second.size()))
                    return;
        }
    }
};

struct word_table {
    void *(*create)();
    void (*destroy)(void *);
    outcome (*insert)(void *, uint64_t, const void *);
    void (*upsert)(void *, uint64_t, const void *);
    outcome (*get)(void *, uint64_t, void *);
    outcome (*update)(void *, uint64_t, size_t, const void *, size_t);
    outcome (*remove)(void *, uint64_t);
    size_t (*inserts)(void *, const word_key *, const char *, size_t);
    size_t (*gets)(void *, const word_key *, const char *, size_t, char *);
    size_t (*updates)(void *, const word_key *, const char *, size_t, size_t,
                      const char *, size_t);
    size_t (*removes)(void *, const word_key *, const char *, size_t);
    void (*scan)(void *, uint64_t, void *, row_visitor);
};

struct bytes_table {
    void *(*create)();
    void (*destroy)(void *);
    outcome (*insert)(void *, const char *, size_t, const char *, size_t);
    void (*upsert)(void *, const char *, size_t, const char *, size_t);
    outcome (*get)(void *, const char *, size_t, char *);
    outcome (*update)(void *, const char *, size_t, size_t, const char *, size_t, bool);
    outcome (*remove)(void *, const char *, size_t);
    void (*scan)(void *, const char *, size_t, void *, row_visitor);
};

template <typename Map> constexpr word_table word_table_of() {
    using f = word_functions<Map>;
    return {f::create,  f::destroy, f::insert, f::upsert,  f::get,     f::update,
            f::remove,  f::inserts, f::gets,   f::updates, f::removes, f::scan};
}

template <typename Map> constexpr bytes_table bytes_table_of() {
    using f = bytes_functions<Map>;
    return {f::create, f::destroy, f::insert, f::upsert,
            f::get,    f::update,  f::remove, f::scan};
}

constexpr size_t LONGEST = 8;

template <template <size_t> class Map, size_t... AT>
const word_table *pick(size_t words, std::index_sequence<AT...>) {
    static constexpr word_table tables[] = {word_table_of<Map<AT + 1>>()...};
    return words >= 1 && words <= LONGEST ? &tables[words - 1] : nullptr;
}

template <size_t W> using tree = std::map<uint64_t, payload<W>>;
template <size_t W> using identity = std::unordered_map<uint64_t, payload<W>, identity_hash>;
template <size_t W> using mixing = std::unordered_map<uint64_t, payload<W>, mixing_hash>;

} // namespace

// kind: 0 std::map, 1 std::unordered_map with the published hash, 2 with a mixing hash.
// Null when there is no container for payloads of this number of words.
extern "C" const word_table *assay_stl_words(uint32_t kind, size_t words) {
    constexpr auto all = std::make_index_sequence<LONGEST>();
    switch (kind) {
    case 0: return pick<tree>(words, all);
    case 1: return pick<identity>(words, all);
    default: return pick<mixing>(words, all);
    }
}

extern "C" const bytes_table *assay_stl_bytes(uint32_t kind) {
    static constexpr bytes_table ordered = bytes_table_of<bytes_tree>();
    static constexpr bytes_table hashed = bytes_table_of<bytes_hashed>();
    return kind == 0 ? &ordered : &hashed;
}

extern "C" const char *assay_stl_version() {
#define STRING_OF(x) #x
#define VALUE_OF(x) STRING_OF(x)
#if defined(_LIBCPP_VERSION)
    return "libc++ " VALUE_OF(_LIBCPP_VERSION);
#else
    return "libstdc++ " VALUE_OF(_GLIBCXX_RELEASE) " (" VALUE_OF(__GLIBCXX__) ")";
#endif
}
