/* Everything that the header declares, once at least: argv[1] is an empty directory. */
#include "check.h"

static const lode_column CITY[] = {
    LODE_COLUMN("country", LODE_TYPE_TEXT, 2, LODE_KEY),
    LODE_COLUMN("name", LODE_TYPE_VAR_TEXT, 80, LODE_KEY),
    LODE_COLUMN("people", LODE_TYPE_U64, 0, 0),
    LODE_COLUMN("mayor", LODE_TYPE_VAR_TEXT, 80, LODE_NULLABLE),
    LODE_DECIMAL_COLUMN("tax", 5, 2, 0),
};
enum { CITY_COLUMNS = sizeof CITY / sizeof *CITY };

static lode_status put(lode_table table, lode_transaction in, const char *country, const char *name,
                       int64_t people)
{
    lode_value values[CITY_COLUMNS] = { lode_text(country), lode_text(name), lode_i64(people),
                                        lode_null(), lode_decimal(154, 2) };
    return lode_insert(table, in, values, CITY_COLUMNS);
}

/* Looks up how many people a city has; -1 if there is no such city. */
static int64_t people(lode_table table, lode_view view, const char *country, const char *name)
{
    lode_value key[] = { lode_text(country), lode_text(name) };
    lode_value values[CITY_COLUMNS];
    char record[512];
    size_t size = 9;
    lode_status status =
        lode_get(table, view, key, 2, record, sizeof record, &size, values, CITY_COLUMNS);
    if (status == LODE_NOT_FOUND) {
        CHECK(size == 0);
        return -1;
    }
    DONE(status);
    return (int64_t)values[2].data.u;
}

static void values_of_a_record(lode_table table)
{
    lode_value key[] = { lode_text("CH"), lode_text("Bern") };
    lode_value values[CITY_COLUMNS];
    char record[512];
    size_t size;
    DONE(lode_get(table, LODE_NOW, key, 2, record, sizeof record, &size, values, CITY_COLUMNS));
    CHECK(is_text(values[0], "CH") && is_text(values[1], "Bern"));
    CHECK(values[2].kind == LODE_UNSIGNED && values[2].data.u == 134591);
    CHECK(values[3].kind == LODE_NULL);
    CHECK(values[4].kind == LODE_DECIMAL && values[4].scale == 2);
    CHECK(values[4].data.decimal.low == 154 && values[4].data.decimal.high == 0);
    CHECK((const char *)values[1].data.bytes.data > record);
    CHECK((const char *)values[1].data.bytes.data < record + size);

    lode_value mayor = lode_text("Alec von Graffenried"), tax = lode_decimal(-1, 1);
    DONE(lode_update(table, LODE_ALONE, key, 2, 3, &mayor));
    DONE(lode_update(table, LODE_ALONE, key, 2, 4, &tax));
    DONE(lode_get(table, LODE_NOW, key, 2, record, sizeof record, &size, NULL, 0));
    DONE(lode_unpack(table, record, size, values, CITY_COLUMNS));
    CHECK(is_text(values[3], "Alec von Graffenried"));
    CHECK((int64_t)values[4].data.decimal.low == -10 && values[4].data.decimal.high == -1);

    char packed[512];
    size_t packed_size;
    DONE(lode_pack(table, values, CITY_COLUMNS, packed, sizeof packed, &packed_size));
    CHECK(packed_size == size && memcmp(packed, record, size) == 0);
    memset(packed, 0x5a, sizeof packed);
    EXPECT(LODE_TOO_SMALL, lode_pack(table, values, CITY_COLUMNS, packed, 3, &packed_size));
    CHECK(packed_size == size && packed[3] == 0x5a);
    EXPECT(LODE_TOO_SMALL, lode_get(table, LODE_NOW, key, 2, NULL, 0, &packed_size, NULL, 0));
    CHECK(packed_size == size);

    lode_value sum;
    DONE(lode_increment(table, key, 2, 2, -91, &sum));
    CHECK(sum.kind == LODE_UNSIGNED && sum.data.u == 134500);
    EXPECT(LODE_NO_ROOM_IN_COLUMN, lode_increment(table, key, 2, 2, -134501, NULL));
    key[1] = lode_text("Thun");
    EXPECT(LODE_NOT_FOUND, lode_increment(table, key, 2, 2, 1, NULL));
    EXPECT(LODE_NOT_FOUND, lode_update(table, LODE_ALONE, key, 2, 3, &mayor));
    EXPECT(LODE_NOT_FOUND, lode_delete(table, LODE_ALONE, key, 2));
}

