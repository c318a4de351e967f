/*
 * Small calls begin no thread, however many they may use: a thread takes longer to begin than a small call to end.
 *
 * What is small follows, in a store that lends, from the bytes and the chunks; in any other from the time that the
 * first chunks take, which the calling thread does alone. About 0.1 ms of work is worth a thread. Where hundreds of
 * calls begin within one tick of the system's coarse clock, those after them are small unless they outlast it.
 *
 *     nczchunk_context_set_threads(context, 8);
 *     nczchunk_read_vars(var, store, start, count, stride, data, context);     one thread, or up to eight
 */
#define _GNU_SOURCE
/* The library asks for the time in 64 bits, also with 32 bits. */
#define _FILE_OFFSET_BITS 64
#define _TIME_BITS 64
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#include "zstd_frame.h"

#include "counted_threads.h"

enum { THREADS = 8 };

/* --- The time, in nanoseconds. It passes in callbacks alone, and so does not depend on what else the machine does. */

static int64_t now;
static int times_asked;

/* The coarse clock, where the library looks at it. */
#if defined(__linux__) && !defined(__ANDROID__) && SIZE_MAX > UINT32_MAX
#define HAS_TICKS
enum { TICK = 4000000 };
#endif

/* This takes the place of the C library's, for the library too. */
int clock_gettime(clockid_t clock, struct timespec *time)
{
    int64_t nanoseconds = __atomic_load_n(&now, __ATOMIC_RELAXED);

#ifdef HAS_TICKS
    if (clock == CLOCK_MONOTONIC_COARSE)
        nanoseconds -= nanoseconds % TICK;
    else
        __atomic_fetch_add(&times_asked, 1, __ATOMIC_RELAXED);
#else
    (void)clock;
    __atomic_fetch_add(&times_asked, 1, __ATOMIC_RELAXED);
#endif
    time->tv_sec = (time_t)(nanoseconds / 1000000000);
    time->tv_nsec = (long)(nanoseconds % 1000000000);
    return 0;
}

/* How long a callback takes. */
static int64_t callback_time;

static void take_time(void)
{
    __atomic_fetch_add(&now, callback_time, __ATOMIC_RELAXED);
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    take_time();
    return memory_array_lend(user, loan);
}

static int lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    take_time();
    return memory_array_lend_to_write(user, loan);
}

static int fill(void *user, nczchunk_request *request)
{
    take_time();
    return memory_array_fill(user, request);
}

static int save(void *user, nczchunk_request *request)
{
    take_time();
    return memory_array_save(user, request);
}

typedef struct fixture {
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    unsigned char *data;
} fixture;

/* Numbers of 8 bytes in one dimension. */
static size_t length, chunk_length;

static const size_t zero = 0;

/* What a store that lends says: 2 if that may take any time. */
static size_t lending_concurrent = 1;

static void open_fixture(fixture *f, store_kind kind, size_t chunks, size_t elements_per_chunk)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&f->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&f->array);

    length = chunks * elements_per_chunk;
    chunk_length = elements_per_chunk;
    memory_array_init(&f->array, 1, &length, &chunk_length, 8);
    f->var = memory_array_var(&f->array);
    lending.lend = lend;
    lending.lend_to_write = lend_to_write;
    filling.fill = fill;
    filling.store = save;
    lending.concurrent = lending_concurrent;
    filling.concurrent = 1;
    if (kind == LENDING)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f->store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &f->store, NULL));
    CHECK_OK(nczchunk_context_new(&f->context));
    CHECK_OK(nczchunk_context_set_threads(f->context, THREADS));
    f->data = malloc(length * 8);
    CHECK(f->data != NULL);
    callback_time = 0;
}

