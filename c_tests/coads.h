/*
 * Real data: sea surface temperatures, 12 months x 90 latitudes x 180 longitudes of 4 bytes, in zstd-compressed chunks
 * of 5 x 40 x 50 as zarr-python wrote them (see data/README.md), and the same array uncompressed to compare with.
 */
#ifndef COADS_H
#define COADS_H

#include "memory_array.h"

enum { COADS_RANK = 3, COADS_ELEMENTS = 12 * 90 * 180 };

static const size_t coads_dimlens[COADS_RANK] = {12, 90, 180}, coads_chunklens[COADS_RANK] = {5, 40, 50};

/* What absent chunks read as. */
static const float coads_fill_value = -1e34f;

/* Reads a whole file into memory that the caller frees; NULL if there is no such file. */
static inline unsigned char *coads_read_file(const char *path, size_t *nbytes)
{
    FILE *file = fopen(path, "rb");
    unsigned char *bytes;
    long length;

    if (file == NULL)
        return NULL;
    CHECK_OK(fseek(file, 0, SEEK_END));
    length = ftell(file);
    CHECK(length >= 0);
    rewind(file);
    bytes = malloc((size_t)length + 1);
    CHECK(bytes != NULL);
    *nbytes = fread(bytes, 1, (size_t)length, file);
    CHECK_EQ(*nbytes, length);
    fclose(file);
    return bytes;
}

/* The array uncompressed, which the caller frees. The file has the least significant byte of a number first. */
static inline float *coads_read_raw(const char *directory)
{
    char path[1024];
    unsigned char *bytes;
    size_t nbytes = 0;

    snprintf(path, sizeof path, "%s/coads_sst.f32", directory);
    bytes = coads_read_file(path, &nbytes);
    if (bytes == NULL)
        CHECK_FAILED("%s is not there; the data directory is the program's argument", path);
    CHECK_EQ(nbytes, COADS_ELEMENTS * sizeof(float));
    for (size_t i = 0; i < nbytes; i += sizeof(float)) {
        uint32_t word = bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16 |
                        (uint32_t)bytes[i + 3] << 24;
        memcpy(&bytes[i], &word, sizeof word);
    }
    return (float *)(void *)bytes;
}

/* The chunks, compressed as they are. */
static inline void coads_load(memory_array *array, const char *directory)
{
    size_t found = 0;

    memory_array_init_absent(array, COADS_RANK, coads_dimlens, coads_chunklens, sizeof(float));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) {
                const ptrdiff_t indices[COADS_RANK] = {i, j, k};
                memory_chunk *chunk = memory_array_chunk(array, indices);
                char path[1024];
                unsigned char *bytes;
                size_t nbytes = 0;

                snprintf(path, sizeof path, "%s/coads_sst.zarr/%d.%d.%d", directory, i, j, k);
                bytes = coads_read_file(path, &nbytes);
                if (bytes == NULL)
                    continue;
                memory_chunk_set(chunk, bytes, nbytes);
                chunk->status = NCZCHUNK_NOERR;
                free(bytes);
                found++;
            }
    if (found != 34)
        CHECK_FAILED("%zu of 34 chunks found in %s; the data directory is the program's argument", found, directory);
}

static inline nczchunk_var *coads_var(const memory_array *array)
{
    nczchunk_var *var = memory_array_var(array);

    CHECK_OK(nczchunk_var_set_fill_value(var, &coads_fill_value, NULL));
    CHECK_OK(nczchunk_var_set_endian(var, NCZCHUNK_ENDIAN_LITTLE, NULL));
    return var;
}

/* A store that decodes. */
static inline nczchunk_chunk_store *coads_store(memory_array *array, store_kind kind)
{
    nczchunk_chunk_store *store = memory_array_store(array, kind);

    store_add_zstd(store);
    return store;
}

#endif
