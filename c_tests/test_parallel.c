/*
 * One call, several threads. nczchunk_context_set_threads says how many may work on a call with that context; a store says
 * with concurrent = 1 that its callbacks may run at the same time. Nothing else changes: bytes, status and what the context
 * tells are the same with any number.
 *
 *     nczchunk_context_set_threads(context, 4);
 *     nczchunk_read_vars(var, store, start, count, stride, data, context);
 *
 * How many threads really work is no matter of luck here: callbacks wait for each other, as many as there should be
 * threads, so a library that used fewer would never end. (Then an alarm ends the test.)
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "zstd_frame.h"

/* The last one not everywhere, for a thread is dear under a memory checker. */
static const size_t thread_counts[] = {1, 2, 3, 8, 100};
#define NUM_THREAD_COUNTS (sizeof thread_counts / sizeof *thread_counts)

/* --- Threads that are counted, and refused when told to: this takes the place of pthread_create in the whole program. */

static long threads_begun;
/* How many more may begin; -1: any number. */
static long threads_allowed = -1;

typedef int create_function(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument);

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *), void *argument)
{
    create_function *create;
    void *symbol = dlsym(RTLD_NEXT, "pthread_create");

    CHECK(symbol != NULL);
    memcpy(&create, &symbol, sizeof create);
    if (threads_allowed == 0)
        return EAGAIN;
    threads_allowed -= threads_allowed > 0;
    threads_begun++;
    return create(thread, attributes, start, argument);
}

/* --- An array whose callbacks are watched. */

enum { MOST_THREADS = 300 };

typedef struct watched {
    memory_array array; /* first, for the array's own callbacks take a pointer to it */
    nczchunk_var *var;
    nczchunk_store *store;
    nczchunk_context *context;

    pthread_mutex_t lock;
    pthread_cond_t news;
    /* The threads that callbacks ran in. */
    pthread_t threads[MOST_THREADS];
    size_t num_threads;
    /* So many callbacks wait for each other, once. */
    size_t parties, arrived;
    /* What a callback does besides; NULL: nothing. */
    void (*also)(struct watched *w, memory_chunk *chunk);
    /* A chunk that was asked for, or NULL: what also may wait for. */
    const memory_chunk *awaited;
    int has_come;
} watched;

static void watch(watched *w, const ptrdiff_t *chunk_indices)
{
    memory_chunk *chunk = memory_array_chunk(&w->array, chunk_indices);
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
    if (chunk == w->awaited) {
        w->has_come = 1;
        pthread_cond_broadcast(&w->news);
    }
    pthread_mutex_unlock(&w->lock);
    if (w->also != NULL)
        w->also(w, chunk);
}

static int watched_lend(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void **data, size_t *nbytes)
{
    watch(user, chunk_indices);
    return memory_array_lend(user, rank, chunk_indices, data, nbytes);
}

static int watched_fill(void *user, size_t rank, const ptrdiff_t *chunk_indices, void *buffer, size_t size,
                        size_t *nbytes)
{
    watch(user, chunk_indices);
    return memory_array_fill(user, rank, chunk_indices, buffer, size, nbytes);
}

static int watched_lend_to_write(void *user, size_t rank, const ptrdiff_t *chunk_indices, int covered, void **data,
                                 size_t *nbytes)
{
    watch(user, chunk_indices);
    return memory_array_lend_to_write(user, rank, chunk_indices, covered, data, nbytes);
}

static int watched_save(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void *data, size_t nbytes)
{
    watch(user, chunk_indices);
    return memory_array_save(user, rank, chunk_indices, data, nbytes);
}

static void make_watched_store(watched *w, store_kind kind, int concurrent)
{
    nczchunk_lending_callbacks lending = memory_array_lending(&w->array);
    nczchunk_filling_callbacks filling = memory_array_filling(&w->array);

    lending.lend = watched_lend;
    lending.lend_to_write = watched_lend_to_write;
    lending.concurrent = concurrent;
    filling.fill = watched_fill;
    filling.store = watched_save;
    filling.concurrent = concurrent;
    if (kind == LENDING)
        CHECK_OK(nczchunk_store_lending(&lending, &w->store));
    else
        CHECK_OK(nczchunk_store_filling(&filling, &w->store));
}

/* Opens an array in three dimensions, of 3 x 3 x 3 chunks, one of which is absent. */
enum { RANK = 3, CHUNKS = 27, ELEMENTS = 12 * 10 * 8, ABSENT = 7 };

static const size_t dimlens[RANK] = {12, 10, 8}, chunklens[RANK] = {5, 4, 3}, zeros[RANK];

static void open_watched(watched *w, size_t typesize, store_kind kind, int concurrent)
{
    memset(w, 0, sizeof *w);
    memory_array_init(&w->array, RANK, dimlens, chunklens, typesize);
    memory_chunk_remove(&w->array.chunks[ABSENT], NCZCHUNK_EEMPTY);
    w->var = memory_array_var(&w->array);
    make_watched_store(w, kind, concurrent);
    CHECK_OK(nczchunk_context_new(&w->context));
    CHECK_OK(pthread_mutex_init(&w->lock, NULL));
    CHECK_OK(pthread_cond_init(&w->news, NULL));
}

