/*
 * Callbacks that misbehave: each kind of fault, at each of the callbacks that a call makes.
 *
 * A read or write calls the store's callbacks many times. Whichever of them fails, comes back with too little or too
 * much, takes its time or calls the library itself, the call ends with an error or with the right bytes. Then every
 * loan has been given back and no request is in flight; what chunks_done counts has been done; of a write, every chunk
 * is the old or the new one as a whole. The same call, once the callbacks do what they should, succeeds.
 *
 *     for (turn = 1;; turn++)         the fault is in callback number `turn`, until a call has no so many callbacks
 */
#define _XOPEN_SOURCE 700
#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include "memory_array.h"

/* 8 x 8 elements in 3 x 3 chunks. Half of the rows and nearly all columns are selected: all chunks, each in part. */
enum { RANK = 2, CHUNKS = 9, SELECTED = 4 * 7, FAILED = 77, STOPPED = 88 };

static const size_t dimlens[RANK] = {8, 8}, chunklens[RANK] = {3, 3};
static const size_t start_at[RANK] = {1, 0}, count[RANK] = {4, 7};
static const ptrdiff_t stride[RANK] = {2, 1};

/* The selected ones of these elements are work enough for several threads. A store that fills in chunks gets threads
 * for the time that it takes. */
enum { LARGE_ELEMENT = MOST_ELEMENT_BYTES };

typedef enum fault {
    NONE,
    FAILS,     /* the callback returns FAILED */
    IS_ABSENT, /* the chunk is not there */
    IS_SHORT,  /* the chunk lacks a byte */
    IS_LONG,   /* the chunk has a byte too many */
    IS_EMPTY,  /* the callback says that all is well, and gives nothing */
    ENTERS,    /* the callback calls the library itself */
    IS_SLOW,   /* the callback takes its time */
    STOPS,     /* not a callback of the store's, but the progress callback ends the call */
    NUM_FAULTS
} fault;

/* The ways of giving chunks: the third is asked first and gives the answer later. */
typedef enum way { LENDS, FILLS, IN_FLIGHT, NUM_WAYS } way;

typedef struct faulty {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    memory_array before, after;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    nczchunk_context *context;
    unsigned char *data, *read;
    int is_write;
    /* How many threads there may be; with several, a chunk takes long enough to fetch for them. */
    size_t threads;
    pthread_t caller;

    /* What is to happen, at which callback, counted from 1; how many there have been, and whether it has happened. */
    fault fault;
    long turn, calls;
    int has_happened;
    long lent;
    nczchunk_request *requests_in_flight[CHUNKS];
    size_t num_under_way;
} faulty;

/* --- Calls of the library from within a callback. The first reads another array. */

static void read_another_array(void)
{
    memory_array array;
    nczchunk_var *var;
    nczchunk_chunk_store *store;
    int data[64];

    memory_array_init(&array, RANK, dimlens, chunklens, sizeof(int));
    var = memory_array_var(&array);
    store = memory_array_store(&array, FILLING);
    CHECK_OK(nczchunk_read_vars(var, store, start_at, count, stride, data, NULL));
    memory_array_expect(&array, start_at, count, stride, NULL, data);
    nczchunk_chunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
}

/* The second reads the same selection of the same variable, by the same store. In a write by one thread it finds every
 * element old or new; while other threads write to this array, which has no lock, it must not be read. */
static void read_the_same_array(faulty *f)
{
    const size_t size = f->array.element_size;
    unsigned char *data = malloc(SELECTED * size), *old = malloc(SELECTED * size);

    CHECK(data != NULL && old != NULL);
    CHECK_OK(nczchunk_read_vars(f->var, f->store, start_at, count, stride, data, NULL));
    for (size_t e = 0; e < SELECTED; e++)
        memory_array_element(&f->array, (start_at[0] + e / count[1] * (size_t)stride[0]) * dimlens[1] + e % count[1],
                             old + e * size);
    for (size_t e = 0; e < SELECTED; e++)
        CHECK(memcmp(data + e * size, old + e * size, size) == 0 ||
              (f->is_write && memcmp(data + e * size, f->data + e * size, size) == 0));
    free(old);
    free(data);
}

/* --- The callbacks. */

static void sleep_a_moment(long nanoseconds)
{
    const struct timespec moment = {0, nanoseconds};
    nanosleep(&moment, NULL);
}

