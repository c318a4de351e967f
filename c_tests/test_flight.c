/*
 * Many requests in flight from one thread: stores with start and wait.
 *
 * A store that takes long to answer, such as one over a network, need not be waited for chunk by chunk. Its callback
 * start begins to fetch a chunk and returns at once; its callback wait returns when one of those that were begun, any
 * one, has arrived. The library keeps as many in flight as the store allows, and decodes one while the others come.
 *
 *     static int start(void *user, nczchunk_request *request)      begins to fetch into request->buffer
 *     static int wait_for_one(void *user, nczchunk_request **done) sets done, (*done)->status and (*done)->nbytes
 *
 *     nczchunk_reader_callbacks callbacks = {.struct_size = sizeof callbacks, .start = start, .wait = wait_for_one,
 *                                             .in_flight = 16};
 *
 * The store here has an array in memory and a clock of its own: to wait takes no time, but it is known how long it
 * would have taken.
 */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "zstd_frame.h"

enum { RANK = 3, CHUNKS = 27, ELEMENTS = 12 * 10 * 8, MOST_CHUNKS = 1000, MOST_UNDER_WAY = 1000, LATENCY = 1000 };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3}, zeros[RANK] = {0, 0, 0};

/* In which order requests come back. */
typedef enum order { FIRST_COME, LAST_COME, SHUFFLED, NUM_ORDERS } order;

/* A request that was started, and when it will have arrived. */
typedef struct flight {
    nczchunk_request *request;
    nczchunk_request seen; /* as it was when it was started */
    ptrdiff_t indices[RANK];
    long due;
} flight;

typedef struct far_store {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    order order;
    /* What start returns for each chunk. (What a chunk's request ends with is in the array.) */
    int start_status[MOST_CHUNKS];
    /* What wait returns, at its call of this number, counted from 1. */
    int wait_status;
    long failing_wait;
    /* What wait gives back instead, if it says that all is well nevertheless. */
    enum { NO_LIE, NO_REQUEST, NOT_ITS_REQUEST, THE_SAME_AGAIN, NUM_LIES } lie;
    nczchunk_request *last;

    flight in_flight[MOST_UNDER_WAY];
    size_t num_in_flight, most_under_way;
    long started, given_back, waits;
    int cancelled[MOST_CHUNKS];
    long filled;
    /* The clock, which wait turns forward. */
    long now;
    unsigned seed;
    pthread_t thread;
} far_store;

/* --- The callbacks. */

static size_t chunk_number(const far_store *f, const ptrdiff_t *chunk_indices)
{
    return (size_t)(memory_array_chunk(&f->array, chunk_indices) - f->array.chunks);
}

static int start(void *user, nczchunk_request *request)
{
    far_store *f = user;
    flight *begun = &f->in_flight[f->num_in_flight];
    size_t c = chunk_number(f, request->chunk_indices);

    CHECK(pthread_equal(pthread_self(), f->thread));
    CHECK_EQ(request->struct_size, sizeof *request);
    CHECK_EQ(request->rank, f->array.rank);
    CHECK(request->nbytes == 0 && request->status == 0 && request->handle == NULL);
    CHECK(request->size > 0 && request->buffer != NULL);
    if (f->start_status[c] != NCZCHUNK_NOERR)
        return f->start_status[c];
    CHECK(f->num_in_flight < MOST_UNDER_WAY);
    /* The buffer is the callbacks' from now on. */
    memset(request->buffer, 0xCC, request->size);
    request->handle = f;
    begun->request = request;
    begun->seen = *request;
    memcpy(begun->indices, request->chunk_indices, f->array.rank * sizeof *begun->indices);
    begun->due = f->now + LATENCY;
    f->started++;
    if (++f->num_in_flight > f->most_under_way)
        f->most_under_way = f->num_in_flight;
    return NCZCHUNK_NOERR;
}

/* The request has arrived: it is as it was left, and gets what is stored. */
static void arrive(far_store *f, const flight *arrived)
{
    nczchunk_request *request = arrived->request;
    const memory_chunk *chunk = memory_array_ask(&f->array, request->rank, request->chunk_indices);

    CHECK(memcmp(request, &arrived->seen, sizeof *request) == 0);
    CHECK(memcmp(request->chunk_indices, arrived->indices, request->rank * sizeof *arrived->indices) == 0);
    for (size_t b = 0; b < request->size; b++)
        CHECK_EQ(((unsigned char *)request->buffer)[b], 0xCC);
    if (chunk->bytes != NULL && request->offset < chunk->nbytes) {
        request->nbytes = chunk->nbytes - request->offset;
        memcpy(request->buffer, chunk->bytes + request->offset,
               request->nbytes < request->size ? request->nbytes : request->size);
    }
    request->status = chunk->status;
}