/* Puts another array in its place. */
static void replace_array(watched *w, size_t rank, const size_t *lens, const size_t *chunks)
{
    memory_array_clear(&w->array);
    nczchunk_var_free(w->var);
    memory_array_init(&w->array, rank, lens, chunks, sizeof(int));
    w->var = memory_array_var(&w->array);
}

static void close_watched(watched *w)
{
    CHECK_OK(pthread_cond_destroy(&w->news));
    CHECK_OK(pthread_mutex_destroy(&w->lock));
    nczchunk_context_free(w->context);
    nczchunk_store_free(w->store);
    nczchunk_var_free(w->var);
    memory_array_clear(&w->array);
}

/* Gets ready for a call of so many threads, of which so many will work. */
static void expect_threads(watched *w, size_t threads, size_t working)
{
    CHECK_OK(nczchunk_context_set_threads(w->context, threads));
    w->num_threads = w->arrived = 0;
    w->parties = working;
    w->array.asked = w->array.released = w->array.written = 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* How often each chunk is in a log of so many calls. */
static void count_in_log(const memory_array *array, const ptrdiff_t *log, long calls, int times[CHUNKS])
{
    memset(times, 0, CHUNKS * sizeof *times);
    for (long call = 0; call < calls; call++)
        times[memory_array_chunk(array, log + call * RANK) - array->chunks]++;
}

/* --- Reads of all kinds give the same bytes. */

typedef struct request {
    size_t start[RANK], count[RANK];
    ptrdiff_t stride[RANK];
} request;

static const request requests[] = {
    {{0, 0, 0}, {12, 10, 8}, {1, 1, 1}}, /* everything */
    {{1, 0, 1}, {4, 5, 3}, {3, 2, 2}},   /* every so many-th */
    {{2, 3, 2}, {9, 1, 6}, {1, 1, 1}},   /* a part */
    {{0, 4, 3}, {5, 4, 3}, {1, 1, 1}},   /* one chunk */
};
#define NUM_REQUESTS (sizeof requests / sizeof *requests)

/* Where the elements go: dense, transposed, with gaps between them, back to front, and all along the first dimension to
 * the same place. */
typedef enum way { DENSE, TRANSPOSED, GAPS, BACKWARDS, OVERLAPPING, NUM_WAYS } way;

/* Twice the elements of 8 bytes, for the gaps. */
enum { MEMORY = 2 * 8 * ELEMENTS };

static int read_as(const watched *w, way how, const request *r, unsigned char *memory)
{
    const size_t *n = r->count;
    const ptrdiff_t size = (ptrdiff_t)w->array.typesize, row = (ptrdiff_t)n[2], plane = (ptrdiff_t)n[1] * row;
    const ptrdiff_t transposed[RANK] = {1, (ptrdiff_t)n[0], (ptrdiff_t)(n[0] * n[1])};
    const ptrdiff_t dense[RANK] = {plane * size, row * size, size}, overlapping[RANK] = {0, row * size, size};
    const ptrdiff_t gaps[RANK] = {2 * plane * size, 2 * row * size, 2 * size};
    size_t last[RANK];
    ptrdiff_t back[RANK];

    for (size_t d = 0; d < RANK; d++) {
        last[d] = r->start[d] + (n[d] - 1) * (size_t)r->stride[d];
        back[d] = -r->stride[d];
    }
    memset(memory, 0xA7, MEMORY);
    switch (how) {
    case TRANSPOSED:
        return nczchunk_read_varm(w->var, w->store, r->start, n, r->stride, transposed, memory, w->context);
    case GAPS:
        return nczchunk_read_strided(w->var, w->store, r->start, n, r->stride, memory, MEMORY, 0, gaps, w->context);
    case BACKWARDS:
        return nczchunk_read_strided(w->var, w->store, last, n, back, memory, MEMORY, 0, dense, w->context);
    case OVERLAPPING:
        return nczchunk_read_strided(w->var, w->store, r->start, n, r->stride, memory, MEMORY, 0, overlapping,
                                     w->context);
    default: return nczchunk_read_vars(w->var, w->store, r->start, n, r->stride, memory, w->context);
    }
}

static void any_number_of_threads_reads_the_same(store_kind kind, int compressed, size_t typesize, int swapped)
{
    static unsigned char memory[MEMORY], alone[MEMORY];
    ptrdiff_t log[CHUNKS * RANK];
    watched w;

    open_watched(&w, typesize, kind, 1);
    w.array.log = log;
    if (swapped) {
        memory_array_swap(&w.array, typesize);
        CHECK_OK(nczchunk_var_set_endian(w.var, foreign_endian()));
    }
    if (compressed) {
        memory_array_compress(&w.array);
        CHECK_OK(nczchunk_store_wrap_zstd(w.store, NULL));
    }
    for (size_t i = 0; i < NUM_REQUESTS; i++) {
        for (way how = DENSE; how < NUM_WAYS; how++) {
            const request *r = &requests[i];
            int asked[CHUNKS], asked_alone[CHUNKS];
            size_t chunks;

            expect_threads(&w, 1, 1);
            CHECK_OK(read_as(&w, how, r, alone));
            if (how == DENSE)
                memory_array_expect(&w.array, r->start, r->count, r->stride, NULL, alone);
            chunks = (size_t)w.array.asked;
            count_in_log(&w.array, log, w.array.asked, asked_alone);

            for (size_t t = 0; t < NUM_THREAD_COUNTS - (how != DENSE); t++) {
                /* Where elements overlap, the last one would be a matter of luck: one thread reads them in order. */
                size_t working = how == OVERLAPPING ? 1 : smaller(thread_counts[t], chunks);

                expect_threads(&w, thread_counts[t], working);
                CHECK_OK(read_as(&w, how, r, memory));
                CHECK_EQ(w.num_threads, working);
                CHECK(memcmp(memory, alone, MEMORY) == 0);
                CHECK_EQ(nczchunk_context_chunks_done(w.context), chunks);
                CHECK_EQ(w.array.asked, chunks);
                count_in_log(&w.array, log, w.array.asked, asked);
                CHECK(memcmp(asked, asked_alone, sizeof asked) == 0);
                /* The chunk that is absent was not lent. */
                if (kind == LENDING)
                    CHECK_EQ(w.array.released, chunks - (size_t)asked[ABSENT]);
            }
        }
    }
    close_watched(&w);
}

/* A chunk that lies in the caller's memory in one piece is filled in there, by whichever thread. */
static void chunks_are_filled_in_where_they_belong(void)
{
    const size_t lens[RANK] = {40, 8, 3}, chunks[RANK] = {2, 8, 3};
    static int data[40 * 8 * 3];
    watched w;

    open_watched(&w, sizeof(int), FILLING, 1);
    replace_array(&w, RANK, lens, chunks);
    w.array.data = (const unsigned char *)data;
    w.array.data_size = sizeof data;

    expect_threads(&w, 4, 4);
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
    memory_array_expect(&w.array, zeros, NULL, NULL, NULL, data);
    CHECK_EQ(w.array.asked, 20);
    CHECK_EQ(w.array.direct, 20);
    /* And stored from there. */
    expect_threads(&w, 4, 4);
    CHECK_OK(nczchunk_write_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
    CHECK_EQ(w.array.written, 20);
    CHECK_EQ(w.array.direct, 40);
    close_watched(&w);
}

/* Chunks in which lists of one index per dimension are not held in place but allocated. */
static void ranks_above_eight(void)
{
    enum { HIGH = 10 };
    const size_t lens[HIGH] = {3, 1, 4, 1, 1, 1, 1, 1, 2, 3}, chunks[HIGH] = {1, 1, 3, 1, 1, 1, 1, 1, 1, 2};
    const size_t origin[HIGH] = {0};
    int data[72];
    watched w;

    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        open_watched(&w, sizeof(int), store_kinds[kind], 1);
        replace_array(&w, HIGH, lens, chunks);
        expect_threads(&w, 5, 5);
        CHECK_OK(nczchunk_read_vars(w.var, w.store, origin, NULL, NULL, data, w.context));
        memory_array_expect(&w.array, origin, NULL, NULL, NULL, data);
        w.array.chunks[11].status = 77;
        expect_threads(&w, 5, 5);
        CHECK_EQ(nczchunk_read_vars(w.var, w.store, origin, NULL, NULL, data, w.context), 77);
        CHECK_EQ(nczchunk_context_chunks_done(w.context), 11);
        CHECK(memory_array_chunk(&w.array, nczchunk_context_chunk(w.context, NULL)) == &w.array.chunks[11]);
        close_watched(&w);
    }
}

/* --- Where one thread has to do, it is the caller's. */

static int copy_ints(void *user, int writing, size_t count, const void *source, void *destination)
{
    (void)user;
    (void)writing;
    memcpy(destination, source, count * sizeof(int));
    return 0;
}

static void one_thread_where_more_are_not_allowed(store_kind kind)
{
    int data[ELEMENTS];
    watched w;

    for (int concurrent = 0; concurrent <= 1; concurrent++) {
        /* Elements with a copier come from a store that lends. */
        if (concurrent && kind == FILLING)
            break;
        open_watched(&w, sizeof(int), kind, concurrent);
        if (concurrent)
            CHECK_OK(nczchunk_var_set_copier(w.var, copy_ints, NULL));
        for (int writing = 0; writing <= 1; writing++) {
            threads_begun = 0;
            expect_threads(&w, 8, 1);
            if (writing)
                CHECK_OK(nczchunk_write_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
            else
                CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
            CHECK_EQ(threads_begun, 0);
            CHECK_EQ(w.num_threads, 1);
            CHECK(pthread_equal(w.threads[0], pthread_self()));
            CHECK_EQ(nczchunk_context_chunks_done(w.context), CHUNKS);
        }
        close_watched(&w);
    }
}

/* --- Failures: the first chunk in order that fails is told, whichever failed first in time. */

/* A nap that is different for each chunk and each round. */
static unsigned round_number;

static void nap(watched *w, memory_chunk *chunk)
{
    unsigned number = (unsigned)(chunk - w->array.chunks);
    struct timespec time = {0, 1000 * (long)((number * 7919u + round_number * 104729u) % 97u)};

    nanosleep(&time, NULL);
}

/* Checks that exactly this chunk is told as the failing one. */
static void check_failed_chunk(const watched *w, size_t failing, int status)
{
    size_t rank = 0;
    const ptrdiff_t *indices = nczchunk_context_chunk(w->context, &rank);

    CHECK_EQ(nczchunk_context_status(w->context), status);
    CHECK(indices != NULL);
    CHECK_EQ(rank, w->array.rank);
    CHECK_EQ(memory_array_chunk(&w->array, indices) - w->array.chunks, failing);
    CHECK_EQ(nczchunk_context_chunks_done(w->context), failing);
}

static void the_first_failing_chunk_is_told(store_kind kind, int compressed)
{
    enum { ROUNDS = 8 };
    int data[ELEMENTS], asked[CHUNKS];
    ptrdiff_t log[CHUNKS * RANK];
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    w.array.log = log;
    w.also = nap;
    if (compressed) {
        memory_array_compress(&w.array);
        CHECK_OK(nczchunk_store_wrap_zstd(w.store, NULL));
    }
    for (size_t t = 0; t < NUM_THREAD_COUNTS - 1; t++) {
        for (round_number = 0; round_number < ROUNDS; round_number++) {
            size_t first = CHUNKS, bytes[CHUNKS];
            int first_status = 0;

            for (size_t c = CHUNKS; c-- > 0;) {
                memory_chunk *chunk = &w.array.chunks[c];
                unsigned any = ((unsigned)c * 31u + round_number * 17u + 5u) % 13u;

                bytes[c] = chunk->nbytes;
                if (c == ABSENT || any > 2)
                    continue;
                first = c;
                /* Its callback fails, or the chunk is cut short. */
                if (any > 0) {
                    first_status = chunk->status = 100 + (int)c;
                } else {
                    chunk->nbytes -= 5;
                    first_status = compressed ? NCZCHUNK_EFILTER : NCZCHUNK_EBADCHUNK;
                }
            }
            CHECK(first < CHUNKS);
            expect_threads(&w, thread_counts[t], 1);
            CHECK_EQ(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), first_status);
            check_failed_chunk(&w, first, first_status);
            /* All up to it were asked for, and none twice. */
            count_in_log(&w.array, log, w.array.asked, asked);
            for (size_t c = 0; c < CHUNKS; c++) {
                CHECK(asked[c] <= 1);
                CHECK(asked[c] == 1 || c > first);
                if (thread_counts[t] == 1)
                    CHECK(asked[c] == 0 || c <= first);
            }
            for (size_t c = 0; c < CHUNKS; c++) {
                w.array.chunks[c].nbytes = bytes[c];
                if (c != ABSENT)
                    w.array.chunks[c].status = NCZCHUNK_NOERR;
            }
        }
        /* The fault gone, the same store reads everything. */
        expect_threads(&w, thread_counts[t], 1);
        CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
        memory_array_expect(&w.array, zeros, NULL, NULL, NULL, data);
        CHECK(nczchunk_context_chunk(w.context, NULL) == NULL);
    }
    close_watched(&w);
}

/* Chunk 3 does not fail before chunk 9 is failing. */
static void wait_for_the_later_one(watched *w, memory_chunk *chunk)
{
    if (chunk != &w->array.chunks[3])
        return;
    pthread_mutex_lock(&w->lock);
    while (!w->has_come)
        pthread_cond_wait(&w->news, &w->lock);
    pthread_mutex_unlock(&w->lock);
    nap(w, chunk);
}

static void a_later_chunk_that_fails_sooner(store_kind kind)
{
    int data[ELEMENTS];
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    w.also = wait_for_the_later_one;
    w.awaited = &w.array.chunks[9];
    w.array.chunks[3].status = 303;
    w.array.chunks[9].status = 909;
    for (size_t threads = 2; threads <= CHUNKS; threads += 1 + threads) {
        expect_threads(&w, threads, threads);
        w.has_come = 0;
        round_number = (unsigned)threads;
        CHECK_EQ(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), 303);
        check_failed_chunk(&w, 3, 303);
    }
    close_watched(&w);
}

