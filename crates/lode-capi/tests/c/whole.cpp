/* Databases and tables of lode.hpp, once at least: argv[1] is an empty directory. */
#include <type_traits>

#include "check.hpp"

static_assert(!std::is_copy_constructible_v<lode::database>);
static_assert(std::is_nothrow_move_constructible_v<lode::table>);

static lode::table create(const lode::database &db)
{
    const lode_column columns[] = {
        lode::column("country", LODE_TYPE_TEXT, 2, LODE_KEY),
        lode::column("name", LODE_TYPE_VAR_TEXT, 4000 / 4, LODE_KEY),
        lode::column("people", LODE_TYPE_U64),
        lode::column("area", LODE_TYPE_F64),
        lode::column("capital", LODE_TYPE_BOOL),
        lode::column("note", LODE_TYPE_VAR_TEXT, 5000, LODE_NULLABLE),
        lode::column("raw", LODE_TYPE_VAR_BYTES, 9),
    };
    auto made = db.create_table("city", columns, LODE_ORDERED);
    CHECK(made);
    CHECK(db.create_table("city", columns, LODE_ORDERED).status() == LODE_TABLE_EXISTS);
    return *std::move(made);
}

static void records(const lode::database &db)
{
    const lode::table cities = create(db);
    const std::byte raw[] = {std::byte{0}, std::byte{255}};
    const std::optional<std::string> no_note;
    const lode::value bern[] = {"CH", "Bern", 134591, 51.6, true, no_note, std::span(raw)};
    CHECK(cities.insert(bern) == LODE_OK);
    CHECK(cities.insert(bern) == LODE_EXISTS);
    const std::string note(3000, 'x');
    const lode::value thun[] = {"CH", std::string_view("Thun"), 43743u, 21.6f, false, note,
                                std::span<const std::byte>()};
    auto replaced = cities.upsert(thun);
    CHECK(replaced && !*replaced);
    replaced = cities.upsert(thun);
    CHECK(replaced && *replaced);

    const lode::value key[] = {"CH", "Thun"};
    auto found = cities.get(key);
    CHECK(found && *found);
    const lode::record &row = **found;
    CHECK(row[1].as_text() == "Thun" && row[2].as_unsigned() == 43743u);
    CHECK(row[2].as_signed() == 43743 && row[4].as_bool() == false && !row[3].as_text());
    CHECK(row[5].as_text() == note && row[6].as_bytes()->empty());
    CHECK(row.values().size() == 7 && row.bytes().size() > 3000);
    lode::record kept = *std::move(*found);
    CHECK(kept[1].as_text() == "Thun");
    const lode::value none[] = {"CH", "Chur"};
    found = cities.get(none);
    CHECK(found && !*found);
    CHECK(cities.get({}).status() == LODE_VALUE_COUNT);
    CHECK(lode::error_message().find("city") != std::string_view::npos);

    CHECK(cities.update(key, 2, 43800) == LODE_OK);
    CHECK(cities.update(key, 5, nullptr) == LODE_OK);
    CHECK(cities.update(none, 2, 1) == LODE_NOT_FOUND);
    CHECK(cities.update(key, 9, 1) == LODE_NO_COLUMN);

    std::size_t rows = 0;
    const lode::value swiss[] = {"CH"};
    auto cursor = cities.prefix(swiss);
    CHECK(cursor);
    while (auto values = cursor->next()) {
        CHECK((*values)[0].as_text() == "CH" && ((*values)[5].is_null()));
        CHECK((*values)[3].as_float() > 20.0);
        rows++;
    }
    CHECK(rows == 2 && cursor->status() == LODE_END);
    const std::size_t people[] = {2};
    lode_range range{};
    range.columns = people;
    range.columns_count = 1;
    range.backward = 1;
    auto only = cities.rows(range);
    CHECK(only);
    const auto last = only->next();
    CHECK(last && last->size() == 1 && (*last)[0].as_unsigned() == 43800u);

    auto before = db.take_snapshot();
    CHECK(before);
    {
        auto dropped = db.begin();
        CHECK(dropped && cities.remove(key, dropped->handle()) == LODE_OK);
        CHECK(*cities.count(dropped->view()) == 1);
    }
    CHECK(*cities.count() == 2);
    auto committed = db.begin();
    CHECK(committed && cities.remove(key, committed->handle()) == LODE_OK);
    CHECK(committed->commit() == LODE_OK && committed->handle().id == 0);
    CHECK(committed->commit() == LODE_BAD_HANDLE);
    CHECK(*cities.count() == 1 && *cities.count(before->view()) == 2);
    CHECK(cities.remove(key) == LODE_NOT_FOUND);
    auto rolled_back = db.begin();
    CHECK(rolled_back && rolled_back->roll_back() == LODE_OK);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const std::string directory = std::string(arguments[1]) + "/db";
    lode_options options{};
    options.memory_bytes = 16 << 20;
    options.durability = LODE_DURABILITY_PROCESS;
    {
        auto opened = lode::database::open(directory, options);
        CHECK(opened);
        lode::database db = *std::move(opened);
        records(db);
        CHECK(lode::database::open(directory).status() == LODE_LOCKED);
        CHECK(db.flush() == LODE_OK && db.checkpoint() == LODE_OK);
    }
    auto opened = lode::database::open(directory, options);
    CHECK(opened);
    lode::table cities = *opened->open_table("city");
    CHECK(*cities.count() == 1);
    auto memory = lode::database::in_memory(options);
    CHECK(memory);
    cities = create(*memory);
    CHECK(*cities.count() == 0);
    CHECK(opened->drop_table("city") == LODE_OK && opened->drop_table("city") == LODE_NO_TABLE);
    CHECK(opened->close() == LODE_OK && opened->close() == LODE_BAD_HANDLE);
    std::puts("C++: as it should be");
    return 0;
}
