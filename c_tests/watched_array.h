/*
 * An array whose callbacks are watched: in which threads they run, and how often for each chunk. Its store says that
 * they may run at the same time.
 *
 * How many threads work on a call is no matter of luck here: callbacks wait for each other, as many as there should be
 * threads, so a library that used fewer would never end. (Then an alarm ends the test.)
 *
 * A store that fills in chunks is timed on the first of them, before there are other threads, and so is any store with
 * codecs. So its callbacks for the first chunk take their time, do not wait for anybody, and do not count as a thread
 * at work: of N chunks, N - 1 are left to be done at once. A store that lends chunks as they are is not timed. It gets
 * threads for the bytes that are selected: watched_open_large opens an array with enough of them.
 *
 *     watched w;
 *     watched_open(&w, FILLING);
 *     watched_expect_threads(&w, 8, 4);        up to 8 threads are allowed, 4 must be at work at once
 *     CHECK_OK(watched_read(&w, data));
 *     CHECK_EQ(w.num_threads, 4);
 *     watched_check(&w, data);
 *     watched_close(&w);
 */
#ifndef WATCHED_ARRAY_H
#define WATCHED_ARRAY_H

#include <pthread.h>
#include <time.h>

#include "zstd_frame.h"

/* Three dimensions, 3 x 3 x 3 chunks, one of which is absent. */
enum { RANK = 3, CHUNKS = 27, ELEMENTS = 12 * 10 * 8, ABSENT = 7 };

/* The size of an element of which 960 are nearly 8 MB. */
enum { LARGE_ELEMENT = 8192 };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3};

/* Of other arrays, that take its place. */
enum { MOST_DIMENSIONS = 10, MOST_CHUNKS = 640, MOST_THREADS = 300 };

static const size_t zeros[MOST_DIMENSIONS];

typedef struct watched {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;

    /* How often each chunk was asked for by lend or fill, and written by release or store. */
    int asked[MOST_CHUNKS], written[MOST_CHUNKS];
    /* The threads that callbacks ran in. */
    pthread_t threads[MOST_THREADS];
    store_kind kind;
    /* Whether the store is timed. */
    int is_timed;
    /* The chunk that it is timed on: the first one of a call for which threads are expected. */
    const memory_chunk *timed;
    size_t num_threads;
    /* So many callbacks wait for each other, once. */
    size_t parties, arrived;
    pthread_mutex_t lock;
    pthread_cond_t news;
    /* What a callback does besides; NULL: nothing. */
    void (*also)(struct watched *w, memory_chunk *chunk);
} watched;

/* --- The callbacks. */

static inline void watched_count(const watched *w, const ptrdiff_t *chunk_indices, int *times)
{
    __atomic_fetch_add(&times[memory_array_chunk(&w->array, chunk_indices) - w->array.chunks], 1, __ATOMIC_RELAXED);
}

/* Whether this is the chunk that the store is timed on. If so it takes long enough for any number of threads. */
static inline int watched_take_time(watched *w, const memory_chunk *chunk)
{
    const struct timespec two_milliseconds = {0, 2000000};

    if (!w->is_timed || w->parties < 2)
        return 0;
    pthread_mutex_lock(&w->lock);
    if (w->timed == NULL)
        w->timed = chunk;
    pthread_mutex_unlock(&w->lock);
    if (w->timed != chunk)
        return 0;
    nanosleep(&two_milliseconds, NULL);
    return 1;
}

/* Writes down the thread, and waits for the others. */
static inline void watched_meet(watched *w)
{
    size_t t = 0;

    pthread_mutex_lock(&w->lock);
    while (t < w->num_threads && !pthread_equal(w->threads[t], pthread_self()))
        t++;
    if (t == w->num_threads) {
        CHECK(t < MOST_THREADS);
        w->threads[w->num_threads++] = pthread_self();
    }
    if (w->arrived < w->parties) {
        w->arrived++;
        pthread_cond_broadcast(&w->news);
        while (w->arrived < w->parties)
            pthread_cond_wait(&w->news, &w->lock);
    }
    pthread_mutex_unlock(&w->lock);
}

/* Waits for the other threads, if this is the time, and does what there is to do besides. */
static inline void watched_enter(watched *w, const ptrdiff_t *chunk_indices)
{
    memory_chunk *chunk = memory_array_chunk(&w->array, chunk_indices);

    if (!watched_take_time(w, chunk))
        watched_meet(w);
    if (w->also != NULL)
        w->also(w, chunk);
}

static inline int watched_lend(void *user, nczchunk_borrowed_chunk *loan)
{
    watched *w = user;

    watched_count(w, loan->chunk_indices, w->asked);
    watched_enter(w, loan->chunk_indices);
    return memory_array_lend(&w->array, loan);
}

static inline int watched_fill(void *user, nczchunk_request *request)
{
    watched *w = user;

    watched_count(w, request->chunk_indices, w->asked);
    watched_enter(w, request->chunk_indices);
    return memory_array_fill(&w->array, request);
}

static inline int watched_lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    watched *w = user;

    watched_enter(w, loan->chunk_indices);
    return memory_array_lend_to_write(&w->array, loan);
}

