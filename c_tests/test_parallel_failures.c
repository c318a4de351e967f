/*
 * Failures of calls that several threads work on: after test_parallel.c.
 *
 * With one thread, the first chunk that fails ends the call: the context tells that chunk, and chunks_done how many
 * were done before it. With several threads another chunk, later in order, may fail sooner. The first in order is told
 * all the same, and all before it are done; what may differ is how many of the chunks after it were begun.
 *
 *     if (nczchunk_write_vars(var, store, start, count, stride, data, context) != NCZCHUNK_NOERR)
 *         indices = nczchunk_context_chunk(context, &rank);        the first in order that failed
 */
#define _XOPEN_SOURCE 700
#include <time.h>
#include <unistd.h>

#include "watched_array.h"

static const size_t thread_counts[] = {1, 2, 3, 8};
#define NUM_THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

/* Room for what is read or written: the largest is 27 threads' work for a store that lends. */
enum { VERY_LARGE_ELEMENT = 3 * LARGE_ELEMENT };

static unsigned char data[VERY_LARGE_ELEMENT * ELEMENTS];

/* A nap that is different for each chunk and each round. */
static unsigned round_number;

static void nap(watched *w, memory_chunk *chunk)
{
    unsigned number = (unsigned)(chunk - w->array.chunks);
    struct timespec time = {0, 1000 * (long)((number * 7919u + round_number * 104729u) % 97u)};

    nanosleep(&time, NULL);
}

/* --- Reads. */

/* Damages some chunks, others in each round: their callbacks fail, or they are cut short. Returns the first of them and
 * the status that it must lead to. */
static size_t damage_some(watched *w, int compressed, int *status)
{
    size_t first = CHUNKS;

    for (size_t c = CHUNKS; c-- > 0;) {
        unsigned any = ((unsigned)c * 31u + round_number * 17u + 5u) % 13u;

        if (c == ABSENT || any > 2)
            continue;
        first = c;
        if (any > 0) {
            *status = w->array.chunks[c].status = 100 + (int)c;
        } else {
            w->array.chunks[c].nbytes -= 5;
            *status = compressed ? NCZCHUNK_EIO : NCZCHUNK_EBADCHUNK;
        }
    }
    CHECK(first < CHUNKS);
    return first;
}

static void the_first_failing_chunk_is_told(store_kind kind, int compressed)
{
    enum { ROUNDS = 8 };
    watched w;

    if (compressed) {
        watched_open(&w, kind);
        watched_compress(&w);
    } else {
        watched_open_large(&w, kind);
    }
    w.also = nap;
    for (size_t t = 0; t < NUM_THREAD_COUNTS; t++) {
        for (round_number = 0; round_number < ROUNDS; round_number++) {
            memory_chunk sound[CHUNKS];
            size_t first;
            int status = 0;

            memcpy(sound, w.array.chunks, sizeof sound);
            first = damage_some(&w, compressed, &status);
            watched_expect_threads(&w, thread_counts[t], 1);
            CHECK_EQ(watched_read(&w, data), status);
            watched_check_failed(&w, first, status);
            /* All up to it were asked for, and none twice. */
            for (size_t c = 0; c < CHUNKS; c++) {
                CHECK(w.asked[c] <= 1);
                CHECK(w.asked[c] == 1 || c > first);
                if (thread_counts[t] == 1)
                    CHECK(w.asked[c] == 0 || c <= first);
            }
            memcpy(w.array.chunks, sound, sizeof sound);
        }
        /* The fault gone, the same store reads everything. */
        watched_expect_threads(&w, thread_counts[t], 1);
        CHECK_OK(watched_read(&w, data));
        watched_check(&w, data);
        CHECK(nczchunk_context_chunk(w.context, NULL) == NULL);
    }
    watched_close(&w);
}

/* Chunk 3 does not fail before chunk 9 is failing. */
enum { EARLIER = 3, LATER = 9 };

static int later_has_come;

static void wait_for_the_later_one(watched *w, memory_chunk *chunk)
{
    pthread_mutex_lock(&w->lock);
    if (chunk == &w->array.chunks[LATER]) {
        later_has_come = 1;
        pthread_cond_broadcast(&w->news);
    }
    while (chunk == &w->array.chunks[EARLIER] && !later_has_come)
        pthread_cond_wait(&w->news, &w->lock);
    pthread_mutex_unlock(&w->lock);
    if (chunk == &w->array.chunks[EARLIER])
        nap(w, chunk);
}

static void a_later_chunk_that_fails_sooner(store_kind kind)
{
    watched w;

    watched_open_as(&w, kind, kind == LENDING ? VERY_LARGE_ELEMENT : sizeof(int), 1);
    w.also = wait_for_the_later_one;
    w.array.chunks[EARLIER].status = 303;
    w.array.chunks[LATER].status = 909;
    for (size_t threads = 2; threads <= CHUNKS; threads += 1 + threads) {
        watched_expect_threads(&w, threads, threads);
        later_has_come = 0;
        round_number = (unsigned)threads;
        CHECK_EQ(watched_read(&w, data), 303);
        CHECK_EQ(w.num_threads, threads);
        watched_check_failed(&w, EARLIER, 303);
    }
    watched_close(&w);
}