static int wait_for_one(void *user, nczchunk_request **done)
{
    far_store *f = user;
    size_t next = 0;

    CHECK(pthread_equal(pthread_self(), f->thread));
    CHECK(f->num_in_flight > 0);
    if (++f->waits == f->failing_wait) {
        static nczchunk_request not_its_request;
        int is_under_way = 0;

        for (size_t i = 0; i < f->num_in_flight; i++)
            is_under_way |= f->in_flight[i].request == f->last;
        f->num_in_flight = 0; /* all of them have ended */
        *done = f->lie == NO_REQUEST                         ? NULL
                : f->lie == THE_SAME_AGAIN && !is_under_way ? f->last
                                                            : &not_its_request;
        return f->wait_status;
    }
    if (f->order == LAST_COME)
        next = f->num_in_flight - 1;
    if (f->order == SHUFFLED)
        next = (f->seed = f->seed * 1664525u + 1013904223u) / 65536 % f->num_in_flight;
    if (f->in_flight[next].due > f->now)
        f->now = f->in_flight[next].due;
    arrive(f, &f->in_flight[next]);
    f->last = *done = f->in_flight[next].request;
    f->given_back++;
    memmove(&f->in_flight[next], &f->in_flight[next + 1], (--f->num_in_flight - next) * sizeof f->in_flight[0]);
    return NCZCHUNK_NOERR;
}

/* A request that is cancelled is still in flight. It is cancelled once. */
static void cancel(void *user, nczchunk_request *request)
{
    far_store *f = user;
    int is_under_way = 0;

    for (size_t i = 0; i < f->num_in_flight; i++)
        is_under_way |= f->in_flight[i].request == request;
    CHECK(is_under_way);
    CHECK_EQ(++f->cancelled[chunk_number(f, request->chunk_indices)], 1);
}

static int fill(void *user, nczchunk_request *request)
{
    far_store *f = user;

    f->filled++;
    return memory_array_fill(&f->array, request);
}

/* --- The store. */

static nczchunk_reader_callbacks far_callbacks(far_store *f)
{
    nczchunk_reader_callbacks callbacks = memory_array_filling(&f->array);

    callbacks.user = f;
    callbacks.fill = NULL;
    callbacks.start = start;
    callbacks.wait = wait_for_one;
    callbacks.cancel = cancel;
    return callbacks;
}

static void open_as(far_store *f, size_t rank, const size_t *lens, const size_t *chunks,
                    const nczchunk_reader_callbacks *callbacks)
{
    memset(f, 0, sizeof *f);
    memory_array_init(&f->array, rank, lens, chunks, sizeof(int));
    CHECK(f->array.num_chunks <= MOST_CHUNKS);
    f->var = memory_array_var(&f->array);
    CHECK_OK(nczchunk_chunk_store_new(callbacks, &f->store, NULL));
    CHECK_OK(nczchunk_context_new(&f->context));
    f->thread = pthread_self();
}

static void open_far(far_store *f)
{
    const nczchunk_reader_callbacks callbacks = far_callbacks(f);
    open_as(f, RANK, dimlens, chunklens, &callbacks);
}

static void close_far(far_store *f)
{
    CHECK_EQ(f->num_in_flight, 0);
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    CHECK_EQ(f->array.destroyed, 1);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
}

static int read_all(far_store *f, void *data)
{
    int status;

    f->started = f->given_back = f->waits = f->array.asked = 0;
    memset(f->cancelled, 0, sizeof f->cancelled);
    status = nczchunk_read_vars(f->var, f->store, zeros, NULL, NULL, data, f->context);
    /* Whatever came of it, nothing is in flight any more. */
    CHECK_EQ(f->num_in_flight, 0);
    CHECK_EQ(nczchunk_context_status(f->context), status);
    return status;
}

static void check_all(const far_store *f, const void *data)
{
    memory_array_expect(&f->array, zeros, NULL, NULL, NULL, data);
}

