/* Volumes for C++20: a part of lode.hpp, which says what all of it does alike. */
#ifndef LODE_VOLUMES_HPP
#define LODE_VOLUMES_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lode_base.hpp"

namespace lode {

/* The names of the children of an entry, one after another. */
class links : public owner<lode_links, lode_free_links> {
  public:
    using owner::owner;

    /* Reads the next name, which stays until the next call; none at the end, and after a failure,
     * which status() has. */
    std::optional<std::string_view> next()
    {
        const char *name = nullptr;
        std::size_t size = 0;
        status_ = lode_next_link(handle(), &name, &size);
        if (status_ != LODE_OK)
            return std::nullopt;
        return std::string_view(name, size);
    }
    /* Returns LODE_OK after a name, LODE_END after the last one, or why no name came. */
    lode_status status() const { return status_; }

  private:
    lode_status status_ = LODE_OK;
};

/* A property of a list: its name, type and value, which point to memory of the list. */
struct listed_property {
    std::string_view name;
    lode_type type;
    lode::value value;
};

/* The properties of an entry, one after another. */
class properties : public owner<lode_properties, lode_free_properties> {
  public:
    using owner::owner;

    /* Reads the next property, which stays until the next call; none at the end, and after a
     * failure, which status() has. */
    std::optional<listed_property> next()
    {
        const char *name = nullptr;
        std::size_t size = 0;
        listed_property found{};
        status_ = lode_next_property(handle(), &name, &size, &found.type, &found.value);
        if (status_ != LODE_OK)
            return std::nullopt;
        found.name = std::string_view(name, size);
        return found;
    }
    /* Returns LODE_OK after a property, LODE_END after the last one, or why none came. */
    lode_status status() const { return status_; }

  private:
    lode_status status_ = LODE_OK;
};

/* A property that was read: its type, and its value with the bytes of that. */
class property {
  public:
    lode_type type() const { return type_; }
    /* Returns the value, which points into the property. */
    const value &operator*() const { return value_; }
    const value *operator->() const { return &value_; }

  private:
    friend class entry;
    std::vector<std::byte> bytes_;
    lode_type type_ = LODE_TYPE_WIDEST;
    value value_;
};

/* An entry of a volume or of a storage. */
class entry : public owner<lode_entry, lode_free_entry> {
  public:
    using owner::owner;

    /* Returns the path in the volume or storage. */
    result<std::string> path() const
    {
        std::string found;
        std::size_t size = 64;
        lode_status status;
        do {
            found.resize(size);
            status = lode_entry_path(handle(), found.data(), found.size(), &size);
        } while (status == LODE_TOO_SMALL);
        if (status != LODE_OK)
            return status;
        found.resize(size);
        return found;
    }
    /* Opens the entry under a path from here; none if it is missing. */
    result<std::optional<entry>> open(std::string_view path) const
    {
        lode_entry opened{};
        const lode_status status = lode_open_child(handle(), path.data(), path.size(), &opened);
        return owned_if_found<entry>(status, opened);
    }
    /* Links a new child. */
    result<entry> link(std::string_view name) const
    {
        lode_entry linked{};
        const lode_status status = lode_link(handle(), name.data(), name.size(), &linked);
        return owned<entry>(status, linked);
    }
    [[nodiscard]] lode_status unlink(std::string_view name) const
    {
        return lode_unlink(handle(), name.data(), name.size());
    }
    [[nodiscard]] lode_status unlink_all(std::string_view name) const
    {
        return lode_unlink_all(handle(), name.data(), name.size());
    }
    /* Moves a child below another entry, or this one, under a new name. */
    [[nodiscard]] lode_status rename(std::string_view name, const entry &to,
                                     std::string_view new_name) const
    {
        return lode_rename(handle(), name.data(), name.size(), to.handle(), new_name.data(),
                           new_name.size());
    }

