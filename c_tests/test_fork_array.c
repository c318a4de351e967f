/*
 * Arrays that are open can be read by a child that is forked while other threads read them.
 *
 *     if (fork() == 0)
 *         status = nczchunk_array_read(array, start, count, stride, data, context);      whatever others were doing
 *
 * One array is in a directory and has chunks, which it keeps in its cache when they are decoded; one is in memory and
 * has shards, of which it keeps the indices. The child leaves what is kept alone: it may be half-changed. So it does
 * with the metadata that a storage keeps.
 */
#define _XOPEN_SOURCE 700
#include <unistd.h>

#include "forks.h"
#include "nczchunk_array.h"

enum { ROWS = 16, COLUMNS = 12, ELEMENTS = ROWS * COLUMNS, NUM_ARRAYS = 2, FORKS = 200 };

static const size_t shape[2] = {ROWS, COLUMNS}, chunk_shape[2] = {4, 3}, shard_shape[2] = {8, 6}, zeros[2] = {0, 0};

typedef struct shared {
    nczchunk_storage *storages[NUM_ARRAYS];
    nczchunk_array *arrays[NUM_ARRAYS];
    nczchunk_storage *keeps_metadata;
} shared;

/* Opens the arrays. They are there already. */
static void open_arrays(shared *s)
{
    for (size_t i = 0; i < NUM_ARRAYS; i++)
        CHECK_OK(nczchunk_array_open_in(s->storages[i], "sst", NCZCHUNK_READ, &s->arrays[i], NULL));
}

static void close_arrays(void *user)
{
    const shared *s = user;

    for (size_t i = 0; i < NUM_ARRAYS; i++) {
        nczchunk_array_close(s->arrays[i]);
        nczchunk_storage_free(s->storages[i]);
    }
    nczchunk_storage_free(s->keeps_metadata);
}

/* Makes the arrays, in a directory and in memory. Every element is its number. */
static void make_arrays(shared *s)
{
    static char attributes[200000];
    int data[ELEMENTS];

    for (int e = 0; e < ELEMENTS; e++)
        data[e] = e;
    /* So long that a thread which reads them is often forked from. */
    snprintf(attributes, sizeof attributes, "{\"long\": \"%0*d\"}", (int)sizeof attributes - 20, 0);
    CHECK_OK(nczchunk_storage_create("arrays", &s->storages[0], NULL));
    CHECK_OK(nczchunk_storage_memory(&s->storages[1], NULL));
    for (size_t i = 0; i < NUM_ARRAYS; i++) {
        nczchunk_description description = NCZCHUNK_DESCRIPTION_INIT;
        nczchunk_array *array;

        description.type = NCZCHUNK_INT;
        description.rank = 2;
        description.overwrite = 1;
        description.shape = shape;
        description.chunk_shape = chunk_shape;
        description.shard_shape = i == 1 ? shard_shape : NULL;
        description.attributes_json = i == 0 ? attributes : NULL;
        CHECK_OK(nczchunk_array_create_in(s->storages[i], "sst", &description, &array, NULL));
        CHECK_OK(nczchunk_array_write(array, zeros, NULL, NULL, data, NULL));
        nczchunk_array_close(array);
    }
    CHECK_OK(nczchunk_storage_open("arrays", &s->keeps_metadata, NULL));
    CHECK_OK(nczchunk_storage_keep_metadata(s->keeps_metadata, NULL));
    open_arrays(s);
}

/* Reads a part of every chunk, which is what is kept, and all. */
static void read_arrays(void *user, nczchunk_context *context, int is_child)
{
    const shared *s = user;
    const size_t count[2] = {ROWS / 2, COLUMNS};
    const ptrdiff_t stride[2] = {2, 1};
    nczchunk_array *opened;
    int data[ELEMENTS];

    (void)is_child;
    CHECK_OK(nczchunk_array_open_in(s->keeps_metadata, "sst", NCZCHUNK_READ, &opened, context));
    nczchunk_array_close(opened);
    for (size_t i = 0; i < NUM_ARRAYS; i++) {
        CHECK_OK(nczchunk_array_read(s->arrays[i], zeros, count, stride, data, context));
        for (size_t e = 0; e < ELEMENTS / 2; e++)
            CHECK_EQ(data[e], e / COLUMNS * 2 * COLUMNS + e % COLUMNS);
        CHECK_OK(nczchunk_array_read(s->arrays[i], zeros, NULL, NULL, data, context));
        for (size_t e = 0; e < ELEMENTS; e++)
            CHECK_EQ(data[e], e);
    }
}

/* The arrays can be opened once more, and those of the parent closed. */
static void open_again(void *user)
{
    shared *s = user, other = *s;

    open_arrays(&other);
    for (size_t i = 0; i < NUM_ARRAYS; i++)
        nczchunk_array_close(s->arrays[i]);
    *s = other;
}

int main(void)
{
    static shared s;
    static const forks all = {.user = &s, .use = read_arrays, .renew = open_again, .free = close_arrays};

    make_arrays(&s);
    forks_run(&all, FORKS, 0);
    close_arrays(&s);
    return 0;
}
