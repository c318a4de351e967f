/*
 * Which version is this? The macros are what a program was compiled against, the functions what it runs with. In these
 * tests both come from the same place, so they must say the same.
 */
#include "check.h"
#include "nczchunk.h"

static void the_text_is_the_numbers(void)
{
    char text[64];

    snprintf(text, sizeof text, "%d.%d.%d", NCZCHUNK_VERSION_MAJOR, NCZCHUNK_VERSION_MINOR, NCZCHUNK_VERSION_PATCH);
    CHECK_STR(NCZCHUNK_VERSION, text);
}

static void the_library_is_the_one_of_the_header(void)
{
    CHECK_STR(nczchunk_version(), NCZCHUNK_VERSION);
    CHECK_EQ(nczchunk_version_number(), NCZCHUNK_VERSION_NUMBER);
}

/* The number is there to be compared, also by the preprocessor. */
static void versions_can_be_compared(void)
{
#if NCZCHUNK_VERSION_NUMBER < 3000
#error "the number of 0.3.0 is 3000"
#endif
    CHECK(nczchunk_version_number() >= 3000);
}

int main(void)
{
    the_text_is_the_numbers();
    the_library_is_the_one_of_the_header();
    versions_can_be_compared();
    return 0;
}