static void cursors(lode_table table)
{
    lode_value swiss[] = { lode_text("CH") };
    size_t columns[] = { 2, 1 };
    lode_range range = { 0 };
    range.lower = range.upper = swiss;
    range.lower_count = range.upper_count = 1;
    range.lower_bound = range.upper_bound = LODE_INCLUDED;
    range.columns = columns;
    range.columns_count = 2;
    range.backward = 1;
    range.limit = 2;
    lode_cursor cursor;
    DONE(lode_open_cursor(table, LODE_NOW, &range, sizeof range, &cursor));
    DONE(put(table, LODE_ALONE, "CH", "Zug", 30542));
    lode_value row[2];
    DONE(lode_next(cursor, row, 2));
    CHECK(is_text(row[1], "Genf") && row[0].data.u == 203856);
    REFUSED(LODE_VALUE_COUNT, "2 values", lode_next(cursor, row, 1));
    DONE(lode_next(cursor, row, 2));
    CHECK(is_text(row[1], "Bern"));
    EXPECT(LODE_END, lode_next(cursor, row, 2));
    EXPECT(LODE_END, lode_next(cursor, row, 2));
    DONE(lode_free_cursor(cursor));

    /* After all of Austria's, up to and without Zug. */
    lode_value at[] = { lode_text("AT") }, zug[] = { lode_text("CH"), lode_text("Zug") };
    lode_range open = { 0 };
    open.lower = at;
    open.lower_count = 1;
    open.lower_bound = LODE_EXCLUDED;
    open.upper = zug;
    open.upper_count = 2;
    open.upper_bound = LODE_EXCLUDED;
    DONE(lode_open_cursor(table, LODE_NOW, &open, sizeof open, &cursor));
    const void *record;
    size_t size, rows = 0;
    lode_value values[CITY_COLUMNS];
    lode_status status;
    while ((status = lode_next_packed(cursor, &record, &size)) == LODE_OK) {
        DONE(lode_unpack(table, record, size, values, CITY_COLUMNS));
        CHECK(is_text(values[0], "CH") && !is_text(values[1], "Zug"));
        rows++;
    }
    EXPECT(LODE_END, status);
    CHECK(rows == 2);
    DONE(lode_free_cursor(cursor));
}

