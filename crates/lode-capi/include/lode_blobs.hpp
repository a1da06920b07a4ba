/* Blobs for C++20: a part of lode.hpp, which says what all of it does alike. */
#ifndef LODE_BLOBS_HPP
#define LODE_BLOBS_HPP

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "lode_base.hpp"

namespace lode {

/* A blob that is being written. Unless it is finished, the key has what it had before. */
class blob_writer : public owner<lode_blob_writer, lode_free_blob_writer> {
  public:
    using owner::owner;

    /* Adds bytes to the end. After a failure, taken() says how many of them are in it. */
    [[nodiscard]] lode_status write(std::span<const std::byte> bytes)
    {
        return lode_write_blob(handle(), bytes.data(), bytes.size(), &taken_);
    }
    /* Returns the number of bytes that the last write has taken. */
    std::size_t taken() const { return taken_; }
    /* Puts the blob in its place. Unless it returns LODE_BUSY, the writer has ended then. */
    [[nodiscard]] lode_status finish()
    {
        const lode_status status = lode_finish_blob(handle());
        if (status != LODE_BUSY)
            release();
        return status;
    }

  private:
    std::size_t taken_ = 0;
};

/* A blob that is being read. */
class blob_reader : public owner<lode_blob_reader, lode_free_blob_reader> {
  public:
    using owner::owner;

    /* Reads the next bytes; returns their part of the buffer, which is empty at the end. */
    result<std::span<std::byte>> read(std::span<std::byte> buffer)
    {
        std::size_t size = 0;
        const lode_status status = lode_read_blob(handle(), buffer.data(), buffer.size(), &size);
        if (status != LODE_OK && status != LODE_END)
            return status;
        return buffer.first(size);
    }
    /* Sets the offset of the next read. */
    [[nodiscard]] lode_status seek(std::uint64_t offset)
    {
        return lode_seek_blob(handle(), offset);
    }
    result<std::uint64_t> length_bytes() const
    {
        std::uint64_t length = 0;
        const lode_status status = lode_blob_reader_length(handle(), &length);
        if (status != LODE_OK)
            return status;
        return length;
    }
};

/* A blob of a list: its key, which points to memory of the list, and its length. */
struct listed_blob {
    std::span<const std::byte> key;
    std::uint64_t length_bytes;
};

/* The blobs of a store, one after another. */
class blob_list : public owner<lode_blob_list, lode_free_blob_list> {
  public:
    using owner::owner;

    /* Reads the next blob, whose key stays until the next call; none at the end, and after a
     * failure, which status() has. */
    std::optional<listed_blob> next()
    {
        const void *key = nullptr;
        std::size_t size = 0;
        std::uint64_t length = 0;
        status_ = lode_next_blob(handle(), &key, &size, &length);
        if (status_ != LODE_OK)
            return std::nullopt;
        return listed_blob{{static_cast<const std::byte *>(key), size}, length};
    }
    /* Returns LODE_OK after a blob, LODE_END after the last one, or why none came. */
    lode_status status() const { return status_; }

  private:
    lode_status status_ = LODE_OK;
};

/* A blob store; made by database::create_blobs and database::open_blobs. */
class blobs : public owner<lode_blobs, lode_free_blobs> {
  public:
    using owner::owner;
    using bytes = std::span<const std::byte>;

    /* Writes a blob at once. */
    [[nodiscard]] lode_status put(bytes key, bytes data) const
    {
        return lode_put_blob(handle(), key.data(), key.size(), data.data(), data.size());
    }
    /* Reads a part of a blob: up to `most` bytes from an offset on. None if it is missing. */
    result<std::optional<std::vector<std::byte>>> get(bytes key, std::uint64_t from = 0,
                                                      std::size_t most = SIZE_MAX) const
    {
        using part = std::optional<std::vector<std::byte>>;
        auto opened = read(key);
        if (!opened)
            return opened.status();
        if (!*opened)
            return part();
        const auto length = (**opened).length_bytes();
        if (!length)
            return length.status();
        const std::uint64_t left = *length - (from < *length ? from : *length);
        std::vector<std::byte> found(left < most ? static_cast<std::size_t>(left) : most);
        const lode_status status = (**opened).seek(from);
        const auto filled = (**opened).read(found);
        if (status != LODE_OK || !filled)
            return status != LODE_OK ? status : filled.status();
        return part(std::move(found));
    }
    /* Returns the number of bytes of a blob; none if it is missing. */
    result<std::optional<std::uint64_t>> length_bytes(bytes key) const
    {
        std::uint64_t length = 0;
        const lode_status status = lode_blob_length(handle(), key.data(), key.size(), &length);
        if (status == LODE_NOT_FOUND)
            return std::optional<std::uint64_t>();
        if (status != LODE_OK)
            return status;
        return std::optional(length);
    }
    /* Removes a blob; LODE_NOT_FOUND if it is missing. */
    [[nodiscard]] lode_status remove(bytes key) const
    {
        return lode_remove_blob(handle(), key.data(), key.size());
    }
    /* Starts to write a blob. */
    result<blob_writer> write(bytes key) const
    {
        lode_blob_writer opened{};
        const lode_status status =
            lode_open_blob_writer(handle(), key.data(), key.size(), &opened);
        return owned<blob_writer>(status, opened);
    }
    /* Starts to read a blob; none if it is missing. */
    result<std::optional<blob_reader>> read(bytes key) const
    {
        lode_blob_reader opened{};
        const lode_status status =
            lode_open_blob_reader(handle(), key.data(), key.size(), &opened);
        return owned_if_found<blob_reader>(status, opened);
    }
    /* Lists the blobs whose keys start with a prefix; by default all. */
    result<blob_list> list(bytes prefix = {}) const
    {
        lode_blob_list opened{};
        const lode_status status =
            lode_open_blob_list(handle(), prefix.data(), prefix.size(), &opened);
        return owned<blob_list>(status, opened);
    }

    /* Returns the bytes of a text, as a key or as a blob. */
    static bytes of(std::string_view text) { return std::as_bytes(std::span(text)); }
};

} // namespace lode

#endif
