/* CrossBench's driver for Lode: its eight functions, and a small run of them.
 *
 * A route has the key prefix and mask. The table is hashed, and records are packed structures: what
 * the program has in memory is what Lode stores. `crossbench DIRECTORY [ROUTES]` works in a new
 * database in that directory.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lode.h"

/* A route, as CrossBench has it: packed, it is a record of the table. */
#pragma pack(push, 1)
typedef struct {
    uint32_t prefix;
    uint8_t mask;
    uint8_t protocol;
    uint8_t priority;
    uint8_t flags;
    uint32_t next_hop;
    uint32_t interface;
    uint32_t birth;
} route_t;
#pragma pack(pop)

/* The bytes of the key, which come first. */
enum { KEY_BYTES = 5 };

static const lode_column COLUMNS[] = {
    LODE_COLUMN("prefix", LODE_TYPE_U32, 0, LODE_KEY),
    LODE_COLUMN("mask", LODE_TYPE_U8, 0, LODE_KEY),
    LODE_COLUMN("protocol", LODE_TYPE_U8, 0, 0),
    LODE_COLUMN("priority", LODE_TYPE_U8, 0, 0),
    LODE_COLUMN("flags", LODE_TYPE_U8, 0, 0),
    LODE_COLUMN("next_hop", LODE_TYPE_U32, 0, 0),
    LODE_COLUMN("interface", LODE_TYPE_U32, 0, 0),
    LODE_COLUMN("birth", LODE_TYPE_U32, 0, 0),
};

/* The place of the column that updates set. */
enum { BIRTH = 7 };

static lode_database db;
static lode_table routes;
/* The transaction that is open, or LODE_ALONE. */
static lode_transaction transaction;

/* Ends the program if a call failed; its message says why. */
static lode_status expect(lode_status status)
{
    if (status >= LODE_BAD_HANDLE) {
        fprintf(stderr, "crossbench: %s\n", lode_error_message());
        exit(1);
    }
    return status;
}

static void lode_bench_create(const char *directory)
{
    lode_options options = { 0 };
    options.durability = LODE_DURABILITY_PROCESS;
    options.mode = LODE_CREATE_NEW;
    expect(lode_open(LODE_STR(directory), &options, sizeof options, &db));
    expect(lode_create_table(db, LODE_STR("route"), COLUMNS, sizeof COLUMNS / sizeof *COLUMNS,
                             LODE_HASHED, &routes));
}

static void lode_bench_close(void)
{
    expect(lode_free_table(routes));
    expect(lode_close(db));
}

static void lode_bench_begin(void)
{
    expect(lode_begin(db, &transaction));
}

static void lode_bench_commit(void)
{
    expect(lode_commit(transaction));
    transaction = LODE_ALONE;
}

static void lode_bench_insert(const route_t *route)
{
    expect(lode_insert_packed(routes, transaction, route, sizeof *route));
}

static bool lode_bench_query(route_t *route)
{
    char *payload = (char *)route + KEY_BYTES;
    char key[KEY_BYTES];
    size_t size;
    memcpy(key, route, KEY_BYTES);
    return expect(lode_get_packed(routes, LODE_NOW, key, KEY_BYTES, payload,
                                  sizeof *route - KEY_BYTES, &size)) == LODE_OK;
}

static void lode_bench_update(const route_t *route)
{
    uint32_t birth = route->birth;
    expect(lode_update_packed(routes, transaction, route, KEY_BYTES, BIRTH, &birth, sizeof birth));
}

static void lode_bench_delete(const route_t *route)
{
    expect(lode_delete_packed(routes, transaction, route, KEY_BYTES));
}

/* Returns the route of a number. */
static route_t route_of(uint32_t number)
{
    route_t route = { 0 };
    route.prefix = number * 2654435761u;
    route.mask = 24;
    route.next_hop = number;
    route.interface = number % 16;
    return route;
}

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Does something with each route, and prints how many it did in a second. */
static void phase(const char *name, uint32_t count, void (*work)(const route_t *))
{
    double start_s = now_s();
    for (uint32_t number = 0; number < count; number++) {
        route_t route = route_of(number);
        work(&route);
    }
    printf("%-7s %10.0f/s\n", name, count / (now_s() - start_s));
}

static void query(const route_t *route)
{
    route_t found;
    memset(&found, 0, sizeof found);
    found.prefix = route->prefix;
    found.mask = route->mask;
    if (!lode_bench_query(&found) || found.next_hop != route->next_hop) {
        fprintf(stderr, "crossbench: route %" PRIu32 " is not as inserted\n", route->next_hop);
        exit(1);
    }
}

static void update(const route_t *route)
{
    route_t changed = *route;
    changed.birth = 1;
    lode_bench_update(&changed);
}

int main(int count, char **arguments)
{
    if (count < 2 || count > 3) {
        fprintf(stderr, "usage: crossbench DIRECTORY [ROUTES]\n");
        return 2;
    }
    uint32_t number = count == 3 ? (uint32_t)strtoul(arguments[2], NULL, 10) : 10000;
    lode_bench_create(arguments[1]);
    phase("insert", number, lode_bench_insert);
    phase("query", number, query);
    phase("update", number, update);
    lode_bench_begin();
    phase("delete", number, lode_bench_delete);
    lode_bench_commit();
    lode_bench_close();
    return 0;
}