static void transactions(lode_database db, lode_table table)
{
    uint64_t count, before, point, inner;
    DONE(lode_count(table, LODE_NOW, &before));
    lode_transaction in;
    DONE(lode_begin(db, &in));
    DONE(put(table, in, "FR", "Paris", 2133111));
    EXPECT(LODE_EXISTS, put(table, in, "FR", "Paris", 1));
    DONE(lode_make_savepoint(in, &point));
    DONE(put(table, in, "FR", "Nice", 348085));
    DONE(lode_make_savepoint(in, &inner));
    DONE(put(table, in, "FR", "Lyon", 522250));
    DONE(lode_roll_back_to(in, point));
    REFUSED(LODE_BAD_ARGUMENT, "no savepoint", lode_roll_back_to(in, inner));
    DONE(lode_release_savepoint(in, point));
    EXPECT(LODE_BAD_ARGUMENT, lode_release_savepoint(in, point));
    lode_value paris[] = { lode_text("FR"), lode_text("Paris") }, mayor = lode_text("Anne Hidalgo");
    DONE(lode_update(table, in, paris, 2, 3, &mayor));
    CHECK(people(table, LODE_NOW, "FR", "Paris") == -1);
    CHECK(people(table, lode_within(in), "FR", "Paris") == 2133111);
    CHECK(people(table, lode_within(in), "FR", "Nice") == -1);
    DONE(lode_count(table, lode_within(in), &count));
    CHECK(count == before + 1);

    /* A cursor keeps what the transaction had written, after its end too. */
    lode_cursor cursor;
    DONE(lode_open_cursor(table, lode_within(in), NULL, 0, &cursor));
    DONE(lode_roll_back(in));
    lode_value values[CITY_COLUMNS];
    for (count = 0; lode_next(cursor, values, CITY_COLUMNS) == LODE_OK; count++)
        CHECK(!is_text(values[1], "Paris") || is_text(values[3], "Anne Hidalgo"));
    CHECK(count == before + 1);
    DONE(lode_free_cursor(cursor));
    CHECK(people(table, LODE_NOW, "FR", "Paris") == -1);

    /* Another writer is first. */
    DONE(lode_begin(db, &in));
    CHECK(people(table, lode_within(in), "CH", "Bern") > 0);
    DONE(put(table, in, "FR", "Paris", 2133111));
    lode_value bern[] = { lode_text("CH"), lode_text("Bern") };
    DONE(lode_increment(table, bern, 2, 2, 1, NULL));
    REFUSED(LODE_CONFLICT, "run the transaction again", lode_commit(in));
    CHECK(lode_error_effect() == LODE_EFFECT_NONE);
    CHECK(people(table, LODE_NOW, "FR", "Paris") == -1);

    lode_snapshot snapshot;
    DONE(lode_take_snapshot(db, &snapshot));
    DONE(lode_begin(db, &in));
    DONE(put(table, in, "FR", "Paris", 2133111));
    DONE(lode_delete(table, in, bern, 2));
    REFUSED(LODE_BAD_ARGUMENT, "no durability 9", lode_commit_with(in, 9));
    DONE(lode_commit_with(in, LODE_DURABILITY_COMMIT));
    CHECK(people(table, LODE_NOW, "FR", "Paris") == 2133111);
    CHECK(people(table, LODE_NOW, "CH", "Bern") == -1);
    CHECK(people(table, lode_at(snapshot), "FR", "Paris") == -1);
    CHECK(people(table, lode_at(snapshot), "CH", "Bern") > 0);
    DONE(lode_begin_at(db, snapshot, &in));
    CHECK(people(table, lode_within(in), "FR", "Paris") == -1);
    bool replaced = true;
    lode_value values_of_paris[CITY_COLUMNS] = { lode_text("FR"), lode_text("Paris"), lode_u64(1),
                                                 lode_null(), lode_decimal(0, 0) };
    DONE(lode_upsert(table, in, values_of_paris, CITY_COLUMNS, &replaced));
    CHECK(!replaced);
    EXPECT(LODE_CONFLICT, lode_commit(in));
    DONE(lode_free_snapshot(snapshot));
    DONE(lode_upsert(table, LODE_ALONE, values_of_paris, CITY_COLUMNS, &replaced));
    CHECK(replaced);
}

/* Records of fixed length, packed by the program itself. */
struct pair {
    uint32_t number;
    uint32_t square;
};

