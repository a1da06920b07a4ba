/* slowed: the example plugin "hashtable" under another name, slower by a known share.
 *
 * After each operation it adds the share of the time since the last one to a debt, and waits once
 * the debt is worth a wait. So the loop around the operation is slowed too, and an operation takes
 * SLOWED_PERCENT more time as the instrument sees it. It looks at the clock at 0 % as well.
 *
 * SLOWED_ID is the engine's name.
 */
#define _POSIX_C_SOURCE 200809L
#define assay_plugin hashtable_plugin
#include "hashtable.c"
#undef assay_plugin

#include <time.h>

/* Far longer than it takes to read the clock. */
#define WAIT_LEAST_NS 2000
/* Between batches, operations are prepared: that is not on the clock. */
#define PAUSE_LEAST_NS 5000

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int slow_down(int result)
{
    static int64_t last_ns, debt_percent_ns;
    int64_t now = now_ns();
    int64_t elapsed = now - last_ns;
    if (elapsed < PAUSE_LEAST_NS)
        debt_percent_ns += elapsed * SLOWED_PERCENT;
    if (debt_percent_ns >= WAIT_LEAST_NS * 100) {
        int64_t until = now + debt_percent_ns / 100;
        while (now < until)
            now = now_ns();
        debt_percent_ns = (until - now) * 100; /* what was waited too long is paid in advance */
    }
    last_ns = now;
    return result;
}

static int slowed_insert(assay_handle *handle, const void *record, assay_error *error)
{
    return slow_down(hashtable_insert(handle, record, error));
}

static int slowed_query(assay_handle *handle, const void *key, void *payload, assay_error *error)
{
    return slow_down(hashtable_query(handle, key, payload, error));
}

static int slowed_update(assay_handle *handle, const void *key, uint32_t column,
                         const void *value, assay_error *error)
{
    return slow_down(hashtable_update(handle, key, column, value, error));
}

static int slowed_delete(assay_handle *handle, const void *key, assay_error *error)
{
    return slow_down(hashtable_delete(handle, key, error));
}

const assay_driver *assay_plugin(void)
{
    static assay_driver driver;
    driver = *hashtable_plugin();
    driver.id = SLOWED_ID;
    driver.name = SLOWED_ID;
    driver.insert = slowed_insert;
    driver.query = slowed_query;
    driver.update = slowed_update;
    driver.remove = slowed_delete;
    return &driver;
}