/* Of many chunks a thread takes several at a time: here 20, with two threads. */
enum { MANY = 640 };

static const size_t many = MANY, one = 1;

static void the_first_failing_chunk_of_many(store_kind kind)
{
    static int data[MANY];
    static ptrdiff_t log[MANY];
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    replace_array(&w, 1, &many, &one);
    w.array.log = log;
    for (size_t t = 0; t < NUM_THREAD_COUNTS - 1; t++) {
        for (size_t first = 0; first < MANY; first += 71) {
            int asked[MANY] = {0};

            expect_threads(&w, thread_counts[t], thread_counts[t]);
            CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
            memory_array_expect(&w.array, zeros, NULL, NULL, NULL, data);
            CHECK_EQ(w.array.asked, MANY);

            for (size_t c = first; c < MANY; c++)
                w.array.chunks[c].status = 1000 + (int)c;
            expect_threads(&w, thread_counts[t], thread_counts[t]);
            CHECK_EQ(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), 1000 + first);
            check_failed_chunk(&w, first, 1000 + (int)first);
            for (long call = 0; call < w.array.asked; call++)
                asked[log[call]]++;
            for (size_t c = 0; c < MANY; c++)
                CHECK(asked[c] == 1 || (asked[c] == 0 && c > first));
            for (size_t c = first; c < MANY; c++)
                w.array.chunks[c].status = NCZCHUNK_NOERR;
        }
    }
    close_watched(&w);
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
    static int data[MANY];
    watched w;

    open_watched(&w, sizeof(int), LENDING, 1);
    replace_array(&w, 1, &many, &one);
    w.also = linger;
    w.array.chunks[0].status = 77;
    expect_threads(&w, 2, 2);
    CHECK_EQ(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), 77);
    check_failed_chunk(&w, 0, 77);
    CHECK(w.array.asked <= 20);
    close_watched(&w);
}

