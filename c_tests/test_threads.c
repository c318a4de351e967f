/*
 * Threads may read through one variable and one store at the same time, if the store's callbacks allow it, and write as
 * long as no two of them write to the same chunk. A context serves one call at a time, so every thread has its own.
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
    nczchunk_chunk_store *store;
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
        store_add_zstd(s.store);

    for (unsigned i = 0; i < NUM_THREADS; i++) {
        readers[i].shared = &s;
        readers[i].seed = i;
        CHECK_OK(pthread_create(&readers[i].thread, NULL, read_many, &readers[i]));
    }
    for (unsigned i = 0; i < NUM_THREADS; i++)
        CHECK_OK(pthread_join(readers[i].thread, NULL));

    CHECK_EQ(s.array.destroyed, 0);
    nczchunk_chunk_store_free(s.store);
    CHECK_EQ(s.array.destroyed, 1);
    nczchunk_var_free(s.var);
    memory_array_clear(&s.array);
}

/* --- Writing: the array's first dimension has three rows of chunks, and each thread has its own. */

enum { NUM_WRITERS = 3, WRITES = 100 };

static const size_t row_start[NUM_WRITERS] = {0, 5, 10}, row_length[NUM_WRITERS] = {5, 5, 2};

typedef struct writer {
    const shared *shared;
    size_t row;
    pthread_t thread;
} writer;

/* Writes parts of its row of chunks, then all of it, and reads back what it wrote. */
static void *write_many(void *argument)
{
    writer *w = argument;
    const shared *s = w->shared;
    const size_t all_start[RANK] = {row_start[w->row], 0, 0}, all_count[RANK] = {row_length[w->row], 10, 8};
    unsigned seed = 100 + (unsigned)w->row;
    int data[5 * 10 * 8], after[5 * 10 * 8];
    nczchunk_context *context;

    CHECK_OK(nczchunk_context_new(&context));
    for (int call = 0; call < WRITES; call++) {
        size_t start[RANK], count[RANK], elements = 1;
        ptrdiff_t stride[RANK];

        for (size_t d = 0; d < RANK; d++) {
            size_t first = any_below(&seed, all_count[d]);

            start[d] = all_start[d] + first;
            stride[d] = 1 + (ptrdiff_t)any_below(&seed, 4);
            count[d] = 1 + any_below(&seed, 1 + (all_count[d] - 1 - first) / (size_t)stride[d]);
            elements *= count[d];
        }
        for (size_t e = 0; e < elements; e++)
            data[e] = (int)any_below(&seed, 30000);
        CHECK_OK(nczchunk_write_vars(s->var, s->store, start, count, stride, data, context));
        CHECK_OK(nczchunk_read_vars(s->var, s->store, start, count, stride, after, context));
        CHECK(memcmp(data, after, elements * sizeof(int)) == 0);
    }
    /* In the end the array has its own numbers again. */
    for (size_t e = 0; e < row_length[w->row] * 80; e++)
        data[e] = (int)(row_start[w->row] * 80 + e);
    CHECK_OK(nczchunk_write_vars(s->var, s->store, all_start, all_count, NULL, data, context));
    nczchunk_context_free(context);
    return NULL;
}

/* The plans of two writers share no chunk: that is why they may. */
static void check_plans_of_writers(const nczchunk_var *var)
{
    nczchunk_plan *plans[NUM_WRITERS];

    for (size_t i = 0; i < NUM_WRITERS; i++) {
        const size_t start[RANK] = {row_start[i], 0, 0}, count[RANK] = {row_length[i], 10, 8};
        CHECK_OK(nczchunk_plan_new(var, start, count, NULL, NCZCHUNK_WRITE, &plans[i], NULL));
    }
    for (size_t i = 0; i < NUM_WRITERS; i++)
        for (size_t j = 0; j < NUM_WRITERS; j++) {
            int shared = -1;

            CHECK_OK(nczchunk_plan_shares_chunks(plans[i], plans[j], &shared, NULL));
            CHECK_EQ(shared, i == j);
        }
    for (size_t i = 0; i < NUM_WRITERS; i++)
        nczchunk_plan_free(plans[i]);
}

static void threads_write_different_chunks_at_the_same_time(store_kind kind, int compressed)
{
    const size_t zeros[RANK] = {0, 0, 0};
    writer writers[NUM_WRITERS];
    int all[12 * 10 * 8];
    shared s;

    memory_array_init_absent(&s.array, RANK, dimlens, chunklens, sizeof(int));
    s.var = memory_array_var(&s.array);
    s.store = memory_array_store(&s.array, kind);
    if (compressed)
        store_add_zstd(s.store);
    check_plans_of_writers(s.var);
    for (size_t i = 0; i < NUM_WRITERS; i++) {
        writers[i].shared = &s;
        writers[i].row = i;
        CHECK_OK(pthread_create(&writers[i].thread, NULL, write_many, &writers[i]));
    }
    for (size_t i = 0; i < NUM_WRITERS; i++)
        CHECK_OK(pthread_join(writers[i].thread, NULL));
    CHECK_OK(nczchunk_read_vars(s.var, s.store, zeros, NULL, NULL, all, NULL));
    memory_array_expect(&s.array, zeros, NULL, NULL, NULL, all);
    nczchunk_chunk_store_free(s.store);
    nczchunk_var_free(s.var);
    memory_array_clear(&s.array);
}

int main(void)
{
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        threads_read_at_the_same_time(store_kinds[kind], 0);
        threads_read_at_the_same_time(store_kinds[kind], 1);
        threads_write_different_chunks_at_the_same_time(store_kinds[kind], 0);
    }
    threads_write_different_chunks_at_the_same_time(FILLING, 1);
    return 0;
}
