/*
 * Functions that rustc's code calls where it is compiled for ThreadSanitizer, and that gcc's ThreadSanitizer does not
 * have. It does have the functions of the C library, which look at what is read and written.
 */
#include <string.h>

void *__tsan_memcpy(void *to, const void *from, size_t n);
void *__tsan_memmove(void *to, const void *from, size_t n);
void *__tsan_memset(void *to, int byte, size_t n);

void *__tsan_memcpy(void *to, const void *from, size_t n)
{
    return memcpy(to, from, n);
}

void *__tsan_memmove(void *to, const void *from, size_t n)
{
    return memmove(to, from, n);
}

void *__tsan_memset(void *to, int byte, size_t n)
{
    return memset(to, byte, n);
}