/* Chunks are left to the calling thread, before each of which its progress callback is asked. Every other thread keeps
 * the first that it gets until that has been asked so often that the fault has happened, or that no more chunks are
 * sure to be left. */
static void leave_chunks_to_the_caller(faulty *f)
{
    const long sure = CHUNKS - (long)(f->threads - 1), awaited = f->turn < sure ? f->turn : sure;

    while (f->fault == STOPS && !pthread_equal(pthread_self(), f->caller) &&
           __atomic_load_n(&f->calls, __ATOMIC_ACQUIRE) < awaited)
        sleep_a_moment(100000);
}

/* The fault of this callback, if it is one of those that it can have; NONE for most callbacks. */
static fault fault_now(faulty *f, unsigned possible)
{
    fault now = NONE;

    leave_chunks_to_the_caller(f);
    if (f->fault != STOPS && __atomic_add_fetch(&f->calls, 1, __ATOMIC_RELAXED) == f->turn &&
        (possible >> f->fault & 1))
        now = f->fault;
    if (now != NONE)
        __atomic_store_n(&f->has_happened, 1, __ATOMIC_RELAXED);
    if (now == ENTERS) {
        read_another_array();
        /* While requests are in flight, nothing is read by the same store. */
        if ((!f->is_write || f->threads == 1) && f->num_under_way == 0)
            read_the_same_array(f);
    }
    if (now == IS_SLOW)
        sleep_a_moment(2000000);
    return now;
}

enum {
    ANY = 1 << FAILS | 1 << ENTERS | 1 << IS_SLOW,
    OF_A_CHUNK = ANY | 1 << IS_ABSENT | 1 << IS_SHORT | 1 << IS_LONG | 1 << IS_EMPTY
};

static void remove_chunk(faulty *f, const ptrdiff_t *chunk_indices)
{
    memory_chunk_remove(memory_array_chunk(&f->array, chunk_indices), NCZCHUNK_EEMPTY);
}

/* The length that is said of a chunk, instead of its own. */
static size_t wrong_length(fault now, size_t nbytes)
{
    return now == IS_SHORT ? nbytes - 1 : now == IS_LONG ? nbytes + 1 : now == IS_EMPTY ? 0 : nbytes;
}

static int lend_as(faulty *f, nczchunk_borrowed_chunk *loan, int (*lend)(void *user, nczchunk_borrowed_chunk *loan))
{
    fault now = fault_now(f, OF_A_CHUNK);
    int status;

    if (now == FAILS)
        return FAILED;
    if (now == IS_ABSENT)
        remove_chunk(f, loan->chunk_indices);
    status = lend(&f->array, loan);
    loan->nbytes = wrong_length(now, loan->nbytes);
    if (now == IS_EMPTY)
        loan->data = NULL;
    if (loan->data != NULL && (status == NCZCHUNK_NOERR || status == NCZCHUNK_EEMPTY))
        __atomic_add_fetch(&f->lent, 1, __ATOMIC_RELAXED);
    return status;
}

static int lend(void *user, nczchunk_borrowed_chunk *loan)
{
    return lend_as(user, loan, memory_array_lend);
}

static int lend_to_write(void *user, nczchunk_borrowed_chunk *loan)
{
    return lend_as(user, loan, memory_array_lend_to_write);
}

static int release(void *user, nczchunk_borrowed_chunk *loan, int status)
{
    faulty *f = user;

    /* What this returns counts, unless the call has failed already. */
    if (fault_now(f, status == NCZCHUNK_NOERR ? ANY : 0) == FAILS) {
        CHECK_OK(memory_array_release(&f->array, loan, FAILED));
        return FAILED;
    }
    return memory_array_release(&f->array, loan, status);
}

static int fill(void *user, nczchunk_request *request)
{
    faulty *f = user;
    fault now = fault_now(f, OF_A_CHUNK);
    int status;

    if (f->threads > 1)
        sleep_a_moment(200000);
    if (now == FAILS)
        return FAILED;
    if (now == IS_ABSENT)
        remove_chunk(f, request->chunk_indices);
    status = memory_array_fill(&f->array, request);
    request->nbytes = wrong_length(now, request->nbytes);
    return status;
}

static int save(void *user, nczchunk_request *request)
{
    faulty *f = user;
    return fault_now(f, ANY) == FAILS ? FAILED : memory_array_save(&f->array, request);
}