    /* Sets a property. */
    [[nodiscard]] lode_status set(std::string_view name, const value &to,
                                  lode_type type = LODE_TYPE_WIDEST) const
    {
        return lode_set_property(handle(), name.data(), name.size(), type, &to);
    }
    /* Reads a property; none if it is missing. */
    result<std::optional<property>> get(std::string_view name) const
    {
        property found;
        std::size_t size = 0;
        lode_status status;
        // Another writer may make it longer between the calls, so more than once.
        do {
            found.bytes_.resize(size);
            status = lode_get_property(handle(), name.data(), name.size(), found.bytes_.data(),
                                       found.bytes_.size(), &size, &found.type_, &found.value_);
        } while (status == LODE_TOO_SMALL);
        if (status == LODE_NOT_FOUND)
            return std::optional<property>();
        if (status != LODE_OK)
            return status;
        return std::optional<property>(std::move(found));
    }
    result<bool> has(std::string_view name) const
    {
        return was_found(lode_has_property(handle(), name.data(), name.size()));
    }
    /* Removes a property; LODE_NOT_FOUND if it is missing. */
    [[nodiscard]] lode_status remove(std::string_view name) const
    {
        return lode_remove_property(handle(), name.data(), name.size());
    }
    /* Lets a property expire; LODE_NOT_FOUND if it is missing. Less than nothing is now. */
    [[nodiscard]] lode_status expire(std::string_view name, std::chrono::microseconds after) const
    {
        const std::int64_t micros = after.count() < 0 ? 0 : after.count();
        return lode_expire_property(handle(), name.data(), name.size(),
                                    static_cast<std::uint64_t>(micros));
    }
    /* Lets a property stay that would have expired; LODE_NOT_FOUND if it is missing. */
    [[nodiscard]] lode_status cancel_expiration(std::string_view name) const
    {
        return lode_cancel_expiration(handle(), name.data(), name.size());
    }

    /* Lists the names of the children that start with a prefix; by default all. */
    result<links> children(std::string_view prefix = {}) const
    {
        lode_links opened{};
        const lode_status status =
            lode_open_links(handle(), prefix.data(), prefix.size(), &opened);
        return owned<links>(status, opened);
    }
    /* Lists the properties. */
    result<lode::properties> properties() const
    {
        lode_properties opened{};
        const lode_status status = lode_open_properties(handle(), &opened);
        return owned<lode::properties>(status, opened);
    }
};

/* A volume. It is closed at the end; close() says whether that went well. */
class volume : public owner<lode_volume, lode_close_volume> {
  public:
    using owner::owner;

    static result<volume> open(std::string_view directory, const lode_volume_options &options = {})
    {
        lode_volume opened{};
        const lode_status status = lode_open_volume(directory.data(), directory.size(), &options,
                                                    sizeof options, &opened);
        return owned<volume>(status, opened);
    }
    static result<volume> in_memory(const lode_volume_options &options = {})
    {
        lode_volume opened{};
        const lode_status status = lode_open_volume_in_memory(&options, sizeof options, &opened);
        return owned<volume>(status, opened);
    }
    [[nodiscard]] lode_status close() { return lode_close_volume(release()); }
    [[nodiscard]] lode_status flush() const { return lode_flush_volume(handle()); }
    /* Removes expired properties; returns their number. */
    result<std::uint64_t> sweep() const
    {
        std::uint64_t removed = 0;
        const lode_status status = lode_sweep_volume(handle(), &removed);
        if (status != LODE_OK)
            return status;
        return removed;
    }

    /* Opens the entry under a path; none if it is missing. */
    result<std::optional<entry>> open_entry(std::string_view path) const
    {
        lode_entry opened{};
        const lode_status status = lode_open_entry(handle(), path.data(), path.size(), &opened);
        return owned_if_found<entry>(status, opened);
    }
    /* Opens the entry under a path; links it if it is missing, and those on the way. */
    result<entry> create_entry(std::string_view path) const
    {
        lode_entry opened{};
        const lode_status status = lode_create_entry(handle(), path.data(), path.size(), &opened);
        return owned<entry>(status, opened);
    }
};

/* Several volumes as one tree. */
class storage : public owner<lode_storage, lode_free_storage> {
  public:
    using owner::owner;

    static result<storage> make()
    {
        lode_storage made{};
        const lode_status status = lode_make_storage(&made);
        return owned<storage>(status, made);
    }
    [[nodiscard]] lode_status mount(std::string_view path, const volume &mounted,
                                    const lode_mount &how = {}) const
    {
        return lode_mount_volume(handle(), path.data(), path.size(), mounted.handle(), &how,
                                 sizeof how);
    }
    [[nodiscard]] lode_status unmount(std::string_view path, const volume &mounted,
                                      std::string_view at = {}) const
    {
        return lode_unmount_volume(handle(), path.data(), path.size(), mounted.handle(), at.data(),
                                   at.size());
    }
    /* Opens the entry under a path; none if no volume that is mounted there has it. */
    result<std::optional<entry>> open_entry(std::string_view path) const
    {
        lode_entry opened{};
        const lode_status status =
            lode_open_storage_entry(handle(), path.data(), path.size(), &opened);
        return owned_if_found<entry>(status, opened);
    }
    /* Opens the entry under a path; links it where it is missing, and those on the way. */
    result<entry> create_entry(std::string_view path) const
    {
        lode_entry opened{};
        const lode_status status =
            lode_create_storage_entry(handle(), path.data(), path.size(), &opened);
        return owned<entry>(status, opened);
    }
};

} // namespace lode

#endif