/* --- Writes. */

/* Writes from memory, dense or with the elements of the first dimension at the same place, which a write may share. */
static int write_as(const watched *w, way how, const request *r, const int *data)
{
    const ptrdiff_t imap[RANK] = {0, (ptrdiff_t)r->count[2], 1};

    return how == OVERLAPPING
               ? nczchunk_write_varm(w->var, w->store, r->start, r->count, r->stride, imap, data, w->context)
               : nczchunk_write_vars(w->var, w->store, r->start, r->count, r->stride, data, w->context);
}

static void open_for_writing(watched *w, store_kind kind, int compressed)
{
    int data[ELEMENTS];

    open_watched(w, sizeof(int), kind, 1);
    if (compressed) {
        CHECK_OK(nczchunk_read_vars(w->var, w->store, zeros, NULL, NULL, data, NULL));
        CHECK_OK(nczchunk_store_wrap_zstd(w->store, NULL));
        CHECK_OK(nczchunk_write_vars(w->var, w->store, zeros, NULL, NULL, data, NULL));
        memory_chunk_remove(&w->array.chunks[ABSENT], NCZCHUNK_EEMPTY);
    }
}

static void any_number_of_threads_writes_the_same(store_kind kind, int compressed)
{
    ptrdiff_t log[CHUNKS * RANK];
    int data[ELEMENTS], times[CHUNKS];

    for (size_t i = 0; i < NUM_REQUESTS; i++) {
        for (int how = 0; how < 2; how++) {
            const request *r = &requests[i];
            size_t *elements, chunks = 0;
            watched alone, w;

            open_for_writing(&alone, kind, compressed);
            memory_array_make_data(&alone.array, ELEMENTS, data);
            elements = memory_array_elements(&alone.array, r->start, r->count, r->stride);
            for (size_t c = 0; c < CHUNKS; c++)
                chunks += elements[c] > 0;
            if (!compressed && !how) {
                memory_array expected = memory_array_copy(&alone.array);

                memory_array_put(&expected, r->start, r->count, r->stride, NULL, data, NULL);
                CHECK_OK(write_as(&alone, DENSE, r, data));
                memory_array_check_same(&alone.array, &expected);
                memory_array_clear(&expected);
            } else {
                CHECK_OK(write_as(&alone, how ? OVERLAPPING : DENSE, r, data));
            }
            for (size_t t = 0; t < NUM_THREAD_COUNTS; t++) {
                size_t working = smaller(thread_counts[t], chunks);

                open_for_writing(&w, kind, compressed);
                w.array.write_log = log;
                expect_threads(&w, thread_counts[t], working);
                CHECK_OK(write_as(&w, how ? OVERLAPPING : DENSE, r, data));
                CHECK_EQ(w.num_threads, working);
                CHECK_EQ(nczchunk_context_chunks_done(w.context), chunks);
                memory_array_check_same(&w.array, &alone.array);
                /* Each chunk was stored once, and no other. */
                CHECK_EQ(w.array.written, chunks);
                count_in_log(&w.array, log, w.array.written, times);
                for (size_t c = 0; c < CHUNKS; c++)
                    CHECK_EQ(times[c], elements[c] > 0);
                close_watched(&w);
            }
            free(elements);
            close_watched(&alone);
        }
    }
}