static void close_fixture(fixture *f)
{
    free(f->data);
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

/* How many threads it takes to read, and to write, everything. */
static long threads_of_a_read(fixture *f)
{
    threads_begun = 0;
    CHECK_OK(nczchunk_read_vars(f->var, f->store, &zero, NULL, NULL, f->data, f->context));
    memory_array_expect(&f->array, &zero, NULL, NULL, NULL, f->data);
    return threads_begun;
}

static long threads_of_a_write(fixture *f)
{
    for (size_t i = 0; i < length; i++)
        memory_array_element(&f->array, i, f->data + 8 * i);
    threads_begun = 0;
    CHECK_OK(nczchunk_write_vars(f->var, f->store, &zero, NULL, NULL, f->data, f->context));
    return threads_begun;
}

/* --- Small calls. */

static void few_bytes(store_kind kind)
{
    const size_t shapes[][2] = {{1, 10}, {2, 1}, {10, 100}, {100, 1}, {4, 2000}};

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        fixture f;

        open_fixture(&f, kind, shapes[i][0], shapes[i][1]);
        CHECK_EQ(threads_of_a_read(&f), 0);
        CHECK_EQ(threads_of_a_write(&f), 0);
        close_fixture(&f);
    }
}

/* Few elements of a large array are few, in however large chunks; in a store that lends. */
static void few_elements_of_many(void)
{
    const size_t count = 100;
    const ptrdiff_t stride = 10000;
    fixture f;

    open_fixture(&f, LENDING, 10, 100000);
    threads_begun = 0;
    CHECK_OK(nczchunk_read_vars(f.var, f.store, &zero, &count, &stride, f.data, f.context));
    CHECK_EQ(threads_begun, 0);
    memory_array_expect(&f.array, &zero, &count, &stride, NULL, f.data);
    close_fixture(&f);
}

/* A call of one chunk has nothing to share, however long that takes. */
static void one_chunk(store_kind kind)
{
    fixture f;

    open_fixture(&f, kind, 1, 1000000);
    callback_time = 5000000;
    CHECK_EQ(threads_of_a_read(&f), 0);
    CHECK_EQ(threads_of_a_write(&f), 0);
    close_fixture(&f);
}

/* Without leave to use more threads there is one, whatever the work. */
static void one_thread_allowed(store_kind kind)
{
    fixture f;

    open_fixture(&f, kind, 16, 100000);
    callback_time = 1000000;
    CHECK_OK(nczchunk_context_set_threads(f.context, 1));
    CHECK_EQ(threads_of_a_read(&f), 0);
    CHECK_EQ(threads_of_a_write(&f), 0);
    close_fixture(&f);
}

/* --- Large calls. */

/* 12.8 MB are enough for eight threads, also in a store that lends. */
static void many_bytes(store_kind kind)
{
    fixture f;

    open_fixture(&f, kind, 64, 25000);
    if (kind == FILLING)
        callback_time = 200000;
    CHECK_EQ(threads_of_a_read(&f), THREADS - 1);
    CHECK_EQ(threads_of_a_write(&f), THREADS - 1);
    /* By a plan that is executed again and again, too, and by a part of it. */
    {
        nczchunk_plan *plan;

        CHECK_OK(nczchunk_plan_new(f.var, &zero, NULL, NULL, NCZCHUNK_READ, &plan, NULL));
        for (int i = 0; i < 2; i++) {
            threads_begun = 0;
            CHECK_OK(nczchunk_plan_read(plan, f.store, 0, NCZCHUNK_ALL, f.data, f.context));
            CHECK_EQ(threads_begun, THREADS - 1);
        }
        threads_begun = 0;
        CHECK_OK(nczchunk_plan_read(plan, f.store, 5, 1, f.data, f.context));
        CHECK_EQ(threads_begun, 0);
        nczchunk_plan_free(plan);
    }
    close_fixture(&f);
}

/* Some work is for some threads. */
static void some_bytes(void)
{
    fixture f;

    /* 2.4 MB, 0.3 ms. */
    open_fixture(&f, LENDING, 64, 4700);
    CHECK(threads_of_a_read(&f) > 0);
    CHECK(threads_of_a_read(&f) < THREADS - 1);
    close_fixture(&f);
}

