/* assay_driver.hpp: assay_driver.h for a plugin in C++, whose functions let no exception out.
 *
 *   int insert(assay_handle *handle, const void *record, assay_error *error)
 *   {
 *       return assay::kept_inside(error, [&] { ... return ASSAY_DONE; });
 *   }
 */
#ifndef ASSAY_DRIVER_HPP
#define ASSAY_DRIVER_HPP

#include "assay_driver.h"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>

namespace assay {

/* Returns ASSAY_FAILED with a reason. */
inline int failed(assay_error *error, const char *why) noexcept
{
    std::snprintf(error->text, sizeof error->text, "%s", why);
    return ASSAY_FAILED;
}

/* Returns ASSAY_UNSUPPORTED with what the engine does not have. */
inline int unsupported(assay_error *error, const char *what) noexcept
{
    std::snprintf(error->text, sizeof error->text, "%s", what);
    return ASSAY_UNSUPPORTED;
}

/* Returns what work returns. An exception becomes ASSAY_FAILED with its text. */
template <class Work>
int kept_inside(assay_error *error, Work &&work) noexcept
{
    try {
        return work();
    } catch (const std::bad_alloc &) {
        return failed(error, "out of memory");
    } catch (const std::exception &thrown) {
        return failed(error, thrown.what());
    } catch (...) {
        return failed(error, "an exception that does not say why");
    }
}

/* The bytes of a payload that are used: all, or those up to the end of a value of variable length,
 * which is the last column and has its length in front. */
inline std::size_t used_bytes(const assay_schema &schema, const void *payload) noexcept
{
    const assay_column &last = schema.columns[schema.column_count - 1];
    if (last.type != ASSAY_VAR_BYTES)
        return schema.payload_size;
    const std::size_t from = last.offset - schema.key_size;
    std::uint32_t length;
    std::memcpy(&length, static_cast<const unsigned char *>(payload) + from, sizeof length);
    return from + sizeof length + length;
}

/* The value of a parameter that was given, or a null pointer. */
inline const char *parameter(const assay_open_options &options, const char *name) noexcept
{
    for (std::uint32_t at = 0; at < options.parameter_count; at++)
        if (std::strcmp(options.parameters[at].name, name) == 0)
            return options.parameters[at].value;
    return nullptr;
}

/* The table of an engine with its names. All else is 0 or null until it is set. */
inline assay_driver driver_of(const char *id, const char *name, const char *version,
                              const char *about) noexcept
{
    assay_driver driver{};
    driver.size_bytes = sizeof driver;
    driver.abi_version = ASSAY_DRIVER_ABI;
    driver.id = id;
    driver.name = name;
    driver.version = version;
    driver.about = about;
    return driver;
}

/* The functions that every plugin has, in the order of the table. */
inline void set_functions(assay_driver &driver, decltype(assay_driver::create) create,
                          decltype(assay_driver::close) close,
                          decltype(assay_driver::settings) settings,
                          decltype(assay_driver::connect) connect,
                          decltype(assay_driver::disconnect) disconnect,
                          decltype(assay_driver::insert) insert,
                          decltype(assay_driver::query) query) noexcept
{
    driver.create = create;
    driver.close = close;
    driver.settings = settings;
    driver.connect = connect;
    driver.disconnect = disconnect;
    driver.insert = insert;
    driver.query = query;
}

} // namespace assay

/* Exports the table that a function returns. */
#define ASSAY_EXPORT(driver)                                                                       \
    const assay_driver *assay_plugin(void)                                                         \
    {                                                                                              \
        static const assay_driver DRIVER = driver();                                               \
        return &DRIVER;                                                                            \
    }

#endif
