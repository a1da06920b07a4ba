// What a C++ programmer would write to time std::map and std::unordered_map: one loop over an
// array of prepared keys, the clock around it, the container inlined into it, no lock.
//
// The operations are CrossBench's on a route of 40 bytes: insert the record, copy the record
// out, set one column, erase.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <unordered_map>

namespace {

struct hash {
    size_t operator()(uint64_t key) const noexcept {
        return static_cast<uint32_t>(key) ^ (key >> 32);
    }
};

struct payload {
    uint64_t word[4];
};

struct route {
    uint64_t key;
    payload rest;
};

using clock_type = std::chrono::steady_clock;

uint64_t since(clock_type::time_point start) {
    const auto took = clock_type::now() - start;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(took).count();
}

// Makes the compiler believe that the value is used, so that it must be there.
template <typename T> inline void used(const T &value) {
    asm volatile("" : : "m"(value) : "memory");
}

template <typename Map> struct loops {
    static uint64_t insert(Map &map, const route *routes, size_t count) {
        const auto start = clock_type::now();
        for (size_t at = 0; at < count; at++)
            map.emplace(routes[at].key, routes[at].rest);
        return since(start);
    }

    static uint64_t query(const Map &map, const uint64_t *keys, size_t count) {
        const auto start = clock_type::now();
        for (size_t at = 0; at < count; at++) {
            const auto found = map.find(keys[at]);
            if (found != map.end()) {
                payload copy = found->second;
                used(copy);
            }
        }
        return since(start);
    }

    static uint64_t update(Map &map, const uint64_t *keys, const uint32_t *births, size_t count) {
        const auto start = clock_type::now();
        for (size_t at = 0; at < count; at++) {
            const auto found = map.find(keys[at]);
            if (found != map.end()) {
                reinterpret_cast<uint32_t *>(&found->second)[6] = births[at];
                used(found->second);
            }
        }
        return since(start);
    }

    static uint64_t remove(Map &map, const uint64_t *keys, size_t count) {
        const auto start = clock_type::now();
        for (size_t at = 0; at < count; at++)
            map.erase(keys[at]);
        return since(start);
    }
};

using tree = std::map<uint64_t, payload>;
using hashed = std::unordered_map<uint64_t, payload, hash>;

template <typename Map>
void run(const route *routes, size_t rows, const uint64_t *const *queries,
         const uint64_t *const *updates, const uint32_t *births, size_t count, size_t rounds,
         const uint64_t *deletes, uint64_t *times_ns) {
    Map map;
    *times_ns++ = loops<Map>::insert(map, routes, rows);
    for (size_t round = 0; round < rounds; round++)
        *times_ns++ = loops<Map>::query(map, queries[round], count);
    for (size_t round = 0; round < rounds; round++)
        *times_ns++ = loops<Map>::update(map, updates[round], births, count);
    *times_ns++ = loops<Map>::remove(map, deletes, rows);
}

} // namespace

// Fills `times_ns` with 2 + 2 * rounds times: insert, queries, updates, delete.
extern "C" void plain_loops(uint32_t hash_map, const route *routes, size_t rows,
                            const uint64_t *const *queries, const uint64_t *const *updates,
                            const uint32_t *births, size_t count, size_t rounds,
                            const uint64_t *deletes, uint64_t *times_ns) {
    if (hash_map)
        run<hashed>(routes, rows, queries, updates, births, count, rounds, deletes, times_ns);
    else
        run<tree>(routes, rows, queries, updates, births, count, rounds, deletes, times_ns);
}
