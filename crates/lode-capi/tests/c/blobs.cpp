/* Blobs of lode.hpp, once at least. */
#include <type_traits>

#include "check.hpp"

static_assert(!std::is_copy_constructible_v<lode::blob_writer>);
static_assert(std::is_nothrow_move_constructible_v<lode::blobs>);

using lode::blobs;

int main()
{
    auto db = lode::database::in_memory();
    CHECK(db);
    CHECK(db->open_blobs("files").status() == LODE_NO_TABLE);
    auto files = db->create_blobs("files");
    CHECK(files && db->create_blobs("files").status() == LODE_TABLE_EXISTS);
    CHECK(db->open_blobs("files"));
    const blobs::bytes key = blobs::of("a");
    CHECK(files->put(key, blobs::of("before")) == LODE_OK);
    const std::vector<std::byte> large(200000, std::byte{7});
    {
        auto dropped = files->write(key);
        CHECK(dropped && dropped->write(large) == LODE_OK && dropped->taken() == large.size());
    }
    CHECK(**files->length_bytes(key) == 6);
    auto reader = files->read(key);
    CHECK(reader && *reader);
    auto writer = files->write(key);
    CHECK(writer && writer->write(large) == LODE_OK && writer->finish() == LODE_OK);
    CHECK(writer->handle().id == 0 && writer->finish() == LODE_BAD_HANDLE);
    CHECK(**files->length_bytes(key) == large.size());

    std::byte buffer[4];
    CHECK((**reader).read(buffer)->size() == 4 && buffer[0] == std::byte{'b'});
    CHECK((**reader).read(buffer)->size() == 2 && (**reader).read(buffer)->empty());
    CHECK((**reader).seek(1) == LODE_OK && (**reader).read(buffer)->size() == 4);
    CHECK(buffer[0] == std::byte{'e'} && *(**reader).length_bytes() == 6);

    CHECK(**files->get(key) == large);
    CHECK((**files->get(key, 199990)).size() == 10 && (**files->get(key, 300000)).empty());
    CHECK((**files->get(key, 5, 70000)).size() == 70000);
    auto missing = files->get(blobs::of("b"));
    CHECK(missing && !*missing);
    const auto length = files->length_bytes(blobs::of("b"));
    CHECK(length && !*length);
    CHECK(files->put(blobs::of("dir/x"), {}) == LODE_OK);
    auto list = files->list(blobs::of("dir/"));
    CHECK(list);
    const auto listed = list->next();
    CHECK(listed && listed->key.size() == 5 && listed->length_bytes == 0);
    CHECK(!list->next() && list->status() == LODE_END);
    auto all = files->list();
    CHECK(all && all->next() && all->next() && !all->next());
    CHECK(files->remove(key) == LODE_OK && files->remove(key) == LODE_NOT_FOUND);
    CHECK(db->drop_blobs("files") == LODE_OK && db->drop_blobs("files") == LODE_NO_TABLE);
    CHECK(files->put(key, {}) == LODE_NO_TABLE && files->get(key).status() == LODE_NO_TABLE);
    std::puts("blobs in C++: as they should be");
    return 0;
}