/* Checks that the call has failed at this chunk, and that all before it are in data. */
static void check_failed_at(const far_store *f, size_t failed, const int *data)
{
    size_t rank = 0, element;
    const ptrdiff_t *indices = nczchunk_context_chunk(f->context, &rank);

    CHECK(indices != NULL);
    CHECK_EQ(rank, RANK);
    CHECK_EQ(chunk_number(f, indices), failed);
    CHECK_EQ(nczchunk_context_chunks_done(f->context), failed);
    for (size_t e = 0; e < ELEMENTS; e++)
        if (memory_array_find(&f->array, zeros, NULL, NULL, e, &element) < failed)
            CHECK_EQ(data[e], e);
}

/* --- What is read is the same in any order, and with any number in flight. */

static void answers_in_any_order(void)
{
    const size_t start_at[RANK] = {1, 0, 1}, count[RANK] = {4, 5, 3};
    const ptrdiff_t stride[RANK] = {3, 2, 2}, transposed[RANK] = {1, 4, 20};
    int data[ELEMENTS], other[ELEMENTS];
    far_store f;

    open_far(&f);
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
        CHECK_EQ(f.started, CHUNKS);
        CHECK_EQ(f.given_back, CHUNKS);
        CHECK_EQ(f.array.asked, CHUNKS);
        CHECK_EQ(nczchunk_context_chunks_done(f.context), CHUNKS);

        CHECK_OK(nczchunk_read_vars(f.var, f.store, start_at, count, stride, data, f.context));
        memory_array_expect(&f.array, start_at, count, stride, NULL, data);
        CHECK_OK(nczchunk_read_varm(f.var, f.store, start_at, count, stride, transposed, other, f.context));
        for (size_t i = 0; i < 4; i++)
            for (size_t j = 0; j < 5; j++)
                for (size_t k = 0; k < 3; k++)
                    CHECK_EQ(other[i + 4 * j + 20 * k], data[(i * 5 + j) * 3 + k]);
    }
    close_far(&f);
}

static void the_limit_is_respected(void)
{
    const size_t limits[] = {1, 2, 3, 7, 26, 27, 28, 1000, SIZE_MAX};
    int data[ELEMENTS];

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        far_store f;
        nczchunk_reader_callbacks callbacks = far_callbacks(&f);

        callbacks.in_flight = limits[i];
        open_as(&f, RANK, dimlens, chunklens, &callbacks);
        f.order = SHUFFLED;
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
        CHECK_EQ(f.most_under_way, limits[i] < CHUNKS ? limits[i] : CHUNKS);
        close_far(&f);
    }
}

/* Callbacks that are not for several threads are called by the calling one, however many it may use. */
static void one_thread_does_it(void)
{
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.concurrent = 0;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    CHECK_OK(nczchunk_context_set_threads(f.context, 8));
    CHECK_OK(read_all(&f, data));
    check_all(&f, data);
    close_far(&f);
}

/* Plans are executed so, too, as a whole and in parts. */
static void plans(void)
{
    int data[ELEMENTS];
    nczchunk_plan *plan;
    far_store f;

    open_far(&f);
    CHECK_OK(nczchunk_plan_new(f.var, zeros, NULL, NULL, NCZCHUNK_READ, &plan, f.context));
    CHECK_OK(nczchunk_plan_read(plan, f.store, 0, NCZCHUNK_ALL, data, f.context));
    check_all(&f, data);
    CHECK_EQ(f.started, CHUNKS);
    memset(data, 0, sizeof data);
    for (size_t part = 0; part < 4; part++) {
        size_t first, chunks;

        CHECK_OK(nczchunk_plan_part(plan, part, 4, &first, &chunks, f.context));
        CHECK_OK(nczchunk_plan_read(plan, f.store, first, chunks, data, f.context));
        CHECK_EQ(nczchunk_context_chunks_done(f.context), chunks);
    }
    check_all(&f, data);
    CHECK_EQ(f.started, 2 * CHUNKS);
    CHECK_OK(nczchunk_plan_read(plan, f.store, 5, 0, data, f.context));
    CHECK_EQ(f.started, 2 * CHUNKS);

    /* A part that fails tells how much of the part is done. */
    f.array.chunks[12].status = EIO;
    CHECK_EQ(nczchunk_plan_read(plan, f.store, 10, 10, data, f.context), EIO);
    CHECK_EQ(nczchunk_context_chunks_done(f.context), 2);
    nczchunk_plan_free(plan);
    close_far(&f);
}

/* --- Chunks that are not there. */