/* Few bytes that take long are much work in a store that fills in chunks, or says that lending takes time. */
static void slow_callbacks(store_kind kind)
{
    fixture f;

    lending_concurrent = 2;
    open_fixture(&f, kind, 64, 1);
    callback_time = 200000;
    CHECK_EQ(threads_of_a_read(&f), THREADS - 1);
    CHECK_EQ(threads_of_a_write(&f), THREADS - 1);
    close_fixture(&f);
    lending_concurrent = 1;
}

/* Nor are there more threads than chunks to be done. */
static void few_slow_chunks(void)
{
    fixture f;

    open_fixture(&f, FILLING, 3, 10);
    callback_time = 2000000;
    CHECK(threads_of_a_read(&f) <= 2);
    CHECK(threads_of_a_read(&f) >= 1);
    close_fixture(&f);
}

/* Decoding counts as well, also in a store that lends. */
static void chunks_that_are_decoded(store_kind kind)
{
    fixture f;

    open_fixture(&f, kind, 16, 10);
    memory_array_compress(&f.array);
    store_add_zstd(f.store);
    callback_time = 500000;
    CHECK_EQ(threads_of_a_read(&f), THREADS - 1);
    close_fixture(&f);
}

/* --- Many calls. */

#ifdef HAS_TICKS
static void next_tick(void)
{
    now += TICK - now % TICK;
}

/* Has so many small calls be made in one tick, and returns how often they asked for the time. */
static int times_of_small_calls(fixture *f, int calls)
{
    callback_time = 0;
    next_tick();
    times_asked = 0;
    for (int i = 0; i < calls; i++)
        CHECK_EQ(threads_of_a_read(f), 0);
    return times_asked;
}

/* Has as many ticks go by, with a call in each, as all calls are timed in after one that took long. */
static void forget_long_calls(fixture *f)
{
    for (int i = 0; i < 1000; i++)
        times_of_small_calls(f, 1);
}

/* Of many small calls in one tick few ask for the time. A long one among them is found to be long. */
static void many_calls(size_t chunks, int keeps_threads)
{
    fixture f;

    open_fixture(&f, FILLING, chunks, 10);
    CHECK_EQ(nczchunk_context_set_keeps_threads(f.context, keeps_threads), 0);
    forget_long_calls(&f);
    for (int i = 0; i < 2; i++) {
        const int timed = times_of_small_calls(&f, 256);

        CHECK(timed >= 2 * 256);
        CHECK_EQ(times_of_small_calls(&f, 1000), timed);
    }

    /* A tick that ends during a small call makes it no long one. */
    now += TICK - 1 - now % TICK;
    callback_time = 100;
    CHECK_EQ(threads_of_a_read(&f), 0);
    CHECK_EQ(times_of_small_calls(&f, 1000), times_of_small_calls(&f, 256));

    /* Nor does it take other threads long to help with one that lasts for many ticks. */
    callback_time = 50000000;
    CHECK(threads_of_a_read(&f) > 0);
    CHECK(times_of_small_calls(&f, 1000) > times_of_small_calls(&f, 256));
    CHECK_EQ(nczchunk_context_set_keeps_threads(f.context, 0), keeps_threads);

    /* Shorter chunks have to be some more, until a call was found to be long. */
    forget_long_calls(&f);
    times_of_small_calls(&f, 1000);
    callback_time = 500000;
    if (chunks == 64)
        CHECK(threads_of_a_read(&f) > 0);
    next_tick();
    CHECK(threads_of_a_read(&f) > 0);
    close_fixture(&f);
}
#endif

int main(void)
{
    alarm(300);
    few_elements_of_many();
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        few_bytes(store_kinds[kind]);
        one_chunk(store_kinds[kind]);
        one_thread_allowed(store_kinds[kind]);
        many_bytes(store_kinds[kind]);
        slow_callbacks(store_kinds[kind]);
        chunks_that_are_decoded(store_kinds[kind]);
    }
    some_bytes();
    few_slow_chunks();
#ifdef HAS_TICKS
    many_calls(3, 0);
    many_calls(4, 1);
    many_calls(64, 0);
    many_calls(64, 1);
#endif
    CHECK(times_asked > 0);
    return 0;
}