static int start(void *user, nczchunk_request *request)
{
    faulty *f = user;
    fault now = fault_now(f, ANY | 1 << IS_ABSENT);

    if (now == FAILS)
        return FAILED;
    if (now == IS_ABSENT) {
        remove_chunk(f, request->chunk_indices);
        return NCZCHUNK_EEMPTY;
    }
    CHECK(f->num_under_way < CHUNKS);
    f->requests_in_flight[f->num_under_way++] = request;
    return NCZCHUNK_NOERR;
}

/* The request that was started last comes back first. */
static int wait_for_one(void *user, nczchunk_request **done)
{
    faulty *f = user;
    fault now = fault_now(f, OF_A_CHUNK);

    CHECK(f->num_under_way > 0);
    if (now == FAILS) {
        f->num_under_way = 0; /* all of them have ended */
        return FAILED;
    }
    *done = f->requests_in_flight[--f->num_under_way];
    if (now == IS_ABSENT)
        remove_chunk(f, (*done)->chunk_indices);
    (*done)->status = memory_array_fill(&f->array, *done);
    (*done)->nbytes = wrong_length(now, (*done)->nbytes);
    return NCZCHUNK_NOERR;
}

static int progress(void *user, const nczchunk_progress *so_far)
{
    faulty *f = user;

    if (f->fault != STOPS || __atomic_add_fetch(&f->calls, 1, __ATOMIC_RELEASE) != f->turn)
        return 0;
    /* When all is done nothing can be ended any more. */
    f->has_happened = so_far->chunks_done < so_far->num_chunks;
    return STOPPED;
}

/* --- The array. */

static void open_array(faulty *f, way way, size_t threads, int is_write)
{
    nczchunk_zero_copy_callbacks lending = memory_array_lending(&f->array);
    nczchunk_reader_callbacks filling = memory_array_filling(&f->array);

    memset(f, 0, sizeof *f);
    f->is_write = is_write;
    f->threads = threads;
    f->caller = pthread_self();
    memory_array_init(&f->array, RANK, dimlens, chunklens, threads > 1 && way == LENDS ? LARGE_ELEMENT : sizeof(int));
    f->data = malloc(SELECTED * f->array.element_size);
    f->read = malloc(SELECTED * f->array.element_size);
    CHECK(f->data != NULL && f->read != NULL);
    memory_array_make_data(&f->array, SELECTED, f->data);
    f->before = memory_array_copy(&f->array);
    f->after = memory_array_copy(&f->array);
    memory_array_put(&f->after, start_at, count, stride, NULL, f->data, NULL);

    f->var = memory_array_var(&f->array);
    lending.lend = lend;
    lending.lend_to_write = lend_to_write;
    lending.release = release;
    filling.store = save;
    lending.concurrent = filling.concurrent = 1;
    if (way == IN_FLIGHT) {
        filling.fill = NULL;
        filling.start = start;
        filling.wait = wait_for_one;
        filling.in_flight = 4;
    } else {
        filling.fill = fill;
    }
    if (way == LENDS)
        CHECK_OK(nczchunk_chunk_store_new_zero_copy(&lending, &f->store, NULL));
    else
        CHECK_OK(nczchunk_chunk_store_new(&filling, &f->store, NULL));
    CHECK_OK(nczchunk_context_new(&f->context));
    CHECK_OK(nczchunk_context_set_threads(f->context, threads));
    CHECK_OK(nczchunk_context_set_progress(f->context, progress, f));
}

static void close_array(faulty *f)
{
    nczchunk_context_free(f->context);
    nczchunk_chunk_store_free(f->store);
    nczchunk_var_free(f->var);
    memory_array_clear(&f->array);
    memory_array_clear(&f->before);
    memory_array_clear(&f->after);
    free(f->data);
    free(f->read);
}

/* --- One call, and what is true after it. */

static int call(faulty *f)
{
    int status;

    f->calls = f->lent = f->array.released = 0;
    if (f->is_write) {
        status = nczchunk_write_vars(f->var, f->store, start_at, count, stride, f->data, f->context);
    } else {
        memset(f->read, 0xA5, SELECTED * f->array.element_size);
        status = nczchunk_read_vars(f->var, f->store, start_at, count, stride, f->read, f->context);
    }
    CHECK_EQ(nczchunk_context_status(f->context), status);
    CHECK_EQ(f->array.released, f->lent);
    CHECK_EQ(f->num_under_way, 0);
    return status;
}

