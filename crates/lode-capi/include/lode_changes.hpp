/* The change feed for C++20: a part of lode.hpp, which says what all of it does alike. */
#ifndef LODE_CHANGES_HPP
#define LODE_CHANGES_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lode_base.hpp"

namespace lode {

/* A change of a commit. What it points to stays until the next changes::next(). */
class change {
  public:
    /* Returns one of the numbers from LODE_CHANGE_RECORD on. */
    std::uint32_t kind() const { return parts_.kind; }
    std::string_view table() const { return text(parts_.table); }
    /* Returns the name of an altered table from then on. */
    std::string_view new_table() const { return text(parts_.new_table); }
    /* Returns the name of an index that was created or dropped. */
    std::string_view index() const { return text(parts_.index); }
    /* Returns the packed key of a record. */
    std::span<const std::byte> key() const { return bytes(parts_.key); }
    /* Returns the packed record as it was; none if it was inserted. */
    std::optional<std::span<const std::byte>> before_bytes() const { return side(parts_.before); }
    /* Returns the packed record as it is since; none if it was deleted. */
    std::optional<std::span<const std::byte>> after_bytes() const { return side(parts_.after); }
    /* Returns the values of the record as it was; none if it was inserted. */
    result<std::optional<std::vector<value>>> before() const { return unpack(LODE_BEFORE); }
    /* Returns the values of the record as it is since; none if it was deleted. */
    result<std::optional<std::vector<value>>> after() const { return unpack(LODE_AFTER); }
    std::size_t columns() const { return parts_.columns; }
    std::size_t key_columns() const { return parts_.key_columns; }
    /* Returns the description of a column of the table. */
    result<lode_column> column(std::size_t at, std::uint32_t side = LODE_AFTER) const
    {
        lode_column found{};
        const lode_status status = lode_get_change_column(reader_, at_, side, at, &found);
        if (status != LODE_OK)
            return status;
        return found;
    }

  private:
    friend class changes;
    static std::string_view text(lode_bytes of)
    {
        return {static_cast<const char *>(of.data), of.size};
    }
    static std::span<const std::byte> bytes(lode_bytes of)
    {
        return {static_cast<const std::byte *>(of.data), of.size};
    }
    static std::optional<std::span<const std::byte>> side(lode_bytes of)
    {
        return of.data == nullptr ? std::nullopt : std::optional(bytes(of));
    }
    result<std::optional<std::vector<value>>> unpack(std::uint32_t side) const
    {
        std::vector<value> values(parts_.columns);
        const lode_status status =
            lode_unpack_change(reader_, at_, side, values.data(), values.size());
        if (status == LODE_NOT_FOUND)
            return std::optional<std::vector<value>>();
        if (status != LODE_OK)
            return status;
        return std::optional(std::move(values));
    }
    lode_changes reader_{};
    std::size_t at_ = 0;
    lode_change parts_{};
};

/* The changes of a database, commit by commit; made by database::open_changes. */
class changes : public owner<lode_changes, lode_free_changes> {
  public:
    using owner::owner;

    /* Reads the next commit; none after the last so far, and after a failure, which status() has.
     * The changes stay until the next call. */
    std::optional<std::span<const change>> next()
    {
        commit_.clear();
        std::size_t count = 0;
        status_ = lode_next_commit(handle(), &count);
        for (std::size_t at = 0; at < count && status_ == LODE_OK; at++) {
            change found;
            found.reader_ = handle();
            found.at_ = at;
            status_ = lode_get_change(handle(), at, &found.parts_, sizeof found.parts_);
            commit_.push_back(found);
        }
        if (status_ != LODE_OK)
            return std::nullopt;
        return std::span<const change>(commit_);
    }
    /* Returns LODE_OK after a commit, LODE_END after the last one so far, or why none came. */
    lode_status status() const { return status_; }
    /* Returns the position after what was read. */
    result<std::string> reached() const
    {
        std::string text(LODE_MOST_POSITION_BYTES, ' ');
        std::size_t size = 0;
        const lode_status status = lode_reached_position(handle(), text.data(), text.size(), &size);
        if (status != LODE_OK)
            return status;
        text.resize(size);
        return text;
    }
    /* Makes all that was read durable in the database. */
    [[nodiscard]] lode_status sync() { return lode_sync_changes(handle()); }

  private:
    std::vector<change> commit_;
    lode_status status_ = LODE_OK;
};

} // namespace lode

#endif
