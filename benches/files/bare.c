/* What one would write by hand to read ranges of a file: preads, and plain loops that move the words that are wanted to
   where they belong and reverse their bytes. And the preads alone, which nothing that reads can do without. */
#define _FILE_OFFSET_BITS 64

#include <stddef.h>
#include <stdint.h>
#include <unistd.h>

static int read_range(int file, char *into, size_t length, int64_t offset)
{
    while (length > 0) {
        ssize_t found = pread(file, into, length, offset);

        if (found <= 0)
            return 1;
        into += found;
        length -= (size_t)found;
        offset += found;
    }
    return 0;
}

/* Reads num ranges of a file, each into the bytes that follow the last one, or all into the same. 0 if all is read. */
int bare_read(int file, size_t num, const int64_t *offsets, const size_t *lengths, char *into, int apart)
{
    for (size_t i = 0; i < num; i++) {
        if (read_range(file, into, lengths[i], offsets[i]))
            return 1;
        if (apart)
            into += lengths[i];
    }
    return 0;
}

static uint32_t swapped(uint32_t word)
{
    return word >> 24 | (word >> 8 & 0xff00) | (word << 8 & 0xff0000) | word << 24;
}

/* Reverses the bytes of each of num words. */
void bare_swap(uint32_t *words, size_t num)
{
    for (size_t i = 0; i < num; i++)
        words[i] = swapped(words[i]);
}

/* Reads num ranges of a file, one after another into a buffer, and moves words from there, swapped: range i holds
   num_rows[i] rows, whose first words are rows[] bytes behind its beginning; a row has num_words words, distance words
   apart. */
int bare_deliver(int file, size_t num, const int64_t *offsets, const size_t *lengths, const size_t *num_rows,
                 const size_t *rows, size_t num_words, size_t distance, char *buffer, uint32_t *out)
{
    for (size_t i = 0; i < num; i++) {
        if (read_range(file, buffer, lengths[i], offsets[i]))
            return 1;
        for (size_t r = 0; r < num_rows[i]; r++) {
            const uint32_t *from = (const uint32_t *)(buffer + *rows++);

            if (distance == 1)
                for (size_t k = 0; k < num_words; k++)
                    out[k] = swapped(from[k]);
            else
                for (size_t k = 0; k < num_words; k++)
                    out[k] = swapped(from[k * distance]);
            out += num_words;
        }
    }
    return 0;
}
