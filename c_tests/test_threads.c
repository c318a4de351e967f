/*
 * Threads may read through one variable and one store at the same time, if the store's callbacks allow it. A context
 * serves one call at a time, so every thread has its own.
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>

#include "zstd_frame.h"

enum { NUM_THREADS = 8, CALLS = 500, RANK = 3 };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3};

/* What all threads share. */
typedef struct shared {
    memory_array array;
    nczchunk_var *var;
    nczchunk_store *store;
} shared;

typedef struct reader {
    const shared *shared;
    unsigned seed;
    pthread_t thread;
} reader;

/* A number below limit, another each time. */
static size_t any_below(unsigned *seed, size_t limit)
{
    *seed = *seed * 1103515245u + 12345u;
    return (*seed >> 16) % limit;
}

/* Reads hyperslabs of all kinds, and some that do not fit, and checks each. */
static void *read_many(void *argument)
{
    reader *r = argument;
    const shared *s = r->shared;
    nczchunk_context *context;
    int data[12 * 10 * 8];

    CHECK_OK(nczchunk_context_new(&context));
    for (int call = 0; call < CALLS; call++) {
        size_t start[RANK], count[RANK], misfit = any_below(&r->seed, 8);
        ptrdiff_t stride[RANK];

        for (size_t d = 0; d < RANK; d++) {
            start[d] = any_below(&r->seed, dimlens[d]);
            stride[d] = 1 + (ptrdiff_t)any_below(&r->seed, 4);
            count[d] = 1 + any_below(&r->seed, 1 + (dimlens[d] - 1 - start[d]) / (size_t)stride[d]);
        }
        if (misfit < RANK) {
            count[misfit] = dimlens[misfit] + 1;
            CHECK_EQ(nczchunk_read_vars(s->var, s->store, start, count, stride, data, context), NCZCHUNK_EEDGE);
            CHECK_EQ(nczchunk_context_dimension(context), misfit);
        } else {
            CHECK_OK(nczchunk_read_vars(s->var, s->store, start, count, stride, data, context));
            CHECK_EQ(nczchunk_context_status(context), NCZCHUNK_NOERR);
            memory_array_expect(&s->array, start, count, stride, NULL, data);
        }
    }
    nczchunk_context_free(context);
    return NULL;
}

static void threads_read_at_the_same_time(store_kind kind, int compressed)
{
    reader readers[NUM_THREADS];
    shared s;

    memory_array_init(&s.array, RANK, dimlens, chunklens, sizeof(int));
    memory_chunk_remove(&s.array.chunks[7], NCZCHUNK_EEMPTY);
    if (compressed)
        memory_array_compress(&s.array);
    s.var = memory_array_var(&s.array);
    s.store = memory_array_store(&s.array, kind);
    if (compressed)
        CHECK_OK(nczchunk_store_wrap_zstd(s.store, NULL));

    for (unsigned i = 0; i < NUM_THREADS; i++) {
        readers[i].shared = &s;
        readers[i].seed = i;
        CHECK_OK(pthread_create(&readers[i].thread, NULL, read_many, &readers[i]));
    }
    for (unsigned i = 0; i < NUM_THREADS; i++)
        CHECK_OK(pthread_join(readers[i].thread, NULL));

    CHECK_EQ(s.array.destroyed, 0);
    nczchunk_store_free(s.store);
    CHECK_EQ(s.array.destroyed, 1);
    nczchunk_var_free(s.var);
    memory_array_clear(&s.array);
}

int main(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        threads_read_at_the_same_time(store_kinds[kind], 0);
        threads_read_at_the_same_time(store_kinds[kind], 1);
    }
    return 0;
}