/* A chunk may be found absent when it arrives, or at once. */
static void absent_chunks(void)
{
    static const int statuses[] = {NCZCHUNK_EEMPTY, NCZCHUNK_ENOOBJECT};
    const int fill_value = -7;
    int data[ELEMENTS];

    for (size_t i = 0; i < 2; i++) {
        for (int at_once = 0; at_once <= 1; at_once++) {
            far_store f;

            open_far(&f);
            f.order = SHUFFLED;
            CHECK_OK(nczchunk_var_set_fill_value(f.var, &fill_value, NULL));
            for (size_t c = 0; c < CHUNKS; c += 4) {
                memory_chunk_remove(&f.array.chunks[c], statuses[i]);
                if (at_once)
                    f.start_status[c] = statuses[i];
            }
            CHECK_OK(read_all(&f, data));
            memory_array_expect(&f.array, zeros, NULL, NULL, &fill_value, data);
            CHECK_EQ(f.started, at_once ? CHUNKS - 7 : CHUNKS);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), CHUNKS);
            close_far(&f);
        }
    }
}

/* All of them, so that none is ever waited for. */
static void all_chunks_absent_at_once(void)
{
    int data[ELEMENTS];
    far_store f;

    open_far(&f);
    for (size_t c = 0; c < CHUNKS; c++)
        f.start_status[c] = NCZCHUNK_EEMPTY;
    CHECK_OK(read_all(&f, data));
    for (size_t e = 0; e < ELEMENTS; e++)
        CHECK_EQ(data[e], 0);
    CHECK_EQ(f.waits, 0);
    close_far(&f);
}

/* --- Errors. */

/* What may be wrong with a chunk. */
typedef enum fault { FAILS, FAILS_AT_ONCE, TOO_SHORT, EMPTY, TOO_LONG, NUM_FAULTS } fault;

static int make_fault(far_store *f, size_t c, fault kind)
{
    static const unsigned char bytes[1000];

    switch (kind) {
    case FAILS: return f->array.chunks[c].status = 100 + (int)c;
    case FAILS_AT_ONCE: return f->start_status[c] = 200 + (int)c;
    case TOO_SHORT: memory_chunk_set(&f->array.chunks[c], bytes, f->array.chunk_bytes - 1); break;
    case EMPTY: memory_chunk_set(&f->array.chunks[c], bytes, 0); break;
    default: memory_chunk_set(&f->array.chunks[c], bytes, f->array.chunk_bytes + 1); break;
    }
    return NCZCHUNK_EBADCHUNK;
}

/* The first in order that fails is told, all before it are complete, and what was started has been given back. */
static void an_error_at_every_chunk(void)
{
    for (size_t failed = 0; failed < CHUNKS; failed++) {
        for (fault kind = FAILS; kind < NUM_FAULTS; kind++) {
            for (order order = FIRST_COME; order < NUM_ORDERS; order++) {
                for (size_t limit = 1; limit <= 25; limit += 8) {
                    int data[ELEMENTS] = {0}, status;
                    far_store f;
                    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

                    callbacks.in_flight = limit;
                    open_as(&f, RANK, dimlens, chunklens, &callbacks);
                    f.order = order;
                    f.seed = (unsigned)failed;
                    status = make_fault(&f, failed, kind);
                    /* Two later chunks fail, too; perhaps sooner. */
                    for (size_t c = failed + 2; c < CHUNKS; c += 9)
                        make_fault(&f, c, FAILS);
                    CHECK_EQ(read_all(&f, data), status);
                    check_failed_at(&f, failed, data);
                    CHECK_EQ(f.given_back, f.started);
                    if (order == FIRST_COME)
                        CHECK(f.started <= (long)(failed + limit));
                    for (size_t c = 0; c <= failed; c++)
                        CHECK_EQ(f.cancelled[c], 0);
                    close_far(&f);
                }
            }
        }
    }
}

/* Those in flight behind it are told that they are not needed. */
static void requests_that_are_not_needed_are_cancelled(void)
{
    int data[ELEMENTS];

    for (int has_cancel = 0; has_cancel <= 1; has_cancel++) {
        far_store f;
        nczchunk_reader_callbacks callbacks = far_callbacks(&f);

        callbacks.in_flight = 10;
        if (!has_cancel)
            callbacks.cancel = NULL;
        open_as(&f, RANK, dimlens, chunklens, &callbacks);
        f.array.chunks[4].status = EIO;
        /* They come in order: when chunk 4 does, chunks 5 to 13 are in flight. */
        CHECK_EQ(read_all(&f, data), EIO);
        CHECK_EQ(f.started, 14);
        for (size_t c = 0; c < CHUNKS; c++)
            CHECK_EQ(f.cancelled[c], has_cancel && c > 4 && c < 14);
        close_far(&f);
    }
}