/* A write that fails has written what comes before the chunk it tells; the same call again writes the rest. */
static void a_failing_write(store_kind kind)
{
    int data[ELEMENTS];

    for (size_t t = 0; t < NUM_THREAD_COUNTS - 1; t++) {
        for (round_number = 0; round_number < 6; round_number++) {
            size_t first = 4 * round_number, also_failing = first + 1 + round_number % 5;
            memory_array before, expected;
            watched w;

            open_watched(&w, sizeof(int), kind, 1);
            w.also = nap;
            memory_array_make_data(&w.array, ELEMENTS, data);
            before = memory_array_copy(&w.array);
            expected = memory_array_copy(&w.array);
            memory_array_put(&expected, zeros, NULL, NULL, NULL, data, NULL);
            w.array.chunks[first].write_status = 500;
            w.array.chunks[also_failing].write_status = 600;

            expect_threads(&w, thread_counts[t], 1);
            CHECK_EQ(nczchunk_write_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), 500);
            check_failed_chunk(&w, first, 500);
            for (size_t c = 0; c < CHUNKS; c++) {
                const memory_chunk *chunk = &w.array.chunks[c];
                int is_old = chunk->status == before.chunks[c].status && chunk->bytes != NULL &&
                             memcmp(chunk->bytes, before.chunks[c].bytes, w.array.chunk_bytes) == 0;
                int is_new = chunk->status == NCZCHUNK_NOERR &&
                             memcmp(chunk->bytes, expected.chunks[c].bytes, w.array.chunk_bytes) == 0;

                if (c == ABSENT)
                    is_old = chunk->status == NCZCHUNK_EEMPTY;
                if (c == first || c == also_failing)
                    CHECK(is_old);
                else if (c < first)
                    CHECK(is_new);
                else if (thread_counts[t] == 1)
                    CHECK(is_old);
                else
                    CHECK(is_old || is_new);
            }
            w.array.chunks[first].write_status = w.array.chunks[also_failing].write_status = NCZCHUNK_NOERR;
            expect_threads(&w, thread_counts[t], 1);
            CHECK_OK(nczchunk_write_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
            memory_array_check_same(&w.array, &expected);
            memory_array_clear(&expected);
            memory_array_clear(&before);
            close_watched(&w);
        }
    }
}