static void packed_records(lode_database db)
{
    lode_column columns[] = { LODE_COLUMN("number", LODE_TYPE_U32, 0, LODE_KEY),
                              LODE_COLUMN("square", LODE_TYPE_U32, 0, 0) };
    lode_table table;
    DONE(lode_create_table(db, LODE_STR("pair"), columns, 2, LODE_HASHED, &table));
    for (uint32_t number = 0; number < 1000; number++) {
        struct pair pair = { number, number * number };
        DONE(lode_insert_packed(table, LODE_ALONE, &pair, sizeof pair));
    }
    struct pair pair = { 7, 50 };
    EXPECT(LODE_EXISTS, lode_insert_packed(table, LODE_ALONE, &pair, sizeof pair));
    bool replaced;
    DONE(lode_upsert_packed(table, LODE_ALONE, &pair, sizeof pair, &replaced));
    CHECK(replaced);
    uint32_t square;
    size_t size;
    DONE(lode_get_packed(table, LODE_NOW, &pair.number, 4, &square, 4, &size));
    CHECK(size == 4 && square == 50);
    square = 49;
    DONE(lode_update_packed(table, LODE_ALONE, &pair.number, 4, 1, &square, 4));
    char more[9];
    DONE(lode_get_packed(table, LODE_NOW, &pair.number, 4, more, sizeof more, &size));
    CHECK(size == 4 && memcmp(more, &square, 4) == 0);
    memset(more, 0x5a, sizeof more);
    EXPECT(LODE_TOO_SMALL, lode_get_packed(table, LODE_NOW, &pair.number, 4, more, 3, &size));
    CHECK(size == 4 && more[3] == 0x5a);

    uint32_t keys[] = { 3, 5000, 999 }, payloads[3];
    lode_place places[3];
    DONE(lode_get_many_packed(table, LODE_NOW, keys, sizeof keys, payloads, sizeof payloads, &size,
                              places, 3));
    CHECK(size == 8 && places[0].start == 0 && places[0].size == 4 && payloads[0] == 9);
    CHECK(places[1].start == LODE_MISSING && places[1].size == 0);
    CHECK(places[2].start == 4 && payloads[1] == 998001);
    memset(payloads, 0x5a, sizeof payloads);
    EXPECT(LODE_TOO_SMALL, lode_get_many_packed(table, LODE_NOW, keys, sizeof keys, payloads, 7,
                                                &size, places, 3));
    CHECK(size == 8 && payloads[2] == 0x5a5a5a5a && ((char *)payloads)[7] == 0x5a);

    struct pair all[] = { { 999, 1 }, { 1000, 2 }, { 1001, 3 } };
    lode_bytes records[3];
    for (int at = 0; at < 3; at++) {
        records[at].data = &all[at];
        records[at].size = sizeof all[at];
    }
    uint64_t changed;
    DONE(lode_insert_all(table, records, 3, &changed));
    CHECK(changed == 2);
    DONE(lode_upsert_all(table, records, 3, &changed));
    CHECK(changed == 0);
    DONE(lode_delete_packed(table, LODE_ALONE, &keys[0], 4));
    EXPECT(LODE_NOT_FOUND, lode_delete_packed(table, LODE_ALONE, &keys[0], 4));
    EXPECT(LODE_NOT_FOUND, lode_get_packed(table, LODE_NOW, &keys[0], 4, &square, 4, &size));
    CHECK(size == 0);

    lode_value number = lode_u64(999);
    char key[4];
    DONE(lode_pack_key(table, &number, 1, key, sizeof key, &size));
    CHECK(size == 4 && memcmp(key, &keys[2], 4) == 0);

    lode_transaction in;
    DONE(lode_begin(db, &in));
    EXPECT(LODE_EXISTS, lode_insert_packed(table, in, &pair, sizeof pair));
    pair.square = 1;
    DONE(lode_upsert_packed(table, in, &pair, sizeof pair, NULL));
    DONE(lode_update_packed(table, in, &keys[2], 4, 1, &square, 4));
    DONE(lode_delete_packed(table, in, &pair.number, 4));
    EXPECT(LODE_NOT_FOUND,
           lode_get_packed(table, lode_within(in), &pair.number, 4, more, 9, &size));
    DONE(lode_get_many_packed(table, lode_within(in), keys, sizeof keys, payloads, sizeof payloads,
                              &size, places, 3));
    CHECK(places[0].start == LODE_MISSING && places[2].start == 0 && size == 4);
    DONE(lode_commit(in));
    uint64_t count;
    DONE(lode_count(table, LODE_NOW, &count));
    CHECK(count == 1000);

    lode_table_sizes sizes;
    DONE(lode_get_table_sizes(table, &sizes, sizeof sizes));
    CHECK(sizes.columns == 2 && sizes.key_columns == 1 && sizes.key_kind == LODE_HASHED);
    CHECK(sizes.key_bytes == 4 && sizes.most_key_bytes == 4);
    CHECK(sizes.payload_bytes == 4 && sizes.most_payload_bytes == 4);
    lode_table empty;
    DONE(lode_clear_table(db, LODE_STR("pair"), &empty));
    DONE(lode_count(empty, LODE_NOW, &count));
    CHECK(count == 0);
    REFUSED(LODE_NO_TABLE, "pair", lode_count(table, LODE_NOW, &count));
    DONE(lode_free_table(table));
    DONE(lode_free_table(empty));
    DONE(lode_drop_table(db, LODE_STR("pair")));
    EXPECT(LODE_NO_TABLE, lode_open_table(db, LODE_STR("pair"), &table));
}