/* A later one that fails sooner cancels fewer than the earlier one that fails then. */
static void a_second_failure_cancels_the_rest(void)
{
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.in_flight = 10;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    /* Chunks 0 to 9 are started, and come back from 9 to 0. */
    f.order = LAST_COME;
    f.array.chunks[9].status = EIO;
    f.array.chunks[7].status = EACCES;
    f.array.chunks[3].status = ENOENT;
    CHECK_EQ(read_all(&f, data), ENOENT);
    check_failed_at(&f, 3, data);
    CHECK_EQ(f.started, 10);
    CHECK_EQ(f.given_back, 10);
    close_far(&f);
}

/* If wait fails, nothing is in flight any more, and the call ends at once. The store can still be used. */
static void a_wait_that_fails(void)
{
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.in_flight = 5;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    f.wait_status = ETIMEDOUT;
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        for (f.failing_wait = 1; f.failing_wait <= CHUNKS; f.failing_wait++) {
            size_t element, done;

            memset(data, 0, sizeof data);
            CHECK_EQ(read_all(&f, data), ETIMEDOUT);
            CHECK_EQ(f.waits, f.failing_wait);
            done = nczchunk_context_chunks_done(f.context);
            CHECK(done <= (size_t)f.given_back);
            if (f.order == FIRST_COME)
                CHECK_EQ(done, f.given_back);
            for (size_t e = 0; e < ELEMENTS; e++)
                if (memory_array_find(&f.array, zeros, NULL, NULL, e, &element) < done)
                    CHECK_EQ(data[e], e);
        }
        f.failing_wait = 0;
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
    }
    close_far(&f);
}

/* A wait that gives back what is not in flight is a fault of the program, whichever wait it is. It is told rather than
 * waited for, and the next call finds everything as it should be. */
static void a_wait_that_gives_back_what_is_not_under_way(void)
{
    const size_t one[RANK] = {1, 1, 1};
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.in_flight = 5;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    for (f.lie = NO_REQUEST; f.lie < NUM_LIES; f.lie++) {
        for (f.failing_wait = 1; f.failing_wait <= CHUNKS; f.failing_wait++) {
            const long failing = f.failing_wait;

            CHECK_EQ(read_all(&f, data), NCZCHUNK_EINVAL);
            CHECK_EQ(f.waits, failing);
            CHECK_EQ(nczchunk_context_chunks_done(f.context), failing - 1);
            f.failing_wait = 0;
            CHECK_OK(read_all(&f, data));
            check_all(&f, data);
            f.failing_wait = failing;
        }
        f.waits = 0;
        f.failing_wait = 1;
        CHECK_EQ(nczchunk_read_vars(f.var, f.store, zeros, one, NULL, data, f.context), NCZCHUNK_EINVAL);
    }
    close_far(&f);
}

typedef struct meanwhile {
    far_store *f;
    size_t read, refused;
} meanwhile;

/* As long as requests are in flight, the store gives back any of the thread's. */
static int read_meanwhile(void *user, const nczchunk_progress *progress)
{
    meanwhile *m = user;
    const int is_under_way = m->f->num_in_flight > 0;
    int data[ELEMENTS];

    (void)progress;
    CHECK_EQ(nczchunk_read_vars(m->f->var, m->f->store, zeros, NULL, NULL, data, NULL),
             is_under_way ? NCZCHUNK_EINVAL : NCZCHUNK_NOERR);
    if (!is_under_way)
        check_all(m->f, data);
    *(is_under_way ? &m->refused : &m->read) += 1;
    return 0;
}

/* A callback that reads by the store is refused while other requests are in flight, which it does not disturb. */
static void a_callback_that_reads_meanwhile(void)
{
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);
    meanwhile m = {&f, 0, 0};

    callbacks.in_flight = 5;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    CHECK_OK(nczchunk_context_set_progress(f.context, read_meanwhile, &m));
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
    }
    CHECK(m.read > 0 && m.refused > 0);
    close_far(&f);
}

/* A chunk that is longer than due is refused, unless the store accepts it: then its first bytes count. */
static void longer_chunks(void)
{
    int data[ELEMENTS];

    for (size_t accept = 0; accept <= 1; accept++) {
        unsigned char bytes[1000];
        far_store f;
        nczchunk_reader_callbacks callbacks = far_callbacks(&f);

        callbacks.accept_longer = accept;
        open_as(&f, RANK, dimlens, chunklens, &callbacks);
        memset(bytes, 0xEE, sizeof bytes);
        memcpy(bytes, f.array.chunks[3].bytes, f.array.chunk_bytes);
        memory_chunk_set(&f.array.chunks[3], bytes, f.array.chunk_bytes + 100);
        CHECK_EQ(read_all(&f, data), accept ? NCZCHUNK_NOERR : NCZCHUNK_EBADCHUNK);
        if (accept)
            check_all(&f, data);
        close_far(&f);
    }
}

