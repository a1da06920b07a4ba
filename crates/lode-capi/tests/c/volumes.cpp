/* Volumes of lode.hpp, once at least: argv[1] is an empty directory. */
#include <type_traits>

#include "check.hpp"

static_assert(!std::is_copy_constructible_v<lode::volume>);
static_assert(std::is_nothrow_move_constructible_v<lode::entry>);

static void entries(const lode::volume &volume)
{
    const lode::entry root = **volume.open_entry("/");
    auto missing = volume.open_entry("/app");
    CHECK(missing && !*missing);
    auto ui = volume.create_entry("/app/ui");
    CHECK(ui && *ui->path() == "/app/ui");
    auto app = root.open("app");
    CHECK(app && *app);
    auto linked = (*app)->link("other");
    CHECK(linked && *linked->path() == "/app/other");
    CHECK((*app)->link("other").status() == LODE_NAME_TAKEN);
    CHECK(lode::error_message().find("/app/other") != std::string_view::npos);
    CHECK((*app)->rename("other", root, std::string(200, 'x')) == LODE_OK);
    CHECK(linked->path()->size() == 201);
    auto names = root.children("x");
    CHECK(names && names->next()->size() == 200);
    CHECK(!names->next() && names->status() == LODE_END);
    CHECK(root.unlink("app") == LODE_NOT_EMPTY && root.unlink_all("app") == LODE_OK);
    CHECK(root.unlink(std::string(200, 'x')) == LODE_OK);
    CHECK(ui->path().status() == LODE_GONE && linked->open("y").status() == LODE_GONE);
}

static void properties(const lode::volume &volume)
{
    const lode::entry entry = *volume.create_entry("/values");
    const std::string text(3000, 'x');
    const std::byte raw[] = {std::byte{0}, std::byte{255}};
    CHECK(entry.set("a", 1) == LODE_OK && entry.set("b", text) == LODE_OK);
    CHECK(entry.set("c", std::span(raw)) == LODE_OK);
    CHECK(entry.set("d", 300, LODE_TYPE_U8) == LODE_VALUE_MISFIT);
    CHECK(entry.set("d", 200, LODE_TYPE_U8) == LODE_OK && entry.set("e", 0.5) == LODE_OK);
    auto found = entry.get("b");
    CHECK(found && *found && (**found).type() == LODE_TYPE_VAR_TEXT);
    const lode::property kept = *std::move(*found);
    CHECK(kept->as_text() == text);
    CHECK((***entry.get("a")).as_signed() == 1 && (**entry.get("a")).type() == LODE_TYPE_I64);
    CHECK((***entry.get("c")).as_bytes()->size() == 2);
    CHECK((***entry.get("d")).as_unsigned() == 200u);
    found = entry.get("f");
    CHECK(found && !*found);
    CHECK(*entry.has("a") && !*entry.has("f") && entry.has("").status() == LODE_INVALID_NAME);
    auto list = entry.properties();
    CHECK(list);
    std::size_t count = 0;
    while (auto property = list->next()) {
        CHECK(property->name.size() == 1 && property->type != LODE_TYPE_WIDEST);
        CHECK(property->name != "b" || property->value.as_text() == text);
        count++;
    }
    CHECK(count == 5 && list->status() == LODE_END);
    CHECK(entry.remove("a") == LODE_OK && entry.remove("a") == LODE_NOT_FOUND);
    CHECK(entry.expire("b", std::chrono::hours(1)) == LODE_OK && *entry.has("b"));
    CHECK(entry.cancel_expiration("b") == LODE_OK);
    CHECK(entry.expire("b", std::chrono::seconds(-1)) == LODE_OK);
    CHECK(*volume.sweep() == 1);
    CHECK(!*entry.has("b") && entry.expire("b", std::chrono::hours(1)) == LODE_NOT_FOUND);
}

static void storages(const lode::volume &user)
{
    lode::volume defaults = *lode::volume::in_memory();
    CHECK(defaults.create_entry("/ui")->set("theme", "light") == LODE_OK);
    {
        const lode::storage storage = *lode::storage::make();
        lode_mount first{}, second{};
        first.priority = 1;
        second.access = LODE_MOUNT_READ_ONLY;
        CHECK(storage.mount("/", user, first) == LODE_OK);
        CHECK(storage.mount("/", defaults, second) == LODE_OK);
        const lode::entry ui = **storage.open_entry("/ui");
        CHECK((***ui.get("theme")).as_text() == "light");
        CHECK(ui.set("theme", "dark") == LODE_OK);
        CHECK((***ui.get("theme")).as_text() == "dark");
        CHECK(storage.create_entry("/new") && *(**user.open_entry("/new")).path() == "/new");
        CHECK(storage.unmount("/", defaults) == LODE_OK);
        CHECK(storage.unmount("/", defaults) == LODE_NOT_MOUNTED);
        CHECK(ui.get("theme").status() == LODE_MOUNTS_CHANGED);
        auto missing = storage.open_entry("/missing");
        CHECK(missing && !*missing);
    }
    CHECK(defaults.close() == LODE_OK && defaults.close() == LODE_BAD_HANDLE);
}

int main(int count, char **arguments)
{
    CHECK(count == 2);
    const std::string directory = std::string(arguments[1]) + "/volume";
    lode_volume_options options{};
    options.memory_bytes = 16 << 20;
    options.durability = LODE_DURABILITY_PROCESS;
    options.sweep_interval_us = 3600000000;
    {
        const auto volume = lode::volume::open(directory, options);
        CHECK(volume);
        entries(*volume);
        properties(*volume);
        storages(*volume);
        CHECK(lode::volume::open(directory).status() == LODE_LOCKED);
        CHECK(volume->flush() == LODE_OK);
    }
    auto volume = lode::volume::open(directory);
    CHECK(volume && (***volume->create_entry("/ui")->get("theme")).as_text() == "dark");
    CHECK(volume->close() == LODE_OK);
    std::puts("volumes in C++: as they should be");
    return 0;
}
