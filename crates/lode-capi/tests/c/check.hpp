/* Checks of the test programs in C++. */
#ifndef CHECK_HPP
#define CHECK_HPP

#include <cstdio>
#include <cstdlib>

#include "lode.hpp"

/* Checks a condition; if it is not so, ends the program with the message of the thread. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            std::fprintf(stderr, "%s:%d: not so: %s: %s\n", __FILE__, __LINE__, #condition,        \
                         lode_error_message());                                                    \
            std::exit(1);                                                                          \
        }                                                                                          \
    } while (0)

#endif