/* --- Of many chunks a thread takes several at a time: here 20, with two threads. */

enum { MANY = 640 };

static const size_t many = MANY, one = 1;

/* In a store that lends, with work enough for eight threads. */
static void open_many(watched *w, store_kind kind)
{
    watched_open_as(w, kind, kind == LENDING ? LARGE_ELEMENT + 1024 : sizeof(int), 1);
    watched_replace(w, 1, &many, &one);
}

static void the_first_failing_chunk_of_many(store_kind kind)
{
    watched w;

    open_many(&w, kind);
    for (size_t t = 0; t < NUM_THREAD_COUNTS; t++) {
        for (size_t first = 0; first < MANY; first += 71) {
            watched_expect_threads(&w, thread_counts[t], thread_counts[t]);
            CHECK_OK(watched_read(&w, data));
            watched_check(&w, data);
            CHECK_EQ(w.array.asked, MANY);

            for (size_t c = first; c < MANY; c++)
                w.array.chunks[c].status = 1000 + (int)c;
            watched_expect_threads(&w, thread_counts[t], thread_counts[t]);
            CHECK_EQ(watched_read(&w, data), 1000 + first);
            watched_check_failed(&w, first, 1000 + (int)first);
            for (size_t c = 0; c < MANY; c++)
                CHECK(w.asked[c] == 1 || (w.asked[c] == 0 && c > first));
            for (size_t c = first; c < MANY; c++)
                w.array.chunks[c].status = NCZCHUNK_NOERR;
        }
    }
    watched_close(&w);
}

/* The first chunk fails at once, the others take their time. */
static void linger(watched *w, memory_chunk *chunk)
{
    const struct timespec time = {0, 20000000};

    if (chunk != w->array.chunks)
        nanosleep(&time, NULL);
}

/* After a failure no more chunks are begun, not even those that a thread has taken already. */
static void a_failure_ends_the_work(void)
{
    watched w;

    open_many(&w, LENDING);
    w.also = linger;
    w.array.chunks[0].status = 77;
    watched_expect_threads(&w, 2, 2);
    CHECK_EQ(watched_read(&w, data), 77);
    watched_check_failed(&w, 0, 77);
    CHECK(w.array.asked <= 20);
    watched_close(&w);
}

/* --- Writes. */

/* Whether a chunk is the same in two arrays, to the last byte. */
static int is_same(const memory_array *array, const memory_array *other, size_t c)
{
    const memory_chunk *a = &array->chunks[c], *b = &other->chunks[c];

    if (a->status != b->status || a->nbytes != b->nbytes || (a->bytes == NULL) != (b->bytes == NULL))
        return 0;
    return a->bytes == NULL || memcmp(a->bytes, b->bytes, a->nbytes) == 0;
}

/* A write that fails has written what comes before the chunk it tells; the same call again writes the rest. */
static void a_failing_write(store_kind kind, size_t threads)
{
    for (round_number = 0; round_number < 6; round_number++) {
        size_t first = 4 * round_number, also_failing = first + 1 + round_number % 5;
        memory_array before, expected;
        watched w;

        watched_open_large(&w, kind);
        w.also = nap;
        memory_array_make_data(&w.array, ELEMENTS, data);
        before = memory_array_copy(&w.array);
        expected = memory_array_copy(&w.array);
        memory_array_put(&expected, zeros, NULL, NULL, NULL, data, NULL);
        w.array.chunks[first].write_status = 500;
        w.array.chunks[also_failing].write_status = 600;

        watched_expect_threads(&w, threads, 1);
        CHECK_EQ(watched_write(&w, data), 500);
        watched_check_failed(&w, first, 500);
        for (size_t c = 0; c < CHUNKS; c++) {
            int is_old = is_same(&w.array, &before, c), is_new = is_same(&w.array, &expected, c);

            if (c < first)
                CHECK(is_new);
            else if (c == first || c == also_failing || threads == 1)
                CHECK(is_old);
            else
                CHECK(is_old || is_new);
        }

        w.array.chunks[first].write_status = w.array.chunks[also_failing].write_status = NCZCHUNK_NOERR;
        watched_expect_threads(&w, threads, 1);
        CHECK_OK(watched_write(&w, data));
        memory_array_check_same(&w.array, &expected);
        memory_array_clear(&expected);
        memory_array_clear(&before);
        watched_close(&w);
    }
}

int main(void)
{
    alarm(600);
    for (size_t i = 0; i < NUM_STORE_KINDS; i++) {
        the_first_failing_chunk_is_told(store_kinds[i], 0);
        the_first_failing_chunk_is_told(store_kinds[i], 1);
        a_later_chunk_that_fails_sooner(store_kinds[i]);
        the_first_failing_chunk_of_many(store_kinds[i]);
        for (size_t t = 0; t < NUM_THREAD_COUNTS; t++)
            a_failing_write(store_kinds[i], thread_counts[t]);
    }
    a_failure_ends_the_work();
    return 0;
}