/* --- With codecs. */

static void zstd_on_top(void)
{
    int data[ELEMENTS];
    far_store f;

    open_far(&f);
    memory_array_compress(&f.array);
    memory_array_compress(&f.array);
    store_add_zstd(f.store);
    store_add_zstd(f.store);
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
        CHECK_EQ(f.started, CHUNKS);
    }
    f.array.chunks[20].nbytes--;
    CHECK_EQ(read_all(&f, data), NCZCHUNK_EIO);
    check_failed_at(&f, 20, data);
    f.array.chunks[20].nbytes++;
    close_far(&f);
}

/* Puts every int of a chunk into a frame of its own, which is more than a frame of all of it can be. */
static void compress_in_small_frames(memory_chunk *chunk)
{
    unsigned char *out = malloc(chunk->nbytes / sizeof(int) * (sizeof(int) + ZSTD_FRAME_OVERHEAD));
    size_t n = 0;

    CHECK(out != NULL);
    for (size_t b = 0; b < chunk->nbytes; b += sizeof(int))
        n += zstd_frame(out + n, chunk->bytes + b, sizeof(int));
    memory_chunk_set(chunk, out, n);
    free(out);
}

/* A chunk that takes more room than was foreseen is asked for once more, and its request is started again. */
static void chunks_that_need_more_room(void)
{
    int data[ELEMENTS];
    far_store f;

    open_far(&f);
    store_add_zstd(f.store);
    /* A third of them are in small frames, a third are frames as usual, and a third are absent. */
    for (size_t c = 0; c < CHUNKS; c += 3) {
        unsigned char frame[1000];
        memory_chunk *usual = &f.array.chunks[c + 1];

        compress_in_small_frames(&f.array.chunks[c]);
        memory_chunk_set(usual, frame, zstd_frame(frame, usual->bytes, usual->nbytes));
        memory_chunk_remove(&f.array.chunks[c + 2], NCZCHUNK_EEMPTY);
    }
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
        CHECK_EQ(f.started, CHUNKS + CHUNKS / 3);
    }
    close_far(&f);
}

/* --- With ranges: of a large chunk that is stored as it is, only what is needed is fetched. */

enum { LONG = 100000 };

static void ranges_on_top(void)
{
    static const size_t lens[1] = {3 * LONG}, chunks[1] = {LONG};
    const size_t from[1] = {LONG - 10}, count[1] = {LONG + 30};
    static int data[3 * LONG];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.ranges = 1;
    open_as(&f, 1, lens, chunks, &callbacks);
    f.order = LAST_COME;
    CHECK_OK(nczchunk_read_vars(f.var, f.store, from, count, NULL, data, f.context));
    memory_array_expect(&f.array, from, count, NULL, NULL, data);
    CHECK_EQ(f.started, 3);
    close_far(&f);
}

/* Which bytes were asked for, of how many chunks. */
static size_t offsets[3], sizes[3], num_ranges;

static int start_range(void *user, nczchunk_request *request)
{
    CHECK(num_ranges < 3);
    CHECK_EQ(request->chunk_bytes, LONG * sizeof(int));
    offsets[num_ranges] = request->offset;
    sizes[num_ranges++] = request->size;
    return start(user, request);
}

