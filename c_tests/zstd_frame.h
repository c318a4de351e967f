/*
 * Zstandard frames made by hand (RFC 8878), with blocks that are not compressed or repeat one byte: enough to say
 * things to a decoder that no compressor would say.
 *
 *     size_t n = zstd_frame_begin(out, content_size);
 *     n += zstd_frame_raw_block(out + n, bytes, size, 0);
 *     n += zstd_frame_rle_block(out + n, byte, size, 1);       the last block
 */
#ifndef ZSTD_FRAME_H
#define ZSTD_FRAME_H

#include <stdint.h>

#include "memory_array.h"

/* No block may have more bytes. */
#define ZSTD_BLOCK_MAX ((size_t)128 * 1024)

/* Bytes around the content of a frame of one raw block. */
#define ZSTD_FRAME_OVERHEAD 16

static inline size_t zstd_little_endian(unsigned char *out, unsigned long long value, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        out[i] = (unsigned char)(value >> (8 * i));
    return bytes;
}

/* The header of a frame that claims this content size, in 8 bytes. */
static inline size_t zstd_frame_begin(unsigned char *out, unsigned long long content_size)
{
    size_t n = zstd_little_endian(out, 0xFD2FB528u, 4);

    out[n++] = 0xE0; /* a content size of 8 bytes; the whole frame is its own window */
    return n + zstd_little_endian(out + n, content_size, 8);
}

/* The header of a frame that does not say how large its content is, with a window of 128 KiB. */
static inline size_t zstd_frame_begin_unsized(unsigned char *out)
{
    size_t n = zstd_little_endian(out, 0xFD2FB528u, 4);

    out[n++] = 0;
    out[n++] = 7 << 3;
    return n;
}

static inline size_t zstd_frame_raw_block(unsigned char *out, const void *bytes, size_t size, int last)
{
    size_t n = zstd_little_endian(out, (unsigned long long)size << 3 | 0u << 1 | (last != 0), 3);

    memcpy(out + n, bytes, size);
    return n + size;
}

/* A byte to be repeated. */
static inline size_t zstd_frame_rle_block(unsigned char *out, unsigned char byte, size_t size, int last)
{
    size_t n = zstd_little_endian(out, (unsigned long long)size << 3 | 1u << 1 | (last != 0), 3);

    out[n++] = byte;
    return n;
}

/* A frame that decoders skip. */
static inline size_t zstd_skippable_frame(unsigned char *out, const void *bytes, size_t size)
{
    size_t n = zstd_little_endian(out, 0x184D2A50u, 4);

    n += zstd_little_endian(out + n, size, 4);
    memcpy(out + n, bytes, size);
    return n + size;
}

/* A whole frame of at most ZSTD_BLOCK_MAX bytes; out has room for ZSTD_FRAME_OVERHEAD more. */
static inline size_t zstd_frame(unsigned char *out, const void *bytes, size_t size)
{
    size_t n = zstd_frame_begin(out, size);
    return n + zstd_frame_raw_block(out + n, bytes, size, 1);
}

/* Adds the codec zstd to a store, with options for encoding. */
static inline void store_add_zstd_as(nczchunk_chunk_store *store, const nczchunk_zstd_options *options)
{
    nczchunk_codec *codec;

    CHECK_OK(nczchunk_codec_zstd(options, &codec, NULL));
    CHECK_OK(nczchunk_chunk_store_add_codec(store, codec, NULL));
}

/* Puts every chunk of an array into a frame. */
static inline void memory_array_compress(memory_array *array)
{
    for (size_t c = 0; c < array->num_chunks; c++) {
        memory_chunk *chunk = &array->chunks[c];
        unsigned char *out;

        if (chunk->bytes == NULL)
            continue;
        out = malloc(chunk->nbytes + ZSTD_FRAME_OVERHEAD);
        CHECK(out != NULL);
        memory_chunk_set(chunk, out, zstd_frame(out, chunk->bytes, chunk->nbytes));
        free(out);
    }
}

#endif