/* --- Threads begin and end with the call. */

/* How many threads the program has. */
static long count_tasks(void)
{
    DIR *directory = opendir("/proc/self/task");
    long tasks = -2; /* "." and ".." are none */

    CHECK(directory != NULL);
    while (readdir(directory) != NULL)
        tasks++;
    closedir(directory);
    return tasks;
}

static void no_thread_is_left(void)
{
    const struct timespec moment = {0, 1000000};
    const long before = count_tasks();
    int data[ELEMENTS];
    watched w;

    open_watched(&w, sizeof(int), FILLING, 1);
    for (int failing = 0; failing <= 1; failing++) {
        if (failing)
            w.array.chunks[5].status = 77;
        threads_begun = 0;
        expect_threads(&w, 8, 8);
        CHECK_EQ(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context), failing ? 77 : 0);
        CHECK_EQ(threads_begun, 7);
        /* The system may list a thread for a moment after it has ended. */
        while (count_tasks() > before)
            nanosleep(&moment, NULL);
        CHECK_EQ(count_tasks(), before);
    }
    close_watched(&w);
}

/* A child has none of its parent's threads, and needs none of them. */
static void after_a_fork(store_kind kind)
{
    int data[ELEMENTS], status;
    pid_t child;
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    memory_array_compress(&w.array);
    CHECK_OK(nczchunk_store_wrap_zstd(w.store, NULL));
    expect_threads(&w, 4, 4);
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
    child = fork();
    CHECK(child >= 0);
    memset(data, 0, sizeof data);
    expect_threads(&w, 4, 4);
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
    CHECK_EQ(w.num_threads, 4);
    memory_array_expect(&w.array, zeros, NULL, NULL, NULL, data);
    close_watched(&w);
    if (child == 0)
        _exit(42);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 42);
}

/* Where the system refuses a thread, the others do the work, be it the caller alone. */
static void refused_threads(store_kind kind)
{
    int data[ELEMENTS];
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    for (long allowed = 0; allowed < 5; allowed++) {
        expect_threads(&w, 8, 1 + (size_t)allowed);
        threads_allowed = allowed;
        CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
        threads_allowed = -1;
        CHECK_EQ(w.num_threads, 1 + allowed);
        memory_array_expect(&w.array, zeros, NULL, NULL, NULL, data);
    }
    close_watched(&w);
}

/* --- Signals: the program's handlers run in the program's threads. */

static void check_signals(watched *w, memory_chunk *chunk)
{
    static const int of_faults[] = {SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP};
    const int is_caller = pthread_equal(w->threads[0], pthread_self());
    sigset_t blocked;

    (void)chunk;
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &blocked));
    for (int signal = 1; signal <= SIGRTMAX; signal++) {
        int is_of_fault = 0;

        /* Nobody can block the first two, and those before SIGRTMIN are the C library's own. */
        if (signal == SIGKILL || signal == SIGSTOP || (signal >= 32 && signal < SIGRTMIN))
            continue;
        for (size_t i = 0; i < sizeof of_faults / sizeof *of_faults; i++)
            is_of_fault |= signal == of_faults[i];
        CHECK_EQ(sigismember(&blocked, signal), signal == SIGUSR2 || (!is_caller && !is_of_fault));
    }
}

