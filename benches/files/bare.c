/*
 * The least that a read can take: the same ranges of a file, read one after the other by pread. Each lands behind the
 * one before it or, if apart is 0, all in the same place, as where the values are picked out of what was read.
 */
#define _FILE_OFFSET_BITS 64
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <unistd.h>

int bare_read(int file, size_t num, const int64_t *offsets, const size_t *lengths, char *into, int apart);

int bare_read(int file, size_t num, const int64_t *offsets, const size_t *lengths, char *into, int apart)
{
    for (size_t i = 0; i < num; i++) {
        for (size_t done = 0; done < lengths[i];) {
            ssize_t read = pread(file, into + done, lengths[i] - done, (off_t)(offsets[i] + (int64_t)done));
            if (read <= 0) return 1;
            done += (size_t)read;
        }
        if (apart) into += lengths[i];
    }
    return 0;
}
