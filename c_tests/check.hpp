// The checks of check.h for tests in C++, and one more.
#ifndef NCZCHUNK_CHECK_HPP
#define NCZCHUNK_CHECK_HPP

#include "check.h"
#include "nczchunk.hpp"

/// That an expression throws an Error with this code (a Status or a std::errc) and these words in its message.
#define CHECK_THROWS(expression, expected, words)                                                                      \
    do {                                                                                                               \
        bool check_thrown = false;                                                                                     \
        try {                                                                                                          \
            static_cast<void>(expression);                                                                             \
        } catch (const nczchunk::Error &check_error) {                                                                 \
            check_thrown = true;                                                                                       \
            if (check_error.code() != (expected) || check_error.message().find(words) == std::string::npos)            \
                CHECK_FAILED("%s throws %d \"%s\", not %s \"%s\"", #expression, check_error.status(),                  \
                             check_error.what(), #expected, std::string(words).c_str());                               \
        }                                                                                                              \
        if (!check_thrown)                                                                                             \
            CHECK_FAILED("%s throws no nczchunk::Error", #expression);                                                 \
    } while (0)

#endif
