/* The checks that the tests are written in. Each prints where it failed and ends the program. */
#ifndef NCZCHUNK_CHECK_H
#define NCZCHUNK_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_FAILED(...) \
    (fprintf(stderr, "%s:%d: ", __FILE__, __LINE__), fprintf(stderr, __VA_ARGS__), fputc('\n', stderr), exit(1))

/* That something holds. */
#define CHECK(condition) ((condition) ? (void)0 : CHECK_FAILED("%s does not hold", #condition))

/* That two integers are equal. */
#define CHECK_EQ(got, expected)                                                                        \
    do {                                                                                               \
        long long check_got = (long long)(got), check_expected = (long long)(expected);                \
        if (check_got != check_expected)                                                               \
            CHECK_FAILED("%s is %lld, not %s = %lld", #got, check_got, #expected, check_expected);     \
    } while (0)

/* That two texts are equal. */
#define CHECK_STR(got, expected)                                                                       \
    do {                                                                                               \
        const char *check_got = (got), *check_expected = (expected);                                   \
        if (strcmp(check_got, check_expected) != 0)                                                    \
            CHECK_FAILED("%s is \"%s\", not \"%s\"", #got, check_got, check_expected);                 \
    } while (0)

/* That a call succeeded. */
#define CHECK_OK(call) CHECK_EQ(call, 0)

/* Windows has no alarms. What waits for ever is ended by ctest. */
#ifdef _WIN32
#define alarm(seconds) ((void)(seconds))
#endif

#endif