static void ranges_are_what_is_needed(void)
{
    static const size_t lens[1] = {3 * LONG}, chunks[1] = {LONG};
    const size_t from[1] = {LONG - 10}, count[1] = {LONG + 30}, two[1] = {2};
    const ptrdiff_t stride[1] = {100};
    static int data[3 * LONG];

    for (size_t ranges = 0; ranges <= 1; ranges++) {
        const size_t chunk = LONG * sizeof(int);
        far_store f;
        nczchunk_reader_callbacks callbacks = far_callbacks(&f);

        callbacks.ranges = ranges;
        callbacks.start = start_range;
        open_as(&f, 1, lens, chunks, &callbacks);
        num_ranges = 0;
        CHECK_OK(nczchunk_read_vars(f.var, f.store, from, count, NULL, data, f.context));
        memory_array_expect(&f.array, from, count, NULL, NULL, data);
        CHECK_EQ(num_ranges, 3);
        CHECK_EQ(sizes[0], ranges ? 10 * sizeof(int) : chunk);
        CHECK_EQ(offsets[0], ranges ? chunk - 10 * sizeof(int) : 0);
        CHECK_EQ(sizes[1], chunk);
        CHECK_EQ(offsets[1], 0);
        CHECK_EQ(sizes[2], ranges ? 20 * sizeof(int) : chunk);
        CHECK_EQ(offsets[2], 0);

        /* A part that is too short is noticed. */
        num_ranges = 0;
        CHECK_OK(nczchunk_read_vars(f.var, f.store, from, two, stride, data, f.context));
        f.array.chunks[1].nbytes = 90 * sizeof(int);
        num_ranges = 0;
        CHECK_EQ(nczchunk_read_vars(f.var, f.store, from, two, stride, data, f.context), NCZCHUNK_EBADCHUNK);
        CHECK_EQ(nczchunk_context_chunks_done(f.context), 1);
        f.array.chunks[1].nbytes = chunk;
        close_far(&f);
    }
}

/* --- One chunk at a time. */

/* Without fill, chunks that are read one by one go through start and wait, too: the only chunk of a read, and those
 * that a write changes in part. */
static void without_fill(void)
{
    const size_t one[RANK] = {1, 1, 1}, start_at[RANK] = {1, 1, 1}, count[RANK] = {9, 8, 6};
    int data[ELEMENTS], all[ELEMENTS];
    size_t read, written;
    memory_array expected;
    far_store f;

    open_far(&f);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start_at, one, NULL, data, f.context));
    CHECK_EQ(data[0], (1 * 10 + 1) * 8 + 1);
    CHECK_EQ(f.started, 1);

    memory_array_make_data(&f.array, 9 * 8 * 6, data);
    expected = memory_array_copy(&f.array);
    read = memory_array_put(&expected, start_at, count, NULL, NULL, data, &written);
    f.started = f.waits = 0;
    CHECK_OK(nczchunk_write_vars(f.var, f.store, start_at, count, NULL, data, f.context));
    CHECK_EQ(f.started, read);
    CHECK_EQ(f.waits, read);
    CHECK_EQ(f.array.written, written);
    memory_array_check_same(&f.array, &expected);
    memory_array_clear(&expected);

    /* Absent at once, absent on arrival, failing at once, failing on arrival, failing to wait. */
    f.start_status[0] = NCZCHUNK_EEMPTY;
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start_at, one, NULL, data, f.context));
    CHECK_EQ(data[0], 0);
    f.start_status[0] = EIO;
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, start_at, one, NULL, data, f.context), EIO);
    f.start_status[0] = 0;
    f.array.chunks[0].status = NCZCHUNK_ENOOBJECT;
    CHECK_OK(nczchunk_read_vars(f.var, f.store, start_at, one, NULL, data, f.context));
    CHECK_EQ(data[0], 0);
    f.array.chunks[0].status = EACCES;
    CHECK_EQ(nczchunk_read_vars(f.var, f.store, start_at, one, NULL, data, f.context), EACCES);
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, start_at, one, NULL, data, f.context), EACCES);
    f.array.chunks[0].status = NCZCHUNK_NOERR;
    f.waits = 0;
    f.failing_wait = 1;
    f.wait_status = ETIMEDOUT;
    CHECK_EQ(nczchunk_write_vars(f.var, f.store, start_at, one, NULL, data, f.context), ETIMEDOUT);
    f.failing_wait = 0;
    CHECK_OK(read_all(&f, all));
    close_far(&f);
}

/* A store may have both. */
static void with_fill_as_well(void)
{
    const size_t one[RANK] = {1, 1, 1};
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.fill = fill;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    CHECK_OK(read_all(&f, data));
    check_all(&f, data);
    CHECK_EQ(f.started, CHUNKS);
    CHECK_EQ(f.filled, 0);
    CHECK_OK(nczchunk_read_vars(f.var, f.store, zeros, one, NULL, data, f.context));
    CHECK_EQ(f.started + f.filled, CHUNKS + 1);
    close_far(&f);
}

