/* Checks of the test programs: what is not so ends the program, with the message of the thread. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lode.h"

static inline void check_failed(const char *file, int line, const char *what, int status)
{
    fprintf(stderr, "%s:%d: %s is %d (%s): %s\n", file, line, what, status,
            lode_status_name(status), lode_error_message());
    exit(1);
}

/* Checks the status of a call. */
#define EXPECT(wanted, call)                                                                       \
    do {                                                                                           \
        int status_ = (int)(call);                                                                 \
        if (status_ != (int)(wanted))                                                              \
            check_failed(__FILE__, __LINE__, #call, status_);                                      \
    } while (0)

/* Checks that a call was done. */
#define DONE(call) EXPECT(LODE_OK, call)

/* Checks a condition. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Checks that a call fails, with a part of its message. */
#define REFUSED(wanted, part, call)                                                                \
    do {                                                                                           \
        EXPECT(wanted, call);                                                                      \
        if (!strstr(lode_error_message(), (part)))                                                 \
            check_failed(__FILE__, __LINE__, #call " does not say: " part, wanted);                \
    } while (0)

/* Returns true if a value is this text. */
static inline bool is_text(lode_value value, const char *text)
{
    return value.kind == LODE_TEXT && value.data.bytes.size == strlen(text) &&
           memcmp(value.data.bytes.data, text, strlen(text)) == 0;
}

#endif
