/* Lode for C++20: owners of handles that free them, and values of C++.
 *
 * Nothing here throws, and nothing needs exceptions or types at run time. A call that can fail
 * returns a lode_status, or a lode::result of a value: look at it before the value. Owners move and
 * do not copy; their handle() is for functions of lode.h that have no member here. Which threads
 * may use what is as lode.h says.
 */
#ifndef LODE_HPP
#define LODE_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lode_base.hpp"
#include "lode_blobs.hpp"
#include "lode_changes.hpp"
#include "lode_volumes.hpp"

namespace lode {

/* A column of a table. */
inline lode_column column(std::string_view name, lode_type type, std::uint32_t size = 0,
                          std::uint32_t flags = 0, std::uint32_t scale = 0)
{
    return {name.data(), name.size(), type, size, scale, flags};
}

/* A record that was looked up: its bytes, and the values in it. */
class record {
  public:
    /* Returns the value of a column, which points into the record. */
    const value &operator[](std::size_t column) const { return values_[column]; }
    std::span<const value> values() const { return values_; }
    std::span<const std::byte> bytes() const { return bytes_; }

  private:
    friend class table;
    std::vector<std::byte> bytes_;
    std::vector<value> values_;
};

/* The rows of a table, one after another. */
class cursor : public owner<lode_cursor, lode_free_cursor> {
  public:
    using owner::owner;

    /* Reads the next row. Its values stay until the next call; none at the end, and after a
     * failure, which status() has. */
    std::optional<std::span<const value>> next()
    {
        status_ = lode_next(handle(), row_.data(), row_.size());
        if (status_ != LODE_OK)
            return std::nullopt;
        return std::span<const value>(row_);
    }
    /* Returns LODE_OK after a row, LODE_END after the last one, or why no row came. */
    lode_status status() const { return status_; }

  private:
    friend class table;
    cursor(lode_cursor handle, std::size_t columns) : owner(handle), row_(columns) {}
    std::vector<value> row_;
    lode_status status_ = LODE_OK;
};

/* All tables as they were at one moment. */
class snapshot : public owner<lode_snapshot, lode_free_snapshot> {
  public:
    using owner::owner;

    lode_view view() const { return lode_at(handle()); }
};

/* A transaction. It is rolled back unless it is committed. */
class transaction : public owner<lode_transaction, lode_roll_back> {
  public:
    using owner::owner;

    lode_view view() const { return lode_within(handle()); }
    /* Commits; LODE_CONFLICT says to start again. Unless it is LODE_BUSY, it has ended then. */
    [[nodiscard]] lode_status commit() { return ended(lode_commit(handle())); }
    lode_status roll_back() { return ended(lode_roll_back(handle())); }

  private:
    lode_status ended(lode_status status)
    {
        if (status != LODE_BUSY)
            release();
        return status;
    }
};

/* A table. */
class table : public owner<lode_table, lode_free_table> {
  public:
    using owner::owner;

    /* Inserts a record; LODE_EXISTS if there is one with its key. */
    [[nodiscard]] lode_status insert(std::span<const value> values,
                                     lode_transaction in = LODE_ALONE) const
    {
        return lode_insert(handle(), in, values.data(), values.size());
    }
    /* Writes a record; true if it has replaced one. */
    result<bool> upsert(std::span<const value> values, lode_transaction in = LODE_ALONE) const
    {
        bool replaced = false;
        const lode_status status =
            lode_upsert(handle(), in, values.data(), values.size(), &replaced);
        if (status != LODE_OK)
            return status;
        return replaced;
    }
    /* Sets a column of a record; LODE_NOT_FOUND if no record has the key. */
    [[nodiscard]] lode_status update(std::span<const value> key, std::size_t column,
                                     const value &to, lode_transaction in = LODE_ALONE) const
    {
        return lode_update(handle(), in, key.data(), key.size(), column, &to);
    }
    /* Deletes a record; LODE_NOT_FOUND if no record has the key. */
    [[nodiscard]] lode_status remove(std::span<const value> key,
                                     lode_transaction in = LODE_ALONE) const
    {
        return lode_delete(handle(), in, key.data(), key.size());
    }
    /* Looks up a record; none if it is missing. */
    result<std::optional<record>> get(std::span<const value> key, lode_view view = LODE_NOW) const
    {
        record found;
        lode_table_sizes sizes{};
        lode_status status = lode_get_table_sizes(handle(), &sizes, sizeof sizes);
        if (status != LODE_OK)
            return status;
        std::size_t size = sizes.key_bytes + sizes.payload_bytes + 64;
        // Another writer may make it longer between the calls, so more than once.
        do {
            found.bytes_.resize(size);
            status = lode_get(handle(), view, key.data(), key.size(), found.bytes_.data(),
                              found.bytes_.size(), &size, nullptr, 0);
        } while (status == LODE_TOO_SMALL);
        if (status == LODE_NOT_FOUND)
            return std::optional<record>();
        if (status != LODE_OK)
            return status;
        found.bytes_.resize(size);
        found.values_.resize(sizes.columns);
        status = lode_unpack(handle(), found.bytes_.data(), size, found.values_.data(),
                             found.values_.size());
        if (status != LODE_OK)
            return status;
        return std::optional<record>(std::move(found));
    }
    /* Counts the records. */
    result<std::uint64_t> count(lode_view view = LODE_NOW) const
    {
        std::uint64_t records = 0;
        const lode_status status = lode_count(handle(), view, &records);
        if (status != LODE_OK)
            return status;
        return records;
    }
    /* Opens a cursor over a range; by default over all records. */
    result<cursor> rows(const lode_range &range = {}, lode_view view = LODE_NOW) const
    {
        lode_table_sizes sizes{};
        lode_status status = lode_get_table_sizes(handle(), &sizes, sizeof sizes);
        lode_cursor opened{};
        if (status == LODE_OK)
            status = lode_open_cursor(handle(), view, &range, sizeof range, &opened);
        if (status != LODE_OK)
            return status;
        return cursor(opened, range.columns_count > 0 ? range.columns_count : sizes.columns);
    }
    /* Opens a cursor over the records whose keys start with some values. */
    result<cursor> prefix(std::span<const value> values, lode_view view = LODE_NOW) const
    {
        lode_range range{};
        range.lower = range.upper = values.data();
        range.lower_count = range.upper_count = values.size();
        range.lower_bound = range.upper_bound = LODE_INCLUDED;
        return rows(range, view);
    }
};

/* A database. It is closed at the end; close() says whether that went well. */
class database : public owner<lode_database, lode_close> {
  public:
    using owner::owner;