static void callbacks_that_do_not_fit(void)
{
    nczchunk_chunk_store *store = NULL;
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.wait = NULL;
    CHECK_EQ(nczchunk_chunk_store_new(&callbacks, &store, NULL), NCZCHUNK_EINVAL);
    callbacks = far_callbacks(&f);
    callbacks.start = NULL;
    CHECK_EQ(nczchunk_chunk_store_new(&callbacks, &store, NULL), NCZCHUNK_EINVAL);
    callbacks.fill = fill;
    CHECK_EQ(nczchunk_chunk_store_new(&callbacks, &store, NULL), NCZCHUNK_EINVAL);
    callbacks.fill = NULL;
    callbacks.wait = NULL;
    CHECK_EQ(nczchunk_chunk_store_new(&callbacks, &store, NULL), NCZCHUNK_EINVAL);
    CHECK(store == NULL);
}

/* --- Progress. */

typedef struct watcher {
    size_t calls, end_at, last_done;
} watcher;

static int watch(void *user, const nczchunk_progress *progress)
{
    watcher *w = user;

    CHECK_EQ(progress->struct_size, sizeof *progress);
    CHECK_EQ(progress->num_chunks, CHUNKS);
    CHECK_EQ(progress->num_bytes, ELEMENTS * sizeof(int));
    CHECK(progress->chunks_done >= w->last_done);
    w->last_done = progress->chunks_done;
    return ++w->calls == w->end_at ? ECANCELED : 0;
}

/* The progress function ends a call before any chunk. What was started comes back first. */
static void a_call_that_is_ended(void)
{
    int data[ELEMENTS];
    far_store f;
    nczchunk_reader_callbacks callbacks = far_callbacks(&f);

    callbacks.in_flight = 6;
    open_as(&f, RANK, dimlens, chunklens, &callbacks);
    for (f.order = FIRST_COME; f.order < NUM_ORDERS; f.order++) {
        for (size_t end_at = 1; end_at <= CHUNKS; end_at++) {
            watcher w = {.end_at = end_at};
            size_t element, done;

            memset(data, 0, sizeof data);
            CHECK_OK(nczchunk_context_set_progress(f.context, watch, &w));
            CHECK_EQ(read_all(&f, data), ECANCELED);
            CHECK_EQ(w.calls, end_at);
            CHECK_EQ(f.started, end_at - 1);
            CHECK_EQ(f.given_back, f.started);
            done = nczchunk_context_chunks_done(f.context);
            CHECK(done < end_at);
            for (size_t e = 0; e < ELEMENTS; e++)
                if (memory_array_find(&f.array, zeros, NULL, NULL, e, &element) < done)
                    CHECK_EQ(data[e], e);
        }
        /* It is told once more when all is done, and cannot end anything any more. */
        {
            watcher w = {.end_at = CHUNKS + 1};

            CHECK_OK(nczchunk_context_set_progress(f.context, watch, &w));
            CHECK_OK(read_all(&f, data));
            CHECK_EQ(w.calls, CHUNKS + 1);
            CHECK_EQ(w.last_done, CHUNKS);
            check_all(&f, data);
        }
    }
    close_far(&f);
}

/* --- Time. */

/* Of 1000 chunks, 64 are in flight unless the store says otherwise: that is 16 times the latency, not 1000 times. */
static void latency_is_waited_for_once_per_round(void)
{
    static const size_t lens[1] = {MOST_CHUNKS}, chunks[1] = {1};
    const size_t limits[] = {0, 1, 10, 64, 1000};
    static int data[MOST_CHUNKS];

    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        const size_t limit = limits[i] > 0 ? limits[i] : 64, rounds = (MOST_CHUNKS + limit - 1) / limit;
        static far_store f;
        nczchunk_reader_callbacks callbacks = far_callbacks(&f);

        callbacks.in_flight = limits[i];
        open_as(&f, 1, lens, chunks, &callbacks);
        CHECK_OK(read_all(&f, data));
        check_all(&f, data);
        CHECK_EQ(f.most_under_way, limit);
        CHECK(f.now <= (long)rounds * LATENCY);
        close_far(&f);
    }
}

int main(void)
{
    alarm(300);
    answers_in_any_order();
    the_limit_is_respected();
    one_thread_does_it();
    plans();
    absent_chunks();
    all_chunks_absent_at_once();
    an_error_at_every_chunk();
    requests_that_are_not_needed_are_cancelled();
    a_second_failure_cancels_the_rest();
    a_wait_that_fails();
    a_wait_that_gives_back_what_is_not_under_way();
    a_callback_that_reads_meanwhile();
    longer_chunks();
    zstd_on_top();
    chunks_that_need_more_room();
    ranges_on_top();
    ranges_are_what_is_needed();
    without_fill();
    with_fill_as_well();
    callbacks_that_do_not_fit();
    a_call_that_is_ended();
    latency_is_waited_for_once_per_round();
    return 0;
}