/* A chunk that is given back changed is a chunk that is written. */
static inline int watched_release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    watched *w = user;

    if (loan->access == NCZCHUNK_WRITE && status == NCZCHUNK_NOERR)
        watched_count(w, loan->chunk_indices, w->written);
    return memory_array_release(&w->array, loan, status);
}

static inline int watched_save(void *user, nczchunk_request *request)
{
    watched *w = user;

    watched_count(w, request->chunk_indices, w->written);
    watched_enter(w, request->chunk_indices);
    return memory_array_save(&w->array, request);
}

/* --- The array. */

/* Opens it with elements of any size, and a store that need not allow several threads. */
static inline void watched_open_as(watched *w, store_kind kind, size_t element_size, size_t concurrent)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&w->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&w->array);

    memset(w, 0, sizeof *w);
    w->kind = kind;
    w->is_timed = kind == FILLING;
    memory_array_init(&w->array, RANK, dimlens, chunklens, element_size);
    memory_chunk_remove(&w->array.chunks[ABSENT], NCZCHUNK_EEMPTY);
    w->var = memory_array_var(&w->array);
    lending.lend = watched_lend;
    lending.lend_to_write = watched_lend_to_write;
    lending.release = watched_release;
    filling.fill = watched_fill;
    filling.store = watched_save;
    lending.concurrent = filling.concurrent = concurrent;
    if (kind == LENDING)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &w->store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &w->store, NULL));
    CHECK_OK(nczchunk_context_new(&w->context));
    CHECK_OK(pthread_mutex_init(&w->lock, NULL));
    CHECK_OK(pthread_cond_init(&w->news, NULL));
}

static inline void watched_open(watched *w, store_kind kind)
{
    watched_open_as(w, kind, sizeof(int), 1);
}

/* Opens it with elements so large, in a store that lends, that all of them are work enough for eight threads. */
static inline void watched_open_large(watched *w, store_kind kind)
{
    watched_open_as(w, kind, kind == LENDING ? LARGE_ELEMENT : sizeof(int), 1);
}

/* What a callback may do besides: take as long as would make another thread worth while. */
static inline void watched_take_a_while(watched *w, memory_chunk *chunk)
{
    const struct timespec time = {0, 200000};

    (void)w, (void)chunk;
    nanosleep(&time, NULL);
}

/* Puts an array of another shape in its place, with elements of the same size. */
static inline void watched_replace(watched *w, size_t rank, const size_t *lens, const size_t *chunks)
{
    size_t element_size = w->array.element_size;

    memory_array_clear(&w->array);
    nczchunk_var_free(w->var);
    memory_array_init(&w->array, rank, lens, chunks, element_size);
    w->var = memory_array_var(&w->array);
    CHECK(rank <= MOST_DIMENSIONS && w->array.num_chunks <= MOST_CHUNKS);
}

/* Has its chunks compressed, and decoded by the library. */
static inline void watched_compress(watched *w)
{
    memory_array_compress(&w->array);
    store_add_zstd(w->store);
    w->is_timed = 1;
}

static inline void watched_close(watched *w)
{
    CHECK_OK(pthread_cond_destroy(&w->news));
    CHECK_OK(pthread_mutex_destroy(&w->lock));
    nczchunk_context_free(w->context);
    nczchunk_chunk_store_free(w->store);
    nczchunk_var_free(w->var);
    memory_array_clear(&w->array);
}

/* --- Calls. */

/* Gets ready for a call of so many threads, of which so many must be at work at once. */
static inline void watched_expect_threads(watched *w, size_t threads, size_t working)
{
    CHECK_OK(nczchunk_context_set_threads(w->context, threads));
    w->num_threads = w->arrived = 0;
    w->parties = working;
    w->timed = NULL;
    memset(w->asked, 0, sizeof w->asked);
    memset(w->written, 0, sizeof w->written);
    w->array.asked = w->array.released = w->array.written = 0;
}

/* Reads everything. */
static inline int watched_read(const watched *w, void *data)
{
    return nczchunk_read_vars(w->var, w->store, zeros, NULL, NULL, data, w->context);
}

/* Checks what was read. */
static inline void watched_check(const watched *w, const void *data)
{
    memory_array_expect(&w->array, zeros, NULL, NULL, NULL, data);
}

/* Writes everything. */
static inline int watched_write(const watched *w, const void *data)
{
    return nczchunk_write_vars(w->var, w->store, zeros, NULL, NULL, data, w->context);
}

/* Checks that exactly this chunk is told as the one that failed. */
static inline void watched_check_failed(const watched *w, size_t failed, int status)
{
    size_t rank = 0;
    const ptrdiff_t *indices = nczchunk_context_chunk(w->context, &rank);

    CHECK_EQ(nczchunk_context_status(w->context), status);
    CHECK(indices != NULL);
    CHECK_EQ(rank, w->array.rank);
    CHECK_EQ(memory_array_chunk(&w->array, indices) - w->array.chunks, failed);
    CHECK_EQ(nczchunk_context_chunks_done(w->context), failed);
}

#endif