    static result<database> open(std::string_view directory, const lode_options &options = {})
    {
        lode_database opened{};
        const lode_status status =
            lode_open(directory.data(), directory.size(), &options, sizeof options, &opened);
        return owned<database>(status, opened);
    }
    static result<database> in_memory(const lode_options &options = {})
    {
        lode_database opened{};
        const lode_status status = lode_open_in_memory(&options, sizeof options, &opened);
        return owned<database>(status, opened);
    }
    [[nodiscard]] lode_status close() { return lode_close(release()); }
    [[nodiscard]] lode_status flush() const { return lode_flush(handle()); }
    [[nodiscard]] lode_status checkpoint() const { return lode_checkpoint(handle()); }

    result<table> create_table(std::string_view name, std::span<const lode_column> columns,
                               lode_key_kind kind) const
    {
        lode_table created{};
        const lode_status status =
            lode_create_table(handle(), name.data(), name.size(), columns.data(), columns.size(),
                              kind, &created);
        return owned<table>(status, created);
    }
    result<table> open_table(std::string_view name) const
    {
        lode_table opened{};
        const lode_status status = lode_open_table(handle(), name.data(), name.size(), &opened);
        return owned<table>(status, opened);
    }
    [[nodiscard]] lode_status drop_table(std::string_view name) const
    {
        return lode_drop_table(handle(), name.data(), name.size());
    }
    result<blobs> create_blobs(std::string_view name) const
    {
        lode_blobs created{};
        const lode_status status = lode_create_blobs(handle(), name.data(), name.size(), &created);
        return owned<blobs>(status, created);
    }
    result<blobs> open_blobs(std::string_view name) const
    {
        lode_blobs opened{};
        const lode_status status = lode_open_blobs(handle(), name.data(), name.size(), &opened);
        return owned<blobs>(status, opened);
    }
    [[nodiscard]] lode_status drop_blobs(std::string_view name) const
    {
        return lode_drop_blobs(handle(), name.data(), name.size());
    }
    /* Returns the position after all changes so far. */
    result<std::string> position() const
    {
        std::string text(LODE_MOST_POSITION_BYTES, ' ');
        std::size_t size = 0;
        const lode_status status = lode_position(handle(), text.data(), text.size(), &size);
        if (status != LODE_OK)
            return status;
        text.resize(size);
        return text;
    }
    /* Reads the changes since a position; by default all that are kept. */
    result<changes> open_changes(std::string_view since = {}) const
    {
        lode_changes opened{};
        const lode_status status = lode_open_changes(handle(), since.data(), since.size(), &opened);
        return owned<changes>(status, opened);
    }
    result<transaction> begin() const
    {
        lode_transaction begun{};
        const lode_status status = lode_begin(handle(), &begun);
        return owned<transaction>(status, begun);
    }
    result<snapshot> take_snapshot() const
    {
        lode_snapshot taken{};
        const lode_status status = lode_take_snapshot(handle(), &taken);
        return owned<snapshot>(status, taken);
    }
};

} // namespace lode

#endif