static int has_same_bytes(const memory_chunk *chunk, const memory_chunk *other)
{
    return chunk->nbytes == other->nbytes && memcmp(chunk->bytes, other->bytes, chunk->nbytes) == 0;
}

/* The first chunks_done chunks are done. All chunks are selected, so their numbers are those of the plan. */
static void check_done(const faulty *f)
{
    size_t done = nczchunk_context_chunks_done(f->context), size = f->array.element_size, element;
    unsigned char *expected = malloc(size);

    CHECK(expected != NULL && done < CHUNKS);
    for (size_t c = 0; f->is_write && c < CHUNKS; c++) {
        const memory_chunk *chunk = &f->array.chunks[c];

        CHECK(has_same_bytes(chunk, &f->after.chunks[c]) || (c >= done && has_same_bytes(chunk, &f->before.chunks[c])));
    }
    for (size_t e = 0; !f->is_write && e < SELECTED; e++) {
        if (memory_array_find(&f->array, start_at, count, stride, e, &element) >= done)
            continue;
        memory_array_element(&f->array, (start_at[0] + e / count[1] * (size_t)stride[0]) * dimlens[1] + e % count[1],
                             expected);
        CHECK(memcmp(f->read + e * size, expected, size) == 0);
    }
    free(expected);
}

/* All is done. A chunk that turned out to be absent reads as fill values, and is made of them. */
static void check_all(faulty *f)
{
    if (!f->is_write) {
        memory_array_expect(&f->array, start_at, count, stride, NULL, f->read);
        return;
    }
    for (size_t c = 0; f->fault == IS_ABSENT && f->has_happened && c < CHUNKS; c++) {
        memory_array expected = memory_array_copy(&f->before);
        int is_this_one;

        memory_chunk_remove(&expected.chunks[c], NCZCHUNK_EEMPTY);
        memory_array_put(&expected, start_at, count, stride, NULL, f->data, NULL);
        is_this_one = has_same_bytes(&f->array.chunks[c], &expected.chunks[c]);
        if (is_this_one)
            memory_chunk_set(&f->after.chunks[c], expected.chunks[c].bytes, expected.chunks[c].nbytes);
        CHECK(is_this_one || has_same_bytes(&f->array.chunks[c], &f->after.chunks[c]));
        memory_array_clear(&expected);
    }
    memory_array_check_same(&f->array, &f->after);
}

static int expected_status(fault fault)
{
    switch (fault) {
    case FAILS: return FAILED;
    case STOPS: return STOPPED;
    case IS_SHORT:
    case IS_LONG:
    case IS_EMPTY: return NCZCHUNK_EBADCHUNK;
    default: return NCZCHUNK_NOERR;
    }
}

/* The fault at every callback of a call. Returns at how many it happened. */
static long at_every_callback(way way, size_t threads, int is_write, fault fault)
{
    static faulty f;
    long happened = 0;
    int has_come;

    for (long turn = 1;; turn++) {
        int status;

        open_array(&f, way, threads, is_write);
        f.fault = fault;
        f.turn = turn;
        status = call(&f);
        has_come = f.calls >= turn;
        happened += f.has_happened;
        CHECK_EQ(status, f.has_happened ? expected_status(fault) : NCZCHUNK_NOERR);
        if (status == NCZCHUNK_NOERR)
            check_all(&f);
        else
            check_done(&f);
        f.fault = NONE;
        if (fault != IS_ABSENT) {
            CHECK_OK(call(&f));
            check_all(&f);
        }
        close_array(&f);
        if (!has_come)
            return happened;
    }
}

int main(void)
{
    static const char *const ways[NUM_WAYS] = {"lends", "fills", "in flight"};

    alarm(500);
    for (way way = LENDS; way < NUM_WAYS; way++) {
        /* Requests in flight are those of one thread. */
        for (size_t threads = 1; threads <= (way == IN_FLIGHT ? 1 : 4); threads += 3) {
            for (int is_write = 0; is_write < 2; is_write++) {
                long happened = 0;

                for (fault fault = FAILS; fault < NUM_FAULTS; fault++) {
                    long times = at_every_callback(way, threads, is_write, fault);

                    /* With several threads it is a matter of luck which callback has which number. */
                    CHECK(times >= (threads == 1 || fault == STOPS ? CHUNKS - (long)(threads - 1) : 1));
                    happened += times;
                }
                printf("%s, %zu threads, %s: %ld faults\n", ways[way], threads, is_write ? "write" : "read", happened);
            }
        }
    }
    return 0;
}
