/* What all parts of lode.hpp use: results, values and owners of handles. Include lode.hpp. */
#ifndef LODE_BASE_HPP
#define LODE_BASE_HPP

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "lode.h"

namespace lode {

/* A value, or the status of the failure in its place. */
template <class T> class [[nodiscard]] result {
  public:
    result(T value) : value_(std::move(value)) {}
    result(lode_status failed) : status_(failed) {}

    /* Returns true if there is a value. */
    explicit operator bool() const { return value_.has_value(); }
    /* Returns LODE_OK, or why there is no value. */
    lode_status status() const { return status_; }
    /* Returns the value, which has to be there. */
    T &operator*() & { return *value_; }
    const T &operator*() const & { return *value_; }
    T &&operator*() && { return *std::move(value_); }
    T *operator->() { return &*value_; }
    const T *operator->() const { return &*value_; }

  private:
    std::optional<T> value_;
    lode_status status_ = LODE_OK;
};

/* Returns the message of the last call of this thread that failed. */
inline std::string_view error_message() { return lode_error_message(); }

/* A value of a column, made of one of C++. Texts and bytes are pointed to, not copied. */
class value : public lode_value {
  public:
    value() : lode_value(lode_null()) {}
    value(std::nullptr_t) : lode_value(lode_null()) {}
    value(const lode_value &other) : lode_value(other) {}
    template <std::same_as<bool> B> value(B truth) : lode_value(lode_bool(truth)) {}
    template <std::signed_integral I> value(I number) : lode_value(lode_i64(number)) {}
    template <std::unsigned_integral U>
        requires(!std::same_as<U, bool>)
    value(U number) : lode_value(lode_u64(number)) {}
    template <std::floating_point F>
    value(F number) : lode_value(lode_f64(static_cast<double>(number))) {}
    value(std::string_view text) : lode_value(lode_text_of(text.data(), text.size())) {}
    value(const char *text) : value(std::string_view(text)) {}
    value(const std::string &text) : value(std::string_view(text)) {}
    template <std::size_t N>
    value(std::span<const std::byte, N> bytes) : lode_value(lode_blob(bytes.data(), bytes.size()))
    {
    }
    template <class T>
    value(const std::optional<T> &other) : value(other ? value(*other) : value(nullptr)) {}

    /* Returns true if there is no value. */
    bool is_null() const { return kind == LODE_NULL; }
    /* Returns the value if it is of that kind, and fits. */
    std::optional<std::uint64_t> as_unsigned() const
    {
        if (kind == LODE_SIGNED && data.i >= 0)
            return static_cast<std::uint64_t>(data.i);
        return kind == LODE_UNSIGNED ? std::optional(data.u) : std::nullopt;
    }
    std::optional<std::int64_t> as_signed() const
    {
        if (kind == LODE_UNSIGNED && data.u <= INT64_MAX)
            return static_cast<std::int64_t>(data.u);
        return kind == LODE_SIGNED || kind == LODE_TIMESTAMP ? std::optional(data.i) : std::nullopt;
    }
    std::optional<double> as_float() const
    {
        return kind == LODE_FLOAT ? std::optional(data.f) : std::nullopt;
    }
    std::optional<bool> as_bool() const
    {
        return kind == LODE_BOOL ? std::optional(data.b != 0) : std::nullopt;
    }
    std::optional<std::string_view> as_text() const
    {
        if (kind != LODE_TEXT)
            return std::nullopt;
        return std::string_view(static_cast<const char *>(data.bytes.data), data.bytes.size);
    }
    std::optional<std::span<const std::byte>> as_bytes() const
    {
        if (kind != LODE_BYTES && kind != LODE_TEXT)
            return std::nullopt;
        return std::span(static_cast<const std::byte *>(data.bytes.data), data.bytes.size);
    }
};
static_assert(sizeof(value) == sizeof(lode_value), "an array of values is one of C");

/* The owner of a handle, which frees it. */
template <class H, lode_status (*Free)(H)> class owner {
  public:
    owner() = default;
    explicit owner(H handle) : handle_(handle) {}
    owner(owner &&other) noexcept : handle_(other.release()) {}
    owner &operator=(owner &&other) noexcept
    {
        if (this != &other) {
            reset();
            handle_ = other.release();
        }
        return *this;
    }
    ~owner() { reset(); }

    H handle() const { return handle_; }
    /* Gives the handle up: the caller frees it. */
    H release() { return std::exchange(handle_, H{}); }

  protected:
    void reset()
    {
        if (handle_.id != 0)
            Free(release());
    }

  private:
    H handle_{};
};

/* Makes the owner of a handle that a call has given, or returns why it gave none. */
template <class T, class H> result<T> owned(lode_status status, H handle)
{
    if (status != LODE_OK)
        return status;
    return T(handle);
}

/* As `owned`; none if the call has found nothing. */
template <class T, class H> result<std::optional<T>> owned_if_found(lode_status status, H handle)
{
    if (status == LODE_NOT_FOUND)
        return std::optional<T>();
    if (status != LODE_OK)
        return status;
    return std::optional<T>(T(handle));
}

/* Returns true for LODE_OK and false for LODE_NOT_FOUND, or why it is not known. */
inline result<bool> was_found(lode_status status)
{
    if (status != LODE_OK && status != LODE_NOT_FOUND)
        return status;
    return status == LODE_OK;
}

} // namespace lode

#endif
