/* Cities in a database in the folder `places`: a transaction, a range, a failure with its message. */
#include <stdio.h>
#include "lode.h"

/* Prints what went wrong, and where. */
static int failed(const char *what)
{
    fprintf(stderr, "cities: %s: %s\n", what, lode_error_message());
    return 1;
}

int main(void)
{
    const lode_column columns[] = {
        LODE_COLUMN("country", LODE_TYPE_TEXT, 2, LODE_KEY),
        LODE_COLUMN("name", LODE_TYPE_VAR_TEXT, 80, LODE_KEY),
        LODE_COLUMN("people", LODE_TYPE_U64, 0, 0),
    };
    lode_database db;
    lode_table cities;
    if (lode_open(LODE_STR("places"), NULL, 0, &db) != LODE_OK)
        return failed("open");
    lode_status opened = lode_open_table(db, LODE_STR("city"), &cities);
    if (opened == LODE_NO_TABLE)
        opened = lode_create_table(db, LODE_STR("city"), columns, 3, LODE_ORDERED, &cities);
    if (opened != LODE_OK)
        return failed("table");

    /* Both, or none. */
    lode_value bern[] = { lode_text("CH"), lode_text("Bern"), lode_u64(134591) };
    lode_value graz[] = { lode_text("AT"), lode_text("Graz"), lode_u64(298479) };
    lode_transaction both;
    if (lode_begin(db, &both) != LODE_OK || lode_upsert(cities, both, bern, 3, NULL) != LODE_OK ||
        lode_upsert(cities, both, graz, 3, NULL) != LODE_OK || lode_commit(both) != LODE_OK)
        return failed("write");

    /* All of Switzerland. */
    lode_range swiss = { 0 };
    swiss.lower = swiss.upper = bern;
    swiss.lower_count = swiss.upper_count = 1;
    swiss.lower_bound = swiss.upper_bound = LODE_INCLUDED;
    lode_cursor rows;
    lode_value row[3];
    if (lode_open_cursor(cities, LODE_NOW, &swiss, sizeof swiss, &rows) != LODE_OK)
        return failed("cursor");
    while (lode_next(rows, row, 3) == LODE_OK)
        printf("%.*s: %llu\n", (int)row[1].data.bytes.size, (const char *)row[1].data.bytes.data,
               (unsigned long long)row[2].data.u);

    /* Too long a country. */
    lode_value wrong[] = { lode_text("Switzerland"), lode_text("Thun"), lode_u64(43743) };
    if (lode_insert(cities, LODE_ALONE, wrong, 3) >= LODE_BAD_HANDLE)
        failed("insert");
    lode_free_cursor(rows);
    lode_free_table(cities);
    return lode_close(db) == LODE_OK ? 0 : failed("close");
}