static void signals_are_for_the_caller(void)
{
    int data[ELEMENTS];
    sigset_t before, after, one;
    watched w;

    open_watched(&w, sizeof(int), LENDING, 1);
    /* One that the caller has blocked stays so. */
    sigemptyset(&one);
    sigaddset(&one, SIGUSR2);
    CHECK_OK(pthread_sigmask(SIG_BLOCK, &one, NULL));
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &before));
    expect_threads(&w, 4, 4);
    w.threads[0] = pthread_self();
    w.num_threads = 1;
    w.also = check_signals;
    CHECK_OK(nczchunk_read_vars(w.var, w.store, zeros, NULL, NULL, data, w.context));
    CHECK_EQ(w.num_threads, 4);
    CHECK_OK(pthread_sigmask(SIG_BLOCK, NULL, &after));
    for (int signal = 1; signal <= SIGRTMAX; signal++)
        CHECK_EQ(sigismember(&after, signal), sigismember(&before, signal));
    CHECK_OK(pthread_sigmask(SIG_UNBLOCK, &one, NULL));
    close_watched(&w);
}

/* Chunks on pages that are not there until they are looked at, when a handler provides them: as in a mapped file. */
static unsigned char *pages;
static size_t page_size;
static volatile sig_atomic_t faults;

static void provide_page(int signal, siginfo_t *info, void *machine)
{
    uintptr_t fault = (uintptr_t)info->si_addr, first = (uintptr_t)pages;

    (void)signal;
    (void)machine;
    if (fault < first || fault >= first + 8 * page_size)
        abort();
    faults = 1;
    if (mprotect(pages + (fault - first) / page_size * page_size, page_size, PROT_READ) != 0)
        abort();
}

typedef struct page_store {
    pthread_mutex_t lock;
    pthread_cond_t news;
    int arrived;
} page_store;

static int lend_page(void *user, size_t rank, const ptrdiff_t *chunk_indices, const void **data, size_t *nbytes)
{
    page_store *s = user;

    CHECK_EQ(rank, 1);
    pthread_mutex_lock(&s->lock);
    s->arrived++;
    pthread_cond_broadcast(&s->news);
    while (s->arrived < 4)
        pthread_cond_wait(&s->news, &s->lock);
    pthread_mutex_unlock(&s->lock);
    *data = pages + (size_t)chunk_indices[0] * page_size;
    *nbytes = page_size;
    return NCZCHUNK_NOERR;
}

static void faults_are_handled_in_every_thread(void)
{
    page_store s = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    nczchunk_lending_callbacks callbacks = {
        .struct_size = sizeof callbacks, .user = &s, .lend = lend_page, .concurrent = 1};
    struct sigaction provide, before;
    const size_t start = 0;
    size_t length;
    unsigned char *data;
    nczchunk_var *var;
    nczchunk_store *store;
    nczchunk_context *context;

    page_size = (size_t)sysconf(_SC_PAGESIZE);
    length = 8 * page_size;
    pages = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(pages != MAP_FAILED);
    for (size_t i = 0; i < length; i++)
        pages[i] = (unsigned char)(i * 7 / 5);
    CHECK_OK(mprotect(pages, length, PROT_NONE));
    memset(&provide, 0, sizeof provide);
    provide.sa_sigaction = provide_page;
    provide.sa_flags = SA_SIGINFO;
    CHECK_OK(sigaction(SIGSEGV, &provide, &before));

    data = malloc(length);
    CHECK(data != NULL);
    CHECK_OK(nczchunk_var_new(1, &length, &page_size, 1, &var, NULL));
    CHECK_OK(nczchunk_store_lending(&callbacks, &store));
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 4));
    CHECK_OK(nczchunk_read_vars(var, store, &start, NULL, NULL, data, context));
    CHECK(faults);
    CHECK(memcmp(data, pages, length) == 0);

    CHECK_OK(sigaction(SIGSEGV, &before, NULL));
    nczchunk_context_free(context);
    nczchunk_store_free(store);
    nczchunk_var_free(var);
    free(data);
    CHECK_OK(munmap(pages, length));
}

/* --- Calls within calls, and beside each other. */

static watched inner;

/* A callback may itself read on several threads, with a context of its own. */
static void read_inner(watched *w, memory_chunk *chunk)
{
    const size_t start[RANK] = {0, 4, 3}, count[RANK] = {12, 4, 3};
    int data[12 * 4 * 3];
    nczchunk_context *context;

    (void)w;
    (void)chunk;
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_OK(nczchunk_context_set_threads(context, 3));
    CHECK_OK(nczchunk_read_vars(inner.var, inner.store, start, count, NULL, data, context));
    memory_array_expect(&inner.array, start, count, NULL, NULL, data);
    nczchunk_context_free(context);
}