static void descriptions(lode_database db, lode_table table)
{
    size_t at, size;
    DONE(lode_find_column(table, LODE_STR("people"), &at));
    CHECK(at == 2);
    EXPECT(LODE_NO_COLUMN, lode_find_column(table, LODE_STR("person"), &at));
    for (at = 0; at < CITY_COLUMNS; at++) {
        lode_column column;
        DONE(lode_get_column(table, at, &column));
        CHECK(column.name_size == CITY[at].name_size);
        CHECK(memcmp(column.name, CITY[at].name, column.name_size) == 0);
        CHECK(column.type == CITY[at].type && column.size == CITY[at].size);
        CHECK(column.scale == CITY[at].scale && column.flags == CITY[at].flags);
    }
    lode_table_sizes sizes;
    DONE(lode_get_table_sizes(table, &sizes, sizeof sizes));
    CHECK(sizes.key_bytes == 4 && sizes.most_key_bytes == 84 && sizes.key_kind == LODE_ORDERED);
    CHECK(sizes.most_payload_bytes == sizes.payload_bytes + 80);
    char name[255];
    DONE(lode_table_name(db, 0, name, sizeof name, &size));
    CHECK(size == 4 && memcmp(name, "city", 4) == 0);
    EXPECT(LODE_TOO_SMALL, lode_table_name(db, 0, name, 3, &size));
    CHECK(size == 4);
    EXPECT(LODE_END, lode_table_name(db, 1, name, sizeof name, &size));
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    CHECK(lode_abi_version() == LODE_ABI_VERSION && strlen(lode_version()) >= 5);
    char path[4096], backup[4096];
    snprintf(path, sizeof path, "%s/db", arguments[1]);
    snprintf(backup, sizeof backup, "%s/backup", arguments[1]);

    lode_options options = { 0 };
    options.memory_bytes = 16 << 20;
    options.log_bytes = 8 << 20;
    options.segment_bytes = 1 << 20;
    options.sync_interval_us = 5000;
    options.durability = LODE_DURABILITY_PERIODIC;
    options.flags = LODE_UNMAPPED_LOG | LODE_NO_IDLE_COMPACTION;
    options.mode = LODE_CREATE_NEW;
    lode_database db, other;
    DONE(lode_open(LODE_STR(path), &options, sizeof options, &db));
    EXPECT(LODE_LOCKED, lode_open(LODE_STR(path), NULL, 0, &other));

    lode_table table;
    DONE(lode_create_table(db, LODE_STR("city"), CITY, CITY_COLUMNS, LODE_ORDERED, &table));
    DONE(put(table, LODE_ALONE, "CH", "Bern", 134591));
    DONE(put(table, LODE_ALONE, "CH", "Genf", 203856));
    DONE(put(table, LODE_ALONE, "AT", "Graz", 298479));
    EXPECT(LODE_EXISTS, put(table, LODE_ALONE, "AT", "Graz", 1));
    descriptions(db, table);
    values_of_a_record(table);
    cursors(table);
    transactions(db, table);
    packed_records(db);

    DONE(lode_flush(db));
    DONE(lode_checkpoint(db));
    DONE(lode_compact(db));
    lode_backup_sizes copied;
    DONE(lode_backup(db, LODE_STR(backup), &copied, sizeof copied));
    CHECK(copied.total_bytes > 0 && copied.copied_bytes == copied.total_bytes);
    DONE(lode_backup(db, LODE_STR(backup), &copied, sizeof copied));
    CHECK(copied.copied_bytes == 0);
    lode_statistics statistics;
    DONE(lode_get_statistics(db, &statistics, sizeof statistics));
    CHECK(statistics.data_bytes > 0 && statistics.page_bytes > 0);

    DONE(lode_close(db));
    EXPECT(LODE_CLOSED, put(table, LODE_ALONE, "CH", "Chur", 38700));
    DONE(lode_free_table(table));

    options.mode = LODE_CREATE_NEW;
    EXPECT(LODE_DATABASE_EXISTS, lode_open(LODE_STR(path), &options, sizeof options, &db));
    options.mode = LODE_OPEN_READ_ONLY;
    DONE(lode_open(LODE_STR(backup), &options, sizeof options, &db));
    DONE(lode_open_table(db, LODE_STR("city"), &table));
    CHECK(people(table, LODE_NOW, "FR", "Paris") == 1);
    EXPECT(LODE_READ_ONLY, put(table, LODE_ALONE, "CH", "Chur", 38700));
    DONE(lode_free_table(table));
    DONE(lode_close(db));
    options.mode = LODE_OPEN_EXISTING;
    snprintf(path, sizeof path, "%s/none", arguments[1]);
    REFUSED(LODE_NO_DATABASE, "none", lode_open(LODE_STR(path), &options, sizeof options, &db));
    puts("whole: as it should be");
    return 0;
}
