/* The change feed of lode.hpp, once at least: argv[1] is an empty directory. */
#include <type_traits>

#include "check.hpp"

static_assert(!std::is_copy_constructible_v<lode::changes>);
static_assert(std::is_nothrow_move_constructible_v<lode::changes>);

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const std::string directory = std::string(arguments[1]) + "/db";
    lode_options options{};
    options.memory_bytes = 16 << 20;
    options.durability = LODE_DURABILITY_PROCESS;
    options.kept_changes_bytes = 64 << 20;
    const auto db = lode::database::open(directory, options);
    CHECK(db);
    const auto start = db->position();
    CHECK(start && !start->empty());
    const lode_column columns[] = {
        lode::column("id", LODE_TYPE_U32, 0, LODE_KEY),
        lode::column("name", LODE_TYPE_VAR_TEXT, 80),
    };
    const auto table = db->create_table("city", columns, LODE_ORDERED);
    const lode::value bern[] = {7, "Bern"}, thun[] = {8, "Thun"}, key[] = {7};
    CHECK(table && table->insert(bern) == LODE_OK);
    {
        auto both = db->begin();
        CHECK(both && table->update(key, 1, "Berne", both->handle()) == LODE_OK);
        CHECK(table->insert(thun, both->handle()) == LODE_OK && both->commit() == LODE_OK);
    }
    CHECK(table->remove(key) == LODE_OK);

    auto changes = db->open_changes(*start);
    CHECK(changes);
    auto commit = changes->next();
    CHECK(commit && commit->size() == 1 && (*commit)[0].kind() == LODE_CHANGE_CREATE_TABLE);
    const lode::change &created = (*commit)[0];
    CHECK(created.table() == "city" && created.new_table().empty() && created.index().empty());
    CHECK(created.columns() == 2 && created.key_columns() == 1 && created.key().empty());
    CHECK(created.column(1)->type == LODE_TYPE_VAR_TEXT);
    CHECK(created.column(2).status() == LODE_NO_COLUMN && !*created.after());
    commit = changes->next();
    CHECK(commit && commit->size() == 1 && (*commit)[0].kind() == LODE_CHANGE_RECORD);
    CHECK((*commit)[0].key().size() == 4 && !(*commit)[0].before_bytes());
    CHECK(!*(*commit)[0].before() && (**(*commit)[0].after())[1].as_text() == "Bern");
    const auto reached = changes->reached();
    CHECK(reached && *reached != *start);
    commit = changes->next();
    CHECK(commit && commit->size() == 2);
    commit = changes->next();
    CHECK(commit && commit->size() == 1 && !(*commit)[0].after_bytes());
    CHECK((**(*commit)[0].before())[1].as_text() == "Berne");
    CHECK(!changes->next() && changes->status() == LODE_END && changes->sync() == LODE_OK);
    CHECK(*changes->reached() == *db->position());

    auto rest = db->open_changes(*reached);
    CHECK(rest && rest->next()->size() == 2);
    auto all = db->open_changes();
    CHECK(all && all->next()->size() == 1);
    CHECK(db->open_changes("yesterday").status() == LODE_BAD_ARGUMENT);
    std::puts("changes in C++: as they should be");
    return 0;
}