static void calls_within_calls(void)
{
    int data[ELEMENTS];
    watched outer;

    open_watched(&inner, sizeof(int), FILLING, 1);
    open_watched(&outer, sizeof(int), FILLING, 1);
    outer.also = read_inner;
    expect_threads(&outer, 3, 3);
    CHECK_OK(nczchunk_read_vars(outer.var, outer.store, zeros, NULL, NULL, data, outer.context));
    memory_array_expect(&outer.array, zeros, NULL, NULL, NULL, data);
    close_watched(&outer);
    close_watched(&inner);
}

typedef struct caller {
    watched *w;
    pthread_t thread;
    nczchunk_context *context;
    int data[ELEMENTS];
} caller;

static void *call(void *argument)
{
    caller *c = argument;

    CHECK_OK(nczchunk_read_vars(c->w->var, c->w->store, zeros, NULL, NULL, c->data, c->context));
    return NULL;
}

/* Two threads of the program read with three threads each: six at the same time. */
static void calls_beside_each_other(store_kind kind)
{
    static caller callers[2];
    watched w;

    open_watched(&w, sizeof(int), kind, 1);
    memory_array_compress(&w.array);
    CHECK_OK(nczchunk_store_wrap_zstd(w.store, NULL));
    expect_threads(&w, 1, 6);
    for (size_t i = 0; i < 2; i++) {
        callers[i].w = &w;
        CHECK_OK(nczchunk_context_new(&callers[i].context));
        CHECK_OK(nczchunk_context_set_threads(callers[i].context, 3));
        CHECK_OK(pthread_create(&callers[i].thread, NULL, call, &callers[i]));
    }
    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(pthread_join(callers[i].thread, NULL));
        memory_array_expect(&w.array, zeros, NULL, NULL, NULL, callers[i].data);
        nczchunk_context_free(callers[i].context);
    }
    CHECK_EQ(w.num_threads, 6);
    close_watched(&w);
}

/* --- How many. */

static void numbers_of_threads(void)
{
    const size_t length = 300, start = 0;
    signed char *data = malloc(length);
    nczchunk_context *context;
    memory_array array;
    nczchunk_filling_callbacks callbacks;
    nczchunk_store *store;
    nczchunk_var *var;

    CHECK(data != NULL);
    CHECK_OK(nczchunk_context_new(&context));
    CHECK_EQ(nczchunk_context_set_threads(NULL, 2), NCZCHUNK_EINVAL);
    CHECK_OK(nczchunk_context_set_threads(context, 3));
    CHECK_EQ(nczchunk_context_set_threads(context, 0), NCZCHUNK_EINVAL);

    memory_array_init(&array, 1, &length, &one, 1);
    callbacks = memory_array_filling(&array);
    callbacks.concurrent = 1;
    CHECK_OK(nczchunk_store_filling(&callbacks, &store));
    var = memory_array_var(&array);
    /* The number that was refused has changed nothing. */
    threads_begun = 0;
    CHECK_OK(nczchunk_read_vars(var, store, &start, NULL, NULL, data, context));
    CHECK_EQ(threads_begun, 2);
    /* Without a context there is one. */
    CHECK_OK(nczchunk_read_vars(var, store, &start, NULL, NULL, data, NULL));
    CHECK_EQ(threads_begun, 2);
    /* A number that no machine has room for is no reason to take all there is. */
    threads_begun = 0;
    CHECK_OK(nczchunk_context_set_threads(context, SIZE_MAX));
    CHECK_OK(nczchunk_read_vars(var, store, &start, NULL, NULL, data, context));
    CHECK_EQ(threads_begun, 255);
    memory_array_expect(&array, &start, NULL, NULL, NULL, data);
    /* Nothing to do is for nobody. */
    threads_begun = 0;
    CHECK_OK(nczchunk_read_vars(var, store, &start, &start, NULL, data, context));
    CHECK_EQ(threads_begun, 0);

    nczchunk_store_free(store);
    nczchunk_var_free(var);
    memory_array_clear(&array);
    nczchunk_context_free(context);
    free(data);
}

int main(void)
{
    alarm(600);
    for (size_t kind = 0; kind < NUM_STORE_KINDS; kind++) {
        for (int compressed = 0; compressed <= 1; compressed++) {
            any_number_of_threads_reads_the_same(store_kinds[kind], compressed, compressed ? 8 : 4, compressed);
            the_first_failing_chunk_is_told(store_kinds[kind], compressed);
        }
        any_number_of_threads_writes_the_same(store_kinds[kind], 0);
        one_thread_where_more_are_not_allowed(store_kinds[kind]);
        a_later_chunk_that_fails_sooner(store_kinds[kind]);
        the_first_failing_chunk_of_many(store_kinds[kind]);
        a_failing_write(store_kinds[kind]);
        refused_threads(store_kinds[kind]);
        after_a_fork(store_kinds[kind]);
        calls_beside_each_other(store_kinds[kind]);
    }
    any_number_of_threads_writes_the_same(FILLING, 1);
    chunks_are_filled_in_where_they_belong();
    ranks_above_eight();
    a_failure_ends_the_work();
    no_thread_is_left();
    signals_are_for_the_caller();
    faults_are_handled_in_every_thread();
    calls_within_calls();
    numbers_of_threads();
    return 0;
}
